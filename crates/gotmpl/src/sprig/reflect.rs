//! Sprig's questions about types.

use crate::equal;
use crate::error::FuncError;
use crate::func::{Cx, FuncDef, Param, any_at, text_at};
use crate::value::Value;

type Result<T> = std::result::Result<T, FuncError>;

const STR: Param = Param::String;
const ANY: Param = Param::Any;

pub(crate) const TABLE: &[FuncDef] = &[
    FuncDef {
        name: "deepEqual",
        params: &[ANY, ANY],
        rest: None,
        call: deep_equal,
    },
    FuncDef {
        name: "kindIs",
        params: &[STR, ANY],
        rest: None,
        call: kind_is,
    },
    FuncDef {
        name: "kindOf",
        params: &[ANY],
        rest: None,
        call: kind_of,
    },
    FuncDef {
        name: "typeIs",
        params: &[STR, ANY],
        rest: None,
        call: type_is,
    },
    FuncDef {
        name: "typeIsLike",
        params: &[STR, ANY],
        rest: None,
        call: type_is_like,
    },
    FuncDef {
        name: "typeOf",
        params: &[ANY],
        rest: None,
        call: type_of,
    },
];

fn deep_equal(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(equal::deep(
        cx,
        any_at(args, 0),
        any_at(args, 1),
    )?))
}

fn kind_of(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::from(any_at(args, 0).kind().name()))
}

fn kind_is(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(
        &text_at(args, 0)[..] == any_at(args, 1).kind().name().as_bytes(),
    ))
}

fn type_of(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::from(any_at(args, 0).type_name()))
}

fn type_is(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(
        &text_at(args, 0)[..] == any_at(args, 1).type_name().as_bytes(),
    ))
}

fn type_is_like(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let (wanted, found) = (text_at(args, 0), any_at(args, 1).type_name());
    let pointer = found
        .strip_prefix('*')
        .is_some_and(|name| name.as_bytes() == &wanted[..]);
    Ok(Value::Bool(pointer || &wanted[..] == found.as_bytes()))
}
