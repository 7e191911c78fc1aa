//! A proxy on 127.0.0.1 that stands before an API server and does it wrong, as told.
//!
//! Clients speak plain HTTP to it and need no credentials: the proxy has those of the
//! kubeconfig. Watches are passed on as they come, and so are connections that are upgraded
//! (`exec` over a websocket).

use std::convert::Infallible;
use std::net::{SocketAddr, TcpStream as StdStream};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body::{Body, Frame};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use regex::Regex;
use serde_json::json;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;
use tokio::time::Sleep;

use crate::MiniApi;
use crate::client::{Failure, connect};
use crate::kubeconfig::{Upstream, write_plain};

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The request is passed on only so much later; other rules may then act as well.
    Delay(Duration),
    /// The connection is reset before the request is passed on.
    Reset,
    /// The request is passed on and has its effect, then the connection is reset without an
    /// answer.
    LoseAnswer,
    /// The request is passed on and has its effect, but its answer never comes; see [`FaultProxy::held`].
    HoldAnswer,
    /// A status is answered; the request is not passed on.
    Status {
        /// The HTTP status.
        code: u16,
        /// The `reason` in the body, e.g. `TooManyRequests`.
        reason: String,
        /// Seconds in `Retry-After`.
        retry_after: Option<u32>,
    },
    /// The answer breaks off after so many bytes of its body.
    CutBody(usize),
    /// The listener closes and all connections with it: refused until [`FaultProxy::resume`].
    GoAway,
    /// The request is taken and never answered.
    BlackHole,
    /// The version asked for is gone: 410 for a list, an error event for a watch.
    Gone,
}

impl Fault {
    /// A status with a reason that suits it, without `Retry-After`.
    #[must_use]
    pub fn status(code: u16) -> Fault {
        let reason = match code {
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "NotFound",
            409 => "Conflict",
            410 => "Expired",
            429 => "TooManyRequests",
            503 => "ServiceUnavailable",
            504 => "Timeout",
            _ => "InternalError",
        };
        Fault::Status {
            code,
            reason: reason.to_owned(),
            retry_after: None,
        }
    }

    /// A status with `Retry-After`, in seconds.
    #[must_use]
    pub fn retry_after(code: u16, seconds: u32) -> Fault {
        match Fault::status(code) {
            Fault::Status { code, reason, .. } => Fault::Status {
                code,
                reason,
                retry_after: Some(seconds),
            },
            other => other,
        }
    }
}

/// Which of the requests that match a rule it acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    First(usize),
    Nth(usize),
}

/// When a fault happens. Without any limit it happens to every request.
#[derive(Debug, Clone)]
pub struct Rule {
    fault: Fault,
    method: Option<String>,
    writes: bool,
    contains: Vec<String>,
    pattern: Option<Regex>,
    which: Which,
}

impl Rule {
    /// A rule for every request.
    #[must_use]
    pub fn new(fault: Fault) -> Rule {
        Rule {
            fault,
            method: None,
            writes: false,
            contains: Vec::new(),
            pattern: None,
            which: Which::All,
        }
    }

    /// Only requests that may change something: any but GET.
    #[must_use]
    pub fn writes(mut self) -> Rule {
        self.writes = true;
        self
    }

    /// Only this method.
    #[must_use]
    pub fn method(mut self, method: &str) -> Rule {
        self.method = Some(method.to_owned());
        self
    }

    /// Only where path and query contain this; may be said more than once.
    #[must_use]
    pub fn path(mut self, part: &str) -> Rule {
        self.contains.push(part.to_owned());
        self
    }

    /// Only where path and query match this regular expression.
    ///
    /// # Panics
    ///
    /// When it is none.
    #[must_use]
    pub fn pattern(mut self, pattern: &str) -> Rule {
        self.pattern = Some(Regex::new(pattern).unwrap_or_else(|err| panic!("{err}")));
        self
    }

    /// Only the first so many requests that match.
    #[must_use]
    pub fn first(mut self, count: usize) -> Rule {
        self.which = Which::First(count);
        self
    }

    /// Only this one of the requests that match, counted from 1.
    #[must_use]
    pub fn nth(mut self, number: usize) -> Rule {
        self.which = Which::Nth(number);
        self
    }

    fn matches(&self, method: &str, target: &str) -> bool {
        self.method.as_ref().is_none_or(|only| only == method)
            && !(self.writes && method == "GET")
            && self.contains.iter().all(|part| target.contains(part))
            && self
                .pattern
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(target))
    }
}

/// Counts what became of a rule; stays valid when the rule is taken out.
#[derive(Debug, Clone, Default)]
pub struct RuleCount(Arc<(AtomicUsize, AtomicUsize)>);

