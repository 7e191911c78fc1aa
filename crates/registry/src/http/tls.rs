//! Certificates of `--ca-file`, `--cert-file`, `--key-file` and of repositories.

use std::path::{Path, PathBuf};

use reqwest::{Certificate, ClientBuilder, Identity};

use crate::error::{Error, words};

/// The largest file of certificates.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// How a server and this client know each other. Empty paths count as none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct TlsOptions {
    /// The certificates to trust, instead of the system's.
    pub(crate) ca_file: Option<PathBuf>,
    /// This client's own certificate; without a key it counts for nothing.
    pub(crate) cert_file: Option<PathBuf>,
    /// Its key.
    pub(crate) key_file: Option<PathBuf>,
    /// Whether any certificate will do.
    pub(crate) insecure: bool,
}

impl TlsOptions {
    /// Whether anything is asked for that is not the default.
    pub(crate) fn is_own(&self) -> bool {
        self.ca_file.is_some() || self.pair().is_some() || self.insecure
    }

    fn pair(&self) -> Option<(&Path, &Path)> {
        Some((self.cert_file.as_deref()?, self.key_file.as_deref()?))
    }

    pub(super) fn apply(&self, mut builder: ClientBuilder) -> Result<ClientBuilder, Error> {
        if let Some((cert, key)) = self.pair() {
            builder = builder.identity(identity(cert, key).map_err(config)?);
        }
        if let Some(path) = &self.ca_file {
            builder = builder.tls_certs_only(trusted(path).map_err(config)?);
        }
        if self.insecure {
            builder = builder.tls_danger_accept_invalid_certs(true);
        }
        Ok(builder)
    }
}

fn config(error: Error) -> Error {
    error.within("can't create TLS config for client")
}

fn trusted(path: &Path) -> Result<Vec<Certificate>, Error> {
    let shown = path.display();
    let pem = read(path).map_err(|_| Error::local(format!("can't read CA file: {shown}")))?;
    let found = Certificate::from_pem_bundle(&pem).unwrap_or_default();
    if found.is_empty() {
        return Err(Error::local(format!(
            "failed to append certificates from file: {shown}"
        )));
    }
    Ok(found)
}

fn identity(cert: &Path, key: &Path) -> Result<Identity, Error> {
    let failed = |cause: String| {
        Error::local(format!(
            "can't load key pair from cert {} and key {}: {cause}",
            cert.display(),
            key.display()
        ))
    };
    let open = |path: &Path| {
        read(path).map_err(|error| failed(format!("open {}: {}", path.display(), words(&error))))
    };
    let mut pem = open(cert)?;
    pem.push(b'\n');
    pem.extend(open(key)?);
    Identity::from_pem(&pem).map_err(|_| failed("tls: failed to find any PEM data".to_owned()))
}

/// Reads a file of a sensible size.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let length = std::fs::metadata(path)?.len();
    if length > MAX_FILE {
        return Err(std::io::Error::other("the file is too large"));
    }
    std::fs::read(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(options: &TlsOptions) -> String {
        match options.apply(reqwest::Client::builder()) {
            Ok(_) => panic!("taken"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn files_that_hold_no_certificates_are_named_as_helm_names_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        let options = TlsOptions {
            ca_file: Some(path.clone()),
            ..TlsOptions::default()
        };
        let shown = path.display();
        assert_eq!(
            refused(&options),
            format!("can't create TLS config for client: can't read CA file: {shown}")
        );
        std::fs::write(&path, "no certificate").unwrap();
        assert_eq!(
            refused(&options),
            format!(
                "can't create TLS config for client: failed to append certificates from file: {shown}"
            )
        );
        let options = TlsOptions {
            cert_file: Some(path.clone()),
            key_file: Some(folder.path().join("key.pem")),
            ..TlsOptions::default()
        };
        let text = refused(&options);
        assert!(text.contains("can't load key pair from cert"), "{text}");
        assert!(
            text.ends_with("key.pem: no such file or directory"),
            "{text}"
        );
    }

    #[test]
    fn a_certificate_without_a_key_counts_for_nothing() {
        let options = TlsOptions {
            cert_file: Some(PathBuf::from("/nowhere")),
            ..TlsOptions::default()
        };
        assert!(!options.is_own());
        assert!(options.apply(reqwest::Client::builder()).is_ok());
    }
}
