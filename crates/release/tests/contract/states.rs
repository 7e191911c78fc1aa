//! States that releases get into, and the ways out.

use std::time::Duration;

use kzero_cluster::ApplyMode;
use kzero_release::engine::{Deploy, Existing, Options, Recovered, Uninstall};
use kzero_release::error::Class;
use kzero_release::interrupt::Interrupt;
use kzero_release::revision::{Holder, Revision, Status};
use kzero_testkit::ControlPlane;
use serde_json::{Value, json};

use crate::world::{LONG, World, files, render, timing};

const MAP: (&str, &str) = (
    "templates/map.yaml",
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.name | default \"settings\" }}\ndata:\n  color: {{ .Values.color | default \"red\" | quote }}\n",
);

fn keep() -> Options {
    Options {
        history_max: 10,
        ..Options::default()
    }
}

/// Leaves a revision as its writer would that was killed.
async fn leave(world: &World<'_>, number: i64, status: Status, holder: Option<Holder>) {
    let mut revision = if number > 1 {
        let before = world.revision(number - 1).await;
        let mut next = Revision::new("web", world.storage.namespace(), number, status);
        next.manifest = before
            .manifest
            .replace("color: \"red\"", "color: \"broken\"");
        next.chart = before.chart;
        next
    } else {
        Revision::new("web", world.storage.namespace(), number, status)
    };
    revision.holder = holder;
    world
        .storage
        .create(&mut revision, &timing(LONG).all)
        .await
        .unwrap();
}

fn dead() -> Holder {
    Holder::current("elsewhere", 7, "dead")
}

#[tokio::test]
async fn l07_a_first_install_that_was_killed_is_installed_anew() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "l07").await;
    leave(&world, 1, Status::PendingInstall, Some(dead())).await;
    let deployed = world.deploy(&[MAP], json!({}), keep()).await.unwrap();
    assert_eq!(deployed.revision.version, 2);
    assert_eq!(deployed.purpose, kzero_release::plan::Purpose::Install);
    assert_eq!(
        world.warnings(),
        [
            "revision 1 of release web was left pending-install by process 7 on elsewhere (run dead), which is gone; it is marked failed, going on from there"
        ]
    );
    let statuses: Vec<String> = world.statuses().await.into_values().collect();
    assert_eq!(statuses, ["failed", "deployed"]);
}

#[tokio::test]
async fn m12_a_pending_revision_of_another_program_is_refused_with_the_way_out() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "m12").await;
    world.deploy(&[MAP], json!({}), keep()).await.unwrap();
    leave(&world, 2, Status::PendingUpgrade, None).await;
    let refused = world.deploy(&[MAP], json!({}), keep()).await.unwrap_err();
    assert_eq!(refused.class(), Class::Held);
    let text = refused.to_string();
    assert!(
        text.starts_with("another operation (install/upgrade/rollback) is in progress\n"),
        "{text}"
    );
    assert!(
        text.contains(&format!(
            "`kzero release recover web --namespace {}`",
            world.storage.namespace()
        )),
        "{text}"
    );
    let recovered = world
        .with(Interrupt::never(), ApplyMode::Live, async |engine| {
            engine.recover("web", &timing(LONG)).await
        })
        .await
        .unwrap();
    assert_eq!(
        recovered,
        Recovered::Failed {
            revision: 2,
            was: Status::PendingUpgrade
        }
    );
    world.deploy(&[MAP], json!({}), keep()).await.unwrap();
    // What the broken revision may have done is undone, though the deployed one before was good.
    assert_eq!(
        world.get("v1", "configmaps/settings").unwrap()["data"]["color"],
        "red"
    );
    leave(&world, 4, Status::PendingUpgrade, None).await;
    let taking = Options {
        recover: true,
        ..keep()
    };
    world.deploy(&[MAP], json!({}), taking).await.unwrap();
    // A rollback is a way out as well.
    leave(&world, 6, Status::PendingUpgrade, None).await;
    world.rollback(5).await.unwrap();
    let statuses: Vec<String> = world.statuses().await.into_values().collect();
    assert_eq!(
        statuses,
        [
            "superseded",
            "failed",
            "superseded",
            "failed",
            "superseded",
            "failed",
            "deployed"
        ]
    );
}

