//! What the linter finds, against Helm.

use kzero_chart::lint::{Options, lint};
use kzero_chart::render::KubeVersion;
use kzero_chart::schema::NoFetch;
use kzero_chart::yaml;
use kzero_gotmpl::Still;
use serde_json::{Value, json};

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
