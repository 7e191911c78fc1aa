//! Jobs: create, look, wait, delete (S-2.17). What to do about a Job that is there already is the
//! caller's decision.

use std::{collections::BTreeMap, ops::ControlFlow};

use http::Method;
use k8s_openapi::api::batch::v1::Job;
use serde_json::{Map, Value, json};

use crate::{
    budget::Budget,
    claim::{Deleted, delete_call},
    client::{Call, Cluster, FIELD_MANAGER},
    error::{ClusterError, Operation},
    list::Follow,
    notice::Notice,
    object::{ApplyMode, namespaced},
    readiness::{JobOutcome, job_outcome},
    wait::WaitError,
};

/// A Job as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobState {
    /// Its uid.
    pub uid: String,
    /// How it ended; `None` while it has not.
    pub finished: Option<JobOutcome>,
    /// Whether it was deleted and its pods are still being cleared away.
    pub deleting: bool,
    /// Whether it is suspended.
    pub suspended: bool,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
}

impl From<&Job> for JobState {
    fn from(job: &Job) -> Self {
        Self {
            uid: job.metadata.uid.clone().unwrap_or_default(),
            finished: job_outcome(job),
            deleting: job.metadata.deletion_timestamp.is_some(),
            suspended: suspended(job),
            labels: job.metadata.labels.clone().unwrap_or_default(),
            annotations: job.metadata.annotations.clone().unwrap_or_default(),
        }
    }
}

fn suspended(job: &Job) -> bool {
    job.spec
        .as_ref()
        .and_then(|spec| spec.suspend)
        .unwrap_or(false)
}

fn object(namespace: &str, name: &str) -> String {
    format!("job {namespace}/{name}")
}

fn operation(verb: &'static str, namespace: &str, name: &str) -> Operation {
    Operation::new(verb, "jobs", Some(namespace), object(namespace, name))
}

fn path(namespace: &str, name: &str) -> String {
    namespaced("batch/v1", namespace, "jobs", Some(name))
}

