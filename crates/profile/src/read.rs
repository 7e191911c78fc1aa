//! Reading a mapping by a table of keys: the one mechanism behind profile and chart manifest.
//!
//! A row of the table says what a key is called, which form its value has, what it is without being given, and where
//! the value goes. Reading, environment variables, hints for unknown keys and the editor schema all come from it.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value as Json;

use crate::diagnostic::{Diagnostic, Position};
use crate::duration::{self, DurationError};
use crate::kinds::KindSpec;
use crate::names::{label_fault, nearest, same_but_case};
use crate::node::{Core, Entry, MAX_FINDINGS, Node, Value, quoted};
use crate::number::{self, IntegerFault};

/// One row: a key of `T`.
pub(crate) struct Key<T: 'static> {
    /// Dotted path.
    pub(crate) path: &'static str,
    /// Form of the value, and where it goes.
    pub(crate) field: Field<T>,
    /// The default as an operator would write it; empty for none.
    pub(crate) default: &'static str,
    /// One line for people.
    pub(crate) doc: &'static str,
}

/// The form of a value together with its setter.
pub(crate) enum Field<T: 'static> {
    /// `schema_version`.
    Version(fn(&mut T, String)),
    /// Text, stripped.
    Text(fn(&mut T, String)),
    /// Text for which a bare number or boolean is taken literally.
    Label(fn(&mut T, String)),
    /// A path, stripped; empty is none.
    Path(fn(&mut T, Option<String>)),
    /// Secret text, kept as it is.
    SecretText(fn(&mut T, String)),
    /// Secret http(s) address.
    SecretUrl(fn(&mut T, String)),
    /// Boolean; the quoted words are taken too.
    Bool(fn(&mut T, bool)),
    /// Duration, zero allowed.
    Duration(fn(&mut T, Duration)),
    /// Duration above zero.
    PositiveDuration(fn(&mut T, Duration)),
    /// Integer from 0 to 2147483647.
    Count(fn(&mut T, u32)),
    /// One of these words.
    Word(&'static [&'static str], fn(&mut T, &str)),
    /// A DNS-1123 label; empty is none.
    DnsLabel(fn(&mut T, Option<String>)),
    /// Lists and free mappings: read by a function of their own, without a variable.
    Node(Special, fn(&mut T, &mut Reader<'_>, &'static str, &Node)),
}

/// What a [`Field::Node`] looks like in the editor schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    /// A list of steps of a phase.
    Steps(crate::model::Phase),
    /// `helm.registries`.
    Registries,
    /// A list of these words.
    Words(&'static [&'static str]),
    /// Text to text.
    TextMap,
    /// `infra_probe.checks`.
    ProbeChecks,
    /// A list of paths.
    Paths,
    /// Any mapping.
    Mapping,
}

/// What happens to a key nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// A warning (S-1.10).
    Warn,
    /// An error (S-1.11).
    Refuse,
}

/// What is wrong with a text value.
pub(crate) struct Fault {
    message: String,
    expected: Option<String>,
    hint: Option<String>,
}

impl Fault {
    fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            expected: None,
            hint: None,
        }
    }

    fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn at(self, at: Option<Position>, secret: bool) -> Diagnostic {
        let mut error = match at {
            Some(at) => Diagnostic::error(at, self.message),
            None => Diagnostic::error_outside(self.message),
        };
        if let Some(expected) = self.expected {
            error = error.expected(expected);
        }
        if let Some(hint) = self.hint {
            error = error.hint(hint);
        }
        if secret { error.concealed() } else { error }
    }
}

impl<T> Field<T> {
    /// Whether the value must not be shown.
    pub(crate) fn is_secret(&self) -> bool {
        matches!(
            self,
            Self::SecretText(_) | Self::SecretUrl(_) | Self::Node(Special::TextMap, _)
        )
    }

    /// Whether an environment variable can set it (S-1.17, S-1.20).
    pub(crate) fn is_scalar(&self) -> bool {
        !matches!(self, Self::Node(..))
    }

