//! What the cluster knows about the cause of a failure (S-11.31, S-11.32).
//!
//! Gathering never fails: what cannot be read is left out. The caller bounds it with a budget.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Event, Pod};
use serde_json::Value;

use crate::{
    budget::Budget,
    client::{Call, Cluster},
    discovery::ApiResource,
    error::{Operation, one_line},
    object::{WorkloadRef, namespaced},
    pods::{controller, describe_left, pod_name, unschedulable},
    scale::text,
    wait::workload_operation,
};

/// Lines an item may take.
const LINES: usize = 10;
/// Warning events that are shown.
const EVENTS: usize = 5;
/// Log lines of a crashed container that are shown.
const LOG_LINES: usize = 10;
/// Length of one line.
const WIDTH: usize = 400;

/// What failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CauseSubject {
    /// A workload and its pods.
    Workload(WorkloadRef),
    /// A Job and its pods.
    Job {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// A claim and the pods that use it.
    Claim {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// A single pod.
    Pod {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// An object of any kind, and the pods that it controls itself.
    Object {
        /// Its kind.
        api: ApiResource,
        /// Its namespace; empty for kinds without one.
        namespace: String,
        /// Its name.
        name: String,
    },
}

impl CauseSubject {
    fn namespace(&self) -> &str {
        match self {
            Self::Workload(workload) => &workload.namespace,
            Self::Job { namespace, .. }
            | Self::Claim { namespace, .. }
            | Self::Pod { namespace, .. }
            | Self::Object { namespace, .. } => namespace,
        }
    }

    fn kind(&self) -> &str {
        match self {
            Self::Object { api, .. } => &api.kind,
            Self::Workload(workload) => workload.kind.kind(),
            Self::Job { .. } => "Job",
            Self::Claim { .. } => "PersistentVolumeClaim",
            Self::Pod { .. } => "Pod",
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Workload(workload) => &workload.name,
            Self::Job { name, .. }
            | Self::Claim { name, .. }
            | Self::Pod { name, .. }
            | Self::Object { name, .. } => name,
        }
    }

    fn path(&self) -> String {
        match self {
            Self::Workload(workload) => workload.path(),
            Self::Job { namespace, name } => namespaced("batch/v1", namespace, "jobs", Some(name)),
            Self::Claim { namespace, name } => {
                namespaced("v1", namespace, "persistentvolumeclaims", Some(name))
            }
            Self::Pod { namespace, name } => namespaced("v1", namespace, "pods", Some(name)),
            Self::Object {
                api,
                namespace,
                name,
            } => api.path(namespace, Some(name)),
        }
    }
}

/// What was read about a subject.
#[derive(Default)]
struct Findings {
    object: Option<Value>,
    pods: Vec<Pod>,
    events: Vec<Event>,
}

impl Cluster {
    /// Gathers what the cluster knows about a failure: unready pods with container states, the
    /// scheduler's sentence, what controllers could not create, conditions that are false, the
    /// last warning events, the last log lines of a crashed container, and pods that do not end.
    ///
    /// Returns lines ready to print, at most ten for each of these items; empty if nothing is
    /// known. `since` leaves out older events. The budget should be short (5 s); what is not read
    /// before it ends is left out.
    ///
    /// Log lines and messages are passed on as they are; masking secrets is the caller's part.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn causes(
        &self,
        subject: &CauseSubject,
        since: Option<Timestamp>,
        budget: &Budget,
    ) -> Vec<String> {
        let findings = self.find(subject, since, budget).await;
        let mut lines = Vec::new();
        push(&mut lines, findings.pods.iter().flat_map(unready).collect());
        push(
            &mut lines,
            findings
                .pods
                .iter()
                .filter_map(|pod| {
                    let sentence = unschedulable(pod)?;
                    Some(format!("pod {}: unschedulable: {sentence}", pod_name(pod)))
                })
                .collect(),
        );
        push(&mut lines, creation_failures(&findings.events));
        push(&mut lines, false_conditions(findings.object.as_ref()));
        push(&mut lines, warnings(&findings.events));
        if let Some((pod, container)) = findings.pods.iter().find_map(crashed) {
            push(&mut lines, self.log_tail(pod, container, budget).await);
        }
        let stuck: Vec<Pod> = findings
            .pods
            .iter()
            .filter(|pod| pod.metadata.deletion_timestamp.is_some())
            .cloned()
            .collect();
        if !stuck.is_empty() {
            let nodes = self.node_states(&stuck, budget).await;
            push(
                &mut lines,
                stuck.iter().map(|pod| describe_left(pod, &nodes)).collect(),
            );
        }
        lines
    }

    async fn find(
        &self,
        subject: &CauseSubject,
        since: Option<Timestamp>,
        budget: &Budget,
    ) -> Findings {
        let namespace = subject.namespace();
        let shown = format!("{} {namespace}/{}", subject.kind(), subject.name());
        let operation = Operation::new("get", "objects", Some(namespace), shown.clone());
        let object: Option<Value> = self
            .call_optional(&Call::get(operation, subject.path()), budget)
            .await
            .unwrap_or_default();
        let pods = self.pods_of(subject, object.as_ref(), budget).await;

        let operation = Operation::new("list", "events", Some(namespace), shown);
        let path = namespaced("v1", namespace, "events", None);
        let selector = [("fieldSelector", "type=Warning".to_owned())];
        let events = self
            .list::<Event>(&operation, &path, &selector, budget)
            .await
            .map_or_else(|_| Vec::new(), |listed| listed.items);
        let mut names: BTreeSet<(String, String)> = pods
            .iter()
            .filter_map(|pod| Some(("Pod".to_owned(), pod.metadata.name.clone()?)))
            .collect();
        names.extend(pods.iter().filter_map(|pod| {
            let owner = controller(pod.metadata.owner_references.as_deref())?;
            Some((owner.kind.clone(), owner.name.clone()))
        }));
        names.insert((subject.kind().to_owned(), subject.name().to_owned()));
        let mut events: Vec<Event> = events
            .into_iter()
            .filter(|event| concerns(event, subject, &names))
            .filter(|event| {
                since.is_none_or(|since| {
                    seen_at(event).is_none_or(|seen| seen.as_second() >= since.as_second())
                })
            })
            .collect();
        events.sort_by_key(seen_at);
        Findings {
            object,
            pods,
            events,
        }
    }

    async fn pods_of(
        &self,
        subject: &CauseSubject,
        object: Option<&Value>,
        budget: &Budget,
    ) -> Vec<Pod> {
        let namespace = subject.namespace();
        if let CauseSubject::Pod { .. } = subject {
            return object
                .and_then(|object| serde_json::from_value(object.clone()).ok())
                .into_iter()
                .collect();
        }
        let mut owner = None;
        let selector = match subject {
            CauseSubject::Workload(workload) => match self.owner(workload, budget).await {
                Ok(found) => {
                    let query = found.selector_query();
                    owner = Some(found);
                    query
                }
                Err(_) => return Vec::new(),
            },
            CauseSubject::Job { name, .. } => vec![(
                "labelSelector",
                format!("batch.kubernetes.io/job-name={name}"),
            )],
            CauseSubject::Object { .. } => match object.and_then(crate::pods::match_labels) {
                Some(labels) => vec![("labelSelector", labels)],
                None => return Vec::new(),
            },
            CauseSubject::Claim { .. } | CauseSubject::Pod { .. } => Vec::new(),
        };
        let operation = match subject {
            CauseSubject::Workload(workload) => workload_operation(workload, "list"),
            _ => Operation::new("list", "pods", Some(namespace), subject.name()),
        };
        let path = namespaced("v1", namespace, "pods", None);
        let pods = self
            .list::<Pod>(&operation, &path, &selector, budget)
            .await
            .map_or_else(|_| Vec::new(), |listed| listed.items);
        pods.into_iter()
            .filter(|pod| match (subject, &owner) {
                (_, Some(owner)) => owner.owns(pod),
                (CauseSubject::Claim { name, .. }, None) => crate::claim::uses(pod, name),
                (CauseSubject::Object { .. }, None) => {
                    controller(pod.metadata.owner_references.as_deref()).map(|owner| &*owner.uid)
                        == object.and_then(|object| object.pointer("/metadata/uid")?.as_str())
                }
                _ => true,
            })
            .collect()
    }

    async fn log_tail(
        &self,
        pod: &Pod,
        container: &ContainerStatus,
        budget: &Budget,
    ) -> Vec<String> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        // The crashed one is the present one until the kubelet starts the next.
        let previous = container
            .state
            .as_ref()
            .is_none_or(|state| state.terminated.is_none());
        let operation = Operation::new(
            "get",
            "pods/log",
            Some(namespace),
            format!("pod {namespace}/{name}"),
        );
        let path = format!("{}/log", namespaced("v1", namespace, "pods", Some(name)));
        let call = Call::get(operation, path)
            .query("container", container.name.as_str())
            .query("tailLines", LOG_LINES.to_string())
            .query("limitBytes", "16384")
            .query("previous", if previous { "true" } else { "false" });
        let Ok(reply) = self.call(&call, budget).await else {
            return Vec::new();
        };
        String::from_utf8_lossy(&reply.body)
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| {
                format!(
                    "log of {namespace}/{name} {}: {}",
                    container.name,
                    one_line(line, WIDTH)
                )
            })
            .collect()
    }
}

