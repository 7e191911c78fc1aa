//! Go's times and durations: layouts, parsing, printing.
//!
//! Duty: the calendar and the texts of Go's `time` package. Zones other than UTC and fixed offsets come from the
//! [`Ambient`](crate::Ambient).

use crate::number::quoted;
use crate::text::Str;

/// A point in time, seen from some place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Seconds since 1970 in UTC.
    pub(crate) seconds: i64,
    pub(crate) nanos: u32,
    /// Seconds east of UTC.
    pub(crate) offset: i32,
    /// The zone's abbreviation; empty if it has none.
    pub(crate) zone: Str,
    pub(crate) is_utc: bool,
}

/// Go's zero time: the first of January of the year 1, in UTC.
pub(crate) const ZERO_SECONDS: i64 = -62_135_596_800;

/// Date and time of day in some zone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: u32,
    pub(crate) day: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    pub(crate) second: u32,
    /// 0 is Sunday.
    pub(crate) weekday: u32,
    /// From 1.
    pub(crate) yearday: u32,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// The name of a month from 1.
pub(crate) fn month_name(month: u32) -> &'static str {
    MONTHS
        .get(month.wrapping_sub(1) as usize)
        .copied()
        .unwrap_or("")
}

/// The name of a day of the week from 0.
pub(crate) fn day_name(day: u32) -> &'static str {
    DAYS.get(day as usize).copied().unwrap_or("")
}

