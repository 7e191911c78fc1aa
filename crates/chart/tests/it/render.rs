//! The fixtures rendered as Helm renders them: files, manifests, hooks, notes, warnings and errors.

#![expect(clippy::unwrap_used, reason = "of tests")]

mod fixture;

use std::collections::HashMap;
use std::fmt::Write as _;

use fixture::{Case, Fixture};
use kzero_chart::load;
use kzero_chart::manifest::{self, Manifests};
use kzero_chart::render::{Capabilities, KubeVersion, Options, Prepared, Release, Rendered};
use kzero_gotmpl::{Limits, Still};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::golden;

/// What a case comes to, in the form of the golden file, without the case's name. Files alone need not be YAML.
fn outcome(fixture: &Fixture, case: &Case, files_only: bool) -> Map<String, Value> {
    let mut warnings = Vec::new();
    let mut row = Map::new();
    if let Err(error) = run(fixture, case, files_only, &mut row, &mut warnings) {
        row.clear();
        row.insert("error".to_owned(), json!(error));
    }
    if !warnings.is_empty() {
        row.insert("warnings".to_owned(), json!(warnings));
    }
    row
}

fn run(
    fixture: &Fixture,
    case: &Case,
    files_only: bool,
    row: &mut Map<String, Value>,
    warnings: &mut Vec<String>,
) -> Result<(), String> {
    let values = fixture.values(case)?;
    let chart = load::files(fixture.chart(case)).map_err(|error| error.to_string())?;
    warnings.extend(chart.warnings.iter().cloned());
    let prepared = Prepared::new(&chart, &values).map_err(|error| error.to_string())?;
    warnings.extend(prepared.warnings().iter().cloned());
    if case.is_whole() {
        row.insert(
            "values".to_owned(),
            prepared.values().map_or(Value::Null, Value::Object),
        );
        row.insert(
            "stored".to_owned(),
            prepared.chart_values().map_or(Value::Null, Value::Object),
        );
    }
    let mut rendered = render(case, &prepared)?;
    let files: Map<String, Value> = rendered
        .files
        .iter()
        .map(|(path, text)| (path.clone(), json!(String::from_utf8_lossy(text))))
        .collect();
    row.insert("files".to_owned(), Value::Object(files));
    if files_only {
        return Ok(());
    }
    let all_notes = case.flag("--render-subchart-notes").is_some();
    let notes = manifest::take_notes(&mut rendered, &chart.metadata.name, all_notes);
    if !notes.is_empty() {
        row.insert("notes".to_owned(), json!(notes));
    }
    let sorted = manifest::sort(&rendered.files).map_err(|error| error.to_string())?;
    warnings.extend(sorted.warnings.iter().cloned());
    row.insert(
        "manifest".to_owned(),
        json!(printed(case, &prepared, &sorted)),
    );
    let hooks = hooks(&sorted);
    if !hooks.is_empty() {
        row.insert("hooks".to_owned(), json!(hooks));
    }
    Ok(())
}

fn render(case: &Case, prepared: &Prepared<'_>) -> Result<Rendered, String> {
    let mut release = Release::install("rel", "space");
    release.is_upgrade = case.flag("--is-upgrade").is_some();
    release.is_install = !release.is_upgrade;
    let mut capabilities = Capabilities::default();
    if let Some(version) = case.flag("--kube-version") {
        capabilities.kube_version = KubeVersion::parse(version).unwrap();
    }
    if let Some(more) = case.flag("--api-versions") {
        let more = more.split(',').map(str::to_owned);
        capabilities.api_versions.extend(more);
    }
    prepared
        .render(
            &release,
            &capabilities,
            &Still::new(0, 0),
            &Options::default(),
        )
        .map_err(|error| error.to_string())
}

/// What `helm template` prints.
fn printed(case: &Case, prepared: &Prepared<'_>, sorted: &Manifests) -> String {
    let mut text = String::new();
    if case.flag("--include-crds").is_some() {
        for (path, file) in prepared.crds() {
            let content = String::from_utf8_lossy(&file.data);
            let _ = writeln!(text, "---\n# Source: {path}\n{content}");
        }
    }
    for one in &sorted.manifests {
        let _ = writeln!(text, "---\n# Source: {}\n{}", one.path, one.content);
    }
    let mut all = format!("{}\n", text.trim());
    for one in &sorted.hooks {
        let _ = writeln!(all, "---\n# Source: {}\n{}", one.path, one.manifest);
    }
    all
}

