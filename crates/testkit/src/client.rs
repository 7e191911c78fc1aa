//! A client that does nothing but send: one connection, kept alive, no retry, no cache.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::MiniApi;
use crate::kubeconfig::Upstream;

/// What can go wrong on the way.
pub(crate) type Failure = io::Error;

/// Opens a connection; the task in the set drives it and ends with it.
pub(crate) async fn connect<B>(
    upstream: &Upstream,
) -> Result<(SendRequest<B>, JoinSet<()>), Failure>
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let stream = TcpStream::connect((upstream.host.as_str(), upstream.port)).await?;
    stream.set_nodelay(true)?;
    let mut tasks = JoinSet::new();
    let sender = match &upstream.tls {
        None => {
            let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
                .await
                .map_err(io::Error::other)?;
            tasks.spawn(async move {
                // How it ended is told to whoever waits for an answer.
                let _ = connection.with_upgrades().await;
            });
            sender
        }
        Some(config) => {
            let name = ServerName::try_from(upstream.host.clone()).map_err(io::Error::other)?;
            let stream = tokio_rustls::TlsConnector::from(Arc::clone(config))
                .connect(name, stream)
                .await?;
            let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
                .await
                .map_err(io::Error::other)?;
            tasks.spawn(async move {
                let _ = connection.with_upgrades().await;
            });
            sender
        }
    };
    Ok((sender, tasks))
}

/// A bare client with one connection: what the fastest possible program would need, and so
/// the floor that benchmarks compare with.
#[derive(Debug)]
pub struct BareClient {
    upstream: Upstream,
    connection: Option<(SendRequest<Full<Bytes>>, JoinSet<()>)>,
}

impl BareClient {
    /// A client of the present context of a kubeconfig.
    ///
    /// # Panics
    ///
    /// When the file cannot be read or names a certificate by path.
    #[must_use]
    pub fn new(kubeconfig: &Path) -> BareClient {
        BareClient::of(Upstream::read(kubeconfig))
    }

    /// A client of a server in memory.
    #[must_use]
    pub fn of_mini(api: &MiniApi) -> BareClient {
        BareClient::of(Upstream::plain(&api.url()))
    }

    pub(crate) fn of(upstream: Upstream) -> BareClient {
        BareClient {
            upstream,
            connection: None,
        }
    }

    /// The address that it talks to, if that is a number.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        let ip = self.upstream.host.parse().ok()?;
        Some(SocketAddr::new(ip, self.upstream.port))
    }

    /// Sends a request and reads the whole answer: its status, and its JSON (a string if it is
    /// none, null if it is empty).
    ///
    /// # Errors
    ///
    /// When the connection cannot be opened or breaks.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: whether a dropped request had its effect is unknown. The client opens a
    /// new connection for the next one.
    pub async fn send(
        &mut self,
        method: &str,
        path: &str,
        content_type: &str,
        body: impl Into<Bytes>,
    ) -> io::Result<(u16, Value)> {
        let request = request(&self.upstream, method, path, content_type, body.into())
            .map_err(io::Error::other)?;
        // Taken out, so that a connection in mid-answer is not used again.
        let mut connection = match self.connection.take() {
            Some((sender, tasks)) if !sender.is_closed() => (sender, tasks),
            _ => connect(&self.upstream).await?,
        };
        connection.0.ready().await.map_err(io::Error::other)?;
        let response = connection
            .0
            .send_request(request)
            .await
            .map_err(io::Error::other)?;
        let (code, value) = read(response).await?;
        self.connection = Some(connection);
        Ok((code, value))
    }

    /// The two requests by which a workload is scaled, and nothing else: reads the `scale` at
    /// `path`, then sets it by a merge patch from that version. Gives the status of the second.
    ///
    /// # Errors
    ///
    /// As [`BareClient::send`].
    ///
    /// # Cancel safety
    ///
    /// As [`BareClient::send`].
    pub async fn scale(&mut self, path: &str, replicas: u32) -> io::Result<u16> {
        let (_, scale) = self.send("GET", path, "application/json", "").await?;
        let patch = serde_json::json!({
            "metadata": {"resourceVersion": scale["metadata"]["resourceVersion"]},
            "spec": {"replicas": replicas},
        });
        let kind = "application/merge-patch+json";
        let (code, _) = self.send("PATCH", path, kind, patch.to_string()).await?;
        Ok(code)
    }
}

fn request(
    upstream: &Upstream,
    method: &str,
    path: &str,
    content_type: &str,
    body: Bytes,
) -> Result<Request<Full<Bytes>>, http::Error> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", format!("{}:{}", upstream.host, upstream.port))
        .header("accept", "application/json");
    if !body.is_empty() {
        request = request.header("content-type", content_type);
    }
    if let Some(token) = &upstream.token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    request.body(Full::new(body))
}

async fn read(response: Response<Incoming>) -> Result<(u16, Value), Failure> {
    let code = response.status().as_u16();
    let body = response
        .into_body()
        .collect()
        .await
        .map_err(io::Error::other)?
        .to_bytes();
    let value = if body.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&body)
            .unwrap_or_else(|_| String::from_utf8_lossy(&body).into_owned().into())
    };
    Ok((code, value))
}