    /// Checks a text and sets the value. `name` is how messages call the key; booleans and counts come here from the
    /// environment only.
    pub(crate) fn set_text(&self, target: &mut T, name: &str, text: &str) -> Result<(), Fault> {
        match self {
            Self::Version(set) => {
                if text != "1.0" {
                    return Err(
                        Fault::new(format!("{name} {} is not supported", quoted(text)))
                            .expected("\"1.0\""),
                    );
                }
                set(target, text.to_owned());
            }
            Self::Text(set) | Self::Label(set) => {
                set(target, no_nul(name, text.trim())?.to_owned());
            }
            Self::Path(set) => {
                let path = no_nul(name, text.trim())?;
                set(target, (!path.is_empty()).then(|| path.to_owned()));
            }
            Self::SecretText(set) => set(target, text.to_owned()),
            Self::SecretUrl(set) => {
                let url = text.trim();
                if !url.is_empty() && !is_http_url(url) {
                    return Err(Fault::new(format!("{name} is not an http(s) address"))
                        .expected("https://HOST/PATH"));
                }
                set(target, url.to_owned());
            }
            Self::Bool(set) => match text.to_ascii_lowercase().as_str() {
                "1" | "t" | "true" => set(target, true),
                "0" | "f" | "false" => set(target, false),
                _ => {
                    return Err(Fault::new(format!(
                        "{name} must be a boolean, but {} was read",
                        quoted(text)
                    ))
                    .expected("true or false (1, t, 0 and f are taken too)"));
                }
            },
            Self::Duration(set) => set(target, read_duration(name, text)?),
            Self::PositiveDuration(set) => {
                let value = read_duration(name, text)?;
                if value.is_zero() {
                    return Err(Fault::new(format!("{name} must be longer than zero"))
                        .expected("a duration such as \"30s\""));
                }
                set(target, value);
            }
            Self::Count(set) => set(target, read_count(name, text)?),
            Self::Word(words, set) => match words.iter().find(|word| **word == text) {
                Some(word) => set(target, word),
                None => return Err(word_fault(name, text, words)),
            },
            Self::DnsLabel(set) => {
                let label = text.trim();
                if label.is_empty() {
                    set(target, None);
                } else if let Some(fault) = label_fault(label) {
                    return Err(Fault::new(format!("{name} {} {fault}", quoted(label)))
                        .expected(LABEL_FORM));
                } else {
                    set(target, Some(label.to_owned()));
                }
            }
            Self::Node(..) => {}
        }
        Ok(())
    }
}

pub(crate) const LABEL_FORM: &str =
    "a DNS label: a-z, 0-9 and '-', a letter or digit at both ends, at most 63 characters";
const DURATION_FORM: &str = "a duration such as \"90s\", \"10m\" or \"1h30m\"";

fn no_nul<'t>(name: &str, text: &'t str) -> Result<&'t str, Fault> {
    if text.contains('\0') {
        return Err(Fault::new(format!("{name} holds a NUL character")));
    }
    Ok(text)
}

