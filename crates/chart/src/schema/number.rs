//! Numbers of JSON as exact decimals, and as the messages show them.

use std::cmp::Ordering;

use serde_json::Number;

/// A decimal without zeros at its end: digits × 10^exponent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    digits: u64,
    exponent: i32,
}

impl Decimal {
    /// The shortest decimal that reads as the number.
    pub(super) fn of(number: &Number) -> Self {
        if let Some(whole) = number.as_u64() {
            return Self::trimmed(false, whole, 0);
        }
        if let Some(whole) = number.as_i64() {
            return Self::trimmed(true, whole.unsigned_abs(), 0);
        }
        let text = format!("{:e}", number.as_f64().unwrap_or_default());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let fraction = mantissa.split_once('.').map_or(0, |(_, tail)| tail.len());
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        // Seventeen digits at most, and an exponent within 400.
        let exponent: i32 = exponent.parse().unwrap_or_default();
        let fraction = i32::try_from(fraction).unwrap_or_default();
        Self::trimmed(
            text.starts_with('-'),
            digits.parse().unwrap_or_default(),
            exponent - fraction,
        )
    }

    fn trimmed(negative: bool, mut digits: u64, mut exponent: i32) -> Self {
        if digits == 0 {
            return Self {
                negative: false,
                digits,
                exponent: 0,
            };
        }
        while digits.is_multiple_of(10) {
            digits /= 10;
            exponent += 1;
        }
        Self {
            negative,
            digits,
            exponent,
        }
    }

    /// Whether nothing follows the point.
    pub(super) fn is_whole(self) -> bool {
        self.exponent >= 0
    }

    /// The number as a count, if it is one; what is beyond the range is at its end.
    pub(super) fn count(self) -> Option<usize> {
        if !self.is_whole() {
            return None;
        }
        if self.negative {
            return Some(0);
        }
        let whole = u32::try_from(self.exponent)
            .ok()
            .and_then(|exponent| 10_u64.checked_pow(exponent))
            .and_then(|power| self.digits.checked_mul(power));
        Some(whole.map_or(usize::MAX, |whole| {
            usize::try_from(whole).unwrap_or(usize::MAX)
        }))
    }

    pub(super) fn compare(self, other: Self) -> Ordering {
        let sign = |number: Self| match (number.digits, number.negative) {
            (0, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        };
        sign(self).cmp(&sign(other)).then_with(|| {
            let order = self.size(other);
            if self.negative {
                order.reverse()
            } else {
                order
            }
        })
    }

    /// Compares without the signs.
    fn size(self, other: Self) -> Ordering {
        let places = |number: Self| {
            number
                .digits
                .checked_ilog10()
                .map_or(0, |log| log as i32 + 1)
        };
        // The place of the first digit decides, unless both have the same.
        let first = |number: Self| places(number) + number.exponent;
        let aligned = |number: Self| {
            let missing = 20 - places(number);
            let power = 10_u128.pow(u32::try_from(missing).unwrap_or_default());
            u128::from(number.digits) * power
        };
        first(self)
            .cmp(&first(other))
            .then_with(|| aligned(self).cmp(&aligned(other)))
    }

    /// Whether it is a whole number of times another. Nothing is a multiple of zero.
    pub(super) fn is_multiple_of(self, other: Self) -> bool {
        if self.digits == 0 || other.digits == 0 {
            return other.digits != 0;
        }
        let divisor = u128::from(other.digits);
        let shift = self.exponent - other.exponent;
        if shift < 0 {
            // The digits end in no zero, so that a power of ten divides them only through the other's.
            let power = u32::try_from(-shift)
                .ok()
                .and_then(|shift| 10_u128.checked_pow(shift));
            let Some(divisor) = power.and_then(|power| divisor.checked_mul(power)) else {
                return false;
            };
            return u128::from(self.digits).is_multiple_of(divisor);
        }
        let mut rest = u128::from(self.digits) % divisor;
        for _ in 0..shift {
            rest = rest * 10 % divisor;
        }
        rest == 0
    }
}

/// A count with commas.
pub(super) fn grouped(count: usize) -> String {
    group(&count.to_string())
}

fn group(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number as English has it: commas below a million, powers of ten from there and below a ten thousandth.
pub(super) fn english(number: &Number) -> String {
    let number = number.as_f64().unwrap_or_default();
    let text = format!("{number:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = exponent.parse().unwrap_or_default();
    if !(-4..6).contains(&power) {
        let (sign, power) = if power < 0 {
            ("⁻", -power)
        } else {
            ("", power)
        };
        let raised: String = format!("{power:02}").chars().map(superscript).collect();
        return format!("{mantissa}×10{sign}{raised}");
    }
    let text = number.to_string();
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.as_str()),
    };
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{sign}{}.{fraction}", group(whole)),
        None => format!("{sign}{}", group(text)),
    }
}

