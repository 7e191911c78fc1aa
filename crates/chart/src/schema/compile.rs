//! From documents to programs.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use kzero_gotmpl::golang::Pattern;
use serde_json::{Map, Value};

use super::address::{Place, join, split_decoded};
use super::check::{Metas, check};
use super::document::Document;
use super::draft::{DRAFTS, Dialect, Draft, LATEST};
use super::fault::lines;
use super::format::Format;
use super::number::Decimal;
use super::program::{Bound, COMPOSED, Dependency, Id, Items, Named, Program, Rest, Schema, Types};
use super::source::Source;
use super::{Fetch, NoFetch};
use crate::quote::quoted;

/// Bytes that a small pattern may take, and one of the few large ones.
const PATTERN: usize = 64 << 10;
const LARGE_PATTERN: usize = 2 << 20;
const MAX_PATTERNS: usize = 1000;
const MAX_LARGE_PATTERNS: usize = 32;
/// Schemas of one program.
const MAX_SCHEMAS: usize = 200_000;

thread_local! {
    /// The schemas of schemas, with the drafts' places in them.
    static METAS: LazyCell<Result<MetaSchemas, String>> = LazyCell::new(MetaSchemas::compile);
}

struct MetaSchemas {
    program: Program,
    drafts: HashMap<Draft, Id>,
    vocabularies: HashMap<(Draft, &'static str), Id>,
}

impl MetaSchemas {
    fn compile() -> Result<Self, String> {
        let mut compiler = Compiler::new(Source::new(&NoFetch));
        compiler.asserts_formats = true;
        let mut drafts = HashMap::new();
        let mut vocabularies = HashMap::new();
        for draft in DRAFTS {
            drafts.insert(draft, compiler.compile(draft.url())?);
            for name in draft.vocabularies() {
                let id = compiler.compile(&draft.vocabulary_url(name))?;
                vocabularies.insert((draft, *name), id);
            }
        }
        Ok(Self {
            program: compiler.program,
            drafts,
            vocabularies,
        })
    }

    /// The schema that schemas of a dialect must fit.
    fn of(&self, program: &mut Cow<'_, Program>, dialect: &Dialect) -> Option<Id> {
        let Some(names) = &dialect.vocabularies else {
            return self.drafts.get(&dialect.draft).copied();
        };
        let known = dialect.draft.vocabularies().iter();
        let known = known.filter(|name| names.iter().any(|asked| asked == *name));
        let program = program.to_mut();
        let place = Place {
            url: COMPOSED.into(),
            pointer: String::new(),
        };
        let mut schema = Schema::new(dialect.draft, Rc::new(place), Id(0));
        schema.all_of = known
            .filter_map(|name| self.vocabularies.get(&(dialect.draft, *name)).copied())
            .collect();
        let id = program.add(schema);
        if let Some(schema) = program.get_mut(id) {
            schema.resource = id;
            if dialect.draft >= Draft::Of2020 {
                "meta".clone_into(&mut schema.dynamic_anchor);
                schema.dynamic_anchors.insert("meta".to_owned(), id);
            }
        }
        Some(id)
    }
}

/// Makes a program of a schema, read as the document at an address.
pub(super) fn compile(
    url: &str,
    document: Value,
    fetch: &dyn Fetch,
) -> Result<(Program, Id), String> {
    let mut source = Source::new(fetch);
    source.insert(url, document);
    let mut compiler = Compiler::new(source);
    compiler.checks = true;
    let id = compiler.compile(url)?;
    Ok((compiler.program, id))
}

struct Compiler<'f> {
    source: Source<'f>,
    documents: HashMap<String, Document>,
    program: Program,
    ids: HashMap<Rc<Place>, Id>,
    /// The places of the schemas, in their order.
    places: Vec<Rc<Place>>,
    patterns: HashMap<String, Rc<Pattern>>,
    large_patterns: usize,
    /// Whether `format` is a rule in all drafts.
    asserts_formats: bool,
    /// Whether documents are checked against the schemas of schemas.
    checks: bool,
}

