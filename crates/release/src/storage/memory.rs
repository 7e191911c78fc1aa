//! Records in the memory of the process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Entry, Raw, Stamp, StorageError};

/// By namespace and name.
type Records = BTreeMap<(String, String), Raw>;

#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    records: Records,
    writes: u64,
}

impl Shared {
    fn put(&mut self, mut raw: Raw) -> Stamp {
        self.writes += 1;
        let stamp = Stamp(self.writes.to_string());
        raw.stamp = Some(stamp.clone());
        self.records
            .insert((raw.namespace.clone(), raw.name.clone()), raw);
        stamp
    }
}

/// Whether a record is in the state that is expected, if one is.
fn unchanged(found: &Raw, expected: Option<&Stamp>) -> Result<(), StorageError> {
    if expected.is_some() && expected != found.stamp.as_ref() {
        return Err(StorageError::Changed {
            record: found.name.clone(),
        });
    }
    Ok(())
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn of_release(&self, namespace: &str, release: &str) -> Vec<Raw> {
        let shared = self.lock();
        let of_release = |raw: &&Raw| {
            raw.namespace == namespace && raw.labels.get("name").is_some_and(|name| name == release)
        };
        shared
            .records
            .values()
            .filter(of_release)
            .cloned()
            .collect()
    }

    pub(super) fn heads(&self, namespace: Option<&str>) -> Vec<Raw> {
        let shared = self.lock();
        let in_scope = |raw: &&Raw| namespace.is_none_or(|namespace| raw.namespace == namespace);
        let head = |raw: &Raw| Raw {
            body: None,
            ..raw.clone()
        };
        shared.records.values().filter(in_scope).map(head).collect()
    }

    pub(super) fn read(&self, namespace: &str, record: &str) -> Option<Raw> {
        let key = (namespace.to_owned(), record.to_owned());
        self.lock().records.get(&key).cloned()
    }

    pub(super) fn create(&self, raw: Raw) -> Result<Stamp, StorageError> {
        let mut shared = self.lock();
        let key = (raw.namespace.clone(), raw.name.clone());
        if shared.records.contains_key(&key) {
            return Err(StorageError::Exists);
        }
        Ok(shared.put(raw))
    }

    pub(super) fn replace(&self, raw: Raw) -> Result<Stamp, StorageError> {
        let mut shared = self.lock();
        let key = (raw.namespace.clone(), raw.name.clone());
        let found = shared.records.get(&key).ok_or(StorageError::NotFound)?;
        unchanged(found, raw.stamp.as_ref())?;
        Ok(shared.put(raw))
    }

    pub(super) fn delete(&self, entry: &Entry) -> Result<bool, StorageError> {
        let mut shared = self.lock();
        let key = (entry.namespace().to_owned(), entry.record().to_owned());
        let Some(found) = shared.records.get(&key) else {
            return Ok(false);
        };
        unchanged(found, entry.stamp())?;
        shared.records.remove(&key);
        Ok(true)
    }
}
