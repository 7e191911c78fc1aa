//! The API server's refusals to change a field.

use std::sync::LazyLock;

use kzero_cluster::Refusal;
use regex::Regex;

use super::{FieldChange, Path, Segment};

/// What servers say of a field that cannot be changed once the object exists, in lower case.
const PHRASES: [&str; 10] = [
    "immutable",
    "may not change once set",
    "may not be changed",
    "may not be updated",
    "may not change fields other than",
    "cannot change roleref",
    "cannot be changed",
    "can not be changed",
    "cannot be updated",
    "can not be updated",
];

/// Names the fields that the server refuses to change because they cannot be changed at all; none if it refused for
/// another reason.
///
/// Where the server names no more than a whole structure (`updates to statefulset spec for fields other than …`) the
/// fields of `changes` inside it are named instead, but for those that it says may be changed. A refusal that also finds
/// other faults gives the immutable fields alone.
#[must_use]
pub fn immutable(refusal: &Refusal, changes: &[FieldChange]) -> Option<Vec<String>> {
    const INVALID: u16 = 422;
    if refusal.status != INVALID {
        return None;
    }
    let told: Vec<(String, String)> = if refusal.fields.is_empty() {
        faults(&refusal.message)
    } else {
        let fields = refusal.fields.iter();
        fields
            .map(|fault| (fault.field.clone(), fault.message.clone()))
            .collect()
    };
    let mut named: Vec<String> = Vec::new();
    for (field, message) in told.iter().filter(|(_, message)| is_immutable(message)) {
        for name in fields_inside(field, message, changes) {
            if !named.contains(&name) {
                named.push(name);
            }
        }
    }
    (!named.is_empty()).then_some(named)
}

fn is_immutable(message: &str) -> bool {
    let message = message.to_lowercase();
    let is_forbidden_update = message.contains("updates to ") && message.contains("forbidden");
    is_forbidden_update || PHRASES.iter().any(|phrase| message.contains(phrase))
}

/// Tells faults of a message apart, as path and text, for servers that give nothing but the message.
fn faults(message: &str) -> Vec<(String, String)> {
    static START: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?:is invalid: \[?|, )([A-Za-z][\w.\[\]/-]*): (?:Invalid value|Forbidden|Required value|Unsupported value)",
        )
        .ok()
    });
    let Some(start) = START.as_ref() else {
        return Vec::new();
    };
    let starts: Vec<_> = start.captures_iter(message).collect();
    let ends = starts
        .iter()
        .skip(1)
        .filter_map(|found| found.get(0))
        .map(|found| found.start());
    let told = starts
        .iter()
        .zip(ends.chain([message.len()]))
        .filter_map(|(found, end)| {
            let field = found.get(1)?;
            Some((
                field.as_str().to_owned(),
                message.get(field.end()..end)?.to_owned(),
            ))
        });
    told.collect()
}

/// The changed fields inside one that the server refuses as a whole, without those that it excepts; else that one.
fn fields_inside(field: &str, message: &str, changes: &[FieldChange]) -> Vec<String> {
    let excepted = exceptions(message);
    if excepted.is_empty() {
        return vec![field.to_owned()];
    }
    let inner = changes.iter().filter_map(|change| {
        let below = below(&change.path, field)?;
        let is_excepted = excepted.iter().any(|excepted| {
            let excepted = excepted
                .strip_prefix(&format!("{field}."))
                .unwrap_or(excepted);
            let rest = below.strip_prefix(excepted);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        (!is_excepted).then(|| change.path.to_string())
    });
    let inner: Vec<String> = inner.collect();
    if inner.is_empty() {
        vec![field.to_owned()]
    } else {
        inner
    }
}

/// The fields that may be changed, which servers list behind "other than" and "except".
fn exceptions(message: &str) -> Vec<String> {
    let list = ["other than ", "except "]
        .iter()
        .find_map(|word| message.split_once(word));
    let Some((_, list)) = list else {
        return Vec::new();
    };
    let first_line = list.lines().next().unwrap_or_default();
    let words =
        first_line.split(|c: char| c.is_whitespace() || matches!(c, '\'' | '`' | ',' | '"'));
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The path below a field, with `[*]` for elements of lists; none if it does not lead through the field.
fn below(path: &Path, field: &str) -> Option<String> {
    let mut text = String::new();
    for segment in path.segments() {
        match segment {
            Segment::Field(name) if text.is_empty() => text.push_str(name),
            Segment::Field(name) => {
                text.push('.');
                text.push_str(name);
            }
            Segment::Element(_) | Segment::Member(_) => text.push_str("[*]"),
        }
    }
    text.strip_prefix(field)?
        .strip_prefix('.')
        .map(str::to_owned)
}
