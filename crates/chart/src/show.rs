//! What `helm show` prints of a chart.
//!
//! Duty: the bytes of its definition, values, README and CRDs. Nothing is rendered.

use crate::load::{Chart, File};
use crate::pack;

/// Which part of a chart is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of them, with `---` between them.
    All,
    /// Chart.yaml as Helm writes it.
    Chart,
    /// values.yaml as it is.
    Values,
    /// README.md, README.txt or README, whichever comes first among the files; case does not matter.
    Readme,
    /// What is in `crds/`, of the charts within too.
    Crds,
}

/// The bytes that are shown; none where a chart has no such part.
///
/// # Errors
///
/// Only for metadata that YAML has no form for, which [`crate::load`] never makes.
pub fn show(chart: &Chart, part: Part) -> Result<Vec<u8>, String> {
    let shows = |one| part == Part::All || part == one;
    let separator = if part == Part::All { "---\n" } else { "" };
    let mut out = Vec::new();
    if shows(Part::Chart) {
        line(&mut out, pack::chart_yaml(chart)?.as_bytes());
    }
    if shows(Part::Values)
        && let Some(values) = &chart.raw_values
    {
        out.extend_from_slice(separator.as_bytes());
        line(&mut out, values);
    }
    if shows(Part::Readme)
        && let Some(readme) = chart.files.iter().find(|file| is_readme(file))
    {
        out.extend_from_slice(separator.as_bytes());
        line(&mut out, &readme.data);
    }
    if shows(Part::Crds) {
        let crds = chart.crds();
        if crds
            .first()
            .is_some_and(|crd| !crd.file.data.starts_with(b"---"))
        {
            out.extend_from_slice(separator.as_bytes());
        }
        for crd in crds {
            line(&mut out, &crd.file.data);
        }
    }
    Ok(out)
}

fn line(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.push(b'\n');
}

fn is_readme(file: &File) -> bool {
    let name = file.name.to_lowercase();
    matches!(name.as_str(), "readme.md" | "readme.txt" | "readme")
}
