//! `--set` and its family against Helm's own parser.

use kzero_chart::values::set;
use kzero_chart::yaml::json_number;
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::{golden, none};

/// Values as the recorder shows them: integers of `--set` end in `i`.
fn show(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() => json_number(number),
        Value::Number(number) => format!("{number}i"),
        Value::Array(items) if items.len() > 100 => {
            let last = items.last().map(show).unwrap_or_default();
            format!("[{} items, last {last}]", items.len())
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(","))
        }
        Value::Object(map) => {
            let entries = map
                .iter()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), show(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

/// Numbers of files are doubles.
fn doubles(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::from(number.as_f64().unwrap_or_default()),
        Value::Array(items) => items.into_iter().map(doubles).collect(),
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| (key, doubles(value)))
            .collect::<Map<_, _>>()
            .into(),
        other => other,
    }
}

fn apply(flag: &str, values: &mut Map<String, Value>, text: &str) -> Result<(), set::SetError> {
    match flag {
        "set" => set::set(values, text),
        "set-string" => set::set_string(values, text),
        "set-file" => set::set_file(values, text, &|path| {
            Ok(Value::from(format!("content of {path}")))
        }),
        "set-json" => set::set_json(values, text),
        "set-literal" => set::set_literal(values, text),
        other => panic!("{other}"),
    }
}

#[test]
fn assignments_are_understood_as_helm_understands_them() {
    let mut wrong = Vec::new();
    let rows = golden("values/set.jsonl");
    for row in &rows {
        let (flag, text) = (
            row["flag"].as_str().unwrap_or(""),
            row["text"].as_str().unwrap_or(""),
        );
        let over: Value = serde_json::from_str(row["over"].as_str().unwrap_or("")).unwrap();
        let Value::Object(mut values) = doubles(over) else {
            panic!("{row}")
        };
        let result = apply(flag, &mut values, text);
        let error = result.err().map(|error| error.to_string());
        let got = show(&Value::Object(values));
        let want_error = row["error"].as_str();
        // What was assigned before an error is of no use to anybody; the error is.
        let equal = if want_error.is_some() {
            error.as_deref() == want_error
        } else {
            error.is_none() && Some(got.as_str()) == row["values"].as_str()
        };
        if !equal {
            wrong.push(format!(
                "--{flag} {text:?} over {}\n  got  {got} {error:?}\n  want {} {want_error:?}",
                row["over"], row["values"]
            ));
        }
    }
    none(&wrong, rows.len());
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "[a-c.=,\\[\\]0-9{}\\\\ \"-]{0,40}") {
        for flag in ["set", "set-string", "set-json", "set-literal"] {
            let _ = apply(flag, &mut Map::new(), &text);
        }
    }
}
