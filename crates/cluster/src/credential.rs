//! Where the credential of a request comes from: a fixed one, a file that is read again, or an
//! exec plugin that is run again before its credential expires (S-1.30).
//!
//! Nothing here ends up in an error text: neither a token nor what a plugin printed to its
//! standard output.

use std::{
    fmt,
    io::IsTerminal,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Mutex,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use http::HeaderValue;
use jiff::{SignedDuration, Timestamp};
use kube::config::{AuthInfo, ExecAuthCluster, ExecConfig, ExecInteractiveMode};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::{
    connect::Environment,
    error::{ClusterError, one_line},
};

/// A plugin's credential is replaced this long before it expires.
const EXPIRY_MARGIN: SignedDuration = SignedDuration::from_secs(60);
/// The most that is read of a plugin's output.
const ANSWER_LIMIT: u64 = 1 << 20;
/// A token file is read again when what is known is older than this.
const FILE_AGE: SignedDuration = SignedDuration::from_secs(10);

/// How requests prove who sends them, beyond a client certificate in the kubeconfig.
pub(crate) enum Source {
    /// Nothing to send.
    None,
    /// The same header for every request.
    Fixed(HeaderValue),
    /// A bearer token in a file.
    File(TokenFile),
    /// A credential plugin.
    Exec(Box<Plugin>),
}

/// What a source gave.
pub(crate) struct Credential {
    /// The `Authorization` header.
    pub(crate) header: Option<HeaderValue>,
    /// A client certificate and its key, both PEM.
    pub(crate) identity: Option<Identity>,
    /// When it stops working, if it says so.
    pub(crate) expires: Option<Timestamp>,
}

/// A client certificate and key from a plugin.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) certificate: String,
    pub(crate) key: SecretString,
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.certificate == other.certificate
            && self.key.expose_secret() == other.key.expose_secret()
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Fixed(_) => "Fixed",
            Self::File(_) => "File",
            Self::Exec(_) => "Exec",
        })
    }
}

impl Source {
    /// Reads the user entry of a kubeconfig.
    ///
    /// Of several methods in one entry a token file wins over a token, a token over a password,
    /// and all of them over a plugin.
    pub(crate) fn from_user(
        user: &AuthInfo,
        cluster: Option<ExecAuthCluster>,
        environment: &Environment,
    ) -> Result<Self, ClusterError> {
        let token = user
            .token
            .as_ref()
            .filter(|token| !token.expose_secret().is_empty());
        if let Some(path) = user.token_file.as_deref().filter(|path| !path.is_empty()) {
            return Ok(Self::File(TokenFile::new(
                PathBuf::from(path),
                token.cloned(),
            )));
        }
        if let Some(token) = token {
            return bearer(token.expose_secret()).map(Self::Fixed);
        }
        if let (Some(name), Some(password)) = (&user.username, &user.password) {
            return basic(name, password.expose_secret()).map(Self::Fixed);
        }
        if let Some(exec) = &user.exec {
            return Plugin::new(exec, cluster, environment)
                .map(|plugin| Self::Exec(Box::new(plugin)));
        }
        match &user.auth_provider {
            None => Ok(Self::None),
            Some(provider)
                if provider.name == "oidc" && provider.config.contains_key("id-token") =>
            {
                bearer(&provider.config["id-token"]).map(Self::Fixed)
            }
            Some(provider) => Err(ClusterError::config(format!(
                "kubeconfig: auth-provider {} is not supported; use an exec plugin in its place",
                one_line(&provider.name, 40)
            ))),
        }
    }

    /// Whether a refused credential may be replaced by asking the source once more.
    pub(crate) fn can_refresh(&self) -> bool {
        matches!(self, Self::File(_) | Self::Exec(_))
    }

    /// Whether a credential with this end has to be fetched before it is used (again).
    pub(crate) fn needs_fetch(&self, known: Option<Option<Timestamp>>, fetched: Timestamp) -> bool {
        match (self, known) {
            (Self::None | Self::Fixed(_), Some(_)) => false,
            (_, None) => true,
            (Self::File(_), Some(_)) => Timestamp::now() >= fetched + FILE_AGE,
            (Self::Exec(_), Some(expires)) => {
                // One that is handed out within its own margin is used up to its end, else the
                // plugin would run for each request.
                let margin = |end: Timestamp| {
                    if end <= fetched + EXPIRY_MARGIN {
                        end
                    } else {
                        end - EXPIRY_MARGIN
                    }
                };
                expires.is_some_and(|end| Timestamp::now() >= margin(end))
            }
        }
    }

    /// Asks the source for a credential.
    ///
    /// # Errors
    ///
    /// A token file that was never readable, a plugin that is missing, fails or answers nonsense.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop; a running plugin is killed.
    pub(crate) async fn fetch(&self) -> Result<Credential, ClusterError> {
        let header = match self {
            Self::None => None,
            Self::Fixed(header) => Some(header.clone()),
            Self::File(file) => Some(file.read()?),
            Self::Exec(plugin) => return plugin.run().await,
        };
        Ok(Credential {
            header,
            identity: None,
            expires: None,
        })
    }
}

