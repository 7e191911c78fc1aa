//! Shapes and options of steps (S-2.1 to S-2.7, S-1.28, S-1.29).

use std::time::Duration;

use kzero_profile::{OptionValue, Phase, StepBody};

use crate::support::{error_of, profile_of, up_steps, warnings_of, with_pipelines};

fn one_error(lines: &str) -> String {
    let error = error_of(&with_pipelines(lines));
    assert_eq!(error.matches("kzero.yaml:").count(), 1, "{error}");
    error
}

#[test]
fn the_three_shapes() {
    let steps = up_steps(
        "\
up:
- deployment.app/api
- deployment.app/api: {replicas: 3, pre: ./a.sh, post: ./b.sh, timeout: 10m}
- deployment.app/api:
- custom: ./x.sh
  pre: ./p.sh
  post: ./q.sh
  timeout: 1m30s
",
    );
    // S-2.4: the same reference may come again.
    let shown: Vec<_> = steps.iter().map(|s| s.body.to_string()).collect();
    assert_eq!(
        shown,
        [
            "deployment.app/api",
            "deployment.app/api",
            "deployment.app/api",
            "custom: ./x.sh"
        ]
    );
    assert_eq!(steps[1].pre.as_deref(), Some("./a.sh"));
    assert_eq!(steps[1].post.as_deref(), Some("./b.sh"));
    assert_eq!(steps[1].timeout, Some(Duration::from_secs(600)));
    assert_eq!(
        steps[1].options.iter().collect::<Vec<_>>(),
        [("replicas", &OptionValue::Integer(3))]
    );
    assert_eq!(steps[3].timeout, Some(Duration::from_secs(90)));
    assert_eq!(steps[3].pre.as_deref(), Some("./p.sh"));
    let StepBody::Reference(reference) = &steps[0].body else {
        panic!("{steps:?}")
    };
    assert_eq!(
        (reference.kind, &*reference.namespace, &*reference.name),
        ("deployment", "app", "api")
    );
    let places: Vec<_> = steps.iter().map(|s| (s.at.line, s.at.column)).collect();
    assert_eq!(places, [(6, 5), (7, 5), (8, 5), (9, 5)]);
}

