//! What the cluster says of a profile's steps: what is there, and how large (S-6.11, S-6.13).

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use kzero_cluster::{Budget, Cluster, ClusterError, ErrorClass, Parked};

use crate::event::{Phase, SizeSource};
use crate::pipeline::{Plans, Step};
use crate::state::memory::{Live, Memory, Value, size_on_up, suspend_on_up};
use crate::steps::Subject;

/// Questions under way at once.
const AT_ONCE: usize = 8;
/// How long one answer may take, a server's wish to be left alone for a while included.
const ANSWER: Duration = Duration::from_secs(30);

/// One line of the cluster validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validation {
    /// The reference.
    pub reference: String,
    /// Why it failed; `None` when it is fine.
    pub problem: Option<String>,
    /// Something to know of one that is fine, such as `comes with up[0]`.
    pub note: Option<String>,
}

/// The live size of one step's object, and what the step would make of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveRow {
    /// The phase.
    pub phase: Phase,
    /// The index in it.
    pub index: usize,
    /// The reference.
    pub reference: String,
    /// What is there.
    pub live: String,
    /// What the step makes of it.
    pub wanted: String,
    /// Where a size or flag of `up` comes from.
    pub source: Option<SizeSource>,
    /// What to know of it, if anything.
    pub warning: Option<String>,
}

/// Everything that was asked.
#[derive(Debug, Clone, Default)]
pub struct LiveReport {
    /// One line a distinct reference, those of `down` first.
    pub validations: Vec<Validation>,
    /// One line a step that has a size.
    pub rows: Vec<LiveRow>,
    /// Owners that will undo a park.
    pub owners: Vec<String>,
}

impl LiveReport {
    /// The line of a step.
    pub fn row(&self, step: &Step) -> Option<&LiveRow> {
        let place = (step.id.phase, step.id.index);
        self.rows.iter().find(|row| (row.phase, row.index) == place)
    }
}

/// What was found of one object.
#[derive(Debug, Clone)]
enum Found {
    /// A workload or CronJob.
    Live(Live),
    There,
    Absent,
    Problem(String),
}

/// Asks once for each distinct object.
///
/// # Errors
///
/// Only when the API server cannot be reached any more; every other refusal is a line.
///
/// # Cancel safety
///
/// Safe to drop: it only reads.
pub async fn inspect(
    cluster: &Cluster,
    plans: &Plans,
    memory: &Memory,
    budget: &Budget,
) -> Result<LiveReport, ClusterError> {
    let steps = || plans.down.steps.iter().chain(&plans.up.steps);
    let mut order: Vec<(String, Subject, &Step)> = Vec::new();
    for step in steps() {
        let subject = step.action.subject();
        let asked = !matches!(subject, Subject::Nothing | Subject::Release(..));
        if asked
            && !order
                .iter()
                .any(|(label, known, _)| *label == step.label && *known == subject)
        {
            order.push((step.label.clone(), subject, step));
        }
    }
    let answers: Vec<(String, Result<Found, ClusterError>)> = futures::stream::iter(&order)
        .map(|(label, subject, _)| async move {
            let budget = budget.child("answer limit 30s", ANSWER);
            (label.clone(), ask(cluster, subject, &budget).await)
        })
        .buffered(AT_ONCE)
        .collect()
        .await;
    let mut found: BTreeMap<String, Found> = BTreeMap::new();
    let mut report = LiveReport::default();
    for ((label, answer), (_, subject, step)) in answers.into_iter().zip(&order) {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) if error.class() == ErrorClass::Unreachable => return Err(error),
            Err(error) => Found::Problem(error.to_string()),
        };
        report
            .validations
            .push(validate(&label, &answer, subject, step, plans));
        found.insert(label, answer);
    }
    report.rows = steps()
        .filter_map(|step| row(step, found.get(&step.label)?, memory))
        .collect();
    let mut parked: Vec<Parked> = Vec::new();
    for step in &plans.down.steps {
        let there = matches!(found.get(&step.label), Some(Found::Live(_)));
        let object = match step.action.subject() {
            Subject::Workload(workload) => Parked::Workload(workload),
            Subject::CronJob(namespace, name) => Parked::CronJob { namespace, name },
            _ => continue,
        };
        if there && !parked.contains(&object) {
            parked.push(object);
        }
    }
    let budget = budget.child("answer limit 30s", ANSWER);
    report.owners = cluster.park_undoers(&parked, &budget).await;
    Ok(report)
}

