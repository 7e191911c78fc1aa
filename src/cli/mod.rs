//! Flags and commands: parse, dispatch, exit code.

mod analyze;
mod app;
mod args;
mod chart;
mod init;
mod needs;
mod notify;
mod release;
mod remember;
mod run;
mod select;
mod status;
mod target;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::environment::Environment;
use crate::event::Level;
use crate::exit::Failure;
use crate::report::{Fields, Kind, Output, Record};
use app::App;
use args::{Cli, Command, Shell};

/// The sample profile.
const SAMPLE: &str = include_str!("../../configs/kzero.sample.yml");

/// Runs the program with these arguments, the first being its own name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let mut environment = Environment::capture();
    let name = program_name(&arguments, &environment);
    let command = Cli::command().bin_name(name.clone());
    let parse = |command: clap::Command| {
        command
            .try_get_matches_from(&arguments)
            .and_then(|matches| Cli::from_arg_matches(&matches))
    };
    // What is wrong is told by the plain command, whose help is shorter.
    let as_in_helm = command
        .clone()
        .mut_subcommand("chart", chart::as_in_helm)
        .mut_subcommand("release", chart::as_in_helm);
    let cli = match parse(as_in_helm).or_else(|_| parse(command)) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, &arguments),
    };
    if let Some(folder) = &cli.global.chdir {
        // S-1.2: before anything else is resolved. The process moves too, so that what
        // kzero starts and reads sees the same directory.
        let path = environment.absolute(folder);
        let moved = std::env::set_current_dir(&path).and_then(|()| std::env::current_dir());
        match moved {
            Ok(path) => environment.directory = path,
            Err(error) => {
                let text = format!("cannot change to directory {}: {error}", path.display());
                return usage_failure(&Failure::Config(text));
            }
        }
    }
    start_tracing(&environment);
    dispatch(cli, environment, &name)
}

fn dispatch(cli: Cli, environment: Environment, name: &str) -> ExitCode {
    let output = app::output(&cli);
    let code = execute(cli, environment, name, output.clone());
    // A result that did not arrive is none: half a profile of `init`, say.
    match output.lost() {
        Some(error) => {
            let text = format!("cannot write to standard output: {error}");
            final_error(&Failure::Config(text), &output);
            ExitCode::from(1)
        }
        None => code,
    }
}

fn execute(cli: Cli, mut environment: Environment, name: &str, output: Output) -> ExitCode {
    if cli.global.print_sample_config {
        output.result(SAMPLE);
        return ExitCode::SUCCESS;
    }
    if cli.version {
        output.result(&format!("{}\n", env!("CARGO_PKG_VERSION")));
        return ExitCode::SUCCESS;
    }
    let Some(command) = cli.command.clone() else {
        let help = Cli::command().bin_name(name.to_owned()).render_help();
        output.result(&help.to_string());
        return ExitCode::SUCCESS;
    };
    match command {
        Command::Version => {
            output.result(&version_text(name));
            ExitCode::SUCCESS
        }
        Command::Completion { shell } => {
            output.result(&completion(shell, name));
            ExitCode::SUCCESS
        }
        Command::Schema => {
            let schema = kzero_profile::schema::json_schema(&crate::steps::kind_specs());
            output.result(&format!("{schema:#}\n"));
            ExitCode::SUCCESS
        }
        Command::Target(arguments) => {
            target::run(&App::new(cli.global, environment, output), &arguments)
        }
        Command::Status(arguments) => finish(
            status::run(
                &App::new(cli.global, environment, output.clone()),
                &arguments,
            ),
            &output,
        ),
        Command::Remember(arguments) => finish(
            remember::remember(
                &App::new(cli.global, environment, output.clone()),
                &arguments,
            ),
            &output,
        ),
        Command::Forget(arguments) => finish(
            remember::forget(
                &App::new(cli.global, environment, output.clone()),
                &arguments,
            ),
            &output,
        ),
        Command::Analyze(arguments) => {
            analyze::run(&App::new(cli.global, environment, output), &arguments)
        }
        Command::Init(arguments) => finish(
            init::run(
                &App::new(cli.global, environment, output.clone()),
                &arguments,
            ),
            &output,
        ),
        Command::Down(arguments) => run::run(
            &App::new(cli.global, environment, output),
            &arguments,
            &run::Asked::Run(run::Which::Down),
        ),
        Command::Up(arguments) => run::run(
            &App::new(cli.global, environment, output),
            &arguments,
            &run::Asked::Run(run::Which::Up),
        ),
        Command::Resume(arguments) => run::run(
            &App::new(cli.global, environment, output),
            &args::RunArgs::from(&arguments),
            &run::Asked::Resume(arguments.run),
        ),
        Command::Notify {
            command: args::NotifyCommand::Test(arguments),
        } => notify::test(&App::new(cli.global, environment, output), &arguments),
        Command::Chart { files, command } => {
            files.apply(&mut environment);
            let global = with_helm_context(cli.global, &environment);
            chart::run(&App::new(global, environment, output), &command)
        }
        Command::Release {
            files,
            common,
            command,
        } => {
            files.apply(&mut environment);
            let global = with_helm_context(cli.global, &environment);
            release::run(&App::new(global, environment, output), &common, &command)
        }
        Command::Reset(arguments) => {
            let arguments = args::RunArgs::from(arguments);
            run::run(
                &App::new(cli.global, environment, output),
                &arguments,
                &run::Asked::Run(run::Which::Reset),
            )
        }
    }
}

