//! What a run will do to a cluster, as data: objects, operations on them, and what comes after what for which reason.
//!
//! Duty: from objects with their directives and decisions to a graph without circles. Nothing here asks or changes anything;
//! [`crate::execute`] walks the graph.
//!
//! The order (S-14): definitions of kinds and namespaces, then the stages pre, main and post. In a stage lower weights come
//! first; objects of equal weight are one group, in which kinds follow each other in Helm's order and objects of one kind
//! go together. The next group begins when the one before is ready. An object with dependencies of its own is in no
//! group: it begins when they are met.

mod automatic;
mod deletion;
mod deploy;
mod dot;

use std::fmt;

use kzero_chart::manifest::HookEvent;
use kzero_cluster::ApiResource;
use serde_json::Value;

use crate::decide::Decision;
use crate::directives::{DeployOn, Directives, State};
use crate::graph::{Edge, Graph, Vertex};
use crate::resource::{Resource, Role, shown_id};
use crate::shown::plain;
pub use automatic::Automatic;
pub use deletion::Deletion;
pub use deploy::Deployment;

/// What is done with a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Objects are deployed for the first time.
    Install,
    /// Objects of a revision are replaced by those of a newer one.
    Upgrade,
    /// Objects of a revision are replaced by those of an older one.
    Rollback,
    /// All objects are deleted.
    Uninstall,
    /// Tests are run.
    Test,
}

impl Purpose {
    /// The event of hooks before it.
    #[must_use]
    pub const fn before(self) -> Option<HookEvent> {
        Some(match self {
            Self::Install => HookEvent::PreInstall,
            Self::Upgrade => HookEvent::PreUpgrade,
            Self::Rollback => HookEvent::PreRollback,
            Self::Uninstall => HookEvent::PreDelete,
            Self::Test => HookEvent::Test,
        })
    }

    /// The event of hooks after it.
    #[must_use]
    pub const fn after(self) -> Option<HookEvent> {
        Some(match self {
            Self::Install => HookEvent::PostInstall,
            Self::Upgrade => HookEvent::PostUpgrade,
            Self::Rollback => HookEvent::PostRollback,
            Self::Uninstall => HookEvent::PostDelete,
            Self::Test => return None,
        })
    }

    const fn main(self) -> DeployOn {
        match self {
            Self::Install | Self::Test => DeployOn::Install,
            Self::Upgrade => DeployOn::Upgrade,
            Self::Rollback => DeployOn::Rollback,
            Self::Uninstall => DeployOn::Delete,
        }
    }
}

/// A part of a run; they follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Definitions of kinds, and namespaces.
    Crds,
    /// Hooks before the objects of the release.
    Pre,
    /// The objects of the release.
    Main,
    /// Hooks after them.
    Post,
}

impl Stage {
    /// All stages in order.
    pub const ALL: [Self; 4] = [Self::Crds, Self::Pre, Self::Main, Self::Post];

    /// Its name in messages.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Crds => "crds",
            Self::Pre => "pre",
            Self::Main => "main",
            Self::Post => "post",
        }
    }
}

/// An object that is deployed.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The object.
    pub resource: Resource,
    /// What its annotations say.
    pub directives: Directives,
    /// What is done to it.
    pub decision: Decision,
    /// Whether it is ready as it lives, so that nothing need be waited for.
    pub ready: bool,
    /// Which pods of its namespace are deleted once it is written, so that they are made anew.
    pub restarts: Option<String>,
}

impl Item {
    /// Whether it is a hook of the chart.
    #[must_use]
    pub fn is_hook(&self) -> bool {
        matches!(self.resource.role, Role::Hook(_))
    }

