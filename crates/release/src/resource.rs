//! Objects of a release: rendered documents as what is applied.
//!
//! Duty: read documents, take lists apart, put objects into the release's namespace, tell which is which, and mark them as
//! the release's own.

mod metadata;
mod names;

use std::fmt;

use kzero_chart::manifest::{Hook, Manifest};
use kzero_chart::yaml;
use kzero_cluster::{ApiResource, Discovery};
use serde_json::{Value, json};

use crate::shown::plain;
pub(crate) use names::label_fault;

/// The label that says who manages an object, and its value.
pub const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "Helm");
/// The annotation with the name of the release that an object belongs to.
pub const RELEASE_NAME: &str = "meta.helm.sh/release-name";
/// The annotation with the namespace of that release.
pub const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";

/// Lists nested deeper than this are no lists of objects.
const MAX_LIST_DEPTH: usize = 16;

/// Which object it is, whatever the version of its kind. Displays as `ConfigMap app/settings`, with what a terminal would
/// obey escaped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId {
    /// The group of its kind; empty for the core group.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty for kinds without one.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown_id(&self.kind, &self.namespace, &self.name))
    }
}

/// An object in words, such as `ConfigMap app/settings`; the namespace may be empty.
#[must_use]
pub fn shown_id(kind: &str, namespace: &str, name: &str) -> String {
    let (kind, name) = (plain(kind), plain(name));
    if namespace.is_empty() {
        format!("{kind} {name}")
    } else {
        format!("{kind} {}/{name}", plain(namespace))
    }
}

/// What part of a release an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A file of `crds/`.
    Crd,
    /// A document of a template.
    Manifest,
    /// A hook, by its place among the hooks of the revision.
    Hook(usize),
}

/// An object of a release.
#[derive(Debug, Clone, PartialEq)]
pub struct Resource {
    /// Which one.
    pub id: ResourceId,
    /// Where its kind is served.
    pub api: ApiResource,
    /// The object as the chart wants it, with its namespace, without marks of the release.
    pub object: Value,
    /// The file it came from.
    pub path: String,
    /// What part of the release it is.
    pub role: Role,
}

/// A document that is no object that can be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResourceError {
    /// It does not read.
    #[error(
        "unable to build kubernetes objects from release manifest: {path}: {message}\nhint: mend the template {path}; `kzero chart template` shows what it renders to"
    )]
    Unreadable {
        /// Its file.
        path: String,
        /// What is wrong.
        message: String,
    },
    /// A field is of another type than the API server reads.
    #[error(
        "unable to build kubernetes objects from release manifest: {said}\nhint: {path}: {object}: {place} {expected}"
    )]
    Mistyped {
        /// Its file.
        path: String,
        /// The object, as far as it has a name.
        object: String,
        /// The field.
        place: String,
        /// Helm's words.
        said: String,
        /// What was expected, and what is there.
        expected: String,
    },
    /// It has no name.
    #[error(
        "unable to build kubernetes objects from release manifest: {path}: a {kind} without metadata.name: resource name may not be empty\nhint: give it a name{more}"
    )]
    Nameless {
        /// Its file.
        path: String,
        /// Its kind.
        kind: String,
        /// What more is to be said.
        more: &'static str,
    },
    /// The API server takes no such name or namespace.
    #[error(
        "unable to build kubernetes objects from release manifest: {path}: {kind} {value:?} is invalid: {field}: Invalid value: {value:?}: {fault}\nhint: change {field} in the template {path}; the API server takes no such {kind}, so nothing was begun"
    )]
    Misnamed {
        /// Its file.
        path: String,
        /// Its kind.
        kind: String,
        /// `metadata.name` or `metadata.namespace`.
        field: &'static str,
        /// What stands there.
        value: String,
        /// What is wrong with it, in the API server's words.
        fault: String,
    },
    /// Its kind is not served.
    #[error(
        "unable to build kubernetes objects from release manifest: resource mapping not found for name: {name:?} namespace: {namespace:?} from \"\": no matches for kind {kind:?} in version {api_version:?}\nensure CRDs are installed first\nhint: {path} needs this kind; `kubectl api-resources` lists those that are served"
    )]
    UnknownKind {
        /// Its file.
        path: String,
        /// `apiVersion`.
        api_version: String,
        /// `kind`.
        kind: String,
        /// `metadata.name`.
        name: String,
        /// `metadata.namespace`, as it stands there.
        namespace: String,
    },
    /// Two documents are one object.
    #[error(
        "{id} is in the release twice: in {first} and in {second}\nhint: rename one of them, or render one of them only"
    )]
    Twice {
        /// The object.
        id: Box<ResourceId>,
        /// The file of the first.
        first: String,
        /// The file of the second.
        second: String,
    },
}

