//! JSON values into fields, as Go's JSON does it for Chart.yaml and its kin.
//!
//! The first value of a wrong kind is the error, but all others are still read; names differ in case
//! only where no name is equal; what is read twice is laid over what is there.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::yaml::{Target, decode_for, folded};

/// Reads YAML over `into`, and says whether there was more than null, which changes nothing.
/// The nodes are taken from the bound.
/// The error is Helm's text.
pub(crate) fn read<T: Fill>(bytes: &[u8], into: &mut T, bound: &mut usize) -> Result<bool, String> {
    let value = decode_for(bytes, const { &T::TARGET }, bound)
        .map_err(|error| format!("error converting YAML to JSON: {error}"))?;
    let mut cx = Cx::default();
    if !value.is_null() {
        into.fill(&mut cx, &value);
    }
    match cx.into_error() {
        Some(error) => Err(format!(
            "error unmarshaling JSON: while decoding JSON: {error}"
        )),
        None => Ok(!value.is_null()),
    }
}

/// Where reading is, and the first error.
#[derive(Default)]
pub(crate) struct Cx {
    path: Vec<&'static str>,
    owner: &'static str,
    error: Option<String>,
    /// An error that ends the reading and goes before the first.
    end: Option<String>,
}

impl Cx {
    /// The error, if there was one.
    pub(crate) fn into_error(self) -> Option<String> {
        self.end.or(self.error)
    }

    /// Notes that a value is of another kind than its place.
    pub(crate) fn mismatch(&mut self, value: &Value, kind: &str) {
        let found = match value {
            Value::Null => return,
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let place = if self.path.is_empty() {
            "Go value".to_owned()
        } else {
            format!("Go struct field {}.{}", self.owner, self.path.join("."))
        };
        self.error.get_or_insert_with(|| {
            format!("json: cannot unmarshal {found} into {place} of type {kind}")
        });
    }

    /// Notes an error after which Go reads no further.
    pub(crate) fn fail(&mut self, error: String) {
        self.end.get_or_insert(error);
    }

    /// Reads the fields of an object: `fill` is called with the name of the field that a key stands for.
    pub(crate) fn fields(
        &mut self,
        owner: &'static str,
        target: &Target,
        map: &Map<String, Value>,
        mut fill: impl FnMut(&mut Self, &'static str, &Value),
    ) {
        let Target::Fields(fields) = target else {
            return;
        };
        for (key, value) in map {
            let exact = fields.iter().find(|(name, _)| name == key);
            let found =
                exact.or_else(|| fields.iter().find(|(name, _)| folded(name) == folded(key)));
            if let Some((name, _)) = found {
                let outer = std::mem::replace(&mut self.owner, owner);
                self.path.push(name);
                fill(self, name, value);
                self.path.pop();
                self.owner = outer;
            }
        }
    }
}

/// What can be read from JSON.
pub(crate) trait Fill: Default {
    /// The shape.
    const TARGET: Target;
    /// Go's name of the type.
    fn kind() -> String;
    /// Lays a value over what is there.
    fn fill(&mut self, cx: &mut Cx, value: &Value);
}

impl Fill for String {
    const TARGET: Target = Target::Text;
    fn kind() -> String {
        "string".to_owned()
    }
    fn fill(&mut self, cx: &mut Cx, value: &Value) {
        match value {
            Value::Null => {}
            Value::String(text) => self.clone_from(text),
            other => cx.mismatch(other, "string"),
        }
    }
}

impl Fill for bool {
    const TARGET: Target = Target::Any;
    fn kind() -> String {
        "bool".to_owned()
    }
    fn fill(&mut self, cx: &mut Cx, value: &Value) {
        match value {
            Value::Null => {}
            Value::Bool(value) => *self = *value,
            other => cx.mismatch(other, "bool"),
        }
    }
}

impl Fill for Value {
    const TARGET: Target = Target::Any;
    fn kind() -> String {
        "interface {}".to_owned()
    }
    fn fill(&mut self, _: &mut Cx, value: &Value) {
        self.clone_from(value);
    }
}

impl<T: Fill> Fill for Option<Vec<T>> {
    const TARGET: Target = Target::List(&T::TARGET);
    fn kind() -> String {
        format!("[]{}", T::kind())
    }
    fn fill(&mut self, cx: &mut Cx, value: &Value) {
        match value {
            Value::Null => *self = None,
            Value::Array(items) => {
                let list = self.get_or_insert_default();
                list.resize_with(items.len(), T::default);
                for (place, item) in list.iter_mut().zip(items) {
                    place.fill(cx, item);
                }
            }
            other => cx.mismatch(other, &Self::kind()),
        }
    }
}

impl<T: Fill> Fill for BTreeMap<String, T> {
    const TARGET: Target = Target::Map(&T::TARGET);
    fn kind() -> String {
        format!("map[string]{}", T::kind())
    }
    fn fill(&mut self, cx: &mut Cx, value: &Value) {
        match value {
            Value::Null => self.clear(),
            Value::Object(map) => {
                for (key, value) in map {
                    let mut item = T::default();
                    item.fill(cx, value);
                    self.insert(key.clone(), item);
                }
            }
            other => cx.mismatch(other, &Self::kind()),
        }
    }
}

/// A pointer of Go: null takes it away.
impl<T: Record> Fill for Option<Box<T>> {
    const TARGET: Target = T::FIELDS;
    fn kind() -> String {
        format!("*{}", T::NAME)
    }
    fn fill(&mut self, cx: &mut Cx, value: &Value) {
        match value {
            Value::Null => *self = None,
            Value::Object(map) => {
                let record = self.get_or_insert_default();
                record.fill_fields(cx, map);
            }
            other => {
                self.get_or_insert_default();
                cx.mismatch(other, T::NAME);
            }
        }
    }
}

/// A struct of Go.
pub(crate) trait Record: Default {
    /// Go's name with its package.
    const NAME: &'static str;
    /// The fields.
    const FIELDS: Target;
    /// Lays the values of an object over the fields.
    fn fill_fields(&mut self, cx: &mut Cx, map: &Map<String, Value>);
}
