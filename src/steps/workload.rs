//! `deployment` and `statefulset`: set a size, wait for what follows from it.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use kzero_cluster::{ErrorClass, ScaleKind, Size, WorkloadRef};
use kzero_profile::{KindSpec, NameRule, OptionPhases, OptionSpec, Required, Shape};

use super::context::StepContext;
use super::error::{Exchange, StepError};
use super::kind::{Action, BuildContext, Execution, Kind, Subject, View};
use crate::event::{Effect, Level, Phase, SizeSource};
use crate::script::Program;
use crate::state::memory::{Key, Live, Value, Waking, size_on_up};

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "replicas",
        shape: Shape::Replicas,
        phases: OptionPhases::Up,
        required: Required::No,
        summary: "size on up",
    },
    OptionSpec {
        name: "wait_for_ready",
        shape: Shape::Bool,
        phases: OptionPhases::Up,
        required: Required::No,
        summary: "on up: wait until ready",
    },
    OptionSpec {
        name: "wait_for_termination",
        shape: Shape::Bool,
        phases: OptionPhases::Down,
        required: Required::No,
        summary: "on down: wait until no pod is left",
    },
];

/// The row of Deployments.
pub(super) const DEPLOYMENT: Kind = Kind {
    spec: KindSpec {
        name: "deployment",
        summary: "sets the size of a Deployment",
        name_rule: NameRule::Subdomain,
        options: OPTIONS,
    },
    build: |cx| Box::new(Workload::new(ScaleKind::Deployment, cx)),
};

/// The row of StatefulSets.
pub(super) const STATEFULSET: Kind = Kind {
    spec: KindSpec {
        name: "statefulset",
        summary: "sets the size of a StatefulSet",
        name_rule: NameRule::Subdomain,
        options: OPTIONS,
    },
    build: |cx| Box::new(Workload::new(ScaleKind::StatefulSet, cx)),
};

#[derive(Debug)]
struct Workload {
    phase: Phase,
    object: WorkloadRef,
    reference: String,
    replicas: Option<u32>,
    wait: bool,
}

impl Workload {
    fn new(kind: ScaleKind, cx: &BuildContext<'_>) -> Self {
        let option = match cx.phase {
            Phase::Down => "wait_for_termination",
            Phase::Up => "wait_for_ready",
        };
        let replicas = match cx.phase {
            Phase::Down => None,
            Phase::Up => cx.step.options.replicas(),
        };
        let reference = cx.reference;
        Self {
            phase: cx.phase,
            object: WorkloadRef::new(kind, &reference.namespace, &reference.name),
            reference: reference.to_string(),
            replicas,
            wait: cx.step.options.bool(option).unwrap_or(false),
        }
    }

    /// The size without memory, where nobody may be asked.
    fn unread(&self) -> (u32, SizeSource) {
        match (self.phase, self.replicas) {
            (Phase::Down, _) => (0, SizeSource::Step),
            (Phase::Up, Some(replicas)) => (replicas, SizeSource::Step),
            (Phase::Up, None) => (1, SizeSource::Unread),
        }
    }

    /// The size to set, given the live object (S-D.12). On `down` what it is has been recorded when this returns (S-11.1).
    async fn decide(&self, cx: &StepContext<'_>, live: &Live) -> Result<Waking<u32>, StepError> {
        let key = Key::from(&self.object);
        let entry = match (self.phase, self.replicas) {
            (Phase::Down, _) => {
                cx.memory.park(&key, live, &cx.budget).await?;
                return Ok(Waking {
                    wanted: 0,
                    source: SizeSource::Step,
                    foreign: None,
                });
            }
            (Phase::Up, Some(_)) => None,
            (Phase::Up, None) => cx.memory.entry(&key, &cx.budget).await?,
        };
        Ok(size_on_up(self.replicas, entry.as_ref(), live))
    }