/// Days since 1970 of a date in the Gregorian calendar, extended both ways.
fn days_of(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let in_era = year.rem_euclid(400);
    let shifted = i64::from((month + 9) % 12);
    let in_year = (153 * shifted + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719_468
}

fn date_of(days: i64) -> (i64, u32, u32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let in_era = shifted.rem_euclid(146_097);
    let year = (in_era - in_era / 1460 + in_era / 36_524 - in_era / 146_096) / 365;
    let in_year = in_era - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let day = in_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (
        year + era * 400 + i64::from(month <= 2),
        month as u32,
        day as u32,
    )
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(month: u32, year: i64) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

impl Moment {
    pub(crate) fn utc(seconds: i64, nanos: u32) -> Self {
        Self {
            seconds,
            nanos,
            offset: 0,
            zone: Str::from("UTC"),
            is_utc: true,
        }
    }

    pub(crate) fn zero() -> Self {
        Self::utc(ZERO_SECONDS, 0)
    }

    pub(crate) fn civil(&self) -> Civil {
        let local = self.seconds.saturating_add(i64::from(self.offset));
        let days = local.div_euclid(86_400);
        let rest = local.rem_euclid(86_400) as u32;
        let (year, month, day) = date_of(days);
        Civil {
            year,
            month,
            day,
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
            weekday: (days + 4).rem_euclid(7) as u32,
            yearday: (days - days_of(year, 1, 1) + 1) as u32,
        }
    }

    /// The moment some nanoseconds later.
    pub(crate) fn plus(&self, nanos: i64) -> Self {
        let total = i128::from(self.nanos) + i128::from(nanos);
        let seconds = total.div_euclid(1_000_000_000) as i64;
        let rest = total.rem_euclid(1_000_000_000) as u32;
        Self {
            seconds: self.seconds.saturating_add(seconds),
            nanos: rest,
            ..self.clone()
        }
    }

    /// The same time of day some years, months and days later; days beyond a month's end run on.
    pub(crate) fn add_date(&self, years: i64, months: i64, days: i64) -> Self {
        let civil = self.civil();
        let months = i64::from(civil.month) - 1 + months.clamp(-1_000_000, 1_000_000);
        let year = civil.year + years.clamp(-1_000_000, 1_000_000) + months.div_euclid(12);
        let month = months.rem_euclid(12) as u32 + 1;
        let first = days_of(year, month, 1);
        let day = i64::from(civil.day) - 1 + days.clamp(-1_000_000_000, 1_000_000_000);
        let local = self.seconds.saturating_add(i64::from(self.offset));
        let time = local.rem_euclid(86_400);
        let seconds = (first + day) * 86_400 + time - i64::from(self.offset);
        Self {
            seconds,
            ..self.clone()
        }
    }

    /// Nanoseconds from another moment to this one, as far as a duration reaches.
    pub(crate) fn since(&self, other: &Self) -> i64 {
        let seconds = i128::from(self.seconds) - i128::from(other.seconds);
        let nanos = seconds * 1_000_000_000 + i128::from(self.nanos) - i128::from(other.nanos);
        nanos.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    /// The moment in text by a layout.
    pub(crate) fn format(&self, layout: &[u8]) -> Vec<u8> {
        let civil = self.civil();
        let mut out = Vec::new();
        let mut rest = layout;
        while !rest.is_empty() {
            let (plain, found) = next_element(rest);
            out.extend_from_slice(&rest[..plain]);
            let Some((element, width)) = found else {
                break;
            };
            self.append(&mut out, &civil, element);
            rest = &rest[plain + width..];
        }
        out
    }

    fn append(&self, out: &mut Vec<u8>, civil: &Civil, element: Element) {
        let text = match element {
            Element::Year if civil.year < 0 => format!("-{:04}", -civil.year),
            Element::Year => format!("{:04}", civil.year),
            Element::ShortYear => format!("{:02}", civil.year.rem_euclid(100)),
            Element::Month => month_name(civil.month).to_owned(),
            Element::ShortMonth => month_name(civil.month)[..3].to_owned(),
            Element::NumMonth => civil.month.to_string(),
            Element::ZeroMonth => format!("{:02}", civil.month),
            Element::Weekday => day_name(civil.weekday).to_owned(),
            Element::ShortWeekday => day_name(civil.weekday)[..3].to_owned(),
            Element::Day => civil.day.to_string(),
            Element::UnderDay => format!("{:2}", civil.day),
            Element::ZeroDay => format!("{:02}", civil.day),
            Element::UnderYearDay => format!("{:3}", civil.yearday),
            Element::ZeroYearDay => format!("{:03}", civil.yearday),
            Element::Hour => format!("{:02}", civil.hour),
            Element::Hour12 => twelve(civil.hour).to_string(),
            Element::ZeroHour12 => format!("{:02}", twelve(civil.hour)),
            Element::Minute => civil.minute.to_string(),
            Element::ZeroMinute => format!("{:02}", civil.minute),
            Element::Second => civil.second.to_string(),
            Element::ZeroSecond => format!("{:02}", civil.second),
            Element::UpperHalf => (if civil.hour >= 12 { "PM" } else { "AM" }).to_owned(),
            Element::LowerHalf => (if civil.hour >= 12 { "pm" } else { "am" }).to_owned(),
            Element::Zone => {
                if self.zone.is_empty() {
                    offset_text(self.offset, true, false, false)
                } else {
                    self.zone.to_text().into_owned()
                }
            }
            Element::Offset {
                utc,
                minutes,
                colon,
                seconds,
            } => {
                if utc && self.offset == 0 {
                    "Z".to_owned()
                } else {
                    offset_text(self.offset, minutes, colon, seconds)
                }
            }
            Element::Fraction {
                digits,
                nines,
                mark,
            } => {
                self.fraction(out, digits, nines, mark);
                return;
            }
        };
        out.extend_from_slice(text.as_bytes());
    }

    fn fraction(&self, out: &mut Vec<u8>, digits: usize, nines: bool, mark: u8) {
        let text = format!("{:09}", self.nanos);
        let mut shown = &text[..digits.min(9)];
        if nines {
            shown = shown.trim_end_matches('0');
            if shown.is_empty() {
                return;
            }
        }
        out.push(mark);
        out.extend_from_slice(shown.as_bytes());
    }

    /// What printing a time gives.
    pub(crate) fn text(&self) -> String {
        let text = self.format(b"2006-01-02 15:04:05.999999999 -0700 MST");
        String::from_utf8_lossy(&text).into_owned()
    }
}

fn twelve(hour: u32) -> u32 {
    match hour % 12 {
        0 => 12,
        hour => hour,
    }
}

fn offset_text(offset: i32, minutes: bool, colon: bool, seconds: bool) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    let total = offset.unsigned_abs();
    let (hour, minute, second) = (total / 3600, total / 60 % 60, total % 60);
    let between = if colon { ":" } else { "" };
    let mut text = format!("{sign}{hour:02}");
    if minutes {
        text.push_str(&format!("{between}{minute:02}"));
    }
    if seconds {
        text.push_str(&format!("{between}{second:02}"));
    }
    text
}

/// A part of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Year,
    ShortYear,
    Month,
    ShortMonth,
    NumMonth,
    ZeroMonth,
    Weekday,
    ShortWeekday,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    UpperHalf,
    LowerHalf,
    Zone,
    Offset {
        utc: bool,
        minutes: bool,
        colon: bool,
        seconds: bool,
    },
    Fraction {
        digits: usize,
        nines: bool,
        mark: u8,
    },
}

/// The first element of a layout: how much plain text stands before it, and its width.
fn next_element(layout: &[u8]) -> (usize, Option<(Element, usize)>) {
    for at in 0..layout.len() {
        if let Some((skip, element, width)) = element_at(layout, at) {
            return (at + skip, Some((element, width)));
        }
    }
    (layout.len(), None)
}

const fn offset(utc: bool, minutes: bool, colon: bool, seconds: bool) -> Element {
    Element::Offset {
        utc,
        minutes,
        colon,
        seconds,
    }
}

/// Layout texts that stand for something whatever follows, longer ones first.
const FIXED: &[(&[u8], Element)] = &[
    (b"January", Element::Month),
    (b"Monday", Element::Weekday),
    (b"Mon", Element::ShortWeekday),
    (b"MST", Element::Zone),
    (b"002", Element::ZeroYearDay),
    (b"01", Element::ZeroMonth),
    (b"02", Element::ZeroDay),
    (b"03", Element::ZeroHour12),
    (b"04", Element::ZeroMinute),
    (b"05", Element::ZeroSecond),
    (b"06", Element::ShortYear),
    (b"15", Element::Hour),
    (b"1", Element::NumMonth),
    (b"2006", Element::Year),
    (b"2", Element::Day),
    (b"__2", Element::UnderYearDay),
    (b"3", Element::Hour12),
    (b"4", Element::Minute),
    (b"5", Element::Second),
    (b"PM", Element::UpperHalf),
    (b"pm", Element::LowerHalf),
    (b"-07:00:00", offset(false, true, true, true)),
    (b"-070000", offset(false, true, false, true)),
    (b"-07:00", offset(false, true, true, false)),
    (b"-0700", offset(false, true, false, false)),
    (b"-07", offset(false, false, false, false)),
    (b"Z07:00:00", offset(true, true, true, true)),
    (b"Z070000", offset(true, true, false, true)),
    (b"Z07:00", offset(true, true, true, false)),
    (b"Z0700", offset(true, true, false, false)),
    (b"Z07", offset(true, false, false, false)),
];

fn element_at(layout: &[u8], at: usize) -> Option<(usize, Element, usize)> {
    let rest = &layout[at..];
    let follows = |from: usize, test: fn(&u8) -> bool| rest.get(from).is_some_and(test);
    if rest.starts_with(b"Jan") && !rest.starts_with(b"January") {
        // `Janet` is a name, not a month.
        return (!follows(3, u8::is_ascii_lowercase)).then_some((0, Element::ShortMonth, 3));
    }
    if rest.starts_with(b"_2") {
        if rest.starts_with(b"_2006") {
            return Some((1, Element::Year, 4));
        }
        return Some((0, Element::UnderDay, 2));
    }
    if matches!(rest.first(), Some(b'.' | b','))
        && let Some(&digit @ (b'0' | b'9')) = rest.get(1)
    {
        let count = rest[1..].iter().take_while(|&&byte| byte == digit).count();
        if follows(1 + count, u8::is_ascii_digit) {
            return None;
        }
        let fraction = Element::Fraction {
            digits: count,
            nines: digit == b'9',
            mark: rest[0],
        };
        return Some((0, fraction, 1 + count));
    }
    if rest.starts_with(b"Mon")
        && !rest.starts_with(b"Monday")
        && follows(3, u8::is_ascii_lowercase)
    {
        return None;
    }
    let (text, element) = FIXED.iter().find(|(text, _)| rest.starts_with(text))?;
    Some((0, *element, text.len()))
}

/// Why a text is no time, as Go tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimeError(pub(crate) String);

struct Found {
    year: i64,
    month: i64,
    day: i64,
    yearday: i64,
    hour: i64,
    minute: i64,
    second: i64,
    nanos: u32,
    afternoon: Option<bool>,
    offset: Option<i32>,
    zone: Vec<u8>,
    utc: bool,
}

/// Reads a time by a layout. `local` gives the offset and abbreviation of the local zone for a local time that is taken
/// for UTC.
pub(crate) fn parse(
    layout: &[u8],
    text: &[u8],
    local: impl Fn(i64) -> (i32, Str),
) -> Result<Moment, TimeError> {
    let mut found = Found {
        year: 0,
        month: -1,
        day: -1,
        yearday: -1,
        hour: 0,
        minute: 0,
        second: 0,
        nanos: 0,
        afternoon: None,
        offset: None,
        zone: Vec::new(),
        utc: false,
    };
    let fail = |element: &[u8], value: &[u8], message: &str| {
        let text_error = if message.is_empty() {
            format!(
                "parsing time {} as {}: cannot parse {} as {}",
                quoted(text),
                quoted(layout),
                quoted(value),
                quoted(element)
            )
        } else {
            format!("parsing time {}{message}", quoted(text))
        };
        TimeError(text_error)
    };
    let mut pattern = layout;
    let mut value = text;
    loop {
        let (plain, element) = next_element(pattern);
        let prefix = &pattern[..plain];
        value = skip(value, prefix).ok_or_else(|| fail(prefix, value, ""))?;
        let Some((element, width)) = element else {
            if !value.is_empty() {
                return Err(fail(
                    b"",
                    value,
                    &format!(": extra text: {}", quoted(value)),
                ));
            }
            break;
        };
        let name = &pattern[plain..plain + width];
        pattern = &pattern[plain + width..];
        let before = value;
        match read(&mut found, element, value, pattern) {
            Ok(rest) => value = rest,
            Err(None) => return Err(fail(name, before, "")),
            Err(Some(range)) => return Err(fail(b"", b"", &format!(": {range} out of range"))),
        }
    }
    finish(&found, local).map_err(|range| fail(b"", b"", &format!(": {range} out of range")))
}

/// Takes a plain part of the layout off the text; a blank stands for any number of them.
fn skip<'t>(mut value: &'t [u8], mut prefix: &[u8]) -> Option<&'t [u8]> {
    let blanks = |text: &[u8]| text.iter().take_while(|&&byte| byte == b' ').count();
    while let Some(&byte) = prefix.first() {
        if byte == b' ' {
            if value.first().is_some_and(|&byte| byte != b' ') {
                return None;
            }
            prefix = &prefix[blanks(prefix)..];
            value = &value[blanks(value)..];
            continue;
        }
        if value.first() != Some(&byte) {
            return None;
        }
        prefix = &prefix[1..];
        value = &value[1..];
    }
    Some(value)
}

