//! `kzero status`, `remember` and `forget` on the API server in memory.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::time::Duration;

use kzero_testkit::objects::{self, Object};
use kzero_testkit::{Kzero, MiniApi, Outcome};
use serde_json::{Value, json};

use crate::{kzero, live};

const PROFILE: &str = "state: {name: night}\npipelines:\n  down: [deployment.a/b, deployment.a/c, deployment.a/d, deployment.a/e, cronjob.a/n]\n  up: [deployment.a/b, deployment.a/c, cronjob.a/n]\n";

fn place(api: &MiniApi) -> Kzero {
    kzero().cluster(api).profile(&live(PROFILE))
}

fn deployment(name: &str) -> String {
    format!("/apis/apps/v1/namespaces/a/deployments/{name}")
}

/// An API server with everything that the profile names.
fn api() -> MiniApi {
    let api = MiniApi::start_blocking();
    for (name, size) in [("b", 3), ("c", 4), ("d", 5), ("e", 6)] {
        api.apply(objects::deployment("a", name, size));
    }
    api.apply(objects::cronjob("a", "n"));
    api
}

fn document(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap()
}

fn said(outcome: &Outcome, level: &str, text: &str) -> usize {
    let lines = outcome.stdout_lines();
    let hits = lines
        .iter()
        .filter(|line| line.level == level && line.text.contains(text));
    hits.count()
}

#[test]
fn status_shows_parked_woken_gone_and_replaced() {
    // S-11.12, S-6.44
    let api = api();
    let place = place(&api);
    let before = place.run_with(["status"]);
    before
        .assert_code(0)
        .assert_stdout("  nothing\nLock: free\nLast run: none of this host\n");
    place.run_with(["down"]).assert_code(0);
    api.patch(&deployment("c"), &json!({"spec": {"replicas": 2}}));
    for name in ["d", "e"] {
        api.delete(&deployment(name));
        api.wait_until_blocking(&deployment(name), Duration::from_secs(10), Value::is_null)
            .unwrap();
    }
    api.apply(objects::deployment("a", "e", 0));
    let asked = api.requests().len();
    let outcome = place.run_with(["status"]);
    outcome.assert_code(0);
    let row = |name: &str| {
        let lines = outcome.stdout.lines();
        let line = lines
            .into_iter()
            .find(|line| line.contains(&format!("a/{name} ")))
            .unwrap();
        let cells: Vec<&str> = line.split_whitespace().take(4).skip(1).collect();
        cells.join(" ")
    };
    assert_eq!(row("b"), "3 0 parked");
    assert_eq!(row("c"), "4 2 woken");
    assert_eq!(row("d"), "5 - gone");
    assert_eq!(row("e"), "6 0 replaced");
    assert_eq!(row("n"), "suspend=false suspend=true parked");
    outcome
        .assert_stdout("Last run: kzero down by ")
        .assert_stdout(": succeeded (run ");
    let paths: Vec<String> = api.requests()[asked..]
        .iter()
        .map(|request| request.path.clone())
        .collect();
    assert_eq!(paths.len(), 5, "version, map, two lists, lease: {paths:?}");

    let found = document(&place.run_with(["status", "-o", "json"]));
    assert_eq!(
        (&found["profile"], &found["namespace"]),
        (&json!("night"), &json!("default"))
    );
    assert_eq!(found["lock"], Value::Null);
    assert_eq!(
        (&found["last_run"]["command"], &found["last_run"]["outcome"]),
        (&json!("down"), &json!("success"))
    );
    let rows = found["parked"].as_array().unwrap();
    let row = rows
        .iter()
        .find(|row| row["ref"] == "deployment.a/b")
        .unwrap();
    assert_eq!(
        (&row["remembered"], &row["live"], &row["state"]),
        (&json!(3), &json!(0), &json!("parked"))
    );
    assert_eq!(row["run_id"], found["last_run"]["run_id"]);
    for key in ["since", "by", "uid"] {
        assert!(row[key].is_string(), "{row}");
    }
    let lines = place.run_with(["status", "--log-format", "json"]);
    assert_eq!(lines.stdout.lines().count(), 1);
    assert_eq!(document(&lines)["parked"], found["parked"]);
}

