//! Where memory is kept: a ConfigMap of the profile, and where that cannot be written a file of this host (S-11.2, S-11.10).
//!
//! Refuses to decide what is remembered. A write is made of what was read last, so what others wrote meanwhile is never lost.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use kzero_cluster::{Budget, Cluster, ClusterError, ErrorClass, RecordKind};
use serde_json::{Value, json};

use super::memory::{Entry, FORMAT, FormatError, Key, Memory};
use super::place::{self, Place};
use crate::event::Level;

/// The key of the document in the ConfigMap.
const DOCUMENT: &str = "memory.json";
/// What marks ConfigMaps of this program.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by=kzero";
/// The bytes that the data of a ConfigMap may have, all keys together.
pub const MOST_BYTES: usize = 1 << 20;
/// Beyond so many bytes the bound is told.
pub const NEAR_BYTES: usize = MOST_BYTES / 10 * 8;
/// How often a write that met a newer version is tried (S-D.9).
const ATTEMPTS: u32 = 5;
/// The pause before it is tried again, doubled each time: several writers must not meet again at once.
const PAUSE: Duration = Duration::from_millis(20);
/// Bytes of the file. It has what a ConfigMap cannot hold, too.
const FILE_BYTES: u64 = 64 << 20;

/// Why memory cannot be read or written.
#[derive(Debug, Clone)]
pub struct StoreError {
    /// One sentence; a hint may follow on a line of its own.
    pub text: String,
    /// Whether another attempt may help (S-3.17).
    pub transient: bool,
}

impl StoreError {
    fn permanent(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            transient: false,
        }
    }
}

impl From<ClusterError> for StoreError {
    fn from(error: ClusterError) -> Self {
        Self {
            text: error.to_string(),
            transient: error.is_transient() || error.class() == ErrorClass::Conflict,
        }
    }
}

impl From<FormatError> for StoreError {
    fn from(error: FormatError) -> Self {
        Self::permanent(match error {
            FormatError::Newer(found) => format!(
                "its format is {found}, this kzero reads {FORMAT}\nhint: use the kzero that wrote it, or a newer one"
            ),
            FormatError::Broken(why) => format!(
                "it is broken: {why}\nhint: mend it, or delete it and say what is to come back with kzero remember REF=N"
            ),
        })
    }
}

/// What is known of both places.
#[derive(Debug, Clone, Default)]
pub struct Known {
    memory: Memory,
    map: Map,
    in_map: Memory,
    in_file: Memory,
}

impl Known {
    /// What is remembered, both places together.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }
}

/// The ConfigMap when it was read last.
#[derive(Debug, Clone, Default)]
enum Map {
    #[default]
    Absent,
    There(Box<Value>),
    /// It may not be read, or there is no client.
    Unusable(String),
}

/// What came of a write.
enum Written {
    Done(Box<Known>),
    /// Others wrote in between.
    Conflict(StoreError),
}

/// Both places of a profile.
pub struct Store<'a> {
    place: &'a Place,
    cluster: Result<Cluster, String>,
    tell: Tell<'a>,
    told: Mutex<BTreeSet<String>>,
}

/// Where lines go that say what is to be known of the places.
pub type Tell<'a> = Box<dyn Fn(Level, String) + 'a>;

impl<'a> Store<'a> {
    /// The places. `cluster` is an error where there is no API client; then there is the file alone.
    #[must_use]
    pub fn new(place: &'a Place, cluster: Result<Cluster, String>, tell: Tell<'a>) -> Self {
        Self {
            place,
            cluster,
            tell,
            told: Mutex::default(),
        }
    }

    /// The ConfigMap, as texts name it.
    #[must_use]
    pub fn map_name(&self) -> String {
        format!("configmap {}/{}", self.place.namespace, self.place.object())
    }

    fn file(&self) -> PathBuf {
        self.place.folder().join(DOCUMENT)
    }