fn bearer(token: &str) -> Result<HeaderValue, ClusterError> {
    secret_header(&format!("Bearer {}", token.trim()))
}

fn basic(name: &str, password: &str) -> Result<HeaderValue, ClusterError> {
    secret_header(&format!(
        "Basic {}",
        STANDARD.encode(format!("{name}:{password}"))
    ))
}

fn secret_header(text: &str) -> Result<HeaderValue, ClusterError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        ClusterError::config("the credential holds characters that HTTP does not allow")
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// A bearer token in a file that others replace from time to time.
pub(crate) struct TokenFile {
    path: PathBuf,
    /// The last good token. A file that vanished later does not end the access: some set-ups
    /// remove it once it was read.
    last: Mutex<Option<SecretString>>,
}

impl TokenFile {
    pub(crate) fn new(path: PathBuf, first: Option<SecretString>) -> Self {
        Self {
            path,
            last: Mutex::new(first),
        }
    }

    fn read(&self) -> Result<HeaderValue, ClusterError> {
        let mut last = self
            .last
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        match std::fs::read_to_string(&self.path) {
            Ok(text) if !text.trim().is_empty() => *last = Some(SecretString::from(text)),
            Ok(_) if last.is_none() => {
                return Err(ClusterError::config(format!(
                    "token file {} is empty",
                    self.path.display()
                )));
            }
            Err(error) if last.is_none() => {
                return Err(ClusterError::config(format!(
                    "cannot read token file {}: {error}",
                    self.path.display()
                )));
            }
            _ => {}
        }
        match last.as_ref() {
            Some(token) => bearer(token.expose_secret()),
            None => Err(ClusterError::config("no token")),
        }
    }
}

/// A credential plugin of the kubeconfig.
pub(crate) struct Plugin {
    command: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
    api_version: String,
    mode: ExecInteractiveMode,
    cluster: Option<ExecAuthCluster>,
    hint: String,
    path: String,
}

/// All that a plugin writes to one pipe. A credential has a few KiB; a plugin that never stops
/// writing must not fill the memory.
async fn bounded<R: AsyncRead + Unpin>(pipe: Option<R>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(ANSWER_LIMIT + 1).read_to_end(&mut bytes).await?;
    }
    if bytes.len() as u64 > ANSWER_LIMIT {
        return Err(std::io::Error::other("it wrote more than 1 MiB"));
    }
    Ok(bytes)
}

/// The process group of a plugin that runs; dropping it kills what is in it.
struct Group(Option<rustix::process::Pid>);

