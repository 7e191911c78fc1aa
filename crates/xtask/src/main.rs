//! Development tasks of kzero: `cargo xtask --help`.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool for developers: it starts programs and talks to a terminal"
)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod demo;
mod dist;
mod generate;
mod lint;
mod shell;
mod test;

/// Development tasks of kzero.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run the tests: the fast ones, then those against a real control plane.
    Test(test::Options),
    /// Check form: rustfmt, clippy, shellcheck, banned and unlicensed packages.
    Lint,
    /// Write the generated files.
    Gen(generate::Options),
    /// Show kzero at work on a cluster that is thrown away afterwards.
    Demo(demo::Options),
    /// Run the benchmarks on a control plane of their own.
    Bench(bench::Options),
    /// Build the static release binary.
    Dist,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    shell::catch_signals();
    let done = match &cli.task {
        Task::Test(options) => test::run(options),
        Task::Lint => lint::run(),
        Task::Gen(options) => generate::run(options),
        Task::Demo(options) => demo::run(options),
        Task::Bench(options) => bench::run(options),
        Task::Dist => dist::run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("xtask: {err:#}");
            ExitCode::FAILURE
        }
    }
}
