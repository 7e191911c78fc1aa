//! Plans of installs, upgrades and rollbacks.

use std::collections::BTreeMap;

use kzero_chart::manifest::{HookEvent, INSTALL_ORDER, order};

use super::automatic::Automatic;
use super::{
    ExternalWait, Item, Plan, PlanError, Purpose, Reason, Removal, Stage, Task, Waits, version_of,
};
use crate::directives::{Dependency, External, State, Termination};
use crate::graph::{Graph, Vertex};
use crate::resource::Kinds;

/// What a plan is made of.
pub struct Deployment<'a> {
    /// What it is for.
    pub purpose: Purpose,
    /// Objects to deploy, in the order of Helm.
    pub items: Vec<Item>,
    /// Objects that are no longer wanted.
    pub removals: Vec<Removal>,
    /// The events of hooks, by their number in [`crate::resource::Role::Hook`].
    pub hooks: &'a [Vec<HookEvent>],
    /// What is waited for.
    pub waits: Waits,
    /// What is served.
    pub kinds: &'a Kinds,
    /// The namespace of the release.
    pub namespace: &'a str,
}

/// The vertices of an item in a stage.
#[derive(Debug, Clone, Copy)]
struct Placed {
    item: usize,
    stage: Stage,
    /// Where its chain begins.
    first: Vertex,
    deploy: Vertex,
    ready: Option<Vertex>,
}

struct Builder<'a> {
    plan: Plan,
    placed: Vec<Placed>,
    kinds: &'a Kinds,
    namespace: &'a str,
    waits: Waits,
}

impl Plan {
    /// Plans a deployment.
    ///
    /// # Errors
    ///
    /// Objects that wait for each other, and dependencies on what is not known.
    pub fn deployment(deployment: Deployment<'_>) -> Result<Self, PlanError> {
        let Deployment {
            purpose,
            items,
            removals,
            hooks,
            waits,
            kinds,
            namespace,
        } = deployment;
        let mut stages: BTreeMap<Stage, Vec<usize>> = BTreeMap::new();
        for (number, item) in items.iter().enumerate() {
            for stage in item.stages(purpose, hooks) {
                stages.entry(stage).or_default().push(number);
            }
        }
        let mut warnings = Vec::new();
        for item in &items {
            warnings.extend(item.directives.warnings.iter().cloned());
        }
        let mut builder = Builder {
            plan: Self {
                purpose,
                items,
                removals,
                externals: Vec::new(),
                operations: Vec::new(),
                graph: Graph::default(),
                warnings,
            },
            placed: Vec::new(),
            kinds,
            namespace,
            waits,
        };
        let mut last = None;
        for stage in Stage::ALL {
            let members = stages.remove(&stage).unwrap_or_default();
            let removes = stage == Stage::Main && !builder.plan.removals.is_empty();
            if members.is_empty() && !removes {
                continue;
            }
            let start = builder.plan.barrier(stage, None);
            if let Some(last) = last {
                builder.plan.graph.connect(last, start, Reason::Stage);
            }
            last = Some(builder.stage(stage, &members, start));
        }
        builder.dependencies()?;
        builder.plan.check()?;
        Ok(builder.plan)
    }
}

