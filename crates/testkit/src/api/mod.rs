//! An API server in small, in memory.
//!
//! It keeps objects of the usual kinds with uids, resource versions and generations, and
//! answers get, list (paged, selected), watch, create, replace, patch, delete, `scale`,
//! `status` and dry-run as Kubernetes does. What it cannot do it refuses with 501; it
//! never pretends. Simple controllers bring Deployments, StatefulSets, DaemonSets, Jobs,
//! claims and namespaces to where their specification wants them.
//!
//! Known differences from a real server: no RBAC (see [`MiniApi::deny`]), no field
//! ownership, no server-side apply, no strategic merge of lists, one version a kind, pages
//! of a list are read from the present state, CronJobs do not fire, and unknown fields are
//! kept instead of dropped.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, sleep_until};
use tower::Service;

mod discovery;
mod handle;
mod kinds;
mod patch;
mod request;
mod rules;
mod sim;
mod status;
mod store;
#[cfg(test)]
mod tests;

pub use kinds::Kind;
pub use request::LoggedRequest;

use handle::Answer;
use request::{Incoming, Query, Target};
use store::{Denial, Store};

use crate::json;

/// A running in-memory API server; dropping it ends the server.
#[derive(Debug)]
pub struct MiniApi {
    service: MiniApiService,
    address: std::net::SocketAddr,
    /// The tasks of a server that runs on the caller's runtime.
    tasks: Option<JoinSet<()>>,
    /// The thread of a server that has a runtime of its own.
    thread: Option<(oneshot::Sender<()>, thread::JoinHandle<()>)>,
}

/// The same server without a socket, as a tower service.
///
/// Clones share their objects. Something must drive the time of the simulation: a
/// [`MiniApi`] does, or [`MiniApiService::drive`].
#[derive(Debug, Clone)]
pub struct MiniApiService {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    store: Mutex<Store>,
    /// Wakes the driver when something was written.
    wake: Notify,
}

impl MiniApi {
    /// Starts a server on 127.0.0.1, on the runtime that this is called from.
    ///
    /// # Panics
    ///
    /// When no port can be opened.
    pub async fn start() -> MiniApi {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("a port on 127.0.0.1");
        let address = listener.local_addr().expect("the address of a listener");
        let service = MiniApiService::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(service.clone().drive());
        tasks.spawn(serve(listener, service.clone()));
        MiniApi {
            service,
            address,
            tasks: Some(tasks),
            thread: None,
        }
    }

    /// Starts a server on 127.0.0.1 with a thread and a runtime of its own, for tests that
    /// are not asynchronous or run programs.
    ///
    /// # Panics
    ///
    /// When no port or thread can be had.
    #[must_use]
    pub fn start_blocking() -> MiniApi {
        let (ready_sender, ready) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("mini-api".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime");
                runtime.block_on(async move {
                    let mut api = MiniApi::start().await;
                    let tasks = api.tasks.take();
                    // Nobody to tell means that the caller is gone, and then so is the server.
                    let _ = ready_sender.send((api.service.clone(), api.address));
                    let _ = stopped.await;
                    drop(tasks);
                });
            })
            .expect("a thread");
        let (service, address) = ready.recv().expect("a server that started");
        MiniApi {
            service,
            address,
            tasks: None,
            thread: Some((stop, thread)),
        }
    }

    /// Where the server listens, e.g. `http://127.0.0.1:40000`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The same server as a tower service.
    #[must_use]
    pub fn service(&self) -> MiniApiService {
        self.service.clone()
    }

    /// Writes a kubeconfig for this server into `dir` and gives its path.
    ///
    /// Its context, cluster and user are all named `mini`.
    ///
    /// # Panics
    ///
    /// When the file cannot be written.
    #[must_use]
    pub fn kubeconfig(&self, dir: &Path) -> PathBuf {
        let token = self.service.lock().token.clone();
        crate::kubeconfig::write_plain(dir, "mini", &self.url(), token.as_deref(), None)
    }

    /// The same with a namespace in the context.
    ///
    /// # Panics
    ///
    /// When the file cannot be written.
    #[must_use]
    pub fn kubeconfig_for(&self, dir: &Path, namespace: &str) -> PathBuf {
        let token = self.service.lock().token.clone();
        let token = token.as_deref();
        crate::kubeconfig::write_plain(dir, "mini", &self.url(), token, Some(namespace))
    }
}

