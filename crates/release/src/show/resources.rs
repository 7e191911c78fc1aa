//! Live objects as Helm shows them: the rows that the API server makes of them, under the name of their kind.

use std::fmt::Write;

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::engine::Live;
use crate::resource::text;
use crate::shown::plain;

/// The least width of a column.
const LEAST: usize = 6;
/// Blanks behind the widest cell of a column.
const GAP: usize = 3;

/// Tables of live objects, kind by kind; empty if there are none.
#[must_use]
pub fn resources(live: &Live) -> String {
    let mut out = String::new();
    for (kind, objects) in live {
        let _ = writeln!(out, "==> {kind}");
        let mut columns = None;
        for object in objects {
            let table = table_of(object);
            let own = visible(&table);
            let rows = rows(&table, &own);
            let names: Vec<String> = own.iter().map(|(_, name)| name.clone()).collect();
            if rows.is_empty() {
                continue;
            }
            let is_other = columns.as_ref() != Some(&names);
            if is_other && columns.is_some() {
                out.push('\n');
            }
            let mut lines = rows;
            if is_other {
                lines.insert(0, names.iter().map(|name| name.to_uppercase()).collect());
            }
            columns = Some(names);
            out.push_str(&aligned(&lines));
        }
        out.push('\n');
    }
    out
}

/// The table of an answer; of an object whose server makes none, its name.
fn table_of(object: &Value) -> Value {
    if text(object, "/kind") == "Table" {
        return object.clone();
    }
    json!({
        "columnDefinitions": [{"name": "Name"}, {"name": "Age"}],
        "rows": [{"cells": [text(object, "/metadata/name"), "<unknown>"]}],
    })
}

/// The columns that are shown to people, with their places.
fn visible(table: &Value) -> Vec<(usize, String)> {
    let columns = table.get("columnDefinitions").and_then(Value::as_array);
    columns
        .into_iter()
        .flatten()
        .enumerate()
        .filter(|(_, column)| column.get("priority").and_then(Value::as_i64).unwrap_or(0) == 0)
        .map(|(at, column)| (at, text(column, "/name").to_owned()))
        .collect()
}

fn rows(table: &Value, columns: &[(usize, String)]) -> Vec<Vec<String>> {
    let rows = table.get("rows").and_then(Value::as_array);
    rows.into_iter()
        .flatten()
        .map(|row| {
            let cell = |at: usize| row.get("cells").and_then(|cells| cells.get(at));
            columns.iter().map(|(at, _)| shown(cell(*at))).collect()
        })
        .collect()
}

/// A cell up to its first line end.
fn shown(cell: Option<&Value>) -> String {
    match cell {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => match text.find(['\u{c}', '\n', '\r']) {
            Some(end) => format!("{}...", plain(text.get(..end).unwrap_or_default())),
            None => plain(text).into_owned(),
        },
        Some(other) => other.to_string(),
    }
}

/// Lines whose columns begin below each other; the last one is as wide as it is.
fn aligned(lines: &[Vec<String>]) -> String {
    let count = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        let widest = cells.map(|cell| cell.width()).max().unwrap_or(0);
        (widest + GAP).max(LEAST)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut out = String::new();
    for line in lines {
        for (at, cell) in line.iter().enumerate() {
            out.push_str(cell);
            if at + 1 < line.len() {
                let wanted = widths.get(at).copied().unwrap_or(0);
                out.push_str(&" ".repeat(wanted.saturating_sub(cell.width())));
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::resources;
    use crate::engine::Live;

    fn table(names: &[&str], cells: &Value) -> Value {
        let columns: Vec<Value> = names
            .iter()
            .map(|name| json!({"name": name, "priority": i32::from(name.starts_with('-'))}))
            .collect();
        json!({"kind": "Table", "columnDefinitions": columns, "rows": [{"cells": cells}]})
    }

    /// The form is that of Helm 3.22.0, each object with widths of its own.
    #[test]
    fn rows_stand_under_their_kind() {
        let maps = vec![
            table(
                &["Name", "Data", "Age"],
                &json!(["a-very-long-name-indeed", 1, "2s"]),
            ),
            table(&["Name", "Data", "Age"], &json!(["b", 0, "2s"])),
        ];
        let other = vec![
            table(
                &["Name", "-Wide", "Created At"],
                &json!(["x", "hidden", "then\nmore"]),
            ),
            json!({"kind": "Widget", "metadata": {"name": "w\u{1b}"}}),
            json!({"kind": "Table", "columnDefinitions": [{"name": "Name"}], "rows": []}),
        ];
        let live = Live::from([
            ("v1/ConfigMap".to_owned(), maps),
            ("v1/Widget".to_owned(), other),
        ]);
        assert_eq!(
            resources(&live),
            "==> v1/ConfigMap\nNAME                      DATA   AGE\na-very-long-name-indeed   1      2s\nb     0     2s\n\n==> v1/Widget\nNAME   CREATED AT\nx      then...\n\nNAME      AGE\nw\\u{1b}   <unknown>\n\n"
        );
        assert_eq!(resources(&Live::new()), "");
    }
}
