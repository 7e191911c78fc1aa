//! Logs of pods that are waited for, while they come or when all is over.

use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

use futures::FutureExt;
use futures::StreamExt;
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;
use kzero_cluster::Budget;
use serde_json::Value;

use super::Tracker;
use super::pods::statuses;
use crate::directives::Tracking;
use crate::event::Event;
use crate::plan::Item;
use crate::resource::text;

/// Logs that are read at once, in all waits together: connections have room for some hundred requests.
pub(super) const STREAMS: usize = 32;
/// How long logs may take to come to their end once the pods have ended.
const REST: Duration = Duration::from_secs(5);

/// When logs are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Show {
    Never,
    /// While they come.
    Live,
    /// At the end, if the hook has succeeded, if it has failed.
    AtEnd {
        succeeded: bool,
        failed: bool,
    },
}

/// The logs of one wait.
pub(super) struct Logs<'w> {
    show: Show,
    tracking: &'w Tracking,
    /// Pods whose logs are shown, by uid.
    pods: HashSet<String>,
    /// Runs of containers whose logs were begun: uid of the pod, container, restarts.
    begun: HashSet<(String, String, i64)>,
    streams: FuturesUnordered<LocalBoxFuture<'w, ()>>,
}

impl<'w> Logs<'w> {
    pub(super) fn new(item: &'w Item) -> Self {
        let tracking = &item.directives.tracking;
        Self {
            show: show(item),
            tracking,
            pods: HashSet::new(),
            begun: HashSet::new(),
            streams: FuturesUnordered::new(),
        }
    }

    /// Begins to show the logs of containers that have started.
    pub(super) fn look(&mut self, tracker: &'w Tracker<'_>, pods: &[Rc<Value>]) {
        if self.show == Show::Live {
            self.begin(tracker, pods, true);
        }
    }

    /// Shows lines as they come; never ends.
    pub(super) async fn flow(&mut self) {
        while self.streams.next().await.is_some() {}
        std::future::pending::<()>().await;
    }

    /// Shows what is left of the logs: of pods that have ended to their end, of others what a policy asks for.
    pub(super) async fn finish(
        &mut self,
        tracker: &'w Tracker<'_>,
        pods: &[Rc<Value>],
        has_ended: bool,
        has_succeeded: bool,
    ) {
        let wanted = match self.show {
            Show::Never => return,
            // What came was shown already, and the end is not near.
            Show::Live => has_ended,
            Show::AtEnd { succeeded, failed } => {
                if has_succeeded {
                    succeeded
                } else {
                    failed
                }
            }
        };
        if !wanted {
            return;
        }
        self.begin(tracker, pods, false);
        let rest = Budget::new("logs of ended pods 5s", REST);
        // What does not come in time is left out.
        let _ = rest
            .run(async { while self.streams.next().await.is_some() {} })
            .await;
    }

    fn begin(&mut self, tracker: &'w Tracker<'_>, pods: &[Rc<Value>], follow: bool) {
        let most = usize::try_from(self.tracking.show_logs_of_replicas).unwrap_or(0);
        for pod in pods {
            let uid = text(pod, "/metadata/uid");
            if !self.pods.contains(uid) && self.pods.len() >= most {
                continue;
            }
            for status in statuses(pod) {
                let container = text(status, "/name");
                let has_log = status.pointer("/state/running").is_some()
                    || status.pointer("/state/terminated").is_some();
                if !has_log || !self.tracking.shows_container(container) {
                    continue;
                }
                self.pods.insert(uid.to_owned());
                let restarts = status
                    .get("restartCount")
                    .and_then(Value::as_i64)
                    .unwrap_or(0);
                let run = (uid.to_owned(), container.to_owned(), restarts);
                if self.begun.insert(run) {
                    let stream = stream(tracker, self.tracking, pod, container, follow);
                    self.streams.push(stream);
                }
            }
        }
    }
}

/// Shows the lines of one run of a container.
fn stream<'w>(
    tracker: &'w Tracker<'_>,
    tracking: &'w Tracking,
    pod: &Value,
    container: &str,
    follow: bool,
) -> LocalBoxFuture<'w, ()> {
    let namespace = text(pod, "/metadata/namespace").to_owned();
    let name = text(pod, "/metadata/name").to_owned();
    let container = container.to_owned();
    async move {
        let Ok(_turn) = tracker.streams.acquire().await else {
            return;
        };
        let on_line = |line: &str| {
            if tracking.shows(&container, line) {
                (tracker.listener)(Event::Log {
                    pod: format!("{namespace}/{name}"),
                    container: container.clone(),
                    line: line.to_owned(),
                });
            }
        };
        let at = (namespace.as_str(), name.as_str(), container.as_str());
        // Logs are a courtesy: what cannot be read is not shown.
        let _ = tracker
            .cluster
            .read_log(at, follow, &Budget::unlimited(), on_line)
            .await;
    }
    .boxed_local()
}

fn show(item: &Item) -> Show {
    if item.directives.tracking.skip_logs {
        return Show::Never;
    }
    let policy = text(
        &item.resource.object,
        "/metadata/annotations/helm.sh~1hook-output-log-policy",
    );
    if !item.is_hook() || policy.is_empty() {
        return Show::Live;
    }
    let has = |word: &str| policy.split(',').any(|part| part.trim() == word);
    Show::AtEnd {
        succeeded: has("hook-succeeded"),
        failed: has("hook-failed"),
    }
}
