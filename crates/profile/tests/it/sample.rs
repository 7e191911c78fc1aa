//! The shipped sample and the editor schema (S-1.23).

use std::path::Path;

use kzero_profile::{Overrides, Phase, RunMode, SAMPLE, duration, schema};
use serde_json::{Value, json};

use crate::support::{KINDS, load_with, profile_of};

#[test]
fn the_sample_loads_without_a_warning_and_changes_nothing() {
    let profile = profile_of(SAMPLE);
    assert!(profile.warnings.is_empty(), "{:?}", profile.warnings);
    assert_eq!(profile.run.mode, RunMode::DryRun);
    let references = |phase| -> Vec<String> {
        profile
            .pipelines
            .steps(phase)
            .iter()
            .map(|step| step.body.to_string())
            .collect()
    };
    for phase in [Phase::Down, Phase::Up] {
        for name in [
            "deployment.app/consumer",
            "deployment.app/producer",
            "deployment.app/api",
            "statefulset.database/postgresql",
            "cronjob.app/nightly-report",
        ] {
            assert!(
                references(phase).iter().any(|reference| reference == name),
                "{phase}: {name}"
            );
        }
        assert!(
            !references(phase)
                .iter()
                .any(|reference| reference.starts_with("release."))
        );
    }
    assert!(
        references(Phase::Up)
            .iter()
            .any(|reference| reference.starts_with("custom: "))
    );
}

#[test]
fn the_timeouts_of_the_sample_fit_its_hooks() {
    let profile = profile_of(SAMPLE);
    let five_minutes = duration::parse("5m").unwrap();
    assert!(profile.run.operation_timeout.unwrap() >= five_minutes);
    for phase in [Phase::Down, Phase::Up] {
        for step in profile.pipelines.steps(phase) {
            assert!(
                step.timeout.is_none_or(|timeout| timeout >= five_minutes),
                "{}",
                step.body
            );
        }
    }
}

/// Every scalar key stands in the sample, so that it is complete.
#[test]
fn the_sample_shows_every_key() {
    let profile = profile_of(SAMPLE);
    let mut missing = Vec::new();
    keys(&schema::json_schema(KINDS), "", &mut |key| {
        if profile.position_of(key).is_none() {
            missing.push(key.to_owned());
        }
    });
    assert_eq!(missing, Vec::<String>::new());
}

/// Calls `visit` with each dotted key of the schema that has no keys below.
fn keys(schema: &Value, prefix: &str, visit: &mut dyn FnMut(&str)) {
    match schema["properties"].as_object() {
        Some(properties) => {
            for (name, below) in properties {
                let path = if prefix.is_empty() {
                    name.clone()
                } else {
                    format!("{prefix}.{name}")
                };
                keys(below, &path, visit);
            }
        }
        None => visit(prefix),
    }
}

#[test]
fn the_schema_describes_the_keys_the_loader_knows() {
    let schema = schema::json_schema(KINDS);
    assert_eq!(
        schema["properties"]["run"]["properties"]["mode"]["enum"],
        json!(["dry-run", "live"])
    );
    assert_eq!(
        schema["properties"]["run"]["properties"]["cleanup_timeout"]["default"],
        json!("30s")
    );
    assert_eq!(
        schema["properties"]["hooks"]["properties"]["pre-down"]["type"],
        json!(["string", "null"])
    );
    assert_eq!(
        schema["required"],
        json!(["schema_version", "run", "pipelines"])
    );
    // Each key of the schema is one the loader takes: no unknown key is reported for it.
    keys(&schema, "", &mut |key| {
        let mut text = String::new();
        for (depth, part) in key.split('.').enumerate() {
            text.push_str(&format!("{}{part}:\n", "  ".repeat(depth)));
        }
        let findings = match load_with(&text, &[], Overrides::default()) {
            Ok(profile) => profile.warnings,
            Err(error) => [error.errors(), error.warnings()].concat(),
        };
        assert!(
            !findings.iter().any(|f| f.message().contains("unknown key")),
            "{key}: {findings:?}"
        );
    });
}

#[test]
fn the_schema_knows_required_options_by_phase() {
    let schema = schema::json_schema(KINDS);
    let forms = |phase: &str| {
        schema["definitions"][phase]["anyOf"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    };
    let takes_bare_job = |phase| {
        forms(phase).iter().any(|form| {
            form["pattern"]
                .as_str()
                .is_some_and(|pattern| pattern.starts_with(r"^job\."))
        })
    };
    assert!(takes_bare_job("down_step") && !takes_bare_job("up_step"));
    let manifest = schema::manifest_schema();
    assert_eq!(
        manifest["properties"]["apply"]["enum"],
        json!(["three-way", "overwrite", "server-side"])
    );
}

/// Rewrites `configs/kzero.schema.json` when asked to: `cargo test -p kzero-profile -- --ignored`.
#[test]
#[ignore = "writes a file of the repository"]
fn the_schema_file_is_written() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/kzero.schema.json");
    let text = serde_json::to_string_pretty(&schema::json_schema(KINDS)).unwrap();
    std::fs::write(path, text + "\n").unwrap();
}
