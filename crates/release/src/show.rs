//! What `helm list`, `history`, `status` and `get` print of revisions, to the byte.
//!
//! Duty: revisions to text. Nothing is read or printed here; the texts are Helm 3.22's.

mod get;
mod history;
mod list;
mod resources;
mod status;
mod table;
mod time;

use std::str::FromStr;

use serde::Serialize;

use crate::codec::go_json;
pub use get::{all, computed_values, hooks, manifest, metadata, notes, values};
pub use history::history;
pub use list::{ListColumns, list, names};
pub use resources::resources;
pub use status::{StatusParts, status};

/// How something is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// One line of JSON.
    Json,
    /// YAML with sorted keys.
    Yaml,
}

/// A word that is no format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid format type")]
pub struct UnknownFormat;

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(word: &str) -> Result<Self, UnknownFormat> {
        match word {
            "table" => Ok(Self::Table),
            "json" => Ok(Self::Json),
            "yaml" => Ok(Self::Yaml),
            _ => Err(UnknownFormat),
        }
    }
}

/// Something that cannot be printed in the format asked for, in Helm's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unable to write {format} output: {why}")]
pub struct ShowError {
    format: &'static str,
    why: String,
}

/// JSON or YAML of a value, or what `table` makes of it.
fn shown(
    value: &impl Serialize,
    format: Format,
    table: impl FnOnce() -> Result<String, ShowError>,
) -> Result<String, ShowError> {
    match format {
        Format::Table => table(),
        Format::Json => json(value),
        Format::Yaml => yaml(value),
    }
}

fn json(value: &impl Serialize) -> Result<String, ShowError> {
    let failed = |why| ShowError {
        format: "JSON",
        why,
    };
    let mut bytes = go_json(value).map_err(|error| failed(error.to_string()))?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(|error| failed(error.to_string()))
}

fn yaml(value: &impl Serialize) -> Result<String, ShowError> {
    let failed = |why| ShowError {
        format: "YAML",
        why,
    };
    let value = serde_json::to_value(value).map_err(|error| failed(error.to_string()))?;
    let text = kzero_chart::yaml::encode(&value)
        .map_err(|error| failed(format!("error converting JSON to YAML: {error}")))?;
    Ok(text + "\n")
}