/// One or two digits; with `fixed`, exactly two.
fn number(value: &[u8], fixed: bool) -> Option<(i64, &[u8])> {
    let first = value.first().filter(|byte| byte.is_ascii_digit())?;
    match value.get(1).filter(|byte| byte.is_ascii_digit()) {
        Some(second) => Some((
            i64::from(first - b'0') * 10 + i64::from(second - b'0'),
            &value[2..],
        )),
        None if fixed => None,
        None => Some((i64::from(first - b'0'), &value[1..])),
    }
}

fn digits(value: &[u8], count: usize) -> Option<(i64, &[u8])> {
    let part = value.get(..count)?;
    if !part.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some((crate::number::parse_int(part, 10).ok()?, &value[count..]))
}

fn lookup<'t>(names: &[&str], short: bool, value: &'t [u8]) -> Option<(i64, &'t [u8])> {
    names.iter().enumerate().find_map(|(at, name)| {
        let name = if short { &name[..3] } else { name };
        let part = value.get(..name.len())?;
        part.eq_ignore_ascii_case(name.as_bytes())
            .then(|| (at as i64, &value[name.len()..]))
    })
}

type Read<'t> = Result<&'t [u8], Option<&'static str>>;

fn ranged<'t>(
    place: &mut i64,
    read: Option<(i64, &'t [u8])>,
    bounds: std::ops::Range<i64>,
    name: &'static str,
) -> Read<'t> {
    let (number, rest) = read.ok_or(None)?;
    *place = number;
    if bounds.contains(&number) {
        Ok(rest)
    } else {
        Err(Some(name))
    }
}

