//! `release recover`.

use clap::Args;
use kzero_cluster::ApplyMode;
use kzero_release::engine::Recovered;
use kzero_release::revision::check_name;

use super::flags::TimeFlag;
use super::session::{Place, Work};

/// `release recover`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct RecoverArgs {
    /// The release.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    time: TimeFlag,
}

/// Marks a revision that was left pending as failed.
pub(super) fn run(place: &Place<'_>, arguments: &RecoverArgs) -> Result<(), String> {
    let name = arguments.name.as_str();
    check_name(name).map_err(|_| format!("release name is invalid: {name}"))?;
    let timing = arguments.time.timing();
    let work = Work {
        release: name,
        mode: ApplyMode::Live,
        says_cancelled: false,
    };
    let recovered = place.enter(async |session| {
        let recovered = session
            .engaged(work, async |engine| engine.recover(name, &timing).await)
            .await?;
        Ok(recovered)
    })?;
    let text = match recovered {
        Recovered::Nothing(status) => {
            format!("release {name:?} needs no recovery: its newest revision is {status}\n")
        }
        Recovered::Failed { revision, was } => format!(
            "revision {revision} of release {name:?} was left {was}; it is marked failed, and the release can be upgraded, rolled back or uninstalled\n"
        ),
    };
    place.app.output.result(&text);
    Ok(())
}
