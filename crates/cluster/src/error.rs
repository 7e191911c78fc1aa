//! What can go wrong at the API server, in one type with one line of text.
//!
//! Every error names the object it is about and keeps a [class](ErrorClass) to decide by; the
//! decision whether a step may be tried again is made here, once (S-3.17). Credentials never
//! enter the text.

use std::{error::Error as StdError, io};

use http::StatusCode;
use serde::Deserialize;

use crate::budget::Expired;

/// Kinds of failure that callers tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorClass {
    /// The object, its namespace or its kind is not there (404).
    NotFound,
    /// The credential lacks the right (403).
    Forbidden,
    /// The credential itself was refused (401).
    Unauthorized,
    /// Someone else changed the object in between (409).
    Conflict,
    /// An object of that name is there already (409 with reason `AlreadyExists`).
    Exists,
    /// The server refuses the request's content (400, 422 and other refusals).
    Invalid,
    /// The resource version asked for is too old (410).
    Gone,
    /// The server asks to slow down (429).
    Throttled,
    /// The server is overloaded or shutting down (503).
    Unavailable,
    /// The server failed (other 5xx).
    ServerError,
    /// No connection, or it was lost.
    Unreachable,
    /// The server, the transport or a budget ran out of time (504 included).
    TimedOut,
    /// Kubeconfig, certificate, proxy or credential plugin cannot be used.
    Config,
    /// Anything else, such as an answer that cannot be read.
    Other,
}

/// A failed exchange with the API server, or a configuration that makes none possible.
///
/// Displays as one line that begins with the object, such as `deployment app/api: not found`.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{text}")]
pub struct ClusterError {
    class: ErrorClass,
    transient: bool,
    text: String,
    refusal: Option<Box<Refusal>>,
}

/// The API server's own words on a request it refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The reason in one word, such as `Invalid`; empty if it gives none.
    pub reason: String,
    /// The whole message; it may have many lines.
    pub message: String,
    /// What is wrong with which field.
    pub fields: Vec<FieldError>,
}

/// A fault of one field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldError {
    /// The path of the field, such as `spec.selector`; empty if the server does not say.
    pub field: String,
    /// The kind of fault, such as `FieldValueInvalid`.
    pub reason: String,
    /// What is wrong with it.
    pub message: String,
}

/// What a request was for; the words that errors and notices are made of.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// The verb as RBAC knows it: `get`, `patch`, `list`, `watch`, `create`, `delete`.
    pub(crate) verb: &'static str,
    /// The resource as RBAC knows it, such as `deployments/scale`.
    pub(crate) resource: String,
    /// The namespace, if the resource is namespaced.
    pub(crate) namespace: Option<String>,
    /// The object as people call it: `deployment app/api`.
    pub(crate) object: String,
}

impl Operation {
    pub(crate) fn new(
        verb: &'static str,
        resource: impl Into<String>,
        namespace: Option<&str>,
        object: impl Into<String>,
    ) -> Self {
        Self {
            verb,
            resource: resource.into(),
            namespace: namespace.map(str::to_owned),
            object: object.into(),
        }
    }

    /// The same object with another verb.
    pub(crate) fn with_verb(&self, verb: &'static str) -> Self {
        Self {
            verb,
            ..self.clone()
        }
    }
}

/// The parts of a `metav1.Status` that are of interest. Its own type, since answers from proxies
/// may hold anything.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct StatusBody {
    pub(crate) message: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) details: Option<StatusDetails>,
}

/// Details of a [`StatusBody`].
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct StatusDetails {
    pub(crate) retry_after_seconds: Option<u64>,
    pub(crate) causes: Option<Vec<StatusCause>>,
}

/// One cause inside [`StatusDetails`].
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct StatusCause {
    pub(crate) reason: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) field: Option<String>,
}