impl std::ops::Deref for MiniApi {
    type Target = MiniApiService;

    fn deref(&self) -> &MiniApiService {
        &self.service
    }
}

impl Drop for MiniApi {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.thread.take() {
            // A server that ended before has said why on its thread.
            let _ = stop.send(());
            let _ = thread.join();
        }
    }
}

impl Default for MiniApiService {
    fn default() -> Self {
        MiniApiService::new()
    }
}

impl MiniApiService {
    /// A server with nothing but two namespaces, two nodes and the storage classes
    /// `standard` (the default one), `wait` and `retain`.
    #[must_use]
    pub fn new() -> MiniApiService {
        MiniApiService {
            shared: Arc::new(Shared {
                store: Mutex::new(Store::new()),
                wake: Notify::new(),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        self.shared
            .store
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the simulated controllers act as time passes; never returns.
    ///
    /// # Cancel safety
    ///
    /// May be dropped at any time; the simulation then stands still.
    pub async fn drive(self) {
        let mut due = None;
        loop {
            let woken = self.shared.wake.notified();
            match due {
                None => woken.await,
                Some(at) => {
                    tokio::select! {
                        () = woken => {}
                        () = sleep_until(at) => {}
                    }
                }
            }
            let lag = self.lock().lag;
            if !lag.is_zero() {
                tokio::time::sleep(lag).await;
            }
            due = self.settle();
        }
    }

    fn settle(&self) -> Option<Instant> {
        let mut store = self.lock();
        if store.frozen {
            return None;
        }
        sim::settle(&mut store)
    }

    /// After a change: without a lag the controllers act before the next request is read.
    fn written(&self) {
        if self.lock().lag.is_zero() {
            self.settle();
        }
        self.shared.wake.notify_one();
    }

    fn answer(&self, parts: &http::request::Parts, body: &[u8]) -> Answer {
        let path = parts.uri.path();
        let query = parts.uri.query().unwrap_or_default();
        let header = |name: http::HeaderName| {
            parts
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
        };
        let content_type = header(http::header::CONTENT_TYPE);
        let method = parts.method.as_str();
        let mut store = self.lock();
        let before = store.revision();
        let known = store
            .token
            .as_ref()
            .is_none_or(|token| header(http::header::AUTHORIZATION) == format!("Bearer {token}"));
        let answer = if known {
            let incoming = Incoming {
                method,
                path,
                query: Query::parse(query),
                content_type,
                accept: header(http::header::ACCEPT),
                body,
            };
            handle::handle(&mut store, &incoming)
        } else {
            let refusal = status::Refusal::new(401, "Unauthorized", "Unauthorized");
            Answer::Json(401, refusal.to_value())
        };
        let text = || String::from_utf8_lossy(body).into_owned().into();
        let logged = LoggedRequest {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            content_type: content_type.to_owned(),
            body: if body.is_empty() {
                Value::Null
            } else {
                serde_json::from_slice(body).unwrap_or_else(|_| text())
            },
            status: answer.code(),
        };
        store.requests.push(logged);
        let changed = store.revision() != before;
        drop(store);
        if changed {
            self.written();
        }
        answer
    }

    /// Every request so far, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.lock().requests.clone()
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        self.lock().requests.clear();
    }

    /// The requests that may have changed something.
    #[must_use]
    pub fn writes(&self) -> Vec<LoggedRequest> {
        let mut requests = self.requests();
        requests.retain(LoggedRequest::is_write);
        requests
    }

    /// Creates or replaces an object; makes its namespace if that is missing. A `status` in
    /// it is taken over as it is, which a real server would not do.
    ///
    /// # Panics
    ///
    /// When the server refuses the object.
    pub fn apply(&self, object: Value) -> Value {
        let kept = self.try_apply(object);
        self.written();
        match kept {
            Ok(object) => object,
            Err(refusal) => panic!("cannot apply: {}", refusal.message),
        }
    }

    fn try_apply(&self, mut object: Value) -> status::Outcome<Value> {
        let mut store = self.lock();
        let api_version = json::text(&object, "/apiVersion").to_owned();
        let word = json::text(&object, "/kind").to_owned();
        let kind = store
            .kinds
            .iter()
            .position(|kind| kind.kind == word && kind.api_version() == api_version)
            .ok_or_else(|| {
                status::Refusal::bad_request(format!("no kind {word:?} in {api_version:?}"))
            })?;
        let namespaced = store.kinds[kind].namespaced;
        let name = json::text(&object, "/metadata/name").to_owned();
        let namespace = match json::text(&object, "/metadata/namespace") {
            _ if !namespaced => String::new(),
            "" => "default".to_owned(),
            namespace => namespace.to_owned(),
        };
        let given = json::remove(&mut object, "/status");
        if let Some(namespaces) = store.kind("", "namespaces").filter(|_| namespaced)
            && store
                .get(&(namespaces, String::new(), namespace.clone()))
                .is_none()
        {
            let new = serde_json::json!({"metadata": {"name": namespace}});
            handle::create_quietly(&mut store, namespaces, "", new)?;
        }
        let key = (kind, namespace.clone(), name.clone());
        if store.get(&key).is_none() {
            handle::create_quietly(&mut store, kind, &namespace, object)?;
        } else {
            json::remove(&mut object, "/metadata/resourceVersion");
            let body = object.to_string();
            let target = Target {
                kind,
                namespace,
                name,
                sub: String::new(),
            };
            handle::replace_quietly(&mut store, &target, body.as_bytes())?;
        }
        if let Some(status) = given {
            store.edit(&key, |object| object["status"] = status);
        }
        let kind = store.kinds[kind].clone();
        let kept = store.get(&key).map(|object| Value::clone(object));
        Ok(store::typed(&kind, kept.unwrap_or_default()))
    }

    /// The object at that API path, e.g. `/apis/apps/v1/namespaces/app/deployments/api`; not
    /// logged as a request.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<Value> {
        let (code, value) = self.quiet("GET", path, "", &[]);
        (code == 200).then_some(value)
    }

    /// The objects of the collection at that API path; not logged as a request.
    #[must_use]
    pub fn list(&self, path: &str) -> Vec<Value> {
        let found = self.get(path).unwrap_or_default();
        json::list(&found, "/items").to_vec()
    }

    /// Changes an object by a merge patch; not logged as a request.
    ///
    /// # Panics
    ///
    /// When the server refuses.
    pub fn patch(&self, path: &str, patch: &Value) -> Value {
        let body = patch.to_string();
        let kind = "application/merge-patch+json";
        let (code, value) = self.quiet("PATCH", path, kind, body.as_bytes());
        assert_eq!(code, 200, "patch of {path}: {value}");
        value
    }

    /// Deletes an object as `kubectl delete` would; not logged as a request.
    ///
    /// # Panics
    ///
    /// When the server refuses, or has no such object.
    pub fn delete(&self, path: &str) {
        let body = br#"{"propagationPolicy":"Background"}"#;
        let (code, value) = self.quiet("DELETE", path, "application/json", body);
        assert_eq!(code, 200, "deletion of {path}: {value}");
    }

    fn quiet(&self, method: &str, path: &str, content_type: &str, body: &[u8]) -> (u16, Value) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let incoming = Incoming {
            method,
            path,
            query: Query::parse(query),
            content_type,
            accept: "application/json",
            body,
        };
        let answer = {
            let mut store = self.lock();
            let denials = std::mem::take(&mut store.denials);
            let answer = handle::handle(&mut store, &incoming);
            store.denials = denials;
            answer
        };
        if method != "GET" {
            self.written();
        }
        match answer {
            Answer::Json(code, value) => (code, value),
            Answer::Text(code, text) => (code, text.into()),
            Answer::Stream(..) => (200, Value::Null),
        }
    }

    /// Waits until the object at `path` (null while there is none) is as wanted; gives it
    /// back, or the last one seen when `limit` is over.
    ///
    /// # Errors
    ///
    /// The last state seen, when the time is over.
    ///
    /// # Cancel safety
    ///
    /// May be dropped; nothing is changed by waiting.
    pub async fn wait_until(
        &self,
        path: &str,
        limit: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Value, Value> {
        let mut changes = self.lock().changed.subscribe();
        let end = Instant::now() + limit;
        loop {
            let found = self.get(path).unwrap_or_default();
            if wanted(&found) {
                return Ok(found);
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = sleep_until(end) => return Err(found),
            }
        }
    }

    /// The same for tests that are not asynchronous.
    ///
    /// # Errors
    ///
    /// The last state seen, when the time is over.
    pub fn wait_until_blocking(
        &self,
        path: &str,
        limit: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Value, Value> {
        let end = std::time::Instant::now() + limit;
        loop {
            let found = self.get(path).unwrap_or_default();
            if wanted(&found) {
                return Ok(found);
            }
            if std::time::Instant::now() > end {
                return Err(found);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Serves one more kind, such as a custom resource. Known kinds stay as they are.
    pub fn add_kind(&self, kind: Kind) {
        let mut store = self.lock();
        if !store.kinds.contains(&kind) {
            store.kinds.push(kind);
        }
    }

    /// Forbids a verb (`get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `*`) on a
    /// resource (`deployments`, `deployments/scale`, `*`) from now on.
    pub fn deny(&self, verb: &str, resource: &str) {
        self.lock().denials.push(Denial {
            verb: verb.to_owned(),
            resource: resource.to_owned(),
        });
    }

    /// Takes all prohibitions back.
    pub fn allow_all(&self) {
        self.lock().denials.clear();
    }

    /// Demands this bearer token from now on (401 without it), or none.
    pub fn require_token(&self, token: Option<&str>) {
        self.lock().token = token.map(str::to_owned);
    }

    /// Forgets past versions: running watches end with 410, and so do lists and watches that
    /// go on from an earlier version.
    pub fn expire_versions(&self) {
        self.lock().compact();
    }

    /// Ends all running watches without a word, as a proxy does that loses patience.
    pub fn cut_watches(&self) {
        self.lock().watchers.clear();
    }

    /// Lets the controllers react only so long after a change, so that a status is old for
    /// a while, as on a busy cluster.
    pub fn set_lag(&self, lag: Duration) {
        self.lock().lag = lag;
    }

    /// Stops (`true`) or resumes the controllers.
    pub fn freeze(&self, frozen: bool) {
        self.lock().frozen = frozen;
        if !frozen {
            self.written();
        }
    }
}

// --- as a service -------------------------------------------------------------

/// The body of an answer: all at once, or the lines of a watch as they come.
#[derive(Debug)]
pub struct ApiBody(BodyKind);

#[derive(Debug)]
enum BodyKind {
    Whole(Option<Bytes>),
    Lines(UnboundedReceiver<Bytes>, Option<Pin<Box<Sleep>>>),
}

impl Body for ApiBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            BodyKind::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            BodyKind::Lines(lines, end) => {
                let over = end
                    .as_mut()
                    .is_some_and(|end| end.as_mut().poll(cx).is_ready());
                if over {
                    return Poll::Ready(None);
                }
                lines
                    .poll_recv(cx)
                    .map(|line| line.map(|line| Ok(Frame::data(line))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, BodyKind::Whole(None))
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match &self.0 {
            BodyKind::Whole(bytes) => {
                let length = bytes.as_ref().map_or(0, Bytes::len);
                http_body::SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            BodyKind::Lines(..) => http_body::SizeHint::default(),
        }
    }
}

impl<B> Service<Request<B>> for MiniApiService
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: std::fmt::Debug,
{
    type Response = Response<ApiBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<ApiBody>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = match body.collect().await {
                Ok(body) => body.to_bytes(),
                // The client broke off in mid-request; nobody reads the answer.
                Err(_) => Bytes::new(),
            };
            let (code, kind, body) = match service.answer(&parts, &body) {
                Answer::Json(code, value) => {
                    let text = Bytes::from(value.to_string());
                    (code, "application/json", BodyKind::Whole(Some(text)))
                }
                Answer::Text(code, text) => {
                    (code, "text/plain", BodyKind::Whole(Some(text.into())))
                }
                Answer::Stream(lines, limit) => {
                    let end = limit.map(|limit| Box::pin(tokio::time::sleep(limit)));
                    (200, "application/json", BodyKind::Lines(lines, end))
                }
            };
            let mut response = Response::new(ApiBody(body));
            *response.status_mut() =
                http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
            response.headers_mut().insert(
                http::header::CONTENT_TYPE,
                http::HeaderValue::from_static(kind),
            );
            Ok(response)
        })
    }
}

async fn serve(listener: TcpListener, service: MiniApiService) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                let service = service.clone();
                let answer = hyper::service::service_fn(move |request| service.clone().call(request));
                connections.spawn(async move {
                    // A client that goes away is not a fault of the server.
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), answer)
                        .await;
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}
