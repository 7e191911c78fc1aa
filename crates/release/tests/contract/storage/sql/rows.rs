//! Rows that this program and Helm write.

use std::collections::BTreeMap;

use kzero_release::codec::go_json;
use kzero_release::revision::{Revision, Status};
use kzero_release::storage::{Scope, Storage, StorageError, latest};
use kzero_testkit::ControlPlane;
use serde_json::{Value, json};

use super::super::write::made;
use super::super::{HELMS, Helm, Place, budget};
use super::connect;
use super::postgres::Postgres;
use Status::{Deployed, Failed, Superseded};

fn revision(version: i64, status: Status) -> Revision {
    let mut revision = Revision::new("web", "shop", version, status);
    revision.labels = BTreeMap::from([
        ("team".to_owned(), "a".to_owned()),
        ("zone".to_owned(), String::new()),
    ]);
    revision
}

async fn fill(storage: &Storage, statuses: &[Status]) -> Vec<Revision> {
    let mut all = Vec::new();
    for (status, version) in statuses.iter().zip(1..) {
        let mut one = revision(version, *status);
        storage.create(&mut one, &budget()).await.unwrap();
        all.push(one);
    }
    all
}

#[tokio::test]
async fn rows_hold_revisions_as_objects_do() {
    let postgres = Postgres::start(None);
    let storage = connect(&postgres.address("postgres", "sslmode=disable"), "shop")
        .await
        .unwrap();
    assert!(storage.history("web", &budget()).await.unwrap().is_empty());
    let mut statuses = vec![Superseded; 10];
    statuses.push(Deployed);
    let mut all = fill(&storage, &statuses).await;

    let history = storage.history("web", &budget()).await.unwrap();
    for (entry, made) in history.entries().iter().zip(&all) {
        assert_eq!(&entry.revision().unwrap(), made);
    }
    assert_eq!(history.entries().len(), 11);
    assert_eq!(storage.deployed("web", &budget()).await.unwrap(), all[10]);
    let missing = storage.get("web", 12, &budget()).await.unwrap_err();
    assert_eq!(missing.to_string(), "release: not found");

    let taken = storage
        .create(&mut revision(11, Failed), &budget())
        .await
        .unwrap_err();
    assert!(matches!(taken, StorageError::Exists), "{taken}");
    assert_eq!(
        postgres.run("postgres", "SELECT count(*) FROM custom_labels_v1"),
        "22"
    );

    let mut lost = storage.get("web", 11, &budget()).await.unwrap();
    let winner = &mut all[10];
    for word in ["first", "second"] {
        winner.set_status(Failed, word);
        storage.update(winner, &budget()).await.unwrap();
    }
    let error = storage.update(&mut lost, &budget()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "row shop/sh.helm.release.v1.web.v11: changed by another writer since it was read"
    );
    let kept = storage.get("web", 11, &budget()).await.unwrap();
    assert_eq!(
        (&kept, kept.info.description.as_str()),
        (&*winner, "second")
    );
    // The list was made before the row was written again.
    let stale = storage
        .delete(history.last().unwrap(), &budget())
        .await
        .unwrap_err();
    assert!(matches!(stale, StorageError::Changed { .. }), "{stale}");

    let other = storage.in_namespace("other");
    let mut elsewhere = Revision::new("web", "other", 3, Deployed);
    other.create(&mut elsewhere, &budget()).await.unwrap();
    let (heads, faults) = storage.list(Scope::Everywhere, &budget()).await.unwrap();
    assert_eq!((heads.len(), faults.len()), (12, 0));
    let newest = latest(heads);
    let places: Vec<_> = newest
        .iter()
        .map(|entry| (entry.namespace(), entry.version()))
        .collect();
    assert_eq!(places, [("other", 3), ("shop", 11)]);
    assert_eq!(newest[1].labels()["team"], "a");
    assert_eq!(
        storage.load(&newest[0], &budget()).await.unwrap(),
        elsewhere
    );

    let history = storage.history("web", &budget()).await.unwrap();
    let pruned = storage.prune(&history, 4, &budget()).await.unwrap();
    assert_eq!(pruned, (1..=8).collect::<Vec<_>>());
    assert!(
        !storage
            .delete(&history.entries()[0], &budget())
            .await
            .unwrap()
    );
    assert_eq!(storage.purge("web", &budget()).await.unwrap(), 3);
    assert_eq!(
        postgres.run("postgres", "SELECT count(*) FROM custom_labels_v1"),
        "0"
    );
    assert!(!other.history("web", &budget()).await.unwrap().is_empty());
    let gone = storage.update(&mut all[10], &budget()).await.unwrap_err();
    assert!(matches!(gone, StorageError::NotFound), "{gone}");
}