/// What is served, with the kinds that definitions of the release will add.
#[derive(Debug, Clone, Default)]
pub struct Kinds {
    discovery: Discovery,
    defined: Vec<ApiResource>,
}

impl Kinds {
    /// What the server serves.
    #[must_use]
    pub fn new(discovery: Discovery) -> Self {
        Self {
            discovery,
            defined: Vec::new(),
        }
    }

    /// What was asked of the server.
    #[must_use]
    pub fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    /// Adds the kinds of a `CustomResourceDefinition`; other objects add none.
    pub fn define(&mut self, object: &Value) {
        if text(object, "/kind") != "CustomResourceDefinition" {
            return;
        }
        let group = text(object, "/spec/group");
        let names = text(object, "/spec/names/kind");
        let plural = text(object, "/spec/names/plural");
        let versions = object.pointer("/spec/versions").and_then(Value::as_array);
        for version in versions.into_iter().flatten() {
            if version.get("served").and_then(Value::as_bool) != Some(true) {
                continue;
            }
            self.defined.push(ApiResource {
                group_version: format!("{group}/{}", text(version, "/name")),
                kind: names.to_owned(),
                plural: plural.to_owned(),
                namespaced: text(object, "/spec/scope") != "Cluster",
            });
        }
    }

    /// Where a kind is served, or will be.
    #[must_use]
    pub fn resource(&self, api_version: &str, kind: &str) -> Option<&ApiResource> {
        self.discovery.resource(api_version, kind).or_else(|| {
            self.defined
                .iter()
                .find(|known| known.group_version == api_version && known.kind == kind)
        })
    }

    /// All kinds that are served, or will be.
    pub fn all(&self) -> impl Iterator<Item = &ApiResource> {
        self.discovery.resources.iter().chain(&self.defined)
    }

    /// Whether the release itself defines a kind.
    fn is_defined(&self, api: &ApiResource) -> bool {
        self.defined.contains(api)
    }

    /// Whether the server itself serves a kind.
    #[must_use]
    pub fn is_served(&self, api: &ApiResource) -> bool {
        self.discovery
            .resource(&api.group_version, &api.kind)
            .is_some()
    }

    /// Where a kind is served under any version of its group, for manifests whose version is gone (S-D.27).
    #[must_use]
    pub fn any_version(&self, api_version: &str, kind: &str) -> Option<&ApiResource> {
        if let Some(found) = self.resource(api_version, kind) {
            return Some(found);
        }
        let wanted = group_of(api_version);
        let moved = moved_group(wanted, kind);
        self.all()
            .find(|known| known.kind == kind && group_of(&known.group_version) == wanted)
            .or_else(|| {
                self.all().find(|known| {
                    known.kind == kind && Some(group_of(&known.group_version)) == moved
                })
            })
    }
}

/// Where kinds of the group `extensions` live now. The table is short and will not grow: the group is gone since 1.22.
fn moved_group(group: &str, kind: &str) -> Option<&'static str> {
    if group != "extensions" {
        return None;
    }
    Some(match kind {
        "Ingress" | "NetworkPolicy" => "networking.k8s.io",
        "Deployment" | "DaemonSet" | "ReplicaSet" => "apps",
        _ => return None,
    })
}

/// The group of `group/version`; empty for the core group.
#[must_use]
pub fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// A text in an object; empty if it is not there or no text.
#[must_use]
pub fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// A document with the place it came from.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    /// Its text.
    pub text: &'a str,
    /// Its file.
    pub path: &'a str,
    /// What part of the release it is.
    pub role: Role,
}

impl<'a> From<&'a Manifest> for Document<'a> {
    fn from(manifest: &'a Manifest) -> Self {
        Self {
            text: &manifest.content,
            path: &manifest.path,
            role: Role::Manifest,
        }
    }
}

impl<'a> Document<'a> {
    /// The document of a hook.
    #[must_use]
    pub fn hook(index: usize, hook: &'a Hook) -> Self {
        Self {
            text: &hook.manifest,
            path: &hook.path,
            role: Role::Hook(index),
        }
    }
}

/// How kinds are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// Each kind must be served in its very version: what is about to be applied.
    Exact,
    /// A kind of a version that is gone is taken under another one: what was applied once (S-D.27).
    Stored,
}

/// What documents came to.
#[derive(Debug, Default)]
pub struct Built {
    /// Their objects, in order.
    pub resources: Vec<Resource>,
    /// Objects that cannot be on the server, each with the reason; only with [`Lookup::Stored`].
    pub gone: Vec<String>,
}

/// How documents are read.
#[derive(Clone, Copy)]
struct Reading<'a> {
    namespace: &'a str,
    kinds: &'a Kinds,
    lookup: Lookup,
}

