//! `import-values`: values that a chart takes over from those in it.

use kzero_gotmpl::{Map, Str, Value};
use serde_json::Value as Json;

use super::{Id, SpecId, Tree, table};
use crate::convert::{self, shown};
use crate::values::{Nulls, coalesce, copy_table, merge_tables};

impl Tree<'_> {
    /// Imports values, in the charts inside first. A chart that lists dependencies has the values of all charts in it
    /// among its own from then on.
    pub(super) fn import(&mut self, id: Id, warnings: &mut Vec<String>) -> Result<(), String> {
        for child in self.children(id).to_vec() {
            self.import(child, warnings)?;
        }
        let Some(specs) = self.node(id).specs.clone() else {
            return Ok(());
        };
        let merged = coalesce(self, id, &Map::new(), Nulls::Keep, warnings)?;
        let mut imported = Map::new();
        for spec in specs {
            self.import_one(spec, &merged, &mut imported, warnings);
        }
        // What is imported is a part of what it is laid under.
        let own = if imported.is_empty() {
            merged
        } else {
            copy_table(&merged)
        };
        merge_tables(&own, &imported, Nulls::Keep, warnings);
        self.nodes[id.0].values = Some(own);
        Ok(())
    }

    fn import_one(
        &mut self,
        id: SpecId,
        values: &Map,
        imported: &mut Map,
        warnings: &mut Vec<String>,
    ) {
        let spec = &mut self.specs[id.0];
        let Some(imports) = spec.import_values.take() else {
            return;
        };
        // Other kinds of entries vanish.
        let mut known = Vec::new();
        for import in imports {
            let (child, parent, short) = match &import {
                Json::Object(map) => (text(map.get("child")), text(map.get("parent")), false),
                Json::String(name) => (format!("exports.{name}"), ".".to_owned(), true),
                _ => continue,
            };
            known.push(serde_json::json!({ "child": child, "parent": parent }));
            match table(values, &format!("{}.{child}", spec.name)) {
                Ok(found) => {
                    // An empty table is a new one.
                    let found = if found.is_empty() { Map::new() } else { found };
                    merge_tables(imported, &at_path(&parent, found), Nulls::Keep, warnings);
                }
                Err(error) if short => {
                    warnings.push(format!("Warning: ImportValues missing table: {error}"));
                }
                Err(error) => warnings.push(format!(
                    "Warning: ImportValues missing table from chart {}: {error}",
                    spec.name
                )),
            }
        }
        spec.import_values = (!known.is_empty()).then_some(known);
    }
}

fn text(value: Option<&Json>) -> String {
    shown("%v", &value.map_or(Value::Nil, convert::from_json))
}

/// The table under the names of a path.
fn at_path(path: &str, table: Map) -> Map {
    if path == "." {
        return table;
    }
    path.rsplit('.').fold(table, |inner, name| {
        let outer = Map::new();
        outer.set(Str::from(name), Value::Map(inner));
        outer
    })
}
