//! One wait for an object of the release.

use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

use kzero_cluster::{
    ApiResource, Budget, Expired, Judgement, WaitError, is_custom, is_unused_claim, judge,
};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Tracker;
use super::board::{Key, Seat};
use super::logs::Logs;
use super::pods::{Findings, Pods, events_of, new_events};
use super::report::Unready;
use crate::directives::FailMode;
use crate::event::Event;
use crate::plan::Item;
use crate::resource::{Kinds, Role, text};
use crate::shown::plain;

/// How long a watch that lags behind is waited for before it is asked again.
pub(super) const LAG: Duration = Duration::from_millis(250);
/// How long a controller may take to write a first status to a custom resource; one that has none by then is ready.
const FIRST_STATUS: Duration = Duration::from_secs(2);
/// How long a watch of pods may take to show the end of what has ended.
const PODS_END: Duration = Duration::from_secs(2);
/// Sentences on pods that go with the state of an object.
const NOTES: usize = 3;
/// Objects that a time-out names besides its own.
const NAMED: usize = 20;

/// Which state of an object a write has made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Written {
    uid: String,
    generation: Option<i64>,
    version: Option<u64>,
}

impl Written {
    pub(super) fn of(object: &Value) -> Self {
        Self {
            uid: text(object, "/metadata/uid").to_owned(),
            generation: object
                .pointer("/metadata/generation")
                .and_then(Value::as_i64),
            version: text(object, "/metadata/resourceVersion").parse().ok(),
        }
    }

    /// Whether an object is in this state or a later one.
    fn is_in(&self, object: &Value) -> bool {
        let seen = Self::of(object);
        if seen.uid != self.uid {
            // Another one took its name: before the write, or after it.
            return seen.version > self.version && self.version.is_some();
        }
        match (self.generation, self.version, seen.version) {
            (Some(generation), ..) => seen.generation >= Some(generation),
            (None, Some(version), Some(seen)) => seen >= version,
            _ => true,
        }
    }
}

/// What a look at the object came to.
enum Look {
    Done(Result<(), WaitError>),
    /// It goes on; without any change something is due at a time.
    Wait(Option<(Instant, Due)>),
}

impl Look {
    const WAIT: Self = Self::Wait(None);
}

/// What is due when nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// It is ready after all.
    Ready,
    /// Nothing has happened for too long.
    Idle,
    /// Another look.
    Look,
}

pub(super) struct Wait<'w, 'a> {
    tracker: &'w Tracker<'a>,
    item: &'w Item,
    budget: &'w Budget,
    bell: Rc<Notify>,
    seat: Seat,
    number: usize,
    state: String,
    /// A failure that was told and is ignored.
    ignored: String,
    seen: Option<Instant>,
    /// The version of the object and when it came.
    activity: Option<(String, Instant)>,
    idle: i64,
    was_verified: bool,
    pods: Pods,
    /// The pods of the new revision, as they were last.
    latest: Vec<Rc<Value>>,
    logs: Logs<'w>,
    /// The events of the object, where they are shown.
    events: Option<Seat>,
    told: HashSet<(String, i64)>,
}

impl Drop for Wait<'_, '_> {
    fn drop(&mut self) {
        self.tracker.unready.borrow_mut().remove(&self.number);
    }
}

impl<'w, 'a> Wait<'w, 'a> {
    pub(super) fn new(tracker: &'w Tracker<'a>, item: &'w Item, budget: &'w Budget) -> Self {
        let id = &item.resource.id;
        let bell = Rc::new(Notify::new());
        let key = Key::Name(id.name.clone());
        let seat = tracker.seat(&item.resource.api, &id.namespace, key, &bell, false);
        let number = tracker.next.get();
        tracker.next.set(number + 1);
        let state = "nothing is known of it yet".to_owned();
        tracker
            .unready
            .borrow_mut()
            .insert(number, Unready::new(&item.resource, &state));
        Self {
            tracker,
            item,
            budget,
            bell,
            seat,
            number,
            state,
            ignored: String::new(),
            seen: None,
            activity: None,
            idle: 0,
            was_verified: false,
            pods: Pods::default(),
            latest: Vec::new(),
            logs: Logs::new(item),
            events: None,
            told: HashSet::new(),
        }
    }

    pub(super) async fn run(mut self) -> Result<(), WaitError> {
        let result = self.until_done().await;
        if self.runs_to_its_end() {
            let has_ended = !matches!(result, Err(WaitError::TimedOut { .. }));
            self.finish_logs(has_ended, result.is_ok()).await;
        }
        if let Err(error) = &result {
            self.tracker.report(self.to_blame(error)).await;
        }
        result
    }

