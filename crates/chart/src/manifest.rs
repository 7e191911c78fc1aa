//! Rendered files to manifests and hooks.
//!
//! Duty: take the notes out, split files into documents, read their heads, tell hooks from manifests, and sort both by
//! kind, as Helm 3.22 does before it prints or applies them.

mod head;
mod order;
mod sorting;
mod split;

use std::collections::BTreeMap;

use kzero_gotmpl::parallel::try_map;

use crate::render::Rendered;
use head::Head;
pub use order::{INSTALL_ORDER, UNINSTALL_ORDER, order};
pub use sorting::{Sorted, Sorting, sort_while};
pub use split::split;

/// A document that is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The path of its file, with those of the charts it is in.
    pub path: String,
    /// The document, without white space around it.
    pub content: String,
    /// `apiVersion`; empty if it has none.
    pub api_version: String,
    /// `kind`; empty if it has none.
    pub kind: String,
    /// `metadata.name`; empty if it has none.
    pub name: String,
}

/// When a hook is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookEvent {
    /// Before anything is installed.
    PreInstall,
    /// When all is installed.
    PostInstall,
    /// Before anything is deleted.
    PreDelete,
    /// When all is deleted.
    PostDelete,
    /// Before anything is upgraded.
    PreUpgrade,
    /// When all is upgraded.
    PostUpgrade,
    /// Before anything is rolled back.
    PreRollback,
    /// When all is rolled back.
    PostRollback,
    /// When the release is tested.
    Test,
}

impl HookEvent {
    /// Its name in annotations and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PreInstall => "pre-install",
            Self::PostInstall => "post-install",
            Self::PreDelete => "pre-delete",
            Self::PostDelete => "post-delete",
            Self::PreUpgrade => "pre-upgrade",
            Self::PostUpgrade => "post-upgrade",
            Self::PreRollback => "pre-rollback",
            Self::PostRollback => "post-rollback",
            Self::Test => "test",
        }
    }

    /// The event of a name in annotations and records; `None` for one that Helm does not know.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "pre-install" => Self::PreInstall,
            "post-install" => Self::PostInstall,
            "pre-delete" => Self::PreDelete,
            "post-delete" => Self::PostDelete,
            "pre-upgrade" => Self::PreUpgrade,
            "post-upgrade" => Self::PostUpgrade,
            "pre-rollback" => Self::PreRollback,
            "post-rollback" => Self::PostRollback,
            // The second is its name in Helm 2.
            "test" | "test-success" => Self::Test,
            _ => return None,
        })
    }
}

/// A document that is run at certain events and belongs to no release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// `metadata.name`.
    pub name: String,
    /// `kind`.
    pub kind: String,
    /// The path of its file, with those of the charts it is in.
    pub path: String,
    /// The document.
    pub manifest: String,
    /// When it is run, as listed.
    pub events: Vec<HookEvent>,
    /// Lower ones are run first.
    pub weight: i64,
    /// When it is deleted, as listed; unknown words too.
    pub delete_policies: Vec<String>,
    /// When its logs are shown, as listed; unknown words too.
    pub output_log_policies: Vec<String>,
}

/// All that a chart renders to, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifests {
    /// Documents in the order they are applied in.
    pub manifests: Vec<Manifest>,
    /// Hooks by kind.
    pub hooks: Vec<Hook>,
    /// What hooks were dropped because their event is unknown.
    pub warnings: Vec<String>,
}

/// A document that does not read, in Helm's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("YAML parse error on {path}: {message}")]
pub struct ManifestError {
    path: String,
    message: String,
}

