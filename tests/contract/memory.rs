//! Memory of sizes against real controllers, real rights and real conflicts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kzero_testkit::objects::{self, Object};
use kzero_testkit::{ControlPlane, Kzero, Namespace};
use serde_json::{Value, json};

use crate::{SOON, kzero, live, restricted, said};

/// So many others write while kzero works.
const EDITORS: usize = 20;

fn deployment(space: &Namespace<'_>, name: &str) -> String {
    space.path("apis/apps/v1", &format!("deployments/{name}"))
}

fn map(space: &Namespace<'_>) -> String {
    space.path("api/v1", "configmaps/kzero-kzero")
}

fn size(plane: &ControlPlane, path: &str) -> u64 {
    plane.get(path).unwrap()["spec"]["replicas"]
        .as_u64()
        .unwrap()
}

/// The values of the ConfigMap by name of their object.
fn remembered(plane: &ControlPlane, space: &Namespace<'_>) -> Vec<(String, Value)> {
    let Some(map) = plane.get(&map(space)) else {
        return Vec::new();
    };
    let text = map["data"]["memory.json"].as_str().unwrap();
    let document: Value = serde_json::from_str(text).unwrap();
    let entries = document["entries"].as_array().unwrap();
    let entry = |entry: &Value| {
        (
            entry["name"].as_str().unwrap().to_owned(),
            entry["value"].clone(),
        )
    };
    entries.iter().map(entry).collect()
}

#[test]
fn w01_w03_w17_sizes_come_back_as_they_were() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("w01");
    plane.apply(&objects::deployment(space.name(), "three", 3));
    plane.apply(&objects::deployment(space.name(), "zero", 0));
    let mut bare = objects::statefulset(space.name(), "bare", 1);
    bare["spec"].as_object_mut().unwrap().remove("replicas");
    plane.apply(&bare);
    let place = kzero(&plane, &space).profile(&live(
        &space,
        "pipelines:\n  down:\n    - deployment.NS/three: {wait_for_termination: true}\n    - deployment.NS/zero\n    - statefulset.NS/bare\n  up:\n    - deployment.NS/three: {wait_for_ready: true}\n    - deployment.NS/zero: {wait_for_ready: true}\n    - statefulset.NS/bare: {wait_for_ready: true}\n",
    ));
    place.run_with(["down"]).assert_code(0);
    let expected =
        [("three", 3), ("zero", 0), ("bare", 1)].map(|(name, size)| (name.to_owned(), json!(size)));
    assert_eq!(remembered(&plane, &space), expected);
    let plan = place.run_with(["analyze"]);
    plan.assert_code(0)
        .assert_stdout("(replicas: 3 (remembered), wait_for_ready: true)");
    place
        .run_with(["up", "--dry-run"])
        .assert_code(0)
        .assert_stdout("-> 3 replicas (remembered) (server-side dry-run ok)");
    place
        .run_with(["up"])
        .assert_code(0)
        .assert_stdout("-> 0 replicas (remembered)");
    let found = plane.get(&deployment(&space, "three")).unwrap();
    assert_eq!(
        (
            &found["spec"]["replicas"],
            &found["status"]["readyReplicas"]
        ),
        (&json!(3), &json!(3))
    );
    assert_eq!(size(&plane, &deployment(&space, "zero")), 0);
    assert!(plane.get(&map(&space)).is_none());
}

#[test]
fn w15_suspend_flags_come_back_as_they_were() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("w15");
    plane.apply(&objects::cronjob(space.name(), "runs").with("/spec/startingDeadlineSeconds", 100));
    plane.apply(&objects::cronjob(space.name(), "rests").with("/spec/suspend", true));
    let place = kzero(&plane, &space).profile(&live(
        &space,
        "pipelines: {down: [cronjob.NS/runs, cronjob.NS/rests], up: [cronjob.NS/runs, cronjob.NS/rests]}\n",
    ));
    let spec = |name: &str| {
        plane
            .get(&space.path("apis/batch/v1", &format!("cronjobs/{name}")))
            .unwrap()["spec"]
            .clone()
    };
    let before = (spec("runs"), spec("rests"));
    place.run_with(["down"]).assert_code(0);
    assert_eq!(
        (&spec("runs")["suspend"], &spec("rests")["suspend"]),
        (&json!(true), &json!(true))
    );
    place.run_with(["up"]).assert_code(0);
    assert_eq!((spec("runs"), spec("rests")), before);
}

