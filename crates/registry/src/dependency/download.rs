//! The chosen charts into `charts/`.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kzero_chart::metadata::Dependency;
use kzero_chart::{load, pack};
use kzero_gotmpl::semver::{Constraint, Version};

use super::resolve::{Manager, bare_route, local_path, managed_route, unmanaged};
use crate::client::{Archive, Route};
use crate::error::{Error, words};
use crate::locate::chart_in;
use crate::oci::is_oci;
use crate::path::joined;
use crate::pull::save;
use crate::quote::quoted;
use crate::repo::address;

/// Where an archive is.
struct Place {
    url: String,
    route: Route,
    version: String,
    digest: String,
}

/// How the folders are called that charts are fetched into.
const TEMPORARY: &str = "tmpcharts-";
/// Older ones are nobody's: no run fetches for so long.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);

/// Removes what killed runs have left, since files in a chart's folder become files of the chart.
fn remove_leftovers(chart: &Path) {
    let Ok(entries) = fs::read_dir(chart) else {
        return;
    };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(TEMPORARY)
            && entry.file_type().is_ok_and(|kind| kind.is_dir());
        let age = entry
            .metadata()
            .and_then(|found| found.modified())
            .map(|modified| modified.elapsed().unwrap_or_default());
        if is_ours && age.is_ok_and(|age| age > LEFT_BEHIND) {
            // What cannot be removed now can be next time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Manager<'_, '_> {
    /// Fetches all of them beside `charts/` and moves them there when all have come; what else is an archive
    /// there goes away. Versions of folders are filled in.
    pub(super) async fn download_all(&mut self, locked: &mut [Dependency]) -> Result<(), Error> {
        let target = joined(self.chart, "charts");
        prepare(&target)?;
        remove_leftovers(self.chart);
        let temporary = tempfile::Builder::new()
            .prefix(TEMPORARY)
            .tempdir_in(self.chart)
            .map_err(|error| Error::path("mkdir", self.chart, &error))?;
        self.client
            .console
            .print(&format!("Saving {} charts\n", locked.len()));
        let mut done = HashSet::new();
        for entry in locked.iter_mut() {
            if let Err(error) = self
                .fetch_one(entry, &target, temporary.path(), &mut done)
                .await
            {
                self.client
                    .console
                    .print(&format!("Save error occurred:  {error}\n"));
                return Err(error);
            }
        }
        self.exchange(locked, temporary.path(), &target)
    }

    async fn fetch_one(
        &mut self,
        entry: &mut Dependency,
        target: &Path,
        temporary: &Path,
        done: &mut HashSet<String>,
    ) -> Result<(), Error> {
        let console = self.client.console;
        let Dependency {
            name,
            repository,
            version,
            ..
        } = &*entry;
        if repository.is_empty() {
            console.print(&format!(
                "Dependency {name} did not declare a repository. Assuming it exists in the charts directory\n"
            ));
            return check_vendored(entry, &joined(target, name));
        }
        if repository.starts_with("file://") {
            entry.version = self.pack(entry, temporary)?;
            return Ok(());
        }
        let shown = address::without_secret(repository);
        if is_oci(repository) {
            console.print(&format!("Downloading {name} from repo {shown}\n"));
            let url = format!("{repository}/{name}");
            let archive = self.client.download_oci(&url, version).await;
            let archive =
                archive.map_err(|error| error.within(format!("could not download {url}")))?;
            return self.keep(&archive, temporary);
        }
        let place = self
            .place(name, version, repository)
            .map_err(|error| error.within("could not find "))?;
        if !done.insert(place.url.clone()) {
            console.print(&format!("Already downloaded {name} from repo {shown}\n"));
            return Ok(());
        }
        console.print(&format!("Downloading {name} from repo {shown}\n"));
        let failed = |error: Error| {
            let url = address::without_secret(&place.url);
            error.within(format!("could not download {url}"))
        };
        let archive = if is_oci(&place.url) {
            self.client.download_oci(&place.url, "").await
        } else {
            let Place {
                url,
                route,
                version,
                digest,
            } = &place;
            self.client.fetch_archive(url, route, version, digest).await
        };
        self.keep(&archive.map_err(failed)?, temporary)
    }

    fn keep(&self, archive: &Archive, folder: &Path) -> Result<(), Error> {
        save(archive, folder).map(|_| ())
    }

    /// Where a locked version of a chart is, by the index of its repository.
    fn place(&mut self, name: &str, version: &str, repository: &str) -> Result<Place, Error> {
        let known = self
            .repositories
            .iter()
            .find(|known| address::same(&known.url, repository))
            .cloned();
        let Some(known) = known else {
            let index = self.index(&unmanaged(repository))?;
            let found = chart_in(index, name, version, repository);
            let (url, version, digest) = found.map_err(|error| {
                let shown = address::without_secret(repository);
                error.within(format!("chart {name} not found in {shown}"))
            })?;
            return Ok(Place {
                url,
                route: bare_route(repository),
                version,
                digest,
            });
        };
        let index = self.index(&known.name)?;
        let versions = index
            .chart(name)
            .ok_or_else(|| Error::not_found("entry not found"))?;
        let found = versions
            .iter()
            .filter(|found| !found.urls.is_empty())
            .find(|found| version.is_empty() || same_version(version, &found.version));
        let found = found.ok_or_else(|| Error::not_found("no matching version"))?;
        let url = found.urls.first().map(String::as_str).unwrap_or_default();
        Ok(Place {
            url: address::resolve_path(repository, url)?,
            route: managed_route(&known),
            version: found.version.clone(),
            digest: found.digest.clone(),
        })
    }

    /// Packs a chart of this machine and gives its version.
    fn pack(&self, entry: &Dependency, folder: &Path) -> Result<String, Error> {
        let path = local_path(self.chart, &entry.repository)?;
        let chart = load::dir(&path)?;
        let constraint = Constraint::parse(&entry.version).map_err(|error| {
            Error::invalid(format!(
                "dependency {} has an invalid version/constraint format: {error}",
                entry.name
            ))
        })?;
        let version = chart.metadata.version.clone();
        let parsed = Version::parse(&version).map_err(|error| Error::invalid(error.to_string()))?;
        if !constraint.check(&parsed) {
            let text = format!("can't get a valid version for dependency {}", entry.name);
            return Err(Error::not_found(text));
        }
        let bytes = pack::archive(&chart, self.options.now)
            .map_err(|error| Error::invalid(error.to_string()))?;
        let path = folder.join(format!("{}-{version}.tgz", chart.metadata.name));
        fs::write(&path, bytes).map_err(|error| Error::path("open", &path, &error))?;
        Ok(version)
    }

    /// Moves the new archives to their place and removes old ones. What is no chart stays where it is.
    fn exchange(&self, locked: &[Dependency], source: &Path, target: &Path) -> Result<(), Error> {
        let console = self.client.console;
        let old = files(target)?;
        let new = files(source)?;
        for name in &new {
            let (from, to) = (source.join(name), target.join(name));
            if let Err(error) = load::archive(&from) {
                console.print(&format!(
                    "Could not verify {} for moving: {error} (Skipping)",
                    from.display()
                ));
                continue;
            }
            if let Err(error) = fs::rename(&from, &to) {
                let text = format!(
                    "Unable to move {} to charts dir {} (Skipping)",
                    from.display(),
                    words(&error)
                );
                console.print(&text);
            }
        }
        console.print("Deleting outdated charts\n");
        for name in old.iter().filter(|name| !new.contains(name)) {
            let path = target.join(name);
            match load::archive(&path) {
                Err(error) => console.print(&format!(
                    "Could not verify {} for deletion: {error} (Skipping)\n",
                    path.display()
                )),
                Ok(chart) => {
                    let vendored = |entry: &Dependency| {
                        entry.repository.is_empty() && entry.name == chart.metadata.name
                    };
                    if locked.iter().any(vendored) {
                        continue;
                    }
                    if let Err(error) = fs::remove_file(&path) {
                        let text = format!(
                            "Could not delete {}: {} (Skipping)",
                            path.display(),
                            words(&error)
                        );
                        console.print(&text);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Makes sure that there is a folder.
fn prepare(folder: &Path) -> Result<(), Error> {
    match fs::metadata(folder) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => {
            let shown = quoted(&folder.display().to_string());
            Err(Error::local(format!("{shown} is not a directory")))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            fs::create_dir_all(folder).map_err(|error| Error::path("mkdir", folder, &error))
        }
        Err(error) => Err(Error::local(format!(
            "unable to retrieve file info for '{}': {}",
            folder.display(),
            words(&error)
        ))),
    }
}

/// The names in a folder that are no folders themselves, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |error: std::io::Error| Error::path("open", folder, &error);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if !entry.file_type().map_err(failed)?.is_dir() {
            names.push(PathBuf::from(entry.file_name()));
        }
    }
    names.sort();
    Ok(names)
}

/// Checks a chart that is in `charts/` without coming from anywhere.
fn check_vendored(entry: &Dependency, path: &Path) -> Result<(), Error> {
    let Dependency {
        name,
        version: wanted,
        ..
    } = entry;
    let chart = load::dir(path).map_err(|error| {
        Error::invalid(format!(
            "unable to load chart '{}': {error}",
            path.display()
        ))
    })?;
    let constraint = Constraint::parse(wanted).map_err(|error| {
        Error::invalid(format!(
            "dependency {name} has an invalid version/constraint format: {error}"
        ))
    })?;
    let found = &chart.metadata.version;
    let version = Version::parse(found).map_err(|error| {
        Error::invalid(format!(
            "invalid version {wanted} for dependency {name}: {error}"
        ))
    })?;
    if constraint.check(&version) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "dependency {name} at version {found} does not satisfy the constraint {wanted}"
    )))
}

fn same_version(a: &str, b: &str) -> bool {
    match (Version::parse(a), Version::parse(b)) {
        (Ok(a), Ok(b)) => a.compare(&b).is_eq(),
        (Err(_), _) => a == b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    #[test]
    fn folders_that_killed_runs_left_are_removed_and_others_stay() {
        let chart = tempfile::tempdir().unwrap();
        let put = |name: &str, age: u64| {
            let path = chart.path().join(name);
            fs::create_dir(&path).unwrap();
            let now = fs::metadata(chart.path()).unwrap().modified().unwrap();
            let then = now - Duration::from_secs(age);
            fs::File::open(&path).unwrap().set_modified(then).unwrap();
        };
        put("tmpcharts-old", 7200);
        put("tmpcharts-new", 60);
        put("other", 7200);
        super::remove_leftovers(chart.path());
        let mut left: Vec<_> = fs::read_dir(chart.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["other", "tmpcharts-new"]);
    }
}
