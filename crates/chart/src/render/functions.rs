//! The functions Helm adds to sprig's.
//!
//! Duty: `include`, `tpl`, `required`, `fail`, `lookup`, and YAML, JSON and TOML in both directions.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use kzero_gotmpl::{
    Cx, Elem, Failed, FuncDef, FuncError, FuncMap, JsonStyle, List, Map, Param, Str, Value, format,
    from_json, to_json,
};

use super::{Lookup, Mode};
use crate::convert;
use crate::{toml, yaml};

/// How often a template may include itself, counted over all that is being rendered.
const MAX_INCLUDES: u32 = 1000;
/// Texts that functions give are no longer than this.
const MAX_TEXT: usize = 64 << 20;

/// Marks around a message that is shown without the places it passed through.
const WARN_START: &str = "HELM_ERR_START";
const WARN_END: &str = "HELM_ERR_END";

/// What lint mode says instead of failing.
pub(super) type Log = Rc<RefCell<Vec<String>>>;

/// All functions of Helm.
pub(super) fn all(mode: Mode, dns: bool, lookup: Option<Rc<dyn Lookup>>, log: &Log) -> FuncMap {
    let mut funcs = FuncMap::sprig();
    funcs.add_table(TABLE);
    add_include(&mut funcs);
    add_refusals(&mut funcs, mode, log);
    let lookup = lookup.filter(|_| mode == Mode::Render);
    let words = [Param::String; 4];
    funcs.add("lookup", &words, None, move |_, arguments| {
        let Some(lookup) = &lookup else {
            return Ok(Value::Map(Map::new()));
        };
        let word = |at: usize| match arguments.get(at) {
            Some(Value::String(text)) => text.to_text().into_owned(),
            _ => String::new(),
        };
        match lookup.lookup(&word(0), &word(1), &word(2), &word(3)) {
            Ok(Some(found)) => Ok(Value::Map(convert::table(&found))),
            Ok(None) => Ok(Value::Map(Map::new())),
            Err(error) => Err(FuncError::new(error)),
        }
    });
    if !dns {
        funcs.add("getHostByName", &[Param::String], None, |_, _| {
            Ok(Value::from(""))
        });
    }
    funcs
}

fn add_include(funcs: &mut FuncMap) {
    let open: RefCell<HashMap<Str, u32>> = RefCell::default();
    let params = [Param::String, Param::Any];
    funcs.add("include", &params, None, move |cx, arguments| {
        let (Some(Value::String(name)), Some(data)) = (arguments.first(), arguments.get(1)) else {
            return Ok(Value::Nil);
        };
        {
            let mut open = open.borrow_mut();
            let count = open.entry(name.clone()).or_insert(0);
            if *count > MAX_INCLUDES {
                return Err(FuncError::new(format!(
                    "rendering template has a nested reference name: {}: unable to execute template",
                    name.to_text()
                )));
            }
            *count += 1;
        }
        let result = cx.include(name, data);
        if let Some(count) = open.borrow_mut().get_mut(name) {
            *count -= 1;
        }
        result.map(Value::String)
    });
}

fn add_refusals(funcs: &mut FuncMap, mode: Mode, log: &Log) {
    let notes = Rc::clone(log);
    let params = [Param::String, Param::Any];
    funcs.add("required", &params, None, move |_, arguments| {
        let value = arguments.get(1).cloned().unwrap_or(Value::Nil);
        let missing = match &value {
            Value::Nil => true,
            Value::String(text) => text.is_empty(),
            _ => false,
        };
        if !missing {
            return Ok(value);
        }
        let message = message_of(arguments);
        if mode == Mode::Lint {
            let note = format!("[INFO] Missing required value: {message}");
            notes.borrow_mut().push(note);
            return Ok(Value::from(""));
        }
        Err(FuncError::new(format!("{WARN_START}{message}{WARN_END}")))
    });
    let notes = Rc::clone(log);
    funcs.add("fail", &[Param::String], None, move |_, arguments| {
        let message = message_of(arguments);
        if mode == Mode::Lint {
            notes.borrow_mut().push(format!("[INFO] Fail: {message}"));
            return Ok(Value::from(""));
        }
        Err(FuncError::new(format!("{WARN_START}{message}{WARN_END}")))
    });
}

fn message_of(arguments: &[Value]) -> String {
    match arguments.first() {
        Some(Value::String(text)) => text.to_text().into_owned(),
        _ => String::new(),
    }
}

/// The message between the marks, if some are there.
pub(super) fn between_marks(text: &str) -> Option<&str> {
    let start = text.find(WARN_START)? + WARN_START.len();
    let end = text.rfind(WARN_END)?;
    text.get(start..end)
}

