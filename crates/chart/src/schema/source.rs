//! Where documents of schemas come from, and how much there may be of them.

use std::collections::HashMap;
use std::rc::Rc;

use kzero_gotmpl::golang::Address;
use kzero_gotmpl::{self as gotmpl, from_json};
use serde_json::{Map, Value};

use super::Fetch;
use super::address::Place;
use super::document::meta_url;
use super::draft::{Draft, built_in};
use crate::quote::quoted;

/// Bytes of pointers and names of one schema with all it refers to.
const MAX_MEMORY: usize = 128 << 20;
/// Documents that a schema may refer to, one after the other.
const MAX_DOCUMENTS: usize = 100;
/// Levels of JSON.
const MAX_DEPTH: usize = 500;

/// The documents that were read.
pub(super) struct Source<'f> {
    fetch: &'f dyn Fetch,
    documents: HashMap<String, Rc<Value>>,
    memory: usize,
}

impl<'f> Source<'f> {
    pub(super) fn new(fetch: &'f dyn Fetch) -> Self {
        Self {
            fetch,
            documents: HashMap::new(),
            memory: MAX_MEMORY,
        }
    }

    /// Counts what is kept.
    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), String> {
        let left = self.memory.checked_sub(bytes);
        self.memory = left.ok_or("the schema is too large")?;
        Ok(())
    }

    /// Gives a document an address.
    pub(super) fn insert(&mut self, url: &str, document: Value) {
        self.documents.insert(url.to_owned(), Rc::new(document));
    }

    /// The document at an address.
    pub(super) fn load(&mut self, url: &str) -> Result<Rc<Value>, String> {
        if let Some(known) = self.documents.get(url) {
            return Ok(Rc::clone(known));
        }
        let document = match built_in(url) {
            Some(document) => document.clone(),
            None => self
                .read(url)
                .map_err(|error| format!("failing loading {}: {error}", quoted(url)))?,
        };
        let document = Rc::new(document);
        self.documents.insert(url.to_owned(), Rc::clone(&document));
        Ok(document)
    }

    fn read(&mut self, url: &str) -> Result<Value, String> {
        if self.documents.len() >= MAX_DOCUMENTS {
            return Err(format!("more than {MAX_DOCUMENTS} schemas"));
        }
        match Address::parse(url)?.scheme.as_str() {
            "file" | "http" | "https" => {
                let bytes = self.fetch.fetch(url)?;
                self.spend(bytes.len())?;
                parse(&bytes)
            }
            // Nobody resolves names, and charts that use them are to work nevertheless.
            "urn" => {
                self.fetch.warn(&format!(
                    "WARNING: unresolved URN reference ignored; using permissive schema: {url}"
                ));
                Ok(Value::Bool(true))
            }
            _ => Err(format!("no URLLoader registered for {}", quoted(url))),
        }
    }

    /// The draft that a `$schema` leads to.
    pub(super) fn draft(
        &mut self,
        name: &str,
        place: Place,
        fallback: Draft,
    ) -> Result<Draft, String> {
        let mut name = name.to_owned();
        let mut place = place;
        let mut passed: Vec<String> = Vec::new();
        loop {
            if let Some(draft) = Draft::of(&name) {
                return Ok(draft);
            }
            let url = meta_url(&name).to_owned();
            Address::parse(&url).map_err(|error| {
                format!("invalid $schema in {}: {error}", quoted(&place.shown()))
            })?;
            if place.pointer.is_empty() && *place.url == url {
                return Err(format!("draft {} is not supported", quoted(&url)));
            }
            if passed.contains(&url) {
                let url = quoted(&url);
                return Err(format!("cycle in resolving $schema in {url}"));
            }
            let document = self.load(&url)?;
            passed.push(url.clone());
            match document.get("$schema").and_then(Value::as_str) {
                Some(next) => name = next.to_owned(),
                None => return Ok(fallback),
            }
            place = Place {
                url: url.into(),
                pointer: String::new(),
            };
        }
    }

    /// The vocabularies that a `$schema` asks for, none where it is a draft or says nothing of them.
    pub(super) fn vocabularies(
        &mut self,
        name: &str,
        draft: Draft,
    ) -> Result<Option<Vec<String>>, String> {
        if Draft::of(name).is_some() {
            return Ok(None);
        }
        let url = meta_url(name);
        let document = self.load(url)?;
        draft.asked_for(url, &document)
    }
}

/// Reads JSON, with Go's words for what is wrong.
pub(super) fn parse(text: &[u8]) -> Result<Value, String> {
    // The fast way keeps whole numbers exact; it knows neither Go's words nor more than 128 levels.
    let early = match serde_json::from_slice(text) {
        Ok(value) => return Ok(value),
        Err(error) => error.is_eof(),
    };
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    if text.iter().all(blank) {
        return Err("EOF".to_owned());
    }
    match from_json(text) {
        Ok(value) => convert(&value, 0),
        Err(error) => {
            let error = error.to_string();
            // Go tells a text that ends early by the blank it tries behind it.
            let blank = early && error.starts_with("invalid character ' '");
            Err(if error.ends_with("after top-level value") {
                "invalid character after top-level value".to_owned()
            } else if blank || error == "unexpected end of JSON input" {
                "unexpected EOF".to_owned()
            } else {
                error
            })
        }
    }
}

fn convert(value: &gotmpl::Value, depth: usize) -> Result<Value, String> {
    if depth > MAX_DEPTH {
        return Err(format!("the schema is nested deeper than {MAX_DEPTH}"));
    }
    Ok(match value {
        gotmpl::Value::Bool(value) => Value::Bool(*value),
        gotmpl::Value::Float(value) => Value::from(*value),
        gotmpl::Value::String(text) => Value::String(text.to_text().into_owned()),
        gotmpl::Value::List(list) => {
            let items = list.items();
            let items = items.iter().map(|item| convert(item, depth + 1));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        gotmpl::Value::Map(map) => {
            let mut entries = Map::new();
            for (key, value) in map.entries().iter() {
                entries.insert(key.to_text().into_owned(), convert(value, depth + 1)?);
            }
            Value::Object(entries)
        }
        _ => Value::Null,
    })
}
