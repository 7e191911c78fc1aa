//! The calls of this crate against a real control plane with simulated nodes.
//!
//! `KUBECONFIG` names it; tests/cluster/cluster.sh at the top of the repository starts one.

mod jobs;
mod looks;
mod support;
mod workloads;