/// The flags with the context that Helm's variable names, unless a flag does.
fn with_helm_context(mut global: args::Global, environment: &Environment) -> args::Global {
    if global.context.is_none() {
        global.context = environment.text("HELM_KUBECONTEXT");
    }
    global
}

/// Ends a command that has no summary line.
fn finish(result: Result<(), Failure>, output: &Output) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            final_error(&failure, output);
            failure.exit_code()
        }
    }
}

/// The final error: a bare line after everything else (S-6.1).
fn final_error(failure: &Failure, output: &Output) {
    let mut record = Record::bare(Level::Error, Kind::Error, failure.text());
    record.fields = Fields {
        error: Some(failure.text().to_owned()),
        ..Fields::default()
    };
    if let Failure::Aborted {
        failed_step: Some(step),
        ..
    } = failure
    {
        record
            .fields
            .more
            .push(("failed_step", step.clone().into()));
    }
    output.write(&record);
}

/// An error before the flags are known.
fn usage_failure(failure: &Failure) -> ExitCode {
    final_error(failure, &app::plain_output());
    failure.exit_code()
}

/// What clap has to say: help and version end with 0, usage errors with 1 (S-6.2).
fn usage(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    use clap::error::ErrorKind;
    // The flags could not be read, but whether lines are to be JSON can be seen (S-7.7).
    let json = arguments
        .iter()
        .any(|argument| argument == "--log-format=json")
        || arguments
            .windows(2)
            .any(|pair| pair[0] == "--log-format" && pair[1] == "json");
    let output = app::plain_output_as(json);
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            output.result(&error.to_string());
            ExitCode::SUCCESS
        }
        _ => {
            let text = error.to_string();
            output.write(&Record::bare(Level::Error, Kind::Error, text.trim_end()));
            ExitCode::from(1)
        }
    }
}

/// The program's own name as called (S-6.32, S-6.34).
fn program_name(arguments: &[OsString], environment: &Environment) -> String {
    const PLUGIN: &str = "kubectl-kzero";
    let forced = environment
        .text("KZERO_FORCE_KUBECTL_PLUGIN")
        .unwrap_or_default();
    if ["1", "true", "yes"].contains(&forced.to_ascii_lowercase().as_str()) {
        return PLUGIN.to_owned();
    }
    let called = arguments
        .first()
        .and_then(|name| Path::new(name).file_name()?.to_str());
    let called = called.unwrap_or("kzero");
    called.strip_suffix(".exe").unwrap_or(called).to_owned()
}

fn version_text(name: &str) -> String {
    let known = |value: Option<&'static str>| value.filter(|v| !v.is_empty()).unwrap_or("unknown");
    format!(
        "{name} {}\ncommit {}\nbuild {}\nbranch {}\n",
        env!("CARGO_PKG_VERSION"),
        known(option_env!("KZERO_COMMIT")),
        known(option_env!("KZERO_BUILD_DATE")),
        known(option_env!("KZERO_BRANCH")),
    )
}

fn completion(shell: Shell, name: &str) -> String {
    let mut command = Cli::command();
    let mut script = Vec::new();
    clap_complete::generate(shell.generator(), &mut command, name, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Traces for developers, on stderr, only when `KZERO_TRACE` asks for them.
fn start_tracing(environment: &Environment) {
    if let Some(filter) = environment.text("KZERO_TRACE") {
        let filter = tracing_subscriber::EnvFilter::new(filter);
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .with_ansi(false)
            .finish();
        // It can only be set once, which is here.
        let _ = tracing::subscriber::set_global_default(subscriber);
    }
}
