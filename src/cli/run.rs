//! `kzero down`, `up`, `reset` and `resume`: the stages of S-3.2.

mod resume;
mod signals;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::FusedFuture;
use kzero_cluster::Budget;
use kzero_profile::{Execution as Wanted, Profile, RunMode};

use super::app::{App, runtime, target_block};
use super::args::RunArgs;
use super::final_error;
use super::needs::{missing_programs, planned_execution, unavailable};
use crate::event::{Bus, Level, Mode, Phase, StopPoint};
use crate::exit::Failure;
use crate::notify::{EventName, Message, Notifier, Subject};
use crate::pipeline::{Doors, Engine, Plans, RunSettings, WatchOptions, watch};
use crate::releases::Releases;
use crate::report::{Kind, RunLines};
use crate::script::{ChildEnv, Scripts};
use crate::state::journal::{ClusterId, Journal, Past};
use crate::state::keeper::Keeper;
use crate::state::lock::{Holder, LockError, RunLock};
use crate::state::place::Place;
use crate::state::store::Store;
use crate::steps::{ClusterDoor, Execution, Settings};
use crate::stop::{Stop, StopReason};
pub(super) use signals::Signals;

/// How long the uid of the cluster may take; without it the address alone tells clusters apart.
const UID_TIME: Duration = Duration::from_secs(5);

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
    const ALL: [Self; 3] = [Self::Down, Self::Up, Self::Reset];

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

/// What was asked for.
#[derive(Debug, Clone)]
pub(super) enum Asked {
    /// One of the commands.
    Run(Which),
    /// To go on with the last run, or with this one.
    Resume(Option<String>),
}

impl Asked {
    const fn word(&self) -> &'static str {
        match self {
            Self::Run(which) => which.word(),
            Self::Resume(_) => "resume",
        }
    }
}

