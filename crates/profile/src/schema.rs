//! The profile format for editors (S-1.23), out of the tables that the loader reads by.

use serde_json::{Map, Value as Json, json};

use crate::keys::{KEYS, PROBE_CHECKS};
use crate::kinds::{COMMON_OPTIONS, KindSpec, OptionSpec, Required, Shape};
use crate::model::Phase;
use crate::read::{Field, Key, Special, below, children};

/// Go's duration grammar, without the checks of range.
const DURATION: &str = r"^(0|\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$";
const NAMESPACE: &str = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";
const NAME: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";

/// A JSON schema (draft-07, which editors know best) of profiles with these kinds of steps.
///
/// It helps editors only: it is stricter about unknown keys and laxer about rules over several keys than the loader.
#[must_use]
pub fn json_schema(kinds: &[KindSpec]) -> Json {
    let mut schema = section(KEYS, "");
    if let Json::Object(map) = &mut schema {
        map.insert(
            "$schema".to_owned(),
            json!("http://json-schema.org/draft-07/schema#"),
        );
        map.insert("title".to_owned(), json!("kzero profile"));
        map.insert(
            "required".to_owned(),
            json!(["schema_version", "run", "pipelines"]),
        );
        map.insert(
            "definitions".to_owned(),
            json!({ "down_step": step(kinds, Phase::Down), "up_step": step(kinds, Phase::Up) }),
        );
    }
    schema
}

/// A JSON schema (draft-07) of chart manifests.
#[must_use]
pub fn manifest_schema() -> Json {
    let mut schema = section(crate::manifest::KEYS, "");
    if let Json::Object(map) = &mut schema {
        map.insert(
            "$schema".to_owned(),
            json!("http://json-schema.org/draft-07/schema#"),
        );
        map.insert("title".to_owned(), json!("kzero chart manifest"));
        map.remove("patternProperties");
    }
    schema
}

/// The keys below `prefix` as a mapping.
fn section<T>(table: &[Key<T>], prefix: &str) -> Json {
    let mut properties = Map::new();
    for name in children(table, prefix) {
        let path = if prefix.is_empty() {
            name.to_owned()
        } else {
            format!("{prefix}.{name}")
        };
        let value = match table.iter().find(|row| row.path == path) {
            Some(row) => described(row),
            None => section(table, &path),
        };
        properties.insert(name.to_owned(), value);
    }
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "patternProperties": { "^x-": {} },
        "additionalProperties": false,
    });
    if prefix == "run" {
        schema["required"] = json!(["mode"]);
    } else if prefix == "pipelines" {
        schema["anyOf"] = json!([{ "required": ["down"] }, { "required": ["up"] }]);
    } else if !prefix.is_empty()
        && table
            .iter()
            .all(|row| below(row.path, prefix).is_none() || !is_steps(row))
    {
        schema["type"] = json!(["object", "null"]);
    }
    schema
}

fn is_steps<T>(row: &Key<T>) -> bool {
    matches!(row.field, Field::Node(Special::Steps(_), _))
}

fn described<T>(row: &Key<T>) -> Json {
    let mut schema = match &row.field {
        Field::Version(_) => json!({ "const": "1.0" }),
        Field::Label(_) => json!({ "type": ["string", "number", "boolean", "null"] }),
        Field::Text(_) | Field::Path(_) | Field::SecretText(_) => {
            json!({ "type": ["string", "null"] })
        }
        Field::SecretUrl(_) => {
            json!({ "type": ["string", "null"], "pattern": "^([hH][tT][tT][pP][sS]?://.+)?$" })
        }
        Field::Bool(_) => json!({ "enum": [true, false, "true", "false"] }),
        Field::Duration(_) => duration(),
        Field::PositiveDuration(_) => {
            json!({ "type": "string", "pattern": DURATION, "not": { "const": "0" } })
        }
        Field::Count(_) => json!({ "type": "integer", "minimum": 0, "maximum": i32::MAX }),
        Field::Word(words, _) => json!({ "enum": words }),
        Field::DnsLabel(_) => {
            json!({ "type": ["string", "null"], "pattern": format!("^({NAMESPACE})?$") })
        }
        Field::Node(special, _) => described_node(*special),
    };
    schema["description"] = json!(row.doc);
    if !row.default.is_empty() {
        schema["default"] = match &row.field {
            Field::Bool(_) => json!(row.default == "true"),
            Field::Count(_) => row.default.parse::<u32>().map_or(Json::Null, Json::from),
            _ => json!(row.default),
        };
    }
    schema
}

