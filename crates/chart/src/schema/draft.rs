//! The drafts of JSON schema, and the schemas of schemas.

use std::sync::LazyLock;

use referencing::meta;
use serde_json::{Map, Value, json};

use super::address::{push, split};

/// A draft, older ones first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Draft {
    Four,
    Six,
    Seven,
    Of2019,
    Of2020,
}

/// What a schema without `$schema` is read as.
pub(super) const LATEST: Draft = Draft::Of2020;

pub(super) const DRAFTS: [Draft; 5] = [
    Draft::Four,
    Draft::Six,
    Draft::Seven,
    Draft::Of2019,
    Draft::Of2020,
];

/// Where a keyword holds schemas.
#[derive(Clone, Copy)]
enum Holds {
    One,
    Items,
    Entries,
}

/// The keywords that hold schemas, and the draft they came with.
const KEYWORDS: &[(Draft, &str, Holds)] = &[
    (Draft::Four, "definitions", Holds::Entries),
    (Draft::Four, "not", Holds::One),
    (Draft::Four, "allOf", Holds::Items),
    (Draft::Four, "anyOf", Holds::Items),
    (Draft::Four, "oneOf", Holds::Items),
    (Draft::Four, "properties", Holds::Entries),
    (Draft::Four, "additionalProperties", Holds::One),
    (Draft::Four, "patternProperties", Holds::Entries),
    (Draft::Four, "items", Holds::One),
    (Draft::Four, "items", Holds::Items),
    (Draft::Four, "additionalItems", Holds::One),
    (Draft::Four, "dependencies", Holds::Entries),
    (Draft::Six, "propertyNames", Holds::One),
    (Draft::Six, "contains", Holds::One),
    (Draft::Seven, "if", Holds::One),
    (Draft::Seven, "then", Holds::One),
    (Draft::Seven, "else", Holds::One),
    (Draft::Of2019, "$defs", Holds::Entries),
    (Draft::Of2019, "dependentSchemas", Holds::Entries),
    (Draft::Of2019, "unevaluatedProperties", Holds::One),
    (Draft::Of2019, "unevaluatedItems", Holds::One),
    (Draft::Of2019, "contentSchema", Holds::One),
    (Draft::Of2020, "prefixItems", Holds::Items),
];

impl Draft {
    /// The draft of a `$schema`.
    pub(super) fn of(url: &str) -> Option<Self> {
        let (url, fragment) = split(url);
        if !fragment.is_empty() {
            return None;
        }
        let url = url.strip_prefix("http://").unwrap_or(url);
        match url.strip_prefix("https://").unwrap_or(url) {
            "json-schema.org/schema" => Some(LATEST),
            "json-schema.org/draft/2020-12/schema" => Some(Self::Of2020),
            "json-schema.org/draft/2019-09/schema" => Some(Self::Of2019),
            "json-schema.org/draft-07/schema" => Some(Self::Seven),
            "json-schema.org/draft-06/schema" => Some(Self::Six),
            "json-schema.org/draft-04/schema" => Some(Self::Four),
            _ => None,
        }
    }

    /// The address of its own schema.
    pub(super) fn url(self) -> &'static str {
        match self {
            Self::Four => "http://json-schema.org/draft-04/schema",
            Self::Six => "http://json-schema.org/draft-06/schema",
            Self::Seven => "http://json-schema.org/draft-07/schema",
            Self::Of2019 => "https://json-schema.org/draft/2019-09/schema",
            Self::Of2020 => "https://json-schema.org/draft/2020-12/schema",
        }
    }

    /// The keyword that gives a schema an address of its own.
    pub(super) fn id_keyword(self) -> &'static str {
        if self == Self::Four { "id" } else { "$id" }
    }

    /// The address that a schema gives itself, without a fragment.
    pub(super) fn id(self, schema: &Map<String, Value>) -> Option<&str> {
        // What stands beside a reference is ignored.
        if self < Self::Of2019 && schema.contains_key("$ref") {
            return None;
        }
        let id = schema.get(self.id_keyword())?.as_str()?;
        Some(split(id).0).filter(|id| !id.is_empty())
    }

    /// The vocabularies it knows.
    pub(super) fn vocabularies(self) -> &'static [&'static str] {
        match self {
            Self::Of2019 => &[
                "core",
                "applicator",
                "validation",
                "meta-data",
                "format",
                "content",
            ],
            Self::Of2020 => &[
                "core",
                "applicator",
                "unevaluated",
                "validation",
                "meta-data",
                "format-annotation",
                "format-assertion",
                "content",
            ],
            _ => &[],
        }
    }

    /// The address of the schema of a vocabulary.
    pub(super) fn vocabulary_url(self, name: &str) -> String {
        let base = self.url().strip_suffix("schema").unwrap_or_default();
        format!("{base}meta/{name}")
    }

    /// The vocabularies that a schema of schemas asks for, or none where it says nothing of them.
    pub(super) fn asked_for(self, url: &str, meta: &Value) -> Result<Option<Vec<String>>, String> {
        let Some(Value::Object(asked)) = meta.get("$vocabulary") else {
            return Ok(None);
        };
        if self < Self::Of2019 {
            return Ok(None);
        }
        let base = self.url().strip_suffix("schema").unwrap_or_default();
        let mut names = Vec::new();
        for (vocabulary, _) in asked
            .iter()
            .filter(|(_, needed)| **needed == Value::Bool(true))
        {
            let name = vocabulary
                .strip_prefix(base)
                .and_then(|name| name.strip_prefix("vocab/"))
                .filter(|name| self.vocabularies().contains(name))
                .ok_or_else(|| format!("unsupported vocabulary {vocabulary:?} in {url:?}"))?;
            names.push(name.to_owned());
        }
        if !names.iter().any(|name| name == "core") {
            names.push("core".to_owned());
        }
        Ok(Some(names))
    }

    /// The schemas right within a schema, by their pointers.
    pub(super) fn within<'v>(
        self,
        schema: &'v Map<String, Value>,
        pointer: &str,
    ) -> Vec<(String, &'v Value)> {
        let mut found = Vec::new();
        for (since, keyword, holds) in KEYWORDS {
            let Some(value) = schema.get(*keyword).filter(|_| *since <= self) else {
                continue;
            };
            let mut base = pointer.to_owned();
            push(&mut base, keyword);
            match (holds, value) {
                (Holds::One, value) => {
                    found.push((base, value));
                }
                (Holds::Items, Value::Array(items)) => {
                    let items = items.iter().enumerate();
                    found.extend(items.map(|(at, item)| (format!("{base}/{at}"), item)));
                }
                (Holds::Entries, Value::Object(entries)) => {
                    for (key, value) in entries {
                        let mut pointer = base.clone();
                        push(&mut pointer, key);
                        found.push((pointer, value));
                    }
                }
                _ => {}
            }
        }
        found
    }
}

