//! Values to text, as `toYaml` writes them.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::decode::DecodeError;
use super::number::{json_number, yaml_float};
use super::resolve::{Resolved, is_base_60, resolve};
use super::scalar::{analyze, is_break, is_printable};

/// The column after which texts are folded at their next blank.
const WIDTH: usize = 80;
/// Columns of one level.
const INDENT: usize = 2;
/// The longest key that is written without a question mark, in bytes.
const SIMPLE_KEY: usize = 128;

/// Writes a value as Helm's `toYaml`: sorted keys, lists under keys not indented, no newline at
/// the end.
///
/// Numbers go through JSON as there: what reads as an integer is written as one.
///
/// # Errors
///
/// A text holds a character that YAML has no place for even inside JSON: C1 controls, DEL, and
/// the two code points that are no characters. `toYaml` gives an empty text then.
pub fn encode(value: &Value) -> Result<String, DecodeError> {
    check(value)?;
    Ok(emit(value, Form::Plain))
}

/// Writes a value as Helm's `toYamlPretty`: lists under keys are indented, long lines stay whole, and numbers are
/// written as Go prints them, without a way through JSON.
#[must_use]
pub fn encode_pretty(value: &Value) -> String {
    emit(value, Form::Pretty)
}

fn emit(value: &Value, form: Form) -> String {
    let mut emitter = Emitter {
        out: String::new(),
        column: 0,
        whitespace: true,
        indention: true,
        form,
    };
    emitter.node(value, -1, Place::Root);
    // `toYaml` trims one newline; a text that ends in several keeps the others.
    if emitter.out.ends_with('\n') {
        emitter.out.pop();
    }
    emitter.out
}

/// Which of Helm's two writers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Pretty,
}

