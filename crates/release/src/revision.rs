//! One deployment of a chart, in the form of Helm's records.
//!
//! Duty: what a record holds, and that it is written as Helm writes it. A record that was read is written again with
//! everything in it, also what this program knows nothing of; what Helm 4 adds is kept where Helm 3 would drop it.

mod chart;
mod form;
mod hook;
mod name;
mod time;

use std::collections::BTreeMap;
use std::fmt;

use kzero_chart::manifest::Manifest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::storage::Stamp;
pub use chart::{StoredChart, StoredDependency, StoredMetadata};
pub use hook::{HookRun, Phase, StoredHook};
pub use name::{InvalidName, check_name};
pub use time::Time;

/// One deployment of a chart under a name: what was deployed, with what, when, and what became of it.
///
/// Revisions of a release are numbered from 1. Two revisions are equal when what is written of them is equal and their
/// labels are.
#[derive(Clone, Debug)]
pub struct Revision {
    /// The release. Together with the namespace it identifies it.
    pub name: String,
    /// When, and what became of it.
    pub info: Info,
    /// The chart; none in records that lost it, which have been seen.
    pub chart: Option<StoredChart>,
    /// The values that the user gave, nulls included.
    pub config: Map<String, Value>,
    /// All documents that are no hooks, as rendered.
    pub manifest: String,
    /// Hooks, in the order of their kinds.
    pub hooks: Vec<StoredHook>,
    /// The number, above 0.
    pub version: i64,
    /// The namespace of the release.
    pub namespace: String,
    /// How objects were written: `ssa` or `csa`, in records of Helm 4; else empty.
    pub apply_method: String,
    /// Who wrote this record, in those of this program.
    pub holder: Option<Holder>,
    /// The user's labels of the record, without [`RESERVED_LABELS`](crate::storage::RESERVED_LABELS). They are no part
    /// of the text.
    pub labels: BTreeMap<String, String>,
    /// Fields of the record that are not known here.
    other: BTreeMap<String, Value>,
    /// Fields beside `holder` under this program's own key.
    other_own: BTreeMap<String, Value>,
    form: Form,
    /// The state of the record that this was read from or written to.
    pub(crate) stamp: Option<Stamp>,
}

/// Which Helm's habits the text follows: the third writes times that are not set as empty texts, the fourth leaves
/// them out. Both read both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Form {
    #[default]
    Three,
    Four,
}

/// When a revision was made, and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// When the release was first deployed.
    pub first_deployed: Option<Time>,
    /// When this revision was deployed.
    pub last_deployed: Option<Time>,
    /// When its deletion began.
    pub deleted: Option<Time>,
    /// What happened last, in a sentence.
    pub description: String,
    /// The status.
    pub status: Status,
    /// The revision this one rolled back to; 0 for none.
    pub rollback_revision: i64,
    /// The rendered notes.
    pub notes: String,
    /// The live objects by version and kind, for showing them with the revision; no record has them.
    pub live: BTreeMap<String, Vec<Value>>,
}

/// What became of a revision, in Helm's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Status {
    /// Nobody knows; also any word that is none of the others.
    #[default]
    Unknown,
    /// It is what should be in the cluster.
    Deployed,
    /// Its objects were deleted, its record was kept.
    Uninstalled,
    /// A later revision took its place.
    Superseded,
    /// It was not deployed, or not wholly.
    Failed,
    /// Its objects are being deleted.
    Uninstalling,
    /// It is being installed.
    PendingInstall,
    /// It is being upgraded to.
    PendingUpgrade,
    /// It is being rolled back to.
    PendingRollback,
}

/// Who works on a release: what a record or a lock says of its writer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Holder {
    /// The name of the machine.
    pub host: String,
    /// The process on it.
    pub pid: u32,
    /// The run of this program.
    pub run: String,
}

