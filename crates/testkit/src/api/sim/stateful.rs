//! StatefulSets: pods with numbers, one after the other.

use serde_json::{Value, json};

use super::{Due, active, available, children, create_pod, going, name, ready, template_hash};
use crate::api::handle::{create_quietly, delete_quietly};
use crate::api::store::{Key, Store};
use crate::json;

pub(super) fn run(store: &mut Store, due: &mut Due) {
    let Some(kind) = store.kind("apps", "statefulsets") else {
        return;
    };
    for (key, set) in store.copies(kind, "") {
        if !going(&set) {
            act(store, &set, due);
            report(store, &key, due);
        }
    }
}

/// The number at the end of a pod's name.
fn ordinal(pod: &Value) -> i64 {
    name(pod)
        .rsplit_once('-')
        .and_then(|(_, number)| number.parse().ok())
        .unwrap_or(-1)
}

fn revision(set: &Value) -> String {
    format!("{}-{}", name(set), template_hash(&set["spec"]["template"]))
}

fn is_new(pod: &Value, revision: &str) -> bool {
    json::text(pod, "/metadata/labels/controller-revision-hash") == revision
}

fn act(store: &mut Store, set: &Value, due: &mut Due) {
    let wanted = json::number(set, "/spec/replicas");
    let first = json::number(set, "/spec/ordinals/start");
    let parallel = json::text(set, "/spec/podManagementPolicy") == "Parallel";
    let min_ready = json::number(set, "/spec/minReadySeconds");
    let mut pods = children(store, "", "pods", set);
    pods.sort_by_key(|(_, pod)| ordinal(pod));
    let revision = revision(set);
    // Ended pods are made anew.
    for (key, pod) in &pods {
        if !going(pod) && !active(pod) {
            delete_quietly(store, key);
            return;
        }
    }
    for number in first..first + wanted {
        match pods.iter().find(|(_, pod)| ordinal(pod) == number) {
            None => {
                if !create(store, set, number, &revision) || !parallel {
                    return;
                }
            }
            Some((_, pod)) => {
                let up = !going(pod) && available(store, pod, min_ready, due);
                if !up && !parallel {
                    return;
                }
            }
        }
    }
    let beyond = |pod: &Value| !(first..first + wanted).contains(&ordinal(pod));
    for (key, pod) in pods.iter().rev().filter(|(_, pod)| beyond(pod)) {
        if !going(pod) {
            delete_quietly(store, key);
        }
        if !parallel {
            return;
        }
    }
    if json::text(set, "/spec/updateStrategy/type") != "RollingUpdate" {
        return;
    }
    let partition = json::number(set, "/spec/updateStrategy/rollingUpdate/partition");
    for (key, pod) in pods.iter().rev().filter(|(_, pod)| !beyond(pod)) {
        if ordinal(pod) < partition {
            return;
        }
        if !is_new(pod, &revision) {
            delete_quietly(store, key);
            return;
        }
        if going(pod) || !ready(pod) {
            return;
        }
    }
}

fn create(store: &mut Store, set: &Value, number: i64, revision: &str) -> bool {
    let pod_name = format!("{}-{number}", name(set));
    let namespace = json::text(set, "/metadata/namespace").to_owned();
    let mut made = set.clone();
    let mut volumes = json::list(set, "/spec/template/spec/volumes").to_vec();
    for template in json::list(set, "/spec/volumeClaimTemplates") {
        let claim_name = format!("{}-{pod_name}", name(template));
        volumes.push(json!({
            "name": name(template),
            "persistentVolumeClaim": {"claimName": claim_name},
        }));
        let mut claim = json!({"metadata": template["metadata"], "spec": template["spec"]});
        json::set(&mut claim, "/metadata/name", claim_name);
        let labels = set["spec"]["selector"]["matchLabels"].clone();
        json::default(&mut claim, "/metadata/labels", labels);
        if let Some(kind) = store.kind("", "persistentvolumeclaims") {
            // The claim of an earlier pod of that number is used again.
            let _ = create_quietly(store, kind, &namespace, claim);
        }
    }
    if !volumes.is_empty() {
        json::set(&mut made, "/spec/template/spec/volumes", volumes);
    }
    let labels = [
        ("controller-revision-hash", revision),
        ("statefulset.kubernetes.io/pod-name", pod_name.as_str()),
    ];
    create_pod(store, &made, "apps/v1", "StatefulSet", &pod_name, &labels).is_ok()
}

fn report(store: &mut Store, key: &Key, due: &mut Due) {
    let Some(set) = store.get(key).map(|found| Value::clone(found)) else {
        return;
    };
    let pods = children(store, "", "pods", &set);
    let update = revision(&set);
    let min_ready = json::number(&set, "/spec/minReadySeconds");
    let availables = pods
        .iter()
        .filter(|(_, pod)| available(store, pod, min_ready, due))
        .count();
    let updated = pods
        .iter()
        .filter(|(_, pod)| !going(pod) && is_new(pod, &update))
        .count();
    let readies = pods.iter().filter(|(_, pod)| ready(pod)).count();
    let wanted = json::number(&set, "/spec/replicas");
    let done = i64::try_from(updated).is_ok_and(|updated| updated == wanted)
        && readies == updated
        && pods.len() == updated;
    store.edit(key, |set| {
        let generation = json::number(set, "/metadata/generation");
        json::set(set, "/status/observedGeneration", generation);
        json::set(set, "/status/replicas", pods.len());
        json::set(set, "/status/availableReplicas", availables);
        json::set(set, "/status/collisionCount", 0);
        json::set(set, "/status/updateRevision", update.clone());
        if done || !json::has(set, "/status/currentRevision") {
            json::set(set, "/status/currentRevision", update.clone());
        }
        let current = if json::text(set, "/status/currentRevision") == update {
            updated
        } else {
            pods.len().saturating_sub(updated)
        };
        super::replicas::counts(
            set,
            &[
                ("readyReplicas", readies),
                ("currentReplicas", current),
                ("updatedReplicas", updated),
            ],
        );
    });
}
