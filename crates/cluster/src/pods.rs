//! Pods: whose they are, what keeps them, and what nodes they are on.

use std::collections::{BTreeMap, BTreeSet};

use http_body_util::BodyExt;
use k8s_openapi::{
    api::{
        apps::v1::ReplicaSet,
        core::v1::{Node, Pod},
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, OwnerReference},
};
use serde_json::Value;

use crate::{
    budget::Budget,
    client::{Call, Cluster},
    error::{ClusterError, Operation, one_line},
    object::{ScaleKind, WorkloadRef, cluster_scoped, namespaced},
};

/// What ties pods to a workload.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    kind: ScaleKind,
    name: String,
    uid: String,
    /// Uids of the ReplicaSets of a Deployment, as far as they may be read.
    sets: BTreeSet<String>,
    selector: String,
}

impl Owner {
    pub(crate) fn from_workload(workload: &WorkloadRef, object: &Value) -> Result<Self, String> {
        let uid = object
            .pointer("/metadata/uid")
            .and_then(Value::as_str)
            .ok_or("it has no uid")?;
        let selector: LabelSelector = object
            .pointer("/spec/selector")
            .cloned()
            .map(serde_json::from_value)
            .transpose()
            .map_err(|error| error.to_string())?
            .unwrap_or_default();
        Ok(Self {
            kind: workload.kind,
            name: workload.name.clone(),
            uid: uid.to_owned(),
            sets: BTreeSet::new(),
            selector: selector_text(&selector),
        })
    }

    pub(crate) fn add_replica_sets(&mut self, sets: &[ReplicaSet]) {
        self.sets.extend(
            sets.iter()
                .filter(|set| {
                    controller(set.metadata.owner_references.as_deref())
                        .is_some_and(|owner| owner.uid == self.uid)
                })
                .filter_map(|set| set.metadata.uid.clone()),
        );
    }

    /// The query that narrows a list to the workload's labels.
    pub(crate) fn selector_query(&self) -> Vec<(&'static str, String)> {
        if self.selector.is_empty() {
            Vec::new()
        } else {
            vec![("labelSelector", self.selector.clone())]
        }
    }

    /// Whether the workload controls the pod (S-2.14).
    pub(crate) fn owns(&self, pod: &Pod) -> bool {
        let Some(owner) = controller(pod.metadata.owner_references.as_deref()) else {
            return false;
        };
        if owner.uid == self.uid || self.sets.contains(&owner.uid) {
            return true;
        }
        // A set that may not be listed, or that is gone while its pods still end: its name is the
        // Deployment's and the hash that its pods carry as a label.
        let hash = pod
            .metadata
            .labels
            .as_ref()
            .and_then(|labels| labels.get("pod-template-hash"));
        self.kind == ScaleKind::Deployment
            && owner.kind == "ReplicaSet"
            && hash.is_some_and(|hash| {
                owner
                    .name
                    .strip_prefix(self.name.as_str())
                    .and_then(|rest| rest.strip_prefix('-'))
                    == Some(hash)
            })
    }
}

/// The reference of the managing controller.
pub(crate) fn controller(owners: Option<&[OwnerReference]>) -> Option<&OwnerReference> {
    owners?.iter().find(|owner| owner.controller == Some(true))
}

fn selector_text(selector: &LabelSelector) -> String {
    let mut parts: Vec<String> = selector
        .match_labels
        .iter()
        .flatten()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    for rule in selector.match_expressions.iter().flatten() {
        let values = rule.values.as_deref().unwrap_or_default().join(",");
        let key = &rule.key;
        match rule.operator.as_str() {
            "In" => parts.push(format!("{key} in ({values})")),
            "NotIn" => parts.push(format!("{key} notin ({values})")),
            "Exists" => parts.push(key.clone()),
            "DoesNotExist" => parts.push(format!("!{key}")),
            // An operator of the future: a wider list is filtered by owner anyway.
            _ => {}
        }
    }
    parts.join(",")
}

/// The labels that an object selects its pods by, as a query; `None` if it selects none.
pub(crate) fn match_labels(object: &Value) -> Option<String> {
    let selector = object.pointer("/spec/selector")?;
    // A ReplicationController has the labels alone there.
    let text = match serde_json::from_value::<LabelSelector>(selector.clone()) {
        Ok(found) if found != LabelSelector::default() => selector_text(&found),
        _ => {
            let labels = selector.as_object()?.iter();
            labels
                .filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)))
                .collect::<Vec<_>>()
                .join(",")
        }
    };
    (!text.is_empty()).then_some(text)
}

/// `3 pods left, 2 Terminating`.
pub(crate) fn count_text(pods: &[Pod]) -> String {
    let terminating = pods
        .iter()
        .filter(|pod| pod.metadata.deletion_timestamp.is_some())
        .count();
    let word = if pods.len() == 1 { "pod" } else { "pods" };
    format!("{} {word} left, {terminating} Terminating", pods.len())
}

