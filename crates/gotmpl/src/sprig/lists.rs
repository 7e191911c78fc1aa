//! Sprig's functions on lists.

use crate::cast;
use crate::equal;
use crate::error::FuncError;
use crate::func::{Cx, FuncDef, Param, any_at, int_at};
use crate::value::{Elem, List, Value};

type Result<T> = std::result::Result<T, FuncError>;

const INT: Param = Param::Int;
const ANY: Param = Param::Any;

pub(crate) const TABLE: &[FuncDef] = &[
    FuncDef {
        name: "append",
        params: &[ANY, ANY],
        rest: None,
        call: push,
    },
    FuncDef {
        name: "chunk",
        params: &[INT, ANY],
        rest: None,
        call: chunk,
    },
    FuncDef {
        name: "compact",
        params: &[ANY],
        rest: None,
        call: compact,
    },
    FuncDef {
        name: "concat",
        params: &[],
        rest: Some(ANY),
        call: concat,
    },
    FuncDef {
        name: "first",
        params: &[ANY],
        rest: None,
        call: first,
    },
    FuncDef {
        name: "has",
        params: &[ANY, ANY],
        rest: None,
        call: has,
    },
    FuncDef {
        name: "initial",
        params: &[ANY],
        rest: None,
        call: initial,
    },
    FuncDef {
        name: "last",
        params: &[ANY],
        rest: None,
        call: last,
    },
    FuncDef {
        name: "list",
        params: &[],
        rest: Some(ANY),
        call: list,
    },
    FuncDef {
        name: "mustAppend",
        params: &[ANY, ANY],
        rest: None,
        call: push,
    },
    FuncDef {
        name: "mustChunk",
        params: &[INT, ANY],
        rest: None,
        call: chunk,
    },
    FuncDef {
        name: "mustCompact",
        params: &[ANY],
        rest: None,
        call: compact,
    },
    FuncDef {
        name: "mustFirst",
        params: &[ANY],
        rest: None,
        call: first,
    },
    FuncDef {
        name: "mustHas",
        params: &[ANY, ANY],
        rest: None,
        call: has,
    },
    FuncDef {
        name: "mustInitial",
        params: &[ANY],
        rest: None,
        call: initial,
    },
    FuncDef {
        name: "mustLast",
        params: &[ANY],
        rest: None,
        call: last,
    },
    FuncDef {
        name: "mustPrepend",
        params: &[ANY, ANY],
        rest: None,
        call: prepend,
    },
    FuncDef {
        name: "mustPush",
        params: &[ANY, ANY],
        rest: None,
        call: push,
    },
    FuncDef {
        name: "mustRest",
        params: &[ANY],
        rest: None,
        call: rest,
    },
    FuncDef {
        name: "mustReverse",
        params: &[ANY],
        rest: None,
        call: reverse,
    },
    FuncDef {
        name: "mustSlice",
        params: &[ANY],
        rest: Some(ANY),
        call: slice,
    },
    FuncDef {
        name: "mustUniq",
        params: &[ANY],
        rest: None,
        call: uniq,
    },
    FuncDef {
        name: "mustWithout",
        params: &[ANY],
        rest: Some(ANY),
        call: without,
    },
    FuncDef {
        name: "prepend",
        params: &[ANY, ANY],
        rest: None,
        call: prepend,
    },
    FuncDef {
        name: "push",
        params: &[ANY, ANY],
        rest: None,
        call: push,
    },
    FuncDef {
        name: "rest",
        params: &[ANY],
        rest: None,
        call: rest,
    },
    FuncDef {
        name: "reverse",
        params: &[ANY],
        rest: None,
        call: reverse,
    },
    FuncDef {
        name: "slice",
        params: &[ANY],
        rest: Some(ANY),
        call: slice,
    },
    FuncDef {
        name: "tuple",
        params: &[],
        rest: Some(ANY),
        call: list,
    },
    FuncDef {
        name: "uniq",
        params: &[ANY],
        rest: None,
        call: uniq,
    },
    FuncDef {
        name: "without",
        params: &[ANY],
        rest: Some(ANY),
        call: without,
    },
];

/// What Go says when it looks for the type of nil.
pub(super) const NIL_TYPE: &str =
    "runtime error: invalid memory address or nil pointer dereference";

/// The elements of a list; anything else is refused as the function would.
fn items(cx: &Cx<'_>, value: &Value, refused: &str) -> Result<Vec<Value>> {
    let items = match value {
        Value::List(list) => list.items().clone(),
        Value::Bytes(bytes) => bytes.iter().map(|&byte| Value::Uint8(byte)).collect(),
        Value::Nil => return Err(FuncError::new(NIL_TYPE)),
        other => {
            return Err(FuncError::new(format!(
                "{refused} type {}",
                other.kind().name()
            )));
        }
    };
    cx.reserve(items.len() * 64)?;
    cx.spend(items.len() / 4 + 1)?;
    Ok(items)
}

fn list(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::list(args.to_vec()))
}

fn push(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let mut items = items(cx, any_at(args, 0), "Cannot push on")?;
    items.push(any_at(args, 1).clone());
    Ok(Value::list(items))
}

