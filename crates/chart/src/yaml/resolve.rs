//! What a plain scalar means.

/// A resolved scalar.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Resolved {
    /// `~`, `null`, nothing.
    Null,
    /// `yes`, `On`, `true`, …
    Bool(bool),
    /// Within 64 bits, signed.
    Int(i64),
    /// Within 64 bits, beyond the signed ones.
    Uint(u64),
    /// Everything else that reads as a number.
    Float(f64),
    /// Reads as a date; it stays the text it is, but must be quoted when written.
    Timestamp,
    /// A text.
    String,
}

impl Resolved {
    /// The whole number that this is once JSON was written and read: doubles without a fraction lose their point.
    pub(super) fn whole(&self) -> Option<serde_json::Number> {
        match self {
            Self::Int(value) => Some((*value).into()),
            Self::Float(value) => super::json_number(&serde_json::Number::from_f64(*value)?)
                .parse::<i64>()
                .ok()
                .map(Into::into),
            Self::Null | Self::Bool(_) | Self::Uint(_) | Self::Timestamp | Self::String => None,
        }
    }
}

/// Resolves an untagged plain scalar by the rules of YAML 1.1 as go-yaml v2 applies them.
pub(super) fn resolve(text: &str) -> Resolved {
    let Some(first) = text.bytes().next() else {
        return Resolved::Null;
    };
    // Only these first bytes can begin anything but a text.
    if !matches!(
        first,
        b'y' | b'Y'
            | b'n'
            | b'N'
            | b't'
            | b'T'
            | b'f'
            | b'F'
            | b'o'
            | b'O'
            | b'~'
            | b'.'
            | b'+'
            | b'-'
            | b'0'..=b'9'
    ) {
        return Resolved::String;
    }
    match text {
        "~" | "null" | "Null" | "NULL" => return Resolved::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Resolved::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Resolved::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Resolved::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            return Resolved::Float(f64::INFINITY);
        }
        "-.inf" | "-.Inf" | "-.INF" => return Resolved::Float(f64::NEG_INFINITY),
        _ => {}
    }
    match first {
        b'.' => float(text).map_or(Resolved::String, Resolved::Float),
        b'+' | b'-' | b'0'..=b'9' => number(text),
        _ => Resolved::String,
    }
}

fn number(text: &str) -> Resolved {
    if is_timestamp(text) {
        return Resolved::Timestamp;
    }
    let plain: String = text.chars().filter(|c| *c != '_').collect();
    match integer(&plain) {
        Some(value) => value,
        None if is_plain_float(&plain) => match go_float(&plain) {
            Some(value) => Resolved::Float(value),
            None => Resolved::String,
        },
        None => Resolved::String,
    }
}

/// An integer with Go's base prefixes: `0x`, `0o`, `0b`, and a leading zero for octal.
fn integer(text: &str) -> Option<Resolved> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, body) = if let Some(body) = lower.strip_prefix("0x") {
        (16, body)
    } else if let Some(body) = lower.strip_prefix("0o") {
        (8, body)
    } else if let Some(body) = lower.strip_prefix("0b") {
        (2, body)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (8, &lower[1..])
    } else {
        (10, lower.as_str())
    };
    // `from_str_radix` would take a second sign.
    if body.is_empty() || body.starts_with(['+', '-']) {
        return None;
    }
    let magnitude = u64::from_str_radix(body, radix).ok()?;
    if negative {
        // One more than the greatest positive number has a negative counterpart.
        return if magnitude <= 1 << 63 {
            Some(Resolved::Int((magnitude as i64).wrapping_neg()))
        } else {
            None
        };
    }
    match i64::try_from(magnitude) {
        Ok(value) => Some(Resolved::Int(value)),
        // Unsigned numbers take no sign at all.
        Err(_) if !text.starts_with('+') => Some(Resolved::Uint(magnitude)),
        Err(_) => None,
    }
}

/// The form of floats that YAML 1.1 has: digits with an optional point and exponent.
fn is_plain_float(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mantissa_ok = match mantissa.split_once('.') {
        None => digits(mantissa),
        Some(("", after)) => digits(after),
        Some((before, after)) => digits(before) && (after.is_empty() || digits(after)),
    };
    let exponent_ok = exponent
        .is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)));
    mantissa_ok && exponent_ok
}

