//! What is sent, what is repeated, and what errors say.

use std::time::{Duration, Instant};

use kzero_cluster::{ApplyMode, ErrorClass, Notice, ScaleKind, WorkloadRef};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::server::{Answer, Client, End, Server, budget};

fn api() -> WorkloadRef {
    WorkloadRef::new(ScaleKind::Deployment, "app", "api")
}

fn scale(replicas: i32) -> Value {
    json!({
        "kind": "Scale", "metadata": {"name": "api", "uid": "u-1", "resourceVersion": "41"},
        "spec": {"replicas": replicas},
    })
}

const SCALE: &str = "/apis/apps/v1/namespaces/app/deployments/api/scale";

#[tokio::test]
async fn s_2_9_a_size_is_set_with_one_get_and_one_guarded_patch_of_the_scale() {
    let server = Server::start(|_, seen| {
        Answer::ok(&scale(if seen.method == "GET" { 3 } else { 0 }))
            .header("date", "Mon, 30 Nov 2026 10:00:00 GMT")
    })
    .await;
    let client = server.connect().await;
    let scaled = client
        .cluster
        .set_replicas(&api(), 0, ApplyMode::Live, &budget(5))
        .await
        .unwrap();
    assert_eq!((scaled.before, scaled.after, scaled.patched), (3, 0, true));
    assert_eq!(scaled.uid, "u-1");
    assert_eq!(scaled.at.unwrap().to_string(), "2026-11-30T10:00:00Z");
    let seen = server.seen();
    assert_eq!(
        server.lines(),
        [format!("GET {SCALE}"), format!("PATCH {SCALE}")]
    );
    assert_eq!(seen[1].query, "fieldManager=kzero");
    assert_eq!(
        seen[1].header("content-type"),
        "application/merge-patch+json"
    );
    assert_eq!(
        seen[1].json(),
        json!({"metadata": {"resourceVersion": "41"}, "spec": {"replicas": 0}})
    );
    assert!(seen[0].header("user-agent").starts_with("kzero/"));
}

#[tokio::test]
async fn s_2_9_a_size_that_is_right_is_not_written_but_in_a_dry_run() {
    let server = Server::start(|_, _| Answer::ok(&scale(2))).await;
    let client = server.connect().await;
    let live = client
        .cluster
        .set_replicas(&api(), 2, ApplyMode::Live, &budget(5))
        .await
        .unwrap();
    assert!(!live.patched);
    let dry = client
        .cluster
        .set_replicas(&api(), 2, ApplyMode::DryRun, &budget(5))
        .await
        .unwrap();
    assert!(dry.patched);
    let queries: Vec<String> = server.seen().into_iter().map(|seen| seen.query).collect();
    assert_eq!(queries, ["", "", "fieldManager=kzero&dryRun=All"]);
}

