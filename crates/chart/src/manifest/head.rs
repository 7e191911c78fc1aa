//! What Helm reads of a document before it is applied.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::fields::{Cx, Fill, Record, read};
use crate::yaml::Target;

/// Documents with more nodes are refused.
const MAX_NODES: usize = 4_000_000;

/// The head of a document.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) annotations: BTreeMap<String, String>,
}

impl Head {
    /// Reads the head of a document. The error is Helm's text.
    pub(super) fn read(document: &[u8]) -> Result<Self, String> {
        let mut found: Option<Box<Self>> = Some(Box::default());
        read(document, &mut found, &mut { MAX_NODES })?;
        Ok(found.map(|head| *head).unwrap_or_default())
    }
}

/// `metadata`, as far as it is read.
#[derive(Debug, Default)]
struct Meta {
    name: String,
    annotations: BTreeMap<String, String>,
}

impl Record for Head {
    const NAME: &'static str = "releaseutil.SimpleHead";
    const FIELDS: Target = Target::Fields(&[
        ("apiVersion", Target::Text),
        ("kind", Target::Text),
        ("metadata", Meta::FIELDS),
    ]);

    fn fill_fields(&mut self, cx: &mut Cx, map: &Map<String, Value>) {
        cx.fields(
            "SimpleHead",
            &Self::FIELDS,
            map,
            |cx, name, value| match name {
                "apiVersion" => self.api_version.fill(cx, value),
                "kind" => self.kind.fill(cx, value),
                _ => {
                    let mut meta = Some(Box::new(Meta {
                        name: std::mem::take(&mut self.name),
                        annotations: std::mem::take(&mut self.annotations),
                    }));
                    meta.fill(cx, value);
                    let meta = meta.unwrap_or_default();
                    self.name = meta.name;
                    self.annotations = meta.annotations;
                }
            },
        );
    }
}

impl Record for Meta {
    const NAME: &'static str = r#"struct { Name string "json:\"name\""; Annotations map[string]string "json:\"annotations\"" }"#;
    const FIELDS: Target = Target::Fields(&[
        ("name", Target::Text),
        ("annotations", <BTreeMap<String, String>>::TARGET),
    ]);

    fn fill_fields(&mut self, cx: &mut Cx, map: &Map<String, Value>) {
        // A struct without a name, to Go.
        cx.fields("", &Self::FIELDS, map, |cx, name, value| match name {
            "name" => self.name.fill(cx, value),
            _ => self.annotations.fill(cx, value),
        });
    }
}
