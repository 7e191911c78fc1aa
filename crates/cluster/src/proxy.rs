//! Which proxy leads to the API server. Pure: from settings to a decision.
//!
//! `proxy-url` of the kubeconfig is always used. Otherwise `HTTPS_PROXY` or `HTTP_PROXY` (by the
//! server's scheme, either case of letters) unless `NO_PROXY` excludes the server. As in
//! Kubernetes' own client, loopback addresses are never reached through a proxy from the
//! environment. A scheme that cannot be served is an error, never a direct connection (S-1.30).

use std::net::IpAddr;

use http::Uri;

use crate::{connect::Environment, error::ClusterError};

/// Decides on the proxy for `server`; `None` is a direct connection.
///
/// # Errors
///
/// A proxy address that cannot be read, or whose scheme is not `http`, `https`, `socks5` or
/// `socks5h`. The text does not show user and password.
pub(crate) fn choose(
    server: &Uri,
    from_kubeconfig: Option<&str>,
    environment: &Environment,
) -> Result<Option<Uri>, ClusterError> {
    if let Some(address) = from_kubeconfig
        .map(str::trim)
        .filter(|text| !text.is_empty())
    {
        return parse(address, "proxy-url").map(Some);
    }
    let names: [&'static str; 2] = match server.scheme_str() {
        Some("http") => ["HTTP_PROXY", "http_proxy"],
        _ => ["HTTPS_PROXY", "https_proxy"],
    };
    let Some((name, address)) = names
        .into_iter()
        .find_map(|name| environment.get(name).map(|value| (name, value)))
    else {
        return Ok(None);
    };
    let excluded = ["NO_PROXY", "no_proxy"]
        .into_iter()
        .find_map(|name| environment.get(name))
        .is_some_and(|list| excludes(list, server));
    if excluded {
        return Ok(None);
    }
    // Read before the loopback rule, so that a wrong value does not stay unnoticed.
    let proxy = parse(address, name)?;
    Ok((!is_loopback(host(server))).then_some(proxy))
}

fn parse(address: &str, origin: &str) -> Result<Uri, ClusterError> {
    let address = address.trim();
    // Variables are often written without a scheme; HTTP is meant then.
    let full = if address.contains("://") {
        address.to_owned()
    } else if origin == "proxy-url" {
        return Err(ClusterError::config(format!(
            "{origin} \"{}\" has no scheme; write http://, https:// or socks5:// before it",
            without_user(address)
        )));
    } else {
        format!("http://{address}")
    };
    let shown = without_user(&full);
    let (scheme, rest) = full.split_once("://").unwrap_or(("", &full));
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "http" => "http",
        "https" => "https",
        // Both leave the look-up of the name to the proxy.
        "socks5" | "socks5h" => "socks5",
        other => {
            return Err(ClusterError::config(format!(
                "{origin} \"{shown}\": proxy scheme {other} is not supported; use http, https or socks5"
            )));
        }
    };
    let uri: Uri = format!("{scheme}://{}", rest.trim_end_matches('/'))
        .parse()
        .map_err(|_| {
            ClusterError::config(format!("{origin} \"{shown}\" is not a proxy address"))
        })?;
    if uri.host().is_none_or(str::is_empty) {
        return Err(ClusterError::config(format!(
            "{origin} \"{shown}\" is not a proxy address"
        )));
    }
    Ok(uri)
}

/// The address without user and password.
fn without_user(address: &str) -> String {
    match address.split_once("://") {
        Some((scheme, rest)) => match rest.rsplit_once('@') {
            Some((_, host)) => format!("{scheme}://***@{host}"),
            None => address.to_owned(),
        },
        None => match address.rsplit_once('@') {
            Some((_, host)) => format!("***@{host}"),
            None => address.to_owned(),
        },
    }
}

fn host(server: &Uri) -> &str {
    server
        .host()
        .unwrap_or_default()
        .trim_start_matches('[')
        .trim_end_matches(']')
}

fn port(server: &Uri) -> u16 {
    server.port_u16().unwrap_or(match server.scheme_str() {
        Some("http") => 80,
        _ => 443,
    })
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// Whether a `NO_PROXY` list excludes the server.
///
/// Entries are separated by commas: `*`, an address, a network (`10.0.0.0/8`), a domain (it and
/// its subdomains) or `.domain` / `*.domain` (subdomains only); all but networks may have a port.
fn excludes(list: &str, server: &Uri) -> bool {
    let host = host(server).trim_end_matches('.').to_ascii_lowercase();
    let address: Option<IpAddr> = host.parse().ok();
    list.split(',')
        .map(|entry| entry.trim().to_ascii_lowercase())
        .filter(|entry| !entry.is_empty())
        .any(|entry| entry_matches(&entry, &host, address, port(server)))
}

fn entry_matches(entry: &str, host: &str, address: Option<IpAddr>, port: u16) -> bool {
    if entry == "*" {
        return true;
    }
    if let Some((network, bits)) = entry.split_once('/') {
        return match (network.parse(), bits.parse(), address) {
            (Ok(network), Ok(bits), Some(address)) => in_network(address, network, bits),
            _ => false,
        };
    }
    let (name, wanted_port) = split_port(entry);
    if wanted_port.is_some_and(|wanted| wanted != port) {
        return false;
    }
    if let Ok(listed) = name.parse::<IpAddr>() {
        return address == Some(listed);
    }
    let name = name.trim_end_matches('.');
    match name.strip_prefix("*.").or_else(|| name.strip_prefix('.')) {
        Some(domain) => is_subdomain(host, domain),
        None => host == name || is_subdomain(host, name),
    }
}

fn is_subdomain(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain)
        .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

/// Splits `name:port`, `[v6]:port` and `[v6]`. A bare IPv6 address has no port.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    if let Some(rest) = entry.strip_prefix('[') {
        let (inside, after) = rest.split_once(']').unwrap_or((rest, ""));
        return (
            inside,
            after.strip_prefix(':').and_then(|text| text.parse().ok()),
        );
    }
    match entry.rsplit_once(':') {
        Some((name, digits)) if !name.contains(':') => match digits.parse() {
            Ok(port) => (name, Some(port)),
            Err(_) => (entry, None),
        },
        _ => (entry, None),
    }
}

