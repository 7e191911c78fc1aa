//! From kubeconfig, flags and environment to a cluster, without the network.
//!
//! [`resolve`] decides which cluster is meant and who asks; [`Resolved::connect`] builds the
//! client. Neither sends anything: the first request does.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderValue, Uri, header::USER_AGENT};
use kube::config::{AuthInfo, ExecAuthCluster, Kubeconfig, KubeconfigError};
use rustls::pki_types::{CertificateDer, pem::PemObject};

use crate::{
    client::Cluster,
    credential::{Source, TokenFile},
    error::ClusterError,
    notice::Observer,
    proxy,
};

/// Time for one connection, TLS and proxy included (S-D.8).
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Where a pod finds its own credential.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The environment variables that matter here, taken once so that tests need not change those of
/// the process. An empty variable counts as unset.
#[derive(Clone, Debug, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The variables that are read: all others are left alone.
    pub const NAMES: [&'static str; 12] = [
        "KUBECONFIG",
        "HOME",
        "PATH",
        "HTTPS_PROXY",
        "https_proxy",
        "HTTP_PROXY",
        "http_proxy",
        "NO_PROXY",
        "no_proxy",
        "KUBERNETES_SERVICE_HOST",
        "KUBERNETES_SERVICE_PORT",
        "USERPROFILE",
    ];

    /// Takes the variables from a look-up, such as `std::env::var_os`.
    pub fn capture(lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        Self::NAMES
            .into_iter()
            .filter_map(|name| {
                Some((
                    name.to_owned(),
                    lookup(name)?.to_string_lossy().into_owned(),
                ))
            })
            .collect()
    }

    /// A variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Environment {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(pairs: I) -> Self {
        pairs
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }
}

/// What the operator said about the cluster.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    /// `--kubeconfig` or `run.kubeconfig`: this file and nothing else. Without it `KUBECONFIG`,
    /// `~/.kube/config`, then the pod's service account are tried.
    pub kubeconfig: Option<PathBuf>,
    /// `--context`; without it the current context of the kubeconfig.
    pub context: Option<String>,
    /// The environment.
    pub env: Environment,
    /// The path as the user wrote it, for [`Target::kubeconfig`].
    pub display: Option<String>,
}

/// Which cluster is meant, from the kubeconfig alone (S-6.27, S-6.28).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name of the context; `in-cluster` for a service account.
    pub context: String,
    /// Name of the kubeconfig's cluster entry; `in-cluster` for a service account.
    pub cluster: String,
    /// Namespace of the context, else `default`.
    pub namespace: String,
    /// Address of the API server as the kubeconfig writes it.
    pub api_server: String,
    /// The kubeconfig as written; `(in-cluster service account)` for a service account.
    pub kubeconfig: String,
    /// Whether the pod's service account is used.
    pub in_cluster: bool,
}

/// A cluster that was found in the configuration, not connected yet.
#[derive(Debug)]
pub struct Resolved {
    target: Target,
    config: kube::Config,
    source: Arc<Source>,
}

/// Finds the cluster and the credential in kubeconfig, flags and environment.
///
/// # Errors
///
/// [`Config`](crate::ErrorClass::Config): a named file, context, cluster or user that is not
/// there, a file that cannot be read, a proxy or authentication method that is not supported.
pub fn resolve(options: &ConnectOptions) -> Result<Resolved, ClusterError> {
    resolve_in(options, Path::new(SERVICE_ACCOUNT))
}

