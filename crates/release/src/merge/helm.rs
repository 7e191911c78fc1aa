//! The patch that Helm 3.22 sends to an object of a built-in kind.
//!
//! Two differences are taken and put together: what is added or changed between the live object and the manifest, and
//! what was deleted between the earlier manifest and this one. Neither alone sees that a list is the same list, so
//! putting them together goes through both again. The results hold to the letter of `strategicpatch` in Kubernetes'
//! apimachinery 0.37, odd ones included: two elements with one merge key are made into one.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::apply::arranged;
use super::directive::{self, DELETE, PATCH, RETAIN_KEYS};
use super::schema::Node;
use super::value::{Members, equal, equal_lists, equal_maps, identity};

/// Why no patch can be made of a manifest.
///
/// Nothing of the manifest's values is in the message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// The kind has no such field, or none that could hold a map or list.
    #[error("unable to find api field in struct {structure} for the json field {field:?}")]
    UnknownField {
        /// The kind's structure, without its package.
        structure: &'static str,
        /// The field.
        field: String,
    },
    /// Maps inside a map of free keys, which have no patch metadata.
    #[error("merging an object in json but data type is not struct, instead is: map")]
    NoStructure,
    /// An element of a list lacks the field that names it.
    #[error("map does not contain declared merge key: {key}")]
    NoMergeKey {
        /// The field that is missing.
        key: &'static str,
    },
    /// Elements of one list are of several types.
    #[error("list element types are not identical")]
    MixedElements,
    /// A list whose elements merge holds lists.
    #[error("lists of lists are not supported")]
    ListOfLists,
    /// Elements of one name stand so that the server could not put them in the manifest's order.
    #[error("The order in patch list doesn't match $setElementOrder list")]
    AmbiguousOrder,
    /// `apiVersion`, `kind` or the name is not that of the object that is taken over.
    #[error("at least one field was changed: apiVersion, kind or name")]
    OtherObject,
}

/// The strategic patch for an object; empty if nothing is to be done.
pub(super) fn strategic(
    original: &Map<String, Value>,
    next: &Map<String, Value>,
    live: &Map<String, Value>,
    root: Node,
) -> Result<Map<String, Value>, MergeError> {
    let additions = Difference::Additions.maps(live, next, root, false)?;
    let deletions = Difference::Deletions.maps(original, next, root, false)?;
    combine_maps(deletions, additions, root)
}

/// Which part of what differs between two values is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Difference {
    /// What the new value has that the old one has not, or has otherwise.
    Additions,
    /// What the old value has and the new one has not.
    Deletions,
}

/// How the list of a field differs.
#[derive(Default)]
struct ListDifference {
    elements: Vec<Value>,
    deleted_members: Vec<Value>,
    order: Vec<Value>,
}

impl Difference {
    fn maps(
        self,
        old: &Map<String, Value>,
        new: &Map<String, Value>,
        node: Node,
        retains_keys: bool,
    ) -> Result<Map<String, Value>, MergeError> {
        let mut patch = Map::new();
        for (name, new) in new {
            match (old.get(name), new) {
                (Some(Value::Object(old)), Value::Object(new)) => {
                    self.map_field(&mut patch, name, old, new, node)?;
                }
                (Some(Value::Array(old)), Value::Array(new)) => {
                    self.list_field(&mut patch, name, old, new, node)?;
                }
                (old, new)
                    if self == Difference::Additions && !old.is_some_and(|old| equal(old, new)) =>
                {
                    patch.insert(name.clone(), new.clone());
                }
                _ => {}
            }
        }
        if self == Difference::Deletions {
            let gone = old.keys().filter(|name| !new.contains_key(*name));
            patch.extend(gone.map(|name| (name.clone(), Value::Null)));
        }
        if retains_keys {
            retain_keys(&mut patch, old, new);
        }
        Ok(patch)
    }

    fn map_field(
        self,
        patch: &mut Map<String, Value>,
        name: &str,
        old: &Map<String, Value>,
        new: &Map<String, Value>,
        node: Node,
    ) -> Result<(), MergeError> {
        let place = match known(node, name) {
            Ok(place) => place,
            // Where there is nothing to do nothing needs to be known.
            Err(_) if equal_maps(old, new) => return Ok(()),
            Err(err) => return Err(err),
        };
        if place.is_replaced() {
            if self == Difference::Additions {
                patch.insert(name.to_owned(), new.clone().into());
            }
            return Ok(());
        }
        let inner = self.maps(old, new, place, place.retains_keys())?;
        if !inner.is_empty() {
            patch.insert(name.to_owned(), inner.into());
        }
        Ok(())
    }

