//! Operations on releases, from beginning to end.
//!
//! Each operation takes the lock of its release, looks at what is stored and at what lives, makes a plan, writes the pending
//! record, walks the plan, and writes what came of it. A dry-run goes the same way with writes that take no effect and
//! without records.

mod deploy;
mod finish;
mod look;
mod past;
mod recover;
mod rollback;
mod test;
mod uninstall;

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use kzero_cluster::{ApiResource, ApplyMode, Budget, Cluster, ErrorClass};
use serde_json::{Value, json};

use crate::actor::{MANAGER, Time};
use crate::decide::{CrdPolicy, Strategy};
use crate::error::{Class, ReleaseError};
use crate::event::{Event, Listener};
use crate::execute::Limits;
use crate::interrupt::Interrupt;
use crate::lock::{Lock, LockError};
use crate::plan::{Plan, Purpose};
use crate::resource::{Kinds, label_fault, text};
use crate::revision::{Holder, Revision};
use crate::storage::Storage;
pub use deploy::{Deploy, Planned};
pub use look::Live;
pub use recover::Recovered;
pub use rollback::{Goal, Rollback};
pub use test::{Test, Tested};
pub use uninstall::{Uninstall, Uninstalled};

/// Time for one look at the cluster where no other limit is nearer.
const LOOK: Duration = Duration::from_secs(60);

/// Does operations on the releases of one namespace.
pub struct Engine<'a> {
    /// The way to the API server.
    pub cluster: Cluster,
    /// Records of the namespace.
    pub storage: Storage,
    /// Who does it.
    pub holder: Holder,
    /// Whether another holder still lives, as far as that can be known: only of this machine.
    pub is_alive: &'a dyn Fn(&Holder) -> Option<bool>,
    /// Where events go.
    pub listener: &'a Listener<'a>,
    /// Asks operations to end.
    pub interrupt: Interrupt,
    /// Whether anything takes effect.
    pub mode: ApplyMode,
    /// How much is under way at once.
    pub limits: Limits,
}

/// What operations may take.
#[derive(Debug, Clone)]
pub struct Timing {
    /// The whole operation.
    pub all: Budget,
    /// Each hook and each wait, with the words for errors; `None` leaves it to the whole.
    pub each: Option<(String, Duration)>,
    /// Writing what came of it after a failure or an interruption.
    pub cleanup: Duration,
}

impl Timing {
    /// The time of one hook or wait that begins now.
    fn one(&self) -> Budget {
        self.time().one()
    }

    fn time(&self) -> Time {
        Time {
            all: self.all.clone(),
            each: self.each.clone(),
        }
    }

    fn cleanup(&self) -> Budget {
        let label = format!("clean-up {}", kzero_duration::format(self.cleanup));
        Budget::new(label, self.cleanup)
    }
}

/// Which releases a deployment takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Existing {
    /// Whatever is there is upgraded, and installed if nothing is.
    #[default]
    Either,
    /// Only what is there is upgraded.
    Required,
    /// Nothing may be there.
    Refused,
    /// Nothing may be there but a release that failed or was uninstalled.
    Replaced,
}

/// How a deployment is done.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Which releases it takes.
    pub existing: Existing,
    /// Whether the end waits until all is ready.
    pub wait: bool,
    /// Whether Jobs are among that.
    pub wait_for_jobs: bool,
    /// Whether a failure is undone: an upgrade rolled back, an install uninstalled.
    pub atomic: bool,
    /// How changes are written.
    pub strategy: Strategy,
    /// Whether objects are replaced as a whole.
    pub replace: bool,
    /// Whether fields of others are taken when the API server merges.
    pub force_conflicts: bool,
    /// Whether objects of others are taken.
    pub take_ownership: bool,
    /// What becomes of `crds/`.
    pub crds: CrdPolicy,
    /// Whether no revision is made when nothing would change.
    pub skip_unchanged: bool,
    /// Whether a pending revision of another program is taken over.
    pub recover: bool,
    /// How many revisions are kept; 0 for all.
    pub history_max: usize,
    /// Whether the pods of objects that were there are deleted, so that they are made anew.
    pub recreate_pods: bool,
    /// Whether the hooks of the chart are left out.
    pub disable_hooks: bool,
    /// Whether objects that a failed upgrade created are deleted.
    pub cleanup_on_fail: bool,
    /// Whether the namespace is created if it is not there.
    pub create_namespace: bool,
    /// The description of the revision in place of the usual one.
    pub description: Option<String>,
    /// Labels of the record; `null` takes one off that the revision before has.
    pub labels: BTreeMap<String, String>,
}

