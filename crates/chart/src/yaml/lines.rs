//! YAML of the plainest kind, line by line.
//!
//! Duty: most manifests and values are block mappings and lists of scalars that stand on one line each. Of such a text
//! this reader tells in one pass what the full one would, and of any other text nothing at all: whatever is not sure to
//! read, or to mean the same, is left to the full reader, with all its errors.

#[cfg(test)]
pub(crate) mod samples;
pub(super) mod values;

use std::borrow::Cow;

use super::resolve::{Resolved, resolve};

/// Longer keys are left to the full reader, which has a bound.
const MAX_KEY: usize = 512;
/// Deeper levels are left to the full reader, which has a bound.
const MAX_LEVELS: usize = 100;
/// The same for collections in brackets.
const MAX_BRACKETS: usize = 20;

/// A scalar on one line.
#[derive(Debug)]
pub(crate) struct Scalar<'t> {
    /// What it holds.
    pub(crate) text: Cow<'t, str>,
    /// Whether it stands without quotes.
    pub(crate) plain: bool,
}

impl<'t> Scalar<'t> {
    fn plain(text: &'t str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            plain: true,
        }
    }

    /// What it holds, if that is a text.
    pub(crate) fn into_text(self) -> Option<String> {
        self.is_text().then(|| self.text.into_owned())
    }

    /// Whether it is a text and nothing else.
    fn is_text(&self) -> bool {
        !self.plain || matches!(resolve(&self.text), Resolved::String | Resolved::Timestamp)
    }

    /// Whether JSON can carry it.
    fn is_finite(&self) -> bool {
        !self.plain
            || match resolve(&self.text) {
                Resolved::Float(value) => value.is_finite(),
                _ => true,
            }
    }
}

/// The lines of a block scalar, each with its line break but for the last one of the text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block<'t> {
    /// What stands on the line of its mark: `|` or `>`, and what becomes of the breaks at its end.
    pub(crate) header: &'t str,
    pub(crate) lines: &'t str,
    pub(crate) indent: usize,
}

impl Block<'_> {
    /// What it holds, if its lines are not folded.
    pub(crate) fn literal(&self) -> Option<String> {
        let chomp = self.header.strip_prefix('|')?;
        let mut text = String::with_capacity(self.lines.len());
        for line in self.lines.split_inclusive('\n') {
            let (line, end) = match line.strip_suffix('\n') {
                Some(line) => (line, "\n"),
                None => (line, ""),
            };
            text.push_str(line.get(self.indent..).unwrap_or_default());
            text.push_str(end);
        }
        if chomp != "+" {
            let last = text.trim_end_matches('\n').len();
            let keep = usize::from(chomp.is_empty() && last < text.len());
            text.truncate(last + keep);
        }
        Some(text)
    }
}

/// What takes the parts of a text. Where it gives `None` the text is left to the full reader.
pub(crate) trait Sink<'t> {
    /// A mapping begins.
    fn mapping(&mut self) -> Option<()>;
    /// A list begins.
    fn list(&mut self) -> Option<()>;
    /// The innermost mapping or list ends.
    fn end(&mut self) -> Option<()>;
    /// A key, which is a text and no merge.
    fn key(&mut self, key: Cow<'t, str>) -> Option<()>;
    /// A scalar that JSON can carry.
    fn scalar(&mut self, scalar: Scalar<'t>) -> Option<()>;
    /// A block scalar.
    fn block(&mut self, block: Block<'t>) -> Option<()>;
}

/// Reads the parts of a text whose root is a mapping or a list.
pub(crate) fn read<'t>(text: &'t str, sink: &mut impl Sink<'t>) -> Option<()> {
    if !is_plain(text.as_bytes()) {
        return None;
    }
    let mut reader = Reader {
        rest: text,
        levels: Vec::new(),
        awaited: false,
        sink,
    };
    while !reader.rest.is_empty() {
        let (line, rest) = first_line(reader.rest);
        reader.rest = rest;
        let content = line.trim_start_matches(' ');
        let indent = line.len() - content.len();
        let content = content.trim_end_matches(' ');
        if !content.is_empty() && !content.starts_with('#') {
            reader.line(indent, content)?;
        }
    }
    reader.finish()
}

/// Whether all is printable ASCII and line feeds.
fn is_plain(bytes: &[u8]) -> bool {
    bytes.chunks(64).all(|block| {
        block
            .iter()
            .fold(true, |all, byte| all & matches!(byte, b' '..=b'~' | b'\n'))
    })
}

/// A line without its break, and what follows it.
fn first_line(text: &str) -> (&str, &str) {
    match memchr::memchr(b'\n', text.as_bytes()) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, ""),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mapping,
    List,
    /// A list at the column of the key it belongs to.
    Level,
}

