//! Replays what Go's text/template and sprig made of templates. tests/oracle/gotmpl records the files.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;

use kzero_gotmpl::{
    Elem, Entries, FuncMap, Limits, List, Map, MissingKey, Param, Still, Str, TemplateSet, Value,
};
use serde_json::Value as Json;

/// A JSON value as Go's decoder would give it, with tagged objects for other Go types.
fn typed(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => Value::Float(n.as_f64().unwrap()),
        Json::String(s) => Value::from(s.as_str()),
        Json::Array(items) => Value::list(items.iter().map(typed).collect()),
        Json::Object(entries) => {
            if let (1, Some((key, inner))) = (entries.len(), entries.iter().next())
                && let Some(value) = tagged(key, inner)
            {
                return value;
            }
            Value::map(
                entries
                    .iter()
                    .map(|(key, value)| (key.as_str(), typed(value))),
            )
        }
    }
}

fn tagged(key: &str, inner: &Json) -> Option<Value> {
    let text = |json: &Json| Str::from(json.as_str().unwrap());
    Some(match key {
        "$int" => Value::Int(inner.as_i64().unwrap()),
        "$int64" => Value::Int64(inner.as_i64().unwrap()),
        "$uint64" => Value::Uint64(inner.as_u64().unwrap()),
        "$strings" => Value::List(List::strings(inner.as_array().unwrap().iter().map(text))),
        "$ints" => {
            let ints = inner.as_array().unwrap().iter();
            Value::List(List::typed(
                Elem::Int,
                ints.map(|i| Value::Int(i.as_i64().unwrap())).collect(),
            ))
        }
        "$strmap" => {
            let entries = inner.as_object().unwrap().iter();
            let entries: Entries = entries
                .map(|(key, value)| (Str::from(key.as_str()), Value::String(text(value))))
                .collect();
            Value::Map(Map::typed(Elem::String, entries))
        }
        "$bytes" => Value::Bytes(decode64(inner.as_str().unwrap()).into()),
        _ => return None,
    })
}

fn decode64(text: &str) -> Vec<u8> {
    let mut bits = 0_u32;
    let mut count = 0;
    let mut out = Vec::new();
    for byte in text.bytes().filter(|&byte| byte != b'=') {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    out
}

fn functions() -> FuncMap {
    let mut funcs = FuncMap::sprig();
    funcs.add("include", &[Param::String, Param::Any], None, |cx, args| {
        let name = args[0].as_str().cloned().unwrap_or_default();
        Ok(Value::String(cx.include(&name, &args[1])?))
    });
    funcs
}

fn render(template: &[u8], data: &Value, missing: MissingKey) -> Result<Vec<u8>, String> {
    let mut set = TemplateSet::new("root", functions()).missing_key(missing);
    set.parse("t.yaml", template)
        .map_err(|error| error.to_string())?;
    set.render(
        "t.yaml",
        data,
        &Still::new(1_700_000_000, 1),
        &Limits::default(),
    )
    .map_err(|error| error.to_string())
}

/// Replays one file and gives the cases that differ.
fn replay(file: &Path) -> (usize, Vec<String>) {
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines = text.lines();
    let header: Json = serde_json::from_str(lines.next().unwrap()).unwrap();
    let missing = match header["missing"].as_str().unwrap() {
        "error" => MissingKey::Error,
        "zero" => MissingKey::Zero,
        _ => MissingKey::Invalid,
    };
    let mut count = 0;
    let mut wrong = Vec::new();
    for line in lines {
        let case: Json = serde_json::from_str(line).unwrap();
        let text = |key: &str| case.get(key).and_then(Json::as_str);
        let template = text("template64")
            .map_or_else(|| text("template").unwrap().as_bytes().to_vec(), decode64);
        let expected = match text("err") {
            Some(error) => Err(error.to_owned()),
            None => Ok(text("out64")
                .map_or_else(|| text("out").unwrap_or("").as_bytes().to_vec(), decode64)),
        };
        let found = render(&template, &typed(&header["data"]), missing);
        count += 1;
        if found != expected {
            let show = |result: Result<Vec<u8>, String>| match result {
                Ok(bytes) => format!("ok  {:?}", String::from_utf8_lossy(&bytes)),
                Err(error) => format!("err {error}"),
            };
            let (want, got) = (show(expected), show(found));
            // Long outputs are shown from where they part.
            let same = want
                .bytes()
                .zip(got.bytes())
                .take_while(|(a, b)| a == b)
                .count();
            let from = |text: &str| {
                let start = if text.len() > 300 {
                    same.saturating_sub(60)
                } else {
                    0
                };
                let part = text.as_bytes().get(start..).unwrap_or_default();
                String::from_utf8_lossy(&part[..part.len().min(300)]).into_owned()
            };
            let template = String::from_utf8_lossy(&template).into_owned();
            let shown: String = template.chars().take(200).collect();
            wrong.push(format!(
                "{shown}\n  want {}\n  got  {}\n",
                from(&want),
                from(&got)
            ));
        }
    }
    (count, wrong)
}

#[test]
fn every_golden_is_rendered_as_go_renders_it() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let only = option_env!("GOLDEN");
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
        .filter(|path| only.is_none_or(|only| path.to_string_lossy().contains(only)))
        .collect();
    files.sort();
    let mut total = 0;
    let mut report = Vec::new();
    for file in files {
        let (count, wrong) = replay(&file);
        total += count;
        if !wrong.is_empty() {
            report.push(format!("== {}: {} of {count}", file.display(), wrong.len()));
            report.extend(wrong);
        }
    }
    assert!(
        total > 500 || only.is_some(),
        "goldens are missing: {total}"
    );
    assert!(report.is_empty(), "{}", report.join("\n"));
}
