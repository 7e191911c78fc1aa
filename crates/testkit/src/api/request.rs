//! Reading of a request: path, query, selectors.

use serde_json::Value;

use super::kinds::Kind;
use super::status::{Outcome, Refusal};
use crate::json;

/// A request that the server got, as tests see it.
#[derive(Debug, Clone)]
pub struct LoggedRequest {
    /// The method, e.g. `PATCH`.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The query as sent, without the question mark.
    pub query: String,
    /// The content type, or nothing.
    pub content_type: String,
    /// The body; null when there was none, a string when it was no JSON.
    pub body: Value,
    /// The status that was answered.
    pub status: u16,
}

impl LoggedRequest {
    /// Whether the request may have changed something (a dry-run does not).
    #[must_use]
    pub fn is_write(&self) -> bool {
        self.method != "GET"
            && !self.query.contains("dryRun=All")
            && !self.path.ends_with("reviews")
    }
}

/// A request, taken apart.
#[derive(Debug)]
pub(crate) struct Incoming<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: Query,
    pub(crate) content_type: &'a str,
    pub(crate) accept: &'a str,
    pub(crate) body: &'a [u8],
}

/// The parameters of a query.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: &str) -> Query {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        Query(
            pairs
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decode(name), decode(value))
                })
                .collect(),
        )
    }

    /// The first value of that name, or an empty text.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map_or("", |(_, value)| value)
    }

    pub(crate) fn is_true(&self, name: &str) -> bool {
        matches!(self.get(name), "true" | "1")
    }

    /// Whether nothing may be kept; an unknown mode is refused.
    pub(crate) fn dry_run(&self) -> Outcome<bool> {
        match self.get("dryRun") {
            "" => Ok(false),
            "All" => Ok(true),
            other => Err(Refusal::bad_request(format!(
                "dryRun: unsupported value {other:?}"
            ))),
        }
    }
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match escaped {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(if bytes[at] == b'+' { b' ' } else { bytes[at] });
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// What a path leads to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Version,
    Healthy,
    CoreVersions,
    Groups,
    Group(String),
    Resources(String, String),
    /// `selfsubjectaccessreviews`
    Review,
    Object(Target),
}

/// The resource that a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// Index in the table of kinds.
    pub(crate) kind: usize,
    /// Empty: all namespaces, or a kind without them.
    pub(crate) namespace: String,
    /// Empty: the collection.
    pub(crate) name: String,
    /// Empty: the object itself.
    pub(crate) sub: String,
}

/// Finds what `path` leads to.
pub(crate) fn route(kinds: &[Kind], path: &str) -> Outcome<Route> {
    let parts: Vec<String> = path
        .split('/')
        .filter(|part| !part.is_empty())
        .map(decode)
        .collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (group, version, rest) = match parts.as_slice() {
        ["version"] => return Ok(Route::Version),
        ["healthz" | "readyz" | "livez", ..] => return Ok(Route::Healthy),
        ["api"] => return Ok(Route::CoreVersions),
        ["apis"] => return Ok(Route::Groups),
        ["apis", group] => return Ok(Route::Group((*group).to_owned())),
        ["api", version] => return Ok(Route::Resources(String::new(), (*version).to_owned())),
        ["apis", group, version] => {
            return Ok(Route::Resources((*group).to_owned(), (*version).to_owned()));
        }
        [
            "apis",
            "authorization.k8s.io",
            "v1",
            "selfsubjectaccessreviews",
        ] => {
            return Ok(Route::Review);
        }
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return Err(Refusal::no_path()),
    };
    let (namespace, plural, name, sub) = match rest {
        ["watch", ..] => return Err(Refusal::unsupported("the old watch paths")),
        ["namespaces", name, sub @ ("status" | "finalize")] => ("", "namespaces", *name, *sub),
        ["namespaces", namespace, plural] => (*namespace, *plural, "", ""),
        ["namespaces", namespace, plural, name] => (*namespace, *plural, *name, ""),
        ["namespaces", namespace, plural, name, sub] => (*namespace, *plural, *name, *sub),
        [plural] => ("", *plural, "", ""),
        [plural, name] => ("", *plural, *name, ""),
        [plural, name, sub] => ("", *plural, *name, *sub),
        _ => return Err(Refusal::no_path()),
    };
    let kind = kinds
        .iter()
        .position(|kind| kind.is(group, plural) && kind.version == version)
        .ok_or_else(Refusal::no_path)?;
    if kinds[kind].namespaced == namespace.is_empty() && !(name.is_empty() && namespace.is_empty())
    {
        return Err(Refusal::no_path());
    }
    Ok(Route::Object(Target {
        kind,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        sub: sub.to_owned(),
    }))
}