/// [`resolve`] with another place for the service account.
fn resolve_in(options: &ConnectOptions, account: &Path) -> Result<Resolved, ClusterError> {
    if let Some(path) = &options.kubeconfig {
        let shown = options
            .display
            .clone()
            .unwrap_or_else(|| path.display().to_string());
        let file = read(path)?.ok_or_else(|| {
            ClusterError::config(format!("kubeconfig {}: no such file", path.display()))
        })?;
        return from_file(&file, shown, options);
    }
    if let Some(list) = options.env.get("KUBECONFIG") {
        let paths: Vec<PathBuf> = std::env::split_paths(list)
            .filter(|path| !path.as_os_str().is_empty())
            .collect();
        if !paths.is_empty() {
            let file = read_all(&paths)?
                .ok_or_else(|| ClusterError::config(format!("KUBECONFIG={list}: no such file")))?;
            return from_file(&file, list.to_owned(), options);
        }
    }
    let home = options
        .env
        .get("HOME")
        .or_else(|| options.env.get("USERPROFILE"));
    let default = home.map(|home| Path::new(home).join(".kube").join("config"));
    if let Some(path) = &default
        && let Some(file) = read(path)?
    {
        let empty = file.contexts.is_empty() && options.context.is_none();
        if !(empty && options.env.get("KUBERNETES_SERVICE_HOST").is_some()) {
            return from_file(&file, path.display().to_string(), options);
        }
    }
    if options.env.get("KUBERNETES_SERVICE_HOST").is_some() && options.context.is_none() {
        return from_service_account(account, &options.env);
    }
    let tried = default.map_or_else(
        || "HOME is not set".to_owned(),
        |path| format!("tried {}", path.display()),
    );
    Err(ClusterError::config(format!(
        "no kubeconfig found ({tried}); set KUBECONFIG or pass --kubeconfig"
    )))
}

/// The largest kubeconfig, in bytes.
const MAX_KUBECONFIG: u64 = 64 << 20;

fn is_device(found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    found.file_type().is_char_device() || found.file_type().is_block_device()
}

/// Reads one file; `None` if it is not there.
fn read(path: &Path) -> Result<Option<Kubeconfig>, ClusterError> {
    let shown = path.display();
    if let Ok(found) = std::fs::metadata(path)
        && (is_device(&found) || found.len() > MAX_KUBECONFIG)
    {
        // It might never end.
        return Err(ClusterError::config(format!(
            "kubeconfig {shown}: a device, or larger than {} MiB",
            MAX_KUBECONFIG >> 20
        )));
    }
    match Kubeconfig::read_from(path) {
        Ok(mut file) => {
            // An empty value must not hide the one of a later file.
            file.current_context = file.current_context.filter(|name| !name.is_empty());
            Ok(Some(file))
        }
        Err(KubeconfigError::ReadConfig(error, _))
            if error.kind() == std::io::ErrorKind::NotFound =>
        {
            Ok(None)
        }
        Err(KubeconfigError::ReadConfig(error, _)) => {
            Err(ClusterError::config(format!("kubeconfig {shown}: {error}")))
        }
        // The parser's own text quotes the file, and with it secrets: only the place is shown.
        Err(KubeconfigError::Parse(error)) => Err(ClusterError::config(match error.location() {
            Some(place) => format!(
                "kubeconfig {shown}:{}:{}: not valid YAML, or not a kubeconfig",
                place.line(),
                place.column()
            ),
            None => format!("kubeconfig {shown}: not valid YAML, or not a kubeconfig"),
        })),
        Err(error) => Err(ClusterError::config(format!("kubeconfig {shown}: {error}"))),
    }
}

/// Merges several files; the first one to say something wins, files that are missing are passed
/// over. `None` if all are missing.
fn read_all(paths: &[PathBuf]) -> Result<Option<Kubeconfig>, ClusterError> {
    let mut merged: Option<Kubeconfig> = None;
    for path in paths {
        let Some(file) = read(path)? else { continue };
        merged = Some(match merged {
            None => file,
            Some(earlier) => earlier.merge(file).map_err(|error| {
                ClusterError::config(format!("kubeconfig {}: {error}", path.display()))
            })?,
        });
    }
    Ok(merged)
}

