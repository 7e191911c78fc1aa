//! The loop: preflight, hook, steps, hook; and the clean-up after a failure.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use kzero_cluster::{Budget, CauseSubject};
use kzero_profile::{RetryScope, duration};
use tokio::time::Instant;

use super::plan::{Hook, Plan, Plans, Step};
use super::retry::{pause, random};
use crate::event::{Bus, EventKind, Level, Mode, Phase, StopPoint};
use crate::notify::{EventName, Message, Notifier};
use crate::script::{
    ChildEnv, HookVariables, Interrupt, Program, ScriptError, Scripts, StepVariables,
};
use crate::state::journal::hook_item;
use crate::state::keeper::Keeper;
use crate::state::lock::{LockError, RunLock};
use crate::steps::{ClusterDoor, Execution, Settings, StepContext, StepError, Subject};
use crate::stop::{Stop, StopReason};

/// Gathering causes may take this much of the clean-up budget (S-11.32).
const CAUSE_BUDGET: Duration = Duration::from_secs(5);

/// Settings of the loop.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// Tries of a step, at least 1.
    pub attempts: u32,
    /// Base of the pause between tries.
    pub delay: Duration,
    /// What a try repeats.
    pub scope: RetryScope,
    /// `run.operation_timeout`.
    pub operation_timeout: Option<Duration>,
    /// `run.cleanup_timeout`.
    pub cleanup_timeout: Duration,
    /// Who carries workload and release steps out.
    pub execution: Execution,
    /// In dry-run: nobody is asked, because no API client could be built or by shell execution.
    pub plan_only: bool,
}

/// The ways out that a run may use.
pub struct Doors {
    /// Events.
    pub bus: Arc<Bus>,
    /// The API server.
    pub cluster: ClusterDoor,
    /// Children.
    pub scripts: Scripts,
}

/// Why a command failed once preflight had begun.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The text as it is shown, prefixes and the failure of `on-error` included.
    pub text: String,
    /// `hook:pre-down`, the reference, `down[2]`, or nothing (S-8.3).
    pub failed_step: Option<String>,
    /// The phase that failed.
    pub phase: Phase,
    /// What the cause report is about.
    subject: Option<(Subject, String)>,
    /// Whether a stop ended it.
    stopped: bool,
    /// Whether it was a panic.
    pub bug: bool,
    /// Whether somebody who had to be told of it was not (S-8.12).
    pub undelivered: bool,
}

/// Carries plans out.
pub struct Engine<'a> {
    /// The ways out.
    pub doors: &'a Doors,
    /// The plans.
    pub plans: &'a Plans,
    /// Settings of the loop.
    pub run: &'a RunSettings,
    /// Settings of the steps.
    pub settings: &'a Settings,
    /// What all children share.
    pub env: &'a ChildEnv,
    /// The stop.
    pub stop: &'a Stop,
    /// What began last, for the line of S-3.26.
    pub last: RefCell<StopPoint>,
    /// When the run began, for cause reports.
    pub begin: jiff::Timestamp,
    /// What a run that this one goes on with had finished: item of the journal, and the run.
    pub finished: &'a BTreeMap<String, String>,
    /// The lock of the run; none in dry-run.
    pub lock: Option<&'a RunLock<'a>>,
    /// What parked objects were before.
    pub memory: &'a Keeper<'a>,
    /// Whom a failure is told; none in dry-run.
    pub notifier: Option<&'a Notifier>,
    /// `down`, `up` or `reset`.
    pub command: &'static str,
}

