//! Times as Go prints them.

use jiff::tz::TimeZone;

use crate::revision::Time;

/// Go's zero time, which Helm prints where a time is not set.
const ZERO: &str = "0001-01-01T00:00:00Z";
const RFC_3339: &str = "2006-01-02T15:04:05Z07:00";

/// A time by a layout of Go, such as `2006-01-02`.
pub(super) fn by_layout(time: Option<Time>, layout: &str) -> String {
    let text = time.map_or(ZERO.to_owned(), |time| time.to_string());
    let read = kzero_gotmpl::Time::parse(RFC_3339, &text);
    let bytes = read.map_or(Vec::new(), |read| read.format(layout));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `Mon Nov 30 15:51:21 2026`.
pub(super) fn ansi_c(time: Option<Time>) -> String {
    by_layout(time, "Mon Jan _2 15:04:05 2006")
}

/// `2026-11-30T15:51:21Z`.
pub(super) fn rfc_3339(time: Option<Time>) -> String {
    by_layout(time, RFC_3339)
}

/// `2026-11-30 15:51:21.059435108 +0000 UTC`. The zone has a name where it is UTC or, at that moment, that of `zone`.
pub(super) fn in_full(time: Time, zone: &TimeZone) -> String {
    let numbers = by_layout(Some(time), "2006-01-02 15:04:05.999999999 -0700");
    if time.offset().is_zero() && time.to_string().ends_with('Z') {
        return format!("{numbers} UTC");
    }
    let here = zone.to_offset_info(time.timestamp());
    if here.offset() == time.offset() {
        return format!("{numbers} {}", here.abbreviation());
    }
    let offset = by_layout(Some(time), "-0700");
    format!("{numbers} {offset}")
}
