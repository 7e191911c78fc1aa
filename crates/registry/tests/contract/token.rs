//! A token server that the real registry trusts.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rustls::SignatureScheme;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;

use crate::common::certs::CERTS;
use crate::common::server::{Reply, Server, Tls};

/// What the registry calls itself.
pub(crate) const SERVICE: &str = "tests";
/// What the token server calls itself.
pub(crate) const ISSUER: &str = "tests-issuer";

/// Gives tokens that allow to read, for the right password.
pub(crate) fn server() -> Server {
    let right = format!("Basic {}", STANDARD.encode("me:hush"));
    Server::new(Tls::On, move |seen| {
        if seen.header("authorization") != right {
            return Reply::status(401);
        }
        assert!(
            seen.target.contains(&format!("service={SERVICE}")),
            "{}",
            seen.target
        );
        Reply::ok(json!({"token": token(), "expires_in": 300}).to_string())
    })
}

fn token() -> String {
    let certificate = CertificateDer::from_pem_slice(CERTS.server.0.as_bytes()).unwrap();
    let header = json!({"typ": "JWT", "alg": "ES256", "x5c": [STANDARD.encode(&certificate)]});
    let now = jiff::Timestamp::now().as_second();
    let claims = json!({
        "iss": ISSUER, "sub": "me", "aud": SERVICE, "jti": "1",
        "iat": now, "nbf": now - 60, "exp": now + 300,
        "access": [{"type": "repository", "name": "charts/web", "actions": ["pull"]}],
    });
    let part = |text: String| URL_SAFE_NO_PAD.encode(text);
    let text = format!("{}.{}", part(header.to_string()), part(claims.to_string()));
    let key = PrivateKeyDer::from_pem_slice(CERTS.server.1.as_bytes()).unwrap();
    let key = any_supported_type(&key).unwrap();
    let signer = key
        .choose_scheme(&[SignatureScheme::ECDSA_NISTP256_SHA256])
        .unwrap();
    let signature = plain(&signer.sign(text.as_bytes()).unwrap());
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// The two numbers of a signature in DER, as tokens have them: 32 bytes each.
fn plain(der: &[u8]) -> Vec<u8> {
    let mut rest = &der[2..];
    let mut out = Vec::new();
    for _ in 0..2 {
        let length = usize::from(rest[1]);
        let number = &rest[2..2 + length];
        let number = &number[length.saturating_sub(32)..];
        out.resize(out.len() + 32 - number.len(), 0);
        out.extend_from_slice(number);
        rest = &rest[2 + length..];
    }
    out
}
