//! The closed set of events of a run.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

/// One of the two pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Park: `pipelines.down`.
    Down,
    /// Wake: `pipelines.up`.
    Up,
}

impl Phase {
    /// `down` or `up`, as in keys, labels and `KZERO_PHASE`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Whether effects are real.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing changes; the server is asked whether it would accept.
    DryRun,
    /// Effects are real.
    Live,
}

/// The severity of a line (S-7.1), lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Details for somebody who looks for a fault.
    Debug,
    /// The normal course of a command.
    Info,
    /// Worth reading, nothing failed for it.
    Warn,
    /// Something failed.
    Error,
}

impl Level {
    /// The three-letter tag.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::Debug => "DBG",
            Self::Info => "INF",
            Self::Warn => "WRN",
            Self::Error => "ERR",
        }
    }
}

/// Where a step stands in its pipeline, and how it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepId {
    /// The pipeline.
    pub phase: Phase,
    /// Zero-based index in the full list.
    pub index: usize,
    /// The reference `kind.namespace/name`; absent for `custom` steps.
    pub reference: Option<String>,
}

impl StepId {
    /// `down[1]`, as in error texts.
    pub fn place(&self) -> String {
        format!("{}[{}]", self.phase, self.index)
    }

    /// The name in reports: the reference, or `down[2]` for a `custom` step (S-8.3).
    pub fn name(&self) -> String {
        self.reference.clone().unwrap_or_else(|| self.place())
    }
}

impl fmt::Display for StepId {
    /// `REF (down[1])`, or `down[2]` for a `custom` step (S-3.8).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reference {
            Some(reference) => write!(f, "{reference} ({})", self.place()),
            None => f.write_str(&self.place()),
        }
    }
}

/// Where the size of an `up` came from (S-D.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeSource {
    /// The step's own `replicas`, or 0 on `down`.
    Step,
    /// The size it has now: an `up` never shrinks what is up.
    Live,
    /// What it was before it was parked.
    Remembered,
    /// Nothing says how large it was.
    Default,
    /// Memory and cluster were not asked.
    Unread,
}

/// What a main action does, in the words of S-3.23 and S-6.38.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A size is set natively.
    Scale {
        /// The workload.
        reference: String,
        /// The new size.
        replicas: u32,
        /// Why that size.
        source: SizeSource,
    },
    /// A size is set by the configured kubectl.
    ShellScale {
        /// The workload.
        reference: String,
        /// The new size.
        replicas: u32,
        /// Why that size.
        source: SizeSource,
    },
    /// A claim is deleted.
    DeleteClaim {
        /// `namespace/name`.
        object: String,
    },
    /// A Job is deleted.
    DeleteJob {
        /// `namespace/name`.
        object: String,
    },
    /// A Job is created.
    CreateJob {
        /// The manifest as written in the profile.
        manifest: String,
        /// Whether the step waits for it.
        wait: bool,
    },
    /// A CronJob is suspended or resumed.
    Suspend {
        /// The CronJob.
        reference: String,
        /// The new value.
        suspend: bool,
    },
    /// A command runs in a pod.
    Exec {
        /// `namespace/pod`.
        object: String,
        /// The container.
        container: String,
        /// The command joined by blanks, already cut.
        command: String,
    },
    /// `helm uninstall`.
    HelmUninstall {
        /// `namespace/name`.
        object: String,
    },
    /// `helm upgrade --install` by the release engine.
    HelmUpgrade {
        /// `namespace/name`.
        object: String,
        /// The plan detail.
        plan: String,
    },
    /// A shell release script.
    ReleaseScript {
        /// The release.
        reference: String,
        /// The script as shown to people.
        path: String,
    },
    /// A `custom` body in dry-run.
    Custom {
        /// The script as written in the profile.
        path: String,
    },
    /// The object is not there and need not be (S-D.15).
    Absent {
        /// What is absent.
        reference: String,
        /// `absent, nothing to do`, or `comes with up[0]`.
        note: String,
    },
}

/// What a step is waiting for (S-3.13).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// `rollout`, `termination`, `job complete`.
    pub what: &'static str,
    /// The reference waited for.
    pub reference: String,
    /// The budget in Go's form.
    pub timeout: String,
}

