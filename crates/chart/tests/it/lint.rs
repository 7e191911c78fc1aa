//! What the linter finds, against Helm.
#![expect(clippy::unwrap_used, reason = "of tests")]

use std::io::Write;
use std::path::Path;
use std::time::UNIX_EPOCH;

use flate2::Compression;
use flate2::write::GzEncoder;
use kzero_chart::lint::{Options, Report, lint};
use kzero_chart::render::KubeVersion;
use kzero_chart::schema::NoFetch;
use kzero_chart::{load, pack, yaml};
use kzero_gotmpl::Still;
use serde_json::{Map, Value, json};

use crate::tools;

#[test]
fn charts_are_linted_as_by_helm() {
    let mut found = Vec::new();
    for row in tools::rows() {
        let kube = row.row["kube"].as_str().unwrap();
        let values = yaml::decode(row.row["values"].as_str().unwrap_or("{}")).unwrap();
        let options = Options {
            namespace: "ns".to_owned(),
            kube_version: Some(KubeVersion::parse(kube).unwrap()),
            skip_schema_validation: row.row["skip"] == true,
            ambient: &Still::new(0, 0),
            fetch: &NoFetch,
        };
        let got = match lint(&row.path(), values.as_object().unwrap(), &options) {
            Err(error) => json!({ "lint_error": row.place(&error) }),
            Ok(report) => {
                let messages = report.messages.iter().map(|message| {
                    let severity = message.severity.to_string();
                    json!([severity, row.place(&message.path), row.place(&message.text)])
                });
                json!({ "lint": messages.collect::<Vec<_>>() })
            }
        };
        let mut want = json!({});
        for key in ["lint", "lint_error"] {
            if let Some(value) = row.row.get(key) {
                want[key] = Value::clone(value);
            }
        }
        let input = json!([row.row["tree"], row.row["values"], kube]);
        found.push((input, got, want));
    }
    tools::compare(found);
}

fn plainly(path: &Path) -> Result<Report, String> {
    let options = Options {
        namespace: "ns".to_owned(),
        kube_version: None,
        skip_schema_validation: false,
        ambient: &Still::new(0, 0),
        fetch: &NoFetch,
    };
    lint(path, &Map::new(), &options)
}

/// The archive of one file.
fn zipped(name: &str, text: &str) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut header = tar::Header::new_ustar();
    header.set_size(text.len() as u64);
    tar.append_data(&mut header, name, text.as_bytes()).unwrap();
    tar.into_inner().unwrap().finish().unwrap()
}

#[test]
fn archives_are_linted_like_folders() {
    let dir = tempfile::tempdir().unwrap();
    for (at, row) in tools::rows().enumerate().filter(|(at, _)| at % 5 == 0) {
        let Ok(chart) = load::path(&row.path()) else {
            continue;
        };
        let Ok(bytes) = pack::archive(&chart, UNIX_EPOCH) else {
            continue;
        };
        let path = dir.path().join(format!("{at}.tgz"));
        std::fs::write(&path, bytes).unwrap();
        let Ok(packed) = plainly(&path) else {
            assert!(chart.metadata.name.contains('/'), "{}", row.row["tree"]);
            continue;
        };
        // Packing writes Chart.yaml anew, and with it what was of the wrong type.
        let told = |report: Report| {
            let messages = report.messages.into_iter();
            let kept = messages.filter(|message| message.path.starts_with("templates/"));
            kept.map(|message| message.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(
            told(packed),
            told(plainly(&row.path()).unwrap()),
            "{}",
            row.row["tree"]
        );
    }
}

#[test]
fn archives_that_are_none_are_told_of() {
    let dir = tempfile::tempdir().unwrap();
    let lint_bytes = |bytes: &[u8]| {
        let path = dir.path().join("c.tgz");
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(bytes).unwrap();
        plainly(&path).unwrap_err()
    };
    let missing = dir.path().join("none.tgz");
    let shown = missing.display();
    assert_eq!(
        plainly(&missing).unwrap_err(),
        format!("unable to open tarball: open {shown}: no such file or directory")
    );
    for (name, text, error) in [
        ("c/x", "", "chart name not specified"),
        ("c/Chart.yaml", "a: b", "chart name not specified"),
        (
            "c/Chart.yaml",
            "name: ..",
            "chart name \"..\" is not allowed",
        ),
        (
            "c/Chart.yaml",
            "name: a/b",
            "chart name \"a/b\" must not contain path separators",
        ),
    ] {
        let got = lint_bytes(&zipped(name, text));
        assert_eq!(got, format!("unable to extract tarball: {error}"));
    }
    let got = lint_bytes(b"x");
    assert_eq!(got, "unable to extract tarball: unexpected EOF");
}

#[test]
fn devices_are_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("endless.tgz");
    std::os::unix::fs::symlink("/dev/zero", &archive).unwrap();
    let shown = archive.display();
    assert_eq!(
        plainly(&archive).unwrap_err(),
        format!("unable to open tarball: {shown} is not a regular file")
    );

    let chart = dir.path().join("web");
    std::fs::create_dir(&chart).unwrap();
    std::os::unix::fs::symlink("/dev/zero", chart.join("values.yaml")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", chart.join("Chart.yaml")).unwrap();
    let report = plainly(&chart).unwrap();
    for file in ["Chart.yaml", "values.yaml"] {
        let text = format!("{} is not a regular file", chart.join(file).display());
        let mut messages = report.messages.iter();
        assert!(messages.any(|m| m.path == file && m.text.contains(&text)));
    }
}
