//! Installs and upgrades.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use kzero_chart::manifest::HookEvent;
use kzero_chart::render::Release;
use kzero_cluster::Budget;
use serde_json::Value;

use super::past::{Past, by_object};
use super::{Deployed, Engine, Options, Timing, look, race, started};
use crate::decide::{self, CrdPolicy, Decision, Kept, Rules, Strategy};
use crate::directives::{Directives, Ownership};
use crate::error::ReleaseError;
use crate::event::Event;
use crate::interrupt::Interrupt;
use crate::live::{self, Detail};
use crate::plan::{Deployment, Item, Plan, Purpose, Removal, Waits};
use crate::render::{self, Former, Render, Rendered};
use crate::resource::{
    Document, Kinds, Lookup, Resource, ResourceId, Role, build, check_unique, owner,
};
use crate::restart::pod_selector;
use crate::revision::{Revision, Status, StoredChart, StoredHook, Time, check_name};
use crate::storage::merge_labels;
use crate::track;

/// What is to be deployed.
pub struct Deploy {
    /// The name of the release.
    pub name: String,
    /// How.
    pub options: Options,
    /// Loads and renders the chart.
    pub render: Render,
    /// What it may take.
    pub timing: Timing,
}

/// A deployment that was planned and not begun.
pub struct Planned {
    /// What will be done.
    pub plan: Plan,
    /// The revision it will make.
    pub revision: Revision,
    /// What is served.
    pub kinds: Kinds,
    /// Whether nothing is different from the revision before, so that none need be made.
    pub unchanged: bool,
    pub(super) past: Past,
    pub(super) disabled_hooks: usize,
}

/// Everything that decisions are made of.
pub(super) struct Wanted<'a> {
    pub(super) resources: Vec<Resource>,
    pub(super) hooks: &'a [Vec<HookEvent>],
    pub(super) previous: HashMap<ResourceId, Vec<Value>>,
    pub(super) original: HashMap<ResourceId, Value>,
    pub(super) removals: Vec<Resource>,
}

