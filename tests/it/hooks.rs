//! H cases and chapter 4: environment, groups, output, odd names.

use std::time::Duration;

use kzero_testkit::{MiniApi, objects};
use serde_json::Value;

use crate::{kzero, live};

const SHOW: &str = "env | grep -E '^(KZERO_|KUBECONFIG|PATH|HOME|OUTER)' | sort >\"$1env-$KZERO_STEP_HOOK$KZERO_HOOK\" || true\n";

fn variables(text: &str) -> std::collections::BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn h01_the_table_of_variables() {
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 0));
    api.apply(objects::statefulset("db", "pg", 0));
    let place = kzero()
        .cluster(&api)
        .env("KZERO_STEP_CUSTOM", "outer")
        .env("KZERO_RELEASE_NAME", "outer")
        .env("OUTER", "kept")
        .profile(
            "schema_version: \"1.0\"\nclient: {id: \"team a\"}\nrun: {mode: live}\n\
             hooks: {pre-up: ./e.sh, on-error: ./e.sh}\npipelines:\n  up:\n    - deployment.a/b: {replicas: 1}\n    \
             - statefulset.db/pg: {pre: ./e.sh, replicas: 1}\n    - custom: ./e.sh\n    - custom: ./fail.sh\n",
        )
        .script("e.sh", SHOW)
        .script("fail.sh", "exit 1\n");
    place.run_with(["up"]).assert_code(3);
    let pre = variables(&place.read("env-pre"));
    for (name, value) in [
        ("KZERO_PHASE", "up"),
        ("KZERO_PIPELINE_STEP_INDEX", "1"),
        ("KZERO_STEP_HOOK", "pre"),
        ("KZERO_STEP_REF", "statefulset.db/pg"),
        ("KZERO_STEP_TYPE", "statefulset"),
        ("KZERO_STEP_NAMESPACE", "db"),
        ("KZERO_STEP_NAME", "pg"),
        ("KZERO_CLIENT_ID", "team a"),
        ("KZERO_COMMAND", "up"),
        ("OUTER", "kept"),
    ] {
        assert_eq!(pre.get(name).map(String::as_str), Some(value), "{name}");
    }
    for name in [
        "KZERO_OS_USER",
        "KZERO_OS_UID",
        "KZERO_RUN_ID",
        "PATH",
        "HOME",
        "KUBECONFIG",
    ] {
        assert!(pre.contains_key(name), "{name}");
    }
    for name in [
        "KZERO_STEP_CUSTOM",
        "KZERO_RELEASE_NAME",
        "KZERO_RELEASE_NAMESPACE",
        "KZERO_HOOK",
    ] {
        assert!(!pre.contains_key(name), "{name} does not apply");
    }
    let main = variables(&place.read("env-main"));
    assert_eq!(main["KZERO_STEP_CUSTOM"], "./e.sh");
    assert_eq!(main["KZERO_STEP_HOOK"], "main");
    assert!(!main.contains_key("KZERO_STEP_REF"));
    let hook = variables(&place.read("env-pre-up"));
    assert_eq!(hook["KZERO_HOOK"], "pre-up");
    assert_eq!(hook["KZERO_PHASE"], "up");
    assert!(!hook.contains_key("KZERO_STEP_HOOK"));
    let on_error = variables(&place.read("env-on-error"));
    assert_eq!(on_error["KZERO_FAILED_STEP"], "up[3]");
    assert!(on_error["KZERO_ERROR"].contains("exited with code 1"));
    assert_eq!(on_error["KZERO_PHASE"], "up");
}

#[test]
fn release_scripts_get_their_release() {
    // S-4.2, S-5.16: argument, directory, variables.
    let api = MiniApi::start_blocking();
    let place = kzero()
        .cluster(&api)
        .profile(
            "schema_version: \"1.0\"\nrun: {mode: live, execution: shell}\nhelm: {workspace: ./ws}\n\
             pipelines:\n  up:\n    - release.infra/pg: {pre: ./pre.sh}\n",
        )
        .script("pre.sh", "env | grep KZERO_ | sort >pre\n")
        .script("ws/pg.sh", "echo \"$@\" >args; pwd >dir; env | grep KZERO_ | sort >vars; echo \"$0\" >name\n");
    let outcome = place.run_with(["up"]);
    outcome
        .assert_code(0)
        .assert_stdout("[live] release script ws/pg.sh (up)");
    assert_eq!(place.read("ws/args"), "up\n");
    assert_eq!(
        place.read("ws/dir").trim(),
        place
            .path("ws")
            .canonicalize()
            .unwrap()
            .display()
            .to_string()
    );
    assert!(place.read("ws/name").starts_with('/'));
    let vars = variables(&place.read("ws/vars"));
    assert_eq!(vars["KZERO_RELEASE_NAME"], "pg");
    assert_eq!(vars["KZERO_RELEASE_NAMESPACE"], "infra");
    assert_eq!(vars["KZERO_PHASE"], "up");
    let pre = variables(&place.read("pre"));
    assert_eq!(pre["KZERO_RELEASE_NAME"], "pg");
    assert_eq!(pre["KZERO_STEP_TYPE"], "release");
}

