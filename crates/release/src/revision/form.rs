//! A revision to JSON and back: the order of fields, and which are left out.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::hook::{HookRun, Phase, StoredHook};
use super::time::{Given, Time};
use super::{Form, Holder, Info, Revision, Status};

/// The key of this program's own facts. Helm passes over it, and drops it when it writes the record again.
const OWN: &str = "kzero";
const HOLDER: &str = "holder";

/// Reads null as Go does: as nothing said.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct InfoText {
    first_deployed: Option<Given>,
    last_deployed: Option<Given>,
    #[serde(deserialize_with = "said")]
    deleted: Option<Given>,
    #[serde(deserialize_with = "or_default")]
    description: String,
    #[serde(deserialize_with = "or_default")]
    status: String,
    #[serde(deserialize_with = "or_default")]
    rollback_revision: i64,
    #[serde(deserialize_with = "or_default")]
    notes: String,
}

/// Tells a field that is null from one that is not there.
fn said<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Given>, D::Error> {
    or_default(deserializer).map(Some)
}

impl InfoText {
    fn into_info(self) -> (Info, Form) {
        let form = if self.deleted.is_some() {
            Form::Three
        } else {
            Form::Four
        };
        let time = |given: Option<Given>| given.and_then(|given| given.0);
        let info = Info {
            first_deployed: time(self.first_deployed),
            last_deployed: time(self.last_deployed),
            deleted: time(self.deleted),
            description: self.description,
            status: Status::of_word(&self.status),
            rollback_revision: self.rollback_revision,
            notes: self.notes,
            live: BTreeMap::new(),
        };
        (info, form)
    }
}

struct InfoForm<'a>(&'a Info, Form);

impl Serialize for InfoForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(info, form) = *self;
        let mut map = serializer.serialize_map(None)?;
        time(&mut map, "first_deployed", info.first_deployed, form)?;
        time(&mut map, "last_deployed", info.last_deployed, form)?;
        time(&mut map, "deleted", info.deleted, form)?;
        text(&mut map, "description", &info.description)?;
        map.serialize_entry("status", info.status.word())?;
        if info.rollback_revision != 0 {
            map.serialize_entry("rollback_revision", &info.rollback_revision)?;
        }
        text(&mut map, "notes", &info.notes)?;
        if !info.live.is_empty() {
            map.serialize_entry("resources", &info.live)?;
        }
        map.end()
    }
}

fn time<M: SerializeMap>(
    map: &mut M,
    key: &str,
    time: Option<Time>,
    form: Form,
) -> Result<(), M::Error> {
    if time.is_none() && form == Form::Four {
        return Ok(());
    }
    map.serialize_entry(key, &Given(time))
}

fn text<M: SerializeMap>(map: &mut M, key: &str, text: &str) -> Result<(), M::Error> {
    if text.is_empty() {
        return Ok(());
    }
    map.serialize_entry(key, text)
}

fn texts<M: SerializeMap>(map: &mut M, key: &str, texts: &[String]) -> Result<(), M::Error> {
    if texts.is_empty() {
        return Ok(());
    }
    map.serialize_entry(key, texts)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct HookText {
    #[serde(deserialize_with = "or_default")]
    name: String,
    #[serde(deserialize_with = "or_default")]
    kind: String,
    #[serde(deserialize_with = "or_default")]
    path: String,
    #[serde(deserialize_with = "or_default")]
    manifest: String,
    #[serde(deserialize_with = "or_default")]
    events: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    last_run: RunText,
    #[serde(deserialize_with = "or_default")]
    weight: i64,
    #[serde(deserialize_with = "or_default")]
    delete_policies: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    output_log_policies: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RunText {
    started_at: Option<Given>,
    completed_at: Option<Given>,
    #[serde(deserialize_with = "or_default")]
    phase: String,
}

impl From<HookText> for StoredHook {
    fn from(hook: HookText) -> Self {
        let run = hook.last_run;
        Self {
            name: hook.name,
            kind: hook.kind,
            path: hook.path,
            manifest: hook.manifest,
            events: hook.events,
            last_run: HookRun {
                started_at: run.started_at.and_then(|given| given.0),
                completed_at: run.completed_at.and_then(|given| given.0),
                phase: Phase::of_word(&run.phase),
            },
            weight: hook.weight,
            delete_policies: hook.delete_policies,
            output_log_policies: hook.output_log_policies,
        }
    }
}

struct HookForm<'a>(&'a StoredHook, Form);

impl Serialize for HookForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(hook, form) = *self;
        let mut map = serializer.serialize_map(None)?;
        text(&mut map, "name", &hook.name)?;
        text(&mut map, "kind", &hook.kind)?;
        text(&mut map, "path", &hook.path)?;
        text(&mut map, "manifest", &hook.manifest)?;
        texts(&mut map, "events", &hook.events)?;
        map.serialize_entry("last_run", &RunForm(hook.last_run, form))?;
        if hook.weight != 0 {
            map.serialize_entry("weight", &hook.weight)?;
        }
        texts(&mut map, "delete_policies", &hook.delete_policies)?;
        texts(&mut map, "output_log_policies", &hook.output_log_policies)?;
        map.end()
    }
}

