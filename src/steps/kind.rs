//! What a kind of step has to say of itself, and what its actions do.

use std::path::PathBuf;

use futures::future::LocalBoxFuture;
use kzero_cluster::WorkloadRef;
use kzero_profile::{KindSpec, StepRef, StepSpec};

use super::context::StepContext;
use super::error::StepError;
use super::release::{Forecast, ForecastContext};
use crate::environment::Environment;
use crate::event::Phase;
use crate::state::memory::Key;

/// Who carries workload and release steps out, once `auto` is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    /// kzero's own API client.
    Native,
    /// The configured kubectl, helm and release scripts.
    Shell,
}

/// A kind of step: how it is written, and how it becomes an action.
pub struct Kind {
    /// Name, options and rules, for loader and schema.
    pub spec: KindSpec,
    /// Makes the action of one step. The loader has checked all shapes before.
    pub build: fn(&BuildContext<'_>) -> Box<dyn Action>,
}

/// What an action is made of.
pub struct BuildContext<'a> {
    /// The pipeline.
    pub phase: Phase,
    /// The object.
    pub reference: &'a StepRef,
    /// The step as written.
    pub step: &'a StepSpec,
    /// `helm.workspace` as written, if any.
    pub workspace: Option<&'a str>,
    /// The process environment, for the paths of manifests.
    pub environment: &'a Environment,
}

/// How a step is shown.
pub struct View {
    /// Who would carry it out.
    pub execution: Execution,
    /// The suspend flag that is remembered of a CronJob.
    pub suspend: Option<bool>,
}

/// A file without which a step cannot run (S-3.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededFile {
    /// What it is for, such as `hook pre-down` or `manifest`.
    pub purpose: String,
    /// As written in the profile.
    pub written: String,
    /// The absolute path.
    pub path: PathBuf,
    /// A further hint for when it is absent.
    pub hint: Option<String>,
}

/// The object a step is about, for validation, live state and cause reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A Deployment or StatefulSet.
    Workload(WorkloadRef),
    /// A CronJob by namespace and name.
    CronJob(String, String),
    /// A claim by namespace and name.
    Claim(String, String),
    /// A Job by namespace and name.
    Job(String, String),
    /// A container of a pod: namespace, pod, container.
    Container(String, String, String),
    /// A release by namespace and name.
    Release(String, String),
    /// Nothing in the cluster.
    Nothing,
}

impl Subject {
    /// What it is remembered by, if it has a size or a suspend flag.
    #[must_use]
    pub fn key(&self) -> Option<Key> {
        match self {
            Self::Workload(workload) => Some(Key::from(workload)),
            Self::CronJob(namespace, name) => Some(Key::cron_job(namespace, name)),
            _ => None,
        }
    }
}

/// Release steps of a profile, which make or take objects of other steps (S-D.15).
#[derive(Debug, Clone, Default)]
pub struct Releases {
    /// Phase, index and namespace of each release step.
    pub steps: Vec<(Phase, usize, String)>,
}

impl Releases {
    /// The release step of `up` before `index` that may bring an object of `namespace`.
    pub fn brings(&self, namespace: &str, index: usize) -> Option<usize> {
        self.steps
            .iter()
            .filter(|(phase, at, space)| *phase == Phase::Up && *at < index && space == namespace)
            .map(|(_, at, _)| *at)
            .next_back()
    }

    /// Whether a release step takes, took or brings objects of `namespace`, so that their
    /// absence on `down` is no failure.
    pub fn may_have_taken(&self, namespace: &str) -> bool {
        self.steps.iter().any(|(_, _, space)| space == namespace)
    }
}

/// The main action of one planned step. Plain data until it runs.
pub trait Action: std::fmt::Debug {
    /// The type detail of the plan line (S-6.10).
    fn detail(&self, view: &View) -> Option<String>;

    /// Files that must exist before a live run.
    fn files(&self, _execution: Execution, _environment: &Environment) -> Vec<NeededFile> {
        Vec::new()
    }

    /// What else decides what it does: files and chart folders beside [`Action::files`], as written and where they are.
    fn sources(&self, _execution: Execution) -> Vec<(String, PathBuf)> {
        Vec::new()
    }

    /// Why a live run cannot do this yet.
    fn unavailable(&self, _execution: Execution) -> Option<String> {
        None
    }

    /// Warnings that need no cluster.
    fn warnings(&self, _execution: Execution) -> Vec<String> {
        Vec::new()
    }

    /// A look at what a native run would change in the cluster, where the plan line does not say all of it.
    fn forecast<'a>(
        &'a self,
        _cx: &'a ForecastContext<'a>,
    ) -> Option<LocalBoxFuture<'a, Result<Forecast, String>>> {
        None
    }

    /// What the step is about.
    fn subject(&self) -> Subject;

    /// A timeout that the action brings along, stronger than `run.operation_timeout`
    /// but weaker than the step's own (S-2.7).
    fn timeout(&self) -> Option<std::time::Duration> {
        None
    }

    /// Does it, or in dry-run asks whether it could be done. Idempotent (S-2.20).
    fn run<'a>(&'a self, cx: &'a StepContext<'a>) -> LocalBoxFuture<'a, Result<(), StepError>>;
}
