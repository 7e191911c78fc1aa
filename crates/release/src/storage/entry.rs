//! What lists tell of records.

use std::collections::BTreeMap;

use super::{Raw, Stamp, StorageError, labels};
use crate::codec::{self, Undecodable};
use crate::revision::{Revision, Status};

/// A record in a list: which revision of which release it is and its status, as its labels have them.
#[derive(Clone, Debug)]
pub struct Entry {
    name: String,
    version: i64,
    status: Status,
    shown: String,
    removal: Option<String>,
    raw: Raw,
}

impl Entry {
    /// Reads the labels. The number is also in the record's name, where a label is lost.
    pub(super) fn new(
        raw: Raw,
        shown: String,
        removal: Option<String>,
    ) -> Result<Self, StorageError> {
        let from_name = raw
            .name
            .strip_prefix("sh.helm.release.v1.")
            .and_then(|rest| rest.rsplit_once(".v"));
        let label = |key: &str| raw.labels.get(key).map(String::as_str);
        let name = label("name").or(from_name.map(|(name, _)| name));
        let version = label("version").or(from_name.map(|(_, version)| version));
        let version = version
            .and_then(|text| text.parse().ok())
            .filter(|number| *number > 0);
        let (Some(name), Some(version)) = (name, version) else {
            let why = Undecodable::new("its labels name no revision of a release");
            return Err(StorageError::Undecodable {
                record: shown,
                why,
                removal,
            });
        };
        Ok(Self {
            name: name.to_owned(),
            version,
            status: Status::of_word(label("status").unwrap_or_default()),
            shown,
            removal,
            raw,
        })
    }

    /// The release.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The namespace of the record.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.raw.namespace
    }

    /// The number of the revision, above 0.
    #[must_use]
    pub fn version(&self) -> i64 {
        self.version
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// All labels of the record, those of the system too.
    #[must_use]
    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.raw.labels
    }

    /// The name of the record.
    #[must_use]
    pub fn record(&self) -> &str {
        &self.raw.name
    }

    /// The record in words, such as `secret shop/sh.helm.release.v1.web.v3`.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.shown
    }

    pub(super) fn stamp(&self) -> Option<&Stamp> {
        self.raw.stamp.as_ref()
    }

    pub(super) fn order(&self) -> (&str, &str, i64) {
        (&self.raw.namespace, &self.name, self.version)
    }

    /// Decodes the revision.
    ///
    /// # Errors
    ///
    /// [`StorageError::Undecodable`] when the text is none, is that of another revision, or was not read: entries of
    /// [`Storage::list`](super::Storage::list) are for [`Storage::load`](super::Storage::load).
    pub fn revision(&self) -> Result<Revision, StorageError> {
        let faulty = |why| StorageError::Undecodable {
            record: self.shown.clone(),
            why,
            removal: self.removal.clone(),
        };
        let Some(body) = &self.raw.body else {
            return Err(faulty(Undecodable::new("it has no release")));
        };
        let mut revision = codec::decode(body).map_err(faulty)?;
        if revision.name != self.name || revision.version != self.version {
            let (name, version) = (&revision.name, revision.version);
            let why = format!("it holds revision {version} of release {name:?}");
            return Err(faulty(Undecodable::new(why)));
        }
        revision.labels = labels::custom(&self.raw.labels);
        revision.stamp.clone_from(&self.raw.stamp);
        Ok(revision)
    }
}

/// The revisions of one release, by number.
#[derive(Clone, Debug)]
pub struct History {
    name: String,
    entries: Vec<Entry>,
    faults: Vec<StorageError>,
}

impl History {
    pub(super) fn new(
        name: &str,
        records: impl IntoIterator<Item = Result<Entry, StorageError>>,
    ) -> Self {
        let mut entries = Vec::new();
        let mut faults = Vec::new();
        for record in records {
            match record {
                Ok(entry) => entries.push(entry),
                Err(fault) => faults.push(fault),
            }
        }
        entries.sort_by_key(Entry::version);
        Self {
            name: name.to_owned(),
            entries,
            faults,
        }
    }

    /// The release.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The revisions, the oldest first.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Records whose labels say nothing of use.
    #[must_use]
    pub fn faults(&self) -> &[StorageError] {
        &self.faults
    }

    pub(super) fn into_faults(self) -> Vec<StorageError> {
        self.faults
    }

    /// Whether there is no revision.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The newest revision, whatever became of it.
    #[must_use]
    pub fn last(&self) -> Option<&Entry> {
        self.entries.last()
    }

    /// The revision of a number.
    #[must_use]
    pub fn get(&self, version: i64) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.version == version)
    }

    /// The newest deployed revision. There can be several, where somebody died between two writes.
    #[must_use]
    pub fn deployed(&self) -> Option<&Entry> {
        self.newest_deployed().and_then(|at| self.entries.get(at))
    }

    /// The newest deployed revision and all after it; all of them where none is deployed. What any of these applied may
    /// be in the cluster.
    #[must_use]
    pub fn since_deployed(&self) -> &[Entry] {
        self.entries
            .get(self.newest_deployed().unwrap_or(0)..)
            .unwrap_or_default()
    }

    fn newest_deployed(&self) -> Option<usize> {
        self.entries
            .iter()
            .rposition(|entry| entry.status == Status::Deployed)
    }

    /// The revisions that go so that with one more there are `max`: the oldest, but for the newest deployed one.
    pub(super) fn superfluous(&self, max: usize) -> Vec<&Entry> {
        let Some(room) = max.checked_sub(1) else {
            return Vec::new();
        };
        let too_many = self.entries.len().saturating_sub(room);
        let deployed = self.newest_deployed();
        let numbered = self.entries.iter().enumerate();
        numbered
            .filter(|(at, _)| Some(*at) != deployed)
            .map(|(_, entry)| entry)
            .take(too_many)
            .collect()
    }
}

/// The newest revision of each release in a list.
#[must_use]
pub fn latest(entries: Vec<Entry>) -> Vec<Entry> {
    let mut newest: BTreeMap<(String, String), Entry> = BTreeMap::new();
    for entry in entries {
        let release = (entry.raw.namespace.clone(), entry.name.clone());
        match newest.get(&release) {
            Some(other) if other.version >= entry.version => {}
            _ => {
                newest.insert(release, entry);
            }
        }
    }
    newest.into_values().collect()
}
