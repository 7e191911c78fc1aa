//! The keys of chapter 1.3: defaults, values, bad values.

use std::time::Duration;

use kzero_profile::{
    ColorMode, Execution, ProbeCheck, ProbeGate, RetryScope, VerifyCheck, VerifyFormat,
};

use crate::support::{error_of, load_with, profile_of, warnings_of};

const HEAD: &str = "schema_version: \"1.0\"\nrun: {mode: dry-run}\npipelines: {down: []}\n";

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[test]
fn defaults_are_those_of_the_specification() {
    let p = profile_of(HEAD);
    assert_eq!((&*p.schema_version, p.client_id), ("1.0", None));
    assert_eq!(
        (&*p.command.kubectl, &*p.command.helm, &*p.command.shell),
        ("kubectl", "helm", "/bin/sh")
    );
    assert!(p.command.shell_is_default);
    assert_eq!(p.helm.workspace, None);
    assert!(p.notify.on_error && !p.notify.require_delivery && !p.notify.any_enabled());
    assert_eq!(
        p.verify.checks,
        [VerifyCheck::WorkloadsReady, VerifyCheck::NodesReady]
    );
    assert_eq!(
        (p.verify.enabled, p.verify.format),
        (false, VerifyFormat::Text)
    );
    assert_eq!(p.infra_probe.before, [ProbeGate::Reset]);
    assert!(p.infra_probe.fail_fast && !p.infra_probe.enabled);
    assert_eq!(p.infra_probe.cache_ttl, Duration::ZERO);
    assert_eq!(
        (
            p.retry.attempts,
            p.retry.delay,
            p.retry.delay_given,
            p.retry.scope
        ),
        (1, secs(5), false, RetryScope::Step)
    );
    assert_eq!(
        (p.run.execution, p.run.color),
        (Execution::Native, ColorMode::Auto)
    );
    assert_eq!(
        (
            p.run.timeout,
            p.run.operation_timeout,
            p.run.cleanup_timeout
        ),
        (None, None, secs(30))
    );
    assert!(!p.run.no_env_passthrough && !p.run.verify && !p.run.api_watchdog.enabled);
    assert_eq!(
        (p.run.api_watchdog.interval, p.run.api_watchdog.fail_after),
        (secs(60), secs(300))
    );
    assert_eq!(
        (
            p.run.kubeconfig,
            p.run.log_dir,
            p.run.log_file,
            p.run.probe_cache_dir
        ),
        (None, None, None, None)
    );
    assert_eq!(
        (p.state.namespace, &*p.state.name, p.state.name_given),
        (None, "kzero", false)
    );
    assert!(p.warnings.is_empty() && p.overrides.is_empty() && p.secrets.is_empty());
}

