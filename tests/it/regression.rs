//! Faults that were found by trying to break kzero, each kept from coming back.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use kzero_testkit::{Fault, FaultProxy, MiniApi, Rule, objects};
use serde_json::Value;

use crate::{dry, kzero, live};

#[test]
fn a_script_that_never_stops_writing_is_still_timed_out() {
    // S-4.14: the clock must not wait for a gap in the output.
    let api = MiniApi::start_blocking();
    let outcome = kzero()
        .cluster(&api)
        .profile(&live(
            "hooks: {on-error: ./on-error.sh}\npipelines:\n  down:\n    - custom: ./flood.sh\n      timeout: 300ms\n",
        ))
        .script("flood.sh", "yes password=hunter2\n")
        .script("on-error.sh", "echo on-error ran\n")
        .limit(Duration::from_secs(20))
        .args(["down"])
        .run();
    outcome
        .assert_code(3)
        .assert_stdout("on-error ran")
        .assert_stderr("step timeout 300ms ran out");
    assert!(!outcome.stdout.contains("hunter2"));
    assert!(
        outcome.elapsed < Duration::from_secs(5),
        "{:?}",
        outcome.elapsed
    );
}

#[test]
fn a_script_that_floods_nul_and_invalid_bytes_is_passed_on() {
    // S-4.12: bytes that grow when they are replaced must not break the splitting of lines.
    let api = MiniApi::start_blocking();
    kzero()
        .cluster(&api)
        .profile(&live("pipelines:\n  down:\n    - custom: ./flood.sh\n"))
        .script(
            "flood.sh",
            "head -c 1000000 /dev/zero\nhead -c 1000000 /dev/zero | tr '\\0' '\\377' >&2\necho end\n",
        )
        .args(["down"])
        .run()
        .assert_code(0)
        .assert_stdout("end\n");
}

#[test]
fn a_document_with_secrets_in_it_stays_json() {
    // S-4.16, S-6.14: a mask takes the secret, not the quotes and commas around it.
    let api = MiniApi::start_blocking();
    let place = kzero().cluster(&api).profile(&dry(
        "notify: {webhook: {url: \"https://h.example/a\\\"b\\\\CANARY\"}}\npipelines:\n  down:\n    \
         - exec.a/b: {container: c, command: [mysql, --password, CANARY]}\n    \
         - exec.a/b: {container: c, command: [sh, \"TOKEN=CANARY\"]}\n    \
         - exec.a/b: {container: c, command: ['https://h.example/a\"b\\CANARY']}\n",
    ));
    let outcome = place.run_with(["analyze", "-o", "json"]);
    let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(
        document["down"][0]["detail"],
        "exec a/b container=c: mysql --password ***"
    );
    assert!(!outcome.stdout.contains("CANARY"), "{}", outcome.stdout);
}

#[test]
fn a_password_in_the_servers_address_is_not_in_the_target_document() {
    // S-4.16
    let kubeconfig = "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         contexts: [{name: c, context: {cluster: k, user: u}}]\n\
         clusters: [{name: k, cluster: {server: \"https://ops:CANARY@127.0.0.1:1\"}}]\n\
         users: [{name: u, user: {token: CANARY}}]\n";
    let place = kzero()
        .profile(&dry("pipelines: {down: []}\n"))
        .file("kc", kubeconfig)
        .args(["--kubeconfig", "kc"]);
    for output in ["json", "block"] {
        let outcome = place.run_with(["target", "-o", output, "--kubeconfig", "kc"]);
        outcome
            .assert_code(0)
            .assert_stdout("https://***@127.0.0.1:1");
        assert!(!outcome.stdout.contains("CANARY"), "{}", outcome.stdout);
    }
}

#[test]
fn a_profile_error_shows_no_secret_of_the_line() {
    // S-1.12 shows the line, S-4.16 masks what is secret in it.
    for line in [
        "notify: {webhook: {headers: {X-Auth: CANARY, \"X Auth\": CANARY, Z: [1]}, hedders: {}}}",
        "notify: {webhook: {headers: {\"X Auth\": CANARY}}}",
        "helm: {registries: [{host: a, username: u, pasword: CANARY-1}]}",
        "notify: {slack: {webhook_url: CANARY}}",
        "notify: {pagerduty: {routing_kee: CANARY-1}}",
        "notify: {pagerduty: {routing_key: [CANARY]}}",
    ] {
        let outcome = kzero()
            .profile(&dry(&format!("{line}\npipelines: {{down: [3]}}\n")))
            .args(["analyze"])
            .run();
        outcome.assert_code(1);
        assert!(!outcome.stderr.contains("CANARY"), "{}", outcome.stderr);
    }
}