#[test]
fn w13_the_documented_rights_are_enough() {
    // docs/parking.md, without what is said to be for comfort
    let plane = ControlPlane::attach();
    let space = plane.namespace("w13m");
    plane.apply(&objects::deployment(space.name(), "b", 3));
    plane.apply(&objects::cronjob(space.name(), "n").with("/spec/suspend", true));
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    let sizes = [
        rule(
            "apps",
            &["deployments/scale", "statefulsets/scale"],
            &["get", "patch"],
        ),
        rule("batch", &["cronjobs"], &["get", "patch"]),
    ];
    let all = ["get", "create", "update", "delete"];
    let state = [
        rule("", &["configmaps"], &all),
        rule("coordination.k8s.io", &["leases"], &all),
    ];
    plane.grant_restricted(space.name(), &json!([&sizes[..], &state[..]].concat()));
    let place = restricted(&plane, &space).profile(&live(
        &space,
        "pipelines: {down: [deployment.NS/b, cronjob.NS/n], up: [deployment.NS/b, cronjob.NS/n]}\n",
    ));
    let outcome = place.run_with(["down"]);
    outcome.assert_code(0);
    assert_eq!(said(&outcome, "WRN", ""), 0, "{}", outcome.stdout);
    let expected = [("b".to_owned(), json!(3)), ("n".to_owned(), json!(true))];
    assert_eq!(remembered(&plane, &space), expected);
    place
        .run_with(["status"])
        .assert_code(0)
        .assert_stdout("parked");
    place.run_with(["up"]).assert_code(0);
    assert_eq!(size(&plane, &deployment(&space, "b")), 3);
    assert!(plane.get(&map(&space)).is_none());

    // Without the right to the ConfigMap: never parked first and then not noted.
    plane.grant_restricted(space.name(), &json!(sizes));
    let outcome = place.run_with(["down"]);
    outcome.assert_code(0);
    assert_eq!(
        said(&outcome, "WRN", "memory of sizes"),
        2,
        "{}",
        outcome.stdout
    );
    assert!(plane.get(&map(&space)).is_none());
    place.run_with(["up"]).assert_code(0);
    assert_eq!(size(&plane, &deployment(&space, "b")), 3);
    let nowhere = place.file("taken", "a file");
    let path = nowhere.path("taken");
    nowhere
        .env("KZERO_STATE_DIR", path)
        .run_with(["down"])
        .assert_code(3)
        .assert_stderr("hint: grant");
    assert_eq!(size(&plane, &deployment(&space, "b")), 3);
}

#[test]
fn a_recreated_object_keeps_its_size() {
    // S-11.9
    let plane = ControlPlane::attach();
    let space = plane.namespace("anew");
    plane.apply(&objects::deployment(space.name(), "b", 3));
    let place = kzero(&plane, &space).profile(&live(
        &space,
        "pipelines: {down: [deployment.NS/b], up: [deployment.NS/b]}\n",
    ));
    place.run_with(["down"]).assert_code(0);
    let path = deployment(&space, "b");
    plane.delete(&path);
    plane.wait_until(&path, SOON, Value::is_null);
    plane.apply(&objects::deployment(space.name(), "b", 2));
    place
        .run_with(["status"])
        .assert_code(0)
        .assert_stdout("replaced");
    let outcome = place.run_with(["up"]);
    outcome.assert_code(0).assert_stdout("-> 2 replicas (live)");
    assert_eq!(
        said(
            &outcome,
            "WRN",
            "was replaced since 3 replicas were remembered"
        ),
        1
    );
    assert_eq!(size(&plane, &path), 2);
}

/// Ends the editors, also when the test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The pause of an editor. Twenty that never rest would leave no moment for a write between theirs.
fn rest() {
    let (_open, never) = std::sync::mpsc::channel::<()>();
    let _ = never.recv_timeout(Duration::from_millis(300));
}

