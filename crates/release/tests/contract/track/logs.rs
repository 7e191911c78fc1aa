//! Logs and events of what is waited for.

use kzero_release::engine::Options;
use kzero_release::event::Event;
use kzero_release::resource::Role;
use kzero_testkit::ControlPlane;
use kzero_testkit::objects::{Object, deployment, job, pod};
use serde_json::{Value, json};

use super::stage::Stage;
use crate::world::World;

/// Name, annotations, whether the hook succeeds, lines that are shown.
type Row<'r> = (&'r str, &'r [(&'r str, &'r str)], bool, Vec<String>);

async fn shown(stage: &Stage<'_>, object: Value, role: Role) -> (bool, Vec<String>) {
    let results = stage.ready(&[object], role, 60).await;
    let lines = stage.logs();
    stage.events.borrow_mut().clear();
    (results[0].is_ok(), lines)
}

#[tokio::test]
async fn logs_of_hooks_are_shown_to_their_end_through_the_filters_of_annotations() {
    let plane = ControlPlane::attach();
    let stage = Stage::new(&plane, "hooklogs").await;
    let hook = |name: &str| {
        job(stage.name(), name)
            .with("/spec/backoffLimit", 0)
            .annotated("sim.kzero/log", "first line\nsecond line")
    };
    let role = Role::Hook(0);
    let both = vec!["first line".to_owned(), "second line".to_owned()];
    let second = vec!["second line".to_owned()];
    const POLICY: &str = "helm.sh/hook-output-log-policy";
    let rows: Vec<Row<'_>> = vec![
        ("plain", &[], true, both.clone()),
        ("failed", &[("sim.kzero/exit", "1")], false, both.clone()),
        (
            "regex",
            &[("werf.io/log-regex", "^sec")],
            true,
            second.clone(),
        ),
        (
            "skipre",
            &[("werf.io/log-regex-skip", "first")],
            true,
            second.clone(),
        ),
        (
            "forone",
            &[("werf.io/log-regex-for-main", "second")],
            true,
            second.clone(),
        ),
        (
            "forother",
            &[("werf.io/log-regex-for-other", "second")],
            true,
            both.clone(),
        ),
        (
            "skipone",
            &[("werf.io/log-regex-skip-for-main", "first")],
            true,
            second,
        ),
        ("skip", &[("werf.io/skip-logs", "true")], true, vec![]),
        (
            "skipfor",
            &[("werf.io/skip-logs-for-containers", "main")],
            true,
            vec![],
        ),
        (
            "only",
            &[("werf.io/show-logs-only-for-containers", "other")],
            true,
            vec![],
        ),
        (
            "replicas",
            &[("werf.io/show-logs-only-for-number-of-replicas", "0")],
            true,
            vec![],
        ),
        ("onfail", &[(POLICY, "hook-failed")], true, vec![]),
        (
            "onsuccess",
            &[(POLICY, "hook-succeeded")],
            true,
            both.clone(),
        ),
        (
            "failedsuccess",
            &[(POLICY, "hook-succeeded"), ("sim.kzero/exit", "1")],
            false,
            vec![],
        ),
        (
            "failedfail",
            &[
                (POLICY, "hook-succeeded,hook-failed"),
                ("sim.kzero/exit", "1"),
            ],
            false,
            both,
        ),
    ];
    for (name, annotations, succeeds, lines) in rows {
        let object = annotations.iter().fold(hook(name), |object, (key, value)| {
            object.annotated(key, value)
        });
        let found = shown(&stage, object, role).await;
        assert_eq!(found, (succeeds, lines), "{name}");
    }
}

#[tokio::test]
async fn a_pod_of_a_hook_is_waited_for_until_it_has_succeeded() {
    let plane = ControlPlane::attach();
    let stage = Stage::new(&plane, "hookpod").await;
    let hook = |name: &str, exit: &str| {
        pod(stage.name(), name)
            .with("/spec/restartPolicy", "Never")
            .annotated("sim.kzero/log", "done")
            .annotated("sim.kzero/exit", exit)
    };
    let role = Role::Hook(0);
    let (is_ok, lines) = shown(&stage, hook("good", "0"), role).await;
    assert!(is_ok);
    assert_eq!(lines, ["done"]);
    let path = stage.space.path("api/v1", "pods/good");
    let phase = plane.get(&path).unwrap()["status"]["phase"].clone();
    assert_eq!(phase, "Succeeded");
    let results = stage.ready(&[hook("bad", "4")], role, 60).await;
    let error = results[0].as_ref().unwrap_err().to_string();
    assert!(error.starts_with("pod bad failed"), "{error}");
}

#[tokio::test]
async fn logs_flow_while_a_workload_is_waited_for_of_as_many_pods_as_asked() {
    let plane = ControlPlane::attach();
    let stage = Stage::new(&plane, "flow").await;
    let web = |name: &str| {
        deployment(stage.name(), name, 3)
            .annotated("sim.kzero/ready", "2")
            .annotated("sim.kzero/log", "listening")
    };
    let (_, one) = shown(&stage, web("one"), Role::Manifest).await;
    assert_eq!(one, ["listening"]);
    let two = web("two").annotated("werf.io/show-logs-only-for-number-of-replicas", "2");
    let (_, lines) = shown(&stage, two, Role::Manifest).await;
    assert_eq!(lines, ["listening", "listening"]);
}

#[tokio::test]
async fn events_of_an_object_are_shown_where_the_annotation_asks_for_them() {
    let plane = ControlPlane::attach();
    let stage = Stage::new(&plane, "events").await;
    let slow = |name: &str| deployment(stage.name(), name, 1).annotated("sim.kzero/ready", "1.5");
    let objects = [
        slow("told").annotated("werf.io/show-service-messages", "true"),
        slow("quiet"),
    ];
    let results = stage.ready(&objects, Role::Manifest, 60).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let infos = stage.infos();
    let told = format!("Deployment {}/told: ScalingReplicaSet", stage.name());
    assert!(
        infos.iter().any(|info| info.starts_with(&told)),
        "{infos:?}"
    );
    assert!(
        !infos.iter().any(|info| info.contains("/quiet")),
        "{infos:?}"
    );
}

const HOOK: (&str, &str) = (
    "templates/hook.yaml",
    "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: mig\n  annotations:\n    helm.sh/hook: pre-install\n    helm.sh/hook-delete-policy: hook-succeeded,hook-failed\nspec:\n  backoffLimit: 0\n  template:\n    metadata:\n      annotations: {sim.kzero/exit: \"1\", sim.kzero/log: no such table}\n    spec:\n      restartPolicy: Never\n      containers: [{name: main, image: example/main:1}]\n",
);

#[tokio::test]
async fn logs_of_a_failed_hook_are_shown_before_it_is_deleted() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "hookgone").await;
    let error = world
        .deploy(&[HOOK], json!({}), Options::default())
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("failed pre-install: "), "{error}");
    assert!(
        error.contains("job mig failed: BackoffLimitExceeded"),
        "{error}"
    );
    assert!(world.get("batch/v1", "jobs/mig").is_none());
    let events = world.events.borrow();
    let at = |pick: fn(&Event) -> bool| events.iter().position(pick);
    let log = at(|event| matches!(event, Event::Log { line, .. } if line == "no such table"));
    let cause = at(|event| matches!(event, Event::Cause { .. }));
    let failed = at(|event| matches!(event, Event::Failed { .. }));
    assert!(log.is_some() && cause.is_some(), "{events:?}");
    assert!(log < failed && cause < failed, "{events:?}");
}
