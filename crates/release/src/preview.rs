//! Plans for people and scripts: what happens to which object, field by field, with secrets hidden.

use kzero_cluster::{ApiResource, ObjectPatch};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::decide::Decision;
use crate::directives::Directives;
use crate::engine::Planned;
use crate::merge::{ChangeKind, FieldChange, Path, Reason, Segment};
use crate::plan::{Item, Plan, Purpose, Task};
use crate::resource::{ResourceId, shown_id};
use crate::secrecy::Mask;

/// More of a value than this is not shown, in characters.
const SHOWN: usize = 200;

/// What a deployment would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Preview {
    /// `install`, `upgrade`, `rollback` or `uninstall`.
    pub purpose: &'static str,
    /// The number of the revision it would make.
    pub revision: i64,
    /// Objects that change, in the order of the plan.
    pub changes: Vec<ObjectChange>,
    /// How many objects stay as they are.
    pub unchanged: usize,
    /// Whether chart, values, notes, hooks and labels are those of the revision before as well.
    pub same_record: bool,
    /// What has no effect, or may not be meant.
    pub warnings: Vec<String>,
}

/// What happens to one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObjectChange {
    /// `create`, `update`, `replace`, `apply`, `recreate`, `delete`, or `run` for a hook.
    pub verb: &'static str,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty for kinds without one.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The stage: `crds`, `pre`, `main` or `post`.
    pub stage: &'static str,
    /// Why.
    pub reason: String,
    /// The fields that change.
    pub fields: Vec<Field>,
    /// The whole of an object that is created, created anew or deleted, long texts cut; hooks have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
}

/// What happens to one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Where it is.
    pub path: String,
    /// The live value as JSON, cut if it is long; absent if there is none.
    pub old: Option<String>,
    /// The value it gets, likewise; absent if it goes.
    pub new: Option<String>,
    /// `changed`, `new`, `removed` or `drift`.
    pub reason: &'static str,
}

impl ObjectChange {
    /// The object as messages name it.
    #[must_use]
    pub fn object(&self) -> String {
        shown_id(&self.kind, &self.namespace, &self.name)
    }
}

impl Field {
    /// `spec.replicas: 2 -> 4`.
    #[must_use]
    pub fn line(&self) -> String {
        let none = || "(none)".to_owned();
        let old = self.old.clone().unwrap_or_else(none);
        let new = self.new.clone().unwrap_or_else(none);
        format!("{}: {old} -> {new}", self.path)
    }
}

impl Preview {
    /// Looks into a plan; nothing secret comes out of it.
    #[must_use]
    pub fn new(planned: &Planned, mask: &Mask) -> Self {
        let plan = &planned.plan;
        let mut changes = Vec::new();
        for operation in &plan.operations {
            let stage = operation.stage.word();
            match operation.task {
                Task::Deploy { item, again: false } => {
                    if let Some(item) = plan.items.get(item).filter(|item| item.decision.changes())
                    {
                        changes.push(deployed(item, stage, mask));
                    }
                }
                Task::Remove { removal } => {
                    if let Some(removal) = plan.removals.get(removal) {
                        let reason = "the chart no longer has it".to_owned();
                        let mut found = change("delete", &removal.resource.id, stage, reason);
                        let object = &removal.resource.object;
                        found.body = Some(body(object, &removal.directives, mask));
                        changes.push(found);
                    }
                }
                Task::Deploy { .. }
                | Task::Barrier
                | Task::Ready { .. }
                | Task::Cleanup { .. }
                | Task::External { .. }
                | Task::Gone { .. } => {}
            }
        }
        Self {
            purpose: purpose(plan.purpose),
            revision: planned.revision.version,
            unchanged: unchanged(plan),
            changes,
            same_record: planned.unchanged,
            warnings: plan.warnings.clone(),
        }
    }

    /// Whether nothing would happen in the cluster.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Install => "install",
        Purpose::Upgrade => "upgrade",
        Purpose::Rollback => "rollback",
        Purpose::Uninstall => "uninstall",
        Purpose::Test => "test",
    }
}