#[tokio::test]
async fn s_2_9_a_conflict_is_read_again_up_to_five_times() {
    let server = Server::start(|number, seen| match (seen.method.as_str(), number) {
        ("GET", _) => Answer::ok(&scale(3)),
        (_, 1 | 3) => Answer::refuse(409, "Conflict"),
        _ => Answer::ok(&scale(1)),
    })
    .await;
    let client = server.connect().await;
    client
        .cluster
        .set_replicas(&api(), 1, ApplyMode::Live, &budget(5))
        .await
        .unwrap();
    assert_eq!(server.seen().len(), 6);
    let attempts: Vec<u32> = client
        .notices()
        .iter()
        .map(|notice| match notice {
            Notice::Conflict { attempt, .. } => *attempt,
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(attempts, [1, 2]);

    let server = Server::start(|_, seen| match seen.method.as_str() {
        "GET" => Answer::ok(&scale(3)),
        _ => Answer::refuse(409, "Conflict"),
    })
    .await;
    let client = server.connect().await;
    let error = client
        .cluster
        .set_replicas(&api(), 1, ApplyMode::Live, &budget(5))
        .await
        .unwrap_err();
    assert_eq!(error.class(), ErrorClass::Conflict);
    assert!(error.is_transient());
    assert_eq!(
        server
            .seen()
            .iter()
            .filter(|seen| seen.method == "PATCH")
            .count(),
        5
    );
}

#[tokio::test]
async fn w19_retry_after_is_obeyed_and_told() {
    let server = Server::start(|number, _| match number {
        0 => Answer::refuse(429, "TooManyRequests").header("retry-after", "1"),
        1 => Answer::refuse(503, "ServiceUnavailable").header("retry-after", "1"),
        _ => Answer::ok(&scale(2)),
    })
    .await;
    let client = server.connect().await;
    let start = Instant::now();
    assert_eq!(
        client.cluster.replicas(&api(), &budget(10)).await.unwrap(),
        2
    );
    assert!(
        start.elapsed() >= Duration::from_secs(2),
        "{:?}",
        start.elapsed()
    );
    let throttled = |status| Notice::Throttled {
        what: "deployment app/api".to_owned(),
        wait: Duration::from_secs(1),
        status,
    };
    assert_eq!(client.notices(), [throttled(429), throttled(503)]);
}

#[tokio::test]
async fn s_2_19_throttling_counts_against_the_budget() {
    let server =
        Server::start(|_, _| Answer::refuse(429, "TooManyRequests").header("retry-after", "60"))
            .await;
    let client = server.connect().await;
    let error = client
        .cluster
        .replicas(&api(), &budget(1))
        .await
        .unwrap_err();
    assert_eq!(error.class(), ErrorClass::TimedOut);
    assert_eq!(
        error.to_string(),
        "deployment app/api: timed out while waiting to get deployments/scale (test 1s)"
    );
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn s_d_9_nothing_else_is_repeated() {
    let rows = [
        (429, ErrorClass::Throttled, true),
        (500, ErrorClass::ServerError, false),
        (503, ErrorClass::Unavailable, true),
        (504, ErrorClass::TimedOut, true),
        (401, ErrorClass::Unauthorized, false),
        (403, ErrorClass::Forbidden, false),
    ];
    for (status, class, transient) in rows {
        let server = Server::start(move |_, _| Answer::refuse(status, "")).await;
        let client = server.connect().await;
        let error = client
            .cluster
            .replicas(&api(), &budget(5))
            .await
            .unwrap_err();
        assert_eq!(error.class(), class, "{status}");
        assert_eq!(error.is_transient(), transient, "{status}");
        assert_eq!(server.seen().len(), 1, "{status}");
        assert!(client.notices().is_empty(), "{status}");
    }
}

#[tokio::test]
async fn s_3_17_a_server_that_is_not_there_or_goes_away_is_transient() {
    let address = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().to_string()
    };
    let client = Client::new(&address, &json!({}), &json!({})).await;
    let error = client.cluster.server_version(&budget(5)).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unreachable);
    assert!(error.is_transient());
    assert_eq!(
        error.to_string(),
        format!("API server version: connection refused (http://{address})")
    );

    let server =
        Server::start(|_, _| Answer::ok(&json!({"gitVersion": "v1.36.0"})).end(End::Cut)).await;
    let client = server.connect().await;
    let error = client.cluster.server_version(&budget(5)).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unreachable, "{error}");
    assert!(error.is_transient(), "{error}");
}

#[tokio::test]
async fn s_3_9_a_silent_server_is_bounded_by_the_budget_and_named() {
    let server = Server::start(|_, _| Answer::ok(&scale(1)).end(End::Hang)).await;
    let client = server.connect().await;
    let error = client
        .cluster
        .replicas(&api(), &budget(1))
        .await
        .unwrap_err();
    assert_eq!(error.class(), ErrorClass::TimedOut);
    assert!(error.is_transient());
    assert!(error.to_string().ends_with("(test 1s)"), "{error}");
    let error = client.cluster.probe(Duration::from_millis(200)).await;
    // The headers have come, which is all that a probe wants.
    assert!(error.is_ok());
}

