//! The table of profile keys (S-1.17 to S-1.21): names, forms, defaults, and where values go.

use std::rc::Rc;

use crate::diagnostic::{Diagnostic, Position};
use crate::model::{
    ColorMode, Execution, Phase, ProbeCheck, ProbeGate, Profile, Registry, RetryScope, RunMode,
    Secret, VerifyCheck, VerifyFormat,
};
use crate::names::{label_fault, subdomain_fault};
use crate::node::{Core, Node, Value, quoted};
use crate::read::{Field, Key, Reader, Special, Unknown};
use crate::step::read_steps;

/// A setter for a word that is known to be one of the enum's.
macro_rules! word {
    ($enum:ident, |$profile:ident| $place:expr) => {
        Field::Word($enum::WORDS, |$profile, word| {
            if let Some(value) = $enum::from_word(word) {
                $place = value;
            }
        })
    };
}

const fn key(
    path: &'static str,
    field: Field<Profile>,
    default: &'static str,
    doc: &'static str,
) -> Key<Profile> {
    Key {
        path,
        field,
        default,
        doc,
    }
}

/// Every key of a profile.
pub(crate) static KEYS: &[Key<Profile>] = &[
    key(
        "schema_version",
        Field::Version(|p, v| p.schema_version = v),
        "",
        "version of the profile format, always \"1.0\"",
    ),
    key(
        "cluster.name",
        Field::Label(|p, v| p.cluster.name = v),
        "",
        "label of the cluster; never selects one",
    ),
    key(
        "cluster.environment",
        Field::Label(|p, v| p.cluster.environment = v),
        "",
        "label of the environment",
    ),
    key(
        "cluster.description",
        Field::Label(|p, v| p.cluster.description = v),
        "",
        "free text",
    ),
    key(
        "client.id",
        Field::Label(|p, v| p.client_id = (!v.is_empty()).then_some(v)),
        "",
        "audit label in logs, scripts and notifications",
    ),
    key(
        "helm.workspace",
        Field::Path(|p, v| p.helm.workspace = v),
        "",
        "folder of chart manifests and release scripts; required by release steps",
    ),
    key(
        "helm.registries",
        Field::Node(Special::Registries, registries),
        "",
        "credentials for chart registries",
    ),
    key(
        "command.kubectl",
        Field::Path(|p, v| set_program(&mut p.command.kubectl, v)),
        "kubectl",
        "kubectl for shell execution",
    ),
    key(
        "command.helm",
        Field::Path(|p, v| set_program(&mut p.command.helm, v)),
        "helm",
        "helm for shell execution",
    ),
    key(
        "command.shell",
        Field::Path(|p, v| set_program(&mut p.command.shell, v)),
        "/bin/sh",
        "interpreter of all scripts",
    ),
    key(
        "hooks.pre-down",
        Field::Path(|p, v| p.hooks.pre_down = v),
        "",
        "script before the down steps",
    ),
    key(
        "hooks.post-down",
        Field::Path(|p, v| p.hooks.post_down = v),
        "",
        "script after the down steps",
    ),
    key(
        "hooks.pre-up",
        Field::Path(|p, v| p.hooks.pre_up = v),
        "",
        "script before the up steps",
    ),
    key(
        "hooks.post-up",
        Field::Path(|p, v| p.hooks.post_up = v),
        "",
        "script after the up steps",
    ),
    key(
        "hooks.on-error",
        Field::Path(|p, v| p.hooks.on_error = v),
        "",
        "script after a failure",
    ),
    key(
        "pipelines.down",
        Field::Node(Special::Steps(Phase::Down), |p, r, name, n| {
            p.pipelines.down = Some(read_steps(r, name, Phase::Down, n));
        }),
        "",
        "steps that park, in order",
    ),
    key(
        "pipelines.up",
        Field::Node(Special::Steps(Phase::Up), |p, r, name, n| {
            p.pipelines.up = Some(read_steps(r, name, Phase::Up, n));
        }),
        "",
        "steps that wake, in order",
    ),
    key(
        "notify.on_error",
        Field::Bool(|p, v| p.notify.on_error = v),
        "true",
        "send pipeline.error",
    ),
    key(
        "notify.require_delivery",
        Field::Bool(|p, v| p.notify.require_delivery = v),
        "false",
        "an error event that was not delivered changes the exit code",
    ),
    key(
        "notify.slack.enabled",
        Field::Bool(|p, v| p.notify.slack.enabled = v),
        "false",
        "send to Slack",
    ),
    key(
        "notify.slack.webhook_url",
        Field::SecretUrl(|p, v| p.notify.slack.webhook_url = Secret::new(v)),
        "",
        "address given by Slack; a secret",
    ),
    key(
        "notify.discord.enabled",
        Field::Bool(|p, v| p.notify.discord.enabled = v),
        "false",
        "send to Discord",
    ),
    key(
        "notify.discord.webhook_url",
        Field::SecretUrl(|p, v| p.notify.discord.webhook_url = Secret::new(v)),
        "",
        "address given by Discord; a secret",
    ),
    key(
        "notify.teams.enabled",
        Field::Bool(|p, v| p.notify.teams.enabled = v),
        "false",
        "send to Microsoft Teams",
    ),
    key(
        "notify.teams.webhook_url",
        Field::SecretUrl(|p, v| p.notify.teams.webhook_url = Secret::new(v)),
        "",
        "address given by Teams; a secret",
    ),
    key(
        "notify.pagerduty.enabled",
        Field::Bool(|p, v| p.notify.pagerduty.enabled = v),
        "false",
        "send to PagerDuty",
    ),
    key(
        "notify.pagerduty.routing_key",
        Field::SecretText(|p, v| p.notify.pagerduty.routing_key = Secret::new(v)),
        "",
        "integration key; a secret",
    ),
    key(
        "notify.webhook.enabled",
        Field::Bool(|p, v| p.notify.webhook.enabled = v),
        "false",
        "send to an address of your own",
    ),
    key(
        "notify.webhook.url",
        Field::SecretUrl(|p, v| p.notify.webhook.url = Secret::new(v)),
        "",
        "the address; a secret",
    ),
    key(
        "notify.webhook.headers",
        Field::Node(Special::TextMap, headers),
        "",
        "extra headers; values are secrets",
    ),
    key(
        "verify.enabled",
        Field::Bool(|p, v| p.verify.enabled = v),
        "false",
        "accepted for old profiles, switches nothing; see run.verify",
    ),
    key(
        "verify.checks",
        Field::Node(Special::Words(VerifyCheck::WORDS), |p, r, name, n| {
            if let Some(words) = r.words(name, n, VerifyCheck::WORDS) {
                p.verify.checks = words
                    .into_iter()
                    .filter_map(VerifyCheck::from_word)
                    .collect();
            }
        }),
        "",
        "what verify looks at; workloads_ready and nodes_ready unless given",
    ),
    key(
        "verify.format",
        word!(VerifyFormat, |p| p.verify.format),
        "text",
        "form of the verify report",
    ),
    key(
        "infra_probe.enabled",
        Field::Bool(|p, v| p.infra_probe.enabled = v),
        "false",
        "run the probe before the commands in before",
    ),
    key(
        "infra_probe.before",
        Field::Node(Special::Words(ProbeGate::WORDS), |p, r, name, n| {
            if let Some(words) = r.words(name, n, ProbeGate::WORDS) {
                p.infra_probe.before = words.into_iter().filter_map(ProbeGate::from_word).collect();
            }
        }),
        "",
        "guarded commands; reset unless given",
    ),
    key(
        "infra_probe.fail_fast",
        Field::Bool(|p, v| p.infra_probe.fail_fast = v),
        "true",
        "a failed probe stops the command",
    ),
    key(
        "infra_probe.cache_ttl",
        Field::Duration(|p, v| p.infra_probe.cache_ttl = v),
        "0",
        "how long a success counts; 0 is no cache",
    ),
    key(
        "infra_probe.pipeline.down",
        Field::Node(Special::Steps(Phase::Down), |p, r, name, n| {
            p.infra_probe.pipeline.down = Some(read_steps(r, name, Phase::Down, n));
        }),
        "",
        "steps that remove what the probe made",
    ),
    key(
        "infra_probe.pipeline.up",
        Field::Node(Special::Steps(Phase::Up), |p, r, name, n| {
            p.infra_probe.pipeline.up = Some(read_steps(r, name, Phase::Up, n));
        }),
        "",
        "steps of the probe",
    ),
    key(
        "infra_probe.checks",
        Field::Node(Special::ProbeChecks, probe_checks),
        "",
        "questions after pipeline.up",
    ),
    key(
        "retry.attempts",
        Field::Count(|p, v| p.retry.attempts = v.max(1)),
        "1",
        "tries of a step; 0 counts as 1",
    ),
    key(
        "retry.delay",
        Field::Duration(|p, v| {
            p.retry.delay_given = !v.is_zero();
            p.retry.delay = or_default(v, 5);
        }),
        "5s",
        "base of the waits between tries; 0 counts as 5s",
    ),
    key(
        "retry.scope",
        word!(RetryScope, |p| p.retry.scope),
        "step",
        "whether pre and post are repeated too",
    ),
    key(
        "run.mode",
        word!(RunMode, |p| p.run.mode),
        "",
        "dry-run changes nothing",
    ),
    key(
        "run.kubeconfig",
        Field::Path(|p, v| p.run.kubeconfig = v),
        "",
        "kubeconfig to use instead of the usual discovery",
    ),
    key(
        "run.execution",
        word!(Execution, |p| p.run.execution),
        "native",
        "who talks to the cluster",
    ),
    key(
        "run.color",
        word!(ColorMode, |p| p.run.color),
        "auto",
        "colour of the summary",
    ),
    key(
        "run.timeout",
        Field::Duration(|p, v| p.run.timeout = (!v.is_zero()).then_some(v)),
        "0",
        "budget of the whole run; 0 is none",
    ),
    key(
        "run.operation_timeout",
        Field::Duration(|p, v| p.run.operation_timeout = (!v.is_zero()).then_some(v)),
        "0",
        "budget of steps and hooks without their own; 0 is none",
    ),
    key(
        "run.cleanup_timeout",
        Field::PositiveDuration(|p, v| p.run.cleanup_timeout = v),
        "30s",
        "budget of the clean-up after a failure",
    ),
    key(
        "run.no_env_passthrough",
        Field::Bool(|p, v| p.run.no_env_passthrough = v),
        "false",
        "scripts see the documented variables only",
    ),
    key(
        "run.verify",
        Field::Bool(|p, v| p.run.verify = v),
        "false",
        "verify after a live up or reset",
    ),
    key(
        "run.probe_cache_dir",
        Field::Path(|p, v| p.run.probe_cache_dir = v),
        "",
        "folder of the probe cache; the user's cache folder unless given",
    ),
    key(
        "run.log_dir",
        Field::Path(|p, v| p.run.log_dir = v),
        "",
        "folder for log files",
    ),
    key(
        "run.log_file",
        Field::Path(|p, v| p.run.log_file = v),
        "",
        "log file",
    ),
    key(
        "run.api_watchdog.enabled",
        Field::Bool(|p, v| p.run.api_watchdog.enabled = v),
        "false",
        "stop a run when the API server stays away",
    ),
    key(
        "run.api_watchdog.interval",
        Field::Duration(|p, v| p.run.api_watchdog.interval = or_default(v, 60)),
        "60s",
        "time between probes; 0 counts as 60s",
    ),
    key(
        "run.api_watchdog.fail_after",
        Field::Duration(|p, v| p.run.api_watchdog.fail_after = or_default(v, 300)),
        "5m",
        "how long probes may fail; 0 counts as 5m",
    ),
    key(
        "state.namespace",
        Field::DnsLabel(|p, v| p.state.namespace = v),
        "",
        "namespace of memory and lock; that of the context unless given",
    ),
    key(
        "state.name",
        Field::DnsLabel(|p, v| {
            p.state.name_given = v.is_some();
            p.state.name = v.unwrap_or_default();
        }),
        "",
        "name of memory and lock; from cluster.name and the file name unless given",
    ),
];

