//! What a release was before: its revisions, and the objects of those that may be in the cluster.

use std::collections::HashMap;

use kzero_cluster::Budget;
use serde_json::Value;

use super::{Engine, Existing, look};
use crate::error::{Class, ReleaseError};
use crate::plan::Purpose;
use crate::render::documents;
use crate::resource::{Document, Kinds, Lookup, Resource, ResourceId, Role, build};
use crate::revision::{Revision, Status, StoredHook};
use crate::storage::{Entry, History, StorageError};

/// What was stored of a release.
pub(super) struct Past {
    pub(super) history: History,
    /// The newest revision.
    pub(super) last: Option<Revision>,
    /// The revisions whose objects may be in the cluster, oldest first: the newest deployed one and those after it.
    pub(super) since: Vec<Revision>,
    /// Whether a revision was deployed since the release was last uninstalled.
    had_deployed: bool,
}

impl Past {
    /// The number of the next revision.
    pub(super) fn next(&self) -> i64 {
        self.history.last().map_or(1, |last| last.version() + 1)
    }

    /// The revision that Helm compares with: the newest deployed one, else the newest.
    pub(super) fn current(&self) -> Option<&Revision> {
        let deployed = |revision: &&Revision| revision.info.status == Status::Deployed;
        self.since.iter().find(deployed).or(self.last.as_ref())
    }

    /// Whether a deployment installs or upgrades.
    ///
    /// Until a revision was deployed, and again once the release was uninstalled, it installs (S-5.4).
    pub(super) fn purpose(&self) -> Purpose {
        if self.had_deployed {
            Purpose::Upgrade
        } else {
            Purpose::Install
        }
    }
}

/// Whether a record of this status says that something was deployed.
fn is_deployment(status: Status) -> bool {
    matches!(
        status,
        Status::Deployed | Status::Superseded | Status::PendingUpgrade | Status::PendingRollback
    )
}

/// Whether a release was uninstalled at this revision, though another one took its name since: Helm then marks it
/// superseded, and its deletion is still noted.
fn was_uninstalled(revision: &Revision) -> bool {
    let info = &revision.info;
    info.status == Status::Uninstalled
        || (info.status == Status::Superseded && info.deleted.is_some())
}

impl Engine<'_> {
    /// Reads what is stored of a release.
    pub(super) async fn past(&self, name: &str, budget: &Budget) -> Result<Past, ReleaseError> {
        let history = self.storage.history(name, &look(budget)).await?;
        for fault in history.faults() {
            self.warn(format!("{fault}; it is left alone"));
        }
        let last = match history.last().map(Entry::revision) {
            None => None,
            Some(Ok(revision)) => Some(revision),
            Some(Err(error)) => return Err(broken(name, self.namespace(), &history, &error)),
        };
        let mut since = Vec::new();
        let mut had_deployed = false;
        for entry in history.since_deployed() {
            if entry.status() == Status::Uninstalled {
                // What it had is gone, but for what was kept.
                since.clear();
                had_deployed = false;
                continue;
            }
            had_deployed |= is_deployment(entry.status());
            match entry.revision() {
                Ok(revision) if was_uninstalled(&revision) => {
                    since.clear();
                    had_deployed = false;
                }
                Ok(revision) => since.push(revision),
                Err(error) => self.warn(format!(
                    "{error}; objects that only this revision deployed are not known"
                )),
            }
        }
        Ok(Past {
            history,
            last,
            since,
            had_deployed,
        })
    }

    /// Whether the release may be deployed as asked; in Helm's words if not.
    pub(super) fn admit(
        &self,
        name: &str,
        past: &Past,
        existing: Existing,
    ) -> Result<(), ReleaseError> {
        let last = past.last.as_ref().map(|last| match was_uninstalled(last) {
            true => Status::Uninstalled,
            false => last.info.status,
        });
        match (existing, last) {
            (Existing::Refused, Some(_)) => Err(ReleaseError::refused(format!(
                "cannot re-use a name that is still in use\nhint: `kzero release upgrade --install {name} CHART` takes what is there, `kzero release uninstall {name}` frees the name"
            ))),
            (Existing::Replaced, Some(status))
                if !matches!(status, Status::Uninstalled | Status::Failed) =>
            {
                Err(ReleaseError::refused(format!(
                    "cannot re-use a name that is still in use\nhint: only a release that failed or was uninstalled can be replaced, this one is {status}"
                )))
            }
            (Existing::Required, None) => Err(ReleaseError::refused(format!(
                "{name:?} has no deployed releases\nhint: `kzero release upgrade --install {name} CHART` installs it"
            ))),
            (Existing::Required, Some(_)) if past.purpose() == Purpose::Install => {
                Err(ReleaseError::refused(format!(
                    "{name:?} has no deployed releases\nhint: `kzero release upgrade --install {name} CHART` installs it anew"
                )))
            }
            _ => Ok(()),
        }
    }

    /// The objects that revisions deployed, by revision, without hooks. Kinds that the server no longer knows are told.
    pub(super) fn stored_objects(
        &self,
        revisions: &[Revision],
        kinds: &Kinds,
    ) -> Vec<Vec<Resource>> {
        let mut all = Vec::new();
        let mut told = std::collections::BTreeSet::new();
        for revision in revisions {
            let documents = documents(&revision.manifest);
            let documents: Vec<Document<'_>> = documents
                .iter()
                .map(|(path, text)| Document {
                    text,
                    path,
                    role: Role::Manifest,
                })
                .collect();
            let mut found = Vec::new();
            // One by one: a document that does not read says nothing of the others.
            for document in &documents {
                match build(
                    std::slice::from_ref(document),
                    &revision.namespace,
                    kinds,
                    Lookup::Stored,
                ) {
                    Ok(built) => {
                        found.extend(built.resources);
                        for gone in built.gone {
                            if told.insert(gone.clone()) {
                                self.warn(format!("{gone}, so it counts as gone"));
                            }
                        }
                    }
                    Err(error) => self.warn(format!("revision {}: {error}", revision.version)),
                }
            }
            all.push(found);
        }
        all
    }
}

