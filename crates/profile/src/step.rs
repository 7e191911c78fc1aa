//! Steps: their three shapes, their references and their options (S-2.1 to S-2.7).

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::diagnostic::{Diagnostic, Position};
use crate::kinds::{COMMON_OPTIONS, KindSpec, NameRule, OptionSpec, Required, Shape};
use crate::model::Phase;
use crate::names::{label_fault, nearest, same_but_case, subdomain_fault};
use crate::node::{Core, Entry, Node, Value, quoted};
use crate::read::Reader;

/// One step of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct StepSpec {
    /// Where the item begins.
    pub at: Position,
    /// What the step acts on.
    pub body: StepBody,
    /// Script before the main action.
    pub pre: Option<String>,
    /// Script after a successful main action.
    pub post: Option<String>,
    /// The step's own clock; `None` when absent or `"0"`.
    pub timeout: Option<Duration>,
    /// Options of the kind; empty for `custom`.
    pub options: StepOptions,
}

/// What a step acts on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepBody {
    /// An object or a release.
    Reference(StepRef),
    /// A script.
    Custom {
        /// Its path as written.
        path: String,
    },
}

impl fmt::Display for StepBody {
    /// The reference, or `custom: PATH`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reference(reference) => reference.fmt(f),
            Self::Custom { path } => write!(f, "custom: {path}"),
        }
    }
}

/// A reference, displayed as `kind.namespace/name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepRef {
    /// The kind, as in the table handed in.
    pub kind: &'static str,
    /// A DNS-1123 label.
    pub namespace: String,
    /// A name that keeps the rule of its kind.
    pub name: String,
}

impl StepRef {
    /// Reads a reference from a command line.
    ///
    /// # Errors
    ///
    /// What is wrong with it; a hint may follow on a line of its own.
    pub fn parse(text: &str, kinds: &[KindSpec]) -> Result<Self, String> {
        parse_reference(text, kinds)
            .map(|(_, reference)| reference)
            .map_err(|(message, expected, hint)| {
                let hint = hint.map_or_else(String::new, |hint| format!("\nhint: {hint}"));
                format!("{message}, expected {expected}{hint}")
            })
    }
}

impl fmt::Display for StepRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}/{}", self.kind, self.namespace, self.name)
    }
}

/// The value of one option, of the shape its table names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionValue {
    /// [`Shape::Path`], [`Shape::Text`], [`Shape::FreeText`].
    Text(String),
    /// [`Shape::Bool`].
    Bool(bool),
    /// [`Shape::Duration`].
    Duration(Duration),
    /// [`Shape::Replicas`], at most 2147483647.
    Integer(u32),
    /// [`Shape::PathList`], [`Shape::ArgumentList`].
    List(Vec<String>),
}

/// The options of a kind that a step gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepOptions {
    values: BTreeMap<&'static str, (OptionValue, Position)>,
}

impl StepOptions {
    /// A boolean option; `None` if it is not given.
    #[must_use]
    pub fn bool(&self, name: &str) -> Option<bool> {
        match self.value(name)? {
            OptionValue::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// An integer option; `None` if it is not given.
    #[must_use]
    pub fn integer(&self, name: &str) -> Option<u32> {
        match self.value(name)? {
            OptionValue::Integer(value) => Some(*value),
            _ => None,
        }
    }

    /// The option `replicas`; `None` if it is not given.
    #[must_use]
    pub fn replicas(&self) -> Option<u32> {
        self.integer("replicas")
    }

    /// A path or text option; `None` if it is not given.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.value(name)? {
            OptionValue::Text(value) => Some(value),
            _ => None,
        }
    }

    /// A list option; `None` if it is not given.
    #[must_use]
    pub fn list(&self, name: &str) -> Option<&[String]> {
        match self.value(name)? {
            OptionValue::List(value) => Some(value),
            _ => None,
        }
    }

    /// A duration option; `None` if it is not given.
    #[must_use]
    pub fn duration(&self, name: &str) -> Option<Duration> {
        match self.value(name)? {
            OptionValue::Duration(value) => Some(*value),
            _ => None,
        }
    }