/// A draft with the vocabularies that are asked for, or its usual ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) draft: Draft,
    pub(super) vocabularies: Option<Vec<String>>,
}

impl Dialect {
    /// Whether the keywords of a vocabulary are looked at.
    pub(super) fn has(&self, vocabulary: &str) -> bool {
        if vocabulary == "core" || self.draft < Draft::Of2019 {
            return true;
        }
        match &self.vocabularies {
            Some(names) => names.iter().any(|name| name == vocabulary),
            None if self.draft == Draft::Of2019 => {
                matches!(vocabulary, "applicator" | "validation")
            }
            None => matches!(vocabulary, "applicator" | "unevaluated" | "validation"),
        }
    }

    /// Whether `format` is a rule, not a note.
    pub(super) fn asserts_formats(&self) -> bool {
        match self.draft {
            Draft::Of2019 => self.has("format"),
            Draft::Of2020 => self.has("format-assertion"),
            _ => true,
        }
    }
}

/// The schema of schemas at an address, if it is one of those that need not be fetched.
pub(super) fn built_in(url: &str) -> Option<&'static Value> {
    let path = url
        .strip_prefix("http://json-schema.org/")
        .or_else(|| url.strip_prefix("https://json-schema.org/"))?;
    Some(match path {
        "schema" | "draft/2020-12/schema" => &meta::DRAFT202012,
        "draft/2020-12/meta/core" => &meta::DRAFT202012_CORE,
        "draft/2020-12/meta/applicator" => &meta::DRAFT202012_APPLICATOR,
        "draft/2020-12/meta/unevaluated" => &meta::DRAFT202012_UNEVALUATED,
        "draft/2020-12/meta/validation" => &meta::DRAFT202012_VALIDATION,
        "draft/2020-12/meta/meta-data" => &meta::DRAFT202012_META_DATA,
        "draft/2020-12/meta/format-annotation" => &meta::DRAFT202012_FORMAT_ANNOTATION,
        "draft/2020-12/meta/format-assertion" => &meta::DRAFT202012_FORMAT_ASSERTION,
        "draft/2020-12/meta/content" => &meta::DRAFT202012_CONTENT,
        "draft/2019-09/schema" => &meta::DRAFT201909,
        "draft/2019-09/meta/core" => &meta::DRAFT201909_CORE,
        "draft/2019-09/meta/applicator" => &meta::DRAFT201909_APPLICATOR,
        "draft/2019-09/meta/validation" => &meta::DRAFT201909_VALIDATION,
        "draft/2019-09/meta/meta-data" => &meta::DRAFT201909_META_DATA,
        "draft/2019-09/meta/format" => &meta::DRAFT201909_FORMAT,
        "draft/2019-09/meta/content" => &meta::DRAFT201909_CONTENT,
        "draft-07/schema" => &SEVEN,
        "draft-06/schema" => &SIX,
        "draft-04/schema" => &FOUR,
        _ => return None,
    })
}

/// As Helm has them, the old drafts want lists of `enum` to be without repetition and not empty.
fn strict_enum(meta: &Value) -> Value {
    let mut meta = meta.clone();
    if let Some(Value::Object(rules)) = meta.pointer_mut("/properties/enum") {
        rules.insert("minItems".to_owned(), json!(1));
        rules.insert("uniqueItems".to_owned(), json!(true));
    }
    meta
}

static SEVEN: LazyLock<Value> = LazyLock::new(|| strict_enum(&meta::DRAFT7));

static SIX: LazyLock<Value> = LazyLock::new(|| {
    let mut meta = strict_enum(&meta::DRAFT6);
    if let Some(Value::Object(rules)) = meta.pointer_mut("/properties/patternProperties") {
        rules.remove("propertyNames");
    }
    if let Some(Value::Object(properties)) = meta.get_mut("properties") {
        properties.remove("examples");
    }
    meta
});

static FOUR: LazyLock<Value> = LazyLock::new(|| {
    let mut meta = strict_enum(&meta::DRAFT4);
    if let Value::Object(schema) = &mut meta {
        schema.remove("id");
    }
    if let Some(Value::Object(properties)) = meta.get_mut("properties") {
        properties.insert("$ref".to_owned(), json!({ "type": "string" }));
        properties.insert(
            "$schema".to_owned(),
            json!({ "type": "string", "format": "uri" }),
        );
    }
    meta
});
