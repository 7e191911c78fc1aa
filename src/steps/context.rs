//! The doors that an action may use.

use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kzero_cluster::{ApplyMode, Budget, Cluster, ClusterError, Notice, Observer, Resolved};
use kzero_profile::duration;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::error::StepError;
use super::kind::{Execution, Releases};
use crate::environment::Environment;
use crate::event::{Bus, Effect, EventKind, Level, Mode, Phase, StepId, Wait};
use crate::script::{ChildEnv, Interrupt, Program, Scripts};
use crate::state::keeper::Keeper;
use crate::stop::Stop;

/// How long a wait may take when no setting says otherwise (S-2.7).
const DEFAULT_WAIT: Duration = Duration::from_secs(5 * 60);
/// The pause between two lines of a long wait (S-3.13).
const STILL_WAITING: Duration = Duration::from_secs(30);

/// Settings of a run that steps read.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `command.kubectl` as written.
    pub kubectl: String,
    /// `command.helm` as written.
    pub helm: String,
    /// `command.shell` as written.
    pub shell: String,
    /// Whether `command.shell` is the default, for the hint of S-4.7.
    pub default_shell: bool,
    /// `helm.workspace` as written.
    pub workspace: Option<String>,
    /// `--context`, passed on to kubectl and helm.
    pub context: Option<String>,
    /// The process environment.
    pub environment: Environment,
    /// Slug that marks Jobs of this profile (S-D.14).
    pub profile: String,
    /// Where records and charts of releases are.
    pub releases: crate::releases::Releases,
    /// `run.cleanup_timeout`.
    pub cleanup_timeout: Duration,
}

/// The API client of a run, built when first needed.
pub struct ClusterDoor {
    resolved: Resolved,
    observer: Observer,
    /// What the wait in hand last said of its progress.
    progress: Arc<Mutex<String>>,
    client: OnceCell<Cluster>,
}

impl ClusterDoor {
    /// A door to the cluster of a kubeconfig. Nothing is sent yet.
    pub fn new(resolved: Resolved, bus: Arc<Bus>) -> Self {
        let progress = Arc::new(Mutex::new(String::new()));
        let seen = Arc::clone(&progress);
        let observer: Observer = Arc::new(move |notice: Notice| match &notice {
            Notice::Progress { text, .. } => {
                seen.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone_from(text);
            }
            Notice::Conflict { .. } => bus.note(Level::Debug, notice.to_string()),
            _ => bus.note(Level::Warn, notice.to_string()),
        });
        Self {
            resolved,
            observer,
            progress,
            client: OnceCell::new(),
        }
    }

    /// The client. Building one may run a credential plugin, but asks the API nothing.
    ///
    /// # Errors
    ///
    /// What in the kubeconfig cannot be used.
    pub async fn get(&self) -> Result<Cluster, ClusterError> {
        // One build at a time: a credential plugin must not run twice side by side.
        let build = || self.resolved.connect(Arc::clone(&self.observer));
        self.client.get_or_try_init(build).await.cloned()
    }

    fn progress(&self) -> String {
        self.progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Says how far the wait in hand is.
    pub fn set_progress(&self, text: impl Into<String>) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = text.into();
    }

    fn forget_progress(&self) {
        self.progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}

/// Everything the main action of one step may use.
pub struct StepContext<'a> {
    /// Where it stands.
    pub id: &'a StepId,
    /// Where events go.
    pub bus: &'a Bus,
    /// Who carries it out.
    pub execution: Execution,
    /// The way to the API server.
    pub cluster: &'a ClusterDoor,
    /// The way to children.
    pub scripts: &'a Scripts,
    /// The environment of a script of this step's main action.
    pub env: ChildEnv,
    /// The environment of kubectl and helm.
    pub base_env: &'a ChildEnv,
    /// The stop of the run.
    pub stop: &'a Stop,
    /// Time of the main action and its waits.
    pub budget: Budget,
    /// Length of that time, if a setting gives one.
    pub timeout: Option<Duration>,
    /// Settings of the run.
    pub settings: &'a Settings,
    /// Release steps of the profile.
    pub releases: &'a Releases,
    /// What parked objects were before.
    pub memory: &'a Keeper<'a>,
    /// In dry-run: nobody is asked, plan only (S-3.21, S-3.22).
    pub plan_only: bool,
}

