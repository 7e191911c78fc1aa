//! What a profile asks for that may not be there: parts of kzero that are to come, programs.

use kzero_profile::{Execution as Wanted, Profile};

use super::app::App;
use crate::event::Phase;
use crate::pipeline::Plans;
use crate::steps::{Execution, Subject};

/// How steps are shown and checked before it is known whether `auto` finds a client.
pub(super) fn planned_execution(profile: &Profile) -> Execution {
    match profile.run.execution {
        Wanted::Native | Wanted::Auto => Execution::Native,
        Wanted::Shell => Execution::Shell,
    }
}

/// What of a profile this version cannot do, one sentence each.
pub(super) fn unavailable(app: &App, profile: &Profile) -> Vec<String> {
    let mut missing = Vec::new();
    let mut add = |enabled: bool, what: &str| {
        if enabled {
            missing.push(format!("{what} is not available yet"));
        }
    };
    add(profile.infra_probe.enabled, "infra_probe");
    add(profile.run.verify, "run.verify");
    add(profile.run.log_dir.is_some(), "run.log_dir");
    add(profile.run.log_file.is_some(), "run.log_file");
    add(app.flags.log_dir.is_some(), "--log-dir");
    add(app.flags.log_file.is_some(), "--log-file");
    missing
}

/// Programs that the profile needs and that are not there. `auto` may do without kubectl and
/// helm, which is not known yet.
pub(super) fn missing_programs(
    app: &App,
    profile: &Profile,
    plans: &Plans,
    phases: &[Phase],
) -> Vec<String> {
    let command = &profile.command;
    let shell = profile.run.execution == Wanted::Shell;
    let (mut scripts, mut kubectl, mut helm) = (plans.on_error.is_some(), false, false);
    for phase in phases {
        let plan = plans.phase(*phase);
        scripts |= plan.pre.is_some() || plan.post.is_some();
        for step in &plan.steps {
            scripts |= step.pre.is_some() || step.post.is_some() || step.parts.is_none();
            match step.action.subject() {
                Subject::Workload(_) => kubectl |= shell,
                Subject::Release(..) if shell => match phase {
                    Phase::Down => helm = true,
                    Phase::Up => scripts = true,
                },
                _ => {}
            }
        }
    }
    let rows = [
        (scripts, "command.shell", &command.shell),
        (kubectl, "command.kubectl", &command.kubectl),
        (helm, "command.helm", &command.helm),
    ];
    rows.into_iter()
        .filter(|(needed, _, name)| *needed && app.environment.find_program(name).is_none())
        .map(|(_, key, name)| format!("{name} not found on PATH\nhint: install it, or set {key}"))
        .collect()
}
