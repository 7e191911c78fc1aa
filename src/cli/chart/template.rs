//! `chart template`: render a chart and print what Helm would.

use clap::Args;

use super::values::ValueFlags;
use crate::cli::app::App;

/// `chart template`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct TemplateArgs {
    /// The release's name, if two are given, and the chart.
    #[arg(value_name = "[NAME] CHART", required = true, num_args = 1..=2)]
    pub(super) words: Vec<String>,
    #[command(flatten)]
    pub(super) values: ValueFlags,
}

/// Renders and prints.
pub(super) fn run(app: &App, arguments: &TemplateArgs) -> Result<(), String> {
    let _values = arguments.values.merge(&app.environment)?;
    Err("not there yet".to_owned())
}
