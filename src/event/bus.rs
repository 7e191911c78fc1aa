//! Hands each event to every subscriber, in a fixed order.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::model::{Event, EventKind, Level, Mode};

/// Somebody who is told of each event, synchronously and in order.
pub trait Subscriber: Send + Sync {
    /// Takes one event. It must not block for long: the run waits for it.
    /// It must not emit events itself.
    fn event(&self, event: &Event);
}

/// The one stream of a run. Numbers and dates events; subscribers are called in
/// the order given, so nothing is lost and nothing overtakes.
pub struct Bus {
    run: Arc<str>,
    mode: Mode,
    state: Mutex<State>,
}

struct State {
    next: u64,
    subscribers: Vec<Arc<dyn Subscriber>>,
}

impl Bus {
    /// A bus for one run.
    pub fn new(run: Arc<str>, mode: Mode, subscribers: Vec<Arc<dyn Subscriber>>) -> Self {
        Self {
            run,
            mode,
            state: Mutex::new(State {
                next: 0,
                subscribers,
            }),
        }
    }

    /// Adds a subscriber, behind those that are there: it is told of what comes from now on.
    pub fn subscribe(&self, subscriber: Arc<dyn Subscriber>) {
        self.lock().subscribers.push(subscriber);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Live or dry-run.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The id of the run.
    pub fn run_id(&self) -> &str {
        &self.run
    }

    /// Numbers, dates and hands out one event.
    pub fn emit(&self, kind: EventKind) {
        // The lock is held while subscribers run: it is what keeps the order total.
        let mut state = self.lock();
        let event = Event {
            seq: state.next,
            at: jiff::Timestamp::now(),
            run: Arc::clone(&self.run),
            mode: self.mode,
            kind,
        };
        state.next += 1;
        for subscriber in &state.subscribers {
            subscriber.event(&event);
        }
    }

    /// Emits a [`EventKind::Note`].
    pub fn note(&self, level: Level, text: impl Into<String>) {
        self.emit(EventKind::Note {
            level,
            text: text.into(),
        });
    }
}
