use serde_json::json;

use super::*;

fn word(judgement: &Judgement) -> String {
    match judgement {
        Judgement::Ready { note: None } => "ready".to_owned(),
        Judgement::Ready { note: Some(note) } => format!("ready, {note}"),
        Judgement::Progressing(state) => state.clone(),
        Judgement::Failed {
            why,
            is_final: false,
        } => format!("failed: {why}"),
        Judgement::Failed { why, .. } => format!("failed for good: {why}"),
    }
}

fn check(group: &str, kind: &str, rows: &[(Value, &str)]) {
    for (object, expected) in rows {
        let found = word(&judge(group, kind, object));
        assert_eq!(found, *expected, "{kind} {object}");
    }
}

const UNSEEN: &str = "the controller has not seen the change";

#[test]
fn a_deployment_is_ready_with_as_many_new_pods_as_its_strategy_leaves() {
    let of = |strategy: Value, replicas: i64, status: [i64; 3]| {
        json!({
            "metadata": {"generation": 2},
            "spec": {"replicas": replicas, "strategy": strategy},
            "status": {
                "observedGeneration": 2,
                "replicas": status[0], "updatedReplicas": status[1], "readyReplicas": status[2],
            },
        })
    };
    let rolling = |unavailable: Value, surge: Value| json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": unavailable, "maxSurge": surge}});
    let quarter = || rolling(json!("25%"), json!("25%"));
    let rows = [
        (of(quarter(), 1, [1, 1, 1]), "ready"),
        // A quarter of one is nothing.
        (of(quarter(), 1, [1, 1, 0]), "0 of 1 ready"),
        (of(quarter(), 0, [0, 0, 0]), "ready"),
        (
            of(quarter(), 4, [4, 4, 3]),
            "ready, 3 of 4 ready, as many as its strategy asks for",
        ),
        (of(quarter(), 4, [4, 4, 2]), "2 of 4 ready"),
        // Which pods are ready is not told: old ones may be.
        (of(quarter(), 4, [6, 4, 4]), "2 of 4 ready"),
        (of(quarter(), 4, [5, 2, 4]), "1 of 4 ready, 2 of 4 updated"),
        (
            of(rolling(json!(0), json!(1)), 3, [3, 3, 2]),
            "2 of 3 ready",
        ),
        (
            of(rolling(json!(0), json!(0)), 3, [3, 3, 2]),
            "ready, 2 of 3 ready, as many as its strategy asks for",
        ),
        (
            of(rolling(json!("100%"), json!(0)), 3, [3, 3, 0]),
            "ready, 0 of 3 ready, as many as its strategy asks for",
        ),
        (
            of(rolling(json!("?"), json!(1)), 3, [3, 3, 2]),
            "2 of 3 ready",
        ),
        (
            of(json!({"type": "Recreate"}), 4, [4, 4, 3]),
            "3 of 4 ready",
        ),
        (of(Value::Null, 4, [4, 4, 2]), "2 of 4 ready"),
    ];
    check("apps", "Deployment", &rows);
}

#[test]
fn a_deployment_says_when_it_is_stale_paused_failed_or_refused() {
    let of = |status: Value| json!({"metadata": {"generation": 2}, "spec": {"replicas": 2}, "status": status});
    let condition = |kind: &str, status: &str, reason: &str| json!([{"type": kind, "status": status, "reason": reason, "message": "m\nn"}]);
    let mut paused = of(Value::Null);
    paused["spec"]["paused"] = json!(true);
    let mut going = of(Value::Null);
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let rows = [
        (
            of(json!({"observedGeneration": 1, "updatedReplicas": 2, "readyReplicas": 2})),
            UNSEEN,
        ),
        (of(Value::Null), UNSEEN),
        (paused, "ready, its rollout is paused and not waited for"),
        (going, "it is being deleted"),
        (
            of(
                json!({"observedGeneration": 2, "conditions": condition("Progressing", "False", "ProgressDeadlineExceeded")}),
            ),
            "failed: ProgressDeadlineExceeded: m n",
        ),
        (
            of(
                json!({"observedGeneration": 2, "updatedReplicas": 2, "conditions": condition("ReplicaFailure", "True", "FailedCreate")}),
            ),
            "0 of 2 ready; FailedCreate: m n",
        ),
    ];
    check("apps", "Deployment", &rows);
}