fn read<'t>(found: &mut Found, element: Element, value: &'t [u8], after: &[u8]) -> Read<'t> {
    let any = i64::MIN..i64::MAX;
    match element {
        Element::Year => ranged(&mut found.year, digits(value, 4), any, ""),
        Element::ShortYear => {
            let (year, rest) = digits(value, 2).ok_or(None)?;
            found.year = year + if year >= 69 { 1900 } else { 2000 };
            Ok(rest)
        }
        Element::Month | Element::ShortMonth => {
            let (at, rest) = lookup(&MONTHS, element == Element::ShortMonth, value).ok_or(None)?;
            found.month = at + 1;
            Ok(rest)
        }
        Element::NumMonth | Element::ZeroMonth => {
            let read = number(value, element == Element::ZeroMonth);
            ranged(&mut found.month, read, 1..13, "month")
        }
        Element::Weekday | Element::ShortWeekday => {
            let short = element == Element::ShortWeekday;
            Ok(lookup(&DAYS, short, value).ok_or(None)?.1)
        }
        Element::Day | Element::UnderDay | Element::ZeroDay => {
            let blank = element == Element::UnderDay && value.first() == Some(&b' ');
            let value = if blank { &value[1..] } else { value };
            ranged(
                &mut found.day,
                number(value, element == Element::ZeroDay),
                any,
                "",
            )
        }
        Element::UnderYearDay | Element::ZeroYearDay => {
            let blanks = if element == Element::UnderYearDay {
                value
                    .iter()
                    .take(2)
                    .take_while(|&&byte| byte == b' ')
                    .count()
            } else {
                0
            };
            let read = digits(&value[blanks..], 3 - blanks);
            ranged(&mut found.yearday, read, any, "")
        }
        Element::Hour => ranged(&mut found.hour, number(value, false), 0..24, "hour"),
        Element::Hour12 | Element::ZeroHour12 => {
            let read = number(value, element == Element::ZeroHour12);
            ranged(&mut found.hour, read, 0..13, "hour")
        }
        Element::Minute | Element::ZeroMinute => {
            let read = number(value, element == Element::ZeroMinute);
            ranged(&mut found.minute, read, 0..60, "minute")
        }
        Element::Second | Element::ZeroSecond => {
            let read = number(value, element == Element::ZeroSecond);
            let rest = ranged(&mut found.second, read, 0..60, "second")?;
            let dotted = matches!(rest.first(), Some(b'.' | b','))
                && rest.get(1).is_some_and(u8::is_ascii_digit);
            let wanted = matches!(
                next_element(after),
                (_, Some((Element::Fraction { .. }, _)))
            );
            // A fraction is read also where the layout has none.
            if dotted && !wanted {
                let count = 1 + rest[1..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_digit())
                    .count();
                found.nanos = fraction(&rest[1..count]);
                return Ok(&rest[count..]);
            }
            Ok(rest)
        }
        Element::UpperHalf | Element::LowerHalf => {
            let upper = element == Element::UpperHalf;
            found.afternoon = Some(match value.get(..2) {
                Some(b"PM") if upper => true,
                Some(b"AM") if upper => false,
                Some(b"pm") if !upper => true,
                Some(b"am") if !upper => false,
                _ => return Err(None),
            });
            Ok(&value[2..])
        }
        Element::Fraction { digits, nines, .. } => {
            if nines {
                let dotted = matches!(value.first(), Some(b'.' | b','))
                    && value.get(1).is_some_and(u8::is_ascii_digit);
                if !dotted {
                    return Ok(value);
                }
                let count = value[1..]
                    .iter()
                    .take(9)
                    .take_while(|byte| byte.is_ascii_digit())
                    .count();
                found.nanos = fraction(&value[1..=count]);
                return Ok(&value[count + 1..]);
            }
            let part = value.get(1..=digits).ok_or(None)?;
            if !matches!(value[0], b'.' | b',') || !part.iter().all(u8::is_ascii_digit) {
                return Err(None);
            }
            found.nanos = fraction(part);
            Ok(&value[digits + 1..])
        }
        Element::Offset {
            utc,
            minutes,
            colon,
            seconds,
        } => {
            if utc && value.first() == Some(&b'Z') {
                found.utc = true;
                return Ok(&value[1..]);
            }
            read_offset(found, value, minutes, colon, seconds)
        }
        Element::Zone => {
            if value.starts_with(b"UTC") {
                found.utc = true;
                return Ok(&value[3..]);
            }
            let width = zone_width(value).ok_or(None)?;
            found.zone = value[..width].to_vec();
            Ok(&value[width..])
        }
    }
}

