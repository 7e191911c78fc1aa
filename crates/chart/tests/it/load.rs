//! Charts in folders and archives against what Helm made of the same files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use base64::Engine;
use kzero_chart::load::{self, Chart, File, LoadError};
use kzero_chart::render::{Capabilities, Options, Prepared, Release};
use kzero_gotmpl::Still;
use serde_json::{Value, json};

use crate::{golden, none};

/// All numbers as doubles, as the recorded text does not tell integers from them.
fn doubles(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(doubles).collect(),
        Value::Object(map) => {
            let entries = map.iter().map(|(key, value)| (key.clone(), doubles(value)));
            Value::Object(entries.collect())
        }
        other => other.clone(),
    }
}

fn shown_files(files: &[File]) -> Vec<Value> {
    files
        .iter()
        .map(|file| {
            let text = if file.data.len() > 200 {
                format!("{} bytes", file.data.len())
            } else {
                String::from_utf8_lossy(&file.data).into_owned()
            };
            json!([file.name, text])
        })
        .collect()
}

fn shown(chart: &Chart) -> Value {
    let mut dependencies: Vec<&Chart> = chart.dependencies.iter().collect();
    dependencies.sort_by_key(|chart| &chart.metadata.name);
    let mut found = json!({
        "metadata": chart.metadata,
        "lock": chart.lock,
        "values": chart.values,
        "templates": shown_files(&chart.templates),
        "files": shown_files(&chart.files),
        "dependencies": dependencies.iter().map(|chart| shown(chart)).collect::<Vec<_>>(),
    });
    if let Some(schema) = &chart.schema {
        found["schema"] = json!(String::from_utf8_lossy(schema));
    }
    found
}

/// Puts the files of a row into a folder and loads them.
#[expect(clippy::unwrap_used, reason = "of tests")]
fn load_row(row: &Value, dir: &Path) -> Result<Chart, LoadError> {
    let Some(nodes) = row["tree"].as_array() else {
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(row["archive"].as_str().unwrap())
            .unwrap();
        let path = dir.join(row["file"].as_str().unwrap());
        fs::write(&path, bytes).unwrap();
        return load::path(&path);
    };
    let top = dir.join("c");
    for node in nodes {
        let path = top.join(node["path"].as_str().unwrap());
        fs::create_dir_all(&top).unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if node["dir"] == true {
            fs::create_dir_all(&path).unwrap();
        } else if let Some(link) = node["link"].as_str() {
            symlink(link.replace("{dir}", dir.to_str().unwrap()), &path).unwrap();
        } else {
            let mut bytes = match node["base64"].as_str() {
                Some(text) => base64::engine::general_purpose::STANDARD
                    .decode(text)
                    .unwrap(),
                None => node["text"]
                    .as_str()
                    .unwrap_or_default()
                    .as_bytes()
                    .to_vec(),
            };
            let size = usize::try_from(node["size"].as_u64().unwrap_or_default()).unwrap();
            bytes.resize(size.max(bytes.len()), b' ');
            fs::write(&path, bytes).unwrap();
        }
    }
    load::path(&top)
}

#[test]
fn charts_load_as_helm_loads_them() {
    let mut wrong = Vec::new();
    let rows = golden("load.jsonl");
    assert!(rows.len() > 1000, "{}", rows.len());
    for row in &rows {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let got = match load_row(row, &dir) {
            Ok(chart) => {
                let crds: Vec<String> = chart.crds().into_iter().map(|crd| crd.path).collect();
                let mut got = json!({ "chart": shown(&chart) });
                // Helm takes children in no order.
                if row["crds"].is_array() {
                    got["crds"] = json!(crds);
                }
                got
            }
            Err(error) => {
                json!({ "error": error.to_string().replace(dir.to_str().unwrap(), "{dir}") })
            }
        };
        let mut want = serde_json::Map::new();
        for key in ["chart", "crds", "error"] {
            if let Some(value) = row.get(key) {
                want.insert(key.to_owned(), value.clone());
            }
        }
        let (got, want) = (doubles(&got), doubles(&Value::Object(want)));
        if got != want {
            let mut input = row["tree"].to_string();
            input.truncate(input.floor_char_boundary(300));
            wrong.push(format!(
                "{input} {}\n  got  {got}\n  want {want}",
                row["file"]
            ));
        }
    }
    none(&wrong, rows.len());
}

/// A chart with a CRD that is worth deferring, and a template that asks for its length.
fn large_chart(top: &Path) -> std::io::Result<std::path::PathBuf> {
    let crd = top.join("charts/inner/crds/large.yaml");
    fs::create_dir_all(top.join("templates"))?;
    fs::create_dir_all(top.join("charts/inner/crds"))?;
    fs::write(top.join("Chart.yaml"), "name: web\nversion: 1.0.0\n")?;
    fs::write(
        top.join("charts/inner/Chart.yaml"),
        "name: inner\nversion: 1.0.0\n",
    )?;
    fs::create_dir_all(top.join("charts/inner/templates"))?;
    fs::write(
        top.join("charts/inner/templates/a.yaml"),
        "a: {{ len (.Files.Get \"crds/large.yaml\") }}\n",
    )?;
    fs::write(&crd, format!("\u{feff}{}", "#".repeat(100_000)))?;
    Ok(crd)
}

fn rendered(chart: &Chart) -> Result<Vec<u8>, String> {
    let prepared = Prepared::new(chart, &serde_json::Map::new()).map_err(|e| e.to_string())?;
    let release = Release::install("a", "b");
    let out = prepared.render(
        &release,
        &Capabilities::default(),
        &Still::new(0, 0),
        &Options::default(),
    );
    let mut out = out.map_err(|error| error.to_string())?;
    let text = out.files.remove("web/charts/inner/templates/a.yaml");
    text.ok_or_else(|| "no such file".to_owned())
}

#[test]
fn a_chart_to_render_is_the_chart() {
    let top = tempfile::tempdir().unwrap();
    let crd = large_chart(top.path()).unwrap();
    let chart = load::path_to_render(top.path()).unwrap();
    assert_eq!(load::path(top.path()).unwrap(), chart);
    assert_eq!(rendered(&chart).unwrap(), b"a: 100000\n");
    // What was there when the chart was loaded counts.
    let chart = load::path_to_render(top.path()).unwrap();
    fs::remove_file(crd).unwrap();
    assert_eq!(rendered(&chart).unwrap(), b"a: 100000\n");
}

#[test]
fn a_file_that_cannot_be_read_any_more_is_an_error_of_the_rendering() {
    let top = tempfile::tempdir().unwrap();
    let crd = large_chart(top.path()).unwrap();
    let chart = load::path_to_render(top.path()).unwrap();
    fs::write(crd, vec![b'#'; 6 << 20]).unwrap();
    let error = rendered(&chart).unwrap_err();
    assert_eq!(
        error,
        "chart file \"large.yaml\" is larger than the maximum file size 5242880"
    );
}
