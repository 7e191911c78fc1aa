//! Who else manages a workload, and so may undo a park (S-6.13).
//!
//! Everything here is best effort: what cannot be read is passed over.

use std::{collections::BTreeMap, fmt};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    budget::Budget,
    client::{Call, Cluster},
    error::Operation,
    object::{ScaleKind, WorkloadRef, namespaced},
    pods::controller,
    wait::workload_operation,
};

/// Something that kzero parks. Displays as a compact reference, `deployment.app/api`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parked {
    /// A workload, by its size.
    Workload(WorkloadRef),
    /// A CronJob, by its suspension.
    CronJob {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

impl fmt::Display for Parked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workload(workload) => write!(
                f,
                "{}.{}/{}",
                workload.kind.word(),
                workload.namespace,
                workload.name
            ),
            Self::CronJob { namespace, name } => write!(f, "cronjob.{namespace}/{name}"),
        }
    }
}

/// The metadata of any object.
#[derive(Deserialize)]
struct Named {
    metadata: ObjectMeta,
}

impl Cluster {
    /// Finds what will undo a park: Argo CD, Flux, a KEDA `ScaledObject`, a controller of another
    /// kind. Returns one line for each of these owners, naming what it owns.
    ///
    /// Never fails: objects that are absent or may not be read are passed over, and what is not
    /// read before the budget ends is left out.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn park_undoers(&self, parked: &[Parked], budget: &Budget) -> Vec<String> {
        let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut scaled: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for object in parked {
            let (operation, path) = match object {
                Parked::Workload(workload) => {
                    (workload_operation(workload, "get"), workload.path())
                }
                Parked::CronJob { namespace, name } => (
                    Operation::new("get", "cronjobs", Some(namespace), object.to_string()),
                    namespaced("batch/v1", namespace, "cronjobs", Some(name)),
                ),
            };
            let found: Option<Named> = self
                .call_optional(&Call::get(operation, path), budget)
                .await
                .unwrap_or_default();
            let mut found = found.map_or_else(Vec::new, |object| managers(&object.metadata));
            if let Parked::Workload(workload) = object {
                if !scaled.contains_key(&workload.namespace) {
                    let items = self.scaled_objects(&workload.namespace, budget).await;
                    scaled.insert(workload.namespace.clone(), items);
                }
                let items = scaled
                    .get(&workload.namespace)
                    .map_or(&[][..], Vec::as_slice);
                found.extend(keda(workload, items));
            }
            for owner in found {
                owners.entry(owner).or_default().push(object.to_string());
            }
        }
        owners
            .into_iter()
            .map(|(owner, objects)| format!("{owner} may undo the park of {}", objects.join(", ")))
            .collect()
    }

    async fn scaled_objects(&self, namespace: &str, budget: &Budget) -> Vec<Value> {
        let operation = Operation::new("list", "scaledobjects", Some(namespace), "ScaledObjects");
        let path = namespaced("keda.sh/v1alpha1", namespace, "scaledobjects", None);
        self.list(&operation, &path, &[], budget)
            .await
            .map_or_else(|_| Vec::new(), |listed| listed.items)
    }
}

/// Managers that the metadata speaks of.
fn managers(meta: &ObjectMeta) -> Vec<String> {
    let label = |key: &str| {
        meta.labels
            .as_ref()?
            .get(key)
            .filter(|text| !text.is_empty())
    };
    let annotation = |key: &str| {
        meta.annotations
            .as_ref()?
            .get(key)
            .filter(|text| !text.is_empty())
    };
    let mut found = Vec::new();
    // The tracking id is `application:group/kind:namespace/name`.
    let application = annotation("argocd.argoproj.io/tracking-id")
        .and_then(|id| id.split(':').next())
        .or(label("argocd.argoproj.io/instance").map(String::as_str));
    if let Some(application) = application {
        found.push(format!("Argo CD (application {application})"));
    }
    for (what, group) in [
        ("kustomization", "kustomize.toolkit.fluxcd.io"),
        ("helm release", "helm.toolkit.fluxcd.io"),
    ] {
        if let Some(name) = label(&format!("{group}/name")) {
            let place = label(&format!("{group}/namespace"))
                .map_or_else(String::new, |namespace| format!("{namespace}/"));
            found.push(format!("Flux ({what} {place}{name})"));
        }
    }
    if let Some(owner) = controller(meta.owner_references.as_deref()) {
        found.push(format!("its controller {} {}", owner.kind, owner.name));
    }
    found
}

