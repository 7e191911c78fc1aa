//! Values by paths such as `a.b.c`.
//!
//! Duty: Helm's `Table` and `PathValue`.

use kzero_gotmpl::{Map, Value};

/// What is not where a path points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Missing {
    /// No table of this name.
    Table(String),
    /// No value of this name that is no table.
    Value(String),
    /// The path is empty.
    NoPath,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Table(name) => write!(f, "{} is not a table", crate::quote::quoted(name)),
            Self::Value(name) => write!(f, "{} is not a value", crate::quote::quoted(name)),
            Self::NoPath => f.write_str("YAML path cannot be empty"),
        }
    }
}

/// The table a path leads to.
pub(crate) fn table(values: &Map, path: &str) -> Result<Map, Missing> {
    let mut here = values.clone();
    for name in path.split('.') {
        match here.get(name.as_bytes()) {
            Some(Value::Map(inner)) => here = inner,
            _ => return Err(Missing::Table(name.to_owned())),
        }
    }
    Ok(here)
}

/// The value a path leads to, which is no table.
pub(crate) fn path_value(values: &Map, path: &str) -> Result<Value, Missing> {
    if path.is_empty() {
        return Err(Missing::NoPath);
    }
    let (inner, key) = match path.rsplit_once('.') {
        Some((tables, key)) => (
            table(values, tables).map_err(|_| Missing::Value(key.to_owned()))?,
            key,
        ),
        None => (values.clone(), path),
    };
    match inner.get(key.as_bytes()) {
        Some(Value::Map(_)) | None => Err(Missing::Value(key.to_owned())),
        Some(value) => Ok(value),
    }
}
