//! What parked objects were before: their sizes and suspend flags, and what follows from them (S-11.3 to S-11.9).
//!
//! No I/O and no clock: rules over values, and the document that they are kept in.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use kzero_cluster::{ScaleKind, WorkloadRef};
use serde::{Deserialize, Serialize};

use crate::event::SizeSource;

/// The form of documents that this version writes, and the newest that it reads.
pub const FORMAT: u64 = 1;

/// Kinds that have something to remember.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectKind {
    /// A Deployment, by its size.
    Deployment,
    /// A StatefulSet, by its size.
    StatefulSet,
    /// A CronJob, by its suspend flag.
    CronJob,
}

impl ObjectKind {
    /// The kind as references spell it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Deployment => "deployment",
            Self::StatefulSet => "statefulset",
            Self::CronJob => "cronjob",
        }
    }
}

/// Which object an entry is of. Displays as its reference, `deployment.app/api`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Its kind.
    pub kind: ObjectKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Key {
    /// The key of a CronJob.
    #[must_use]
    pub fn cron_job(namespace: &str, name: &str) -> Self {
        Self {
            kind: ObjectKind::CronJob,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// The workload that it is of; `None` for a CronJob.
    #[must_use]
    pub fn workload(&self) -> Option<WorkloadRef> {
        let kind = match self.kind {
            ObjectKind::Deployment => ScaleKind::Deployment,
            ObjectKind::StatefulSet => ScaleKind::StatefulSet,
            ObjectKind::CronJob => return None,
        };
        Some(WorkloadRef::new(kind, &self.namespace, &self.name))
    }
}

impl From<&WorkloadRef> for Key {
    fn from(workload: &WorkloadRef) -> Self {
        Self {
            kind: match workload.kind {
                ScaleKind::Deployment => ObjectKind::Deployment,
                ScaleKind::StatefulSet => ObjectKind::StatefulSet,
            },
            namespace: workload.namespace.clone(),
            name: workload.name.clone(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}/{}", self.kind.word(), self.namespace, self.name)
    }
}

/// What is remembered of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// `spec.replicas` of a workload.
    Size(u32),
    /// `spec.suspend` of a CronJob.
    Suspend(bool),
}

impl Value {
    /// A live size. The API has none below 0.
    #[must_use]
    pub fn size(live: i32) -> Self {
        Self::Size(u32::try_from(live).unwrap_or(0))
    }

    /// Whether an object that has it is parked.
    #[must_use]
    pub const fn is_parked(self) -> bool {
        matches!(self, Self::Size(0) | Self::Suspend(true))
    }

    /// Whether an object of the kind can have it.
    #[must_use]
    pub const fn fits(self, kind: ObjectKind) -> bool {
        matches!(
            (self, kind),
            (
                Self::Size(_),
                ObjectKind::Deployment | ObjectKind::StatefulSet
            ) | (Self::Suspend(_), ObjectKind::CronJob)
        )
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(1) => f.write_str("1 replica"),
            Self::Size(size) => write!(f, "{size} replicas"),
            Self::Suspend(suspend) => write!(f, "suspend={suspend}"),
        }
    }
}

/// An object as the cluster has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    /// Its uid.
    pub uid: String,
    /// Its size or suspend flag.
    pub value: Value,
}

impl From<kzero_cluster::Size> for Live {
    fn from(size: kzero_cluster::Size) -> Self {
        Self {
            uid: size.uid,
            value: Value::size(size.replicas),
        }
    }
}

impl From<kzero_cluster::CronJobState> for Live {
    fn from(state: kzero_cluster::CronJobState) -> Self {
        Self {
            uid: state.uid,
            value: Value::Suspend(state.suspend),
        }
    }
}

/// What is remembered of one object, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The object's uid: another object of the same name is not meant.
    pub uid: String,
    /// What it was.
    pub value: Value,
    /// When it was recorded.
    pub at: Timestamp,
    /// The run that did, or `remember`.
    pub run: String,
    /// `user@host`.
    pub by: String,
}

