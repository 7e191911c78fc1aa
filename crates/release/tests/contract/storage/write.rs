//! Records that are written here.

use std::collections::BTreeMap;

use kzero_chart::manifest::{sort, take_notes};
use kzero_chart::render::{Capabilities, Options, Prepared, Release};
use kzero_gotmpl::Still;
use kzero_release::revision::{
    Holder, HookRun, Phase, Revision, Status, StoredChart, StoredHook, Time, manifest_text,
};
use kzero_testkit::ControlPlane;
use serde_json::{Value, json};

use super::{DRIVERS, HELMS, Helm, Place, budget};

/// A revision of the chart, made as an install or upgrade makes it.
pub(super) fn made(place: &Place<'_>, version: i64, status: Status) -> Revision {
    let chart = kzero_chart::load::dir(&place.chart()).unwrap();
    let config = json!({"x": {"y": "<1>"}, "z": null, "a": version});
    let Value::Object(config) = config else {
        unreachable!()
    };
    let prepared = Prepared::new(&chart, &config).unwrap();
    let namespace = place.namespace.name();
    let release = Release::install("web", namespace);
    let mut rendered = prepared
        .render(
            &release,
            &Capabilities::default(),
            &Still::new(0, 0),
            &Options::default(),
        )
        .unwrap();
    let mut revision = Revision::new("web", namespace, version, status);
    revision.info.notes = take_notes(&mut rendered, "web", false);
    revision.info.description = format!("Revision {version} complete");
    let at = "2026-11-30T15:51:21.059435108Z".parse().unwrap();
    revision.info.first_deployed = Some(Time::utc(at));
    revision.info.last_deployed = Some(Time::utc(at));
    let sorted = sort(&rendered.files).unwrap();
    revision.manifest = manifest_text(&sorted.manifests);
    revision.hooks = sorted.hooks.iter().map(StoredHook::from).collect();
    for hook in &mut revision.hooks {
        hook.last_run = HookRun {
            started_at: Some(Time::utc(at)),
            completed_at: Some(Time::utc(at)),
            phase: Phase::Succeeded,
        };
    }
    let values = prepared.chart_values().unwrap();
    revision.chart = Some(StoredChart::of(&chart, &prepared.metadata(), &values).unwrap());
    revision.config = config;
    revision.holder = Some(Holder::current("ci", 7, "r-1"));
    revision.labels = BTreeMap::from([("team".to_owned(), "a".to_owned())]);
    revision
}

#[tokio::test]
async fn both_helms_show_records_that_are_written_here() {
    let plane = ControlPlane::attach();
    for driver in DRIVERS {
        let place = Place::new(&plane, driver).await;
        let storage = place.storage();
        let mut first = made(&place, 1, Status::PendingInstall);
        storage.create(&mut first, &budget()).await.unwrap();
        first.set_status(Status::Superseded, "Revision 1 complete");
        storage.update(&mut first, &budget()).await.unwrap();
        let mut second = made(&place, 2, Status::Deployed);
        storage.create(&mut second, &budget()).await.unwrap();
        for helm in HELMS {
            shown(&place, helm, &second);
        }
        owned(&place);
    }
}

