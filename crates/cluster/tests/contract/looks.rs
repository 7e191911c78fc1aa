//! Calls that only look, and the records.

use kzero_cluster::{
    Access, ApplyMode, Deletion, ErrorClass, Parked, Propagation, RecordKind, ScaleKind,
    WorkloadRef,
};
use serde_json::json;

use crate::support::{Place, budget, workload};

#[tokio::test]
async fn the_server_tells_its_version_and_health() {
    let place = Place::new("version").await;
    let version = place.cluster.server_version(&budget(10)).await.unwrap();
    assert!(version.starts_with("v1."), "{version}");
    place
        .cluster
        .probe(std::time::Duration::from_secs(5))
        .await
        .unwrap();
    assert_eq!(place.cluster.target().namespace, "default");
    assert!(
        place
            .cluster
            .namespace_uid("kube-system", &budget(10))
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test]
async fn an_inventory_holds_workloads_cronjobs_and_releases() {
    let place = Place::new("inventory").await;
    let ns = place.namespace.clone();
    place
        .create(workload(ScaleKind::Deployment, "api", 3))
        .await;
    place
        .create(workload(ScaleKind::StatefulSet, "pg", 0))
        .await;
    for (version, status) in [("1", "superseded"), ("2", "deployed")] {
        place
            .create(json!({
                "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
                "metadata": {
                    "name": format!("sh.helm.release.v1.web.v{version}"),
                    "labels": {"owner": "helm", "name": "web", "version": version, "status": status},
                },
            }))
            .await;
    }
    let found = place
        .cluster
        .inventory(&[ns.clone(), "no-such-one".to_owned()], &budget(10))
        .await
        .unwrap();
    assert_eq!(found[0].exists, Some(true));
    assert_eq!(found[1].exists, Some(false));
    let sizes: Vec<(String, i32, usize)> = found[0]
        .workloads
        .iter()
        .map(|entry| {
            (
                entry.workload.to_string(),
                entry.replicas,
                entry.images.len(),
            )
        })
        .collect();
    assert_eq!(
        sizes,
        [
            (format!("deployment {ns}/api"), 3, 1),
            (format!("statefulset {ns}/pg"), 0, 1)
        ]
    );
    assert_eq!(found[0].releases.len(), 1);
    assert_eq!(found[0].releases[0].revision, 2);
    let nodes = place.cluster.nodes(&budget(10)).await.unwrap();
    assert!(
        nodes.iter().all(|node| node.ready) && !nodes.is_empty(),
        "{nodes:?}"
    );
    let wanted = [
        WorkloadRef::new(ScaleKind::Deployment, &ns, "api"),
        WorkloadRef::new(ScaleKind::StatefulSet, &ns, "pg"),
        WorkloadRef::new(ScaleKind::StatefulSet, &ns, "gone"),
    ];
    let sizes = place.cluster.sizes(&wanted, &budget(10)).await.unwrap();
    assert_eq!(
        sizes.values().map(|size| size.replicas).collect::<Vec<_>>(),
        [3, 0]
    );
}

#[tokio::test]
async fn records_are_guarded_by_their_version() {
    let place = Place::new("record").await;
    let (cluster, ns) = (&place.cluster, place.namespace.as_str());
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "kzero-x", "labels": {"app.kubernetes.io/managed-by": "kzero"}},
        "data": {"memory.json": "{}"},
    });
    let kind = RecordKind::ConfigMap;
    assert_eq!(
        cluster
            .read_record(kind, ns, "kzero-x", &budget(10))
            .await
            .unwrap(),
        None
    );
    let made = cluster
        .create_record(kind, ns, &object, &budget(10))
        .await
        .unwrap();
    assert!(made.server_time.is_some());
    let exists = cluster
        .create_record(kind, ns, &object, &budget(10))
        .await
        .unwrap_err();
    assert_eq!(exists.class(), ErrorClass::Exists);
    let mut next = made.object.clone();
    next["data"]["memory.json"] = json!("{\"a\":1}");
    let replaced = cluster
        .replace_record(kind, ns, &next, &budget(10))
        .await
        .unwrap();
    let stale = cluster
        .replace_record(kind, ns, &next, &budget(10))
        .await
        .unwrap_err();
    assert_eq!(stale.class(), ErrorClass::Conflict);
    let listed = cluster
        .list_records(kind, ns, "app.kubernetes.io/managed-by=kzero", &budget(10))
        .await
        .unwrap();
    assert_eq!(listed.len(), 1);
    let old = made.object["metadata"]["resourceVersion"].as_str().unwrap();
    let refused = cluster
        .delete_record(kind, ns, "kzero-x", old, &budget(10))
        .await
        .unwrap_err();
    assert_eq!(refused.class(), ErrorClass::Conflict);
    let now = replaced.object["metadata"]["resourceVersion"]
        .as_str()
        .unwrap();
    assert!(
        cluster
            .delete_record(kind, ns, "kzero-x", now, &budget(10))
            .await
            .unwrap()
    );
    assert!(
        !cluster
            .delete_record(kind, ns, "kzero-x", now, &budget(10))
            .await
            .unwrap()
    );

    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "kzero-x"},
        "spec": {"holderIdentity": "me", "leaseDurationSeconds": 60},
    });
    let made = cluster
        .create_record(RecordKind::Lease, ns, &lease, &budget(10))
        .await
        .unwrap();
    assert_eq!(made.object["spec"]["holderIdentity"], "me");
}