/// Sorted by name.
const TABLE: &[FuncDef] = &[
    FuncDef {
        name: "fromJson",
        params: &[Param::String],
        rest: None,
        call: |cx, arguments| {
            let found = parsed_json(cx, arguments)?;
            Ok(object_or_error(found, "json: cannot unmarshal"))
        },
    },
    FuncDef {
        name: "fromJsonArray",
        params: &[Param::String],
        rest: None,
        call: |cx, arguments| {
            let found = parsed_json(cx, arguments)?;
            Ok(array_or_error(found, "json: cannot unmarshal"))
        },
    },
    FuncDef {
        name: "fromToml",
        params: &[Param::String],
        rest: None,
        call: |cx, arguments| {
            let text = text_of(cx, arguments)?;
            Ok(match toml::decode(&text.to_text()) {
                Ok(value) => value,
                Err(error) => error_map(&error),
            })
        },
    },
    FuncDef {
        name: "fromYaml",
        params: &[Param::String],
        rest: None,
        call: |cx, arguments| {
            let found = parsed_yaml(cx, arguments)?;
            Ok(object_or_error(
                found,
                "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal",
            ))
        },
    },
    FuncDef {
        name: "fromYamlArray",
        params: &[Param::String],
        rest: None,
        call: |cx, arguments| {
            let found = parsed_yaml(cx, arguments)?;
            Ok(array_or_error(
                found,
                "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal",
            ))
        },
    },
    FuncDef {
        name: "toJson",
        params: &[Param::Any],
        rest: None,
        call: |cx, arguments| {
            let value = arguments.first().unwrap_or(&Value::Nil);
            match to_json(value, JsonStyle::default(), MAX_TEXT) {
                Ok(text) => {
                    cx.spend(text.len() / 16)?;
                    Ok(Value::from(text))
                }
                Err(error) if error.is_limit() => Err(error),
                Err(_) => Ok(Value::from("")),
            }
        },
    },
    FuncDef {
        name: "toToml",
        params: &[Param::Any],
        rest: None,
        call: |cx, arguments| {
            let value = arguments.first().unwrap_or(&Value::Nil);
            let text = toml::encode(value, MAX_TEXT)?;
            cx.spend(text.len() / 100)?;
            Ok(Value::from(text))
        },
    },
    FuncDef {
        name: "toYaml",
        params: &[Param::Any],
        rest: None,
        call: |cx, arguments| {
            let value = arguments.first().unwrap_or(&Value::Nil);
            or_nothing(to_yaml_text(cx, value))
        },
    },
    FuncDef {
        name: "toYamlPretty",
        params: &[Param::Any],
        rest: None,
        call: |cx, arguments| {
            let value = arguments.first().unwrap_or(&Value::Nil);
            let json = convert::to_json(value, &mut MAX_TEXT.clone());
            let text = json.map(|json| yaml::encode_pretty(&json));
            cx.spend(text.as_ref().map_or(0, |text| text.len() / 100))?;
            or_nothing(text)
        },
    },
    FuncDef {
        name: "tpl",
        params: &[Param::String, Param::Any],
        rest: None,
        call: tpl,
    },
];

/// A value as YAML without a newline at the end.
pub(super) fn to_yaml_text(cx: &mut Cx<'_>, value: &Value) -> Result<String, FuncError> {
    let json = convert::to_json(value, &mut MAX_TEXT.clone())?;
    let text = yaml::encode(&json).map_err(|error| FuncError::new(error.to_string()))?;
    cx.spend(text.len() / 50)?;
    Ok(text)
}

/// Helm gives an empty text for what it cannot write. What is too large must not look like that.
pub(super) fn or_nothing(text: Result<String, FuncError>) -> Result<Value, FuncError> {
    match text {
        Ok(text) => Ok(Value::from(text)),
        Err(error) if error.is_limit() => Err(error),
        Err(_) => Ok(Value::from("")),
    }
}

fn tpl(cx: &mut Cx<'_>, arguments: &[Value]) -> Result<Value, FuncError> {
    let (Some(Value::String(text)), Some(data)) = (arguments.first(), arguments.get(1)) else {
        return Ok(Value::Nil);
    };
    let shown = || {
        let quoted = format("%q", std::slice::from_ref(&arguments[0]), MAX_TEXT);
        quoted.map_or_else(|_| String::new(), |text| text.to_text().into_owned())
    };
    let out = if memchr::memmem::find(text, b"{{").is_none() {
        // No template: most texts that charts pass through tpl are none.
        cx.spend(text.len() / 100)?;
        text.clone()
    } else {
        match cx.evaluate(text, data) {
            Ok(out) => out,
            Err(Failed::Parsing(error)) => {
                let prefix = format!("cannot parse template {}: ", shown());
                return Err(FuncError::prefixed(error, prefix));
            }
            Err(Failed::Executing(error)) => {
                let prefix = format!("error during tpl function execution for {}: ", shown());
                return Err(FuncError::prefixed(error, prefix));
            }
        }
    };
    Ok(Value::String(without_no_value(out)))
}

