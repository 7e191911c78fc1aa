//! Watches that are shared: one for all objects of a kind in a namespace that are waited for.
//!
//! A [`Board`] shows what its watch saw last. Who waits takes a [`Seat`] at it, by the name of an object or by who owns
//! objects, and is woken by changes of these alone. The first seat opens a board, the last one that is left closes it.
//! While a single name is asked for, only that object is watched.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::rc::Rc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use kzero_cluster::{
    ApiResource, Budget, Change, Cluster, ClusterError, ErrorClass, Selection, WaitError,
};
use serde_json::Value;
use tokio::sync::Notify;

use crate::resource::text;

/// What is asked of a board.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// The object of this name.
    Name(String),
    /// Objects whose controller has this uid.
    Owner(String),
}

/// Which objects a board is about. With a name it is the board of one object, for whoever may read no others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Place {
    path: String,
    name: Option<String>,
}

/// All boards. They live while [`Boards::drive`] is polled.
#[derive(Default)]
pub(super) struct Boards {
    open: RefCell<HashMap<Place, Rc<Board>>>,
    new: RefCell<Vec<(Place, Rc<Board>)>>,
    opened: Notify,
}

/// What the watch of a kind in a namespace shows.
struct Board {
    api: ApiResource,
    namespace: String,
    /// The only object it may show.
    only: Option<String>,
    /// Seats were taken or left.
    moved: Notify,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    objects: HashMap<String, Rc<Value>>,
    owned: HashMap<String, BTreeSet<String>>,
    /// The bells of those who wait, by what they ask for.
    seats: HashMap<Key, Vec<Rc<Notify>>>,
    /// Whether the present watch has told all that is there.
    listed: bool,
    failed: Option<ClusterError>,
}

/// A place at a board; left when dropped.
pub(super) struct Seat {
    board: Rc<Board>,
    key: Key,
    bell: Rc<Notify>,
    /// Whether what the board shows was read after the seat was taken.
    pub(super) is_fresh: bool,
}

impl Boards {
    /// Takes a seat. The bell rings when what the key asks for has changed, and when the board fails.
    pub(super) fn seat(
        &self,
        api: &ApiResource,
        namespace: &str,
        key: Key,
        bell: &Rc<Notify>,
        alone: bool,
    ) -> Seat {
        let only = match &key {
            Key::Name(name) if alone => Some(name.clone()),
            _ => None,
        };
        let place = Place {
            path: api.path(namespace, None),
            name: only.clone(),
        };
        let mut open = self.open.borrow_mut();
        let board = open.entry(place.clone()).or_insert_with(|| {
            let board = Rc::new(Board {
                api: api.clone(),
                namespace: namespace.to_owned(),
                only,
                moved: Notify::new(),
                state: RefCell::default(),
            });
            self.new.borrow_mut().push((place, Rc::clone(&board)));
            self.opened.notify_one();
            board
        });
        Seat::take(Rc::clone(board), key, Rc::clone(bell))
    }

    /// Runs the watches; never ends.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop: the watches end.
    pub(super) async fn drive(&self, cluster: &Cluster) -> Infallible {
        let _closing = Closing(self);
        let mut running = FuturesUnordered::new();
        loop {
            for (place, board) in self.new.take() {
                running.push(async move {
                    let failed = board.run(cluster).await;
                    (place, board, failed)
                });
            }
            tokio::select! {
                () = self.opened.notified() => {}
                Some((place, board, failed)) = running.next() => self.close(&place, &board, failed),
            }
        }
    }

    fn close(&self, place: &Place, board: &Board, failed: Option<ClusterError>) {
        // Who may not list will not be allowed to a moment later; anything else is worth another try.
        let stays = failed
            .as_ref()
            .is_some_and(|error| error.class() == ErrorClass::Forbidden);
        if !stays {
            self.open.borrow_mut().remove(place);
        }
        if let Some(failed) = failed {
            let mut state = board.state.borrow_mut();
            state.failed = Some(failed);
            state
                .seats
                .values()
                .flatten()
                .for_each(|bell| bell.notify_one());
        }
    }
}

/// Closes all boards when their watches end, so that none shows what is no longer kept up.
struct Closing<'b>(&'b Boards);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.open.borrow_mut().clear();
        self.0.new.borrow_mut().clear();
    }
}

impl Board {
    /// Watches as long as there are seats. Gives the error when the objects may not be read.
    async fn run(&self, cluster: &Cluster) -> Option<ClusterError> {
        let mut scope = None;
        loop {
            scope = Some(self.scope(scope.as_ref())?);
            let Some(selection) = &scope else { return None };
            self.state.borrow_mut().listed = false;
            let unlimited = Budget::unlimited();
            let mut touched = HashSet::new();
            let watch = cluster.observe_objects::<Infallible>(
                &self.api,
                &self.namespace,
                selection,
                &unlimited,
                |change| {
                    self.take(change, &mut touched);
                    ControlFlow::Continue(())
                },
            );
            tokio::select! {
                seen = watch => match seen {
                    Err(WaitError::Cluster(error)) => return Some(error),
                    Err(_) => return None,
                    Ok(never) => match never {},
                },
                () = self.is_elsewhere(selection) => {}
            }
        }
    }