#[test]
fn a_dry_run_of_shell_execution_makes_no_connection() {
    // S-3.21
    let api = MiniApi::start_blocking();
    let outcome = kzero()
        .cluster(&api)
        .profile(
            "schema_version: \"1.0\"\nrun: {mode: dry-run, execution: shell}\npipelines:\n  down:\n    \
             - cronjob.a/b\n    - pvc.a/b\n    - job.a/b\n    - deployment.a/b\n  up:\n    \
             - cronjob.a/b\n    - job.a/b: {manifest: j.yaml}\n    - statefulset.a/b\n",
        )
        .file(
            "j.yaml",
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: b}\nspec: {}\n",
        )
        .args(["reset"])
        .run();
    outcome
        .assert_code(0)
        .assert_stdout("[dry-run] patch cronjob spec.suspend=true cronjob.a/b\n")
        .assert_stdout("[dry-run] create job from manifest j.yaml (wait_for_complete=true)\n")
        .assert_stdout("[dry-run] would wait for job complete job.a/b (timeout 5m0s)\n")
        .assert_stdout("[dry-run] pipeline up step 2: statefulset.a/b\n");
    assert_eq!(api.requests().len(), 0, "{:?}", api.requests());
}

#[test]
fn a_warning_of_kubectl_is_not_taken_for_a_size_of_0() {
    // S-D.12: an `up` never shrinks what is up.
    let api = MiniApi::start_blocking();
    let kubectl = "echo \"$*\" >>calls\necho 'Warning: v1 is old, use 2' >&2\n\
         case $1 in get) printf 5 ;; esac\n";
    let profile = "schema_version: \"1.0\"\nrun: {mode: live, execution: shell}\n\
         command: {kubectl: ./kubectl}\npipelines:\n  up:\n    - deployment.a/b\n";
    let place = kzero()
        .cluster(&api)
        .profile(profile)
        .script("kubectl", kubectl)
        .args(["up"]);
    place.run().assert_code(0);
    assert!(
        place
            .read("calls")
            .contains("scale deployment/b -n a --replicas 5"),
        "{}",
        place.read("calls")
    );
    let place = kzero()
        .cluster(&api)
        .profile(profile)
        .script("kubectl", "echo \"$*\" >>calls\necho what\n")
        .args(["up"]);
    place
        .run()
        .assert_code(3)
        .assert_stderr("no size in what it wrote: what");
    assert!(!place.read("calls").contains("scale"));
}

#[test]
fn a_variable_that_is_no_text_is_an_error_that_names_it() {
    // S-1.18: it must not count as unset.
    let place = kzero().profile(&live("pipelines: {down: []}\n")).env(
        "KZERO_RUN_MODE",
        OsString::from_vec(b"dry-run\xff".to_vec()),
    );
    for command in ["analyze", "down"] {
        place
            .run_with([command])
            .assert_code(1)
            .assert_stderr("KZERO_RUN_MODE: the value is not UTF-8");
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the program starts with a stdout of the test's own"
)]
fn a_result_that_a_full_disk_swallows_is_a_failure() {
    // Half a profile of `init` with exit 0 would be taken for a whole one.
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::write(
        folder.path().join("kzero.yaml"),
        dry("pipelines: {down: []}\n"),
    )
    .unwrap();
    for arguments in [
        &["--print-sample-config"][..],
        &["version"],
        &["completion", "bash"],
        &["analyze", "-o", "json"],
    ] {
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_kzero"))
            .args(arguments)
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .env_remove("KUBECONFIG")
            .stdout(full)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("cannot write to standard output"), "{text}");
    }
}

/// An API server that answers /version and then, whatever it is asked, never stops.
fn endless_api(listener: std::net::TcpListener) {
    use std::io::{Read, Write};
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut request = [0; 8192];
                while let Ok(count) = stream.read(&mut request) {
                    if count == 0 {
                        return;
                    }
                    let text = String::from_utf8_lossy(&request[..count]);
                    if text.starts_with("GET /version") {
                        let body = r#"{"major":"1","minor":"36","gitVersion":"v1.36.0"}"#;
                        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
                        let length = body.len();
                        let _ = write!(stream, "{head}content-length: {length}\r\n\r\n{body}");
                        continue;
                    }
                    let head = "HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\n\"";
                    let mut sent = stream.write_all(head.as_bytes());
                    while sent.is_ok() {
                        sent = stream.write_all(&[b'a'; 65536]);
                    }
                }
            });
        }
    });
}

