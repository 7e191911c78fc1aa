//! Between JSON and what templates see.
//!
//! Duty: the only place that knows both. Integers of JSON are those of `--set` and become `int64`, doubles
//! stay doubles, as Go's values are typed.

use kzero_gotmpl::{FuncError, List, Map, Str, Value, format as go_format};
use serde_json::{Map as Object, Number, Value as Json};

/// Values that nest deeper hold themselves, or might as well.
const MAX_DEPTH: usize = 10_000;

/// JSON as templates see it.
pub(crate) fn from_json(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Int64(whole),
            None => Value::Float(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::List(items.iter().map(from_json).collect::<List>()),
        Json::Object(map) => Value::Map(table(map)),
    }
}

/// The same for a table.
pub(crate) fn table(map: &Object<String, Json>) -> Map {
    map.iter()
        .map(|(key, value)| (Str::from(key.as_str()), from_json(value)))
        .collect()
}

/// What templates see as JSON, in the form `encoding/json` would write it. At most `bound` bytes of it, by estimate.
///
/// # Errors
///
/// The value holds what JSON cannot; or, as a limit, it holds itself or is too large.
pub(crate) fn to_json(value: &Value, bound: &mut usize) -> Result<Json, FuncError> {
    json_of(value, 0, bound)
}

/// What a value costs at least, in JSON and as the text that is made of it.
const COST: usize = 64;

fn json_of(value: &Value, depth: usize, bound: &mut usize) -> Result<Json, FuncError> {
    if depth > MAX_DEPTH {
        return Err(FuncError::limit("json: the value is nested too deeply"));
    }
    let size = match value {
        Value::String(text) | Value::Bytes(text) => text.len() + COST,
        _ => COST,
    };
    *bound = bound
        .checked_sub(size)
        .ok_or_else(|| FuncError::limit("json: the value is too large"))?;
    Ok(match value {
        Value::Nil => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Int(whole) | Value::Int64(whole) => Json::from(*whole),
        Value::Uint8(whole) => Json::from(*whole),
        Value::Uint64(whole) => Json::from(*whole),
        Value::Float(value) => Number::from_f64(*value).map_or_else(
            || {
                let shown = infinite(*value);
                Err(FuncError::new(format!("json: unsupported value: {shown}")))
            },
            |number| Ok(Json::Number(number)),
        )?,
        Value::Complex(..) => return Err(FuncError::new("json: unsupported type: complex128")),
        Value::String(text) => Json::String(text.to_text().into_owned()),
        Value::Bytes(bytes) => {
            use base64::Engine;
            Json::String(base64::engine::general_purpose::STANDARD.encode(bytes))
        }
        Value::List(list) if list.is_nil() => Json::Null,
        Value::Map(map) if map.is_nil() => Json::Null,
        Value::List(list) => {
            let items = list.items();
            let mut nested = || {
                let one = |item| json_of(item, depth + 1, bound);
                items.iter().map(one).collect::<Result<_, FuncError>>()
            };
            Json::Array(deep(&mut nested)?)
        }
        Value::Map(map) => {
            let entries = map.entries();
            let mut nested = || {
                let entry = |(key, value): (&Str, &Value)| {
                    Ok((
                        key.to_text().into_owned(),
                        json_of(value, depth + 1, bound)?,
                    ))
                };
                entries.iter().map(entry).collect::<Result<_, FuncError>>()
            };
            Json::Object(deep(&mut nested)?)
        }
        Value::Object(object) => match object.json() {
            Some(inner) => json_of(&inner, depth + 1, bound)?,
            None => {
                let name = object.type_name();
                return Err(FuncError::new(format!("json: unsupported type: {name}")));
            }
        },
    })
}

/// Runs one level of nesting with enough stack.
fn deep<T>(level: &mut dyn FnMut() -> T) -> T {
    stacker::maybe_grow(64 * 1024, 1 << 20, level)
}

/// A value as Go's `fmt` shows it with one verb; cut after 64 KiB.
pub(crate) fn shown(verb: &str, value: &Value) -> String {
    go_format(verb, std::slice::from_ref(value), 64 * 1024)
        .map_or_else(|_| "…".to_owned(), |text| text.to_text().into_owned())
}

fn infinite(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "+Inf"
    } else {
        "-Inf"
    }
}
