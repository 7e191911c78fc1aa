//! ReplicaSets and DaemonSets: so many pods, all alike.

use serde_json::{Value, json};

use super::{
    Due, active, available, children, create_pod, event, going, name, ready, template_hash,
};
use crate::api::handle::delete_quietly;
use crate::api::store::{Key, Store};
use crate::json;

pub(super) fn run(store: &mut Store, due: &mut Due) {
    if let Some(kind) = store.kind("apps", "replicasets") {
        for (key, set) in store.copies(kind, "") {
            replica_set(store, &key, &set, due);
        }
    }
    if let Some(kind) = store.kind("apps", "daemonsets") {
        for (key, set) in store.copies(kind, "") {
            daemon_set(store, &key, &set, due);
        }
    }
}

fn replica_set(store: &mut Store, key: &Key, set: &Value, due: &mut Due) {
    if going(set) {
        return;
    }
    let mut pods: Vec<(Key, Value)> = children(store, "", "pods", set);
    pods.retain(|(_, pod)| active(pod));
    let wanted = usize::try_from(json::number(set, "/spec/replicas")).unwrap_or_default();
    let mut failure = None;
    for _ in pods.len()..wanted {
        let serial = store.upcoming_serial();
        let pod = format!("{}-{serial:05x}", name(set));
        if let Err(refusal) = create_pod(store, set, "apps/v1", "ReplicaSet", &pod, &[]) {
            failure = Some(refusal.message);
            break;
        }
    }
    if pods.len() > wanted {
        // Those that serve least go first, then the youngest.
        pods.sort_by_key(|(key, pod)| (ready(pod), std::cmp::Reverse(key.2.clone())));
        pods.reverse();
        for (key, _) in pods.drain(wanted..) {
            delete_quietly(store, &key);
        }
    }
    let mut pods = children(store, "", "pods", set);
    pods.retain(|(_, pod)| active(pod));
    let min_ready = json::number(set, "/spec/minReadySeconds");
    let readies = pods.iter().filter(|(_, pod)| ready(pod)).count();
    let availables = pods
        .iter()
        .filter(|(_, pod)| available(store, pod, min_ready, due))
        .count();
    if let Some(message) = &failure
        && json::condition(set, "ReplicaFailure").is_empty()
    {
        event(
            store,
            ("ReplicaSet", set),
            "Warning",
            "FailedCreate",
            &format!("Error creating: {message}"),
        );
    }
    let now = store.now();
    store.edit(key, |set| {
        let generation = json::number(set, "/metadata/generation");
        json::set(set, "/status/observedGeneration", generation);
        json::set(set, "/status/replicas", pods.len());
        counts(
            set,
            &[
                ("fullyLabeledReplicas", pods.len()),
                ("readyReplicas", readies),
                ("availableReplicas", availables),
            ],
        );
        match failure {
            Some(message) => {
                json::set_condition(set, "ReplicaFailure", true, "FailedCreate", &message, &now);
            }
            None => drop_condition(set, "ReplicaFailure"),
        }
    });
}

/// Sets counters of a status; zero is left out, as real servers do.
pub(super) fn counts(object: &mut Value, counts: &[(&str, usize)]) {
    for (field, count) in counts {
        let path = format!("/status/{field}");
        if *count == 0 {
            json::remove(object, &path);
        } else {
            json::set(object, &path, *count);
        }
    }
}

pub(super) fn drop_condition(object: &mut Value, kind: &str) {
    if let Some(conditions) = object
        .pointer_mut("/status/conditions")
        .and_then(Value::as_array_mut)
    {
        conditions.retain(|condition| json::text(condition, "/type") != kind);
    }
}

/// One pod a node; with a new template all old pods are replaced one after the other.
fn daemon_set(store: &mut Store, key: &Key, set: &Value, due: &mut Due) {
    if going(set) {
        return;
    }
    let hash = template_hash(&set["spec"]["template"]);
    let nodes: Vec<String> = store
        .kind("", "nodes")
        .into_iter()
        .flat_map(|kind| store.of_kind(kind, "").map(|(key, _)| key.2.clone()))
        .collect();
    let pods = children(store, "", "pods", set);
    for node in &nodes {
        let there = pods
            .iter()
            .any(|(_, pod)| json::text(pod, "/spec/nodeName") == node);
        if there {
            continue;
        }
        let serial = store.upcoming_serial();
        let mut pinned = set.clone();
        json::set(&mut pinned, "/spec/template/spec/nodeName", node.clone());
        let labels = [("controller-revision-hash", hash.as_str())];
        let pod = format!("{}-{serial:05x}", name(set));
        if create_pod(store, &pinned, "apps/v1", "DaemonSet", &pod, &labels).is_err() {
            break;
        }
    }
    let pods = children(store, "", "pods", set);
    let new = |pod: &Value| json::text(pod, "/metadata/labels/controller-revision-hash") == hash;
    let replaces = json::text(set, "/spec/updateStrategy/type") == "RollingUpdate";
    let all_up = pods
        .iter()
        .all(|(_, pod)| active(pod) && (!new(pod) || ready(pod)));
    if let (true, true, Some((old, _))) = (replaces, all_up, pods.iter().find(|(_, pod)| !new(pod)))
    {
        delete_quietly(store, old);
    }
    let min_ready = json::number(set, "/spec/minReadySeconds");
    let availables = pods
        .iter()
        .filter(|(_, pod)| active(pod) && available(store, pod, min_ready, due))
        .count();
    store.edit(key, |set| {
        let generation = json::number(set, "/metadata/generation");
        json::set(set, "/status/observedGeneration", generation);
        let count =
            |test: &dyn Fn(&Value) -> bool| pods.iter().filter(|(_, pod)| test(pod)).count();
        for (field, number) in [
            ("desiredNumberScheduled", nodes.len()),
            ("currentNumberScheduled", pods.len()),
            ("numberReady", count(&|pod| active(pod) && ready(pod))),
            ("numberMisscheduled", 0),
        ] {
            json::set(set, &format!("/status/{field}"), json!(number));
        }
        counts(
            set,
            &[
                (
                    "updatedNumberScheduled",
                    count(&|pod| active(pod) && new(pod)),
                ),
                ("numberAvailable", availables),
                ("numberUnavailable", nodes.len().saturating_sub(availables)),
            ],
        );
    });
}
