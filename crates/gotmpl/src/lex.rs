//! Template text to tokens.
//!
//! Duty: the tokens Go's lexer finds, at the same places and lines, with the same complaints.

use memchr::memmem;

use crate::ast::{Span, pos32};
use crate::number::quoted;
use crate::utf8;

/// What a token is; as wide as its places, so that a token is copied as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    Error,
    Bool,
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelim,
    LeftParen,
    Number,
    Pipe,
    RawString,
    RightDelim,
    RightParen,
    Space,
    String,
    Text,
    Variable,
    Block,
    Break,
    Continue,
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

impl Kind {
    fn is_keyword(self) -> bool {
        matches!(
            self,
            Self::Block
                | Self::Break
                | Self::Continue
                | Self::Dot
                | Self::Define
                | Self::Else
                | Self::End
                | Self::If
                | Self::Nil
                | Self::Range
                | Self::Template
                | Self::With
        )
    }
}

/// A token: its bytes are a part of the input; those of an error are in [`Lexer::failure`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) kind: Kind,
    pub(crate) pos: u32,
    pub(crate) end: u32,
}

impl Item {
    pub(crate) fn bytes<'t>(&self, input: &'t [u8]) -> &'t [u8] {
        self.span().of(input)
    }

    pub(crate) fn span(&self) -> Span {
        Span::new(self.pos, self.end)
    }

    /// How Go names the token in a message.
    pub(crate) fn describe(&self, input: &[u8]) -> String {
        let bytes = self.bytes(input);
        if self.kind == Kind::Eof {
            return "EOF".to_owned();
        }
        if self.kind.is_keyword() {
            return format!("<{}>", String::from_utf8_lossy(bytes));
        }
        if bytes.len() > 10 {
            let cut = utf8::chars(bytes)
                .nth(10)
                .map_or(bytes.len(), |(at, _, _)| at);
            return format!("{}...", quoted(&bytes[..cut]));
        }
        quoted(bytes)
    }
}

const LEFT: &[u8] = b"{{";
const RIGHT: &[u8] = b"}}";
const TRIM_WIDTH: usize = 2;

/// The lexer: [`Lexer::next_item`] gives one token at a time.
///
/// Lines are not counted: [`line_at`] tells that of a token, which only messages ask for.
pub(crate) struct Lexer<'t> {
    input: &'t [u8],
    pos: usize,
    start: usize,
    parens: i32,
    inside: bool,
    /// What is wrong, once something is.
    failure: Option<Box<str>>,
}

impl<'t> Lexer<'t> {
    pub(crate) fn new(input: &'t [u8]) -> Self {
        Self {
            input,
            pos: 0,
            start: 0,
            parens: 0,
            inside: false,
            failure: None,
        }
    }

    /// The words of an error token.
    pub(crate) fn failure(&self) -> &str {
        self.failure.as_deref().unwrap_or_default()
    }