impl<'f> Compiler<'f> {
    fn new(source: Source<'f>) -> Self {
        Self {
            source,
            documents: HashMap::new(),
            program: Program::default(),
            ids: HashMap::new(),
            places: Vec::new(),
            patterns: HashMap::new(),
            large_patterns: 0,
            asserts_formats: false,
            checks: false,
        }
    }

    fn compile(&mut self, url: &str) -> Result<Id, String> {
        let mut done = self.places.len();
        let place = self.document(url)?.resolve_fragment("")?;
        let id = self.enqueue(place);
        while let Some(place) = self.places.get(done).cloned() {
            if done > MAX_SCHEMAS {
                return Err(format!("more than {MAX_SCHEMAS} schemas"));
            }
            self.source
                .spend(place.pointer.len() + size_of::<Schema>())?;
            self.compile_at(&place, Id(done))?;
            done += 1;
        }
        Ok(id)
    }

    /// The document at an address, gone through and checked.
    fn document(&mut self, url: &str) -> Result<&mut Document, String> {
        if !self.documents.contains_key(url) {
            let value = self.source.load(url)?;
            let fallback = Dialect {
                draft: LATEST,
                vocabularies: None,
            };
            let document = Document::new(url, &value, &fallback, &mut self.source)?;
            let official = ["http://json-schema.org/", "https://json-schema.org/"];
            if self.checks && !official.iter().any(|prefix| url.starts_with(prefix)) {
                check_document(&document, &value, "")?;
            }
            self.documents.insert(url.to_owned(), document);
        }
        self.documents
            .get_mut(url)
            .ok_or_else(|| format!("schema {} is lost", quoted(url)))
    }

    /// The schema at a place, compiled now or later.
    fn enqueue(&mut self, place: Place) -> Id {
        if let Some(id) = self.ids.get(&place) {
            return *id;
        }
        let place = Rc::new(place);
        let next = Id(self.places.len());
        let schema = Schema::new(LATEST, Rc::clone(&place), next);
        let id = self.program.add(schema);
        self.places.push(Rc::clone(&place));
        self.ids.insert(place, id);
        id
    }

    fn compile_at(&mut self, place: &Rc<Place>, id: Id) -> Result<(), String> {
        self.ensure(place)?;
        let document = self.document(&place.url)?;
        let value = Rc::clone(&document.value);
        let resource = document
            .resource(&place.pointer)
            .cloned()
            .ok_or_else(|| format!("{} is in no resource", quoted(&place.shown())))?;
        let base = Place {
            url: Rc::clone(&place.url),
            pointer: resource.pointer.clone(),
        };
        let mut schema = Schema::new(resource.dialect.draft, Rc::clone(place), id);
        schema.resource = self.enqueue(base.clone());
        if schema.draft >= Draft::Of2020 && base == **place {
            for name in &resource.dynamic {
                if let Some(pointer) = resource.anchors.get(name) {
                    let target = Place {
                        url: Rc::clone(&place.url),
                        pointer: pointer.clone(),
                    };
                    let target = self.enqueue(target);
                    schema.dynamic_anchors.insert(name.clone(), target);
                }
            }
        }
        match place.look_up(&value)? {
            Value::Bool(constant) => schema.constant = Some(*constant),
            Value::Object(object) if object.is_empty() => schema.constant = Some(true),
            Value::Object(object) => {
                let reader = Reader {
                    compiler: self,
                    object,
                    place,
                    base: &resource.id,
                    dialect: &resource.dialect,
                };
                reader.read(&mut schema)?;
            }
            _ => {}
        }
        if let Some(room) = self.program.get_mut(id) {
            *room = schema;
        }
        Ok(())
    }

