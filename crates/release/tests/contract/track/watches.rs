//! How waits look: shared watches, failures of the way to the server, rights that are missing.

use std::time::Duration;

use kzero_cluster::WaitError;
use kzero_release::directives::State;
use kzero_release::event::Event;
use kzero_release::plan::ExternalWait;
use kzero_release::resource::Role;
use kzero_release::track::Tracker;
use kzero_testkit::objects::{Object, configmap, deployment};
use kzero_testkit::{ControlPlane, Fault, FaultProxy, Rule};
use serde_json::{Value, json};

use super::stage::{Stage, budget};

#[tokio::test]
async fn a_hundred_deployments_share_one_watch() {
    let plane = ControlPlane::attach();
    let dir = tempfile::tempdir().unwrap();
    let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
    let stage = Stage::through(&plane, "hundred", &proxy.kubeconfig(dir.path())).await;
    let objects: Vec<Value> = (0..100)
        .map(|number| deployment(stage.name(), &format!("web-{number}"), 1))
        .collect();
    proxy.clear_requests();
    let results = stage.ready(&objects, Role::Manifest, 120).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let requests = proxy.requests();
    let count = |plural: &str, watch: bool| {
        requests
            .iter()
            .filter(|request| {
                request.path.ends_with(plural) && request.query.contains("watch=true") == watch
            })
            .count()
    };
    for plural in ["/deployments", "/replicasets", "/pods"] {
        assert!(count(plural, true) <= 1, "{plural}: {requests:?}");
        assert!(count(plural, false) <= 1, "{plural}: {requests:?}");
    }
    assert_eq!(count("/deployments", false), 1);
}

#[tokio::test]
async fn deletions_share_one_watch_as_well() {
    let plane = ControlPlane::attach();
    let dir = tempfile::tempdir().unwrap();
    let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
    let stage = Stage::through(&plane, "goners", &proxy.kubeconfig(dir.path())).await;
    let api = stage.api("v1", "ConfigMap");
    let names: Vec<String> = (0..50).map(|number| format!("map-{number}")).collect();
    for name in &names {
        plane.apply(&configmap(stage.name(), name, &[]));
    }
    let listed = plane.list(&stage.space.path("api/v1", "configmaps"));
    let uids: Vec<(&str, &str)> = listed
        .iter()
        .filter_map(|map| {
            let meta = &map["metadata"];
            Some((meta["name"].as_str()?, meta["uid"].as_str()?))
        })
        .filter(|(name, _)| name.starts_with("map-"))
        .collect();
    assert_eq!(uids.len(), names.len());
    proxy.clear_requests();
    let budget = budget(60);
    stage
        .track(async |tracker| {
            let waits = uids
                .iter()
                .map(|(name, uid)| tracker.gone(&api, (stage.name(), name), Some(*uid), &budget));
            let delete = async {
                // All of them are seen first.
                while stage.events.borrow().len() < names.len() {
                    tokio::task::yield_now().await;
                }
                for name in &names {
                    plane.delete(&stage.space.path("api/v1", &format!("configmaps/{name}")));
                }
            };
            let (gone, ()) = tokio::join!(futures::future::try_join_all(waits), delete);
            gone.unwrap();
        })
        .await;
    let requests = proxy.requests();
    assert_eq!(requests.len(), 2, "{requests:?}");
}

#[tokio::test]
async fn a_single_object_is_watched_alone() {
    let plane = ControlPlane::attach();
    let dir = tempfile::tempdir().unwrap();
    let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
    let stage = Stage::through(&plane, "alone", &proxy.kubeconfig(dir.path())).await;
    proxy.clear_requests();
    let results = stage
        .ready(&[deployment(stage.name(), "web", 1)], Role::Manifest, 60)
        .await;
    assert!(results[0].is_ok(), "{results:?}");
    let asked = proxy.requests();
    let lists = asked
        .iter()
        .filter(|request| request.path.ends_with("/deployments"));
    for list in lists {
        assert!(list.query.contains("metadata.name"), "{list:?}");
    }
}

