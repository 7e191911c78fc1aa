//! Writing TOML.
//!
//! Duty: the bytes that the Go library writes: scalars before tables, keys in byte order, tables indented by their
//! depth, and commas in inline tables where it puts them, empty entries or not.

use kzero_gotmpl::{FuncError, List, Map, Str, Time, Value};

/// Deeper values are taken to hold themselves.
const MAX_DEPTH: usize = 1000;
/// How many values may be looked at; shared lists and maps may stand for far more than they hold.
const MAX_WORK: usize = 4_000_000;

/// Writes a value. What the Go library refuses comes out as its error text, as in Helm.
///
/// # Errors
///
/// A panic of the Go library, which templates show as an error; a text longer than `bound` bytes; a value that is too
/// deep or too large.
pub(crate) fn encode(value: &Value, bound: usize) -> Result<Vec<u8>, FuncError> {
    let mut writer = Writer {
        out: Vec::new(),
        written: false,
        bound,
        work: MAX_WORK,
    };
    if matches!(value, Value::Nil) {
        return Err(FuncError::new(
            "reflect: call of reflect.Value.Type on zero Value",
        ));
    }
    match writer.entry(&mut Vec::new(), value) {
        Ok(()) => Ok(writer.out),
        Err(Stop::Refused(text)) => Ok(text.into_bytes()),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// Why writing ended early.
enum Stop {
    /// The library's error, which Helm gives in place of the text.
    Refused(String),
    Failed(FuncError),
}

type Done = Result<(), Stop>;

/// What decides where and how a value is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Nil, which is left out.
    Nothing,
    /// A map.
    Table,
    /// A list of maps only.
    Tables,
    /// Everything else.
    Scalar,
}

struct Writer {
    out: Vec<u8>,
    /// Whether anything has been written: no blank line comes first.
    written: bool,
    bound: usize,
    work: usize,
}

impl Writer {
    /// One entry of a table, or the document itself when the key has no part.
    fn entry(&mut self, key: &mut Vec<Str>, value: &Value) -> Done {
        if key.len() > MAX_DEPTH {
            return Err(too_deep());
        }
        match value {
            Value::Complex(..) => Err(Stop::Refused(format!(
                "unsupported type for key '{}': complex128",
                String::from_utf8_lossy(&dotted(key))
            ))),
            Value::Map(map) if map.is_nil() => Ok(()),
            Value::Map(map) => stacker::maybe_grow(64 * 1024, 1 << 20, || self.table(key, map)),
            Value::List(list) if self.shape(value, 0)? == Shape::Tables => {
                stacker::maybe_grow(64 * 1024, 1 << 20, || self.tables(key, list))
            }
            Value::Object(object) if Time::of(value).is_none() => match object.json() {
                Some(inner) => self.entry(key, &inner),
                None => self.assignment(key, value, false),
            },
            _ => self.assignment(key, value, false),
        }
    }

    fn table(&mut self, key: &mut Vec<Str>, map: &Map) -> Done {
        if key.len() == 1 {
            self.newline();
        }
        if !key.is_empty() {
            self.header(key, "[", "]")?;
        }
        self.entries(key, map)
    }

    fn tables(&mut self, key: &mut Vec<Str>, list: &List) -> Done {
        if key.is_empty() {
            return Err(Stop::Refused(
                "toml: top-level values must be Go maps or structs".to_owned(),
            ));
        }
        for item in list.items().iter() {
            if let Value::Map(map) = item
                && !map.is_nil()
            {
                self.newline();
                self.header(key, "[[", "]]")?;
                self.entries(key, map)?;
            }
        }
        Ok(())
    }

    fn header(&mut self, key: &[Str], open: &str, close: &str) -> Done {
        self.indent(key);
        self.text(open);
        self.out.extend(dotted(key));
        self.text(close);
        self.newline();
        self.check()
    }

    /// The entries of a map: those that are no tables first.
    fn entries(&mut self, key: &mut Vec<Str>, map: &Map) -> Done {
        let (direct, sub) = self.sorted(map)?;
        for (name, value) in direct.into_iter().chain(sub) {
            if !value.is_nil() {
                key.push(name);
                let done = self.entry(key, &value);
                key.pop();
                done?;
            }
        }
        Ok(())
    }

    /// The entries of a map, those that are no tables and those that are.
    fn sorted(&mut self, map: &Map) -> Result<(Entries, Entries), Stop> {
        let (mut direct, mut sub) = (Vec::new(), Vec::new());
        for (name, value) in map.entries().iter() {
            let side = match self.shape(value, 0)? {
                Shape::Table | Shape::Tables => &mut sub,
                Shape::Scalar | Shape::Nothing => &mut direct,
            };
            side.push((name.clone(), value.clone()));
        }
        Ok((direct, sub))
    }

    fn assignment(&mut self, key: &[Str], value: &Value, inline: bool) -> Done {
        if let Some(name) = key.last() {
            self.indent(key);
            push_key(&mut self.out, name);
            self.text(" = ");
        }
        self.element(value, key.len())?;
        if !inline && !key.is_empty() {
            self.newline();
        }
        self.check()
    }

    /// A value behind `=` or in an array.
    fn element(&mut self, value: &Value, depth: usize) -> Done {
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        if let Some(time) = Time::of(value) {
            let text = time.format(match &time.zone()[..] {
                b"datetime-local" => "2006-01-02T15:04:05.999999999",
                b"date-local" => "2006-01-02",
                b"time-local" => "15:04:05.999999999",
                _ => "2006-01-02T15:04:05.999999999Z07:00",
            });
            self.out.extend(text);
            self.written = true;
            return Ok(());
        }
        match value {
            Value::Bool(truth) => self.text(if *truth { "true" } else { "false" }),
            Value::Int(number) | Value::Int64(number) => self.text(&number.to_string()),
            Value::Uint8(number) => self.text(&number.to_string()),
            Value::Uint64(number) => self.text(&number.to_string()),
            Value::Float(number) => self.float(*number)?,
            Value::String(text) => push_quoted(&mut self.out, text),
            Value::Bytes(bytes) => {
                let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
                self.text(&format!("[{}]", numbers.join(", ")));
            }
            Value::List(list) => {
                stacker::maybe_grow(64 * 1024, 1 << 20, || self.array(list, depth))?;
            }
            Value::Map(map) => {
                stacker::maybe_grow(64 * 1024, 1 << 20, || self.inline_table(map, depth))?;
            }
            Value::Object(object) => match object.json() {
                Some(inner) => self.element(&inner, depth + 1)?,
                None => return Err(unsupported(object.kind().name())),
            },
            Value::Complex(..) => {
                return Err(Stop::Refused("unexpected type: complex128".to_owned()));
            }
            Value::Nil => return Err(nil_element()),
        }
        self.written = true;
        self.check()
    }

    fn array(&mut self, list: &List, depth: usize) -> Done {
        self.text("[");
        for (at, item) in list.items().iter().enumerate() {
            if at > 0 {
                self.text(", ");
            }
            self.element(item, depth + 1)?;
        }
        self.text("]");
        Ok(())
    }

    fn inline_table(&mut self, map: &Map, depth: usize) -> Done {
        let (direct, sub) = self.sorted(map)?;
        self.text("{");
        let trailing = !sub.is_empty();
        for (entries, trailing) in [(direct, trailing), (sub, false)] {
            let count = entries.len();
            for (at, (name, value)) in entries.into_iter().enumerate() {
                if value.is_nil() {
                    continue;
                }
                push_key(&mut self.out, &name);
                self.text(" = ");
                self.element(&value, depth + 1)?;
                // As in the library: by place, whether or not anything follows.
                if trailing || at + 1 < count {
                    self.text(", ");
                }
            }
        }
        self.text("}");
        Ok(())
    }

    /// The shape of a value. All items of a list are looked at, since nil in one is an error wherever it is.
    fn shape(&mut self, value: &Value, depth: usize) -> Result<Shape, Stop> {
        self.work = self.work.checked_sub(1).ok_or_else(too_large)?;
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        match value {
            _ if value.is_nil() => Ok(Shape::Nothing),
            Value::Map(_) => Ok(Shape::Table),
            Value::Complex(..) => Err(unsupported("complex128")),
            Value::List(list) => {
                stacker::maybe_grow(64 * 1024, 1 << 20, || self.list_shape(list, depth))
            }
            Value::Object(object) if Time::of(value).is_none() => match object.json() {
                Some(inner) => self.shape(&inner, depth + 1),
                None => Err(unsupported(object.kind().name())),
            },
            _ => Ok(Shape::Scalar),
        }
    }

    fn list_shape(&mut self, list: &List, depth: usize) -> Result<Shape, Stop> {
        let mut all_tables = !list.is_empty();
        for item in list.items().iter() {
            match self.shape(item, depth + 1)? {
                Shape::Nothing => return Err(nil_element()),
                Shape::Table => {}
                Shape::Tables | Shape::Scalar => all_tables = false,
            }
        }
        Ok(if all_tables {
            Shape::Tables
        } else {
            Shape::Scalar
        })
    }

    fn float(&mut self, number: f64) -> Done {
        if number.is_finite() {
            let shown = kzero_gotmpl::format("%v", &[Value::Float(number)], 64);
            let text = shown.map_err(Stop::Failed)?;
            self.out.extend_from_slice(&text);
            if !text.contains(&b'e') && !text.contains(&b'.') {
                self.text(".0");
            }
        } else {
            let sign = if number.is_sign_negative() { "-" } else { "" };
            self.text(sign);
            self.text(if number.is_nan() { "nan" } else { "inf" });
        }
        Ok(())
    }

    fn indent(&mut self, key: &[Str]) {
        self.text(&"  ".repeat(key.len().saturating_sub(1)));
    }

    fn newline(&mut self) {
        if self.written {
            self.text("\n");
        }
    }

    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
        self.written = true;
    }

    fn check(&self) -> Done {
        if self.out.len() > self.bound {
            return Err(too_large());
        }
        Ok(())
    }
}

