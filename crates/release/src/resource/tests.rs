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
        "unable to build kubernetes objects from release manifest: web/templates/x.yaml: an object was expected, found a list\nhint: mend the template web/templates/x.yaml; `kzero chart template` shows what it renders to"
    );
    assert!(
        fails("apiVersion: v1\nkind: ConfigMap\n")
            .contains("a ConfigMap without metadata.name: resource name may not be empty\nhint: ")
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
    assert_eq!(
        built.gone,
        ["PodSecurityPolicy q: the API server no longer has this kind"]
    );
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

#[test]
fn names_and_types_that_the_server_refuses_are_told_with_file_and_next_step() {
    let fails = |metadata: &str| {
        let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\n");
        build(&[document(&text)], "shop", &kinds(), Lookup::Exact)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        fails("{name: a, namespace: 5}"),
        "unable to build kubernetes objects from release manifest: unable to decode \"\": json: cannot unmarshal number into Go struct field ObjectMeta.metadata.namespace of type string\nhint: web/templates/x.yaml: ConfigMap a: metadata.namespace must be a text and is a number; in quotes it is one: \"5\""
    );
    for metadata in [
        "{name: 123}",
        "{name: a, labels: abc}",
        "{name: a, annotations: [a]}",
    ] {
        let said = fails(metadata);
        assert!(said.contains("json: cannot unmarshal "), "{said}");
        assert!(
            said.contains("\nhint: web/templates/x.yaml: ConfigMap "),
            "{said}"
        );
    }
    for (metadata, field) in [
        ("{name: a/b}", "metadata.name"),
        ("{name: Abc}", "metadata.name"),
        ("{name: a, namespace: A}", "metadata.namespace"),
        ("{name: a, namespace: a/b}", "metadata.namespace"),
    ] {
        let said = fails(metadata);
        let hint = format!("\nhint: change {field} in the template web/templates/x.yaml; ");
        assert!(said.contains(&hint), "{said}");
    }
    let made = fails("{generateName: a-}");
    assert!(
        made.contains("metadata.generateName is for hooks alone"),
        "{made}"
    );
}

#[test]
fn control_characters_of_names_reach_no_message() {
    let text =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"a\\e[2J\\nError: forged\\u202eb\"}\n";
    let said = build(&[document(text)], "shop", &kinds(), Lookup::Exact)
        .unwrap_err()
        .to_string();
    assert!(
        !said.contains(|c: char| crate::shown::is_harmful(c) && c != '\n'),
        "{said:?}"
    );
    assert!(!said.contains("\nError"), "{said:?}");
    let id = crate::resource::ResourceId {
        group: String::new(),
        kind: "ConfigMap".into(),
        namespace: "a\u{7}".into(),
        name: "b\nc\u{2066}".into(),
    };
    assert_eq!(id.to_string(), "ConfigMap a\\u{7}/b\\nc\\u{2066}");
}

#[test]
fn what_can_have_no_name_on_the_server_counts_as_gone() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a/../b}\n";
    let built = build(&[document(text)], "shop", &kinds(), Lookup::Stored).unwrap();
    assert!(built.resources.is_empty());
    assert_eq!(
        built.gone,
        ["ConfigMap shop/a/../b: no object can have this metadata.name"]
    );
}

#[test]
fn a_hook_may_leave_its_name_to_be_made_up() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: migrate-}\n";
    let hook = Document {
        role: Role::Hook(0),
        ..document(text)
    };
    for lookup in [Lookup::Exact, Lookup::Stored] {
        let built = build(&[hook], "shop", &kinds(), lookup).unwrap();
        let made = &built.resources[0];
        assert!(made.id.name.starts_with("migrate-"), "{}", made.id);
        assert_eq!(made.id.name.len(), 13);
        assert_eq!(made.object["metadata"]["name"], made.id.name.as_str());
    }
}
