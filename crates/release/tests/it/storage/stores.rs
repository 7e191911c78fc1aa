//! What stores do, each of them in turn.

use std::collections::BTreeMap;

use kzero_release::revision::{Revision, Status};
use kzero_release::storage::{Entry, Scope, Storage, StorageError, latest, merge_labels};
use kzero_testkit::objects::secret;
use serde_json::{Value, json};

use super::{Server, budget};

fn revision(version: i64, status: Status) -> Revision {
    let mut revision = Revision::new("web", "shop", version, status);
    revision.manifest = format!("---\n# revision {version}\n");
    revision
}

/// Creates revisions of `web`, numbered from 1.
async fn fill(storage: &Storage, statuses: &[Status]) -> Vec<Revision> {
    let mut made = Vec::new();
    for (status, version) in statuses.iter().zip(1..) {
        let mut one = revision(version, *status);
        storage.create(&mut one, &budget()).await.unwrap();
        made.push(one);
    }
    made
}

async fn versions(storage: &Storage) -> Vec<i64> {
    let history = storage.history("web", &budget()).await.unwrap();
    history.entries().iter().map(Entry::version).collect()
}

use Status::{Deployed, Failed, PendingUpgrade, Superseded};

#[tokio::test]
async fn history_is_in_the_order_of_numbers_and_decodes_when_asked() {
    let server = Server::start().await;
    for (kind, storage) in server.stores() {
        let mut statuses = vec![Superseded; 11];
        statuses.push(Deployed);
        let made = fill(&storage, &statuses).await;
        let history = storage.history("web", &budget()).await.unwrap();
        let numbers: Vec<i64> = history.entries().iter().map(Entry::version).collect();
        assert_eq!(numbers, (1..=12).collect::<Vec<_>>(), "{kind}");
        assert_eq!(history.last().unwrap().status(), Deployed, "{kind}");
        for (entry, made) in history.entries().iter().zip(&made) {
            assert_eq!(&entry.revision().unwrap(), made, "{kind}");
        }
        assert_eq!(
            storage.get("web", 7, &budget()).await.unwrap(),
            made[6],
            "{kind}"
        );
        let missing = storage.get("web", 13, &budget()).await.unwrap_err();
        assert_eq!(missing.to_string(), "release: not found", "{kind}");
        assert!(
            storage.history("api", &budget()).await.unwrap().is_empty(),
            "{kind}"
        );
    }
}

#[tokio::test]
async fn a_number_is_taken_once() {
    let server = Server::start().await;
    for (kind, storage) in server.stores() {
        fill(&storage, &[Deployed]).await;
        let error = storage
            .create(&mut revision(1, Failed), &budget())
            .await
            .unwrap_err();
        assert!(matches!(error, StorageError::Exists), "{kind}: {error}");
        assert_eq!(error.to_string(), "release: already exists");
        let kept = storage.get("web", 1, &budget()).await.unwrap();
        assert_eq!(kept.info.status, Deployed, "{kind}");
    }
}

#[tokio::test]
async fn a_lost_race_is_seen_by_who_lost_it() {
    let server = Server::start().await;
    for (kind, storage) in server.stores() {
        let mut first = fill(&storage, &[Deployed]).await.remove(0);
        let mut second = storage.get("web", 1, &budget()).await.unwrap();
        first.set_status(Superseded, "first");
        storage.update(&mut first, &budget()).await.unwrap();
        second.set_status(Failed, "second");
        let error = storage.update(&mut second, &budget()).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "{}{kind} shop/sh.helm.release.v1.web.v1: changed by another writer since it was read",
                if kind == "memory" { "record in " } else { "" }
            )
        );
        first.set_status(Deployed, "again");
        storage.update(&mut first, &budget()).await.unwrap();
        let kept = storage.get("web", 1, &budget()).await.unwrap();
        assert_eq!(kept.info.description, "again", "{kind}");

        let history = storage.history("web", &budget()).await.unwrap();
        assert!(
            storage
                .delete(&history.entries()[0], &budget())
                .await
                .unwrap()
        );
        assert!(
            !storage
                .delete(&history.entries()[0], &budget())
                .await
                .unwrap()
        );
        let error = storage.update(&mut first, &budget()).await.unwrap_err();
        assert!(matches!(error, StorageError::NotFound), "{kind}: {error}");
    }
}

