//! Text to values.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use base64::Engine;
use serde_json::{Map, Number, Value};

use super::input::Input;
use super::lines::values::plain;
use super::number::{key_float, text_float};
use super::parse::{Event, Parser};
use super::resolve::{Resolved, resolve};
use super::scan::SyntaxError;
use super::shown::{Shown, ShownKey};

/// Nesting beyond this is refused: the values are walked recursively.
const MAX_DEPTH: usize = 500;
/// Nodes after the expansion of aliases. Helm's own guard is a ratio; a plain bound says the
/// same to every honest chart and is reached in well under a second.
pub(super) const MAX_NODES: usize = 4_000_000;

/// A text that is no YAML, or none that JSON can carry.
///
/// The message is that of Helm behind `error converting YAML to JSON: `.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DecodeError {
    message: String,
}

impl DecodeError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// Reads the first document of a text. An empty text is null.
///
/// Numbers come out as Helm's values hold them after their way through JSON: as doubles.
///
/// # Errors
///
/// Broken YAML with Helm's own words and line, keys and numbers that JSON cannot carry, and
/// texts beyond the bounds of this reader.
pub fn decode(text: &str) -> Result<Value, DecodeError> {
    decode_bytes(text.as_bytes())
}

/// The same for bytes: UTF-8 with or without a byte order mark, or UTF-16 with one.
///
/// # Errors
///
/// As [`decode`].
pub fn decode_bytes(bytes: &[u8]) -> Result<Value, DecodeError> {
    decode_for(bytes, &Target::Any, &mut { MAX_NODES })
}

/// Reads the first document of a text as the API server's clients read manifests: whole numbers stay exact, and a double
/// without a fraction is a whole number.
///
/// # Errors
///
/// As [`decode`].
pub fn decode_object(text: &str) -> Result<Value, DecodeError> {
    decode_for(text.as_bytes(), &Target::Exact, &mut { MAX_NODES })
}

/// What a value is read for. Where a text is wanted, numbers and booleans become texts before
/// they go through JSON, so that `1` stays `1` and `1.10` becomes `1.1`.
#[derive(Debug)]
pub(crate) enum Target {
    /// Whatever is there.
    Any,
    /// Whatever is there, with whole numbers as they are.
    Exact,
    /// Nothing: what is there need only be right.
    Nothing,
    /// A text.
    Text,
    /// A list of such items.
    List(&'static Target),
    /// A map to such values.
    Map(&'static Target),
    /// Fields by name.
    Fields(&'static [(&'static str, Target)]),
}

impl Target {
    /// What the value of a key is read for: of the field of that name, else of one that differs in case.
    fn of_key(&'static self, key: &str) -> &'static Self {
        match self {
            Self::Map(item) => item,
            Self::Exact | Self::Nothing => self,
            Self::Fields(fields) => {
                let exact = fields.iter().find(|(name, _)| *name == key);
                let found =
                    exact.or_else(|| fields.iter().find(|(name, _)| folded(name) == folded(key)));
                found.map_or(&Self::Nothing, |(_, target)| target)
            }
            _ => &Self::Any,
        }
    }

    fn of_item(&'static self) -> &'static Self {
        match self {
            Self::List(item) => item,
            Self::Exact | Self::Nothing => self,
            _ => &Self::Any,
        }
    }
}

/// A name of a field without its case, as Go compares them.
pub(crate) fn folded(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            '\u{17f}' => 's',
            '\u{212a}' => 'k',
            _ => c.to_ascii_lowercase(),
        })
        .collect()
}

/// The same for values of a known shape, with a bound on nodes, from which those of the value are taken.
pub(crate) fn decode_for(
    bytes: &[u8],
    target: &'static Target,
    bound: &mut usize,
) -> Result<Value, DecodeError> {
    if matches!(target, Target::Any)
        && let Some(value) = plain(bytes, bound)
    {
        return Ok(value);
    }
    in_full(bytes, target, bound)
}

