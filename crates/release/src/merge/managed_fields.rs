//! The move of an object from client-side to server-side apply.
//!
//! What a manager wrote by updates it does not own as far as server-side apply goes: fields that the manifest drops would
//! stay. Helm 4 therefore makes its entry for updates into one for applies first, and so does [`migration`].

use serde_json::{Map, Value, json};

/// The JSON patch (RFC 6902, content type `application/json-patch+json`) that makes what `manager` has written by
/// updates its own by applies; none if there is nothing to move.
///
/// The patch carries the live object's resource version, so that a change in between makes the server answer 409
/// Conflict; the caller then reads the object again. Entries for subresources, like `scale`, stay as they are.
#[must_use]
pub fn migration(live: &Value, manager: &str) -> Option<Value> {
    let metadata = live.get("metadata")?;
    let entries = metadata.get("managedFields")?.as_array()?;
    let moved = moved(entries, manager)?;
    Some(json!([
        {"op": "replace", "path": "/metadata/managedFields", "value": moved},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": metadata.get("resourceVersion")?},
    ]))
}

fn moved(entries: &[Value], manager: &str) -> Option<Vec<Value>> {
    let is_update = |entry: &Value| is_of(entry, manager, "Update");
    let first_update = entries.iter().position(is_update)?;
    let applied = entries
        .iter()
        .position(|entry| is_of(entry, manager, "Apply"));
    let target = applied.unwrap_or(first_update);
    let mut entry = entries.get(target)?.as_object()?.clone();
    entry.insert("operation".to_owned(), "Apply".into());
    // Fields of another API version have other names: an entry for one is not united, only dropped.
    let united = entries
        .iter()
        .enumerate()
        .find(|(index, other)| {
            *index != target
                && is_update(other)
                && other.get("apiVersion") == entry.get("apiVersion")
        })
        .and_then(|(_, other)| other.get("fieldsV1")?.as_object());
    if let (Some(Value::Object(fields)), Some(more)) = (entry.get_mut("fieldsV1"), united) {
        unite(fields, more);
    }
    let mut moved = Vec::with_capacity(entries.len());
    for (index, other) in entries.iter().enumerate() {
        if index == target {
            moved.push(Value::Object(std::mem::take(&mut entry)));
        } else if !is_update(other) {
            moved.push(other.clone());
        }
    }
    Some(moved)
}

fn is_of(entry: &Value, manager: &str, operation: &str) -> bool {
    let is = |name: &str, wanted: &str| {
        entry.get(name).and_then(Value::as_str).unwrap_or_default() == wanted
    };
    is("manager", manager) && is("operation", operation) && is("subresource", "")
}

/// The mark of a field that is itself in a set which also holds fields inside of it.
const SELF: &str = ".";

/// Puts the fields of one set into another. A field without inner ones is in its set itself.
fn unite(fields: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (name, added) in more {
        let Some(place) = fields.get_mut(name) else {
            fields.insert(name.clone(), added.clone());
            continue;
        };
        if let (Value::Object(inner), Value::Object(added)) = (place, added) {
            let is_member = inner.is_empty() || added.is_empty();
            unite(inner, added);
            if is_member && !inner.is_empty() {
                inner.insert(SELF.to_owned(), json!({}));
            }
        }
    }
}
