//! `dependency list`: what a chart needs and whether it is there.

use std::fs;
use std::path::{Path, PathBuf};

use kzero_chart::metadata::Dependency;
use kzero_chart::{Chart, load};
use kzero_gotmpl::semver::{Constraint, Version};

use crate::client::Console;
use crate::error::Error;
use crate::path::{cleaned, joined};
use crate::quote::quoted;

/// Prints a table of the dependencies of a chart, folder or archive, and warnings about charts in `charts/`
/// that it does not name. No column is wider than `width` characters; 0 is no bound.
///
/// # Errors
///
/// The chart cannot be loaded.
pub fn list(chart: &Path, width: usize, console: &dyn Console) -> Result<(), Error> {
    let path = cleaned(chart);
    let chart = load::path(&path)?;
    for warning in &chart.warnings {
        console.note(warning);
    }
    let Some(entries) = super::entries(&chart.metadata) else {
        let inner = joined(&path, "charts");
        console.print(&format!(
            "WARNING: no dependencies at {}\n",
            inner.display()
        ));
        return Ok(());
    };
    let mut rows = vec![["NAME", "VERSION", "REPOSITORY", "STATUS"].map(str::to_owned)];
    rows.extend(entries.iter().map(|entry| {
        let status = status(&path, entry, &chart).to_owned();
        [
            entry.name.clone(),
            entry.version.clone(),
            entry.repository.clone(),
            status,
        ]
    }));
    console.print(&format!("{}\n\n", table(&rows, width)));
    for warning in strangers(&path, &entries) {
        console.print(&warning);
    }
    Ok(())
}

/// What is in `charts/`, in the order of the names.
fn inside(chart: &Path) -> Vec<PathBuf> {
    let folder = joined(chart, "charts");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| folder.join(entry.file_name()))
        .collect();
    paths.sort();
    paths
}

/// Whether a dependency is there: as an archive, else as a folder.
fn status(path: &Path, entry: &Dependency, parent: &Chart) -> &'static str {
    let prefix = format!("{}-", entry.name);
    let version_of = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?;
        Some(name.strip_prefix(&prefix)?.strip_suffix(".tgz")?.to_owned())
    };
    let archives: Vec<(PathBuf, String)> = inside(path)
        .into_iter()
        .filter_map(|path| {
            let version = version_of(&path)?;
            Some((path, version))
        })
        .collect();
    // Of several archives those count whose names are full versions.
    let full: Vec<&(PathBuf, String)> = match archives.len() {
        0 | 1 => archives.iter().collect(),
        _ => archives
            .iter()
            .filter(|(_, version)| is_full(version))
            .collect(),
    };
    match full.as_slice() {
        [] => {}
        [(archive, _)] => {
            if fs::metadata(archive).is_ok() {
                return archive_status(archive, entry);
            }
        }
        _ => return "too many matches",
    }
    let child = parent
        .dependencies
        .iter()
        .rfind(|child| child.metadata.name == entry.name);
    match child {
        None => "missing",
        Some(child) => version_status(&child.metadata.version, entry).unwrap_or("unpacked"),
    }
}

fn archive_status(archive: &Path, entry: &Dependency) -> &'static str {
    match load::path(archive) {
        Err(_) => "corrupt",
        Ok(chart) if chart.metadata.name != entry.name => "misnamed",
        Ok(chart) => version_status(&chart.metadata.version, entry).unwrap_or("ok"),
    }
}

/// What is wrong with a version, if anything is.
fn version_status(found: &str, entry: &Dependency) -> Option<&'static str> {
    if found == entry.version {
        return None;
    }
    match (Constraint::parse(&entry.version), Version::parse(found)) {
        (Ok(wanted), Ok(found)) => (!wanted.check(&found)).then_some("wrong version"),
        _ => Some("invalid version"),
    }
}

fn is_full(text: &str) -> bool {
    let core = text.split(['-', '+']).next().unwrap_or_default();
    core.split('.').count() == 3 && !text.starts_with('v') && Version::parse(text).is_ok()
}

/// Charts that nobody asked for.
fn strangers(path: &Path, entries: &[Dependency]) -> Vec<String> {
    let mut warnings = Vec::new();
    for path in inside(path) {
        let shown = quoted(&path.display().to_string());
        let is_dir = match fs::metadata(&path) {
            Ok(found) => found.is_dir(),
            Err(error) => {
                let error = Error::path("stat", &path, &error);
                warnings.push(format!("Warning: {error}\n"));
                continue;
            }
        };
        if !is_dir && path.extension().is_none_or(|extension| extension != "tgz") {
            continue;
        }
        match load::path(&path) {
            Err(_) => warnings.push(format!("WARNING: {shown} is not a chart.\n")),
            Ok(chart)
                if !entries
                    .iter()
                    .any(|entry| entry.name == chart.metadata.name) =>
            {
                warnings.push(format!("WARNING: {shown} is not in Chart.yaml.\n"));
            }
            Ok(_) => {}
        }
    }
    warnings
}

/// Rows with columns of equal width and tabs between them.
fn table(rows: &[[String; 4]], width: usize) -> String {
    let bound = |length: usize| {
        if width == 0 {
            length
        } else {
            length.min(width)
        }
    };
    let mut widths = [0; 4];
    for row in rows {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = (*widest).max(bound(cell.chars().count()));
        }
    }
    let lines = rows.iter().map(|row| {
        let cells = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| resized(cell, width));
        cells.collect::<Vec<_>>().join("\t")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A cell filled up with blanks, or cut with three dots at its end.
fn resized(cell: &str, width: usize) -> String {
    let length = cell.chars().count();
    if width == 0 || length <= width {
        return format!("{cell:<width$}");
    }
    // One character is kept even where the dots alone are too wide.
    let kept = width.saturating_sub(3).max(1);
    let start: String = cell.chars().take(kept).collect();
    format!("{start}...")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_helms() {
        let rows = [
            ["NAME", "VERSION", "REPOSITORY", "STATUS"],
            ["alpha", "1", "", "ok"],
        ];
        let rows = rows.map(|row| row.map(str::to_owned));
        assert_eq!(
            table(&rows, 80),
            "NAME \tVERSION\tREPOSITORY\tSTATUS\nalpha\t1      \t          \tok    "
        );
        assert_eq!(
            table(&rows, 6),
            "NAME \tVER...\tREP...\tSTATUS\nalpha\t1     \t      \tok    "
        );
        assert_eq!(resized("abcdef", 2), "a...");
    }
}
