//! Charts against what Helm's linter expects of them.
//!
//! Duty: the rules of `helm lint` of Helm 3.22, in its order and words: Chart.yaml, values.yaml, templates, dependencies.
//! Templates are rendered for it in [`Mode::Lint`], where `required` and `fail` only leave a note.
//!
//! Where Helm unpacks an archive into a temporary folder, an archive is read in memory here; messages name the archive
//! instead of the folder, and `.helmignore` of an archive, which has done its work, is not applied again.

mod chartfile;
mod dependencies;
mod deprecated;
mod names;
mod objects;
mod source;
mod templates;
mod urls;
mod values;

use std::fmt;
use std::path::Path;

use kzero_gotmpl::Ambient;
use serde_json::{Map, Value};

use crate::render::{KubeVersion, Mode};
use crate::schema::Fetch;
use source::Source;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something worth knowing.
    Info,
    /// Against the rules, but it will likely work.
    Warning,
    /// It will likely not work.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
        })
    }
}

/// What the linter found. Displays as Helm prints it: `[ERROR] Chart.yaml: name is required`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// How bad it is.
    pub severity: Severity,
    /// The file or folder of the chart, or of the disk; may be empty.
    pub path: String,
    /// What it is.
    pub text: String,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}: {}", self.severity, self.path, self.text)
    }
}

/// All that was found in one chart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// In the order of the rules.
    pub messages: Vec<Message>,
    /// What Helm logs meanwhile: warnings of loading and values, what `required` and `fail` said.
    pub notes: Vec<String>,
}

impl Report {
    /// The worst that was found.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.messages.iter().map(|message| message.severity).max()
    }

    /// Adds a message if there is something to say, and tells whether there was not.
    fn rule(&mut self, severity: Severity, path: &str, result: Result<(), String>) -> bool {
        match result {
            Ok(()) => true,
            Err(text) => {
                self.messages.push(Message {
                    severity,
                    path: path.to_owned(),
                    text,
                });
                false
            }
        }
    }

    fn error(&mut self, path: &str, result: Result<(), String>) -> bool {
        self.rule(Severity::Error, path, result)
    }

    fn warning(&mut self, path: &str, result: Result<(), String>) -> bool {
        self.rule(Severity::Warning, path, result)
    }

    fn info(&mut self, path: &str, result: Result<(), String>) -> bool {
        self.rule(Severity::Info, path, result)
    }
}

/// What a chart is linted for.
pub struct Options<'a> {
    /// The namespace that templates see.
    pub namespace: String,
    /// The version that templates see and that APIs are judged by; that of
    /// [`Capabilities`](crate::render::Capabilities) where there is none.
    pub kube_version: Option<KubeVersion>,
    /// Whether templates are rendered with values that do not fit the schemas. The rule of values.yaml, which
    /// looks at the schema of the chart itself, holds nevertheless, as in Helm.
    pub skip_schema_validation: bool,
    /// Clock, randomness and name service of templates.
    pub ambient: &'a dyn Ambient,
    /// How schemas elsewhere are reached.
    pub fetch: &'a dyn Fetch,
}

/// Lints a chart in a folder or an archive (`.tgz`, `.tar.gz`), with values over its own. A relative path is as seen
/// from the current folder.
///
/// # Errors
///
/// There is no chart, or the archive is none; then nothing is linted.
pub fn lint(
    path: &Path,
    values: &Map<String, Value>,
    options: &Options<'_>,
) -> Result<Report, String> {
    let source = Source::open(path)?;
    let mut report = Report::default();
    chartfile::check(&source, &mut report);
    values::check(&source, values, options.fetch, &mut report);
    let chart = source.load();
    templates::check(&source, &chart, values, options, &mut report);
    dependencies::check(&source, &chart, &mut report);
    if let Ok(chart) = &chart {
        report.notes.splice(0..0, chart.warnings.iter().cloned());
    }
    Ok(report)
}

/// How templates are rendered.
const MODE: Mode = Mode::Lint;
