//! What controllers, kubelets and the disk provisioner would do.
//!
//! Everything is derived from the objects as they are now, in a fixed order, so the same
//! requests give the same outcome. Only the pace needs a memory: the time since when an
//! object has been in its present stage.
//!
//! The `sim.kzero/*` annotations mean what they mean in `tests/cluster/sim.yaml`: `start`,
//! `ready`, `stop`, `run`, `exit`, `fail` (`crash`, `image`, `config`, `init`),
//! `crash-after`, `backoff` and `log` on pods, `provision` on claims. Not simulated:
//! CronJobs do not fire, autoscalers do not act, Services have no endpoints.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::handle::create_quietly;
use super::status::Outcome;
use super::store::{Key, Store};
use crate::json;

mod claims;
mod cleanup;
mod jobs;
mod pods;
mod replicas;
mod rollout;
mod stateful;

/// Rounds after which objects that never come to rest are a fault of the simulation.
const ROUNDS: usize = 2_000;

/// When the simulation has to look again.
#[derive(Debug, Default)]
pub(crate) struct Due(pub(crate) Option<Instant>);

impl Due {
    fn note(&mut self, at: Instant) {
        self.0 = Some(self.0.map_or(at, |known| known.min(at)));
    }
}

/// Lets everything act until nothing changes; says when there is more to do.
///
/// # Panics
///
/// When the objects never come to rest, which is a fault of the simulation.
pub(crate) fn settle(store: &mut Store) -> Option<Instant> {
    for _ in 0..ROUNDS {
        let before = store.revision();
        let mut due = Due::default();
        cleanup::run(store);
        rollout::run(store, &mut due);
        replicas::run(store, &mut due);
        stateful::run(store, &mut due);
        jobs::run(store, &mut due);
        claims::run(store, &mut due);
        pods::run(store, &mut due);
        if store.revision() == before {
            return due.0;
        }
    }
    panic!("the simulated controllers do not come to rest");
}

/// Whether `delay` has passed since the object `id` entered `stage`.
fn waited(
    store: &mut Store,
    id: &str,
    stage: &'static str,
    delay: Duration,
    due: &mut Due,
) -> bool {
    let now = Instant::now();
    let entry = store
        .stages
        .entry(id.to_owned())
        .and_modify(|entry| {
            if entry.0 != stage {
                *entry = (stage, now);
            }
        })
        .or_insert((stage, now));
    let end = entry.1 + delay;
    if end > now {
        due.note(end);
    }
    end <= now
}

/// A number of seconds, maybe with a fraction, from an annotation.
fn seconds(object: &Value, name: &str, default: f64) -> Duration {
    let found = json::annotation(object, name).and_then(|text| text.parse().ok());
    Duration::try_from_secs_f64(found.unwrap_or(default)).unwrap_or_default()
}

fn uid(object: &Value) -> &str {
    json::text(object, "/metadata/uid")
}

fn name(object: &Value) -> &str {
    json::text(object, "/metadata/name")
}

fn going(object: &Value) -> bool {
    json::has(object, "/metadata/deletionTimestamp")
}

/// Whether the object of that uid is its controller.
fn owned_by(object: &Value, owner: &str) -> bool {
    json::list(object, "/metadata/ownerReferences")
        .iter()
        .any(|reference| reference["controller"] == true && json::text(reference, "/uid") == owner)
}

/// The objects of a kind that `owner` controls.
fn children(store: &Store, group: &str, plural: &str, owner: &Value) -> Vec<(Key, Value)> {
    let Some(kind) = store.kind(group, plural) else {
        return Vec::new();
    };
    store
        .of_kind(kind, json::text(owner, "/metadata/namespace"))
        .filter(|(_, object)| owned_by(object, uid(owner)))
        .map(|(key, object)| (key.clone(), Value::clone(object)))
        .collect()
}

/// The reference by which `owner` owns something.
fn owner_reference(api_version: &str, kind: &str, owner: &Value) -> Value {
    json!([{
        "apiVersion": api_version,
        "kind": kind,
        "name": name(owner),
        "uid": uid(owner),
        "controller": true,
        "blockOwnerDeletion": true,
    }])
}

/// Makes a pod from the template of `owner`.
fn create_pod(
    store: &mut Store,
    owner: &Value,
    api_version: &str,
    kind: &str,
    pod_name: &str,
    labels: &[(&str, &str)],
) -> Outcome<()> {
    let mut meta = owner["spec"]["template"]["metadata"].clone();
    if !meta.is_object() {
        meta = json!({});
    }
    meta["name"] = pod_name.into();
    meta["ownerReferences"] = owner_reference(api_version, kind, owner);
    for (label, value) in labels {
        if !meta["labels"].is_object() {
            meta["labels"] = json!({});
        }
        meta["labels"][*label] = (*value).into();
    }
    let pod = json!({"metadata": meta, "spec": owner["spec"]["template"]["spec"]});
    let Some(pods) = store.kind("", "pods") else {
        return Ok(());
    };
    let namespace = json::text(owner, "/metadata/namespace");
    create_quietly(store, pods, namespace, pod).map(|_| ())
}

/// A short text that is the same for the same template.
fn template_hash(template: &Value) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in template.to_string().bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")[6..].to_owned()
}

/// Records an event about an object, once per reason and message.
fn event(store: &mut Store, about: (&str, &Value), word: &str, reason: &str, message: &str) {
    let (kind, object) = about;
    let Some(events) = store.kind("", "events") else {
        return;
    };
    let namespace = json::text(object, "/metadata/namespace").to_owned();
    let same = store.of_kind(events, &namespace).find(|(_, known)| {
        json::text(known, "/involvedObject/uid") == uid(object)
            && json::text(known, "/reason") == reason
            && json::text(known, "/message") == message
    });
    let now = store.now();
    if let Some((key, _)) = same {
        let key = key.clone();
        store.edit(&key, |known| {
            let count = json::number(known, "/count") + 1;
            json::set(known, "/count", count);
            json::set(known, "/lastTimestamp", now);
        });
        return;
    }
    let serial = store.next_serial();
    let new = json!({
        "metadata": {"name": format!("{}.{serial:x}", name(object)), "namespace": namespace},
        "involvedObject": {
            "kind": kind,
            "namespace": namespace,
            "name": name(object),
            "uid": uid(object),
        },
        "type": word,
        "reason": reason,
        "message": message,
        "count": 1,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "source": {"component": "sim"},
        "reportingComponent": "sim",
        "reportingInstance": "",
    });
    // In a namespace that is going nothing new is kept, events neither.
    let _ = create_quietly(store, events, &namespace, new);
}

/// Whether a pod still counts: neither ended nor going.
fn active(pod: &Value) -> bool {
    !going(pod) && !matches!(json::text(pod, "/status/phase"), "Succeeded" | "Failed")
}

fn ready(pod: &Value) -> bool {
    json::condition(pod, "Ready") == "True"
}

/// Whether a pod has been ready for so long that it counts as available.
fn available(store: &mut Store, pod: &Value, min_ready: i64, due: &mut Due) -> bool {
    let id = format!("{}/available", uid(pod));
    if !ready(pod) {
        store.stages.remove(&id);
        return false;
    }
    let delay = Duration::from_secs(u64::try_from(min_ready).unwrap_or_default());
    waited(store, &id, "ready", delay, due)
}
