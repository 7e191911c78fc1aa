//! What lists show.

use std::collections::BTreeMap;

use kzero_gotmpl::golang::Pattern;
use kzero_release::revision::{Revision, Status, Time};
use kzero_release::storage::{ALL_STATUSES, Order, Scope, Selection, Selector, Storage};

use super::budget;
use Status::{Deployed, Failed, PendingUpgrade, Superseded, Uninstalled};

/// Releases `api` (its newest revision pending), `db` (failed, in another namespace), `old` (uninstalled), `web`.
async fn storage() -> Storage {
    let storage = Storage::memory("shop");
    for (name, namespace, version, status, second) in [
        ("api", "shop", 9, Deployed, 30),
        ("api", "shop", 10, PendingUpgrade, 40),
        ("db", "other", 1, Failed, 20),
        ("old", "shop", 1, Superseded, 1),
        ("old", "shop", 2, Uninstalled, 2),
        ("web", "shop", 1, Deployed, 10),
    ] {
        let mut one = Revision::new(name, namespace, version, status);
        let at = jiff::Timestamp::from_second(second).unwrap();
        one.info.last_deployed = Some(Time::utc(at));
        one.labels = BTreeMap::from([("first".to_owned(), name[..1].to_owned())]);
        let storage = storage.in_namespace(namespace);
        storage.create(&mut one, &budget()).await.unwrap();
    }
    storage
}

async fn listed(storage: &Storage, selection: &Selection) -> Vec<String> {
    let (entries, faults) = storage.list(Scope::Everywhere, &budget()).await.unwrap();
    assert!(faults.is_empty());
    let mut revisions = Vec::new();
    for entry in selection.choose(entries) {
        revisions.push(storage.load(&entry, &budget()).await.unwrap());
    }
    let shown = |one: Revision| format!("{}.{}", one.name, one.version);
    selection
        .arrange(revisions)
        .into_iter()
        .map(shown)
        .collect()
}

#[tokio::test]
async fn the_newest_revision_decides_whether_a_release_is_listed() {
    let storage = storage().await;
    let plain = Selection::default();
    assert_eq!(listed(&storage, &plain).await, ["db.1", "web.1"]);
    let of = |statuses: &[Status]| Selection {
        statuses: statuses.to_vec(),
        ..Selection::default()
    };
    assert_eq!(
        listed(&storage, &of(&ALL_STATUSES)).await,
        ["api.10", "db.1", "old.2", "web.1"]
    );
    assert_eq!(listed(&storage, &of(&[PendingUpgrade])).await, ["api.10"]);
    assert_eq!(listed(&storage, &of(&[Superseded])).await, ["old.1"]);
    assert_eq!(
        listed(&storage, &of(&[Superseded, Uninstalled])).await,
        ["old.2"]
    );
}

#[tokio::test]
async fn orders_offset_and_limit_are_those_of_helm() {
    let storage = storage().await;
    let of = |order, offset, limit| Selection {
        statuses: ALL_STATUSES.to_vec(),
        order,
        offset,
        limit,
        ..Selection::default()
    };
    let names = |order, offset, limit| {
        let storage = &storage;
        async move { listed(storage, &of(order, offset, limit)).await }
    };
    assert_eq!(names(Order::Name, 1, 2).await, ["db.1", "old.2"]);
    assert_eq!(names(Order::NameBackwards, 0, 2).await, ["web.1", "old.2"]);
    assert_eq!(names(Order::Date, 0, 3).await, ["old.2", "web.1", "db.1"]);
    assert_eq!(
        names(Order::DateBackwards, 1, 0).await,
        ["db.1", "web.1", "old.2"]
    );
    assert_eq!(names(Order::Name, 9, 1).await, [""; 0]);
}

#[tokio::test]
async fn names_and_labels_narrow_a_list() {
    let storage = storage().await;
    let mut selection = Selection {
        statuses: ALL_STATUSES.to_vec(),
        filter: Some(Pattern::new("^(a|w)", 1 << 20).unwrap()),
        ..Selection::default()
    };
    assert_eq!(listed(&storage, &selection).await, ["api.10", "web.1"]);
    selection.selector = "first=w".parse().unwrap();
    assert_eq!(listed(&storage, &selection).await, ["web.1"]);
}

#[test]
fn selectors_have_kubernetes_words() {
    let labels = BTreeMap::from([
        ("team".to_owned(), "a".to_owned()),
        ("example.org/size".to_owned(), "12".to_owned()),
        ("empty".to_owned(), String::new()),
    ]);
    let matches = |text: &str| text.parse::<Selector>().unwrap().matches(&labels);
    for text in [
        "",
        " ",
        "team",
        "team=a",
        "team==a",
        " team = a ",
        "team!=b",
        "missing!=b",
        "!missing",
        "team in (a, b)",
        "team notin (b,c)",
        "missing notin (a)",
        "empty=",
        "empty in ()",
        "example.org/size>11",
        "example.org/size < 13",
        "team=a,empty,!missing,team in (a,b)",
    ] {
        assert!(matches(text), "{text}");
    }
    for text in [
        "missing",
        "team=b",
        "team!=a",
        "!team",
        "team in (b,c)",
        "team notin (a)",
        "empty=x",
        "missing in (a)",
        "example.org/size>12",
        "team>1",
        "team=a,missing",
    ] {
        assert!(!matches(text), "{text}");
    }
    for text in [
        "=a",
        "!",
        "a b",
        "a in",
        "a in b",
        "a in (b",
        "a near (b)",
        "a=b=c",
        "a>x",
        "a,",
        "a=(b)",
        "a=ä",
    ] {
        let error = text.parse::<Selector>().unwrap_err().to_string();
        assert!(
            error.starts_with("unable to parse requirement: "),
            "{text}: {error}"
        );
    }
}
