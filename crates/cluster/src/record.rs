//! ConfigMaps and Leases that belong to this program, its memory and its locks, and the records of releases, which it
//! shares with Helm.
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
    /// `v1` Secret that holds a revision of a release. Lists have those of Helm's type alone.
    HelmSecret,
    /// `v1` ConfigMap that holds a revision of a release.
    HelmConfigMap,
}

/// The field manager of Helm's own writes of its records, which Helm 3 and 4 take from their user agent.
const HELM_MANAGER: &str = "Helm";
/// The type of the Secrets that are records of releases.
const HELM_TYPE: &str = "type=helm.sh/release.v1";
/// Records of releases per page: each may have a mebibyte, half as much again in JSON.
const HELM_PAGE: usize = 20;

impl RecordKind {
    fn api(self) -> &'static str {
        match self {
            Self::ConfigMap | Self::HelmSecret | Self::HelmConfigMap => "v1",
            Self::Lease => "coordination.k8s.io/v1",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Self::ConfigMap | Self::HelmConfigMap => "configmaps",
            Self::Lease => "leases",
            Self::HelmSecret => "secrets",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::ConfigMap | Self::HelmConfigMap => "configmap",
            Self::Lease => "lease",
            Self::HelmSecret => "secret",
        }
    }

    fn manager(self) -> &'static str {
        match self {
            Self::ConfigMap | Self::Lease => FIELD_MANAGER,
            Self::HelmSecret | Self::HelmConfigMap => HELM_MANAGER,
        }
    }

    fn selectors(self, labels: &str) -> Vec<(&'static str, String)> {
        let mut selectors = vec![("labelSelector", labels.to_owned())];
        if self == Self::HelmSecret {
            selectors.push(("fieldSelector", HELM_TYPE.to_owned()));
        }
        selectors
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
        let path = kind.path(namespace, None);
        let selectors = kind.selectors(label_selector);
        match kind {
            RecordKind::ConfigMap | RecordKind::Lease => {
                let listed = self.list(&operation, &path, &selectors, budget).await?;
                Ok(listed.items)
            }
            RecordKind::HelmSecret | RecordKind::HelmConfigMap => {
                self.list_in_pages(&operation, &path, &selectors, HELM_PAGE, budget)
                    .await
            }
        }
    }

    /// Lists the metadata of the records that a label selector picks, in a namespace or in all of them. What they hold
    /// is not read.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`].
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn list_record_heads(
        &self,
        kind: RecordKind,
        namespace: Option<&str>,
        label_selector: &str,
        budget: &Budget,
    ) -> Result<Vec<Value>, ClusterError> {
        let (path, of) = match namespace {
            Some(namespace) => (kind.path(namespace, None), format!("{namespace}/*")),
            None => (
                cluster_scoped(kind.api(), kind.plural(), None),
                "*".to_owned(),
            ),
        };
        let object = format!("{} {of}", kind.word());
        let operation = Operation::new("list", kind.plural(), namespace, object);
        self.list_metadata(&operation, &path, &kind.selectors(label_selector), budget)
            .await
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
            .query("fieldManager", kind.manager())
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
            .query("fieldManager", kind.manager())
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
