//! S cases: order, fail-fast, clean-up, dry-run, retry, budgets.

use std::time::Duration;

use kzero_testkit::{Fault, FaultProxy, MiniApi, Rule, objects};

use crate::{dry, kzero, live};

/// A script that notes its label and ends with `code`.
fn note(name: &str, code: i32) -> String {
    format!("echo {name} >>log\nexit {code}\n")
}

#[test]
fn s01_fail_fast_in_order() {
    let api = MiniApi::start_blocking();
    let mut place = kzero().cluster(&api).profile(&live(
        "hooks: {pre-down: ./pre-down.sh, post-down: ./post-down.sh, on-error: ./on-error.sh}\n\
         pipelines:\n  down:\n    - {custom: ./m0.sh, pre: ./p0.sh, post: ./q0.sh}\n    \
         - {custom: ./m1.sh, pre: ./p1.sh, post: ./q1.sh}\n    \
         - {custom: ./m2.sh, pre: ./p2.sh, post: ./q2.sh}\n",
    ));
    for index in 0..3 {
        place = place
            .script(
                &format!("p{index}.sh"),
                &note(&format!("down {index} pre"), 0),
            )
            .script(
                &format!("q{index}.sh"),
                &note(&format!("down {index} post"), 0),
            )
            .script(
                &format!("m{index}.sh"),
                &note(
                    &format!("down {index} main"),
                    if index == 1 { 7 } else { 0 },
                ),
            );
    }
    for hook in ["pre-down", "post-down", "on-error"] {
        place = place.script(&format!("{hook}.sh"), &note(hook, 0));
    }
    let outcome = place.run_with(["down"]);
    outcome
        .assert_code(3)
        .assert_stderr("step down[1]: ")
        .assert_stderr("exited with code 7");
    let log: Vec<String> = place.read("log").lines().map(str::to_owned).collect();
    assert_eq!(
        log,
        [
            "pre-down",
            "down 0 pre",
            "down 0 main",
            "down 0 post",
            "down 1 pre",
            "down 1 main",
            "on-error"
        ]
    );
    outcome.assert_stderr("kzero down failed after ");
}

#[test]
fn s03_reset_stops_when_down_fails() {
    let api = MiniApi::start_blocking();
    let place = kzero()
        .cluster(&api)
        .profile(&live(
            "hooks: {pre-up: ./pre-up.sh, on-error: ./on-error.sh}\npipelines:\n  down:\n    \
             - custom: ./fail.sh\n  up:\n    - custom: ./up.sh\n",
        ))
        .script("fail.sh", &note("fail", 1))
        .script("up.sh", &note("up", 0))
        .script("pre-up.sh", &note("pre-up", 0))
        .script(
            "on-error.sh",
            "echo \"on-error $KZERO_PHASE $KZERO_FAILED_STEP\" >>log\n",
        );
    let outcome = place.run_with(["reset"]);
    outcome
        .assert_code(3)
        .assert_stderr("reset down: step down[0]: ");
    assert_eq!(place.read("log"), "fail\non-error down down[0]\n");
}

#[test]
fn s05_on_error_runs_after_the_run_timeout() {
    let api = MiniApi::start_blocking();
    let place = kzero()
        .cluster(&api)
        .profile(
            "schema_version: \"1.0\"\nrun: {mode: live, timeout: 1s}\nhooks: {on-error: ./e.sh}\n\
             pipelines:\n  down:\n    - custom: ./slow.sh\n",
        )
        .script("slow.sh", "sleep 50\n")
        .script("e.sh", "echo \"$KZERO_ERROR\" >error\n");
    let outcome = place.run_with(["down"]);
    outcome.assert_code(3).assert_stderr("run.timeout 1s");
    assert!(
        outcome.elapsed < Duration::from_secs(10),
        "{:?}",
        outcome.elapsed
    );
    assert!(place.read("error").contains("run.timeout 1s"));
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
}

#[test]
fn s09_an_empty_phase_runs_its_hooks_and_warns() {
    let api = MiniApi::start_blocking();
    let place = kzero()
        .cluster(&api)
        .profile(&live(
            "hooks: {pre-down: ./a.sh, post-down: ./b.sh}\npipelines:\n  up:\n    - custom: ./a.sh\n",
        ))
        .script("a.sh", &note("pre", 0))
        .script("b.sh", &note("post", 0));
    let outcome = place.run_with(["down"]);
    outcome
        .assert_code(0)
        .assert_stdout("pipelines.down has no steps");
    assert_eq!(place.read("log"), "pre\npost\n");
}

