//! Sprig's ways to join words: camel, snake and kebab.

use crate::error::FuncError;
use crate::func::{Cx, FuncDef, Param, text_at};
use crate::text::Str;
use crate::utf8;
use crate::value::Value;

type Result<T> = std::result::Result<T, FuncError>;

const STR: Param = Param::String;

pub(crate) const TABLE: &[FuncDef] = &[
    FuncDef {
        name: "camelcase",
        params: &[STR],
        rest: None,
        call: camelcase,
    },
    FuncDef {
        name: "kebabcase",
        params: &[STR],
        rest: None,
        call: kebabcase,
    },
    FuncDef {
        name: "snakecase",
        params: &[STR],
        rest: None,
        call: snakecase,
    },
];

fn ok(text: impl Into<Str>) -> Result<Value> {
    Ok(Value::String(text.into()))
}

fn is_connector(c: char) -> bool {
    c == '-' || c == '_' || utf8::is_space(c)
}

fn camelcase(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let text = text_at(args, 0);
    let chars: Vec<char> = utf8::chars(&text).map(|(_, c, _)| c).collect();
    let mut out = Vec::with_capacity(text.len());
    let Some(first) = chars.iter().position(|&c| !is_connector(c)) else {
        // Nothing but connectors: the last one stands twice.
        for &c in chars.iter().chain(chars.last()) {
            utf8::push(&mut out, c);
        }
        return ok(out);
    };
    for &c in &chars[..first] {
        utf8::push(&mut out, c);
    }
    let mut shouting = utf8::is_upper(chars[first]);
    let mut current = utf8::to_upper(chars[first]);
    for &next in &chars[first + 1..] {
        let before = std::mem::replace(&mut current, next);
        if is_connector(next) && is_connector(before) {
            utf8::push(&mut out, before);
        } else if is_connector(before) {
            shouting = utf8::is_upper(next);
            current = utf8::to_upper(next);
        } else {
            if shouting {
                if utf8::is_upper(next) {
                    current = utf8::to_lower(next);
                } else {
                    shouting = false;
                }
            }
            utf8::push(&mut out, before);
        }
    }
    utf8::push(&mut out, current);
    ok(out)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    None,
    Number,
    Upper,
    Alphabet,
    Connector,
    Punct,
    Other,
}

/// A letter of a script with letters.
fn is_alphabet(c: char) -> bool {
    if !utf8::is_letter(c) {
        return false;
    }
    // Chinese characters are words by themselves.
    !matches!(u32::from(c), 0x4E00..=0x9FCC | 0x3400..=0x4D85 | 0x20000..=0x2B81D)
}

/// The first word of a text: its kind and its end.
fn next_word(text: &[u8]) -> (Word, usize) {
    if text.is_empty() {
        return (Word::None, 0);
    }
    let (first, width) = utf8::decode(text);
    let run = |from: usize, more: &dyn Fn(char) -> bool| {
        let mut at = from;
        while at < text.len() {
            let (c, width) = utf8::decode(&text[at..]);
            if !more(c) {
                break;
            }
            at += width;
        }
        at
    };
    if is_connector(first) {
        return (Word::Connector, run(width, &is_connector));
    }
    if utf8::is_punct(first) {
        return (Word::Punct, run(width, &utf8::is_punct));
    }
    if utf8::is_upper(first) {
        return (Word::Upper, upper_word(text, width, &run));
    }
    if is_alphabet(first) {
        return (
            Word::Alphabet,
            run(width, &|c| is_alphabet(c) && !utf8::is_upper(c)),
        );
    }
    if utf8::is_number(first) {
        return (Word::Number, run(width, &utf8::is_number));
    }
    let other =
        |c: char| !(is_connector(c) || is_alphabet(c) || utf8::is_number(c) || utf8::is_punct(c));
    (Word::Other, run(width, &other))
}

/// Tells where a run of characters that pass a test ends.
type Run<'r> = dyn Fn(usize, &dyn Fn(char) -> bool) -> usize + 'r;

/// The end of a word that starts with a capital.
fn upper_word(text: &[u8], width: usize, run: &Run<'_>) -> usize {
    if width >= text.len() {
        return width;
    }
    let (second, _) = utf8::decode(&text[width..]);
    if utf8::is_upper(second) {
        let end = run(width, &utf8::is_upper);
        // In `HTTPStatus` the last capital belongs to the next word.
        if end < text.len() && is_alphabet(utf8::decode(&text[end..]).0) {
            return end - utf8::decode_last(&text[..end]).1;
        }
        return end;
    }
    if is_alphabet(second) {
        return run(width, &|c| is_alphabet(c) && !utf8::is_upper(c));
    }
    width
}

/// Words joined by a connector, in lower case.
struct Joiner<'t> {
    rest: &'t [u8],
    out: Vec<u8>,
    connector: u8,
}

impl<'t> Joiner<'t> {
    fn next(&mut self) -> (Word, &'t [u8]) {
        let (kind, end) = next_word(self.rest);
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (kind, word)
    }

    fn lower(&mut self, kind: Word, word: &[u8]) {
        if !matches!(kind, Word::Upper | Word::Connector) {
            self.out.extend_from_slice(word);
            return;
        }
        for (_, c, _) in utf8::chars(word) {
            if is_connector(c) {
                self.out.push(self.connector);
            } else {
                utf8::push(
                    &mut self.out,
                    if utf8::is_upper(c) {
                        utf8::to_lower(c)
                    } else {
                        c
                    },
                );
            }
        }
    }

    fn connect(&mut self, kind: Word) {
        if !matches!(kind, Word::None | Word::Connector | Word::Punct) {
            self.out.push(self.connector);
        }
    }

    /// Takes letters and digits that follow each other as one word.
    fn glue(&mut self, mut kind: Word, mut word: &'t [u8]) -> (Word, &'t [u8]) {
        while matches!(kind, Word::Alphabet | Word::Number) {
            self.lower(kind, word);
            (kind, word) = self.next();
        }
        self.connect(kind);
        (kind, word)
    }

    fn run(mut self) -> Vec<u8> {
        let (mut kind, mut word) = self.next();
        while !self.rest.is_empty() {
            if kind != Word::Connector {
                self.lower(kind, word);
            }
            let (before, last) = (kind, word);
            (kind, word) = self.next();
            match before {
                Word::Number => (kind, word) = self.glue(kind, word),
                Word::Connector => self.lower(before, last),
                Word::Punct => {}
                _ if kind != Word::Number => self.connect_known(kind),
                _ if self.rest.is_empty() => {}
                _ => {
                    let number = word;
                    (kind, word) = self.next();
                    if kind == Word::Alphabet {
                        // In `HTTP2xx` the number belongs to what follows.
                        self.out.push(self.connector);
                        self.lower(Word::Number, number);
                        (kind, word) = self.glue(kind, word);
                    } else {
                        self.lower(Word::Number, number);
                        self.connect_known(kind);
                    }
                }
            }
        }
        self.lower(kind, word);
        self.out
    }

    fn connect_known(&mut self, kind: Word) {
        if !matches!(kind, Word::Connector | Word::Punct) {
            self.out.push(self.connector);
        }
    }
}

fn snakecase(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let text = text_at(args, 0);
    ok(Joiner {
        rest: &text,
        out: Vec::new(),
        connector: b'_',
    }
    .run())
}

fn kebabcase(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let text = text_at(args, 0);
    ok(Joiner {
        rest: &text,
        out: Vec::new(),
        connector: b'-',
    }
    .run())
}