    /// Goes through what a reference leads to, if no keyword did.
    fn ensure(&mut self, place: &Place) -> Result<(), String> {
        if self.document(&place.url)?.knows(&place.pointer) {
            return Ok(());
        }
        // Out of the map for as long as the source is needed beside it.
        let Some(mut document) = self.documents.remove(&*place.url) else {
            return Ok(());
        };
        let root = Rc::clone(&document.value);
        let value = place.look_up(&root)?;
        document.add(value, &place.pointer, &mut self.source)?;
        if self.checks {
            check_document(&document, value, &place.pointer)?;
        }
        self.documents.insert(place.url.to_string(), document);
        Ok(())
    }

    fn pattern(&mut self, text: &str) -> Result<Rc<Pattern>, String> {
        if let Some(known) = self.patterns.get(text) {
            return Ok(Rc::clone(known));
        }
        if self.patterns.len() >= MAX_PATTERNS {
            return Err(format!("more than {MAX_PATTERNS} patterns"));
        }
        let pattern = Pattern::new(text, PATTERN).or_else(|error| {
            if self.large_patterns >= MAX_LARGE_PATTERNS || !error.ends_with("too large") {
                return Err(error);
            }
            self.large_patterns += 1;
            Pattern::new(text, LARGE_PATTERN)
        })?;
        let pattern = Rc::new(pattern);
        self.patterns.insert(text.to_owned(), Rc::clone(&pattern));
        Ok(pattern)
    }
}

/// Checks a document, or a part of it, against the schema of its dialect.
fn check_document(document: &Document, value: &Value, pointer: &str) -> Result<(), String> {
    METAS.with(|metas| {
        let metas = LazyCell::force(metas).as_ref().map_err(Clone::clone)?;
        let mut program = Cow::Borrowed(&metas.program);
        let mut resources = HashMap::new();
        for (pointer, resource) in &document.resources {
            if let Some(id) = metas.of(&mut program, &resource.dialect) {
                resources.insert(pointer.clone(), id);
            }
        }
        let dialect = document.resource(pointer).map(|resource| &resource.dialect);
        let Some(meta) = dialect.and_then(|dialect| metas.of(&mut program, dialect)) else {
            return Ok(());
        };
        let found = check(&program, meta, value, Some(&Metas { meta, resources }))?;
        let Some(faults) = found else {
            return Ok(());
        };
        let place = super::address::shown(&document.url, pointer);
        let location = program.get(meta).map(Schema::location);
        Err(format!(
            "{} is not valid against metaschema: {}{}",
            quoted(&place),
            super::headline(&location.unwrap_or_default()),
            lines(&faults)
        ))
    })
}

/// Reads the keywords of one schema.
struct Reader<'c, 'f> {
    compiler: &'c mut Compiler<'f>,
    object: &'c Map<String, Value>,
    place: &'c Place,
    base: &'c str,
    dialect: &'c Dialect,
}

impl Reader<'_, '_> {
    fn read(mut self, schema: &mut Schema) -> Result<(), String> {
        let draft = schema.draft;
        if self.dialect.has("core") {
            schema.reference = self.reference("$ref")?;
            if draft < Draft::Of2019 && schema.reference.is_some() {
                // What stands beside a reference is ignored, but for this one in Helm's library.
                self.constant(schema);
                return Ok(());
            }
        }
        if self.dialect.has("applicator") {
            self.applicators(schema)?;
        }
        if self.dialect.has("validation") {
            self.assertions(schema)?;
        }
        if self.compiler.asserts_formats || self.dialect.asserts_formats() {
            schema.format = self.text("format").and_then(Format::named);
        }
        if draft >= Draft::Of2019 {
            self.since_2019(schema)?;
        }
        Ok(())
    }

