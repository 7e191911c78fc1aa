//! Patterns as trees.
//!
//! Duty: read a pattern as the library's lexer and parser do together. A NUL ends whatever is being read, braces that
//! are left open close at the end, and a range is either one `a-z` or a set: `[0a-z]` is the set of `0`, `a`, `-`
//! and `z`.

use super::GlobError;

/// The most nodes of one pattern.
const MAX_NODES: usize = 1000;
/// How deep braces may be nested.
const MAX_DEPTH: usize = 64;

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// Matches the empty text only: an alternative that common ends have used up.
    Nothing,
    /// Pieces one after the other.
    Pattern(Vec<Self>),
    /// `{a,b}`: patterns or nothing.
    AnyOf(Vec<Self>),
    /// Characters as they are.
    Text(String),
    /// `[abc]`
    List { chars: String, not: bool },
    /// `[a-z]`
    Range { lo: char, hi: char, not: bool },
    /// `*`
    Any,
    /// `**`
    Super,
    /// `?`
    Single,
}

/// The top-level pieces of a pattern.
pub(super) fn parse(pattern: &str) -> Result<Vec<Node>, GlobError> {
    let mut reader = Reader {
        rest: pattern,
        failed: false,
    };
    let mut open = vec![Braces::default()];
    let mut nodes = 0;
    loop {
        let in_braces = open.len() > 1;
        let item = reader.item(in_braces)?;
        if reader.failed {
            return Err(GlobError::Invalid);
        }
        nodes += 1;
        if nodes > MAX_NODES || open.len() > MAX_DEPTH {
            return Err(GlobError::TooLarge);
        }
        match item {
            Item::End => break,
            Item::Open => open.push(Braces::default()),
            Item::Comma => top(&mut open).next_alternative(),
            Item::Close => close(&mut open),
            Item::Node(node) => top(&mut open).current.push(node),
        }
    }
    while open.len() > 1 {
        close(&mut open);
    }
    Ok(open.pop().unwrap_or_default().current)
}

/// Alternatives that are still being read. The whole pattern is the outermost one and has only one.
#[derive(Default)]
struct Braces {
    done: Vec<Node>,
    current: Vec<Node>,
}

impl Braces {
    fn next_alternative(&mut self) {
        let pattern = std::mem::take(&mut self.current);
        self.done.push(Node::Pattern(pattern));
    }
}

fn top(open: &mut Vec<Braces>) -> &mut Braces {
    if open.is_empty() {
        open.push(Braces::default());
    }
    let last = open.len() - 1;
    &mut open[last]
}

fn close(open: &mut Vec<Braces>) {
    if let Some(mut braces) = open.pop() {
        braces.next_alternative();
        top(open).current.push(Node::AnyOf(braces.done));
    }
}

enum Item {
    End,
    Open,
    Comma,
    Close,
    Node(Node),
}

struct Reader<'p> {
    rest: &'p str,
    /// Whether something unreadable was met: the replacement character stands for bytes that are no UTF-8.
    failed: bool,
}

impl Reader<'_> {
    /// The next character; none at the end, at a NUL (which is used up), and at something unreadable.
    fn read(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.rest = &self.rest[next.len_utf8()..];
        (next != '\0').then_some(next)
    }

    fn peek(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        if next == char::REPLACEMENT_CHARACTER {
            self.failed = true;
            return None;
        }
        Some(next)
    }

    fn item(&mut self, in_braces: bool) -> Result<Item, GlobError> {
        loop {
            let before = self.rest;
            let Some(first) = self.read() else {
                return Ok(Item::End);
            };
            return Ok(match first {
                '{' => Item::Open,
                ',' if in_braces => Item::Comma,
                '}' if in_braces => Item::Close,
                '[' => Item::Node(self.range()?),
                '?' => Item::Node(Node::Single),
                '*' => {
                    let after = self.rest;
                    if self.read() == Some('*') {
                        Item::Node(Node::Super)
                    } else {
                        self.rest = after;
                        Item::Node(Node::Any)
                    }
                }
                _ => {
                    self.rest = before;
                    let breakers: &[char] = match in_braces {
                        true => &['?', '*', '[', '{', '}', ','],
                        false => &['?', '*', '[', '{'],
                    };
                    let text = self.text(breakers);
                    if text.is_empty() && !self.failed {
                        continue;
                    }
                    Item::Node(Node::Text(text))
                }
            });
        }
    }

    /// Text up to one of the breakers, which stays unread, or to the end. A backslash is left out, even a last one.
    fn text(&mut self, breakers: &[char]) -> String {
        let mut text = String::new();
        let mut escaped = false;
        loop {
            let before = self.rest;
            let Some(next) = self.read() else {
                return text;
            };
            if !escaped && next == '\\' {
                escaped = true;
                continue;
            }
            if !escaped && breakers.contains(&next) {
                self.rest = before;
                return text;
            }
            escaped = false;
            text.push(next);
        }
    }

    /// What is between brackets.
    fn range(&mut self) -> Result<Node, GlobError> {
        let mut before = self.rest;
        let mut first = self.read().ok_or(GlobError::Invalid)?;
        let not = first == '!';
        if not {
            before = self.rest;
            first = self.read().ok_or(GlobError::Invalid)?;
        }
        let node = if self.peek() == Some('-') {
            self.read();
            let hi = self.read().ok_or(GlobError::Invalid)?;
            if hi < first {
                return Err(GlobError::Invalid);
            }
            Node::Range { lo: first, hi, not }
        } else {
            self.rest = before;
            let chars = self.text(&[']']);
            if chars.is_empty() {
                return Err(GlobError::Invalid);
            }
            Node::List { chars, not }
        };
        match self.read() {
            Some(']') => Ok(node),
            _ => Err(GlobError::Invalid),
        }
    }
}