/// The same by the full reader.
pub(super) fn in_full(
    bytes: &[u8],
    target: &'static Target,
    bound: &mut usize,
) -> Result<Value, DecodeError> {
    let input = Input::new(bytes);
    let mut reader = Reader {
        parser: Parser::new(&input),
        anchors: HashMap::new(),
        anchored: Vec::new(),
        nodes: *bound,
    };
    let Some(root) = reader.document()? else {
        return Ok(Value::Null);
    };
    let mut values = Values {
        anchored: &reader.anchored,
        open: vec![false; reader.anchored.len()],
        budget: *bound,
        depth: 0,
    };
    match values.value(&root, target)? {
        (value, None) => {
            *bound = values.budget;
            Ok(value)
        }
        (_, Some(Late::Number(error))) => Err(error),
        (_, Some(Late::Key { kind, shown, item })) => {
            (values.budget, values.depth) = (MAX_NODES, 0);
            let item = values.shown(item)?;
            Err(DecodeError::new(format!(
                "unsupported map key of type: {kind}, key: {shown}, value: {item}"
            )))
        }
    }
}

impl From<SyntaxError> for DecodeError {
    fn from(error: SyntaxError) -> Self {
        let SyntaxError { problem, line } = error;
        Self::new(match line {
            0 => format!("yaml: {problem}"),
            line => format!("yaml: line {line}: {problem}"),
        })
    }
}

/// A composed node.
#[derive(Debug)]
enum Node<'a> {
    Scalar {
        tag: Option<Cow<'a, str>>,
        text: Cow<'a, str>,
        plain: bool,
    },
    Sequence(Vec<Node<'a>>),
    Mapping(Vec<(Node<'a>, Node<'a>)>),
    /// A node with an anchor, by its number.
    Anchored(usize),
    /// The name of an anchor where it is referred to, and the number of its node.
    Alias(&'a str, usize),
}

struct Reader<'a> {
    parser: Parser<'a>,
    /// Numbers of anchors by name: of equal names the last one begun.
    anchors: HashMap<&'a str, usize>,
    /// Nodes with an anchor; none while they are being read.
    anchored: Vec<Option<Node<'a>>>,
    /// Nodes that may still be read.
    nodes: usize,
}

impl<'a> Reader<'a> {
    fn document(&mut self) -> Result<Option<Node<'a>>, DecodeError> {
        loop {
            match self.parser.next()? {
                Event::StreamStart => {}
                Event::DocumentStart => {
                    let event = self.parser.next()?;
                    let root = self.node(event, 0)?;
                    // What follows the root on its line may be an error; further documents are
                    // not looked at.
                    self.parser.next()?;
                    return Ok(Some(root));
                }
                _ => return Ok(None),
            }
        }
    }

    fn node(&mut self, event: Event<'a>, depth: usize) -> Result<Node<'a>, DecodeError> {
        if depth > MAX_DEPTH || self.nodes == 0 {
            return Err(too_deep());
        }
        self.nodes -= 1;
        let (number, node) = match event {
            Event::Alias(name) => {
                return match self.anchors.get(name) {
                    Some(number) => Ok(Node::Alias(name, *number)),
                    None => Err(DecodeError::new(format!(
                        "yaml: unknown anchor '{name}' referenced"
                    ))),
                };
            }
            Event::Scalar {
                anchor,
                tag,
                text,
                plain,
            } => (self.open(anchor), Node::Scalar { tag, text, plain }),
            Event::SequenceStart { anchor } => {
                let number = self.open(anchor);
                let mut items = Vec::new();
                loop {
                    match self.parser.next()? {
                        Event::SequenceEnd => break,
                        event => items.push(self.node(event, depth + 1)?),
                    }
                }
                (number, Node::Sequence(items))
            }
            Event::MappingStart { anchor } => {
                let number = self.open(anchor);
                let mut entries = Vec::new();
                loop {
                    let key = match self.parser.next()? {
                        Event::MappingEnd => break,
                        event => self.node(event, depth + 1)?,
                    };
                    let event = self.parser.next()?;
                    entries.push((key, self.node(event, depth + 1)?));
                }
                (number, Node::Mapping(entries))
            }
            _ => return Err(DecodeError::new("yaml: unexpected event")),
        };
        let Some(number) = number else {
            return Ok(node);
        };
        if let Some(place) = self.anchored.get_mut(number) {
            *place = Some(node);
        }
        Ok(Node::Anchored(number))
    }

    /// The number of a new anchor.
    fn open(&mut self, anchor: Option<&'a str>) -> Option<usize> {
        let anchor = anchor?;
        let number = self.anchored.len();
        self.anchored.push(None);
        self.anchors.insert(anchor, number);
        Some(number)
    }
}

fn too_deep() -> DecodeError {
    DecodeError::new("yaml: exceeded max depth or size")
}