#[test]
fn s11_reset_with_the_api_gone_between_the_phases() {
    let api = MiniApi::start_blocking();
    let proxy = FaultProxy::for_mini(&api);
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = proxy.kubeconfig(folder.path());
    let place = kzero()
        .kubeconfig(kubeconfig)
        .profile(&live(
            "hooks: {post-down: ./gone.sh, pre-up: ./pre-up.sh, on-error: ./e.sh}\n\
             pipelines:\n  down: []\n  up:\n    - custom: ./up.sh\n",
        ))
        .script("pre-up.sh", &note("pre-up", 0))
        .script("up.sh", &note("up", 0))
        .script("e.sh", "echo \"on-error $KZERO_PHASE\" >>log\n");
    let there = place.fifo("there");
    let mut go = place.gate("go");
    let place = place.script("gone.sh", "echo here >there\nread -r _ <go\n");
    let running = place.spawn_with(["reset"]);
    assert_eq!(there.wait(), "here");
    proxy.go_away();
    go.open();
    let outcome = running.wait();
    outcome
        .assert_code(3)
        .assert_stderr("reset phase preflight: cannot reach Kubernetes API: ");
    assert_eq!(place.read("log"), "on-error up\n");
}

#[test]
fn a_missing_script_is_found_before_anything_runs() {
    // S-3.6
    let api = MiniApi::start_blocking();
    let profile = "hooks: {pre-down: ./a.sh, on-error: ./gone.sh}\npipelines:\n  down:\n    - custom: ./dir\n";
    let place = kzero()
        .cluster(&api)
        .profile(&live(profile))
        .script("a.sh", &note("ran", 0))
        .file("dir/x", "");
    let outcome = place.run_with(["down"]);
    outcome
        .assert_code(1)
        .assert_stderr("is a directory")
        .assert_stderr("gone.sh: not found");
    outcome.assert_stderr(&place.path("gone.sh").display().to_string());
    assert!(!place.path("log").exists());
    assert!(api.requests().is_empty());
    // In dry-run and analyze the same finding is a warning.
    place
        .run_with(["down", "--dry-run"])
        .assert_code(0)
        .assert_stderr("warning: hook on-error");
    place
        .run_with(["analyze"])
        .assert_code(0)
        .assert_stderr("warning: hook on-error");
}

#[test]
fn a_script_beside_the_profile_is_hinted_at() {
    let api = MiniApi::start_blocking();
    kzero()
        .cluster(&api)
        .file(
            "conf/p.yaml",
            &live("pipelines:\n  down:\n    - custom: ./x.sh\n"),
        )
        .script("conf/x.sh", "true\n")
        .args(["down", "-c", "conf/p.yaml"])
        .run()
        .assert_code(1)
        .assert_stderr("lies beside the profile")
        .assert_stderr("-C conf");
}

