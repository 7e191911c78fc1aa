//! Flags, usage, output forms, exit codes without a run.

use kzero_testkit::{MiniApi, objects};
use serde_json::Value;

use crate::{dry, kzero, live};

#[test]
fn usage_errors_are_exit_1_with_a_hint() {
    // S-6.2
    for arguments in [
        vec!["nonsense"],
        vec!["down", "--nonsense"],
        vec!["analyze", "-o", "xml"],
        vec!["--log-level", "loud", "version"],
        vec!["completion"],
        vec!["completion", "tcsh"],
        vec!["init"],
        vec!["down", "--wait-lock", "soon"],
    ] {
        let outcome = kzero().args(arguments.clone()).run();
        outcome.assert_code(1);
        assert!(
            outcome.stderr.contains("help") || outcome.stderr.contains("expected"),
            "{arguments:?}: {}",
            outcome.stderr
        );
        assert_eq!(outcome.stdout, "", "{arguments:?}");
    }
}

#[test]
fn help_and_version_end_with_0() {
    kzero().run().assert_code(0).assert_stdout("Usage:");
    kzero()
        .args(["--help"])
        .run()
        .assert_code(0)
        .assert_stdout("Usage:");
    kzero()
        .args(["help", "down"])
        .run()
        .assert_code(0)
        .assert_stdout("--dry-run");
    for flag in ["-v", "-V", "--version"] {
        let outcome = kzero().args([flag]).run();
        outcome.assert_code(0);
        assert_eq!(outcome.stdout, format!("{}\n", env!("CARGO_PKG_VERSION")));
    }
    let outcome = kzero().args(["version"]).run();
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0], format!("kzero {}", env!("CARGO_PKG_VERSION")));
    assert!(lines[1].starts_with("commit ") && lines[2].starts_with("build "));
    assert!(lines[3].starts_with("branch "));
}

#[test]
fn the_kubectl_plugin_calls_itself_by_its_name() {
    // S-6.34
    for value in ["1", "true", "yes"] {
        let outcome = kzero()
            .env("KZERO_FORCE_KUBECTL_PLUGIN", value)
            .args(["version"])
            .run();
        assert!(
            outcome.stdout.starts_with("kubectl-kzero "),
            "{}",
            outcome.stdout
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("kubectl-kzero");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kzero"), &link).unwrap();
    let outcome = kzero_testkit::Kzero::new(&link).args(["version"]).run();
    assert!(
        outcome.stdout.starts_with("kubectl-kzero "),
        "{}",
        outcome.stdout
    );
}

#[test]
fn completions_exist_for_four_shells() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let outcome = kzero().args(["completion", shell]).run();
        outcome
            .assert_code(0)
            .assert_stdout("kzero")
            .assert_stdout("analyze");
    }
}