/// What JSON cannot carry. Helm sees that after all of the YAML is read, keys before numbers, so
/// an error of the YAML itself goes before it, and one entry may be replaced by another of its key.
enum Late<'r> {
    Key {
        /// Go's words.
        kind: &'static str,
        shown: Shown,
        item: &'r Node<'r>,
    },
    Number(DecodeError),
}

/// Keeps the error that is seen first.
fn keep<'r>(late: &mut Option<Late<'r>>, other: Option<Late<'r>>) {
    let goes_first = match (&late, &other) {
        (None, Some(_)) | (Some(Late::Number(_)), Some(Late::Key { .. })) => true,
        (_, None) | (Some(_), Some(_)) => false,
    };
    if goes_first {
        *late = other;
    }
}

/// Nodes to values.
struct Values<'r> {
    anchored: &'r [Option<Node<'r>>],
    /// Nodes with an anchor that are being walked, by number.
    open: Vec<bool>,
    /// Nodes that may still be walked.
    budget: usize,
    depth: usize,
}

/// The entries of a mapping and what JSON cannot carry of them.
#[derive(Default)]
struct Entries<'r> {
    map: Map<String, Value>,
    /// By key, in the order in which JSON is written.
    late: BTreeMap<String, Late<'r>>,
    /// Of keys that are left out.
    late_keys: BTreeMap<ShownKey, Late<'r>>,
}

impl<'r> Values<'r> {
    fn value(
        &mut self,
        node: &'r Node<'r>,
        target: &'static Target,
    ) -> Result<(Value, Option<Late<'r>>), DecodeError> {
        if matches!(target, Target::Nothing) {
            let (budget, depth) = (self.budget, self.depth);
            if self.is_simple(node)? {
                return Ok((Value::Null, None));
            }
            (self.budget, self.depth) = (budget, depth);
            return self.value(node, &Target::Any);
        }
        self.enter()?;
        let found = match node {
            Node::Scalar { tag, text, plain } => {
                self.copy(text)?;
                match scalar(tag.as_deref(), text, *plain)?.into_value(target) {
                    Ok(value) => (value, None),
                    Err(error) => (Value::Null, Some(Late::Number(error))),
                }
            }
            Node::Sequence(items) => {
                let mut list = Vec::with_capacity(items.len());
                let mut late = None;
                for item in items {
                    let (value, item_late) = self.value(item, target.of_item())?;
                    list.push(value);
                    keep(&mut late, item_late);
                }
                (Value::Array(list), late)
            }
            Node::Mapping(entries) => {
                let mut found = Entries::default();
                self.mapping(entries, target, &mut found)?;
                let mut late = None;
                let keys = found.late_keys.into_values();
                for other in keys.chain(found.late.into_values()) {
                    keep(&mut late, Some(other));
                }
                (Value::Object(found.map), late)
            }
            Node::Anchored(_) | Node::Alias(..) => {
                self.shared(node, |values, node| values.value(node, target))?
            }
        };
        self.leave();
        Ok(found)
    }

    /// Whether a node is nothing but lists, mappings and scalars of which a glance tells that JSON can carry them. Most
    /// are; they count as much as if their values were made.
    fn is_simple(&mut self, node: &'r Node<'r>) -> Result<bool, DecodeError> {
        self.enter()?;
        let simple = match node {
            Node::Scalar { text, plain, .. } => {
                self.copy(text)?;
                let is_finite = || match resolve(text) {
                    Resolved::Float(value) => value.is_finite(),
                    _ => true,
                };
                is_untagged(node) && (!plain || is_finite())
            }
            Node::Sequence(items) => {
                for item in items {
                    if !self.is_simple(item)? {
                        return Ok(false);
                    }
                }
                true
            }
            Node::Mapping(entries) => {
                for (key, item) in entries {
                    let Some(text) = simple_key(key) else {
                        return Ok(false);
                    };
                    self.copy(text)?;
                    if !self.is_simple(item)? {
                        return Ok(false);
                    }
                }
                true
            }
            Node::Anchored(_) | Node::Alias(..) => false,
        };
        self.leave();
        Ok(simple)
    }

