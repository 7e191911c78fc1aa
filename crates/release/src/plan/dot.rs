//! Plans as Graphviz draws them.

use std::fmt::Write as _;

use super::{Plan, Task};
use crate::shown::plain;

impl Plan {
    /// The graph in the DOT language: operations as boxes, barriers as dots, each edge with its reason.
    #[must_use]
    pub fn dot(&self) -> String {
        let mut text = String::from("digraph plan {\n  rankdir=LR;\n  node [shape=box];\n");
        for (vertex, operation) in self.operations.iter().enumerate() {
            let shape = if operation.task == Task::Barrier {
                ", shape=point"
            } else {
                ""
            };
            let _ = writeln!(
                text,
                "  {vertex} [label={}{shape}];",
                quoted(&self.describe(vertex))
            );
        }
        for edge in self.graph.edges() {
            let reason = quoted(&edge.reason.to_string());
            let _ = writeln!(text, "  {} -> {} [label={reason}];", edge.from, edge.to);
        }
        text.push_str("}\n");
        text
    }
}

fn quoted(text: &str) -> String {
    let escaped = plain(text).replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}
