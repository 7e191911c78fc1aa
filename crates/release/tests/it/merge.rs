//! Merges of manifests into live objects.

mod helm;
mod hostile;
mod managed_fields;
mod properties;
mod refusals;
mod three_way;

use kzero_release::merge::{ChangeKind, Merge, Reason, Schema};
use serde_json::{Value, json};

/// Whether everything that takes long is asked for.
fn is_long() -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "the test program itself is told by its environment how much to do"
    )]
    std::env::var_os("KZERO_LONG").is_some_and(|value| value == "1")
}

/// The rows of a golden file but the first, which says who recorded it.
fn golden(name: &str) -> Vec<Value> {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|err| panic!("{path}: {err}"));
    let rows = text
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str(line).unwrap());
    rows.collect()
}

/// The schema of an object by its own words.
fn schema_of(object: &Value) -> Schema {
    let word = |name: &str| object[name].as_str().unwrap_or_default();
    Schema::of(word("apiVersion"), word("kind"))
}

/// The body of the patch, null for none.
fn body(merge: &Merge) -> Value {
    merge
        .patch
        .as_ref()
        .map_or(Value::Null, |patch| patch.body().clone())
}

/// The changes as lines: what happens, where, why.
fn lines(merge: &Merge) -> Vec<String> {
    let line = |change: &kzero_release::merge::FieldChange| {
        let kind = match change.kind {
            ChangeKind::Set => "set",
            ChangeKind::Remove => "remove",
        };
        let reason = match change.reason {
            Reason::Changed => "changed",
            Reason::New => "new",
            Reason::Removed => "removed",
            Reason::Drift => "drift",
        };
        format!("{kind} {} {reason}", change.path)
    };
    merge.changes.iter().map(line).collect()
}

/// A Deployment of one container with that spec laid over it, as a merge patch.
fn deployment(spec: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "app", "image": "app:1"}]},
            },
        },
    });
    json_patch::merge(&mut object["spec"], spec);
    object
}

/// A Deployment whose pods have these settings instead of one container.
fn pods(spec: &Value) -> Value {
    let mut object = deployment(&json!({}));
    object["spec"]["template"]["spec"] = spec.clone();
    object
}