impl Builder<'_> {
    /// Lays out a stage behind its beginning; gives its end.
    fn stage(&mut self, stage: Stage, members: &[usize], start: Vertex) -> Vertex {
        let (free, grouped): (Vec<usize>, Vec<usize>) = members
            .iter()
            .partition(|&&item| self.plan.items[item].directives.has_manual_dependencies());
        let mut groups: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for item in grouped {
            let weight = self.plan.items[item].directives.weight;
            groups.entry(weight).or_default().push(item);
        }
        let from = self.placed.len();
        let (mut before, mut reason) = (start, Reason::Stage);
        let last = groups.keys().next_back().copied();
        for (weight, group) in groups {
            let accepted = self.group(stage, weight, &group, before, &reason);
            before = accepted;
            if Some(weight) != last {
                before = self.group_is_ready(stage, weight, &group, accepted);
            }
            reason = Reason::Weight(weight);
        }
        for item in free {
            let placed = self.place(item, stage, None);
            self.plan.graph.connect(start, placed.first, Reason::Stage);
        }
        let written = self.plan.barrier(stage, None);
        self.plan.graph.connect(before, written, reason);
        for placed in &self.placed[from..] {
            self.plan
                .graph
                .connect(placed.deploy, written, Reason::Stage);
        }
        if stage == Stage::Main {
            let removed = self.plan.removals_after(written);
            self.end(stage, from, removed)
        } else {
            self.end(stage, from, written)
        }
    }

    /// Waits for what is waited for at the end of a stage, and deletes what has done its work.
    fn end(&mut self, stage: Stage, from: usize, written: Vertex) -> Vertex {
        let end = self.plan.barrier(stage, None);
        self.plan.graph.connect(written, end, Reason::Stage);
        for at in from..self.placed.len() {
            if self.is_awaited(stage, self.placed[at].item) {
                let ready = self.ready(at);
                self.plan.graph.connect(ready, end, Reason::Stage);
            }
        }
        let done: Vec<usize> = self.placed[from..]
            .iter()
            .map(|placed| placed.item)
            .filter(|&item| {
                let item = &self.plan.items[item];
                // A definition takes all its objects along; Helm never deletes one either.
                item.directives.delete_policy.succeeded
                    && item.resource.id.kind != "CustomResourceDefinition"
            })
            .collect();
        let mut last = end;
        // The latest goes first, as in Helm.
        for item in done.into_iter().rev() {
            let cleanup = self.plan.add(Task::Cleanup { item }, stage, None);
            self.plan.graph.connect(last, cleanup, Reason::Chain);
            last = cleanup;
        }
        last
    }

    /// Whether the end of a stage waits for an item.
    fn is_awaited(&self, stage: Stage, item: usize) -> bool {
        let item = &self.plan.items[item];
        if item.directives.tracking.termination == Termination::NonBlocking {
            return false;
        }
        match stage {
            Stage::Crds | Stage::Pre | Stage::Post => true,
            Stage::Main if item.is_hook() || item.directives.delete_policy.succeeded => true,
            Stage::Main => self.waits.ready && (self.waits.jobs || item.resource.id.kind != "Job"),
        }
    }

    /// Lays out the kinds of a group one after the other; gives the vertex after the last.
    fn group(
        &mut self,
        stage: Stage,
        weight: i64,
        group: &[usize],
        before: Vertex,
        reason: &Reason,
    ) -> Vertex {
        let mut sorted = group.to_vec();
        let kind = |plan: &Plan, item: usize| plan.items[item].resource.id.kind.clone();
        sorted.sort_by(|a, b| order(&kind(&self.plan, *a), &kind(&self.plan, *b), INSTALL_ORDER));
        let (mut before, mut reason) = (before, reason.clone());
        let plan = &self.plan;
        let runs: Vec<Vec<usize>> = sorted
            .chunk_by(|a, b| kind(plan, *a) == kind(plan, *b))
            .map(<[usize]>::to_vec)
            .collect();
        for run in runs {
            let end = self.plan.barrier(stage, Some(weight));
            for item in run {
                let placed = self.place(item, stage, Some(weight));
                self.plan
                    .graph
                    .connect(before, placed.first, reason.clone());
                let done = if self.plan.items[item].is_hook() && self.is_awaited(stage, item) {
                    let at = self.placed.len() - 1;
                    self.ready(at)
                } else {
                    placed.deploy
                };
                self.plan.graph.connect(done, end, Reason::Kind);
            }
            before = end;
            reason = Reason::Kind;
        }
        before
    }

    /// The vertex at which a group is ready.
    fn group_is_ready(
        &mut self,
        stage: Stage,
        weight: i64,
        group: &[usize],
        accepted: Vertex,
    ) -> Vertex {
        let end = self.plan.barrier(stage, Some(weight));
        self.plan
            .graph
            .connect(accepted, end, Reason::Weight(weight));
        for at in 0..self.placed.len() {
            let placed = self.placed[at];
            let blocks = self.plan.items[placed.item].directives.tracking.termination
                != Termination::NonBlocking;
            if placed.stage == stage && group.contains(&placed.item) && blocks {
                let ready = self.ready(at);
                self.plan.graph.connect(ready, end, Reason::Weight(weight));
            }
        }
        end
    }

    /// Adds the deployment of an item.
    fn place(&mut self, item: usize, stage: Stage, weight: Option<i64>) -> Placed {
        let again = self.placed.iter().any(|placed| placed.item == item);
        let deploy = self.plan.add(Task::Deploy { item, again }, stage, weight);
        let placed = Placed {
            item,
            stage,
            first: deploy,
            deploy,
            ready: None,
        };
        self.placed.push(placed);
        placed
    }

    /// The vertex at which a placed item is ready, added if it is not there.
    fn ready(&mut self, at: usize) -> Vertex {
        let placed = self.placed[at];
        if let Some(ready) = placed.ready {
            return ready;
        }
        let weight = self.plan.operations[placed.deploy].weight;
        let ready = self
            .plan
            .add(Task::Ready { item: placed.item }, placed.stage, weight);
        self.plan.graph.connect(placed.deploy, ready, Reason::Chain);
        self.placed[at].ready = Some(ready);
        ready
    }

    fn dependencies(&mut self) -> Result<(), PlanError> {
        for at in 0..self.placed.len() {
            let item = self.placed[at].item;
            let dependencies = self.plan.items[item].directives.deploy_dependencies.clone();
            for dependency in dependencies {
                self.manual(at, &dependency)?;
            }
        }
        self.automatic();
        Ok(())
    }

    /// Lays the edges of one dependency.
    fn manual(&mut self, at: usize, dependency: &Dependency) -> Result<(), PlanError> {
        let placed = self.placed[at];
        let mut inside = false;
        if dependency.external != External::True {
            let matches: Vec<usize> = (0..self.placed.len())
                .filter(|&other| other != at && self.matches(dependency, self.placed[other].item))
                .collect();
            inside = !matches.is_empty();
            let mut in_stage = false;
            for other in matches {
                if self.placed[other].stage != placed.stage {
                    continue;
                }
                in_stage = true;
                let after = match dependency.state {
                    State::Ready => self.ready(other),
                    State::Present | State::Absent => self.placed[other].deploy,
                };
                let reason = Reason::Manual(dependency.key.clone());
                self.plan.graph.connect(after, placed.first, reason);
            }
            if inside && !in_stage {
                self.plan.warnings.push(format!(
                    "{}: annotation {}: {} is in another stage, so this has no effect",
                    self.plan.items[placed.item].resource.id,
                    dependency.key,
                    dependency.matcher.shown()
                ));
            }
        }
        if inside || dependency.external == External::False {
            return Ok(());
        }
        let wait = external(
            dependency,
            &self.plan.items[placed.item].resource.id.to_string(),
            self.kinds,
            self.namespace,
        )?;
        self.plan.externals.push(wait);
        let task = Task::External {
            wait: self.plan.externals.len() - 1,
        };
        let vertex = self.plan.add(task, placed.stage, None);
        let stage_start = self.start_of(placed.stage);
        if let Some(start) = stage_start {
            self.plan.graph.connect(start, vertex, Reason::Stage);
        }
        let reason = Reason::Manual(dependency.key.clone());
        self.plan.graph.connect(vertex, placed.first, reason);
        Ok(())
    }

    fn start_of(&self, stage: Stage) -> Option<Vertex> {
        self.plan
            .operations
            .iter()
            .position(|operation| operation.stage == stage && operation.task == Task::Barrier)
    }

    /// Whether an item is meant; an unset namespace is that of the release.
    fn matches(&self, dependency: &Dependency, item: usize) -> bool {
        let resource = &self.plan.items[item].resource;
        dependency.matcher.matches(
            &resource.id,
            version_of(&resource.object),
            &resource.api.plural,
        )
    }

    /// Lays edges for fields that refer to other objects of the release, where no group does it already. They give way
    /// to everything else: none closes a circle.
    fn automatic(&mut self) {
        let has_own = |plan: &Plan, placed: &Placed| {
            plan.items[placed.item].directives.has_manual_dependencies()
        };
        if !self.placed.iter().any(|placed| has_own(&self.plan, placed)) {
            return;
        }
        let references = Automatic::of(&self.plan.items);
        for placed in self.placed.clone() {
            for (target, field) in references.from(placed.item) {
                let other = self
                    .placed
                    .iter()
                    .find(|other| other.item == target && other.stage == placed.stage)
                    .copied();
                let Some(other) = other else { continue };
                let matters = has_own(&self.plan, &placed) || has_own(&self.plan, &other);
                if matters && !self.plan.graph.reaches(placed.first, other.deploy) {
                    self.plan
                        .graph
                        .connect(other.deploy, placed.first, Reason::Automatic(field));
                }
            }
        }
    }
}