/// Adds one item, cut to its number of lines.
fn push(lines: &mut Vec<String>, mut item: Vec<String>) {
    let more = item.len().saturating_sub(LINES);
    if more > 0 {
        item.truncate(LINES - 1);
        item.push(format!("… and {} more", more + 1));
    }
    lines.extend(item);
}

/// Lines on a pod that is not ready, one for each of its containers that is not.
fn unready(pod: &Pod) -> Vec<String> {
    let Some(status) = &pod.status else {
        return Vec::new();
    };
    let phase = status.phase.as_deref().unwrap_or("Unknown");
    if phase == "Succeeded" || pod.metadata.deletion_timestamp.is_some() {
        return Vec::new();
    }
    let finished = |container: &&ContainerStatus| {
        container
            .state
            .as_ref()
            .and_then(|state| state.terminated.as_ref())
            .is_some_and(|ended| ended.exit_code == 0)
    };
    let init = status
        .init_container_statuses
        .iter()
        .flatten()
        .filter(|container| !container.ready && !finished(container));
    let main = status
        .container_statuses
        .iter()
        .flatten()
        .filter(|container| !container.ready);
    let lines: Vec<String> = init
        .chain(main)
        .map(|container| format!("pod {}: {}", pod_name(pod), container_text(container)))
        .collect();
    if lines.is_empty() && phase == "Failed" {
        let reason = status.reason.as_deref().unwrap_or("Failed");
        let message = one_line(status.message.as_deref().unwrap_or_default(), WIDTH);
        return vec![format!("pod {}: {reason}: {message}", pod_name(pod))];
    }
    lines
}