impl Engine<'_> {
    /// Installs or upgrades a release.
    ///
    /// # Errors
    ///
    /// See [`ReleaseError::class`]. Once a revision was begun its record says what became of it.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: a revision in the making stays pending, and the next deployment recovers from that. End it by
    /// [`Engine::interrupt`].
    pub async fn deploy(&self, deploy: Deploy) -> Result<Deployed, ReleaseError> {
        check_name(&deploy.name).map_err(|error| ReleaseError::refused(error.to_string()))?;
        let Deploy {
            name,
            options,
            render,
            timing,
        } = deploy;
        let budget = timing.all.clone();
        let (kinds, there) = race(&self.interrupt, async {
            let kinds = self.kinds(&budget).await?;
            let there = self
                .has_namespace(&kinds, options.create_namespace, !self.is_dry(), &timing)
                .await?;
            Ok((kinds, there))
        })
        .await?;
        let (name, options, timing) = (&name, &options, &timing);
        let planning = async |locked| {
            let past = self.past(name, &timing.all).await?;
            let past = self
                .settle(name, past, options.recover, locked, &timing.all)
                .await?;
            self.plan_deployment(name, options, render, kinds, past, &timing.all)
                .await
        };
        if there {
            return self
                .locked(name, timing, |interrupt, locked| async move {
                    let planned = race(&interrupt, planning(locked)).await?;
                    self.go(name, planned, options, timing, &interrupt).await
                })
                .await;
        }
        // The namespace is made once it is known that the chart can be deployed. Nobody can hold a lock in it before.
        let planned = race(&self.interrupt, planning(false)).await?;
        if self.is_dry() {
            self.tell(started(&planned.plan, planned.revision.version));
            self.tell(Event::Info(format!(
                "namespace {} is not there yet, so the API server was not asked to check the objects",
                self.namespace()
            )));
            return Ok(Deployed::made(planned.revision, planned.plan.purpose));
        }
        self.create_namespace(&planned.kinds, &look(&budget))
            .await?;
        self.locked(name, timing, |interrupt, _| async move {
            self.go(name, planned, options, timing, &interrupt).await
        })
        .await
    }

    /// Does what was planned, if there is anything to do.
    async fn go(
        &self,
        name: &str,
        planned: Planned,
        options: &Options,
        timing: &Timing,
        interrupt: &Interrupt,
    ) -> Result<Deployed, ReleaseError> {
        for warning in &planned.plan.warnings {
            self.warn(warning.clone());
        }
        if options.skip_unchanged && planned.unchanged && planned.plan.is_empty() {
            return Ok(Deployed {
                revision: planned.past.last.unwrap_or(planned.revision),
                purpose: planned.plan.purpose,
                skipped: true,
            });
        }
        self.tell(started(&planned.plan, planned.revision.version));
        Box::pin(self.carry_out(name, planned, options, timing, interrupt)).await
    }

    /// Plans a deployment and changes nothing: no lock, no record, no object.
    ///
    /// # Errors
    ///
    /// As [`Engine::deploy`].
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn plan(&self, deploy: Deploy) -> Result<Planned, ReleaseError> {
        check_name(&deploy.name).map_err(|error| ReleaseError::refused(error.to_string()))?;
        let budget = deploy.timing.all.clone();
        let planning = async {
            let kinds = self.kinds(&budget).await?;
            self.has_namespace(
                &kinds,
                deploy.options.create_namespace,
                false,
                &deploy.timing,
            )
            .await?;
            let past = self.past(&deploy.name, &budget).await?;
            self.plan_deployment(
                &deploy.name,
                &deploy.options,
                deploy.render,
                kinds,
                past,
                &budget,
            )
            .await
        };
        race(&self.interrupt, planning).await
    }

    async fn plan_deployment(
        &self,
        name: &str,
        options: &Options,
        render: Render,
        mut kinds: Kinds,
        past: Past,
        budget: &Budget,
    ) -> Result<Planned, ReleaseError> {
        self.admit(name, &past, options.existing)?;
        let purpose = past.purpose();
        let former = past.current().map(|revision| Former {
            chart_values: revision
                .chart
                .as_ref()
                .map(StoredChart::values)
                .unwrap_or_default(),
            config: revision.config.clone(),
        });
        let release = Release {
            name: name.to_owned(),
            namespace: self.namespace().to_owned(),
            revision: past.next(),
            is_install: purpose == Purpose::Install,
            is_upgrade: purpose == Purpose::Upgrade,
        };
        let rendered = render::run(
            render,
            release,
            former,
            kinds.discovery(),
            &self.cluster,
            &look(budget),
        )
        .await?;
        for warning in &rendered.warnings {
            self.warn(warning.clone());
        }
        let revision = self.revision(name, purpose, &past, &rendered, options)?;
        let resources = self.resources(&rendered, options, &mut kinds)?;
        let hooks: Vec<Vec<HookEvent>> = rendered
            .hooks
            .iter()
            .map(|hook| hook.events.clone())
            .collect();
        let stored = self.stored_objects(&past.since, &kinds);
        let current = past.current().and_then(|current| {
            past.since
                .iter()
                .position(|revision| revision.version == current.version)
        });
        let original = original(options.strategy, &stored, current);
        let removals = vanished(&stored, &resources);
        let wanted = Wanted {
            resources,
            hooks: &hooks,
            previous: by_object(stored),
            original,
            removals,
        };
        let plan = self
            .decide(name, purpose, options, wanted, &kinds, budget)
            .await?;
        let unchanged = past.last.as_ref().is_some_and(|last| same(last, &revision));
        Ok(Planned {
            plan,
            revision,
            kinds,
            unchanged,
            past,
            disabled_hooks: if options.disable_hooks {
                rendered.hooks.len()
            } else {
                0
            },
        })
    }

    /// The revision that is going to be made.
    fn revision(
        &self,
        name: &str,
        purpose: Purpose,
        past: &Past,
        rendered: &Rendered,
        options: &Options,
    ) -> Result<Revision, ReleaseError> {
        let status = match purpose {
            Purpose::Upgrade => Status::PendingUpgrade,
            _ => Status::PendingInstall,
        };
        let mut revision = Revision::new(name, self.namespace(), past.next(), status);
        let now = Time::utc(Timestamp::now());
        let first = past.last.as_ref().and_then(|last| last.info.first_deployed);
        revision.info.first_deployed = first.filter(|_| purpose == Purpose::Upgrade).or(Some(now));
        revision.info.last_deployed = Some(now);
        revision.info.description = match purpose {
            Purpose::Upgrade => "Preparing upgrade".to_owned(),
            _ => "Initial install underway".to_owned(),
        };
        revision.info.notes.clone_from(&rendered.notes);
        revision.chart = Some(rendered.chart.clone());
        revision.config = rendered.config.clone();
        revision.manifest = rendered.manifest();
        revision.hooks = rendered.hooks.iter().map(StoredHook::from).collect();
        revision.holder = Some(self.holder.clone());
        if options.strategy == Strategy::ServerSide {
            "ssa".clone_into(&mut revision.apply_method);
        }
        let before = past.last.as_ref().filter(|_| purpose == Purpose::Upgrade);
        revision.labels = match before {
            Some(last) => merge_labels(&last.labels, &options.labels),
            None => options.labels.clone(),
        };
        crate::storage::check_labels(&revision.labels)
            .map_err(|error| ReleaseError::refused(error.to_string()))?;
        self.storage.would_fit(&revision)?;
        Ok(revision)
    }

    /// All objects of the chart: definitions, documents, hooks.
    fn resources(
        &self,
        rendered: &Rendered,
        options: &Options,
        kinds: &mut Kinds,
    ) -> Result<Vec<Resource>, ReleaseError> {
        let crds: Vec<Document<'_>> = rendered
            .crds
            .iter()
            .filter(|_| options.crds != CrdPolicy::Skip)
            .flat_map(|(path, text)| {
                kzero_chart::manifest::split(text)
                    .into_iter()
                    .map(move |text| Document {
                        text,
                        path,
                        role: Role::Crd,
                    })
            })
            .collect();
        let manifests: Vec<Document<'_>> = rendered.manifests.iter().map(Document::from).collect();
        let hooks: Vec<Document<'_>> = rendered
            .hooks
            .iter()
            .enumerate()
            .filter(|_| !options.disable_hooks)
            .map(|(number, hook)| Document::hook(number, hook))
            .collect();
        let namespace = self.namespace();
        let mut all = build(&crds, namespace, kinds, Lookup::Exact)?.resources;
        for crd in &all {
            kinds.define(&crd.object);
        }
        // Definitions among the documents define kinds as well; the others are read once these are known.
        for manifest in &rendered.manifests {
            if manifest.kind == "CustomResourceDefinition"
                && let Ok(object) = kzero_chart::yaml::decode_object(&manifest.content)
            {
                kinds.define(&object);
            }
        }
        all.extend(build(&manifests, namespace, kinds, Lookup::Exact)?.resources);
        all.extend(build(&hooks, namespace, kinds, Lookup::Exact)?.resources);
        check_unique(&all)?;
        Ok(all)
    }

    /// Looks at what lives and decides over each object.
    pub(super) async fn decide(
        &self,
        name: &str,
        purpose: Purpose,
        options: &Options,
        wanted: Wanted<'_>,
        kinds: &Kinds,
        budget: &Budget,
    ) -> Result<Plan, ReleaseError> {
        let Wanted {
            resources,
            hooks,
            mut previous,
            original,
            removals,
        } = wanted;
        let looked_at = resources
            .iter()
            .filter(|resource| !matches!(resource.role, Role::Hook(_)))
            .chain(&removals);
        let detail = match options.strategy {
            Strategy::ServerSide => Detail::Managed,
            Strategy::ThreeWay | Strategy::Overwrite => Detail::Whole,
        };
        let mut live = live::read(&self.cluster, looked_at, kinds, detail, &look(budget)).await?;
        let rules = Rules {
            release: name.to_owned(),
            namespace: self.namespace().to_owned(),
            strategy: options.strategy,
            replace: options.replace,
            force_conflicts: options.force_conflicts,
            take_ownership: options.take_ownership,
            crds: options.crds,
        };
        let mut items = Vec::with_capacity(resources.len());
        let mut foreign = Vec::new();
        for resource in resources {
            let directives = Directives::read(&resource)?;
            // What is known of a manifest is of no use once it is decided, and it is much.
            let decided = resource.role == Role::Manifest;
            let (old, seen) = if decided {
                (previous.remove(&resource.id), live.remove(&resource.id))
            } else {
                (None, None)
            };
            let past = decide::Past {
                previous: old
                    .as_ref()
                    .or_else(|| previous.get(&resource.id))
                    .map(Vec::as_slice)
                    .unwrap_or_default(),
                original: original.get(&resource.id),
                live: seen.as_ref().or_else(|| live.get(&resource.id)),
            };
            match rules.decide(&resource, &directives, past) {
                Ok(decision) => {
                    let unchanged =
                        matches!(decision, Decision::Keep(Kept::Unchanged | Kept::SkipUpdate));
                    let restarts = past
                        .live
                        .filter(|_| options.recreate_pods)
                        .and_then(|_| pod_selector(&resource.object));
                    let ready = !track::has_rule(&resource)
                        || (unchanged
                            && restarts.is_none()
                            && past
                                .live
                                .is_some_and(|live| track::is_ready(&resource, live)))
                        || matches!(decision, Decision::Keep(Kept::SkipCreate));
                    items.push(Item {
                        resource,
                        directives,
                        decision,
                        ready,
                        restarts,
                    });
                }
                Err(refusal) => foreign.push(refusal.to_string()),
            }
        }
        if !foreign.is_empty() {
            let what = match purpose {
                Purpose::Upgrade => "update",
                _ => "install",
            };
            return Err(ReleaseError::refused(format!(
                "Unable to continue with {what}: {}\nhint: delete or rename what is in the way, let the chart render another name, or take it over with take_ownership: true (--take-ownership)",
                foreign.join("\nand: ")
            )));
        }
        let removals = removals
            .into_iter()
            .filter_map(|resource| {
                let live = live.remove(&resource.id)?;
                self.removal(resource, &live, name)
            })
            .collect();
        Ok(Plan::deployment(Deployment {
            purpose,
            items,
            removals,
            hooks,
            waits: Waits {
                ready: options.wait || options.atomic,
                jobs: options.wait_for_jobs,
            },
            kinds,
            namespace: self.namespace(),
        })?)
    }

    /// An object that is to be deleted, if it is the release's and may be.
    pub(super) fn removal(&self, resource: Resource, live: &Value, name: &str) -> Option<Removal> {
        let directives = Directives::read_stored(&resource);
        let kept_live = live
            .pointer("/metadata/annotations/helm.sh~1resource-policy")
            .and_then(Value::as_str)
            == Some("keep");
        if directives.resource_policy.keep || kept_live {
            self.tell(Event::Info(format!(
                "{} is kept (resource policy)",
                resource.id
            )));
            return None;
        }
        if directives.ownership == Ownership::Anyone {
            return None;
        }
        if owner(live) != Some((name, self.namespace())) {
            let whose = match owner(live) {
                Some((name, namespace)) => format!("it belongs to release {namespace}/{name}"),
                None => "it carries no marks of this release".to_owned(),
            };
            self.warn(format!("{} is left alone: {whose}", resource.id));
            return None;
        }
        let uid = live
            .pointer("/metadata/uid")
            .and_then(Value::as_str)
            .map(str::to_owned);
        Some(Removal {
            resource,
            directives,
            uid,
        })
    }
}

