//! What fails, what is waited out, and what is said of it.

use kzero_cluster::WaitError;
use kzero_release::engine::{Deploy, Options};
use kzero_release::interrupt::Interrupt;
use kzero_release::resource::Role;
use kzero_testkit::ControlPlane;
use kzero_testkit::objects::{Object, daemonset, deployment, job, pvc, statefulset};
use serde_json::{Value, json};
use std::time::Duration;

use super::stage::Stage;
use crate::world::{World, files, render, timing};

fn failure(result: &Result<(), WaitError>) -> String {
    match result {
        Err(WaitError::Failed(text)) => text.clone(),
        other => panic!("no failure: {other:?}"),
    }
}

fn timeout(result: &Result<(), WaitError>) -> String {
    match result {
        Err(error @ WaitError::TimedOut { .. }) => error.to_string(),
        other => panic!("no time-out: {other:?}"),
    }
}

#[tokio::test]
async fn broken_pods_end_a_wait_long_before_its_time_with_the_reason() {
    let plane = ControlPlane::attach();
    let stage = Stage::new(&plane, "broken").await;
    let rows = [
        ("crash", "CrashLoopBackOff"),
        ("image", "ImagePull"),
        ("config", "CreateContainerConfigError"),
        ("init", "CrashLoopBackOff"),
    ];
    let objects: Vec<Value> = rows
        .iter()
        .map(|(fail, _)| {
            let init = json!([{"name": "first", "image": "registry.invalid/first:1"}]);
            let object = deployment(stage.name(), fail, 1).annotated("sim.kzero/fail", fail);
            match *fail {
                "init" => object
                    .with("/spec/template/spec/initContainers", init)
                    .annotated("werf.io/failures-allowed-per-replica", "0"),
                _ => object,
            }
        })
        .collect();
    let results = stage.ready(&objects, Role::Manifest, 100).await;
    for ((fail, reason), result) in rows.iter().zip(&results) {
        let text = failure(result);
        assert!(text.contains(reason), "{fail}: {text}");
        let counts = match *fail {
            "init" => "failures: 1, allowed: 0",
            _ => "failures: 2, allowed: 1",
        };
        assert!(text.ends_with(counts), "{fail}: {text}");
        let causes = stage.causes(fail);
        assert!(causes.contains(reason), "{fail}: {causes}");
    }
    let wait = failure(&results[3]);
    assert!(wait.contains("container first"), "{wait}");
}

#[tokio::test]
async fn broken_pods_of_other_kinds_are_found_as_well() {
    let plane = ControlPlane::attach();
    let stage = Stage::new(&plane, "kinds").await;
    let crash = |object: Value| {
        object
            .annotated("sim.kzero/fail", "crash")
            .annotated("sim.kzero/backoff", "0.3")
    };
    let image = |object: Value| object.annotated("sim.kzero/fail", "image");
    let objects = [
        crash(statefulset(stage.name(), "db", 1)),
        crash(daemonset(stage.name(), "agent")),
        image(job(stage.name(), "work")),
    ];
    let results = stage.ready(&objects, Role::Manifest, 60).await;
    let reasons = ["CrashLoopBackOff", "CrashLoopBackOff", "ImagePull"];
    for (reason, result) in reasons.iter().zip(&results) {
        let text = failure(result);
        assert!(text.contains(reason), "{text}");
    }
    assert!(stage.causes("agent").contains("CrashLoopBackOff"));
}

#[tokio::test]
async fn failures_are_forgiven_as_often_as_the_annotation_says() {
    let plane = ControlPlane::attach();
    let stage = Stage::new(&plane, "forgiven").await;
    let key = "werf.io/failures-allowed-per-replica";
    let crash = |name: &str, allowed: &str| {
        deployment(stage.name(), name, 1)
            .annotated("sim.kzero/fail", "crash")
            .annotated("sim.kzero/backoff", "0.3")
            .annotated(key, allowed)
    };
    let objects = [crash("none", "0"), crash("three", "3")];
    let results = stage.ready(&objects, Role::Manifest, 60).await;
    let (none, three) = (failure(&results[0]), failure(&results[1]));
    assert!(none.ends_with("failures: 1, allowed: 0"), "{none}");
    assert!(three.ends_with("failures: 4, allowed: 3"), "{three}");
}

