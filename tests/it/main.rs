//! The fast lane: the real binary against an API server in memory.

mod analyze;
mod chart;
mod chart_registry;
mod chart_tools;
mod cli;
mod hooks;
mod lock;
mod masking;
mod memory;
mod notify;
mod pipeline;
mod profile;
mod regression;
mod release;
mod release_cli;
mod resume;
mod signals;
mod status;
mod steps;

use std::time::Duration;

use kzero_testkit::Kzero;

/// The binary in a folder of its own.
fn kzero() -> Kzero {
    Kzero::new(env!("CARGO_BIN_EXE_kzero"))
}

/// A profile whose `run` section is live; `rest` follows.
fn live(rest: &str) -> String {
    format!("schema_version: \"1.0\"\nrun: {{mode: live}}\n{rest}")
}

/// A profile whose `run` section is dry-run; `rest` follows.
fn dry(rest: &str) -> String {
    format!("schema_version: \"1.0\"\nrun: {{mode: dry-run}}\n{rest}")
}

/// Waits for a process whose streams nobody reads: it has to end all the same.
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
fn ended(child: &mut std::process::Child, limit: Duration) -> std::process::ExitStatus {
    let begin = std::time::Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begin.elapsed() > limit {
            child.kill().unwrap();
            panic!("kzero waits for its reader");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
