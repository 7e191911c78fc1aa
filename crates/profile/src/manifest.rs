//! Chart manifests `<helm.workspace>/NAME.yaml` (S-5.1, S-5.1a, S-5.2), read as strictly as profiles.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value as Json};

use crate::diagnostic::{Diagnostic, LoadError, Position, Source};
use crate::load::read_source;
use crate::model::words;
use crate::node::{Documents, Node, Value, compose};
use crate::read::{Field, Key, Reader, Special, Unknown, json};

words! {
    /// How objects of a release are written.
    pub enum Apply {
        /// Three-way merge: live changes to fields the chart did not change stay.
        ThreeWay = "three-way",
        /// Fields of the new manifest win over live ones.
        Overwrite = "overwrite",
        /// The API server merges and tracks owners of fields.
        ServerSide = "server-side",
    }
}

words! {
    /// What happens to the folder crds/ of a chart.
    pub enum Crds {
        /// Missing ones are created.
        Create = "create",
        /// Existing ones are updated too.
        Upgrade = "upgrade",
        /// Nothing.
        Skip = "skip",
    }
}

words! {
    /// How owned objects go when a release is uninstalled.
    pub enum Cascade {
        /// After their owners.
        Background = "background",
        /// Before their owners.
        Foreground = "foreground",
        /// Not at all.
        Orphan = "orphan",
    }
}

/// A chart manifest. Absent keys are `None`: which default applies is decided where steps and manifests meet.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReleaseManifest {
    /// Where the chart is; may be absent when the step gives it.
    pub chart: Option<String>,
    /// Exact version or range.
    pub version: Option<String>,
    /// Values files, later ones win.
    pub values_files: Option<Vec<String>>,
    /// Create the namespace if it is missing.
    pub create_namespace: Option<bool>,
    /// Wait for readiness.
    pub wait: Option<bool>,
    /// Time for the release; `None` when absent or zero.
    pub timeout: Option<Duration>,
    /// Inline values, stronger than `values_files`.
    pub values: Option<Map<String, Json>>,
    /// With `wait`: Jobs must complete.
    pub wait_for_jobs: Option<bool>,
    /// Roll back on failure.
    pub atomic: Option<bool>,
    /// How objects are written.
    pub apply: Option<Apply>,
    /// Take fields from other owners under `server-side`.
    pub force_conflicts: Option<bool>,
    /// Take over objects that exist without owner marks.
    pub take_ownership: Option<bool>,
    /// What happens to crds/.
    pub crds: Option<Crds>,
    /// No new revision when nothing would change.
    pub skip_unchanged: Option<bool>,
    /// Take over a pending revision left by another tool.
    pub recover: Option<bool>,
    /// Revisions to keep, 0 for all.
    pub history_max: Option<u32>,
    /// No chart hooks.
    pub disable_hooks: Option<bool>,
    /// Delete new objects of a failed upgrade.
    pub cleanup_on_fail: Option<bool>,
    /// No check against the chart's values schema.
    pub skip_schema_validation: Option<bool>,
    /// Take pre-releases too.
    pub devel: Option<bool>,
    /// Stored with the revision.
    pub description: Option<String>,
    /// Stored with the revision.
    pub labels: Option<BTreeMap<String, String>>,
    /// What `down` reads.
    pub uninstall: Uninstall,
    positions: BTreeMap<String, Position>,
}

/// `uninstall.*` of a manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uninstall {
    /// Keep the release's records.
    pub keep_history: Option<bool>,
    /// No chart hooks.
    pub disable_hooks: Option<bool>,
    /// How owned objects go.
    pub cascade: Option<Cascade>,
    /// Time for the uninstall; `None` when absent or zero.
    pub timeout: Option<Duration>,
}

impl ReleaseManifest {
    /// Where a key such as `chart` or `uninstall.timeout` stands; `None` if it is not in the file.
    #[must_use]
    pub fn position_of(&self, key: &str) -> Option<Position> {
        self.positions.get(key).copied()
    }
}

const fn key(
    path: &'static str,
    field: Field<ReleaseManifest>,
    doc: &'static str,
) -> Key<ReleaseManifest> {
    Key {
        path,
        field,
        default: "",
        doc,
    }
}

fn text(value: String) -> Option<String> {
    (!value.is_empty()).then_some(value)
}

fn time(value: Duration) -> Option<Duration> {
    (!value.is_zero()).then_some(value)
}

