//! P cases through the binary: exit code, streams, plan lines. The loader's own tests are in
//! `crates/profile`.

use crate::{dry, kzero};

#[test]
fn p01_an_unquoted_schema_version_names_the_quotes() {
    let outcome = kzero()
        .profile("schema_version: 1.0\nrun: {mode: dry-run}\npipelines: {down: []}\n")
        .args(["analyze"])
        .run();
    outcome
        .assert_code(1)
        .assert_stderr("\"1.0\"")
        .assert_stderr("number");
    assert!(
        outcome.stderr.contains("kzero.yaml:1:17:"),
        "{}",
        outcome.stderr
    );
    assert_eq!(
        outcome.stdout, "",
        "nothing is planned from a broken profile"
    );
}

#[test]
fn p03_a_tab_names_its_line() {
    let outcome = kzero()
        .profile("schema_version: \"1.0\"\nrun:\n\tmode: dry-run\npipelines: {down: []}\n")
        .args(["analyze"])
        .run();
    outcome
        .assert_code(1)
        .assert_stderr("kzero.yaml:3:")
        .assert_stderr("tab");
}

#[test]
fn p05_anchors_and_merge_keys_give_the_plan_lines() {
    let outcome = kzero()
        .profile(
            "schema_version: \"1.0\"\nx-d: &d {wait_for_ready: true, timeout: 10m}\n\
             run: {mode: dry-run}\npipelines:\n  up:\n    - deployment.a/b: {<<: *d, replicas: 3}\n    \
             - statefulset.a/db: *d\n",
        )
        .args(["analyze"])
        .run();
    outcome
        .assert_code(0)
        .assert_stdout("  0: deployment.a/b (replicas: 3, wait_for_ready: true, timeout: 10m0s)\n")
        .assert_stdout("  1: statefulset.a/db (wait_for_ready: true, timeout: 10m0s)\n");
}

#[test]
fn p07_durations_follow_gos_grammar() {
    let run = |timeout: &str| {
        let steps = format!("pipelines:\n  up:\n    - deployment.a/b: {{timeout: {timeout}}}\n");
        kzero().profile(&dry(&steps)).args(["analyze"]).run()
    };
    for (text, shown) in [
        ("10m", "10m0s"),
        ("1h30m", "1h30m0s"),
        ("1.5h", "1h30m0s"),
        ("100ms", "100ms"),
        (".5s", "500ms"),
        ("1m1m", "2m0s"),
        ("+3s", "3s"),
        ("1µs", "1µs"),
    ] {
        run(text)
            .assert_code(0)
            .assert_stdout(&format!("(timeout: {shown})"));
    }
    run("\"0\"")
        .assert_code(0)
        .assert_stdout("  0: deployment.a/b\n");
    for text in [
        "\"90\"", "1d", "10min", "\"5 m\"", "1H", "\"\"", "9999999h", "600", "-5m",
    ] {
        run(text).assert_code(1).assert_stderr("timeout");
    }
}

#[test]
fn p09_references_are_checked_at_load() {
    let run = |step: &str| {
        let steps = format!("helm: {{workspace: h}}\npipelines:\n  down:\n    - {step}\n");
        kzero().profile(&dry(&steps)).args(["analyze"]).run()
    };
    run("deployment.a/b").assert_code(0);
    for step in [
        "release.infra/DB",
        "\" deployment.a/b\"",
        "\"deployment.a/b \"",
        "deployment.a/b/c",
        "deployment.a.b/c",
        "deployment/a/b",
        "DEPLOYMENT.a/b",
    ] {
        run(step).assert_code(1).assert_stderr("kzero.yaml:6:");
    }
    run("deploy.a/b")
        .assert_code(1)
        .assert_stderr("statefulset")
        .assert_stderr("cronjob");
    run("daemonset.kube-system/x")
        .assert_code(1)
        .assert_stderr("scale")
        .assert_stderr("custom");
    run("\"custom: ./x.sh\"")
        .assert_code(1)
        .assert_stderr("- custom: ./x.sh");
}