    /// The stages in which it is deployed for a purpose. `hooks` gives the events of a hook.
    fn stages(&self, purpose: Purpose, hooks: &[Vec<HookEvent>]) -> Vec<Stage> {
        if self.resource.role == Role::Crd {
            return vec![Stage::Crds];
        }
        let events = match (&self.directives.deploy_on, self.resource.role) {
            (Some(events), _) => events.clone(),
            (None, Role::Hook(number)) => {
                let events = hooks.get(number).into_iter().flatten();
                events.map(|event| DeployOn::Hook(*event)).collect()
            }
            (None, _) => vec![purpose.main()],
        };
        let mut stages = Vec::new();
        for event in events {
            let stage = match event {
                DeployOn::Hook(event) if Some(event) == purpose.before() => Stage::Pre,
                DeployOn::Hook(event) if Some(event) == purpose.after() => Stage::Post,
                event if event == purpose.main() => Stage::Main,
                _ => continue,
            };
            let stage = if self.comes_first() {
                Stage::Crds
            } else {
                stage
            };
            if !stages.contains(&stage) {
                stages.push(stage);
            }
        }
        stages
    }

    /// Whether others cannot be without it: definitions of kinds, and namespaces. Hooks are where their events are.
    fn comes_first(&self) -> bool {
        !self.is_hook()
            && matches!(
                (
                    self.resource.id.group.as_str(),
                    self.resource.id.kind.as_str()
                ),
                ("apiextensions.k8s.io", "CustomResourceDefinition") | ("", "Namespace")
            )
    }
}

/// An object that is deleted.
#[derive(Debug, Clone, PartialEq)]
pub struct Removal {
    /// The object, as it was stored.
    pub resource: Resource,
    /// What its annotations say.
    pub directives: Directives,
    /// The uid of the live object; another one of its name is left alone.
    pub uid: Option<String>,
}

/// Something outside of the release that is waited for.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalWait {
    /// The annotation that asks for it.
    pub key: String,
    /// The kind.
    pub api: ApiResource,
    /// The namespace; empty for kinds without one.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// What must be true of it.
    pub state: State,
}

/// What is done at a vertex of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Task {
    /// Nothing: others meet here.
    Barrier,
    /// An item is created, changed or left alone; `again` if it was deployed in an earlier stage of the run.
    Deploy {
        /// The item.
        item: usize,
        /// Whether an earlier stage has deployed it.
        again: bool,
    },
    /// An item is waited for until it is ready; hooks until they have done their work.
    Ready {
        /// The item.
        item: usize,
    },
    /// An item is deleted, as it has done its work.
    Cleanup {
        /// The item.
        item: usize,
    },
    /// Something outside is waited for.
    External {
        /// Its number in the plan.
        wait: usize,
    },
    /// An object is deleted.
    Remove {
        /// Its number among the removals.
        removal: usize,
    },
    /// An object is waited for until it is gone.
    Gone {
        /// Its number among the removals.
        removal: usize,
    },
}

impl Task {
    /// Whether it changes the cluster, and so counts among the writes that may be under way at once.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(
            self,
            Self::Deploy { .. } | Self::Cleanup { .. } | Self::Remove { .. }
        )
    }
}

/// A vertex of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// What is done.
    pub task: Task,
    /// The stage it belongs to.
    pub stage: Stage,
    /// The weight of its group, if it is in one.
    pub weight: Option<i64>,
}

/// Why something comes after something else.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Stages follow each other.
    Stage,
    /// Weights follow each other.
    Weight(i64),
    /// Kinds follow each other in the order of Helm.
    Kind,
    /// Steps of one object follow each other.
    Chain,
    /// An annotation says so.
    Manual(String),
    /// The object refers to the other in this field.
    Automatic(&'static str),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stage => f.write_str("stages follow each other"),
            Self::Weight(weight) => write!(f, "after weight {weight}"),
            Self::Kind => f.write_str("kinds follow each other"),
            Self::Chain => f.write_str("steps of one object"),
            Self::Manual(key) => write!(f, "annotation {}", plain(key)),
            Self::Automatic(field) => write!(f, "field {field}"),
        }
    }
}

/// What a run will do.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What it is for.
    pub purpose: Purpose,
    /// Objects that are deployed.
    pub items: Vec<Item>,
    /// Objects that are deleted.
    pub removals: Vec<Removal>,
    /// What is waited for outside of the release.
    pub externals: Vec<ExternalWait>,
    /// What is done, by vertex.
    pub operations: Vec<Operation>,
    /// What comes after what.
    pub graph: Graph<Reason>,
    /// What has no effect, or may not be meant.
    pub warnings: Vec<String>,
}

