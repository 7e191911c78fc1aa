//! Waiting for objects: until they are ready, there, or gone.
//!
//! All waits of a run share their watches: a [`Tracker`] has one for each kind and namespace, whatever the number of objects
//! that are waited for. It starts no task; its watches live in [`Tracker::run`], beside the work that waits.

mod board;
mod logs;
mod pods;
mod report;
mod wait;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};
use kzero_cluster::{
    ApiResource, Budget, Cluster, ErrorClass, WaitError, has_rule as kind_has_rule, judge,
};
use serde_json::Value;
use tokio::sync::{Notify, Semaphore};

use crate::directives::State;
use crate::event::{Event, Listener};
use crate::plan::{ExternalWait, Item};
use crate::resource::{Resource, ResourceId, group_of, shown_id, text};
use board::{Boards, Key, Seat};
use wait::Written;
pub(crate) use wait::remaining;

/// How far the clock of the cluster may be behind.
const CLOCKS: SignedDuration = SignedDuration::from_secs(10);

/// Waits for objects.
pub struct Tracker<'a> {
    cluster: &'a Cluster,
    listener: &'a Listener<'a>,
    boards: Boards,
    /// What was written in this run, so that a watch that lags behind is not believed.
    written: RefCell<HashMap<ResourceId, Written>>,
    /// What is waited for and how it is, by the number of the wait.
    unready: RefCell<BTreeMap<usize, report::Unready>>,
    /// Held while the causes of a failure are gathered.
    reporting: Semaphore,
    /// Turns of reading logs.
    streams: Semaphore,
    next: Cell<usize>,
    /// Events before this are none of this run's.
    since: Timestamp,
    /// Whether storage classes wait for the first consumer, by name.
    classes: RefCell<HashMap<String, bool>>,
}

impl<'a> Tracker<'a> {
    /// A tracker that asks this cluster and tells this listener.
    #[must_use]
    pub fn new(cluster: &'a Cluster, listener: &'a Listener<'a>) -> Self {
        Self {
            cluster,
            listener,
            boards: Boards::default(),
            written: RefCell::default(),
            unready: RefCell::default(),
            reporting: Semaphore::new(1),
            streams: Semaphore::new(logs::STREAMS),
            next: Cell::new(0),
            since: Timestamp::now()
                .checked_sub(CLOCKS)
                .unwrap_or(Timestamp::UNIX_EPOCH),
            classes: RefCell::default(),
        }
    }

    /// Does work that waits through this tracker. Waits outside of it see nothing and end with their budgets.
    ///
    /// # Cancel safety
    ///
    /// As safe as the work; the watches end with it.
    pub async fn run<F: Future>(&self, work: F) -> F::Output {
        tokio::select! {
            biased;
            done = work => done,
            never = self.boards.drive(self.cluster) => match never {},
        }
    }

    /// Notes an object as the API server answered to a write, so that no older state of it is taken for the present one.
    pub fn wrote(&self, id: &ResourceId, object: &Value) {
        self.written
            .borrow_mut()
            .insert(id.clone(), Written::of(object));
    }

