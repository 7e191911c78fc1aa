//! Why a step failed.

use std::fmt;

use kzero_cluster::{ClusterError, ErrorClass, WaitError};

use crate::script::{ScriptError, ScriptErrorKind};
use crate::state::store::StoreError;
use crate::stop::StopReason;

/// A failed script, main action or wait of a step.
#[derive(Debug, Clone)]
pub struct StepError {
    /// One sentence; a hint may follow on a line of its own.
    pub text: String,
    /// Whether another attempt may help (S-3.17).
    pub transient: bool,
    /// Whether it ended because a stop was asked for; then it is never repeated.
    pub stopped: bool,
}

impl StepError {
    /// A failure that repeating does not mend.
    pub fn permanent(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            transient: false,
            stopped: false,
        }
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for StepError {}

impl From<ClusterError> for StepError {
    fn from(error: ClusterError) -> Self {
        Self {
            text: error.to_string(),
            transient: error.is_transient(),
            stopped: false,
        }
    }
}

impl From<StoreError> for StepError {
    fn from(error: StoreError) -> Self {
        Self {
            text: error.text,
            transient: error.transient,
            stopped: false,
        }
    }
}

/// Why an exchange with a decision in its middle failed: the API's refusal, or the decision's own error.
#[derive(Debug)]
pub(super) enum Exchange {
    /// The API's.
    Cluster(ClusterError),
    /// The decision's.
    Step(StepError),
}

impl Exchange {
    /// Whether the object is not there.
    pub(super) fn is_absence(&self) -> bool {
        matches!(self, Self::Cluster(error) if error.class() == ErrorClass::NotFound)
    }
}

impl From<ClusterError> for Exchange {
    fn from(error: ClusterError) -> Self {
        Self::Cluster(error)
    }
}

impl From<StepError> for Exchange {
    fn from(error: StepError) -> Self {
        Self::Step(error)
    }
}

impl From<Exchange> for StepError {
    fn from(error: Exchange) -> Self {
        match error {
            Exchange::Cluster(error) => error.into(),
            Exchange::Step(error) => error,
        }
    }
}

impl From<WaitError> for StepError {
    fn from(error: WaitError) -> Self {
        let transient = match &error {
            WaitError::Failed(_) => false,
            WaitError::TimedOut { .. } => true,
            WaitError::Cluster(error) => error.is_transient(),
        };
        Self {
            text: error.to_string(),
            transient,
            stopped: false,
        }
    }
}

impl From<ScriptError> for StepError {
    fn from(error: ScriptError) -> Self {
        let stopped = error.kind == ScriptErrorKind::Stopped;
        Self {
            text: error.text,
            transient: error.transient && !stopped,
            stopped,
        }
    }
}

impl From<StopReason> for StepError {
    fn from(reason: StopReason) -> Self {
        let text = match reason {
            StopReason::Signal(_) => "interrupted (signal received)".to_owned(),
            other => format!("interrupted: {other}"),
        };
        Self {
            text,
            transient: false,
            stopped: true,
        }
    }
}