#[tokio::test]
async fn rows_may_be_larger_than_a_mebibyte_and_one_that_is_broken_hides_no_other() {
    let postgres = Postgres::start(None);
    let storage = connect(&postgres.address("postgres", "sslmode=disable"), "shop")
        .await
        .unwrap();
    let mut state = 7_u64;
    let mut noise = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b'0' + u8::try_from((state >> 33) % 64).unwrap())
    };
    let mut large = revision(1, Deployed);
    large.manifest = (0..3_000_000).map(|_| noise()).collect();
    storage.would_fit(&large).unwrap();
    storage.create(&mut large, &budget()).await.unwrap();
    assert_eq!(storage.get("web", 1, &budget()).await.unwrap(), large);
    let mut next = revision(2, Failed);
    storage.create(&mut next, &budget()).await.unwrap();
    postgres.run(
        "postgres",
        "UPDATE releases_v1 SET body = 'zzz%' WHERE version = 1",
    );
    let history = storage.history("web", &budget()).await.unwrap();
    let told = history.entries()[0].revision().unwrap_err();
    assert_eq!(
        told.to_string(),
        "row shop/sh.helm.release.v1.web.v1: it is no base64"
    );
    assert_eq!(history.last().unwrap().revision().unwrap(), next);
}

#[tokio::test]
async fn of_writers_at_once_one_creates_and_one_replaces() {
    let postgres = Postgres::start(None);
    let address = postgres.address("postgres", "sslmode=disable");
    // All of them find no tables.
    let connecting = (0..6).map(|_| connect(&address, "shop"));
    let storages: Vec<Storage> = futures::future::try_join_all(connecting).await.unwrap();
    let created =
        futures::future::join_all(storages.iter().map(|storage| async move {
            storage.create(&mut revision(1, Deployed), &budget()).await
        }));
    let created = created.await;
    assert_eq!(created.iter().filter(|result| result.is_ok()).count(), 1);
    let exists = |result: &&Result<(), StorageError>| matches!(result, Err(StorageError::Exists));
    assert_eq!(created.iter().filter(exists).count(), 5);
    let read = storages[0].get("web", 1, &budget()).await.unwrap();
    let replaced = futures::future::join_all(storages.iter().map(|storage| {
        let mut own = read.clone();
        async move { storage.update(&mut own, &budget()).await }
    }));
    let replaced = replaced.await;
    assert_eq!(
        replaced.iter().filter(|result| result.is_ok()).count(),
        1,
        "{replaced:?}"
    );
}

#[tokio::test]
async fn a_connection_that_is_lost_is_made_again() {
    let postgres = Postgres::start(None);
    let storage = connect(&postgres.address("postgres", "sslmode=disable"), "shop")
        .await
        .unwrap();
    let mut one = revision(1, Deployed);
    storage.create(&mut one, &budget()).await.unwrap();
    let ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'kzero'";
    assert_eq!(postgres.run("postgres", ended), "1");
    // The first call after it may still find the old connection.
    let mut found = storage.get("web", 1, &budget()).await;
    if let Err(error) = &found {
        assert!(error.is_transient(), "{error}");
        found = storage.get("web", 1, &budget()).await;
    }
    assert_eq!(found.unwrap(), one);
}

#[tokio::test]
async fn tables_are_those_that_helm_makes() {
    let plane = ControlPlane::attach();
    let postgres = Postgres::start(None);
    for name in ["ours", "theirs"] {
        postgres.database(name);
    }
    connect(&postgres.address("ours", "sslmode=disable"), "shop")
        .await
        .unwrap();
    let mut place = Place::new(&plane, "sql").await;
    place.database = postgres.address("theirs", "sslmode=disable");
    place.helm(Helm::Three, "list");
    assert_eq!(postgres.schema("ours"), postgres.schema("theirs"));
    let noted = "SELECT id FROM gorp_migrations ORDER BY id";
    assert_eq!(postgres.run("ours", noted), postgres.run("theirs", noted));

    // Tables of before there were labels are completed.
    postgres.run(
        "theirs",
        "DROP TABLE custom_labels_v1; DELETE FROM gorp_migrations WHERE id = 'custom_labels'",
    );
    connect(&place.database, "shop").await.unwrap();
    assert_eq!(postgres.schema("ours"), postgres.schema("theirs"));
}

#[tokio::test]
async fn helm_and_this_program_go_on_from_each_others_rows() {
    let plane = ControlPlane::attach();
    let postgres = Postgres::start(None);
    for helm in HELMS {
        let name = format!("{helm:?}").to_lowercase();
        postgres.database(&name);
        let mut place = Place::new(&plane, "sql").await;
        place.database = postgres.address(&name, "sslmode=disable");
        let storage = connect(&place.database, place.namespace.name())
            .await
            .unwrap();
        let mut first = made(&place, 1, Deployed);
        storage.create(&mut first, &budget()).await.unwrap();
        let list = place.helm_json(helm, "list --selector team=a");
        assert_eq!(list[0]["revision"], "1", "{list}");
        let chart = place.chart().display().to_string();
        place.helm(
            helm,
            &format!("upgrade web {chart} --reuse-values --labels tier=gold"),
        );

        let history = storage.history("web", &budget()).await.unwrap();
        let [old, new] = history.entries() else {
            panic!("{history:?}");
        };
        assert_eq!((old.status(), new.status()), (Superseded, Deployed));
        let new = new.revision().unwrap();
        assert_eq!(json!(new.labels), json!({"team": "a", "tier": "gold"}));
        assert_eq!(
            Value::Object(new.config.clone()),
            Value::Object(first.config.clone())
        );
        let again: Value = serde_json::from_slice(&go_json(&new).unwrap()).unwrap();
        assert_eq!(again["info"]["status"], "deployed");
        place.helm(helm, "uninstall web");
        assert!(storage.history("web", &budget()).await.unwrap().is_empty());
    }
}
