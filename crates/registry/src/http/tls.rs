//! Certificates of `--ca-file`, `--cert-file`, `--key-file` and of repositories.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use reqwest::{ClientBuilder, Identity};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::error::{Error, words};

/// The largest file of certificates.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// How a server and this client know each other.
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
        let pair = match self.pair() {
            Some((cert, key)) => Some(Pair::read(cert, key).map_err(config)?),
            None => None,
        };
        if let Some(path) = &self.ca_file {
            let verifier = Trusted::read(path).map_err(config)?;
            if !self.insecure {
                let own = verifier.config(pair.as_ref()).map_err(config)?;
                return Ok(builder.tls_backend_preconfigured(own));
            }
        }
        if let Some(pair) = pair {
            builder = builder.identity(pair.identity);
        }
        Ok(builder.tls_danger_accept_invalid_certs(self.insecure))
    }
}

fn config(error: Error) -> Error {
    error.within("can't create TLS config for client")
}

/// This client's certificate and key.
struct Pair {
    identity: Identity,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Pair {
    fn read(cert: &Path, key: &Path) -> Result<Self, Error> {
        let failed = |cause: String| {
            Error::local(format!(
                "can't load key pair from cert {} and key {}: {cause}",
                cert.display(),
                key.display()
            ))
        };
        let open = |path: &Path| {
            crate::file::read(path, MAX_FILE)
                .map_err(|error| failed(format!("open {}: {}", path.display(), words(&error))))
        };
        let (mut pem, key) = (open(cert)?, open(key)?);
        let no_pem = || failed("tls: failed to find any PEM data".to_owned());
        let chain = CertificateDer::pem_slice_iter(&pem)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| no_pem())?;
        let parsed = PrivateKeyDer::from_pem_slice(&key).map_err(|_| no_pem())?;
        pem.push(b'\n');
        pem.extend_from_slice(&key);
        Ok(Self {
            identity: Identity::from_pem(&pem).map_err(|_| no_pem())?,
            chain,
            key: parsed,
        })
    }
}

/// Trust in the certificates of a file: in what they have signed, and in themselves.
///
/// A certificate that is its own authority is what most private servers have. Go takes it where it is
/// trusted itself; rustls takes no authority's certificate for a server's.
#[derive(Debug)]
struct Trusted {
    inner: Arc<WebPkiServerVerifier>,
    certificates: Vec<CertificateDer<'static>>,
}

impl Trusted {
    fn read(path: &Path) -> Result<Self, Error> {
        let shown = path.display();
        let pem = crate::file::read(path, MAX_FILE)
            .map_err(|_| Error::local(format!("can't read CA file: {shown}")))?;
        let nothing = || Error::local(format!("failed to append certificates from file: {shown}"));
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(&pem).flatten().collect();
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates.iter().cloned());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|_| nothing())?;
        Ok(Self {
            inner,
            certificates,
        })
    }

    fn config(self, pair: Option<&Pair>) -> Result<ClientConfig, Error> {
        let failed = |error: rustls::Error| Error::local(error.to_string());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(failed)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(self));
        match pair {
            Some(pair) => builder
                .with_client_auth_cert(pair.chain.clone(), pair.key.clone_key())
                .map_err(failed),
            None => Ok(builder.with_no_client_auth()),
        }
    }
}

impl ServerCertVerifier for Trusted {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let found = self.inner.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match found {
            // Times have been checked before this is said; names have not.
            Err(error)
                if error.to_string().contains("CaUsedAsEndEntity")
                    && self.certificates.iter().any(|known| known == end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            found => found,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
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
