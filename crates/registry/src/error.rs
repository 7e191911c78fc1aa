//! What went wrong, in Helm's words.

/// Why a chart could not be found or fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no such file, repository, chart or version.
    NotFound,
    /// A server wants other credentials, or any.
    Unauthorized,
    /// A server cannot be reached, or its answer broke off.
    Unreachable,
    /// Something that was read is not what it should be: a reference, an index, a chart, a digest.
    Invalid,
    /// More was offered than is taken.
    TooLarge,
    /// Files of this machine: they cannot be read or written.
    Local,
}

/// A chart that could not be found or fetched. The text is Helm's where Helm has one, and holds
/// no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    pub(crate) fn local(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Local, message)
    }

    /// An error of the system about a path, as Go words it: `open PATH: no such file or directory`.
    pub(crate) fn path(what: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Local,
        };
        Self::new(kind, format!("{what} {}: {}", path.display(), words(error)))
    }

    /// The same error with a text and a colon before it.
    pub(crate) fn within(self, outer: impl std::fmt::Display) -> Self {
        Self {
            kind: self.kind,
            message: format!("{outer}: {}", self.message),
        }
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl From<kzero_chart::LoadError> for Error {
    fn from(error: kzero_chart::LoadError) -> Self {
        Self::invalid(error.to_string())
    }
}

pub(crate) use kzero_chart::load::words;
