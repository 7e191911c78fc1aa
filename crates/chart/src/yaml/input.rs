//! Bytes to text: the encoding, the characters that may not stand, and the pieces.
//!
//! Helm's library takes its input in pieces of 512 bytes. That shows in two ways: a character that
//! may not stand is reported as soon as its piece is looked at, before errors of syntax that
//! precede it in the piece, and a second byte order mark is known only where a piece was begun.
//! So the ends of the pieces are kept beside the text.

use std::borrow::Cow;

/// Bytes taken in at a time.
const PIECE: usize = 512;

const CONTROL: &str = "control characters are not allowed";

/// A text as far as it can be read.
#[derive(Debug)]
pub(super) struct Input<'a> {
    /// UTF-8 without a byte order mark; ends before the first piece that cannot be read.
    pub(super) text: Cow<'a, str>,
    /// Where the pieces end in the text, ascending; the last is the length of the text.
    pub(super) pieces: Vec<usize>,
    /// What is wrong with the piece behind the last one.
    pub(super) failure: Option<&'static str>,
}

impl<'a> Input<'a> {
    /// Finds the encoding by the byte order mark (UTF-8 without one) and checks every character.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        match bytes {
            [0xFF, 0xFE, ..] => wide(bytes, u16::from_le_bytes),
            [0xFE, 0xFF, ..] => wide(bytes, u16::from_be_bytes),
            _ => narrow(bytes),
        }
    }
}

/// UTF-8.
fn narrow(bytes: &[u8]) -> Input<'_> {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        }
    };
    let (bad, failure) = match forbidden(valid.as_bytes()) {
        Some(at) => (at, Some(CONTROL)),
        None if valid.len() < bytes.len() => (valid.len(), Some(fault(&bytes[valid.len()..]))),
        None => (bytes.len(), None),
    };
    let start = if bytes.starts_with(b"\xEF\xBB\xBF") {
        3
    } else {
        0
    };
    let mut pieces = Vec::with_capacity(bytes.len() / PIECE + 1);
    let mut end = PIECE.min(bytes.len());
    let mut cut = start.min(end);
    loop {
        if bad < end && bad + sequence(bytes[bad]).max(1) <= end {
            break;
        }
        // A character that the end of the piece cuts in two goes with the next one.
        cut = if bad < end {
            bad
        } else {
            valid.floor_char_boundary(end)
        };
        pieces.push(cut.saturating_sub(start));
        if end == bytes.len() {
            break;
        }
        end = (cut + PIECE).min(bytes.len());
    }
    Input {
        text: Cow::Borrowed(valid.get(start..cut).unwrap_or_default()),
        pieces,
        failure,
    }
}

/// The first character that may not stand, by its place.
fn forbidden(bytes: &[u8]) -> Option<usize> {
    /// Bytes looked at together.
    const BLOCK: usize = 64;
    let plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    let mut from = 0;
    for block in bytes.chunks(BLOCK) {
        // Most blocks are plain; told without branches, so that many bytes take one step.
        if !block.iter().fold(true, |all, byte| all & plain(byte))
            && let Some(at) = forbidden_from(bytes, from, from + block.len())
        {
            return Some(at);
        }
        from += block.len();
    }
    None
}

/// The first of these that begins a character that may not stand.
fn forbidden_from(bytes: &[u8], from: usize, to: usize) -> Option<usize> {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
    (from..to).find(|&at| match byte(at) {
        b' '..=b'~' | b'\t' | b'\n' | b'\r' => false,
        0x00..=0x1F | 0x7F => true,
        // U+0080 to U+009F but for NEL.
        0xC2 => byte(at + 1) < 0xA0 && byte(at + 1) != 0x85,
        // U+FFFE and U+FFFF.
        0xEF => byte(at + 1) == 0xBF && byte(at + 2) >= 0xBE,
        _ => false,
    })
}

/// The same for one character.
fn allowed(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' | '\u{85}' => true,
        '\0'..='\u{1F}' | '\u{7F}'..='\u{9F}' | '\u{FFFE}' | '\u{FFFF}' => false,
        _ => true,
    }
}

/// The bytes of a sequence by its first one, by form alone; 0 for none.
pub(super) fn sequence(first: u8) -> usize {
    match first {
        0x00..=0x7F => 1,
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF7 => 4,
        _ => 0,
    }
}

