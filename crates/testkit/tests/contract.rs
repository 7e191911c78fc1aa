//! The kit against a real control plane, and the server in memory against the same questions.
//! Run by `cargo xtask test`.

use std::time::Duration;

use kzero_testkit::objects::{self, Object as _};
use kzero_testkit::{ControlPlane, Fault, FaultProxy, MiniApi, Rule};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(30);

/// Questions and changes that both servers are to answer alike; `ask` gives status and body.
fn questions(namespace: &str, ask: &dyn Fn(&str, &str, &Value) -> (u16, Value)) -> Vec<String> {
    let apps = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
    let core = format!("/api/v1/namespaces/{namespace}");
    let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
    let scale = format!("{apps}/api/scale");
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}});
    let patch = |replicas: i64| json!({"spec": {"replicas": replicas}});
    let stale = json!({"metadata": {"resourceVersion": "1"}, "spec": {"replicas": 5}});
    let bad_name = objects::configmap(namespace, "Bad_Name", &[]);
    let no_selector = objects::deployment(namespace, "x", 1).with("/spec/selector", Value::Null);
    let rows: Vec<(&str, String, Value)> = vec![
        (
            "POST",
            apps.clone(),
            objects::deployment(namespace, "api", 2).with("/spec/paused", true),
        ),
        (
            "POST",
            apps.clone(),
            objects::deployment(namespace, "api", 2),
        ),
        ("POST", apps.clone(), no_selector),
        ("GET", scale.clone(), Value::Null),
        ("PATCH", format!("{scale}?dryRun=All"), patch(7)),
        ("GET", scale.clone(), Value::Null),
        ("PATCH", scale.clone(), stale),
        ("PATCH", scale.clone(), patch(-1)),
        ("PATCH", scale.clone(), patch(0)),
        ("GET", format!("{apps}/missing"), Value::Null),
        ("GET", format!("{apps}/missing/scale"), Value::Null),
        (
            "GET",
            format!("{apps}?fieldSelector=metadata.name%3Dapi&limit=1"),
            Value::Null,
        ),
        (
            "GET",
            format!("{apps}?fieldSelector=spec.replicas%3D1"),
            Value::Null,
        ),
        (
            "GET",
            format!("{apps}?labelSelector=app%20in%20(api)"),
            Value::Null,
        ),
        (
            "PATCH",
            format!("{apps}/api"),
            json!({"spec": {"selector": {"matchLabels": {"app": "b"}}}}),
        ),
        ("POST", format!("{core}/configmaps"), bad_name),
        (
            "POST",
            format!("{core}/configmaps"),
            objects::configmap(namespace, "m", &[("a", "b")]),
        ),
        (
            "DELETE",
            format!("{core}/configmaps/m?dryRun=All"),
            Value::Null,
        ),
        (
            "DELETE",
            format!("{core}/configmaps/m"),
            json!({"preconditions": {"uid": "other"}}),
        ),
        ("DELETE", format!("{core}/configmaps/m"), Value::Null),
        ("DELETE", format!("{core}/configmaps/m"), Value::Null),
        (
            "POST",
            "/api/v1/namespaces/nowhere/configmaps".to_owned(),
            objects::configmap("nowhere", "m", &[]),
        ),
        ("PUT", format!("{leases}/l"), lease.clone()),
        ("PUT", format!("{leases}/l"), lease),
        (
            "GET",
            "/apis/nowhere.example/v1/things".to_owned(),
            Value::Null,
        ),
        (
            "POST",
            format!("{core}/persistentvolumeclaims"),
            objects::pvc(namespace, "data"),
        ),
        (
            "DELETE",
            format!("{apps}/api"),
            json!({"propagationPolicy": "Sideways"}),
        ),
        ("DELETE", format!("{apps}/api"), Value::Null),
    ];
    rows.iter()
        .map(|(method, path, body)| {
            let (code, answer) = ask(method, path, body);
            let path = path.replace(namespace, "NS");
            let facts = [
                "/kind",
                "/reason",
                "/spec/replicas",
                "/status/phase",
                "/metadata/generation",
                "/metadata/finalizers/0",
                "/items/0/metadata/name",
            ]
            .map(|fact| {
                answer
                    .pointer(fact)
                    .map_or_else(String::new, |found| format!(" {found}"))
            });
            format!("{method} {path}: {code}{}", facts.concat())
        })
        .collect()
}

#[test]
fn both_servers_answer_alike() {
    let plane = ControlPlane::attach();
    let namespace = plane.namespace("alike");
    let real = questions(namespace.name(), &|method, path, body| {
        plane.request(method, path, body)
    });
    let api = MiniApi::start_blocking();
    api.apply(objects::namespace("alike"));
    let dir = tempfile::tempdir().unwrap();
    let mini = ControlPlane::open(&api.kubeconfig(dir.path()));
    let small = questions("alike", &|method, path, body| {
        mini.request(method, path, body)
    });
    assert_eq!(small.join("\n"), real.join("\n"));
}

#[test]
fn a_proxy_before_the_real_server_passes_all_but_its_rules() {
    let plane = ControlPlane::attach();
    let namespace = plane.namespace("proxied");
    let dir = tempfile::tempdir().unwrap();
    let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
    let through = ControlPlane::open(&proxy.kubeconfig(dir.path()));
    let made = through.apply(&objects::deployment(namespace.name(), "api", 1));
    let path = objects::path_of(
        &made
            .with("/kind", "Deployment")
            .with("/apiVersion", "apps/v1"),
    );
    through.wait_until(&path, SOON, |object| object["status"]["readyReplicas"] == 1);
    let busy = proxy.add(
        Rule::new(Fault::retry_after(503, 1))
            .method("PATCH")
            .first(1),
    );
    assert_eq!(through.request("PATCH", &path, &json!({})).0, 503);
    assert_eq!(through.request("PATCH", &path, &json!({})).0, 200);
    assert_eq!(busy.hit(), 1);
}

