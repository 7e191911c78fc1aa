//! A Lease that says who works on something: what the lock of a run and that of a release have in common.
//!
//! A Lease is judged by the API server's clock alone, but that one of a process that is known to be dead is taken over at
//! once. How long it is waited for, and what becomes of work whose Lease is lost, is the caller's business.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    budget::Budget,
    client::Cluster,
    error::{ClusterError, ErrorClass},
    record::{Record, RecordKind},
};

/// How often a write is tried that others were faster with (S-D.9).
const ATTEMPTS: usize = 5;
/// A clock that is further off than this is corrected for in what others have to judge.
const SKEW: SignedDuration = SignedDuration::from_secs(3);

/// A Lease that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who wants it; the same identity takes what it has already.
    pub identity: String,
    /// How long it holds without being renewed, in whole seconds.
    pub term: Duration,
    /// What else it says to whoever reads it.
    pub annotations: BTreeMap<String, String>,
}

/// Whether a holder still lives, as far as that can be known.
pub type IsAlive<'a> = dyn Fn(&Holding) -> Option<bool> + 'a;

/// A Lease as somebody holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Who.
    pub identity: String,
    /// What else it says.
    pub annotations: BTreeMap<String, String>,
    /// Since when it is held, if it says so.
    pub since: Option<Timestamp>,
    /// How long ago it was renewed, by the API server's clock.
    pub age: Duration,
    /// How long it still holds; zero when it has ended.
    pub left: Duration,
}

/// What came of wanting a Lease.
#[derive(Debug)]
pub enum Attempt {
    /// It is held now.
    Taken(Box<Lease>),
    /// Somebody else holds it.
    Held(Holding),
}

/// Why a Lease was not renewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRenewed {
    /// Another holder has it.
    Taken(String),
    /// It was deleted.
    Deleted,
    /// It may go better next time.
    Passing(String),
}

/// A Lease that is held. Dropping it leaves it until its term ends.
#[derive(Debug)]
pub struct Lease {
    cluster: Cluster,
    claim: Claim,
    /// As it was last written.
    object: Value,
    clock: Clock,
    former: Option<String>,
}

/// How far the API server's clock is ahead of this machine's.
#[derive(Clone, Copy, Debug, Default)]
struct Clock(SignedDuration);

impl Clock {
    /// Learns what the server's clock shows; whether this machine's is far from what was thought.
    fn see(&mut self, record: &Record) -> bool {
        let before = self.0;
        if let Some(time) = record.server_time {
            self.0 = time.duration_since(Timestamp::now());
        }
        (self.0 - before).abs() > SKEW
    }

    fn now(self) -> Timestamp {
        let now = Timestamp::now();
        now.checked_add(self.0).unwrap_or(now)
    }
}

impl Lease {
    /// Takes the Lease if nobody else holds it.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`]; what others were faster with is looked at again five times.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped after sending, the Lease may be there until its term ends.
    pub async fn attempt(
        cluster: &Cluster,
        claim: &Claim,
        is_alive: &IsAlive<'_>,
        budget: &Budget,
    ) -> Result<Attempt, ClusterError> {
        let mut tries = 1;
        loop {
            match Self::once(cluster, claim, is_alive, budget).await {
                // Somebody else was faster: what they did is seen in the next round.
                Err(error)
                    if tries < ATTEMPTS
                        && matches!(
                            error.class(),
                            ErrorClass::Exists | ErrorClass::Conflict | ErrorClass::NotFound
                        ) => {}
                result => return result,
            }
            tries += 1;
        }
    }

    async fn once(
        cluster: &Cluster,
        claim: &Claim,
        is_alive: &IsAlive<'_>,
        budget: &Budget,
    ) -> Result<Attempt, ClusterError> {
        let mut clock = Clock::default();
        let read = cluster
            .read_record(RecordKind::Lease, &claim.namespace, &claim.name, budget)
            .await?;
        let former = match &read {
            None => None,
            Some(record) => {
                clock.see(record);
                let holding = holding(&record.object, clock.now());
                if holding.identity != claim.identity && is_guarded(&holding, is_alive) {
                    return Ok(Attempt::Held(holding));
                }
                Some(holding.identity)
            }
        };
        let before = read.as_ref().map(|record| &record.object);
        let transitions = before.map_or(0, |before| transitions(before).saturating_add(1));
        let wanted = written(claim, before, transitions, clock.now());
        let kind = RecordKind::Lease;
        let record = match before {
            None => {
                cluster
                    .create_record(kind, &claim.namespace, &wanted, budget)
                    .await?
            }
            Some(_) => {
                cluster
                    .replace_record(kind, &claim.namespace, &wanted, budget)
                    .await?
            }
        };
        let wrong = clock.see(&record);
        let mut lease = Self {
            cluster: cluster.clone(),
            claim: claim.clone(),
            object: record.object,
            clock,
            former: former.filter(|former| !former.is_empty() && *former != claim.identity),
        };
        if wrong {
            // Others judge by the server's clock, and would take this Lease for ended, or for endless.
            let _ = lease.renew(budget).await;
        }
        Ok(Attempt::Taken(Box::new(lease)))
    }

    /// Who held it before, if it was taken over rather than free.
    #[must_use]
    pub fn former(&self) -> Option<&str> {
        self.former.as_deref()
    }

