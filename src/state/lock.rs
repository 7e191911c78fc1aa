//! The lock of a run: one run of a profile at a time (S-11.14 to S-11.19).
//!
//! A Lease, or where that cannot be had a file that this host locks. A lock that others have taken stops the run; one that only cannot be renewed
//! is told and kept, for an API server that is away gives it to nobody.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::time::Duration;

use jiff::Timestamp;
use kzero_cluster::{
    Attempt, Budget, Claim, Cluster, ClusterError, ErrorClass, Holding, Lease, NotRenewed,
};
use kzero_profile::duration;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::place::{self, Place};
use crate::environment::{is_running, machine};
use crate::event::{Bus, Level};
use crate::stop::{Stop, StopReason};

/// How long a Lease holds without being renewed.
const TERM: Duration = Duration::from_secs(60);
/// How often it is renewed.
const RENEWAL: Duration = Duration::from_secs(15);
/// How often that is tried while it fails.
const AGAIN: Duration = Duration::from_secs(5);
/// Time for one exchange.
const ANSWER: Duration = Duration::from_secs(10);
/// Time for giving it back, and after a second signal (S-3.27).
const GOODBYE: Duration = Duration::from_secs(5);
const GOODBYE_AT_ONCE: Duration = Duration::from_secs(1);
/// How often a lock of others is looked at.
const LOOK: Duration = Duration::from_secs(2);
/// How often it is said that it is waited for (S-3.13).
const STILL: Duration = Duration::from_secs(30);

/// What a holder does, as annotation and in the file.
const COMMAND: &str = "kzero/command";
/// On which machine, so that a process of another one that has the same name is not looked for on this one.
const MACHINE: &str = "kzero/machine";
/// Since when.
const STARTED: &str = "kzero/started-at";

/// Who takes a lock, and for what.
#[derive(Debug, Clone)]
pub struct Holder {
    /// `user@host`.
    pub by: String,
    /// The process.
    pub pid: u32,
    /// The run.
    pub run: String,
    /// `down`, `up`, `reset`, `resume`.
    pub command: String,
}

impl Holder {
    /// `user@host/pid/run-id`.
    #[must_use]
    pub fn identity(&self) -> String {
        format!("{}/{}/{}", self.by, self.pid, self.run)
    }

    fn host(&self) -> &str {
        self.by.rsplit_once('@').map_or(&self.by, |(_, host)| host)
    }

    /// Whether the process that holds a Lease lives: known for those of this machine.
    fn is_alive(&self, holding: &Holding) -> Option<bool> {
        let (by, rest) = holding.identity.split_once('/')?;
        let (pid, _) = rest.split_once('/')?;
        let host = by.rsplit_once('@').map_or(by, |(_, host)| host);
        let machine = machine();
        let here = !machine.is_empty()
            && holding.annotations.get(MACHINE) == Some(&machine)
            && host == self.host();
        let pid = pid.parse().ok()?;
        here.then(|| is_running(pid))
    }
}

/// Why a run may not begin.
#[derive(Debug, Clone)]
pub enum LockError {
    /// Another run has the lock (exit 5).
    Held(String),
    /// A stop came first.
    Stopped(StopReason),
}

/// The lock of the run in hand.
pub struct RunLock<'a> {
    place: &'a Place,
    holder: Holder,
    cluster: Result<Cluster, String>,
    stop: &'a Stop,
    bus: &'a Bus,
    started: Timestamp,
    state: Mutex<State>,
}

enum State {
    /// The API server was not reached: what needs the lock fails or takes it late.
    Unreached,
    /// A Lease, when it was last renewed, and whether it was told that it cannot be.
    Lease {
        lease: Box<Lease>,
        renewed: Instant,
        told: bool,
    },
    /// A file of this host; closing it gives it back.
    File { _file: File },
    /// No lock can be had at all, which was told.
    None,
}

/// A lock as the file of this host tells it.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    holder: String,
    command: String,
    started_at: String,
}

