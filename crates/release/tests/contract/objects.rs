//! What becomes of single objects: hooks, definitions of kinds, fields that cannot be changed, many of a kind.

use kzero_release::decide::{CrdPolicy, Strategy};
use kzero_release::engine::Options;
use kzero_release::revision::Phase;
use kzero_testkit::ControlPlane;
use serde_json::json;

use crate::world::World;

fn keep() -> Options {
    Options {
        history_max: 10,
        ..Options::default()
    }
}

fn job(annotations: &str, run: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: mig\n  annotations: {{{annotations}}}\nspec:\n  backoffLimit: 0\n  template:\n    metadata: {{annotations: {{{run}}}}}\n    spec: {{restartPolicy: Never, containers: [{{name: a, image: example/a}}]}}\n"
    )
}

const MAP: (&str, &str) = (
    "templates/map.yaml",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n",
);

#[tokio::test]
async fn l13_a_hook_that_failed_stands_in_the_way_unless_it_is_deleted_before() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "l13").await;
    let failing = job(
        "helm.sh/hook: \"pre-install,pre-upgrade\", helm.sh/hook-delete-policy: hook-succeeded",
        "sim.kzero/exit: \"1\"",
    );
    let first = world
        .deploy(&[("templates/h.yaml", &failing), MAP], json!({}), keep())
        .await
        .unwrap_err();
    assert!(
        first.to_string().starts_with("failed pre-install: Job "),
        "{first}"
    );
    assert!(
        first.to_string().contains("BackoffLimitExceeded"),
        "{first}"
    );
    assert!(world.get("v1", "configmaps/settings").is_none());
    assert!(world.get("batch/v1", "jobs/mig").is_some());
    assert_eq!(
        world.revision(1).await.hooks[0].last_run.phase,
        Phase::Failed
    );
    let second = world
        .deploy(&[("templates/h.yaml", &failing), MAP], json!({}), keep())
        .await
        .unwrap_err();
    assert!(
        second
            .to_string()
            .contains("cannot create \"mig\" with kind Job"),
        "{second}"
    );
    assert!(second.to_string().contains("already exists"), "{second}");
    let clean = job(
        "helm.sh/hook: \"pre-install,pre-upgrade\", helm.sh/hook-delete-policy: before-hook-creation",
        "",
    );
    let third = world
        .deploy(&[("templates/h.yaml", &clean), MAP], json!({}), keep())
        .await
        .unwrap();
    assert_eq!(third.revision.version, 3);
    let run = world.revision(3).await.hooks[0].last_run;
    assert_eq!(run.phase, Phase::Succeeded);
    assert!(run.started_at.is_some() && run.completed_at.is_some());
}

#[tokio::test]
async fn m1_definitions_are_served_before_their_objects_are_made() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "crds").await;
    let group = format!("{}.example.org", world.storage.namespace());
    let crd = |description: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: crontabs.{group}}}\nspec:\n  group: {group}\n  scope: Namespaced\n  names: {{kind: CronTab, plural: crontabs, singular: crontab}}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {{openAPIV3Schema: {{type: object, description: {description}, x-kubernetes-preserve-unknown-fields: true}}}}\n"
        )
    };
    let object =
        format!("apiVersion: {group}/v1\nkind: CronTab\nmetadata: {{name: c}}\nspec: {{a: 1}}\n");
    let (first, second) = (crd("first"), crd("second"));
    let files = |crd| {
        [
            ("crds/crontab.yaml", crd),
            ("templates/c.yaml", object.as_str()),
        ]
    };
    world
        .deploy(&files(&first), json!({}), keep())
        .await
        .unwrap();
    assert_eq!(
        world.get(&format!("{group}/v1"), "crontabs/c").unwrap()["spec"]["a"],
        1
    );
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/crontabs.{group}");
    let described = || {
        plane.get(&path).unwrap()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"]
            .clone()
    };
    // S-D.20
    world
        .deploy(&files(&second), json!({}), keep())
        .await
        .unwrap();
    assert_eq!(described(), "first");
    let upgrading = Options {
        crds: CrdPolicy::Upgrade,
        ..keep()
    };
    world
        .deploy(&files(&second), json!({}), upgrading)
        .await
        .unwrap();
    assert_eq!(described(), "second");
    world
        .uninstall(kzero_release::engine::Uninstall {
            wait: true,
            ..Default::default()
        })
        .await
        .unwrap();
    assert_eq!(described(), "second", "definitions are never deleted");
    plane.delete(&path);
}

