//! The way from a command to the engine: cluster, records, signals.

use std::sync::Arc;
use std::time::Duration;

use kzero_cluster::{ApplyMode, Budget, Cluster};
use kzero_release::engine::Engine;
use kzero_release::error::ReleaseError;
use kzero_release::event::Event;
use kzero_release::execute::Limits;
use kzero_release::interrupt::{Interrupt, Interrupter};
use kzero_release::revision::{Revision, Status, check_name};
use kzero_release::storage::{Entry, History, Storage, StorageError};

use super::progress::{self, Progress};
use crate::cli::app::{App, runtime};
use crate::cli::run::{Signals, new_run_id};
use crate::releases::Releases;
use crate::stop::Stop;

/// How long records may take to be read.
const LOOK: Duration = Duration::from_secs(60);

/// Where a command works.
pub(super) struct Place<'a> {
    /// Flags, environment, streams.
    pub(super) app: &'a App,
    /// The namespace of the release.
    pub(super) namespace: String,
    /// How progress is told.
    pub(super) progress: progress::Mode,
}

/// A cluster with the records of the namespace.
pub(super) struct Session<'a> {
    place: &'a Place<'a>,
    cluster: Cluster,
    /// What the process has for releases.
    pub(super) releases: Releases,
    /// The records.
    pub(super) storage: Storage,
    /// Set by signals.
    pub(super) stop: Stop,
}

impl Place<'_> {
    /// Connects to the cluster and does something there. The runtime ends with it.
    ///
    /// # Errors
    ///
    /// There is no cluster or store of records; what the work says.
    pub(super) fn enter<T>(
        &self,
        work: impl AsyncFnOnce(&Session<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        let resolved = self
            .app
            .resolve(None)
            .map_err(|error| format!("Kubernetes cluster unreachable: {error}"))?;
        let runtime = runtime().map_err(|failure| failure.text().to_owned())?;
        let noted = self.app.clone();
        let result = runtime.block_on(async {
            let cluster = resolved
                .connect(Arc::new(move |notice| noted.warn(&notice.to_string())))
                .await
                .map_err(|error| format!("Kubernetes cluster unreachable: {error}"))?;
            let logins = Ok(Vec::new());
            let releases = Releases::new(&self.app.environment, &new_run_id(), logins);
            let storage = releases
                .storage(&cluster, &self.namespace, &Budget::unlimited())
                .await?;
            let session = Session {
                place: self,
                cluster,
                releases,
                storage,
                stop: Stop::default(),
            };
            work(&session).await
        });
        // A resolver thread in a blocked call must not hold the command.
        runtime.shutdown_background();
        result
    }
}

/// Whom an operation is for, and whether it is told that a signal ended it.
pub(super) struct Work<'a> {
    /// The name of the release.
    pub(super) release: &'a str,
    /// Whether anything takes effect.
    pub(super) mode: ApplyMode,
    /// Whether Helm's line about the cancellation is printed.
    pub(super) says_cancelled: bool,
}

/// Why an operation did not succeed.
pub(super) struct Failed {
    /// The text for stderr.
    pub(super) text: String,
}

impl From<ReleaseError> for Failed {
    fn from(error: ReleaseError) -> Self {
        Self {
            text: error.to_string(),
        }
    }
}

impl From<Failed> for String {
    fn from(failed: Failed) -> Self {
        failed.text
    }
}

