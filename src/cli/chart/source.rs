//! Charts from elsewhere: the flags that say where and how, and the way to a loaded chart.

use std::path::{Path, PathBuf};

use clap::Args;
use kzero_chart::Chart;
use kzero_chart::load::{self, LoadError};
use kzero_registry::{Access, Client, Console, Located, Login, Settings, Wanted, local};

use super::flags::given;
use crate::cli::app::{App, runtime};
use crate::releases::ChartFile;

/// Which chart is meant, where it is and how it is fetched: Helm's flags.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Where the chart is")]
pub(in crate::cli) struct SourceFlags {
    /// Version, or constraint as in ^2.0.0 [default: the newest release].
    #[arg(
        long,
        value_name = "VERSION",
        default_value = "",
        hide_default_value = true
    )]
    version: String,
    /// Address of the repository to look in.
    #[arg(
        long,
        value_name = "URL",
        default_value = "",
        hide_default_value = true
    )]
    repo: String,
    /// Take prereleases too; without effect beside --version.
    #[arg(long)]
    devel: bool,
    /// Show the credentials to all hosts that the repository names.
    #[arg(long)]
    pass_credentials: bool,
    #[command(flatten)]
    access: AccessFlags,
    #[command(flatten)]
    verify: VerifyFlags,
}

/// How servers are reached.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct AccessFlags {
    /// User name for the repository or registry.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    username: String,
    /// Password for the repository or registry.
    #[arg(
        long,
        value_name = "PASSWORD",
        default_value = "",
        hide_default_value = true
    )]
    password: Password,
    /// Certificates to trust instead of the system's.
    #[arg(long, value_name = "PATH")]
    ca_file: Option<PathBuf>,
    /// Certificate to show to servers.
    #[arg(long, value_name = "PATH")]
    cert_file: Option<PathBuf>,
    /// Key of that certificate.
    #[arg(long, value_name = "PATH")]
    key_file: Option<PathBuf>,
    /// Take any certificate.
    #[arg(long)]
    insecure_skip_tls_verify: bool,
    /// Reach registries without TLS.
    #[arg(long)]
    plain_http: bool,
}

/// Signatures, which kzero does not check.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct VerifyFlags {
    /// Refused: kzero does not check signatures of charts.
    #[arg(long)]
    verify: bool,
    /// Keys for --verify.
    #[arg(long, value_name = "PATH")]
    keyring: Option<PathBuf>,
}

impl VerifyFlags {
    /// # Errors
    ///
    /// A signature shall be checked, which nothing here can do.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.verify {
            let text = "--verify is not supported: kzero does not check signatures of charts";
            return Err(text.to_owned());
        }
        Ok(())
    }
}

/// A password that is not shown by accident.
#[derive(Clone, Default)]
struct Password(String);

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password")
    }
}

impl From<&str> for Password {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl AccessFlags {
    /// The flags as the library takes them, with the log-ins of a profile.
    ///
    /// # Errors
    ///
    /// The profile that `-c` names cannot be used.
    pub(super) fn access(&self, app: &App, pass_credentials: bool) -> Result<Access, String> {
        Ok(Access {
            username: self.username.clone(),
            password: self.password.0.as_str().into(),
            ca_file: given(self.ca_file.as_ref()).map(Path::to_owned),
            cert_file: given(self.cert_file.as_ref()).map(Path::to_owned),
            key_file: given(self.key_file.as_ref()).map(Path::to_owned),
            insecure_skip_tls_verify: self.insecure_skip_tls_verify,
            plain_http: self.plain_http,
            pass_credentials,
            strict_digests: false,
            logins: logins(app)?,
        })
    }
}

/// The log-ins of `helm.registries`, where `-c` names a profile (S-D.4, S-5.18).
fn logins(app: &App) -> Result<Vec<Login>, String> {
    if app.flags.config.is_none() {
        return Ok(Vec::new());
    }
    let profile = app
        .load(false)
        .map_err(|failure| failure.text().to_owned())?;
    crate::releases::logins(&profile, &app.environment)
}

/// The settings that the environment asks for.
pub(super) fn settings(app: &App) -> Settings {
    let environment = &app.environment;
    Settings::from_env(|name| environment.raw(name), &environment.directory)
}

impl Console for App {
    fn print(&self, text: &str) {
        self.output.result(text);
    }

    fn note(&self, line: &str) {
        self.warn(line);
    }
}

impl SourceFlags {
    /// The version and repository that are asked for.
    pub(super) fn wanted(&self) -> Wanted {
        Wanted::new(&self.version, self.devel, &self.repo)
    }

    /// How servers are reached.
    ///
    /// # Errors
    ///
    /// `--verify` is refused; the profile that `-c` names cannot be used.
    pub(super) fn access(&self, app: &App) -> Result<Access, String> {
        self.verify.check()?;
        self.access.access(app, self.pass_credentials)
    }

    /// Finds a chart, fetches it if it is elsewhere, and loads it; warnings go to stderr. For a chart of this
    /// machine no server is asked and no runtime started; `load` loads it.
    ///
    /// # Errors
    ///
    /// Helm's texts, for a chart that is not there, cannot be fetched or cannot be loaded.
    pub(super) fn locate(
        &self,
        app: &App,
        reference: &str,
        load: fn(&Path) -> Result<Chart, LoadError>,
    ) -> Result<Found, String> {
        let (chart, place) = match self.find(app, reference)? {
            ChartFile::Local(path) => {
                let chart = load(&path).map_err(|error| error.to_string())?;
                (chart, Some(path))
            }
            ChartFile::Fetched(bytes) => {
                let chart = load::archive_bytes(&bytes).map_err(|error| error.to_string())?;
                (chart, None)
            }
        };
        for warning in &chart.warnings {
            app.warn(warning);
        }
        Ok(Found { chart, place })
    }

    /// Finds a chart, and fetches it if it is elsewhere. For a chart of this machine no server is asked and no runtime
    /// started.
    ///
    /// # Errors
    ///
    /// Helm's texts, for a chart that is not there or cannot be fetched.
    pub(in crate::cli) fn find(&self, app: &App, reference: &str) -> Result<ChartFile, String> {
        let access = self.access(app)?;
        let settings = settings(app);
        let text = |error: kzero_registry::Error| error.to_string();
        let here = local(reference, &settings).map_err(text)?;
        if let Some(path) = here.filter(|_| self.repo.is_empty()) {
            return Ok(ChartFile::Local(path));
        }
        let client = Client::new(&settings, &access, app);
        let found = runtime()
            .map_err(|failure| failure.text().to_owned())?
            .block_on(client.locate(reference, &self.wanted()))
            .map_err(text)?;
        Ok(match found {
            Located::Local(path) => ChartFile::Local(path),
            Located::Fetched(archive) => ChartFile::Fetched(archive.bytes.to_vec()),
        })
    }

    /// How servers are reached.
    pub(super) fn flags(&self) -> &AccessFlags {
        &self.access
    }
}

/// A loaded chart.
pub(super) struct Found {
    /// The chart.
    pub(super) chart: Chart,
    /// Where it is on this machine; none where it was fetched.
    pub(super) place: Option<PathBuf>,
}

/// Loads a chart of this machine.
pub(super) fn loaded(path: &Path) -> Result<Chart, String> {
    load::path(path).map_err(|error| error.to_string())
}