/// Runs the command and prints summary and final error.
pub(super) fn run(app: &App, arguments: &RunArgs, asked: &Asked) -> ExitCode {
    let begin = Instant::now();
    app.output.detach();
    let result = runtime().and_then(|runtime| {
        let result = runtime.block_on(run_watched(app, arguments, asked));
        // Nothing is left to wait for; a resolver thread in a blocked call must not hold us.
        runtime.shutdown_background();
        result
    });
    app.output.write(&crate::report::summary(
        asked.word(),
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
async fn run_watched(app: &App, arguments: &RunArgs, asked: &Asked) -> Result<(), Failure> {
    let stop = Stop::default();
    let mut signals = Signals::new()
        .map_err(|error| Failure::Config(format!("cannot watch for signals: {error}")))?;
    tokio::select! {
        biased;
        never = signals.watch(&stop) => match never {},
        result = run_stages(app, arguments, asked, &stop) => result,
    }
}

/// What is to be run.
struct Work {
    which: Which,
    plans: Plans,
    /// Steps that flags leave out.
    left_out: Vec<String>,
    /// The run that this one goes on with.
    past: Option<Past>,
}

impl Work {
    /// Stage 1: plans and files.
    fn plan(
        app: &App,
        profile: &Profile,
        mode: Mode,
        arguments: &RunArgs,
        which: Which,
        past: Option<Past>,
    ) -> Result<Self, Failure> {
        let phases = which.phases();
        let mut plans = Plans::new(profile, &app.environment);
        let left_out = match &past {
            Some(past) => resume::restrict(&mut plans, phases, past),
            None => super::select::select(&mut plans, phases, arguments)?,
        };
        let planned = planned_execution(profile);
        check_files(app, profile, &plans, phases, planned, mode)?;
        check_available(app, profile, &plans, phases, planned, mode)?;
        Ok(Self {
            which,
            plans,
            left_out,
            past,
        })
    }
}

/// What the stages of one run share.
struct Session<'a> {
    app: &'a App,
    arguments: &'a RunArgs,
    profile: &'a Profile,
    mode: Mode,
    stop: &'a Stop,
    run_id: Arc<str>,
    doors: &'a Doors,
    execution: Execution,
    plan_only: bool,
    place: &'a Place,
    server: String,
    context: String,
    lock: Option<&'a RunLock<'a>>,
}

async fn run_stages(
    app: &App,
    arguments: &RunArgs,
    asked: &Asked,
    stop: &Stop,
) -> Result<(), Failure> {
    // Stage 1: profile, plan, files. What is resumed says its journal, later.
    let dry_run = arguments.dry_run;
    let profile = Arc::new(apart(app, stop, move |app| app.load(dry_run)).await?);
    let mode = match profile.run.mode {
        RunMode::DryRun => Mode::DryRun,
        RunMode::Live => Mode::Live,
    };
    let work = match asked {
        Asked::Run(which) if !arguments.resume => {
            Some(Work::plan(app, &profile, mode, arguments, *which, None)?)
        }
        _ => None,
    };

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
    let place = Place::new(&profile, &app.environment, resolved.target());
    let server = resolved.target().api_server.clone();
    let context = resolved.target().context.clone();
    let cluster = ClusterDoor::new(resolved, Arc::clone(&bus));
    let (execution, plan_only) = decide_execution(&profile, &cluster, &bus, mode, stop).await;
    let scripts = Scripts::new(Arc::clone(&bus), app.output.masker());
    let doors = Doors {
        bus,
        cluster,
        scripts,
    };

    // Stage 3: the lock.
    let holder = Holder {
        by: place.by.clone(),
        pid: std::process::id(),
        run: run_id.to_string(),
        command: asked.word().to_owned(),
    };
    let lock = match mode {
        Mode::DryRun => None,
        Mode::Live => {
            let client = stop.race(doors.cluster.get()).await.map_err(interrupted)?;
            let client = client.map_err(|error| error.to_string());
            let taking = RunLock::take(
                &place,
                holder,
                client,
                arguments.wait_lock,
                stop,
                &doors.bus,
            );
            Some(taking.await.map_err(|error| match error {
                LockError::Held(text) => Failure::Locked(text),
                LockError::Stopped(reason) => interrupted(reason),
            })?)
        }
    };
    let session = Session {
        app,
        arguments,
        profile: &profile,
        mode,
        stop,
        run_id,
        doors: &doors,
        execution,
        plan_only,
        place: &place,
        server,
        context,
        lock: lock.as_ref(),
    };
    let result = session.locked(asked, work).await;
    if let Some(lock) = lock {
        lock.release().await;
    }
    result
}

impl Session<'_> {
    /// What is done once the lock is held.
    async fn locked(&self, asked: &Asked, work: Option<Work>) -> Result<(), Failure> {
        let cluster = self.cluster_id(work.is_none()).await;
        let work = match work {
            Some(work) => work,
            None => match resume::find(self, asked, &cluster)? {
                Some((which, past)) => {
                    let (profile, mode) = (self.profile, self.mode);
                    let past = Some(past);
                    Work::plan(self.app, profile, mode, self.arguments, which, past)?
                }
                None => return Ok(()),
            },
        };
        let fingerprint = resume::check(self, &work)?;
        let journal = (self.mode == Mode::Live)
            .then(|| self.journal(&work, cluster, fingerprint))
            .flatten();
        self.warn(&work);
        self.carry_out(&work, journal.as_deref()).await
    }

    /// Which cluster this is. Whoever may not read its uid goes by its address.
    async fn cluster_id(&self, resuming: bool) -> ClusterId {
        let mut id = ClusterId {
            server: self.server.clone(),
            uid: None,
        };
        let ask = match self.lock {
            Some(lock) => lock.has_answer().await,
            None => resuming && self.execution == Execution::Native && !self.plan_only,
        };
        if ask && let Ok(client) = self.doors.cluster.get().await {
            let budget = Budget::new("uid of the cluster 5s", UID_TIME);
            let asked = client.namespace_uid("kube-system", &budget);
            id.uid = self
                .stop
                .race(asked)
                .await
                .ok()
                .and_then(Result::ok)
                .flatten();
        }
        id
    }

    /// Begins the journal; without one the run goes on and cannot be resumed (S-11.23).
    fn journal(
        &self,
        work: &Work,
        cluster: ClusterId,
        fingerprint: crate::state::journal::Fingerprint,
    ) -> Option<Arc<Journal>> {
        let header = resume::header(self, work, cluster, fingerprint);
        match Journal::begin(self.place.folder(), &header) {
            Ok(journal) => {
                let journal = Arc::new(journal);
                self.doors.bus.subscribe(Arc::clone(&journal) as _);
                Some(journal)
            }
            Err(error) => {
                let text = format!("no journal, this run cannot be resumed: {error}");
                self.doors.bus.note(Level::Warn, text);
                None
            }
        }
    }

    /// What is worth knowing before anything begins.
    fn warn(&self, work: &Work) {
        let bus = &self.doors.bus;
        if !work.left_out.is_empty() {
            bus.note(
                Level::Info,
                format!("left out: {}", work.left_out.join(", ")),
            );
        }
        if self.execution == Execution::Shell
            && self.profile.run.no_env_passthrough
            && self.app.flags.kubeconfig.is_none()
            && self.profile.run.kubeconfig.is_none()
        {
            bus.note(
                Level::Warn,
                "no_env_passthrough hides KUBECONFIG and HOME from kubectl, helm and scripts too: set \
                 run.kubeconfig, or they may act on another cluster",
            );
        }
    }

    /// What parked objects were before. In shell mode without an API client there is none, which is told (S-11.13).
    async fn memory(&self) -> Keeper<'_> {
        let bus = &self.doors.bus;
        if self.plan_only {
            return Keeper::off(bus);
        }
        let client = match self.stop.race(self.doors.cluster.get()).await {
            Ok(client) => client.map_err(|error| error.to_string()),
            // Nothing begins any more.
            Err(_) => return Keeper::off(bus),
        };
        if let (Execution::Shell, Err(why)) = (self.execution, &client) {
            let text = format!(
                "memory of sizes is off, there is no API client ({why}): nothing is remembered, and on up a workload gets its step's \
                 replicas, else its live size, else 1"
            );
            bus.note(Level::Warn, text);
            return Keeper::off(bus);
        }
        let tell = Box::new(|level, text| bus.note(level, text));
        Keeper::new(Store::new(self.place, client, tell), &self.place.by, bus)
    }

    /// Stages 5 to 11.
    async fn carry_out(&self, work: &Work, journal: Option<&Journal>) -> Result<(), Failure> {
        let (app, profile) = (self.app, self.profile);
        let (kubeconfig, _context_file) = app.script_kubeconfig(profile, &self.run_id)?;
        let env = ChildEnv::new(
            &app.environment,
            profile.run.no_env_passthrough,
            profile.client_id.as_deref(),
            kubeconfig,
            work.which.word(),
            &self.run_id,
        );
        let logins = crate::releases::logins(profile, &app.environment);
        let settings = Settings {
            kubectl: profile.command.kubectl.clone(),
            helm: profile.command.helm.clone(),
            shell: profile.command.shell.clone(),
            default_shell: profile.command.shell_is_default,
            workspace: profile.helm.workspace.clone(),
            context: app.flags.context.clone(),
            environment: app.environment.clone(),
            profile: profile.state.name.clone(),
            releases: Releases::new(&app.environment, &self.run_id, logins),
            cleanup_timeout: profile.run.cleanup_timeout,
        };
        let run = RunSettings {
            attempts: profile.retry.attempts,
            delay: profile.retry.delay,
            scope: profile.retry.scope,
            operation_timeout: profile.run.operation_timeout,
            cleanup_timeout: profile.run.cleanup_timeout,
            execution: self.execution,
            plan_only: self.plan_only,
        };
        let notifier = self.notifier()?;
        let begin = Instant::now();
        let nothing = BTreeMap::new();
        let memory = self.memory().await;
        let engine = Engine {
            doors: self.doors,
            plans: &work.plans,
            run: &run,
            settings: &settings,
            env: &env,
            stop: self.stop,
            last: RefCell::new(StopPoint::Nothing),
            begin: jiff::Timestamp::now(),
            finished: work.past.as_ref().map_or(&nothing, |past| &past.finished),
            lock: self.lock,
            memory: &memory,
            notifier: notifier.as_ref(),
            command: work.which.word(),
        };
        let live = self.mode == Mode::Live;
        let watchdog = &profile.run.api_watchdog;
        let options = WatchOptions {
            timeout: profile.run.timeout.filter(|_| live),
            watchdog: (live && watchdog.enabled)
                .then_some((watchdog.interval, watchdog.fail_after)),
        };
        let (bus, cluster) = (&self.doors.bus, &self.doors.cluster);
        // It delays nothing: what it takes, it takes beside the steps.
        let start = tell(notifier.as_ref(), EventName::Start, work.which, begin, bus);
        let mut start = std::pin::pin!(start.fuse());
        let result = {
            let run = async {
                tokio::select! {
                    biased;
                    () = watch(&options, self.stop, cluster, bus) => Ok(()),
                    never = keep(self.lock) => match never {},
                    never = tell_broken(journal, bus) => match never {},
                    result = engine.run(work.which.phases()) => result,
                }
            };
            let mut run = std::pin::pin!(run);
            loop {
                tokio::select! {
                    biased;
                    () = &mut start, if !start.is_terminated() => {}
                    result = &mut run => break result,
                }
            }
        };
        if result.is_ok() {
            let end = tell(
                notifier.as_ref(),
                EventName::Success,
                work.which,
                begin,
                bus,
            );
            let told = async {
                // One that has ended would never end again.
                if start.is_terminated() {
                    end.await;
                } else {
                    tokio::join!(start, end);
                }
            };
            tokio::select! {
                () = told => {}
                () = self.stop.stopped_at_once() => {}
            }
        }
        result.map_err(|failure| match failure {
            failure if failure.bug => Failure::Bug(failure.text),
            failure if failure.undelivered => Failure::Undelivered(failure.text),
            failure => Failure::Aborted {
                text: failure.text,
                failed_step: failure.failed_step,
            },
        })
    }

    /// Whom the run is told; nobody in dry-run.
    fn notifier(&self) -> Result<Option<Notifier>, Failure> {
        if self.mode == Mode::DryRun {
            return Ok(None);
        }
        let subject = Subject {
            context: Some(self.context.clone()),
            run_id: Some(self.run_id.to_string()),
            ..notify_subject(self.profile, self.app)
        };
        let masker = self.app.output.masker();
        Notifier::new(self.profile, &self.app.environment, masker, subject).map_err(Failure::Config)
    }
}

