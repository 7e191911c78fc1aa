//! What benchmarks of whole processes share.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A program to compare with: named by a variable, or on PATH. An absent one is said.
pub(crate) fn peer(variable: &str, name: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map_or_else(|| PathBuf::from(name), PathBuf::from);
    let runs = Command::new(&path)
        .arg("help")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok();
    if !runs {
        println!("{name} is not there: its comparisons are left out (set {variable})");
    }
    runs.then_some(path)
}

/// Runs and measures the command of a measurer, if this process is one.
pub(crate) fn is_measurer() -> bool {
    let arguments: Vec<String> = std::env::args().collect();
    let is = arguments
        .get(1)
        .is_some_and(|argument| argument == "--measure");
    if is {
        measure_child(&arguments[2..]);
    }
    is
}

/// Wall time and largest resident set of one command, seen from a process of its own so that
/// the kernel's figure for children is that of this command alone.
pub(crate) fn measure(command: &Command) -> (Duration, u64) {
    let mut measurer = Command::new(std::env::current_exe().unwrap());
    measurer
        .arg("--measure")
        .arg(command.get_program())
        .args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        measurer.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        measurer.env(name, value.unwrap_or_default());
    }
    let output = measurer.stderr(Stdio::inherit()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut fields = text
        .split_whitespace()
        .map(|field| field.parse::<u64>().unwrap());
    let mut next = || fields.next().unwrap();
    (Duration::from_nanos(next()), next())
}

fn measure_child(arguments: &[String]) {
    let begin = Instant::now();
    let status = Command::new(&arguments[0])
        .args(&arguments[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let wall = begin.elapsed();
    assert!(status.success(), "{arguments:?}: {status}");
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN);
    println!("{} {}", wall.as_nanos(), usage.unwrap().max_rss());
}

/// The one in the middle.
pub(crate) fn median<T: Copy + Ord>(values: &mut [T]) -> T {
    values.sort_unstable();
    values[values.len() / 2]
}

/// How often each command is run.
pub(crate) fn rounds(default: usize) -> usize {
    std::env::var("KZERO_BENCH_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// How many times as much.
#[expect(clippy::cast_precision_loss, reason = "for people to read")]
pub(crate) fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}
