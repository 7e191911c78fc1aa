//! What is in a map.
//!
//! Duty: entries in the order of their keys, small where there are few, as there are in nearly all maps of values: a node
//! of a tree with room for eleven takes five times the memory of the two entries that are in it.

use std::collections::{BTreeMap, btree_map};
use std::slice;

use crate::text::Str;
use crate::value::Value;

/// More entries than this go into a tree, as inserting one takes longer the more there are.
const FEW: usize = 64;

/// The entries of a map, ordered by the bytes of their keys.
#[derive(Debug)]
pub struct Entries(Form);

#[derive(Debug)]
enum Form {
    /// Ascending by key.
    Few(Vec<(Str, Value)>),
    Many(BTreeMap<Str, Value>),
}

impl Default for Entries {
    fn default() -> Self {
        Self(Form::Few(Vec::new()))
    }
}

/// Where a key is, or where it would be.
fn place(entries: &[(Str, Value)], key: &[u8]) -> Result<usize, usize> {
    entries.binary_search_by(|(known, _)| known.as_bytes().cmp(key))
}

impl Entries {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Few(entries) => entries.len(),
            Form::Many(entries) => entries.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element with this key.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<&Value> {
        match &self.0 {
            Form::Few(entries) => {
                let at = place(entries, key).ok()?;
                entries.get(at).map(|(_, value)| value)
            }
            Form::Many(entries) => entries.get(key),
        }
    }

    /// Sets an element and gives the one it replaces.
    pub fn insert(&mut self, key: Str, value: Value) -> Option<Value> {
        let entries = match &mut self.0 {
            Form::Many(entries) => return entries.insert(key, value),
            Form::Few(entries) => entries,
        };
        match place(entries, &key) {
            Ok(at) => {
                let (_, old) = entries.get_mut(at)?;
                Some(std::mem::replace(old, value))
            }
            Err(at) if entries.len() < FEW => {
                entries.insert(at, (key, value));
                None
            }
            Err(_) => {
                let mut many: BTreeMap<_, _> = std::mem::take(entries).into_iter().collect();
                many.insert(key, value);
                self.0 = Form::Many(many);
                None
            }
        }
    }

    /// Takes an element out.
    pub fn remove(&mut self, key: &[u8]) -> Option<Value> {
        match &mut self.0 {
            Form::Few(entries) => {
                let at = place(entries, key).ok()?;
                Some(entries.remove(at).1)
            }
            Form::Many(entries) => entries.remove(key),
        }
    }

    /// Keys and elements.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter(match &self.0 {
            Form::Few(entries) => FormIter::Few(entries.iter()),
            Form::Many(entries) => FormIter::Many(entries.iter()),
        })
    }

    /// The keys.
    pub fn keys(&self) -> impl Iterator<Item = &Str> {
        self.iter().map(|(key, _)| key)
    }

    /// The elements, by their keys.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.iter().map(|(_, value)| value)
    }

    /// The same keys with other elements.
    #[must_use]
    pub fn map(&self, mut element: impl FnMut(&Value) -> Value) -> Self {
        let mut entry = |(key, value): (&Str, &Value)| (key.clone(), element(value));
        Self(match &self.0 {
            Form::Few(entries) => Form::Few(
                entries
                    .iter()
                    .map(|(key, value)| entry((key, value)))
                    .collect(),
            ),
            Form::Many(entries) => Form::Many(entries.iter().map(entry).collect()),
        })
    }

    /// The elements alone, by their keys.
    #[must_use]
    pub fn into_values(self) -> Vec<Value> {
        match self.0 {
            Form::Few(entries) => entries.into_iter().map(|(_, value)| value).collect(),
            Form::Many(entries) => entries.into_values().collect(),
        }
    }
}

/// Of equal keys the last one wins.
impl FromIterator<(Str, Value)> for Entries {
    fn from_iter<I: IntoIterator<Item = (Str, Value)>>(entries: I) -> Self {
        let mut entries: Vec<(Str, Value)> = entries.into_iter().collect();
        let ascends = |pair: &[(Str, Value)]| matches!(pair, [one, two] if one.0 < two.0);
        if entries.len() > FEW || !entries.windows(2).all(ascends) {
            let sorted: BTreeMap<Str, Value> = entries.into_iter().collect();
            if sorted.len() > FEW {
                return Self(Form::Many(sorted));
            }
            entries = sorted.into_iter().collect();
        }
        entries.shrink_to_fit();
        Self(Form::Few(entries))
    }
}

impl<'m> IntoIterator for &'m Entries {
    type Item = (&'m Str, &'m Value);
    type IntoIter = Iter<'m>;

    fn into_iter(self) -> Iter<'m> {
        self.iter()
    }
}

/// Walks the entries of a map by their keys.
#[derive(Debug, Clone)]
pub struct Iter<'m>(FormIter<'m>);

#[derive(Debug, Clone)]
enum FormIter<'m> {
    Few(slice::Iter<'m, (Str, Value)>),
    Many(btree_map::Iter<'m, Str, Value>),
}

impl<'m> Iterator for Iter<'m> {
    type Item = (&'m Str, &'m Value);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            FormIter::Few(entries) => entries.next().map(|(key, value)| (key, value)),
            FormIter::Many(entries) => entries.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            FormIter::Few(entries) => entries.size_hint(),
            FormIter::Many(entries) => entries.size_hint(),
        }
    }
}

impl ExactSizeIterator for Iter<'_> {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::{Entries, FEW};
    use crate::text::Str;
    use crate::value::Value;

    fn shown<'m>(entries: impl Iterator<Item = (&'m Str, &'m Value)>) -> Vec<String> {
        entries
            .map(|(key, value)| format!("{key}={value:?}"))
            .collect()
    }

    fn key(number: u8) -> Str {
        Str::from(number.to_string())
    }

    proptest! {
        #[test]
        fn entries_are_those_of_a_tree(
            begin in prop::collection::vec((any::<u8>(), any::<i64>()), 0..3 * FEW),
            changes in prop::collection::vec((any::<u8>(), prop::option::weighted(0.7, any::<i64>())), 0..3 * FEW),
        ) {
            let begin = begin.iter().map(|&(name, value)| (key(name), Value::Int(value)));
            let mut entries: Entries = begin.clone().collect();
            let mut tree: BTreeMap<Str, Value> = begin.collect();
            for (name, change) in changes {
                let name = key(name);
                let (one, two) = match change {
                    Some(value) => (
                        entries.insert(name.clone(), Value::Int(value)),
                        tree.insert(name.clone(), Value::Int(value)),
                    ),
                    None => (entries.remove(&name), tree.remove(&name)),
                };
                prop_assert_eq!(format!("{one:?}"), format!("{two:?}"));
                prop_assert_eq!(entries.len(), tree.len());
                let found = format!("{:?}", entries.get(&name));
                prop_assert_eq!(found, format!("{:?}", tree.get(&name)));
            }
            prop_assert_eq!(shown(entries.iter()), shown(tree.iter()));
            prop_assert_eq!(shown(entries.map(Value::clone).iter()), shown(tree.iter()));
            let values = format!("{:?}", entries.into_values());
            prop_assert_eq!(values, format!("{:?}", tree.into_values().collect::<Vec<_>>()));
        }
    }
}
