//! What all ways to a chart share: settings, flags, connections, the cache, and where to say things.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use percent_encoding::percent_decode_str;
use reqwest::{StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};

use crate::cache::{Cache, is_sha256, sha256};
use crate::credentials::{Credentials, Login};
use crate::error::{Error, ErrorKind};
use crate::http::{Authorization, Http, Request, TlsOptions};
use crate::oci::Oci;
use crate::repo::address;
use crate::settings::Settings;

/// The largest archive that is fetched.
pub(crate) const MAX_ARCHIVE: u64 = 100 * 1024 * 1024;
const ACCEPT_ARCHIVE: &str = "application/gzip,application/octet-stream";

/// Where lines for people go.
pub trait Console: Send + Sync {
    /// Takes text for standard output, with its line ends.
    fn print(&self, text: &str);
    /// Takes a line for standard error, without a line end.
    fn note(&self, line: &str);
}

/// How servers are reached: Helm's flags for charts from elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// `--username`; counts only together with a password.
    pub username: String,
    /// `--password`.
    pub password: SecretString,
    /// `--ca-file`: trusted instead of the system's certificates.
    pub ca_file: Option<PathBuf>,
    /// `--cert-file`: this client's certificate, together with its key.
    pub cert_file: Option<PathBuf>,
    /// `--key-file`.
    pub key_file: Option<PathBuf>,
    /// `--insecure-skip-tls-verify`.
    pub insecure_skip_tls_verify: bool,
    /// `--plain-http`: registries are reached without TLS.
    pub plain_http: bool,
    /// `--pass-credentials`: credentials of a repository are shown to other hosts its index names.
    pub pass_credentials: bool,
    /// Whether an archive is refused that differs from the digest in the index of its repository. Helm takes it.
    pub strict_digests: bool,
    /// Logins for registries that go before the credential files, such as `helm.registries`.
    pub logins: Vec<Login>,
}

impl Access {
    pub(crate) fn tls(&self) -> TlsOptions {
        let filled =
            |path: &Option<PathBuf>| path.clone().filter(|path| !path.as_os_str().is_empty());
        TlsOptions {
            ca_file: filled(&self.ca_file),
            cert_file: filled(&self.cert_file),
            key_file: filled(&self.key_file),
            insecure: self.insecure_skip_tls_verify,
        }
    }

    /// User name and password, where there are both.
    pub(crate) fn login(&self) -> Option<(String, SecretString)> {
        let both = !self.username.is_empty() && !self.password.expose_secret().is_empty();
        both.then(|| (self.username.clone(), self.password.clone()))
    }
}

/// A fetched chart archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// The name of its file, such as `web-1.2.3.tgz`; never a path.
    pub file_name: String,
    /// The archive.
    pub bytes: Bytes,
    /// The SHA-256 of the bytes, as `sha256:` and hexadecimal.
    pub digest: String,
    /// Where it came from, without secrets.
    pub source: String,
    /// The version that was chosen; empty where an address alone was given.
    pub version: String,
}

/// Finds and fetches charts. It connects to nothing before it has to, and logs in to a registry once.
pub struct Client<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) access: &'a Access,
    pub(crate) console: &'a dyn Console,
    pub(crate) cache: Cache,
    pub(crate) oci: Oci,
    connections: Mutex<HashMap<TlsOptions, Http>>,
}

/// Bytes of what is fetched for [`Client::get`].
const MAX_PLAIN: u64 = 5 << 20;

/// How one repository is reached.
#[derive(Debug, Clone, Default)]
pub(crate) struct Route {
    /// The address that the credentials belong to.
    pub(crate) home: String,
    pub(crate) login: Option<(String, SecretString)>,
    pub(crate) pass_credentials: bool,
    pub(crate) tls: TlsOptions,
}

impl<'a> Client<'a> {
    /// A client with these settings and flags.
    #[must_use]
    pub fn new(settings: &'a Settings, access: &'a Access, console: &'a dyn Console) -> Self {
        let credentials = Credentials::new(settings, access.login(), &access.logins);
        Self {
            settings,
            access,
            console,
            cache: Cache::new(settings.content_cache.as_deref()),
            oci: Oci::new(credentials, access.plain_http),
            connections: Mutex::default(),
        }
    }

    /// The connections for a set of certificates.
    pub(crate) fn http(&self, tls: &TlsOptions) -> Result<Http, Error> {
        let mut connections = self
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(http) = connections.get(tls) {
            return Ok(http.clone());
        }
        let http = Http::new(&self.settings.proxies, tls)?;
        connections.insert(tls.clone(), http.clone());
        Ok(http)
    }

