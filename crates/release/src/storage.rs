//! Where revisions are kept: the same places, under the same names and labels, as Helm keeps them.
//!
//! Duty: a [`Storage`] reads and writes the records of one namespace, and lists those of all. Listing tells number and
//! status from labels; what a record holds is decoded when it is asked for, so that one broken record does not hide the
//! others.
//!
//! Two writers see each other: a revision is created only where there is none of its number, and a record is replaced only
//! in the state in which it was read. Helm does the first alone. Its own updates replace whatever is there, so a write of
//! Helm's between a read and a write here is noticed, and one after it is not prevented.

mod driver;
mod entry;
mod error;
mod labels;
mod memory;
mod objects;
mod selection;
mod size;
mod sql;

use std::collections::BTreeMap;

use jiff::Timestamp;
use kzero_cluster::{Budget, Cluster, RecordKind};

use crate::codec;
use crate::revision::{Revision, check_name};
use crate::shown::plain;
pub use driver::{Driver, UnknownDriver};
pub use entry::{Entry, History, latest};
pub use error::StorageError;
pub use labels::{RESERVED_LABELS, ReservedLabel, check_labels, merge_labels};
use memory::Memory;
use objects::Objects;
pub use selection::{ALL_STATUSES, InvalidSelector, Order, Selection, Selector};
pub use size::TooLarge;
use sql::Sql;
pub use sql::{SqlError, SqlSettings};

/// The state of a record in its store: what a write must find there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(String);

/// A record as its store has it.
#[derive(Clone, Debug)]
struct Raw {
    namespace: String,
    name: String,
    /// All labels, those of the system too.
    labels: BTreeMap<String, String>,
    /// The text; none where only the labels were asked for.
    body: Option<String>,
    stamp: Option<Stamp>,
}

/// The name of the record of a revision, such as `sh.helm.release.v1.web.v3`.
#[must_use]
pub fn record_name(release: &str, version: i64) -> String {
    format!("sh.helm.release.v1.{release}.v{version}")
}

/// Which namespaces are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// That of the storage.
    Namespace,
    /// All of them.
    Everywhere,
}

/// The records of the releases of one namespace. Cheap to clone; clones share what is below.
#[derive(Clone, Debug)]
pub struct Storage {
    namespace: String,
    store: Store,
}

#[derive(Clone, Debug)]
enum Store {
    Objects(Objects),
    Memory(Memory),
    Sql(Sql),
}

