//! Deployments: one ReplicaSet a template, and the change from one to the next.

use std::time::Duration;

use serde_json::{Value, json};

use super::replicas::{counts, drop_condition};
use super::{Due, children, going, name, owner_reference, template_hash, uid, waited};
use crate::api::handle::create_quietly;
use crate::api::store::{Key, Store};
use crate::json;

pub(super) fn run(store: &mut Store, due: &mut Due) {
    let Some(kind) = store.kind("apps", "deployments") else {
        return;
    };
    for (key, deployment) in store.copies(kind, "") {
        if !going(&deployment) {
            roll(store, &key, &deployment);
            report(store, &key, due);
        }
    }
}

type Found = (Key, Value);

/// The ReplicaSet of the present template, and the others.
fn sets(store: &Store, deployment: &Value) -> (Option<Found>, Vec<Found>) {
    let hash = template_hash(&deployment["spec"]["template"]);
    let (mut new, old): (Vec<_>, Vec<_>) = children(store, "apps", "replicasets", deployment)
        .into_iter()
        .partition(|(_, set)| json::text(set, "/metadata/labels/pod-template-hash") == hash);
    (new.pop(), old)
}

fn roll(store: &mut Store, key: &Key, deployment: &Value) {
    let paused = deployment["spec"]["paused"] == true;
    let (new, old) = sets(store, deployment);
    let wanted = json::number(deployment, "/spec/replicas");
    let recreate = json::text(deployment, "/spec/strategy/type") == "Recreate";
    if paused {
        // Counts are still followed, by whichever set serves; the template is not.
        let serving = new.or_else(|| {
            old.into_iter()
                .max_by_key(|(_, set)| json::number(set, "/spec/replicas"))
        });
        if let Some((set, _)) = serving {
            resize(store, &set, wanted);
        }
        return;
    }
    if recreate {
        for (set, _) in &old {
            resize(store, set, 0);
        }
        let left = old
            .iter()
            .any(|(_, set)| !children(store, "", "pods", set).is_empty());
        if left {
            return;
        }
    }
    let Some((new_key, new)) = new else {
        create_set(
            store,
            key,
            deployment,
            if old.is_empty() || recreate {
                wanted
            } else {
                0
            },
        );
        return;
    };
    let old_total: i64 = old
        .iter()
        .map(|(_, set)| json::number(set, "/spec/replicas"))
        .sum();
    if recreate || old_total == 0 {
        resize(store, &new_key, wanted);
        return;
    }
    let surge = share(
        &deployment["spec"]["strategy"]["rollingUpdate"]["maxSurge"],
        wanted,
        true,
    );
    let mut missing = share(
        &deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"],
        wanted,
        false,
    );
    if surge == 0 && missing == 0 {
        missing = 1;
    }
    let size = json::number(&new, "/spec/replicas");
    let room = (wanted + surge - size - old_total).max(0);
    resize(store, &new_key, (size + room).min(wanted));
    let ready = json::number(&new, "/status/availableReplicas");
    let mut spare = size + old_total - (wanted - missing) - (size - ready).max(0);
    for (set_key, set) in &old {
        let has = json::number(set, "/spec/replicas");
        let less = spare.clamp(0, has);
        // Pods that do not serve are given up before those that do.
        if less > 0 {
            resize(store, set_key, has - less);
            spare -= less;
        }
    }
}

/// A number of pods, or a percentage of them.
fn share(value: &Value, of: i64, up: bool) -> i64 {
    if let Some(number) = value.as_i64() {
        return number;
    }
    let percent: i64 = value
        .as_str()
        .and_then(|text| text.strip_suffix('%')?.parse().ok())
        .unwrap_or(25);
    let parts = percent * of;
    if up { (parts + 99) / 100 } else { parts / 100 }
}

fn resize(store: &mut Store, set: &Key, replicas: i64) {
    store.edit(set, |set| json::set(set, "/spec/replicas", replicas));
}

fn create_set(store: &mut Store, key: &Key, deployment: &Value, replicas: i64) {
    let Some(kind) = store.kind("apps", "replicasets") else {
        return;
    };
    let hash = template_hash(&deployment["spec"]["template"]);
    let mut template = deployment["spec"]["template"].clone();
    template["metadata"]["labels"]["pod-template-hash"] = hash.clone().into();
    let mut selector = deployment["spec"]["selector"].clone();
    selector["matchLabels"]["pod-template-hash"] = hash.clone().into();
    let set = json!({
        "metadata": {
            "name": format!("{}-{hash}", name(deployment)),
            "labels": template["metadata"]["labels"],
            "ownerReferences": owner_reference("apps/v1", "Deployment", deployment),
        },
        "spec": {
            "replicas": replicas,
            "minReadySeconds": json::number(deployment, "/spec/minReadySeconds"),
            "selector": selector,
            "template": template,
        },
    });
    // Refused only where the namespace is going, and the Deployment goes with it.
    let _ = create_quietly(store, kind, &key.1, set);
    // A new template is a new rollout, even where the last one had come to its end.
    let now = store.now();
    let message = "Created new replica set";
    store.edit(key, |deployment| {
        json::set_condition(
            deployment,
            "Progressing",
            true,
            "NewReplicaSetCreated",
            message,
            &now,
        );
    });
}

