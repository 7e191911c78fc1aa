//! `kzero chart template` against `helm template`, whole processes, on charts of three sizes: wall time and memory as
//! ratios, runs alternating. No cluster is asked.
//!
//! Machines are noisy, so nothing here passes or fails: medians are printed beside the targets.
//! `KZERO_BENCH_HELM` names the peer (default: `helm` on PATH), `KZERO_BENCH_ROUNDS` the rounds (default 15), and
//! `KZERO_BENCH_CHART` one chart more, such as a public one.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark drives processes and prints what it saw"
)]

#[path = "../crates/chart/benches/charts/mod.rs"]
mod charts;
mod measure;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use measure::{measure, median, peer, ratio, rounds};

fn main() {
    if measure::is_measurer() {
        return;
    }
    let kzero = PathBuf::from(env!("CARGO_BIN_EXE_kzero"));
    let helm = peer("KZERO_BENCH_HELM", "helm");
    let folder = tempfile::tempdir().unwrap();
    println!("charts, medians (targets: wall <= 1/10 of helm's, memory <= 1/3)");
    let start = figures(&mut [command(&kzero, &["version"])]);
    println!("  {:<10} kzero {}", "start-up", shown(start[0]));
    for size in charts::SIZES {
        let path = charts::write(folder.path(), size);
        compare(size.name, &path, &kzero, helm.as_deref());
    }
    if let Some(path) = std::env::var_os("KZERO_BENCH_CHART") {
        compare("given", Path::new(&path), &kzero, helm.as_deref());
    }
}

fn command(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env("KUBECONFIG", "/none");
    command
}

/// Median wall time and memory of each command.
fn figures(commands: &mut [Command]) -> Vec<(Duration, u64)> {
    let mut seen: Vec<(Vec<Duration>, Vec<u64>)> = vec![Default::default(); commands.len()];
    for round in 0..=rounds(15) {
        for (command, seen) in commands.iter().zip(&mut seen) {
            let (wall, memory) = measure(command);
            // The first round only warms the caches.
            if round > 0 {
                seen.0.push(wall);
                seen.1.push(memory);
            }
        }
    }
    seen.iter_mut()
        .map(|(wall, memory)| (median(wall), median(memory)))
        .collect()
}

fn shown((wall, memory): (Duration, u64)) -> String {
    format!(
        "{:>7.1} ms {:>6.1} MiB",
        wall.as_secs_f64() * 1e3,
        ratio(memory, 1024)
    )
}

fn compare(name: &str, chart: &Path, kzero: &Path, helm: Option<&Path>) {
    let path = chart.to_string_lossy();
    let version = ["--kube-version", "1.33.0"];
    let mut commands = vec![command(kzero, &["chart", "template", "bench", &path])];
    commands.extend(helm.map(|helm| command(helm, &["template", "bench", &path])));
    for command in &mut commands {
        command.args(version);
    }
    let found = figures(&mut commands);
    let mut line = format!("  {name:<10} kzero {}", shown(found[0]));
    if let [own, other] = found[..] {
        line.push_str(&format!(
            "   helm {}   1/{:.1} of its wall, 1/{:.1} of its memory",
            shown(other),
            other.0.as_secs_f64() / own.0.as_secs_f64(),
            ratio(other.1, own.1)
        ));
    }
    println!("{line}");
}