impl Storage {
    /// Records as Secrets of the namespace: Helm's default.
    #[must_use]
    pub fn secrets(cluster: Cluster, namespace: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            store: Store::Objects(Objects::new(cluster, RecordKind::HelmSecret)),
        }
    }

    /// Records as ConfigMaps of the namespace.
    #[must_use]
    pub fn config_maps(cluster: Cluster, namespace: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            store: Store::Objects(Objects::new(cluster, RecordKind::HelmConfigMap)),
        }
    }

    /// Records that end with the process.
    #[must_use]
    pub fn memory(namespace: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            store: Store::Memory(Memory::default()),
        }
    }

    /// Records as rows of a PostgreSQL database, where Helm keeps them with `HELM_DRIVER=sql`. Connects now, and makes
    /// Helm's tables where they are missing. A connection that is lost is made again by the next call; a statement that
    /// was under way then is an error.
    ///
    /// # Errors
    ///
    /// [`StorageError::Sql`]: no connection, or no right to make the tables.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped, the tables may or may not be made.
    pub async fn sql(
        settings: SqlSettings,
        namespace: impl Into<String>,
        budget: &Budget,
    ) -> Result<Self, StorageError> {
        Ok(Self {
            namespace: namespace.into(),
            store: Store::Sql(Sql::connect(settings, budget).await?),
        })
    }

    /// The same store for another namespace.
    #[must_use]
    pub fn in_namespace(&self, namespace: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            store: self.store.clone(),
        }
    }

    /// The namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// A record in words, such as `secret shop/sh.helm.release.v1.web.v3`.
    fn shown(&self, namespace: &str, record: &str) -> String {
        let word = match &self.store {
            Store::Objects(objects) => objects.word(),
            Store::Memory(_) => "record in memory",
            Store::Sql(_) => "row",
        };
        format!("{word} {}/{}", plain(namespace), plain(record))
    }

    /// The command that deletes a record; none for one that ends with the process.
    fn removal(&self, namespace: &str, record: &str) -> Option<String> {
        match &self.store {
            Store::Objects(objects) => Some(format!(
                "kubectl delete {} {} --namespace {}",
                objects.word(),
                plain(record),
                plain(namespace)
            )),
            Store::Memory(_) => None,
            Store::Sql(_) => {
                let quoted = |text: &str| plain(text).replace('\'', "''");
                Some(format!(
                    "DELETE FROM releases_v1 WHERE key = '{}' AND namespace = '{}';",
                    quoted(record),
                    quoted(namespace)
                ))
            }
        }
    }

    fn entry(&self, raw: Raw) -> Result<Entry, StorageError> {
        let shown = self.shown(&raw.namespace, &raw.name);
        let removal = self.removal(&raw.namespace, &raw.name);
        Entry::new(raw, shown, removal)
    }

    /// The revisions of a release, by number, with their texts. It is empty where there is no such release.
    ///
    /// # Errors
    ///
    /// A name that no release can have, and a store that does not answer. Records that are none are told by
    /// [`History::faults`].
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn history(&self, name: &str, budget: &Budget) -> Result<History, StorageError> {
        named(name)?;
        let raws = match &self.store {
            Store::Objects(objects) => objects.of_release(&self.namespace, name, budget).await?,
            Store::Memory(memory) => memory.of_release(&self.namespace, name),
            Store::Sql(sql) => sql.of_release(&self.namespace, name, budget).await?,
        };
        Ok(History::new(
            name,
            raws.into_iter().map(|raw| self.entry(raw)),
        ))
    }

    /// One revision.
    ///
    /// # Errors
    ///
    /// [`StorageError::NotFound`] when it is not there, [`StorageError::Undecodable`] when its record is none, a name
    /// that no release can have, and a store that does not answer.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn get(
        &self,
        name: &str,
        version: i64,
        budget: &Budget,
    ) -> Result<Revision, StorageError> {
        named(name)?;
        self.read(&self.namespace, &record_name(name, version), budget)
            .await
    }

    /// The revision of an entry, read again: for entries of [`Self::list`], which have no text.
    ///
    /// # Errors
    ///
    /// As [`Self::get`].
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn load(&self, entry: &Entry, budget: &Budget) -> Result<Revision, StorageError> {
        self.read(entry.namespace(), entry.record(), budget).await
    }

    async fn read(
        &self,
        namespace: &str,
        record: &str,
        budget: &Budget,
    ) -> Result<Revision, StorageError> {
        let raw = match &self.store {
            Store::Objects(objects) => objects.read(namespace, record, budget).await?,
            Store::Memory(memory) => memory.read(namespace, record),
            Store::Sql(sql) => sql.read(namespace, record, budget).await?,
        };
        self.entry(raw.ok_or(StorageError::NotFound)?)?.revision()
    }

    /// The newest revision of a release that is deployed, by the labels of the records.
    ///
    /// # Errors
    ///
    /// [`StorageError::NoDeployed`] when none is; else as [`Self::history`] and [`Self::get`].
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn deployed(&self, name: &str, budget: &Budget) -> Result<Revision, StorageError> {
        let history = self.history(name, budget).await?;
        match history.deployed() {
            Some(entry) => entry.revision(),
            None => Err(StorageError::NoDeployed {
                name: name.to_owned(),
            }),
        }
    }

    /// All records of releases, by namespace, name and number, without their texts: [`Self::load`] reads one,
    /// [`latest`] leaves the newest of each release. Records whose labels say nothing of use are told beside them.
    ///
    /// # Errors
    ///
    /// A store that does not answer.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn list(
        &self,
        scope: Scope,
        budget: &Budget,
    ) -> Result<(Vec<Entry>, Vec<StorageError>), StorageError> {
        let namespace = match scope {
            Scope::Namespace => Some(self.namespace.as_str()),
            Scope::Everywhere => None,
        };
        let raws = match &self.store {
            Store::Objects(objects) => objects.heads(namespace, budget).await?,
            Store::Memory(memory) => memory.heads(namespace),
            Store::Sql(sql) => sql.heads(namespace, budget).await?,
        };
        let mut entries = Vec::with_capacity(raws.len());
        let mut faults = Vec::new();
        for raw in raws {
            match self.entry(raw) {
                Ok(entry) => entries.push(entry),
                Err(fault) => faults.push(fault),
            }
        }
        entries.sort_by(|a, b| a.order().cmp(&b.order()));
        Ok((entries, faults))
    }

    /// Whether a revision can be stored: Secrets and ConfigMaps hold a mebibyte. To be asked before anything is applied.
    /// A little is kept free for what the record grows by until the operation ends.
    ///
    /// # Errors
    ///
    /// [`StorageError::TooLarge`], which says what is large and what helps, and what [`codec::encode`] refuses.
    pub fn would_fit(&self, revision: &Revision) -> Result<(), StorageError> {
        match &self.store {
            Store::Objects(objects) => {
                let record = self.shown(&self.namespace, &revision.record_name());
                size::check(revision, objects.word()).map_err(|error| error.about(record))
            }
            Store::Memory(_) | Store::Sql(_) => Ok(()),
        }
    }

    /// Writes the record of a new revision, if there is none of its number. The revision then knows the state of its
    /// record.
    ///
    /// # Errors
    ///
    /// [`StorageError::Exists`] when there is one, which is how two writers exclude each other; labels that are
    /// reserved; a record that is too large; a store that does not answer.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped after sending, the record may or may not be there.
    pub async fn create(
        &self,
        revision: &mut Revision,
        budget: &Budget,
    ) -> Result<(), StorageError> {
        let raw = self.raw(revision, labels::CREATED_AT, None)?;
        let stamp = match &self.store {
            Store::Objects(objects) => objects.create(raw, budget).await?,
            Store::Memory(memory) => memory.create(raw)?,
            Store::Sql(sql) => sql.create(raw, budget).await?,
        };
        revision.stamp = Some(stamp);
        Ok(())
    }

    /// Replaces the record of a revision, if it is as it was when the revision was read or last written.
    ///
    /// # Errors
    ///
    /// [`StorageError::Changed`] when it is not, [`StorageError::NotFound`] when it is gone; else as [`Self::create`].
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped after sending, the record may or may not be replaced.
    pub async fn update(
        &self,
        revision: &mut Revision,
        budget: &Budget,
    ) -> Result<(), StorageError> {
        let raw = self.raw(revision, labels::MODIFIED_AT, revision.stamp.clone())?;
        let shown = self.shown(&raw.namespace, &raw.name);
        let stamp = match &self.store {
            Store::Objects(objects) => objects.replace(raw, budget).await,
            Store::Memory(memory) => memory.replace(raw),
            Store::Sql(sql) => sql.replace(raw, budget).await,
        };
        revision.stamp = Some(stamp.map_err(|error| error.about(shown))?);
        Ok(())
    }

    /// Deletes the record of an entry, in the state in which it was listed. `false` if it was not there.
    ///
    /// # Errors
    ///
    /// [`StorageError::Changed`] when it has changed since; a store that does not answer.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped after sending, the record may or may not be gone.
    pub async fn delete(&self, entry: &Entry, budget: &Budget) -> Result<bool, StorageError> {
        let deleted = match &self.store {
            Store::Objects(objects) => objects.delete(entry, budget).await,
            Store::Memory(memory) => memory.delete(entry),
            Store::Sql(sql) => sql.delete(entry, budget).await,
        };
        deleted.map_err(|error| error.about(entry.shown()))
    }

    /// Deletes all records of a release, the oldest first, so that its newest is there until the end. Returns how many
    /// there were.
    ///
    /// # Errors
    ///
    /// As [`Self::history`] and [`Self::delete`]; what was deleted before stays deleted. A record whose labels say
    /// nothing of use is left, and is the error when all others are gone.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped, the older records may be gone.
    pub async fn purge(&self, name: &str, budget: &Budget) -> Result<usize, StorageError> {
        let history = self.history(name, budget).await?;
        let mut deleted = 0;
        for entry in history.entries() {
            deleted += usize::from(self.delete(entry, budget).await?);
        }
        match history.into_faults().into_iter().next() {
            Some(fault) => Err(fault),
            None => Ok(deleted),
        }
    }

    /// Makes room for one more revision where at most `max` are kept (0: all): deletes the oldest, but never the newest
    /// deployed one, as Helm does. Returns the numbers deleted.
    ///
    /// # Errors
    ///
    /// As [`Self::delete`]; what was deleted before stays deleted.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped, some of the oldest records may be gone.
    pub async fn prune(
        &self,
        history: &History,
        max: usize,
        budget: &Budget,
    ) -> Result<Vec<i64>, StorageError> {
        let mut pruned = Vec::new();
        for entry in history.superfluous(max) {
            self.delete(entry, budget).await?;
            pruned.push(entry.version());
        }
        Ok(pruned)
    }

    /// The record of a revision as it is written now.
    fn raw(
        &self,
        revision: &Revision,
        time_label: &'static str,
        stamp: Option<Stamp>,
    ) -> Result<Raw, StorageError> {
        named(&revision.name)?;
        check_labels(&revision.labels)?;
        let name = revision.record_name();
        let body = codec::encode(revision).map_err(|why| StorageError::Unwritable {
            record: self.shown(&self.namespace, &name),
            why,
        })?;
        Ok(Raw {
            namespace: self.namespace.clone(),
            labels: labels::of(revision, time_label, Timestamp::now()),
            name,
            body: Some(body),
            stamp,
        })
    }
}

/// Names go into selectors and names of objects: nothing else may.
fn named(name: &str) -> Result<(), StorageError> {
    check_name(name).map_err(|_| StorageError::InvalidName {
        name: name.to_owned(),
    })
}
