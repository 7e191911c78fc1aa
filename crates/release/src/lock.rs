//! The lock of a release: a Lease that says who works on it (S-D.22).
//!
//! The Lease `kzero-release-<name>` is in the release's namespace. It is held for 30 seconds and renewed every ten; it is judged
//! by the API server's clock alone, but that one of a dead process of this machine is taken over at once. Who cannot renew it in time has lost it, and what was guarded is to end. It is
//! deleted when the work is done. Where Leases may not be touched, the pending record guards alone.

use std::collections::BTreeMap;
use std::time::Duration;

use kzero_cluster::{
    Attempt, Budget, Claim, Cluster, ClusterError, ErrorClass, Holding, Lease, NotRenewed,
};

use crate::revision::Holder;

/// How long a Lease holds without being renewed.
const TERM: Duration = Duration::from_secs(30);
/// How often it is renewed.
const RENEWAL: Duration = Duration::from_secs(10);
/// Time for one look at or write of the Lease.
const ANSWER: Duration = Duration::from_secs(10);

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
    /// `None` without the right to Leases.
    lease: Option<Box<Lease>>,
}

/// Whether a holder still lives, as far as that can be known.
type IsAlive<'a> = dyn Fn(&Holder) -> Option<bool> + 'a;

/// The name of a release's Lease.
#[must_use]
pub fn lease_name(release: &str) -> String {
    format!("kzero-release-{release}")
}

impl Lock {
    /// Takes the lock of a release. One whose holder has missed a renewal is waited for: it is dead or comes back.
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
        let claim = Claim {
            namespace: namespace.to_owned(),
            name: lease_name(release),
            identity: identity(holder),
            term: TERM,
            annotations: BTreeMap::new(),
        };
        let is_alive = |held: &Holding| parsed(&held.identity).and_then(|holder| is_alive(&holder));
        loop {
            let held = match Lease::attempt(cluster, &claim, &is_alive, budget).await {
                Ok(Attempt::Taken(lease)) => return Ok(Self { lease: Some(lease) }),
                Ok(Attempt::Held(held)) => held,
                Err(error) if error.class() == ErrorClass::Forbidden => {
                    return Ok(Self { lease: None });
                }
                Err(error) => return Err(error.into()),
            };
            let missed = held.age >= RENEWAL + Duration::from_secs(3);
            if !missed || budget.sleep(Duration::from_secs(1)).await.is_err() {
                return Err(LockError::Held {
                    name: release.to_owned(),
                    namespace: namespace.to_owned(),
                    holder: held.identity,
                    age: kzero_duration::format(whole(held.age)),
                    left: kzero_duration::format(whole(held.left)),
                });
            }
        }
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
        let is_alive = |held: &Holding| parsed(&held.identity).and_then(|holder| is_alive(&holder));
        Lease::clear(cluster, namespace, &lease_name(release), &is_alive, budget).await;
    }

    /// Whether there is a Lease; without the right to it there is none.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.lease.is_some()
    }

    /// Renews the lock for as long as it is not lost. Without a Lease it never ends.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop: the lock then ends with its term, or by [`Lock::release`].
    pub async fn keep(&mut self) -> Lost {
        let Some(lease) = &mut self.lease else {
            return std::future::pending().await;
        };
        let mut good = tokio::time::Instant::now();
        let mut last = String::new();
        loop {
            let pause = if last.is_empty() {
                RENEWAL
            } else {
                Duration::from_secs(1)
            };
            tokio::time::sleep(pause).await;
            let budget = Budget::new("renewal of the lock 10s", ANSWER);
            match lease.renew(&budget).await {
                Ok(()) => {
                    good = tokio::time::Instant::now();
                    last.clear();
                }
                Err(NotRenewed::Taken(holder)) => {
                    return Lost {
                        why: format!("{holder} has taken it"),
                    };
                }
                Err(NotRenewed::Deleted) => {
                    return Lost {
                        why: "its Lease was deleted".to_owned(),
                    };
                }
                Err(NotRenewed::Passing(why)) => last = why,
            }
            // Some seconds are left for what is under way to end before others may begin.
            if good.elapsed() + Duration::from_secs(5) >= TERM {
                return Lost {
                    why: format!("it could not be renewed: {last}"),
                };
            }
        }
    }

    /// Gives the lock back. What goes wrong with it is of no consequence: the Lease ends with its term.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop: the Lease then ends with its term.
    pub async fn release(self) {
        if let Some(lease) = self.lease {
            let _ = lease
                .release(&Budget::new("release of the lock 10s", ANSWER))
                .await;
        }
    }
}

/// A lock that was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Why.
    pub why: String,
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

fn whole(time: Duration) -> Duration {
    Duration::from_secs(time.as_secs())
}
