//! Run events as lines: the texts of S-3.13, S-3.16, S-3.23, S-3.26, S-4.5 and S-6.38.

use kzero_profile::duration;

use super::output::Output;
use super::record::{Fields, Kind, Record, Stream, Tag};
use crate::event::{
    Effect, Event, EventKind, Level, Mode, Phase, SizeSource, StepId, StopPoint, Subscriber,
};

/// Writes each event of a run as a line.
pub struct RunLines {
    output: Output,
}

impl RunLines {
    /// A subscriber that writes to `output`.
    pub fn new(output: Output) -> Self {
        Self { output }
    }
}

impl Subscriber for RunLines {
    fn event(&self, event: &Event) {
        if let Some(record) = record(event) {
            self.output.write(&record);
        }
    }
}

/// The line of an event; `None` for those that only machines need.
fn record(event: &Event) -> Option<Record> {
    let dry = event.mode == Mode::DryRun;
    let line = |level: Level, text: String| {
        if dry {
            Record::line(level, Kind::DryRun, text).tag(Tag::DryRun)
        } else {
            Record::line(level, Kind::Live, text).tag(Tag::Live)
        }
    };
    let of_step = |mut record: Record, step: &StepId| {
        record.fields.phase = Some(step.phase.word());
        record.fields.step_index = Some(step.index);
        record.fields.reference.clone_from(&step.reference);
        record
    };
    Some(match &event.kind {
        EventKind::RunStarted { .. } => return None,
        EventKind::Preflight { version: None } => line(
            Level::Info,
            "preflight: would verify Kubernetes API reachability".into(),
        ),
        EventKind::Preflight {
            version: Some(version),
        } => line(
            Level::Debug,
            format!("preflight: Kubernetes API answers (version {version})"),
        ),
        EventKind::PhaseStarted { .. } | EventKind::PhaseFinished { .. } if dry => return None,
        EventKind::PhaseStarted { phase, steps } => {
            let noun = if *steps == 1 { "step" } else { "steps" };
            let text = format!("phase {phase} started ({steps} {noun})");
            of_phase(line(Level::Info, text), *phase)
        }
        EventKind::PhaseFinished { ok: false, .. } => return None,
        EventKind::PhaseFinished {
            phase,
            elapsed,
            ok: true,
        } => {
            let text = format!("phase {phase} finished in {}", rounded(*elapsed));
            of_phase(line(Level::Info, text), *phase)
        }
        EventKind::Skipped { item, run } => match item {
            StopPoint::Nothing => return None,
            StopPoint::Hook(name) => line(
                Level::Info,
                format!("skip hook {name} (finished in run {run})"),
            ),
            StopPoint::Step(step) => {
                let reference = step.reference.as_deref().unwrap_or_default();
                let text = format!("skip {} {reference}", step.place());
                let text = format!("{} (finished in run {run})", text.trim_end());
                of_step(line(Level::Info, text), step)
            }
        },
        EventKind::StepStarted { .. } | EventKind::StepFinished { ok: false, .. } => return None,
        EventKind::StepFinished {
            step,
            elapsed,
            ok: true,
        } => {
            if dry {
                return None;
            }
            let name = match &step.reference {
                Some(reference) => format!("step {} {reference}", step.place()),
                None => format!("step {}", step.place()),
            };
            let text = format!("{name} done in {}", rounded(*elapsed));
            of_step(line(Level::Info, text), step)
        }
        EventKind::Action {
            step,
            effect,
            validated,
        } => of_step(
            line(Level::Info, effect_text(effect, step, dry, *validated)),
            step,
        ),
        EventKind::Waiting { step, wait } => {
            let verb = match (dry, wait.what) {
                (false, _) => "wait",
                (true, "rollout") => "native would wait for",
                (true, _) => "would wait for",
            };
            let text = format!(
                "{verb} {} {} (timeout {})",
                wait.what, wait.reference, wait.timeout
            );
            of_step(line(Level::Info, text), step)
        }
        EventKind::StillWaiting {
            step,
            what,
            elapsed,
            progress,
        } => {
            let mut text = format!("still {what} (elapsed {})", rounded_to_seconds(*elapsed));
            if !progress.is_empty() {
                text.push_str(": ");
                text.push_str(progress);
            }
            of_step(line(Level::Info, text), step)
        }
        EventKind::StepRetrying {
            step,
            attempt,
            attempts,
            error,
            wait,
        } => {
            let name = match &step.reference {
                Some(reference) => reference.clone(),
                None => format!("index {}", step.index),
            };
            let wait = rounded(*wait);
            let text = format!(
                "pipeline {} step {name} attempt {attempt}/{attempts} failed ({error}); retrying in {wait}",
                step.phase
            );
            let mut record = of_step(
                Record::line(Level::Warn, Kind::Retry, text).tag(Tag::Retry),
                step,
            );
            record.fields.attempt = Some(*attempt);
            record.fields.max_attempt = Some(*attempts);
            record.fields.wait = Some(wait);
            record.fields.error = Some(error.clone());
            record
        }
        EventKind::ScriptStarted {
            label,
            path,
            release,
        } => {
            let text = if *release {
                format!("release script {path} (up)")
            } else {
                format!("hook {label}: {path}")
            };
            let mut record = line(Level::Info, text);
            record.fields.hook = Some(label.clone());
            record.fields.script = Some(path.clone());
            record
        }
        EventKind::ScriptOutput { label, line } => {
            let mut record = Record::line(Level::Info, Kind::Output, line.clone());
            record.fields.hook = Some(label.clone());
            record
        }
        EventKind::ScriptFinished { .. } => return None,
        EventKind::Note { level, text } => line(*level, text.clone()),
        EventKind::Cause { text } => Record::line(Level::Warn, Kind::Cause, text.clone()),
        EventKind::StopRequested { text, last } => {
            let mut record = line(Level::Warn, text.clone());
            match last {
                StopPoint::Nothing => {}
                StopPoint::Hook(label) => record.fields.hook = Some(label.clone()),
                StopPoint::Step(step) => record = of_step(record, step),
            }
            record
        }
        EventKind::RunFinished { .. } => return None,
    })
}

