//! The fields in which two objects differ.

use serde_json::{Map, Value};

use super::keyed::{ElementName, NamedList};
use super::path::{Path, Segment};
use super::schema::{Node, Schema};
use super::value::{Members, same, text};
use super::{ChangeKind, FieldChange, Reason};

/// Names the fields in which `wanted` differs from `live`, elements of lists by their keys.
///
/// Values that are the same to the server (`1000m` and `1`, no labels and an empty map of labels) do not differ. The reason is [`Reason::New`] for what `live`
/// does not have, [`Reason::Removed`] for what `wanted` does not have, else [`Reason::Changed`].
#[must_use]
pub fn diff(live: &Value, wanted: &Value, schema: Schema) -> Vec<FieldChange> {
    let mut comparison = Comparison::default();
    comparison.place(Some(live), Some(wanted), schema.root());
    comparison.changes
}

#[derive(Default)]
struct Comparison {
    path: Path,
    changes: Vec<FieldChange>,
}

impl Comparison {
    fn place(&mut self, live: Option<&Value>, wanted: Option<&Value>, node: Node) {
        let live = live.filter(|value| !node.is_nothing(value));
        let wanted = wanted.filter(|value| !node.is_nothing(value));
        match (live, wanted) {
            (Some(old), Some(new)) if old == new || same(old, new, node) => {}
            (Some(Value::Object(old)), Some(Value::Object(new))) if !node.is_too_deep() => {
                self.maps(old, new, node);
            }
            (Some(Value::Array(old)), Some(Value::Array(new))) => {
                if !self.lists(old, new, node) {
                    self.record(live, wanted);
                }
            }
            (None, None) => {}
            _ => self.record(live, wanted),
        }
    }

    fn maps(&mut self, live: &Map<String, Value>, wanted: &Map<String, Value>, node: Node) {
        let mut names: Vec<&String> = live.keys().chain(wanted.keys()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            self.path.push_field(name);
            self.place(live.get(name), wanted.get(name), node.field(name));
            self.path.pop();
        }
    }

    /// False if the lists are values of one piece.
    fn lists(&mut self, live: &[Value], wanted: &[Value], node: Node) -> bool {
        if node.is_set() {
            self.members(live, wanted);
            return true;
        }
        let keys = node.element_keys();
        if keys.is_empty() {
            return false;
        }
        let (Some(old), Some(new)) = (NamedList::of(live, keys), NamedList::of(wanted, keys))
        else {
            return false;
        };
        let gone = old.iter().filter(|(name, _)| !new.has(name));
        for (name, element) in new
            .iter()
            .map(|(name, _)| (name, old.get(name)))
            .chain(gone.map(|(name, element)| (name, Some(element))))
        {
            self.path.push(Segment::Element(name.fields()));
            self.place(element, new.get(name), node.element());
            self.path.pop();
        }
        if !old.is_ordered_as(&new) {
            let order = |list: &NamedList<'_>| -> Value {
                let names = list.names.iter().flat_map(ElementName::fields);
                names.map(|(_, text)| Value::String(text)).collect()
            };
            self.record(Some(&order(&old)), Some(&order(&new)));
        }
        true
    }

    fn members(&mut self, live: &[Value], wanted: &[Value]) {
        let (before, after) = (Members::of(live), Members::of(wanted));
        let gone = live.iter().filter(|member| !after.has(member));
        let new = wanted.iter().filter(|member| !before.has(member));
        for (old, new) in gone
            .map(|member| (Some(member), None))
            .chain(new.map(|member| (None, Some(member))))
        {
            let member = old.or(new).map(text).unwrap_or_default();
            self.path.push(Segment::Member(member));
            self.record(old, new);
            self.path.pop();
        }
    }

    fn record(&mut self, old: Option<&Value>, new: Option<&Value>) {
        let (kind, reason) = match (old, new) {
            (_, None) => (ChangeKind::Remove, Reason::Removed),
            (None, Some(_)) => (ChangeKind::Set, Reason::New),
            (Some(_), Some(_)) => (ChangeKind::Set, Reason::Changed),
        };
        self.changes.push(FieldChange {
            path: self.path.clone(),
            kind,
            old: old.cloned(),
            new: new.cloned(),
            reason,
        });
    }
}
