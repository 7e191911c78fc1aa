//! YAML text into a tree of nodes with places (S-1.4 to S-1.8).
//!
//! The parser below gives events; this module composes them: anchors and aliases (shared, never copied), `<<` merges,
//! duplicate keys with both lines, and bounds that hold for what the aliases stand for, not only for what is written.
//! Typed reading is done elsewhere; nodes that were already reported as broken are [`Value::Bad`] and stay silent there.

use std::collections::HashMap;
use std::rc::Rc;

use granit_parser::{ErrorKind, Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag};

use crate::diagnostic::{Diagnostic, Position, Source};

/// The largest file that is read, in bytes (S-1.6).
pub const MAX_FILE_BYTES: usize = 1024 * 1024;
/// The most nodes after expansion of aliases (S-1.6).
pub const MAX_NODES: usize = 100_000;
/// The deepest nesting after expansion of aliases (S-1.6).
pub const MAX_DEPTH: usize = 100;
/// The most bytes of text after expansion: without it few nodes of long text could still fill the memory.
const MAX_EXPANDED_BYTES: usize = 8 * 1024 * 1024;
/// Findings beyond this are not collected: nobody reads them and each costs memory.
pub(crate) const MAX_FINDINGS: usize = 1000;

/// One node of the tree.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) value: Value,
    size: Size,
}

/// What a node costs once all aliases below it are written out.
#[derive(Debug, Clone, Copy)]
struct Size {
    nodes: usize,
    bytes: usize,
    depth: usize,
}

#[derive(Debug)]
pub(crate) enum Value {
    Scalar(Scalar),
    List(Vec<Rc<Node>>),
    Map(Vec<Entry>),
    /// Already reported.
    Bad,
}

/// A scalar as written: text after unescaping, and whether its form makes it text whatever it looks like.
#[derive(Debug)]
pub(crate) struct Scalar {
    pub(crate) text: Rc<str>,
    /// Plain, hence subject to the core schema.
    pub(crate) plain: bool,
}

/// One key with its value.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: Key,
    pub(crate) value: Rc<Node>,
}

#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub(crate) text: Rc<str>,
    pub(crate) at: Position,
}

/// What a plain scalar is by the YAML 1.2 core schema.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Core {
    Null,
    Bool(bool),
    Int,
    Float,
    Text,
}

impl Scalar {
    pub(crate) fn core(&self) -> Core {
        if self.plain {
            core(&self.text)
        } else {
            Core::Text
        }
    }
}

impl Node {
    /// Whether this is an empty, `~` or `null` scalar.
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(scalar) if scalar.core() == Core::Null)
    }

    /// The node in words, for `… was read`.
    pub(crate) fn describe(&self) -> String {
        match &self.value {
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a mapping".to_owned(),
            Value::Bad => "something unreadable".to_owned(),
            Value::Scalar(scalar) => match scalar.core() {
                Core::Null => "nothing".to_owned(),
                Core::Bool(_) => format!("the boolean {}", scalar.text),
                Core::Int | Core::Float => format!("the number {}", scalar.text),
                Core::Text => format!("the text {}", quoted(&scalar.text)),
            },
        }
    }

    /// The node in words that do not show its content.
    pub(crate) fn describe_shape(&self) -> &'static str {
        match &self.value {
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
            Value::Bad => "something unreadable",
            Value::Scalar(scalar) => match scalar.core() {
                Core::Null => "nothing",
                Core::Bool(_) => "a boolean",
                Core::Int | Core::Float => "a number",
                Core::Text => "text",
            },
        }
    }
}

