//! Merging manifests into live objects.
//!
//! Pure functions of JSON values, no requests: what to send so that an object follows its chart. [`three_way`] leaves
//! alone what the chart did not change, [`overwrite`] sets all that the chart says, as Helm 3.22 does. Both give a
//! [`Merge`]: the patch, or none if there is nothing to do, and the fields it changes. [`apply_patch`] foretells what the
//! patch makes of an object, [`diff`] names the fields in which two objects differ.
//!
//! [`managed_fields`] prepares an object for server-side apply, [`immutable`] reads the API server's refusals to change
//! a field.

mod apply;
mod changes;
mod custom;
mod difference;
mod directive;
mod helm;
mod immutable;
mod keyed;
pub mod managed_fields;
mod object;
mod path;
mod schema;
mod three_way;
mod union;
mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::sync::LazyLock;

use serde_json::{Map, Value};

pub use changes::diff;
pub use helm::MergeError;
pub use immutable::immutable;
pub use path::{Path, Segment};
pub use schema::Schema;

/// What is to be sent, and what that changes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Merge {
    /// The patch; none if no request is needed.
    pub patch: Option<Patch>,
    /// The fields that the patch sets or removes, in the order of their names. May be empty for a patch of
    /// [`overwrite`]: Helm also sends what the server keeps no trace of, such as nulls for fields that are not there.
    pub changes: Vec<FieldChange>,
}

/// A patch as the API server takes it.
///
/// Its values may be secret; `Debug` does not show them.
#[derive(Clone, PartialEq)]
pub enum Patch {
    /// A strategic merge patch, for built-in kinds.
    Strategic(Value),
    /// A merge patch after RFC 7386, for custom resources.
    JsonMerge(Value),
}

impl Patch {
    /// The content type of a request that carries this patch.
    #[must_use]
    pub fn content_type(&self) -> &'static str {
        match self {
            Patch::Strategic(_) => "application/strategic-merge-patch+json",
            Patch::JsonMerge(_) => "application/merge-patch+json",
        }
    }

    /// The body of the request.
    #[must_use]
    pub fn body(&self) -> &Value {
        match self {
            Patch::Strategic(body) | Patch::JsonMerge(body) => body,
        }
    }

    /// A patch of the kind that objects of the schema take; none if it holds nothing.
    fn of(schema: Schema, body: Map<String, Value>) -> Option<Patch> {
        if body.is_empty() {
            return None;
        }
        Some(if schema.is_builtin() {
            Patch::Strategic(body.into())
        } else {
            Patch::JsonMerge(body.into())
        })
    }
}

impl fmt::Debug for Patch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Patch").field(&self.content_type()).finish()
    }
}

/// One field that a merge changes.
///
/// Its values may be secret; `Debug` does not show them.
#[derive(Clone, PartialEq)]
pub struct FieldChange {
    /// Where it is.
    pub path: Path,
    /// Whether it is set or removed.
    pub kind: ChangeKind,
    /// The live value; none if there is none.
    pub old: Option<Value>,
    /// The value it gets; none if it is removed. For a list whose elements only change places, `old` and `new` hold
    /// their names in order.
    pub new: Option<Value>,
    /// Why.
    pub reason: Reason,
}

impl fmt::Debug for FieldChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {} ({:?})", self.kind, self.path, self.reason)
    }
}

/// What happens to a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// It gets a value.
    Set,
    /// It goes.
    Remove,
}

/// Why a field changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The chart now says otherwise than an earlier revision.
    Changed,
    /// The chart says it for the first time.
    New,
    /// The chart said it and no longer does; or it excludes what the chart now says.
    Removed,
    /// The chart says what it always said; the live object had come to differ.
    Drift,
}

/// Merges a manifest into the live object so that only what the chart changed is changed.
///
/// # Arguments
///
/// * `previous` – the object's manifests in every revision since the last deployed one, that one included. None at all
///   means that nothing is known of the past, as for an adopted object: every field of `next` is set.
/// * `next` – the manifest that is to hold. A null in it means that the field is not to be there.
/// * `live` – the object as the server has it.
///
/// A field is left as it lives if all of `previous` and `next` hold the same; other fields of `next` are set, those that
/// `previous` held and `next` does not are removed, and what no manifest holds stays. Elements of lists are told apart
/// by their keys where the kind has any. `status` and the server's own metadata in manifests are ignored, and a Secret's
/// `stringData` counts as `data`. Merging again gives no patch.
#[must_use]
pub fn three_way(previous: &[Value], next: &Value, live: &Value, schema: Schema) -> Merge {
    let Value::Object(live_fields) = live else {
        return Merge::default();
    };
    let manifests = previous
        .iter()
        .map(|manifest| object::significant(manifest, schema));
    let previous: Vec<Value> = manifests.collect();
    let next = object::significant(next, schema);
    let (merged, changes) = three_way::merged(&previous, &next, live, schema.root());
    let Value::Object(merged) = merged else {
        return Merge::default();
    };
    let body = difference(live_fields, &merged, schema);
    Merge {
        patch: Patch::of(schema, body),
        changes,
    }
}

