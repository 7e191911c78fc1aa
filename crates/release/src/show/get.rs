//! `helm get` and its parts.

use std::collections::BTreeMap;
use std::fmt::Write;

use kzero_chart::Chart;
use kzero_chart::render::Prepared;
use serde::Serialize;
use serde_json::{Map, Value};

use super::status::{StatusParts, status};
use super::{Format, ShowError, shown, time, yaml};
use crate::revision::{Revision, StoredDependency, StoredMetadata};

/// All of a revision: its status, values, hooks, manifest and notes.
///
/// # Errors
///
/// Values that do not fit together, and characters that YAML has no place for.
pub fn all(revision: &Revision) -> Result<String, ShowError> {
    let parts = StatusParts {
        metadata: true,
        everything: true,
        ..StatusParts::default()
    };
    status(revision, parts, Format::Table)
}

/// The documents that are no hooks.
#[must_use]
pub fn manifest(revision: &Revision) -> String {
    format!("{}\n", revision.manifest)
}

/// The hooks, each under the path of its file.
#[must_use]
pub fn hooks(revision: &Revision) -> String {
    let mut out = String::new();
    for hook in &revision.hooks {
        // Writing to a text does not fail.
        let _ = writeln!(out, "---\n# Source: {}\n{}", hook.path, hook.manifest);
    }
    out
}

/// The notes; nothing where there are none.
#[must_use]
pub fn notes(revision: &Revision) -> String {
    let notes = &revision.info.notes;
    if notes.is_empty() {
        return String::new();
    }
    format!("NOTES:\n{notes}\n")
}

/// The values that the user gave, or with `all` those that templates saw.
///
/// # Errors
///
/// Values that do not fit together, and characters that YAML has no place for.
pub fn values(revision: &Revision, all: bool, format: Format) -> Result<String, ShowError> {
    let (title, values) = if all {
        ("COMPUTED VALUES:", Some(computed_values(revision)?))
    } else {
        ("USER-SUPPLIED VALUES:", given(revision).cloned())
    };
    shown(&values, format, || {
        Ok(format!("{title}\n{}", yaml(&values)?))
    })
}

/// The given values; a record does not tell an empty table from none.
pub(super) fn given(revision: &Revision) -> Option<&Map<String, Value>> {
    (!revision.config.is_empty()).then_some(&revision.config)
}

/// The values that the user gave over those of the chart.
///
/// # Errors
///
/// Values that do not fit together.
pub fn computed_values(revision: &Revision) -> Result<Map<String, Value>, ShowError> {
    let failed = |error: kzero_chart::render::RenderError| ShowError {
        format: "YAML",
        why: error.to_string(),
    };
    let mut chart = Chart::default();
    if let Some(stored) = &revision.chart {
        // The values of the charts in it are among its own, so they are not named here.
        chart.metadata.name.clone_from(&stored.metadata().name);
        chart.values = stored.values();
    }
    let prepared = Prepared::new(&chart, &revision.config).map_err(failed)?;
    prepared.values().map_err(failed)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    name: &'a str,
    chart: &'a str,
    version: &'a str,
    app_version: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    dependencies: &'a [StoredDependency],
    namespace: &'a str,
    revision: i64,
    status: &'static str,
    deployed_at: String,
}

/// What is known of a revision without its content.
///
/// # Errors
///
/// Characters that YAML has no place for.
pub fn metadata(revision: &Revision, format: Format) -> Result<String, ShowError> {
    let chart = chart_metadata(revision);
    let metadata = Metadata {
        name: &revision.name,
        chart: &chart.name,
        version: &chart.version,
        app_version: &chart.app_version,
        annotations: &chart.annotations,
        dependencies: &chart.dependencies,
        namespace: &revision.namespace,
        revision: revision.version,
        status: revision.info.status.word(),
        deployed_at: time::rfc_3339(revision.info.last_deployed),
    };
    shown(&metadata, format, || Ok(metadata_text(&metadata)))
}

fn metadata_text(metadata: &Metadata<'_>) -> String {
    let annotations = metadata.annotations.iter();
    let annotations: Vec<String> = annotations
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let mut dependencies: Vec<&str> = metadata
        .dependencies
        .iter()
        .map(|dependency| dependency.name.as_str())
        .collect();
    dependencies.sort_unstable();
    let revision = metadata.revision.to_string();
    let lines = [
        ("NAME", metadata.name),
        ("CHART", metadata.chart),
        ("VERSION", metadata.version),
        ("APP_VERSION", metadata.app_version),
        ("ANNOTATIONS", &annotations.join(",")),
        ("DEPENDENCIES", &dependencies.join(",")),
        ("NAMESPACE", metadata.namespace),
        ("REVISION", &revision),
        ("STATUS", metadata.status),
        ("DEPLOYED_AT", &metadata.deployed_at),
    ];
    lines
        .iter()
        .map(|(name, value)| format!("{name}: {value}\n"))
        .collect()
}

/// The definition of the chart; empty where the record lost it.
pub(super) fn chart_metadata(revision: &Revision) -> StoredMetadata {
    let chart = revision.chart.as_ref();
    chart.map_or(StoredMetadata::default(), |chart| chart.metadata().clone())
}
