//! Refusals of fields that cannot be changed, in the words of a real API server.

use kzero_cluster::{FieldError, Refusal};
use kzero_release::merge::{immutable, three_way};
use serde_json::{Value, json};

use super::schema_of;

fn refusal(fields: &[(&str, &str)]) -> Refusal {
    Refusal {
        status: 422,
        reason: "Invalid".to_owned(),
        message: String::new(),
        fields: fields
            .iter()
            .map(|(field, message)| FieldError {
                field: (*field).to_owned(),
                reason: "FieldValueInvalid".to_owned(),
                message: (*message).to_owned(),
            })
            .collect(),
    }
}

fn told(message: &str) -> Refusal {
    Refusal {
        message: message.to_owned(),
        ..refusal(&[])
    }
}

#[test]
fn l11_immutable_fields_are_named() {
    for (field, message) in [
        (
            "spec.selector",
            r#"Invalid value: {"matchLabels":{"app":"b"}}: field is immutable"#,
        ),
        ("spec.template", "Invalid value: {…}: field is immutable"),
        (
            "spec.clusterIPs[0]",
            r#"Invalid value: ["10.0.0.9"]: may not change once set"#,
        ),
        (
            "data",
            "Forbidden: field is immutable when `immutable` is set",
        ),
        (
            "parameters",
            "Forbidden: updates to parameters are forbidden.",
        ),
        ("roleRef", "Invalid value: {…}: cannot change roleRef"),
        ("spec.size", "Invalid value: 2: Value is immutable"),
    ] {
        let named = immutable(&refusal(&[(field, message)]), &[]);
        assert_eq!(named, Some(vec![field.to_owned()]), "{message}");
    }
}

#[test]
fn other_faults_are_no_immutable_fields() {
    let refused = refusal(&[
        (
            "spec.replicas",
            "Invalid value: -1: must be greater than or equal to 0",
        ),
        ("spec.selector", "Invalid value: {}: field is immutable"),
    ]);
    assert_eq!(
        immutable(&refused, &[]),
        Some(vec!["spec.selector".to_owned()])
    );
    assert_eq!(
        immutable(
            &refusal(&[("spec.replicas", "Invalid value: -1: must be positive")]),
            &[]
        ),
        None
    );
    let mut conflict = told("field is immutable");
    conflict.status = 409;
    assert_eq!(immutable(&conflict, &[]), None);
    assert_eq!(immutable(&told(""), &[]), None);
}

#[test]
fn a_message_alone_will_do() {
    let message = r#"Deployment.apps "web" is invalid: spec.selector: Invalid value: {"matchLabels":{"app":"b"}}: field is immutable"#;
    assert_eq!(
        immutable(&told(message), &[]),
        Some(vec!["spec.selector".to_owned()])
    );
    let message = r#"Service "s" is invalid: [spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set, spec.x: Required value: y]"#;
    assert_eq!(
        immutable(&told(message), &[]),
        Some(vec!["spec.clusterIPs[0]".to_owned()])
    );
}

fn stateful(size: &str, replicas: i32, service: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {
            "replicas": replicas,
            "serviceName": service,
            "volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": {"resources": {"requests": {"storage": size}}}}],
        },
    })
}

#[test]
fn l11_a_refusal_of_a_whole_structure_names_what_was_changed_in_it() {
    let message = "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                   'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
                   'minReadySeconds' are forbidden";
    let refused = refusal(&[("spec", message)]);
    let (old, new) = (stateful("1Gi", 1, "a"), stateful("2Gi", 3, "b"));
    let merge = three_way(std::slice::from_ref(&old), &new, &old, schema_of(&old));
    let named = immutable(&refused, &merge.changes);
    let wanted = ["spec.serviceName", "spec.volumeClaimTemplates"]
        .map(str::to_owned)
        .to_vec();
    assert_eq!(named, Some(wanted));
    assert_eq!(immutable(&refused, &[]), Some(vec!["spec".to_owned()]));
}

#[test]
fn l11_a_claim_names_what_was_changed_but_its_size() {
    let claim = |size: &str, class: &str| {
        json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "c"},
            "spec": {"storageClassName": class, "resources": {"requests": {"storage": size}}},
        })
    };
    let message = "Forbidden: spec is immutable after creation except resources.requests and \
                   volumeAttributesClassName for bound claims\n  core.PersistentVolumeClaimSpec{";
    let (old, new) = (claim("1Gi", "a"), claim("2Gi", "b"));
    let merge = three_way(std::slice::from_ref(&old), &new, &old, schema_of(&old));
    let named = immutable(&refusal(&[("spec", message)]), &merge.changes);
    assert_eq!(named, Some(vec!["spec.storageClassName".to_owned()]));
}
