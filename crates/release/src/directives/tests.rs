use std::time::Duration;

use kzero_chart::manifest::HookEvent;
use kzero_cluster::{ApiResource, Propagation};
use serde_json::{Value, json};

use super::{
    DeletePolicy, DeployOn, Directives, External, FailMode, Matcher, Ownership, ResourcePolicy,
    State, Termination,
};
use crate::resource::{Resource, ResourceId, Role};

fn resource(kind: &str, role: Role, annotations: &Value) -> Resource {
    Resource {
        id: ResourceId {
            group: String::new(),
            kind: kind.into(),
            namespace: "shop".into(),
            name: "x".into(),
        },
        api: ApiResource {
            group_version: "v1".into(),
            kind: kind.into(),
            plural: "xs".into(),
            namespaced: true,
        },
        object: json!({"kind": kind, "metadata": {"name": "x", "annotations": annotations}}),
        path: "web/templates/x.yaml".into(),
        role,
    }
}

fn read(annotations: &Value) -> Directives {
    Directives::read(&resource("ConfigMap", Role::Manifest, annotations)).unwrap()
}

fn fails(key: &str, value: &str) -> String {
    Directives::read(&resource(
        "ConfigMap",
        Role::Manifest,
        &json!({ key: value }),
    ))
    .expect_err(key)
    .to_string()
}

#[test]
fn weights_order_and_a_hooks_own_counts_for_hooks() {
    assert_eq!(read(&json!({"werf.io/weight": " -3 "})).weight, -3);
    let hook = |annotations: &Value| {
        Directives::read(&resource("Job", Role::Hook(0), annotations)).unwrap()
    };
    let both =
        json!({"helm.sh/hook": "pre-install", "helm.sh/hook-weight": "5", "werf.io/weight": "2"});
    assert_eq!(hook(&both).weight, 2);
    assert_eq!(
        hook(&json!({"helm.sh/hook": "pre-install", "helm.sh/hook-weight": "5"})).weight,
        5
    );
    assert_eq!(
        hook(&json!({"helm.sh/hook": "pre-install", "helm.sh/hook-weight": "abc"})).weight,
        0
    );
    assert_eq!(read(&json!({"helm.sh/hook-weight": "5"})).weight, 0);
    assert_eq!(
        fails("werf.io/weight", "1.5"),
        "ConfigMap shop/x: annotation werf.io/weight: \"1.5\" is not a whole number\nhint: change it in the template web/templates/x.yaml"
    );
    assert!(fails("werf.io/weight", "").contains("is not a whole number"));
}

#[test]
fn dependencies_say_on_what_and_in_which_state() {
    let value = "state=ready, kind=Job,name='data,base' ,namespace=far,group=batch,version=v1,external=true";
    let found = read(&json!({ "werf.io/deploy-dependency-db": value }));
    let [dependency] = found.deploy_dependencies.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(
        (dependency.state, dependency.external),
        (State::Ready, External::True)
    );
    let matcher = &dependency.matcher;
    assert_eq!(matcher.name.as_deref(), Some("data,base"));
    assert_eq!(matcher.shown(), "Job far/data,base");
    assert!(found.has_manual_dependencies());
    let gone = read(&json!({"werf.io/delete-dependency-x": "state=absent,kind=Ingress"}));
    assert_eq!(gone.delete_dependencies[0].state, State::Absent);
    assert!(!gone.has_manual_dependencies());
    let no = read(&json!({"werf.io/deploy-dependency-x": "state=present,kind=A,noexternal"}));
    assert_eq!(no.deploy_dependencies[0].external, External::False);
    for (value, part) in [
        ("", "says on what"),
        ("kind=Job", "with state=present or state=ready"),
        ("state=absent,kind=Job", "with state=present or state=ready"),
        ("state=ready", "says on what"),
        ("state=ready,name=", "name needs a value"),
        ("state=ready,name", "name needs a value"),
        ("state=ready,colour=red", "it may have state"),
        ("state=ready,kind=Job,name=\"a", "with quotes closed"),
        (
            "state=ready,kind=Job,external=maybe",
            "external=auto, true or false",
        ),
        (
            "state=ready,kind=Job,external=true",
            "needs name, kind and version",
        ),
    ] {
        let text = fails("werf.io/deploy-dependency-x", value);
        assert!(text.contains(part), "{value}: {text}");
    }
    assert!(fails("werf.io/delete-dependency-x", "state=ready,kind=A").contains("state=absent"));
}

#[test]
fn a_dependency_means_objects_by_name_kind_group_version_and_namespace() {
    let id = ResourceId {
        group: "apps".into(),
        kind: "StatefulSet".into(),
        namespace: "shop".into(),
        name: "db".into(),
    };
    let some = |text: &str| Some(text.to_owned());
    let matcher = Matcher {
        kind: some("statefulset"),
        group: some("APPS"),
        ..Matcher::default()
    };
    assert!(matcher.matches(&id, "v1", "statefulsets"));
    let other = Matcher {
        name: some("DB"),
        ..Matcher::default()
    };
    assert!(!other.matches(&id, "v1", "statefulsets"));
}

