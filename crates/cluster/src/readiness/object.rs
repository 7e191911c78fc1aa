//! Whether a live object of any kind is ready, by the rules for releases (S-14.37).

use serde_json::Value;

use super::{generic, workload};
use crate::error::one_line;

/// Length of a sentence that is passed on.
pub(super) const WIDTH: usize = 400;

/// What an object's own state says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It is ready; the note says what is odd about it, such as fewer pods than wanted.
    Ready {
        /// What is worth a warning.
        note: Option<String>,
    },
    /// Not yet; the text says what is there and what is missing.
    Progressing(String),
    /// It has failed.
    Failed {
        /// Why.
        why: String,
        /// Whether it will stay so, whatever happens around it.
        is_final: bool,
    },
}

impl Judgement {
    pub(super) const READY: Self = Self::Ready { note: None };

    pub(super) fn when(ready: bool, otherwise: impl Into<String>) -> Self {
        if ready {
            Self::READY
        } else {
            Self::Progressing(otherwise.into())
        }
    }

    pub(super) fn failed(why: impl Into<String>) -> Self {
        Self::Failed {
            why: why.into(),
            is_final: false,
        }
    }

    /// Whether it is ready.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        matches!(self, Self::Ready { .. })
    }
}

/// Groups that come with Kubernetes. What is not in them is a custom resource, judged by what its status says.
const BUILT_IN: [&str; 21] = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "extensions",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// Whether an object of a kind may be anything but ready once the API server has accepted it. `false` for kinds that are
/// nothing but data, such as ConfigMap: nobody need look at them.
#[must_use]
pub fn has_rule(group: &str, kind: &str) -> bool {
    match (group, kind) {
        ("", "Pod" | "Service" | "PersistentVolumeClaim" | "Namespace")
        | ("", "ReplicationController")
        | ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
        | ("batch", "Job")
        | ("apiextensions.k8s.io", "CustomResourceDefinition")
        | ("apiregistration.k8s.io", "APIService") => true,
        (group, _) => is_custom(group),
    }
}

/// Whether the kinds of a group do not come with Kubernetes, so that only their status tells how they are.
#[must_use]
pub fn is_custom(group: &str) -> bool {
    !BUILT_IN.contains(&group)
}

/// Judges a live object of a kind by its own state. Nothing is asked; absent counts are 0.
#[must_use]
pub fn judge(group: &str, kind: &str, object: &Value) -> Judgement {
    if object.pointer("/metadata/deletionTimestamp").is_some() {
        return Judgement::Progressing("it is being deleted".to_owned());
    }
    match (group, kind) {
        ("apps", "Deployment") => workload::deployment(object),
        ("apps", "StatefulSet") => workload::stateful_set(object),
        ("apps", "DaemonSet") => workload::daemon_set(object),
        ("apps", "ReplicaSet") | ("", "ReplicationController") => workload::replica_set(object),
        ("batch", "Job") => workload::job(object),
        ("", "Pod") => workload::pod(object),
        ("", "Service") => service(object),
        ("", "PersistentVolumeClaim") => claim(object),
        ("", "Namespace") => namespace(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(object),
        ("apiregistration.k8s.io", "APIService") => api_service(object),
        _ if has_rule(group, kind) => generic::judge(group, kind, object),
        _ => Judgement::READY,
    }
}

/// Whether a claim has no volume and no pod that would need one. When its class waits for the first consumer, that is as
/// far as it gets by itself (S-14.37).
#[must_use]
pub fn is_unused_claim(claim: &Value) -> bool {
    matches!(text(claim, "/status/phase"), "" | "Pending")
        && claim
            .pointer("/metadata/annotations/volume.kubernetes.io~1selected-node")
            .is_none()
}

fn service(object: &Value) -> Judgement {
    let kind = text(object, "/spec/type");
    if kind == "ExternalName" {
        return Judgement::READY;
    }
    if text(object, "/spec/clusterIP").is_empty() {
        return Judgement::Progressing("it has no cluster address".to_owned());
    }
    let filled = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty())
    };
    Judgement::when(
        kind != "LoadBalancer"
            || filled("/spec/externalIPs")
            || filled("/status/loadBalancer/ingress"),
        "the load balancer has no address",
    )
}

fn claim(object: &Value) -> Judgement {
    match text(object, "/status/phase") {
        "Bound" => Judgement::READY,
        "Lost" => Judgement::failed("the volume of the claim is lost"),
        "" => Judgement::Progressing("it has no volume".to_owned()),
        phase => Judgement::Progressing(format!("it has no volume, phase {phase}")),
    }
}

fn namespace(object: &Value) -> Judgement {
    let phase = text(object, "/status/phase");
    Judgement::when(
        phase.is_empty() || phase == "Active",
        format!("phase {phase}"),
    )
}

fn definition(object: &Value) -> Judgement {
    if let Some(refused) = condition(object, "NamesAccepted")
        && status_of(refused) == "False"
    {
        return Judgement::failed(sentence(refused, "the names are not accepted"));
    }
    let established = condition(object, "Established").map(status_of);
    Judgement::when(established == Some("True"), "it is not established")
}

fn api_service(object: &Value) -> Judgement {
    match condition(object, "Available") {
        Some(found) if status_of(found) == "True" => Judgement::READY,
        Some(found) => Judgement::Progressing(sentence(found, "it is not available")),
        None => Judgement::Progressing("it is not available".to_owned()),
    }
}

pub(super) fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// What no count goes beyond: sizes have 32 bits, and one that has more must not overflow a sum.
const MOST: i64 = u32::MAX as i64;

/// A count; 0 if it is absent or no count.
pub(super) fn count(object: &Value, pointer: &str) -> i64 {
    count_or(object, pointer, 0)
}

/// A count; something else if it is absent or no count.
pub(super) fn count_or(object: &Value, pointer: &str, otherwise: i64) -> i64 {
    let found = object.pointer(pointer).and_then(Value::as_i64);
    found.unwrap_or(otherwise).clamp(0, MOST)
}

/// Whether the controller has seen the present generation.
pub(super) fn is_observed(object: &Value) -> bool {
    count(object, "/status/observedGeneration") >= count(object, "/metadata/generation")
}

pub(super) fn conditions(object: &Value) -> impl Iterator<Item = &Value> {
    object
        .pointer("/status/conditions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

pub(super) fn condition<'v>(object: &'v Value, kind: &str) -> Option<&'v Value> {
    conditions(object).find(|condition| text(condition, "/type") == kind)
}

pub(super) fn status_of(condition: &Value) -> &str {
    text(condition, "/status")
}

/// Reason and message of a condition, in one line.
pub(super) fn sentence(condition: &Value, otherwise: &str) -> String {
    let reason = text(condition, "/reason");
    let message = one_line(text(condition, "/message"), WIDTH);
    match (reason, message.as_str()) {
        ("", "") => otherwise.to_owned(),
        (reason, "") => reason.to_owned(),
        ("", message) => message.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    }
}

#[cfg(test)]
mod tests;
