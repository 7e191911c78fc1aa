//! What of an object takes part in a merge.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::schema::{Node, Schema};
use super::value;

/// Fields of `metadata` that name the object or belong to the server; a manifest does not set them.
const FOREIGN_METADATA: [&str; 10] = [
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
];

/// The part of a manifest that a merge goes by: without the object's identity, without `status` and what else the
/// server owns, and in the form in which the server keeps it.
pub(super) fn significant(manifest: &Value, schema: Schema) -> Value {
    let Value::Object(fields) = manifest else {
        return Value::Object(Map::new());
    };
    let mut kept = fields.clone();
    for name in ["apiVersion", "kind", "status"] {
        kept.remove(name);
    }
    if let Some(Value::Object(metadata)) = kept.get_mut("metadata") {
        metadata.retain(|name, _| !FOREIGN_METADATA.contains(&name.as_str()) && name != "selfLink");
    } else {
        // An object always has metadata; that a manifest has none to say must not read as a wish to drop it.
        kept.insert("metadata".to_owned(), Value::Object(Map::new()));
    }
    fold_string_data(&mut kept, schema.root());
    Value::Object(kept)
}

/// Moves `stringData` of a Secret into `data`, as the server does when it writes one: of a field that is never read back
/// nobody could say whether it has changed.
fn fold_string_data(fields: &mut Map<String, Value>, root: Node) {
    if root.structure_name() != "core.v1.Secret" {
        return;
    }
    let Some(Value::Object(texts)) = fields.remove("stringData") else {
        return;
    };
    let data = fields.entry("data").or_insert(Value::Null);
    if !data.is_object() {
        *data = Value::Object(Map::new());
    }
    if let Value::Object(data) = data {
        for (name, text) in texts.iter().filter(|(_, text)| !text.is_null()) {
            let encoded = STANDARD.encode(value::text(text));
            data.insert(name.clone(), Value::String(encoded));
        }
    }
}
