//! What is shown of charts, against Helm.

use kzero_chart::load;
use kzero_chart::show::{Part, show};
use serde_json::{Value, json};

use crate::tools;

#[test]
fn charts_are_shown_as_by_helm() {
    let mut found = Vec::new();
    for row in tools::rows() {
        let mut got = json!({});
        match load::path(&row.path()) {
            Err(error) => got["show_error"] = json!(row.place(&error.to_string())),
            Ok(chart) => {
                for (name, part) in [
                    ("all", Part::All),
                    ("chart", Part::Chart),
                    ("values", Part::Values),
                    ("readme", Part::Readme),
                    ("crds", Part::Crds),
                ] {
                    let shown = show(&chart, part).unwrap();
                    got["show"][name] = json!(String::from_utf8(shown).unwrap());
                }
            }
        }
        let mut want = json!({});
        for key in ["show", "show_error"] {
            if let Some(value) = row.row.get(key) {
                want[key] = Value::clone(value);
            }
        }
        found.push((row.row["tree"].clone(), got, want));
    }
    tools::compare(found);
}