#[test]
fn p11_a_byte_order_mark_and_crlf_change_nothing() {
    let text = dry("pipelines:\n  down:\n    - deployment.a/b\n");
    let plain = kzero().profile(&text).args(["analyze"]).run();
    let odd = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let windows = kzero().profile(&odd).args(["analyze"]).run();
    plain.assert_code(0);
    windows.assert_code(0);
    let plan = |texts: Vec<String>| {
        texts
            .into_iter()
            .filter(|line| line.starts_with("  0"))
            .collect::<Vec<_>>()
    };
    assert_eq!(plan(plain.stdout_texts()), plan(windows.stdout_texts()));
}

#[test]
fn p13_capital_keys_never_load_as_no_steps() {
    kzero()
        .profile(
            "schema_version: \"1.0\"\nRun: {Mode: live}\nPipelines: {Down: [deployment.a/b]}\n",
        )
        .args(["down"])
        .run()
        .assert_code(1)
        .assert_stderr("Run")
        .assert_stderr("Pipelines");
}

#[test]
fn p15_unknown_keys_warn_above_steps_and_fail_inside() {
    let outcome = kzero()
        .profile(
            "schema_version: \"1.0\"\nhook: {}\nrun: {mode: dry-run, worker_concurrency: 4}\n\
             pipelines: {down: []}\n",
        )
        .args(["analyze"])
        .run();
    outcome
        .assert_code(0)
        .assert_stderr("warning: unknown key \"hook\"");
    outcome
        .assert_stderr("did you mean \"hooks\"?")
        .assert_stderr("worker_concurrency");
    assert_eq!(outcome.stderr.matches("unknown key \"hook\"").count(), 1);
    kzero()
        .profile(&dry(
            "pipelines:\n  up:\n    - deployment.a/b: {wait_for_redy: true}\n",
        ))
        .args(["analyze"])
        .run()
        .assert_code(1)
        .assert_stderr("wait_for_redy")
        .assert_stderr("wait_for_ready");
}

#[test]
fn p17_a_release_needs_a_workspace() {
    kzero()
        .profile(&dry("pipelines:\n  down:\n    - release.x/y\n"))
        .args(["analyze"])
        .run()
        .assert_code(1)
        .assert_stderr("helm.workspace");
    kzero()
        .profile(&dry(
            "pipelines: {down: []}\ninfra_probe: {enabled: true, pipeline: {up: [release.x/y]}}\n",
        ))
        .args(["analyze"])
        .run()
        .assert_code(1)
        .assert_stderr("helm.workspace");
}

#[test]
fn p19_the_environment_overrides_and_analyze_says_so() {
    let run = |name: &str, value: &str| {
        kzero()
            .profile(&dry("pipelines: {down: []}\n"))
            .env(name, value)
            .args(["analyze"])
            .run()
    };
    run("KZERO_RUN_MODE", "live")
        .assert_code(0)
        .assert_stdout("Run mode: live")
        .assert_stdout("Override: run.mode from KZERO_RUN_MODE");
    let empty = run("KZERO_RUN_MODE", "");
    empty.assert_code(0).assert_stdout("Run mode: dry-run");
    assert!(!empty.stdout.contains("Override:"));
    run("KZERO_RUN_MODE", "Live")
        .assert_code(1)
        .assert_stderr("KZERO_RUN_MODE");
    run("KZERO_RUN_TIMEOUT", "90")
        .assert_code(1)
        .assert_stderr("KZERO_RUN_TIMEOUT");
}

#[test]
fn a_missing_profile_names_the_absolute_path_and_the_yml_beside_it() {
    // S-1.1
    let bare = kzero();
    let outcome = bare.run_with(["analyze"]);
    outcome
        .assert_code(1)
        .assert_stderr(&bare.path("kzero.yaml").display().to_string());
    kzero()
        .file("kzero.yml", "x: 1\n")
        .args(["analyze"])
        .run()
        .assert_code(1)
        .assert_stderr("kzero.yml");
}

#[test]
fn chdir_comes_before_everything_else() {
    // S-1.2: the -c path too is resolved in the new directory.
    kzero()
        .file(
            "sub/p.yaml",
            &dry("pipelines:\n  down:\n    - custom: ./x.sh\n"),
        )
        .script("sub/x.sh", "true\n")
        .args(["-C", "sub", "-c", "p.yaml", "analyze"])
        .run()
        .assert_code(0)
        .assert_stdout("Config: p.yaml");
    kzero()
        .args(["-C", "nowhere", "analyze"])
        .run()
        .assert_code(1)
        .assert_stderr("nowhere");
}