/// `ScaledObjects` that target the workload and are not paused themselves.
fn keda(workload: &WorkloadRef, items: &[Value]) -> Vec<String> {
    let text = |item: &Value, pointer: &str| {
        item.pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    items
        .iter()
        .filter(|item| {
            let kind = text(item, "/spec/scaleTargetRef/kind");
            let kind = if kind.is_empty() {
                ScaleKind::Deployment.kind()
            } else {
                kind.as_str()
            };
            let annotations = item.pointer("/metadata/annotations");
            let paused = annotations.is_some_and(|annotations| {
                annotations
                    .get("autoscaling.keda.sh/paused")
                    .and_then(Value::as_str)
                    == Some("true")
                    || annotations
                        .get("autoscaling.keda.sh/paused-replicas")
                        .is_some()
            });
            kind == workload.kind.kind()
                && text(item, "/spec/scaleTargetRef/name") == workload.name
                && !paused
        })
        .map(|item| {
            format!(
                "KEDA (ScaledObject {}/{})",
                workload.namespace,
                text(item, "/metadata/name")
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(meta: Value) -> Vec<String> {
        managers(&serde_json::from_value(meta).unwrap())
    }

    #[test]
    fn s_6_13_managers_show_in_labels_annotations_and_owners() {
        assert_eq!(
            found(
                json!({"annotations": {"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:app/api"}})
            ),
            ["Argo CD (application shop)"]
        );
        assert_eq!(
            found(json!({"labels": {"argocd.argoproj.io/instance": "shop"}})),
            ["Argo CD (application shop)"]
        );
        assert_eq!(
            found(json!({"labels": {
                "kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
                "helm.toolkit.fluxcd.io/name": "api",
            }})),
            [
                "Flux (kustomization flux-system/apps)",
                "Flux (helm release api)"
            ]
        );
        assert_eq!(
            found(json!({"ownerReferences": [
                {"apiVersion": "v1", "kind": "Thing", "name": "a", "uid": "1"},
                {"apiVersion": "db/v1", "kind": "Postgres", "name": "pg", "uid": "2", "controller": true},
            ]})),
            ["its controller Postgres pg"]
        );
        // Set by every Helm chart, so it says nothing about Argo CD.
        assert!(found(json!({"labels": {"app.kubernetes.io/instance": "shop"}})).is_empty());
    }

    #[test]
    fn s_6_13_keda_owns_its_target_unless_paused() {
        let object = |kind: Option<&str>, annotations: Value| {
            json!({"metadata": {"name": "so", "annotations": annotations},
                   "spec": {"scaleTargetRef": {"kind": kind, "name": "api"}}})
        };
        let owned =
            |kind, item: Value| !keda(&WorkloadRef::new(kind, "app", "api"), &[item]).is_empty();
        assert!(owned(ScaleKind::Deployment, object(None, json!({}))));
        assert!(!owned(ScaleKind::StatefulSet, object(None, json!({}))));
        assert!(owned(
            ScaleKind::StatefulSet,
            object(Some("StatefulSet"), json!({}))
        ));
        assert!(!owned(
            ScaleKind::Deployment,
            object(None, json!({"autoscaling.keda.sh/paused": "true"}))
        ));
        assert!(!owned(
            ScaleKind::Deployment,
            object(None, json!({"autoscaling.keda.sh/paused-replicas": "0"}))
        ));
    }
}