/// A text in quotes as it may stand in a message: escaped, and cut when long.
pub(crate) fn quoted(text: &str) -> String {
    const MAX: usize = 80;
    let mut out = String::from("\"");
    for (count, c) in text.chars().enumerate() {
        if count == MAX {
            out.push('…');
            break;
        }
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.extend(c.escape_debug()),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The type of a plain scalar (YAML 1.2, section 10.3.2): `yes`, `on` and the like are text.
pub(crate) fn core(text: &str) -> Core {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Core::Null,
        "true" | "True" | "TRUE" => return Core::Bool(true),
        "false" | "False" | "FALSE" => return Core::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return Core::Float,
        _ => {}
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return if all(digits, |c| matches!(c, '0'..='7')) {
            Core::Int
        } else {
            Core::Text
        };
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return if all(digits, |c| c.is_ascii_hexdigit()) {
            Core::Int
        } else {
            Core::Text
        };
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return Core::Float;
    }
    if all(unsigned, |c| c.is_ascii_digit()) {
        return Core::Int;
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    if let Some(exponent) = exponent
        && !all(exponent.strip_prefix(['-', '+']).unwrap_or(exponent), |c| {
            c.is_ascii_digit()
        })
    {
        return Core::Text;
    }
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let number = match mantissa.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && digits(fraction),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    if number { Core::Float } else { Core::Text }
}

fn all(text: &str, test: impl Fn(char) -> bool) -> bool {
    !text.is_empty() && text.chars().all(test)
}

/// How many documents a file may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Documents {
    /// Exactly one: a second one is an error (S-1.4).
    One,
    /// Any number.
    Many,
}

/// The documents of a text, and the errors found while composing them.
#[derive(Debug)]
pub(crate) struct Composed {
    /// Empty documents are null nodes.
    pub(crate) documents: Vec<Rc<Node>>,
    pub(crate) errors: Vec<Diagnostic>,
    /// Whether reading ended early, so that what follows is unknown.
    pub(crate) broken: bool,
}

/// Reads the whole text. Never panics; memory and time are bounded by the file bound and the expansion bounds.
pub(crate) fn compose(source: &Source, documents: Documents) -> Composed {
    let text = source.text();
    let mut composer = Composer::new(text, documents);
    if text.len() > MAX_FILE_BYTES {
        composer.errors.push(
            Diagnostic::error_outside(format!(
                "{}: the file has {} bytes, more than the limit of {MAX_FILE_BYTES} (1 MiB)",
                source.display(),
                text.len()
            ))
            .expected("a file of at most 1 MiB"),
        );
        composer.broken = true;
    } else if let Some(error) = forbidden_character(text) {
        composer.errors.push(error);
        composer.broken = true;
    } else {
        composer.run();
    }
    Composed {
        documents: composer.finished,
        errors: composer.errors,
        broken: composer.broken,
    }
}

/// YAML forbids most control characters; the parser would end the text at a NUL without a word.
fn forbidden_character(text: &str) -> Option<Diagnostic> {
    let (index, c) = text.char_indices().find(|(_, c)| {
        matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')
    })?;
    let before = text.get(..index)?;
    Some(
        Diagnostic::error(
            position_after(before),
            format!(
                "the control character U+{:04X} is not allowed in YAML",
                u32::from(c)
            ),
        )
        .expected("printable UTF-8 text"),
    )
}

/// The place behind `text`, which begins at the begin of a file.
pub(crate) fn position_after(text: &str) -> Position {
    let (mut line, mut column) = (1_u32, 1_u32);
    let mut last = '\0';
    for c in text.chars() {
        match c {
            '\n' if last == '\r' => {}
            '\n' | '\r' => {
                line = line.saturating_add(1);
                column = 1;
            }
            _ => column = column.saturating_add(1),
        }
        last = c;
    }
    Position::new(line, column)
}

fn place(marker: &Marker) -> Position {
    let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Position::new(
        narrow(marker.line().max(1)),
        narrow(marker.col()).saturating_add(1),
    )
}

/// A collection that is still open.
struct Frame {
    at: Position,
    anchor: usize,
    size: Size,
    content: Open,
}

enum Open {
    List(Vec<Rc<Node>>),
    Map {
        entries: Vec<Entry>,
        index: HashMap<Rc<str>, Position>,
        merges: Vec<(Position, Rc<Node>)>,
        pending: Pending,
    },
}

enum Pending {
    /// A key comes next.
    Key,
    /// The value of this key.
    Value(Key),
    /// The value of `<<`.
    Merge(Position),
    /// The value of a key that was already reported.
    Nothing,
}

struct Composer<'t> {
    text: &'t str,
    documents: Documents,
    frames: Vec<Frame>,
    /// Finished anchors of the present document.
    anchors: HashMap<usize, Rc<Node>>,
    finished: Vec<Rc<Node>>,
    root: Option<Rc<Node>>,
    seen: usize,
    /// Nodes and bytes of the finished documents.
    spent: Size,
    errors: Vec<Diagnostic>,
    broken: bool,
}

impl<'t> Composer<'t> {
    fn new(text: &'t str, documents: Documents) -> Self {
        Self {
            text,
            documents,
            frames: Vec::new(),
            anchors: HashMap::new(),
            finished: Vec::new(),
            root: None,
            seen: 0,
            spent: Size {
                nodes: 0,
                bytes: 0,
                depth: 0,
            },
            errors: Vec::new(),
            broken: false,
        }
    }

