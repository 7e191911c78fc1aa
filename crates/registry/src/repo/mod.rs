//! Chart repositories: a web server with an `index.yaml`.

pub(crate) mod address;
pub(crate) mod entries;
pub(crate) mod index;

use serde_json::Value;

/// A value as the text that a field of texts takes from it.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => kzero_chart::yaml::json_number(number),
        Value::Bool(on) => on.to_string(),
        _ => String::new(),
    }
}
