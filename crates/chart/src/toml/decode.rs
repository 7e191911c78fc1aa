//! Reading TOML.
//!
//! Duty: values of a document, with Go's types: `int64`, `float64`, `time.Time`, and lists of tables apart from other
//! lists.

use kzero_gotmpl::{Elem, List, Time, Value};
use toml_edit::{ArrayOfTables, Datetime, Document, Item, TableLike, TomlError};

/// The table of a document. Dates and times without an offset are in UTC, in zones named as the Go library names them.
///
/// # Errors
///
/// The text is no TOML or is nested deeper than 80 levels: the text that Helm puts under `Error`.
pub(crate) fn decode(text: &str) -> Result<Value, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let document = Document::parse(text).map_err(|error| complaint(text, &error))?;
    table(document.as_table())
}

fn complaint(text: &str, error: &TomlError) -> String {
    let before = error
        .span()
        .and_then(|span| text.get(..span.start))
        .unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let message = error.message().replace('\n', ", ");
    format!("toml: line {line}: {message}")
}

fn table(table: &dyn TableLike) -> Result<Value, String> {
    let mut entries = Vec::new();
    for (key, inner) in table.iter() {
        entries.push((key, item(inner)?));
    }
    Ok(Value::map(entries))
}

fn item(item: &Item) -> Result<Value, String> {
    match item {
        Item::None => Ok(Value::Nil),
        Item::Value(inner) => value(inner),
        Item::Table(inner) => table(inner),
        Item::ArrayOfTables(inner) => tables(inner),
    }
}

fn tables(tables: &ArrayOfTables) -> Result<Value, String> {
    let items: Result<Vec<Value>, String> = tables.iter().map(|inner| table(inner)).collect();
    Ok(Value::List(List::typed(Elem::Map, items?)))
}

fn value(value: &toml_edit::Value) -> Result<Value, String> {
    Ok(match value {
        toml_edit::Value::String(text) => Value::from(text.value().as_str()),
        toml_edit::Value::Integer(number) => Value::Int64(*number.value()),
        toml_edit::Value::Float(number) => Value::Float(*number.value()),
        toml_edit::Value::Boolean(truth) => Value::Bool(*truth.value()),
        toml_edit::Value::Datetime(moment) => time(moment.value())?,
        toml_edit::Value::Array(array) => {
            let items: Result<Vec<Value>, String> = array.iter().map(self::value).collect();
            Value::list(items?)
        }
        toml_edit::Value::InlineTable(inner) => table(inner)?,
    })
}

/// A time in UTC or at its offset; what has none is named after what it lacks, so that it is written as it was.
fn time(moment: &Datetime) -> Result<Value, String> {
    let text = moment.to_string();
    let (layout, zone) = match (moment.date, moment.time, moment.offset) {
        (Some(_), Some(_), Some(_)) => ("2006-01-02T15:04:05.999999999Z07:00", None),
        (Some(_), Some(_), None) => ("2006-01-02T15:04:05.999999999", Some("datetime-local")),
        (Some(_), None, _) => ("2006-01-02", Some("date-local")),
        (None, ..) => ("15:04:05.999999999", Some("time-local")),
    };
    // Seconds may be left out.
    let read = Time::parse(layout, &text)
        .or_else(|| Time::parse(&layout.replace(":05.999999999", ""), &text));
    let read = read.ok_or_else(|| format!("toml: invalid datetime: \"{text}\""))?;
    Ok(match zone {
        Some(zone) => read.in_zone_named(zone).into(),
        None => read.into(),
    })
}