    /// Any option; `None` if it is not given.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&OptionValue> {
        self.values.get(name).map(|(value, _)| value)
    }

    /// Where an option stands.
    #[must_use]
    pub fn position_of(&self, name: &str) -> Option<Position> {
        self.values.get(name).map(|(_, at)| *at)
    }

    /// All given options in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &OptionValue)> {
        self.values.iter().map(|(name, (value, _))| (*name, value))
    }
}

/// Reads a list of steps. Items that are in error are left out; the errors stand in the reader.
pub(crate) fn read_steps(
    reader: &mut Reader<'_>,
    name: &str,
    phase: Phase,
    node: &Node,
) -> Vec<StepSpec> {
    let Some(items) = reader.list(name, "a list of steps", node) else {
        return Vec::new();
    };
    items
        .iter()
        .enumerate()
        .filter_map(|(index, item)| {
            StepReader {
                reader,
                item: format!("{name}[{index}]"),
                phase,
            }
            .step(item)
        })
        .collect()
}

const STEP_FORM: &str =
    "a reference such as \"deployment.app/api\", a reference with options, or \"custom: PATH\"";
const REFERENCE_FORM: &str = "KIND.NAMESPACE/NAME, for example deployment.app/api";
const CUSTOM_KEYS: [&str; 4] = ["custom", "pre", "post", "timeout"];

struct StepReader<'r, 'a> {
    reader: &'r mut Reader<'a>,
    /// The item in words: `pipelines.down[2]`.
    item: String,
    phase: Phase,
}

/// The options of a step while they are read.
#[derive(Default)]
struct Given {
    pre: Option<String>,
    post: Option<String>,
    timeout: Option<Duration>,
    options: StepOptions,
}