impl ManifestError {
    /// The file with the document.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// Takes the notes (`NOTES.txt`) out of rendered files: those of the chart of this name, or all of them.
#[must_use]
pub fn take_notes(rendered: &mut Rendered, chart: &str, all: bool) -> String {
    let own = format!("{chart}/templates/NOTES.txt");
    let names: Vec<String> = rendered
        .files
        .keys()
        .filter(|path| path.ends_with("NOTES.txt"))
        .cloned()
        .collect();
    let mut notes = String::new();
    for name in names {
        let Some(text) = rendered.files.remove(&name) else {
            continue;
        };
        if all || name == own {
            if !notes.is_empty() {
                notes.push('\n');
            }
            notes.push_str(&String::from_utf8_lossy(&text));
        }
    }
    notes
}

/// Splits files into documents and sorts them.
///
/// # Errors
///
/// The first document, by path, that does not read.
pub fn sort(files: &BTreeMap<String, Vec<u8>>) -> Result<Manifests, ManifestError> {
    let files: Vec<(&String, &Vec<u8>)> = files.iter().collect();
    let found = try_map(
        &files,
        |(_, content)| content.len(),
        |(path, content)| documents(path, content),
    )?;
    Ok(Manifests::sorted(found.into_iter().flatten()))
}

/// What a document is.
enum Document {
    Manifest(Manifest),
    Hook(Hook),
    /// Nothing, as the warning says.
    Dropped(String),
}

/// The documents of a file.
fn documents(path: &str, content: &[u8]) -> Result<Vec<Document>, ManifestError> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name.starts_with('_') {
        return Ok(Vec::new());
    }
    let head = |bytes: &[u8]| {
        Head::read(bytes).map_err(|message| ManifestError {
            path: path.to_owned(),
            message,
        })
    };
    match std::str::from_utf8(content) {
        Ok(text) if text.trim().is_empty() => Ok(Vec::new()),
        Ok(text) => split(text)
            .into_iter()
            .map(|text| Ok(Document::new(path, text, head(text.as_bytes())?)))
            .collect(),
        // Documents must be Unicode: what the reader says of the whole it says of them.
        Err(_) => head(content).map(|_| Vec::new()),
    }
}

impl Manifests {
    /// Documents, which come by the paths of their files, sorted by kind.
    fn sorted(documents: impl Iterator<Item = Document>) -> Self {
        let mut found = Self::default();
        for document in documents {
            match document {
                Document::Manifest(manifest) => found.manifests.push(manifest),
                Document::Hook(hook) => found.hooks.push(hook),
                Document::Dropped(warning) => found.warnings.push(warning),
            }
        }
        found
            .manifests
            .sort_by(|a, b| order(&a.kind, &b.kind, INSTALL_ORDER));
        found
            .hooks
            .sort_by(|a, b| order(&a.kind, &b.kind, INSTALL_ORDER));
        found
    }
}

impl Document {
    fn new(path: &str, document: &str, head: Head) -> Self {
        let Some(listed) = head.annotations.get("helm.sh/hook") else {
            return Self::Manifest(Manifest {
                path: path.to_owned(),
                content: document.to_owned(),
                api_version: head.api_version,
                kind: head.kind,
                name: head.name,
            });
        };
        let events: Option<Vec<HookEvent>> = listed
            .split(',')
            .map(|event| HookEvent::named(&event.trim().to_lowercase()))
            .collect();
        let Some(events) = events else {
            return Self::Dropped(format!(
                "info: skipping unknown hook: {}",
                crate::quote::quoted(listed)
            ));
        };
        let words = |annotation: &str| match head.annotations.get(annotation) {
            Some(list) => list
                .split(',')
                .map(|word| word.trim().to_lowercase())
                .collect(),
            None => Vec::new(),
        };
        let weight = head
            .annotations
            .get("helm.sh/hook-weight")
            .and_then(|weight| weight.parse().ok());
        Self::Hook(Hook {
            delete_policies: words("helm.sh/hook-delete-policy"),
            output_log_policies: words("helm.sh/hook-output-log-policy"),
            name: head.name,
            kind: head.kind,
            path: path.to_owned(),
            manifest: document.to_owned(),
            events,
            weight: weight.unwrap_or(0),
        })
    }
}
