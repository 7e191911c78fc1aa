//! `kzero remember` and `kzero forget`: memory mended by hand, or taken over from another tool.

mod import;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kzero_cluster::{Budget, Cluster, ErrorClass};
use kzero_profile::{RunMode, StepRef};

use super::app::{App, runtime};
use super::args::{ForgetArgs, MemoryFlags, RememberArgs};
use super::run::{Signals, interrupted, new_run_id};
use crate::event::{Bus, Level, Mode};
use crate::exit::Failure;
use crate::report::RunLines;
use crate::state::keeper::now;
use crate::state::lock::{Holder, LockError, RunLock};
use crate::state::memory::{Entry, Key, Live, Memory, ObjectKind, Value};
use crate::state::place::Place;
use crate::state::store::{Known, Store, StoreError};
use crate::steps::ClusterDoor;
use crate::stop::Stop;

/// How long reading and writing may take.
const TIME: Duration = Duration::from_secs(60);

/// Remembers what is given, or what another tool has.
///
/// # Errors
///
/// A reference or value is wrong (exit 1), an object is not there (exit 2), memory cannot be written (exit 3), a run is going
/// on (exit 5).
pub(super) fn remember(app: &App, arguments: &RememberArgs) -> Result<(), Failure> {
    let values = arguments
        .values
        .iter()
        .map(|text| parse_value(text))
        .collect::<Result<Vec<_>, _>>()
        .map_err(Failure::Config)?;
    change(app, &arguments.how, "remember", async |desk| {
        let mut found = Vec::new();
        for (key, value) in &values {
            found.push((key.clone(), *value, desk.live(key).await?));
        }
        if let Some(tool) = arguments.import {
            found.extend(import::read(desk, tool, &arguments.namespaces).await?);
        }
        desk.remember(&found).await
    })
}

/// Forgets what is given.
///
/// # Errors
///
/// As [`remember`].
pub(super) fn forget(app: &App, arguments: &ForgetArgs) -> Result<(), Failure> {
    let keys = arguments
        .references
        .iter()
        .map(|text| parse_key(text))
        .collect::<Result<Vec<_>, _>>()
        .map_err(Failure::Config)?;
    change(app, &arguments.how, "forget", async |desk| {
        desk.forget(&keys).await
    })
}

/// What a change of memory works with.
struct Desk<'a> {
    cluster: &'a Cluster,
    store: Store<'a>,
    bus: &'a Bus,
    mode: Mode,
    by: &'a str,
    run: &'a str,
    budget: Budget,
}

/// Opens the doors, holds the lock while `work` is done.
fn change(
    app: &App,
    how: &MemoryFlags,
    command: &'static str,
    work: impl AsyncFnOnce(&Desk<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let profile = app.load(how.dry_run)?;
    let mode = match profile.run.mode {
        RunMode::DryRun => Mode::DryRun,
        RunMode::Live => Mode::Live,
    };
    let resolved = app
        .resolve(Some(&profile))
        .map_err(|error| Failure::Cluster(format!("kubernetes target: {error}")))?;
    let place = Place::new(&profile, &app.environment, resolved.target());
    let run = new_run_id();
    app.output.set_run_id(Arc::clone(&run));
    let lines = Arc::new(RunLines::new(app.output.clone()));
    let bus = Arc::new(Bus::new(Arc::clone(&run), mode, vec![lines]));
    let door = ClusterDoor::new(resolved, Arc::clone(&bus));
    let runtime = runtime()?;
    let result = runtime.block_on(watched(async |stop: &Stop| {
        let cluster = stop.race(door.get()).await.map_err(interrupted)?;
        let cluster = cluster.map_err(|error| Failure::Cluster(error.to_string()))?;
        let holder = Holder {
            by: place.by.clone(),
            pid: std::process::id(),
            run: run.to_string(),
            command: command.to_owned(),
        };
        let lock = match mode {
            Mode::DryRun => None,
            Mode::Live => {
                let taking = RunLock::take(
                    &place,
                    holder,
                    Ok(cluster.clone()),
                    how.wait_lock,
                    stop,
                    &bus,
                );
                Some(taking.await.map_err(|error| match error {
                    LockError::Held(text) => Failure::Locked(text),
                    LockError::Stopped(reason) => interrupted(reason),
                })?)
            }
        };
        let desk = Desk {
            cluster: &cluster,
            store: Store::new(
                &place,
                Ok(cluster.clone()),
                Box::new(|level, text| bus.note(level, text)),
            ),
            bus: &bus,
            mode,
            by: &place.by,
            run: &run,
            budget: Budget::new(format!("{command} 1m0s"), TIME),
        };
        let result = stop
            .race_call(work(&desk))
            .await
            .map_err(interrupted)
            .and_then(|result| result);
        if let Some(lock) = lock {
            lock.release().await;
        }
        result
    }));
    runtime.shutdown_background();
    result
}

/// Does the work beside the signals that may stop it.
async fn watched(work: impl AsyncFnOnce(&Stop) -> Result<(), Failure>) -> Result<(), Failure> {
    let stop = Stop::default();
    let mut signals = Signals::new()
        .map_err(|error| Failure::Config(format!("cannot watch for signals: {error}")))?;
    tokio::select! {
        biased;
        never = signals.watch(&stop) => match never {},
        result = work(&stop) => result,
    }
}

fn refused(error: StoreError) -> Failure {
    Failure::Aborted {
        text: error.text,
        failed_step: None,
    }
}

impl Desk<'_> {
    fn say(&self, level: Level, text: String) {
        self.bus.note(level, text);
    }

    /// `remember` in live mode, `would remember` in dry-run.
    fn verb(&self, verb: &str) -> String {
        match self.mode {
            Mode::Live => verb.to_owned(),
            Mode::DryRun => format!("would {verb}"),
        }
    }

    /// An object as it is.
    async fn live(&self, key: &Key) -> Result<Live, Failure> {
        let absent = || {
            Failure::Cluster(format!(
                "{key}: there is no such object, and only what is there can be remembered"
            ))
        };
        match key.workload() {
            Some(workload) => match self.cluster.size(&workload, &self.budget).await {
                Ok(size) => Ok(size.into()),
                Err(error) if error.class() == ErrorClass::NotFound => Err(absent()),
                Err(error) => Err(Failure::Cluster(error.to_string())),
            },
            None => {
                let found = self
                    .cluster
                    .cron_job(&key.namespace, &key.name, &self.budget);
                match found.await {
                    Ok(Some(state)) => Ok(state.into()),
                    Ok(None) => Err(absent()),
                    Err(error) => Err(Failure::Cluster(error.to_string())),
                }
            }
        }
    }

    async fn known(&self) -> Result<Known, Failure> {
        self.store.read(&self.budget).await.map_err(refused)
    }

    async fn remember(&self, found: &[(Key, Value, Live)]) -> Result<(), Failure> {
        let mut known = self.known().await?;
        for (key, value, live) in found {
            let before = known.memory().get(key).filter(|entry| entry.is_of(live));
            let before = before.map_or_else(String::new, |entry| format!(", was {}", entry.value));
            let verb = self.verb("remember");
            self.say(
                Level::Info,
                format!("{verb} {key}: {value} (live {}{before})", live.value),
            );
            if !live.value.is_parked() {
                let text = format!(
                    "{key} is not parked: up leaves it as it is, and the next down remembers what it then finds"
                );
                self.say(Level::Warn, text);
            }
        }
        if self.mode == Mode::DryRun {
            return Ok(());
        }
        let at = now();
        let edit = |memory: &mut Memory| {
            for (key, value, live) in found {
                memory.insert(key.clone(), self.entry(*value, live, at));
            }
        };
        let changed = self.store.change(&mut known, edit, &self.budget);
        changed.await.map_err(refused)
    }

    fn entry(&self, value: Value, live: &Live, at: Timestamp) -> Entry {
        Entry {
            uid: live.uid.clone(),
            value,
            at,
            run: self.run.to_owned(),
            by: self.by.to_owned(),
        }
    }

    async fn forget(&self, keys: &[Key]) -> Result<(), Failure> {
        let mut known = self.known().await?;
        for key in keys {
            match known.memory().get(key) {
                Some(entry) => {
                    let verb = self.verb("forget");
                    self.say(Level::Info, format!("{verb} {key}: {}", entry.value));
                }
                None => self.say(Level::Warn, format!("{key} is not remembered")),
            }
        }
        if self.mode == Mode::DryRun {
            return Ok(());
        }
        let edit = |memory: &mut Memory| {
            for key in keys {
                memory.remove(key);
            }
        };
        let changed = self.store.change(&mut known, edit, &self.budget);
        changed.await.map_err(refused)
    }
}

