//! `repositories.yaml`: the repositories that somebody has added to Helm.

use std::path::Path;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

use super::text;
use crate::error::{Error, ErrorKind, words};
use crate::http::TlsOptions;

/// The largest file that is read.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// A repository with what it takes to reach it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Repository {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) username: String,
    pub(crate) password: SecretString,
    pub(crate) tls: TlsOptions,
    /// Whether other hosts are shown the credentials too.
    pub(crate) pass_credentials: bool,
}

impl Repository {
    /// The credentials, where there are both parts.
    pub(crate) fn login(&self) -> Option<(String, SecretString)> {
        let both = !self.username.is_empty() && !self.password.expose_secret().is_empty();
        both.then(|| (self.username.clone(), self.password.clone()))
    }
}

/// Reads the file; one that is not there holds none.
///
/// # Errors
///
/// It cannot be read, or is not such a file.
pub(crate) fn read(path: &Path) -> Result<Vec<Repository>, Error> {
    let shown = path.display();
    let failed = |error: &std::io::Error| {
        Error::local(format!(
            "couldn't load repositories file ({shown}): open {shown}: {}",
            words(error)
        ))
    };
    let bytes = match crate::file::read(path, MAX_FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
            let text = format!("couldn't load repositories file ({shown}): it is too large");
            return Err(Error::new(ErrorKind::TooLarge, text));
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(&error)),
    };
    parse(&bytes)
}

fn parse(bytes: &[u8]) -> Result<Vec<Repository>, Error> {
    let value = kzero_chart::yaml::decode_bytes(bytes)
        .map_err(|error| Error::invalid(format!("error converting YAML to JSON: {error}")))?;
    let wrong = || {
        Error::invalid("error unmarshaling JSON: repositories.yaml holds no list of repositories")
    };
    let list = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Object(mut file) => file.remove("repositories").unwrap_or_default(),
        _ => return Err(wrong()),
    };
    let list = match list {
        Value::Null => return Ok(Vec::new()),
        Value::Array(list) => list,
        _ => return Err(wrong()),
    };
    let maps = list.into_iter().filter(|item| !item.is_null());
    maps.map(|item| match item {
        Value::Object(map) => Ok(repository(&map)),
        _ => Err(wrong()),
    })
    .collect()
}

fn repository(map: &Map<String, Value>) -> Repository {
    let of = |name: &str| map.get(name).map(text).unwrap_or_default();
    let path = |name: &str| {
        let path = of(name);
        (!path.is_empty()).then(|| path.into())
    };
    let on = |name: &str| map.get(name) == Some(&Value::Bool(true));
    Repository {
        name: of("name"),
        url: of("url"),
        username: of("username"),
        password: of("password").into(),
        tls: TlsOptions {
            ca_file: path("caFile"),
            cert_file: path("certFile"),
            key_file: path("keyFile"),
            insecure: on("insecure_skip_tls_verify"),
        },
        pass_credentials: on("pass_credentials_all"),
    }
}

/// The repository of a name.
///
/// # Errors
///
/// There is none, or it has no address.
pub(crate) fn by_name<'a>(name: &str, all: &'a [Repository]) -> Result<&'a Repository, Error> {
    let found = all.iter().find(|repository| repository.name == name);
    let found = found.ok_or_else(|| Error::not_found(format!("repo {name} not found")))?;
    if found.url.is_empty() {
        let text = format!("no URL found for repository {name}");
        return Err(Error::not_found(text));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_helm_is_read() {
        let all = parse(
            b"apiVersion: \"\"\ngenerated: \"0001-01-01T00:00:00Z\"\nrepositories:\n- caFile: /ca\n  certFile: \"\"\n  insecure_skip_tls_verify: true\n  keyFile: \"\"\n  name: stable\n  pass_credentials_all: true\n  password: hidden\n  url: https://h.example\n  username: me\n- name: bare\n",
        )
        .unwrap();
        let stable = by_name("stable", &all).unwrap();
        assert_eq!(stable.url, "https://h.example");
        assert_eq!(stable.tls.ca_file.as_deref(), Some(Path::new("/ca")));
        assert_eq!(stable.tls.cert_file, None);
        assert!(stable.tls.insecure && stable.pass_credentials && stable.login().is_some());
        assert!(!format!("{stable:?}").contains("hidden"));
        let text = |name: &str| by_name(name, &all).unwrap_err().to_string();
        assert_eq!(text("bare"), "no URL found for repository bare");
        assert_eq!(text("none"), "repo none not found");
    }

    #[test]
    fn none_and_nothing_are_no_repositories() {
        assert!(
            read(Path::new("/nowhere/repositories.yaml"))
                .unwrap()
                .is_empty()
        );
        assert!(parse(b"").unwrap().is_empty());
        assert!(parse(b"repositories:\n- null\n").unwrap().is_empty());
        assert!(parse(b"- a\n").is_err());
        assert!(parse(b"repositories: [a]\n").is_err());
    }
}
