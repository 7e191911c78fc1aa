//! Objects in a namespace, and a tracker that waits for them.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kzero_cluster::{ApiResource, Budget, Cluster, ConnectOptions, WaitError, resolve};
use kzero_release::decide::{Decision, Kept};
use kzero_release::directives::Directives;
use kzero_release::event::Event;
use kzero_release::plan::Item;
use kzero_release::resource::{Document, Kinds, Lookup, Role, build};
use kzero_release::track::Tracker;
use kzero_testkit::{ControlPlane, Namespace};
use serde_json::Value;

pub(super) struct Stage<'a> {
    pub(super) plane: &'a ControlPlane,
    pub(super) space: Namespace<'a>,
    pub(super) cluster: Cluster,
    kinds: RefCell<Kinds>,
    pub(super) events: RefCell<Vec<Event>>,
}

pub(super) fn budget(seconds: u64) -> Budget {
    Budget::new(format!("test {seconds}s"), Duration::from_secs(seconds))
}

impl<'a> Stage<'a> {
    pub(super) async fn new(plane: &'a ControlPlane, test: &str) -> Self {
        Self::through(plane, test, plane.own_kubeconfig()).await
    }

    /// A stage whose tracker goes another way.
    pub(super) async fn through(plane: &'a ControlPlane, test: &str, kubeconfig: &Path) -> Self {
        let options = ConnectOptions {
            kubeconfig: Some(kubeconfig.to_owned()),
            ..ConnectOptions::default()
        };
        let cluster = resolve(&options)
            .unwrap()
            .connect(Arc::new(|_| {}))
            .await
            .unwrap();
        let kinds = Kinds::new(cluster.discovery(&budget(30)).await.unwrap());
        Self {
            plane,
            space: plane.namespace(test),
            cluster,
            kinds: RefCell::new(kinds),
            events: RefCell::default(),
        }
    }

    pub(super) fn name(&self) -> &str {
        self.space.name()
    }

    /// The object as an item of a release.
    pub(super) fn item(&self, object: &Value, role: Role) -> Item {
        self.kinds.borrow_mut().define(object);
        let document = object.to_string();
        let documents = [Document {
            text: &document,
            path: "web/templates/x.yaml",
            role,
        }];
        let kinds = self.kinds.borrow();
        let built = build(&documents, self.name(), &kinds, Lookup::Exact).unwrap();
        let resource = built.resources.into_iter().next().unwrap();
        let directives = Directives::read(&resource).unwrap();
        Item {
            resource,
            directives,
            decision: Decision::Keep(Kept::Unchanged),
            ready: false,
            restarts: None,
        }
    }

    pub(super) fn api(&self, api_version: &str, kind: &str) -> ApiResource {
        let kinds = self.kinds.borrow();
        kinds.resource(api_version, kind).cloned().unwrap()
    }

    /// Creates objects and waits for all of them at once.
    pub(super) async fn ready(
        &self,
        objects: &[Value],
        role: Role,
        seconds: u64,
    ) -> Vec<Result<(), WaitError>> {
        for object in objects {
            self.plane.apply(object);
        }
        let items: Vec<Item> = objects
            .iter()
            .map(|object| self.item(object, role))
            .collect();
        let budget = budget(seconds);
        self.track(async |tracker| {
            futures::future::join_all(items.iter().map(|item| tracker.ready(item, &budget))).await
        })
        .await
    }

    pub(super) async fn track<T>(&self, work: impl AsyncFnOnce(&Tracker<'_>) -> T) -> T {
        let listener = |event: Event| self.events.borrow_mut().push(event);
        let tracker = Tracker::new(&self.cluster, &listener);
        tracker.run(work(&tracker)).await
    }

    pub(super) fn texts(&self, pick: impl Fn(&Event) -> Option<String>) -> Vec<String> {
        self.events.borrow().iter().filter_map(pick).collect()
    }

    pub(super) fn logs(&self) -> Vec<String> {
        self.texts(|event| match event {
            Event::Log { line, .. } => Some(line.clone()),
            _ => None,
        })
    }

    pub(super) fn infos(&self) -> Vec<String> {
        self.texts(|event| match event {
            Event::Info(text) => Some(text.clone()),
            _ => None,
        })
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        self.texts(|event| match event {
            Event::Warning(text) => Some(text.clone()),
            _ => None,
        })
    }

    /// The states that were told of an object.
    pub(super) fn progress(&self, name: &str) -> Vec<String> {
        self.texts(|event| match event {
            Event::Progress { object, text } if object.ends_with(&format!("/{name}")) => {
                Some(text.clone())
            }
            _ => None,
        })
    }

    /// The lines that were told on the causes of an object.
    pub(super) fn causes(&self, name: &str) -> String {
        self.texts(|event| match event {
            Event::Cause { object, lines } if object.ends_with(&format!("/{name}")) => {
                Some(lines.join("\n"))
            }
            _ => None,
        })
        .join("\n")
    }
}
