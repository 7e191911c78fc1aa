//! Charts as archives.
#![expect(clippy::unwrap_used, reason = "of tests")]

use std::io::Read;
use std::time::{Duration, UNIX_EPOCH};

use flate2::read::GzDecoder;
use kzero_chart::load::{self, Chart, File};
use kzero_chart::pack::{self, PackError};
use serde_json::json;

use crate::tools;

fn chart(files: &[(&str, &str)]) -> Chart {
    let files = files.iter().map(|(name, text)| File {
        name: (*name).to_owned(),
        data: (*text).into(),
    });
    load::files(files.collect()).unwrap()
}

const MINIMAL: &str = "version: 1.0.0\nname: web\napiVersion: v2\n";
const FULL: &[(&str, &str)] = &[
    ("Chart.yaml", MINIMAL),
    (
        "Chart.lock",
        "digest: x\ngenerated: \"2026-01-02T03:04:05.6+02:00\"\n",
    ),
    ("values.yaml", "# kept\na:   1\n"),
    ("values.schema.json", " {} "),
    ("templates/a.yaml", "{{ .Values.a }}"),
    ("README.md", "# Web\n"),
    ("charts/db/Chart.yaml", "name: db\nversion: 1\n"),
    ("charts/db/values.yaml", "b: 2"),
    ("charts/db/charts/c/Chart.yaml", "name: c\nversion: 2\n"),
];

/// Names and texts of an archive, in its order.
fn entries(bytes: &[u8]) -> Vec<(String, String)> {
    let mut archive = tar::Archive::new(GzDecoder::new(bytes));
    let read = |entry: std::io::Result<tar::Entry<'_, GzDecoder<&[u8]>>>| {
        let mut entry = entry.unwrap();
        assert_eq!(entry.header().mode().unwrap(), 0o644);
        let name = entry.path().unwrap().to_str().unwrap().to_owned();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        (name, text)
    };
    archive.entries().unwrap().map(read).collect()
}

#[test]
fn a_packed_chart_loads_as_the_same_chart() {
    let chart = chart(FULL);
    let bytes = pack::archive(&chart, UNIX_EPOCH).unwrap();
    assert_eq!(load::archive_bytes(&bytes).unwrap(), chart);
}

#[test]
fn the_same_chart_and_time_make_the_same_bytes() {
    let chart = chart(FULL);
    let time = UNIX_EPOCH + Duration::from_millis(1_700_000_000_900);
    let bytes = pack::archive(&chart, time).unwrap();
    assert_eq!(pack::archive(&chart, time).unwrap(), bytes);
    assert_ne!(pack::archive(&chart, UNIX_EPOCH).unwrap(), bytes);
    let mut archive = tar::Archive::new(GzDecoder::new(bytes.as_slice()));
    for entry in archive.entries().unwrap() {
        assert_eq!(entry.unwrap().header().mtime().unwrap(), 1_700_000_000);
    }
}

#[test]
fn the_zipped_header_is_that_of_helm() {
    let bytes = pack::archive(&chart(FULL), UNIX_EPOCH).unwrap();
    // Extra field and comment, no time, any system.
    assert_eq!(bytes[..10], [0x1f, 0x8b, 8, 0b1_0100, 0, 0, 0, 0, 0, 255]);
    let zip = GzDecoder::new(bytes.as_slice());
    let header = zip.header().unwrap();
    assert_eq!(header.comment(), Some(b"Helm".as_slice()));
    assert_eq!(header.extra().map(<[u8]>::len), Some(41));
}

#[test]
fn files_are_in_the_order_of_helm() {
    let bytes = pack::archive(&chart(FULL), UNIX_EPOCH).unwrap();
    let entries = entries(&bytes);
    let names: Vec<&str> = entries.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "web/Chart.yaml",
            "web/Chart.lock",
            "web/values.yaml",
            "web/values.schema.json",
            "web/templates/a.yaml",
            "web/README.md",
            "web/charts/db/Chart.yaml",
            "web/charts/db/values.yaml",
            "web/charts/db/charts/c/Chart.yaml",
        ]
    );
    assert_eq!(
        entries[0].1, "apiVersion: v2\nname: web\nversion: 1.0.0\n",
        "written anew"
    );
    assert_eq!(entries[2].1, "# kept\na:   1\n", "as it was");
}

#[test]
fn old_charts_keep_their_dependencies_in_requirements() {
    let chart = chart(&[
        ("Chart.yaml", "name: old\nversion: 1\n"),
        ("requirements.yaml", "dependencies: [{name: db}]\n"),
        ("requirements.lock", "digest: y\n"),
    ]);
    let bytes = pack::archive(&chart, UNIX_EPOCH).unwrap();
    let entries = entries(&bytes);
    assert_eq!(entries[0].1, "apiVersion: v1\nname: old\nversion: \"1\"\n");
    assert_eq!(entries[1].0, "old/requirements.yaml");
    assert_eq!(entries[2].0, "old/requirements.lock");
    assert_eq!(load::archive_bytes(&bytes).unwrap(), chart);
}

#[test]
fn long_and_foreign_names_survive() {
    let long = format!("files/{}/{}.txt", "d".repeat(160), "é".repeat(80));
    let chart = chart(&[("Chart.yaml", MINIMAL), (&long, "x"), ("日本", "y")]);
    let bytes = pack::archive(&chart, UNIX_EPOCH).unwrap();
    assert_eq!(load::archive_bytes(&bytes).unwrap(), chart);
}

#[test]
fn what_helm_would_not_load_is_not_packed() {
    let pack = |chart: &Chart| pack::archive(chart, UNIX_EPOCH);
    let good = chart(FULL);
    let mut bad = good.clone();
    bad.metadata.version = "x".to_owned();
    assert_eq!(
        pack(&bad).unwrap_err().to_string(),
        "chart validation: validation: chart.metadata.version \"x\" is invalid"
    );
    let mut bad = good.clone();
    bad.schema = Some("{".into());
    assert_eq!(
        pack(&bad).unwrap_err().to_string(),
        "Invalid JSON in values.schema.json"
    );
    let mut bad = good.clone();
    bad.dependencies[0].metadata.name = "../x".to_owned();
    assert_eq!(pack(&bad), Err(PackError::Name("../x".to_owned())));
    let mut bad = good.clone();
    bad.files[0].name = "../../x".to_owned();
    assert!(matches!(pack(&bad), Err(PackError::File { .. })));
    let mut bad = good;
    for _ in 0..70 {
        let inner = bad.clone();
        bad.dependencies = vec![inner];
    }
    assert_eq!(pack(&bad), Err(PackError::Depth));
}

#[test]
fn archives_hold_what_those_of_helm_hold() {
    let mut found = Vec::new();
    for row in tools::rows() {
        let Ok(chart) = load::path(&row.path()) else {
            continue;
        };
        // Helm makes an archive of it that it cannot read.
        if chart.metadata.name == "/" {
            continue;
        }
        let got = match pack::archive(&chart, UNIX_EPOCH) {
            Err(error) => json!({ "pack_error": error.to_string() }),
            Ok(bytes) => json!({ "pack": entries(&bytes) }),
        };
        let mut want = json!({});
        for key in ["pack", "pack_error"] {
            if let Some(value) = row.row.get(key) {
                want[key] = value.clone();
            }
        }
        found.push((row.row["tree"].clone(), got, want));
    }
    assert!(found.len() > 400, "{}", found.len());
    tools::compare(found);
}