fn fraction(digits: &[u8]) -> u32 {
    let mut nanos = 0;
    for at in 0..9 {
        nanos = nanos * 10 + digits.get(at).map_or(0, |digit| u32::from(digit - b'0'));
    }
    nanos
}

fn read_offset<'t>(
    found: &mut Found,
    value: &'t [u8],
    minutes: bool,
    colon: bool,
    seconds: bool,
) -> Read<'t> {
    let negative = match value.first() {
        Some(b'-') => true,
        Some(b'+') => false,
        _ => return Err(None),
    };
    let mut rest = &value[1..];
    let mut total = 0;
    for (part, wanted) in [true, minutes, seconds].into_iter().enumerate() {
        if !wanted {
            continue;
        }
        if part > 0 && colon {
            rest = rest.strip_prefix(b":").ok_or(None)?;
        }
        let (number, after) = digits(rest, 2).ok_or(None)?;
        let limit = if part == 0 { 24 } else { 60 };
        if number > limit || part > 0 && number > 60 {
            return Err(Some(
                [
                    "time zone offset hour",
                    "time zone offset minute",
                    "time zone offset second",
                ][part],
            ));
        }
        rest = after;
        total += number * [3600, 60, 1][part];
    }
    let total = i32::try_from(total).unwrap_or(0);
    found.offset = Some(if negative { -total } else { total });
    Ok(rest)
}