impl StatusBody {
    /// Reads a `Status` from an answer; other bodies give an empty one with the text as message.
    pub(crate) fn parse(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_else(|_| {
            let text = one_line(&String::from_utf8_lossy(body), 200);
            Self {
                message: (!text.is_empty()).then_some(text),
                ..Self::default()
            }
        })
    }
}

impl ClusterError {
    /// Makes an error that no retry can help, such as a broken kubeconfig.
    pub(crate) fn new(class: ErrorClass, text: impl Into<String>) -> Self {
        Self {
            class,
            transient: false,
            text: text.into(),
            refusal: None,
        }
    }

    /// A configuration that cannot be used.
    pub(crate) fn config(text: impl Into<String>) -> Self {
        Self::new(ErrorClass::Config, text)
    }

    /// An error that may be gone when the step is tried again.
    pub(crate) fn transient(class: ErrorClass, text: impl Into<String>) -> Self {
        Self {
            class,
            transient: true,
            text: text.into(),
            refusal: None,
        }
    }

    /// The object is not there.
    pub(crate) fn not_found(object: &str) -> Self {
        Self::new(ErrorClass::NotFound, format!("{object}: not found"))
    }

    /// An answer that is not what the API promises.
    pub(crate) fn unreadable(operation: &Operation, why: impl std::fmt::Display) -> Self {
        Self::new(
            ErrorClass::Other,
            format!(
                "{}: cannot read the API server's answer to {} {}: {}",
                operation.object,
                operation.verb,
                operation.resource,
                one_line(&why.to_string(), 200)
            ),
        )
    }

    /// A budget ended while a request was under way.
    pub(crate) fn timed_out(operation: &Operation, expired: &Expired) -> Self {
        Self::transient(
            ErrorClass::TimedOut,
            format!(
                "{}: timed out while waiting to {} {} ({expired})",
                operation.object, operation.verb, operation.resource
            ),
        )
    }

    /// Turns an HTTP error status into an error.
    pub(crate) fn from_status(
        operation: &Operation,
        status: StatusCode,
        body: &StatusBody,
    ) -> Self {
        let object = &operation.object;
        let reason = body.reason.as_deref().unwrap_or_default();
        let message = body
            .message
            .as_deref()
            .map(|text| one_line(text, 600))
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| status.to_string());
        let (class, transient) = classify(status, reason);
        let text = match class {
            ErrorClass::NotFound => not_found_text(operation, body, &message),
            ErrorClass::Forbidden => forbidden_text(operation, &message),
            ErrorClass::Unauthorized => format!(
                "{object}: the API server refused the credential (401 Unauthorized); log in again or check the user of this context"
            ),
            ErrorClass::Conflict => format!("{object}: conflict: {message}"),
            ErrorClass::Exists => format!("{object}: already exists"),
            ErrorClass::Invalid => format!("{object}: refused by the API server: {message}"),
            _ => format!("{object}: API server answered {status}: {message}"),
        };
        Self {
            class,
            transient,
            text,
            refusal: Some(Box::new(Refusal::new(status, body))),
        }
    }

    /// Turns a failure below HTTP into an error. `server` is the address, for the reader.
    pub(crate) fn from_transport(
        operation: &Operation,
        server: &str,
        error: &(dyn StdError + 'static),
    ) -> Self {
        let (class, transient, cause) = transport_cause(error);
        let text = match class {
            ErrorClass::Config => format!("{}: {cause}", operation.object),
            _ => format!("{}: {cause} ({server})", operation.object),
        };
        Self {
            class,
            transient,
            text,
            refusal: None,
        }
    }

    /// What the API server said, if it was the server that refused.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_deref()
    }

    /// The kind of failure.
    pub fn class(&self) -> ErrorClass {
        self.class
    }

    /// Whether trying again may help: exactly the list of S-3.17 (API timeout, conflict, 429, 503,
    /// 504, refused, reset or lost connections, TLS or I/O timeout, GOAWAY, a budget that ran out).
    pub fn is_transient(&self) -> bool {
        self.transient
    }
}

