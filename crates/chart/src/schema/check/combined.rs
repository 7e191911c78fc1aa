//! Rules that apply other schemas to the same value.

use super::super::number::grouped;
use super::super::program::Id;
use super::{Checked, Checker, Frame, Scope};

impl<'p, 'v> Checker<'p, 'v> {
    /// References that schemas further out may bend.
    pub(super) fn dynamic_references(&mut self, frame: &mut Frame<'_, 'p, 'v>) -> Checked<()> {
        let program = self.program;
        if let Some(mut target) = frame.schema.recursive_reference {
            let bends = |id| {
                program
                    .get(id)
                    .is_some_and(|schema| schema.recursive_anchor)
            };
            if bends(target) {
                let found = outermost(frame.scope, |scope| {
                    let resource = program.get(scope.schema)?.resource;
                    bends(resource).then_some(scope.schema)
                });
                target = found.unwrap_or(target);
            }
            self.reference(frame, target, "$recursiveRef")?;
        }
        if let Some((target, name)) = &frame.schema.dynamic_reference {
            let mut target = *target;
            let named = program
                .get(target)
                .is_some_and(|schema| schema.dynamic_anchor == *name);
            if named && !name.is_empty() {
                let found = outermost(frame.scope, |scope| {
                    let resource = program.get(scope.schema)?.resource;
                    program.get(resource)?.dynamic_anchors.get(name).copied()
                });
                target = found.unwrap_or(target);
            }
            self.reference(frame, target, "$dynamicRef")?;
        }
        Ok(())
    }

    /// `not`, `allOf`, `anyOf`, `oneOf`, `if`.
    pub(super) fn combined(&mut self, frame: &mut Frame<'_, 'p, 'v>) -> Checked<()> {
        let (schema, quiet) = (frame.schema, frame.quiet);
        if let Some(not) = schema.not
            && self.own(frame, not, "", true)?.is_none()
        {
            let fault = self.said(quiet, || "'not' failed".to_owned())?;
            frame.faults.push(fault);
        }
        let mut causes = Vec::new();
        for inner in &schema.all_of {
            causes.extend(self.own(frame, *inner, "", false)?);
            if quiet && !causes.is_empty() {
                break;
            }
        }
        if !causes.is_empty() {
            self.caused(frame, causes, || "'allOf' failed".to_owned())?;
        }
        self.any_of(frame)?;
        self.one_of(frame)?;
        if let Some(condition) = schema.r#if {
            let met = self.own(frame, condition, "", true)?.is_none();
            if let Some(then) = if met { schema.then } else { schema.r#else } {
                self.also(frame, then)?;
            }
        }
        Ok(())
    }

    fn any_of(&mut self, frame: &mut Frame<'_, 'p, 'v>) -> Checked<()> {
        let schema = frame.schema;
        let mut matched = schema.any_of.is_empty();
        let mut causes = Vec::new();
        for inner in &schema.any_of {
            match self.own(frame, *inner, "", false)? {
                Some(fault) => causes.push(fault),
                None => {
                    matched = true;
                    // All of them may speak of more properties.
                    if frame.unspoken.is_empty() {
                        break;
                    }
                }
            }
        }
        if matched {
            return Ok(());
        }
        self.caused(frame, causes, || "'anyOf' failed".to_owned())
    }

    fn one_of(&mut self, frame: &mut Frame<'_, 'p, 'v>) -> Checked<()> {
        let (schema, quiet) = (frame.schema, frame.quiet);
        let mut matched = None;
        let mut causes = Vec::new();
        for (at, inner) in schema.one_of.iter().enumerate() {
            match (self.own(frame, *inner, "", matched.is_some())?, matched) {
                (Some(fault), None) => causes.push(fault),
                (Some(_), Some(_)) => {}
                (None, None) => matched = Some(at),
                (None, Some(first)) => {
                    let (first, second) = (grouped(first), grouped(at));
                    let text = || format!("'oneOf' failed, subschemas {first}, {second} matched");
                    let fault = self.said(quiet, text)?;
                    frame.faults.push(fault);
                    break;
                }
            }
        }
        if matched.is_some() || schema.one_of.is_empty() {
            return Ok(());
        }
        self.caused(frame, causes, || "'oneOf' failed, none matched".to_owned())
    }
}

/// What is found in the schema that is furthest out of those that led here.
fn outermost(scope: &Scope<'_>, find: impl Fn(&Scope<'_>) -> Option<Id>) -> Option<Id> {
    let mut found = None;
    let mut scope = Some(scope);
    while let Some(outer) = scope {
        found = find(outer).or(found);
        scope = outer.outer;
    }
    found
}