#[tokio::test]
async fn what_may_still_come_is_shown_until_the_time_is_up() {
    let plane = ControlPlane::attach();
    let stage = Stage::new(&plane, "maycome").await;
    let balancer = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"namespace": stage.name(), "name": "lb", "annotations": {"sim.kzero/lb": "never"}},
        "spec": {"type": "LoadBalancer", "selector": {"app": "lb"}, "ports": [{"port": 80}]},
    });
    let objects = [
        deployment(stage.name(), "nowhere", 1)
            .with("/spec/template/spec/nodeSelector", json!({"no": "such"})),
        deployment(stage.name(), "never", 3).annotated("sim.kzero/ready", "never"),
        statefulset(stage.name(), "slow", 2).annotated("sim.kzero/ready", "never"),
        pvc(stage.name(), "disk").annotated("sim.kzero/provision", "never"),
        balancer,
    ];
    let results = stage.ready(&objects, Role::Manifest, 5).await;
    let rows = [
        ("nowhere", "no node for pod"),
        ("never", "0 of 3 ready"),
        ("slow", "0 of 2 ready"),
        ("disk", "it has no volume, phase Pending"),
        ("lb", "the load balancer has no address"),
    ];
    for ((name, words), result) in rows.iter().zip(&results) {
        let text = timeout(result);
        assert!(text.starts_with("timed out (test 5s): "), "{text}");
        assert!(text.contains(words), "{name}: {text}");
        let told = stage.progress(name);
        assert!(told.iter().any(|text| text.contains(words)), "{told:?}");
    }
    // The first of them speaks for all.
    let first = timeout(&results[0]);
    for (_, words) in &rows[1..] {
        assert!(first.contains(words), "{first}");
    }
    assert!(stage.causes("nowhere").contains("unschedulable"));
}

#[tokio::test]
async fn a_quota_is_waited_for_and_named() {
    let plane = ControlPlane::attach();
    let stage = Stage::new(&plane, "quota").await;
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"namespace": stage.name(), "name": "none"},
        "spec": {"hard": {"pods": "0"}},
    });
    plane.apply(&quota);
    let path = stage.space.path("api/v1", "resourcequotas/none");
    plane.wait_until(&path, Duration::from_secs(30), |quota| {
        quota.pointer("/status/hard/pods").is_some()
    });
    let objects = [
        deployment(stage.name(), "web", 1),
        statefulset(stage.name(), "db", 1),
    ];
    let results = stage.ready(&objects, Role::Manifest, 5).await;
    for result in &results {
        let text = timeout(result);
        assert!(text.contains("exceeded quota: none"), "{text}");
    }
}

#[tokio::test]
async fn pods_that_are_refused_end_a_wait_with_the_words_of_who_refuses() {
    let plane = ControlPlane::attach();
    let stage = Stage::new(&plane, "refused").await;
    let namespace = format!("/api/v1/namespaces/{}", stage.name());
    let label = "pod-security.kubernetes.io/enforce";
    plane.patch(
        &namespace,
        &json!({"metadata": {"labels": {label: "restricted"}}}),
    );
    let objects = [
        deployment(stage.name(), "web", 1),
        statefulset(stage.name(), "db", 1),
        daemonset(stage.name(), "agent"),
    ];
    let results = stage.ready(&objects, Role::Manifest, 60).await;
    for result in &results {
        let text = failure(result);
        assert!(text.contains("cannot create pods: "), "{text}");
        assert!(text.contains("violates PodSecurity"), "{text}");
    }
    let causes = stage.causes("web");
    assert!(causes.contains("violates PodSecurity"), "{causes}");
}

/// Says that the readiness probe of each pod has failed five times, a minute after the container started.
fn fail_probes(plane: &ControlPlane, stage: &Stage<'_>) {
    let pods = stage.space.path("api/v1", "pods");
    plane.wait_until(&pods, Duration::from_secs(30), |pods| {
        pods.to_string().matches("\"running\":").count() == 2
    });
    for pod in plane.list(&pods) {
        let started = &pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"];
        let started: jiff::Timestamp = started.as_str().unwrap().parse().unwrap();
        let last = started + jiff::SignedDuration::from_secs(60);
        let meta = &pod["metadata"];
        plane.apply(&json!({
            "apiVersion": "v1", "kind": "Event", "type": "Warning", "reason": "Unhealthy",
            "metadata": {"namespace": stage.name(), "name": meta["name"]},
            "message": "Readiness probe failed: HTTP probe failed with statuscode: 503",
            "count": 5, "firstTimestamp": last.to_string(), "lastTimestamp": last.to_string(),
            "involvedObject": {
                "apiVersion": "v1", "kind": "Pod", "namespace": stage.name(),
                "name": meta["name"], "uid": meta["uid"], "fieldPath": "spec.containers{main}",
            },
        }));
    }
}