type Entries = Vec<(Str, Value)>;

fn nil_element() -> Stop {
    Stop::Refused("toml: cannot encode array with nil element".to_owned())
}

fn unsupported(kind: &str) -> Stop {
    Stop::Refused(format!("unsupported type: {kind}"))
}

fn too_deep() -> Stop {
    Stop::Failed(FuncError::limit("toml: the value is nested too deeply"))
}

fn too_large() -> Stop {
    Stop::Failed(FuncError::limit("toml: the value is too large"))
}

/// The parts of a key with dots between them.
fn dotted(key: &[Str]) -> Vec<u8> {
    let mut out = Vec::new();
    for (at, part) in key.iter().enumerate() {
        if at > 0 {
            out.push(b'.');
        }
        push_key(&mut out, part);
    }
    out
}

/// A part of a key, in quotes where it needs them.
fn push_key(out: &mut Vec<u8>, key: &[u8]) {
    let bare = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !key.is_empty() && key.iter().all(bare) {
        out.extend_from_slice(key);
    } else {
        push_quoted(out, key);
    }
}

fn push_quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for &byte in text {
        let escaped = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\x08' => "\\b",
            b'\t' => "\\t",
            b'\n' => "\\n",
            b'\x0c' => "\\f",
            b'\r' => "\\r",
            0..=0x1f | 0x7f => {
                out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
                continue;
            }
            _ => {
                out.push(byte);
                continue;
            }
        };
        out.extend_from_slice(escaped.as_bytes());
    }
    out.push(b'"');
}