    /// Says something once.
    fn tell(&self, level: Level, text: String) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert(text.clone()) {
            drop(told);
            (self.tell)(level, text);
        }
    }

    /// Reads both places.
    ///
    /// # Errors
    ///
    /// The API server does not answer, or one of the places holds what cannot be used. A ConfigMap that may not be read is told,
    /// and the file counts.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn read(&self, budget: &Budget) -> Result<Known, StoreError> {
        let map = self.read_map(budget).await?;
        let in_map = match &map {
            Map::There(object) => self.parse_map(object)?,
            Map::Absent => Memory::default(),
            Map::Unusable(why) => {
                self.tell(
                    Level::Warn,
                    format!(
                        "memory of sizes: {} cannot be read ({why}), only {} is",
                        self.map_name(),
                        self.file().display()
                    ),
                );
                Memory::default()
            }
        };
        let in_file = self.read_file()?;
        Ok(Known {
            memory: in_map.clone().merged(in_file.clone()),
            map,
            in_map,
            in_file,
        })
    }

    /// What this host alone has, for when the API server does not answer.
    ///
    /// # Errors
    ///
    /// The file holds what cannot be used.
    pub fn read_local(&self) -> Result<Memory, StoreError> {
        self.read_file()
    }

    async fn read_map(&self, budget: &Budget) -> Result<Map, StoreError> {
        let cluster = match &self.cluster {
            Ok(cluster) => cluster,
            Err(why) => return Ok(Map::Unusable(format!("there is no API client: {why}"))),
        };
        let (namespace, name) = (&self.place.namespace, self.place.object());
        let read = cluster.read_record(RecordKind::ConfigMap, namespace, &name, budget);
        match read.await {
            Ok(Some(record)) => Ok(Map::There(Box::new(record.object))),
            Ok(None) => Ok(Map::Absent),
            Err(error) if error.class() == ErrorClass::Forbidden => {
                Ok(Map::Unusable(error.to_string()))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn parse_map(&self, object: &Value) -> Result<Memory, StoreError> {
        let Some(document) = object.pointer(&format!("/data/{DOCUMENT}")) else {
            return Ok(Memory::default());
        };
        let text = document.as_str().unwrap_or_default();
        Memory::parse(text).map_err(|error| unusable(&self.map_name(), error))
    }

    /// The file; one that cannot be read is told, and counts as none.
    fn read_file(&self) -> Result<Memory, StoreError> {
        let path = self.file();
        let shown = path.display().to_string();
        match read_text(&path) {
            Ok(None) => Ok(Memory::default()),
            Ok(Some(text)) => Memory::parse(&text).map_err(|error| unusable(&shown, error)),
            Err(error) => {
                let text = format!("memory of sizes: cannot read {shown}: {error}");
                self.tell(Level::Warn, text);
                Ok(Memory::default())
            }
        }
    }

    /// Makes memory what `edit` makes of it, and `known` what is there then. Writes nothing if that is the same; is asked again
    /// when others wrote in between.
    ///
    /// # Errors
    ///
    /// It can be written nowhere, or others wrote in between five times.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped, the write may or may not have been done. It may be repeated.
    pub async fn change(
        &self,
        known: &mut Known,
        edit: impl Fn(&mut Memory),
        budget: &Budget,
    ) -> Result<(), StoreError> {
        let mut attempt = 1;
        loop {
            let mut memory = known.memory.clone();
            edit(&mut memory);
            if memory == known.memory {
                return Ok(());
            }
            match self.write(known, memory, budget).await? {
                Written::Done(now) => {
                    *known = *now;
                    return Ok(());
                }
                Written::Conflict(error) if attempt >= ATTEMPTS => return Err(error),
                Written::Conflict(_) => {
                    let text = format!("{}: conflict, attempt {attempt}", self.map_name());
                    (self.tell)(Level::Debug, text);
                    let _ = budget.sleep(PAUSE * (1 << attempt)).await;
                    *known = self.read(budget).await?;
                    attempt += 1;
                }
            }
        }
    }

    async fn write(
        &self,
        known: &Known,
        memory: Memory,
        budget: &Budget,
    ) -> Result<Written, StoreError> {
        let why = match (&known.map, &self.cluster) {
            (Map::Unusable(why), _) | (_, Err(why)) => why.clone(),
            (map, Ok(cluster)) => {
                let object = self.object(map, &memory);
                let bytes = data_bytes(&object);
                if bytes > MOST_BYTES {
                    too_large(bytes, &memory)
                } else {
                    self.warn_near(bytes, &memory);
                    match self.write_map(cluster, map, &object, &memory, budget).await {
                        Ok(map) => return Ok(Written::Done(Box::new(self.in_map(map, memory)))),
                        Err(error) => match refusal(map, &error) {
                            Refusal::Conflict => return Ok(Written::Conflict(error.into())),
                            Refusal::Place => error.to_string(),
                            Refusal::Other => return Err(error.into()),
                        },
                    }
                }
            }
        };
        self.write_file(known, &memory, &why)
    }

    /// What is known once the ConfigMap has it all: the file has had its day.
    fn in_map(&self, map: Map, memory: Memory) -> Known {
        let file = self.file();
        if let Err(error) = std::fs::remove_file(&file)
            && error.kind() != io::ErrorKind::NotFound
        {
            // What it says is older than what the ConfigMap says, and so does no harm while that lasts.
            self.tell(
                Level::Warn,
                format!(
                    "memory of sizes: cannot remove {}, which is out of date: {error}",
                    file.display()
                ),
            );
        }
        Known {
            memory: memory.clone(),
            map,
            in_map: memory,
            in_file: Memory::default(),
        }
    }

    /// The ConfigMap that is to be: that which is there with another document, and whatever else others put into it.
    fn object(&self, map: &Map, memory: &Memory) -> Value {
        let mut object = match map {
            Map::There(object) => (**object).clone(),
            Map::Absent | Map::Unusable(_) => json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": self.place.object(), "namespace": self.place.namespace},
            }),
        };
        for part in ["data", "metadata"] {
            if !object[part].is_object() {
                object[part] = json!({});
            }
        }
        object["data"][DOCUMENT] = memory.text().into();
        if !object["metadata"]["labels"].is_object() {
            object["metadata"]["labels"] = json!({});
        }
        object["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "kzero".into();
        object
    }

    async fn write_map(
        &self,
        cluster: &Cluster,
        map: &Map,
        object: &Value,
        memory: &Memory,
        budget: &Budget,
    ) -> Result<Map, ClusterError> {
        let (kind, namespace) = (RecordKind::ConfigMap, self.place.namespace.as_str());
        let Map::There(before) = map else {
            if memory.is_empty() {
                return Ok(Map::Absent);
            }
            let created = cluster
                .create_record(kind, namespace, object, budget)
                .await?;
            return Ok(Map::There(Box::new(created.object)));
        };
        let others = before["data"]
            .as_object()
            .is_some_and(|data| data.keys().any(|key| key != DOCUMENT))
            || before["binaryData"].is_object();
        if memory.is_empty() && !others {
            let version = before["metadata"]["resourceVersion"].as_str();
            let name = self.place.object();
            let deleted =
                cluster.delete_record(kind, namespace, &name, version.unwrap_or_default(), budget);
            match deleted.await {
                Ok(_) => return Ok(Map::Absent),
                // Whoever may not delete it may empty it.
                Err(error) if error.class() == ErrorClass::Forbidden => {}
                Err(error) => return Err(error),
            }
        }
        let replaced = cluster
            .replace_record(kind, namespace, object, budget)
            .await?;
        Ok(Map::There(Box::new(replaced.object)))
    }

    fn warn_near(&self, bytes: usize, memory: &Memory) {
        if bytes > NEAR_BYTES {
            self.tell(Level::Warn, self.near(bytes, memory));
        }
    }

    fn near(&self, bytes: usize, memory: &Memory) -> String {
        format!(
            "memory of sizes: {} objects take {} KiB of the {} KiB that {} holds; what goes beyond is kept in {}, on one host alone\nhint: split the profile",
            memory.len(),
            bytes >> 10,
            MOST_BYTES >> 10,
            self.map_name(),
            self.file().display()
        )
    }

    /// The line that names other memories (S-D.16).
    #[must_use]
    pub fn told_others(&self, others: &[String]) -> String {
        format!(
            "{} remembers nothing; other memories are {} (state.namespace and state.name choose one)",
            self.map_name(),
            others.join(", ")
        )
    }

    /// Puts into the file what the ConfigMap does not have.
    fn write_file(&self, known: &Known, memory: &Memory, why: &str) -> Result<Written, StoreError> {
        let path = self.file();
        if !memory.covers(&known.in_map) {
            return Err(StoreError::permanent(format!(
                "memory of sizes: cannot forget in {}: {why}\nhint: delete it when nothing is parked any more",
                self.map_name()
            )));
        }
        let in_file = memory.beyond(&known.in_map);
        match self.replace_file(known, &in_file) {
            Ok(true) => {}
            Ok(false) => {
                return Ok(Written::Conflict(StoreError {
                    text: format!("memory of sizes: {} keeps changing", path.display()),
                    transient: true,
                }));
            }
            Err(error) => {
                return Err(StoreError::permanent(format!(
                    "memory of sizes: {} cannot be written ({why}), nor can {}: {error}\nhint: grant get, create, update and delete of configmaps in namespace {}, or set KZERO_STATE_DIR to a folder that can be written",
                    self.map_name(),
                    path.display(),
                    self.place.namespace
                )));
            }
        }
        self.tell(
            Level::Warn,
            format!(
                "memory of sizes goes to {}, on this host alone: {} cannot be written ({why})",
                path.display(),
                self.map_name()
            ),
        );
        Ok(Written::Done(Box::new(Known {
            memory: memory.clone(),
            map: known.map.clone(),
            in_map: known.in_map.clone(),
            in_file,
        })))
    }

    /// `false` if the file is not as it was read.
    fn replace_file(&self, known: &Known, in_file: &Memory) -> io::Result<bool> {
        let path = self.file();
        place::make_folder(self.place.folder())?;
        let guard = place::open_private(&path.with_extension("lock"))?;
        guard.lock()?;
        // One that cannot be read is not written over.
        let now = match read_text(&path)? {
            None => Memory::default(),
            Some(text) => Memory::parse(&text)
                .map_err(|error| io::Error::other(StoreError::from(error).text))?,
        };
        if now != known.in_file {
            return Ok(false);
        }
        if in_file.is_empty() {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        } else {
            place::replace_file(&path, in_file.text().as_bytes())?;
        }
        Ok(true)
    }

    /// Says, before it happens, that a park of these objects comes near to what the ConfigMap can hold or goes beyond it.
    #[must_use]
    pub fn bound(&self, known: &Known, keys: impl IntoIterator<Item = Key>) -> Option<String> {
        let mut whole = known.memory.clone();
        for key in keys {
            // What is not known yet is as long as it gets.
            let entry = Entry {
                uid: "0".repeat(36),
                value: super::memory::Value::Size(1000),
                at: Timestamp::UNIX_EPOCH,
                run: "0".repeat(30),
                by: self.place.by.clone(),
            };
            if whole.get(&key).is_none() {
                whole.insert(key, entry);
            }
        }
        let bytes = data_bytes(&self.object(&known.map, &whole));
        (bytes > NEAR_BYTES).then(|| self.near(bytes, &whole))
    }

    /// Other memories that may be seen, as `namespace/name`; none if they may not be listed.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn others(&self, budget: &Budget) -> Vec<String> {
        let Ok(cluster) = &self.cluster else {
            return Vec::new();
        };
        let list = |namespace| {
            cluster.list_record_heads(RecordKind::ConfigMap, namespace, MANAGED_BY, budget)
        };
        let found = match list(None).await {
            Err(error) if error.class() == ErrorClass::Forbidden => {
                list(Some(&self.place.namespace)).await
            }
            found => found,
        };
        let own = (self.place.namespace.clone(), self.place.object());
        let heads = found.unwrap_or_default();
        let names = heads.iter().filter_map(|head| {
            let text = |key: &str| Some(head.pointer(key)?.as_str()?.to_owned());
            Some((text("/metadata/namespace")?, text("/metadata/name")?))
        });
        names
            .filter(|name| name.1.starts_with("kzero-") && *name != own)
            .map(|(namespace, name)| format!("{namespace}/{name}"))
            .collect()
    }
}

