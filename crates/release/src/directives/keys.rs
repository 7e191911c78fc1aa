//! Keys that look like a directive and are none.

use crate::shown::plain;

/// Every key without a name in it.
pub(super) const KEYS: &[&str] = &[
    "helm.sh/hook",
    "helm.sh/hook-delete-policy",
    "helm.sh/hook-output-log-policy",
    "helm.sh/hook-weight",
    "helm.sh/resource-policy",
    "werf.io/delete-policy",
    "werf.io/delete-propagation",
    "werf.io/deploy-on",
    "werf.io/fail-mode",
    "werf.io/failures-allowed-per-replica",
    "werf.io/log-regex",
    "werf.io/log-regex-skip",
    "werf.io/no-activity-timeout",
    "werf.io/ownership",
    "werf.io/replicas-on-creation",
    "werf.io/resource-policy",
    "werf.io/sensitive",
    "werf.io/sensitive-paths",
    "werf.io/show-logs-only-for-containers",
    "werf.io/show-logs-only-for-number-of-replicas",
    "werf.io/show-service-messages",
    "werf.io/skip-logs",
    "werf.io/skip-logs-for-containers",
    "werf.io/track-termination-mode",
    "werf.io/weight",
];

/// The beginnings of keys that end in a name of the author's.
const NAMED: &[&str] = &[
    "werf.io/delete-dependency-",
    "werf.io/deploy-dependency-",
    "werf.io/ignore-readiness-probe-fails-for-",
    "werf.io/log-regex-for-",
    "werf.io/log-regex-skip-for-",
];

/// Keys that werf itself writes.
const OTHERS: &[&str] = &[
    "werf.io/version",
    "werf.io/release-channel",
    "project.werf.io/env",
    "project.werf.io/git",
    "project.werf.io/name",
    "ci.werf.io/commit",
];

/// More letters apart than this, and a key is no misspelling.
const NEAR: usize = 2;

/// What is wrong with a key that is not known.
pub(super) fn suspicious(key: &str) -> Option<String> {
    if KEYS.contains(&key) || OTHERS.contains(&key) {
        return None;
    }
    let near = KEYS
        .iter()
        .map(|known| (distance(key, known), (*known).to_owned()))
        .chain(NAMED.iter().map(|known| {
            let head: String = key.chars().take(known.chars().count()).collect();
            (distance(&head, known), format!("{known}<name>"))
        }))
        .min()?;
    if near.0 <= NEAR {
        return Some(format!(
            "annotation {} has no effect; is {} meant?",
            plain(key),
            near.1
        ));
    }
    let (domain, _) = key.split_once('/')?;
    (domain == "werf.io")
        .then(|| format!("annotation {} has no effect: no such directive", plain(key)))
}

/// How many letters must be put in, taken out or changed to make one text the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    // Annotation keys are at most 317 characters long, but nobody has checked this one yet.
    for (i, x) in a.chars().take(400).enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (j, y) in b.iter().enumerate() {
            let above = row.get(j + 1).copied().unwrap_or(usize::MAX);
            let best = (diagonal + usize::from(x != *y))
                .min(left + 1)
                .min(above + 1);
            diagonal = above;
            left = best;
            if let Some(place) = row.get_mut(j + 1) {
                *place = best;
            }
        }
    }
    row.last().copied().unwrap_or_default()
}
