//! Sizes and waits on real controllers.
//!
//! A status that lags behind its generation (W07) cannot be made to last here, since the
//! controllers mend it at once; the rows of the readiness rules in the cluster crate hold it.

use std::time::Duration;

use kzero_testkit::objects::{self, Object};
use kzero_testkit::{ControlPlane, Fault, FaultProxy, Namespace, Rule};
use serde_json::{Value, json};

use crate::{SOON, kzero, live, restricted, said, through, until};

fn deployment(space: &Namespace<'_>, name: &str) -> String {
    space.path("apis/apps/v1", &format!("deployments/{name}"))
}

fn statefulset(space: &Namespace<'_>, name: &str) -> String {
    space.path("apis/apps/v1", &format!("statefulsets/{name}"))
}

fn pods(plane: &ControlPlane, space: &Namespace<'_>, name: &str) -> Vec<Value> {
    plane.list(&space.path("api/v1", &format!("pods?labelSelector=app%3D{name}")))
}

fn wait_ready(plane: &ControlPlane, path: &str, size: u64) {
    plane.wait_until(path, SOON, |found| {
        found["status"]["observedGeneration"] == found["metadata"]["generation"]
            && found["status"]["readyReplicas"].as_u64().unwrap_or(0) == size
    });
}

/// Makes pods that are never ready become ready.
fn release_pods(plane: &ControlPlane, space: &Namespace<'_>, name: &str) {
    for pod in pods(plane, space, name) {
        plane.patch(
            &objects::path_of(&pod.with("/kind", "Pod").with("/apiVersion", "v1")),
            &json!({"metadata": {"annotations": {"sim.kzero/ready": "0"}}}),
        );
    }
}

#[test]
fn w05_a_workload_without_annotations_and_replicas_is_parked_and_woken() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("w05");
    let mut set = objects::statefulset(space.name(), "s", 1);
    set["spec"].as_object_mut().unwrap().remove("replicas");
    assert!(set["metadata"]["annotations"].is_null());
    plane.apply(&set);
    let path = statefulset(&space, "s");
    wait_ready(&plane, &path, 1);
    let place = kzero(&plane, &space).profile(&live(
        &space,
        "pipelines:\n  down:\n    - statefulset.NS/s: {wait_for_termination: true}\n  up:\n    - statefulset.NS/s: {replicas: 2, wait_for_ready: true}\n",
    ));
    place.run_with(["down"]).assert_code(0);
    let parked = plane.get(&path).unwrap();
    assert_eq!(parked["spec"]["replicas"], 0);
    assert_eq!(pods(&plane, &space, "s"), Vec::<Value>::new());
    place.run_with(["up"]).assert_code(0);
    let woken = plane.get(&path).unwrap();
    assert_eq!(woken["spec"]["replicas"], 2);
    assert_eq!(woken["status"]["readyReplicas"], 2);
    assert!(
        woken["metadata"]["annotations"].is_null(),
        "{}",
        woken["metadata"]
    );
}

#[test]
fn w09_a_paused_deployment_is_ready_with_a_warning() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("w09");
    plane.apply(&objects::deployment(space.name(), "b", 1));
    let path = deployment(&space, "b");
    wait_ready(&plane, &path, 1);
    plane.patch(&path, &json!({"spec": {"paused": true, "replicas": 0}}));
    wait_ready(&plane, &path, 0);
    let outcome = kzero(&plane, &space)
        .profile(&live(
            &space,
            "pipelines:\n  up:\n    - deployment.NS/b: {replicas: 2, wait_for_ready: true}\n",
        ))
        .run_with(["up"]);
    outcome.assert_code(0);
    assert_eq!(said(&outcome, "WRN", "its rollout is paused"), 1);
    let found = plane.get(&path).unwrap();
    assert_eq!(found["status"]["readyReplicas"], 2);
    assert_eq!(found["spec"]["paused"], true, "kzero unpauses nothing");
}