/// Why bytes do not begin with a character of UTF-8.
fn fault(bytes: &[u8]) -> &'static str {
    let width = bytes.first().map_or(0, |first| sequence(*first));
    let Some(octets) = bytes.get(..width) else {
        return "incomplete UTF-8 octet sequence";
    };
    let [first, rest @ ..] = octets else {
        return "invalid leading UTF-8 octet";
    };
    if rest.iter().any(|octet| octet & 0xC0 != 0x80) {
        return "invalid trailing UTF-8 octet";
    }
    let lead = u32::from(*first) & (0x7F >> width);
    let value = rest
        .iter()
        .fold(lead, |value, octet| value << 6 | u32::from(octet & 0x3F));
    let least = match width {
        2 => 0x80,
        3 => 0x800,
        _ => 0x1_0000,
    };
    if value < least {
        "invalid length of a UTF-8 sequence"
    } else {
        "invalid Unicode character"
    }
}

/// UTF-16 behind its byte order mark.
fn wide(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Input<'static> {
    let unit = |at: usize| match bytes.get(at..at + 2) {
        Some(&[first, second]) => Some(unit([first, second])),
        _ => None,
    };
    let mut text = String::with_capacity(bytes.len() / 2);
    let mut pieces = Vec::with_capacity(bytes.len() / PIECE + 1);
    let mut failure = None;
    let mut at = 2;
    let mut end = PIECE.min(bytes.len());
    'pieces: loop {
        let begun = text.len();
        while at < end {
            // What the end of the piece cuts in two goes with the next one.
            let (found, width) = match unit(at) {
                None => (Err("incomplete UTF-16 character"), 2),
                Some(0xDC00..=0xDFFF) => (Err("unexpected low surrogate area"), 2),
                Some(high @ 0xD800..=0xDBFF) => (pair(high, unit(at + 2)), 4),
                Some(single) => (char::from_u32(u32::from(single)).ok_or(CONTROL), 2),
            };
            if at + width > end {
                break;
            }
            match found {
                Ok(c) if allowed(c) => text.push(c),
                Ok(_) => failure = Some(CONTROL),
                Err(problem) => failure = Some(problem),
            }
            if failure.is_some() {
                text.truncate(begun);
                break 'pieces;
            }
            at += width;
        }
        pieces.push(text.len());
        if end == bytes.len() {
            if at < end {
                failure = Some(if unit(at).is_some() {
                    "incomplete UTF-16 surrogate pair"
                } else {
                    "incomplete UTF-16 character"
                });
            }
            break;
        }
        end = (at + PIECE).min(bytes.len());
    }
    Input {
        text: Cow::Owned(text),
        pieces,
        failure,
    }
}

/// The character of two surrogates.
fn pair(high: u16, low: Option<u16>) -> Result<char, &'static str> {
    let Some(low @ 0xDC00..=0xDFFF) = low else {
        return Err("expected low surrogate area");
    };
    let value = 0x1_0000 + ((u32::from(high) & 0x3FF) << 10) + (u32::from(low) & 0x3FF);
    char::from_u32(value).ok_or(CONTROL)
}

#[cfg(test)]
mod tests {
    use super::Input;

    #[test]
    fn a_piece_ends_between_characters() {
        let text = format!("{}é{}", "a".repeat(511), "b".repeat(600));
        let input = Input::new(text.as_bytes());
        assert_eq!(input.pieces, [511, 511 + 512, 1113]);
        assert_eq!((&*input.text, input.failure), (&*text, None));
    }

    #[test]
    fn a_byte_order_mark_counts_in_its_piece_only() {
        let text = format!("\u{FEFF}{}", "a".repeat(600));
        let input = Input::new(text.as_bytes());
        assert_eq!(input.pieces, [509, 600]);
        assert_eq!(input.text, "a".repeat(600));
    }

    #[test]
    fn a_fault_takes_its_piece_with_it() {
        let mut bytes = "a".repeat(1000).into_bytes();
        bytes[700] = 0xFF;
        let input = Input::new(&bytes);
        assert_eq!(input.text, "a".repeat(512));
        assert_eq!(input.failure, Some("invalid leading UTF-8 octet"));
    }

    #[test]
    fn utf_16_is_read_in_both_orders() {
        let little = b"\xFF\xFEa\0\x3D\xD8\x00\xDE";
        let big = b"\xFE\xFF\0a\xD8\x3D\xDE\x00";
        for bytes in [&little[..], big] {
            let input = Input::new(bytes);
            assert_eq!((&*input.text, input.failure), ("a\u{1F600}", None));
        }
    }
}
