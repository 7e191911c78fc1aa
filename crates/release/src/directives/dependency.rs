//! Dependencies between objects.
//!
//! The grammar is that of werf 2: `state=ready,kind=Job,name=migrate`, with the older keys
//! `<id>.external-dependency.werf.io` and `<id>.dependency.werf.io` taken as well.

use std::collections::BTreeMap;

use super::{DirectiveError, Directives, Reader};
use crate::resource::{Resource, ResourceId, shown_id};

/// What an object waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// The annotation, for messages.
    pub key: String,
    /// Which objects.
    pub matcher: Matcher,
    /// What must be true of them.
    pub state: State,
    /// Whether they are outside of the release.
    pub external: External,
}

/// What must be true of an object that others wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// It is there.
    Present,
    /// It is ready.
    Ready,
    /// It is gone.
    Absent,
}

impl State {
    /// The word in annotations.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Ready => "ready",
            Self::Absent => "absent",
        }
    }
}

/// Whether a dependency is outside of the release.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum External {
    /// If nothing in the release matches.
    #[default]
    Auto,
    /// Always.
    True,
    /// Never.
    False,
}

/// Which objects are meant; what is `None` is any. Groups, versions and kinds match in any letter case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matcher {
    /// The name.
    pub name: Option<String>,
    /// The namespace; `None` is that of the release where one object must be meant.
    pub namespace: Option<String>,
    /// The kind.
    pub kind: Option<String>,
    /// The group.
    pub group: Option<String>,
    /// The version.
    pub version: Option<String>,
    /// The name of the kind in paths, for the oldest form of external dependencies, which names no kind.
    pub plural: Option<String>,
}

impl Matcher {
    /// Whether an object is meant. `version` is that of its kind, `plural` the name of its kind in paths.
    #[must_use]
    pub fn matches(&self, id: &ResourceId, version: &str, plural: &str) -> bool {
        let same = |wanted: &Option<String>, found: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == found)
        };
        let like = |wanted: &Option<String>, found: &str| {
            wanted
                .as_deref()
                .is_none_or(|wanted| wanted.eq_ignore_ascii_case(found))
        };
        same(&self.name, &id.name)
            && same(&self.namespace, &id.namespace)
            && like(&self.kind, &id.kind)
            && like(&self.group, &id.group)
            && like(&self.version, version)
            && like(&self.plural, plural)
    }

    /// What is meant, for messages: `Job app/migrate`.
    #[must_use]
    pub fn shown(&self) -> String {
        let kind = self
            .kind
            .as_deref()
            .or(self.plural.as_deref())
            .unwrap_or("any kind");
        let name = self.name.as_deref().unwrap_or("*");
        shown_id(kind, self.namespace.as_deref().unwrap_or_default(), name)
    }
}

/// Reads the key if it is one of a dependency.
pub(super) fn read(
    reader: &Reader<'_>,
    key: &str,
    value: &str,
    found: &mut Directives,
) -> Result<bool, DirectiveError> {
    let (list, deletes) = if named(key, "werf.io/deploy-dependency-") {
        (&mut found.deploy_dependencies, false)
    } else if named(key, "werf.io/delete-dependency-") {
        (&mut found.delete_dependencies, true)
    } else {
        return older(reader, key, value, found);
    };
    list.push(parse(reader, key, value, deletes)?);
    Ok(true)
}

fn named(key: &str, prefix: &str) -> bool {
    key.len() > prefix.len() && key.starts_with(prefix)
}

fn parse(
    reader: &Reader<'_>,
    key: &str,
    value: &str,
    deletes: bool,
) -> Result<Dependency, DirectiveError> {
    let wrong = |expected: &str| reader.wrong(key, value, expected);
    let mut matcher = Matcher::default();
    let (mut state, mut external) = (None, External::Auto);
    for (name, given) in properties(value)
        .ok_or_else(|| wrong("a list of name=value, separated by commas, with quotes closed"))?
    {
        let text = match (&given, name.as_str()) {
            (Some(text), _) if !text.is_empty() => text.clone(),
            (None, "external") => "true".to_owned(),
            (None, "noexternal") => {
                external = External::False;
                continue;
            }
            _ => return Err(wrong(&format!("complete: {name} needs a value"))),
        };
        match name.as_str() {
            "state" => {
                state = Some(match (text.as_str(), deletes) {
                    ("present", false) => State::Present,
                    ("ready", false) => State::Ready,
                    ("absent", true) => State::Absent,
                    (_, false) => {
                        return Err(wrong("a dependency with state=present or state=ready"));
                    }
                    (_, true) => return Err(wrong("a dependency with state=absent")),
                });
            }
            "external" => {
                external = match text.as_str() {
                    "auto" => External::Auto,
                    "true" => External::True,
                    "false" => External::False,
                    _ => return Err(wrong("a dependency with external=auto, true or false")),
                }
            }
            "name" => matcher.name = Some(text),
            "namespace" => matcher.namespace = Some(text),
            "kind" => matcher.kind = Some(text),
            "group" => matcher.group = Some(text),
            "version" => matcher.version = Some(text),
            _ => {
                return Err(wrong(
                    "a dependency: it may have state, name, namespace, kind, group, version and external",
                ));
            }
        }
    }
    if matcher == Matcher::default() {
        return Err(wrong(
            "a dependency that says on what: name, namespace, kind, group or version",
        ));
    }
    let state = match (state, deletes) {
        (Some(state), _) => state,
        (None, true) => State::Absent,
        (None, false) => return Err(wrong("a dependency with state=present or state=ready")),
    };
    if external == External::True
        && (matcher.name.is_none() || matcher.kind.is_none() || matcher.version.is_none())
    {
        return Err(wrong(
            "complete: an external dependency needs name, kind and version",
        ));
    }
    Ok(Dependency {
        key: key.to_owned(),
        matcher,
        state,
        external,
    })
}