fn unchanged(plan: &Plan) -> usize {
    let kept = |item: &&Item| !item.decision.changes();
    plan.items.iter().filter(kept).count()
}

fn change(
    verb: &'static str,
    id: &ResourceId,
    stage: &'static str,
    reason: String,
) -> ObjectChange {
    ObjectChange {
        verb,
        kind: id.kind.clone(),
        namespace: id.namespace.clone(),
        name: id.name.clone(),
        stage,
        reason,
        fields: Vec::new(),
        body: None,
    }
}

/// An object as it may be shown.
fn body(object: &Value, directives: &Directives, mask: &Mask) -> Value {
    let mut shown = object.clone();
    mask.hide(&mut shown, directives);
    shorten(&mut shown);
    shown
}

/// Cuts long texts, wherever they are.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => *text = cut(text),
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn deployed(item: &Item, stage: &'static str, mask: &Mask) -> ObjectChange {
    let id = &item.resource.id;
    if item.is_hook() {
        return change("run", id, stage, "hook of the chart".to_owned());
    }
    let reason = match &item.decision {
        Decision::Create(_) => "it is not there",
        Decision::CreateWhenGone(_) => "it is being deleted and is created once it is gone",
        Decision::Patch {
            patch: ObjectPatch::Merge(_),
            ..
        } => "the chart changed it (custom resource)",
        Decision::Patch { .. } => "the chart changed it",
        Decision::Replace { .. } => "it is replaced as a whole (--force)",
        Decision::Apply { .. } => "the API server merges it",
        Decision::Recreate(_) => "its annotation has it created anew",
        Decision::Keep(kept) => kept.word(),
    };
    let mut found = change(item.decision.verb(), id, stage, reason.to_owned());
    found.fields = item
        .decision
        .fields()
        .iter()
        .map(|field| self::field(field, item, mask))
        .collect();
    found.body = match &item.decision {
        Decision::Create(object)
        | Decision::CreateWhenGone(object)
        | Decision::Recreate(object) => Some(body(object, &item.directives, mask)),
        _ => None,
    };
    found
}

fn field(change: &FieldChange, item: &Item, mask: &Mask) -> Field {
    let shown = |value: &Option<Value>| {
        value.as_ref().map(|value| {
            let api = &item.resource.api;
            cut(&hidden(value, &change.path, api, item, mask).to_string())
        })
    };
    Field {
        path: change.path.to_string(),
        old: shown(&change.old),
        new: match change.kind {
            ChangeKind::Set => shown(&change.new),
            ChangeKind::Remove => None,
        },
        reason: match change.reason {
            Reason::Changed => "changed",
            Reason::New => "new",
            Reason::Removed => "removed",
            Reason::Drift => "drift",
        },
    }
}

/// A value as it may be shown. What is secret is told by places in whole objects, so the value is put into one.
fn hidden(value: &Value, path: &Path, api: &ApiResource, item: &Item, mask: &Mask) -> Value {
    let mut object = value.clone();
    for segment in path.segments().iter().rev() {
        object = match segment {
            Segment::Field(name) => json!({ name.as_str(): object }),
            Segment::Element(keys) => {
                let mut element: Map<String, Value> = keys
                    .iter()
                    .map(|(name, text)| (name.clone(), Value::from(text.as_str())))
                    .collect();
                if let Value::Object(fields) = object {
                    element.extend(fields);
                }
                Value::Array(vec![Value::Object(element)])
            }
            Segment::Member(_) => Value::Array(vec![object]),
        };
    }
    if let Value::Object(fields) = &mut object {
        fields.insert("apiVersion".into(), api.group_version.clone().into());
        fields.insert("kind".into(), api.kind.clone().into());
    }
    mask.hide(&mut object, &item.directives);
    let mut found = &object;
    for segment in path.segments() {
        let inner = match segment {
            Segment::Field(name) => found.get(name),
            Segment::Element(_) | Segment::Member(_) => found.get(0),
        };
        match inner {
            Some(inner) => found = inner,
            // All around it was hidden.
            None => return found.clone(),
        }
    }
    found.clone()
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