    fn rest(&self) -> &'t [u8] {
        self.from(self.pos)
    }

    fn from(&self, at: usize) -> &'t [u8] {
        self.input.get(at..).unwrap_or_default()
    }

    fn byte(&self) -> Option<u8> {
        self.input.get(self.pos).copied()
    }

    /// The next character, which need not be ASCII, and how many bytes it has.
    fn char(&self) -> Option<(char, usize)> {
        let rest = self.rest();
        (!rest.is_empty()).then(|| utf8::decode(rest))
    }

    fn emit(&mut self, kind: Kind) -> Item {
        let item = Item {
            kind,
            pos: pos32(self.start),
            end: pos32(self.pos),
        };
        self.start = self.pos;
        item
    }

    /// A token of the next byte alone.
    fn emit_byte(&mut self, kind: Kind) -> Item {
        self.pos += 1;
        self.emit(kind)
    }

    fn fail(&mut self, message: impl Into<Box<str>>) -> Item {
        self.failure = Some(message.into());
        // Nothing is read behind it.
        self.input = self.input.get(..self.start).unwrap_or_default();
        self.pos = self.start;
        self.emit(Kind::Error)
    }

    /// The next token; after an error or the end, the end again.
    pub(crate) fn next_item(&mut self) -> Item {
        if self.inside {
            self.inside_action()
        } else {
            self.outside()
        }
    }

    /// Text, or what opens an action.
    fn outside(&mut self) -> Item {
        loop {
            let Some(at) = find_left(self.rest()) else {
                self.pos = self.input.len();
                return self.emit(if self.pos > self.start {
                    Kind::Text
                } else {
                    Kind::Eof
                });
            };
            self.pos += at;
            if at > 0 {
                let delim = self.pos;
                if has_left_trim(self.from(delim + LEFT.len())) {
                    self.pos -= trailing_space(&self.input[self.start..delim]);
                }
                let item = self.emit(Kind::Text);
                self.pos = delim;
                self.start = delim;
                if item.end > item.pos {
                    return item;
                }
            }
            self.pos += LEFT.len();
            let after = if has_left_trim(self.rest()) {
                TRIM_WIDTH
            } else {
                0
            };
            if !self.from(self.pos + after).starts_with(b"/*") {
                let item = self.emit(Kind::LeftDelim);
                self.inside = true;
                self.parens = 0;
                self.pos += after;
                self.start = self.pos;
                return item;
            }
            self.pos += after;
            self.start = self.pos;
            if let Some(error) = self.comment() {
                return error;
            }
        }
    }

    /// Whether the right delimiter is here, behind a mark that trims.
    fn at_trimming_delim(&self) -> bool {
        has_right_trim(self.rest()) && self.from(self.pos + TRIM_WIDTH).starts_with(RIGHT)
    }

    /// Passes over a comment with its right delimiter, or says what is wrong with it.
    fn comment(&mut self) -> Option<Item> {
        self.pos += 2;
        let Some(at) = memmem::find(self.rest(), b"*/") else {
            return Some(self.fail("unclosed comment"));
        };
        self.pos += at + 2;
        let trim = self.at_trimming_delim();
        if !trim && !self.rest().starts_with(RIGHT) {
            return Some(self.fail("comment ends before closing delimiter"));
        }
        self.close(trim);
        None
    }

    /// Goes behind a right delimiter and what it trims.
    fn close(&mut self, trim: bool) -> Item {
        if trim {
            self.pos += TRIM_WIDTH;
            self.start = self.pos;
        }
        self.pos += RIGHT.len();
        let item = self.emit(Kind::RightDelim);
        if trim {
            self.pos += leading_space(self.rest());
            self.start = self.pos;
        }
        item
    }

    fn right_delim(&mut self, trim: bool) -> Item {
        if self.parens != 0 {
            return self.fail("unclosed left paren");
        }
        self.inside = false;
        self.close(trim)
    }

    fn inside_action(&mut self) -> Item {
        let Some(byte) = self.byte() else {
            return if self.failure.is_some() {
                self.emit(Kind::Eof)
            } else {
                self.fail("unclosed action")
            };
        };
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => self.space(),
            b'}' if self.rest().starts_with(RIGHT) => self.right_delim(false),
            b'.' if self
                .input
                .get(self.pos + 1)
                .is_some_and(|byte| !byte.is_ascii_digit()) =>
            {
                self.field_or_variable(Kind::Field)
            }
            b'$' => self.field_or_variable(Kind::Variable),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.identifier(),
            b'"' => self.quote(),
            b'`' => self.raw_quote(),
            b'(' => {
                self.parens += 1;
                self.emit_byte(Kind::LeftParen)
            }
            b')' if self.parens < 1 => self.fail("unexpected right paren"),
            b')' => {
                self.parens -= 1;
                self.emit_byte(Kind::RightParen)
            }
            b'|' => self.emit_byte(Kind::Pipe),
            b'=' => self.emit_byte(Kind::Assign),
            b':' if self.input.get(self.pos + 1) == Some(&b'=') => {
                self.pos += 2;
                self.emit(Kind::Declare)
            }
            b':' => self.fail("expected :="),
            b'\'' => self.char_constant(),
            b'.' | b'+' | b'-' | b'0'..=b'9' => self.number(),
            b'!'..=b'~' => self.emit_byte(Kind::Char),
            _ => match self.char() {
                Some((c, _)) if is_alphanumeric(c) => self.identifier(),
                found => {
                    let shown = unicode(found.map(|(c, _)| c));
                    self.fail(format!("unrecognized character in action: {shown}"))
                }
            },
        }
    }

    /// Space, of which the last one may belong to the right delimiter.
    fn space(&mut self) -> Item {
        let count = leading_space(self.rest());
        self.pos += count - 1;
        let trim = self.at_trimming_delim();
        if trim && count == 1 {
            return self.right_delim(true);
        }
        self.pos += usize::from(!trim);
        self.emit(Kind::Space)
    }

    /// Goes to the end of a word, and says whether it may end there.
    fn word(&mut self) -> Result<(), Item> {
        loop {
            let rest = self.rest();
            let end = rest.iter().position(|byte| !is_plain(*byte));
            self.pos += end.unwrap_or(rest.len());
            match self.char() {
                // Never an ASCII one.
                Some((c, width)) if is_alphanumeric(c) => self.pos += width,
                _ if self.at_terminator() => return Ok(()),
                found => {
                    let last = unicode(found.map(|(c, _)| c));
                    return Err(self.fail(format!("bad character {last}")));
                }
            }
        }
    }

    fn identifier(&mut self) -> Item {
        match self.word() {
            Ok(()) => self.emit(keyword(&self.input[self.start..self.pos])),
            Err(error) => error,
        }
    }

    /// A dot or a dollar, and the name behind it.
    fn field_or_variable(&mut self, kind: Kind) -> Item {
        self.pos += 1;
        if self.at_terminator() {
            return self.emit(if kind == Kind::Field { Kind::Dot } else { kind });
        }
        match self.word() {
            Ok(()) => self.emit(kind),
            Err(error) => error,
        }
    }

    /// Whether what follows may end an identifier.
    fn at_terminator(&self) -> bool {
        match self.byte() {
            None | Some(b' ' | b'\t' | b'\r' | b'\n' | b'.' | b',' | b'|' | b':' | b')' | b'(') => {
                true
            }
            Some(byte) => byte == RIGHT[0] && self.rest().starts_with(RIGHT),
        }
    }

    fn char_constant(&mut self) -> Item {
        self.quoted(b'\'', Kind::CharConstant, "unterminated character constant")
    }

    fn quote(&mut self) -> Item {
        self.quoted(b'"', Kind::String, "unterminated quoted string")
    }

    /// What stands between two quotes on one line, where a backslash takes what follows with it.
    fn quoted(&mut self, quote: u8, kind: Kind, unterminated: &str) -> Item {
        self.pos += 1;
        loop {
            let rest = self.rest();
            let Some(at) = memchr::memchr3(quote, b'\\', b'\n', rest) else {
                return self.fail(unterminated);
            };
            self.pos += at + 1;
            match (rest.get(at), self.byte()) {
                (Some(b'\\'), Some(taken)) if taken != b'\n' => self.pos += 1,
                (Some(&end), _) if end == quote => return self.emit(kind),
                _ => return self.fail(unterminated),
            }
        }
    }

    fn raw_quote(&mut self) -> Item {
        let Some(at) = memchr::memchr(b'`', self.from(self.pos + 1)) else {
            return self.fail("unterminated raw quoted string");
        };
        self.pos += at + 2;
        self.emit(Kind::RawString)
    }

    fn number(&mut self) -> Item {
        if !self.scan_number() {
            return self.bad_number();
        }
        if matches!(self.byte(), Some(b'+' | b'-')) {
            if !self.scan_number() || self.input.get(self.pos.wrapping_sub(1)) != Some(&b'i') {
                return self.bad_number();
            }
            return self.emit(Kind::Complex);
        }
        self.emit(Kind::Number)
    }

    fn bad_number(&mut self) -> Item {
        let text = quoted(&self.input[self.start..self.pos]);
        self.fail(format!("bad number syntax: {text}"))
    }

    fn accept(&mut self, valid: &[u8]) -> bool {
        let found = self.byte().is_some_and(|byte| valid.contains(&byte));
        self.pos += usize::from(found);
        found
    }

    fn accept_run(&mut self, valid: &[u8]) {
        while self.accept(valid) {}
    }

    fn scan_number(&mut self) -> bool {
        self.accept(b"+-");
        let mut digits: &[u8] = b"0123456789_";
        if self.accept(b"0") {
            if self.accept(b"xX") {
                digits = b"0123456789abcdefABCDEF_";
            } else if self.accept(b"oO") {
                digits = b"01234567_";
            } else if self.accept(b"bB") {
                digits = b"01_";
            }
        }
        self.accept_run(digits);
        if self.accept(b".") {
            self.accept_run(digits);
        }
        if digits.len() == 11 && self.accept(b"eE") {
            self.accept(b"+-");
            self.accept_run(b"0123456789_");
        }
        if digits.len() == 23 && self.accept(b"pP") {
            self.accept(b"+-");
            self.accept_run(b"0123456789_");
        }
        self.accept(b"i");
        match self.char() {
            Some((c, width)) if is_alphanumeric(c) => {
                self.pos += width;
                false
            }
            _ => true,
        }
    }
}

