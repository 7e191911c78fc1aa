//! Every other kind of step, and the commands that only read, on the real API.

use std::time::Duration;

use kzero_testkit::objects::{self, Object};
use kzero_testkit::{ControlPlane, FaultProxy, Kzero, Namespace, Outcome, Signal};
use serde_json::{Value, json};

use crate::{SOON, kzero, live, restricted, said, through, until};

/// One run of one command.
fn once(plane: &ControlPlane, space: &Namespace<'_>, command: &str, rest: &str) -> Outcome {
    kzero(plane, space)
        .profile(&live(space, rest))
        .run_with([command])
}

fn wait_running(plane: &ControlPlane, path: &str) {
    plane.wait_until(path, SOON, |found| found["status"]["phase"] == "Running");
}

// --- cronjob --------------------------------------------------------------------

#[test]
fn a_cronjob_step_changes_spec_suspend_and_nothing_else() {
    // S-11.8, W15
    let plane = ControlPlane::attach();
    let space = plane.namespace("cron");
    plane.apply(
        &objects::cronjob(space.name(), "nightly")
            .annotated("team", "a")
            .with("/spec/startingDeadlineSeconds", 7)
            .with("/spec/concurrencyPolicy", "Forbid")
            .with("/spec/timeZone", "Europe/Vienna"),
    );
    let path = space.path("apis/batch/v1", "cronjobs/nightly");
    let before = plane.get(&path).unwrap();
    let profile =
        "pipelines:\n  down:\n    - cronjob.NS/nightly\n  up:\n    - cronjob.NS/nightly\n";
    for (command, suspend) in [("down", true), ("down", true), ("up", false)] {
        once(&plane, &space, command, profile).assert_code(0);
        let mut after = plane.get(&path).unwrap();
        assert_eq!(after["spec"]["suspend"], suspend, "{command}");
        after["spec"]["suspend"] = before["spec"]["suspend"].clone();
        assert_eq!(after["spec"], before["spec"], "{command}");
        assert_eq!(
            after["metadata"]["annotations"],
            before["metadata"]["annotations"]
        );
        assert_eq!(after["metadata"]["labels"], before["metadata"]["labels"]);
    }
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    let woken = plane.get(&path).unwrap();
    once(&plane, &space, "up", profile).assert_code(0);
    assert_eq!(
        version(&plane.get(&path).unwrap()),
        version(&woken),
        "nothing is written where nothing changes"
    );
}

#[test]
fn a_cronjob_that_is_absent_fails_the_step() {
    // S-2.18
    let plane = ControlPlane::attach();
    let space = plane.namespace("nocron");
    for (reference, text) in [
        ("cronjob.NS/none", "/none: not found"),
        ("cronjob.NS-none/none", "/none: not found"),
        ("deployment.NS/none", "/none: not found"),
        ("statefulset.NS-none/none", "/none: not found"),
    ] {
        let profile =
            format!("retry: {{attempts: 3, delay: 1ms}}\npipelines:\n  down:\n    - {reference}\n");
        let outcome = once(&plane, &space, "down", &profile);
        outcome.assert_code(3).assert_stderr(text);
        assert!(!outcome.stdout.contains("[retry]"), "{}", outcome.stdout);
    }
}

// --- pvc ------------------------------------------------------------------------