/// Refuses what cannot pass through JSON text into a YAML reader.
fn check(value: &Value) -> Result<(), DecodeError> {
    let refused =
        |c: char| matches!(c, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}');
    let check_text = |text: &str| {
        if text.contains(refused) {
            return Err(DecodeError::new("yaml: control characters are not allowed"));
        }
        Ok(())
    };
    match value {
        Value::String(text) => check_text(text),
        Value::Array(items) => items.iter().try_for_each(check),
        Value::Object(map) => map.iter().try_for_each(|(key, value)| {
            check_text(key)?;
            // A key of several lines is none, and to a YAML reader NEL ends a line.
            if key.contains('\u{85}') {
                return Err(DecodeError::new(
                    "yaml: line 1: did not find expected ',' or '}'",
                ));
            }
            check(value)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// A text after its way through JSON: NEL is not escaped there, and a YAML reader folds it as a
/// line break.
fn through_json(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{85}') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{85}') {
        out.push_str(rest[..at].trim_end_matches([' ', '\t']));
        let run_end = rest[at..]
            .find(|c| !matches!(c, '\u{85}' | ' ' | '\t'))
            .map_or(rest.len(), |end| at + end);
        let breaks = rest[at..run_end].matches('\u{85}').count();
        if breaks == 1 {
            out.push(' ');
        } else {
            out.extend(std::iter::repeat_n('\n', breaks - 1));
        }
        rest = &rest[run_end..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Item,
    /// The value of a key.
    Value,
    /// A key short enough to stand before its colon.
    SimpleKey,
}

#[derive(Clone, Copy)]
enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
}

struct Emitter {
    out: String,
    /// In characters, from 0.
    column: usize,
    /// Whether the last character was a blank or an indicator that needs none after it.
    whitespace: bool,
    /// Whether the line holds nothing but indentation and indicators.
    indention: bool,
    form: Form,
}

impl Emitter {
    /// The column after which texts are folded.
    fn width(&self) -> usize {
        match self.form {
            Form::Plain => WIDTH,
            Form::Pretty => usize::MAX,
        }
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn put_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    fn indicator(&mut self, text: &str, need_blank: bool, indention: bool) {
        if need_blank && !self.whitespace {
            self.put(' ');
        }
        for c in text.chars() {
            self.put(c);
        }
        self.whitespace = false;
        self.indention = self.indention && indention;
    }

    fn indent(&mut self, indent: isize) {
        let indent = usize::try_from(indent).unwrap_or(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.put_break();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    /// `indent` is that of the collection around the node, -1 at the root.
    fn node(&mut self, value: &Value, indent: isize, place: Place) {
        match value {
            Value::Array(items) if items.is_empty() => self.indicator("[]", true, false),
            Value::Object(map) if map.is_empty() => self.indicator("{}", true, false),
            Value::Array(items) => self.sequence(items, indent, place),
            Value::Object(map) => self.mapping(map, indent),
            Value::Null => self.text("null", Style::Plain, indent, place),
            Value::Bool(value) => {
                self.text(
                    if *value { "true" } else { "false" },
                    Style::Plain,
                    indent,
                    place,
                );
            }
            Value::Number(number) => {
                let text = match (self.form, number.as_f64()) {
                    (Form::Pretty, Some(value)) if number.is_f64() => yaml_float(value),
                    _ => number_text(number),
                };
                self.text(&text, Style::Plain, indent, place);
            }
            Value::String(text) => {
                let text = match self.form {
                    Form::Plain => through_json(text),
                    Form::Pretty => Cow::Borrowed(text.as_str()),
                };
                let style = string_style(&text, place);
                self.text(&text, style, indent, place);
            }
        }
    }

    fn sequence(&mut self, items: &[Value], indent: isize, place: Place) {
        // A list under a key on a line of its own begins where the key does.
        let own = if indent < 0 {
            0
        } else if self.form == Form::Plain && place == Place::Value && !self.indention {
            indent
        } else {
            indent + INDENT as isize
        };
        for item in items {
            self.indent(own);
            self.indicator("-", true, true);
            self.node(item, own, Place::Item);
        }
    }

    fn mapping(&mut self, map: &Map<String, Value>, indent: isize) {
        let own = if indent < 0 {
            0
        } else {
            indent + INDENT as isize
        };
        let mut keys: Vec<&String> = map.keys().collect();
        sort_keys(&mut keys);
        for key in keys {
            let Some(value) = map.get(key) else { continue };
            self.indent(own);
            let simple = key.len() <= SIMPLE_KEY && !key.chars().any(is_break);
            if simple {
                let style = string_style(key, Place::SimpleKey);
                self.text(key, style, own, Place::SimpleKey);
                self.indicator(":", false, false);
            } else {
                self.indicator("?", true, true);
                let style = string_style(key, Place::Item);
                self.text(key, style, own, Place::Item);
                self.indent(own);
                self.indicator(":", true, true);
            }
            self.node(value, own, Place::Value);
        }
    }

    fn text(&mut self, text: &str, style: Style, indent: isize, place: Place) {
        let own = if indent < 0 {
            INDENT as isize
        } else {
            indent + INDENT as isize
        };
        let breaks = place != Place::SimpleKey;
        match style {
            Style::Plain => self.plain(text, own, breaks),
            Style::SingleQuoted => self.single_quoted(text, own, breaks),
            Style::DoubleQuoted => self.double_quoted(text, own, breaks),
            Style::Literal => self.literal(text, own),
        }
    }

    fn plain(&mut self, text: &str, indent: isize, breaks: bool) {
        if !text.is_empty() && !self.whitespace {
            self.put(' ');
        }
        let mut after_space = false;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if c == ' ' {
                let fold = breaks && !after_space && self.column > self.width();
                if fold && chars.peek() != Some(&' ') {
                    self.indent(indent);
                } else {
                    self.put(c);
                }
                after_space = true;
            } else {
                self.put(c);
                self.indention = false;
                after_space = false;
            }
        }
        self.whitespace = false;
        self.indention = false;
    }

    fn single_quoted(&mut self, text: &str, indent: isize, breaks: bool) {
        self.indicator("'", true, false);
        let (mut after_space, mut after_break) = (false, false);
        let mut chars = text.chars().peekable();
        let mut first = true;
        while let Some(c) = chars.next() {
            let next = chars.peek().copied();
            if c == ' ' {
                let inside = !first && next.is_some() && next != Some(' ');
                if breaks && !after_space && self.column > self.width() && inside {
                    self.indent(indent);
                } else {
                    self.put(c);
                }
                after_space = true;
            } else if is_break(c) {
                if !after_break && c == '\n' {
                    self.put_break();
                }
                self.write_break(c);
                self.indention = true;
                after_break = true;
            } else {
                if after_break {
                    self.indent(indent);
                }
                if c == '\'' {
                    self.put('\'');
                }
                self.put(c);
                self.indention = false;
                (after_space, after_break) = (false, false);
            }
            first = false;
        }
        self.indicator("'", false, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn write_break(&mut self, c: char) {
        if c == '\n' {
            self.put_break();
        } else {
            self.out.push(c);
            self.column = 0;
        }
    }

    fn double_quoted(&mut self, text: &str, indent: isize, breaks: bool) {
        self.indicator("\"", true, false);
        let mut after_space = false;
        let mut first = true;
        // go-yaml looks for a byte order mark at the start of the text only, at each character.
        let marked = text.starts_with('\u{feff}');
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let next = chars.peek().copied();
            if marked || !is_printable(c) || is_break(c) || c == '"' || c == '\\' {
                self.escape(c);
                after_space = false;
            } else if c == ' ' {
                if breaks && !after_space && self.column > self.width() && !first && next.is_some()
                {
                    self.indent(indent);
                    if next == Some(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(c);
                }
                after_space = true;
            } else {
                self.put(c);
                after_space = false;
            }
            first = false;
        }
        self.indicator("\"", false, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn escape(&mut self, c: char) {
        let code = u32::from(c);
        let text = match c {
            '\0' => "\\0".to_owned(),
            '\u{7}' => "\\a".to_owned(),
            '\u{8}' => "\\b".to_owned(),
            '\t' => "\\t".to_owned(),
            '\n' => "\\n".to_owned(),
            '\u{b}' => "\\v".to_owned(),
            '\u{c}' => "\\f".to_owned(),
            '\r' => "\\r".to_owned(),
            '\u{1b}' => "\\e".to_owned(),
            '"' => "\\\"".to_owned(),
            '\\' => "\\\\".to_owned(),
            '\u{85}' => "\\N".to_owned(),
            '\u{a0}' => "\\_".to_owned(),
            '\u{2028}' => "\\L".to_owned(),
            '\u{2029}' => "\\P".to_owned(),
            _ if code <= 0xff => format!("\\x{code:02X}"),
            _ if code <= 0xffff => format!("\\u{code:04X}"),
            _ => format!("\\U{code:08X}"),
        };
        for c in text.chars() {
            self.put(c);
        }
    }

    fn literal(&mut self, text: &str, indent: isize) {
        self.indicator("|", true, false);
        // The hint says how far the text is indented where its first line cannot show it.
        if text.starts_with(|c: char| c == ' ' || is_break(c)) {
            self.put('2');
        }
        let mut from_end = text.chars().rev();
        match (from_end.next(), from_end.next()) {
            (Some(last), _) if !is_break(last) => self.put('-'),
            (Some(_), None) => self.put('+'),
            (Some(_), Some(before)) if is_break(before) => self.put('+'),
            _ => {}
        }
        self.put_break();
        self.indention = true;
        self.whitespace = true;
        let mut after_break = true;
        for c in text.chars() {
            if is_break(c) {
                self.write_break(c);
                self.indention = true;
                after_break = true;
            } else {
                if after_break {
                    self.indent(indent);
                }
                self.put(c);
                self.indention = false;
                after_break = false;
            }
        }
    }
}

/// A number after its way through JSON and back.
fn number_text(number: &Number) -> String {
    let text = json_number(number);
    match resolve(&text) {
        Resolved::Int(value) => value.to_string(),
        Resolved::Uint(value) => value.to_string(),
        Resolved::Float(value) => yaml_float(value),
        _ => text,
    }
}

fn string_style(text: &str, place: Place) -> Style {
    let is_text = matches!(resolve(text), Resolved::String) && !is_base_60(text);
    let wanted = if text.contains('\n') {
        Style::Literal
    } else if is_text {
        Style::Plain
    } else {
        Style::DoubleQuoted
    };
    let analysis = analyze(text);
    let key = place == Place::SimpleKey;
    match wanted {
        Style::Literal if !analysis.block || (key && analysis.multiline) => Style::DoubleQuoted,
        Style::Plain if !analysis.plain && analysis.single_quoted => Style::SingleQuoted,
        Style::Plain if !analysis.plain => Style::DoubleQuoted,
        other => other,
    }
}

/// Sorts keys without the library's sort, which may panic: the order has circles.
fn sort_keys(keys: &mut Vec<&String>) {
    if keys.len() < 2 {
        return;
    }
    let mut right = keys.split_off(keys.len() / 2);
    sort_keys(keys);
    sort_keys(&mut right);
    let mut left = std::mem::take(keys).into_iter().peekable();
    let mut right = right.into_iter().peekable();
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let from_right = natural(b, a) == Ordering::Less;
        keys.extend(if from_right {
            right.next()
        } else {
            left.next()
        });
    }
    keys.extend(left);
    keys.extend(right);
}

/// The order of keys at their first difference: letters by code point, everything else before
/// letters, and digits by the number they make.
pub(super) fn natural(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(at) = a.iter().zip(&b).position(|(a, b)| a != b) else {
        return a.len().cmp(&b.len());
    };
    let (one, two) = (a[at], b[at]);
    match (one.is_alphabetic(), two.is_alphabetic()) {
        (true, true) => return one.cmp(&two),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero inside a longer number counts as a digit of it, at its start it does not.
    let inside = (one == '0' || two == '0')
        && a[..at]
            .iter()
            .rev()
            .take_while(|c| c.is_ascii_digit())
            .any(|c| *c != '0');
    let run = |chars: &[char]| {
        let digits = chars[at..].iter().take_while(|c| c.is_ascii_digit());
        let start = (i64::from(inside), 0_usize);
        digits.fold(start, |(number, count), digit| {
            let digit = i64::from(u32::from(*digit) - u32::from('0'));
            (number.wrapping_mul(10).wrapping_add(digit), count + 1)
        })
    };
    run(&a).cmp(&run(&b)).then(one.cmp(&two))
}
