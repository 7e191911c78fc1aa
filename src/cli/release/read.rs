//! `release status`, `history` and `get`: what records say.

use clap::{Args, Subcommand};
use kzero_cluster::{ApplyMode, View};
use kzero_release::engine::Live;
use kzero_release::revision::Revision;
use kzero_release::show::{self, Format, StatusParts};
use kzero_release::storage::StorageError;

use super::flags::OutputFlag;
use super::session::{Place, Work, look, unreadable};

/// `release status`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct StatusArgs {
    /// The release.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    which: RevisionFlag,
    #[command(flatten)]
    output: OutputFlag,
    /// Show the description too.
    #[arg(long)]
    show_desc: bool,
    /// Show the live objects of the release and the pods of its workloads too.
    #[arg(long)]
    show_resources: bool,
}

/// `--revision`.
#[derive(Debug, Clone, Args)]
struct RevisionFlag {
    /// The revision [default: the newest].
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    revision: i64,
}

/// `release history`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct HistoryArgs {
    /// The release.
    #[arg(value_name = "NAME")]
    name: String,
    /// How many revisions are shown, the newest ones.
    #[arg(long, value_name = "N", default_value_t = 256)]
    max: i64,
    #[command(flatten)]
    output: OutputFlag,
}

/// The commands under `release get`.
#[derive(Debug, Clone, Subcommand)]
pub(in crate::cli) enum GetCommand {
    /// All of a revision.
    All(GetArgs),
    /// The values that the user gave.
    Values(GetValuesArgs),
    /// The documents that are no hooks.
    Manifest(GetArgs),
    /// The hooks.
    Hooks(GetArgs),
    /// The notes.
    Notes(GetArgs),
    /// Name, chart, versions and times.
    Metadata(GetMetadataArgs),
}

/// What each of them takes.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct GetArgs {
    /// The release.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    which: RevisionFlag,
}

/// `release get values`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct GetValuesArgs {
    #[command(flatten)]
    of: GetArgs,
    /// All values that templates saw.
    #[arg(short, long)]
    all: bool,
    #[command(flatten)]
    output: OutputFlag,
}

/// `release get metadata`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct GetMetadataArgs {
    #[command(flatten)]
    of: GetArgs,
    #[command(flatten)]
    output: OutputFlag,
}

/// Shows a status.
pub(super) fn status(place: &Place<'_>, arguments: &StatusArgs) -> Result<(), String> {
    let (name, number) = (arguments.name.as_str(), arguments.which.revision);
    let format = arguments.output.output;
    let is_table = format == Format::Table;
    let (mut revision, live) = place.enter(async |session| {
        let revision = session.revision(name, number).await?;
        if !arguments.show_resources {
            return Ok((revision, Live::new()));
        }
        let view = if is_table { View::Table } else { View::Whole };
        let work = Work {
            release: name,
            mode: ApplyMode::DryRun,
            says_cancelled: false,
        };
        let live = session
            .engaged(work, async |engine| {
                engine.live(&revision, view, &look()).await
            })
            .await?;
        Ok((revision, live))
    })?;
    let tables = is_table.then(|| show::resources(&live));
    if !is_table {
        revision.info.live = live;
    }
    let parts = StatusParts {
        description: arguments.show_desc,
        resources: tables.as_deref(),
        ..StatusParts::default()
    };
    print(place, show::status(&revision, parts, format))
}

/// Shows the revisions of a release.
pub(super) fn history(place: &Place<'_>, arguments: &HistoryArgs) -> Result<(), String> {
    let name = arguments.name.as_str();
    let revisions = place.enter(async |session| {
        let history = session.history(name).await?;
        if history.is_empty() {
            return Err(unreadable(&StorageError::NotFound));
        }
        let mut revisions = Vec::new();
        for entry in history.entries() {
            match entry.revision() {
                Ok(revision) => revisions.push(revision),
                // One broken record does not hide the others.
                Err(error) => place.app.warn(&format!("WARNING: {}", unreadable(&error))),
            }
        }
        Ok(revisions)
    })?;
    let max = usize::try_from(arguments.max).unwrap_or(0);
    print(
        place,
        show::history(&revisions, max, arguments.output.output),
    )
}

/// Shows a part of a revision.
pub(super) fn get(place: &Place<'_>, command: &GetCommand) -> Result<(), String> {
    let revision = |of: &GetArgs| read(place, &of.name, of.which.revision);
    match command {
        GetCommand::All(of) => print(place, show::all(&revision(of)?)),
        GetCommand::Values(arguments) => {
            let revision = revision(&arguments.of)?;
            let shown = show::values(&revision, arguments.all, arguments.output.output);
            print(place, shown)
        }
        GetCommand::Manifest(of) => print_text(place, &show::manifest(&revision(of)?)),
        GetCommand::Hooks(of) => print_text(place, &show::hooks(&revision(of)?)),
        GetCommand::Notes(of) => print_text(place, &show::notes(&revision(of)?)),
        GetCommand::Metadata(arguments) => {
            let revision = revision(&arguments.of)?;
            print(place, show::metadata(&revision, arguments.output.output))
        }
    }
}

fn read(place: &Place<'_>, name: &str, number: i64) -> Result<Revision, String> {
    place.enter(async |session| session.revision(name, number).await)
}

fn print<E: ToString>(place: &Place<'_>, shown: Result<String, E>) -> Result<(), String> {
    let text = shown.map_err(|error| error.to_string())?;
    print_text(place, &text)
}

fn print_text(place: &Place<'_>, text: &str) -> Result<(), String> {
    place.app.output.result(text);
    Ok(())
}
