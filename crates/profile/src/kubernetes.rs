//! Objects for the API server: YAML 1.2 into JSON, with the same bounds and places as profiles.

use std::path::Path;

use serde_json::Value as Json;

use crate::diagnostic::{LoadError, Source};
use crate::load::read_source;
use crate::node::{Documents, compose};
use crate::read::{Reader, json};

/// Reads all documents of a file; empty ones are left out. `display` is how errors call the file.
///
/// Whole numbers in float form (`1e2`, `3.0`) become integers. A number with a leading zero is refused: it would be octal
/// for some readers and decimal for others.
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
        .map(|document| json(&mut reader, document))
        .collect();
    if reader.errors.is_empty() {
        Ok(documents)
    } else {
        Err(LoadError::invalid(source, reader.errors, reader.warnings))
    }
}
