//! `analyze`: S07, the order of lines, validation, live state, owners.

use kzero_testkit::objects::Object;
use kzero_testkit::{MiniApi, objects};
use serde_json::{Value, json};

use crate::{dry, kzero, live};

#[test]
fn s07_without_a_cluster_the_whole_plan_is_printed() {
    let outcome = kzero()
        .profile(&live("pipelines:\n  down:\n    - deployment.a/b\n"))
        .args(["analyze"])
        .run();
    outcome
        .assert_code(0)
        .assert_stdout("Kubernetes target: unavailable (")
        .assert_stdout("  0: deployment.a/b\n")
        .assert_stderr("note: cluster validation skipped (")
        .assert_stderr("warning: preflight would fail in live mode (");
}

#[test]
fn s07_with_a_cluster_a_missing_deployment_fails() {
    let api = MiniApi::start_blocking();
    let outcome = kzero()
        .profile(&live("pipelines:\n  down:\n    - deployment.a/b\n"))
        .cluster(&api)
        .args(["analyze"])
        .run();
    outcome
        .assert_code(2)
        .assert_stdout("  FAIL  deployment.a/b (deployment a/b: not found)")
        .assert_stderr("cluster validation failed:\n  - deployment.a/b: deployment a/b: not found");
}

#[test]
fn an_api_that_is_away_gives_the_plan_and_exit_0() {
    // S-6.12
    let api = MiniApi::start_blocking();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = api.kubeconfig(folder.path());
    drop(api);
    let outcome = kzero()
        .profile(&live("pipelines:\n  down:\n    - deployment.a/b\n"))
        .kubeconfig(kubeconfig)
        .args(["analyze"])
        .run();
    outcome
        .assert_code(0)
        .assert_stdout("  api_server: ")
        .assert_stdout("  0: deployment.a/b\n")
        .assert_stderr("cluster validation skipped");
}

#[test]
fn lines_come_in_the_order_of_the_rule() {
    // S-6.6
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("app", "consumer", 3));
    api.apply(objects::cronjob("app", "nightly"));
    let profile = "schema_version: \"1.0\"\nclient: {id: team-a}\nhelm: {workspace: ./helm-assets}\n\
        run: {mode: live, execution: shell, timeout: 25m}\nretry: {attempts: 3, delay: 8s}\n\
        hooks: {pre-down: ./hooks/pre-down.sh, on-error: ./hooks/on-error.sh}\n\
        pipelines:\n  down:\n    - deployment.app/consumer: {post: ./hooks/drain.sh}\n    \
        - cronjob.app/nightly\n    - release.platform/pg\n  up:\n    \
        - release.platform/pg: {post: ./hooks/w.sh, timeout: 10m}\n    \
        - deployment.app/consumer: {replicas: 3, wait_for_ready: true}\n    \
        - pvc.app/data\n    - exec.app/pod: {container: c, command: [echo, hi]}\n    \
        - job.app/j: {manifest: ./j.yaml}\n    - cronjob.app/nightly\n    - custom: ./x.sh\n";
    let outcome = kzero()
        .profile(profile)
        .cluster(&api)
        .args(["analyze", "--log-level", "debug"])
        .run();
    let texts = outcome.stdout_texts();
    let expected = [
        "Config: kzero.yaml",
        "Schema: 1.0",
        "Run mode: live",
        "Run color: auto",
        "Run execution: shell",
        "Client id: team-a",
        "Run timeout: 25m0s",
        "Retry: attempts=3, delay=8s (live: exponential backoff on transient errors)",
        "Helm workspace: ./helm-assets",
        "Kubernetes target:",
        "",
        "Hook pre-down: ./hooks/pre-down.sh",
        "Hook on-error: ./hooks/on-error.sh",
        "Pipeline steps: down=3 up=7",
        "[down]",
        "  0: deployment.app/consumer (post: ./hooks/drain.sh)",
        "  1: cronjob.app/nightly (patch cronjob spec.suspend=true)",
        "  2: release.platform/pg (helm uninstall --wait --ignore-not-found)",
        "[up]",
        "  0: release.platform/pg (script: helm-assets/pg.sh, post: ./hooks/w.sh, timeout: 10m0s)",
        "  1: deployment.app/consumer (replicas: 3, wait_for_ready: true)",
        "  2: pvc.app/data (delete pvc (background propagation, ignore-not-found))",
        "  3: exec.app/pod (exec app/pod container=c: echo hi)",
        "  4: job.app/j (create job from manifest ./j.yaml (wait_for_complete=true))",
        "  5: cronjob.app/nightly (patch cronjob spec.suspend=false)",
        "  6: custom: ./x.sh",
        "",
        "Cluster validation:",
        "  OK  deployment.app/consumer",
        "  OK  cronjob.app/nightly",
        "  OK  pvc.app/data (absent)",
        "  FAIL  exec.app/pod (pod app/pod: not found)",
        "  OK  job.app/j (absent)",
        "",
        "Live state:",
        "  down 0: deployment.app/consumer  3 -> 0",
    ];
    let mut rest = texts.iter();
    for line in expected {
        assert!(
            rest.any(|text| text == line),
            "{line:?} is missing or out of order in\n{}",
            texts.join("\n")
        );
    }
    outcome.assert_code(2);
    outcome.assert_stderr("hooks/pre-down.sh: not found");
    outcome.assert_stderr("release script of up[0] helm-assets/pg.sh: not found");
}

