//! Why an operation on a release did not succeed.

use kzero_cluster::{ClusterError, ErrorClass, WaitError};

use crate::decide::Refusal;
use crate::directives::DirectiveError;
use crate::plan::PlanError;
use crate::resource::ResourceError;
use crate::storage::StorageError;

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Nothing was begun, since what is asked for cannot be: chart, values, state of the release.
    Refused,
    /// Somebody else works on the release.
    Held,
    /// The API server or the store of records refuses or does not answer.
    Cluster,
    /// It was begun and failed.
    Failed,
    /// It was asked to end.
    Interrupted,
}

/// A failed operation. Displays as Helm's text where it has one; a hint may follow on a line of its own.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{text}")]
pub struct ReleaseError {
    class: Class,
    transient: bool,
    text: String,
}

impl ReleaseError {
    /// Something that cannot be.
    #[must_use]
    pub fn refused(text: impl Into<String>) -> Self {
        Self::new(Class::Refused, text)
    }

    /// A failure of some class that trying again does not mend.
    #[must_use]
    pub fn new(class: Class, text: impl Into<String>) -> Self {
        Self {
            class,
            transient: false,
            text: text.into(),
        }
    }

    /// The same failure with words before it.
    #[must_use]
    pub fn about(mut self, before: &str) -> Self {
        self.text = format!("{before}: {}", self.text);
        self
    }

    /// The same failure with another text.
    #[must_use]
    pub fn saying(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// The same failure with a next step, unless it has one.
    #[must_use]
    pub fn hinting(mut self, hint: impl AsRef<str>) -> Self {
        if !self.text.contains("\nhint: ") {
            self.text.push_str("\nhint: ");
            self.text.push_str(hint.as_ref());
        }
        self
    }

    /// The same failure under another class.
    #[must_use]
    pub fn as_class(mut self, class: Class) -> Self {
        self.class = class;
        self
    }

    /// Says whether trying again may help.
    #[must_use]
    pub fn transient(mut self, transient: bool) -> Self {
        self.transient = transient;
        self
    }

    /// The kind of failure.
    #[must_use]
    pub fn class(&self) -> Class {
        self.class
    }

    /// Whether trying again may help.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.transient
    }
}

impl From<ClusterError> for ReleaseError {
    fn from(error: ClusterError) -> Self {
        let found = Self::new(Class::Cluster, error.to_string()).transient(error.is_transient());
        match error.class() {
            ErrorClass::Unreachable | ErrorClass::TimedOut => found.hinting(
                "`kubectl get --raw /readyz` tells whether the API server answers; then try again",
            ),
            _ => found,
        }
    }
}

impl From<WaitError> for ReleaseError {
    fn from(error: WaitError) -> Self {
        Self::new(Class::Failed, error.to_string()).transient(error.is_transient())
    }
}

impl From<StorageError> for ReleaseError {
    fn from(error: StorageError) -> Self {
        let transient = error.is_transient();
        let class = match &error {
            StorageError::Cluster(_) | StorageError::Sql(_) => Class::Cluster,
            // Another writer was faster; the next look sees what it did.
            StorageError::Exists | StorageError::Changed { .. } => Class::Held,
            _ => Class::Refused,
        };
        let found = Self::new(class, error.to_string()).transient(transient);
        match error.hint() {
            Some(hint) => found.hinting(hint),
            None => found,
        }
    }
}

impl From<ResourceError> for ReleaseError {
    fn from(error: ResourceError) -> Self {
        Self::refused(error.to_string())
    }
}

impl From<DirectiveError> for ReleaseError {
    fn from(error: DirectiveError) -> Self {
        Self::refused(error.to_string())
    }
}

impl From<PlanError> for ReleaseError {
    fn from(error: PlanError) -> Self {
        Self::refused(error.to_string())
    }
}

impl From<Refusal> for ReleaseError {
    fn from(error: Refusal) -> Self {
        Self::refused(error.to_string())
    }
}
