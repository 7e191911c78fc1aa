//! The tests, in two lanes.

use std::fs::{self, File};

use anyhow::{Context as _, Result};
use clap::Args;

use crate::shell::{self, cargo, cluster_script, command, lane, target_dir};

/// Arguments that run the contract tests of every package that has some. The whole workspace
/// is named, as for the fast tests, so that what was built for those is not built again with
/// other features.
fn contract_args() -> Result<Vec<String>> {
    let features = shell::contract_features()?;
    let args = [
        "test",
        "--workspace",
        "--features",
        &features,
        "--test",
        "contract",
    ];
    Ok(args.map(str::to_owned).to_vec())
}

/// What to run.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Everything that takes long: all points of death, many cases, an older API as well.
    #[arg(long)]
    long: bool,
    /// Only the tests that need no cluster.
    #[arg(long)]
    fast: bool,
    /// Only the tests against a real control plane.
    #[arg(long, conflicts_with = "fast")]
    contract: bool,
    /// Only tests whose name contains this.
    filter: Option<String>,
}

/// Runs the tests; the second lane only when the first passed.
pub(crate) fn run(options: &Options) -> Result<()> {
    if !options.contract {
        lane("fast tests", || fast(options))?;
    }
    if options.long && !options.contract {
        lane("random charts against Helm", against_helm)?;
    }
    if options.fast {
        return Ok(());
    }
    // Built before, so that no cluster idles meanwhile.
    lane("building the contract tests", || {
        let mut build = cargo();
        build.args(contract_args()?).arg("--no-run");
        shell::run(&mut build)
    })?;
    lane("contract tests", || contract(options, None))?;
    if options.long {
        lane("contract tests, API of 1.34", || {
            contract(options, Some("1.34"))
        })?;
    }
    Ok(())
}

fn fast(options: &Options) -> Result<()> {
    let mut tests = cargo();
    tests.args(["test", "--workspace"]);
    tests.args(&options.filter);
    mark_long(&mut tests, options);
    shell::run(&mut tests)
}

/// Random charts per long run; a thousand take about a minute.
const RANDOM_CHARTS: &str = "2000";

/// Lets Helm's own packages render charts put together by chance, and renders them again. What differs names its seed
/// and becomes a golden once it is mended.
fn against_helm() -> Result<()> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let seed = now.as_secs().to_string();
    let rows = target_dir().join("tmp").join("random.jsonl");
    if let Some(folder) = rows.parent() {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let mut oracle = command("go");
    oracle
        .args(["run", ".", "random", &seed, RANDOM_CHARTS])
        .arg(&rows);
    oracle.env("TZ", "UTC");
    oracle.current_dir(shell::root().join("tests/oracle/render"));
    shell::run(&mut oracle)?;
    let mut tests = cargo();
    tests.args([
        "test",
        "-p",
        "kzero-chart",
        "--test",
        "it",
        "fresh_random",
        "--",
        "--ignored",
    ]);
    shell::run(&mut tests).with_context(|| format!("the seed was {seed}"))
}

fn mark_long(tests: &mut std::process::Command, options: &Options) {
    if options.long {
        tests.env("KZERO_LONG", "1");
    }
}

/// Runs the contract tests in a cluster of their own.
fn contract(options: &Options, emulate: Option<&str>) -> Result<()> {
    let dir = target_dir().join("contract-cluster");
    let lock_path = target_dir().join("contract-cluster.lock");
    let lock = File::create(&lock_path).with_context(|| lock_path.display().to_string())?;
    lock.lock()
        .with_context(|| lock_path.display().to_string())?;
    // A run that was killed may have left its cluster.
    shell::run(command(cluster_script()).arg("down").arg(&dir))?;
    let mut tests = command(cluster_script());
    tests.arg("run").arg(&dir).arg(cargo().get_program());
    tests.args(contract_args()?);
    tests.args(&options.filter);
    mark_long(&mut tests, options);
    if let Some(version) = emulate {
        tests.env("K8S_EMULATE", version);
    }
    let done = shell::run(&mut tests);
    if dir.exists() {
        shell::clean_up(command(cluster_script()).arg("down").arg(&dir));
        // What `down` does not know, such as a folder that was never a cluster's.
        let _ = fs::remove_dir(&dir);
    }
    done
}
