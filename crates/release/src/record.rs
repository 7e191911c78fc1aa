//! The record of the revision in hand, written as the operation goes on.

use jiff::Timestamp;
use kzero_cluster::Budget;
use tokio::sync::Mutex;

use crate::revision::{HookRun, Phase, Revision, Status, Time};
use crate::storage::{Storage, StorageError};

/// Writes one revision; one write at a time.
pub struct Recorder<'a> {
    storage: &'a Storage,
    budget: Budget,
    revision: Mutex<Revision>,
}

impl<'a> Recorder<'a> {
    /// For a revision whose record is there.
    #[must_use]
    pub fn new(storage: &'a Storage, revision: Revision, budget: Budget) -> Self {
        Self {
            storage,
            budget,
            revision: Mutex::new(revision),
        }
    }

    /// Notes how far a hook came, and writes the record.
    ///
    /// # Errors
    ///
    /// The record cannot be written, or somebody else has changed it.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped after sending, the record may or may not be written.
    pub async fn hook(&self, hook: usize, phase: Phase) -> Result<(), StorageError> {
        let mut revision = self.revision.lock().await;
        let Some(stored) = revision.hooks.get_mut(hook) else {
            return Ok(());
        };
        let now = Some(Time::utc(Timestamp::now()));
        stored.last_run = match phase {
            Phase::Running => HookRun {
                started_at: now,
                completed_at: None,
                phase,
            },
            phase => HookRun {
                completed_at: now,
                phase,
                ..stored.last_run
            },
        };
        // The end of a hook is written with what comes next: the start of another, or the end of the operation.
        if phase == Phase::Running {
            self.storage.update(&mut revision, &self.budget).await?;
        }
        Ok(())
    }

    /// Sets the status and writes the record.
    ///
    /// # Errors
    ///
    /// As [`Self::hook`].
    ///
    /// # Cancel safety
    ///
    /// As [`Self::hook`].
    pub async fn set(
        &self,
        status: Status,
        description: &str,
        budget: &Budget,
    ) -> Result<(), StorageError> {
        let mut revision = self.revision.lock().await;
        revision.set_status(status, description);
        self.storage.update(&mut revision, budget).await
    }

    /// Writes the record with its status as it is. What became of hooks that still run is not known.
    ///
    /// # Errors
    ///
    /// As [`Self::hook`].
    ///
    /// # Cancel safety
    ///
    /// As [`Self::hook`].
    pub async fn end_hooks(&self, budget: &Budget) -> Result<(), StorageError> {
        let mut revision = self.revision.lock().await;
        for hook in &mut revision.hooks {
            if hook.last_run.phase == Phase::Running {
                hook.last_run.phase = Phase::Unknown;
                hook.last_run.completed_at = Some(Time::utc(Timestamp::now()));
            }
        }
        self.storage.update(&mut revision, budget).await
    }

    /// The revision as it was last written.
    #[must_use]
    pub fn into_revision(self) -> Revision {
        self.revision.into_inner()
    }
}