    fn run(&mut self) {
        let options = granit_parser::options! {
            emit_comments: false,
            emit_unresolved_aliases: true,
        };
        for next in Parser::new_from_str_with_options(self.text, options) {
            match next {
                Ok((event, span)) => self.event(event, &span),
                Err(error) => {
                    self.syntax(&error);
                    self.broken = true;
                }
            }
            if self.broken {
                return;
            }
        }
    }

    fn error(&mut self, error: Diagnostic) {
        if self.errors.len() < MAX_FINDINGS {
            self.errors.push(error);
        }
    }

    fn event(&mut self, event: Event<'_>, span: &Span) {
        let at = place(&span.start);
        match event {
            Event::DocumentStart(..) => {
                self.seen += 1;
                if self.seen > 1 && self.documents == Documents::One {
                    self.error(
                        Diagnostic::error(at, "a second document begins here")
                            .expected("exactly one document in the file")
                            .hint("remove the line \"---\" and what follows it"),
                    );
                    self.broken = true;
                }
            }
            Event::DocumentEnd => {
                self.anchors.clear();
                if let Some(root) = self.root.take() {
                    self.spent.nodes += root.size.nodes;
                    self.spent.bytes += root.size.bytes;
                    self.finished.push(root);
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = self.scalar(&text, style, tag.as_deref(), span);
                let bytes = text.len();
                self.add(
                    at,
                    value,
                    Size {
                        nodes: 1,
                        bytes,
                        depth: 1,
                    },
                    anchor,
                );
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.collection_tag(tag.as_deref(), "seq", span);
                self.open(at, anchor, Open::List(Vec::new()));
            }
            Event::MappingStart(_, anchor, tag) => {
                self.collection_tag(tag.as_deref(), "map", span);
                let content = Open::Map {
                    entries: Vec::new(),
                    index: HashMap::new(),
                    merges: Vec::new(),
                    pending: Pending::Key,
                };
                self.open(at, anchor, content);
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(id) => match self.anchors.get(&id).cloned() {
                Some(node) => self.deliver(at, node),
                None => {
                    self.error(
                        Diagnostic::error(at, "the alias stands inside the node it refers to")
                            .expected("an anchor that ends before its alias"),
                    );
                    self.bad(at);
                }
            },
            Event::UnresolvedAlias(name) => {
                self.error(
                    Diagnostic::error(at, format!("the alias *{name} has no anchor"))
                        .expected(format!("an anchor &{name} earlier in the file")),
                );
                self.bad(at);
            }
            _ => {}
        }
    }

    fn bad(&mut self, at: Position) {
        self.add(
            at,
            Value::Bad,
            Size {
                nodes: 1,
                bytes: 0,
                depth: 1,
            },
            0,
        );
    }

    fn add(&mut self, at: Position, value: Value, size: Size, anchor: usize) {
        let node = Rc::new(Node { at, value, size });
        if anchor != 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        self.deliver(at, node);
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, span: &Span) -> Value {
        let mut plain = style == ScalarStyle::Plain;
        if let Some(tag) = tag {
            let wanted = tag_name(tag);
            let found = core(text);
            let fits = match wanted {
                Some("str" | "") => {
                    plain = false;
                    true
                }
                Some(wanted @ ("int" | "float" | "bool" | "null")) => {
                    plain = true;
                    match found {
                        Core::Null => wanted == "null",
                        Core::Bool(_) => wanted == "bool",
                        Core::Int => matches!(wanted, "int" | "float"),
                        Core::Float => wanted == "float",
                        Core::Text => false,
                    }
                }
                _ => {
                    self.foreign_tag(span);
                    return Value::Bad;
                }
            };
            if !fits {
                let wanted = wanted.unwrap_or_default();
                self.error(
                    Diagnostic::error(
                        place(&span.start),
                        format!("{} does not fit its tag !!{wanted}", quoted(text)),
                    )
                    .hint("remove the tag"),
                );
                return Value::Bad;
            }
        }
        Value::Scalar(Scalar {
            text: Rc::from(text),
            plain,
        })
    }

    fn collection_tag(&mut self, tag: Option<&Tag>, wanted: &str, span: &Span) {
        if let Some(tag) = tag
            && tag_name(tag).is_none_or(|name| name != wanted && !name.is_empty())
        {
            self.foreign_tag(span);
        }
    }

    fn foreign_tag(&mut self, span: &Span) {
        let shown = span
            .tag_span()
            .and_then(|tag| tag.slice(self.text))
            .unwrap_or("here")
            .to_owned();
        let at = place(&span.tag_start().unwrap_or(span.start));
        self.error(
            Diagnostic::error(
                at,
                format!("the tag {} has no meaning in this place", quoted(&shown)),
            )
            .expected(
                "no tag, or one of !!str, !!int, !!float, !!bool, !!null, !!seq, !!map that fits",
            )
            .hint("remove the tag"),
        );
    }

    fn open(&mut self, at: Position, anchor: usize, content: Open) {
        if self.frames.len() >= MAX_DEPTH {
            self.too_deep(at);
            return;
        }
        self.frames.push(Frame {
            at,
            anchor,
            size: Size {
                nodes: 1,
                bytes: 0,
                depth: 1,
            },
            content,
        });
    }

    fn too_deep(&mut self, at: Position) {
        self.error(
            Diagnostic::error(at, format!("the nesting is deeper than {MAX_DEPTH} levels"))
                .expected(format!(
                    "at most {MAX_DEPTH} levels, aliases counted as if written out"
                )),
        );
        self.broken = true;
    }

    fn close(&mut self) {
        let Some(frame) = self.frames.pop() else {
            return;
        };
        let value = match frame.content {
            Open::List(items) => Value::List(items),
            Open::Map {
                entries,
                index,
                merges,
                ..
            } => Value::Map(self.merge(entries, index, merges)),
        };
        // `deliver` adds a finished node to the frame below and checks the bounds there.
        self.add(frame.at, value, frame.size, frame.anchor);
    }

    /// Hands a finished node, at its own place or at that of an alias, to the collection it belongs to.
    fn deliver(&mut self, at: Position, node: Rc<Node>) {
        let depth = self.frames.len() + node.size.depth;
        if depth > MAX_DEPTH {
            self.too_deep(at);
            return;
        }
        // Open frames hold what was added to them so far; together they are the whole document.
        let held = self.frames.iter().fold((0, 0), |sum, frame| {
            (sum.0 + frame.size.nodes, sum.1 + frame.size.bytes)
        });
        if self.spent.nodes + held.0 + node.size.nodes > MAX_NODES {
            self.error(
                Diagnostic::error(
                    at,
                    format!(
                        "the file has more than {MAX_NODES} nodes once its aliases are written out"
                    ),
                )
                .expected(format!("at most {MAX_NODES} nodes"))
                .hint("use fewer aliases inside of anchors"),
            );
            self.broken = true;
            return;
        }
        if self.spent.bytes + held.1 + node.size.bytes > MAX_EXPANDED_BYTES {
            self.error(
                Diagnostic::error(
                    at,
                    "the file has more than 8 MiB of text once its aliases are written out",
                )
                .hint("use fewer aliases to long texts"),
            );
            self.broken = true;
            return;
        }
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(node);
            return;
        };
        frame.size.nodes += node.size.nodes;
        frame.size.bytes += node.size.bytes;
        frame.size.depth = frame.size.depth.max(node.size.depth + 1);
        match &mut frame.content {
            Open::List(items) => items.push(node),
            Open::Map {
                entries,
                index,
                merges,
                pending,
            } => match std::mem::replace(pending, Pending::Key) {
                Pending::Value(key) => entries.push(Entry { key, value: node }),
                Pending::Merge(at) => merges.push((at, node)),
                Pending::Nothing => {}
                Pending::Key => {
                    let (next, error) = read_key(at, &node, index);
                    *pending = next;
                    if let Some(error) = error {
                        self.error(error);
                    }
                }
            },
        }
    }

    /// Adds the keys that `<<` brings in: explicit keys win, then earlier sources (S-1.5).
    fn merge(
        &mut self,
        mut entries: Vec<Entry>,
        mut index: HashMap<Rc<str>, Position>,
        merges: Vec<(Position, Rc<Node>)>,
    ) -> Vec<Entry> {
        let mut take = |map: &[Entry]| {
            for entry in map {
                if !index.contains_key(&entry.key.text) {
                    index.insert(Rc::clone(&entry.key.text), entry.key.at);
                    entries.push(entry.clone());
                }
            }
        };
        let mut faults = Vec::new();
        for (at, node) in merges {
            match &node.value {
                Value::Map(map) => take(map),
                Value::Bad => {}
                Value::List(list) => {
                    for item in list {
                        match &item.value {
                            Value::Map(map) => take(map),
                            Value::Bad => {}
                            _ => faults.push((item.at, item.describe())),
                        }
                    }
                }
                Value::Scalar(_) => faults.push((at, node.describe())),
            }
        }
        for (at, found) in faults {
            self.error(
                Diagnostic::error(at, format!("\"<<\" merges mappings, but {found} was read"))
                    .expected("an alias of a mapping, or a list of such aliases")
                    .hint("write for example \"<<: *defaults\" after \"x-defaults: &defaults {timeout: 10m}\""),
            );
        }
        entries
    }

    fn syntax(&mut self, error: &ScanError) {
        let at = place(error.marker());
        let of_tab = matches!(
            error.kind(),
            ErrorKind::TabNotAllowed
                | ErrorKind::TabInBlockIndentation
                | ErrorKind::TabInIndentation
                | ErrorKind::TabInPlainScalar
                | ErrorKind::TabAtBlockScalarStart
        );
        // The parser may point at the begin of the text that the tab cuts off, lines before.
        let lines = if of_tab { usize::MAX } else { 1 };
        if let Some(tab) = self.tab_from(at, lines) {
            self.error(
                Diagnostic::error(tab, format!("found character that cannot start any token: line {} is indented with a tab", tab.line))
                    .expected("blanks; YAML forbids tabs in indentation"),
            );
            return;
        }
        let error = match error.kind() {
            ErrorKind::RecursionLimitExceeded => {
                self.too_deep(at);
                return;
            }
            kind if of_tab => Diagnostic::error(
                at,
                format!("found character that cannot start any token: a tab ({kind})"),
            )
            .expected("blanks; YAML forbids tabs in indentation"),
            ErrorKind::UnexpectedCharacter { character: character @ ('@' | '`') } => {
                Diagnostic::error(at, format!("a text cannot begin with '{character}'")).hint("put the text in quotes")
            }
            ErrorKind::UnclosedQuotedScalar => Diagnostic::error(at, "a quoted text has no closing quote"),
            ErrorKind::MappingValueNotAllowed => {
                Diagnostic::error(at, "a \": \" stands where no key can be (mapping values are not allowed in this context)")
                    .hint("put a text that holds \": \" in quotes, or check the indentation")
            }
            kind => Diagnostic::error(at, format!("not valid YAML: {kind}")),
        };
        self.error(error);
    }

    /// The first tab in the indentation of the line of an error or of the lines behind it, `lines` of them.
    fn tab_from(&self, at: Position, lines: usize) -> Option<Position> {
        let first = at.line as usize;
        let text = self.text.split('\n').enumerate().skip(first - 1);
        text.take(lines).find_map(|(index, line)| {
            let tab = line
                .bytes()
                .take_while(|b| matches!(b, b' ' | b'\t'))
                .position(|b| b == b'\t')?;
            let narrow = |n: usize| u32::try_from(n + 1).unwrap_or(u32::MAX);
            Some(Position::new(narrow(index), narrow(tab)))
        })
    }
}

fn read_key(
    at: Position,
    node: &Node,
    index: &mut HashMap<Rc<str>, Position>,
) -> (Pending, Option<Diagnostic>) {
    let scalar = match &node.value {
        Value::Scalar(scalar) if scalar.core() != Core::Null => scalar,
        Value::Bad => return (Pending::Nothing, None),
        _ => {
            let error = Diagnostic::error(
                at,
                format!("a key must be text, but {} was read", node.describe()),
            )
            .expected("KEY: VALUE");
            return (Pending::Nothing, Some(error));
        }
    };
    if let Some(first) = index.get(&scalar.text) {
        let error = Diagnostic::error(
            at,
            format!(
                "the key {} is given twice in one mapping, on line {} and on line {}",
                quoted(&scalar.text),
                first.line,
                at.line
            ),
        )
        .expected("each key once");
        return (Pending::Nothing, Some(error));
    }
    index.insert(Rc::clone(&scalar.text), at);
    if scalar.plain && &*scalar.text == "<<" {
        return (Pending::Merge(at), None);
    }
    (
        Pending::Value(Key {
            text: Rc::clone(&scalar.text),
            at,
        }),
        None,
    )
}

/// The part of a tag that decides: the suffix of a core tag, `""` for the non-specific `!`; `None` for any other.
fn tag_name(tag: &Tag) -> Option<&str> {
    match tag.parts() {
        ("!", "") | ("", "!") => Some(""),
        _ => tag.core_suffix(),
    }
}
