//! `kzero release test` beside `helm test`: the same tests, the same records.

use kzero_testkit::{ControlPlane, Kzero, Outcome};

use crate::kzero;
use crate::release_cli::{chart, helm, release};

/// A pod that is a test.
fn pod(name: &str, event: &str, weight: i32, more: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}\n  annotations: {{helm.sh/hook: {event}, helm.sh/hook-weight: \"{weight}\"{more}}}\nspec:\n  restartPolicy: Never\n  containers: [{{name: app, image: example/app}}]\n"
    )
}

/// The output without what clocks say.
fn timeless(text: &str) -> String {
    let is_time = |line: &&str| {
        ["LAST DEPLOYED:", "Last Started:", "Last Completed:"]
            .iter()
            .any(|word| line.starts_with(word))
    };
    let lines: Vec<&str> = text.lines().filter(|line| !is_time(line)).collect();
    lines.join("\n")
}

#[test]
fn tests_are_run_chosen_and_recorded_as_helm_does_it() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("rtest");
    let (good, old) = (
        pod("good", "test", 2, ""),
        pod("old", "test-success", 1, ""),
    );
    let bad = pod("bad", "test", 3, ", sim.kzero/exit: \"1\"");
    let place = chart(
        kzero(&plane, &space).env("TZ", "UTC"),
        &[
            ("good.yaml", &good),
            ("old.yaml", &old),
            ("bad.yaml", &bad),
            ("NOTES.txt", "Hi.\n"),
        ],
    );
    release(&place, &["install", "ours", "./web"]).assert_code(0);
    let (well, said) = helm(&plane, &space, &place, &["install", "theirs", "./web"]);
    assert!(well, "{said}");
    for words in [
        &["test", "ours"][..],
        &["test", "ours", "--logs"],
        &["test", "ours", "--filter", "name=good,name=old", "--logs"],
        &["test", "ours", "--filter", "!name=bad"],
        &["test", "ours", "--filter", "! name=bad", "--hide-notes"],
        &["test", "ours", "--filter", "name=none"],
    ] {
        let ours = release(&place, words);
        let after = shown(&place, "ours");
        let (well, theirs) = helm(&plane, &space, &place, words);
        assert_eq!(ours.code == 0, well, "{words:?}: {theirs}");
        let theirs = theirs.split("Error: ").next().unwrap();
        assert_eq!(timeless(&ours.stdout), timeless(theirs), "{words:?}");
        assert_eq!(after, shown(&place, "ours"), "the record after {words:?}");
    }
    // What either has run the other shows.
    let (well, said) = helm(
        &plane,
        &space,
        &place,
        &["test", "theirs", "--filter", "name=good"],
    );
    assert!(well, "{said}");
    release(&place, &["status", "theirs"])
        .assert_code(0)
        .assert_stdout("TEST SUITE:     good\n")
        .assert_stdout("Phase:          Succeeded\n");
    let ours = release(&place, &["status", "ours"]);
    let (_, theirs) = helm(&plane, &space, &place, &["status", "ours"]);
    assert_eq!(ours.stdout, theirs);
    for words in [&["test", "none"][..], &["test", "No"]] {
        let ours = release(&place, words).assert_code(1).stderr.clone();
        let (well, theirs) = helm(&plane, &space, &place, words);
        assert!(!well);
        let said = ours.split("\nhint: ").next().unwrap().trim_end();
        assert_eq!(said, theirs.trim_end());
    }
}

/// What the record says of the release and its tests, but for times.
fn shown(place: &Kzero, name: &str) -> String {
    timeless(&release(place, &["status", name]).stdout)
}

#[test]
fn a_test_that_fails_is_told_with_its_last_lines_and_leaves_the_release_as_it_was() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("rtestfail");
    let bad = pod(
        "bad",
        "test",
        0,
        ", sim.kzero/exit: \"3\", sim.kzero/log: no answer from the shop, helm.sh/hook-delete-policy: hook-failed",
    );
    let hanging = pod("hanging", "test", 1, ", sim.kzero/run: never");
    let place = chart(
        kzero(&plane, &space),
        &[("bad.yaml", &bad), ("hanging.yaml", &hanging)],
    );
    release(&place, &["install", "web", "./web"]).assert_code(0);
    let outcome: Outcome = release(&place, &["test", "web", "--logs"]);
    outcome
        .assert_code(1)
        .assert_stderr(&format!(
            "Error: Pod {space}/bad is not ready: pod bad failed: "
        ))
        .assert_stderr("no answer from the shop")
        .assert_stderr("\nhint: `kzero release test web --logs`")
        .assert_stdout("TEST SUITE:     bad\n")
        .assert_stdout("Phase:          Failed\n")
        // Its policy has deleted it; what it said was kept.
        .assert_stdout("POD LOGS: bad\n");
    assert!(plane.get(&space.path("api/v1", "pods/bad")).is_none());
    release(
        &place,
        &["test", "web", "--filter", "name=hanging", "--timeout", "1s"],
    )
    .assert_code(1)
    .assert_stderr(&format!("Pod {space}/hanging is not ready: "))
    .assert_stderr("--timeout 1s");
    release(&place, &["status", "web"]).assert_stdout("STATUS: deployed\n");
}

#[test]
fn a_test_with_a_made_up_name_runs_each_time_anew() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("rtestmade");
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: check-\n  annotations: {helm.sh/hook: test, helm.sh/hook-delete-policy: hook-succeeded}\nspec:\n  template:\n    metadata: {annotations: {sim.kzero/log: all is well}}\n    spec: {restartPolicy: Never, containers: [{name: app, image: example/app}]}\n";
    let place = chart(kzero(&plane, &space), &[("job.yaml", job)]);
    release(&place, &["install", "web", "./web"]).assert_code(0);
    for _ in 0..2 {
        release(&place, &["test", "web", "--logs"])
            .assert_code(0)
            .assert_stdout("Phase:          Succeeded\n")
            .assert_stdout("all is well");
    }
    let jobs = plane.list(&space.path("apis/batch/v1", "jobs"));
    assert!(
        jobs.iter()
            .all(|job| job["metadata"]["deletionTimestamp"].is_string()),
        "{jobs:?}"
    );
}