/// Makes a workload larger, one by one, until it is found parked; returns its last size.
fn grow(plane: &ControlPlane, path: &str, stop: &AtomicBool) -> u64 {
    let path = format!("{path}/scale");
    let mut last = 1;
    while !stop.load(Ordering::Relaxed) {
        let (code, mut scale) = plane.request("GET", &path, &Value::Null);
        assert_eq!(code, 200, "{scale}");
        let Some(size) = scale["spec"]["replicas"].as_u64() else {
            return last;
        };
        assert_eq!(size, last, "kzero sets 0 and nothing else");
        scale["spec"]["replicas"] = json!(size + 1);
        match plane.request("PUT", &path, &scale) {
            (200, _) => last = size + 1,
            (409, _) => {}
            (code, answer) => panic!("{code}: {answer}"),
        }
        rest();
    }
    last
}

/// Counts in a key of its own of the ConfigMap, which is made if need be; returns the last number.
fn count(plane: &ControlPlane, space: &Namespace<'_>, key: &str, stop: &AtomicBool) -> u64 {
    let mut last = 0;
    while !stop.load(Ordering::Relaxed) {
        let text = (last + 1).to_string();
        let change = json!({"data": {key: text}});
        match plane.request("PATCH", &map(space), &change) {
            (200, _) => last += 1,
            (404, _) => {
                let (code, answer) = plane.request(
                    "POST",
                    &space.path("api/v1", "configmaps"),
                    &json!({"metadata": {"name": "kzero-kzero"}}),
                );
                assert!(matches!(code, 201 | 409), "{answer}");
            }
            (409, _) => {}
            (code, answer) => panic!("{code}: {answer}"),
        }
        rest();
    }
    last
}

#[test]
fn twenty_editors_of_the_configmap_and_of_the_workloads_lose_nothing() {
    // S-11.2, S-11.5
    let plane = ControlPlane::attach();
    let space = plane.namespace("editors");
    let names: Vec<String> = (0..EDITORS).map(|n| format!("w{n:02}")).collect();
    for name in &names {
        // No pods: twenty workloads that grow would have a thousand.
        plane.apply(&objects::deployment(space.name(), name, 1).with("/spec/paused", true));
    }
    let steps: String = names
        .iter()
        .map(|name| format!("    - deployment.NS/{name}\n"))
        .collect();
    let place: Kzero = kzero(&plane, &space).profile(&live(
        &space,
        &format!(
            "retry: {{attempts: 20, delay: 50ms}}\npipelines:\n  down:\n{steps}  up:\n{steps}"
        ),
    ));
    let stop = AtomicBool::new(false);
    let (sizes, counts, outcome) = std::thread::scope(|scope| {
        let growing: Vec<_> = names
            .iter()
            .map(|name| {
                let path = deployment(&space, name);
                scope.spawn(|| grow(&ControlPlane::attach(), &{ path }, &stop))
            })
            .collect();
        let counting: Vec<_> = names
            .iter()
            .map(|name| {
                let (space, stop) = (&space, &stop);
                scope.spawn(move || count(&ControlPlane::attach(), space, name, stop))
            })
            .collect();
        let ends = Ends(&stop);
        let outcome = place.run_with(["down"]);
        drop(ends);
        let joined = |threads: Vec<std::thread::ScopedJoinHandle<'_, u64>>| -> Vec<u64> {
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        };
        (joined(growing), joined(counting), outcome)
    });
    outcome.assert_code(0);
    let conflicts = sizes.iter().sum::<u64>();
    assert!(
        conflicts > 2 * EDITORS as u64,
        "nobody was in the way: {sizes:?}"
    );
    let expected: Vec<_> = names
        .iter()
        .cloned()
        .zip(sizes.iter().map(|size| json!(size)))
        .collect();
    assert_eq!(remembered(&plane, &space), expected);
    place.run_with(["up"]).assert_code(0);
    for (name, expected) in names.iter().zip(&sizes) {
        assert_eq!(size(&plane, &deployment(&space, name)), *expected, "{name}");
    }
    let found = plane.get(&map(&space)).unwrap();
    for (name, count) in names.iter().zip(&counts) {
        assert_eq!(found["data"][name], count.to_string());
    }
    assert_eq!(remembered(&plane, &space), []);
}
