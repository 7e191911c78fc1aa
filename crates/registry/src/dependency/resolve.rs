//! Which repository and which version each dependency is.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use futures::future::join_all;
use kzero_chart::load;
use kzero_chart::metadata::Dependency;
use kzero_gotmpl::semver::{Constraint, Version};
use reqwest::Url;

use super::Options;
use crate::cache::sha256;
use crate::client::{Client, Route};
use crate::error::Error;
use crate::oci::is_oci;
use crate::path::{cleaned, joined};
use crate::quote::quoted;
use crate::repo::address;
use crate::repo::entries::{self, Repository};
use crate::repo::index::Index;

/// What Helm calls the cached indexes of repositories that nobody has added.
const UNMANAGED: &str = "helm-manager-";

/// Where the index of each dependency, by its name, is: the name of a repository, an address of a folder or
/// registry, or the name that an unmanaged repository goes by.
pub(super) type Names = HashMap<String, String>;

/// An index to fetch.
struct Fresh {
    /// What the cached one is called.
    name: String,
    route: Route,
    /// The repository as people know it, in quotes.
    shown: String,
    /// Where it is, for those who know it by a name.
    place: String,
}

/// One chart whose dependencies are looked after.
pub(super) struct Manager<'m, 'a> {
    pub(super) client: &'m Client<'a>,
    pub(super) chart: &'m Path,
    pub(super) options: Options,
    pub(super) repositories: Vec<Repository>,
    /// By the names that cached indexes have.
    indexes: HashMap<String, Index>,
}

impl<'m, 'a> Manager<'m, 'a> {
    pub(super) fn new(
        client: &'m Client<'a>,
        chart: &'m Path,
        options: Options,
    ) -> Result<Self, Error> {
        Ok(Self {
            client,
            chart,
            options,
            repositories: entries::read(&client.settings.repository_config)?,
            indexes: HashMap::new(),
        })
    }

    /// Finds the repository of each dependency, and puts addresses in the place of aliases.
    ///
    /// # Errors
    ///
    /// A folder that is not there; aliases and other words that are no repository.
    pub(super) fn repository_names(&self, wanted: &mut [Dependency]) -> Result<Names, Error> {
        let mut names = Names::new();
        let mut missing = Vec::new();
        for entry in wanted {
            let repository = entry.repository.clone();
            if repository.is_empty() {
                continue;
            }
            if repository.starts_with("file://") {
                local_path(self.chart, &repository)?;
                names.insert(entry.name.clone(), repository);
                continue;
            }
            if is_oci(&repository) {
                names.insert(entry.name.clone(), repository);
                continue;
            }
            let alias = repository
                .strip_prefix('@')
                .or_else(|| repository.strip_prefix("alias:"));
            let known = self.repositories.iter().find(|known| {
                alias == Some(known.name.as_str()) || address::same(&known.url, &repository)
            });
            match known {
                Some(known) => {
                    if alias == Some(known.name.as_str()) {
                        entry.repository.clone_from(&known.url);
                    }
                    names.insert(entry.name.clone(), known.name.clone());
                }
                None if Url::parse(&repository).is_ok_and(|url| url.has_host()) => {
                    names.insert(entry.name.clone(), unmanaged(&repository));
                }
                None => missing.push(repository),
            }
        }
        if missing.is_empty() {
            Ok(names)
        } else {
            Err(no_repository(&missing))
        }
    }

    /// Fetches the indexes of repositories that nobody has added. One that cannot be fetched is told of, and
    /// missed when it is needed.
    pub(super) async fn refresh_unmanaged(&mut self, wanted: &[Dependency], names: &Names) {
        let mut open: Vec<(String, String)> = Vec::new();
        for entry in wanted {
            if let Some(name) = names.get(&entry.name)
                && name.starts_with(UNMANAGED)
                && !open.iter().any(|(known, _)| known == name)
            {
                open.push((name.clone(), entry.repository.clone()));
            }
        }
        if self.options.skip_refresh || open.is_empty() {
            return;
        }
        let console = self.client.console;
        console.print("Getting updates for unmanaged Helm repositories...\n");
        let wanted = open.into_iter().map(|(name, url)| Fresh {
            name,
            route: bare_route(&url),
            shown: quoted(&address::without_secret(&url)),
            place: String::new(),
        });
        self.refresh(wanted.collect()).await;
    }

