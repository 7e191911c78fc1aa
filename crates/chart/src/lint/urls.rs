//! Addresses of pages and people, as loosely as Helm takes them.

use std::sync::LazyLock;

use kzero_gotmpl::golang::{Address, Pattern};

/// Bytes that a pattern may take.
const MAX_PATTERN: usize = 8 << 20;
/// Characters of a page's address.
const MAX_URL: usize = 2083;

/// Letters beyond ASCII that may be in mail addresses.
const WIDE: &str = r"\x{A0}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFEF}";

static EMAIL: LazyLock<Option<Pattern>> = LazyLock::new(|| {
    let atom = format!(r"[a-zA-Z\d!#$%&'*+\-/=?^_`{{|}}~{WIDE}]+");
    let fold = r"(?:(?:[ \t]*\r\n)?[ \t]+)?";
    let plain = format!(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f\x21\x23-\x5b\x5d-\x7e{WIDE}]");
    let paired = format!(r"\([\x01-\x09\x0b\x0c\x0d-\x7f{WIDE}]");
    // The quote opens anew before each character: what Helm takes, not what it should.
    let quoted = format!(r#"(?:"{fold}(?:{plain}|{paired}))*{fold}""#);
    let label = format!(r"[a-zA-Z\d{WIDE}](?:[a-zA-Z\d\-._~{WIDE}]*[a-zA-Z\d{WIDE}])?");
    let last = format!(r"[a-zA-Z{WIDE}](?:[a-zA-Z\d\-_~{WIDE}]*[a-zA-Z{WIDE}])?");
    let text = format!(r"^(?:{atom}(?:\.{atom})*|{quoted})@(?:{label}\.)+{last}\.?$");
    Pattern::new(&text, MAX_PATTERN).ok()
});

static URL: LazyLock<Option<Pattern>> = LazyLock::new(|| {
    let four = r"(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3]|24\d|25[0-5])(?:\.(?:\d{1,2}|1\d\d|2[0-4]\d|25[0-5])){2}\.(?:\d\d?|1\d\d|2[0-4]\d|25[0-5])";
    let field = "[0-9a-fA-F]{1,4}";
    let byte = r"(?:25[0-5]|(?:2[0-4]|1?\d)?\d)";
    let bytes = format!(r"(?:{byte}\.){{3}}{byte}");
    let mut six = vec![
        format!("(?:{field}:){{7}}{field}"),
        format!("(?:{field}:){{1,7}}:"),
        format!("{field}:(?::{field}){{1,6}}"),
        format!(":(?:(?::{field}){{1,7}}|:)"),
        "fe80:(?::[0-9a-fA-F]{0,4}){0,4}%[0-9a-zA-Z]+".to_owned(),
        format!("::(?:ffff(?::0{{1,4}})?:)?{bytes}"),
        format!("(?:{field}:){{1,4}}:{bytes}"),
    ];
    six.extend((2..=6).map(|left| {
        let right = 7 - left;
        format!("(?:{field}:){{1,{left}}}(?::{field}){{1,{right}}}")
    }));
    let six = six.join("|");
    let label = r"[a-zA-Z0-9](?:[a-zA-Z0-9_-]+)?[a-zA-Z0-9](?:[-.][a-zA-Z0-9]+)*";
    let below = r"(?:www\.|[a-zA-Z0-9]+(?:[-_.]?[a-zA-Z0-9])*[a-zA-Z0-9]\.[a-zA-Z0-9]+)?";
    let wide = r"a-zA-Z\x{a1}-\x{ffff}";
    let name = format!(r"(?:{label}|{below})?(?:[{wide}0-9]+-?-?)*[{wide}0-9]+(?:\.[{wide}]+)?");
    let text = format!(
        r"^(?:(?:ftp|tcp|udp|wss?|https?)://)?(?:\S+(?::\S*)?@)?(?:{four}|\[(?:{six})\]|{name})\.?(?::\d{{1,5}})?(?:[/?#]\S*)?$"
    );
    Pattern::new(&text, MAX_PATTERN).ok()
});

fn matches(pattern: &LazyLock<Option<Pattern>>, text: &str) -> bool {
    pattern
        .as_ref()
        .is_some_and(|pattern| pattern.is_match(text))
}

/// Whether a text is the address of somebody's mail.
pub(super) fn is_email(text: &str) -> bool {
    matches(&EMAIL, text)
}

/// Whether a text is the address of a page, with or without a scheme.
pub(super) fn is_url(text: &str) -> bool {
    if text.len() <= 3 || text.starts_with('.') || text.chars().count() >= MAX_URL {
        return false;
    }
    let whole = if text.contains(':') && !text.contains("://") {
        format!("http://{text}")
    } else {
        text.to_owned()
    };
    let Ok(address) = Address::parse(&whole) else {
        return false;
    };
    if address.host.starts_with('.') {
        return false;
    }
    let path = &address.path;
    if address.host.is_empty() && !path.is_empty() && !path.contains('.') {
        return false;
    }
    matches(&URL, text)
}

/// Whether a text is an address with a scheme that a server could be asked for.
pub(super) fn is_request_url(text: &str) -> bool {
    // What is asked for has no fragment: the sign belongs to the path.
    let whole = text.replace('#', "%23");
    !text.is_empty() && Address::parse(&whole).is_ok_and(|address| !address.scheme.is_empty())
}
