//! Names of objects, as Kubernetes takes them.

use crate::quote::quoted;

/// Whether an object of a kind may have a name; what a new kind is is taken to be a subdomain.
pub(super) fn check(kind: &str, name: &str) -> Result<(), String> {
    let faults = match kind.to_lowercase().as_str() {
        "service" => service(name),
        "namespace" => label(name),
        "certificatesigningrequest" => Vec::new(),
        "role" | "clusterrole" | "rolebinding" | "clusterrolebinding" => segment(name),
        _ => subdomain(name),
    };
    if faults.is_empty() {
        return Ok(());
    }
    let shown = quoted(name);
    let lines: Vec<String> = faults
        .iter()
        .map(|fault| format!("metadata.name: Invalid value: {shown}: {fault}"))
        .collect();
    let all = match lines.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    };
    Err(format!(
        "object name does not conform to Kubernetes naming requirements: {shown}: {all}"
    ))
}

fn too_long(name: &str, most: usize) -> Option<String> {
    (name.len() > most).then(|| format!("must be no more than {most} characters"))
}

fn is_small(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Small letters, digits and dashes, no dash at the ends.
fn is_label(name: &str) -> bool {
    let bytes = name.as_bytes();
    let end = |byte: Option<&u8>| byte.is_some_and(|byte| is_small(*byte));
    end(bytes.first())
        && end(bytes.last())
        && bytes.iter().all(|byte| is_small(*byte) || *byte == b'-')
}

fn is_subdomain(name: &str) -> bool {
    name.split('.').all(is_label)
}

fn subdomain(name: &str) -> Vec<String> {
    let mut faults: Vec<String> = too_long(name, 253).into_iter().collect();
    if !is_subdomain(name) {
        faults.push("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')".to_owned());
    }
    faults
}

fn label(name: &str) -> Vec<String> {
    let mut faults: Vec<String> = too_long(name, 63).into_iter().collect();
    if is_label(name) {
        return faults;
    }
    faults.push(if is_subdomain(name) {
        "must not contain dots".to_owned()
    } else {
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')".to_owned()
    });
    faults
}

fn service(name: &str) -> Vec<String> {
    let mut faults: Vec<String> = too_long(name, 63).into_iter().collect();
    if !is_label(name) || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        faults.push("a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')".to_owned());
    }
    faults
}

/// A part of a path of the API.
fn segment(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    let bad = ["/", "%"].into_iter().filter(|part| name.contains(part));
    bad.map(|part| format!("may not contain '{part}'"))
        .collect()
}
