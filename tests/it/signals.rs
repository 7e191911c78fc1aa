//! TERM, INT and kill -9 in each stage of S-3.2 that exists.

use std::time::Duration;

use kzero_testkit::objects::Object;
use kzero_testkit::{Fault, FaultProxy, Kzero, MiniApi, Rule, Signal, objects};

use crate::{kzero, live};

/// A script that says where it is, then sleeps in a grandchild.
const HANG: &str = "echo here >there\nsleep 60\n";

fn place(api: &MiniApi, profile: &str) -> Kzero {
    kzero()
        .cluster(api)
        .profile(&live(profile))
        .script("hang.sh", HANG)
        .script("e.sh", "echo \"$KZERO_FAILED_STEP\" >>log\n")
}

fn stopped(place: &Kzero, command: &str, signal: Signal, line: &str, failed: &str) {
    let there = place.fifo("there");
    let running = place.spawn_with([command]);
    assert_eq!(there.wait(), "here");
    running.signal(signal);
    let outcome = running.wait();
    outcome.assert_code(3).assert_stdout(line);
    assert_eq!(
        place.read("log"),
        format!("{failed}\n"),
        "on-error ran once"
    );
    assert!(outcome.elapsed < Duration::from_secs(20));
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
}

#[test]
fn term_in_a_phase_hook() {
    let api = MiniApi::start_blocking();
    for (hook, command) in [
        ("pre-down", "down"),
        ("post-down", "down"),
        ("pre-up", "up"),
        ("post-up", "up"),
    ] {
        let place = place(
            &api,
            &format!(
                "hooks: {{{hook}: ./hang.sh, on-error: ./e.sh}}\npipelines: {{down: [], up: []}}\n"
            ),
        );
        let line =
            format!("[WRN] - [live] pipeline interrupted (signal received); last hook {hook}");
        stopped(
            &place,
            command,
            Signal::TERM,
            &line,
            &format!("hook:{hook}"),
        );
    }
}

#[test]
fn int_and_hup_in_a_custom_step() {
    let api = MiniApi::start_blocking();
    for signal in [Signal::INT, Signal::HUP] {
        let place = place(
            &api,
            "hooks: {on-error: ./e.sh}\npipelines:\n  down:\n    - custom: ./hang.sh\n    - custom: ./hang.sh\n",
        );
        stopped(
            &place,
            "down",
            signal,
            "pipeline interrupted (signal received); last step down[0]",
            "down[0]",
        );
    }
}

#[test]
fn term_in_a_step_hook_skips_the_main_action() {
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 2));
    let place = place(
        &api,
        "hooks: {on-error: ./e.sh}\npipelines:\n  down:\n    - deployment.a/b: {pre: ./hang.sh}\n",
    );
    let line = "pipeline interrupted (signal received); last step deployment.a/b (down[0])";
    stopped(&place, "down", Signal::TERM, line, "deployment.a/b");
    let object = api.get("/apis/apps/v1/namespaces/a/deployments/b").unwrap();
    assert_eq!(object["spec"]["replicas"], 2);
}

#[test]
fn term_in_a_wait_ends_at_once() {
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 0).annotated("sim.kzero/ready", "never"));
    let place = kzero().cluster(&api).profile(&live(
        "pipelines:\n  up:\n    - deployment.a/b: {replicas: 1, wait_for_ready: true}\n",
    ));
    let running = place.spawn_with(["up"]);
    running.wait_for_output("wait rollout deployment.a/b");
    let begin = std::time::Instant::now();
    running.signal(Signal::TERM);
    let outcome = running.wait();
    outcome
        .assert_code(3)
        .assert_stdout("last step deployment.a/b (up[0])");
    assert!(
        begin.elapsed() < Duration::from_secs(3),
        "{:?}",
        begin.elapsed()
    );
}

