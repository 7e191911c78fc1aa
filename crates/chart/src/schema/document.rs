//! Documents of schemas: which of their parts have an address or a name of their own.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use serde_json::{Map, Value};

use super::address::{Place, join, shown, split, split_decoded};
use super::draft::{Dialect, Draft};
use super::source::Source;
use crate::quote::quoted;

/// A part with an address of its own.
#[derive(Debug, Clone)]
pub(super) struct Resource {
    pub(super) pointer: String,
    pub(super) id: String,
    pub(super) dialect: Dialect,
    /// The pointers of what has a name in it.
    pub(super) anchors: BTreeMap<String, String>,
    /// Names that references may find in schemas further out.
    pub(super) dynamic: Vec<String>,
}

/// A document, and what is known of it so far.
#[derive(Debug, Clone)]
pub(super) struct Document {
    pub(super) url: Rc<str>,
    pub(super) value: Rc<Value>,
    pub(super) resources: BTreeMap<String, Rc<Resource>>,
    /// The pointers of resources by their addresses.
    pointers: HashMap<String, String>,
    /// The pointers of schemas that were gone through.
    seen: HashSet<String>,
}

impl Document {
    /// Goes through all of a document.
    pub(super) fn new(
        url: &str,
        value: &Rc<Value>,
        fallback: &Dialect,
        source: &mut Source<'_>,
    ) -> Result<Self, String> {
        let mut document = Self {
            url: url.into(),
            value: Rc::clone(value),
            resources: BTreeMap::new(),
            pointers: HashMap::new(),
            seen: HashSet::new(),
        };
        document.collect(value, url, String::new(), fallback, source)?;
        Ok(document)
    }

    /// Whether a pointer was gone through.
    pub(super) fn knows(&self, pointer: &str) -> bool {
        self.seen.contains(pointer)
    }

    /// Goes through a part that no keyword told of.
    pub(super) fn add(
        &mut self,
        value: &Value,
        pointer: &str,
        source: &mut Source<'_>,
    ) -> Result<(), String> {
        let Some(base) = self.resource(pointer).cloned() else {
            return Ok(());
        };
        self.collect(value, &base.id, pointer.to_owned(), &base.dialect, source)
    }

    /// The innermost resource that a pointer is in.
    pub(super) fn resource(&self, pointer: &str) -> Option<&Rc<Resource>> {
        let mut pointer = pointer;
        loop {
            if let Some(found) = self.resources.get(pointer) {
                return Some(found);
            }
            let slash = pointer.rfind('/')?;
            pointer = pointer.get(..slash)?;
        }
    }

    /// Where a reference leads to in this document, if it is in it at all.
    pub(super) fn resolve(&self, url: &str, fragment: &str) -> Option<Result<Place, String>> {
        let resource = if *url == *self.url {
            self.resources.get("")
        } else {
            self.by_id(url)
        };
        resource.map(|resource| self.resolve_in(resource, fragment))
    }

    /// Where a fragment leads to, seen from the top.
    pub(super) fn resolve_fragment(&self, fragment: &str) -> Result<Place, String> {
        match self.resources.get("") {
            Some(top) => self.resolve_in(top, fragment),
            None => Err(format!("schema {} is empty", quoted(&self.url))),
        }
    }

    fn resolve_in(&self, resource: &Resource, fragment: &str) -> Result<Place, String> {
        let pointer = if fragment.is_empty() || fragment.starts_with('/') {
            format!("{}{fragment}", resource.pointer)
        } else {
            let found = resource.anchors.get(fragment);
            found.cloned().ok_or_else(|| {
                let reference = shown(&resource.id, fragment);
                let (reference, url) = (quoted(&reference), quoted(&self.url));
                format!("anchor in {reference} not found in schema {url}")
            })?
        };
        Ok(Place {
            url: Rc::clone(&self.url),
            pointer,
        })
    }

    fn by_id(&self, id: &str) -> Option<&Rc<Resource>> {
        self.resources.get(self.pointers.get(id)?)
    }

    fn place(&self, pointer: &str) -> String {
        quoted(&shown(&self.url, pointer))
    }

    fn collect(
        &mut self,
        value: &Value,
        base: &str,
        pointer: String,
        fallback: &Dialect,
        source: &mut Source<'_>,
    ) -> Result<(), String> {
        if self.seen.contains(&pointer) {
            return Ok(());
        }
        source.spend(pointer.len() + 64)?;
        if let Value::Object(schema) = value {
            self.collect_object(schema, base, &pointer, fallback, source)?;
        } else if pointer.is_empty() {
            self.insert(String::new(), base, fallback.clone());
        }
        self.seen.insert(pointer);
        Ok(())
    }