/// `namespace/name` of a pod.
pub(crate) fn pod_name(pod: &Pod) -> String {
    format!(
        "{}/{}",
        pod.metadata.namespace.as_deref().unwrap_or_default(),
        pod.metadata.name.as_deref().unwrap_or_default()
    )
}

/// One line on a pod that is left (S-2.14).
pub(crate) fn describe_left(pod: &Pod, nodes: &BTreeMap<String, String>) -> String {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref())
        .unwrap_or("Unknown");
    let mut text = format!("pod {}: phase {phase}", pod_name(pod));
    let meta = &pod.metadata;
    match &meta.deletion_timestamp {
        // The timestamp is the end of the grace period, not the moment of the request.
        Some(end) => {
            let grace = meta.deletion_grace_period_seconds.unwrap_or(0);
            let asked = end
                .0
                .checked_sub(jiff::SignedDuration::from_secs(grace))
                .unwrap_or(end.0);
            text.push_str(&format!(", Terminating since {asked}, grace {grace}s"));
        }
        None => text.push_str(", not asked to stop"),
    }
    let finalizers = meta.finalizers.as_deref().unwrap_or_default();
    if !finalizers.is_empty() {
        text.push_str(&format!(", finalizers {}", finalizers.join(" ")));
    }
    match pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()) {
        None => text.push_str(", on no node"),
        Some(node) => {
            text.push_str(&format!(", node {node}"));
            if let Some(state) = nodes.get(node) {
                text.push_str(&format!(" {state}"));
            }
        }
    }
    text
}

/// The scheduler's sentence, if it finds no node for the pod.
pub(crate) fn unschedulable(pod: &Pod) -> Option<String> {
    let conditions = pod.status.as_ref()?.conditions.as_deref()?;
    conditions
        .iter()
        .find(|condition| {
            condition.type_ == "PodScheduled"
                && condition.status == "False"
                && condition.reason.as_deref() == Some("Unschedulable")
        })
        .map(|condition| one_line(condition.message.as_deref().unwrap_or_default(), 400))
}

/// `Ready`, or `NotReady (reason)`.
pub(crate) fn node_text(node: &Node) -> String {
    let ready = node
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref())
        .unwrap_or_default()
        .iter()
        .find(|condition| condition.type_ == "Ready");
    match ready {
        Some(condition) if condition.status == "True" => "Ready".to_owned(),
        Some(condition) => match condition.reason.as_deref() {
            Some(reason) if !reason.is_empty() => format!("NotReady ({reason})"),
            _ => "NotReady".to_owned(),
        },
        None => "NotReady (no status)".to_owned(),
    }
}

impl Cluster {
    /// Names the containers of a pod, init and ephemeral ones included; `None` if there is no such
    /// pod.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`] but not found.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn pod_containers(
        &self,
        namespace: &str,
        pod: &str,
        budget: &Budget,
    ) -> Result<Option<Vec<String>>, ClusterError> {
        let operation = Operation::new(
            "get",
            "pods",
            Some(namespace),
            format!("pod {namespace}/{pod}"),
        );
        let call = Call::get(operation, namespaced("v1", namespace, "pods", Some(pod)));
        let found: Option<Pod> = self.call_optional(&call, budget).await?;
        Ok(found.map(|pod| {
            let Some(spec) = pod.spec else {
                return Vec::new();
            };
            spec.init_containers
                .into_iter()
                .flatten()
                .chain(spec.containers)
                .map(|container| container.name)
                .chain(
                    spec.ephemeral_containers
                        .into_iter()
                        .flatten()
                        .map(|container| container.name),
                )
                .collect()
        }))
    }

    /// Reads the log of a container, line by line. With `follow` until the container ends, else what is there.
    ///
    /// Lines are cut at 16 KiB. Ends when `budget` does, without an error.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`]: a container that has not started yet has no log.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop; lines that came are not read again by themselves.
    pub async fn read_log(
        &self,
        (namespace, pod, container): (&str, &str, &str),
        follow: bool,
        budget: &Budget,
        mut on_line: impl FnMut(&str),
    ) -> Result<(), ClusterError> {
        let operation = Operation::new(
            "get",
            "pods/log",
            Some(namespace),
            format!("pod {namespace}/{pod}"),
        );
        let path = format!("{}/log", namespaced("v1", namespace, "pods", Some(pod)));
        let call = Call::get(operation.clone(), path)
            .query("container", container)
            .query("follow", if follow { "true" } else { "false" });
        let (response, _) = self.exchange(&call, budget).await?;
        let mut body = response.into_body();
        let mut lines = Lines::default();
        loop {
            match budget.run(body.frame()).await {
                Err(_) | Ok(None) => break,
                Ok(Some(Err(error))) => return Err(self.transport(&operation, &error)),
                Ok(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        lines.take(&data, &mut on_line);
                    }
                }
            }
        }
        lines.end(&mut on_line);
        Ok(())
    }

    /// The state of a node, `None` if it is gone.
    pub(crate) async fn node_state(
        &self,
        name: &str,
        budget: &Budget,
    ) -> Result<Option<String>, ClusterError> {
        let operation = Operation::new("get", "nodes", None, format!("node {name}"));
        let call = Call::get(operation, cluster_scoped("v1", "nodes", Some(name)));
        let found: Option<Node> = self.call_optional(&call, budget).await?;
        Ok(found.as_ref().map(node_text))
    }
}

