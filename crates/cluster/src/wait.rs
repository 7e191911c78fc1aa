//! Waiting for workloads: until they are ready, until their pods are gone.

use std::{collections::BTreeMap, fmt, ops::ControlFlow, time::Duration};

use k8s_openapi::api::{
    apps::v1::{Deployment, ReplicaSet, StatefulSet},
    core::v1::Pod,
};
use kube::Resource;
use serde::de::DeserializeOwned;

use crate::{
    budget::{Budget, Expired},
    client::{Call, Cluster},
    error::{ClusterError, ErrorClass, Operation},
    list::{Follow, passes},
    notice::Notice,
    object::{ScaleKind, WorkloadRef, namespaced},
    pods::{self, Owner},
    readiness::{Assess, Marker, Rollout, Verdict},
    scale::Scaled,
};

/// How a wait may fail. Displays as one line.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WaitError {
    /// What was waited for will not come. Names object and cause; waiting again does not help.
    #[error("{0}")]
    Failed(String),
    /// The budget ended first.
    #[error("{}", timeout_text(expired, detail))]
    TimedOut {
        /// Which budget.
        expired: Expired,
        /// What was missing at the end, one or several lines; may be empty.
        detail: String,
    },
    /// The API server refused or is gone.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

fn timeout_text(expired: &Expired, detail: &str) -> impl fmt::Display {
    let detail = detail.lines().collect::<Vec<_>>().join("; ");
    if detail.is_empty() {
        format!("timed out ({expired})")
    } else {
        format!("timed out ({expired}): {detail}")
    }
}

impl WaitError {
    pub(crate) fn timed_out(expired: Expired, detail: String) -> Self {
        Self::TimedOut { expired, detail }
    }

    /// Whether trying the step again may help: a wait that ran out of time may (S-3.17), one that
    /// failed may not.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Failed(_) => false,
            Self::TimedOut { .. } => true,
            Self::Cluster(error) => error.is_transient(),
        }
    }

    /// Puts what the caller knows about the state into a time-out.
    pub(crate) fn with_detail(self, known: &str) -> Self {
        match self {
            Self::TimedOut { expired, detail } => {
                let detail = match (known.is_empty(), detail.is_empty()) {
                    (true, _) => detail,
                    (false, true) => known.to_owned(),
                    (false, false) => format!("{known}\n{detail}"),
                };
                Self::TimedOut { expired, detail }
            }
            other => other,
        }
    }
}

/// A workload that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Ready pods.
    pub ready: i32,
    /// The size it was compared with.
    pub wanted: i32,
}

/// Time for the last look at what is left after a wait has ended.
const LAST_LOOK: Duration = Duration::from_secs(3);
/// Pause before a workload whose pods are gone, but whose controller lags, is looked at again.
const SETTLE: Duration = Duration::from_millis(250);

