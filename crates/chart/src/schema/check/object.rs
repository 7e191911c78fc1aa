//! Rules for objects.

use serde_json::{Map, Value};

use super::super::draft::Draft;
use super::super::fault::{Fault, Kind, quote, quote_all};
use super::super::number::grouped;
use super::super::program::{Dependency, Id, Rest};
use super::{Checked, Checker, Frame, Stop, Token};

type Object = Map<String, Value>;

impl<'p, 'v> Checker<'p, 'v> {
    pub(super) fn object(&mut self, frame: &mut Frame<'_, 'p, 'v>, map: &'v Object) -> Checked<()> {
        let schema = frame.schema;
        if let Some(want) = schema.min_properties.filter(|want| map.len() < *want) {
            let (got, want) = (grouped(map.len()), grouped(want));
            self.add(frame, || format!("minProperties: got {got}, want {want}"))?;
        }
        if let Some(want) = schema.max_properties.filter(|want| map.len() > *want) {
            let (got, want) = (grouped(map.len()), grouped(want));
            self.add(frame, || format!("maxProperties: got {got}, want {want}"))?;
        }
        self.spend(schema.required.len() / 8)?;
        let missing = missing(map, &schema.required);
        if !missing.is_empty() {
            self.add(frame, || match missing.as_slice() {
                [one] => format!("missing property {}", quote(one)),
                many => format!("missing properties {}", quote_all(many.iter().copied())),
            })?;
        }
        if frame.quiet && !frame.faults.is_empty() {
            return Ok(());
        }
        self.dependencies(frame, map)?;
        self.properties(frame, map)?;
        if schema.draft >= Draft::Six {
            self.property_names(frame, map)?;
        }
        if schema.draft >= Draft::Seven {
            self.dependents(frame, map)?;
        }
        Ok(())
    }

    fn dependencies(&mut self, frame: &mut Frame<'_, 'p, 'v>, map: &'v Object) -> Checked<()> {
        for (name, dependency) in &frame.schema.dependencies {
            if !map.contains_key(name) {
                continue;
            }
            match dependency {
                Dependency::Properties(names) => self.needed(frame, map, name, names)?,
                Dependency::Schema(schema) => self.also(frame, *schema)?,
            }
        }
        Ok(())
    }

    fn dependents(&mut self, frame: &mut Frame<'_, 'p, 'v>, map: &'v Object) -> Checked<()> {
        for (name, schema) in &frame.schema.dependent_schemas {
            if map.contains_key(name) {
                self.also(frame, *schema)?;
            }
        }
        for (name, names) in &frame.schema.dependent_required {
            if map.contains_key(name) {
                self.needed(frame, map, name, names)?;
            }
        }
        Ok(())
    }

    fn needed(
        &mut self,
        frame: &mut Frame<'_, 'p, 'v>,
        map: &Object,
        name: &str,
        names: &[String],
    ) -> Checked<()> {
        self.spend(names.len() / 8)?;
        let missing = missing(map, names);
        if missing.is_empty() {
            return Ok(());
        }
        self.add(frame, || {
            let missing = quote_all(missing.iter().copied());
            format!("properties {missing} required, if {} exists", quote(name))
        })
    }

    fn properties(&mut self, frame: &mut Frame<'_, 'p, 'v>, map: &'v Object) -> Checked<()> {
        let schema = frame.schema;
        let mut additional = Vec::new();
        for (name, value) in map {
            if frame.quiet && !frame.faults.is_empty() {
                return Ok(());
            }
            let mut spoken = false;
            let apply = |checker: &mut Self, frame: &mut Frame<'_, 'p, 'v>, schema: Id| {
                let fault = checker.inner(frame, schema, value, Token::Name(name))?;
                frame.faults.extend(fault);
                Ok::<(), Stop>(())
            };
            if let Some(schema) = schema.properties.get(name) {
                spoken = true;
                apply(self, frame, *schema)?;
            }
            self.spend(schema.pattern_properties.len() * (1 + name.len() / 64))?;
            for (pattern, schema) in &schema.pattern_properties {
                if pattern.pattern.is_match(name) {
                    spoken = true;
                    apply(self, frame, *schema)?;
                }
            }
            if !spoken && let Some(rest) = schema.additional_properties {
                spoken = true;
                match rest {
                    Rest::Allowed(true) => {}
                    Rest::Allowed(false) => additional.push(name.as_str()),
                    Rest::Schema(schema) => apply(self, frame, schema)?,
                }
            }
            if spoken {
                frame.unspoken.properties.remove(name.as_str());
            }
        }
        if additional.is_empty() {
            return Ok(());
        }
        self.add(frame, || {
            let names = quote_all(additional.iter().copied());
            format!("additional properties {names} not allowed")
        })
    }

    /// Names are checked as values that stand for themselves.
    fn property_names(&mut self, frame: &mut Frame<'_, 'p, 'v>, map: &'v Object) -> Checked<()> {
        let Some(names) = frame.schema.property_names else {
            return Ok(());
        };
        for name in map.keys() {
            let value = Value::String(name.clone());
            let schema = self.other_dialect(names, frame.meta).unwrap_or(names);
            let meta = frame
                .meta
                .map(|meta| if meta == names { schema } else { meta });
            let Some(causes) = self.alone(schema, &value, meta)? else {
                continue;
            };
            let mut fault = self.fault(frame.quiet, || {
                Kind::Said(format!("invalid propertyName {}", quote(name)))
            })?;
            fault.causes = causes;
            frame.faults.push(fault);
        }
        Ok(())
    }

    /// The faults of a value that is none of those that are looked at.
    fn alone(
        &mut self,
        schema: Id,
        value: &Value,
        meta: Option<Id>,
    ) -> Checked<Option<Vec<Fault>>> {
        let mut checker = Checker {
            program: self.program,
            resources: self.resources,
            path: Vec::new(),
            steps: self.steps,
            faults: self.faults,
            depth: self.depth,
        };
        let result = checker.root(schema, value, meta);
        (self.steps, self.faults) = (checker.steps, checker.faults);
        match result {
            Ok(()) => Ok(None),
            Err(Stop::Faulty(fault)) => Ok(Some(fault.flat())),
            Err(bound) => Err(bound),
        }
    }
}

fn missing<'n>(map: &Object, names: &'n [String]) -> Vec<&'n str> {
    let missing = names.iter().filter(|name| !map.contains_key(*name));
    missing.map(String::as_str).collect()
}
