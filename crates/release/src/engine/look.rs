//! The live objects of a revision, as people look at them.

use std::collections::{BTreeMap, HashSet};

use kzero_cluster::{Budget, View};
use serde_json::Value;

use super::{Engine, look};
use crate::error::ReleaseError;
use crate::event::Event;
use crate::resource::Resource;
use crate::restart::{match_labels, pods};
use crate::revision::Revision;

/// Under which pods are shown that belong to objects of the release.
const PODS: &str = "v1/Pod(related)";

/// Live objects by version and kind, such as `v1/Deployment`, in Helm's words.
pub type Live = BTreeMap<String, Vec<Value>>;

impl Engine<'_> {
    /// Reads the live objects of a revision without its hooks, and the pods of its workloads. What is not there is left
    /// out; what cannot be read is told.
    ///
    /// # Errors
    ///
    /// The API server does not say what it serves.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn live(
        &self,
        revision: &Revision,
        view: View,
        budget: &Budget,
    ) -> Result<Live, ReleaseError> {
        let kinds = self.kinds(budget).await?;
        let stored = self.stored_objects(std::slice::from_ref(revision), &kinds);
        let mut found = Live::new();
        let mut selected = HashSet::new();
        for resource in stored.iter().flatten() {
            let id = &resource.id;
            let at = (id.namespace.as_str(), id.name.as_str());
            let object = self
                .cluster
                .view_object(&resource.api, at, view, &look(budget))
                .await;
            match object {
                Ok(None) => continue,
                Ok(Some(object)) => found.entry(key(resource)).or_default().push(object),
                Err(error) => {
                    self.tell(Event::Warning(format!("{id} cannot be shown: {error}")));
                    continue;
                }
            }
            let Some(labels) = match_labels(&resource.object) else {
                continue;
            };
            if !selected.insert((id.namespace.clone(), labels.clone())) {
                continue;
            }
            let pods = self
                .cluster
                .view_labelled(&pods(), &id.namespace, &labels, view, &look(budget))
                .await;
            match pods {
                Ok(pods) => related(&mut found, pods),
                Err(error) => {
                    self.tell(Event::Warning(format!(
                        "pods of {id} cannot be shown: {error}"
                    )));
                }
            }
        }
        Ok(found)
    }
}

/// Adds a list or table of pods to what was found.
fn related(found: &mut Live, mut pods: Value) {
    let items = pods.get_mut("items").and_then(Value::as_array_mut);
    for pod in items.into_iter().flatten() {
        // Items of lists do not say what they are.
        pod["apiVersion"] = "v1".into();
        pod["kind"] = "Pod".into();
    }
    found.entry(PODS.to_owned()).or_default().push(pods);
}

fn key(resource: &Resource) -> String {
    let version = resource.api.group_version.rsplit('/').next();
    format!("{}/{}", version.unwrap_or_default(), resource.id.kind)
}
