//! Walking a plan under a record, and what is written of how it went.

use std::cell::RefCell;

use kzero_cluster::{ApplyMode, ErrorClass, Propagation};

use super::deploy::Planned;
use super::rollback::{Goal, Rollback};
use super::uninstall::Uninstall;
use super::{Deployed, Engine, Options, Timing, interrupted, look};
use crate::actor::{Deployer, OperationError};
use crate::error::{Class, ReleaseError};
use crate::event::Event;
use crate::execute::{self, Outcome, State};
use crate::interrupt::Interrupt;
use crate::plan::{Item, Plan, Purpose, Stage, Task};
use crate::record::Recorder;
use crate::resource::Kinds;
use crate::revision::{Revision, Status};
use crate::track::Tracker;

/// How a walk ended.
pub(super) struct Walked {
    pub(super) outcome: Outcome<OperationError>,
    /// Items that were created, with their uids.
    pub(super) created: Vec<(usize, String)>,
}

/// A walk that failed.
pub(super) struct Run<'a> {
    pub(super) plan: &'a Plan,
    pub(super) walked: &'a Walked,
    pub(super) options: &'a Options,
    pub(super) timing: &'a Timing,
}

impl Run<'_> {
    /// The items that are deleted after the failure: those whose annotations say so, hooks that were done before this one
    /// failed and would have been deleted, and with `cleanup_on_fail` what an upgrade created.
    fn doomed(&self) -> Vec<usize> {
        let mut doomed: Vec<usize> = Vec::new();
        for (vertex, state) in self.walked.outcome.states.iter().enumerate() {
            let operation = self.plan.operations.get(vertex);
            let (item, is_ready) = match operation.map(|operation| operation.task) {
                Some(Task::Deploy { item, .. }) => (item, false),
                Some(Task::Ready { item }) => (item, true),
                _ => continue,
            };
            let Some(found) = self.plan.items.get(item) else {
                continue;
            };
            let policy = found.directives.delete_policy;
            let goes = match state {
                State::Failed => policy.failed,
                State::Done => is_ready && found.is_hook() && policy.succeeded,
                State::Pending | State::Canceled => false,
            };
            if goes && !doomed.contains(&item) {
                doomed.push(item);
            }
        }
        if self.options.cleanup_on_fail && self.plan.purpose == Purpose::Upgrade {
            for (item, _) in &self.walked.created {
                let is_hook = self.plan.items.get(*item).is_some_and(Item::is_hook);
                if !is_hook && !doomed.contains(item) {
                    doomed.push(*item);
                }
            }
        }
        doomed
    }
}

