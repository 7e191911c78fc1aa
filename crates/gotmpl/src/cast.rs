//! Values to numbers and texts, as sprig casts them.
//!
//! Duty: the rules of the casting library sprig uses: what is no number is zero, and texts are read with prefixes.

use crate::error::FuncError;
use crate::func::Cx;
use crate::gofmt;
use crate::number;
use crate::text::Str;
use crate::value::{Kind, Value};

/// Go's conversion of a float to a signed integer on amd64: out of range is the least integer.
pub(crate) fn float_to_int(value: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) {
        value as i64
    } else {
        i64::MIN
    }
}

/// A number of any kind as an integer.
pub(crate) fn to_int(value: &Value) -> i64 {
    match value {
        Value::Int(i) | Value::Int64(i) => *i,
        Value::Uint8(u) => i64::from(*u),
        Value::Uint64(u) => *u as i64,
        Value::Float(f) => float_to_int(*f),
        Value::Bool(b) => i64::from(*b),
        Value::String(text) => number::parse_int(trim_zero_decimal(text), 0).unwrap_or(0),
        Value::Object(object) => object.integer().unwrap_or(0),
        _ => 0,
    }
}

/// A number of any kind as a float.
pub(crate) fn to_float(value: &Value) -> f64 {
    match value {
        Value::Int(i) | Value::Int64(i) => *i as f64,
        Value::Uint8(u) => f64::from(*u),
        Value::Uint64(u) => *u as f64,
        Value::Float(f) => *f,
        Value::Bool(b) => f64::from(u8::from(*b)),
        Value::String(text) => number::parse_float(text).unwrap_or(0.0),
        Value::Object(object) => object.integer().map_or(0.0, |integer| integer as f64),
        _ => 0.0,
    }
}

/// `1.00` is read as `1`.
fn trim_zero_decimal(text: &[u8]) -> &[u8] {
    let zeros = text.iter().rev().take_while(|&&byte| byte == b'0').count();
    let rest = &text[..text.len() - zeros];
    match rest.split_last() {
        Some((b'.', whole)) if zeros > 0 => whole,
        _ => text,
    }
}

/// What a value is as text: strings and bytes as they are, all else as `%v`.
pub(crate) fn to_text(cx: &Cx<'_>, value: &Value) -> Result<Str, FuncError> {
    match value {
        Value::String(text) | Value::Bytes(text) => Ok(text.clone()),
        _ => Ok(gofmt::to_text(value, cx.room())?.into()),
    }
}

/// Sprig's idea of empty: the zero of its type, or nothing in it.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(object) => match object.kind() {
            Kind::Map | Kind::Slice => object.entries().is_none_or(|entries| entries.is_empty()),
            _ => false,
        },
        _ => !value.truth(),
    }
}
