//! Template text to tokens.
//!
//! Duty: the tokens Go's lexer finds, at the same places and lines, with the same complaints.

use memchr::memmem;

use crate::ast::{Span, pos32};
use crate::number::quoted;
use crate::utf8;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    pub(crate) line: u32,
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
pub(crate) struct Lexer<'t> {
    input: &'t [u8],
    pos: usize,
    start: usize,
    at_eof: bool,
    parens: i32,
    line: u32,
    start_line: u32,
    inside: bool,
    /// What is wrong, once something is.
    failure: Option<Box<str>>,
}

enum State {
    Emit(Item),
    Text,
    LeftDelim,
    Comment,
    RightDelim,
    Space,
    Identifier,
    Field,
    Variable,
}

impl<'t> Lexer<'t> {
    pub(crate) fn new(input: &'t [u8]) -> Self {
        Self {
            input,
            pos: 0,
            start: 0,
            at_eof: false,
            parens: 0,
            line: 1,
            start_line: 1,
            inside: false,
            failure: None,
        }
    }

    /// The words of an error token.
    pub(crate) fn failure(&self) -> &str {
        self.failure.as_deref().unwrap_or_default()
    }

    fn rest(&self) -> &'t [u8] {
        self.input.get(self.pos..).unwrap_or_default()
    }

    fn from(&self, at: usize) -> &'t [u8] {
        self.input.get(at..).unwrap_or_default()
    }

    /// The next character, or `None` at the end.
    fn next(&mut self) -> Option<char> {
        let rest = self.rest();
        if rest.is_empty() {
            self.at_eof = true;
            return None;
        }
        let (c, width) = utf8::decode(rest);
        self.pos += width;
        if c == '\n' {
            self.line += 1;
        }
        Some(c)
    }

    fn backup(&mut self) {
        if !self.at_eof && self.pos > 0 {
            let (c, width) = utf8::decode_last(&self.input[..self.pos]);
            self.pos -= width;
            if c == '\n' {
                self.line -= 1;
            }
        }
    }

    fn peek(&mut self) -> Option<char> {
        let c = self.next();
        self.backup();
        c
    }

    fn newlines(&self) -> u32 {
        let bytes = &self.input[self.start..self.pos];
        // Mostly one space or a trimming mark, for which a loop is faster.
        if bytes.len() < 16 {
            let mut count = 0;
            for &byte in bytes {
                count += u32::from(byte == b'\n');
            }
            return count;
        }
        pos32(memchr::memchr_iter(b'\n', bytes).count())
    }

    fn take(&mut self, kind: Kind) -> Item {
        let item = Item {
            kind,
            pos: pos32(self.start),
            end: pos32(self.pos),
            line: self.start_line,
        };
        self.start = self.pos;
        self.start_line = self.line;
        item
    }

    fn emit(&mut self, kind: Kind) -> State {
        State::Emit(self.take(kind))
    }

    fn ignore(&mut self) {
        self.line += self.newlines();
        self.start = self.pos;
        self.start_line = self.line;
    }

    fn fail(&mut self, message: impl Into<Box<str>>) -> State {
        let item = Item {
            kind: Kind::Error,
            pos: pos32(self.start),
            end: pos32(self.start),
            line: self.start_line,
        };
        self.failure = Some(message.into());
        self.start = 0;
        self.pos = 0;
        self.input = &[];
        State::Emit(item)
    }

    /// The next token; after an error or the end, the end again.
    pub(crate) fn next_item(&mut self) -> Item {
        let mut state = if self.inside {
            self.inside_action()
        } else {
            self.text()
        };
        loop {
            state = match state {
                State::Emit(item) => return item,
                State::Text => self.text(),
                State::LeftDelim => self.left_delim(),
                State::Comment => self.comment(),
                State::RightDelim => self.right_delim(),
                State::Space => self.space(),
                State::Identifier => self.identifier(),
                State::Field => self.field_or_variable(Kind::Field),
                State::Variable => self.field_or_variable(Kind::Variable),
            };
        }
    }

    fn text(&mut self) -> State {
        if let Some(at) = find_left(self.rest()) {
            if at > 0 {
                self.pos += at;
                let trimmed = if has_left_trim(self.from(self.pos + LEFT.len())) {
                    trailing_space(&self.input[self.start..self.pos])
                } else {
                    0
                };
                self.pos -= trimmed;
                self.line += self.newlines();
                let item = self.take(Kind::Text);
                self.pos += trimmed;
                self.ignore();
                if item.end > item.pos {
                    return State::Emit(item);
                }
            }
            return State::LeftDelim;
        }
        self.pos = self.input.len();
        if self.pos > self.start {
            self.line += self.newlines();
            return self.emit(Kind::Text);
        }
        self.emit(Kind::Eof)
    }

    /// Whether the right delimiter is here, and whether it trims.
    fn at_right_delim(&self) -> (bool, bool) {
        if !matches!(
            self.rest().first(),
            Some(b'}' | b' ' | b'\t' | b'\r' | b'\n')
        ) {
            return (false, false);
        }
        if has_right_trim(self.rest()) && self.from(self.pos + TRIM_WIDTH).starts_with(RIGHT) {
            return (true, true);
        }
        (self.rest().starts_with(RIGHT), false)
    }

    fn left_delim(&mut self) -> State {
        self.pos += LEFT.len();
        let after = if has_left_trim(self.rest()) {
            TRIM_WIDTH
        } else {
            0
        };
        if self.from(self.pos + after).starts_with(b"/*") {
            self.pos += after;
            self.ignore();
            return State::Comment;
        }
        let item = self.take(Kind::LeftDelim);
        self.inside = true;
        self.pos += after;
        self.ignore();
        self.parens = 0;
        State::Emit(item)
    }

    fn comment(&mut self) -> State {
        self.pos += 2;
        let Some(at) = memmem::find(self.rest(), b"*/") else {
            return self.fail("unclosed comment");
        };
        self.pos += at + 2;
        let (delim, trim) = self.at_right_delim();
        if !delim {
            return self.fail("comment ends before closing delimiter");
        }
        self.line += self.newlines();
        self.start = self.pos;
        self.start_line = self.line;
        if trim {
            self.pos += TRIM_WIDTH;
        }
        self.pos += RIGHT.len();
        if trim {
            self.pos += leading_space(self.rest());
        }
        self.ignore();
        State::Text
    }

    fn right_delim(&mut self) -> State {
        let (_, trim) = self.at_right_delim();
        if trim {
            self.pos += TRIM_WIDTH;
            self.ignore();
        }
        self.pos += RIGHT.len();
        let item = self.take(Kind::RightDelim);
        if trim {
            self.pos += leading_space(self.rest());
            self.ignore();
        }
        self.inside = false;
        State::Emit(item)
    }

    fn inside_action(&mut self) -> State {
        if self.at_right_delim().0 {
            if self.parens == 0 {
                return State::RightDelim;
            }
            return self.fail("unclosed left paren");
        }
        let Some(c) = self.next() else {
            return if self.failure.is_some() {
                self.emit(Kind::Eof)
            } else {
                self.fail("unclosed action")
            };
        };
        match c {
            ' ' | '\t' | '\r' | '\n' => {
                self.backup();
                State::Space
            }
            '=' => self.emit(Kind::Assign),
            ':' => {
                if self.next() != Some('=') {
                    return self.fail("expected :=");
                }
                self.emit(Kind::Declare)
            }
            '|' => self.emit(Kind::Pipe),
            '"' => self.quote(),
            '`' => self.raw_quote(),
            '$' => {
                if self.at_terminator() {
                    return self.emit(Kind::Variable);
                }
                State::Variable
            }
            '\'' => self.char_constant(),
            '.' if self
                .rest()
                .first()
                .is_some_and(|byte| !byte.is_ascii_digit()) =>
            {
                State::Field
            }
            '.' | '+' | '-' | '0'..='9' => {
                self.backup();
                self.number()
            }
            _ if is_alphanumeric(c) => {
                self.backup();
                State::Identifier
            }
            '(' => {
                self.parens += 1;
                self.emit(Kind::LeftParen)
            }
            ')' => {
                self.parens -= 1;
                if self.parens < 0 {
                    return self.fail("unexpected right paren");
                }
                self.emit(Kind::RightParen)
            }
            _ if c.is_ascii() && utf8::is_print(c) => self.emit(Kind::Char),
            _ => self.fail(format!(
                "unrecognized character in action: {}",
                unicode(Some(c))
            )),
        }
    }

    fn space(&mut self) -> State {
        let count = leading_space(self.rest());
        self.pos += count;
        self.line += self.newlines();
        let before = self.pos.saturating_sub(1);
        if has_right_trim(self.from(before)) && self.from(before + TRIM_WIDTH).starts_with(RIGHT) {
            self.backup();
            if count == 1 {
                return State::RightDelim;
            }
        }
        self.emit(Kind::Space)
    }

    /// Goes to the end of a word and gives the character behind it.
    fn word(&mut self) -> Option<char> {
        loop {
            let rest = self.rest();
            let plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
            let end = rest.iter().position(|byte| !plain(byte));
            self.pos += end.unwrap_or(rest.len());
            if let Some(&last) = end.and_then(|end| rest.get(end))
                && last.is_ascii()
            {
                return Some(char::from(last));
            }
            let next = self.next();
            if !next.is_some_and(is_alphanumeric) {
                self.backup();
                return next;
            }
        }
    }

    fn identifier(&mut self) -> State {
        let last = self.word();
        if !self.at_terminator() {
            return self.fail(format!("bad character {}", unicode(last)));
        }
        let kind = keyword(&self.input[self.start..self.pos]);
        self.emit(kind)
    }

    fn field_or_variable(&mut self, kind: Kind) -> State {
        if self.at_terminator() {
            return self.emit(if kind == Kind::Variable {
                kind
            } else {
                Kind::Dot
            });
        }
        let last = self.word();
        if !self.at_terminator() {
            return self.fail(format!("bad character {}", unicode(last)));
        }
        self.emit(kind)
    }

    /// Whether what follows may end an identifier.
    fn at_terminator(&mut self) -> bool {
        match self.rest().first() {
            None => {
                self.at_eof = true;
                true
            }
            Some(b' ' | b'\t' | b'\r' | b'\n' | b'.' | b',' | b'|' | b':' | b')' | b'(') => true,
            Some(_) => self.rest().starts_with(RIGHT),
        }
    }

    fn char_constant(&mut self) -> State {
        loop {
            match self.next() {
                Some('\\') => match self.next() {
                    Some(c) if c != '\n' => {}
                    _ => return self.fail("unterminated character constant"),
                },
                None | Some('\n') => return self.fail("unterminated character constant"),
                Some('\'') => return self.emit(Kind::CharConstant),
                Some(_) => {}
            }
        }
    }

    fn quote(&mut self) -> State {
        loop {
            let rest = self.rest();
            self.pos += memchr::memchr3(b'"', b'\\', b'\n', rest).unwrap_or(rest.len());
            match self.next() {
                Some('\\') => match self.next() {
                    Some(c) if c != '\n' => {}
                    _ => return self.fail("unterminated quoted string"),
                },
                None | Some('\n') => return self.fail("unterminated quoted string"),
                Some('"') => return self.emit(Kind::String),
                Some(_) => {}
            }
        }
    }

    fn raw_quote(&mut self) -> State {
        let Some(at) = memchr::memchr(b'`', self.rest()) else {
            return self.fail("unterminated raw quoted string");
        };
        self.pos += at + 1;
        self.line += self.newlines();
        self.emit(Kind::RawString)
    }

    fn number(&mut self) -> State {
        let scanned = self.scan_number();
        if !scanned {
            return self.bad_number();
        }
        if matches!(self.peek(), Some('+' | '-')) {
            if !self.scan_number() || self.input.get(self.pos.wrapping_sub(1)) != Some(&b'i') {
                return self.bad_number();
            }
            return self.emit(Kind::Complex);
        }
        self.emit(Kind::Number)
    }

    fn bad_number(&mut self) -> State {
        let text = quoted(&self.input[self.start..self.pos]);
        self.fail(format!("bad number syntax: {text}"))
    }

    fn accept(&mut self, valid: &str) -> bool {
        if self.next().is_some_and(|c| valid.contains(c)) {
            return true;
        }
        self.backup();
        false
    }

    fn accept_run(&mut self, valid: &str) {
        while self.next().is_some_and(|c| valid.contains(c)) {}
        self.backup();
    }

    fn scan_number(&mut self) -> bool {
        self.accept("+-");
        let mut digits = "0123456789_";
        if self.accept("0") {
            if self.accept("xX") {
                digits = "0123456789abcdefABCDEF_";
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        self.accept_run(digits);
        if self.accept(".") {
            self.accept_run(digits);
        }
        if digits.len() == 11 && self.accept("eE") {
            self.accept("+-");
            self.accept_run("0123456789_");
        }
        if digits.len() == 23 && self.accept("pP") {
            self.accept("+-");
            self.accept_run("0123456789_");
        }
        self.accept("i");
        if self.peek().is_some_and(is_alphanumeric) {
            self.next();
            return false;
        }
        true
    }
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