#[test]
fn the_json_document_is_the_only_thing_on_stdout() {
    // S-6.3, S-6.14
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 3));
    let outcome = kzero()
        .profile(&live(
            "pipelines:\n  down:\n    - deployment.a/b\n    - custom: ./x.sh\n",
        ))
        .script("x.sh", "true\n")
        .cluster(&api)
        .args(["analyze", "-o", "json"])
        .run();
    outcome.assert_code(0);
    let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
    for key in [
        "config",
        "schema_version",
        "run",
        "overrides",
        "target",
        "hooks",
        "down",
        "up",
        "validation",
        "live",
        "warnings",
    ] {
        assert!(!document[key].is_null(), "{key}");
    }
    assert_eq!(document["down"][0]["ref"], "deployment.a/b");
    assert_eq!(document["down"][1]["custom"], "./x.sh");
    assert_eq!(document["live"][0]["live"], "3");
    assert_eq!(document["validation"][0]["ok"], true);
}

#[test]
fn owners_that_undo_a_park_are_named() {
    // S-6.13
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 1).with(
        "/metadata/annotations",
        json!({"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:a/b"}),
    ));
    let outcome = kzero()
        .profile(&live("pipelines:\n  down:\n    - deployment.a/b\n"))
        .cluster(&api)
        .args(["analyze"])
        .run();
    outcome
        .assert_code(0)
        .assert_stderr("Argo CD")
        .assert_stderr("deployment.a/b");
}

#[test]
fn an_object_of_a_release_need_not_be_there() {
    // S-D.15
    let api = MiniApi::start_blocking();
    api.apply(objects::namespace("a"));
    let profile =
        "helm: {workspace: h}\npipelines:\n  up:\n    - release.a/r\n    - deployment.a/b\n";
    let analyzed = kzero()
        .profile(&dry(profile))
        .file("h/r.yaml", "chart: ./c\n")
        .file(
            "h/c/Chart.yaml",
            "apiVersion: v2\nname: c\nversion: 0.1.0\n",
        )
        .cluster(&api)
        .args(["analyze"])
        .run();
    analyzed
        .assert_code(0)
        .assert_stdout("  OK  deployment.a/b (comes with up[0])");
    kzero()
        .profile(&dry(profile))
        .file("h/r.yaml", "chart: ./c\n")
        .file(
            "h/c/Chart.yaml",
            "apiVersion: v2\nname: c\nversion: 0.1.0\n",
        )
        .cluster(&api)
        .args(["up"])
        .run()
        .assert_code(0)
        .assert_stdout("deployment.a/b comes with up[0]");
}

#[test]
fn analyze_never_writes_and_never_runs_a_script() {
    // S-6.5
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 1));
    api.clear_requests();
    let place = kzero()
        .profile(&live(
            "hooks: {pre-down: ./x.sh}\npipelines:\n  down:\n    - deployment.a/b: {pre: ./x.sh}\n",
        ))
        .script("x.sh", "touch ran\n")
        .cluster(&api)
        .args(["analyze"]);
    place.run().assert_code(0);
    assert!(api.writes().is_empty());
    assert!(!place.path("ran").exists());
}
