//! Records that Helm wrote.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kzero_release::codec::go_json;
use kzero_release::revision::{Phase, Revision, Status, Time};
use kzero_release::storage::Entry;
use kzero_testkit::ControlPlane;
use serde_json::{Value, json};

use super::{DRIVERS, HELMS, Helm, Place, budget};

/// The JSON of a record as Helm wrote it.
fn json_of(place: &Place<'_>, record: &str) -> String {
    let path = place
        .namespace
        .path("api/v1", &format!("{}s/{record}", place.driver));
    let object = place.plane.get(&path).unwrap();
    let mut data = object["data"]["release"]
        .as_str()
        .unwrap()
        .as_bytes()
        .to_vec();
    if place.driver == "secret" {
        data = STANDARD.decode(data).unwrap();
    }
    let packed = STANDARD.decode(data).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed.as_slice())
        .read_to_string(&mut text)
        .unwrap();
    text
}

fn equal_to_helms(place: &Place<'_>, helm: Helm, revision: &Revision) {
    let number = revision.version;
    let get = |what: &str| place.helm(helm, &format!("get {what} web --revision {number}"));
    assert_eq!(get("manifest"), format!("{}\n", revision.manifest));
    assert_eq!(get("notes"), format!("NOTES:\n{}\n", revision.info.notes));
    let values = place.helm_json(helm, &format!("get values web --revision {number}"));
    let config = Value::Object(revision.config.clone());
    assert_eq!(
        values,
        if revision.config.is_empty() {
            Value::Null
        } else {
            config
        }
    );
    let metadata = place.helm_json(helm, &format!("get metadata web --revision {number}"));
    assert_eq!(metadata["chart"], "web");
    assert_eq!(metadata["appVersion"], revision.app_version());
    assert_eq!(metadata["revision"], number);
    assert_eq!(metadata["status"], revision.info.status.word());
    let history = place.helm_json(helm, "history web");
    let row = &history[usize::try_from(number).unwrap() - 1];
    assert_eq!(row["chart"], revision.chart_label());
    assert_eq!(row["description"], revision.info.description);
}

#[tokio::test]
async fn records_of_both_helms_are_read_as_helm_reads_them_and_written_again_to_the_byte() {
    let plane = ControlPlane::attach();
    for driver in DRIVERS {
        for helm in HELMS {
            let place = Place::new(&plane, driver).await;
            let storage = place.storage();
            let chart = place.chart().display().to_string();
            place.helm(
                helm,
                &format!("install web {chart} --labels team=a --set x.y=<1>,z=null,n=1e30"),
            );
            place.helm(
                helm,
                &format!("upgrade web {chart} --reset-values --description <second>"),
            );
            place.helm(helm, "rollback web 1");

            let history = storage.history("web", &budget()).await.unwrap();
            assert!(history.faults().is_empty());
            let statuses: Vec<Status> = history.entries().iter().map(Entry::status).collect();
            assert_eq!(
                statuses,
                [Status::Superseded, Status::Superseded, Status::Deployed]
            );
            for entry in history.entries() {
                let revision = entry.revision().unwrap();
                let text = String::from_utf8(go_json(&revision).unwrap()).unwrap();
                assert_eq!(text, json_of(&place, entry.record()), "{helm:?} {driver}");
                assert_eq!(revision.info.status, entry.status());
                assert_eq!(json!(revision.labels), json!({"team": "a"}), "{helm:?}");
                equal_to_helms(&place, helm, &revision);
            }
            let first = history.entries()[0].revision().unwrap();
            let hook = first
                .hooks
                .iter()
                .find(|hook| hook.name == "web-hook")
                .unwrap();
            assert_eq!(hook.last_run.phase, Phase::Succeeded);
            let moment = |time: Option<Time>| time.unwrap().timestamp();
            assert!(moment(hook.last_run.completed_at) >= moment(hook.last_run.started_at));
            assert_eq!(hook.weight, -2);
            let chart = first.chart.as_ref().unwrap();
            assert_eq!(chart.values()["db"]["port"], 5432);
            assert_eq!(chart.metadata().annotations["team"], "a");
            let last = history.last().unwrap().revision().unwrap();
            assert_eq!(
                last.info.rollback_revision,
                if helm == Helm::Four { 1 } else { 0 }
            );
            assert_eq!(
                last.apply_method,
                if helm == Helm::Four { "ssa" } else { "" }
            );
            place.helm(helm, "uninstall web --keep-history");
            let history = storage.history("web", &budget()).await.unwrap();
            let last = history.last().unwrap().revision().unwrap();
            assert_eq!(last.info.status, Status::Uninstalled);
            assert!(last.info.deleted.is_some());
        }
    }
}
