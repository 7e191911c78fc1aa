//! Values as Go shows them (`%#v`), for error texts.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use super::number::yaml_float;

/// A value before it goes through JSON.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shown {
    Null,
    Text(String),
    Uint(u64),
    Int(i64),
    Float(f64),
    Bool(bool),
    List(Vec<Shown>),
    Table(BTreeMap<ShownKey, Shown>),
}

/// A scalar as a key, ordered by kind and then by value.
#[derive(Debug, Clone)]
pub(super) struct ShownKey(pub(super) Shown);

impl Ord for ShownKey {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Shown::Text(one), Shown::Text(other)) => one.cmp(other),
            (Shown::Uint(one), Shown::Uint(other)) => one.cmp(other),
            (Shown::Int(one), Shown::Int(other)) => one.cmp(other),
            (Shown::Bool(one), Shown::Bool(other)) => one.cmp(other),
            // NaN is the least.
            (Shown::Float(one), Shown::Float(other)) => one
                .partial_cmp(other)
                .unwrap_or_else(|| other.is_nan().cmp(&one.is_nan())),
            (one, other) => one.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for ShownKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ShownKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ShownKey {}

impl Shown {
    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Text(_) => 1,
            Self::Uint(_) => 2,
            Self::Int(_) => 3,
            Self::Float(_) => 4,
            Self::Bool(_) => 5,
            Self::List(_) | Self::Table(_) => 6,
        }
    }

    /// Writes a value inside another one, where null has its type.
    fn nested(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => out.write_str("interface {}(nil)"),
            other => write!(out, "{other}"),
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => out.write_str("<nil>"),
            Self::Text(text) => quote(text, out),
            Self::Uint(value) => write!(out, "{value:#x}"),
            Self::Int(value) => write!(out, "{value}"),
            Self::Float(value) if value.is_nan() => out.write_str("NaN"),
            Self::Float(value) if value.is_infinite() => {
                out.write_str(if *value > 0.0 { "+Inf" } else { "-Inf" })
            }
            Self::Float(value) => out.write_str(&yaml_float(*value)),
            Self::Bool(value) => write!(out, "{value}"),
            Self::List(items) => {
                out.write_str("[]interface {}{")?;
                for (number, item) in items.iter().enumerate() {
                    if number > 0 {
                        out.write_str(", ")?;
                    }
                    item.nested(out)?;
                }
                out.write_str("}")
            }
            Self::Table(entries) => {
                out.write_str("map[interface {}]interface {}{")?;
                for (number, (key, value)) in entries.iter().enumerate() {
                    if number > 0 {
                        out.write_str(", ")?;
                    }
                    key.0.nested(out)?;
                    out.write_str(":")?;
                    value.nested(out)?;
                }
                out.write_str("}")
            }
        }
    }
}

/// A text in quotes.
fn quote(text: &str, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    use fmt::Write;
    out.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(out, "\\{c}")?,
            '\u{7}' => out.write_str("\\a")?,
            '\u{8}' => out.write_str("\\b")?,
            '\t' => out.write_str("\\t")?,
            '\n' => out.write_str("\\n")?,
            '\u{B}' => out.write_str("\\v")?,
            '\u{C}' => out.write_str("\\f")?,
            '\r' => out.write_str("\\r")?,
            _ if is_printable(c) => out.write_char(c)?,
            '\0'..='\u{7F}' => write!(out, "\\x{:02x}", u32::from(c))?,
            '\u{80}'..='\u{FFFF}' => write!(out, "\\u{:04x}", u32::from(c))?,
            _ => write!(out, "\\U{:08x}", u32::from(c))?,
        }
    }
    out.write_char('"')
}

/// What is shown as it is. Rust knows that too, for a character that is not the first of a text (a
/// combining one is escaped there) and not a quote.
fn is_printable(c: char) -> bool {
    if c == '\'' {
        return true;
    }
    let mut text = String::with_capacity(1 + c.len_utf8());
    text.push('a');
    text.push(c);
    text.escape_debug().nth(1) == Some(c)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Shown, ShownKey};

    #[test]
    fn texts_are_quoted_as_go_quotes_them() {
        for (text, shown) in [
            ("it's", "\"it's\""),
            ("a\"b\\", "\"a\\\"b\\\\\""),
            ("\u{7}\u{8}\t\n\u{B}\u{C}\r", "\"\\a\\b\\t\\n\\v\\f\\r\""),
            ("\u{1}\u{7F}", "\"\\x01\\x7f\""),
            ("é\u{301}\u{1F600}", "\"é\u{301}\u{1F600}\""),
            ("\u{A0}\u{2028}\u{E0001}", "\"\\u00a0\\u2028\\U000e0001\""),
        ] {
            assert_eq!(Shown::Text(text.to_owned()).to_string(), shown);
        }
    }

    #[test]
    fn keys_are_ordered_by_kind_and_shown_once() {
        let mut table = BTreeMap::new();
        for (key, value) in [
            (Shown::Int(10), 1),
            (Shown::Text("b".to_owned()), 2),
            (Shown::Int(2), 3),
            (Shown::Null, 4),
            (Shown::Int(10), 5),
            (Shown::Bool(true), 6),
            (Shown::Float(f64::NAN), 7),
        ] {
            table.insert(ShownKey(key), Shown::Int(value));
        }
        assert_eq!(
            Shown::Table(table).to_string(),
            "map[interface {}]interface {}{interface {}(nil):4, \"b\":2, 2:3, 10:5, NaN:7, true:6}"
        );
    }
}