#[test]
fn the_older_keys_of_dependencies_count_too() {
    let found = read(&json!({
        "a.external-dependency.werf.io": "apps/v1:Deployment:far:web",
        "b.dependency.werf.io": "v1:Secret:token",
        "c.external-dependency.werf.io/resource": "deployments.v1.apps/api",
        "c.external-dependency.werf.io/namespace": "far"
    }));
    let shown: Vec<String> = found
        .deploy_dependencies
        .iter()
        .map(|dependency| dependency.matcher.shown())
        .collect();
    assert_eq!(
        shown,
        ["Deployment far/web", "Secret token", "deployments far/api"]
    );
    assert_eq!(found.deploy_dependencies[1].external, External::False);
    assert!(fails("a.external-dependency.werf.io", "v1:Secret").contains("apiVersion:kind"));
    assert!(
        fails("a.external-dependency.werf.io/resource", "all/x")
            .contains("type[.version.group]/name")
    );
}

#[test]
fn deploy_on_names_the_moments() {
    let found = read(&json!({"werf.io/deploy-on": "pre-install, upgrade"}));
    assert_eq!(
        found.deploy_on,
        Some(vec![
            DeployOn::Hook(HookEvent::PreInstall),
            DeployOn::Upgrade
        ])
    );
    for wrong in ["", "install,", "pre-uninstall"] {
        assert!(fails("werf.io/deploy-on", wrong).contains("separated by commas"));
    }
}

#[test]
fn policies_say_what_is_deleted_kept_and_skipped() {
    let found = read(
        &json!({"werf.io/delete-policy": "succeeded,failed", "werf.io/resource-policy": "skip-create,keep"}),
    );
    assert_eq!(
        found.delete_policy,
        DeletePolicy {
            succeeded: true,
            failed: true,
            ..DeletePolicy::default()
        }
    );
    assert_eq!(
        found.resource_policy,
        ResourcePolicy {
            skip_create: true,
            keep: true,
            ..ResourcePolicy::default()
        }
    );
    assert_eq!(
        read(&json!({"werf.io/delete-policy": ""})).delete_policy,
        DeletePolicy::default()
    );
    assert!(fails("werf.io/delete-policy", "never").contains("before-creation-if-immutable"));
    assert!(fails("werf.io/resource-policy", "").contains("skip-recreate"));
    assert!(
        read(&json!({"helm.sh/resource-policy": "Keep"}))
            .warnings
            .is_empty()
    );
    let other = read(&json!({"helm.sh/resource-policy": "other"}));
    assert!(other.resource_policy.keep);
    assert!(other.warnings[0].contains("the object is kept"));
    let hook = |policy: &str| {
        let annotations =
            json!({"helm.sh/hook": "pre-install", "helm.sh/hook-delete-policy": policy});
        Directives::read(&resource("Job", Role::Hook(0), &annotations)).unwrap()
    };
    assert!(hook("before-hook-creation").delete_policy.before_creation);
    assert!(hook("hook-succeeded, hook-failed").delete_policy.succeeded);
    assert!(!hook("hook-succeeded").delete_policy.before_creation);
    assert_eq!(hook("sometimes").warnings.len(), 1);
    let plain = Directives::read(&resource(
        "Job",
        Role::Hook(0),
        &json!({"helm.sh/hook": "pre-install"}),
    ))
    .unwrap();
    assert!(plain.delete_policy.before_creation);
    assert_eq!(plain.ownership, Ownership::Anyone);
}

#[test]
fn ownership_propagation_replicas_and_secrecy_are_read() {
    let found = read(&json!({
        "werf.io/ownership": "anyone", "werf.io/delete-propagation": "Orphan", "werf.io/replicas-on-creation": "3",
        "werf.io/sensitive": "t", "werf.io/sensitive-paths": "$.data.a,$.data['b\\,c']"
    }));
    assert_eq!(found.ownership, Ownership::Anyone);
    assert_eq!(found.propagation, Some(Propagation::Orphan));
    assert_eq!(found.replicas_on_creation, Some(3));
    assert_eq!(found.sensitive, Some(true));
    assert_eq!(found.sensitive_paths, ["$.data.a", "$.data['b,c']"]);
    for (key, value) in [
        ("werf.io/ownership", "mine"),
        ("werf.io/delete-propagation", "background"),
        ("werf.io/replicas-on-creation", "-1"),
        ("werf.io/sensitive", "yes"),
        ("werf.io/sensitive-paths", ""),
        ("werf.io/sensitive-paths", "$.a["),
    ] {
        assert!(fails(key, value).contains(key));
    }
}