#[tokio::test]
async fn a_failed_upgrade_is_undone_by_the_next_and_leaves_no_orphans() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "orphans").await;
    world.deploy(&[MAP], json!({}), keep()).await.unwrap();
    let bad = (
        "templates/bad.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 99999}]}\n",
    );
    let extra = (
        "templates/extra.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\n",
    );
    let failed = world
        .deploy(&[MAP, bad, extra], json!({"color": "broken"}), keep())
        .await
        .unwrap_err();
    assert_eq!(failed.class(), Class::Failed);
    assert!(
        failed
            .to_string()
            .starts_with("cannot create \"bad\" with kind Service: "),
        "{failed}"
    );
    let two = world.revision(2).await;
    assert_eq!(two.info.status, Status::Failed);
    assert!(
        two.info
            .description
            .starts_with("Upgrade \"web\" failed: cannot create \"bad\""),
        "{}",
        two.info.description
    );
    assert_eq!(
        world.get("v1", "configmaps/settings").unwrap()["data"]["color"],
        "broken"
    );
    assert!(world.get("v1", "configmaps/extra").is_some());
    world.deploy(&[MAP], json!({}), keep()).await.unwrap();
    assert_eq!(
        world.get("v1", "configmaps/settings").unwrap()["data"]["color"],
        "red"
    );
    assert!(world.get("v1", "configmaps/extra").is_none());
    let statuses: Vec<String> = world.statuses().await.into_values().collect();
    assert_eq!(statuses, ["superseded", "failed", "deployed"]);
}

#[tokio::test]
async fn m11_atomic_takes_back_what_fails() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "atomic").await;
    let bad = (
        "templates/bad.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 99999}]}\n",
    );
    let atomic = || Options {
        atomic: true,
        ..keep()
    };
    let first = world
        .deploy(&[MAP, bad], json!({}), atomic())
        .await
        .unwrap_err();
    assert!(
        first
            .to_string()
            .starts_with("release web failed, and has been uninstalled due to atomic being set: cannot create \"bad\""),
        "{first}"
    );
    assert!(world.statuses().await.is_empty());
    assert!(world.get("v1", "configmaps/settings").is_none());
    world.deploy(&[MAP], json!({}), keep()).await.unwrap();
    let second = world
        .deploy(&[MAP, bad], json!({"color": "blue"}), atomic())
        .await
        .unwrap_err();
    assert!(
        second
            .to_string()
            .starts_with("release web failed, and has been rolled back due to atomic being set: cannot create \"bad\""),
        "{second}"
    );
    assert_eq!(
        world.get("v1", "configmaps/settings").unwrap()["data"]["color"],
        "red"
    );
    let statuses: Vec<String> = world.statuses().await.into_values().collect();
    assert_eq!(statuses, ["superseded", "failed", "deployed"]);
    assert_eq!(world.revision(3).await.info.description, "Rollback to 1");
}

#[tokio::test]
async fn m7_and_m13_every_upgrade_makes_a_revision_and_ten_are_kept() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "history").await;
    for _ in 0..12 {
        world.deploy(&[MAP], json!({}), keep()).await.unwrap();
    }
    let statuses = world.statuses().await;
    assert_eq!(statuses.len(), 10);
    assert_eq!(statuses.keys().next(), Some(&3));
    let skipping = Options {
        skip_unchanged: true,
        ..keep()
    };
    let skipped = world.deploy(&[MAP], json!({}), skipping).await.unwrap();
    assert!(skipped.skipped);
    assert_eq!(skipped.revision.version, 12);
}

