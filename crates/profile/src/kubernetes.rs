//! Objects for the API server: YAML 1.2 into JSON, with the same bounds and places as profiles.

use std::path::Path;

use serde_json::Value as Json;

use crate::diagnostic::{LoadError, Source};
use crate::load::read_source;
use crate::node::{Core, Documents, Node, Scalar, Value, compose};
use crate::number::{self, IntegerFault};
use crate::read::{Reader, json};

/// Reads all documents of a file; empty ones are left out. `display` is how errors call the file.
///
/// Whole numbers in float form (`1e2`, `3.0`) become integers. A leading zero means what it means to kubectl, for which
/// manifests are written: `defaultMode: 0644` is octal, 420; where that cannot be, as in `09`, the number is decimal. In
/// profiles both are refused (S-1.27).
///
/// # Errors
/// The file cannot be read, or it is not valid YAML within the bounds of profiles.
pub fn load_documents(path: &Path, display: &str) -> Result<Vec<Json>, LoadError> {
    parse_documents(read_source(path, display, |_| None)?)
}

/// The same without reading a file.
///
/// # Errors
/// The text is not valid YAML within the bounds of profiles.
pub fn parse_documents(source: Source) -> Result<Vec<Json>, LoadError> {
    let composed = compose(&source, Documents::Many);
    let mut reader = Reader::new(&[], &|_| None);
    reader.errors = composed.errors;
    let documents: Vec<Json> = composed
        .documents
        .iter()
        .filter(|document| !document.is_null())
        .map(|document| object(&mut reader, document))
        .collect();
    if reader.errors.is_empty() {
        Ok(documents)
    } else {
        Err(LoadError::invalid(source, reader.errors, reader.warnings))
    }
}

/// As [`json`], but for numbers with leading zeros.
fn object(reader: &mut Reader<'_>, node: &Node) -> Json {
    match &node.value {
        Value::List(items) => items.iter().map(|item| object(reader, item)).collect(),
        Value::Map(entries) => {
            let pair = |entry: &crate::node::Entry| {
                let key = entry.key.text.to_string();
                (key, object(reader, &entry.value))
            };
            Json::Object(entries.iter().map(pair).collect())
        }
        Value::Scalar(scalar) => zero_led(scalar).unwrap_or_else(|| json(reader, node)),
        Value::Bad => json(reader, node),
    }
}

/// The value of a number with a leading zero, as kubectl reads it: octal if its digits allow, else decimal.
fn zero_led(scalar: &Scalar) -> Option<Json> {
    if !matches!(scalar.core(), Core::Int | Core::Float) {
        return None;
    }
    let text: &str = &scalar.text;
    let Err(IntegerFault::LeadingZero { octal }) = number::json(text) else {
        return None;
    };
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let plain = match octal {
        Some(value) => format!("{sign}{value}"),
        None => {
            // One digit stays before a fraction or an exponent: 00.5 is 0.5.
            let rest = digits.trim_start_matches(['0', '_']);
            let zero = if rest.starts_with(|c: char| c.is_ascii_digit()) {
                ""
            } else {
                "0"
            };
            format!("{sign}{zero}{rest}")
        }
    };
    number::json(&plain).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::parse_documents;
    use crate::diagnostic::Source;

    #[test]
    fn leading_zeros_are_read_as_kubectl_reads_them() {
        // S-2.17
        let rows = [
            ("0644", json!(420)),
            ("-010", json!(-8)),
            ("+010", json!(8)),
            ("00", json!(0)),
            ("0", json!(0)),
            ("0o17", json!(15)),
            ("09", json!(9)),
            ("-089", json!(-89)),
            ("00.5", json!(0.5)),
            ("0e2", json!(0)),
            ("007e2", json!(700)),
            ("\"0644\"", json!("0644")),
            ("0644x", json!("0644x")),
        ];
        for (text, want) in rows {
            let source = Source::new("job.yaml", format!("a: [{text}]\n---\n- {{b: {text}}}\n"));
            let documents = parse_documents(source).unwrap();
            assert_eq!(
                documents,
                [json!({"a": [want]}), json!([{"b": want}])],
                "{text}"
            );
        }
    }
}