#[test]
fn dry_run_changes_nothing_and_keeps_the_order() {
    // S-3.21 to S-3.23
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("app", "web", 2));
    api.apply(objects::cronjob("app", "nightly"));
    let place = kzero()
        .cluster(&api)
        .profile(
            "schema_version: \"1.0\"\nclient: {id: team-a}\nrun: {mode: dry-run}\n\
             hooks: {pre-down: ./x.sh, post-down: ./x.sh}\npipelines:\n  down:\n    \
             - deployment.app/web: {pre: ./x.sh, wait_for_termination: true}\n    \
             - cronjob.app/nightly\n    - pvc.app/data\n    - job.app/j\n    \
             - exec.app/pod: {container: c, command: [sh, -c, 'echo 1']}\n    - custom: ./x.sh\n  up:\n    \
             - deployment.app/web: {replicas: 2, wait_for_ready: true, timeout: 90s}\n    \
             - job.app/j: {manifest: ./j.yaml}\n",
        )
        .script("x.sh", "touch ran\n")
        .file(
            "j.yaml",
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: other}\nspec:\n  template:\n    spec:\n      \
             restartPolicy: Never\n      containers: [{name: c, image: x}]\n",
        );
    api.clear_requests();
    let outcome = place.run_with(["reset"]);
    outcome.assert_code(0);
    let lines: Vec<String> = outcome
        .stdout_texts()
        .into_iter()
        .filter_map(|line| {
            line.strip_prefix("[dry-run] client_id=team-a ")
                .map(str::to_owned)
        })
        .collect();
    assert_eq!(
        lines,
        [
            "preflight: would verify Kubernetes API reachability",
            "hook pre-down: ./x.sh",
            "hook pipeline-down-0-pre: ./x.sh",
            "native scale deployment.app/web -> 0 replicas (server-side dry-run ok)",
            "would wait for termination deployment.app/web (timeout 5m0s)",
            "patch cronjob spec.suspend=true cronjob.app/nightly (server-side dry-run ok)",
            "delete pvc app/data (background propagation, ignore-not-found)",
            "delete job app/j (background propagation, ignore-not-found)",
            "exec app/pod container=c: sh -c echo 1",
            "pipeline down step 5: custom: ./x.sh",
            "hook post-down: ./x.sh",
            "preflight: would verify Kubernetes API reachability",
            "native scale deployment.app/web -> 2 replicas (server-side dry-run ok)",
            "native would wait for rollout deployment.app/web (timeout 1m30s)",
            "create job from manifest ./j.yaml (wait_for_complete=true) (server-side dry-run ok)",
            "would wait for job complete job.app/j (timeout 5m0s)",
        ]
    );
    assert!(!place.path("ran").exists());
    let scale = api
        .get("/apis/apps/v1/namespaces/app/deployments/web")
        .unwrap();
    assert_eq!(scale["spec"]["replicas"], 2);
    assert!(api.get("/apis/batch/v1/namespaces/app/jobs/j").is_none());
    for write in api.writes() {
        assert!(
            write.path.contains("dryRun=All") || write.query.contains("dryRun=All"),
            "{write:?}"
        );
    }
}

#[test]
fn a_dry_run_that_the_server_refuses_is_exit_3() {
    // S-3.22
    let api = MiniApi::start_blocking();
    let outcome = kzero()
        .cluster(&api)
        .profile(&dry(
            "hooks: {on-error: ./e.sh}\npipelines:\n  down:\n    - deployment.a/b\n",
        ))
        .script("e.sh", "touch ran\n")
        .args(["down"])
        .run();
    outcome
        .assert_code(3)
        .assert_stderr("step deployment.a/b (down[0]): deployment a/b: not found");
    outcome.assert_stdout("[dry-run] hook on-error: ./e.sh");
}

#[test]
fn shell_dry_run_makes_no_connection() {
    // S-3.21
    let api = MiniApi::start_blocking();
    let outcome = kzero()
        .cluster(&api)
        .profile(
            "schema_version: \"1.0\"\nrun: {mode: dry-run, execution: shell}\nhelm: {workspace: h}\n\
             pipelines:\n  up:\n    - release.a/r\n    - deployment.a/b: {replicas: 2, wait_for_ready: true}\n",
        )
        .script("h/r.sh", "true\n")
        .args(["up"])
        .run();
    outcome
        .assert_code(0)
        .assert_stdout("[dry-run] pipeline up step 0: release.a/r")
        .assert_stdout("[dry-run] pipeline up step 1: deployment.a/b");
    assert!(api.requests().is_empty(), "{:?}", api.requests());
}

#[test]
fn transient_failures_are_repeated_and_permanent_ones_not() {
    // S-3.14 to S-3.18
    let api = MiniApi::start_blocking();
    let profile = |scope: &str| {
        format!(
            "schema_version: \"1.0\"\nclient: {{id: t}}\nrun: {{mode: live}}\n\
             retry: {{attempts: 3, delay: 1ms, scope: {scope}}}\npipelines:\n  down:\n    \
             - {{custom: ./m.sh, pre: ./p.sh, post: ./q.sh}}\n"
        )
    };
    let place = |scope: &str, main: &str| {
        kzero()
            .cluster(&api)
            .profile(&profile(scope))
            .script("p.sh", &note("pre", 0))
            .script("q.sh", &note("post", 0))
            .script("m.sh", main)
    };
    let flaky = "echo main >>log\nif [ -e second ]; then exit 0; fi\ntouch second\n\
                 echo 'dial tcp: connection refused' >&2\nexit 1\n";
    let step = place("step", flaky);
    let outcome = step.run_with(["down"]);
    outcome.assert_code(0);
    outcome.assert_stdout("[retry] client_id=t pipeline down step index 0 attempt 1/3 failed (");
    assert_eq!(step.read("log"), "pre\nmain\npre\nmain\npost\n");
    let main = place("main", flaky);
    main.run_with(["down"]).assert_code(0);
    assert_eq!(main.read("log"), "pre\nmain\nmain\npost\n");
    for (script, tries) in [
        (
            "echo main >>log\necho 'not found; connection refused'\nexit 1\n",
            1,
        ),
        ("echo main >>log\necho boom\nexit 1\n", 1),
        ("echo main >>log\nkill -9 $$\n", 1),
        ("echo main >>log\nexit 137\n", 3),
        ("echo main >>log\necho 'HTTP 503'\nexit 2\n", 3),
    ] {
        let place = place("main", script);
        let outcome = place.run_with(["down"]);
        outcome.assert_code(3);
        assert_eq!(place.read("log").matches("main").count(), tries, "{script}");
    }
    place("main", "kill -9 $$\n")
        .run_with(["down"])
        .assert_stderr("killed by signal 9");
}