fn superscript(digit: char) -> char {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let at = digit.to_digit(10).and_then(|at| usize::try_from(at).ok());
    at.and_then(|at| RAISED.get(at)).copied().unwrap_or(digit)
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use serde_json::Number;

    use super::{Decimal, english};

    fn number(text: &str) -> Number {
        serde_json::from_str(text).unwrap()
    }

    fn decimal(text: &str) -> Decimal {
        Decimal::of(&number(text))
    }

    #[test]
    fn numbers_compare_by_their_decimals() {
        let ascending = [
            "-1e300",
            "-12",
            "-1.5",
            "-1",
            "-1e-300",
            "0",
            "5e-324",
            "0.1",
            "0.11",
            "1",
            "9.99",
            "10",
            "9007199254740993",
            "18446744073709551615",
            "1e300",
        ];
        for (at, low) in ascending.iter().enumerate() {
            for (other, high) in ascending.iter().enumerate() {
                assert_eq!(
                    decimal(low).compare(decimal(high)),
                    at.cmp(&other),
                    "{low} {high}"
                );
            }
        }
        assert_eq!(decimal("1.0").compare(decimal("1")), Ordering::Equal);
        assert_eq!(decimal("-0.0"), decimal("0"));
    }

    #[test]
    fn multiples_are_exact() {
        for (number, of, yes) in [
            ("0.3", "0.1", true),
            ("0.35", "0.1", false),
            ("1e300", "7", false),
            ("7e300", "7", true),
            ("0", "3", true),
            ("10", "0.01", true),
            ("1e-300", "1e300", false),
            ("6", "4", false),
            ("-8", "4", true),
            ("1.5", "0.5", true),
            ("2.5", "0.25", true),
            ("1", "0", false),
        ] {
            assert_eq!(
                decimal(number).is_multiple_of(decimal(of)),
                yes,
                "{number} {of}"
            );
        }
    }

    #[test]
    fn whole_numbers_are_told_from_others() {
        assert!(decimal("1.0").is_whole() && decimal("1e30").is_whole());
        assert!(!decimal("1.5").is_whole() && !decimal("1e-3").is_whole());
        assert_eq!(decimal("1e30").count(), Some(usize::MAX));
        assert_eq!(decimal("120").count(), Some(120));
        assert_eq!(decimal("-1").count(), Some(0));
        assert_eq!(decimal("0.5").count(), None);
    }

    #[test]
    fn numbers_are_shown_in_english() {
        for (text, shown) in [
            ("0", "0"),
            ("999", "999"),
            ("1234", "1,234"),
            ("123456.7", "123,456.7"),
            ("-999.25", "-999.25"),
            ("1000000", "1×10⁰⁶"),
            ("1234567.5", "1.2345675×10⁰⁶"),
            ("0.0001", "0.0001"),
            ("0.00001", "1×10⁻⁰⁵"),
            ("-1e300", "-1×10³⁰⁰"),
        ] {
            assert_eq!(english(&number(text)), shown);
        }
    }
}
