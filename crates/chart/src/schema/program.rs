//! Schemas made ready to check values with.

use std::collections::BTreeMap;
use std::rc::Rc;

use kzero_gotmpl::golang::Pattern;
use serde_json::Value;

use super::address::Place;
use super::draft::Draft;
use super::format::Format;
use super::number::Decimal;

/// Which schema of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Id(pub(super) usize);

/// The address of schemas that are put together from vocabularies.
pub(super) const COMPOSED: &str = "urn:mem:metaschema";

/// Schemas that refer to each other.
#[derive(Debug, Default, Clone)]
pub(super) struct Program {
    schemas: Vec<Schema>,
}

impl Program {
    /// Makes room for a schema.
    pub(super) fn add(&mut self, schema: Schema) -> Id {
        self.schemas.push(schema);
        Id(self.schemas.len() - 1)
    }

    pub(super) fn get(&self, id: Id) -> Option<&Schema> {
        self.schemas.get(id.0)
    }

    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut Schema> {
        self.schemas.get_mut(id.0)
    }
}

/// Types of JSON, several at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Types(u8);

/// Their names in the order of messages.
const TYPES: [&str; 7] = [
    "null", "boolean", "number", "integer", "string", "array", "object",
];

impl Types {
    pub(super) fn add(&mut self, name: &str) {
        if let Some(at) = TYPES.iter().position(|known| *known == name) {
            self.0 |= 1 << at;
        }
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether a value is of one of the types.
    pub(super) fn hold(self, value: &Value) -> bool {
        if self.has(type_of(value)) {
            return true;
        }
        let Value::Number(number) = value else {
            return false;
        };
        self.has("integer") && Decimal::of(number).is_whole()
    }

    fn has(self, name: &str) -> bool {
        let mut one = Self::default();
        one.add(name);
        self.0 & one.0 != 0
    }

    /// As a message wants them.
    pub(super) fn wanted(self) -> String {
        let names: Vec<&str> = TYPES.into_iter().filter(|name| self.has(name)).collect();
        names.join(" or ")
    }
}

/// The type of a value; whole numbers are numbers.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A rule for what no other rule speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    Allowed(bool),
    Schema(Id),
}

/// `items` before 2020.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Items {
    All(Id),
    Each(Vec<Id>),
}

/// What must be there beside a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Dependency {
    Properties(Vec<String>),
    Schema(Id),
}

/// A pattern and its text.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) text: String,
    pub(super) pattern: Rc<Pattern>,
}

/// A bound, and the number it was written as.
#[derive(Debug, Clone)]
pub(super) struct Bound {
    pub(super) number: serde_json::Number,
    pub(super) decimal: Decimal,
}

/// A schema made ready. What is none or empty is no rule.
#[derive(Debug, Clone)]
pub(super) struct Schema {
    pub(super) draft: Draft,
    /// Where it is.
    pub(super) place: Rc<Place>,
    /// The schema with an address of its own that it is in.
    pub(super) resource: Id,
    /// On those: what dynamic references may find in them.
    pub(super) dynamic_anchors: BTreeMap<String, Id>,
    pub(super) dynamic_anchor: String,
    pub(super) recursive_anchor: bool,

    pub(super) constant: Option<bool>,
    pub(super) reference: Option<Id>,
    pub(super) recursive_reference: Option<Id>,
    /// With the name, if it is one.
    pub(super) dynamic_reference: Option<(Id, String)>,
    pub(super) types: Types,
    pub(super) r#enum: Option<Vec<Value>>,
    pub(super) r#const: Option<Value>,
    pub(super) not: Option<Id>,
    pub(super) all_of: Vec<Id>,
    pub(super) any_of: Vec<Id>,
    pub(super) one_of: Vec<Id>,
    pub(super) r#if: Option<Id>,
    pub(super) then: Option<Id>,
    pub(super) r#else: Option<Id>,
    pub(super) format: Option<Format>,

