//! Numbers and quoted text as Go's `strconv` reads and writes them.
//!
//! Duty: integers with prefixes and underscores, floats in every Go form, and quoted strings, both ways.

use crate::utf8;

/// Why a number could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumError {
    /// It is no number of that form.
    Syntax,
    /// It does not fit.
    Range,
}

impl NumError {
    /// What Go says.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Syntax => "invalid syntax",
            Self::Range => "value out of range",
        }
    }
}

/// Whether underscores stand only between digits, or between a base prefix and a digit.
fn underscores_ok(text: &[u8]) -> bool {
    let text = match text.first() {
        Some(b'-' | b'+') => &text[1..],
        _ => text,
    };
    let mut last = b'^';
    let mut hex = false;
    let mut rest = text;
    if let [b'0', prefix, tail @ ..] = text
        && matches!(prefix.to_ascii_lowercase(), b'b' | b'o' | b'x')
    {
        last = b'0';
        hex = prefix.eq_ignore_ascii_case(&b'x');
        rest = tail;
    }
    for &byte in rest {
        if byte.is_ascii_digit() || hex && byte.is_ascii_hexdigit() {
            last = b'0';
        } else if byte == b'_' {
            if last != b'0' {
                return false;
            }
            last = b'_';
        } else {
            if last == b'_' {
                return false;
            }
            last = b'!';
        }
    }
    last != b'_'
}

/// `strconv.ParseUint(text, base, 64)`; base 0 reads the prefix.
pub(crate) fn parse_uint(text: &[u8], base: u32) -> Result<u64, NumError> {
    let mut digits = text;
    let mut radix = u64::from(base);
    if base == 0 {
        radix = 10;
        if let [b'0', rest @ ..] = text {
            match rest {
                [b'b' | b'B', tail @ ..] if !tail.is_empty() => (radix, digits) = (2, tail),
                [b'o' | b'O', tail @ ..] if !tail.is_empty() => (radix, digits) = (8, tail),
                [b'x' | b'X', tail @ ..] if !tail.is_empty() => (radix, digits) = (16, tail),
                _ => (radix, digits) = (8, rest),
            }
            if digits.is_empty() {
                return Ok(0);
            }
        }
    }
    if digits.is_empty() {
        return Err(NumError::Syntax);
    }
    let mut value: u64 = 0;
    let mut underscores = false;
    for &byte in digits {
        let digit = match byte {
            b'_' if base == 0 => {
                underscores = true;
                continue;
            }
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'z' => byte - b'a' + 10,
            b'A'..=b'Z' => byte - b'A' + 10,
            _ => return Err(NumError::Syntax),
        };
        if u64::from(digit) >= radix {
            return Err(NumError::Syntax);
        }
        value = value
            .checked_mul(radix)
            .and_then(|scaled| scaled.checked_add(u64::from(digit)))
            .ok_or(NumError::Range)?;
    }
    if underscores && !underscores_ok(text) {
        return Err(NumError::Syntax);
    }
    Ok(value)
}

/// `strconv.ParseInt(text, base, 64)`; base 0 reads the prefix.
pub(crate) fn parse_int(text: &[u8], base: u32) -> Result<i64, NumError> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    // A sign may not be followed by another one, which parse_uint refuses as a digit.
    let value = parse_uint(digits, base)?;
    if negative {
        if value > 1 << 63 {
            return Err(NumError::Range);
        }
        Ok((value as i64).wrapping_neg())
    } else {
        i64::try_from(value).map_err(|_| NumError::Range)
    }
}

/// `strconv.ParseFloat(text, 64)`.
pub(crate) fn parse_float(text: &[u8]) -> Result<f64, NumError> {
    let (negative, body) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let sign = if negative { -1.0 } else { 1.0 };
    if body.eq_ignore_ascii_case(b"inf") || body.eq_ignore_ascii_case(b"infinity") {
        return Ok(sign * f64::INFINITY);
    }
    if text.eq_ignore_ascii_case(b"nan") {
        return Ok(f64::NAN);
    }
    if body.contains(&b'_') && !underscores_ok(text) {
        return Err(NumError::Syntax);
    }
    if let [b'0', b'x' | b'X', rest @ ..] = body {
        return parse_hex_float(rest).map(|value| sign * value);
    }
    let digits: Vec<u8> = body.iter().copied().filter(|&byte| byte != b'_').collect();
    let plain = !digits.is_empty()
        && digits
            .iter()
            .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'))
        && !matches!(digits.first(), Some(b'+' | b'-'));
    if !plain {
        return Err(NumError::Syntax);
    }
    let value: f64 = std::str::from_utf8(&digits)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(NumError::Syntax)?;
    if value.is_infinite() {
        return Err(NumError::Range);
    }
    Ok(sign * value)
}

