//! When memory is written: before the first step of `down`, and after an `up` that went well.

use std::collections::BTreeMap;
use std::time::Duration;

use kzero_cluster::{Budget, ClusterError, WorkloadRef};

use super::plan::Plan;
use super::run::{Engine, Failure};
use crate::event::{Level, Phase};
use crate::state::memory::{Key, Live};
use crate::state::store::StoreError;
use crate::steps::Subject;

/// How long forgetting may take at the end of a run.
const FORGETTING: Duration = Duration::from_secs(30);

/// Why sizes were not recorded.
enum Unrecorded {
    Cluster(String),
    Store(StoreError),
}

impl From<ClusterError> for Unrecorded {
    fn from(error: ClusterError) -> Self {
        Self::Cluster(error.to_string())
    }
}

impl From<StoreError> for Unrecorded {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Engine<'_> {
    /// Records what the objects of a `down` are, with lists and in one write (S-D.13). What passes, or cannot be read of
    /// an object, is left to its own step, which then says why.
    ///
    /// # Errors
    ///
    /// Memory cannot be used or written at all: nothing of the phase begins.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped, the write may or may not have been done. It may be repeated.
    pub(super) async fn remember(&self, plan: &Plan) -> Result<(), Failure> {
        let begins = plan.phase == Phase::Down && !self.dry() && self.memory.is_on();
        if !begins || self.check_stop().is_err() {
            return Ok(());
        }
        let mut workloads: Vec<WorkloadRef> = Vec::new();
        let mut cron_jobs: Vec<(String, String)> = Vec::new();
        let steps = plan.steps.iter();
        for step in steps.filter(|step| !self.finished.contains_key(&step.id.place())) {
            match step.action.subject() {
                Subject::Workload(workload) => workloads.push(workload),
                Subject::CronJob(namespace, name) => cron_jobs.push((namespace, name)),
                _ => {}
            }
        }
        if workloads.is_empty() && cron_jobs.is_empty() || self.check_lock().await.is_err() {
            return Ok(());
        }
        let budget = self.operation_budget(None);
        let work = async {
            let client = self.doors.cluster.get().await?;
            let sizes = client.sizes(&workloads, &budget).await?;
            let mut found: BTreeMap<Key, Live> = sizes
                .into_iter()
                .map(|(workload, size)| (Key::from(&workload), size.into()))
                .collect();
            if !cron_jobs.is_empty() {
                let states = client.cron_jobs(&cron_jobs, &budget).await?;
                found.extend(states.into_iter().map(|((namespace, name), state)| {
                    (Key::cron_job(&namespace, &name), state.into())
                }));
            }
            self.memory.park_all(&found, &budget).await?;
            Ok::<_, Unrecorded>(())
        };
        match self.stop.race_call(work).await {
            // Steps that are no parks would begin before the first one that cannot be recorded.
            Ok(Err(Unrecorded::Store(error))) if !error.transient => {
                Err(Self::failure(plan.phase, error.text))
            }
            Ok(Err(Unrecorded::Store(StoreError { text, .. }) | Unrecorded::Cluster(text))) => {
                let text = format!("sizes are recorded by each step for itself ({text})");
                self.bus().note(Level::Debug, text);
                Ok(())
            }
            // Whoever begins the next step tells a stop.
            Ok(Ok(())) | Err(_) => Ok(()),
        }
    }

    /// Forgets what the steps of an `up` that went well have restored, those of runs that it goes on with too (S-11.11).
    ///
    /// # Cancel safety
    ///
    /// As [`Engine::remember`].
    pub(super) async fn forget(&self, phases: &[Phase]) {
        if self.dry() || !phases.contains(&Phase::Up) {
            return;
        }
        let steps = self.plans.up.steps.iter();
        let keys: Vec<Key> = steps
            .filter_map(|step| step.action.subject().key())
            .collect();
        let budget = Budget::new("forgetting 30s", FORGETTING);
        let forgotten = tokio::select! {
            forgotten = self.memory.forget(&keys, &budget) => forgotten,
            () = self.stop.stopped_at_once() => return,
        };
        if let Err(error) = forgotten {
            let text = format!("what was woken is remembered still: {}", error.text);
            self.bus().note(Level::Warn, text);
        }
    }
}
