//! Profile and phase to an ordered list of steps. Sends nothing, runs nothing.

use std::path::PathBuf;
use std::time::Duration;

use kzero_profile::{Profile, StepBody, StepOptions, StepSpec, duration};

use crate::environment::Environment;
use crate::event::{Phase, StepId};
use crate::steps::{
    Action, BuildContext, CustomAction, Execution, NeededFile, Releases, View, kind,
};

/// A phase hook.
#[derive(Debug, Clone)]
pub struct Hook {
    /// `pre-down` … `on-error`.
    pub name: &'static str,
    /// The path as written.
    pub path: String,
}

/// What memory says of the object of a step of `up`.
#[derive(Debug, Clone, Default)]
pub struct Recalled {
    /// Its size, as the plan shows it.
    pub size: Option<String>,
    /// Its suspend flag.
    pub suspend: Option<bool>,
}

/// One planned step.
#[derive(Debug)]
pub struct Step {
    /// Where it stands.
    pub id: StepId,
    /// Kind, namespace and name of a reference.
    pub parts: Option<(String, String, String)>,
    /// The reference, or `custom: PATH`.
    pub label: String,
    /// Script before the main action.
    pub pre: Option<String>,
    /// Script after it.
    pub post: Option<String>,
    /// The step's own timeout.
    pub own_timeout: Option<Duration>,
    /// `replicas` where it applies.
    pub replicas: Option<u32>,
    /// `wait_for_ready` where it applies.
    pub wait_for_ready: bool,
    /// `wait_for_termination` where it applies.
    pub wait_for_termination: bool,
    /// The main action.
    pub action: Box<dyn Action>,
}

impl Step {
    fn new(
        phase: Phase,
        index: usize,
        step: &StepSpec,
        profile: &Profile,
        environment: &Environment,
    ) -> Option<Self> {
        let (parts, label, action): (_, _, Box<dyn Action>) = match &step.body {
            StepBody::Custom { path } => (
                None,
                format!("custom: {path}"),
                Box::new(CustomAction {
                    phase,
                    index,
                    path: path.clone(),
                }),
            ),
            StepBody::Reference(reference) => {
                let build = BuildContext {
                    phase,
                    reference,
                    step,
                    workspace: profile.helm.workspace.as_deref(),
                    environment,
                };
                // The loader has checked kinds against the same table.
                let action = (kind(reference.kind)?.build)(&build);
                let parts = (
                    reference.kind.to_owned(),
                    reference.namespace.clone(),
                    reference.name.clone(),
                );
                (Some(parts), reference.to_string(), action)
            }
        };
        let options: &StepOptions = &step.options;
        let up = phase == Phase::Up;
        let on = |name: &str, applies: bool| applies && options.bool(name).unwrap_or(false);
        Some(Self {
            id: StepId {
                phase,
                index,
                reference: parts.is_some().then(|| label.clone()),
            },
            pre: step.pre.clone(),
            post: step.post.clone(),
            own_timeout: step.timeout,
            replicas: options.replicas().filter(|_| up),
            wait_for_ready: on("wait_for_ready", up),
            wait_for_termination: on("wait_for_termination", !up),
            parts,
            label,
            action,
        })
    }

    /// The details of the plan line (S-6.9), in order.
    pub fn details(&self, execution: Execution, recalled: Recalled) -> Vec<String> {
        let timeout = self.own_timeout.map(duration::format);
        let view = View {
            execution,
            suspend: recalled.suspend,
        };
        let mut details: Vec<String> = self.action.detail(&view).into_iter().collect();
        if let Some(pre) = &self.pre {
            details.push(format!("pre: {pre}"));
        }
        if let Some(post) = &self.post {
            details.push(format!("post: {post}"));
        }
        if let Some(replicas) = self.replicas.map(|n| n.to_string()).or(recalled.size) {
            details.push(format!("replicas: {replicas}"));
        }
        if self.wait_for_ready {
            details.push("wait_for_ready: true".into());
        }
        if self.wait_for_termination {
            details.push("wait_for_termination: true".into());
        }
        if let Some(timeout) = timeout {
            details.push(format!("timeout: {timeout}"));
        }
        details
    }

    /// `LABEL (details)`.
    pub fn line(&self, execution: Execution, recalled: Recalled) -> String {
        let details = self.details(execution, recalled);
        if details.is_empty() {
            self.label.clone()
        } else {
            format!("{} ({})", self.label, details.join(", "))
        }
    }

    /// Label of one of its scripts (S-4.5); `None` for the main action.
    pub fn script_label(&self, hook: Option<&str>) -> String {
        let base = format!("pipeline-{}-{}", self.id.phase, self.id.index);
        match hook {
            Some(hook) => format!("{base}-{hook}"),
            None => base,
        }
    }
}