/// Reads documents into objects of a release.
///
/// # Errors
///
/// A document that does not read, that has no name or one that the API server does not take, or whose kind is not served.
pub fn build(
    documents: &[Document<'_>],
    namespace: &str,
    kinds: &Kinds,
    lookup: Lookup,
) -> Result<Built, ResourceError> {
    let reading = Reading {
        namespace,
        kinds,
        lookup,
    };
    let mut built = Built::default();
    for document in documents {
        let failed = |message: String| ResourceError::Unreadable {
            path: document.path.to_owned(),
            message,
        };
        let value =
            yaml::decode_object(document.text).map_err(|error| failed(error.to_string()))?;
        for object in objects(value).map_err(failed)? {
            place(object, document, reading, &mut built)?;
        }
    }
    Ok(built)
}

fn place(
    mut object: Value,
    document: &Document<'_>,
    reading: Reading<'_>,
    built: &mut Built,
) -> Result<(), ResourceError> {
    let Reading { kinds, lookup, .. } = reading;
    let is_stored = lookup == Lookup::Stored;
    let (api_version, kind) = (
        text(&object, "/apiVersion").to_owned(),
        text(&object, "/kind").to_owned(),
    );
    if !is_stored {
        check_types(&object, document.path)?;
    }
    let name = name_of(&mut object, document);
    let own = text(&object, "/metadata/namespace").to_owned();
    let found = match lookup {
        Lookup::Exact => kinds.resource(&api_version, &kind),
        Lookup::Stored => kinds.any_version(&api_version, &kind),
    };
    let Some(api) = found else {
        if is_stored {
            let id = shown_id(&kind, "", &name);
            let why = "the API server no longer has this kind";
            built.gone.push(format!("{id}: {why}"));
            return Ok(());
        }
        return Err(ResourceError::UnknownKind {
            path: document.path.to_owned(),
            api_version,
            kind,
            name,
            namespace: plain(&own).into_owned(),
        });
    };
    if name.is_empty() {
        return Err(ResourceError::Nameless {
            path: document.path.to_owned(),
            kind,
            more: match text(&object, "/metadata/generateName") {
                "" => "",
                _ => {
                    ": metadata.generateName is for hooks alone, since an upgrade could not tell which object it made"
                }
            },
        });
    }
    let namespace = match (api.namespaced, own.is_empty()) {
        (false, _) => String::new(),
        (true, true) => reading.namespace.to_owned(),
        (true, false) => own,
    };
    let id = ResourceId {
        group: group_of(&api.group_version).to_owned(),
        kind,
        namespace,
        name,
    };
    match misnamed(&id, document.path, kinds.is_defined(api)) {
        None => {}
        Some(wrong) if is_stored => {
            built.gone.push(format!("{id}: {}", wrong.1));
            return Ok(());
        }
        Some(wrong) => return Err(wrong.0),
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        if id.namespace.is_empty() {
            metadata.remove("namespace");
        } else {
            metadata.insert("namespace".into(), id.namespace.clone().into());
        }
    }
    if api.group_version != api_version {
        object["apiVersion"] = api.group_version.clone().into();
    }
    built.resources.push(Resource {
        id,
        api: api.clone(),
        object,
        path: document.path.to_owned(),
        role: document.role,
    });
    Ok(())
}

/// Fails if a field is of another type than the API server reads.
fn check_types(object: &Value, path: &str) -> Result<(), ResourceError> {
    let failed =
        |object: String, place: &str, said: String, expected: String| ResourceError::Mistyped {
            path: path.to_owned(),
            object,
            place: plain(place).into_owned(),
            said,
            expected,
        };
    for field in ["apiVersion", "kind"] {
        if let Some(value) = object.get(field).filter(|value| !value.is_string()) {
            let said =
                format!("error validating \"\": error validating data: {field} isn't string type");
            let expected = format!("must be a text and is {}", shape(value));
            return Err(failed("a document".to_owned(), field, said, expected));
        }
    }
    let Some(wrong) = metadata::mistyped(object) else {
        return Ok(());
    };
    let name = match object.pointer("/metadata/name") {
        Some(Value::String(name)) => name.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let id = shown_id(text(object, "/kind"), "", &name);
    Err(failed(id, &wrong.place, wrong.said, wrong.expected))
}

/// The name of an object. A hook may leave it to the API server; it gets one here, of the same form, so that it is known
/// whatever becomes of the answer.
fn name_of(object: &mut Value, document: &Document<'_>) -> String {
    let name = text(object, "/metadata/name").to_owned();
    let prefix = text(object, "/metadata/generateName").to_owned();
    let Role::Hook(number) = document.role else {
        return name;
    };
    if !name.is_empty() || prefix.is_empty() {
        return name;
    }
    let made = names::generated(&prefix, &format!("{number} {}", document.path));
    object["metadata"]["name"] = made.clone().into();
    made
}

/// What is wrong with the name or namespace of an object, as an error and in a few words.
fn misnamed(id: &ResourceId, path: &str, is_custom: bool) -> Option<(ResourceError, String)> {
    let in_name = names::fault(&id.group, &id.kind, &id.name, is_custom)
        .map(|fault| ("metadata.name", &id.name, fault));
    let in_namespace = || {
        let is_set = !id.namespace.is_empty();
        let fault = label_fault(&id.namespace).filter(|_| is_set)?;
        Some(("metadata.namespace", &id.namespace, fault))
    };
    let (field, value, fault) = in_name.or_else(in_namespace)?;
    let error = ResourceError::Misnamed {
        path: path.to_owned(),
        kind: id.kind.clone(),
        field,
        value: value.clone(),
        fault,
    };
    Some((error, format!("no object can have this {field}")))
}

/// The objects of a document: those of a list one by one, none of an empty one.
///
/// # Errors
///
/// It is no object, or lists are in lists without end.
pub fn objects(document: Value) -> Result<Vec<Value>, String> {
    let mut found = Vec::new();
    flatten(document, &mut found, 0)?;
    Ok(found)
}

fn flatten(document: Value, objects: &mut Vec<Value>, depth: usize) -> Result<(), String> {
    if depth > MAX_LIST_DEPTH {
        return Err("lists in lists without end".to_owned());
    }
    let is_list = text(&document, "/kind").ends_with("List");
    match document {
        Value::Null => {}
        Value::Object(mut map) if is_list && map.get("items").is_some_and(Value::is_array) => {
            if let Some(Value::Array(items)) = map.remove("items") {
                for item in items {
                    flatten(item, objects, depth + 1)?;
                }
            }
        }
        Value::Object(map) => objects.push(Value::Object(map)),
        other => return Err(format!("an object was expected, found {}", shape(&other))),
    }
    Ok(())
}

fn shape(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

/// Fails if two documents are one object. Hooks may repeat what is elsewhere, as they are created and deleted on their own.
///
/// # Errors
///
/// The first pair.
pub fn check_unique(resources: &[Resource]) -> Result<(), ResourceError> {
    let mut seen: std::collections::HashMap<&ResourceId, &str> = std::collections::HashMap::new();
    let own = resources
        .iter()
        .filter(|resource| resource.role == Role::Manifest);
    for resource in own {
        if let Some(first) = seen.insert(&resource.id, &resource.path) {
            return Err(ResourceError::Twice {
                id: Box::new(resource.id.clone()),
                first: first.to_owned(),
                second: resource.path.clone(),
            });
        }
    }
    Ok(())
}

/// Marks an object as a release's own, as is done just before it is written.
pub fn mark(object: &mut Value, release: &str, namespace: &str) {
    let marks = [
        ("labels", MANAGED_BY.0, MANAGED_BY.1),
        ("annotations", RELEASE_NAME, release),
        ("annotations", RELEASE_NAMESPACE, namespace),
    ];
    let Some(metadata) = object
        .as_object_mut()
        .map(|object| object.entry("metadata").or_insert_with(|| json!({})))
    else {
        return;
    };
    for (table, key, value) in marks {
        if !metadata.get(table).is_some_and(Value::is_object) {
            metadata[table] = json!({});
        }
        metadata[table][key] = value.into();
    }
}

/// Why an object does not belong to a release, in Helm's words; nothing if it does.
#[must_use]
pub fn ownership_faults(object: &Value, release: &str, namespace: &str) -> Vec<String> {
    let wanted = [
        ("label", "labels", MANAGED_BY.0, MANAGED_BY.1),
        ("annotation", "annotations", RELEASE_NAME, release),
        ("annotation", "annotations", RELEASE_NAMESPACE, namespace),
    ];
    let mut faults = Vec::new();
    for (what, table, key, value) in wanted {
        let found = object
            .get("metadata")
            .and_then(|metadata| metadata.get(table)?.get(key)?.as_str());
        match found {
            Some(found) if found == value => {}
            Some(found) => faults.push(format!(
                "{what} validation error: key {key:?} must equal {value:?}: current value is {found:?}"
            )),
            None => faults.push(format!(
                "{what} validation error: missing key {key:?}: must be set to {value:?}"
            )),
        }
    }
    faults
}

/// The release that an object says it belongs to, as name and namespace.
#[must_use]
pub fn owner(object: &Value) -> Option<(&str, &str)> {
    let annotations = object.pointer("/metadata/annotations")?;
    Some((
        annotations.get(RELEASE_NAME)?.as_str()?,
        annotations
            .get(RELEASE_NAMESPACE)
            .and_then(Value::as_str)
            .unwrap_or_default(),
    ))
}

#[cfg(test)]
mod tests;
