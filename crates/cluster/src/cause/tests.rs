use serde_json::json;

use super::*;

fn pod(status: &Value) -> Pod {
    serde_json::from_value(
        json!({"metadata": {"name": "api-1", "namespace": "app"}, "status": status}),
    )
    .unwrap()
}

fn event(kind: &str, name: &str, reason: &str, message: &str, at: &str) -> Event {
    serde_json::from_value(json!({
        "metadata": {}, "type": "Warning", "reason": reason, "message": message, "lastTimestamp": at,
        "involvedObject": {"kind": kind, "namespace": "app", "name": name},
    }))
    .unwrap()
}

#[test]
fn s_11_31_unready_containers_are_told_with_their_state() {
    let rows = [
        (
            json!({"name": "c", "ready": false, "restartCount": 5, "image": "", "imageID": "",
                   "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off\n5m0s"}},
                   "lastState": {"terminated": {"exitCode": 137}}}),
            "pod app/api-1: container c waiting: CrashLoopBackOff: back-off 5m0s (last exit code 137, 5 restarts)",
        ),
        (
            json!({"name": "c", "ready": false, "state": {"waiting": {"reason": "ImagePullBackOff"}}}),
            "pod app/api-1: container c waiting: ImagePullBackOff",
        ),
        (
            json!({"name": "c", "ready": false, "state": {"running": {}}}),
            "pod app/api-1: container c running, not ready",
        ),
        (
            json!({"name": "c", "ready": false, "state": {"terminated": {"exitCode": 2, "reason": "Error"}}}),
            "pod app/api-1: container c ended with exit code 2 (Error)",
        ),
    ];
    for (container, line) in rows {
        let found = unready(&pod(
            &json!({"phase": "Running", "containerStatuses": [container]}),
        ));
        assert_eq!(found, [line]);
    }
    let fine = json!({"phase": "Running", "containerStatuses": [{"name": "c", "ready": true}],
        "initContainerStatuses": [{"name": "i", "ready": false, "state": {"terminated": {"exitCode": 0}}}]});
    assert!(unready(&pod(&fine)).is_empty());
    let evicted = pod(&json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}));
    assert_eq!(unready(&evicted), ["pod app/api-1: Evicted: low on memory"]);
}

#[test]
fn s_11_31_an_item_takes_ten_lines_at_most() {
    let mut lines = Vec::new();
    push(&mut lines, (0..10).map(|n| n.to_string()).collect());
    assert_eq!(lines.len(), 10);
    push(&mut lines, (0..30).map(|n| n.to_string()).collect());
    assert_eq!(lines.len(), 20);
    assert_eq!(lines[19], "… and 21 more");
}

#[test]
fn s_11_31_events_are_those_of_the_subject_and_the_last_five() {
    let subject =
        CauseSubject::Workload(WorkloadRef::new(crate::ScaleKind::Deployment, "app", "api"));
    let names = BTreeSet::from([("Deployment".to_owned(), "api".to_owned())]);
    let rows = [
        ("Deployment", "api", true),
        ("ReplicaSet", "api-5d4f8", true),
        ("Pod", "api-5d4f8-x2x", true),
        ("Pod", "api-gateway-5d4f8-x2x", false),
        ("StatefulSet", "api", false),
        ("Pod", "apix-1", false),
    ];
    for (kind, name, expected) in rows {
        let found = concerns(
            &event(kind, name, "r", "m", "2026-01-01T00:00:00Z"),
            &subject,
            &names,
        );
        assert_eq!(found, expected, "{kind} {name}");
    }
    let mut events: Vec<Event> = (0..7)
        .map(|n| {
            event(
                "Pod",
                "p",
                "BackOff",
                &format!("m{n}"),
                "2026-01-01T00:00:00Z",
            )
        })
        .collect();
    events[6].count = Some(3);
    events.push(event(
        "ReplicaSet",
        "api-1",
        "FailedCreate",
        "admission webhook \"x\" denied the request",
        "2026-01-01T00:00:00Z",
    ));
    events.push(events[7].clone());
    for name in ["api-1-x7", "api-1-b2"] {
        let message = format!("Error creating: pods \"{name}\" is forbidden: exceeded quota");
        events.push(event(
            "ReplicaSet",
            "api-1",
            "FailedCreate",
            &message,
            "2026-01-01T00:00:00Z",
        ));
    }
    let shown = warnings(&events);
    assert_eq!(shown.len(), 5);
    assert_eq!(shown[4], "event BackOff pod app/p (x3): m6");
    assert_eq!(
        creation_failures(&events),
        [
            "replicaset app/api-1: cannot create pods: admission webhook \"x\" denied the request",
            "replicaset app/api-1: cannot create pods: Error creating: pods \"api-1-x7\" is forbidden: exceeded quota"
        ]
    );
}

#[test]
fn s_11_31_conditions_that_are_bad_are_told() {
    let object = json!({"status": {"conditions": [
        {"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable", "message": "too few"},
        {"type": "Progressing", "status": "True", "reason": "x", "message": "y"},
        {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota"},
        {"type": "Failed", "status": "False"},
    ]}});
    assert_eq!(
        false_conditions(Some(&object)),
        [
            "condition Available=False (MinimumReplicasUnavailable): too few",
            "condition ReplicaFailure=True (FailedCreate): quota",
        ]
    );
}
