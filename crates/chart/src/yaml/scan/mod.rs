//! Text to tokens, by the rules of YAML 1.1 as Helm's library reads them.
//!
//! What begins a mapping in block context is known only at its `:`, so what could be a key is
//! noted (a "simple key") and its tokens are held back until that is settled: a key stands on one
//! line and within 1024 characters.

mod cursor;
mod scalars;
mod tags;

use std::borrow::Cow;
use std::collections::VecDeque;

use super::input::Input;

/// Collections inside each other, and levels of indentation.
const MAX_LEVELS: usize = 10_000;
/// Characters from the beginning of a simple key to its `:`.
const KEY_LENGTH: usize = 1024;

/// Broken syntax, in the words of Helm's library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) problem: &'static str,
    /// The line as it is shown; 0 is not shown.
    pub(super) line: usize,
}

type Result<T, E = SyntaxError> = std::result::Result<T, E>;

/// One token.
#[derive(Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    /// The line it begins on, from 0.
    pub(super) line: usize,
}

/// What a token is.
#[derive(Debug)]
pub(super) enum Kind<'a> {
    StreamStart,
    StreamEnd,
    Version {
        major: u8,
        minor: u8,
    },
    TagDirective {
        handle: &'a str,
        prefix: Cow<'a, str>,
    },
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(&'a str),
    Anchor(&'a str),
    Tag {
        /// `!`, `!!`, `!name!`, or nothing where the suffix is the whole tag.
        handle: &'a str,
        suffix: Cow<'a, str>,
    },
    Scalar {
        text: Cow<'a, str>,
        plain: bool,
    },
}

/// A place in the text, counted in characters.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    index: usize,
    line: usize,
    column: isize,
}

/// What may turn out to be a key.
#[derive(Debug, Clone, Copy)]
struct SimpleKey {
    /// Still a candidate.
    possible: bool,
    /// The indentation allows nothing but a key here.
    required: bool,
    /// Its token is held back until it is settled.
    held: bool,
    /// Number of its first token.
    token: usize,
    mark: Mark,
}

