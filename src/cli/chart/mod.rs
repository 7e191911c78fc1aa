//! `kzero chart …`: Helm's chart commands with Helm's flags and output (S-D.2).

mod dependency;
mod flags;
mod lint;
mod live;
mod name;
mod package;
mod pull;
mod remote;
mod schemas;
mod show;
mod source;
mod template;
mod values;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::app::App;
use crate::environment::Environment;
use crate::event::Level;
use crate::report::{Kind, Record};

/// The commands under `chart`.
#[derive(Debug, Clone, Subcommand)]
pub(in crate::cli) enum ChartCommand {
    /// Render a chart's templates and print the manifests.
    Template(Box<template::TemplateArgs>),
    /// Look for faults in charts.
    Lint(Box<lint::LintArgs>),
    /// Show what a chart says of itself.
    #[command(visible_alias = "inspect")]
    Show {
        /// What to show.
        #[command(subcommand)]
        command: show::ShowCommand,
    },
    /// Pack charts into archives.
    Package(Box<package::PackageArgs>),
    /// Fetch charts and write them to a folder.
    #[command(visible_alias = "fetch")]
    Pull(Box<pull::PullArgs>),
    /// Look after the charts that a chart needs.
    #[command(visible_aliases = ["dep", "dependencies"])]
    Dependency {
        /// What to do with them.
        #[command(subcommand)]
        command: dependency::DependencyCommand,
    },
}

pub(in crate::cli) use flags::as_in_helm;
pub(in crate::cli) use name::{check as check_release_name, from_template as name_from_template};
pub(in crate::cli) use source::SourceFlags;
pub(in crate::cli) use values::ValueFlags;

/// The files of Helm that count, as its flags name them; each is stronger than its variable.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Files of Helm")]
pub(in crate::cli) struct FileFlags {
    /// File of log-ins to registries, instead of the one the environment names.
    #[arg(long, global = true, value_name = "PATH")]
    registry_config: Option<PathBuf>,
    /// File of names of repositories, instead of the one the environment names.
    #[arg(long, global = true, value_name = "PATH")]
    repository_config: Option<PathBuf>,
    /// Folder of indexes of repositories, instead of the one the environment names.
    #[arg(long, global = true, value_name = "DIR")]
    repository_cache: Option<PathBuf>,
}

impl FileFlags {
    /// Puts the flags in place of the variables.
    pub(in crate::cli) fn apply(&self, environment: &mut Environment) {
        for (name, flag) in [
            ("HELM_REGISTRY_CONFIG", &self.registry_config),
            ("HELM_REPOSITORY_CONFIG", &self.repository_config),
            ("HELM_REPOSITORY_CACHE", &self.repository_cache),
        ] {
            if let Some(path) = flag {
                environment.replace(name, path.as_os_str());
            }
        }
    }
}

/// Runs one of them. Whatever fails ends with 1 and Helm's text on stderr (S-D.2).
pub(in crate::cli) fn run(app: &App, command: &ChartCommand) -> ExitCode {
    let result = match command {
        ChartCommand::Template(arguments) => template::run(app, arguments),
        ChartCommand::Lint(arguments) => lint::run(app, arguments),
        ChartCommand::Show { command } => show::run(app, command),
        ChartCommand::Package(arguments) => package::run(app, arguments),
        ChartCommand::Pull(arguments) => pull::run(app, arguments),
        ChartCommand::Dependency { command } => dependency::run(app, command),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            complain(app, &format!("Error: {text}"));
            ExitCode::from(1)
        }
    }
}

/// Writes an error line to stderr as it is.
fn complain(app: &App, text: &str) {
    app.output
        .write(&Record::verbatim(Level::Error, Kind::Error, text));
}

/// Updates the dependencies of a chart's folder, with the flags that say how servers are reached.
///
/// # Errors
///
/// Helm's texts.
pub(in crate::cli) fn update_dependencies(
    app: &App,
    place: &Path,
    source: &SourceFlags,
) -> Result<(), String> {
    dependency::update(app, place, false, source.flags())
}

/// The namespace of a release: of the flag, of `HELM_NAMESPACE`, of the kubeconfig's context, or `default`.
pub(in crate::cli) fn namespace(app: &App, flag: Option<&str>) -> String {
    if let Some(flag) = flag.filter(|flag| !flag.is_empty()) {
        return flag.to_owned();
    }
    if let Some(variable) = app.environment.text("HELM_NAMESPACE") {
        return variable;
    }
    match app.resolve(None) {
        Ok(resolved) => resolved.target().namespace.clone(),
        // Without a cluster there is still something to render.
        Err(_) => "default".to_owned(),
    }
}