#[test]
fn the_restricted_user_may_do_what_was_granted() {
    let plane = ControlPlane::attach();
    let namespace = plane.namespace("granted");
    plane.apply_yaml(&format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: {namespace}}}\n---\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: b, namespace: {namespace}}}\n"
    ));
    let restricted = ControlPlane::open(&plane.restricted_kubeconfig());
    let path = namespace.path("api/v1", "configmaps/b");
    assert_eq!(restricted.request("GET", &path, &Value::Null).0, 403);
    plane.grant_restricted(
        namespace.name(),
        &json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]),
    );
    restricted_can_get(&restricted, &path);
    assert_eq!(restricted.request("DELETE", &path, &Value::Null).0, 403);
}

/// The authorizer learns of new bindings by a watch, so not at once.
fn restricted_can_get(restricted: &ControlPlane, path: &str) {
    let end = std::time::Instant::now() + SOON;
    while restricted.request("GET", path, &Value::Null).0 != 200 {
        assert!(std::time::Instant::now() < end, "still forbidden");
        std::thread::yield_now();
    }
}

/// What a status says, without times, names and versions.
fn facts(object: &Value) -> String {
    let status = &object["status"];
    let mut words = Vec::new();
    for field in [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "active",
        "succeeded",
        "failed",
        "phase",
    ] {
        if let Some(value) = status.get(field) {
            words.push(format!("{field}={value}"));
        }
    }
    let mut conditions: Vec<String> = status["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| format!("{}={}:{}", one["type"], one["status"], one["reason"]))
        .collect();
    conditions.sort();
    words.extend(conditions);
    words.join(" ")
}

/// Leads workloads through a life and tells what was seen at each stop.
fn life(plane: &ControlPlane, namespace: &str) -> Vec<String> {
    let mut seen = Vec::new();
    let mut stop = |what: &str, path: &str, wanted: &dyn Fn(&Value) -> bool| {
        let object = plane.wait_until(path, SOON, wanted);
        seen.push(format!("{what}: {}", facts(&object)));
    };
    let apps = format!("/apis/apps/v1/namespaces/{namespace}");
    let jobs = format!("/apis/batch/v1/namespaces/{namespace}/jobs");
    let core = format!("/api/v1/namespaces/{namespace}");
    let ready = |count: u64| move |object: &Value| object["status"]["readyReplicas"] == count;
    let current =
        |object: &Value| object["status"]["observedGeneration"] == object["metadata"]["generation"];

    let deployment = format!("{apps}/deployments/api");
    plane.apply(&objects::deployment(namespace, "api", 2));
    let whole = |object: &Value| object["status"]["availableReplicas"] == 2;
    stop("deployment up", &deployment, &whole);
    plane.patch(&deployment, &json!({"spec": {"replicas": 0}}));
    stop("deployment down", &deployment, &|object| {
        current(object) && object["status"].get("replicas").is_none()
    });
    plane.patch(&deployment, &json!({"spec": {"replicas": 1, "template": {"metadata": {"annotations": {"sim.kzero/ready": "never"}}}}}));
    stop("deployment unready", &deployment, &|object| {
        current(object)
            && object["status"]["unavailableReplicas"] == 1
            && object["status"]["updatedReplicas"] == 1
    });

    let set = format!("{apps}/statefulsets/pg");
    plane.apply(&objects::statefulset(namespace, "pg", 2));
    stop("statefulset up", &set, &ready(2));
    plane.patch(&set, &json!({"spec": {"replicas": 0}}));
    stop("statefulset down", &set, &|object| {
        current(object) && object["status"]["replicas"] == 0
    });

    plane.apply(&objects::job(namespace, "good"));
    let ended = |word: &'static str| {
        move |job: &Value| {
            job["status"]["conditions"]
                .as_array()
                .is_some_and(|all| all.iter().any(|one| one["type"] == word))
        }
    };
    stop("job done", &format!("{jobs}/good"), &ended("Complete"));
    plane.apply(
        &objects::job(namespace, "bad")
            .annotated("sim.kzero/exit", "1")
            .with("/spec/backoffLimit", 0),
    );
    stop("job failed", &format!("{jobs}/bad"), &ended("Failed"));

    let claim = format!("{core}/persistentvolumeclaims/data");
    plane.apply(&objects::pvc(namespace, "data"));
    let volumes = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]);
    plane.apply(&objects::pod(namespace, "user").with("/spec/volumes", volumes));
    let pod = format!("{core}/pods/user");
    stop("pod with a claim", &pod, &|pod| {
        pod["status"]["conditions"].as_array().is_some_and(|all| {
            all.iter()
                .any(|one| one["type"] == "Ready" && one["status"] == "True")
        })
    });
    plane.delete(&claim);
    stop("claim held", &claim, &|claim| {
        !claim["metadata"]["deletionTimestamp"].is_null()
    });
    plane.delete(&pod);
    stop("claim gone", &claim, &Value::is_null);
    seen
}

#[test]
fn workloads_live_alike_on_both_servers() {
    let plane = ControlPlane::attach();
    let namespace = plane.namespace("life");
    let real = life(&plane, namespace.name());
    let api = MiniApi::start_blocking();
    api.apply(objects::namespace("life"));
    let dir = tempfile::tempdir().unwrap();
    let mini = ControlPlane::open(&api.kubeconfig(dir.path()));
    assert_eq!(life(&mini, "life").join("\n"), real.join("\n"));
}
