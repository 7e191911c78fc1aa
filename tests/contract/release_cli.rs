//! `kzero release …` beside Helm 3 on a real control plane: the same records, the same words.

use std::process::{Command, Stdio};
use std::time::Duration;

use kzero_testkit::{ControlPlane, Fault, FaultProxy, Kzero, Namespace, Outcome, Rule};
use serde_json::{Value, json};

use crate::{kzero, through, until};

const RUNNER: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: {{ .Values.color | quote }}}\n";

/// A deployment whose pods never get ready.
const STUCK: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 1\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}, annotations: {sim.kzero/ready: never}}\n    spec: {containers: [{name: app, image: example/app}]}\n";

pub(crate) fn chart(place: Kzero, templates: &[(&str, &str)]) -> Kzero {
    let mut place = place
        .file(
            "web/Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 0.1.0\nappVersion: \"2.0\"\n",
        )
        .file("web/values.yaml", "color: red\n");
    for (name, text) in templates {
        place = place.file(&format!("web/templates/{name}"), text);
    }
    place
}

pub(crate) fn release(place: &Kzero, words: &[&str]) -> Outcome {
    let mut arguments = vec!["release"];
    arguments.extend(words);
    place.run_with(arguments)
}

/// Helm 3 in the test's folder and namespace.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment names the program, which is started beside the one under test"
)]
fn helm_command(
    plane: &ControlPlane,
    space: &Namespace<'_>,
    place: &Kzero,
    words: &[&str],
) -> Command {
    let program = std::env::var_os("KZERO_TEST_HELM3")
        .expect("KZERO_TEST_HELM3 is not set; it names a helm of that line");
    let mut command = Command::new(program);
    command
        .args(words)
        .env(
            "KUBECONFIG",
            plane.kubeconfig_for(place.dir(), space.name()),
        )
        .env("TZ", "UTC")
        .env("HOME", place.dir())
        .current_dir(place.dir())
        .stdin(Stdio::null());
    command
}

/// What Helm 3 prints, and whether it succeeded.
pub(crate) fn helm(
    plane: &ControlPlane,
    space: &Namespace<'_>,
    place: &Kzero,
    words: &[&str],
) -> (bool, String) {
    let output = helm_command(plane, space, place, words).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

fn data(plane: &ControlPlane, space: &Namespace<'_>) -> Value {
    plane
        .get(&space.path("api/v1", "configmaps/settings"))
        .map_or(Value::Null, |map| map["data"].clone())
}

#[test]
fn what_kzero_wrote_is_shown_alike_by_helm_and_kzero() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("show");
    let hook = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hook\n  annotations: {helm.sh/hook: post-install}\n";
    let place = chart(
        kzero(&plane, &space).env("TZ", "UTC"),
        &[
            ("map.yaml", RUNNER),
            ("hook.yaml", hook),
            ("NOTES.txt", "It is {{ .Values.color }}.\n"),
        ],
    );
    release(&place, &["install", "web", "./web", "-l", "team=a"]).assert_code(0);
    release(&place, &["upgrade", "web", "./web", "--set", "color=blue"]).assert_code(0);
    release(&place, &["rollback", "web"]).assert_code(0);
    // S-14.55; how old it is changes from one look to the next.
    for output in [
        release(&place, &["status", "web", "--show-resources"]).stdout,
        helm(
            &plane,
            &space,
            &place,
            &["status", "web", "--show-resources"],
        )
        .1,
    ] {
        let table = "RESOURCES:\n==> v1/ConfigMap\nNAME       DATA   AGE\nsettings   1      ";
        assert!(output.contains(table), "{output}");
    }
    for words in [
        &["status", "web"][..],
        &["status", "web", "--show-desc", "--revision", "2"],
        &["status", "web", "-o", "json"],
        &["status", "web", "-o", "yaml"],
        &["status", "web", "--show-resources", "-o", "json"],
        &["status", "web", "--show-resources", "-o", "yaml"],
        &["history", "web"],
        &["history", "web", "--max", "2", "-o", "json"],
        &["list"],
        &["list", "-a", "-o", "yaml"],
        &["list", "-q", "-l", "team=a"],
        &["list", "--time-format", "2006-01-02", "--no-headers"],
        &["get", "values", "web", "--revision", "2"],
        &["get", "values", "web", "-a", "-o", "json"],
        &["get", "manifest", "web"],
        &["get", "hooks", "web"],
        &["get", "notes", "web"],
        &["get", "metadata", "web"],
        &["get", "all", "web"],
        &["status", "none"],
        &["history", "none"],
        &["uninstall", "none"],
    ] {
        let ours = release(&place, words);
        let (well, theirs) = helm(&plane, &space, &place, words);
        assert_eq!(ours.code == 0, well, "{words:?}");
        // Where Helm only says what is wrong, a next step follows.
        let errors = ours.stderr.split_inclusive('\n');
        let errors: String = errors.filter(|line| !line.starts_with("hint: ")).collect();
        assert_eq!(format!("{}{errors}", ours.stdout), theirs, "{words:?}");
        assert_eq!(ours.code == 0, !ours.stderr.contains("hint: "), "{words:?}");
    }
}

