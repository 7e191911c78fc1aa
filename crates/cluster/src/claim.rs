//! Claims for volumes.

use http::Method;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use serde_json::{Value, json};

use crate::{
    budget::Budget,
    client::{Call, Cluster},
    error::{ClusterError, ErrorClass, Operation},
    object::{ApplyMode, namespaced},
};

/// What a deletion came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// The server has accepted it.
    Accepted {
        /// Pods (`namespace/name`) that use a claim and so keep it until they end (S-2.15);
        /// empty for other kinds, and when pods may not be listed.
        held_by: Vec<String>,
    },
    /// There was nothing to delete.
    Absent,
}

/// A claim's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimState {
    /// `Pending`, `Bound` or `Lost`; empty before the controller has seen it.
    pub phase: String,
    /// Whether it was deleted and is kept by a finalizer.
    pub deleting: bool,
}

impl ClaimState {
    /// Whether it has its volume.
    pub fn bound(&self) -> bool {
        self.phase == "Bound"
    }
}

fn operation(verb: &'static str, namespace: &str, name: &str) -> Operation {
    Operation::new(
        verb,
        "persistentvolumeclaims",
        Some(namespace),
        format!("pvc {namespace}/{name}"),
    )
}

fn path(namespace: &str, name: &str) -> String {
    namespaced("v1", namespace, "persistentvolumeclaims", Some(name))
}

impl Cluster {
    /// Deletes a claim, with background propagation; one that is absent is fine (S-2.15).
    ///
    /// Returns when the server has accepted the deletion; the claim itself stays as long as a pod
    /// uses it.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`] but not found.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped after sending, the claim may or may not be deleted. The call
    /// may be repeated.
    pub async fn delete_claim(
        &self,
        namespace: &str,
        name: &str,
        mode: ApplyMode,
        budget: &Budget,
    ) -> Result<Deleted, ClusterError> {
        let call = delete_call(
            operation("delete", namespace, name),
            path(namespace, name),
            None,
            mode,
        );
        let Some(answer) = self.call_optional::<Value>(&call, budget).await? else {
            return Ok(Deleted::Absent);
        };
        // The object itself comes back when a finalizer keeps it, a Status when it is gone.
        let kept = answer.pointer("/metadata/finalizers").is_some();
        let held_by = if kept && mode == ApplyMode::Live {
            self.claim_users(namespace, name, budget).await?
        } else {
            Vec::new()
        };
        Ok(Deleted::Accepted { held_by })
    }

    /// Pods that use a claim and have not ended. Nothing when they may not be listed.
    async fn claim_users(
        &self,
        namespace: &str,
        name: &str,
        budget: &Budget,
    ) -> Result<Vec<String>, ClusterError> {
        let operation = Operation::new(
            "list",
            "pods",
            Some(namespace),
            format!("pvc {namespace}/{name}"),
        );
        let pods = match self
            .list::<Pod>(
                &operation,
                &namespaced("v1", namespace, "pods", None),
                &[],
                budget,
            )
            .await
        {
            Ok(pods) => pods.items,
            Err(error) if error.class() == ErrorClass::Forbidden => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        Ok(pods
            .iter()
            .filter(|pod| uses(pod, name))
            .map(crate::pods::pod_name)
            .collect())
    }

    /// Reads a claim's state, `None` if it is absent.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`] but not found.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn claim(
        &self,
        namespace: &str,
        name: &str,
        budget: &Budget,
    ) -> Result<Option<ClaimState>, ClusterError> {
        let call = Call::get(operation("get", namespace, name), path(namespace, name));
        let found: Option<PersistentVolumeClaim> = self.call_optional(&call, budget).await?;
        Ok(found.map(|claim| ClaimState {
            deleting: claim.metadata.deletion_timestamp.is_some(),
            phase: claim
                .status
                .and_then(|status| status.phase)
                .unwrap_or_default(),
        }))
    }
}

/// Whether a pod that has not ended mounts the claim.
pub(crate) fn uses(pod: &Pod, claim: &str) -> bool {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    if matches!(phase, Some("Succeeded" | "Failed")) {
        return false;
    }
    let volumes = pod.spec.as_ref().and_then(|spec| spec.volumes.as_deref());
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    volumes.unwrap_or_default().iter().any(|volume| {
        let direct = volume
            .persistent_volume_claim
            .as_ref()
            .is_some_and(|source| source.claim_name == claim);
        // An ephemeral volume's claim is named after pod and volume.
        let ephemeral = volume.ephemeral.is_some() && format!("{name}-{}", volume.name) == claim;
        direct || ephemeral
    })
}

/// A DELETE with background propagation, bound to a uid when one is given.
pub(crate) fn delete_call(
    operation: Operation,
    path: String,
    uid: Option<&str>,
    mode: ApplyMode,
) -> Call {
    let mut options = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
    });
    if let Some(uid) = uid {
        options["preconditions"] = json!({"uid": uid});
    }
    // In the body, since options of a body replace those of the query.
    if mode == ApplyMode::DryRun {
        options["dryRun"] = json!(["All"]);
    }
    Call::new(operation, Method::DELETE, path).json(&options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s_2_15_a_claim_is_held_by_pods_that_mount_it_and_have_not_ended() {
        let pod = |phase: &str, volume: Value| -> Pod {
            serde_json::from_value(json!({
                "metadata": {"name": "p"},
                "spec": {"containers": [], "volumes": [volume]},
                "status": {"phase": phase},
            }))
            .unwrap()
        };
        let mount = json!({"name": "v", "persistentVolumeClaim": {"claimName": "data"}});
        let rows = [
            ("Running", mount.clone(), true),
            ("Pending", mount.clone(), true),
            ("Succeeded", mount, false),
            ("Running", json!({"name": "data", "emptyDir": {}}), false),
        ];
        for (phase, volume, held) in rows {
            assert_eq!(
                uses(&pod(phase, volume.clone()), "data"),
                held,
                "{phase} {volume}"
            );
        }
        let ephemeral = json!({"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}});
        assert!(uses(&pod("Running", ephemeral), "p-v"));
    }
}
