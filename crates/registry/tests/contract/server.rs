//! Processes of the real registry server, and the way charts get into it.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kzero_gotmpl::{Still, Value, render};
use serde_json::json;
use sha2::Digest as _;
use tempfile::TempDir;

use crate::common::certs::CERTS;
use crate::common::server::Server;
use crate::token;

/// How long a registry may take to start on a busy machine.
const SOON: Duration = Duration::from_secs(60);

/// Who may read, and how it is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Everybody, without TLS.
    Nobody,
    /// `me` with the password `hush`, over TLS.
    Password,
    /// Who has a token that `me` gets for `hush`, over TLS.
    Token,
}

/// A registry with its data, of which one process at a time runs.
pub(crate) struct Registry {
    folder: Arc<TempDir>,
    running: Option<Child>,
    port: u16,
    _tokens: Option<Server>,
}

impl Registry {
    /// An empty one that does not run.
    pub(crate) fn new() -> Self {
        Self {
            folder: Arc::new(tempfile::tempdir().unwrap()),
            running: None,
            port: 0,
            _tokens: None,
        }
    }

    /// Host and port.
    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Starts a server of the same data.
    pub(crate) fn start(&self, guard: &Guard) -> Self {
        let port = free_port();
        let mut http = json!({"addr": format!("127.0.0.1:{port}"), "secret": "of no use"});
        if *guard != Guard::Nobody {
            http["tls"] = json!({
                "certificate": self.file("server.pem", &CERTS.server.0),
                "key": self.file("server.key", &CERTS.server.1),
            });
        }
        let mut config = json!({
            "version": "0.1",
            "log": {"level": "error", "accesslog": {"disabled": true}},
            "storage": {"filesystem": {"rootdirectory": self.folder.path().join("data")}},
            "http": http,
        });
        let tokens = (*guard == Guard::Token).then(token::server);
        match (guard, &tokens) {
            (Guard::Password, _) => {
                let line = render(
                    "users",
                    r#"{{ htpasswd "me" "hush" }}"#,
                    &Value::Nil,
                    &Still::new(0, 1),
                );
                let path = self.file("users", &line.unwrap());
                config["auth"] = json!({"htpasswd": {"realm": "tests", "path": path}});
            }
            (Guard::Token, Some(tokens)) => {
                config["auth"] = json!({"token": {
                    "realm": tokens.url("/token"),
                    "service": token::SERVICE,
                    "issuer": token::ISSUER,
                    "rootcertbundle": self.file("ca.pem", &CERTS.ca),
                }});
            }
            _ => {}
        }
        let config = self.file(&format!("{port}.json"), &config.to_string());
        let mut running = launch(&config);
        let (_never, wait) = std::sync::mpsc::channel::<()>();
        let end = Instant::now() + SOON;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < end, "the registry does not start");
            assert!(
                running.try_wait().unwrap().is_none(),
                "the registry has ended"
            );
            let _ = wait.recv_timeout(Duration::from_millis(10));
        }
        Self {
            folder: Arc::clone(&self.folder),
            running: Some(running),
            port,
            _tokens: tokens,
        }
    }

    /// Ends the process; the data stays.
    pub(crate) fn stop(self) {
        drop(self);
    }

    fn file(&self, name: &str, content: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        if let Some(mut child) = self.running.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the server of these tests, named by whoever runs them"
)]
fn launch(config: &str) -> Child {
    let Some(program) = std::env::var_os("KZERO_TEST_REGISTRY") else {
        panic!(
            "KZERO_TEST_REGISTRY is not set; run the contract tests with `cargo xtask test --contract`, \
             or within tests/cluster/cluster.sh run"
        );
    };
    let mut command = Command::new(program);
    command
        .args(["serve", config])
        .env("OTEL_TRACES_EXPORTER", "none");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

fn digest(bytes: &[u8]) -> String {
    let sum = sha2::Sha256::digest(bytes);
    let hex: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Puts a chart under a tag, as `helm push` does.
pub(crate) async fn push(host: &str, repository: &str, tag: &str, archive: &[u8]) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let base = format!("http://{host}/v2/{repository}");
    let descriptor = |kind: &str, bytes: &[u8]| json!({"mediaType": kind, "digest": digest(bytes), "size": bytes.len()});
    for blob in [b"{}".as_slice(), archive] {
        let begun = client
            .post(format!("{base}/blobs/uploads/"))
            .send()
            .await
            .unwrap();
        let place = begun.headers()["location"].to_str().unwrap();
        let mut place = reqwest::Url::parse(&base).unwrap().join(place).unwrap();
        place.query_pairs_mut().append_pair("digest", &digest(blob));
        let done = client.put(place).body(blob.to_vec()).send().await.unwrap();
        assert_eq!(done.status(), 201);
    }
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": descriptor("application/vnd.cncf.helm.config.v1+json", b"{}"),
        "layers": [descriptor("application/vnd.cncf.helm.chart.content.v1.tar+gzip", archive)],
    });
    let done = client
        .put(format!("{base}/manifests/{tag}"))
        .header("Content-Type", "application/vnd.oci.image.manifest.v1+json")
        .body(manifest.to_string())
        .send()
        .await
        .unwrap();
    assert_eq!(done.status(), 201);
}