#[test]
fn w11_a_rollout_that_exceeds_its_deadline_fails_then_with_the_schedulers_sentence() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("w11");
    plane.apply(
        &objects::deployment(space.name(), "b", 0)
            .with("/spec/template/spec/nodeSelector/none", "such")
            .with("/spec/progressDeadlineSeconds", 3),
    );
    let path = deployment(&space, "b");
    wait_ready(&plane, &path, 0);
    let place = kzero(&plane, &space).profile(&live(
        &space,
        "pipelines:\n  up:\n    - deployment.NS/b: {replicas: 1, wait_for_ready: true, timeout: 100s}\n",
    ));
    let running = place.spawn_with(["up"]);
    running.wait_for_output("wait rollout");
    // The controller judges rollouts, and scaling is none: begin one.
    plane.patch(
        &path,
        &json!({"spec": {"template": {"metadata": {"labels": {"new": "1"}}}}}),
    );
    let outcome = running.wait();
    outcome
        .assert_code(3)
        .assert_stderr("ProgressDeadlineExceeded")
        .assert_stdout("cause of deployment");
    assert!(
        said(&outcome, "WRN", "unschedulable: 0/") >= 1
            && outcome
                .stdout
                .contains("didn't match Pod's node affinity/selector"),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome.elapsed < Duration::from_secs(60),
        "it did not wait for the step's timeout: {:?}",
        outcome.elapsed
    );
}

#[test]
fn w11_a_woken_deployment_that_was_complete_before_has_no_deadline_and_times_out() {
    // The controller judges the deadline of a rollout, and scaling is none.
    let plane = ControlPlane::attach();
    let space = plane.namespace("w11b");
    plane.apply(
        &objects::deployment(space.name(), "b", 0)
            .with("/spec/template/spec/nodeSelector/none", "such")
            .with("/spec/progressDeadlineSeconds", 1),
    );
    wait_ready(&plane, &deployment(&space, "b"), 0);
    let outcome = kzero(&plane, &space)
        .profile(&live(
            &space,
            "pipelines:\n  up:\n    - deployment.NS/b: {replicas: 1, wait_for_ready: true, timeout: 4s}\n",
        ))
        .run_with(["up"]);
    outcome
        .assert_code(3)
        .assert_stderr("step timeout 4s")
        .assert_stderr("0 of 1 ready");
    assert_eq!(said(&outcome, "WRN", "unschedulable: 0/"), 1);
}

#[test]
fn a_deadline_that_was_exceeded_before_the_size_was_set_is_no_failure() {
    // S-2.12
    let plane = ControlPlane::attach();
    let space = plane.namespace("stale");
    plane.apply(
        &objects::deployment(space.name(), "b", 1)
            .annotated("sim.kzero/ready", "never")
            .with("/spec/progressDeadlineSeconds", 1),
    );
    let path = deployment(&space, "b");
    // The pods have come, so that nothing is progress any more but that they get ready.
    plane.wait_until(&path, SOON, |found| {
        let conditions = found["status"]["conditions"].as_array();
        found["status"]["updatedReplicas"] == 1
            && conditions.is_some_and(|all| {
                all.iter()
                    .any(|condition| condition["reason"] == "ProgressDeadlineExceeded")
            })
    });
    let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
    let place = through(&proxy, &space).profile(&live(
        &space,
        "pipelines:\n  up:\n    - deployment.NS/b: {replicas: 1, wait_for_ready: true}\n",
    ));
    let running = place.spawn_with(["up"]);
    // A change of size would begin a new deadline.
    until("it has looked and watches", || {
        let asked = proxy.requests();
        asked
            .iter()
            .any(|request| request.query.contains("watch=true"))
    });
    release_pods(&plane, &space, "b");
    running.wait().assert_code(0);
    assert_eq!(plane.get(&path).unwrap()["status"]["readyReplicas"], 1);
}