#[test]
fn budgets_are_named() {
    // S-3.9, S-3.11, S-3.12, S-4.15
    let api = MiniApi::start_blocking();
    let place = |rest: &str| {
        kzero()
            .cluster(&api)
            .profile(&format!(
                "schema_version: \"1.0\"\nrun: {{mode: live, operation_timeout: 500ms}}\n{rest}"
            ))
            .script("slow.sh", "sleep 50\n")
            .script("short.sh", "sleep 1\n")
    };
    place("pipelines:\n  down:\n    - custom: ./slow.sh\n")
        .run_with(["down"])
        .assert_code(3)
        .assert_stderr("run.operation_timeout 500ms");
    place("hooks: {pre-down: ./slow.sh}\npipelines: {down: []}\n")
        .run_with(["down"])
        .assert_code(3)
        .assert_stderr("hook pre-down: ")
        .assert_stderr("run.operation_timeout 500ms");
    // A step's timeout replaces the operation timeout, also when it is longer.
    place("pipelines:\n  down:\n    - {custom: ./short.sh, timeout: 30s}\n")
        .run_with(["down"])
        .assert_code(0);
    place("pipelines:\n  down:\n    - {custom: ./slow.sh, timeout: 200ms}\n")
        .run_with(["down"])
        .assert_code(3)
        .assert_stderr("step timeout 200ms");
}

#[test]
fn a_failing_on_error_is_added_and_changes_no_code() {
    // S-3.25
    let api = MiniApi::start_blocking();
    let place = kzero()
        .cluster(&api)
        .profile(&live(
            "hooks: {on-error: ./e.sh}\npipelines:\n  down:\n    - custom: ./m.sh\n",
        ))
        .script("m.sh", "exit 4\n")
        .script("e.sh", "echo ran >>log\nexit 5\n");
    let outcome = place.run_with(["down"]);
    outcome
        .assert_code(3)
        .assert_stderr("exited with code 4")
        .assert_stderr("on-error hook: ");
    assert_eq!(place.read("log"), "ran\n");
}

#[test]
fn parts_of_a_pipeline_keep_their_indexes() {
    // S-11.27, S-11.28
    let api = MiniApi::start_blocking();
    for name in ["a", "b", "c"] {
        api.apply(objects::deployment("x", name, 1));
    }
    let place = kzero().cluster(&api).profile(&live(
        "pipelines:\n  down:\n    - deployment.x/a\n    - deployment.x/b\n    - deployment.x/c\n",
    ));
    let outcome = place.run_with(["down", "--from", "1", "--skip", "deployment.x/c"]);
    outcome
        .assert_code(0)
        .assert_stdout("left out: down[0] deployment.x/a, down[2] deployment.x/c")
        .assert_stdout("step down[1] deployment.x/b done in ");
    let size = |name: &str| {
        let path = format!("/apis/apps/v1/namespaces/x/deployments/{name}");
        api.get(&path).unwrap()["spec"]["replicas"]
            .as_u64()
            .unwrap()
    };
    assert_eq!((size("a"), size("b"), size("c")), (1, 0, 1));
    for arguments in [
        vec!["down", "--from", "3"],
        vec!["down", "--from", "deployment.x/d"],
        vec!["down", "--only", "deployment.x/d"],
        vec![
            "down",
            "--only",
            "deployment.x/a",
            "--skip",
            "deployment.x/a",
        ],
    ] {
        place.run_with(arguments).assert_code(1);
    }
}