impl Engine<'_> {
    /// Writes the pending record, walks the plan, and writes what came of it.
    pub(super) async fn carry_out(
        &self,
        name: &str,
        planned: Planned,
        options: &Options,
        timing: &Timing,
        interrupt: &Interrupt,
    ) -> Result<Deployed, ReleaseError> {
        let Planned {
            plan,
            revision,
            kinds,
            past,
            disabled_hooks,
            ..
        } = planned;
        if disabled_hooks > 0 {
            self.tell(Event::Info(format!(
                "{disabled_hooks} hooks are left out, as asked"
            )));
        }
        if self.is_dry() {
            let walked = self
                .walk(
                    &plan,
                    &kinds,
                    timing,
                    None,
                    interrupt,
                    Propagation::default(),
                )
                .await;
            self.verdict(&plan, &walked.outcome, interrupt)?;
            return Ok(Deployed::made(revision, plan.purpose));
        }
        let mut revision = revision;
        self.storage
            .prune(&past.history, options.history_max, &look(&timing.all))
            .await?;
        self.storage
            .create(&mut revision, &look(&timing.all))
            .await?;
        if plan.purpose == Purpose::Install {
            self.replaced(past.last.as_ref(), timing).await;
        }
        let recorder = Recorder::new(&self.storage, revision, timing.all.clone());
        let walked = self
            .walk(
                &plan,
                &kinds,
                timing,
                Some(&recorder),
                interrupt,
                Propagation::default(),
            )
            .await;
        match self.verdict(&plan, &walked.outcome, interrupt) {
            Ok(()) => {
                let text = options
                    .description
                    .clone()
                    .unwrap_or_else(|| complete(plan.purpose).to_owned());
                recorder
                    .set(Status::Deployed, &text, &look(&timing.all))
                    .await
                    .map_err(|error| {
                        ReleaseError::from(error)
                            .about("all objects are deployed, but the record cannot be written")
                    })?;
                let revision = recorder.into_revision();
                self.supersede(&past.history, revision.version, timing)
                    .await;
                Ok(Deployed::made(revision, plan.purpose))
            }
            Err(error) => {
                let run = Run {
                    plan: &plan,
                    walked: &walked,
                    options,
                    timing,
                };
                self.fail(name, &run, &recorder, &error).await;
                let failed = self.undo(name, &plan, error, options, timing).await;
                let hint = way_on(name, plan.purpose, failed.class(), options.atomic);
                Err(failed.hinting(hint))
            }
        }
    }

    /// Marks a release whose history was kept when it was uninstalled as superseded, as Helm does, once another has its
    /// name. That it was uninstalled stays noted in the record.
    async fn replaced(&self, last: Option<&Revision>, timing: &Timing) {
        let Some(last) = last.filter(|last| last.info.status == Status::Uninstalled) else {
            return;
        };
        let mut last = last.clone();
        last.set_status(Status::Superseded, "superseded by new release");
        let written = self.storage.update(&mut last, &look(&timing.all)).await;
        if let Err(error) = written {
            self.warn(format!(
                "revision {} cannot be marked superseded: {error}",
                last.version
            ));
        }
    }

    /// Walks a plan.
    pub(super) async fn walk(
        &self,
        plan: &Plan,
        kinds: &Kinds,
        timing: &Timing,
        recorder: Option<&Recorder<'_>>,
        interrupt: &Interrupt,
        propagation: Propagation,
    ) -> Walked {
        let tracker = Tracker::new(&self.cluster, self.listener);
        let deployer = Deployer {
            cluster: &self.cluster,
            tracker: &tracker,
            plan,
            kinds,
            mode: self.mode,
            time: timing.time(),
            propagation,
            recorder,
            listener: self.listener,
            created: RefCell::default(),
            gone: RefCell::default(),
        };
        let stop = async {
            interrupt.wait().await;
        };
        let walk = execute::run(plan, &deployer, self.limits, stop);
        let outcome = tracker.run(walk).await;
        let created = deployer.created.into_inner().into_iter().collect();
        Walked { outcome, created }
    }

    /// Whether all went well; the error if not, with the words of Helm before those of hooks.
    pub(super) fn verdict(
        &self,
        plan: &Plan,
        outcome: &Outcome<OperationError>,
        interrupt: &Interrupt,
    ) -> Result<(), ReleaseError> {
        if let Some((vertex, first)) = outcome.failures.first() {
            let mut text = first.to_string();
            for (_, other) in outcome.failures.iter().skip(1) {
                text.push_str("\nand: ");
                text.push_str(&other.to_string());
            }
            let stage = plan
                .operations
                .get(*vertex)
                .map(|operation| operation.stage);
            if let Some(before) = stage.and_then(|stage| hook_words(plan.purpose, stage)) {
                text = format!("{before}: {text}");
            }
            let transient = outcome
                .failures
                .iter()
                .all(|(_, failure)| failure.is_transient());
            return Err(ReleaseError::new(Class::Failed, text).transient(transient));
        }
        if outcome.stopped || !outcome.is_done() {
            return Err(interrupted(&interrupt.reason().unwrap_or_default()));
        }
        Ok(())
    }

    /// Marks the revision failed and deletes what annotations and options say.
    async fn fail(&self, name: &str, run: &Run<'_>, recorder: &Recorder<'_>, error: &ReleaseError) {
        let what = match run.plan.purpose {
            Purpose::Upgrade => "Upgrade",
            Purpose::Rollback => "Rollback",
            _ => "Release",
        };
        let cleanup = run.timing.cleanup();
        let said = error.to_string();
        let said = said.split("\nhint: ").next().unwrap_or_default();
        let text = format!("{what} {name:?} failed: {said}");
        if let Err(trouble) = recorder.set(Status::Failed, &text, &cleanup).await {
            self.warn(format!(
                "the record of the revision cannot be marked failed: {trouble}; the next run finds it pending and goes on from there"
            ));
        }
        self.clean_up(run).await;
    }

    /// Deletes what annotations and options say after a failure.
    pub(super) async fn clean_up(&self, run: &Run<'_>) {
        for item in run.doomed() {
            self.delete_item(run.plan, item, &run.walked.created, run.timing)
                .await;
        }
    }

    async fn delete_item(
        &self,
        plan: &Plan,
        item: usize,
        created: &[(usize, String)],
        timing: &Timing,
    ) {
        let Some(found) = plan.items.get(item) else {
            return;
        };
        let id = &found.resource.id;
        let uid = created
            .iter()
            .find(|(number, _)| *number == item)
            .map(|(_, uid)| uid.as_str());
        let propagation = found.directives.propagation.unwrap_or_default();
        let at = (id.namespace.as_str(), id.name.as_str());
        let deleted = self
            .cluster
            .delete_object(
                &found.resource.api,
                at,
                uid,
                propagation,
                ApplyMode::Live,
                &timing.cleanup(),
            )
            .await;
        match deleted {
            Ok(_) => self.tell(Event::Info(format!("{id} was deleted after the failure"))),
            Err(error) if error.class() == ErrorClass::Conflict => {}
            Err(error) => self.warn(format!("{id} cannot be deleted after the failure: {error}")),
        }
    }

    /// With `atomic`, takes a failed deployment back.
    async fn undo(
        &self,
        name: &str,
        plan: &Plan,
        error: ReleaseError,
        options: &Options,
        timing: &Timing,
    ) -> ReleaseError {
        if !options.atomic || error.class() == Class::Interrupted {
            return error;
        }
        // The time of the operation may be what ran out: taking it back has the same again (S-D.7).
        let again = Timing {
            all: match timing.all.remaining() {
                Some(_) => {
                    let length = timing.each.as_ref().map_or(LIMIT, |(_, length)| *length);
                    kzero_cluster::Budget::new(
                        format!("rollback {}", kzero_duration::format(length)),
                        length,
                    )
                }
                None => timing.all.clone(),
            },
            ..timing.clone()
        };
        match plan.purpose {
            Purpose::Install => {
                let uninstall = Uninstall {
                    name: name.to_owned(),
                    wait: true,
                    disable_hooks: options.disable_hooks,
                    ..Uninstall::default()
                };
                match Box::pin(self.uninstall_locked(uninstall, &again, &self.interrupt)).await {
                    Ok(_) => error.clone().saying(format!("release {name} failed, and has been uninstalled due to atomic being set: {error}")),
                    Err(second) => error.clone().saying(format!(
                        "an error occurred while uninstalling the release. original install error: {error}: {second}"
                    )),
                }
            }
            Purpose::Upgrade => {
                let rollback = Rollback {
                    name: name.to_owned(),
                    wait: true,
                    wait_for_jobs: options.wait_for_jobs,
                    disable_hooks: options.disable_hooks,
                    strategy: options.strategy,
                    replace: options.replace,
                    force_conflicts: options.force_conflicts,
                    history_max: 0,
                    recreate_pods: options.recreate_pods,
                    to: Goal::Successful,
                    ..Rollback::default()
                };
                match Box::pin(self.rollback_locked(rollback, &again, &self.interrupt)).await {
                    Ok(_) => error.clone().saying(format!("release {name} failed, and has been rolled back due to atomic being set: {error}")),
                    Err(second) => error.clone().saying(format!(
                        "an error occurred while rolling back the release. original upgrade error: {error}: {second}"
                    )),
                }
            }
            Purpose::Rollback | Purpose::Uninstall | Purpose::Test => error,
        }
    }

    /// Marks the revisions that were deployed before as superseded. The new one counts already, so what goes wrong here is
    /// told and mended by the next deployment.
    pub(super) async fn supersede(
        &self,
        history: &crate::storage::History,
        newest: i64,
        timing: &Timing,
    ) {
        let before = history
            .entries()
            .iter()
            .filter(|entry| entry.status() == Status::Deployed && entry.version() != newest);
        for entry in before {
            let written = async {
                let mut revision: Revision = entry.revision()?;
                revision.info.status = Status::Superseded;
                self.storage.update(&mut revision, &look(&timing.all)).await
            };
            if let Err(error) = written.await {
                self.warn(format!(
                    "revision {} cannot be marked superseded: {error}",
                    entry.version()
                ));
            }
        }
    }
}

