//! Memory of sizes and suspend flags on the API server in memory.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::time::Duration;

use kzero_testkit::objects::Object;
use kzero_testkit::{Kzero, MiniApi, Outcome, objects};
use serde_json::{Value, json};

use crate::kzero;

const MAP: &str = "/api/v1/namespaces/ops/configmaps/kzero-night";

/// A live profile that keeps its state in a place of its own.
fn profile(rest: &str) -> String {
    format!(
        "schema_version: \"1.0\"\nrun: {{mode: live}}\nstate: {{namespace: ops, name: night}}\npipelines:\n{rest}"
    )
}

/// A profile with these references in both phases.
fn both(references: &[&str]) -> String {
    let list = |phase: &str| {
        let steps: String = references
            .iter()
            .map(|it| format!("    - {it}\n"))
            .collect();
        format!("  {phase}:\n{steps}")
    };
    profile(&format!("{}{}", list("down"), list("up")))
}

/// An API server with the namespace of the state.
fn api() -> MiniApi {
    let api = MiniApi::start_blocking();
    api.apply(objects::namespace("ops"));
    api
}

fn place(api: &MiniApi, profile: &str) -> Kzero {
    kzero().cluster(api).profile(profile)
}

fn deployment(name: &str) -> String {
    format!("/apis/apps/v1/namespaces/a/deployments/{name}")
}

fn size(api: &MiniApi, path: &str) -> u64 {
    api.get(path).unwrap()["spec"]["replicas"].as_u64().unwrap()
}

/// The entries of the ConfigMap by name.
fn remembered(api: &MiniApi) -> Vec<(String, Value)> {
    let Some(map) = api.get(MAP) else {
        return Vec::new();
    };
    let document: Value =
        serde_json::from_str(map["data"]["memory.json"].as_str().unwrap()).unwrap();
    assert_eq!(document["format"], 1);
    let entries = document["entries"].as_array().unwrap();
    entries
        .iter()
        .map(|entry| {
            (
                entry["name"].as_str().unwrap().to_owned(),
                entry["value"].clone(),
            )
        })
        .collect()
}

fn warned(outcome: &Outcome, text: &str) -> usize {
    let lines = outcome.stdout_lines();
    let hits = lines
        .iter()
        .filter(|line| line.level == "WRN" && line.text.contains(text));
    hits.count()
}

#[test]
fn w01_up_brings_back_the_size_that_down_found_and_says_so() {
    // S-11.2, S-11.3, S-11.6, S-11.11, S-6.9, S-6.38
    let api = api();
    let object = api.apply(objects::deployment("a", "b", 3));
    let place = place(&api, &both(&["deployment.a/b"]));
    place
        .run_with(["down"])
        .assert_code(0)
        .assert_stdout("[live] remembered 1 of 1 objects in configmap ops/kzero-night");
    assert_eq!(size(&api, &deployment("b")), 0);
    let map = api.get(MAP).unwrap();
    assert_eq!(
        map["metadata"]["labels"]["app.kubernetes.io/managed-by"],
        "kzero"
    );
    let document: Value =
        serde_json::from_str(map["data"]["memory.json"].as_str().unwrap()).unwrap();
    let entry = &document["entries"][0];
    assert_eq!(
        (
            &entry["kind"],
            &entry["namespace"],
            &entry["name"],
            &entry["value"]
        ),
        (&json!("deployment"), &json!("a"), &json!("b"), &json!(3))
    );
    assert_eq!(entry["uid"], object["metadata"]["uid"]);
    assert!(
        entry["by"].as_str().unwrap().contains('@') && entry["run"].as_str().unwrap().contains('T')
    );

    let plan = place.run_with(["analyze"]);
    plan.assert_code(0)
        .assert_stdout("  0: deployment.a/b (replicas: 3 (remembered))")
        .assert_stdout("  up 0: deployment.a/b  0 -> 3 (remembered)");
    let plan: Value =
        serde_json::from_str(&place.run_with(["analyze", "-o", "json"]).stdout).unwrap();
    assert_eq!(
        (
            &plan["up"][0]["replicas"],
            &plan["up"][0]["replicas_source"]
        ),
        (&json!(3), &json!("remembered"))
    );
    place.run_with(["up", "--dry-run"]).assert_code(0).assert_stdout("[dry-run] native scale deployment.a/b -> 3 replicas (remembered) (server-side dry-run ok)");
    place
        .run_with(["up"])
        .assert_code(0)
        .assert_stdout("[live] scale deployment.a/b -> 3 replicas (remembered)");
    assert_eq!(size(&api, &deployment("b")), 3);
    assert!(api.get(MAP).is_none(), "what is empty goes");
}