#[test]
fn a_claim_is_deleted_whether_bound_in_use_or_absent() {
    // S-2.15
    let plane = ControlPlane::attach();
    let space = plane.namespace("pvc");
    for name in ["free", "used"] {
        plane.apply(&objects::pvc(space.name(), name));
    }
    let user = objects::pod(space.name(), "user").with(
        "/spec/volumes",
        json!([{"name": "data", "persistentVolumeClaim": {"claimName": "used"}}]),
    );
    plane.apply(&user);
    let claim = |name: &str| space.path("api/v1", &format!("persistentvolumeclaims/{name}"));
    for name in ["free", "used"] {
        plane.wait_until(&claim(name), SOON, |found| {
            found["status"]["phase"] == "Bound"
        });
    }
    wait_running(&plane, &space.path("api/v1", "pods/user"));
    let profile =
        "pipelines:\n  down:\n    - pvc.NS/free\n    - pvc.NS/used\n    - pvc.NS/absent\n";
    let outcome = once(&plane, &space, "down", profile);
    outcome.assert_code(0);
    let held = format!("pvc {space}/used stays until these pods let go of it: {space}/user");
    assert_eq!(said(&outcome, "WRN", &held), 1, "{}", outcome.stdout);
    assert_eq!(said(&outcome, "WRN", "pvc "), 1, "{}", outcome.stdout);
    assert_eq!(said(&outcome, "INF", "/absent is absent, nothing to do"), 1);
    plane.wait_until(&claim("free"), SOON, Value::is_null);
    let kept = plane.get(&claim("used")).unwrap();
    assert!(kept["metadata"]["deletionTimestamp"].is_string(), "{kept}");
    // Again: the claim that is on its way is still told, and still no failure.
    let again = once(&plane, &space, "down", profile);
    again.assert_code(0);
    assert_eq!(said(&again, "WRN", &held), 1, "{}", again.stdout);
    plane.delete(&space.path("api/v1", "pods/user"));
    plane.wait_until(&claim("used"), SOON, Value::is_null);
}

// --- exec -----------------------------------------------------------------------

/// A pod that runs, and what exec steps do in it.
struct Shell<'a> {
    plane: &'a ControlPlane,
    space: &'a Namespace<'a>,
}

impl<'a> Shell<'a> {
    fn new(plane: &'a ControlPlane, space: &'a Namespace<'a>) -> Self {
        plane.apply(&objects::pod(space.name(), "p"));
        wait_running(plane, &space.path("api/v1", "pods/p"));
        Self { plane, space }
    }

    fn place(&self, options: &str) -> Kzero {
        let step = format!("exec.NS/p: {{container: main, {options}}}");
        kzero(self.plane, self.space).profile(&live(
            self.space,
            &format!("retry: {{attempts: 3, delay: 1ms}}\npipelines:\n  down:\n    - {step}\n"),
        ))
    }

    fn run(&self, options: &str) -> Outcome {
        self.place(options).run_with(["down"])
    }
}

#[test]
fn exec_streams_both_outputs_masked_and_feeds_its_input() {
    // S-2.16, S-4.16
    let plane = ControlPlane::attach();
    let space = plane.namespace("exec");
    let shell = Shell::new(&plane, &space);
    let outcome = shell.run(
        "command: [sh, -c, 'echo to out; echo to err >&2; echo password=hunter2; printf unended']",
    );
    outcome.assert_code(0);
    for text in ["to out", "to err", "password=***", "unended"] {
        let lines = outcome.stdout_texts();
        assert!(
            lines.iter().any(|line| line == text),
            "{text}: {}",
            outcome.stdout
        );
    }
    assert!(!outcome.stdout.contains("- [INF] - hunter2"));
    let outcome = shell.run("command: [cat], stdin: \"fed ä\\nnot ended\"");
    outcome
        .assert_code(0)
        .assert_stdout("- fed ä\n")
        .assert_stdout("- not ended\n");
    let outcome = shell.run("command: [sh, -c, 'read -r x || echo no input']");
    outcome.assert_code(0).assert_stdout("- no input\n");
    // No shell between the profile and the command.
    let outcome = shell.run("command: [printf, '%s|', '$HOME', 'a b', '*', ';', 'ä&=?#']");
    outcome
        .assert_code(0)
        .assert_stdout("- $HOME|a b|*|;|ä&=?#|\n");
}

