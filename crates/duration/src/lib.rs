//! Durations in Go's grammar (S-1.24 to S-1.26): reading, strict errors, and printing in Go's form.
//!
//! Profiles written for the Go program keep their meaning: `1h30m`, `1.5h`, `.5s`, `1m1m` (two minutes) and `"0"` are
//! durations, `1d`, `10min` and a number without a unit are not. Values stay within 0 and 2^63-1 nanoseconds, the
//! range of Go's type, so that every value can be printed and read back without loss.

use std::time::Duration;

use thiserror::Error;

/// The longest duration: 2^63-1 nanoseconds, about 292 years.
pub const MAX: Duration = Duration::from_nanos(i64::MAX as u64);

const MAX_NANOS: u128 = i64::MAX as u128;

/// Why a text is not a duration. The display text names what was read and shows a correct form.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DurationError {
    /// Nothing was given.
    #[error("\"\" is not a duration; write for example \"30s\", or \"0\" for none")]
    Empty,
    /// A number without a unit; the text may be a bare number of the profile.
    #[error("{0} needs a unit; write for example \"{0}s\" or \"{0}m\"")]
    MissingUnit(String),
    /// A sign that would make the duration negative.
    #[error("\"{0}\" is negative; a duration is zero or more, for example \"30s\"")]
    Negative(String),
    /// A unit that Go does not know, such as `d` or `min`.
    #[error(
        "\"{text}\" has the unknown unit \"{unit}\"; the units are h, m, s, ms, µs (or us) and ns, for example {example}"
    )]
    UnknownUnit {
        /// The whole text.
        text: String,
        /// The unit as written.
        unit: String,
        /// A form that is accepted, in quotes.
        example: &'static str,
    },
    /// More than 2^63-1 nanoseconds.
    #[error(
        "\"{0}\" is too long; the longest duration is 2562047h47m16.854775807s, for example \"720h\" is 30 days"
    )]
    TooLong(String),
    /// Anything else, such as blanks inside.
    #[error(
        "\"{0}\" is not a duration; write number and unit without blanks, for example \"5m\" or \"1h30m\""
    )]
    Malformed(String),
}

/// Reads a duration: an optional `+`, then decimal numbers each followed by a unit, or `0` alone.
///
/// Fractions finer than a nanosecond are cut off.
///
/// # Errors
/// A text outside the grammar, a negative value, or one above [`MAX`].
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    if text.is_empty() {
        return Err(DurationError::Empty);
    }
    let malformed = || DurationError::Malformed(text.to_owned());
    let mut rest = match text.as_bytes().first() {
        Some(b'-') => return Err(DurationError::Negative(text.to_owned())),
        Some(b'+') => text.get(1..).unwrap_or_default(),
        _ => text,
    };
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(malformed());
    }
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let (whole, after) = split_digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(tail) => split_digits(tail),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(malformed());
        }
        let end = after
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let nanos = match unit {
            "" => return Err(DurationError::MissingUnit(text.to_owned())),
            "ns" => 1,
            // U+00B5 (micro sign) and U+03BC (Greek mu) look alike and are both typed.
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ if unit.chars().all(char::is_alphabetic) => {
                return Err(DurationError::UnknownUnit {
                    text: text.to_owned(),
                    unit: unit.to_owned(),
                    example: example_for(unit),
                });
            }
            _ => return Err(malformed()),
        };
        let too_long = || DurationError::TooLong(text.to_owned());
        let whole = number(whole).ok_or_else(too_long)?;
        total = total
            .checked_add(whole * nanos + fraction_of(fraction, nanos))
            .filter(|sum| *sum <= MAX_NANOS)
            .ok_or_else(too_long)?;
        rest = after;
    }
    // The loop keeps the sum within 2^63-1.
    u64::try_from(total)
        .map(Duration::from_nanos)
        .map_err(|_| DurationError::TooLong(text.to_owned()))
}

/// Prints a duration as Go's `Duration.String` does: `10m0s`, `1h30m0s`, `1.5s`, `100ms`, `0s`.
///
/// For durations up to [`MAX`], [`parse`] reads the result back to the same value.
#[must_use]
pub fn format(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    if nanos == 0 {
        return "0s".to_owned();
    }
    if nanos < 1_000 {
        return format!("{nanos}ns");
    }
    if nanos < 1_000_000 {
        return format!("{}µs", decimal(nanos, 1_000));
    }
    if nanos < 1_000_000_000 {
        return format!("{}ms", decimal(nanos, 1_000_000));
    }
    let seconds = nanos / 1_000_000_000;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let rest = decimal(nanos % 60_000_000_000, 1_000_000_000);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, minutes) => format!("{minutes}m{rest}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{rest}s"),
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

