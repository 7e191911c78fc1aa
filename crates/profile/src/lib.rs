//! Profiles: YAML text into typed data with exact places.
//!
//! Duty: find and read a profile or a chart manifest, refuse what is wrong with file, line, column and a correct form,
//! and hand out typed values with defaults, environment and flags applied. Pure apart from reading files: no cluster, no
//! network, no clock. It knows the shapes of step options from tables handed in ([`KindSpec`]) and nothing of what the
//! kinds do.
//!
//! - [`load`] and [`parse`] make a [`Profile`]; [`manifest::load`] a chart manifest; [`kubernetes::load_documents`]
//!   reads objects for the API server.
//! - [`duration`] reads and prints durations in Go's form; [`slug`] makes names.
//! - [`schema::json_schema`] describes profiles to editors, out of the same tables.

mod diagnostic;
pub use kzero_duration as duration;
mod keys;
mod kinds;
pub mod kubernetes;
mod load;
pub mod manifest;
mod model;
mod names;
mod node;
mod number;
mod read;
pub mod schema;
mod step;

pub use diagnostic::{Diagnostic, LoadError, Located, MAX_SHOWN, Position, Severity, Source};
pub use kinds::{COMMON_OPTIONS, KindSpec, NameRule, OptionPhases, OptionSpec, Required, Shape};
pub use load::{LoadRequest, Overrides, load, parse};
pub use model::{
    ChatChannel, ClusterLabels, ColorMode, Commands, Execution, Helm, Hooks, InfraProbe, Notify,
    NotifyProblem, Override, PagerDuty, Phase, Pipelines, ProbeCheck, ProbeGate, Profile, Registry,
    Retry, RetryScope, Run, RunMode, Secret, StatePlace, Verify, VerifyCheck, VerifyFormat,
    Watchdog, Webhook,
};
pub use names::slug;
pub use node::{MAX_DEPTH, MAX_FILE_BYTES, MAX_NODES};
pub use step::{OptionValue, StepBody, StepOptions, StepRef, StepSpec};

/// The sample profile: complete, commented, a dry-run, and without a warning (S-1.23).
pub const SAMPLE: &str = include_str!("../../../configs/kzero.sample.yml");
