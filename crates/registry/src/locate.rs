//! From a chart reference to a chart, in Helm's order.

use std::path::{Path, PathBuf};

use crate::client::{Archive, Client, Route};
use crate::error::Error;
use crate::oci;
use crate::path::cleaned;
use crate::quote::quoted;
use crate::repo::address;
use crate::repo::entries::{self, Repository};
use crate::repo::index::{Index, MAX_INDEX};
use crate::settings::Settings;

/// What is asked for besides the reference.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// `--version`: a version, a constraint, or empty for the newest release.
    pub version: String,
    /// `--repo`: the address of a repository; empty for none.
    pub repo: String,
}

impl Wanted {
    /// What `--version`, `--devel` and `--repo` ask for: `--devel` counts where there is no version.
    #[must_use]
    pub fn new(version: &str, devel: bool, repo: &str) -> Self {
        let version = if version.is_empty() && devel {
            ">0.0.0-0"
        } else {
            version
        };
        Self {
            version: version.to_owned(),
            repo: repo.to_owned(),
        }
    }
}

/// Where a chart is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Located {
    /// A folder or an archive of this machine, by its absolute path.
    Local(PathBuf),
    /// An archive that was fetched.
    Fetched(Archive),
}

/// The chart on this machine that a reference means, if it means one. Asks no server.
///
/// # Errors
///
/// The reference can only be a path, and there is nothing.
pub fn local(reference: &str, settings: &Settings) -> Result<Option<PathBuf>, Error> {
    let reference = reference.trim();
    let path = settings.directory.join(reference);
    if !reference.is_empty() && std::fs::metadata(&path).is_ok() {
        return Ok(Some(cleaned(&path)));
    }
    if !oci::is_oci(reference) && (Path::new(reference).is_absolute() || reference.starts_with('.'))
    {
        let text = format!("path {} not found", quoted(reference));
        return Err(Error::not_found(text));
    }
    Ok(None)
}