#[test]
fn without_passthrough_a_script_sees_the_table_only() {
    // S-4.9
    let api = MiniApi::start_blocking();
    for by_flag in [true, false] {
        let setting = if by_flag {
            ""
        } else {
            ", no_env_passthrough: true"
        };
        let place = kzero()
            .cluster(&api)
            .env("OUTER", "hidden")
            .env("KZERO_RUN_COLOR", "never")
            .profile(&format!(
                "schema_version: \"1.0\"\nrun: {{mode: live{setting}}}\npipelines:\n  down:\n    - custom: ./e.sh\n"
            ))
            .script("e.sh", "export -p >seen; /usr/bin/env >vars\n");
        let mut arguments = vec!["down"];
        if by_flag {
            arguments.push("--no-env-passthrough");
        }
        place.run_with(arguments).assert_code(0);
        let vars = variables(&place.read("vars"));
        for name in vars.keys() {
            assert!(
                name.starts_with("KZERO_")
                    || ["PWD", "_", "SHLVL", "OLDPWD"].contains(&name.as_str()),
                "{name}"
            );
        }
        assert!(!vars.contains_key("KZERO_RUN_COLOR"));
        assert_eq!(vars["KZERO_COMMAND"], "down");
    }
}

#[test]
fn run_kubeconfig_reaches_scripts_as_an_absolute_path() {
    let api = MiniApi::start_blocking();
    let place = kzero()
        .profile("schema_version: \"1.0\"\nrun: {mode: live, kubeconfig: ./kc/config}\npipelines:\n  down:\n    - custom: ./e.sh\n")
        .script("e.sh", "echo \"$KUBECONFIG\" >seen\n");
    std::fs::create_dir(place.path("kc")).unwrap();
    std::fs::rename(api.kubeconfig(place.dir()), place.path("kc/config")).unwrap();
    place
        .run_with(["down"])
        .assert_code(0)
        .assert_stdout("  kubeconfig: ./kc/config");
    assert!(
        place.read("seen").trim().ends_with("/kc/config"),
        "{}",
        place.read("seen")
    );
    assert!(place.read("seen").starts_with('/'));
    // A context chosen by flag is the scripts' context too: a first file names it.
    let name = "kzero";
    drop(place.run_with(["down", "--context", name]));
}

#[test]
fn h03_a_timeout_takes_the_grandchildren_along() {
    let api = MiniApi::start_blocking();
    let place = kzero()
        .cluster(&api)
        .profile(
            "schema_version: \"1.0\"\nrun: {mode: live, operation_timeout: 1s}\n\
             hooks: {pre-down: ./h.sh}\npipelines: {down: []}\n",
        )
        .script("h.sh", "echo begin; sleep 60; echo end\n");
    let outcome = place.run_with(["down"]);
    outcome
        .assert_code(3)
        .assert_stdout("begin")
        .assert_stderr("hook pre-down: ");
    assert!(!outcome.stdout.contains("- end"));
    assert!(
        outcome.elapsed < Duration::from_secs(6),
        "{:?}",
        outcome.elapsed
    );
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
}

#[test]
fn a_script_that_ignores_term_is_killed_after_its_grace() {
    // S-4.14; in clean-up the grace is 2 s.
    let api = MiniApi::start_blocking();
    let place = kzero()
        .cluster(&api)
        .profile(
            "schema_version: \"1.0\"\nrun: {mode: live, cleanup_timeout: 500ms}\n\
             hooks: {on-error: ./stubborn.sh}\npipelines:\n  down:\n    - custom: ./fail.sh\n",
        )
        .script("fail.sh", "exit 1\n")
        .script(
            "stubborn.sh",
            "trap '' TERM; (trap '' TERM; sleep 61) & sleep 60; sleep 60\n",
        );
    let outcome = place.run_with(["down"]);
    outcome
        .assert_code(3)
        .assert_stderr("on-error hook: ")
        .assert_stderr("run.cleanup_timeout 500ms");
    assert!(
        outcome.elapsed < Duration::from_secs(8),
        "{:?}",
        outcome.elapsed
    );
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
}

