//! Going on with a run that did not end well (S-11.24 to S-11.29).

use super::{Asked, Session, Which, Work};
use crate::event::{Level, Phase};
use crate::exit::Failure;
use crate::pipeline::Plans;
use crate::state::journal::{
    self, ClusterId, Fingerprint, Header, JournalError, Outcome, Past, Planned,
};

/// The run to go on with, and its command. `None` when there is nothing to resume, which is told.
///
/// # Errors
///
/// There is no such run, its journal cannot be used, or it acted on another cluster.
pub(super) fn find(
    session: &Session<'_>,
    asked: &Asked,
    cluster: &ClusterId,
) -> Result<Option<(Which, Past)>, Failure> {
    let folder = session.place.folder();
    let nothing = |why: String| {
        let text = format!("nothing to resume: {why}");
        session.doors.bus.note(Level::Info, text);
        Ok(None)
    };
    let failed = |error: JournalError| Failure::Config(error.to_string());
    let past = match asked {
        Asked::Resume(Some(run)) => journal::read(folder, run).map_err(failed)?,
        Asked::Run(_) | Asked::Resume(None) => match journal::newest(folder).map_err(failed)? {
            Some(past) => past,
            None => {
                return nothing(format!(
                    "no run of this profile has a journal in {}",
                    folder.display()
                ));
            }
        },
    };
    let Header { run, command, .. } = &past.header;
    if past.outcome == Outcome::Succeeded {
        return nothing(format!("the run {run} ({command}) succeeded"));
    }
    let Some(which) = Which::ALL.into_iter().find(|which| which.word() == command) else {
        return Err(Failure::Config(format!(
            "the journal of run {run} names an unknown command: {command}"
        )));
    };
    if let Asked::Run(wanted) = asked
        && which != *wanted
    {
        return nothing(format!(
            "the last run {run} is a {command}, not a {}\nhint: kzero resume goes on with it",
            wanted.word()
        ));
    }
    if !past.header.cluster.is(cluster) {
        return Err(Failure::Config(format!(
            "cannot resume run {run}: it acted on the cluster {}, this is {}\nhint: choose the cluster with --context, or begin anew with kzero {command}",
            past.header.cluster.server, cluster.server
        )));
    }
    tell(session, &past);
    Ok(Some((which, past)))
}

/// Says what is gone on with.
fn tell(session: &Session<'_>, past: &Past) {
    let Header {
        run,
        command,
        at,
        by,
        ..
    } = &past.header;
    let how = match past.outcome {
        Outcome::Open => "did not end",
        Outcome::Failed | Outcome::Succeeded => "failed",
    };
    let at_what = match &past.unfinished {
        Some(item) => format!(" at {item}"),
        None => String::new(),
    };
    let bus = &session.doors.bus;
    bus.note(
        Level::Info,
        format!("resuming kzero {command} of {at} by {by} (run {run}), which {how}{at_what}"),
    );
    let later = journal::journals(session.place.folder()).unwrap_or_default();
    let later: Vec<_> = later.iter().filter(|other| *other > run).cloned().collect();
    if !later.is_empty() {
        bus.note(
            Level::Warn,
            format!("other runs followed run {run}: {}", later.join(", ")),
        );
    }
}

/// Leaves out what the run that is gone on with had left out, and returns it.
pub(super) fn restrict(plans: &mut Plans, phases: &[Phase], past: &Past) -> Vec<String> {
    let mut left_out = Vec::new();
    for phase in phases {
        plans.phase_mut(*phase).steps.retain(|step| {
            let place = step.id.place();
            let keep = past.header.plan.iter().any(|planned| planned.item == place);
            if !keep {
                left_out.push(format!("{place} {}", step.label));
            }
            keep
        });
    }
    left_out
}

/// The fingerprint of what is to be run; it must be that of the run that is gone on with.
///
/// # Errors
///
/// What changed first (exit 1).
pub(super) fn check(session: &Session<'_>, work: &Work) -> Result<Fingerprint, Failure> {
    let phases = work.which.phases();
    let environment = &session.app.environment;
    let sources = work.plans.sources(phases, session.execution, environment);
    let before = work.past.as_ref().map(|past| &past.header);
    let salt = before.map_or_else(Fingerprint::new_salt, |header| {
        header.fingerprint.salt().to_owned()
    });
    let now = Fingerprint::take(session.profile, phases, &sources, &salt);
    match before.and_then(|header| Some((header, header.fingerprint.first_difference(&now)?))) {
        None => Ok(now),
        Some((header, what)) => Err(Failure::Config(format!(
            "cannot resume run {}: {what}\nhint: put it back, or begin anew with kzero {}; steps that are done already change nothing",
            header.run, header.command
        ))),
    }
}

/// The first line of the journal of this run.
pub(super) fn header(
    session: &Session<'_>,
    work: &Work,
    cluster: ClusterId,
    fingerprint: Fingerprint,
) -> Header {
    let phases = work.which.phases().iter();
    let steps = phases.flat_map(|phase| &work.plans.phase(*phase).steps);
    let path = session.app.config_path();
    Header {
        format: journal::FORMAT,
        kzero: env!("CARGO_PKG_VERSION").to_owned(),
        run: session.run_id.to_string(),
        command: work.which.word().to_owned(),
        profile: session.app.environment.absolute(path).display().to_string(),
        by: session.place.by.clone(),
        at: jiff::Timestamp::now().to_string(),
        resumes: work.past.as_ref().map(|past| past.header.run.clone()),
        cluster,
        fingerprint,
        plan: steps
            .map(|step| Planned {
                item: step.id.place(),
                label: step.label.clone(),
            })
            .collect(),
        finished: work.past.as_ref().map(Past::carried).unwrap_or_default(),
    }
}