impl<'a> StepReader<'_, 'a> {
    fn step(&mut self, node: &Node) -> Option<StepSpec> {
        match &node.value {
            Value::Scalar(scalar) if scalar.core() == Core::Text => {
                let kind_ref = self.reference(&scalar.text, node.at)?;
                self.referenced(node.at, kind_ref, None)
            }
            Value::Map(entries) => self.mapping(node.at, entries),
            Value::Bad => None,
            Value::Scalar(_) | Value::List(_) => {
                let error = Diagnostic::error(
                    node.at,
                    format!("{} is {}, not a step", self.item, node.describe()),
                );
                self.reader.error(error.expected(STEP_FORM));
                None
            }
        }
    }

    fn mapping(&mut self, at: Position, entries: &[Entry]) -> Option<StepSpec> {
        if entries.iter().any(|entry| &*entry.key.text == "custom") {
            return self.custom(at, entries);
        }
        match entries {
            [] => {
                self.reader.error(
                    Diagnostic::error(at, format!("{} is an empty mapping, not a step", self.item))
                        .expected(STEP_FORM),
                );
                None
            }
            [only] => {
                let kind_ref = self.reference(&only.key.text, only.key.at)?;
                self.referenced(at, kind_ref, Some(&only.value))
            }
            [first, others @ ..] => {
                self.several_keys(first, others);
                None
            }
        }
    }

    /// Several keys where one is due: most often the options slid to the left (S-1.14).
    fn several_keys(&mut self, first: &Entry, others: &[Entry]) {
        let entries = || std::iter::once(first).chain(others);
        let reference = entries()
            .find(|entry| entry.key.text.contains('/'))
            .unwrap_or(first);
        let beside = || entries().filter(|entry| entry.key.at != reference.key.at);
        let slid = beside()
            .find(|entry| self.is_option(&entry.key.text))
            .or_else(|| beside().find(|entry| !entry.key.text.contains('/')));
        let name = quoted(&reference.key.text);
        let error = match (slid, beside().next()) {
            (Some(option), _) => {
                let option_name = quoted(&option.key.text);
                Diagnostic::error(
                    option.key.at,
                    format!("{} has the key {option_name} beside {name}", self.item),
                )
                .expected(format!(
                    "one reference in each item, its options one level deeper than {name}"
                ))
                .hint(format!(
                    "options go one level deeper: indent {option_name} by two more columns"
                ))
            }
            (None, Some(second)) => Diagnostic::error(
                second.key.at,
                format!(
                    "{} has several keys: {name} and {}",
                    self.item,
                    quoted(&second.key.text)
                ),
            )
            .expected("one reference in each item of the list")
            .hint(format!(
                "begin each step with its own dash: \"- {}\"",
                second.key.text
            )),
            (None, None) => return,
        };
        self.reader.error(error);
    }

    fn is_option(&self, key: &str) -> bool {
        all_options(self.reader.kinds).any(|(_, option)| option.name == key)
    }

    fn custom(&mut self, at: Position, entries: &[Entry]) -> Option<StepSpec> {
        let mut path = None;
        let mut given = Given::default();
        let before = self.reader.errors.len();
        for Entry { key, value } in entries {
            let name: &str = &key.text;
            if name == "custom" {
                if value.is_null() {
                    let error =
                        Diagnostic::error(key.at, format!("{}: custom has no path", self.item));
                    self.reader.error(
                        error
                            .expected("custom: PATH")
                            .hint("write for example \"custom: ./hooks/drain.sh\""),
                    );
                } else {
                    path = self.reader.path("custom", value);
                }
            } else if let Some(option) = COMMON_OPTIONS.iter().find(|option| option.name == name) {
                self.option(option, value, &mut given);
            } else if name.contains('.') && name.contains('/') {
                let error = Diagnostic::error(
                    key.at,
                    format!(
                        "{} has both \"custom\" and the reference {}",
                        self.item,
                        quoted(name)
                    ),
                );
                self.reader.error(
                    error
                        .expected("one of them in each item")
                        .hint(format!("begin each step with its own dash: \"- {name}\"")),
                );
            } else if self.is_option(name) {
                let error = Diagnostic::error(
                    key.at,
                    format!("the option {} does not fit a custom step", quoted(name)),
                );
                self.reader
                    .error(error.expected(format!("one of {}", CUSTOM_KEYS.join(", "))));
            } else {
                self.reader.unknown(
                    name,
                    key.at,
                    "a custom step",
                    &CUSTOM_KEYS,
                    crate::read::Unknown::Refuse,
                );
            }
        }
        if self.reader.errors.len() > before {
            return None;
        }
        Some(StepSpec {
            at,
            body: StepBody::Custom { path: path? },
            pre: given.pre,
            post: given.post,
            timeout: given.timeout,
            options: given.options,
        })
    }

    fn referenced(
        &mut self,
        at: Position,
        (kind, reference): (&KindSpec, StepRef),
        options: Option<&Node>,
    ) -> Option<StepSpec> {
        let mut given = Given::default();
        let before = self.reader.errors.len();
        if let Some(node) = options.filter(|node| !node.is_null()) {
            match &node.value {
                Value::Map(entries) => {
                    for entry in entries {
                        self.kind_option(kind, entry, &mut given);
                    }
                }
                Value::Bad => return None,
                _ => {
                    let error = Diagnostic::error(
                        node.at,
                        format!(
                            "the options of {reference} must be a mapping, but {} was read",
                            node.describe()
                        ),
                    );
                    self.reader.error(
                        error.expected("OPTION: VALUE lines below the reference, or nothing"),
                    );
                }
            }
        }
        if self.reader.errors.len() == before {
            self.required(at, kind, &reference, &given);
        }
        if self.reader.errors.len() > before {
            return None;
        }
        Some(StepSpec {
            at,
            body: StepBody::Reference(reference),
            pre: given.pre,
            post: given.post,
            timeout: given.timeout,
            options: given.options,
        })
    }

    fn required(&mut self, at: Position, kind: &KindSpec, reference: &StepRef, given: &Given) {
        for option in kind.options {
            let due = match option.required {
                Required::No => false,
                Required::Always => true,
                Required::OnUp => self.phase == Phase::Up,
            };
            if due && given.options.value(option.name).is_none() {
                self.reader.error(
                    Diagnostic::error(
                        at,
                        format!("{reference} needs the option \"{}\"", option.name),
                    )
                    .expected(format!("{} ({})", example(option), option.summary))
                    .hint(format!(
                        "write for example \"{reference}: {{{}}}\"",
                        example(option)
                    )),
                );
            }
        }
    }

    fn kind_option(&mut self, kind: &KindSpec, entry: &Entry, given: &mut Given) {
        let name: &str = &entry.key.text;
        let own = || COMMON_OPTIONS.iter().chain(kind.options);
        if let Some(option) = own().find(|option| option.name == name) {
            if !option.phases.covers(self.phase) {
                let other = match self.phase {
                    Phase::Down => Phase::Up,
                    Phase::Up => Phase::Down,
                };
                self.reader.warn(Diagnostic::warning(
                    entry.key.at,
                    format!("the option \"{name}\" has no effect in a list of {} steps, only on {other}", self.phase),
                ));
            }
            self.option(option, &entry.value, given);
            return;
        }
        let fits: Vec<&str> = all_options(self.reader.kinds)
            .filter(|(_, option)| option.name == name)
            .map(|(kind, _)| kind)
            .collect();
        if !fits.is_empty() {
            let error = Diagnostic::error(
                entry.key.at,
                format!("the option \"{name}\" does not fit the kind {}", kind.name),
            );
            self.reader
                .error(error.expected(format!("\"{name}\" only on {}", fits.join(", "))));
            return;
        }
        let known: Vec<&str> = own().map(|option| option.name).collect();
        self.reader.unknown(
            name,
            entry.key.at,
            &format!("a {} step", kind.name),
            &known,
            crate::read::Unknown::Refuse,
        );
    }

    fn option(&mut self, option: &'static OptionSpec, node: &Node, given: &mut Given) {
        let name = option.name;
        let value = match option.shape {
            Shape::Path | Shape::Text => self.reader.path(name, node).map(OptionValue::Text),
            Shape::FreeText => self
                .reader
                .text(name, node, false)
                .map(|text| OptionValue::Text(text.to_owned())),
            Shape::Bool => self
                .reader
                .boolean(name, node, false)
                .map(OptionValue::Bool),
            Shape::Duration => self.reader.duration(name, node).map(OptionValue::Duration),
            Shape::Replicas => self.reader.count(name, node).map(OptionValue::Integer),
            Shape::PathList => self.reader.paths(name, node).map(OptionValue::List),
            Shape::ArgumentList => self.arguments(name, node).map(OptionValue::List),
        };
        match (name, value) {
            (_, None) => {}
            ("pre", Some(OptionValue::Text(path))) => given.pre = Some(path),
            ("post", Some(OptionValue::Text(path))) => given.post = Some(path),
            ("timeout", Some(OptionValue::Duration(time))) => {
                given.timeout = (!time.is_zero()).then_some(time);
            }
            (name, Some(value)) => {
                given.options.values.insert(name, (value, node.at));
            }
        }
    }

    fn arguments(&mut self, name: &str, node: &Node) -> Option<Vec<String>> {
        let Value::List(items) = &node.value else {
            if let Some(error) = self.reader.shape(name, "a list of texts", node) {
                self.reader.error(
                    error
                        .expected("an argument vector, no shell")
                        .hint("write for example [\"sh\", \"-c\", \"COMMAND\"]"),
                );
            }
            return None;
        };
        if items.is_empty() {
            self.reader.error(
                Diagnostic::error(node.at, format!("{name} is an empty list"))
                    .expected("at least the program to run"),
            );
            return None;
        }
        let mut arguments = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let name = format!("{name}[{index}]");
            let Some(text) = self.reader.text(&name, item, false) else {
                continue;
            };
            if text.is_empty() || text.contains('\0') {
                let fault = if text.is_empty() {
                    "is empty"
                } else {
                    "holds a NUL character"
                };
                self.reader.error(
                    Diagnostic::error(item.at, format!("{name} {fault}"))
                        .expected("a non-empty text"),
                );
                continue;
            }
            arguments.push(text.to_owned());
        }
        (arguments.len() == items.len()).then_some(arguments)
    }

    /// Reads `kind.namespace/name` (S-1.29, S-2.1 to S-2.3).
    fn reference(&mut self, text: &str, at: Position) -> Option<(&'a KindSpec, StepRef)> {
        let kinds = self.reader.kinds;
        match parse_reference(text, kinds) {
            Ok(found) => Some(found),
            Err((message, expected, hint)) => {
                let mut error = Diagnostic::error(at, message).expected(expected);
                if let Some(hint) = hint {
                    error = error.hint(hint);
                }
                self.reader.error(error);
                None
            }
        }
    }
}

