//! Memory as a run uses it: read once, written before something is parked, cleared when all is awake (S-11.1 to S-11.11).

use std::collections::BTreeMap;

use jiff::Timestamp;
use kzero_cluster::Budget;
use tokio::sync::{Mutex, MutexGuard};

use super::memory::{Entry, Key, Live, Parking, Value, on_down};
use super::store::{Known, Store, StoreError};
use crate::event::{Bus, Level, Mode};

/// The memory of the run in hand. In dry-run it is read and never written.
pub struct Keeper<'a> {
    /// `None` where memory is off.
    store: Option<Store<'a>>,
    bus: &'a Bus,
    by: String,
    known: Mutex<Option<Known>>,
    /// Whether it was told that nothing is remembered.
    told: Mutex<bool>,
}

impl<'a> Keeper<'a> {
    /// A memory that is read when it is first asked.
    #[must_use]
    pub fn new(store: Store<'a>, by: &str, bus: &'a Bus) -> Self {
        Self {
            store: Some(store),
            bus,
            by: by.to_owned(),
            known: Mutex::default(),
            told: Mutex::default(),
        }
    }

    /// No memory: nothing is recorded, nothing known.
    #[must_use]
    pub fn off(bus: &'a Bus) -> Self {
        Self {
            store: None,
            bus,
            by: String::new(),
            known: Mutex::default(),
            told: Mutex::default(),
        }
    }

    /// Whether there is one.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.store.is_some()
    }

    async fn known(
        &self,
        store: &Store<'_>,
        budget: &Budget,
    ) -> Result<MutexGuard<'_, Option<Known>>, StoreError> {
        let mut known = self.known.lock().await;
        if known.is_none() {
            *known = Some(store.read(budget).await?);
        }
        Ok(known)
    }

    /// What is remembered of an object.
    ///
    /// # Errors
    ///
    /// As [`Store::read`].
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn entry(&self, key: &Key, budget: &Budget) -> Result<Option<Entry>, StoreError> {
        let Some(store) = &self.store else {
            return Ok(None);
        };
        let known = self.known(store, budget).await?;
        Ok(known
            .as_ref()
            .and_then(|known| known.memory().get(key).cloned()))
    }

    /// Records what an object is that is about to be parked, unless that is known. In dry-run says what would be recorded.
    ///
    /// # Errors
    ///
    /// As [`Store::change`]: then it must not be parked.
    ///
    /// # Cancel safety
    ///
    /// As [`Store::change`].
    pub async fn park(&self, key: &Key, live: &Live, budget: &Budget) -> Result<(), StoreError> {
        let found = BTreeMap::from([(key.clone(), live.clone())]);
        if self.record(&found, budget).await? > 0 {
            let verb = match self.bus.mode() {
                Mode::Live => "remembered",
                Mode::DryRun => "would remember",
            };
            let text = format!("{verb} {key}: {}", live.value);
            self.bus.note(Level::Debug, text);
        }
        Ok(())
    }

    /// [`Keeper::park`] for many objects, in one write (S-D.13).
    ///
    /// # Errors
    ///
    /// As [`Keeper::park`].
    ///
    /// # Cancel safety
    ///
    /// As [`Keeper::park`].
    pub async fn park_all(
        &self,
        found: &BTreeMap<Key, Live>,
        budget: &Budget,
    ) -> Result<(), StoreError> {
        let recorded = self.record(found, budget).await?;
        if recorded > 0
            && let Some(store) = &self.store
        {
            let text = format!(
                "remembered {recorded} of {} objects in {}",
                found.len(),
                store.map_name()
            );
            self.bus.note(Level::Info, text);
        }
        Ok(())
    }

    /// Returns how many were, or would be, recorded.
    async fn record(
        &self,
        found: &BTreeMap<Key, Live>,
        budget: &Budget,
    ) -> Result<usize, StoreError> {
        let Some(store) = &self.store else {
            return Ok(0);
        };
        let run = self.bus.run_id();
        let mut known = self.known(store, budget).await?;
        let Some(known) = known.as_mut() else {
            return Ok(0);
        };
        let at = now();
        let entry = |live: &Live| Entry {
            uid: live.uid.clone(),
            value: live.value,
            at,
            run: run.to_owned(),
            by: self.by.clone(),
        };
        let decide = |memory: &super::memory::Memory, key: &Key, live: &Live| {
            on_down(memory.get(key), live, run)
        };
        let mut recorded = 0;
        for (key, live) in found {
            if let Parking::Record { lost } = decide(known.memory(), key, live) {
                recorded += 1;
                self.tell_lost(key, live, lost);
            }
        }
        if self.bus.mode() == Mode::DryRun || recorded == 0 {
            return Ok(recorded);
        }
        // Decided anew on what others may have written meanwhile.
        let edit = |memory: &mut super::memory::Memory| {
            for (key, live) in found {
                if decide(memory, key, live) != Parking::Keep {
                    memory.insert(key.clone(), entry(live));
                }
            }
        };
        store.change(known, edit, budget).await?;
        Ok(recorded)
    }

    fn tell_lost(&self, key: &Key, live: &Live, lost: Option<Value>) {
        if let Some(lost) = lost {
            let text = format!(
                "{key}: remembered {lost} of an object that was replaced since; the new one is parked already, remembering {}",
                live.value
            );
            self.bus.note(Level::Warn, text);
        }
    }

    /// Forgets objects that were woken, and what then is empty.
    ///
    /// # Errors
    ///
    /// As [`Store::change`].
    ///
    /// # Cancel safety
    ///
    /// As [`Store::change`].
    pub async fn forget(&self, keys: &[Key], budget: &Budget) -> Result<(), StoreError> {
        let Some(store) = &self.store else {
            return Ok(());
        };
        if self.bus.mode() == Mode::DryRun || keys.is_empty() {
            return Ok(());
        }
        let mut known = self.known(store, budget).await?;
        let Some(known) = known.as_mut() else {
            return Ok(());
        };
        let edit = |memory: &mut super::memory::Memory| {
            for key in keys {
                memory.remove(key);
            }
        };
        store.change(known, edit, budget).await
    }

    /// Says, once a run, where else sizes are remembered when nothing is remembered here (S-D.16).
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn tell_others(&self, budget: &Budget) {
        let Some(store) = &self.store else { return };
        if std::mem::replace(&mut *self.told.lock().await, true) {
            return;
        }
        let empty = match self.known.lock().await.as_ref() {
            Some(known) => known.memory().is_empty(),
            None => return,
        };
        if !empty {
            return;
        }
        let others = store.others(budget).await;
        if !others.is_empty() {
            let text = store.told_others(&others);
            self.bus.note(Level::Warn, text);
        }
    }
}

/// The time, as entries have it.
#[must_use]
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}
