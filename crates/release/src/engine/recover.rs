//! Revisions that their writers left behind.

use kzero_cluster::Budget;

use super::past::{Past, pending};
use super::{Engine, Timing, look, race};
use crate::error::{Class, ReleaseError};
use crate::revision::{Revision, Status};
use crate::storage::StorageError;

/// What recovery found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovered {
    /// Nothing that needs it: the newest revision has this status.
    Nothing(Status),
    /// A revision that was left behind is marked failed.
    Failed {
        /// Its number.
        revision: i64,
        /// The status it was left in.
        was: Status,
    },
}

impl Engine<'_> {
    /// Marks a revision that its writer left behind as failed, whoever wrote it.
    ///
    /// # Errors
    ///
    /// There is no such release, somebody works on it, or the record cannot be written.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped after sending, the record may or may not be written.
    pub async fn recover(&self, name: &str, timing: &Timing) -> Result<Recovered, ReleaseError> {
        let budget = &timing.all;
        self.locked(name, timing, |interrupt, _| async move {
            let mut past = race(&interrupt, self.past(name, budget)).await?;
            let Some(last) = past.last.take() else {
                return Err(StorageError::NotFound.into());
            };
            if !last.info.status.is_pending() {
                return Ok(Recovered::Nothing(last.info.status));
            }
            if let Some(holder) = &last.holder
                && (self.is_alive)(holder) == Some(true)
                && *holder != self.holder
            {
                return Err(held(name, &last));
            }
            let (revision, was) = (last.version, last.info.status);
            self.mark_failed(last, budget).await?;
            Ok(Recovered::Failed { revision, was })
        })
        .await
    }

    /// Deals with a newest revision that is pending before a deployment: one of this program whose writer is dead is
    /// marked failed, one of another program refused unless `take` says otherwise (S-5.8). `locked` says that the Lease is
    /// held, so that no other kzero works on the release.
    pub(super) async fn settle(
        &self,
        name: &str,
        past: Past,
        take: bool,
        locked: bool,
        budget: &Budget,
    ) -> Result<Past, ReleaseError> {
        let Some(last) = past
            .last
            .as_ref()
            .filter(|last| last.info.status.is_pending())
        else {
            return Ok(past);
        };
        match &last.holder {
            None if !take => return Err(pending(name, self.namespace(), last)),
            None => {}
            Some(holder) => {
                let alive = (self.is_alive)(holder);
                // Under the Lease its writer has lost it; without one only a process of this machine is known to be dead.
                let dead =
                    *holder == self.holder || alive == Some(false) || (locked && alive.is_none());
                if !dead {
                    return Err(held(name, last));
                }
            }
        }
        if self.is_dry() {
            self.warn(format!(
                "revision {} of release {name} was left {}; it would be marked failed first",
                last.version, last.info.status
            ));
            return Ok(past);
        }
        let whose = match &last.holder {
            Some(holder) => format!("by {holder}, which is gone"),
            None => "by another program".to_owned(),
        };
        let text = format!(
            "{} {whose}; it is marked failed, going on from there",
            last.info.status
        );
        self.clear(last.clone(), &text, budget).await
    }

    /// Marks a revision that was left pending as failed, says so, and reads again what is stored.
    pub(super) async fn clear(
        &self,
        last: Revision,
        text: &str,
        budget: &Budget,
    ) -> Result<Past, ReleaseError> {
        let (name, number) = (last.name.clone(), last.version);
        self.mark_failed(last, budget).await?;
        self.warn(format!(
            "revision {number} of release {name} was left {text}"
        ));
        self.past(&name, budget).await
    }

    pub(super) async fn mark_failed(
        &self,
        mut revision: Revision,
        budget: &Budget,
    ) -> Result<(), ReleaseError> {
        let was = revision.info.status;
        revision.set_status(
            Status::Failed,
            format!("{was} when its writer ended; marked failed by a later run of kzero"),
        );
        Ok(self.storage.update(&mut revision, &look(budget)).await?)
    }
}

fn held(name: &str, revision: &Revision) -> ReleaseError {
    let holder = revision
        .holder
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    ReleaseError::new(
        Class::Held,
        format!(
            "another operation (install/upgrade/rollback) is in progress: revision {} of release {name} is {}, and {holder} works on it\nhint: wait until it is done; if that process is gone, `kzero release recover {name}` marks the revision failed",
            revision.version, revision.info.status
        ),
    )
}