#[test]
fn w13_the_scale_subresource_is_all_that_scaling_needs() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("w13");
    plane.apply(&objects::deployment(space.name(), "b", 1));
    plane.apply(&objects::statefulset(space.name(), "s", 1));
    plane.grant_restricted(
        space.name(),
        &json!([{
            "apiGroups": ["apps"],
            "resources": ["deployments/scale", "statefulsets/scale"],
            "verbs": ["get", "patch"],
        }]),
    );
    let place = restricted(&plane, &space).profile(&live(
        &space,
        "pipelines:\n  down:\n    - deployment.NS/b\n    - statefulset.NS/s\n  up:\n    - deployment.NS/b: {replicas: 2}\n    - statefulset.NS/s: {replicas: 2}\n",
    ));
    for (command, size) in [("down", 0), ("up", 2)] {
        place.run_with([command]).assert_code(0);
        for path in [deployment(&space, "b"), statefulset(&space, "s")] {
            assert_eq!(plane.get(&path).unwrap()["spec"]["replicas"], size);
        }
    }
}

#[test]
fn w13_waiting_for_readiness_needs_get_and_nothing_more() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("w13b");
    plane.apply(&objects::deployment(space.name(), "b", 0));
    let scale = json!({"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["get", "patch"]});
    plane.grant_restricted(space.name(), &json!([scale]));
    let place = restricted(&plane, &space).profile(&live(
        &space,
        "pipelines:\n  up:\n    - deployment.NS/b: {replicas: 1, wait_for_ready: true}\n  down:\n    - deployment.NS/b: {wait_for_termination: true}\n",
    ));
    // S-2.18: the missing right is named.
    let refused = place.run_with(["up"]);
    refused
        .assert_code(3)
        .assert_stderr("may not get deployments in namespace");
    let get = json!({"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]});
    plane.grant_restricted(space.name(), &json!([scale, get]));
    place.run_with(["up"]).assert_code(0);
    wait_ready(&plane, &deployment(&space, "b"), 1);
    let refused = place.run_with(["down"]);
    refused
        .assert_code(3)
        .assert_stderr("may not list pods in namespace");
    let list = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]});
    plane.grant_restricted(space.name(), &json!([scale, get, list]));
    place.run_with(["down"]).assert_code(0);
    assert_eq!(pods(&plane, &space, "b"), Vec::<Value>::new());
}

#[test]
fn w19_throttling_is_obeyed_before_the_real_server_and_counts_against_the_timeout() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("w19");
    plane.apply(&objects::deployment(space.name(), "b", 1));
    let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
    let rule = Rule::new(Fault::retry_after(429, 1))
        .method("PATCH")
        .path("/scale");
    proxy.add(rule.clone().first(2));
    let place = through(&proxy, &space).profile(&live(
        &space,
        "pipelines:\n  down:\n    - deployment.NS/b\n  up:\n    - deployment.NS/b: {replicas: 1, timeout: 2500ms}\n",
    ));
    let outcome = place.run_with(["down"]);
    outcome.assert_code(0);
    assert!(outcome.elapsed >= Duration::from_secs(2));
    assert_eq!(said(&outcome, "WRN", "answered 429, waiting 1s"), 2);
    assert_eq!(
        plane.get(&deployment(&space, "b")).unwrap()["spec"]["replicas"],
        0
    );
    proxy.clear();
    proxy.add(rule);
    let outcome = place.run_with(["up"]);
    outcome.assert_code(3).assert_stderr("step timeout 2.5s");
    assert_eq!(
        plane.get(&deployment(&space, "b")).unwrap()["spec"]["replicas"],
        0
    );
}

