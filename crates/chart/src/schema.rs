//! Values against `values.schema.json`.
//!
//! Duty: what Helm refuses, in its words. The drafts 4, 6, 7, 2019-09 and 2020-12 of JSON schema, the last where a
//! schema names none; `format` is a rule up to draft 7. Patterns have Go's syntax. Schemas elsewhere come through
//! [`Fetch`] alone. Hostile schemas end with an error: documents, schemas, patterns, steps, depth and faults are
//! bounded.

mod address;
mod check;
mod compile;
mod document;
mod draft;
mod equal;
mod fault;
mod format;
mod number;
mod program;
mod source;

use serde_json::{Map, Value};

use crate::load::Chart;
use crate::render::Prepared;
use fault::{lines, quote};

/// Where Helm takes the schema of a chart to be.
const URL: &str = "file:///values.schema.json";

/// Gets schemas that others refer to.
pub trait Fetch {
    /// The bytes at a `file:`, `http:` or `https:` address. Callers bound their number.
    ///
    /// # Errors
    ///
    /// What was wrong, without the address.
    fn fetch(&self, url: &str) -> Result<Vec<u8>, String>;

    /// Takes a warning; there are such for `urn:` addresses, which nobody resolves.
    fn warn(&self, text: &str) {
        let _ = text;
    }
}

/// Gets nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFetch;

impl Fetch for NoFetch {
    fn fetch(&self, _: &str) -> Result<Vec<u8>, String> {
        Err("schemas are not fetched from elsewhere".to_owned())
    }
}

/// Values that do not fit, or schemas that are none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "values don't meet the specifications of the schema(s) in the following chart(s):\n{faults}"
)]
pub struct SchemaError {
    faults: String,
}

impl SchemaError {
    /// The faults by chart, without the line above them. Ends with a line break, as in Helm.
    #[must_use]
    pub fn faults(&self) -> &str {
        &self.faults
    }
}

/// Checks the coalesced values of a chart, and those of the charts in it, each against its own schema.
///
/// # Errors
///
/// Values do not fit, or a schema is broken, refers to what is not there, or asks for too much.
pub fn validate(
    chart: &Chart,
    values: &Map<String, Value>,
    fetch: &dyn Fetch,
) -> Result<(), SchemaError> {
    let mut faults = String::new();
    collect(chart, values, fetch, &mut faults);
    if faults.is_empty() {
        Ok(())
    } else {
        Err(SchemaError { faults })
    }
}

/// The same for a chart whose dependencies are switched on or off, under their aliases.
///
/// # Errors
///
/// As [`validate`]; also values that templates have made what JSON cannot hold.
pub fn validate_prepared(prepared: &Prepared<'_>, fetch: &dyn Fetch) -> Result<(), SchemaError> {
    let mut faults = String::new();
    let schemas = prepared.schemas();
    if schemas.is_empty() {
        return Ok(());
    }
    let values = prepared.values().map_err(|error| SchemaError {
        faults: format!("{error}\n"),
    })?;
    for (name, schema, path) in schemas {
        let own = path
            .iter()
            .try_fold(&values, |values, name| match values.get(name) {
                Some(Value::Object(inner)) => Some(inner),
                // What is no table was refused when the values were put together.
                _ => None,
            });
        if let Some(own) = own
            && let Err(error) = validate_one(own, schema, fetch)
        {
            faults.push_str(&format!("{name}:\n{error}"));
        }
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(SchemaError { faults })
    }
}

fn collect(chart: &Chart, values: &Map<String, Value>, fetch: &dyn Fetch, faults: &mut String) {
    if let Some(schema) = &chart.schema
        && let Err(error) = validate_one(values, schema, fetch)
    {
        faults.push_str(&format!("{}:\n{error}", chart.metadata.name));
    }
    for inner in &chart.dependencies {
        let name = &inner.metadata.name;
        match values.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::Object(values)) => collect(inner, values, fetch, faults),
            Some(other) => {
                let kind = go_type(other);
                faults.push_str(&format!(
                    "{name}:\ninvalid type for values: expected object (map), got {kind}\n"
                ));
            }
        }
    }
}

/// The Go type of a value that is no map.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Checks values against the text of one schema.
///
/// # Errors
///
/// Each fault on a line, with a line break behind the last; or what is wrong with the schema, without one.
pub fn validate_one(
    values: &Map<String, Value>,
    schema: &[u8],
    fetch: &dyn Fetch,
) -> Result<(), String> {
    let document = source::parse(schema)?;
    let (program, root) = compile::compile(URL, document, fetch)?;
    // The checker walks values, and a map is one.
    let values = Value::Object(values.clone());
    match check::check(&program, root, &values, None)? {
        None => Ok(()),
        Some(faults) => {
            let lines = lines(&faults);
            Err(format!("{}\n", lines.trim_start_matches('\n')))
        }
    }
}

/// The line above the faults of what does not fit a schema.
fn headline(location: &str) -> String {
    format!("jsonschema validation failed with {}", quote(location))
}
