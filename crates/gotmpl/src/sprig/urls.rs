//! Sprig's functions on URLs and names of hosts, with Go's rules of `net/url`.

use std::net::Ipv6Addr;

use crate::error::FuncError;
use crate::func::{Cx, FuncDef, Param, map_at, text_at};
use crate::number::quoted;
use crate::text::Str;
use crate::value::{Map, Value};

type Result<T> = std::result::Result<T, FuncError>;

const STR: Param = Param::String;

pub(crate) const TABLE: &[FuncDef] = &[
    FuncDef {
        name: "getHostByName",
        params: &[STR],
        rest: None,
        call: get_host_by_name,
    },
    FuncDef {
        name: "urlJoin",
        params: &[Param::Map],
        rest: None,
        call: url_join,
    },
    FuncDef {
        name: "urlParse",
        params: &[STR],
        rest: None,
        call: url_parse,
    },
];

fn get_host_by_name(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let name = text_at(args, 0).to_text().into_owned();
    Ok(Value::from(
        cx.ambient().host_address(&name).unwrap_or_default(),
    ))
}

/// The parts of a URL, unescaped where Go does.
#[derive(Default)]
pub(crate) struct Url {
    pub(crate) scheme: Vec<u8>,
    opaque: Vec<u8>,
    user: Option<(Vec<u8>, Option<Vec<u8>>)>,
    pub(crate) host: Vec<u8>,
    pub(crate) path: Vec<u8>,
    query: Vec<u8>,
    fragment: Vec<u8>,
}

/// Which part of a URL is escaped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Path,
    User,
    Host,
    Zone,
    Fragment,
}

fn must_escape(byte: u8, place: Place) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return false;
    }
    match place {
        Place::Path => !b"$&+,/:;=@".contains(&byte),
        Place::User => !b"$&+,;=".contains(&byte),
        Place::Host | Place::Zone => !b"!$&'()*+,;=:[]<>\"".contains(&byte),
        Place::Fragment => !b"$&+,/:;=?@!()*".contains(&byte),
    }
}

pub(crate) fn escape(out: &mut Vec<u8>, text: &[u8], place: Place) {
    for &byte in text {
        if must_escape(byte, place) {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        } else {
            out.push(byte);
        }
    }
}

pub(crate) fn unescape(text: &[u8], place: Place) -> std::result::Result<Vec<u8>, String> {
    let digit = |at: usize| text.get(at).and_then(|&byte| char::from(byte).to_digit(16));
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        if byte == b'%' {
            let bad = || {
                let part = &text[at..text.len().min(at + 3)];
                Err(format!("invalid URL escape {}", quoted(part)))
            };
            let (Some(high), Some(low)) = (digit(at + 1), digit(at + 2)) else {
                return bad();
            };
            let value = (high * 16 + low) as u8;
            if place == Place::Host && high < 8 && value != b'%' {
                return bad();
            }
            if place == Place::Zone
                && value != b'%'
                && value != b' '
                && must_escape(value, Place::Host)
            {
                return bad();
            }
            out.push(value);
            at += 3;
            continue;
        }
        if matches!(place, Place::Host | Place::Zone) && byte < 0x80 && must_escape(byte, place) {
            return Err(format!(
                "invalid character {} in host name",
                quoted(&[byte])
            ));
        }
        out.push(byte);
        at += 1;
    }
    Ok(out)
}

fn cut(text: &[u8], at: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|&byte| byte == at) {
        Some(place) => (&text[..place], Some(&text[place + 1..])),
        None => (text, None),
    }
}

pub(crate) fn parse(text: &[u8]) -> std::result::Result<Url, String> {
    let (body, fragment) = cut(text, b'#');
    let refused = |words: String, whole: &[u8]| format!("parse {}: {words}", quoted(whole));
    let mut url = parse_body(body).map_err(|words| refused(words, body))?;
    if let Some(fragment) = fragment {
        url.fragment = unescape(fragment, Place::Fragment).map_err(|words| refused(words, text))?;
    }
    Ok(url)
}

/// The scheme and the rest.
fn scheme_of(text: &[u8]) -> std::result::Result<(&[u8], &[u8]), String> {
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => return Ok((b"", text)),
        }
    }
    Ok((b"", text))
}