#[test]
fn statefulsets_that_do_not_roll_by_themselves_are_judged_by_ready_pods() {
    // S-2.11
    let plane = ControlPlane::attach();
    let space = plane.namespace("ondelete");
    let strategies = [
        ("manual", json!({"type": "OnDelete"})),
        (
            "part",
            json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}),
        ),
    ];
    for (name, strategy) in &strategies {
        plane.apply(
            &objects::statefulset(space.name(), name, 2)
                .with("/spec/updateStrategy", strategy.clone()),
        );
    }
    for (name, _) in &strategies {
        let path = statefulset(&space, name);
        wait_ready(&plane, &path, 2);
        plane.patch(
            &path,
            &json!({"spec": {"template": {"metadata": {"labels": {"new": "1"}}}}}),
        );
    }
    plane.wait_until(&statefulset(&space, "part"), SOON, |found| {
        found["status"]["updatedReplicas"] == 1 && found["status"]["readyReplicas"] == 2
    });
    plane.wait_until(&statefulset(&space, "manual"), SOON, |found| {
        found["status"]["observedGeneration"] == 2
    });
    let outcome = kzero(&plane, &space)
        .profile(&live(
            &space,
            "pipelines:\n  up:\n    - statefulset.NS/manual: {replicas: 3, wait_for_ready: true}\n    - statefulset.NS/part: {replicas: 3, wait_for_ready: true}\n",
        ))
        .run_with(["up"]);
    outcome.assert_code(0);
    for (name, _) in &strategies {
        let found = plane.get(&statefulset(&space, name)).unwrap();
        assert_eq!(found["status"]["readyReplicas"], 3, "{name}");
        assert!(
            found["status"]["updatedReplicas"].as_u64().unwrap_or(0) < 3,
            "old pods stay: {found}"
        );
    }
}

#[test]
fn a_wait_follows_a_size_that_something_else_moves_and_warns_once() {
    // S-2.12
    let plane = ControlPlane::attach();
    let space = plane.namespace("moved");
    plane.apply(&objects::deployment(space.name(), "b", 0).annotated("sim.kzero/ready", "never"));
    let path = deployment(&space, "b");
    let place = kzero(&plane, &space).profile(&live(
        &space,
        "pipelines:\n  up:\n    - deployment.NS/b: {replicas: 1, wait_for_ready: true}\n",
    ));
    let running = place.spawn_with(["up"]);
    running.wait_for_output("wait rollout");
    for size in [3, 2] {
        plane.patch(
            &format!("{path}/scale"),
            &json!({"spec": {"replicas": size}}),
        );
        running.wait_for_output("size moved from 1 to 3");
        plane.wait_until(&path, SOON, |found| found["status"]["replicas"] == size);
    }
    until("two pods", || pods(&plane, &space, "b").len() == 2);
    release_pods(&plane, &space, "b");
    let outcome = running.wait();
    outcome.assert_code(0);
    assert_eq!(said(&outcome, "WRN", "size moved"), 1, "{}", outcome.stdout);
    let found = plane.get(&path).unwrap();
    assert_eq!(found["spec"]["replicas"], 2, "kzero sets it only once");
    assert_eq!(found["status"]["readyReplicas"], 2);
}

