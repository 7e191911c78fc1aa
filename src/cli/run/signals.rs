//! Signals that end a run.

use crate::stop::{Stop, StopReason};

/// SIGINT, SIGTERM and SIGHUP (the latter unless it was ignored, as under nohup).
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    /// Takes the signals over.
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub(crate) fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let hangup = (!hangup_is_ignored())
            .then(|| signal(SignalKind::hangup()))
            .transpose()?;
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup,
        })
    }

    /// The first signal asks to stop, the second to do so at once.
    pub(crate) async fn watch(&mut self, stop: &Stop) -> std::convert::Infallible {
        let mut before = false;
        loop {
            let hangup = async {
                match &mut self.hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            let name = tokio::select! {
                _ = self.interrupt.recv() => "SIGINT",
                _ = self.terminate.recv() => "SIGTERM",
                _ = hangup => "SIGHUP",
            };
            // Counted here, not by the reason in force: a run that its own time had stopped
            // already must still obey a second signal.
            if before {
                stop.request_at_once();
            } else {
                stop.request(StopReason::Signal(name));
                before = true;
            }
        }
    }
}

/// Whether the caller had SIGHUP ignored, by the kernel's own table.
fn hangup_is_ignored() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return false;
    };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // SIGHUP is signal 1, the lowest bit.
    mask.is_some_and(|mask| mask & 1 == 1)
}
