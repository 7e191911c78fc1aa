//! `helm status`, which is also what install and upgrade print at their end.

use std::fmt::Write;

use super::{Format, ShowError, get, shown, time, yaml};
use crate::revision::{Revision, StoredHook};

/// Which parts a status has as text, beside those it always has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusParts<'a> {
    /// The description.
    pub description: bool,
    /// Name and versions of the chart.
    pub metadata: bool,
    /// Values, hooks and manifest. They are shown after a dry run in any case, but for the values.
    pub everything: bool,
    /// No notes.
    pub hide_notes: bool,
    /// Tables of the objects, ready to be printed; none where they were not asked for.
    pub resources: Option<&'a str>,
}

/// What a revision is and what became of it.
///
/// # Errors
///
/// Characters that YAML has no place for.
pub fn status(
    revision: &Revision,
    parts: StatusParts<'_>,
    format: Format,
) -> Result<String, ShowError> {
    shown(&revision.without_chart(), format, || text(revision, parts))
}

fn text(revision: &Revision, parts: StatusParts<'_>) -> Result<String, ShowError> {
    let info = &revision.info;
    let mut out = String::new();
    line(&mut out, "NAME", &revision.name);
    if info.last_deployed.is_some() {
        line(&mut out, "LAST DEPLOYED", &time::ansi_c(info.last_deployed));
    }
    line(&mut out, "NAMESPACE", &revision.namespace);
    line(&mut out, "STATUS", info.status.word());
    line(&mut out, "REVISION", &revision.version.to_string());
    if parts.metadata {
        let metadata = get::chart_metadata(revision);
        line(&mut out, "CHART", &metadata.name);
        line(&mut out, "VERSION", &metadata.version);
        line(&mut out, "APP_VERSION", &metadata.app_version);
    }
    if parts.description {
        line(&mut out, "DESCRIPTION", &info.description);
    }
    if let Some(resources) = parts.resources.filter(|tables| !tables.is_empty()) {
        out.push_str(&format!("RESOURCES:\n{resources}\n"));
    }
    tests(&mut out, &revision.hooks);
    if parts.everything {
        let given = get::given(revision);
        out.push_str(&format!("USER-SUPPLIED VALUES:\n{}\n", yaml(&given)?));
        let computed = get::computed_values(revision)?;
        out.push_str(&format!("COMPUTED VALUES:\n{}\n", yaml(&computed)?));
    }
    if parts.everything || info.description.eq_ignore_ascii_case("Dry run complete") {
        out.push_str(&format!("HOOKS:\n{}", get::hooks(revision)));
        out.push_str(&format!("MANIFEST:\n{}\n", revision.manifest));
    }
    if !parts.hide_notes && !info.notes.is_empty() {
        out.push_str(&format!("NOTES:\n{}\n", info.notes.trim()));
    }
    Ok(out)
}

fn line(out: &mut String, name: &str, value: &str) {
    // Writing to a text does not fail.
    let _ = writeln!(out, "{name}: {value}");
}

/// How the tests went that were run.
fn tests(out: &mut String, hooks: &[StoredHook]) {
    let mut tests = hooks.iter().filter(|hook| hook.runs_at("test")).peekable();
    if tests.peek().is_none() {
        out.push_str("TEST SUITE: None\n");
    }
    for hook in tests.filter(|hook| hook.last_run.started_at.is_some()) {
        let run = hook.last_run;
        let _ = write!(
            out,
            "TEST SUITE:     {}\nLast Started:   {}\nLast Completed: {}\nPhase:          {}\n",
            hook.name,
            time::ansi_c(run.started_at),
            time::ansi_c(run.completed_at),
            run.phase.word()
        );
    }
}
