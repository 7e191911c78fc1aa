//! ConfigMaps and Leases that belong to this program: its memory and its locks.
//!
//! They are handed over as JSON; what they mean is the caller's business. Writes carry the
//! resource version that was read, so that a change by others shows as a conflict.

use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    budget::Budget,
    client::{Call, Cluster, FIELD_MANAGER},
    error::{ClusterError, Operation},
    object::{cluster_scoped, namespaced},
    scale::text,
};

/// Kinds of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordKind {
    /// `v1` ConfigMap.
    ConfigMap,
    /// `coordination.k8s.io/v1` Lease.
    Lease,
}

impl RecordKind {
    fn api(self) -> &'static str {
        match self {
            Self::ConfigMap => "v1",
            Self::Lease => "coordination.k8s.io/v1",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmaps",
            Self::Lease => "leases",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmap",
            Self::Lease => "lease",
        }
    }

    fn operation(self, verb: &'static str, namespace: &str, name: &str) -> Operation {
        Operation::new(
            verb,
            self.plural(),
            Some(namespace),
            format!("{} {namespace}/{name}", self.word()),
        )
    }

    fn path(self, namespace: &str, name: Option<&str>) -> String {
        namespaced(self.api(), namespace, self.plural(), name)
    }
}

/// A record, with the server's clock at the time of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The whole object.
    pub object: Value,
    /// The server's clock when it answered; `None` if it does not say. Leases are judged by it.
    pub server_time: Option<Timestamp>,
}

impl Cluster {
    /// Reads a record, `None` if it is absent.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`] but not found.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn read_record(
        &self,
        kind: RecordKind,
        namespace: &str,
        name: &str,
        budget: &Budget,
    ) -> Result<Option<Record>, ClusterError> {
        let call = Call::get(
            kind.operation("get", namespace, name),
            kind.path(namespace, Some(name)),
        );
        match self.record(&call, budget).await {
            Ok(record) => Ok(Some(record)),
            Err(error) if error.class() == crate::ErrorClass::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists the records of a namespace that a label selector picks, such as
    /// `app.kubernetes.io/managed-by=kzero`.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`].
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn list_records(
        &self,
        kind: RecordKind,
        namespace: &str,
        label_selector: &str,
        budget: &Budget,
    ) -> Result<Vec<Value>, ClusterError> {
        let operation = kind.operation("list", namespace, "*");
        let selector = [("labelSelector", label_selector.to_owned())];
        let listed = self
            .list(&operation, &kind.path(namespace, None), &selector, budget)
            .await?;
        Ok(listed.items)
    }

    /// Creates a record from a whole object, whose name is in its metadata.
    ///
    /// # Errors
    ///
    /// [`Exists`](crate::ErrorClass::Exists) when someone else was faster, and any other
    /// [`ClusterError`].
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped after sending, the record may or may not be there.
    pub async fn create_record(
        &self,
        kind: RecordKind,
        namespace: &str,
        object: &Value,
        budget: &Budget,
    ) -> Result<Record, ClusterError> {
        let name = text(object, "/metadata/name");
        let operation = kind.operation("create", namespace, &name);
        let call = Call::new(operation, Method::POST, kind.path(namespace, None))
            .query("fieldManager", FIELD_MANAGER)
            .json(object);
        self.record(&call, budget).await
    }

    /// Replaces a record by a whole object. The `resourceVersion` in its metadata is the version
    /// it was made from.
    ///
    /// # Errors
    ///
    /// [`Conflict`](crate::ErrorClass::Conflict) when the record has changed since,
    /// [`NotFound`](crate::ErrorClass::NotFound) when it is gone, and any other [`ClusterError`].
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped after sending, the record may or may not be replaced.
    pub async fn replace_record(
        &self,
        kind: RecordKind,
        namespace: &str,
        object: &Value,
        budget: &Budget,
    ) -> Result<Record, ClusterError> {
        let name = text(object, "/metadata/name");
        let operation = kind.operation("update", namespace, &name);
        let call = Call::new(operation, Method::PUT, kind.path(namespace, Some(&name)))
            .query("fieldManager", FIELD_MANAGER)
            .json(object);
        self.record(&call, budget).await
    }

    /// Deletes a record, only in the version that was read. `false` if it was not there.
    ///
    /// # Errors
    ///
    /// [`Conflict`](crate::ErrorClass::Conflict) when it has changed since, and any other
    /// [`ClusterError`].
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped after sending, the record may or may not be gone.
    pub async fn delete_record(
        &self,
        kind: RecordKind,
        namespace: &str,
        name: &str,
        resource_version: &str,
        budget: &Budget,
    ) -> Result<bool, ClusterError> {
        let call = Call::new(
            kind.operation("delete", namespace, name),
            Method::DELETE,
            kind.path(namespace, Some(name)),
        )
        .json(&json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"resourceVersion": resource_version},
        }));
        let answer = self.call_optional::<Value>(&call, budget).await?;
        Ok(answer.is_some())
    }

    /// Reads the uid of a namespace, `None` if it is absent. That of `kube-system` identifies a
    /// cluster.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`] but not found.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn namespace_uid(
        &self,
        name: &str,
        budget: &Budget,
    ) -> Result<Option<String>, ClusterError> {
        let operation = Operation::new("get", "namespaces", None, format!("namespace {name}"));
        let call = Call::get(operation, cluster_scoped("v1", "namespaces", Some(name)));
        let found: Option<Value> = self.call_optional(&call, budget).await?;
        Ok(found.map(|found| text(&found, "/metadata/uid")))
    }

    async fn record(&self, call: &Call, budget: &Budget) -> Result<Record, ClusterError> {
        let reply = self.call(call, budget).await?;
        Ok(Record {
            object: reply.json(&call.operation)?,
            server_time: reply.date,
        })
    }
}
