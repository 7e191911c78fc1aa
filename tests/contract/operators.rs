//! Two who run one profile at once (S-11.14 to S-11.17).

use std::time::Duration;

use kzero_testkit::{ControlPlane, Kzero, Namespace, Signal, objects};
use serde_json::{Value, json};

use crate::{kzero, live};

fn operator(plane: &ControlPlane, space: &Namespace<'_>) -> Kzero {
    kzero(plane, space)
        .limit(Duration::from_secs(180))
        .profile(&live(
            space,
            "pipelines:\n  down:\n    - deployment.NS/api\n    - custom: ./wait.sh\n    - deployment.NS/web\n  up:\n    - deployment.NS/web\n    - deployment.NS/api\n",
        ))
        .script("wait.sh", "echo here >there\nread line <gate\n")
}

fn lease(plane: &ControlPlane, space: &Namespace<'_>) -> Value {
    let path = space.path("apis/coordination.k8s.io/v1", "leases/kzero-kzero");
    plane.get(&path).unwrap_or_default()
}

fn sizes(plane: &ControlPlane, space: &Namespace<'_>) -> [Value; 2] {
    ["api", "web"].map(|name| {
        let path = space.path("apis/apps/v1", &format!("deployments/{name}"));
        plane.get(&path).unwrap()["spec"]["replicas"].clone()
    })
}

#[test]
fn of_two_operators_one_runs_and_a_paused_one_finds_its_lock_lost() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("two");
    plane.apply(&objects::deployment(space.name(), "api", 3));
    plane.apply(&objects::deployment(space.name(), "web", 2));
    let first = operator(&plane, &space);
    let there = first.fifo("there");
    let _gate = first.gate("gate");
    let running = first.spawn_with(["down"]);
    assert_eq!(there.wait(), "here");
    let holder = lease(&plane, &space)["spec"]["holderIdentity"].clone();
    let holder = holder.as_str().unwrap().to_owned();

    // Another state dir, and as far as anybody can tell another machine.
    let path = space.path("apis/coordination.k8s.io/v1", "leases/kzero-kzero");
    let elsewhere = json!({"metadata": {"annotations": {"kzero/machine": "another"}}});
    let second = operator(&plane, &space);
    second
        .run_with(["up"])
        .assert_code(5)
        .assert_stderr(&format!("{holder} runs kzero down since "));
    assert_eq!(sizes(&plane, &space), [json!(0), json!(2)]);

    // A holder that is paused renews nothing: its time ends, and the other one begins.
    running.signal(Signal::STOP);
    plane.patch(&path, &elsewhere);
    let taking = second.spawn_with(["up", "--wait-lock", "2m"]);
    taking.wait_for_output(&format!("the run lock of {holder} was taken over"));
    taking.wait().assert_code(0);
    assert_eq!(sizes(&plane, &space), [json!(3), json!(2)]);
    let third = operator(&plane, &space);
    let there = third.fifo("there");
    let mut gate = third.gate("gate");
    let working = third.spawn_with(["down"]);
    assert_eq!(there.wait(), "here");

    // Awake again it finds that out before it begins anything.
    running.signal(Signal::CONT);
    let outcome = running.wait();
    outcome
        .assert_code(3)
        .assert_stdout("pipeline interrupted (lost the run lock: ");
    assert_eq!(sizes(&plane, &space), [json!(0), json!(2)]);
    gate.open();
    working.wait().assert_code(0);
    assert_eq!(sizes(&plane, &space), [json!(0), json!(0)]);
    operator(&plane, &space).run_with(["up"]).assert_code(0);
    assert_eq!(sizes(&plane, &space), [json!(3), json!(2)]);
    assert!(lease(&plane, &space).is_null());
}