#[test]
fn a_full_profile_lands_where_it_belongs() {
    let p = profile_of(
        "\
schema_version: \"1.0\"
cluster: {name: prod, environment: production, description: The big one}
client: {id: team a}
helm:
  workspace: ./ws
  registries:
    - {host: \"Reg.example.com:5000\", username: u, password: pw1}
    - {host: other, username: v, password: pw2, password_env: OTHER}
command: {kubectl: ./k, helm: ./h, shell: bash}
hooks: {pre-down: a, post-down: b, pre-up: c, post-up: d, on-error: e}
pipelines: {down: [cronjob.a/b], up: [custom: ./x]}
notify:
  on_error: false
  require_delivery: true
  slack: {enabled: true, webhook_url: \"https://s/1\"}
  discord: {enabled: true, webhook_url: \"http://d\"}
  teams: {enabled: true, webhook_url: \"HTTPS://t\"}
  pagerduty: {enabled: true, routing_key: rk}
  webhook: {enabled: true, url: \"https://w\", headers: {Authorization: Bearer x, X-Two: \"2\"}}
verify: {enabled: true, checks: [pods_schedulable, nodes_ready], format: json}
infra_probe:
  enabled: true
  before: [down, reset]
  fail_fast: false
  cache_ttl: 10m
  pipeline: {up: [release.p/q], down: [release.p/q, pvc.p/data]}
  checks: [pvc_bound: p/data, release_ready: true, {pods_schedulable: true}]
retry: {attempts: 3, delay: 8s, scope: main}
run:
  mode: live
  kubeconfig: ./kc
  execution: auto
  color: never
  timeout: 25m
  operation_timeout: 45s
  cleanup_timeout: 1m
  no_env_passthrough: true
  verify: true
  probe_cache_dir: ./cache
  log_dir: ./logs
  log_file: ./one.log
  api_watchdog: {enabled: true, interval: 10s, fail_after: 1m}
state: {namespace: ops, name: shared}
",
    );
    assert_eq!(p.client_id.as_deref(), Some("team a"));
    let registries: Vec<_> = p
        .helm
        .registries
        .iter()
        .map(|r| (&*r.host, &*r.username, r.password_env.as_deref()))
        .collect();
    assert_eq!(
        registries,
        [
            ("Reg.example.com:5000", "u", None),
            ("other", "v", Some("OTHER"))
        ]
    );
    assert_eq!(
        p.helm.registries[0]
            .password
            .as_ref()
            .map(kzero_profile::Secret::expose),
        Some("pw1")
    );
    assert!(!p.command.shell_is_default);
    let h = p.hooks.clone();
    let hooks = [h.pre_down, h.post_down, h.pre_up, h.post_up, h.on_error];
    assert_eq!(
        hooks.map(Option::unwrap_or_default),
        ["a", "b", "c", "d", "e"]
    );
    assert!(!p.notify.on_error && p.notify.require_delivery && p.notify.problems().is_empty());
    assert_eq!(p.notify.webhook.headers[0].0, "Authorization");
    assert_eq!(
        p.verify.checks,
        [VerifyCheck::PodsSchedulable, VerifyCheck::NodesReady]
    );
    assert_eq!(p.infra_probe.before, [ProbeGate::Down, ProbeGate::Reset]);
    assert_eq!(p.infra_probe.cache_ttl, secs(600));
    assert_eq!(
        p.infra_probe.checks,
        [
            ProbeCheck::PvcBound {
                namespace: "p".to_owned(),
                claim: "data".to_owned()
            },
            ProbeCheck::ReleaseReady,
            ProbeCheck::PodsSchedulable,
        ]
    );
    assert_eq!(
        (
            p.retry.attempts,
            p.retry.delay,
            p.retry.delay_given,
            p.retry.scope
        ),
        (3, secs(8), true, RetryScope::Main)
    );
    assert_eq!(
        (
            p.run.timeout,
            p.run.operation_timeout,
            p.run.cleanup_timeout
        ),
        (Some(secs(1500)), Some(secs(45)), secs(60))
    );
    assert_eq!(
        (
            p.state.namespace.as_deref(),
            &*p.state.name,
            p.state.name_given
        ),
        (Some("ops"), "shared", true)
    );
    assert_eq!(
        p.secrets,
        [
            "2",
            "Bearer x",
            "HTTPS://t",
            "http://d",
            "https://s/1",
            "https://w",
            "pw1",
            "pw2",
            "rk"
        ]
    );
    assert_eq!(
        p.position_of("hooks.pre-up").map(|at| (at.line, at.column)),
        Some((10, 36))
    );
    assert!(p.warnings.is_empty(), "{:?}", p.warnings);
}

#[test]
fn zero_and_empty_values_count_as_the_default() {
    let p = profile_of(&format!(
        "{HEAD}retry: {{attempts: 0, delay: 0}}\ncommand: {{shell: \"\", kubectl: ~}}\nstate: {{name: \"\"}}\nhelm: {{registries: }}\nverify:\nclient: {{id: \"\"}}\n"
    ));
    assert_eq!(
        (p.retry.attempts, p.retry.delay, p.retry.delay_given),
        (1, secs(5), false)
    );
    assert_eq!(
        (&*p.command.shell, &*p.command.kubectl, p.client_id),
        ("/bin/sh", "kubectl", None)
    );
    assert!(!p.state.name_given);
    let watchdog = profile_of(&HEAD.replace(
        "mode: dry-run",
        "mode: dry-run, api_watchdog: {interval: \"0\", fail_after: 0s}",
    ))
    .run
    .api_watchdog;
    assert_eq!(
        (watchdog.interval, watchdog.fail_after),
        (secs(60), secs(300))
    );
}

#[test]
fn bad_values_name_their_key() {
    for (lines, words) in [
        ("retry: {attempts: -1}", "retry.attempts is negative: -1"),
        (
            "retry: {attempts: 2.5}",
            "retry.attempts must be a whole number, but 2.5 was read",
        ),
        (
            "retry: {attempts: \"3\"}",
            "retry.attempts must be an integer, but the text \"3\" was read",
        ),
        (
            "retry: {attempts: ~}",
            "retry.attempts must be an integer, but nothing was read",
        ),
        ("retry: {scope: all}", "retry.scope cannot be \"all\""),
        ("verify: {format: yaml}", "verify.format cannot be \"yaml\""),
        (
            "verify: {checks: [nodes_redy]}",
            "verify.checks[0] cannot be \"nodes_redy\"",
        ),
        (
            "infra_probe: {before: [up]}",
            "infra_probe.before[0] cannot be \"up\"",
        ),
        (
            "infra_probe: {enabled: true}",
            "infra_probe.enabled is true, but infra_probe.pipeline.up has no steps",
        ),
        (
            "infra_probe: {cache_ttl: 90}",
            "infra_probe.cache_ttl: the number 90 needs a unit",
        ),
        (
            "infra_probe: {checks: [release_ready: false]}",
            "infra_probe.checks[0].release_ready is false, which asks nothing",
        ),
        (
            "infra_probe: {checks: [{release_ready: true, pods_schedulable: true}]}",
            "infra_probe.checks[0] has the key \"pods_schedulable\" beside \"release_ready\"",
        ),
        (
            "infra_probe: {checks: [pvc_bound: data]}",
            "\"data\" has no \"/\" between namespace and claim",
        ),
        (
            "infra_probe: {checks: [pvc_bound: A/data]}",
            "has a namespace that has the capital letter 'A'",
        ),
        (
            "infra_probe: {checks: [pvc_bund: a/b]}",
            "unknown key \"pvc_bund\" in infra_probe.checks[0]",
        ),
        (
            "infra_probe: {checks: [pods_schedulable]}",
            "infra_probe.checks[0] is the text \"pods_schedulable\", not a check",
        ),
        (
            "infra_probe: {checks: [{}]}",
            "infra_probe.checks[0] is an empty mapping",
        ),
        (
            "infra_probe: {pipeline: {up: [5]}}",
            "infra_probe.pipeline.up[0] is the number 5, not a step",
        ),
        (
            "helm: {registries: [{username: u, password: p}]}",
            "helm.registries[0] has no host",
        ),
        (
            "helm: {registries: [{host: h, password: p}]}",
            "helm.registries[0] has no username",
        ),
        (
            "helm: {registries: [{host: h, username: u}]}",
            "helm.registries[0] has no password_env",
        ),
        (
            "helm: {registries: [{host: h, username: u, password: p, pasword: q}]}",
            "unknown key \"pasword\" in helm.registries[0]",
        ),
        (
            "helm: {registries: [{host: h, username: u, password: p}, {host: H, username: u, password: p}]}",
            "the registry \"H\" is given twice, on line 4 and on line 4",
        ),
        (
            "helm: {registries: {host: h}}",
            "helm.registries must be a list of registries, but a mapping was read",
        ),
        (
            "notify: {webhook: {headers: {\"a b\": c}}}",
            "\"a b\" is not a header name in HTTP",
        ),
        (
            "notify: {webhook: {headers: {a: 5}}}",
            "notify.webhook.headers.a must be text, but a number was read",
        ),
        (
            "notify: {teams: {webhook_url: example.com}}",
            "notify.teams.webhook_url is not an http(s) address",
        ),
        (
            "notify: {teams: {webhook_url: \"https://\"}}",
            "notify.teams.webhook_url is not an http(s) address",
        ),
        (
            "state: {namespace: a.b}",
            "state.namespace \"a.b\" has a dot",
        ),
        (
            "state: {name: A}",
            "state.name \"A\" has the capital letter 'A'",
        ),
        (
            "hooks: {pre-down: [a]}",
            "hooks.pre-down must be text, but a list was read",
        ),
        (
            "hooks: ./x.sh",
            "hooks must be a mapping, but the text \"./x.sh\" was read",
        ),
    ] {
        let error = error_of(&format!("{HEAD}{lines}\n"));
        assert!(error.contains(words), "{lines} gave {error}");
        assert_eq!(
            error.matches("kzero.yaml:4:").count(),
            1,
            "{lines} gave {error}"
        );
    }
    for (run, words) in [
        ("{mode: Live}", "run.mode cannot be \"Live\"\n"),
        ("{mode: dryrun}", "hint: write dry-run"),
        (
            "{mode: live, execution: sdk}",
            "run.execution cannot be \"sdk\"",
        ),
        ("{mode: live, color: yes}", "run.color cannot be \"yes\""),
        (
            "{mode: live, timeout: 25}",
            "run.timeout: the number 25 needs a unit; write for example \"25s\" or \"25m\"",
        ),
        ("{mode: live, timeout: -5m}", "\"-5m\" is negative"),
        (
            "{mode: live, cleanup_timeout: 0}",
            "run.cleanup_timeout must be longer than zero",
        ),
        (
            "live",
            "run must be a mapping, but the text \"live\" was read",
        ),
    ] {
        let error = error_of(&HEAD.replace("{mode: dry-run}", run));
        assert!(error.contains(words), "{run} gave {error}");
    }
}

#[test]
fn integers_in_every_written_form() {
    // S-1.27
    for (text, want) in [
        ("3", 3),
        ("3.0", 3),
        ("0x10", 16),
        ("0o17", 15),
        ("1_000", 1000),
        ("1e2", 100),
        ("+4", 4),
    ] {
        assert_eq!(
            profile_of(&format!("{HEAD}retry: {{attempts: {text}}}\n"))
                .retry
                .attempts,
            want,
            "{text}"
        );
    }
    let error = error_of(&format!("{HEAD}retry: {{attempts: 010}}\n"));
    assert_eq!(
        error,
        "\
kzero.yaml:4:19: retry.attempts: 010 is ambiguous because of its leading zero
  4 | retry: {attempts: 010}
    |                   ^
  expected: an integer from 0 to 2147483647
  hint: write 10 for the decimal number, or 8 for the octal one"
    );
}

#[test]
fn a_verify_that_switches_nothing_warns() {
    assert_eq!(
        warnings_of(&format!("{HEAD}verify: {{enabled: true}}\n")),
        [
            "warning: verify.enabled is true, but switches nothing, and run.verify is false (kzero.yaml:4:10); write verify: true below run: to verify after a live up or reset"
        ]
    );
    let env = [("KZERO_RUN_VERIFY", "true")];
    let profile = load_with(
        &format!("{HEAD}verify: {{enabled: true}}\n"),
        &env,
        kzero_profile::Overrides::default(),
    )
    .unwrap();
    assert!(profile.warnings.is_empty());
}

#[test]
fn enabled_channels_without_an_address_are_listed_and_do_not_stop_the_load() {
    let profile = profile_of(&format!(
        "{HEAD}notify: {{slack: {{enabled: true}}, pagerduty: {{enabled: true, routing_key: \"\"}}, webhook: {{enabled: true, url: \"https://x\"}}}}\n"
    ));
    let shown: Vec<_> = profile
        .notify
        .problems()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        shown,
        [
            "notify.slack.enabled is true, but notify.slack.webhook_url is empty",
            "notify.pagerduty.enabled is true, but notify.pagerduty.routing_key is empty",
        ]
    );
}

#[test]
fn the_password_behind_a_variable_is_masked_too() {
    let text =
        format!("{HEAD}helm: {{registries: [{{host: h, username: u, password_env: REG_PW}}]}}\n");
    let profile = load_with(
        &text,
        &[("REG_PW", "hunter2")],
        kzero_profile::Overrides::default(),
    )
    .unwrap();
    assert_eq!(profile.secrets, ["hunter2"]);
    // Unset is no fault of the profile: it matters when the registry is used (S-5.18).
    assert!(profile_of(&text).secrets.is_empty());
}

#[test]
fn long_state_names_are_cut_and_stay_apart() {
    let name = |cluster: &str| {
        profile_of(&format!("{HEAD}cluster: {{name: {cluster}}}\n"))
            .state
            .name
    };
    let long = "a".repeat(80);
    let (one, two) = (name(&format!("{long}b")), name(&format!("{long}c")));
    assert!(one.len() <= 63 && one != two, "{one} {two}");
    assert_eq!(name("Prod / EU"), "prod-eu-kzero");
}