#[tokio::test]
async fn l15_a_kept_history_is_gone_on_from_and_a_plain_install_is_refused() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "l15").await;
    world.deploy(&[MAP], json!({}), keep()).await.unwrap();
    let kept = Uninstall {
        keep_history: true,
        wait: true,
        ..Uninstall::default()
    };
    world.uninstall(kept.clone()).await.unwrap();
    assert_eq!(world.revision(1).await.info.status, Status::Uninstalled);
    assert_eq!(
        world.revision(1).await.info.description,
        "Uninstallation complete"
    );
    assert!(
        world
            .uninstall(kept)
            .await
            .unwrap_err()
            .to_string()
            .contains("is already deleted")
    );
    let only_new = |existing| Options { existing, ..keep() };
    let refused = world
        .deploy(&[MAP], json!({}), only_new(Existing::Refused))
        .await
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("cannot re-use a name that is still in use")
    );
    let refused = world
        .deploy(&[MAP], json!({}), only_new(Existing::Required))
        .await
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("\"web\" has no deployed releases")
    );
    let again = world.deploy(&[MAP], json!({}), keep()).await.unwrap();
    assert_eq!(
        (again.revision.version, again.purpose),
        (2, kzero_release::plan::Purpose::Install)
    );
}

#[tokio::test]
async fn l17_an_object_that_does_not_go_keeps_the_record_and_is_waited_for_by_an_install() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "l17").await;
    world.deploy(&[MAP], json!({}), keep()).await.unwrap();
    let path = world.path("v1", "configmaps/settings");
    plane.patch(
        &path,
        &json!({"metadata": {"finalizers": ["example.com/hold"]}}),
    );
    let uninstall = Uninstall {
        name: "web".into(),
        wait: true,
        ..Uninstall::default()
    };
    let error = world
        .with(Interrupt::never(), ApplyMode::Live, async |engine| {
            engine.uninstall(uninstall.clone(), &timing(3)).await
        })
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("it is kept by finalizers example.com/hold"),
        "{error}"
    );
    assert_eq!(world.revision(1).await.info.status, Status::Uninstalling);
    // An install waits until the object is gone, then makes a new one.
    let deploy = Deploy {
        name: "web".into(),
        options: keep(),
        render: render(files(&[MAP]), json!({"color": "blue"})),
        timing: timing(LONG),
    };
    let install = world.with(Interrupt::never(), ApplyMode::Live, async |engine| {
        engine.deploy(deploy).await
    });
    let release = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        plane.patch(&path, &json!({"metadata": {"finalizers": null}}));
    };
    let (installed, ()) = tokio::join!(install, release);
    assert_eq!(installed.unwrap().revision.version, 2);
    assert_eq!(
        world.get("v1", "configmaps/settings").unwrap()["data"]["color"],
        "blue"
    );
}

#[tokio::test]
async fn l21_and_l03_what_was_deleted_comes_back_and_what_the_chart_does_not_say_stays() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "l21").await;
    world.deploy(&[MAP], json!({}), keep()).await.unwrap();
    let path = world.path("v1", "configmaps/settings");
    plane.patch(&path, &json!({"data": {"mine": "x"}}));
    world
        .deploy(&[MAP], json!({"color": "blue"}), keep())
        .await
        .unwrap();
    assert_eq!(
        world.get("v1", "configmaps/settings").unwrap()["data"],
        json!({"color": "blue", "mine": "x"})
    );
    plane.delete(&path);
    world
        .deploy(&[MAP], json!({"color": "blue"}), keep())
        .await
        .unwrap();
    assert_eq!(
        world.get("v1", "configmaps/settings").unwrap()["data"],
        json!({"color": "blue"})
    );
}

#[tokio::test]
async fn l09_kept_objects_survive_the_end_of_their_release_and_are_taken_back() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "l09").await;
    let claims = (
        "templates/claims.yaml",
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: plain}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n",
    );
    let set = (
        "templates/db.yaml",
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  serviceName: db\n  selector: {matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    spec: {containers: [{name: db, image: example/db:1}]}\n  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]\n",
    );
    let waiting = || Options {
        wait: true,
        ..keep()
    };
    world
        .deploy(&[claims, set], json!({}), waiting())
        .await
        .unwrap();
    let gone = world
        .uninstall(Uninstall {
            wait: true,
            ..Uninstall::default()
        })
        .await
        .unwrap();
    assert_eq!(gone.kept, ["[PersistentVolumeClaim] kept"]);
    assert_eq!(
        gone.claims,
        [format!("{}/data-db-0", world.storage.namespace())]
    );
    assert!(world.get("v1", "persistentvolumeclaims/plain").is_none());
    assert!(world.get("v1", "persistentvolumeclaims/kept").is_some());
    world
        .deploy(&[claims, set], json!({}), waiting())
        .await
        .unwrap();
}