/// A decimal number as Go parses it; `None` beyond the range of doubles.
fn go_float(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    value.is_finite().then_some(value)
}

/// What begins with a point is a float when Go's own parser takes it.
fn float(text: &str) -> Option<f64> {
    let rest = &text[1..];
    // Go takes `.5`, `.5e3`; underscores only with a base prefix, which a point excludes.
    let first_is_digit = rest.bytes().next().is_some_and(|b| b.is_ascii_digit());
    if !first_is_digit || !is_plain_float(text) {
        return None;
    }
    go_float(text)
}

/// Dates that go-yaml knows: `2001-01-01`, and with a time in several forms.
pub(super) fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    // The year has exactly four digits.
    if bytes.len() < 5 || !bytes[..4].iter().all(u8::is_ascii_digit) || bytes[4] != b'-' {
        return false;
    }
    let Some((month, rest)) = digits(&text[5..], 1, 2) else {
        return false;
    };
    let Some(rest) = rest.strip_prefix('-') else {
        return false;
    };
    let Some((day, rest)) = digits(rest, 1, 2) else {
        return false;
    };
    let year: u32 = text[..4].parse().unwrap_or(0);
    if !date_exists(year, month, day) {
        return false;
    }
    if rest.is_empty() {
        return true;
    }
    let (rest, blank) = match rest.as_bytes()[0] {
        b'T' | b't' => (&rest[1..], false),
        b' ' => (&rest[1..], true),
        _ => return false,
    };
    let Some((hour, rest)) = digits(rest, 1, 2) else {
        return false;
    };
    let Some(rest) = rest.strip_prefix(':') else {
        return false;
    };
    let Some((minute, rest)) = digits(rest, 1, 2) else {
        return false;
    };
    let Some(rest) = rest.strip_prefix(':') else {
        return false;
    };
    let Some((second, rest)) = digits(rest, 1, 2) else {
        return false;
    };
    if hour > 23 || minute > 59 || second > 59 {
        return false;
    }
    let rest = match rest.strip_prefix(['.', ',']) {
        Some(fraction) => {
            let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
            if count == 0 {
                return false;
            }
            &fraction[count..]
        }
        None => rest,
    };
    if blank {
        return rest.is_empty();
    }
    zone(rest)
}

/// `Z`, or `+01:00`.
fn zone(text: &str) -> bool {
    if text == "Z" {
        return true;
    }
    let Some(rest) = text.strip_prefix(['+', '-']) else {
        return false;
    };
    let bytes = rest.as_bytes();
    bytes.len() == 5
        && bytes[2] == b':'
        && [0, 1, 3, 4].iter().all(|at| bytes[*at].is_ascii_digit())
        && rest[..2].parse::<u32>().is_ok_and(|hour| hour <= 24)
        && rest[3..].parse::<u32>().is_ok_and(|minute| minute < 60)
}

fn digits(text: &str, least: usize, most: usize) -> Option<(u32, &str)> {
    let count = text
        .bytes()
        .take(most)
        .take_while(u8::is_ascii_digit)
        .count();
    if count < least {
        return None;
    }
    Some((text[..count].parse().ok()?, &text[count..]))
}

fn date_exists(year: u32, month: u32, day: u32) -> bool {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=last).contains(&day)
}

/// Numbers to the base of 60 are texts when read, but quoted when written.
pub(super) fn is_base_60(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !rest.bytes().next().is_some_and(|b| b.is_ascii_digit()) || !rest.contains(':') {
        return false;
    }
    let (rest, fraction_ok) = match rest.split_once('.') {
        Some((before, after)) => (
            before,
            after.bytes().all(|b| b.is_ascii_digit() || b == b'_'),
        ),
        None => (rest, true),
    };
    let mut parts = rest.split(':');
    let first_ok = parts
        .next()
        .is_some_and(|part| part.bytes().all(|b| b.is_ascii_digit() || b == b'_'));
    first_ok
        && fraction_ok
        && parts.all(|part| match part.as_bytes() {
            [unit] => unit.is_ascii_digit(),
            [ten, unit] => (b'0'..=b'5').contains(ten) && unit.is_ascii_digit(),
            _ => false,
        })
}