fn described_node(special: Special) -> Json {
    match special {
        Special::Steps(phase) => {
            json!({ "type": "array", "items": { "$ref": format!("#/definitions/{phase}_step") } })
        }
        Special::Registries => json!({
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "host": { "type": "string", "minLength": 1 },
                    "username": { "type": "string", "minLength": 1 },
                    "password": { "type": "string" },
                    "password_env": { "type": "string", "minLength": 1, "description": "variable that holds the password; wins over password" },
                },
                "required": ["host", "username"],
                "anyOf": [{ "required": ["password"] }, { "required": ["password_env"] }],
                "additionalProperties": false,
            },
        }),
        Special::Words(words) => json!({ "type": "array", "items": { "enum": words } }),
        Special::TextMap => {
            json!({ "type": ["object", "null"], "additionalProperties": { "type": "string" } })
        }
        Special::Paths => json!({ "type": "array", "items": { "type": "string", "minLength": 1 } }),
        Special::Mapping => json!({ "type": ["object", "null"] }),
        Special::ProbeChecks => {
            let checks: Vec<Json> = PROBE_CHECKS
                .iter()
                .map(|name| {
                    let value = match *name {
                        "pvc_bound" => json!({ "type": "string", "pattern": format!("^{NAMESPACE}/{NAME}$") }),
                        _ => json!({ "const": true }),
                    };
                    json!({ "type": "object", "properties": { *name: value }, "required": [name], "additionalProperties": false })
                })
                .collect();
            json!({ "type": "array", "items": { "oneOf": checks } })
        }
    }
}

fn duration() -> Json {
    json!({ "anyOf": [{ "type": "string", "pattern": DURATION }, { "const": 0 }] })
}

/// A step of a phase: a reference, a reference with options, or a script.
fn step(kinds: &[KindSpec], phase: Phase) -> Json {
    let custom = COMMON_OPTIONS
        .iter()
        .map(|option| (option.name.to_owned(), described_option(option)))
        .chain([(
            "custom".to_owned(),
            json!({ "type": "string", "minLength": 1, "description": "script to run" }),
        )])
        .collect::<Map<_, _>>();
    let mut forms = vec![
        json!({ "type": "object", "properties": custom, "required": ["custom"], "additionalProperties": false }),
    ];
    for kind in kinds {
        let reference = format!(r"^{}\.{NAMESPACE}/{NAME}$", kind.name);
        let required: Vec<&str> = kind
            .options
            .iter()
            .filter(|option| match option.required {
                Required::No => false,
                Required::Always => true,
                Required::OnUp => phase == Phase::Up,
            })
            .map(|option| option.name)
            .collect();
        let options = COMMON_OPTIONS
            .iter()
            .chain(kind.options)
            .map(|option| (option.name.to_owned(), described_option(option)))
            .collect::<Map<_, _>>();
        let mut value = json!({ "type": ["object", "null"], "properties": options, "additionalProperties": false });
        if required.is_empty() {
            forms.push(
                json!({ "type": "string", "pattern": reference, "description": kind.summary }),
            );
        } else {
            value["type"] = json!("object");
            value["required"] = json!(required);
        }
        forms.push(json!({
            "type": "object",
            "description": kind.summary,
            "patternProperties": { reference: value },
            "additionalProperties": false,
            "minProperties": 1,
            "maxProperties": 1,
        }));
    }
    json!({ "anyOf": forms })
}

fn described_option(option: &OptionSpec) -> Json {
    let mut schema = match option.shape {
        Shape::Path | Shape::Text => json!({ "type": "string", "minLength": 1 }),
        Shape::FreeText => json!({ "type": "string" }),
        Shape::Bool => json!({ "type": "boolean" }),
        Shape::Duration => duration(),
        Shape::Replicas => json!({ "type": "integer", "minimum": 0, "maximum": i32::MAX }),
        Shape::PathList => {
            json!({ "type": "array", "items": { "type": "string", "minLength": 1 } })
        }
        Shape::ArgumentList => {
            json!({ "type": "array", "minItems": 1, "items": { "type": "string", "minLength": 1 } })
        }
    };
    schema["description"] = json!(option.summary);
    schema
}