#[tokio::test]
async fn s_5_15_two_releases_cannot_own_one_object_and_leave_no_record() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "owners").await;
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": world.storage.namespace(),
        "labels": {"app.kubernetes.io/managed-by": "Helm"},
        "annotations": {"meta.helm.sh/release-name": "other", "meta.helm.sh/release-namespace": world.storage.namespace()}}});
    plane.apply(&other);
    let refused = world.deploy(&[MAP], json!({}), keep()).await.unwrap_err();
    assert_eq!(refused.class(), Class::Refused);
    assert!(refused.to_string().contains("annotation validation error: key \"meta.helm.sh/release-name\" must equal \"web\": current value is \"other\""), "{refused}");
    assert!(world.statuses().await.is_empty());
}

#[tokio::test]
async fn three_upgrades_at_once_lose_nothing_and_name_the_holder() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "race").await;
    let hook = (
        "templates/hook.yaml",
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: slow\n  annotations: {helm.sh/hook: \"pre-upgrade\"}\nspec:\n  template:\n    metadata: {annotations: {sim.kzero/run: \"1\"}}\n    spec: {restartPolicy: Never, containers: [{name: a, image: example/a}]}\n",
    );
    world.deploy(&[MAP, hook], json!({}), keep()).await.unwrap();
    let upgrade = |color: &'static str| {
        let deploy = Deploy {
            name: "web".into(),
            options: keep(),
            render: render(files(&[MAP, hook]), json!({"color": color})),
            timing: timing(LONG),
        };
        let world = &world;
        async move {
            let cluster = world.cluster.clone();
            let engine = kzero_release::engine::Engine {
                cluster,
                storage: world.storage.clone(),
                holder: Holder::current("here", 1, color),
                is_alive: &|_| None,
                listener: &|_| {},
                interrupt: Interrupt::never(),
                mode: ApplyMode::Live,
                limits: kzero_release::execute::Limits::default(),
            };
            engine.deploy(deploy).await
        }
    };
    let (a, b, c) = tokio::join!(upgrade("green"), upgrade("blue"), upgrade("yellow"));
    let all = [a, b, c];
    let won: Vec<&str> = all.iter().flatten().map(|_| "won").collect();
    assert_eq!(won, ["won"], "{all:?}");
    for lost in all.iter().filter_map(|result| result.as_ref().err()) {
        assert_eq!(lost.class(), Class::Held);
        assert!(
            lost.to_string().contains("release web in namespace"),
            "{lost}"
        );
        assert!(
            lost.to_string().contains("is being worked on by here/1/"),
            "{lost}"
        );
    }
    let statuses: Vec<String> = world.statuses().await.into_values().collect();
    assert_eq!(statuses, ["superseded", "deployed"]);
}

#[tokio::test]
async fn an_interruption_marks_the_revision_failed() {
    // S-5.10
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "stop").await;
    let web = (
        "templates/web.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}, annotations: {sim.kzero/ready: never}}\n    spec: {containers: [{name: app, image: example/app}]}\n",
    );
    let deploy = Deploy {
        name: "web".into(),
        options: Options {
            wait: true,
            ..keep()
        },
        render: render(files(&[MAP, web]), json!({})),
        timing: timing(LONG),
    };
    let (asker, interrupt) = Interrupt::channel();
    let deployed = world.with(interrupt, ApplyMode::Live, async |engine| {
        engine.deploy(deploy).await
    });
    let stop = async {
        while world.get("apps/v1", "deployments/web").is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        asker.interrupt("signal");
    };
    let (result, ()) = tokio::join!(deployed, stop);
    let error = result.unwrap_err();
    assert_eq!(error.class(), Class::Interrupted);
    let one = world.revision(1).await;
    assert_eq!(one.info.status, Status::Failed);
    assert_eq!(
        one.info.description,
        "Release \"web\" failed: interrupted: signal"
    );
    assert!(
        world
            .get("coordination.k8s.io/v1", "leases/kzero-release-web")
            .is_none()
    );
}