impl RuleCount {
    /// Requests that matched.
    #[must_use]
    pub fn matched(&self) -> usize {
        self.0.0.load(Ordering::SeqCst)
    }

    /// Requests that the fault happened to.
    #[must_use]
    pub fn hit(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}

/// A request that came to the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxiedRequest {
    /// The method.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The query without the question mark.
    pub query: String,
}

/// A running proxy; dropping it ends it.
#[derive(Debug)]
pub struct FaultProxy {
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: Option<(oneshot::Sender<()>, thread::JoinHandle<()>)>,
}

#[derive(Debug)]
struct Shared {
    upstream: Upstream,
    state: Mutex<State>,
    /// Wakes the listener when it should open or close.
    wake: Notify,
    /// Answers that are held back.
    held: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    rules: Vec<(Rule, RuleCount)>,
    requests: Vec<ProxiedRequest>,
    away: bool,
    /// Changes of `away` that were asked for, and those that the listener has followed.
    asked: usize,
    followed: usize,
}

impl State {
    fn ask(&mut self, away: bool) -> usize {
        self.away = away;
        self.asked += 1;
        self.asked
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FaultProxy {
    /// A proxy before the server of the present context of a kubeconfig.
    ///
    /// # Panics
    ///
    /// When the kubeconfig cannot be read or no port can be opened.
    #[must_use]
    pub fn for_kubeconfig(path: &Path) -> FaultProxy {
        FaultProxy::start(Upstream::read(path))
    }

    /// A proxy before a server in memory.
    ///
    /// # Panics
    ///
    /// When no port can be opened.
    #[must_use]
    pub fn for_mini(api: &MiniApi) -> FaultProxy {
        FaultProxy::start(Upstream::plain(&api.url()))
    }

    fn start(upstream: Upstream) -> FaultProxy {
        let shared = Arc::new(Shared {
            upstream,
            state: Mutex::default(),
            wake: Notify::new(),
            held: AtomicUsize::new(0),
        });
        let (port, taken) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let inside = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("fault-proxy".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime");
                runtime.block_on(async move {
                    tokio::select! {
                        () = listen(inside, port) => {}
                        _ = stopped => {}
                    }
                });
            })
            .expect("a thread");
        let address = taken.recv().expect("a proxy that listens");
        FaultProxy {
            shared,
            address,
            thread: Some((stop, thread)),
        }
    }

    /// Where it listens, e.g. `http://127.0.0.1:40000`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Writes a kubeconfig that leads to the proxy and gives its path; context, cluster and
    /// user are named `proxy`.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    #[must_use]
    pub fn kubeconfig(&self, dir: &Path) -> PathBuf {
        write_plain(dir, "proxy", &self.url(), None, None)
    }

    /// The same with a namespace in the context.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    #[must_use]
    pub fn kubeconfig_for(&self, dir: &Path, namespace: &str) -> PathBuf {
        write_plain(dir, "proxy", &self.url(), None, Some(namespace))
    }

    /// Adds a rule. Of several rules that act on a request the first wins, but for delays,
    /// which add up.
    pub fn add(&self, rule: Rule) -> RuleCount {
        let count = RuleCount::default();
        self.shared.lock().rules.push((rule, count.clone()));
        count
    }

    /// Takes all rules out. What a black hole has swallowed stays swallowed.
    pub fn clear(&self) {
        self.shared.lock().rules.clear();
    }

    /// How many answers are held back by [`Fault::HoldAnswer`]: those requests have had their effect.
    #[must_use]
    pub fn held(&self) -> usize {
        self.shared.held.load(Ordering::SeqCst)
    }

    /// The requests so far, oldest first, whatever became of them.
    #[must_use]
    pub fn requests(&self) -> Vec<ProxiedRequest> {
        self.shared.lock().requests.clone()
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        self.shared.lock().requests.clear();
    }

    /// Closes the listener and all connections; returns when that is done.
    pub fn go_away(&self) {
        self.shift(true);
    }

    /// Listens again, at the same address; returns when that is done.
    pub fn resume(&self) {
        self.shift(false);
    }

    fn shift(&self, away: bool) {
        let asked = self.shared.lock().ask(away);
        self.shared.wake.notify_one();
        while self.shared.lock().followed < asked && self.is_running() {
            thread::yield_now();
        }
    }

    fn is_running(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|(_, thread)| !thread.is_finished())
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.thread.take() {
            // A proxy that ended before has said why on its thread.
            let _ = stop.send(());
            let _ = thread.join();
        }
    }
}

// --- the listener -------------------------------------------------------------

