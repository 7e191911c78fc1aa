//! What Helm 3.22 sends, as recorded by `tests/oracle/merge`.

use kzero_release::merge::{apply_patch, overwrite, take_over};
use serde_json::{Value, json};

use super::{body, deployment, golden, lines, schema_of};

/// Compares every row; gives what differs.
fn replay(rows: &[Value]) -> Vec<String> {
    assert!(rows.len() >= 1000, "{}", rows.len());
    let differing = rows.iter().enumerate().filter_map(|(index, row)| {
        compare(row).map(|difference| format!("row {}: {difference}", index + 2))
    });
    differing.collect()
}

fn compare(row: &Value) -> Option<String> {
    let (original, next, live) = (&row["original"], &row["next"], &row["live"]);
    let schema = schema_of(next);
    let merge = match (
        overwrite(Some(original), next, live, schema),
        row.get("error"),
    ) {
        (Ok(merge), None) => merge,
        (Err(_), Some(_)) => return None,
        (Ok(merge), Some(error)) => return Some(format!("{} instead of {error}", body(&merge))),
        (Err(error), None) => return Some(format!("{error} instead of {}", row["patch"])),
    };
    let wanted = &row["patch"];
    if sent(&body(&merge)) != sent(wanted) {
        return Some(format!("patch\n{}\ninstead of\n{wanted}", body(&merge)));
    }
    let patched = merge
        .patch
        .as_ref()
        .map_or_else(|| live.clone(), |patch| apply_patch(live, patch, schema));
    // What a server refuses has no result.
    let wanted = row.get("patched").map(read);
    if let Some(wanted) = wanted.filter(|wanted| *wanted != read(&patched)) {
        return Some(format!(
            "{}\ngives\n{patched}\ninstead of\n{wanted}",
            body(&merge)
        ));
    }
    let taken = row.get("taken_over")?;
    match take_over(Some(original), next, live, schema) {
        Ok(merge) if sent(&body(&merge)) == sent(taken) => None,
        Ok(merge) => Some(format!("taken over\n{}\ninstead of\n{taken}", body(&merge))),
        Err(error) => Some(format!("taken over: {error} instead of {taken}")),
    }
}

/// The object as its structures hold it: no field is null, and words of patches are no fields.
fn read(object: &Value) -> Value {
    match object {
        Value::Object(fields) => {
            let is_kept = |name: &str, value: &Value| !value.is_null() && !name.starts_with("$");
            let kept = fields.iter().filter(|(name, value)| is_kept(name, value));
            kept.map(|(name, value)| (name.clone(), read(value)))
                .collect()
        }
        Value::Array(elements) => elements.iter().map(read).collect(),
        other => other.clone(),
    }
}

/// No request is what an empty patch comes to.
fn sent(patch: &Value) -> &Value {
    static NONE: Value = Value::Null;
    if *patch == json!({}) { &NONE } else { patch }
}

#[test]
fn l01_overwrite_sets_what_drifted_and_says_so() {
    let manifest = |replicas: i32, image: &str| {
        let mut object = deployment(&json!({"replicas": replicas}));
        object["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
        object
    };
    let (original, mut next, live) = (
        manifest(2, "app:1"),
        manifest(2, "app:2"),
        manifest(5, "app:0"),
    );
    next["metadata"]["annotations"] = json!({"a": "1"});
    let merge = overwrite(Some(&original), &next, &live, schema_of(&live)).unwrap();
    assert_eq!(
        lines(&merge),
        [
            "set metadata.annotations new",
            "set spec.replicas drift",
            "set spec.template.spec.containers[name=app].image changed",
        ]
    );
    // Nothing is sent if nothing drifted, and a size that the chart does not state stays.
    let merge = overwrite(Some(&original), &original, &original, schema_of(&live)).unwrap();
    assert_eq!(body(&merge), Value::Null);
    let unset = deployment(&json!({}));
    let merge = overwrite(
        Some(&unset),
        &unset,
        &deployment(&json!({"replicas": 7})),
        schema_of(&live),
    )
    .unwrap();
    assert_eq!(body(&merge), Value::Null);
}

#[test]
fn overwrite_sends_what_helm_sends() {
    let rows = golden("merge.jsonl");
    let differing = replay(&rows);
    assert!(
        differing.is_empty(),
        "{} differ\n{}",
        differing.len(),
        differing.join("\n")
    );
}

#[test]
#[ignore = "needs rows that the oracle has just put together: go run . triples SEED COUNT ../../../target/tmp/merge.jsonl"]
fn fresh_merges_are_as_helm_makes_them() {
    let differing = replay(&golden("../../../../target/tmp/merge.jsonl"));
    assert!(
        differing.is_empty(),
        "{} differ\n{}",
        differing.len(),
        differing.join("\n")
    );
}
