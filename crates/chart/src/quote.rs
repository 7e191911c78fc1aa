//! Texts as Go shows them.

pub(crate) use kzero_gotmpl::is_print;

/// A text in quotes, as `%q` has it.
pub(crate) fn quoted(text: &str) -> String {
    kzero_gotmpl::quoted(text.as_bytes())
}