/// The line, from 1, of a place in a source.
pub(crate) fn line_at(source: &[u8], pos: u32) -> usize {
    let before = source.get(..pos as usize).unwrap_or(source);
    1 + memchr::memchr_iter(b'\n', before).count()
}

/// What a word is; most are no keywords, which the first byte tells of many.
fn keyword(word: &[u8]) -> Kind {
    if !matches!(
        word.first(),
        Some(b'b' | b'c' | b'd' | b'e' | b'f' | b'i' | b'n' | b'r' | b't' | b'w')
    ) || word.len() > 8
    {
        return Kind::Identifier;
    }
    match word {
        b"block" => Kind::Block,
        b"break" => Kind::Break,
        b"continue" => Kind::Continue,
        b"define" => Kind::Define,
        b"else" => Kind::Else,
        b"end" => Kind::End,
        b"if" => Kind::If,
        b"range" => Kind::Range,
        b"nil" => Kind::Nil,
        b"template" => Kind::Template,
        b"with" => Kind::With,
        b"true" | b"false" => Kind::Bool,
        _ => Kind::Identifier,
    }
}

/// Where the next left delimiter is. Single braces are rare beside it, so that looking for one byte is enough.
fn find_left(text: &[u8]) -> Option<usize> {
    memchr::memchr_iter(LEFT[0], text).find(|&at| text.get(at + 1) == Some(&LEFT[1]))
}

