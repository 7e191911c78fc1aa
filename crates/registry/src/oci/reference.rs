//! References to charts in registries: `host/path:tag@digest`.

use crate::error::Error;
use crate::quote::quoted;

/// What a reference says, with the tag in the form that registries take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Host and port.
    pub(crate) registry: String,
    /// The path in it.
    pub(crate) repository: String,
    /// Empty where none is given.
    pub(crate) tag: String,
    /// As `sha256:…`; empty where none is given.
    pub(crate) digest: String,
}

impl Reference {
    /// Reads a reference, with or without `oci://`.
    ///
    /// # Errors
    ///
    /// Parts are missing or have characters that registries do not take.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let text = text.strip_prefix("oci://").unwrap_or(text);
        let (text, digest) = match text.rsplit_once('@') {
            Some((text, digest)) => (text, digest),
            None => (text, ""),
        };
        let invalid = |what: String| Error::invalid(format!("invalid reference: {what}"));
        let (registry, path) = text
            .split_once('/')
            .ok_or_else(|| invalid("missing registry or repository".to_owned()))?;
        let (repository, tag) = path.split_once(':').unwrap_or((path, ""));
        if !is_registry(registry) {
            return Err(invalid(format!("invalid registry {}", quoted(registry))));
        }
        if !is_repository(repository) {
            return Err(invalid(format!(
                "invalid repository {}",
                quoted(repository)
            )));
        }
        let tag = to_tag(tag);
        if !tag.is_empty() && !is_tag(&tag) {
            return Err(invalid(format!("invalid tag {}", quoted(&tag))));
        }
        if let Some(why) = why_no_digest(digest).filter(|_| !digest.is_empty()) {
            return Err(invalid(format!("invalid digest {}: {why}", quoted(digest))));
        }
        Ok(Self {
            registry: registry.to_owned(),
            repository: repository.to_owned(),
            tag,
            digest: digest.to_owned(),
        })
    }

    /// The host that is asked: Docker Hub's is another than its name.
    pub(crate) fn host(&self) -> &str {
        match self.registry.as_str() {
            "docker.io" => "registry-1.docker.io",
            host => host,
        }
    }

    /// The reference for people: with a tag, if it has one, else with the digest.
    pub(crate) fn shown(&self) -> String {
        let Self {
            registry,
            repository,
            tag,
            digest,
        } = self;
        if tag.is_empty() {
            format!("{registry}/{repository}@{digest}")
        } else {
            format!("{registry}/{repository}:{tag}")
        }
    }
}

/// The tag of a version: registries take no `+`.
pub(crate) fn to_tag(version: &str) -> String {
    version.replace('+', "_")
}

fn is_registry(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, port)) if host.parse::<std::net::Ipv6Addr>().is_ok() => ("v6", port),
            _ => return false,
        },
        None => match text.find(':') {
            Some(at) => text.split_at(at),
            None => (text, ""),
        },
    };
    let port_ok = port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|p| p.parse::<u16>().is_ok());
    !host.is_empty() && host.chars().all(allowed) && port_ok
}

/// Names of small letters and digits, with single dots, one or two underscores or any number of
/// dashes between them, parted by slashes.
fn is_repository(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let name = |name: &str| {
        let bytes = name.as_bytes();
        let ends =
            bytes.first().is_some_and(|b| plain(*b)) && bytes.last().is_some_and(|b| plain(*b));
        let between = name.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        ends && between
            .into_iter()
            .all(|part| matches!(part, "" | "." | "_" | "__") || part.bytes().all(|b| b == b'-'))
    };
    text.len() <= 255 && text.split('/').all(name)
}

fn is_tag(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    text.len() <= 128
        && text.bytes().next().is_some_and(word)
        && text.bytes().all(|b| word(b) || matches!(b, b'.' | b'-'))
}

/// Whether a text is a digest that can be checked.
pub(crate) fn is_digest(text: &str) -> bool {
    why_no_digest(text).is_none()
}

/// What is wrong with a digest.
fn why_no_digest(text: &str) -> Option<&'static str> {
    let format = "invalid checksum digest format";
    let (kind, hex) = match text.split_once(':') {
        Some((kind, hex)) if !kind.is_empty() && !hex.is_empty() => (kind, hex),
        _ => return Some(format),
    };
    let length = match kind {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return Some("unsupported digest algorithm"),
    };
    if hex.len() != length {
        return Some("invalid checksum digest length");
    }
    let is_hex = hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    (!is_hex).then_some(format)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn parts_are_found_and_plus_becomes_an_underscore() {
        let found = Reference::parse("oci://h.example:5000/charts/web:1.0.0+b1").unwrap();
        assert_eq!(found.host(), "h.example:5000");
        assert_eq!(found.repository, "charts/web");
        assert_eq!(found.tag, "1.0.0_b1");
        assert_eq!(found.shown(), "h.example:5000/charts/web:1.0.0_b1");
        let found = Reference::parse(&format!("docker.io/a/b:1@{DIGEST}")).unwrap();
        assert_eq!(
            (found.host(), found.tag.as_str()),
            ("registry-1.docker.io", "1")
        );
        assert_eq!(found.digest, DIGEST);
        let found = Reference::parse(&format!("[::1]:5000/a@{DIGEST}")).unwrap();
        assert_eq!(found.shown(), format!("[::1]:5000/a@{DIGEST}"));
    }

    #[test]
    fn what_registries_do_not_take_is_refused() {
        let text = |reference: &str| Reference::parse(reference).unwrap_err().to_string();
        assert_eq!(
            text("oci://web"),
            "invalid reference: missing registry or repository"
        );
        assert_eq!(
            text("h/Web"),
            "invalid reference: invalid repository \"Web\""
        );
        for odd in [
            "h/a//b", "h/-a", "h/a..b", "h/a___b", "h/a_", "h/", "h/a/../b",
        ] {
            assert!(text(odd).contains("invalid repository"), "{odd}");
        }
        for odd in ["a b/c", "me@h/c@x", "h:99999/c", "h:/c", "/c", "[::g]/c"] {
            assert!(Reference::parse(odd).is_err(), "{odd}");
        }
        assert!(text("h/a:.b").contains("invalid tag"));
        let digest = |digest: &str| text(&format!("h/a@{digest}")).replace(digest, "D");
        let start = "invalid reference: invalid digest \"D\":";
        assert_eq!(
            digest("sha256:00"),
            format!("{start} invalid checksum digest length")
        );
        assert_eq!(
            digest("md5:00"),
            format!("{start} unsupported digest algorithm")
        );
        assert_eq!(
            digest("sha256"),
            format!("{start} invalid checksum digest format")
        );
        for fine in ["h/a--b", "h/a__b", "h/a.b/c_d", "h/0"] {
            assert!(Reference::parse(fine).is_ok(), "{fine}");
        }
    }
}
