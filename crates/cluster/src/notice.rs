//! What the operator should hear about while a call is still under way.

use std::{fmt, sync::Arc, time::Duration};

/// Receives [`Notice`]s. Called in the task that makes the request, so it must not block.
pub type Observer = Arc<dyn Fn(Notice) + Send + Sync>;

/// Something worth a line that is neither a result nor an error.
///
/// `what` and `object` are objects as errors name them (`deployment app/api`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The server asked to wait; the request is repeated after `wait` (S-2.19).
    Throttled {
        /// The object of the request.
        what: String,
        /// The time that is waited, at least what the server asked for.
        wait: Duration,
        /// The HTTP status, 429 or 503.
        status: u16,
    },
    /// A write met a newer version; it is read again and repeated (S-2.9).
    Conflict {
        /// The object written.
        what: String,
        /// Which attempt failed, from 1.
        attempt: u32,
    },
    /// The credential was fetched anew after the server had refused it.
    CredentialRefreshed,
    /// The state of a wait has changed.
    Progress {
        /// The object waited for.
        object: String,
        /// What is there and what is missing, such as `1 of 3 ready`.
        text: String,
    },
    /// The live size moved during a wait, so something else scales the object (S-2.12).
    AutoscalerMoved {
        /// The object waited for.
        object: String,
        /// The size at the beginning of the wait.
        from: i32,
        /// The size now; the wait follows it.
        to: i32,
    },
    /// A controller cannot create pods; the wait goes on (S-2.12).
    ReplicaFailure {
        /// The object waited for.
        object: String,
        /// The server's sentence.
        message: String,
    },
    /// The rollout is paused, so only ready pods are counted (S-2.11).
    RolloutPaused {
        /// The object waited for.
        object: String,
    },
    /// The server accepted a write and warns of something in it.
    ServerWarning {
        /// The object written.
        object: String,
        /// The server's sentence.
        text: String,
    },
    /// A wait lost its connection or was refused and goes on.
    WaitInterrupted {
        /// The object waited for.
        object: String,
        /// Why.
        reason: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Throttled { what, wait, status } => write!(
                f,
                "{what}: API server answered {status}, waiting {}s as it asks",
                wait.as_secs_f64()
            ),
            Self::Conflict { what, attempt } => {
                write!(
                    f,
                    "{what}: changed in between, reading it again (attempt {attempt})"
                )
            }
            Self::CredentialRefreshed => {
                f.write_str("the API server refused the credential, fetched a new one")
            }
            Self::Progress { object, text } => write!(f, "{object}: {text}"),
            Self::AutoscalerMoved { object, from, to } => write!(
                f,
                "{object}: size moved from {from} to {to} while waiting, following it (an autoscaler?)"
            ),
            Self::ReplicaFailure { object, message } => {
                write!(f, "{object}: cannot create pods: {message}")
            }
            Self::RolloutPaused { object } => write!(
                f,
                "{object}: its rollout is paused, counting ready pods of any revision"
            ),
            Self::ServerWarning { object, text } => {
                write!(f, "{object}: the API server warns: {text}")
            }
            Self::WaitInterrupted { object, reason } => {
                write!(f, "{object}: still waiting after an interruption: {reason}")
            }
        }
    }
}
