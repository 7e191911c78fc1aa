//! Records as Secrets and ConfigMaps.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kzero_cluster::{Budget, Cluster, ClusterError, ErrorClass, RecordKind};
use serde_json::{Value, json};

use super::labels::OWNER;
use super::{Entry, Raw, Stamp, StorageError};

/// The key of the text in the object's data.
const KEY: &str = "release";

#[derive(Clone, Debug)]
pub(super) struct Objects {
    cluster: Cluster,
    kind: RecordKind,
}

impl Objects {
    pub(super) fn new(cluster: Cluster, kind: RecordKind) -> Self {
        Self { cluster, kind }
    }

    /// The kind in words.
    pub(super) fn word(&self) -> &'static str {
        if self.is_secret() {
            "secret"
        } else {
            "configmap"
        }
    }

    fn is_secret(&self) -> bool {
        self.kind == RecordKind::HelmSecret
    }

    pub(super) async fn of_release(
        &self,
        namespace: &str,
        release: &str,
        budget: &Budget,
    ) -> Result<Vec<Raw>, StorageError> {
        let selector = format!("name={release},owner={OWNER}");
        let found = self
            .cluster
            .list_records(self.kind, namespace, &selector, budget)
            .await?;
        Ok(found.into_iter().map(|object| self.raw(object)).collect())
    }

    pub(super) async fn heads(
        &self,
        namespace: Option<&str>,
        budget: &Budget,
    ) -> Result<Vec<Raw>, StorageError> {
        let selector = format!("owner={OWNER}");
        let found = self
            .cluster
            .list_record_heads(self.kind, namespace, &selector, budget)
            .await?;
        Ok(found.into_iter().map(|object| self.raw(object)).collect())
    }

    pub(super) async fn read(
        &self,
        namespace: &str,
        record: &str,
        budget: &Budget,
    ) -> Result<Option<Raw>, StorageError> {
        let found = self
            .cluster
            .read_record(self.kind, namespace, record, budget)
            .await?;
        Ok(found.map(|found| self.raw(found.object)))
    }

    pub(super) async fn create(&self, raw: Raw, budget: &Budget) -> Result<Stamp, StorageError> {
        let namespace = raw.namespace.clone();
        let created = self
            .cluster
            .create_record(self.kind, &namespace, &self.object(raw), budget)
            .await;
        match created {
            Ok(created) => Ok(stamp(&created.object)),
            Err(error) if error.class() == ErrorClass::Exists => Err(StorageError::Exists),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn replace(&self, raw: Raw, budget: &Budget) -> Result<Stamp, StorageError> {
        let namespace = raw.namespace.clone();
        let replaced = self
            .cluster
            .replace_record(self.kind, &namespace, &self.object(raw), budget)
            .await;
        match replaced {
            Ok(replaced) => Ok(stamp(&replaced.object)),
            Err(error) if error.class() == ErrorClass::NotFound => Err(StorageError::NotFound),
            Err(error) => Err(changed(error)),
        }
    }

    pub(super) async fn delete(
        &self,
        entry: &Entry,
        budget: &Budget,
    ) -> Result<bool, StorageError> {
        let state = entry.stamp().map_or("", |stamp| &stamp.0);
        self.cluster
            .delete_record(self.kind, entry.namespace(), entry.record(), state, budget)
            .await
            .map_err(changed)
    }

    /// The object of a record.
    fn object(&self, raw: Raw) -> Value {
        let body = raw.body.unwrap_or_default();
        let mut object = json!({
            "apiVersion": "v1",
            "metadata": {"name": raw.name, "namespace": raw.namespace, "labels": raw.labels},
        });
        if let Some(Stamp(state)) = raw.stamp {
            object["metadata"]["resourceVersion"] = Value::String(state);
        }
        if self.is_secret() {
            object["kind"] = json!("Secret");
            object["type"] = json!("helm.sh/release.v1");
            object["data"] = json!({KEY: STANDARD.encode(body)});
        } else {
            object["kind"] = json!("ConfigMap");
            object["data"] = json!({KEY: body});
        }
        object
    }

    fn raw(&self, mut object: Value) -> Raw {
        let data = object.pointer_mut("/data/release").map(Value::take);
        let body = data.and_then(|data| match data {
            Value::String(text) if self.is_secret() => {
                // A text that is no base64 cannot come from an API server; it is then none of a revision either.
                let bytes = STANDARD.decode(text).unwrap_or_default();
                Some(String::from_utf8_lossy(&bytes).into_owned())
            }
            Value::String(text) => Some(text),
            _ => None,
        });
        let metadata = &object["metadata"];
        let text = |key: &str| metadata[key].as_str().unwrap_or_default().to_owned();
        let labels = metadata["labels"].as_object().into_iter().flatten();
        let labels: BTreeMap<String, String> = labels
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect();
        Raw {
            namespace: text("namespace"),
            name: text("name"),
            labels,
            body,
            stamp: Some(stamp(&object)),
        }
    }
}

fn stamp(object: &Value) -> Stamp {
    let state = object["metadata"]["resourceVersion"].as_str();
    Stamp(state.unwrap_or_default().to_owned())
}

fn changed(error: ClusterError) -> StorageError {
    if error.class() == ErrorClass::Conflict {
        StorageError::Changed {
            record: String::new(),
        }
    } else {
        error.into()
    }
}
