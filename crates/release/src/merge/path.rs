//! Places in objects, for people.

use std::fmt;

use serde_json::{Map, Value};

use super::keyed::ElementName;
use super::schema::Node;
use super::value;

/// A place in an object, displayed as `spec.template.spec.containers[name=app].image`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Path {
    segments: Vec<Segment>,
}

/// One step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// A field of a map.
    Field(String),
    /// The element of a list that has these fields, as name and text. Most elements have one; what says no more than
    /// the server's default is left out.
    Element(Vec<(String, String)>),
    /// That member of a set.
    Member(String),
}

impl Path {
    /// The steps from the object's root.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    pub(super) fn push_field(&mut self, name: &str) {
        self.segments.push(Segment::Field(name.to_owned()));
    }

    pub(super) fn push(&mut self, segment: Segment) {
        self.segments.push(segment);
    }

    pub(super) fn pop(&mut self) {
        self.segments.pop();
    }

    /// The value at this place of an object, if there is one.
    pub(super) fn find<'v>(
        &self,
        object: &'v Map<String, Value>,
        mut node: Node,
    ) -> Option<&'v Value> {
        let (first, rest) = self.segments.split_first()?;
        let Segment::Field(name) = first else {
            return None;
        };
        let mut found = object.get(name)?;
        node = node.field(name);
        for segment in rest {
            found = segment.find(found, node)?;
            node = match segment {
                Segment::Field(name) => node.field(name),
                Segment::Element(_) | Segment::Member(_) => node.element(),
            };
        }
        Some(found)
    }
}

impl Segment {
    fn find<'v>(&self, value: &'v Value, node: Node) -> Option<&'v Value> {
        match self {
            Segment::Field(name) => value.get(name),
            Segment::Element(fields) => value.as_array()?.iter().find(|element| {
                ElementName::of(element, node.element_keys())
                    .is_some_and(|name| name.fields() == *fields)
            }),
            Segment::Member(text) => {
                let mut members = value.as_array()?.iter();
                members.find(|member| value::text(member) == *text)
            }
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.segments.iter().enumerate() {
            match segment {
                Segment::Field(name) if is_plain(name) => {
                    let dot = if index == 0 { "" } else { "." };
                    write!(f, "{dot}{name}")?;
                }
                Segment::Field(name) => write!(f, "[{name:?}]")?,
                Segment::Element(keys) => {
                    let keys: Vec<_> = keys
                        .iter()
                        .map(|(name, text)| format!("{name}={text}"))
                        .collect();
                    write!(f, "[{}]", keys.join(","))?;
                }
                Segment::Member(text) => write!(f, "[{text:?}]")?,
            }
        }
        Ok(())
    }
}

/// Whether a name can stand after a dot without being mistaken for more than one.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}
