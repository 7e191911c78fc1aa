//! Native release steps: through the release engine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kzero_cluster::{Cluster, Propagation};
use kzero_profile::duration;
use kzero_profile::manifest::{Apply, Cascade, Crds, ReleaseManifest};
use kzero_registry::{Console, Wanted};
use kzero_release::decide::{CrdPolicy, Strategy};
use kzero_release::engine::{Deploy, Engine, Options, Timing, Uninstall};
use kzero_release::error::{Class, ReleaseError};
use kzero_release::event::Event;
use kzero_release::execute::Limits;
use kzero_release::interrupt::Interrupt;
use kzero_release::render::{Render, Source, chart};

use super::Release;
use crate::ambient::System;
use crate::event::{Bus, Effect, EventKind, Level};
use crate::releases::{ChartFile, Schemas, is_address, values_file};
use crate::steps::context::StepContext;
use crate::steps::error::StepError;

/// How long each hook and each wait may take when no setting limits the step.
const DEFAULT_WAIT: Duration = Duration::from_secs(300);

/// What a release step of `up` deploys, from manifest and step together (S-5.3).
pub(super) struct Wishes {
    pub(super) chart: String,
    pub(super) wanted: Wanted,
    /// Absolute, and as written.
    values_files: Vec<(PathBuf, String)>,
    values: serde_json::Map<String, serde_json::Value>,
    skip_schema: bool,
    pub(super) options: Options,
}

impl Release {
    /// The manifest; `None` without one.
    fn read_manifest(&self) -> Result<Option<&ReleaseManifest>, StepError> {
        match &self.manifest {
            Some(Ok(manifest)) => Ok(Some(manifest)),
            Some(Err(text)) => Err(StepError::permanent(text.clone())),
            None => Ok(None),
        }
    }

    pub(super) fn wishes(&self) -> Result<Wishes, StepError> {
        let none = ReleaseManifest::default();
        let manifest = self.read_manifest()?.unwrap_or(&none);
        let Some(chart) = self.chart.as_ref().or(manifest.chart.as_ref()) else {
            return Err(StepError::permanent(format!(
                "{}: neither the manifest nor the step names a chart\nhint: add chart: to {}/{}.yaml",
                self.reference, self.workspace, self.name
            )));
        };
        let version = self.version.as_ref().or(manifest.version.as_ref());
        let devel = manifest.devel.unwrap_or(false);
        let files = self
            .values_files
            .as_ref()
            .or(manifest.values_files.as_ref());
        Ok(Wishes {
            chart: chart.clone(),
            wanted: Wanted::new(version.map_or("", String::as_str), devel, ""),
            values_files: files
                .into_iter()
                .flatten()
                .map(|file| (self.folder.join(file), file.clone()))
                .collect(),
            values: manifest.values.clone().unwrap_or_default(),
            skip_schema: manifest.skip_schema_validation.unwrap_or(false),
            options: self.engine_options(manifest),
        })
    }

    /// Values files, and the chart if it is on this machine. What cannot be read has been told elsewhere.
    pub(super) fn chart_sources(&self) -> Vec<(String, PathBuf)> {
        let Ok(wishes) = self.wishes() else {
            return Vec::new();
        };
        let files = wishes.values_files.into_iter();
        let mut sources: Vec<_> = files.map(|(path, written)| (written, path)).collect();
        if !is_address(&wishes.chart) {
            let path = self.folder.join(&wishes.chart);
            sources.push((wishes.chart, path));
        }
        sources
    }

    fn engine_options(&self, manifest: &ReleaseManifest) -> Options {
        let flag = |value: Option<bool>, default: bool| value.unwrap_or(default);
        Options {
            wait: flag(manifest.wait, true),
            wait_for_jobs: flag(manifest.wait_for_jobs, true),
            atomic: flag(manifest.atomic, false),
            strategy: match manifest.apply.unwrap_or(Apply::ThreeWay) {
                Apply::ThreeWay => Strategy::ThreeWay,
                Apply::Overwrite => Strategy::Overwrite,
                Apply::ServerSide => Strategy::ServerSide,
            },
            force_conflicts: flag(manifest.force_conflicts, false),
            take_ownership: flag(manifest.take_ownership, false),
            crds: match manifest.crds.unwrap_or(Crds::Create) {
                Crds::Create => CrdPolicy::Create,
                Crds::Upgrade => CrdPolicy::Upgrade,
                Crds::Skip => CrdPolicy::Skip,
            },
            skip_unchanged: flag(manifest.skip_unchanged, false),
            recover: flag(manifest.recover, false),
            history_max: manifest
                .history_max
                .map_or(10, |max| usize::try_from(max).unwrap_or(usize::MAX)),
            disable_hooks: flag(manifest.disable_hooks, false),
            cleanup_on_fail: flag(manifest.cleanup_on_fail, false),
            create_namespace: self
                .create_namespace
                .or(manifest.create_namespace)
                .unwrap_or(false),
            description: manifest.description.clone(),
            labels: manifest.labels.clone().unwrap_or_default(),
            ..Options::default()
        }
    }

