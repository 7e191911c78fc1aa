//! The smallest patch that makes one object into another.
//!
//! A strategic patch names single elements of lists, so that what somebody else writes to other elements in the meantime
//! survives; a JSON merge patch replaces lists whole.

use serde_json::{Map, Value, json};

use super::directive::{self, DELETE, PATCH, REPLACE};
use super::keyed::NamedList;
use super::schema::Node;
use super::value::{Members, equal};

/// A strategic merge patch; empty if nothing differs.
pub(super) fn strategic(
    live: &Map<String, Value>,
    wanted: &Map<String, Value>,
    node: Node,
) -> Map<String, Value> {
    let mut patch = removals(live, wanted);
    for (name, value) in wanted {
        let place = node.field(name);
        match (live.get(name), value) {
            (Some(live), _) if live == value => {}
            (Some(Value::Object(live)), Value::Object(wanted)) if !place.is_replaced() => {
                patch.insert(name.clone(), strategic(live, wanted, place).into());
            }
            (Some(Value::Array(live)), Value::Array(wanted)) if place.is_merged_list() => {
                list(&mut patch, name, live, wanted, place);
            }
            _ => {
                patch.insert(name.clone(), value.clone());
            }
        }
    }
    patch
}

/// A merge patch after RFC 7386; empty if nothing differs.
pub(super) fn json_merge(
    live: &Map<String, Value>,
    wanted: &Map<String, Value>,
) -> Map<String, Value> {
    let mut patch = removals(live, wanted);
    for (name, value) in wanted {
        match (live.get(name), value) {
            (Some(live), _) if equal(live, value) => {}
            (Some(Value::Object(live)), Value::Object(wanted)) => {
                patch.insert(name.clone(), json_merge(live, wanted).into());
            }
            _ => {
                patch.insert(name.clone(), value.clone());
            }
        }
    }
    patch
}

fn removals(live: &Map<String, Value>, wanted: &Map<String, Value>) -> Map<String, Value> {
    let gone = live.keys().filter(|name| !wanted.contains_key(*name));
    gone.map(|name| (name.clone(), Value::Null)).collect()
}

fn list(patch: &mut Map<String, Value>, name: &str, live: &[Value], wanted: &[Value], node: Node) {
    let Some(key) = node.merge_key() else {
        return members(patch, name, live, wanted);
    };
    match elements(live, wanted, key, node) {
        Some((elements, order)) => {
            if !elements.is_empty() {
                patch.insert(name.to_owned(), elements.into());
            }
            if let Some(order) = order {
                patch.insert(directive::element_order(name), order);
            }
        }
        None => {
            // The merge key alone does not name these elements.
            let mut whole = vec![json!({PATCH: REPLACE})];
            whole.extend_from_slice(wanted);
            patch.insert(name.to_owned(), whole.into());
        }
    }
}

/// The elements that differ, and the order of all if the server could not know it. None if the merge key does not tell
/// elements apart.
fn elements(
    live: &[Value],
    wanted: &[Value],
    key: &'static str,
    node: Node,
) -> Option<(Vec<Value>, Option<Value>)> {
    let before = NamedList::of(live, node.merge_key_alone())?;
    let after = NamedList::of(wanted, node.merge_key_alone())?;
    let mut patch = Vec::new();
    let mut is_new = false;
    for (name, element) in after.iter() {
        match before.get(name) {
            Some(live) if live == element => {}
            Some(Value::Object(live)) => {
                let mut change = strategic(live, element.as_object()?, node.element());
                change.insert(key.to_owned(), element.get(key)?.clone());
                patch.push(Value::Object(change));
            }
            _ => {
                is_new = true;
                patch.push(element.clone());
            }
        }
    }
    for (_, element) in before.iter().filter(|(name, _)| !after.has(name)) {
        patch.push(json!({PATCH: DELETE, key: element.get(key)?}));
    }
    let order = wanted.iter().map(|element| json!({key: element.get(key)}));
    let is_moved = is_new || !before.is_ordered_as(&after);
    Some((patch, is_moved.then(|| order.collect())))
}

fn members(patch: &mut Map<String, Value>, name: &str, live: &[Value], wanted: &[Value]) {
    let missing = |from: &[Value], list: &[Value]| -> Vec<Value> {
        let known = Members::of(from);
        list.iter()
            .filter(|member| !known.has(member))
            .cloned()
            .collect()
    };
    let added = missing(live, wanted);
    let deleted = missing(wanted, live);
    if !added.is_empty() {
        patch.insert(name.to_owned(), added.into());
        patch.insert(directive::element_order(name), wanted.into());
    }
    if !deleted.is_empty() {
        patch.insert(directive::deleted_members(name), deleted.into());
    }
}
