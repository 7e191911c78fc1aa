//! Reading many objects: pages of 500, and a wait that follows changes.

use std::{collections::BTreeMap, ops::ControlFlow, time::Duration};

use http_body_util::BodyExt;
use kube::Resource;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    budget::Budget,
    client::{Call, Cluster, JSON},
    error::{ClusterError, ErrorClass, Operation},
    notice::Notice,
    wait::WaitError,
};

/// Objects per page (S-2.19).
const PAGE: usize = 500;
/// Asks for the metadata alone.
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
/// How often a list that keeps changing under its pages is begun anew.
const RESTARTS: u32 = 5;
/// How long one watch is asked to last. Short, since a connection that died without a word is
/// noticed only when its watch should have ended.
const WATCH_SECONDS: u64 = 60;
/// Pause between two looks where watching is not possible, and after a lost watch.
const PAUSE: Duration = Duration::from_secs(1);
/// The most that one event of a watch may take. Objects have 1.5 MiB in etcd; JSON may take some times as much.
const EVENT_BYTES: usize = 32 * 1024 * 1024;

/// What an observed kind shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Change<K> {
    /// Everything that is there; what was seen before and is not among it is gone.
    Listed(Vec<K>),
    /// An object is new or has changed.
    Set(K),
    /// An object was deleted; it is as it was last.
    Gone(K),
    /// Nothing more is known for now: the moment to judge.
    Settled,
}

/// One page of a list.
#[derive(Deserialize)]
struct Page<K> {
    #[serde(default)]
    metadata: PageMeta,
    // An empty list is `null` when a server writes Go's nil.
    #[serde(default = "none")]
    items: Option<Vec<K>>,
}

