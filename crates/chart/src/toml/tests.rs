use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kzero_gotmpl::{Elem, List, Map, Time, Value};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{decode, encode};

fn rows(text: &str) -> Vec<Json> {
    let rows: Vec<Json> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(rows[0]["recorded_by"].is_string());
    assert!(rows.len() > 700);
    rows[1..].to_vec()
}

/// A value as the goldens spell it.
fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::list(items.iter().map(value).collect()),
        Json::Object(tagged) => {
            let (tag, inner) = tagged.iter().next().unwrap();
            let text = inner.as_str().unwrap_or_default();
            let items = || inner.as_array().unwrap().iter().map(value);
            match tag.as_str() {
                "int" => Value::Int(text.parse().unwrap()),
                "int64" => Value::Int64(text.parse().unwrap()),
                "float" => Value::Float(text.trim_start_matches('+').parse().unwrap()),
                "bytes" => Value::from(STANDARD.decode(text).unwrap()),
                "strings" => Value::List(List::typed(Elem::String, items().collect())),
                "tables" => Value::List(List::typed(Elem::Map, items().collect())),
                "map" => {
                    let entries = inner.as_object().unwrap().iter();
                    let entries = entries.map(|(key, inner)| (key.as_str(), value(inner)));
                    Value::map(entries)
                }
                other => panic!("{other}"),
            }
        }
        Json::Number(number) => panic!("{number}"),
    }
}

/// The spelling of a value.
fn shown(value: &Value) -> Json {
    if let Some(time) = Time::of(value) {
        let text = time.format("2006-01-02 15:04:05.999999999 -0700 MST");
        return json!({"time": String::from_utf8(text).unwrap()});
    }
    match value {
        Value::Bool(truth) => json!(truth),
        Value::String(text) => json!(text.to_text()),
        Value::Int64(number) => json!({"int64": number.to_string()}),
        Value::Float(_) => {
            let text = kzero_gotmpl::format("%v", std::slice::from_ref(value), 100).unwrap();
            json!({"float": text.to_text()})
        }
        Value::List(list) => {
            let items: Vec<Json> = list.items().iter().map(shown).collect();
            match list.elem() {
                Elem::Map => json!({"tables": items}),
                _ => json!(items),
            }
        }
        Value::Map(map) => {
            let entries = map.entries();
            let entries = entries
                .iter()
                .map(|(key, inner)| (key.to_text().into_owned(), shown(inner)));
            json!({"map": entries.collect::<serde_json::Map<_, _>>()})
        }
        other => panic!("{other:?}"),
    }
}

fn written(value: &Value) -> Vec<u8> {
    encode(value, 1 << 20).unwrap()
}

#[test]
fn values_are_written_as_by_the_go_library() {
    for row in rows(include_str!("../../tests/golden/toml/encode.jsonl")) {
        let value = value(&row["value"]);
        if let Some(panic) = row["panic"].as_str() {
            assert_eq!(encode(&value, 1 << 20).unwrap_err().message(), panic);
            continue;
        }
        let expected = match row["bytes"].as_str() {
            Some(bytes) => STANDARD.decode(bytes).unwrap(),
            None => row["text"].as_str().unwrap().as_bytes().to_vec(),
        };
        assert_eq!(
            String::from_utf8_lossy(&written(&value)),
            String::from_utf8_lossy(&expected),
            "{}",
            row["value"]
        );
    }
}

/// What the Go library reads although TOML forbids it: tables that are closed but added to, values that a table had
/// before, and an offset of a day.
const TOO_LENIENT: &[&str] = &[
    "k = 1979-05-27T07:32:00+24:00",
    "k = {a={b=1},a.c=2}",
    "a.b=1\na=2\n",
    "a.b=11\na=2\n",
    "[a]\nb.c=1\n[a.b]\nd=2\n",
    "[a]\nb.c=1\n[a.b] \nd=2\n",
    "a.b=1\n[a]\nc=2\n",
    "a={b=1}\n[a.c]\nd=1\n",
    "a={b=1}\na.c=2\n",
    "a={b=1}\na.c=2 \n",
];

#[test]
fn documents_are_read_as_by_the_go_library() {
    let mut wrong = Vec::new();
    let mut refused = 0;
    for row in rows(include_str!("../../tests/golden/toml/decode.jsonl")) {
        let text = row["text"].as_str().unwrap();
        match (decode(text), row.get("value")) {
            (Ok(value), Some(expected)) => {
                if shown(&value) != *expected {
                    wrong.push(format!("{text:?}: {} not {expected}", shown(&value)));
                }
                let again = row["again"].as_str().unwrap();
                assert_eq!(String::from_utf8_lossy(&written(&value)), again);
            }
            (Err(error), None) => assert!(error.starts_with("toml: "), "{error}"),
            (Ok(value), None) => {
                wrong.push(format!("{text:?}: {}: {}", shown(&value), row["error"]));
            }
            (Err(_), Some(_)) if TOO_LENIENT.contains(&text) => refused += 1,
            (Err(error), Some(expected)) => wrong.push(format!("{text:?}: {error}: {expected}")),
        }
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", wrong.len());
    assert_eq!(refused, TOO_LENIENT.len());
}

#[test]
fn complaints_name_the_line() {
    assert_eq!(
        decode("a = 1\nb = [\n  x\n]\n").unwrap_err(),
        "toml: line 3: string values must be quoted, expected literal string"
    );
}

#[test]
fn what_holds_itself_ends_in_an_error() {
    let map = Map::new();
    map.set("a".into(), Value::Map(map.clone()));
    let error = encode(&Value::Map(map.clone()), 1 << 20).unwrap_err();
    assert!(error.is_limit());
    map.remove(b"a");
    let mut list = Value::list(Vec::new());
    for _ in 0..60 {
        list = Value::list(vec![list.clone(), list]);
    }
    assert!(
        encode(&Value::map([("a", list)]), 1 << 20)
            .unwrap_err()
            .is_limit()
    );
}

#[test]
fn deep_documents_are_refused() {
    let deep = format!("a = {}{}", "[".repeat(5000), "]".repeat(5000));
    assert!(decode(&deep).unwrap_err().starts_with("toml: line 1: "));
}

proptest! {
    #[test]
    fn no_document_panics(text in "(\\[|\\]|\\{|\\}|=|,|\"|'|\\\\|\\.|a|1|-|:|T|\n| ){0,40}") {
        if let Ok(value) = decode(&text) {
            let again = String::from_utf8(written(&value)).unwrap();
            prop_assert_eq!(shown(&decode(&again).unwrap()), shown(&value));
        }
    }
}
