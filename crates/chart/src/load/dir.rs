//! Files of a folder.

use std::ffi::OsString;
use std::fs::Metadata;
use std::io::Read;
use std::path::{Path, PathBuf};

use kzero_gotmpl::Str;
use kzero_gotmpl::parallel::try_map;

use super::archive::clean;
use super::{File, LoadError, unmarked, words};
use crate::ignore::Rules;
use crate::limits::{Budget, MAX_CHART, MAX_FILE};
use crate::quote::quoted;

/// Folders in folders. A link to a folder above would go on for long.
const MAX_DEPTH: usize = 128;

struct Walk<'b> {
    top: PathBuf,
    rules: Rules,
    budget: &'b mut Budget,
    left: u64,
    found: Vec<Found>,
    warnings: Vec<String>,
}

/// A file that is to be read.
struct Found {
    path: PathBuf,
    name: String,
    length: u64,
}

/// Which files are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// All.
    Now,
    /// Large ones that only templates may ask for when they are looked at.
    Deferred,
}

/// Shorter files, in bytes, are read sooner than kept open.
const WORTH_DEFERRING: u64 = 32 * 1024;

/// How many files are kept open at most.
const MAX_OPEN: usize = 128;

/// The files of a folder in order, and warnings of links.
pub(super) fn read(
    path: &Path,
    reading: Reading,
    budget: &mut Budget,
) -> Result<(Vec<File>, Vec<String>), LoadError> {
    let top = std::path::absolute(path)
        .map_err(|error| LoadError::new(format!("{}: {}", path.display(), words(&error))))?;
    let top = PathBuf::from(match top.to_str() {
        Some(text) => OsString::from(clean(text)),
        None => top.into_os_string(),
    });
    let ignore = top.join(".helmignore");
    let rules = match std::fs::metadata(&ignore) {
        Ok(found) if found.is_dir() => {
            let error = std::io::Error::from(std::io::ErrorKind::IsADirectory);
            return Err(failed("read", &ignore, &error));
        }
        Ok(found) if !found.is_file() => return Err(irregular(&ignore)),
        Ok(found) => Rules::parse(&contents(&ignore, found.len())?)?,
        Err(_) => Rules::parse(b"")?,
    };
    let mut walk = Walk {
        top: top.clone(),
        rules,
        budget,
        left: MAX_CHART,
        found: Vec::new(),
        warnings: Vec::new(),
    };
    let found = std::fs::metadata(&top).map_err(|error| failed("lstat", &top, &error))?;
    if !found.is_dir() {
        return Err(failed(
            "open",
            &top,
            &std::io::Error::from(std::io::ErrorKind::NotADirectory),
        ));
    }
    let walked = walk.folder(&top, 0);
    // What stopped the walk comes after what is wrong with the files before it.
    let files = read_all(walk.found, reading)?;
    walked?;
    Ok((files, walk.warnings))
}

/// Reads files, several at once where they are large.
fn read_all(found: Vec<Found>, reading: Reading) -> Result<Vec<File>, LoadError> {
    let mut open = 0;
    let work: Vec<(Found, bool)> = found
        .into_iter()
        .map(|file| {
            let later = reading == Reading::Deferred && open < MAX_OPEN && file.can_wait();
            open += usize::from(later);
            (file, later)
        })
        .collect();
    let contents = try_map(
        &work,
        |(file, later)| match later {
            true => 0,
            false => usize::try_from(file.length).unwrap_or(usize::MAX),
        },
        |(file, later)| file.content(*later),
    )?;
    // Files may have grown since they were looked at.
    let read = contents.iter().map(|content| match content {
        Content::Read(data) => data.len() as u64,
        Content::Open(_) => 0,
    });
    if read.sum::<u64>() > MAX_CHART {
        return Err(too_large());
    }
    Ok(work
        .into_iter()
        .zip(contents)
        .map(|((found, _), content)| found.into_file(content))
        .collect())
}

/// What is to be had of a file.
enum Content {
    Read(Vec<u8>),
    /// To be read later, whatever becomes of its name until then.
    Open(std::fs::File),
}

impl Found {
    /// Whether nothing but a template may ask for it, and it is worth waiting for that.
    fn can_wait(&self) -> bool {
        let mut name = self.name.as_str();
        while let Some((_, inside)) = name
            .strip_prefix("charts/")
            .and_then(|inner| inner.split_once('/'))
        {
            name = inside;
        }
        self.length >= WORTH_DEFERRING
            && !name.starts_with("templates/")
            && !name.starts_with("charts/")
            && !super::is_read_by_loader(name)
    }

    fn content(&self, later: bool) -> Result<Content, LoadError> {
        let file = open(&self.path)?;
        if later {
            return Ok(Content::Open(file));
        }
        read_open(file, &self.path, self.length).map(Content::Read)
    }

    fn into_file(self, content: Content) -> File {
        let Self { path, name, length } = self;
        let data = match content {
            Content::Read(data) => Str::from(unmarked(data)),
            Content::Open(file) => Str::deferred(usize::try_from(length).unwrap_or(0), move || {
                let data = read_open(file, &path, length).map_err(|error| error.to_string())?;
                Ok(unmarked(data))
            }),
        };
        File { name, data }
    }
}

