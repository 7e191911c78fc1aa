use kzero_cluster::{ApiResource, ObjectPatch};
use serde_json::{Value, json};

use super::{CrdPolicy, Decision, Kept, Past, Refusal, Rules, Strategy};
use crate::directives::Directives;
use crate::resource::{Resource, ResourceId, Role, mark};

fn resource(role: Role, object: Value) -> Resource {
    let kind = object["kind"].as_str().unwrap().to_owned();
    Resource {
        id: ResourceId {
            group: "apps".into(),
            kind: kind.clone(),
            namespace: "shop".into(),
            name: "web".into(),
        },
        api: ApiResource {
            group_version: "apps/v1".into(),
            kind,
            plural: "deployments".into(),
            namespaced: true,
        },
        object,
        path: "web/templates/web.yaml".into(),
        role,
    }
}

fn deployment(replicas: u32, annotations: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "annotations": annotations},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}}})
}

fn rules(strategy: Strategy) -> Rules {
    Rules {
        release: "web".into(),
        namespace: "shop".into(),
        strategy,
        ..Rules::default()
    }
}

/// The live object that a revision made, with a size of its own.
fn lives(object: &Value, replicas: u32) -> Value {
    let mut live = object.clone();
    mark(&mut live, "web", "shop");
    live["spec"]["replicas"] = replicas.into();
    live["metadata"]["uid"] = "u".into();
    live
}

fn decide(
    rules: &Rules,
    object: &Value,
    previous: &[Value],
    live: Option<&Value>,
) -> Result<Decision, Refusal> {
    let resource = resource(Role::Manifest, object.clone());
    let directives = Directives::read(&resource).unwrap();
    let past = Past {
        previous,
        original: previous.last(),
        live,
    };
    rules.decide(&resource, &directives, past)
}

#[test]
fn what_is_not_there_is_created_with_the_marks_of_the_release() {
    let object = deployment(2, &json!({"werf.io/replicas-on-creation": "5"}));
    let Ok(Decision::Create(created)) = decide(&rules(Strategy::ThreeWay), &object, &[], None)
    else {
        panic!("it is created");
    };
    assert_eq!(created["spec"]["replicas"], 5);
    assert_eq!(
        created["metadata"]["annotations"]["meta.helm.sh/release-name"],
        "web"
    );
    let skipped = deployment(2, &json!({"werf.io/resource-policy": "skip-create"}));
    assert_eq!(
        decide(&rules(Strategy::ThreeWay), &skipped, &[], None),
        Ok(Decision::Keep(Kept::SkipCreate))
    );
    let nobodys = deployment(2, &json!({"werf.io/ownership": "anyone"}));
    let Ok(Decision::Create(created)) = decide(&rules(Strategy::ThreeWay), &nobodys, &[], None)
    else {
        panic!("it is created");
    };
    assert_eq!(created["metadata"].get("labels"), None);
}

#[test]
fn l01_a_live_size_stays_unless_the_chart_changes_it_or_says_overwrite() {
    let (two, four) = (deployment(2, &json!({})), deployment(4, &json!({})));
    let previous = [two.clone()];
    for live in [5, 0, 10] {
        let live = lives(&two, live);
        assert_eq!(
            decide(&rules(Strategy::ThreeWay), &two, &previous, Some(&live)),
            Ok(Decision::Keep(Kept::Unchanged))
        );
        for (strategy, wanted, size) in [
            (Strategy::Overwrite, &two, 2),
            (Strategy::ThreeWay, &four, 4),
        ] {
            let Ok(Decision::Patch { patch, changes, .. }) =
                decide(&rules(strategy), wanted, &previous, Some(&live))
            else {
                panic!("{strategy:?} changes it");
            };
            assert_eq!(
                patch,
                ObjectPatch::Strategic(json!({"spec": {"replicas": size}}))
            );
            assert_eq!(changes[0].path.to_string(), "spec.replicas");
        }
    }
}

#[test]
fn objects_of_others_are_not_taken_unless_that_is_asked_for() {
    let object = deployment(2, &json!({}));
    let mut foreign = object.clone();
    let refused = |live: &Value, previous: &[Value]| {
        decide(&rules(Strategy::ThreeWay), &object, previous, Some(live))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused(&foreign, &[]),
        "Deployment \"web\" in namespace \"shop\" exists and cannot be imported into the current release: invalid ownership metadata; label validation error: missing key \"app.kubernetes.io/managed-by\": must be set to \"Helm\"; annotation validation error: missing key \"meta.helm.sh/release-name\": must be set to \"web\"; annotation validation error: missing key \"meta.helm.sh/release-namespace\": must be set to \"shop\""
    );
    // The release had it: somebody took the marks off, and they come back.
    let back = decide(
        &rules(Strategy::ThreeWay),
        &object,
        std::slice::from_ref(&object),
        Some(&foreign),
    );
    assert!(matches!(back, Ok(Decision::Patch { .. })));
    mark(&mut foreign, "other", "shop");
    assert!(
        refused(&foreign, std::slice::from_ref(&object)).contains("current value is \"other\"")
    );
    let taking = Rules {
        take_ownership: true,
        ..rules(Strategy::ThreeWay)
    };
    assert!(matches!(
        decide(&taking, &object, &[], Some(&foreign)),
        Ok(Decision::Patch { .. })
    ));
}

