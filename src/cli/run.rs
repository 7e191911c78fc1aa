//! `kzero down`, `up` and `reset`: the stages of S-3.2.

use std::cell::RefCell;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use kzero_profile::{Execution as Wanted, Profile, RunMode};

use super::app::{App, runtime, target_block};
use super::args::RunArgs;
use super::final_error;
use super::needs::{missing_programs, planned_execution, unavailable};
use crate::event::{Bus, Level, Mode, Phase, StopPoint};
use crate::exit::Failure;
use crate::pipeline::{Doors, Engine, Plans, RunSettings, WatchOptions, watch};
use crate::releases::Releases;
use crate::report::{Kind, RunLines};
use crate::script::{ChildEnv, Scripts};
use crate::steps::{ClusterDoor, Execution, Settings};
use crate::stop::{Stop, StopReason};

/// The three commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// `down`
    Down,
    /// `up`
    Up,
    /// `reset`
    Reset,
}

impl Which {
    const fn word(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
            Self::Reset => "reset",
        }
    }

    const fn phases(self) -> &'static [Phase] {
        match self {
            Self::Down => &[Phase::Down],
            Self::Up => &[Phase::Up],
            Self::Reset => &[Phase::Down, Phase::Up],
        }
    }
}

/// Runs the command and prints summary and final error.
pub(super) fn run(app: &App, arguments: &RunArgs, which: Which) -> ExitCode {
    let begin = Instant::now();
    app.output.detach();
    let result = runtime().and_then(|runtime| {
        let result = runtime.block_on(run_watched(app, arguments, which));
        // Nothing is left to wait for; a resolver thread in a blocked call must not hold us.
        runtime.shutdown_background();
        result
    });
    app.output.write(&crate::report::summary(
        which.word(),
        begin.elapsed(),
        result.is_ok(),
    ));
    let code = match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            final_error(&failure, &app.output);
            failure.exit_code()
        }
    };
    app.output.finish();
    code
}

/// The command beside the signals that may stop it.
async fn run_watched(app: &App, arguments: &RunArgs, which: Which) -> Result<(), Failure> {
    let stop = Stop::default();
    let mut signals = Signals::new()
        .map_err(|error| Failure::Config(format!("cannot watch for signals: {error}")))?;
    tokio::select! {
        biased;
        never = signals.watch(&stop) => match never {},
        result = run_stages(app, arguments, which, &stop) => result,
    }
}

/// SIGINT, SIGTERM and SIGHUP (the latter unless it was ignored, as under nohup).
pub(super) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    /// Takes the signals over.
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub(super) fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let hangup = (!hangup_is_ignored())
            .then(|| signal(SignalKind::hangup()))
            .transpose()?;
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup,
        })
    }

    /// The first signal asks to stop, the second to do so at once.
    pub(super) async fn watch(&mut self, stop: &Stop) -> std::convert::Infallible {
        let mut before = false;
        loop {
            let hangup = async {
                match &mut self.hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            let name = tokio::select! {
                _ = self.interrupt.recv() => "SIGINT",
                _ = self.terminate.recv() => "SIGTERM",
                _ = hangup => "SIGHUP",
            };
            // Counted here, not by the reason in force: a run that its own time had stopped
            // already must still obey a second signal.
            if before {
                stop.request_at_once();
            } else {
                stop.request(StopReason::Signal(name));
                before = true;
            }
        }
    }
}

/// Whether the caller had SIGHUP ignored, by the kernel's own table.
fn hangup_is_ignored() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return false;
    };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // SIGHUP is signal 1, the lowest bit.
    mask.is_some_and(|mask| mask & 1 == 1)
}

