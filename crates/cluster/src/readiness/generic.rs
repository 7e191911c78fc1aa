//! Custom resources: what their status says, in the words that controllers use.
//!
//! A status that is older than the object says nothing. Kinds that are known to report late are not ready without a value;
//! any other kind that says nothing is ready.

use serde_json::Value;

use super::object::{Judgement, condition, conditions, count, sentence, status_of, text};

/// Where a known kind says how it is.
enum Says {
    /// In a condition.
    Condition(&'static str),
    /// In a condition whose `False` is a failure.
    Strictly(&'static str),
    /// In a field, with the words of ready and of failed.
    Field(
        &'static str,
        &'static [&'static str],
        &'static [&'static str],
    ),
}

fn known(group: &str, kind: &str) -> Option<Says> {
    Some(match (group, kind) {
        ("flagger.app", "Canary") => {
            Says::Field("/status/phase", &["Initialized", "Succeeded"], &["Failed"])
        }
        ("acid.zalan.do", "postgresql") => Says::Field(
            "/status/PostgresClusterStatus",
            &["Running"],
            &["CreateFailed", "UpdateFailed", "SyncFailed", "Invalid"],
        ),
        ("external-secrets.io", "ExternalSecret") => Says::Strictly("Ready"),
        ("bitnami.com", "SealedSecret") => Says::Condition("Synced"),
        ("kyverno.io", "Policy" | "ClusterPolicy")
        | ("cert-manager.io", "Certificate")
        | ("helm.toolkit.fluxcd.io", "HelmRelease")
        | ("kustomize.toolkit.fluxcd.io", "Kustomization") => Says::Condition("Ready"),
        ("argoproj.io", "Application") => {
            Says::Field("/status/health/status", &["Healthy"], &["Degraded"])
        }
        ("argoproj.io", "ApplicationSet") => Says::Condition("ResourcesUpToDate"),
        ("monitoring.coreos.com", "Prometheus" | "Alertmanager" | "ThanosRuler")
        | ("managed-services.deckhouse.io", _) => Says::Condition("Available"),
        ("longhorn.io", "Volume") => {
            Says::Field("/status/state", &["attached", "detached"], &["error"])
        }
        ("longhorn.io", "Backup") => Says::Field("/status/state", &["Completed"], &["Error"]),
        _ => return None,
    })
}

/// Types of conditions that mean ready, by rank.
const CONDITIONS: [&str; 17] = [
    "ready",
    "success",
    "succeeded",
    "complete",
    "completed",
    "finished",
    "finalized",
    "done",
    "available",
    "running",
    "ok",
    "active",
    "live",
    "healthy",
    "started",
    "initialized",
    "approved",
];

/// Fields of a status that hold a word, by rank.
const WORDS: [&str; 8] = [
    "phase",
    "currentPhase",
    "state",
    "currentState",
    "status",
    "currentStatus",
    "health",
    "currentHealth",
];

const PENDING: [&str; 15] = [
    "creating",
    "updating",
    "upgrading",
    "waiting",
    "pending",
    "progressing",
    "processing",
    "initializing",
    "provisioning",
    "starting",
    "reconciling",
    "scaling",
    "deploying",
    "unknown",
    "new",
];

const FAILED: [&str; 9] = [
    "failure",
    "failed",
    "abort",
    "aborted",
    "terminated",
    "error",
    "errored",
    "rejection",
    "rejected",
];

/// Words that mean ready in two fields only.
const LAST: [(&str, &str, &str); 2] = [("state", "valid", "invalid"), ("health", "green", "red")];

pub(super) fn judge(group: &str, kind: &str, object: &Value) -> Judgement {
    if let Some(early) = early(object) {
        return early;
    }
    if let Some(says) = known(group, kind) {
        return known_says(&says, object);
    }
    by_condition(object)
        .or_else(|| by_word(object))
        .unwrap_or(Judgement::READY)
}

