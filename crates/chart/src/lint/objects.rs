//! Objects of Kubernetes in rendered files, as Helm's linter reads them: a stream of JSON, or YAML documents.

use std::collections::BTreeMap;

use kzero_gotmpl::from_json;
use serde_json::{Map, Value};

use crate::fields::{Cx, Fill, Record, read};
use crate::yaml::Target;

/// Documents with more nodes are refused.
const MAX_NODES: usize = 4_000_000;
const SEPARATOR: &str = "---";

/// What the rules ask of an object.
#[derive(Debug, Default)]
pub(super) struct Object {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
}

impl Record for Object {
    const NAME: &'static str = "rules.K8sYamlStruct";
    const FIELDS: Target = Target::Fields(&[
        ("apiVersion", Target::Text),
        ("Kind", Target::Text),
        ("Metadata", Meta::TARGET),
    ]);

    fn fill_fields(&mut self, cx: &mut Cx, map: &Map<String, Value>) {
        cx.fields(
            "K8sYamlStruct",
            &Self::FIELDS,
            map,
            |cx, name, value| match name {
                "apiVersion" => self.api_version.fill(cx, value),
                "Kind" => self.kind.fill(cx, value),
                _ => {
                    let mut meta = Meta {
                        name: std::mem::take(&mut self.name),
                    };
                    meta.fill(cx, value);
                    self.name = meta.name;
                }
            },
        );
    }
}

#[derive(Debug, Default)]
struct Meta {
    name: String,
}

impl Fill for Meta {
    const TARGET: Target = Target::Fields(&[("Namespace", Target::Text), ("Name", Target::Text)]);
    fn kind() -> String {
        "rules.k8sYamlMetadata".to_owned()
    }
    fn fill(&mut self, cx: &mut Cx, value: &Value) {
        match value {
            Value::Null => {}
            Value::Object(map) => {
                cx.fields("k8sYamlMetadata", &Self::TARGET, map, |cx, name, value| {
                    if name == "Name" {
                        self.name.fill(cx, value);
                    } else {
                        String::new().fill(cx, value);
                    }
                });
            }
            other => cx.mismatch(other, &Self::kind()),
        }
    }
}

/// The objects of a file, one after the other; none where a document is null. An error ends them.
pub(super) struct Documents<'c> {
    whole: &'c str,
    rest: &'c str,
    /// Whether it may still be JSON, and how many objects were.
    json: Option<usize>,
    /// What was wrong with it as JSON.
    no_json: Option<String>,
    done: bool,
}

impl<'c> Documents<'c> {
    pub(super) fn new(content: &'c str) -> Self {
        Self {
            whole: content,
            rest: content,
            json: content.trim_start().starts_with('{').then_some(0),
            no_json: None,
            done: false,
        }
    }

    /// The next object of a stream of JSON; none if it is to be read as YAML.
    fn next_json(&mut self, count: usize) -> Option<Result<Option<Object>, String>> {
        let mut stream = serde_json::Deserializer::from_str(self.rest).into_iter::<Value>();
        let error = match stream.next() {
            None => {
                self.done = true;
                return None;
            }
            Some(Ok(value)) => match Object::of(&value) {
                Ok(object) => {
                    self.rest = self.rest.get(stream.byte_offset()..).unwrap_or_default();
                    self.json = Some(count + 1);
                    return Some(Ok(object));
                }
                Err(error) => error,
            },
            Some(Err(error)) => self.syntax(&error),
        };
        if count > 1 {
            return Some(Err(error));
        }
        self.json = None;
        self.no_json = Some(error);
        let blank = self.rest.len() - self.rest.trim_start().len();
        let line = self.rest.find('\n').map_or(usize::MAX, |at| at + 1);
        self.rest = self.rest.get(blank.min(line)..).unwrap_or_default();
        None
    }

    /// Broken JSON, in Go's words.
    fn syntax(&self, error: &serde_json::Error) -> String {
        let words = from_json(self.rest.as_bytes()).err();
        let words = words.map_or_else(|| error.to_string(), |words| words.to_string());
        if error.is_eof() {
            return "unexpected EOF".to_owned();
        }
        let lines = self.rest.split_inclusive('\n');
        let before: usize = lines
            .take(error.line().saturating_sub(1))
            .map(str::len)
            .sum();
        let offset = self.whole.len() - self.rest.len() + before + error.column();
        format!("json: offset {offset}: {words}")
    }

