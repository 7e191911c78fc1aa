//! Does the operations of a plan: writes objects, runs hooks, waits.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use kzero_cluster::{
    ApplyMode, Budget, Cluster, ClusterError, Deletion, ErrorClass, ObjectPatch, Propagation,
    WaitError, Write,
};
use serde_json::Value;
use tokio::time::Instant;

use crate::decide::Decision;
use crate::directives::State as Wanted;
use crate::event::{Event, Listener};
use crate::execute::Actor;
use crate::graph::Vertex;
use crate::merge::{self, FieldChange};
use crate::plan::{Item, Operation, Plan, Removal, Task};
use crate::record::Recorder;
use crate::resource::{Kinds, Resource, Role, text};
use crate::restart::restart;
use crate::revision::Phase;
use crate::storage::StorageError;
use crate::track::Tracker;

/// The field manager of a release's objects: Helm's, so that either program goes on where the other ended (S-D.23).
pub const MANAGER: &str = "helm";

/// Kinds whose objects own no others.
const OWNERLESS: &[&str] = &[
    "ClusterRole",
    "ClusterRoleBinding",
    "ConfigMap",
    "HorizontalPodAutoscaler",
    "Ingress",
    "LimitRange",
    "NetworkPolicy",
    "PersistentVolumeClaim",
    "PodDisruptionBudget",
    "ResourceQuota",
    "Role",
    "RoleBinding",
    "Secret",
    "ServiceAccount",
];

/// How often a change of field managers is begun that others were faster with (S-D.9).
const MIGRATIONS: usize = 5;

/// Why an operation failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OperationError {
    /// The API server refuses or does not answer.
    #[error("{text}")]
    Cluster {
        /// What was to be done, and what the server says.
        text: String,
        /// Whether trying again may help.
        transient: bool,
        /// Whether it is a field that cannot be changed.
        immutable: bool,
    },
    /// Something did not get into the state that was waited for.
    #[error("{text}")]
    Wait {
        /// What was waited for, and how it is.
        text: String,
        /// Whether the time was up, rather than that it failed.
        timed_out: bool,
    },
    /// The record cannot be written.
    #[error("cannot write the record of the release: {0}")]
    Record(#[from] StorageError),
}

impl OperationError {
    /// Whether trying again may help.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Cluster { transient, .. } => *transient,
            Self::Wait { timed_out, .. } => *timed_out,
            Self::Record(error) => error.is_transient(),
        }
    }
}

/// What an operation works with.
pub struct Deployer<'a> {
    /// The way to the API server.
    pub cluster: &'a Cluster,
    /// What waits; operations are performed within [`Tracker::run`].
    pub tracker: &'a Tracker<'a>,
    /// The plan.
    pub plan: &'a Plan,
    /// What is served.
    pub kinds: &'a Kinds,
    /// Whether writes take effect.
    pub mode: ApplyMode,
    /// What each operation may take, and the time of all of them.
    pub time: Time,
    /// Propagation of deletions where annotations say nothing.
    pub propagation: Propagation,
    /// Where the runs of hooks are written to; `None` in dry-runs.
    pub recorder: Option<&'a Recorder<'a>>,
    /// Where events go.
    pub listener: &'a Listener<'a>,
    /// Uids of objects that were created, by item, for cleaning up after a failure.
    pub created: RefCell<HashMap<usize, String>>,
    /// Removals whose object the server says is gone.
    pub gone: RefCell<HashSet<usize>>,
}

/// The time of operations.
#[derive(Debug, Clone)]
pub struct Time {
    /// The time of all of them together.
    pub all: Budget,
    /// The time of each hook and each wait; `None` leaves it to the time of all.
    pub each: Option<(String, Duration)>,
}

impl Time {
    /// The time of one operation that begins now.
    #[must_use]
    pub fn one(&self) -> Budget {
        match &self.each {
            Some((label, length)) => self.all.child(label.as_str(), *length),
            None => self.all.clone(),
        }
    }
}

impl Actor for Deployer<'_> {
    type Failure = OperationError;

    fn perform<'b>(
        &'b self,
        vertex: Vertex,
        operation: Operation,
    ) -> LocalBoxFuture<'b, Result<(), OperationError>> {
        async move {
            let what = self.plan.describe(vertex);
            let quiet = self.is_quiet(operation.task);
            if !quiet {
                (self.listener)(Event::Began { what: what.clone() });
            }
            let begin = Instant::now();
            let result = self.task(operation.task).await;
            match &result {
                Ok(()) if quiet => {}
                Ok(()) => (self.listener)(Event::Done {
                    what,
                    elapsed: begin.elapsed(),
                }),
                Err(error) => (self.listener)(Event::Failed {
                    what,
                    error: error.to_string(),
                }),
            }
            result
        }
        .boxed_local()
    }
}