/// An empty program name means the default, which is already there.
fn set_program(place: &mut String, program: Option<String>) {
    if let Some(program) = program {
        *place = program;
    }
}

fn or_default(value: std::time::Duration, seconds: u64) -> std::time::Duration {
    if value.is_zero() {
        std::time::Duration::from_secs(seconds)
    } else {
        value
    }
}

fn registries(profile: &mut Profile, reader: &mut Reader<'_>, name: &'static str, node: &Node) {
    let Some(items) = reader.list(name, "a list of registries", node) else {
        return;
    };
    let mut hosts: Vec<(String, Position)> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let name = format!("{name}[{index}]");
        let Some(registry) = registry(reader, &name, item) else {
            continue;
        };
        let host = registry.host.to_lowercase();
        if let Some((_, first)) = hosts.iter().find(|(other, _)| *other == host) {
            reader.error(
                Diagnostic::error(
                    registry.at,
                    format!(
                        "the registry {} is given twice, on line {} and on line {}",
                        quoted(&registry.host),
                        first.line,
                        registry.at.line
                    ),
                )
                .expected("each host once, upper and lower case counted as equal"),
            );
            continue;
        }
        hosts.push((host, registry.at));
        profile.helm.registries.push(registry);
    }
}

const REGISTRY_KEYS: [&str; 4] = ["host", "username", "password", "password_env"];