#[test]
fn w03_a_size_that_was_0_stays_0_and_its_wait_ends_at_once() {
    // S-11.4, S-11.7
    let api = api();
    api.apply(objects::deployment("a", "b", 0));
    let place = place(
        &api,
        &both(&["deployment.a/b: {wait_for_ready: true, timeout: 20s}"]),
    );
    place.run_with(["down"]).assert_code(0);
    assert_eq!(remembered(&api), [("b".to_owned(), json!(0))]);
    place
        .run_with(["up"])
        .assert_code(0)
        .assert_stdout("-> 0 replicas (remembered)");
    assert_eq!(size(&api, &deployment("b")), 0);
}

#[test]
fn w15_a_cron_job_that_was_suspended_stays_so() {
    // S-11.8
    let api = api();
    api.apply(objects::cronjob("a", "runs"));
    api.apply(objects::cronjob("a", "rests").with("/spec/suspend", true));
    api.apply(objects::cronjob("a", "new").with("/spec/suspend", true));
    let place = place(&api, &both(&["cronjob.a/runs", "cronjob.a/rests"]));
    place.run_with(["down"]).assert_code(0);
    assert_eq!(
        remembered(&api),
        [
            ("rests".to_owned(), json!(true)),
            ("runs".to_owned(), json!(false))
        ]
    );
    let plan = place.run_with(["analyze"]);
    plan.assert_stdout("cronjob.a/runs (patch cronjob spec.suspend=false)");
    plan.assert_stdout("  1: cronjob.a/rests (patch cronjob spec.suspend=true)");
    let outcome = place.run_with(["up"]);
    outcome.assert_code(0);
    assert_eq!(warned(&outcome, "nothing says"), 0);
    let suspended = |name: &str| {
        api.get(&format!("/apis/batch/v1/namespaces/a/cronjobs/{name}"))
            .unwrap()["spec"]["suspend"]
            .clone()
    };
    assert_eq!(
        (suspended("runs"), suspended("rests")),
        (json!(false), json!(true))
    );

    let outcome = place.profile(&both(&["cronjob.a/new"])).run_with(["up"]);
    outcome.assert_code(0);
    assert_eq!(
        warned(
            &outcome,
            "cronjob.a/new: nothing says whether it was suspended before, resuming it"
        ),
        1
    );
    assert_eq!(suspended("new"), false);
}

#[test]
fn w17_a_size_that_the_manifest_leaves_out_is_1() {
    let api = api();
    let mut object = objects::deployment("a", "b", 1);
    object["spec"].as_object_mut().unwrap().remove("replicas");
    api.apply(object);
    let place = place(&api, &both(&["deployment.a/b"]));
    place.run_with(["down"]).assert_code(0);
    assert_eq!(remembered(&api), [("b".to_owned(), json!(1))]);
    place
        .run_with(["up"])
        .assert_code(0)
        .assert_stdout("-> 1 replicas (remembered)");
}

#[test]
fn w13_rights_to_scale_and_to_one_configmap_are_enough() {
    let api = api();
    api.apply(objects::deployment("a", "b", 2));
    for verb in ["get", "list", "watch", "patch", "update"] {
        api.deny(verb, "deployments");
    }
    api.deny("list", "configmaps");
    let place = place(&api, &both(&["deployment.a/b"]));
    place.run_with(["down"]).assert_code(0);
    assert_eq!(remembered(&api), [("b".to_owned(), json!(2))]);
    place.run_with(["up"]).assert_code(0);
    assert!(!place.path("begun").exists(), "nothing began");
    assert_eq!(size(&api, &deployment("b")), 2);
    assert!(api.get(MAP).is_none());
}

#[test]
fn a_size_that_can_be_recorded_nowhere_is_not_changed() {
    // S-11.1
    let api = api();
    api.apply(objects::deployment("a", "b", 2));
    api.apply(objects::cronjob("a", "n"));
    api.deny("create", "configmaps");
    let first = "  down:\n    - custom: ./first.sh\n    - deployment.a/b\n";
    let place = place(&api, &profile(first))
        .file("taken", "a file")
        .script("first.sh", "echo begun >begun\n");
    let folder = place.path("taken");
    let place = place.env("KZERO_STATE_DIR", folder);
    let outcome = place.run_with(["down"]);
    outcome
        .assert_code(3)
        .assert_stderr("configmap ops/kzero-night cannot be written")
        .assert_stderr("taken")
        .assert_stderr("hint: grant");
    assert_eq!(size(&api, &deployment("b")), 2);
    let outcome = place.profile(&both(&["cronjob.a/n"])).run_with(["down"]);
    outcome.assert_code(3);
    let found = api.get("/apis/batch/v1/namespaces/a/cronjobs/n").unwrap();
    assert_ne!(found["spec"]["suspend"], true);
}