/// Merges a manifest into the live object as Helm 3.22 does.
///
/// # Arguments
///
/// * `original` – the object's manifest in the revision that `next` follows. None stands for the live object, as Helm
///   has it for an object that it finds on the server and not in that revision: all that `next` does not hold goes.
/// * `next` – the manifest that is to hold.
/// * `live` – the object as the server has it.
///
/// Of a built-in kind every field of `next` that differs from the live one is set, and what `original` held and `next`
/// does not is removed; what only the live object holds stays. Of a custom resource only what differs between `original`
/// and `next` is sent, whatever the object has come to hold meanwhile.
///
/// # Errors
///
/// A [`MergeError`] where Helm says that it failed to create a patch.
pub fn overwrite(
    original: Option<&Value>,
    next: &Value,
    live: &Value,
    schema: Schema,
) -> Result<Merge, MergeError> {
    let sides = Manifests::of(original, next, live);
    let body = if schema.is_builtin() {
        helm::strategic(sides.original, sides.next, sides.live, schema.root())?
    } else {
        custom::two_way(sides.original, sides.next)
    };
    Ok(sides.merge(body, schema))
}

/// Merges as [`overwrite`] does when Helm takes an object over (`--take-ownership`): for custom resources too the live
/// object is looked at.
///
/// # Errors
///
/// As [`overwrite`]; also when a custom resource changes its API version.
pub fn take_over(
    original: Option<&Value>,
    next: &Value,
    live: &Value,
    schema: Schema,
) -> Result<Merge, MergeError> {
    if schema.is_builtin() {
        return overwrite(original, next, live, schema);
    }
    let sides = Manifests::of(original, next, live);
    let body = custom::three_way(sides.original, sides.next, sides.live)?;
    Ok(sides.merge(body, schema))
}

/// The three objects of Helm's merge.
struct Manifests<'v> {
    original: &'v Map<String, Value>,
    next: &'v Map<String, Value>,
    live: &'v Map<String, Value>,
}

static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

impl<'v> Manifests<'v> {
    fn of(original: Option<&'v Value>, next: &'v Value, live: &'v Value) -> Manifests<'v> {
        let fields = |object: &'v Value| object.as_object().unwrap_or(&EMPTY);
        Manifests {
            original: fields(original.unwrap_or(live)),
            next: fields(next),
            live: fields(live),
        }
    }

    fn merge(&self, body: Map<String, Value>, schema: Schema) -> Merge {
        let Some(patch) = Patch::of(schema, body) else {
            return Merge::default();
        };
        let owned = |fields: &Map<String, Value>| Value::Object(fields.clone());
        let live = owned(self.live);
        let patched = apply_patch(&live, &patch, schema);
        let mut changes = diff(&live, &patched, schema);
        let chart = diff(&owned(self.original), &owned(self.next), schema);
        let chart = chart.into_iter().map(|change| (change.path, change.reason));
        let chart: BTreeMap<Path, Reason> = chart.collect();
        for change in &mut changes {
            if change.kind == ChangeKind::Set {
                change.reason = reason(&change.path, &chart);
            }
        }
        Merge {
            patch: Some(patch),
            changes,
        }
    }
}

/// Why a field comes to be set, by what the chart changed there, around it or inside of it.
fn reason(path: &Path, chart: &BTreeMap<Path, Reason>) -> Reason {
    let around = path.prefixes().find_map(|path| chart.get(path));
    let inside = || {
        let mut behind =
            chart.range::<[Segment], _>((Bound::Excluded(path.segments()), Bound::Unbounded));
        behind
            .next()
            .is_some_and(|(inner, _)| inner.segments().starts_with(path.segments()))
    };
    match around {
        Some(Reason::New) => Reason::New,
        Some(_) => Reason::Changed,
        None if inside() => Reason::Changed,
        None => Reason::Drift,
    }
}

fn difference(
    live: &Map<String, Value>,
    wanted: &Map<String, Value>,
    schema: Schema,
) -> Map<String, Value> {
    if schema.is_builtin() {
        difference::strategic(live, wanted, schema.root())
    } else {
        difference::json_merge(live, wanted)
    }
}

/// What the API server makes of an object when it gets the patch, without defaults and what else it does on its own.
///
/// A part of the patch that the server would refuse has no effect.
#[must_use]
pub fn apply_patch(live: &Value, patch: &Patch, schema: Schema) -> Value {
    match (live, patch) {
        (Value::Object(live), Patch::Strategic(Value::Object(patch))) => {
            apply::strategic(live.clone(), patch, schema.root()).into()
        }
        (live, Patch::Strategic(_)) => live.clone(),
        (live, Patch::JsonMerge(patch)) => {
            let mut patched = live.clone();
            json_patch::merge(&mut patched, patch);
            patched
        }
    }
}