fn hooks(sorted: &Manifests) -> Vec<Value> {
    let hooks = sorted.hooks.iter();
    hooks
        .map(|hook| {
            let events: Vec<&str> = hook.events.iter().map(|event| event.name()).collect();
            json!({
                "name": hook.name, "kind": hook.kind, "path": hook.path, "events": events,
                "weight": hook.weight, "delete": hook.delete_policies,
                "logs": hook.output_log_policies,
            })
        })
        .collect()
}

/// All numbers as doubles: JSON text does not tell 1 from 1.0.
fn doubles(value: &mut Value) {
    match value {
        Value::Number(number) => *value = json!(number.as_f64()),
        Value::Array(items) => items.iter_mut().for_each(doubles),
        Value::Object(map) => map.values_mut().for_each(doubles),
        _ => {}
    }
}

/// A recorded row without what names it and with what Go says differently of nothing.
fn expected(row: &Value) -> Map<String, Value> {
    let mut row = row.as_object().unwrap().clone();
    row.remove("fixture");
    row.remove("case");
    row.remove("dependencies");
    if row.get("stored") == Some(&Value::Null) {
        row.insert("stored".to_owned(), json!({}));
    }
    if let Some(Value::Array(warnings)) = row.get_mut("warnings") {
        for warning in warnings {
            // The place in Helm's source.
            let text = warning.as_str().unwrap_or_default();
            let at = text
                .split_once(": ")
                .filter(|(place, _)| place.contains(".go:"));
            *warning = json!(at.map_or(text, |(_, text)| text));
        }
    }
    if let Some(Value::Array(hooks)) = row.get_mut("hooks") {
        for hook in hooks {
            for list in ["delete", "logs"] {
                if hook[list].is_null() {
                    hook[list] = json!([]);
                }
            }
        }
    }
    row
}

/// Where a case comes out otherwise than recorded.
fn differences(fixture: &Fixture, row: &Value) -> Vec<String> {
    let case = fixture.case(row["case"].as_str().unwrap());
    let files_only = row.get("files").is_some() && row.get("manifest").is_none();
    let mut found = outcome(fixture, case, files_only);
    let mut expected = expected(row);
    for row in [&mut found, &mut expected] {
        row.values_mut().for_each(doubles);
        // Helm walks maps in any order.
        if let Some(Value::Array(warnings)) = row.get_mut("warnings") {
            warnings.sort_by_key(Value::to_string);
        }
    }
    if expected.contains_key("error") {
        // Values that do not fit together come without the warnings on the way.
        expected.remove("warnings");
        found.remove("warnings");
    }
    let mut wrong = Vec::new();
    for (key, value) in &expected {
        if found.get(key) != Some(value) {
            let found = found.get(key).or(found.get("error"));
            let found = found.unwrap_or(&Value::Null);
            wrong.push(format!("{} {key}\n  {found}\nis\n  {value}", case.name));
        }
    }
    for (key, value) in &found {
        if !expected.contains_key(key) {
            wrong.push(format!("{} {key} is too much: {value}", case.name));
        }
    }
    wrong
}

