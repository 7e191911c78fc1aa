//! What each kind demands of an object and what it fills in.

use base64::Engine as _;
use serde_json::{Value, json};

use super::kinds::Kind;
use super::status::{Outcome, Refusal};
use crate::json;

/// Fills in what was left out.
pub(crate) fn fill_in(kind: &Kind, object: &mut Value) {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Namespace") => {
            json::set(object, "/spec/finalizers", json!(["kubernetes"]));
            let name = json::text(object, "/metadata/name").to_owned();
            if !json::map(object, "/metadata/labels")
                .is_some_and(|labels| labels.contains_key("kubernetes.io/metadata.name"))
            {
                let mut labels = object["metadata"]["labels"].take();
                if !labels.is_object() {
                    labels = json!({});
                }
                labels["kubernetes.io/metadata.name"] = name.into();
                object["metadata"]["labels"] = labels;
            }
        }
        ("", "Pod") => fill_in_pod(object, "/spec"),
        ("", "Secret") => fill_in_secret(object),
        ("", "PersistentVolumeClaim") => {
            json::default(object, "/spec/volumeMode", "Filesystem");
            json::default(object, "/spec/storageClassName", "standard");
        }
        ("apps", "Deployment") => {
            json::default(object, "/spec/replicas", 1);
            json::default(object, "/spec/revisionHistoryLimit", 10);
            json::default(object, "/spec/progressDeadlineSeconds", 600);
            json::default(object, "/spec/strategy/type", "RollingUpdate");
            if json::text(object, "/spec/strategy/type") == "RollingUpdate" {
                json::default(object, "/spec/strategy/rollingUpdate/maxSurge", "25%");
                json::default(object, "/spec/strategy/rollingUpdate/maxUnavailable", "25%");
            }
            fill_in_pod(object, "/spec/template/spec");
        }
        ("apps", "ReplicaSet") => {
            json::default(object, "/spec/replicas", 1);
            fill_in_pod(object, "/spec/template/spec");
        }
        ("apps", "StatefulSet") => {
            json::default(object, "/spec/replicas", 1);
            json::default(object, "/spec/revisionHistoryLimit", 10);
            json::default(object, "/spec/podManagementPolicy", "OrderedReady");
            json::default(object, "/spec/updateStrategy/type", "RollingUpdate");
            if json::text(object, "/spec/updateStrategy/type") == "RollingUpdate" {
                json::default(object, "/spec/updateStrategy/rollingUpdate/partition", 0);
            }
            fill_in_pod(object, "/spec/template/spec");
        }
        ("apps", "DaemonSet") => {
            json::default(object, "/spec/updateStrategy/type", "RollingUpdate");
            fill_in_pod(object, "/spec/template/spec");
        }
        ("batch", "Job") => fill_in_job(object, "/spec"),
        ("batch", "CronJob") => {
            json::default(object, "/spec/suspend", false);
            json::default(object, "/spec/concurrencyPolicy", "Allow");
            json::default(object, "/spec/successfulJobsHistoryLimit", 3);
            json::default(object, "/spec/failedJobsHistoryLimit", 1);
        }
        _ => {}
    }
}

fn fill_in_pod(object: &mut Value, spec: &str) {
    if object.pointer(spec).is_some_and(Value::is_object) {
        json::default(object, &format!("{spec}/restartPolicy"), "Always");
        json::default(object, &format!("{spec}/terminationGracePeriodSeconds"), 30);
    }
}

fn fill_in_job(object: &mut Value, spec: &str) {
    let completions = json::has(object, &format!("{spec}/completions"));
    let parallelism = json::has(object, &format!("{spec}/parallelism"));
    if !completions && !parallelism {
        json::set(object, &format!("{spec}/completions"), 1);
    }
    json::default(object, &format!("{spec}/parallelism"), 1);
    json::default(object, &format!("{spec}/backoffLimit"), 6);
    json::default(object, &format!("{spec}/suspend"), false);
    fill_in_pod(object, &format!("{spec}/template/spec"));
}

/// `stringData` is for writing only; it is kept as `data`.
fn fill_in_secret(object: &mut Value) {
    json::default(object, "/type", "Opaque");
    let Some(Value::Object(plain)) = json::remove(object, "/stringData") else {
        return;
    };
    for (name, value) in plain {
        let value = value.as_str().unwrap_or_default();
        let encoded = base64::engine::general_purpose::STANDARD.encode(value);
        if !object["data"].is_object() {
            object["data"] = json!({});
        }
        object["data"][name] = encoded.into();
    }
}

