//! The P cases, each under its id.

use std::time::Duration;

use kzero_profile::{Overrides, Phase, RunMode, duration};

use crate::support::{
    error_of, load, load_with, profile_of, up_steps, warnings_of, with_pipelines,
};

const MINIMAL: &str =
    "schema_version: \"1.0\"\nrun: {mode: dry-run}\npipelines: {down: [deployment.a/b]}\n";

#[test]
fn p01_unquoted_schema_version_is_told_to_be_quoted() {
    let error = error_of("schema_version: 1.0\nrun: {mode: dry-run}\npipelines: {down: []}\n");
    assert_eq!(
        error,
        "\
kzero.yaml:1:17: schema_version: the number 1.0 was read, but text is due
  1 | schema_version: 1.0
    |                 ^
  expected: \"1.0\" in quotes
  hint: write schema_version: \"1.0\""
    );
    let other = error_of("schema_version: \"2.0\"\nrun: {mode: dry-run}\npipelines: {down: []}\n");
    assert!(
        other.starts_with("kzero.yaml:1:17: schema_version \"2.0\" is not supported"),
        "{other}"
    );
}

#[test]
fn p03_tab_indent_names_the_line() {
    let error = error_of("schema_version: \"1.0\"\nrun:\n\tmode: dry-run\npipelines: {down: []}\n");
    assert_eq!(
        error,
        "\
kzero.yaml:3:1: found character that cannot start any token: line 3 is indented with a tab
  3 | \tmode: dry-run
    | ^
  expected: blanks; YAML forbids tabs in indentation"
    );
    // Other places where a tab stands for blanks.
    for (text, place) in [
        (
            "schema_version: \"1.0\"\nrun:\n  mode: dry-run\n\tcolor: auto\n",
            "kzero.yaml:4:1: ",
        ),
        (
            "pipelines:\n  down:\n\t- deployment.a/b\n",
            "kzero.yaml:3:1: ",
        ),
        (
            "pipelines:\n  down:\n  - deployment.a/b:\n    \treplicas: 3\n",
            "kzero.yaml:4:5: ",
        ),
        (
            "pipelines:\n  down:\n  - deployment.a/b\n\t- deployment.a/c\n",
            "kzero.yaml:4:1: ",
        ),
    ] {
        let error = error_of(text);
        assert!(
            error.starts_with(place) && error.contains("tab"),
            "{text:?} gave {error}"
        );
    }
}

#[test]
fn p05_anchors_and_merge_keys() {
    let profile = profile_of(
        "\
schema_version: \"1.0\"
x-d: &d {wait_for_ready: true, timeout: 10m}
run: {mode: dry-run}
pipelines:
  up:
    - deployment.a/b: {<<: *d, replicas: 3}
    - statefulset.a/db: *d
",
    );
    let steps = profile.pipelines.steps(Phase::Up);
    let shown: Vec<_> = steps
        .iter()
        .map(|s| {
            (
                s.body.to_string(),
                s.options.replicas(),
                s.options.bool("wait_for_ready"),
                s.timeout,
            )
        })
        .collect();
    let ten_minutes = Some(Duration::from_secs(600));
    assert_eq!(
        shown,
        [
            (
                "deployment.a/b".to_owned(),
                Some(3),
                Some(true),
                ten_minutes
            ),
            ("statefulset.a/db".to_owned(), None, Some(true), ten_minutes),
        ]
    );
    assert!(profile.warnings.is_empty(), "{:?}", profile.warnings);
}

#[test]
fn p05_explicit_keys_beat_merged_ones_and_earlier_sources_beat_later_ones() {
    let steps = up_steps(
        "\
up:
- deployment.a/one: &one {replicas: 1, timeout: 1m}
- deployment.a/two: &two {replicas: 2, timeout: 2m, wait_for_ready: true}
- deployment.a/three: {<<: [*one, *two], timeout: 3m}
- deployment.a/four: {timeout: 4m, <<: [*two, *one]}
- deployment.a/five: {<<: {replicas: 5}}
",
    );
    let shown: Vec<_> = steps
        .iter()
        .map(|s| {
            (
                s.options.replicas(),
                s.timeout.map(|t| t.as_secs() / 60),
                s.options.bool("wait_for_ready"),
            )
        })
        .collect();
    assert_eq!(shown[2], (Some(1), Some(3), Some(true)));
    assert_eq!(shown[3], (Some(2), Some(4), Some(true)));
    assert_eq!(shown[4], (Some(5), None, None));
}

#[test]
fn p05_a_merge_of_something_else_is_an_error() {
    let error = error_of(&with_pipelines("up:\n- deployment.a/b: {<<: 5}\n"));
    assert_eq!(
        error,
        "\
kzero.yaml:6:22: \"<<\" merges mappings, but the number 5 was read
  6 |   - deployment.a/b: {<<: 5}
    |                      ^
  expected: an alias of a mapping, or a list of such aliases
  hint: write for example \"<<: *defaults\" after \"x-defaults: &defaults {timeout: 10m}\""
    );
    let item = error_of(&with_pipelines(
        "up:\n- deployment.a/b: {<<: [{replicas: 1}, text]}\n",
    ));
    assert!(item.contains("but the text \"text\" was read"), "{item}");
    // In quotes it is an ordinary key.
    let quoted = error_of(&with_pipelines(
        "up:\n- deployment.a/b: {\"<<\": {replicas: 1}}\n",
    ));
    assert!(quoted.contains("unknown key \"<<\""), "{quoted}");
}