#[test]
fn a_grandchild_that_keeps_the_pipes_open_does_not_hold_the_run() {
    // S-4.13
    let api = MiniApi::start_blocking();
    let place = kzero()
        .cluster(&api)
        .profile(&live("pipelines:\n  down:\n    - custom: ./h.sh\n"))
        .script("h.sh", "sleep 20 & echo done\n");
    let outcome = place.run_with(["down"]);
    outcome.assert_code(0).assert_stdout("- done");
    assert!(
        outcome.elapsed < Duration::from_secs(6),
        "{:?}",
        outcome.elapsed
    );
    for process in place.left_behind() {
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_raw(process.pid).unwrap(),
            rustix::process::Signal::KILL,
        );
    }
}

#[test]
fn h05_a_bashism_gets_a_hint() {
    let api = MiniApi::start_blocking();
    let place = |shell: &str| {
        kzero()
            .cluster(&api)
            .profile(&live(&format!(
                "{shell}hooks: {{pre-down: ./h.sh}}\npipelines: {{down: []}}\n"
            )))
            .file("h.sh", "#!/bin/bash\nset -o pipefail\n[[ 1 == 1 ]]\n")
    };
    place("")
        .run_with(["down"])
        .assert_code(3)
        .assert_stderr("command.shell");
    place("command: {shell: bash}\n")
        .run_with(["down"])
        .assert_code(0);
}

#[test]
fn h07_hostile_output_is_tamed_in_both_formats() {
    let api = MiniApi::start_blocking();
    let script = "head -c 5242880 /dev/zero | tr '\\0' x\nprintf 'a\\377\\000b\\033[31mred\\033[0m\\n'\n\
                  echo password=hunter2\necho 'Authorization: Bearer abcdef123'\n";
    for format in ["text", "json"] {
        let place = kzero()
            .cluster(&api)
            .profile(&live("pipelines:\n  down:\n    - custom: ./h.sh\n"))
            .script("h.sh", script);
        let outcome = place.run_with(["down", "--log-format", format]);
        outcome.assert_code(0);
        assert!(!outcome.stdout.contains("hunter2"));
        assert!(!outcome.stdout.contains("abcdef123"));
        assert!(!outcome.stdout.contains('\u{1b}'));
        assert!(!outcome.stdout.contains('\0'));
        let xs = outcome.stdout.matches('x').count();
        assert!(xs >= 5_242_880, "{xs}");
        assert!(outcome.stdout.lines().all(|line| line.len() < 66_000 + 400));
        if format == "json" {
            for line in outcome.stdout.lines() {
                serde_json::from_str::<Value>(line).unwrap();
            }
        }
    }
}

#[test]
fn h09_odd_file_names_are_not_expanded() {
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 1));
    let place = kzero()
        .cluster(&api)
        .profile(&live(
            "pipelines:\n  down:\n    - deployment.a/b: {pre: \"./hooks/a b $HOME;x.sh\"}\n",
        ))
        .file("hooks/a b $HOME;x.sh", "echo exactly-this\n");
    place
        .run_with(["down"])
        .assert_code(0)
        .assert_stdout("[live] hook pipeline-down-0-pre: ./hooks/a b $HOME;x.sh")
        .assert_stdout("- exactly-this");
}

#[test]
fn output_is_passed_on_while_the_script_runs() {
    // S-4.12
    let api = MiniApi::start_blocking();
    let place = kzero()
        .cluster(&api)
        .profile(&live("pipelines:\n  down:\n    - custom: ./h.sh\n"));
    let mut go = place.gate("go");
    let place = place.script("h.sh", "echo early\nread -r _ <go\necho late\n");
    let running = place.spawn_with(["down"]);
    running.wait_for_output("early");
    go.open();
    running.wait().assert_code(0).assert_stdout("- late");
}

#[test]
fn standard_input_is_empty_and_the_mode_bit_ignored() {
    // S-4.1, S-4.4
    let api = MiniApi::start_blocking();
    let place = kzero()
        .cluster(&api)
        .stdin("from outside\n")
        .profile(&live("pipelines:\n  down:\n    - custom: ./h.sh\n"))
        .file(
            "h.sh",
            "#!/nonexistent\nif read -r line; then echo \"got $line\"; else echo nothing; fi\n",
        );
    place
        .run_with(["down"])
        .assert_code(0)
        .assert_stdout("- nothing");
}