/// Makes a manifest fit to be created as `namespace/name`: sets both, and drops the status and
/// what the server sets itself, so that a manifest taken from a live Job works (S-2.17).
///
/// # Errors
///
/// A sentence when `manifest` is not a `batch/v1` Job.
pub fn job_manifest(manifest: &Value, namespace: &str, name: &str) -> Result<Value, String> {
    let mut job = manifest.clone();
    let said = |key: &str| {
        job.get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (api, kind) = (said("apiVersion"), said("kind"));
    if api != "batch/v1" || kind != "Job" {
        return Err(format!(
            "not a batch/v1 Job (apiVersion \"{api}\", kind \"{kind}\")"
        ));
    }
    let Some(fields) = job.as_object_mut() else {
        return Err("not a mapping".to_owned());
    };
    fields.remove("status");
    let meta = fields.entry("metadata").or_insert_with(|| json!({}));
    let Some(meta) = meta.as_object_mut() else {
        return Err("metadata is not a mapping".to_owned());
    };
    for key in [
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generateName",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    ] {
        meta.remove(key);
    }
    meta.insert("namespace".to_owned(), json!(namespace));
    meta.insert("name".to_owned(), json!(name));
    drop_tracking_labels(meta);
    let Some(spec) = fields.get_mut("spec").and_then(Value::as_object_mut) else {
        return Err("it has no spec".to_owned());
    };
    // The server makes selector and labels of a Job from its uid; those of another one would be
    // refused. Who set `manualSelector` means them.
    if spec.get("manualSelector") != Some(&json!(true)) {
        spec.remove("selector");
        let template = spec
            .get_mut("template")
            .and_then(|template| template.get_mut("metadata"));
        if let Some(meta) = template.and_then(Value::as_object_mut) {
            drop_tracking_labels(meta);
            meta.remove("creationTimestamp");
        }
    }
    Ok(job)
}

fn drop_tracking_labels(meta: &mut Map<String, Value>) {
    if let Some(labels) = meta.get_mut("labels").and_then(Value::as_object_mut) {
        for key in [
            "controller-uid",
            "job-name",
            "batch.kubernetes.io/controller-uid",
            "batch.kubernetes.io/job-name",
        ] {
            labels.remove(key);
        }
    }
}

impl Cluster {
    /// Reads a Job, `None` if it is absent.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`] but not found.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn job(
        &self,
        namespace: &str,
        name: &str,
        budget: &Budget,
    ) -> Result<Option<JobState>, ClusterError> {
        let call = Call::get(operation("get", namespace, name), path(namespace, name));
        let found: Option<Job> = self.call_optional(&call, budget).await?;
        Ok(found.as_ref().map(JobState::from))
    }

    /// Creates a Job; see [`job_manifest`] for what becomes of the manifest. Returns the state of
    /// the new Job.
    ///
    /// # Errors
    ///
    /// [`Exists`](crate::ErrorClass::Exists) when there is one of that name,
    /// [`Invalid`](crate::ErrorClass::Invalid) when the manifest is not a Job or is refused, and
    /// any other [`ClusterError`].
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped after sending, the Job may or may not have been created.
    pub async fn create_job(
        &self,
        namespace: &str,
        name: &str,
        manifest: &Value,
        mode: ApplyMode,
        budget: &Budget,
    ) -> Result<JobState, ClusterError> {
        let body = job_manifest(manifest, namespace, name).map_err(|why| {
            ClusterError::new(
                crate::ErrorClass::Invalid,
                format!("{}: manifest: {why}", object(namespace, name)),
            )
        })?;
        let call = Call::new(
            operation("create", namespace, name),
            Method::POST,
            namespaced("batch/v1", namespace, "jobs", None),
        )
        .query("fieldManager", FIELD_MANAGER)
        .mode(mode)
        .json(&body);
        let created: Job = self.call_json(&call, budget).await?;
        Ok(JobState::from(&created))
    }

    /// Deletes a Job and, in the background, its pods; one that is absent is fine.
    ///
    /// With `uid` only the Job of that uid is deleted: another one of the same name gives
    /// [`Conflict`](crate::ErrorClass::Conflict).
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`] but not found.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped after sending, the effect is unknown. The call may be repeated.
    pub async fn delete_job(
        &self,
        namespace: &str,
        name: &str,
        uid: Option<&str>,
        mode: ApplyMode,
        budget: &Budget,
    ) -> Result<Deleted, ClusterError> {
        let call = delete_call(
            operation("delete", namespace, name),
            path(namespace, name),
            uid,
            mode,
        );
        let answer = self.call_optional::<Value>(&call, budget).await?;
        Ok(match answer {
            Some(_) => Deleted::Accepted {
                held_by: Vec::new(),
            },
            None => Deleted::Absent,
        })
    }

    /// Waits until a Job is complete (S-2.17). With `uid`, one of another uid counts as gone.
    ///
    /// # Errors
    ///
    /// [`WaitError::Failed`] with the Job's message when it failed or is gone;
    /// [`WaitError::TimedOut`], naming a suspended Job as such.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn wait_job(
        &self,
        namespace: &str,
        name: &str,
        uid: Option<&str>,
        budget: &Budget,
    ) -> Result<(), WaitError> {
        let shown = object(namespace, name);
        let mut state = String::new();
        let result = self
            .follow::<Job, Result<(), WaitError>>(&follow(namespace, name), budget, |jobs| {
                let Some(job) = jobs.values().find(|job| is(job, name, uid)) else {
                    return ControlFlow::Break(Err(WaitError::Failed(format!(
                        "{shown}: was deleted before it completed"
                    ))));
                };
                match job_outcome(job) {
                    Some(JobOutcome::Complete) => return ControlFlow::Break(Ok(())),
                    Some(JobOutcome::Failed(why)) => {
                        return ControlFlow::Break(Err(WaitError::Failed(format!(
                            "{shown}: {why}"
                        ))));
                    }
                    None => {}
                }
                let text = progress(job);
                if text != state {
                    self.notify(Notice::Progress {
                        object: shown.clone(),
                        text: text.clone(),
                    });
                    state = text;
                }
                ControlFlow::Continue(())
            })
            .await;
        match result {
            Ok(done) => done,
            Err(error) => Err(error.with_detail(&state)),
        }
    }

    /// Waits until a Job that was deleted is gone. With `uid`, one of another uid counts as gone.
    ///
    /// # Errors
    ///
    /// [`WaitError::TimedOut`], naming the finalizers that keep it.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn wait_job_gone(
        &self,
        namespace: &str,
        name: &str,
        uid: Option<&str>,
        budget: &Budget,
    ) -> Result<(), WaitError> {
        let mut state = String::new();
        let result = self
            .follow::<Job, ()>(&follow(namespace, name), budget, |jobs| {
                match jobs.values().find(|job| is(job, name, uid)) {
                    None => ControlFlow::Break(()),
                    Some(job) => {
                        let finalizers = job.metadata.finalizers.as_deref().unwrap_or_default();
                        state = if finalizers.is_empty() {
                            "it is still there".to_owned()
                        } else {
                            format!("it is kept by finalizers {}", finalizers.join(" "))
                        };
                        ControlFlow::Continue(())
                    }
                }
            })
            .await;
        result.map_err(|error| error.with_detail(&state))
    }
}

fn is(job: &Job, name: &str, uid: Option<&str>) -> bool {
    job.metadata.name.as_deref() == Some(name)
        && uid.is_none_or(|uid| job.metadata.uid.as_deref() == Some(uid))
}

fn follow(namespace: &str, name: &str) -> Follow {
    Follow {
        operation: operation("list", namespace, name),
        path: namespaced("batch/v1", namespace, "jobs", None),
        selector: vec![("fieldSelector", format!("metadata.name={name}"))],
        single: Some(path(namespace, name)),
    }
}

fn progress(job: &Job) -> String {
    if suspended(job) {
        return "the Job is suspended".to_owned();
    }
    let status = job.status.as_ref();
    let count = |read: fn(&k8s_openapi::api::batch::v1::JobStatus) -> Option<i32>| {
        status.and_then(read).unwrap_or(0)
    };
    let wanted = job
        .spec
        .as_ref()
        .and_then(|spec| spec.completions)
        .unwrap_or(1);
    let mut text = format!(
        "{} of {wanted} completed, {} active",
        count(|status| status.succeeded),
        count(|status| status.active)
    );
    let failed = count(|status| status.failed);
    if failed > 0 {
        text.push_str(&format!(", {failed} failed"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s_2_17_a_manifest_taken_from_a_live_job_is_made_fit_to_create() {
        let live = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {
                "name": "old", "namespace": "elsewhere", "uid": "u", "resourceVersion": "1", "generation": 1,
                "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [],
                "labels": {"team": "a", "job-name": "old", "batch.kubernetes.io/controller-uid": "u"},
                "annotations": {"keep": "this"},
            },
            "spec": {
                "selector": {"matchLabels": {"controller-uid": "u"}},
                "template": {
                    "metadata": {"labels": {"app": "x", "controller-uid": "u"}, "creationTimestamp": null},
                    "spec": {"containers": []},
                },
            },
            "status": {"succeeded": 1},
        });
        assert_eq!(
            job_manifest(&live, "app", "migrate").unwrap(),
            json!({
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": {"name": "migrate", "namespace": "app", "labels": {"team": "a"}, "annotations": {"keep": "this"}},
                "spec": {"template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": []}}},
            })
        );
    }

    #[test]
    fn a_manual_selector_is_kept() {
        let manual = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "spec": {
                "manualSelector": true, "selector": {"matchLabels": {"job-name": "x"}},
                "template": {"metadata": {"labels": {"job-name": "x"}}},
            },
        });
        let made = job_manifest(&manual, "app", "x").unwrap();
        assert_eq!(made["spec"], manual["spec"]);
        assert_eq!(made["metadata"], json!({"namespace": "app", "name": "x"}));
    }

    #[test]
    fn what_is_no_job_is_refused_with_what_it_is() {
        let refused = |value: Value| job_manifest(&value, "app", "x").unwrap_err();
        assert_eq!(
            refused(json!({"apiVersion": "v1", "kind": "Pod"})),
            "not a batch/v1 Job (apiVersion \"v1\", kind \"Pod\")"
        );
        assert_eq!(
            refused(json!({"apiVersion": "batch/v1", "kind": "Job"})),
            "it has no spec"
        );
        assert_eq!(
            refused(json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": []})),
            "metadata is not a mapping"
        );
        assert!(refused(json!([1])).starts_with("not a batch/v1 Job"));
    }

    #[test]
    fn progress_counts_and_names_a_suspended_job() {
        let text = |value: Value| progress(&serde_json::from_value(value).unwrap());
        assert_eq!(text(json!({})), "0 of 1 completed, 0 active");
        assert_eq!(
            text(
                json!({"spec": {"completions": 3, "template": {}}, "status": {"succeeded": 1, "active": 2, "failed": 4}})
            ),
            "1 of 3 completed, 2 active, 4 failed"
        );
        assert_eq!(
            text(json!({"spec": {"suspend": true, "template": {}}})),
            "the Job is suspended"
        );
    }
}
