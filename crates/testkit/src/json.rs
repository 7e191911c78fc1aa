//! Short ways to read and change parts of a JSON value.
//!
//! Paths are JSON pointers without escapes. Reading what is not there gives nothing, an
//! empty text or zero, as an absent field means in the Kubernetes API.

use serde_json::{Map, Value, json};

/// The text at `path`, or an empty one.
pub(crate) fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value
        .pointer(path)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The whole number at `path`, or zero.
pub(crate) fn number(value: &Value, path: &str) -> i64 {
    value
        .pointer(path)
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// The list at `path`, or an empty one.
pub(crate) fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    value
        .pointer(path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The mapping at `path`, if there is one.
pub(crate) fn map<'a>(value: &'a Value, path: &str) -> Option<&'a Map<String, Value>> {
    value.pointer(path).and_then(Value::as_object)
}

/// Whether something other than null is at `path`.
pub(crate) fn has(value: &Value, path: &str) -> bool {
    value.pointer(path).is_some_and(|found| !found.is_null())
}

/// Puts `new` at `path` and makes the mappings on the way.
pub(crate) fn set(value: &mut Value, path: &str, new: impl Into<Value>) {
    let mut at = value;
    for part in path.split('/').skip(1) {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[part];
    }
    *at = new.into();
}

/// Puts `new` at `path` unless something is there.
pub(crate) fn default(value: &mut Value, path: &str, new: impl Into<Value>) {
    if !has(value, path) {
        set(value, path, new);
    }
}

/// Takes the field at `path` away.
pub(crate) fn remove(value: &mut Value, path: &str) -> Option<Value> {
    let (parent, field) = path.rsplit_once('/')?;
    value.pointer_mut(parent)?.as_object_mut()?.remove(field)
}

/// The annotation of that name, if the object has it.
pub(crate) fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    map(object, "/metadata/annotations")?.get(name)?.as_str()
}

/// The status of the condition of that type, or an empty text.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> &'a str {
    list(object, "/status/conditions")
        .iter()
        .find(|condition| text(condition, "/type") == kind)
        .map_or("", |condition| text(condition, "/status"))
}

/// Sets a condition and keeps its transition time when the status stays the same.
pub(crate) fn set_condition(
    object: &mut Value,
    kind: &str,
    status: bool,
    reason: &str,
    message: &str,
    now: &str,
) {
    let status = if status { "True" } else { "False" };
    if !object
        .pointer("/status/conditions")
        .is_some_and(Value::is_array)
    {
        set(object, "/status/conditions", json!([]));
    }
    let Some(conditions) = object
        .pointer_mut("/status/conditions")
        .and_then(Value::as_array_mut)
    else {
        return;
    };
    let mut new = json!({"type": kind, "status": status, "lastTransitionTime": now});
    if !reason.is_empty() {
        new["reason"] = reason.into();
    }
    if !message.is_empty() {
        new["message"] = message.into();
    }
    if kind == "Progressing" {
        new["lastUpdateTime"] = now.into();
    }
    let old = conditions
        .iter_mut()
        .find(|condition| text(condition, "/type") == kind);
    match old {
        Some(old) => {
            if text(old, "/status") == status {
                new["lastTransitionTime"] = old["lastTransitionTime"].clone();
                if text(old, "/reason") == reason
                    && let Some(at) = old.get("lastUpdateTime")
                {
                    new["lastUpdateTime"] = at.clone();
                }
            }
            *old = new;
        }
        None => conditions.push(new),
    }
}
