//! Writing and reading of kubeconfigs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};

use crate::json;

/// Writes a kubeconfig for a server without TLS; context, cluster and user have one name.
pub(crate) fn write_plain(
    dir: &Path,
    name: &str,
    url: &str,
    token: Option<&str>,
    namespace: Option<&str>,
) -> PathBuf {
    let user = token.map_or_else(|| json!({}), |token| json!({"token": token}));
    let mut context = json!({"cluster": name, "user": name});
    if let Some(namespace) = namespace {
        context["namespace"] = namespace.into();
    }
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": context}],
        "clusters": [{"name": name, "cluster": {"server": url}}],
        "users": [{"name": name, "user": user}],
    });
    write(&dir.join(format!("{name}.kubeconfig")), &config)
}

/// Writes a kubeconfig to `path`.
pub(crate) fn write(path: &Path, config: &Value) -> PathBuf {
    // JSON is YAML too.
    let text = serde_json::to_string_pretty(config).expect("a kubeconfig as JSON");
    fs::write(path, text).unwrap_or_else(|err| panic!("{}: {err}", path.display()));
    path.to_owned()
}

/// Reads a kubeconfig as it stands.
pub(crate) fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|err| panic!("{}: {err}", path.display()));
    serde_saphyr::from_str(&text).unwrap_or_else(|err| panic!("{}: {err}", path.display()))
}

/// A server to talk to, and how to prove who is talking.
#[derive(Clone)]
pub(crate) struct Upstream {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Nothing for plain HTTP.
    pub(crate) tls: Option<Arc<rustls::ClientConfig>>,
    pub(crate) token: Option<String>,
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the token.
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Upstream {
    /// A server without TLS.
    pub(crate) fn plain(url: &str) -> Upstream {
        let (host, port, tls) = split(url);
        assert!(!tls, "{url}: TLS needs a kubeconfig");
        Upstream {
            host,
            port,
            tls: None,
            token: None,
        }
    }

    /// The server of the present context of a kubeconfig. Understood are certificates, keys
    /// and tokens that stand in the file.
    pub(crate) fn read(path: &Path) -> Upstream {
        let config = read(path);
        let entry = |list: &str, name: &str, field: &str| -> Value {
            json::list(&config, list)
                .iter()
                .find(|entry| json::text(entry, "/name") == name)
                .map(|entry| entry[field].clone())
                .unwrap_or_else(|| panic!("{}: no {name:?} in {list}", path.display()))
        };
        let context = json::text(&config, "/current-context");
        let context = entry("/contexts", context, "context");
        let cluster = entry("/clusters", json::text(&context, "/cluster"), "cluster");
        let user = entry("/users", json::text(&context, "/user"), "user");
        let (host, port, tls) = split(json::text(&cluster, "/server"));
        let token = json::text(&user, "/token");
        Upstream {
            host,
            port,
            tls: tls.then(|| Arc::new(tls_config(&cluster, &user))),
            token: (!token.is_empty()).then(|| token.to_owned()),
        }
    }
}

/// Host, port, whether TLS is spoken.
fn split(url: &str) -> (String, u16, bool) {
    let uri: http::Uri = url.parse().unwrap_or_else(|err| panic!("{url}: {err}"));
    let tls = uri.scheme_str() == Some("https");
    let host = uri.host().unwrap_or_else(|| panic!("{url}: no host"));
    let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });
    (host.to_owned(), port, tls)
}

fn pem(value: &Value, field: &str) -> Option<Vec<u8>> {
    let text = value.get(field)?.as_str()?;
    let bytes = base64::engine::general_purpose::STANDARD.decode(text);
    Some(bytes.unwrap_or_else(|err| panic!("{field}: {err}")))
}

fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .expect("certificates in PEM")
}

fn tls_config(cluster: &Value, user: &Value) -> rustls::ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    let ca = pem(cluster, "certificate-authority-data").expect("certificate-authority-data");
    for certificate in certificates(&ca) {
        roots.add(certificate).expect("a certificate of a CA");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("TLS versions that ring knows")
        .with_root_certificates(roots);
    let keys = (
        pem(user, "client-certificate-data"),
        pem(user, "client-key-data"),
    );
    match keys {
        (Some(certificate), Some(key)) => {
            let key = PrivateKeyDer::from_pem_slice(&key).expect("a key in PEM");
            config
                .with_client_auth_cert(certificates(&certificate), key)
                .expect("a certificate and its key")
        }
        _ => config.with_no_client_auth(),
    }
}