/// The value of a digit string, `None` above the range of the type (an empty one is 0).
fn number(digits: &str) -> Option<u128> {
    let digits = digits.trim_start_matches('0');
    // 19 digits hold every value in range and keep the products inside 128 bits.
    if digits.len() > 19 {
        return None;
    }
    Some(
        digits
            .bytes()
            .fold(0, |sum, b| sum * 10 + u128::from(b - b'0')),
    )
}

/// `0.DIGITS` of a unit in nanoseconds, cut off.
fn fraction_of(digits: &str, unit: u128) -> u128 {
    // An hour has 3.6e12 nanoseconds: digits beyond the 18th cannot matter.
    let (mut sum, mut scale) = (0, 1);
    for digit in digits.bytes().take(18) {
        sum = sum * 10 + u128::from(digit - b'0');
        scale *= 10;
    }
    sum * unit / scale
}

fn decimal(nanos: u128, unit: u128) -> String {
    let (whole, rest) = (nanos / unit, nanos % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let width = unit.ilog10() as usize;
    let fraction = format!("{rest:0width$}");
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

fn example_for(unit: &str) -> &'static str {
    match unit {
        "d" | "D" | "day" | "days" => "\"24h\" for a day",
        "w" | "week" | "weeks" => "\"168h\" for a week",
        "H" | "hr" | "hour" | "hours" => "\"1h\"",
        "M" | "min" | "mins" | "minute" | "minutes" => "\"10m\"",
        "S" | "sec" | "secs" | "second" | "seconds" => "\"30s\"",
        _ => "\"1h30m\"",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    #[test]
    fn gos_grammar_is_read_and_printed() {
        // S-1.24, S-1.26
        for (text, printed) in [
            ("10m", "10m0s"),
            ("1h30m", "1h30m0s"),
            ("1.5h", "1h30m0s"),
            ("1.s", "1s"),
            (".5s", "500ms"),
            ("1m1m", "2m0s"),
            ("+3s", "3s"),
            ("0", "0s"),
            ("+0", "0s"),
            ("0h", "0s"),
            ("1us", "1µs"),
            ("1\u{b5}s", "1µs"),
            ("1\u{3bc}s", "1µs"),
            ("1500ns", "1.5µs"),
            ("1.0000000001s", "1s"),
            ("2m11.482s", "2m11.482s"),
            ("2562047h47m16.854775807s", "2562047h47m16.854775807s"),
            ("0.1s", "100ms"),
            ("000000000000000000000000000001s", "1s"),
        ] {
            assert_eq!(parse(text).map(format).as_deref(), Ok(printed), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused_with_a_correct_form() {
        // S-1.25
        for (text, words) in [
            ("", "write for example \"30s\", or \"0\" for none"),
            (
                "90",
                "90 needs a unit; write for example \"90s\" or \"90m\"",
            ),
            ("1.5", "needs a unit"),
            ("1m30", "needs a unit"),
            ("-5m", "\"-5m\" is negative"),
            ("1d", "unknown unit \"d\""),
            ("10min", "unknown unit \"min\""),
            ("1H", "unknown unit \"H\""),
            ("5 m", "without blanks"),
            (" 5m", "without blanks"),
            ("m", "is not a duration"),
            (".s", "is not a duration"),
            ("+", "is not a duration"),
            ("1..5s", "needs a unit"),
            ("9999999h", "too long"),
            ("2562047h47m16.854775808s", "too long"),
            ("99999999999999999999999999ns", "too long"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text:?} gave {error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

        #[test]
        fn what_is_printed_is_read_back(nanos in prop_oneof![0..=i64::MAX as u64, 0..10_000_000_u64]) {
            let duration = Duration::from_nanos(nanos);
            prop_assert_eq!(parse(&format(duration)), Ok(duration));
        }

        #[test]
        fn any_text_ends_in_a_duration_or_an_error(text in "[+-]?[0-9.]{0,25}[a-zµ ]{0,3}[0-9.]{0,5}[hms]{0,2}") {
            if let Ok(duration) = parse(&text) {
                prop_assert!(duration <= MAX);
            }
        }
    }
}
