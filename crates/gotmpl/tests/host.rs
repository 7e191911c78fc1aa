//! What a host adds: types with fields and methods, named maps and lists, and functions with state.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::any::Any;
use std::cell::Cell;
use std::rc::Rc;

use kzero_gotmpl::{
    FuncMap, Kind, Limits, List, Map, MethodDef, MissingKey, NamedType, Object, Param, Still, Str,
    TemplateSet, Value,
};

static VALUES: NamedType = NamedType {
    name: "host.Values",
    methods: &[
        MethodDef {
            name: "AsMap",
            params: &[],
            rest: None,
            call: |_, this, _| match this {
                Value::Map(map) => Ok(Value::Map(map.clone().plain())),
                _ => Ok(Value::Nil),
            },
        },
        MethodDef {
            name: "Table",
            params: &[Param::String],
            rest: None,
            call: |_, this, args| match (this, &args[0]) {
                (Value::Map(map), Value::String(key)) => Ok(map.get(key).unwrap_or(Value::Nil)),
                _ => Ok(Value::Nil),
            },
        },
    ],
};

static VERSIONS: NamedType = NamedType {
    name: "host.Versions",
    methods: &[MethodDef {
        name: "Has",
        params: &[Param::String],
        rest: None,
        call: |_, this, args| match this {
            Value::List(list) => {
                let wanted = args[0].as_str();
                Ok(Value::Bool(
                    list.items().iter().any(|item| item.as_str() == wanted),
                ))
            }
            _ => Ok(Value::Bool(false)),
        },
    }],
};

/// A struct with one field.
struct Chart;

impl Object for Chart {
    fn type_name(&self) -> &str {
        "*host.Chart"
    }

    fn kind(&self) -> Kind {
        Kind::Pointer
    }

    fn field(&self, name: &str) -> Option<Value> {
        (name == "Name").then(|| Value::from("web"))
    }

    fn print(&self) -> String {
        "chart".to_owned()
    }

    fn equal(&self, other: &dyn Object) -> bool {
        other.as_any().is::<Self>()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Something that acts as a map of bytes.
struct Files;

impl Object for Files {
    fn type_name(&self) -> &str {
        "host.Files"
    }

    fn kind(&self) -> Kind {
        Kind::Map
    }

    fn entries(&self) -> Option<Vec<(Str, Value)>> {
        Some(vec![(Str::from("a.txt"), Value::Bytes(Str::from("AAA")))])
    }

    fn print(&self) -> String {
        "files".to_owned()
    }

    fn equal(&self, _: &dyn Object) -> bool {
        false
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn data() -> Value {
    let values = Map::new();
    values.set(Str::from("a"), Value::Int(1));
    let versions = List::strings([Str::from("v1"), Str::from("apps/v1")]);
    Value::map([
        ("Values", Value::Map(values.with_type(&VALUES))),
        ("Versions", Value::List(versions.with_type(&VERSIONS))),
        ("Chart", Value::Object(Rc::new(Chart))),
        ("Files", Value::Object(Rc::new(Files))),
    ])
}

fn render(text: &str) -> Result<String, String> {
    let mut funcs = FuncMap::sprig();
    let calls = Cell::new(0);
    funcs.add("count", &[], None, move |_, _| {
        calls.set(calls.get() + 1);
        Ok(Value::Int(calls.get()))
    });
    funcs.remove("env");
    funcs.remove("now");
    let mut set = TemplateSet::new("t", funcs).missing_key(MissingKey::Zero);
    set.parse("t", text).map_err(|error| error.to_string())?;
    let out = set
        .render("t", &data(), &Still::new(0, 0), &Limits::default())
        .map_err(|error| error.to_string())?;
    Ok(String::from_utf8(out).unwrap())
}

#[track_caller]
fn gives(text: &str, wanted: &str) {
    assert_eq!(render(text).as_deref(), Ok(wanted), "{text}");
}

#[track_caller]
fn fails(text: &str, wanted: &str) {
    let error = render(text).unwrap_err();
    assert!(error.ends_with(wanted), "{error}");
}

#[test]
fn named_maps_have_methods_and_share_what_they_hold() {
    gives(
        "{{ typeOf .Values }} {{ typeOf .Values.AsMap }} {{ .Values.a }}",
        "host.Values map[string]interface {} 1",
    );
    gives(
        "{{ $_ := set .Values \"b\" 2 }}{{ .Values.AsMap.b }} {{ .Values.Table \"b\" }}",
        "2 2",
    );
    gives("{{ \"a\" | .Values.Table }}", "1");
    fails(
        "{{ .Values.Table }}",
        "at <.Values.Table>: wrong number of args for Table: want 1 got 0",
    );
    fails("{{ .Values.Table 1 }}", "at <1>: expected string; found 1");
    fails(
        "{{ .Values.a 1 }}",
        "at <.Values.a>: a is not a method but has arguments",
    );
    fails(
        "{{ dig \"a\" \"x\" .Values }}",
        "interface conversion: interface {} is host.Values, not map[string]interface {}",
    );
    gives("{{ deepEqual .Values .Values.AsMap }}", "false");
}

#[test]
fn named_lists_have_methods() {
    gives(
        "{{ .Versions.Has \"v1\" }} {{ .Versions.Has \"v2\" }} {{ range .Versions }}{{ . }};{{ end }}",
        "true false v1;apps/v1;",
    );
    gives(
        "{{ has \"v1\" .Versions }} {{ typeOf .Versions }} {{ kindOf .Versions }}",
        "true host.Versions slice",
    );
}

#[test]
fn objects_have_fields_and_may_act_as_maps() {
    gives(
        "{{ .Chart.Name }} {{ .Chart }} {{ kindOf .Chart }} {{ if .Chart }}y{{ end }}",
        "web chart ptr y",
    );
    fails(
        "{{ .Chart.name }}",
        "at <.Chart.name>: can't evaluate field name in type interface {}",
    );
    fails(
        "{{ .Chart.Name 1 }}",
        "at <.Chart.Name>: Name has arguments but cannot be invoked as function",
    );
    fails(
        "{{ range .Chart }}{{ end }}",
        "range can't iterate over chart",
    );
    gives(
        "{{ range $k, $v := .Files }}{{ $k }}={{ printf \"%s\" $v }}{{ end }} {{ len .Files }}",
        "a.txt=AAA 1",
    );
    gives(
        "{{ index .Files \"a.txt\" | toString }} {{ if .Files }}y{{ end }}",
        "AAA y",
    );
    gives("{{ eq .Chart .Chart }}", "true");
    fails(
        "{{ toJson .Chart }}{{ mustToJson .Chart }}",
        "json: unsupported type: *host.Chart",
    );
}

#[test]
fn functions_may_hold_state_and_be_taken_away() {
    gives("{{ count }}{{ count }}", "12");
    fails("{{ now }}", "function \"now\" not defined");
}
