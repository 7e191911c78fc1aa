//! Texts as `--set` and its family take them, on top of values that are there.

#![no_main]

use kzero_chart::values::set;
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};

fuzz_target!(|text: &str| {
    let base = || match json!({"a": {"b": {"c": 1}}, "l": [1, {"x": 2}, [3]], "n": null}) {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    let _ = set::set(&mut base(), text);
    let _ = set::set_string(&mut base(), text);
    let _ = set::set_json(&mut base(), text);
    let _ = set::set_literal(&mut base(), text);
});