fn container_text(container: &ContainerStatus) -> String {
    let mut text = format!("container {}", container.name);
    let state = container.state.as_ref();
    if let Some(waiting) = state.and_then(|state| state.waiting.as_ref()) {
        text.push_str(&format!(
            " waiting: {}",
            waiting.reason.as_deref().unwrap_or("no reason")
        ));
        if let Some(message) = waiting
            .message
            .as_deref()
            .filter(|message| !message.is_empty())
        {
            text.push_str(&format!(": {}", one_line(message, WIDTH)));
        }
    } else if let Some(ended) = state.and_then(|state| state.terminated.as_ref()) {
        text.push_str(&format!(" ended with exit code {}", ended.exit_code));
        if let Some(reason) = ended.reason.as_deref().filter(|reason| !reason.is_empty()) {
            text.push_str(&format!(" ({reason})"));
        }
    } else {
        text.push_str(" running, not ready");
    }
    let last = container
        .last_state
        .as_ref()
        .and_then(|state| state.terminated.as_ref());
    let mut notes = Vec::new();
    if let Some(last) = last {
        notes.push(format!("last exit code {}", last.exit_code));
    }
    if container.restart_count > 0 {
        notes.push(format!("{} restarts", container.restart_count));
    }
    if !notes.is_empty() {
        text.push_str(&format!(" ({})", notes.join(", ")));
    }
    text
}

/// A container that has crashed, with its pod.
fn crashed(pod: &Pod) -> Option<(&Pod, &ContainerStatus)> {
    let status = pod.status.as_ref()?;
    let failed = |state: &Option<k8s_openapi::api::core::v1::ContainerState>| {
        state
            .as_ref()
            .and_then(|state| state.terminated.as_ref())
            .is_some_and(|ended| ended.exit_code != 0)
    };
    status
        .init_container_statuses
        .iter()
        .chain(status.container_statuses.iter())
        .flatten()
        .find(|container| {
            !container.ready && (failed(&container.state) || failed(&container.last_state))
        })
        .map(|container| (pod, container))
}

