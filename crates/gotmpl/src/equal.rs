//! Deep equality and deep copies.
//!
//! Duty: what `reflect.DeepEqual` calls equal, and copies that share nothing that can change.

use crate::error::FuncError;
use crate::func::Cx;
use crate::text::Str;
use crate::value::{List, Map, Value};

/// Deeper values are taken to hold themselves.
const MAX_DEPTH: u32 = 10_000;

fn too_deep<T>() -> Result<T, FuncError> {
    Err(FuncError::limit("the value is nested too deeply"))
}

/// `reflect.DeepEqual`: the same type and the same content.
pub(crate) fn deep(cx: &Cx<'_>, left: &Value, right: &Value) -> Result<bool, FuncError> {
    deep_at(cx, left, right, 0)
}

fn deep_at(cx: &Cx<'_>, left: &Value, right: &Value, depth: u32) -> Result<bool, FuncError> {
    if depth > MAX_DEPTH {
        return too_deep();
    }
    Ok(match (left, right) {
        (Value::Nil, Value::Nil) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) | (Value::Int64(a), Value::Int64(b)) => a == b,
        (Value::Uint8(a), Value::Uint8(b)) => a == b,
        (Value::Uint64(a), Value::Uint64(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::Complex(a, b), Value::Complex(c, d)) => a == c && b == d,
        (Value::String(a), Value::String(b)) | (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::List(a), Value::List(b)) => {
            stacker::maybe_grow(64 * 1024, 1 << 20, || lists(cx, a, b, depth))?
        }
        (Value::Map(a), Value::Map(b)) => {
            stacker::maybe_grow(64 * 1024, 1 << 20, || maps(cx, a, b, depth))?
        }
        (Value::Object(a), Value::Object(b)) => a.equal(b.as_ref()),
        _ => false,
    })
}

fn same_name(
    left: Option<&'static crate::value::NamedType>,
    right: Option<&'static crate::value::NamedType>,
) -> bool {
    left.map(|named| named.name) == right.map(|named| named.name)
}

fn lists(cx: &Cx<'_>, left: &List, right: &List, depth: u32) -> Result<bool, FuncError> {
    if left.elem() != right.elem()
        || !same_name(left.named(), right.named())
        || left.is_nil() != right.is_nil()
        || left.len() != right.len()
    {
        return Ok(false);
    }
    if left.same(right) {
        return Ok(true);
    }
    cx.spend(left.len() + 2)?;
    for (a, b) in left.items().iter().zip(right.items().iter()) {
        if !deep_at(cx, a, b, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn maps(cx: &Cx<'_>, left: &Map, right: &Map, depth: u32) -> Result<bool, FuncError> {
    if left.elem() != right.elem()
        || !same_name(left.named(), right.named())
        || left.is_nil() != right.is_nil()
        || left.len() != right.len()
    {
        return Ok(false);
    }
    if left.same(right) {
        return Ok(true);
    }
    cx.spend(left.len() + 2)?;
    for ((key, a), (other, b)) in left.entries().iter().zip(right.entries().iter()) {
        if key != other || !deep_at(cx, a, b, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A copy whose lists and maps are its own.
pub(crate) fn copy(cx: &Cx<'_>, value: &Value) -> Result<Value, FuncError> {
    copy_at(cx, value, 0)
}

fn copy_at(cx: &Cx<'_>, value: &Value, depth: u32) -> Result<Value, FuncError> {
    if depth > MAX_DEPTH {
        return too_deep();
    }
    match value {
        Value::List(list) => stacker::maybe_grow(64 * 1024, 1 << 20, || {
            let items = list.items();
            cx.spend(items.len() + 4)?;
            if list.is_nil() {
                return Ok(Value::List(list.clone()));
            }
            let items: Result<Vec<Value>, FuncError> = items
                .iter()
                .map(|item| copy_at(cx, item, depth + 1))
                .collect();
            let mut copy = List::typed(list.elem(), items?);
            if let Some(named) = list.named() {
                copy = copy.with_type(named);
            }
            Ok(Value::List(copy))
        }),
        Value::Map(map) => stacker::maybe_grow(64 * 1024, 1 << 20, || {
            let entries = map.entries();
            cx.spend(entries.len() + 4)?;
            if map.is_nil() {
                return Ok(Value::Map(map.clone()));
            }
            let entries: Result<Vec<(Str, Value)>, FuncError> = entries
                .iter()
                .map(|(key, item)| Ok((key.clone(), copy_at(cx, item, depth + 1)?)))
                .collect();
            let mut copy = Map::typed(map.elem(), entries?.into_iter().collect());
            if let Some(named) = map.named() {
                copy = copy.with_type(named);
            }
            Ok(Value::Map(copy))
        }),
        other => Ok(other.clone()),
    }
}
