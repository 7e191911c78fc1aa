//! What is wrong with a value, and how it is told.

use crate::quote::quoted;

/// What a fault says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Several faults of one value.
    #[default]
    Group,
    /// What a reference leads to has faults.
    Reference,
    /// All others.
    Said(String),
}

/// A fault at a place, with what led to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fault {
    /// The place as a JSON pointer.
    pub(super) at: String,
    pub(super) kind: Kind,
    pub(super) causes: Vec<Self>,
}

impl Fault {
    /// The faults of a group, or the fault alone.
    pub(super) fn flat(self) -> Vec<Self> {
        if self.kind == Kind::Group {
            self.causes
        } else {
            vec![self]
        }
    }

    fn show(&self, out: &mut String, indent: usize) {
        let mut below = indent;
        // A reference that leads to one fault only is not worth a line.
        if self.kind != Kind::Reference || self.causes.len() != 1 {
            out.push('\n');
            out.push_str(&"  ".repeat(indent));
            out.push_str("- at ");
            out.push_str(&quote(&self.at));
            out.push_str(": ");
            out.push_str(match &self.kind {
                Kind::Group | Kind::Reference => "validation failed",
                Kind::Said(text) => text,
            });
            below += 1;
        }
        for cause in &self.causes {
            cause.show(out, below);
        }
    }
}

/// All faults of a value, each on a line behind a line break, their causes indented.
pub(super) fn lines(faults: &[Fault]) -> String {
    let mut out = String::new();
    for fault in faults {
        fault.show(&mut out, 0);
    }
    out
}

/// A text in single quotes.
pub(super) fn quote(text: &str) -> String {
    // A backslash at the end pairs with the closing quote, as in Helm's library.
    let text = quoted(text).replace("\\\"", "\"").replace('\'', "\\'");
    let inner = text
        .get(1..text.len().saturating_sub(1))
        .unwrap_or_default();
    format!("'{inner}'")
}

/// Texts in single quotes with commas between them.
pub(super) fn quote_all<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let texts: Vec<String> = texts.into_iter().map(quote).collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::{Fault, Kind, lines, quote};

    #[test]
    fn only_single_quotes_are_escaped() {
        assert_eq!(quote("a\"b'c\\\n"), "'a\"b\\'c\\\\\\n'");
    }

    #[test]
    fn a_reference_to_one_fault_takes_no_line() {
        let said = |text: &str| Fault {
            at: "/a".to_owned(),
            kind: Kind::Said(text.to_owned()),
            causes: Vec::new(),
        };
        let reference = |causes| Fault {
            at: "/a".to_owned(),
            kind: Kind::Reference,
            causes,
        };
        let faults = [
            reference(vec![said("x")]),
            reference(vec![said("y"), said("z")]),
        ];
        let shown = "\n- at '/a': x\n- at '/a': validation failed\n  - at '/a': y\n  - at '/a': z";
        assert_eq!(lines(&faults), shown);
    }
}
