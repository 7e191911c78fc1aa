//! Files of a folder.

use std::ffi::OsString;
use std::fs::Metadata;
use std::io::Read;
use std::path::{Path, PathBuf};

use kzero_gotmpl::Str;

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
    files: Vec<File>,
    warnings: Vec<String>,
}

/// The files of a folder in order, and warnings of links.
pub(super) fn read(
    path: &Path,
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
        files: Vec::new(),
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
    walk.folder(&top, 0)?;
    Ok((walk.files, walk.warnings))
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
fn contents(path: &Path, length: u64) -> Result<Str, LoadError> {
    let wrong = |error: std::io::Error| failed("open", path, &error);
    let mut file = std::fs::File::open(path).map_err(wrong)?;
    let length = usize::try_from(length.min(MAX_FILE)).unwrap_or_default();
    let mut filled = 0;
    let data = Str::build(length, |buffer| {
        while filled < buffer.len() {
            match file.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(wrong(error)),
            }
        }
        Ok(())
    })?;
    let mut more = Vec::new();
    file.take(MAX_FILE + 1)
        .read_to_end(&mut more)
        .map_err(wrong)?;
    if (filled + more.len()) as u64 > MAX_FILE {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        return Err(larger(&name));
    }
    if filled == length && more.is_empty() {
        return Ok(data);
    }
    let whole = data.get(..filled).unwrap_or_default();
    Ok(Str::from([whole, &more].concat()))
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
        let data = contents(path, found.len())?;
        self.left = self.left.checked_sub(data.len() as u64).ok_or_else(|| {
            LoadError::new(format!(
                "chart exceeds maximum decompressed size of {MAX_CHART} bytes"
            ))
        })?;
        self.files.push(File {
            name,
            data: unmarked(data),
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
