//! The server against what Kubernetes does, each rule by itself.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};

use super::*;
use crate::objects::{self, Object as _};

const SOON: Duration = Duration::from_secs(60);
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/app/deployments/api";
const MERGE: &str = "application/merge-patch+json";

/// Sends one request to the service, past any socket.
async fn send(
    api: &MiniApiService,
    method: &str,
    path: &str,
    kind: &str,
    body: &Value,
) -> (u16, Value) {
    let body = if body.is_null() {
        Bytes::new()
    } else {
        body.to_string().into()
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", kind)
        .body(Full::new(body))
        .unwrap();
    let response = api.clone().call(request).await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let value = serde_json::from_slice(&body)
        .unwrap_or_else(|_| String::from_utf8_lossy(&body).into_owned().into());
    (code, value)
}

async fn get(api: &MiniApiService, path: &str) -> (u16, Value) {
    send(api, "GET", path, "", &Value::Null).await
}

/// A server without controllers, with one namespace.
fn still() -> MiniApiService {
    let api = MiniApiService::new();
    api.freeze(true);
    api.apply(objects::namespace("app"));
    api
}

#[tokio::test]
async fn a_new_object_gets_what_only_the_server_gives() {
    let api = still();
    let path = "/apis/apps/v1/namespaces/app/deployments";
    let (code, made) = send(
        &api,
        "POST",
        path,
        "application/json",
        &objects::deployment("app", "api", 2),
    )
    .await;
    assert_eq!(code, 201);
    assert_eq!(made["metadata"]["generation"], 1);
    assert_eq!(made["spec"]["progressDeadlineSeconds"], 600);
    assert!(!made["metadata"]["uid"].as_str().unwrap().is_empty());
    let (code, again) = send(
        &api,
        "POST",
        path,
        "application/json",
        &objects::deployment("app", "api", 2),
    )
    .await;
    assert_eq!((code, &again["reason"]), (409, &json!("AlreadyExists")));
    let elsewhere = path.replace("app/", "nowhere/");
    let (code, refused) = send(
        &api,
        "POST",
        &elsewhere,
        "application/json",
        &objects::deployment("nowhere", "api", 2),
    )
    .await;
    assert_eq!(
        (code, &refused["message"]),
        (404, &json!("namespaces \"nowhere\" not found"))
    );
}

#[tokio::test]
async fn a_write_from_an_old_version_is_a_conflict() {
    let api = still();
    let old = api.apply(objects::deployment("app", "api", 1));
    api.patch(DEPLOYMENT, &json!({"spec": {"replicas": 2}}));
    let (code, status) = send(&api, "PUT", DEPLOYMENT, "application/json", &old).await;
    assert_eq!((code, &status["reason"]), (409, &json!("Conflict")));
    let stale = json!({"metadata": {"resourceVersion": old["metadata"]["resourceVersion"]}, "spec": {"replicas": 3}});
    let (code, _) = send(&api, "PATCH", &format!("{DEPLOYMENT}/scale"), MERGE, &stale).await;
    assert_eq!(code, 409);
    let now = api.get(DEPLOYMENT).unwrap();
    assert_eq!(now["spec"]["replicas"], 2);
    let (code, _) = send(&api, "PUT", DEPLOYMENT, "application/json", &now).await;
    assert_eq!(code, 200);
}

#[tokio::test]
async fn scale_changes_the_generation_and_leaves_zero_out() {
    let api = still();
    api.apply(objects::deployment("app", "api", 2));
    let path = format!("{DEPLOYMENT}/scale");
    let (_, before) = get(&api, &path).await;
    assert_eq!(before["spec"]["replicas"], 2);
    assert_eq!(before["status"]["selector"], "app=api");
    let patch = json!({"metadata": {"resourceVersion": before["metadata"]["resourceVersion"]}, "spec": {"replicas": 0}});
    let (code, after) = send(&api, "PATCH", &path, MERGE, &patch).await;
    assert_eq!((code, &after["spec"]), (200, &json!({})));
    let object = api.get(DEPLOYMENT).unwrap();
    assert_eq!(object["metadata"]["generation"], 2);
    assert_eq!(object["spec"]["replicas"], 0);
    // The same again is no change: no new version, no new generation.
    let (_, same) = send(
        &api,
        "PATCH",
        &path,
        MERGE,
        &json!({"spec": {"replicas": 0}}),
    )
    .await;
    assert_eq!(
        same["metadata"]["resourceVersion"],
        after["metadata"]["resourceVersion"]
    );
    let (code, _) = send(
        &api,
        "PATCH",
        &path,
        MERGE,
        &json!({"spec": {"replicas": -1}}),
    )
    .await;
    assert_eq!(code, 422);
}

#[tokio::test]
async fn a_dry_run_answers_and_changes_nothing() {
    let api = still();
    api.apply(objects::deployment("app", "api", 2));
    let before = api.get("/apis/apps/v1/deployments").unwrap();
    let rows = [
        (
            "PATCH",
            format!("{DEPLOYMENT}/scale?dryRun=All"),
            json!({"spec": {"replicas": 7}}),
        ),
        (
            "PATCH",
            format!("{DEPLOYMENT}?dryRun=All"),
            json!({"spec": {"paused": true}}),
        ),
        ("DELETE", format!("{DEPLOYMENT}?dryRun=All"), json!({})),
        ("DELETE", DEPLOYMENT.to_owned(), json!({"dryRun": ["All"]})),
        (
            "POST",
            "/apis/apps/v1/namespaces/app/deployments?dryRun=All".to_owned(),
            objects::deployment("app", "new", 1),
        ),
    ];
    for (method, path, body) in rows {
        let (code, answer) = send(&api, method, &path, MERGE, &body).await;
        assert!(code < 300, "{method} {path}: {answer}");
        if path.contains("/scale") {
            assert_eq!(answer["spec"]["replicas"], 7);
        }
    }
    assert_eq!(api.get("/apis/apps/v1/deployments").unwrap(), before);
    let (code, _) = send(
        &api,
        "DELETE",
        &format!("{DEPLOYMENT}?dryRun=Some"),
        "",
        &Value::Null,
    )
    .await;
    assert_eq!(code, 400);
}

#[tokio::test]
async fn a_status_is_written_by_its_own_path_only() {
    let api = still();
    api.apply(objects::deployment("app", "api", 2));
    api.patch(
        DEPLOYMENT,
        &json!({"status": {"replicas": 5}, "spec": {"paused": true}}),
    );
    let object = api.get(DEPLOYMENT).unwrap();
    assert_eq!(
        (object.get("status"), &object["metadata"]["generation"]),
        (None, &json!(2))
    );
    let patch = json!({"status": {"replicas": 5}, "spec": {"paused": false}});
    send(
        &api,
        "PATCH",
        &format!("{DEPLOYMENT}/status"),
        MERGE,
        &patch,
    )
    .await;
    let object = api.get(DEPLOYMENT).unwrap();
    assert_eq!(object["status"]["replicas"], 5);
    assert_eq!(object["spec"]["paused"], true);
    assert_eq!(object["metadata"]["generation"], 2);
}

#[tokio::test]
async fn lists_come_in_pages_and_an_expired_page_is_gone() {
    let api = still();
    for number in 0..5 {
        api.apply(objects::configmap("app", &format!("m{number}"), &[]));
    }
    let path = "/api/v1/namespaces/app/configmaps?limit=2";
    let (_, first) = get(&api, path).await;
    let names = |page: &Value| -> Vec<String> {
        json::list(page, "/items")
            .iter()
            .map(|item| json::text(item, "/metadata/name").to_owned())
            .collect()
    };
    assert_eq!(names(&first), ["m0", "m1"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 3);
    let token = first["metadata"]["continue"].as_str().unwrap().to_owned();
    let (_, second) = get(&api, &format!("{path}&continue={token}")).await;
    assert_eq!(names(&second), ["m2", "m3"]);
    assert_eq!(
        second["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
    let last = second["metadata"]["continue"].as_str().unwrap();
    let (_, third) = get(&api, &format!("{path}&continue={last}")).await;
    assert_eq!(
        (names(&third), third["metadata"].get("continue")),
        (vec!["m4".to_owned()], None)
    );
    api.expire_versions();
    let (code, gone) = get(&api, &format!("{path}&continue={token}")).await;
    assert_eq!((code, &gone["reason"]), (410, &json!("Expired")));
}

/// Opens a watch.
async fn watch(api: &MiniApiService, path: &str) -> ApiBody {
    let request = Request::builder()
        .uri(path)
        .body(Full::new(Bytes::new()))
        .unwrap();
    api.clone().call(request).await.unwrap().into_body()
}

/// The next line of a watch: its type and the object's name, or the code of an error.
async fn told(body: &mut ApiBody) -> Option<String> {
    let line = body.frame().await?.unwrap().into_data().unwrap();
    let event: Value = serde_json::from_slice(&line).unwrap();
    let name = json::text(&event, "/object/metadata/name").to_owned();
    let word = json::text(&event, "/type");
    Some(match event["object"]["code"].as_u64() {
        Some(code) => format!("{word} {code}"),
        None => format!("{word} {name} {}", json::text(&event, "/object/kind")),
    })
}

#[tokio::test]
async fn a_watch_tells_what_changed_since_a_version_and_what_leaves_the_selection() {
    let api = still();
    let first = api.apply(objects::configmap("app", "a", &[]).labelled("tier", "one"));
    let since = json::text(&first, "/metadata/resourceVersion").to_owned();
    api.apply(objects::configmap("app", "b", &[]).labelled("tier", "one"));
    api.apply(objects::configmap("app", "c", &[]));
    let path = format!(
        "/api/v1/namespaces/app/configmaps?watch=1&labelSelector=tier=one&resourceVersion={since}"
    );
    let mut body = watch(&api, &path).await;
    assert_eq!(told(&mut body).await.unwrap(), "ADDED b ConfigMap");
    let object = "/api/v1/namespaces/app/configmaps";
    api.patch(&format!("{object}/a"), &json!({"data": {"x": "y"}}));
    assert_eq!(told(&mut body).await.unwrap(), "MODIFIED a ConfigMap");
    api.patch(
        &format!("{object}/a"),
        &json!({"metadata": {"labels": {"tier": null}}}),
    );
    assert_eq!(told(&mut body).await.unwrap(), "DELETED a ConfigMap");
    api.delete(&format!("{object}/c"));
    api.delete(&format!("{object}/b"));
    assert_eq!(told(&mut body).await.unwrap(), "DELETED b ConfigMap");
    api.expire_versions();
    assert_eq!(told(&mut body).await.unwrap(), "ERROR 410");
    assert_eq!(told(&mut body).await, None);
    let mut late = watch(&api, &path).await;
    assert_eq!(told(&mut late).await.unwrap(), "ERROR 410");
}

#[tokio::test(start_paused = true)]
async fn a_watch_begins_with_what_is_there_and_ends_in_time() {
    let api = still();
    api.apply(objects::configmap("app", "a", &[]));
    let path = "/api/v1/namespaces/app/configmaps?watch=true&timeoutSeconds=7";
    let mut body = watch(&api, path).await;
    let begun = Instant::now();
    assert_eq!(told(&mut body).await.unwrap(), "ADDED a ConfigMap");
    assert_eq!(told(&mut body).await, None);
    assert_eq!(begun.elapsed().as_secs(), 7);
    let mut body = watch(
        &api,
        &format!("{path}&sendInitialEvents=true&allowWatchBookmarks=true"),
    )
    .await;
    assert_eq!(told(&mut body).await.unwrap(), "ADDED a ConfigMap");
    assert_eq!(told(&mut body).await.unwrap(), "BOOKMARK  ConfigMap");
}

#[tokio::test]
async fn a_finalizer_holds_an_object_until_it_is_taken_off() {
    let api = still();
    let path = "/api/v1/namespaces/app/configmaps/a";
    api.apply(
        objects::configmap("app", "a", &[]).with("/metadata/finalizers", json!(["x.example/y"])),
    );
    api.delete(path);
    let held = api.get(path).unwrap();
    assert!(json::has(&held, "/metadata/deletionTimestamp"));
    api.patch(path, &json!({"metadata": {"finalizers": null}}));
    assert_eq!(api.get(path), None);
}

#[tokio::test]
async fn what_is_not_supported_is_refused_and_never_pretended() {
    let api = still();
    api.apply(objects::deployment("app", "api", 1));
    api.apply(objects::pod("app", "p"));
    let strategic = "application/strategic-merge-patch+json";
    let rows = [
        (
            "PATCH",
            DEPLOYMENT,
            "application/apply-patch+yaml",
            json!({}),
        ),
        (
            "PATCH",
            DEPLOYMENT,
            strategic,
            json!({"spec": {"template": {"spec": {"containers": []}}}}),
        ),
        (
            "PATCH",
            DEPLOYMENT,
            strategic,
            json!({"spec": {"$patch": "replace"}}),
        ),
        (
            "POST",
            "/api/v1/namespaces/app/pods/p/exec",
            "",
            Value::Null,
        ),
        (
            "POST",
            "/api/v1/namespaces/app/pods/p/eviction",
            "",
            json!({}),
        ),
    ];
    for (method, path, kind, body) in rows {
        let (code, status) = send(&api, method, path, kind, &body).await;
        assert_eq!(
            (code, &status["kind"]),
            (501, &json!("Status")),
            "{method} {path} {kind}"
        );
    }
    let (code, changed) = send(
        &api,
        "PATCH",
        DEPLOYMENT,
        strategic,
        &json!({"spec": {"replicas": 3}}),
    )
    .await;
    assert_eq!((code, &changed["spec"]["replicas"]), (200, &json!(3)));
    let (code, text) = get(&api, "/apis/unknown.example/v1/things").await;
    assert_eq!(
        (code, text),
        (
            404,
            json!(
                "404 page not found
"
            )
        )
    );
}

#[tokio::test]
async fn prohibitions_and_tokens_are_kept_and_reviews_tell_of_them() {
    let api = still();
    api.apply(objects::deployment("app", "api", 1));
    api.deny("patch", "deployments/scale");
    let (code, status) = send(
        &api,
        "PATCH",
        &format!("{DEPLOYMENT}/scale"),
        MERGE,
        &json!({}),
    )
    .await;
    assert_eq!((code, &status["reason"]), (403, &json!("Forbidden")));
    let review = |sub: &str| json!({"spec": {"resourceAttributes": {"verb": "patch", "resource": "deployments", "subresource": sub}}});
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let (_, scale) = send(&api, "POST", path, "application/json", &review("scale")).await;
    let (_, whole) = send(&api, "POST", path, "application/json", &review("")).await;
    assert_eq!(
        (&scale["status"]["allowed"], &whole["status"]["allowed"]),
        (&json!(false), &json!(true))
    );
    api.require_token(Some("t"));
    assert_eq!(get(&api, DEPLOYMENT).await.0, 401);
}

#[tokio::test]
async fn a_lease_is_replaced_only_from_its_version() {
    let api = still();
    let path = "/apis/coordination.k8s.io/v1/namespaces/app/leases/lock";
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "lock"}, "spec": {"holderIdentity": "a"}});
    let (code, made) = send(&api, "PUT", path, "application/json", &lease).await;
    assert_eq!(code, 201);
    let (code, _) = send(&api, "PUT", path, "application/json", &lease).await;
    assert_eq!(code, 422);
    let next = made.clone().with("/spec/holderIdentity", "b");
    assert_eq!(
        send(&api, "PUT", path, "application/json", &next).await.0,
        200
    );
    assert_eq!(
        send(&api, "PUT", path, "application/json", &made).await.0,
        409
    );
}

#[tokio::test]
async fn requests_are_logged_with_their_bodies() {
    let api = still();
    api.apply(objects::deployment("app", "api", 1));
    get(&api, &format!("{DEPLOYMENT}/scale")).await;
    send(
        &api,
        "PATCH",
        &format!("{DEPLOYMENT}/scale?fieldManager=kzero"),
        MERGE,
        &json!({"spec": {"replicas": 0}}),
    )
    .await;
    let log = api.requests();
    assert_eq!(log.len(), 2);
    assert_eq!(
        (log[1].method.as_str(), log[1].query.as_str(), log[1].status),
        ("PATCH", "fieldManager=kzero", 200)
    );
    assert_eq!(log[1].body, json!({"spec": {"replicas": 0}}));
    assert_eq!(api.writes().len(), 1);
}

// --- the simulation ------------------------------------------------------------

async fn reached(api: &MiniApi, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    match api.wait_until(path, SOON, wanted).await {
        Ok(object) => object,
        Err(last) => panic!("{path} stays at {last:#}"),
    }
}

fn ready(count: i64) -> impl Fn(&Value) -> bool {
    move |object| json::number(object, "/status/readyReplicas") == count
}

#[tokio::test(start_paused = true)]
async fn a_deployment_comes_up_and_goes_down_with_its_pods() {
    let api = MiniApi::start().await;
    let object = objects::deployment("app", "api", 3).annotated("sim.kzero/stop", "5");
    api.apply(object);
    let up = reached(&api, DEPLOYMENT, ready(3)).await;
    assert_eq!(
        up["status"]["observedGeneration"],
        up["metadata"]["generation"]
    );
    assert_eq!(json::condition(&up, "Available"), "True");
    assert_eq!(api.list("/api/v1/namespaces/app/pods").len(), 3);
    api.patch(DEPLOYMENT, &json!({"spec": {"replicas": 0}}));
    // The status is at zero while the pods still end.
    let down = reached(&api, DEPLOYMENT, |object| {
        !json::has(object, "/status/replicas")
    })
    .await;
    assert_eq!(down["status"]["observedGeneration"], 2);
    let pods = api.list("/api/v1/namespaces/app/pods");
    assert_eq!(pods.len(), 3);
    assert!(
        pods.iter()
            .all(|pod| json::has(pod, "/metadata/deletionTimestamp"))
    );
    let begun = Instant::now();
    reached(&api, "/api/v1/namespaces/app/pods", |list| {
        json::list(list, "/items").is_empty()
    })
    .await;
    assert_eq!(begun.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_new_template_is_rolled_out_and_a_bad_one_misses_its_deadline() {
    let api = MiniApi::start().await;
    api.apply(objects::deployment("app", "api", 4).with("/spec/progressDeadlineSeconds", 30));
    reached(&api, DEPLOYMENT, ready(4)).await;
    let note = |name: &str, value: &str| json!({"spec": {"template": {"metadata": {"annotations": {name: value}}}}});
    api.patch(DEPLOYMENT, &note("version", "2"));
    let fewest = std::cell::Cell::new(4);
    let done = api
        .wait_until(DEPLOYMENT, SOON, |object| {
            fewest.set(json::number(object, "/status/availableReplicas").min(fewest.get()));
            json::number(object, "/status/updatedReplicas") == 4
                && json::number(object, "/status/replicas") == 4
                && json::number(object, "/status/availableReplicas") == 4
        })
        .await
        .unwrap();
    assert_eq!(fewest.get(), 3, "a quarter may be missing");
    assert_eq!(json::list(&done, "/status/conditions").len(), 2);
    api.patch(DEPLOYMENT, &note("sim.kzero/ready", "never"));
    let begun = Instant::now();
    let late = reached(&api, DEPLOYMENT, |object| {
        json::condition(object, "Progressing") == "False"
    })
    .await;
    assert_eq!(begun.elapsed().as_secs(), 30);
    // Three of four may serve while one is replaced.
    assert_eq!(late["status"]["availableReplicas"], 3);
}

#[tokio::test(start_paused = true)]
async fn a_statefulset_starts_and_stops_in_order_and_leaves_its_claims() {
    let api = MiniApi::start().await;
    let path = "/apis/apps/v1/namespaces/db/statefulsets/pg";
    let claim = json!([{"metadata": {"name": "data"}, "spec": objects::pvc("db", "x")["spec"]}]);
    api.apply(
        objects::statefulset("db", "pg", 2)
            .with("/spec/volumeClaimTemplates", claim)
            .annotated("sim.kzero/ready", "3"),
    );
    reached(&api, path, ready(1)).await;
    assert_eq!(api.list("/api/v1/namespaces/db/pods").len(), 2);
    assert_eq!(
        api.get("/api/v1/namespaces/db/pods/pg-1").unwrap()["status"]["phase"],
        "Pending"
    );
    reached(&api, path, ready(2)).await;
    api.patch(path, &json!({"spec": {"replicas": 0}}));
    let half = reached(&api, path, |set| json::number(set, "/status/replicas") == 1).await;
    assert_eq!(json::number(&half, "/status/readyReplicas"), 1);
    assert!(api.get("/api/v1/namespaces/db/pods/pg-0").is_some());
    reached(&api, path, |set| json::number(set, "/status/replicas") == 0).await;
    assert_eq!(
        api.list("/api/v1/namespaces/db/persistentvolumeclaims")
            .len(),
        2
    );
}

#[tokio::test(start_paused = true)]
async fn a_claim_in_use_is_held_until_its_pod_is_gone() {
    let api = MiniApi::start().await;
    let path = "/api/v1/namespaces/db/persistentvolumeclaims/data";
    api.apply(objects::pvc("db", "data"));
    let volumes = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]);
    api.apply(objects::pod("db", "user").with("/spec/volumes", volumes));
    reached(&api, "/api/v1/namespaces/db/pods/user", |pod| {
        json::condition(pod, "Ready") == "True"
    })
    .await;
    assert_eq!(api.list("/api/v1/persistentvolumes").len(), 1);
    api.delete(path);
    let held = api.get(path).unwrap();
    assert_eq!(
        held["metadata"]["finalizers"],
        json!(["kubernetes.io/pvc-protection"])
    );
    api.delete("/api/v1/namespaces/db/pods/user");
    reached(&api, path, Value::is_null).await;
    assert_eq!(api.list("/api/v1/persistentvolumes").len(), 0);
}

#[tokio::test(start_paused = true)]
async fn jobs_complete_or_fail_as_their_pods_end() {
    let api = MiniApi::start().await;
    api.apply(objects::job("app", "good"));
    api.apply(
        objects::job("app", "bad")
            .annotated("sim.kzero/exit", "2")
            .with("/spec/backoffLimit", 1),
    );
    api.apply(
        objects::job("app", "slow")
            .annotated("sim.kzero/run", "never")
            .with("/spec/activeDeadlineSeconds", 20),
    );
    let path = |name: &str| format!("/apis/batch/v1/namespaces/app/jobs/{name}");
    reached(&api, &path("good"), |job| {
        json::condition(job, "Complete") == "True"
    })
    .await;
    let bad = reached(&api, &path("bad"), |job| {
        json::condition(job, "Failed") == "True"
    })
    .await;
    assert_eq!(bad["status"]["failed"], 2);
    let slow = reached(&api, &path("slow"), |job| {
        json::condition(job, "Failed") == "True"
    })
    .await;
    let reasons: Vec<&str> = json::list(&slow, "/status/conditions")
        .iter()
        .map(|one| json::text(one, "/reason"))
        .collect();
    assert_eq!(reasons, ["DeadlineExceeded", "DeadlineExceeded"]);
    // Without a word on what it owns, a Job leaves its pods; in the background they go too.
    let pods = "/api/v1/namespaces/app/pods?labelSelector=app=good";
    send(&api, "DELETE", &path("good"), "", &Value::Null).await;
    assert_eq!(api.list(pods).len(), 1);
    api.delete(&path("bad"));
    assert_eq!(
        api.list("/api/v1/namespaces/app/pods?labelSelector=app=bad")
            .len(),
        0
    );
}

#[tokio::test(start_paused = true)]
async fn pods_fail_as_their_annotations_say() {
    let api = MiniApi::start().await;
    for fail in ["crash", "image", "config"] {
        api.apply(objects::pod("app", fail).annotated("sim.kzero/fail", fail));
    }
    let reason = |wanted: &'static str| {
        move |pod: &Value| {
            json::text(pod, "/status/containerStatuses/0/state/waiting/reason") == wanted
        }
    };
    let path = |name: &str| format!("/api/v1/namespaces/app/pods/{name}");
    reached(&api, &path("crash"), reason("CrashLoopBackOff")).await;
    reached(&api, &path("image"), reason("ImagePullBackOff")).await;
    reached(&api, &path("config"), reason("CreateContainerConfigError")).await;
    reached(&api, &path("crash"), |pod| {
        json::number(pod, "/status/containerStatuses/0/restartCount") == 3
    })
    .await;
    let events = api.list("/api/v1/namespaces/app/events?fieldSelector=involvedObject.name=crash");
    assert_eq!((events.len(), &events[0]["reason"]), (1, &json!("BackOff")));
}

