//! The decided merge: what a chart did not change is left as it lives.
//!
//! [`merged`] goes through manifests and live object together and says what the object should be; how that is sent is
//! another module's matter. The rules:
//!
//! - A field that all earlier manifests and the new one hold alike is left as it lives, be it changed or gone.
//! - Any other field of the new manifest is set. Where the live object has nothing of a structure, it is set whole: half
//!   of one is seldom valid.
//! - A field that an earlier manifest holds and the new one does not is removed. From maps of free keys and from lists
//!   with named elements only what earlier manifests held goes.
//! - Fields that no manifest holds stay, but for those that exclude what the chart changed.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::keyed::{ElementName, NamedList};
use super::path::{Path, Segment};
use super::schema::Node;
use super::union::Union;
use super::value::{Members, same, text, without_nulls};
use super::{ChangeKind, FieldChange, Reason};

/// What one place holds in the manifests and on the server.
struct Sides<'v> {
    /// One entry for each earlier manifest.
    previous: Vec<Option<&'v Value>>,
    next: Option<&'v Value>,
    live: Option<&'v Value>,
}

impl<'v> Sides<'v> {
    /// Whether every earlier manifest held what the new one holds; never if there was none.
    fn is_unchanged(&self, node: Node) -> bool {
        let alike = |previous: &Option<&Value>| match (previous, self.next) {
            (Some(previous), Some(next)) => same(previous, next, node),
            _ => false,
        };
        !self.previous.is_empty() && self.previous.iter().all(alike)
    }

    fn was_there(&self) -> bool {
        self.previous.iter().flatten().any(|value| !value.is_null())
    }

    fn field(&self, name: &str) -> Sides<'v> {
        self.each(|value| value.get(name))
    }

    fn each(&self, part: impl Fn(&'v Value) -> Option<&'v Value>) -> Sides<'v> {
        Sides {
            previous: self
                .previous
                .iter()
                .map(|value| value.and_then(&part))
                .collect(),
            next: self.next.and_then(&part),
            live: self.live.and_then(&part),
        }
    }
}

/// The object as it should be, and how it comes to differ from the live one.
pub(super) fn merged(
    previous: &[Value],
    next: &Value,
    live: &Value,
    root: Node,
) -> (Value, Vec<FieldChange>) {
    let mut merging = Merging::default();
    let sides = Sides {
        previous: previous.iter().map(Some).collect(),
        next: Some(next),
        live: Some(live),
    };
    let merged = merging.place(&sides, root);
    (merged.unwrap_or_else(|| live.clone()), merging.changes)
}

#[derive(Default)]
struct Merging {
    path: Path,
    changes: Vec<FieldChange>,
}

impl Merging {
    /// What should be at a place; none for nothing.
    fn place(&mut self, sides: &Sides<'_>, node: Node) -> Option<Value> {
        match sides.next {
            Some(_) if sides.is_unchanged(node) => sides.live.cloned(),
            Some(Value::Null) => self.remove(sides.live),
            Some(next) => self.set(sides, next, node),
            None if sides.was_there() => self.drop(sides, node),
            None => sides.live.cloned(),
        }
    }

    fn set(&mut self, sides: &Sides<'_>, next: &Value, node: Node) -> Option<Value> {
        if let Some(live) = sides.live.filter(|live| same(live, next, node)) {
            return Some(live.clone());
        }
        if sides.live.is_none() && node.is_nothing(next) {
            return None;
        }
        let merged = match (next, sides.live) {
            (Value::Object(_), Some(Value::Object(live))) if !node.is_atomic() => {
                Some(self.map(sides, live, node))
            }
            (Value::Object(_), None) if node.is_free_map() => {
                let merged = self.map(sides, &Map::new(), node);
                return Some(merged).filter(|merged| merged != &Value::Object(Map::new()));
            }
            (Value::Array(next), Some(Value::Array(live))) => self.list(sides, next, live, node),
            (Value::Array(next), None) => match self.list(sides, next, &[], node) {
                Some(Value::Array(merged)) if merged.is_empty() => return None,
                merged => merged,
            },
            _ => None,
        };
        merged.or_else(|| Some(self.set_whole(sides, next, node)))
    }

    fn set_whole(&mut self, sides: &Sides<'_>, next: &Value, node: Node) -> Value {
        let next = without_nulls(next, node);
        self.record(sides, &next);
        next
    }

    fn map(&mut self, sides: &Sides<'_>, live: &Map<String, Value>, node: Node) -> Value {
        let changes = self.changes.len();
        let merged = self.fields(sides, live, node, None);
        let Some(union) = Union::at(node) else {
            return Value::Object(merged);
        };
        let differs = |name: &String| union.has(name) && merged.get(name) != live.get(name);
        if !live.keys().chain(merged.keys()).any(differs) {
            return Value::Object(merged);
        }
        // Of fields that belong together half cannot be the chart's and half somebody else's.
        self.changes.truncate(changes);
        let mut merged = self.fields(sides, live, node, Some(union));
        self.clear(&mut merged, union, sides.next);
        Value::Object(merged)
    }