    /// What is reported on: when time is up everything that is not ready, otherwise this object.
    fn to_blame(&self, error: &WaitError) -> Vec<Unready> {
        let unready = self.tracker.unready.borrow();
        let own = unready.get(&self.number).cloned();
        let others = unready
            .iter()
            .filter(|(number, _)| {
                **number != self.number && matches!(error, WaitError::TimedOut { .. })
            })
            .map(|(_, unready)| unready.clone());
        own.into_iter().chain(others).collect()
    }

    async fn until_done(&mut self) -> Result<(), WaitError> {
        loop {
            if let Some(failed) = self.seat.failed() {
                let id = &self.item.resource.id;
                let at = (id.namespace.as_str(), id.name.as_str());
                let api = &self.item.resource.api;
                self.seat = self
                    .tracker
                    .other_seat(&self.seat, failed, api, at, &self.bell)?;
            }
            let due = match self.look().await {
                Look::Done(result) => return result,
                Look::Wait(due) => due,
            };
            let budget = match due {
                Some((at, _)) => self
                    .budget
                    .child("next look", at.saturating_duration_since(Instant::now())),
                None => self.budget.clone(),
            };
            if self.rest(&budget).await.is_ok() {
                continue;
            }
            match due {
                Some((_, due)) if !self.budget.expired() => match due {
                    Due::Ready => return Ok(()),
                    Due::Idle => self.grow_idle()?,
                    Due::Look => {}
                },
                _ => return Err(self.timed_out(self.budget.expiry())),
            }
        }
    }

    /// Waits for the bell; logs flow meanwhile.
    async fn rest(&mut self, budget: &Budget) -> Result<(), Expired> {
        let Self { bell, logs, .. } = self;
        budget
            .run(async {
                tokio::select! {
                    () = bell.notified() => {}
                    () = logs.flow() => {}
                }
            })
            .await
    }

    /// Looks at what the watch shows.
    async fn look(&mut self) -> Look {
        if !self.seat.is_listed() {
            return Look::WAIT;
        }
        let id = &self.item.resource.id;
        let Some(object) = self.seat.object() else {
            return self.absent().await;
        };
        let is_written = match self.tracker.written.borrow().get(id) {
            Some(written) => written.is_in(&object),
            None => true,
        };
        if !is_written {
            return Look::WAIT;
        }
        self.note_activity(&object);
        self.show_events(&object);
        match self.judge(&object).await {
            Judgement::Ready { note } => match self.first_status(&object) {
                Some(end) => Look::Wait(Some((end, Due::Ready))),
                None => self.ready(note, &object).await,
            },
            Judgement::Progressing(state) => self.progressing(state, &object),
            Judgement::Failed { why, is_final } => {
                let findings = self.look_at_pods(&object);
                let mut said = vec![why];
                said.extend(findings.notes.into_iter().take(NOTES));
                self.failed(said.join("; "), is_final)
            }
        }
    }

    /// It is not ready: its pods may say why, or that it will not be.
    fn progressing(&mut self, state: String, object: &Value) -> Look {
        let findings = self.look_at_pods(object);
        let mut said = vec![state];
        said.extend(findings.notes.into_iter().take(NOTES));
        self.progress(said.join("; "));
        let tracking = &self.item.directives.tracking;
        let (failures, last) = self.pods.failures();
        if failures > tracking.failures_allowed {
            let failure = format!(
                "{last}; failures: {failures}, allowed: {}",
                tracking.failures_allowed
            );
            if tracking.fail_mode == FailMode::FailNow {
                return Look::Done(Err(WaitError::Failed(failure)));
            }
            let last = last.to_owned();
            self.ignore(last);
        }
        let idle = match &self.activity {
            Some((_, at)) if self.is_custom() => at
                .checked_add(tracking.no_activity)
                .map(|end| (end, Due::Idle)),
            _ => None,
        };
        let again = findings.again.map(|at| (at, Due::Look));
        Look::Wait(idle.into_iter().chain(again).min())
    }

    fn look_at_pods(&mut self, object: &Value) -> Findings {
        let id = &self.item.resource.id;
        self.latest = self.pods.of(self.tracker, id, object, &self.bell);
        self.logs.look(self.tracker, &self.latest);
        let tracking = &self.item.directives.tracking;
        let seen = (object, self.latest.as_slice());
        self.pods.look(self.tracker, id, seen, tracking, &self.bell)
    }

    /// Whether it is ready when its containers have ended, so that their logs have an end as well.
    fn runs_to_its_end(&self) -> bool {
        let id = &self.item.resource.id;
        match (id.group.as_str(), id.kind.as_str()) {
            ("batch", "Job") => true,
            ("", "Pod") => self.item.is_hook(),
            _ => false,
        }
    }

    /// Shows what is left of the logs; pods that are deleted later take theirs along.
    async fn finish_logs(&mut self, has_ended: bool, has_succeeded: bool) {
        if has_ended {
            self.see_pods_end().await;
        }
        self.logs
            .finish(self.tracker, &self.latest, has_ended, has_succeeded)
            .await;
    }