impl Entry {
    /// Whether it is of this object, and not of one that had its name before.
    #[must_use]
    pub fn is_of(&self, live: &Live) -> bool {
        self.uid == live.uid
    }
}

/// Why a document cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormatError {
    /// A newer kzero wrote it, in this form.
    Newer(u64),
    /// It is none, or was changed by others.
    Broken(String),
}

/// All entries of a profile, in the order of their keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    entries: BTreeMap<Key, Entry>,
}

/// The document.
#[derive(Serialize, Deserialize)]
struct Document {
    format: u64,
    entries: Vec<Row>,
}

/// An entry in the document.
#[derive(Serialize, Deserialize)]
struct Row {
    kind: ObjectKind,
    namespace: String,
    name: String,
    uid: String,
    value: Value,
    at: String,
    run: String,
    by: String,
}

impl Memory {
    /// Reads a document.
    ///
    /// # Errors
    ///
    /// [`FormatError`]: nothing of it is to be used, and it is not to be written over.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let broken = |error: serde_json::Error| FormatError::Broken(error.to_string());
        let value: serde_json::Value = serde_json::from_str(text).map_err(broken)?;
        match value.get("format").and_then(serde_json::Value::as_u64) {
            None => return Err(FormatError::Broken("it names no format".to_owned())),
            Some(found) if found > FORMAT => return Err(FormatError::Newer(found)),
            Some(_) => {}
        }
        let document: Document = serde_json::from_value(value).map_err(broken)?;
        let mut memory = Self::default();
        for row in document.entries {
            let key = Key {
                kind: row.kind,
                namespace: row.namespace,
                name: row.name,
            };
            let broken = |why: String| FormatError::Broken(format!("{key}: {why}"));
            if !row.value.fits(key.kind) {
                return Err(broken(format!("{} is no value of its kind", row.value)));
            }
            let at = row.at.parse().map_err(|error: jiff::Error| {
                broken(format!("{:?} is no time: {error}", row.at))
            })?;
            let entry = Entry {
                uid: row.uid,
                value: row.value,
                at,
                run: row.run,
                by: row.by,
            };
            memory.insert_newer(key, entry);
        }
        Ok(memory)
    }

    /// The document, an entry a line.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{{\"format\":{FORMAT},\"entries\":[");
        for (number, (key, entry)) in self.entries.iter().enumerate() {
            let row = Row {
                kind: key.kind,
                namespace: key.namespace.clone(),
                name: key.name.clone(),
                uid: entry.uid.clone(),
                value: entry.value,
                at: entry.at.to_string(),
                run: entry.run.clone(),
                by: entry.by.clone(),
            };
            text.push_str(if number == 0 { "\n" } else { ",\n" });
            // Texts, numbers and flags always have a form in JSON.
            text.push_str(&serde_json::to_string(&row).unwrap_or_default());
        }
        text.push_str("\n]}\n");
        text
    }

    /// The entry of an object.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Entry)> {
        self.entries.iter()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Puts an entry in the place of the one that is there.
    pub fn insert(&mut self, key: Key, entry: Entry) {
        self.entries.insert(key, entry);
    }

    /// Forgets an object; returns what was remembered.
    pub fn remove(&mut self, key: &Key) -> Option<Entry> {
        self.entries.remove(key)
    }

    fn insert_newer(&mut self, key: Key, entry: Entry) {
        match self.entries.get(&key) {
            Some(known) if known.at >= entry.at => {}
            _ => {
                self.entries.insert(key, entry);
            }
        }
    }

    /// Both together; of two entries of an object the newer one (S-11.10).
    #[must_use]
    pub fn merged(mut self, other: Self) -> Self {
        for (key, entry) in other.entries {
            self.insert_newer(key, entry);
        }
        self
    }

    /// What is not in another the same.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Self {
        let mut entries = self.entries.clone();
        entries.retain(|key, entry| other.get(key) != Some(entry));
        Self { entries }
    }

    /// Whether each object of another has an entry.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        other
            .entries
            .keys()
            .all(|key| self.entries.contains_key(key))
    }
}

