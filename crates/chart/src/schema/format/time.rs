//! Formats of times.

use super::{atoi, fail, rune};
use crate::metadata::time::days;
use crate::quote::quoted;

pub(super) fn duration(text: &str) -> Result<(), String> {
    let Some(text) = text.strip_prefix('P') else {
        return fail("must start with P");
    };
    if text.is_empty() {
        return fail("nothing after P");
    }
    if let Some(weeks) = text.strip_suffix('W') {
        if weeks.is_empty() {
            return fail("no number in week");
        }
        if !weeks.bytes().all(|byte| byte.is_ascii_digit()) {
            return fail("invalid week");
        }
        return Ok(());
    }
    let all = ["YMD", "HMS"];
    for (at, part) in text.split('T').enumerate() {
        if at != 0 && part.is_empty() {
            return fail("no time elements");
        }
        let Some(units) = all.get(at) else {
            return fail("more than one T");
        };
        elements(part, units)?;
    }
    Ok(())
}

/// Numbers with units, each unit once and in its order.
fn elements(text: &str, all: &str) -> Result<(), String> {
    let mut units = all;
    let mut rest = text;
    while !rest.is_empty() {
        let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if unit.len() == rest.len() {
            return fail("missing number");
        }
        let Some(found) = unit.bytes().next() else {
            return fail("missing unit");
        };
        let found = char::from(found);
        let shown = rune(found);
        match units.find(found) {
            Some(at) => units = units.get(at + 1..).unwrap_or_default(),
            None if all.contains(found) => return Err(format!("unit {shown} out of order")),
            None => return Err(format!("invalid unit {shown}")),
        }
        rest = unit.get(1..).unwrap_or_default();
    }
    Ok(())
}

/// Go's words for a part of a date that does not fit.
fn unfit(text: &str, rest: &str, part: &str) -> String {
    format!(
        "parsing time {} as \"2006-01-02\": cannot parse {} as {}",
        quoted(text),
        quoted(rest),
        quoted(part)
    )
}

pub(super) fn date(text: &str) -> Result<(), String> {
    let mut rest = text;
    let mut numbers = [0_u32; 3];
    for (at, (part, length)) in [("2006", 4), ("01", 2), ("02", 2)].into_iter().enumerate() {
        if at > 0 {
            rest = rest
                .strip_prefix('-')
                .ok_or_else(|| unfit(text, rest, "-"))?;
        }
        let digits = rest
            .get(..length)
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let number = digits.and_then(|digits| digits.parse().ok());
        let number = number.ok_or_else(|| unfit(text, rest, part))?;
        if at == 1 && !(1..=12).contains(&number) {
            return Err(format!("parsing time {}: month out of range", quoted(text)));
        }
        if let Some(slot) = numbers.get_mut(at) {
            *slot = number;
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    if !rest.is_empty() {
        let (text, rest) = (quoted(text), quoted(rest));
        return Err(format!("parsing time {text}: extra text: {rest}"));
    }
    let [year, month, day] = numbers;
    if day == 0 || day > days(year, month) {
        return Err(format!("parsing time {}: day out of range", quoted(text)));
    }
    Ok(())
}

/// Whether two bytes of a text are colons.
fn colons(text: &str, places: &[usize]) -> bool {
    places
        .iter()
        .all(|at| text.as_bytes().get(*at) == Some(&b':'))
}

pub(super) fn time(text: &str) -> Result<(), String> {
    if text.len() < 9 {
        return fail("less than 9 characters long");
    }
    if !colons(text, &[2, 5]) {
        return fail("missing colon in correct place");
    }
    let clock = text.get(..8).unwrap_or_default();
    let mut numbers = [0_i64; 3];
    for (slot, part) in numbers.iter_mut().zip(clock.splitn(3, ':')) {
        *slot = atoi(part).or_else(|_| fail("invalid hour/min/sec"))?;
        if *slot < 0 {
            return fail("non-positive hour/min/sec");
        }
    }
    let [hour, minute, second] = numbers;
    if hour > 23 || minute > 59 || second > 60 {
        return fail("hour/min/sec out of range");
    }
    let mut rest = text.get(8..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() == fraction.len() {
            return fail("no digits in second fraction");
        }
    }
    let offset = offset(rest)?;
    // Seconds that leap do so at midnight of UTC.
    let minutes = (hour * 60 + minute + offset).rem_euclid(24 * 60);
    if second == 60 && minutes != 23 * 60 + 59 {
        return fail("invalid leap second");
    }
    Ok(())
}

/// What leads to UTC, in minutes.
fn offset(text: &str) -> Result<i64, String> {
    if matches!(text, "z" | "Z") {
        return Ok(0);
    }
    if text.len() != 6 {
        return fail("offset must be 6 characters long");
    }
    let sign = match text.as_bytes().first() {
        Some(b'+') => -1,
        Some(b'-') => 1,
        _ => return fail("offset must begin with plus/minus"),
    };
    if !colons(text, &[3]) {
        return fail("missing colon in offset in correct place");
    }
    let mut numbers = [0_i64; 2];
    let parts = text.get(1..).unwrap_or_default().splitn(2, ':');
    for (slot, part) in numbers.iter_mut().zip(parts) {
        *slot = atoi(part).or_else(|_| fail("invalid hour/min in offset"))?;
        if *slot < 0 {
            return fail("non-positive hour/min in offset");
        }
    }
    let [hours, minutes] = numbers;
    if hours > 23 || minutes > 59 {
        return fail("hour/min in offset out of range");
    }
    Ok(sign * (hours * 60 + minutes))
}

pub(super) fn date_time(text: &str) -> Result<(), String> {
    if text.len() < 20 {
        return fail("less than 20 characters long");
    }
    if !matches!(text.as_bytes().get(10), Some(b't' | b'T')) {
        return fail("11th character must be t or T");
    }
    let (day, clock) = (text.get(..10), text.get(11..));
    date(day.unwrap_or_default()).map_err(|error| format!("invalid date element: {error}"))?;
    time(clock.unwrap_or_default()).map_err(|error| format!("invalid time element: {error}"))
}

pub(super) fn period(text: &str) -> Result<(), String> {
    let Some((start, end)) = text.split_once('/') else {
        return fail("missing slash");
    };
    let named = |result: Result<(), String>, name: &str| {
        result.map_err(|error| format!("invalid {name}: {error}"))
    };
    if start.starts_with('P') {
        named(duration(start), "start duration")?;
        return named(date_time(end), "end date-time");
    }
    named(date_time(start), "start date-time")?;
    if end.starts_with('P') {
        named(duration(end), "end duration")
    } else {
        named(date_time(end), "end date-time")
    }
}
