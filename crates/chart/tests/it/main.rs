//! Goldens recorded from Helm's own libraries (`tests/oracle`), replayed without them.

mod hostile;
mod lint;
mod load;
mod pack;
mod render;
mod schema;
mod set;
mod show;
mod tools;
mod yaml;

use serde_json::Value;

/// The rows of a golden file but the first, which says who recorded it.
fn golden(name: &str) -> Vec<Value> {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{path}: {error}")))
        .collect();
    assert!(rows[0]["recorded_by"].is_string(), "{path}");
    assert!(rows.len() > 100, "{path} has lost its rows");
    rows[1..].to_vec()
}

/// Fails with all rows that are wrong.
fn none(wrong: &[String], rows: usize) {
    let texts = wrong.join("\n");
    assert!(wrong.is_empty(), "{} of {rows}:\n{texts}", wrong.len());
}
