//! What may be typed. Help texts live here.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::event::Level;
use crate::notify::EventName;

/// Park and wake Kubernetes environments by ordered pipelines.
///
/// A profile (kzero.yaml) lists the steps of `down` and `up`; they run strictly one after
/// another. Read `kzero analyze` before the first live run.
#[derive(Debug, Clone, Parser)]
#[command(
    disable_version_flag = true,
    max_term_width = 100,
    subcommand_precedence_over_arg = true
)]
pub(super) struct Cli {
    /// Flags of every command.
    #[command(flatten)]
    pub(super) global: Global,
    /// Print the version.
    #[arg(short = 'v', short_alias = 'V', long)]
    pub(super) version: bool,
    /// What to do.
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

/// Flags before or after the command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(super) struct Global {
    /// Profile [default: kzero.yaml].
    #[arg(short, long, global = true, value_name = "PATH")]
    pub(super) config: Option<PathBuf>,
    /// Change to this directory before anything else.
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub(super) chdir: Option<PathBuf>,
    /// How lines are written.
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    pub(super) log_format: LogFormat,
    /// The lowest level shown: debug, info, warn, error.
    #[arg(long, global = true, value_name = "LEVEL", default_value = "info", value_parser = level)]
    pub(super) log_level: Level,
    /// Folder for log files (not available yet).
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) log_dir: Option<PathBuf>,
    /// Log file (not available yet).
    #[arg(long, global = true, value_name = "PATH")]
    pub(super) log_file: Option<PathBuf>,
    /// Scripts see the KZERO_* table only.
    #[arg(long, global = true)]
    pub(super) no_env_passthrough: bool,
    /// Context of the kubeconfig.
    #[arg(long, global = true, value_name = "NAME", alias = "kube-context")]
    pub(super) context: Option<String>,
    /// Kubeconfig; stronger than run.kubeconfig and KUBECONFIG.
    #[arg(long, global = true, value_name = "PATH")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// Print a sample profile and end.
    #[arg(long, global = true)]
    pub(super) print_sample_config: bool,
}

/// The commands.
#[derive(Debug, Clone, Subcommand)]
pub(super) enum Command {
    /// Show the plan, check it against the cluster, change nothing.
    Analyze(AnalyzeArgs),
    /// Run the down pipeline: park.
    Down(RunArgs),
    /// Run the up pipeline: wake.
    Up(RunArgs),
    /// Run down, then up.
    Reset(ResetArgs),
    /// Go on with a run that failed or was killed: what it had finished is skipped.
    Resume(ResumeArgs),
    /// Show what is parked, who works, and how the last run ended.
    Status(StatusArgs),
    /// Remember sizes by hand, or those that another tool keeps.
    Remember(RememberArgs),
    /// Forget what is remembered of objects.
    Forget(ForgetArgs),
    /// Show which cluster a run would act on.
    Target(TargetArgs),
    /// Write a profile from what runs in namespaces.
    Init(InitArgs),
    /// Render, check, show and pack Helm charts.
    Chart {
        /// Where Helm keeps what it knows.
        #[command(flatten)]
        files: super::chart::FileFlags,
        /// What to do with the chart.
        #[command(subcommand)]
        command: super::chart::ChartCommand,
    },
    /// Deploy Helm charts as releases, and look after these.
    Release {
        /// Where Helm keeps what it knows.
        #[command(flatten)]
        files: super::chart::FileFlags,
        /// Where the release is.
        #[command(flatten)]
        common: super::release::Common,
        /// What to do with it.
        #[command(subcommand)]
        command: super::release::ReleaseCommand,
    },
    /// Try the channels of notify.*.
    Notify {
        /// What to do.
        #[command(subcommand)]
        command: NotifyCommand,
    },
    /// Print version, commit, build date and branch.
    Version,
    /// Print a shell completion script.
    Completion {
        /// The shell.
        shell: Shell,
    },
    /// Print the JSON schema of profiles.
    #[command(hide = true)]
    Schema,
}

/// `analyze`.
#[derive(Debug, Clone, Args)]
pub(super) struct AnalyzeArgs {
    /// Lines, or one JSON document.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(super) output: Document,
}

