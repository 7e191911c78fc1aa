//! The lock of a release: a Lease that says who works on it (S-D.22).
//!
//! The Lease `kzero-release-<name>` is in the release's namespace. It is held for 30 seconds and renewed every ten; it is judged
//! by the API server's clock alone, but that one of a dead process of this machine is taken over at once. Who cannot renew it in time has lost it, and what was guarded is to end. It is
//! deleted when the work is done. Where Leases may not be touched, the pending record guards alone.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kzero_cluster::{Budget, Cluster, ClusterError, ErrorClass, Record, RecordKind};
use serde_json::{Value, json};

use crate::resource::text;
use crate::revision::Holder;

/// How long a Lease holds without being renewed.
const TERM: Duration = Duration::from_secs(30);
/// How often it is renewed.
const RENEWAL: Duration = Duration::from_secs(10);
/// Time for one look at or write of the Lease.
const ANSWER: Duration = Duration::from_secs(10);
/// How often a write is tried that others were faster with.
const ATTEMPTS: usize = 5;

/// Why a lock cannot be had.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LockError {
    /// Somebody else has it.
    #[error(
        "release {name} in namespace {namespace} is being worked on by {holder}, which renewed its lock {age} ago\nhint: wait until it is done; if that process is gone, its lock ends {left} from now by itself"
    )]
    Held {
        /// The release.
        name: String,
        /// Its namespace.
        namespace: String,
        /// Who has it.
        holder: String,
        /// How long ago it was renewed.
        age: String,
        /// When it ends by itself.
        left: String,
    },
    /// The API server refuses or does not answer.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

/// A lock that is held, or the knowledge that there can be none.
#[derive(Debug)]
pub struct Lock {
    cluster: Cluster,
    namespace: String,
    name: String,
    identity: String,
    /// The Lease as it was last written; `None` without the right to Leases.
    lease: Option<Value>,
    /// How far the API server's clock is ahead of this machine's.
    ahead: SignedDuration,
}

/// Whether a holder still lives, as far as that can be known.
type IsAlive<'a> = dyn Fn(&Holder) -> Option<bool> + 'a;

/// The name of a release's Lease.
#[must_use]
pub fn lease_name(release: &str) -> String {
    format!("kzero-release-{release}")
}

impl Lock {
    /// Takes the lock of a release.
    ///
    /// # Errors
    ///
    /// [`LockError::Held`] while somebody else has it, and any [`ClusterError`] but a missing right: see
    /// [`Lock::is_held`].
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped after sending, the Lease may be there until its term ends.
    pub async fn take(
        cluster: &Cluster,
        namespace: &str,
        release: &str,
        holder: &Holder,
        is_alive: &IsAlive<'_>,
        budget: &Budget,
    ) -> Result<Self, LockError> {
        let mut lock = Self {
            cluster: cluster.clone(),
            namespace: namespace.to_owned(),
            name: lease_name(release),
            identity: identity(holder),
            lease: None,
            ahead: SignedDuration::ZERO,
        };
        for _ in 0..ATTEMPTS {
            match lock.attempt(release, is_alive, budget).await {
                Ok(lease) => {
                    let wrong = lock.see_clock(&lease);
                    lock.lease = Some(lease.object);
                    if wrong {
                        // Others judge by the server's clock, and would take this Lease for ended, or for endless.
                        let _ = lock.renew(budget).await;
                    }
                    return Ok(lock);
                }
                Err(LockError::Cluster(error)) => match error.class() {
                    ErrorClass::Forbidden => return Ok(lock),
                    // Somebody else was faster: what they did is seen in the next round.
                    ErrorClass::Exists | ErrorClass::Conflict | ErrorClass::NotFound => {}
                    _ => return Err(error.into()),
                },
                Err(error) => return Err(error),
            }
        }
        let lease = lock.attempt(release, is_alive, budget).await?;
        lock.lease = Some(lease.object);
        Ok(lock)
    }

    /// Learns what the server's clock shows; whether this machine's is far from it.
    fn see_clock(&mut self, record: &Record) -> bool {
        let before = self.ahead;
        if let Some(time) = record.server_time {
            self.ahead = time.duration_since(Timestamp::now());
        }
        (self.ahead - before).abs() > SignedDuration::from_secs(3)
    }

    fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        now.checked_add(self.ahead).unwrap_or(now)
    }

    /// Deletes the Lease of a release that is not there, if nobody holds it: one that a dead process left at the very end.
    /// What goes wrong with it is of no consequence.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn clear(
        cluster: &Cluster,
        namespace: &str,
        release: &str,
        is_alive: &IsAlive<'_>,
        budget: &Budget,
    ) {
        let name = lease_name(release);
        let read = cluster
            .read_record(RecordKind::Lease, namespace, &name, budget)
            .await;
        let Ok(Some(record)) = read else { return };
        let now = record.server_time.unwrap_or_else(Timestamp::now);
        let holder = text(&record.object, "/spec/holderIdentity");
        let dead = parsed(holder).is_some_and(|holder| is_alive(&holder) == Some(false));
        if dead || holder.is_empty() || left(&record.object, now).is_none() {
            let version = text(&record.object, "/metadata/resourceVersion");
            let _ = cluster
                .delete_record(RecordKind::Lease, namespace, &name, version, budget)
                .await;
        }
    }

    /// Whether there is a Lease; without the right to it there is none.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.lease.is_some()
    }

    async fn attempt(
        &mut self,
        release: &str,
        is_alive: &IsAlive<'_>,
        budget: &Budget,
    ) -> Result<Record, LockError> {
        let Some(object) = self.free(release, is_alive, budget).await? else {
            let lease = self.written(None, 0);
            return Ok(self
                .cluster
                .create_record(RecordKind::Lease, &self.namespace, &lease, budget)
                .await?);
        };
        let transitions = object
            .pointer("/spec/leaseTransitions")
            .and_then(Value::as_i64)
            .unwrap_or_default();
        let lease = self.written(Some(&object), transitions.saturating_add(1));
        Ok(self
            .cluster
            .replace_record(RecordKind::Lease, &self.namespace, &lease, budget)
            .await?)
    }

    /// The Lease once nobody holds it; `None` if there is none. One that has missed a renewal is waited for: its holder
    /// is dead or comes back.
    async fn free(
        &mut self,
        release: &str,
        is_alive: &IsAlive<'_>,
        budget: &Budget,
    ) -> Result<Option<Value>, LockError> {
        loop {
            let read = self
                .cluster
                .read_record(RecordKind::Lease, &self.namespace, &self.name, budget)
                .await?;
            let Some(record) = read else { return Ok(None) };
            self.see_clock(&record);
            let object = record.object;
            let holder = text(&object, "/spec/holderIdentity");
            let Some(left) = left(&object, self.now()) else {
                return Ok(Some(object));
            };
            let dead = || parsed(holder).is_some_and(|holder| is_alive(&holder) == Some(false));
            if holder.is_empty() || holder == self.identity || dead() {
                return Ok(Some(object));
            }
            let age = TERM.saturating_sub(left);
            let held = LockError::Held {
                name: release.to_owned(),
                namespace: self.namespace.clone(),
                holder: holder.to_owned(),
                age: kzero_duration::format(whole(age)),
                left: kzero_duration::format(whole(left)),
            };
            if age < RENEWAL + Duration::from_secs(3)
                || budget.sleep(Duration::from_secs(1)).await.is_err()
            {
                return Err(held);
            }
        }
    }

    /// The Lease as it is written now, over the one that was read.
    fn written(&self, read: Option<&Value>, transitions: i64) -> Value {
        let now = format!("{:.6}", self.now());
        let acquired = match read {
            Some(read) if text(read, "/spec/holderIdentity") == self.identity => {
                text(read, "/spec/acquireTime").to_owned()
            }
            _ => now.clone(),
        };
        let mut metadata = json!({
            "name": self.name,
            "namespace": self.namespace,
            "labels": {"app.kubernetes.io/managed-by": "kzero"},
        });
        if let Some(version) = read.and_then(|read| read.pointer("/metadata/resourceVersion")) {
            metadata["resourceVersion"] = version.clone();
        }
        json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": metadata,
            "spec": {
                "holderIdentity": self.identity,
                "leaseDurationSeconds": TERM.as_secs(),
                "acquireTime": acquired,
                "renewTime": now,
                "leaseTransitions": transitions,
            },
        })
    }

    /// Renews the lock for as long as it is not lost. Without a Lease it never ends.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop: the lock then ends with its term, or by [`Lock::release`].
    pub async fn keep(&mut self) -> Lost {
        if self.lease.is_none() {
            return std::future::pending().await;
        }
        let mut good = tokio::time::Instant::now();
        let mut last = String::new();
        loop {
            tokio::time::sleep(RENEWAL.min(Duration::from_secs(if last.is_empty() {
                10
            } else {
                1
            })))
            .await;
            let budget = Budget::new("renewal of the lock 10s", ANSWER);
            match self.renew(&budget).await {
                Ok(()) => {
                    good = tokio::time::Instant::now();
                    last.clear();
                }
                Err(RenewError::Lost(why)) => return Lost { why },
                Err(RenewError::Passing(why)) => last = why,
            }
            // Some seconds are left for what is under way to end before others may begin.
            if good.elapsed() + Duration::from_secs(5) >= TERM {
                return Lost {
                    why: format!("it could not be renewed: {last}"),
                };
            }
        }
    }

    async fn renew(&mut self, budget: &Budget) -> Result<(), RenewError> {
        let Some(lease) = &self.lease else {
            return Ok(());
        };
        let transitions = lease
            .pointer("/spec/leaseTransitions")
            .and_then(Value::as_i64)
            .unwrap_or_default();
        let next = self.written(Some(lease), transitions);
        let replaced = self
            .cluster
            .replace_record(RecordKind::Lease, &self.namespace, &next, budget)
            .await;
        match replaced {
            Ok(lease) => {
                self.see_clock(&lease);
                self.lease = Some(lease.object);
                Ok(())
            }
            Err(error) if matches!(error.class(), ErrorClass::Conflict | ErrorClass::NotFound) => {
                self.look_again(budget).await
            }
            Err(error) => Err(RenewError::Passing(error.to_string())),
        }
    }

    /// Somebody changed the Lease. Others may label it; only another holder takes it away.
    async fn look_again(&mut self, budget: &Budget) -> Result<(), RenewError> {
        let read = self
            .cluster
            .read_record(RecordKind::Lease, &self.namespace, &self.name, budget)
            .await
            .map_err(|error| RenewError::Passing(error.to_string()))?;
        match read {
            None => Err(RenewError::Lost("its Lease was deleted".to_owned())),
            Some(record) => {
                let holder = text(&record.object, "/spec/holderIdentity").to_owned();
                if holder != self.identity {
                    return Err(RenewError::Lost(format!("{holder} has taken it")));
                }
                self.lease = Some(record.object);
                Err(RenewError::Passing(
                    "its Lease was changed by others".to_owned(),
                ))
            }
        }
    }

    /// Gives the lock back. What goes wrong with it is of no consequence: the Lease ends with its term.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop: the Lease then ends with its term.
    pub async fn release(mut self) {
        let Some(lease) = self.lease.take() else {
            return;
        };
        let budget = Budget::new("release of the lock 10s", ANSWER);
        let _ = self
            .cluster
            .delete_record(
                RecordKind::Lease,
                &self.namespace,
                &self.name,
                text(&lease, "/metadata/resourceVersion"),
                &budget,
            )
            .await;
    }
}

/// A lock that was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Why.
    pub why: String,
}

enum RenewError {
    Lost(String),
    Passing(String),
}

/// How the Lease names a holder.
#[must_use]
pub fn identity(holder: &Holder) -> String {
    format!("{}/{}/{}", holder.host, holder.pid, holder.run)
}

/// The holder that a Lease names, if it is one of this program.
fn parsed(identity: &str) -> Option<Holder> {
    let mut parts = identity.splitn(3, '/');
    let (host, pid, run) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
    Some(Holder::current(host, pid, run))
}

/// The time that a Lease still holds; `None` when it has ended.
fn left(lease: &Value, now: Timestamp) -> Option<Duration> {
    let renewed: Timestamp = text(lease, "/spec/renewTime").parse().ok()?;
    let seconds = lease
        .pointer("/spec/leaseDurationSeconds")
        .and_then(Value::as_i64)
        .unwrap_or_default();
    let end = renewed
        .checked_add(SignedDuration::from_secs(seconds))
        .ok()?;
    Duration::try_from(end.duration_since(now))
        .ok()
        .filter(|left| !left.is_zero())
}

fn whole(time: Duration) -> Duration {
    Duration::from_secs(time.as_secs())
}