impl Refusal {
    fn new(status: StatusCode, body: &StatusBody) -> Self {
        let causes = body
            .details
            .as_ref()
            .and_then(|details| details.causes.as_deref());
        let fields = causes.unwrap_or_default().iter().map(|cause| FieldError {
            field: cause.field.clone().unwrap_or_default(),
            reason: cause.reason.clone().unwrap_or_default(),
            message: cause.message.clone().unwrap_or_default(),
        });
        Self {
            status: status.as_u16(),
            reason: body.reason.clone().unwrap_or_default(),
            message: body.message.clone().unwrap_or_default(),
            fields: fields.collect(),
        }
    }
}

fn classify(status: StatusCode, reason: &str) -> (ErrorClass, bool) {
    match (status.as_u16(), reason) {
        (404, _) => (ErrorClass::NotFound, false),
        (403, _) => (ErrorClass::Forbidden, false),
        (401, _) => (ErrorClass::Unauthorized, false),
        (409, "AlreadyExists") => (ErrorClass::Exists, false),
        (409, _) => (ErrorClass::Conflict, true),
        (410, _) => (ErrorClass::Gone, false),
        (429, _) => (ErrorClass::Throttled, true),
        (503, _) => (ErrorClass::Unavailable, true),
        // The server reports its own timeouts as 504 and, for some storage calls, as 500.
        (504, _) | (_, "Timeout" | "ServerTimeout") => (ErrorClass::TimedOut, true),
        (400..=499, _) => (ErrorClass::Invalid, false),
        (500..=599, _) => (ErrorClass::ServerError, false),
        _ => (ErrorClass::Other, false),
    }
}

fn not_found_text(operation: &Operation, body: &StatusBody, message: &str) -> String {
    let object = &operation.object;
    // A 404 without the API's own reason comes from the path, not from the object: the kind is
    // not served, or something else answers at this address.
    if body.reason.as_deref() == Some("NotFound") {
        if message.starts_with("namespaces \"") {
            format!("{object}: not found (the namespace does not exist)")
        } else {
            format!("{object}: not found")
        }
    } else {
        format!(
            "{object}: not found: the server has no {} ({message})",
            operation.resource
        )
    }
}

fn forbidden_text(operation: &Operation, message: &str) -> String {
    let place = match &operation.namespace {
        Some(namespace) => format!("in namespace {namespace}"),
        None => "in the cluster".to_owned(),
    };
    let object = &operation.object;
    let verb = operation.verb;
    let resource = &operation.resource;
    match message
        .split_once("User \"")
        .and_then(|(_, rest)| rest.split_once('"'))
    {
        // An RBAC refusal: who lacks which right; the rest of the sentence repeats the object.
        Some((user, rest)) => {
            // The server's own words on the right: exec over a websocket needs two.
            let (verb, resource) = lacking(rest).unwrap_or((verb, resource));
            format!(
                "{object}: forbidden: user \"{user}\" may not {verb} {resource} {place}; ask for a Role that grants it"
            )
        }
        // Admission (quota, policy, a namespace that is going away): its own words are the news.
        None => format!("{object}: forbidden to {verb} {resource} {place}: {message}"),
    }
}

/// Verb and resource out of ` cannot VERB resource "RESOURCE" in …`.
fn lacking(said: &str) -> Option<(&str, &str)> {
    let (verb, rest) = said.strip_prefix(" cannot ")?.split_once(" resource \"")?;
    let (resource, _) = rest.split_once('"')?;
    Some((verb, resource))
}

