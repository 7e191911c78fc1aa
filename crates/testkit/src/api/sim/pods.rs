//! The life of a pod, as a kubelet would lead it.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Due, event, going, seconds, uid, waited};
use crate::api::store::{Key, Store};
use crate::json;

/// What a pod does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Accept,
    Start,
    FailStart,
    FailInit,
    BackOffImage,
    Ready,
    Unready,
    Crash,
    Restart,
    End,
    Stop,
    Gone,
}

impl Stage {
    fn word(self) -> &'static str {
        match self {
            Stage::Accept => "accept",
            Stage::Start => "start",
            Stage::FailStart => "fail-start",
            Stage::FailInit => "fail-init",
            Stage::BackOffImage => "back-off-image",
            Stage::Ready => "ready",
            Stage::Unready => "unready",
            Stage::Crash => "crash",
            Stage::Restart => "restart",
            Stage::End => "end",
            Stage::Stop => "stop",
            Stage::Gone => "gone",
        }
    }
}

pub(super) fn run(store: &mut Store, due: &mut Due) {
    let Some(pods) = store.kind("", "pods") else {
        return;
    };
    for (key, pod) in store.copies(pods, "") {
        let Some((stage, delay)) = next(store, &pod) else {
            continue;
        };
        if waited(store, uid(&pod), stage.word(), delay, due) {
            apply(store, &key, &pod, stage);
        }
    }
}

/// The next stage of a pod and after how long it comes.
fn next(store: &Store, pod: &Value) -> Option<(Stage, Duration)> {
    let at_once = Duration::ZERO;
    let phase = json::text(pod, "/status/phase");
    let ended = matches!(phase, "Succeeded" | "Failed");
    if going(pod) {
        if json::number(pod, "/metadata/deletionGracePeriodSeconds") == 0 || ended {
            return Some((Stage::Gone, at_once));
        }
        let grace = json::number(pod, "/metadata/deletionGracePeriodSeconds");
        let grace = Duration::from_secs(u64::try_from(grace).unwrap_or_default());
        return Some((Stage::Stop, seconds(pod, "sim.kzero/stop", 0.1).min(grace)));
    }
    if ended {
        return None;
    }
    let waiting = json::text(pod, "/status/containerStatuses/0/state/waiting/reason");
    let fail = json::annotation(pod, "sim.kzero/fail").unwrap_or_default();
    let start = seconds(pod, "sim.kzero/start", 0.1);
    if phase == "Pending" {
        if !json::has(pod, "/status/containerStatuses") {
            return claims_bound(store, pod).then_some((Stage::Accept, at_once));
        }
        return match (waiting, fail) {
            ("ErrImagePull", "image") => Some((Stage::BackOffImage, Duration::from_secs(1))),
            ("ContainerCreating" | "PodInitializing", "image" | "config") => {
                Some((Stage::FailStart, start))
            }
            (_, "image" | "config") => None,
            (_, "init") => {
                let reason =
                    json::text(pod, "/status/initContainerStatuses/0/state/waiting/reason");
                (reason == "PodInitializing").then_some((Stage::FailInit, seconds(pod, "", 0.3)))
            }
            _ => Some((Stage::Start, start)),
        };
    }
    if waiting == "CrashLoopBackOff" {
        return Some((Stage::Restart, seconds(pod, "sim.kzero/backoff", 2.0)));
    }
    running(pod, fail)
}

/// What comes next for a pod whose containers run.
fn running(pod: &Value, fail: &str) -> Option<(Stage, Duration)> {
    let note = |name: &str| json::annotation(pod, name).unwrap_or_default();
    let restarts = json::text(pod, "/spec/restartPolicy");
    let runs_on = note("sim.kzero/run") == "never";
    let code = note("sim.kzero/exit");
    let fails = !matches!(code, "" | "0");
    let is_ready = super::ready(pod);
    let never_ready = note("sim.kzero/ready") == "never";
    if fail == "crash" && restarts != "Never" {
        // With a time before the crash the pod is ready first.
        let after = json::annotation(pod, "sim.kzero/crash-after");
        if after.is_some() && !is_ready && !never_ready {
            return Some((Stage::Ready, Duration::ZERO));
        }
        let delay = match after {
            Some(_) => seconds(pod, "sim.kzero/crash-after", 0.3),
            None => seconds(pod, "sim.kzero/run", 0.3),
        };
        return Some((Stage::Crash, delay));
    }
    if never_ready && is_ready {
        return Some((Stage::Unready, Duration::ZERO));
    }
    if !never_ready && !is_ready {
        return Some((Stage::Ready, seconds(pod, "sim.kzero/ready", 0.0)));
    }
    if restarts == "Always" || runs_on {
        return None;
    }
    let run = seconds(pod, "sim.kzero/run", 0.3);
    if restarts == "OnFailure" && fails {
        Some((Stage::Crash, run))
    } else {
        Some((Stage::End, run))
    }
}

