//! Finding, reading and shape of the file (S-1.1 to S-1.16).

use std::path::Path;

use kzero_profile::{LoadError, LoadRequest, Overrides, Profile, Severity};

use crate::support::{KINDS, error_of, load, profile_of, warnings_of, with_pipelines};

const HEAD: &str = "schema_version: \"1.0\"\nrun: {mode: dry-run}\n";

fn load_path(path: &Path, explicit: bool) -> Result<Profile, LoadError> {
    let request = LoadRequest {
        path,
        explicit,
        env: &|_| None,
        kinds: KINDS,
        flags: Overrides::default(),
    };
    kzero_profile::load(&request)
}

#[test]
fn a_missing_file_names_the_absolute_path_tried() {
    // S-1.1
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kzero.yaml");
    let error = load_path(&path, true).unwrap_err();
    assert_eq!(error.unreadable_path(), Some(path.as_path()));
    assert!(
        error.to_string().contains(&path.display().to_string()),
        "{error}"
    );
    let relative = load_path(Path::new("no-such-profile.yaml"), true).unwrap_err();
    let absolute = std::env::current_dir()
        .unwrap()
        .join("no-such-profile.yaml");
    assert!(
        relative
            .to_string()
            .contains(&absolute.display().to_string()),
        "{relative}"
    );
}

#[test]
fn a_kzero_yml_beside_the_missing_default_is_mentioned() {
    // S-1.1
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kzero.yaml");
    assert!(
        !load_path(&path, false)
            .unwrap_err()
            .to_string()
            .contains("kzero.yml")
    );
    std::fs::write(folder.path().join("kzero.yml"), "x").unwrap();
    let error = load_path(&path, false).unwrap_err().to_string();
    assert!(
        error.contains("kzero.yml exists: name it with -c kzero.yml"),
        "{error}"
    );
    assert!(
        !load_path(&path, true)
            .unwrap_err()
            .to_string()
            .contains("kzero.yml")
    );
}

#[test]
fn a_directory_and_text_that_is_not_utf_8_are_refused() {
    // S-1.1, S-1.4
    let folder = tempfile::tempdir().unwrap();
    let error = load_path(folder.path(), true).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with(&format!("cannot read {}", folder.path().display())),
        "{error}"
    );
    let path = folder.path().join("latin.yaml");
    std::fs::write(
        &path,
        b"schema_version: \"1.0\"\ncluster: {name: caf\xe9}\n",
    )
    .unwrap();
    let error = load_path(&path, true).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!(
            "{}:2:20: the file is not UTF-8 text",
            path.display()
        )),
        "{error}"
    );
    std::fs::write(&path, b"\xff\xfea\0:\0").unwrap();
    let error = load_path(&path, true).unwrap_err().to_string();
    assert!(error.contains("it looks like UTF-16"), "{error}");
}

#[test]
fn a_file_is_read_and_named_as_the_operator_wrote_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.profile.yaml");
    std::fs::write(
        &path,
        format!("\u{feff}{HEAD}cluster: {{name: Prod EU}}\npipelines: {{down: []}}\n"),
    )
    .unwrap();
    let profile = load_path(&path, true).unwrap();
    assert_eq!(profile.source.display(), path.display().to_string());
    assert_eq!(profile.state.name, "prod-eu-my-profile");
}

#[test]
fn exactly_one_document() {
    // S-1.4
    for (tail, line) in [
        ("---\n", 4),
        ("--- \n# nothing\n", 4),
        ("...\n---\n...\n", 5),
        ("---\na: 1\n", 4),
    ] {
        let error = error_of(&format!("{HEAD}pipelines: {{down: []}}\n{tail}"));
        assert!(
            error.starts_with(&format!(
                "kzero.yaml:{line}:1: a second document begins here"
            )),
            "{tail:?} gave {error}"
        );
    }
    profile_of(&format!("---\n{HEAD}pipelines: {{down: []}}\n...\n# end\n"));
}

#[test]
fn a_key_given_twice_names_both_lines() {
    // S-1.5
    let error = error_of(&format!(
        "{HEAD}pipelines: {{down: []}}\nrun: {{mode: live}}\n"
    ));
    assert_eq!(
        error,
        "\
kzero.yaml:4:1: the key \"run\" is given twice in one mapping, on line 2 and on line 4
  4 | run: {mode: live}
    | ^
  expected: each key once"
    );
    let inner = error_of(&with_pipelines(
        "up:\n- deployment.a/b:\n    replicas: 1\n    timeout: 1m\n    replicas: 2\n",
    ));
    assert!(inner.starts_with("kzero.yaml:9:7: the key \"replicas\" is given twice in one mapping, on line 7 and on line 9"), "{inner}");
}