/// Every option of every kind, with the kind's name.
fn all_options(kinds: &[KindSpec]) -> impl Iterator<Item = (&'static str, &'static OptionSpec)> {
    let common = COMMON_OPTIONS.iter().map(|option| ("custom", option));
    let own = kinds
        .iter()
        .flat_map(|kind| kind.options.iter().map(|option| (kind.name, option)));
    common.chain(own)
}

fn example(option: &OptionSpec) -> String {
    let value = match (option.shape, option.name) {
        (Shape::Path, "manifest") => "./jobs/migrate.yaml",
        (Shape::Path, _) => "./hooks/script.sh",
        (Shape::Text | Shape::FreeText, "container") => "app",
        (Shape::Text | Shape::FreeText, _) => "TEXT",
        (Shape::Bool, _) => "true",
        (Shape::Duration, _) => "10m",
        (Shape::Replicas, _) => "3",
        (Shape::PathList, _) => "[./values.yaml]",
        (Shape::ArgumentList, _) => "[\"sh\", \"-c\", \"COMMAND\"]",
    };
    format!("{}: {value}", option.name)
}

/// What people call a kind elsewhere.
const OTHER_NAMES: [(&str, &str); 16] = [
    ("deploy", "deployment"),
    ("deployments", "deployment"),
    ("sts", "statefulset"),
    ("statefulsets", "statefulset"),
    ("helm", "release"),
    ("helmrelease", "release"),
    ("chart", "release"),
    ("releases", "release"),
    ("persistentvolumeclaim", "pvc"),
    ("pvcs", "pvc"),
    ("pod", "exec"),
    ("jobs", "job"),
    ("cj", "cronjob"),
    ("cronjobs", "cronjob"),
    ("script", "custom"),
    ("hook", "custom"),
];

