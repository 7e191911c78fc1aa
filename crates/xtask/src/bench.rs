//! The benchmarks.

use anyhow::{Result, bail};
use clap::Args;

use crate::shell::{self, cargo, cluster_script, command, lane, root, target_dir};

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only this benchmark, by the name of its file in `benches/`.
    name: Option<String>,
}

/// Runs the programs in `benches/` on a control plane of their own.
pub(crate) fn run(options: &Options) -> Result<()> {
    if !root().join("benches").is_dir() {
        bail!("there is no benches/ yet");
    }
    let args = |build: bool| {
        let mut args = vec!["bench", "-p", "kzero", "--features", "contract"];
        match &options.name {
            Some(name) => args.extend(["--bench", name]),
            // Not `--benches`, which would link library and binary as benchmarks once more.
            None => args.extend(["--bench", "*"]),
        }
        if build {
            args.push("--no-run");
        }
        args
    };
    lane("building the benchmarks", || {
        shell::run(cargo().args(args(true)))
    })?;
    lane("benchmarks", || {
        let dir = target_dir().join("bench-cluster");
        shell::run(command(cluster_script()).arg("down").arg(&dir))?;
        let mut bench = command(cluster_script());
        bench.arg("run").arg(&dir).arg(cargo().get_program());
        shell::run(bench.args(args(false)))
    })
}
