//! Jobs: pods that end.

use std::time::Duration;

use serde_json::Value;

use super::replicas::counts;
use super::{Due, active, children, create_pod, going, name, ready, seconds, uid, waited};
use crate::api::handle::delete_quietly;
use crate::api::store::{Key, Store};
use crate::json;

pub(super) fn run(store: &mut Store, due: &mut Due) {
    let Some(kind) = store.kind("batch", "jobs") else {
        return;
    };
    for (key, job) in store.copies(kind, "") {
        if going(&job) {
            continue;
        }
        if finished(&job) {
            expire(store, &key, &job, due);
        } else {
            act(store, &key, &job, due);
        }
    }
}

fn finished(job: &Value) -> bool {
    json::condition(job, "Complete") == "True" || json::condition(job, "Failed") == "True"
}

/// How a Job ended.
enum End {
    Complete,
    Failed(&'static str, &'static str),
}

fn act(store: &mut Store, key: &Key, job: &Value, due: &mut Due) {
    let pods = children(store, "", "pods", job);
    let phase = |pod: &Value, wanted: &str| json::text(pod, "/status/phase") == wanted;
    let succeeded = pods
        .iter()
        .filter(|(_, pod)| phase(pod, "Succeeded"))
        .count();
    let failed = pods.iter().filter(|(_, pod)| phase(pod, "Failed")).count();
    let running: Vec<&(Key, Value)> = pods.iter().filter(|(_, pod)| active(pod)).collect();
    let suspended = job["spec"]["suspend"] == true;
    if let Some(end) = end(store, job, &pods, (succeeded, failed), due) {
        for (pod, _) in &running {
            delete_quietly(store, pod);
        }
        finish(store, key, &end, succeeded, failed);
        return;
    }
    if suspended {
        for (pod, _) in &running {
            delete_quietly(store, pod);
        }
    } else {
        start(store, job, running.len(), succeeded, failed, due);
    }
    let pods = children(store, "", "pods", job);
    let now = store.now();
    store.edit(key, |job| {
        if !suspended {
            json::default(job, "/status/startTime", now.clone());
        }
        counts(
            job,
            &[
                ("active", pods.iter().filter(|(_, pod)| active(pod)).count()),
                ("succeeded", succeeded),
                ("failed", failed),
            ],
        );
        json::set(
            job,
            "/status/ready",
            pods.iter()
                .filter(|(_, pod)| active(pod) && ready(pod))
                .count(),
        );
        json::set(
            job,
            "/status/terminating",
            pods.iter().filter(|(_, pod)| going(pod)).count(),
        );
        if suspended || json::condition(job, "Suspended") == "True" {
            let (reason, message) = if suspended {
                ("JobSuspended", "Job suspended")
            } else {
                ("JobResumed", "Job resumed")
            };
            json::set_condition(job, "Suspended", suspended, reason, message, &now);
        }
    });
}

/// Whether the Job is over.
fn end(
    store: &mut Store,
    job: &Value,
    pods: &[(Key, Value)],
    (succeeded, failed): (usize, usize),
    due: &mut Due,
) -> Option<End> {
    let limit = usize::try_from(json::number(job, "/spec/backoffLimit")).unwrap_or_default();
    let restarts: i64 = pods
        .iter()
        .filter(|(_, pod)| json::text(pod, "/spec/restartPolicy") == "OnFailure")
        .map(|(_, pod)| json::number(pod, "/status/containerStatuses/0/restartCount"))
        .sum();
    let tries = failed + usize::try_from(restarts).unwrap_or_default();
    let wanted = match job.pointer("/spec/completions").and_then(Value::as_u64) {
        Some(wanted) => usize::try_from(wanted).unwrap_or_default(),
        // Without a count one success is enough once no pod runs any more.
        None if pods.iter().any(|(_, pod)| active(pod)) => usize::MAX,
        None => 1,
    };
    if succeeded >= wanted {
        return Some(End::Complete);
    }
    if tries > limit {
        return Some(End::Failed(
            "BackoffLimitExceeded",
            "Job has reached the specified backoff limit",
        ));
    }
    let deadline = job
        .pointer("/spec/activeDeadlineSeconds")
        .and_then(Value::as_u64)?;
    if job["spec"]["suspend"] == true {
        return None;
    }
    let id = format!("{}/deadline", uid(job));
    waited(store, &id, "active", Duration::from_secs(deadline), due).then_some(End::Failed(
        "DeadlineExceeded",
        "Job was active longer than specified deadline",
    ))
}

fn start(
    store: &mut Store,
    job: &Value,
    running: usize,
    succeeded: usize,
    failed: usize,
    due: &mut Due,
) {
    let parallel = usize::try_from(json::number(job, "/spec/parallelism")).unwrap_or_default();
    let left = match job.pointer("/spec/completions").and_then(Value::as_u64) {
        Some(wanted) => usize::try_from(wanted)
            .unwrap_or_default()
            .saturating_sub(succeeded),
        None if succeeded > 0 => 0,
        None => parallel,
    };
    let wanted = parallel.min(left);
    if running >= wanted {
        return;
    }
    // After a failure the next pod comes later; real ones wait 10 s and more.
    if failed > 0 {
        let pause = seconds(&job["spec"]["template"], "sim.kzero/backoff", 1.0);
        let id = format!("{}/retry-{failed}", uid(job));
        if !waited(store, &id, "retry", pause, due) {
            return;
        }
    }
    for _ in running..wanted {
        let serial = store.upcoming_serial();
        let pod = format!("{}-{serial:05x}", name(job));
        if create_pod(store, job, "batch/v1", "Job", &pod, &[]).is_err() {
            return;
        }
    }
}

fn finish(store: &mut Store, key: &Key, end: &End, succeeded: usize, failed: usize) {
    let now = store.now();
    store.edit(key, |job| {
        counts(
            job,
            &[("active", 0), ("succeeded", succeeded), ("failed", failed)],
        );
        json::set(job, "/status/ready", 0);
        json::set(job, "/status/terminating", 0);
        match end {
            End::Complete => {
                json::set(job, "/status/completionTime", now.clone());
                let message = "Reached expected number of succeeded pods";
                json::set_condition(
                    job,
                    "SuccessCriteriaMet",
                    true,
                    "CompletionsReached",
                    message,
                    &now,
                );
                json::set_condition(job, "Complete", true, "CompletionsReached", message, &now);
            }
            End::Failed(reason, message) => {
                json::set_condition(job, "FailureTarget", true, reason, message, &now);
                json::set_condition(job, "Failed", true, reason, message, &now);
            }
        }
    });
}

/// Deletes a finished Job when its time has come.
fn expire(store: &mut Store, key: &Key, job: &Value, due: &mut Due) {
    let Some(ttl) = job
        .pointer("/spec/ttlSecondsAfterFinished")
        .and_then(Value::as_u64)
    else {
        return;
    };
    let id = format!("{}/ttl", uid(job));
    if waited(store, &id, "finished", Duration::from_secs(ttl), due) {
        delete_quietly(store, key);
    }
}
