//! Certificates for servers of tests, made anew for each run.

use std::sync::{Arc, LazyLock};

use kzero_gotmpl::{Still, Value, render};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// An authority, a server's certificate of it for 127.0.0.1 and localhost, and a client's.
pub(crate) struct Certs {
    /// The authority's certificate in PEM.
    pub(crate) ca: String,
    /// The server's certificate and key in PEM.
    pub(crate) server: (String, String),
    /// The client's certificate and key in PEM.
    pub(crate) client: (String, String),
}

/// The certificates of this run.
pub(crate) static CERTS: LazyLock<Certs> = LazyLock::new(|| {
    let text = r#"{{ $ca := genCAWithKey "tests" 30 (genPrivateKey "ecdsa") -}}
{{ $server := genSignedCertWithKey "server" (list "127.0.0.1") (list "localhost") 30 $ca (genPrivateKey "ecdsa") -}}
{{ $client := genSignedCertWithKey "client" nil nil 30 $ca (genPrivateKey "ecdsa") -}}
{{ join "|" (list $ca.Cert $server.Cert $server.Key $client.Cert $client.Key) }}"#;
    let now = jiff::Timestamp::now();
    let seed = u64::try_from(now.as_nanosecond() % i128::from(u64::MAX)).unwrap();
    let chance = Still::new(now.as_second(), seed);
    let made = render("certs", text, &Value::Nil, &chance).unwrap();
    let [ca, server, server_key, client, client_key] = made
        .split('|')
        .map(str::to_owned)
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    Certs {
        ca,
        server: (server, server_key),
        client: (client, client_key),
    }
});

/// A certificate for 127.0.0.1 that is its own authority, valid until 2126, and its key.
pub(crate) const OWN_AUTHORITY: (&str, &str) = (
    "-----BEGIN CERTIFICATE-----
MIIBhzCCAS6gAwIBAgIUAuMKoCrmj9Mtwx0T3Lh8EvWLeQEwCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFdGVzdHMwIBcNMjYxMTMwMjE0NzA5WhgPMjEyNjExMDYyMTQ3
MDlaMBAxDjAMBgNVBAMMBXRlc3RzMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
6jqaHCn1bkp3eB679QP7moJtKGCmTsRv5XmE6AI3vu3OROShXJLgr1rGHubLpsA+
q4i2KzVrL5owvTXqNpK3aqNkMGIwHQYDVR0OBBYEFAGA+3HvyeL7PgccXiUP3/8C
jYVBMB8GA1UdIwQYMBaAFAGA+3HvyeL7PgccXiUP3/8CjYVBMA8GA1UdEwEB/wQF
MAMBAf8wDwYDVR0RBAgwBocEfwAAATAKBggqhkjOPQQDAgNHADBEAiAIzkpDAt1G
WJy55ce+YqCVA0Qd2xa06w3zJGe5dkifrAIgQJhgIM26kFcJxw6x/NMTxEWLoLcM
bLZU9SHEkPpYlBk=
-----END CERTIFICATE-----
",
    "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgnJHQk1CujMb6k3xQ
M32ZIFzkGUjyXMeI13j6+Op0otGhRANCAATqOpocKfVuSnd4Hrv1A/uagm0oYKZO
xG/leYToAje+7c5E5KFckuCvWsYe5sumwD6riLYrNWsvmjC9Neo2krdq
-----END PRIVATE KEY-----
",
);

/// What a server of tests speaks TLS with; `client` is whether it wants to see a client's certificate.
pub(crate) fn server_config(client: bool) -> Arc<rustls::ServerConfig> {
    let certs: &Certs = &CERTS;
    config_of(&certs.server.0, &certs.server.1, client)
}

/// The same with the certificate that is its own authority.
pub(crate) fn own_authority_config() -> Arc<rustls::ServerConfig> {
    config_of(OWN_AUTHORITY.0, OWN_AUTHORITY.1, false)
}

fn config_of(certificate: &str, key: &str, client: bool) -> Arc<rustls::ServerConfig> {
    provider();
    let chain = CertificateDer::pem_slice_iter(certificate.as_bytes());
    let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let builder = rustls::ServerConfig::builder();
    let builder = if client {
        let mut roots = rustls::RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(CERTS.ca.as_bytes()).unwrap())
            .unwrap();
        let verifier = rustls::server::WebPkiClientVerifier::builder(Arc::new(roots));
        builder.with_client_cert_verifier(verifier.build().unwrap())
    } else {
        builder.with_no_client_auth()
    };
    Arc::new(builder.with_single_cert(chain, key).unwrap())
}

/// Installs the TLS provider of the process.
pub(crate) fn provider() {
    // The second one is told that there is one.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
