//! What is told before anything is written: names, namespaces, broken records. And how long is waited for a namespace.

use std::time::Duration;

use kzero_cluster::{ApplyMode, Budget, Cluster};
use kzero_release::engine::{Deploy, Existing, Options, Timing, Uninstall};
use kzero_release::error::{Class, ReleaseError};
use kzero_release::interrupt::Interrupt;
use kzero_release::revision::{Revision, Status};
use kzero_release::storage::Storage;
use kzero_testkit::ControlPlane;
use serde_json::{Value, json};

use crate::world::{LONG, World, files, render, timing};

const MAP: (&str, &str) = (
    "templates/map.yaml",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n",
);

fn keep() -> Options {
    Options {
        history_max: 10,
        ..Options::default()
    }
}

/// Deploys with so much time for each wait and none for the whole, as commands do.
async fn deploy_within(world: &World<'_>, wait: Duration, options: Options) -> Result<(), String> {
    let deploy = Deploy {
        name: "web".to_owned(),
        options,
        render: render(files(&[MAP]), json!({})),
        timing: Timing {
            all: Budget::unlimited(),
            each: Some(("--timeout 1s".to_owned(), wait)),
            cleanup: Duration::from_secs(30),
        },
    };
    world
        .with(Interrupt::never(), ApplyMode::Live, async |engine| {
            engine.deploy(deploy).await
        })
        .await
        .map(|_| ())
        .map_err(|error: ReleaseError| error.to_string())
}

/// A namespace that is being deleted and held by a finalizer of its content.
fn ending(world: &World<'_>) -> String {
    let map = world.path("v1", "configmaps");
    let held = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "held", "namespace": world.space.name(), "finalizers": ["example.com/held"]},
    });
    assert_eq!(world.plane.request("POST", &map, &held).0, 201);
    let path = format!("/api/v1/namespaces/{}", world.space.name());
    world.plane.delete(&path);
    world
        .plane
        .wait_until(&path, Duration::from_secs(60), |namespace: &Value| {
            let conditions = namespace["status"]["conditions"].as_array();
            conditions.into_iter().flatten().any(|condition| {
                condition["type"] == "NamespaceFinalizersRemaining" && condition["status"] == "True"
            })
        });
    path
}

fn let_go(world: &World<'_>) {
    let held = world.path("v1", "configmaps/held");
    world
        .plane
        .patch(&held, &json!({"metadata": {"finalizers": null}}));
}

// S-5.11, S-14.48
#[tokio::test]
async fn a_namespace_that_stays_is_waited_for_within_the_time_of_a_wait() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "ending").await;
    ending(&world);
    for create_namespace in [true, false] {
        let options = Options {
            create_namespace,
            ..keep()
        };
        let text = deploy_within(&world, Duration::from_secs(1), options)
            .await
            .unwrap_err();
        let name = world.space.name();
        assert!(
            text.starts_with(&format!(
                "namespace {name} is being deleted and is not gone: "
            )),
            "{text}"
        );
        for part in [
            "--timeout 1s",
            "example.com/held",
            "hint: `kubectl get namespace ",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    let_go(&world);
}

// S-5.11
#[tokio::test]
async fn a_namespace_that_goes_is_made_anew_or_told_to_be_missing() {
    let plane = ControlPlane::attach();
    for create_namespace in [true, false] {
        let world = World::new(&plane, "goes").await;
        let path = ending(&world);
        let options = Options {
            create_namespace,
            ..keep()
        };
        let deploying = deploy_within(&world, Duration::from_secs(LONG), options);
        tokio::pin!(deploying);
        // It goes once it is waited for.
        let waits = async {
            while world.progress().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            result = &mut deploying => panic!("it did not wait: {result:?}"),
            () = waits => {}
        }
        let_go(&world);
        let result = deploying.await;
        if create_namespace {
            result.unwrap();
            assert!(world.get("v1", "configmaps/settings").is_some());
        } else {
            let text = result.unwrap_err();
            assert!(
                text.contains("was being deleted and is gone now\nhint: create it first"),
                "{text}"
            );
            assert!(plane.get(&path).is_none());
        }
    }
}

// S-14.9
#[tokio::test]
async fn names_that_the_server_refuses_leave_no_record() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "names").await;
    for (text, said) in [
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a/b}\n",
            "may not contain '/'",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Abc}\n",
            "a lowercase RFC 1123 subdomain must consist of",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: Far}\n",
            "a lowercase RFC 1123 label must consist of",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: abc}\n",
            "cannot unmarshal string into Go struct field ObjectMeta.metadata.labels",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: 5}\n",
            "cannot unmarshal number into Go struct field ObjectMeta.metadata.namespace",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 123}\n",
            "cannot unmarshal number into Go struct field ObjectMeta.metadata.name",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n",
            "metadata.generateName is for hooks alone",
        ),
    ] {
        let refused = world
            .deploy(&[("templates/x.yaml", text)], json!({}), keep())
            .await
            .unwrap_err();
        assert_eq!(refused.class(), Class::Refused);
        let error = refused.to_string();
        assert!(error.contains(said), "{error}");
        assert!(error.contains("web/templates/x.yaml"), "{error}");
        assert!(error.contains("\nhint: "), "{error}");
    }
    assert!(world.statuses().await.is_empty());
    // Kinds with laxer rules are taken.
    let role =
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: \"system:A_b\"}\n";
    world
        .deploy(&[("templates/x.yaml", role)], json!({}), keep())
        .await
        .unwrap();
}