async fn run_stages(
    app: &App,
    arguments: &RunArgs,
    which: Which,
    stop: &Stop,
) -> Result<(), Failure> {
    // Stage 1: profile, plan, files.
    let dry_run = arguments.dry_run;
    let profile = Arc::new(apart(app, stop, move |app| app.load(dry_run)).await?);
    let mode = match profile.run.mode {
        RunMode::DryRun => Mode::DryRun,
        RunMode::Live => Mode::Live,
    };
    let phases = which.phases();
    let mut plans = Plans::new(&profile, &app.environment);
    let left_out = super::select::select(&mut plans, phases, arguments)?;
    let planned = planned_execution(&profile);
    check_files(app, &profile, &plans, phases, planned, mode)?;
    check_available(app, &profile, &plans, phases, planned, mode, arguments)?;

    // Stage 2: the cluster, by the kubeconfig alone.
    let read = Arc::clone(&profile);
    let resolved = apart(app, stop, move |app| {
        app.resolve(Some(&read))
            .map_err(|error| Failure::Cluster(format!("kubernetes target: {error}")))
    })
    .await?;
    app.lines(
        Level::Info,
        Kind::Target,
        &target_block(resolved.target(), &profile, app),
    );
    app.output.blank();

    let run_id = new_run_id();
    app.output.set_run_id(Arc::clone(&run_id));
    let lines = Arc::new(RunLines::new(app.output.clone()));
    let bus = Arc::new(Bus::new(Arc::clone(&run_id), mode, vec![lines]));
    let cluster = ClusterDoor::new(resolved, Arc::clone(&bus));
    let (execution, plan_only) = decide_execution(&profile, &cluster, &bus, mode, stop).await;
    let scripts = Scripts::new(Arc::clone(&bus), app.output.masker());
    if !left_out.is_empty() {
        bus.note(Level::Info, format!("left out: {}", left_out.join(", ")));
    }
    warn_about_sizes(&plans, phases, mode, &bus);
    if execution == Execution::Shell
        && profile.run.no_env_passthrough
        && app.flags.kubeconfig.is_none()
        && profile.run.kubeconfig.is_none()
    {
        bus.note(
            Level::Warn,
            "no_env_passthrough hides KUBECONFIG and HOME from kubectl, helm and scripts too: set \
             run.kubeconfig, or they may act on another cluster",
        );
    }

    let (kubeconfig, _context_file) = app.script_kubeconfig(&profile, &run_id)?;
    let env = ChildEnv::new(
        &app.environment,
        profile.run.no_env_passthrough,
        profile.client_id.as_deref(),
        kubeconfig,
        which.word(),
        &run_id,
    );
    let logins = crate::releases::logins(&profile, &app.environment);
    let settings = Settings {
        kubectl: profile.command.kubectl.clone(),
        helm: profile.command.helm.clone(),
        shell: profile.command.shell.clone(),
        default_shell: profile.command.shell_is_default,
        workspace: profile.helm.workspace.clone(),
        context: app.flags.context.clone(),
        environment: app.environment.clone(),
        profile: profile.state.name.clone(),
        releases: Releases::new(&app.environment, &run_id, logins),
        cleanup_timeout: profile.run.cleanup_timeout,
    };
    let run = RunSettings {
        attempts: profile.retry.attempts,
        delay: profile.retry.delay,
        scope: profile.retry.scope,
        operation_timeout: profile.run.operation_timeout,
        cleanup_timeout: profile.run.cleanup_timeout,
        execution,
        plan_only,
    };
    let doors = Doors {
        bus,
        cluster,
        scripts,
    };
    let engine = Engine {
        doors: &doors,
        plans: &plans,
        run: &run,
        settings: &settings,
        env: &env,
        stop,
        last: RefCell::new(StopPoint::Nothing),
        begin: jiff::Timestamp::now(),
    };
    let live = mode == Mode::Live;
    let watchdog = &profile.run.api_watchdog;
    let options = WatchOptions {
        timeout: profile.run.timeout.filter(|_| live),
        watchdog: (live && watchdog.enabled).then_some((watchdog.interval, watchdog.fail_after)),
    };
    let result = tokio::select! {
        biased;
        () = watch(&options, stop, &doors.cluster, &doors.bus) => Ok(()),
        result = engine.run(phases, which.word()) => result,
    };
    result.map_err(|failure| match failure.bug {
        true => Failure::Bug(failure.text),
        false => Failure::Aborted {
            text: failure.text,
            failed_step: failure.failed_step,
        },
    })
}

/// Runs a step of the preparation that reads files on a thread of its own: a read that hangs (a
/// pipe, a dead network disk) must not keep a signal from ending the command.
async fn apart<T: Send + 'static>(
    app: &App,
    stop: &Stop,
    work: impl FnOnce(&App) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let app = app.clone();
    let done = tokio::task::spawn_blocking(move || work(&app));
    match stop.race(done).await {
        Ok(Ok(result)) => result,
        Ok(Err(error)) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => Err(Failure::Config(format!("cannot start a thread: {error}"))),
        },
        // Nothing had begun: no hook runs, nothing is to be cleaned up.
        Err(_) => Err(Failure::Aborted {
            text: "pipeline interrupted (signal received)".to_owned(),
            failed_step: None,
        }),
    }
}

