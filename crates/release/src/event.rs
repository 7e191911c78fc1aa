//! What happens during an operation, for whoever shows it.

use std::time::Duration;

use crate::plan::Purpose;

/// Something worth telling while an operation is under way. More kinds may come.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A revision is begun.
    Started {
        /// What is done.
        purpose: Purpose,
        /// The number of the revision.
        revision: i64,
        /// How many objects are deployed or deleted.
        objects: usize,
        /// How many of them change.
        changes: usize,
    },
    /// Something is not as it may be meant.
    Warning(String),
    /// Something good to know.
    Info(String),
    /// An operation of the plan begins, such as `create ConfigMap app/settings`.
    Began {
        /// What it does.
        what: String,
    },
    /// An operation of the plan has ended well.
    Done {
        /// What it did.
        what: String,
        /// How long it took.
        elapsed: Duration,
    },
    /// An operation of the plan has failed.
    Failed {
        /// What it was to do.
        what: String,
        /// Why it failed.
        error: String,
    },
    /// The state of something that is waited for has changed.
    Progress {
        /// The object.
        object: String,
        /// What is there and what is missing.
        text: String,
    },
    /// A line of a container's log.
    Log {
        /// The pod, as `namespace/name`.
        pod: String,
        /// The container.
        container: String,
        /// The line.
        line: String,
    },
    /// Why something does not get ready, line by line, told before the error.
    Cause {
        /// The object.
        object: String,
        /// The lines.
        lines: Vec<String>,
    },
}

/// Takes events. Called in the task of the operation, so it must not block.
pub type Listener<'a> = dyn Fn(Event) + 'a;