#[test]
fn status_names_who_works_and_how_the_last_run_ended() {
    let api = api();
    let place = kzero()
        .cluster(&api)
        .profile(&live(
            "pipelines: {down: [custom: ./wait.sh, custom: ./fail.sh]}\n",
        ))
        .script("wait.sh", "echo here >there\nread -r _ <gate\n")
        .script("fail.sh", "exit 1\n");
    let (there, mut gate) = (place.fifo("there"), place.gate("gate"));
    let running = place.spawn_with(["down"]);
    assert_eq!(there.wait(), "here");
    let found = document(&place.run_with(["status", "-o", "json"]));
    let holder = found["lock"]["holder"].as_str().unwrap();
    assert!(holder.contains(&format!("/{}/", running.pid())), "{holder}");
    assert_eq!(
        (&found["lock"]["command"], &found["last_run"]["outcome"]),
        (&json!("down"), &json!("open"))
    );
    assert_eq!(found["lock"]["run_id"], found["last_run"]["run_id"]);
    place
        .run_with(["status"])
        .assert_code(0)
        .assert_stdout("runs kzero down since ")
        .assert_stdout("did not end at down[0]");
    gate.open();
    running.wait().assert_code(3);
    place
        .run_with(["status"])
        .assert_code(0)
        .assert_stdout("Lock: free")
        .assert_stdout("failed at down[1]");
}

#[test]
fn status_without_an_answer_shows_what_this_host_knows_and_ends_with_2() {
    // S-11.12
    let api = api();
    for verb in ["create", "update"] {
        api.deny(verb, "configmaps");
    }
    let place = place(&api);
    place
        .run_with(["down", "--only", "deployment.a/b"])
        .assert_code(0);
    drop(api);
    let outcome = place.run_with(["status"]);
    outcome
        .assert_code(2)
        .assert_stderr("warning: the API server does not answer")
        .assert_stdout("unknown")
        .assert_stdout("Last run: kzero down");
    let row = document(&place.run_with(["status", "-o", "json"]))["parked"][0].clone();
    assert_eq!(
        (&row["remembered"], &row["live"], &row["state"]),
        (&json!(3), &Value::Null, &json!("unknown"))
    );
}

#[test]
fn max_age_ends_with_2_without_a_young_success_of_the_wanted_command() {
    let api = api();
    let place = place(&api);
    let age = |arguments: &[&str]| {
        place.run_with(
            ["status", "--max-age"]
                .into_iter()
                .chain(arguments.iter().copied())
                .collect::<Vec<_>>(),
        )
    };
    age(&["26h"])
        .assert_code(2)
        .assert_stderr("no successful run is known")
        .assert_stderr("hint: ");
    place.run_with(["down"]).assert_code(0);
    age(&["26h"]).assert_code(0);
    age(&["1day 2h", "--of", "down"]).assert_code(0);
    age(&["26h", "--of", "up"])
        .assert_code(2)
        .assert_stderr("no successful up is known");
    // A later failure does not make the success older.
    let broken = place
        .profile(&live(&PROFILE.replace("up: [", "up: [custom: ./no.sh, ")))
        .script("no.sh", "exit 1\n");
    broken.run_with(["up"]).assert_code(3);
    let outcome = broken.run_with(["status", "--max-age", "26h"]);
    outcome.assert_code(0).assert_stdout("failed at up[0]");
    let folder = broken.path(".local/state/kzero/mini/night");
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let year = &jiff::Timestamp::now().to_string()[..4];
        std::fs::write(
            &path,
            text.replace(&format!("\"at\":\"{year}"), "\"at\":\"2020"),
        )
        .unwrap();
    }
    broken
        .run_with(["status", "--max-age", "26h"])
        .assert_code(2)
        .assert_stderr("the last successful run ended ")
        .assert_stderr("wanted one within 1day 2h");
    broken
        .run_with(["status", "--max-age", "soon"])
        .assert_code(1);
    broken.run_with(["status", "--of", "down"]).assert_code(1);
}

