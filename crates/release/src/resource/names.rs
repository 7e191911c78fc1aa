//! Which names the API server takes, by kind: an object that it will refuse is told before anything is written.
//!
//! No rule here is stricter than that of any API server from 1.30 on; what is not known is left to the server.

use std::sync::LazyLock;

use jiff::Timestamp;
use regex::Regex;
use sha2::{Digest, Sha256};

/// The pattern that the API server names for subdomains.
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
/// The pattern that it names for labels.
const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
/// The longest subdomain.
const LONGEST: usize = 253;
/// The longest label.
const LONGEST_LABEL: usize = 63;
/// The longest name of a CronJob: its Jobs add eleven characters to it.
const LONGEST_CRON_JOB: usize = 52;

static IS_SUBDOMAIN: LazyLock<Option<Regex>> = LazyLock::new(|| whole(SUBDOMAIN));
static IS_LABEL: LazyLock<Option<Regex>> = LazyLock::new(|| whole(LABEL));

fn whole(pattern: &str) -> Option<Regex> {
    Regex::new(&format!("^(?:{pattern})$")).ok()
}

fn matches(pattern: &Option<Regex>, text: &str) -> bool {
    pattern
        .as_ref()
        .is_none_or(|pattern| pattern.is_match(text))
}

/// What a kind wants of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Anything that can be a part of a path.
    Segment,
    /// Labels of at most 63 characters, parted by dots.
    Subdomain,
    /// One label.
    Label,
}

/// The rule of a kind. `is_custom` says that the release itself defines the kind.
fn rule(group: &str, kind: &str, is_custom: bool) -> Rule {
    match (group, kind) {
        ("", "Namespace" | "Service") => Rule::Label,
        ("", "Binding" | "Event")
        | ("apiregistration.k8s.io", "APIService")
        | ("certificates.k8s.io", _)
        | ("networking.k8s.io", "IPAddress")
        | ("policy", "PodDisruptionBudget")
        | ("rbac.authorization.k8s.io", _)
        | ("authentication.k8s.io" | "authorization.k8s.io" | "internal.apiserver.k8s.io", _) => {
            Rule::Segment
        }
        ("", _) | ("apps" | "autoscaling" | "batch" | "policy", _) => Rule::Subdomain,
        (group, _) if BUILT_IN.contains(&group) || is_custom => Rule::Subdomain,
        // It may be served by another program, with rules of its own.
        _ => Rule::Segment,
    }
}

/// Groups of the API server itself whose names are subdomains.
const BUILT_IN: &[&str] = &[
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// Letters of made-up names: no vowels, so that no words come of it.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// Letters behind the prefix.
const MADE: usize = 5;

/// A name behind a prefix, in the form that the API server gives to `generateName`. It is another one at each call.
pub(super) fn generated(prefix: &str, seed: &str) -> String {
    let now = Timestamp::now().as_nanosecond();
    let hash = Sha256::digest(format!("{now} {seed}"));
    let letters = hash.iter().take(MADE).filter_map(|byte| {
        let at = usize::from(*byte) % LETTERS.len();
        LETTERS.get(at).copied().map(char::from)
    });
    prefix
        .chars()
        .take(LONGEST_LABEL - MADE)
        .chain(letters)
        .collect()
}

/// Why no object of a kind can have a name, in the API server's words; `None` if it may.
pub(super) fn fault(group: &str, kind: &str, name: &str, is_custom: bool) -> Option<String> {
    if let Some(fault) = segment_fault(name) {
        return Some(fault);
    }
    let longest = match (group, kind) {
        ("batch", "CronJob") => LONGEST_CRON_JOB,
        _ => LONGEST,
    };
    match rule(group, kind, is_custom) {
        Rule::Segment => None,
        Rule::Label => label_fault(name),
        Rule::Subdomain if name.len() > longest => {
            Some(format!("must be no more than {longest} characters"))
        }
        Rule::Subdomain if !matches(&IS_SUBDOMAIN, name) => Some(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{SUBDOMAIN}')"
        )),
        Rule::Subdomain => None,
    }
}

