//! Waiting for objects: until they are ready, there, or gone.

use std::ops::ControlFlow;

use kzero_cluster::{ApiResource, Budget, Cluster, ScaleKind, Selection, WaitError, WorkloadRef};
use serde_json::Value;

use crate::event::{Event, Listener};
use crate::plan::ExternalWait;
use crate::resource::{Resource, text};

/// Waits until an object is ready; a Job until it is complete, a Pod of a hook until it has succeeded.
///
/// # Errors
///
/// [`WaitError::Failed`] when it will not get ready, [`WaitError::TimedOut`] with what was missing when the budget ended.
///
/// # Cancel safety
///
/// Safe to drop.
pub async fn until_ready(
    cluster: &Cluster,
    resource: &Resource,
    budget: &Budget,
) -> Result<(), WaitError> {
    let id = &resource.id;
    let workload = |kind| WorkloadRef::new(kind, id.namespace.clone(), id.name.clone());
    match (id.group.as_str(), id.kind.as_str()) {
        ("apps", "Deployment") => cluster
            .wait_ready(&workload(ScaleKind::Deployment), None, budget)
            .await
            .map(|_| ()),
        ("apps", "StatefulSet") => cluster
            .wait_ready(&workload(ScaleKind::StatefulSet), None, budget)
            .await
            .map(|_| ()),
        ("batch", "Job") => {
            cluster
                .wait_job(&id.namespace, &id.name, None, budget)
                .await
        }
        _ => Ok(()),
    }
}

/// Whether an object has anything that can be waited for; others are ready once they are accepted.
#[must_use]
pub fn has_rule(resource: &Resource) -> bool {
    matches!(
        (resource.id.group.as_str(), resource.id.kind.as_str()),
        ("apps", "Deployment" | "StatefulSet") | ("batch", "Job")
    )
}

/// Whether a live object is ready as it is.
#[must_use]
pub fn is_ready(resource: &Resource, _live: &Value) -> bool {
    !has_rule(resource)
}

/// Waits until something outside of the release is there, or ready.
///
/// # Errors
///
/// As [`until_ready`].
///
/// # Cancel safety
///
/// Safe to drop.
pub async fn until_there(
    cluster: &Cluster,
    wait: &ExternalWait,
    budget: &Budget,
    _listener: &Listener<'_>,
) -> Result<(), WaitError> {
    let selection = Selection {
        name: Some(wait.name.clone()),
        labels: None,
    };
    cluster
        .follow_objects(&wait.api, &wait.namespace, &selection, budget, |objects| {
            if objects.is_empty() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })
        .await
}

/// Waits until an object is gone. With a uid, an object of another one counts as gone.
///
/// # Errors
///
/// [`WaitError::TimedOut`], naming the finalizers that keep it.
///
/// # Cancel safety
///
/// Safe to drop.
pub async fn until_gone(
    cluster: &Cluster,
    api: &ApiResource,
    (namespace, name): (&str, &str),
    uid: Option<&str>,
    budget: &Budget,
    listener: &Listener<'_>,
) -> Result<(), WaitError> {
    let selection = Selection {
        name: Some(name.to_owned()),
        labels: None,
    };
    let mut told = String::new();
    let seen = cluster
        .follow_objects(api, namespace, &selection, budget, |objects| {
            let left = objects.values().find(|object| {
                text(object, "/metadata/name") == name
                    && uid.is_none_or(|uid| text(object, "/metadata/uid") == uid)
            });
            let Some(left) = left else {
                return ControlFlow::Break(());
            };
            let state = remaining(left);
            if state != told {
                told.clone_from(&state);
                listener(Event::Progress {
                    object: format!("{} {namespace}/{name}", api.kind),
                    text: state,
                });
            }
            ControlFlow::Continue(())
        })
        .await;
    match seen {
        Err(WaitError::TimedOut { expired, .. }) => Err(WaitError::TimedOut {
            expired,
            detail: format!("{} {namespace}/{name}: {told}", api.kind),
        }),
        other => other,
    }
}

/// Why an object is still there.
fn remaining(object: &Value) -> String {
    let finalizers: Vec<&str> = object
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    match (
        object.pointer("/metadata/deletionTimestamp"),
        finalizers.as_slice(),
    ) {
        (None, _) => "it is not being deleted".to_owned(),
        (Some(_), []) => "it is being deleted".to_owned(),
        (Some(_), finalizers) => format!("it is kept by finalizers {}", finalizers.join(" ")),
    }
}