impl Cluster {
    /// Waits until a workload is ready at its live size (S-2.11, S-2.12).
    ///
    /// `since` is what [`Cluster::set_replicas`] returned; a rollout failure counts only when it
    /// dates from after that call. Without it any failure of the present generation counts.
    /// Changes of the state are reported as [`Notice::Progress`]; a moved size, a paused rollout
    /// and a failing controller once each.
    ///
    /// # Errors
    ///
    /// [`WaitError::Failed`] when the rollout has failed, [`WaitError::TimedOut`] with what was
    /// missing when the budget ended, [`WaitError::Cluster`] when the workload is gone or may not
    /// be read.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn wait_ready(
        &self,
        workload: &WorkloadRef,
        since: Option<&Scaled>,
        budget: &Budget,
    ) -> Result<Ready, WaitError> {
        let marker = Marker {
            after: since.and_then(|scaled| scaled.at),
        };
        match workload.kind {
            ScaleKind::Deployment => {
                self.wait_ready_of::<Deployment>(workload, marker, since, budget)
                    .await
            }
            ScaleKind::StatefulSet => {
                self.wait_ready_of::<StatefulSet>(workload, marker, since, budget)
                    .await
            }
        }
    }

    async fn wait_ready_of<K>(
        &self,
        workload: &WorkloadRef,
        marker: Marker,
        since: Option<&Scaled>,
        budget: &Budget,
    ) -> Result<Ready, WaitError>
    where
        K: Resource + DeserializeOwned + Assess,
    {
        let what = follow_one(workload);
        let mut watcher =
            Watcher::new(self, workload.to_string(), since.map(|scaled| scaled.after));
        let result = self
            .follow::<K, Result<Ready, WaitError>>(&what, budget, |objects| {
                let found = objects
                    .values()
                    .find(|object| object.meta().name.as_deref() == Some(&workload.name));
                match found {
                    Some(object) => watcher.see(object.assess(marker)),
                    None => ControlFlow::Break(Err(WaitError::Cluster(ClusterError::not_found(
                        &workload.to_string(),
                    )))),
                }
            })
            .await;
        match result {
            Ok(done) => done,
            Err(error) => Err(error.with_detail(&watcher.last)),
        }
    }

    /// Reads a workload once and judges it by the rules of [`Cluster::wait_ready`], for reports.
    /// `None` if it is absent.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`] but not found.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn rollout(
        &self,
        workload: &WorkloadRef,
        budget: &Budget,
    ) -> Result<Option<Rollout>, ClusterError> {
        let call = Call::get(workload_operation(workload, "get"), workload.path());
        let marker = Marker::default();
        Ok(match workload.kind {
            ScaleKind::Deployment => self
                .call_optional::<Deployment>(&call, budget)
                .await?
                .map(|found| found.assess(marker)),
            ScaleKind::StatefulSet => self
                .call_optional::<StatefulSet>(&call, budget)
                .await?
                .map(|found| found.assess(marker)),
        })
    }

    /// Waits until no pod owned by the workload is left, Terminating ones included (S-2.14).
    ///
    /// To be called after size 0 was accepted. Pods belong to the workload by the uid of their
    /// controller, through ReplicaSets for a Deployment.
    ///
    /// # Errors
    ///
    /// [`WaitError::TimedOut`] with one line for each pod that is left; [`WaitError::Cluster`]
    /// when the workload is not there or pods may not be listed.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn wait_terminated(
        &self,
        workload: &WorkloadRef,
        budget: &Budget,
    ) -> Result<(), WaitError> {
        let owner = self.owner(workload, budget).await?;
        let what = follow_pods(workload, &owner);
        let mut left: Vec<Pod> = Vec::new();
        loop {
            let mut said: Option<String> = None;
            let result = self
                .follow::<Pod, ()>(&what, budget, |pods| {
                    left = pods
                        .values()
                        .filter(|pod| owner.owns(pod))
                        .cloned()
                        .collect();
                    if left.is_empty() {
                        return ControlFlow::Break(());
                    }
                    let text = pods::count_text(&left);
                    if said.as_deref() != Some(&text) {
                        self.notify(Notice::Progress {
                            object: workload.to_string(),
                            text: text.clone(),
                        });
                        said = Some(text);
                    }
                    ControlFlow::Continue(())
                })
                .await;
            if let Err(error) = result {
                return Err(self.describe_left(error, &left).await);
            }
            // No pods, but a controller that has not seen the new size may still make some.
            if self.settled(workload, budget).await? {
                return Ok(());
            }
            budget.sleep(SETTLE).await.map_err(|expired| {
                WaitError::timed_out(
                    expired,
                    "the controller has not seen the new size".to_owned(),
                )
            })?;
        }
    }

    /// Whether the controller has acted on the present size and counts no pods.
    async fn settled(&self, workload: &WorkloadRef, budget: &Budget) -> Result<bool, WaitError> {
        let call = Call::get(workload_operation(workload, "get"), workload.path());
        let found: Option<serde_json::Value> = match self.call_optional(&call, budget).await {
            Ok(found) => found,
            Err(error) if passes(&error) => return Ok(false),
            Err(error) => return Err(WaitError::Cluster(error)),
        };
        let Some(found) = found else {
            // Deleted meanwhile: nothing will make pods any more.
            return Ok(true);
        };
        let number = |path: &str| found.pointer(path).and_then(serde_json::Value::as_i64);
        let observed = number("/status/observedGeneration").unwrap_or(0);
        let generation = number("/metadata/generation").unwrap_or(0);
        let wanted = number("/spec/replicas").unwrap_or(1);
        // Something else has scaled it up again: its pods are none of this wait.
        Ok(wanted > 0 || (observed >= generation && number("/status/replicas").unwrap_or(0) == 0))
    }

    /// Reads what identifies the pods of a workload.
    pub(crate) async fn owner(
        &self,
        workload: &WorkloadRef,
        budget: &Budget,
    ) -> Result<Owner, ClusterError> {
        let call = Call::get(workload_operation(workload, "get"), workload.path());
        let found: serde_json::Value = self.call_json(&call, budget).await?;
        let mut owner = Owner::from_workload(workload, &found)
            .map_err(|why| ClusterError::unreadable(&call.operation, why))?;
        if workload.kind == ScaleKind::Deployment {
            let operation = Operation::new(
                "list",
                "replicasets",
                Some(&workload.namespace),
                workload.to_string(),
            );
            let path = namespaced("apps/v1", &workload.namespace, "replicasets", None);
            let selector = owner.selector_query();
            match self
                .list::<ReplicaSet>(&operation, &path, &selector, budget)
                .await
            {
                Ok(sets) => owner.add_replica_sets(&sets.items),
                // Without that right the sets are known by their name alone; see `Owner::owns`.
                Err(error) if error.class() == ErrorClass::Forbidden => {}
                Err(error) => return Err(error),
            }
        }
        Ok(owner)
    }

    /// Adds to a time-out what is left, with the state of the nodes.
    async fn describe_left(&self, error: WaitError, left: &[Pod]) -> WaitError {
        let timed_out = match &error {
            WaitError::TimedOut { .. } => true,
            WaitError::Cluster(cause) => cause.class() == ErrorClass::TimedOut,
            WaitError::Failed(_) => false,
        };
        if !timed_out || left.is_empty() {
            return error;
        }
        // The wait's own time is over; this look has its own, short one.
        let budget = Budget::new("last look 3s", LAST_LOOK);
        let nodes = self.node_states(left, &budget).await;
        let lines: Vec<String> = left
            .iter()
            .map(|pod| pods::describe_left(pod, &nodes))
            .collect();
        error.with_detail(&lines.join("\n"))
    }

    /// The state of the nodes that pods are on; nodes that cannot be read are left out.
    pub(crate) async fn node_states(
        &self,
        pods: &[Pod],
        budget: &Budget,
    ) -> BTreeMap<String, String> {
        let mut names: Vec<&str> = pods
            .iter()
            .filter_map(|pod| pod.spec.as_ref()?.node_name.as_deref())
            .collect();
        names.sort_unstable();
        names.dedup();
        let mut states = BTreeMap::new();
        for name in names {
            match self.node_state(name, budget).await {
                Ok(Some(state)) => {
                    states.insert(name.to_owned(), state);
                }
                Ok(None) => {
                    states.insert(name.to_owned(), "gone".to_owned());
                }
                Err(_) => {}
            }
        }
        states
    }
}

