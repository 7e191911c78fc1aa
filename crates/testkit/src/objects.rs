//! Objects for tests, as short as they can be.

use serde_json::{Value, json};

use crate::json;

/// An object that can be dressed up.
pub trait Object: Sized {
    /// Sets an annotation on the object and, where it has one, on its pod template, such as
    /// `sim.kzero/ready`.
    #[must_use]
    fn annotated(self, name: &str, value: &str) -> Self;

    /// Sets a label on the object.
    #[must_use]
    fn labelled(self, name: &str, value: &str) -> Self;

    /// Sets a field; `path` is a JSON pointer, mappings on the way are made.
    #[must_use]
    fn with(self, path: &str, value: impl Into<Value>) -> Self;
}

impl Object for Value {
    fn annotated(mut self, name: &str, value: &str) -> Value {
        put(&mut self["metadata"], "annotations", name, value);
        if self["spec"]["template"].is_object() {
            put(
                &mut self["spec"]["template"]["metadata"],
                "annotations",
                name,
                value,
            );
        }
        let inner = "/spec/jobTemplate/spec/template/metadata";
        if let Some(meta) = self.pointer_mut(inner) {
            put(meta, "annotations", name, value);
        }
        self
    }

    fn labelled(mut self, name: &str, value: &str) -> Value {
        put(&mut self["metadata"], "labels", name, value);
        self
    }

    fn with(mut self, path: &str, value: impl Into<Value>) -> Value {
        json::set(&mut self, path, value);
        self
    }
}

fn put(meta: &mut Value, field: &str, name: &str, value: &str) {
    if !meta.is_object() {
        *meta = json!({});
    }
    if !meta[field].is_object() {
        meta[field] = json!({});
    }
    meta[field][name] = value.into();
}

fn template(name: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "registry.invalid/main:1"}]},
    })
}

fn workload(kind: &str, namespace: &str, name: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"namespace": namespace, "name": name, "labels": {"app": name}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template(name),
        },
    })
}

/// A namespace.
#[must_use]
pub fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// A Deployment with so many pods of one container `main`, labelled `app: <name>`.
#[must_use]
pub fn deployment(namespace: &str, name: &str, replicas: u32) -> Value {
    workload("Deployment", namespace, name, replicas)
}

/// A StatefulSet, otherwise like [`deployment`].
#[must_use]
pub fn statefulset(namespace: &str, name: &str, replicas: u32) -> Value {
    workload("StatefulSet", namespace, name, replicas).with("/spec/serviceName", name)
}

/// A DaemonSet.
#[must_use]
pub fn daemonset(namespace: &str, name: &str) -> Value {
    let mut set = workload("DaemonSet", namespace, name, 0);
    json::remove(&mut set, "/spec/replicas");
    set
}

/// A Job with one pod that may end and is not restarted.
#[must_use]
pub fn job(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"template": template(name).with("/spec/restartPolicy", "Never")},
    })
}

/// A CronJob that is not suspended and fires once a year.
#[must_use]
pub fn cronjob(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "schedule": "0 0 1 1 *",
            "jobTemplate": {"spec": job(namespace, name)["spec"]},
        },
    })
}

/// A claim of 1 GiB of the default class.
#[must_use]
pub fn pvc(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    })
}

/// A pod with one container `main`.
#[must_use]
pub fn pod(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name, "labels": {"app": name}},
        "spec": template(name)["spec"],
    })
}

/// A ConfigMap.
#[must_use]
pub fn configmap(namespace: &str, name: &str, data: &[(&str, &str)]) -> Value {
    let data: serde_json::Map<String, Value> = data
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).into()))
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": name},
        "data": data,
    })
}

/// A Secret whose values are given in plain text.
#[must_use]
pub fn secret(namespace: &str, name: &str, data: &[(&str, &str)]) -> Value {
    let mut secret = configmap(namespace, name, data);
    secret["kind"] = "Secret".into();
    let plain = json::remove(&mut secret, "/data").unwrap_or_default();
    secret.with("/stringData", plain)
}

/// The API path of an object made here, or of one that a server gave.
///
/// # Panics
///
/// When its kind is not one of those that this module makes.
#[must_use]
pub fn path_of(object: &Value) -> String {
    let plural = match json::text(object, "/kind") {
        "Namespace" => {
            return format!(
                "/api/v1/namespaces/{}",
                json::text(object, "/metadata/name")
            );
        }
        "Deployment" => "deployments",
        "StatefulSet" => "statefulsets",
        "DaemonSet" => "daemonsets",
        "ReplicaSet" => "replicasets",
        "Job" => "jobs",
        "CronJob" => "cronjobs",
        "PersistentVolumeClaim" => "persistentvolumeclaims",
        "Pod" => "pods",
        "ConfigMap" => "configmaps",
        "Secret" => "secrets",
        "Lease" => "leases",
        other => panic!("no path is known for the kind {other:?}"),
    };
    let version = json::text(object, "/apiVersion");
    let root = if version.contains('/') { "apis" } else { "api" };
    format!(
        "/{root}/{version}/namespaces/{}/{plural}/{}",
        json::text(object, "/metadata/namespace"),
        json::text(object, "/metadata/name")
    )
}