#[test]
fn term_while_the_api_does_not_answer_ends_within_the_grace() {
    // S-D.8: five seconds for a call in flight.
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 1));
    let proxy = FaultProxy::for_mini(&api);
    let count = proxy.add(Rule::new(Fault::BlackHole).path("/scale"));
    let folder = tempfile::tempdir().unwrap();
    let place = kzero()
        .kubeconfig(proxy.kubeconfig(folder.path()))
        .profile(&live("pipelines:\n  down:\n    - deployment.a/b\n"));
    let running = place.spawn_with(["down"]);
    let begin = std::time::Instant::now();
    while count.hit() == 0 {
        assert!(begin.elapsed() < Duration::from_secs(20));
        std::thread::yield_now();
    }
    running.signal(Signal::TERM);
    let begin = std::time::Instant::now();
    running.wait().assert_code(3);
    assert!(
        begin.elapsed() < Duration::from_secs(9),
        "{:?}",
        begin.elapsed()
    );
}

#[test]
fn term_in_the_retry_pause() {
    let api = MiniApi::start_blocking();
    let place = kzero()
        .cluster(&api)
        .profile(&live(
            "retry: {attempts: 5, delay: 2m}\npipelines:\n  down:\n    - custom: ./m.sh\n",
        ))
        .script("m.sh", "echo 'connection refused'; exit 1\n");
    let running = place.spawn_with(["down"]);
    running.wait_for_output("[retry] pipeline down step index 0 attempt 1/5");
    running.signal(Signal::TERM);
    running
        .wait()
        .assert_code(3)
        .assert_stdout("last step down[0]");
}

#[test]
fn term_in_preflight() {
    let api = MiniApi::start_blocking();
    let proxy = FaultProxy::for_mini(&api);
    let count = proxy.add(Rule::new(Fault::BlackHole).path("/version"));
    let folder = tempfile::tempdir().unwrap();
    let place = kzero()
        .kubeconfig(proxy.kubeconfig(folder.path()))
        .profile(&live(
            "hooks: {on-error: ./e.sh, pre-down: ./e.sh}\npipelines: {down: []}\n",
        ))
        .script("e.sh", "echo \"$KZERO_HOOK\" >>log\n");
    let running = place.spawn_with(["down"]);
    let begin = std::time::Instant::now();
    while count.hit() == 0 {
        assert!(begin.elapsed() < Duration::from_secs(20));
        std::thread::yield_now();
    }
    running.signal(Signal::TERM);
    running.wait().assert_code(3).assert_stderr("preflight: ");
    assert_eq!(
        place.read("log"),
        "on-error\n",
        "clean-up follows a failed preflight, S-3.24"
    );
}

#[test]
fn a_second_signal_kills_the_scripts_and_cuts_clean_up_short() {
    // S-3.27
    let api = MiniApi::start_blocking();
    let place = kzero()
        .cluster(&api)
        .profile(&live(
            "hooks: {on-error: ./e.sh}\npipelines:\n  down:\n    - custom: ./stubborn.sh\n",
        ))
        .script(
            "stubborn.sh",
            "trap 'echo told >there' TERM\necho here >there\nwhile :; do sleep 0.1; done\n",
        )
        .script(
            "e.sh",
            "trap '' TERM\necho cleaning >there\nwhile :; do sleep 0.1; done\n",
        );
    let there = place.fifo("there");
    let running = place.spawn_with(["down"]);
    assert_eq!(there.wait(), "here");
    running.signal(Signal::TERM);
    assert_eq!(there.wait(), "told");
    let begin = std::time::Instant::now();
    running.signal(Signal::TERM);
    let outcome = running.wait();
    outcome.assert_code(3);
    assert!(
        begin.elapsed() < Duration::from_secs(5),
        "{:?}",
        begin.elapsed()
    );
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
}