#[tokio::test]
async fn records_carry_helms_labels_and_manager() {
    let server = Server::start().await;
    for (kind, storage) in &server.stores()[..2] {
        server.api.clear_requests();
        let mut made = revision(1, PendingUpgrade);
        made.labels = BTreeMap::from([("team".to_owned(), "a".to_owned())]);
        storage.create(&mut made, &budget()).await.unwrap();
        let path = format!("/api/v1/namespaces/shop/{kind}s/sh.helm.release.v1.web.v1");
        let object = server.api.get(&path).unwrap();
        let labels = &object["metadata"]["labels"];
        let time: i64 = labels["createdAt"].as_str().unwrap().parse().unwrap();
        assert!(time > 1_700_000_000);
        assert_eq!(
            labels,
            &json!({"team": "a", "name": "web", "owner": "helm", "status": "pending-upgrade", "version": "1", "createdAt": time.to_string()})
        );
        let kinds = (&object["type"], &object["data"].as_object().unwrap().len());
        let wanted = if *kind == "secret" {
            json!("helm.sh/release.v1")
        } else {
            Value::Null
        };
        assert_eq!(kinds, (&wanted, &1));

        made.set_status(Deployed, "done");
        storage.update(&mut made, &budget()).await.unwrap();
        let object = server.api.get(&path).unwrap();
        let labels = &object["metadata"]["labels"];
        assert_eq!(labels["status"], "deployed");
        assert!(labels["modifiedAt"].is_string() && labels["createdAt"].is_null());
        let read = storage.get("web", 1, &budget()).await.unwrap();
        assert_eq!(read.labels, made.labels);
        for write in server.api.writes() {
            assert_eq!(write.query, "fieldManager=Helm", "{}", write.path);
        }
    }
}

#[tokio::test]
async fn reserved_labels_are_refused_in_helms_words() {
    let storage = Storage::memory("shop");
    let mut made = revision(1, Deployed);
    made.labels = BTreeMap::from([("owner".to_owned(), "me".to_owned())]);
    let error = storage.create(&mut made, &budget()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "user supplied labels contains system reserved label name. System labels: \
         [name owner status version createdAt modifiedAt]"
    );
    assert_eq!(versions(&storage).await, [0; 0]);
}

#[test]
fn labels_of_an_upgrade_are_laid_over_and_null_takes_one_away() {
    let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    };
    let merged = merge_labels(
        &map(&[("a", "1"), ("b", "2"), ("c", "3")]),
        &map(&[("b", "null"), ("c", "4"), ("d", "5")]),
    );
    assert_eq!(merged, map(&[("a", "1"), ("c", "4"), ("d", "5")]));
}

#[tokio::test]
async fn the_newest_deployed_revision_is_found_among_several() {
    let server = Server::start().await;
    for (kind, storage) in server.stores() {
        let error = storage.deployed("web", &budget()).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"web\" has no deployed releases",
            "{kind}"
        );
        fill(&storage, &[Deployed, Deployed, Failed, Failed]).await;
        let found = storage.deployed("web", &budget()).await.unwrap();
        assert_eq!(found.version, 2, "{kind}");
        let history = storage.history("web", &budget()).await.unwrap();
        let since: Vec<i64> = history
            .since_deployed()
            .iter()
            .map(Entry::version)
            .collect();
        assert_eq!(since, [2, 3, 4], "{kind}");
    }
}

/// What is left of a history after room was made for one more.
async fn pruned(statuses: &[Status], max: usize) -> Vec<i64> {
    let storage = Storage::memory("shop");
    fill(&storage, statuses).await;
    let history = storage.history("web", &budget()).await.unwrap();
    let gone = storage.prune(&history, max, &budget()).await.unwrap();
    let left = versions(&storage).await;
    assert_eq!(gone.len() + left.len(), statuses.len());
    left
}

