//! Switching dependencies on and off, and renaming them.

use kzero_gotmpl::semver::is_compatible;
use kzero_gotmpl::{Map, Value};

use super::{Id, SpecId, Tree, path_value, table};
use crate::tree::path::Missing;
use crate::values::{Nulls, coalesce};

impl Tree<'_> {
    /// Keeps those charts in a chart that its `dependencies` switch on, under their aliases.
    pub(super) fn enable(
        &mut self,
        id: Id,
        values: &Map,
        path: &str,
        warnings: &mut Vec<String>,
    ) -> Result<(), String> {
        let Some(specs) = self.node(id).specs.clone() else {
            return Ok(());
        };
        let children = self.named(id, &specs)?;
        self.set_children(id, children);
        for spec in &specs {
            self.specs[spec.0].enabled = true;
        }
        let merged = coalesce(self, id, values, Nulls::Delete, warnings)?;
        self.by_tags(&specs, &merged, warnings);
        self.by_conditions(&specs, &merged, path, warnings);
        let off: Vec<String> = specs
            .iter()
            .map(|&spec| self.spec(spec))
            .filter(|spec| !spec.enabled)
            .map(|spec| spec.name.clone())
            .collect();
        let is_on = |name: &str| !off.iter().any(|off| off == name);
        let mut kept = self.children(id).to_vec();
        kept.retain(|&child| is_on(self.name(child)));
        let mut kept_specs = specs;
        kept_specs.retain(|&spec| is_on(&self.spec(spec).name));
        for &child in &kept {
            let inner = format!("{path}{}.", self.name(child));
            self.enable(child, &merged, &inner, warnings)?;
        }
        // An empty list is none from here on.
        self.nodes[id.0].specs = (!kept_specs.is_empty()).then_some(kept_specs);
        self.set_children(id, kept);
        Ok(())
    }

    /// The charts that are not listed, then those that are, each under the name of its entry.
    fn named(&mut self, id: Id, specs: &[SpecId]) -> Result<Vec<Id>, String> {
        let existing = self.children(id).to_vec();
        let fits = |tree: &Self, child: Id, spec: SpecId| {
            let spec = tree.spec(spec);
            tree.name(child) == spec.name
                && is_compatible(&spec.version, &tree.chart(child).metadata.version)
        };
        let mut children: Vec<Id> = existing
            .iter()
            .copied()
            .filter(|&child| !specs.iter().any(|&spec| fits(self, child, spec)))
            .collect();
        for &spec in specs {
            let found = existing
                .iter()
                .copied()
                .find(|&child| fits(self, child, spec));
            let alias = self.spec(spec).alias.clone();
            if let Some(found) = found {
                children.push(self.copy_as(found, &alias)?);
            }
            if !alias.is_empty() {
                self.specs[spec.0].name = alias;
            }
        }
        Ok(children)
    }

    fn by_tags(&mut self, specs: &[SpecId], values: &Map, warnings: &mut Vec<String>) {
        let Ok(tags) = table(values, "tags") else {
            return;
        };
        for &id in specs {
            let (mut on, mut off) = (false, false);
            let spec = &mut self.specs[id.0];
            for tag in spec.tags.iter().flatten() {
                match tags.get(tag.as_bytes()) {
                    Some(Value::Bool(true)) => on = true,
                    Some(Value::Bool(false)) => off = true,
                    Some(_) => warnings.push(format!(
                        "Warning: Tag '{tag}' for chart {} returned non-bool value",
                        spec.name
                    )),
                    None => {}
                }
            }
            spec.enabled = on || !off;
        }
    }

    fn by_conditions(
        &mut self,
        specs: &[SpecId],
        values: &Map,
        path: &str,
        warnings: &mut Vec<String>,
    ) {
        for &id in specs {
            let spec = &mut self.specs[id.0];
            let conditions = spec.condition.trim().split(',');
            for condition in conditions.filter(|condition| !condition.is_empty()) {
                match path_value(values, &format!("{path}{condition}")) {
                    Ok(Value::Bool(enabled)) => {
                        spec.enabled = enabled;
                        break;
                    }
                    Ok(_) => warnings.push(format!(
                        "Warning: Condition path '{condition}' for chart {} returned non-bool value",
                        spec.name
                    )),
                    Err(Missing::Value(_)) => {}
                    Err(error) => {
                        warnings.push(format!("Warning: PathValue returned error {error}"));
                    }
                }
            }
        }
    }
}