fn prepend(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let mut items = items(cx, any_at(args, 0), "Cannot prepend on")?;
    items.insert(0, any_at(args, 1).clone());
    Ok(Value::list(items))
}

fn chunk(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let size = int_at(args, 0);
    let items = items(cx, any_at(args, 1), "Cannot chunk")?;
    let Some(size) = usize::try_from(size).ok().filter(|&size| size > 0) else {
        return Err(FuncError::new("runtime error: makeslice: len out of range"));
    };
    // Each chunk is a list of its own.
    cx.spend(items.len() / size * 2)?;
    let chunks = items
        .chunks(size)
        .map(|part| Value::list(part.to_vec()))
        .collect();
    Ok(Value::List(List::typed(Elem::List, chunks)))
}

fn first(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    end_of(any_at(args, 0), "Cannot find first on", 0)
}

fn last(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let value = any_at(args, 0);
    let len = match value {
        Value::List(list) => list.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    end_of(value, "Cannot find last on", len.saturating_sub(1))
}

fn end_of(value: &Value, refused: &str, at: usize) -> Result<Value> {
    match value {
        Value::List(list) => Ok(list.get(at).unwrap_or(Value::Nil)),
        Value::Bytes(bytes) => Ok(bytes.get(at).map_or(Value::Nil, |&byte| Value::Uint8(byte))),
        Value::Nil => Err(FuncError::new(NIL_TYPE)),
        other => Err(FuncError::new(format!(
            "{refused} type {}",
            other.kind().name()
        ))),
    }
}

fn rest(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let mut items = items(cx, any_at(args, 0), "Cannot find rest on")?;
    if items.is_empty() {
        return Ok(Value::List(List::nil(Elem::Any)));
    }
    items.remove(0);
    Ok(Value::list(items))
}

fn initial(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let mut items = items(cx, any_at(args, 0), "Cannot find initial on")?;
    if items.pop().is_none() {
        return Ok(Value::List(List::nil(Elem::Any)));
    }
    Ok(Value::list(items))
}

fn reverse(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let mut items = items(cx, any_at(args, 0), "Cannot find reverse on")?;
    items.reverse();
    Ok(Value::list(items))
}

fn compact(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let mut items = items(cx, any_at(args, 0), "Cannot compact on")?;
    items.retain(|item| !cast::is_empty(item));
    Ok(Value::list(items))
}

fn holds(cx: &Cx<'_>, list: &[Value], wanted: &Value) -> Result<bool> {
    cx.spend(list.len() / 4)?;
    for item in list {
        if equal::deep(cx, wanted, item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn uniq(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for item in items(cx, any_at(args, 0), "Cannot find uniq on")? {
        if !holds(cx, &kept, &item)? {
            kept.push(item);
        }
    }
    Ok(Value::list(kept))
}

fn without(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let mut kept = Vec::new();
    for item in items(cx, any_at(args, 0), "Cannot find without on")? {
        if !holds(cx, args.get(1..).unwrap_or_default(), &item)? {
            kept.push(item);
        }
    }
    Ok(Value::list(kept))
}

fn has(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    if matches!(any_at(args, 1), Value::Nil) {
        return Ok(Value::Bool(false));
    }
    if let Value::List(list) = any_at(args, 1) {
        return Ok(Value::Bool(holds(cx, &list.items(), any_at(args, 0))?));
    }
    let items = items(cx, any_at(args, 1), "Cannot find has on")?;
    Ok(Value::Bool(holds(cx, &items, any_at(args, 0))?))
}

fn slice(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let value = any_at(args, 0);
    let all = match value {
        Value::List(_) | Value::Bytes(_) => items(cx, value, "")?,
        Value::Nil => return Err(FuncError::new(NIL_TYPE)),
        other => {
            let kind = other.kind().name();
            return Err(FuncError::new(format!(
                "list should be type of slice or array but {kind}"
            )));
        }
    };
    if all.is_empty() {
        return Ok(Value::Nil);
    }
    let len = all.len() as i64;
    let start = args.get(1).map_or(0, cast::to_int);
    let end = args.get(2).map_or(len, cast::to_int);
    if start < 0 || end < start || end > len {
        return Err(FuncError::new(
            "reflect.Value.Slice: slice index out of bounds",
        ));
    }
    let part = all[start as usize..end as usize].to_vec();
    Ok(match value {
        Value::List(list) => Value::List(List::typed(list.elem(), part)),
        _ => Value::Bytes(
            part.iter()
                .map(|item| {
                    if let Value::Uint8(byte) = item {
                        *byte
                    } else {
                        0
                    }
                })
                .collect::<Vec<u8>>()
                .into(),
        ),
    })
}

fn concat(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let mut out = Vec::new();
    for list in args {
        match list {
            Value::List(_) | Value::Bytes(_) => out.append(&mut items(cx, list, "")?),
            Value::Nil => return Err(FuncError::new(NIL_TYPE)),
            other => {
                let kind = other.kind().name();
                return Err(FuncError::new(format!("Cannot concat type {kind} as list")));
            }
        }
    }
    if out.is_empty() {
        return Ok(Value::List(List::nil(Elem::Any)));
    }
    Ok(Value::list(out))
}
