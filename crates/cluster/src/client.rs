//! The request layer: every exchange with the API server passes through [`Cluster::exchange`].
//!
//! It applies the limits of S-D.8, obeys 429 and 503 with Retry-After inside the budget, and asks
//! for one new credential after a 401. Nothing else is repeated here (S-D.9).

use std::{
    fmt,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use jiff::Timestamp;
use kube::client::{Body, ClientBuilder};
use secrecy::ExposeSecret;
use serde::de::DeserializeOwned;
use tower::util::MapRequestLayer;

use crate::{
    budget::Budget,
    connect::Target,
    credential::{Credential, Identity, Source},
    error::{ClusterError, Operation, StatusBody, one_line},
    notice::{Notice, Observer},
    object::ApplyMode,
};

/// The largest answer that is read. A page of a list has 500 objects of at most 1.5 MiB each in
/// theory, and a few MiB in practice; what never ends must not fill the memory.
const ANSWER_LIMIT: usize = 64 << 20;
/// Time for one request, from sending to the end of the answer (S-D.8).
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const REQUEST_LABEL: &str = "request limit 30s";
/// How long throttling is obeyed when nothing else limits the call.
const THROTTLE_LIMIT: Duration = Duration::from_secs(300);
/// The least pause before a request is repeated, should the server ask for none.
pub(crate) const LEAST_PAUSE: Duration = Duration::from_secs(1);

/// The field manager of writes to sizes and suspensions (S-D.23).
pub(crate) const FIELD_MANAGER: &str = "kzero";
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const JSON: &str = "application/json";

/// A connection to one API server. Cheap to clone; clones share connections and credential.
///
/// Everything runs in the task that calls it, but for the connections' own plumbing, which ends
/// when the last clone is dropped. Methods may be called from several tasks of one thread.
#[derive(Clone)]
pub struct Cluster {
    inner: Arc<Inner>,
}

struct Inner {
    target: Target,
    config: kube::Config,
    source: Arc<Source>,
    observer: Observer,
    /// What each request sends as `Authorization`.
    header: SharedHeader,
    client: RwLock<kube::Client>,
    in_use: tokio::sync::Mutex<InUse>,
    /// The newest generation of credentials that the server took.
    accepted: AtomicU64,
}

type SharedHeader = Arc<RwLock<Option<HeaderValue>>>;

/// What is known about the credential in use.
struct InUse {
    /// `None` before the first fetch; else when the credential ends, if it says so.
    known: Option<Option<Timestamp>>,
    fetched: Timestamp,
    /// Counts fetches, so that two requests refused at once lead to one new credential.
    generation: u64,
    /// The generation that was fetched since the one before it was refused, if any.
    renewed: Option<u64>,
    identity: Option<Identity>,
}

/// A request in the terms of this crate.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) operation: Operation,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Vec<(&'static str, String)>,
    pub(crate) body: Option<(&'static str, Vec<u8>)>,
    pub(crate) accept: &'static str,
}

impl Call {
    pub(crate) fn new(operation: Operation, method: Method, path: impl Into<String>) -> Self {
        Self {
            operation,
            method,
            path: path.into(),
            query: Vec::new(),
            body: None,
            accept: JSON,
        }
    }

    pub(crate) fn get(operation: Operation, path: impl Into<String>) -> Self {
        Self::new(operation, Method::GET, path)
    }

    #[must_use]
    pub(crate) fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    /// A merge patch under the field manager of this program.
    pub(crate) fn merge_patch(
        operation: Operation,
        path: impl Into<String>,
        patch: &serde_json::Value,
        mode: ApplyMode,
    ) -> Self {
        let mut call = Self::new(operation, Method::PATCH, path)
            .query("fieldManager", FIELD_MANAGER)
            .mode(mode);
        call.body = Some((MERGE_PATCH, patch.to_string().into_bytes()));
        call
    }

    #[must_use]
    pub(crate) fn json(mut self, body: &serde_json::Value) -> Self {
        self.body = Some((JSON, body.to_string().into_bytes()));
        self
    }

    #[must_use]
    pub(crate) fn mode(self, mode: ApplyMode) -> Self {
        match mode {
            ApplyMode::Live => self,
            ApplyMode::DryRun => self.query("dryRun", "All"),
        }
    }

    fn uri(&self) -> String {
        let mut uri = self.path.clone();
        for (index, (name, value)) in self.query.iter().enumerate() {
            uri.push(if index == 0 { '?' } else { '&' });
            uri.push_str(name);
            uri.push('=');
            uri.push_str(&crate::object::escape(value));
        }
        uri
    }

    /// The request without a body, for a protocol upgrade.
    pub(crate) fn upgrade_request(&self) -> Result<Request<Vec<u8>>, ClusterError> {
        Request::builder()
            .method(self.method.clone())
            .uri(self.uri())
            .body(Vec::new())
            .map_err(|error| ClusterError::unreadable(&self.operation, error))
    }

    fn request(&self) -> Result<Request<Body>, ClusterError> {
        let mut builder = Request::builder()
            .method(self.method.clone())
            .uri(self.uri())
            .header(header::ACCEPT, self.accept);
        let body = match &self.body {
            None => Body::empty(),
            Some((kind, bytes)) => {
                builder = builder.header(header::CONTENT_TYPE, *kind);
                Body::from(bytes.clone())
            }
        };
        builder
            .body(body)
            .map_err(|error| ClusterError::unreadable(&self.operation, error))
    }
}

/// A successful answer.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The server's clock when it answered, if it said.
    pub(crate) date: Option<Timestamp>,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) fn json<T: DeserializeOwned>(
        &self,
        operation: &Operation,
    ) -> Result<T, ClusterError> {
        serde_json::from_slice(&self.body)
            .map_err(|error| ClusterError::unreadable(operation, error))
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("target", &self.inner.target)
            .finish_non_exhaustive()
    }
}