#[test]
fn only_true_and_false_are_booleans() {
    // S-1.7
    for text in ["true", "True", "TRUE", "\"true\"", "'true'"] {
        assert!(
            profile_of(&format!(
                "{HEAD}pipelines: {{up: []}}\nverify: {{enabled: {text}}}\n"
            ))
            .verify
            .enabled,
            "{text}"
        );
    }
    for text in ["yes", "on", "y", "1", "\"True\"", "\"yes\"", "~", "[]"] {
        let error = error_of(&format!(
            "{HEAD}pipelines: {{up: []}}\nverify: {{enabled: {text}}}\n"
        ));
        assert!(
            error.starts_with("kzero.yaml:4:19: verify.enabled must be a boolean, but "),
            "{text} gave {error}"
        );
    }
    let yes = error_of(&format!(
        "{HEAD}pipelines: {{up: []}}\nverify: {{enabled: yes}}\n"
    ));
    assert!(
        yes.contains("the text \"yes\" was read") && yes.contains("hint: write true"),
        "{yes}"
    );
    // Step options do not take quotes.
    let step = error_of(&with_pipelines(
        "up:\n- deployment.a/b: {wait_for_ready: \"true\"}\n",
    ));
    assert!(
        step.contains("wait_for_ready must be a boolean, but the text \"true\" was read"),
        "{step}"
    );
    // The words are strings elsewhere.
    let profile = profile_of(&with_pipelines(
        "down:\n- deployment.on/no\n- deployment.y/off\n",
    ));
    assert_eq!(
        profile.pipelines.down.unwrap()[0].body.to_string(),
        "deployment.on/no"
    );
    assert_eq!(
        profile_of(&format!(
            "{HEAD}pipelines: {{up: []}}\nstate: {{namespace: on}}\n"
        ))
        .state
        .namespace
        .as_deref(),
        Some("on")
    );
}

#[test]
fn wrong_shapes_are_named() {
    // S-1.13
    for (text, words) in [
        (
            "",
            "kzero.yaml:1:1: the file is empty: schema_version, run.mode and pipelines are missing",
        ),
        ("# nothing\n", "kzero.yaml:1:1: the file is empty"),
        ("---\n", "kzero.yaml:1:1: the file is empty"),
        (
            "- a\n",
            "kzero.yaml:1:1: the top level of a profile must be a mapping, but a list was read",
        ),
        (
            "text\n",
            "kzero.yaml:1:1: the top level of a profile must be a mapping, but the text \"text\" was read",
        ),
    ] {
        let error = error_of(text);
        assert!(error.starts_with(words), "{text:?} gave {error}");
    }
    for (lines, words) in [
        (
            "pipelines: {down: {deployment.a/b: {}}}\n",
            "kzero.yaml:3:19: pipelines.down must be a list of steps, but a mapping was read",
        ),
        (
            "pipelines: {down: deployment.a/b}\n",
            "kzero.yaml:3:19: pipelines.down must be a list of steps, but the text \"deployment.a/b\" was read",
        ),
        (
            "pipelines: {down: }\n",
            "pipelines.down must be a list of steps, but nothing was read",
        ),
        (
            "pipelines: {}\n",
            "kzero.yaml:3:1: pipelines gives neither down nor up",
        ),
        (
            "pipelines:\n",
            "kzero.yaml:3:1: pipelines gives neither down nor up",
        ),
        (
            "pipelines: [deployment.a/b]\n",
            "kzero.yaml:3:12: pipelines must be a mapping, but a list was read",
        ),
    ] {
        let error = error_of(&format!("{HEAD}{lines}"));
        assert!(error.contains(words), "{lines:?} gave {error}");
        assert_eq!(
            error.matches("kzero.yaml:").count(),
            1,
            "{lines:?} gave {error}"
        );
    }
    let profile = profile_of(&format!("{HEAD}pipelines: {{down: []}}\n"));
    assert_eq!(
        (profile.pipelines.down, profile.pipelines.up),
        (Some(vec![]), None)
    );
}