#[tokio::test(start_paused = true)]
async fn a_quota_stops_pods_and_the_deployment_says_so() {
    let api = MiniApi::start().await;
    api.apply(json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"namespace": "app", "name": "q"}, "spec": {"hard": {"pods": "1"}}}));
    api.apply(objects::deployment("app", "api", 2));
    let short = reached(&api, DEPLOYMENT, |object| {
        json::condition(object, "ReplicaFailure") == "True"
    })
    .await;
    let message = json::list(&short, "/status/conditions")
        .iter()
        .map(|one| json::text(one, "/message"))
        .find(|text| text.contains("quota"));
    assert!(message.is_some(), "{short:#}");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_takes_its_content_with_it() {
    let api = MiniApi::start().await;
    api.apply(objects::deployment("app", "api", 2));
    reached(&api, DEPLOYMENT, ready(2)).await;
    api.delete("/api/v1/namespaces/app");
    let (code, _) = send(
        &api,
        "POST",
        "/api/v1/namespaces/app/configmaps",
        "application/json",
        &objects::configmap("app", "late", &[]),
    )
    .await;
    assert_eq!(code, 403);
    reached(&api, "/api/v1/namespaces/app", Value::is_null).await;
    assert_eq!(api.list("/api/v1/pods").len(), 0);
    assert_eq!(api.list("/apis/apps/v1/deployments").len(), 0);
}