pub(crate) fn workload_operation(workload: &WorkloadRef, verb: &'static str) -> Operation {
    Operation::new(
        verb,
        workload.kind.plural(),
        Some(&workload.namespace),
        workload.to_string(),
    )
}

fn follow_one(workload: &WorkloadRef) -> Follow {
    Follow {
        operation: workload_operation(workload, "list"),
        path: workload.collection(),
        selector: vec![("fieldSelector", format!("metadata.name={}", workload.name))],
        single: Some(workload.path()),
    }
}

fn follow_pods(workload: &WorkloadRef, owner: &Owner) -> Follow {
    Follow {
        operation: Operation::new(
            "list",
            "pods",
            Some(&workload.namespace),
            workload.to_string(),
        ),
        path: namespaced("v1", &workload.namespace, "pods", None),
        selector: owner.selector_query(),
        single: None,
    }
}

/// Turns verdicts into an end and notices, each notice once.
struct Watcher<'a> {
    cluster: &'a Cluster,
    object: String,
    size: Option<i32>,
    moved: bool,
    paused: bool,
    failing: Option<String>,
    last: String,
}

impl<'a> Watcher<'a> {
    fn new(cluster: &'a Cluster, object: String, size: Option<i32>) -> Self {
        Self {
            cluster,
            object,
            size,
            moved: false,
            paused: false,
            failing: None,
            last: String::new(),
        }
    }

    fn see(&mut self, rollout: Rollout) -> ControlFlow<Result<Ready, WaitError>> {
        let Rollout {
            verdict,
            ready,
            wanted,
            text,
            paused,
            replica_failure,
        } = rollout;
        let from = *self.size.get_or_insert(wanted);
        if from != wanted && !self.moved {
            self.moved = true;
            self.cluster.notify(Notice::AutoscalerMoved {
                object: self.object.clone(),
                from,
                to: wanted,
            });
        }
        if paused && !self.paused {
            self.paused = true;
            self.cluster.notify(Notice::RolloutPaused {
                object: self.object.clone(),
            });
        }
        if replica_failure.is_some() && self.failing != replica_failure {
            self.failing = replica_failure;
            self.cluster.notify(Notice::ReplicaFailure {
                object: self.object.clone(),
                message: self.failing.clone().unwrap_or_default(),
            });
        }
        if self.last != text {
            self.cluster.notify(Notice::Progress {
                object: self.object.clone(),
                text: text.clone(),
            });
            self.last = text;
        }
        match verdict {
            Verdict::Ready => ControlFlow::Break(Ok(Ready { ready, wanted })),
            Verdict::Progressing => ControlFlow::Continue(()),
            Verdict::Failed(why) => {
                ControlFlow::Break(Err(WaitError::Failed(format!("{}: {why}", self.object))))
            }
        }
    }
}
