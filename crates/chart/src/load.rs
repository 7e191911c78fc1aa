//! Charts from folders and archives.
//!
//! Duty: read the files, sort them into a [`Chart`], check its metadata, and the same for the charts in
//! it. Errors have Helm's texts. Beyond Helm's own bounds (5 MiB a file, 100 MiB an archive) the whole of
//! a chart is bounded: a folder to 100 MiB, all archives together to 150 MiB, 50000 entries, 64 levels of
//! charts and 800000 nodes of YAML. Nothing is ever written.

mod archive;
mod dir;
mod sniff;

use std::collections::BTreeMap;
use std::path::Path;

use kzero_gotmpl::Str;
use serde_json::{Map, Value};

use crate::fields::read;
use crate::limits::Budget;
use crate::metadata::{Lock, Metadata};
use crate::yaml::{Target, decode_for};
use dir::Reading;

/// A chart that cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LoadError {
    message: String,
}

impl LoadError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

impl From<String> for LoadError {
    fn from(message: String) -> Self {
        Self { message }
    }
}

/// A file of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The path in its chart, with slashes.
    pub name: String,
    /// The content without a byte order mark.
    pub data: Str,
}

/// A chart as its files have it: nothing is switched off or renamed yet.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chart {
    /// Chart.yaml, cleaned and valid.
    pub metadata: Metadata,
    /// Chart.lock or requirements.lock.
    pub lock: Option<Lock>,
    /// values.yaml; empty where there is none.
    pub values: Map<String, Value>,
    /// values.yaml as it is.
    pub raw_values: Option<Str>,
    /// values.schema.json as it is.
    pub schema: Option<Str>,
    /// What is under `templates/`, in the order of the files.
    pub templates: Vec<File>,
    /// All other files, in their order.
    pub files: Vec<File>,
    /// The charts under `charts/`, by the name of their folder or archive.
    pub dependencies: Vec<Self>,
    /// Warnings of Helm: old files beside a new Chart.yaml, links out of a folder.
    pub warnings: Vec<String>,
}

/// A manifest of `crds/`, which is never a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crd<'a> {
    /// The path with the charts it is in, as in `web/charts/db/crds/x.yaml`.
    pub path: String,
    /// The file.
    pub file: &'a File,
}

impl Chart {
    /// The manifests of `crds/` of this chart and then of those in it.
    #[must_use]
    pub fn crds(&self) -> Vec<Crd<'_>> {
        let mut found = Vec::new();
        self.collect_crds(&self.metadata.name, &mut found);
        found
    }

    /// The manifests of this chart's own `crds/`.
    pub(crate) fn own_crds(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| {
            let extension = extension(&file.name).to_ascii_lowercase();
            file.name.starts_with("crds/")
                && matches!(extension.as_str(), ".yaml" | ".yml" | ".json")
        })
    }

    fn collect_crds<'a>(&'a self, path: &str, found: &mut Vec<Crd<'a>>) {
        for file in self.own_crds() {
            found.push(Crd {
                path: format!("{path}/{}", file.name),
                file,
            });
        }
        for chart in &self.dependencies {
            chart.collect_crds(&format!("{path}/charts/{}", chart.metadata.name), found);
        }
    }
}

/// Loads a chart from a folder or an archive, whichever is there.
///
/// # Errors
///
/// As [`dir`] and [`archive`], and a path that cannot be read.
pub fn path(path: &Path) -> Result<Chart, LoadError> {
    path_with(path, Reading::Now)
}

/// The same for a chart that is to be rendered: of a folder, large files that only templates may ask for are read when
/// they are looked at, as CRDs mostly are not. Those that cannot be read then are an error of the rendering;
/// [`Str::failure`] tells of them.
///
/// # Errors
///
/// As [`path`].
pub fn path_to_render(path: &Path) -> Result<Chart, LoadError> {
    path_with(path, Reading::Deferred)
}

