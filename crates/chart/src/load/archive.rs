//! Files of an archive.
//!
//! Nothing is written anywhere, so links and devices are but empty files, as they are to Helm.

use std::io::{self, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use tar::EntryType;

use super::{File, LoadError, sniff, unmarked, words};
use crate::limits::{Budget, MAX_CHART, MAX_FILE, MAX_PACKED};
use crate::quote::quoted;

/// Go's text for what does not begin as gzip does.
pub(super) const NO_GZIP: &str = "gzip: invalid header";

/// Bytes of a path: Go's bound on what extends a header.
const MAX_NAME: usize = 1024 * 1024;

/// Reads an archive file that looks like one.
pub(super) fn file(path: &Path) -> Result<Vec<u8>, LoadError> {
    let name = path.display();
    let wrong =
        |what: &str, error: &io::Error| LoadError::new(format!("{what} {name}: {}", words(error)));
    let found = std::fs::metadata(path).map_err(|error| wrong("stat", &error))?;
    if found.is_dir() {
        return Err(LoadError::new("cannot load a directory"));
    }
    if !found.is_file() {
        // A pipe might never end.
        return Err(LoadError::new(format!(
            "cannot load irregular file {name} as it has file mode type bits set"
        )));
    }
    let file = std::fs::File::open(path).map_err(|error| wrong("open", &error))?;
    let mut bytes = Vec::new();
    file.take(MAX_PACKED + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| {
            LoadError::new(format!("file '{name}' cannot be read: {}", words(&error)))
        })?;
    if bytes.len() as u64 > MAX_PACKED {
        return Err(too_large());
    }
    if !bytes.starts_with(b"\x1f\x8b\x08") {
        let name = name.to_string();
        if name.ends_with(".yml") || name.ends_with(".yaml") {
            return Err(LoadError::new(format!(
                "file '{name}' seems to be a YAML file, but expected a gzipped archive"
            )));
        }
        return Err(LoadError::new(format!(
            "file '{name}' does not appear to be a gzipped archive; got '{}'",
            sniff::kind(&bytes)
        )));
    }
    Ok(bytes)
}

fn too_large() -> LoadError {
    LoadError::new(format!(
        "decompressed chart is larger than the maximum file size {MAX_CHART}"
    ))
}

/// Says that the budget is at its end, through a reader.
#[derive(Debug, thiserror::Error)]
#[error("budget is spent")]
struct Spent;

/// Counts what is unpacked.
struct Counted<'a> {
    inner: MultiGzDecoder<&'a [u8]>,
    left: &'a mut u64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer).map_err(|error| {
            // The same error says that there is too little and that it is wrong.
            if self.inner.get_ref().is_empty() && !error.to_string().contains("gzip") {
                io::Error::from(io::ErrorKind::UnexpectedEof)
            } else {
                error
            }
        })?;
        match self.left.checked_sub(count as u64) {
            Some(left) => {
                *self.left = left;
                Ok(count)
            }
            None => Err(io::Error::other(Spent)),
        }
    }
}

/// An error of reading in Go's words, as far as they can be told.
fn broken(error: &io::Error) -> LoadError {
    if let Some(inner) = error.get_ref()
        && inner.is::<Spent>()
    {
        return too_large();
    }
    let text = error.to_string();
    LoadError::new(if text.contains("invalid gzip header") {
        NO_GZIP
    } else if text.contains("gzip") {
        "gzip: invalid checksum"
    } else if text.contains("deflate") {
        "flate: corrupt input"
    } else if error.kind() == io::ErrorKind::UnexpectedEof
        || text.contains("failed to read entire block")
    {
        "unexpected EOF"
    } else {
        "archive/tar: invalid tar header"
    })
}

/// The files of an archive, by their paths below its first folder.
pub(super) fn read(bytes: &[u8], budget: &mut Budget) -> Result<Vec<File>, LoadError> {
    if bytes.is_empty() {
        return Err(LoadError::new("EOF"));
    }
    let mut unpacked = budget.unpacked;
    let reader = Counted {
        inner: MultiGzDecoder::new(bytes),
        left: &mut unpacked,
    };
    let mut tar = tar::Archive::new(reader);
    let mut files = Vec::new();
    let mut remaining = MAX_CHART;
    for entry in tar.entries().map_err(|error| broken(&error))? {
        budget.entry()?;
        let mut entry = entry.map_err(|error| broken(&error))?;
        if entry.path_bytes().len() > MAX_NAME {
            return Err(LoadError::new("archive/tar: header field too long"));
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let header = entry.header();
        let kind = header.entry_type();
        let mode = header.mode().unwrap_or_default();
        let is_folder = kind == EntryType::Directory
            || mode & 0o170_000 == 0o040_000
            || (header.as_bytes()[156] == 0 && name.ends_with('/'));
        if is_folder || kind == EntryType::XGlobalHeader {
            continue;
        }
        let path = inside(&name)?;
        let size = entry.size();
        if size > remaining {
            return Err(too_large());
        }
        if size > MAX_FILE {
            return Err(LoadError::new(format!(
                "decompressed chart file {} is larger than the maximum file size {MAX_FILE}",
                quoted(&name)
            )));
        }
        let length = usize::try_from(size).map_err(|_| too_large())?;
        // A sparse file may be larger than the archive: it is paid for before it is made.
        budget.content = budget.content.checked_sub(size).ok_or_else(too_large)?;
        let mut data = Vec::with_capacity(length);
        entry
            .read_to_end(&mut data)
            .map_err(|error| broken(&error))?;
        if data.len() < length {
            return Err(broken(&io::ErrorKind::UnexpectedEof.into()));
        }
        remaining -= size;
        if remaining == 0 {
            return Err(too_large());
        }
        files.push(File {
            name: path,
            data: unmarked(data).into(),
        });
    }
    drop(tar);
    budget.unpacked = unpacked;
    if files.is_empty() {
        return Err(LoadError::new("no files in chart archive"));
    }
    Ok(files)
}

/// The path of an entry without its first folder; an error if it leads anywhere else.
fn inside(name: &str) -> Result<String, LoadError> {
    // An archive of Windows may have its own separator.
    let separator = if name.contains('\\') { '\\' } else { '/' };
    let (first, rest) = name.split_once(separator).unwrap_or((name, ""));
    let rest = rest.replace(separator, "/");
    if rest.starts_with('/') {
        return Err(LoadError::new("chart illegally contains absolute paths"));
    }
    let path = clean(&rest);
    if path == "." {
        return Err(LoadError::new(format!(
            "chart illegally contains content outside the base directory: {}",
            quoted(name)
        )));
    }
    if path.starts_with("..") {
        return Err(LoadError::new(
            "chart illegally references parent directory",
        ));
    }
    if let [drive, b':', b'/', ..] = path.as_bytes()
        && drive.is_ascii_alphabetic()
    {
        return Err(LoadError::new("chart contains illegally named files"));
    }
    if first == "Chart.yaml" {
        return Err(LoadError::new("chart yaml not in base directory"));
    }
    Ok(path)
}

/// A path without `.`, double slashes, and `..` where something is before it.
pub(super) fn clean(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}
