//! Releases as this process deploys them: who it is, where records are, where charts come from.
//!
//! Duty: what the release engine does not read itself, for steps and commands alike.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kzero_chart::schema::Fetch;
use kzero_chart::{Chart, load};
use kzero_cluster::{Budget, Cluster};
use kzero_profile::Profile;
use kzero_registry::{Access, Client, Console, Located, Login, Settings, Wanted};
use kzero_release::revision::{Holder, Revision};
use kzero_release::storage::{Driver, SqlSettings, Storage};
use tokio::sync::OnceCell;

use crate::bounded::open_regular;
use crate::environment::{Environment, host_name, is_running};

/// How long a schema that another refers to may take; Helm gives it as much.
const SCHEMA_TIME: Duration = Duration::from_secs(15);
/// Bytes of one schema.
const MAX_SCHEMA: u64 = 5 << 20;
/// Bytes of a file of values.
const MAX_VALUES: u64 = 64 << 20;

/// What releases of this process have in common.
#[derive(Debug, Clone)]
pub struct Releases {
    records: Result<Records, String>,
    /// The records of a process that keeps them to itself.
    memory: Storage,
    /// Set once the memory has what files give it.
    filled: Arc<OnceCell<()>>,
    holder: Holder,
    registry: Settings,
    logins: Result<Vec<Login>, String>,
}

/// Where records are.
#[derive(Debug, Clone)]
enum Records {
    Secrets,
    ConfigMaps,
    /// With the files of revisions that are there from the beginning.
    Memory(Vec<PathBuf>),
    Sql(Box<SqlSettings>),
}

impl Records {
    /// Reads `HELM_DRIVER`, and for a database what says how it is reached.
    fn read(word: &str, environment: &Environment) -> Result<Self, String> {
        Ok(
            match word.parse::<Driver>().map_err(|error| error.to_string())? {
                Driver::Secret => Self::Secrets,
                Driver::ConfigMap => Self::ConfigMaps,
                Driver::Memory => {
                    let files = environment.text("HELM_MEMORY_DRIVER_DATA");
                    let files = files.as_deref().unwrap_or_default().split(':');
                    let files = files.filter(|file| !file.is_empty());
                    Self::Memory(files.map(|file| environment.absolute(file)).collect())
                }
                Driver::Sql => {
                    let connection = environment
                        .text("HELM_DRIVER_SQL_CONNECTION_STRING")
                        .unwrap_or_default();
                    let settings = SqlSettings::parse(&connection, |name| environment.text(name));
                    Self::Sql(Box::new(settings.map_err(|error| error.to_string())?))
                }
            },
        )
    }
}

/// A chart that was found.
#[derive(Debug, Clone)]
pub enum ChartFile {
    /// A folder or archive of this machine.
    Local(PathBuf),
    /// An archive that was fetched.
    Fetched(Vec<u8>),
}

impl ChartFile {
    /// Loads the chart.
    ///
    /// # Errors
    ///
    /// Helm's words for what is wrong with it.
    pub fn load(&self) -> Result<Chart, String> {
        let loaded = match self {
            Self::Local(path) => load::path(path),
            Self::Fetched(bytes) => load::archive_bytes(bytes),
        };
        loaded.map_err(|error| error.to_string())
    }
}

impl Releases {
    /// Reads what the environment says; asks nobody.
    #[must_use]
    pub fn new(environment: &Environment, run: &str, logins: Result<Vec<Login>, String>) -> Self {
        let word = environment.text("HELM_DRIVER").unwrap_or_default();
        let records = Records::read(&word, environment);
        Self {
            records,
            memory: Storage::memory(""),
            filled: Arc::default(),
            holder: Holder::current(host_name(), std::process::id(), run),
            registry: Settings::from_env(|name| environment.raw(name), &environment.directory),
            logins,
        }
    }

    /// The records of a namespace, where `HELM_DRIVER` says. A database is connected to.
    ///
    /// # Errors
    ///
    /// A word that names no store, and a store that cannot be used.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop; a database may then have Helm's tables already.
    pub async fn storage(
        &self,
        cluster: &Cluster,
        namespace: &str,
        budget: &Budget,
    ) -> Result<Storage, String> {
        Ok(match self.records.clone()? {
            Records::Secrets => Storage::secrets(cluster.clone(), namespace),
            Records::ConfigMaps => Storage::config_maps(cluster.clone(), namespace),
            Records::Memory(files) => {
                let filled = self
                    .filled
                    .get_or_try_init(|| fill(&self.memory, &files, budget));
                filled.await?;
                self.memory.in_namespace(namespace)
            }
            Records::Sql(settings) => Storage::sql(*settings, namespace, budget)
                .await
                .map_err(|error| error.to_string())?,
        })
    }

    /// Who this process is on records and locks.
    #[must_use]
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// Whether another holder still lives; `None` for one on another machine.
    #[must_use]
    pub fn is_alive(&self, other: &Holder) -> Option<bool> {
        if other.host != self.holder.host {
            return None;
        }
        Some(is_running(other.pid))
    }