async fn ask(cluster: &Cluster, subject: &Subject, budget: &Budget) -> Result<Found, ClusterError> {
    let there = |there: bool| if there { Found::There } else { Found::Absent };
    Ok(match subject {
        Subject::Workload(workload) => match cluster.size(workload, budget).await {
            Ok(size) => Found::Live(size.into()),
            Err(error) if error.class() == ErrorClass::NotFound => Found::Absent,
            Err(error) => return Err(error),
        },
        Subject::CronJob(namespace, name) => {
            let state = cluster.cron_job(namespace, name, budget).await?;
            state.map_or(Found::Absent, |state| Found::Live(state.into()))
        }
        Subject::Claim(namespace, name) => {
            there(cluster.claim(namespace, name, budget).await?.is_some())
        }
        Subject::Job(namespace, name) => {
            there(cluster.job(namespace, name, budget).await?.is_some())
        }
        Subject::Container(namespace, pod, container) => {
            match cluster.pod_containers(namespace, pod, budget).await? {
                None => Found::Problem(format!("pod {namespace}/{pod}: not found")),
                Some(containers) if containers.contains(container) => Found::There,
                Some(containers) => Found::Problem(format!(
                    "pod {namespace}/{pod}: no container {container} (it has {})",
                    containers.join(", ")
                )),
            }
        }
        Subject::Release(..) | Subject::Nothing => Found::There,
    })
}

fn validate(
    label: &str,
    found: &Found,
    subject: &Subject,
    step: &Step,
    plans: &Plans,
) -> Validation {
    let reference = label.to_owned();
    let fine = |note: Option<String>| Validation {
        reference: reference.clone(),
        problem: None,
        note,
    };
    let fail = |problem: String| Validation {
        reference: reference.clone(),
        problem: Some(problem),
        note: None,
    };
    match (found, subject) {
        (Found::Problem(problem), _) => fail(problem.clone()),
        // A claim or Job may be absent.
        (Found::Absent, Subject::Claim(..) | Subject::Job(..)) => fine(Some("absent".into())),
        (Found::Absent, _) => {
            let Some((kind, namespace, name)) = &step.parts else {
                return fine(None);
            };
            // S-D.15: what a release step brings or took need not be there.
            let up = plans
                .up
                .steps
                .iter()
                .find(|other| other.label == step.label);
            let brought = up.and_then(|up| plans.releases.brings(namespace, up.id.index));
            match brought {
                Some(index) => fine(Some(format!("comes with up[{index}]"))),
                None if plans.releases.may_have_taken(namespace) && up.is_none() => {
                    fine(Some("absent, nothing to do".into()))
                }
                None => fail(format!("{kind} {namespace}/{name}: not found")),
            }
        }
        _ => fine(None),
    }
}

fn row(step: &Step, found: &Found, memory: &Memory) -> Option<LiveRow> {
    let Found::Live(live) = found else {
        return None;
    };
    let entry = memory.get(&step.action.subject().key()?);
    let (wanted, source, foreign) = match (step.id.phase, live.value) {
        (Phase::Down, Value::Size(_)) => ("0".to_owned(), None, None),
        (Phase::Down, Value::Suspend(_)) => ("suspend=true".to_owned(), None, None),
        (Phase::Up, Value::Size(_)) => {
            let waking = size_on_up(step.replicas, entry, live);
            (
                waking.wanted.to_string(),
                Some(waking.source),
                waking.foreign,
            )
        }
        (Phase::Up, Value::Suspend(_)) => {
            let waking = suspend_on_up(entry, live);
            let wanted = format!("suspend={}", waking.wanted);
            (wanted, Some(waking.source), waking.foreign)
        }
    };
    let warning = match (foreign, source) {
        (Some(value), _) => Some(format!("was replaced since {value} were remembered")),
        (None, Some(SizeSource::Default)) => Some("nothing remembered".to_owned()),
        (None, _) => None,
    };
    Some(LiveRow {
        phase: step.id.phase,
        index: step.id.index,
        reference: step.label.clone(),
        live: match live.value {
            Value::Size(size) => size.to_string(),
            Value::Suspend(suspend) => format!("suspend={suspend}"),
        },
        wanted,
        source,
        warning,
    })
}