/// Reads `deployment.app/api`.
fn parse_key(text: &str) -> Result<Key, String> {
    let reference = StepRef::parse(text, &crate::steps::kind_specs())?;
    let kind = match reference.kind {
        "deployment" => ObjectKind::Deployment,
        "statefulset" => ObjectKind::StatefulSet,
        "cronjob" => ObjectKind::CronJob,
        other => {
            return Err(format!(
                "{text}: a {other} has nothing to remember\nhint: a deployment, statefulset or cronjob has"
            ));
        }
    };
    Ok(Key {
        kind,
        namespace: reference.namespace,
        name: reference.name,
    })
}

/// A size in digits, no larger than the API has it.
fn size(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|size| digits && *size <= i32::MAX as u32)
}

/// Reads `deployment.app/api=3` or `cronjob.app/nightly=true`.
fn parse_value(text: &str) -> Result<(Key, Value), String> {
    let Some((reference, value)) = text.rsplit_once('=') else {
        return Err(format!(
            "{text}: no value\nhint: deployment.NS/NAME=3, cronjob.NS/NAME=true for a suspended one"
        ));
    };
    let key = parse_key(reference)?;
    let wrong = |expected: &str| format!("{text}: {value:?} is no value, expected {expected}");
    let value = match key.kind {
        ObjectKind::Deployment | ObjectKind::StatefulSet => {
            Value::Size(size(value).ok_or_else(|| wrong("a size from 0 to 2147483647"))?)
        }
        ObjectKind::CronJob => match value {
            "true" => Value::Suspend(true),
            "false" => Value::Suspend(false),
            _ => return Err(wrong("true (suspended) or false")),
        },
    };
    Ok((key, value))
}

#[cfg(test)]
mod tests {
    use super::{parse_key, parse_value};

    #[test]
    fn references_and_values_are_read_strictly() {
        let read = |text: &str| parse_value(text).map(|(key, value)| format!("{key} {value}"));
        assert_eq!(
            read("deployment.app/api=3").unwrap(),
            "deployment.app/api 3 replicas"
        );
        assert_eq!(
            read("statefulset.app/db=0").unwrap(),
            "statefulset.app/db 0 replicas"
        );
        assert_eq!(
            read("cronjob.app/n=true").unwrap(),
            "cronjob.app/n suspend=true"
        );
        for wrong in [
            "deployment.app/api",
            "deployment.app/api=",
            "deployment.app/api=-1",
            "deployment.app/api=+3",
            "deployment.app/api=2147483648",
            "deployment.app/api=true",
            "cronjob.app/n=1",
            "deployment.app=3",
            "release.app/r=1",
            "Deployment.app/api=1",
            "=3",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(parse_key("exec.app/pod").unwrap_err().contains("hint: "));
    }
}
