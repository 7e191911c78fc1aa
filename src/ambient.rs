//! What templates may learn of the world: the clock, chance, time zones and, if allowed, names.

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
