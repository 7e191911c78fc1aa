//! Test support for kzero; never part of the program.
//!
//! - [`MiniApi`]: an API server in memory, for tests without a cluster.
//! - [`ControlPlane`]: the real control plane of `tests/cluster`, for contract tests.
//! - [`FaultProxy`]: stands before any API server and does it wrong, by rules.
//! - [`objects`]: objects for both, as short as they can be.
//! - [`BareClient`]: a client that does nothing but send.
//! - [`Kzero`]: runs the real program in a clean room and holds what it said.
//!
//! Everything here fails loudly: a test that cannot be set up must not pass.
#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests stop at the first surprise, and drive processes and clocks themselves"
)]

mod api;
mod client;
mod control_plane;
mod json;
mod kubeconfig;
mod kzero;
pub mod objects;
mod process;
mod proxy;

pub use api::{ApiBody, Kind, LoggedRequest, MiniApi, MiniApiService};
pub use client::BareClient;
pub use control_plane::{ControlPlane, Namespace};
pub use kzero::{Kzero, Line, Outcome, Running, normalize};
pub use process::{Fifo, Gate, Process, processes_with_env};
pub use proxy::{Fault, FaultProxy, ProxiedRequest, Rule, RuleCount};
pub use rustix::process::Signal;