#[tokio::test]
async fn a_lost_lock_ends_the_work() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "lost").await;
    let web = (
        "templates/web.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}, annotations: {sim.kzero/ready: never}}\n    spec: {containers: [{name: app, image: example/app}]}\n",
    );
    let options = Options {
        wait: true,
        ..keep()
    };
    let files = [web];
    let deploy = world.deploy(&files, json!({}), options);
    let steal = async {
        let path = world.path("coordination.k8s.io/v1", "leases/kzero-release-web");
        while world.get("apps/v1", "deployments/web").is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        plane.patch(&path, &json!({"spec": {"holderIdentity": "thief"}}));
    };
    let (result, ()) = tokio::join!(deploy, steal);
    let error = result.unwrap_err();
    assert_eq!(error.class(), Class::Interrupted);
    assert_eq!(
        error.to_string(),
        "interrupted: the lock of the release was lost: thief has taken it\nhint: the revision is marked failed; `kzero release upgrade --install web CHART` goes on from there"
    );
    // The thief's Lease is not taken away.
    let lease = world
        .get("coordination.k8s.io/v1", "leases/kzero-release-web")
        .unwrap();
    assert_eq!(lease["spec"]["holderIdentity"], Value::from("thief"));
}

#[tokio::test]
async fn a_dry_run_asks_the_server_and_changes_nothing() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "dry").await;
    world.deploy(&[MAP], json!({}), keep()).await.unwrap();
    let before = world.get("v1", "configmaps/settings").unwrap();
    let dry = |text: &'static str| {
        let deploy = Deploy {
            name: "web".into(),
            options: keep(),
            render: render(
                files(&[("templates/x.yaml", text), MAP]),
                json!({"color": "blue"}),
            ),
            timing: timing(LONG),
        };
        world.with(Interrupt::never(), ApplyMode::DryRun, async |engine| {
            engine.deploy(deploy).await
        })
    };
    dry("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n")
        .await
        .unwrap();
    let refused = dry(
        "apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 99999}]}\n",
    )
    .await;
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("must be between 1 and 65535")
    );
    assert_eq!(world.get("v1", "configmaps/settings").unwrap(), before);
    assert!(world.get("v1", "configmaps/more").is_none());
    assert_eq!(world.statuses().await.len(), 1);
}

#[tokio::test]
async fn a_namespace_is_made_only_for_a_chart_that_can_be_deployed() {
    let plane = ControlPlane::attach();
    let world = World::new(&plane, "newns").await;
    let name = format!("{}-new", world.storage.namespace());
    let deploy = |text: &'static str| {
        let options = Options {
            create_namespace: true,
            ..keep()
        };
        let deploy = Deploy {
            name: "web".into(),
            options,
            render: render(files(&[("templates/x.yaml", text)]), json!({})),
            timing: timing(LONG),
        };
        let engine = kzero_release::engine::Engine {
            cluster: world.cluster.clone(),
            storage: world.storage.in_namespace(&name),
            holder: dead(),
            is_alive: &|_| None,
            listener: &|_| {},
            interrupt: Interrupt::never(),
            mode: ApplyMode::Live,
            limits: kzero_release::execute::Limits::default(),
        };
        async move { engine.deploy(deploy).await }
    };
    let path = format!("/api/v1/namespaces/{name}");
    for broken in [
        "{{ fail \"no\" }}",
        "apiVersion: no.example/v1\nkind: Thing\nmetadata: {name: x}\n",
    ] {
        let refused = deploy(broken).await.unwrap_err();
        assert_eq!(refused.class(), Class::Refused, "{refused}");
        assert!(plane.get(&path).is_none(), "{broken}");
    }
    deploy("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
        .await
        .unwrap();
    assert_eq!(
        plane.get(&path).unwrap()["metadata"]["labels"]["name"],
        Value::from(name.as_str())
    );
    plane.delete(&path);
}