    /// The fields of a map, each on its own. Those of a union are set even if the chart did not change them.
    fn fields(
        &mut self,
        sides: &Sides<'_>,
        live: &Map<String, Value>,
        node: Node,
        union: Option<Union>,
    ) -> Map<String, Value> {
        let mut merged = live.clone();
        for name in names(sides) {
            self.path.push_field(name);
            let field = sides.field(name);
            let merged_field = match field.next {
                Some(next) if !next.is_null() && union.is_some_and(|union| union.has(name)) => {
                    self.set(&field, next, node.field(name))
                }
                _ => self.place(&field, node.field(name)),
            };
            match merged_field {
                Some(value) => merged.insert(name.to_owned(), value),
                None => merged.remove(name),
            };
            self.path.pop();
        }
        merged
    }

    /// Removes the fields of a union that the manifest does not have.
    fn clear(&mut self, merged: &mut Map<String, Value>, union: Union, next: Option<&Value>) {
        let is_wanted = |name: &str| next.and_then(|next| next.get(name)).is_some();
        let unwanted = merged
            .keys()
            .filter(|name| union.has(name) && !is_wanted(name));
        for name in unwanted.cloned().collect::<Vec<_>>() {
            let removed = merged.remove(&name);
            self.path.push_field(&name);
            self.remove(removed.as_ref());
            self.path.pop();
        }
    }

    /// None if the list is one value.
    fn list(
        &mut self,
        sides: &Sides<'_>,
        next: &[Value],
        live: &[Value],
        node: Node,
    ) -> Option<Value> {
        if node.is_set() {
            let scalar = |value: &Value| !value.is_object() && !value.is_array();
            let is_set = next.iter().all(scalar) && live.iter().all(scalar);
            return is_set.then(|| Value::Array(self.members(sides, next, live)));
        }
        let lists = NamedLists::of(sides, next, live, node)?;
        Some(Value::Array(self.elements(&lists, node)))
    }