    /// Counts a node, and one level until [`Self::leave`]. Aliases nest deeper than the text does.
    fn enter(&mut self) -> Result<(), DecodeError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep());
        }
        self.spend(1)
    }

    /// Counts the memory of a text as that of nodes: few aliases of a long one are as bad as many of a short one.
    fn copy(&mut self, text: &str) -> Result<(), DecodeError> {
        self.spend(text.len() / 32)
    }

    fn spend(&mut self, nodes: usize) -> Result<(), DecodeError> {
        self.budget = self
            .budget
            .checked_sub(nodes)
            .ok_or_else(|| DecodeError::new("yaml: document contains excessive aliasing"))?;
        Ok(())
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Walks the node behind an anchor or an alias, which may not be inside itself.
    fn shared<T>(
        &mut self,
        node: &'r Node<'r>,
        walk: impl FnOnce(&mut Self, &'r Node<'r>) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let (number, name) = match node {
            Node::Anchored(number) => (*number, ""),
            Node::Alias(name, number) => (*number, *name),
            _ => return walk(self, node),
        };
        let (Some(Some(target)), Some(open)) =
            (self.anchored.get(number), self.open.get_mut(number))
        else {
            return Err(DecodeError::new("yaml: unexpected event"));
        };
        if *open {
            return Err(DecodeError::new(format!(
                "yaml: anchor '{name}' value contains itself"
            )));
        }
        *open = true;
        let walked = walk(self, target);
        if let Some(open) = self.open.get_mut(number) {
            *open = false;
        }
        walked
    }

    /// The node behind anchors and aliases.
    fn target(&self, node: &'r Node<'r>) -> &'r Node<'r> {
        match node {
            Node::Anchored(number) | Node::Alias(_, number) => {
                match self.anchored.get(*number) {
                    // What has an anchor is neither an alias nor has it another anchor.
                    Some(Some(target)) => target,
                    _ => node,
                }
            }
            _ => node,
        }
    }

    /// Fills a map entry by entry, so that of equal keys the last wins, and what a merge brings
    /// wins over what stood before it.
    fn mapping(
        &mut self,
        entries: &'r [(Node<'r>, Node<'r>)],
        target: &'static Target,
        found: &mut Entries<'r>,
    ) -> Result<(), DecodeError> {
        for (key, item) in entries {
            if self.is_merge(key) {
                self.merge(item, &mut |values, entries| {
                    values.mapping(entries, target, found)
                })?;
                continue;
            }
            let key = self.key(key)?;
            let target = match &key {
                Key::Text(key) => {
                    self.copy(key)?;
                    target.of_key(key)
                }
                Key::Unsupported { .. } => &Target::Any,
            };
            let (value, late) = self.value(item, target)?;
            let key = match key {
                Key::Text(key) => key,
                Key::Unsupported { kind, shown } => {
                    let key = ShownKey(shown.clone());
                    let late = Late::Key { kind, shown, item };
                    found.late_keys.insert(key, late);
                    continue;
                }
            };
            match late {
                Some(late) => {
                    found.late.insert(key.clone(), late);
                }
                None => {
                    found.late.remove(&key);
                }
            }
            found.map.insert(key, value);
        }
        Ok(())
    }

    fn is_merge(&self, key: &'r Node<'r>) -> bool {
        // An alias of `<<` is a key like another.
        let key = match key {
            Node::Alias(..) => return false,
            _ => self.target(key),
        };
        match key {
            Node::Scalar { tag, text, plain } => {
                text == "<<"
                    && match tag.as_deref() {
                        None => *plain,
                        Some(tag) => tag == "!" || tag == MERGE_TAG,
                    }
            }
            _ => false,
        }
    }

    /// Walks what a merge brings, mapping by mapping.
    fn merge(
        &mut self,
        node: &'r Node<'r>,
        fill: &mut impl FnMut(&mut Self, &'r [(Node<'r>, Node<'r>)]) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        match (node, self.target(node)) {
            // Of several sources the earlier ones win, so they come last.
            (Node::Sequence(_) | Node::Anchored(_), Node::Sequence(items)) => {
                for item in items.iter().rev() {
                    self.merge_one(item, fill)?;
                }
                Ok(())
            }
            _ => self.merge_one(node, fill),
        }
    }

    fn merge_one(
        &mut self,
        node: &'r Node<'r>,
        fill: &mut impl FnMut(&mut Self, &'r [(Node<'r>, Node<'r>)]) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        if !matches!(self.target(node), Node::Mapping(_)) {
            return Err(DecodeError::new(
                "yaml: map merge requires map or sequence of maps as the value",
            ));
        }
        self.enter()?;
        self.shared(node, |values, target| match target {
            Node::Mapping(entries) => fill(values, entries),
            _ => Ok(()),
        })?;
        self.leave();
        Ok(())
    }

    /// A key as JSON text.
    fn key(&mut self, key: &'r Node<'r>) -> Result<Key, DecodeError> {
        let Node::Scalar { tag, text, plain } = self.target(key) else {
            let shown = self.shown(key)?;
            return Err(DecodeError::new(format!("yaml: invalid map key: {shown}")));
        };
        Ok(match scalar(tag.as_deref(), text, *plain)? {
            Plain::Text(text) => Key::Text(text),
            Plain::Resolved(Resolved::Bool(value)) => Key::Text(value.to_string()),
            Plain::Resolved(Resolved::Int(value)) => Key::Text(value.to_string()),
            Plain::Resolved(Resolved::Uint(value)) => Key::Unsupported {
                kind: "uint64",
                shown: Shown::Uint(value),
            },
            Plain::Resolved(Resolved::Float(value)) => Key::Text(key_float(value)),
            Plain::Resolved(_) => Key::Unsupported {
                kind: "%!s(<nil>)",
                shown: Shown::Null,
            },
        })
    }

    /// Fills a table as [`Self::mapping`] does, of what an error text shows.
    fn shown_entries(
        &mut self,
        entries: &'r [(Node<'r>, Node<'r>)],
        table: &mut BTreeMap<ShownKey, Shown>,
    ) -> Result<(), DecodeError> {
        for (key, item) in entries {
            if self.is_merge(key) {
                self.merge(item, &mut |values, entries| {
                    values.shown_entries(entries, table)
                })?;
                continue;
            }
            let key = match self.shown(key)? {
                shown @ (Shown::List(_) | Shown::Table(_)) => {
                    return Err(DecodeError::new(format!("yaml: invalid map key: {shown}")));
                }
                shown => ShownKey(shown),
            };
            let item = self.shown(item)?;
            table.insert(key, item);
        }
        Ok(())
    }

    /// A node as an error text shows it.
    fn shown(&mut self, node: &'r Node<'r>) -> Result<Shown, DecodeError> {
        self.enter()?;
        let shown = match node {
            Node::Scalar { tag, text, plain } => {
                self.copy(text)?;
                scalar(tag.as_deref(), text, *plain)?.into_shown()
            }
            Node::Sequence(items) => Shown::List(
                items
                    .iter()
                    .map(|item| self.shown(item))
                    .collect::<Result<_, _>>()?,
            ),
            Node::Mapping(entries) => {
                let mut table = BTreeMap::new();
                self.shown_entries(entries, &mut table)?;
                Shown::Table(table)
            }
            Node::Anchored(_) | Node::Alias(..) => self.shared(node, Self::shown)?,
        };
        self.leave();
        Ok(shown)
    }
}

