//! Who asked a run to end, and how everything that waits learns of it.
//!
//! A [`Stop`] is read at each wait point ([`Stop::race`]); only the sources of
//! [`StopReason`] write to it. It refuses to know *what* is being stopped.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

/// Time an API call in flight may still take once a stop was asked for (S-D.8).
pub const CALL_GRACE: Duration = Duration::from_secs(5);

/// Why a run ends before its work is done, weakest first.
///
/// The order is that of S-3.28: of two reasons that are in force at the same
/// moment the greater one is reported.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopReason {
    /// `run.timeout` ran out; the text names budget and length.
    RunTimeout(String),
    /// The API watchdog tripped; the text says for how long nothing answered.
    Watchdog(String),
    /// Another run has taken the lock of this one; the text names its holder.
    LostLock(String),
    /// SIGINT, SIGTERM or SIGHUP arrived; the text names it.
    Signal(&'static str),
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RunTimeout(label) => write!(f, "{label} ran out"),
            Self::Watchdog(text) => f.write_str(text),
            Self::LostLock(holder) => write!(f, "lost the run lock: {holder} has taken it"),
            Self::Signal(name) => write!(f, "signal received ({name})"),
        }
    }
}

/// How far stopping has gone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct State {
    reason: Option<StopReason>,
    /// A second signal: clean-up is cut short, scripts are killed at once.
    at_once: bool,
}

/// A cloneable handle to the one stop of a run.
#[derive(Debug, Clone)]
pub struct Stop {
    state: Arc<watch::Sender<State>>,
    later: Arc<Mutex<Vec<StopReason>>>,
}

impl Default for Stop {
    fn default() -> Self {
        Self {
            state: Arc::new(watch::Sender::new(State::default())),
            later: Arc::default(),
        }
    }
}

impl Stop {
    /// Asks the run to end. The first reason stays; later ones are kept for
    /// [`Stop::take_later`].
    pub fn request(&self, reason: StopReason) {
        let mut reason = Some(reason);
        self.state.send_modify(|state| {
            if state.reason.is_none() {
                state.reason = reason.take();
            }
        });
        if let Some(reason) = reason {
            self.later
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(reason);
        }
    }

    /// Cuts clean-up short too: scripts are killed without grace (S-3.27).
    pub fn request_at_once(&self) {
        self.state.send_modify(|state| state.at_once = true);
    }

    /// The first reason, if any.
    pub fn reason(&self) -> Option<StopReason> {
        self.state.borrow().reason.clone()
    }

    /// Whether a second signal arrived.
    pub fn is_at_once(&self) -> bool {
        self.state.borrow().at_once
    }

    /// The reasons that came after the first, each returned once.
    pub fn take_later(&self) -> Vec<StopReason> {
        std::mem::take(&mut *self.later.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until a stop is asked for. Cancel-safe.
    pub async fn stopped(&self) -> StopReason {
        let mut receiver = self.state.subscribe();
        loop {
            let reason = receiver.borrow_and_update().reason.clone();
            if let Some(reason) = reason {
                return reason;
            }
            if receiver.changed().await.is_err() {
                // The sender lives as long as this handle; nothing can come any more.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until clean-up is to be cut short. Cancel-safe.
    pub async fn stopped_at_once(&self) {
        let mut receiver = self.state.subscribe();
        while !receiver.borrow_and_update().at_once {
            if receiver.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Runs a wait that may be dropped: it ends at once when a stop is asked for.
    ///
    /// # Errors
    ///
    /// The [`StopReason`] when the stop came first.
    pub async fn race<F: Future>(&self, future: F) -> Result<F::Output, StopReason> {
        tokio::select! {
            biased;
            reason = self.stopped() => Err(reason),
            output = future => Ok(output),
        }
    }

    /// Runs an API call: after a stop it may take [`CALL_GRACE`] more, so that its
    /// effect is known wherever possible.
    ///
    /// # Errors
    ///
    /// The [`StopReason`] when the call had not ended by then.
    pub async fn race_call<F: Future>(&self, future: F) -> Result<F::Output, StopReason> {
        let late = async {
            let reason = self.stopped().await;
            tokio::select! {
                () = tokio::time::sleep(CALL_GRACE) => {}
                () = self.stopped_at_once() => {}
            }
            reason
        };
        tokio::select! {
            biased;
            output = future => Ok(output),
            reason = late => Err(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Stop, StopReason};

    #[test]
    fn the_first_reason_stays_and_later_ones_are_told_once() {
        let stop = Stop::default();
        assert_eq!(stop.reason(), None);
        stop.request(StopReason::Watchdog("gone".into()));
        stop.request(StopReason::Signal("SIGTERM"));
        assert_eq!(stop.reason(), Some(StopReason::Watchdog("gone".into())));
        assert_eq!(stop.take_later(), vec![StopReason::Signal("SIGTERM")]);
        assert!(stop.take_later().is_empty());
    }

    #[test]
    fn reasons_rank_signal_over_lost_lock_over_watchdog_over_timeout() {
        // S-3.28
        assert!(StopReason::Signal("SIGINT") > StopReason::LostLock(String::new()));
        assert!(StopReason::LostLock(String::new()) > StopReason::Watchdog(String::new()));
        assert!(StopReason::Watchdog(String::new()) > StopReason::RunTimeout(String::new()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_at_once_and_a_call_after_its_grace() {
        let stop = Stop::default();
        stop.request(StopReason::Signal("SIGINT"));
        let begin = tokio::time::Instant::now();
        assert!(stop.race(std::future::pending::<()>()).await.is_err());
        assert_eq!(begin.elapsed().as_millis(), 0);
        assert!(stop.race_call(std::future::pending::<()>()).await.is_err());
        assert_eq!(begin.elapsed(), super::CALL_GRACE);
        assert_eq!(stop.race_call(async { 7 }).await, Ok(7));
    }
}
