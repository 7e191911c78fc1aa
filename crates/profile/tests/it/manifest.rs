//! Chart manifests (S-5.1, S-5.1a, S-5.2).

use std::time::Duration;

use kzero_profile::Source;
use kzero_profile::manifest::{self, Apply, Cascade, Crds, ReleaseManifest};

fn parse(text: &str) -> ReleaseManifest {
    manifest::parse(Source::new("ws/pg.yaml", text)).unwrap_or_else(|error| panic!("{error}"))
}

fn error_of(text: &str) -> String {
    match manifest::parse(Source::new("ws/pg.yaml", text)) {
        Ok(manifest) => panic!("loaded, but must be refused: {manifest:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_key_is_read() {
    let m = parse(
        "\
chart: oci://registry.example.com/charts/pg
version: \"1.2\"
values_files: [./a.yaml, ./b.yaml]
create_namespace: true
wait: false
timeout: 10m
values: {image: {tag: \"1\"}, replicas: 2, ratio: 0.5, on: true, none: ~, list: [1e2, x]}
wait_for_jobs: false
atomic: \"true\"
apply: server-side
force_conflicts: true
take_ownership: true
crds: upgrade
skip_unchanged: true
recover: true
history_max: 0
disable_hooks: true
cleanup_on_fail: true
skip_schema_validation: true
devel: true
description: text
labels: {team: a}
uninstall: {keep_history: true, disable_hooks: false, cascade: foreground, timeout: 2m}
",
    );
    assert_eq!(
        m.chart.as_deref(),
        Some("oci://registry.example.com/charts/pg")
    );
    assert_eq!(m.version.as_deref(), Some("1.2"));
    assert_eq!(
        m.values_files.as_deref(),
        Some(&["./a.yaml".to_owned(), "./b.yaml".to_owned()][..])
    );
    assert_eq!(
        (m.create_namespace, m.wait, m.timeout),
        (Some(true), Some(false), Some(Duration::from_secs(600)))
    );
    let values = serde_json::Value::Object(m.values.clone().unwrap());
    assert_eq!(
        values,
        serde_json::json!({"image": {"tag": "1"}, "replicas": 2, "ratio": 0.5, "on": true, "none": null, "list": [100, "x"]})
    );
    assert_eq!(
        (m.wait_for_jobs, m.atomic, m.apply, m.crds),
        (
            Some(false),
            Some(true),
            Some(Apply::ServerSide),
            Some(Crds::Upgrade)
        )
    );
    let switches = [
        m.force_conflicts,
        m.take_ownership,
        m.skip_unchanged,
        m.recover,
        m.disable_hooks,
        m.cleanup_on_fail,
        m.skip_schema_validation,
        m.devel,
    ];
    assert_eq!(switches, [Some(true); 8]);
    assert_eq!(
        (m.history_max, m.description.as_deref()),
        (Some(0), Some("text"))
    );
    assert_eq!(m.labels.as_ref().unwrap()["team"], "a");
    assert_eq!(
        (m.uninstall.keep_history, m.uninstall.disable_hooks),
        (Some(true), Some(false))
    );
    assert_eq!(
        (m.uninstall.cascade, m.uninstall.timeout),
        (Some(Cascade::Foreground), Some(Duration::from_secs(120)))
    );
    assert_eq!(
        m.position_of("uninstall.cascade").map(|at| at.line),
        Some(23)
    );
}

#[test]
fn absent_keys_stay_absent() {
    let m = parse("version: \"1\"\ntimeout: \"0\"\n");
    assert_eq!(
        (m.chart, m.wait, m.timeout, m.values, m.history_max),
        (None, None, None, None, None)
    );
    assert_eq!(m.uninstall, manifest::Uninstall::default());
}

#[test]
fn unknown_keys_are_errors_even_with_x() {
    // S-1.11
    assert_eq!(
        error_of("chrt: ./c\n"),
        "\
ws/pg.yaml:1:1: unknown key \"chrt\"
  1 | chrt: ./c
    | ^
  expected: one of chart, version, values_files, create_namespace, wait, timeout, values, wait_for_jobs, atomic, apply, force_conflicts, take_ownership, crds, skip_unchanged, recover, history_max, disable_hooks, cleanup_on_fail, skip_schema_validation, devel, description, labels, uninstall
  hint: did you mean \"chart\"?"
    );
    assert!(
        error_of("chart: ./c\nuninstall: {cascad: orphan}\n")
            .contains("unknown key \"cascad\" in uninstall")
    );
    assert!(error_of("chart: ./c\nx-a: 1\n").contains("unknown key \"x-a\""));
}

#[test]
fn the_rules_of_profiles_hold() {
    for (text, words) in [
        ("", "ws/pg.yaml:1:1: the chart manifest is empty"),
        (
            "- a\n",
            "ws/pg.yaml:1:1: a chart manifest must be a mapping, but a list was read",
        ),
        (
            "chart: a\n---\n",
            "ws/pg.yaml:2:1: a second document begins here",
        ),
        (
            "chart: a\nchart: b\n",
            "ws/pg.yaml:2:1: the key \"chart\" is given twice in one mapping, on line 1 and on line 2",
        ),
        (
            "chart: a\nversion: 1.2\n",
            "ws/pg.yaml:2:10: version must be text, but the number 1.2 was read",
        ),
        (
            "chart: a\napply: merge\n",
            "ws/pg.yaml:2:8: apply cannot be \"merge\"",
        ),
        (
            "chart: a\nhistory_max: -1\n",
            "ws/pg.yaml:2:14: history_max is negative: -1",
        ),
        (
            "chart: a\nvalues: [a]\n",
            "ws/pg.yaml:2:9: values must be a mapping, but a list was read",
        ),
        (
            "chart: a\nvalues: {a: 010}\n",
            "ws/pg.yaml:2:13: the number 010 is ambiguous because of its leading zero",
        ),
        (
            "chart: a\nvalues: {a: .inf}\n",
            "ws/pg.yaml:2:13: the number .inf has no form in JSON",
        ),
        (
            "chart: a\nlabels: {a: 1}\n",
            "ws/pg.yaml:2:13: labels.a must be text, but the number 1 was read",
        ),
        (
            "chart: a\ntimeout: 5\n",
            "ws/pg.yaml:2:10: timeout: the number 5 needs a unit",
        ),
    ] {
        let error = error_of(text);
        assert!(error.starts_with(words), "{text:?} gave {error}");
    }
}

#[test]
fn a_missing_manifest_is_told_apart_from_a_broken_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pg.yaml");
    let error = manifest::load(&path, "ws/pg.yaml").unwrap_err();
    assert_eq!(error.unreadable_path(), Some(path.as_path()));
    std::fs::write(&path, "chart: 5\n").unwrap();
    let error = manifest::load(&path, "ws/pg.yaml").unwrap_err();
    assert_eq!(error.unreadable_path(), None);
    assert!(error.to_string().starts_with("ws/pg.yaml:1:8: "), "{error}");
}
