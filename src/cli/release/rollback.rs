//! `release rollback`.

use clap::Args;
use kzero_cluster::ApplyMode;
use kzero_release::engine::{Goal, Rollback};
use kzero_release::revision::check_name;

use super::flags::{ApplyFlags, HistoryFlag, TimeFlag, WaitFlags};
use super::session::{Place, Work};

/// `release rollback`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct RollbackArgs {
    /// The release.
    #[arg(value_name = "NAME")]
    name: String,
    /// The revision to go back to [default: the one before].
    #[arg(value_name = "REVISION")]
    revision: Option<String>,
    #[command(flatten)]
    waiting: WaitFlags,
    #[command(flatten)]
    time: TimeFlag,
    #[command(flatten)]
    apply: ApplyFlags,
    #[command(flatten)]
    history: HistoryFlag,
    /// Delete what the rollback created if it fails.
    #[arg(long)]
    cleanup_on_fail: bool,
    /// Delete the pods of objects that were there, so that they are made anew.
    #[arg(long)]
    recreate_pods: bool,
    /// Leave the hooks of the chart out.
    #[arg(long)]
    no_hooks: bool,
    /// Change nothing; the API server checks each object.
    #[arg(long, value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    dry_run: Option<String>,
    /// Description of the revision.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

/// Rolls back.
pub(super) fn run(place: &Place<'_>, arguments: &RollbackArgs) -> Result<(), String> {
    let name = arguments.name.as_str();
    let to = goal(arguments.revision.as_deref())?;
    check_name(name).map_err(|_| format!("prepareRollback: Release name is invalid: {name}"))?;
    let rollback = Rollback {
        name: name.to_owned(),
        to,
        wait: arguments.waiting.wait(),
        wait_for_jobs: arguments.waiting.wait() && arguments.waiting.jobs(),
        recreate_pods: arguments.recreate_pods,
        disable_hooks: arguments.no_hooks,
        strategy: arguments.apply.strategy()?,
        replace: arguments.apply.force,
        force_conflicts: arguments.apply.force_conflicts,
        cleanup_on_fail: arguments.cleanup_on_fail,
        history_max: arguments.history.max(place.app),
        description: arguments.description.clone(),
    };
    let timing = arguments.time.timing();
    let work = Work {
        release: name,
        mode: mode(arguments.dry_run.as_deref()),
        says_cancelled: false,
    };
    place.enter(async |session| {
        let rolled = session
            .engaged(work, async |engine| {
                engine.rollback(rollback, &timing).await
            })
            .await?;
        Ok(rolled)
    })?;
    place
        .app
        .output
        .result("Rollback was a success! Happy Helming!\n");
    Ok(())
}

/// What takes effect, by Helm 3's switch or Helm 4's words.
pub(super) fn mode(dry_run: Option<&str>) -> ApplyMode {
    match dry_run {
        None | Some("" | "false" | "none" | "0" | "f" | "F" | "FALSE" | "False") => ApplyMode::Live,
        Some(_) => ApplyMode::DryRun,
    }
}

/// Where a rollback goes; 0 is the revision before, as no number is.
fn goal(revision: Option<&str>) -> Result<Goal, String> {
    let Some(text) = revision else {
        return Ok(Goal::Previous);
    };
    match text.parse::<i64>() {
        Ok(0) => Ok(Goal::Previous),
        Ok(number) => Ok(Goal::Revision(number)),
        Err(_) => Err(format!(
            "could not convert revision to a number: strconv.Atoi: parsing {text:?}: invalid syntax"
        )),
    }
}

#[cfg(test)]
mod tests {
    use kzero_release::engine::Goal;

    use super::goal;

    #[test]
    fn a_rollback_goes_to_a_number_or_one_back() {
        assert_eq!(goal(None), Ok(Goal::Previous));
        assert_eq!(goal(Some("0")), Ok(Goal::Previous));
        assert_eq!(goal(Some("3")), Ok(Goal::Revision(3)));
        assert!(goal(Some("one")).is_err());
    }
}
