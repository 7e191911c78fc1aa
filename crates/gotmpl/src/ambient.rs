//! What the world outside gives: time, chance and names.
//!
//! Duty: the one door through which templates see anything but their input, so that a test can hold it still.

use crate::text::Str;

/// An instant: seconds since 1970 in UTC, and nanoseconds below one second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant {
    /// Seconds since 1970-01-01T00:00:00Z; negative before.
    pub seconds: i64,
    /// Nanoseconds, below 1 000 000 000.
    pub nanos: u32,
}

/// How far a time zone is from UTC at some instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offset {
    /// Seconds east of UTC.
    pub seconds: i32,
    /// The abbreviation, such as `CEST`.
    pub name: Str,
}

/// The clock, randomness, time zones and name service of a rendering.
///
/// Every method has a harmless default but the clock and randomness.
pub trait Ambient {
    /// The time now.
    fn now(&self) -> Instant;

    /// Fills a buffer with random bytes good enough for keys and passwords.
    fn random(&self, buffer: &mut [u8]);

    /// The offset of a zone (`Europe/Berlin`, `Local`, `UTC`) at an instant; `None` if there is no such zone.
    fn zone(&self, name: &str, at: i64) -> Option<Offset> {
        let _ = at;
        match name {
            "" | "UTC" | "Local" => Some(Offset {
                seconds: 0,
                name: Str::from("UTC"),
            }),
            _ => None,
        }
    }

    /// An address of a host, for `getHostByName`; `None` if none is found or asking is not allowed.
    fn host_address(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }
}

/// An ambient that stands still: a fixed time, and random bytes that repeat from run to run. For tests and examples.
#[derive(Debug)]
pub struct Still {
    now: Instant,
    state: std::cell::Cell<u64>,
}

impl Still {
    /// A clock that shows this second, and a seed for what looks random.
    #[must_use]
    pub fn new(seconds: i64, seed: u64) -> Self {
        Self {
            now: Instant { seconds, nanos: 0 },
            state: std::cell::Cell::new(seed),
        }
    }
}

impl Ambient for Still {
    fn now(&self) -> Instant {
        self.now
    }

    fn random(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            // Splitmix: well mixed and as short as it gets; never meant for secrets.
            let state = self.state.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
            self.state.set(state);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^= mixed >> 31;
            let bytes = mixed.to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
    }
}
