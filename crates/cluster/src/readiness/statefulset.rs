//! StatefulSets.

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec};

use super::{Assess, Counts, Marker, Rollout};

impl Assess for StatefulSet {
    fn assess(&self, _: Marker) -> Rollout {
        let status = self.status.as_ref();
        let wanted = self
            .spec
            .as_ref()
            .and_then(|spec| spec.replicas)
            .unwrap_or(1);
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
            updated_wanted: self
                .spec
                .as_ref()
                .map_or(wanted, |spec| updated_wanted(spec, wanted)),
        };
        Rollout {
            verdict: counts.verdict(),
            ready: counts.ready,
            wanted,
            text: counts.text(),
            paused: false,
            // The controller of StatefulSets sets no such condition.
            replica_failure: None,
        }
    }
}

/// How many pods the strategy brings to the new revision by itself (S-2.11): none with `OnDelete`,
/// those at and above the partition else.
fn updated_wanted(spec: &StatefulSetSpec, wanted: i32) -> i32 {
    let Some(strategy) = &spec.update_strategy else {
        return wanted;
    };
    if strategy.type_.as_deref() == Some("OnDelete") {
        return 0;
    }
    let partition = strategy
        .rolling_update
        .as_ref()
        .and_then(|rolling| rolling.partition)
        .unwrap_or(0);
    // The partition is an ordinal; ordinals may begin above 0.
    let first = spec
        .ordinals
        .as_ref()
        .and_then(|ordinals| ordinals.start)
        .unwrap_or(0);
    (wanted - (partition - first).max(0)).max(0)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{super::Verdict, *};

    fn assess(spec: &Value, status: &Value) -> Rollout {
        let object: StatefulSet = serde_json::from_value(json!({
            "metadata": {"name": "pg", "generation": 4}, "spec": spec, "status": status,
        }))
        .unwrap();
        object.assess(Marker::default())
    }

    #[test]
    fn s_2_11_strategies_decide_which_pods_must_be_updated() {
        let status = |ready: i32, updated: i32| json!({"observedGeneration": 4, "replicas": 3, "readyReplicas": ready, "updatedReplicas": updated});
        let rolling = |partition: i32| json!({"replicas": 3, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}});
        let on_delete = json!({"replicas": 3, "updateStrategy": {"type": "OnDelete"}});
        let shifted = json!({"replicas": 3, "ordinals": {"start": 10}, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 11}}});
        let rows = [
            (json!({"replicas": 3}), status(3, 3), Verdict::Ready),
            (json!({"replicas": 3}), status(3, 2), Verdict::Progressing),
            (json!({"replicas": 3}), status(2, 3), Verdict::Progressing),
            (rolling(0), status(3, 2), Verdict::Progressing),
            (rolling(2), status(3, 1), Verdict::Ready),
            (rolling(2), status(3, 0), Verdict::Progressing),
            (rolling(2), status(2, 1), Verdict::Progressing),
            (rolling(9), status(3, 0), Verdict::Ready),
            (on_delete.clone(), status(3, 0), Verdict::Ready),
            (on_delete, status(2, 0), Verdict::Progressing),
            (shifted.clone(), status(3, 2), Verdict::Ready),
            (shifted, status(3, 1), Verdict::Progressing),
        ];
        for (spec, status, verdict) in rows {
            assert_eq!(assess(&spec, &status).verdict, verdict, "{spec} {status}");
        }
    }

    #[test]
    fn w07_a_stale_or_empty_status_is_not_ready() {
        let stale = json!({"observedGeneration": 3, "replicas": 1, "readyReplicas": 1, "updatedReplicas": 1});
        assert_eq!(
            assess(&json!({"replicas": 1}), &stale).verdict,
            Verdict::Progressing
        );
        assert_eq!(
            assess(&json!({"replicas": 1}), &Value::Null).verdict,
            Verdict::Progressing
        );
        let absent = assess(
            &json!({"replicas": 2}),
            &json!({"observedGeneration": 4, "replicas": 2}),
        );
        assert_eq!(absent.text, "0 of 2 ready, 0 of 2 updated");
    }
}
