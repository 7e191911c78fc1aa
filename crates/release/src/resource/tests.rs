use kzero_cluster::{ApiResource, Discovery};
use serde_json::json;

use super::{
    Document, Kinds, Lookup, ResourceError, Role, build, check_unique, mark, owner,
    ownership_faults,
};

fn kinds() -> Kinds {
    let served = |group_version: &str, kind: &str, plural: &str, namespaced| ApiResource {
        group_version: group_version.into(),
        kind: kind.into(),
        plural: plural.into(),
        namespaced,
    };
    Kinds::new(Discovery {
        resources: vec![
            served("v1", "ConfigMap", "configmaps", true),
            served("v1", "Namespace", "namespaces", false),
            served("networking.k8s.io/v1", "Ingress", "ingresses", true),
            served(
                "policy/v1",
                "PodDisruptionBudget",
                "poddisruptionbudgets",
                true,
            ),
        ],
        ..Discovery::default()
    })
}

fn document(text: &str) -> Document<'_> {
    Document {
        text,
        path: "web/templates/x.yaml",
        role: Role::Manifest,
    }
}

#[test]
fn documents_become_objects_in_the_namespace_of_the_release() {
    let list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: Namespace, metadata: {name: b, namespace: x}}\n";
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: far}\n";
    let documents = [document(list), document("# nothing\n"), document(other)];
    let built = build(&documents, "shop", &kinds(), Lookup::Exact).unwrap();
    let ids: Vec<String> = built
        .resources
        .iter()
        .map(|resource| resource.id.to_string())
        .collect();
    assert_eq!(ids, ["ConfigMap shop/a", "Namespace b", "ConfigMap far/a"]);
    assert_eq!(built.resources[0].object["metadata"]["namespace"], "shop");
    assert_eq!(built.resources[1].object["metadata"], json!({"name": "b"}));
    check_unique(&built.resources).unwrap();
}

#[test]
fn what_cannot_be_applied_says_why_and_where() {
    let fails = |text: &str| {
        build(&[document(text)], "shop", &kinds(), Lookup::Exact)
            .unwrap_err()
            .to_string()
    };
    let unknown = fails("apiVersion: nope.io/v1\nkind: Bar\nmetadata: {name: x}\n");
    assert!(unknown.starts_with(
        "unable to build kubernetes objects from release manifest: resource mapping not found for name: \"x\" namespace: \"\" from \"\": no matches for kind \"Bar\" in version \"nope.io/v1\"\nensure CRDs are installed first\n"
    ), "{unknown}");
    assert_eq!(
        fails("- a\n"),
        "unable to build kubernetes objects from release manifest: web/templates/x.yaml: an object was expected, found a list"
    );
    assert!(
        fails("apiVersion: v1\nkind: ConfigMap\n").ends_with("a ConfigMap without metadata.name")
    );
    let twice = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let built = build(
        &[document(twice), document(twice)],
        "shop",
        &kinds(),
        Lookup::Exact,
    )
    .unwrap();
    assert!(matches!(
        check_unique(&built.resources),
        Err(ResourceError::Twice { .. })
    ));
}

#[test]
fn s_d_27_a_version_that_is_gone_is_read_under_the_one_that_is_served() {
    let old = "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: i}\n---\n";
    let beta = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: p}\n";
    let gone = "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: q}\n";
    let documents = [document(old), document(beta), document(gone)];
    let built = build(&documents, "shop", &kinds(), Lookup::Stored).unwrap();
    let versions: Vec<&str> = built
        .resources
        .iter()
        .map(|resource| resource.object["apiVersion"].as_str().unwrap())
        .collect();
    assert_eq!(versions, ["networking.k8s.io/v1", "policy/v1"]);
    assert_eq!(built.gone, ["PodSecurityPolicy q"]);
    assert!(build(&documents, "shop", &kinds(), Lookup::Exact).is_err());
}

#[test]
fn kinds_that_the_release_defines_are_known_before_they_are_served() {
    let mut kinds = kinds();
    kinds.define(&json!({"kind": "CustomResourceDefinition", "spec": {
        "group": "ex.io", "scope": "Cluster", "names": {"kind": "Foo", "plural": "foos"},
        "versions": [{"name": "v1", "served": true}, {"name": "v0", "served": false}]}}));
    let foo = kinds.resource("ex.io/v1", "Foo").unwrap();
    assert_eq!(
        (foo.plural.as_str(), foo.namespaced, kinds.is_served(foo)),
        ("foos", false, false)
    );
    assert!(kinds.resource("ex.io/v0", "Foo").is_none());
}

#[test]
fn an_object_belongs_to_a_release_by_three_marks() {
    let mut object = json!({"metadata": {"labels": null, "annotations": {"a": "b"}}});
    assert_eq!(ownership_faults(&object, "web", "shop").len(), 3);
    assert_eq!(owner(&object), None);
    mark(&mut object, "web", "shop");
    assert_eq!(ownership_faults(&object, "web", "shop"), [""; 0]);
    assert_eq!(owner(&object), Some(("web", "shop")));
    assert_eq!(
        ownership_faults(&object, "other", "shop"),
        [
            "annotation validation error: key \"meta.helm.sh/release-name\" must equal \"other\": current value is \"web\""
        ]
    );
}