/// Sorts by time, and differs between runs of one second.
pub(super) fn new_run_id() -> Arc<str> {
    let now = jiff::Zoned::now().with_time_zone(jiff::tz::TimeZone::UTC);
    let time = now.strftime("%Y%m%dT%H%M%S");
    let millis = now.subsec_nanosecond() / 1_000_000;
    format!("{time}.{millis:03}Z-{}", std::process::id()).into()
}

/// Decides `auto` once per run (S-2.8), and in dry-run whether the server can be asked.
async fn decide_execution(
    profile: &Profile,
    cluster: &ClusterDoor,
    bus: &Bus,
    mode: Mode,
    stop: &Stop,
) -> (Execution, bool) {
    let build = || async {
        match stop.race(cluster.get()).await {
            // A stop is dealt with before the first hook.
            Ok(Ok(_)) | Err(_) => None,
            Ok(Err(error)) => Some(error.to_string()),
        }
    };
    // S-3.21: in dry-run shell execution makes no connection at all.
    let shell = (Execution::Shell, mode == Mode::DryRun);
    match profile.run.execution {
        Wanted::Shell => shell,
        Wanted::Auto => match build().await {
            None => (Execution::Native, false),
            Some(error) => {
                bus.note(
                    Level::Info,
                    format!("execution auto: using shell ({error})"),
                );
                shell
            }
        },
        Wanted::Native if mode == Mode::Live => (Execution::Native, false),
        Wanted::Native => match build().await {
            None => (Execution::Native, false),
            Some(error) => {
                let text =
                    format!("server-side dry-run unavailable ({error}); planning scale steps only");
                bus.note(Level::Warn, text);
                (Execution::Native, true)
            }
        },
    }
}

/// What is missing on disk: an error before anything runs, a warning in dry-run (S-3.6).
fn check_files(
    app: &App,
    profile: &Profile,
    plans: &Plans,
    phases: &[Phase],
    execution: Execution,
    mode: Mode,
) -> Result<(), Failure> {
    let files = plans.files(phases, execution, &app.environment);
    let mut problems = crate::checks::missing_files(&files, &app.config_path());
    problems.extend(missing_programs(app, profile, plans, phases));
    if problems.is_empty() {
        return Ok(());
    }
    if mode == Mode::Live {
        return Err(Failure::Config(problems.join("\n")));
    }
    for problem in problems {
        app.warn(&format!("warning: {problem}"));
    }
    Ok(())
}

/// What this version cannot do is refused by a live run, never skipped.
fn check_available(
    app: &App,
    profile: &Profile,
    plans: &Plans,
    phases: &[Phase],
    execution: Execution,
    mode: Mode,
    arguments: &RunArgs,
) -> Result<(), Failure> {
    let mut missing = unavailable(app, profile);
    if arguments.resume {
        missing.push("--resume is not available yet".into());
    }
    if arguments.wait_lock.is_some() {
        missing.push("--wait-lock is not available yet (there is no run lock)".into());
    }
    for phase in phases {
        let steps = plans.phase(*phase).steps.iter();
        missing.extend(steps.filter_map(|step| step.action.unavailable(execution)));
    }
    for phase in phases {
        for step in &plans.phase(*phase).steps {
            for warning in step.action.warnings(execution) {
                app.warn(&format!("warning: {warning}"));
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    if mode == Mode::Live {
        return Err(Failure::Config(missing.join("\n")));
    }
    for text in missing {
        app.warn(&format!("warning: {text}; a live run refuses this"));
    }
    Ok(())
}

/// `down` cannot remember sizes yet, and says so.
fn warn_about_sizes(plans: &Plans, phases: &[Phase], mode: Mode, bus: &Bus) {
    use crate::steps::Subject;
    if mode == Mode::DryRun || !phases.contains(&Phase::Down) {
        return;
    }
    let parks = |step: &crate::pipeline::Step| {
        matches!(
            step.action.subject(),
            Subject::Workload(_) | Subject::CronJob(..)
        )
    };
    if plans.down.steps.iter().any(parks) {
        bus.note(
            Level::Warn,
            "sizes are not remembered: on up a workload gets its step's replicas, else 1, and \
             every CronJob is resumed",
        );
    }
}