    /// Reads the certificates that flags name, before anything is asked for.
    pub(crate) fn check_certificates(&self) -> Result<(), Error> {
        let tls = self.access.tls();
        if tls.is_own() {
            self.http(&tls)
                .map_err(|error| error.within("missing registry client"))?;
        }
        Ok(())
    }

    /// The route that the flags ask for, to an address of the user's own.
    pub(crate) fn route(&self, home: &str) -> Route {
        Route {
            home: home.to_owned(),
            login: self.access.login(),
            pass_credentials: self.access.pass_credentials,
            tls: self.access.tls(),
        }
    }

    /// Fetches something over http or https, with credentials only where they belong.
    pub(crate) async fn fetch(
        &self,
        address: &str,
        route: &Route,
        accept: &str,
        bound: u64,
    ) -> Result<Bytes, Error> {
        let url = address::parse(address)?;
        let home = Url::parse(&route.home);
        let ours = home.is_ok_and(|home| address::same_origin(&home, &url));
        let login = route
            .login
            .clone()
            .filter(|_| ours || route.pass_credentials);
        let authorization = login.map(|(user, password)| Authorization::Basic(user, password));
        let request = Request {
            authorization: authorization.as_ref(),
            ..Request::get(&url, accept, bound)
        };
        let answer = self.http(&route.tls)?.send(&request).await?;
        if answer.status == StatusCode::OK {
            return Ok(answer.body);
        }
        let kind = match answer.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ErrorKind::Unauthorized,
            StatusCode::NOT_FOUND | StatusCode::GONE => ErrorKind::NotFound,
            _ => ErrorKind::Unreachable,
        };
        let status = answer.status;
        let reason = status.canonical_reason().unwrap_or_default();
        Err(Error::new(
            kind,
            format!(
                "failed to fetch {} : {} {reason}",
                address::without_secret(address),
                status.as_u16()
            ),
        ))
    }

    /// Gets what is at an http or https address, without credentials: at most 5 MiB. The future may be dropped.
    ///
    /// # Errors
    ///
    /// Nobody answers, or with anything but 200, or with too much.
    pub async fn get(&self, address: &str) -> Result<Vec<u8>, Error> {
        let bytes = self
            .fetch(address, &Route::default(), "*/*", MAX_PLAIN)
            .await?;
        Ok(bytes.to_vec())
    }

    /// Fetches an archive, or takes it from the cache where its digest is known.
    pub(crate) async fn fetch_archive(
        &self,
        address: &str,
        route: &Route,
        version: &str,
        digest: &str,
    ) -> Result<Archive, Error> {
        let file_name = file_name(address)?;
        let said = digest.strip_prefix("sha256:").unwrap_or(digest);
        let said = is_sha256(said).then_some(said);
        let kept = said.and_then(|digest| self.cache.get(digest, MAX_ARCHIVE));
        let bytes = match kept {
            Some(bytes) => bytes,
            None => {
                let fetched = self.fetch(address, route, ACCEPT_ARCHIVE, MAX_ARCHIVE);
                fetched.await?
            }
        };
        let digest = sha256(&bytes);
        let differs = said.is_some_and(|said| said != digest);
        if differs && self.access.strict_digests {
            return Err(Error::invalid(format!(
                "the digest of {file_name} is sha256:{digest}, which is not the one that the index of the repository has; it was changed after it was published, or on the way"
            )));
        }
        if differs {
            // Helm takes it without a word, and there are repositories that would be of no use else.
            self.console.note(&format!(
                "WARNING: the digest of {file_name} is not the one that the index of the repository has"
            ));
        }
        self.cache.put(&digest, &bytes);
        Ok(Archive {
            file_name,
            bytes,
            digest: format!("sha256:{digest}"),
            source: address::without_secret(address),
            version: version.to_owned(),
        })
    }
}

/// The last name in the path of an address.
fn file_name(address: &str) -> Result<String, Error> {
    let url = address::parse(address)?;
    let path = percent_decode_str(url.path()).decode_utf8_lossy();
    let name = path
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default();
    if matches!(name, "" | "." | "..") || name.contains('\0') {
        let text = format!("{} does not name a file", address::without_secret(address));
        return Err(Error::invalid(text));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_never_leads_anywhere_else() {
        let named = |address: &str| file_name(address).map_err(|error| error.to_string());
        assert_eq!(
            named("https://h.example/a/web-1.0.0%2Bb.tgz?x=/y").unwrap(),
            "web-1.0.0+b.tgz"
        );
        assert_eq!(
            named("https://h.example/a/..%2F..%2Fetc%2Fpasswd").unwrap(),
            "passwd"
        );
        for odd in [
            "https://h.example/",
            "https://h.example/a/%2e%2e%2f..",
            "https://h.example/%00",
        ] {
            let text = named(odd).unwrap_err();
            assert!(text.ends_with("does not name a file"), "{text}");
        }
    }
}