/// A key on its way to JSON.
enum Key {
    Text(String),
    Unsupported { kind: &'static str, shown: Shown },
}

fn is_untagged(node: &Node<'_>) -> bool {
    matches!(node, Node::Scalar { tag: None, .. })
}

/// The text of a key that is a text and no merge.
fn simple_key<'n>(key: &'n Node<'_>) -> Option<&'n str> {
    let Node::Scalar { text, plain, .. } = key else {
        return None;
    };
    let is_text = || matches!(resolve(text), Resolved::String | Resolved::Timestamp);
    let simple = is_untagged(key) && (!plain || (text != "<<" && is_text()));
    simple.then_some(text)
}

const MERGE_TAG: &str = "tag:yaml.org,2002:merge";

/// A scalar before it goes through JSON.
pub(super) enum Plain {
    Text(String),
    Resolved(Resolved),
}

impl Plain {
    fn into_shown(self) -> Shown {
        match self {
            Self::Text(text) => Shown::Text(text),
            Self::Resolved(Resolved::Bool(value)) => Shown::Bool(value),
            Self::Resolved(Resolved::Int(value)) => Shown::Int(value),
            Self::Resolved(Resolved::Uint(value)) => Shown::Uint(value),
            Self::Resolved(Resolved::Float(value)) => Shown::Float(value),
            Self::Resolved(Resolved::Null | Resolved::Timestamp | Resolved::String) => Shown::Null,
        }
    }