/// Why a text cannot be a part of a path, so that no object of any kind has it for a name.
pub(super) fn segment_fault(name: &str) -> Option<String> {
    if matches!(name, "." | "..") {
        return Some(format!("may not be '{name}'"));
    }
    let wrong = name.chars().find(|c| matches!(c, '/' | '%'))?;
    Some(format!("may not contain '{wrong}'"))
}

/// Why no namespace can have a name, in the API server's words; `None` if it may.
pub(crate) fn label_fault(name: &str) -> Option<String> {
    if name.len() > LONGEST_LABEL {
        return Some(format!("must be no more than {LONGEST_LABEL} characters"));
    }
    if matches(&IS_LABEL, name) {
        return None;
    }
    Some(format!(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{LABEL}')"
    ))
}

#[cfg(test)]
mod tests {
    use super::{fault, generated, label_fault};

    #[test]
    fn made_up_names_have_the_servers_form_and_differ() {
        let (one, other) = (generated("migrate-", "a"), generated("migrate-", "b"));
        assert_eq!(one.len(), "migrate-".len() + 5);
        assert!(one.starts_with("migrate-"));
        assert_ne!(one, other);
        assert_eq!(fault("", "Pod", &one, false), None);
        assert_eq!(generated(&"a".repeat(80), "").len(), 63);
    }

    /// What a 1.36 API server said to each, asked with `dryRun=All`.
    #[test]
    fn names_are_refused_where_the_server_refuses_them() {
        let long = |count: usize| "a".repeat(count);
        for (group, kind, name, is_taken) in [
            ("", "ConfigMap", "a.b", true),
            ("", "ConfigMap", "1a", true),
            ("", "ConfigMap", "A", false),
            ("", "ConfigMap", "a_b", false),
            ("", "ConfigMap", "a:b", false),
            ("", "ConfigMap", "-a", false),
            ("", "ConfigMap", "a\n", false),
            ("", "ConfigMap", "a..b", false),
            ("", "ConfigMap", "", false),
            ("", "Namespace", "a.b", false),
            ("", "Service", "a.b", false),
            ("", "Service", "1a", true),
            ("apps", "Deployment", "a.b", true),
            ("apps", "StatefulSet", "A", false),
            ("storage.k8s.io", "StorageClass", "A:b", false),
            ("policy", "PodDisruptionBudget", "A:b", true),
            ("policy", "PodDisruptionBudget", "a/b", false),
            (
                "rbac.authorization.k8s.io",
                "ClusterRole",
                "system:A_b",
                true,
            ),
            ("rbac.authorization.k8s.io", "Role", "a%b", false),
            ("rbac.authorization.k8s.io", "Role", "..", false),
            (
                "certificates.k8s.io",
                "CertificateSigningRequest",
                "A:b",
                true,
            ),
            ("networking.k8s.io", "IPAddress", "2001:db8::1", true),
            ("user.example.com", "User", "system:admin", true),
        ] {
            let found = fault(group, kind, name, false);
            assert_eq!(found.is_none(), is_taken, "{kind} {name:?}: {found:?}");
        }
        assert!(fault("example.com", "Widget", "A:b", true).is_some());
        for (kind, group, length, is_taken) in [
            ("ConfigMap", "", 253, true),
            ("ConfigMap", "", 254, false),
            ("CronJob", "batch", 52, true),
            ("CronJob", "batch", 53, false),
            ("Namespace", "", 63, true),
            ("Namespace", "", 64, false),
        ] {
            let found = fault(group, kind, &long(length), false);
            assert_eq!(found.is_none(), is_taken, "{kind} {length}");
        }
        assert!(label_fault("shop-2").is_none());
        assert!(label_fault("Shop").is_some());
    }
}
