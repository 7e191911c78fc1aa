//! Namespaces that are going, and objects whose owner is gone.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{going, uid};
use crate::api::handle::delete_quietly;
use crate::api::store::{Key, Store};
use crate::json;

pub(super) fn run(store: &mut Store) {
    namespaces(store);
    orphans(store);
    foreground(store);
}

/// Empties a namespace that is going, then takes it away.
fn namespaces(store: &mut Store) {
    let Some(kind) = store.kind("", "namespaces") else {
        return;
    };
    for (key, namespace) in store.copies(kind, "") {
        if !going(&namespace) {
            continue;
        }
        let content: Vec<Key> = store
            .all()
            .filter(|(inside, _)| inside.1 == key.2)
            .map(|(inside, _)| inside.clone())
            .collect();
        if content.is_empty() {
            if json::list(&namespace, "/metadata/finalizers").is_empty() {
                store.take(&key);
            }
            continue;
        }
        for inside in content {
            delete_quietly(store, &inside);
        }
    }
}

/// Deletes what is owned only by objects that no longer exist.
fn orphans(store: &mut Store) {
    let living: BTreeSet<String> = store
        .all()
        .map(|(_, object)| uid(object).to_owned())
        .collect();
    let lost: Vec<Key> = store
        .all()
        .filter(|(_, object)| {
            let owners = json::list(object, "/metadata/ownerReferences");
            !owners.is_empty()
                && owners
                    .iter()
                    .all(|owner| !living.contains(json::text(owner, "/uid")))
        })
        .map(|(key, _)| key.clone())
        .collect();
    for key in lost {
        delete_quietly(store, &key);
    }
}

/// Deletes what an object owns that is deleted in the foreground, then lets the object go.
fn foreground(store: &mut Store) {
    let waiting: Vec<(Key, String)> = store
        .all()
        .filter(|(_, object)| going(object) && held(object))
        .map(|(key, object)| (key.clone(), uid(object).to_owned()))
        .collect();
    for (key, owner) in waiting {
        let owned: Vec<Key> = store
            .all()
            .filter(|(_, object)| {
                json::list(object, "/metadata/ownerReferences")
                    .iter()
                    .any(|reference| json::text(reference, "/uid") == owner)
            })
            .map(|(owned, _)| owned.clone())
            .collect();
        if !owned.is_empty() {
            for owned in owned {
                delete_quietly(store, &owned);
            }
            continue;
        }
        store.edit(&key, |object| {
            let mut finalizers = json::list(object, "/metadata/finalizers").to_vec();
            finalizers.retain(|one| one != "foregroundDeletion");
            json::set(object, "/metadata/finalizers", finalizers);
        });
        let free = |object: &Value| json::list(object, "/metadata/finalizers").is_empty();
        if store.get(&key).is_some_and(|object| free(object)) {
            store.take(&key);
        }
    }
}

fn held(object: &Value) -> bool {
    json::list(object, "/metadata/finalizers")
        .iter()
        .any(|one| one == "foregroundDeletion")
}