    /// What is to be known of a size that no step and no memory gave.
    async fn warn(&self, cx: &StepContext<'_>, waking: &Waking<u32>) {
        cx.warn_foreign(&self.reference, waking.foreign);
        if waking.source == SizeSource::Default {
            let text = format!(
                "{}: nothing says how large it was, waking it with 1 (set replicas to choose)",
                self.reference
            );
            cx.note(Level::Warn, text);
            cx.memory.tell_others(&cx.budget).await;
        }
    }

    fn effect(&self, (replicas, source): (u32, SizeSource)) -> Effect {
        Effect::Scale {
            reference: self.reference.clone(),
            replicas,
            source,
        }
    }

    /// Returns whether the object is there.
    async fn native(&self, cx: &StepContext<'_>) -> Result<bool, StepError> {
        if cx.plan_only {
            cx.act(self.effect(self.unread()), false);
            if self.phase == Phase::Up && self.wait {
                cx.announce_wait("rollout", &self.reference);
            }
            return Ok(true);
        }
        let client = cx.client().await?;
        let mut told: Option<Waking<u32>> = None;
        let choose = async |size: Size| -> Result<u32, Exchange> {
            let waking = self.decide(cx, &size.into()).await?;
            // After a conflict it is chosen again, and told again only if it is another.
            if told.replace(waking) != Some(waking) {
                self.warn(cx, &waking).await;
                if !cx.dry() {
                    cx.act(self.effect((waking.wanted, waking.source)), false);
                }
            }
            Ok(waking.wanted)
        };
        let scaled = cx
            .stop
            .race_call(client.set_replicas_by(&self.object, choose, cx.apply_mode(), &cx.budget))
            .await?;
        let scaled = match scaled {
            Ok(scaled) => scaled,
            Err(error) if error.is_absence() => {
                return cx
                    .excuse_absence(&self.reference, &self.object.namespace)
                    .map(|()| false)
                    .ok_or_else(|| error.into());
            }
            Err(error) => return Err(error.into()),
        };
        if cx.dry() {
            if let Some(waking) = told {
                cx.act(self.effect((waking.wanted, waking.source)), true);
            }
            if self.wait {
                match self.phase {
                    Phase::Up => cx.announce_wait("rollout", &self.reference),
                    Phase::Down => cx.announce_wait("termination", &self.reference),
                }
            }
            return Ok(true);
        }
        if self.wait && self.phase == Phase::Up {
            let budget = cx.wait_budget();
            let ready = client.wait_ready(&self.object, Some(&scaled), &budget);
            cx.wait("rollout", &self.reference, ready).await?;
        }
        Ok(true)
    }