#[test]
fn a_quota_is_told_at_once_and_the_wait_goes_on() {
    // S-2.12, S-11.31
    let plane = ControlPlane::attach();
    let space = plane.namespace("quota");
    let quota = json!({
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"namespace": space.name(), "name": "small"},
        "spec": {"hard": {"pods": "1"}},
    });
    plane.apply(&quota);
    let quota = space.path("api/v1", "resourcequotas/small");
    plane.wait_until(&quota, SOON, |found| found["status"]["hard"]["pods"] == "1");
    plane.apply(&objects::deployment(space.name(), "b", 0));
    let place = kzero(&plane, &space).profile(&live(
        &space,
        "pipelines:\n  up:\n    - deployment.NS/b: {replicas: 2, wait_for_ready: true, timeout: 5s}\n",
    ));
    let outcome = place.run_with(["up"]);
    outcome
        .assert_code(3)
        .assert_stderr("step timeout 5s")
        .assert_stderr("1 of 2 ready");
    assert_eq!(
        said(
            &outcome,
            "WRN",
            "/b: cannot create pods: FailedCreate: pods \"b-"
        ),
        1,
        "{}",
        outcome.stdout
    );
    let report = outcome.stdout.split("cause of ").nth(1).unwrap();
    // By the events of the ReplicaSet, however often it tried, and by the condition.
    assert_eq!(
        report.matches("exceeded quota: small").count(),
        2,
        "{report}"
    );
    assert!(report.contains("condition ReplicaFailure=True"), "{report}");

    plane.patch(
        &format!("{}/scale", deployment(&space, "b")),
        &json!({"spec": {"replicas": 0}}),
    );
    until("no pods", || pods(&plane, &space, "b").is_empty());
    plane.wait_until(&quota, SOON, |found| found["status"]["used"]["pods"] == "0");
    let place = place.profile(&live(
        &space,
        "pipelines:\n  up:\n    - deployment.NS/b: {replicas: 2, wait_for_ready: true, timeout: 100s}\n",
    ));
    let running = place.spawn_with(["up"]);
    running.wait_for_output("exceeded quota: small");
    plane.delete(&quota);
    running.wait().assert_code(0);
}

#[test]
fn termination_waits_for_pods_that_still_run_and_only_for_its_own() {
    // S-2.14
    let plane = ControlPlane::attach();
    let space = plane.namespace("slow");
    plane.apply(&objects::deployment(space.name(), "b", 2).annotated("sim.kzero/stop", "2"));
    // Has the labels that the Deployment selects, but another owner.
    plane.apply(&objects::pod(space.name(), "stray").with("/metadata/labels/app", "b"));
    wait_ready(&plane, &deployment(&space, "b"), 2);
    let outcome = kzero(&plane, &space)
        .profile(&live(
            &space,
            "pipelines:\n  down:\n    - deployment.NS/b: {wait_for_termination: true}\n",
        ))
        .run_with(["down"]);
    outcome.assert_code(0);
    let left: Vec<String> = pods(&plane, &space, "b")
        .iter()
        .map(|pod| pod["metadata"]["name"].to_string())
        .collect();
    assert_eq!(left, ["\"stray\""]);
}

#[test]
fn a_pod_that_a_finalizer_keeps_is_named_with_all_that_is_known() {
    // S-2.14
    let plane = ControlPlane::attach();
    let space = plane.namespace("kept");
    plane.apply(&objects::statefulset(space.name(), "s", 1).with(
        "/spec/template/metadata/finalizers",
        json!(["test.kzero/hold"]),
    ));
    wait_ready(&plane, &statefulset(&space, "s"), 1);
    let place = kzero(&plane, &space).profile(&live(
        &space,
        "pipelines:\n  down:\n    - statefulset.NS/s: {wait_for_termination: true, timeout: 3s}\n",
    ));
    let outcome = place.run_with(["down"]);
    let pod = format!("pod {space}/s-0: phase ");
    outcome
        .assert_code(3)
        .assert_stderr("step timeout 3s")
        .assert_stderr(&pod)
        .assert_stderr(", Terminating since 20")
        .assert_stderr(", grace ")
        .assert_stderr(", finalizers test.kzero/hold, node sim-")
        .assert_stderr(" Ready");
    assert!(said(&outcome, "WRN", &pod) >= 1, "{}", outcome.stdout);
    plane.patch(
        &space.path("api/v1", "pods/s-0"),
        &json!({"metadata": {"finalizers": null}}),
    );
    place.run_with(["down"]).assert_code(0);
}