fn parse_body(text: &[u8]) -> std::result::Result<Url, String> {
    if text.iter().any(|&byte| byte < b' ' || byte == 0x7F) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    let mut url = Url::default();
    if text == b"*" {
        url.path = text.to_vec();
        return Ok(url);
    }
    let (scheme, rest) = scheme_of(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    let (mut rest, query) = cut(rest, b'?');
    url.query = query.unwrap_or_default().to_vec();
    if !rest.starts_with(b"/") {
        if !url.scheme.is_empty() {
            url.opaque = rest.to_vec();
            return Ok(url);
        }
        if cut(rest, b'/').0.contains(&b':') {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    if rest.starts_with(b"//") && (!url.scheme.is_empty() || !rest.starts_with(b"///")) {
        let authority = &rest[2..];
        let end = authority
            .iter()
            .position(|&byte| byte == b'/')
            .unwrap_or(authority.len());
        rest = &authority[end..];
        parse_authority(&mut url, &authority[..end])?;
    }
    url.path = unescape(rest, Place::Path)?;
    Ok(url)
}

fn parse_authority(url: &mut Url, text: &[u8]) -> std::result::Result<(), String> {
    let Some(at) = text.iter().rposition(|&byte| byte == b'@') else {
        url.host = parse_host(&url.scheme, text)?;
        return Ok(());
    };
    url.host = parse_host(&url.scheme, &text[at + 1..])?;
    let user = &text[..at];
    if !user
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte))
    {
        return Err("net/url: invalid userinfo".to_owned());
    }
    let (name, password) = cut(user, b':');
    let name = unescape(name, Place::User)?;
    let password = password
        .map(|password| unescape(password, Place::User))
        .transpose()?;
    url.user = Some((name, password));
    Ok(())
}

fn valid_port(text: &[u8]) -> bool {
    match text.split_first() {
        None => true,
        Some((b':', digits)) => digits.iter().all(u8::is_ascii_digit),
        Some(_) => false,
    }
}

fn check_port(text: &[u8]) -> std::result::Result<(), String> {
    if valid_port(text) {
        Ok(())
    } else {
        Err(format!("invalid port {} after host", quoted(text)))
    }
}

fn parse_host(scheme: &[u8], host: &[u8]) -> std::result::Result<Vec<u8>, String> {
    match host.iter().rposition(|&byte| byte == b'[') {
        Some(0) => return parse_literal(host),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    if let Some(first) = host.iter().position(|&byte| byte == b':') {
        let last = host.iter().rposition(|&byte| byte == b':').unwrap_or(first);
        let web = matches!(scheme, b"http" | b"https");
        check_port(&host[if web { first } else { last }..])?;
    }
    unescape(host, Place::Host)
}

/// `[address%25zone]:port`.
fn parse_literal(host: &[u8]) -> std::result::Result<Vec<u8>, String> {
    let Some(end) = host.iter().rposition(|&byte| byte == b']') else {
        return Err("missing ']' in host".to_owned());
    };
    check_port(&host[end + 1..])?;
    let name = &host[1..end];
    let zone = super::strings::find(name, b"%25", 0);
    let mut plain = unescape(&name[..zone.unwrap_or(name.len())], Place::Host)?;
    let address = String::from_utf8_lossy(&plain).into_owned();
    if let Some(zone) = zone {
        plain.extend(unescape(&name[zone..], Place::Zone)?);
    }
    if address.parse::<std::net::Ipv4Addr>().is_ok() {
        return Err("invalid IP-literal".to_owned());
    }
    if address.parse::<Ipv6Addr>().is_err() {
        let shown = quoted(&plain);
        return Err(format!(
            "invalid host: ParseAddr({shown}): unable to parse IP"
        ));
    }
    let mut out = vec![b'['];
    out.extend(plain);
    out.push(b']');
    out.extend_from_slice(&host[end + 1..]);
    Ok(out)
}

/// The host without its port and brackets.
pub(crate) fn hostname(host: &[u8]) -> &[u8] {
    let mut name = host;
    if let Some(at) = host.iter().rposition(|&byte| byte == b':')
        && valid_port(&host[at..])
    {
        name = &host[..at];
    }
    match name
        .strip_prefix(b"[")
        .and_then(|name| name.strip_suffix(b"]"))
    {
        Some(inner) => inner,
        None => name,
    }
}

fn user_text(out: &mut Vec<u8>, user: &(Vec<u8>, Option<Vec<u8>>)) {
    escape(out, &user.0, Place::User);
    if let Some(password) = &user.1 {
        out.push(b':');
        escape(out, password, Place::User);
    }
}

fn url_parse(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let url = parse(&text_at(args, 0))
        .map_err(|words| FuncError::new(format!("unable to parse url: {words}")))?;
    let mut user = Vec::new();
    if let Some(info) = &url.user {
        user_text(&mut user, info);
    }
    let hostname = hostname(&url.host).to_vec();
    Ok(Value::map([
        ("scheme", Value::from(url.scheme)),
        ("host", Value::from(url.host)),
        ("hostname", Value::from(hostname)),
        ("path", Value::from(url.path)),
        ("query", Value::from(url.query)),
        ("opaque", Value::from(url.opaque)),
        ("fragment", Value::from(url.fragment)),
        ("userinfo", Value::from(user)),
    ]))
}

/// A part of the dictionary: empty if missing, and an error if it is no string.
fn part(map: &Map, key: &str) -> Result<Str> {
    match map.get(key.as_bytes()) {
        None => Ok(Str::default()),
        Some(Value::String(text)) => Ok(text),
        Some(Value::Nil) => Err(FuncError::new(super::lists::NIL_TYPE)),
        Some(other) => Err(FuncError::new(format!(
            "unable to parse {key} key, must be of type string, but {} found",
            other.kind().name()
        ))),
    }
}

fn url_join(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let map = map_at(args, 0);
    let scheme = part(&map, "scheme")?;
    let host = part(&map, "host")?;
    let path = part(&map, "path")?;
    let query = part(&map, "query")?;
    let opaque = part(&map, "opaque")?;
    let fragment = part(&map, "fragment")?;
    let info = part(&map, "userinfo")?;
    let mut user = None;
    if !info.is_empty() {
        let whole = [b"proto://", &info[..], b"@host"].concat();
        let url = parse(&whole).map_err(|words| {
            FuncError::new(format!("unable to parse userinfo in dict: {words}"))
        })?;
        user = url.user;
    }
    let mut out = Vec::new();
    if !scheme.is_empty() {
        out.extend_from_slice(&scheme);
        out.push(b':');
    }
    if opaque.is_empty() {
        let placed = !host.is_empty() || user.is_some();
        if placed || !scheme.is_empty() && !path.is_empty() {
            out.extend_from_slice(b"//");
        }
        if let Some(user) = &user {
            user_text(&mut out, user);
            out.push(b'@');
        }
        escape(&mut out, &host, Place::Host);
        let mut escaped = Vec::new();
        if &path[..] == b"*" {
            escaped.push(b'*');
        } else {
            escape(&mut escaped, &path, Place::Path);
        }
        if !escaped.is_empty() && escaped[0] != b'/' && !host.is_empty() {
            out.push(b'/');
        }
        if out.is_empty() && cut(&escaped, b'/').0.contains(&b':') {
            out.extend_from_slice(b"./");
        }
        out.extend(escaped);
    } else {
        out.extend_from_slice(&opaque);
    }
    if !query.is_empty() {
        out.push(b'?');
        out.extend_from_slice(&query);
    }
    if !fragment.is_empty() {
        out.push(b'#');
        escape(&mut out, &fragment, Place::Fragment);
    }
    Ok(Value::from(out))
}

#[cfg(test)]
mod tests {
    use crate::ambient::{Ambient, Instant};
    use crate::func::FuncMap;
    use crate::template::{Limits, TemplateSet};
    use crate::value::Value;

    struct Names;

    impl Ambient for Names {
        fn now(&self) -> Instant {
            Instant {
                seconds: 0,
                nanos: 0,
            }
        }

        fn random(&self, buffer: &mut [u8]) {
            buffer.fill(0);
        }

        fn host_address(&self, name: &str) -> Option<String> {
            (name == "known").then(|| "192.0.2.1".to_owned())
        }
    }

    #[test]
    fn addresses_come_from_the_ambient_alone() {
        let mut set = TemplateSet::new("t", FuncMap::sprig());
        set.parse(
            "t",
            "{{ getHostByName \"known\" }}|{{ getHostByName \"other\" }}",
        )
        .unwrap();
        let out = set
            .render("t", &Value::Nil, &Names, &Limits::default())
            .unwrap();
        assert_eq!(out, b"192.0.2.1|");
    }
}