    /// Waits until an object is ready: a Job until it is complete, a Pod of a hook until it has succeeded, the definition of
    /// a kind until the API server answers for that kind.
    ///
    /// # Errors
    ///
    /// [`WaitError::Failed`] when it will not get ready, [`WaitError::TimedOut`] when the budget ended, with the state of
    /// all objects that were waited for by then; [`WaitError::Cluster`] when it may not be read.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn ready(&self, item: &Item, budget: &Budget) -> Result<(), WaitError> {
        if !has_rule(&item.resource) {
            return Ok(());
        }
        wait::Wait::new(self, item, budget).run().await
    }

    /// Waits until something outside of the release is there, or ready, as is asked.
    ///
    /// # Errors
    ///
    /// [`WaitError::TimedOut`] with what was missing; [`WaitError::Cluster`] when it may not be read.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn there(&self, wait: &ExternalWait, budget: &Budget) -> Result<(), WaitError> {
        let group = group_of(&wait.api.group_version);
        let mut told = String::new();
        let seen = self
            .follow(
                &wait.api,
                (&wait.namespace, &wait.name),
                budget,
                |_, object| {
                    let state = match object {
                        None => "it is not there".to_owned(),
                        Some(_) if wait.state != State::Ready => return ControlFlow::Break(()),
                        Some(object) => match judge(group, &wait.api.kind, &object) {
                            kzero_cluster::Judgement::Ready { .. } => {
                                return ControlFlow::Break(());
                            }
                            kzero_cluster::Judgement::Progressing(state) => state,
                            // Who looks after it may mend it; this release cannot.
                            kzero_cluster::Judgement::Failed { why, .. } => why,
                        },
                    };
                    self.tell(
                        &wait.api.kind,
                        (&wait.namespace, &wait.name),
                        &mut told,
                        state,
                    );
                    ControlFlow::Continue(())
                },
            )
            .await;
        with_state(seen, &told)
    }

    /// Waits until an object is gone. With a uid, an object of another one counts as gone.
    ///
    /// # Errors
    ///
    /// [`WaitError::TimedOut`], naming the finalizers that keep it; [`WaitError::Cluster`] when it may not be read.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn gone(
        &self,
        api: &ApiResource,
        at: (&str, &str),
        uid: Option<&str>,
        budget: &Budget,
    ) -> Result<(), WaitError> {
        let mut told = String::new();
        loop {
            let is_sure = Cell::new(uid.is_some());
            let seen = self
                .follow(api, at, budget, |seat, object| {
                    is_sure.set(is_sure.get() || seat.is_fresh);
                    let left = object.filter(|object| {
                        uid.is_none_or(|uid| text(object, "/metadata/uid") == uid)
                    });
                    let Some(left) = left else {
                        return ControlFlow::Break(());
                    };
                    is_sure.set(true);
                    self.tell(&api.kind, at, &mut told, remaining(&left));
                    ControlFlow::Continue(())
                })
                .await;
            with_state(seen, &told)?;
            // A watch that was there before may not have seen it yet.
            let left = match is_sure.get() {
                true => None,
                false => self.cluster.object(api, at.0, at.1, budget).await?,
            };
            if left.is_none() {
                return Ok(());
            }
            budget
                .sleep(wait::LAG)
                .await
                .map_err(|expired| WaitError::TimedOut {
                    expired,
                    detail: told.clone(),
                })?;
        }
    }

    /// Shows an object to `check` at first and whenever it changes, until it breaks.
    async fn follow<T>(
        &self,
        api: &ApiResource,
        (namespace, name): (&str, &str),
        budget: &Budget,
        mut check: impl FnMut(&Seat, Option<Rc<Value>>) -> ControlFlow<T>,
    ) -> Result<T, WaitError> {
        let bell = Rc::new(Notify::new());
        let mut seat = self.seat(api, namespace, Key::Name(name.to_owned()), &bell, false);
        loop {
            if let Some(failed) = seat.failed() {
                seat = self.other_seat(&seat, failed, api, (namespace, name), &bell)?;
            }
            if seat.is_listed()
                && let ControlFlow::Break(done) = check(&seat, seat.object())
            {
                return Ok(done);
            }
            budget
                .run(bell.notified())
                .await
                .map_err(|expired| WaitError::TimedOut {
                    expired,
                    detail: String::new(),
                })?;
        }
    }

    fn seat(
        &self,
        api: &ApiResource,
        namespace: &str,
        key: Key,
        bell: &Rc<Notify>,
        alone: bool,
    ) -> Seat {
        let namespace = if api.namespaced { namespace } else { "" };
        self.boards.seat(api, namespace, key, bell, alone)
    }

    /// A seat at a board of the object alone, for whoever may not list its kind.
    fn other_seat(
        &self,
        seat: &Seat,
        failed: kzero_cluster::ClusterError,
        api: &ApiResource,
        (namespace, name): (&str, &str),
        bell: &Rc<Notify>,
    ) -> Result<Seat, WaitError> {
        if seat.is_alone() || failed.class() != ErrorClass::Forbidden {
            return Err(WaitError::Cluster(failed));
        }
        Ok(self.seat(api, namespace, Key::Name(name.to_owned()), bell, true))
    }

    /// Tells the state of something, if it is another one than before.
    fn tell(&self, kind: &str, at: (&str, &str), told: &mut String, state: String) {
        if *told == state {
            return;
        }
        told.clone_from(&state);
        (self.listener)(Event::Progress {
            object: shown_id(kind, at.0, at.1),
            text: state,
        });
    }
}

/// Whether an object has anything that can be waited for; others are ready once they are accepted.
#[must_use]
pub fn has_rule(resource: &Resource) -> bool {
    kind_has_rule(&resource.id.group, &resource.id.kind)
}

/// Whether a live object is ready as it is.
#[must_use]
pub fn is_ready(resource: &Resource, live: &Value) -> bool {
    judge(&resource.id.group, &resource.id.kind, live).is_ready()
}

/// Waits until an object is gone, outside of a run.
///
/// # Errors
///
/// As [`Tracker::gone`].
///
/// # Cancel safety
///
/// Safe to drop.
pub async fn until_gone(
    cluster: &Cluster,
    api: &ApiResource,
    at: (&str, &str),
    uid: Option<&str>,
    budget: &Budget,
    listener: &Listener<'_>,
) -> Result<(), WaitError> {
    let tracker = Tracker::new(cluster, listener);
    tracker.run(tracker.gone(api, at, uid, budget)).await
}

fn with_state<T>(seen: Result<T, WaitError>, state: &str) -> Result<T, WaitError> {
    match seen {
        Err(WaitError::TimedOut { expired, .. }) => Err(WaitError::TimedOut {
            expired,
            detail: state.to_owned(),
        }),
        other => other,
    }
}
