//! Checks values with programs.
//!
//! The order of checks is that of the messages: what is of the wrong type is looked at no further, a value has as
//! many faults as rules it breaks, and a fault of `allOf` and its kind holds those that led to it.

mod combined;
mod list;
mod object;
mod scalar;

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::address::push;
use super::equal::{equal, weight};
use super::fault::{Fault, Kind, quote};
use super::program::{Id, Program, Schema, type_of};
use crate::quote::quoted;

/// Schemas applied to one value with everything in it.
const MAX_STEPS: usize = 1_000_000;
/// Schemas within schemas, and values within values.
const MAX_DEPTH: usize = 2000;
/// Bytes of faults that are kept, and what each takes beside its texts.
const MAX_FAULTS: usize = 32 << 20;
const FAULT: usize = 320;

/// How schemas of schemas change where a schema says that it is of another draft.
pub(super) struct Metas {
    /// The schema that is replaced.
    pub(super) meta: Id,
    /// What it is replaced with, by the pointer of the value.
    pub(super) resources: HashMap<String, Id>,
}

/// The faults of a value, or none if it is good.
///
/// # Errors
///
/// The check takes too long or goes too deep.
pub(super) fn check(
    program: &Program,
    schema: Id,
    value: &Value,
    metas: Option<&Metas>,
) -> Result<Option<Vec<Fault>>, String> {
    let mut checker = Checker {
        program,
        resources: metas.map(|metas| &metas.resources),
        path: Vec::new(),
        steps: MAX_STEPS,
        faults: MAX_FAULTS,
        depth: 0,
    };
    let meta = metas.map(|metas| metas.meta);
    match checker.root(schema, value, meta) {
        Ok(()) => Ok(None),
        Err(Stop::Faulty(fault)) => Ok(Some(fault.flat())),
        Err(Stop::Bound(text)) => Err(text.to_owned()),
    }
}

/// Why a check ends early.
enum Stop {
    Faulty(Fault),
    Bound(&'static str),
}

type Checked<T> = Result<T, Stop>;

/// What of a value no rule has spoken of yet, as far as somebody asks.
#[derive(Default)]
struct Unspoken<'v> {
    properties: BTreeSet<&'v str>,
    items: BTreeSet<usize>,
}

impl<'v> Unspoken<'v> {
    fn of(value: &'v Value, schema: &Schema, asked: bool) -> Self {
        let mut unspoken = Self::default();
        match value {
            Value::Object(map)
                if !schema.speaks_of_all_properties()
                    && (asked || schema.unevaluated_properties.is_some()) =>
            {
                unspoken.properties = map.keys().map(String::as_str).collect();
            }
            Value::Array(items) if asked || schema.unevaluated_items.is_some() => {
                unspoken.items = (schema.items_spoken_of()..items.len()).collect();
            }
            _ => {}
        }
        unspoken
    }

    /// Keeps what the other has not spoken of either.
    fn merge(&mut self, other: &Self) {
        self.properties
            .retain(|name| other.properties.contains(name));
        self.items.retain(|at| other.items.contains(at));
    }

    fn is_empty(&self) -> bool {
        self.properties.is_empty() && self.items.is_empty()
    }
}

/// The schemas that led to one.
#[derive(Clone, Copy)]
struct Scope<'s> {
    schema: Id,
    /// The keyword of a reference.
    keyword: &'static str,
    /// How deep the value is.
    level: usize,
    outer: Option<&'s Scope<'s>>,
}

impl<'s> Scope<'s> {
    /// The same schema for the same value further out.
    fn repeated(&self) -> Option<&'s Scope<'s>> {
        let mut scope = self.outer;
        while let Some(outer) = scope.filter(|outer| outer.level == self.level) {
            if outer.schema == self.schema {
                return Some(outer);
            }
            scope = outer.outer;
        }
        None
    }