#[tokio::test]
async fn failed_readiness_probes_count_after_the_grace_that_the_annotation_gives() {
    let plane = ControlPlane::attach();
    let stage = Stage::new(&plane, "probes").await;
    let probed = |name: &str| {
        deployment(stage.name(), name, 1)
            .annotated("sim.kzero/ready", "never")
            .with(
                "/spec/template/spec/containers",
                json!([{
                    "name": "main", "image": "registry.invalid/main:1",
                    "readinessProbe": {"httpGet": {"port": 80}},
                }]),
            )
    };
    let key = "werf.io/ignore-readiness-probe-fails-for-main";
    let objects = [probed("usual"), probed("ignored").annotated(key, "1h")];
    for object in &objects {
        plane.apply(object);
    }
    fail_probes(&plane, &stage);
    let results = stage.ready(&objects, Role::Manifest, 6).await;
    let text = failure(&results[0]);
    assert!(text.contains("Readiness probe failed"), "{text}");
    assert!(text.ends_with("failures: 5, allowed: 1"), "{text}");
    assert!(timeout(&results[1]).contains("0 of 1 ready"), "{results:?}");
}

#[tokio::test]
async fn pods_of_the_old_revision_are_not_blamed() {
    let plane = ControlPlane::attach();
    let stage = Stage::new(&plane, "notblamed").await;
    let old = deployment(stage.name(), "web", 1)
        .annotated("sim.kzero/fail", "crash")
        .annotated("sim.kzero/backoff", "0.3");
    plane.apply(&old);
    let pods = stage.space.path("api/v1", "pods");
    plane.wait_until(&pods, Duration::from_secs(30), |pods| {
        pods.to_string().contains("CrashLoopBackOff")
    });
    // The old pod crashes on while the new one takes its time.
    let new = deployment(stage.name(), "web", 1)
        .annotated("sim.kzero/fail", "")
        .annotated("sim.kzero/start", "3");
    let results = stage.ready(&[new], Role::Manifest, 60).await;
    assert!(results[0].is_ok(), "{results:?}");
}

#[tokio::test]
async fn a_failure_that_is_to_be_ignored_is_told_and_passed_over() {
    let plane = ControlPlane::attach();
    let stage = Stage::new(&plane, "ignored").await;
    let ignore =
        |object: Value| object.annotated("werf.io/fail-mode", "IgnoreAndContinueDeployProcess");
    let failing = |name: &str| {
        job(stage.name(), name)
            .annotated("sim.kzero/exit", "3")
            .with("/spec/backoffLimit", 0)
    };
    let objects = [ignore(failing("ignored")), failing("counted")];
    let results = stage.ready(&objects, Role::Manifest, 60).await;
    assert!(results[0].is_ok(), "{results:?}");
    let text = failure(&results[1]);
    assert!(
        text.starts_with("job counted failed: BackoffLimitExceeded"),
        "{text}"
    );
    let warnings = stage.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("job ignored failed: BackoffLimitExceeded"));
}

#[tokio::test]
async fn a_custom_resource_that_nothing_happens_to_fails_after_its_time() {
    let plane = ControlPlane::attach();
    let stage = Stage::new(&plane, "idle").await;
    let group = format!("{}.example.com", stage.name());
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }},
            }],
        },
    });
    let defined = stage.ready(&[definition], Role::Crd, 60).await;
    assert!(defined[0].is_ok(), "{defined:?}");
    // The definition is ready when its kind is served: nothing else is waited for.
    let thing = |name: &str, status: Value| {
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "Thing",
            "metadata": {
                "namespace": stage.name(), "name": name,
                "annotations": {"werf.io/no-activity-timeout": "1s"},
            },
            "status": status,
        })
    };
    let objects = [
        thing("waits", json!({"phase": "Pending"})),
        thing("bare", json!({})),
        thing(
            "good",
            json!({"conditions": [{"type": "Ready", "status": "True"}]}),
        ),
        thing("bad", json!({"phase": "Failed"})),
    ];
    let results = stage.ready(&objects, Role::Manifest, 60).await;
    plane.delete(&format!(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{group}"
    ));
    assert_eq!(
        failure(&results[0]),
        "nothing has happened to it for 1s: it is Pending"
    );
    assert!(results[1].is_ok(), "{results:?}");
    assert!(results[2].is_ok(), "{results:?}");
    assert_eq!(failure(&results[3]), "it is Failed");
}

