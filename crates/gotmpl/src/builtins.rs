//! Go's own functions: comparing, indexing, printing, escaping.
//!
//! Duty: what `text/template` defines without any function map, in Go's words when it fails.

use crate::error::FuncError;
use crate::exec::Ev;
use crate::func::Cx;
use crate::gofmt::{self, Overflow};
use crate::text::Str;
use crate::utf8;
use crate::value::{Elem, Kind, List, Value};

/// One of Go's own functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    And,
    Call,
    Eq,
    Ge,
    Gt,
    Html,
    Index,
    Js,
    Le,
    Len,
    Lt,
    Ne,
    Not,
    Or,
    Print,
    Printf,
    Println,
    Slice,
    UrlQuery,
}

impl Builtin {
    pub(crate) const NAMES: &'static [(&'static str, Self)] = &[
        ("and", Self::And),
        ("call", Self::Call),
        ("eq", Self::Eq),
        ("ge", Self::Ge),
        ("gt", Self::Gt),
        ("html", Self::Html),
        ("index", Self::Index),
        ("js", Self::Js),
        ("le", Self::Le),
        ("len", Self::Len),
        ("lt", Self::Lt),
        ("ne", Self::Ne),
        ("not", Self::Not),
        ("or", Self::Or),
        ("print", Self::Print),
        ("printf", Self::Printf),
        ("println", Self::Println),
        ("slice", Self::Slice),
        ("urlquery", Self::UrlQuery),
    ];

    /// How many arguments it takes at least, and whether it takes more.
    pub(crate) fn arity(self) -> (usize, bool) {
        match self {
            Self::And
            | Self::Or
            | Self::Call
            | Self::Eq
            | Self::Index
            | Self::Printf
            | Self::Slice => (1, true),
            Self::Html | Self::Js | Self::Print | Self::Println | Self::UrlQuery => (0, true),
            Self::Ge | Self::Gt | Self::Le | Self::Lt | Self::Ne => (2, false),
            Self::Len | Self::Not => (1, false),
        }
    }
}

type Result<T> = std::result::Result<T, FuncError>;

fn fail<T>(message: impl Into<String>) -> Result<T> {
    Err(FuncError::new(message))
}

impl From<Overflow> for FuncError {
    fn from(_: Overflow) -> Self {
        Self::limit("the value is too large or too deep to print")
    }
}

/// Calls one; `name` is how the function given to `call` is written.
pub(crate) fn call(cx: &Cx<'_>, builtin: Builtin, name: &str, args: &[Ev]) -> Result<Ev> {
    let nothing = Ev::concrete(Value::Nil);
    let first = args.first().unwrap_or(&nothing);
    let second = args.get(1).unwrap_or(&nothing);
    let text = |bytes: Vec<u8>| Ok(Ev::concrete(Value::String(bytes.into())));
    let truth = |b: bool| Ok(Ev::concrete(Value::Bool(b)));
    match builtin {
        Builtin::And | Builtin::Or => Ok(first.clone()),
        Builtin::Call => not_callable(name, first),
        Builtin::Eq => truth(equal(&first.value, args.get(1..).unwrap_or_default())?),
        Builtin::Ne => truth(!equal(&first.value, std::slice::from_ref(second))?),
        Builtin::Lt => truth(less(&first.value, &second.value)?),
        Builtin::Le => truth(less_or_equal(&first.value, second)?),
        Builtin::Gt => truth(!less_or_equal(&first.value, second)?),
        Builtin::Ge => truth(!less(&first.value, &second.value)?),
        Builtin::Index => index(first, args.get(1..).unwrap_or_default()),
        Builtin::Slice => slice(&first.value, args.get(1..).unwrap_or_default()),
        Builtin::Len => length(first),
        Builtin::Not => truth(!first.value.truth()),
        Builtin::Print | Builtin::Println | Builtin::Printf => {
            let values: Vec<Value> = args.iter().map(|ev| ev.value.clone()).collect();
            let room = cx.room();
            text(match builtin {
                Builtin::Print => gofmt::sprint(&values, room)?,
                Builtin::Println => gofmt::sprintln(&values, room)?,
                _ => {
                    let (format, rest) = values.split_first().unwrap_or((&Value::Nil, &[]));
                    let format = format.as_str().cloned().unwrap_or_default();
                    gofmt::sprintf(&format, rest, room)?
                }
            })
        }
        Builtin::Html => text(html(&joined(cx, args)?)),
        Builtin::Js => text(js(&joined(cx, args)?)),
        Builtin::UrlQuery => text(query_escape(&joined(cx, args)?)),
    }
}

fn not_callable(name: &str, function: &Ev) -> Result<Ev> {
    if matches!(function.value, Value::Nil) {
        return fail("call of nil");
    }
    fail(format!(
        "non-function {name} of type {}",
        function.value.type_name()
    ))
}