impl Cluster {
    pub(crate) fn build(
        target: Target,
        config: kube::Config,
        source: Arc<Source>,
        observer: Observer,
    ) -> Result<Self, ClusterError> {
        // The provider is chosen here and not by features of some dependency; a second call finds
        // it set, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let header: SharedHeader = Arc::default();
        let client = client(&config, &header)?;
        Ok(Self {
            inner: Arc::new(Inner {
                target,
                config,
                source,
                observer,
                header,
                client: RwLock::new(client),
                in_use: tokio::sync::Mutex::new(InUse {
                    known: None,
                    fetched: Timestamp::UNIX_EPOCH,
                    generation: 0,
                    renewed: None,
                    identity: None,
                }),
                accepted: AtomicU64::new(0),
            }),
        })
    }

    /// Which cluster this is.
    pub fn target(&self) -> &Target {
        &self.inner.target
    }

    pub(crate) fn notify(&self, notice: Notice) {
        (self.inner.observer)(notice);
    }

    pub(crate) fn kube(&self) -> kube::Client {
        self.inner
            .client
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Sends a request and reads the whole answer.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop in the sense of memory; a write that was sent may or may not take effect.
    pub(crate) async fn call(&self, call: &Call, budget: &Budget) -> Result<Reply, ClusterError> {
        let (response, limit) = self.exchange(call, budget).await?;
        let date = server_date(response.headers());
        let body = self.body(call, response, &limit).await?;
        Ok(Reply { date, body })
    }

    /// [`Cluster::call`], with the answer decoded.
    pub(crate) async fn call_json<T: DeserializeOwned>(
        &self,
        call: &Call,
        budget: &Budget,
    ) -> Result<T, ClusterError> {
        self.call(call, budget).await?.json(&call.operation)
    }

    /// [`Cluster::call_json`], with `None` for an object that is not there.
    pub(crate) async fn call_optional<T: DeserializeOwned>(
        &self,
        call: &Call,
        budget: &Budget,
    ) -> Result<Option<T>, ClusterError> {
        match self.call_json(call, budget).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.class() == crate::ErrorClass::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a request until it gets an answer that is final, and returns it when it is a success,
    /// with its body unread and the limit under which to read it.
    pub(crate) async fn exchange(
        &self,
        call: &Call,
        budget: &Budget,
    ) -> Result<(Response<Body>, Budget), ClusterError> {
        let operation = &call.operation;
        let budget = throttle_budget(budget);
        let mut refreshed = false;
        loop {
            let limit = budget.child(REQUEST_LABEL, REQUEST_TIMEOUT);
            let expired = |_| self.timed_out(call, &limit);
            let generation = limit
                .run(self.prepare())
                .await
                .map_err(expired)?
                .map_err(|error| about(operation, &error))?;
            let request = call.request()?;
            let sent = limit
                .run(self.kube().send(request))
                .await
                .map_err(expired)?;
            let response = sent.map_err(|error| self.transport(operation, &error))?;
            let status = response.status();
            if status.is_success() {
                self.inner.accepted.fetch_max(generation, Ordering::Relaxed);
                self.warnings(call, response.headers());
                return Ok((response, limit));
            }
            let asked = retry_after(response.headers());
            // The body of a refusal is a courtesy: what is lost of it does not change the verdict.
            let body = self.body(call, response, &limit).await.unwrap_or_default();
            let body = StatusBody::parse(&body);
            if status == StatusCode::UNAUTHORIZED && !refreshed {
                refreshed = true;
                let renewed = limit.run(self.renew(generation)).await.map_err(expired)?;
                if renewed.map_err(|error| about(operation, &error))? {
                    continue;
                }
            }
            if matches!(status.as_u16(), 429 | 503) {
                let asked = asked.or(body
                    .details
                    .as_ref()
                    .and_then(|details| details.retry_after_seconds)
                    .map(Duration::from_secs));
                if let Some(asked) = asked {
                    let wait = asked.max(LEAST_PAUSE);
                    self.notify(Notice::Throttled {
                        what: operation.object.clone(),
                        wait,
                        status: status.as_u16(),
                    });
                    budget
                        .sleep(wait)
                        .await
                        .map_err(|expired| ClusterError::timed_out(operation, &expired))?;
                    continue;
                }
            }
            return Err(ClusterError::from_status(operation, status, &body));
        }
    }

    /// Passes on what the server has to say of a write that it accepted, such as a field that it does not know.
    fn warnings(&self, call: &Call, headers: &HeaderMap) {
        if call.method == Method::GET {
            return;
        }
        for value in headers.get_all(header::WARNING) {
            if let Some(text) = value.to_str().ok().and_then(warning_text) {
                self.notify(Notice::ServerWarning {
                    object: call.operation.object.clone(),
                    text,
                });
            }
        }
    }

    fn timed_out(&self, call: &Call, limit: &Budget) -> ClusterError {
        ClusterError::timed_out(&call.operation, &limit.expiry())
    }

    pub(crate) fn transport(&self, operation: &Operation, error: &kube::Error) -> ClusterError {
        ClusterError::from_transport(operation, &self.inner.target.api_server, error)
    }

    async fn body(
        &self,
        call: &Call,
        response: Response<Body>,
        limit: &Budget,
    ) -> Result<Bytes, ClusterError> {
        let read = async {
            let mut body = response.into_body();
            let mut bytes = Vec::new();
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| self.transport(&call.operation, &error))?;
                let Ok(data) = frame.into_data() else {
                    continue;
                };
                if bytes.len() + data.len() > ANSWER_LIMIT {
                    let why = format!("it is larger than {} MiB", ANSWER_LIMIT >> 20);
                    return Err(ClusterError::unreadable(&call.operation, why));
                }
                bytes.extend_from_slice(&data);
            }
            Ok(Bytes::from(bytes))
        };
        limit
            .run(read)
            .await
            .map_err(|_| self.timed_out(call, limit))?
    }

