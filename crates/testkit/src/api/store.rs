//! The objects, their versions, and who watches them.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use super::kinds::{self, Kind};
use super::request::{LoggedRequest, Selector};
use super::status::{Outcome, Refusal};
use crate::json;

/// Kind (index in the table), namespace, name.
pub(crate) type Key = (usize, String, String);

/// Changes kept for watches that start in the past.
const HISTORY: usize = 20_000;

/// One change of one object.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    revision: u64,
    kind: usize,
    namespace: String,
    old: Option<Arc<Value>>,
    new: Option<Arc<Value>>,
}

/// Somebody who is told of changes.
#[derive(Debug)]
pub(crate) struct Watcher {
    pub(crate) kind: usize,
    /// Empty: all namespaces.
    pub(crate) namespace: String,
    pub(crate) selector: Selector,
    pub(crate) lines: UnboundedSender<Bytes>,
}

impl Watcher {
    /// Tells of a change; false when nobody listens any more.
    fn tell(&self, change: &Change, kind: &Kind) -> bool {
        if change.kind != self.kind
            || !(self.namespace.is_empty() || self.namespace == change.namespace)
        {
            return !self.lines.is_closed();
        }
        let before = change.old.as_ref().filter(|old| self.selector.matches(old));
        let after = change.new.as_ref().filter(|new| self.selector.matches(new));
        let (word, object) = match (before, after) {
            (None, None) => return !self.lines.is_closed(),
            (None, Some(new)) => ("ADDED", Value::clone(new)),
            (Some(_), Some(new)) => ("MODIFIED", Value::clone(new)),
            (Some(old), None) => {
                let mut last = Value::clone(old);
                json::set(
                    &mut last,
                    "/metadata/resourceVersion",
                    change.revision.to_string(),
                );
                ("DELETED", last)
            }
        };
        self.send(word, &typed(kind, object))
    }

    /// Sends one line of the stream; false when nobody listens any more.
    pub(crate) fn send(&self, word: &str, object: &Value) -> bool {
        let mut line = json!({"type": word, "object": object}).to_string();
        line.push('\n');
        self.lines.send(Bytes::from(line)).is_ok()
    }
}

/// The object with its kind and API version written in.
pub(crate) fn typed(kind: &Kind, mut object: Value) -> Value {
    json::set(&mut object, "/kind", kind.kind.clone());
    json::set(&mut object, "/apiVersion", kind.api_version());
    object
}

/// A rule by which requests are forbidden.
#[derive(Debug, Clone)]
pub(crate) struct Denial {
    /// `*` or a verb, e.g. `patch`.
    pub(crate) verb: String,
    /// A plural, with `/sub` for a subresource; `*` for all.
    pub(crate) resource: String,
}

/// Everything the server knows.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) kinds: Vec<Kind>,
    objects: BTreeMap<Key, Arc<Value>>,
    revision: u64,
    /// Changes up to this one are forgotten.
    compacted: u64,
    history: Vec<Change>,
    pub(crate) watchers: Vec<Watcher>,
    serial: u64,
    /// Wall clock at the start; it moves with tokio's clock, which tests may pause.
    started: (jiff::Timestamp, Instant),
    pub(crate) requests: Vec<LoggedRequest>,
    pub(crate) denials: Vec<Denial>,
    pub(crate) token: Option<String>,
    /// When each object entered the stage it is in, for the simulation.
    pub(crate) stages: HashMap<String, (&'static str, Instant)>,
    pub(crate) lag: Duration,
    pub(crate) frozen: bool,
    /// Bumped with every change; for those who wait.
    pub(crate) changed: tokio::sync::watch::Sender<u64>,
}

impl Store {
    pub(crate) fn new() -> Store {
        let mut store = Store {
            kinds: kinds::builtin(),
            objects: BTreeMap::new(),
            revision: 1000,
            compacted: 1000,
            history: Vec::new(),
            watchers: Vec::new(),
            serial: 0,
            started: (now(), Instant::now()),
            requests: Vec::new(),
            denials: Vec::new(),
            token: None,
            stages: HashMap::new(),
            lag: Duration::ZERO,
            frozen: false,
            changed: tokio::sync::watch::Sender::new(0),
        };
        store.furnish();
        store
    }