/// The arguments as one text, as `print` joins them, but nil as Go's templates print it.
fn joined(cx: &Cx<'_>, args: &[Ev]) -> Result<Vec<u8>> {
    let values: Vec<Value> = args
        .iter()
        .map(|ev| match &ev.value {
            Value::Nil => Value::from("<no value>"),
            value => value.clone(),
        })
        .collect();
    Ok(gofmt::sprint(&values, cx.room())?)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Basic {
    None,
    Bool,
    Complex,
    Int,
    Float,
    String,
    Uint,
}

fn basic(value: &Value) -> Basic {
    match value {
        Value::Bool(_) => Basic::Bool,
        Value::Int(_) | Value::Int64(_) => Basic::Int,
        Value::Uint8(_) | Value::Uint64(_) => Basic::Uint,
        Value::Float(_) => Basic::Float,
        Value::Complex(..) => Basic::Complex,
        Value::String(_) => Basic::String,
        _ => Basic::None,
    }
}

/// A whole number of any integer type.
fn whole(value: &Value) -> i128 {
    match value {
        Value::Int(i) | Value::Int64(i) => i128::from(*i),
        Value::Uint8(u) => i128::from(*u),
        Value::Uint64(u) => i128::from(*u),
        _ => 0,
    }
}

/// `eq`: whether the first equals any of the others.
fn equal(first: &Value, others: &[Ev]) -> Result<bool> {
    if others.is_empty() {
        return fail("missing argument for comparison");
    }
    let kind = basic(first);
    for other in others {
        if equal_one(first, kind, &other.value)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn equal_one(first: &Value, kind: Basic, other: &Value) -> Result<bool> {
    let other_kind = basic(other);
    if kind != other_kind {
        if matches!(
            (kind, other_kind),
            (Basic::Int, Basic::Uint) | (Basic::Uint, Basic::Int)
        ) {
            return Ok(whole(first) == whole(other));
        }
        if !matches!(first, Value::Nil) && !matches!(other, Value::Nil) {
            return incompatible(first, other);
        }
        return Ok(false);
    }
    Ok(match (first, other) {
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::Complex(a, b), Value::Complex(c, d)) => a == c && b == d,
        (Value::String(a), Value::String(b)) => a == b,
        _ if kind != Basic::None => whole(first) == whole(other),
        _ => return equal_other(first, other),
    })
}

/// Values that are no numbers, strings or booleans.
fn equal_other(first: &Value, other: &Value) -> Result<bool> {
    let (kind, other_kind) = (first.kind(), other.kind());
    if kind != other_kind && kind != Kind::Invalid && other_kind != Kind::Invalid {
        // Go prints the second value and its type the other way round.
        return fail(format!(
            "non-comparable types {}: {}, {}: {}",
            gofmt::as_string(first),
            first.type_name(),
            other.type_name(),
            shown(other),
        ));
    }
    if first.is_nil() || other.is_nil() {
        return Ok(first.is_nil() == other.is_nil());
    }
    match (first, other) {
        (Value::Object(a), Value::Object(b)) => Ok(a.equal(b.as_ref())),
        _ => fail(format!(
            "non-comparable type {}: {}",
            gofmt::as_string(other),
            other.type_name()
        )),
    }
}

fn shown(value: &Value) -> String {
    let text = gofmt::to_text(value, 1 << 16).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}

fn incompatible<T>(first: &Value, other: &Value) -> Result<T> {
    fail(format!(
        "incompatible types for comparison: {} and {}",
        first.type_name(),
        other.type_name()
    ))
}

fn less(first: &Value, second: &Value) -> Result<bool> {
    let (kind, other) = (basic(first), basic(second));
    if kind == Basic::None || other == Basic::None {
        return fail("invalid type for comparison");
    }
    if kind != other {
        if matches!(
            (kind, other),
            (Basic::Int, Basic::Uint) | (Basic::Uint, Basic::Int)
        ) {
            return Ok(whole(first) < whole(second));
        }
        return incompatible(first, second);
    }
    match (first, second) {
        (Value::Bool(_) | Value::Complex(..), _) => fail("invalid type for comparison"),
        (Value::Float(a), Value::Float(b)) => Ok(a < b),
        (Value::String(a), Value::String(b)) => Ok(a < b),
        _ => Ok(whole(first) < whole(second)),
    }
}

fn less_or_equal(first: &Value, second: &Ev) -> Result<bool> {
    Ok(less(first, &second.value)? || equal(first, std::slice::from_ref(second))?)
}

/// A place in a list or string.
fn place(index: &Value, end: usize) -> Result<usize> {
    let at = match index {
        Value::Int(_) | Value::Int64(_) | Value::Uint8(_) | Value::Uint64(_) => whole(index),
        Value::Nil => return fail("cannot index slice/array with nil"),
        _ => {
            return fail(format!(
                "cannot index slice/array with type {}",
                index.type_name()
            ));
        }
    };
    // Beyond int64 Go shows what is left of the bits.
    match usize::try_from(at) {
        Ok(place) if place <= end && i64::try_from(at).is_ok() => Ok(place),
        _ => fail(format!("index out of range: {}", at as i64)),
    }
}

fn beyond<T>() -> Result<T> {
    fail("reflect: slice index out of range")
}

fn index(item: &Ev, indexes: &[Ev]) -> Result<Ev> {
    if matches!(item.value, Value::Nil) {
        return fail("index of untyped nil");
    }
    let mut item = Ev::concrete(item.value.clone());
    for index in indexes {
        let next = match &item.value {
            Value::Nil => return fail("index of nil pointer"),
            Value::List(list) => {
                let at = place(&index.value, list.len())?;
                match list.get(at) {
                    Some(value) => Ev {
                        value,
                        interface: list.elem() == Elem::Any,
                    },
                    None => return beyond(),
                }
            }
            Value::Bytes(bytes) => match bytes.get(place(&index.value, bytes.len())?) {
                Some(&byte) => Ev::concrete(Value::Uint8(byte)),
                None => return beyond(),
            },
            Value::String(text) => match text.get(place(&index.value, text.len())?) {
                Some(&byte) => Ev::concrete(Value::Uint8(byte)),
                None => return fail("reflect: string index out of range"),
            },
            Value::Map(map) => {
                let key = map_key(&index.value)?;
                let interface = map.elem() == Elem::Any;
                Ev {
                    value: map.get(&key).unwrap_or_else(|| map.zero()),
                    interface,
                }
            }
            Value::Object(object) if object.kind() == Kind::Map => {
                let key = map_key(&index.value)?;
                let found = object
                    .entries()
                    .and_then(|entries| entries.into_iter().find(|(known, _)| *known == key));
                Ev::concrete(found.map_or(Value::Nil, |(_, value)| value))
            }
            other => return fail(format!("can't index item of type {}", other.type_name())),
        };
        item = next;
    }
    Ok(item)
}

fn map_key(index: &Value) -> Result<Str> {
    match index {
        Value::String(key) => Ok(key.clone()),
        Value::Nil => fail("value is nil; should be of type string"),
        other => fail(format!(
            "value has type {}; should be string",
            other.type_name()
        )),
    }
}

fn slice(item: &Value, indexes: &[Ev]) -> Result<Ev> {
    if matches!(item, Value::Nil) {
        return fail("slice of untyped nil");
    }
    if indexes.len() > 3 {
        return fail(format!("too many slice indexes: {}", indexes.len()));
    }
    let len = match item {
        Value::String(_) if indexes.len() == 3 => return fail("cannot 3-index slice a string"),
        Value::String(text) | Value::Bytes(text) => text.len(),
        Value::List(list) => list.len(),
        other => return fail(format!("can't slice item of type {}", other.type_name())),
    };
    let mut bounds = [0, len, len];
    for (bound, index) in bounds.iter_mut().zip(indexes) {
        *bound = place(&index.value, len)?;
    }
    let [start, end, most] = bounds;
    if start > end {
        return fail(format!("invalid slice index: {start} > {end}"));
    }
    if indexes.len() == 3 && end > most {
        return fail(format!("invalid slice index: {end} > {most}"));
    }
    Ok(Ev::concrete(match item {
        Value::String(text) => Value::string(&text[start..end]),
        Value::Bytes(bytes) => Value::Bytes(Str::new(&bytes[start..end])),
        Value::List(list) => {
            let part = list.items()[start..end].to_vec();
            Value::List(List::typed(list.elem(), part))
        }
        _ => Value::Nil,
    }))
}

fn length(item: &Ev) -> Result<Ev> {
    let len = match &item.value {
        Value::Nil if item.interface => return fail("len of nil pointer"),
        Value::Nil => return fail("reflect: call of reflect.Value.Type on zero Value"),
        Value::String(text) | Value::Bytes(text) => text.len(),
        Value::List(list) => list.len(),
        Value::Map(map) => map.len(),
        Value::Object(object) if matches!(object.kind(), Kind::Map | Kind::Slice) => {
            object.entries().map_or(0, |entries| entries.len())
        }
        // Go looks through pointers first.
        other => {
            let name = other.type_name();
            return fail(format!("len of type {}", name.trim_start_matches('*')));
        }
    };
    Ok(Ev::concrete(Value::Int(
        i64::try_from(len).unwrap_or(i64::MAX),
    )))
}

fn html(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        match byte {
            0 => out.extend_from_slice("\u{FFFD}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            _ => out.push(byte),
        }
    }
    out
}

fn js(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for (at, c, width) in utf8::chars(text) {
        match c {
            '\\' => out.extend_from_slice(b"\\\\"),
            '\'' => out.extend_from_slice(b"\\'"),
            '"' => out.extend_from_slice(b"\\\""),
            '<' | '>' | '&' | '=' => {
                out.extend_from_slice(format!("\\u{:04X}", u32::from(c)).as_bytes());
            }
            _ if c < ' ' => out.extend_from_slice(format!("\\u{:04X}", u32::from(c)).as_bytes()),
            _ if c.is_ascii() || utf8::is_print(c) => {
                out.extend_from_slice(&text[at..at + width]);
            }
            _ => out.extend_from_slice(format!("\\u{:04X}", u32::from(c)).as_bytes()),
        }
    }
    out
}

/// `url.QueryEscape`.
pub(crate) fn query_escape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(byte),
            b' ' => out.push(b'+'),
            _ => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
    out
}