    /// The keywords that led here.
    fn keywords(&self, program: &Program) -> String {
        let mut scope = self;
        let mut parts = Vec::new();
        while let Some(outer) = scope.outer {
            let mut part = String::new();
            if scope.keyword.is_empty() {
                let location = |id| program.get(id).map_or_else(String::new, Schema::location);
                let (inner, outer) = (location(scope.schema), location(outer.schema));
                part.push_str(inner.get(outer.len()..).unwrap_or_default());
            } else {
                push(&mut part, scope.keyword);
            }
            parts.push(part);
            scope = outer;
        }
        parts.reverse();
        parts.concat()
    }
}

/// One step of a path into a value.
#[derive(Clone, Copy)]
enum Token<'v> {
    Name(&'v str),
    Index(usize),
}

struct Checker<'p, 'v> {
    program: &'p Program,
    resources: Option<&'p HashMap<String, Id>>,
    path: Vec<Token<'v>>,
    steps: usize,
    faults: usize,
    depth: usize,
}

/// One schema at work on one value.
struct Frame<'f, 'p, 'v> {
    schema: &'p Schema,
    value: &'v Value,
    scope: &'f Scope<'f>,
    unspoken: Unspoken<'v>,
    faults: Vec<Fault>,
    /// Whether only the answer counts, not what is wrong.
    quiet: bool,
    /// The schema of schemas in force.
    meta: Option<Id>,
}

impl<'p, 'v> Checker<'p, 'v> {
    /// Checks a value that stands for itself.
    fn root(&mut self, schema: Id, value: &'v Value, meta: Option<Id>) -> Checked<()> {
        let scope = Scope {
            schema,
            keyword: "",
            level: 0,
            outer: None,
        };
        self.apply(&scope, value, false, false, meta).map(|_| ())
    }

