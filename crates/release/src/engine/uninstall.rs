//! Uninstalls.

use kzero_chart::manifest::HookEvent;
use kzero_cluster::{ErrorClass, Propagation};
use serde_json::Value;

use super::deploy::vanished;
use super::past::{Past, hook_documents};
use super::rollback::events;
use super::{Engine, Timing, look, race, started};
use crate::decide::{self, Rules};
use crate::directives::Directives;
use crate::error::{Class, ReleaseError};
use crate::event::Event;
use crate::interrupt::Interrupt;
use crate::live::{self, Detail};
use crate::lock::Lock;
use crate::plan::{Deletion, Item, Plan, Removal};
use crate::record::Recorder;
use crate::resource::{Kinds, Lookup, build, text};
use crate::revision::{Revision, Status, Time, check_name};
use crate::storage::Entry;
use crate::track;

/// What is to be uninstalled, and how.
#[derive(Debug, Clone, Default)]
pub struct Uninstall {
    /// The name of the release.
    pub name: String,
    /// Whether the end waits until all objects are gone.
    pub wait: bool,
    /// Whether the records stay.
    pub keep_history: bool,
    /// Whether the hooks of the chart are left out.
    pub disable_hooks: bool,
    /// What becomes of the objects that objects own; annotations go before it.
    pub cascade: Propagation,
    /// The description of the record in place of the usual one.
    pub description: Option<String>,
}

/// What an uninstall came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uninstalled {
    /// Whether there was such a release.
    pub found: bool,
    /// Objects that stay because of their policy, as `[Kind] name`.
    pub kept: Vec<String>,
    /// Claims of StatefulSets that stay, as `namespace/name`.
    pub claims: Vec<String>,
}

