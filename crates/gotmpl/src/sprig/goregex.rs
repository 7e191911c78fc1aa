//! Go's regular expression syntax to that of the regex crate.
//!
//! Duty: refuse what Go refuses, in Go's words, and say the rest so that it means the same: `\d`, `\w`, `\s` and `\b` are
//! ASCII in Go, braces that count nothing are literal, `\Q…\E` quotes, and classes know no set operations.

use std::fmt::Write as _;

use crate::utf8;

/// What is wrong with a pattern, and the part of it.
pub(super) type Refused = (&'static str, String);

const MAX_REPEAT: u32 = 1000;
const MAX_NESTING: usize = 1000;

/// The classes that have names in brackets.
const POSIX: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// Translates a pattern.
pub(super) fn translate(text: &[u8]) -> Result<String, Refused> {
    let Ok(text) = std::str::from_utf8(text) else {
        return Err(("invalid UTF-8", String::from_utf8_lossy(text).into_owned()));
    };
    let mut translator = Translator {
        text,
        rest: text,
        out: String::new(),
        open: Vec::new(),
    };
    translator.run()?;
    Ok(translator.out)
}

struct Translator<'t> {
    text: &'t str,
    rest: &'t str,
    out: String,
    /// Where groups were opened, with the flags that hold outside of them.
    open: Vec<bool>,
}

/// What the last piece was, to tell what may be repeated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Piece,
    /// A repetition that started at this place from the end.
    Repeat(usize),
}