#[tokio::test]
async fn s_3_31_any_answer_below_500_means_reachable() {
    for (status, reachable) in [
        (200, true),
        (401, true),
        (403, true),
        (404, true),
        (429, true),
        (500, false),
        (503, false),
    ] {
        let server = Server::start(move |_, _| Answer::refuse(status, "")).await;
        let client = server.connect().await;
        let probe = client.cluster.probe(Duration::from_secs(5)).await;
        assert_eq!(probe.is_ok(), reachable, "{status}");
        assert_eq!(server.lines(), ["GET /healthz"]);
    }
}

#[tokio::test]
async fn s_2_19_lists_are_paged_and_begin_anew_after_410() {
    let page = |names: &[&str], more: &str| {
        let items: Vec<Value> = names
            .iter()
            .map(|name| json!({"metadata": {"name": name, "uid": name}, "spec": {"replicas": 1}}))
            .collect();
        Answer::ok(&json!({"metadata": {"resourceVersion": "9", "continue": more}, "items": items}))
    };
    let server = Server::start(move |number, _| match number {
        0 => page(&["old"], "t1"),
        1 => Answer::refuse(410, "Expired"),
        2 => page(&["api"], "t2"),
        _ => page(&["web"], ""),
    })
    .await;
    let client = server.connect().await;
    let wanted =
        ["old", "api", "web"].map(|name| WorkloadRef::new(ScaleKind::Deployment, "app", name));
    let sizes = client.cluster.sizes(&wanted, &budget(5)).await.unwrap();
    let names: Vec<&str> = sizes
        .keys()
        .map(|workload| workload.name.as_str())
        .collect();
    assert_eq!(names, ["api", "web"]);
    let queries: Vec<String> = server.seen().into_iter().map(|seen| seen.query).collect();
    assert_eq!(
        queries,
        [
            "limit=500",
            "limit=500&continue=t1",
            "limit=500",
            "limit=500&continue=t2"
        ]
    );
}

#[tokio::test]
async fn an_answer_that_is_no_kubernetes_is_said_so() {
    let server = Server::start(|_, _| Answer::ok(&json!({"hello": "world"}))).await;
    let client = server.connect().await;
    let error = client.cluster.server_version(&budget(5)).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("is this a Kubernetes API server?"),
        "{error}"
    );
    assert!(!error.is_transient());
}

#[tokio::test]
async fn deletions_go_to_the_background_and_dry_runs_stay_dry() {
    let server = Server::start(|number, _| match number {
        0 => Answer::ok(&json!({"kind": "Status", "status": "Success"})),
        _ => Answer::refuse(404, "NotFound"),
    })
    .await;
    let client = server.connect().await;
    let cluster = &client.cluster;
    cluster
        .delete_claim("app", "data", ApplyMode::DryRun, &budget(5))
        .await
        .unwrap();
    cluster
        .delete_job("app", "migrate", Some("u-7"), ApplyMode::Live, &budget(5))
        .await
        .unwrap();
    let seen = server.seen();
    assert_eq!(
        seen[0].json(),
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background", "dryRun": ["All"]})
    );
    assert_eq!(
        seen[1].json(),
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background", "preconditions": {"uid": "u-7"}})
    );
    assert_eq!(
        seen[1].line(),
        "DELETE /apis/batch/v1/namespaces/app/jobs/migrate"
    );
}

#[tokio::test]
async fn s_d_8_a_connection_that_is_not_made_in_ten_seconds_is_given_up() {
    // Accepts, as the kernel does for a listener, and never speaks TLS.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let client = Client::new(&format!("https://{address}"), &json!({}), &json!({})).await;
    let start = Instant::now();
    let error = client
        .cluster
        .server_version(&budget(60))
        .await
        .unwrap_err();
    let taken = start.elapsed().as_secs();
    assert!((9..15).contains(&taken), "{taken} s");
    assert_eq!(error.class(), ErrorClass::TimedOut, "{error}");
    assert!(error.is_transient());
}
