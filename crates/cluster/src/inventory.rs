//! What lives in namespaces: for `kzero init`, for checks, for the state of nodes.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::Value;

use crate::{
    budget::Budget,
    client::Cluster,
    error::{ClusterError, ErrorClass, Operation},
    object::{ScaleKind, WorkloadRef, cluster_scoped, namespaced},
    pods::{node_text, pod_name, unschedulable},
    scale::text,
};

/// What was found in one namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespaceInventory {
    /// The namespace.
    pub name: String,
    /// Whether it exists; `None` when that may not be asked.
    pub exists: Option<bool>,
    /// Deployments and StatefulSets, by kind and name.
    pub workloads: Vec<WorkloadEntry>,
    /// CronJobs, by name.
    pub cron_jobs: Vec<CronJobEntry>,
    /// Helm releases, by name.
    pub releases: Vec<HelmRelease>,
    /// Errors of the kinds that may not be listed, one line each.
    pub unreadable: Vec<String>,
}

/// A workload in an inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadEntry {
    /// Which one.
    pub workload: WorkloadRef,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Images of its containers, in order.
    pub images: Vec<String>,
    /// `spec.replicas`; absent counts as 1.
    pub replicas: i32,
}

/// A CronJob in an inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronJobEntry {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Images of its containers, in order.
    pub images: Vec<String>,
    /// `spec.schedule`.
    pub schedule: String,
    /// `spec.suspend`; absent counts as false.
    pub suspend: bool,
}

/// The latest revision of a Helm release, from the labels of its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelmRelease {
    /// The release's name.
    pub name: String,
    /// The number of the revision.
    pub revision: u32,
    /// Its status, such as `deployed` or `pending-upgrade`.
    pub status: String,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEntry {
    /// Its name.
    pub name: String,
    /// Whether its condition `Ready` is true.
    pub ready: bool,
    /// `Ready`, or `NotReady` with the reason.
    pub state: String,
}

/// A pod for which the scheduler finds no node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnschedulablePod {
    /// `namespace/name`.
    pub pod: String,
    /// The scheduler's sentence.
    pub message: String,
}

impl Cluster {
    /// Reads what the namespaces hold, with paged lists (S-2.19). Kinds that may not be listed are
    /// named in [`NamespaceInventory::unreadable`]. Of Helm's records only metadata is read.
    ///
    /// # Errors
    ///
    /// The first [`ClusterError`] that is not "forbidden".
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn inventory(
        &self,
        namespaces: &[String],
        budget: &Budget,
    ) -> Result<Vec<NamespaceInventory>, ClusterError> {
        let mut found = Vec::with_capacity(namespaces.len());
        for namespace in namespaces {
            let mut entry = NamespaceInventory {
                name: namespace.clone(),
                ..NamespaceInventory::default()
            };
            entry.exists = readable(
                self.namespace_uid(namespace, budget).await,
                &mut entry.unreadable,
            )?
            .map(|uid| uid.is_some());
            for kind in [ScaleKind::Deployment, ScaleKind::StatefulSet] {
                let items = self
                    .items("apps/v1", namespace, kind.plural(), budget)
                    .await;
                let items = readable(items, &mut entry.unreadable)?.unwrap_or_default();
                entry.workloads.extend(
                    items
                        .iter()
                        .map(|item| workload_entry(kind, namespace, item)),
                );
            }
            let items = self.items("batch/v1", namespace, "cronjobs", budget).await;
            let items = readable(items, &mut entry.unreadable)?.unwrap_or_default();
            entry.cron_jobs = items.iter().map(cron_job_entry).collect();
            let releases = self.helm_releases(namespace, budget).await;
            entry.releases = readable(releases, &mut entry.unreadable)?.unwrap_or_default();
            found.push(entry);
        }
        Ok(found)
    }

    /// The latest revision of each Helm release in a namespace, by name. Reads the metadata of
    /// the records that Helm keeps as Secrets, not their contents.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`].
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn helm_releases(
        &self,
        namespace: &str,
        budget: &Budget,
    ) -> Result<Vec<HelmRelease>, ClusterError> {
        let operation = Operation::new(
            "list",
            "secrets",
            Some(namespace),
            format!("helm releases in {namespace}"),
        );
        let path = namespaced("v1", namespace, "secrets", None);
        let selector = [
            ("labelSelector", "owner=helm".to_owned()),
            ("fieldSelector", "type=helm.sh/release.v1".to_owned()),
        ];
        let listed = self
            .list_metadata(&operation, &path, &selector, budget)
            .await?;
        Ok(latest(&listed))
    }

    /// Lists the nodes, by name.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`].
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn nodes(&self, budget: &Budget) -> Result<Vec<NodeEntry>, ClusterError> {
        let operation = Operation::new("list", "nodes", None, "nodes");
        let listed = self
            .list::<Node>(
                &operation,
                &cluster_scoped("v1", "nodes", None),
                &[],
                budget,
            )
            .await?;
        Ok(listed
            .items
            .iter()
            .map(|node| {
                let state = node_text(node);
                NodeEntry {
                    name: node.metadata.name.clone().unwrap_or_default(),
                    ready: state == "Ready",
                    state,
                }
            })
            .collect())
    }