/// Whether an event is about the subject, its pods or what controls them. Controllers whose pods
/// never came to be are known by the name they begin with.
fn concerns(event: &Event, subject: &CauseSubject, names: &BTreeSet<(String, String)>) -> bool {
    let kind = event.involved_object.kind.clone().unwrap_or_default();
    let name = event.involved_object.name.clone().unwrap_or_default();
    let child = match subject {
        CauseSubject::Workload(_) => matches!(kind.as_str(), "ReplicaSet" | "Pod"),
        CauseSubject::Job { .. } | CauseSubject::Object { .. } => kind == "Pod",
        CauseSubject::Claim { .. } | CauseSubject::Pod { .. } => false,
    };
    let generated = child
        && name
            .strip_prefix(subject.name())
            .and_then(|rest| rest.strip_prefix('-'))
            .is_some_and(|rest| rest.split('-').count() <= 2);
    generated || names.contains(&(kind, name))
}

fn seen_at(event: &Event) -> Option<Timestamp> {
    let series = event
        .series
        .as_ref()
        .and_then(|series| series.last_observed_time.as_ref())
        .map(|time| time.0);
    series
        .or(event.last_timestamp.as_ref().map(|time| time.0))
        .or(event.event_time.as_ref().map(|time| time.0))
        .or(event
            .metadata
            .creation_timestamp
            .as_ref()
            .map(|time| time.0))
}

/// What controllers could not create: quota, admission webhooks, policies.
fn creation_failures(events: &[Event]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    events
        .iter()
        .filter(|event| event.reason.as_deref() == Some("FailedCreate"))
        .map(|event| {
            let message = one_line(event.message.as_deref().unwrap_or_default(), WIDTH);
            format!("{}: cannot create pods: {message}", involved(event))
        })
        .filter(|line| seen.insert(without_name(line)))
        .collect()
}

/// A sentence without the name of the pod that did not come to be: a controller tries again and
/// again under new names.
fn without_name(line: &str) -> String {
    let line = line.replace("(combined from similar events): ", "");
    match line
        .split_once("pods \"")
        .and_then(|(head, rest)| Some((head, rest.split_once('"')?.1)))
    {
        Some((head, rest)) => format!("{head}pods{rest}"),
        None => line,
    }
}

/// The last warnings, oldest first, but for those shown as [`creation_failures`].
fn warnings(events: &[Event]) -> Vec<String> {
    let others: Vec<&Event> = events
        .iter()
        .filter(|event| event.reason.as_deref() != Some("FailedCreate"))
        .collect();
    others[others.len().saturating_sub(EVENTS)..]
        .iter()
        .map(|event| {
            let count = event
                .series
                .as_ref()
                .and_then(|series| series.count)
                .or(event.count)
                .unwrap_or(1);
            let times = if count > 1 {
                format!(" (x{count})")
            } else {
                String::new()
            };
            format!(
                "event {} {}{times}: {}",
                event.reason.as_deref().unwrap_or("Warning"),
                involved(event),
                one_line(event.message.as_deref().unwrap_or_default(), WIDTH)
            )
        })
        .collect()
}

fn involved(event: &Event) -> String {
    let object = &event.involved_object;
    format!(
        "{} {}/{}",
        object.kind.as_deref().unwrap_or_default().to_lowercase(),
        object.namespace.as_deref().unwrap_or_default(),
        object.name.as_deref().unwrap_or_default()
    )
}

/// Conditions of the object that are false, and failures that are true.
fn false_conditions(object: Option<&Value>) -> Vec<String> {
    let conditions = object
        .and_then(|object| object.pointer("/status/conditions"))
        .and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .filter(|condition| {
            let kind = text(condition, "/type");
            let bad = matches!(kind.as_str(), "ReplicaFailure" | "Failed" | "FailureTarget");
            text(condition, "/status") == if bad { "True" } else { "False" }
        })
        .map(|condition| {
            format!(
                "condition {}={} ({}): {}",
                text(condition, "/type"),
                text(condition, "/status"),
                text(condition, "/reason"),
                one_line(&text(condition, "/message"), WIDTH)
            )
        })
        .collect()
}

#[cfg(test)]
mod tests;
