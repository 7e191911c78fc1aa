//! The move to server-side apply, as Helm 4 makes it.

use kzero_release::merge::managed_fields::migration;
use serde_json::{Value, json};

use super::golden;

fn object(managed: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "resourceVersion": "7", "managedFields": managed},
    })
}

#[test]
fn managed_fields_move_as_in_helm_4() {
    let rows = golden("managed.jsonl");
    assert!(rows.len() >= 200);
    for row in &rows {
        // Helm also writes what it has only put in another order.
        let is_idle = row["patch"][0]["value"] == row["managed"];
        let wanted = Some(&row["patch"]).filter(|patch| !patch.is_null() && !is_idle);
        let patch = migration(&object(&row["managed"]), "helm");
        assert_eq!(patch.as_ref(), wanted, "{}", row["managed"]);
    }
}

#[test]
fn entries_of_others_and_of_subresources_stay() {
    let entries = json!([
        {"manager": "kubectl", "operation": "Update", "apiVersion": "apps/v1", "fieldsV1": {"f:spec": {}}},
        {"manager": "helm", "operation": "Update", "apiVersion": "apps/v1", "subresource": "scale", "fieldsV1": {}},
    ]);
    assert_eq!(migration(&object(&entries), "helm"), None);
    assert_eq!(migration(&object(&json!([])), "helm"), None);
    assert_eq!(migration(&object(&json!("x")), "helm"), None);
    assert_eq!(migration(&json!(null), "helm"), None);
    let odd = json!([{"manager": "helm", "operation": "Update", "fieldsV1": []}, {"manager": "helm", "operation": "Update"}]);
    assert!(migration(&object(&odd), "helm").is_some());
}
