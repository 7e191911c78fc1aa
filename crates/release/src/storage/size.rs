//! Whether a record fits into an object.

use std::fmt;

use super::StorageError;
use crate::codec::{self, go_json};
use crate::revision::{Revision, StoredChart};

/// The most that the API server takes as the data of a Secret or ConfigMap, in bytes.
const LIMIT: usize = 1 << 20;
/// What is kept free: status, description and the times of hooks change until the operation ends.
const SPARE: usize = 4 << 10;

/// A revision that does not fit into its record. Displays what is large in it and what helps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLarge {
    release: String,
    version: i64,
    kind: &'static str,
    /// Bytes of the record.
    size: usize,
    /// Bytes of each part before compression, the largest first.
    parts: Vec<(&'static str, usize)>,
}

impl TooLarge {
    /// Bytes that the record takes; 1,048,576 are allowed.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            release,
            version,
            kind,
            size,
            ..
        } = self;
        write!(
            f,
            "revision {version} of release {release:?} does not fit into a {kind}: its record takes {size} of {} bytes; \
             uncompressed it has",
            LIMIT - SPARE
        )?;
        for (index, (part, size)) in self.parts.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma} {part} {size}")?;
        }
        f.write_str(
            "; leave files out of the chart with .helmignore, split the chart, or keep records in a database with \
             HELM_DRIVER=sql",
        )
    }
}

impl std::error::Error for TooLarge {}

/// Checks a revision for an object of that kind.
pub(super) fn check(revision: &Revision, kind: &'static str) -> Result<(), StorageError> {
    let unwritable = |why| StorageError::Unwritable {
        record: String::new(),
        why,
    };
    // What fits without compression does so with it: most records need not be compressed to know.
    let plain = go_json(revision).map_err(unwritable)?.len();
    if plain / 3 * 4 < LIMIT / 2 {
        return Ok(());
    }
    let size = codec::encode(revision).map_err(unwritable)?.len();
    if size <= LIMIT - SPARE {
        return Ok(());
    }
    Err(StorageError::TooLarge(TooLarge {
        release: revision.name.clone(),
        version: revision.version,
        kind,
        size,
        parts: parts(revision),
    }))
}

fn parts(revision: &Revision) -> Vec<(&'static str, usize)> {
    let chart = revision.chart.as_ref().map(StoredChart::sizes);
    let chart = chart.unwrap_or_default();
    let hooks = revision.hooks.iter().map(|hook| hook.manifest.len()).sum();
    let config = go_json(&revision.config).map_or(0, |json| json.len());
    let mut parts = vec![
        ("manifest", revision.manifest.len()),
        ("hooks", hooks),
        ("notes", revision.info.notes.len()),
        ("values", config + chart.values),
        ("templates", chart.templates),
        ("files", chart.files),
        ("schema", chart.schema),
    ];
    parts.retain(|(_, size)| *size > 0);
    parts.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    parts
}
