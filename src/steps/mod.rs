//! The kinds of steps: one file and one row of [`KINDS`] each.

mod context;
mod cronjob;
mod custom;
mod error;
mod exec;
mod job;
mod kind;
mod pvc;
mod release;
mod workload;

pub use context::{ClusterDoor, Settings, StepContext};
pub use custom::CustomAction;
pub(crate) use custom::script_program;
pub use error::StepError;
pub use kind::{Action, BuildContext, Execution, Kind, NeededFile, Releases, Subject, View};
pub use release::{Forecast, ForecastContext};

use kzero_profile::KindSpec;

/// Every kind that a reference may name, in the order of S-2.1.
pub static KINDS: [Kind; 7] = [
    workload::DEPLOYMENT,
    workload::STATEFULSET,
    release::KIND,
    pvc::KIND,
    exec::KIND,
    job::KIND,
    cronjob::KIND,
];

/// The shapes of all kinds, for the profile loader and the JSON schema.
pub fn kind_specs() -> Vec<KindSpec> {
    KINDS.iter().map(|kind| kind.spec).collect()
}

/// The row of a kind.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.spec.name == name)
}