/// The part of a hexadecimal float after `0x`; the exponent is required.
fn parse_hex_float(body: &[u8]) -> Result<f64, NumError> {
    let at = body
        .iter()
        .position(|byte| byte.eq_ignore_ascii_case(&b'p'))
        .ok_or(NumError::Syntax)?;
    let (mantissa, exponent) = (&body[..at], &body[at + 1..]);
    let mut value = 0.0_f64;
    let mut scale: i32 = 0;
    let mut point = false;
    let mut seen = false;
    for &byte in mantissa {
        match byte {
            b'_' => {}
            b'.' if !point => point = true,
            _ => {
                let digit = char::from(byte).to_digit(16).ok_or(NumError::Syntax)?;
                seen = true;
                value = value * 16.0 + f64::from(digit);
                if point {
                    scale -= 4;
                }
            }
        }
    }
    let exponent: Vec<u8> = exponent
        .iter()
        .copied()
        .filter(|&byte| byte != b'_')
        .collect();
    let exponent = parse_int(&exponent, 10)?;
    if !seen {
        return Err(NumError::Syntax);
    }
    let power = exponent.saturating_add(i64::from(scale)).clamp(-2000, 2000);
    let result = value * 2.0_f64.powi(power as i32);
    if result.is_infinite() {
        return Err(NumError::Range);
    }
    Ok(result)
}

/// The decimal digits of a finite non-negative number and the place of the point: `0.d1d2… × 10^point`.
fn digits_of(text: &str) -> (Vec<u8>, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    (digits, exponent + 1)
}

/// No double has more decimal digits than this, so that longer ones are zeros.
const MAX_DIGITS: usize = 1100;

/// `strconv.AppendFloat` for the forms `e`, `E`, `f`, `g`, `G`; no precision is the shortest that reads back.
pub(crate) fn append_float(out: &mut Vec<u8>, value: f64, form: u8, precision: Option<usize>) {
    if value.is_nan() {
        out.extend_from_slice(b"NaN");
        return;
    }
    if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"+Inf" } else { b"-Inf" });
        return;
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let value = value.abs();
    match form {
        b'f' | b'F' => append_fixed(out, value, precision),
        b'e' | b'E' => {
            let (digits, point) = match precision {
                None => digits_of(&format!("{value:e}")),
                Some(places) => {
                    let (mut digits, point) =
                        digits_of(&format!("{value:.*e}", places.min(MAX_DIGITS)));
                    digits.resize(places + 1, b'0');
                    (digits, point)
                }
            };
            append_exponent(out, &digits, if value == 0.0 { 1 } else { point }, form);
        }
        _ => {
            let wanted = precision.map(|places| places.max(1));
            let (mut digits, point) = match wanted {
                None => digits_of(&format!("{value:e}")),
                Some(places) => digits_of(&format!("{value:.*e}", (places - 1).min(MAX_DIGITS))),
            };
            let point = if value == 0.0 { 1 } else { point };
            while digits.len() > 1 && digits.last() == Some(&b'0') {
                digits.pop();
            }
            let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
            let limit = match wanted {
                None => 6,
                Some(places) => {
                    // With fewer digits than asked for, as many as there are decide the form.
                    let places = i32::try_from(places).unwrap_or(i32::MAX);
                    if places > count && count >= point {
                        count
                    } else {
                        places
                    }
                }
            };
            let exponent = point - 1;
            if exponent < -4 || exponent >= limit {
                append_exponent(out, &digits, point, if form == b'G' { b'E' } else { b'e' });
            } else {
                append_plain(out, &digits, point);
            }
        }
    }
}

fn append_fixed(out: &mut Vec<u8>, value: f64, precision: Option<usize>) {
    match precision {
        None => {
            let (digits, point) = digits_of(&format!("{value:e}"));
            if value == 0.0 {
                out.push(b'0');
            } else {
                append_plain(out, &digits, point);
            }
        }
        Some(places) => {
            let shown = places.min(MAX_DIGITS);
            out.extend_from_slice(format!("{value:.shown$}").as_bytes());
            out.extend(std::iter::repeat_n(b'0', places - shown));
        }
    }
}

