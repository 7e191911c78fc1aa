use serde_json::json;

use super::*;

fn pod(uid: &str, statuses: &Value) -> Value {
    json!({
        "metadata": {"name": format!("web-{uid}"), "uid": uid},
        "status": {"containerStatuses": statuses},
    })
}

fn waiting(reason: &str, restarts: i64) -> Value {
    json!([{
        "name": "main", "ready": false, "restartCount": restarts,
        "state": {"waiting": {"reason": reason, "message": "because"}},
    }])
}

fn running() -> Value {
    json!([{"name": "main", "ready": true, "restartCount": 1, "state": {"running": {}}}])
}

#[test]
fn each_crash_counts_once_however_often_its_status_is_seen() {
    let (mut ledger, tracking, now) = (Ledger::default(), Tracking::default(), Instant::now());
    let mut see = |status: &Value, at: Instant| {
        ledger.pod(&pod("a", status), false, &tracking, at);
        ledger.failures
    };
    let crash = |restarts| waiting("CrashLoopBackOff", restarts);
    assert_eq!(see(&crash(1), now), 1);
    assert_eq!(see(&crash(1), now), 1);
    assert_eq!(see(&crash(1), now + 100 * AGAIN), 1);
    assert_eq!(see(&running(), now), 1);
    assert_eq!(see(&crash(1), now), 1);
    assert_eq!(see(&crash(2), now), 2);
}

#[test]
fn a_container_that_cannot_be_made_counts_at_each_reason_and_again_after_a_while() {
    let (mut ledger, tracking, now) = (Ledger::default(), Tracking::default(), Instant::now());
    let mut see = |reason: &str, at: Instant| {
        let found = ledger.pod(&pod("a", &waiting(reason, 0)), false, &tracking, at);
        (ledger.failures, found.again)
    };
    assert_eq!(see("ErrImagePull", now), (1, Some(now + AGAIN)));
    assert_eq!(see("ErrImagePull", now), (1, Some(now + AGAIN)));
    let later = now + AGAIN / 2;
    assert_eq!(see("ImagePullBackOff", later), (2, Some(later + AGAIN)));
    let due = later + AGAIN;
    assert_eq!(see("ImagePullBackOff", due), (3, Some(due + AGAIN)));
    for reason in BROKEN {
        let mut ledger = Ledger::default();
        ledger.pod(&pod("a", &waiting(reason, 0)), false, &tracking, now);
        assert_eq!(ledger.failures, 1, "{reason}");
        assert!(ledger.last.contains(reason), "{}", ledger.last);
    }
    let mut ledger = Ledger::default();
    for harmless in ["ContainerCreating", "PodInitializing"] {
        ledger.pod(&pod("a", &waiting(harmless, 0)), false, &tracking, now);
    }
    assert_eq!(ledger.failures, 0);
}

#[test]
fn pods_count_each_for_itself_and_a_job_crashes_as_often_as_it_says_itself() {
    let (mut tracking, now) = (Tracking::default(), Instant::now());
    let crash = waiting("CrashLoopBackOff", 1);
    let mut ledger = Ledger::default();
    for uid in ["a", "b"] {
        ledger.pod(&pod(uid, &crash), false, &tracking, now);
    }
    assert_eq!(ledger.failures, 2);
    let mut ledger = Ledger::default();
    let told = ledger.pod(&pod("a", &crash), true, &tracking, now);
    assert_eq!((ledger.failures, told.notes.len()), (0, 1));
    tracking.failures_allowed_per_replica = Some(0);
    ledger.pod(&pod("a", &crash), true, &tracking, now);
    assert_eq!(ledger.failures, 1);
    ledger.pod(&pod("b", &waiting("ErrImagePull", 0)), true, &tracking, now);
    assert_eq!(ledger.failures, 2);
}

fn event(reason: &str, message: &str, count: i64) -> Value {
    json!({
        "metadata": {"uid": format!("{reason} {}", message.len())},
        "reason": reason, "message": message, "count": count,
        "lastTimestamp": "2026-01-01T00:01:00Z",
        "involvedObject": {"fieldPath": "spec.containers{main}"},
    })
}

#[test]
fn refused_pods_count_by_how_often_but_a_quota_is_only_told() {
    let (mut ledger, tracking) = (Ledger::default(), Tracking::default());
    let denied = "admission webhook \"x\" denied the request";
    let told = ledger.event(&event("FailedCreate", denied, 2), None, &tracking);
    assert_eq!(told.unwrap(), format!("cannot create pods: {denied}"));
    assert_eq!(ledger.failures, 1);
    ledger.event(&event("FailedCreate", denied, 2), None, &tracking);
    assert_eq!(ledger.failures, 1);
    ledger.event(&event("FailedCreate", denied, 3), None, &tracking);
    assert_eq!(ledger.failures, 2);
    let quota = "pods \"a\" is forbidden: exceeded quota: none";
    assert!(
        ledger
            .event(&event("FailedCreate", quota, 9), None, &tracking)
            .is_some()
    );
    let scaled = event("ScalingReplicaSet", "Scaled up", 1);
    assert_eq!(ledger.event(&scaled, None, &tracking), None);
    assert_eq!(ledger.failures, 2);
}