    fn insert(&mut self, pointer: String, id: &str, dialect: Dialect) {
        let resource = Resource {
            pointer: pointer.clone(),
            id: id.to_owned(),
            dialect,
            anchors: BTreeMap::new(),
            dynamic: Vec::new(),
        };
        self.pointers.insert(id.to_owned(), pointer.clone());
        self.resources.insert(pointer, Rc::new(resource));
    }

    fn collect_object(
        &mut self,
        schema: &Map<String, Value>,
        base: &str,
        pointer: &str,
        fallback: &Dialect,
        source: &mut Source<'_>,
    ) -> Result<(), String> {
        let name = schema.get("$schema").and_then(Value::as_str);
        let named = match name {
            Some(name) => {
                let place = Place {
                    url: Rc::clone(&self.url),
                    pointer: pointer.to_owned(),
                };
                source.draft(name, place, fallback.draft)?
            }
            None => fallback.draft,
        };
        let mut id = named.id(schema);
        let mut dialect = None;
        let mut draft = named;
        if id.is_none() && !pointer.is_empty() {
            // A `$schema` counts only where a resource begins.
            draft = fallback.draft;
            id = draft.id(schema);
        } else if let Some(name) = name {
            dialect = Some(Dialect {
                draft,
                vocabularies: source.vocabularies(name, draft)?,
            });
        }
        let base = match id {
            Some(id) => {
                join(base, id)
                    .map_err(|_| format!("error in parsing id at {}", self.place(pointer)))?
                    .0
            }
            None => base.to_owned(),
        };
        if id.is_some() || pointer.is_empty() {
            match self.by_id(&base).map(|known| known.pointer.clone()) {
                Some(known) if known != pointer => {
                    return Err(format!(
                        "duplicate id {} in {} at {} and {}",
                        quoted(&base),
                        quoted(&self.url),
                        quoted(pointer),
                        quoted(&known)
                    ));
                }
                Some(_) => {}
                None => {
                    let dialect = dialect.unwrap_or_else(|| fallback.clone());
                    self.insert(pointer.to_owned(), &base, dialect);
                }
            }
        }
        let dialect = self.collect_anchors(schema, &base, pointer)?;
        for (pointer, value) in draft.within(schema, pointer) {
            self.collect(value, &base, pointer, &dialect, source)?;
        }
        Ok(())
    }

    /// Notes the names that a schema gives itself, and tells the dialect of its resource.
    fn collect_anchors(
        &mut self,
        schema: &Map<String, Value>,
        base: &str,
        pointer: &str,
    ) -> Result<Dialect, String> {
        let url = Rc::clone(&self.url);
        let place = || quoted(&shown(&url, pointer));
        let resource = self
            .pointers
            .get(base)
            .and_then(|pointer| self.resources.get_mut(pointer))
            .ok_or_else(|| format!("{} is in no resource", place()))?;
        let dialect = resource.dialect.clone();
        let text = |keyword: &str| schema.get(keyword).and_then(Value::as_str);
        let mut names = Vec::new();
        if dialect.draft < Draft::Of2019 {
            if schema.contains_key("$ref") {
                return Ok(dialect);
            }
            if let Some(id) = text(dialect.draft.id_keyword()) {
                let (_, fragment) = split_decoded(id)
                    .map_err(|_| format!("error in parsing anchor at {}", place()))?;
                if !fragment.is_empty() && !fragment.starts_with('/') {
                    names.push(fragment);
                }
            }
        } else {
            names.extend(text("$anchor").map(str::to_owned));
        }
        if dialect.draft >= Draft::Of2020
            && let Some(name) = text("$dynamicAnchor")
        {
            names.push(name.to_owned());
            Rc::make_mut(resource).dynamic.push(name.to_owned());
        }
        for name in names {
            match resource.anchors.get(&name) {
                Some(known) if known != pointer => {
                    return Err(format!(
                        "duplicate anchor {} in {} at {} and {}",
                        quoted(&name),
                        quoted(&url),
                        quoted(known),
                        quoted(pointer)
                    ));
                }
                _ => Rc::make_mut(resource)
                    .anchors
                    .insert(name, pointer.to_owned()),
            };
        }
        Ok(dialect)
    }
}

/// The address of a `$schema` without its fragment.
pub(super) fn meta_url(name: &str) -> &str {
    split(name).0
}
