//! Reading and writing YAML against what Helm's library made of the same inputs.

use base64::Engine;
use kzero_chart::yaml::{decode, decode_bytes, encode, json_number};
use proptest::prelude::*;
use serde_json::Value;

use crate::{golden, none};

/// Documents to put faults into.
const DOCUMENTS: [&str; 6] = [
    "image: {repository: nginx, tag: \"1.25\"}\nargs: [--a=b, 'it''s', \"\\u00e9\\n\"]\n",
    "a: &a\n  b: |2-\n     x\n\n    y\n  c: >+\n    x\n    y\n\nd:\n  <<: *a\n",
    "%YAML 1.1\n%TAG !e! tag:x:\n---\n- !e!f &x a\n- !<y> *x\n- !!str 1\n...\n---\nb\n",
    "? - a\n  - b\n: c # d\n? {e: f}\n: [g: h, ? i : j]\n",
    "a: x\n  y\u{2028}\n\n  z\r\nb: 'x\n  y'\nc: \"x \\\n  y\"\n",
    "- - - a\n    - b\n  - c: d\n    e:\n    - f\n-\n",
];

/// JSON text as Go writes it, to compare numbers by their text.
fn go_json(value: &Value) -> String {
    match value {
        Value::Number(number) => json_number(number),
        Value::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(go_json).collect::<Vec<_>>().join(",")
            )
        }
        Value::Object(map) => {
            let entries = map
                .iter()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), go_json(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

/// Decodes what `input` takes out of each row of a file and compares.
fn replay(file: &str, input: impl Fn(&Value) -> Vec<u8>) {
    let mut wrong = Vec::new();
    let rows = golden(file);
    for row in &rows {
        let bytes = input(row);
        let got = match decode_bytes(&bytes) {
            Ok(value) => Ok(go_json(&value)),
            Err(error) => Err(error.to_string()),
        };
        let want = match (&row["json"], &row["error"]) {
            // Parsed and written again, so that escapes look alike.
            (Value::String(json), _) => match serde_json::from_str(json) {
                Ok(value) => Ok(go_json(&value)),
                Err(error) => panic!("{row}: {error}"),
            },
            (_, Value::String(error)) => Err(error.clone()),
            _ => panic!("{row}"),
        };
        if got != want {
            let text = String::from_utf8_lossy(&bytes);
            wrong.push(format!("{text:?}\n  got  {got:?}\n  want {want:?}"));
        }
    }
    none(&wrong, rows.len());
}

fn text(row: &Value) -> Vec<u8> {
    match row["yaml"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => panic!("{row}"),
    }
}

#[test]
fn texts_are_read_as_helms_library_reads_them() {
    replay("yaml/decode.jsonl", text);
}

#[test]
fn every_rule_of_syntax_is_that_of_helms_library() {
    replay("yaml/syntax.jsonl", text);
}

#[test]
fn broken_documents_are_refused_with_the_words_of_helms_library() {
    replay("yaml/mutations.jsonl", text);
}

#[test]
fn encodings_and_faults_in_them_are_found_as_helms_library_finds_them() {
    replay("yaml/bytes.jsonl", |row| {
        let text = row["base64"].as_str().expect("a text");
        base64::engine::general_purpose::STANDARD
            .decode(text)
            .expect("base64")
    });
}

/// Beyond the recorded goldens, for what Helm reads and this reader does not.
#[test]
fn nesting_has_a_bound() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(decode(&nested(500)).is_ok());
    for text in [
        nested(502),
        "[".repeat(100_000),
        "{a: ".repeat(100_000),
        "- ".repeat(100_000),
        "? ".repeat(100_000),
        // No nesting of the text, but of what the aliases stand for.
        (1..2000).fold("a0: &a0 x\n".to_owned(), |text, step| {
            text + &format!("a{step}: &a{step} [*a{}]\n", step - 1)
        }),
        (1..2000).fold("a0: &a0 {x: y}\n".to_owned(), |text, step| {
            text + &format!("a{step}: &a{step} {{<<: *a{}}}\n", step - 1)
        }),
    ] {
        let error = decode(&text).expect_err("too deep").to_string();
        assert!(error.starts_with("yaml: exceeded max depth"), "{error}");
    }
}

#[test]
fn aliases_do_not_multiply_without_bound() {
    let text = (1..40).fold("a0: &a0 [x, y]\n".to_owned(), |text, step| {
        let last = step - 1;
        text + &format!("a{step}: &a{step} [*a{last}, *a{last}]\n")
    });
    let error = decode(&text).expect_err("too large").to_string();
    assert_eq!(error, "yaml: document contains excessive aliasing");
}

#[test]
fn values_are_written_as_helms_library_writes_them() {
    let mut wrong = Vec::new();
    let rows = golden("yaml/encode.jsonl");
    for row in &rows {
        let got = encode(&row["value"]).map_err(|error| error.to_string());
        let want = match (row["yaml"].as_str(), row["error"].as_str()) {
            (Some(text), _) => Ok(text.to_owned()),
            (None, Some(error)) => Err(error.to_owned()),
            (None, None) => panic!("{row}"),
        };
        if got != want {
            wrong.push(format!("{}\n  got  {got:?}\n  want {want:?}", row["value"]));
        }
    }
    none(&wrong, rows.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}") {
        let _ = decode(&text);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(
        mark in prop::sample::select(vec![&b""[..], b"\xFF\xFE", b"\xFE\xFF", b"\xEF\xBB\xBF"]),
        rest in prop::collection::vec(any::<u8>(), 0..700),
    ) {
        let _ = decode_bytes(&[mark, &rest].concat());
    }

    #[test]
    fn no_mixture_of_indicators_makes_the_reader_panic(
        text in "[-\\n \\t:#'\"\\[\\]{},&*!|>%@?~a1<.\\\\\u{85}\u{2028}\u{FEFF}]{0,120}"
    ) {
        let _ = decode(&text);
    }

    #[test]
    fn no_fault_in_a_document_makes_the_reader_panic(
        document in prop::sample::select(DOCUMENTS.to_vec()),
        faults in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..4, "[-\\n :#'\"\\[\\]{},&*!|>%?<\\\\]{0,3}"), 1..5),
    ) {
        let mut chars: Vec<char> = document.chars().collect();
        for (place, left_out, put_in) in faults {
            let from = place.index(chars.len() + 1);
            let until = chars.len().min(from + left_out);
            chars.splice(from..until, put_in.chars());
        }
        let _ = decode(&chars.into_iter().collect::<String>());
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back(text in "[ -~\\n\\té]{0,60}", key in "[ -~]{0,20}") {
        // Helm's library writes this key as it is, and then takes it for a merge.
        prop_assume!(key != "<<");
        let value = serde_json::json!({key: [text, {"k": true}]});
        let written = encode(&value).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let read = decode(&written).map_err(|error| TestCaseError::fail(format!("{error}\n{written}")))?;
        prop_assert_eq!(read, value);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn what_is_read_is_written_and_reads_back(
        text in "[-\\n :#'\"\\[\\]{},&*!|>%?a1<.\\\\]{0,40}|(a: ?|- |\\||>|'|\"|\\n|  |x|\\t|é|~|1|\u{2028}|\u{7f}){0,30}"
    ) {
        if let Ok(value) = decode(&text) && let Ok(written) = encode(&value) {
            // `toYaml` leaves the last line break out.
            let again = decode(&format!("{written}\n"))
                .map_err(|error| TestCaseError::fail(format!("{error}\n{written}")))?;
            prop_assert_eq!(encode(&again).ok(), Some(written));
        }
    }
}
