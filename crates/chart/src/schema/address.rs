//! Addresses of schemas, and pointers into them.

use std::rc::Rc;

use kzero_gotmpl::golang::{Address, escape_path, unescape_path};
use referencing::{Uri, UriRef};
use serde_json::Value;

use crate::quote::quoted;

/// Where a schema is: the address of its document, and a JSON pointer into it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) url: Rc<str>,
    pub(super) pointer: String,
}

impl Place {
    /// As the messages show it.
    pub(super) fn shown(&self) -> String {
        shown(&self.url, &self.pointer)
    }

    /// The place of a keyword, or of something in it.
    pub(super) fn below(&self, tokens: &[&str]) -> Self {
        let mut pointer = self.pointer.clone();
        for token in tokens {
            push(&mut pointer, token);
        }
        Self {
            url: Rc::clone(&self.url),
            pointer,
        }
    }

    /// What is there.
    pub(super) fn look_up<'v>(&self, document: &'v Value) -> Result<&'v Value, String> {
        let mut value = document;
        for token in self.pointer.split('/').skip(1) {
            let Some(token) = unescape(token) else {
                return Err(format!("invalid json-pointer {}", quoted(&self.shown())));
            };
            let next = match value {
                Value::Object(map) => map.get(&token),
                Value::Array(items) => {
                    let index = token.parse::<usize>().ok();
                    index.and_then(|index| items.get(index))
                }
                _ => None,
            };
            value =
                next.ok_or_else(|| format!("json-pointer in {} not found", quoted(&self.shown())))?;
        }
        Ok(value)
    }
}

/// An address with a fragment.
pub(super) fn shown(url: &str, fragment: &str) -> String {
    let parts: Vec<String> = fragment.split('/').map(escape_path).collect();
    format!("{url}#{}", parts.join("/"))
}

/// What is before and after the `#`.
pub(super) fn split(text: &str) -> (&str, &str) {
    text.split_once('#').unwrap_or((text, ""))
}

/// The address and the fragment, without its percent signs.
pub(super) fn split_decoded(text: &str) -> Result<(&str, String), String> {
    let (url, fragment) = split(text);
    let fragment = unescape_path(fragment).map_err(|error| unparsed(text, &error))?;
    Ok((url, fragment))
}

fn unparsed(text: &str, error: &str) -> String {
    format!("error in parsing {}: {error}", quoted(text))
}

/// An address, and its fragment, as seen from another one.
pub(super) fn join(base: &str, reference: &str) -> Result<(String, String), String> {
    let (reference, fragment) = split_decoded(reference)?;
    if reference.is_empty() {
        return Ok((base.to_owned(), fragment));
    }
    let parsed = Address::parse(reference).map_err(|error| unparsed(reference, &error))?;
    // Names (`urn:a:b`) have no parts to resolve against.
    if parsed.scheme.is_empty() && !base.contains(":/") {
        return Ok((base.to_owned(), fragment));
    }
    let plain = ascii(reference);
    let resolved = UriRef::parse(plain.as_str()).ok().and_then(|reference| {
        let base = Uri::parse(base).ok()?;
        reference.resolve_against(&base).ok()
    });
    let url = resolved.map_or(plain.clone(), |resolved| resolved.to_string());
    Ok((url, fragment))
}

/// Percent signs for what addresses may not hold.
fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_graphic() && !"\"<>\\^`{|}".contains(c) {
            out.push(c);
        } else {
            let mut buffer = [0; 4];
            for byte in c.encode_utf8(&mut buffer).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    out
}

/// Adds a token to a pointer.
pub(super) fn push(pointer: &mut String, token: &str) {
    pointer.push('/');
    for c in token.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}

fn unescape(token: &str) -> Option<String> {
    let mut out = String::with_capacity(token.len());
    let mut chars = token.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '~' => match chars.next() {
                Some('0') => '~',
                Some('1') => '/',
                _ => return None,
            },
            c => c,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn references_resolve_against_their_base() {
        let base = "file:///values.schema.json";
        for (reference, url, fragment) in [
            ("#/a%20b", base, "/a b"),
            ("other.json#x", "file:///other.json", "x"),
            ("http://a/b?c#", "http://a/b?c", ""),
            ("urn:x:y", "urn:x:y", ""),
            ("", base, ""),
            ("a b.json", "file:///a%20b.json", ""),
        ] {
            let joined = join(base, reference).unwrap();
            assert_eq!(joined, (url.to_owned(), fragment.to_owned()), "{reference}");
        }
        assert_eq!(join("urn:a:b", "c").unwrap().0, "urn:a:b");
        assert_eq!(
            join(base, "#%zz").unwrap_err(),
            "error in parsing \"#%zz\": invalid URL escape \"%zz\""
        );
    }
}
