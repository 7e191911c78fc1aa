//! Disks: provisioning, binding, release, and the protection of claims in use.

use serde_json::{Value, json};

use super::{Due, going, name, seconds, uid, waited};
use crate::api::store::Store;
use crate::json;

/// The names of the claims that a pod mounts.
pub(super) fn of_pod(pod: &Value) -> impl Iterator<Item = &str> {
    json::list(pod, "/spec/volumes")
        .iter()
        .map(|volume| json::text(volume, "/persistentVolumeClaim/claimName"))
        .filter(|claim| !claim.is_empty())
}

pub(super) fn run(store: &mut Store, due: &mut Due) {
    let (Some(claims), Some(volumes), Some(pods), Some(classes)) = (
        store.kind("", "persistentvolumeclaims"),
        store.kind("", "persistentvolumes"),
        store.kind("", "pods"),
        store.kind("storage.k8s.io", "storageclasses"),
    ) else {
        return;
    };
    for (key, claim) in store.copies(claims, "") {
        let users: Vec<Value> = store
            .of_kind(pods, &key.1)
            .filter(|(_, pod)| of_pod(pod).any(|used| used == key.2))
            .map(|(_, pod)| Value::clone(pod))
            .collect();
        if going(&claim) {
            let in_use = users
                .iter()
                .any(|pod| !matches!(json::text(pod, "/status/phase"), "Succeeded" | "Failed"));
            if !in_use {
                unprotect(store, &key);
            }
            continue;
        }
        if json::text(&claim, "/status/phase") != "Pending"
            || json::annotation(&claim, "sim.kzero/provision") == Some("never")
        {
            continue;
        }
        let class = json::text(&claim, "/spec/storageClassName").to_owned();
        let Some(class) = store.get(&(classes, String::new(), class)).cloned() else {
            continue;
        };
        if json::text(&class, "/volumeBindingMode") == "WaitForFirstConsumer" && users.is_empty() {
            continue;
        }
        let delay = seconds(&claim, "sim.kzero/provision", 0.1);
        if waited(store, uid(&claim), "provision", delay, due) {
            bind(store, &key, &claim, &class, volumes);
        }
    }
    release(store, claims, volumes);
}

fn unprotect(store: &mut Store, key: &crate::api::store::Key) {
    store.edit(key, |claim| {
        let mut finalizers = json::list(claim, "/metadata/finalizers").to_vec();
        finalizers.retain(|one| one != "kubernetes.io/pvc-protection");
        json::set(claim, "/metadata/finalizers", finalizers);
    });
    if store
        .get(key)
        .is_some_and(|claim| json::list(claim, "/metadata/finalizers").is_empty())
    {
        store.take(key);
    }
}

fn bind(
    store: &mut Store,
    key: &crate::api::store::Key,
    claim: &Value,
    class: &Value,
    volumes: usize,
) {
    let volume_name = format!("pvc-{}", uid(claim));
    let volume = json!({
        "metadata": {"name": volume_name},
        "spec": {
            "accessModes": claim["spec"]["accessModes"],
            "capacity": claim["spec"]["resources"]["requests"],
            "storageClassName": name(class),
            "persistentVolumeReclaimPolicy": class["reclaimPolicy"],
            "claimRef": {
                "kind": "PersistentVolumeClaim",
                "namespace": key.1,
                "name": key.2,
                "uid": uid(claim),
            },
        },
        "status": {"phase": "Bound"},
    });
    let volume = store.born(volumes, volume);
    store.put(&(volumes, String::new(), volume_name.clone()), volume);
    store.edit(key, |claim| {
        json::set(claim, "/spec/volumeName", volume_name);
        json::set(claim, "/status/phase", "Bound");
        let modes = claim["spec"]["accessModes"].clone();
        json::set(claim, "/status/accessModes", modes);
        let size = claim["spec"]["resources"]["requests"].clone();
        json::set(claim, "/status/capacity", size);
    });
}

/// Volumes whose claim is gone go too, or are kept as released.
fn release(store: &mut Store, claims: usize, volumes: usize) {
    for (key, volume) in store.copies(volumes, "") {
        let claim = (
            claims,
            json::text(&volume, "/spec/claimRef/namespace").to_owned(),
            json::text(&volume, "/spec/claimRef/name").to_owned(),
        );
        let wanted = json::text(&volume, "/spec/claimRef/uid");
        if wanted.is_empty() || store.get(&claim).is_some_and(|claim| uid(claim) == wanted) {
            continue;
        }
        if json::text(&volume, "/spec/persistentVolumeReclaimPolicy") == "Delete" {
            store.take(&key);
        } else {
            store.edit(&key, |volume| {
                json::set(volume, "/status/phase", "Released");
            });
        }
    }
}