/// How long an abbreviation such as `MST`, `CEST` or `GMT+3` is.
fn zone_width(value: &[u8]) -> Option<usize> {
    if value.len() < 3 {
        return None;
    }
    if value.starts_with(b"ChST") || value.starts_with(b"MeST") {
        return Some(4);
    }
    let signed = |value: &[u8]| {
        let digits = value
            .get(1..)?
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let number = crate::number::parse_int(&value[1..=digits], 10).ok()?;
        (matches!(value[0], b'+' | b'-') && digits > 0 && number < 24).then_some(digits + 1)
    };
    if value.starts_with(b"GMT") {
        return Some(3 + signed(&value[3..]).unwrap_or(0));
    }
    if matches!(value[0], b'+' | b'-') {
        return signed(value);
    }
    let upper = value
        .iter()
        .take(6)
        .take_while(|byte| byte.is_ascii_uppercase())
        .count();
    match upper {
        3 => Some(3),
        4 if value[3] == b'T' || value.starts_with(b"WITA") => Some(4),
        5 if value[4] == b'T' => Some(5),
        _ => None,
    }
}

fn finish(found: &Found, local: impl Fn(i64) -> (i32, Str)) -> Result<Moment, &'static str> {
    let mut hour = found.hour;
    match found.afternoon {
        Some(true) if hour < 12 => hour += 12,
        Some(false) if hour == 12 => hour = 0,
        _ => {}
    }
    let (mut month, mut day) = (found.month, found.day);
    if found.yearday >= 0 {
        let leap = is_leap(found.year);
        if found.yearday < 1 || found.yearday > 365 + i64::from(leap) {
            return Err("day-of-year");
        }
        let (_, by_month, by_day) = date_of(days_of(found.year, 1, 1) + found.yearday - 1);
        if month >= 0 && month != i64::from(by_month) {
            return Err("day-of-year does not match month");
        }
        if day >= 0 && day != i64::from(by_day) {
            return Err("day-of-year does not match day");
        }
        (month, day) = (i64::from(by_month), i64::from(by_day));
    } else {
        month = if month < 0 { 1 } else { month };
        day = if day < 0 { 1 } else { day };
    }
    let month = month as u32;
    if day < 1 || day > i64::from(days_in(month, found.year)) {
        return Err("day");
    }
    let plain = days_of(found.year, month, day as u32) * 86_400
        + hour * 3600
        + found.minute * 60
        + found.second;
    if found.utc {
        return Ok(Moment::utc(plain, found.nanos));
    }
    let zoned = |offset: i32, zone: Str, is_utc: bool| Moment {
        seconds: plain - i64::from(offset),
        nanos: found.nanos,
        offset,
        zone,
        is_utc,
    };
    if let Some(offset) = found.offset {
        let (here, name) = local(plain - i64::from(offset));
        if here == offset && (found.zone.is_empty() || found.zone[..] == name[..]) {
            let utc = &name[..] == b"UTC";
            return Ok(zoned(offset, name, utc));
        }
        return Ok(zoned(offset, Str::new(&found.zone), false));
    }
    if !found.zone.is_empty() {
        let (here, name) = local(plain);
        if name[..] == found.zone[..] {
            return Ok(zoned(here, name, false));
        }
        let mut offset = 0;
        if found.zone.len() > 3 && found.zone.starts_with(b"GMT") {
            let hours = crate::number::parse_int(&found.zone[3..], 10).unwrap_or(0);
            offset = i32::try_from(hours * 3600).unwrap_or(0);
        }
        // The time is then taken for UTC and only shown in that zone.
        let shown = zoned(offset, Str::new(&found.zone), false);
        return Ok(Moment {
            seconds: plain,
            ..shown
        });
    }
    let (guess, _) = local(plain);
    let (offset, name) = local(plain - i64::from(guess));
    let utc = &name[..] == b"UTC";
    Ok(zoned(offset, name, utc))
}

