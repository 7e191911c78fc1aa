//! Deployments.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition};

use super::{Assess, Counts, Marker, Rollout, Verdict};
use crate::error::one_line;

impl Assess for Deployment {
    fn assess(&self, marker: Marker) -> Rollout {
        let spec = self.spec.as_ref();
        let status = self.status.as_ref();
        // The server fills in 1; an object without the field comes from elsewhere.
        let wanted = spec.and_then(|spec| spec.replicas).unwrap_or(1);
        let paused = spec.and_then(|spec| spec.paused).unwrap_or(false);
        let counts = Counts {
            generation: self.metadata.generation.unwrap_or(0),
            observed: status
                .and_then(|status| status.observed_generation)
                .unwrap_or(0),
            wanted,
            ready: status.and_then(|status| status.ready_replicas).unwrap_or(0),
            updated: status
                .and_then(|status| status.updated_replicas)
                .unwrap_or(0),
            updated_wanted: if paused { 0 } else { wanted },
        };
        let conditions = status
            .and_then(|status| status.conditions.as_deref())
            .unwrap_or_default();
        let mut verdict = counts.verdict();
        // A failure noted for an older generation says nothing about this one.
        if verdict == Verdict::Progressing
            && counts.observed >= counts.generation
            && let Some(why) = conditions
                .iter()
                .find_map(|condition| failure(condition, marker))
        {
            verdict = Verdict::Failed(why);
        }
        Rollout {
            verdict,
            ready: counts.ready,
            wanted,
            text: counts.text(),
            paused,
            replica_failure: conditions
                .iter()
                .find(|condition| condition.type_ == "ReplicaFailure" && condition.status == "True")
                .map(sentence),
        }
    }
}

/// The reason of a failed rollout, when it dates from after the marker (S-2.12).
fn failure(condition: &DeploymentCondition, marker: Marker) -> Option<String> {
    if condition.type_ != "Progressing" || condition.status != "False" {
        return None;
    }
    if let Some(after) = marker.after {
        let dated = condition
            .last_transition_time
            .as_ref()
            .into_iter()
            .chain(condition.last_update_time.as_ref())
            .map(|time| time.0)
            .max()?;
        // Both are whole seconds of the control plane's clock; one of the same second may be old.
        if dated.as_second() <= after.as_second() {
            return None;
        }
    }
    Some(sentence(condition))
}

