//! A scripted HTTP server on loopback: each test says what is answered, and reads what was asked.

use std::{
    convert::Infallible,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use futures::StreamExt;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, StreamBody};
use hyper::{
    body::{Frame, Incoming},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use kzero_cluster::{Budget, Cluster, ConnectOptions, Environment, Notice, resolve};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

/// A request as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Seen {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    pub(crate) fn watches(&self) -> bool {
        self.query.contains("watch=true")
    }
}

/// What follows the pieces of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The body is complete.
    Close,
    /// The connection stays open and silent.
    Hang,
    /// The connection breaks.
    Cut,
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    pieces: Vec<Bytes>,
    end: End,
}

impl Answer {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json".to_owned())],
            pieces: vec![Bytes::from(body.to_string())],
            end: End::Close,
        }
    }

    pub(crate) fn ok(body: &Value) -> Self {
        Self::json(200, body)
    }

    /// A `Status` with this code and reason.
    pub(crate) fn refuse(status: u16, reason: &str) -> Self {
        let body = json!({"kind": "Status", "status": "Failure", "code": status, "reason": reason, "message": "scripted"});
        Self::json(status, &body)
    }

    /// Watch events, one a line.
    pub(crate) fn events(events: &[(&str, Value)], end: End) -> Self {
        let pieces = events
            .iter()
            .map(|(kind, object)| {
                Bytes::from(format!("{}\n", json!({"type": kind, "object": object})))
            })
            .collect();
        Self {
            status: 200,
            headers: Vec::new(),
            pieces,
            end,
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn end(mut self, end: End) -> Self {
        self.end = end;
        self
    }
}

type Script = Box<dyn Fn(usize, &Seen) -> Answer + Send>;

/// The server; it ends when dropped.
pub(crate) struct Server {
    pub(crate) address: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    _tasks: JoinSet<()>,
}

impl Server {
    /// Starts a server. `script` gets the number of the request, from 0, and the request.
    pub(crate) async fn start(script: impl Fn(usize, &Seen) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let script: Arc<Mutex<Script>> = Arc::new(Mutex::new(Box::new(script)));
        let mut tasks = JoinSet::new();
        let log = Arc::clone(&seen);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (log, script) = (Arc::clone(&log), Arc::clone(&script));
                connections.spawn(async move {
                    let service = service_fn(move |request| {
                        answer(request, Arc::clone(&log), Arc::clone(&script))
                    });
                    // A client that goes away, or a scripted cut, ends the connection.
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Self {
            address,
            seen,
            _tasks: tasks,
        }
    }

    /// Requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Method and path of the requests so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen().iter().map(Seen::line).collect()
    }

    /// Connects without any credential.
    pub(crate) async fn connect(&self) -> Client {
        Client::new(&self.address, &json!({}), &json!({})).await
    }
}

async fn answer(
    request: Request<Incoming>,
    log: Arc<Mutex<Vec<Seen>>>,
    script: Arc<Mutex<Script>>,
) -> Result<Response<impl hyper::body::Body<Data = Bytes, Error = std::io::Error>>, Infallible> {
    let (parts, body) = request.into_parts();
    let seen = Seen {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body: body.collect().await.unwrap().to_bytes(),
    };
    let number = {
        let mut log = log.lock().unwrap();
        log.push(seen.clone());
        log.len() - 1
    };
    let answer = (script.lock().unwrap())(number, &seen);
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(*name, value);
    }
    let end = answer.end;
    let pieces = futures::stream::iter(
        answer
            .pieces
            .into_iter()
            .map(|piece| Ok(Frame::data(piece))),
    );
    let tail = futures::stream::once(async move {
        match end {
            End::Hang => std::future::pending().await,
            End::Close | End::Cut => Err(std::io::Error::other("cut")),
        }
    });
    let tail = tail.take(usize::from(end != End::Close));
    Ok(response.body(StreamBody::new(pieces.chain(tail))).unwrap())
}

/// A connected client with its notices and its files.
pub(crate) struct Client {
    pub(crate) cluster: Cluster,
    notices: Arc<Mutex<Vec<Notice>>>,
    _folder: tempfile::TempDir,
}

impl Client {
    pub(crate) async fn new(address: &str, cluster: &Value, user: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = kubeconfig(folder.path(), address, cluster, user);
        let options = ConnectOptions {
            kubeconfig: Some(path),
            ..ConnectOptions::default()
        };
        let notices = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&notices);
        let cluster = resolve(&options)
            .unwrap()
            .connect(Arc::new(move |notice| sink.lock().unwrap().push(notice)))
            .await
            .unwrap();
        Self {
            cluster,
            notices,
            _folder: folder,
        }
    }

    pub(crate) fn notices(&self) -> Vec<Notice> {
        self.notices.lock().unwrap().clone()
    }
}

/// Writes a kubeconfig for `address`, which is `http` unless it says otherwise, with more fields for its cluster and its user.
pub(crate) fn kubeconfig(folder: &Path, address: &str, cluster: &Value, user: &Value) -> PathBuf {
    let mut cluster = cluster.clone();
    cluster["server"] = match address.contains("://") {
        true => json!(address),
        false => json!(format!("http://{address}")),
    };
    let text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "scripted",
        "contexts": [{"name": "scripted", "context": {"cluster": "scripted", "user": "scripted"}}],
        "clusters": [{"name": "scripted", "cluster": cluster}],
        "users": [{"name": "scripted", "user": user}],
    });
    let path = folder.join("config");
    std::fs::write(&path, text.to_string()).unwrap();
    path
}

pub(crate) fn budget(seconds: u64) -> Budget {
    Budget::new(
        format!("test {seconds}s"),
        std::time::Duration::from_secs(seconds),
    )
}

pub(crate) fn environment(pairs: &[(&str, &str)]) -> Environment {
    pairs.iter().copied().collect()
}
