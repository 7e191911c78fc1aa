//! `helm history`.

use serde::Serialize;

use super::{Format, ShowError, shown, table::table, time};
use crate::revision::Revision;

#[derive(Serialize)]
struct Row<'a> {
    revision: i64,
    updated: String,
    status: &'static str,
    chart: String,
    app_version: &'a str,
    description: &'a str,
}

/// The newest `max` of a release's revisions, which are given with the oldest first.
///
/// # Errors
///
/// Characters that YAML has no place for.
pub fn history(revisions: &[Revision], max: usize, format: Format) -> Result<String, ShowError> {
    let newest = revisions.get(revisions.len().saturating_sub(max)..);
    let newest = newest.unwrap_or_default();
    let rows: Vec<Row<'_>> = newest
        .iter()
        .map(|revision| Row {
            revision: revision.version,
            updated: revision
                .info
                .last_deployed
                .map_or(String::new(), |time| time.to_string()),
            status: revision.info.status.word(),
            chart: revision.chart_label(),
            app_version: revision.app_version(),
            description: &revision.info.description,
        })
        .collect();
    shown(&rows, format, || Ok(as_table(newest, &rows)))
}

fn as_table(revisions: &[Revision], rows: &[Row<'_>]) -> String {
    let names = [
        "REVISION",
        "UPDATED",
        "STATUS",
        "CHART",
        "APP VERSION",
        "DESCRIPTION",
    ];
    let mut cells = vec![names.map(str::to_owned)];
    cells.extend(revisions.iter().zip(rows).map(|(revision, row)| {
        [
            row.revision.to_string(),
            time::ansi_c(revision.info.last_deployed),
            row.status.to_owned(),
            row.chart.clone(),
            row.app_version.to_owned(),
            row.description.to_owned(),
        ]
    }));
    table(&cells)
}