/// What a park does to the entry of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parking {
    /// It stays: the object is parked still, or its value is recorded by this run.
    Keep,
    /// The live value is recorded.
    Record {
        /// What is lost with that: the entry was of an object that is gone, and its successor is found parked.
        lost: Option<Value>,
    },
}

/// What `down` does to the entry of an object that it is about to park (S-11.1, S-11.4).
#[must_use]
pub fn on_down(entry: Option<&Entry>, live: &Live, run: &str) -> Parking {
    let parked = live.value.is_parked();
    match entry {
        Some(entry) if entry.is_of(live) => {
            if parked || (entry.run == run && entry.value == live.value) {
                Parking::Keep
            } else {
                Parking::Record { lost: None }
            }
        }
        Some(entry) if parked && !entry.value.is_parked() => Parking::Record {
            lost: Some(entry.value),
        },
        Some(_) | None => Parking::Record { lost: None },
    }
}

/// What `up` makes of an object, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waking<T> {
    /// The size or flag to set.
    pub wanted: T,
    /// Where that comes from.
    pub source: SizeSource,
    /// What is remembered of an object that had the name before and so is not used (S-11.9).
    pub foreign: Option<Value>,
}

/// What an entry says of a live object: its value, or that of another object.
fn recalled(entry: Option<&Entry>, live: &Live) -> (Option<Value>, Option<Value>) {
    match entry {
        Some(entry) if entry.is_of(live) => (Some(entry.value), None),
        Some(entry) => (None, Some(entry.value)),
        None => (None, None),
    }
}

/// The size that `up` sets: that of the step; else, while the object is parked, the remembered one; else the live one; else 1
/// (S-D.12, S-11.6).
#[must_use]
pub fn size_on_up(step: Option<u32>, entry: Option<&Entry>, live: &Live) -> Waking<u32> {
    let (own, foreign) = recalled(entry, live);
    let (wanted, source, foreign) = match (step, live.value, own) {
        (Some(size), _, _) => (size, SizeSource::Step, None),
        (None, Value::Size(live), _) if live > 0 => (live, SizeSource::Live, foreign),
        (None, _, Some(Value::Size(size))) => (size, SizeSource::Remembered, None),
        (None, _, _) => (1, SizeSource::Default, foreign),
    };
    Waking {
        wanted,
        source,
        foreign,
    }
}

/// The suspend flag that `up` sets: one that is not suspended stays so, a parked one gets its flag back, else it is resumed (S-11.8).
#[must_use]
pub fn suspend_on_up(entry: Option<&Entry>, live: &Live) -> Waking<bool> {
    let (own, foreign) = recalled(entry, live);
    let (wanted, source, foreign) = match (live.value, own) {
        (Value::Suspend(false), _) => (false, SizeSource::Live, foreign),
        (_, Some(Value::Suspend(suspend))) => (suspend, SizeSource::Remembered, None),
        (_, _) => (false, SizeSource::Default, foreign),
    };
    Waking {
        wanted,
        source,
        foreign,
    }
}

/// How an object stands to its entry (S-11.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is parked.
    Parked,
    /// It runs, or is not suspended.
    Woken,
    /// It is not there.
    Gone,
    /// Another object has its name.
    Replaced,
}

impl Standing {
    /// Judges an object that was looked for.
    #[must_use]
    pub fn of(entry: &Entry, live: Option<&Live>) -> Self {
        match live {
            None => Self::Gone,
            Some(live) if !entry.is_of(live) => Self::Replaced,
            Some(live) if live.value.is_parked() => Self::Parked,
            Some(_) => Self::Woken,
        }
    }

    /// As `status` shows it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Parked => "parked",
            Self::Woken => "woken",
            Self::Gone => "gone",
            Self::Replaced => "replaced",
        }
    }
}

#[cfg(test)]
mod tests;
