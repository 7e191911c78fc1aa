//! Sizes and waits.

use kzero_cluster::{
    ApplyMode, CauseSubject, ErrorClass, Notice, Ready, ScaleKind, WaitError, WorkloadRef,
};
use serde_json::{Value, json};

use crate::support::{Place, budget, workload};

#[tokio::test]
async fn a_deployment_goes_up_and_down_and_its_pods_are_awaited() {
    let place = Place::new("updown").await;
    let api = place
        .workload(
            ScaleKind::Deployment,
            "api",
            0,
            json!({"sim.kzero/stop": "1"}),
        )
        .await;
    let cluster = &place.cluster;

    let dry = cluster
        .set_replicas(&api, 5, ApplyMode::DryRun, &budget(10))
        .await
        .unwrap();
    assert_eq!((dry.before, dry.after, dry.patched), (0, 5, true));
    assert_eq!(cluster.replicas(&api, &budget(10)).await.unwrap(), 0);

    let up = cluster
        .set_replicas(&api, 2, ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    assert_eq!((up.before, up.after, up.patched), (0, 2, true));
    let live = place.read("apps/v1", "Deployment", "api").await.unwrap();
    assert_eq!(live["metadata"]["uid"], json!(up.uid));
    // S-D.23: who wrote the size.
    let managers: Vec<&Value> = live["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["subresource"] == "scale")
        .map(|entry| &entry["manager"])
        .collect();
    assert_eq!(managers, [&json!("kzero")]);
    let ready = cluster
        .wait_ready(&api, Some(&up), &budget(30))
        .await
        .unwrap();
    assert_eq!(
        ready,
        Ready {
            ready: 2,
            wanted: 2
        }
    );

    let again = cluster
        .set_replicas(&api, 2, ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    assert_eq!((again.before, again.patched), (2, false));

    let down = cluster
        .set_replicas(&api, 0, ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    assert_eq!((down.before, down.after), (2, 0));
    cluster.wait_terminated(&api, &budget(30)).await.unwrap();
    let left = cluster
        .unschedulable_pods(&place.namespace, &budget(10))
        .await
        .unwrap();
    assert!(left.is_empty());
    assert!(
        place.notices.any(|notice| matches!(notice, Notice::Progress { text, .. } if text == "2 pods left, 2 Terminating")),
        "{:?}",
        place.notices.texts()
    );
}

#[tokio::test]
async fn w05_a_statefulset_without_annotations_works() {
    let place = Place::new("w05").await;
    place
        .create(workload(ScaleKind::StatefulSet, "pg", 1))
        .await;
    let pg = WorkloadRef::new(ScaleKind::StatefulSet, &place.namespace, "pg");
    let cluster = &place.cluster;
    cluster.wait_ready(&pg, None, &budget(30)).await.unwrap();
    cluster
        .set_replicas(&pg, 0, ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    cluster.wait_terminated(&pg, &budget(30)).await.unwrap();
    let up = cluster
        .set_replicas(&pg, 2, ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    let ready = cluster
        .wait_ready(&pg, Some(&up), &budget(30))
        .await
        .unwrap();
    assert_eq!(ready.ready, 2);
}

#[tokio::test]
async fn w09_a_paused_rollout_is_ready_with_a_warning() {
    let place = Place::new("w09").await;
    let cluster = &place.cluster;
    let api = place
        .workload(ScaleKind::Deployment, "api", 1, json!({}))
        .await;
    cluster.wait_ready(&api, None, &budget(30)).await.unwrap();
    cluster
        .set_replicas(&api, 0, ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    let pause = json!({"spec": {"paused": true}});
    place.merge("apps/v1", "Deployment", "api", pause).await;
    let up = cluster
        .set_replicas(&api, 2, ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    let ready = cluster
        .wait_ready(&api, Some(&up), &budget(30))
        .await
        .unwrap();
    assert_eq!(ready.ready, 2);
    assert!(
        place
            .notices
            .any(|notice| matches!(notice, Notice::RolloutPaused { .. }))
    );
}

#[tokio::test]
async fn w11_no_node_fits_fails_at_the_deadline_with_the_schedulers_sentence() {
    let place = Place::new("w11").await;
    // The controller knows a deadline for rollouts, not for a size that moves later.
    let mut object = workload(ScaleKind::Deployment, "api", 1);
    object["spec"]["progressDeadlineSeconds"] = json!(3);
    object["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "none"});
    place.create(object).await;
    let api = WorkloadRef::new(ScaleKind::Deployment, &place.namespace, "api");
    let up = place
        .cluster
        .set_replicas(&api, 1, ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    let error = place
        .cluster
        .wait_ready(&api, Some(&up), &budget(60))
        .await
        .unwrap_err();
    assert!(matches!(error, WaitError::Failed(_)), "{error}");
    assert!(!error.is_transient());
    assert!(
        error.to_string().contains("ProgressDeadlineExceeded"),
        "{error}"
    );

    let causes = place
        .cluster
        .causes(&CauseSubject::Workload(api.clone()), up.at, &budget(5))
        .await;
    let sentence = causes
        .iter()
        .find(|line| line.contains(": unschedulable: "))
        .expect("the scheduler's sentence");
    assert!(sentence.contains("node affinity/selector"), "{sentence}");
    assert!(
        causes
            .iter()
            .any(|line| line.starts_with("condition Progressing=False")),
        "{causes:?}"
    );
    let pods = place
        .cluster
        .unschedulable_pods(&place.namespace, &budget(5))
        .await
        .unwrap();
    assert_eq!(pods.len(), 1);

    // The same condition is now older than the next call, so it does not end that wait.
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let again = place
        .cluster
        .set_replicas(&api, 1, ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    let error = place
        .cluster
        .wait_ready(&api, Some(&again), &budget(2))
        .await
        .unwrap_err();
    assert!(matches!(error, WaitError::TimedOut { .. }), "{error}");
    assert!(error.to_string().contains("0 of 1 ready"), "{error}");
}

#[tokio::test]
async fn a_crashing_container_is_told_with_its_exit_code() {
    let place = Place::new("crash").await;
    let api = place
        .workload(
            ScaleKind::Deployment,
            "api",
            1,
            json!({"sim.kzero/fail": "crash", "sim.kzero/exit": "7"}),
        )
        .await;
    let error = place
        .cluster
        .wait_ready(&api, None, &budget(3))
        .await
        .unwrap_err();
    assert!(error.is_transient(), "{error}");
    let causes = place
        .cluster
        .causes(&CauseSubject::Workload(api), None, &budget(5))
        .await;
    let text = causes.join("\n");
    assert!(
        text.contains("container main waiting: CrashLoopBackOff"),
        "{text}"
    );
    assert!(text.contains("last exit code 7"), "{text}");
}

#[tokio::test]
async fn s_11_31_the_last_log_lines_of_a_crashed_container_are_told() {
    let place = Place::new("log").await;
    let log: String = (1..=12).map(|line| format!("line {line}\n")).collect();
    place
        .create(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "once", "annotations": {"sim.kzero/exit": "7", "sim.kzero/log": log}},
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "example.com/app:1"}],
            },
        }))
        .await;
    let ended = async {
        while place.read("v1", "Pod", "once").await.unwrap()["status"]["phase"] != "Failed" {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    budget(20).run(ended).await.unwrap();
    let subject = CauseSubject::Pod {
        namespace: place.namespace.clone(),
        name: "once".to_owned(),
    };
    let causes = place.cluster.causes(&subject, None, &budget(5)).await;
    let logs: Vec<&String> = causes
        .iter()
        .filter(|line| line.starts_with("log of "))
        .collect();
    assert_eq!(logs.len(), 10, "{causes:?}");
    assert!(logs[9].ends_with("main: line 12"), "{causes:?}");
    assert!(
        causes[0].contains("container main ended with exit code 7"),
        "{causes:?}"
    );
}

#[tokio::test]
async fn s_2_14_a_pod_that_does_not_end_is_described() {
    let place = Place::new("stuck").await;
    let api = place
        .workload(ScaleKind::Deployment, "api", 1, json!({}))
        .await;
    place
        .cluster
        .wait_ready(&api, None, &budget(30))
        .await
        .unwrap();
    // A finalizer of nobody keeps the pod.
    let causes = place
        .cluster
        .causes(&CauseSubject::Workload(api.clone()), None, &budget(5))
        .await;
    assert!(causes.is_empty(), "{causes:?}");
    let pods = place.pods().await;
    place
        .merge(
            "v1",
            "Pod",
            &pods[0],
            json!({"metadata": {"finalizers": ["example.com/keep"]}}),
        )
        .await;
    place
        .cluster
        .set_replicas(&api, 0, ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    let error = place
        .cluster
        .wait_terminated(&api, &budget(3))
        .await
        .unwrap_err();
    let text = error.to_string();
    for part in [
        "test 3s",
        pods[0].as_str(),
        "Terminating since 2",
        "grace ",
        "finalizers example.com/keep",
        "node sim-",
        " Ready",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    place
        .merge(
            "v1",
            "Pod",
            &pods[0],
            json!({"metadata": {"finalizers": null}}),
        )
        .await;
    place
        .cluster
        .wait_terminated(&api, &budget(30))
        .await
        .unwrap();
}

#[tokio::test]
async fn s_2_12_a_quota_is_told_and_waited_out() {
    let place = Place::new("quota").await;
    place
        .create(json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"}, "spec": {"hard": {"pods": "0"}}}))
        .await;
    // The quota is enforced once its controller has counted.
    let counted = async {
        while place.read("v1", "ResourceQuota", "small").await.unwrap()["status"]["hard"]["pods"]
            .is_null()
        {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    budget(20).run(counted).await.unwrap();
    let api = place
        .workload(ScaleKind::Deployment, "api", 1, json!({}))
        .await;
    let error = place
        .cluster
        .wait_ready(&api, None, &budget(4))
        .await
        .unwrap_err();
    assert!(matches!(error, WaitError::TimedOut { .. }), "{error}");
    assert!(
        place.notices.any(|notice| matches!(notice, Notice::ReplicaFailure { message, .. } if message.contains("exceeded quota: small"))),
        "{:?}",
        place.notices.texts()
    );
    let causes = place
        .cluster
        .causes(&CauseSubject::Workload(api), None, &budget(5))
        .await;
    assert!(
        causes
            .iter()
            .any(|line| line.contains("cannot create pods") && line.contains("exceeded quota")),
        "{causes:?}"
    );
}

#[tokio::test]
async fn s_2_12_the_wait_follows_a_size_that_moves() {
    let place = Place::new("moves").await;
    let api = place
        .workload(
            ScaleKind::Deployment,
            "api",
            0,
            json!({"sim.kzero/ready": "1"}),
        )
        .await;
    let up = place
        .cluster
        .set_replicas(&api, 1, ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    place
        .merge(
            "apps/v1",
            "Deployment",
            "api",
            json!({"spec": {"replicas": 3}}),
        )
        .await;
    let ready = place
        .cluster
        .wait_ready(&api, Some(&up), &budget(30))
        .await
        .unwrap();
    assert_eq!(
        ready,
        Ready {
            ready: 3,
            wanted: 3
        }
    );
    assert!(
        place
            .notices
            .any(|notice| matches!(notice, Notice::AutoscalerMoved { from: 1, to: 3, .. }))
    );
}

#[tokio::test]
async fn w13_the_right_to_scale_is_enough() {
    let place = Place::new("w13").await;
    let api = place
        .workload(ScaleKind::Deployment, "api", 0, json!({}))
        .await;
    let (cluster, _) = place
        .restricted(json!([
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]},
            {"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["get", "patch"]},
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
        ]))
        .await;
    let up = cluster
        .set_replicas(&api, 1, ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    // Lists and watches of Deployments are forbidden: the wait reads the one it may read.
    cluster
        .wait_ready(&api, Some(&up), &budget(30))
        .await
        .unwrap();
    cluster
        .set_replicas(&api, 0, ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    // So are watches of pods and lists of ReplicaSets.
    cluster.wait_terminated(&api, &budget(30)).await.unwrap();

    let sizes = cluster
        .sizes(std::slice::from_ref(&api), &budget(10))
        .await
        .unwrap();
    assert_eq!(sizes[&api].replicas, 0);

    let pg = WorkloadRef::new(ScaleKind::StatefulSet, &place.namespace, "pg");
    let error = cluster
        .set_replicas(&pg, 1, ApplyMode::Live, &budget(10))
        .await
        .unwrap_err();
    assert_eq!(error.class(), ErrorClass::Forbidden);
    let text = error.to_string();
    assert!(
        text.starts_with(&format!(
            "statefulset {}/pg: forbidden: user \"system:serviceaccount:",
            place.namespace
        )),
        "{text}"
    );
    assert!(
        text.contains(&format!(
            "may not get statefulsets/scale in namespace {}",
            place.namespace
        )),
        "{text}"
    );
}

#[tokio::test]
async fn s_2_18_what_is_missing_is_named() {
    let place = Place::new("missing").await;
    let cluster = &place.cluster;
    let gone = WorkloadRef::new(ScaleKind::Deployment, &place.namespace, "gone");
    let error = cluster
        .set_replicas(&gone, 1, ApplyMode::Live, &budget(10))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("deployment {}/gone: not found", place.namespace)
    );
    let nowhere = WorkloadRef::new(ScaleKind::Deployment, "no-such-namespace", "gone");
    let error = cluster.replicas(&nowhere, &budget(10)).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::NotFound);
    let error = cluster
        .wait_ready(&gone, None, &budget(10))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("deployment {}/gone: not found", place.namespace)
    );
    assert!(matches!(
        cluster.wait_terminated(&gone, &budget(10)).await,
        Err(WaitError::Cluster(_))
    ));
    assert_eq!(cluster.rollout(&gone, &budget(10)).await.unwrap(), None);
}