#[test]
fn exec_failures_say_what_failed_and_are_not_repeated() {
    // S-2.16
    let plane = ControlPlane::attach();
    let space = plane.namespace("execbad");
    let shell = Shell::new(&plane, &space);
    for (options, text) in [
        (
            "command: [sh, -c, 'echo the reason; exit 7']",
            "command exited with code 7: the reason",
        ),
        (
            "command: [sh, -c, 'exit 255']",
            "command exited with code 255",
        ),
        ("command: [no-such-program]", "no-such-program"),
    ] {
        let outcome = shell.run(options);
        outcome.assert_code(3).assert_stderr(text);
        assert!(!outcome.stdout.contains("[retry]"), "{}", outcome.stdout);
    }
    for (step, text) in [
        ("exec.NS/p: {container: other, command: ['true']}", "other"),
        (
            "exec.NS/none: {container: main, command: ['true']}",
            "/none container main: not found",
        ),
        (
            "exec.NS-none/p: {container: main, command: ['true']}",
            "not found",
        ),
    ] {
        let profile =
            format!("retry: {{attempts: 3, delay: 1ms}}\npipelines:\n  down:\n    - {step}\n");
        let outcome = once(&plane, &space, "down", &profile);
        outcome.assert_code(3).assert_stderr(text);
        assert!(!outcome.stdout.contains("[retry]"), "{}", outcome.stdout);
    }
}

#[test]
fn exec_passes_on_much_output_whole() {
    // S-4.12
    let plane = ControlPlane::attach();
    let space = plane.namespace("execbig");
    let shell = Shell::new(&plane, &space);
    let outcome = shell.run("command: [seq, '1', '100000']");
    outcome.assert_code(0);
    let numbers: Vec<u32> = outcome
        .stdout_texts()
        .iter()
        .filter_map(|line| line.parse().ok())
        .collect();
    assert!(numbers.iter().copied().eq(1..=100_000), "{}", numbers.len());
    // One line of 3 MiB comes in pieces, none of it lost.
    let outcome = shell.run("command: [sh, -c, 'head -c 3145728 /dev/zero | tr \"\\\\0\" x']");
    outcome.assert_code(0);
    let count = outcome.stdout.matches("xxxx").count() * 4;
    assert!((3_145_000..=3_145_728).contains(&count), "{count}");
}

#[test]
fn exec_that_never_stops_writing_is_still_timed_out() {
    // S-3.9: the clock must not wait for a gap in the output.
    let plane = ControlPlane::attach();
    let space = plane.namespace("execflood");
    let shell = Shell::new(&plane, &space);
    let outcome = shell.run("command: ['yes'], timeout: 2s");
    outcome.assert_code(3).assert_stderr("step timeout 2s");
    assert!(
        outcome.elapsed < Duration::from_secs(12),
        "{:?}",
        outcome.elapsed
    );
}

#[test]
fn exec_that_hangs_ends_with_the_steps_timeout_and_its_output_is_told() {
    // S-3.9
    let plane = ControlPlane::attach();
    let space = plane.namespace("execslow");
    let shell = Shell::new(&plane, &space);
    let place = kzero(&plane, &space).profile(&live(
        &space,
        "pipelines:\n  down:\n    - exec.NS/p: {container: main, command: [sh, -c, 'printf begun; sleep 100'], timeout: 2s}\n",
    ));
    let outcome = place.run_with(["down"]);
    outcome
        .assert_code(3)
        .assert_stderr("step timeout 2s")
        .assert_stdout("- begun\n");
    assert!(outcome.elapsed < Duration::from_secs(15));

    let place = shell.place(r"command: [sh, -c, 'printf running\\nhalf; sleep 100']");
    let running = place.spawn_with(["down"]);
    running.wait_for_output("- running\n");
    running.signal(Signal::TERM);
    let outcome = running.wait();
    outcome
        .assert_code(3)
        .assert_stdout("- half\n")
        .assert_stdout("pipeline interrupted (signal received); last step exec.");
    assert!(outcome.elapsed < Duration::from_secs(15));
}

// --- job ------------------------------------------------------------------------

/// A place with `j.yaml` and an up list of one Job step `NS/j`.
fn job_place(
    plane: &ControlPlane,
    space: &Namespace<'_>,
    manifest: &Value,
    options: &str,
) -> Kzero {
    kzero(plane, space)
        .file("j.yaml", &manifest.to_string())
        .profile(&live(
            space,
            &format!("pipelines:\n  up:\n    - job.NS/j: {{manifest: ./j.yaml{options}}}\n"),
        ))
}