impl Session<'_> {
    /// The revisions of a release; empty where there is none.
    ///
    /// # Errors
    ///
    /// The store's.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub(super) async fn history(&self, name: &str) -> Result<History, String> {
        let history = self.storage.history(name, &look()).await;
        let history = history.map_err(|error| unreadable(&error))?;
        for fault in history.faults() {
            self.place.app.warn(&format!("WARNING: {fault}"));
        }
        Ok(history)
    }

    /// Whether there is no such release, or only the history of one that was uninstalled.
    ///
    /// # Errors
    ///
    /// The store's.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub(super) async fn is_absent(&self, name: &str) -> Result<bool, String> {
        let history = self.history(name).await?;
        let last = history.last();
        Ok(last.is_none_or(|last| last.status() == Status::Uninstalled))
    }

    /// One revision of a release; the newest for 0.
    ///
    /// # Errors
    ///
    /// It is not there, and the store's.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub(super) async fn revision(&self, name: &str, number: i64) -> Result<Revision, String> {
        check_name(name).map_err(|_| format!("releaseContent: Release name is invalid: {name}"))?;
        if number > 0 {
            let found = self.storage.get(name, number, &look()).await;
            return found.map_err(|error| unreadable(&error));
        }
        let history = self.history(name).await?;
        let last = history.last().ok_or(StorageError::NotFound);
        let last = last.and_then(Entry::revision);
        last.map_err(|error| unreadable(&error))
    }

    /// The way to the API server.
    pub(super) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Does something with an engine. A first signal has it end cleanly, a second one at once.
    ///
    /// # Errors
    ///
    /// What the engine says.
    ///
    /// # Cancel safety
    ///
    /// As the work.
    pub(super) async fn engaged<T>(
        &self,
        work: Work<'_>,
        operation: impl AsyncFnOnce(&Engine<'_>) -> Result<T, ReleaseError>,
    ) -> Result<T, Failed> {
        self.overheard(work, &|_| (), operation).await
    }

    /// The same, with somebody who hears all events.
    ///
    /// # Errors
    ///
    /// What the engine says.
    ///
    /// # Cancel safety
    ///
    /// As the work.
    pub(super) async fn overheard<T>(
        &self,
        work: Work<'_>,
        hear: &dyn Fn(&Event),
        operation: impl AsyncFnOnce(&Engine<'_>) -> Result<T, ReleaseError>,
    ) -> Result<T, Failed> {
        let progress = Progress::new(self.place.app, self.place.progress);
        let (asker, interrupt) = Interrupt::channel();
        let is_alive = |other: &_| self.releases.is_alive(other);
        let listener = |event: Event| {
            hear(&event);
            progress.tell(&event);
        };
        let engine = Engine {
            cluster: self.cluster.clone(),
            storage: self.storage.clone(),
            holder: self.releases.holder().clone(),
            is_alive: &is_alive,
            listener: &listener,
            interrupt,
            mode: work.mode,
            limits: Limits::default(),
        };
        let stop = self.stop.clone();
        let mut signals = Signals::new().map_err(|error| Failed {
            text: format!("cannot watch for signals: {error}"),
        })?;
        let result = tokio::select! {
            biased;
            never = signals.watch(&stop) => match never {},
            result = self.until_stopped(&work, &stop, &asker, &progress, operation(&engine)) => result,
            never = progress.redraw() => match never {},
        };
        progress.end();
        result
    }

    async fn until_stopped<T>(
        &self,
        work: &Work<'_>,
        stop: &Stop,
        asker: &Interrupter,
        progress: &Progress,
        operation: impl Future<Output = Result<T, ReleaseError>>,
    ) -> Result<T, Failed> {
        tokio::pin!(operation);
        tokio::select! {
            biased;
            result = &mut operation => return Ok(result?),
            reason = stop.stopped() => {
                if work.says_cancelled {
                    let text = format!("Release {} has been cancelled.\n", work.release);
                    progress.aside(|| self.place.app.output.result(&text));
                }
                asker.interrupt(format!("context canceled ({reason})"));
            }
        }
        tokio::select! {
            biased;
            result = &mut operation => Ok(result?),
            () = stop.stopped_at_once() => Err(Failed {
                text: format!(
                    "ended at once by a second signal; what was under way may have had its effect\nhint: `kzero release status {}` shows where it stands, `kzero release recover {}` frees a revision that was left pending",
                    work.release, work.release
                ),
            }),
        }
    }
}

/// An error of the store in words; one that it does not answer as Helm says it.
pub(super) fn unreadable(error: &StorageError) -> String {
    use kzero_cluster::ErrorClass;
    match error {
        StorageError::Cluster(inner)
            if matches!(
                inner.class(),
                ErrorClass::Unreachable | ErrorClass::TimedOut | ErrorClass::Config
            ) =>
        {
            format!("Kubernetes cluster unreachable: {error}")
        }
        _ => match error.hint() {
            Some(hint) => format!("{error}\nhint: {hint}"),
            None => error.to_string(),
        },
    }
}

/// The time of a look at the records.
pub(super) fn look() -> Budget {
    Budget::new("look at the records 1m0s", LOOK)
}