/// What decides over waits in a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// Whether the end of the main stage is waited for until it is ready, or gone.
    pub ready: bool,
    /// Whether Jobs are among what is waited for at that end.
    pub jobs: bool,
}

/// A plan that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Objects wait for each other.
    #[error("objects wait for each other in a circle:\n{}\nhint: take one of these dependencies out", .0.join("\n"))]
    Circle(Vec<String>),
    /// A dependency on something outside is of a kind that is not served.
    #[error(
        "{object}: annotation {}: the API server has no {}\nhint: check kind, group and version with `kubectl api-resources`, or install what defines the kind first",
        plain(key),
        plain(wanted)
    )]
    UnknownKind {
        /// The object with the annotation.
        object: String,
        /// The annotation.
        key: String,
        /// What is wanted.
        wanted: String,
    },
    /// A dependency on something outside does not say on what.
    #[error(
        "{object}: annotation {}: nothing in the release matches, and outside of it name, kind and version must be given\nhint: give them, or set external=false",
        plain(key)
    )]
    Incomplete {
        /// The object with the annotation.
        object: String,
        /// The annotation.
        key: String,
    },
}

impl Plan {
    /// The words for an operation, such as `create ConfigMap app/settings`.
    #[must_use]
    pub fn describe(&self, vertex: Vertex) -> String {
        let Some(operation) = self.operations.get(vertex) else {
            return String::new();
        };
        let item = |item: usize| match self.items.get(item) {
            Some(item) => item.resource.id.to_string(),
            None => String::new(),
        };
        let removal = |removal: usize| match self.removals.get(removal) {
            Some(removal) => removal.resource.id.to_string(),
            None => String::new(),
        };
        match operation.task {
            Task::Barrier => match operation.weight {
                Some(weight) => format!("stage {}, weight {weight}", operation.stage.word()),
                None => format!("stage {}", operation.stage.word()),
            },
            Task::Deploy { item: number, .. } => {
                let verb = self
                    .items
                    .get(number)
                    .map_or("deploy", |item| item.decision.verb());
                format!("{verb} {}", item(number))
            }
            Task::Ready { item: number } => format!("wait for {} to be ready", item(number)),
            Task::Cleanup { item: number } => format!("delete {}", item(number)),
            Task::External { wait } => match self.externals.get(wait) {
                Some(wait) => format!(
                    "wait for {} to be {}",
                    shown_id(&wait.api.kind, "", &wait.name),
                    wait.state.word()
                ),
                None => String::new(),
            },
            Task::Remove { removal: number } => format!("delete {}", removal(number)),
            Task::Gone { removal: number } => format!("wait for {} to be gone", removal(number)),
        }
    }

    /// Whether nothing would be changed in the cluster.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let deploys = |operation: &Operation| match operation.task {
            Task::Deploy { item, .. } => self
                .items
                .get(item)
                .is_some_and(|item| item.decision.changes() || item.restarts.is_some()),
            Task::Remove { .. } | Task::Cleanup { .. } => true,
            Task::Barrier | Task::Ready { .. } | Task::External { .. } | Task::Gone { .. } => false,
        };
        !self.operations.iter().any(deploys)
    }

    fn add(&mut self, task: Task, stage: Stage, weight: Option<i64>) -> Vertex {
        self.operations.push(Operation {
            task,
            stage,
            weight,
        });
        self.graph.add()
    }

    fn barrier(&mut self, stage: Stage, weight: Option<i64>) -> Vertex {
        self.add(Task::Barrier, stage, weight)
    }

    /// Fails if the graph has a circle, with the annotations that make it one.
    fn check(&self) -> Result<(), PlanError> {
        let Err(circle) = self.graph.order() else {
            return Ok(());
        };
        let telling = |edge: &&&Edge<Reason>| !matches!(edge.reason, Reason::Chain);
        let lines = circle.iter().filter(telling).map(|edge| {
            format!(
                "  {} comes after {} ({})",
                self.describe(edge.to),
                self.describe(edge.from),
                edge.reason
            )
        });
        Err(PlanError::Circle(lines.collect()))
    }
}

/// An object's version, the part behind its group.
fn version_of(object: &Value) -> &str {
    let api_version = object
        .get("apiVersion")
        .and_then(Value::as_str)
        .unwrap_or_default();
    api_version.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