fn job_path(space: &Namespace<'_>) -> String {
    space.path("apis/batch/v1", "jobs/j")
}

#[test]
fn a_job_is_created_under_the_steps_name_and_waited_for() {
    // S-2.17
    let plane = ControlPlane::attach();
    let space = plane.namespace("job");
    let manifest = json!({
        "apiVersion": "v1",
        "kind": "List",
        "items": [objects::job("elsewhere", "other")],
    });
    let place = job_place(&plane, &space, &manifest, "");
    place.run_with(["up"]).assert_code(0);
    let job = plane.get(&job_path(&space)).unwrap();
    assert_eq!(job["status"]["succeeded"], 1);
    // A finished one of an earlier run is replaced (S-D.14).
    let outcome = place.run_with(["up"]);
    outcome
        .assert_code(0)
        .assert_stdout("replacing the one of an earlier run");
    let second = plane.get(&job_path(&space)).unwrap();
    assert_ne!(second["metadata"]["uid"], job["metadata"]["uid"]);
    assert_eq!(second["status"]["succeeded"], 1);
    // What a server added to a Job does not keep it from being a manifest.
    plane.delete(&job_path(&space));
    plane.wait_until(&job_path(&space), SOON, Value::is_null);
    let place = job_place(&plane, &space, &second, "");
    place.run_with(["up"]).assert_code(0);
    let third = plane.get(&job_path(&space)).unwrap();
    assert_eq!(third["status"]["succeeded"], 1);
    assert_ne!(third["metadata"]["uid"], second["metadata"]["uid"]);
    // And down takes it away, with its pods.
    let down = place.profile(&live(&space, "pipelines:\n  down:\n    - job.NS/j\n"));
    down.run_with(["down"]).assert_code(0);
    plane.wait_until(&job_path(&space), SOON, Value::is_null);
    plane.wait_until(&space.path("api/v1", "pods"), SOON, |found| {
        found["items"] == json!([])
    });
    down.run_with(["down"])
        .assert_code(0)
        .assert_stdout("is absent, nothing to do");
}

#[test]
fn a_job_that_fails_ends_the_step_at_once_with_the_cause() {
    // S-2.17, S-11.31
    let plane = ControlPlane::attach();
    let space = plane.namespace("jobfail");
    let manifest = objects::job("x", "y")
        .with("/spec/backoffLimit", 0)
        .annotated("sim.kzero/exit", "3")
        .annotated("sim.kzero/log", "no such table");
    let outcome = job_place(&plane, &space, &manifest, "").run_with(["up"]);
    outcome
        .assert_code(3)
        .assert_stderr("BackoffLimitExceeded")
        .assert_stdout("cause of job.")
        .assert_stdout("ended with exit code 3")
        .assert_stdout("main: no such table")
        .assert_stdout("condition Failed=True (BackoffLimitExceeded)");
    assert!(outcome.elapsed < Duration::from_secs(60));
    // Without the wait the step is done with the creation; it replaces the failed one.
    job_place(&plane, &space, &manifest, ", wait_for_complete: false")
        .run_with(["up"])
        .assert_code(0);
}

#[test]
fn a_suspended_job_is_named_as_such_on_timeout() {
    // S-2.17
    let plane = ControlPlane::attach();
    let space = plane.namespace("jobsusp");
    let manifest = objects::job("x", "y").with("/spec/suspend", true);
    job_place(&plane, &space, &manifest, ", timeout: 2s")
        .run_with(["up"])
        .assert_code(3)
        .assert_stderr("step timeout 2s")
        .assert_stderr("the Job is suspended");
}