/// The error for a release whose newest record does not read, with what deletes what is in the way.
fn broken(name: &str, namespace: &str, history: &History, error: &StorageError) -> ReleaseError {
    let newest_first = history.entries().iter().rev();
    let mut removals = Vec::new();
    let mut good = None;
    for entry in newest_first {
        match entry.revision() {
            Ok(revision) => {
                good = Some(revision);
                break;
            }
            Err(error) => removals.extend(error.removal().map(|removal| format!("`{removal}`"))),
        }
    }
    let removals = match removals.as_slice() {
        [] => "the end of this process".to_owned(),
        commands => commands.join(", "),
    };
    let next = match good {
        Some(good) => format!(
            "revision {} ({}) is the newest that reads. {removals} deletes what is in the way; the next run goes on from that revision, and what only a deleted one deployed stays in the cluster",
            good.version, good.info.status
        ),
        None => format!(
            "no record of the release reads. {removals} frees the name; `kzero release upgrade --install {name} CHART --namespace {namespace}` then installs the chart anew and takes over the objects that carry this release's marks"
        ),
    };
    ReleaseError::refused(format!(
        "the newest revision of release {name} cannot be read: {error}\nhint: {next}"
    ))
}

/// The documents of stored hooks.
pub(super) fn hook_documents(hooks: &[StoredHook]) -> Vec<Document<'_>> {
    hooks
        .iter()
        .enumerate()
        .map(|(number, hook)| Document {
            text: &hook.manifest,
            path: &hook.path,
            role: Role::Hook(number),
        })
        .collect()
}

/// The manifests of each object in revisions, oldest first, without repeating equal neighbours.
pub(super) fn by_object(revisions: Vec<Vec<Resource>>) -> HashMap<ResourceId, Vec<Value>> {
    let mut found: HashMap<ResourceId, Vec<Value>> = HashMap::new();
    for resource in revisions.into_iter().flatten() {
        let manifests = found.entry(resource.id).or_default();
        if manifests.last() != Some(&resource.object) {
            manifests.push(resource.object);
        }
    }
    found
}

/// The error for a release that somebody else works on, or died over.
pub(super) fn pending(name: &str, namespace: &str, revision: &Revision) -> ReleaseError {
    let since = revision
        .info
        .last_deployed
        .as_ref()
        .map(|time| format!(" since {}", time.timestamp()))
        .unwrap_or_default();
    ReleaseError::new(
        Class::Held,
        format!(
            "another operation (install/upgrade/rollback) is in progress\nhint: revision {} of release {name} is {}{since}, left by another program. If that program is gone, `kzero release recover {name} --namespace {namespace}` marks the revision failed; then try again",
            revision.version, revision.info.status
        ),
    )
}