    /// Waits until the watch of pods shows the end of those whose owner has ended.
    async fn see_pods_end(&mut self) {
        let budget = Budget::new("end of pods 2s", PODS_END);
        while let Some(object) = self.seat.object() {
            self.latest = self
                .pods
                .of(self.tracker, &self.item.resource.id, &object, &self.bell);
            let has_ended =
                |pod: &Rc<Value>| matches!(text(pod, "/status/phase"), "Succeeded" | "Failed");
            let is_known = !self.latest.is_empty() && self.latest.iter().all(has_ended);
            if is_known || self.rest(&budget).await.is_err() {
                return;
            }
        }
    }

    /// Tells the events of the object, where that is asked for.
    fn show_events(&mut self, object: &Value) {
        if !self.item.directives.tracking.show_events {
            return;
        }
        let id = &self.item.resource.id;
        let uid = text(object, "/metadata/uid");
        let seat = self
            .events
            .get_or_insert_with(|| events_of(self.tracker, &id.namespace, uid, &self.bell));
        for line in new_events(seat, self.tracker.since, &mut self.told) {
            (self.tracker.listener)(Event::Info(format!("{id}: {line}")));
        }
    }

    /// The object is not there: it was deleted, or the watch has not seen it yet.
    async fn absent(&mut self) -> Look {
        let id = &self.item.resource.id;
        if self.seen.is_some() {
            return Look::Done(Err(WaitError::Failed(
                "it was deleted before it was ready".to_owned(),
            )));
        }
        if !self.was_verified {
            self.was_verified = true;
            let api = &self.item.resource.api;
            let found = self
                .tracker
                .cluster
                .object(api, &id.namespace, &id.name, self.budget)
                .await;
            if let Ok(None) = found {
                return Look::Done(Err(WaitError::Failed(
                    "it is not there any more".to_owned(),
                )));
            }
            // The watch may have caught up meanwhile, and the bell with it.
            self.bell.notify_one();
        }
        Look::WAIT
    }

    async fn judge(&mut self, object: &Value) -> Judgement {
        let id = &self.item.resource.id;
        let is_hook = matches!(self.item.resource.role, Role::Hook(_));
        match (id.group.as_str(), id.kind.as_str()) {
            ("", "Pod") if is_hook && text(object, "/status/phase") != "Succeeded" => {
                match judge("", "Pod", object) {
                    Judgement::Ready { .. } => {
                        Judgement::Progressing("the pod has not ended".to_owned())
                    }
                    other => other,
                }
            }
            ("", "PersistentVolumeClaim") if is_unused_claim(object) => {
                let class = text(object, "/spec/storageClassName");
                match self.tracker.waits_for_consumer(class, self.budget).await {
                    true => Judgement::Ready { note: None },
                    false => judge("", "PersistentVolumeClaim", object),
                }
            }
            (group, kind) => judge(group, kind, object),
        }
    }

    async fn ready(&mut self, note: Option<String>, object: &Value) -> Look {
        let id = &self.item.resource.id;
        if id.kind == "CustomResourceDefinition" {
            let mut kinds = Kinds::default();
            let mut definition = object.clone();
            // Items of lists do not say what they are.
            definition["kind"] = id.kind.clone().into();
            kinds.define(&definition);
            for api in kinds.all() {
                if let Err(error) = self.served(api).await {
                    return Look::Done(Err(error));
                }
            }
        }
        if let Some(note) = note {
            (self.tracker.listener)(Event::Warning(format!("{id}: {note}")));
        }
        Look::Done(Ok(()))
    }

    /// Waits until the API server answers for a kind, which is a moment after its definition is established.
    async fn served(&mut self, api: &ApiResource) -> Result<(), WaitError> {
        while !self.tracker.cluster.answers_for(api, self.budget).await? {
            self.progress(format!(
                "the API server does not answer for {} yet",
                api.group_version
            ));
            if let Err(expired) = self.budget.sleep(LAG).await {
                return Err(self.timed_out(expired));
            }
        }
        Ok(())
    }

    fn failed(&mut self, why: String, is_final: bool) -> Look {
        let id = &self.item.resource.id;
        let text = match id.kind.as_str() {
            "Job" => format!("job {} failed: {why}", id.name),
            "Pod" if is_final => format!("pod {} failed: {why}", id.name),
            _ => why.clone(),
        };
        if self.item.directives.tracking.fail_mode == FailMode::FailNow {
            return Look::Done(Err(WaitError::Failed(text)));
        }
        self.ignore(text);
        if is_final {
            return Look::Done(Ok(()));
        }
        self.progress(why);
        Look::WAIT
    }