#[test]
fn a_stateful_set_is_ready_with_all_pods_and_the_updated_ones_above_its_partition() {
    let of = |strategy: Value, ready: i64, updated: i64| {
        json!({
            "metadata": {"generation": 1}, "spec": {"replicas": 3, "updateStrategy": strategy},
            "status": {"observedGeneration": 1, "readyReplicas": ready, "updatedReplicas": updated},
        })
    };
    let partition = |at: i64| json!({"type": "RollingUpdate", "rollingUpdate": {"partition": at}});
    let mut shifted = of(partition(11), 3, 2);
    shifted["spec"]["ordinals"] = json!({"start": 10});
    let rows = [
        (of(Value::Null, 3, 3), "ready"),
        (of(Value::Null, 2, 3), "2 of 3 ready"),
        (of(Value::Null, 3, 2), "3 of 3 ready, 2 of 3 updated"),
        (of(partition(2), 3, 1), "ready"),
        (of(partition(2), 3, 0), "3 of 3 ready, 0 of 1 updated"),
        (of(partition(9), 3, 0), "ready"),
        (shifted, "ready"),
        (of(json!({"type": "OnDelete"}), 0, 0), "ready"),
        (json!({"metadata": {"generation": 1}}), UNSEEN),
    ];
    check("apps", "StatefulSet", &rows);
}

#[test]
fn other_sets_and_pods() {
    let daemons = |slack: Value, updated: i64, ready: i64| {
        json!({
            "spec": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": slack}}},
            "status": {"desiredNumberScheduled": 3, "updatedNumberScheduled": updated, "numberReady": ready},
        })
    };
    let note = "ready, 2 of 3 ready, as many as its strategy asks for";
    check(
        "apps",
        "DaemonSet",
        &[
            (daemons(json!(1), 3, 3), "ready"),
            (daemons(json!(1), 3, 2), note),
            (daemons(json!("10%"), 3, 2), note),
            (daemons(json!(0), 3, 2), "2 of 3 ready"),
            (daemons(json!(1), 2, 3), "3 of 3 ready, 2 of 3 updated"),
            (
                json!({"spec": {"updateStrategy": {"type": "OnDelete"}}}),
                "ready",
            ),
            (json!({"metadata": {"generation": 3}}), UNSEEN),
        ],
    );
    let set = |ready: i64| json!({"spec": {"replicas": 2}, "status": {"readyReplicas": ready}});
    for (group, kind) in [("apps", "ReplicaSet"), ("", "ReplicationController")] {
        check(group, kind, &[(set(2), "ready"), (set(1), "1 of 2 ready")]);
    }
    let pod = |phase: &str, ready: &str| json!({"status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}});
    let evicted =
        json!({"status": {"phase": "Failed", "reason": "Evicted", "message": "low\non memory"}});
    check(
        "",
        "Pod",
        &[
            (pod("Running", "True"), "ready"),
            (
                pod("Running", "False"),
                "the pod is not ready, phase Running",
            ),
            (pod("Succeeded", "False"), "ready"),
            (
                pod("Failed", "False"),
                "failed for good: the pod has failed",
            ),
            (evicted, "failed for good: Evicted: low on memory"),
            (json!({}), "the pod is not ready"),
        ],
    );
}

#[test]
fn a_job_is_ready_when_complete_and_failed_for_good() {
    let of = |status: Value| json!({"spec": {"completions": 2}, "status": status});
    let condition = |kind: &str| json!({"conditions": [{"type": kind, "status": "True", "reason": "R", "message": "m"}]});
    let rows = [
        (of(condition("Complete")), "ready"),
        (of(condition("Failed")), "failed for good: R: m"),
        (
            of(condition("SuccessCriteriaMet")),
            "0 of 2 completed, 0 active",
        ),
        (
            of(json!({"succeeded": 1, "active": 1, "failed": 3})),
            "1 of 2 completed, 1 active, 3 failed",
        ),
        (json!({"spec": {"suspend": true}}), "the Job is suspended"),
    ];
    check("batch", "Job", &rows);
}

#[test]
fn services_claims_namespaces_and_definitions() {
    let service = |spec: Value, status: Value| json!({"spec": spec, "status": status});
    let address = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}});
    let balancer = json!({"type": "LoadBalancer", "clusterIP": "10.0.0.1"});
    let mut external = balancer.clone();
    external["externalIPs"] = json!(["192.0.2.2"]);
    let pending = "the load balancer has no address";
    check(
        "",
        "Service",
        &[
            (
                service(json!({"type": "ExternalName"}), Value::Null),
                "ready",
            ),
            (service(json!({"clusterIP": "None"}), Value::Null), "ready"),
            (
                service(json!({"type": "ClusterIP"}), Value::Null),
                "it has no cluster address",
            ),
            (service(balancer.clone(), Value::Null), pending),
            (
                service(balancer.clone(), json!({"loadBalancer": {"ingress": []}})),
                pending,
            ),
            (service(balancer, address), "ready"),
            (service(external, Value::Null), "ready"),
        ],
    );
    let phase = |phase: &str| json!({"status": {"phase": phase}});
    check(
        "",
        "PersistentVolumeClaim",
        &[
            (phase("Bound"), "ready"),
            (phase("Pending"), "it has no volume, phase Pending"),
            (phase("Lost"), "failed: the volume of the claim is lost"),
            (json!({}), "it has no volume"),
        ],
    );
    check(
        "",
        "Namespace",
        &[
            (phase("Active"), "ready"),
            (phase("Terminating"), "phase Terminating"),
        ],
    );
    let condition = |kind: &str, status: &str| json!({"status": {"conditions": [{"type": kind, "status": status, "message": "m"}]}});
    check(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        &[
            (condition("Established", "True"), "ready"),
            (condition("Established", "False"), "it is not established"),
            (condition("NamesAccepted", "False"), "failed: m"),
            (json!({}), "it is not established"),
        ],
    );
    check(
        "apiregistration.k8s.io",
        "APIService",
        &[
            (condition("Available", "True"), "ready"),
            (condition("Available", "False"), "m"),
            (json!({}), "it is not available"),
        ],
    );
}