impl Translator<'_> {
    fn run(&mut self) -> Result<(), Refused> {
        let mut last = Last::Nothing;
        while let Some(c) = self.rest.chars().next() {
            match c {
                '(' => {
                    self.group()?;
                    last = if self.out.ends_with(')') {
                        last
                    } else {
                        Last::Nothing
                    };
                }
                ')' => {
                    if self.open.pop().is_none() {
                        return Err(("unexpected )", self.text.to_owned()));
                    }
                    self.take(1);
                    self.out.push(')');
                    last = Last::Piece;
                }
                '|' => {
                    self.take(1);
                    self.out.push('|');
                    last = Last::Nothing;
                }
                '*' | '+' | '?' => last = self.repeat(last, 1)?,
                '{' => match counted(self.rest) {
                    Some((from, to, width)) => {
                        if from > MAX_REPEAT || to.is_some_and(|to| to > MAX_REPEAT || to < from) {
                            return Err(("invalid repeat count", self.rest[..width].to_owned()));
                        }
                        last = self.repeat(last, width)?;
                    }
                    None => {
                        self.take(1);
                        self.out.push_str("\\{");
                        last = Last::Piece;
                    }
                },
                '[' => {
                    self.class()?;
                    last = Last::Piece;
                }
                '\\' => {
                    last = self.escape(last)?;
                }
                '}' | ']' | '#' | '&' | '-' | '~' => {
                    self.take(1);
                    let _ = write!(self.out, "\\{c}");
                    last = Last::Piece;
                }
                _ => {
                    self.take(c.len_utf8());
                    self.out.push(c);
                    last = Last::Piece;
                }
            }
        }
        if self.open.is_empty() {
            Ok(())
        } else {
            Err(("missing closing )", self.text.to_owned()))
        }
    }

    fn take(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    fn repeat(&mut self, last: Last, width: usize) -> Result<Last, Refused> {
        let start = self.rest.len();
        let mut end = width;
        if self.rest[end..].starts_with('?') {
            end += 1;
        }
        match last {
            Last::Nothing => {
                return Err((
                    "missing argument to repetition operator",
                    self.rest[..end].to_owned(),
                ));
            }
            Last::Repeat(from) => {
                let whole = &self.text[self.text.len() - from..self.text.len() - start + end];
                return Err(("invalid nested repetition operator", whole.to_owned()));
            }
            Last::Piece => {}
        }
        self.out.push_str(&self.rest[..end]);
        self.take(end);
        Ok(Last::Repeat(start))
    }

    fn group(&mut self) -> Result<(), Refused> {
        if self.open.len() >= MAX_NESTING {
            return Err(("expression nests too deeply", self.text.to_owned()));
        }
        if !self.rest.starts_with("(?") {
            self.take(1);
            self.out.push('(');
            self.open.push(true);
            return Ok(());
        }
        let named = self
            .rest
            .strip_prefix("(?P<")
            .or_else(|| self.rest.strip_prefix("(?<"));
        if let Some(rest) = named {
            let Some(end) = rest.find('>') else {
                return Err(("invalid named capture", self.text_rest()));
            };
            let name = &rest[..end];
            let whole = self.rest[..self.rest.len() - rest.len() + end + 1].to_owned();
            let good = |c: char| c == '_' || utf8::is_letter(c) || utf8::is_digit(c);
            if name.is_empty() || !name.chars().all(good) {
                return Err(("invalid named capture", whole));
            }
            let _ = write!(self.out, "(?P<{name}>");
            self.take(whole.len());
            self.open.push(true);
            return Ok(());
        }
        self.flags()
    }

    fn text_rest(&self) -> String {
        self.rest.to_owned()
    }

    /// `(?flags)` and `(?flags:`.
    fn flags(&mut self) -> Result<(), Refused> {
        let mut width = 2;
        let mut negated = false;
        let mut seen = false;
        for c in self.rest[2..].chars() {
            width += c.len_utf8();
            match c {
                'i' | 'm' | 's' | 'U' => seen = true,
                '-' if !negated => {
                    negated = true;
                    seen = false;
                }
                ':' | ')' if !negated || seen => {
                    self.out.push_str(&self.rest[..width]);
                    self.take(width);
                    if c == ':' {
                        self.open.push(true);
                    }
                    return Ok(());
                }
                _ => {
                    let part = self.rest[..width].to_owned();
                    return Err(("invalid or unsupported Perl syntax", part));
                }
            }
        }
        Err(("missing argument to repetition operator", "?".to_owned()))
    }

    fn escape(&mut self, last: Last) -> Result<Last, Refused> {
        let mut chars = self.rest.chars();
        chars.next();
        let Some(c) = chars.next() else {
            return Err(("trailing backslash at end of expression", String::new()));
        };
        let simple = match c {
            'd' => "[0-9]",
            'D' => "[^0-9]",
            's' => "[\\t\\n\\x0C\\r ]",
            'S' => "[^\\t\\n\\x0C\\r ]",
            'w' => "[0-9A-Za-z_]",
            'W' => "[^0-9A-Za-z_]",
            'b' => "(?-u:\\b)",
            'B' => "(?-u:\\B)",
            'A' => "\\A",
            'z' => "\\z",
            _ => "",
        };
        if !simple.is_empty() {
            self.out.push_str(simple);
            self.take(2);
            return Ok(Last::Piece);
        }
        if c == 'Q' {
            let body = &self.rest[2..];
            let (quoted, used) = match body.find("\\E") {
                Some(end) => (&body[..end], end + 2),
                None => (body, body.len()),
            };
            self.out.push_str(&regex::escape(quoted));
            self.take(2 + used);
            return Ok(if quoted.is_empty() { last } else { Last::Piece });
        }
        if matches!(c, 'p' | 'P') {
            let name = self.property()?;
            self.out.push_str(&name);
            return Ok(Last::Piece);
        }
        let code = self.escaped_char()?;
        push_char(&mut self.out, code);
        Ok(Last::Piece)
    }

    /// `\pN` and `\p{Name}`, which mean the same on both sides.
    fn property(&mut self) -> Result<String, Refused> {
        let body = &self.rest[2..];
        let width = match body.chars().next() {
            Some('{') => match body.find('}') {
                Some(end) => end + 1,
                None => return Err(("invalid character class range", self.rest.to_owned())),
            },
            Some(c) => c.len_utf8(),
            None => return Err(("invalid escape sequence", self.rest.to_owned())),
        };
        let whole = self.rest[..2 + width].to_owned();
        // Asked alone, the crate says whether it knows the name.
        if regex::bytes::Regex::new(&whole).is_err() {
            return Err(("invalid character class range", whole));
        }
        self.take(2 + width);
        Ok(whole)
    }

    /// An escape that stands for one character.
    fn escaped_char(&mut self) -> Result<char, Refused> {
        let body = &self.rest[1..];
        let Some(c) = body.chars().next() else {
            return Err(("trailing backslash at end of expression", String::new()));
        };
        let (code, used) = match c {
            '1'..='7' if !body[1..].starts_with(|next: char| ('0'..='7').contains(&next)) => {
                return Err(("invalid escape sequence", self.rest[..2].to_owned()));
            }
            '0'..='7' => {
                let digits: String = body
                    .chars()
                    .take(3)
                    .take_while(|c| ('0'..='7').contains(c))
                    .collect();
                (u32::from_str_radix(&digits, 8).unwrap_or(0), digits.len())
            }
            'x' => self.hex_escape(body)?,
            'a' => (7, 1),
            'f' => (12, 1),
            'n' => (10, 1),
            'r' => (13, 1),
            't' => (9, 1),
            'v' => (11, 1),
            _ if c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_' => (u32::from(c), 1),
            _ if c == '_' => (u32::from(c), 1),
            _ => {
                let part = self.rest[..1 + c.len_utf8()].to_owned();
                return Err(("invalid escape sequence", part));
            }
        };
        self.take(1 + used);
        Ok(char::from_u32(code).unwrap_or(utf8::REPLACEMENT))
    }

    fn hex_escape(&self, body: &str) -> Result<(u32, usize), Refused> {
        let refused = |width: usize| {
            let part: String = self.rest.chars().take(width).collect();
            ("invalid escape sequence", part)
        };
        if let Some(rest) = body[1..].strip_prefix('{') {
            let end = rest.find('}').ok_or_else(|| refused(self.rest.len()))?;
            let code = u32::from_str_radix(&rest[..end], 16).map_err(|_| refused(end + 4))?;
            if code > 0x10_FFFF {
                return Err(refused(end + 4));
            }
            return Ok((code, end + 3));
        }
        let digits = body.get(1..3).ok_or_else(|| refused(4))?;
        let code = u32::from_str_radix(digits, 16).map_err(|_| refused(4))?;
        Ok((code, 3))
    }

    fn class(&mut self) -> Result<(), Refused> {
        let whole = self.rest;
        let missing = || ("missing closing ]", whole.to_owned());
        self.take(1);
        self.out.push('[');
        if self.rest.starts_with('^') {
            self.take(1);
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let c = self.rest.chars().next().ok_or_else(missing)?;
            if c == ']' && !first {
                self.take(1);
                self.out.push(']');
                return Ok(());
            }
            first = false;
            if self.rest.starts_with("[:")
                && let Some(end) = self.rest.find(":]")
            {
                let name = self.rest[..end + 2].to_owned();
                let word = name[2..end].trim_start_matches('^');
                if !POSIX.contains(&word) {
                    return Err(("invalid character class range", name));
                }
                self.take(name.len());
                self.out.push_str(&name);
                continue;
            }
            if self.class_escape()? {
                continue;
            }
            self.class_range(whole)?;
        }
    }

    /// A class inside a class, such as `\d`.
    fn class_escape(&mut self) -> Result<bool, Refused> {
        let Some(c) = self
            .rest
            .strip_prefix('\\')
            .and_then(|rest| rest.chars().next())
        else {
            return Ok(false);
        };
        let text = match c {
            'd' => "0-9".to_owned(),
            'D' => "[^0-9]".to_owned(),
            's' => "\\t\\n\\x0C\\r ".to_owned(),
            'S' => "[^\\t\\n\\x0C\\r ]".to_owned(),
            'w' => "0-9A-Za-z_".to_owned(),
            'W' => "[^0-9A-Za-z_]".to_owned(),
            'p' | 'P' => {
                let name = self.property()?;
                self.out.push_str(&name);
                return Ok(true);
            }
            _ => return Ok(false),
        };
        self.out.push_str(&text);
        self.take(2);
        Ok(true)
    }

    fn class_range(&mut self, whole: &str) -> Result<(), Refused> {
        let start = self.rest;
        let low = self.class_char(whole)?;
        push_char(&mut self.out, low);
        if self.rest.starts_with('-') && !self.rest[1..].starts_with(']') {
            if self.rest.len() == 1 {
                return Err(("missing closing ]", whole.to_owned()));
            }
            self.take(1);
            let high = self.class_char(whole)?;
            if high < low {
                let part = start[..start.len() - self.rest.len()].to_owned();
                return Err(("invalid character class range", part));
            }
            self.out.push('-');
            push_char(&mut self.out, high);
        }
        Ok(())
    }

    fn class_char(&mut self, whole: &str) -> Result<char, Refused> {
        match self.rest.chars().next() {
            None => Err(("missing closing ]", whole.to_owned())),
            Some('\\') => self.escaped_char(),
            Some(c) => {
                self.take(c.len_utf8());
                Ok(c)
            }
        }
    }
}