    /// Finds a chart of a release step: by address, or as a path from the workspace.
    ///
    /// # Errors
    ///
    /// It is not there or cannot be fetched, or a log-in of the profile lacks its password.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn chart(
        &self,
        reference: &str,
        wanted: &Wanted,
        workspace: &Path,
        console: &dyn Console,
    ) -> Result<ChartFile, String> {
        if !is_address(reference) {
            return Ok(ChartFile::Local(workspace.join(reference)));
        }
        let access = Access {
            logins: self.logins.clone()?,
            strict_digests: true,
            ..Access::default()
        };
        let client = Client::new(&self.registry, &access, console);
        let found = client.locate(reference, wanted).await;
        Ok(match found.map_err(|error| error.to_string())? {
            Located::Local(path) => ChartFile::Local(path),
            Located::Fetched(archive) => ChartFile::Fetched(archive.bytes.to_vec()),
        })
    }

    /// Gets schemas of other places for a rendering. Used on threads without a runtime.
    #[must_use]
    pub fn schemas(&self) -> Schemas {
        Schemas {
            registry: self.registry.clone(),
        }
    }
}

/// Puts the revisions of files, each a YAML list of them, into the memory.
async fn fill(memory: &Storage, files: &[PathBuf], budget: &Budget) -> Result<(), String> {
    for file in files {
        let shown = file.display().to_string();
        let failed = |why: String| {
            format!(
                "HELM_MEMORY_DRIVER_DATA: {shown}: {why}\nhint: each file is a YAML list of releases in the form of `helm status -o yaml`"
            )
        };
        let bytes = open_regular(file, &shown, MAX_VALUES).map_err(failed)?;
        let text = String::from_utf8(bytes).map_err(|error| failed(error.to_string()))?;
        let listed =
            kzero_chart::yaml::decode_object(&text).map_err(|error| failed(error.to_string()))?;
        let revisions: Vec<Revision> = serde_json::from_value(listed)
            .map_err(|error| failed(format!("unable to unmarshal: {error}")))?;
        for mut revision in revisions {
            let storage = memory.in_namespace(revision.namespace.clone());
            let name = revision.record_name();
            storage
                .create(&mut revision, budget)
                .await
                .map_err(|error| failed(format!("{name}: {error}")))?;
        }
    }
    Ok(())
}

/// Whether a reference is an address rather than a path.
#[must_use]
pub fn is_address(reference: &str) -> bool {
    ["oci://", "http://", "https://"]
        .iter()
        .any(|scheme| reference.starts_with(scheme))
}

/// The log-ins of `helm.registries` (S-5.18).
///
/// # Errors
///
/// The variable of a password is empty or not set.
pub fn logins(profile: &Profile, environment: &Environment) -> Result<Vec<Login>, String> {
    let registries = profile.helm.registries.iter();
    registries
        .map(|registry| {
            let password = match &registry.password_env {
                Some(name) => environment.text(name).ok_or_else(|| {
                    let host = &registry.host;
                    format!("helm.registries: the password of {host} is empty: {name} is not set")
                })?,
                None => registry
                    .password
                    .as_ref()
                    .map_or_else(String::new, |password| password.expose().to_owned()),
            };
            Ok(Login {
                host: registry.host.clone(),
                username: registry.username.clone(),
                password: password.into(),
            })
        })
        .collect()
}

/// Schemas that others refer to, from the disk and over http, without credentials.
#[derive(Debug, Clone)]
pub struct Schemas {
    registry: Settings,
}

impl Fetch for Schemas {
    fn fetch(&self, url: &str) -> Result<Vec<u8>, String> {
        if let Some(path) = url.strip_prefix("file://") {
            let path = path.split('?').next().unwrap_or(path);
            return open_regular(Path::new(path), path, MAX_SCHEMA);
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("cannot fetch {url}: no runtime: {error}"))?;
        let access = Access::default();
        let client = Client::new(&self.registry, &access, &Silent);
        let budget = Budget::new(format!("fetch of {url}"), SCHEMA_TIME);
        match runtime.block_on(budget.run(client.get(url))) {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(error)) => Err(error.to_string()),
            Err(expired) => Err(expired.to_string()),
        }
    }
}

/// Shows nothing.
struct Silent;

impl Console for Silent {
    fn print(&self, _text: &str) {}
    fn note(&self, _line: &str) {}
}

/// Reads a file of values, which errors name as it was written.
///
/// # Errors
///
/// It cannot be read, is too large, or is no table.
pub fn values_file(
    path: &Path,
    shown: &str,
) -> Result<serde_json::Map<String, serde_json::Value>, String> {
    let bytes = open_regular(path, shown, MAX_VALUES)?;
    kzero_chart::values::read(&bytes).map_err(|error| format!("failed to parse {shown}: {error}"))
}