fn sentence(condition: &DeploymentCondition) -> String {
    let reason = condition.reason.as_deref().unwrap_or("failed");
    match condition.message.as_deref() {
        Some(message) if !message.is_empty() => format!("{reason}: {}", one_line(message, 400)),
        _ => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn assess(value: Value) -> Rollout {
        assess_after(value, None)
    }

    fn assess_after(value: Value, after: Option<&str>) -> Rollout {
        let object: Deployment = serde_json::from_value(value).unwrap();
        object.assess(Marker {
            after: after.map(|text| text.parse().unwrap()),
        })
    }

    fn object(generation: i64, replicas: Option<i32>, status: &Value) -> Value {
        json!({
            "metadata": {"name": "api", "generation": generation},
            "spec": {"replicas": replicas},
            "status": status,
        })
    }

    #[test]
    fn w07_a_stale_status_is_not_ready_and_absent_counts_are_zero() {
        let full = |observed: i64| json!({"observedGeneration": observed, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3});
        let stale = assess(object(5, Some(3), &full(4)));
        assert_eq!(stale.verdict, Verdict::Progressing);
        assert_eq!(stale.text, "the controller has not seen the change");
        assert_eq!(assess(object(5, Some(3), &full(5))).verdict, Verdict::Ready);
        let absent = assess(object(
            5,
            Some(3),
            &json!({"observedGeneration": 5, "replicas": 3, "updatedReplicas": 3}),
        ));
        assert_eq!(absent.verdict, Verdict::Progressing);
        assert_eq!((absent.ready, absent.wanted), (0, 3));
        assert_eq!(absent.text, "0 of 3 ready");
    }

    #[test]
    fn s_2_11_ready_needs_ready_and_updated_pods_up_to_the_live_size() {
        let rows: [(Option<i32>, Value, Verdict, &str); 6] = [
            (
                Some(0),
                json!({"observedGeneration": 1}),
                Verdict::Ready,
                "0 of 0 ready",
            ),
            (
                None,
                json!({"observedGeneration": 1, "updatedReplicas": 1, "readyReplicas": 1}),
                Verdict::Ready,
                "1 of 1 ready",
            ),
            (
                Some(3),
                json!({"observedGeneration": 1, "updatedReplicas": 2, "readyReplicas": 3}),
                Verdict::Progressing,
                "3 of 3 ready, 2 of 3 updated",
            ),
            (
                Some(3),
                json!({"observedGeneration": 1, "updatedReplicas": 3, "readyReplicas": 1}),
                Verdict::Progressing,
                "1 of 3 ready",
            ),
            (
                Some(2),
                json!({"observedGeneration": 1, "updatedReplicas": 3, "readyReplicas": 3}),
                Verdict::Ready,
                "3 of 2 ready",
            ),
            (
                Some(1),
                Value::Null,
                Verdict::Progressing,
                "the controller has not seen the change",
            ),
        ];
        for (replicas, status, verdict, text) in rows {
            let found = assess(object(1, replicas, &status));
            assert_eq!(found.verdict, verdict, "{text}");
            assert_eq!(found.text, text);
        }
    }

    #[test]
    fn w09_a_paused_rollout_is_judged_by_ready_pods() {
        let mut paused = object(
            2,
            Some(2),
            &json!({
                "observedGeneration": 2, "readyReplicas": 2,
                "conditions": [{"type": "Progressing", "status": "Unknown", "reason": "DeploymentPaused"}],
            }),
        );
        paused["spec"]["paused"] = json!(true);
        let found = assess(paused.clone());
        assert_eq!(found.verdict, Verdict::Ready);
        assert!(found.paused);
        paused["status"]["readyReplicas"] = json!(1);
        assert_eq!(assess(paused).verdict, Verdict::Progressing);
    }

    #[test]
    fn s_2_12_a_failed_rollout_counts_only_when_younger_than_the_scale_call() {
        let failed = object(
            2,
            Some(1),
            &json!({
                "observedGeneration": 2, "updatedReplicas": 1,
                "conditions": [{
                    "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded",
                    "message": "ReplicaSet \"api-1\" has timed out progressing.",
                    "lastUpdateTime": "2026-01-01T10:00:05Z", "lastTransitionTime": "2026-01-01T10:00:05Z",
                }],
            }),
        );
        let sentence = "ProgressDeadlineExceeded: ReplicaSet \"api-1\" has timed out progressing.";
        let verdict = |after| assess_after(failed.clone(), after).verdict;
        assert_eq!(verdict(None), Verdict::Failed(sentence.to_owned()));
        assert_eq!(
            verdict(Some("2026-01-01T10:00:04.9Z")),
            Verdict::Failed(sentence.to_owned())
        );
        assert_eq!(
            verdict(Some("2026-01-01T10:00:05.2Z")),
            Verdict::Progressing
        );
        assert_eq!(verdict(Some("2026-01-01T11:00:00Z")), Verdict::Progressing);
        let mut older = failed.clone();
        older["metadata"]["generation"] = json!(3);
        assert_eq!(assess(older).verdict, Verdict::Progressing);
        let mut ready = failed;
        ready["status"]["readyReplicas"] = json!(1);
        assert_eq!(assess(ready).verdict, Verdict::Ready);
    }

    #[test]
    fn s_2_12_a_replica_failure_is_told_and_waited_out() {
        let found = assess(object(
            1,
            Some(1),
            &json!({
                "observedGeneration": 1,
                "conditions": [
                    {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "pods \"api-1\" is forbidden:\n exceeded quota"},
                    {"type": "Progressing", "status": "True"},
                ],
            }),
        ));
        assert_eq!(found.verdict, Verdict::Progressing);
        assert_eq!(
            found.replica_failure.as_deref(),
            Some("FailedCreate: pods \"api-1\" is forbidden: exceeded quota")
        );
    }
}
