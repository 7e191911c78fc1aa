//! The journal of a run: what it set out to do, and which hooks and steps began and ended (S-11.20 to S-11.30).
//!
//! A file of JSON lines for each live run. A line is on the disk before the effect that it announces begins, and after one
//! that it reports has ended; so whatever kills a run, its journal says what may be half done. It holds names and hashes, no
//! values.

mod file;
mod fingerprint;
mod read;

pub use file::{Journal, KEPT};
pub use fingerprint::{Fingerprint, Part};
pub use read::{JournalError, Outcome, Past, journals, newest, read};

use serde::{Deserialize, Serialize};

/// The form of journals that this version writes, and the newest that it reads.
pub const FORMAT: u32 = 1;

/// The first line of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub format: u32,
    /// The version of kzero that wrote it.
    pub kzero: String,
    /// Id of the run.
    pub run: String,
    /// `down`, `up` or `reset`.
    pub command: String,
    /// Absolute path of the profile.
    pub profile: String,
    /// Who ran it, and where.
    pub by: String,
    /// When it began.
    pub at: String,
    /// The run that this one goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<String>,
    /// The cluster.
    pub cluster: ClusterId,
    /// What the run depends on.
    pub fingerprint: Fingerprint,
    /// The steps to be run, in order.
    pub plan: Vec<Planned>,
    /// What runs before this one had finished, of those it goes on with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finished: Vec<Finished>,
}

/// Which cluster a run acted on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterId {
    /// Address of the API server.
    pub server: String,
    /// The uid of its namespace `kube-system`, if that could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

impl ClusterId {
    /// Whether two are the same cluster: by uid where both have one, else by address.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        match (&self.uid, &other.uid) {
            (Some(one), Some(other)) => one == other,
            _ => self.server == other.server,
        }
    }
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// `down[0]`.
    pub item: String,
    /// The reference, or `custom: PATH`.
    pub label: String,
}

/// A hook or step that ended well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// `hook pre-down` or `down[0]`.
    pub item: String,
    /// The run that finished it.
    pub run: String,
}

/// A line after the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line {
    /// Something is about to begin.
    Begin {
        /// When.
        at: String,
        /// `hook pre-down`, `hook pipeline-down-0-pre` or `down[0]`.
        item: String,
        /// Which try of a step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<u32>,
    },
    /// Something has ended.
    End {
        /// When.
        at: String,
        /// The same; `run` is the run.
        item: String,
        /// Whether it ended well.
        ok: bool,
    },
}

/// The item that stands for the whole run.
const RUN: &str = "run";

/// The item of a phase hook.
#[must_use]
pub fn hook_item(name: &str) -> String {
    format!("hook {name}")
}