    fn applicators(&mut self, schema: &mut Schema) -> Result<(), String> {
        let draft = schema.draft;
        schema.all_of = self.list("allOf");
        schema.any_of = self.list("anyOf");
        schema.one_of = self.list("oneOf");
        schema.not = self.one("not");
        if draft >= Draft::Of2020 {
            schema.prefix_items = self.list("prefixItems");
            schema.further_items = self.one("items");
        } else if matches!(self.object.get("items"), Some(Value::Array(_))) {
            schema.items = Some(Items::Each(self.list("items")));
            schema.additional_items = self.rest("additionalItems");
        } else {
            schema.items = self.one("items").map(Items::All);
        }
        schema.properties = self.map("properties");
        for (text, id) in self.map("patternProperties") {
            let pattern = self.compiler.pattern(&text).map_err(|error| {
                let place = self.place.below(&["patternProperties"]).shown();
                format!(
                    "invalid regex {} at {}: {error}",
                    quoted(&text),
                    quoted(&place)
                )
            })?;
            schema
                .pattern_properties
                .push((Named { text, pattern }, id));
        }
        schema.additional_properties = self.rest("additionalProperties");
        if let Some(Value::Object(dependencies)) = self.object.get("dependencies") {
            for (name, value) in dependencies {
                let dependency = match value {
                    Value::Array(names) => Dependency::Properties(texts(names)),
                    _ => Dependency::Schema(self.below(&["dependencies", name])),
                };
                schema.dependencies.insert(name.clone(), dependency);
            }
        }
        if draft >= Draft::Six {
            schema.contains = self.one("contains");
            schema.property_names = self.one("propertyNames");
        }
        if draft >= Draft::Seven {
            schema.r#if = self.one("if");
            if schema.r#if.is_some() {
                let constant = self.object.get("if").and_then(Value::as_bool);
                if constant != Some(false) {
                    schema.then = self.one("then");
                }
                if constant != Some(true) {
                    schema.r#else = self.one("else");
                }
            }
        }
        Ok(())
    }

    fn assertions(&mut self, schema: &mut Schema) -> Result<(), String> {
        match self.object.get("type") {
            Some(Value::String(name)) => schema.types.add(name),
            Some(Value::Array(names)) => {
                let mut types = Types::default();
                texts(names).iter().for_each(|name| types.add(name));
                schema.types = types;
            }
            _ => {}
        }
        if let Some(Value::Array(values)) = self.object.get("enum") {
            schema.r#enum = Some(values.clone());
        }
        self.constant(schema);
        schema.multiple_of = self.number("multipleOf");
        // In draft 4 a flag beside the bound.
        let flag = |keyword| self.object.get(keyword) == Some(&Value::Bool(true));
        if flag("exclusiveMaximum") {
            schema.exclusive_maximum = self.number("maximum");
        } else {
            schema.maximum = self.number("maximum");
            schema.exclusive_maximum = self.number("exclusiveMaximum");
        }
        if flag("exclusiveMinimum") {
            schema.exclusive_minimum = self.number("minimum");
        } else {
            schema.minimum = self.number("minimum");
            schema.exclusive_minimum = self.number("exclusiveMinimum");
        }
        schema.min_length = self.count("minLength");
        schema.max_length = self.count("maxLength");
        if let Some(text) = self.text("pattern") {
            let text = text.to_owned();
            let pattern = self.compiler.pattern(&text).map_err(|error| {
                let place = self.place.below(&["pattern"]).shown();
                format!(
                    "invalid regex {} at {}: {error}",
                    quoted(&text),
                    quoted(&place)
                )
            })?;
            schema.pattern = Some(Named { text, pattern });
        }
        schema.min_items = self.count("minItems");
        schema.max_items = self.count("maxItems");
        schema.unique_items = self.object.get("uniqueItems") == Some(&Value::Bool(true));
        schema.min_properties = self.count("minProperties");
        schema.max_properties = self.count("maxProperties");
        if let Some(Value::Array(names)) = self.object.get("required") {
            schema.required = texts(names);
        }
        Ok(())
    }

    fn constant(&self, schema: &mut Schema) {
        if schema.draft >= Draft::Six {
            schema.r#const = self.object.get("const").cloned();
        }
    }

    fn since_2019(&mut self, schema: &mut Schema) -> Result<(), String> {
        schema.recursive_reference = self.reference("$recursiveRef")?;
        schema.recursive_anchor = self.object.get("$recursiveAnchor") == Some(&Value::Bool(true));
        let dynamic = schema.draft >= Draft::Of2020;
        if dynamic && let Some(target) = self.reference("$dynamicRef")? {
            let text = self.text("$dynamicRef").unwrap_or_default();
            let (_, name) = split_decoded(text)?;
            let name = if name.starts_with('/') {
                String::new()
            } else {
                name
            };
            schema.dynamic_reference = Some((target, name));
        }
        if dynamic {
            let name = self.text("$dynamicAnchor").unwrap_or_default();
            name.clone_into(&mut schema.dynamic_anchor);
        }
        if self.dialect.has("validation") {
            if schema.contains.is_some() {
                schema.min_contains = self.count("minContains");
                schema.max_contains = self.count("maxContains");
            }
            if let Some(Value::Object(map)) = self.object.get("dependentRequired") {
                let lists = map.iter().filter_map(|(name, value)| {
                    let names = value.as_array()?;
                    Some((name.clone(), texts(names)))
                });
                schema.dependent_required = lists.collect();
            }
        }
        if self.dialect.has("applicator") {
            schema.dependent_schemas = self.map("dependentSchemas");
        }
        if self
            .dialect
            .has(if dynamic { "unevaluated" } else { "applicator" })
        {
            schema.unevaluated_items = self.one("unevaluatedItems");
            schema.unevaluated_properties = self.one("unevaluatedProperties");
        }
        Ok(())
    }

    fn below(&mut self, tokens: &[&str]) -> Id {
        self.compiler.enqueue(self.place.below(tokens))
    }

    fn one(&mut self, keyword: &str) -> Option<Id> {
        self.object.get(keyword)?;
        Some(self.below(&[keyword]))
    }

    fn rest(&mut self, keyword: &str) -> Option<Rest> {
        if let Some(Value::Bool(allowed)) = self.object.get(keyword) {
            return Some(Rest::Allowed(*allowed));
        }
        self.one(keyword).map(Rest::Schema)
    }

    fn list(&mut self, keyword: &str) -> Vec<Id> {
        let count = self.object.get(keyword).and_then(Value::as_array);
        let count = count.map_or(0, Vec::len);
        (0..count)
            .map(|at| self.below(&[keyword, &at.to_string()]))
            .collect()
    }

    fn map(&mut self, keyword: &str) -> BTreeMap<String, Id> {
        let Some(Value::Object(map)) = self.object.get(keyword) else {
            return BTreeMap::new();
        };
        map.keys()
            .map(|name| (name.clone(), self.below(&[keyword, name])))
            .collect()
    }

    fn reference(&mut self, keyword: &str) -> Result<Option<Id>, String> {
        let Some(reference) = self.text(keyword) else {
            return Ok(None);
        };
        let (url, fragment) = join(self.base, reference)?;
        let document = self.compiler.document(&self.place.url)?;
        let place = match document.resolve(&url, &fragment) {
            Some(place) => place?,
            None => self.compiler.document(&url)?.resolve_fragment(&fragment)?,
        };
        Ok(Some(self.compiler.enqueue(place)))
    }

    fn text(&self, keyword: &str) -> Option<&str> {
        self.object.get(keyword)?.as_str()
    }

    fn number(&self, keyword: &str) -> Option<Bound> {
        let Value::Number(number) = self.object.get(keyword)? else {
            return None;
        };
        Some(Bound {
            number: number.clone(),
            decimal: Decimal::of(number),
        })
    }

    fn count(&self, keyword: &str) -> Option<usize> {
        self.number(keyword)?.decimal.count()
    }
}

fn texts(values: &[Value]) -> Vec<String> {
    let texts = values.iter().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}
