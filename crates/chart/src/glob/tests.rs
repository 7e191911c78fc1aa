use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::Value;

use super::{Glob, GlobError};

fn rows() -> Vec<Value> {
    let text = include_str!("../../tests/golden/glob.jsonl");
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(rows[0]["recorded_by"].is_string());
    assert!(rows.len() > 3000);
    rows[1..].to_vec()
}

/// The pattern of a row; one that is no UTF-8 as the renderer reads it.
fn pattern(row: &Value) -> String {
    match row["bytes"].as_str() {
        Some(bytes) => String::from_utf8_lossy(&STANDARD.decode(bytes).unwrap()).into_owned(),
        None => row["pattern"].as_str().unwrap().to_owned(),
    }
}

#[test]
fn patterns_match_as_those_of_the_go_library() {
    let mut wrong = Vec::new();
    for row in rows() {
        let pattern = pattern(&row);
        let glob = Glob::new(&pattern);
        if row["invalid"] == true {
            if glob.err() != Some(GlobError::Invalid) {
                wrong.push(format!("{pattern:?} is no pattern"));
            }
            continue;
        }
        let Ok(glob) = glob else {
            wrong.push(format!("{pattern:?} is a pattern"));
            continue;
        };
        for (path, expected) in row["paths"].as_object().unwrap() {
            let found = match glob.matches(path) {
                Ok(matched) => Value::Bool(matched),
                Err(error) => Value::String(error.to_string()),
            };
            if found != *expected {
                wrong.push(format!("{pattern:?} and {path:?}: {found}, not {expected}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{}: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(20)]
    );
}

#[test]
fn hostile_patterns_give_up() {
    let stars = format!("x{}b", "*a".repeat(300));
    let path = format!("{}b", "a".repeat(4000));
    let glob = Glob::new(&stars).unwrap();
    assert_eq!(glob.matches(&path), Err(GlobError::TooMuchWork));
    assert_eq!(glob.matches("x"), Err(GlobError::TooMuchWork));
    assert!(glob.work() > 1_000_000);
}

#[test]
fn large_patterns_are_refused() {
    assert_eq!(
        Glob::new(&"a".repeat(5000)).err(),
        Some(GlobError::TooLarge)
    );
    assert_eq!(
        Glob::new(&"*a".repeat(1000)).err(),
        Some(GlobError::TooLarge)
    );
    assert_eq!(Glob::new(&"{".repeat(100)).err(), Some(GlobError::TooLarge));
    assert!(Glob::new(&"{a,".repeat(60)).is_ok());
    assert!(Glob::new(&"a?**".repeat(300)).is_ok());
}

proptest! {
    #[test]
    fn no_pattern_panics(pattern in r"[a\*\?\[\]\{\},!\\/é-]{0,40}", path in "[a/éb]{0,20}") {
        if let Ok(glob) = Glob::new(&pattern) {
            let _ = glob.matches(&path);
        }
    }
}