/// The manifests of one of the revisions, for ways of writing that compare with one alone: Helm's do, three-way does not.
pub(super) fn original(
    strategy: Strategy,
    stored: &[Vec<Resource>],
    at: Option<usize>,
) -> HashMap<ResourceId, Value> {
    match strategy {
        Strategy::ThreeWay => HashMap::new(),
        Strategy::Overwrite | Strategy::ServerSide => at
            .and_then(|at| stored.get(at))
            .into_iter()
            .flatten()
            .map(|resource| (resource.id.clone(), resource.object.clone()))
            .collect(),
    }
}

/// Objects that a revision had and that are no longer wanted, each once.
pub(super) fn vanished(stored: &[Vec<Resource>], wanted: &[Resource]) -> Vec<Resource> {
    let mut seen: HashSet<&ResourceId> = wanted
        .iter()
        .filter(|resource| resource.role == Role::Manifest)
        .map(|resource| &resource.id)
        .collect();
    let mut found = Vec::new();
    // The newest manifest of an object says how it is deleted.
    for resource in stored.iter().rev().flatten() {
        if seen.insert(&resource.id) {
            found.push(resource.clone());
        }
    }
    found
}

/// Whether two revisions deploy the same.
fn same(last: &Revision, next: &Revision) -> bool {
    let hooks = |revision: &Revision| -> Vec<(String, String)> {
        revision
            .hooks
            .iter()
            .map(|hook| (hook.path.clone(), hook.manifest.clone()))
            .collect()
    };
    last.info.status == Status::Deployed
        && last.manifest == next.manifest
        && last.config == next.config
        && last.info.notes == next.info.notes
        && last.labels == next.labels
        && hooks(last) == hooks(next)
}
