//! Which values are the same: numbers by what they are worth, maps in any order.

use std::collections::HashMap;

use serde_json::Value;

use super::number::Decimal;

/// Lists up to here are compared item by item.
pub(super) const FEW: usize = 20;

/// How much there is to compare: its plain values, long texts as several.
pub(super) fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => 1 + text.len() / 64,
        Value::Array(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Value::Object(map) => {
            let entries = map.iter();
            let entries = entries.map(|(key, value)| 1 + key.len() / 64 + weight(value));
            1 + entries.sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

pub(super) fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || Decimal::of(one) == Decimal::of(other)
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let same = |(key, one)| other.get(key).is_some_and(|other| equal(one, other));
            one.len() == other.len() && one.iter().all(same)
        }
        _ => one == other,
    }
}

/// The first item that was there before, behind where it was.
pub(super) fn repeated(items: &[Value]) -> Option<(usize, usize)> {
    if items.len() <= FEW {
        return items.iter().enumerate().find_map(|(at, item)| {
            let before = items
                .iter()
                .take(at)
                .position(|before| equal(item, before))?;
            Some((before, at))
        });
    }
    let mut known: HashMap<String, usize> = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        let mut key = String::new();
        write_key(&mut key, item);
        if let Some(before) = known.get(&key) {
            return Some((*before, at));
        }
        known.insert(key, at);
    }
    None
}

/// A text that equal values have in common, and no others.
fn write_key(out: &mut String, value: &Value) {
    match value {
        Value::Number(number) => out.push_str(&format!("{:?}", Decimal::of(number))),
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_key(out, item);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (key, value) in map {
                out.push_str(&format!("{key:?}:"));
                write_key(out, value);
                out.push(',');
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{equal, repeated};

    #[test]
    fn numbers_are_the_same_by_their_worth() {
        assert!(equal(&json!({"a": [1, 2.0]}), &json!({"a": [1.0, 2]})));
        assert!(!equal(&json!(1), &json!("1")) && !equal(&json!([1]), &json!([1, 2])));
    }

    #[test]
    fn the_first_repetition_is_found_in_short_and_long_lists() {
        assert_eq!(repeated(&[json!(1), json!("1"), json!(1.0)]), Some((0, 2)));
        let mut long: Vec<Value> = (0..30).map(|at| json!({ "a": at })).collect();
        assert_eq!(repeated(&long), None);
        long.push(json!({ "a": 7.0 }));
        assert_eq!(repeated(&long), Some((7, 30)));
    }
}