/// `status`.
#[derive(Debug, Clone, Args)]
pub(super) struct StatusArgs {
    /// Lines, or one JSON document.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(super) output: Document,
    /// Fail unless a run that this host made succeeded within this time.
    #[arg(long, value_name = "DUR", value_parser = wait)]
    pub(super) max_age: Option<Duration>,
    /// The command that --max-age is about [default: any].
    #[arg(long, value_name = "COMMAND", requires = "max_age")]
    pub(super) of: Option<RunCommand>,
}

/// Commands that have a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum RunCommand {
    /// `down`
    Down,
    /// `up`
    Up,
    /// `reset`
    Reset,
}

impl RunCommand {
    /// As journals have it.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
            Self::Reset => "reset",
        }
    }
}

/// `remember`.
#[derive(Debug, Clone, Args)]
pub(super) struct RememberArgs {
    /// What up brings back: deployment.NS/NAME=3, cronjob.NS/NAME=true (suspended) or =false.
    #[arg(value_name = "REF=N", required_unless_present = "import")]
    pub(super) values: Vec<String>,
    /// Read the annotations of another tool that parked objects.
    #[arg(long, value_name = "TOOL", requires = "namespaces")]
    pub(super) import: Option<ForeignTool>,
    /// Namespace to import from; repeat for several.
    #[arg(short, long = "namespace", value_name = "NAMESPACE", requires = "import", value_parser = namespace)]
    pub(super) namespaces: Vec<String>,
    /// How it is done.
    #[command(flatten)]
    pub(super) how: MemoryFlags,
}

/// Tools whose annotations can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ForeignTool {
    /// szero
    Szero,
    /// kube-downscaler, in Python or Go
    KubeDownscaler,
}

/// `forget`.
#[derive(Debug, Clone, Args)]
pub(super) struct ForgetArgs {
    /// Reference of an object that is remembered.
    #[arg(value_name = "REF", required = true)]
    pub(super) references: Vec<String>,
    /// How it is done.
    #[command(flatten)]
    pub(super) how: MemoryFlags,
}

/// Flags of the commands that change memory.
#[derive(Debug, Clone, Args)]
pub(super) struct MemoryFlags {
    /// Change nothing, whatever run.mode says.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Wait so long for another run of this profile to end.
    #[arg(long, value_name = "DUR", value_parser = wait)]
    pub(super) wait_lock: Option<Duration>,
}

/// `target`.
#[derive(Debug, Clone, Args)]
pub(super) struct TargetArgs {
    /// A block, the slug of the cluster's name, or JSON.
    #[arg(short, long, value_name = "FORMAT", default_value = "block")]
    pub(super) output: TargetFormat,
}

/// `init`.
#[derive(Debug, Clone, Args)]
pub(super) struct InitArgs {
    /// Namespace to read; repeat for several.
    #[arg(short, long = "namespace", value_name = "NAMESPACE", required = true, value_parser = namespace)]
    pub(super) namespaces: Vec<String>,
    /// Write to this file instead of stdout; an existing file is never replaced.
    #[arg(short, long, value_name = "PATH")]
    pub(super) output: Option<PathBuf>,
}

/// `down` and `up`.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct RunArgs {
    /// Change nothing, whatever run.mode says.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Wait so long for another run of this profile to end.
    #[arg(long, value_name = "DUR", value_parser = wait)]
    pub(super) wait_lock: Option<Duration>,
    /// Go on with the last run, if it did not end well and was this command.
    #[arg(long, conflicts_with_all = ["from", "only", "skip"])]
    pub(super) resume: bool,
    /// Start at this index, or at the first step with this reference.
    #[arg(long, value_name = "N|REF")]
    pub(super) from: Option<String>,
    /// Run only this reference; repeat for several.
    #[arg(long, value_name = "REF")]
    pub(super) only: Vec<String>,
    /// Leave this reference out; repeat for several.
    #[arg(long, value_name = "REF")]
    pub(super) skip: Vec<String>,
}

/// `reset`.
#[derive(Debug, Clone, Args)]
pub(super) struct ResetArgs {
    /// Change nothing, whatever run.mode says.
    #[arg(long)]
    dry_run: bool,
    /// Wait so long for another run of this profile to end.
    #[arg(long, value_name = "DUR", value_parser = wait)]
    wait_lock: Option<Duration>,
    /// Go on with the last run, if it did not end well and was this command.
    #[arg(long)]
    resume: bool,
}

/// `notify`.
#[derive(Debug, Clone, Subcommand)]
pub(super) enum NotifyCommand {
    /// Send an event to every enabled channel.
    Test(NotifyTestArgs),
}