#[test]
fn a_newer_or_broken_document_is_refused_and_left_alone() {
    // S-11.2
    let api = api();
    api.apply(objects::deployment("a", "b", 2));
    api.apply(objects::deployment("a", "c", 0));
    for (document, told) in [
        (
            r#"{"format":2,"entries":{}}"#,
            "its format is 2, this kzero reads 1",
        ),
        (r#"{"format":1,"#, "it is broken"),
    ] {
        api.apply(objects::configmap(
            "ops",
            "kzero-night",
            &[("memory.json", document)],
        ));
        let version = api.get(MAP).unwrap()["metadata"]["resourceVersion"].clone();
        let place = place(&api, &both(&["deployment.a/b"]));
        place
            .run_with(["down"])
            .assert_code(3)
            .assert_stderr(told)
            .assert_stderr("hint: ");
        assert_eq!(size(&api, &deployment("b")), 2);
        let place = place.profile(&both(&["deployment.a/c"]));
        place.run_with(["up"]).assert_code(3).assert_stderr(told);
        assert_eq!(size(&api, &deployment("c")), 0);
        let found = api.get(MAP).unwrap();
        assert_eq!(found["metadata"]["resourceVersion"], version);
        assert_eq!(found["data"]["memory.json"], document);
        let plan = place.run_with(["analyze"]);
        plan.assert_code(0).assert_stderr(told);
    }
}

#[test]
fn a_second_down_keeps_what_is_parked_and_takes_what_was_woken() {
    // S-11.4, S-D.13
    let api = api();
    api.apply(objects::deployment("a", "b", 3));
    api.apply(objects::deployment("a", "c", 4));
    let place = place(&api, &both(&["deployment.a/b", "deployment.a/c"]));
    place.run_with(["down"]).assert_code(0);
    let before = api.get(MAP).unwrap();
    place.run_with(["down"]).assert_code(0);
    assert_eq!(
        api.get(MAP).unwrap(),
        before,
        "nothing moved, nothing is written"
    );
    api.patch(&deployment("c"), &json!({"spec": {"replicas": 7}}));
    place.run_with(["down"]).assert_code(0);
    assert_eq!(
        remembered(&api),
        [("b".to_owned(), json!(3)), ("c".to_owned(), json!(7))]
    );
    place.run_with(["up"]).assert_code(0);
    assert_eq!(
        (size(&api, &deployment("b")), size(&api, &deployment("c"))),
        (3, 7)
    );
}

#[test]
fn an_edit_between_the_first_look_and_the_step_is_remembered() {
    // S-11.5
    let api = api();
    api.apply(objects::deployment("a", "b", 3));
    let place = place(
        &api,
        &profile("  down:\n    - deployment.a/b: {pre: ./wait.sh}\n  up:\n    - deployment.a/b\n"),
    );
    let (reached, mut gate) = (place.fifo("reached"), place.gate("go"));
    let script = format!(
        "echo here >{}\nread -r _ <{}\n",
        reached.path().display(),
        gate.path().display()
    );
    let place = place.script("wait.sh", &script);
    let running = place.spawn_with(["down"]);
    assert_eq!(reached.wait(), "here");
    assert_eq!(
        remembered(&api),
        [("b".to_owned(), json!(3))],
        "it was recorded before the first step"
    );
    api.patch(&deployment("b"), &json!({"spec": {"replicas": 5}}));
    gate.open();
    running.wait().assert_code(0);
    assert_eq!(remembered(&api), [("b".to_owned(), json!(5))]);
    place.run_with(["up"]).assert_code(0);
    assert_eq!(size(&api, &deployment("b")), 5);
}

#[test]
fn an_up_of_something_that_is_up_never_shrinks_it() {
    // S-11.6
    let api = api();
    api.apply(objects::deployment("a", "b", 2));
    let place = place(&api, &both(&["deployment.a/b"]));
    place.run_with(["down"]).assert_code(0);
    api.patch(&deployment("b"), &json!({"spec": {"replicas": 9}}));
    place
        .run_with(["up"])
        .assert_code(0)
        .assert_stdout("-> 9 replicas (live)");
    assert_eq!(size(&api, &deployment("b")), 9);
    assert!(api.get(MAP).is_none());
}

#[test]
fn what_is_remembered_of_an_object_that_was_replaced_is_not_used() {
    // S-11.9
    let api = api();
    api.apply(objects::deployment("a", "b", 3));
    api.apply(objects::deployment("a", "c", 3));
    let place = place(&api, &both(&["deployment.a/b", "deployment.a/c"]));
    place.run_with(["down"]).assert_code(0);
    for name in ["b", "c"] {
        api.delete(&deployment(name));
        api.wait_until_blocking(&deployment(name), Duration::from_secs(10), Value::is_null)
            .unwrap();
    }
    api.apply(objects::deployment("a", "b", 2));
    api.apply(objects::deployment("a", "c", 0));
    let outcome = place.run_with(["up"]);
    outcome.assert_code(0);
    assert_eq!(
        warned(
            &outcome,
            "was replaced since 3 replicas were remembered, which is not used"
        ),
        2
    );
    assert_eq!(
        (size(&api, &deployment("b")), size(&api, &deployment("c"))),
        (2, 1)
    );
}

#[test]
fn an_object_that_was_replaced_by_one_that_is_parked_loses_its_size_aloud() {
    // S-11.4, S-11.9
    let api = api();
    api.apply(objects::deployment("a", "b", 3));
    let place = place(&api, &both(&["deployment.a/b"]));
    place.run_with(["down"]).assert_code(0);
    api.delete(&deployment("b"));
    api.wait_until_blocking(&deployment("b"), Duration::from_secs(10), Value::is_null)
        .unwrap();
    api.apply(objects::deployment("a", "b", 0));
    let outcome = place.run_with(["down"]);
    outcome.assert_code(0);
    assert_eq!(
        warned(
            &outcome,
            "remembered 3 replicas of an object that was replaced since"
        ),
        1
    );
    assert_eq!(remembered(&api), [("b".to_owned(), json!(0))]);
}

#[test]
fn without_the_right_to_configmaps_a_file_remembers() {
    // S-11.10
    let api = api();
    api.apply(objects::deployment("a", "b", 3));
    for verb in ["create", "update", "delete"] {
        api.deny(verb, "configmaps");
    }
    let place = place(&api, &both(&["deployment.a/b"]));
    let state = place.path("state");
    let place = place.env("KZERO_STATE_DIR", state.clone());
    let file = state.join("mini/night/memory.json");
    let outcome = place.run_with(["down"]);
    outcome.assert_code(0);
    assert_eq!(warned(&outcome, "memory of sizes goes to"), 1);
    outcome
        .assert_stdout("forbidden")
        .assert_stdout(&file.display().to_string());
    let mode = |path: &std::path::Path| {
        use std::os::unix::fs::PermissionsExt;
        path.metadata().unwrap().permissions().mode() & 0o777
    };
    assert_eq!(
        (mode(&file), mode(&state.join("mini/night"))),
        (0o600, 0o700)
    );
    // A run that finds it so again says nothing new has to be written.
    assert_eq!(warned(&place.run_with(["down"]), "memory of sizes"), 0);
    place
        .run_with(["up"])
        .assert_code(0)
        .assert_stdout("-> 3 replicas (remembered)");
    assert!(!file.exists());
    assert_eq!(size(&api, &deployment("b")), 3);
}

#[test]
fn the_newer_of_both_places_counts_and_the_configmap_takes_over_what_the_file_has() {
    // S-11.10
    let api = api();
    api.apply(objects::deployment("a", "b", 3));
    api.apply(objects::deployment("a", "c", 4));
    let place = place(&api, &both(&["deployment.a/b", "deployment.a/c"]));
    place
        .run_with(["down", "--only", "deployment.a/b"])
        .assert_code(0);
    api.deny("update", "configmaps");
    api.patch(&deployment("b"), &json!({"spec": {"replicas": 6}}));
    let outcome = place.run_with(["down", "--only", "deployment.a/b"]);
    outcome.assert_code(0);
    assert_eq!(warned(&outcome, "memory of sizes goes to"), 1);
    assert_eq!(remembered(&api), [("b".to_owned(), json!(3))]);
    api.allow_all();
    place.run_with(["down"]).assert_code(0);
    assert_eq!(
        remembered(&api),
        [("b".to_owned(), json!(6)), ("c".to_owned(), json!(4))]
    );
    place.run_with(["up"]).assert_code(0);
    assert_eq!(
        (size(&api, &deployment("b")), size(&api, &deployment("c"))),
        (6, 4)
    );
}

#[test]
fn a_missing_namespace_is_no_reason_to_forget() {
    // S-11.10
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 3));
    let place = place(&api, &both(&["deployment.a/b"]));
    let outcome = place.run_with(["down"]);
    outcome.assert_code(0);
    assert_eq!(warned(&outcome, "memory of sizes goes to"), 1);
    place.run_with(["up"]).assert_code(0);
    assert_eq!(size(&api, &deployment("b")), 3);
}

