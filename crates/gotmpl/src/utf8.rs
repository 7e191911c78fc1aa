//! Characters in byte strings, as Go walks them.
//!
//! Duty: decode UTF-8 where any byte may be wrong (Go then sees U+FFFD of width one), and tell classes of characters.

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// What Go puts for a byte that is no UTF-8.
pub(crate) const REPLACEMENT: char = '\u{FFFD}';

/// The first character and its width; for no bytes, U+FFFD and 0.
pub(crate) fn decode(bytes: &[u8]) -> (char, usize) {
    let Some(&first) = bytes.first() else {
        return (REPLACEMENT, 0);
    };
    if first < 0x80 {
        return (char::from(first), 1);
    }
    let width = match first {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return (REPLACEMENT, 1),
    };
    let Some(part) = bytes.get(..width) else {
        return (REPLACEMENT, 1);
    };
    match std::str::from_utf8(part)
        .ok()
        .and_then(|text| text.chars().next())
    {
        Some(found) => (found, width),
        None => (REPLACEMENT, 1),
    }
}

/// The last character and its width; for no bytes, U+FFFD and 0.
pub(crate) fn decode_last(bytes: &[u8]) -> (char, usize) {
    let Some(&last) = bytes.last() else {
        return (REPLACEMENT, 0);
    };
    if last < 0x80 {
        return (char::from(last), 1);
    }
    for width in 2..=4 {
        let Some(start) = bytes.len().checked_sub(width) else {
            break;
        };
        let (found, used) = decode(bytes.get(start..).unwrap_or_default());
        if used == width {
            return (found, width);
        }
    }
    (REPLACEMENT, 1)
}

/// Walks the characters of a byte string: place, character, width.
pub(crate) fn chars(bytes: &[u8]) -> impl Iterator<Item = (usize, char, usize)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(at..)?;
        if rest.is_empty() {
            return None;
        }
        let (found, width) = decode(rest);
        let place = at;
        at += width;
        Some((place, found, width))
    })
}

/// How many characters a byte string has, each wrong byte being one.
pub(crate) fn count(bytes: &[u8]) -> usize {
    if bytes.is_ascii() {
        return bytes.len();
    }
    chars(bytes).count()
}

/// Appends a character.
pub(crate) fn push(out: &mut Vec<u8>, c: char) {
    let mut buffer = [0; 4];
    out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
}

/// Appends what Go writes for a code point: U+FFFD if it is none.
pub(crate) fn push_code(out: &mut Vec<u8>, code: i64) {
    push(
        out,
        u32::try_from(code)
            .ok()
            .and_then(char::from_u32)
            .unwrap_or(REPLACEMENT),
    );
}

/// `unicode.IsLetter`.
pub(crate) fn is_letter(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphabetic();
    }
    c.general_category_group() == GeneralCategoryGroup::Letter
}

/// `unicode.IsDigit`.
pub(crate) fn is_digit(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_digit();
    }
    c.general_category() == GeneralCategory::DecimalNumber
}

/// `unicode.IsNumber`.
pub(crate) fn is_number(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_digit();
    }
    c.general_category_group() == GeneralCategoryGroup::Number
}

/// `unicode.IsUpper`.
pub(crate) fn is_upper(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_uppercase();
    }
    c.general_category() == GeneralCategory::UppercaseLetter
}

/// `unicode.IsLower`.
pub(crate) fn is_lower(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_lowercase();
    }
    c.general_category() == GeneralCategory::LowercaseLetter
}

/// `unicode.IsTitle`.
pub(crate) fn is_title(c: char) -> bool {
    !c.is_ascii() && c.general_category() == GeneralCategory::TitlecaseLetter
}

/// `unicode.IsPunct`.
pub(crate) fn is_punct(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// `unicode.IsSpace`.
pub(crate) fn is_space(c: char) -> bool {
    match c {
        '\t' | '\n' | '\u{B}' | '\u{C}' | '\r' | ' ' | '\u{85}' | '\u{A0}' => true,
        _ if c.is_ascii() => false,
        _ => c.is_whitespace(),
    }
}

/// `unicode.IsPrint`: letters, marks, numbers, punctuation, symbols and the ASCII space.
pub fn is_print(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    matches!(
        c.general_category_group(),
        GeneralCategoryGroup::Letter
            | GeneralCategoryGroup::Mark
            | GeneralCategoryGroup::Number
            | GeneralCategoryGroup::Punctuation
            | GeneralCategoryGroup::Symbol
    )
}

/// `unicode.ToUpper`: one character for one.
pub(crate) fn to_upper(c: char) -> char {
    single(c, c.to_uppercase())
}

/// `unicode.ToLower`: one character for one.
pub(crate) fn to_lower(c: char) -> char {
    // Go maps the dotted capital I to a plain i.
    if c == '\u{130}' {
        return 'i';
    }
    single(c, c.to_lowercase())
}

/// `unicode.ToTitle`: as upper case but for the few digraphs that have a form of their own.
pub(crate) fn to_title(c: char) -> char {
    match c {
        '\u{1C4}'..='\u{1C6}' => '\u{1C5}',
        '\u{1C7}'..='\u{1C9}' => '\u{1C8}',
        '\u{1CA}'..='\u{1CC}' => '\u{1CB}',
        '\u{1F1}'..='\u{1F3}' => '\u{1F2}',
        '\u{10D0}'..='\u{10FA}' | '\u{10FD}'..='\u{10FF}' => c,
        _ => to_upper(c),
    }
}

fn single(c: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::{chars, decode, decode_last};

    #[test]
    fn wrong_bytes_are_one_replacement_each() {
        assert_eq!(decode(b"\xE2\x82"), ('\u{FFFD}', 1));
        assert_eq!(decode("€".as_bytes()), ('€', 3));
        assert_eq!(decode_last("a€".as_bytes()), ('€', 3));
        assert_eq!(decode_last(b"a\x82"), ('\u{FFFD}', 1));
        let all: Vec<char> = chars(b"a\xFFb").map(|(_, c, _)| c).collect();
        assert_eq!(all, ['a', '\u{FFFD}', 'b']);
    }
}
