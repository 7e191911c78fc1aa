//! Environment and flags (S-1.17 to S-1.20).

use std::time::Duration;

use kzero_profile::{Override, Overrides, Profile, RunMode};

use crate::support::load_with;

const TEXT: &str =
    "schema_version: \"1.0\"\nrun: {mode: dry-run, kubeconfig: ./file}\npipelines: {down: []}\n";

fn with(variables: &[(&str, &str)]) -> Profile {
    load_with(TEXT, variables, Overrides::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(variable: &str, value: &str) -> String {
    match load_with(TEXT, &[(variable, value)], Overrides::default()) {
        Ok(_) => panic!("{variable}={value} must be refused"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_scalar_key_has_a_variable() {
    // S-1.17: dots and dashes become underscores; keys that are not in the file work too.
    let profile = with(&[
        ("KZERO_RUN_API_WATCHDOG_FAIL_AFTER", "7m"),
        ("KZERO_HOOKS_PRE_DOWN", "./h.sh"),
        ("KZERO_CLUSTER_NAME", "prod"),
        ("KZERO_RETRY_ATTEMPTS", "1e1"),
        ("KZERO_STATE_NAMESPACE", "kzero"),
        ("KZERO_NOTIFY_SLACK_ENABLED", "T"),
        ("KZERO_VERIFY_FORMAT", "json"),
    ]);
    assert_eq!(
        profile.run.api_watchdog.fail_after,
        Duration::from_secs(420)
    );
    assert_eq!(profile.hooks.pre_down.as_deref(), Some("./h.sh"));
    assert_eq!(profile.cluster.name, "prod");
    assert_eq!(profile.retry.attempts, 10);
    assert_eq!(profile.state.namespace.as_deref(), Some("kzero"));
    assert!(profile.notify.slack.enabled);
    assert_eq!(profile.verify.format.as_str(), "json");
}

#[test]
fn required_keys_may_come_from_the_environment() {
    let text = "pipelines: {down: []}\n";
    let variables = [("KZERO_SCHEMA_VERSION", "1.0"), ("KZERO_RUN_MODE", "live")];
    let profile = load_with(text, &variables, Overrides::default()).unwrap();
    assert_eq!(profile.run.mode, RunMode::Live);
    assert_eq!(profile.schema_version, "1.0");
}

#[test]
fn booleans_of_the_environment() {
    // S-1.18
    for (text, want) in [
        ("1", true),
        ("t", true),
        ("TRUE", true),
        ("0", false),
        ("F", false),
        ("False", false),
    ] {
        assert_eq!(
            with(&[("KZERO_RUN_VERIFY", text)]).run.verify,
            want,
            "{text}"
        );
    }
    let error = refused("KZERO_RUN_VERIFY", "yes");
    assert!(
        error.starts_with("KZERO_RUN_VERIFY: run.verify must be a boolean, but \"yes\" was read"),
        "{error}"
    );
}

#[test]
fn bad_values_name_the_variable() {
    for (variable, value) in [
        ("KZERO_RETRY_ATTEMPTS", "-1"),
        ("KZERO_RETRY_ATTEMPTS", "010"),
        ("KZERO_RETRY_DELAY", "5"),
        ("KZERO_RUN_CLEANUP_TIMEOUT", "0"),
        ("KZERO_STATE_NAME", "A.b"),
        ("KZERO_SCHEMA_VERSION", "2.0"),
        ("KZERO_RUN_EXECUTION", "sdk"),
    ] {
        let error = refused(variable, value);
        assert!(error.starts_with(&format!("{variable}: ")), "{error}");
    }
    let secret = refused("KZERO_NOTIFY_SLACK_WEBHOOK_URL", "hunter2");
    assert!(
        secret.starts_with("KZERO_NOTIFY_SLACK_WEBHOOK_URL: ") && !secret.contains("hunter2"),
        "{secret}"
    );
}

#[test]
fn overrides_in_force_are_listed_with_secrets_marked() {
    // S-1.19
    let profile = with(&[
        ("KZERO_NOTIFY_PAGERDUTY_ROUTING_KEY", "hunter2"),
        ("KZERO_RUN_MODE", "live"),
        ("KZERO_RUN_COLOR", ""),
        ("KZERO_COLOR", "always"),
    ]);
    let entry = |key, variable: &str, secret| Override {
        key,
        variable: variable.to_owned(),
        secret,
    };
    assert_eq!(
        profile.overrides,
        [
            entry(
                "notify.pagerduty.routing_key",
                "KZERO_NOTIFY_PAGERDUTY_ROUTING_KEY",
                true
            ),
            entry("run.mode", "KZERO_RUN_MODE", false),
        ]
    );
    assert_eq!(profile.secrets, ["hunter2"]);
    assert!(!format!("{profile:?}").contains("hunter2"));
}

#[test]
fn lists_and_headers_have_no_variables() {
    // S-1.20
    let profile = with(&[
        ("KZERO_PIPELINES_DOWN", "deployment.a/b"),
        ("KZERO_VERIFY_CHECKS", "nodes_ready"),
        ("KZERO_HELM_REGISTRIES", "x"),
        ("KZERO_NOTIFY_WEBHOOK_HEADERS", "x"),
        ("KZERO_INFRA_PROBE_BEFORE", "down"),
        ("KZERO_INFRA_PROBE_CHECKS", "x"),
    ]);
    assert!(profile.overrides.is_empty());
    assert_eq!(profile.pipelines.down, Some(vec![]));
}

#[test]
fn flags_beat_the_environment() {
    // S-1.18
    let variables = [
        ("KZERO_RUN_MODE", "live"),
        ("KZERO_RUN_KUBECONFIG", "./env"),
        ("KZERO_RUN_NO_ENV_PASSTHROUGH", "false"),
    ];
    let flags = Overrides {
        dry_run: true,
        kubeconfig: Some("./flag"),
        no_env_passthrough: true,
    };
    let profile = load_with(TEXT, &variables, flags).unwrap();
    assert_eq!(profile.run.mode, RunMode::DryRun);
    assert_eq!(profile.run.kubeconfig.as_deref(), Some("./flag"));
    assert!(profile.run.no_env_passthrough);
    assert!(profile.overrides.is_empty(), "{:?}", profile.overrides);
    let env = load_with(TEXT, &variables, Overrides::default()).unwrap();
    assert_eq!(env.run.kubeconfig.as_deref(), Some("./env"));
    assert_eq!(env.overrides.len(), 3);
    // A flag decides a value, it does not heal a bad variable.
    assert!(load_with(TEXT, &[("KZERO_RUN_MODE", "Live")], flags).is_err());
}