/// A socket on 127.0.0.1 that shares its port with others of this kind in this program.
fn socket(port: u16) -> TcpSocket {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_reuseport(true).expect("a port to share");
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    socket.bind(address).expect("a port on 127.0.0.1");
    socket
}

/// Connections that wait to be accepted.
const BACKLOG: u32 = 128;

async fn listen(shared: Arc<Shared>, port: std::sync::mpsc::Sender<SocketAddr>) {
    // Keeps the port while nothing listens on it; a socket like this takes no connections.
    let keeper = socket(0);
    let address = keeper.local_addr().expect("the address of a socket");
    let open = || Some(socket(address.port()).listen(BACKLOG).expect("a listener"));
    let mut listener = open();
    // Who started the proxy waits for this.
    let _ = port.send(address);
    let mut connections = JoinSet::new();
    loop {
        let (away, asked) = {
            let state = shared.lock();
            (state.away, state.asked)
        };
        if away && listener.is_some() {
            listener = None;
            connections.shutdown().await;
        } else if !away && listener.is_none() {
            listener = open();
        }
        shared.lock().followed = asked;
        let accepted = async {
            match &listener {
                Some(listener) => listener.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = shared.wake.notified() => {}
            accepted = accepted => {
                if let Ok((stream, _)) = accepted {
                    connections.spawn(serve(stream, Arc::clone(&shared)));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// One client's connection, and the one to the server that belongs to it.
struct Line {
    shared: Arc<Shared>,
    /// A second handle of the client's socket, to end it with a reset.
    socket: Mutex<Option<StdStream>>,
    upstream: tokio::sync::Mutex<Option<(SendRequest<Incoming>, JoinSet<()>)>>,
    /// Tunnels of upgraded connections; they end with the line.
    tunnels: Mutex<JoinSet<()>>,
}

type Answer = Response<BoxBody<Bytes, Failure>>;

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    // A connection that cannot be set up is as good as one that broke.
    let Ok(stream) = stream.into_std() else {
        return;
    };
    let Ok(second) = stream.try_clone() else {
        return;
    };
    let Ok(stream) = TcpStream::from_std(stream) else {
        return;
    };
    let _ = stream.set_nodelay(true);
    let line = Arc::new(Line {
        shared,
        socket: Mutex::new(Some(second)),
        upstream: tokio::sync::Mutex::default(),
        tunnels: Mutex::default(),
    });
    let service = {
        let line = Arc::clone(&line);
        hyper::service::service_fn(move |request| {
            let line = Arc::clone(&line);
            async move { line.answer(request).await }
        })
    };
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
    // An upgraded connection goes on in its tunnel.
    let mut tunnels =
        std::mem::take(&mut *line.tunnels.lock().unwrap_or_else(PoisonError::into_inner));
    while tunnels.join_next().await.is_some() {}
}

impl Line {
    /// What to do to a request: the delay, and the fault that acts on it.
    fn faults(&self, method: &str, target: &str) -> (Duration, Option<Fault>) {
        let mut state = self.shared.lock();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        state.requests.push(ProxiedRequest {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
        });
        let mut delay = Duration::ZERO;
        let mut chosen = None;
        for (rule, count) in &state.rules {
            if !rule.matches(method, target) {
                continue;
            }
            let number = count.0.0.fetch_add(1, Ordering::SeqCst) + 1;
            let acts = match rule.which {
                Which::All => true,
                Which::First(count) => number <= count,
                Which::Nth(wanted) => number == wanted,
            };
            match &rule.fault {
                Fault::Delay(more) if acts => delay += *more,
                fault if acts && chosen.is_none() => chosen = Some(fault.clone()),
                _ => continue,
            }
            count.0.1.fetch_add(1, Ordering::SeqCst);
        }
        (delay, chosen)
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Answer, Failure> {
        let target = request
            .uri()
            .path_and_query()
            .map_or("/", http::uri::PathAndQuery::as_str)
            .to_owned();
        let (delay, fault) = self.faults(request.method().as_str(), &target);
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        match fault {
            None => self.pass(request).await,
            Some(Fault::Delay(_)) => self.pass(request).await,
            Some(Fault::Reset) => Err(self.reset()),
            Some(Fault::HoldAnswer) => {
                let answer = self.pass(request).await?;
                let _ = answer.into_body().collect().await;
                self.shared.held.fetch_add(1, Ordering::SeqCst);
                std::future::pending().await
            }
            Some(Fault::LoseAnswer) => {
                let answer = self.pass(request).await?;
                // Read to its end, so that the effect is surely there.
                let _ = answer.into_body().collect().await;
                Err(self.reset())
            }
            Some(Fault::Status {
                code,
                reason,
                retry_after,
            }) => Ok(status(code, &reason, retry_after)),
            Some(Fault::CutBody(bytes)) => {
                let answer = self.pass(request).await?;
                Ok(answer.map(|body| CutBody::new(body, bytes).boxed()))
            }
            Some(Fault::GoAway) => {
                self.shared.lock().ask(true);
                self.shared.wake.notify_one();
                std::future::pending().await
            }
            Some(Fault::BlackHole) => std::future::pending().await,
            Some(Fault::Gone) => Ok(gone(&target)),
        }
    }

    /// Makes the end of the connection a reset.
    fn reset(&self) -> Failure {
        let socket = self
            .socket
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(socket) = socket {
            // If that fails the connection is closed in the ordinary way, which breaks it too.
            let _ = rustix::net::sockopt::set_socket_linger(&socket, Some(Duration::ZERO));
        }
        Failure::other("reset by a rule")
    }

    async fn pass(&self, mut request: Request<Incoming>) -> Result<Answer, Failure> {
        let upstream = &self.shared.upstream;
        let host = format!("{}:{}", upstream.host, upstream.port);
        let headers = request.headers_mut();
        headers.insert(
            header::HOST,
            HeaderValue::from_str(&host).map_err(Failure::other)?,
        );
        if let Some(token) = &upstream.token {
            let value =
                HeaderValue::from_str(&format!("Bearer {token}")).map_err(Failure::other)?;
            headers.insert(header::AUTHORIZATION, value);
        }
        let upgrade = headers
            .contains_key(header::UPGRADE)
            .then(|| hyper::upgrade::on(&mut request));
        let mut slot = self.upstream.lock().await;
        let mut line = match slot.take() {
            Some(line) if !line.0.is_closed() => line,
            _ => connect(upstream).await?,
        };
        line.0.ready().await.map_err(Failure::other)?;
        let mut answer = line.0.send_request(request).await.map_err(Failure::other)?;
        if let (StatusCode::SWITCHING_PROTOCOLS, Some(client)) = (answer.status(), upgrade) {
            let server = hyper::upgrade::on(&mut answer);
            let tunnel = async move {
                // The driver of the upstream connection lives as long as the tunnel.
                let _line = line;
                if let (Ok(client), Ok(server)) = (client.await, server.await) {
                    let (mut client, mut server) = (TokioIo::new(client), TokioIo::new(server));
                    // Either side may break off at any time.
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                }
            };
            self.tunnels
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .spawn(tunnel);
        } else {
            *slot = Some(line);
        }
        Ok(answer.map(|body| body.map_err(Failure::other).boxed()))
    }
}

fn full(text: String) -> BoxBody<Bytes, Failure> {
    Full::new(Bytes::from(text))
        .map_err(|never: Infallible| match never {})
        .boxed()
}

fn status(code: u16, reason: &str, retry_after: Option<u32>) -> Answer {
    let body = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": format!("{reason}, says the proxy"),
        "reason": reason,
        "code": code,
    });
    let mut answer = Response::new(full(body.to_string()));
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_GATEWAY);
    let headers = answer.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    if let Some(seconds) = retry_after {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    answer
}

fn gone(target: &str) -> Answer {
    let watches = Regex::new(r"[?&]watch=(1|true)\b").is_ok_and(|watch| watch.is_match(target));
    if !watches {
        return status(410, "Expired", None);
    }
    let event = json!({"type": "ERROR", "object": {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "too old resource version, says the proxy",
        "reason": "Expired",
        "code": 410,
    }});
    let mut answer = status(410, "Expired", None);
    *answer.status_mut() = StatusCode::OK;
    *answer.body_mut() = full(format!("{event}\n"));
    answer
}

/// A body that breaks off.
struct CutBody {
    inner: BoxBody<Bytes, Failure>,
    left: usize,
    /// Time for the bytes before the cut to get out.
    end: Option<Pin<Box<Sleep>>>,
}

impl CutBody {
    fn new(inner: BoxBody<Bytes, Failure>, left: usize) -> CutBody {
        CutBody {
            inner,
            left,
            end: None,
        }
    }
}

impl Body for CutBody {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        if self.left == 0 {
            let pause = Duration::from_millis(20);
            let end = self
                .end
                .get_or_insert_with(|| Box::pin(tokio::time::sleep(pause)));
            ready!(end.as_mut().poll(cx));
            return Poll::Ready(Some(Err(Failure::other("cut by a rule"))));
        }
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        Poll::Ready(frame.map(|frame| {
            let mut data = frame?.into_data().unwrap_or_default();
            data.truncate(self.left);
            self.left -= data.len();
            Ok(Frame::data(data))
        }))
    }

    fn size_hint(&self) -> http_body::SizeHint {
        // As long as it was meant to be, so that clients can tell that something is missing.
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests;