#[test]
fn a_pod_on_a_node_that_is_down_is_named_with_the_nodes_state() {
    // S-2.14
    let plane = ControlPlane::attach();
    let space = plane.namespace("down");
    let node = format!("node-{space}");
    // The taint keeps the pods of other tests away.
    plane.apply(&json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node, "labels": {"only": node}},
        "spec": {"taints": [{"key": "only", "value": "this", "effect": "NoSchedule"}]},
    }));
    plane.apply(
        &objects::deployment(space.name(), "b", 1)
            .annotated("sim.kzero/stop", "100")
            .with("/spec/template/spec/nodeSelector/only", node.as_str())
            .with("/spec/template/spec/terminationGracePeriodSeconds", 100)
            .with(
                "/spec/template/spec/tolerations",
                json!([{"operator": "Exists"}]),
            ),
    );
    wait_ready(&plane, &deployment(&space, "b"), 1);
    let path = format!("/api/v1/nodes/{node}");
    plane.patch(
        &path,
        &json!({"metadata": {"annotations": {"sim.kzero/down": "true"}}}),
    );
    plane.wait_until(&path, SOON, |found| {
        found["status"]["conditions"].as_array().is_some_and(|all| {
            all.iter()
                .any(|c| c["type"] == "Ready" && c["status"] != "True")
        })
    });
    let outcome = kzero(&plane, &space)
        .profile(&live(
            &space,
            "pipelines:\n  down:\n    - deployment.NS/b: {wait_for_termination: true, timeout: 3s}\n",
        ))
        .run_with(["down"]);
    plane.delete(&path);
    outcome
        .assert_code(3)
        .assert_stderr(", grace 100s, node node-")
        .assert_stderr(" NotReady (KubeletNotReady)");
    for pod in pods(&plane, &space, "b") {
        let path = space.path("api/v1", "pods/") + pod["metadata"]["name"].as_str().unwrap();
        let (code, answer) = plane.request("DELETE", &path, &json!({"gracePeriodSeconds": 0}));
        assert!(matches!(code, 200 | 404), "{answer}");
    }
}

#[test]
fn the_cause_report_tells_what_keeps_pods_from_being_ready() {
    // S-11.31
    let plane = ControlPlane::attach();
    let space = plane.namespace("causes");
    let named = |name: &str| objects::deployment(space.name(), name, 0);
    let init = json!([{"name": "prepare", "image": "registry.invalid/prepare:1"}]);
    let rows = [
        (
            "crash",
            named("crash").annotated("sim.kzero/fail", "crash"),
            vec![
                "container main waiting: CrashLoopBackOff",
                "last exit code 1",
                "restarts)",
                "event BackOff pod",
            ],
        ),
        (
            "image",
            named("image").annotated("sim.kzero/fail", "image"),
            vec!["ImagePullBackOff: Back-off pulling image registry.invalid/main:1"],
        ),
        (
            "config",
            named("config").annotated("sim.kzero/fail", "config"),
            vec!["waiting: CreateContainerConfigError: configmap \"simulated\" not found"],
        ),
        (
            "init",
            named("init")
                .annotated("sim.kzero/fail", "init")
                .with("/spec/template/spec/initContainers", init),
            vec![
                "container prepare waiting: CrashLoopBackOff",
                "container main waiting: PodInitializing",
            ],
        ),
        (
            "unready",
            named("unready").annotated("sim.kzero/ready", "never"),
            vec![
                "container main running, not ready",
                "condition Available=False (MinimumReplicasUnavailable)",
            ],
        ),
        (
            "nowhere",
            named("nowhere").with("/spec/template/spec/nodeSelector/none", "such"),
            vec!["unschedulable: 0/", "event FailedScheduling pod"],
        ),
    ];
    let runs: Vec<_> = rows
        .iter()
        .map(|(name, object, _)| {
            plane.apply(object);
            let place = kzero(&plane, &space).profile(&live(
                &space,
                &format!("state: {{name: {name}}}\npipelines:\n  up:\n    - deployment.NS/{name}: {{replicas: 1, wait_for_ready: true, timeout: 6s}}\n"),
            ));
            let running = place.spawn_with(["up"]);
            (place, running)
        })
        .collect();
    for ((name, _, wanted), (_place, running)) in rows.iter().zip(runs) {
        let outcome = running.wait();
        outcome.assert_code(3).assert_stderr("0 of 1 ready");
        let head = format!("cause of deployment.{space}/{name} (up[0]):");
        let report = outcome.stdout.split(&head).nth(1);
        let report = report.unwrap_or_else(|| panic!("{head}: {}", outcome.stdout));
        for text in wanted {
            assert!(report.contains(text), "{name} lacks {text:?}: {report}");
        }
    }
}

