//! The rules of values.yaml.

use serde_json::{Map, Value};

use super::Report;
use super::source::Source;
use crate::convert;
use crate::schema::{Fetch, validate_one};
use crate::values::table;
use crate::values::{Nulls, merge_tables};
use crate::yaml;

const FILE: &str = "values.yaml";

pub(super) fn check(
    source: &Source,
    values: &Map<String, Value>,
    fetch: &dyn Fetch,
    report: &mut Report,
) {
    let found = source.read(FILE);
    let exists = found
        .as_ref()
        .map(|_| ())
        .ok_or_else(|| "file does not exist".to_owned());
    report.info(FILE, exists);
    if let Some(bytes) = found {
        let result = bytes
            .and_then(|bytes| parse(&bytes))
            .map_err(|error| format!("unable to parse YAML: {error}"))
            .and_then(|own| fits(source, own, values, fetch, &mut report.notes));
        report.error(FILE, result);
    }
}

fn parse(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let value = yaml::decode_bytes(bytes)
        .map_err(|error| format!("error converting YAML to JSON: {error}"))?;
    table(value, "chartutil.Values")
}

/// Whether values over those of the file fit the schema beside it. Those of charts within are not looked at.
fn fits(
    source: &Source,
    own: Map<String, Value>,
    values: &Map<String, Value>,
    fetch: &dyn Fetch,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let schema = match source.read("values.schema.json") {
        Some(schema) => schema.unwrap_or_default(),
        None => return Ok(()),
    };
    if schema.is_empty() {
        return Ok(());
    }
    let (over, under) = (convert::table(values), convert::table(&own));
    drop(own);
    merge_tables(&over, &under, Nulls::Delete, notes);
    let all = convert::to_json(&kzero_gotmpl::Value::Map(over), &mut { usize::MAX });
    match all.map_err(|error| error.message())? {
        Value::Object(all) => validate_one(&all, &schema, fetch),
        _ => Ok(()),
    }
}