/// Which objects of a collection a list or watch wants.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selector {
    labels: Vec<Requirement>,
    /// Path in the object, wanted value, whether it must be equal.
    fields: Vec<(&'static str, String, bool)>,
}

#[derive(Debug, Clone)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
}

/// Fields that a real server can select by, and where they are.
const FIELDS: &[(&str, &str, &str)] = &[
    ("", "metadata.name", "/metadata/name"),
    ("", "metadata.namespace", "/metadata/namespace"),
    ("Pod", "spec.nodeName", "/spec/nodeName"),
    ("Pod", "status.phase", "/status/phase"),
    ("Namespace", "status.phase", "/status/phase"),
    ("Secret", "type", "/type"),
    ("Event", "type", "/type"),
    ("Event", "reason", "/reason"),
    ("Event", "involvedObject.kind", "/involvedObject/kind"),
    ("Event", "involvedObject.name", "/involvedObject/name"),
    (
        "Event",
        "involvedObject.namespace",
        "/involvedObject/namespace",
    ),
    ("Event", "involvedObject.uid", "/involvedObject/uid"),
    ("Job", "status.successful", "/status/succeeded"),
];

impl Selector {
    pub(crate) fn parse(query: &Query, kind: &Kind) -> Outcome<Selector> {
        Ok(Selector {
            labels: parse_labels(query.get("labelSelector"))?,
            fields: parse_fields(query.get("fieldSelector"), kind)?,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        let labels = json::map(object, "/metadata/labels");
        let label = |name: &str| labels.and_then(|labels| labels.get(name)?.as_str());
        self.labels.iter().all(|requirement| match requirement {
            Requirement::In(name, values) => {
                label(name).is_some_and(|value| values.iter().any(|one| one == value))
            }
            Requirement::NotIn(name, values) => {
                !label(name).is_some_and(|value| values.iter().any(|one| one == value))
            }
            Requirement::Exists(name) => label(name).is_some(),
            Requirement::Absent(name) => label(name).is_none(),
        }) && self
            .fields
            .iter()
            .all(|(path, value, equal)| (json::text(object, path) == value) == *equal)
    }
}

fn parse_fields(text: &str, kind: &Kind) -> Outcome<Vec<(&'static str, String, bool)>> {
    let mut fields = Vec::new();
    for term in text.split(',').filter(|term| !term.is_empty()) {
        let (name, value, equal) = equation(term)
            .ok_or_else(|| Refusal::bad_request(format!("invalid field selector {term:?}")))?;
        let (_, _, path) = FIELDS
            .iter()
            .find(|(only, field, _)| *field == name && (only.is_empty() || *only == kind.kind))
            .ok_or_else(|| Refusal::bad_request(format!("field label not supported: {name}")))?;
        fields.push((*path, value.to_owned(), equal));
    }
    Ok(fields)
}

/// `a=b`, `a==b`, `a!=b`
fn equation(term: &str) -> Option<(&str, &str, bool)> {
    if let Some((name, value)) = term.split_once("!=") {
        return Some((name.trim(), value.trim(), false));
    }
    let (name, value) = term.split_once("==").or_else(|| term.split_once('='))?;
    Some((name.trim(), value.trim(), true))
}

fn parse_labels(text: &str) -> Outcome<Vec<Requirement>> {
    split_outside_brackets(text)
        .into_iter()
        .map(|term| {
            parse_label(term).ok_or_else(|| {
                Refusal::bad_request(format!("unable to parse requirement {term:?}"))
            })
        })
        .collect()
}

fn parse_label(term: &str) -> Option<Requirement> {
    if let Some((head, values)) = term.strip_suffix(')').and_then(|term| term.split_once('(')) {
        let values = values.split(',').map(|value| value.trim().to_owned());
        let (name, operator) = head.trim().split_once(char::is_whitespace)?;
        return match operator.trim() {
            "in" => Some(Requirement::In(name.to_owned(), values.collect())),
            "notin" => Some(Requirement::NotIn(name.to_owned(), values.collect())),
            _ => None,
        };
    }
    if let Some((name, value, equal)) = equation(term) {
        let (name, values) = (name.to_owned(), vec![value.to_owned()]);
        return Some(if equal {
            Requirement::In(name, values)
        } else {
            Requirement::NotIn(name, values)
        });
    }
    let (name, absent) = match term.strip_prefix('!') {
        Some(name) => (name.trim(), true),
        None => (term, false),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if name.is_empty() || !name.chars().all(plain) {
        return None;
    }
    Some(if absent {
        Requirement::Absent(name.to_owned())
    } else {
        Requirement::Exists(name.to_owned())
    })
}

fn split_outside_brackets(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut depth) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                terms.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(text[start..].trim());
    terms.retain(|term| !term.is_empty());
    terms
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::kinds;

    fn kind(plural: &str) -> Kind {
        kinds::builtin()
            .into_iter()
            .find(|kind| kind.plural == plural)
            .unwrap()
    }

    #[test]
    fn paths_lead_to_objects_collections_and_subresources() {
        let kinds = kinds::builtin();
        let found = |path: &str| match route(&kinds, path).unwrap() {
            Route::Object(target) => format!(
                "{} {} {} {}",
                kinds[target.kind].plural, target.namespace, target.name, target.sub
            ),
            other => format!("{other:?}"),
        };
        let rows = [
            ("/api/v1/namespaces/app", "namespaces  app "),
            ("/api/v1/namespaces/app/status", "namespaces  app status"),
            ("/api/v1/namespaces/app/pods", "pods app  "),
            ("/api/v1/pods", "pods   "),
            (
                "/apis/apps/v1/namespaces/app/deployments/api/scale",
                "deployments app api scale",
            ),
            ("/apis/apps", "Group(\"apps\")"),
        ];
        for (path, wanted) in rows {
            assert_eq!(found(path), wanted, "{path}");
        }
        for path in [
            "/apis/apps/v2/deployments",
            "/nowhere",
            "/api/v1/pods/a",
            "/api/v1/namespaces/x/nodes",
        ] {
            assert_eq!(route(&kinds, path).unwrap_err().code, 404, "{path}");
        }
    }

    #[test]
    fn selectors_choose_by_label_and_field() {
        let pod = json!({
            "metadata": {"name": "a", "labels": {"app": "web", "tier": "front"}},
            "status": {"phase": "Running"},
        });
        let rows = [
            ("labelSelector=app%3Dweb", true),
            ("labelSelector=app!%3Dweb", false),
            ("labelSelector=app in (api,web),tier", true),
            ("labelSelector=app notin (web)", false),
            ("labelSelector=!tier", false),
            ("labelSelector=!missing", true),
            ("fieldSelector=metadata.name=a,status.phase!=Failed", true),
            ("fieldSelector=metadata.name=b", false),
        ];
        for (query, wanted) in rows {
            let selector = Selector::parse(&Query::parse(query), &kind("pods")).unwrap();
            assert_eq!(selector.matches(&pod), wanted, "{query}");
        }
        let wrong = Query::parse("fieldSelector=spec.replicas=1");
        assert_eq!(
            Selector::parse(&wrong, &kind("deployments"))
                .unwrap_err()
                .code,
            400
        );
    }
}