#[test]
fn the_sample_is_printed_before_any_command_and_loads_without_a_warning() {
    // S-1.23
    let sample = kzero().args(["--print-sample-config", "down"]).run();
    sample.assert_code(0);
    assert_eq!(sample.stderr, "");
    let outcome = kzero().profile(&sample.stdout).args(["analyze"]).run();
    outcome.assert_code(0).assert_stdout("Run mode: dry-run");
    assert!(
        !outcome.stderr.contains("unknown key"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn the_target_is_a_block_a_slug_or_json() {
    // S-6.27 to S-6.31
    let api = MiniApi::start_blocking();
    let base = || {
        kzero()
            .profile(
                "schema_version: \"1.0\"\nclient: {id: team-a}\ncluster: {name: prod}\n\
                 run: {mode: live}\npipelines: {down: []}\n",
            )
            .cluster(&api)
    };
    let block = base().args(["target"]).run();
    block
        .assert_code(0)
        .assert_stdout("Kubernetes target:")
        .assert_stdout("  client_id: team-a");
    block.assert_stdout("  config_metadata: name=\"prod\" environment=\"\" (YAML label only; not verified against the API)");
    block.assert_stderr("kzero target finished in ");
    assert!(
        block.stdout.ends_with("\n\n"),
        "S-6.4: an empty line follows"
    );
    let slug = base().args(["target", "--output", "slug"]).run();
    slug.assert_code(0);
    assert_eq!(slug.stdout.lines().count(), 1);
    assert_eq!(slug.stderr, "", "no summary");
    let json = base().args(["target", "--output", "json"]).run();
    let document: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(document["client_id"], "team-a");
    assert!(api.requests().is_empty(), "the API is not asked");
    kzero()
        .profile(&live("pipelines: {down: []}\n"))
        .args(["target"])
        .run()
        .assert_code(2)
        .assert_stderr("kubernetes target: ");
}

#[test]
fn json_lines_are_one_object_each_on_both_streams() {
    // S-7.7
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("app", "web", 1));
    let profile = "schema_version: \"1.0\"\nhook: 1\nclient: {id: \"a b\"}\nrun: {mode: live}\n\
                   pipelines:\n  down:\n    - deployment.app/web: {pre: ./x.sh}\n    - deployment.app/gone\n";
    let outcome = kzero()
        .profile(profile)
        .script("x.sh", "echo one; echo; printf 'two \\377 \\n'\n")
        .cluster(&api)
        .args(["down", "--log-format", "json"])
        .run();
    outcome.assert_code(3);
    let mut kinds = std::collections::BTreeSet::new();
    for line in outcome.stdout.lines().chain(outcome.stderr.lines()) {
        let object: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        for key in ["time", "app", "level", "kind", "msg"] {
            assert!(object[key].is_string(), "{key} in {line}");
        }
        let kind = object["kind"].as_str().unwrap().to_owned();
        // S-7.7: the client id stands on all but live lines.
        assert_eq!(object["client_id"].is_string(), kind != "live", "{line}");
        kinds.insert(kind);
    }
    for kind in [
        "live",
        "target",
        "output",
        "warning",
        "command.summary",
        "error",
    ] {
        assert!(kinds.contains(kind), "{kind} in {kinds:?}");
    }
}

#[test]
fn the_log_level_hides_lines_but_not_results_nor_the_final_error() {
    // S-7.3
    let broken = kzero().args(["analyze", "--log-level", "ERR"]).run();
    broken.assert_code(1).assert_stderr("kzero.yaml");
    let outcome = kzero()
        .profile(&dry("pipelines: {down: []}\n"))
        .args(["analyze", "--log-level", "error", "-o", "json"])
        .run();
    let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(document["run"]["mode"], "dry-run");
    let quiet = kzero()
        .profile(&dry("pipelines: {down: []}\n"))
        .args(["analyze", "--log-level", "warning"])
        .run();
    assert_eq!(quiet.stdout.trim(), "");
    let loud = kzero()
        .profile(&dry("retry: {attempts: 3}\npipelines: {down: []}\n"))
        .args(["analyze", "--log-level", "DBG"])
        .run();
    loud.assert_stdout("[DBG] - Schema: 1.0")
        .assert_stdout("[DBG] - Retry: attempts=3\n");
}

#[test]
fn the_summary_is_coloured_only_when_asked() {
    // S-7.6
    let run = |pairs: &[(&str, &str)], colour: &str| {
        let profile = format!(
            "schema_version: \"1.0\"\nrun: {{mode: dry-run, color: {colour}}}\npipelines: {{down: []}}\n"
        );
        let mut kzero = kzero()
            .profile(&profile)
            .env_remove("NO_COLOR")
            .args(["analyze"]);
        for (name, value) in pairs {
            kzero = kzero.env(*name, *value);
        }
        kzero.run().stderr.contains('\u{1b}')
    };
    assert!(!run(&[], "auto"), "no terminal");
    assert!(run(&[], "always"));
    assert!(run(&[("KZERO_COLOR", "always")], "auto"));
    assert!(run(&[("FORCE_COLOR", "1")], "auto"));
    assert!(!run(&[("FORCE_COLOR", "0")], "auto"));
    assert!(!run(
        &[("KZERO_COLOR", "never"), ("FORCE_COLOR", "1")],
        "auto"
    ));
    assert!(!run(&[("NO_COLOR", "1")], "always"));
    assert!(!run(&[("KZERO_COLOR", "always")], "never"));
}

#[test]
fn what_is_not_available_loads_and_is_refused_live() {
    let rows = [(
        "infra_probe: {enabled: true, pipeline: {up: [custom: ./x.sh]}}\n",
        "infra_probe",
    )];
    for (section, name) in rows {
        let text = format!("{section}pipelines: {{down: []}}\n");
        let run = |profile: &str, arguments: &[&str]| {
            let kzero = kzero().profile(profile).script("x.sh", "true\n");
            kzero.args(arguments.iter().copied()).run()
        };
        run(&live(&text), &["analyze"])
            .assert_code(0)
            .assert_stderr(name);
        let refused = run(&live(&text), &["down"]);
        refused
            .assert_code(1)
            .assert_stderr(name)
            .assert_stderr("not available yet");
        run(&live(&text), &["up"])
            .assert_code(1)
            .assert_stderr("not available yet");
    }
    kzero()
        .profile(&live("pipelines: {down: []}\n"))
        .args(["down", "--log-dir", "logs"])
        .run()
        .assert_code(1)
        .assert_stderr("not available yet");
    let verify = "schema_version: \"1.0\"\nrun: {mode: live, verify: true}\npipelines: {up: []}\n";
    kzero()
        .profile(verify)
        .args(["up"])
        .run()
        .assert_code(1)
        .assert_stderr("run.verify");
}

#[test]
fn init_writes_a_profile_that_analyze_accepts() {
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("app", "web", 3));
    api.apply(objects::statefulset("app", "postgres", 1));
    api.apply(objects::cronjob("app", "nightly"));
    let place = kzero().cluster(&api);
    place
        .run_with(["init", "-n", "app", "-o", "kzero.yaml"])
        .assert_code(0);
    let analyzed = place.run_with(["analyze"]);
    analyzed
        .assert_code(0)
        .assert_stdout("  0: cronjob.app/nightly (patch cronjob spec.suspend=true)")
        .assert_stdout("  2: statefulset.app/postgres (wait_for_termination: true)")
        .assert_stdout("  0: statefulset.app/postgres (replicas: 1, wait_for_ready: true)");
    assert!(!analyzed.stderr.contains("warning"), "{}", analyzed.stderr);
    place
        .run_with(["init", "-n", "app", "-o", "kzero.yaml"])
        .assert_code(1)
        .assert_stderr("never replaced");
    place
        .run_with(["init", "-n", "nowhere"])
        .assert_code(2)
        .assert_stderr("nowhere");
}

#[test]
fn a_usage_error_is_a_json_object_when_lines_are() {
    // S-7.7
    for arguments in [
        vec!["down", "--log-format", "json", "--bogus"],
        vec!["--log-format=json", "nonsense"],
    ] {
        let outcome = kzero().args(arguments).run();
        outcome.assert_code(1);
        for line in outcome.stderr.lines() {
            let object: Value = serde_json::from_str(line).unwrap();
            assert_eq!(object["kind"], "error");
        }
    }
}

#[test]
fn a_process_directory_that_is_gone_does_not_keep_what_needs_none_from_working() {
    // S-1.2
    let place = kzero().file("p.yaml", &dry("pipelines: {down: []}\n"));
    let program = env!("CARGO_BIN_EXE_kzero");
    let script = format!(
        "mkdir gone && cd gone && rmdir ../gone && '{program}' --version && '{program}' -C '{}' -c p.yaml analyze",
        place.dir().display()
    );
    #[expect(
        clippy::disallowed_methods,
        reason = "the directory has to vanish under a process"
    )]
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(place.dir())
        .env_remove("KUBECONFIG")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("Config: p.yaml"), "{text}");
}