#[test]
fn v07_values_of_the_last_revision_are_used_again_as_helm_uses_them() {
    let plane = ControlPlane::attach();
    let dump = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {values: {{ omit .Values \"global\" | toJson | quote }}}\n";
    let place_in = |space: &Namespace<'_>| {
        let chart = |version: &str, values: &str, place: Kzero| {
            place
                .file(
                    &format!("{version}/Chart.yaml"),
                    "apiVersion: v2\nname: rv\nversion: 0.1.0\n",
                )
                .file(&format!("{version}/values.yaml"), values)
                .file(&format!("{version}/templates/dump.yaml"), dump)
        };
        let place = chart("one", "a: 1\nb: {x: 1}\n", kzero(&plane, space));
        chart("two", "a: 2\nb: {x: 1, y: 5}\nc: new\n", place)
    };
    for words in [
        &[][..],
        &["--reuse-values"],
        &["--reuse-values", "--set", "a=null"],
        &["--reset-then-reuse-values"],
        &["--reset-then-reuse-values", "--set", "b.x=null"],
        &["--reset-values"],
        &["--set", "a=3"],
        &["--reset-values", "--reuse-values"],
    ] {
        let mut upgrade = vec!["upgrade", "rv", "./two"];
        upgrade.extend(words);
        let space = plane.namespace("ours");
        let place = place_in(&space);
        release(&place, &["install", "rv", "./one", "--set", "b.x=9"]).assert_code(0);
        release(&place, &upgrade).assert_code(0);
        let ours = data(&plane, &space);
        let given = release(&place, &["get", "values", "rv", "-o", "json"])
            .stdout
            .clone();
        let space = plane.namespace("theirs");
        let place = place_in(&space);
        assert!(
            helm(
                &plane,
                &space,
                &place,
                &["install", "rv", "./one", "--set", "b.x=9"]
            )
            .0
        );
        assert!(helm(&plane, &space, &place, &upgrade).0);
        assert_eq!(ours, data(&plane, &space), "{words:?}");
        let (_, values) = helm(
            &plane,
            &space,
            &place,
            &["get", "values", "rv", "-o", "json"],
        );
        assert_eq!(given, values, "{words:?}");
    }
}

#[test]
fn l05_a_failed_first_install_names_what_is_not_ready_and_is_upgraded_from() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("failed");
    let place = chart(kzero(&plane, &space), &[("web.yaml", STUCK)]);
    let failed = release(
        &place,
        &["install", "web", "./web", "--wait", "--timeout", "3s"],
    );
    failed
        .assert_code(1)
        .assert_stderr("Error: INSTALLATION FAILED: ")
        .assert_stderr(&format!("Deployment {space}/web"))
        .assert_stderr("--timeout 3s");
    release(&place, &["ls", "-q", "--failed"]).assert_stdout("web\n");
    release(&place, &["upgrade", "web", "./web"])
        .assert_code(1)
        .assert_stderr("Error: UPGRADE FAILED: \"web\" has no deployed releases\nhint: `kzero release upgrade --install web CHART`");
    release(&place, &["upgrade", "--install", "web", "./web"])
        .assert_code(0)
        .assert_stdout("STATUS: deployed\nREVISION: 2\n");
    release(&place, &["uninstall", "web", "--wait"]).assert_code(0);
    release(&place, &["install", "web", "./web", "--atomic", "--timeout", "3s"])
        .assert_code(1)
        .assert_stderr("Error: INSTALLATION FAILED: release web failed, and has been uninstalled due to atomic being set: ");
    let status = release(&place, &["status", "web"]);
    status.assert_stderr("Error: release: not found\nhint: ");
}

/// Begins an install whose hook never ends.
fn hanging(place: &Kzero) -> kzero_testkit::Running {
    place.spawn_with(["release", "install", "web", "./web"])
}

const HOOK: &str = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations: {helm.sh/hook: pre-install}\nspec:\n  template:\n    metadata: {annotations: {sim.kzero/run: never}}\n    spec: {restartPolicy: Never, containers: [{name: a, image: example/a}]}\n";

#[test]
fn l06_l07_a_release_that_was_left_pending_is_recovered() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("pending");
    let place = chart(
        kzero(&plane, &space),
        &[("map.yaml", RUNNER), ("hook.yaml", HOOK)],
    );
    let running = hanging(&place);
    until("the hook", || {
        plane
            .get(&space.path("apis/batch/v1", "jobs/migrate"))
            .is_some()
    });
    // Somebody works on it.
    release(
        &place,
        &["upgrade", "--install", "web", "./web", "--no-hooks"],
    )
    .assert_code(1);
    running.kill9();
    drop(running.wait());
    release(&place, &["list", "-q", "--pending"]).assert_stdout("web\n");
    // Its writer is dead, and known to be.
    release(&place, &["recover", "web"])
        .assert_code(0)
        .assert_stdout(
            "revision 1 of release \"web\" was left pending-install; it is marked failed",
        );
    release(&place, &["recover", "web"])
        .assert_code(0)
        .assert_stdout("release \"web\" needs no recovery: its newest revision is failed\n");
    release(
        &place,
        &["upgrade", "--install", "web", "./web", "--no-hooks"],
    )
    .assert_code(0)
    .assert_stdout("STATUS: deployed\nREVISION: 2\n");
    assert_eq!(data(&plane, &space), json!({"color": "red"}));
}