#[test]
fn tracking_says_how_an_object_is_followed() {
    let found = read(&json!({
        "werf.io/track-termination-mode": "NonBlocking",
        "werf.io/fail-mode": "IgnoreAndContinueDeployProcess",
        "werf.io/failures-allowed-per-replica": "2",
        "werf.io/no-activity-timeout": "1m30s",
        "werf.io/ignore-readiness-probe-fails-for-app": "20s",
        "werf.io/log-regex": "ERR",
        "werf.io/log-regex-for-app": "x",
        "werf.io/log-regex-skip": "debug",
        "werf.io/log-regex-skip-for-app": "noise",
        "werf.io/skip-logs-for-containers": "a, b",
        "werf.io/show-logs-only-for-containers": "app,b",
        "werf.io/show-logs-only-for-number-of-replicas": "0",
        "werf.io/show-service-messages": "true"
    }))
    .tracking;
    assert_eq!(
        (found.termination, found.fail_mode),
        (Termination::NonBlocking, FailMode::Ignore)
    );
    assert_eq!(
        (found.failures_allowed, found.show_logs_of_replicas),
        (2, 0)
    );
    assert_eq!(found.no_activity, Duration::from_secs(90));
    assert_eq!(
        found.containers["app"].ignore_probe,
        Some(Duration::from_secs(20))
    );
    assert!(found.show_events);
    assert!(found.shows("app", "ERR x"));
    for hidden in ["x", "ERR", "ERR x debug", "ERR x noise"] {
        assert!(!found.shows("app", hidden), "{hidden}");
    }
    assert!(found.shows("other", "ERR noise"));
    assert!(
        found.shows_container("app") && !found.shows_container("b") && !found.shows_container("c")
    );
    assert!(
        !read(&json!({"werf.io/skip-logs": "1"}))
            .tracking
            .shows_container("app")
    );
    for (key, value) in [
        ("werf.io/track-termination-mode", "nonblocking"),
        ("werf.io/fail-mode", "Ignore"),
        ("werf.io/failures-allowed-per-replica", "-1"),
        ("werf.io/no-activity-timeout", "5"),
        ("werf.io/ignore-readiness-probe-fails-for-app", "soon"),
        ("werf.io/log-regex", "("),
        ("werf.io/log-regex-for-app", "["),
        ("werf.io/log-regex-skip", "("),
        ("werf.io/log-regex-skip-for-app", "("),
        ("werf.io/skip-logs", "no"),
        ("werf.io/skip-logs-for-containers", "a,,b"),
        ("werf.io/show-logs-only-for-containers", ""),
        ("werf.io/show-logs-only-for-number-of-replicas", "all"),
        ("werf.io/show-service-messages", "2"),
    ] {
        assert!(fails(key, value).contains(key));
    }
}

#[test]
fn failures_are_forgiven_by_replica_and_not_at_all_for_jobs() {
    let allowed = |object: Value| {
        let mut resource = resource("Deployment", Role::Manifest, &json!({}));
        resource.object = object;
        Directives::read(&resource)
            .unwrap()
            .tracking
            .failures_allowed
    };
    assert_eq!(
        allowed(json!({"kind": "Deployment", "spec": {"replicas": 3}})),
        3
    );
    assert_eq!(allowed(json!({"kind": "Deployment", "spec": {}})), 1);
    assert_eq!(allowed(json!({"kind": "Job"})), 0);
    let never = json!({"restartPolicy": "Never"});
    assert_eq!(
        allowed(json!({"kind": "Deployment", "spec": {"template": {"spec": never}}})),
        0
    );
}

#[test]
fn keys_that_look_like_directives_are_told() {
    let warnings = |key: &str| read(&json!({ key: "x" })).warnings;
    assert_eq!(
        warnings("werf.io/wieght"),
        ["ConfigMap shop/x: annotation werf.io/wieght has no effect; is werf.io/weight meant?"]
    );
    assert!(warnings("helm.sh/hooks")[0].ends_with("is helm.sh/hook meant?"));
    assert!(warnings("werf.io/deploy-dependencies-db")[0].contains("has no effect"));
    assert!(warnings("werf.io/frobnicate")[0].ends_with("no such directive"));
    assert!(warnings("example.com/weight").is_empty());
    assert!(warnings("helm.sh/hook-weight").is_empty());
    assert!(warnings("project.werf.io/name").is_empty());
}

#[test]
fn definitions_of_kinds_come_first_whatever_they_say() {
    let annotations =
        json!({"werf.io/weight": "9", "werf.io/deploy-dependency-x": "state=ready,kind=A"});
    let mut crd = resource("CustomResourceDefinition", Role::Manifest, &annotations);
    crd.id.group = "apiextensions.k8s.io".into();
    let found = Directives::read(&crd).unwrap();
    assert_eq!((found.weight, found.has_manual_dependencies()), (0, false));
    assert!(found.warnings[0].contains("have no effect"));
}

#[test]
fn what_was_stored_with_faults_is_kept_rather_than_deleted() {
    let annotations = json!({"werf.io/resource-policy": "kep", "werf.io/weight": "x", "werf.io/delete-propagation": "??"});
    let found = Directives::read_stored(&resource("ConfigMap", Role::Manifest, &annotations));
    assert!(found.resource_policy.keep);
    assert_eq!((found.weight, found.propagation), (0, None));
    assert_eq!(found.warnings.len(), 3);
}
