//! Writes lines from a thread of its own, so that a reader who stops reading does not stop a run.
//!
//! A pipe into a pager that nobody scrolls is full after 64 KiB; a write to it then hangs, and
//! with it every timeout and signal of a single-threaded program. Lines wait here instead, up to
//! a bound; beyond it they are dropped and counted, and the count is told once there is room.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::record::Stream;

/// Bytes that may wait.
const LIMIT: usize = 4 * 1024 * 1024;
/// How long a line waits for room while its reader still reads.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the last words to a stderr that does not move may take.
const LAST_WORDS: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<(Stream, String)>,
    bytes: usize,
    /// A line is being written.
    busy: bool,
    /// Nothing has moved for as long as a line waits.
    stalled: bool,
    lost: u64,
    /// How many lines were taken out, to see whether a reader still reads.
    moved: u64,
    closed: (bool, bool),
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// There is something to write.
    work: Condvar,
    /// Something was written.
    room: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The queue and its thread. The thread ends with the process.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    shared: Arc<Shared>,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// The system has no thread left.
    pub(super) fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("output".into())
            .spawn(move || serve(&own))?;
        Ok(Self { shared })
    }

    /// Hands a line over. One for stdout waits a moment for room, else it is dropped; the few
    /// for stderr are always kept.
    pub(super) fn send(&self, stream: Stream, text: String) {
        let mut state = self.shared.lock();
        if stream == Stream::Stderr {
            state.bytes += text.len();
            state.lines.push_back((stream, text));
            self.shared.work.notify_one();
            return;
        }
        if state.bytes + text.len() > LIMIT && !state.lines.is_empty() && !state.stalled {
            let full =
                |state: &mut State| state.bytes + text.len() > LIMIT && !state.lines.is_empty();
            let waited = self.shared.room.wait_timeout_while(state, PATIENCE, full);
            let (after, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = after;
            state.stalled = timeout.timed_out();
        }
        if state.stalled {
            state.lost += 1;
            return;
        }
        state.bytes += text.len();
        state.lines.push_back((stream, text));
        self.shared.work.notify_one();
    }

    /// How many lines were dropped, told once there is room again.
    pub(super) fn take_lost(&self) -> u64 {
        let mut state = self.shared.lock();
        if state.stalled {
            0
        } else {
            std::mem::take(&mut state.lost)
        }
    }

    /// Waits until everything is written: as long as a line goes out every `patience`, and ten
    /// times that at most. What is meant for stderr and still waits behind a stuck stdout is then
    /// written from here.
    pub(super) fn finish(&self, patience: Duration) {
        let last = Instant::now() + patience * 10;
        let mut end = Instant::now() + patience;
        let mut state = self.shared.lock();
        let mut moved = state.moved;
        while !state.lines.is_empty() || state.busy {
            if state.moved != moved {
                moved = state.moved;
                end = (Instant::now() + patience).min(last);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.shared.room.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let rest = std::mem::take(&mut state.lines);
        drop(state);
        let words = rest
            .into_iter()
            .filter(|(stream, _)| *stream == Stream::Stderr);
        let words: String = words.map(|(_, text)| text).collect();
        if words.is_empty() {
            return;
        }
        // The last words. Both streams may be one pipe that nobody reads: then this write hangs
        // too, and the process must end all the same.
        let (done, heard) = std::sync::mpsc::channel();
        let speak = move || {
            let _ = put(io::stderr().lock(), &words);
            let _ = done.send(());
        };
        if std::thread::Builder::new().spawn(speak).is_ok() {
            let _ = heard.recv_timeout(LAST_WORDS);
        }
    }
}

fn serve(shared: &Shared) {
    loop {
        let mut state = shared.lock();
        while state.lines.is_empty() {
            state = shared
                .work
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let Some((stream, text)) = state.lines.pop_front() else {
            continue;
        };
        state.bytes -= text.len();
        state.busy = true;
        let closed = state.closed;
        drop(state);
        let failed = match stream {
            Stream::Stdout => !closed.0 && put(io::stdout().lock(), &text).is_err(),
            Stream::Stderr => !closed.1 && put(io::stderr().lock(), &text).is_err(),
        };
        let mut state = shared.lock();
        state.busy = false;
        state.moved += 1;
        state.stalled = false;
        if failed {
            // S-3.29: who closed a stream wants no more of it.
            match stream {
                Stream::Stdout => state.closed.0 = true,
                Stream::Stderr => state.closed.1 = true,
            }
        }
        shared.room.notify_all();
    }
}

/// Writes and flushes.
pub(super) fn put(mut to: impl Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    to.flush()
}