fn registry(reader: &mut Reader<'_>, name: &str, node: &Node) -> Option<Registry> {
    let entries = reader.mapping(name, node)?;
    let before = reader.errors.len();
    let (mut host, mut username, mut password, mut password_env) = (None, None, None, None);
    for entry in entries {
        let label = format!("{name}.{}", entry.key.text);
        match &*entry.key.text {
            "host" => host = reader.path(&label, &entry.value),
            "username" => username = reader.path(&label, &entry.value),
            "password" => {
                password = reader
                    .text(&label, &entry.value, true)
                    .map(str::to_owned)
                    .filter(|text| !text.is_empty());
            }
            "password_env" => password_env = reader.path(&label, &entry.value),
            other => {
                reader.unknown(other, entry.key.at, name, &REGISTRY_KEYS, Unknown::Refuse);
                // A password under a misspelt key is a password.
                reader.secret_perhaps(&entry.value);
            }
        }
    }
    reader.secrets.extend(password.clone());
    if let Some(variable) = &password_env {
        let value = (reader.env)(variable).filter(|value| !value.is_empty());
        reader.secrets.extend(value);
    }
    if reader.errors.len() > before {
        return None;
    }
    let missing = if host.is_none() {
        Some(("host", "host: HOST or HOST:PORT"))
    } else if username.is_none() {
        Some(("username", "username: NAME"))
    } else if password.is_none() && password_env.is_none() {
        Some(("password_env", "password_env: VARIABLE, or password: TEXT"))
    } else {
        None
    };
    if let Some((key, form)) = missing {
        reader.error(Diagnostic::error(node.at, format!("{name} has no {key}")).expected(form));
        return None;
    }
    Some(Registry {
        host: host?,
        username: username?,
        password: password.map(Secret::new),
        password_env,
        at: node.at,
    })
}