fn path_with(path: &Path, reading: Reading) -> Result<Chart, LoadError> {
    let found = std::fs::metadata(path)
        .map_err(|error| LoadError::new(format!("stat {}: {}", path.display(), words(&error))))?;
    if found.is_dir() {
        dir_with(path, reading)
    } else {
        archive(path)
    }
}

/// Loads a chart from a folder: its files in order of their names, but those that `.helmignore` leaves
/// out. Links are followed, wherever they lead.
///
/// # Errors
///
/// A broken `.helmignore`; files that are too large, no plain files, or cannot be read; what [`files`]
/// refuses; more than there may be.
pub fn dir(path: &Path) -> Result<Chart, LoadError> {
    dir_with(path, Reading::Now)
}

fn dir_with(path: &Path, reading: Reading) -> Result<Chart, LoadError> {
    let mut budget = Budget::new();
    let (files, mut warnings) = dir::read(path, reading, &mut budget)?;
    let mut chart = build(files, &mut budget)?;
    warnings.append(&mut chart.warnings);
    chart.warnings = warnings;
    Ok(chart)
}

/// Loads a chart from an archive file (`.tgz`).
///
/// # Errors
///
/// A file that cannot be read or is no archive; what [`archive_bytes`] refuses.
pub fn archive(path: &Path) -> Result<Chart, LoadError> {
    let shown = path.display();
    let bytes = archive::file(path)?;
    archive_bytes(&bytes).map_err(|error| {
        if error.message == archive::NO_GZIP {
            LoadError::new(format!(
                "file '{shown}' does not appear to be a valid chart file (details: {error})"
            ))
        } else {
            error
        }
    })
}

/// Loads a chart from the bytes of an archive.
///
/// # Errors
///
/// A broken archive; paths that lead out of it; more than there may be; what [`files`] refuses.
pub fn archive_bytes(bytes: &[u8]) -> Result<Chart, LoadError> {
    let mut budget = Budget::new();
    let files = archive::read(bytes, &mut budget)?;
    build(files, &mut budget)
}

/// The files of the bytes of an archive, with names relative to the chart.
pub(crate) fn archive_files(bytes: &[u8]) -> Result<Vec<File>, LoadError> {
    archive::read(bytes, &mut Budget::new())
}

/// Puts a chart together from files, whose names are relative to it.
///
/// # Errors
///
/// No Chart.yaml; YAML that does not read; metadata that is not valid; the same in a chart of `charts/`.
pub fn files(files: Vec<File>) -> Result<Chart, LoadError> {
    build(files, &mut Budget::new())
}

/// A byte order mark.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// A text without a byte order mark.
fn unmarked(mut data: Vec<u8>) -> Vec<u8> {
    if data.starts_with(MARK) {
        data.drain(..MARK.len());
    }
    data
}

/// Whether a file of this name in a chart is read while the chart is put together.
fn is_read_by_loader(name: &str) -> bool {
    matches!(
        name,
        "Chart.yaml"
            | "Chart.lock"
            | "values.yaml"
            | "values.schema.json"
            | "requirements.yaml"
            | "requirements.lock"
    )
}

/// What follows the last dot of the last name of a path, with the dot.
fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rfind('.').and_then(|at| name.get(at..)).unwrap_or("")
}

/// An error of the system in Go's words: lower case, without a number.
#[must_use]
pub fn words(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}

fn in_file(name: &str, error: &str) -> LoadError {
    LoadError::new(format!("cannot load {name}: {error}"))
}

fn lock_of(file: &File, budget: &mut Budget) -> Result<Option<Lock>, LoadError> {
    let mut lock = Some(Box::new(Lock::default()));
    let some = read(&file.data, &mut lock, &mut budget.nodes)
        .map_err(|error| in_file(&file.name, &error))?;
    Ok(lock.filter(|_| some).map(|lock| *lock))
}

fn values_of(file: &File, budget: &mut Budget) -> Result<Map<String, Value>, LoadError> {
    decode_for(&file.data, &Target::Any, &mut budget.nodes)
        .map_err(|error| format!("error converting YAML to JSON: {error}"))
        .and_then(|value| crate::values::table(value, "map[string]interface {}"))
        .map_err(|error| in_file(&file.name, &error))
}

