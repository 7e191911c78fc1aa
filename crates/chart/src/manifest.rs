//! Rendered files to manifests and hooks.
//!
//! Duty: take the notes out, split files into documents, read their heads, tell hooks from manifests, and sort both by
//! kind, as Helm 3.22 does before it prints or applies them.

mod head;
mod order;
mod split;

use std::collections::BTreeMap;

use kzero_gotmpl::parallel::try_map;

use crate::render::Rendered;
use head::Head;
pub use order::{INSTALL_ORDER, UNINSTALL_ORDER, order};
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
    let mut texts = Vec::new();
    for (path, content) in files {
        let name = path.rsplit('/').next().unwrap_or(path);
        if name.starts_with('_') {
            continue;
        }
        match std::str::from_utf8(content) {
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => texts.extend(
                split(text)
                    .into_iter()
                    .map(|text| Text::Document(path, text)),
            ),
            Err(_) => texts.push(Text::Broken(path, content)),
        }
    }
    let heads = try_map(&texts, |text| text.bytes().len(), Text::head)?;
    let mut found = Manifests::default();
    for (text, head) in texts.into_iter().zip(heads) {
        if let Text::Document(path, document) = text {
            found.add(path, document, head);
        }
    }
    found
        .manifests
        .sort_by(|a, b| order(&a.kind, &b.kind, INSTALL_ORDER));
    found
        .hooks
        .sort_by(|a, b| order(&a.kind, &b.kind, INSTALL_ORDER));
    Ok(found)
}

/// What has a head to be read.
enum Text<'f> {
    Document(&'f str, &'f str),
    /// A file that is no Unicode, which its documents must be: what the reader says of the whole says it of them.
    Broken(&'f str, &'f [u8]),
}

impl Text<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Document(_, text) => text.as_bytes(),
            Self::Broken(_, bytes) => bytes,
        }
    }

    fn head(&self) -> Result<Head, ManifestError> {
        let (Self::Document(path, _) | Self::Broken(path, _)) = self;
        Head::read(self.bytes()).map_err(|message| ManifestError {
            path: (*path).to_owned(),
            message,
        })
    }
}

impl Manifests {
    fn add(&mut self, path: &str, document: &str, head: Head) {
        let Some(listed) = head.annotations.get("helm.sh/hook") else {
            self.manifests.push(Manifest {
                path: path.to_owned(),
                content: document.to_owned(),
                api_version: head.api_version,
                kind: head.kind,
                name: head.name,
            });
            return;
        };
        let events: Option<Vec<HookEvent>> = listed
            .split(',')
            .map(|event| HookEvent::named(&event.trim().to_lowercase()))
            .collect();
        let Some(events) = events else {
            self.warnings.push(format!(
                "info: skipping unknown hook: {}",
                crate::quote::quoted(listed)
            ));
            return;
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
        self.hooks.push(Hook {
            delete_policies: words("helm.sh/hook-delete-policy"),
            output_log_policies: words("helm.sh/hook-output-log-policy"),
            name: head.name,
            kind: head.kind,
            path: path.to_owned(),
            manifest: document.to_owned(),
            events,
            weight: weight.unwrap_or(0),
        });
    }
}