#[test]
fn every_kind_takes_its_options() {
    let steps = up_steps(
        "\
up:
- statefulset.a/b: {replicas: 0, wait_for_ready: false}
- release.a/b: {script: ./s.sh, chart: ./c, version: \"1.2\", values_files: [./a.yaml, \" b \"], create_namespace: true}
- pvc.a/b: {pre: ./p.sh}
- exec.a/b: {container: app, command: [sh, -c, \" x \"], stdin: \" in\\n\"}
- job.a/b: {manifest: ./j.yaml, wait_for_complete: false}
- cronjob.a/b: {post: ./p.sh}
",
    );
    assert_eq!(steps[0].options.replicas(), Some(0));
    assert_eq!(steps[1].options.text("version"), Some("1.2"));
    assert_eq!(
        steps[1].options.list("values_files").unwrap(),
        ["./a.yaml", "b"]
    );
    assert_eq!(steps[1].options.bool("create_namespace"), Some(true));
    assert_eq!(
        steps[3].options.list("command").unwrap(),
        ["sh", "-c", " x "]
    );
    assert_eq!(steps[3].options.text("stdin"), Some(" in\n"));
    assert_eq!(steps[4].options.text("manifest"), Some("./j.yaml"));
    assert_eq!(steps[4].options.bool("wait_for_complete"), Some(false));
    assert_eq!(
        steps[4].options.position_of("manifest").map(|at| at.line),
        Some(10)
    );
    assert_eq!(steps[4].options.duration("manifest"), None);
}

#[test]
fn items_that_are_no_steps_name_their_index() {
    // S-1.13
    for (item, words) in [
        ("5", "pipelines.up[1] is the number 5, not a step"),
        ("", "pipelines.up[1] is nothing, not a step"),
        ("true", "pipelines.up[1] is the boolean true, not a step"),
        ("[deployment.a/b]", "pipelines.up[1] is a list, not a step"),
        ("{}", "pipelines.up[1] is an empty mapping, not a step"),
    ] {
        let error = one_error(&format!("up:\n- deployment.a/b\n- {item}\n"));
        assert!(error.contains(words), "{item:?} gave {error}");
    }
}

#[test]
fn options_that_slid_to_the_left_are_recognised() {
    // S-1.14
    let error = one_error("up:\n- deployment.a/b:\n  replicas: 3\n");
    assert_eq!(
        error,
        "\
kzero.yaml:7:5: pipelines.up[0] has the key \"replicas\" beside \"deployment.a/b\"
  7 |     replicas: 3
    |     ^
  expected: one reference in each item, its options one level deeper than \"deployment.a/b\"
  hint: options go one level deeper: indent \"replicas\" by two more columns"
    );
    for lines in [
        "up:\n- deployment.a/b:\n  timeout: 3m\n  replicas: 3\n",
        "up:\n- timeout: 3m\n  deployment.a/b:\n",
        "up:\n- deployment.a/b: {replicas: 1}\n  wait_for_redy: true\n",
    ] {
        let error = one_error(lines);
        assert!(
            error.contains("beside \"deployment.a/b\"")
                && error.contains("options go one level deeper"),
            "{error}"
        );
    }
    let two = one_error("up:\n- deployment.a/b:\n  deployment.a/c:\n");
    assert!(
        two.contains("several keys: \"deployment.a/b\" and \"deployment.a/c\""),
        "{two}"
    );
    assert!(
        two.contains("hint: begin each step with its own dash: \"- deployment.a/c\""),
        "{two}"
    );
}

#[test]
fn special_kinds_have_their_own_message() {
    // S-2.2
    assert_eq!(
        one_error("down:\n- daemonset.kube-system/x\n"),
        "\
kzero.yaml:6:5: the kind daemonset is not supported: a DaemonSet has no scale subresource
  6 |   - daemonset.kube-system/x
    |     ^
  expected: one of deployment, statefulset, release, pvc, exec, job, cronjob, custom
  hint: use a \"custom: PATH\" step with a script that sets a node selector"
    );
}

#[test]
fn a_custom_text_shows_the_mapping_form() {
    // S-2.3
    assert_eq!(
        one_error("down:\n- \"custom: ./x.sh\"\n"),
        "\
kzero.yaml:6:5: \"custom: ./x.sh\" is a text, but a custom step is a mapping
  6 |   - \"custom: ./x.sh\"
    |     ^
  expected: custom: PATH without quotes around the whole
  hint: write \"- custom: ./x.sh\""
    );
}

#[test]
fn custom_takes_a_path_and_the_common_options_only() {
    // S-2.5
    for (item, words) in [
        ("custom:", "pipelines.up[0]: custom has no path"),
        ("custom: \"\"", "custom is empty"),
        ("custom: \" \"", "custom is empty"),
        (
            "custom: 5",
            "custom must be text, but the number 5 was read",
        ),
        ("custom", "a custom step needs a path"),
        (
            "{custom: ./x, replicas: 3}",
            "the option \"replicas\" does not fit a custom step",
        ),
        (
            "{custom: ./x, shell: bash}",
            "unknown key \"shell\" in a custom step",
        ),
        (
            "{custom: ./x, deployment.a/b: {}}",
            "pipelines.up[0] has both \"custom\" and the reference \"deployment.a/b\"",
        ),
        ("{custom: ./x, pre: \"\"}", "pre is empty"),
        ("custom.a/b", "custom is not a kind of reference"),
    ] {
        let error = one_error(&format!("up:\n- {item}\n"));
        assert!(error.contains(words), "{item} gave {error}");
    }
}

#[test]
fn an_option_of_another_kind_names_the_kinds_it_fits() {
    // S-2.6
    assert_eq!(
        one_error("up:\n- release.a/b: {replicas: 3}\n"),
        "\
kzero.yaml:6:19: the option \"replicas\" does not fit the kind release
  6 |   - release.a/b: {replicas: 3}
    |                   ^
  expected: \"replicas\" only on deployment, statefulset"
    );
    let job = one_error("up:\n- deployment.a/b: {manifest: ./x}\n");
    assert!(job.contains("expected: \"manifest\" only on job"), "{job}");
}

#[test]
fn an_option_for_the_other_phase_warns_so_that_one_anchor_serves_both() {
    // S-2.6
    let text = with_pipelines(
        "\
down:
- deployment.a/b: &both {replicas: 3, wait_for_termination: true}
- deployment.a/c: *both
up:
- deployment.a/b: *both
",
    );
    assert_eq!(
        warnings_of(&text),
        [
            "warning: the option \"replicas\" has no effect in a list of down steps, only on up (kzero.yaml:6:28)",
            "warning: the option \"wait_for_termination\" has no effect in a list of up steps, only on down (kzero.yaml:6:41)",
        ]
    );
    assert_eq!(
        profile_of(&text).pipelines.steps(Phase::Up)[0]
            .options
            .replicas(),
        Some(3)
    );
}

#[test]
fn required_options() {
    let error = error_of(&with_pipelines(
        "down:\n- exec.a/b\nup:\n- job.a/b: {}\n- exec.a/b: {container: app}\n",
    ));
    let lines: Vec<_> = error
        .lines()
        .filter(|line| line.starts_with("kzero.yaml:"))
        .collect();
    assert_eq!(
        lines,
        [
            "kzero.yaml:6:5: exec.a/b needs the option \"container\"",
            "kzero.yaml:6:5: exec.a/b needs the option \"command\"",
            "kzero.yaml:8:5: job.a/b needs the option \"manifest\"",
            "kzero.yaml:9:5: exec.a/b needs the option \"command\"",
        ]
    );
    // A Job that is only deleted needs no manifest.
    profile_of(&with_pipelines("down:\n- job.a/b\n"));
}

#[test]
fn bad_option_values() {
    for (item, words) in [
        ("deployment.a/b: {replicas: -1}", "replicas is negative: -1"),
        (
            "deployment.a/b: {replicas: 2147483648}",
            "replicas is too large: 2147483648",
        ),
        (
            "deployment.a/b: {replicas: 1e99}",
            "replicas is too large: 1e99",
        ),
        (
            "deployment.a/b: {replicas: 2.5}",
            "replicas must be a whole number, but 2.5 was read",
        ),
        (
            "deployment.a/b: {replicas: \"3\"}",
            "replicas must be an integer, but the text \"3\" was read",
        ),
        (
            "deployment.a/b: {replicas: true}",
            "replicas must be an integer, but the boolean true was read",
        ),
        (
            "deployment.a/b: {replicas: ~}",
            "replicas must be an integer, but nothing was read",
        ),
        (
            "deployment.a/b: {replicas: many}",
            "replicas must be an integer, but \"many\" was read",
        ),
        (
            "deployment.a/b: {pre: }",
            "pre must be text, but nothing was read",
        ),
        ("deployment.a/b: {pre: \" \"}", "pre is empty"),
        (
            "deployment.a/b: 3",
            "the options of deployment.a/b must be a mapping, but the number 3 was read",
        ),
        (
            "deployment.a/b: [replicas]",
            "the options of deployment.a/b must be a mapping, but a list was read",
        ),
        (
            "release.a/b: {version: 1.2}",
            "version must be text, but the number 1.2 was read",
        ),
        ("release.a/b: {chart: \"\"}", "chart is empty"),
        (
            "release.a/b: {values_files: ./a.yaml}",
            "values_files must be a list of paths, but the text \"./a.yaml\" was read",
        ),
        (
            "release.a/b: {values_files: [\"\"]}",
            "values_files[0] is empty",
        ),
        (
            "exec.a/b: {container: \"\", command: [a]}",
            "container is empty",
        ),
        (
            "exec.a/b: {container: a, command: []}",
            "command is an empty list",
        ),
        (
            "exec.a/b: {container: a, command: [a, \"\"]}",
            "command[1] is empty",
        ),
        (
            "exec.a/b: {container: a, command: [sleep, 5]}",
            "command[1] must be text, but the number 5 was read",
        ),
        (
            "exec.a/b: {container: a, command: sleep 5}",
            "command must be a list of texts, but the text \"sleep 5\" was read",
        ),
        (
            "exec.a/b: {container: a, command: [a], stdin: 5}",
            "stdin must be text, but the number 5 was read",
        ),
        (
            "job.a/b: {manifest: ./x, wait_for_complete: no}",
            "wait_for_complete must be a boolean, but the text \"no\" was read",
        ),
    ] {
        let error = one_error(&format!("up:\n- {item}\n"));
        assert!(error.contains(words), "{item} gave {error}");
    }
    assert_eq!(
        up_steps("up:\n- deployment.a/b: {replicas: 2147483647}\n")[0]
            .options
            .replicas(),
        Some(2_147_483_647)
    );
}

#[test]
fn lengths_of_names() {
    // S-1.29
    let long = |n: usize| "a".repeat(n);
    for (kind, options, max) in [
        ("deployment", "", 253),
        ("pvc", "", 253),
        ("job", "{manifest: ./x}", 63),
        ("cronjob", "", 52),
        ("release", "", 53),
    ] {
        up_steps(&format!("up:\n- {kind}.a/{}: {options}\n", long(max)));
        let error = one_error(&format!(
            "up:\n- ? {kind}.a/{}\n  : {options}\n",
            long(max + 1)
        ));
        assert!(
            error.contains(&format!(
                "has {} characters, at most {max} are allowed",
                max + 1
            )),
            "{error}"
        );
    }
    up_steps(&format!("up:\n- deployment.{}/b\n", long(63)));
    let error = one_error(&format!("up:\n- deployment.{}/b\n", long(64)));
    assert!(
        error.contains("has 64 characters, at most 63 are allowed"),
        "{error}"
    );
}

#[test]
fn errors_in_an_anchor_are_told_once() {
    let error = error_of(&with_pipelines(
        "up:\n- deployment.a/b: &x {replicas: -1}\n- deployment.a/c: *x\n- deployment.a/d: {<<: *x}\n",
    ));
    assert_eq!(error.matches("replicas is negative").count(), 1, "{error}");
}

#[test]
fn a_list_may_be_an_alias() {
    // S-1.6: anchors work everywhere.
    let profile = profile_of(&with_pipelines(
        "down: &steps [deployment.a/b, custom: ./x]\nup: *steps\n",
    ));
    assert_eq!(profile.pipelines.down, profile.pipelines.up);
}
