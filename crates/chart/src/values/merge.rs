//! Tables over tables.

use serde_json::{Map, Value};

/// Lays a values file over those before it: tables are merged, everything else is replaced, null
/// included.
pub fn merge_files(values: &mut Map<String, Value>, file: Map<String, Value>) {
    for (key, value) in file {
        match (values.get_mut(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => merge_files(old, new),
            (_, value) => {
                values.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::merge_files;

    fn table(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("{other} is no table"),
        }
    }

    #[test]
    fn later_files_win_and_null_is_a_value() {
        let mut values = table(json!({"a": {"b": 1, "c": [1, 2]}, "d": {"e": 1}, "f": 1}));
        merge_files(
            &mut values,
            table(json!({"a": {"c": [3], "n": null}, "d": 2, "f": {"g": 1}})),
        );
        let want = json!({"a": {"b": 1, "c": [3], "n": null}, "d": 2, "f": {"g": 1}});
        assert_eq!(Value::Object(values), want);
    }
}