/// What is waited for outside of the release.
pub(super) fn external(
    dependency: &Dependency,
    object: &str,
    kinds: &Kinds,
    namespace: &str,
) -> Result<ExternalWait, PlanError> {
    let matcher = &dependency.matcher;
    let incomplete = || PlanError::Incomplete {
        object: object.to_owned(),
        key: dependency.key.clone(),
    };
    let Some(name) = &matcher.name else {
        return Err(incomplete());
    };
    if matcher.plural.is_none() && (matcher.kind.is_none() || matcher.version.is_none()) {
        return Err(incomplete());
    }
    let like = |wanted: &Option<String>, found: &str| {
        wanted
            .as_deref()
            .is_none_or(|wanted| wanted.eq_ignore_ascii_case(found))
    };
    let api = kinds.all().find(|api| {
        let (group, version) = api
            .group_version
            .split_once('/')
            .unwrap_or(("", &api.group_version));
        let in_group = match (&matcher.group, &matcher.kind) {
            // Without a group a kind by name is one of the core group first.
            (None, Some(_)) => true,
            (wanted, _) => like(wanted, group),
        };
        in_group
            && like(&matcher.version, version)
            && like(&matcher.kind, &api.kind)
            && like(&matcher.plural, &api.plural)
    });
    let Some(api) = api else {
        let group = matcher.group.as_deref().unwrap_or_default();
        let version = matcher.version.as_deref().unwrap_or_default();
        let api_version = if group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        };
        let kind = matcher.kind.as_deref().or(matcher.plural.as_deref());
        return Err(PlanError::UnknownKind {
            object: object.to_owned(),
            key: dependency.key.clone(),
            wanted: format!("{} in {api_version}", kind.unwrap_or_default()),
        });
    };
    Ok(ExternalWait {
        key: dependency.key.clone(),
        api: api.clone(),
        namespace: if api.namespaced {
            matcher
                .namespace
                .clone()
                .unwrap_or_else(|| namespace.to_owned())
        } else {
            String::new()
        },
        name: name.clone(),
        state: dependency.state,
    })
}
