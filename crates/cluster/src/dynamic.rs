//! Objects of any kind, as JSON: created, patched, replaced, deleted, followed.
//!
//! Which kind is served where is told by [`Discovery`](crate::Discovery); what the objects mean is the caller's
//! business. Each write names its field manager, since the objects of a release belong to `helm` (S-D.23).

use std::{collections::BTreeMap, ops::ControlFlow};

use http::Method;
use kube::core::DynamicObject;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    ApiResource, ApplyMode, Budget, Change, Cluster, ClusterError, ErrorClass, WaitError,
    client::Call, error::Operation, list::Follow,
};

/// Who writes, and whether the write takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The field manager under which the API server books the fields.
    pub manager: &'static str,
    /// Whether it takes effect.
    pub mode: ApplyMode,
}

/// A change of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectPatch {
    /// RFC 7386: tables are merged, everything else is replaced.
    Merge(Value),
    /// As `Merge`, with lists merged by their keys; for kinds that are built into Kubernetes.
    Strategic(Value),
    /// RFC 6902: a list of operations.
    Json(Value),
    /// Server-side apply of a whole object, created if it is absent. Fields that another manager set to another value are a
    /// conflict, unless `force` takes them.
    Apply {
        /// The object.
        object: Value,
        /// Whether fields of other managers are taken.
        force: bool,
    },
}

impl ObjectPatch {
    fn content_type(&self) -> &'static str {
        match self {
            Self::Merge(_) => "application/merge-patch+json",
            Self::Strategic(_) => "application/strategic-merge-patch+json",
            Self::Json(_) => "application/json-patch+json",
            // JSON is YAML.
            Self::Apply { .. } => "application/apply-patch+yaml",
        }
    }

    fn body(&self) -> &Value {
        match self {
            Self::Merge(body) | Self::Strategic(body) | Self::Json(body) => body,
            Self::Apply { object, .. } => object,
        }
    }
}

/// What becomes of the objects that an object owns when it is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Propagation {
    /// They go after it.
    #[default]
    Background,
    /// They go before it.
    Foreground,
    /// They stay.
    Orphan,
}

impl Propagation {
    /// The word of the API, such as `Background`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}

/// Which objects of a kind are followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The one of this name.
    pub name: Option<String>,
    /// Those with these labels, as the API writes selectors.
    pub labels: Option<String>,
}

/// What came of deleting an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It was not there.
    Absent,
    /// It is gone: the server says so.
    Done,
    /// It may still be there: something holds it, or the server does not say.
    Begun,
}

impl Cluster {
    /// Creates an object. `namespace` counts for kinds in namespaces only. Returns it as the server stored it.
    ///
    /// # Errors
    ///
    /// [`Exists`](crate::ErrorClass::Exists) when there is one of that name, and any other [`ClusterError`].
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped after sending, the object may or may not be there.
    pub async fn create_object(
        &self,
        resource: &ApiResource,
        namespace: &str,
        object: &Value,
        write: Write,
        budget: &Budget,
    ) -> Result<Value, ClusterError> {
        let name = object.pointer("/metadata/name").and_then(Value::as_str);
        let operation = resource.operation("create", namespace, name.unwrap_or_default());
        let call = Call::new(operation, Method::POST, resource.path(namespace, None))
            .query("fieldManager", write.manager)
            .mode(write.mode)
            .json(object);
        self.call_json(&call, budget).await
    }

    /// Changes an object. Returns it as the server stored it.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorClass::NotFound) when it is not there (but for [`ObjectPatch::Apply`]), and any other
    /// [`ClusterError`].
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped after sending, the change may or may not have taken effect.
    pub async fn patch_object(
        &self,
        resource: &ApiResource,
        (namespace, name): (&str, &str),
        patch: &ObjectPatch,
        write: Write,
        budget: &Budget,
    ) -> Result<Value, ClusterError> {
        let operation = resource.operation("patch", namespace, name);
        let mut call = Call::new(
            operation,
            Method::PATCH,
            resource.path(namespace, Some(name)),
        )
        .query("fieldManager", write.manager)
        .mode(write.mode);
        if let ObjectPatch::Apply { force, .. } = patch {
            call = call
                .query("force", force.to_string())
                .query("fieldValidation", "Strict");
        }
        call.body = Some((patch.content_type(), patch.body().to_string().into_bytes()));
        self.call_json(&call, budget).await
    }

    /// Replaces an object as a whole. With a resource version in its metadata it fails if the object has another one by now.
    ///
    /// # Errors
    ///
    /// [`Conflict`](crate::ErrorClass::Conflict) for another resource version, and any other [`ClusterError`].
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped after sending, the object may or may not be replaced.
    pub async fn replace_object(
        &self,
        resource: &ApiResource,
        (namespace, name): (&str, &str),
        object: &Value,
        write: Write,
        budget: &Budget,
    ) -> Result<Value, ClusterError> {
        let operation = resource.operation("update", namespace, name);
        let call = Call::new(operation, Method::PUT, resource.path(namespace, Some(name)))
            .query("fieldManager", write.manager)
            .mode(write.mode)
            .json(object);
        self.call_json(&call, budget).await
    }