#[test]
fn the_cause_report_shows_the_last_log_lines_of_a_crashed_container_masked() {
    // S-11.31, S-4.16
    let plane = ControlPlane::attach();
    let space = plane.namespace("log");
    let words: Vec<String> = (1..=12).map(|n| format!("line {n}")).collect();
    let log = format!("{}\npassword=hunter2", words.join("\n"));
    plane.apply(
        &objects::deployment(space.name(), "b", 1)
            .annotated("sim.kzero/fail", "crash")
            .annotated("sim.kzero/backoff", "0.1")
            .annotated("sim.kzero/log", &log),
    );
    let find = space.path("api/v1", "pods?labelSelector=app%3Db");
    let restarts = "/items/0/status/containerStatuses/0/restartCount";
    let running = "/items/0/status/containerStatuses/0/state/running";
    plane.wait_until(&find, SOON, |found| {
        found.pointer(restarts).and_then(Value::as_u64).unwrap_or(0) > 0
    });
    // It goes on running, unready, so that its logs can be read.
    let pod = pods(&plane, &space, "b")[0]["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    plane.patch(
        &space.path("api/v1", &format!("pods/{pod}")),
        &json!({"metadata": {"annotations": {"sim.kzero/run": "300"}}}),
    );
    plane.wait_until(&find, SOON, |found| found.pointer(running).is_some());
    let outcome = kzero(&plane, &space)
        .profile(&live(
            &space,
            "pipelines:\n  up:\n    - deployment.NS/b: {replicas: 1, wait_for_ready: true, timeout: 2s}\n",
        ))
        .run_with(["up"]);
    outcome.assert_code(3);
    assert_eq!(
        said(&outcome, "WRN", &format!("log of {space}/{pod} main: ")),
        10
    );
    assert_eq!(
        said(&outcome, "WRN", " main: line 4"),
        1,
        "{}",
        outcome.stdout
    );
    assert_eq!(said(&outcome, "WRN", " main: password=***"), 1);
    assert!(!outcome.stdout.contains("hunter2"));
}

/// A webhook at an address where nothing listens, for one namespace.
fn dead_webhook(space: &Namespace<'_>, resource: &str, operation: &str) -> Value {
    let group = if resource == "pods" { "" } else { "apps" };
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": format!("hook-{space}")},
        "webhooks": [{
            "name": "guard.test.kzero",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "timeoutSeconds": 1,
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": space.name()}},
            "rules": [{
                "apiGroups": [group], "apiVersions": ["*"], "operations": [operation],
                "resources": [resource],
            }],
        }],
    })
}