    /// The next document of YAML; none at the end.
    fn next_yaml(&mut self) -> Option<Result<Option<Object>, String>> {
        let document = match self.document() {
            Ok(document) => document?,
            Err(error) => return Some(Err(self.no_json.take().unwrap_or(error))),
        };
        let mut object: Option<Box<Object>> = Some(Box::default());
        Some(
            match read(document.as_bytes(), &mut object, &mut { MAX_NODES }) {
                Ok(true) => Ok(object.map(|object| *object)),
                Ok(false) => Ok(None),
                Err(error) => Err(self.no_json.take().unwrap_or(error)),
            },
        )
    }

    fn document(&mut self) -> Result<Option<String>, String> {
        let mut document = String::new();
        while !self.rest.is_empty() {
            let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
            self.rest = rest;
            let line = line.strip_suffix('\r').unwrap_or(line);
            if let Some(after) = line.strip_prefix(SEPARATOR) {
                let after = after.trim();
                if !after.is_empty() && !after.starts_with('#') {
                    return Err(format!("invalid Yaml document separator: {after}"));
                }
                if !document.is_empty() {
                    return Ok(Some(document));
                }
            }
            document.push_str(line);
            document.push('\n');
        }
        Ok(Some(document).filter(|document| !document.is_empty()))
    }
}

impl Object {
    /// An object of JSON; none if it is null.
    fn of(value: &Value) -> Result<Option<Self>, String> {
        let mut cx = Cx::default();
        let mut object: Option<Box<Self>> = None;
        object.fill(&mut cx, value);
        match cx.into_error() {
            Some(error) => Err(error),
            None => Ok(object.map(|object| *object)),
        }
    }
}

impl Iterator for Documents<'_> {
    type Item = Result<Option<Object>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let mut found = None;
        if let Some(count) = self.json {
            found = self.next_json(count);
        }
        if found.is_none() && !self.done && self.json.is_none() {
            found = self.next_yaml();
        }
        self.done = !matches!(found, Some(Ok(_)));
        found
    }
}

/// The annotations of an item of a List.
#[derive(Debug, Default)]
struct Item(BTreeMap<String, String>);

/// `metadata` of an item.
const ITEM_META: Target = Target::Fields(&[("Annotations", <BTreeMap<String, String>>::TARGET)]);

impl Fill for Item {
    const TARGET: Target = Target::Fields(&[("Metadata", ITEM_META)]);
    fn kind() -> String {
        "struct { Metadata struct { Annotations map[string]string } }".to_owned()
    }
    fn fill(&mut self, cx: &mut Cx, value: &Value) {
        match value {
            Value::Null => {}
            Value::Object(map) => cx.fields("", &Self::TARGET, map, |cx, _, value| match value {
                Value::Null => {}
                Value::Object(meta) => {
                    cx.fields("", &ITEM_META, meta, |cx, _, value| self.0.fill(cx, value));
                }
                other => cx.mismatch(other, "struct { Annotations map[string]string }"),
            }),
            other => cx.mismatch(other, &Self::kind()),
        }
    }
}

#[derive(Debug, Default)]
struct List {
    items: Option<Vec<Item>>,
}

impl Record for List {
    const NAME: &'static str =
        "struct { Items []struct { Metadata struct { Annotations map[string]string } } }";
    const FIELDS: Target = Target::Fields(&[("Items", <Option<Vec<Item>>>::TARGET)]);

    fn fill_fields(&mut self, cx: &mut Cx, map: &Map<String, Value>) {
        cx.fields("", &Self::FIELDS, map, |cx, _, value| {
            self.items.fill(cx, value);
        });
    }
}

/// Whether an item of the first document, a List, has a resource policy, which nobody looks at there.
pub(super) fn has_kept_items(content: &str) -> Result<bool, String> {
    let mut list: Option<Box<List>> = Some(Box::default());
    read(content.as_bytes(), &mut list, &mut { MAX_NODES })?;
    let mut items = list.into_iter().filter_map(|list| list.items).flatten();
    Ok(items.any(|item| item.0.contains_key("helm.sh/resource-policy")))
}