#[test]
fn a_job_of_that_name_is_taken_over_or_refused_by_whose_it_is() {
    // S-D.14
    let plane = ControlPlane::attach();
    let space = plane.namespace("jobown");
    let endless = objects::job("x", "y").annotated("sim.kzero/run", "never");
    // Somebody's own, unfinished or finished, is left alone.
    plane.apply(&objects::job(space.name(), "j"));
    plane.wait_until(&job_path(&space), SOON, |found| {
        found["status"]["succeeded"] == 1
    });
    let foreign = plane.get(&job_path(&space)).unwrap();
    job_place(&plane, &space, &endless, "")
        .run_with(["up"])
        .assert_code(3)
        .assert_stderr("already exists, it was not made by kzero");
    let still = plane.get(&job_path(&space)).unwrap();
    assert_eq!(still["metadata"]["uid"], foreign["metadata"]["uid"]);
    plane.delete(&job_path(&space));
    plane.wait_until(&job_path(&space), SOON, Value::is_null);

    // An unfinished one of a run that died is taken over, if its manifest was the same.
    let place = job_place(&plane, &space, &endless, "");
    let running = place.spawn_with(["up"]);
    running.wait_for_output("wait job complete");
    running.kill9();
    assert_eq!(running.wait().signal, Some(9));
    let first = plane.get(&job_path(&space)).unwrap();
    let changed = endless.clone().with("/spec/activeDeadlineSeconds", 600);
    let other = place.file("j.yaml", &changed.to_string());
    other
        .run_with(["up"])
        .assert_code(3)
        .assert_stderr("it is unfinished and its manifest was another");
    let place = other.file("j.yaml", &endless.to_string());
    let running = place.spawn_with(["up"]);
    running.wait_for_output("taking over the unfinished one of an earlier run");
    running.wait_for_output("wait job complete");
    let find = space.path(
        "api/v1",
        "pods?labelSelector=batch.kubernetes.io%2Fjob-name%3Dj",
    );
    plane.wait_until(&find, SOON, |found| found["items"][0].is_object());
    let pod = plane.list(&find)[0]["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    plane.patch(
        &space.path("api/v1", &format!("pods/{pod}")),
        &json!({"metadata": {"annotations": {"sim.kzero/run": "0.1"}}}),
    );
    running.wait().assert_code(0);
    let second = plane.get(&job_path(&space)).unwrap();
    assert_eq!(second["metadata"]["uid"], first["metadata"]["uid"]);
    assert_eq!(second["status"]["succeeded"], 1);
}

// --- all kinds ------------------------------------------------------------------

#[test]
fn a_scale_step_takes_two_requests() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("two");
    plane.apply(&objects::deployment(space.name(), "w", 2));
    plane.apply(&objects::statefulset(space.name(), "w", 2));
    let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
    let place = through(&proxy, &space).profile(&live(
        &space,
        "pipelines:\n  down:\n    - deployment.NS/w\n    - statefulset.NS/w\n  up:\n    - deployment.NS/w: {replicas: 1}\n    - statefulset.NS/w: {replicas: 1}\n",
    ));
    for (command, size) in [("down", 2), ("up", 0)] {
        // A controller that still counts would meet the write with a newer version.
        for plural in ["deployments", "statefulsets"] {
            plane.wait_until(
                &space.path("apis/apps/v1", &format!("{plural}/w")),
                SOON,
                |found| {
                    let status = &found["status"];
                    let settled = |key: &str| status[key].as_u64().unwrap_or(0) == size;
                    status["observedGeneration"] == found["metadata"]["generation"]
                        && [
                            "replicas",
                            "updatedReplicas",
                            "readyReplicas",
                            "availableReplicas",
                        ]
                        .into_iter()
                        .all(settled)
                        && status["terminatingReplicas"].as_u64().unwrap_or(0) == 0
                },
            );
        }
        proxy.clear_requests();
        place.run_with([command]).assert_code(0);
        for plural in ["deployments", "statefulsets"] {
            let asked: Vec<String> = proxy
                .requests()
                .into_iter()
                .filter(|request| request.path.contains(&format!("{plural}/w")))
                .map(|request| request.method)
                .collect();
            assert_eq!(asked, ["GET", "PATCH"], "{command} {plural}");
        }
    }
}

