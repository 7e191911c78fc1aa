//! What templates may learn of the world: the clock, chance, time zones and, if allowed, names.

use std::cell::RefCell;
use std::net::ToSocketAddrs;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kzero_gotmpl::{Ambient, Instant, Offset, Str};

/// The ambient of this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct System {
    /// Whether names of hosts may be looked up.
    pub dns: bool,
}

impl Ambient for System {
    fn now(&self) -> Instant {
        let now = Timestamp::now();
        let mut seconds = now.as_second();
        let mut nanos = now.subsec_nanosecond();
        if nanos < 0 {
            seconds -= 1;
            nanos += 1_000_000_000;
        }
        Instant {
            seconds,
            nanos: nanos.unsigned_abs(),
        }
    }

    fn random(&self, buffer: &mut [u8]) {
        if buffer.len() > SMALL {
            return from_kernel(buffer);
        }
        POOL.with_borrow_mut(|pool| {
            if pool.len() < buffer.len() {
                pool.resize(ROOM, 0);
                from_kernel(pool);
            }
            // What was given is gone from the pool.
            let from = pool.len() - buffer.len();
            buffer.copy_from_slice(&pool[from..]);
            pool.truncate(from);
        });
    }

    fn zone(&self, name: &str, at: i64) -> Option<Offset> {
        let zone = match name {
            "" | "UTC" => TimeZone::UTC,
            "Local" => TimeZone::system(),
            _ => TimeZone::get(name).ok()?,
        };
        let info = zone.to_offset_info(Timestamp::from_second(at).ok()?);
        Some(Offset {
            seconds: info.offset().seconds(),
            name: Str::from(info.abbreviation()),
        })
    }

    fn host_address(&self, name: &str) -> Option<String> {
        if !self.dns {
            return None;
        }
        let address = (name, 0).to_socket_addrs().ok()?.next()?;
        Some(address.ip().to_string())
    }
}

thread_local! {
    /// Random bytes in stock: one call of the system for each letter of a password would be slow.
    static POOL: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// How many random bytes are fetched at once.
const ROOM: usize = 4096;
/// Requests beyond this go past the stock.
const SMALL: usize = 256;

fn from_kernel(buffer: &mut [u8]) {
    let mut rest = buffer;
    while !rest.is_empty() {
        match rustix::rand::getrandom(&mut *rest, rustix::rand::GetRandomFlags::empty()) {
            Ok(filled) => rest = &mut rest[filled..],
            // Interrupted before anything was there.
            Err(rustix::io::Errno::INTR) => {}
            // Keys that can be guessed are worse than none.
            Err(error) => panic!("no randomness: {error}"),
        }
    }
}