#[tokio::test]
async fn m13_the_oldest_revisions_make_room_for_the_next() {
    let five = [Superseded, Superseded, Superseded, Superseded, Deployed];
    assert_eq!(pruned(&five, 3).await, [4, 5]);
    assert_eq!(pruned(&five, 5).await, [2, 3, 4, 5]);
    assert_eq!(pruned(&five, 6).await, [1, 2, 3, 4, 5]);
    assert_eq!(pruned(&five, 0).await, [1, 2, 3, 4, 5], "0 keeps all");
    assert_eq!(pruned(&five, 1).await, [5]);
    assert_eq!(pruned(&[Failed, Failed, Failed], 2).await, [3]);
}

#[tokio::test]
async fn the_newest_deployed_revision_is_never_pruned() {
    // What failed behind it goes like all others, as with Helm.
    let failing = [Superseded, Deployed, Failed, Failed, Failed];
    assert_eq!(pruned(&failing, 5).await, [2, 3, 4, 5]);
    assert_eq!(pruned(&failing, 4).await, [2, 4, 5]);
    assert_eq!(pruned(&failing, 3).await, [2, 5]);
    assert_eq!(pruned(&failing, 1).await, [2]);
    assert_eq!(pruned(&[Deployed, Superseded, Deployed], 1).await, [3]);
}