#[test]
fn exec_needs_two_rights_and_names_the_one_that_is_missing() {
    // S-2.18: a websocket begins with a GET, and newer servers want `create` as well.
    let plane = ControlPlane::attach();
    let space = plane.namespace("execright");
    plane.apply(&objects::pod(space.name(), "p"));
    wait_running(&plane, &space.path("api/v1", "pods/p"));
    let place = restricted(&plane, &space).profile(&live(
        &space,
        "pipelines:\n  down:\n    - exec.NS/p: {container: main, command: ['true']}\n",
    ));
    let mut rows = vec![(json!(["create"]), "may not get pods/exec in namespace ")];
    // Servers before 1.35 were content with `get`.
    let version = plane.get("/version").unwrap();
    let minor = version["emulationMinor"]
        .as_str()
        .or(version["minor"].as_str());
    if minor.unwrap().parse::<u32>().unwrap() >= 35 {
        rows.push((
            json!(["get"]),
            "forbidden to create pods/exec in namespace ",
        ));
    }
    for (verbs, text) in rows {
        let rule = json!({"apiGroups": [""], "resources": ["pods/exec"], "verbs": verbs});
        plane.grant_restricted(space.name(), &json!([rule]));
        place.run_with(["down"]).assert_code(3).assert_stderr(text);
    }
}

#[test]
fn every_kind_is_content_with_the_rights_that_its_actions_need() {
    // S-6.16; w13 in workloads.rs has those of the scaled kinds.
    let plane = ControlPlane::attach();
    let space = plane.namespace("rights");
    let user = objects::pod(space.name(), "p").with(
        "/spec/volumes",
        json!([{"name": "data", "persistentVolumeClaim": {"claimName": "d"}}]),
    );
    for object in [
        objects::cronjob(space.name(), "c"),
        objects::pvc(space.name(), "d"),
        user,
    ] {
        plane.apply(&object);
    }
    wait_running(&plane, &space.path("api/v1", "pods/p"));
    let rule = |group: &str, resource: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    let rows = [
        (
            "down",
            "cronjob.NS/c",
            vec![rule("batch", "cronjobs", &["get", "patch"])],
        ),
        // Its user may not be listed, and so is not named.
        (
            "down",
            "pvc.NS/d",
            vec![rule("", "persistentvolumeclaims", &["get", "delete"])],
        ),
        (
            "down",
            "exec.NS/p: {container: main, command: ['true']}",
            vec![rule("", "pods/exec", &["get", "create"])],
        ),
        (
            "up",
            "job.NS/j: {manifest: ./j.yaml}",
            vec![rule("batch", "jobs", &["get", "create", "delete"])],
        ),
        ("down", "job.NS/j", vec![rule("batch", "jobs", &["delete"])]),
    ];
    for (command, step, rules) in rows {
        let place = restricted(&plane, &space)
            .file("j.yaml", &objects::job("x", "y").to_string())
            .profile(&live(
                &space,
                &format!("pipelines:\n  {command}:\n    - {step}\n"),
            ));
        plane.grant_restricted(space.name(), &json!([]));
        let refused = place.run_with([command]);
        refused
            .assert_code(3)
            .assert_stderr(" forbidden: user \"token-restricted\" may not ");
        plane.grant_restricted(space.name(), &json!(rules));
        place.run_with([command]).assert_code(0);
    }
}

/// One of everything that a step can act on.
fn everything(plane: &ControlPlane, space: &Namespace<'_>) -> Vec<String> {
    let made = [
        objects::deployment(space.name(), "w", 1),
        objects::statefulset(space.name(), "w", 1),
        objects::cronjob(space.name(), "w"),
        objects::pvc(space.name(), "w"),
        objects::pod(space.name(), "w"),
    ];
    let paths: Vec<String> = made
        .iter()
        .map(|object| {
            plane.apply(object);
            objects::path_of(object)
        })
        .collect();
    for path in &paths[..2] {
        plane.wait_until(path, SOON, |found| found["status"]["readyReplicas"] == 1);
    }
    plane.wait_until(&paths[3], SOON, |found| found["status"]["phase"] == "Bound");
    wait_running(plane, &paths[4]);
    paths
}