#[test]
fn a_closed_stdout_does_not_stop_a_live_run() {
    // S-3.29
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("x", "a", 1));
    let place = kzero()
        .cluster(&api)
        .profile(&live(
            "pipelines:\n  down:\n    - custom: ./chatty.sh\n    - deployment.x/a\n",
        ))
        .script(
            "chatty.sh",
            "i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done\n",
        );
    let program = env!("CARGO_BIN_EXE_kzero");
    #[expect(
        clippy::disallowed_methods,
        reason = "the test needs a pipe whose reader leaves"
    )]
    let status = std::process::Command::new("sh")
        .args([
            "-c",
            &format!("'{program}' down 2>err | head -n 1 >/dev/null"),
        ])
        .current_dir(place.dir())
        .env("KUBECONFIG", api.kubeconfig(place.dir()))
        .status()
        .unwrap();
    assert!(status.success());
    let size = api.get("/apis/apps/v1/namespaces/x/deployments/a").unwrap();
    assert_eq!(size["spec"]["replicas"], 0, "{}", place.read("err"));
}

#[test]
fn the_watchdog_trips_once_the_api_is_away_for_long() {
    // S-3.30
    let api = MiniApi::start_blocking();
    let proxy = FaultProxy::for_mini(&api);
    let folder = tempfile::tempdir().unwrap();
    let place = kzero()
        .kubeconfig(proxy.kubeconfig(folder.path()))
        .profile(
            "schema_version: \"1.0\"\nrun: {mode: live, api_watchdog: {enabled: true, interval: 100ms, fail_after: 500ms}}\n\
             hooks: {on-error: ./e.sh}\npipelines:\n  down:\n    - custom: ./slow.sh\n",
        )
        .script("slow.sh", "echo here >there\nsleep 50\n")
        .script("e.sh", "echo ran >>log\n");
    let there = place.fifo("there");
    let running = place.spawn_with(["down"]);
    assert_eq!(there.wait(), "here");
    proxy.go_away();
    let outcome = running.wait();
    outcome
        .assert_code(3)
        .assert_stderr("api_watchdog: no answer from the API");
    assert_eq!(place.read("log"), "ran\n");
    assert!(place.left_behind().is_empty());
}

#[test]
fn a_watchdog_that_is_answered_403_is_content() {
    // S-3.31
    let api = MiniApi::start_blocking();
    let proxy = FaultProxy::for_mini(&api);
    proxy.add(Rule::new(Fault::status(403)).path("/healthz"));
    let folder = tempfile::tempdir().unwrap();
    kzero()
        .kubeconfig(proxy.kubeconfig(folder.path()))
        .profile(
            "schema_version: \"1.0\"\nrun: {mode: live, api_watchdog: {enabled: true, interval: 50ms, fail_after: 100ms}}\n\
             pipelines:\n  down:\n    - custom: ./slow.sh\n",
        )
        .script("slow.sh", "sleep 1\n")
        .args(["down"])
        .run()
        .assert_code(0);
}

#[test]
fn a_reader_that_stops_reading_does_not_stop_a_live_run() {
    // S-3.29: a pager that nobody scrolls leaves the pipe full.
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("x", "a", 1));
    let place = kzero()
        .cluster(&api)
        .profile(&live(
            "pipelines:\n  down:\n    - custom: ./chatty.sh\n    - deployment.x/a\n",
        ))
        .script(
            "chatty.sh",
            "yes 0123456789012345678901234567890123456789 | head -n 150000\n",
        );
    let kubeconfig = api.kubeconfig(place.dir());
    let errors = std::fs::File::create(place.path("err")).unwrap();
    #[expect(
        clippy::disallowed_methods,
        reason = "the test needs a pipe that nobody reads"
    )]
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_kzero"))
        .arg("down")
        .current_dir(place.dir())
        .env("KUBECONFIG", kubeconfig)
        .stdout(std::process::Stdio::piped())
        .stderr(errors)
        .spawn()
        .unwrap();
    let status = crate::ended(&mut child, Duration::from_secs(50));
    assert!(status.success(), "{}", place.read("err"));
    let size = api.get("/apis/apps/v1/namespaces/x/deployments/a").unwrap();
    assert_eq!(size["spec"]["replicas"], 0);
    assert!(
        place.read("err").contains("kzero down finished in "),
        "{}",
        place.read("err")
    );
}
