//! How far a database is trusted: the modes of `sslmode`.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use super::SqlError;
use super::settings::{Check, Roots, SqlSettings};

/// The TLS of a connection; none where it is plain.
pub(super) fn client(settings: &SqlSettings) -> Result<Option<ClientConfig>, SqlError> {
    let Some(check) = settings.check() else {
        return Ok(None);
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let trust = Trust::new(check, Arc::clone(&provider))?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(trust));
    let config = match settings.identity() {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let key = PrivateKeyDer::from_pem_slice(&identity.key)
                .map_err(|_| SqlError::new("sslkey has no private key"))?;
            let certificates = certificates_of(&identity.certificates, "sslcert")?;
            builder
                .with_client_auth_cert(certificates, key)
                .map_err(|error| unusable(&error))?
        }
    };
    Ok(Some(config))
}

fn unusable(error: &Error) -> SqlError {
    SqlError::new(format!("TLS cannot be set up: {error}"))
}

fn certificates_of(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, SqlError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(SqlError::new(format!("{what} has no certificate"))),
    }
}

/// Decides over the certificate of a database.
#[derive(Debug)]
struct Trust {
    provider: Arc<CryptoProvider>,
    /// None where any certificate will do.
    chain: Option<Arc<WebPkiServerVerifier>>,
    /// Certificates that are trusted themselves: a database often signs its own.
    own: Vec<CertificateDer<'static>>,
    names_count: bool,
}

impl Trust {
    fn new(check: &Check, provider: Arc<CryptoProvider>) -> Result<Self, SqlError> {
        let (roots, names_count) = match check {
            Check::Nothing => (None, false),
            Check::Chain(roots) => (Some(roots), false),
            Check::ChainAndName(roots) => (Some(roots), true),
        };
        let mut trust = Self {
            provider: Arc::clone(&provider),
            chain: None,
            own: Vec::new(),
            names_count,
        };
        let Some(roots) = roots else {
            return Ok(trust);
        };
        let mut store = RootCertStore::empty();
        match roots {
            Roots::System => {
                let found = rustls_native_certs::load_native_certs();
                store.add_parsable_certificates(found.certs);
            }
            Roots::Given(pem) => {
                trust.own = certificates_of(pem, "sslrootcert")?;
                store.add_parsable_certificates(trust.own.clone());
            }
        }
        let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider)
            .build()
            .map_err(|error| SqlError::new(format!("TLS cannot be set up: {error}")))?;
        trust.chain = Some(chain);
        Ok(trust)
    }

    fn check_name(
        &self,
        certificate: &CertificateDer<'_>,
        name: &ServerName<'_>,
    ) -> Result<(), Error> {
        if !self.names_count {
            return Ok(());
        }
        let parsed = ParsedCertificate::try_from(certificate)?;
        rustls::client::verify_server_name(&parsed, name)
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else {
            return Ok(ServerCertVerified::assertion());
        };
        let verdict = chain.verify_server_cert(certificate, intermediates, name, ocsp, now);
        let Err(Error::InvalidCertificate(fault)) = &verdict else {
            return verdict;
        };
        match fault {
            // The name is looked at last: all else is in order.
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                if self.names_count {
                    return verdict;
                }
            }
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => return verdict,
            _ if self.own.contains(certificate) => self.check_name(certificate, name)?,
            _ => return verdict,
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
