//! `job`: create from a manifest on `up`, delete on `down`.

use std::path::PathBuf;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use kzero_cluster::{Cluster, Deleted, JobOutcome, JobState};
use kzero_profile::{KindSpec, NameRule, OptionPhases, OptionSpec, Required, Shape};
use serde_json::{Value, json};

use super::context::StepContext;
use super::error::StepError;
use super::kind::{Action, Execution, Kind, NeededFile, Subject, View};
use crate::environment::Environment;
use crate::event::{Effect, Level, Phase};

/// Annotations that say which profile, step and run made a Job, and from what (S-D.14).
const PROFILE: &str = "kzero.io/profile";
const STEP: &str = "kzero.io/step";
const RUN: &str = "kzero.io/run";
const HASH: &str = "kzero.io/manifest-hash";

/// The row of Jobs.
pub(super) const KIND: Kind = Kind {
    spec: KindSpec {
        name: "job",
        summary: "creates a Job on up, deletes it on down",
        name_rule: NameRule::JobName,
        options: &[
            OptionSpec {
                name: "manifest",
                shape: Shape::Path,
                phases: OptionPhases::Up,
                required: Required::OnUp,
                summary: "file with the Job",
            },
            OptionSpec {
                name: "wait_for_complete",
                shape: Shape::Bool,
                phases: OptionPhases::Up,
                required: Required::No,
                summary: "on up: wait until it is complete (default true)",
            },
        ],
    },
    build: |cx| {
        let options = &cx.step.options;
        let manifest = options.text("manifest").unwrap_or_default().to_owned();
        Box::new(JobStep {
            phase: cx.phase,
            namespace: cx.reference.namespace.clone(),
            name: cx.reference.name.clone(),
            reference: cx.reference.to_string(),
            path: cx.environment.absolute(&manifest),
            manifest,
            wait: options.bool("wait_for_complete").unwrap_or(true),
        })
    },
};

#[derive(Debug)]
struct JobStep {
    phase: Phase,
    namespace: String,
    name: String,
    reference: String,
    manifest: String,
    path: PathBuf,
    wait: bool,
}