    /// Fetches the indexes of repositories that are needed.
    pub(super) async fn refresh_managed(&mut self, names: &Names) {
        if self.options.skip_refresh {
            return;
        }
        let needed = self
            .repositories
            .iter()
            .filter(|known| names.values().any(|name| *name == known.name));
        let wanted: Vec<Fresh> = needed
            .map(|known| Fresh {
                name: known.name.clone(),
                route: managed_route(known),
                shown: quoted(&known.name),
                place: format!(" ({})", address::without_secret(&known.url)),
            })
            .collect();
        if wanted.is_empty() {
            return;
        }
        let console = self.client.console;
        console.print("Hang tight while we grab the latest from your chart repositories...\n");
        self.refresh(wanted).await;
        console.print("Update Complete. ⎈Happy Helming!⎈\n");
    }

    /// Fetches indexes side by side and tells of each, in order.
    async fn refresh(&mut self, wanted: Vec<Fresh>) {
        let client = self.client;
        let fetched = wanted.iter().map(|fresh| client.fetch_index(&fresh.route));
        let fetched = join_all(fetched).await;
        for (fresh, index) in wanted.into_iter().zip(fetched) {
            let Fresh { shown, place, .. } = &fresh;
            match index {
                Ok(index) => {
                    client.console.print(&format!(
                        "...Successfully got an update from the {shown} chart repository\n"
                    ));
                    self.indexes.insert(fresh.name, index);
                }
                Err(error) => client.console.print(&format!(
                    "...Unable to get an update from the {shown} chart repository{place}:\n\t{error}\n"
                )),
            }
        }
    }

    /// The index of a repository: the fresh one, or Helm's cached one.
    pub(super) fn index(&mut self, name: &str) -> Result<&Index, Error> {
        if !self.indexes.contains_key(name) {
            let index = self.client.cached_index(name)?;
            self.indexes.insert(name.to_owned(), index);
        }
        self.indexes
            .get(name)
            .ok_or_else(|| Error::not_found(format!("repo {name} not found")))
    }

    /// Chooses one version for each dependency.
    ///
    /// # Errors
    ///
    /// Helm's texts: constraints that are none, charts or versions that are not there.
    pub(super) async fn resolve(
        &mut self,
        wanted: &[Dependency],
        names: &Names,
    ) -> Result<Vec<Dependency>, Error> {
        let mut locked = Vec::with_capacity(wanted.len());
        let mut missing = Vec::new();
        for entry in wanted {
            let constraint = Constraint::parse(&entry.version).map_err(|error| {
                Error::invalid(format!(
                    "dependency {} has an invalid version/constraint format: {error}",
                    quoted(&entry.name)
                ))
            })?;
            let version = if entry.repository.is_empty() {
                local_path(self.chart, &format!("charts/{}", entry.name))?;
                Some(entry.version.clone())
            } else if entry.repository.starts_with("file://") {
                self.local_version(entry, &constraint)?
            } else if is_oci(&entry.repository) {
                self.tagged_version(entry, &constraint).await.map(Some)?
            } else {
                let name = names
                    .get(&entry.name)
                    .map(String::as_str)
                    .unwrap_or_default();
                self.indexed_version(entry, &constraint, name)?
            };
            match version {
                Some(version) => locked.push(Dependency {
                    name: entry.name.clone(),
                    repository: entry.repository.clone(),
                    version,
                    ..Dependency::default()
                }),
                None => missing.push(format!(
                    "{} (repository {}, version {})",
                    quoted(&entry.name),
                    quoted(&entry.repository),
                    quoted(&entry.version)
                )),
            }
        }
        if missing.is_empty() {
            return Ok(locked);
        }
        Err(Error::not_found(format!(
            "can't get a valid version for {} subchart(s): {}. Make sure a matching chart version exists in the repo, or change the version constraint in Chart.yaml",
            missing.len(),
            missing.join(", ")
        )))
    }

