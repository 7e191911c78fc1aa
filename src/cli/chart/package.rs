//! `chart package`: charts as archives.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use kzero_chart::{Chart, load, pack};
use kzero_gotmpl::semver::Version;

use super::dependency;
use super::source::AccessFlags;
use crate::cli::app::App;

/// `chart package`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct PackageArgs {
    /// Folders of charts.
    #[arg(value_name = "CHART")]
    charts: Vec<PathBuf>,
    /// Folder to write archives to.
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    destination: PathBuf,
    /// Fetch the charts that a chart needs first, as `dependency update`.
    #[arg(short = 'u', long)]
    dependency_update: bool,
    /// Version to give to the charts.
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Version of what the charts install.
    #[arg(long, value_name = "VERSION")]
    app_version: Option<String>,
    #[command(flatten)]
    access: AccessFlags,
    #[command(flatten)]
    signing: SignFlags,
}

/// Signing, which kzero does not do.
#[derive(Debug, Clone, Args)]
struct SignFlags {
    /// Refused: kzero does not sign charts.
    #[arg(long)]
    sign: bool,
    /// Key for --sign.
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    /// Keys for --sign.
    #[arg(long, value_name = "PATH")]
    keyring: Option<PathBuf>,
    /// Pass phrase for --sign.
    #[arg(long, value_name = "PATH")]
    passphrase_file: Option<PathBuf>,
}

/// Packs and says where to.
pub(super) fn run(app: &App, arguments: &PackageArgs) -> Result<(), String> {
    if arguments.signing.sign {
        let text = "--sign is not supported: kzero does not sign charts, which needs OpenPGP";
        return Err(text.to_owned());
    }
    if arguments.charts.is_empty() {
        return Err("need at least one argument, the path to the chart".to_owned());
    }
    let modified = modified(app)?;
    for path in &arguments.charts {
        let folder = app.environment.absolute(path);
        if let Err(error) = std::fs::metadata(&folder) {
            return Err(missing("stat", path, &error));
        }
        if arguments.dependency_update {
            dependency::update(app, &folder, false, &arguments.access)?;
        }
        let chart = chart(app, &folder, arguments)?;
        let archive =
            pack::archive(&chart, modified).map_err(|error| format!("failed to save: {error}"))?;
        let saved = save(app, &chart, &archive, &arguments.destination)
            .map_err(|error| format!("failed to save: {error}"))?;
        app.output.result(&format!(
            "Successfully packaged chart and saved it to: {}\n",
            saved.display()
        ));
    }
    Ok(())
}

/// The time of the files in archives: that of `SOURCE_DATE_EPOCH`, or now.
fn modified(app: &App) -> Result<SystemTime, String> {
    const NAME: &str = "SOURCE_DATE_EPOCH";
    let Some(text) = app.environment.text(NAME) else {
        return Ok(SystemTime::from(jiff::Timestamp::now()));
    };
    let seconds = text.parse().ok();
    seconds
        .and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds)))
        .ok_or_else(|| format!("{NAME} is no number of seconds: {text:?}"))
}

fn missing(call: &str, path: &Path, error: &std::io::Error) -> String {
    let path = path.display();
    match error.kind() {
        std::io::ErrorKind::NotFound => format!("{call} {path}: no such file or directory"),
        _ => format!("{call} {path}: {error}"),
    }
}

/// The chart of a folder with the versions that are asked for.
fn chart(app: &App, folder: &Path, arguments: &PackageArgs) -> Result<Chart, String> {
    let mut chart = load::dir(folder).map_err(|error| error.to_string())?;
    for warning in &chart.warnings {
        app.warn(warning);
    }
    let asked = |version: &Option<String>| version.clone().filter(|version| !version.is_empty());
    if let Some(version) = asked(&arguments.version) {
        chart.metadata.version = version;
    }
    Version::parse(&chart.metadata.version).map_err(|error| error.to_string())?;
    if let Some(version) = asked(&arguments.app_version) {
        chart.metadata.app_version = version;
    }
    let listed = chart.metadata.dependencies.iter().flatten().flatten();
    let names = listed.map(|dependency| dependency.name.as_str());
    let is_there = |name: &str| {
        let mut children = chart.dependencies.iter();
        children.any(|child| child.metadata.name == name)
    };
    let missing: Vec<&str> = names.filter(|name| !is_there(name)).collect();
    if !missing.is_empty() {
        return Err(format!(
            "found in Chart.yaml, but missing in charts/ directory: {}",
            missing.join(", ")
        ));
    }
    Ok(chart)
}

/// Writes an archive into a folder, which is made if it is missing, and tells its path as it was asked for.
fn save(app: &App, chart: &Chart, archive: &[u8], folder: &Path) -> Result<PathBuf, String> {
    let absolute = app.environment.absolute(folder);
    // Helm names the current folder in full, and no other.
    let shown = if folder == Path::new(".") {
        absolute.components().collect()
    } else {
        folder.to_path_buf()
    };
    match std::fs::metadata(&absolute) {
        Ok(found) if !found.is_dir() => {
            return Err(format!("is not a directory: {}", shown.display()));
        }
        Ok(_) => {}
        Err(_) => {
            std::fs::create_dir_all(&absolute).map_err(|error| missing("mkdir", &shown, &error))?;
        }
    }
    let name = format!("{}-{}.tgz", chart.metadata.name, chart.metadata.version);
    let path = absolute.join(&name);
    // Whoever reads the archive meanwhile sees the old one or the new one.
    let part = absolute.join(format!(".{name}.part"));
    let written = std::fs::write(&part, archive).and_then(|()| std::fs::rename(&part, &path));
    if let Err(error) = written {
        // What is left of it is of no use; that it cannot be removed is not the fault to tell.
        let _ = std::fs::remove_file(&part);
        return Err(missing("open", &shown.join(&name), &error));
    }
    Ok(shown.join(name))
}
