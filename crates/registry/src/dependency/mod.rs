//! The charts that a chart needs: `dependency update`, `build` and `list`.
//!
//! Duty: choose versions, fetch them into `charts/`, and write the lock. Helm's own index cache is never
//! written: fresh indexes stay in memory, and only those of repositories that are needed are fetched.

mod download;
mod list;
mod lock;
mod resolve;

use std::path::Path;
use std::time::SystemTime;

use kzero_chart::metadata::{Dependency, Metadata};
use kzero_chart::{Chart, load};

use crate::client::Client;
use crate::error::Error;
use crate::path::cleaned;
pub use list::list;
use resolve::Manager;

/// How dependencies are fetched.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Whether Helm's cached indexes will do (`--skip-refresh`).
    pub skip_refresh: bool,
    /// The time for the lock, and for the files of charts that are packed.
    pub now: SystemTime,
}

/// Chooses the newest versions that `Chart.yaml` allows, fetches them into `charts/`, removes other archives
/// there, and writes `Chart.lock` if something has changed.
///
/// # Errors
///
/// Helm's texts: no such chart, repository or version; something that cannot be fetched or written. Nothing in
/// `charts/` has changed then, unless writing there failed.
///
/// Dropping the future leaves `charts/` as it was, or with some of the new archives already in place.
pub async fn update(client: &Client<'_>, chart: &Path, options: Options) -> Result<(), Error> {
    client.check_certificates()?;
    let chart = cleaned(chart);
    let loaded = load_dir(client, &chart)?;
    update_loaded(client, &chart, loaded, options).await
}

async fn update_loaded(
    client: &Client<'_>,
    path: &Path,
    chart: Chart,
    options: Options,
) -> Result<(), Error> {
    let Some(mut wanted) = entries(&chart.metadata) else {
        return Ok(());
    };
    let mut manager = Manager::new(client, path, options)?;
    let names = manager.repository_names(&mut wanted)?;
    manager.refresh_unmanaged(&wanted, &names).await;
    manager.refresh_managed(&names).await;
    let mut locked = manager.resolve(&wanted, &names).await?;
    manager.download_all(&mut locked).await?;
    let digest = lock::digest(Some(&wanted), Some(&locked))?;
    if chart.lock.is_some_and(|old| old.digest == digest) {
        return Ok(());
    }
    let legacy = chart.metadata.api_version == "v1";
    lock::write(path, &locked, &digest, options.now, legacy)
}

/// Fetches the versions that `Chart.lock` names into `charts/`; without a lock it is an [`update`].
///
/// # Errors
///
/// The lock is not the one of this `Chart.yaml`; else as [`update`].
///
/// Dropping the future is as for [`update`].
pub async fn build(client: &Client<'_>, chart: &Path, options: Options) -> Result<(), Error> {
    client.check_certificates()?;
    let path = cleaned(chart);
    let mut chart = load_dir(client, &path)?;
    let Some(lock) = chart.lock.take() else {
        return update_loaded(client, &path, chart, options).await;
    };
    let legacy = chart.metadata.api_version == "v1";
    let mut wanted = entries(&chart.metadata);
    // As Helm 2 has computed it, before aliases are replaced.
    let old = lock::legacy_digest(wanted.as_deref())?;
    let mut manager = Manager::new(client, &path, options)?;
    let names = manager.repository_names(wanted.as_deref_mut().unwrap_or_default())?;
    let locked = lock
        .dependencies
        .map(|list| list.into_iter().flatten().map(|d| *d).collect::<Vec<_>>());
    if lock::digest(wanted.as_deref(), locked.as_deref())? != lock.digest {
        if legacy {
            client.console.note(
                "warning: a valid Helm v3 hash was not found. Checking against Helm v2 hash...",
            );
        }
        if !legacy || old != lock.digest {
            let (lock, file) = if legacy {
                ("requirements.lock", "requirements.yaml")
            } else {
                ("Chart.lock", "Chart.yaml")
            };
            return Err(Error::invalid(format!(
                "the lock file ({lock}) is out of sync with the dependencies file ({file}). Please update the dependencies"
            )));
        }
    }
    let mut locked = locked.unwrap_or_default();
    let mut needed = names;
    needed.extend(manager.repository_names(&mut locked)?);
    manager.refresh_unmanaged(&locked, &needed).await;
    manager.refresh_managed(&needed).await;
    manager.download_all(&mut locked).await
}

/// The dependencies of a chart; none where it has no list of them.
fn entries(metadata: &Metadata) -> Option<Vec<Dependency>> {
    let list = metadata.dependencies.as_ref()?;
    Some(
        list.iter()
            .flatten()
            .map(|entry| (**entry).clone())
            .collect(),
    )
}

fn load_dir(client: &Client<'_>, path: &Path) -> Result<Chart, Error> {
    let found = std::fs::metadata(path).map_err(|error| {
        Error::path("stat", path, &error).within(format!("could not find {}", path.display()))
    })?;
    if !found.is_dir() {
        return Err(Error::invalid("only unpacked charts can be updated"));
    }
    let chart = load::dir(path)?;
    for warning in &chart.warnings {
        client.console.note(warning);
    }
    Ok(chart)
}