/// What is to be done about a deployment that failed.
fn way_on(name: &str, purpose: Purpose, class: Class, was_undone: bool) -> String {
    if class == Class::Interrupted {
        return format!(
            "the revision is marked failed; `kzero release upgrade --install {name} CHART` goes on from there"
        );
    }
    if was_undone {
        return "mend the cause, and run the same again".to_owned();
    }
    let other = match purpose {
        Purpose::Install => format!("`kzero release uninstall {name}` takes away what is there"),
        _ => format!("`kzero release rollback {name}` goes back"),
    };
    format!(
        "the revision is marked failed. Mend the cause, and `kzero release upgrade --install {name} CHART` goes on from there; {other}"
    )
}

/// The time that taking back has where nothing else says so.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(300);

fn hook_words(purpose: Purpose, stage: Stage) -> Option<&'static str> {
    Some(match (purpose, stage) {
        (Purpose::Install, Stage::Crds) => "failed to install CRD",
        (Purpose::Install, Stage::Pre) => "failed pre-install",
        (Purpose::Install, Stage::Post) => "failed post-install",
        (Purpose::Upgrade, Stage::Pre) => "pre-upgrade hooks failed",
        (Purpose::Upgrade, Stage::Post) => "post-upgrade hooks failed",
        (Purpose::Rollback, Stage::Pre) => "pre-rollback hooks failed",
        (Purpose::Rollback, Stage::Post) => "post-rollback hooks failed",
        (Purpose::Uninstall, Stage::Pre) => "failed pre-delete",
        (Purpose::Uninstall, Stage::Post) => "failed post-delete",
        _ => return None,
    })
}

/// What a revision says of itself once it is done.
const fn complete(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Upgrade => "Upgrade complete",
        _ => "Install complete",
    }
}
