//! `deployment` and `statefulset`: set a size, wait for what follows from it.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use kzero_cluster::{ErrorClass, ScaleKind, WorkloadRef};
use kzero_profile::{KindSpec, NameRule, OptionPhases, OptionSpec, Required, Shape};

use super::context::StepContext;
use super::error::StepError;
use super::kind::{Action, BuildContext, Execution, Kind, Subject, View};
use crate::event::{Effect, Level, Phase, SizeSource};
use crate::script::Program;

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

    /// The size to set, given the live one (S-D.12).
    fn size(&self, live: i32) -> (u32, SizeSource) {
        match (self.phase, self.replicas, u32::try_from(live).unwrap_or(0)) {
            (Phase::Down, _, _) => (0, SizeSource::Step),
            (Phase::Up, Some(replicas), _) => (replicas, SizeSource::Step),
            (Phase::Up, None, 0) => (1, SizeSource::Default),
            (Phase::Up, None, live) => (live, SizeSource::Live),
        }
    }

    fn warn_default(&self, cx: &StepContext<'_>, source: SizeSource) {
        if source == SizeSource::Default {
            cx.note(
                Level::Warn,
                format!(
                    "{}: nothing says how large it was, waking it with 1 (set replicas to choose)",
                    self.reference
                ),
            );
        }
    }

    /// Returns whether the object is there.
    async fn native(&self, cx: &StepContext<'_>) -> Result<bool, StepError> {
        let scale = |replicas, source| Effect::Scale {
            reference: self.reference.clone(),
            replicas,
            source,
        };
        if cx.plan_only {
            let (replicas, source) = self.size(0);
            cx.act(scale(replicas, source), false);
            if self.phase == Phase::Up && self.wait {
                cx.announce_wait("rollout", &self.reference);
            }
            return Ok(true);
        }
        let client = cx.client().await?;
        let mut chosen = (0, SizeSource::Step);
        let mut told = None;
        let choose = |live: i32| {
            chosen = self.size(live);
            // After a conflict it is chosen again, and told again only if it is another.
            if !cx.dry() && told.replace(chosen) != Some(chosen) {
                self.warn_default(cx, chosen.1);
                cx.act(scale(chosen.0, chosen.1), false);
            }
            chosen.0
        };
        let scaled = cx
            .stop
            .race_call(client.set_replicas_by(&self.object, choose, cx.apply_mode(), &cx.budget))
            .await?;
        let scaled = match scaled {
            Ok(scaled) => scaled,
            Err(error) if error.class() == ErrorClass::NotFound => {
                return cx
                    .excuse_absence(&self.reference, &self.object.namespace)
                    .map(|()| false)
                    .ok_or_else(|| error.into());
            }
            Err(error) => return Err(error.into()),
        };
        if cx.dry() {
            self.warn_default(cx, chosen.1);
            cx.act(scale(chosen.0, chosen.1), true);
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

    async fn shell(&self, cx: &StepContext<'_>) -> Result<(), StepError> {
        let object = format!("{}/{}", self.object.kind.word(), self.object.name);
        let scale = |replicas, source| Effect::ShellScale {
            reference: self.reference.clone(),
            replicas,
            source,
        };
        if cx.dry() {
            let (replicas, source) = self.size(0);
            cx.act(scale(replicas, source), false);
            return Ok(());
        }
        let kubectl = cx.program("command.kubectl", &cx.settings.kubectl)?;
        let program = |arguments: &[&str]| kubectl_program(cx, &kubectl, arguments);
        let namespace = self.object.namespace.as_str();
        let (replicas, source) = if self.phase == Phase::Up && self.replicas.is_none() {
            // Waking must not shrink what is up (S-D.12): ask for the live size first.
            let get = [
                "get",
                &object,
                "-n",
                namespace,
                "-o",
                "jsonpath={.spec.replicas}",
            ];
            let mut get = program(&get);
            get.streamed = false;
            let live = cx
                .child(&get, &format!("waiting rollout {}", self.reference))
                .await?;
            let live = live.trim();
            if live.is_empty() {
                self.size(0)
            } else {
                let live = live.parse().map_err(|_| {
                    StepError::permanent(format!("{}: no size in what it wrote: {live}", get.shown))
                })?;
                self.size(live)
            }
        } else {
            self.size(0)
        };
        self.warn_default(cx, source);
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
