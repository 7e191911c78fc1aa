//! `chart lint`: faults of charts.

use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

use clap::Args;
use kzero_chart::lint::{Options, Report, Severity, lint};
use kzero_chart::render::KubeVersion;

use super::schemas::Schemas;
use super::values::ValueFlags;
use crate::ambient::System;
use crate::cli::app::App;

/// `chart lint`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct LintArgs {
    /// Folders or archives of charts.
    #[arg(value_name = "CHART", default_value = ".")]
    charts: Vec<PathBuf>,
    /// Namespace that templates see.
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Fail on warnings too.
    #[arg(long)]
    strict: bool,
    /// Look at the charts in charts/ too.
    #[arg(long)]
    with_subcharts: bool,
    /// Print only warnings and errors.
    #[arg(long)]
    quiet: bool,
    /// Do not check values against the schemas of charts.
    #[arg(long)]
    skip_schema_validation: bool,
    /// Version of Kubernetes that templates see, and that APIs are judged by.
    #[arg(long, value_name = "VERSION")]
    kube_version: Option<String>,
    #[command(flatten)]
    values: ValueFlags,
}

/// Prints what is found.
pub(super) fn run(app: &App, arguments: &LintArgs) -> Result<(), String> {
    let version = arguments.kube_version.as_deref();
    let kube_version = version
        .filter(|version| !version.is_empty())
        .map(|version| {
            KubeVersion::parse(version)
                .map_err(|error| format!("invalid kube version '{version}': {error}"))
        })
        .transpose()?;
    let mut paths = arguments.charts.clone();
    if arguments.with_subcharts {
        for path in &arguments.charts {
            subcharts(&path.join("charts"), &mut paths);
        }
    }
    let namespace = super::namespace(app, arguments.namespace.as_deref());
    let values = arguments.values.merge(app)?;
    let options = Options {
        namespace,
        kube_version,
        skip_schema_validation: arguments.skip_schema_validation,
        ambient: &System::default(),
        fetch: &Schemas { app },
    };
    let mut text = String::new();
    let mut counts = Counts::default();
    for path in &paths {
        let result = lint(path, &values, &options);
        for note in result.iter().flat_map(|report| &report.notes) {
            app.warn(note);
        }
        counts.add(arguments, &result);
        if !arguments.quiet || noteworthy(&result) {
            print(&mut text, path, arguments.quiet, &result);
        }
    }
    app.output.result(&text);
    let summary = format!(
        "{} chart(s) linted, {} chart(s) failed",
        paths.len(),
        counts.failed
    );
    if counts.failed > 0 {
        return Err(summary);
    }
    if !arguments.quiet || counts.noteworthy > 0 {
        app.output.result(&format!("{summary}\n"));
    }
    Ok(())
}

#[derive(Default)]
struct Counts {
    failed: usize,
    noteworthy: usize,
}

impl Counts {
    fn add(&mut self, arguments: &LintArgs, result: &Result<Report, String>) {
        let tolerated = if arguments.strict {
            Severity::Info
        } else {
            Severity::Warning
        };
        let failed = match result {
            Ok(report) => report.worst().is_some_and(|worst| worst > tolerated),
            Err(_) => true,
        };
        self.failed += usize::from(failed);
        self.noteworthy += usize::from(noteworthy(result));
    }
}

/// Whether there is a warning or an error.
fn noteworthy(result: &Result<Report, String>) -> bool {
    match result {
        Ok(report) => report.worst() > Some(Severity::Info),
        Err(_) => true,
    }
}

fn print(text: &mut String, path: &Path, quiet: bool, result: &Result<Report, String>) {
    let _ = writeln!(text, "==> Linting {}", path.display());
    match result {
        Ok(report) => {
            let shown = |severity| !quiet || severity > Severity::Info;
            for message in report.messages.iter().filter(|found| shown(found.severity)) {
                let _ = writeln!(text, "{message}");
            }
        }
        Err(error) => {
            let _ = writeln!(text, "Error {error}");
        }
    }
    text.push('\n');
}

/// The charts under a folder, in order of their paths: folders with a Chart.yaml, and archives.
fn subcharts(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.to_string_lossy();
        if path.file_name().is_some_and(|name| name == "Chart.yaml") {
            found.push(clean(folder));
        } else if name.ends_with(".tgz") || name.ends_with(".tar.gz") {
            found.push(clean(&path));
        }
        // Links to folders are not followed, so that there is an end.
        if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            subcharts(&path, found);
        }
    }
}

/// A path without the dots that lead nowhere.
fn clean(path: &Path) -> PathBuf {
    let parts = path.components();
    parts
        .filter(|part| !matches!(part, Component::CurDir))
        .collect()
}
