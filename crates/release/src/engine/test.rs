//! Tests of a release: the hooks of its newest revision that are for tests.

use kzero_chart::manifest::HookEvent;

use super::finish::Run;
use super::past::hook_documents;
use super::rollback::events;
use super::{Engine, Options, Timing, look, race, started};
use crate::decide::{self, Rules};
use crate::directives::Directives;
use crate::error::ReleaseError;
use crate::interrupt::Interrupt;
use crate::plan::{Deployment, Item, Plan, Purpose, Waits};
use crate::record::Recorder;
use crate::resource::{Document, Kinds, Lookup, ResourceId, Role, build};
use crate::revision::{Revision, StoredHook, check_name};
use crate::storage::{Entry, StorageError};
use crate::track;

/// Which tests of which release are run.
#[derive(Debug, Clone, Default)]
pub struct Test {
    /// The name of the release.
    pub name: String,
    /// Only hooks of these names; all if there is none.
    pub only: Vec<String>,
    /// No hooks of these names.
    pub without: Vec<String>,
}

/// What tests came to.
#[derive(Debug, Clone)]
pub struct Tested {
    /// The revision, with the last runs of its hooks. Hooks that were left out come before those that were run.
    pub revision: Revision,
    /// The objects of the tests that were chosen, in their order, each with the name of its hook. Delete policies may have
    /// taken them away again.
    pub objects: Vec<(String, ResourceId)>,
    /// Why a test failed.
    pub failure: Option<ReleaseError>,
}

impl Test {
    fn takes(&self, hook: &StoredHook) -> bool {
        !self.without.contains(&hook.name)
            && (self.only.is_empty() || self.only.contains(&hook.name))
    }
}

impl Engine<'_> {
    /// Runs tests of the newest revision of a release, and notes in its record how they went. The status of the release
    /// stays what it is.
    ///
    /// # Errors
    ///
    /// There is no such release, or its tests cannot be begun. A test that fails is no error here: see
    /// [`Tested::failure`].
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: tests may be left running. End it by [`Engine::interrupt`].
    pub async fn test(&self, test: &Test, timing: &Timing) -> Result<Tested, ReleaseError> {
        let name = test.name.as_str();
        check_name(name).map_err(|error| ReleaseError::refused(error.to_string()))?;
        // Without a release there may be no namespace for the lock.
        let reading = async { Ok(self.storage.history(name, &look(&timing.all)).await?) };
        if race(&self.interrupt, reading).await?.is_empty() {
            return Err(StorageError::NotFound.into());
        }
        self.locked(name, timing, |interrupt, _| async move {
            self.test_locked(test, timing, &interrupt).await
        })
        .await
    }

    async fn test_locked(
        &self,
        test: &Test,
        timing: &Timing,
        interrupt: &Interrupt,
    ) -> Result<Tested, ReleaseError> {
        let planning = async {
            let history = self.storage.history(&test.name, &look(&timing.all)).await?;
            let last = history.last().map(Entry::revision);
            let mut revision = last.unwrap_or(Err(StorageError::NotFound))?;
            // As Helm stores them after a choice.
            revision.hooks.sort_by_key(|hook| test.takes(hook));
            let kinds = self.kinds(&timing.all).await?;
            let plan = self.plan_tests(test, &revision, &kinds)?;
            Ok((revision, kinds, plan))
        };
        let (revision, kinds, plan) = race(interrupt, planning).await?;
        let objects = objects(&plan, &revision.hooks);
        if objects.is_empty() {
            return Ok(Tested {
                revision,
                objects,
                failure: None,
            });
        }
        for warning in &plan.warnings {
            self.warn(warning.clone());
        }
        self.tell(started(&plan, revision.version));
        let recorder = Recorder::new(&self.storage, revision, timing.all.clone());
        let walked = self
            .walk(
                &plan,
                &kinds,
                timing,
                Some(&recorder),
                interrupt,
                kzero_cluster::Propagation::default(),
            )
            .await;
        let failure = self.verdict(&plan, &walked.outcome, interrupt).err();
        if failure.is_some() {
            let run = Run {
                plan: &plan,
                walked: &walked,
                options: &Options::default(),
                timing,
            };
            self.clean_up(&run).await;
        }
        let budget = timing.cleanup();
        recorder.end_hooks(&budget).await.map_err(|error| {
            ReleaseError::from(error).about("the record of the tests cannot be written")
        })?;
        Ok(Tested {
            revision: recorder.into_revision(),
            objects,
            failure,
        })
    }

    fn plan_tests(
        &self,
        test: &Test,
        revision: &Revision,
        kinds: &Kinds,
    ) -> Result<Plan, ReleaseError> {
        let all: Vec<Vec<HookEvent>> = revision.hooks.iter().map(events).collect();
        let is_chosen = |document: &&Document<'_>| {
            let Role::Hook(number) = document.role else {
                return false;
            };
            let runs = all
                .get(number)
                .is_some_and(|events| events.contains(&HookEvent::Test));
            runs && revision
                .hooks
                .get(number)
                .is_some_and(|hook| test.takes(hook))
        };
        let documents = hook_documents(&revision.hooks);
        let chosen: Vec<Document<'_>> = documents.iter().filter(is_chosen).copied().collect();
        let built = build(&chosen, self.namespace(), kinds, Lookup::Stored)?;
        if let Some(gone) = built.gone.first() {
            return Err(ReleaseError::refused(format!(
                "{gone}, so this test cannot be run\nhint: `--filter '!name=NAME'` leaves a test out; a newer chart may have a better one"
            )));
        }
        let rules = Rules {
            release: test.name.clone(),
            namespace: self.namespace().to_owned(),
            ..Rules::default()
        };
        let mut items = Vec::new();
        for resource in built.resources {
            let directives = Directives::read_stored(&resource);
            let decision = rules.decide(&resource, &directives, decide::Past::default())?;
            items.push(Item {
                ready: !track::has_rule(&resource),
                resource,
                directives,
                decision,
                restarts: None,
            });
        }
        Ok(Plan::deployment(Deployment {
            purpose: Purpose::Test,
            items,
            removals: Vec::new(),
            hooks: &all,
            waits: Waits::default(),
            kinds,
            namespace: self.namespace(),
        })?)
    }
}

/// The objects of a plan of tests, with the names of their hooks, by weight and name as Helm runs them.
fn objects(plan: &Plan, hooks: &[StoredHook]) -> Vec<(String, ResourceId)> {
    let hook = |item: &Item| match item.resource.role {
        Role::Hook(number) => hooks.get(number),
        Role::Crd | Role::Manifest => None,
    };
    let mut found: Vec<(i64, &str, &ResourceId)> = plan
        .items
        .iter()
        .filter_map(|item| {
            let hook = hook(item)?;
            Some((hook.weight, hook.name.as_str(), &item.resource.id))
        })
        .collect();
    found.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
    found
        .into_iter()
        .map(|(_, name, id)| (name.to_owned(), id.clone()))
        .collect()
}
