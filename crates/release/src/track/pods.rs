//! The pods of an object that is waited for: which are of its new revision, and what goes wrong in them.
//!
//! Only pods of the new revision count: those of the old one may have been broken for long. What goes wrong is counted
//! against the failures that the object may have: each crash loop of a restart once, a container that cannot be
//! made or whose image does not come at each new reason and again every ten seconds, pods that are refused and failed
//! probes by their events.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;
use kzero_cluster::ApiResource;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Tracker;
use super::board::{Key, Seat};
use crate::directives::Tracking;
use crate::resource::{ResourceId, text};

/// How often a container that stays as broken as it is counts again.
pub(super) const AGAIN: Duration = Duration::from_secs(10);
/// Length of a sentence that is passed on.
const WIDTH: usize = 300;

/// Reasons of waiting containers that are failures.
const BROKEN: [&str; 8] = [
    "CrashLoopBackOff",
    "ImagePullBackOff",
    "ErrImagePull",
    "ErrImageNeverPull",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
];

/// The pods of an object, and what has gone wrong so far.
#[derive(Default)]
pub(super) struct Pods {
    sets: Option<Seat>,
    pods: Option<(String, Seat)>,
    /// The events of objects, by their uid.
    events: HashMap<String, Seat>,
    ledger: Ledger,
}

/// What a look at the pods came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// What is worth telling beside the state of the object.
    pub(super) notes: Vec<String>,
    /// When something counts again although nothing changes.
    pub(super) again: Option<Instant>,
}

impl Pods {
    /// The pods of the new revision, as far as they are known; looks on at them from now on.
    pub(super) fn of(
        &mut self,
        tracker: &Tracker<'_>,
        id: &ResourceId,
        object: &Value,
        bell: &Rc<Notify>,
    ) -> Vec<Rc<Value>> {
        let uid = text(object, "/metadata/uid");
        let label = |name: &'static str, value: &str| Some((name, value.to_owned()));
        let (owner, wanted) = match (id.group.as_str(), id.kind.as_str()) {
            ("apps", "Deployment") => {
                let sets = self.sets.get_or_insert_with(|| {
                    let key = Key::Owner(uid.to_owned());
                    tracker.seat(&REPLICA_SETS.api(), &id.namespace, key, bell, false)
                });
                match new_set(object, &sets.owned()) {
                    Some(set) => (set, None),
                    None => return Vec::new(),
                }
            }
            ("apps", "StatefulSet") => {
                let revision = text(object, "/status/updateRevision");
                (uid.to_owned(), label("controller-revision-hash", revision))
            }
            ("apps", "DaemonSet") => {
                let pointer = "/metadata/annotations/deprecated.daemonset.template.generation";
                let generation = text(object, pointer);
                (uid.to_owned(), label("pod-template-generation", generation))
            }
            ("apps", "ReplicaSet") | ("", "ReplicationController") | ("batch", "Job") => {
                (uid.to_owned(), None)
            }
            ("", "Pod") => return vec![Rc::new(object.clone())],
            _ => return Vec::new(),
        };
        if self.pods.as_ref().is_none_or(|(known, _)| *known != owner) {
            let key = Key::Owner(owner.clone());
            let seat = tracker.seat(&PODS.api(), &id.namespace, key, bell, false);
            self.pods = Some((owner, seat));
        }
        let Some((_, seat)) = &self.pods else {
            return Vec::new();
        };
        let mut pods = seat.owned();
        pods.retain(|pod| {
            let is_new = wanted.as_ref().is_none_or(|(label, value)| {
                pod.pointer("/metadata/labels")
                    .and_then(|labels| labels.get(label)?.as_str())
                    == Some(value)
            });
            is_new && pod.pointer("/metadata/deletionTimestamp").is_none()
        });
        pods
    }

