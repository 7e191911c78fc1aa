//! Texts as Go shows them.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// Whether Go calls a character printable: letters, marks, numbers, punctuation, symbols, and the plain space.
pub(crate) fn is_print(c: char) -> bool {
    c == ' '
        || matches!(
            c.general_category_group(),
            GeneralCategoryGroup::Letter
                | GeneralCategoryGroup::Mark
                | GeneralCategoryGroup::Number
                | GeneralCategoryGroup::Punctuation
                | GeneralCategoryGroup::Symbol
        )
}

/// A text in quotes, as `%q` has it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if is_print(c) => out.push(c),
            c => {
                let code = u32::from(c);
                out.push_str(&match code {
                    0..0x20 | 0x7f => format!("\\x{code:02x}"),
                    0x1_0000.. => format!("\\U{code:08x}"),
                    _ => format!("\\u{code:04x}"),
                });
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn what_cannot_be_printed_is_escaped() {
        assert_eq!(
            quoted("a\"\\\n\t\u{1}é\u{200b}\u{e0001}"),
            "\"a\\\"\\\\\\n\\t\\x01é\\u200b\\U000e0001\""
        );
    }
}