type ReferenceFault = (String, String, Option<String>);

fn parse_reference<'k>(
    text: &str,
    kinds: &'k [KindSpec],
) -> Result<(&'k KindSpec, StepRef), ReferenceFault> {
    let form = || REFERENCE_FORM.to_owned();
    let shown = quoted(text);
    if let Some(path) = text.strip_prefix("custom:") {
        let path = match path.trim() {
            "" => "./hooks/script.sh",
            path => path,
        };
        return Err((
            format!("{shown} is a text, but a custom step is a mapping"),
            "custom: PATH without quotes around the whole".to_owned(),
            Some(format!("write \"- custom: {path}\"")),
        ));
    }
    if text == "custom" {
        return Err((
            "a custom step needs a path".to_owned(),
            "custom: PATH".to_owned(),
            Some("write for example \"- custom: ./hooks/drain.sh\"".to_owned()),
        ));
    }
    if text.is_empty() {
        return Err(("the step reference is empty".to_owned(), form(), None));
    }
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        let trimmed: String = text
            .chars()
            .filter(|c| !c.is_whitespace() && !c.is_control())
            .collect();
        return Err((
            format!("the step reference {shown} has a blank or a line break"),
            form(),
            parse_reference(&trimmed, kinds)
                .is_ok()
                .then(|| format!("write {trimmed}")),
        ));
    }
    let kind_names = || kinds.iter().map(|kind| kind.name);
    let all_kinds = || {
        kind_names()
            .chain(["custom"])
            .collect::<Vec<_>>()
            .join(", ")
    };
    let Some((kind_name, rest)) = text.split_once('.') else {
        let hint = text.split_once('/').and_then(|(kind, rest)| {
            let kind = kind_names().find(|name| *name == kind)?;
            let (namespace, name) = rest.split_once('/').unwrap_or(("NAMESPACE", rest));
            Some(format!("write {kind}.{namespace}/{name}"))
        });
        return Err((
            format!("{shown} is not a step reference: it has no dot behind the kind"),
            form(),
            hint,
        ));
    };
    let Some(kind) = kinds.iter().find(|kind| kind.name == kind_name) else {
        return Err(unknown_kind(kind_name, rest, &all_kinds(), kinds));
    };
    let Some((namespace, name)) = rest.split_once('/') else {
        return Err((
            format!("{shown} is not a step reference: it has no \"/\" between namespace and name"),
            form(),
            None,
        ));
    };
    if name.contains('/') {
        return Err((
            format!("{shown} is not a step reference: it has a second \"/\""),
            form(),
            None,
        ));
    }
    if let Some(fault) = label_fault(namespace) {
        return Err((
            format!("the namespace {} of {shown} {fault}", quoted(namespace)),
            crate::read::LABEL_FORM.to_owned(),
            None,
        ));
    }
    if let Some(fault) = subdomain_fault(name, kind.name_rule.max_length()) {
        let what = match kind.name_rule {
            NameRule::Subdomain => "a name",
            NameRule::JobName => "the name of a Job",
            NameRule::CronJobName => "the name of a CronJob",
            NameRule::ReleaseName => "the name of a Helm release",
        };
        let lower = name.to_lowercase();
        let hint = (lower != name
            && subdomain_fault(&lower, kind.name_rule.max_length()).is_none())
        .then(|| format!("write {kind_name}.{namespace}/{lower}"));
        return Err((
            format!("the name {} of {shown} {fault}", quoted(name)),
            format!(
                "{what}: a-z, 0-9, '-' and '.', a letter or digit at both ends, at most {} characters",
                kind.name_rule.max_length()
            ),
            hint,
        ));
    }
    let reference = StepRef {
        kind: kind.name,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    Ok((kind, reference))
}