#[test]
fn what_a_configmap_says_cannot_forge_lines_of_a_terminal() {
    let api = api();
    let entry = json!({"kind": "deployment", "namespace": "a", "name": "x\u{1b}[2J\nLock: free", "uid": "u", "value": 1,
        "at": "2026-01-01T00:00:00Z", "run": "r\u{202e}", "by": "a\tb"});
    let text = json!({"format": 1, "entries": [entry]}).to_string();
    api.apply(objects::configmap(
        "default",
        "kzero-night",
        &[("memory.json", &text)],
    ));
    let outcome = place(&api).run_with(["status"]);
    outcome
        .assert_code(0)
        .assert_stdout("x\\u{1b}[2J\\nLock: free")
        .assert_stdout("r\\u{202e}");
    assert!(!outcome.stdout.contains(['\u{1b}', '\u{202e}', '\t']));
}

#[test]
fn status_refuses_a_newer_memory_with_2() {
    let api = api();
    api.apply(objects::configmap(
        "default",
        "kzero-night",
        &[("memory.json", r#"{"format":9}"#)],
    ));
    place(&api)
        .run_with(["status"])
        .assert_code(2)
        .assert_stderr("its format is 9");
}

#[test]
fn remember_says_what_up_brings_back_and_forget_takes_it_away() {
    let api = api();
    api.patch(&deployment("b"), &json!({"spec": {"replicas": 0}}));
    api.patch(
        "/apis/batch/v1/namespaces/a/cronjobs/n",
        &json!({"spec": {"suspend": true}}),
    );
    let place = place(&api);
    let outcome = place.run_with(["remember", "--dry-run", "deployment.a/b=7"]);
    outcome
        .assert_code(0)
        .assert_stdout("[dry-run] would remember deployment.a/b: 7 replicas (live 0 replicas)");
    place.run_with(["status"]).assert_stdout("  nothing\n");
    let outcome = place.run_with([
        "remember",
        "deployment.a/b=7",
        "deployment.a/c=9",
        "cronjob.a/n=true",
    ]);
    outcome
        .assert_code(0)
        .assert_stdout("[live] remember cronjob.a/n: suspend=true");
    assert_eq!(said(&outcome, "WRN", "deployment.a/c is not parked"), 1);
    place
        .run_with(["remember", "deployment.a/b=8"])
        .assert_code(0)
        .assert_stdout("(live 0 replicas, was 7 replicas)");
    place
        .run_with(["forget", "--dry-run", "deployment.a/b"])
        .assert_code(0)
        .assert_stdout("would forget deployment.a/b: 8 replicas");
    let outcome = place.run_with(["forget", "deployment.a/c", "deployment.a/d"]);
    outcome
        .assert_code(0)
        .assert_stdout("[live] forget deployment.a/c: 9 replicas");
    assert_eq!(said(&outcome, "WRN", "deployment.a/d is not remembered"), 1);
    place
        .run_with(["up"])
        .assert_code(0)
        .assert_stdout("deployment.a/b -> 8 replicas (remembered)")
        .assert_stdout("deployment.a/c -> 4 replicas (live)");
    assert_eq!(
        api.get("/apis/batch/v1/namespaces/a/cronjobs/n").unwrap()["spec"]["suspend"],
        true
    );
    assert!(
        api.get("/api/v1/namespaces/default/configmaps/kzero-night")
            .is_none()
    );
}

#[test]
fn remember_refuses_what_is_wrong_absent_or_in_use() {
    let api = api();
    let place = place(&api);
    for (arguments, code, told) in [
        (vec!["remember"], 1, "REF=N"),
        (vec!["remember", "deployment.a/b"], 1, "no value"),
        (
            vec!["remember", "deployment.a/b=many"],
            1,
            "expected a size",
        ),
        (vec!["remember", "job.a/b=1"], 1, "nothing to remember"),
        (
            vec!["remember", "deployment.a/none=1"],
            2,
            "there is no such object",
        ),
        (vec!["remember", "--import", "szero"], 1, "--namespace"),
        (
            vec!["remember", "--import", "szero", "-n", "none"],
            2,
            "namespace none: not found",
        ),
        (vec!["forget"], 1, "REF"),
        (vec!["forget", "nonsense"], 1, "nonsense"),
    ] {
        place
            .run_with(arguments)
            .assert_code(code)
            .assert_stderr(told);
    }
    api.apply(json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "kzero-night", "namespace": "default"},
        "spec": {"holderIdentity": "ops@far/7/run", "leaseDurationSeconds": 60,
            "renewTime": format!("{:.6}", jiff::Timestamp::now())},
    }));
    for arguments in [
        ["remember", "deployment.a/b=1"],
        ["forget", "deployment.a/b"],
    ] {
        place
            .run_with(arguments)
            .assert_code(5)
            .assert_stderr("ops@far/7/run");
    }
    assert!(
        api.get("/api/v1/namespaces/default/configmaps/kzero-night")
            .is_none()
    );
}