struct Reader<'t, 's, S> {
    rest: &'t str,
    /// Collections around the place, with their columns, which ascend.
    levels: Vec<(usize, Kind)>,
    /// A key was read whose value is on the next lines, or null.
    awaited: bool,
    sink: &'s mut S,
}

impl<'t, S: Sink<'t>> Reader<'t, '_, S> {
    fn line(&mut self, indent: usize, content: &'t str) -> Option<()> {
        if indent == 0 && (content.starts_with("---") || content.starts_with("...")) {
            return None;
        }
        let pair = match is_entry(content) {
            true => None,
            false => key(content),
        };
        let kind = match &pair {
            None if is_entry(content) => Some(Kind::List),
            pair => pair.as_ref().map(|_| Kind::Mapping),
        };
        match (self.levels.last().copied(), kind) {
            // Text around documents is trimmed, so that the first line alone may be moved to the left.
            (None, Some(kind)) if indent == 0 => self.open(indent, kind)?,
            (Some((column, _)), _) if self.awaited && indent > column => {
                self.awaited = false;
                match kind {
                    Some(kind) => self.open(indent, kind)?,
                    None => return self.value(content),
                }
            }
            (Some((column, _)), Some(Kind::List)) if self.awaited && indent == column => {
                self.awaited = false;
                self.open(indent, Kind::Level)?;
            }
            (Some(_), Some(kind)) => {
                self.nothing()?;
                self.close(indent, kind == Kind::List)?;
            }
            (None, _) | (_, None) => return None,
        }
        match pair {
            Some((key, rest)) => self.pair(key, rest),
            None => self.item(indent, content),
        }
    }

    fn open(&mut self, column: usize, kind: Kind) -> Option<()> {
        if self.levels.len() >= MAX_LEVELS {
            return None;
        }
        self.levels.push((column, kind));
        match kind {
            Kind::Mapping => self.sink.mapping(),
            Kind::List | Kind::Level => self.sink.list(),
        }
    }

    /// Ends what a line does not belong to any more; there must be something to which it does.
    fn close(&mut self, indent: usize, dash: bool) -> Option<()> {
        loop {
            let (column, kind) = *self.levels.last()?;
            if column == indent && (kind != Kind::Mapping) == dash {
                return Some(());
            }
            if column < indent || (column == indent && kind != Kind::Level) {
                return None;
            }
            self.levels.pop();
            self.sink.end()?;
        }
    }

    /// The value of a key for which there was none.
    fn nothing(&mut self) -> Option<()> {
        if !std::mem::take(&mut self.awaited) {
            return Some(());
        }
        self.sink.scalar(Scalar::plain(""))
    }

    /// An entry of the innermost list.
    fn item(&mut self, mut column: usize, mut content: &'t str) -> Option<()> {
        while is_entry(content) {
            let item = content.get(1..)?.trim_start_matches(' ');
            column += content.len() - item.len();
            content = item;
            if is_entry(item) {
                self.open(column, Kind::List)?;
            } else if let Some((key, rest)) = key(item) {
                self.open(column, Kind::Mapping)?;
                return self.pair(key, rest);
            } else {
                return self.value(item);
            }
        }
        None
    }