fn of_phase(mut record: Record, phase: Phase) -> Record {
    record.fields.phase = Some(phase.word());
    record
}

/// A duration in Go's form, to the millisecond.
fn rounded(length: std::time::Duration) -> String {
    let millis = u64::try_from((length.as_micros() + 500) / 1000).unwrap_or(u64::MAX);
    duration::format(std::time::Duration::from_millis(millis))
}

/// A duration in Go's form, to the second.
fn rounded_to_seconds(length: std::time::Duration) -> String {
    duration::format(std::time::Duration::from_secs(length.as_secs()))
}

/// The text of a main action.
fn effect_text(effect: &Effect, step: &StepId, dry: bool, validated: bool) -> String {
    let ok = if dry && validated {
        " (server-side dry-run ok)"
    } else {
        ""
    };
    let origin = |source: &SizeSource| match source {
        SizeSource::Step => "",
        SizeSource::Live => " (live)",
        SizeSource::Remembered => " (remembered)",
        SizeSource::Default => " (default, nothing remembered)",
        SizeSource::Unread => " (unless another size is live or remembered)",
    };
    match effect {
        Effect::Scale {
            reference,
            replicas,
            source,
        } if dry => {
            format!(
                "native scale {reference} -> {replicas} replicas{}{ok}",
                origin(source)
            )
        }
        Effect::ShellScale { reference, .. } if dry => {
            format!("pipeline {} step {}: {reference}", step.phase, step.index)
        }
        Effect::Scale {
            reference,
            replicas,
            source,
        }
        | Effect::ShellScale {
            reference,
            replicas,
            source,
        } => {
            format!("scale {reference} -> {replicas} replicas{}", origin(source))
        }
        Effect::DeleteClaim { object } => {
            format!("delete pvc {object} (background propagation, ignore-not-found)")
        }
        Effect::DeleteJob { object } => {
            format!("delete job {object} (background propagation, ignore-not-found)")
        }
        Effect::CreateJob { manifest, wait } => {
            format!("create job from manifest {manifest} (wait_for_complete={wait}){ok}")
        }
        Effect::Suspend { reference, suspend } => {
            format!("patch cronjob spec.suspend={suspend} {reference}{ok}")
        }
        Effect::Exec {
            object,
            container,
            command,
        } => {
            format!("exec {object} container={container}: {command}")
        }
        Effect::HelmUninstall { object } => {
            format!("helm uninstall {object} (--wait --ignore-not-found)")
        }
        Effect::HelmUpgrade { object, plan } => {
            format!("helm sdk upgrade --install {object} ({plan})")
        }
        Effect::ReleaseScript { reference, .. } if dry => {
            format!("pipeline {} step {}: {reference}", step.phase, step.index)
        }
        Effect::ReleaseScript { path, .. } => format!("release script {path} (up)"),
        Effect::Custom { path } => {
            format!(
                "pipeline {} step {}: custom: {path}",
                step.phase, step.index
            )
        }
        Effect::Absent { reference, note } => format!("{reference} {note}"),
    }
}

/// The closing line (S-7.5).
pub(crate) fn summary(command: &str, elapsed: std::time::Duration, ok: bool) -> Record {
    let millis = u64::try_from((elapsed.as_micros() + 500) / 1000).unwrap_or(u64::MAX);
    let elapsed = std::time::Duration::from_millis(millis);
    let time = duration::format(elapsed);
    let (level, text) = if ok {
        (Level::Info, format!("kzero {command} finished in {time}"))
    } else {
        (Level::Error, format!("kzero {command} failed after {time}"))
    };
    let mut record = Record::line(level, Kind::Summary, text);
    record.stream = Stream::Stderr;
    record.coloured = Some((elapsed, ok));
    record.fields = Fields {
        outcome: Some(if ok { "success" } else { "failed" }),
        duration: Some(time),
        ..Fields::default()
    };
    record
}