    /// What a new cluster has: namespaces, nodes, storage classes.
    fn furnish(&mut self) {
        for name in ["default", "kube-system"] {
            self.add(
                "",
                "namespaces",
                json!({
                    "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
                    "spec": {"finalizers": ["kubernetes"]},
                    "status": {"phase": "Active"},
                }),
            );
        }
        for name in ["sim-0", "sim-1"] {
            self.add(
                "",
                "nodes",
                json!({
                    "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                    "spec": {},
                    "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]},
                }),
            );
        }
        for (name, binding, reclaim) in [
            ("standard", "Immediate", "Delete"),
            ("wait", "WaitForFirstConsumer", "Delete"),
            ("retain", "Immediate", "Retain"),
        ] {
            let annotations = if name == "standard" {
                json!({"storageclass.kubernetes.io/is-default-class": "true"})
            } else {
                json!({})
            };
            self.add(
                "storage.k8s.io",
                "storageclasses",
                json!({
                    "metadata": {"name": name, "annotations": annotations},
                    "provisioner": "sim.kzero/disk",
                    "reclaimPolicy": reclaim,
                    "volumeBindingMode": binding,
                }),
            );
        }
    }

    fn add(&mut self, group: &str, plural: &str, object: Value) {
        if let Some(kind) = self.kind(group, plural) {
            let name = json::text(&object, "/metadata/name").to_owned();
            let object = self.born(kind, object);
            self.put(&(kind, String::new(), name), object);
        }
    }

    /// The index of a kind in the table.
    pub(crate) fn kind(&self, group: &str, plural: &str) -> Option<usize> {
        self.kinds.iter().position(|kind| kind.is(group, plural))
    }

    /// The version of the last change.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// A number that was not given before.
    pub(crate) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// The number that comes next, for names of objects that may yet be refused.
    pub(crate) fn upcoming_serial(&self) -> u64 {
        self.serial + 1
    }

    /// The present time as the API writes it, in whole seconds.
    pub(crate) fn now(&self) -> String {
        let (wall, since) = self.started;
        let seconds = i64::try_from(since.elapsed().as_secs()).unwrap_or(i64::MAX);
        let at = wall.as_second().saturating_add(seconds);
        jiff::Timestamp::from_second(at).unwrap_or(wall).to_string()
    }

    /// Gives a new object what the server gives: uid, time of creation, generation.
    pub(crate) fn born(&mut self, kind: usize, mut object: Value) -> Value {
        let serial = self.next_serial();
        let uid = format!("{serial:08x}-0000-4000-8000-{serial:012x}");
        json::set(&mut object, "/metadata/uid", uid);
        let now = self.now();
        json::set(&mut object, "/metadata/creationTimestamp", now);
        if self.kinds[kind].generation {
            json::set(&mut object, "/metadata/generation", 1);
        } else {
            json::remove(&mut object, "/metadata/generation");
        }
        object
    }

    /// The object under that key.
    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<Value>> {
        self.objects.get(key)
    }

    /// All objects of a kind, in one namespace or (empty) in all, by name.
    pub(crate) fn of_kind(
        &self,
        kind: usize,
        namespace: &str,
    ) -> impl Iterator<Item = (&Key, &Arc<Value>)> {
        let from = (kind, namespace.to_owned(), String::new());
        let all = namespace.is_empty();
        let namespace = namespace.to_owned();
        self.objects
            .range(from..)
            .take_while(move |((k, ns, _), _)| *k == kind && (all || *ns == namespace))
    }

    /// The same, copied, so that the store can be changed meanwhile.
    pub(crate) fn copies(&self, kind: usize, namespace: &str) -> Vec<(Key, Arc<Value>)> {
        self.of_kind(kind, namespace)
            .map(|(key, object)| (key.clone(), Arc::clone(object)))
            .collect()
    }