    /// Says that it is still held.
    ///
    /// # Errors
    ///
    /// [`NotRenewed`]: whether it is lost, or may be renewed later.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop: it may have been renewed.
    pub async fn renew(&mut self, budget: &Budget) -> Result<(), NotRenewed> {
        let next = written(
            &self.claim,
            Some(&self.object),
            transitions(&self.object),
            self.clock.now(),
        );
        let replaced = self
            .cluster
            .replace_record(RecordKind::Lease, &self.claim.namespace, &next, budget)
            .await;
        match replaced {
            Ok(record) => {
                self.clock.see(&record);
                self.object = record.object;
                Ok(())
            }
            Err(error) if matches!(error.class(), ErrorClass::Conflict | ErrorClass::NotFound) => {
                self.look_again(budget).await
            }
            Err(error) => Err(NotRenewed::Passing(error.to_string())),
        }
    }

    /// Somebody changed the Lease. Others may label it; only another holder takes it away.
    async fn look_again(&mut self, budget: &Budget) -> Result<(), NotRenewed> {
        let claim = &self.claim;
        let read = self
            .cluster
            .read_record(RecordKind::Lease, &claim.namespace, &claim.name, budget)
            .await
            .map_err(|error| NotRenewed::Passing(error.to_string()))?;
        let Some(record) = read else {
            return Err(NotRenewed::Deleted);
        };
        let holder = text(&record.object, "/spec/holderIdentity");
        if holder != claim.identity {
            return Err(NotRenewed::Taken(holder.to_owned()));
        }
        self.object = record.object;
        Err(NotRenewed::Passing(
            "its Lease was changed by others".to_owned(),
        ))
    }

    /// Gives it back.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`]; the Lease then ends with its term.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop: the Lease then ends with its term.
    pub async fn release(self, budget: &Budget) -> Result<(), ClusterError> {
        let version = text(&self.object, "/metadata/resourceVersion");
        let claim = &self.claim;
        self.cluster
            .delete_record(
                RecordKind::Lease,
                &claim.namespace,
                &claim.name,
                version,
                budget,
            )
            .await
            .map(drop)
    }

    /// Who holds a Lease, if it is there; one that has ended has no time left.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`] but not found.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn look(
        cluster: &Cluster,
        namespace: &str,
        name: &str,
        budget: &Budget,
    ) -> Result<Option<Holding>, ClusterError> {
        let read = cluster
            .read_record(RecordKind::Lease, namespace, name, budget)
            .await?;
        Ok(read.map(|record| {
            let mut clock = Clock::default();
            clock.see(&record);
            holding(&record.object, clock.now())
        }))
    }

    /// Deletes a Lease that nobody holds: one that a dead process left. What goes wrong with it is of no consequence.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn clear(
        cluster: &Cluster,
        namespace: &str,
        name: &str,
        is_alive: &IsAlive<'_>,
        budget: &Budget,
    ) {
        let kind = RecordKind::Lease;
        let read = cluster.read_record(kind, namespace, name, budget).await;
        let Ok(Some(record)) = read else { return };
        let mut clock = Clock::default();
        clock.see(&record);
        if !is_guarded(&holding(&record.object, clock.now()), is_alive) {
            let version = text(&record.object, "/metadata/resourceVersion");
            let _ = cluster
                .delete_record(kind, namespace, name, version, budget)
                .await;
        }
    }
}

/// Whether a holder is to be left alone.
fn is_guarded(holding: &Holding, is_alive: &IsAlive<'_>) -> bool {
    !holding.identity.is_empty() && !holding.left.is_zero() && is_alive(holding) != Some(false)
}

/// The Lease as it is written now, over the one that was read.
fn written(claim: &Claim, before: Option<&Value>, transitions: i64, now: Timestamp) -> Value {
    let now = format!("{now:.6}");
    let acquired = before
        .filter(|before| text(before, "/spec/holderIdentity") == claim.identity)
        .map_or(now.as_str(), |before| text(before, "/spec/acquireTime"));
    let mut metadata = json!({
        "name": claim.name,
        "namespace": claim.namespace,
        "labels": {"app.kubernetes.io/managed-by": "kzero"},
    });
    if !claim.annotations.is_empty() {
        metadata["annotations"] = json!(claim.annotations);
    }
    if let Some(version) = before.and_then(|before| before.pointer("/metadata/resourceVersion")) {
        metadata["resourceVersion"] = version.clone();
    }
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": {
            "holderIdentity": claim.identity,
            "leaseDurationSeconds": claim.term.as_secs(),
            "acquireTime": acquired,
            "renewTime": now,
            "leaseTransitions": transitions,
        },
    })
}

fn text<'a>(lease: &'a Value, pointer: &str) -> &'a str {
    lease
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn transitions(lease: &Value) -> i64 {
    lease
        .pointer("/spec/leaseTransitions")
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

fn holding(lease: &Value, now: Timestamp) -> Holding {
    let renewed: Option<Timestamp> = text(lease, "/spec/renewTime").parse().ok();
    let seconds = lease
        .pointer("/spec/leaseDurationSeconds")
        .and_then(Value::as_i64)
        .unwrap_or_default();
    // One that does not say when it was renewed has ended.
    let end = renewed
        .and_then(|renewed| renewed.checked_add(SignedDuration::from_secs(seconds)).ok())
        .unwrap_or(now);
    let span = |from: Timestamp, to: Timestamp| {
        Duration::try_from(to.duration_since(from)).unwrap_or_default()
    };
    let annotations = lease
        .pointer("/metadata/annotations")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect();
    Holding {
        identity: text(lease, "/spec/holderIdentity").to_owned(),
        annotations,
        since: text(lease, "/spec/acquireTime").parse().ok(),
        age: renewed.map_or(Duration::ZERO, |renewed| span(renewed, now)),
        left: span(now, end),
    }
}
