//! Rollbacks: the snapshot of an older revision under a new number.

use kzero_chart::manifest::HookEvent;
use kzero_cluster::Budget;

use super::deploy::{Planned, Wanted, original, vanished};
use super::past::{Past, by_object, hook_documents};
use super::{Deployed, Engine, Options, Timing, race, started};
use crate::decide::Strategy;
use crate::error::ReleaseError;
use crate::interrupt::Interrupt;
use crate::plan::Purpose;
use crate::render::documents;
use crate::resource::{Document, Kinds, Lookup, Resource, Role, build};
use crate::revision::{HookRun, Revision, Status, StoredHook, Time, check_name};
use crate::storage::{Entry, StorageError};

/// What is to be rolled back, and how.
#[derive(Debug, Clone, Default)]
pub struct Rollback {
    /// The name of the release.
    pub name: String,
    /// The revision to go back to.
    pub to: Goal,
    /// Whether the end waits until all is ready.
    pub wait: bool,
    /// Whether Jobs are among that.
    pub wait_for_jobs: bool,
    /// Whether the pods of objects that were there are deleted, so that they are made anew.
    pub recreate_pods: bool,
    /// Whether the hooks of the chart are left out.
    pub disable_hooks: bool,
    /// How changes are written.
    pub strategy: Strategy,
    /// Whether objects are replaced as a whole.
    pub replace: bool,
    /// Whether fields of others are taken when the API server merges.
    pub force_conflicts: bool,
    /// Whether objects that a failed rollback created are deleted.
    pub cleanup_on_fail: bool,
    /// How many revisions are kept; 0 for all.
    pub history_max: usize,
    /// The description of the revision in place of the usual one.
    pub description: Option<String>,
}

/// Which revision a rollback goes back to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Goal {
    /// The one before the newest, as Helm does.
    #[default]
    Previous,
    /// The newest that was once deployed, but for the newest of all.
    Successful,
    /// The one of this number.
    Revision(i64),
}

