//! Running a command in a container, over a websocket (S-2.16).

use std::{future::poll_fn, task::ready, time::Duration};

use futures::{SinkExt, StreamExt};
use http::Method;
use kube::client::Connection;
use tokio_tungstenite::tungstenite::Message;

use crate::{
    budget::Budget,
    client::{Call, Cluster, LEAST_PAUSE, throttle_budget},
    error::{ClusterError, ErrorClass, Operation, StatusBody, one_line},
    notice::Notice,
    object::namespaced,
};

// Channel numbers of the remote command protocol, versions 4 and 5.
const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
const CLOSE: u8 = 255;

/// Input is sent in pieces of this size.
const PIECE: usize = 32 * 1024;
/// How often an idle connection is shown to be alive.
const PING: Duration = Duration::from_secs(30);
/// How long output that the exit code overtook may let wait for itself; the server closes the
/// connection once all is sent.
const LATE: Duration = Duration::from_secs(2);
/// Time to set up the connection (S-D.8).
const SET_UP: Duration = Duration::from_secs(30);

/// Which output a piece came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Cluster {
    /// Runs a command in a container and returns its exit code.
    ///
    /// `stdin` is sent and then closed; without it the command gets no standard input. Output is
    /// handed to `on_output` as it comes, in pieces that need not end at a line.
    ///
    /// # Errors
    ///
    /// * [`ErrorClass::NotFound`] – no such pod, or no such container running in it.
    /// * [`ErrorClass::Unreachable`], transient – the connection was cut before the exit code came;
    ///   what the command did is unknown.
    /// * [`ErrorClass::TimedOut`] – the budget ended; the connection is closed, and with it the
    ///   command's streams.
    /// * [`ErrorClass::Invalid`] and [`ErrorClass::Other`] – the container runtime refused the
    ///   command, such as one that is not in the image.
    ///
    /// # Cancel safety
    ///
    /// Dropping it closes the connection. The container runtime decides what becomes of the
    /// command; most let it run on without its streams.
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one exec step, each named at the call"
    )]
    pub async fn exec(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        command: &[String],
        stdin: Option<&str>,
        on_output: &mut dyn FnMut(Stream, &[u8]),
        budget: &Budget,
    ) -> Result<i32, ClusterError> {
        let operation = Operation::new(
            "create",
            "pods/exec",
            Some(namespace),
            format!("exec {namespace}/{pod} container {container}"),
        );
        let path = format!("{}/exec", namespaced("v1", namespace, "pods", Some(pod)));
        // GET, as a websocket needs; the server checks the right to `create` all the same.
        let mut call = Call::new(operation, Method::GET, path)
            .query("container", container)
            .query("stdin", if stdin.is_some() { "true" } else { "false" })
            .query("stdout", "true")
            .query("stderr", "true");
        for argument in command {
            call = call.query("command", argument.as_str());
        }
        let connection = self.open(&call, budget).await?;
        let limit = |expired| ClusterError::timed_out(&call.operation, &expired);
        budget
            .run(converse(connection, &call.operation, stdin, on_output))
            .await
            .map_err(limit)?
    }

    /// Opens the connection, with one new credential should the first be refused, and obeying a
    /// server that has too much to do (S-2.19).
    async fn open(&self, call: &Call, budget: &Budget) -> Result<Connection, ClusterError> {
        let operation = &call.operation;
        let budget = throttle_budget(budget);
        let mut refreshed = false;
        loop {
            let limit = budget.child("request limit 30s", SET_UP);
            let attempt = async {
                let generation = self.prepare().await?;
                let request = call.upgrade_request()?;
                match self.kube().connect(request).await {
                    Ok(connection) => Ok(Opened::Connection(Box::new(connection))),
                    Err(kube::Error::Api(status)) if status.code == 401 && !refreshed => {
                        if self.renew(generation).await? {
                            Ok(Opened::NewCredential)
                        } else {
                            Err(refusal(operation, &status))
                        }
                    }
                    Err(kube::Error::Api(status)) => match pause(&status) {
                        Some(wait) => Ok(Opened::Throttled(wait, status.code)),
                        None => Err(refusal(operation, &status)),
                    },
                    Err(error) => Err(self.transport(operation, &error)),
                }
            };
            let outcome = limit
                .run(attempt)
                .await
                .map_err(|expired| ClusterError::timed_out(operation, &expired))?;
            match outcome? {
                Opened::Connection(connection) => return Ok(*connection),
                Opened::NewCredential => refreshed = true,
                Opened::Throttled(wait, status) => {
                    self.notify(Notice::Throttled {
                        what: operation.object.clone(),
                        wait,
                        status,
                    });
                    budget
                        .sleep(wait)
                        .await
                        .map_err(|expired| ClusterError::timed_out(operation, &expired))?;
                }
            }
        }
    }
}

/// What came of one try to open a connection.
enum Opened {
    Connection(Box<Connection>),
    NewCredential,
    /// The server asks to come back so much later, with this status.
    Throttled(Duration, u16),
}

/// How long the server asks to wait. Of a refused upgrade no header is left, only the body: a 429
/// that says no time there is one all the same.
fn pause(status: &kube::core::Status) -> Option<Duration> {
    let asked = status
        .details
        .as_ref()
        .map(|details| u64::from(details.retry_after_seconds))
        .filter(|seconds| *seconds > 0)
        .map(Duration::from_secs);
    match status.code {
        429 => Some(asked.unwrap_or(LEAST_PAUSE)),
        503 => asked,
        _ => None,
    }
}