#[tokio::test]
async fn rights_and_owners_are_told() {
    let place = Place::new("rights").await;
    let ns = place.namespace.clone();
    let (limited, _) = place
        .restricted(
            json!([{"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["get"]}]),
        )
        .await;
    let ask = |verb: &str| Access {
        verb: verb.to_owned(),
        group: "apps".to_owned(),
        resource: "deployments".to_owned(),
        subresource: "scale".to_owned(),
        namespace: ns.clone(),
        name: String::new(),
    };
    assert!(limited.allowed(&ask("get"), &budget(10)).await.unwrap());
    assert!(!limited.allowed(&ask("patch"), &budget(10)).await.unwrap());
    assert!(
        place
            .cluster
            .allowed(&ask("patch"), &budget(10))
            .await
            .unwrap()
    );
    let found = limited
        .inventory(std::slice::from_ref(&ns), &budget(10))
        .await
        .unwrap();
    assert_eq!(found[0].exists, None);
    assert_eq!(found[0].unreadable.len(), 5, "{:?}", found[0].unreadable);

    let mut object = workload(ScaleKind::Deployment, "api", 0);
    object["metadata"]["labels"] = json!({"kustomize.toolkit.fluxcd.io/name": "apps"});
    place.create(object).await;
    place
        .create(workload(ScaleKind::Deployment, "web", 0))
        .await;
    let parked = ["api", "web", "gone"]
        .map(|name| Parked::Workload(WorkloadRef::new(ScaleKind::Deployment, &ns, name)));
    let lines = place.cluster.park_undoers(&parked, &budget(10)).await;
    assert_eq!(
        lines,
        [format!(
            "Flux (kustomization apps) may undo the park of deployment.{ns}/api"
        )]
    );
}

#[tokio::test]
async fn a_deletion_says_whether_the_object_is_gone() {
    let place = Place::new("gone").await;
    let ns = place.namespace.clone();
    let map = |name: &str, finalizers: serde_json::Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "finalizers": finalizers}});
    place.create(map("free", json!([]))).await;
    place.create(map("held", json!(["example.org/held"]))).await;
    let discovery = place.cluster.discovery(&budget(10)).await.unwrap();
    let maps = discovery.resource("v1", "ConfigMap").unwrap().clone();
    let delete = async |name: &str, uid: Option<&str>| {
        place
            .cluster
            .delete_object(
                &maps,
                (&ns, name),
                uid,
                Propagation::Background,
                ApplyMode::Live,
                &budget(10),
            )
            .await
    };
    let other = delete("free", Some("another")).await.unwrap_err();
    assert_eq!(other.class(), ErrorClass::Conflict);
    assert_eq!(delete("free", None).await.unwrap(), Deletion::Done);
    assert_eq!(delete("free", None).await.unwrap(), Deletion::Absent);
    assert_eq!(delete("held", None).await.unwrap(), Deletion::Begun);
    let left = place
        .cluster
        .objects(&maps, &ns, &budget(10))
        .await
        .unwrap();
    let names: Vec<_> = left["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(names.contains(&"held".to_owned()), "{names:?}");
    assert!(!names.contains(&"free".to_owned()), "{names:?}");
    let patch = kzero_cluster::ObjectPatch::Merge(json!({"metadata": {"finalizers": null}}));
    let write = kzero_cluster::Write {
        manager: "kzero",
        mode: ApplyMode::Live,
    };
    place
        .cluster
        .patch_object(&maps, (&ns, "held"), &patch, write, &budget(10))
        .await
        .unwrap();
}