    fn pair(&mut self, key: Scalar<'t>, rest: &'t str) -> Option<()> {
        if !key.is_text() {
            return None;
        }
        self.sink.key(key.text)?;
        let value = rest.trim_start_matches(' ');
        if value.is_empty() || value.starts_with('#') {
            self.awaited = true;
            return Some(());
        }
        self.value(value)
    }

    fn value(&mut self, text: &'t str) -> Option<()> {
        let rest = match text.as_bytes().first()? {
            b'|' | b'>' => return self.block(text),
            b'"' | b'\'' | b'[' | b'{' => self.enclosed(text, MAX_BRACKETS)?,
            _ => {
                let text = plain_scalar(text)?;
                self.scalar(Scalar::plain(text))?;
                return Some(());
            }
        };
        // Nothing but a comment may follow.
        let behind = rest.trim_start_matches(' ');
        (behind.is_empty() || behind.len() < rest.len() && behind.starts_with('#')).then_some(())
    }

    fn scalar(&mut self, scalar: Scalar<'t>) -> Option<()> {
        scalar.is_finite().then(|| self.sink.scalar(scalar))?
    }

    /// A scalar in quotes or a collection in brackets; gives what follows it.
    fn enclosed(&mut self, text: &'t str, levels: usize) -> Option<&'t str> {
        let levels = levels.checked_sub(1)?;
        let close = match text.as_bytes().first()? {
            b'[' => {
                self.sink.list()?;
                ']'
            }
            b'{' => {
                self.sink.mapping()?;
                '}'
            }
            b'"' | b'\'' => {
                let (text, rest) = quoted(text)?;
                self.sink.scalar(Scalar { text, plain: false })?;
                return Some(rest);
            }
            _ => {
                let (words, rest) = words(text)?;
                self.scalar(Scalar::plain(words))?;
                return Some(rest);
            }
        };
        let mut rest = text.get(1..)?.trim_start_matches(' ');
        while !rest.starts_with(close) {
            if close == '}' {
                let (key, behind) = key(rest)?;
                if !key.is_text() {
                    return None;
                }
                self.sink.key(key.text)?;
                rest = behind.trim_start_matches(' ');
            }
            rest = self.enclosed(rest, levels)?.trim_start_matches(' ');
            match rest.strip_prefix(',') {
                // A comma at the end means nothing, or null.
                Some(behind) => {
                    rest = behind.trim_start_matches(' ');
                    if rest.starts_with(close) {
                        return None;
                    }
                }
                None if rest.starts_with(close) => {}
                None => return None,
            }
        }
        self.sink.end()?;
        rest.get(1..)
    }

    /// Takes the lines of a block scalar.
    fn block(&mut self, header: &'t str) -> Option<()> {
        if !matches!(header, "|" | "|-" | "|+" | ">" | ">-" | ">+") {
            return None;
        }
        let (outer, _) = *self.levels.last()?;
        let text = self.rest;
        let mut rest = text;
        let mut deepest = 0;
        let mut indent = None;
        while !rest.is_empty() {
            let (line, behind) = first_line(rest);
            let content = line.trim_start_matches(' ');
            let column = line.len() - content.len();
            match indent {
                None if content.is_empty() => deepest = deepest.max(column),
                // No lines at all, or lines whose indentation is not what it seems.
                None if column <= outer || column < deepest => return None,
                None => indent = Some(column),
                Some(indent) if !content.is_empty() && column < indent => break,
                Some(_) => {}
            }
            rest = behind;
        }
        self.rest = rest;
        self.sink.block(Block {
            header,
            lines: &text[..text.len() - rest.len()],
            indent: indent?,
        })
    }

    fn finish(mut self) -> Option<()> {
        self.nothing()?;
        if self.levels.is_empty() {
            return None;
        }
        while self.levels.pop().is_some() {
            self.sink.end()?;
        }
        Some(())
    }
}

/// Whether a line is an entry of a list with something on it.
fn is_entry(content: &str) -> bool {
    content.starts_with("- ")
}

/// The key of a pair and what stands behind its colon.
fn key(content: &str) -> Option<(Scalar<'_>, &str)> {
    let (key, rest) = match content.as_bytes().first()? {
        b'"' | b'\'' => {
            let (text, rest) = quoted(content)?;
            (Scalar { text, plain: false }, rest)
        }
        _ => {
            let (text, rest) = word(content)?;
            (Scalar::plain(text), rest)
        }
    };
    let rest = rest.strip_prefix(':')?;
    let ends = rest.is_empty() || rest.starts_with(' ');
    (ends && content.len() - rest.len() <= MAX_KEY).then_some((key, rest))
}

/// A plain scalar of letters and what else means nothing wherever it stands, and what follows it.
fn word(text: &str) -> Option<(&str, &str)> {
    let begins = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'/' | b'.');
    let goes_on = |byte: u8| begins(&byte) || byte == b'-';
    text.as_bytes().first().filter(|byte| begins(byte))?;
    let end = text.bytes().position(|byte| !goes_on(byte));
    text.split_at_checked(end.unwrap_or(text.len()))
}