/// A hook that leaves its name to be made up.
fn made_up(policy: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  generateName: made-\n  annotations:\n    helm.sh/hook: pre-install,pre-upgrade\n    helm.sh/hook-delete-policy: {policy}\n"
    )
}

fn made(world: &World<'_>) -> usize {
    let maps = world.plane.list(&world.path("v1", "configmaps"));
    maps.iter()
        .filter(|map| {
            let name = map["metadata"]["name"].as_str().unwrap_or_default();
            name.starts_with("made-")
        })
        .count()
}

#[tokio::test]
async fn a_hook_with_a_made_up_name_is_created_anew_and_deleted_by_its_policy() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "madeup").await;
    for (policy, left) in [
        ("hook-failed", 1),
        ("before-hook-creation", 2),
        ("hook-succeeded", 2),
    ] {
        let hook = made_up(policy);
        world
            .deploy(&[MAP, ("templates/hook.yaml", &hook)], json!({}), keep())
            .await
            .unwrap();
        assert_eq!(made(&world), left, "{policy}");
    }
    let revision = world.revision(3).await;
    assert_eq!(revision.hooks[0].last_run.phase.word(), "Succeeded");
    // The record keeps what the chart says, not the name of one run.
    assert!(revision.hooks[0].manifest.contains("generateName: made-"));
}

/// Stores of two kinds in one namespace.
fn stores(cluster: &Cluster, namespace: &str) -> [(Storage, &'static str); 2] {
    [
        (Storage::secrets(cluster.clone(), namespace), "secret"),
        (
            Storage::config_maps(cluster.clone(), namespace),
            "configmap",
        ),
    ]
}

/// Makes the record of a revision unreadable.
fn spoil(world: &World<'_>, kind: &str, number: i64) {
    let path = world.path("v1", &format!("{kind}s/sh.helm.release.v1.web.v{number}"));
    world
        .plane
        .patch(&path, &json!({"data": {"release": "bm8gcmVjb3Jk"}}));
}

// S-14.5
#[tokio::test]
async fn a_broken_newest_record_is_told_with_the_command_that_gets_on() {
    let plane = ControlPlane::attach();
    let mut world = World::new(&plane, "broken").await;
    let namespace = world.space.name().to_owned();
    for (storage, kind) in stores(&world.cluster.clone(), &namespace) {
        world.storage = storage;
        for _ in 0..3 {
            world.deploy(&[MAP], json!({}), keep()).await.unwrap();
        }
        let command = |number: i64| {
            format!(
                "`kubectl delete {kind} sh.helm.release.v1.web.v{number} --namespace {namespace}`"
            )
        };
        let remove = |number: i64| {
            world
                .plane
                .delete(&world.path("v1", &format!("{kind}s/sh.helm.release.v1.web.v{number}")));
        };
        // In the middle it hides nothing.
        spoil(&world, kind, 2);
        world.deploy(&[MAP], json!({}), keep()).await.unwrap();
        let back = world.rollback(2).await.unwrap_err().to_string();
        assert!(
            back.contains(
                "\nhint: `kzero release rollback web REVISION` goes to one that reads: 1, 3, 4"
            ),
            "{back}"
        );
        // The newest, with readable ones before.
        spoil(&world, kind, 4);
        let text = world
            .deploy(&[MAP], json!({}), keep())
            .await
            .unwrap_err()
            .to_string();
        let hint = format!(
            "\nhint: revision 3 (superseded) is the newest that reads. {} deletes what is in the way",
            command(4)
        );
        assert!(text.contains(&hint), "{text}");
        remove(4);
        world.deploy(&[MAP], json!({}), keep()).await.unwrap();
        // All of them.
        for number in [1, 3, 4] {
            spoil(&world, kind, number);
        }
        let text = world
            .uninstall(Uninstall::default())
            .await
            .unwrap_err()
            .to_string();
        let hint = format!(
            "\nhint: no record of the release reads. {}, {}, {}, {} frees the name; `kzero release upgrade --install web CHART --namespace {namespace}`",
            command(4),
            command(3),
            command(2),
            command(1)
        );
        assert!(text.contains(&hint), "{text}");
        for number in 1..=4 {
            remove(number);
        }
        // The objects are taken over by their marks.
        world.deploy(&[MAP], json!({}), keep()).await.unwrap();
        spoil(&world, kind, 1);
        let text = world
            .deploy(&[MAP], json!({}), keep())
            .await
            .unwrap_err()
            .to_string();
        assert!(
            text.contains(&format!(
                "\nhint: no record of the release reads. {} frees the name; ",
                command(1)
            )),
            "{text}"
        );
        remove(1);
    }
}

#[tokio::test]
async fn what_was_uninstalled_is_superseded_by_what_takes_its_name() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "replace").await;
    world.deploy(&[MAP], json!({}), keep()).await.unwrap();
    let kept = Uninstall {
        keep_history: true,
        wait: true,
        ..Uninstall::default()
    };
    world.uninstall(kept).await.unwrap();
    let replacing = || Options {
        existing: Existing::Replaced,
        ..keep()
    };
    let bad = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: []}\n";
    world
        .deploy(&[("templates/bad.yaml", bad)], json!({}), replacing())
        .await
        .unwrap_err();
    let statuses: Vec<String> = world.statuses().await.into_values().collect();
    assert_eq!(statuses, ["superseded", "failed"]);
    assert_eq!(
        world.revision(1).await.info.description,
        "superseded by new release"
    );
    // It still counts as a first install that failed, not as an upgrade.
    let deployed = world.deploy(&[MAP], json!({}), replacing()).await.unwrap();
    assert_eq!(deployed.purpose, kzero_release::plan::Purpose::Install);
    let statuses: Vec<String> = world.statuses().await.into_values().collect();
    assert_eq!(statuses, ["superseded", "failed", "deployed"]);
}