#[test]
fn a_failed_up_forgets_nothing_and_a_part_of_one_only_its_part() {
    // S-11.11
    let api = api();
    api.apply(objects::deployment("a", "b", 3));
    api.apply(objects::deployment("a", "c", 4));
    let place = place(&api, &profile("  down: [deployment.a/b, deployment.a/c]\n  up:\n    - deployment.a/b\n    - custom: ./x.sh\n    - deployment.a/c\n"))
        .script("x.sh", "exit 1\n");
    place.run_with(["down"]).assert_code(0);
    place.run_with(["up"]).assert_code(3);
    assert_eq!(size(&api, &deployment("b")), 3);
    assert_eq!(remembered(&api).len(), 2);
    place
        .run_with(["up", "--only", "deployment.a/c"])
        .assert_code(0);
    assert_eq!(remembered(&api), [("b".to_owned(), json!(3))]);
    assert_eq!(size(&api, &deployment("c")), 4);
}

#[test]
fn a_resumed_up_forgets_what_the_run_before_it_restored_too() {
    // S-11.11, S-11.24
    let api = api();
    api.apply(objects::deployment("a", "b", 3));
    let place = place(
        &api,
        &profile("  down: [deployment.a/b]\n  up:\n    - deployment.a/b\n    - custom: ./x.sh\n"),
    )
    .script("x.sh", "test -e \"$PWD/ok\"\n");
    place.run_with(["down"]).assert_code(0);
    place.run_with(["up"]).assert_code(3);
    let place = place.file("ok", "");
    place.run_with(["resume"]).assert_code(0);
    assert!(api.get(MAP).is_none());
    assert_eq!(size(&api, &deployment("b")), 3);
}