const EVERYTHING: &str = "hooks: {pre-down: ./never.sh, post-up: ./never.sh}\npipelines:\n  down:\n    \
    - cronjob.NS/w\n    - deployment.NS/w: {wait_for_termination: true, pre: ./never.sh}\n    \
    - statefulset.NS/w\n    - exec.NS/w: {container: main, command: [touch, NEVER]}\n    \
    - job.NS/j\n    - pvc.NS/w\n    - custom: ./never.sh\n  up:\n    \
    - pvc.NS/w\n    - statefulset.NS/w: {replicas: 3, wait_for_ready: true}\n    \
    - deployment.NS/w: {replicas: 3}\n    - job.NS/j: {manifest: ./j.yaml}\n    \
    - exec.NS/w: {container: main, command: [touch, NEVER]}\n    - cronjob.NS/w\n";

#[test]
fn a_dry_run_of_every_kind_asks_the_server_and_changes_nothing() {
    // S-3.21, S-3.22
    let plane = ControlPlane::attach();
    let space = plane.namespace("dry");
    let paths = everything(&plane, &space);
    let versions = || -> Vec<Value> {
        let found = paths.iter().map(|path| plane.get(path).unwrap());
        found
            .map(|object| object["metadata"]["resourceVersion"].clone())
            .collect()
    };
    let before = versions();
    let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
    let place = through(&proxy, &space)
        .script("never.sh", "touch NEVER")
        .file("j.yaml", &objects::job("x", "y").to_string());
    let marker = place.path("NEVER");
    let place = place.profile(&live(
        &space,
        &EVERYTHING.replace("touch, NEVER", &format!("touch, {}", marker.display())),
    ));
    let down = place.run_with(["down", "--dry-run"]);
    down.assert_code(0)
        .assert_stdout(&format!(
            "[dry-run] native scale deployment.{space}/w -> 0 replicas (server-side dry-run ok)"
        ))
        .assert_stdout(&format!(
            "[dry-run] patch cronjob spec.suspend=true cronjob.{space}/w (server-side dry-run ok)"
        ))
        .assert_stdout(&format!(
            "[dry-run] delete pvc {space}/w (background propagation, ignore-not-found)"
        ))
        .assert_stdout(&format!(
            "[dry-run] delete job {space}/j (background propagation, ignore-not-found)"
        ));
    let up = place.run_with(["up", "--dry-run"]);
    up.assert_code(0)
        .assert_stdout("-> 3 replicas (server-side dry-run ok)")
        .assert_stdout("[dry-run] create job from manifest ./j.yaml (wait_for_complete=true) (server-side dry-run ok)");
    for request in proxy.requests() {
        assert!(
            request.method == "GET" || request.query.contains("dryRun=All"),
            "{request:?}"
        );
        assert!(!request.path.ends_with("/exec"), "{request:?}");
    }
    let writes = proxy
        .requests()
        .into_iter()
        .filter(|request| request.method != "GET");
    assert_eq!(
        writes.count(),
        7,
        "scale and suspend of both phases, and the Job"
    );
    assert_eq!(versions(), before);
    assert_eq!(plane.get(&job_path(&space)), None);
    assert!(!marker.exists());
}

#[test]
fn a_dry_run_is_refused_what_a_run_would_be() {
    // S-3.22: the server's checks are real ones.
    let plane = ControlPlane::attach();
    let space = plane.namespace("dryno");
    let broken = objects::job("x", "y").with("/spec/template/spec/restartPolicy", "Always");
    job_place(&plane, &space, &broken, "")
        .run_with(["up", "--dry-run"])
        .assert_code(3)
        .assert_stderr("restartPolicy");
    once(
        &plane,
        &space,
        "down",
        "pipelines: {down: [deployment.NS/none]}\n",
    )
    .assert_code(3);
}