#[test]
fn a_signal_inside_clean_up_lets_it_end_and_a_second_cuts_it() {
    let api = MiniApi::start_blocking();
    let place = kzero()
        .cluster(&api)
        .profile(&live(
            "hooks: {on-error: ./e.sh}\npipelines:\n  down:\n    - custom: ./fail.sh\n",
        ))
        .script("fail.sh", "exit 1\n")
        .script(
            "e.sh",
            "echo cleaning >there\nread -r _ <go\necho cleaned >>log\n",
        );
    let there = place.fifo("there");
    let mut go = place.gate("go");
    let running = place.spawn_with(["down"]);
    assert_eq!(there.wait(), "cleaning");
    running.signal(Signal::TERM);
    go.open();
    running.wait().assert_code(3);
    assert_eq!(place.read("log"), "cleaned\n");
}

#[test]
fn a_script_that_ends_well_after_term_still_counts_as_interrupted() {
    // S-4.14
    let api = MiniApi::start_blocking();
    let place = kzero()
        .cluster(&api)
        .profile(&live(
            "pipelines:\n  down:\n    - custom: ./polite.sh\n    - custom: ./next.sh\n",
        ))
        .script(
            "polite.sh",
            "trap 'echo leaving; exit 0' TERM\necho here >there\nwhile :; do sleep 0.1; done\n",
        )
        .script("next.sh", "touch ran\n");
    let there = place.fifo("there");
    let running = place.spawn_with(["down"]);
    assert_eq!(there.wait(), "here");
    running.signal(Signal::TERM);
    running.wait().assert_code(3).assert_stdout("- leaving");
    assert!(!place.path("ran").exists());
}

#[test]
fn after_kill_9_the_next_run_does_the_rest() {
    // Steps are idempotent (S-2.20): a run that died in any stage is simply run again.
    let api = MiniApi::start_blocking();
    for hang in ["pre", "post"] {
        api.apply(objects::deployment("a", "one", 2));
        api.apply(objects::deployment("a", "two", 3));
        let profile = format!(
            "pipelines:\n  down:\n    - deployment.a/one: {{{hang}: ./once.sh}}\n    - deployment.a/two\n"
        );
        let place = kzero().cluster(&api).profile(&live(&profile)).script(
            "once.sh",
            "if [ -e second ]; then exit 0; fi\ntouch second\necho here >there\nsleep 60\n",
        );
        let there = place.fifo("there");
        let running = place.spawn_with(["down"]);
        assert_eq!(there.wait(), "here");
        running.kill9();
        assert_ne!(running.wait().code, 0);
        for process in place.left_behind() {
            let pid = rustix::process::Pid::from_raw(process.pid).unwrap();
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        place.run_with(["down"]).assert_code(0);
        for name in ["one", "two"] {
            let path = format!("/apis/apps/v1/namespaces/a/deployments/{name}");
            assert_eq!(api.get(&path).unwrap()["spec"]["replicas"], 0);
            api.delete(&path);
        }
    }
}

#[test]
fn term_while_the_profile_or_the_kubeconfig_hangs() {
    // S-9.4: also before anything was sent, a signal ends the command with 3.
    let place = kzero().profile(&live("pipelines: {down: []}\n"));
    let pipe = place.fifo("pipe");
    for arguments in [
        vec!["down", "-c", "pipe"],
        vec!["down", "--kubeconfig", "pipe"],
    ] {
        let running = place.spawn_with(arguments.clone());
        // The handlers stand once the process has a third thread: one writes, one reads.
        let tasks = format!("/proc/{}/task", running.pid());
        let begin = std::time::Instant::now();
        while std::fs::read_dir(&tasks).map_or(0, Iterator::count) < 3 {
            assert!(begin.elapsed() < Duration::from_secs(20), "{arguments:?}");
            std::thread::yield_now();
        }
        running.signal(Signal::TERM);
        running
            .wait()
            .assert_code(3)
            .assert_stderr("pipeline interrupted (signal received)");
    }
    drop(pipe);
}