#[test]
fn a_failed_readiness_probe_counts_after_its_time_of_grace_and_each_time() {
    let started = |at: &str| {
        let mut pod = pod("a", &json!([]));
        pod["spec"]["containers"] = json!([{"name": "main", "readinessProbe": {}}]);
        pod["status"]["containerStatuses"] = json!([
            {"name": "main", "ready": false, "state": {"running": {"startedAt": at}}}
        ]);
        pod
    };
    let failed = |count| event("Unhealthy", "Readiness probe failed: no", count);
    let mut tracking = Tracking::default();
    // Usual values: 0 + 10 + 2 × 1 + (3 + 1 − 3) × 10 + 10 / 2 = 27 s.
    let mut ledger = Ledger::default();
    ledger.event(
        &failed(4),
        Some(&started("2026-01-01T00:00:33Z")),
        &tracking,
    );
    assert_eq!(ledger.failures, 0);
    let old = started("2026-01-01T00:00:32Z");
    ledger.event(&failed(4), Some(&old), &tracking);
    ledger.event(&failed(4), Some(&old), &tracking);
    assert_eq!(ledger.failures, 4);
    tracking
        .containers
        .entry("main".to_owned())
        .or_default()
        .ignore_probe = Some(Duration::from_secs(60));
    let mut ledger = Ledger::default();
    ledger.event(&failed(1), Some(&old), &tracking);
    assert_eq!(ledger.failures, 0);
    let live = event("Unhealthy", "Liveness probe failed: no", 1);
    ledger.event(&live, Some(&old), &tracking);
    assert_eq!(ledger.failures, 0);
}

#[test]
fn the_grace_of_a_probe_is_its_worst_case() {
    let seconds = |container: Value| grace(&container).as_secs();
    assert_eq!(
        seconds(json!({"readinessProbe": {"failureThreshold": 1}})),
        0
    );
    assert_eq!(
        seconds(json!({"readinessProbe": {"initialDelaySeconds": 30}})),
        57
    );
    let startup = json!({
        "readinessProbe": {"periodSeconds": 2},
        "startupProbe": {"periodSeconds": 5, "failureThreshold": 6, "initialDelaySeconds": 1},
    });
    assert_eq!(seconds(startup), 31 + 2 + 2 + 1);
    let hostile =
        json!({"readinessProbe": {"periodSeconds": i64::MAX, "failureThreshold": i64::MAX}});
    assert!(seconds(hostile) > 0);
}

#[test]
fn the_new_set_of_a_deployment_is_known_once_the_controller_has_seen_the_change() {
    let deployment = |observed: i64, revision: &str| {
        json!({
            "metadata": {"generation": 2, "annotations": {"deployment.kubernetes.io/revision": revision}},
            "status": {"observedGeneration": observed},
        })
    };
    let set = |uid: &str, revision: &str| {
        Rc::new(json!({
            "metadata": {"uid": uid, "annotations": {"deployment.kubernetes.io/revision": revision}},
        }))
    };
    let sets = [set("old", "1"), set("new", "2")];
    assert_eq!(new_set(&deployment(2, "2"), &sets).as_deref(), Some("new"));
    assert_eq!(new_set(&deployment(1, "1"), &sets), None);
    assert_eq!(new_set(&deployment(2, "3"), &sets), None);
    assert_eq!(new_set(&deployment(2, ""), &sets), None);
}

#[test]
fn a_pod_that_fits_nowhere_is_told_with_the_words_of_the_scheduler() {
    let mut nowhere = pod("a", &json!([]));
    nowhere["status"]["conditions"] = json!([{
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/3 nodes are available:\n 3 too small",
    }]);
    assert_eq!(
        unschedulable(&nowhere).as_deref(),
        Some("0/3 nodes are available: 3 too small")
    );
    assert_eq!(unschedulable(&pod("b", &json!([]))), None);
}

#[test]
fn events_of_earlier_runs_do_not_count() {
    let since: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
    let at = |time: &str| json!({"lastTimestamp": time});
    assert!(is_older(&at("2026-01-01T00:00:59Z"), since));
    assert!(!is_older(&at("2026-01-01T00:01:00Z"), since));
    assert!(!is_older(&json!({"lastTimestamp": null}), since));
    let again = json!({"lastTimestamp": "2026-01-01T00:00:00Z", "series": {"lastObservedTime": "2026-01-01T00:02:00Z"}});
    assert!(!is_older(&again, since));
}