    fn list_field(
        self,
        patch: &mut Map<String, Value>,
        name: &str,
        old: &[Value],
        new: &[Value],
        node: Node,
    ) -> Result<(), MergeError> {
        let place = match known(node, name) {
            Ok(place) => place,
            Err(_) if equal_lists(old, new) => return Ok(()),
            Err(err) => return Err(err),
        };
        if !place.is_merged_list() {
            if self == Difference::Additions && !equal_lists(old, new) {
                patch.insert(name.to_owned(), new.into());
            }
            return Ok(());
        }
        let difference = self.lists(old, new, place)?;
        for (name, list) in [
            (name.to_owned(), difference.elements),
            (directive::deleted_members(name), difference.deleted_members),
            (directive::element_order(name), difference.order),
        ] {
            if !list.is_empty() {
                patch.insert(name, list.into());
            }
        }
        Ok(())
    }

    fn lists(self, old: &[Value], new: &[Value], node: Node) -> Result<ListDifference, MergeError> {
        if old.is_empty() {
            let elements = match self {
                Difference::Additions => new.to_vec(),
                Difference::Deletions => Vec::new(),
            };
            return Ok(ListDifference {
                elements,
                ..ListDifference::default()
            });
        }
        match (element_type(old.iter().chain(new))?, node.merge_key()) {
            (ElementType::Map, Some(key)) => self.elements(old, new, key, node),
            (ElementType::Map, None) => Err(MergeError::NoMergeKey { key: "" }),
            (ElementType::Scalar, _) => Ok(self.members(old, new)),
        }
    }

    fn elements(
        self,
        old: &[Value],
        new: &[Value],
        key: &'static str,
        node: Node,
    ) -> Result<ListDifference, MergeError> {
        let mut elements = Vec::new();
        let mut deleted = Vec::new();
        for pair in pairs(Named::all(old, key)?, Named::all(new, key)?) {
            match pair {
                (Some(old), Some(new)) => {
                    let mut inner =
                        self.maps(old.fields, new.fields, node.element(), node.retains_keys())?;
                    if !inner.is_empty() {
                        inner.insert(key.to_owned(), new.name.clone());
                        elements.push(Value::Object(inner));
                    }
                }
                (None, Some(new)) if self == Difference::Additions => {
                    elements.push(new.fields.clone().into());
                }
                (Some(old), None) if self == Difference::Deletions => {
                    deleted.push(json!({key: old.name, PATCH: DELETE}));
                }
                _ => {}
            }
        }
        let positions = positions(new, key);
        elements.sort_by_cached_key(|element| positions.get(&name(element, key)).copied());
        let is_same_order = old.len() == new.len()
            && old
                .iter()
                .zip(new)
                .all(|(old, new)| name(old, key) == name(new, key));
        elements.append(&mut deleted);
        let is_ordered = match self {
            Difference::Additions => !elements.is_empty() || !is_same_order,
            Difference::Deletions => !elements.is_empty(),
        };
        let order = new_in_order(new, key);
        Ok(ListDifference {
            elements,
            deleted_members: Vec::new(),
            order: if is_ordered { order } else { Vec::new() },
        })
    }

    /// Members are told apart, and put in order, by their text.
    fn members(self, old: &[Value], new: &[Value]) -> ListDifference {
        let sorted = |list: &[Value]| -> Vec<(String, Value)> {
            let mut members: Vec<_> = list
                .iter()
                .map(|member| (shown(member), member.clone()))
                .collect();
            members.sort_by(|left, right| left.0.cmp(&right.0));
            members
        };
        let mut difference = ListDifference::default();
        let mut deleted = Members::of([]);
        for pair in merge_join(sorted(old), sorted(new), |old, new| old.0.cmp(&new.0)) {
            match (self, pair) {
                (Difference::Additions, (None, Some((_, new)))) => difference.elements.push(new),
                (Difference::Deletions, (Some((_, old)), None)) if deleted.add(&old) => {
                    difference.deleted_members.push(old);
                }
                _ => {}
            }
        }
        let at = new.iter().enumerate().rev();
        let at: HashMap<String, usize> = at.map(|(at, member)| (identity(member), at)).collect();
        difference
            .elements
            .sort_by_cached_key(|member| at.get(&identity(member)).copied());
        let is_ordered = match self {
            // The old members count in the order of their text.
            Difference::Additions => {
                let old: Vec<Value> = sorted(old).into_iter().map(|(_, member)| member).collect();
                !equal_lists(&old, new)
            }
            Difference::Deletions => !difference.deleted_members.is_empty(),
        };
        if is_ordered {
            difference.order = new.to_vec();
        }
        difference
    }
}