/// What came of an operation.
#[derive(Debug, Clone)]
pub struct Deployed {
    /// The revision, as it was written; in a dry-run, as it would be.
    pub revision: Revision,
    /// What was done.
    pub purpose: Purpose,
    /// Whether nothing was to be done, so that no revision was made.
    pub skipped: bool,
}

impl Deployed {
    /// A revision that was made, or would be in a dry-run.
    fn made(revision: Revision, purpose: Purpose) -> Self {
        Self {
            revision,
            purpose,
            skipped: false,
        }
    }
}

impl Engine<'_> {
    fn tell(&self, event: Event) {
        (self.listener)(event);
    }

    fn warn(&self, text: impl Into<String>) {
        self.tell(Event::Warning(text.into()));
    }

    fn namespace(&self) -> &str {
        self.storage.namespace()
    }

    fn is_dry(&self) -> bool {
        self.mode == ApplyMode::DryRun
    }

    /// What the API server serves.
    async fn kinds(&self, budget: &Budget) -> Result<Kinds, ReleaseError> {
        let discovery = self
            .cluster
            .discovery(&look(budget))
            .await
            .map_err(|error| ReleaseError::from(error).about("Kubernetes cluster unreachable"))?;
        for group in &discovery.stale {
            self.warn(format!("the API server does not answer for {group}: objects of it cannot be told from others"));
        }
        Ok(Kinds::new(discovery))
    }

    /// Whether the namespace is there. One that is on its way out is waited for until it is gone, as long as one wait may
    /// take; without `waits` it counts as gone (S-5.11).
    ///
    /// # Errors
    ///
    /// It is not there and is not to be created, it stays, or no namespace can have its name.
    async fn has_namespace(
        &self,
        kinds: &Kinds,
        create: bool,
        waits: bool,
        timing: &Timing,
    ) -> Result<bool, ReleaseError> {
        let name = self.namespace().to_owned();
        if let Some(fault) = label_fault(&name) {
            return Err(ReleaseError::refused(format!(
                "Namespace {name:?} is invalid: metadata.name: Invalid value: {name:?}: {fault}\nhint: give a namespace that can be (--namespace, or the part before the name in a step)"
            )));
        }
        let Some(api) = kinds.resource("v1", "Namespace") else {
            return Ok(true);
        };
        let mut was_ending = false;
        loop {
            let looking = look(&timing.all);
            let found = match self.cluster.object(api, "", &name, &looking).await {
                Ok(found) => found,
                // Who may not look at namespaces finds out when writing into it.
                Err(error) if error.class() == ErrorClass::Forbidden => return Ok(true),
                Err(error) => return Err(error.into()),
            };
            let ending = found
                .as_ref()
                .filter(|found| found.pointer("/metadata/deletionTimestamp").is_some());
            match (ending, &found) {
                (None, Some(_)) => return Ok(true),
                (Some(ending), _) if waits => {
                    was_ending = true;
                    self.namespace_is_gone(api, ending, timing).await?;
                }
                (ending, _) if create => {
                    if ending.is_some() {
                        self.warn(format!(
                            "namespace {name} is being deleted; it would be waited for until it is gone, and created anew"
                        ));
                    }
                    return Ok(false);
                }
                (Some(_), _) => return Err(no_namespace(&name, "is being deleted")),
                (None, None) if was_ending => {
                    return Err(no_namespace(&name, "was being deleted and is gone now"));
                }
                (None, None) => return Err(no_namespace(&name, "does not exist")),
            }
        }
    }

    /// Waits until a namespace that is being deleted is gone.
    async fn namespace_is_gone(
        &self,
        api: &ApiResource,
        ending: &Value,
        timing: &Timing,
    ) -> Result<(), ReleaseError> {
        let name = self.namespace();
        self.tell(Event::Progress {
            object: format!("Namespace {name}"),
            text: format!(
                "{}; waiting until it is gone",
                crate::track::remaining(ending)
            ),
        });
        let uid = Some(text(ending, "/metadata/uid")).filter(|uid| !uid.is_empty());
        let budget = timing.one();
        crate::track::until_gone(&self.cluster, api, ("", name), uid, &budget, self.listener)
            .await
            .map_err(|error| {
                ReleaseError::from(error.clone()).saying(format!(
                    "namespace {name} is being deleted and is not gone: {error}\nhint: `kubectl get namespace {name} -o jsonpath='{{.status.conditions}}'` shows what remains in it; once what holds its finalizers has let go of them, run the same again"
                ))
            })
    }

    async fn create_namespace(&self, kinds: &Kinds, budget: &Budget) -> Result<(), ReleaseError> {
        let name = self.namespace();
        let Some(api) = kinds.resource("v1", "Namespace") else {
            return Ok(());
        };
        let object = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {"name": name}},
        });
        let write = kzero_cluster::Write {
            manager: MANAGER,
            mode: self.mode,
        };
        let created = self
            .cluster
            .create_object(api, "", &object, write, &look(budget))
            .await;
        match created {
            Ok(_) => Ok(()),
            Err(error) if error.class() == ErrorClass::Exists => Ok(()),
            Err(error) => Err(ReleaseError::from(error).about("cannot create the namespace")),
        }
    }

    /// Does something under the lock of a release: it is asked to end when the lock is lost or the engine is.
    async fn locked<T, F>(
        &self,
        name: &str,
        timing: &Timing,
        work: impl FnOnce(Interrupt, bool) -> F,
    ) -> Result<T, ReleaseError>
    where
        F: Future<Output = Result<T, ReleaseError>>,
    {
        let (asker, interrupt) = Interrupt::channel();
        if self.is_dry() {
            if let Some(reason) = self.interrupt.reason() {
                asker.interrupt(reason);
            }
            // Operations are large; on the heap they do not fill the stack.
            let mut work = Box::pin(work(interrupt, true));
            return tokio::select! {
                biased;
                result = &mut work => result,
                reason = self.interrupt.wait() => Err(interrupted(&reason)),
            };
        }
        let mut lock = Lock::take(
            &self.cluster,
            self.namespace(),
            name,
            &self.holder,
            self.is_alive,
            // A holder that missed a renewal is waited for.
            &look(&timing.one()),
        )
        .await
        .map_err(|error| match error {
            LockError::Held { .. } => ReleaseError::new(Class::Held, error.to_string()),
            LockError::Cluster(error) => {
                ReleaseError::from(error).about("cannot take the lock of the release")
            }
        })?;
        if !lock.is_held() {
            self.warn(format!(
                "no right to Leases in namespace {}: only the pending record keeps others from working on release {name} at the same time",
                self.namespace()
            ));
        }
        let result = {
            let mut work = Box::pin(work(interrupt, lock.is_held()));
            let keep = lock.keep();
            tokio::pin!(keep);
            let (mut asked, mut lost) = (false, false);
            loop {
                tokio::select! {
                    biased;
                    result = &mut work => break result,
                    reason = self.interrupt.wait(), if !asked => {
                        asked = true;
                        asker.interrupt(reason);
                    }
                    gone = &mut keep, if !lost => {
                        lost = true;
                        asker.interrupt(format!("the lock of the release was lost: {}", gone.why));
                    }
                }
            }
        };
        lock.release().await;
        result
    }
}