#[test]
fn sizes_of_szero_are_taken_over_and_what_is_not_is_named() {
    let api = MiniApi::start_blocking();
    let parked = |name: &str, size: u32, text: &str| {
        api.apply(objects::deployment("a", name, size).annotated("szero/replicas", text));
    };
    parked("b", 0, "3");
    parked("c", 2, "4");
    parked("odd", 0, "three");
    api.apply(objects::statefulset("a", "s", 0).annotated("szero/replicas", "0"));
    api.apply(objects::deployment("a", "plain", 0));
    api.apply(objects::daemonset("a", "agent").with(
        "/spec/template/spec/nodeSelector",
        json!({"szero/noschedule": "true"}),
    ));
    let place = place(&api);
    let outcome = place.run_with(["remember", "--import", "szero", "-n", "a"]);
    outcome
        .assert_code(0)
        .assert_stdout("remember deployment.a/b: 3 replicas")
        .assert_stdout("remember statefulset.a/s: 0 replicas")
        .assert_stdout("skipped deployment.a/c: it is not parked, 2 replicas are live")
        .assert_stdout("skipped deployment.a/odd: its annotation says \"three\", which is no size")
        .assert_stdout(
            "skipped DaemonSet a/agent: szero parked it, and kzero has no step for its kind",
        );
    assert!(!outcome.stdout.contains("a/plain"));
    let again = place.run_with(["remember", "--import", "szero", "-n", "a"]);
    again
        .assert_code(0)
        .assert_stdout("3 replicas are remembered already")
        .assert_stdout("nothing to take over from szero");
    place
        .run_with(["remember", "deployment.a/b=5"])
        .assert_code(0);
    let again = place.run_with(["remember", "--import", "szero", "-n", "a"]);
    again
        .assert_code(0)
        .assert_stdout("szero says 3 replicas, kzero remembers 5 replicas");
    let up = place.run_with(["up", "--only", "deployment.a/b"]);
    up.assert_code(0)
        .assert_stdout("-> 5 replicas (remembered)");
}

#[test]
fn sizes_of_kube_downscaler_are_taken_over_and_what_is_not_is_named() {
    const KEY: &str = "downscaler/original-replicas";
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 0).annotated(KEY, "2"));
    api.apply(objects::deployment("a", "low", 1).annotated(KEY, "5"));
    for (name, text) in [("ran", "1"), ("slept", "0"), ("go", "false")] {
        api.apply(
            objects::cronjob("a", name)
                .annotated(KEY, text)
                .with("/spec/suspend", true),
        );
    }
    api.apply(
        objects::job("a", "j")
            .annotated(KEY, "false")
            .annotated("sim.kzero/run", "never"),
    );
    let place = place(&api);
    let outcome = place.run_with(["remember", "--import", "kube-downscaler", "-n", "a"]);
    outcome
        .assert_code(0)
        .assert_stdout("remember deployment.a/b: 2 replicas")
        .assert_stdout("remember cronjob.a/ran: suspend=false")
        .assert_stdout("remember cronjob.a/slept: suspend=true")
        .assert_stdout("remember cronjob.a/go: suspend=false")
        .assert_stdout("skipped deployment.a/low: it is not parked")
        .assert_stdout("skipped Job a/j: kube-downscaler parked it");
    assert_eq!(
        said(&outcome, "WRN", "annotations of kube-downscaler stay"),
        1
    );
}
