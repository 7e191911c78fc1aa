//! Values of plain lines.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{Block, Scalar, Sink, read};
use crate::yaml::decode::{Target, scalar};

/// The value of a text whose lines are plain, as those of most values are.
pub(in crate::yaml) fn plain(bytes: &[u8], bound: &mut usize) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?;
    // There are no more nodes than bytes.
    if text.len() > *bound {
        return None;
    }
    let mut sink = Plainly {
        open: Vec::new(),
        root: None,
        spent: 0,
    };
    read(text, &mut sink)?;
    *bound = bound.checked_sub(sink.spent)?;
    sink.root
}

/// Puts values together while their lines are read.
struct Plainly {
    open: Vec<Open>,
    root: Option<Value>,
    /// As much as the full reader would take from the bound.
    spent: usize,
}

/// A collection that is being read.
enum Open {
    Mapping {
        map: Map<String, Value>,
        key: String,
    },
    List(Vec<Value>),
}

impl Plainly {
    fn put(&mut self, value: Value) {
        match self.open.last_mut() {
            Some(Open::Mapping { map, key }) => {
                map.insert(std::mem::take(key), value);
            }
            Some(Open::List(list)) => list.push(value),
            None => self.root = Some(value),
        }
    }

    fn put_text(&mut self, text: String) {
        self.spent += 1 + text.len() / 32;
        self.put(Value::String(text));
    }
}

impl<'t> Sink<'t> for Plainly {
    fn mapping(&mut self) -> Option<()> {
        self.spent += 1;
        self.open.push(Open::Mapping {
            map: Map::new(),
            key: String::new(),
        });
        Some(())
    }

    fn list(&mut self) -> Option<()> {
        self.spent += 1;
        self.open.push(Open::List(Vec::new()));
        Some(())
    }

    fn end(&mut self) -> Option<()> {
        let value = match self.open.pop()? {
            Open::Mapping { map, .. } => Value::Object(map),
            Open::List(list) => Value::Array(list),
        };
        self.put(value);
        Some(())
    }

    fn key(&mut self, found: Cow<'t, str>) -> Option<()> {
        self.spent += found.len() / 32;
        match self.open.last_mut()? {
            Open::Mapping { key, .. } => *key = found.into_owned(),
            Open::List(_) => return None,
        }
        Some(())
    }

    fn scalar(&mut self, found: Scalar<'t>) -> Option<()> {
        self.spent += 1 + found.text.len() / 32;
        let value = scalar(None, &found.text, found.plain).ok()?;
        self.put(value.into_value(&Target::Any).ok()?);
        Some(())
    }

    fn block(&mut self, block: Block<'t>) -> Option<()> {
        self.put_text(block.literal()?);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::plain;
    use crate::yaml::decode::{MAX_NODES, Target, in_full};
    use crate::yaml::lines::samples::{MANIFEST, text};

    /// The value by lines if it is to be had so, and in full; each with what is left of the bound.
    #[expect(clippy::type_complexity, reason = "two results side by side")]
    fn both(
        text: &str,
    ) -> (
        Option<(serde_json::Value, usize)>,
        Option<(serde_json::Value, usize)>,
    ) {
        let (mut one, mut two) = (MAX_NODES, MAX_NODES);
        let by_lines = plain(text.as_bytes(), &mut one);
        let full = in_full(text.as_bytes(), &Target::Any, &mut two).ok();
        (
            by_lines.map(|value| (value, one)),
            full.map(|value| (value, two)),
        )
    }

    #[test]
    fn plain_values_are_read_by_lines() {
        let (by_lines, full) = both(MANIFEST);
        assert!(by_lines.is_some());
        assert_eq!(by_lines, full);
    }

    proptest! {
        #[test]
        fn values_by_lines_are_those_of_the_full_reader(text in text()) {
            let (by_lines, full) = both(&text);
            if by_lines.is_some() {
                prop_assert_eq!(by_lines, full);
            }
        }
    }
}
