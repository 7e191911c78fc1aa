//! Formats of texts, as Helm's library checks them: always before draft 2019-09, afterwards on request.

mod ip;
mod time;

use kzero_gotmpl::golang::{Address, Pattern, unescape_path};

/// Bytes that a pattern may take.
const PATTERN: usize = 2 << 20;

/// A format that is checked; others are notes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    name: &'static str,
    check: fn(&str) -> Result<(), String>,
}

const FORMATS: &[Format] = &[
    format("json-pointer", json_pointer),
    format("relative-json-pointer", relative_json_pointer),
    format("uuid", uuid),
    format("duration", time::duration),
    format("period", time::period),
    format("ipv4", ipv4),
    format("ipv6", ipv6),
    format("hostname", hostname),
    format("email", email),
    format("date", time::date),
    format("time", time::time),
    format("date-time", time::date_time),
    format("uri", uri),
    format("iri", uri),
    format("uri-reference", uri_reference),
    format("iri-reference", uri_reference),
    format("uri-template", uri_template),
    format("semver", semver),
    format("regex", regex),
];

const fn format(name: &'static str, check: fn(&str) -> Result<(), String>) -> Format {
    Format { name, check }
}

impl Format {
    pub(super) fn named(name: &str) -> Option<Self> {
        FORMATS.iter().find(|format| format.name == name).copied()
    }

    pub(super) fn name(self) -> &'static str {
        self.name
    }

    /// How much work it is, in schemas applied.
    pub(super) fn cost(self, text: &str) -> usize {
        text.len() / 64 + if self.name == "regex" { 1000 } else { 1 }
    }

    pub(super) fn check(self, text: &str) -> Result<(), String> {
        (self.check)(text)
    }
}

fn fail<T>(text: &str) -> Result<T, String> {
    Err(text.to_owned())
}

fn regex(text: &str) -> Result<(), String> {
    Pattern::new(text, PATTERN).map(|_| ())
}

fn json_pointer(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    if !text.starts_with('/') {
        return fail("not starting with /");
    }
    for token in text.split('/').skip(1) {
        let mut chars = token.chars();
        while let Some(c) = chars.next() {
            if c == '~' && !matches!(chars.next(), Some('0' | '1')) {
                return fail("~ must be followed by 0 or 1");
            }
        }
    }
    Ok(())
}

fn relative_json_pointer(text: &str) -> Result<(), String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return fail("must start with non-negative integer");
    }
    if digits > 1 && text.starts_with('0') {
        return fail("starts with zero");
    }
    match text.get(digits..).unwrap_or_default() {
        "#" => Ok(()),
        pointer => json_pointer(pointer),
    }
}

fn uuid(text: &str) -> Result<(), String> {
    const LENGTHS: [usize; 5] = [8, 4, 4, 4, 12];
    let groups: Vec<&str> = text.split('-').collect();
    if groups.len() != LENGTHS.len() {
        return Err(format!("must have {} elements", LENGTHS.len()));
    }
    for (at, (group, length)) in groups.iter().zip(LENGTHS).enumerate() {
        if group.len() != length {
            return Err(format!(
                "element {} must be {length} characters long",
                at + 1
            ));
        }
        if let Some(c) = group.chars().find(|c| !c.is_ascii_hexdigit()) {
            return Err(format!("non-hex character {}", rune(c)));
        }
    }
    Ok(())
}

/// A character in quotes.
fn rune(c: char) -> String {
    match c {
        '\'' => "'\\''".to_owned(),
        '"' => "'\"'".to_owned(),
        c => {
            let text = crate::quote::quoted(c.encode_utf8(&mut [0; 4]));
            format!("'{}'", text.trim_matches('"'))
        }
    }
}

/// A number in Go's words.
fn atoi(text: &str) -> Result<i64, String> {
    let shown = crate::quote::quoted(text);
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("strconv.Atoi: parsing {shown}: invalid syntax"));
    }
    text.parse()
        .map_err(|_| format!("strconv.Atoi: parsing {shown}: value out of range"))
}

fn ipv4(text: &str) -> Result<(), String> {
    let groups: Vec<&str> = text.split('.').collect();
    if groups.len() != 4 {
        return fail("expected four decimals");
    }
    for group in groups {
        if group.len() > 1 && group.starts_with('0') {
            return fail("leading zeros");
        }
        if !(0..=255).contains(&atoi(group)?) {
            return fail("decimal must be between 0 and 255");
        }
    }
    Ok(())
}

fn ipv6(text: &str) -> Result<(), String> {
    if !text.contains(':') {
        return fail("missing colon");
    }
    if ip::v6(text)? {
        return fail("zone id is not a part of ipv6 address");
    }
    Ok(())
}