/// The scanner. After an error nothing more is to be asked of it.
pub(super) struct Scanner<'a> {
    text: &'a str,
    pieces: &'a [usize],
    failure: Option<&'static str>,
    /// Place of the next character in bytes.
    at: usize,
    mark: Mark,
    /// End of what was taken in.
    seen: usize,
    /// Pieces taken in.
    taken_in: usize,
    /// Begin of what is kept in memory, for the odd rule of byte order marks.
    kept: usize,
    /// How often more was asked for behind the end.
    beyond: usize,

    tokens: VecDeque<Token<'a>>,
    /// The first token is known not to be part of a key.
    settled: bool,
    /// Tokens handed out.
    handed: usize,
    started: bool,
    flow: usize,
    indent: isize,
    indents: Vec<isize>,
    /// One for each level of flow collections, and one for the blocks around them; their token
    /// numbers ascend.
    keys: Vec<SimpleKey>,
    key_allowed: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(input: &'a Input<'_>) -> Self {
        Self {
            text: &input.text,
            pieces: &input.pieces,
            failure: input.failure,
            at: 0,
            mark: Mark::default(),
            seen: 0,
            taken_in: 0,
            kept: 0,
            beyond: 0,
            tokens: VecDeque::new(),
            settled: false,
            handed: 0,
            started: false,
            flow: 0,
            indent: -1,
            indents: Vec::new(),
            keys: Vec::new(),
            key_allowed: false,
        }
    }

    /// The next token, which stays. Behind the end of the stream there is none to ask for.
    pub(super) fn peek(&mut self) -> Result<&Token<'a>> {
        if !self.settled {
            self.settle()?;
        }
        // `settle` leaves a token or an error.
        self.tokens.front().ok_or(SyntaxError {
            problem: "attempted to go past the end of stream; corrupted value?",
            line: 0,
        })
    }

    /// Takes the token that was peeked at.
    pub(super) fn skip(&mut self) -> Option<Token<'a>> {
        let token = self.tokens.pop_front();
        self.handed += usize::from(token.is_some());
        self.settled = false;
        token
    }

    // Tokens.

    fn push(&mut self, kind: Kind<'a>, line: usize) {
        self.tokens.push_back(Token { kind, line });
    }

    /// Puts a token before one of that number. One that is gone already leaves the new token at
    /// the end, as Helm's library has it.
    fn insert(&mut self, number: usize, kind: Kind<'a>, line: usize) {
        let token = Token { kind, line };
        match number.checked_sub(self.handed) {
            Some(place) if place <= self.tokens.len() => self.tokens.insert(place, token),
            _ => self.tokens.push_back(token),
        }
    }

    /// Number of the token that comes next.
    fn coming(&self) -> usize {
        self.handed + self.tokens.len()
    }

    /// Scans until the first token cannot become part of a key any more.
    fn settle(&mut self) -> Result<()> {
        while self.tokens.is_empty() || self.is_first_held()? {
            self.fetch()?;
        }
        self.settled = true;
        Ok(())
    }

    fn is_first_held(&mut self) -> Result<bool> {
        let from = self.keys.partition_point(|key| key.token < self.handed);
        let held = self
            .keys
            .iter()
            .skip(from)
            .take_while(|key| key.token == self.handed)
            .position(|key| key.held);
        match held {
            Some(place) => self.is_key_valid(from + place),
            None => Ok(false),
        }
    }

    fn fetch(&mut self) -> Result<()> {
        self.need(1)?;
        if !self.started {
            self.started = true;
            self.key_allowed = true;
            self.keys.push(SimpleKey {
                possible: false,
                required: false,
                held: false,
                token: 0,
                mark: self.mark,
            });
            self.push(Kind::StreamStart, 0);
            return Ok(());
        }
        self.skip_to_token()?;
        self.unroll(self.mark.column);
        self.need(4)?;
        let (byte, line, in_flow) = (self.byte(0), self.mark.line, self.flow > 0);
        if byte == 0 {
            return self.fetch_end();
        }
        if self.mark.column == 0 && byte == b'%' {
            return self.fetch_directive();
        }
        if self.at_document_mark() {
            self.unroll(-1);
            self.drop_key()?;
            self.key_allowed = false;
            self.advance_by(3);
            let kind = if byte == b'-' {
                Kind::DocumentStart
            } else {
                Kind::DocumentEnd
            };
            self.push(kind, line);
            return Ok(());
        }
        match byte {
            b'[' => self.fetch_flow_start(Kind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(Kind::FlowMappingStart),
            b']' => self.fetch_flow_end(Kind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(Kind::FlowMappingEnd),
            b',' => {
                self.drop_key()?;
                self.key_allowed = true;
                self.advance();
                self.push(Kind::FlowEntry, line);
                Ok(())
            }
            b'-' if self.is_space(1) => self.fetch_block_entry(),
            b'?' if in_flow || self.is_space(1) => self.fetch_key(),
            b':' if in_flow || self.is_space(1) => self.fetch_value(),
            b'*' | b'&' => self.fetch_anchor(),
            b'!' => self.fetch_tag(),
            b'|' if !in_flow => self.fetch_block_scalar(true),
            b'>' if !in_flow => self.fetch_block_scalar(false),
            b'\'' => self.fetch_quoted(true),
            b'"' => self.fetch_quoted(false),
            b'\t' | b'|' | b'>' | b'%' | b'@' | b'`' => {
                self.error("found character that cannot start any token")
            }
            _ => self.fetch_plain(),
        }
    }

    /// Moves over white space, comments and line breaks.
    fn skip_to_token(&mut self) -> Result<()> {
        loop {
            self.need(1)?;
            // A mark at the beginning of a line, but looked for at the beginning of what is kept
            // in memory, wherever the line is: so does Helm's library.
            if self.mark.column == 0
                && self
                    .text
                    .get(self.kept..)
                    .is_some_and(|kept| kept.starts_with('\u{FEFF}'))
            {
                self.advance();
                self.need(1)?;
            }
            // No tab where a key may begin: it would count as indentation.
            while self.byte(0) == b' '
                || (self.byte(0) == b'\t' && (self.flow > 0 || !self.key_allowed))
            {
                self.advance();
                self.need(1)?;
            }
            self.skip_comment()?;
            if !self.is_break(0) {
                return Ok(());
            }
            self.need(2)?;
            self.take_break();
            if self.flow == 0 {
                self.key_allowed = true;
            }
        }
    }

    // Simple keys and indentation.

    /// Whether a candidate can still be a key; one that had to be is an error.
    fn is_key_valid(&mut self, place: usize) -> Result<bool> {
        let Some(key) = self.keys.get_mut(place) else {
            return Ok(false);
        };
        if !key.possible {
            return Ok(false);
        }
        if key.mark.line == self.mark.line && self.mark.index <= key.mark.index + KEY_LENGTH {
            return Ok(true);
        }
        key.possible = false;
        if key.required {
            return self.error("could not find expected ':'");
        }
        Ok(false)
    }

    /// Notes that a key may begin here.
    fn note_key(&mut self) -> Result<()> {
        if !self.key_allowed {
            return Ok(());
        }
        self.drop_key()?;
        let key = SimpleKey {
            possible: true,
            required: self.flow == 0 && self.indent == self.mark.column,
            held: true,
            token: self.coming(),
            mark: self.mark,
        };
        if let Some(last) = self.keys.last_mut() {
            *last = key;
        }
        Ok(())
    }

    /// What was noted on this level is no key.
    fn drop_key(&mut self) -> Result<()> {
        if let Some(key) = self.keys.last_mut()
            && key.possible
        {
            key.possible = false;
            key.held = false;
            if key.required {
                return self.error("could not find expected ':'");
            }
        }
        Ok(())
    }

    /// Begins a block collection where the column is deeper than the indentation.
    fn roll(
        &mut self,
        column: isize,
        number: Option<usize>,
        kind: Kind<'a>,
        line: usize,
    ) -> Result<()> {
        if self.flow > 0 || self.indent >= column {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column;
        if self.indents.len() > MAX_LEVELS {
            return self.error("exceeded max depth of 10000");
        }
        match number {
            Some(number) => self.insert(number, kind, line),
            None => self.push(kind, line),
        }
        Ok(())
    }

    /// Ends the block collections that are deeper than the column.
    fn unroll(&mut self, column: isize) {
        if self.flow > 0 {
            return;
        }
        while self.indent > column {
            self.push(Kind::BlockEnd, self.mark.line);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    // One function for each token.

    fn fetch_end(&mut self) -> Result<()> {
        if self.mark.column != 0 {
            self.mark.column = 0;
            self.mark.line += 1;
        }
        self.unroll(-1);
        self.drop_key()?;
        self.key_allowed = false;
        self.push(Kind::StreamEnd, self.mark.line);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: Kind<'a>) -> Result<()> {
        self.note_key()?;
        // Helm's library gives the place for keys inside the number of the bracket itself; see
        // the end of the collection.
        self.keys.push(SimpleKey {
            possible: false,
            required: false,
            held: false,
            token: self.coming(),
            mark: self.mark,
        });
        self.flow += 1;
        if self.flow > MAX_LEVELS {
            return self.error("exceeded max depth of 10000");
        }
        self.key_allowed = true;
        self.push(kind, self.mark.line);
        self.advance();
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: Kind<'a>) -> Result<()> {
        self.drop_key()?;
        if self.flow > 0 {
            self.flow -= 1;
            let inner = self.keys.pop();
            // A collection in which no key was noted takes the number of its own bracket along,
            // so that the bracket is not held back any more: `{}: 1` is no mapping.
            if let (Some(inner), Some(outer)) = (inner, self.keys.last_mut())
                && outer.token == inner.token
            {
                outer.held = false;
            }
        }
        self.key_allowed = false;
        self.push(kind, self.mark.line);
        self.advance();
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<()> {
        // Inside a flow collection it is an error too, but the parser's.
        if self.flow == 0 {
            if !self.key_allowed {
                return self.error("block sequence entries are not allowed in this context");
            }
            let Mark { column, line, .. } = self.mark;
            self.roll(column, None, Kind::BlockSequenceStart, line)?;
        }
        self.drop_key()?;
        self.key_allowed = true;
        self.push(Kind::BlockEntry, self.mark.line);
        self.advance();
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<()> {
        if self.flow == 0 {
            if !self.key_allowed {
                return self.error("mapping keys are not allowed in this context");
            }
            let Mark { column, line, .. } = self.mark;
            self.roll(column, None, Kind::BlockMappingStart, line)?;
        }
        self.drop_key()?;
        self.key_allowed = self.flow == 0;
        self.push(Kind::Key, self.mark.line);
        self.advance();
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<()> {
        let place = self.keys.len().saturating_sub(1);
        if self.is_key_valid(place)? {
            let key = self.keys[place];
            self.insert(key.token, Kind::Key, key.mark.line);
            self.roll(
                key.mark.column,
                Some(key.token),
                Kind::BlockMappingStart,
                key.mark.line,
            )?;
            self.keys[place].possible = false;
            self.keys[place].held = false;
            self.key_allowed = false;
        } else {
            if self.flow == 0 {
                if !self.key_allowed {
                    return self.error("mapping values are not allowed in this context");
                }
                let Mark { column, line, .. } = self.mark;
                self.roll(column, None, Kind::BlockMappingStart, line)?;
            }
            self.key_allowed = self.flow == 0;
        }
        self.push(Kind::Value, self.mark.line);
        self.advance();
        Ok(())
    }

    fn fetch_anchor(&mut self) -> Result<()> {
        self.note_key()?;
        self.key_allowed = false;
        let line = self.mark.line;
        let is_alias = self.byte(0) == b'*';
        self.advance();
        let name = self.word()?;
        let ends = self.is_space(0)
            || matches!(
                self.byte(0),
                b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`'
            );
        if name.is_empty() || !ends {
            return self.error("did not find expected alphabetic or numeric character");
        }
        let kind = if is_alias {
            Kind::Alias(name)
        } else {
            Kind::Anchor(name)
        };
        self.push(kind, line);
        Ok(())
    }
}

/// The value of a hexadecimal digit.
fn hex(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}