    /// The size that shell execution sets. What memory needs it asks the API, for kubectl does not tell an uid (S-11.13).
    async fn shell_size(
        &self,
        cx: &StepContext<'_>,
        kubectl: &std::path::Path,
    ) -> Result<(u32, SizeSource), StepError> {
        let is_asked = self.phase == Phase::Down || self.replicas.is_none();
        if is_asked && cx.memory.is_on() {
            let client = cx.client().await?;
            let size = client.size(&self.object, &cx.budget);
            match cx.stop.race_call(size).await? {
                Ok(size) => {
                    let waking = self.decide(cx, &size.into()).await?;
                    self.warn(cx, &waking).await;
                    return Ok((waking.wanted, waking.source));
                }
                // kubectl is about to say so.
                Err(error) if error.class() == ErrorClass::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        if self.phase == Phase::Down || self.replicas.is_some() {
            return Ok(self.unread());
        }
        // Waking must not shrink what is up (S-D.12): ask for the live size first.
        let object = format!("{}/{}", self.object.kind.word(), self.object.name);
        let get = [
            "get",
            &object,
            "-n",
            &self.object.namespace,
            "-o",
            "jsonpath={.spec.replicas}",
        ];
        let mut get = kubectl_program(cx, kubectl, &get);
        get.streamed = false;
        let live = cx
            .child(&get, &format!("waiting rollout {}", self.reference))
            .await?;
        let live = match live.trim() {
            "" => 0,
            live => live.parse().map_err(|_| {
                StepError::permanent(format!("{}: no size in what it wrote: {live}", get.shown))
            })?,
        };
        let live = Live {
            uid: String::new(),
            value: Value::size(live),
        };
        let waking = size_on_up(None, None, &live);
        self.warn(cx, &waking).await;
        Ok((waking.wanted, waking.source))
    }

    async fn shell(&self, cx: &StepContext<'_>) -> Result<(), StepError> {
        let object = format!("{}/{}", self.object.kind.word(), self.object.name);
        let scale = |replicas, source| Effect::ShellScale {
            reference: self.reference.clone(),
            replicas,
            source,
        };
        if cx.dry() {
            let (replicas, source) = self.unread();
            cx.act(scale(replicas, source), false);
            return Ok(());
        }
        let kubectl = cx.program("command.kubectl", &cx.settings.kubectl)?;
        let program = |arguments: &[&str]| kubectl_program(cx, &kubectl, arguments);
        let namespace = self.object.namespace.as_str();
        let (replicas, source) = self.shell_size(cx, &kubectl).await?;
        cx.act(scale(replicas, source), false);
        let count = replicas.to_string();
        let still = format!("waiting rollout {}", self.reference);
        cx.child(
            &program(&["scale", &object, "-n", namespace, "--replicas", &count]),
            &still,
        )
        .await?;
        if self.wait && self.phase == Phase::Up {
            cx.announce_wait("rollout", &self.reference);
            let timeout = cx.wait_timeout();
            let arguments = [
                "rollout",
                "status",
                &object,
                "-n",
                namespace,
                "--timeout",
                &timeout,
            ];
            cx.child(&program(&arguments), &still).await?;
        }
        Ok(())
    }

    /// In every execution mode the API is asked for pods that are left (S-2.14).
    async fn wait_for_termination(&self, cx: &StepContext<'_>) -> Result<(), StepError> {
        let client = cx.client().await?;
        let budget = cx.wait_budget();
        let gone = client.wait_terminated(&self.object, &budget);
        cx.wait("termination", &self.reference, gone).await
    }
}

/// A kubectl call with the flags that every call gets.
pub(super) fn kubectl_program(
    cx: &StepContext<'_>,
    kubectl: &std::path::Path,
    arguments: &[&str],
) -> Program {
    let mut all: Vec<std::ffi::OsString> = arguments.iter().map(Into::into).collect();
    if let Some(context) = &cx.settings.context {
        all.push("--context".into());
        all.push(context.into());
    }
    let verb = arguments
        .iter()
        .take(2)
        .copied()
        .collect::<Vec<_>>()
        .join(" ");
    Program {
        label: format!("pipeline-{}-{}", cx.id.phase, cx.id.index),
        shown: format!("{} {verb}", cx.settings.kubectl),
        executable: kubectl.to_owned(),
        arguments: all,
        directory: cx.settings.environment.directory.clone(),
        env: cx.base_env.clone(),
        default_shell: false,
        streamed: true,
    }
}

impl Action for Workload {
    fn detail(&self, _view: &View) -> Option<String> {
        None
    }

    fn subject(&self) -> Subject {
        Subject::Workload(self.object.clone())
    }

    fn run<'a>(&'a self, cx: &'a StepContext<'a>) -> LocalBoxFuture<'a, Result<(), StepError>> {
        async move {
            let present = match cx.execution {
                Execution::Native => self.native(cx).await?,
                Execution::Shell => {
                    self.shell(cx).await?;
                    true
                }
            };
            if present && self.wait && self.phase == Phase::Down && !cx.dry() {
                self.wait_for_termination(cx).await?;
            }
            Ok(())
        }
        .boxed_local()
    }
}
