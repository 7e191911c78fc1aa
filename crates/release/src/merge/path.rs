//! Places in objects, for people.

use std::borrow::Borrow;
use std::fmt;

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

    /// The segments of this path and of all that lead to it, the longest first.
    pub(super) fn prefixes(&self) -> impl Iterator<Item = &[Segment]> {
        (1..=self.segments.len())
            .rev()
            .filter_map(|length| self.segments.get(..length))
    }
}

impl Borrow<[Segment]> for Path {
    fn borrow(&self) -> &[Segment] {
        &self.segments
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
