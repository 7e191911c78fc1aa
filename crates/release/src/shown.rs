//! Texts of others on their way into messages.
//!
//! Names, annotations and file names come from charts, records and API servers. A terminal would obey control characters in
//! them, and a line end would let a name forge a line of its own.

use std::borrow::Cow;

/// Whether a terminal would obey a character, or change the order of others for it.
#[must_use]
pub fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text within a line: harmful characters, line ends among them, are written as escapes such as `\u{1b}` and `\n`.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    escaped(text, is_harmful)
}

/// A text of several lines: as [`plain`], but line ends and tabs stay.
#[must_use]
pub fn plain_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_harmful(c) && !matches!(c, '\n' | '\t'))
}

fn escaped(text: &str, is_harmful: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_harmful(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::{plain, plain_lines};

    #[test]
    fn what_a_terminal_obeys_is_escaped_and_nothing_else() {
        assert_eq!(plain("a\u{1b}[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
        assert_eq!(
            plain("a\u{202e}b\u{2069}\u{9b}"),
            "a\\u{202e}b\\u{2069}\\u{9b}"
        );
        assert_eq!(plain("größe שלום \\n"), "größe שלום \\n");
        assert_eq!(plain_lines("a\n\tb\r\u{7f}"), "a\n\tb\\r\\u{7f}");
    }
}