/// What messages about a profile have in common.
pub(super) fn notify_subject(profile: &Profile, app: &App) -> Subject {
    Subject {
        client_id: profile.client_id.clone(),
        cluster: profile.cluster.name.clone(),
        environment: profile.cluster.environment.clone(),
        user: app.environment.user.clone(),
        started: jiff::Timestamp::now(),
        ..Subject::default()
    }
}

/// Tells that a run begins or has succeeded; what goes wrong is a line (S-7.11).
async fn tell(
    notifier: Option<&Notifier>,
    event: EventName,
    which: Which,
    begin: Instant,
    bus: &Bus,
) {
    let Some(notifier) = notifier else { return };
    let message = Message {
        event,
        command: which.word().to_owned(),
        mode: "live",
        duration: (event == EventName::Success).then(|| begin.elapsed()),
        failed_step: None,
        error: None,
    };
    if let Err(error) = notifier.send(&message, &Budget::unlimited()).await {
        let text = format!("notify dispatch failed ({}): {error}", event.word());
        bus.note(Level::Error, text);
    }
}

/// Keeps the lock, if there is one.
async fn keep(lock: Option<&RunLock<'_>>) -> std::convert::Infallible {
    match lock {
        Some(lock) => lock.keep().await,
        None => std::future::pending().await,
    }
}

/// Says once that the journal cannot be written any more (S-D.11).
async fn tell_broken(journal: Option<&Journal>, bus: &Bus) -> std::convert::Infallible {
    if let Some(journal) = journal {
        let why = journal.broken().await;
        let text = format!("the journal ends here, this run cannot be resumed: {why}");
        bus.note(Level::Warn, text);
    }
    std::future::pending().await
}

/// A stop before anything had begun: no hook runs, nothing is to be cleaned up.
pub(super) fn interrupted(_: StopReason) -> Failure {
    Failure::Aborted {
        text: "pipeline interrupted (signal received)".to_owned(),
        failed_step: None,
    }
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
        Err(reason) => Err(interrupted(reason)),
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
) -> Result<(), Failure> {
    let mut missing = unavailable(app, profile);
    let problems = profile.notify.problems();
    missing.extend(problems.iter().map(ToString::to_string));
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
