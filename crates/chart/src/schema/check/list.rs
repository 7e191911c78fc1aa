//! Rules for lists.

use serde_json::Value;

use super::super::draft::Draft;
use super::super::equal::{FEW, repeated, weight};
use super::super::number::grouped;
use super::super::program::{Id, Items, Rest};
use super::{Checked, Checker, Frame, Token};

impl<'p, 'v> Checker<'p, 'v> {
    pub(super) fn list(
        &mut self,
        frame: &mut Frame<'_, 'p, 'v>,
        items: &'v [Value],
    ) -> Checked<()> {
        let schema = frame.schema;
        if let Some(want) = schema.min_items.filter(|want| items.len() < *want) {
            let (got, want) = (grouped(items.len()), grouped(want));
            self.add(frame, || format!("minItems: got {got}, want {want}"))?;
        }
        if let Some(want) = schema.max_items.filter(|want| items.len() > *want) {
            let (got, want) = (grouped(items.len()), grouped(want));
            self.add(frame, || format!("maxItems: got {got}, want {want}"))?;
        }
        if schema.unique_items {
            // Short lists are compared item by item.
            let weight: usize = items.iter().map(weight).sum();
            self.spend(weight * items.len().min(FEW) / 8)?;
            if let Some((first, second)) = repeated(items) {
                let (first, second) = (grouped(first), grouped(second));
                self.add(frame, || format!("items at {first} and {second} are equal"))?;
            }
        }
        if schema.draft >= Draft::Of2020 {
            let done = self.each(frame, &schema.prefix_items, items)?;
            if let Some(schema) = schema.further_items {
                self.all(frame, schema, items, done)?;
            }
        } else {
            self.old_items(frame, items)?;
        }
        self.contains(frame, items)
    }

    fn old_items(&mut self, frame: &mut Frame<'_, 'p, 'v>, items: &'v [Value]) -> Checked<()> {
        let done = match &frame.schema.items {
            Some(Items::All(schema)) => {
                self.all(frame, *schema, items, 0)?;
                items.len()
            }
            Some(Items::Each(schemas)) => self.each(frame, schemas, items)?,
            None => 0,
        };
        match frame.schema.additional_items {
            Some(Rest::Allowed(false)) if done < items.len() => {
                let count = grouped(items.len() - done);
                self.add(frame, || {
                    format!("last {count} additionalItem(s) not allowed")
                })
            }
            Some(Rest::Schema(schema)) => self.all(frame, schema, items, done),
            _ => Ok(()),
        }
    }

    /// Applies a schema each, and tells how many items had one.
    fn each(
        &mut self,
        frame: &mut Frame<'_, 'p, 'v>,
        schemas: &[Id],
        items: &'v [Value],
    ) -> Checked<usize> {
        for (at, (item, schema)) in items.iter().zip(schemas).enumerate() {
            let fault = self.inner(frame, *schema, item, Token::Index(at))?;
            frame.faults.extend(fault);
        }
        Ok(items.len().min(schemas.len()))
    }

    /// Applies a schema to all items from one on.
    fn all(
        &mut self,
        frame: &mut Frame<'_, 'p, 'v>,
        schema: Id,
        items: &'v [Value],
        from: usize,
    ) -> Checked<()> {
        for (at, item) in items.iter().enumerate().skip(from) {
            let fault = self.inner(frame, schema, item, Token::Index(at))?;
            frame.faults.extend(fault);
        }
        Ok(())
    }

    fn contains(&mut self, frame: &mut Frame<'_, 'p, 'v>, items: &'v [Value]) -> Checked<()> {
        let schema = frame.schema;
        let Some(contains) = schema.contains else {
            return Ok(());
        };
        let mut causes = Vec::new();
        let mut matched = Vec::new();
        for (at, item) in items.iter().enumerate() {
            match self.inner(frame, contains, item, Token::Index(at))? {
                Some(fault) => causes.push(fault),
                None => {
                    matched.push(at.to_string());
                    if schema.draft >= Draft::Of2020 {
                        frame.unspoken.items.remove(&at);
                    }
                }
            }
        }
        let (count, shown) = (grouped(matched.len()), matched.join(" "));
        match schema.min_contains {
            Some(want) if matched.len() < want => {
                let want = grouped(want);
                self.caused(frame, causes, || {
                    if matched.is_empty() {
                        format!("min {want} items required to match contains schema, but none matched")
                    } else {
                        format!(
                            "min {want} items required to match contains schema, but matched {count} items at {shown}"
                        )
                    }
                })?;
            }
            None if matched.is_empty() => {
                self.caused(frame, causes, || {
                    "no items match contains schema".to_owned()
                })?;
            }
            _ => {}
        }
        if let Some(want) = schema.max_contains.filter(|want| matched.len() > *want) {
            let want = grouped(want);
            self.add(frame, || {
                format!(
                    "max {want} items required to match contains schema, but matched {count} items at {shown}"
                )
            })?;
        }
        Ok(())
    }
}