/// Every key of a manifest.
pub(crate) static KEYS: &[Key<ReleaseManifest>] = &[
    key(
        "chart",
        Field::Text(|m, v| m.chart = text(v)),
        "where the chart is: oci://…, https://….tgz, or a path",
    ),
    key(
        "version",
        Field::Text(|m, v| m.version = text(v)),
        "exact version or range, in quotes",
    ),
    key(
        "values_files",
        Field::Node(Special::Paths, |m, r, name, n| {
            m.values_files = r.paths(name, n);
        }),
        "values files, later ones win",
    ),
    key(
        "create_namespace",
        Field::Bool(|m, v| m.create_namespace = Some(v)),
        "create the namespace if it is missing",
    ),
    key(
        "wait",
        Field::Bool(|m, v| m.wait = Some(v)),
        "wait for readiness",
    ),
    key(
        "timeout",
        Field::Duration(|m, v| m.timeout = time(v)),
        "time for the release",
    ),
    key(
        "values",
        Field::Node(Special::Mapping, values),
        "inline values, stronger than values_files",
    ),
    key(
        "wait_for_jobs",
        Field::Bool(|m, v| m.wait_for_jobs = Some(v)),
        "with wait: Jobs must complete",
    ),
    key(
        "atomic",
        Field::Bool(|m, v| m.atomic = Some(v)),
        "roll back on failure",
    ),
    key(
        "apply",
        Field::Word(Apply::WORDS, |m, w| m.apply = Apply::from_word(w)),
        "how objects are written",
    ),
    key(
        "force_conflicts",
        Field::Bool(|m, v| m.force_conflicts = Some(v)),
        "take fields from other owners under server-side",
    ),
    key(
        "take_ownership",
        Field::Bool(|m, v| m.take_ownership = Some(v)),
        "take over objects without owner marks",
    ),
    key(
        "crds",
        Field::Word(Crds::WORDS, |m, w| m.crds = Crds::from_word(w)),
        "what happens to crds/",
    ),
    key(
        "skip_unchanged",
        Field::Bool(|m, v| m.skip_unchanged = Some(v)),
        "no new revision when nothing would change",
    ),
    key(
        "recover",
        Field::Bool(|m, v| m.recover = Some(v)),
        "take over a pending revision left by another tool",
    ),
    key(
        "history_max",
        Field::Count(|m, v| m.history_max = Some(v)),
        "revisions to keep, 0 for all",
    ),
    key(
        "disable_hooks",
        Field::Bool(|m, v| m.disable_hooks = Some(v)),
        "no chart hooks",
    ),
    key(
        "cleanup_on_fail",
        Field::Bool(|m, v| m.cleanup_on_fail = Some(v)),
        "delete new objects of a failed upgrade",
    ),
    key(
        "skip_schema_validation",
        Field::Bool(|m, v| m.skip_schema_validation = Some(v)),
        "no check against the values schema",
    ),
    key(
        "devel",
        Field::Bool(|m, v| m.devel = Some(v)),
        "take pre-releases too",
    ),
    key(
        "description",
        Field::Text(|m, v| m.description = text(v)),
        "stored with the revision",
    ),
    key(
        "labels",
        Field::Node(Special::TextMap, labels),
        "stored with the revision",
    ),
    key(
        "uninstall.keep_history",
        Field::Bool(|m, v| m.uninstall.keep_history = Some(v)),
        "keep the records",
    ),
    key(
        "uninstall.disable_hooks",
        Field::Bool(|m, v| m.uninstall.disable_hooks = Some(v)),
        "no chart hooks",
    ),
    key(
        "uninstall.cascade",
        Field::Word(Cascade::WORDS, |m, w| {
            m.uninstall.cascade = Cascade::from_word(w);
        }),
        "how owned objects go",
    ),
    key(
        "uninstall.timeout",
        Field::Duration(|m, v| m.uninstall.timeout = time(v)),
        "time for the uninstall",
    ),
];

fn values(
    manifest: &mut ReleaseManifest,
    reader: &mut Reader<'_>,
    name: &'static str,
    node: &Node,
) {
    if node.is_null() || reader.mapping(name, node).is_none() {
        return;
    }
    if let Json::Object(map) = json(reader, node) {
        manifest.values = Some(map);
    }
}

fn labels(
    manifest: &mut ReleaseManifest,
    reader: &mut Reader<'_>,
    name: &'static str,
    node: &Node,
) {
    if node.is_null() {
        return;
    }
    let Some(entries) = reader.mapping(name, node) else {
        return;
    };
    let mut labels = BTreeMap::new();
    for entry in entries {
        if let Some(value) = reader.text(&format!("{name}.{}", entry.key.text), &entry.value, false)
        {
            labels.insert(entry.key.text.to_string(), value.to_owned());
        }
    }
    manifest.labels = Some(labels);
}

/// Reads a manifest. `display` is how errors call the file.
///
/// # Errors
/// The file cannot be read (see [`LoadError::unreadable_path`]), or it breaks a rule of S-5.1 to S-5.2.
pub fn load(path: &Path, display: &str) -> Result<ReleaseManifest, LoadError> {
    parse(read_source(path, display, |_| None)?)
}

/// The same without reading a file.
///
/// # Errors
/// The text breaks a rule of S-5.1 to S-5.2.
pub fn parse(source: Source) -> Result<ReleaseManifest, LoadError> {
    let composed = compose(&source, Documents::One);
    let mut reader = Reader::new(&[], &|_| None);
    reader.errors = composed.errors;
    let mut manifest = ReleaseManifest::default();
    let root = composed.documents.first().filter(|root| !root.is_null());
    if let (Some(root), false) = (root, composed.broken) {
        if matches!(root.value, Value::Map(_)) {
            reader.section(KEYS, "", root, &mut manifest, Unknown::Refuse);
        } else if let Some(error) = reader.shape("a chart manifest", "a mapping", root) {
            reader.error(error.expected("chart: and further keys"));
        }
    } else if !composed.broken {
        reader.error(
            Diagnostic::error(Position::START, "the chart manifest is empty")
                .expected("chart: and further keys"),
        );
    }
    if !reader.errors.is_empty() {
        return Err(LoadError::invalid(source, reader.errors, reader.warnings));
    }
    manifest.positions = reader.positions;
    Ok(manifest)
}