    fn local_version(
        &self,
        entry: &Dependency,
        constraint: &Constraint,
    ) -> Result<Option<String>, Error> {
        let chart = load::dir(&local_path(self.chart, &entry.repository)?)?;
        let version = chart.metadata.version;
        let parsed = Version::parse(&version).map_err(|error| Error::invalid(error.to_string()))?;
        Ok(constraint.check(&parsed).then_some(version))
    }

    /// The version of a chart in a registry. A constraint that no tag fits stays as it is: fetching it fails.
    async fn tagged_version(
        &self,
        entry: &Dependency,
        constraint: &Constraint,
    ) -> Result<String, Error> {
        if Version::parse(&entry.version).is_ok() {
            return Ok(entry.version.clone());
        }
        let address = format!("{}/{}", entry.repository, entry.name);
        let tags = self.client.tags_of(&address).await.map_err(|error| {
            error.within(format!(
                "could not retrieve list of tags for repository {}",
                entry.repository
            ))
        })?;
        let fits = |tag: &String| Version::parse(tag).is_ok_and(|tag| constraint.check(&tag));
        Ok(tags
            .into_iter()
            .find(fits)
            .unwrap_or_else(|| entry.version.clone()))
    }

    fn indexed_version(
        &mut self,
        entry: &Dependency,
        constraint: &Constraint,
        name: &str,
    ) -> Result<Option<String>, Error> {
        let index = self.index(name).map_err(|error| {
            error.within(format!(
                "no cached repository for {name} found. (try 'helm repo update')"
            ))
        })?;
        let versions = index.chart(&entry.name).ok_or_else(|| {
            Error::not_found(format!(
                "{} chart not found in repo {}",
                entry.name,
                address::without_secret(&entry.repository)
            ))
        })?;
        let fits = versions
            .iter()
            .find(|found| !found.urls.is_empty() && constraint.check(found.parsed()));
        Ok(fits.map(|found| found.version.clone()))
    }
}

/// What is said of words that are no repositories.
fn no_repository(words: &[String]) -> Error {
    let mut text = format!(
        "no repository definition for {}. Please add them via 'helm repo add'",
        words.join(", ")
    );
    let is_word = |word: &String| {
        !word.contains("//") && !word.starts_with('@') && !word.starts_with("alias:")
    };
    if words.iter().any(is_word) {
        text.push_str(
            "\nNote that repositories must be URLs or aliases. For example, to refer to the \"example\"\n\
             repository, use \"https://charts.example.com/\" or \"@example\" instead of\n\
             \"example\". Don't forget to add the repo, too ('helm repo add').",
        );
    }
    Error::not_found(text)
}

/// The name that the index of an unmanaged repository goes by.
pub(super) fn unmanaged(repository: &str) -> String {
    format!("{UNMANAGED}{}", sha256(repository.as_bytes()))
}

/// The route to a repository that nobody has added: without any credentials.
pub(super) fn bare_route(url: &str) -> Route {
    Route {
        home: url.to_owned(),
        ..Route::default()
    }
}

/// The route that the entry of a repository says; flags are for registries alone here.
pub(super) fn managed_route(repository: &Repository) -> Route {
    Route {
        home: repository.url.clone(),
        login: repository.login(),
        pass_credentials: repository.pass_credentials,
        tls: repository.tls.clone(),
    }
}

/// The folder of a dependency on this machine: absolute, or from the chart on.
pub(super) fn local_path(chart: &Path, repository: &str) -> Result<PathBuf, Error> {
    let path = repository.strip_prefix("file://").unwrap_or(repository);
    let path = if path.starts_with('/') {
        cleaned(Path::new(path))
    } else {
        joined(chart, path)
    };
    match std::fs::metadata(&path) {
        Ok(_) => Ok(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Error::not_found(
            format!("directory {} not found", path.display()),
        )),
        Err(error) => Err(Error::path("stat", &path, &error)),
    }
}