impl<'a> RunLock<'a> {
    /// Takes the lock. `cluster` is an error where there is no API client.
    ///
    /// # Errors
    ///
    /// [`LockError`]: it is held by another run, after `wait` if that is given.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped, the Lease may stay until its term ends.
    pub async fn take(
        place: &'a Place,
        holder: Holder,
        cluster: Result<Cluster, String>,
        wait: Option<Duration>,
        stop: &'a Stop,
        bus: &'a Bus,
    ) -> Result<Self, LockError> {
        let lock = Self {
            place,
            holder,
            cluster,
            stop,
            bus,
            started: Timestamp::now(),
            state: Mutex::new(State::Unreached),
        };
        let begin = Instant::now();
        let mut told = begin;
        loop {
            let attempt = lock.attempt();
            let held = match stop.race_call(attempt).await.map_err(LockError::Stopped)? {
                Ok(()) => return Ok(lock),
                Err(held) => held,
            };
            let waited = begin.elapsed();
            let Some(left) = wait
                .and_then(|wait| wait.checked_sub(waited))
                .filter(|left| !left.is_zero())
            else {
                return Err(LockError::Held(held.text(wait)));
            };
            if told == begin || told.elapsed() >= STILL {
                told = Instant::now();
                let text = format!(
                    "waiting for the run lock (elapsed {}, at most {}): {}",
                    duration::format(Duration::from_secs(waited.as_secs())),
                    duration::format(wait.unwrap_or_default()),
                    held.who
                );
                bus.note(Level::Info, text);
            }
            stop.race(tokio::time::sleep(LOOK.min(left)))
                .await
                .map_err(LockError::Stopped)?;
        }
    }

    /// Tries once; whoever holds it is the error.
    async fn attempt(&self) -> Result<(), Held> {
        let mut state = self.state.lock().await;
        let cluster = match &self.cluster {
            Ok(cluster) => cluster,
            Err(error) => {
                *state = self.by_file(&format!("there is no API client: {error}"))?;
                return Ok(());
            }
        };
        *state = match self.lease(cluster).await {
            Ok(Attempt::Taken(lease)) => {
                if let Some(former) = lease.former() {
                    let text = format!(
                        "the run lock of {former} was taken over: that run is dead or its lock has ended"
                    );
                    self.bus.note(Level::Warn, text);
                }
                State::Lease {
                    lease,
                    renewed: Instant::now(),
                    told: false,
                }
            }
            Ok(Attempt::Held(holding)) => return Err(Held::lease(self.place, &holding)),
            Err(error) => match error.class() {
                ErrorClass::Forbidden | ErrorClass::NotFound => self.by_file(&error.to_string())?,
                // Preflight is next and tells it.
                _ => State::Unreached,
            },
        };
        Ok(())
    }

    async fn lease(&self, cluster: &Cluster) -> Result<Attempt, ClusterError> {
        let claim = Claim {
            namespace: self.place.namespace.clone(),
            name: self.place.object(),
            identity: self.holder.identity(),
            term: TERM,
            annotations: BTreeMap::from([
                (COMMAND.to_owned(), self.holder.command.clone()),
                (STARTED.to_owned(), self.started.to_string()),
                (MACHINE.to_owned(), machine()),
            ]),
        };
        let budget = Budget::new("run lock 10s", ANSWER);
        let is_alive = |holding: &Holding| self.holder.is_alive(holding);
        Lease::attempt(cluster, &claim, &is_alive, &budget).await
    }

    /// The lock of this host, where there can be no Lease.
    fn by_file(&self, why: &str) -> Result<State, Held> {
        let path = self.place.folder().join("lock");
        let written = Written {
            holder: self.holder.identity(),
            command: self.holder.command.clone(),
            started_at: self.started.to_string(),
        };
        match lock_file(&path, &written) {
            Ok(file) => {
                let text = format!("run lock by {} for this host alone ({why})", path.display());
                self.bus.note(Level::Warn, text);
                Ok(State::File { _file: file })
            }
            Err(FileError::Held(written)) => Err(Held::file(&path.display().to_string(), &written)),
            Err(FileError::Io(error)) => {
                let text = format!(
                    "no run lock: {why}; and {}: {error}. Nothing keeps a second run of this profile from beginning",
                    path.display()
                );
                self.bus.note(Level::Warn, text);
                Ok(State::None)
            }
        }
    }