    pub(super) min_properties: Option<usize>,
    pub(super) max_properties: Option<usize>,
    pub(super) required: Vec<String>,
    pub(super) property_names: Option<Id>,
    pub(super) properties: BTreeMap<String, Id>,
    pub(super) pattern_properties: Vec<(Named, Id)>,
    pub(super) additional_properties: Option<Rest>,
    pub(super) dependencies: BTreeMap<String, Dependency>,
    pub(super) dependent_required: BTreeMap<String, Vec<String>>,
    pub(super) dependent_schemas: BTreeMap<String, Id>,
    pub(super) unevaluated_properties: Option<Id>,

    pub(super) min_items: Option<usize>,
    pub(super) max_items: Option<usize>,
    pub(super) unique_items: bool,
    pub(super) contains: Option<Id>,
    pub(super) min_contains: Option<usize>,
    pub(super) max_contains: Option<usize>,
    pub(super) items: Option<Items>,
    pub(super) additional_items: Option<Rest>,
    pub(super) prefix_items: Vec<Id>,
    /// `items` since 2020.
    pub(super) further_items: Option<Id>,
    pub(super) unevaluated_items: Option<Id>,

    pub(super) min_length: Option<usize>,
    pub(super) max_length: Option<usize>,
    pub(super) pattern: Option<Named>,

    pub(super) minimum: Option<Bound>,
    pub(super) maximum: Option<Bound>,
    pub(super) exclusive_minimum: Option<Bound>,
    pub(super) exclusive_maximum: Option<Bound>,
    pub(super) multiple_of: Option<Bound>,
}

impl Schema {
    /// A schema without rules.
    pub(super) fn new(draft: Draft, place: Rc<Place>, resource: Id) -> Self {
        Self {
            draft,
            place,
            resource,
            dynamic_anchors: BTreeMap::new(),
            dynamic_anchor: String::new(),
            recursive_anchor: false,
            constant: None,
            reference: None,
            recursive_reference: None,
            dynamic_reference: None,
            types: Types::default(),
            r#enum: None,
            r#const: None,
            not: None,
            all_of: Vec::new(),
            any_of: Vec::new(),
            one_of: Vec::new(),
            r#if: None,
            then: None,
            r#else: None,
            format: None,
            min_properties: None,
            max_properties: None,
            required: Vec::new(),
            property_names: None,
            properties: BTreeMap::new(),
            pattern_properties: Vec::new(),
            additional_properties: None,
            dependencies: BTreeMap::new(),
            dependent_required: BTreeMap::new(),
            dependent_schemas: BTreeMap::new(),
            unevaluated_properties: None,
            min_items: None,
            max_items: None,
            unique_items: false,
            contains: None,
            min_contains: None,
            max_contains: None,
            items: None,
            additional_items: None,
            prefix_items: Vec::new(),
            further_items: None,
            unevaluated_items: None,
            min_length: None,
            max_length: None,
            pattern: None,
            minimum: None,
            maximum: None,
            exclusive_minimum: None,
            exclusive_maximum: None,
            multiple_of: None,
        }
    }

    /// Where it is, as messages show it.
    pub(super) fn location(&self) -> String {
        if *self.place.url == *COMPOSED {
            return COMPOSED.to_owned();
        }
        self.place.shown()
    }

    /// Whether no property of a value is left for `unevaluatedProperties`.
    pub(super) fn speaks_of_all_properties(&self) -> bool {
        self.additional_properties.is_some()
    }

    /// How many items are never left for `unevaluatedItems`; all of them are `usize::MAX`.
    pub(super) fn items_spoken_of(&self) -> usize {
        if self.draft >= Draft::Of2020 {
            return match self.further_items {
                Some(_) => usize::MAX,
                None => self.prefix_items.len(),
            };
        }
        match (&self.items, self.additional_items) {
            (Some(Items::All(_)), _) | (_, Some(_)) => usize::MAX,
            (Some(Items::Each(items)), None) => items.len(),
            (None, None) => 0,
        }
    }
}