    /// Installs or upgrades.
    pub(super) async fn native_up(&self, cx: &StepContext<'_>) -> Result<(), StepError> {
        let effect = Effect::HelmUpgrade {
            object: self.object(),
            plan: self.plan(self.plan_timeout().as_deref()),
        };
        if cx.plan_only {
            cx.act(effect, false);
            return Ok(());
        }
        if !cx.dry() {
            cx.act(effect.clone(), false);
        }
        let wishes = self.wishes()?;
        let console = StepConsole { bus: cx.bus };
        let finding =
            cx.settings
                .releases
                .chart(&wishes.chart, &wishes.wanted, &self.folder, &console);
        let verb = format!("fetching chart {}", wishes.chart);
        let file = cx
            .stop
            .race(cx.patiently(&verb, finding))
            .await?
            .map_err(|error| {
                StepError::permanent(format!(
                    "{}: chart {}: {error}",
                    self.reference, wishes.chart
                ))
            })?;
        let deploy = Deploy {
            name: self.name.clone(),
            render: render(file, &wishes, cx.settings.releases.schemas()),
            options: wishes.options,
            timing: self.timing(cx),
        };
        let verb = format!("deploying {}", self.reference);
        let deployed = self
            .engaged(cx, &verb, async |engine| engine.deploy(deploy).await)
            .await?;
        if cx.dry() {
            cx.act(effect, true);
        } else if deployed.skipped {
            cx.note(
                Level::Info,
                format!("{}: nothing would change, no revision made", self.reference),
            );
        } else {
            cx.note(
                Level::Info,
                format!(
                    "{}: revision {} is deployed",
                    self.reference, deployed.revision.version
                ),
            );
        }
        Ok(())
    }

    /// Uninstalls and waits until all is gone.
    pub(super) async fn native_down(&self, cx: &StepContext<'_>) -> Result<(), StepError> {
        let effect = Effect::HelmUninstall {
            object: self.object(),
        };
        if cx.plan_only {
            cx.act(effect, false);
            return Ok(());
        }
        if !cx.dry() {
            cx.act(effect.clone(), false);
        }
        let none = ReleaseManifest::default();
        let manifest = self.read_manifest()?.unwrap_or(&none);
        let uninstall = Uninstall {
            name: self.name.clone(),
            wait: true,
            keep_history: manifest.uninstall.keep_history.unwrap_or(false),
            disable_hooks: manifest.uninstall.disable_hooks.unwrap_or(false),
            // So that what objects own is gone with them.
            cascade: match manifest.uninstall.cascade.unwrap_or(Cascade::Foreground) {
                Cascade::Background => Propagation::Background,
                Cascade::Foreground => Propagation::Foreground,
                Cascade::Orphan => Propagation::Orphan,
            },
            description: manifest.description.clone(),
        };
        let timing = self.timing(cx);
        let verb = format!("uninstalling {}", self.reference);
        let gone = self
            .engaged(cx, &verb, async |engine| {
                engine.uninstall(uninstall, &timing).await
            })
            .await?;
        if cx.dry() {
            cx.act(effect, true);
        }
        if !gone.found {
            cx.note(
                Level::Info,
                format!("release {} is not installed, nothing to do", self.object()),
            );
        }
        Ok(())
    }

    fn timing(&self, cx: &StepContext<'_>) -> Timing {
        let label = format!("default wait timeout {}", duration::format(DEFAULT_WAIT));
        Timing {
            all: cx.budget.clone(),
            each: cx.timeout.is_none().then_some((label, DEFAULT_WAIT)),
            cleanup: cx.settings.cleanup_timeout,
        }
    }