    /// Takes in how pods are now. Events are asked for where only they tell.
    pub(super) fn look(
        &mut self,
        tracker: &Tracker<'_>,
        id: &ResourceId,
        (object, pods): (&Value, &[Rc<Value>]),
        tracking: &Tracking,
        bell: &Rc<Notify>,
    ) -> Findings {
        let mut findings = Findings::default();
        let now = Instant::now();
        let mut waiting = 0;
        for pod in pods {
            let found = self.ledger.pod(pod, is_job(id), tracking, now);
            findings.again = findings.again.into_iter().chain(found.again).min();
            findings.notes.extend(found.notes);
            if let Some(sentence) = unschedulable(pod) {
                waiting += 1;
                if waiting == 1 {
                    findings
                        .notes
                        .push(format!("no node for {}: {sentence}", name(pod)));
                }
            }
            if let Some(uid) = probed(pod) {
                self.ask(tracker, id, uid, bell);
            }
        }
        if pods.is_empty() && id.kind != "Pod" {
            // Whatever refuses the pods says so in the events of what makes them.
            let maker = self.pods.as_ref().map(|(owner, _)| owner.clone());
            let uid = maker.unwrap_or_else(|| text(object, "/metadata/uid").to_owned());
            self.ask(tracker, id, &uid, bell);
        }
        for (uid, seat) in &self.events {
            let pod = pods
                .iter()
                .find(|pod| text(pod, "/metadata/uid") == uid)
                .map(Rc::as_ref);
            for event in seat.owned() {
                if is_older(&event, tracker.since) {
                    continue;
                }
                let note = self.ledger.event(&event, pod, tracking);
                findings.notes.extend(note);
            }
        }
        findings.notes.dedup();
        findings
    }

    /// Failures so far, and the last of them.
    pub(super) fn failures(&self) -> (i64, &str) {
        (self.ledger.failures, &self.ledger.last)
    }

    fn ask(&mut self, tracker: &Tracker<'_>, id: &ResourceId, uid: &str, bell: &Rc<Notify>) {
        if !self.events.contains_key(uid) {
            let seat = events_of(tracker, &id.namespace, uid, bell);
            self.events.insert(uid.to_owned(), seat);
        }
    }
}

/// A seat at the events of an object.
pub(super) fn events_of(
    tracker: &Tracker<'_>,
    namespace: &str,
    uid: &str,
    bell: &Rc<Notify>,
) -> Seat {
    let key = Key::Owner(uid.to_owned());
    tracker.seat(&EVENTS.api(), namespace, key, bell, false)
}