/// The budget of a look at the cluster.
fn look(budget: &Budget) -> Budget {
    budget.child("look at the cluster 1m0s", LOOK)
}

/// The error for a namespace that is not there and is not to be created.
fn no_namespace(name: &str, state: &str) -> ReleaseError {
    ReleaseError::refused(format!(
        "namespace {name} {state}\nhint: create it first, or have it created with create_namespace: true (--create-namespace)"
    ))
}

fn interrupted(reason: &str) -> ReleaseError {
    ReleaseError::new(Class::Interrupted, format!("interrupted: {reason}"))
}

/// Runs something that changes nothing until it is done or the operation is to end.
async fn race<T>(
    interrupt: &Interrupt,
    work: impl Future<Output = Result<T, ReleaseError>>,
) -> Result<T, ReleaseError> {
    tokio::select! {
        biased;
        reason = interrupt.wait() => Err(interrupted(&reason)),
        result = Box::pin(work) => result,
    }
}

/// Says how much a plan does.
fn started(plan: &Plan, revision: i64) -> Event {
    let changes = plan
        .items
        .iter()
        .filter(|item| item.decision.changes())
        .count();
    Event::Started {
        purpose: plan.purpose,
        revision,
        objects: plan.items.len() + plan.removals.len(),
        changes: changes + plan.removals.len(),
    }
}
