//! One run of a profile at a time (S-11.14 to S-11.19).

use kzero_testkit::{Fault, FaultProxy, Kzero, MiniApi, Rule, Signal};
use serde_json::{Value, json};

use crate::{kzero, live};

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases/kzero-kzero";
/// A run that says where it is and goes on when it is let.
const WAITS: &str =
    "pipelines:\n  down:\n    - custom: ./wait.sh\n    - custom: ./done.sh\n  up: []\n";

fn place(api: &MiniApi) -> Kzero {
    with_scripts(kzero().cluster(api))
}

fn with_scripts(place: Kzero) -> Kzero {
    place
        .profile(&live(WAITS))
        .script("wait.sh", "echo here >there\nread line <gate\n")
        .script("done.sh", "echo done >>log\n")
}

fn lease(holder: &str, age: i64) -> Value {
    let renewed = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(age);
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": "kzero-kzero",
            "namespace": "default",
            "annotations": {"kzero/command": "down", "kzero/started-at": "2026-01-02T03:04:05Z"},
        },
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": 60,
            "renewTime": format!("{renewed:.6}"),
            "acquireTime": "2026-01-02T03:04:05.000000Z",
        },
    })
}

#[test]
fn a_second_run_ends_with_5_and_names_the_first() {
    // S-11.14, S-11.15
    let api = MiniApi::start_blocking();
    let first = place(&api);
    let there = first.fifo("there");
    let mut gate = first.gate("gate");
    let running = first.spawn_with(["down"]);
    assert_eq!(there.wait(), "here");
    let held = api.get(LEASE).unwrap();
    let holder = held["spec"]["holderIdentity"].as_str().unwrap().to_owned();
    assert!(holder.contains(&format!("/{}/", running.pid())), "{holder}");
    assert_eq!(held["spec"]["leaseDurationSeconds"], 60);
    assert_eq!(held["metadata"]["annotations"]["kzero/command"], "down");

    let second = place(&api).profile(&live(
        "hooks: {on-error: ./e.sh}\npipelines: {up: [custom: ./done.sh]}\n",
    ));
    let second = second.script("e.sh", "echo error >>log\n");
    let outcome = second.run_with(["up"]);
    outcome
        .assert_code(5)
        .assert_stderr(&format!(
            "the profile is locked: {holder} runs kzero down since "
        ))
        .assert_stderr("--wait-lock");
    assert!(!second.path("log").exists(), "nothing else happened");
    assert!(
        !second.path(".local/state").exists(),
        "nor was it written down"
    );
    second.run_with(["resume"]).assert_code(5);
    // Whoever changes nothing need not wait.
    second.run_with(["up", "--dry-run"]).assert_code(0);
    second.run_with(["analyze"]).assert_code(0);

    let waiting = second.spawn_with(["up", "--wait-lock", "1m"]);
    waiting.wait_for_output("waiting for the run lock (elapsed 0s, at most 1m0s): ");
    gate.open();
    running.wait().assert_code(0);
    waiting.wait().assert_code(0);
    assert_eq!(second.read("log"), "done\n");
    assert!(api.get(LEASE).is_none(), "it is given back");
}

#[test]
fn a_lock_is_waited_for_no_longer_than_asked() {
    let api = MiniApi::start_blocking();
    api.apply(lease("ann@elsewhere/1/r1", 0));
    let outcome = place(&api).run_with(["up", "--wait-lock", "1s"]);
    outcome
        .assert_code(5)
        .assert_stderr("ann@elsewhere/1/r1 runs kzero down since 2026-01-02T03:04:05Z (run r1; Lease default/kzero-kzero)")
        .assert_stderr("--wait-lock 1s was not enough");
    // A signal ends the wait, and nothing was begun.
    let place = place(&api);
    let waiting = place.spawn_with(["up", "--wait-lock", "1h"]);
    waiting.wait_for_output("waiting for the run lock");
    waiting.signal(Signal::TERM);
    waiting.wait().assert_code(3);
}

#[test]
fn a_dead_holder_is_taken_over_from() {
    // S-11.16
    let api = MiniApi::start_blocking();
    let first = place(&api);
    let there = first.fifo("there");
    let _gate = first.gate("gate");
    let running = first.spawn_with(["down"]);
    assert_eq!(there.wait(), "here");
    let holder = api.get(LEASE).unwrap()["spec"]["holderIdentity"].clone();
    running.kill9();
    drop(running.wait());
    // On this machine the dead are known.
    place(&api)
        .run_with(["up"])
        .assert_code(0)
        .assert_stdout(&format!(
            "the run lock of {} was taken over",
            holder.as_str().unwrap()
        ));
    // On another its time has to end, by the clock of the API server.
    api.apply(lease("ann@elsewhere/1/r1", 61));
    place(&api)
        .run_with(["up"])
        .assert_code(0)
        .assert_stdout("the run lock of ann@elsewhere/1/r1 was taken over");
    api.apply(lease("ann@elsewhere/1/r1", 58));
    place(&api)
        .run_with(["up", "--wait-lock", "1m"])
        .assert_code(0)
        .assert_stdout("was taken over");
}

