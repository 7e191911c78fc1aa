//! One line of output before it becomes text or JSON.

use std::time::Duration;

use crate::event::Level;

/// The `kind` field of a JSON line (S-7.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A line of a live run.
    Live,
    /// A line of a dry-run.
    DryRun,
    /// A step will be repeated.
    Retry,
    /// The closing line.
    Summary,
    /// A line of the target block.
    Target,
    /// A line of the plan.
    Plan,
    /// Output of a script or program.
    Output,
    /// A warning about the profile or the environment.
    Warning,
    /// A line of a cause report.
    Cause,
    /// Something that happens to a release.
    Release,
    /// The result of `notify test`.
    Notify,
    /// The final error.
    Error,
}

impl Kind {
    /// The word in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::DryRun => "dry-run",
            Self::Retry => "retry",
            Self::Summary => "command.summary",
            Self::Target => "target",
            Self::Plan => "plan",
            Self::Output => "output",
            Self::Warning => "warning",
            Self::Cause => "cause",
            Self::Release => "release",
            Self::Notify => "notify",
            Self::Error => "error",
        }
    }
}

/// The bracketed word before the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// None.
    None,
    /// `[live] `, never with a client id (S-7.8).
    Live,
    /// `[dry-run] `, with the client id.
    DryRun,
    /// `[retry] `, with the client id.
    Retry,
}

/// Which stream a line goes to (S-D.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Results and run lines.
    Stdout,
    /// Load warnings, the summary, the final error.
    Stderr,
}

/// Structured fields beside the text (S-7.7); absent ones are left out.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    /// `down` or `up`.
    pub phase: Option<&'static str>,
    /// Zero-based index in the list.
    pub step_index: Option<usize>,
    /// The reference.
    pub reference: Option<String>,
    /// Label of a hook or script.
    pub hook: Option<String>,
    /// Path of a script as written.
    pub script: Option<String>,
    /// An error text.
    pub error: Option<String>,
    /// The attempt that failed.
    pub attempt: Option<u32>,
    /// How many attempts there may be.
    pub max_attempt: Option<u32>,
    /// Pause before the next attempt, in Go's form.
    pub wait: Option<String>,
    /// `success` or `failed`.
    pub outcome: Option<&'static str>,
    /// Length of the command, in Go's form.
    pub duration: Option<String>,
    /// Further fields of target and plan lines.
    pub more: Vec<(&'static str, serde_json::Value)>,
}

/// One line, unmasked; [`super::Output`] masks it on its way out.
#[derive(Debug, Clone)]
pub struct Record {
    /// Severity.
    pub level: Level,
    /// Kind in JSON.
    pub kind: Kind,
    /// Bracketed word in text.
    pub tag: Tag,
    /// The text without prefix and tag. May hold several lines for a final error.
    pub text: String,
    /// Structured fields.
    pub fields: Fields,
    /// Where it goes.
    pub stream: Stream,
    /// In text format: without the dated prefix (S-6.1).
    pub bare: bool,
    /// Whether it is written as it is: Helm's own words, which hold no secret of a profile (S-D.2).
    pub verbatim: bool,
    /// In text: the part of `text` that the summary colours.
    pub coloured: Option<(Duration, bool)>,
}

impl Record {
    /// A prefixed line on stdout.
    pub fn line(level: Level, kind: Kind, text: impl Into<String>) -> Self {
        Self {
            level,
            kind,
            tag: Tag::None,
            text: text.into(),
            fields: Fields::default(),
            stream: Stream::Stdout,
            bare: false,
            verbatim: false,
            coloured: None,
        }
    }

    /// A bare line on stderr.
    pub fn bare(level: Level, kind: Kind, text: impl Into<String>) -> Self {
        Self {
            stream: Stream::Stderr,
            bare: true,
            ..Self::line(level, kind, text)
        }
    }

    /// A bare line on stderr that masking leaves as it is.
    pub fn verbatim(level: Level, kind: Kind, text: impl Into<String>) -> Self {
        Self {
            verbatim: true,
            ..Self::bare(level, kind, text)
        }
    }

    /// Puts a tag before the text.
    pub fn tag(mut self, tag: Tag) -> Self {
        self.tag = tag;
        self
    }
}
