//! What of an object may not be shown, and what is shown in its place.
//!
//! The placeholder tells a change from none: it carries the size and a hash, keyed anew in each run, so that a weak secret
//! cannot be guessed from it later.

use jsonpath_rust::JsonPath as _;
use jsonpath_rust::parser::parse_json_path;
use jsonpath_rust::query::queryable::Queryable;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::directives::Directives;
use crate::resource::text;

/// A path to parts of an object, such as `$.data.password`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPath(String);

impl JsonPath {
    /// Checks a path.
    ///
    /// # Errors
    ///
    /// Where it does not read, in a few words.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        match parse_json_path(text) {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(error) => {
                let error = error.to_string();
                Err(error.lines().next().unwrap_or_default().trim().to_owned())
            }
        }
    }
}

/// Hides secrets of one run.
#[derive(Clone)]
pub struct Mask {
    key: [u8; 32],
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mask")
    }
}

impl Mask {
    /// A mask with the key of a run; it should be random.
    #[must_use]
    pub fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    /// What is shown for a value: its size and a hash of it.
    #[must_use]
    pub fn placeholder(&self, value: &Value) -> String {
        let (size, bytes) = match value {
            Value::Null => return "null".to_owned(),
            Value::String(text) => (format!("{} bytes", text.len()), text.clone().into_bytes()),
            Value::Array(items) => (
                format!("{} items", items.len()),
                value.to_string().into_bytes(),
            ),
            Value::Object(map) => (
                format!("{} entries", map.len()),
                value.to_string().into_bytes(),
            ),
            Value::Bool(_) | Value::Number(_) => {
                ("a value".to_owned(), value.to_string().into_bytes())
            }
        };
        let mut hash = Sha256::new();
        hash.update(self.key);
        hash.update(&bytes);
        let digest = hash.finalize();
        let shown: String = digest
            .iter()
            .take(6)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("(hidden: {size}, {shown})")
    }

    /// Hides what is secret in an object: data of a Secret, and what its annotations name.
    pub fn hide(&self, object: &mut Value, directives: &Directives) {
        let is_secret = text(object, "/kind") == "Secret" && text(object, "/apiVersion") == "v1";
        if !directives.sensitive_paths.is_empty() {
            for path in &directives.sensitive_paths {
                self.hide_path(object, path);
            }
            return;
        }
        match directives.sensitive {
            Some(false) => {}
            Some(true) if !is_secret => {
                for (key, value) in object.as_object_mut().into_iter().flatten() {
                    if !matches!(key.as_str(), "apiVersion" | "kind" | "metadata") {
                        self.hide_leaves(value);
                    }
                }
            }
            Some(true) | None if is_secret => {
                for table in ["data", "stringData"] {
                    for (_, value) in object
                        .get_mut(table)
                        .and_then(Value::as_object_mut)
                        .into_iter()
                        .flatten()
                    {
                        *value = self.placeholder(value).into();
                    }
                }
                // kubectl keeps a whole copy of the object here.
                self.hide_path(
                    object,
                    "$.metadata.annotations['kubectl.kubernetes.io/last-applied-configuration']",
                );
            }
            Some(true) | None => {}
        }
    }

    fn hide_path(&self, object: &mut Value, path: &str) {
        let Ok(places) = object.query_only_path(path) else {
            return;
        };
        for place in places {
            if let Some(value) = object.reference_mut(place) {
                *value = self.placeholder(value).into();
            }
        }
    }

    fn hide_leaves(&self, value: &mut Value) {
        match value {
            Value::Object(map) => map.values_mut().for_each(|value| self.hide_leaves(value)),
            Value::Array(items) => items.iter_mut().for_each(|value| self.hide_leaves(value)),
            leaf => *leaf = self.placeholder(leaf).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{JsonPath, Mask};
    use crate::directives::Directives;

    #[test]
    fn secrets_are_hidden_and_a_change_still_shows() {
        let mask = Mask::new([7; 32]);
        let hide = |password: &str| {
            let mut object = json!({"apiVersion": "v1", "kind": "Secret", "data": {"password": password},
                "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": password}}});
            mask.hide(&mut object, &Directives::default());
            object
        };
        let (a, b) = (hide("aHVudGVyMg=="), hide("aHVudGVyMw=="));
        assert!(!a.to_string().contains("aHVudGVy"), "{a}");
        assert_ne!(a, b);
        assert_eq!(a, hide("aHVudGVyMg=="));
        let other = Mask::new([8; 32]);
        assert_ne!(
            mask.placeholder(&json!("x")),
            other.placeholder(&json!("x"))
        );
    }

    #[test]
    fn paths_and_switches_say_what_else_is_secret() {
        let mask = Mask::new([7; 32]);
        let mut object = json!({"kind": "ConfigMap", "data": {"a": "plain", "b": "hidden"}, "spec": {"l": [{"t": "x"}, {"t": "y"}]}});
        let mut directives = Directives {
            sensitive_paths: vec![
                "$.data.b".into(),
                "$.spec.l[*].t".into(),
                "$.not.there".into(),
            ],
            ..Directives::default()
        };
        mask.hide(&mut object, &directives);
        assert_eq!(object["data"]["a"], "plain");
        assert!(
            object["data"]["b"]
                .as_str()
                .unwrap()
                .starts_with("(hidden: 6 bytes, ")
        );
        assert!(
            object["spec"]["l"][1]["t"]
                .as_str()
                .unwrap()
                .starts_with("(hidden")
        );
        directives = Directives {
            sensitive: Some(true),
            ..Directives::default()
        };
        mask.hide(&mut object, &directives);
        assert!(object["data"]["a"].as_str().unwrap().starts_with("(hidden"));
        let mut open = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "b"}});
        mask.hide(
            &mut open,
            &Directives {
                sensitive: Some(false),
                ..Directives::default()
            },
        );
        assert_eq!(open["data"]["a"], "b");
    }

    #[test]
    fn a_path_that_does_not_read_says_so() {
        assert!(JsonPath::parse("$.data.x").is_ok());
        assert!(JsonPath::parse("").is_err());
        assert!(JsonPath::parse("$.data[").is_err());
    }
}