fn is_http_url(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    let Some(rest) = lower
        .strip_prefix("https://")
        .or_else(|| lower.strip_prefix("http://"))
    else {
        return false;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    !host.is_empty()
        && !host.starts_with(':')
        && !url.chars().any(|c| c.is_whitespace() || c.is_control())
}

pub(crate) fn read_duration(name: &str, text: &str) -> Result<Duration, Fault> {
    duration::parse(text)
        .map_err(|error| Fault::new(format!("{name}: {error}")).expected(DURATION_FORM))
}

fn read_count(name: &str, text: &str) -> Result<u32, Fault> {
    const MAX: i128 = i32::MAX as i128;
    let expected = "an integer from 0 to 2147483647";
    match number::integer(text) {
        Ok(value @ 0..=MAX) => Ok(u32::try_from(value).unwrap_or(u32::MAX)),
        Ok(value) if value < 0 => {
            Err(Fault::new(format!("{name} is negative: {text}")).expected(expected))
        }
        Ok(_) | Err(IntegerFault::TooLarge) => {
            Err(Fault::new(format!("{name} is too large: {text}")).expected(expected))
        }
        Err(IntegerFault::LeadingZero { octal }) => {
            let bare = text.trim_start_matches(['0', '+', '-', '_']);
            let bare = if bare.is_empty() { "0" } else { bare };
            let octal = octal
                .map(|value| format!(", or {value} for the octal one"))
                .unwrap_or_default();
            Err(Fault::new(format!(
                "{name}: {text} is ambiguous because of its leading zero"
            ))
            .expected(expected)
            .hint(format!("write {bare} for the decimal number{octal}")))
        }
        Err(IntegerFault::NotWhole) => Err(Fault::new(format!(
            "{name} must be a whole number, but {text} was read"
        ))
        .expected(expected)),
        Err(IntegerFault::NotANumber) => Err(Fault::new(format!(
            "{name} must be an integer, but {} was read",
            quoted(text)
        ))
        .expected(expected)),
    }
}

pub(crate) fn word_list(words: &[&str]) -> String {
    words
        .iter()
        .map(|word| format!("\"{word}\""))
        .collect::<Vec<_>>()
        .join(", ")
}

fn word_fault(name: &str, text: &str, words: &[&str]) -> Fault {
    let fault = Fault::new(format!("{name} cannot be {}", quoted(text)));
    let fault = fault.expected(match words {
        [one] => format!("\"{one}\""),
        _ => format!("one of {}", word_list(words)),
    });
    let known = || words.iter().copied();
    match same_but_case(text, known()).or_else(|| nearest(text.trim(), known())) {
        Some(word) => fault.hint(format!("write {word}")),
        None => fault,
    }
}

/// The environment variable of a key (S-1.17).
pub(crate) fn variable(path: &str) -> String {
    let mut name = String::from("KZERO_");
    name.extend(path.chars().map(|c| match c {
        '.' | '-' => '_',
        c => c.to_ascii_uppercase(),
    }));
    name
}

/// Collects findings while values are read.
pub(crate) struct Reader<'a> {
    pub(crate) kinds: &'a [KindSpec],
    pub(crate) env: &'a dyn Fn(&str) -> Option<String>,
    pub(crate) errors: Vec<Diagnostic>,
    pub(crate) warnings: Vec<Diagnostic>,
    /// Where keys and sections stand.
    pub(crate) positions: BTreeMap<String, Position>,
    /// Secrets met outside of plain fields.
    pub(crate) secrets: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(kinds: &'a [KindSpec], env: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self {
            kinds,
            env,
            errors: Vec::new(),
            warnings: Vec::new(),
            positions: BTreeMap::new(),
            secrets: Vec::new(),
        }
    }

    pub(crate) fn error(&mut self, error: Diagnostic) {
        if self.errors.len() < MAX_FINDINGS {
            self.errors.push(error);
        }
    }

    pub(crate) fn warn(&mut self, warning: Diagnostic) {
        if self.warnings.len() < MAX_FINDINGS {
            self.warnings.push(warning);
        }
    }

    fn fault(&mut self, at: Position, fault: Fault, secret: bool) {
        self.error(fault.at(Some(at), secret));
    }

    /// The error for a value of another shape; `None` for one that was already reported.
    pub(crate) fn shape(&self, name: &str, wanted: &str, node: &Node) -> Option<Diagnostic> {
        if matches!(node.value, Value::Bad) {
            return None;
        }
        // An address or a password may stand one level too high.
        let secret = name.starts_with("notify") || name.starts_with("helm.registries");
        let found = if secret {
            node.describe_shape().to_owned()
        } else {
            node.describe()
        };
        let error = Diagnostic::error(
            node.at,
            format!("{name} must be {wanted}, but {found} was read"),
        );
        Some(if secret { error.concealed() } else { error })
    }

    /// A text; a bare number or boolean is refused with the advice to quote it (S-1.15).
    pub(crate) fn text<'n>(&mut self, name: &str, node: &'n Node, secret: bool) -> Option<&'n str> {
        let Value::Scalar(scalar) = &node.value else {
            self.not_text(name, node, secret);
            return None;
        };
        if scalar.core() == Core::Text {
            return Some(&scalar.text);
        }
        self.not_text(name, node, secret);
        None
    }

    fn not_text(&mut self, name: &str, node: &Node, secret: bool) {
        let found = if secret {
            node.describe_shape().to_owned()
        } else {
            node.describe()
        };
        if matches!(node.value, Value::Bad) {
            return;
        }
        let mut error = Diagnostic::error(
            node.at,
            format!("{name} must be text, but {found} was read"),
        )
        .expected("text");
        if let Value::Scalar(scalar) = &node.value
            && scalar.core() != Core::Null
        {
            error = error.hint(if secret {
                "put it in quotes".to_owned()
            } else {
                format!("put it in quotes: \"{}\"", scalar.text)
            });
        }
        self.error(if secret { error.concealed() } else { error });
    }

    /// A boolean; `quoted_too` takes the texts `true` and `false` (S-1.7).
    pub(crate) fn boolean(&mut self, name: &str, node: &Node, quoted_too: bool) -> Option<bool> {
        if let Value::Scalar(scalar) = &node.value {
            match (scalar.core(), &*scalar.text) {
                (Core::Bool(value), _) => return Some(value),
                (Core::Text, "true") if quoted_too => return Some(true),
                (Core::Text, "false") if quoted_too => return Some(false),
                _ => {}
            }
        }
        if let Some(error) = self.shape(name, "a boolean", node) {
            let error = error.expected(if quoted_too {
                "true or false"
            } else {
                "true or false, without quotes"
            });
            let hint = match &node.value {
                Value::Scalar(scalar) => match scalar.text.to_ascii_lowercase().as_str() {
                    "yes" | "on" | "y" | "true" => Some("write true"),
                    "no" | "off" | "n" | "false" => Some("write false"),
                    _ => None,
                },
                _ => None,
            };
            self.error(match hint {
                Some(hint) => error.hint(hint),
                None => error,
            });
        }
        None
    }

    /// An integer from 0 to 2147483647 in one of the forms of S-1.27.
    pub(crate) fn count(&mut self, name: &str, node: &Node) -> Option<u32> {
        let expected = "an integer from 0 to 2147483647, without quotes";
        let text = match &node.value {
            Value::Scalar(scalar)
                if scalar.plain && !matches!(scalar.core(), Core::Null | Core::Bool(_)) =>
            {
                &scalar.text
            }
            _ => {
                if let Some(error) = self.shape(name, "an integer", node) {
                    let number = matches!(&node.value, Value::Scalar(scalar) if !scalar.plain && number::integer(&scalar.text).is_ok());
                    let error = error.expected(expected);
                    self.error(if number {
                        error.hint("leave the quotes out")
                    } else {
                        error
                    });
                }
                return None;
            }
        };
        match read_count(name, text) {
            Ok(value) => Some(value),
            Err(fault) => {
                self.fault(node.at, fault, false);
                None
            }
        }
    }

    /// A duration text, or the bare integer 0 (S-1.24).
    pub(crate) fn duration(&mut self, name: &str, node: &Node) -> Option<Duration> {
        let Value::Scalar(scalar) = &node.value else {
            if let Some(error) = self.shape(name, "a duration", node) {
                self.error(error.expected(DURATION_FORM));
            }
            return None;
        };
        let fault = match scalar.core() {
            Core::Int if &*scalar.text == "0" => return Some(Duration::ZERO),
            Core::Text => match read_duration(name, &scalar.text) {
                Ok(value) => return Some(value),
                Err(fault) => fault,
            },
            Core::Int | Core::Float if scalar.text.starts_with('-') => Fault::new(format!(
                "{name}: {}",
                DurationError::Negative(scalar.text.to_string())
            ))
            .expected(DURATION_FORM),
            Core::Int | Core::Float => {
                let error = DurationError::MissingUnit(scalar.text.to_string());
                Fault::new(format!("{name}: the number {error}")).expected(DURATION_FORM)
            }
            Core::Null | Core::Bool(_) => Fault::new(format!(
                "{name} must be a duration, but {} was read",
                node.describe()
            ))
            .expected(DURATION_FORM),
        };
        self.fault(node.at, fault, false);
        None
    }

    /// The items of a list.
    pub(crate) fn list<'n>(
        &mut self,
        name: &str,
        wanted: &str,
        node: &'n Node,
    ) -> Option<&'n [Rc<Node>]> {
        if let Value::List(items) = &node.value {
            return Some(items);
        }
        if let Some(error) = self.shape(name, wanted, node) {
            let hint = match &node.value {
                Value::Scalar(scalar) if scalar.core() == Core::Null => {
                    let key = name.rsplit('.').next().unwrap_or(name);
                    format!("write {key}: [] for none")
                }
                _ => "begin each item with a dash: \"- ITEM\"".to_owned(),
            };
            self.error(error.hint(hint));
        }
        None
    }

    /// The entries of a mapping.
    pub(crate) fn mapping<'n>(&mut self, name: &str, node: &'n Node) -> Option<&'n [Entry]> {
        if let Value::Map(entries) = &node.value {
            return Some(entries);
        }
        if let Some(error) = self.shape(name, "a mapping", node) {
            self.error(error);
        }
        None
    }

    /// A list of words out of a fixed set.
    pub(crate) fn words(
        &mut self,
        name: &str,
        node: &Node,
        words: &'static [&'static str],
    ) -> Option<Vec<&'static str>> {
        let items = self.list(name, "a list", node)?;
        let mut found = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let name = format!("{name}[{index}]");
            let Some(text) = self.text(&name, item, false) else {
                continue;
            };
            match words.iter().find(|word| **word == text) {
                Some(word) if found.contains(word) => {}
                Some(word) => found.push(*word),
                None => self.fault(item.at, word_fault(&name, text, words), false),
            }
        }
        Some(found)
    }

    /// A list of non-empty paths, stripped.
    pub(crate) fn paths(&mut self, name: &str, node: &Node) -> Option<Vec<String>> {
        let items = self.list(name, "a list of paths", node)?;
        let mut paths = Vec::new();
        for (index, item) in items.iter().enumerate() {
            if let Some(path) = self.path(&format!("{name}[{index}]"), item) {
                paths.push(path);
            }
        }
        Some(paths)
    }

    /// A non-empty path or name, stripped.
    pub(crate) fn path(&mut self, name: &str, node: &Node) -> Option<String> {
        let text = self.text(name, node, false)?.trim();
        if text.is_empty() || text.contains('\0') {
            let fault = if text.is_empty() {
                "is empty"
            } else {
                "holds a NUL character"
            };
            self.error(
                Diagnostic::error(node.at, format!("{name} {fault}")).expected("a non-empty text"),
            );
            return None;
        }
        Some(text.to_owned())
    }

    /// Reads a section, or the whole mapping when `prefix` is empty. Sections may be null: nothing is set then.
    pub(crate) fn section<T>(
        &mut self,
        table: &'static [Key<T>],
        prefix: &str,
        node: &Node,
        target: &mut T,
        unknown: Unknown,
    ) {
        if node.is_null() && !prefix.is_empty() {
            return;
        }
        let Some(entries) = self.mapping(
            if prefix.is_empty() {
                "the file"
            } else {
                prefix
            },
            node,
        ) else {
            return;
        };
        for Entry { key, value } in entries {
            let path = if prefix.is_empty() {
                key.text.to_string()
            } else {
                format!("{prefix}.{}", key.text)
            };
            if let Some(row) = table.iter().find(|row| row.path == path) {
                self.positions.insert(path, key.at);
                self.field(row, value, target);
            } else if table.iter().any(|row| below(row.path, &path).is_some()) {
                self.positions.insert(path.clone(), key.at);
                self.section(table, &path, value, target, unknown);
            } else {
                self.unknown(&key.text, key.at, prefix, &children(table, prefix), unknown);
                if prefix.starts_with("notify.") {
                    self.secret_perhaps(value);
                }
            }
        }
    }

    /// Takes the text under a key that is not known for a secret, where a misspelt key may hold one. Short words are left
    /// alone: to mask each `true` would hide more than it protects.
    pub(crate) fn secret_perhaps(&mut self, node: &Node) {
        if let Value::Scalar(scalar) = &node.value
            && scalar.text.len() >= 8
        {
            self.secrets.push(scalar.text.to_string());
        }
    }

    fn field<T>(&mut self, row: &'static Key<T>, node: &Node, target: &mut T) {
        let secret = row.field.is_secret();
        let text = match &row.field {
            // A list whose items are all commented out is as good as absent, except where steps are due.
            Field::Node(special, _) if node.is_null() && !matches!(special, Special::Steps(_)) => {
                self.positions.remove(row.path);
                return;
            }
            Field::Node(_, read) => {
                read(target, self, row.path, node);
                return;
            }
            Field::Bool(set) => {
                if let Some(value) = self.boolean(row.path, node, true) {
                    set(target, value);
                }
                return;
            }
            Field::Count(set) => {
                if let Some(value) = self.count(row.path, node) {
                    set(target, value);
                }
                return;
            }
            Field::Duration(_) | Field::PositiveDuration(_) => {
                // Zero is written 0 or "0"; the text form goes through the checks of the field.
                let Some(value) = self.duration(row.path, node) else {
                    return;
                };
                duration::format(value)
            }
            Field::Version(_) => match self.version(row.path, node) {
                Some(text) => text,
                None => return,
            },
            Field::Label(_) if matches!(&node.value, Value::Scalar(s) if s.core() != Core::Null) => {
                match &node.value {
                    Value::Scalar(scalar) => scalar.text.to_string(),
                    _ => return,
                }
            }
            // A text key without a value is as good as absent.
            _ if node.is_null() => {
                self.positions.remove(row.path);
                return;
            }
            _ => match self.text(row.path, node, secret) {
                Some(text) => text.to_owned(),
                None => return,
            },
        };
        match row.field.set_text(target, row.path, &text) {
            Ok(()) => {
                if secret && !text.is_empty() {
                    self.secrets.push(text);
                }
            }
            Err(fault) => self.fault(node.at, fault, secret),
        }
    }

    fn version(&mut self, name: &str, node: &Node) -> Option<String> {
        if let Value::Scalar(scalar) = &node.value
            && matches!(scalar.core(), Core::Int | Core::Float)
        {
            let error = Diagnostic::error(
                node.at,
                format!(
                    "{name}: the number {} was read, but text is due",
                    scalar.text
                ),
            )
            .expected("\"1.0\" in quotes")
            .hint(format!("write {name}: \"1.0\""));
            self.error(error);
            return None;
        }
        if node.is_null() {
            self.error(
                Diagnostic::error(node.at, format!("{name} has no value"))
                    .expected("\"1.0\" in quotes"),
            );
            return None;
        }
        self.text(name, node, false).map(str::to_owned)
    }

    /// Reports a key that no table knows (S-1.9 to S-1.11).
    pub(crate) fn unknown(
        &mut self,
        key: &str,
        at: Position,
        prefix: &str,
        known: &[&str],
        unknown: Unknown,
    ) {
        if unknown == Unknown::Warn && key.starts_with("x-") {
            return;
        }
        let place = if prefix.is_empty() {
            String::new()
        } else {
            format!(" in {prefix}")
        };
        if let Some(word) = same_but_case(key, known.iter().copied()) {
            self.error(
                Diagnostic::error(at, format!("unknown key {}{place}", quoted(key)))
                    .expected(format!("\"{word}\"; keys are case-sensitive"))
                    .hint(format!("did you mean \"{word}\"?")),
            );
            return;
        }
        if unknown == Unknown::Warn && prefix == "run" && key == "worker_concurrency" {
            self.warn(
                Diagnostic::warning(at, "unknown key \"run.worker_concurrency\": parallel steps do not exist any more, steps run one after another")
                    .hint("remove the key"),
            );
            return;
        }
        let near = nearest(key, known.iter().copied());
        let message = format!("unknown key {}{place}", quoted(key));
        let finding = match unknown {
            Unknown::Warn => Diagnostic::warning(at, message),
            Unknown::Refuse => {
                Diagnostic::error(at, message).expected(format!("one of {}", known.join(", ")))
            }
        };
        let finding = match near {
            Some(word) => finding.hint(format!("did you mean \"{word}\"?")),
            None => finding,
        };
        match unknown {
            Unknown::Warn => self.warn(finding),
            Unknown::Refuse => self.error(finding),
        }
    }

    /// Applies the environment to the scalar keys (S-1.17, S-1.18). Returns the keys that were set, with variables.
    pub(crate) fn environment<T>(
        &mut self,
        table: &'static [Key<T>],
        target: &mut T,
    ) -> Vec<(&'static Key<T>, String)> {
        let mut set = Vec::new();
        for row in table.iter().filter(|row| row.field.is_scalar()) {
            let variable = variable(row.path);
            let Some(text) = (self.env)(&variable).filter(|text| !text.is_empty()) else {
                continue;
            };
            let secret = row.field.is_secret();
            match row
                .field
                .set_text(target, &format!("{variable}: {}", row.path), &text)
            {
                Ok(()) => {
                    if secret {
                        self.secrets.push(text);
                    }
                    set.push((row, variable));
                }
                Err(fault) => self.error(fault.at(None, secret)),
            }
        }
        set
    }
}