#[test]
fn an_answer_without_end_does_not_fill_the_memory() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    endless_api(listener);
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
         clusters: [{{name: k, cluster: {{server: \"http://{address}\"}}}}]\n\
         users: [{{name: u, user: {{}}}}]\n"
    );
    kzero()
        .profile(&live("pipelines:\n  down:\n    - deployment.a/b\n"))
        .file("kc", &kubeconfig)
        .args(["down", "--kubeconfig", "kc"])
        .run()
        .assert_code(3)
        .assert_stderr("cannot read the API server's answer to get deployments/scale: it is larger than 64 MiB");
}

#[test]
fn a_stopped_script_sees_the_term() {
    // S-4.14: a stopped process gets a signal only once it goes on.
    let api = MiniApi::start_blocking();
    let outcome = kzero()
        .cluster(&api)
        .profile(&live(
            "pipelines:\n  down:\n    - custom: ./stop.sh\n      timeout: 300ms\n",
        ))
        .script(
            "stop.sh",
            "trap 'echo saw TERM; exit 0' TERM\nkill -STOP $$\n",
        )
        .args(["down"])
        .run();
    outcome.assert_code(3).assert_stdout("saw TERM");
    assert!(
        outcome.elapsed < Duration::from_secs(5),
        "{:?}",
        outcome.elapsed
    );
}

#[test]
fn init_reads_the_namespaces_that_are_named_and_no_others() {
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 1));
    for name in ["", "a/../b", "-a", "A", "a.b"] {
        kzero()
            .cluster(&api)
            .run_with(["init", &format!("--namespace={name}")])
            .assert_code(1)
            .assert_stderr("expected a namespace");
    }
    assert_eq!(api.requests().len(), 0, "{:?}", api.requests());
}

#[test]
fn a_signal_is_told_before_the_script_that_it_ends_is_gone() {
    // S-3.26: who sees nothing for the ten seconds of a script's grace sends a second signal.
    let api = MiniApi::start_blocking();
    let place = kzero()
        .cluster(&api)
        .profile(&live("pipelines:\n  down:\n    - custom: ./slow.sh\n"))
        .script(
            "slow.sh",
            "trap 'read -r line <gate; echo gone; exit 0' TERM\necho ready\nwhile :; do sleep 0.1; done\n",
        )
        .args(["down"]);
    let mut gate = place.gate("gate");
    let running = place.spawn();
    running.wait_for_output("ready");
    running.interrupt();
    running.wait_for_output("pipeline interrupted (signal received); last step down[0]");
    gate.open();
    let outcome = running.wait();
    outcome.assert_code(3).assert_stdout("gone");
    assert_eq!(outcome.stdout.matches("pipeline interrupted").count(), 1);
}

#[test]
fn a_credential_plugin_without_end_does_not_fill_the_memory() {
    // S-1.30
    for body in ["yes\n", "yes >&2\n"] {
        let kubeconfig = "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
             contexts: [{name: c, context: {cluster: k, user: u}}]\n\
             clusters: [{name: k, cluster: {server: \"http://127.0.0.1:1\"}}]\n\
             users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin.sh, interactiveMode: Never}}}]\n";
        let place = kzero()
            .profile(&live("pipelines: {down: []}\n"))
            .file("kc", kubeconfig)
            .script("plugin.sh", body);
        place
            .run_with(["down", "--kubeconfig", "kc"])
            .assert_code(3)
            .assert_stderr("plugin.sh: it wrote more than 1 MiB");
        assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
    }
}

#[test]
fn a_size_is_told_once_however_often_a_conflict_repeats_it() {
    // S-2.9
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 2));
    let proxy = FaultProxy::for_mini(&api);
    proxy.add(
        Rule::new(Fault::status(409))
            .method("PATCH")
            .path("/scale")
            .first(3),
    );
    let folder = tempfile::tempdir().unwrap();
    let outcome = kzero()
        .kubeconfig(proxy.kubeconfig(folder.path()))
        .profile(&live("pipelines:\n  down:\n    - deployment.a/b\n"))
        .args(["down", "--log-level", "debug"])
        .run();
    outcome.assert_code(0);
    let count = |text: &str| outcome.stdout.matches(text).count();
    assert_eq!(
        count("scale deployment.a/b -> 0 replicas"),
        1,
        "{}",
        outcome.stdout
    );
    assert_eq!(
        count("[DBG] - [live] deployment a/b: changed in between"),
        3,
        "{}",
        outcome.stdout
    );
}

#[test]
fn a_reader_of_both_streams_that_stops_reading_does_not_keep_a_run_from_ending() {
    // S-3.29: `kzero down 2>&1 | less`, and nobody scrolls.
    let api = MiniApi::start_blocking();
    let place = kzero()
        .profile(&live(
            "hooks: {on-error: ./on-error.sh}\npipelines:\n  down:\n    - custom: ./chatty.sh\n",
        ))
        .script(
            "chatty.sh",
            "yes 0123456789012345678901234567890123456789 | head -n 10000\nexit 1\n",
        )
        .script("on-error.sh", "echo ran >marker\n");
    let (reader, writer) = std::io::pipe().unwrap();
    #[expect(
        clippy::disallowed_methods,
        reason = "the test needs one pipe for both streams that nobody reads"
    )]
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_kzero"))
        .arg("down")
        .current_dir(place.dir())
        .env("KUBECONFIG", api.kubeconfig(place.dir()))
        .stdout(writer.try_clone().unwrap())
        .stderr(writer)
        .spawn()
        .unwrap();
    let status = crate::ended(&mut child, Duration::from_secs(40));
    assert_eq!(status.code(), Some(3));
    assert_eq!(place.read("marker"), "ran\n");
    drop(reader);
}