/// A hook or step of a run, or nothing: the last thing that had begun when a stop came (S-3.26), or what is skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopPoint {
    /// Nothing yet.
    Nothing,
    /// A phase hook.
    Hook(String),
    /// A step.
    Step(StepId),
}

/// What happened.
#[derive(Debug, Clone)]
pub enum EventKind {
    /// A command that runs pipelines begins.
    RunStarted {
        /// `down`, `up` or `reset`.
        command: &'static str,
    },
    /// Preflight: would ask (dry-run), or the server answered.
    Preflight {
        /// The server's version; `None` in dry-run.
        version: Option<String>,
    },
    /// A phase begins.
    PhaseStarted {
        /// Which.
        phase: Phase,
        /// How many steps it has.
        steps: usize,
    },
    /// A phase ended.
    PhaseFinished {
        /// Which.
        phase: Phase,
        /// How long it took.
        elapsed: Duration,
        /// Whether all of it succeeded.
        ok: bool,
    },
    /// A hook or step is left out: a run that this one goes on with had finished it (S-11.24).
    Skipped {
        /// Which.
        item: StopPoint,
        /// The run that finished it.
        run: String,
    },
    /// A step begins (each attempt).
    StepStarted {
        /// Which.
        step: StepId,
        /// The attempt, from 1.
        attempt: u32,
    },
    /// The main action does, or would do, something.
    Action {
        /// Which step.
        step: StepId,
        /// What.
        effect: Effect,
        /// In dry-run: whether the server was asked and accepted.
        validated: bool,
    },
    /// The main action begins to wait.
    Waiting {
        /// Which step.
        step: StepId,
        /// For what.
        wait: Wait,
    },
    /// A long wait goes on.
    StillWaiting {
        /// Which step.
        step: StepId,
        /// The verb phrase with the reference, such as `waiting rollout REF`.
        what: String,
        /// How long by now.
        elapsed: Duration,
        /// What is missing, if known.
        progress: String,
    },
    /// A failed attempt will be repeated.
    StepRetrying {
        /// Which step.
        step: StepId,
        /// The attempt that failed, from 1.
        attempt: u32,
        /// How many there may be.
        attempts: u32,
        /// The failure.
        error: String,
        /// The pause before the next attempt.
        wait: Duration,
    },
    /// A step ended (each attempt).
    StepFinished {
        /// Which.
        step: StepId,
        /// How long it took.
        elapsed: Duration,
        /// Whether it succeeded.
        ok: bool,
    },
    /// A script begins, or would begin.
    ScriptStarted {
        /// Its label (S-4.5).
        label: String,
        /// Its path as written.
        path: String,
        /// Whether it is a release script, whose line is another.
        release: bool,
    },
    /// A script wrote a line.
    ScriptOutput {
        /// Its label.
        label: String,
        /// The masked, cleaned line.
        line: String,
    },
    /// A script ended.
    ScriptFinished {
        /// Its label.
        label: String,
        /// Whether it succeeded.
        ok: bool,
    },
    /// Something to know that is no failure.
    Note {
        /// How much it matters.
        level: Level,
        /// The text.
        text: String,
    },
    /// What the cluster knows about a failure (S-11.31), one line.
    Cause {
        /// The text.
        text: String,
    },
    /// A stop was asked for.
    StopRequested {
        /// The line of S-3.26, or the reason.
        text: String,
        /// What had begun last.
        last: StopPoint,
    },
    /// A command that runs pipelines ended.
    RunFinished {
        /// Whether it succeeded.
        ok: bool,
        /// How long it took.
        elapsed: Duration,
    },
}

/// Something that happened, numbered and dated.
#[derive(Debug, Clone)]
pub struct Event {
    /// Position in the run, from 0, without gaps.
    pub seq: u64,
    /// Wall clock.
    pub at: Timestamp,
    /// The run it belongs to.
    pub run: Arc<str>,
    /// Live or dry-run.
    pub mode: Mode,
    /// What.
    pub kind: EventKind,
}