    /// Whether the API server answered when the lock was taken.
    pub async fn has_answer(&self) -> bool {
        !matches!(&*self.state.lock().await, State::Unreached)
    }

    /// Renews the lock until it is dropped; when others have it, the run is stopped.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn keep(&self) -> Infallible {
        let mut pause = RENEWAL;
        loop {
            tokio::time::sleep(pause).await;
            pause = match self.renew().await {
                Ok(true) => RENEWAL,
                Ok(false) => AGAIN,
                Err(lost) => {
                    self.stop.request(StopReason::LostLock(lost));
                    std::future::pending::<()>().await;
                    RENEWAL
                }
            };
        }
    }

    /// What must be so before an effect begins: a lock that was not renewed for its term, say of a process that was
    /// paused, is asked for; one that could not be taken when the run began is taken now.
    ///
    /// # Errors
    ///
    /// The lock is another run's.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn check(&self) -> Result<(), LockError> {
        let (unreached, stale) = match &*self.state.lock().await {
            State::Unreached => (true, false),
            State::Lease { renewed, .. } => (false, renewed.elapsed() >= TERM),
            State::File { .. } | State::None => (false, false),
        };
        if unreached {
            self.attempt()
                .await
                .map_err(|held| LockError::Held(held.text(None)))?;
        }
        if stale && let Err(lost) = self.renew().await {
            let reason = StopReason::LostLock(lost);
            self.stop.request(reason.clone());
            return Err(LockError::Stopped(reason));
        }
        Ok(())
    }

    /// Whether it is known to be renewed; the holder to whom it was lost is the error.
    async fn renew(&self) -> Result<bool, String> {
        let mut state = self.state.lock().await;
        let State::Lease {
            lease,
            renewed,
            told,
        } = &mut *state
        else {
            return Ok(true);
        };
        let budget = Budget::new("renewal of the run lock 10s", ANSWER);
        let why = match lease.renew(&budget).await {
            Ok(()) => {
                *renewed = Instant::now();
                if std::mem::take(told) {
                    self.bus.note(Level::Info, "the run lock is renewed again");
                }
                return Ok(true);
            }
            Err(NotRenewed::Taken(holder)) => return Err(holder),
            Err(NotRenewed::Deleted) => match self.taken_again().await {
                Ok(Attempt::Taken(new)) => {
                    *lease = new;
                    *renewed = Instant::now();
                    self.bus.note(
                        Level::Warn,
                        "the Lease of the run lock was deleted by others; it is taken again",
                    );
                    return Ok(true);
                }
                Ok(Attempt::Held(holding)) => return Err(holding.identity),
                Err(why) => why,
            },
            Err(NotRenewed::Passing(why)) => why,
        };
        if !std::mem::replace(told, true) {
            let text = format!("cannot renew the run lock ({why}); the run goes on");
            self.bus.note(Level::Warn, text);
        }
        Ok(false)
    }

    async fn taken_again(&self) -> Result<Attempt, String> {
        let cluster = self.cluster.as_ref().map_err(Clone::clone)?;
        self.lease(cluster).await.map_err(|error| error.to_string())
    }

    /// Gives the lock back. What goes wrong with it is of no consequence: a Lease ends with its term, a file with the process.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn release(self) {
        if let State::Lease { lease, .. } = self.state.into_inner() {
            let time = if self.stop.is_at_once() {
                GOODBYE_AT_ONCE
            } else {
                GOODBYE
            };
            let _ = lease
                .release(&Budget::new("release of the run lock", time))
                .await;
        }
    }
}

/// A run that holds the lock, as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holds {
    /// `user@host/pid/run-id`.
    pub holder: String,
    /// What it does, if it says so.
    pub command: Option<String>,
    /// Since when, if it says so.
    pub started_at: Option<String>,
    /// Where the lock is.
    pub place: String,
}