/// Digits without an exponent.
fn append_plain(out: &mut Vec<u8>, digits: &[u8], point: i32) {
    let mut end = digits.len();
    while end > 1 && digits[end - 1] == b'0' {
        end -= 1;
    }
    let digits = &digits[..end];
    if point <= 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', point.unsigned_abs() as usize));
        out.extend_from_slice(digits);
        return;
    }
    let point = point as usize;
    if digits.len() <= point {
        out.extend_from_slice(digits);
        out.extend(std::iter::repeat_n(b'0', point - digits.len()));
    } else {
        out.extend_from_slice(&digits[..point]);
        out.push(b'.');
        out.extend_from_slice(&digits[point..]);
    }
}

fn append_exponent(out: &mut Vec<u8>, digits: &[u8], point: i32, letter: u8) {
    out.extend_from_slice(digits.get(..1).unwrap_or(b"0"));
    if digits.len() > 1 {
        out.push(b'.');
        out.extend_from_slice(&digits[1..]);
    }
    let exponent = point - 1;
    out.push(letter);
    out.push(if exponent < 0 { b'-' } else { b'+' });
    out.extend_from_slice(format!("{:02}", exponent.unsigned_abs()).as_bytes());
}

/// `strconv.Quote`: a double-quoted Go string; with `ascii`, everything else escaped.
pub(crate) fn quote(out: &mut Vec<u8>, text: &[u8], ascii: bool) {
    out.push(b'"');
    escape_into(out, text, b'"', ascii);
    out.push(b'"');
}

/// A text in quotes, as Go's `%q` has it, for messages.
#[must_use]
pub fn quoted(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    quote(&mut out, text, false);
    String::from_utf8_lossy(&out).into_owned()
}

fn escape_into(out: &mut Vec<u8>, text: &[u8], mark: u8, ascii: bool) {
    for (at, c, width) in utf8::chars(text) {
        if width == 1 && c == utf8::REPLACEMENT {
            out.extend_from_slice(format!("\\x{:02x}", text[at]).as_bytes());
            continue;
        }
        escape_char(out, c, mark, ascii);
    }
}

