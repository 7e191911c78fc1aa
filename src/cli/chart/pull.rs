//! `chart pull`: fetch archives of charts, and unpack them if that is asked for.

use std::path::{Component, Path, PathBuf};

use clap::Args;
use kzero_registry::{Client, save, unpack};

use super::source::{SourceFlags, settings};
use crate::cli::app::{App, runtime};

/// `chart pull`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct PullArgs {
    /// Charts: REPO/CHART, an address of an archive or in a registry (oci:), or a name beside --repo.
    #[arg(value_name = "CHART", required = true, num_args = 1..)]
    charts: Vec<String>,
    /// Folder to write to.
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    destination: String,
    /// Unpack the chart instead of keeping the archive.
    #[arg(long)]
    untar: bool,
    /// Folder to unpack into, below that of --destination.
    #[arg(long, value_name = "DIR", default_value = ".")]
    untardir: String,
    /// Refused: kzero does not fetch signatures of charts.
    #[arg(long)]
    prov: bool,
    #[command(flatten)]
    source: SourceFlags,
}

/// Fetches all of them, one after the other, until one fails.
///
/// # Errors
///
/// Helm's texts.
pub(super) fn run(app: &App, arguments: &PullArgs) -> Result<(), String> {
    if arguments.prov {
        return Err(
            "--prov is not supported: kzero does not check signatures of charts".to_owned(),
        );
    }
    let access = arguments.source.access(app)?;
    let settings = settings(app);
    let client = Client::new(&settings, &access, app);
    let wanted = arguments.source.wanted();
    let runtime = runtime().map_err(|failure| failure.text().to_owned())?;
    for reference in &arguments.charts {
        let archive = runtime
            .block_on(client.download(reference, &wanted))
            .map_err(|error| error.to_string())?;
        if arguments.untar {
            untar(app, arguments, reference, &archive.bytes)?;
        } else {
            save(&archive, Path::new(&joined(&arguments.destination, "")))
                .map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// Unpacks an archive where nothing of the chart's name is yet.
fn untar(app: &App, arguments: &PullArgs, reference: &str, archive: &[u8]) -> Result<(), String> {
    let folder = joined(&arguments.destination, &arguments.untardir);
    // As in Helm it is the last word of the reference that must be free, not the chart's own name.
    let name = reference.rsplit('/').next().unwrap_or(reference);
    let shown = joined(&folder, name);
    let environment = &app.environment;
    let place = environment.directory.join(&shown);
    if std::fs::metadata(&place).is_ok() {
        return Err(format!(
            "failed to untar: a file or directory with the name {shown} already exists"
        ));
    }
    std::fs::create_dir_all(&place)
        .map_err(|error| format!("failed to untar (mkdir): mkdir {shown}: {}", error.kind()))?;
    unpack(archive, &environment.directory.join(&folder)).map_err(|error| error.to_string())
}

/// Two paths joined and cleaned, as Go does it; an absolute one stands for itself.
fn joined(base: &str, path: &str) -> String {
    let mut clean = PathBuf::new();
    for part in Path::new(base).join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(clean.components().next_back(), Some(Component::Normal(_))) =>
            {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    if clean.as_os_str().is_empty() {
        return ".".to_owned();
    }
    clean.display().to_string()
}