impl Holds {
    /// The run.
    #[must_use]
    pub fn run(&self) -> &str {
        self.holder.rsplit('/').next().unwrap_or(&self.holder)
    }
}

/// Who holds the lock of a profile: by its Lease, and without a client or the right to Leases by the file of this host.
///
/// # Errors
///
/// Any [`ClusterError`] but those.
///
/// # Cancel safety
///
/// Safe to drop.
pub async fn holds(
    place: &Place,
    cluster: Option<&Cluster>,
    budget: &Budget,
) -> Result<Option<Holds>, ClusterError> {
    if let Some(cluster) = cluster {
        match Lease::look(cluster, &place.namespace, &place.object(), budget).await {
            Ok(Some(holding)) if !holding.left.is_zero() && !holding.identity.is_empty() => {
                let note = |key: &str| holding.annotations.get(key).cloned();
                return Ok(Some(Holds {
                    command: note(COMMAND),
                    started_at: note(STARTED),
                    holder: holding.identity.clone(),
                    place: format!("Lease {}/{}", place.namespace, place.object()),
                }));
            }
            Ok(_) => {}
            Err(error) if error.class() == ErrorClass::Forbidden => {}
            Err(error) => return Err(error),
        }
    }
    let path = place.folder().join("lock");
    let Ok(file) = File::open(&path) else {
        return Ok(None);
    };
    if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        return Ok(None);
    }
    let mut text = String::new();
    let read = file.take(4096).read_to_string(&mut text);
    let written: Option<Written> = read.ok().and_then(|_| serde_json::from_str(&text).ok());
    let (holder, command, started_at) = match written {
        Some(written) => (
            written.holder,
            Some(written.command),
            Some(written.started_at),
        ),
        None => ("another process of this host".to_owned(), None, None),
    };
    Ok(Some(Holds {
        holder,
        command,
        started_at,
        place: path.display().to_string(),
    }))
}

/// Who holds a lock.
struct Held {
    who: String,
}

impl Held {
    fn lease(place: &Place, holding: &Holding) -> Self {
        let note = |key: &str| holding.annotations.get(key).map_or("?", String::as_str);
        Self::new(
            &format!("Lease {}/{}", place.namespace, place.object()),
            &holding.identity,
            note(COMMAND),
            note(STARTED),
        )
    }

    fn file(path: &str, written: &Written) -> Self {
        Self::new(path, &written.holder, &written.command, &written.started_at)
    }

    fn new(place: &str, identity: &str, command: &str, started: &str) -> Self {
        let run = identity.rsplit('/').next().unwrap_or(identity);
        Self {
            who: format!("{identity} runs kzero {command} since {started} (run {run}; {place})"),
        }
    }

    fn text(&self, waited: Option<Duration>) -> String {
        let hint = match waited {
            None => "hint: wait for it with --wait-lock 10m, or look with kzero status".to_owned(),
            Some(wait) => format!(
                "hint: --wait-lock {} was not enough; kzero status shows who works",
                duration::format(wait)
            ),
        };
        format!("the profile is locked: {}\n{hint}", self.who)
    }
}

enum FileError {
    Held(Written),
    Io(std::io::Error),
}

impl From<std::io::Error> for FileError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// Locks a file and writes who has it.
fn lock_file(path: &std::path::Path, written: &Written) -> Result<File, FileError> {
    if let Some(folder) = path.parent() {
        place::make_folder(folder)?;
    }
    let mut file = place::open_private(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            file.take(4096).read_to_string(&mut text)?;
            let unknown = || Written {
                holder: "another process of this host".to_owned(),
                command: "?".to_owned(),
                started_at: "?".to_owned(),
            };
            return Err(FileError::Held(
                serde_json::from_str(&text).unwrap_or_else(|_| unknown()),
            ));
        }
        Err(TryLockError::Error(error)) => return Err(error.into()),
    }
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(
        serde_json::to_string(written)
            .map_err(std::io::Error::from)?
            .as_bytes(),
    )?;
    Ok(file)
}
