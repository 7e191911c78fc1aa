//! Whether an object is ready, as pure functions of the object.
//!
//! Nothing here asks the cluster or the clock. Counts that are absent are 0 (S-2.11).

mod deployment;
mod generic;
mod job;
mod object;
mod statefulset;
mod workload;

use jiff::Timestamp;

pub use job::JobOutcome;
pub(crate) use job::outcome as job_outcome;
pub use object::{Judgement, has_rule, is_custom, is_unused_claim, judge};

/// What a failure must be younger than to count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marker {
    /// The server's clock when the size was set.
    pub(crate) after: Option<Timestamp>,
}

/// How far a rollout is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is as wanted.
    Ready,
    /// Not yet.
    Progressing,
    /// It has failed; the sentence says why.
    Failed(String),
}

/// The state of a workload's rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// The judgement (S-2.11).
    pub verdict: Verdict,
    /// Ready pods.
    pub ready: i32,
    /// The live size.
    pub wanted: i32,
    /// The state in a few words, such as `1 of 3 ready`.
    pub text: String,
    /// Whether the rollout is paused, so that only ready pods were counted.
    pub paused: bool,
    /// Why the controller cannot create pods, if it says so.
    pub replica_failure: Option<String>,
}

/// Judges a workload.
pub(crate) trait Assess {
    fn assess(&self, marker: Marker) -> Rollout;
}

/// The counts a verdict is made of.
struct Counts {
    generation: i64,
    observed: i64,
    wanted: i32,
    ready: i32,
    updated: i32,
    /// How many pods have to be of the new revision.
    updated_wanted: i32,
}

impl Counts {
    fn verdict(&self) -> Verdict {
        let reached = self.observed >= self.generation
            && self.ready >= self.wanted
            && self.updated >= self.updated_wanted;
        if reached {
            Verdict::Ready
        } else {
            Verdict::Progressing
        }
    }

    fn text(&self) -> String {
        if self.observed < self.generation {
            return "the controller has not seen the change".to_owned();
        }
        let mut text = format!("{} of {} ready", self.ready, self.wanted);
        if self.updated < self.updated_wanted {
            text.push_str(&format!(
                ", {} of {} updated",
                self.updated, self.updated_wanted
            ));
        }
        text
    }
}
