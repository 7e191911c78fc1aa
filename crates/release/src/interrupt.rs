//! Asking an operation to end: it cleans up behind itself, under a budget of its own.

use tokio::sync::watch;

/// Hears whether the operation is to end. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Interrupt {
    receiver: watch::Receiver<Option<String>>,
    /// Keeps the channel open where nobody will ever ask.
    _sender: watch::Sender<Option<String>>,
}

/// Asks an operation to end. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Interrupter(watch::Sender<Option<String>>);

impl Interrupter {
    /// Asks. The first reason counts.
    pub fn interrupt(&self, reason: impl Into<String>) {
        let reason = reason.into();
        self.0.send_if_modified(|held| {
            let first = held.is_none();
            if first {
                *held = Some(reason);
            }
            first
        });
    }
}

impl Interrupt {
    /// One that nobody asks.
    #[must_use]
    pub fn never() -> Self {
        Self::channel().1
    }

    /// Both ends.
    #[must_use]
    pub fn channel() -> (Interrupter, Self) {
        let (sender, receiver) = watch::channel(None);
        (
            Interrupter(sender.clone()),
            Self {
                receiver,
                _sender: sender,
            },
        )
    }

    /// Why it is to end, if it is.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        self.receiver.borrow().clone()
    }

    /// Waits until it is to end.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn wait(&self) -> String {
        let mut receiver = self.receiver.clone();
        match receiver.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default(),
            // Both ends are held here, so the channel does not close.
            Err(_) => std::future::pending().await,
        }
    }
}