impl JobStep {
    fn object(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    async fn delete(&self, cx: &StepContext<'_>) -> Result<(), StepError> {
        cx.act(
            Effect::DeleteJob {
                object: self.object(),
            },
            false,
        );
        if cx.dry() {
            return Ok(());
        }
        let client = cx.client().await?;
        let delete = client.delete_job(
            &self.namespace,
            &self.name,
            None,
            cx.apply_mode(),
            &cx.budget,
        );
        if cx.call(delete).await? == Deleted::Absent {
            cx.note(
                Level::Info,
                format!("job {} is absent, nothing to do", self.object()),
            );
        }
        Ok(())
    }

    /// The Job of the manifest with kzero's marks, and its fingerprint.
    fn read(&self, cx: &StepContext<'_>) -> Result<(Value, String), StepError> {
        let documents = kzero_profile::kubernetes::load_documents(&self.path, &self.manifest)
            .map_err(|error| StepError::permanent(error.to_string()))?;
        let job = single_job(documents).map_err(|text| {
            StepError::permanent(format!("job manifest {}: {text}", self.manifest))
        })?;
        let hash = fingerprint(&job);
        let step = format!("{}.{}", cx.id.phase, cx.id.index);
        let marks = [
            (PROFILE, cx.settings.profile.as_str()),
            (STEP, step.as_str()),
            (RUN, cx.bus.run_id()),
            (HASH, hash.as_str()),
        ];
        let job = mark(job, &marks).map_err(|text| {
            StepError::permanent(format!("job manifest {}: {text}", self.manifest))
        })?;
        Ok((job, hash))
    }

    async fn create(&self, cx: &StepContext<'_>) -> Result<(), StepError> {
        let (job, hash) = self.read(cx)?;
        let effect = Effect::CreateJob {
            manifest: self.manifest.clone(),
            wait: self.wait,
        };
        if cx.plan_only {
            cx.act(effect, false);
            if self.wait {
                cx.announce_wait("job complete", &self.reference);
            }
            return Ok(());
        }
        let client = cx.client().await?;
        if cx.dry() {
            // The name may be taken by the Job of the last run, which a live run replaces.
            let read = client.job(&self.namespace, &self.name, &cx.budget);
            match cx.call(read).await? {
                Some(state) => {
                    self.judge(cx, &state, &hash)?;
                    // Nothing could be sent under that name, so nothing was accepted.
                    cx.act(effect, false);
                }
                None => {
                    let create = client.create_job(
                        &self.namespace,
                        &self.name,
                        &job,
                        cx.apply_mode(),
                        &cx.budget,
                    );
                    cx.call(create).await?;
                    cx.act(effect, true);
                }
            }
            if self.wait {
                cx.announce_wait("job complete", &self.reference);
            }
            return Ok(());
        }
        cx.act(effect, false);
        if self.make_room(cx, &client, &hash).await? {
            let create = client.create_job(
                &self.namespace,
                &self.name,
                &job,
                cx.apply_mode(),
                &cx.budget,
            );
            cx.call(create).await?;
        }
        if self.wait {
            let budget = cx.wait_budget();
            let complete = client.wait_job(&self.namespace, &self.name, None, &budget);
            cx.wait("job complete", &self.reference, complete).await?;
        }
        Ok(())
    }

    /// What becomes of a Job that has the name already (S-D.14).
    fn judge(
        &self,
        cx: &StepContext<'_>,
        state: &JobState,
        hash: &str,
    ) -> Result<Existing, StepError> {
        let mark = |name: &str| state.annotations.get(name).map(String::as_str);
        let step = format!("{}.{}", cx.id.phase, cx.id.index);
        let ours =
            mark(PROFILE) == Some(cx.settings.profile.as_str()) && mark(STEP) == Some(&*step);
        if state.finished.is_some() {
            if ours
                && mark(RUN) == Some(cx.bus.run_id())
                && state.finished == Some(JobOutcome::Complete)
            {
                return Ok(Existing::Done);
            }
            if ours {
                return Ok(Existing::Replace);
            }
        } else if ours && mark(HASH) == Some(hash) && !state.deleting {
            return Ok(Existing::TakeOver);
        }
        if state.deleting {
            return Ok(Existing::Leaving);
        }
        let whose = match mark(PROFILE) {
            None => "it was not made by kzero".to_owned(),
            Some(_) if ours => "it is unfinished and its manifest was another".to_owned(),
            Some(profile) => format!(
                "it belongs to step {} of profile {profile}",
                mark(STEP).unwrap_or("(unknown)")
            ),
        };
        Err(StepError::permanent(format!(
            "job {}: already exists, {whose}\nhint: kubectl delete job {} -n {}",
            self.object(),
            self.name,
            self.namespace
        )))
    }

    /// Returns whether the Job has to be created.
    async fn make_room(
        &self,
        cx: &StepContext<'_>,
        client: &Cluster,
        hash: &str,
    ) -> Result<bool, StepError> {
        let read = client.job(&self.namespace, &self.name, &cx.budget);
        let Some(state) = cx.call(read).await? else {
            return Ok(true);
        };
        match self.judge(cx, &state, hash)? {
            Existing::Done => Ok(false),
            Existing::TakeOver => {
                cx.note(
                    Level::Warn,
                    format!(
                        "job {}: taking over the unfinished one of an earlier run",
                        self.object()
                    ),
                );
                Ok(false)
            }
            Existing::Replace | Existing::Leaving => {
                cx.note(
                    Level::Info,
                    format!("job {}: replacing the one of an earlier run", self.object()),
                );
                let uid = Some(state.uid.as_str());
                let delete = client.delete_job(
                    &self.namespace,
                    &self.name,
                    uid,
                    cx.apply_mode(),
                    &cx.budget,
                );
                cx.call(delete).await?;
                let budget = cx.wait_budget();
                let gone = client.wait_job_gone(&self.namespace, &self.name, uid, &budget);
                cx.wait("job deletion", &self.reference, gone).await?;
                Ok(true)
            }
        }
    }
}

enum Existing {
    /// Finished in this very run: an attempt of the same step made it.
    Done,
    /// Unfinished, same step, same manifest.
    TakeOver,
    /// Finished in an earlier run.
    Replace,
    /// Being deleted already.
    Leaving,
}

impl Action for JobStep {
    fn detail(&self, _view: &View) -> Option<String> {
        Some(match self.phase {
            Phase::Down => "delete job (background propagation, ignore-not-found)".into(),
            Phase::Up => format!(
                "create job from manifest {} (wait_for_complete={})",
                self.manifest, self.wait
            ),
        })
    }

    fn files(&self, _execution: Execution, _environment: &Environment) -> Vec<NeededFile> {
        match self.phase {
            Phase::Down => Vec::new(),
            Phase::Up => vec![NeededFile {
                purpose: "job manifest".into(),
                written: self.manifest.clone(),
                path: self.path.clone(),
                hint: None,
            }],
        }
    }

