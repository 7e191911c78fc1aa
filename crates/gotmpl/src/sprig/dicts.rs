//! Sprig's functions on dictionaries.

use crate::cast;
use crate::equal;
use crate::error::FuncError;
use crate::func::{Cx, FuncDef, Param, any_at, map_at, text_at};
use crate::text::Str;
use crate::value::{List, Map, Value};

type Result<T> = std::result::Result<T, FuncError>;

const STR: Param = Param::String;
const ANY: Param = Param::Any;
const MAP: Param = Param::Map;

pub(crate) const TABLE: &[FuncDef] = &[
    FuncDef {
        name: "deepCopy",
        params: &[ANY],
        rest: None,
        call: deep_copy,
    },
    FuncDef {
        name: "dict",
        params: &[],
        rest: Some(ANY),
        call: dict,
    },
    FuncDef {
        name: "dig",
        params: &[],
        rest: Some(ANY),
        call: dig,
    },
    FuncDef {
        name: "get",
        params: &[MAP, STR],
        rest: None,
        call: get,
    },
    FuncDef {
        name: "hasKey",
        params: &[MAP, STR],
        rest: None,
        call: has_key,
    },
    FuncDef {
        name: "keys",
        params: &[],
        rest: Some(MAP),
        call: keys,
    },
    FuncDef {
        name: "merge",
        params: &[MAP],
        rest: Some(MAP),
        call: merge,
    },
    FuncDef {
        name: "mergeOverwrite",
        params: &[MAP],
        rest: Some(MAP),
        call: merge_overwrite,
    },
    FuncDef {
        name: "mustDeepCopy",
        params: &[ANY],
        rest: None,
        call: deep_copy,
    },
    FuncDef {
        name: "mustMerge",
        params: &[MAP],
        rest: Some(MAP),
        call: merge,
    },
    FuncDef {
        name: "mustMergeOverwrite",
        params: &[MAP],
        rest: Some(MAP),
        call: merge_overwrite,
    },
    FuncDef {
        name: "omit",
        params: &[MAP],
        rest: Some(STR),
        call: omit,
    },
    FuncDef {
        name: "pick",
        params: &[MAP],
        rest: Some(STR),
        call: pick,
    },
    FuncDef {
        name: "pluck",
        params: &[STR],
        rest: Some(MAP),
        call: pluck,
    },
    FuncDef {
        name: "set",
        params: &[MAP, STR, ANY],
        rest: None,
        call: set,
    },
    FuncDef {
        name: "unset",
        params: &[MAP, STR],
        rest: None,
        call: unset,
    },
    FuncDef {
        name: "values",
        params: &[MAP],
        rest: None,
        call: values,
    },
];

fn dict(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let map = Map::new();
    for pair in args.chunks(2) {
        let key = cast::to_text(cx, any_at(pair, 0))?;
        let value = pair.get(1).cloned().unwrap_or_else(|| Value::from(""));
        map.set(key, value);
    }
    Ok(Value::Map(map))
}

fn get(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(map_at(args, 0)
        .get(&text_at(args, 1))
        .unwrap_or_else(|| Value::from("")))
}

/// The map argument itself, without the named type it may have been seen as.
fn same(args: &[Value]) -> Value {
    Value::Map(map_at(args, 0).plain())
}

fn set(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let map = map_at(args, 0);
    if map.is_nil() {
        return Err(FuncError::new("assignment to entry in nil map"));
    }
    map.set(text_at(args, 1), any_at(args, 2).clone());
    Ok(same(args))
}

fn unset(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    map_at(args, 0).remove(&text_at(args, 1));
    Ok(same(args))
}

fn has_key(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(map_at(args, 0).contains(&text_at(args, 1))))
}

fn pluck(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let key = text_at(args, 0);
    let found = (1..args.len()).filter_map(|at| map_at(args, at).get(&key));
    Ok(Value::list(found.collect()))
}

fn keys(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let mut keys: Vec<Str> = Vec::new();
    for at in 0..args.len() {
        let map = map_at(args, at);
        cx.spend(map.len() / 4)?;
        keys.extend(map.entries().keys().cloned());
    }
    Ok(Value::List(List::strings(keys)))
}

fn values(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let map = map_at(args, 0);
    cx.spend(map.len() / 4)?;
    let values = map.entries().values().cloned().collect();
    Ok(Value::list(values))
}