/// Writes the status of a Deployment.
fn report(store: &mut Store, key: &Key, due: &mut Due) {
    let Some(deployment) = store.get(key).map(|found| Value::clone(found)) else {
        return;
    };
    let (new, old) = sets(store, &deployment);
    let all: Vec<&Value> = new.iter().chain(&old).map(|(_, set)| set).collect();
    let sum = |field: &str| -> usize {
        let path = format!("/status/{field}");
        let sum: i64 = all.iter().map(|set| json::number(set, &path)).sum();
        usize::try_from(sum).unwrap_or_default()
    };
    let wanted = usize::try_from(json::number(&deployment, "/spec/replicas")).unwrap_or_default();
    let replicas = sum("replicas");
    let availables = sum("availableReplicas");
    let updated = new
        .as_ref()
        .map_or(0, |(_, set)| json::number(set, "/status/replicas"));
    let updated = usize::try_from(updated).unwrap_or_default();
    let failure = all
        .iter()
        .flat_map(|set| json::list(set, "/status/conditions"))
        .find(|condition| json::text(condition, "/type") == "ReplicaFailure")
        .map(|condition| json::text(condition, "/message").to_owned());
    let generation = json::number(&deployment, "/metadata/generation");
    let seen = all.iter().all(|set| {
        json::number(set, "/status/observedGeneration") == json::number(set, "/metadata/generation")
    });
    let complete =
        seen && updated == wanted && replicas == wanted && availables == wanted && new.is_some();
    let missing = share(
        &deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"],
        i64::try_from(wanted).unwrap_or_default(),
        false,
    );
    let enough = i64::try_from(availables).unwrap_or_default()
        >= i64::try_from(wanted).unwrap_or_default() - missing;
    let progress = progress(
        store,
        &deployment,
        complete,
        (replicas, updated, availables),
        due,
    );
    let now = store.now();
    store.edit(key, |deployment| {
        json::set(deployment, "/status/observedGeneration", generation);
        counts(
            deployment,
            &[
                ("replicas", replicas),
                ("updatedReplicas", updated),
                ("readyReplicas", sum("readyReplicas")),
                ("availableReplicas", availables),
                (
                    "unavailableReplicas",
                    wanted.max(replicas).saturating_sub(availables),
                ),
            ],
        );
        let (reason, message) = if enough {
            (
                "MinimumReplicasAvailable",
                "Deployment has minimum availability.",
            )
        } else {
            (
                "MinimumReplicasUnavailable",
                "Deployment does not have minimum availability.",
            )
        };
        json::set_condition(deployment, "Available", enough, reason, message, &now);
        match progress {
            Progress::Kept => {}
            Progress::Done => json::set_condition(
                deployment,
                "Progressing",
                true,
                "NewReplicaSetAvailable",
                "ReplicaSet has successfully progressed.",
                &now,
            ),
            Progress::Under => json::set_condition(
                deployment,
                "Progressing",
                true,
                "ReplicaSetUpdated",
                "ReplicaSet is progressing.",
                &now,
            ),
            Progress::Paused => json::set_condition(
                deployment,
                "Progressing",
                true,
                "DeploymentPaused",
                "Deployment is paused",
                &now,
            ),
            Progress::Late => json::set_condition(
                deployment,
                "Progressing",
                false,
                "ProgressDeadlineExceeded",
                "ReplicaSet has timed out progressing.",
                &now,
            ),
        }
        match failure {
            Some(message) => json::set_condition(
                deployment,
                "ReplicaFailure",
                true,
                "FailedCreate",
                &message,
                &now,
            ),
            None => drop_condition(deployment, "ReplicaFailure"),
        }
    });
}

/// What the condition `Progressing` should say.
enum Progress {
    /// What it said before: a finished rollout does not begin again by a change of size.
    Kept,
    Done,
    Under,
    Paused,
    Late,
}

fn progress(
    store: &mut Store,
    deployment: &Value,
    complete: bool,
    counts: (usize, usize, usize),
    due: &mut Due,
) -> Progress {
    let id = format!("{}/progress", uid(deployment));
    let said = json::list(deployment, "/status/conditions")
        .iter()
        .find(|condition| json::text(condition, "/type") == "Progressing")
        .map_or("", |condition| json::text(condition, "/reason"));
    if deployment["spec"]["paused"] == true {
        store.stages.remove(&id);
        return Progress::Paused;
    }
    if complete {
        store.stages.remove(&id);
        return Progress::Done;
    }
    let (replicas, updated, availables) = counts;
    if said == "NewReplicaSetAvailable" && replicas == updated {
        return Progress::Kept;
    }
    let before = |field: &str| {
        usize::try_from(json::number(deployment, &format!("/status/{field}"))).unwrap_or_default()
    };
    if updated > before("updatedReplicas") || availables > before("availableReplicas") {
        store.stages.remove(&id);
    }
    let deadline = json::number(deployment, "/spec/progressDeadlineSeconds");
    let deadline = Duration::from_secs(u64::try_from(deadline).unwrap_or_default());
    if waited(store, &id, "progress", deadline, due) {
        Progress::Late
    } else {
        Progress::Under
    }
}