/// `%#U` of a character; the end of input is -1.
fn unicode(c: Option<char>) -> String {
    let Some(c) = c else {
        return "U+FFFFFFFFFFFFFFFF".to_owned();
    };
    let code = u32::from(c);
    if utf8::is_print(c) {
        format!("U+{code:04X} '{c}'")
    } else {
        format!("U+{code:04X}")
    }
}

/// Whether a byte is a letter, a digit or an underscore by itself.
fn is_plain(byte: u8) -> bool {
    /// Most of what actions hold are such bytes: asking a table is faster than comparing.
    const PLAIN: [bool; 256] = {
        let mut plain = [false; 256];
        let mut byte = 0u8;
        while byte < 0x80 {
            plain[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_';
            byte += 1;
        }
        plain
    };
    PLAIN[usize::from(byte)]
}

fn is_alphanumeric(c: char) -> bool {
    c == '_' || utf8::is_letter(c) || utf8::is_digit(c)
}

fn blank_byte(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn trailing_space(text: &[u8]) -> usize {
    text.iter()
        .rev()
        .take_while(|&&byte| blank_byte(byte))
        .count()
}

fn leading_space(text: &[u8]) -> usize {
    text.iter().take_while(|&&byte| blank_byte(byte)).count()
}

fn has_left_trim(text: &[u8]) -> bool {
    matches!(text, [b'-', space, ..] if blank_byte(*space))
}

fn has_right_trim(text: &[u8]) -> bool {
    matches!(text, [space, b'-', ..] if blank_byte(*space))
}

#[cfg(test)]
mod tests {
    use super::{Kind, Lexer};

    fn kinds(text: &str) -> Vec<Kind> {
        let mut lexer = Lexer::new(text.as_bytes());
        let mut kinds = Vec::new();
        loop {
            let item = lexer.next_item();
            kinds.push(item.kind);
            if matches!(item.kind, Kind::Eof | Kind::Error) {
                return kinds;
            }
        }
    }

    #[test]
    fn trimming_belongs_to_text_not_to_actions() {
        assert_eq!(
            kinds("a {{- .x -}} b"),
            [
                Kind::Text,
                Kind::LeftDelim,
                Kind::Field,
                Kind::RightDelim,
                Kind::Text,
                Kind::Eof
            ]
        );
        assert_eq!(
            kinds("{{-3}}"),
            [Kind::LeftDelim, Kind::Number, Kind::RightDelim, Kind::Eof]
        );
    }

    #[test]
    fn what_is_not_closed_is_an_error() {
        assert_eq!(kinds("{{ .x").last(), Some(&Kind::Error));
        assert_eq!(kinds("{{ (1 }}").last(), Some(&Kind::Error));
        assert_eq!(kinds("{{/* x }}").last(), Some(&Kind::Error));
    }
}