/// Finds the innermost cause that says something and decides what it means.
fn transport_cause(error: &(dyn StdError + 'static)) -> (ErrorClass, bool, String) {
    let mut chain: Vec<&(dyn StdError + 'static)> = Vec::new();
    let mut next = Some(error);
    while let Some(current) = next {
        // A bound, since nothing promises that a chain of sources ends.
        if chain.len() == 32 {
            break;
        }
        chain.push(current);
        // An I/O error that carries another error does not name it as its source, but that one's.
        let carried = current
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        next = match carried {
            Some(carried) => Some(carried),
            None => current.source(),
        };
    }
    let texts: Vec<String> = chain.iter().map(ToString::to_string).collect();
    let said = texts.join(": ").to_lowercase();

    if let Some(tls) = chain
        .iter()
        .find_map(|cause| cause.downcast_ref::<rustls::Error>())
    {
        return (ErrorClass::Config, false, format!("TLS: {tls}"));
    }
    for cause in &chain {
        if let Some(failed) = cause.downcast_ref::<io::Error>()
            && let Some(found) = io_cause(failed)
        {
            return found;
        }
        if let Some(failed) = cause.downcast_ref::<hyper::Error>() {
            if failed.is_incomplete_message() || failed.is_closed() || failed.is_canceled() {
                return lost();
            }
            if failed.is_timeout() {
                return timeout();
            }
        }
    }
    // Some layers keep the kind only in their words.
    if said.contains("goaway")
        || said.contains("connection closed")
        || said.contains("connection reset")
    {
        return lost();
    }
    if said.contains("dns error") || said.contains("failed to lookup address") {
        // What kubectl says of the same failure ("dial tcp: lookup …") is transient by S-3.18, and a
        // resolver that is away for a moment is what it usually means in the middle of a run.
        return (
            ErrorClass::Unreachable,
            true,
            "the host name cannot be resolved".to_owned(),
        );
    }
    let last = texts
        .last()
        .map_or_else(String::new, |text| one_line(text, 300));
    (
        ErrorClass::Unreachable,
        false,
        format!("cannot connect: {last}"),
    )
}

fn lost() -> (ErrorClass, bool, String) {
    (ErrorClass::Unreachable, true, "connection lost".to_owned())
}

fn timeout() -> (ErrorClass, bool, String) {
    (ErrorClass::TimedOut, true, "i/o timeout".to_owned())
}

fn io_cause(failed: &io::Error) -> Option<(ErrorClass, bool, String)> {
    use io::ErrorKind as Kind;
    let unreachable = |text: &str| Some((ErrorClass::Unreachable, true, text.to_owned()));
    match failed.kind() {
        Kind::ConnectionRefused => unreachable("connection refused"),
        Kind::ConnectionReset => unreachable("connection reset"),
        Kind::ConnectionAborted | Kind::BrokenPipe | Kind::NotConnected | Kind::UnexpectedEof => {
            Some(lost())
        }
        Kind::NetworkUnreachable => unreachable("network is unreachable"),
        Kind::HostUnreachable => unreachable("no route to host"),
        Kind::TimedOut => Some(timeout()),
        _ => None,
    }
}

/// One line of at most `limit` characters, with line breaks turned into blanks.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = line.char_indices().nth(limit) {
        line.truncate(cut);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation() -> Operation {
        Operation::new(
            "patch",
            "deployments/scale",
            Some("app"),
            "deployment app/api",
        )
    }

    fn status(code: u16, body: &str) -> ClusterError {
        ClusterError::from_status(
            &operation(),
            StatusCode::from_u16(code).unwrap(),
            &StatusBody::parse(body.as_bytes()),
        )
    }

    #[test]
    fn s_3_17_transient_classes_are_exactly_those_listed() {
        let rows = [
            (400, "BadRequest", ErrorClass::Invalid, false),
            (401, "Unauthorized", ErrorClass::Unauthorized, false),
            (403, "Forbidden", ErrorClass::Forbidden, false),
            (404, "NotFound", ErrorClass::NotFound, false),
            (409, "Conflict", ErrorClass::Conflict, true),
            (409, "AlreadyExists", ErrorClass::Exists, false),
            (410, "Expired", ErrorClass::Gone, false),
            (422, "Invalid", ErrorClass::Invalid, false),
            (429, "TooManyRequests", ErrorClass::Throttled, true),
            (500, "InternalError", ErrorClass::ServerError, false),
            (500, "ServerTimeout", ErrorClass::TimedOut, true),
            (502, "", ErrorClass::ServerError, false),
            (503, "ServiceUnavailable", ErrorClass::Unavailable, true),
            (504, "Timeout", ErrorClass::TimedOut, true),
        ];
        for (code, reason, class, transient) in rows {
            let error = status(code, &format!(r#"{{"reason":"{reason}","message":"m"}}"#));
            assert_eq!(error.class(), class, "{code} {reason}");
            assert_eq!(error.is_transient(), transient, "{code} {reason}");
            assert!(
                error.to_string().starts_with("deployment app/api: "),
                "{error}"
            );
        }
    }

    #[test]
    fn s_2_18_not_found_and_forbidden_name_what_the_operator_needs() {
        let missing = status(
            404,
            r#"{"reason":"NotFound","message":"deployments.apps \"api\" not found"}"#,
        );
        assert_eq!(missing.to_string(), "deployment app/api: not found");
        let namespace = status(
            404,
            r#"{"reason":"NotFound","message":"namespaces \"app\" not found"}"#,
        );
        assert_eq!(
            namespace.to_string(),
            "deployment app/api: not found (the namespace does not exist)"
        );
        let rbac = status(
            403,
            r#"{"reason":"Forbidden","message":"deployments.apps \"api\" is forbidden: User \"bob\" cannot patch resource \"deployments/scale\" in API group \"apps\" in the namespace \"app\""}"#,
        );
        assert_eq!(
            rbac.to_string(),
            "deployment app/api: forbidden: user \"bob\" may not patch deployments/scale in namespace app; ask for a Role that grants it"
        );
        let other = status(
            403,
            r#"{"reason":"Forbidden","message":"pods \"api\" is forbidden: User \"bob\" cannot get resource \"pods/exec\" in API group \"\" in the namespace \"app\""}"#,
        );
        assert_eq!(
            other.to_string(),
            "deployment app/api: forbidden: user \"bob\" may not get pods/exec in namespace app; ask for a Role that grants it"
        );
        let quota = status(
            403,
            r#"{"reason":"Forbidden","message":"exceeded quota: small"}"#,
        );
        assert_eq!(
            quota.to_string(),
            "deployment app/api: forbidden to patch deployments/scale in namespace app: exceeded quota: small"
        );
    }

    #[test]
    fn a_body_that_is_no_status_becomes_one_line() {
        let error = status(502, "<html>\n  bad\n gateway</html>\n");
        assert_eq!(
            error.to_string(),
            "deployment app/api: API server answered 502 Bad Gateway: <html> bad gateway</html>"
        );
        assert_eq!(one_line(&"ä".repeat(5), 3), "äää…");
    }

    #[test]
    fn s_3_17_connection_failures_are_transient_and_name_the_server() {
        let rows = [
            (io::ErrorKind::ConnectionRefused, "connection refused", true),
            (io::ErrorKind::ConnectionReset, "connection reset", true),
            (io::ErrorKind::UnexpectedEof, "connection lost", true),
            (io::ErrorKind::TimedOut, "i/o timeout", true),
            (
                io::ErrorKind::PermissionDenied,
                "cannot connect: permission denied",
                false,
            ),
        ];
        for (kind, text, transient) in rows {
            let cause = io::Error::from(kind);
            let error = ClusterError::from_transport(&operation(), "https://h:1", &cause);
            assert_eq!(
                error.to_string(),
                format!("deployment app/api: {text} (https://h:1)")
            );
            assert_eq!(error.is_transient(), transient, "{text}");
        }
    }

    #[test]
    fn a_certificate_problem_is_a_configuration_error() {
        let tls = rustls::Error::InvalidCertificate(rustls::CertificateError::Expired);
        let cause = io::Error::other(tls);
        let error = ClusterError::from_transport(&operation(), "https://h:1", &cause);
        assert_eq!(error.class(), ErrorClass::Config);
        assert!(!error.is_transient());
        assert!(error.to_string().contains("certificate"), "{error}");
    }
}
