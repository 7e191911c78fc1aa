//! Waits over lists and watches that end, expire, fail and are forbidden.

use kzero_cluster::{ErrorClass, Notice, Ready, ScaleKind, WaitError, WorkloadRef};
use serde_json::{Value, json};

use crate::server::{Answer, End, Seen, Server, budget};

fn api() -> WorkloadRef {
    WorkloadRef::new(ScaleKind::Deployment, "app", "api")
}

fn deployment(ready: i32) -> Value {
    json!({
        "metadata": {"name": "api", "namespace": "app", "uid": "u-1", "generation": 1},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "api"}}, "template": {}},
        "status": {"observedGeneration": 1, "updatedReplicas": 2, "readyReplicas": ready},
    })
}

fn list(items: &[Value]) -> Answer {
    Answer::ok(&json!({"metadata": {"resourceVersion": "7"}, "items": items}))
}

#[tokio::test]
async fn a_wait_watches_from_the_version_it_listed() {
    let server = Server::start(|_, seen| {
        if seen.watches() {
            Answer::events(
                &[
                    ("BOOKMARK", json!({"metadata": {"resourceVersion": "8"}})),
                    ("MODIFIED", deployment(1)),
                    ("MODIFIED", deployment(2)),
                ],
                End::Hang,
            )
        } else {
            list(&[deployment(0)])
        }
    })
    .await;
    let client = server.connect().await;
    let ready = client
        .cluster
        .wait_ready(&api(), None, &budget(5))
        .await
        .unwrap();
    assert_eq!(
        ready,
        Ready {
            ready: 2,
            wanted: 2
        }
    );
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].query, "limit=500&fieldSelector=metadata.name%3Dapi");
    assert!(
        seen[1].query.contains("resourceVersion=7") && seen[1].query.contains("fieldSelector="),
        "{}",
        seen[1].query
    );
    let progress: Vec<String> = client
        .notices()
        .into_iter()
        .filter_map(|notice| match notice {
            Notice::Progress { text, .. } => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(progress, ["0 of 2 ready", "1 of 2 ready", "2 of 2 ready"]);
}

#[tokio::test]
async fn s_d_9_a_watch_that_ends_breaks_or_expires_is_begun_anew() {
    for end in ["close", "cut", "expired"] {
        let server = Server::start(move |number, seen| match (seen.watches(), number, end) {
            (true, _, "close") => Answer::events(&[("MODIFIED", deployment(1))], End::Close),
            (true, _, "cut") => Answer::events(&[("MODIFIED", deployment(1))], End::Cut),
            (true, ..) => Answer::events(
                &[(
                    "ERROR",
                    json!({"kind": "Status", "code": 410, "reason": "Expired"}),
                )],
                End::Close,
            ),
            (false, 0, _) => list(&[deployment(0)]),
            (false, ..) => list(&[deployment(2)]),
        })
        .await;
        let client = server.connect().await;
        let ready = client
            .cluster
            .wait_ready(&api(), None, &budget(10))
            .await
            .unwrap();
        assert_eq!(ready.ready, 2, "{end}");
        let kinds: Vec<bool> = server.seen().iter().map(Seen::watches).collect();
        assert_eq!(kinds, [false, true, false], "{end}");
    }
}

#[tokio::test]
async fn a_wait_outlives_failures_that_pass_and_tells_each_once() {
    let server = Server::start(|number, _| match number {
        0 | 1 => Answer::refuse(503, "ServiceUnavailable"),
        _ => list(&[deployment(2)]),
    })
    .await;
    let client = server.connect().await;
    client
        .cluster
        .wait_ready(&api(), None, &budget(10))
        .await
        .unwrap();
    let told = client
        .notices()
        .iter()
        .filter(|notice| matches!(notice, Notice::WaitInterrupted { .. }))
        .count();
    assert_eq!(told, 1, "{:?}", client.notices());
}

#[tokio::test]
async fn a_wait_falls_back_to_what_it_may_read() {
    let server = Server::start(|number, seen| {
        let single = seen.path.ends_with("/deployments/api");
        match (single, number) {
            (false, _) => Answer::refuse(403, "Forbidden"),
            (true, 1) => Answer::ok(&deployment(0)),
            (true, _) => Answer::ok(&deployment(2)),
        }
    })
    .await;
    let client = server.connect().await;
    client
        .cluster
        .wait_ready(&api(), None, &budget(10))
        .await
        .unwrap();
    assert_eq!(server.seen().len(), 3);

    let server = Server::start(|number, seen| match (seen.watches(), number) {
        (true, _) => Answer::refuse(403, "Forbidden"),
        (false, 0) => list(&[deployment(0)]),
        (false, _) => list(&[deployment(2)]),
    })
    .await;
    let client = server.connect().await;
    client
        .cluster
        .wait_ready(&api(), None, &budget(10))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_wait_that_runs_out_says_what_is_missing() {
    let server = Server::start(|_, seen| {
        if seen.watches() {
            Answer::events(&[], End::Hang)
        } else {
            list(&[deployment(1)])
        }
    })
    .await;
    let client = server.connect().await;
    let error = client
        .cluster
        .wait_ready(&api(), None, &budget(1))
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "timed out (test 1s): 1 of 2 ready");
    assert!(error.is_transient());

    let server = Server::start(|_, _| Answer::refuse(503, "ServiceUnavailable")).await;
    let client = server.connect().await;
    let error = client
        .cluster
        .wait_ready(&api(), None, &budget(1))
        .await
        .unwrap_err();
    assert!(matches!(error, WaitError::TimedOut { .. }), "{error}");
    assert!(
        error.to_string().contains("503 Service Unavailable"),
        "{error}"
    );
}

#[tokio::test]
async fn an_object_that_vanishes_ends_the_wait() {
    let server = Server::start(|_, seen| {
        if seen.watches() {
            Answer::events(&[("DELETED", deployment(0))], End::Hang)
        } else {
            list(&[deployment(0)])
        }
    })
    .await;
    let client = server.connect().await;
    let error = client
        .cluster
        .wait_ready(&api(), None, &budget(5))
        .await
        .unwrap_err();
    match error {
        WaitError::Cluster(error) => assert_eq!(error.class(), ErrorClass::NotFound),
        other => panic!("{other}"),
    }
}

fn pod(name: &str, owner: &Value) -> Value {
    json!({
        "metadata": {
            "name": name, "namespace": "app", "uid": name,
            "labels": {"app": "api", "pod-template-hash": "abc"}, "ownerReferences": [owner],
        },
        "spec": {"containers": []}, "status": {"phase": "Running"},
    })
}

#[tokio::test]
async fn s_2_14_only_pods_that_the_workload_controls_are_awaited() {
    let owner = |kind: &str, name: &str, uid: &str| json!({"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": true});
    let rows = [
        (
            "through a set",
            owner("ReplicaSet", "api-xyz", "set-1"),
            true,
        ),
        (
            "through a set that is gone",
            owner("ReplicaSet", "api-abc", "set-0"),
            true,
        ),
        (
            "of another workload",
            owner("ReplicaSet", "other-abc", "set-9"),
            false,
        ),
        (
            "of a Job with the same labels",
            owner("Job", "api-abc", "job-1"),
            false,
        ),
    ];
    for (case, owner, counted) in rows {
        let server = Server::start(move |_, seen| {
            if seen.watches() {
                return Answer::events(&[], End::Hang);
            }
            match seen.path.as_str() {
                "/api/v1/namespaces/app/pods" => list(&[pod("p", &owner)]),
                "/apis/apps/v1/namespaces/app/replicasets" => list(&[json!({"metadata": {
                    "name": "api-xyz", "uid": "set-1",
                    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "api", "uid": "u-1", "controller": true}],
                }})]),
                _ => {
                    let mut parked = deployment(0);
                    parked["spec"]["replicas"] = json!(0);
                    Answer::ok(&parked)
                }
            }
        })
        .await;
        let client = server.connect().await;
        let outcome = client.cluster.wait_terminated(&api(), &budget(1)).await;
        assert_eq!(outcome.is_err(), counted, "{case}");
    }
}

#[tokio::test]
async fn s_2_14_no_pods_is_not_enough_while_the_controller_lags() {
    let server = Server::start(|number, seen| {
        if seen.path.ends_with("/deployments/api") {
            let mut parked = deployment(0);
            parked["spec"]["replicas"] = json!(0);
            parked["metadata"]["generation"] = json!(if number < 4 { 2 } else { 1 });
            Answer::ok(&parked)
        } else {
            list(&[])
        }
    })
    .await;
    let client = server.connect().await;
    client
        .cluster
        .wait_terminated(&api(), &budget(10))
        .await
        .unwrap();
    let looks = server
        .lines()
        .iter()
        .filter(|line| line.ends_with("/deployments/api"))
        .count();
    assert_eq!(looks, 3);
}
