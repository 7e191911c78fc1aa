//! What runs pods, by the rules for releases (S-14.37): a rollout may leave as many pods unready as it may take away.

use serde_json::Value;

use super::object::{
    Judgement, WIDTH, condition, count, count_or, is_observed, sentence, status_of, text,
};
use crate::error::one_line;

const UNSEEN: &str = "the controller has not seen the change";

/// The size that is wanted. The server fills in 1; an object without the field comes from elsewhere.
fn wanted(object: &Value) -> i64 {
    count_or(object, "/spec/replicas", 1)
}

pub(super) fn deployment(object: &Value) -> Judgement {
    if object.pointer("/spec/paused") == Some(&Value::Bool(true)) {
        return Judgement::Ready {
            note: Some("its rollout is paused and not waited for".to_owned()),
        };
    }
    if !is_observed(object) {
        return Judgement::Progressing(UNSEEN.to_owned());
    }
    let wanted = wanted(object);
    let updated = count(object, "/status/updatedReplicas");
    let ready = count(object, "/status/readyReplicas");
    // Which pods are ready is not told; at least so many of the new ones are.
    let old = (count(object, "/status/replicas") - updated).max(0);
    let new = (ready - old).clamp(0, updated.max(0));
    if new >= wanted - deployment_slack(object, wanted) {
        return enough(new, wanted);
    }
    if let Some(stuck) = condition(object, "Progressing")
        && status_of(stuck) == "False"
    {
        return Judgement::failed(sentence(stuck, "its rollout has failed"));
    }
    let mut said = format!("{new} of {wanted} ready");
    if updated < wanted {
        said.push_str(&format!(", {updated} of {wanted} updated"));
    }
    if let Some(failing) = condition(object, "ReplicaFailure")
        && status_of(failing) == "True"
    {
        said.push_str(&format!(
            "; {}",
            sentence(failing, "pods cannot be created")
        ));
    }
    Judgement::Progressing(said)
}

/// Ready with so many pods; fewer than wanted is worth a note.
fn enough(ready: i64, wanted: i64) -> Judgement {
    Judgement::Ready {
        note: (ready < wanted)
            .then(|| format!("{ready} of {wanted} ready, as many as its strategy asks for")),
    }
}

/// How many pods of a Deployment may be unready.
fn deployment_slack(object: &Value, wanted: i64) -> i64 {
    if text(object, "/spec/strategy/type") == "Recreate" {
        return 0;
    }
    let share = |field: &str, up: bool| {
        let value = object.pointer(&format!("/spec/strategy/rollingUpdate/{field}"));
        value.map_or_else(
            || percent(25, wanted, up),
            |value| resolve(value, wanted, up),
        )
    };
    let (surge, unavailable) = (share("maxSurge", true), share("maxUnavailable", false));
    // With neither the controller itself would not get on, so it takes one.
    let unavailable = if surge == 0 && unavailable == 0 {
        1
    } else {
        unavailable
    };
    unavailable.clamp(0, wanted.max(0))
}

/// A number, or a share such as `25%` of a size.
fn resolve(value: &Value, of: i64, up: bool) -> i64 {
    match value {
        Value::Number(number) => number.as_i64().unwrap_or(0).max(0),
        Value::String(share) => share
            .strip_suffix('%')
            .and_then(|share| share.parse().ok())
            .map_or(0, |share| percent(share, of, up)),
        _ => 0,
    }
}

fn percent(share: i64, of: i64, up: bool) -> i64 {
    let hundredfold = share.max(0).saturating_mul(of.max(0));
    let rest = i64::from(up && hundredfold % 100 != 0);
    hundredfold / 100 + rest
}

pub(super) fn stateful_set(object: &Value) -> Judgement {
    if !is_observed(object) {
        return Judgement::Progressing(UNSEEN.to_owned());
    }
    let strategy = text(object, "/spec/updateStrategy/type");
    if !matches!(strategy, "" | "RollingUpdate") {
        // Its pods change when somebody deletes them.
        return Judgement::READY;
    }
    let wanted = wanted(object);
    let partition = count(object, "/spec/updateStrategy/rollingUpdate/partition");
    // The partition is an ordinal; ordinals may begin above 0.
    let kept = (partition - count(object, "/spec/ordinals/start")).max(0);
    let updating = (wanted - kept).max(0);
    let updated = count(object, "/status/updatedReplicas");
    let ready = count(object, "/status/readyReplicas");
    let mut said = format!("{ready} of {wanted} ready");
    if updated < updating {
        said.push_str(&format!(", {updated} of {updating} updated"));
    }
    Judgement::when(ready >= wanted && updated >= updating, said)
}

pub(super) fn daemon_set(object: &Value) -> Judgement {
    if !is_observed(object) {
        return Judgement::Progressing(UNSEEN.to_owned());
    }
    let strategy = text(object, "/spec/updateStrategy/type");
    if !matches!(strategy, "" | "RollingUpdate") {
        return Judgement::READY;
    }
    let wanted = count(object, "/status/desiredNumberScheduled");
    let updated = count(object, "/status/updatedNumberScheduled");
    let ready = count(object, "/status/numberReady");
    let slack = object
        .pointer("/spec/updateStrategy/rollingUpdate/maxUnavailable")
        .map_or(1, |value| resolve(value, wanted, true));
    if updated >= wanted && ready >= wanted - slack.clamp(0, wanted.max(0)) {
        return enough(ready, wanted);
    }
    let mut said = format!("{ready} of {wanted} ready");
    if updated < wanted {
        said.push_str(&format!(", {updated} of {wanted} updated"));
    }
    Judgement::Progressing(said)
}

pub(super) fn replica_set(object: &Value) -> Judgement {
    if !is_observed(object) {
        return Judgement::Progressing(UNSEEN.to_owned());
    }
    let (wanted, ready) = (wanted(object), count(object, "/status/readyReplicas"));
    Judgement::when(ready >= wanted, format!("{ready} of {wanted} ready"))
}

/// A Job is ready when it is complete.
pub(super) fn job(object: &Value) -> Judgement {
    let holds = |kind: &str| condition(object, kind).filter(|found| status_of(found) == "True");
    if let Some(failed) = holds("Failed") {
        return Judgement::Failed {
            why: sentence(failed, "Failed"),
            is_final: true,
        };
    }
    if holds("Complete").is_some() {
        return Judgement::READY;
    }
    if object.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
        return Judgement::Progressing("the Job is suspended".to_owned());
    }
    let wanted = count_or(object, "/spec/completions", 1);
    let number = |field: &str| count(object, &format!("/status/{field}"));
    let mut said = format!(
        "{} of {wanted} completed, {} active",
        number("succeeded"),
        number("active")
    );
    if number("failed") > 0 {
        said.push_str(&format!(", {} failed", number("failed")));
    }
    Judgement::Progressing(said)
}

pub(super) fn pod(object: &Value) -> Judgement {
    let phase = text(object, "/status/phase");
    let ready = condition(object, "Ready").map(status_of) == Some("True");
    match phase {
        "Succeeded" => Judgement::READY,
        "Failed" => {
            let reason = text(object, "/status/reason");
            let message = one_line(text(object, "/status/message"), WIDTH);
            let why = [reason, &message]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(": ");
            Judgement::Failed {
                why: if why.is_empty() {
                    "the pod has failed".to_owned()
                } else {
                    why
                },
                is_final: true,
            }
        }
        _ if ready => Judgement::READY,
        "" => Judgement::Progressing("the pod is not ready".to_owned()),
        phase => Judgement::Progressing(format!("the pod is not ready, phase {phase}")),
    }
}