impl Deployer<'_> {
    /// Whether nobody need hear of a task: nothing is done.
    fn is_quiet(&self, task: Task) -> bool {
        match task {
            Task::Deploy { item, again: false } => self
                .plan
                .items
                .get(item)
                .is_some_and(|item| !item.decision.changes()),
            Task::Ready { item } => self.plan.items.get(item).is_some_and(|item| item.ready),
            Task::Barrier => true,
            _ => false,
        }
    }

    async fn task(&self, task: Task) -> Result<(), OperationError> {
        match task {
            Task::Barrier => Ok(()),
            Task::Deploy { item, again } => match self.plan.items.get(item) {
                Some(found) => self.deploy(item, found, again).await,
                None => Ok(()),
            },
            Task::Ready { item } => match self.plan.items.get(item) {
                Some(item) => self.ready(item).await,
                None => Ok(()),
            },
            Task::Cleanup { item } => match self.plan.items.get(item) {
                Some(item) => self.cleanup(item).await,
                None => Ok(()),
            },
            Task::External { wait } => self.external(wait).await,
            Task::Remove { removal } => match self.plan.removals.get(removal) {
                Some(found) => {
                    let propagation = self.propagation(found);
                    let uid = found.uid.as_deref();
                    let deletion = self.delete(&found.resource, uid, propagation).await?;
                    if deletion != Deletion::Begun {
                        self.gone.borrow_mut().insert(removal);
                    }
                    Ok(())
                }
                None => Ok(()),
            },
            Task::Gone { removal } if self.gone.borrow().contains(&removal) => Ok(()),
            Task::Gone { removal } => match self.plan.removals.get(removal) {
                Some(removal) => self.gone(&removal.resource, removal.uid.as_deref()).await,
                None => Ok(()),
            },
        }
    }

    /// What becomes of the objects that a removal owns: what annotations say, else what the operation does. Kinds that own
    /// nothing need not wait for the garbage collector to find that out.
    fn propagation(&self, removal: &Removal) -> Propagation {
        match removal.directives.propagation {
            Some(propagation) => propagation,
            None if OWNERLESS.contains(&removal.resource.id.kind.as_str()) => {
                Propagation::Background
            }
            None => self.propagation,
        }
    }

    fn write(&self) -> Write {
        Write {
            manager: MANAGER,
            mode: self.mode,
        }
    }

    fn is_dry(&self) -> bool {
        self.mode == ApplyMode::DryRun
    }

    async fn deploy(&self, number: usize, item: &Item, again: bool) -> Result<(), OperationError> {
        if let Role::Hook(hook) = item.resource.role {
            self.record(hook, Phase::Running).await?;
        }
        let mut result = self.decided(number, item, again).await;
        if let (Ok(()), Some(selector)) = (&result, &item.restarts) {
            result = self.restart(&item.resource, selector).await;
        }
        if let (Err(_), Role::Hook(hook)) = (&result, item.resource.role) {
            self.record(hook, Phase::Failed).await?;
        }
        result
    }

    async fn decided(&self, number: usize, item: &Item, again: bool) -> Result<(), OperationError> {
        let resource = &item.resource;
        if self.is_dry() && !self.kinds.is_served(&resource.api) {
            // The definition of the kind was not really made, so the server cannot tell.
            return Ok(());
        }
        match &item.decision {
            Decision::Keep(_) => Ok(()),
            Decision::Create(object) if again => {
                self.create_if_absent(number, resource, object).await
            }
            Decision::Create(object) => self.create(number, resource, object).await,
            Decision::CreateWhenGone(object) => {
                if !self.is_dry() {
                    self.gone(resource, None).await?;
                }
                self.create(number, resource, object).await
            }
            Decision::Recreate(object) => self.recreate(number, item, object).await,
            Decision::Patch { patch, object, .. } => self.patch(number, item, patch, object).await,
            Decision::Replace { object, .. } => self.replace(resource, object).await,
            Decision::Apply {
                object,
                force,
                migration,
                ..
            } => {
                self.apply(resource, object, *force, migration.as_ref())
                    .await
            }
        }
    }

    /// Deletes pods so that they are made anew.
    async fn restart(&self, resource: &Resource, selector: &str) -> Result<(), OperationError> {
        let namespace = resource.id.namespace.as_str();
        let count = restart(
            self.cluster,
            namespace,
            selector,
            self.mode,
            &self.time.one(),
        )
        .await
        .map_err(|error| self.refused("delete the pods of", resource, &error))?;
        (self.listener)(Event::Info(format!(
            "{}: {count} pods were deleted to be made anew",
            resource.id
        )));
        Ok(())
    }

    async fn create(
        &self,
        number: usize,
        resource: &Resource,
        object: &Value,
    ) -> Result<(), OperationError> {
        let budget = self.time.one();
        let created = self
            .cluster
            .create_object(
                &resource.api,
                &resource.id.namespace,
                object,
                self.write(),
                &budget,
            )
            .await
            .map_err(|error| self.refused("create", resource, &error))?;
        self.tracker.wrote(&resource.id, &created);
        let uid = text(&created, "/metadata/uid").to_owned();
        self.created.borrow_mut().insert(number, uid);
        Ok(())
    }

    async fn create_if_absent(
        &self,
        number: usize,
        resource: &Resource,
        object: &Value,
    ) -> Result<(), OperationError> {
        let budget = self.time.one();
        let id = &resource.id;
        let found = self
            .cluster
            .object(&resource.api, &id.namespace, &id.name, &budget)
            .await
            .map_err(|error| self.refused("read", resource, &error))?;
        match found {
            Some(_) => Ok(()),
            None => self.create(number, resource, object).await,
        }
    }

    /// Deletes what is there of an object, waits until it is gone, and creates it.
    async fn recreate(
        &self,
        number: usize,
        item: &Item,
        object: &Value,
    ) -> Result<(), OperationError> {
        let resource = &item.resource;
        if self.is_dry() {
            // Creating it would fail for the one that is there.
            return Ok(());
        }
        let propagation = item
            .directives
            .propagation
            .unwrap_or(Propagation::Background);
        let budget = self.time.one();
        let id = &resource.id;
        let deletion = self
            .cluster
            .delete_object(
                &resource.api,
                (&id.namespace, &id.name),
                None,
                propagation,
                self.mode,
                &budget,
            )
            .await
            .map_err(|error| self.refused("delete", resource, &error))?;
        if deletion == Deletion::Begun {
            self.gone(resource, None).await?;
        }
        self.create(number, resource, object).await
    }

    async fn patch(
        &self,
        number: usize,
        item: &Item,
        patch: &ObjectPatch,
        object: &Value,
    ) -> Result<(), OperationError> {
        let resource = &item.resource;
        let budget = self.time.one();
        let at = (resource.id.namespace.as_str(), resource.id.name.as_str());
        let patched = self
            .cluster
            .patch_object(&resource.api, at, patch, self.write(), &budget)
            .await;
        let error = match patched {
            Ok(patched) => {
                self.tracker.wrote(&resource.id, &patched);
                return Ok(());
            }
            Err(error) => error,
        };
        if error.class() == ErrorClass::NotFound && !self.is_dry() {
            // It went after it was looked at.
            return self.create(number, resource, object).await;
        }
        let refused = self.refused_changes("patch", resource, &error, item.decision.fields());
        let may_recreate = item.directives.delete_policy.before_creation_if_immutable
            && !item.directives.resource_policy.skip_recreate;
        if may_recreate
            && matches!(
                refused,
                OperationError::Cluster {
                    immutable: true,
                    ..
                }
            )
        {
            return self.recreate(number, item, object).await;
        }
        Err(refused)
    }

    async fn replace(&self, resource: &Resource, object: &Value) -> Result<(), OperationError> {
        let budget = self.time.one();
        let at = (resource.id.namespace.as_str(), resource.id.name.as_str());
        self.cluster
            .replace_object(&resource.api, at, object, self.write(), &budget)
            .await
            .map(|written| self.tracker.wrote(&resource.id, &written))
            .map_err(|error| self.refused("replace", resource, &error))
    }

    async fn apply(
        &self,
        resource: &Resource,
        object: &Value,
        force: bool,
        migration: Option<&Value>,
    ) -> Result<(), OperationError> {
        let budget = self.time.one();
        let at = (resource.id.namespace.as_str(), resource.id.name.as_str());
        if let Some(migration) = migration.filter(|_| !self.is_dry()) {
            self.migrate(resource, migration.clone(), &budget).await?;
        }
        let patch = ObjectPatch::Apply {
            object: object.clone(),
            force,
        };
        self.cluster
            .patch_object(&resource.api, at, &patch, self.write(), &budget)
            .await
            .map(|written| self.tracker.wrote(&resource.id, &written))
            .map_err(|error| self.refused("apply", resource, &error))
    }

    /// Makes what was written by updates part of what is applied. Who changes the object meanwhile makes it begin anew.
    async fn migrate(
        &self,
        resource: &Resource,
        first: Value,
        budget: &Budget,
    ) -> Result<(), OperationError> {
        let at = (resource.id.namespace.as_str(), resource.id.name.as_str());
        let mut migration = Some(first);
        let mut attempts = 0;
        while let Some(operations) = migration {
            let patch = ObjectPatch::Json(operations);
            let patched = self
                .cluster
                .patch_object(&resource.api, at, &patch, self.write(), budget)
                .await;
            let Err(error) = patched else { return Ok(()) };
            attempts += 1;
            if error.class() != ErrorClass::Conflict || attempts == MIGRATIONS {
                return Err(self.refused("migrate the field managers of", resource, &error));
            }
            let live = self
                .cluster
                .object(&resource.api, at.0, at.1, budget)
                .await
                .map_err(|error| self.refused("read", resource, &error))?;
            migration = live.and_then(|live| merge::managed_fields::migration(&live, MANAGER));
        }
        Ok(())
    }

    async fn delete(
        &self,
        resource: &Resource,
        uid: Option<&str>,
        propagation: Propagation,
    ) -> Result<Deletion, OperationError> {
        let budget = self.time.one();
        let at = (resource.id.namespace.as_str(), resource.id.name.as_str());
        let deleted = self
            .cluster
            .delete_object(&resource.api, at, uid, propagation, self.mode, &budget)
            .await;
        match deleted {
            Ok(deletion) => Ok(deletion),
            // Another object has the name by now; it is not this release's.
            Err(error) if error.class() == ErrorClass::Conflict && uid.is_some() => {
                (self.listener)(Event::Warning(format!(
                    "{}: was replaced by another object meanwhile and is left alone",
                    resource.id
                )));
                Ok(Deletion::Absent)
            }
            Err(error) => Err(self.refused("delete", resource, &error)),
        }
    }

    async fn gone(&self, resource: &Resource, uid: Option<&str>) -> Result<(), OperationError> {
        if self.is_dry() {
            return Ok(());
        }
        let at = (resource.id.namespace.as_str(), resource.id.name.as_str());
        let budget = self.time.one();
        self.tracker
            .gone(&resource.api, at, uid, &budget)
            .await
            .map_err(|error| waited(&format!("{} is not gone", resource.id), &error))
    }

    async fn ready(&self, item: &Item) -> Result<(), OperationError> {
        if self.is_dry() {
            return Ok(());
        }
        let result = if item.ready {
            Ok(())
        } else {
            let budget = self.time.one();
            self.tracker
                .ready(item, &budget)
                .await
                .map_err(|error| waited(&format!("{} is not ready", item.resource.id), &error))
        };
        if let Role::Hook(hook) = item.resource.role {
            let phase = if result.is_ok() {
                Phase::Succeeded
            } else {
                Phase::Failed
            };
            self.record(hook, phase).await?;
        }
        result
    }

    async fn cleanup(&self, item: &Item) -> Result<(), OperationError> {
        let propagation = item
            .directives
            .propagation
            .unwrap_or(Propagation::Background);
        self.delete(&item.resource, None, propagation)
            .await
            .map(drop)
    }

    async fn external(&self, wait: usize) -> Result<(), OperationError> {
        let Some(wait) = self.plan.externals.get(wait) else {
            return Ok(());
        };
        if self.is_dry() {
            return Ok(());
        }
        let budget = self.time.one();
        let at = (wait.namespace.as_str(), wait.name.as_str());
        let result = match wait.state {
            Wanted::Absent => self.tracker.gone(&wait.api, at, None, &budget).await,
            Wanted::Present | Wanted::Ready => self.tracker.there(wait, &budget).await,
        };
        result.map_err(|error| {
            waited(
                &format!(
                    "annotation {}: {} {} is not {}",
                    wait.key,
                    wait.api.kind,
                    wait.name,
                    wait.state.word()
                ),
                &error,
            )
        })
    }

    async fn record(&self, hook: usize, phase: Phase) -> Result<(), OperationError> {
        match self.recorder {
            Some(recorder) => Ok(recorder.hook(hook, phase).await?),
            None => Ok(()),
        }
    }

    /// A refusal in Helm's words, with the remedies where a field cannot be changed.
    fn refused(&self, verb: &str, resource: &Resource, error: &ClusterError) -> OperationError {
        self.refused_changes(verb, resource, error, &[])
    }

    /// The same for a change of these fields.
    fn refused_changes(
        &self,
        verb: &str,
        resource: &Resource,
        error: &ClusterError,
        changes: &[FieldChange],
    ) -> OperationError {
        let id = &resource.id;
        let mut text = format!("cannot {verb} {:?} with kind {}: {error}", id.name, id.kind);
        let immutable = error
            .refusal()
            .and_then(|refusal| merge::immutable(refusal, changes));
        if let Some(fields) = &immutable {
            text.push_str(&format!(
                "\nhint: {} of {id} cannot be changed once it is there; set it back in the chart, delete the object by hand, or annotate it with werf.io/delete-policy: before-creation-if-immutable to have it deleted and created anew",
                fields.join(", "),
            ));
        }
        OperationError::Cluster {
            text,
            transient: error.is_transient(),
            immutable: immutable.is_some(),
        }
    }
}

fn waited(what: &str, error: &WaitError) -> OperationError {
    OperationError::Wait {
        text: format!("{what}: {error}"),
        timed_out: matches!(error, WaitError::TimedOut { .. }),
    }
}