impl Revision {
    /// A revision with nothing in it yet but its identity and status.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        namespace: impl Into<String>,
        version: i64,
        status: Status,
    ) -> Self {
        Self {
            name: name.into(),
            info: Info {
                status,
                ..Info::default()
            },
            chart: None,
            config: Map::new(),
            manifest: String::new(),
            hooks: Vec::new(),
            version,
            namespace: namespace.into(),
            apply_method: String::new(),
            holder: None,
            labels: BTreeMap::new(),
            other: BTreeMap::new(),
            other_own: BTreeMap::new(),
            form: Form::default(),
            stamp: None,
        }
    }

    /// The name of its record, such as `sh.helm.release.v1.web.v3`.
    #[must_use]
    pub fn record_name(&self) -> String {
        crate::storage::record_name(&self.name, self.version)
    }

    /// Sets status and description, as every change of a revision does.
    pub fn set_status(&mut self, status: Status, description: impl Into<String>) {
        self.info.status = status;
        self.info.description = description.into();
    }

    /// The revision as Helm 3 shows it in JSON: without its chart and what only this program writes.
    pub(crate) fn without_chart(&self) -> Self {
        Self {
            chart: None,
            holder: None,
            other: BTreeMap::new(),
            other_own: BTreeMap::new(),
            form: Form::Three,
            ..self.clone()
        }
    }

    /// `NAME-VERSION` of the chart as Helm's tables show it; `MISSING` without one.
    #[must_use]
    pub fn chart_label(&self) -> String {
        match &self.chart {
            Some(chart) => {
                let metadata = chart.metadata();
                format!("{}-{}", metadata.name, metadata.version)
            }
            None => "MISSING".to_owned(),
        }
    }

    /// The version of what the chart installs; `MISSING` without a chart.
    #[must_use]
    pub fn app_version(&self) -> &str {
        self.chart
            .as_ref()
            .map_or("MISSING", |chart| &chart.metadata().app_version)
    }
}

/// Documents as one text, each under the path of its file: what a revision keeps as its manifest.
#[must_use]
pub fn manifest_text(manifests: &[Manifest]) -> String {
    let mut text = String::new();
    for Manifest { path, content, .. } in manifests {
        text.push_str(&format!("---\n# Source: {path}\n{content}\n"));
    }
    text
}

impl PartialEq for Revision {
    fn eq(&self, other: &Self) -> bool {
        self.labels == other.labels
            && crate::codec::go_json(self).ok() == crate::codec::go_json(other).ok()
    }
}

impl Status {
    const WORDS: [(Self, &'static str); 9] = [
        (Self::Unknown, "unknown"),
        (Self::Deployed, "deployed"),
        (Self::Uninstalled, "uninstalled"),
        (Self::Superseded, "superseded"),
        (Self::Failed, "failed"),
        (Self::Uninstalling, "uninstalling"),
        (Self::PendingInstall, "pending-install"),
        (Self::PendingUpgrade, "pending-upgrade"),
        (Self::PendingRollback, "pending-rollback"),
    ];

    /// Helm's word.
    #[must_use]
    pub fn word(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(status, _)| *status == self);
        found.map_or("unknown", |(_, word)| word)
    }

    /// The status of a word; [`Status::Unknown`] for a word that is none of Helm's.
    #[must_use]
    pub fn of_word(word: &str) -> Self {
        let found = Self::WORDS.iter().find(|(_, known)| *known == word);
        found.map_or(Self::Unknown, |(status, _)| *status)
    }

    /// Whether somebody works on the revision, or died over it.
    #[must_use]
    pub fn is_pending(self) -> bool {
        matches!(
            self,
            Self::PendingInstall | Self::PendingUpgrade | Self::PendingRollback
        )
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Holder {
    /// This process, in the words of who knows them.
    #[must_use]
    pub fn current(host: impl Into<String>, pid: u32, run: impl Into<String>) -> Self {
        Self {
            host: host.into(),
            pid,
            run: run.into(),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, pid, run } = self;
        write!(f, "process {pid} on {host} (run {run})")
    }
}