    pub(super) fn into_value(self, target: &Target) -> Result<Value, DecodeError> {
        if let (Target::Text, Self::Resolved(found)) = (target, &self) {
            let text = match found {
                Resolved::Bool(value) => Some(value.to_string()),
                Resolved::Int(value) => Some(value.to_string()),
                Resolved::Uint(value) => Some(value.to_string()),
                Resolved::Float(value) => Some(text_float(*value)),
                Resolved::Null | Resolved::Timestamp | Resolved::String => None,
            };
            if let Some(text) = text {
                return Ok(Value::String(text));
            }
        }
        if let (Target::Exact, Self::Resolved(found)) = (target, &self)
            && let Some(whole) = found.whole()
        {
            return Ok(Value::Number(whole));
        }
        let float = |value: f64| {
            // What JSON cannot carry is an error in Go's words.
            Number::from_f64(value).map(Value::Number).ok_or_else(|| {
                let shown = if value.is_nan() {
                    "NaN"
                } else if value > 0.0 {
                    "+Inf"
                } else {
                    "-Inf"
                };
                DecodeError::new(format!("json: unsupported value: {shown}"))
            })
        };
        match self {
            Self::Text(text) => Ok(Value::String(text)),
            Self::Resolved(Resolved::Null) => Ok(Value::Null),
            Self::Resolved(Resolved::Bool(value)) => Ok(Value::Bool(value)),
            #[expect(
                clippy::cast_precision_loss,
                reason = "JSON numbers are doubles to Helm"
            )]
            Self::Resolved(Resolved::Int(value)) => float(value as f64),
            #[expect(
                clippy::cast_precision_loss,
                reason = "JSON numbers are doubles to Helm"
            )]
            Self::Resolved(Resolved::Uint(value)) => float(value as f64),
            Self::Resolved(Resolved::Float(value)) => float(value),
            Self::Resolved(Resolved::Timestamp | Resolved::String) => Ok(Value::Null),
        }
    }
}

pub(super) fn scalar(tag: Option<&str>, text: &str, plain: bool) -> Result<Plain, DecodeError> {
    let as_text = || Ok(Plain::Text(text.to_owned()));
    let short = tag.and_then(|tag| tag.strip_prefix("tag:yaml.org,2002:"));
    match (tag, short) {
        (None, _) if !plain => as_text(),
        (None, _) => match resolve(text) {
            Resolved::Timestamp | Resolved::String => as_text(),
            other => Ok(Plain::Resolved(other)),
        },
        (Some("!"), _) | (_, Some("str")) => as_text(),
        (_, Some("binary")) => {
            let compact: String = text.chars().filter(|c| *c != '\n' && *c != '\r').collect();
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(compact)
                .map_err(|_| {
                    DecodeError::new("yaml: !!binary value contains invalid base64 data")
                })?;
            // JSON text holds U+FFFD where bytes are no UTF-8.
            Ok(Plain::Text(String::from_utf8_lossy(&bytes).into_owned()))
        }
        (_, Some(name @ ("int" | "float" | "bool" | "null" | "timestamp"))) => {
            let found = resolve(text);
            let fits = match (&found, name) {
                (Resolved::Null, "null")
                | (Resolved::Bool(_), "bool")
                | (Resolved::Int(_) | Resolved::Uint(_), "int")
                | (Resolved::Float(_), "float")
                | (Resolved::Timestamp, "timestamp") => true,
                #[expect(clippy::cast_precision_loss, reason = "a float is asked for")]
                (Resolved::Int(value), "float") => {
                    return Ok(Plain::Resolved(Resolved::Float(*value as f64)));
                }
                _ => false,
            };
            if !fits {
                let kind = match found {
                    Resolved::Null => "!!null",
                    Resolved::Bool(_) => "!!bool",
                    Resolved::Int(_) | Resolved::Uint(_) => "!!int",
                    Resolved::Float(_) => "!!float",
                    Resolved::Timestamp | Resolved::String => "!!str",
                };
                return Err(DecodeError::new(format!(
                    "yaml: cannot decode {kind} `{text}` as a !!{name}"
                )));
            }
            match found {
                Resolved::Timestamp => as_text(),
                other => Ok(Plain::Resolved(other)),
            }
        }
        _ => as_text(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{decode, decode_object};

    #[test]
    fn manifests_keep_whole_numbers_and_values_do_not() {
        let text =
            "a: 12345678901234567\nb: 1e3\nc: 0.5\nd: 18446744073709551615\ne: [010, yes, \"1\"]\n";
        assert_eq!(
            decode_object(text).unwrap(),
            json!({"a": 12345678901234567i64, "b": 1000, "c": 0.5, "d": 18446744073709551615.0, "e": [8, true, "1"]})
        );
        assert_eq!(decode("a: 1").unwrap(), json!({"a": 1.0}));
    }
}