struct RunForm(HookRun, Form);

impl Serialize for RunForm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(run, form) = *self;
        let mut map = serializer.serialize_map(None)?;
        time(&mut map, "started_at", run.started_at, form)?;
        time(&mut map, "completed_at", run.completed_at, form)?;
        map.serialize_entry("phase", run.phase.word())?;
        map.end()
    }
}

impl Serialize for Revision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        text(&mut map, "name", &self.name)?;
        map.serialize_entry("info", &InfoForm(&self.info, self.form))?;
        if let Some(chart) = &self.chart {
            map.serialize_entry("chart", chart)?;
        }
        if !self.config.is_empty() {
            map.serialize_entry("config", &self.config)?;
        }
        text(&mut map, "manifest", &self.manifest)?;
        if !self.hooks.is_empty() {
            let hooks: Vec<_> = self
                .hooks
                .iter()
                .map(|hook| HookForm(hook, self.form))
                .collect();
            map.serialize_entry("hooks", &hooks)?;
        }
        if self.version != 0 {
            map.serialize_entry("version", &self.version)?;
        }
        text(&mut map, "namespace", &self.namespace)?;
        text(&mut map, "apply_method", &self.apply_method)?;
        if self.holder.is_some() || !self.other_own.is_empty() {
            map.serialize_entry(OWN, &OwnForm(self))?;
        }
        for (key, value) in &self.other {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// What stands under this program's key.
struct OwnForm<'a>(&'a Revision);

impl Serialize for OwnForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(holder) = &self.0.holder {
            map.serialize_entry(HOLDER, holder)?;
        }
        for (key, value) in &self.0.other_own {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Revision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RevisionVisitor)
    }
}

struct RevisionVisitor;

impl<'de> Visitor<'de> for RevisionVisitor {
    type Value = Revision;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a release")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Revision, A::Error> {
        let mut revision = Revision::new("", "", 0, Status::Unknown);
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match key.as_ref() {
                "name" => revision.name = value(&mut map)?,
                "info" => {
                    let info: InfoText = value(&mut map)?;
                    (revision.info, revision.form) = info.into_info();
                }
                "chart" => revision.chart = map.next_value()?,
                "config" => revision.config = value::<_, Map<String, Value>>(&mut map)?,
                "manifest" => revision.manifest = value(&mut map)?,
                "hooks" => {
                    let hooks: Vec<Option<HookText>> = value(&mut map)?;
                    revision.hooks = hooks.into_iter().flatten().map(StoredHook::from).collect();
                }
                "version" => revision.version = value(&mut map)?,
                "namespace" => revision.namespace = value(&mut map)?,
                "apply_method" => revision.apply_method = value(&mut map)?,
                OWN => own(&mut revision, map.next_value()?),
                _ => {
                    let other = map.next_value()?;
                    revision.other.insert(key.into_owned(), other);
                }
            }
        }
        Ok(revision)
    }
}

fn value<'de, A, T>(map: &mut A) -> Result<T, A::Error>
where
    A: MapAccess<'de>,
    T: DeserializeOwned + Default,
{
    map.next_value::<Option<T>>().map(Option::unwrap_or_default)
}

/// Takes this program's own facts. What is not in the form of today is kept as it is, so that another version of this
/// program finds it again.
fn own(revision: &mut Revision, facts: Value) {
    let mut facts = match facts {
        Value::Object(facts) => facts.into_iter().collect::<BTreeMap<_, _>>(),
        _ => BTreeMap::new(),
    };
    if let Some(holder) = facts.get(HOLDER)
        && let Ok(holder) = Holder::deserialize(holder)
    {
        revision.holder = Some(holder);
        facts.remove(HOLDER);
    }
    revision.other_own = facts;
}
