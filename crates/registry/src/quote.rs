//! Texts in quotes, as Go's `%q` has them.

/// A text in quotes.
pub(crate) fn quoted(text: &str) -> String {
    kzero_gotmpl::quoted(text.as_bytes())
}