#[test]
fn p07_durations_of_a_step() {
    for (text, want) in [
        ("10m", "10m0s"),
        ("1h30m", "1h30m0s"),
        ("1.5h", "1h30m0s"),
        ("100ms", "100ms"),
        (".5s", "500ms"),
        ("1m1m", "2m0s"),
        ("+3s", "3s"),
        ("1µs", "1µs"),
    ] {
        let steps = up_steps(&format!("up:\n- deployment.a/b: {{timeout: {text}}}\n"));
        assert_eq!(
            steps[0].timeout.map(duration::format).as_deref(),
            Some(want),
            "{text}"
        );
    }
    // S-2.7: zero counts as not given; the bare integer is taken too (S-1.24).
    for zero in ["\"0\"", "0", "0s"] {
        assert_eq!(
            up_steps(&format!("up:\n- deployment.a/b: {{timeout: {zero}}}\n"))[0].timeout,
            None
        );
    }
    for bad in [
        "\"90\"", "1d", "10min", "5 m", "1H", "\"\"", "9999999h", "600", "-5m", "-5", "1.5",
        "[1m]", "~", "true",
    ] {
        let error = error_of(&with_pipelines(&format!(
            "up:\n- deployment.a/b: {{timeout: {bad}}}\n"
        )));
        assert!(
            error.starts_with("kzero.yaml:6:31: timeout"),
            "{bad} gave {error}"
        );
        assert!(
            error.contains("expected: a duration such as \"90s\", \"10m\" or \"1h30m\""),
            "{bad} gave {error}"
        );
    }
}

#[test]
fn p09_references() {
    profile_of(&with_pipelines(
        "down:\n- deployment.a/b\n- deployment.a/b.c\n- pvc.a/b\n",
    ));
    for (bad, words) in [
        (
            "release.infra/DB",
            "the name \"DB\" of \"release.infra/DB\" has the capital letter 'D'",
        ),
        ("\" deployment.a/b\"", "has a blank or a line break"),
        ("\"deployment.a/b \"", "has a blank or a line break"),
        ("\"deployment.a/b\\n\"", "has a blank or a line break"),
        ("deployment.a/b/c", "it has a second \"/\""),
        (
            "deployment.a.b/c",
            "the namespace \"a.b\" of \"deployment.a.b/c\" has a dot",
        ),
        ("deployment/a/b", "it has no dot behind the kind"),
        ("deployment.a", "it has no \"/\" between namespace and name"),
        ("DEPLOYMENT.a/b", "the kind \"DEPLOYMENT\" is unknown"),
        ("deploy.a/b", "the kind \"deploy\" is unknown"),
        (
            "deployment.-/-",
            "the namespace \"-\" of \"deployment.-/-\" has a '-' at an end",
        ),
        (
            "deployment.a/",
            "the name \"\" of \"deployment.a/\" is empty",
        ),
        (
            "deployment./b",
            "the namespace \"\" of \"deployment./b\" is empty",
        ),
        ("deployment.a/b_c", "has the character '_'"),
        ("deployment.a/b..c", "two dots in a row"),
        (
            "daemonset.kube-system/x",
            "a DaemonSet has no scale subresource",
        ),
        (
            "scale.a/b",
            "the kind scale is planned and not available yet",
        ),
        (
            "patch.a/b",
            "the kind patch is planned and not available yet",
        ),
        (
            "\"custom: ./x.sh\"",
            "is a text, but a custom step is a mapping",
        ),
        ("\"\"", "the step reference is empty"),
    ] {
        for item in [format!("- {bad}"), format!("- {bad}: {{}}")] {
            let error = error_of(&with_pipelines(&format!("down:\n{item}\n")));
            assert!(
                error.starts_with("kzero.yaml:6:5: ") && error.contains(words),
                "{item} gave {error}"
            );
            assert_eq!(
                error.matches("kzero.yaml:").count(),
                1,
                "{item} gave {error}"
            );
        }
    }
    let kinds = error_of(&with_pipelines("down:\n- deploy.a/b\n"));
    assert!(
        kinds.contains(
            "expected: one of deployment, statefulset, release, pvc, exec, job, cronjob, custom"
        ),
        "{kinds}"
    );
    assert!(
        kinds.contains("hint: did you mean deployment.a/b?"),
        "{kinds}"
    );
}

