//! The patches that Helm 3.22 sends to custom resources.

use serde_json::{Map, Value};

use super::difference::json_merge;
use super::helm::MergeError;

/// The difference between two manifests; what the object has come to hold meanwhile is not looked at.
pub(super) fn two_way(
    original: &Map<String, Value>,
    next: &Map<String, Value>,
) -> Map<String, Value> {
    json_merge(original, next)
}

/// What the object lacks of the manifest, and what the manifest no longer holds.
pub(super) fn three_way(
    original: &Map<String, Value>,
    next: &Map<String, Value>,
    live: &Map<String, Value>,
) -> Result<Map<String, Value>, MergeError> {
    let mut patch = only(json_merge(original, next), Part::Deletions);
    put(&mut patch, only(json_merge(live, next), Part::Additions));
    let metadata = patch.get("metadata").and_then(Value::as_object);
    let is_other = patch.contains_key("apiVersion")
        || patch.contains_key("kind")
        || metadata.is_some_and(|metadata| metadata.contains_key("name"));
    if is_other {
        return Err(MergeError::OtherObject);
    }
    Ok(patch)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Additions,
    Deletions,
}

fn only(patch: Map<String, Value>, part: Part) -> Map<String, Value> {
    let kept = patch.into_iter().filter_map(|(name, value)| {
        let kept = match value {
            Value::Null => (part == Part::Deletions).then_some(Value::Null),
            // An empty map is a value; one that becomes empty has nothing of this part.
            Value::Object(fields) if !fields.is_empty() => {
                let fields = only(fields, part);
                (!fields.is_empty()).then_some(Value::Object(fields))
            }
            value => (part == Part::Additions).then_some(value),
        };
        Some((name, kept?))
    });
    kept.collect()
}

fn put(patch: &mut Map<String, Value>, additions: Map<String, Value>) {
    for (name, value) in additions {
        match (patch.get_mut(&name), value) {
            (Some(Value::Object(patch)), Value::Object(additions)) => put(patch, additions),
            (_, value) => {
                patch.insert(name, without_null_elements(value));
            }
        }
    }
}

/// Lists lose their nulls on the way.
fn without_null_elements(value: Value) -> Value {
    match value {
        Value::Array(elements) => {
            let kept = elements.into_iter().filter(|element| !element.is_null());
            kept.map(without_null_elements).collect()
        }
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
            kept.map(|(name, value)| (name, without_null_elements(value)))
                .collect()
        }
        other => other,
    }
}
