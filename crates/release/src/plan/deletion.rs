//! Plans of uninstalls, and the part of deployments that deletes what is no longer wanted.

use std::collections::BTreeMap;

use kzero_chart::manifest::{HookEvent, UNINSTALL_ORDER, order};

use super::deploy::{Deployment, external};
use super::{Item, Plan, PlanError, Purpose, Reason, Removal, Stage, Task, Waits, version_of};
use crate::directives::{Dependency, External};
use crate::graph::Vertex;
use crate::resource::Kinds;

/// What an uninstall is made of.
pub struct Deletion<'a> {
    /// Hooks, in the order of Helm.
    pub hooks: Vec<Item>,
    /// Their events, by their number in [`crate::resource::Role::Hook`].
    pub events: &'a [Vec<HookEvent>],
    /// The objects.
    pub removals: Vec<Removal>,
    /// Whether the end waits until all are gone.
    pub wait: bool,
    /// What is served.
    pub kinds: &'a Kinds,
    /// The namespace of the release.
    pub namespace: &'a str,
}

impl Plan {
    /// Plans an uninstall: hooks before it, objects in the reverse order of their deployment, hooks after it.
    ///
    /// # Errors
    ///
    /// Objects that wait for each other, and dependencies on what is not known.
    pub fn deletion(deletion: Deletion<'_>) -> Result<Self, PlanError> {
        let mut plan = Self::deployment(Deployment {
            purpose: Purpose::Uninstall,
            items: deletion.hooks,
            removals: deletion.removals,
            hooks: deletion.events,
            waits: Waits {
                ready: deletion.wait,
                jobs: true,
            },
            kinds: deletion.kinds,
            namespace: deletion.namespace,
        })?;
        plan.delete_dependencies(deletion.kinds, deletion.namespace)?;
        if deletion.wait {
            plan.wait_until_gone();
        }
        plan.check()?;
        Ok(plan)
    }

    /// Deletes all removals behind a vertex: heavier ones first, each group gone before the next, kinds in the order in
    /// which Helm deletes them. Gives the vertex after the last.
    pub(super) fn removals_after(&mut self, start: Vertex) -> Vertex {
        let mut groups: BTreeMap<std::cmp::Reverse<i64>, Vec<usize>> = BTreeMap::new();
        let mut free = Vec::new();
        for (number, removal) in self.removals.iter().enumerate() {
            if removal.directives.delete_dependencies.is_empty() {
                let weight = std::cmp::Reverse(removal.directives.weight);
                groups.entry(weight).or_default().push(number);
            } else {
                free.push(number);
            }
        }
        let (mut before, mut reason) = (start, Reason::Stage);
        let last = groups.keys().next_back().copied();
        for (std::cmp::Reverse(weight), mut group) in groups {
            let kind = |plan: &Self, number: usize| plan.removals[number].resource.id.kind.clone();
            group.sort_by(|a, b| order(&kind(self, *a), &kind(self, *b), UNINSTALL_ORDER));
            let runs: Vec<Vec<usize>> = group
                .chunk_by(|a, b| kind(self, *a) == kind(self, *b))
                .map(<[usize]>::to_vec)
                .collect();
            for run in runs {
                let end = self.barrier(Stage::Main, Some(weight));
                for removal in run {
                    let remove = self.add(Task::Remove { removal }, Stage::Main, Some(weight));
                    self.graph.connect(before, remove, reason.clone());
                    self.graph.connect(remove, end, Reason::Kind);
                }
                before = end;
                reason = Reason::Kind;
            }
            if last != Some(std::cmp::Reverse(weight)) {
                let end = self.barrier(Stage::Main, Some(weight));
                self.graph.connect(before, end, Reason::Weight(weight));
                for removal in group {
                    let gone = self.gone(removal);
                    self.graph.connect(gone, end, Reason::Weight(weight));
                }
                before = end;
                reason = Reason::Weight(weight);
            }
        }
        let end = self.barrier(Stage::Main, None);
        self.graph.connect(before, end, reason);
        for removal in free {
            let remove = self.add(Task::Remove { removal }, Stage::Main, None);
            self.graph.connect(start, remove, Reason::Stage);
            self.graph.connect(remove, end, Reason::Stage);
        }
        end
    }

    /// The vertex that deletes a removal.
    fn remove_of(&self, number: usize) -> Option<Vertex> {
        let task = Task::Remove { removal: number };
        self.operations
            .iter()
            .position(|operation| operation.task == task)
    }

    /// The vertex at which a removal is gone, added if it is not there.
    fn gone(&mut self, number: usize) -> Vertex {
        let task = Task::Gone { removal: number };
        let known = self
            .operations
            .iter()
            .position(|operation| operation.task == task);
        if let Some(vertex) = known {
            return vertex;
        }
        let vertex = self.add(task, Stage::Main, None);
        if let Some(remove) = self.remove_of(number) {
            self.graph.connect(remove, vertex, Reason::Chain);
        }
        vertex
    }

    /// Lays the edges of delete dependencies among the removals.
    pub(super) fn delete_dependencies(
        &mut self,
        kinds: &Kinds,
        namespace: &str,
    ) -> Result<(), PlanError> {
        for number in 0..self.removals.len() {
            let dependencies = self.removals[number].directives.delete_dependencies.clone();
            for dependency in dependencies {
                self.delete_dependency(number, &dependency, kinds, namespace)?;
            }
        }
        Ok(())
    }

    fn delete_dependency(
        &mut self,
        number: usize,
        dependency: &Dependency,
        kinds: &Kinds,
        namespace: &str,
    ) -> Result<(), PlanError> {
        let Some(remove) = self.remove_of(number) else {
            return Ok(());
        };
        let reason = Reason::Manual(dependency.key.clone());
        let mut inside = false;
        if dependency.external != External::True {
            for other in 0..self.removals.len() {
                let resource = &self.removals[other].resource;
                let version = version_of(&resource.object);
                let meant = dependency
                    .matcher
                    .matches(&resource.id, version, &resource.api.plural);
                if other != number && meant {
                    inside = true;
                    let gone = self.gone(other);
                    self.graph.connect(gone, remove, reason.clone());
                }
            }
        }
        if inside || dependency.external == External::False {
            return Ok(());
        }
        let object = self.removals[number].resource.id.to_string();
        self.externals
            .push(external(dependency, &object, kinds, namespace)?);
        let wait = Task::External {
            wait: self.externals.len() - 1,
        };
        let vertex = self.add(wait, Stage::Main, None);
        let start = self
            .graph
            .edges()
            .iter()
            .find(|edge| edge.to == remove)
            .map(|edge| edge.from);
        if let Some(start) = start {
            self.graph.connect(start, vertex, Reason::Stage);
        }
        self.graph.connect(vertex, remove, reason);
        Ok(())
    }

    /// Lets the end of the main stage, and so everything after it, wait until all removals are gone.
    fn wait_until_gone(&mut self) {
        let Some(last) = (0..self.operations.len()).rev().find(|vertex| {
            self.operations[*vertex].task == Task::Barrier
                && self.operations[*vertex].stage == Stage::Main
        }) else {
            return;
        };
        for number in 0..self.removals.len() {
            let gone = self.gone(number);
            self.graph.connect(gone, last, Reason::Stage);
        }
    }
}

/// Only here, so that the names of a removal's parts are in one place.
impl Removal {
    /// Whether it is to be left where it is.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.directives.resource_policy.keep
    }
}
