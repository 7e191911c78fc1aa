//! What can go wrong with records.

use kzero_cluster::ClusterError;

use super::labels::ReservedLabel;
use super::size::TooLarge;
use super::sql::SqlError;
use crate::codec::{Undecodable, Unwritable};

/// Why records cannot be read or written. Where Helm has a text for it, it is Helm's.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// There is a revision of that number already: another writer was faster.
    #[error("release: already exists")]
    Exists,
    /// There is no such release or revision.
    #[error("release: not found")]
    NotFound,
    /// None of its revisions is deployed.
    #[error("{name:?} has no deployed releases")]
    NoDeployed {
        /// The release.
        name: String,
    },
    /// The record is not in the state in which it was read.
    #[error("{record}: changed by another writer since it was read")]
    Changed {
        /// The record in words.
        record: String,
    },
    /// The record is none.
    #[error("{record}: {why}")]
    Undecodable {
        /// The record in words.
        record: String,
        /// What is wrong with it.
        why: Undecodable,
        /// The command that deletes it; none where the record ends with the process.
        removal: Option<String>,
    },
    /// The revision cannot be written as a record.
    #[error("{record}: {why}")]
    Unwritable {
        /// The record in words.
        record: String,
        /// What is wrong with it.
        why: Unwritable,
    },
    /// The revision is larger than its store takes.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// No release can have that name.
    #[error("release name is invalid: {name}")]
    InvalidName {
        /// The name.
        name: String,
    },
    /// The user's labels have keys that are the system's.
    #[error(transparent)]
    ReservedLabel(#[from] ReservedLabel),
    /// The API server refuses or does not answer.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The database refuses or does not answer.
    #[error(transparent)]
    Sql(#[from] SqlError),
}

impl StorageError {
    /// Whether the same may succeed when it is tried again: the store did not answer, or could not at the moment.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Cluster(error) => error.is_transient(),
            Self::Sql(error) => error.is_transient(),
            _ => false,
        }
    }

    /// The next step, where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Exists => "another run made this revision at the same time; `kzero release history NAME` shows what came of it".to_owned(),
            Self::NotFound => "`kzero release list --all` shows the releases of the namespace; --namespace names another one".to_owned(),
            Self::Changed { .. } => "another program works on the release; try again once it is done".to_owned(),
            Self::InvalidName { .. } => "names are lower case letters, digits, '-' and '.', at most 53".to_owned(),
            Self::ReservedLabel(_) => "give other keys (--labels, labels:)".to_owned(),
            Self::Undecodable { removal, .. } => {
                format!("`{}` deletes the record that is none", removal.as_ref()?)
            }
            Self::Sql(_) => "check HELM_DRIVER_SQL_CONNECTION_STRING, and that the database answers".to_owned(),
            Self::NoDeployed { name } => format!("`kzero release upgrade --install {name} CHART` installs it"),
            Self::Unwritable { .. } | Self::TooLarge(_) | Self::Cluster(_) => return None,
        })
    }

    /// The command that deletes the record, where it is one that does not read.
    #[must_use]
    pub fn removal(&self) -> Option<&str> {
        match self {
            Self::Undecodable { removal, .. } => removal.as_deref(),
            _ => None,
        }
    }

    /// Puts the words for the record where only its store's error is known.
    pub(super) fn about(self, shown: impl Into<String>) -> Self {
        match self {
            Self::Changed { .. } => Self::Changed {
                record: shown.into(),
            },
            Self::Unwritable { why, .. } => Self::Unwritable {
                record: shown.into(),
                why,
            },
            other => other,
        }
    }
}