/// Says which of fields that exclude each other may stay, if anything is said or any has to go.
fn retain_keys(patch: &mut Map<String, Value>, old: &Map<String, Value>, new: &Map<String, Value>) {
    let mut kept: Vec<&String> = new
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, _)| name)
        .collect();
    kept.sort_unstable();
    let is_any_gone = old
        .iter()
        .any(|(name, value)| !value.is_null() && !new.contains_key(name));
    if !kept.is_empty() && (!patch.is_empty() || is_any_gone) {
        patch.insert(RETAIN_KEYS.to_owned(), json!(kept));
    }
}

fn known(node: Node, name: &str) -> Result<Node, MergeError> {
    if node.is_map() {
        return Err(MergeError::NoStructure);
    }
    node.known_field(name)
        .filter(|place| !place.is_too_deep())
        .ok_or_else(|| {
            let full = node.structure_name();
            MergeError::UnknownField {
                structure: full.rsplit('.').next().unwrap_or(full),
                field: name.to_owned(),
            }
        })
}

/// An element of a list under its name.
struct Named<'v> {
    name: &'v Value,
    text: String,
    fields: &'v Map<String, Value>,
}

impl<'v> Named<'v> {
    /// All elements of a list, sorted by the text of their names.
    fn all(list: &'v [Value], key: &'static str) -> Result<Vec<Named<'v>>, MergeError> {
        let named = |element: &'v Value| {
            let fields = element.as_object().ok_or(MergeError::MixedElements)?;
            let name = fields.get(key).ok_or(MergeError::NoMergeKey { key })?;
            Ok(Named {
                name,
                text: shown(name),
                fields,
            })
        };
        let mut all: Vec<_> = list.iter().map(named).collect::<Result<_, _>>()?;
        // Equal names come out the other way round.
        all.reverse();
        all.sort_by(|left, right| left.text.cmp(&right.text));
        Ok(all)
    }
}

fn pairs<'v>(
    old: Vec<Named<'v>>,
    new: Vec<Named<'v>>,
) -> Vec<(Option<Named<'v>>, Option<Named<'v>>)> {
    merge_join(old, new, |old, new| old.text.cmp(&new.text))
}

/// Goes through two sorted lists side by side.
fn merge_join<T>(
    left: Vec<T>,
    right: Vec<T>,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Vec<(Option<T>, Option<T>)> {
    let mut joined = Vec::with_capacity(left.len().max(right.len()));
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (None, None) => return joined,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(left), Some(right)) => compare(left, right),
        };
        joined.push(match order {
            Ordering::Less => (left.next(), None),
            Ordering::Greater => (None, right.next()),
            Ordering::Equal => (left.next(), right.next()),
        });
    }
}

fn new_in_order(list: &[Value], key: &'static str) -> Vec<Value> {
    list.iter()
        .map(|element| json!({key: element.get(key)}))
        .collect()
}

/// Where the first element of each name stands.
fn positions(list: &[Value], key: &str) -> HashMap<Option<String>, usize> {
    let positions = list.iter().enumerate().rev();
    positions
        .map(|(position, element)| (name(element, key), position))
        .collect()
}

fn name(element: &Value, key: &str) -> Option<String> {
    element.get(key).map(identity)
}

/// Puts additions to a map onto the deletions from it.
fn combine_maps(
    mut deletions: Map<String, Value>,
    mut additions: Map<String, Value>,
    node: Node,
) -> Result<Map<String, Value>, MergeError> {
    if let Some(kept) = additions.remove(RETAIN_KEYS) {
        deletions.entry(RETAIN_KEYS).or_insert(kept);
    }
    let orders = additions.iter().filter_map(|(name, order)| {
        Some((
            directive::ordered_list(name)?.to_owned(),
            name.clone(),
            order.as_array()?.clone(),
        ))
    });
    for (list, name, order) in orders.collect::<Vec<_>>() {
        additions.remove(&name);
        combine_ordered(&mut deletions, additions.remove(&list), &list, &order, node)?;
        deletions.entry(name).or_insert(order.into());
    }
    for (name, added) in additions {
        let combined = match (deletions.remove(&name), added) {
            (Some(Value::Object(deleted)), Value::Object(added)) => {
                let place = known(node, &name)?;
                if place.is_replaced() {
                    added.into()
                } else {
                    combine_maps(deleted, added, place)?.into()
                }
            }
            (Some(Value::Array(deleted)), Value::Array(added)) => {
                let place = known(node, &name)?;
                if place.is_merged_list() {
                    combine_lists(deleted, added, place)?.into()
                } else {
                    added.into()
                }
            }
            (_, added) => added,
        };
        deletions.insert(name, combined);
    }
    Ok(deletions)
}