impl Engine<'_> {
    pub(super) fn bus(&self) -> &Bus {
        &self.doors.bus
    }

    pub(super) fn dry(&self) -> bool {
        self.bus().mode() == Mode::DryRun
    }

    /// Runs `down`, `up`, or for `reset` both, and cleans up after a failure.
    ///
    /// # Errors
    ///
    /// The failure that ended the run, `on-error`'s own appended.
    pub async fn run(&self, phases: &[Phase]) -> Result<(), Failure> {
        let command = self.command;
        self.bus().emit(EventKind::RunStarted { command });
        let begin = Instant::now();
        // S-D.1: a bug must not keep `on-error` from running. Nothing that was half changed is
        // used afterwards but the stop, which is only read.
        let work = AssertUnwindSafe(self.until_stopped(phases)).catch_unwind();
        let result = match work.await {
            Ok(Ok(())) => {
                self.forget(phases).await;
                Ok(())
            }
            Ok(Err(failure)) => Err(self.clean_up(failure, begin).await),
            Err(panic) => {
                let phase = phases.last().copied().unwrap_or(Phase::Down);
                let bug = self.bug(phase, panic.as_ref());
                Err(self.clean_up(bug, begin).await)
            }
        };
        self.bus().emit(EventKind::RunFinished {
            ok: result.is_ok(),
            elapsed: begin.elapsed(),
        });
        result
    }

    /// A panic as a failure.
    fn bug(&self, phase: Phase, panic: &(dyn Any + Send)) -> Failure {
        let message = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        let last = self.last.borrow().clone();
        let (phase, step) = match &last {
            StopPoint::Step(step) => (step.phase, Some(step.name())),
            StopPoint::Hook(hook) => (phase, Some(format!("hook:{hook}"))),
            StopPoint::Nothing => (phase, None),
        };
        let place = step.as_deref().unwrap_or("the start");
        Failure {
            failed_step: step.clone(),
            bug: true,
            ..Self::failure(
                phase,
                format!("kzero has a bug, please report it: panic at {place}: {message}"),
            )
        }
    }

    /// The phases; a stop is told as soon as it is asked for, for what it ends may take its
    /// time, and who sees nothing asks again.
    async fn until_stopped(&self, phases: &[Phase]) -> Result<(), Failure> {
        let work = self.phases(phases);
        tokio::pin!(work);
        let reason = tokio::select! {
            biased;
            reason = self.stop.stopped() => reason,
            result = &mut work => return result,
        };
        self.tell_stop(&reason);
        work.await?;
        // The last call was let finish. All is done, yet who asked for a stop is told of it.
        let phase = phases.last().copied().unwrap_or(Phase::Down);
        Err(Failure {
            stopped: true,
            ..Self::failure(phase, StepError::from(reason).text)
        })
    }

    /// The line of S-3.26, or the reason of another stop.
    fn tell_stop(&self, reason: &StopReason) {
        let last = self.last.borrow().clone();
        let text = match (reason, &last) {
            (StopReason::Signal(_), StopPoint::Nothing) => {
                "pipeline interrupted (signal received)".to_owned()
            }
            (StopReason::Signal(_), StopPoint::Hook(name)) => {
                format!("pipeline interrupted (signal received); last hook {name}")
            }
            (StopReason::Signal(_), StopPoint::Step(step)) => {
                format!("pipeline interrupted (signal received); last step {step}")
            }
            (other, _) => format!("pipeline interrupted ({other})"),
        };
        self.bus().emit(EventKind::StopRequested { text, last });
    }

    async fn phases(&self, phases: &[Phase]) -> Result<(), Failure> {
        let reset = phases.len() > 1;
        for (number, phase) in phases.iter().enumerate() {
            let prefix = match (reset, phase) {
                (false, _) => "",
                (true, Phase::Down) => "reset down: ",
                (true, Phase::Up) => "reset up: ",
            };
            let boundary = if reset && number > 0 {
                "reset phase "
            } else {
                prefix
            };
            self.preflight(*phase, boundary).await?;
            self.phase(self.plans.phase(*phase))
                .await
                .map_err(|mut failure| {
                    failure.text = format!("{prefix}{}", failure.text);
                    failure
                })?;
        }
        Ok(())
    }

    pub(super) fn failure(phase: Phase, text: String) -> Failure {
        Failure {
            text,
            failed_step: None,
            phase,
            subject: None,
            stopped: false,
            bug: false,
            undelivered: false,
        }
    }

    /// Asks the API server for its version (S-3.7).
    async fn preflight(&self, phase: Phase, prefix: &str) -> Result<(), Failure> {
        if self.dry() {
            self.bus().emit(EventKind::Preflight { version: None });
            return Ok(());
        }
        let fail = |text: String, stopped: bool| Failure {
            stopped,
            ..Self::failure(phase, format!("{prefix}preflight: {text}"))
        };
        let stopped = |reason: StopReason| fail(StepError::from(reason).text, true);
        let client = match self
            .stop
            .race(self.doors.cluster.get())
            .await
            .map_err(stopped)?
        {
            Ok(client) => client,
            // Shell execution may go on with what kubectl can read.
            Err(error) if self.run.execution == Execution::Shell => {
                return self
                    .shell_preflight(&error.to_string())
                    .await
                    .map_err(|error| {
                        fail(
                            format!("cannot reach Kubernetes API: {error}"),
                            error.stopped,
                        )
                    });
            }
            Err(error) => return Err(fail(format!("cannot load kubeconfig: {error}"), false)),
        };
        let budget = self.operation_budget(None);
        let version = client.server_version(&budget);
        match self.stop.race(version).await.map_err(stopped)? {
            Ok(version) => {
                self.bus().emit(EventKind::Preflight {
                    version: Some(version),
                });
                Ok(())
            }
            Err(error) => Err(fail(format!("cannot reach Kubernetes API: {error}"), false)),
        }
    }

    /// The same question by kubectl, when no API client could be built.
    async fn shell_preflight(&self, why: &str) -> Result<(), StepError> {
        self.bus().note(
            Level::Warn,
            format!("preflight by kubectl, no API client ({why})"),
        );
        let kubectl = &self.settings.kubectl;
        let executable = self
            .settings
            .environment
            .find_program(kubectl)
            .ok_or_else(|| {
                StepError::permanent(format!(
                    "{kubectl} not found on PATH\nhint: set command.kubectl"
                ))
            })?;
        let mut arguments: Vec<std::ffi::OsString> =
            vec!["get".into(), "--raw".into(), "/version".into()];
        if let Some(context) = &self.settings.context {
            arguments.extend(["--context".into(), context.into()]);
        }
        let program = Program {
            label: "preflight".into(),
            shown: format!("{kubectl} get --raw /version"),
            executable,
            arguments,
            directory: self.settings.environment.directory.clone(),
            env: self.env.clone(),
            default_shell: false,
            streamed: false,
        };
        let budget = Budget::new("preflight 30s", Duration::from_secs(30));
        let interrupt = Interrupt {
            stop: self.stop.clone(),
            budget,
            cleanup: false,
        };
        self.doors.scripts.run(&program, &interrupt).await?;
        self.bus().emit(EventKind::Preflight {
            version: Some("unknown".into()),
        });
        Ok(())
    }

    /// Hook, steps, hook.
    async fn phase(&self, plan: &Plan) -> Result<(), Failure> {
        let begin = Instant::now();
        self.bus().emit(EventKind::PhaseStarted {
            phase: plan.phase,
            steps: plan.steps.len(),
        });
        if plan.steps.is_empty() {
            let text = format!("pipelines.{} has no steps, only hooks run", plan.phase);
            self.bus().note(Level::Warn, text);
        }
        let result = self.phase_body(plan).await;
        self.bus().emit(EventKind::PhaseFinished {
            phase: plan.phase,
            elapsed: begin.elapsed(),
            ok: result.is_ok(),
        });
        result
    }

    async fn phase_body(&self, plan: &Plan) -> Result<(), Failure> {
        if let Some(hook) = &plan.pre {
            self.phase_hook(plan.phase, hook).await?;
        }
        self.remember(plan).await?;
        for step in &plan.steps {
            self.step(step).await?;
        }
        if let Some(hook) = &plan.post {
            self.phase_hook(plan.phase, hook).await?;
        }
        Ok(())
    }

    /// Nothing new begins after a stop.
    pub(super) fn check_stop(&self) -> Result<(), StepError> {
        self.stop
            .reason()
            .map_or(Ok(()), |reason| Err(reason.into()))
    }

    /// Nothing begins without the lock either.
    pub(super) async fn check_lock(&self) -> Result<(), StepError> {
        match self.lock {
            None => Ok(()),
            Some(lock) => lock.check().await.map_err(|error| match error {
                LockError::Held(text) => StepError::permanent(text),
                LockError::Stopped(reason) => reason.into(),
            }),
        }
    }

    /// Whether an earlier run had finished this already; it is told.
    fn is_finished(&self, key: &str, item: impl FnOnce() -> StopPoint) -> bool {
        let Some(run) = self.finished.get(key) else {
            return false;
        };
        self.bus().emit(EventKind::Skipped {
            item: item(),
            run: run.clone(),
        });
        true
    }

    /// The budget of a script or main action (S-D.7).
    pub(super) fn operation_budget(&self, own: Option<(&'static str, Duration)>) -> Budget {
        match (own, self.run.operation_timeout) {
            (Some((name, length)), _) => {
                Budget::new(format!("{name} {}", duration::format(length)), length)
            }
            (None, Some(length)) => {
                let label = format!("run.operation_timeout {}", duration::format(length));
                Budget::new(label, length)
            }
            (None, None) => Budget::unlimited(),
        }
    }

    async fn phase_hook(&self, phase: Phase, hook: &Hook) -> Result<(), Failure> {
        let name = || StopPoint::Hook(hook.name.to_owned());
        if self.is_finished(&hook_item(hook.name), name) {
            return Ok(());
        }
        let fail = |error: &StepError| Failure {
            failed_step: Some(format!("hook:{}", hook.name)),
            stopped: error.stopped,
            ..Self::failure(phase, format!("hook {}: {error}", hook.name))
        };
        self.check_stop().map_err(|error| fail(&error))?;
        self.check_lock().await.map_err(|error| fail(&error))?;
        *self.last.borrow_mut() = StopPoint::Hook(hook.name.to_owned());
        let variables = HookVariables {
            name: hook.name,
            ..HookVariables::default()
        };
        let env = self.env.for_hook(Some(phase), &variables);
        let interrupt = Interrupt {
            stop: self.stop.clone(),
            budget: self.operation_budget(None),
            cleanup: false,
        };
        let result = self
            .script(hook.name.to_owned(), &hook.path, env, &interrupt)
            .await;
        result.map_err(|error| fail(&error))
    }

    /// Runs a script of the profile, or in dry-run says that it would.
    async fn script(
        &self,
        label: String,
        path: &str,
        env: ChildEnv,
        interrupt: &Interrupt,
    ) -> Result<(), StepError> {
        self.bus().emit(EventKind::ScriptStarted {
            label: label.clone(),
            path: path.to_owned(),
            release: false,
        });
        if self.dry() {
            self.bus()
                .emit(EventKind::ScriptFinished { label, ok: true });
            return Ok(());
        }
        let environment = &self.settings.environment;
        let program = crate::steps::script_program(
            self.settings,
            label.clone(),
            path,
            &environment.absolute(path),
            &environment.directory,
            &[],
            env,
        )
        .inspect_err(|_| {
            self.bus()
                .emit(EventKind::ScriptFinished { label, ok: false });
        })?;
        let result: Result<String, ScriptError> = self.doors.scripts.run(&program, interrupt).await;
        result?;
        Ok(())
    }

    /// One step with its retries (S-3.14 to S-3.20).
    async fn step(&self, step: &Step) -> Result<(), Failure> {
        if self.is_finished(&step.id.place(), || StopPoint::Step(step.id.clone())) {
            return Ok(());
        }
        let fail = |error: &StepError| Failure {
            failed_step: Some(step.id.name()),
            subject: Some((step.action.subject(), step.id.to_string())),
            stopped: error.stopped,
            ..Self::failure(step.id.phase, format!("step {}: {error}", step.id))
        };
        self.check_stop().map_err(|error| fail(&error))?;
        self.check_lock().await.map_err(|error| fail(&error))?;
        *self.last.borrow_mut() = StopPoint::Step(step.id.clone());
        // S-3.20: with scope main the scripts run once, around all tries.
        let main_only = self.run.scope == RetryScope::Main;
        if main_only {
            self.step_hook(step, "pre", step.pre.as_deref())
                .await
                .map_err(|e| fail(&e))?;
        }
        let attempts = if self.dry() {
            1
        } else {
            self.run.attempts.max(1)
        };
        let mut attempt = 1;
        loop {
            let begin = Instant::now();
            self.bus().emit(EventKind::StepStarted {
                step: step.id.clone(),
                attempt,
            });
            let result = self.attempt(step, main_only).await;
            let ok = result.is_ok();
            let done = |ok| EventKind::StepFinished {
                step: step.id.clone(),
                elapsed: begin.elapsed(),
                ok,
            };
            match result {
                Ok(()) if main_only => {
                    // The step is done only when its `post` is.
                    let post = self.step_hook(step, "post", step.post.as_deref()).await;
                    self.bus().emit(done(post.is_ok()));
                    return post.map_err(|error| fail(&error));
                }
                Ok(()) => {
                    self.bus().emit(done(ok));
                    return Ok(());
                }
                Err(error) => {
                    self.bus().emit(done(ok));
                    if attempt >= attempts || !error.transient || error.stopped {
                        return Err(fail(&error));
                    }
                    self.pause(step, attempt, attempts, &error)
                        .await
                        .map_err(|e| fail(&e))?;
                    attempt += 1;
                }
            }
        }
    }

    async fn pause(
        &self,
        step: &Step,
        attempt: u32,
        attempts: u32,
        error: &StepError,
    ) -> Result<(), StepError> {
        let wait = pause(self.run.delay, attempt, random());
        self.bus().emit(EventKind::StepRetrying {
            step: step.id.clone(),
            attempt,
            attempts,
            error: error.text.clone(),
            wait,
        });
        Ok(self.stop.race(tokio::time::sleep(wait)).await?)
    }

    /// `pre`, main, `post`; or main alone.
    async fn attempt(&self, step: &Step, main_only: bool) -> Result<(), StepError> {
        if !main_only {
            self.step_hook(step, "pre", step.pre.as_deref()).await?;
        }
        self.check_stop()?;
        let timeout = step.own_timeout.or_else(|| step.action.timeout());
        let name = if step.own_timeout.is_some() {
            "step timeout"
        } else {
            "release timeout"
        };
        let cx = StepContext {
            id: &step.id,
            bus: self.bus(),
            execution: self.run.execution,
            cluster: &self.doors.cluster,
            scripts: &self.doors.scripts,
            env: self
                .env
                .for_step(step.id.phase, &Self::variables(step, "main")),
            base_env: self.env,
            stop: self.stop,
            budget: self.operation_budget(timeout.map(|length| (name, length))),
            timeout: timeout.or(self.run.operation_timeout),
            settings: self.settings,
            releases: &self.plans.releases,
            memory: self.memory,
            plan_only: self.run.plan_only,
        };
        step.action.run(&cx).await?;
        if !main_only {
            self.step_hook(step, "post", step.post.as_deref()).await?;
        }
        Ok(())
    }

    fn variables(step: &Step, hook: &'static str) -> StepVariables {
        StepVariables {
            index: step.id.index,
            hook,
            reference: step.parts.clone(),
            custom: match &step.parts {
                Some(_) => None,
                None => step.label.strip_prefix("custom: ").map(ToOwned::to_owned),
            },
        }
    }

    async fn step_hook(
        &self,
        step: &Step,
        hook: &'static str,
        path: Option<&str>,
    ) -> Result<(), StepError> {
        let Some(path) = path else { return Ok(()) };
        self.check_stop()?;
        let budget = self.operation_budget(step.own_timeout.map(|d| ("step timeout", d)));
        let interrupt = Interrupt {
            stop: self.stop.clone(),
            budget,
            cleanup: false,
        };
        let env = self
            .env
            .for_step(step.id.phase, &Self::variables(step, hook));
        let label = step.script_label(Some(hook));
        self.script(label, path, env, &interrupt)
            .await
            .map_err(|mut error| {
                error.text = format!("{hook} hook: {}", error.text);
                error
            })
    }

    /// Cause report, notification and `on-error`, under a budget of their own (S-3.24, S-3.25).
    async fn clean_up(&self, mut failure: Failure, begin: Instant) -> Failure {
        if let Some(reason) = self.stop.reason() {
            // The reason is the error's cause even where a step noticed it only by its effect.
            if !failure.stopped {
                let cause = StepError::from(reason);
                failure.text = format!("{} ({})", failure.text, cause.text);
            }
        }
        self.tell_later_stops();
        let length = self.run.cleanup_timeout;
        let label = format!("run.cleanup_timeout {}", duration::format(length));
        let budget = Budget::new(label, length);
        let cause = self.cause_report(&failure, &budget).await;
        let told = self.notify(&failure, cause, begin, &budget).await;
        if let Err(text) = told {
            failure.undelivered = true;
            failure.text = format!("{}\n{text}", failure.text);
        }
        if let Some(hook) = &self.plans.on_error {
            let variables = HookVariables {
                name: hook.name,
                failed_step: failure.failed_step.clone(),
                error: Some(self.doors.scripts.mask(&failure.text)),
            };
            let env = self.env.for_hook(Some(failure.phase), &variables);
            let interrupt = Interrupt {
                stop: self.stop.clone(),
                budget,
                cleanup: true,
            };
            let result = self
                .script(hook.name.to_owned(), &hook.path, env, &interrupt)
                .await;
            if let Err(error) = result {
                failure.text = format!("{}\non-error hook: {error}", failure.text);
            }
        }
        self.tell_later_stops();
        failure
    }

    /// Tells those elsewhere; it may take half of the clean-up's time. What goes wrong is a line, and an error where it has to arrive.
    async fn notify(
        &self,
        failure: &Failure,
        cause: Option<String>,
        begin: Instant,
        budget: &Budget,
    ) -> Result<(), String> {
        let Some(notifier) = self.notifier else {
            return Ok(());
        };
        let event = match self.stop.reason() {
            Some(StopReason::Watchdog(_)) => EventName::Stalled,
            _ => EventName::Error,
        };
        let error = match cause {
            Some(cause) => format!("{}\n{cause}", failure.text),
            None => failure.text.clone(),
        };
        let message = Message {
            event,
            command: self.command.to_owned(),
            mode: "live",
            duration: Some(begin.elapsed()),
            failed_step: failure.failed_step.clone(),
            error: Some(self.doors.scripts.mask(&error)),
        };
        let half = budget.child("half of run.cleanup_timeout", self.run.cleanup_timeout / 2);
        let sent = tokio::select! {
            sent = notifier.send(&message, &half) => sent,
            () = self.stop.stopped_at_once() => Err("notify: interrupted by a second signal".to_owned()),
        };
        let Err(error) = sent else { return Ok(()) };
        self.bus().note(
            Level::Error,
            format!("notify dispatch failed ({}): {error}", event.word()),
        );
        if notifier.is_required() {
            return Err(format!(
                "notify delivery required ({}): {error}",
                event.word()
            ));
        }
        Ok(())
    }

    fn tell_later_stops(&self) {
        for reason in self.stop.take_later() {
            self.bus().note(Level::Warn, format!("also: {reason}"));
        }
    }

    /// What the cluster knows about the object of the failed step (S-11.31), and the first line of it.
    async fn cause_report(&self, failure: &Failure, budget: &Budget) -> Option<String> {
        let (subject, name) = failure.subject.as_ref()?;
        // After a signal nobody waits for reasons, and an API that is away tells none.
        let asked = !matches!(
            self.stop.reason(),
            Some(StopReason::Signal(_) | StopReason::Watchdog(_) | StopReason::LostLock(_))
        );
        if self.dry() || !asked {
            return None;
        }
        let subject = match subject.clone() {
            Subject::Workload(workload) => CauseSubject::Workload(workload),
            Subject::Job(namespace, name) => CauseSubject::Job { namespace, name },
            Subject::Claim(namespace, name) => CauseSubject::Claim { namespace, name },
            Subject::Container(namespace, name, _) => CauseSubject::Pod { namespace, name },
            Subject::CronJob(..) | Subject::Release(..) | Subject::Nothing => return None,
        };
        let budget = budget.child("cause report 5s", CAUSE_BUDGET);
        let gather = async {
            let client = self.doors.cluster.get().await.ok()?;
            Some(client.causes(&subject, Some(self.begin), &budget).await)
        };
        let gathered = tokio::select! {
            gathered = budget.run(gather) => gathered.ok().flatten().unwrap_or_default(),
            () = self.stop.stopped_at_once() => return None,
        };
        let first = gathered.first().cloned()?;
        self.bus().emit(EventKind::Cause {
            text: format!("cause of {name}:"),
        });
        for text in gathered {
            self.bus().emit(EventKind::Cause {
                text: format!("  {text}"),
            });
        }
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::future::LocalBoxFuture;
    use kzero_cluster::ConnectOptions;
    use kzero_testkit::MiniApi;

    use super::*;
    use crate::environment::Environment;
    use crate::event::{Event, StepId, Subscriber};
    use crate::report::Masker;
    use crate::steps::{Action, Releases, View};

    #[derive(Debug)]
    struct Panics;

    impl Action for Panics {
        fn detail(&self, _view: &View) -> Option<String> {
            None
        }

        fn subject(&self) -> Subject {
            Subject::Nothing
        }

        fn run<'a>(
            &'a self,
            _cx: &'a StepContext<'a>,
        ) -> LocalBoxFuture<'a, Result<(), StepError>> {
            async { panic!("boom") }.boxed_local()
        }
    }

    struct Seen(Mutex<Vec<Event>>);

    impl Subscriber for Seen {
        fn event(&self, event: &Event) {
            self.0.lock().unwrap().push(event.clone());
        }
    }

    #[test]
    fn after_a_panic_on_error_runs_and_the_run_ends_as_a_bug() {
        // S-D.1
        let api = MiniApi::start_blocking();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("e.sh"), "echo \"$KZERO_ERROR\" >seen\n").unwrap();
        let mut environment = Environment::capture();
        folder.path().clone_into(&mut environment.directory);
        let resolved = kzero_cluster::resolve(&ConnectOptions {
            kubeconfig: Some(api.kubeconfig(folder.path())),
            ..ConnectOptions::default()
        })
        .unwrap();
        let seen = Arc::new(Seen(Mutex::default()));
        let bus = Arc::new(Bus::new("run".into(), Mode::Live, vec![seen.clone()]));
        let id = StepId {
            phase: Phase::Down,
            index: 0,
            reference: None,
        };
        let step = Step {
            id,
            parts: None,
            label: "custom: ./x.sh".into(),
            pre: None,
            post: None,
            own_timeout: None,
            replicas: None,
            wait_for_ready: false,
            wait_for_termination: false,
            action: Box::new(Panics),
        };
        let plan = |phase, steps| Plan {
            phase,
            pre: None,
            post: None,
            steps,
        };
        let plans = Plans {
            down: plan(Phase::Down, vec![step]),
            up: plan(Phase::Up, vec![]),
            on_error: Some(Hook {
                name: "on-error",
                path: "./e.sh".into(),
            }),
            releases: Releases::default(),
        };
        let settings = Settings {
            kubectl: "kubectl".into(),
            helm: "helm".into(),
            shell: "/bin/sh".into(),
            default_shell: true,
            workspace: None,
            context: None,
            environment: environment.clone(),
            profile: "test".into(),
            releases: crate::releases::Releases::new(&environment, "run", Ok(Vec::new())),
            cleanup_timeout: Duration::from_secs(30),
        };
        let run = RunSettings {
            attempts: 3,
            delay: Duration::from_millis(1),
            scope: RetryScope::Step,
            operation_timeout: None,
            cleanup_timeout: Duration::from_secs(30),
            execution: Execution::Native,
            plan_only: false,
        };
        let doors = Doors {
            cluster: ClusterDoor::new(resolved, Arc::clone(&bus)),
            scripts: Scripts::new(Arc::clone(&bus), Masker::default()),
            bus,
        };
        let engine = Engine {
            doors: &doors,
            plans: &plans,
            run: &run,
            settings: &settings,
            env: &ChildEnv::new(&environment, false, None, None, "down", "run"),
            stop: &Stop::default(),
            last: RefCell::new(StopPoint::Nothing),
            begin: jiff::Timestamp::now(),
            finished: &BTreeMap::new(),
            lock: None,
            memory: &Keeper::off(&doors.bus),
            notifier: None,
            command: "down",
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let failure = runtime.block_on(engine.run(&[Phase::Down])).unwrap_err();
        assert!(failure.bug);
        assert_eq!(failure.failed_step.as_deref(), Some("down[0]"));
        assert!(
            failure.text.contains("panic at down[0]: boom"),
            "{}",
            failure.text
        );
        let told = std::fs::read_to_string(folder.path().join("seen")).unwrap();
        assert!(told.contains("boom"), "{told}");
        let events = seen.0.lock().unwrap();
        assert!(matches!(
            events.last().map(|event| &event.kind),
            Some(EventKind::RunFinished { ok: false, .. })
        ));
    }
}