// S-14.7
#[tokio::test]
async fn failures_behind_a_deployed_revision_are_pruned_and_leave_nothing_behind() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "prune").await;
    let few = || Options {
        history_max: 3,
        ..keep()
    };
    world.deploy(&[MAP], json!({}), few()).await.unwrap();
    for number in 2..6 {
        let mut failed = Revision::new("web", world.storage.namespace(), number, Status::Failed);
        failed.manifest = format!(
            "---\n# Source: web/templates/extra.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: extra{number}}}\n"
        );
        world
            .storage
            .create(&mut failed, &timing(LONG).all)
            .await
            .unwrap();
        let marks = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": format!("extra{number}"), "namespace": world.space.name(),
            "labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": world.space.name()},
        }});
        assert_eq!(
            world
                .plane
                .request("POST", &world.path("v1", "configmaps"), &marks)
                .0,
            201
        );
    }
    world.deploy(&[MAP], json!({}), few()).await.unwrap();
    assert_eq!(
        world.statuses().await.into_keys().collect::<Vec<_>>(),
        [1, 5, 6]
    );
    for number in 2..6 {
        assert!(
            world
                .get("v1", &format!("configmaps/extra{number}"))
                .is_none(),
            "extra{number}"
        );
    }
}

#[tokio::test]
async fn a_rollback_without_a_goal_touches_nothing() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "nogoal").await;
    let mut pending = Revision::new("web", world.storage.namespace(), 1, Status::PendingInstall);
    world
        .storage
        .create(&mut pending, &timing(LONG).all)
        .await
        .unwrap();
    let text = world.rollback(7).await.unwrap_err().to_string();
    assert_eq!(text, "release has no 7 version\nhint: its revisions are 1");
    let statuses: Vec<String> = world.statuses().await.into_values().collect();
    assert_eq!(statuses, ["pending-install"]);
}

#[tokio::test]
async fn what_failed_is_told_with_the_way_on() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "wayon").await;
    let bad = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: []}\n";
    let files = [("templates/bad.yaml", bad)];
    let text = world
        .deploy(&files, json!({}), keep())
        .await
        .unwrap_err()
        .to_string();
    assert!(text.contains("\nhint: the revision is marked failed. Mend the cause, and `kzero release upgrade --install web CHART` goes on from there; `kzero release uninstall web`"), "{text}");
    let atomic = Options {
        atomic: true,
        ..keep()
    };
    let text = world
        .deploy(&files, json!({}), atomic)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        text.ends_with("\nhint: mend the cause, and run the same again"),
        "{text}"
    );
    // The record has the cause without the way on.
    world.deploy(&files, json!({}), keep()).await.unwrap_err();
    let described = world.revision(1).await.info.description;
    assert!(!described.contains("hint"), "{described}");
}
