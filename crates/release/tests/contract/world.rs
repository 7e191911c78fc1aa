//! A namespace of its own for each test, and an engine that works in it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kzero_chart::load::{self, File};
use kzero_cluster::{ApplyMode, Budget, Cluster, ConnectOptions, resolve};
use kzero_gotmpl::{Still, Str};
use kzero_release::engine::{
    Deploy, Deployed, Engine, Goal, Options, Rollback, Timing, Uninstall, Uninstalled,
};
use kzero_release::error::ReleaseError;
use kzero_release::event::Event;
use kzero_release::execute::Limits;
use kzero_release::interrupt::Interrupt;
use kzero_release::render::{Render, Source, chart};
use kzero_release::revision::{Holder, Revision};
use kzero_release::storage::Storage;
use kzero_testkit::{ControlPlane, Namespace};
use serde_json::{Map, Value};

/// The control plane with a namespace in it.
pub(crate) struct World<'a> {
    pub(crate) plane: &'a ControlPlane,
    pub(crate) space: Namespace<'a>,
    pub(crate) cluster: Cluster,
    pub(crate) storage: Storage,
    pub(crate) events: RefCell<Vec<Event>>,
}

/// A chart of these files; `Chart.yaml` is added.
pub(crate) fn files(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut all = vec![(
        "Chart.yaml".to_owned(),
        "apiVersion: v2\nname: web\nversion: 0.1.0\n".to_owned(),
    )];
    all.extend(
        files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned())),
    );
    all
}

/// Renders a chart of these files with values.
pub(crate) fn render(files: Vec<(String, String)>, values: Value) -> Render {
    Box::new(move |context| {
        let files = files
            .into_iter()
            .map(|(name, text)| File {
                name,
                data: Str::from(text.as_str()),
            })
            .collect();
        let loaded = load::files(files).map_err(|error| error.to_string())?;
        let source = Source {
            chart: &loaded,
            values: values.as_object().cloned().unwrap_or_else(Map::new),
            schemas: None,
            ambient: &Still::new(1_800_000_000, 7),
            dns: false,
            all_notes: false,
        };
        chart(source, context)
    })
}

pub(crate) fn timing(seconds: u64) -> Timing {
    Timing {
        all: Budget::new(format!("test {seconds}s"), Duration::from_secs(seconds)),
        each: None,
        cleanup: Duration::from_secs(30),
    }
}

/// What tests wait for at most.
pub(crate) const LONG: u64 = 120;

impl<'a> World<'a> {
    pub(crate) async fn new(plane: &'a ControlPlane, test: &str) -> Self {
        let space = plane.namespace(test);
        let options = ConnectOptions {
            kubeconfig: Some(plane.own_kubeconfig().to_owned()),
            ..ConnectOptions::default()
        };
        let cluster = resolve(&options)
            .unwrap()
            .connect(Arc::new(|_| {}))
            .await
            .unwrap();
        let storage = Storage::secrets(cluster.clone(), space.name());
        Self {
            plane,
            space,
            cluster,
            storage,
            events: RefCell::default(),
        }
    }

    /// Does something with an engine of this namespace.
    pub(crate) async fn with<T>(
        &self,
        interrupt: Interrupt,
        mode: ApplyMode,
        work: impl AsyncFnOnce(&Engine<'_>) -> T,
    ) -> T {
        let listener = |event: Event| self.events.borrow_mut().push(event);
        let engine = Engine {
            cluster: self.cluster.clone(),
            storage: self.storage.clone(),
            holder: Holder::current("here", 1, "test"),
            is_alive: &|_| None,
            listener: &listener,
            interrupt,
            mode,
            limits: Limits::default(),
        };
        work(&engine).await
    }

    pub(crate) async fn deploy(
        &self,
        files: &[(&str, &str)],
        values: Value,
        options: Options,
    ) -> Result<Deployed, ReleaseError> {
        let deploy = Deploy {
            name: "web".to_owned(),
            options,
            render: render(self::files(files), values),
            timing: timing(LONG),
        };
        self.with(Interrupt::never(), ApplyMode::Live, async |engine| {
            engine.deploy(deploy).await
        })
        .await
    }

    pub(crate) async fn rollback(&self, revision: i64) -> Result<Deployed, ReleaseError> {
        let rollback = Rollback {
            name: "web".to_owned(),
            to: Goal::Revision(revision),
            history_max: 10,
            ..Rollback::default()
        };
        self.with(Interrupt::never(), ApplyMode::Live, async |engine| {
            engine.rollback(rollback, &timing(LONG)).await
        })
        .await
    }

    pub(crate) async fn uninstall(
        &self,
        uninstall: Uninstall,
    ) -> Result<Uninstalled, ReleaseError> {
        let uninstall = Uninstall {
            name: "web".to_owned(),
            ..uninstall
        };
        self.with(Interrupt::never(), ApplyMode::Live, async |engine| {
            engine.uninstall(uninstall, &timing(LONG)).await
        })
        .await
    }

    /// Status and description by number.
    pub(crate) async fn statuses(&self) -> BTreeMap<i64, String> {
        let history = self
            .storage
            .history("web", &timing(LONG).all)
            .await
            .unwrap();
        history
            .entries()
            .iter()
            .map(|entry| (entry.version(), entry.status().to_string()))
            .collect()
    }

    pub(crate) async fn revision(&self, number: i64) -> Revision {
        self.storage
            .get("web", number, &timing(LONG).all)
            .await
            .unwrap()
    }

    /// The path of something in the namespace, in a group and version.
    pub(crate) fn path(&self, group: &str, rest: &str) -> String {
        let root = if group.contains('/') { "apis" } else { "api" };
        self.space.path(&format!("{root}/{group}"), rest)
    }

    /// A live object.
    pub(crate) fn get(&self, group: &str, rest: &str) -> Option<Value> {
        self.plane.get(&self.path(group, rest))
    }

    /// All warnings so far.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let texts = |event: &Event| match event {
            Event::Warning(text) => Some(text.clone()),
            _ => None,
        };
        self.events.borrow().iter().filter_map(texts).collect()
    }

    /// States that were told of what is waited for.
    pub(crate) fn progress(&self) -> Vec<String> {
        let texts = |event: &Event| match event {
            Event::Progress { object, text } => Some(format!("{object}: {text}")),
            _ => None,
        };
        self.events.borrow().iter().filter_map(texts).collect()
    }

    /// What was begun, in order.
    pub(crate) fn begun(&self) -> Vec<String> {
        let texts = |event: &Event| match event {
            Event::Began { what } => Some(what.clone()),
            _ => None,
        };
        self.events.borrow().iter().filter_map(texts).collect()
    }
}