/// A kind that is always served.
struct BuiltIn(&'static str, &'static str, &'static str);

const PODS: BuiltIn = BuiltIn("v1", "Pod", "pods");
const EVENTS: BuiltIn = BuiltIn("v1", "Event", "events");
const REPLICA_SETS: BuiltIn = BuiltIn("apps/v1", "ReplicaSet", "replicasets");

impl BuiltIn {
    fn api(&self) -> ApiResource {
        ApiResource {
            group_version: self.0.to_owned(),
            kind: self.1.to_owned(),
            plural: self.2.to_owned(),
            namespaced: true,
        }
    }
}

/// The uid of the `ReplicaSet` of a Deployment's present revision.
fn new_set(deployment: &Value, sets: &[Rc<Value>]) -> Option<String> {
    const REVISION: &str = "/metadata/annotations/deployment.kubernetes.io~1revision";
    let count = |pointer| deployment.pointer(pointer).and_then(Value::as_i64);
    let revision = text(deployment, REVISION);
    // Until the controller has seen the change its revision is that of the old one.
    let is_seen = count("/status/observedGeneration") >= count("/metadata/generation");
    let found = sets.iter().find(|set| text(set, REVISION) == revision);
    found
        .filter(|_| is_seen && !revision.is_empty())
        .map(|set| text(set, "/metadata/uid").to_owned())
}

fn is_job(id: &ResourceId) -> bool {
    id.group == "batch" && id.kind == "Job"
}

/// What has gone wrong, each thing once.
#[derive(Debug, Default)]
struct Ledger {
    failures: i64,
    last: String,
    /// The last state of containers, by uid of the pod and name: reason and restarts, and when it counts again.
    containers: HashMap<(String, String), (String, i64, Instant)>,
    /// Events and how often they had happened when they were counted.
    events: HashMap<String, i64>,
}

impl Ledger {
    fn count(&mut self, failure: &str) {
        self.failures += 1;
        failure.clone_into(&mut self.last);
    }

    /// Counts what is wrong with the containers of a pod.
    fn pod(&mut self, pod: &Value, is_job: bool, tracking: &Tracking, now: Instant) -> Findings {
        let mut findings = Findings::default();
        let uid = text(pod, "/metadata/uid").to_owned();
        for status in statuses(pod) {
            let reason = text(status, "/state/waiting/reason");
            let place = (uid.clone(), text(status, "/name").to_owned());
            if !BROKEN.contains(&reason) {
                // What runs again may break again.
                if let Some(known) = self.containers.get_mut(&place) {
                    known.0.clear();
                }
                continue;
            }
            let said = broken(pod, status, reason);
            findings.notes.push(said.clone());
            let is_crash = reason == "CrashLoopBackOff";
            // How often a Job may crash is said by its own backoffLimit.
            if is_crash && is_job && tracking.failures_allowed_per_replica.is_none() {
                continue;
            }
            let restarts = status
                .get("restartCount")
                .and_then(Value::as_i64)
                .unwrap_or(0);
            let known = self.containers.get(&place);
            let is_new = known.is_none_or(|(last, count, _)| last != reason || *count != restarts);
            let is_due = !is_crash && known.is_some_and(|(_, _, again)| *again <= now);
            // A crash loop that was left and entered again without a restart is the same one.
            let is_same_crash = is_crash && known.is_some_and(|(_, count, _)| *count == restarts);
            let again = now + AGAIN;
            if (is_new && !is_same_crash) || is_due {
                self.count(&said);
                self.containers
                    .insert(place.clone(), (reason.to_owned(), restarts, again));
            }
            if !is_crash {
                let due = self.containers.get(&place).map(|(_, _, again)| *again);
                findings.again = findings.again.into_iter().chain(due).min();
            }
        }
        findings
    }

    /// Counts an event that is a failure. Gives what is worth telling.
    fn event(&mut self, event: &Value, pod: Option<&Value>, tracking: &Tracking) -> Option<String> {
        let (reason, message) = (text(event, "/reason"), text(event, "/message"));
        let said = match (reason, pod) {
            ("FailedCreate", None) => format!("cannot create pods: {}", cut(message)),
            ("Unhealthy", Some(pod)) if is_probe_failure(event, pod, message, tracking) => {
                format!("{}: {}", name(pod), cut(message))
            }
            _ => return None,
        };
        let happened = occurrences(event);
        let uid = text(event, "/metadata/uid").to_owned();
        let counted = self.events.entry(uid).or_insert(0);
        let new = (happened - *counted).max(0);
        *counted = happened.max(*counted);
        // A quota is waited for: somebody else may give back what is missing.
        let is_quota = message.contains("exceeded quota");
        if reason == "FailedCreate" {
            if new > 0 && !is_quota {
                self.count(&said);
            }
            return Some(said);
        }
        if new > 0 {
            self.failures += new - 1;
            self.count(&said);
        }
        Some(said)
    }
}

/// How often an event has happened.
fn occurrences(event: &Value) -> i64 {
    let count = |pointer| event.pointer(pointer).and_then(Value::as_i64);
    count("/series/count")
        .or_else(|| count("/count"))
        .unwrap_or(1)
        .max(1)
}

/// Whether an event is a failed probe that counts: of a readiness probe only after its time of grace.
fn is_probe_failure(event: &Value, pod: &Value, message: &str, tracking: &Tracking) -> bool {
    if message.starts_with("Liveness probe failed") || message.starts_with("Startup probe failed") {
        // The kubelet restarts the container, and that counts.
        return false;
    }
    if !message.starts_with("Readiness probe failed") {
        return false;
    }
    let path = text(event, "/involvedObject/fieldPath");
    let named = path
        .strip_prefix("spec.containers{")
        .and_then(|rest| rest.strip_suffix('}'));
    let Some(container) = named else { return false };
    let spec = pod
        .pointer("/spec/containers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .find(|spec| text(spec, "/name") == container);
    let own = tracking
        .containers
        .get(container)
        .and_then(|filter| filter.ignore_probe);
    let grace = own.unwrap_or_else(|| spec.map_or(Duration::ZERO, grace));
    let status = statuses(pod).find(|status| text(status, "/name") == container);
    let started = status.and_then(|status| time(status, "/state/running/startedAt"));
    match (started, happened(event)) {
        (Some(started), Some(last)) => {
            let age = last.duration_since(started);
            Duration::try_from(age).is_ok_and(|age| age > grace)
        }
        // Nothing counts before the container runs.
        _ => false,
    }
}

/// When an event has happened last.
fn happened(event: &Value) -> Option<Timestamp> {
    ["/series/lastObservedTime", "/lastTimestamp", "/eventTime"]
        .into_iter()
        .find_map(|pointer| time(event, pointer))
}

/// Whether an event tells of something that is over: of a run before this one.
fn is_older(event: &Value, since: Timestamp) -> bool {
    happened(event).is_some_and(|happened| happened < since)
}

fn time(value: &Value, pointer: &str) -> Option<Timestamp> {
    value.pointer(pointer)?.as_str()?.parse().ok()
}

/// How long a readiness probe may fail: the worst case of a container that gets ready in time.
fn grace(container: &Value) -> Duration {
    let of = |probe: &str, field: &str, usual: i64| {
        container
            .get(probe)
            .and_then(|probe| probe.get(field)?.as_i64())
            .unwrap_or(usual)
            .clamp(0, 86_400)
    };
    let threshold = of("readinessProbe", "failureThreshold", 3);
    if threshold <= 1 {
        return Duration::ZERO;
    }
    let period = of("readinessProbe", "periodSeconds", 10);
    let first = if container.get("startupProbe").is_some() {
        let each = of("startupProbe", "periodSeconds", 10);
        let most = of("startupProbe", "failureThreshold", 3);
        of("startupProbe", "initialDelaySeconds", 0) + each * most
    } else {
        of("readinessProbe", "initialDelaySeconds", 0) + period
    };
    let rounds = threshold + of("readinessProbe", "successThreshold", 1) - 3;
    let seconds =
        first + 2 * of("readinessProbe", "timeoutSeconds", 1) + rounds * period + period / 2;
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

/// The status of each container, init containers first.
pub(super) fn statuses(pod: &Value) -> impl Iterator<Item = &Value> {
    ["/status/initContainerStatuses", "/status/containerStatuses"]
        .into_iter()
        .filter_map(|pointer| pod.pointer(pointer)?.as_array())
        .flatten()
}

/// The uid of a pod that runs, is not ready, and has a probe that may say why.
fn probed(pod: &Value) -> Option<&str> {
    let has_probe = pod
        .pointer("/spec/containers")?
        .as_array()?
        .iter()
        .any(|container| container.get("readinessProbe").is_some());
    let is_unready = statuses(pod).any(|status| {
        status.pointer("/state/running").is_some()
            && status.get("ready") == Some(&Value::Bool(false))
    });
    (has_probe && is_unready).then(|| text(pod, "/metadata/uid"))
}

fn broken(pod: &Value, status: &Value, reason: &str) -> String {
    let mut said = format!(
        "{} container {} waiting: {reason}",
        name(pod),
        text(status, "/name")
    );
    let message = cut(text(status, "/state/waiting/message"));
    if !message.is_empty() {
        said.push_str(": ");
        said.push_str(&message);
    }
    if let Some(code) = status
        .pointer("/lastState/terminated/exitCode")
        .and_then(Value::as_i64)
    {
        said.push_str(&format!(" (last exit code {code})"));
    }
    said
}

/// The scheduler's sentence on a pod that fits nowhere.
fn unschedulable(pod: &Value) -> Option<String> {
    let conditions = pod.pointer("/status/conditions")?.as_array()?;
    let found = conditions.iter().find(|condition| {
        text(condition, "/type") == "PodScheduled"
            && text(condition, "/status") == "False"
            && text(condition, "/reason") == "Unschedulable"
    })?;
    Some(cut(text(found, "/message")))
}

pub(super) fn name(pod: &Value) -> String {
    format!("pod {}", text(pod, "/metadata/name"))
}

fn cut(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = line.char_indices().nth(WIDTH) {
        line.truncate(at);
        line.push('…');
    }
    line
}

/// Events of an object that were not told yet, oldest first, as lines.
pub(super) fn new_events(
    seat: &Seat,
    since: Timestamp,
    told: &mut HashSet<(String, i64)>,
) -> Vec<String> {
    let mut events = seat.owned();
    events.retain(|event| !is_older(event, since));
    events.sort_by_key(|event| happened(event));
    events
        .iter()
        .filter(|event| told.insert((text(event, "/metadata/uid").to_owned(), occurrences(event))))
        .map(|event| {
            format!(
                "{}: {}",
                text(event, "/reason"),
                cut(text(event, "/message"))
            )
        })
        .collect()
}

#[cfg(test)]
mod tests;
