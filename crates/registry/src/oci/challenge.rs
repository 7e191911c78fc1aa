//! `WWW-Authenticate`: what a registry wants to see.

use reqwest::Url;
use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};

use crate::error::Error;
use crate::quote::quoted;

/// A way to log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// User name and password with each request.
    Basic,
    /// A token of the server at `realm`.
    Bearer {
        realm: String,
        service: String,
        scope: String,
    },
}

impl Challenge {
    /// The first challenge of an answer that is known here.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(WWW_AUTHENTICATE).iter();
        values
            .filter_map(|value| Self::parse(value.to_str().ok()?))
            .next()
    }

    fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let (mut realm, mut service, mut scope) = Default::default();
        let mut rest = rest;
        while let Some((name, value, after)) = parameter(rest) {
            match name.to_ascii_lowercase().as_str() {
                "realm" => realm = value,
                "service" => service = value,
                "scope" => scope = value,
                _ => {}
            }
            rest = after;
        }
        Some(Self::Bearer {
            realm,
            service,
            scope,
        })
    }
}

/// The first `name=value` or `name="value"`, and what follows it.
fn parameter(text: &str) -> Option<(&str, String, &str)> {
    let text = text.trim_start_matches([' ', ',', '\t']);
    let (name, rest) = text.split_once('=')?;
    let Some(quoted) = rest.strip_prefix('"') else {
        let end = rest.find([',', ' ']).unwrap_or(rest.len());
        let (value, rest) = rest.split_at(end);
        return Some((name.trim(), value.to_owned(), rest));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((name.trim(), value, quoted.get(at + 1..).unwrap_or_default())),
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            c => value.push(c),
        }
    }
    None
}

/// Checks where a registry wants credentials to be sent: not without TLS when it has TLS itself, and not
/// to an address of the inner network that is not its own.
pub(crate) fn realm(realm: &str, registry: &Url) -> Result<Url, Error> {
    let invalid = |text: String| Error::invalid(text);
    let url = Url::parse(realm)
        .map_err(|_| invalid(format!("failed to parse bearer realm {}", quoted(realm))))?;
    match url.scheme() {
        "https" => {}
        "http" if registry.scheme() == "https" => {
            return Err(invalid(format!(
                "bearer realm {} uses http but registry was contacted over https",
                quoted(realm)
            )));
        }
        "http" => {}
        scheme => {
            return Err(invalid(format!(
                "bearer realm {} uses unsupported scheme {}",
                quoted(realm),
                quoted(scheme)
            )));
        }
    }
    if is_inner(&url) && url.host_str() != registry.host_str() {
        return Err(invalid(format!(
            "bearer realm host {} is a loopback, link-local, private, or unspecified address",
            quoted(url.host_str().unwrap_or_default())
        )));
    }
    Ok(url)
}

fn is_inner(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(ip)) => {
            ip.is_loopback()
                || ip.is_link_local()
                || ip.is_private()
                || ip.is_unspecified()
                || ip.is_multicast()
        }
        Some(url::Host::Ipv6(ip)) => {
            let mapped = ip.to_ipv4_mapped();
            mapped.is_some_and(|ip| ip.is_loopback() || ip.is_private() || ip.is_link_local())
                || ip.is_loopback()
                || ip.is_unspecified()
                || ip.is_unicast_link_local()
                || ip.is_unique_local()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(realm: &str, service: &str, scope: &str) -> Challenge {
        Challenge::Bearer {
            realm: realm.to_owned(),
            service: service.to_owned(),
            scope: scope.to_owned(),
        }
    }

    #[test]
    fn challenges_are_read_as_servers_write_them() {
        let parsed = |text| Challenge::parse(text).unwrap();
        assert_eq!(
            parsed(
                r#"Bearer realm="https://a.example/token",service="r",scope="repository:a/b:pull,push""#
            ),
            bearer("https://a.example/token", "r", "repository:a/b:pull,push")
        );
        assert_eq!(
            parsed(r#"bearer realm=https://a, scope="x \"y""#),
            bearer("https://a", "", "x \"y")
        );
        assert_eq!(parsed(r#"Basic realm="x""#), Challenge::Basic);
        assert_eq!(parsed("basic"), Challenge::Basic);
        assert_eq!(parsed(r#"Bearer realm="open"#), bearer("", "", ""));
        assert_eq!(Challenge::parse("Negotiate"), None);
    }

    #[test]
    fn credentials_go_only_to_realms_that_are_safe() {
        let registry = Url::parse("https://r.example/v2/").unwrap();
        assert!(realm("https://auth.example/token", &registry).is_ok());
        for odd in [
            "http://auth.example/token",
            "ftp://auth.example/",
            "https://169.254.169.254/latest",
            "https://127.0.0.1/",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://10.1.2.3/",
            "token",
        ] {
            assert!(realm(odd, &registry).is_err(), "{odd}");
        }
        let local = Url::parse("http://127.0.0.1:5000/v2/").unwrap();
        assert!(realm("http://127.0.0.1:5001/token", &local).is_ok());
    }
}