fn headers(profile: &mut Profile, reader: &mut Reader<'_>, name: &'static str, node: &Node) {
    if node.is_null() {
        return;
    }
    let Some(entries) = reader.mapping(name, node) else {
        return;
    };
    for entry in entries {
        let header = &*entry.key.text;
        if header.is_empty() || !header.chars().all(is_token_char) {
            reader.error(
                Diagnostic::error(
                    entry.key.at,
                    format!("{name}: {} is not a header name in HTTP", quoted(header)),
                )
                .expected("letters, digits and !#$%&'*+-.^_`|~ only"),
            );
            // It is not used, but it is as secret as the others.
            if let Some(value) = reader.text(name, &entry.value, true) {
                reader.secrets.push(value.to_owned());
            }
            continue;
        }
        let label = format!("{name}.{header}");
        let Some(value) = reader.text(&label, &entry.value, true) else {
            continue;
        };
        if value.chars().any(|c| c.is_control() && c != '\t') {
            reader.error(
                Diagnostic::error(
                    entry.value.at,
                    format!("{label} holds a line break or a control character"),
                )
                .expected("one line of text")
                .concealed(),
            );
            continue;
        }
        if !value.is_empty() {
            reader.secrets.push(value.to_owned());
        }
        profile
            .notify
            .webhook
            .headers
            .push((header.to_owned(), Secret::new(value)));
    }
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

pub(crate) const PROBE_CHECKS: [&str; 3] = ["pvc_bound", "release_ready", "pods_schedulable"];
const PROBE_FORM: &str =
    "\"pvc_bound: namespace/claim\", \"release_ready: true\" or \"pods_schedulable: true\"";

fn probe_checks(profile: &mut Profile, reader: &mut Reader<'_>, name: &'static str, node: &Node) {
    let Some(items) = reader.list(name, "a list of checks", node) else {
        return;
    };
    for (index, item) in items.iter().enumerate() {
        let check = probe_check(reader, &format!("{name}[{index}]"), item);
        profile.infra_probe.checks.extend(check);
    }
}

fn probe_check(reader: &mut Reader<'_>, name: &str, node: &Rc<Node>) -> Option<ProbeCheck> {
    let entries = match &node.value {
        Value::Map(entries) => entries,
        Value::Bad => return None,
        _ => {
            let error = Diagnostic::error(
                node.at,
                format!("{name} is {}, not a check", node.describe()),
            );
            reader.error(error.expected(PROBE_FORM));
            return None;
        }
    };
    let [entry] = entries.as_slice() else {
        let message = match entries.get(1) {
            Some(second) => format!(
                "{name} has the key {} beside {}",
                quoted(&second.key.text),
                entries
                    .first()
                    .map_or_else(String::new, |first| quoted(&first.key.text))
            ),
            None => format!("{name} is an empty mapping"),
        };
        let at = entries.get(1).map_or(node.at, |second| second.key.at);
        reader.error(
            Diagnostic::error(at, message)
                .expected(format!("one check in each item: {PROBE_FORM}")),
        );
        return None;
    };
    let key = &*entry.key.text;
    let label = format!("{name}.{key}");
    match key {
        "pvc_bound" => claim(reader, &label, &entry.value),
        "release_ready" | "pods_schedulable" => {
            if !reader.boolean(&label, &entry.value, false)? {
                let error = Diagnostic::error(
                    entry.value.at,
                    format!("{label} is false, which asks nothing"),
                );
                reader.error(
                    error
                        .expected(format!("{key}: true"))
                        .hint("remove the item to leave the check out"),
                );
                return None;
            }
            Some(if key == "release_ready" {
                ProbeCheck::ReleaseReady
            } else {
                ProbeCheck::PodsSchedulable
            })
        }
        other => {
            reader.unknown(other, entry.key.at, name, &PROBE_CHECKS, Unknown::Refuse);
            None
        }
    }
}

fn claim(reader: &mut Reader<'_>, label: &str, node: &Node) -> Option<ProbeCheck> {
    let text = match &node.value {
        Value::Scalar(scalar) if scalar.core() == Core::Text => scalar.text.trim(),
        _ => reader.text(label, node, false)?,
    };
    let parts = text.split_once('/');
    let fault = match parts {
        None => Some("has no \"/\" between namespace and claim".to_owned()),
        Some((namespace, claim)) => label_fault(namespace)
            .map(|fault| format!("has a namespace that {fault}"))
            .or_else(|| {
                subdomain_fault(claim, 253).map(|fault| format!("has a claim name that {fault}"))
            }),
    };
    if let Some(fault) = fault {
        reader.error(
            Diagnostic::error(node.at, format!("{label}: {} {fault}", quoted(text)))
                .expected("NAMESPACE/CLAIM, for example db/data-pg-0"),
        );
        return None;
    }
    let (namespace, claim) = parts?;
    Some(ProbeCheck::PvcBound {
        namespace: namespace.to_owned(),
        claim: claim.to_owned(),
    })
}