fn escape_char(out: &mut Vec<u8>, c: char, mark: u8, ascii: bool) {
    if c == char::from(mark) || c == '\\' {
        out.push(b'\\');
        utf8::push(out, c);
        return;
    }
    if c.is_ascii() && utf8::is_print(c) || !ascii && utf8::is_print(c) {
        utf8::push(out, c);
        return;
    }
    let short = match c {
        '\u{7}' => b'a',
        '\u{8}' => b'b',
        '\u{C}' => b'f',
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\u{B}' => b'v',
        _ => {
            let code = u32::from(c);
            let text = if code < 0x20 || code == 0x7F {
                format!("\\x{code:02x}")
            } else if code > 0xFFFF {
                format!("\\U{code:08x}")
            } else {
                format!("\\u{code:04x}")
            };
            out.extend_from_slice(text.as_bytes());
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// `strconv.QuoteRune`.
pub(crate) fn quote_char(out: &mut Vec<u8>, code: i64, ascii: bool) {
    let c = u32::try_from(code)
        .ok()
        .and_then(char::from_u32)
        .unwrap_or(utf8::REPLACEMENT);
    out.push(b'\'');
    escape_char(out, c, b'\'', ascii);
    out.push(b'\'');
}

/// `strconv.Unquote` for double-quoted and raw strings, quotes included; `None` is "invalid syntax".
pub(crate) fn unquote(text: &[u8]) -> Option<Vec<u8>> {
    let (&mark, rest) = text.split_first()?;
    let (&end, body) = rest.split_last()?;
    if mark != end {
        return None;
    }
    if mark == b'`' {
        if memchr::memchr(b'`', body).is_some() {
            return None;
        }
        return Some(without_returns(body));
    }
    if mark != b'"' || memchr::memchr(b'\n', body).is_some() {
        return None;
    }
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(&first) = rest.first() {
        if first == b'"' {
            return None;
        }
        if first != b'\\' {
            let plain = memchr::memchr2(b'\\', b'"', rest).unwrap_or(rest.len());
            // Go decodes and encodes again, which turns wrong bytes into U+FFFD only in character constants.
            out.extend_from_slice(&rest[..plain]);
            rest = &rest[plain..];
            continue;
        }
        let (code, multibyte, used) = unescape(rest, b'"')?;
        if multibyte {
            utf8::push_code(&mut out, i64::from(code));
        } else {
            out.push(code as u8);
        }
        rest = &rest[used..];
    }
    Some(out)
}

/// A raw string's bytes: Go leaves carriage returns out.
fn without_returns(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    let mut from = 0;
    for at in memchr::memchr_iter(b'\r', body) {
        out.extend_from_slice(&body[from..at]);
        from = at + 1;
    }
    out.extend_from_slice(&body[from..]);
    out
}

/// Reads one escape that starts with a backslash: the code, whether it is a character, and the bytes used.
fn unescape(text: &[u8], mark: u8) -> Option<(u32, bool, usize)> {
    let kind = *text.get(1)?;
    let simple = |code: u32| Some((code, false, 2));
    match kind {
        b'a' => simple(7),
        b'b' => simple(8),
        b'f' => simple(12),
        b'n' => simple(10),
        b'r' => simple(13),
        b't' => simple(9),
        b'v' => simple(11),
        b'\\' => simple(92),
        b'\'' | b'"' if kind == mark => simple(u32::from(kind)),
        b'x' | b'u' | b'U' => {
            let count = match kind {
                b'x' => 2,
                b'u' => 4,
                _ => 8,
            };
            let digits = text.get(2..2 + count)?;
            let digits = std::str::from_utf8(digits).ok()?;
            if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return None;
            }
            let code = u32::from_str_radix(digits, 16).ok()?;
            if kind == b'x' {
                return Some((code, false, 4));
            }
            char::from_u32(code)?;
            Some((code, true, 2 + count))
        }
        b'0'..=b'7' => {
            let digits = text.get(1..4)?;
            let mut code = 0;
            for &digit in digits {
                if !matches!(digit, b'0'..=b'7') {
                    return None;
                }
                code = code * 8 + u32::from(digit - b'0');
            }
            if code > 255 {
                return None;
            }
            Some((code, false, 4))
        }
        _ => None,
    }
}

/// A character constant with its quotes: the code, or Go's words for what is wrong.
pub(crate) fn char_constant(text: &[u8]) -> Result<u32, String> {
    let syntax = || "invalid syntax".to_owned();
    let body = text.get(1..).unwrap_or_default();
    let (code, used) = match body.first() {
        None | Some(b'\'') => return Err(syntax()),
        Some(b'\\') => {
            let (code, _, used) = unescape(body, b'\'').ok_or_else(syntax)?;
            (code, used)
        }
        Some(_) => {
            let (c, width) = utf8::decode(body);
            (u32::from(c), width)
        }
    };
    if body.get(used..) != Some(b"'") {
        return Err(format!(
            "malformed character constant: {}",
            String::from_utf8_lossy(text)
        ));
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::{append_float, parse_float, parse_int, quoted, unquote};

    fn float(value: f64, form: u8, precision: Option<usize>) -> String {
        let mut out = Vec::new();
        append_float(&mut out, value, form, precision);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn integers_are_read_with_prefixes_and_underscores() {
        assert_eq!(parse_int(b"0x1f", 0), Ok(31));
        assert_eq!(parse_int(b"010", 0), Ok(8));
        assert_eq!(parse_int(b"1_000", 0), Ok(1000));
        assert_eq!(parse_int(b"-9223372036854775808", 0), Ok(i64::MIN));
        assert!(parse_int(b"9223372036854775808", 0).is_err());
        assert!(parse_int(b"08", 0).is_err());
        assert!(parse_int(b"1__0", 0).is_err());
        assert!(parse_int(b"1_0", 10).is_err());
    }

    #[test]
    fn floats_are_written_as_go_writes_them() {
        assert_eq!(float(8080.0, b'e', None), "8.08e+03");
        assert_eq!(float(1.0, b'f', Some(2)), "1.00");
        assert_eq!(float(0.000_01, b'f', None), "0.00001");
        assert_eq!(float(1234.5678, b'g', Some(3)), "1.23e+03");
        assert_eq!(float(f64::INFINITY, b'g', None), "+Inf");
    }

    #[test]
    fn floats_are_read_in_every_form() {
        assert_eq!(parse_float(b"0x1p-2"), Ok(0.25));
        assert_eq!(parse_float(b".5"), Ok(0.5));
        assert_eq!(parse_float(b"1_000.5"), Ok(1000.5));
        assert!(parse_float(b"1e").is_err());
        assert!(parse_float(b"").is_err());
    }

    #[test]
    fn quoting_keeps_what_can_be_printed() {
        assert_eq!(quoted("é\n\u{7f}\"".as_bytes()), "\"é\\n\\x7f\\\"\"");
        assert_eq!(quoted(b"\xff"), "\"\\xff\"");
        assert_eq!(unquote(br#""a\tbc\x41""#).unwrap(), b"a\tbcA");
        assert_eq!(unquote(br#""\'""#), None);
    }
}