fn from_file(
    file: &Kubeconfig,
    shown: String,
    options: &ConnectOptions,
) -> Result<Resolved, ClusterError> {
    let fail = |text: String| ClusterError::config(format!("kubeconfig {shown}: {text}"));
    let known = || {
        let names: Vec<&str> = file
            .contexts
            .iter()
            .map(|entry| entry.name.as_str())
            .collect();
        if names.is_empty() {
            "it has no contexts".to_owned()
        } else {
            format!("it has {}", names.join(", "))
        }
    };
    let name = options
        .context
        .as_ref()
        .or(file.current_context.as_ref())
        .ok_or_else(|| {
            fail(format!(
                "no current-context is set; pass --context ({})",
                known()
            ))
        })?;
    let context = file
        .contexts
        .iter()
        .find(|entry| &entry.name == name)
        .and_then(|entry| entry.context.as_ref())
        .ok_or_else(|| fail(format!("no context \"{name}\"; {}", known())))?;
    let cluster = file
        .clusters
        .iter()
        .find(|entry| entry.name == context.cluster)
        .and_then(|entry| entry.cluster.as_ref())
        .ok_or_else(|| {
            fail(format!(
                "context \"{name}\" names cluster \"{}\", which is not there",
                context.cluster
            ))
        })?;
    let nobody = AuthInfo::default();
    let user = match context.user.as_deref().filter(|user| !user.is_empty()) {
        None => &nobody,
        Some(user) => file
            .auth_infos
            .iter()
            .find(|entry| entry.name == user)
            .map(|entry| entry.auth_info.as_ref().unwrap_or(&nobody))
            .ok_or_else(|| {
                fail(format!(
                    "context \"{name}\" names user \"{user}\", which is not there"
                ))
            })?,
    };
    let server = cluster
        .server
        .as_deref()
        .filter(|server| !server.is_empty())
        .ok_or_else(|| fail(format!("cluster \"{}\" has no server", context.cluster)))?;
    let secure = cluster.certificate_authority.is_some()
        || cluster.certificate_authority_data.is_some()
        || cluster.insecure_skip_tls_verify == Some(true)
        || user.client_certificate.is_some()
        || user.client_certificate_data.is_some();
    let uri = server_uri(server, secure).ok_or_else(|| {
        fail(format!(
            "server \"{server}\" is not an http or https address"
        ))
    })?;

    let mut config = kube::Config::new(uri.clone());
    base_settings(&mut config);
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or(false);
    config.tls_server_name = cluster
        .tls_server_name
        .clone()
        .filter(|name| !name.is_empty());
    config.proxy_url = proxy::choose(&uri, cluster.proxy_url.as_deref(), &options.env)?;
    if !config.accept_invalid_certs {
        config.root_cert = authority(cluster).map_err(fail)?;
    }
    // Tokens, passwords and plugins are ours to send; certificates and impersonation are kube's.
    config.auth_info = AuthInfo {
        client_certificate: user.client_certificate.clone(),
        client_certificate_data: user.client_certificate_data.clone(),
        client_key: user.client_key.clone(),
        client_key_data: user.client_key_data.clone(),
        impersonate: user.impersonate.clone(),
        impersonate_uid: user.impersonate_uid.clone(),
        impersonate_groups: user.impersonate_groups.clone(),
        impersonate_user_extra: user.impersonate_user_extra.clone(),
        ..AuthInfo::default()
    };
    let for_plugin = match &user.exec {
        Some(exec) if exec.provide_cluster_info => {
            Some(ExecAuthCluster::try_from(cluster).map_err(|error| fail(error.to_string()))?)
        }
        _ => None,
    };
    let source = Source::from_user(user, for_plugin, &options.env)?;
    Ok(Resolved {
        target: Target {
            context: name.clone(),
            cluster: context.cluster.clone(),
            namespace: context
                .namespace
                .clone()
                .filter(|namespace| !namespace.is_empty())
                .unwrap_or_else(|| "default".to_owned()),
            api_server: server.to_owned(),
            kubeconfig: shown,
            in_cluster: false,
        },
        config,
        source: Arc::new(source),
    })
}

fn base_settings(config: &mut kube::Config) {
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    // Requests have their own limits; watches and exec connections must be able to idle.
    config.read_timeout = None;
    config.write_timeout = None;
    // Nothing repeats requests behind our back (S-D.9).
    config.default_retry = false;
    config.headers = vec![(
        USER_AGENT,
        HeaderValue::from_static(concat!("kzero/", env!("CARGO_PKG_VERSION"))),
    )];
}

fn server_uri(server: &str, secure: bool) -> Option<Uri> {
    let full = if server.contains("://") {
        server.to_owned()
    } else if secure {
        format!("https://{server}")
    } else {
        format!("http://{server}")
    };
    let uri: Uri = full.parse().ok()?;
    (matches!(uri.scheme_str(), Some("http" | "https"))
        && uri.host().is_some_and(|host| !host.is_empty()))
    .then_some(uri)
}