fn pick(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let map = map_at(args, 0);
    cx.spend(args.len())?;
    let found = (1..args.len()).filter_map(|at| {
        let key = text_at(args, at);
        map.get(&key).map(|value| (key, value))
    });
    Ok(Value::Map(found.collect()))
}

fn omit(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let map = map_at(args, 0);
    cx.spend(map.len() / 4 + args.len())?;
    let gone: std::collections::HashSet<Str> =
        (1..args.len()).map(|at| text_at(args, at)).collect();
    let entries = map.entries();
    let kept = entries.iter().filter(|(key, _)| !gone.contains(*key));
    Ok(Value::Map(
        kept.map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    ))
}

fn dig(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let [path @ .., default, last] = args else {
        return Err(FuncError::new("dig needs at least three arguments"));
    };
    if path.is_empty() {
        return Err(FuncError::new("dig needs at least three arguments"));
    }
    let mut map = as_map(last)?;
    for key in path {
        if !matches!(key, Value::String(_)) {
            return Err(conversion(key, "string"));
        }
    }
    for (at, _) in path.iter().enumerate() {
        let Some(step) = map.get(&text_at(path, at)) else {
            return Ok(default.clone());
        };
        if at + 1 == path.len() {
            return Ok(step);
        }
        map = as_map(&step)?;
    }
    Ok(default.clone())
}

/// A plain map: one seen as a named type is another type to Go.
fn as_map(value: &Value) -> Result<Map> {
    match value {
        Value::Map(map) if map.named().is_none() && map.elem() == crate::value::Elem::Any => {
            Ok(map.clone())
        }
        other => Err(conversion(other, "map[string]interface {}")),
    }
}

fn conversion(value: &Value, wanted: &str) -> FuncError {
    let found = match value {
        Value::Nil => "nil".to_owned(),
        other => other.type_name(),
    };
    FuncError::new(format!(
        "interface conversion: interface {{}} is {found}, not {wanted}"
    ))
}

fn deep_copy(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    if matches!(any_at(args, 0), Value::Nil) {
        return Err(FuncError::new(
            "reflect: call of reflect.Value.Type on zero Value",
        ));
    }
    equal::copy(cx, any_at(args, 0))
}

fn merge(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    merge_all(cx, args, false)
}

fn merge_overwrite(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    merge_all(cx, args, true)
}

fn merge_all(cx: &Cx<'_>, args: &[Value], overwrite: bool) -> Result<Value> {
    let map = map_at(args, 0);
    let map = if map.is_nil() && args.len() > 1 {
        Map::new()
    } else {
        map
    };
    for at in 1..args.len() {
        merge_into(cx, &map, &map_at(args, at), overwrite, 0)?;
    }
    Ok(Value::Map(map.plain()))
}

const MAX_DEPTH: u32 = 10_000;

/// Merges one map into another in place. Maps are merged, lists are not. What is empty counts as missing; without
/// overwriting all else stays.
fn merge_into(cx: &Cx<'_>, into: &Map, from: &Map, overwrite: bool, depth: u32) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(FuncError::limit("the value is nested too deeply"));
    }
    if into.same(from) {
        return Ok(());
    }
    let entries: Vec<(Str, Value)> = from
        .entries()
        .iter()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    cx.spend(entries.len() + 1)?;
    for (key, new) in entries {
        if matches!(new, Value::Nil) {
            if overwrite {
                into.set(key, Value::Nil);
            }
            continue;
        }
        let old = into.get(&key);
        if let (Value::Map(new), Some(Value::Map(old))) = (&new, &old)
            && !old.is_nil()
        {
            stacker::maybe_grow(64 * 1024, 1 << 20, || {
                merge_into(cx, old, new, overwrite, depth + 1)
            })?;
        }
        let old_empty = old.as_ref().is_none_or(cast::is_empty);
        if !old_empty {
            match (&new, &old) {
                (Value::List(_) | Value::Bytes(_), _) => {
                    if overwrite {
                        into.set(key, new);
                    }
                    continue;
                }
                (Value::Map(_), Some(Value::Map(_))) => continue,
                _ => {}
            }
        }
        if overwrite || old_empty {
            into.set(key, new);
        }
    }
    Ok(())
}