/// One phase of a profile.
#[derive(Debug)]
pub struct Plan {
    /// Which.
    pub phase: Phase,
    /// Its hook before the steps.
    pub pre: Option<Hook>,
    /// Its hook after them.
    pub post: Option<Hook>,
    /// Its steps in order.
    pub steps: Vec<Step>,
}

/// Both phases and what they share.
#[derive(Debug)]
pub struct Plans {
    /// `pipelines.down`.
    pub down: Plan,
    /// `pipelines.up`.
    pub up: Plan,
    /// `hooks.on-error`.
    pub on_error: Option<Hook>,
    /// Release steps of both.
    pub releases: Releases,
}

impl Plans {
    /// Makes the plans of a loaded profile.
    pub fn new(profile: &Profile, environment: &Environment) -> Self {
        let hook = |name: &'static str, path: &Option<String>| {
            path.clone().map(|path| Hook { name, path })
        };
        let steps = |phase, list: &Option<Vec<StepSpec>>| -> Vec<Step> {
            let list = list.as_deref().unwrap_or_default();
            let step = |(index, step)| Step::new(phase, index, step, profile, environment);
            list.iter().enumerate().filter_map(step).collect()
        };
        let down = Plan {
            phase: Phase::Down,
            pre: hook("pre-down", &profile.hooks.pre_down),
            post: hook("post-down", &profile.hooks.post_down),
            steps: steps(Phase::Down, &profile.pipelines.down),
        };
        let up = Plan {
            phase: Phase::Up,
            pre: hook("pre-up", &profile.hooks.pre_up),
            post: hook("post-up", &profile.hooks.post_up),
            steps: steps(Phase::Up, &profile.pipelines.up),
        };
        let releases = down.steps.iter().chain(&up.steps).filter_map(|step| {
            let (kind, namespace, _) = step.parts.as_ref()?;
            (kind == "release").then(|| (step.id.phase, step.id.index, namespace.clone()))
        });
        let releases = Releases {
            steps: releases.collect(),
        };
        Self {
            down,
            up,
            on_error: hook("on-error", &profile.hooks.on_error),
            releases,
        }
    }

    /// The plan of a phase.
    pub fn phase(&self, phase: Phase) -> &Plan {
        match phase {
            Phase::Down => &self.down,
            Phase::Up => &self.up,
        }
    }

    /// The same, to leave steps out.
    pub fn phase_mut(&mut self, phase: Phase) -> &mut Plan {
        match phase {
            Phase::Down => &mut self.down,
            Phase::Up => &mut self.up,
        }
    }

    /// Every file and chart folder whose content decides what the given phases do, as people know it and where it is (S-11.21).
    pub fn sources(
        &self,
        phases: &[Phase],
        execution: Execution,
        environment: &Environment,
    ) -> Vec<(String, PathBuf)> {
        let files = self.files(phases, execution, environment).into_iter();
        let mut sources: Vec<_> = files.map(|file| (file.written, file.path)).collect();
        for phase in phases {
            for step in &self.phase(*phase).steps {
                sources.extend(step.action.sources(execution));
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        sources.retain(|(_, path)| seen.insert(path.clone()));
        sources
    }

    /// Every file the given phases need, each path once (S-3.6).
    pub fn files(
        &self,
        phases: &[Phase],
        execution: Execution,
        environment: &Environment,
    ) -> Vec<NeededFile> {
        let mut files = Vec::new();
        let script = |purpose: String, written: &str| NeededFile {
            purpose,
            written: written.to_owned(),
            path: environment.absolute(written),
            hint: None,
        };
        for phase in phases {
            let plan = self.phase(*phase);
            for hook in [&plan.pre, &plan.post].into_iter().flatten() {
                files.push(script(format!("hook {}", hook.name), &hook.path));
            }
            for step in &plan.steps {
                let place = step.id.place();
                for (which, path) in [("pre", &step.pre), ("post", &step.post)] {
                    if let Some(path) = path {
                        files.push(script(format!("{which} hook of {place}"), path));
                    }
                }
                files.extend(step.action.files(execution, environment).into_iter().map(
                    |mut file| {
                        file.purpose = format!("{} of {place}", file.purpose);
                        file
                    },
                ));
            }
        }
        if let Some(hook) = &self.on_error {
            files.push(script("hook on-error".into(), &hook.path));
        }
        let mut seen = std::collections::BTreeSet::new();
        files.retain(|file| seen.insert(file.path.clone()));
        files
    }
}