    fn warnings(&self, _execution: Execution) -> Vec<String> {
        if self.phase == Phase::Down || !self.path.is_file() {
            return Vec::new();
        }
        let checked = kzero_profile::kubernetes::load_documents(&self.path, &self.manifest)
            .map_err(|error| error.to_string())
            .and_then(single_job);
        checked
            .err()
            .map(|text| format!("job manifest {}: {text}", self.manifest))
            .into_iter()
            .collect()
    }

    fn subject(&self) -> Subject {
        Subject::Job(self.namespace.clone(), self.name.clone())
    }

    fn run<'a>(&'a self, cx: &'a StepContext<'a>) -> LocalBoxFuture<'a, Result<(), StepError>> {
        async move {
            match self.phase {
                Phase::Down => self.delete(cx).await,
                Phase::Up => self.create(cx).await,
            }
        }
        .boxed_local()
    }
}

/// The one `batch/v1` Job of a manifest, also out of a list with one item (S-2.17).
fn single_job(documents: Vec<Value>) -> Result<Value, String> {
    let mut objects = Vec::new();
    for document in documents {
        let list = document["kind"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("List"));
        match document {
            Value::Object(mut object) if list => {
                if let Some(Value::Array(items)) = object.remove("items") {
                    objects.extend(items);
                }
            }
            other => objects.push(other),
        }
    }
    let count = objects.len();
    let job = match (count, objects.pop()) {
        (1, Some(job)) => job,
        (0, _) | (_, None) => {
            return Err("holds no object; expected exactly one batch/v1 Job".into());
        }
        (count, Some(_)) => {
            return Err(format!(
                "holds {count} objects; expected exactly one batch/v1 Job"
            ));
        }
    };
    match (job["apiVersion"].as_str(), job["kind"].as_str()) {
        (Some("batch/v1"), Some("Job")) => Ok(job),
        (version, kind) => Err(format!(
            "holds a {} {}; expected a batch/v1 Job",
            version.unwrap_or("(no apiVersion)"),
            kind.unwrap_or("(no kind)")
        )),
    }
}

/// A hash of what the user wrote, stable over runs and kzero versions (FNV-1a, 64 bits):
/// it only tells a changed manifest from an unchanged one.
fn fingerprint(job: &Value) -> String {
    // serde_json keeps keys sorted, so equal manifests give equal text.
    let hash = job
        .to_string()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("{hash:016x}")
}

/// The manifest with kzero's marks as annotations.
fn mark(mut job: Value, marks: &[(&str, &str)]) -> Result<Value, String> {
    let object = job.as_object_mut().ok_or("is no object")?;
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    let metadata = metadata.as_object_mut().ok_or("metadata is no mapping")?;
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if annotations.is_null() {
        *annotations = json!({});
    }
    let annotations = annotations
        .as_object_mut()
        .ok_or("metadata.annotations is no mapping")?;
    for (key, value) in marks {
        annotations.insert((*key).to_owned(), json!(value));
    }
    Ok(job)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{mark, single_job};

    #[test]
    fn a_manifest_holds_exactly_one_job() {
        // S-2.17
        let job = json!({"apiVersion": "batch/v1", "kind": "Job"});
        assert!(single_job(vec![job.clone()]).is_ok());
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [job]});
        assert!(single_job(vec![list.clone()]).is_ok());
        assert!(
            single_job(vec![list, job.clone()])
                .unwrap_err()
                .contains("holds 2 objects")
        );
        assert!(single_job(vec![]).unwrap_err().contains("no object"));
        let cron = json!({"apiVersion": "batch/v1", "kind": "CronJob"});
        assert!(
            single_job(vec![cron])
                .unwrap_err()
                .contains("batch/v1 CronJob")
        );
    }

    #[test]
    fn marks_stand_beside_the_manifests_own_annotations() {
        // S-D.14
        let job = json!({"metadata": {"annotations": {"a": "b"}}});
        let got = mark(job, &[("k", "v")]).unwrap();
        assert_eq!(
            got,
            json!({"metadata": {"annotations": {"a": "b", "k": "v"}}})
        );
        let got = mark(json!({"metadata": {"annotations": null}}), &[("k", "v")]).unwrap();
        assert_eq!(got, json!({"metadata": {"annotations": {"k": "v"}}}));
        assert!(mark(json!({"metadata": 3}), &[]).is_err());
    }
}
