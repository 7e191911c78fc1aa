//! The types of `metadata`: what the API server could not read is refused in the words in which Helm refuses it.

use serde_json::Value;

use super::shape;

/// What a field of `metadata` must be.
#[derive(Debug, Clone, Copy)]
enum Type {
    Text,
    Texts,
    TextMap,
    References,
}

/// In the order of the alphabet, in which Go reads them.
const FIELDS: &[(&str, Type)] = &[
    ("annotations", Type::TextMap),
    ("finalizers", Type::Texts),
    ("generateName", Type::Text),
    ("labels", Type::TextMap),
    ("name", Type::Text),
    ("namespace", Type::Text),
    ("ownerReferences", Type::References),
];

impl Type {
    /// Go's name of the type.
    const fn go(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Texts => "[]string",
            Self::TextMap => "map[string]string",
            Self::References => "[]v1.OwnerReference",
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Texts => "a list of texts",
            Self::TextMap => "a mapping of texts",
            Self::References => "a list of mappings",
        }
    }
}

/// A field of another type than the API server reads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mistyped {
    /// Where it is, such as `metadata.labels.tier`.
    pub(super) place: String,
    /// Helm's words.
    pub(super) said: String,
    /// What was expected, and what is there.
    pub(super) expected: String,
}

/// The first field of `metadata` that is of another type than the API server reads.
pub(super) fn mistyped(object: &Value) -> Option<Mistyped> {
    let metadata = object.get("metadata").filter(|found| !found.is_null())?;
    let Some(fields) = metadata.as_object() else {
        return Some(fault(
            "metadata",
            "",
            "v1.ObjectMeta",
            "a mapping",
            metadata,
        ));
    };
    FIELDS.iter().find_map(|(name, wanted)| {
        let value = fields.get(*name).filter(|value| !value.is_null())?;
        check(name, *wanted, value)
    })
}

fn check(name: &str, wanted: Type, value: &Value) -> Option<Mistyped> {
    let place = format!("metadata.{name}");
    let whole = || Some(fault(&place, &place, wanted.go(), wanted.word(), value));
    let text = |key: &dyn std::fmt::Display, inner: &Value| {
        let is_text = inner.is_string() || inner.is_null();
        let inner_place = format!("{place}.{key}");
        (!is_text).then(|| fault(&inner_place, &place, "string", "a text", inner))
    };
    match (wanted, value) {
        (Type::Text, Value::String(_)) => None,
        (Type::Texts, Value::Array(list)) => {
            let mut numbered = list.iter().enumerate();
            numbered.find_map(|(number, inner)| text(&number, inner))
        }
        (Type::TextMap, Value::Object(map)) => map.iter().find_map(|(key, inner)| text(key, inner)),
        (Type::References, Value::Array(list)) => {
            let wrong = list.iter().find(|inner| !inner.is_object())?;
            Some(fault(
                &place,
                &place,
                "v1.OwnerReference",
                "a mapping",
                wrong,
            ))
        }
        _ => whole(),
    }
}

fn fault(place: &str, field: &str, go: &str, wanted: &str, found: &Value) -> Mistyped {
    let kind = match found {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let field = match field {
        "" => "ObjectMeta.metadata".to_owned(),
        field => format!("ObjectMeta.{field}"),
    };
    let quoted = match (wanted, found) {
        ("a text", Value::Number(_) | Value::Bool(_)) => {
            format!("; in quotes it is one: \"{found}\"")
        }
        _ => String::new(),
    };
    Mistyped {
        place: place.to_owned(),
        said: format!(
            "unable to decode \"\": json: cannot unmarshal {kind} into Go struct field {field} of type {go}"
        ),
        expected: format!("must be {wanted} and is {}{quoted}", shape(found)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::mistyped;

    /// The words are those that Helm 3.22.0 said to the same documents.
    #[test]
    fn other_types_than_the_servers_are_told_in_helms_words() {
        for (metadata, said) in [
            (
                json!({"name": 123}),
                "number into Go struct field ObjectMeta.metadata.name of type string",
            ),
            (
                json!({"name": "a", "namespace": 5}),
                "number into Go struct field ObjectMeta.metadata.namespace of type string",
            ),
            (
                json!({"labels": "abc"}),
                "string into Go struct field ObjectMeta.metadata.labels of type map[string]string",
            ),
            (
                json!({"labels": ["a"]}),
                "array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
            ),
            (
                json!({"labels": {"a": 1}}),
                "number into Go struct field ObjectMeta.metadata.labels of type string",
            ),
            (
                json!({"annotations": {"a": 1}}),
                "number into Go struct field ObjectMeta.metadata.annotations of type string",
            ),
            (
                json!({"finalizers": "abc"}),
                "string into Go struct field ObjectMeta.metadata.finalizers of type []string",
            ),
            (
                json!({"ownerReferences": "abc"}),
                "string into Go struct field ObjectMeta.metadata.ownerReferences of type []v1.OwnerReference",
            ),
        ] {
            let found = mistyped(&json!({ "metadata": metadata })).unwrap();
            assert_eq!(
                found.said,
                format!("unable to decode \"\": json: cannot unmarshal {said}")
            );
        }
        let labels = mistyped(&json!({"metadata": {"labels": {"tier": 1}}})).unwrap();
        assert_eq!(labels.place, "metadata.labels.tier");
        assert_eq!(
            labels.expected,
            "must be a text and is a number; in quotes it is one: \"1\""
        );
    }

    #[test]
    fn what_the_server_reads_is_taken() {
        for metadata in [
            json!(null),
            json!({}),
            json!({"name": null, "labels": null, "annotations": {"a": null}}),
            json!({"name": "a", "labels": {"a": "1"}, "finalizers": ["x"], "ownerReferences": [{}], "more": 5}),
        ] {
            assert_eq!(
                mistyped(&json!({ "metadata": metadata })),
                None,
                "{metadata}"
            );
        }
        assert_eq!(mistyped(&Value::Null), None);
    }
}