#[test]
fn p11_bom_and_crlf_load_like_the_plain_file() {
    let text = "schema_version: \"1.0\"\nrun: {mode: dry-run}\npipelines:\n  up:\n  - deployment.a/b:\n      replicas: 3\n";
    let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(profile_of(&windows).pipelines, profile_of(text).pipelines);
    let bad = text.replace("replicas: 3", "replicas: x");
    let windows = format!("\u{feff}{}", bad.replace('\n', "\r\n"));
    assert_eq!(error_of(&windows), error_of(&bad));
    assert!(
        error_of(&bad).starts_with("kzero.yaml:6:17: "),
        "{}",
        error_of(&bad)
    );
}

#[test]
fn p13_capital_keys_are_errors() {
    let error = error_of(
        "schema_version: \"1.0\"\nRun: {Mode: live}\nPipelines: {Down: [deployment.a/b]}\n",
    );
    assert!(
        error.contains("kzero.yaml:2:1: unknown key \"Run\""),
        "{error}"
    );
    assert!(error.contains("hint: did you mean \"run\"?"), "{error}");
    assert!(
        error.contains("kzero.yaml:3:1: unknown key \"Pipelines\""),
        "{error}"
    );
    let inner = error_of(&MINIMAL.replace("mode:", "Mode:"));
    assert!(
        inner.contains("kzero.yaml:2:7: unknown key \"Mode\" in run"),
        "{inner}"
    );
    let hook = error_of(&format!("{MINIMAL}hooks: {{Pre-Down: ./x.sh}}\n"));
    assert!(
        hook.contains("unknown key \"Pre-Down\" in hooks")
            && hook.contains("did you mean \"pre-down\"?"),
        "{hook}"
    );
    assert!(
        load(&with_pipelines(
            "up:\n- Deployment.App/Web: {replicas: 1}\n"
        ))
        .is_err()
    );
}

#[test]
fn p15_unknown_keys_warn_in_sections_and_fail_in_steps() {
    let text = MINIMAL.replace("mode: dry-run", "mode: dry-run, worker_concurrency: 4")
        + "hook: {}\nx-mine: {a: 1}\n";
    assert_eq!(
        warnings_of(&text),
        [
            "warning: unknown key \"run.worker_concurrency\": parallel steps do not exist any more, steps run one after another (kzero.yaml:2:22); remove the key",
            "warning: unknown key \"hook\" (kzero.yaml:4:1); did you mean \"hooks\"?",
        ]
    );
    let error = error_of(&with_pipelines(
        "up:\n- deployment.a/b: {wait_for_redy: true}\n",
    ));
    assert_eq!(
        error,
        "\
kzero.yaml:6:22: unknown key \"wait_for_redy\" in a deployment step
  6 |   - deployment.a/b: {wait_for_redy: true}
    |                      ^
  expected: one of pre, post, timeout, replicas, wait_for_ready, wait_for_termination
  hint: did you mean \"wait_for_ready\"?"
    );
}

#[test]
fn p17_release_without_workspace_is_refused_wherever_it_stands() {
    let head = "schema_version: \"1.0\"\nrun: {mode: dry-run}\n";
    for (rest, place) in [
        ("pipelines: {down: [release.x/y]}\n", "kzero.yaml:3:20: "),
        ("pipelines: {up: [release.x/y]}\n", "kzero.yaml:3:18: "),
        (
            "pipelines: {down: []}\ninfra_probe: {pipeline: {up: [release.x/y]}}\n",
            "kzero.yaml:4:31: ",
        ),
        (
            "pipelines: {down: []}\ninfra_probe: {pipeline: {down: [{release.x/y: {timeout: 5m}}]}}\n",
            "kzero.yaml:4:33: ",
        ),
    ] {
        let text = format!("{head}{rest}");
        let error = error_of(&text);
        assert!(
            error.starts_with(&format!(
                "{place}helm.workspace is required because of the step release.x/y"
            )),
            "{error}"
        );
        let env = load_with(
            &text,
            &[("KZERO_HELM_WORKSPACE", "./ws")],
            Overrides::default(),
        );
        assert!(env.is_ok(), "{env:?}");
        profile_of(&format!("{text}helm: {{workspace: ./ws}}\n"));
    }
}

#[test]
fn p19_the_environment_beats_the_profile() {
    let mode = |variables: &[(&str, &str)]| {
        load_with(MINIMAL, variables, Overrides::default()).map(|p| p.run.mode)
    };
    assert_eq!(mode(&[]).ok(), Some(RunMode::DryRun));
    assert_eq!(
        mode(&[("KZERO_RUN_MODE", "live")]).ok(),
        Some(RunMode::Live)
    );
    assert_eq!(mode(&[("KZERO_RUN_MODE", "")]).ok(), Some(RunMode::DryRun));
    let error = mode(&[("KZERO_RUN_MODE", "Live")]).unwrap_err().to_string();
    assert_eq!(
        error,
        "KZERO_RUN_MODE: run.mode cannot be \"Live\"\n  expected: one of \"dry-run\", \"live\"\n  hint: write live"
    );
    let error = mode(&[("KZERO_RUN_TIMEOUT", "90")])
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("KZERO_RUN_TIMEOUT: run.timeout: 90 needs a unit"),
        "{error}"
    );
}
