//! The time in a lock.

use serde::Serialize;
use serde_json::Value;

use crate::fields::{Cx, Fill};
use crate::yaml::Target;

/// When a lock was written: RFC 3339 as Go writes it, the beginning of year 1 where nothing is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Generated(String);

impl Generated {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Generated {
    fn default() -> Self {
        Self("0001-01-01T00:00:00Z".to_owned())
    }
}

impl Fill for Generated {
    const TARGET: Target = Target::Any;
    fn kind() -> String {
        "time.Time".to_owned()
    }
    fn fill(&mut self, cx: &mut Cx, value: &Value) {
        match value {
            Value::Null => {}
            Value::String(text) => match parse(text) {
                Ok(time) => self.0 = time,
                Err(error) => cx.fail(error),
            },
            _ => cx.fail("Time.UnmarshalJSON: input is not a JSON string".to_owned()),
        }
    }
}

/// What is wrong with a time.
enum Wrong<'a> {
    /// The part of the layout that does not fit, and the text from there on.
    Part(&'static str, &'a str),
    /// What is out of its range.
    Range(&'static str),
    /// Text that is left.
    Extra(&'a str),
}

/// A text in quotes as Go's errors of times have it: byte by byte.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=0x7f => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

/// Reads a time and writes it again.
fn parse(text: &str) -> Result<String, String> {
    read(text).map_err(|wrong| {
        let shown = quoted(text);
        match wrong {
            Wrong::Part(part, rest) => format!(
                "parsing time {shown} as \"2006-01-02T15:04:05Z07:00\": cannot parse {} as {}",
                quoted(rest),
                quoted(part)
            ),
            Wrong::Range(what) => format!("parsing time {shown}: {what} out of range"),
            Wrong::Extra(rest) => {
                format!("parsing time {shown}: extra text: {}", quoted(rest))
            }
        }
    })
}

/// Takes up to `most` digits, at least `least`.
fn digits<'a>(
    rest: &mut &'a str,
    least: usize,
    most: usize,
    part: &'static str,
) -> Result<u32, Wrong<'a>> {
    let count = rest
        .bytes()
        .take(most)
        .take_while(u8::is_ascii_digit)
        .count();
    let number = rest.get(..count).and_then(|digits| digits.parse().ok());
    match number {
        Some(number) if count >= least => {
            *rest = rest.get(count..).unwrap_or_default();
            Ok(number)
        }
        _ => Err(Wrong::Part(part, rest)),
    }
}

fn literal<'a>(rest: &mut &'a str, part: &'static str) -> Result<(), Wrong<'a>> {
    *rest = rest.strip_prefix(part).ok_or(Wrong::Part(part, rest))?;
    Ok(())
}

/// How many days a month has.
pub(crate) fn days(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn below<'a>(number: u32, end: u32, what: &'static str) -> Result<(), Wrong<'a>> {
    if number < end {
        Ok(())
    } else {
        Err(Wrong::Range(what))
    }
}

fn read(text: &str) -> Result<String, Wrong<'_>> {
    let mut rest = text;
    let year = digits(&mut rest, 4, 4, "2006")?;
    literal(&mut rest, "-")?;
    let month = digits(&mut rest, 2, 2, "01")?;
    if month == 0 {
        return Err(Wrong::Range("month"));
    }
    below(month, 13, "month")?;
    literal(&mut rest, "-")?;
    let day = digits(&mut rest, 2, 2, "02")?;
    literal(&mut rest, "T")?;
    let hour = digits(&mut rest, 1, 2, "15")?;
    below(hour, 24, "hour")?;
    literal(&mut rest, ":")?;
    let minute = digits(&mut rest, 2, 2, "04")?;
    below(minute, 60, "minute")?;
    literal(&mut rest, ":")?;
    let second = digits(&mut rest, 2, 2, "05")?;
    below(second, 60, "second")?;
    let mut fraction = String::new();
    if let Some(tail) = rest.strip_prefix(['.', ',']) {
        let count = tail.bytes().take_while(u8::is_ascii_digit).count();
        if let (Some(found), true) = (tail.get(..count), count > 0) {
            // Nanoseconds; what is finer is dropped.
            let found = found.get(..count.min(9)).unwrap_or(found);
            let found = found.trim_end_matches('0');
            if !found.is_empty() {
                fraction = format!(".{found}");
            }
            rest = tail.get(count..).unwrap_or_default();
        }
    }
    let zone = zone(&mut rest)?;
    if !rest.is_empty() {
        return Err(Wrong::Extra(rest));
    }
    if day == 0 || day > days(year, month) {
        return Err(Wrong::Range("day"));
    }
    Ok(format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{zone}"
    ))
}

fn zone<'a>(rest: &mut &'a str) -> Result<String, Wrong<'a>> {
    const PART: &str = "Z07:00";
    let start = *rest;
    if let Some(tail) = rest.strip_prefix('Z') {
        *rest = tail;
        return Ok("Z".to_owned());
    }
    let (Some(sign @ ("+" | "-")), Some(found)) = (start.get(..1), start.get(1..6)) else {
        return Err(Wrong::Part(PART, start));
    };
    let two = |text: Option<&str>| {
        text.filter(|text| text.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|text| text.parse::<u32>().ok())
            .ok_or(Wrong::Part(PART, start))
    };
    if found.get(2..3) != Some(":") {
        return Err(Wrong::Part(PART, start));
    }
    let (hours, minutes) = (two(found.get(..2))?, two(found.get(3..))?);
    // The bounds are inclusive in Go.
    below(hours, 25, "time zone offset hour")?;
    below(minutes, 61, "time zone offset minute")?;
    *rest = start.get(6..).unwrap_or_default();
    let offset = hours * 60 + minutes;
    Ok(if offset == 0 {
        "Z".to_owned()
    } else {
        format!("{sign}{:02}:{:02}", offset / 60, offset % 60)
    })
}
