//! The slow lane: the real binary against a real control plane (tests/cluster).
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::expect_used, reason = "a test stops at the first surprise")]

mod chart;
mod examples;
mod faults;
mod memory;
mod night;
mod operators;
mod release_cli;
mod release_test;
mod releases;
mod signals;
mod steps;
mod workloads;

use std::time::{Duration, Instant};

use kzero_testkit::{ControlPlane, FaultProxy, Kzero, Namespace, Outcome};

/// How long the cluster may take for something that it does at once when it is idle.
const SOON: Duration = Duration::from_secs(60);

/// The binary in a folder of its own.
fn bare() -> Kzero {
    Kzero::new(env!("CARGO_BIN_EXE_kzero")).limit(Duration::from_secs(120))
}

/// The binary with all rights. What it keeps in the cluster goes to the test's own namespace.
fn kzero(plane: &ControlPlane, space: &Namespace<'_>) -> Kzero {
    let kzero = bare();
    let path = plane.kubeconfig_for(kzero.dir(), space.name());
    kzero.kubeconfig(path)
}

/// The same through a proxy.
fn through(proxy: &FaultProxy, space: &Namespace<'_>) -> Kzero {
    let kzero = bare();
    let path = proxy.kubeconfig_for(kzero.dir(), space.name());
    kzero.kubeconfig(path)
}

/// The binary with the rights of the group `restricted`.
fn restricted(plane: &ControlPlane, space: &Namespace<'_>) -> Kzero {
    let text = std::fs::read_to_string(plane.restricted_kubeconfig()).unwrap();
    let own = format!("context: {{namespace: {space}, cluster");
    assert!(text.contains("context: {cluster"), "{text}");
    let place = bare().file(
        "restricted.kubeconfig",
        &text.replace("context: {cluster", &own),
    );
    let path = place.path("restricted.kubeconfig");
    place.kubeconfig(path)
}

/// A profile whose `run` section is live; `rest` follows, `NS` in it is the test's namespace.
fn live(space: &Namespace<'_>, rest: &str) -> String {
    let rest = rest.replace("NS", space.name());
    format!("schema_version: \"1.0\"\nrun: {{mode: live}}\n{rest}")
}

/// The lines of stdout of some level that hold a text.
fn said(outcome: &Outcome, level: &str, text: &str) -> usize {
    let lines = outcome.stdout_lines();
    let hits = lines
        .iter()
        .filter(|line| line.level == level && line.text.contains(text));
    hits.count()
}

/// Waits for what counters of the test show; looks again every few milliseconds.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let (_sender, never) = std::sync::mpsc::channel::<()>();
    let end = Instant::now() + SOON;
    while !done() {
        assert!(Instant::now() < end, "never: {what}");
        let _ = never.recv_timeout(Duration::from_millis(10));
    }
}

/// Whether everything that takes long is asked for.
fn is_long() -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "the test program itself is told by its environment how much to do"
    )]
    std::env::var_os("KZERO_LONG").is_some_and(|value| value == "1")
}