#[test]
fn reset_brings_back_what_it_found() {
    let api = api();
    api.apply(objects::deployment("a", "b", 3));
    let place = place(&api, &both(&["deployment.a/b"]));
    place
        .run_with(["reset"])
        .assert_code(0)
        .assert_stdout("-> 3 replicas (remembered)");
    assert_eq!(size(&api, &deployment("b")), 3);
    assert!(api.get(MAP).is_none());
}

#[test]
fn dry_run_reads_memory_and_writes_nothing() {
    // S-3.21, S-11.11
    let api = api();
    api.apply(objects::deployment("a", "b", 3));
    let place = place(&api, &both(&["deployment.a/b"]));
    let outcome = place.run_with(["down", "--dry-run", "--log-level", "debug"]);
    outcome
        .assert_code(0)
        .assert_stdout("would remember deployment.a/b: 3 replicas");
    assert!(api.get(MAP).is_none());
    place.run_with(["down"]).assert_code(0);
    let before = api.get(MAP);
    place
        .run_with(["reset", "--dry-run"])
        .assert_code(0)
        .assert_stdout("-> 3 replicas (remembered)");
    assert_eq!(api.get(MAP), before);
    let writes = api.writes();
    assert!(
        !writes
            .iter()
            .any(|request| request.query.contains("dryRun") && request.path.contains("configmaps")),
        "{writes:?}"
    );
}

#[test]
fn what_others_put_into_the_configmap_stays() {
    // S-11.2
    let api = api();
    api.apply(objects::deployment("a", "b", 3));
    api.apply(objects::configmap(
        "ops",
        "kzero-night",
        &[("note", "ours")],
    ));
    let place = place(&api, &both(&["deployment.a/b"]));
    place.run_with(["down"]).assert_code(0);
    assert_eq!(remembered(&api).len(), 1);
    place.run_with(["up"]).assert_code(0);
    let found = api.get(MAP).unwrap();
    assert_eq!(found["data"]["note"], "ours");
    assert_eq!(remembered(&api), []);
}