    /// What has to be watched; `None` when nobody is there. A wide watch does not get narrow again.
    fn scope(&self, now: Option<&Selection>) -> Option<Selection> {
        let state = self.state.borrow();
        let mut keys = state.seats.keys();
        let first = keys.next()?;
        let narrow = match (first, keys.next()) {
            (Key::Name(name), None) => Some(name.clone()),
            _ => None,
        };
        let is_wide = now.is_some_and(|now| now.name.is_none());
        Some(Selection {
            name: self.only.clone().or(narrow.filter(|_| !is_wide)),
            labels: None,
        })
    }

    /// Ends when something else has to be watched.
    async fn is_elsewhere(&self, selection: &Selection) {
        while self.scope(Some(selection)).as_ref() == Some(selection) {
            self.moved.notified().await;
        }
    }

    fn take(&self, change: Change<Value>, touched: &mut HashSet<Key>) {
        let mut state = self.state.borrow_mut();
        match change {
            Change::Listed(objects) => {
                for name in state.objects.keys().cloned().collect::<Vec<_>>() {
                    state.remove(&name, touched);
                }
                for object in objects {
                    state.insert(object, touched);
                }
                state.listed = true;
                // Who waits for an object that is not there must hear of that as well.
                touched.extend(state.seats.keys().cloned());
            }
            Change::Set(object) => state.insert(object, touched),
            Change::Gone(object) => state.remove(text(&object, "/metadata/name"), touched),
            Change::Settled => {
                for key in touched.drain() {
                    state.ring(&key);
                }
            }
        }
    }
}

impl State {
    fn insert(&mut self, mut object: Value, touched: &mut HashSet<Key>) {
        slim(&mut object);
        let name = text(&object, "/metadata/name").to_owned();
        self.remove(&name, touched);
        if let Some(owner) = controller(&object) {
            self.owned
                .entry(owner.to_owned())
                .or_default()
                .insert(name.clone());
            touched.insert(Key::Owner(owner.to_owned()));
        }
        touched.insert(Key::Name(name.clone()));
        self.objects.insert(name, Rc::new(object));
    }

    fn remove(&mut self, name: &str, touched: &mut HashSet<Key>) {
        let Some(object) = self.objects.remove(name) else {
            return;
        };
        if let Some(owner) = controller(&object) {
            if let Some(names) = self.owned.get_mut(owner) {
                names.remove(name);
                if names.is_empty() {
                    self.owned.remove(owner);
                }
            }
            touched.insert(Key::Owner(owner.to_owned()));
        }
        touched.insert(Key::Name(name.to_owned()));
    }

    fn ring(&self, key: &Key) {
        for bell in self.seats.get(key).into_iter().flatten() {
            bell.notify_one();
        }
    }
}

impl Seat {
    fn take(board: Rc<Board>, key: Key, bell: Rc<Notify>) -> Self {
        let is_fresh = {
            let mut state = board.state.borrow_mut();
            state
                .seats
                .entry(key.clone())
                .or_default()
                .push(Rc::clone(&bell));
            !state.listed
        };
        // What is shown already may be all there will be.
        bell.notify_one();
        board.moved.notify_one();
        Self {
            board,
            key,
            bell,
            is_fresh,
        }
    }

    /// Whether everything that is there is shown.
    pub(super) fn is_listed(&self) -> bool {
        self.board.state.borrow().listed
    }

    /// Why the board shows nothing, if it cannot.
    pub(super) fn failed(&self) -> Option<ClusterError> {
        self.board.state.borrow().failed.clone()
    }

    /// Whether the board is that of a single object.
    pub(super) fn is_alone(&self) -> bool {
        self.board.only.is_some()
    }

    /// The object of the name that was asked for.
    pub(super) fn object(&self) -> Option<Rc<Value>> {
        match &self.key {
            Key::Name(name) => self.board.state.borrow().objects.get(name).cloned(),
            Key::Owner(_) => None,
        }
    }

    /// The objects of the owner that was asked for, by name.
    pub(super) fn owned(&self) -> Vec<Rc<Value>> {
        let Key::Owner(owner) = &self.key else {
            return Vec::new();
        };
        let state = self.board.state.borrow();
        let names = state.owned.get(owner).into_iter().flatten();
        names
            .filter_map(|name| state.objects.get(name).cloned())
            .collect()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        {
            let mut state = self.board.state.borrow_mut();
            if let Some(bells) = state.seats.get_mut(&self.key) {
                if let Some(at) = bells.iter().position(|bell| Rc::ptr_eq(bell, &self.bell)) {
                    bells.swap_remove(at);
                }
                if bells.is_empty() {
                    state.seats.remove(&self.key);
                }
            }
        }
        self.board.moved.notify_one();
    }
}

/// The uid of the managing controller; of an event that of the object it is about.
fn controller(object: &Value) -> Option<&str> {
    if let Some(about) = object.pointer("/involvedObject/uid") {
        return about.as_str();
    }
    object
        .pointer("/metadata/ownerReferences")?
        .as_array()?
        .iter()
        .find(|owner| owner.get("controller") == Some(&Value::Bool(true)))?
        .get("uid")?
        .as_str()
}

/// Drops what nobody looks at, since thousands of objects may be kept.
fn slim(object: &mut Value) {
    if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.remove("managedFields");
    }
    let is_pod = object.pointer("/spec/containers").is_some();
    if is_pod && let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|key, _| matches!(key.as_str(), "containers" | "initContainers"));
        for containers in spec.values_mut().filter_map(Value::as_array_mut) {
            for container in containers.iter_mut().filter_map(Value::as_object_mut) {
                container.retain(|key, _| {
                    matches!(key.as_str(), "name" | "readinessProbe" | "startupProbe")
                });
            }
        }
    }
}
