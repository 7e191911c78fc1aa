//! Values: the table that templates read, put together from files and flags.
//!
//! * [`set`] is the grammar of `--set` and its family;
//! * [`read`] reads a values file, [`merge_files`] lays one over another.
//!
//! Numbers of files are doubles and those of `--set` integers, which templates can tell apart.

mod coalesce;
mod merge;
pub mod set;

pub(crate) use coalesce::{Nulls, coalesce, copy_table, merge_tables};
pub use merge::merge_files;

use serde_json::{Map, Value};

use crate::yaml;

/// Reads a values file: a table, or nothing at all, which is an empty one.
///
/// # Errors
///
/// What is no YAML or no table, in Helm's words.
pub fn read(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let value = yaml::decode_bytes(bytes)
        .map_err(|error| format!("error converting YAML to JSON: {error}"))?;
    table(value, "map[string]interface {}")
}

/// A value as the table it has to be; `kind` is what Go calls it.
pub(crate) fn table(value: Value, kind: &str) -> Result<Map<String, Value>, String> {
    let found = match value {
        Value::Object(map) => return Ok(map),
        Value::Null => return Ok(Map::new()),
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
    };
    Err(format!(
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type {kind}"
    ))
}