impl Group {
    /// The group that `child` leads, if it has one of its own.
    fn of(child: &tokio::process::Child, own: bool) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.filter(|_| own).and_then(rustix::process::Pid::from_raw))
    }

    /// The plugin has ended: the number of its group may go to others.
    fn let_go(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // Nothing left to kill is what is wanted.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

const PLUGIN_VERSIONS: [&str; 2] = [
    "client.authentication.k8s.io/v1",
    "client.authentication.k8s.io/v1beta1",
];

impl Plugin {
    fn new(
        exec: &ExecConfig,
        cluster: Option<ExecAuthCluster>,
        environment: &Environment,
    ) -> Result<Self, ClusterError> {
        let command = exec
            .command
            .clone()
            .filter(|command| !command.is_empty())
            .ok_or_else(|| ClusterError::config("kubeconfig: the exec plugin has no command"))?;
        let api_version = exec.api_version.clone().unwrap_or_default();
        if !PLUGIN_VERSIONS.contains(&api_version.as_str()) {
            return Err(ClusterError::config(format!(
                "exec plugin {command}: apiVersion \"{}\" is not supported; use {}",
                one_line(&api_version, 80),
                PLUGIN_VERSIONS[0]
            )));
        }
        let env = exec
            .env
            .iter()
            .flatten()
            .filter_map(|pair| Some((pair.get("name")?.clone(), pair.get("value")?.clone())))
            .collect();
        Ok(Self {
            args: exec.args.clone().unwrap_or_default(),
            env,
            mode: exec
                .interactive_mode
                .clone()
                .unwrap_or(ExecInteractiveMode::IfAvailable),
            cluster: cluster.filter(|_| exec.provide_cluster_info),
            hint: exec.install_hint.clone().unwrap_or_default(),
            path: environment.get("PATH").unwrap_or_default().to_owned(),
            api_version,
            command,
        })
    }

    /// The command as the kubeconfig writes it.
    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    /// Looks the command up without running it.
    pub(crate) fn check(&self) -> Result<(), ClusterError> {
        let found = if self.command.contains(std::path::MAIN_SEPARATOR) {
            Path::new(&self.command).is_file()
        } else {
            std::env::split_paths(&self.path).any(|folder| folder.join(&self.command).is_file())
        };
        if found { Ok(()) } else { Err(self.missing()) }
    }

    fn missing(&self) -> ClusterError {
        let place = if self.command.contains(std::path::MAIN_SEPARATOR) {
            String::new()
        } else {
            " on PATH".to_owned()
        };
        let mut text = format!(
            "exec plugin {} not found{place}; install it or extend PATH (this kubeconfig needs it to log in)",
            self.command
        );
        if !self.hint.trim().is_empty() {
            text.push_str(": ");
            text.push_str(&one_line(&self.hint, 300));
        }
        ClusterError::config(text)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "credential plugins are children of the client, as with kubectl"
    )]
    async fn run(&self) -> Result<Credential, ClusterError> {
        let terminal = std::io::stdin().is_terminal();
        let interactive = match self.mode {
            ExecInteractiveMode::Never => false,
            ExecInteractiveMode::IfAvailable => terminal,
            ExecInteractiveMode::Always if terminal => true,
            ExecInteractiveMode::Always => {
                return Err(ClusterError::config(format!(
                    "exec plugin {} wants to ask questions (interactiveMode: Always), but standard input is no terminal",
                    self.command
                )));
            }
        };
        let info = serde_json::to_string(&ExecInfo {
            api_version: &self.api_version,
            kind: "ExecCredential",
            spec: ExecSpec {
                interactive,
                cluster: self.cluster.as_ref(),
            },
        })
        .map_err(|error| ClusterError::config(format!("exec plugin {}: {error}", self.command)))?;
        let mut command = tokio::process::Command::new(&self.command);
        command
            .args(&self.args)
            .env("KUBERNETES_EXEC_INFO", info)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(if interactive {
                Stdio::inherit()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(if interactive {
                Stdio::inherit()
            } else {
                Stdio::piped()
            })
            .kill_on_drop(true);
        // A group of its own, so that nothing of it is left when it is given up; but one that may
        // ask needs the terminal, which belongs to this program's group.
        if !interactive {
            command.process_group(0);
        }
        let mut child = command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => self.missing(),
            _ => ClusterError::config(format!(
                "cannot start exec plugin {}: {error}",
                self.command
            )),
        })?;
        let group = Group::of(&child, !interactive);
        let (output, said) = (child.stdout.take(), child.stderr.take());
        let (output, said, status) = tokio::try_join!(bounded(output), bounded(said), child.wait())
            .map_err(|error| {
                ClusterError::config(format!("exec plugin {}: {error}", self.command))
            })?;
        group.let_go();
        if !status.success() {
            let said = one_line(&String::from_utf8_lossy(&said), 200);
            let said = if said.is_empty() {
                String::new()
            } else {
                format!(": {said}")
            };
            return Err(ClusterError::config(format!(
                "exec plugin {} failed ({status}){said}",
                self.command
            )));
        }
        self.read(&output)
    }

    fn read(&self, output: &[u8]) -> Result<Credential, ClusterError> {
        let wrong =
            |what: &str| ClusterError::config(format!("exec plugin {}: {what}", self.command));
        // JSON as a rule; YAML is what Kubernetes' own client accepts as well.
        let answer: ExecAnswer = std::str::from_utf8(output)
            .ok()
            .and_then(|text| serde_saphyr::from_str(text).ok())
            .ok_or_else(|| wrong("its output is no ExecCredential"))?;
        if answer.kind.as_deref() != Some("ExecCredential") {
            return Err(wrong("its output is no ExecCredential"));
        }
        if answer.api_version.as_deref() != Some(self.api_version.as_str()) {
            return Err(wrong(&format!(
                "it answers with another apiVersion than the kubeconfig's {}",
                self.api_version
            )));
        }
        let status = answer
            .status
            .ok_or_else(|| wrong("its answer has no status"))?;
        let expires = status
            .expiration_timestamp
            .map(|text| text.parse::<Timestamp>())
            .transpose()
            .map_err(|_| wrong("its expirationTimestamp is no time"))?;
        let identity = match (status.client_certificate_data, status.client_key_data) {
            (Some(certificate), Some(key)) => Some(Identity {
                certificate,
                key: SecretString::from(key),
            }),
            (None, None) => None,
            _ => {
                return Err(wrong(
                    "it gave a certificate without its key, or the reverse",
                ));
            }
        };
        let header = status
            .token
            .filter(|token| !token.is_empty())
            .map(|token| bearer(&token))
            .transpose()?;
        if header.is_none() && identity.is_none() {
            return Err(wrong("it gave neither a token nor a certificate"));
        }
        Ok(Credential {
            header,
            identity,
            expires,
        })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExecInfo<'a> {
    api_version: &'a str,
    kind: &'static str,
    spec: ExecSpec<'a>,
}

#[derive(Serialize)]
struct ExecSpec<'a> {
    interactive: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a ExecAuthCluster>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecAnswer {
    kind: Option<String>,
    api_version: Option<String>,
    status: Option<ExecStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecStatus {
    expiration_timestamp: Option<String>,
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}
