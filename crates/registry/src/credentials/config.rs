//! Docker's `config.json`, of which Helm has one of its own.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;
use serde::Deserialize;

use super::Credential;
use crate::error::{Error, words};

/// The largest file that is read.
const MAX_FILE: u64 = 4 * 1024 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Config {
    auths: Option<BTreeMap<String, Entry>>,
    creds_store: Option<String>,
    cred_helpers: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct Entry {
    auth: Option<SecretString>,
    username: Option<String>,
    password: Option<SecretString>,
    identitytoken: Option<SecretString>,
    registrytoken: Option<SecretString>,
}

impl Config {
    /// Reads a file; one that is not there, or holds nothing, is an empty one.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let shown = path.display();
        let failed = |error: &std::io::Error| {
            Error::local(format!(
                "failed to open config file at {shown}: {}",
                words(error)
            ))
        };
        let bytes = match crate::file::read(path, MAX_FILE) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(failed(&error)),
        };
        if bytes.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        // Where it went wrong, not with what: that may be a secret.
        serde_json::from_slice(&bytes).map_err(|error| {
            Error::local(format!(
                "failed to decode config file {shown}: invalid config format: line {} column {}",
                error.line(),
                error.column()
            ))
        })
    }

    /// The helper for an address: its own, or the one for all.
    pub(super) fn helper(&self, address: &str) -> Option<&str> {
        let own = self
            .cred_helpers
            .iter()
            .flatten()
            .find(|(host, _)| *host == address);
        let helper = own
            .map(|(_, helper)| helper)
            .filter(|helper| !helper.is_empty());
        helper
            .or(self.creds_store.as_ref())
            .map(String::as_str)
            .filter(|helper| !helper.is_empty())
    }

    /// What the file itself has for an address. Old files have schemes and paths around hosts.
    pub(super) fn credential(&self, address: &str) -> Result<Credential, Error> {
        let Some(auths) = &self.auths else {
            return Ok(Credential::default());
        };
        let found = auths.get(address).or_else(|| {
            let mut entries = auths.iter();
            entries
                .find(|(name, _)| host_of(name) == address)
                .map(|(_, entry)| entry)
        });
        found.map_or_else(|| Ok(Credential::default()), Entry::credential)
    }
}

fn host_of(name: &str) -> &str {
    let name = name.strip_prefix("http://").unwrap_or(name);
    let name = name.strip_prefix("https://").unwrap_or(name);
    name.split('/').next().unwrap_or(name)
}

impl Entry {
    fn credential(&self) -> Result<Credential, Error> {
        use secrecy::ExposeSecret;
        let (username, password) = match &self.auth {
            Some(auth) if !auth.expose_secret().is_empty() => decode(auth.expose_secret())?,
            _ => (
                self.username.clone().unwrap_or_default(),
                self.password.clone(),
            ),
        };
        Ok(Credential {
            username,
            password,
            refresh_token: self.identitytoken.clone(),
            access_token: self.registrytoken.clone(),
        })
    }
}

/// Takes `user:password` out of its base 64.
fn decode(auth: &str) -> Result<(String, Option<SecretString>), Error> {
    let wrong = || Error::local("failed to decode auth field: invalid config format");
    let text = STANDARD.decode(auth).map_err(|_| wrong())?;
    let text = String::from_utf8(text).map_err(|_| wrong())?;
    let (username, password) = text.split_once(':').ok_or_else(wrong)?;
    Ok((username.to_owned(), Some(SecretString::from(password))))
}
