//! Pods made anew by deleting them, as `--recreate-pods` asks: their owners replace them.

use kzero_cluster::{
    ApiResource, ApplyMode, Budget, Cluster, ClusterError, Deletion, Propagation, View,
};
use serde_json::Value;

use crate::resource::text;

/// The kind of pods.
pub(crate) fn pods() -> ApiResource {
    ApiResource {
        group_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        plural: "pods".to_owned(),
        namespaced: true,
    }
}

/// The labels that a workload asks of its pods, as a selector; `None` for objects without pods.
pub(crate) fn match_labels(object: &Value) -> Option<String> {
    let labels = match text(object, "/kind") {
        "ReplicaSet" | "Deployment" | "StatefulSet" | "DaemonSet" | "Job" => {
            object.pointer("/spec/selector/matchLabels")
        }
        "ReplicationController" => object.pointer("/spec/selector"),
        _ => None,
    };
    pairs(labels?)
}

/// All that an object asks of pods: labels and expressions of workloads, the labels of Services.
pub(crate) fn pod_selector(object: &Value) -> Option<String> {
    let labels = match text(object, "/kind") {
        "Service" => pairs(object.pointer("/spec/selector")?),
        _ => match_labels(object),
    };
    let expressions = object
        .pointer("/spec/selector/matchExpressions")
        .and_then(Value::as_array);
    let expressions = expressions.into_iter().flatten().filter_map(expression);
    let all: Vec<String> = labels.into_iter().chain(expressions).collect();
    (!all.is_empty()).then(|| all.join(","))
}

fn pairs(labels: &Value) -> Option<String> {
    let pairs: Vec<String> = labels
        .as_object()?
        .iter()
        .filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)))
        .collect();
    (!pairs.is_empty()).then(|| pairs.join(","))
}

fn expression(expression: &Value) -> Option<String> {
    let key = text(expression, "/key");
    let values = expression.get("values").and_then(Value::as_array);
    let values: Vec<&str> = values
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    Some(match text(expression, "/operator") {
        "In" => format!("{key} in ({})", values.join(",")),
        "NotIn" => format!("{key} notin ({})", values.join(",")),
        "Exists" => key.to_owned(),
        "DoesNotExist" => format!("!{key}"),
        _ => return None,
    })
}

/// Deletes the pods of a namespace with some labels; those that come meanwhile stay.
///
/// # Errors
///
/// Any [`ClusterError`].
///
/// # Cancel safety
///
/// Not cancel-safe: if dropped, some of them may be deleted.
pub(crate) async fn restart(
    cluster: &Cluster,
    namespace: &str,
    selector: &str,
    mode: ApplyMode,
    budget: &Budget,
) -> Result<usize, ClusterError> {
    let api = pods();
    let listed = cluster
        .view_labelled(&api, namespace, selector, View::Whole, budget)
        .await?;
    let items = listed.get("items").and_then(Value::as_array);
    let mut count = 0;
    for pod in items.into_iter().flatten() {
        let at = (namespace, text(pod, "/metadata/name"));
        let uid = Some(text(pod, "/metadata/uid"));
        let deleting = cluster.delete_object(&api, at, uid, Propagation::Background, mode, budget);
        count += usize::from(deleting.await? != Deletion::Absent);
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{match_labels, pod_selector};

    #[test]
    fn objects_say_which_pods_are_theirs() {
        let web = json!({"kind": "Deployment", "spec": {"selector": {
            "matchLabels": {"app": "web", "tier": "a"},
            "matchExpressions": [
                {"key": "x", "operator": "In", "values": ["1", "2"]},
                {"key": "y", "operator": "NotIn", "values": ["1"]},
                {"key": "z", "operator": "Exists"},
                {"key": "w", "operator": "DoesNotExist"},
            ],
        }}});
        assert_eq!(match_labels(&web).as_deref(), Some("app=web,tier=a"));
        assert_eq!(
            pod_selector(&web).as_deref(),
            Some("app=web,tier=a,x in (1,2),y notin (1),z,!w")
        );
        let service = json!({"kind": "Service", "spec": {"selector": {"app": "web"}}});
        assert_eq!(match_labels(&service), None);
        assert_eq!(pod_selector(&service).as_deref(), Some("app=web"));
        assert_eq!(pod_selector(&json!({"kind": "Service", "spec": {}})), None);
        assert_eq!(pod_selector(&json!({"kind": "ConfigMap"})), None);
    }
}