#[test]
fn charts_render_as_by_helm() {
    let mut fixtures: HashMap<String, Fixture> = HashMap::new();
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut wrong = Vec::new();
    for row in golden("render.jsonl") {
        let name = row["fixture"].as_str().unwrap();
        let fixture = fixtures
            .entry(name.to_owned())
            .or_insert_with(|| Fixture::read(name));
        *counts.entry(name.to_owned()).or_default() += 1;
        let differences = differences(fixture, &row);
        wrong.extend(differences.iter().map(|text| format!("{name}/{text}")));
    }
    for (name, count) in counts {
        let cases = fixtures[&name].len();
        assert_eq!(cases, count, "{name} is to be recorded again");
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Rows with a fixture's text and its cases.
fn replay(rows: &[Value]) {
    let mut wrong = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let fixture = Fixture::parse(row["text"].as_str().unwrap());
        for case in row["cases"].as_array().unwrap() {
            let differences = differences(&fixture, case);
            wrong.extend(differences.iter().map(|text| format!("{at}/{text}")));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn random_charts_render_as_by_helm() {
    replay(&golden("random.jsonl"));
}

/// What `go run . random SEED COUNT target/tmp/random.jsonl` in `tests/oracle/render` has just written.
#[test]
#[ignore = "needs rows that are recorded for it"]
fn fresh_random_charts_render_as_by_helm() {
    let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/random.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().skip(1).map(serde_json::from_str);
    replay(&rows.collect::<Result<Vec<Value>, _>>().unwrap());
}

#[test]
fn what_is_too_large_to_write_is_an_error_and_not_nothing() {
    for function in ["toYaml", "toToml"] {
        let text = format!(
            "-- each one --\n{{{{ $x := list 1 }}}}{{{{ range until 60 }}}}{{{{ $x = list $x $x }}}}{{{{ end }}}}\
             a: {{{{ {function} $x | len }}}}\n"
        );
        let fixture = Fixture::parse(&text);
        let outcome = outcome(&fixture, fixture.case("one"), false);
        let error = outcome["error"].as_str().unwrap();
        assert!(error.contains("too large"), "{function}: {error}");
    }
}

/// Pieces that templates of charts are made of, whole and broken.
fn piece() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "{{ ",
        " }}",
        "{{- ",
        " -}}",
        "{{",
        "}}",
        "include \"h\" ",
        "tpl ",
        "toYaml ",
        "fromYaml ",
        "toToml ",
        "fromToml ",
        "toJson ",
        "fromJson ",
        ".Values",
        ".Values.a",
        ".Values.s",
        " .",
        " $",
        ".Files",
        ".Files.Glob ",
        ".Files.Get ",
        "\"**\"",
        "\"{a,[!b]\"",
        "\"f.txt\"",
        ".Chart",
        ".Capabilities",
        ".Release",
        ".Subcharts",
        ".Template",
        " | ",
        "range ",
        "if ",
        "with ",
        "end",
        "else",
        "define \"h\"",
        "template \"h\" ",
        "set .Values \"a\" ",
        "required \"x\" ",
        "lookup \"v1\" \"A\" \"\" \"\"",
        "fail \"x\"",
        "nindent 2",
        "quote",
        "(",
        ")",
        "\n",
        "---\n",
        "a: ",
        "- ",
        "kind: A\n",
        "1",
        "\"\"",
        "nil",
        "/*",
        "*/",
        "$x := ",
        "$x",
        "<no value>",
        "é",
        "\u{feff}",
        "\r\n",
        "#",
        "\t",
        "{",
        "[",
        "helm.sh/hook",
    ];
    prop::sample::select(PIECES).prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn no_chart_makes_rendering_panic(
        template in prop::collection::vec(piece(), 0..30),
        helper in prop::collection::vec(piece(), 0..12),
        values in "(a|s|sub|global|b): (1|x|null|\\{\\}|\\[1\\]|\\{a: \\{b: 1\\}\\}|\\{sub: null\\})\n",
        set in "[absu.\\[\\]0-9=,{}]{0,20}",
    ) {
        let text = format!(
            "-- values.yaml --\n{values}-- f.txt --\nx\n-- templates/_h.tpl --\n{}\n-- charts/sub/Chart.yaml --\n\
             {{name: sub, version: 1.0.0}}\n-- charts/sub/values.yaml --\n{values}-- charts/sub/templates/a.yaml --\nkind: B\n\
             -- each one --\n{}\n",
            helper.concat(),
            template.concat()
        );
        let fixture = Fixture::parse(&text);
        let case = fixture.case("one");
        let chart = load::files(fixture.chart(case)).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let mut values = Map::new();
        let _ = kzero_chart::values::set::set(&mut values, &set);
        if let Ok(prepared) = Prepared::new(&chart, &values) {
            let release = Release::install("rel", "space");
            let options = Options {
                limits: Limits { depth: 50, steps: 20_000, memory: 8 << 20 },
                ..Options::default()
            };
            let capabilities = Capabilities::default();
            if let Ok(rendered) = prepared.render(&release, &capabilities, &Still::new(0, 0), &options) {
                let _ = manifest::sort(&rendered.files);
            }
        }
    }
}