    /// Every object.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&Key, &Arc<Value>)> {
        self.objects.iter()
    }

    /// Writes an object and tells the watchers; gives it back with its new version.
    pub(crate) fn put(&mut self, key: &Key, mut object: Value) -> Arc<Value> {
        self.revision += 1;
        json::set(
            &mut object,
            "/metadata/resourceVersion",
            self.revision.to_string(),
        );
        let object = Arc::new(object);
        let old = self.objects.insert(key.clone(), Arc::clone(&object));
        self.record(key, old, Some(Arc::clone(&object)));
        object
    }

    /// Takes an object away and tells the watchers.
    pub(crate) fn take(&mut self, key: &Key) -> Option<Arc<Value>> {
        let old = self.objects.remove(key)?;
        self.revision += 1;
        self.record(key, Some(Arc::clone(&old)), None);
        Some(old)
    }

    fn record(&mut self, key: &Key, old: Option<Arc<Value>>, new: Option<Arc<Value>>) {
        let change = Change {
            revision: self.revision,
            kind: key.0,
            namespace: key.1.clone(),
            old,
            new,
        };
        let kind = &self.kinds[change.kind];
        self.watchers.retain(|watcher| watcher.tell(&change, kind));
        self.history.push(change);
        if self.history.len() > HISTORY {
            self.compacted = self.history[HISTORY / 2 - 1].revision;
            self.history.drain(..HISTORY / 2);
        }
        self.changed.send_modify(|count| *count += 1);
    }

    /// Changes an object as a controller does; an equal result is no change at all.
    pub(crate) fn edit(&mut self, key: &Key, change: impl FnOnce(&mut Value)) {
        let Some(old) = self.objects.get(key) else {
            return;
        };
        let mut new = Value::clone(old);
        change(&mut new);
        if new != **old {
            let old = Arc::clone(old);
            self.count_generation(key.0, &old, &mut new);
            self.put(key, new);
        }
    }

    /// Counts a change of the desired state.
    pub(crate) fn count_generation(&self, kind: usize, old: &Value, new: &mut Value) {
        if !self.kinds[kind].generation {
            return;
        }
        let mut generation = json::number(old, "/metadata/generation");
        if desired(old) != desired(new) {
            generation += 1;
        }
        json::set(new, "/metadata/generation", generation);
    }

    /// Whether a version is still known to those who list or watch from it.
    pub(crate) fn check_version(&self, version: u64) -> Outcome<()> {
        if version < self.compacted {
            Err(Refusal::gone())
        } else {
            Ok(())
        }
    }

    /// Adds a watcher and tells it what changed after `since`.
    pub(crate) fn watch(&mut self, watcher: Watcher, since: u64) {
        let kind = &self.kinds[watcher.kind];
        for change in &self.history {
            if change.revision > since {
                watcher.tell(change, kind);
            }
        }
        self.watchers.push(watcher);
    }

    /// Forgets all past versions: lists and watches that build on them get 410.
    pub(crate) fn compact(&mut self) {
        // The next version is the first that is known, so that even a watch from the last one ends.
        self.revision += 1;
        self.compacted = self.revision;
        self.history.clear();
        let gone = Refusal::gone().to_value();
        for watcher in self.watchers.drain(..) {
            watcher.send("ERROR", &gone);
        }
    }

    /// Whether the rules let a request through.
    pub(crate) fn allowed(&self, verb: &str, resource: &str) -> bool {
        !self.denials.iter().any(|denial| {
            (denial.verb == "*" || denial.verb == verb)
                && (denial.resource == "*" || denial.resource == resource)
        })
    }
}

/// The part of an object whose changes the generation counts.
fn desired(object: &Value) -> Value {
    let mut rest = object.clone();
    if let Some(fields) = rest.as_object_mut() {
        for name in ["metadata", "status", "kind", "apiVersion"] {
            fields.remove(name);
        }
    }
    rest
}

fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
