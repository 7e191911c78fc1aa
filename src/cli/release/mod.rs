//! `kzero release …`: Helm's release commands with Helm's flags and output, done by kzero's own engine (S-D.2).

mod chart;
mod deploy;
mod flags;
mod list;
mod plan;
mod post;
mod progress;
mod read;
mod recover;
mod rollback;
mod session;
mod test;
mod uninstall;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::app::App;
use crate::event::Level;
use crate::report::{Kind, Record};

/// The commands under `release`.
#[derive(Debug, Clone, Subcommand)]
pub(in crate::cli) enum ReleaseCommand {
    /// Install a chart.
    Install(Box<deploy::InstallArgs>),
    /// Upgrade a release to a chart, or install it with --install.
    Upgrade(Box<deploy::UpgradeArgs>),
    /// Show what an upgrade would change, field by field; it takes all flags of upgrade.
    Plan(Box<plan::PlanArgs>),
    /// Go back to an older revision of a release.
    Rollback(Box<rollback::RollbackArgs>),
    /// Delete what releases deployed, and their records.
    #[command(visible_aliases = ["del", "delete", "un"])]
    Uninstall(Box<uninstall::UninstallArgs>),
    /// Run the tests that the chart of a release has.
    Test(test::TestArgs),
    /// Show what a release is and what became of it.
    Status(read::StatusArgs),
    /// List the revisions of a release.
    #[command(visible_alias = "hist")]
    History(read::HistoryArgs),
    /// List releases.
    #[command(visible_alias = "ls")]
    List(Box<list::ListArgs>),
    /// Show what a revision holds.
    Get {
        /// What to show.
        #[command(subcommand)]
        command: read::GetCommand,
    },
    /// Mark a revision that was left pending as failed, so that the release can be worked on again.
    Recover(recover::RecoverArgs),
}

/// Flags of all commands under `release`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Release options")]
pub(in crate::cli) struct Common {
    /// Namespace of the release.
    #[arg(short, long, global = true, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// How progress is told on standard error; auto is a live table on a terminal and quiet elsewhere.
    #[arg(
        long,
        global = true,
        value_name = "MODE",
        default_value = "auto",
        value_enum
    )]
    progress: progress::Mode,
    /// Taken as Helm takes it; there is nothing more to tell.
    #[arg(long, global = true, hide = true)]
    debug: bool,
    /// Taken as Helm takes it; requests are limited by how many are under way.
    #[arg(long, global = true, hide = true, value_name = "N")]
    burst_limit: Option<String>,
    /// Taken as Helm takes it; requests are limited by how many are under way.
    #[arg(long, global = true, hide = true, value_name = "N")]
    qps: Option<String>,
}

/// Runs one of them. Whatever fails ends with 1 and Helm's text on stderr (S-D.2).
pub(in crate::cli) fn run(app: &App, common: &Common, command: &ReleaseCommand) -> ExitCode {
    let place = session::Place {
        app,
        namespace: super::chart::namespace(app, common.namespace.as_deref()),
        progress: common.progress,
    };
    let done = |result: Result<(), String>| result.map(|()| ExitCode::SUCCESS);
    let result = match command {
        ReleaseCommand::Plan(arguments) => plan::run(&place, arguments),
        ReleaseCommand::Install(arguments) => done(deploy::install(&place, arguments)),
        ReleaseCommand::Upgrade(arguments) => done(deploy::upgrade(&place, arguments)),
        ReleaseCommand::Rollback(arguments) => done(rollback::run(&place, arguments)),
        ReleaseCommand::Uninstall(arguments) => done(uninstall::run(&place, arguments)),
        ReleaseCommand::Test(arguments) => done(test::run(&place, arguments)),
        ReleaseCommand::Status(arguments) => done(read::status(&place, arguments)),
        ReleaseCommand::History(arguments) => done(read::history(&place, arguments)),
        ReleaseCommand::List(arguments) => done(list::run(&place, arguments)),
        ReleaseCommand::Get { command } => done(read::get(&place, command)),
        ReleaseCommand::Recover(arguments) => done(recover::run(&place, arguments)),
    };
    match result {
        Ok(code) => code,
        Err(text) => {
            complain(app, &format!("Error: {text}"));
            ExitCode::from(1)
        }
    }
}

/// Writes an error to stderr as it is.
fn complain(app: &App, text: &str) {
    app.output
        .write(&Record::verbatim(Level::Error, Kind::Error, text));
}