/// What Go prints for no value; Helm takes it out of all it renders.
const NO_VALUE: &[u8] = b"<no value>";

/// Takes `<no value>` out of a text.
fn without_no_value(text: Str) -> Str {
    if memchr::memmem::find(&text, NO_VALUE).is_none() {
        return text;
    }
    cut_marks(&text).into()
}

/// Takes `<no value>` out of a rendered file.
pub(super) fn without_marks(text: Vec<u8>) -> Vec<u8> {
    if memchr::memmem::find(&text, NO_VALUE).is_none() {
        return text;
    }
    cut_marks(&text)
}

fn cut_marks(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in memchr::memmem::find_iter(text, NO_VALUE) {
        out.extend_from_slice(&text[from..at]);
        from = at + NO_VALUE.len();
    }
    out.extend_from_slice(&text[from..]);
    out
}

fn text_of(cx: &mut Cx<'_>, arguments: &[Value]) -> Result<Str, FuncError> {
    match arguments.first() {
        Some(Value::String(text)) => {
            cx.spend(text.len() / 20)?;
            Ok(text.clone())
        }
        _ => Ok(Str::default()),
    }
}

fn parsed_json(cx: &mut Cx<'_>, arguments: &[Value]) -> Result<Result<Value, String>, FuncError> {
    let text = text_of(cx, arguments)?;
    match from_json(&text) {
        Ok(value) => Ok(Ok(value)),
        Err(error) if error.is_limit() => Err(error),
        Err(error) => Ok(Err(error.message())),
    }
}

fn parsed_yaml(cx: &mut Cx<'_>, arguments: &[Value]) -> Result<Result<Value, String>, FuncError> {
    let text = text_of(cx, arguments)?;
    Ok(match yaml::decode_bytes(&text) {
        Ok(value) => Ok(convert::from_json(&value)),
        Err(error) => Err(format!("error converting YAML to JSON: {error}")),
    })
}

fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
        _ => "number",
    }
}

/// A map as Helm's `from` functions give it: nil for null, the error under `Error`.
fn object_or_error(found: Result<Value, String>, mismatch: &str) -> Value {
    match found {
        Ok(Value::Nil) => Value::Map(Map::nil()),
        Ok(Value::Map(map)) => Value::Map(map),
        Ok(other) => error_map(&format!(
            "{mismatch} {} into Go value of type map[string]interface {{}}",
            json_kind(&other)
        )),
        Err(error) => error_map(&error),
    }
}

fn error_map(error: &str) -> Value {
    Value::map([("Error", Value::from(error))])
}

fn array_or_error(found: Result<Value, String>, mismatch: &str) -> Value {
    let error = match found {
        Ok(Value::Nil) => return Value::List(List::nil(Elem::Any)),
        Ok(Value::List(list)) => return Value::List(list),
        Ok(other) => format!(
            "{mismatch} {} into Go value of type []interface {{}}",
            json_kind(&other)
        ),
        Err(error) => error,
    };
    Value::list(vec![Value::from(error)])
}

#[cfg(test)]
mod tests {
    use super::{Mode, all};

    /// Names with how many arguments they take, as `engine/funcs.go` of Helm 3.22 declares them.
    const HELM: [(&str, usize); 15] = [
        ("fail", 1),
        ("fromJson", 1),
        ("fromJsonArray", 1),
        ("fromToml", 1),
        ("fromYaml", 1),
        ("fromYamlArray", 1),
        ("getHostByName", 1),
        ("include", 2),
        ("lookup", 4),
        ("required", 2),
        ("toJson", 1),
        ("toToml", 1),
        ("toYaml", 1),
        ("toYamlPretty", 1),
        ("tpl", 2),
    ];

    #[test]
    fn every_function_of_helm_is_there_with_its_arity() {
        for mode in [Mode::Render, Mode::Lint] {
            let funcs = all(mode, false, None, &super::Log::default());
            for (name, count) in HELM {
                assert_eq!(funcs.arity(name), Some((count, false)), "{name}");
            }
            for gone in ["env", "expandenv"] {
                assert_eq!(funcs.arity(gone), None, "{gone}");
            }
        }
    }
}
