//! Values of users over those of charts, charts over the charts in them.
//!
//! Duty: Helm's `CoalesceValues` and `MergeValues`, on tables that are shared as Go shares them: what one chart
//! changes in a table that another one sees, the other one sees changed.

use kzero_gotmpl::{Elem, Map, Str, Value};

use crate::convert::shown;
use crate::tree::{Id, Tree};

/// The key under which values for all charts stand.
pub(crate) const GLOBAL: &[u8] = b"global";

/// What becomes of null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// It takes away what it stands for.
    Delete,
    /// It stays, so that a later pass can still delete.
    Keep,
}

/// Lays values over those of a chart and all charts in it. The values given are copied first.
///
/// # Errors
///
/// The place of a chart's values holds something else than a table.
pub(crate) fn coalesce(
    tree: &Tree<'_>,
    chart: Id,
    values: &Map,
    nulls: Nulls,
    warnings: &mut Vec<String>,
) -> Result<Map, String> {
    let dest = copy_table(values);
    let mut pass = Pass {
        tree,
        nulls,
        warnings,
    };
    pass.chart(chart, &dest, "")?;
    Ok(dest)
}

/// A copy that shares no table or list with its original.
pub(crate) fn copy_table(table: &Map) -> Map {
    Map::typed(Elem::Any, table.entries().map(copy))
}

fn copy(value: &Value) -> Value {
    match value {
        Value::Map(map) => Value::Map(copy_table(map)),
        Value::List(list) => Value::List(list.items().iter().map(copy).collect()),
        other => other.clone(),
    }
}

/// Lays `dst` over `src`, into `dst`; `dst` is stronger. Tables of `src` may end up in `dst`, and `src` is changed.
pub(crate) fn merge_tables(dst: &Map, src: &Map, nulls: Nulls, warnings: &mut Vec<String>) {
    tables(dst, src, "", nulls, warnings);
}

struct Pass<'a> {
    tree: &'a Tree<'a>,
    nulls: Nulls,
    warnings: &'a mut Vec<String>,
}

impl Pass<'_> {
    fn chart(&mut self, chart: Id, dest: &Map, prefix: &str) -> Result<(), String> {
        let path = join(prefix, self.tree.name(chart));
        self.own(chart, dest, &path);
        for &child in self.tree.children(chart) {
            let name = self.tree.name(child);
            let key = name.as_bytes();
            let table = match dest.get(key) {
                None => {
                    let table = Map::new();
                    dest.set(Str::from(name), Value::Map(table.clone()));
                    table
                }
                Some(Value::Map(table)) => table,
                Some(other) => {
                    // Go prints the value with a verb for booleans.
                    return Err(format!("type mismatch on {name}: {}", shown("%t", &other)));
                }
            };
            self.globals(&table, dest, &path);
            self.chart(child, &table, &path)?;
        }
        Ok(())
    }

    /// Lays `dest` over the chart's own values.
    fn own(&mut self, chart: Id, dest: &Map, path: &str) {
        let defaults = self.tree.values(chart);
        for (key, default) in defaults.entries().iter() {
            match dest.get(key) {
                None => dest.set(key.clone(), default.clone()),
                Some(Value::Nil) if self.nulls == Nulls::Delete => {
                    dest.remove(key);
                }
                Some(Value::Map(table)) => match default {
                    Value::Map(default) => {
                        // Nulls for a chart inside must reach it, which deletes by its own defaults.
                        let inner = self.tree.has_child(chart, key);
                        let nulls = if inner { Nulls::Keep } else { self.nulls };
                        tables(&table, default, &join_key(path, key), nulls, self.warnings);
                    }
                    Value::Nil => {}
                    _ => self.warnings.push(format!(
                        "warning: skipped value for {}: Not a table.",
                        join_key(path, key)
                    )),
                },
                Some(_) => {}
            }
        }
    }

    /// Puts the globals of `src` into `dest`, where those of `src` are stronger.
    fn globals(&mut self, dest: &Map, src: &Map, prefix: &str) {
        let to = match dest.get(GLOBAL) {
            None => Map::new(),
            Some(Value::Map(table)) => table,
            Some(_) => {
                let text = "warning: skipping globals because destination global is not a table.";
                self.warnings.push(text.to_owned());
                return;
            }
        };
        let from = match src.get(GLOBAL) {
            None => Map::new(),
            Some(Value::Map(table)) => table,
            Some(_) => {
                let text = "warning: skipping globals because source global is not a table.";
                self.warnings.push(text.to_owned());
                return;
            }
        };
        for (key, value) in from.entries().iter() {
            match (value, to.get(key)) {
                (Value::Map(table), None) => to.set(key.clone(), Value::Map(shallow(table))),
                (Value::Map(table), Some(Value::Map(own))) => {
                    // Only this level is copied: deeper tables stay shared with the parent, and what is
                    // merged into them shows there too, as in Helm.
                    let merged = shallow(table);
                    tables(
                        &merged,
                        &own,
                        &join_key(prefix, key),
                        Nulls::Keep,
                        self.warnings,
                    );
                    to.set(key.clone(), Value::Map(merged));
                }
                (Value::Map(_), Some(_)) => self.warnings.push(format!(
                    "Conflict: cannot merge map onto non-map for {:?}. Skipping.",
                    key.to_text()
                )),
                (_, Some(Value::Map(_))) => self
                    .warnings
                    .push(format!("key {} is table. Skipping", key.to_text())),
                (other, _) => to.set(key.clone(), other.clone()),
            }
        }
        dest.set(Str::new(GLOBAL), Value::Map(to));
    }
}

fn shallow(table: &Map) -> Map {
    Map::typed(Elem::Any, table.entries().map(Value::clone))
}

fn tables(dst: &Map, src: &Map, prefix: &str, nulls: Nulls, warnings: &mut Vec<String>) {
    if dst.same(src) {
        return;
    }
    // What the defaults have is asked before the nulls below are written over them.
    let has_default = |key: &Str| !matches!(src.get(key), None | Some(Value::Nil));
    let deleted: Vec<Str> = dst
        .entries()
        .iter()
        .filter(|(key, value)| matches!(value, Value::Nil) && has_default(key))
        .map(|(key, _)| key.clone())
        .collect();
    let nil: Vec<Str> = dst
        .entries()
        .iter()
        .filter(|(_, value)| matches!(value, Value::Nil))
        .map(|(key, _)| key.clone())
        .collect();
    for key in nil {
        src.set(key, Value::Nil);
    }
    if nulls == Nulls::Delete {
        for key in &deleted {
            dst.remove(key);
        }
    }
    let entries: Vec<(Str, Value)> = src
        .entries()
        .iter()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    for (key, value) in entries {
        if nulls == Nulls::Delete && deleted.contains(&key) {
            continue;
        }
        match (dst.get(&key), &value) {
            (None, _) => dst.set(key, value),
            (Some(Value::Map(own)), Value::Map(default)) => {
                tables(&own, default, &join_key(prefix, &key), nulls, warnings);
            }
            (Some(_), Value::Map(_)) => warnings.push(format!(
                "warning: cannot overwrite table with non table for {} ({})",
                join_key(prefix, &key),
                shown("%v", &value)
            )),
            (Some(Value::Map(_)), other) if !matches!(other, Value::Nil) => warnings.push(format!(
                "warning: destination for {} is a table. Ignoring non-table value ({})",
                join_key(prefix, &key),
                shown("%v", other)
            )),
            _ => {}
        }
    }
}

fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}.{name}")
    }
}

fn join_key(prefix: &str, key: &Str) -> String {
    join(prefix, &key.to_text())
}