/// Whether the claims of a pod let it onto a node.
fn claims_bound(store: &Store, pod: &Value) -> bool {
    let (Some(claims), Some(classes)) = (
        store.kind("", "persistentvolumeclaims"),
        store.kind("storage.k8s.io", "storageclasses"),
    ) else {
        return true;
    };
    let namespace = json::text(pod, "/metadata/namespace");
    super::claims::of_pod(pod).all(|claim| {
        let key = (claims, namespace.to_owned(), claim.to_owned());
        store.get(&key).is_some_and(|claim| {
            if going(claim) {
                return false;
            }
            let class = json::text(claim, "/spec/storageClassName");
            let class = store.get(&(classes, String::new(), class.to_owned()));
            let late = class.is_some_and(|class| {
                json::text(class, "/volumeBindingMode") == "WaitForFirstConsumer"
            });
            late || json::text(claim, "/status/phase") == "Bound"
        })
    })
}

fn apply(store: &mut Store, key: &Key, pod: &Value, stage: Stage) {
    let now = store.now();
    let backoff = "back-off restarting failed container";
    match stage {
        Stage::Accept => accept(store, key, pod, &now),
        Stage::Start => store.edit(key, |pod| start(pod, &now)),
        Stage::FailStart => {
            let image = json::annotation(pod, "sim.kzero/fail") == Some("image");
            event(store, ("Pod", pod), "Warning", "Failed", "The container cannot start (simulated)");
            store.edit(key, |pod| {
                if image {
                    wait(pod, "ErrImagePull", "failed to pull image: not found");
                } else {
                    wait(pod, "CreateContainerConfigError", "configmap \"simulated\" not found");
                }
            });
        }
        Stage::FailInit => store.edit(key, |pod| {
            let mut statuses = json::list(pod, "/status/initContainerStatuses").to_vec();
            for status in &mut statuses {
                status["restartCount"] = (json::number(status, "/restartCount") + 1).into();
                status["state"] = json!({"waiting": {"reason": "CrashLoopBackOff", "message": backoff}});
                status["lastState"] = json!({"terminated": {"exitCode": 1, "reason": "Error", "startedAt": now, "finishedAt": now}});
            }
            json::set(pod, "/status/initContainerStatuses", statuses);
        }),
        Stage::BackOffImage => store.edit(key, |pod| {
            wait(pod, "ImagePullBackOff", "Back-off pulling image");
        }),
        Stage::Ready => store.edit(key, |pod| set_ready(pod, true, "", &now)),
        Stage::Unready => {
            event(store, ("Pod", pod), "Warning", "Unhealthy", "Readiness probe failed: simulated");
            store.edit(key, |pod| set_ready(pod, false, "ContainersNotReady", &now));
        }
        Stage::Crash => {
            event(store, ("Pod", pod), "Warning", "BackOff", "Back-off restarting failed container");
            store.edit(key, |pod| crash(pod, backoff, &now));
        }
        Stage::Restart => store.edit(key, |pod| {
            for_containers(pod, |status| {
                status["started"] = true.into();
                status["state"] = json!({"running": {"startedAt": now}});
            });
        }),
        Stage::End => store.edit(key, |pod| {
            let code = exit_code(pod, 0);
            end(pod, code, &now);
        }),
        Stage::Stop => store.edit(key, |pod| {
            let code = if json::text(pod, "/spec/restartPolicy") == "Always" { 0 } else { 143 };
            end(pod, code, &now);
        }),
        Stage::Gone => {
            if json::list(pod, "/metadata/finalizers").is_empty() {
                store.take(key);
            } else {
                // The containers are gone; whoever set the finalizer holds the rest.
                store.edit(key, |pod| json::set(pod, "/metadata/deletionGracePeriodSeconds", 0));
            }
        }
    }
}