    /// Does something with an engine; a stop of the run ends it cleanly.
    async fn engaged<T>(
        &self,
        cx: &StepContext<'_>,
        verb: &str,
        work: impl AsyncFnOnce(&Engine<'_>) -> Result<T, ReleaseError>,
    ) -> Result<T, StepError> {
        let cluster: Cluster = cx.client().await?;
        let releases = &cx.settings.releases;
        let storage = releases
            .storage(&cluster, &self.namespace, &cx.budget)
            .await
            .map_err(StepError::permanent)?;
        let (asker, interrupt) = Interrupt::channel();
        let is_alive = |other: &_| releases.is_alive(other);
        let listener = |event: Event| self.tell(cx, event);
        let engine = Engine {
            cluster,
            storage,
            holder: releases.holder().clone(),
            is_alive: &is_alive,
            listener: &listener,
            interrupt,
            mode: cx.apply_mode(),
            limits: Limits::default(),
        };
        let work = cx.patiently(verb, work(&engine));
        tokio::pin!(work);
        let result = tokio::select! {
            biased;
            result = &mut work => result,
            reason = cx.stop.stopped() => {
                asker.interrupt(reason.to_string());
                // What is in flight ends and is written down; a second signal cuts that short.
                tokio::select! {
                    biased;
                    result = &mut work => match result {
                        Ok(_) => return Err(reason.into()),
                        Err(error) if error.class() == Class::Interrupted => return Err(reason.into()),
                        Err(error) => Err(error),
                    },
                    () = cx.stop.stopped_at_once() => return Err(reason.into()),
                }
            }
        };
        result.map_err(|error| StepError {
            text: format!("{}: {error}", self.reference),
            transient: error.is_transient(),
            stopped: false,
        })
    }

    fn tell(&self, cx: &StepContext<'_>, event: Event) {
        match event {
            Event::Warning(text) => cx.note(Level::Warn, format!("{}: {text}", self.reference)),
            Event::Info(text) => cx.note(Level::Info, format!("{}: {text}", self.reference)),
            Event::Started {
                revision,
                objects,
                changes,
                ..
            } => cx.note(
                Level::Info,
                format!(
                    "{}: revision {revision}, {changes} of {objects} objects change",
                    self.reference
                ),
            ),
            Event::Began { what } => cx.note(Level::Debug, format!("{}: {what}", self.reference)),
            Event::Done { what, elapsed } => {
                let elapsed =
                    Duration::from_millis(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX));
                cx.note(
                    Level::Debug,
                    format!(
                        "{}: {what}: done in {}",
                        self.reference,
                        duration::format(elapsed)
                    ),
                );
            }
            // The error of the step says it.
            Event::Failed { .. } => {}
            Event::Progress { object, text } => {
                cx.cluster.set_progress(format!("{object}: {text}"));
            }
            Event::Log {
                pod,
                container,
                line,
            } => {
                cx.note(
                    Level::Info,
                    format!("{}: {pod}/{container}: {line}", self.reference),
                );
            }
            Event::Cause { object, lines } => {
                for line in lines {
                    cx.bus.emit(EventKind::Cause {
                        text: format!("{object}: {line}"),
                    });
                }
            }
            _ => {}
        }
    }
}

/// Loads and renders the chart, on the engine's thread.
pub(super) fn render(file: ChartFile, wishes: &Wishes, schemas: Schemas) -> Render {
    let files = wishes.values_files.clone();
    let inline = wishes.values.clone();
    let skip_schema = wishes.skip_schema;
    let shown = wishes.chart.clone();
    Box::new(move |context| {
        let loaded = file
            .load()
            .map_err(|error| not_loaded(&shown, &file, &error))?;
        let mut values = serde_json::Map::new();
        for (path, written) in files {
            kzero_chart::values::merge_files(&mut values, values_file(&path, &written)?);
        }
        kzero_chart::values::merge_files(&mut values, inline);
        let source = Source {
            chart: &loaded,
            values,
            schemas: if skip_schema { None } else { Some(&schemas) },
            ambient: &System { dns: false },
            dns: false,
            all_notes: false,
        };
        chart(source, context)
    })
}

fn not_loaded(written: &str, file: &ChartFile, error: &str) -> String {
    let ChartFile::Local(path) = file else {
        return format!("chart {written}: {error}");
    };
    if path.exists() || is_address(written) || Path::new(written).is_absolute() {
        return format!("chart {written}: {error}");
    }
    format!(
        "chart {written}: there is no {}\nhint: a chart is a path under helm.workspace here; names of repositories such as repo/name are not looked up, https:// and oci:// addresses are",
        path.display()
    )
}

/// What the search for a chart has to say.
struct StepConsole<'a> {
    bus: &'a Bus,
}

impl Console for StepConsole<'_> {
    fn print(&self, text: &str) {
        self.bus.note(Level::Debug, text.trim_end());
    }

    fn note(&self, line: &str) {
        self.bus.note(Level::Warn, line);
    }
}
