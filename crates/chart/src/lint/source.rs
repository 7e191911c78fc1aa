//! The files of a chart that is linted, on the disk or in an archive.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::fields::read;
use crate::load::{self, Chart, File, LoadError};
use crate::metadata::Metadata;
use crate::quote::quoted;

/// Nodes of YAML.
const MAX_NODES: usize = 800_000;

/// Where a chart is.
pub(super) enum Source {
    /// Its folder, as an absolute path.
    Dir(PathBuf),
    /// The files of an archive.
    Archive { path: PathBuf, files: Vec<File> },
}

impl Source {
    /// Finds the chart.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let shown = path.to_string_lossy();
        if shown.ends_with(".tgz") || shown.ends_with(".tar.gz") {
            let bytes = archive(path)?;
            let files = load::archive_files(&bytes)
                .map_err(|error| format!("unable to extract tarball: {error}"))?;
            check_name(&files).map_err(|error| format!("unable to extract tarball: {error}"))?;
            let path = path.to_owned();
            return Ok(Self::Archive { path, files });
        }
        if let Err(error) = std::fs::metadata(path.join("Chart.yaml")) {
            let file = clean(&path.join("Chart.yaml"));
            let error = load::words(&error);
            return Err(format!(
                "unable to check Chart.yaml file in chart: stat {file}: {error}"
            ));
        }
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self::Dir(PathBuf::from(clean(&absolute))))
    }

    /// The path that messages name.
    pub(super) fn shown(&self) -> String {
        let (Self::Dir(path) | Self::Archive { path, .. }) = self;
        path.to_string_lossy().into_owned()
    }

    /// The content of a file; none where there is no such file.
    pub(super) fn read(&self, name: &str) -> Option<Result<Vec<u8>, String>> {
        match self {
            Self::Archive { files, .. } => {
                let file = files.iter().find(|file| file.name == name)?;
                Some(Ok(file.data.to_vec()))
            }
            Self::Dir(path) => {
                let path = path.join(name);
                let found = std::fs::metadata(&path).ok()?;
                if found.is_dir() {
                    return Some(Err(format!("read {}: is a directory", path.display())));
                }
                if !found.is_file() {
                    // A pipe might never begin.
                    return Some(Err(format!("{} is not a regular file", path.display())));
                }
                match bounded(&path, crate::limits::MAX_FILE) {
                    Err(error) if error.kind() == ErrorKind::NotFound => None,
                    Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                        Some(Err(format!("{} is larger than 5 MiB", path.display())))
                    }
                    read => Some(read.map_err(|error| {
                        format!("open {}: {}", path.display(), load::words(&error))
                    })),
                }
            }
        }
    }

    /// Whether there is a file of that name.
    pub(super) fn is_file(&self, name: &str) -> bool {
        match self {
            Self::Archive { files, .. } => files.iter().any(|file| file.name == name),
            Self::Dir(path) => path.join(name).is_file(),
        }
    }

    /// Whether there is a folder of that name; an archive has none.
    pub(super) fn is_dir(&self, name: &str) -> bool {
        match self {
            Self::Archive { .. } => false,
            Self::Dir(path) => path.join(name).is_dir(),
        }
    }

    /// The chart as it would be rendered.
    pub(super) fn load(&self) -> Result<Chart, LoadError> {
        match self {
            Self::Dir(path) => load::dir(path),
            Self::Archive { files, .. } => load::files(files.clone()),
        }
    }
}

/// The bytes of an archive.
fn archive(path: &Path) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let failed = |error: &std::io::Error| {
        let error = load::words(error);
        format!("unable to open tarball: open {shown}: {error}")
    };
    let found = std::fs::metadata(path).map_err(|error| failed(&error))?;
    if !found.is_file() && !found.is_dir() {
        return Err(format!(
            "unable to open tarball: {shown} is not a regular file"
        ));
    }
    bounded(path, crate::limits::MAX_PACKED).map_err(|error| failed(&error))
}

/// The bytes of a file that has no more than that many.
fn bounded(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(most + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// Whether the chart of an archive has a name that a folder may have.
fn check_name(files: &[File]) -> Result<(), String> {
    let mut name = String::new();
    for file in files.iter().filter(|file| file.name == "Chart.yaml") {
        let mut metadata: Option<Box<Metadata>> = Some(Box::default());
        read(&file.data, &mut metadata, &mut { MAX_NODES })
            .map_err(|error| format!("cannot load Chart.yaml: {error}"))?;
        name = metadata.unwrap_or_default().name;
    }
    match name.as_str() {
        "" => Err("chart name not specified".to_owned()),
        "." | ".." => Err(format!("chart name {} is not allowed", quoted(&name))),
        _ if name.contains('/') => {
            let name = quoted(&name);
            Err(format!(
                "chart name {name} must not contain path separators"
            ))
        }
        _ => Ok(()),
    }
}

/// A path without `.` and `..` where they can be told.
fn clean(path: &Path) -> String {
    use std::path::Component;
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if parts.file_name().is_some() => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    parts.to_string_lossy().into_owned()
}