#[test]
fn a_claim_is_unused_until_the_scheduler_has_chosen_a_node_for_it() {
    let mut claim = json!({"status": {"phase": "Pending"}});
    assert!(is_unused_claim(&claim));
    claim["metadata"] = json!({"annotations": {"volume.kubernetes.io/selected-node": "n1"}});
    assert!(!is_unused_claim(&claim));
    assert!(!is_unused_claim(&json!({"status": {"phase": "Bound"}})));
}

#[test]
fn kinds_that_are_nothing_but_data_need_no_look() {
    let rows = [
        ("", "ConfigMap", false),
        ("", "Secret", false),
        ("rbac.authorization.k8s.io", "Role", false),
        ("batch", "CronJob", false),
        ("networking.k8s.io", "Ingress", false),
        ("autoscaling", "HorizontalPodAutoscaler", false),
        ("policy", "PodDisruptionBudget", false),
        ("", "Service", true),
        ("apps", "Deployment", true),
        ("gateway.networking.k8s.io", "Gateway", true),
        ("example.com", "ConfigMap", true),
    ];
    for (group, kind, expected) in rows {
        assert_eq!(has_rule(group, kind), expected, "{group} {kind}");
        if !expected {
            assert!(judge(group, kind, &json!({})).is_ready(), "{group} {kind}");
        }
    }
}

#[test]
fn known_custom_resources_are_not_ready_before_they_say_so() {
    let late = "its status says nothing yet";
    let condition = |kind: &str, status: &str| json!({"status": {"conditions": [{"type": kind, "status": status, "reason": "R"}]}});
    let rows: [(&str, &str, Value, &str); 15] = [
        ("external-secrets.io", "ExternalSecret", json!({}), late),
        (
            "external-secrets.io",
            "ExternalSecret",
            condition("Ready", "True"),
            "ready",
        ),
        (
            "external-secrets.io",
            "ExternalSecret",
            condition("Ready", "False"),
            "failed: R",
        ),
        (
            "cert-manager.io",
            "Certificate",
            condition("Ready", "False"),
            "R",
        ),
        (
            "bitnami.com",
            "SealedSecret",
            condition("Ready", "True"),
            late,
        ),
        (
            "bitnami.com",
            "SealedSecret",
            condition("Synced", "True"),
            "ready",
        ),
        (
            "flagger.app",
            "Canary",
            json!({"status": {"phase": "Initialized"}}),
            "ready",
        ),
        (
            "flagger.app",
            "Canary",
            json!({"status": {"phase": "Progressing"}}),
            "it is Progressing",
        ),
        (
            "flagger.app",
            "Canary",
            json!({"status": {"phase": "Failed", "conditions": [{"status": "False", "message": "no luck"}]}}),
            "failed: it is Failed: no luck",
        ),
        (
            "argoproj.io",
            "Application",
            json!({"status": {"health": {"status": "Healthy"}}}),
            "ready",
        ),
        (
            "argoproj.io",
            "Application",
            json!({"status": {"health": {"status": "Degraded"}}}),
            "failed: it is Degraded",
        ),
        (
            "acid.zalan.do",
            "postgresql",
            json!({"status": {"PostgresClusterStatus": "Running"}}),
            "ready",
        ),
        (
            "monitoring.coreos.com",
            "Prometheus",
            condition("Available", "Unknown"),
            "R",
        ),
        (
            "longhorn.io",
            "Volume",
            json!({"status": {"state": "attached"}}),
            "ready",
        ),
        (
            "kustomize.toolkit.fluxcd.io",
            "Kustomization",
            condition("Ready", "True"),
            "ready",
        ),
    ];
    for (group, kind, object, expected) in &rows {
        assert_eq!(
            word(&judge(group, kind, object)),
            *expected,
            "{kind} {object}"
        );
    }
}

