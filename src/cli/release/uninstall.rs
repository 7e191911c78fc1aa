//! `release uninstall`.

use clap::Args;
use kzero_cluster::Propagation;
use kzero_release::engine::{Uninstall, Uninstalled};
use kzero_release::revision::check_name;
use kzero_release::storage::StorageError;

use super::flags::TimeFlag;
use super::rollback::mode;
use super::session::{Place, Session, Work, unreadable};

/// `release uninstall`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct UninstallArgs {
    /// The releases.
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Wait until all objects are gone.
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    wait: Option<String>,
    #[command(flatten)]
    time: TimeFlag,
    /// Keep the records.
    #[arg(long)]
    keep_history: bool,
    /// Leave the hooks of the chart out.
    #[arg(long)]
    no_hooks: bool,
    /// What becomes of the objects that objects own: background, foreground or orphan.
    #[arg(long, value_name = "HOW", default_value = "background")]
    cascade: String,
    /// Take a release that is not there for one that is uninstalled.
    #[arg(long)]
    ignore_not_found: bool,
    /// Change nothing; the API server checks each deletion.
    #[arg(long, value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    dry_run: Option<String>,
    /// Description of the record that is kept.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

/// Uninstalls one after the other; the first failure ends it.
pub(super) fn run(place: &Place<'_>, arguments: &UninstallArgs) -> Result<(), String> {
    let cascade = cascade(&arguments.cascade)?;
    place.enter(async |session| {
        for name in &arguments.names {
            let found = one(session, arguments, name, cascade).await?;
            for line in found.kept_lines() {
                place.app.output.result(&format!("{line}\n"));
            }
            place
                .app
                .output
                .result(&format!("release \"{name}\" uninstalled\n"));
        }
        Ok(())
    })
}

async fn one(
    session: &Session<'_>,
    arguments: &UninstallArgs,
    name: &str,
    cascade: Propagation,
) -> Result<Uninstalled, String> {
    check_name(name).map_err(|_| format!("uninstall: Release name is invalid: {name}"))?;
    // A record that says `uninstalled` is a release, though nothing of it is left.
    let is_there = !session.history(name).await?.is_empty();
    if !is_there && !arguments.ignore_not_found {
        return Err(format!(
            "uninstall: Release not loaded: {name}: {}",
            unreadable(&StorageError::NotFound)
        ));
    }
    let uninstall = Uninstall {
        name: name.to_owned(),
        wait: arguments.waits(),
        keep_history: arguments.keep_history,
        disable_hooks: arguments.no_hooks,
        cascade,
        description: arguments.description.clone(),
    };
    let work = Work {
        release: name,
        mode: mode(arguments.dry_run.as_deref()),
        says_cancelled: false,
    };
    let timing = arguments.time.timing();
    let gone = session
        .engaged(work, async |engine| {
            engine.uninstall(uninstall, &timing).await
        })
        .await?;
    Ok(gone)
}

impl UninstallArgs {
    fn waits(&self) -> bool {
        !matches!(
            self.wait.as_deref(),
            None | Some("false" | "hookOnly" | "0" | "f" | "F" | "FALSE" | "False")
        )
    }
}

/// What Helm says of objects that stay.
trait KeptLines {
    fn kept_lines(&self) -> Vec<String>;
}

impl KeptLines for Uninstalled {
    fn kept_lines(&self) -> Vec<String> {
        if self.kept.is_empty() {
            return Vec::new();
        }
        let mut lines = vec!["These resources were kept due to the resource policy:".to_owned()];
        lines.extend(self.kept.iter().cloned());
        // An empty line follows them.
        lines.push(String::new());
        lines
    }
}

fn cascade(word: &str) -> Result<Propagation, String> {
    match word {
        "background" => Ok(Propagation::Background),
        "foreground" => Ok(Propagation::Foreground),
        "orphan" => Ok(Propagation::Orphan),
        _ => Err(format!(
            "invalid cascade value ({word}). Must be \"background\", \"foreground\", or \"orphan\""
        )),
    }
}