    /// Makes sure that a usable credential is in place; returns its generation.
    pub(crate) async fn prepare(&self) -> Result<u64, ClusterError> {
        let mut in_use = self.inner.in_use.lock().await;
        if self.inner.source.needs_fetch(in_use.known, in_use.fetched) {
            let credential = self.inner.source.fetch().await?;
            self.install(&mut in_use, credential)?;
        }
        Ok(in_use.generation)
    }

    /// Fetches a new credential after the one of `generation` was refused. `false` when there is
    /// no other one to be had.
    pub(crate) async fn renew(&self, generation: u64) -> Result<bool, ClusterError> {
        if !self.inner.source.can_refresh() {
            return Ok(false);
        }
        let mut in_use = self.inner.in_use.lock().await;
        if in_use.generation != generation {
            return Ok(true);
        }
        // What a program gave after a refusal was refused as well, and never taken: a third will not fare better. A file is
        // read again, for somebody may have written it meanwhile.
        let accepted = self.inner.accepted.load(Ordering::Relaxed);
        let is_file = matches!(*self.inner.source, Source::File(_));
        if in_use.renewed == Some(generation) && accepted < generation && !is_file {
            return Ok(false);
        }
        let credential = self.inner.source.fetch().await?;
        let before = self.current_header();
        let same = credential.header == before && credential.identity == in_use.identity;
        self.install(&mut in_use, credential)?;
        in_use.renewed = Some(in_use.generation);
        // A file that still holds the refused token: asking again would be refused again.
        if same && is_file {
            return Ok(false);
        }
        self.notify(Notice::CredentialRefreshed);
        Ok(true)
    }