fn hostname(text: &str) -> Result<(), String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.len() > 253 {
        return fail("more than 253 characters long");
    }
    for label in text.split('.') {
        if label.is_empty() || label.len() > 63 {
            return fail("label must be 1 to 63 characters long");
        }
        if label.starts_with('-') {
            return fail("label starts with hyphen");
        }
        if label.ends_with('-') {
            return fail("label ends with hyphen");
        }
        let bad = |c: &char| !c.is_ascii_alphanumeric() && *c != '-';
        if let Some(c) = label.chars().find(bad) {
            return Err(format!("invalid character {}", rune(c)));
        }
    }
    Ok(())
}

fn email(text: &str) -> Result<(), String> {
    if text.len() > 254 {
        return fail("more than 255 characters long");
    }
    let Some((local, domain)) = text.rsplit_once('@') else {
        return fail("missing @");
    };
    if local.len() > 64 {
        return fail("local part more than 64 characters long");
    }
    if local.len() > 1 && local.starts_with('"') && local.ends_with('"') {
        let inner = local.get(1..local.len() - 1).unwrap_or_default();
        if inner.contains(['\\', '"']) {
            return fail("backslash and quote are not allowed within quoted local part");
        }
    } else {
        local_part(local)?;
    }
    if let Some(inner) = domain
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        return match inner.strip_prefix("IPv6:") {
            Some(address) => {
                ipv6(address).map_err(|error| format!("invalid ipv6 address: {error}"))
            }
            None => ipv4(inner).map_err(|error| format!("invalid ipv4 address: {error}")),
        };
    }
    hostname(domain).map_err(|error| format!("invalid domain: {error}"))
}

fn local_part(local: &str) -> Result<(), String> {
    if local.starts_with('.') {
        return fail("starts with dot");
    }
    if local.ends_with('.') {
        return fail("ends with dot");
    }
    if local.contains("..") {
        return fail("consecutive dots");
    }
    let bad = |c: &char| !c.is_ascii_alphanumeric() && !".!#$%&'*+-/=?^_`{|}~".contains(*c);
    match local.chars().find(bad) {
        Some(c) => Err(format!("invalid character {}", rune(c))),
        None => Ok(()),
    }
}

fn address(text: &str) -> Result<Address, String> {
    let address = Address::parse(text)?;
    if address.hostname.contains(':') {
        if !address.host.contains('[') || !address.host.contains(']') {
            return fail("ipv6 address not enclosed in brackets");
        }
        ipv6(&address.hostname).map_err(|error| format!("invalid ipv6 address: {error}"))?;
    }
    Ok(address)
}

fn uri(text: &str) -> Result<(), String> {
    if address(text)?.scheme.is_empty() {
        return fail("relative url");
    }
    Ok(())
}

fn uri_reference(text: &str) -> Result<(), String> {
    if text.contains('\\') {
        return fail("contains \\");
    }
    address(text).map(|_| ())
}

fn uri_template(text: &str) -> Result<(), String> {
    address(text)?;
    // Braces are told from the path alone.
    let path = text.split(['?', '#']).next().unwrap_or_default();
    let path = match path.split_once("://") {
        Some((_, rest)) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or(""),
        None => path,
    };
    for token in path.split('/') {
        let token =
            unescape_path(token).map_err(|error| format!("percent decode failed: {error}"))?;
        let mut open = false;
        for c in token.chars().filter(|c| matches!(c, '{' | '}')) {
            if (c == '{') == open {
                return fail("nested curly braces");
            }
            open = !open;
        }
        if open {
            return fail("no matching closing brace");
        }
    }
    Ok(())
}

fn semver(text: &str) -> Result<(), String> {
    let mut core = text;
    if let Some((rest, build)) = core.split_once('+') {
        if build.is_empty() {
            return fail("build is empty");
        }
        for id in build.split('.') {
            identifier(id, "build")?;
        }
        core = rest;
    }
    if let Some((rest, release)) = core.split_once('-') {
        for id in release.split('.') {
            identifier(id, "pre-release")?;
            let digits = id.bytes().all(|byte| byte.is_ascii_digit());
            if digits && id.len() > 1 && id.starts_with('0') {
                return fail("pre-release numeric identifier starts with zero");
            }
        }
        core = rest;
    }
    let numbers: Vec<&str> = core.split('.').collect();
    if numbers.len() != 3 {
        return fail("versionCore must have 3 numbers separated by dot");
    }
    for (number, name) in numbers.into_iter().zip(["major", "minor", "patch"]) {
        if number.is_empty() {
            return Err(format!("{name} is empty"));
        }
        if number.len() > 1 && number.starts_with('0') {
            return Err(format!("{name} starts with zero"));
        }
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!("{name} contains non-digit"));
        }
    }
    Ok(())
}

fn identifier(id: &str, kind: &str) -> Result<(), String> {
    if id.is_empty() {
        return Err(format!("{kind} identifier is empty"));
    }
    let bad = |c: &char| !c.is_ascii_alphanumeric() && *c != '-';
    match id.chars().find(bad) {
        Some(c) => Err(format!(
            "invalid character {} in {kind} identifier",
            rune(c)
        )),
        None => Ok(()),
    }
}
