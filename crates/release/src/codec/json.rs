//! JSON as Go writes it, and the reading of records.
//!
//! Go escapes what HTML would mistake, writes floats in its own way, and sorts the keys of maps; the last of these
//! [`serde_json::Map`] does as well.

use std::fmt;
use std::io::{self, Write};

use kzero_chart::yaml::json_number;
use serde::{Deserialize, Serialize};
use serde_json::Number;
use serde_json::ser::{Formatter, Serializer};

use super::Undecodable;
use crate::revision::Revision;

/// Why something cannot be written as JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unwritable {
    message: String,
}

impl Unwritable {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// The bytes that Go's `json.Marshal` gives for the same.
///
/// # Errors
///
/// Maps with keys that are no texts.
pub fn go_json(value: &impl Serialize) -> Result<Vec<u8>, Unwritable> {
    let mut out = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut out, GoFormatter);
    value
        .serialize(&mut serializer)
        .map_err(|error| Unwritable::new(error.to_string()))?;
    Ok(out)
}

struct GoFormatter;

impl Formatter for GoFormatter {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        write_float(writer, value)
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        write_escaped(writer, fragment)
    }
}

fn write_float<W: ?Sized + Write>(writer: &mut W, value: f64) -> io::Result<()> {
    match Number::from_f64(value) {
        Some(number) => writer.write_all(json_number(&number).as_bytes()),
        None => Err(io::Error::other("a number that is none")),
    }
}

/// Writes a text whose quotes and controls are escaped already.
fn write_escaped<W: ?Sized + Write>(writer: &mut W, text: &str) -> io::Result<()> {
    let mut rest = text;
    let special = |c| matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
    while let Some((at, found)) = rest.char_indices().find(|&(_, c)| special(c)) {
        let (before, after) = rest.split_at(at);
        writer.write_all(before.as_bytes())?;
        write!(writer, "\\u{:04x}", u32::from(found))?;
        rest = after.strip_prefix(found).unwrap_or_default();
    }
    writer.write_all(rest.as_bytes())
}

/// Reads a revision from JSON whose depth is known to be bounded.
pub(super) fn read(bytes: &[u8]) -> Result<Revision, Undecodable> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    reader.disable_recursion_limit();
    let told = |error: serde_json::Error| Undecodable::new(Told(&error).to_string());
    let revision = Revision::deserialize(&mut reader).map_err(told)?;
    reader.end().map_err(told)?;
    Ok(revision)
}

/// A fault of JSON without what stands there: records hold secrets.
struct Told<'a>(&'a serde_json::Error);

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use serde_json::error::Category;
        let what = match self.0.classify() {
            Category::Eof => "its JSON ends early",
            Category::Syntax | Category::Io => "it is no JSON",
            Category::Data => "its JSON is no release",
        };
        let (line, column) = (self.0.line(), self.0.column());
        write!(f, "{what} (line {line}, column {column})")
    }
}