/// Puts together a list for which an order is given.
fn combine_ordered(
    deletions: &mut Map<String, Value>,
    added: Option<Value>,
    list: &str,
    order: &[Value],
    node: Node,
) -> Result<(), MergeError> {
    let place = known(node, list)?;
    if let (Some(Value::Array(added)), Some(key)) = (&added, place.merge_key()) {
        check_order(added, order, key)?;
    }
    let (before, combined) = match (deletions.remove(list), added) {
        (Some(Value::Array(deleted)), Some(Value::Array(added))) => {
            (deleted.clone(), combine_lists(deleted, added, place)?)
        }
        (Some(Value::Array(deleted)), None) => (deleted.clone(), deleted),
        (_, Some(Value::Array(added))) => (Vec::new(), added),
        _ => return Ok(()),
    };
    let arranged = arrange(combined, order, &before, place);
    deletions.insert(list.to_owned(), arranged.into());
    Ok(())
}

/// Whether elements come in an order that the server accepts: as they are met in the order of all.
fn check_order(elements: &[Value], order: &[Value], key: &'static str) -> Result<(), MergeError> {
    if elements
        .iter()
        .chain(order)
        .any(|element| !element.is_object())
    {
        return Err(MergeError::MixedElements);
    }
    let mut order = order.iter();
    let mut comes = |element: &Value| order.any(|place| name(place, key) == name(element, key));
    if elements.iter().all(&mut comes) {
        Ok(())
    } else {
        Err(MergeError::AmbiguousOrder)
    }
}

fn combine_lists(
    deleted: Vec<Value>,
    added: Vec<Value>,
    node: Node,
) -> Result<Vec<Value>, MergeError> {
    if deleted.is_empty() && added.is_empty() {
        return Ok(deleted);
    }
    element_type(deleted.iter().chain(&added))?;
    let Some(key) = node.merge_key() else {
        return Ok(added);
    };
    let order = added.clone();
    let before = deleted.clone();
    let mut combined = deleted;
    let mut positions = positions(&combined, key);
    for element in added {
        if element.get(key).is_none() {
            return Err(MergeError::NoMergeKey { key });
        }
        let position = *positions
            .entry(name(&element, key))
            .or_insert(combined.len());
        match combined.get_mut(position) {
            Some(place) => {
                let (Value::Object(old), Value::Object(new)) = (place.take(), element) else {
                    return Err(MergeError::MixedElements);
                };
                *place = combine_maps(old, new, node.element())?.into();
            }
            None => combined.push(element),
        }
    }
    Ok(arrange(combined, &order, &before, node))
}

/// As the server arranges elements, and those that only say what is deleted come last.
fn arrange(elements: Vec<Value>, order: &[Value], before: &[Value], node: Node) -> Vec<Value> {
    let is_deletion = |element: &Value| element.get(PATCH).is_some_and(|word| word == DELETE);
    let (deleted, kept): (Vec<Value>, Vec<Value>) = elements.into_iter().partition(is_deletion);
    let mut arranged = arranged(kept, order, before, node);
    arranged.extend(deleted);
    arranged
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ElementType {
    Map,
    Scalar,
}

fn element_type<'v>(elements: impl Iterator<Item = &'v Value>) -> Result<ElementType, MergeError> {
    let mut elements = elements.peekable();
    let Some(first) = elements.peek().copied() else {
        return Ok(ElementType::Scalar);
    };
    if first.is_array() {
        return Err(MergeError::ListOfLists);
    }
    let first_type = std::mem::discriminant(first);
    if elements.any(|element| std::mem::discriminant(element) != first_type) {
        return Err(MergeError::MixedElements);
    }
    Ok(if first.is_object() {
        ElementType::Map
    } else {
        ElementType::Scalar
    })
}

/// A scalar as Go prints it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        value => super::value::text(value),
    }
}
