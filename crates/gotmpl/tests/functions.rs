//! Every function Helm knows is there, takes what Go's takes, and has a golden.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeSet;
use std::path::Path;

use kzero_gotmpl::FuncMap;
use serde_json::Value as Json;

/// What `text/template` defines itself, with how many arguments each takes at least and whether it takes more.
const BUILTINS: &[(&str, usize, bool)] = &[
    ("and", 1, true),
    ("call", 1, true),
    ("eq", 1, true),
    ("ge", 2, false),
    ("gt", 2, false),
    ("html", 0, true),
    ("index", 1, true),
    ("js", 0, true),
    ("le", 2, false),
    ("len", 1, false),
    ("lt", 2, false),
    ("ne", 2, false),
    ("not", 1, false),
    ("or", 1, true),
    ("print", 0, true),
    ("printf", 1, true),
    ("println", 0, true),
    ("urlquery", 0, true),
];

fn signatures() -> Vec<Json> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/signatures.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_function_takes_what_go_s_takes() {
    let funcs = FuncMap::sprig();
    for signature in signatures() {
        let name = signature["name"].as_str().unwrap();
        let mut wanted: Vec<&str> = signature["in"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap())
            .collect();
        let rest = signature["variadic"]
            .as_bool()
            .unwrap()
            .then(|| wanted.pop().unwrap());
        assert_eq!(funcs.signature(name), Some((wanted, rest)), "{name}");
    }
    for &(name, count, more) in BUILTINS {
        assert_eq!(funcs.arity(name), Some((count, more)), "{name}");
    }
}

#[test]
fn there_are_no_functions_but_those_of_go_and_sprig() {
    let mut wanted: BTreeSet<String> = BUILTINS.iter().map(|(name, ..)| (*name).into()).collect();
    wanted.extend(
        signatures()
            .iter()
            .map(|row| row["name"].as_str().unwrap().to_owned()),
    );
    let found: BTreeSet<String> = FuncMap::sprig().names().into_iter().collect();
    assert_eq!(found, wanted);
    assert!(!found.contains("env") && !found.contains("expandenv"));
}

#[test]
fn every_function_has_a_golden() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut words = BTreeSet::new();
    for file in std::fs::read_dir(dir).unwrap() {
        let path = file.unwrap().path();
        if path.to_string_lossy().contains("random") {
            continue;
        }
        for line in std::fs::read_to_string(path).unwrap().lines().skip(1) {
            let case: Json = serde_json::from_str(line).unwrap();
            let template = case["template"].as_str().unwrap_or("").to_owned();
            words.extend(
                template
                    .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                    .map(ToOwned::to_owned),
            );
        }
    }
    // An address of a host differs from place to place; what the ambient gives is tested beside the code.
    let without = ["getHostByName"];
    let missing: Vec<String> = FuncMap::sprig()
        .names()
        .into_iter()
        .filter(|name| !words.contains(name) && !without.contains(&name.as_str()))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
