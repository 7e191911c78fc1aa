//! What Helm reads of a document before it is applied.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::fields::{Cx, Fill, Record, read};
use crate::yaml::Target;
use crate::yaml::lines::{self, Block, Scalar, Sink};

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
        if let Some(head) = glance(document) {
            return Ok(head);
        }
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

/// The head of a document whose lines are plain, as most are.
fn glance(document: &[u8]) -> Option<Head> {
    let text = std::str::from_utf8(document).ok()?;
    // Of so short a text no bound is reached.
    if text.len() > MAX_NODES / 8 {
        return None;
    }
    let mut glance = Glance::default();
    lines::read(text, &mut glance)?;
    Some(glance.head)
}

/// Which field a value is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Field {
    /// None: the whole document.
    #[default]
    Root,
    ApiVersion,
    Kind,
    Metadata,
    Name,
    Annotations,
    Annotation,
    Other,
}

impl Field {
    /// The field of a key in a mapping that is a field itself; `None` if a glance does not tell.
    fn inside(self, key: &str) -> Option<Self> {
        let known: &[(&str, Self)] = match self {
            Self::Root => &[
                ("apiVersion", Self::ApiVersion),
                ("kind", Self::Kind),
                ("metadata", Self::Metadata),
            ],
            Self::Metadata => &[("name", Self::Name), ("annotations", Self::Annotations)],
            Self::Annotations => return Some(Self::Annotation),
            _ => &[],
        };
        let named = |(name, _): &&(&str, Self)| name.eq_ignore_ascii_case(key);
        match known.iter().find(named) {
            // Go takes a name that differs in case, if there is no other.
            Some((name, field)) => (*name == key).then_some(*field),
            None => Some(Self::Other),
        }
    }
}

/// Takes the head of a document while its lines are read.
#[derive(Default)]
struct Glance<'t> {
    head: Head,
    /// Fields that were read.
    seen: Vec<Field>,
    /// Mappings and lists around the place, by the fields they are.
    open: Vec<Field>,
    /// The field whose value comes next.
    next: Field,
    key: Cow<'t, str>,
}

impl<'t> Sink<'t> for Glance<'t> {
    fn mapping(&mut self) -> Option<()> {
        match self.next {
            Field::Root | Field::Metadata | Field::Annotations | Field::Other => {
                self.open.push(self.next);
                self.next = Field::Other;
                Some(())
            }
            Field::ApiVersion | Field::Kind | Field::Name | Field::Annotation => None,
        }
    }

    fn list(&mut self) -> Option<()> {
        self.open.push(Field::Other);
        (self.next == Field::Other).then_some(())
    }

    fn end(&mut self) -> Option<()> {
        self.open.pop();
        self.next = Field::Other;
        Some(())
    }

    fn key(&mut self, key: Cow<'t, str>) -> Option<()> {
        self.next = self.open.last()?.inside(&key)?;
        self.key = key;
        if !matches!(self.next, Field::Other | Field::Annotation) {
            if self.seen.contains(&self.next) {
                return None;
            }
            self.seen.push(self.next);
        }
        Some(())
    }

    fn scalar(&mut self, scalar: Scalar<'t>) -> Option<()> {
        match self.next {
            Field::Other => {}
            Field::ApiVersion => self.head.api_version = scalar.into_text()?,
            Field::Kind => self.head.kind = scalar.into_text()?,
            Field::Name => self.head.name = scalar.into_text()?,
            Field::Annotation => {
                let key = std::mem::take(&mut self.key).into_owned();
                self.head.annotations.insert(key, scalar.into_text()?);
            }
            // None at all.
            Field::Annotations if scalar.plain && scalar.text.is_empty() => {}
            Field::Root | Field::Metadata | Field::Annotations => return None,
        }
        Some(())
    }

    fn block(&mut self, _: Block<'t>) -> Option<()> {
        (self.next == Field::Other).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Head, MAX_NODES, glance};
    use crate::fields::read;
    use crate::yaml::lines::samples::{MANIFEST, text};

    fn in_full(document: &[u8]) -> Result<String, String> {
        let mut found = Some(Box::<Head>::default());
        read(document, &mut found, &mut { MAX_NODES })?;
        Ok(format!("{:?}", found.map(|head| *head).unwrap_or_default()))
    }

    #[test]
    fn a_glance_is_enough_for_an_ordinary_manifest() {
        let head = glance(MANIFEST.as_bytes()).unwrap();
        assert_eq!(Ok(format!("{head:?}")), in_full(MANIFEST.as_bytes()));
        assert_eq!((&*head.kind, &*head.name), ("Deployment", "web"));
        assert_eq!(head.annotations["helm.sh/hook"], "pre-install");
    }

    proptest! {
        #[test]
        fn what_a_glance_tells_the_full_reader_tells(text in text()) {
            if let Some(head) = glance(text.as_bytes()) {
                prop_assert_eq!(Ok(format!("{head:?}")), in_full(text.as_bytes()));
            }
        }
    }
}
