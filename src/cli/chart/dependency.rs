//! `chart dependency`: the charts that a chart needs.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::{Args, Subcommand};
use kzero_registry::Client;
use kzero_registry::dependency::{self, Options};

use super::source::{AccessFlags, VerifyFlags, settings};
use crate::cli::app::{App, runtime};

/// The commands under `chart dependency`.
#[derive(Debug, Clone, Subcommand)]
pub(in crate::cli) enum DependencyCommand {
    /// List the dependencies of a chart and whether they are there.
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Fetch the newest versions that Chart.yaml allows into charts/, and write Chart.lock.
    #[command(visible_alias = "up")]
    Update(Box<FetchArgs>),
    /// Fetch the versions of Chart.lock into charts/.
    Build(Box<FetchArgs>),
}

/// `chart dependency list`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct ListArgs {
    /// Folder or archive of the chart.
    #[arg(value_name = "CHART", default_value = ".")]
    chart: PathBuf,
    /// Widest column.
    #[arg(long, value_name = "N", default_value_t = 80)]
    max_col_width: u32,
}

/// `chart dependency update` and `build`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct FetchArgs {
    /// Folder of the chart.
    #[arg(value_name = "CHART", default_value = ".")]
    chart: PathBuf,
    /// Take the indexes that Helm has fetched instead of fresh ones.
    #[arg(long)]
    skip_refresh: bool,
    #[command(flatten)]
    access: AccessFlags,
    #[command(flatten)]
    verify: VerifyFlags,
}

/// Runs one of them.
///
/// # Errors
///
/// Helm's texts.
pub(super) fn run(app: &App, command: &DependencyCommand) -> Result<(), String> {
    match command {
        DependencyCommand::List(arguments) => {
            let width = usize::try_from(arguments.max_col_width).unwrap_or(usize::MAX);
            dependency::list(&arguments.chart, width, app).map_err(|error| error.to_string())
        }
        DependencyCommand::Update(arguments) => {
            arguments.verify.check()?;
            update(
                app,
                &arguments.chart,
                arguments.skip_refresh,
                &arguments.access,
            )
        }
        DependencyCommand::Build(arguments) => {
            arguments.verify.check()?;
            let access = arguments.access.access(app, false)?;
            let settings = settings(app);
            let client = Client::new(&settings, &access, app);
            let options = options(arguments.skip_refresh);
            runtime()
                .map_err(|failure| failure.text().to_owned())?
                .block_on(dependency::build(&client, &arguments.chart, options))
                .map_err(|error| error.to_string())
        }
    }
}

/// Updates the dependencies of a chart's folder.
///
/// # Errors
///
/// Helm's texts.
pub(super) fn update(
    app: &App,
    chart: &Path,
    skip_refresh: bool,
    access: &AccessFlags,
) -> Result<(), String> {
    let access = access.access(app, false)?;
    let settings = settings(app);
    let client = Client::new(&settings, &access, app);
    runtime()
        .map_err(|failure| failure.text().to_owned())?
        .block_on(dependency::update(&client, chart, options(skip_refresh)))
        .map_err(|error| error.to_string())
}

fn options(skip_refresh: bool) -> Options {
    Options {
        skip_refresh,
        now: SystemTime::from(jiff::Timestamp::now()),
    }
}