#[test]
fn a_missing_program_is_found_before_anything_is_sent() {
    let api = MiniApi::start_blocking();
    let rows = [
        (
            "command: {shell: no-such-shell}\n",
            "native",
            "custom: ./x.sh",
            "command.shell",
        ),
        (
            "command: {kubectl: no-such-kubectl}\n",
            "shell",
            "deployment.a/b",
            "command.kubectl",
        ),
        (
            "command: {helm: no-such-helm}\nhelm: {workspace: w}\n",
            "shell",
            "release.a/b",
            "command.helm",
        ),
    ];
    for (command, execution, step, key) in rows {
        let profile = format!(
            "schema_version: \"1.0\"\nrun: {{mode: live, execution: {execution}}}\n{command}pipelines:\n  down:\n    - {step}\n"
        );
        let place = kzero()
            .cluster(&api)
            .profile(&profile)
            .script("x.sh", "true\n");
        place
            .run_with(["down"])
            .assert_code(1)
            .assert_stderr("not found on PATH")
            .assert_stderr(key);
        place
            .run_with(["down", "--dry-run"])
            .assert_stderr(&format!("or set {key}"));
    }
    assert!(api.requests().iter().all(|request| request.method == "GET"));
}

#[test]
fn shell_execution_without_passthrough_warns_of_the_hidden_kubeconfig() {
    let api = MiniApi::start_blocking();
    let place = kzero()
        .cluster(&api)
        .profile("schema_version: \"1.0\"\nrun: {mode: live, execution: shell, no_env_passthrough: true}\ncommand: {kubectl: ./kubectl}\npipelines:\n  down:\n    - deployment.a/b\n")
        .script("kubectl", "exit 0\n");
    place
        .run_with(["down"])
        .assert_code(0)
        .assert_stdout("no_env_passthrough hides KUBECONFIG");
}