    fn members(&mut self, sides: &Sides<'_>, next: &[Value], live: &[Value]) -> Vec<Value> {
        let members = |list: &Option<&'_ Value>| match list {
            Some(Value::Array(members)) => Members::of(members),
            _ => Members::of([]),
        };
        let previous: Vec<Members> = sides.previous.iter().map(members).collect();
        let wanted = Members::of(next);
        let mut merged = Vec::with_capacity(live.len());
        for member in live {
            if !wanted.has(member) && previous.iter().any(|list| list.has(member)) {
                self.member_change(ChangeKind::Remove, Reason::Removed, member);
            } else {
                merged.push(member.clone());
            }
        }
        let mut there = Members::of(&merged);
        for member in next {
            let is_unchanged = !previous.is_empty() && previous.iter().all(|list| list.has(member));
            if !is_unchanged && there.add(member) {
                self.member_change(ChangeKind::Set, Reason::New, member);
                merged.push(member.clone());
            }
        }
        merged
    }

    fn member_change(&mut self, kind: ChangeKind, reason: Reason, member: &Value) {
        self.path.push(Segment::Member(text(member)));
        let (old, new) = match kind {
            ChangeKind::Set => (None, Some(member.clone())),
            ChangeKind::Remove => (Some(member.clone()), None),
        };
        self.changes.push(FieldChange {
            path: self.path.clone(),
            kind,
            old,
            new,
            reason,
        });
        self.path.pop();
    }

    fn elements(&mut self, lists: &NamedLists<'_>, node: Node) -> Vec<Value> {
        let mut kept: Vec<(&ElementName, Value)> = Vec::new();
        for name in &lists.live.names {
            if let Some(value) = self.element(lists, name, node) {
                kept.push((name, value));
            }
        }
        let mut merged = self.with_new(lists, kept, node);
        if lists.is_reordered() {
            self.reorder(lists, &mut merged);
        }
        merged.into_iter().map(|(_, value)| value).collect()
    }

    /// Puts new elements behind those that the manifest has before them, the first ones before the one it has next.
    fn with_new<'n>(
        &mut self,
        lists: &'n NamedLists<'_>,
        kept: Vec<(&'n ElementName, Value)>,
        node: Node,
    ) -> Vec<(&'n ElementName, Value)> {
        let there: HashSet<&ElementName> = kept.iter().map(|(name, _)| *name).collect();
        let mut behind: HashMap<Option<&ElementName>, Vec<(&ElementName, Value)>> = HashMap::new();
        let mut last = None;
        for name in &lists.next.names {
            if there.contains(name) {
                last = Some(name);
            } else if !lists.live.has(name)
                && let Some(value) = self.element(lists, name, node)
            {
                behind.entry(last).or_default().push((name, value));
            }
        }
        let first = lists.next.names.iter().find(|name| there.contains(name));
        let mut merged = Vec::with_capacity(kept.len());
        for (name, value) in kept {
            if first == Some(name) {
                merged.extend(behind.remove(&None).unwrap_or_default());
            }
            merged.push((name, value));
            merged.extend(behind.remove(&Some(name)).unwrap_or_default());
        }
        merged.extend(behind.remove(&None).unwrap_or_default());
        merged
    }

    fn element(&mut self, lists: &NamedLists<'_>, name: &ElementName, node: Node) -> Option<Value> {
        self.path.push(Segment::Element(name.fields()));
        let merged = self.place(&lists.sides(name), node.element());
        self.path.pop();
        merged
    }

    /// Puts the elements of the manifest in its order; the places of foreign ones stay.
    fn reorder(&mut self, lists: &NamedLists<'_>, merged: &mut [(&ElementName, Value)]) {
        let order = |merged: &[(&ElementName, Value)]| -> Value {
            let names = merged.iter().flat_map(|(name, _)| name.fields());
            names.map(|(_, text)| Value::String(text)).collect()
        };
        let before = order(merged);
        let is_own = |name: &ElementName| lists.next.has(name);
        let positions: Vec<usize> = (0..merged.len())
            .filter(|&at| merged.get(at).is_some_and(|(name, _)| is_own(name)))
            .collect();
        let mut own: Vec<_> = merged
            .iter()
            .filter(|(name, _)| is_own(name))
            .cloned()
            .collect();
        own.sort_by_key(|(name, _)| lists.next.position(name));
        for (position, element) in positions.into_iter().zip(own) {
            if let Some(place) = merged.get_mut(position) {
                *place = element;
            }
        }
        let after = order(merged);
        if before != after {
            self.changes.push(FieldChange {
                path: self.path.clone(),
                kind: ChangeKind::Set,
                old: Some(before),
                new: Some(after),
                reason: Reason::Changed,
            });
        }
    }

    /// What stays of a place that earlier manifests had and the new one has not.
    fn drop(&mut self, sides: &Sides<'_>, node: Node) -> Option<Value> {
        let kept = match sides.live? {
            Value::Object(live) if node.is_free_map() => Some(self.map(sides, live, node)),
            Value::Array(live) => self.list(sides, &[], live, node),
            _ => None,
        };
        match kept {
            // What has lost its last goes as well.
            Some(kept) if is_empty(&kept) && sides.live != Some(&kept) => None,
            Some(kept) => Some(kept),
            None => self.remove(sides.live),
        }
    }

    fn remove(&mut self, live: Option<&Value>) -> Option<Value> {
        if let Some(live) = live {
            self.changes.push(FieldChange {
                path: self.path.clone(),
                kind: ChangeKind::Remove,
                old: Some(live.clone()),
                new: None,
                reason: Reason::Removed,
            });
        }
        None
    }

    fn record(&mut self, sides: &Sides<'_>, new: &Value) {
        let reason = if sides.was_there() {
            Reason::Changed
        } else {
            Reason::New
        };
        self.changes.push(FieldChange {
            path: self.path.clone(),
            kind: ChangeKind::Set,
            old: sides.live.cloned(),
            new: Some(new.clone()),
            reason,
        });
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        _ => false,
    }
}

/// The names of all fields that any manifest has, in their order.
fn names<'v>(sides: &Sides<'v>) -> Vec<&'v str> {
    let manifests = sides.previous.iter().copied().chain([sides.next]);
    let maps = manifests.flatten().filter_map(Value::as_object);
    let mut names: Vec<&str> = maps.flat_map(Map::keys).map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A list in the manifests and on the server, by the names of its elements.
struct NamedLists<'v> {
    previous: Vec<NamedList<'v>>,
    next: NamedList<'v>,
    live: NamedList<'v>,
}

impl<'v> NamedLists<'v> {
    /// None if elements have no names in one of them.
    fn of(
        sides: &Sides<'v>,
        next: &'v [Value],
        live: &'v [Value],
        node: Node,
    ) -> Option<NamedLists<'v>> {
        let keys = node.element_keys();
        if keys.is_empty() {
            return None;
        }
        let list = |value: &Option<&'v Value>| match value {
            Some(Value::Array(elements)) => NamedList::of(elements, keys),
            Some(Value::Null) | None => NamedList::of(&[], keys),
            Some(_) => None,
        };
        Some(NamedLists {
            previous: sides.previous.iter().map(list).collect::<Option<_>>()?,
            next: NamedList::of(next, keys)?,
            live: NamedList::of(live, keys)?,
        })
    }

    fn sides(&self, name: &ElementName) -> Sides<'v> {
        Sides {
            previous: self.previous.iter().map(|list| list.get(name)).collect(),
            next: self.next.get(name),
            live: self.live.get(name),
        }
    }

    /// Whether the manifest orders its elements otherwise than an earlier one did.
    fn is_reordered(&self) -> bool {
        self.previous.is_empty()
            || !self
                .previous
                .iter()
                .all(|list| list.is_ordered_as(&self.next))
    }
}