impl StepContext<'_> {
    /// Whether nothing may change.
    pub fn dry(&self) -> bool {
        self.bus.mode() == Mode::DryRun
    }

    /// How mutations are sent.
    pub fn apply_mode(&self) -> ApplyMode {
        if self.dry() {
            ApplyMode::DryRun
        } else {
            ApplyMode::Live
        }
    }

    /// The API client.
    ///
    /// # Errors
    ///
    /// What in the kubeconfig cannot be used.
    pub async fn client(&self) -> Result<Cluster, StepError> {
        Ok(self.stop.race(self.cluster.get()).await??)
    }

    /// Says what the main action does.
    pub fn act(&self, effect: Effect, validated: bool) {
        self.bus.emit(EventKind::Action {
            step: self.id.clone(),
            effect,
            validated,
        });
    }

    /// Emits a line of some level.
    pub fn note(&self, level: Level, text: impl Into<String>) {
        self.bus.note(level, text);
    }

    /// Warns that what is remembered is of an object that had the name before (S-11.9).
    pub fn warn_foreign(&self, reference: &str, foreign: Option<crate::state::memory::Value>) {
        if let Some(value) = foreign {
            let text = format!(
                "{reference}: was replaced since {value} were remembered, which is not used"
            );
            self.note(Level::Warn, text);
        }
    }

    /// Says, if so, that an object which is not there need not be (S-D.15); `None` when its
    /// absence is a failure.
    pub fn excuse_absence(&self, reference: &str, namespace: &str) -> Option<()> {
        let note = match self.id.phase {
            Phase::Down if self.releases.may_have_taken(namespace) => {
                "absent, nothing to do".to_owned()
            }
            Phase::Up if self.dry() => {
                format!(
                    "comes with up[{}]",
                    self.releases.brings(namespace, self.id.index)?
                )
            }
            Phase::Down | Phase::Up => return None,
        };
        let reference = reference.to_owned();
        self.act(Effect::Absent { reference, note }, false);
        Some(())
    }

    /// Runs one API call: a stop gives it a few seconds more (S-D.8).
    ///
    /// # Errors
    ///
    /// The call's own, or the stop.
    pub async fn call<T, E>(&self, call: impl Future<Output = Result<T, E>>) -> Result<T, StepError>
    where
        StepError: From<E>,
    {
        Ok(self.stop.race_call(call).await??)
    }

    /// The budget of a wait: that of the step, or five minutes.
    pub fn wait_budget(&self) -> Budget {
        if self.timeout.is_some() {
            return self.budget.clone();
        }
        let label = format!("default wait timeout {}", duration::format(DEFAULT_WAIT));
        self.budget.child(label, DEFAULT_WAIT)
    }

    /// The length of a wait as shown (S-6.38).
    pub fn wait_timeout(&self) -> String {
        duration::format(self.timeout.unwrap_or(DEFAULT_WAIT))
    }

    /// Waits for something in the cluster: says so, says every 30 s that it still does, and
    /// ends at once on a stop.
    ///
    /// # Errors
    ///
    /// The wait's own, or the stop.
    pub async fn wait<T, E>(
        &self,
        what: &'static str,
        reference: &str,
        wait: impl Future<Output = Result<T, E>>,
    ) -> Result<T, StepError>
    where
        StepError: From<E>,
    {
        self.announce_wait(what, reference);
        self.cluster.forget_progress();
        let verb = format!("waiting {what} {reference}");
        Ok(self.stop.race(self.patiently(&verb, wait)).await??)
    }

    /// Says that something will be, or would be, waited for.
    pub fn announce_wait(&self, what: &'static str, reference: &str) {
        let timeout = self.wait_timeout();
        self.bus.emit(EventKind::Waiting {
            step: self.id.clone(),
            wait: Wait {
                what,
                reference: reference.to_owned(),
                timeout,
            },
        });
    }

    /// Runs a future and says every 30 s that it has not ended.
    pub(super) async fn patiently<F: Future>(&self, what: &str, future: F) -> F::Output {
        let begin = Instant::now();
        tokio::pin!(future);
        let mut next = begin + STILL_WAITING;
        loop {
            // The clock first: a future that is never idle would keep it from its turn.
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(next) => {
                    next += STILL_WAITING;
                    self.bus.emit(EventKind::StillWaiting {
                        step: self.id.clone(),
                        what: what.to_owned(),
                        elapsed: begin.elapsed(),
                        progress: self.cluster.progress(),
                    });
                }
                output = &mut future => return output,
            }
        }
    }

    /// Runs a child under this step's budget; `still` is the verb phrase of S-3.13.
    ///
    /// # Errors
    ///
    /// As [`Scripts::run`].
    pub async fn child(&self, program: &Program, still: &str) -> Result<String, StepError> {
        let interrupt = Interrupt {
            stop: self.stop.clone(),
            budget: self.budget.clone(),
            cleanup: false,
        };
        self.cluster.forget_progress();
        Ok(self
            .patiently(still, self.scripts.run(program, &interrupt))
            .await?)
    }

    /// A configured program, found with kzero's own PATH (S-4.2).
    ///
    /// # Errors
    ///
    /// It is not there; the text names the key that would change that.
    pub fn program(&self, key: &str, name: &str) -> Result<PathBuf, StepError> {
        self.settings.environment.find_program(name).ok_or_else(|| {
            StepError::permanent(format!(
                "{name} not found on PATH\nhint: install it, set {key}, or use run.execution: native"
            ))
        })
    }
}