#[test]
fn init_writes_a_profile_that_parks_and_wakes_the_namespace() {
    // The text is a starting point; what it holds must load and fit the cluster.
    let plane = ControlPlane::attach();
    let space = plane.namespace("init");
    for object in [
        objects::deployment(space.name(), "api", 2),
        objects::statefulset(space.name(), "postgres", 1),
        objects::deployment(space.name(), "idle", 0),
        objects::cronjob(space.name(), "nightly"),
    ] {
        plane.apply(&object);
    }
    let place = kzero(&plane, &space);
    place
        .run_with(["init", "-n", space.name(), "-o", "kzero.yaml"])
        .assert_code(0);
    let text = place.read("kzero.yaml");
    assert!(
        text.contains(&format!("left out: deployment.{space}/idle")),
        "{text}"
    );
    let sizes = || -> Vec<Value> {
        [
            "deployments/api",
            "statefulsets/postgres",
            "deployments/idle",
        ]
        .map(|name| {
            plane.get(&space.path("apis/apps/v1", name)).unwrap()["spec"]["replicas"].clone()
        })
        .into()
    };
    let cron = || {
        plane
            .get(&space.path("apis/batch/v1", "cronjobs/nightly"))
            .unwrap()["spec"]["suspend"]
            .clone()
    };
    let analyzed = place.run_with(["analyze"]);
    analyzed.assert_code(0);
    assert!(!analyzed.stderr.contains("warning"), "{}", analyzed.stderr);
    let place = place.env("KZERO_RUN_MODE", "live");
    place.run_with(["down"]).assert_code(0);
    assert_eq!(
        (sizes(), cron()),
        (vec![json!(0), json!(0), json!(0)], json!(true))
    );
    place.run_with(["up"]).assert_code(0);
    assert_eq!(
        (sizes(), cron()),
        (vec![json!(2), json!(1), json!(0)], json!(false))
    );
}

#[test]
fn analyze_names_what_may_undo_a_park() {
    // S-6.13
    let plane = ControlPlane::attach();
    let space = plane.namespace("owners");
    let crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/scaledobjects.keda.sh";
    plane.apply(&json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "scaledobjects.keda.sh"},
        "spec": {
            "group": "keda.sh",
            "scope": "Namespaced",
            "names": {"plural": "scaledobjects", "singular": "scaledobject", "kind": "ScaledObject"},
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    }));
    let scaled = space.path("apis/keda.sh/v1alpha1", "scaledobjects");
    until("the kind is served", || {
        plane.request("GET", &scaled, &Value::Null).0 == 200
    });
    plane.apply(&json!({
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"namespace": space.name(), "name": "events"},
        "spec": {"scaleTargetRef": {"name": "keda"}},
    }));
    let owner = plane.apply(&objects::configmap(space.name(), "owner", &[]));
    let reference = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "controller": true,
        "uid": owner["metadata"]["uid"],
    }]);
    for object in [
        objects::deployment(space.name(), "keda", 1),
        objects::deployment(space.name(), "argo", 1).annotated(
            "argocd.argoproj.io/tracking-id",
            "shop:apps/Deployment:x/argo",
        ),
        objects::statefulset(space.name(), "flux", 1)
            .labelled("kustomize.toolkit.fluxcd.io/name", "apps")
            .labelled("kustomize.toolkit.fluxcd.io/namespace", "flux-system"),
        objects::deployment(space.name(), "owned", 1).with("/metadata/ownerReferences", reference),
        objects::deployment(space.name(), "free", 1),
    ] {
        plane.apply(&object);
    }
    let outcome = kzero(&plane, &space)
        .profile(&live(
            &space,
            "pipelines:\n  down:\n    - deployment.NS/keda\n    - deployment.NS/argo\n    - statefulset.NS/flux\n    - deployment.NS/owned\n    - deployment.NS/free\n",
        ))
        .run_with(["analyze"]);
    outcome.assert_code(0);
    let all = format!("{}{}", outcome.stdout, outcome.stderr);
    for text in [
        format!("KEDA (ScaledObject {space}/events) may undo the park of deployment.{space}/keda"),
        format!("Argo CD (application shop) may undo the park of deployment.{space}/argo"),
        format!(
            "Flux (kustomization flux-system/apps) may undo the park of statefulset.{space}/flux"
        ),
        format!("its controller ConfigMap owner may undo the park of deployment.{space}/owned"),
    ] {
        assert!(all.contains(&text), "{text}\n{all}");
    }
    assert!(
        !all.contains(&format!("park of deployment.{space}/free")),
        "{all}"
    );
    plane.delete(crd);
}