    /// Lists the pending pods of a namespace for which the scheduler finds no node.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`].
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn unschedulable_pods(
        &self,
        namespace: &str,
        budget: &Budget,
    ) -> Result<Vec<UnschedulablePod>, ClusterError> {
        let operation = Operation::new(
            "list",
            "pods",
            Some(namespace),
            format!("pods in {namespace}"),
        );
        let path = namespaced("v1", namespace, "pods", None);
        let selector = [("fieldSelector", "status.phase=Pending".to_owned())];
        let listed = self
            .list::<Pod>(&operation, &path, &selector, budget)
            .await?;
        Ok(listed
            .items
            .iter()
            .filter_map(|pod| {
                Some(UnschedulablePod {
                    message: unschedulable(pod)?,
                    pod: pod_name(pod),
                })
            })
            .collect())
    }

    async fn items(
        &self,
        api: &str,
        namespace: &str,
        plural: &str,
        budget: &Budget,
    ) -> Result<Vec<Value>, ClusterError> {
        let operation = Operation::new(
            "list",
            plural,
            Some(namespace),
            format!("{plural} in {namespace}"),
        );
        let path = namespaced(api, namespace, plural, None);
        let listed = self.list(&operation, &path, &[], budget).await?;
        Ok(listed.items)
    }
}

/// Turns a refusal into a remark.
fn readable<T>(
    outcome: Result<T, ClusterError>,
    unreadable: &mut Vec<String>,
) -> Result<Option<T>, ClusterError> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.class() == ErrorClass::Forbidden => {
            unreadable.push(error.to_string());
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn texts(item: &Value, pointer: &str) -> BTreeMap<String, String> {
    item.pointer(pointer)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}

fn images(item: &Value, pod: &str) -> Vec<String> {
    item.pointer(&format!("{pod}/containers"))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|container| Some(container.get("image")?.as_str()?.to_owned()))
        .collect()
}

fn workload_entry(kind: ScaleKind, namespace: &str, item: &Value) -> WorkloadEntry {
    WorkloadEntry {
        workload: WorkloadRef::new(kind, namespace, text(item, "/metadata/name")),
        labels: texts(item, "/metadata/labels"),
        annotations: texts(item, "/metadata/annotations"),
        images: images(item, "/spec/template/spec"),
        replicas: item
            .pointer("/spec/replicas")
            .and_then(Value::as_i64)
            .and_then(|count| i32::try_from(count).ok())
            .unwrap_or(1),
    }
}

fn cron_job_entry(item: &Value) -> CronJobEntry {
    CronJobEntry {
        name: text(item, "/metadata/name"),
        labels: texts(item, "/metadata/labels"),
        annotations: texts(item, "/metadata/annotations"),
        images: images(item, "/spec/jobTemplate/spec/template/spec"),
        schedule: text(item, "/spec/schedule"),
        suspend: item
            .pointer("/spec/suspend")
            .and_then(Value::as_bool)
            .unwrap_or(false),
    }
}

/// The highest revision of each release.
fn latest(records: &[Value]) -> Vec<HelmRelease> {
    let mut releases: BTreeMap<String, HelmRelease> = BTreeMap::new();
    for record in records {
        let name = text(record, "/metadata/labels/name");
        let Ok(revision) = text(record, "/metadata/labels/version").parse() else {
            continue;
        };
        if name.is_empty()
            || releases
                .get(&name)
                .is_some_and(|known| known.revision > revision)
        {
            continue;
        }
        let status = text(record, "/metadata/labels/status");
        releases.insert(
            name.clone(),
            HelmRelease {
                name,
                revision,
                status,
            },
        );
    }
    releases.into_values().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_highest_revision_of_a_release_counts_as_a_number() {
        let record = |name: &str, version: &str, status: &str| json!({"metadata": {"labels": {"name": name, "version": version, "status": status, "owner": "helm"}}});
        let found = latest(&[
            record("web", "10", "deployed"),
            record("web", "9", "superseded"),
            record("db", "1", "pending-install"),
            record("odd", "x", "deployed"),
            json!({"metadata": {}}),
        ]);
        let shown: Vec<String> = found
            .iter()
            .map(|release| format!("{} {} {}", release.name, release.revision, release.status))
            .collect();
        assert_eq!(shown, ["db 1 pending-install", "web 10 deployed"]);
    }

    #[test]
    fn entries_tolerate_missing_fields() {
        let entry = workload_entry(
            ScaleKind::Deployment,
            "app",
            &json!({"metadata": {"name": "a"}}),
        );
        assert_eq!(entry.replicas, 1);
        assert!(entry.images.is_empty());
        assert!(!cron_job_entry(&json!({})).suspend);
    }
}
