//! Values against schemas, and what Helm says of them.
#![expect(clippy::unwrap_used, reason = "of tests")]

use std::cell::RefCell;
use std::sync::LazyLock;

use kzero_chart::load::{self, Chart, File};
use kzero_chart::schema::{self, Fetch, NoFetch};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{golden, none};

/// A disk without files.
struct Empty;

impl Fetch for Empty {
    fn fetch(&self, url: &str) -> Result<Vec<u8>, String> {
        let path = url.strip_prefix("file://").unwrap_or(url);
        let path = path.split('?').next().unwrap_or(path);
        Err(format!("open {path}: no such file or directory"))
    }
}

fn outcome(row: &Value) -> Option<String> {
    let text = |key: &str| row[key].as_str().unwrap_or_default();
    let values: Map<String, Value> = serde_json::from_str(text("values")).unwrap_or_default();
    schema::validate_one(&values, text("schema").as_bytes(), &Empty).err()
}

#[test]
fn values_are_refused_in_helms_words() {
    let rows = golden("schema.jsonl");
    assert!(rows.len() > 3000, "{}", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let got = outcome(row);
        let want: Vec<&str> = row["errors"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let same = match &got {
            None => want.is_empty(),
            Some(got) => want.contains(&got.as_str()),
        };
        if !same {
            let mut schema = row["schema"].to_string();
            schema.truncate(schema.floor_char_boundary(300));
            let values = &row["values"];
            wrong.push(format!(
                "{schema} {values}\n  got  {got:?}\n  want {want:?}"
            ));
        }
    }
    none(&wrong, rows.len());
}

fn chart(files: &[(&str, &str)]) -> Chart {
    let files = files.iter().map(|(name, text)| File {
        name: (*name).to_owned(),
        data: (*text).into(),
    });
    load::files(files.collect()).unwrap()
}

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no map"),
    }
}

#[test]
fn c07_each_chart_tells_its_faults() {
    let chart = chart(&[
        ("Chart.yaml", "name: sch\nversion: 1.0.0\napiVersion: v2\n"),
        (
            "values.schema.json",
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"mode":{"enum":["a","b"]}}}"#,
        ),
        (
            "charts/db/Chart.yaml",
            "name: db\nversion: 1.0.0\napiVersion: v2\n",
        ),
        ("charts/db/values.schema.json", r#"{"required":["size"]}"#),
        (
            "charts/web/Chart.yaml",
            "name: web\nversion: 1.0.0\napiVersion: v2\n",
        ),
        ("charts/web/values.schema.json", "{"),
    ]);
    let validate = |values| schema::validate(&chart, &map(values), &NoFetch);
    let error = validate(json!({"mode": "c", "db": {}, "web": {}})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "values don't meet the specifications of the schema(s) in the following chart(s):\n\
         sch:\n- at '/mode': value must be one of 'a', 'b'\n\
         db:\n- at '': missing property 'size'\n\
         web:\nunexpected EOF"
    );
    let error = validate(json!({"db": [1], "web": null})).unwrap_err();
    assert_eq!(
        error.faults(),
        "db:\ninvalid type for values: expected object (map), got []interface {}\n"
    );
    assert_eq!(validate(json!({"mode": "a", "db": {"size": 1}})), Ok(()));
}

#[derive(Default)]
struct Site {
    warnings: RefCell<Vec<String>>,
}