#[tokio::test]
async fn a_claim_that_waits_for_its_first_consumer_is_ready_while_nobody_uses_it() {
    let plane = ControlPlane::attach();
    let stage = Stage::new(&plane, "claims").await;
    let objects = [
        pvc(stage.name(), "unused").with("/spec/storageClassName", "wait"),
        pvc(stage.name(), "bound").with("/spec/storageClassName", "standard"),
    ];
    let results = stage.ready(&objects, Role::Manifest, 30).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let unused = plane
        .get(&stage.space.path("api/v1", "persistentvolumeclaims/unused"))
        .unwrap();
    assert_eq!(unused["status"]["phase"], "Pending");
}

#[tokio::test]
async fn fewer_pods_than_wanted_are_ready_with_a_warning() {
    let plane = ControlPlane::attach();
    let stage = Stage::new(&plane, "fewer").await;
    // A StatefulSet would need all; one pod of four fits nowhere but on a node that another has.
    let object = deployment(stage.name(), "web", 4)
        .with(
            "/spec/strategy",
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}}),
        )
        .annotated("sim.kzero/start", "0.1");
    plane.apply(&object);
    let pods = stage.space.path("api/v1", "pods");
    let ready = |pods: &Value| pods.to_string().matches("\"type\":\"Ready\"").count() >= 4;
    plane.wait_until(&pods, Duration::from_secs(30), ready);
    let first = plane.list(&pods).into_iter().next().unwrap();
    let name = first["metadata"]["name"].as_str().unwrap();
    plane.patch(
        &stage.space.path("api/v1", &format!("pods/{name}")),
        &json!({"metadata": {"annotations": {"sim.kzero/ready": "never"}}}),
    );
    let path = stage.space.path("apis/apps/v1", "deployments/web");
    plane.wait_until(&path, Duration::from_secs(30), |web| {
        web["status"]["readyReplicas"] == 3 && web["status"]["updatedReplicas"] == 4
    });
    let item = stage.item(&object, Role::Manifest);
    let budget = super::stage::budget(30);
    let result = stage
        .track(async |tracker| tracker.ready(&item, &budget).await)
        .await;
    assert!(result.is_ok(), "{result:?}");
    let warnings = stage.warnings();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("3 of 4 ready"), "{warnings:?}");
}

const NOWHERE: &str = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: work\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      nodeSelector: {no: such}\n      containers: [{name: main, image: example/main:1}]\n";
const YEARLY: &str = "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: yearly\nspec:\n  suspend: true\n  schedule: \"0 0 1 1 *\"\n  jobTemplate:\n    spec:\n      template:\n        spec:\n          restartPolicy: Never\n          containers: [{name: main, image: example/main:1}]\n";

async fn install(world: &World<'_>, wait_for_jobs: bool) -> Result<(), String> {
    let templates = [
        ("templates/job.yaml", NOWHERE),
        ("templates/cron.yaml", YEARLY),
    ];
    let deploy = Deploy {
        name: "web".to_owned(),
        options: Options {
            wait: true,
            wait_for_jobs,
            ..Options::default()
        },
        render: render(files(&templates), json!({})),
        timing: timing(4),
    };
    world
        .with(
            Interrupt::never(),
            kzero_cluster::ApplyMode::Live,
            async |engine| engine.deploy(deploy).await,
        )
        .await
        .map(|_| ())
        .map_err(|error| error.to_string())
}

#[tokio::test]
async fn l19_jobs_are_waited_for_when_asked_and_suspended_cron_jobs_never() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "l19").await;
    install(&world, false).await.unwrap();
    let world = World::new(&plane, "l19jobs").await;
    let error = install(&world, true).await.unwrap_err();
    // L05: the object and the reason are in the error.
    let job = format!("Job {}/work is not ready", world.space.name());
    assert!(error.contains(&job), "{error}");
    assert!(error.contains("no node for pod work-"), "{error}");
    assert!(!error.contains("yearly"), "{error}");
}
