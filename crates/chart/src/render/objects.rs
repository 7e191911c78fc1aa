//! `.Chart`, `.Capabilities`, `.Files`, `.Values`: what templates find in their dot.

use kzero_gotmpl::{
    Elem, Entries, FuncError, Kind, List, Map, MethodDef, NamedType, Param, Str, Value,
};

use super::Capabilities;
use super::functions::{or_nothing, to_yaml_text};
use super::record::{Record, Type, field, optional};
use crate::convert;
use crate::glob::{Glob, GlobError};
use crate::load::File;
use crate::metadata::{Dependency, Maintainer, Metadata};
use crate::tree::{Id, Tree, path_value, table};

/// The type of tables of values.
pub(super) static VALUES: NamedType = NamedType {
    name: "chartutil.Values",
    methods: VALUES_METHODS,
};

/// The table behind a receiver.
fn receiver(value: &Value) -> Map {
    match value {
        Value::Map(map) => map.clone(),
        _ => Map::nil(),
    }
}

fn text(arguments: &[Value]) -> String {
    match arguments.first() {
        Some(Value::String(text)) => text.to_text().into_owned(),
        _ => String::new(),
    }
}

const VALUES_METHODS: &[MethodDef] = &[
    MethodDef {
        name: "AsMap",
        params: &[],
        rest: None,
        call: |_, this, _| {
            let map = receiver(this);
            Ok(Value::Map(if map.is_empty() {
                Map::new()
            } else {
                map.plain()
            }))
        },
    },
    MethodDef {
        name: "YAML",
        params: &[],
        rest: None,
        call: |cx, this, _| {
            let plain = Value::Map(receiver(this).plain());
            let text = to_yaml_text(cx, &plain)?;
            Ok(Value::from(text + "\n"))
        },
    },
    MethodDef {
        name: "Table",
        params: &[Param::String],
        rest: None,
        call: |_, this, arguments| match table(&receiver(this), &text(arguments)) {
            Ok(table) => Ok(Value::Map(table.with_type(&VALUES))),
            Err(error) => Err(FuncError::new(error.to_string())),
        },
    },
    MethodDef {
        name: "PathValue",
        params: &[Param::String],
        rest: None,
        call: |_, this, arguments| {
            path_value(&receiver(this), &text(arguments))
                .map_err(|error| FuncError::new(error.to_string()))
        },
    },
    MethodDef {
        name: "Encode",
        // Nothing that templates can have is one.
        params: &[Param::Host("io.Writer")],
        rest: None,
        call: |_, _, _| Ok(Value::Nil),
    },
];

/// The files of a chart, by name.
pub(super) fn files(files: &[File]) -> Value {
    let entries = files
        .iter()
        .map(|file| {
            (
                Str::from(file.name.as_str()),
                Value::Bytes(file.data.clone()),
            )
        })
        .collect();
    Value::Map(Map::typed(Elem::Bytes, entries).with_type(&FILES))
}

static FILES: NamedType = NamedType {
    name: "engine.files",
    methods: FILES_METHODS,
};

fn content(this: &Value, name: &[u8]) -> Str {
    match receiver(this).get(name) {
        Some(Value::Bytes(bytes)) => bytes,
        _ => Str::default(),
    }
}

fn name_of(arguments: &[Value]) -> &[u8] {
    match arguments.first() {
        Some(Value::String(text)) => text,
        _ => b"",
    }
}

/// The last part of a path.
fn base(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    match trimmed.rsplit('/').next() {
        Some("") | None => {
            if path.is_empty() {
                "."
            } else {
                "/"
            }
        }
        Some(base) => base,
    }
}

/// The files as YAML, by the last part of their names, of which the last one stays.
fn by_base_name(this: &Value, value: impl Fn(&Str) -> Value) -> Map {
    let map = Map::new();
    for (name, content) in receiver(this).entries().iter() {
        if let Value::Bytes(bytes) = content {
            map.set(Str::from(base(&name.to_text())), value(bytes));
        }
    }
    map
}

