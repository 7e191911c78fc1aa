//! Sprig's functions on versions.

use std::any::Any;
use std::cmp::Ordering;
use std::rc::Rc;

use crate::error::FuncError;
use crate::func::{Cx, FuncDef, MethodDef, Param, any_at, text_at};
use crate::semver::{Constraint, Version};
use crate::value::{Kind, Object, Value};

type Result<T> = std::result::Result<T, FuncError>;

const STR: Param = Param::String;
const VERSION: Param = Param::Host("*semver.Version");

pub(crate) const TABLE: &[FuncDef] = &[
    FuncDef {
        name: "semver",
        params: &[STR],
        rest: None,
        call: semver,
    },
    FuncDef {
        name: "semverCompare",
        params: &[STR, STR],
        rest: None,
        call: semver_compare,
    },
];

fn parse(text: &[u8]) -> Result<Version> {
    let text = String::from_utf8_lossy(text);
    Version::parse(&text).map_err(|error| FuncError::new(error.to_string()))
}

fn semver(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let version = parse(&text_at(args, 0))?;
    Ok(Value::Object(Rc::new(VersionObject(version))))
}

fn semver_compare(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    cx.spend(16)?;
    let constraint = Constraint::parse(&text_at(args, 0).to_text())
        .map_err(|error| FuncError::new(error.to_string()))?;
    let version = parse(&text_at(args, 1))?;
    Ok(Value::Bool(constraint.check(&version)))
}

/// A version as templates see it.
struct VersionObject(Version);

fn of(value: &Value) -> Option<&Version> {
    match value {
        Value::Object(object) => object
            .as_any()
            .downcast_ref::<VersionObject>()
            .map(|object| &object.0),
        _ => None,
    }
}

/// Gives what a method says about its version.
fn answer(value: &Value, run: impl FnOnce(&Version) -> Value) -> Result<Value> {
    of(value)
        .map(run)
        .ok_or_else(|| FuncError::new("no version"))
}

fn ordered(value: &Value, args: &[Value], run: impl FnOnce(Ordering) -> Value) -> Result<Value> {
    match (of(value), of(any_at(args, 0))) {
        (Some(a), Some(b)) => Ok(run(a.compare(b))),
        _ => Err(FuncError::new(super::lists::NIL_TYPE)),
    }
}

/// The version after this one, at the given place.
fn next(version: &Version, place: usize) -> Value {
    let mut next = version.clone();
    let released = std::mem::take(&mut next.prerelease);
    next.metadata.clear();
    match place {
        0 => (next.major, next.minor, next.patch) = (next.major.wrapping_add(1), 0, 0),
        1 => (next.minor, next.patch) = (next.minor.wrapping_add(1), 0),
        _ if released.is_empty() => next.patch = next.patch.wrapping_add(1),
        _ => {}
    }
    let prefix = if version.original.starts_with('v') {
        "v"
    } else {
        ""
    };
    next.original = format!("{prefix}{next}");
    Value::Object(Rc::new(VersionObject(next)))
}

const METHODS: &[MethodDef] = &[
    MethodDef {
        name: "Major",
        params: &[],
        rest: None,
        call: |_, this, _| answer(this, |version| Value::Uint64(version.major)),
    },
    MethodDef {
        name: "Minor",
        params: &[],
        rest: None,
        call: |_, this, _| answer(this, |version| Value::Uint64(version.minor)),
    },
    MethodDef {
        name: "Patch",
        params: &[],
        rest: None,
        call: |_, this, _| answer(this, |version| Value::Uint64(version.patch)),
    },
    MethodDef {
        name: "Prerelease",
        params: &[],
        rest: None,
        call: |_, this, _| answer(this, |version| Value::from(version.prerelease.as_str())),
    },
    MethodDef {
        name: "Metadata",
        params: &[],
        rest: None,
        call: |_, this, _| answer(this, |version| Value::from(version.metadata.as_str())),
    },
    MethodDef {
        name: "Original",
        params: &[],
        rest: None,
        call: |_, this, _| answer(this, |version| Value::from(version.original.as_str())),
    },
    MethodDef {
        name: "String",
        params: &[],
        rest: None,
        call: |_, this, _| answer(this, |version| Value::from(version.to_string())),
    },
    MethodDef {
        name: "IncMajor",
        params: &[],
        rest: None,
        call: |_, this, _| answer(this, |version| next(version, 0)),
    },
    MethodDef {
        name: "IncMinor",
        params: &[],
        rest: None,
        call: |_, this, _| answer(this, |version| next(version, 1)),
    },
    MethodDef {
        name: "IncPatch",
        params: &[],
        rest: None,
        call: |_, this, _| answer(this, |version| next(version, 2)),
    },
    MethodDef {
        name: "Compare",
        params: &[VERSION],
        rest: None,
        call: |_, this, args| ordered(this, args, |order| Value::Int(order as i64)),
    },
    MethodDef {
        name: "Equal",
        params: &[VERSION],
        rest: None,
        call: |_, this, args| ordered(this, args, |order| Value::Bool(order.is_eq())),
    },
    MethodDef {
        name: "LessThan",
        params: &[VERSION],
        rest: None,
        call: |_, this, args| ordered(this, args, |order| Value::Bool(order.is_lt())),
    },
    MethodDef {
        name: "LessThanEqual",
        params: &[VERSION],
        rest: None,
        call: |_, this, args| ordered(this, args, |order| Value::Bool(order.is_le())),
    },
    MethodDef {
        name: "GreaterThan",
        params: &[VERSION],
        rest: None,
        call: |_, this, args| ordered(this, args, |order| Value::Bool(order.is_gt())),
    },
    MethodDef {
        name: "GreaterThanEqual",
        params: &[VERSION],
        rest: None,
        call: |_, this, args| ordered(this, args, |order| Value::Bool(order.is_ge())),
    },
];

impl Object for VersionObject {
    fn type_name(&self) -> &str {
        "*semver.Version"
    }

    fn kind(&self) -> Kind {
        Kind::Pointer
    }

    fn method(&self, name: &str) -> Option<&'static MethodDef> {
        METHODS.iter().find(|method| method.name == name)
    }

    fn print(&self) -> String {
        self.0.to_string()
    }

    fn json(&self) -> Option<Value> {
        Some(Value::from(self.0.to_string()))
    }

    fn equal(&self, other: &dyn Object) -> bool {
        other
            .as_any()
            .downcast_ref::<Self>()
            .is_some_and(|other| other.0 == self.0)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
