//! Test support for kzero; never part of the program.
//!
//! - [`MiniApi`]: an API server in memory, for tests without a cluster.
//! - [`Kzero`]: runs the real program in a clean room and holds what it said.
//!
//! Everything here fails loudly: a test that cannot be set up must not pass.
#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests stop at the first surprise, and drive processes and clocks themselves"
)]

mod api;
mod json;
mod kubeconfig;
mod kzero;
pub mod objects;
mod process;

pub use api::{ApiBody, Kind, LoggedRequest, MiniApi, MiniApiService};
pub use kzero::{Kzero, Line, Outcome, Running, normalize};
pub use process::{Fifo, Gate, Process, processes_with_env};
pub use rustix::process::Signal;