impl Engine<'_> {
    /// Rolls a release back. It is also the way out of a revision that stayed pending.
    ///
    /// # Errors
    ///
    /// See [`ReleaseError::class`]; there may be no such revision.
    ///
    /// # Cancel safety
    ///
    /// As [`Engine::deploy`].
    pub async fn rollback(
        &self,
        rollback: Rollback,
        timing: &Timing,
    ) -> Result<Deployed, ReleaseError> {
        check_name(&rollback.name).map_err(|error| ReleaseError::refused(error.to_string()))?;
        let name = rollback.name.clone();
        self.locked(&name, timing, |interrupt, _| async move {
            self.rollback_locked(rollback, timing, &interrupt).await
        })
        .await
    }

    /// The same under a lock that is held.
    pub(super) async fn rollback_locked(
        &self,
        rollback: Rollback,
        timing: &Timing,
        interrupt: &Interrupt,
    ) -> Result<Deployed, ReleaseError> {
        let planning = async {
            let kinds = self.kinds(&timing.all).await?;
            let past = self.past(&rollback.name, &timing.all).await?;
            // Where there is nothing to go back to, nothing is touched.
            target(&rollback, &past)?;
            let past = self.take_place(past, &timing.all).await?;
            self.plan_rollback(&rollback, kinds, past, &timing.all)
                .await
        };
        let (planned, options) = race(interrupt, planning).await?;
        for warning in &planned.plan.warnings {
            self.warn(warning.clone());
        }
        self.tell(started(&planned.plan, planned.revision.version));
        Box::pin(self.carry_out(&rollback.name, planned, &options, timing, interrupt)).await
    }

    /// Marks a newest revision that stayed pending as failed: what comes now takes its place.
    async fn take_place(&self, past: Past, budget: &Budget) -> Result<Past, ReleaseError> {
        let last = past.last.as_ref();
        let pending = last.filter(|last| last.info.status.is_pending() && !self.is_dry());
        let Some(last) = pending.cloned() else {
            return Ok(past);
        };
        let text = format!("{}; it is marked failed", last.info.status);
        self.clear(last, &text, budget).await
    }

    async fn plan_rollback(
        &self,
        rollback: &Rollback,
        kinds: Kinds,
        past: Past,
        budget: &Budget,
    ) -> Result<(Planned, Options), ReleaseError> {
        let target = target(rollback, &past)?;
        let number = target.version;
        let options = Options {
            wait: rollback.wait,
            wait_for_jobs: rollback.wait_for_jobs,
            strategy: rollback.strategy,
            replace: rollback.replace,
            force_conflicts: rollback.force_conflicts,
            history_max: rollback.history_max,
            recreate_pods: rollback.recreate_pods,
            disable_hooks: rollback.disable_hooks,
            cleanup_on_fail: rollback.cleanup_on_fail,
            description: Some(
                rollback
                    .description
                    .clone()
                    .unwrap_or_else(|| format!("Rollback to {number}")),
            ),
            ..Options::default()
        };
        let revision = self.copied(&target, &past, options.strategy);
        self.storage.would_fit(&revision)?;
        let resources = self.snapshot(&revision, &options, &kinds)?;
        let hooks: Vec<Vec<HookEvent>> = revision.hooks.iter().map(events).collect();
        let stored = self.stored_objects(&past.since, &kinds);
        let newest = stored.len().checked_sub(1);
        let original = original(options.strategy, &stored, newest);
        let removals = vanished(&stored, &resources);
        let wanted = Wanted {
            removals,
            resources,
            hooks: &hooks,
            previous: by_object(stored),
            original,
        };
        let plan = self
            .decide(
                &rollback.name,
                Purpose::Rollback,
                &options,
                wanted,
                &kinds,
                budget,
            )
            .await?;
        let planned = Planned {
            plan,
            kinds,
            unchanged: false,
            disabled_hooks: if options.disable_hooks {
                revision.hooks.len()
            } else {
                0
            },
            revision,
            past,
        };
        Ok((planned, options))
    }

    /// The new revision: all of the target but its number and times.
    fn copied(&self, target: &Revision, past: &Past, strategy: Strategy) -> Revision {
        let mut revision = Revision::new(
            &target.name,
            self.namespace(),
            past.next(),
            Status::PendingRollback,
        );
        let now = Time::utc(jiff::Timestamp::now());
        let first = past.last.as_ref().and_then(|last| last.info.first_deployed);
        revision.info.first_deployed = first.or(Some(now));
        revision.info.last_deployed = Some(now);
        revision.info.description = format!("Rollback to {}", target.version);
        revision.info.notes.clone_from(&target.info.notes);
        revision.chart.clone_from(&target.chart);
        revision.config.clone_from(&target.config);
        revision.manifest.clone_from(&target.manifest);
        revision.hooks = target
            .hooks
            .iter()
            .map(|hook| StoredHook {
                last_run: HookRun::default(),
                ..hook.clone()
            })
            .collect();
        revision.labels.clone_from(&target.labels);
        revision.holder = Some(self.holder.clone());
        if strategy == Strategy::ServerSide {
            "ssa".clone_into(&mut revision.apply_method);
        }
        revision
    }

    /// The objects of a stored revision. Kinds that the server no longer has cannot come back.
    fn snapshot(
        &self,
        revision: &Revision,
        options: &Options,
        kinds: &Kinds,
    ) -> Result<Vec<Resource>, ReleaseError> {
        let manifests = documents(&revision.manifest);
        let mut all: Vec<Document<'_>> = manifests
            .iter()
            .map(|(path, text)| Document {
                text,
                path,
                role: Role::Manifest,
            })
            .collect();
        if !options.disable_hooks {
            all.extend(hook_documents(&revision.hooks));
        }
        let built = build(&all, self.namespace(), kinds, Lookup::Stored)?;
        for gone in built.gone {
            self.warn(format!("{gone}, so it cannot come back"));
        }
        Ok(built.resources)
    }
}

/// The revision to go back to.
fn target(rollback: &Rollback, past: &Past) -> Result<Revision, ReleaseError> {
    let Some(last) = past.history.last() else {
        return Err(StorageError::NotFound.into());
    };
    if rollback.to == Goal::Successful {
        let good = past.history.entries().iter().rev().find(|entry| {
            matches!(entry.status(), Status::Deployed | Status::Superseded)
                && entry.version() < last.version()
        });
        return match good {
            Some(entry) => Ok(entry.revision()?),
            None => Err(ReleaseError::refused(
                "unable to find a previously successful release when attempting to rollback",
            )
            .hinting(format!(
                "`kzero release history {0}` shows its revisions; `kzero release uninstall {0}` takes away what was deployed",
                rollback.name
            ))),
        };
    }
    let number = match rollback.to {
        Goal::Revision(number) => number,
        Goal::Previous | Goal::Successful => last.version() - 1,
    };
    let readable = || {
        let entries = past.history.entries().iter();
        let readable = entries.filter(|entry| entry.revision().is_ok());
        let numbers: Vec<String> = readable.map(|entry| entry.version().to_string()).collect();
        numbers.join(", ")
    };
    let name = &rollback.name;
    match past.history.get(number).map(Entry::revision) {
        Some(Ok(revision)) => Ok(revision),
        Some(Err(error)) => Err(ReleaseError::refused(format!(
            "{error}\nhint: `kzero release rollback {name} REVISION` goes to one that reads: {}",
            readable()
        ))),
        None => Err(ReleaseError::refused(format!(
            "release has no {number} version\nhint: its revisions are {}",
            readable()
        ))),
    }
}

/// The events of a stored hook.
pub(super) fn events(hook: &StoredHook) -> Vec<HookEvent> {
    hook.events
        .iter()
        .filter_map(|event| HookEvent::named(event))
        .collect()
}
