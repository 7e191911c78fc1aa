//! What watches a run from beside it: signals, the run's own time, the API watchdog.

use std::time::Duration;

use kzero_cluster::ClusterError;
use kzero_profile::duration;
use tokio::time::Instant;

use crate::event::{Bus, Level};
use crate::steps::ClusterDoor;
use crate::stop::{Stop, StopReason};

/// What is watched.
pub struct WatchOptions {
    /// `run.timeout`.
    pub timeout: Option<Duration>,
    /// `run.api_watchdog` when enabled: interval and patience.
    pub watchdog: Option<(Duration, Duration)>,
}

/// Watches until dropped; asks `stop` to stop. Cancel-safe.
pub async fn watch(options: &WatchOptions, stop: &Stop, cluster: &ClusterDoor, bus: &Bus) {
    let timer = async {
        if let Some(length) = options.timeout {
            tokio::time::sleep(length).await;
            let label = format!("run.timeout {}", duration::format(length));
            stop.request(StopReason::RunTimeout(label));
        }
    };
    let watchdog = async {
        if let Some((interval, patience)) = options.watchdog {
            watchdog(interval, patience, stop, cluster, bus).await;
        }
    };
    tokio::join!(timer, watchdog);
    std::future::pending::<()>().await;
}

/// Probes the API every `interval`; trips when nothing has answered for `patience`, counted
/// from the first failing probe (S-3.30).
async fn watchdog(
    interval: Duration,
    patience: Duration,
    stop: &Stop,
    cluster: &ClusterDoor,
    bus: &Bus,
) {
    let client = match cluster.get().await {
        Ok(client) => client,
        Err(error) => {
            bus.note(
                Level::Warn,
                format!("api_watchdog: watchdog disabled ({error})"),
            );
            return;
        }
    };
    let mut failing: Option<(Instant, ClusterError)> = None;
    let mut next = Instant::now() + interval;
    loop {
        tokio::time::sleep_until(next).await;
        let begin = Instant::now();
        next = begin + interval;
        match client.probe(interval).await {
            Ok(()) => {
                if failing.take().is_some() {
                    bus.note(Level::Info, "api_watchdog: the API answers again");
                }
            }
            Err(error) => {
                let since = failing.as_ref().map_or(begin, |(since, _)| *since);
                if failing.is_none() {
                    bus.note(
                        Level::Warn,
                        format!("api_watchdog: no answer from the API ({error})"),
                    );
                }
                if since.elapsed() >= patience {
                    let text = format!(
                        "api_watchdog: no answer from the API for {} ({error})",
                        duration::format(Duration::from_secs(since.elapsed().as_secs()))
                    );
                    stop.request(StopReason::Watchdog(text));
                    return;
                }
                failing = Some((since, error));
            }
        }
    }
}