/// Reads a file over the metadata.
fn metadata_of(
    file: &File,
    metadata: &mut Option<Box<Metadata>>,
    budget: &mut Budget,
) -> Result<(), LoadError> {
    metadata.get_or_insert_default();
    read(&file.data, metadata, &mut budget.nodes).map_err(|error| in_file(&file.name, &error))?;
    Ok(())
}

fn build(files: Vec<File>, budget: &mut Budget) -> Result<Chart, LoadError> {
    let mut chart = Chart::default();
    // Before all others, as some of them ask for the version of the format.
    let mut metadata = None;
    for file in files.iter().filter(|file| file.name == "Chart.yaml") {
        metadata_of(file, &mut metadata, budget)?;
        if let Some(metadata) = &mut metadata
            && metadata.api_version.is_empty()
        {
            "v1".clone_into(&mut metadata.api_version);
        }
    }
    let mut inner: BTreeMap<String, Vec<File>> = BTreeMap::new();
    for file in files {
        let old = |metadata: &mut Option<Box<Metadata>>| {
            metadata.get_or_insert_default().api_version == "v1"
        };
        match file.name.as_str() {
            "Chart.yaml" => {}
            "Chart.lock" => chart.lock = lock_of(&file, budget)?,
            "values.yaml" => {
                chart.values = values_of(&file, budget)?;
                chart.raw_values = Some(file.data);
            }
            "values.schema.json" => chart.schema = Some(file.data),
            "requirements.yaml" => {
                if !old(&mut metadata) {
                    chart.warnings.push("Warning: Dependencies are handled in Chart.yaml since apiVersion \"v2\". We recommend migrating dependencies to Chart.yaml.".to_owned());
                }
                metadata_of(&file, &mut metadata, budget)?;
                if old(&mut metadata) {
                    chart.files.push(file);
                }
            }
            "requirements.lock" => {
                chart.lock = lock_of(&file, budget)?;
                if old(&mut metadata) {
                    chart.files.push(file);
                } else {
                    chart.warnings.push("Warning: Dependency locking is handled in Chart.lock since apiVersion \"v2\". We recommend migrating to Chart.lock.".to_owned());
                }
            }
            name if name.starts_with("templates/") => chart.templates.push(file),
            name if name.starts_with("charts/") && extension(name) != ".prov" => {
                let name = name.strip_prefix("charts/").unwrap_or(name);
                let first = name.split('/').next().unwrap_or(name).to_owned();
                let file = File {
                    name: name.to_owned(),
                    data: file.data,
                };
                inner.entry(first).or_default().push(file);
            }
            _ => chart.files.push(file),
        }
    }
    chart.metadata = *metadata.ok_or_else(|| LoadError::new("Chart.yaml file is missing"))?;
    chart.metadata.validate()?;
    budget.enter()?;
    for (name, files) in inner {
        if name.starts_with(['_', '.']) {
            continue;
        }
        let parent = &chart.metadata.name;
        let loaded = if extension(&name) == ".tgz" {
            // What has the name of an archive must be one.
            if let Some(other) = files.first().filter(|file| file.name != name) {
                return Err(LoadError::new(format!(
                    "error unpacking subchart tar in {parent}: expected {name}, got {}",
                    other.name
                )));
            }
            let data = files.into_iter().next().map(|file| file.data);
            archive::read(&data.unwrap_or_default(), budget).and_then(|files| build(files, budget))
        } else {
            let inside = files.into_iter().filter_map(|file| {
                let (_, rest) = file.name.split_once('/')?;
                Some(File {
                    name: rest.to_owned(),
                    data: file.data,
                })
            });
            build(inside.collect(), budget)
        };
        let mut loaded = loaded.map_err(|error| {
            LoadError::new(format!(
                "error unpacking subchart {name} in {parent}: {error}"
            ))
        })?;
        chart.warnings.append(&mut loaded.warnings);
        chart.dependencies.push(loaded);
    }
    budget.leave();
    Ok(chart)
}