const UNITS: &[(&[u8], f64, u64)] = &[
    (b"ns", 1.0, 1),
    (b"us", 1e3, 1_000),
    ("µs".as_bytes(), 1e3, 1_000),
    ("μs".as_bytes(), 1e3, 1_000),
    (b"ms", 1e6, 1_000_000),
    (b"s", 1e9, 1_000_000_000),
    (b"m", 6e10, 60_000_000_000),
    (b"h", 3.6e12, 3_600_000_000_000),
];

/// `time.ParseDuration`: nanoseconds, or Go's complaint.
pub(crate) fn parse_duration(text: &[u8]) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {}", quoted(text));
    let (negative, mut rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if rest == b"0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let whole = &rest[..count];
        rest = &rest[count..];
        let mut fraction: &[u8] = b"";
        if let [b'.', after @ ..] = rest {
            let count = after
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            fraction = &after[..count];
            rest = &after[count..];
        }
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let width = rest
            .iter()
            .take_while(|&&b| b != b'.' && !b.is_ascii_digit())
            .count();
        if width == 0 {
            return Err(format!("time: missing unit in duration {}", quoted(text)));
        }
        let unit = &rest[..width];
        rest = &rest[width..];
        let Some((_, _, scale)) = UNITS.iter().find(|(name, _, _)| *name == unit) else {
            let unit = quoted(unit);
            return Err(format!(
                "time: unknown unit {unit} in duration {}",
                quoted(text)
            ));
        };
        let whole = if whole.is_empty() {
            0
        } else {
            crate::number::parse_uint(whole, 10).map_err(|_| invalid())?
        };
        let mut nanos = whole.checked_mul(*scale).ok_or_else(invalid)?;
        if !fraction.is_empty() {
            let digits = &fraction[..fraction.len().min(18)];
            let number = crate::number::parse_uint(digits, 10).unwrap_or(0) as f64;
            let power = 10_f64.powi(digits.len() as i32);
            nanos += (number * (*scale as f64 / power)) as u64;
        }
        total = total
            .checked_add(nanos)
            .filter(|&total| total <= 1 << 63)
            .ok_or_else(invalid)?;
    }
    if negative {
        return Ok((total as i64).wrapping_neg());
    }
    i64::try_from(total).map_err(|_| invalid())
}