#[test]
fn an_admission_webhook_that_refuses_is_named() {
    // S-11.31
    let plane = ControlPlane::attach();
    let space = plane.namespace("webhook");
    plane.apply(&objects::deployment(space.name(), "b", 0));
    wait_ready(&plane, &deployment(&space, "b"), 0);
    let place = kzero(&plane, &space).profile(&live(
        &space,
        "pipelines:\n  up:\n    - deployment.NS/b: {replicas: 1, wait_for_ready: true, timeout: 4s}\n",
    ));
    let hook = format!(
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hook-{space}"
    );

    // The server takes a moment to know a webhook.
    let try_out = |object: &Value, path: &str, method: &str| {
        until("the webhook is known", || {
            let (code, _) = plane.request(method, &format!("{path}?dryRun=All"), object);
            code >= 400
        });
    };
    plane.apply(&dead_webhook(&space, "pods", "CREATE"));
    let pod = objects::pod(space.name(), "probe");
    try_out(&pod, &space.path("api/v1", "pods"), "POST");
    let outcome = place.run_with(["up"]);
    outcome.assert_code(3).assert_stderr("0 of 1 ready");
    let report = outcome.stdout.split("cause of ").nth(1).unwrap();
    assert!(
        report.contains("failed calling webhook \"guard.test.kzero\""),
        "{report}"
    );
    plane.delete(&hook);

    plane.patch(
        &format!("{}/scale", deployment(&space, "b")),
        &json!({"spec": {"replicas": 0}}),
    );
    plane.apply(&dead_webhook(&space, "deployments/scale", "UPDATE"));
    let scale = format!("{}/scale", deployment(&space, "b"));
    try_out(&json!({"spec": {"replicas": 1}}), &scale, "PATCH");
    let outcome = place.run_with(["up"]);
    plane.delete(&hook);
    outcome.assert_code(3).assert_stderr("guard.test.kzero");
    assert_eq!(
        plane.get(&deployment(&space, "b")).unwrap()["spec"]["replicas"],
        0
    );
}

#[test]
fn a_wait_for_size_0_succeeds_at_once() {
    // S-11.7, S-2.14
    let plane = ControlPlane::attach();
    let space = plane.namespace("zero");
    for object in [
        objects::deployment(space.name(), "w", 0),
        objects::statefulset(space.name(), "w", 0),
    ] {
        plane.apply(&object.with("/spec/template/spec/nodeSelector/none", "such"));
    }
    wait_ready(&plane, &deployment(&space, "w"), 0);
    wait_ready(&plane, &statefulset(&space, "w"), 0);
    let outcome = kzero(&plane, &space)
        .profile(&live(
            &space,
            "pipelines:\n  down:\n    - deployment.NS/w: {wait_for_termination: true}\n    - statefulset.NS/w: {wait_for_termination: true}\n  up:\n    - deployment.NS/w: {replicas: 0, wait_for_ready: true}\n    - statefulset.NS/w: {replicas: 0, wait_for_ready: true}\n",
        ))
        .run_with(["reset"]);
    outcome.assert_code(0);
    assert!(
        outcome.elapsed < Duration::from_secs(20),
        "{:?}",
        outcome.elapsed
    );
}

#[test]
fn an_edit_between_reading_and_writing_a_size_is_not_lost() {
    // S-2.9
    let plane = ControlPlane::attach();
    let space = plane.namespace("edit");
    plane.apply(&objects::deployment(space.name(), "b", 2));
    let path = deployment(&space, "b");
    wait_ready(&plane, &path, 2);
    let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
    let held = proxy.add(
        Rule::new(Fault::Delay(Duration::from_secs(3)))
            .method("PATCH")
            .path("/scale")
            .first(1),
    );
    let place = through(&proxy, &space).profile(&live(
        &space,
        "pipelines:\n  down:\n    - deployment.NS/b\n",
    ));
    let running = place.spawn_with(["--log-level", "debug", "down"]);
    until("the patch is held back", || held.hit() == 1);
    plane.patch(
        &path,
        &json!({
            "metadata": {"annotations": {"edited": "yes"}},
            "spec": {"replicas": 5, "minReadySeconds": 1},
        }),
    );
    let outcome = running.wait();
    outcome.assert_code(0);
    assert_eq!(
        said(&outcome, "DBG", "changed in between"),
        1,
        "{}",
        outcome.stdout
    );
    let asked: Vec<String> = proxy
        .requests()
        .into_iter()
        .filter(|request| request.path.ends_with("/scale"))
        .map(|request| request.method)
        .collect();
    assert_eq!(asked, ["GET", "PATCH", "GET", "PATCH"]);
    let found = plane.get(&path).unwrap();
    assert_eq!(found["spec"]["replicas"], 0);
    assert_eq!(found["spec"]["minReadySeconds"], 1);
    assert_eq!(found["metadata"]["annotations"]["edited"], "yes");
}
