//! What a kind of step accepts, as data.
//!
//! The tables live with the kinds that act on them and are handed in at load, so this crate knows shapes of options and
//! no behaviour. The same tables make the editor schema.

use crate::model::Phase;

/// One kind of step.
#[derive(Debug, Clone, Copy)]
pub struct KindSpec {
    /// The word before the first dot of a reference, such as `deployment`.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// What its names look like.
    pub name_rule: NameRule,
    /// Its own options, beside [`COMMON_OPTIONS`].
    pub options: &'static [OptionSpec],
}

/// The form of the name in a reference (S-1.29).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// DNS-1123 subdomain, at most 253 characters.
    Subdomain,
    /// The same, at most 63: the name of a Job ends in labels.
    JobName,
    /// The same, at most 52: a `CronJob` adds 11 characters for its Jobs.
    CronJobName,
    /// Helm's form: the same, at most 53.
    ReleaseName,
}

impl NameRule {
    /// The longest name.
    #[must_use]
    pub const fn max_length(self) -> usize {
        match self {
            Self::Subdomain => 253,
            Self::JobName => 63,
            Self::CronJobName => 52,
            Self::ReleaseName => 53,
        }
    }
}

/// One option of a step.
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    /// The key.
    pub name: &'static str,
    /// The form of its value.
    pub shape: Shape,
    /// The lists it acts in.
    pub phases: OptionPhases,
    /// Where it must be given.
    pub required: Required,
    /// One line for people.
    pub summary: &'static str,
}

/// The form of an option's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A non-empty path; blanks at its ends are stripped.
    Path,
    /// Non-empty text; blanks at its ends are stripped.
    Text,
    /// Any text, kept as it is.
    FreeText,
    /// `true` or `false`, unquoted.
    Bool,
    /// A duration text; `"0"` counts as not given.
    Duration,
    /// An integer from 0 to 2147483647.
    Replicas,
    /// A list of non-empty paths.
    PathList,
    /// A non-empty list of non-empty texts, kept as they are.
    ArgumentList,
}

/// The phases an option acts in; in the other one it loads with a warning (S-2.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionPhases {
    /// Both.
    Both,
    /// `up` only.
    Up,
    /// `down` only.
    Down,
}

impl OptionPhases {
    /// Whether the option acts in a phase.
    #[must_use]
    pub const fn covers(self, phase: Phase) -> bool {
        matches!(
            (self, phase),
            (Self::Both, _) | (Self::Up, Phase::Up) | (Self::Down, Phase::Down)
        )
    }
}

/// Where an option must be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Required {
    /// Nowhere.
    No,
    /// In both lists.
    Always,
    /// In an `up` list.
    OnUp,
}

/// The options of every kind and of `custom`.
pub const COMMON_OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "pre",
        shape: Shape::Path,
        phases: OptionPhases::Both,
        required: Required::No,
        summary: "script before the step",
    },
    OptionSpec {
        name: "post",
        shape: Shape::Path,
        phases: OptionPhases::Both,
        required: Required::No,
        summary: "script after the step has succeeded",
    },
    OptionSpec {
        name: "timeout",
        shape: Shape::Duration,
        phases: OptionPhases::Both,
        required: Required::No,
        summary: "time for the action with its waits, and for each script, instead of run.operation_timeout",
    },
];
