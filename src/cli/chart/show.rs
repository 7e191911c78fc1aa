//! `chart show`: what a chart says of itself.

use clap::{Args, Subcommand};
use kzero_chart::show::{Part, show};

use super::source::SourceFlags;
use crate::cli::app::App;

/// The commands under `chart show`.
#[derive(Debug, Clone, Subcommand)]
pub(in crate::cli) enum ShowCommand {
    /// Definition, values, README and CRDs, one after the other.
    All(Box<ShowArgs>),
    /// The definition: Chart.yaml.
    Chart(Box<ShowArgs>),
    /// The default values: values.yaml.
    Values(Box<ShowArgs>),
    /// The README.
    Readme(Box<ShowArgs>),
    /// The custom resource definitions.
    Crds(Box<ShowArgs>),
}

/// What is shown of which chart.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct ShowArgs {
    /// The chart: a folder, an archive, an address, or repository/name.
    #[arg(value_name = "CHART")]
    chart: String,
    #[command(flatten)]
    source: SourceFlags,
}

/// Prints it.
pub(super) fn run(app: &App, command: &ShowCommand) -> Result<(), String> {
    let (part, arguments) = match command {
        ShowCommand::All(arguments) => (Part::All, arguments),
        ShowCommand::Chart(arguments) => (Part::Chart, arguments),
        ShowCommand::Values(arguments) => (Part::Values, arguments),
        ShowCommand::Readme(arguments) => (Part::Readme, arguments),
        ShowCommand::Crds(arguments) => (Part::Crds, arguments),
    };
    let chart = arguments
        .source
        .locate(app, &arguments.chart, kzero_chart::load::path)?;
    let shown = show(&chart.chart, part)?;
    app.output.result(&String::from_utf8_lossy(&shown));
    Ok(())
}