/// A character with whatever it needs to be itself.
fn push_char(out: &mut String, c: char) {
    if c.is_ascii() && !c.is_ascii_alphanumeric() {
        let _ = write!(out, "\\x{:02X}", u32::from(c));
    } else {
        out.push(c);
    }
}

/// `{n}`, `{n,}`, `{n,m}`: the counts and the width; anything else is no repetition.
fn counted(text: &str) -> Option<(u32, Option<u32>, usize)> {
    let end = text.find('}')?;
    let body = &text[1..end];
    let number = |digits: &str| {
        let good = !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && (digits == "0" || !digits.starts_with('0'));
        good.then(|| digits.parse().unwrap_or(u32::MAX))
    };
    let (from, to) = match body.split_once(',') {
        None => {
            let count = number(body)?;
            (count, Some(count))
        }
        Some((from, "")) => (number(from)?, None),
        Some((from, to)) => (number(from)?, Some(number(to)?)),
    };
    Some((from, to, end + 1))
}

#[cfg(test)]
mod tests {
    use super::translate;

    #[test]
    fn classes_are_ascii_and_braces_literal() {
        assert_eq!(translate(br"\d{2}").unwrap(), "[0-9]{2}");
        assert_eq!(translate(b"a{,2}").unwrap(), r"a\{,2\}");
        assert_eq!(translate(br"[\w.-]").unwrap(), r"[0-9A-Za-z_\x2E\x2D]");
        assert_eq!(translate(br"\Qa.b\E+").unwrap(), r"a\.b+");
    }

    #[test]
    fn what_go_refuses_is_refused_in_its_words() {
        for (pattern, what, part) in [
            ("a**", "invalid nested repetition operator", "**"),
            ("*a", "missing argument to repetition operator", "*"),
            ("(a", "missing closing )", "(a"),
            ("a)", "unexpected )", "a)"),
            ("[a", "missing closing ]", "[a"),
            ("a\\", "trailing backslash at end of expression", ""),
            ("\\y", "invalid escape sequence", "\\y"),
            ("(?=a)", "invalid or unsupported Perl syntax", "(?="),
            ("a{1001}", "invalid repeat count", "{1001}"),
            ("[z-a]", "invalid character class range", "z-a"),
            ("[a-z-9--!]", "invalid character class range", "9--"),
        ] {
            assert_eq!(
                translate(pattern.as_bytes()),
                Err((what, part.to_owned())),
                "{pattern}"
            );
        }
    }
}