fn accept(store: &mut Store, key: &Key, pod: &Value, now: &str) {
    let nodes = store.kind("", "nodes");
    // The node is chosen by the pod's serial, so that pods spread and runs are alike.
    let names: Vec<String> = nodes
        .into_iter()
        .flat_map(|kind| store.of_kind(kind, "").map(|(key, _)| key.2.clone()))
        .collect();
    let turn = usize::from_str_radix(uid(pod).get(..8).unwrap_or_default(), 16).unwrap_or(0);
    let Some(node) = names.get(turn % names.len().max(1)).cloned() else {
        return;
    };
    store.edit(key, |pod| {
        json::default(pod, "/spec/nodeName", node);
        let init = json::list(pod, "/spec/initContainers").to_vec();
        let reason = if init.is_empty() {
            "ContainerCreating"
        } else {
            "PodInitializing"
        };
        let statuses = |containers: &[Value], reason: &str| -> Vec<Value> {
            containers
                .iter()
                .map(|container| {
                    json!({
                        "name": container["name"],
                        "image": container["image"],
                        "imageID": "",
                        "ready": false,
                        "started": false,
                        "restartCount": 0,
                        "state": {"waiting": {"reason": reason}},
                    })
                })
                .collect()
        };
        let containers = json::list(pod, "/spec/containers").to_vec();
        json::set(
            pod,
            "/status/containerStatuses",
            statuses(&containers, reason),
        );
        if !init.is_empty() {
            json::set(
                pod,
                "/status/initContainerStatuses",
                statuses(&init, "PodInitializing"),
            );
        }
        json::set(pod, "/status/startTime", now);
        json::set_condition(pod, "PodScheduled", true, "", "", now);
        json::set_condition(pod, "Initialized", init.is_empty(), "", "", now);
        json::set_condition(pod, "Ready", false, "ContainersNotReady", "", now);
        json::set_condition(pod, "ContainersReady", false, "ContainersNotReady", "", now);
    });
}

fn for_containers(pod: &mut Value, change: impl Fn(&mut Value)) {
    let mut statuses = json::list(pod, "/status/containerStatuses").to_vec();
    statuses.iter_mut().for_each(change);
    json::set(pod, "/status/containerStatuses", statuses);
}

fn wait(pod: &mut Value, reason: &str, message: &str) {
    for_containers(pod, |status| {
        status["state"] = json!({"waiting": {"reason": reason, "message": message}});
    });
}

fn start(pod: &mut Value, now: &str) {
    json::set(pod, "/status/phase", "Running");
    json::set(pod, "/status/podIP", "10.0.0.1");
    json::set_condition(pod, "Initialized", true, "", "", now);
    let mut init = json::list(pod, "/status/initContainerStatuses").to_vec();
    for status in &mut init {
        status["ready"] = true.into();
        status["state"] = json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}});
    }
    if !init.is_empty() {
        json::set(pod, "/status/initContainerStatuses", init);
    }
    for_containers(pod, |status| {
        status["started"] = true.into();
        status["state"] = json!({"running": {"startedAt": now}});
    });
}

fn set_ready(pod: &mut Value, ready: bool, reason: &str, now: &str) {
    json::set_condition(pod, "Ready", ready, reason, "", now);
    json::set_condition(pod, "ContainersReady", ready, reason, "", now);
    for_containers(pod, |status| status["ready"] = ready.into());
}

fn exit_code(pod: &Value, default: i64) -> i64 {
    json::annotation(pod, "sim.kzero/exit")
        .and_then(|code| code.parse().ok())
        .unwrap_or(default)
}

fn crash(pod: &mut Value, message: &str, now: &str) {
    let code = exit_code(pod, 1);
    set_ready(pod, false, "ContainersNotReady", now);
    for_containers(pod, |status| {
        status["started"] = false.into();
        status["restartCount"] = (json::number(status, "/restartCount") + 1).into();
        status["state"] = json!({"waiting": {"reason": "CrashLoopBackOff", "message": message}});
        status["lastState"] = json!({"terminated": {"exitCode": code, "reason": "Error", "startedAt": now, "finishedAt": now}});
    });
}

fn end(pod: &mut Value, code: i64, now: &str) {
    let (phase, reason, word) = if code == 0 {
        ("Succeeded", "PodCompleted", "Completed")
    } else {
        ("Failed", "PodFailed", "Error")
    };
    json::set(pod, "/status/phase", phase);
    set_ready(pod, false, reason, now);
    for_containers(pod, |status| {
        status["started"] = false.into();
        status["state"] = json!({"terminated": {"exitCode": code, "reason": word, "startedAt": now, "finishedAt": now}});
    });
}