#[test]
fn l06_what_helm_left_pending_is_refused_with_the_command_that_gets_on() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("theirs");
    let place = chart(
        kzero(&plane, &space),
        &[("map.yaml", RUNNER), ("hook.yaml", HOOK)],
    );
    let mut child = helm_command(&plane, &space, &place, &["install", "web", "./web"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the hook", || {
        plane
            .get(&space.path("apis/batch/v1", "jobs/migrate"))
            .is_some()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let upgrade = ["upgrade", "-i", "web", "./web", "--no-hooks"];
    let recover = format!("kzero release recover web --namespace {space}");
    release(&place, &upgrade)
        .assert_code(1)
        .assert_stderr("Error: UPGRADE FAILED: another operation (install/upgrade/rollback) is in progress\nhint: ")
        .assert_stderr(&recover);
    let words: Vec<&str> = recover.split(' ').skip(2).collect();
    release(&place, &words).assert_code(0);
    release(&place, &upgrade).assert_code(0);
    assert_eq!(data(&plane, &space), json!({"color": "red"}));
}

#[test]
fn a_signal_ends_an_install_cleanly() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("signal");
    let place = chart(
        kzero(&plane, &space),
        &[("map.yaml", RUNNER), ("hook.yaml", HOOK)],
    );
    let running = hanging(&place);
    until("the hook", || {
        plane
            .get(&space.path("apis/batch/v1", "jobs/migrate"))
            .is_some()
    });
    running.interrupt();
    running
        .wait()
        .assert_code(1)
        .assert_stdout("Release web has been cancelled.\n")
        .assert_stderr("Error: INSTALLATION FAILED: interrupted: context canceled");
    release(&place, &["history", "web"]).assert_stdout("\tfailed");
    assert_eq!(data(&plane, &space), Value::Null);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("twice");
    let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
    proxy.add(Rule::new(Fault::HoldAnswer).writes().nth(1));
    let place = chart(through(&proxy, &space), &[("map.yaml", RUNNER)]);
    let running = hanging(&place);
    until("the first write", || proxy.held() > 0);
    running.interrupt();
    running.wait_for_output("Release web has been cancelled.\n");
    running.interrupt();
    running
        .wait()
        .assert_code(1)
        .assert_stderr("Error: INSTALLATION FAILED: ended at once by a second signal; what was under way may have had its effect\nhint: ");
}

#[test]
fn l17_a_record_stays_until_all_is_gone() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("final");
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, finalizers: [example.org/hold]}\n";
    let place = chart(kzero(&plane, &space), &[("map.yaml", map)]).limit(Duration::from_secs(60));
    release(&place, &["install", "web", "./web"]).assert_code(0);
    release(&place, &["uninstall", "web", "--wait", "--timeout", "2s"])
        .assert_code(1)
        .assert_stderr("Error: failed to delete release: web: ")
        .assert_stderr("settings")
        .assert_stderr("hint: the record of release web stays, so that `kzero release uninstall web` can be run again\n");
    release(&place, &["status", "web"]).assert_stdout("STATUS: uninstalling\n");
    let path = space.path("api/v1", "configmaps/settings");
    plane.patch(&path, &json!({"metadata": {"finalizers": null}}));
    release(&place, &["uninstall", "web", "--wait"])
        .assert_code(0)
        .assert_stdout("release \"web\" uninstalled\n");
    assert!(plane.list(&space.path("api/v1", "secrets")).is_empty());
}

#[test]
fn pods_are_made_anew_where_that_is_asked_for() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("anew");
    let web = STUCK.replace(", annotations: {sim.kzero/ready: never}", "");
    let place = chart(kzero(&plane, &space), &[("web.yaml", &web)]);
    release(&place, &["install", "web", "./web", "--wait"]).assert_code(0);
    let pods = || -> Vec<String> {
        let pods = plane.list(&space.path("api/v1", "pods"));
        let lives = |pod: &&Value| pod["metadata"].get("deletionTimestamp").is_none();
        pods.iter()
            .filter(lives)
            .map(|pod| pod["metadata"]["uid"].to_string())
            .collect()
    };
    let before = pods();
    release(&place, &["upgrade", "web", "./web", "--wait"]).assert_code(0);
    assert_eq!(pods(), before);
    release(
        &place,
        &["upgrade", "web", "./web", "--wait", "--recreate-pods"],
    )
    .assert_code(0)
    .assert_stderr("Flag --recreate-pods has been deprecated, ");
    let after = pods();
    assert_eq!(after.len(), 1);
    assert_ne!(after, before);
    release(&place, &["rollback", "web", "--wait", "--recreate-pods"]).assert_code(0);
    assert_ne!(pods(), after);
}
