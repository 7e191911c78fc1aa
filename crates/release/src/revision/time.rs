//! Times of records.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use jiff::Zoned;
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::Offset;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

/// A moment, with the distance from UTC at which it was written down.
///
/// Displays as RFC 3339 with as many digits of a second as are needed, as Go does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    at: Timestamp,
    offset: Offset,
}

impl Time {
    /// A moment in UTC.
    #[must_use]
    pub fn utc(at: Timestamp) -> Self {
        Self {
            at,
            offset: Offset::UTC,
        }
    }

    /// The moment.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        self.at
    }

    /// How far from UTC it was written down.
    #[must_use]
    pub fn offset(&self) -> Offset {
        self.offset
    }

    /// Date and time as they stood on the clock where it was written down.
    #[must_use]
    pub fn on_the_clock(&self) -> DateTime {
        self.offset.to_datetime(self.at)
    }

    /// Reads RFC 3339. The beginning of year 1, which stands for no time in Go, is none.
    pub(super) fn parse(text: &str) -> Option<Option<Self>> {
        let pieces = Pieces::parse(text).ok()?;
        let offset = pieces.to_numeric_offset()?;
        let on_the_clock = pieces.date().to_datetime(pieces.time()?);
        let at = offset.to_timestamp(on_the_clock).ok()?;
        let is_zero = at
            == Offset::UTC
                .to_timestamp(DateTime::constant(1, 1, 1, 0, 0, 0, 0))
                .ok()?;
        Some((!is_zero).then_some(Self { at, offset }))
    }
}

impl From<&Zoned> for Time {
    fn from(zoned: &Zoned) -> Self {
        Self {
            at: zoned.timestamp(),
            offset: zoned.offset(),
        }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clock = self.on_the_clock();
        write!(f, "{}", clock.strftime("%Y-%m-%dT%H:%M:%S"))?;
        let nanoseconds = format!("{:09}", clock.subsec_nanosecond());
        let digits = nanoseconds.trim_end_matches('0');
        if !digits.is_empty() {
            write!(f, ".{digits}")?;
        }
        let minutes = self.offset.seconds() / 60;
        if minutes == 0 {
            return f.write_str("Z");
        }
        let sign = if minutes < 0 { '-' } else { '+' };
        let minutes = minutes.abs();
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A time in the text of a record: there, or an empty text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Given(pub(super) Option<Time>);

impl<'de> Deserialize<'de> for Given {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        if text.is_empty() {
            return Ok(Self(None));
        }
        match Time::parse(&text) {
            Some(time) => Ok(Self(time)),
            None => Err(D::Error::custom("not a time")),
        }
    }
}

impl Serialize for Given {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(time) => time.serialize(serializer),
            None => serializer.serialize_str(""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Time;

    #[test]
    fn times_are_written_as_go_writes_them() {
        for (text, written) in [
            (
                "2026-11-30T15:51:21.059435108Z",
                "2026-11-30T15:51:21.059435108Z",
            ),
            ("2026-11-30T15:51:21.050Z", "2026-11-30T15:51:21.05Z"),
            ("2026-11-30T15:51:21+00:00", "2026-11-30T15:51:21Z"),
            ("2026-11-30T15:51:21.1+02:00", "2026-11-30T15:51:21.1+02:00"),
            ("0999-01-02T00:30:00-03:30", "0999-01-02T00:30:00-03:30"),
        ] {
            let time = Time::parse(text).unwrap().unwrap();
            assert_eq!(time.to_string(), written);
        }
        assert_eq!(Time::parse("0001-01-01T00:00:00Z"), Some(None));
        for text in [
            "",
            "today",
            "2026-11-30",
            "2026-11-30T15:51:21",
            "2026-13-30T15:51:21Z",
        ] {
            assert_eq!(Time::parse(text), None, "{text}");
        }
    }
}