#[tokio::test]
async fn a_wait_ends_with_the_event_that_it_waits_for() {
    let plane = ControlPlane::attach();
    let dir = tempfile::tempdir().unwrap();
    let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
    let stage = Stage::through(&plane, "event", &proxy.kubeconfig(dir.path())).await;
    let api = stage.api("v1", "ConfigMap");
    plane.apply(&configmap(stage.name(), "old", &[]));
    let path = stage.space.path("api/v1", "configmaps/old");
    proxy.clear_requests();
    let listener = |event: Event| {
        // It is seen, so its watch is about to begin: what happens from here on is an event.
        if let Event::Progress { .. } = &event {
            plane.delete(&path);
        }
        stage.events.borrow_mut().push(event);
    };
    let tracker = Tracker::new(&stage.cluster, &listener);
    let at = (stage.name(), "old");
    tracker
        .run(tracker.gone(&api, at, Some("u"), &budget(30)))
        .await
        .unwrap();
    let uid = plane.get(&path).map(|map| map["metadata"]["uid"].clone());
    let uid = uid.as_ref().and_then(Value::as_str).unwrap().to_owned();
    tracker
        .run(tracker.gone(&api, at, Some(&uid), &budget(30)))
        .await
        .unwrap();
    assert!(plane.get(&path).is_none());
    // Two waits: each listed once, and the second one has watched once.
    let requests = proxy.requests();
    let watches = requests
        .iter()
        .filter(|request| request.query.contains("watch=true"));
    assert_eq!(watches.count(), 1, "{requests:?}");
    assert_eq!(requests.len(), 3, "{requests:?}");
}

#[tokio::test]
async fn waits_survive_what_the_way_to_the_server_does_to_them() {
    let plane = ControlPlane::attach();
    let dir = tempfile::tempdir().unwrap();
    let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
    let stage = Stage::through(&plane, "survive", &proxy.kubeconfig(dir.path())).await;
    let list = |fault| Rule::new(fault).path("/deployments").path("limit=");
    let watch = |fault| Rule::new(fault).path("/deployments").path("watch=true");
    let counts = [
        proxy.add(list(Fault::retry_after(429, 1)).first(1)),
        proxy.add(list(Fault::status(500)).nth(2)),
        proxy.add(watch(Fault::Reset).nth(1)),
        proxy.add(watch(Fault::Gone).nth(2)),
        proxy.add(watch(Fault::CutBody(20)).nth(3)),
    ];
    let object = deployment(stage.name(), "web", 1).annotated("sim.kzero/ready", "9");
    let results = stage.ready(&[object], Role::Manifest, 100).await;
    assert!(results[0].is_ok(), "{results:?}");
    for (number, count) in counts.iter().enumerate() {
        assert_eq!(count.hit(), 1, "fault {number}");
    }
}

#[tokio::test]
async fn who_may_only_read_single_objects_waits_all_the_same() {
    let plane = ControlPlane::attach();
    let stage = Stage::through(&plane, "narrow", &plane.restricted_kubeconfig()).await;
    let rules = json!([{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}]);
    plane.grant_restricted(stage.name(), &rules);
    let objects = [
        deployment(stage.name(), "one", 1).annotated("sim.kzero/ready", "1"),
        deployment(stage.name(), "two", 1).annotated("sim.kzero/ready", "1"),
    ];
    let results = stage.ready(&objects, Role::Manifest, 60).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

#[tokio::test]
async fn who_may_read_nothing_hears_so_at_once() {
    let plane = ControlPlane::attach();
    let stage = Stage::through(&plane, "nothing", &plane.restricted_kubeconfig()).await;
    let results = stage
        .ready(&[deployment(stage.name(), "web", 1)], Role::Manifest, 60)
        .await;
    let Err(WaitError::Cluster(error)) = &results[0] else {
        panic!("{results:?}");
    };
    assert_eq!(error.class(), kzero_cluster::ErrorClass::Forbidden);
}

#[tokio::test]
async fn something_outside_is_waited_for_until_it_is_there_or_ready() {
    let plane = ControlPlane::attach();
    let stage = Stage::new(&plane, "outside").await;
    let wait = |name: &str, state| ExternalWait {
        key: "werf.io/deploy-dependency-db".to_owned(),
        api: stage.api("apps/v1", "Deployment"),
        namespace: stage.name().to_owned(),
        name: name.to_owned(),
        state,
    };
    let object = deployment(stage.name(), "db", 1).annotated("sim.kzero/ready", "never");
    let is_told = || stage.progress("db").contains(&"it is not there".to_owned());
    let budget = budget(60);
    let (present, ready) = (wait("db", State::Present), wait("db", State::Ready));
    stage
        .track(async |tracker| {
            let there = async {
                tracker.there(&present, &budget).await.unwrap();
                plane.patch(
                    &stage.space.path("apis/apps/v1", "deployments/db"),
                    &json!({"spec": {"template": {"metadata": {"annotations": {"sim.kzero/ready": "0"}}}}}),
                );
            };
            let create = async {
                while !is_told() {
                    tokio::task::yield_now().await;
                }
                plane.apply(&object);
            };
            let (ready, (), ()) = tokio::join!(tracker.there(&ready, &budget), there, create);
            ready.unwrap();
        })
        .await;
    let path = stage.space.path("apis/apps/v1", "deployments/db");
    plane.wait_until(&path, Duration::from_secs(5), |db| {
        db["status"]["readyReplicas"] == 1
    });
}
