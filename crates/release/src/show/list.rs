//! `helm list`.

use jiff::tz::TimeZone;
use serde::Serialize;

use super::{Format, ShowError, shown, table::table, time};
use crate::revision::Revision;

/// How the columns of a list look.
#[derive(Clone, Debug)]
pub struct ListColumns {
    /// Times by a layout of Go; none for Go's own form.
    pub time_format: Option<String>,
    /// The zone whose times have its name behind them.
    pub zone: TimeZone,
    /// Whether a table begins with the names of the columns.
    pub headers: bool,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    namespace: &'a str,
    revision: String,
    updated: String,
    status: &'static str,
    chart: String,
    app_version: &'a str,
}

/// Revisions of different releases, one a line.
///
/// # Errors
///
/// Characters that YAML has no place for.
pub fn list(
    revisions: &[Revision],
    columns: &ListColumns,
    format: Format,
) -> Result<String, ShowError> {
    let rows: Vec<Row<'_>> = revisions
        .iter()
        .map(|revision| Row {
            name: &revision.name,
            namespace: &revision.namespace,
            revision: revision.version.to_string(),
            updated: updated(revision, columns),
            status: revision.info.status.word(),
            chart: revision.chart_label(),
            app_version: revision.app_version(),
        })
        .collect();
    shown(&rows, format, || Ok(as_table(&rows, columns.headers)))
}

fn updated(revision: &Revision, columns: &ListColumns) -> String {
    match (revision.info.last_deployed, &columns.time_format) {
        (None, _) => "-".to_owned(),
        (at, Some(layout)) => time::by_layout(at, layout),
        (Some(at), None) => time::in_full(at, &columns.zone),
    }
}

fn as_table(rows: &[Row<'_>], headers: bool) -> String {
    let names = [
        "NAME",
        "NAMESPACE",
        "REVISION",
        "UPDATED",
        "STATUS",
        "CHART",
        "APP VERSION",
    ];
    let mut cells = Vec::with_capacity(rows.len() + 1);
    if headers {
        cells.push(names.map(str::to_owned));
    }
    cells.extend(rows.iter().map(|row| {
        [
            row.name.to_owned(),
            row.namespace.to_owned(),
            row.revision.clone(),
            row.updated.clone(),
            row.status.to_owned(),
            row.chart.clone(),
            row.app_version.to_owned(),
        ]
    }));
    table(&cells)
}

/// The names alone, as `--short` prints them.
///
/// # Errors
///
/// None for names that releases can have.
pub fn names(revisions: &[Revision], format: Format) -> Result<String, ShowError> {
    let names: Vec<&str> = revisions
        .iter()
        .map(|revision| revision.name.as_str())
        .collect();
    let lines = || names.iter().map(|name| format!("{name}\n")).collect();
    shown(&names, format, || Ok(lines()))
}