    fn current_header(&self) -> Option<HeaderValue> {
        self.inner
            .header
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn install(&self, in_use: &mut InUse, credential: Credential) -> Result<(), ClusterError> {
        let Credential {
            header,
            identity,
            expires,
        } = credential;
        *self
            .inner
            .header
            .write()
            .unwrap_or_else(PoisonError::into_inner) = header;
        if identity != in_use.identity {
            let mut config = self.inner.config.clone();
            if let Some(identity) = &identity {
                config.auth_info.client_certificate = None;
                config.auth_info.client_key = None;
                config.auth_info.client_certificate_data = Some(encode(&identity.certificate));
                config.auth_info.client_key_data =
                    Some(encode(identity.key.expose_secret()).into());
            }
            let client = client(&config, &self.inner.header)?;
            *self
                .inner
                .client
                .write()
                .unwrap_or_else(PoisonError::into_inner) = client;
            in_use.identity = identity;
        }
        in_use.known = Some(expires);
        in_use.fetched = Timestamp::now();
        in_use.generation += 1;
        Ok(())
    }

    /// Asks the API server for its version, such as `v1.36.3` (S-3.7).
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`]; [`Unreachable`](crate::ErrorClass::Unreachable) when nothing answers.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn server_version(&self, budget: &Budget) -> Result<String, ClusterError> {
        let operation = Operation::new("get", "/version", None, "API server version");
        let call = Call::get(operation, "/version");
        let found: serde_json::Value = self.call_json(&call, budget).await?;
        match found.get("gitVersion").and_then(serde_json::Value::as_str) {
            Some(version) if !version.is_empty() => Ok(version.to_owned()),
            _ => Err(ClusterError::unreadable(
                &call.operation,
                "it has no gitVersion; is this a Kubernetes API server?",
            )),
        }
    }

    /// Asks whether the API server answers at all: `GET /healthz`, where any answer below 500
    /// counts (S-3.31). `timeout` bounds the whole probe.
    ///
    /// # Errors
    ///
    /// No answer in time, or a status of 500 and above.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn probe(&self, timeout: Duration) -> Result<(), ClusterError> {
        let operation = Operation::new("get", "/healthz", None, "API server health");
        let call = Call::get(operation, "/healthz");
        let limit = Budget::new("watchdog probe", timeout);
        let attempt = async {
            self.prepare().await?;
            let request = call.request()?;
            let response = self
                .kube()
                .send(request)
                .await
                .map_err(|error| self.transport(&call.operation, &error))?;
            let status = response.status();
            if status.is_server_error() {
                let body = StatusBody::default();
                return Err(ClusterError::from_status(&call.operation, status, &body));
            }
            Ok(())
        };
        limit
            .run(attempt)
            .await
            .map_err(|_| self.timed_out(&call, &limit))?
    }
}

/// The time in which throttling is obeyed: the caller's, or five minutes.
pub(crate) fn throttle_budget(budget: &Budget) -> Budget {
    match budget.remaining() {
        Some(_) => budget.clone(),
        None => budget.child("limit for throttled requests 5m0s", THROTTLE_LIMIT),
    }
}

/// Prefixes a credential error with the object that was asked for.
fn about(operation: &Operation, error: &ClusterError) -> ClusterError {
    ClusterError::new(error.class(), format!("{}: {error}", operation.object))
}

fn encode(pem: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(pem)
}

fn client(config: &kube::Config, header: &SharedHeader) -> Result<kube::Client, ClusterError> {
    let header = Arc::clone(header);
    let authorize = move |mut request: Request<Body>| {
        let value = header
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some(value) = value {
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        request
    };
    let builder = ClientBuilder::try_from(config.clone()).map_err(|error| {
        ClusterError::config(format!("cannot set up the client: {}", chain(&error)))
    })?;
    Ok(builder.with_layer(&MapRequestLayer::new(authorize)).build())
}

/// An error with its causes, each once.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        next = cause.source();
    }
    text
}

/// The text out of `299 - "text"`.
fn warning_text(header: &str) -> Option<String> {
    let quoted = header.strip_prefix("299 ")?.split_once('"')?.1;
    let text = quoted.strip_suffix('"').unwrap_or(quoted);
    Some(one_line(&text.replace("\\\"", "\""), 300))
}

fn server_date(headers: &HeaderMap) -> Option<Timestamp> {
    http_date(headers.get(header::DATE)?)
}

fn http_date(value: &HeaderValue) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(value.to_str().ok()?)
        .ok()
        .map(|date| date.timestamp())
}

/// Reads `Retry-After`, given as seconds or as a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(header::RETRY_AFTER)?;
    if let Some(seconds) = value
        .to_str()
        .ok()
        .and_then(|text| text.trim().parse().ok())
    {
        return Some(Duration::from_secs(seconds));
    }
    let until = http_date(value)?.duration_since(Timestamp::now());
    Some(Duration::try_from(until).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let read = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RETRY_AFTER, HeaderValue::from_str(text).unwrap());
            retry_after(&headers)
        };
        assert_eq!(read("7"), Some(Duration::from_secs(7)));
        assert_eq!(read("soon"), None);
        assert_eq!(read("Mon, 30 Nov 2020 10:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}
