//! Who to be towards a registry.
//!
//! Duty: the credential for a host from the first place that has one: flags, logins of a profile, Helm's
//! file, Docker's file; the last two with the helper programs they name. Secrets are never shown.

mod config;
mod helper;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};

use config::Config;

use crate::error::Error;
use crate::settings::Settings;

/// A user name and password for one registry, such as an entry of `helm.registries`.
#[derive(Debug, Clone)]
pub struct Login {
    /// The host, with its port where it has one; letter case does not count.
    pub host: String,
    /// The user name.
    pub username: String,
    /// The password.
    pub password: SecretString,
}

/// What a registry or its token server is told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Credential {
    pub(crate) username: String,
    pub(crate) password: Option<SecretString>,
    /// For which a token server gives access tokens.
    pub(crate) refresh_token: Option<SecretString>,
    /// That is shown to the registry as it is.
    pub(crate) access_token: Option<SecretString>,
}

impl Credential {
    fn plain(username: &str, password: &SecretString) -> Self {
        Self {
            username: username.to_owned(),
            password: Some(password.clone()),
            ..Self::default()
        }
    }

    /// Whether there is nothing in it.
    fn is_empty(&self) -> bool {
        let none = |secret: &Option<SecretString>| {
            secret.as_ref().is_none_or(|s| s.expose_secret().is_empty())
        };
        self.username.is_empty()
            && none(&self.password)
            && none(&self.refresh_token)
            && none(&self.access_token)
    }
}

/// Where a credential came from, for whoever has to find out why it was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// `--username` and `--password`.
    Flags,
    /// A login that was given for this host.
    Login,
    /// A file.
    File(PathBuf),
    /// A helper program, and the file that names it.
    Helper(String, PathBuf),
    /// There is none.
    Nowhere,
    /// There is none, but a file that cannot be read might have some.
    Unreadable(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flags => f.write_str("credentials from --username and --password"),
            Self::Login => f.write_str("credentials from helm.registries"),
            Self::File(path) => write!(f, "credentials from {}", path.display()),
            Self::Helper(program, path) => {
                write!(f, "credentials from {program}, named in {}", path.display())
            }
            Self::Nowhere => f.write_str("no credentials found"),
            Self::Unreadable(path) => {
                write!(f, "no credentials found, {} cannot be read", path.display())
            }
        }
    }
}

/// All places that may have a credential.
#[derive(Debug, Clone)]
pub(crate) struct Credentials {
    /// For every host.
    flags: Option<(String, SecretString)>,
    logins: Vec<Login>,
    helm: PathBuf,
    docker: Option<PathBuf>,
    program_path: Option<OsString>,
}

impl Credentials {
    /// The places that flags and settings name.
    pub(crate) fn new(
        settings: &Settings,
        flags: Option<(String, SecretString)>,
        logins: &[Login],
    ) -> Self {
        Self {
            flags,
            logins: logins.to_vec(),
            helm: settings.registry_config.clone(),
            docker: settings.docker_config.clone(),
            program_path: settings.program_path.clone(),
        }
    }

    /// The credential for a registry's host, and where it is from.
    ///
    /// # Errors
    ///
    /// A file that is not in Docker's form; a helper that fails.
    ///
    /// Dropping the future ends a helper that runs.
    pub(crate) async fn of(&self, host: &str) -> Result<(Credential, Origin), Error> {
        if let Some((username, password)) = &self.flags {
            return Ok((Credential::plain(username, password), Origin::Flags));
        }
        let login = self
            .logins
            .iter()
            .find(|login| login.host.eq_ignore_ascii_case(host));
        if let Some(login) = login {
            let credential = Credential::plain(&login.username, &login.password);
            return Ok((credential, Origin::Login));
        }
        let address = address(host);
        let config = Config::read(&self.helm)?;
        let found = self.of_file(&self.helm, &config, address).await?;
        if !found.0.is_empty() {
            return Ok(found);
        }
        let Some(docker) = &self.docker else {
            return Ok((Credential::default(), Origin::Nowhere));
        };
        // Helm does without Docker's file where it is broken.
        let Ok(config) = Config::read(docker) else {
            return Ok((Credential::default(), Origin::Unreadable(docker.clone())));
        };
        let found = self.of_file(docker, &config, address).await?;
        if !found.0.is_empty() {
            return Ok(found);
        }
        Ok((Credential::default(), Origin::Nowhere))
    }

    async fn of_file(
        &self,
        file: &Path,
        config: &Config,
        address: &str,
    ) -> Result<(Credential, Origin), Error> {
        if let Some(helper) = config.helper(address) {
            let program = format!("docker-credential-{helper}");
            let found = helper::get(&program, address, self.program_path.as_deref()).await?;
            return Ok((found, Origin::Helper(program, file.to_owned())));
        }
        let found = config.credential(address)?;
        Ok((found, Origin::File(file.to_owned())))
    }
}

/// What a host goes by in files: Docker Hub has a name of its own there.
fn address(host: &str) -> &str {
    match host {
        "docker.io" | "registry-1.docker.io" => "https://index.docker.io/v1/",
        _ => host,
    }
}

#[cfg(test)]
mod tests;
