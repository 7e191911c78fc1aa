//! Rules of Go that others than templates need: regular expressions and addresses.
//!
//! Duty: what Go's `regexp` and `net/url` take and refuse, in their words. Pure.

use crate::sprig::{regex, urls};

/// A regular expression in Go's syntax.
#[derive(Clone, Debug)]
pub struct Pattern(::regex::bytes::Regex);

impl Pattern {
    /// Reads a pattern that may take `bytes` of memory, and as much again while it matches.
    ///
    /// # Errors
    ///
    /// Go's words for what is wrong: "error parsing regexp: missing closing ): `a(`". A pattern that is too large is
    /// refused as `expression too large`, earlier than by Go.
    pub fn new(text: &str, bytes: usize) -> Result<Self, String> {
        regex::compile(text.as_bytes(), bytes).map(Self)
    }

    /// Whether it occurs anywhere in a text. Takes time in proportion to the text.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text.as_bytes())
    }
}

/// The parts of an address that tell whether it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// In small letters; empty where the address is relative.
    pub scheme: String,
    /// With port and brackets.
    pub host: String,
    /// Without them.
    pub hostname: String,
    /// Without percent signs.
    pub path: String,
}

impl Address {
    /// Reads an address as `url.Parse`.
    ///
    /// # Errors
    ///
    /// Go's words: `parse "a b:c": first path segment in URL cannot contain colon`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = urls::parse(text.as_bytes())?;
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Self {
            scheme: shown(&url.scheme),
            hostname: shown(urls::hostname(&url.host)),
            host: shown(&url.host),
            path: shown(&url.path),
        })
    }
}

/// The bytes that a text with percent signs stands for, as `url.PathUnescape`.
///
/// # Errors
///
/// Go's words: `invalid URL escape "%zz"`. What is then no UTF-8 is shown with replacement characters.
pub fn unescape_path(text: &str) -> Result<String, String> {
    let bytes = urls::unescape(text.as_bytes(), urls::Place::Path)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes a text with percent signs as `url.PathEscape`, which spares no slash.
#[must_use]
pub fn escape_path(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    for part in text.split_inclusive(['/', ';', ',']) {
        let (plain, last) = match part.as_bytes().split_last() {
            Some((last @ (b'/' | b';' | b','), plain)) => (plain, Some(last)),
            _ => (part.as_bytes(), None),
        };
        urls::escape(&mut out, plain, urls::Place::Path);
        if let Some(last) = last {
            out.extend_from_slice(format!("%{last:02X}").as_bytes());
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{Address, Pattern, escape_path, unescape_path};

    #[test]
    fn patterns_are_those_of_go() {
        let pattern = Pattern::new(r"^\d+$", 1 << 16).unwrap();
        assert!(pattern.is_match("12") && !pattern.is_match("٣"));
        assert_eq!(
            Pattern::new("a(", 1 << 16).unwrap_err(),
            "error parsing regexp: missing closing ): `a(`"
        );
        assert_eq!(
            Pattern::new("(a{900}){900}", 1 << 10).unwrap_err(),
            "error parsing regexp: expression too large"
        );
    }

    #[test]
    fn addresses_are_those_of_go() {
        let address = Address::parse("HTTP://[::1]:80/x").unwrap();
        let parts = (address.scheme, address.host, address.hostname);
        assert_eq!(parts, ("http".into(), "[::1]:80".into(), "::1".into()));
        assert_eq!(
            Address::parse(":x").unwrap_err(),
            "parse \":x\": missing protocol scheme"
        );
    }

    #[test]
    fn paths_are_escaped_as_by_go() {
        assert_eq!(
            escape_path("a/b;c,d e{é}$:@"),
            "a%2Fb%3Bc%2Cd%20e%7B%C3%A9%7D$:@"
        );
        assert_eq!(unescape_path("a%2fb+c").unwrap(), "a/b+c");
        assert_eq!(
            unescape_path("%zz").unwrap_err(),
            "invalid URL escape \"%zz\""
        );
    }
}