/// `Duration.String`.
pub(crate) fn duration_text(nanos: i64) -> String {
    if nanos == 0 {
        return "0s".to_owned();
    }
    let sign = if nanos < 0 { "-" } else { "" };
    let abs = nanos.unsigned_abs();
    let fraction = |value: u64, unit: u64, name: &str| {
        let digits = unit.to_string().len() - 1;
        let rest = format!("{:0digits$}", value % unit);
        let rest = rest.trim_end_matches('0');
        let point = if rest.is_empty() || unit == 1 {
            String::new()
        } else {
            format!(".{rest}")
        };
        format!("{}{point}{name}", value / unit)
    };
    if abs < 1_000 {
        return format!("{sign}{abs}ns");
    }
    if abs < 1_000_000 {
        return format!("{sign}{}", fraction(abs, 1_000, "µs"));
    }
    if abs < 1_000_000_000 {
        return format!("{sign}{}", fraction(abs, 1_000_000, "ms"));
    }
    let seconds = abs / 1_000_000_000;
    let last = fraction(abs % 60_000_000_000, 1_000_000_000, "s");
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    if hours > 0 {
        return format!("{sign}{hours}h{minutes}m{last}");
    }
    if minutes > 0 {
        return format!("{sign}{minutes}m{last}");
    }
    format!("{sign}{last}")
}

#[cfg(test)]
mod tests {
    use super::{Moment, duration_text, parse, parse_duration};
    use crate::text::Str;

    #[test]
    fn layouts_name_their_parts() {
        let moment = Moment::utc(1_136_239_445, 123_000_000);
        let text = |layout: &str| String::from_utf8(moment.format(layout.as_bytes())).unwrap();
        assert_eq!(
            text("2006-01-02T15:04:05.000Z07:00"),
            "2006-01-02T22:04:05.123Z"
        );
        assert_eq!(
            text("Mon Jan _2 3:04PM 06 002"),
            "Mon Jan  2 10:04PM 06 002"
        );
    }

    #[test]
    fn what_is_formatted_is_read_back() {
        let layout = b"2006-01-02 15:04:05.999999999 -0700 MST";
        for seconds in [0, 1, -1, 951_782_400, 4_102_444_799, super::ZERO_SECONDS] {
            let moment = Moment::utc(seconds, 0);
            let text = moment.format(layout);
            let read = parse(layout, &text, |_| (0, Str::from("UTC"))).unwrap();
            assert_eq!(read.seconds, seconds);
        }
    }

    #[test]
    fn durations_go_both_ways() {
        for text in [
            "1h30m0s", "1.5s", "95ms", "1m35s", "-2h0m0s", "100ns", "1.5µs",
        ] {
            assert_eq!(
                duration_text(parse_duration(text.as_bytes()).unwrap()),
                text
            );
        }
        assert!(parse_duration(b"1d").is_err());
        assert!(parse_duration(b"").is_err());
    }
}
