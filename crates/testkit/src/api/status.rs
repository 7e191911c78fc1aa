//! Refusals, in the shape that Kubernetes gives them.

use serde_json::{Value, json};

/// Why a request was refused; becomes a `Status` object.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    /// The HTTP status.
    pub(crate) code: u16,
    /// The word for programs, e.g. `NotFound`.
    pub(crate) reason: &'static str,
    /// The sentence for people.
    pub(crate) message: String,
    /// The object that was meant.
    pub(crate) details: Value,
}

/// The reason of a refusal that is told in plain text.
pub(crate) const NO_PATH: &str = "";

/// The result of everything a request may do.
pub(crate) type Outcome<T> = Result<T, Refusal>;

impl Refusal {
    /// A refusal that is not about one object.
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Refusal {
        Refusal {
            code,
            reason,
            message: message.into(),
            details: Value::Null,
        }
    }

    fn about(mut self, resource: &str, name: &str) -> Refusal {
        let (kind, group) = resource.split_once('.').unwrap_or((resource, ""));
        self.details = json!({"name": name, "kind": kind});
        if !group.is_empty() {
            self.details["group"] = group.into();
        }
        self
    }

    /// The object does not exist; `resource` is e.g. `deployments.apps`.
    pub(crate) fn not_found(resource: &str, name: &str) -> Refusal {
        Refusal::new(404, "NotFound", format!("{resource} {name:?} not found"))
            .about(resource, name)
    }

    /// The path leads nowhere. A real server says so before it knows of any API, in plain
    /// text, and so does this one.
    pub(crate) fn no_path() -> Refusal {
        Refusal::new(404, NO_PATH, "404 page not found\n")
    }

    /// The object exists already.
    pub(crate) fn exists(resource: &str, name: &str) -> Refusal {
        Refusal::new(
            409,
            "AlreadyExists",
            format!("{resource} {name:?} already exists"),
        )
        .about(resource, name)
    }

    /// The object is not in the state that the request started from.
    pub(crate) fn conflict(resource: &str, name: &str, why: &str) -> Refusal {
        Refusal::new(
            409,
            "Conflict",
            format!("Operation cannot be fulfilled on {resource} {name:?}: {why}"),
        )
        .about(resource, name)
    }

    /// The object breaks a rule of its kind.
    pub(crate) fn invalid(resource: &str, name: &str, field: &str, why: &str) -> Refusal {
        let mut refusal = Refusal::new(
            422,
            "Invalid",
            format!("{resource} {name:?} is invalid: {field}: {why}"),
        )
        .about(resource, name);
        refusal.details["causes"] =
            json!([{"reason": "FieldValueInvalid", "field": field, "message": why}]);
        refusal
    }

    /// The request makes no sense.
    pub(crate) fn bad_request(message: impl Into<String>) -> Refusal {
        Refusal::new(400, "BadRequest", message)
    }

    /// The method does not exist on this resource.
    pub(crate) fn method() -> Refusal {
        Refusal::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }

    /// A real server can do this and this one cannot.
    pub(crate) fn unsupported(what: impl std::fmt::Display) -> Refusal {
        Refusal::new(
            501,
            "NotImplemented",
            format!("the in-memory API server does not support {what}"),
        )
    }

    /// The version asked for is no longer kept.
    pub(crate) fn gone() -> Refusal {
        Refusal::new(
            410,
            "Expired",
            "The resourceVersion for the provided watch or list is too old.",
        )
    }

    /// The `Status` object.
    pub(crate) fn to_value(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        });
        if !self.details.is_null() {
            status["details"] = self.details.clone();
        }
        status
    }
}