/// Takes `a=b,c="d, e",f` apart; names in lower case, `None` for one without a value.
fn properties(text: &str) -> Option<Vec<(String, Option<String>)>> {
    let mut found = Vec::new();
    let mut rest = text.chars().peekable();
    while rest.peek().is_some() {
        let mut name = String::new();
        while let Some(c) = rest.next_if(|c| !matches!(c, '=' | ',')) {
            name.push(c);
        }
        let name = name.trim().to_lowercase();
        let mut value = None;
        if rest.next_if_eq(&'=').is_some() {
            while rest.next_if(|c| c.is_whitespace()).is_some() {}
            value = Some(match rest.next_if(|c| matches!(c, '"' | '\'')) {
                Some(quote) => quoted(&mut rest, quote)?,
                None => {
                    let mut plain = String::new();
                    while let Some(c) = rest.next_if(|c| *c != ',') {
                        plain.push(c);
                    }
                    plain.trim().to_owned()
                }
            });
        }
        while rest.next_if(|c| c.is_whitespace()).is_some() {}
        match rest.next() {
            None | Some(',') => {}
            Some(_) => return None,
        }
        if !name.is_empty() || value.is_some() {
            found.push((name, value));
        }
    }
    Some(found)
}

fn quoted(rest: &mut impl Iterator<Item = char>, quote: char) -> Option<String> {
    let mut text = String::new();
    loop {
        match rest.next()? {
            '\\' => text.push(rest.next()?),
            c if c == quote => return Some(text),
            c => text.push(c),
        }
    }
}

/// The keys of werf 1: `<id>.external-dependency.werf.io: apiVersion:kind[:namespace]:name`, the same with `/resource`
/// and `/namespace`, and `<id>.dependency.werf.io`.
fn older(
    reader: &Reader<'_>,
    key: &str,
    value: &str,
    found: &mut Directives,
) -> Result<bool, DirectiveError> {
    let (domain, part) = key
        .split_once('/')
        .map_or((key, None), |(domain, part)| (domain, Some(part)));
    let external = if domain.len() > ".external-dependency.werf.io".len()
        && domain.ends_with(".external-dependency.werf.io")
    {
        External::True
    } else if domain.len() > ".dependency.werf.io".len() && domain.ends_with(".dependency.werf.io")
    {
        External::False
    } else {
        return Ok(false);
    };
    let matcher = match part {
        None => colons(value)
            .ok_or_else(|| reader.wrong(key, value, "apiVersion:kind[:namespace]:name"))?,
        Some("resource") => {
            slashed(value).ok_or_else(|| reader.wrong(key, value, "type[.version.group]/name"))?
        }
        // Belongs to the one with `/resource`; see `normalize`.
        Some("namespace") => Matcher {
            namespace: Some(value.to_owned()),
            ..Matcher::default()
        },
        Some(_) => return Ok(false),
    };
    found.deploy_dependencies.push(Dependency {
        key: key.to_owned(),
        matcher,
        state: State::Present,
        external,
    });
    Ok(true)
}

fn colons(value: &str) -> Option<Matcher> {
    let parts: Vec<&str> = value.split(':').collect();
    let (api_version, kind, namespace, name) = match *parts.as_slice() {
        [api_version, kind, name] => (api_version, kind, None, name),
        [api_version, kind, namespace, name] => (api_version, kind, Some(namespace), name),
        _ => return None,
    };
    if api_version.is_empty() || kind.is_empty() || name.is_empty() {
        return None;
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Some(Matcher {
        name: Some(name.to_owned()),
        namespace: namespace.filter(|text| !text.is_empty()).map(str::to_owned),
        kind: Some(kind.to_owned()),
        group: Some(group.to_owned()),
        version: Some(version.to_owned()),
        plural: None,
    })
}

fn slashed(value: &str) -> Option<Matcher> {
    let (kind, name) = value.split_once('/')?;
    let mut parts = kind.splitn(3, '.');
    let plural = parts
        .next()
        .filter(|plural| !plural.is_empty() && *plural != "all")?;
    let (version, group) = (parts.next(), parts.next());
    if name.is_empty()
        || name.contains('/')
        || version.is_some_and(str::is_empty)
        || group.is_some_and(str::is_empty)
    {
        return None;
    }
    Some(Matcher {
        name: Some(name.to_owned()),
        plural: Some(plural.to_owned()),
        version: version.map(str::to_owned),
        group: group.map(str::to_owned),
        ..Matcher::default()
    })
}

/// Joins the parts of older keys, and takes dependencies off what has none.
pub(super) fn normalize(found: &mut Directives, resource: &Resource) {
    let mut namespaces = BTreeMap::new();
    found.deploy_dependencies.retain(|dependency| {
        let Some(id) = dependency.key.strip_suffix("/namespace") else {
            return true;
        };
        namespaces.insert(id.to_owned(), dependency.matcher.namespace.clone());
        false
    });
    for dependency in &mut found.deploy_dependencies {
        if let Some(id) = dependency.key.strip_suffix("/resource")
            && let Some(namespace) = namespaces.get(id)
        {
            dependency.matcher.namespace.clone_from(namespace);
        }
    }
    if resource.id.kind == "CustomResourceDefinition"
        || (resource.id.kind == "Namespace" && resource.id.group.is_empty())
    {
        // They come before everything else, in a stage of their own.
        found.weight = 0;
        if !found.deploy_dependencies.is_empty() {
            found.warnings.push(format!(
                "{}: its dependencies have no effect: it is deployed before everything else",
                resource.id
            ));
            found.deploy_dependencies.clear();
        }
    }
}