impl Client<'_> {
    /// Finds a chart: on this machine, in a registry, in the repository of `--repo`, at an address, or in a
    /// repository of `repositories.yaml` by its cached index; fetches it where it is elsewhere.
    ///
    /// # Errors
    ///
    /// Helm's texts, for whatever is not there or cannot be fetched.
    ///
    /// Dropping the future gives up; nothing is left behind.
    pub async fn locate(&self, reference: &str, wanted: &Wanted) -> Result<Located, Error> {
        let reference = reference.trim();
        if let Some(path) = local(reference, self.settings)? {
            if !wanted.repo.is_empty() {
                self.console.note(&format!(
                    "WARN local chart found in current working directory. repository url ignored chart={reference} repository={}",
                    address::without_secret(&wanted.repo)
                ));
            }
            return Ok(Located::Local(path));
        }
        let wanted = Wanted {
            version: wanted.version.trim().to_owned(),
            repo: wanted.repo.clone(),
        };
        self.download(reference, &wanted)
            .await
            .map(Located::Fetched)
    }

    /// Fetches a chart, whatever there is on this machine.
    ///
    /// # Errors
    ///
    /// As [`Self::locate`].
    pub async fn download(&self, reference: &str, wanted: &Wanted) -> Result<Archive, Error> {
        self.check_certificates()?;
        if !wanted.repo.is_empty() {
            return self.find_at(reference, wanted).await;
        }
        if oci::is_oci(reference) {
            return self.download_oci(reference, &wanted.version).await;
        }
        let repositories = entries::read(&self.settings.repository_config)?;
        if reference.contains("://") {
            let route = self.route_to(reference, &repositories)?;
            return self.fetch_archive(reference, &route, "", "").await;
        }
        self.find_in(reference, &wanted.version, &repositories)
            .await
    }

    /// The chart of a name in the repository of `--repo`.
    async fn find_at(&self, name: &str, wanted: &Wanted) -> Result<Archive, Error> {
        address::parse(&wanted.repo)?;
        let route = self.route(&wanted.repo);
        let shown = address::without_secret(&wanted.repo);
        let index = self.fetch_index(&route).await.map_err(|error| {
            error.within(format!(
                "looks like {} is not a valid chart repository or cannot be reached",
                quoted(&shown)
            ))
        })?;
        let (url, version, digest) = chart_in(&index, name, &wanted.version, &wanted.repo)?;
        if oci::is_oci(&url) {
            return self.download_oci(&url, &wanted.version).await;
        }
        self.fetch_archive(&url, &route, &version, &digest).await
    }

    /// The chart that `NAME/CHART` means, by the cached index of that repository.
    async fn find_in(
        &self,
        reference: &str,
        version: &str,
        repositories: &[Repository],
    ) -> Result<Archive, Error> {
        let (name, chart) = reference.split_once('/').ok_or_else(|| {
            Error::invalid(format!(
                "non-absolute URLs should be in form of repo_name/path_to_chart, got: {reference}"
            ))
        })?;
        let repository = entries::by_name(name, repositories)?;
        let index = self
            .cached_index(name)
            .map_err(|error| error.within("no cached repo found. (try 'helm repo update')"))?;
        let found = index.pick(chart, version).map_err(|error| {
            error.within(format!(
                "chart {} matching {version} not found in {name} index. (try 'helm repo update')",
                quoted(chart)
            ))
        })?;
        let url = found.urls.first().ok_or_else(|| {
            Error::not_found(format!(
                "chart {} has no downloadable URLs",
                quoted(reference)
            ))
        })?;
        let url = address::resolve(&repository.url, url)?;
        if oci::is_oci(&url) {
            return self.download_oci(&url, "").await;
        }
        let route = self.route_of(repository);
        self.fetch_archive(&url, &route, &found.version, &found.digest)
            .await
    }

    /// The route to a repository of `repositories.yaml`: what its entry says, then the flags.
    pub(crate) fn route_of(&self, repository: &Repository) -> Route {
        let mut route = self.route(&repository.url);
        let tls = &repository.tls;
        if tls.ca_file.is_some() || tls.cert_file.is_some() || tls.key_file.is_some() {
            let insecure = route.tls.insecure;
            route.tls = tls.clone();
            route.tls.insecure = insecure;
        }
        if let Some(login) = repository.login() {
            route.login = Some(login);
            route.pass_credentials = repository.pass_credentials;
        }
        route
    }

    /// The route to an address: that of the repository whose index names it.
    fn route_to(&self, url: &str, repositories: &[Repository]) -> Result<Route, Error> {
        for repository in repositories {
            let name = &repository.name;
            let bytes = self
                .cached_bytes(name)
                .map_err(|error| error.within("no cached repo found. (try 'helm repo update')"))?;
            // Reading an index takes long; most do not even hold the text.
            if !contains(&bytes, url.as_bytes()) {
                continue;
            }
            let (index, _) = Index::parse(&bytes, name)?;
            if index.urls().any(|known| address::same(known, url)) {
                return Ok(self.route_of(repository));
            }
        }
        Ok(self.route(url))
    }

    /// Fetches the index of a repository and says which of its entries are none.
    pub(crate) async fn fetch_index(&self, route: &Route) -> Result<Index, Error> {
        let url = address::resolve(&route.home, "index.yaml")?;
        let bytes = self.fetch(&url, route, "*/*", MAX_INDEX).await?;
        let (index, warnings) = Index::parse(&bytes, &address::without_secret(&route.home))?;
        for warning in warnings {
            self.console.note(&warning);
        }
        Ok(index)
    }

    /// The index that Helm has fetched for a name.
    pub(crate) fn cached_index(&self, name: &str) -> Result<Index, Error> {
        let path = self.index_path(name);
        let bytes = self.cached_bytes(name)?;
        let shown = path.display().to_string();
        let (index, warnings) = Index::parse(&bytes, &shown)
            .map_err(|error| error.within(format!("error loading {shown}")))?;
        for warning in warnings {
            self.console.note(&warning);
        }
        Ok(index)
    }

    fn index_path(&self, name: &str) -> PathBuf {
        self.settings
            .repository_cache
            .join(format!("{name}-index.yaml"))
    }

    fn cached_bytes(&self, name: &str) -> Result<Vec<u8>, Error> {
        let path = self.index_path(name);
        crate::file::read(&path, MAX_INDEX).map_err(|error| match error.kind() {
            std::io::ErrorKind::FileTooLarge => {
                let text = format!("{} is larger than {MAX_INDEX} bytes", path.display());
                Error::new(crate::ErrorKind::TooLarge, text)
            }
            _ => Error::path("open", &path, &error),
        })
    }
}

/// The address, version and digest of a chart in a repository that nobody has added.
pub(crate) fn chart_in(
    index: &Index,
    name: &str,
    version: &str,
    repository: &str,
) -> Result<(String, String, String), Error> {
    let mut what = format!("chart {}", quoted(name));
    if !version.is_empty() {
        what = format!("{what} version {}", quoted(version));
    }
    let found = index.pick(name, version).map_err(|_| {
        let repository = address::without_secret(repository);
        Error::not_found(format!("{what} not found in {repository} repository"))
    })?;
    let url = found
        .urls
        .first()
        .ok_or_else(|| Error::not_found(format!("{what} has no downloadable URLs")))?;
    let url = address::resolve(repository, url)
        .map_err(|error| error.within("failed to make chart URL absolute"))?;
    Ok((url, found.version.clone(), found.digest.clone()))
}

/// Whether bytes hold others.
fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    memchr::memmem::find(bytes, wanted).is_some()
}

#[cfg(test)]
mod tests;
