//! Sprig's functions on paths: all use slashes, as on Linux.

use crate::error::FuncError;
use crate::func::{Cx, FuncDef, Param, text_at};
use crate::value::Value;

type Result<T> = std::result::Result<T, FuncError>;

const STR: Param = Param::String;

pub(crate) const TABLE: &[FuncDef] = &[
    FuncDef {
        name: "base",
        params: &[STR],
        rest: None,
        call: base,
    },
    FuncDef {
        name: "clean",
        params: &[STR],
        rest: None,
        call: clean,
    },
    FuncDef {
        name: "dir",
        params: &[STR],
        rest: None,
        call: dir,
    },
    FuncDef {
        name: "ext",
        params: &[STR],
        rest: None,
        call: ext,
    },
    FuncDef {
        name: "isAbs",
        params: &[STR],
        rest: None,
        call: is_abs,
    },
    FuncDef {
        name: "osBase",
        params: &[STR],
        rest: None,
        call: base,
    },
    FuncDef {
        name: "osClean",
        params: &[STR],
        rest: None,
        call: clean,
    },
    FuncDef {
        name: "osDir",
        params: &[STR],
        rest: None,
        call: dir,
    },
    FuncDef {
        name: "osExt",
        params: &[STR],
        rest: None,
        call: ext,
    },
    FuncDef {
        name: "osIsAbs",
        params: &[STR],
        rest: None,
        call: is_abs,
    },
];

/// The shortest path that means the same, by its words alone.
pub(crate) fn cleaned(path: &[u8]) -> Vec<u8> {
    let rooted = path.first() == Some(&b'/');
    let mut kept: Vec<&[u8]> = Vec::new();
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                if kept.last().is_some_and(|last| *last != b"..") {
                    kept.pop();
                } else if !rooted {
                    kept.push(part);
                }
            }
            _ => kept.push(part),
        }
    }
    let mut out = if rooted { vec![b'/'] } else { Vec::new() };
    out.extend(kept.join(&b'/'));
    if out.is_empty() {
        out.push(b'.');
    }
    out
}

fn clean(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::from(cleaned(&text_at(args, 0))))
}

fn dir(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let path = text_at(args, 0);
    let end = path
        .iter()
        .rposition(|&byte| byte == b'/')
        .map_or(0, |at| at + 1);
    Ok(Value::from(cleaned(&path[..end])))
}

fn base(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let path = text_at(args, 0);
    if path.is_empty() {
        return Ok(Value::from("."));
    }
    let end = path
        .iter()
        .rposition(|&byte| byte != b'/')
        .map_or(0, |at| at + 1);
    if end == 0 {
        return Ok(Value::from("/"));
    }
    let path = &path[..end];
    let start = path
        .iter()
        .rposition(|&byte| byte == b'/')
        .map_or(0, |at| at + 1);
    Ok(Value::string(&path[start..]))
}

fn ext(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let path = text_at(args, 0);
    let at = path.iter().rposition(|&byte| matches!(byte, b'.' | b'/'));
    Ok(match at {
        Some(at) if path[at] == b'.' => Value::string(&path[at..]),
        _ => Value::from(""),
    })
}

fn is_abs(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(text_at(args, 0).first() == Some(&b'/')))
}