/// Sets every default of a table. Defaults are checked by a test, so a fault here cannot be the operator's.
pub(crate) fn defaults<T>(table: &'static [Key<T>], target: &mut T) {
    for row in table.iter().filter(|row| !row.default.is_empty()) {
        let applied = row.field.set_text(target, row.path, row.default);
        debug_assert!(applied.is_ok(), "default of {}", row.path);
    }
}

/// What of `path` lies below `prefix`: `api_watchdog.enabled` for `run.api_watchdog.enabled` below `run`.
pub(crate) fn below<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    if prefix.is_empty() {
        return Some(path);
    }
    path.strip_prefix(prefix)?.strip_prefix('.')
}

/// The keys directly below `prefix`, in the order of the table.
pub(crate) fn children<T>(table: &[Key<T>], prefix: &str) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for row in table {
        if let Some(rest) = below(row.path, prefix) {
            let name = rest.split('.').next().unwrap_or(rest);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// A node as JSON by the core schema. Reports numbers that JSON or the reader cannot hold.
pub(crate) fn json(reader: &mut Reader<'_>, node: &Node) -> Json {
    match &node.value {
        Value::Bad => Json::Null,
        Value::List(items) => Json::Array(items.iter().map(|item| json(reader, item)).collect()),
        Value::Map(entries) => Json::Object(
            entries
                .iter()
                .map(|entry| (entry.key.text.to_string(), json(reader, &entry.value)))
                .collect(),
        ),
        Value::Scalar(scalar) => match scalar.core() {
            Core::Null => Json::Null,
            Core::Bool(value) => Json::Bool(value),
            Core::Text => Json::String(scalar.text.to_string()),
            Core::Int | Core::Float => match number::json(&scalar.text) {
                Ok(value) => value,
                Err(IntegerFault::LeadingZero { octal }) => {
                    let octal = octal
                        .map(|value| format!("{value} for the octal number, "))
                        .unwrap_or_default();
                    reader.error(
                        Diagnostic::error(
                            node.at,
                            format!(
                                "the number {} is ambiguous because of its leading zero",
                                scalar.text
                            ),
                        )
                        .expected("a number without leading zeros")
                        .hint(format!(
                            "write {octal}or put the text in quotes: \"{}\"",
                            scalar.text
                        )),
                    );
                    Json::Null
                }
                Err(_) => {
                    reader.error(
                        Diagnostic::error(
                            node.at,
                            format!("the number {} has no form in JSON", scalar.text),
                        )
                        .expected("a finite number")
                        .hint(format!("put the text in quotes: \"{}\"", scalar.text)),
                    );
                    Json::Null
                }
            },
        },
    }
}

#[cfg(test)]
mod tests {
    use crate::keys::KEYS;
    use crate::model::Profile;
    use crate::{Source, manifest};

    use super::*;

    #[test]
    fn every_default_of_the_table_is_valid() {
        let mut profile = Profile::blank(Source::new("x", ""));
        for row in KEYS.iter().filter(|row| !row.default.is_empty()) {
            let set = row.field.set_text(&mut profile, row.path, row.default);
            assert!(set.is_ok(), "{}", row.path);
        }
    }

    #[test]
    fn no_key_is_also_a_section() {
        let paths = KEYS.iter().map(|row| row.path).collect::<Vec<_>>();
        let manifest_paths = manifest::KEYS
            .iter()
            .map(|row| row.path)
            .collect::<Vec<_>>();
        for table in [paths, manifest_paths] {
            for (index, path) in table.iter().enumerate() {
                assert!(
                    !table.iter().any(|other| below(other, path).is_some()),
                    "{path}"
                );
                assert!(!table[index + 1..].contains(path), "{path} stands twice");
            }
        }
    }

    #[test]
    fn variables_are_distinct() {
        // S-1.17
        assert_eq!(
            variable("run.api_watchdog.fail_after"),
            "KZERO_RUN_API_WATCHDOG_FAIL_AFTER"
        );
        assert_eq!(variable("hooks.pre-down"), "KZERO_HOOKS_PRE_DOWN");
        let mut names: Vec<_> = KEYS.iter().map(|row| variable(row.path)).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