/// The certificates that may have signed the server's, as DER.
fn authority(cluster: &kube::config::Cluster) -> Result<Option<Vec<Vec<u8>>>, String> {
    let data = cluster
        .certificate_authority_data
        .as_deref()
        .filter(|text| !text.is_empty());
    let path = cluster
        .certificate_authority
        .as_deref()
        .filter(|text| !text.is_empty());
    let pem = match (data, path) {
        (Some(text), _) => STANDARD
            .decode(text.split_whitespace().collect::<String>())
            .map_err(|error| format!("certificate-authority-data: {error}"))?,
        (None, Some(path)) => {
            std::fs::read(path).map_err(|error| format!("certificate-authority {path}: {error}"))?
        }
        (None, None) => return Ok(None),
    };
    let certificates: Vec<Vec<u8>> = CertificateDer::pem_slice_iter(&pem)
        .map(|found| found.map(|certificate| certificate.to_vec()))
        .collect::<Result<_, _>>()
        .map_err(|_| "the certificate authority is not valid PEM".to_owned())?;
    if certificates.is_empty() {
        return Err("the certificate authority holds no certificate".to_owned());
    }
    Ok(Some(certificates))
}

fn from_service_account(account: &Path, env: &Environment) -> Result<Resolved, ClusterError> {
    let host = env.get("KUBERNETES_SERVICE_HOST").unwrap_or_default();
    let port = env.get("KUBERNETES_SERVICE_PORT").unwrap_or("443");
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host.to_owned()
    };
    let server = format!("https://{host}:{port}");
    let fail = |text: String| ClusterError::config(format!("in-cluster service account: {text}"));
    let uri =
        server_uri(&server, true).ok_or_else(|| fail(format!("{server} is not an address")))?;
    let token = account.join("token");
    if !token.is_file() {
        return Err(fail(format!("{} is missing", token.display())));
    }
    let bundle = account.join("ca.crt");
    let pem =
        std::fs::read(&bundle).map_err(|error| fail(format!("{}: {error}", bundle.display())))?;
    let certificates: Vec<Vec<u8>> = CertificateDer::pem_slice_iter(&pem)
        .filter_map(Result::ok)
        .map(|certificate| certificate.to_vec())
        .collect();
    if certificates.is_empty() {
        return Err(fail(format!("{} holds no certificate", bundle.display())));
    }
    let mut config = kube::Config::new(uri.clone());
    base_settings(&mut config);
    config.root_cert = Some(certificates);
    // Cluster authorities are rotated; kube reads the file again when asked to.
    config.root_cert_file = Some(bundle);
    config.proxy_url = proxy::choose(&uri, None, env)?;
    let namespace = std::fs::read_to_string(account.join("namespace"))
        .map(|text| text.trim().to_owned())
        .ok()
        .filter(|text| !text.is_empty())
        .unwrap_or_else(|| "default".to_owned());
    Ok(Resolved {
        target: Target {
            context: "in-cluster".to_owned(),
            cluster: "in-cluster".to_owned(),
            namespace,
            api_server: server,
            kubeconfig: "(in-cluster service account)".to_owned(),
            in_cluster: true,
        },
        config,
        source: Arc::new(Source::File(TokenFile::new(token, None))),
    })
}

impl Resolved {
    /// Which cluster is meant.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The command of the credential plugin, if the kubeconfig uses one.
    pub fn exec_plugin(&self) -> Option<&str> {
        match self.source.as_ref() {
            Source::Exec(plugin) => Some(plugin.command()),
            _ => None,
        }
    }

    /// Checks that the credential can be had, as far as that shows without running anything: a
    /// plugin must be found with the present `PATH`.
    ///
    /// # Errors
    ///
    /// [`Config`](crate::ErrorClass::Config), naming the plugin.
    pub fn check_credential(&self) -> Result<(), ClusterError> {
        match self.source.as_ref() {
            Source::Exec(plugin) => plugin.check(),
            _ => Ok(()),
        }
    }

    /// Builds the client. Nothing is sent yet, and no plugin runs.
    ///
    /// # Errors
    ///
    /// [`Config`](crate::ErrorClass::Config): a client certificate or key that cannot be used, a
    /// plugin that is missing.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn connect(&self, observer: Observer) -> Result<Cluster, ClusterError> {
        self.check_credential()?;
        Cluster::build(
            self.target.clone(),
            self.config.clone(),
            Arc::clone(&self.source),
            observer,
        )
    }
}

#[cfg(test)]
mod tests;