#[test]
fn a_list_that_is_none_says_how_to_write_one() {
    // S-1.13
    assert_eq!(
        error_of(&format!(
            "{HEAD}pipelines: {{down: {{deployment.a/b: {{}}}}}}\n"
        )),
        "\
kzero.yaml:3:19: pipelines.down must be a list of steps, but a mapping was read
  3 | pipelines: {down: {deployment.a/b: {}}}
    |                   ^
  hint: begin each item with a dash: \"- ITEM\""
    );
    let none = error_of(&format!("{HEAD}pipelines:\n  up:\n"));
    assert!(none.contains("hint: write up: [] for none"), "{none}");
}

#[test]
fn a_file_that_cannot_be_read_to_its_end_is_not_told_what_it_lacks() {
    let error = error_of("cluster: {name: x}\nrun: [\n");
    assert_eq!(error.matches("kzero.yaml:").count(), 1, "{error}");
}

#[test]
fn all_missing_keys_are_reported_together() {
    // S-1.21
    let error = error_of("cluster: {name: x}\nrun: {color: auto}\n");
    for words in [
        "1:1: schema_version is missing",
        "2:1: run.mode is missing",
        "1:1: pipelines is missing",
    ] {
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn text_keys_want_text_and_labels_take_literals() {
    // S-1.15
    let error = error_of(&format!(
        "{HEAD}pipelines: {{up: []}}\nhooks: {{pre-down: 007, pre-up: true}}\n"
    ));
    assert_eq!(
        error,
        "\
kzero.yaml:4:19: hooks.pre-down must be text, but the number 007 was read
  4 | hooks: {pre-down: 007, pre-up: true}
    |                   ^
  expected: text
  hint: put it in quotes: \"007\"
kzero.yaml:4:32: hooks.pre-up must be text, but the boolean true was read
  4 | hooks: {pre-down: 007, pre-up: true}
    |                                ^
  expected: text
  hint: put it in quotes: \"true\""
    );
    let profile = profile_of(&format!(
        "{HEAD}pipelines: {{up: []}}\nclient: {{id: 007}}\ncluster: {{name: 1.10, environment: true, description: 5}}\n"
    ));
    assert_eq!(profile.client_id.as_deref(), Some("007"));
    assert_eq!(
        (
            &*profile.cluster.name,
            &*profile.cluster.environment,
            &*profile.cluster.description
        ),
        ("1.10", "true", "5")
    );
}

#[test]
fn blanks_at_the_ends_of_paths_ids_and_names_are_stripped() {
    // S-1.16
    let text = with_pipelines(
        "up:\n- deployment.a/b: {pre: \" ./x.sh \"}\n- custom: \" ./c.sh\\t\"\n",
    ) + "hooks: {pre-down: \" ./h.sh \", post-down: \"  \"}\nclient: {id: \" team a \"}\nstate: {name: \" st \"}\n";
    let profile = profile_of(&text);
    let steps = profile.pipelines.up.unwrap();
    assert_eq!(steps[0].pre.as_deref(), Some("./x.sh"));
    assert_eq!(steps[1].body.to_string(), "custom: ./c.sh");
    assert_eq!(profile.hooks.pre_down.as_deref(), Some("./h.sh"));
    assert_eq!(profile.hooks.post_down, None);
    assert_eq!(profile.client_id.as_deref(), Some("team a"));
    assert_eq!(profile.state.name, "st");
}

#[test]
fn paths_are_taken_as_they_are() {
    // S-1.3
    let profile = profile_of(&with_pipelines(
        "up:\n- custom: \"./hooks/a b $HOME;~x.sh\"\n",
    ));
    assert_eq!(
        profile.pipelines.up.unwrap()[0].body.to_string(),
        "custom: ./hooks/a b $HOME;~x.sh"
    );
}

#[test]
fn unknown_keys_of_sections_warn_with_a_hint_when_a_key_is_near() {
    // S-1.10
    let text = format!(
        "{HEAD}pipelines: {{up: [], x-note: 1, dwn: []}}\nnotify: {{slack: {{enabld: true, x-y: 1}}}}\nwhatever: 1\nx-any: [1, 2]\n"
    );
    assert_eq!(
        warnings_of(&text),
        [
            "warning: unknown key \"dwn\" in pipelines (kzero.yaml:3:32); did you mean \"down\"?",
            "warning: unknown key \"enabld\" in notify.slack (kzero.yaml:4:18); did you mean \"enabled\"?",
            "warning: unknown key \"whatever\" (kzero.yaml:5:1)",
        ]
    );
    let profile = profile_of(&text);
    assert!(
        profile
            .warnings
            .iter()
            .all(|w| w.severity() == Severity::Warning && w.at().is_some())
    );
}

#[test]
fn at_most_twenty_errors_are_shown() {
    // S-1.12
    let items = "- deploy.a/b\n".repeat(23);
    let error = load(&with_pipelines(&format!("up:\n{items}"))).unwrap_err();
    assert_eq!(error.errors().len(), 23);
    let shown = error.to_string();
    assert_eq!(shown.matches("the kind \"deploy\" is unknown").count(), 20);
    assert!(shown.ends_with("\n… and 3 more"), "{shown}");
}

#[test]
fn errors_stand_in_the_order_of_the_file_and_environment_errors_last() {
    let request = LoadRequest {
        path: Path::new("k.yaml"),
        explicit: true,
        env: &|name| (name == "KZERO_RETRY_SCOPE").then(|| "none".to_owned()),
        kinds: KINDS,
        flags: Overrides::default(),
    };
    let text = "schema_version: \"1.0\"\npipelines: {up: [5]}\nrun: {mode: Live}\nrun: {}\n";
    let error =
        kzero_profile::parse(kzero_profile::Source::new("k.yaml", text), &request).unwrap_err();
    let places: Vec<_> = error
        .errors()
        .iter()
        .map(|e| e.at().map(|at| at.line))
        .collect();
    assert_eq!(places, [Some(2), Some(3), Some(4), None]);
}

#[test]
fn broken_yaml_is_located() {
    for (text, place) in [
        ("a: [\n", "kzero.yaml:1:4: "),
        (
            "a: 'b\n",
            "kzero.yaml:1:4: a quoted text has no closing quote",
        ),
        ("a: b: c\n", "kzero.yaml:1:5: "),
        ("a: @b\n", "kzero.yaml:1:4: a text cannot begin with '@'"),
        ("a: *b\n", "kzero.yaml:1:4: the alias *b has no anchor"),
        ("a: 1\n  b: 2\n", "kzero.yaml:2:4: "),
        ("a\0: 1\n", "kzero.yaml:1:2: the control character U+0000"),
        (
            "? [a]\n: b\n",
            "kzero.yaml:1:3: a key must be text, but a list was read",
        ),
        (
            "a: &a [*a]\n",
            "kzero.yaml:1:8: the alias stands inside the node it refers to",
        ),
        (
            "a: !mine b\n",
            "kzero.yaml:1:4: the tag \"!mine\" has no meaning",
        ),
        (
            "a: !!int b\n",
            "kzero.yaml:1:10: \"b\" does not fit its tag !!int",
        ),
    ] {
        let error = error_of(text);
        assert!(error.contains(place), "{text:?} gave {error}");
    }
}

#[test]
fn tags_of_the_core_schema_are_obeyed() {
    let profile = profile_of(&with_pipelines(
        "up:\n- deployment.a/b: !!map {replicas: !!int \"3\", pre: !!str 5}\n",
    ));
    let steps = profile.pipelines.up.unwrap();
    assert_eq!(
        (steps[0].options.replicas(), steps[0].pre.as_deref()),
        (Some(3), Some("5"))
    );
}

#[test]
fn secrets_do_not_stand_in_error_texts() {
    // S-4.16
    for lines in [
        "notify: {slack: {webhook_url: \"ftp://hunter2\"}}\n",
        "notify: {pagerduty: {routing_key: [hunter2]}}\n",
        "notify: {slack: \"https://hooks.example.com/hunter2\"}\n",
        "notify: {slack: {enabled: maybe, webhook_url: https://hooks.example.com/hunter2}}\n",
        "notify: {webhook: {enabled: maybe, headers: {X-Api-Key: hunter2}}}\n",
        "helm: {registries: [{host: a, username: 5, password_env: X, password: hunter2}]}\n",
        "helm: {registries: [{host: a, username: b, password: [hunter2]}]}\n",
        "helm:\n  registries:\n  - password: 'hunter2\n",
        "notify: {webhook: {headers: {A: \"hunter2\\n\"}}}\n",
    ] {
        let error = error_of(&format!("{HEAD}pipelines: {{up: []}}\n{lines}"));
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[test]
fn long_lines_are_cut_around_the_marked_column() {
    let error = error_of(&with_pipelines(&format!(
        "up: [{}deploy.a/b]\n",
        "deployment.a/b, ".repeat(1000)
    )));
    let width = error
        .lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap();
    assert!(width < 200, "{error}");
    assert!(error.contains("deploy.a/b]"), "{error}");
}