#[test]
fn a_machine_of_the_same_name_is_not_taken_for_this_one() {
    // S-11.16: names of machines need not be unique, numbers of processes are not.
    let api = MiniApi::start_blocking();
    let first = place(&api);
    let there = first.fifo("there");
    let _gate = first.gate("gate");
    let running = first.spawn_with(["down"]);
    assert_eq!(there.wait(), "here");
    let held = api.get(LEASE).unwrap();
    let holder = held["spec"]["holderIdentity"].as_str().unwrap().to_owned();
    running.kill9();
    drop(running.wait());
    let other = json!({"metadata": {"annotations": {"kzero/machine": "another"}}});
    api.patch(LEASE, &other);
    // The dead of another machine are not known; its Lease is as good as before, until it ends.
    place(&api)
        .run_with(["up"])
        .assert_code(5)
        .assert_stderr(&holder);
    let renewed = lease("", 61)["spec"]["renewTime"].clone();
    api.patch(LEASE, &json!({"spec": {"renewTime": renewed}}));
    place(&api)
        .run_with(["up"])
        .assert_code(0)
        .assert_stdout(&format!("the run lock of {holder} was taken over"));
}

#[test]
fn a_lock_that_others_took_ends_the_run() {
    // S-11.17, S-3.28
    let api = MiniApi::start_blocking();
    let place = place(&api).profile(&live(&format!("hooks: {{on-error: ./e.sh}}\n{WAITS}")));
    let place = place.script("e.sh", "echo error >>log\n");
    let there = place.fifo("there");
    let _gate = place.gate("gate");
    let running = place.spawn_with(["down"]);
    assert_eq!(there.wait(), "here");
    running.signal(Signal::STOP);
    api.patch(
        LEASE,
        &json!({"spec": {"holderIdentity": "bob@elsewhere/7/r7"}}),
    );
    running.signal(Signal::CONT);
    running.wait_for_output(
        "pipeline interrupted (lost the run lock: bob@elsewhere/7/r7 has taken it)",
    );
    let outcome = running.wait();
    outcome.assert_code(3);
    assert_eq!(place.read("log"), "error\n", "the next step did not begin");
    // The lock of the other is left alone.
    let held = api.get(LEASE).unwrap();
    assert_eq!(held["spec"]["holderIdentity"], "bob@elsewhere/7/r7");
}

#[test]
fn without_the_right_to_leases_a_file_locks_this_host() {
    // S-11.18
    let api = MiniApi::start_blocking();
    api.deny("*", "leases");
    let first = place(&api);
    let there = first.fifo("there");
    let mut gate = first.gate("gate");
    let running = first.spawn_with(["down"]);
    assert_eq!(there.wait(), "here");
    running.wait_for_output("run lock by ");
    let second = place(&api).env("KZERO_STATE_DIR", first.path(".local/state/kzero"));
    second
        .run_with(["up"])
        .assert_code(5)
        .assert_stderr(&format!("/{}/", running.pid()))
        .assert_stderr("runs kzero down since ");
    gate.open();
    running.wait().assert_code(0);
    second
        .run_with(["up"])
        .assert_code(0)
        .assert_stdout("for this host alone (");
    // A death gives it back.
    let third = place(&api);
    let there = third.fifo("there");
    let _gate = third.gate("gate");
    let running = third.spawn_with(["down"]);
    assert_eq!(there.wait(), "here");
    running.kill9();
    drop(running.wait());
    third.run_with(["up"]).assert_code(0);
}

#[test]
fn a_lock_that_could_not_be_asked_for_is_taken_before_anything_begins() {
    // S-3.2: a server that answers again in between must not let two runs begin.
    let api = MiniApi::start_blocking();
    api.apply(lease("ann@elsewhere/1/r1", 0));
    let proxy = FaultProxy::for_mini(&api);
    proxy.add(Rule::new(Fault::status(503)).path("/leases/").first(1));
    let place = place(&api);
    let kubeconfig = proxy.kubeconfig(place.dir());
    let place = place.kubeconfig(kubeconfig);
    place
        .run_with(["down"])
        .assert_code(3)
        .assert_stderr("the profile is locked: ann@elsewhere/1/r1");
    assert!(!place.path("log").exists());
}

#[test]
fn a_lock_whose_lease_was_deleted_is_taken_again() {
    let api = MiniApi::start_blocking();
    let place = place(&api);
    let there = place.fifo("there");
    let mut gate = place.gate("gate");
    let running = place.spawn_with(["down"]);
    assert_eq!(there.wait(), "here");
    api.delete(LEASE);
    running.wait_for_output("the Lease of the run lock was deleted by others; it is taken again");
    assert!(api.get(LEASE).is_some());
    gate.open();
    running.wait().assert_code(0);
}
