//! IPv6 addresses, with the words of Go's `netip` for what is wrong.

use crate::quote::quoted;

/// What is wrong, and the rest of the text from there.
type Wrong<'t> = (&'static str, &'t str);

/// Fields of an address.
const FIELDS: usize = 8;

/// Whether a text with a colon in it is an address; tells whether it has a zone.
pub(super) fn v6(text: &str) -> Result<bool, String> {
    let (address, zone) = match text.split_once('%') {
        Some((address, zone)) => (address, Some(zone)),
        None => (text, None),
    };
    let checked = match zone {
        Some("") => Err(("zone must be a non-empty string", "")),
        _ => fields(address),
    };
    checked.map_err(|(what, at)| {
        let at = match at {
            "" => String::new(),
            at => format!(" (at {})", quoted(at)),
        };
        format!("ParseAddr({}): {what}{at}", quoted(text))
    })?;
    Ok(zone.is_some())
}

fn fields(text: &str) -> Result<(), Wrong<'_>> {
    let mut rest = text;
    let mut shortened = false;
    if let Some(tail) = rest.strip_prefix("::") {
        shortened = true;
        rest = tail;
        if rest.is_empty() {
            return Ok(());
        }
    }
    let mut count = 0;
    while count < FIELDS {
        let digits = field(rest)?;
        let tail = rest.get(digits..).unwrap_or_default();
        if tail.starts_with('.') {
            if !shortened && count != FIELDS - 2 {
                let what = "embedded IPv4 address must replace the final 2 fields of the address";
                return Err((what, rest));
            }
            if count + 2 > FIELDS {
                let what = "too many hex fields to fit an embedded IPv4 at the end of the address";
                return Err((what, rest));
            }
            v4(rest)?;
            rest = "";
            count += 2;
            break;
        }
        count += 1;
        rest = tail;
        if rest.is_empty() {
            break;
        }
        let Some(next) = rest.strip_prefix(':') else {
            return Err(("unexpected character, want colon", rest));
        };
        if next.is_empty() {
            return Err(("colon must be followed by more characters", rest));
        }
        rest = next;
        if let Some(next) = rest.strip_prefix(':') {
            if shortened {
                return Err(("multiple :: in address", rest));
            }
            shortened = true;
            rest = next;
            if rest.is_empty() {
                break;
            }
        }
    }
    match (rest, count < FIELDS, shortened) {
        ("", true, false) => Err(("address string too short", "")),
        ("", false, true) => Err(("the :: must expand to at least one field of zeros", "")),
        ("", ..) => Ok(()),
        (rest, ..) => Err(("trailing garbage after address", rest)),
    }
}

/// How many digits a field has.
fn field(text: &str) -> Result<usize, Wrong<'_>> {
    match text.bytes().take_while(u8::is_ascii_hexdigit).count() {
        0 => Err((
            "each colon-separated field must have at least one digit",
            text,
        )),
        digits @ 1..=4 => Ok(digits),
        _ => Err(("each group must have 4 or less digits", text)),
    }
}

fn v4(text: &str) -> Result<(), Wrong<'_>> {
    let (mut value, mut fields, mut digits) = (0_u32, 0, 0);
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let rest = text.get(at..).unwrap_or_default();
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(("IPv4 field has octet with leading zero", ""));
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Err(("IPv4 field has value >255", ""));
                }
            }
            b'.' => {
                if at == 0 || at + 1 == bytes.len() || bytes.get(at - 1) == Some(&b'.') {
                    return Err(("IPv4 field must have at least one digit", rest));
                }
                if fields == 3 {
                    return Err(("IPv4 address too long", ""));
                }
                fields += 1;
                (value, digits) = (0, 0);
            }
            _ => return Err(("unexpected character", rest)),
        }
    }
    if fields < 3 {
        return Err(("IPv4 address too short", ""));
    }
    Ok(())
}
