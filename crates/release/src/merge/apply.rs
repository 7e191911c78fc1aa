//! What the API server makes of a patch, as far as the object itself goes: no defaults, no admission.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::directive::{self, DELETE, PATCH, REPLACE, RETAIN_KEYS};
use super::schema::Node;
use super::value::{Members, identity};

/// Applies a strategic merge patch. What the server would refuse in it has no effect here.
pub(super) fn strategic(
    mut live: Map<String, Value>,
    patch: &Map<String, Value>,
    node: Node,
) -> Map<String, Value> {
    match patch.get(PATCH).and_then(Value::as_str) {
        Some(REPLACE) => return settled(patch),
        Some(DELETE) => return Map::new(),
        _ => {}
    }
    if let Some(Value::Array(retained)) = patch.get(RETAIN_KEYS) {
        live.retain(|name, _| retained.iter().any(|kept| kept == name));
    }
    // First what leaves sets, then what fields hold, then the order of lists: the server's order of work.
    for (name, value) in patch {
        if let (Some(set), Value::Array(deleted)) = (directive::thinned_set(name), value)
            && let Some(Value::Array(members)) = live.get_mut(set)
        {
            let deleted = Members::of(deleted);
            members.retain(|member| !deleted.has(member));
        }
    }
    for (name, value) in patch
        .iter()
        .filter(|(name, _)| !directive::is_directive(name))
    {
        let order = patch.get(&directive::element_order(name));
        field(&mut live, name, value, order, node.field(name));
    }
    for (name, order) in patch {
        if let (Some(list), Value::Array(order)) = (directive::ordered_list(name), order)
            && !patch.contains_key(list)
            && let Some(Value::Array(elements)) = live.get_mut(list)
        {
            let before = elements.clone();
            *elements = arranged(std::mem::take(elements), order, &before, node.field(list));
        }
    }
    live
}

fn field(
    live: &mut Map<String, Value>,
    name: &str,
    value: &Value,
    order: Option<&Value>,
    node: Node,
) {
    let merged = match (live.remove(name), value) {
        (_, Value::Null) => None,
        (Some(Value::Object(live)), Value::Object(patch)) if !node.is_replaced() => {
            Some(strategic(live, patch, node).into())
        }
        (Some(Value::Array(live)), Value::Array(patch)) if node.is_merged_list() => {
            let order = order.and_then(Value::as_array).map(Vec::as_slice);
            Some(list(live, patch, order, node).into())
        }
        (_, Value::Object(patch)) if patch.contains_key(PATCH) && !node.is_replaced() => None,
        (_, Value::Object(patch)) => Some(settled(patch).into()),
        (_, Value::Array(patch)) => Some(settled_list(patch).into()),
        (_, value) => Some(value.clone()),
    };
    if let Some(merged) = merged {
        live.insert(name.to_owned(), merged);
    }
}

fn list(live: Vec<Value>, patch: &[Value], order: Option<&[Value]>, node: Node) -> Vec<Value> {
    let Some(key) = node.merge_key() else {
        return members(&live, patch, order, node);
    };
    let has_word =
        |element: &Value, word: &str| element.get(PATCH).is_some_and(|found| found == word);
    if patch.iter().any(|element| has_word(element, REPLACE)) {
        return settled_list(patch);
    }
    let length = live.len();
    let mut merged = live;
    let name = |element: &Value| element.get(key).map(identity);
    let deleted = patch.iter().filter(|element| has_word(element, DELETE));
    let deleted: HashSet<Option<String>> = deleted.map(name).collect();
    merged.retain(|element| !deleted.contains(&name(element)));
    let mut before = merged.clone();
    let mut positions = first_positions(&merged, name);
    for element in patch {
        let Value::Object(change) = element else {
            continue;
        };
        if change.contains_key(PATCH) {
            continue;
        }
        let position = *positions.entry(name(element)).or_insert(merged.len());
        match merged.get_mut(position) {
            Some(Value::Object(place)) => {
                let old = std::mem::take(place);
                *place = strategic(old, change, node.element());
            }
            _ => merged.push(settled(change).into()),
        }
    }
    if order.is_some() {
        // To the server new elements stand where deleted ones have made room.
        before.extend(merged.iter().take(length).skip(before.len()).cloned());
    }
    arranged(merged, order.unwrap_or(patch), &before, node)
}

fn members(live: &[Value], patch: &[Value], order: Option<&[Value]>, node: Node) -> Vec<Value> {
    let mut known = Members::of(live);
    let mut merged = live.to_vec();
    merged.extend(patch.iter().filter(|member| known.add(member)).cloned());
    arranged(merged, order.unwrap_or(patch), live, node)
}

/// Puts the elements that `order` names in its order; the others go between them as they stood in `before`.
pub(super) fn arranged(
    elements: Vec<Value>,
    order: &[Value],
    before: &[Value],
    node: Node,
) -> Vec<Value> {
    let key = node.merge_key();
    let name = |element: &Value| match key {
        Some(key) => element.get(key).map(identity),
        None => Some(identity(element)),
    };
    let (ordered, standing) = (first_positions(order, name), first_positions(before, name));
    let (mut own, mut foreign): (Vec<Value>, Vec<Value>) = elements
        .into_iter()
        .partition(|element| ordered.contains_key(&name(element)));
    own.sort_by_key(|element| ordered.get(&name(element)));
    foreign.sort_by_key(|element| standing.get(&name(element)));
    let mut arranged = Vec::with_capacity(own.len() + foreign.len());
    let mut foreign = foreign.into_iter().peekable();
    for element in own {
        let place = standing.get(&name(&element));
        let stands_before = |foreign: &Value| match (standing.get(&name(foreign)), place) {
            (Some(foreign), Some(place)) => foreign < place,
            _ => false,
        };
        while let Some(earlier) = foreign.next_if(stands_before) {
            arranged.push(earlier);
        }
        arranged.push(element);
    }
    arranged.extend(foreign);
    arranged
}

/// Where each name stands; the first of several counts.
fn first_positions(
    list: &[Value],
    name: impl Fn(&Value) -> Option<String>,
) -> HashMap<Option<String>, usize> {
    let positions = list.iter().enumerate().rev();
    positions
        .map(|(position, element)| (name(element), position))
        .collect()
}

/// A map of a patch as it is kept where the object has none: without nulls and directives.
fn settled(patch: &Map<String, Value>) -> Map<String, Value> {
    let mut kept = Map::new();
    for (name, value) in patch
        .iter()
        .filter(|(name, _)| !directive::is_directive(name))
    {
        match value {
            Value::Null => {}
            Value::Object(patch) if patch.contains_key(PATCH) => {}
            Value::Object(patch) => {
                kept.insert(name.clone(), settled(patch).into());
            }
            Value::Array(list) => {
                kept.insert(name.clone(), settled_list(list).into());
            }
            value => {
                kept.insert(name.clone(), value.clone());
            }
        }
    }
    kept
}

fn settled_list(list: &[Value]) -> Vec<Value> {
    list.iter()
        .filter(|element| element.get(PATCH).is_none())
        .map(|element| match element {
            Value::Object(fields) => settled(fields).into(),
            Value::Array(elements) => settled_list(elements).into(),
            other => other.clone(),
        })
        .collect()
}
