//! Sprig's defaults and JSON.

use crate::cast;
use crate::error::FuncError;
use crate::func::{Cx, FuncDef, Param, any_at, text_at};
use crate::json::{self, JsonStyle};
use crate::value::Value;

type Result<T> = std::result::Result<T, FuncError>;

const STR: Param = Param::String;
const ANY: Param = Param::Any;

pub(crate) const TABLE: &[FuncDef] = &[
    FuncDef {
        name: "all",
        params: &[],
        rest: Some(ANY),
        call: all,
    },
    FuncDef {
        name: "any",
        params: &[],
        rest: Some(ANY),
        call: any,
    },
    FuncDef {
        name: "coalesce",
        params: &[],
        rest: Some(ANY),
        call: coalesce,
    },
    FuncDef {
        name: "default",
        params: &[ANY],
        rest: Some(ANY),
        call: default,
    },
    FuncDef {
        name: "empty",
        params: &[ANY],
        rest: None,
        call: empty,
    },
    FuncDef {
        name: "fail",
        params: &[STR],
        rest: None,
        call: fail,
    },
    FuncDef {
        name: "fromJson",
        params: &[STR],
        rest: None,
        call: from_json,
    },
    FuncDef {
        name: "mustFromJson",
        params: &[STR],
        rest: None,
        call: must_from_json,
    },
    FuncDef {
        name: "mustToJson",
        params: &[ANY],
        rest: None,
        call: must_to_json,
    },
    FuncDef {
        name: "mustToPrettyJson",
        params: &[ANY],
        rest: None,
        call: must_to_pretty_json,
    },
    FuncDef {
        name: "mustToRawJson",
        params: &[ANY],
        rest: None,
        call: must_to_raw_json,
    },
    FuncDef {
        name: "ternary",
        params: &[ANY, ANY, Param::Bool],
        rest: None,
        call: ternary,
    },
    FuncDef {
        name: "toJson",
        params: &[ANY],
        rest: None,
        call: to_json,
    },
    FuncDef {
        name: "toPrettyJson",
        params: &[ANY],
        rest: None,
        call: to_pretty_json,
    },
    FuncDef {
        name: "toRawJson",
        params: &[ANY],
        rest: None,
        call: must_to_raw_json,
    },
];

fn default(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    match args.get(1) {
        Some(given) if !cast::is_empty(given) => Ok(given.clone()),
        _ => Ok(any_at(args, 0).clone()),
    }
}

fn empty(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(cast::is_empty(any_at(args, 0))))
}

fn coalesce(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(args
        .iter()
        .find(|value| !cast::is_empty(value))
        .cloned()
        .unwrap_or(Value::Nil))
}

fn all(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(!args.iter().any(cast::is_empty)))
}

fn any(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(args.iter().any(|value| !cast::is_empty(value))))
}

fn ternary(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let first = matches!(args.get(2), Some(Value::Bool(true)));
    Ok(any_at(args, usize::from(!first)).clone())
}

fn fail(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Err(FuncError::new(text_at(args, 0).to_text()))
}

fn must_from_json(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let text = text_at(args, 0);
    cx.spend(text.len() / 64)?;
    json::from_json(&text)
}

fn from_json(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    match must_from_json(cx, args) {
        Err(error) if !error.is_limit() => Ok(Value::Nil),
        other => other,
    }
}

fn written(cx: &Cx<'_>, args: &[Value], style: JsonStyle) -> Result<Value> {
    let text = json::to_json(any_at(args, 0), style, cx.room())?;
    cx.spend(text.len() / 64)?;
    Ok(Value::String(text.into()))
}

/// What cannot be written is the empty text.
fn or_nothing(result: Result<Value>) -> Result<Value> {
    match result {
        Err(error) if !error.is_limit() => Ok(Value::from("")),
        other => other,
    }
}

const PRETTY: JsonStyle = JsonStyle {
    raw: false,
    indent: 2,
};

fn to_json(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    or_nothing(written(cx, args, JsonStyle::default()))
}

fn to_pretty_json(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    or_nothing(written(cx, args, PRETTY))
}

fn must_to_json(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    written(cx, args, JsonStyle::default())
}

fn must_to_pretty_json(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    written(cx, args, PRETTY)
}

fn must_to_raw_json(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    written(
        cx,
        args,
        JsonStyle {
            raw: true,
            indent: 0,
        },
    )
}
