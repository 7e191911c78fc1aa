//! The calls of this crate against a real control plane with simulated nodes.
//!
//! `KUBECONFIG` names it; tests/cluster/cluster.sh at the top of the repository starts one.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests stop at the first surprise"
)]

mod jobs;
mod looks;
mod support;
mod trust;
mod workloads;