    /// Deletes an object, if it still has that uid.
    ///
    /// Returns when the server has accepted it; finalizers and graceful ends may keep the object for longer, see [`Deletion`].
    ///
    /// # Errors
    ///
    /// [`Conflict`](crate::ErrorClass::Conflict) when the object of that name has another uid, and any other
    /// [`ClusterError`] but not found.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped after sending, the object may or may not be deleted. The call may be repeated.
    pub async fn delete_object(
        &self,
        resource: &ApiResource,
        (namespace, name): (&str, &str),
        uid: Option<&str>,
        propagation: Propagation,
        mode: ApplyMode,
        budget: &Budget,
    ) -> Result<Deletion, ClusterError> {
        let mut options = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation.word(),
        });
        if let Some(uid) = uid {
            options["preconditions"] = json!({ "uid": uid });
        }
        // In the body, since options of a body replace those of the query.
        if mode == ApplyMode::DryRun {
            options["dryRun"] = json!(["All"]);
        }
        let operation = resource.operation("delete", namespace, name);
        let call = Call::new(
            operation,
            Method::DELETE,
            resource.path(namespace, Some(name)),
        )
        .json(&options);
        Ok(match self.call_optional::<Answer>(&call, budget).await? {
            None => Deletion::Absent,
            // An object that goes later is answered as it is by then, with its finalizers.
            Some(answer) if answer.kind == "Status" && answer.status == json!("Success") => {
                Deletion::Done
            }
            Some(_) => Deletion::Begun,
        })
    }

    /// Lists the metadata of all objects of a kind in a namespace, or with an empty one in all.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`].
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn object_heads(
        &self,
        resource: &ApiResource,
        namespace: &str,
        budget: &Budget,
    ) -> Result<Vec<Value>, ClusterError> {
        let operation = resource.operation("list", namespace, "*");
        self.list_metadata(&operation, &resource.path(namespace, None), &[], budget)
            .await
    }

    /// Shows objects of a kind to `check`, by uid, at first and whenever they change, until it breaks.
    ///
    /// Where watching is forbidden the list is read each second, where listing is, a single object is. Failures that
    /// pass are waited out until the budget ends, each reported once as
    /// [`Notice::WaitInterrupted`](crate::Notice::WaitInterrupted).
    ///
    /// # Errors
    ///
    /// [`WaitError::TimedOut`] when the budget ended, [`WaitError::Cluster`] when the objects may not be read.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn follow_objects<T>(
        &self,
        resource: &ApiResource,
        namespace: &str,
        selection: &Selection,
        budget: &Budget,
        mut check: impl FnMut(&BTreeMap<String, Value>) -> ControlFlow<T>,
    ) -> Result<T, WaitError> {
        let what = selection.follow(resource, namespace);
        let head = (resource.group_version.as_str(), resource.kind.as_str());
        self.follow::<DynamicObject, T>(&what, budget, |objects| {
            check(
                &objects
                    .iter()
                    .map(|(uid, object)| (uid.clone(), value(object, head)))
                    .collect(),
            )
        })
        .await
    }

    /// Tells `see` which objects of a kind are there and what changes, one by one, until it breaks. An empty namespace means
    /// all.
    ///
    /// Otherwise as [`Cluster::follow_objects`], for whoever keeps the objects: nothing is built anew at each change. Objects
    /// of lists come without `apiVersion` and `kind`.
    ///
    /// # Errors
    ///
    /// As [`Cluster::follow_objects`].
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn observe_objects<T>(
        &self,
        resource: &ApiResource,
        namespace: &str,
        selection: &Selection,
        budget: &Budget,
        see: impl FnMut(Change<Value>) -> ControlFlow<T>,
    ) -> Result<T, WaitError> {
        self.observe(&selection.follow(resource, namespace), budget, see)
            .await
    }

    /// Whether the API server answers for a kind. Whoever may not list it is not told, and takes it for served.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`] but not found and forbidden.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn answers_for(
        &self,
        resource: &ApiResource,
        budget: &Budget,
    ) -> Result<bool, ClusterError> {
        let operation = resource.operation("list", "", "*");
        let call = Call::get(operation, resource.path("", None)).query("limit", "1");
        match self.call(&call, budget).await {
            Ok(_) => Ok(true),
            Err(error) if error.class() == ErrorClass::NotFound => Ok(false),
            Err(error) if error.class() == ErrorClass::Forbidden => Ok(true),
            Err(error) => Err(error),
        }
    }
}

impl Selection {
    fn follow(&self, resource: &ApiResource, namespace: &str) -> Follow {
        let word = self.name.as_deref().unwrap_or("*");
        let mut selector = Vec::new();
        if let Some(name) = &self.name {
            selector.push(("fieldSelector", format!("metadata.name={name}")));
        }
        if let Some(labels) = &self.labels {
            selector.push(("labelSelector", labels.clone()));
        }
        Follow {
            operation: resource.operation("list", namespace, word),
            path: resource.path(namespace, None),
            selector,
            single: self
                .name
                .as_deref()
                .map(|name| resource.path(namespace, Some(name))),
        }
    }
}

/// An object as JSON, with the type that lists leave out of their items.
/// What is of interest in the answer to a deletion.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    status: Value,
}

fn value(object: &DynamicObject, (api_version, kind): (&str, &str)) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Some(table) = value.as_object_mut() {
        table
            .entry("apiVersion")
            .or_insert_with(|| api_version.into());
        table.entry("kind").or_insert_with(|| kind.into());
    }
    value
}

impl ApiResource {
    /// The words for errors: `ConfigMap app/settings`.
    pub(crate) fn operation(&self, verb: &'static str, namespace: &str, name: &str) -> Operation {
        let namespace = (self.namespaced && !namespace.is_empty()).then_some(namespace);
        let object = match namespace {
            Some(namespace) => format!("{} {namespace}/{name}", self.kind),
            None => format!("{} {name}", self.kind),
        };
        Operation::new(verb, self.plural.clone(), namespace, object)
    }
}