#[tokio::test(start_paused = true)]
async fn with_a_lag_a_status_is_old_for_a_while() {
    let api = MiniApi::start().await;
    api.apply(objects::deployment("app", "api", 1));
    reached(&api, DEPLOYMENT, ready(1)).await;
    api.set_lag(Duration::from_secs(2));
    api.patch(DEPLOYMENT, &json!({"spec": {"replicas": 0}}));
    let old = api.get(DEPLOYMENT).unwrap();
    assert_eq!(
        (
            &old["status"]["observedGeneration"],
            &old["metadata"]["generation"]
        ),
        (&json!(1), &json!(2))
    );
    reached(&api, DEPLOYMENT, |object| {
        object["status"]["observedGeneration"] == 2
    })
    .await;
}

#[test]
fn a_server_with_a_thread_of_its_own_answers_over_http() {
    use std::io::{Read as _, Write as _};

    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("app", "api", 1));
    assert!(api.wait_until_blocking(DEPLOYMENT, SOON, ready(1)).is_ok());
    let address = api.url().trim_start_matches("http://").to_owned();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream
        .write_all(b"GET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(
        text.starts_with("HTTP/1.1 200") && text.contains("v1.36.0"),
        "{text}"
    );
    let dir = tempfile::tempdir().unwrap();
    let config = std::fs::read_to_string(api.kubeconfig(dir.path())).unwrap();
    assert!(config.contains(&api.url()));
}