/// The same for words with spaces between them.
fn words(text: &str) -> Option<(&str, &str)> {
    let (_, mut rest) = word(text)?;
    while let Some((_, behind)) = word(rest.trim_start_matches(' ')) {
        rest = behind;
    }
    text.split_at_checked(text.len() - rest.len())
}

/// What is between quotes, and what follows them.
fn quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let (quote, mut rest) = text.split_at_checked(1)?;
    let quote = *quote.as_bytes().first()?;
    let escape = if quote == b'"' { b'\\' } else { quote };
    let mut copied = String::new();
    loop {
        let end = memchr::memchr2(quote, escape, rest.as_bytes())?;
        let (found, behind) = rest.split_at_checked(end)?;
        let (taken, c) = match (quote, behind.as_bytes()) {
            (b'"', [b'\\', b'"', ..]) => (2, '"'),
            (b'"', [b'\\', b'\\', ..]) => (2, '\\'),
            (b'"', [b'\\', b'n', ..]) => (2, '\n'),
            (b'"', [b'\\', ..]) => return None,
            (b'\'', [b'\'', b'\'', ..]) => (2, '\''),
            _ if copied.is_empty() => return Some((Cow::Borrowed(found), behind.get(1..)?)),
            _ => {
                copied.push_str(found);
                return Some((Cow::Owned(copied), behind.get(1..)?));
            }
        };
        copied.push_str(found);
        copied.push(c);
        rest = behind.get(taken..)?;
    }
}

/// The plain scalar that a text is, but for a comment behind it.
fn plain_scalar(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let begins = match bytes {
        [b'-' | b':', second, ..] => *second != b' ',
        [first, ..] => {
            first.is_ascii_alphanumeric()
                || matches!(
                    first,
                    b'_' | b'/'
                        | b'.'
                        | b'$'
                        | b'('
                        | b')'
                        | b'+'
                        | b'='
                        | b'~'
                        | b'^'
                        | b'<'
                        | b';'
                        | b'\\'
                )
        }
        [] => false,
    };
    if !begins {
        return None;
    }
    for at in memchr::memchr2_iter(b':', b'#', bytes) {
        match bytes.get(at) {
            Some(b':') if bytes.get(at + 1).is_none_or(|next| *next == b' ') => return None,
            Some(b'#') if bytes.get(at.wrapping_sub(1)) == Some(&b' ') => {
                return Some(text.get(..at)?.trim_end_matches(' '));
            }
            _ => {}
        }
    }
    Some(text)
}
