//! Hooks as records keep them.

use kzero_chart::manifest::Hook;

use super::time::Time;

/// A document that is run at certain events, and how its last run went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredHook {
    /// `metadata.name`.
    pub name: String,
    /// `kind`.
    pub kind: String,
    /// The path of its file, with those of the charts it is in.
    pub path: String,
    /// The document.
    pub manifest: String,
    /// When it is run, in Helm's words, such as `pre-install`.
    pub events: Vec<String>,
    /// How the last run went.
    pub last_run: HookRun,
    /// Lower ones are run first.
    pub weight: i64,
    /// When it is deleted; words that are unknown too.
    pub delete_policies: Vec<String>,
    /// When its logs are shown; words that are unknown too.
    pub output_log_policies: Vec<String>,
}

/// How a hook was run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HookRun {
    /// When it began.
    pub started_at: Option<Time>,
    /// When it ended.
    pub completed_at: Option<Time>,
    /// How far it came.
    pub phase: Phase,
}

/// How far a hook came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// It was never run.
    #[default]
    Never,
    /// Nobody knows; also any word that is none of the others.
    Unknown,
    /// It runs.
    Running,
    /// It did what it should.
    Succeeded,
    /// It did not.
    Failed,
}

impl Phase {
    /// Helm's word; empty for a hook that was never run.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Never => "",
            Self::Unknown => "Unknown",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }

    pub(super) fn of_word(word: &str) -> Self {
        match word {
            "" => Self::Never,
            "Running" => Self::Running,
            "Succeeded" => Self::Succeeded,
            "Failed" => Self::Failed,
            _ => Self::Unknown,
        }
    }
}

impl StoredHook {
    /// Whether it is run at an event, given in Helm's word.
    #[must_use]
    pub fn runs_at(&self, event: &str) -> bool {
        self.events.iter().any(|own| own == event)
    }
}

impl From<&Hook> for StoredHook {
    fn from(hook: &Hook) -> Self {
        Self {
            name: hook.name.clone(),
            kind: hook.kind.clone(),
            path: hook.path.clone(),
            manifest: hook.manifest.clone(),
            events: hook
                .events
                .iter()
                .map(|event| event.name().to_owned())
                .collect(),
            last_run: HookRun::default(),
            weight: hook.weight,
            delete_policies: hook.delete_policies.clone(),
            output_log_policies: hook.output_log_policies.clone(),
        }
    }
}
