//! Records against those that Helm's own packages wrote (tests/oracle/release).

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kzero_chart::load::{File, files};
use kzero_chart::manifest::{sort, take_notes};
use kzero_chart::render::{Capabilities, Options, Prepared, Release};
use kzero_gotmpl::Still;
use kzero_release::codec::{decode, encode, go_json};
use kzero_release::revision::{
    Holder, Phase, Revision, Status, StoredChart, StoredHook, Time, check_name, manifest_text,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

pub(super) fn golden(file: &str) -> Vec<Value> {
    let path = format!("{}/tests/golden/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let mut rows = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let first: Value = rows.next().unwrap();
    assert!(first["recorded_by"].is_string(), "{path}");
    rows.collect()
}

fn rows(what: &str) -> Vec<Value> {
    let mut rows = golden("records.jsonl");
    rows.retain(|row| row["what"] == what);
    assert!(rows.len() > 10, "the golden file has lost its rows");
    rows
}

fn text_of(revision: &Revision) -> String {
    String::from_utf8(go_json(revision).unwrap()).unwrap()
}

fn packed(json: &str) -> String {
    STANDARD.encode(json)
}

fn chart_file(row: &Value) -> File {
    let data = match row["text"].as_str() {
        Some(text) => text.into(),
        None => {
            let bytes = STANDARD.decode(row["base64"].as_str().unwrap()).unwrap();
            kzero_gotmpl::Str::new(&bytes)
        }
    };
    File {
        name: row["name"].as_str().unwrap().to_owned(),
        data,
    }
}

/// The revision of a row's chart, made as an install makes it.
fn installed(row: &Value) -> Revision {
    let chart = files(
        row["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(chart_file)
            .collect(),
    )
    .unwrap();
    let given = kzero_chart::yaml::decode(row["values"].as_str().unwrap()).unwrap();
    let config = match given {
        Value::Object(config) => config,
        _ => Map::new(),
    };
    let prepared = Prepared::new(&chart, &config).unwrap();
    let release = Release::install("shop", "default");
    let mut rendered = prepared
        .render(
            &release,
            &Capabilities::default(),
            &Still::new(0, 0),
            &Options::default(),
        )
        .unwrap();
    let mut revision = Revision::new("shop", "default", 1, Status::Deployed);
    revision.info.notes = take_notes(&mut rendered, &chart.metadata.name, false);
    let manifests = sort(&rendered.files).unwrap();
    revision.manifest = manifest_text(&manifests.manifests);
    revision.hooks = manifests.hooks.iter().map(StoredHook::from).collect();
    let stored = StoredChart::of(
        &chart,
        &prepared.metadata(),
        &prepared.chart_values().unwrap(),
    );
    revision.chart = Some(stored.unwrap());
    revision.config = config;
    revision.info.description = "Install complete".to_owned();
    let expected: Revision = decode(&packed(row["record"].as_str().unwrap())).unwrap();
    revision.info.first_deployed = expected.info.first_deployed;
    revision.info.last_deployed = expected.info.last_deployed;
    revision
}

#[test]
fn an_installed_chart_is_written_as_helm_writes_it() {
    for row in rows("chart") {
        let written = text_of(&installed(&row));
        assert_eq!(written, row["record"].as_str().unwrap(), "{}", row["files"]);
    }
}

#[test]
fn helms_records_are_read_and_written_again_to_the_byte() {
    for row in rows("release") {
        let revision = decode(row["encoded"].as_str().unwrap()).unwrap();
        let record = row["record"].as_str().unwrap();
        assert_eq!(text_of(&revision), record);
        assert_eq!(decode(&packed(record)).unwrap(), revision, "unpacked JSON");
        assert_eq!(decode(&encode(&revision).unwrap()).unwrap(), revision);
        assert_eq!(revision.record_name(), row["name"].as_str().unwrap());
        let labels = &row["labels"];
        assert_eq!(revision.name, labels["name"].as_str().unwrap());
        assert_eq!(
            revision.version.to_string(),
            labels["version"].as_str().unwrap()
        );
        assert_eq!(
            revision.info.status.word(),
            labels["status"].as_str().unwrap()
        );
    }
}

#[test]
fn records_of_helm_4_keep_what_helm_3_does_not_have() {
    let rows = golden("records-helm4.jsonl");
    assert!(rows.len() > 3);
    for row in rows {
        let record = row["record"].as_str().unwrap();
        let mut revision = decode(&packed(record)).unwrap();
        assert_eq!(text_of(&revision), record);
        let parsed: Value = serde_json::from_str(record).unwrap();
        assert_eq!(json!(revision.apply_method), parsed["apply_method"]);
        revision.set_status(Status::Superseded, "x");
        let rewritten: Value = serde_json::from_str(&text_of(&revision)).unwrap();
        assert_eq!(rewritten["chart"], parsed["chart"]);
        assert_eq!(
            rewritten["info"]["rollback_revision"],
            parsed["info"]["rollback_revision"]
        );
    }
}

#[test]
fn a_record_begins_as_gos_gzip_does() {
    let encoded = encode(&Revision::new("web", "shop", 1, Status::Deployed)).unwrap();
    let bytes = STANDARD.decode(&encoded).unwrap();
    assert_eq!(bytes[..10], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255]);
    for row in rows("release") {
        let helms = STANDARD.decode(row["encoded"].as_str().unwrap()).unwrap();
        assert_eq!(bytes[..10], helms[..10]);
    }
}

#[test]
fn what_a_revision_holds_is_read() {
    let row = rows("release")
        .into_iter()
        .find(|row| row["labels"]["version"] == "12")
        .unwrap();
    let revision = decode(row["encoded"].as_str().unwrap()).unwrap();
    let chart = revision.chart.as_ref().unwrap();
    assert_eq!(
        chart.values(),
        json!({"<": "&", "z": 1}).as_object().unwrap().clone()
    );
    assert_eq!(revision.chart_label(), "web-1.0.0");
    assert_eq!(revision.app_version(), "2.0");
    let [hook, running, ..] = revision.hooks.as_slice() else {
        panic!("{:?}", revision.hooks);
    };
    assert!(hook.runs_at("test") && !hook.runs_at("post-install"));
    assert_eq!((hook.weight, hook.last_run.phase), (-3, Phase::Succeeded));
    let completed = hook.last_run.completed_at.unwrap();
    assert_eq!(completed.to_string(), "2026-11-30T15:51:04.0000001+01:00");
    assert_eq!(running.last_run.completed_at, None);
    assert_eq!(revision.info.deleted, None);
}

#[test]
fn the_holder_and_what_is_unknown_outlive_a_rewrite() {
    let record = concat!(
        r#"{"name":"web","info":{"first_deployed":"","last_deployed":"","deleted":"","status":"failed"},"version":2,"#,
        r#""kzero":{"holder":{"host":"ci","pid":7,"run":"r-1"},"next":[1]},"zeta":{"a":1},"alpha":null}"#,
    );
    let mut revision = decode(&packed(record)).unwrap();
    assert_eq!(revision.holder, Some(Holder::current("ci", 7, "r-1")));
    assert_eq!(
        text_of(&revision),
        record.replace(
            r#""zeta":{"a":1},"alpha":null"#,
            r#""alpha":null,"zeta":{"a":1}"#
        )
    );
    revision.holder = None;
    assert!(text_of(&revision).contains(r#""kzero":{"next":[1]}"#));
}

#[test]
fn nulls_and_missing_fields_are_nothing_said() {
    let record = r#"{"name":null,"info":{"first_deployed":null,"deleted":null,"notes":null},"chart":null,"config":null,"hooks":[null],"version":1}"#;
    let revision = decode(&packed(record)).unwrap();
    assert_eq!(revision.info.status, Status::Unknown);
    assert_eq!(revision.chart_label(), "MISSING");
    assert_eq!(revision.hooks, []);
    assert_eq!(decode(&packed("{}")).unwrap().version, 0);
}

#[test]
fn what_is_no_record_is_refused_without_showing_it() {
    let secret = "hunter2";
    for text in [
        format!("%{secret}"),
        packed(secret),
        packed(&format!(r#"{{"name":["{secret}"]}}"#)),
        packed(&format!(r#"{{"info":{{"deleted":"{secret}"}}}}"#)),
        packed(&format!(r#"{{"name":"web"}} {secret}"#)),
        packed(&format!(r#"{{"config":"{secret}"}}"#)),
        packed(&format!(r#"{{"chart":"{secret}"}}"#)),
        packed(r#"{"name":"web""#),
        packed("null"),
        STANDARD.encode([0x1f, 0x8b, 8, 1, 2, 3]),
        String::new(),
    ] {
        let error = decode(&text).unwrap_err().to_string();
        assert!(!error.contains(secret), "{error}");
    }
}

#[test]
fn a_record_that_unpacks_without_end_is_refused() {
    use std::io::Write;
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let spaces = vec![b' '; 1 << 20];
    for _ in 0..257 {
        writer.write_all(&spaces).unwrap();
    }
    let bomb = STANDARD.encode(writer.finish().unwrap());
    assert_eq!(
        decode(&bomb).unwrap_err().to_string(),
        "it unpacks to more than 256 MiB"
    );
}

#[test]
fn values_as_deep_as_files_may_have_them_are_kept_and_deeper_ones_refused() {
    let nested = |depth: usize| {
        let mut value = json!(1);
        for _ in 0..depth {
            value = json!([value]);
        }
        let mut revision = Revision::new("web", "shop", 1, Status::Deployed);
        revision.config.insert("a".to_owned(), value);
        revision
    };
    let deep = nested(500);
    assert_eq!(decode(&encode(&deep).unwrap()).unwrap(), deep);
    let error = encode(&nested(700)).unwrap_err().to_string();
    assert_eq!(error, "values are nested deeper than 600");
    let bomb = packed(&format!(r#"{{"config":{}"#, r#"{"a":"#.repeat(100_000)));
    let error = decode(&bomb).unwrap_err().to_string();
    assert_eq!(error, "its JSON is nested deeper than 600");
}

#[test]
fn names_are_refused_in_helms_words() {
    for row in rows("name") {
        let name = row["name"].as_str().unwrap();
        let error = check_name(name).err().map(|error| error.to_string());
        assert_eq!(
            error.unwrap_or_default(),
            row["error"].as_str().unwrap(),
            "{name:?}"
        );
    }
}

#[test]
fn times_of_now_are_written_in_full() {
    let at = "2026-11-30T15:51:21.059435108Z".parse().unwrap();
    assert_eq!(Time::utc(at).to_string(), "2026-11-30T15:51:21.059435108Z");
    let zoned = jiff::Timestamp::to_zoned(at, jiff::tz::TimeZone::fixed(jiff::tz::offset(-5)));
    assert_eq!(
        Time::from(&zoned).to_string(),
        "2026-11-30T10:51:21.059435108-05:00"
    );
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".*", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_revision_is_read_as_it_was_written(
        manifest in ".*",
        config in prop::collection::btree_map(".*", any_value(), 0..4),
        labels in prop::collection::btree_map("[a-z]+", "[a-z]*", 0..3),
    ) {
        let mut revision = Revision::new("web", "shop", 3, Status::PendingUpgrade);
        revision.manifest = manifest;
        revision.config = config.into_iter().collect();
        let read = decode(&encode(&revision).unwrap()).unwrap();
        prop_assert_eq!(&read.manifest, &revision.manifest);
        prop_assert_eq!(&read, &revision);
        revision.labels = labels;
        prop_assert_eq!(read == revision, revision.labels == BTreeMap::new());
    }

    #[test]
    fn no_text_makes_reading_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&STANDARD.encode(&bytes));
        let _ = decode(&String::from_utf8_lossy(&bytes));
    }
}
