//! How a revision becomes the text of a record, and back: JSON, gzip, base64, as Helm has it.
//!
//! Duty: the bytes alone. What a revision means is [`crate::revision`]'s, where its record lies is
//! [`crate::storage`]'s. The JSON is Go's to the byte; the compressed form differs from Helm's in its length by a few
//! bytes, since the two compressors choose differently, and has the same header.
//!
//! A record comes from outside: what it unpacks to and how deep it nests is bounded here.

mod json;

use std::io::{Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;
use flate2::{Compression, GzBuilder};

use crate::revision::Revision;
pub use json::{Unwritable, go_json};

/// The most a record may unpack to, in bytes.
const MAX_UNPACKED: u64 = 256 << 20;
/// The deepest nesting of JSON that is read or written. Values files nest to 500 at most.
const MAX_DEPTH: usize = 600;
/// What gzip begins with.
const GZIP: [u8; 3] = [0x1f, 0x8b, 0x08];
/// What Go writes for an operating system it does not name.
const UNKNOWN_SYSTEM: u8 = 255;

/// Why the text of a record is no revision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Undecodable {
    message: String,
}

impl Undecodable {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// The text of a record: `base64(gzip(JSON))`.
///
/// # Errors
///
/// A config or hook that nests deeper than 600.
pub fn encode(revision: &Revision) -> Result<String, Unwritable> {
    let json = go_json(revision)?;
    if deeper_than(&json, MAX_DEPTH) {
        return Err(Unwritable::new(format!(
            "values are nested deeper than {MAX_DEPTH}"
        )));
    }
    let packed = Vec::with_capacity(json.len() / 4);
    let mut writer = GzBuilder::new()
        .operating_system(UNKNOWN_SYSTEM)
        .write(packed, Compression::best());
    let packed = writer
        .write_all(&json)
        .and_then(|()| writer.finish())
        .map_err(|error| Unwritable::new(error.to_string()))?;
    Ok(STANDARD.encode(packed))
}

/// Reads the text of a record. JSON that is not packed, as old records have it, is read too.
///
/// # Errors
///
/// Text that is no base64, gzip or JSON; JSON that is no revision, nests deeper than 600 or unpacks to more than
/// 256 MiB. The message has nothing of the content.
pub fn decode(text: &str) -> Result<Revision, Undecodable> {
    let bytes = unpack(from_base64(text)?)?;
    if deeper_than(&bytes, MAX_DEPTH) {
        return Err(Undecodable::new(format!(
            "its JSON is nested deeper than {MAX_DEPTH}"
        )));
    }
    json::read(&bytes)
}

fn from_base64(text: &str) -> Result<Vec<u8>, Undecodable> {
    let decoded = if text.contains(['\n', '\r']) {
        // Go's reader passes over line ends.
        STANDARD.decode(text.replace(['\n', '\r'], ""))
    } else {
        STANDARD.decode(text)
    };
    decoded.map_err(|_| Undecodable::new("it is no base64"))
}

fn unpack(bytes: Vec<u8>) -> Result<Vec<u8>, Undecodable> {
    if !bytes.starts_with(&GZIP) {
        return Ok(bytes);
    }
    let mut unpacked = Vec::new();
    let read = MultiGzDecoder::new(bytes.as_slice())
        .take(MAX_UNPACKED + 1)
        .read_to_end(&mut unpacked)
        .map_err(|error| Undecodable::new(format!("it cannot be unpacked: {error}")))?;
    if read as u64 > MAX_UNPACKED {
        let limit = MAX_UNPACKED >> 20;
        return Err(Undecodable::new(format!(
            "it unpacks to more than {limit} MiB"
        )));
    }
    Ok(unpacked)
}

/// Whether JSON nests deeper than a bound. Reading recurses, so this is asked first.
fn deeper_than(json: &[u8], bound: usize) -> bool {
    let mut depth = 0_usize;
    let mut in_text = false;
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match (in_text, byte) {
            (true, b'\\') => {
                bytes.next();
            }
            (_, b'"') => in_text = !in_text,
            (false, b'{' | b'[') => {
                depth += 1;
                if depth > bound {
                    return true;
                }
            }
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::deeper_than;

    #[test]
    fn depth_counts_brackets_outside_texts() {
        assert!(!deeper_than(br#"{"a":["[[[[\"[[["]}"#, 2));
        assert!(deeper_than(br#"{"a":[["x"]]}"#, 2));
        assert!(!deeper_than(br#"[[],[],[[]]]"#, 3));
        assert!(!deeper_than(b"]]]]", 0));
    }
}