#[test]
fn an_up_that_finds_nothing_names_other_memories() {
    // S-D.16
    let api = api();
    api.apply(objects::deployment("a", "b", 3));
    let place = place(&api, &both(&["deployment.a/b"]));
    place.run_with(["down"]).assert_code(0);
    let other = both(&["deployment.a/b"]).replace("name: night", "name: day");
    let place = place.profile(&other);
    place
        .run_with(["analyze"])
        .assert_code(0)
        .assert_stderr("other memories are ops/kzero-night");
    let outcome = place.run_with(["up"]);
    outcome.assert_code(0);
    assert_eq!(
        warned(
            &outcome,
            "configmap ops/kzero-day remembers nothing; other memories are ops/kzero-night"
        ),
        1
    );
    assert_eq!(size(&api, &deployment("b")), 1);
}

#[test]
fn shell_execution_remembers_too_and_says_when_it_cannot() {
    // S-11.13
    let api = api();
    api.apply(objects::deployment("a", "b", 3));
    let profile = both(&["deployment.a/b"]).replace("mode: live", "mode: live, execution: shell");
    let place =
        place(&api, &profile).script("bin/kubectl", "#!/bin/sh\necho \"$@\" >>\"$PWD/calls\"\n");
    let path = format!("{}:/usr/bin:/bin", place.path("bin").display());
    let place = place.env("PATH", path);
    place.run_with(["down"]).assert_code(0);
    assert_eq!(remembered(&api), [("b".to_owned(), json!(3))]);
    api.patch(&deployment("b"), &json!({"spec": {"replicas": 0}}));
    place
        .run_with(["up"])
        .assert_code(0)
        .assert_stdout("scale deployment.a/b -> 3 replicas (remembered)");
    assert_eq!(
        place.read("calls"),
        "scale deployment/b -n a --replicas 0\nscale deployment/b -n a --replicas 3\n"
    );
    let broken = place.file("broken.yaml", "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u, namespace: ops}}]\nclusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}]\nusers: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./no-such-plugin, interactiveMode: Never}}}]\n");
    let path = broken.path("broken.yaml");
    let outcome = broken.kubeconfig(path).run_with(["down"]);
    assert_eq!(
        warned(&outcome, "memory of sizes is off, there is no API client"),
        1,
        "{}{}",
        outcome.stdout,
        outcome.stderr
    );
}

#[test]
fn requests_grow_with_the_number_of_objects_and_with_nothing_else() {
    // S-D.13
    let api = api();
    // A status that changes in between would be a conflict, and requests more.
    api.freeze(true);
    let mut counts = Vec::new();
    for number in [20, 60] {
        let names: Vec<String> = (0..number).map(|n| format!("w{number}-{n}")).collect();
        for name in &names {
            api.apply(objects::deployment("a", name, 1));
        }
        let references: Vec<String> = names
            .iter()
            .map(|name| format!("deployment.a/{name}"))
            .collect();
        let references: Vec<&str> = references.iter().map(String::as_str).collect();
        let place = place(&api, &both(&references));
        let mut counted = |command| {
            api.clear_requests();
            place.run_with([command]).assert_code(0);
            // The lock is renewed by the clock.
            let requests = api.requests();
            counts.push(
                requests
                    .iter()
                    .filter(|request| !request.path.contains("/leases"))
                    .count(),
            );
        };
        counted("down");
        counted("up");
    }
    assert_eq!(
        (counts[2] - counts[0], counts[3] - counts[1]),
        (80, 80),
        "{counts:?}"
    );
}

#[test]
fn what_a_configmap_cannot_hold_goes_to_the_file_and_is_said_before() {
    // S-11.2, S-11.10
    let api = api();
    api.apply(objects::deployment("a", "b", 3));
    let filler = "x".repeat((1 << 20) - 100);
    api.apply(objects::configmap(
        "ops",
        "kzero-night",
        &[("filler", &filler)],
    ));
    let place = place(&api, &both(&["deployment.a/b"]));
    let outcome = place.run_with(["down"]);
    outcome.assert_code(0);
    assert_eq!(
        warned(&outcome, "it would have 1024 KiB, a ConfigMap holds 1024"),
        1,
        "{}",
        outcome.stdout
    );
    assert_eq!(size(&api, &deployment("b")), 0);
    place.run_with(["up"]).assert_code(0);
    assert_eq!(size(&api, &deployment("b")), 3);

    place
        .run_with(["analyze"])
        .assert_code(0)
        .assert_stderr("1 objects take 1024 KiB of the 1024 KiB")
        .assert_stderr("hint: split the profile");
}