impl Engine<'_> {
    /// Uninstalls a release. One that is not there is no error.
    ///
    /// # Errors
    ///
    /// See [`ReleaseError::class`]. The record stays until all is gone, so that it can be called again.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: objects may be left, and the record with them. Call it again. End it by [`Engine::interrupt`].
    pub async fn uninstall(
        &self,
        uninstall: Uninstall,
        timing: &Timing,
    ) -> Result<Uninstalled, ReleaseError> {
        check_name(&uninstall.name).map_err(|error| ReleaseError::refused(error.to_string()))?;
        let history = race(&self.interrupt, async {
            Ok(self
                .storage
                .history(&uninstall.name, &look(&timing.all))
                .await?)
        })
        .await?;
        // Without a release there may be no namespace, and no Lease in it.
        if history.is_empty() {
            if !self.is_dry() {
                let budget = look(&timing.all);
                Lock::clear(
                    &self.cluster,
                    self.namespace(),
                    &uninstall.name,
                    self.is_alive,
                    &budget,
                )
                .await;
            }
            return Ok(Uninstalled::default());
        }
        let name = uninstall.name.clone();
        self.locked(&name, timing, |interrupt, _| async move {
            self.uninstall_locked(uninstall, timing, &interrupt).await
        })
        .await
    }

    /// The same under a lock that is held.
    pub(super) async fn uninstall_locked(
        &self,
        uninstall: Uninstall,
        timing: &Timing,
        interrupt: &Interrupt,
    ) -> Result<Uninstalled, ReleaseError> {
        let name = uninstall.name.as_str();
        let past = race(interrupt, self.past(name, &timing.all)).await?;
        let Some(last) = past.last.clone() else {
            return Ok(Uninstalled::default());
        };
        if last.info.status == Status::Uninstalled {
            return self.already(&uninstall, timing).await;
        }
        let kinds = race(interrupt, self.kinds(&timing.all)).await?;
        let (plan, kept) = race(
            interrupt,
            self.plan_deletion(&uninstall, &past, &last, &kinds, timing),
        )
        .await?;
        for warning in &plan.warnings {
            self.warn(warning.clone());
        }
        self.tell(started(&plan, last.version));
        if !self.is_dry() {
            Box::pin(self.delete_under_record(&uninstall, last, &plan, &kinds, timing, interrupt))
                .await?;
            self.forget(&uninstall, &past, timing).await?;
        } else {
            let walked = self
                .walk(&plan, &kinds, timing, None, interrupt, uninstall.cascade)
                .await;
            self.verdict(&plan, &walked.outcome, interrupt)?;
        }
        let claims = self.claims_left(&plan.removals, &kinds, timing).await;
        Ok(Uninstalled {
            found: true,
            kept,
            claims,
        })
    }

    /// A release whose objects are gone and whose records were kept.
    async fn already(
        &self,
        uninstall: &Uninstall,
        timing: &Timing,
    ) -> Result<Uninstalled, ReleaseError> {
        if uninstall.keep_history {
            let name = &uninstall.name;
            return Err(ReleaseError::refused(format!(
                "the release named {name:?} is already deleted\nhint: `kzero release uninstall {name}` without --keep-history takes its records away"
            )));
        }
        if !self.is_dry() {
            self.storage
                .purge(&uninstall.name, &look(&timing.all))
                .await?;
        }
        Ok(Uninstalled::default())
    }

    async fn plan_deletion(
        &self,
        uninstall: &Uninstall,
        past: &Past,
        last: &Revision,
        kinds: &Kinds,
        timing: &Timing,
    ) -> Result<(Plan, Vec<String>), ReleaseError> {
        let stored = self.stored_objects(&past.since, kinds);
        let objects = vanished(&stored, &[]);
        let budget = look(&timing.all);
        let mut live = live::read(&self.cluster, &objects, kinds, Detail::Head, &budget).await?;
        let mut removals = Vec::new();
        let mut kept = Vec::new();
        for resource in objects {
            let Some(found) = live.remove(&resource.id) else {
                continue;
            };
            let line = format!("[{}] {}", resource.id.kind, resource.id.name);
            let policy = Directives::read_stored(&resource).resource_policy;
            match self.removal(resource, &found, &uninstall.name) {
                Some(removal) => removals.push(removal),
                None if policy.keep => kept.push(line),
                None => {}
            }
        }
        let documents = hook_documents(&last.hooks);
        let built = if uninstall.disable_hooks {
            Vec::new()
        } else {
            build(&documents, self.namespace(), kinds, Lookup::Stored)?.resources
        };
        let rules = Rules {
            release: uninstall.name.clone(),
            namespace: self.namespace().to_owned(),
            ..Rules::default()
        };
        let mut hooks = Vec::new();
        for resource in built {
            let directives = Directives::read_stored(&resource);
            let decision = rules.decide(&resource, &directives, decide::Past::default())?;
            hooks.push(Item {
                ready: !track::has_rule(&resource),
                resource,
                directives,
                decision,
                restarts: None,
            });
        }
        let events: Vec<Vec<HookEvent>> = last.hooks.iter().map(events).collect();
        let plan = Plan::deletion(Deletion {
            hooks,
            events: &events,
            removals,
            wait: uninstall.wait,
            kinds,
            namespace: self.namespace(),
        })?;
        Ok((plan, kept))
    }

    /// Marks the release as on its way out, and deletes its objects.
    async fn delete_under_record(
        &self,
        uninstall: &Uninstall,
        mut last: Revision,
        plan: &Plan,
        kinds: &Kinds,
        timing: &Timing,
        interrupt: &Interrupt,
    ) -> Result<(), ReleaseError> {
        last.set_status(
            Status::Uninstalling,
            "Deletion in progress (or silently failed)",
        );
        last.info.deleted = Some(Time::utc(jiff::Timestamp::now()));
        last.holder = Some(self.holder.clone());
        self.storage.update(&mut last, &look(&timing.all)).await?;
        let recorder = Recorder::new(&self.storage, last, timing.all.clone());
        let walked = self
            .walk(
                plan,
                kinds,
                timing,
                Some(&recorder),
                interrupt,
                uninstall.cascade,
            )
            .await;
        let Err(error) = self.verdict(plan, &walked.outcome, interrupt) else {
            return Ok(());
        };
        let said = error.to_string();
        let said = said.split("\nhint: ").next().unwrap_or_default();
        let text = format!("Uninstallation failed: {said}");
        if let Err(trouble) = recorder
            .set(Status::Uninstalling, &text, &timing.cleanup())
            .await
        {
            self.warn(format!(
                "the record of the release cannot be written: {trouble}"
            ));
        }
        let text = format!(
            "{said}\nhint: the record of release {} stays, so that `kzero release uninstall {}` can be run again",
            uninstall.name, uninstall.name
        );
        Err(match error.class() {
            Class::Interrupted => error.saying(text),
            _ => error.saying(format!(
                "failed to delete release: {}: {text}",
                uninstall.name
            )),
        })
    }

    /// Takes the records away, or marks them.
    async fn forget(
        &self,
        uninstall: &Uninstall,
        past: &Past,
        timing: &Timing,
    ) -> Result<(), ReleaseError> {
        if !uninstall.keep_history {
            self.storage
                .purge(&uninstall.name, &look(&timing.all))
                .await?;
            return Ok(());
        }
        let number = past.history.last().map_or(0, Entry::version);
        let mut revision = self
            .storage
            .get(&uninstall.name, number, &look(&timing.all))
            .await?;
        let text = uninstall
            .description
            .as_deref()
            .unwrap_or("Uninstallation complete");
        revision.set_status(Status::Uninstalled, text);
        self.storage
            .update(&mut revision, &look(&timing.all))
            .await?;
        self.supersede(&past.history, number, timing).await;
        Ok(())
    }

    /// Claims that StatefulSets made, which nobody deletes.
    async fn claims_left(
        &self,
        removals: &[Removal],
        kinds: &Kinds,
        timing: &Timing,
    ) -> Vec<String> {
        let mut prefixes: Vec<(&str, String)> = Vec::new();
        for removal in removals {
            let id = &removal.resource.id;
            if id.kind != "StatefulSet" {
                continue;
            }
            let templates = removal
                .resource
                .object
                .pointer("/spec/volumeClaimTemplates")
                .and_then(Value::as_array);
            for template in templates.into_iter().flatten() {
                let prefix = format!("{}-{}-", text(template, "/metadata/name"), id.name);
                prefixes.push((&id.namespace, prefix));
            }
        }
        let Some(api) = kinds
            .resource("v1", "PersistentVolumeClaim")
            .filter(|_| !prefixes.is_empty())
        else {
            return Vec::new();
        };
        let mut namespaces: Vec<&str> = prefixes.iter().map(|(namespace, _)| *namespace).collect();
        namespaces.sort_unstable();
        namespaces.dedup();
        let mut left = Vec::new();
        for namespace in namespaces {
            let heads = match self
                .cluster
                .object_heads(api, namespace, &look(&timing.all))
                .await
            {
                Ok(heads) => heads,
                Err(error) => {
                    if error.class() != ErrorClass::Forbidden {
                        self.warn(format!("claims that may be left cannot be listed: {error}"));
                    }
                    continue;
                }
            };
            for head in &heads {
                let name = text(head, "/metadata/name");
                let made = |(space, prefix): &(&str, String)| {
                    let number = name.strip_prefix(prefix.as_str()).unwrap_or_default();
                    *space == namespace
                        && !number.is_empty()
                        && number.bytes().all(|byte| byte.is_ascii_digit())
                };
                if prefixes.iter().any(made) {
                    left.push(format!("{namespace}/{name}"));
                }
            }
        }
        if !left.is_empty() {
            self.tell(Event::Info(format!(
                "these claims stay: {}",
                left.join(", ")
            )));
        }
        left
    }
}