fn shown(place: &Place<'_>, helm: Helm, second: &Revision) {
    let history = place.helm_json(helm, "history web");
    let row = |number: i64, status: &str| {
        json!({
            "revision": number, "updated": history[0]["updated"], "status": status, "chart": "web-1.2.3",
            "app_version": "4.5", "description": format!("Revision {number} complete"),
        })
    };
    // Helm 4 says of rollbacks alone where they went, and may say so of all.
    let mut known = history.clone();
    for row in known.as_array_mut().unwrap() {
        row.as_object_mut().unwrap().remove("rollback_revision");
    }
    assert_eq!(
        known,
        json!([row(1, "superseded"), row(2, "deployed")]),
        "{helm:?}"
    );
    let list = place.helm_json(helm, "list --all-namespaces --selector team=a");
    let own: Vec<&Value> = list
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["namespace"] == place.namespace.name())
        .collect();
    let [row] = own.as_slice() else {
        panic!("{helm:?}: {list}");
    };
    assert_eq!(
        (&row["revision"], &row["status"]),
        (&json!("2"), &json!("deployed"))
    );
    let status = place.helm_json(helm, "status web");
    assert_eq!(status["info"]["notes"], json!("Hello web: 2\n"));
    assert_eq!(status["manifest"], json!(second.manifest));
    assert_eq!(status["hooks"].as_array().unwrap().len(), 2);
    let values = place.helm_json(helm, "get values web");
    assert_eq!(values, Value::Object(second.config.clone()));
    let all = place.helm_json(helm, "get values web --all");
    let mut expected = json!({
        "a": 2, "b": {"c": "<x>"}, "f": 0.5, "x": {"y": "<1>"}, "z": null, "db": {"global": {}, "port": 5432},
    });
    if helm == Helm::Three {
        // Helm 4 drops defaults that are null.
        expected["b"]["d"] = Value::Null;
    }
    assert_eq!(all, expected, "{helm:?}");
    assert!(
        place
            .helm(helm, "get manifest web")
            .starts_with(&second.manifest)
    );
    let hooks = place.helm(helm, "get hooks web");
    for hook in &second.hooks {
        assert!(hooks.contains(&hook.manifest), "{hooks}");
    }
    let metadata = place.helm_json(helm, "get metadata web");
    assert_eq!(metadata["deployedAt"], "2026-11-30T15:51:21Z");
    assert_eq!(metadata["annotations"], json!({"team": "a", "zone": "b"}));
    let dependency = &metadata["dependencies"][0];
    assert_eq!(
        (&dependency["name"], &dependency["version"]),
        (&json!("db"), &json!("0.2.0"))
    );
}

/// The object is booked as Helm's own.
fn owned(place: &Place<'_>) {
    let path = place.namespace.path(
        "api/v1",
        &format!("{}s/sh.helm.release.v1.web.v1", place.driver),
    );
    let object = place.plane.get(&path).unwrap();
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(
        (&entries[0]["manager"], &entries[0]["operation"]),
        (&json!("Helm"), &json!("Update"))
    );
}

#[tokio::test]
async fn helm_goes_on_from_records_that_are_written_here() {
    let plane = ControlPlane::attach();
    for helm in HELMS {
        let place = Place::new(&plane, "secret").await;
        let storage = place.storage();
        let mut first = made(&place, 1, Status::Deployed);
        storage.create(&mut first, &budget()).await.unwrap();
        let read = storage.get("web", 1, &budget()).await.unwrap();
        place.helm(
            helm,
            &format!("upgrade web {} --reuse-values", place.chart().display()),
        );
        place.helm(helm, "rollback web 1");
        let history = storage.history("web", &budget()).await.unwrap();
        let last = history.last().unwrap().revision().unwrap();
        assert_eq!(
            (last.version, &last.config, &last.labels),
            (3, &first.config, &first.labels)
        );
        assert_eq!(last.holder, None, "Helm drops what it does not know");
        // Helm wrote the first record between the read and this write.
        let mut read = read;
        let error = storage.update(&mut read, &budget()).await.unwrap_err();
        assert!(
            error.to_string().contains("changed by another writer"),
            "{error}"
        );
        place.helm(helm, "uninstall web");
        assert!(storage.history("web", &budget()).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_record_beyond_a_mebibyte_is_refused_by_the_server_and_told_before() {
    let plane = ControlPlane::attach();
    let place = Place::new(&plane, "secret").await;
    let storage = place.storage();
    let mut state = 7_u64;
    let mut noise = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b'0' + u8::try_from((state >> 33) % 64).unwrap())
    };
    // 64 characters at random: six bits each, which base64 makes eight again.
    let mut large = made(&place, 1, Status::Deployed);
    large.manifest = (0..1_010_000).map(|_| noise()).collect();
    let mut small = large.clone();
    small.manifest.truncate(950_000);
    storage.would_fit(&large).unwrap_err();
    storage.create(&mut large, &budget()).await.unwrap_err();
    storage.would_fit(&small).unwrap();
    storage.create(&mut small, &budget()).await.unwrap();
}
