//! What is told of objects that are not ready before the error.

use std::time::Duration;

use kzero_cluster::{ApiResource, Budget, CauseSubject, ScaleKind, WorkloadRef};

use super::Tracker;
use crate::event::Event;
use crate::resource::{Resource, ResourceId};

/// How long gathering may take (S-11.32).
const TIME: Duration = Duration::from_secs(5);
/// Objects that are reported on.
const REPORTED: usize = 10;

/// An object that is waited for.
#[derive(Debug, Clone)]
pub(super) struct Unready {
    pub(super) id: ResourceId,
    pub(super) api: ApiResource,
    pub(super) state: String,
}

impl Unready {
    pub(super) fn new(resource: &Resource, state: &str) -> Self {
        Self {
            id: resource.id.clone(),
            api: resource.api.clone(),
            state: state.to_owned(),
        }
    }

    fn subject(&self) -> CauseSubject {
        let (namespace, name) = (self.id.namespace.clone(), self.id.name.clone());
        let workload = |kind| WorkloadRef::new(kind, namespace.clone(), name.clone());
        match (self.id.group.as_str(), self.id.kind.as_str()) {
            ("apps", "Deployment") => CauseSubject::Workload(workload(ScaleKind::Deployment)),
            ("apps", "StatefulSet") => CauseSubject::Workload(workload(ScaleKind::StatefulSet)),
            ("batch", "Job") => CauseSubject::Job { namespace, name },
            ("", "PersistentVolumeClaim") => CauseSubject::Claim { namespace, name },
            ("", "Pod") => CauseSubject::Pod { namespace, name },
            _ => CauseSubject::Object {
                api: self.api.clone(),
                namespace,
                name,
            },
        }
    }
}

impl Tracker<'_> {
    /// Tells what the cluster knows about objects that are not ready: states, events, logs of what crashed.
    ///
    /// Reports of other waits that ended at the same moment are told first; the run ends with the first error, and those
    /// would be lost.
    pub(super) async fn report(&self, objects: Vec<Unready>) {
        let Ok(_turn) = self.reporting.acquire().await else {
            return;
        };
        let budget = Budget::new("causes 5s", TIME);
        for object in objects.iter().take(REPORTED) {
            let lines = self.cluster.causes(&object.subject(), None, &budget).await;
            if !lines.is_empty() {
                (self.listener)(Event::Cause {
                    object: object.id.to_string(),
                    lines,
                });
            }
        }
    }
}