#[test]
fn policies_of_annotations_decide_before_the_merge() {
    let live = |object: &Value| lives(object, 9);
    let decided = |annotations: Value| {
        let object = deployment(2, &annotations);
        decide(
            &rules(Strategy::Overwrite),
            &object,
            std::slice::from_ref(&object),
            Some(&live(&object)),
        )
        .unwrap()
    };
    assert!(matches!(
        decided(json!({"werf.io/delete-policy": "before-creation"})),
        Decision::Recreate(_)
    ));
    assert!(matches!(
        decided(
            json!({"werf.io/delete-policy": "before-creation", "werf.io/resource-policy": "skip-recreate"})
        ),
        Decision::Patch { .. }
    ));
    assert_eq!(
        decided(json!({"werf.io/resource-policy": "skip-update"})),
        Decision::Keep(Kept::SkipUpdate)
    );
    let object = deployment(2, &json!({}));
    let mut ending = live(&object);
    ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    assert!(matches!(
        decide(&rules(Strategy::ThreeWay), &object, &[], Some(&ending)),
        Ok(Decision::CreateWhenGone(_))
    ));
}

#[test]
fn s_d_23_the_size_of_a_parked_workload_is_left_out_of_an_apply() {
    let object = deployment(3, &json!({}));
    let mut live = lives(&object, 0);
    live["metadata"]["managedFields"] = json!([{"manager": "kzero", "operation": "Update", "subresource": "scale",
        "fieldsV1": {"f:spec": {"f:replicas": {}}}}]);
    let applied = |live: &Value| {
        let decided = decide(
            &rules(Strategy::ServerSide),
            &object,
            std::slice::from_ref(&object),
            Some(live),
        );
        let Ok(Decision::Apply { object, force, .. }) = decided else {
            panic!("it is applied");
        };
        assert!(!force);
        object["spec"].get("replicas").cloned()
    };
    assert_eq!(applied(&live), None);
    live["spec"]["replicas"] = 1.into();
    assert_eq!(applied(&live), Some(json!(3)));
}

#[test]
fn s_d_20_definitions_are_created_and_left_alone_unless_they_are_to_be_upgraded() {
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "web"}, "spec": {"scope": "Cluster"}});
    let resource = resource(Role::Crd, crd.clone());
    let decided = |crds: CrdPolicy, live: Option<&Value>| {
        let rules = Rules {
            crds,
            ..rules(Strategy::ThreeWay)
        };
        let past = Past {
            live,
            ..Past::default()
        };
        rules
            .decide(&resource, &Directives::default(), past)
            .unwrap()
    };
    let other = json!({"kind": "CustomResourceDefinition", "spec": {"scope": "Namespaced"}});
    assert_eq!(
        decided(CrdPolicy::Create, None),
        Decision::Create(crd.clone())
    );
    assert_eq!(
        decided(CrdPolicy::Create, Some(&other)),
        Decision::Keep(Kept::Exists)
    );
    assert!(matches!(
        decided(CrdPolicy::Upgrade, Some(&other)),
        Decision::Apply { force: true, .. }
    ));
    assert_eq!(
        decided(CrdPolicy::Upgrade, Some(&crd)),
        Decision::Keep(Kept::Unchanged)
    );
    assert_eq!(decided(CrdPolicy::Skip, None), Decision::Keep(Kept::Exists));
}

#[test]
fn hooks_are_created_anew_unless_their_policy_says_otherwise() {
    let hook = |policy: &str| {
        let annotations =
            json!({"helm.sh/hook": "pre-install", "helm.sh/hook-delete-policy": policy});
        let object = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "web", "annotations": annotations}});
        let resource = resource(Role::Hook(0), object);
        let directives = Directives::read(&resource).unwrap();
        rules(Strategy::ThreeWay)
            .decide(&resource, &directives, Past::default())
            .unwrap()
    };
    let Decision::Recreate(object) = hook("before-hook-creation") else {
        panic!("it is created anew");
    };
    assert_eq!(
        object["metadata"].get("labels"),
        None,
        "hooks carry no marks"
    );
    assert!(matches!(hook("hook-succeeded"), Decision::Create(_)));
}