#[test]
fn other_custom_resources_are_judged_by_conditions_then_words() {
    let conditions =
        |list: Value| json!({"metadata": {"generation": 2}, "status": {"conditions": list}});
    let on = |kind: &str, status: &str| json!({"type": kind, "status": status});
    let rows = [
        (json!({}), "ready"),
        (json!({"status": {}}), "ready"),
        (json!({"status": {"phase": "odd"}}), "ready"),
        (conditions(json!([on("Odd", "False")])), "ready"),
        (
            conditions(json!([on("Healthy", "True"), on("Ready", "False")])),
            "Ready is False",
        ),
        (
            conditions(json!([on("READY", "Unknown")])),
            "READY is Unknown",
        ),
        (
            conditions(json!([on("Available", "True"), on("Initialized", "False")])),
            "ready",
        ),
        (
            conditions(json!([{"type": "Ready", "status": "True", "observedGeneration": 1}])),
            UNSEEN,
        ),
        (
            json!({"metadata": {"generation": 2}, "status": {"observedGeneration": 1, "phase": "Ready"}}),
            UNSEEN,
        ),
        (
            json!({"metadata": {"generation": 2}, "status": {"observedGeneration": "two", "phase": "Ready"}}),
            "ready",
        ),
        (
            conditions(json!([on("Ready", "True"), on("Reconciling", "True")])),
            "it is being reconciled",
        ),
        (
            conditions(json!([on("Ready", "False"), on("Stalled", "True")])),
            "failed: it has stalled",
        ),
        (json!({"status": {"phase": "Running"}}), "ready"),
        (json!({"status": {"state": "PENDING"}}), "it is PENDING"),
        (
            json!({"status": {"phase": "odd", "state": "Error"}}),
            "failed: it is Error",
        ),
        (json!({"status": {"state": "valid"}}), "ready"),
        (
            json!({"status": {"state": "Invalid"}}),
            "failed: it is Invalid",
        ),
        (json!({"status": {"health": "green"}}), "ready"),
        (json!({"status": {"health": "yellow"}}), "it is yellow"),
        (json!({"status": {"health": "red"}}), "failed: it is red"),
        (json!({"status": {"health": {"status": "x"}}}), "ready"),
    ];
    check("example.com", "Thing", &rows);
}

#[test]
fn what_is_not_as_it_should_be_is_no_reason_to_panic() {
    let odd = [
        json!(null),
        json!([]),
        json!("x"),
        json!({"status": []}),
        json!({"spec": 7, "status": {"conditions": [1, null, {}]}}),
    ];
    let hostile = json!({
        "metadata": {"generation": i64::MIN}, "spec": {"replicas": i64::MAX, "strategy": {"rollingUpdate": {"maxUnavailable": "9223372036854775807%", "maxSurge": i64::MIN}}},
        "status": {"observedGeneration": i64::MAX, "replicas": i64::MIN, "updatedReplicas": i64::MAX, "readyReplicas": i64::MIN},
    });
    for (group, kind) in [
        ("apps", "Deployment"),
        ("apps", "StatefulSet"),
        ("apps", "DaemonSet"),
        ("apps", "ReplicaSet"),
        ("batch", "Job"),
        ("", "Pod"),
        ("", "Service"),
        ("", "PersistentVolumeClaim"),
        ("", "Namespace"),
        ("example.com", "Thing"),
        ("flagger.app", "Canary"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ] {
        for object in odd.iter().chain([&hostile]) {
            let _ = word(&judge(group, kind, object));
        }
    }
}