    /// Tells a failure that does not end the deployment, once.
    fn ignore(&mut self, failure: String) {
        if self.ignored != failure {
            let id = &self.item.resource.id;
            (self.tracker.listener)(Event::Warning(format!(
                "{id}: {failure}; its annotations say to go on"
            )));
            self.ignored = failure;
        }
    }

    fn progress(&mut self, state: String) {
        if state == self.state {
            return;
        }
        let id = &self.item.resource.id;
        self.state.clone_from(&state);
        let unready = Unready::new(&self.item.resource, &state);
        self.tracker
            .unready
            .borrow_mut()
            .insert(self.number, unready);
        (self.tracker.listener)(Event::Progress {
            object: id.to_string(),
            text: state,
        });
    }

    fn is_custom(&self) -> bool {
        is_custom(&self.item.resource.id.group)
    }

    fn note_activity(&mut self, object: &Value) {
        let now = Instant::now();
        self.seen.get_or_insert(now);
        let version = text(object, "/metadata/resourceVersion");
        if self
            .activity
            .as_ref()
            .is_none_or(|(last, _)| last != version)
        {
            self.activity = Some((version.to_owned(), now));
        }
    }

    /// Until when a custom resource without any status is given time to get one.
    fn first_status(&self, object: &Value) -> Option<Instant> {
        let is_bare = object.get("status").is_none_or(|status| {
            status.is_null() || status.as_object().is_some_and(serde_json::Map::is_empty)
        });
        let end = self.seen?.checked_add(FIRST_STATUS)?;
        (self.is_custom() && is_bare && Instant::now() < end).then_some(end)
    }

    /// Nothing has happened for too long; fails if that was once too often.
    fn grow_idle(&mut self) -> Result<(), WaitError> {
        let tracking = &self.item.directives.tracking;
        self.idle += 1;
        let failure = format!(
            "nothing has happened to it for {}s: {}",
            tracking.no_activity.as_secs(),
            self.state
        );
        if let Some((_, at)) = &mut self.activity {
            *at = Instant::now();
        }
        if self.idle <= tracking.failures_allowed {
            return Ok(());
        }
        if tracking.fail_mode == FailMode::Ignore {
            self.ignore(failure);
            return Ok(());
        }
        Err(WaitError::Failed(failure))
    }

    /// The error of a wait whose time is up: with the state of everything that was waited for by then.
    fn timed_out(&self, expired: Expired) -> WaitError {
        let unready = self.tracker.unready.borrow();
        let others: Vec<String> = unready
            .iter()
            .filter(|(number, _)| **number != self.number)
            .map(|(_, other)| format!("{} is not ready: {}", other.id, other.state))
            .collect();
        let mut lines = vec![self.state.clone()];
        lines.extend(others.iter().take(NAMED).cloned());
        if others.len() > NAMED {
            lines.push(format!("and {} more are not ready", others.len() - NAMED));
        }
        WaitError::TimedOut {
            expired,
            detail: lines.join("\n"),
        }
    }
}

impl Tracker<'_> {
    /// Whether volumes of a storage class wait for a pod that needs them. A class that cannot be read does not.
    async fn waits_for_consumer(&self, class: &str, budget: &Budget) -> bool {
        if class.is_empty() {
            return false;
        }
        if let Some(known) = self.classes.borrow().get(class) {
            return *known;
        }
        let api = ApiResource {
            group_version: "storage.k8s.io/v1".to_owned(),
            kind: "StorageClass".to_owned(),
            plural: "storageclasses".to_owned(),
            namespaced: false,
        };
        let Ok(found) = self.cluster.object(&api, "", class, budget).await else {
            return false;
        };
        let waits =
            found.is_some_and(|found| text(&found, "/volumeBindingMode") == "WaitForFirstConsumer");
        self.classes.borrow_mut().insert(class.to_owned(), waits);
        waits
    }
}

/// Why an object is still there: its finalizers and, of a namespace, what its controller says of the rest.
pub(crate) fn remaining(object: &Value) -> String {
    let finalizers: Vec<&str> = object
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let state = match (
        object.pointer("/metadata/deletionTimestamp"),
        finalizers.as_slice(),
    ) {
        (None, _) => return "it is not being deleted".to_owned(),
        (Some(_), []) => "it is being deleted".to_owned(),
        (Some(_), finalizers) => {
            format!("it is kept by finalizers {}", plain(&finalizers.join(" ")))
        }
    };
    let conditions = object
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let troubles = conditions
        .into_iter()
        .flatten()
        .filter(|condition| {
            // Those of a namespace are true where something is in the way.
            text(condition, "/type").starts_with("Namespace")
                && text(condition, "/status") == "True"
        })
        .map(|condition| plain(text(condition, "/message")).into_owned());
    let said: Vec<String> = std::iter::once(state).chain(troubles).collect();
    said.join("; ")
}

#[cfg(test)]
mod tests;