/// What goes before everything else: a status that is out of date, and conditions about the controller's own work.
fn early(object: &Value) -> Option<Judgement> {
    let observed = object.pointer("/status/observedGeneration");
    // Some controllers write something else there than a number; that says nothing.
    if let Some(observed) = observed.and_then(Value::as_i64)
        && observed < count(object, "/metadata/generation")
    {
        return Some(Judgement::Progressing(
            "the controller has not seen the change".to_owned(),
        ));
    }
    let holds = |kind: &str| condition(object, kind).filter(|found| status_of(found) == "True");
    if let Some(stalled) = holds("Stalled") {
        return Some(Judgement::failed(sentence(stalled, "it has stalled")));
    }
    holds("Reconciling")
        .map(|found| Judgement::Progressing(sentence(found, "it is being reconciled")))
}

fn known_says(says: &Says, object: &Value) -> Judgement {
    let waiting = || Judgement::Progressing("its status says nothing yet".to_owned());
    match says {
        Says::Condition(kind) | Says::Strictly(kind) => {
            let Some(found) = condition(object, kind).filter(|found| is_present(object, found))
            else {
                return waiting();
            };
            match (status_of(found), says) {
                ("True", _) => Judgement::READY,
                ("False", Says::Strictly(_)) => Judgement::failed(sentence(found, "not ready")),
                (status, _) => {
                    Judgement::Progressing(sentence(found, &format!("{kind} is {status}")))
                }
            }
        }
        Says::Field(pointer, ready, failed) => match text(object, pointer) {
            "" => waiting(),
            word if ready.contains(&word) => Judgement::READY,
            word if failed.contains(&word) => Judgement::failed(failure(object, word)),
            word => Judgement::Progressing(format!("it is {word}")),
        },
    }
}

/// Whether a condition is about the present generation; those that do not say are.
fn is_present(object: &Value, condition: &Value) -> bool {
    condition
        .get("observedGeneration")
        .and_then(Value::as_i64)
        .is_none_or(|observed| observed >= count(object, "/metadata/generation"))
}

/// A word of failure with what the conditions say.
fn failure(object: &Value, word: &str) -> String {
    let told = conditions(object)
        .filter(|condition| status_of(condition) != "True")
        .map(|condition| sentence(condition, ""))
        .find(|sentence| !sentence.is_empty());
    match told {
        Some(told) => format!("it is {word}: {told}"),
        None => format!("it is {word}"),
    }
}

fn by_condition(object: &Value) -> Option<Judgement> {
    let (_, found) = conditions(object)
        .filter_map(|found| {
            let kind = text(found, "/type").to_ascii_lowercase();
            let rank = CONDITIONS.iter().position(|known| *known == kind)?;
            Some((rank, found))
        })
        .min_by_key(|(rank, _)| *rank)?;
    let kind = text(found, "/type");
    if !is_present(object, found) {
        return Some(Judgement::Progressing(
            "the controller has not seen the change".to_owned(),
        ));
    }
    Some(match status_of(found) {
        "True" => Judgement::READY,
        status => Judgement::Progressing(sentence(found, &format!("{kind} is {status}"))),
    })
}

fn by_word(object: &Value) -> Option<Judgement> {
    let status = object.get("status")?;
    for field in WORDS {
        let Some(word) = status.get(field).and_then(Value::as_str) else {
            continue;
        };
        let lower = word.to_ascii_lowercase();
        let is = |words: &[&str]| words.contains(&lower.as_str());
        if let Some((_, good, bad)) = LAST.iter().find(|(name, ..)| *name == field) {
            if lower == *good {
                return Some(Judgement::READY);
            }
            if lower == *bad {
                return Some(Judgement::failed(failure(object, word)));
            }
        }
        if is(&CONDITIONS) {
            return Some(Judgement::READY);
        }
        if is(&PENDING) || (field == "health" && lower == "yellow") {
            return Some(Judgement::Progressing(format!("it is {word}")));
        }
        if is(&FAILED) {
            return Some(Judgement::failed(failure(object, word)));
        }
    }
    None
}