const FILES_METHODS: &[MethodDef] = &[
    MethodDef {
        name: "Get",
        params: &[Param::String],
        rest: None,
        call: |_, this, arguments| Ok(Value::String(content(this, name_of(arguments)))),
    },
    MethodDef {
        name: "GetBytes",
        params: &[Param::String],
        rest: None,
        call: |_, this, arguments| Ok(Value::Bytes(content(this, name_of(arguments)))),
    },
    MethodDef {
        name: "Glob",
        params: &[Param::String],
        rest: None,
        call: |cx, this, arguments| {
            // A pattern that is none matches all.
            let glob = match Glob::new(&text(arguments)) {
                Ok(glob) => glob,
                Err(GlobError::Invalid) => Glob::everything(),
                Err(error) => return Err(FuncError::limit(error.to_string())),
            };
            let mut found = Entries::default();
            for (name, content) in receiver(this).entries().iter() {
                let matched = glob.matches(&name.to_text()).map_err(|error| match error {
                    GlobError::Bounds { .. } => FuncError::new(error.to_string()),
                    _ => FuncError::limit(error.to_string()),
                })?;
                if matched {
                    found.insert(name.clone(), content.clone());
                }
            }
            cx.spend(usize::try_from(glob.work() / 100).unwrap_or(usize::MAX))?;
            Ok(Value::Map(Map::typed(Elem::Bytes, found).with_type(&FILES)))
        },
    },
    MethodDef {
        name: "AsConfig",
        params: &[],
        rest: None,
        call: |cx, this, _| {
            let map = by_base_name(this, |bytes| Value::String(bytes.clone()));
            or_nothing(to_yaml_text(cx, &Value::Map(map)))
        },
    },
    MethodDef {
        name: "AsSecrets",
        params: &[],
        rest: None,
        call: |cx, this, _| {
            // JSON writes bytes as base64 anyway.
            let map = by_base_name(this, |bytes| Value::Bytes(bytes.clone()));
            or_nothing(to_yaml_text(cx, &Value::Map(map)))
        },
    },
    MethodDef {
        name: "Lines",
        params: &[Param::String],
        rest: None,
        call: |cx, this, arguments| {
            let content = content(this, name_of(arguments));
            if content.is_empty() {
                return Ok(Value::List(List::strings([])));
            }
            cx.spend(content.len() / 100)?;
            let lines = content.strip_suffix(b"\n").unwrap_or(&content);
            Ok(Value::List(List::strings(
                lines.split(|&byte| byte == b'\n').map(Str::new),
            )))
        },
    },
];

static CHART: Type = Type {
    name: "struct { chart.Metadata; IsRoot bool }",
    kind: Kind::Struct,
    fields: &[field("Metadata"), field("IsRoot")],
    methods: &[],
    embeds: true,
    text: None,
};

static METADATA: Type = Type {
    name: "chart.Metadata",
    kind: Kind::Struct,
    fields: &[
        optional("Name", "name"),
        optional("Home", "home"),
        optional("Sources", "sources"),
        optional("Version", "version"),
        optional("Description", "description"),
        optional("Keywords", "keywords"),
        optional("Maintainers", "maintainers"),
        optional("Icon", "icon"),
        optional("APIVersion", "apiVersion"),
        optional("Condition", "condition"),
        optional("Tags", "tags"),
        optional("AppVersion", "appVersion"),
        optional("Deprecated", "deprecated"),
        optional("Annotations", "annotations"),
        optional("KubeVersion", "kubeVersion"),
        optional("Dependencies", "dependencies"),
        optional("Type", "type"),
    ],
    methods: &[],
    embeds: false,
    text: None,
};

static MAINTAINER: Type = Type {
    name: "*chart.Maintainer",
    kind: Kind::Pointer,
    fields: &[
        optional("Name", "name"),
        optional("Email", "email"),
        optional("URL", "url"),
    ],
    methods: &[],
    embeds: false,
    text: None,
};

static DEPENDENCY: Type = Type {
    name: "*chart.Dependency",
    kind: Kind::Pointer,
    fields: &[
        super::record::Field {
            name: "Name",
            json: "name",
            omit: false,
        },
        optional("Version", "version"),
        super::record::Field {
            name: "Repository",
            json: "repository",
            omit: false,
        },
        optional("Condition", "condition"),
        optional("Tags", "tags"),
        optional("Enabled", "enabled"),
        optional("ImportValues", "import-values"),
        optional("Alias", "alias"),
    ],
    methods: &[],
    embeds: false,
    text: None,
};

fn strings(list: Option<&Vec<String>>) -> Value {
    Value::List(match list {
        Some(list) => List::strings(list.iter().map(|text| Str::from(text.as_str()))),
        None => List::nil(Elem::String),
    })
}

/// `.Chart` of a chart in a tree.
pub(super) fn chart(tree: &Tree<'_>, id: Id) -> Value {
    let metadata = &tree.chart(id).metadata;
    let dependencies: Vec<Value> = tree.dependencies(id).map(dependency).collect();
    let inner = metadata_record(metadata, tree.name(id), dependencies);
    Record::value(&CHART, vec![inner, Value::Bool(tree.is_root(id))])
}