impl Fetch for Site {
    fn fetch(&self, url: &str) -> Result<Vec<u8>, String> {
        match url {
            "https://example.com/a.json" => {
                Ok(br#"{"properties":{"b":{"$ref":"b.json#/x"}}}"#.to_vec())
            }
            "https://example.com/b.json" => Ok(br#"{"x":{"type":"string"}}"#.to_vec()),
            "https://example.com/broken.json" => Ok(br#"{"type":5}"#.to_vec()),
            _ => Err("nobody is there".to_owned()),
        }
    }

    fn warn(&self, text: &str) {
        self.warnings.borrow_mut().push(text.to_owned());
    }
}

fn referring(reference: &str, fetch: &dyn Fetch) -> Result<(), String> {
    let schema = json!({"properties": {"a": {"$ref": reference}}}).to_string();
    schema::validate_one(&map(json!({"a": {"b": 1}})), schema.as_bytes(), fetch)
}

#[test]
fn schemas_elsewhere_are_fetched_and_checked() {
    let site = Site::default();
    let refused = |reference| referring(reference, &site).unwrap_err();
    assert_eq!(
        refused("https://example.com/a.json"),
        "- at '/a/b': got number, want string\n"
    );
    assert!(
        refused("https://example.com/broken.json")
            .starts_with("\"https://example.com/broken.json#\" is not valid against metaschema: ")
    );
    assert_eq!(
        refused("https://example.com/c.json"),
        "failing loading \"https://example.com/c.json\": nobody is there"
    );
    assert_eq!(
        referring("https://example.com/a.json", &NoFetch).unwrap_err(),
        "failing loading \"https://example.com/a.json\": schemas are not fetched from elsewhere"
    );
}

#[test]
fn names_that_nobody_resolves_are_warned_of() {
    let site = Site::default();
    assert_eq!(referring("urn:a:b", &site), Ok(()));
    let warning = "WARNING: unresolved URN reference ignored; using permissive schema: urn:a:b";
    assert_eq!(*site.warnings.borrow(), [warning]);
}

fn hostile(schema: &str) -> String {
    let values = map(json!({"a": "x", "b": ["x", "y"]}));
    schema::validate_one(&values, schema.as_bytes(), &NoFetch).unwrap_err()
}

#[test]
fn schemas_that_double_at_each_step_end() {
    let mut definitions = Map::new();
    for at in 0..60 {
        let next = json!({"$ref": format!("#/definitions/{}", at + 1)});
        definitions.insert(at.to_string(), json!({"allOf": [next, next]}));
    }
    definitions.insert("60".to_owned(), json!({"type": "object"}));
    let schema = json!({"$ref": "#/definitions/0", "definitions": definitions});
    assert_eq!(
        hostile(&schema.to_string()),
        "the schema takes too long to check"
    );
}

#[test]
fn long_chains_of_references_end() {
    let mut definitions = Map::new();
    for at in 0..20_000 {
        let next = format!("#/definitions/{}", at + 1);
        definitions.insert(at.to_string(), json!({ "$ref": next }));
    }
    definitions.insert("20000".to_owned(), json!(true));
    let schema = json!({"$ref": "#/definitions/0", "definitions": definitions});
    assert_eq!(
        hostile(&schema.to_string()),
        "schema and values are nested too deeply"
    );
}

#[test]
fn patterns_are_bounded_in_number_and_size() {
    let patterns: Map<String, Value> = (0..5000)
        .map(|at| (format!("^{at}$"), json!(true)))
        .collect();
    let error = hostile(&json!({ "patternProperties": patterns }).to_string());
    assert!(
        error == "the schema takes too long to check" || error.contains("more than 1000 patterns"),
        "{error}"
    );
    let error =
        hostile(&json!({"properties": {"a": {"pattern": "((a{900}){900}){900}"}}}).to_string());
    assert!(error.contains("error parsing regexp: "), "{error}");
}

#[test]
fn schemas_nest_no_deeper_than_allowed() {
    let schema = format!("{}{{}}{}", "{\"not\":".repeat(5000), "}".repeat(5000));
    assert_eq!(hostile(&schema), "the schema is nested deeper than 500");
}

#[test]
fn faults_are_bounded() {
    let enough: Vec<Value> = (0..400)
        .map(|_| json!({"items": {"items": {"type": "null"}}}))
        .collect();
    let row: Vec<Value> = (0..40).map(|at| json!(at)).collect();
    let values = map(json!({"a": vec![row; 40]}));
    let schema = json!({"properties": {"a": {"allOf": enough}}}).to_string();
    let error = schema::validate_one(&values, schema.as_bytes(), &NoFetch).unwrap_err();
    assert_eq!(error, "there are too many faults");
}

#[test]
fn long_names_do_not_multiply() {
    let rules: Vec<Value> = (0..3000)
        .map(|_| json!({"$ref": "#/definitions/n"}))
        .collect();
    let schema = json!({
        "allOf": rules,
        "definitions": {"n": {"additionalProperties": {"type": "null"}}},
    });
    let mut values = Map::new();
    values.insert("n".repeat(100_000), json!(1));
    let error = schema::validate_one(&values, schema.to_string().as_bytes(), &NoFetch).unwrap_err();
    assert_eq!(error, "there are too many faults");
}

#[test]
fn large_values_are_not_compared_without_end() {
    let large: Vec<Value> = (0..20_000).map(|at| json!(at)).collect();
    let mut other = large.clone();
    other[19_999] = json!("x");
    let rules: Vec<Value> = (0..1000)
        .map(|_| json!({"$ref": "#/definitions/n"}))
        .collect();
    let schema = json!({
        "properties": {"a": {"allOf": rules}},
        "definitions": {"n": {"not": {"enum": [other]}}},
    });
    let values = map(json!({ "a": large }));
    let error = schema::validate_one(&values, schema.to_string().as_bytes(), &NoFetch).unwrap_err();
    assert_eq!(error, "the schema takes too long to check");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Bytes of schemas changed, doubled and left out, with values that were meant for others.
    #[test]
    fn broken_schemas_end_in_words(
        (schema, values) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..4, any::<u8>()), 1..4),
    ) {
        static ROWS: LazyLock<Vec<Value>> = LazyLock::new(|| golden("schema.jsonl"));
        let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
        let mut bytes = text(schema.get(&ROWS), "schema").into_bytes();
        for (at, length, byte) in cuts {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            let end = (at + length).min(bytes.len());
            let piece = if byte < 64 { bytes[at..end].repeat(2) } else { vec![byte] };
            bytes.splice(at..end, piece);
        }
        let values = map(serde_json::from_str(&text(values.get(&ROWS), "values")).unwrap());
        if let Err(error) = schema::validate_one(&values, &bytes, &Empty) {
            prop_assert!(!error.is_empty());
        }
    }
}