#[tokio::test]
async fn purging_takes_the_oldest_first_and_leaves_other_releases() {
    let server = Server::start().await;
    for (kind, storage) in server.stores() {
        fill(&storage, &[Superseded, Deployed]).await;
        let mut other = Revision::new("api", "shop", 1, Deployed);
        storage.create(&mut other, &budget()).await.unwrap();
        server.api.clear_requests();
        assert_eq!(storage.purge("web", &budget()).await.unwrap(), 2, "{kind}");
        let deletes = server.api.writes();
        if kind != "memory" {
            assert!(deletes[0].path.ends_with(".v1") && deletes[1].path.ends_with(".v2"));
        }
        assert_eq!(versions(&storage).await, [0; 0], "{kind}");
        assert_eq!(storage.purge("web", &budget()).await.unwrap(), 0, "{kind}");
        assert!(!storage.history("api", &budget()).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn lists_tell_of_all_namespaces_without_reading_what_records_hold() {
    let server = Server::start().await;
    server.api.apply(kzero_testkit::objects::namespace("other"));
    for (kind, storage) in server.stores() {
        fill(&storage, &[Superseded, Deployed]).await;
        let elsewhere = storage.in_namespace("other");
        let mut made = Revision::new("web", "other", 11, Failed);
        elsewhere.create(&mut made, &budget()).await.unwrap();
        let (all, faults) = storage.list(Scope::Everywhere, &budget()).await.unwrap();
        assert_eq!((all.len(), faults.len()), (3, 0), "{kind}");
        let newest = latest(all);
        let shown: Vec<_> = newest
            .iter()
            .map(|entry| {
                (
                    entry.namespace(),
                    entry.name(),
                    entry.version(),
                    entry.status(),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [("other", "web", 11, Failed), ("shop", "web", 2, Deployed)],
            "{kind}"
        );
        let loaded = storage.load(&newest[0], &budget()).await.unwrap();
        assert_eq!(loaded, made, "{kind}");
        let (own, _) = storage.list(Scope::Namespace, &budget()).await.unwrap();
        assert_eq!(own.len(), 2, "{kind}");
    }
}

#[tokio::test]
async fn a_broken_record_is_told_and_hides_no_other() {
    let server = Server::start().await;
    let storage = Storage::secrets(server.cluster.clone(), "shop");
    fill(&storage, &[Superseded, Superseded, Deployed]).await;
    let path = "/api/v1/namespaces/shop/secrets/sh.helm.release.v1.web.v";
    // "zzz", which is no base64 of a record, and the record of another revision.
    server
        .api
        .patch(&format!("{path}1"), &json!({"data": {"release": "enp6"}}));
    let third = server.api.get(&format!("{path}3")).unwrap();
    server
        .api
        .patch(&format!("{path}2"), &json!({"data": third["data"]}));
    let mut odd = secret("shop", "odd", &[("release", "x")]);
    odd["type"] = json!("helm.sh/release.v1");
    odd["metadata"]["labels"] = json!({"owner": "helm", "name": "web"});
    server.api.apply(odd);

    let history = storage.history("web", &budget()).await.unwrap();
    let told: Vec<String> = history
        .entries()
        .iter()
        .filter_map(|entry| entry.revision().err())
        .chain(history.faults().iter().cloned())
        .map(|error| error.to_string())
        .collect();
    assert_eq!(
        told,
        [
            "secret shop/sh.helm.release.v1.web.v1: it is no base64",
            "secret shop/sh.helm.release.v1.web.v2: it holds revision 3 of release \"web\"",
            "secret shop/odd: its labels name no revision of a release",
        ]
    );
    assert_eq!(history.last().unwrap().revision().unwrap().version, 3);
    assert!(storage.get("web", 1, &budget()).await.is_err());
    let (all, faults) = storage.list(Scope::Namespace, &budget()).await.unwrap();
    assert_eq!((all.len(), faults.len()), (3, 1));
}

#[tokio::test]
async fn secrets_of_other_types_are_no_records() {
    let server = Server::start().await;
    let storage = Storage::secrets(server.cluster.clone(), "shop");
    let mut foreign = secret("shop", "foreign", &[("release", "x")]);
    foreign["metadata"]["labels"] = json!({"owner": "helm", "name": "web", "version": "1"});
    server.api.apply(foreign);
    assert_eq!(versions(&storage).await, [0; 0]);
    let (all, faults) = storage.list(Scope::Everywhere, &budget()).await.unwrap();
    assert_eq!((all.len(), faults.len()), (0, 0));
}

#[tokio::test]
async fn names_that_no_release_can_have_never_reach_a_selector() {
    let server = Server::start().await;
    for (kind, storage) in server.stores() {
        server.api.clear_requests();
        for name in ["", "Web", "a,owner!=helm", "../x", "a/b"] {
            let error = storage.history(name, &budget()).await.unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("release name is invalid: {name}"),
                "{kind}"
            );
            storage.get(name, 1, &budget()).await.unwrap_err();
            let mut made = Revision::new(name, "shop", 1, Deployed);
            storage.create(&mut made, &budget()).await.unwrap_err();
        }
        assert!(server.api.requests().is_empty(), "{kind}");
    }
}

/// Text that does not compress.
fn noise(length: usize) -> String {
    let mut state = 7_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b'!' + u8::try_from((state >> 33) % 90).unwrap())
    };
    (0..length).map(|_| next()).collect()
}

#[tokio::test]
async fn a_revision_that_is_too_large_is_told_before_it_is_written() {
    let server = Server::start().await;
    let [(_, secrets), (_, config_maps), (_, memory)] = server.stores();
    let mut large = revision(1, PendingUpgrade);
    large.manifest = noise(1_200_000);
    large.config.insert("a".to_owned(), json!(noise(1000)));
    let error = secrets.would_fit(&large).unwrap_err();
    let StorageError::TooLarge(too_large) = &error else {
        panic!("{error}");
    };
    assert_eq!(
        error.to_string(),
        format!(
            "revision 1 of release \"web\" does not fit into a secret: its record takes {} of 1044480 bytes; \
             uncompressed it has manifest 1200000, values {}; leave files out of the chart with .helmignore, split \
             the chart, or keep records in a database with HELM_DRIVER=sql",
            too_large.size(),
            kzero_release::codec::go_json(&large.config).unwrap().len(),
        )
    );
    config_maps.would_fit(&large).unwrap_err();
    memory.would_fit(&large).unwrap();
    assert!(server.api.writes().is_empty());

    let mut fits = revision(1, PendingUpgrade);
    fits.manifest = "a: b\n".repeat(1_000_000);
    secrets.would_fit(&fits).unwrap();
    secrets.create(&mut fits, &budget()).await.unwrap();
}