#[tokio::test]
async fn l11_and_m10_fields_that_cannot_be_changed_are_named_with_the_remedies() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "l11").await;
    let web = |label: &str, policy: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  annotations: {{{policy}}}\nspec:\n  selector: {{matchLabels: {{app: {label}}}}}\n  template:\n    metadata: {{labels: {{app: {label}}}}}\n    spec: {{containers: [{{name: app, image: example/app}}]}}\n"
        )
    };
    let (a, b) = (web("a", ""), web("b", ""));
    world
        .deploy(&[("templates/w.yaml", &a)], json!({}), keep())
        .await
        .unwrap();
    let uid = || world.get("apps/v1", "deployments/web").unwrap()["metadata"]["uid"].clone();
    let before = uid();
    let error = world
        .deploy(&[("templates/w.yaml", &b)], json!({}), keep())
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("cannot patch \"web\" with kind Deployment: "),
        "{error}"
    );
    assert!(error.contains("field is immutable"), "{error}");
    assert!(
        error.contains("hint: spec.selector of Deployment "),
        "{error}"
    );
    assert!(
        error.contains("werf.io/delete-policy: before-creation-if-immutable"),
        "{error}"
    );
    assert_eq!(uid(), before, "nothing is recreated unasked");
    let asked = web("b", "werf.io/delete-policy: before-creation-if-immutable");
    world
        .deploy(&[("templates/w.yaml", &asked)], json!({}), keep())
        .await
        .unwrap();
    assert_ne!(uid(), before);
}

#[tokio::test]
async fn c11_a_boolean_where_a_text_belongs_is_refused_by_the_server_as_in_helm() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "c11").await;
    let web = |image: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  selector: {{matchLabels: {{app: a}}}}\n  template:\n    metadata: {{labels: {{app: a}}}}\n    spec: {{containers: [{{name: app, image: {image}}}]}}\n"
        )
    };
    let (good, bad) = (web("example/app"), web("y"));
    world
        .deploy(&[("templates/w.yaml", &good)], json!({}), keep())
        .await
        .unwrap();
    let error = world
        .deploy(&[("templates/w.yaml", &bad)], json!({}), keep())
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("cannot patch \"web\" with kind Deployment: "),
        "{error}"
    );
    // Helm finds it when it reads the object into its own types, the API server when it reads the patch.
    assert!(error.contains("image:true"), "{error}");
    assert_eq!(world.revision(2).await.info.status.word(), "failed");
}

#[tokio::test]
async fn l23_two_thousand_objects_of_a_kind_are_created_changed_and_deleted() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "l23").await;
    let many = (
        "templates/many.yaml",
        "{{- range until 2000 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: map-{{ . }}}\ndata: {color: {{ $.Values.color }}}\n{{- end }}\n",
    );
    world
        .deploy(&[many], json!({"color": "red"}), keep())
        .await
        .unwrap();
    let maps = || {
        plane
            .list(&world.path("v1", "configmaps"))
            .iter()
            .filter(|map| {
                map["metadata"]["name"]
                    .as_str()
                    .unwrap()
                    .starts_with("map-")
            })
            .count()
    };
    assert_eq!(maps(), 2000);
    world
        .deploy(&[many], json!({"color": "blue"}), keep())
        .await
        .unwrap();
    assert_eq!(
        world.get("v1", "configmaps/map-1999").unwrap()["data"]["color"],
        "blue"
    );
    world
        .uninstall(kzero_release::engine::Uninstall {
            wait: true,
            ..Default::default()
        })
        .await
        .unwrap();
    assert_eq!(maps(), 0);
}

#[tokio::test]
async fn the_server_merges_when_it_is_asked_to_and_conflicts_are_errors() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "ssa").await;
    let map = (
        "templates/m.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {{ toYaml .Values.data | nindent 2 }}\n",
    );
    let server_side = || Options {
        strategy: Strategy::ServerSide,
        ..keep()
    };
    // Written by patches first, so that ownership has to be moved.
    world
        .deploy(&[map], json!({"data": {"a": "1", "b": "1"}}), keep())
        .await
        .unwrap();
    world
        .deploy(&[map], json!({"data": {"a": "2"}}), server_side())
        .await
        .unwrap();
    let data = || world.get("v1", "configmaps/m").unwrap()["data"].clone();
    assert_eq!(data(), json!({"a": "2"}), "what the chart dropped is gone");
    plane.patch(
        &world.path("v1", "configmaps/m"),
        &json!({"data": {"a": "by hand"}}),
    );
    let error = world
        .deploy(&[map], json!({"data": {"a": "3"}}), server_side())
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("conflict"), "{error}");
    let forced = Options {
        force_conflicts: true,
        ..server_side()
    };
    world
        .deploy(&[map], json!({"data": {"a": "3"}}), forced)
        .await
        .unwrap();
    assert_eq!(data(), json!({"a": "3"}));
    assert_eq!(world.revision(4).await.apply_method, "ssa");
}

#[tokio::test]
async fn external_secrets_are_waited_for() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "external").await;
    let map = (
        "templates/m.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m\n  annotations: {werf.io/deploy-dependency-s: \"state=ready,kind=Secret,version=v1,name=late\"}\n",
    );
    let files = [map];
    let deploy = world.deploy(&files, json!({}), keep());
    let secret = async {
        tokio::time::sleep(std::time::Duration::from_millis(700)).await;
        assert!(world.get("v1", "configmaps/m").is_none());
        plane.apply(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "late", "namespace": world.storage.namespace()}}));
    };
    let (deployed, ()) = tokio::join!(deploy, secret);
    deployed.unwrap();
    assert!(world.get("v1", "configmaps/m").is_some());
    assert!(
        world
            .begun()
            .contains(&"wait for Secret late to be ready".to_owned())
    );
}