/// The most that is kept of one line of a log.
const LINE_BYTES: usize = 16 * 1024;

/// Pieces of a log as lines.
#[derive(Default)]
struct Lines {
    open: Vec<u8>,
}

impl Lines {
    fn take(&mut self, data: &[u8], on_line: &mut impl FnMut(&str)) {
        let mut parts = data.split(|byte| *byte == b'\n');
        let last = parts.next_back().unwrap_or_default();
        for part in parts {
            self.push(part);
            self.end(on_line);
            self.open.clear();
        }
        self.push(last);
    }

    fn push(&mut self, part: &[u8]) {
        let room = LINE_BYTES.saturating_sub(self.open.len());
        self.open
            .extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
    }

    fn end(&mut self, on_line: &mut impl FnMut(&str)) {
        if !self.open.is_empty() {
            let line = String::from_utf8_lossy(&self.open);
            on_line(line.trim_end_matches('\r'));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_log_comes_in_lines_whatever_its_pieces_and_long_ones_are_cut() {
        let mut found = Vec::new();
        let mut lines = Lines::default();
        for piece in ["one\ntw", "o\r\n\nthr", "ee"] {
            lines.take(piece.as_bytes(), &mut |line: &str| {
                found.push(line.to_owned());
            });
        }
        lines.end(&mut |line: &str| found.push(line.to_owned()));
        assert_eq!(found, ["one", "two", "three"]);
        let mut length = 0;
        let mut lines = Lines::default();
        lines.take(&vec![b'x'; LINE_BYTES * 3], &mut |_: &str| ());
        lines.take(b"\n", &mut |line: &str| length = line.len());
        assert_eq!(length, LINE_BYTES);
    }

    fn pod(value: Value) -> Pod {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn s_2_14_a_remaining_pod_is_described_in_one_line() {
        let stuck = pod(json!({
            "metadata": {
                "name": "api-1", "namespace": "app", "finalizers": ["a/b", "c/d"],
                "deletionTimestamp": "2026-01-01T10:00:30Z", "deletionGracePeriodSeconds": 30,
            },
            "spec": {"containers": [], "nodeName": "n1"},
            "status": {"phase": "Running"},
        }));
        let nodes = BTreeMap::from([("n1".to_owned(), "NotReady (KubeletNotReady)".to_owned())]);
        assert_eq!(
            describe_left(&stuck, &nodes),
            "pod app/api-1: phase Running, Terminating since 2026-01-01T10:00:00Z, grace 30s, finalizers a/b c/d, node n1 NotReady (KubeletNotReady)"
        );
        let fresh = pod(json!({"metadata": {"name": "api-2", "namespace": "app"}}));
        assert_eq!(
            describe_left(&fresh, &nodes),
            "pod app/api-2: phase Unknown, not asked to stop, on no node"
        );
        assert_eq!(count_text(&[stuck, fresh]), "2 pods left, 1 Terminating");
    }

    #[test]
    fn selectors_become_queries() {
        let selector: LabelSelector = serde_json::from_value(json!({
            "matchLabels": {"app": "api", "tier": "web"},
            "matchExpressions": [
                {"key": "env", "operator": "In", "values": ["a", "b"]},
                {"key": "old", "operator": "NotIn", "values": ["x"]},
                {"key": "has", "operator": "Exists"},
                {"key": "not", "operator": "DoesNotExist"},
            ],
        }))
        .unwrap();
        assert_eq!(
            selector_text(&selector),
            "app=api,tier=web,env in (a,b),old notin (x),has,!not"
        );
    }

    #[test]
    fn a_node_is_ready_only_when_it_says_so() {
        let node = |conditions: Value| -> String {
            let node: Node =
                serde_json::from_value(json!({"status": {"conditions": conditions}})).unwrap();
            node_text(&node)
        };
        assert_eq!(node(json!([{"type": "Ready", "status": "True"}])), "Ready");
        assert_eq!(
            node(json!([{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}])),
            "NotReady (NodeStatusUnknown)"
        );
        assert_eq!(node(json!([])), "NotReady (no status)");
    }
}