/// `notify test`.
#[derive(Debug, Clone, Args)]
pub(super) struct NotifyTestArgs {
    /// Which event.
    #[arg(long, value_name = "EVENT", default_value = "notify.test")]
    pub(super) event: NotifyEvent,
}

/// `--event` of `notify test`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum NotifyEvent {
    /// A message of its own.
    #[value(name = "notify.test")]
    Test,
    /// As at the beginning of a run.
    #[value(name = "pipeline.start")]
    Start,
    /// As at its end.
    #[value(name = "pipeline.success")]
    Success,
    /// As after a failure.
    #[value(name = "pipeline.error")]
    Error,
    /// As when the API watchdog ended it.
    #[value(name = "pipeline.stalled")]
    Stalled,
}

impl From<NotifyEvent> for EventName {
    fn from(event: NotifyEvent) -> Self {
        match event {
            NotifyEvent::Test => Self::Test,
            NotifyEvent::Start => Self::Start,
            NotifyEvent::Success => Self::Success,
            NotifyEvent::Error => Self::Error,
            NotifyEvent::Stalled => Self::Stalled,
        }
    }
}

/// `resume`.
#[derive(Debug, Clone, Args)]
pub(super) struct ResumeArgs {
    /// The run to go on with [default: the last one].
    #[arg(value_name = "RUN-ID")]
    pub(super) run: Option<String>,
    /// Change nothing, whatever run.mode says.
    #[arg(long)]
    dry_run: bool,
    /// Wait so long for another run of this profile to end.
    #[arg(long, value_name = "DUR", value_parser = wait)]
    wait_lock: Option<Duration>,
}

impl From<&ResumeArgs> for RunArgs {
    fn from(resume: &ResumeArgs) -> Self {
        Self {
            dry_run: resume.dry_run,
            wait_lock: resume.wait_lock,
            ..Self::default()
        }
    }
}

impl From<ResetArgs> for RunArgs {
    fn from(reset: ResetArgs) -> Self {
        Self {
            dry_run: reset.dry_run,
            wait_lock: reset.wait_lock,
            resume: reset.resume,
            ..Self::default()
        }
    }
}

/// `--log-format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// Dated lines.
    Text,
    /// One JSON object a line.
    Json,
}

/// `-o` of commands that can write one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Document {
    /// Lines.
    Text,
    /// One JSON document.
    Json,
}

/// `target --output`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum TargetFormat {
    /// Lines.
    Block,
    /// The slug alone.
    Slug,
    /// One JSON document.
    Json,
}

/// Shells that completions exist for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Shell {
    /// Bash.
    Bash,
    /// Zsh.
    Zsh,
    /// Fish.
    Fish,
    /// PowerShell.
    Powershell,
}

impl Shell {
    /// The generator of its script.
    pub(super) fn generator(self) -> clap_complete::Shell {
        match self {
            Self::Bash => clap_complete::Shell::Bash,
            Self::Zsh => clap_complete::Shell::Zsh,
            Self::Fish => clap_complete::Shell::Fish,
            Self::Powershell => clap_complete::Shell::PowerShell,
        }
    }
}

/// `debug|info|warn|error` and their short forms, in any case.
fn level(text: &str) -> Result<Level, String> {
    match text.to_ascii_lowercase().as_str() {
        "debug" | "dbg" => Ok(Level::Debug),
        "info" | "inf" => Ok(Level::Info),
        "warn" | "wrn" | "warning" => Ok(Level::Warn),
        "error" | "err" => Ok(Level::Error),
        _ => Err("expected debug, info, warn or error".to_owned()),
    }
}

/// A DNS label. An empty one would read all namespaces.
fn namespace(text: &str) -> Result<String, String> {
    let part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let edge = |c: Option<char>| c.is_some_and(|c| c != '-');
    let chars = || text.chars();
    if text.len() <= 63 && chars().all(part) && edge(chars().next()) && edge(chars().next_back()) {
        Ok(text.to_owned())
    } else {
        Err("expected a namespace: lower case letters, digits and - inside".to_owned())
    }
}

/// A length in Go's form or in humantime's (S-D.33).
fn wait(text: &str) -> Result<Duration, String> {
    kzero_profile::duration::parse(text)
        .or_else(|_| humantime::parse_duration(text))
        .map_err(|_| "expected a duration such as 10m, 1h30m or \"1 day\"".to_owned())
}
