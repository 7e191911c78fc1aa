//! Lists whose elements have names.

use std::collections::HashMap;

use serde_json::Value;

use super::schema::ElementKey;
use super::value;

/// What tells one element of a list from the others: its key fields, with defaults where they are absent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ElementName(Vec<(&'static str, String, Origin)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Origin {
    Own,
    Default,
}

impl ElementName {
    /// The name of an element; none if it is no map or a key field without default is absent.
    pub(super) fn of(element: &Value, keys: &'static [ElementKey]) -> Option<ElementName> {
        let fields = element.as_object()?;
        let parts = keys.iter().map(|key| {
            let text = fields
                .get(key.field)
                .filter(|found| !found.is_null())
                .map(value::text);
            match (text, key.default) {
                (Some(text), default) if Some(text.as_str()) != default => {
                    Some((key.field, text, Origin::Own))
                }
                (_, default) => Some((key.field, default?.to_owned(), Origin::Default)),
            }
        });
        let parts: Option<Vec<_>> = parts.collect();
        parts.filter(|parts| !parts.is_empty()).map(ElementName)
    }

    /// The key fields and their texts, without those that have the default.
    pub(super) fn fields(&self) -> Vec<(String, String)> {
        let own = self
            .0
            .iter()
            .filter(|(_, _, origin)| *origin == Origin::Own);
        own.map(|(field, text, _)| ((*field).to_owned(), text.clone()))
            .collect()
    }
}

/// A list by the names of its elements.
pub(super) struct NamedList<'v> {
    pub(super) names: Vec<ElementName>,
    index: HashMap<ElementName, usize>,
    elements: &'v [Value],
}

impl<'v> NamedList<'v> {
    /// None if an element has no name or two have the same: such a list is one value.
    pub(super) fn of(elements: &'v [Value], keys: &'static [ElementKey]) -> Option<NamedList<'v>> {
        let mut names = Vec::with_capacity(elements.len());
        let mut index = HashMap::with_capacity(elements.len());
        for (position, element) in elements.iter().enumerate() {
            let name = ElementName::of(element, keys)?;
            if index.insert(name.clone(), position).is_some() {
                return None;
            }
            names.push(name);
        }
        Some(NamedList {
            names,
            index,
            elements,
        })
    }

    pub(super) fn get(&self, name: &ElementName) -> Option<&'v Value> {
        self.elements.get(*self.index.get(name)?)
    }

    pub(super) fn has(&self, name: &ElementName) -> bool {
        self.index.contains_key(name)
    }

    pub(super) fn position(&self, name: &ElementName) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// The names and elements in the list's order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&ElementName, &'v Value)> {
        self.names.iter().zip(self.elements)
    }

    /// Whether the elements that both lists have come in the same order.
    pub(super) fn is_ordered_as(&self, other: &NamedList<'_>) -> bool {
        let here = self.names.iter().filter(|name| other.has(name));
        let there = other.names.iter().filter(|name| self.has(name));
        here.eq(there)
    }
}
