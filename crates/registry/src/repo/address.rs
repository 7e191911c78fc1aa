//! Addresses of repositories and the charts in them, put together as Helm does.

use reqwest::Url;

use crate::error::Error;

/// Whether a text begins with a scheme, so that Go takes it for an absolute address.
pub(crate) fn is_absolute(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else {
        return false;
    };
    let mut chars = scheme.chars();
    chars
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// Reads an address that charts or indexes can be fetched from.
///
/// # Errors
///
/// It is none, or its scheme is another than http and https.
pub(crate) fn parse(text: &str) -> Result<Url, Error> {
    let scheme = match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => return Ok(url),
        Ok(url) => url.scheme().to_owned(),
        Err(url::ParseError::RelativeUrlWithoutBase) => String::new(),
        Err(_) => {
            let shown = without_secret(text);
            return Err(Error::invalid(format!("invalid chart URL format: {shown}")));
        }
    };
    Err(Error::invalid(format!(
        "could not find protocol handler for: {scheme}"
    )))
}

/// An address for people: without its password.
pub(crate) fn without_secret(text: &str) -> String {
    match Url::parse(text) {
        Ok(url) if url.password().is_some() => crate::http::shown(&url),
        Ok(_) => text.to_owned(),
        // Nothing can be said about where a secret is; what is before an @ may be one.
        Err(_) => match text.rsplit_once('@') {
            Some((_, rest)) if text.contains("://") => format!("xxxxx@{rest}"),
            _ => text.to_owned(),
        },
    }
}

/// The address of what a repository refers to: an absolute one as it is, a relative one below the
/// repository, with the repository's query.
pub(crate) fn resolve(repository: &str, reference: &str) -> Result<String, Error> {
    if is_absolute(reference) {
        return Ok(reference.to_owned());
    }
    let failed =
        |text: &str| Error::invalid(format!("failed to parse {} as URL", without_secret(text)));
    let mut base = Url::parse(repository).map_err(|_| failed(repository))?;
    let folder = format!("{}/", base.path().strip_suffix('/').unwrap_or(base.path()));
    base.set_path(&folder);
    let mut found = base.join(reference).map_err(|_| failed(reference))?;
    found.set_query(base.query());
    Ok(found.to_string())
}

/// The same for dependencies, where Helm joins paths: `..` goes up from the repository itself, and a
/// leading slash does not lead to the root of the host.
pub(crate) fn resolve_path(repository: &str, reference: &str) -> Result<String, Error> {
    if is_absolute(reference) {
        return Ok(reference.to_owned());
    }
    let mut base =
        Url::parse(repository).map_err(|_| Error::invalid("base URL failed to parse"))?;
    let joined = clean(&format!("{}/{reference}", base.path()));
    base.set_path(&joined);
    Ok(base.to_string())
}

/// A path without doubled slashes and dots, as Go cleans it.
fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether two addresses are the same repository.
pub(crate) fn same(a: &str, b: &str) -> bool {
    let normal = |text: &str| {
        let mut url = Url::parse(text).ok()?;
        let path = clean(url.path());
        url.set_path(&path);
        Some(url)
    };
    match (normal(a), normal(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a.trim_end_matches('/') == b.trim_end_matches('/'),
        _ => false,
    }
}

/// Whether credentials for one address may go to the other: the same scheme, host and port.
pub(crate) fn same_origin(a: &Url, b: &Url) -> bool {
    a.scheme() == b.scheme()
        && a.host_str() == b.host_str()
        && a.port_or_known_default() == b.port_or_known_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_references_are_below_the_repository_and_keep_its_query() {
        let resolved = |base: &str, reference: &str| resolve(base, reference).unwrap();
        for base in ["https://h.example/charts", "https://h.example/charts/"] {
            assert_eq!(
                resolved(base, "a-1.0.0.tgz"),
                "https://h.example/charts/a-1.0.0.tgz"
            );
            assert_eq!(resolved(base, "../a.tgz"), "https://h.example/a.tgz");
            assert_eq!(resolved(base, "/a.tgz"), "https://h.example/a.tgz");
        }
        assert_eq!(
            resolved("https://h.example/charts?token=t", "a.tgz?x=y"),
            "https://h.example/charts/a.tgz?token=t"
        );
        assert_eq!(
            resolved(
                "https://h.example/c?token=t",
                "http://other.example/a.tgz?x=y"
            ),
            "http://other.example/a.tgz?x=y"
        );
    }

    #[test]
    fn dependencies_join_paths() {
        let resolved = |base: &str, reference: &str| resolve_path(base, reference).unwrap();
        assert_eq!(
            resolved("https://h.example/charts/", "a.tgz"),
            "https://h.example/charts/a.tgz"
        );
        assert_eq!(
            resolved("https://h.example/charts", "/a.tgz"),
            "https://h.example/charts/a.tgz"
        );
        assert_eq!(
            resolved("https://h.example/charts", "../../a.tgz"),
            "https://h.example/a.tgz"
        );
        assert_eq!(
            resolved("https://h.example/charts", "https://o.example/a"),
            "https://o.example/a"
        );
    }

    #[test]
    fn addresses_are_the_same_with_and_without_a_slash() {
        assert!(same("https://h.example", "https://h.example/"));
        assert!(same("https://h.example/a/", "https://h.example//a"));
        assert!(!same("https://h.example/a", "https://h.example/b"));
        assert!(!same("https://h.example/a", "http://h.example/a"));
        assert!(!same("https://h.example:8443/a", "https://h.example/a"));
        assert!(same("@stable", "@stable") && !same("@stable", "https://h.example"));
    }

    #[test]
    fn only_http_is_fetched_and_passwords_stay_hidden() {
        assert!(parse("https://h.example/x").is_ok());
        let text = parse("s3://h.example/x").unwrap_err().to_string();
        assert_eq!(text, "could not find protocol handler for: s3");
        for odd in [
            "https://me:hidden@h.example:port/x",
            "https://me:hidden@/x:y",
        ] {
            let text = parse(odd)
                .map(|url| url.to_string())
                .unwrap_or_else(|e| e.to_string());
            assert!(!text.contains("hidden"), "{text}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let url = |text: &str| Url::parse(text).unwrap();
        let base = url("https://h.example/a");
        assert!(same_origin(&base, &url("https://H.example:443/b?c")));
        assert!(!same_origin(&base, &url("http://h.example/a")));
        assert!(!same_origin(&base, &url("https://h.example:8443/a")));
        assert!(!same_origin(&base, &url("https://h.example.org/a")));
    }
}