/// Refuses what a real server would refuse, as far as tests need it.
pub(crate) fn check(kind: &Kind, object: &Value) -> Outcome<()> {
    let name = json::text(object, "/metadata/name");
    let refuse =
        |field: &str, why: String| Err(Refusal::invalid(&kind.dotted(), name, field, &why));
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    if name.is_empty()
        || name.len() > 253
        || !name.chars().all(plain)
        || !name.starts_with(|c: char| c.is_ascii_alphanumeric())
    {
        return refuse(
            "metadata.name",
            format!("Invalid value: {name:?}: a lowercase RFC 1123 subdomain is wanted"),
        );
    }
    if let Some(replicas) = object.pointer("/spec/replicas") {
        let fits = replicas
            .as_i64()
            .is_some_and(|replicas| (0..=i64::from(i32::MAX)).contains(&replicas));
        if kind.scale && !fits {
            return refuse(
                "spec.replicas",
                format!("Invalid value: {replicas}: must be greater than or equal to 0"),
            );
        }
    }
    let has_template = matches!(
        (kind.group.as_str(), kind.kind.as_str()),
        (
            "apps",
            "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet"
        ) | ("batch", "Job")
    );
    if !has_template {
        return Ok(());
    }
    let containers = json::list(object, "/spec/template/spec/containers");
    if containers.is_empty() {
        return refuse("spec.template.spec.containers", "Required value".to_owned());
    }
    if kind.group == "apps" {
        let Some(wanted) = json::map(object, "/spec/selector/matchLabels") else {
            return refuse("spec.selector", "Required value".to_owned());
        };
        let labels = json::map(object, "/spec/template/metadata/labels");
        let same = wanted
            .iter()
            .all(|(name, value)| labels.is_some_and(|labels| labels.get(name) == Some(value)));
        if !same {
            return refuse(
                "spec.template.metadata.labels",
                "`selector` does not match template `labels`".to_owned(),
            );
        }
    } else if json::text(object, "/spec/template/spec/restartPolicy") == "Always" {
        return refuse(
            "spec.template.spec.restartPolicy",
            "Unsupported value: \"Always\"".to_owned(),
        );
    }
    Ok(())
}

/// Refuses changes of what may not change.
pub(crate) fn check_change(kind: &Kind, old: &Value, new: &Value) -> Outcome<()> {
    let fixed: &[&str] = match (kind.group.as_str(), kind.kind.as_str()) {
        ("apps", "Deployment" | "ReplicaSet" | "DaemonSet") => &["/spec/selector"],
        ("apps", "StatefulSet") => &[
            "/spec/selector",
            "/spec/serviceName",
            "/spec/volumeClaimTemplates",
            "/spec/podManagementPolicy",
        ],
        ("batch", "Job") => &["/spec/template", "/spec/completions"],
        ("", "PersistentVolumeClaim") => &["/spec/storageClassName", "/spec/accessModes"],
        _ => &[],
    };
    for path in fixed {
        if old.pointer(path) != new.pointer(path) {
            return Err(Refusal::invalid(
                &kind.dotted(),
                json::text(old, "/metadata/name"),
                &path.trim_start_matches('/').replace('/', "."),
                "field is immutable",
            ));
        }
    }
    Ok(())
}

/// Refuses what the simulation would silently leave out.
pub(crate) fn check_supported(kind: &Kind, object: &Value) -> Outcome<()> {
    let refuse = |what: &str| Err(Refusal::unsupported(what));
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("apps", "StatefulSet") => {
            for when in ["whenScaled", "whenDeleted"] {
                let policy = format!("/spec/persistentVolumeClaimRetentionPolicy/{when}");
                if json::text(object, &policy) == "Delete" {
                    return refuse("a StatefulSet that deletes its claims");
                }
            }
            Ok(())
        }
        ("batch", "Job") => {
            if json::text(object, "/spec/completionMode") == "Indexed" {
                return refuse("indexed Jobs");
            }
            for field in ["podFailurePolicy", "successPolicy", "backoffLimitPerIndex"] {
                if json::has(object, &format!("/spec/{field}")) {
                    return refuse(&format!("Jobs with {field}"));
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
