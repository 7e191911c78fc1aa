//! A release from its first install to its end.

use kzero_release::engine::{Options, Uninstall};
use kzero_testkit::ControlPlane;
use serde_json::{Value, json};

use crate::world::World;

const MAP: (&str, &str) = (
    "templates/map.yaml",
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  color: {{ .Values.color | quote }}\n  count: \"1\"\n",
);
const WEB: (&str, &str) = (
    "templates/web.yaml",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: {{ .Values.replicas }}\n  strategy: {rollingUpdate: {maxUnavailable: 0}}\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - name: app\n        image: example/app:1\n",
);

fn values(color: &str, replicas: u32) -> Value {
    json!({ "color": color, "replicas": replicas })
}

#[tokio::test]
async fn a_release_is_installed_upgraded_rolled_back_and_uninstalled() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "life").await;
    let files = [MAP, WEB];
    let waiting = || Options {
        wait: true,
        history_max: 10,
        ..Options::default()
    };
    let first = world
        .deploy(&files, values("red", 2), waiting())
        .await
        .unwrap();
    assert_eq!(first.revision.version, 1);
    assert_eq!(world.revision(1).await.info.description, "Install complete");
    let web = world.get("apps/v1", "deployments/web").unwrap();
    assert_eq!(web["status"]["readyReplicas"], 2);
    assert_eq!(
        web["metadata"]["labels"]["app.kubernetes.io/managed-by"],
        "Helm"
    );
    assert_eq!(web["metadata"]["managedFields"][0]["manager"], "helm");

    // L01: a live size stays as long as the chart does not change it.
    let path = world.path("apps/v1", "deployments/web");
    plane.patch(&path, &json!({"spec": {"replicas": 5}}));
    world
        .deploy(&files, values("blue", 2), waiting())
        .await
        .unwrap();
    assert_eq!(
        world.get("apps/v1", "deployments/web").unwrap()["spec"]["replicas"],
        5
    );
    assert_eq!(
        world.get("v1", "configmaps/settings").unwrap()["data"]["color"],
        "blue"
    );
    world
        .deploy(&files, values("blue", 4), waiting())
        .await
        .unwrap();
    assert_eq!(
        world.get("apps/v1", "deployments/web").unwrap()["spec"]["replicas"],
        4
    );

    // What the chart no longer has is deleted.
    world
        .deploy(&[MAP], values("blue", 4), waiting())
        .await
        .unwrap();
    plane.wait_until(&path, std::time::Duration::from_secs(60), Value::is_null);

    let back = world.rollback(1).await.unwrap();
    assert_eq!(back.revision.version, 5);
    assert_eq!(world.revision(5).await.info.description, "Rollback to 1");
    assert_eq!(
        world.get("v1", "configmaps/settings").unwrap()["data"]["color"],
        "red"
    );
    assert_eq!(
        world.get("apps/v1", "deployments/web").unwrap()["spec"]["replicas"],
        2
    );
    let statuses: Vec<String> = world.statuses().await.into_values().collect();
    assert_eq!(
        statuses,
        [
            "superseded",
            "superseded",
            "superseded",
            "superseded",
            "deployed"
        ]
    );

    let gone = world
        .uninstall(Uninstall {
            wait: true,
            ..Uninstall::default()
        })
        .await
        .unwrap();
    assert!(gone.found);
    assert!(world.get("apps/v1", "deployments/web").is_none());
    assert!(world.get("v1", "configmaps/settings").is_none());
    assert!(world.statuses().await.is_empty());
    assert!(
        world
            .get("coordination.k8s.io/v1", "leases/kzero-release-web")
            .is_none()
    );
    let again = world.uninstall(Uninstall::default()).await.unwrap();
    assert!(!again.found);
    assert_eq!(world.warnings(), [""; 0]);
}