fn unknown_kind(kind: &str, rest: &str, all: &str, kinds: &[KindSpec]) -> ReferenceFault {
    let expected = format!("one of {all}");
    match kind {
        "daemonset" => {
            return (
                "the kind daemonset is not supported: a DaemonSet has no scale subresource"
                    .to_owned(),
                expected,
                Some(
                    "use a \"custom: PATH\" step with a script that sets a node selector"
                        .to_owned(),
                ),
            );
        }
        "scale" | "patch" => {
            return (
                format!("the kind {kind} is planned and not available yet"),
                expected,
                Some("use a \"custom: PATH\" step with a script".to_owned()),
            );
        }
        "custom" => {
            return (
                format!(
                    "custom is not a kind of reference, but {} was read",
                    quoted(&format!("{kind}.{rest}"))
                ),
                "custom: PATH".to_owned(),
                Some("write for example \"- custom: ./hooks/drain.sh\"".to_owned()),
            );
        }
        _ => {}
    }
    let names = || kinds.iter().map(|kind| kind.name);
    let lower = kind.to_ascii_lowercase();
    let meant = same_but_case(kind, names())
        .or_else(|| {
            OTHER_NAMES
                .iter()
                .find(|(other, _)| *other == lower)
                .map(|(_, name)| *name)
        })
        .or_else(|| nearest(kind, names()));
    let hint = meant.map(|name| match name {
        "custom" => "a script is a step of the form \"custom: PATH\"".to_owned(),
        name => format!("did you mean {name}.{rest}?"),
    });
    (
        format!("the kind {} is unknown", quoted(kind)),
        expected,
        hint,
    )
}