fn too_large() -> LoadError {
    LoadError::new(format!(
        "chart exceeds maximum decompressed size of {MAX_CHART} bytes"
    ))
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> LoadError {
    LoadError::new(format!("{what} {}: {}", path.display(), words(error)))
}

fn irregular(path: &Path) -> LoadError {
    LoadError::new(format!(
        "cannot load irregular file {} as it has file mode type bits set",
        path.display()
    ))
}

fn larger(name: &str) -> LoadError {
    LoadError::new(format!(
        "chart file {} is larger than the maximum file size {MAX_FILE}",
        quoted(name)
    ))
}

/// The bytes of a file of about this length; it may have changed since it was looked at.
fn contents(path: &Path, length: u64) -> Result<Vec<u8>, LoadError> {
    read_open(open(path)?, path, length)
}

fn open(path: &Path) -> Result<std::fs::File, LoadError> {
    std::fs::File::open(path).map_err(|error| failed("open", path, &error))
}

fn read_open(file: std::fs::File, path: &Path, length: u64) -> Result<Vec<u8>, LoadError> {
    let length = usize::try_from(length.min(MAX_FILE)).unwrap_or_default();
    let mut data = Vec::with_capacity(length);
    file.take(MAX_FILE + 1)
        .read_to_end(&mut data)
        .map_err(|error| failed("open", path, &error))?;
    if data.len() as u64 > MAX_FILE {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        return Err(larger(&name));
    }
    Ok(data)
}

impl Walk<'_> {
    fn folder(&mut self, path: &Path, depth: usize) -> Result<(), LoadError> {
        if depth > MAX_DEPTH {
            return Err(LoadError::new(format!(
                "folders of the chart are nested deeper than {MAX_DEPTH}: {}",
                path.display()
            )));
        }
        let wrong = |error: std::io::Error| failed("open", path, &error);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(path).map_err(wrong)? {
            self.budget.entry()?;
            names.push(entry.map_err(wrong)?.file_name());
        }
        names.sort();
        for name in names {
            let path = path.join(name);
            let mut found =
                std::fs::symlink_metadata(&path).map_err(|error| failed("lstat", &path, &error))?;
            let mut target = path.clone();
            if found.is_symlink() {
                target = self.follow(&path)?;
                found = std::fs::symlink_metadata(&target)
                    .map_err(|error| failed("lstat", &target, &error))?;
            }
            self.entry(&path, &target, &found, depth)?;
        }
        Ok(())
    }

    /// Where a link leads in the end.
    fn follow(&mut self, path: &Path) -> Result<PathBuf, LoadError> {
        let shown = path.display();
        let target = std::fs::canonicalize(path).map_err(|error| {
            if is_far(path) {
                return failed("open", path, &error);
            }
            let why = match missing(path) {
                Some(missing) if error.kind() == std::io::ErrorKind::NotFound => {
                    format!("lstat {}: {}", missing.display(), words(&error))
                }
                // Links that lead to each other.
                _ => "EvalSymlinks: too many links".to_owned(),
            };
            LoadError::new(format!("error evaluating symlink {shown}: {why}"))
        })?;
        self.warnings.push(format!(
            "found symbolic link in path: {shown} resolves to {}. Contents of linked file included and used",
            target.display()
        ));
        Ok(target)
    }

    fn entry(
        &mut self,
        path: &Path,
        target: &Path,
        found: &Metadata,
        depth: usize,
    ) -> Result<(), LoadError> {
        let relative = path.strip_prefix(&self.top).unwrap_or(path);
        let name = relative.to_string_lossy().into_owned();
        if self.rules.ignores(&name, found.is_dir()) {
            return Ok(());
        }
        if found.is_dir() {
            return self.folder(path, depth + 1);
        }
        if !found.is_file() {
            return Err(irregular(path));
        }
        if found.len() > MAX_FILE {
            let name = target.file_name().unwrap_or_default().to_string_lossy();
            return Err(larger(&name));
        }
        let length = found.len();
        self.left = self.left.checked_sub(length).ok_or_else(too_large)?;
        self.found.push(Found {
            path: path.to_owned(),
            name,
            length,
        });
        Ok(())
    }
}

/// Whether a link leads somewhere, but with the links on the way to it there are more than the system follows.
fn is_far(path: &Path) -> bool {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return false;
    };
    std::fs::canonicalize(folder)
        .and_then(|folder| std::fs::canonicalize(folder.join(name)))
        .is_ok()
}

/// The first part of the way of a link that is not there.
fn missing(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_owned();
    // As many links as Linux follows.
    for _ in 0..40 {
        let target = std::fs::read_link(&path).ok()?;
        let joined = path.parent()?.join(target);
        let joined = PathBuf::from(clean(joined.to_str()?));
        let mut so_far = PathBuf::new();
        let mut link = None;
        for part in joined.components() {
            so_far.push(part);
            match std::fs::symlink_metadata(&so_far) {
                Err(_) => return Some(so_far),
                Ok(found) if found.is_symlink() => link = Some(so_far.clone()),
                Ok(_) => {}
            }
        }
        path = link?;
    }
    None
}