fn unusable(what: &str, error: FormatError) -> StoreError {
    let error = StoreError::from(error);
    StoreError::permanent(format!(
        "memory of sizes: cannot use {what}: {}",
        error.text
    ))
}

/// The text of a file, `None` where there is none.
fn read_text(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(FILE_BYTES).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// What a write that failed says.
enum Refusal {
    /// Others were faster.
    Conflict,
    /// This place cannot be had.
    Place,
    /// It may go well another time.
    Other,
}

fn refusal(map: &Map, error: &ClusterError) -> Refusal {
    match (error.class(), map) {
        (ErrorClass::Conflict | ErrorClass::Exists, _) | (ErrorClass::NotFound, Map::There(_)) => {
            Refusal::Conflict
        }
        (ErrorClass::Forbidden | ErrorClass::NotFound | ErrorClass::Invalid, _) => Refusal::Place,
        _ => Refusal::Other,
    }
}

/// The bytes that the server counts.
fn data_bytes(object: &Value) -> usize {
    ["data", "binaryData"]
        .iter()
        .filter_map(|part| object[part].as_object())
        .flatten()
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
        .sum()
}

fn too_large(bytes: usize, memory: &Memory) -> String {
    format!(
        "with {} objects it would have {} KiB, a ConfigMap holds {}",
        memory.len(),
        bytes >> 10,
        MOST_BYTES >> 10
    )
}
