//! Numbers as profiles write them (S-1.27).

use serde_json::{Number, Value as Json};

/// Why a text is not an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IntegerFault {
    /// Not a number at all.
    NotANumber,
    /// A number with a fraction.
    NotWhole,
    /// Could be meant as octal or as decimal; the value of the octal reading if there is one.
    LeadingZero {
        /// What it would be in base 8.
        octal: Option<i128>,
    },
    /// Beyond any use.
    TooLarge,
}

/// Reads `3`, `3.0`, `0x10`, `0o17`, `1_000`, `1e2`, each with an optional sign.
pub(crate) fn integer(text: &str) -> Result<i128, IntegerFault> {
    let (negative, body) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or_default()),
        Some(b'+') => (false, text.get(1..).unwrap_or_default()),
        _ => (false, text),
    };
    let value = magnitude(body)?;
    Ok(if negative { -value } else { value })
}

fn magnitude(body: &str) -> Result<i128, IntegerFault> {
    if let Some(digits) = body.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = body.strip_prefix("0o") {
        return radix(digits, 8);
    }
    let (mantissa, exponent) = match body.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent_of(exponent)?),
        None => (body, 0),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, fraction),
        None => (mantissa, ""),
    };
    let whole = without_underscores(whole)?;
    if whole.is_empty() && fraction.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return Err(IntegerFault::NotANumber);
    }
    if whole.len() > 1 && whole.starts_with('0') {
        let plain = exponent == 0 && fraction.is_empty();
        let octal = plain.then(|| radix(&whole, 8).ok()).flatten();
        return Err(IntegerFault::LeadingZero { octal });
    }
    decimal(&whole, fraction, exponent)
}

/// `whole.fraction` times ten to the `exponent`, if that is whole.
fn decimal(whole: &str, fraction: &str, exponent: i32) -> Result<i128, IntegerFault> {
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Ok(0);
    }
    let trailing = digits.len() - digits.trim_end_matches('0').len();
    let power = i64::from(exponent) - i64::try_from(fraction.len()).unwrap_or(i64::MAX)
        + i64::try_from(trailing).unwrap_or(i64::MAX);
    if power < 0 {
        return Err(IntegerFault::NotWhole);
    }
    // 38 digits fit into 128 bits; nothing that is read needs more than 20.
    if significant.len() > 30 || power > 30 {
        return Err(IntegerFault::TooLarge);
    }
    let mut value = significant
        .bytes()
        .fold(0_i128, |sum, b| sum * 10 + i128::from(b - b'0'));
    for _ in 0..power {
        value = value.checked_mul(10).ok_or(IntegerFault::TooLarge)?;
    }
    Ok(value)
}

fn exponent_of(text: &str) -> Result<i32, IntegerFault> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(IntegerFault::NotANumber);
    }
    // A larger exponent is as far out of range as this one.
    Ok(text
        .strip_prefix('+')
        .unwrap_or(text)
        .parse()
        .unwrap_or(if text.starts_with('-') {
            i32::MIN
        } else {
            i32::MAX
        }))
}

/// Digits with single underscores between them.
fn without_underscores(text: &str) -> Result<String, IntegerFault> {
    let fits = text.split('_').all(|part| {
        part.bytes().all(|b| b.is_ascii_digit()) && (!part.is_empty() || text.is_empty())
    });
    if fits {
        Ok(text.replace('_', ""))
    } else {
        Err(IntegerFault::NotANumber)
    }
}

fn radix(digits: &str, radix: u32) -> Result<i128, IntegerFault> {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(IntegerFault::NotANumber);
    }
    i128::from_str_radix(digits, radix).map_err(|_| IntegerFault::TooLarge)
}

/// A scalar of the core types int and float as a JSON number. Whole floats become integers as long as that is exact, so
/// that `1e2` can stand where an integer is due.
pub(crate) fn json(text: &str) -> Result<Json, IntegerFault> {
    match integer(text) {
        Ok(value) => {
            if let Ok(value) = i64::try_from(value) {
                return Ok(Json::from(value));
            }
            if let Ok(value) = u64::try_from(value) {
                return Ok(Json::from(value));
            }
        }
        Err(fault @ IntegerFault::LeadingZero { .. }) => return Err(fault),
        Err(_) => {}
    }
    text.parse::<f64>()
        .ok()
        .filter(|value| value.is_finite())
        .and_then(Number::from_f64)
        .map(Json::Number)
        .ok_or(IntegerFault::NotANumber)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_forms_of_integers() {
        // S-1.27
        for (text, want) in [
            ("3", Ok(3)),
            ("3.0", Ok(3)),
            ("3.", Ok(3)),
            ("0x10", Ok(16)),
            ("-0x10", Ok(-16)),
            ("0o17", Ok(15)),
            ("1_000", Ok(1000)),
            ("1e2", Ok(100)),
            ("1.5e1", Ok(15)),
            ("100e-2", Ok(1)),
            ("0e999999999999", Ok(0)),
            ("0", Ok(0)),
            ("-0", Ok(0)),
            ("+7", Ok(7)),
            ("010", Err(IntegerFault::LeadingZero { octal: Some(8) })),
            ("09", Err(IntegerFault::LeadingZero { octal: None })),
            ("00.5", Err(IntegerFault::LeadingZero { octal: None })),
            ("2.5", Err(IntegerFault::NotWhole)),
            ("1e-1", Err(IntegerFault::NotWhole)),
            ("1e99999999999", Err(IntegerFault::TooLarge)),
            ("1e-99999999999", Err(IntegerFault::NotWhole)),
            ("_1", Err(IntegerFault::NotANumber)),
            ("1__0", Err(IntegerFault::NotANumber)),
            ("0x", Err(IntegerFault::NotANumber)),
            ("0x-1", Err(IntegerFault::NotANumber)),
            ("e5", Err(IntegerFault::NotANumber)),
            (".", Err(IntegerFault::NotANumber)),
            ("", Err(IntegerFault::NotANumber)),
            ("--1", Err(IntegerFault::NotANumber)),
        ] {
            assert_eq!(integer(text), want, "{text}");
        }
    }
}