fn none<K>() -> Option<Vec<K>> {
    None
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PageMeta {
    resource_version: Option<String>,
    #[serde(rename = "continue")]
    more: Option<String>,
}

/// All objects of a list at one moment.
pub(crate) struct Listed<K> {
    pub(crate) items: Vec<K>,
    pub(crate) resource_version: String,
}

/// What to follow.
#[derive(Clone)]
pub(crate) struct Follow {
    /// Words for errors; the verb is replaced as needed.
    pub(crate) operation: Operation,
    /// Path of the collection.
    pub(crate) path: String,
    /// Field and label selectors.
    pub(crate) selector: Vec<(&'static str, String)>,
    /// Path of the object when it is a single one: read in place of the list when listing is
    /// forbidden.
    pub(crate) single: Option<String>,
}

impl Cluster {
    /// Lists everything at `path`, page by page. A page that answers 410 begins the list anew.
    pub(crate) async fn list<K: DeserializeOwned>(
        &self,
        operation: &Operation,
        path: &str,
        selector: &[(&'static str, String)],
        budget: &Budget,
    ) -> Result<Listed<K>, ClusterError> {
        self.list_as(operation, path, selector, (JSON, PAGE), budget)
            .await
    }

    /// [`Cluster::list`] with fewer objects a page, for those that are large.
    pub(crate) async fn list_in_pages<K: DeserializeOwned>(
        &self,
        operation: &Operation,
        path: &str,
        selector: &[(&'static str, String)],
        page: usize,
        budget: &Budget,
    ) -> Result<Vec<K>, ClusterError> {
        let listed = self
            .list_as(operation, path, selector, (JSON, page), budget)
            .await?;
        Ok(listed.items)
    }

    /// [`Cluster::list`], reading nothing but the metadata of the objects.
    pub(crate) async fn list_metadata(
        &self,
        operation: &Operation,
        path: &str,
        selector: &[(&'static str, String)],
        budget: &Budget,
    ) -> Result<Vec<Value>, ClusterError> {
        let listed = self
            .list_as(operation, path, selector, (METADATA, PAGE), budget)
            .await?;
        Ok(listed.items)
    }

    async fn list_as<K: DeserializeOwned>(
        &self,
        operation: &Operation,
        path: &str,
        selector: &[(&'static str, String)],
        (accept, limit): (&'static str, usize),
        budget: &Budget,
    ) -> Result<Listed<K>, ClusterError> {
        let operation = operation.with_verb("list");
        let mut restarts = 0;
        let mut items = Vec::new();
        let mut more: Option<String> = None;
        loop {
            let mut call = Call::get(operation.clone(), path).query("limit", limit.to_string());
            call.query.extend(selector.iter().cloned());
            call.accept = accept;
            if let Some(token) = &more {
                call = call.query("continue", token.clone());
            }
            let page: Page<K> = match self.call_json(&call, budget).await {
                Ok(page) => page,
                Err(error)
                    if error.class() == ErrorClass::Gone
                        && more.is_some()
                        && restarts < RESTARTS =>
                {
                    restarts += 1;
                    items.clear();
                    more = None;
                    continue;
                }
                Err(error) => return Err(error),
            };
            items.extend(page.items.unwrap_or_default());
            more = page.metadata.more.filter(|token| !token.is_empty());
            if more.is_none() {
                return Ok(Listed {
                    items,
                    resource_version: page.metadata.resource_version.unwrap_or_default(),
                });
            }
        }
    }

    /// Shows the objects to `check` whenever they change, until it breaks. As [`Cluster::observe`] otherwise.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub(crate) async fn follow<K, T>(
        &self,
        what: &Follow,
        budget: &Budget,
        mut check: impl FnMut(&BTreeMap<String, K>) -> ControlFlow<T>,
    ) -> Result<T, WaitError>
    where
        K: Resource + DeserializeOwned,
    {
        let mut objects: BTreeMap<String, K> = BTreeMap::new();
        self.observe(what, budget, |change| {
            match change {
                Change::Listed(all) => {
                    objects = all
                        .into_iter()
                        .map(|object| (key(&object), object))
                        .collect();
                }
                Change::Set(object) => {
                    objects.insert(key(&object), object);
                }
                Change::Gone(object) => {
                    objects.remove(&key(&object));
                }
                Change::Settled => return check(&objects),
            }
            ControlFlow::Continue(())
        })
        .await
    }

    /// Tells `see` what is there and what changes, until it breaks.
    ///
    /// Lists, then watches; a watch that ends is begun anew with a list. Where watching is
    /// forbidden the list is read each second, where listing is forbidden the single object.
    /// Failures that pass are waited out until the budget ends, each reported once.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub(crate) async fn observe<K, T>(
        &self,
        what: &Follow,
        budget: &Budget,
        mut see: impl FnMut(Change<K>) -> ControlFlow<T>,
    ) -> Result<T, WaitError>
    where
        K: DeserializeOwned,
    {
        let mut access = Access::Watch;
        let mut interrupted: Option<String> = None;
        loop {
            let seen = match access {
                Access::Single => self.read_single::<K>(what, budget).await,
                _ => {
                    self.list::<K>(&what.operation, &what.path, &what.selector, budget)
                        .await
                }
            };
            let listed = match seen {
                Ok(listed) => listed,
                Err(error)
                    if error.class() == ErrorClass::Forbidden
                        && access != Access::Single
                        && what.single.is_some() =>
                {
                    access = Access::Single;
                    continue;
                }
                Err(error) if passes(&error) => {
                    if let Some(expired) = budget.expired().then(|| budget.expiry()) {
                        return Err(WaitError::timed_out(
                            expired,
                            interrupted.unwrap_or_default(),
                        ));
                    }
                    self.interrupted(what, &mut interrupted, &error);
                    pause(budget, interrupted.as_deref()).await?;
                    continue;
                }
                Err(error) => return Err(WaitError::Cluster(error)),
            };
            interrupted = None;
            for change in [Change::Listed(listed.items), Change::Settled] {
                if let ControlFlow::Break(done) = see(change) {
                    return Ok(done);
                }
            }
            if access != Access::Watch {
                pause(budget, None).await?;
                continue;
            }
            let began = Instant::now();
            match self
                .watch(what, listed.resource_version, budget, &mut see)
                .await
            {
                Ok(ControlFlow::Break(done)) => return Ok(done),
                // One that has lasted has ended as it should: what happens now must not wait.
                Ok(ControlFlow::Continue(())) if began.elapsed() >= PAUSE => {}
                Ok(ControlFlow::Continue(())) => pause(budget, None).await?,
                Err(error) if error.class() == ErrorClass::Forbidden => {
                    access = Access::List;
                    pause(budget, None).await?;
                }
                Err(error) if passes(&error) => {
                    // A request that the budget's end has cut off is no news.
                    if error.class() != ErrorClass::Gone && !budget.expired() {
                        self.interrupted(what, &mut interrupted, &error);
                    }
                    pause(budget, interrupted.as_deref()).await?;
                }
                Err(error) => return Err(WaitError::Cluster(error)),
            }
        }
    }

    fn interrupted(&self, what: &Follow, last: &mut Option<String>, error: &ClusterError) {
        let reason = error.to_string();
        if last.as_deref() != Some(&reason) {
            self.notify(Notice::WaitInterrupted {
                object: what.operation.object.clone(),
                reason: reason.clone(),
            });
        }
        *last = Some(reason);
    }

    async fn read_single<K: DeserializeOwned>(
        &self,
        what: &Follow,
        budget: &Budget,
    ) -> Result<Listed<K>, ClusterError> {
        let path = what.single.as_deref().unwrap_or(&what.path);
        let call = Call::get(what.operation.with_verb("get"), path);
        let found: Option<K> = self.call_optional(&call, budget).await?;
        Ok(Listed {
            items: found.into_iter().collect(),
            resource_version: String::new(),
        })
    }

    /// Watches once. `Continue` when the watch ended as it may.
    async fn watch<K, T>(
        &self,
        what: &Follow,
        resource_version: String,
        budget: &Budget,
        see: &mut impl FnMut(Change<K>) -> ControlFlow<T>,
    ) -> Result<ControlFlow<T>, ClusterError>
    where
        K: DeserializeOwned,
    {
        let operation = what.operation.with_verb("watch");
        let mut call = Call::get(operation.clone(), what.path.as_str())
            .query("watch", "true")
            .query("resourceVersion", resource_version)
            .query("timeoutSeconds", WATCH_SECONDS.to_string());
        call.query.extend(what.selector.iter().cloned());
        let (response, _) = self.exchange(&call, budget).await?;
        // A watch that is silent beyond its own end has lost its connection.
        let limit = budget.child("watch", Duration::from_secs(WATCH_SECONDS + 10));
        let mut body = response.into_body();
        let mut buffer: Vec<u8> = Vec::new();
        loop {
            let frame = match limit.run(body.frame()).await {
                Err(_) | Ok(None) => return Ok(ControlFlow::Continue(())),
                Ok(Some(Err(error))) => return Err(self.transport(&operation, &error)),
                Ok(Some(Ok(frame))) => frame,
            };
            let Ok(data) = frame.into_data() else {
                continue;
            };
            buffer.extend_from_slice(&data);
            if buffer.len() > EVENT_BYTES {
                return Err(ClusterError::unreadable(
                    &operation,
                    "an event of a watch is larger than any object may be",
                ));
            }
            let mut changed = false;
            let mut read = 0;
            while let Some(length) = line_length(&buffer, read) {
                let line = buffer.get(read..read + length).unwrap_or_default();
                read += length;
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                let Some(change) = event(&operation, line)? else {
                    continue;
                };
                changed = true;
                if let ControlFlow::Break(done) = see(change) {
                    return Ok(ControlFlow::Break(done));
                }
            }
            buffer.drain(..read);
            if changed && let ControlFlow::Break(done) = see(Change::Settled) {
                return Ok(ControlFlow::Break(done));
            }
        }
    }
}

/// The length of the line that begins at `from`, with its end; `None` while that has not come.
fn line_length(buffer: &[u8], from: usize) -> Option<usize> {
    let rest = buffer.get(from..)?;
    rest.iter()
        .position(|byte| *byte == b'\n')
        .map(|end| end + 1)
}

/// Whether a wait goes on after a failure. Wider than what a step retries: while waiting nothing
/// can be done twice, and a control plane that restarts answers 500 for a while. A version that is
/// gone is followed by a newer one.
pub(crate) fn passes(error: &ClusterError) -> bool {
    error.is_transient()
        || matches!(
            error.class(),
            ErrorClass::ServerError | ErrorClass::Unreachable | ErrorClass::Gone
        )
}

/// How a wait may look.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Watch,
    List,
    Single,
}

async fn pause(budget: &Budget, why: Option<&str>) -> Result<(), WaitError> {
    budget
        .sleep(PAUSE)
        .await
        .map_err(|expired| WaitError::timed_out(expired, why.unwrap_or_default().to_owned()))
}

fn key<K: Resource>(object: &K) -> String {
    let meta = object.meta();
    meta.uid
        .clone()
        .or_else(|| meta.name.clone())
        .unwrap_or_default()
}

#[derive(Deserialize)]
struct WatchLine {
    #[serde(rename = "type")]
    kind: String,
    object: Value,
}

/// Reads one watch event; `None` if it says nothing about objects.
fn event<K: DeserializeOwned>(
    operation: &Operation,
    line: &[u8],
) -> Result<Option<Change<K>>, ClusterError> {
    let event: WatchLine =
        serde_json::from_slice(line).map_err(|error| ClusterError::unreadable(operation, error))?;
    let decode = |object: Value| -> Result<K, ClusterError> {
        serde_json::from_value(object).map_err(|error| ClusterError::unreadable(operation, error))
    };
    match event.kind.as_str() {
        "ADDED" | "MODIFIED" => Ok(Some(Change::Set(decode(event.object)?))),
        "DELETED" => Ok(Some(Change::Gone(decode(event.object)?))),
        "ERROR" => {
            let code = event.object.get("code").and_then(Value::as_u64);
            let status = code
                .and_then(|code| u16::try_from(code).ok())
                .and_then(|code| http::StatusCode::from_u16(code).ok())
                .unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
            let body = serde_json::from_value(event.object).unwrap_or_default();
            Err(ClusterError::from_status(operation, status, &body))
        }
        // Bookmarks and whatever a later server may send.
        _ => Ok(None),
    }
}