    fn spend(&mut self, steps: usize) -> Checked<()> {
        let left = self.steps.checked_sub(steps);
        self.steps = left.ok_or(Stop::Bound("the schema takes too long to check"))?;
        Ok(())
    }

    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for token in &self.path {
            match token {
                Token::Name(name) => push(&mut pointer, name),
                Token::Index(at) => pointer.push_str(&format!("/{at}")),
            }
        }
        pointer
    }

    /// A fault at the value that is looked at. Where only the answer counts it says nothing.
    fn fault(&mut self, quiet: bool, kind: impl FnOnce() -> Kind) -> Checked<Fault> {
        if quiet {
            return Ok(Fault::default());
        }
        let (at, kind) = (self.pointer(), kind());
        let text = match &kind {
            Kind::Said(text) => text.len(),
            Kind::Group | Kind::Reference => 0,
        };
        let left = self.faults.checked_sub(FAULT + at.len() + text);
        self.faults = left.ok_or(Stop::Bound("there are too many faults"))?;
        Ok(Fault {
            at,
            kind,
            causes: Vec::new(),
        })
    }

    fn said(&mut self, quiet: bool, text: impl FnOnce() -> String) -> Checked<Fault> {
        self.fault(quiet, || Kind::Said(text()))
    }

    /// Applies the schema of a scope to a value.
    fn apply(
        &mut self,
        scope: &Scope<'_>,
        value: &'v Value,
        asked: bool,
        quiet: bool,
        meta: Option<Id>,
    ) -> Checked<Unspoken<'v>> {
        self.depth += 1;
        let result = if self.depth > MAX_DEPTH {
            Err(Stop::Bound("schema and values are nested too deeply"))
        } else {
            stacker::maybe_grow(128 << 10, 2 << 20, || {
                self.apply_here(scope, value, asked, quiet, meta)
            })
        };
        self.depth -= 1;
        result
    }

    fn apply_here(
        &mut self,
        scope: &Scope<'_>,
        value: &'v Value,
        asked: bool,
        quiet: bool,
        mut meta: Option<Id>,
    ) -> Checked<Unspoken<'v>> {
        self.spend(1)?;
        let mut scope = *scope;
        if scope.outer.is_some()
            && let Some(other) = self.other_dialect(scope.schema, meta)
        {
            scope.schema = other;
            meta = Some(other);
        }
        let program = self.program;
        let Some(schema) = program.get(scope.schema) else {
            return Ok(Unspoken::default());
        };
        let mut frame = Frame {
            schema,
            value,
            scope: &scope,
            unspoken: Unspoken::of(value, schema, asked),
            faults: Vec::new(),
            quiet,
            meta,
        };
        self.frame(&mut frame)?;
        if frame.faults.len() > 1 {
            let mut group = self.fault(quiet, || Kind::Group)?;
            group.causes = frame.faults;
            return Err(Stop::Faulty(group));
        }
        match frame.faults.pop() {
            Some(fault) => Err(Stop::Faulty(fault)),
            None => Ok(frame.unspoken),
        }
    }

    /// The schema of schemas that a part of a schema asks for itself.
    fn other_dialect(&self, schema: Id, meta: Option<Id>) -> Option<Id> {
        let resources = self.resources?;
        // Nearly all schemas are one resource, the top.
        if meta != Some(schema) || resources.len() < 2 && !self.path.is_empty() {
            return None;
        }
        resources.get(&self.pointer()).copied()
    }

    fn frame(&mut self, frame: &mut Frame<'_, 'p, 'v>) -> Checked<()> {
        let (schema, value, quiet) = (frame.schema, frame.value, frame.quiet);
        if let Some(fault) = self.first(frame)? {
            frame.faults.push(fault);
            return Ok(());
        }
        if schema.constant.is_some() {
            return Ok(());
        }
        if let Some(target) = schema.reference {
            self.reference(frame, target, "$ref")?;
            if schema.draft < super::draft::Draft::Of2019 {
                return Ok(());
            }
        }
        match value {
            Value::Object(map) => self.object(frame, map)?,
            Value::Array(items) => self.list(frame, items)?,
            Value::String(text) => self.text(frame, text)?,
            Value::Number(number) => self.number(frame, number)?,
            Value::Null | Value::Bool(_) => {}
        }
        if quiet && !frame.faults.is_empty() {
            return Ok(());
        }
        self.dynamic_references(frame)?;
        self.combined(frame)?;
        self.unspoken(frame)
    }

    /// What makes all other rules idle.
    fn first(&mut self, frame: &Frame<'_, 'p, 'v>) -> Checked<Option<Fault>> {
        let (schema, value, quiet) = (frame.schema, frame.value, frame.quiet);
        match schema.constant {
            Some(true) => return Ok(None),
            Some(false) => return self.said(quiet, || "false schema".to_owned()).map(Some),
            None => {}
        }
        if let Some(outer) = frame.scope.repeated() {
            let program = self.program;
            let cycle = || {
                let (inner, outer) = (frame.scope.keywords(program), outer.keywords(program));
                let url = quoted(&schema.location());
                format!("both {inner} and {outer} resolve to {url} causing reference cycle")
            };
            return self.said(quiet, cycle).map(Some);
        }
        if !schema.types.is_empty() && !schema.types.hold(value) {
            let text = || format!("got {}, want {}", type_of(value), schema.types.wanted());
            return self.said(quiet, text).map(Some);
        }
        if let Some(wanted) = &schema.r#const {
            self.spend(weight(value) / 8)?;
            if !equal(value, wanted) {
                return self.said(quiet, || wanted_const(wanted)).map(Some);
            }
        }
        if let Some(wanted) = &schema.r#enum {
            self.spend(wanted.len() * (1 + weight(value)) / 8)?;
            if !wanted.iter().any(|wanted| equal(value, wanted)) {
                return self.said(quiet, || wanted_enum(wanted)).map(Some);
            }
        }
        if let (Some(format), Value::String(text)) = (schema.format, value) {
            self.spend(format.cost(text))?;
            if let Err(error) = format.check(text) {
                let text = || format!("{} is not valid {}: {error}", quote(text), format.name());
                return self.said(quiet, text).map(Some);
            }
        }
        Ok(None)
    }

    /// Applies another schema to the same value.
    fn own(
        &mut self,
        frame: &mut Frame<'_, 'p, 'v>,
        schema: Id,
        keyword: &'static str,
        quiet: bool,
    ) -> Checked<Option<Fault>> {
        let scope = Scope {
            schema,
            keyword,
            level: frame.scope.level,
            outer: Some(frame.scope),
        };
        let (value, quiet) = (frame.value, frame.quiet || quiet);
        let asked = !frame.unspoken.is_empty();
        match self.apply(&scope, value, asked, quiet, frame.meta) {
            Ok(unspoken) => {
                frame.unspoken.merge(&unspoken);
                Ok(None)
            }
            Err(Stop::Faulty(fault)) => Ok(Some(fault)),
            Err(bound) => Err(bound),
        }
    }

    /// The same; faults go to the others.
    fn also(&mut self, frame: &mut Frame<'_, 'p, 'v>, schema: Id) -> Checked<()> {
        let fault = self.own(frame, schema, "", false)?;
        frame.faults.extend(fault);
        Ok(())
    }

    /// Applies a schema to a value within the value.
    fn inner(
        &mut self,
        frame: &Frame<'_, 'p, 'v>,
        schema: Id,
        value: &'v Value,
        token: Token<'v>,
    ) -> Checked<Option<Fault>> {
        let scope = Scope {
            schema,
            keyword: "",
            level: frame.scope.level + 1,
            outer: Some(frame.scope),
        };
        self.path.push(token);
        let result = self.apply(&scope, value, false, frame.quiet, frame.meta);
        self.path.pop();
        match result {
            Ok(_) => Ok(None),
            Err(Stop::Faulty(fault)) => Ok(Some(fault)),
            Err(bound) => Err(bound),
        }
    }

    fn reference(
        &mut self,
        frame: &mut Frame<'_, 'p, 'v>,
        target: Id,
        keyword: &'static str,
    ) -> Checked<()> {
        if let Some(fault) = self.own(frame, target, keyword, false)? {
            let mut reference = self.fault(frame.quiet, || Kind::Reference)?;
            reference.causes = fault.flat();
            frame.faults.push(reference);
        }
        Ok(())
    }

    /// Adds a fault with what led to it.
    fn caused(
        &mut self,
        frame: &mut Frame<'_, 'p, 'v>,
        causes: Vec<Fault>,
        text: impl FnOnce() -> String,
    ) -> Checked<()> {
        let mut fault = self.said(frame.quiet, text)?;
        fault.causes = causes;
        frame.faults.push(fault);
        Ok(())
    }

    /// Adds a fault without any.
    fn add(&mut self, frame: &mut Frame<'_, 'p, 'v>, text: impl FnOnce() -> String) -> Checked<()> {
        self.caused(frame, Vec::new(), text)
    }

    /// `unevaluatedProperties` and `unevaluatedItems`.
    fn unspoken(&mut self, frame: &mut Frame<'_, 'p, 'v>) -> Checked<()> {
        match frame.value {
            Value::Object(map) => {
                if let Some(schema) = frame.schema.unevaluated_properties {
                    for name in std::mem::take(&mut frame.unspoken.properties) {
                        if let Some(value) = map.get(name) {
                            let fault = self.inner(frame, schema, value, Token::Name(name))?;
                            frame.faults.extend(fault);
                        }
                    }
                }
            }
            Value::Array(items) => {
                if let Some(schema) = frame.schema.unevaluated_items {
                    for at in std::mem::take(&mut frame.unspoken.items) {
                        if let Some(value) = items.get(at) {
                            let fault = self.inner(frame, schema, value, Token::Index(at))?;
                            frame.faults.extend(fault);
                        }
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn is_nested(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

/// A plain value as messages show it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

fn wanted_const(wanted: &Value) -> String {
    if is_nested(wanted) {
        return "'const' failed".to_owned();
    }
    format!("value must be {}", shown(wanted))
}

fn wanted_enum(wanted: &[Value]) -> String {
    if wanted.iter().any(is_nested) {
        return "'enum' failed".to_owned();
    }
    let shown: Vec<String> = wanted.iter().map(shown).collect();
    let many = if wanted.len() == 1 { "" } else { "one of " };
    format!("value must be {many}{}", shown.join(", "))
}