/// Turns a refused connection into an error. A container that is not there comes in several guises.
fn refusal(operation: &Operation, status: &kube::core::Status) -> ClusterError {
    let said = status.message.to_lowercase();
    let no_container = said.contains("container not found")
        || (said.contains("container") && said.contains("is not valid for pod"))
        || (said.contains("container") && said.contains("not found in pod"));
    if no_container {
        return ClusterError::new(
            ErrorClass::NotFound,
            format!(
                "{}: not found ({})",
                operation.object,
                one_line(&status.message, 200)
            ),
        );
    }
    let code =
        http::StatusCode::from_u16(status.code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    let body = StatusBody {
        message: Some(status.message.clone()),
        reason: Some(status.reason.clone()),
        details: None,
    };
    ClusterError::from_status(operation, code, &body)
}

async fn converse(
    connection: Connection,
    operation: &Operation,
    stdin: Option<&str>,
    on_output: &mut dyn FnMut(Stream, &[u8]),
) -> Result<i32, ClusterError> {
    let can_close = connection.supports_stream_close();
    let (mut send, mut receive) = connection.into_stream().split();
    let mut pieces = stdin
        .unwrap_or_default()
        .as_bytes()
        .chunks(PIECE)
        .map(|piece| Message::binary(tagged(STDIN, piece)))
        // Version 4 cannot close one stream alone; there the command sees no end of its input.
        .chain((stdin.is_some() && can_close).then(|| Message::binary(vec![CLOSE, STDIN])));
    let mut next = pieces.next();
    let mut unflushed = false;
    let mut ping = tokio::time::interval(PING);
    ping.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    ping.reset();
    let cut = |cause: &dyn std::fmt::Display| {
        ClusterError::transient(
            ErrorClass::Unreachable,
            format!(
                "{}: connection lost before the exit code came ({cause})",
                operation.object
            ),
        )
    };
    let mut verdict = None;
    loop {
        let mut took = false;
        tokio::select! {
            message = receive.next() => match message {
                None => {
                    return verdict.unwrap_or_else(|| Err(cut(&"closed by the other side")));
                }
                Some(Err(error)) => return verdict.unwrap_or_else(|| Err(cut(&error))),
                Some(Ok(Message::Binary(data))) => match data.split_first() {
                    // An empty message announces the channel.
                    None | Some((_, [])) => {}
                    Some((&STDOUT, rest)) => {
                        on_output(Stream::Stdout, rest);
                        took = true;
                    }
                    Some((&STDERR, rest)) => {
                        on_output(Stream::Stderr, rest);
                        took = true;
                    }
                    // The server copies each stream by itself: this word may overtake output.
                    Some((&STATUS, rest)) => verdict = Some(exit_code(operation, rest)),
                    Some(_) => {}
                },
                Some(Ok(_)) => {}
            },
            sent = poll_fn(|context| {
                // What is handed over is taken out of `next` in the same poll, so that losing the
                // race against an answer neither drops nor doubles a piece.
                while next.is_some() {
                    ready!(send.poll_ready_unpin(context))?;
                    if let Some(message) = next.take() {
                        send.start_send_unpin(message)?;
                    }
                    unflushed = true;
                    next = pieces.next();
                }
                send.poll_flush_unpin(context)
            }), if next.is_some() || unflushed => {
                unflushed = false;
                if sent.is_err() {
                    // A command may end without reading its input: then the status is under way,
                    // and if it is not, receiving says so.
                    next = None;
                }
            }
            () = tokio::time::sleep(LATE), if verdict.is_some() => {
                return verdict.unwrap_or_else(|| Err(cut(&"no exit code")));
            }
            _ = ping.tick() => {
                if next.is_none() && !unflushed {
                    next = Some(Message::Ping(bytes::Bytes::new()));
                }
            }
        }
        if took {
            // A command that never stops writing must not keep clocks and signals waiting.
            tokio::task::yield_now().await;
        }
    }
}

fn tagged(channel: u8, data: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(data.len() + 1);
    message.push(channel);
    message.extend_from_slice(data);
    message
}

/// Reads the last word of a connection.
fn exit_code(operation: &Operation, status: &[u8]) -> Result<i32, ClusterError> {
    let verdict: serde_json::Value = serde_json::from_slice(status)
        .map_err(|error| ClusterError::unreadable(operation, error))?;
    if verdict.get("status").and_then(serde_json::Value::as_str) == Some("Success") {
        return Ok(0);
    }
    let body: StatusBody = serde_json::from_value(verdict).unwrap_or_default();
    if body.reason.as_deref() == Some("NonZeroExitCode") {
        let code = body
            .details
            .iter()
            .flat_map(|details| details.causes.iter().flatten())
            .find(|cause| cause.reason.as_deref() == Some("ExitCode"))
            .and_then(|cause| cause.message.as_deref()?.parse().ok());
        if let Some(code) = code {
            return Ok(code);
        }
    }
    let message = body.message.unwrap_or_else(|| "no reason given".to_owned());
    let lower = message.to_lowercase();
    let class = if lower.contains("container not found") {
        ErrorClass::NotFound
    } else {
        ErrorClass::Other
    };
    Err(ClusterError::new(
        class,
        format!(
            "{}: the command could not be run: {}",
            operation.object,
            one_line(&message, 400)
        ),
    ))
}