fn metadata_record(metadata: &Metadata, name: &str, dependencies: Vec<Value>) -> Value {
    let string = |text: &String| Value::from(text.as_str());
    let maintainers = match &metadata.maintainers {
        Some(list) => {
            let items = list.iter().flatten().map(|one| maintainer(one)).collect();
            List::typed(Elem::Host("*chart.Maintainer"), items)
        }
        None => List::nil(Elem::Host("*chart.Maintainer")),
    };
    let annotations = metadata
        .annotations
        .iter()
        .map(|(key, value)| (Str::from(key.as_str()), Value::from(value.as_str())))
        .collect();
    let dependencies = if dependencies.is_empty() {
        List::nil(Elem::Host("*chart.Dependency"))
    } else {
        List::typed(Elem::Host("*chart.Dependency"), dependencies)
    };
    let values = vec![
        Value::from(name),
        string(&metadata.home),
        strings(metadata.sources.as_ref()),
        string(&metadata.version),
        string(&metadata.description),
        strings(metadata.keywords.as_ref()),
        Value::List(maintainers),
        string(&metadata.icon),
        string(&metadata.api_version),
        string(&metadata.condition),
        string(&metadata.tags),
        string(&metadata.app_version),
        Value::Bool(metadata.deprecated),
        Value::Map(Map::typed(Elem::String, annotations)),
        string(&metadata.kube_version),
        Value::List(dependencies),
        string(&metadata.kind),
    ];
    Record::value(&METADATA, values)
}

fn maintainer(one: &Maintainer) -> Value {
    let fields = [&one.name, &one.email, &one.url];
    Record::value(
        &MAINTAINER,
        fields.map(|text| Value::from(text.as_str())).to_vec(),
    )
}

fn dependency(one: &Dependency) -> Value {
    let import_values = match &one.import_values {
        Some(list) => list.iter().map(convert::from_json).collect(),
        None => List::nil(Elem::Any),
    };
    let values = vec![
        Value::from(one.name.as_str()),
        Value::from(one.version.as_str()),
        Value::from(one.repository.as_str()),
        Value::from(one.condition.as_str()),
        strings(one.tags.as_ref()),
        Value::Bool(one.enabled),
        Value::List(import_values),
        Value::from(one.alias.as_str()),
    ];
    Record::value(&DEPENDENCY, values)
}

static CAPABILITIES: Type = Type {
    name: "*chartutil.Capabilities",
    kind: Kind::Pointer,
    fields: &[
        field("KubeVersion"),
        field("APIVersions"),
        field("HelmVersion"),
    ],
    methods: &[],
    embeds: false,
    text: None,
};

static KUBE_VERSION: Type = Type {
    name: "chartutil.KubeVersion",
    kind: Kind::Struct,
    fields: &[field("Version"), field("Major"), field("Minor")],
    methods: &[
        MethodDef {
            name: "GitVersion",
            params: &[],
            rest: None,
            call: kube_version,
        },
        MethodDef {
            name: "String",
            params: &[],
            rest: None,
            call: kube_version,
        },
    ],
    embeds: false,
    text: Some(0),
};

fn kube_version(
    _: &mut kzero_gotmpl::Cx<'_>,
    this: &Value,
    _: &[Value],
) -> Result<Value, FuncError> {
    Ok(match this {
        Value::Object(object) => object.field("Version").unwrap_or(Value::Nil),
        _ => Value::Nil,
    })
}

static HELM_VERSION: Type = Type {
    name: "version.BuildInfo",
    kind: Kind::Struct,
    fields: &[
        optional("Version", "version"),
        optional("GitCommit", "git_commit"),
        optional("GitTreeState", "git_tree_state"),
        optional("GoVersion", "go_version"),
    ],
    methods: &[],
    embeds: false,
    text: None,
};

static VERSION_SET: NamedType = NamedType {
    name: "chartutil.VersionSet",
    methods: &[MethodDef {
        name: "Has",
        params: &[Param::String],
        rest: None,
        call: |cx, this, arguments| {
            let Value::List(list) = this else {
                return Ok(Value::Bool(false));
            };
            cx.spend(list.len() / 16)?;
            let wanted = name_of(arguments);
            let found = list
                .items()
                .iter()
                .any(|item| item.as_str().is_some_and(|text| text.as_bytes() == wanted));
            Ok(Value::Bool(found))
        },
    }],
};

/// `.Capabilities`.
pub(super) fn capabilities(capabilities: &Capabilities) -> Value {
    let texts = |texts: &[&str]| texts.iter().map(|text| Value::from(*text)).collect();
    let kube = &capabilities.kube_version;
    let versions = capabilities
        .api_versions
        .iter()
        .map(|version| Str::from(version.as_str()));
    Record::value(
        &CAPABILITIES,
        vec![
            Record::value(
                &KUBE_VERSION,
                texts(&[&kube.version, &kube.major, &kube.minor]),
            ),
            Value::List(List::strings(versions).with_type(&VERSION_SET)),
            Record::value(&HELM_VERSION, texts(&["v3.22.0", "", "", "go1.26"])),
        ],
    )
}
