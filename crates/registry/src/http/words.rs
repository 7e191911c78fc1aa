//! Failed requests in the words of Go's HTTP client, which people search for.

use std::error::Error as StdError;

use reqwest::{Method, Url};

use crate::error::{Error, ErrorKind, words};

/// An address without its password, as Go shows it.
pub(crate) fn shown(url: &Url) -> String {
    if url.password().is_none() {
        return url.to_string();
    }
    let mut url = url.clone();
    // It has one, so that it can have another.
    let _ = url.set_password(Some("xxxxx"));
    url.to_string()
}

/// What a failed request ends with.
pub(super) fn failed(method: &Method, url: &Url, error: &reqwest::Error) -> Error {
    let verb = match method.as_str() {
        "POST" => "Post",
        "HEAD" => "Head",
        _ => "Get",
    };
    let cause = cause(url, error);
    Error::new(
        ErrorKind::Unreachable,
        format!("{verb} \"{}\": {cause}", shown(url)),
    )
}

fn cause(url: &Url, error: &reqwest::Error) -> String {
    if error.is_redirect() {
        return "stopped after 10 redirects".to_owned();
    }
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or_default();
    let root = root(error);
    if let Some(system) = find_io(error)
        && system.raw_os_error().is_some()
        && error.is_connect()
    {
        return format!("dial tcp {host}:{port}: connect: {}", words(system));
    }
    if root.contains("failed to lookup address") || root.contains("Name or service not known") {
        return format!("dial tcp: lookup {host}: no such host");
    }
    if error.is_timeout() {
        return if error.is_connect() {
            format!("dial tcp {host}:{port}: i/o timeout")
        } else {
            "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
                .to_owned()
        };
    }
    if is_no_tls(error) {
        return "http: server gave HTTP response to HTTPS client".to_owned();
    }
    let certificate = "tls: failed to verify certificate: x509: certificate";
    if root.contains("UnknownIssuer") || root.contains("CaUsedAsEndEntity") {
        return format!("{certificate} signed by unknown authority");
    }
    if root.contains("Expired") || root.contains("NotValidYet") || root.contains("expired") {
        return format!("{certificate} has expired or is not yet valid");
    }
    if root.contains("not valid for name") || root.contains("NotValidForName") {
        return format!("{certificate} is not valid for {host}");
    }
    if root.contains("before message length") || root.contains("unexpected EOF") {
        return "unexpected EOF".to_owned();
    }
    root
}

/// Whether a server answered a TLS greeting with something that is no TLS.
pub(crate) fn is_no_tls(error: &reqwest::Error) -> bool {
    error.is_connect() && root(error).contains("InvalidContentType")
}

/// The innermost cause.
pub(super) fn root(error: &dyn StdError) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

fn find_io(error: &reqwest::Error) -> Option<&std::io::Error> {
    let mut inner: Option<&dyn StdError> = error.source();
    while let Some(error) = inner {
        if let Some(found) = error.downcast_ref::<std::io::Error>()
            && found.raw_os_error().is_some()
        {
            return Some(found);
        }
        inner = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_addresses_are_not_shown() {
        let url = Url::parse("https://me:hidden@charts.example/index.yaml?a=b").unwrap();
        assert_eq!(
            shown(&url),
            "https://me:xxxxx@charts.example/index.yaml?a=b"
        );
        let url = Url::parse("https://charts.example/x").unwrap();
        assert_eq!(shown(&url), "https://charts.example/x");
    }
}