fn in_network(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            u32::from(address) & mask == u32::from(network) & mask
        }
        (IpAddr::V6(address), IpAddr::V6(network)) if bits <= 128 => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            u128::from(address) & mask == u128::from(network) & mask
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(server: &str, kubeconfig: Option<&str>, variables: &[(&str, &str)]) -> String {
        let environment = variables.iter().copied().collect();
        match choose(&server.parse().unwrap(), kubeconfig, &environment) {
            Ok(Some(proxy)) => proxy.to_string(),
            Ok(None) => "direct".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn s_1_30_the_proxy_comes_from_the_kubeconfig_then_the_environment() {
        let both = [
            ("HTTPS_PROXY", "http://env:3128"),
            ("HTTP_PROXY", "plain:80"),
        ];
        let api = "https://api.example.com:6443";
        assert_eq!(
            chosen(api, Some("socks5://p:1080"), &both),
            "socks5://p:1080/"
        );
        assert_eq!(chosen(api, None, &both), "http://env:3128/");
        assert_eq!(
            chosen("http://api.example.com", None, &both),
            "http://plain:80/"
        );
        assert_eq!(
            chosen(api, None, &[("https_proxy", "env:1")]),
            "http://env:1/"
        );
        assert_eq!(chosen(api, Some(" "), &[("HTTPS_PROXY", "")]), "direct");
        assert_eq!(chosen("https://127.0.0.1:6443", None, &both), "direct");
        assert_eq!(chosen("https://[::1]:6443", None, &both), "direct");
        // The kubeconfig means what it says, for loopback and NO_PROXY too.
        assert_eq!(
            chosen(
                "https://127.0.0.1:1",
                Some("http://p:1"),
                &[("NO_PROXY", "*")]
            ),
            "http://p:1/"
        );
    }

    #[test]
    fn s_1_30_an_unsupported_scheme_is_an_error_and_hides_the_password() {
        let text = chosen("https://a", Some("ftp://bob:hunter2@p:21"), &[]);
        assert_eq!(
            text,
            "proxy-url \"ftp://***@p:21\": proxy scheme ftp is not supported; use http, https or socks5"
        );
        let loopback = chosen(
            "https://127.0.0.1:1",
            None,
            &[("HTTPS_PROXY", "socks4://p:1")],
        );
        assert!(loopback.contains("socks4 is not supported"), "{loopback}");
        let bare = chosen("https://a", Some("bob:hunter2@p:21"), &[]);
        assert!(
            bare.contains("no scheme") && !bare.contains("hunter2"),
            "{bare}"
        );
    }

    #[test]
    fn no_proxy_knows_hosts_domains_networks_ports_and_the_star() {
        let rows = [
            ("*", "https://x.example.com", true),
            ("x.example.com", "https://x.example.com", true),
            ("example.com", "https://x.example.com", true),
            ("EXAMPLE.com ", "https://X.example.COM", true),
            (".example.com", "https://x.example.com", true),
            (".example.com", "https://example.com", false),
            ("*.example.com", "https://x.example.com", true),
            ("ample.com", "https://x.example.com", false),
            ("example.com:6443", "https://example.com:6443", true),
            ("example.com:443", "https://example.com:6443", false),
            ("example.com:443", "https://example.com", true),
            ("10.0.0.0/8", "https://10.1.2.3:6443", true),
            ("10.0.0.0/8", "https://11.1.2.3:6443", false),
            ("0.0.0.0/0", "https://11.1.2.3", true),
            ("10.0.0.0/8", "https://ten.example.com", false),
            ("10.1.2.3", "https://10.1.2.3:6443", true),
            ("10.1.2.3:6443", "https://10.1.2.3:6443", true),
            ("fd00::/8", "https://[fd12::1]:6443", true),
            ("[fd12::1]:6443", "https://[fd12::1]:6443", true),
            ("a.com, ,b.com", "https://b.com", true),
            ("10.0.0.0/99", "https://10.0.0.1", false),
        ];
        for (list, server, expected) in rows {
            assert_eq!(
                excludes(list, &server.parse().unwrap()),
                expected,
                "{list} {server}"
            );
        }
    }
}
