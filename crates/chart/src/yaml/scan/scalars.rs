//! Scalars: block, quoted and plain.

use std::borrow::Cow;

use super::{Kind, Mark, Result, Scanner, hex};

/// Line breaks between two lines of a scalar.
#[derive(Default)]
struct Breaks {
    first: Option<char>,
    rest: String,
}

impl Breaks {
    /// Writes the breaks as they fold: one break becomes a space, of several the first is
    /// dropped. LS and PS stay.
    fn fold(&mut self, out: &mut String) {
        match self.first.take() {
            Some('\n') if self.rest.is_empty() => out.push(' '),
            Some('\n') | None => {}
            Some(other) => out.push(other),
        }
        out.push_str(&self.rest);
        self.rest.clear();
    }
}

/// What becomes of the line breaks at the end of a block scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chomp {
    Strip,
    Clip,
    Keep,
}

impl Scanner<'_> {
    pub(super) fn fetch_block_scalar(&mut self, literal: bool) -> Result<()> {
        self.drop_key()?;
        self.key_allowed = true;
        let line = self.mark.line;
        self.advance();
        let (chomp, hint) = self.block_header()?;
        self.end_of_line()?;

        let mut indent = match hint {
            0 => 0,
            hint => self.indent.max(0) + hint,
        };
        let mut text = String::new();
        let mut breaks = Breaks::default();
        self.block_indentation(&mut indent, &mut breaks.rest)?;
        let mut was_blank = false;
        while self.mark.column == indent && self.byte(0) != 0 {
            // Lines that begin with white space keep the breaks around them.
            let is_blank = self.is_blank(0);
            if literal || was_blank || is_blank || breaks.first != Some('\n') {
                text.extend(breaks.first.take());
                text.push_str(&breaks.rest);
                breaks.rest.clear();
            } else {
                breaks.fold(&mut text);
            }
            was_blank = is_blank;
            let from = self.at;
            self.advance_line()?;
            text.push_str(self.since(from));
            self.need(2)?;
            breaks.first = self.take_break();
            self.block_indentation(&mut indent, &mut breaks.rest)?;
        }
        if chomp != Chomp::Strip {
            text.extend(breaks.first);
        }
        if chomp == Chomp::Keep {
            text.push_str(&breaks.rest);
        }
        let text = Cow::Owned(text);
        self.push(Kind::Scalar { text, plain: false }, line);
        Ok(())
    }

    /// The marks behind `|` or `>`, in either order; an indentation of 0 is none.
    fn block_header(&mut self) -> Result<(Chomp, isize)> {
        let mut chomp = None;
        let mut hint = None;
        loop {
            self.need(1)?;
            match self.byte(0) {
                b'+' if chomp.is_none() => chomp = Some(Chomp::Keep),
                b'-' if chomp.is_none() => chomp = Some(Chomp::Strip),
                b'0' if hint.is_none() => {
                    return self.error("found an indentation indicator equal to 0");
                }
                digit @ b'1'..=b'9' if hint.is_none() => hint = Some(isize::from(digit - b'0')),
                _ => return Ok((chomp.unwrap_or(Chomp::Clip), hint.unwrap_or(0))),
            }
            self.advance();
        }
    }

    /// Moves over indentation and empty lines, and finds the indentation where it is not known.
    fn block_indentation(&mut self, indent: &mut isize, breaks: &mut String) -> Result<()> {
        let mut deepest = 0;
        loop {
            self.need(1)?;
            while (*indent == 0 || self.mark.column < *indent) && self.byte(0) == b' ' {
                self.advance();
                self.need(1)?;
            }
            deepest = deepest.max(self.mark.column);
            if (*indent == 0 || self.mark.column < *indent) && self.byte(0) == b'\t' {
                return self.error("found a tab character where an indentation space is expected");
            }
            if !self.is_break(0) {
                break;
            }
            self.need(2)?;
            breaks.extend(self.take_break());
        }
        if *indent == 0 {
            *indent = deepest.max(self.indent + 1).max(1);
        }
        Ok(())
    }

    pub(super) fn fetch_quoted(&mut self, single: bool) -> Result<()> {
        self.note_key()?;
        self.key_allowed = false;
        let line = self.mark.line;
        let quote = if single { b'\'' } else { b'"' };
        self.advance();
        // What stands in the text as it is need not be copied: it is taken from `from` on.
        let mut from = self.at;
        let mut copied: Option<String> = None;
        let mut breaks = Breaks::default();
        loop {
            self.need(4)?;
            if self.at_document_mark() {
                return self.error("found unexpected document indicator");
            }
            if self.byte(0) == 0 {
                return self.error("found unexpected end of stream");
            }
            let mut broken = false;
            while !self.is_space(0) {
                match self.byte(0) {
                    b'\'' if single && self.byte(1) == b'\'' => {
                        self.advance();
                        copied.get_or_insert_default().push_str(self.since(from));
                        self.advance();
                        from = self.at;
                    }
                    byte if byte == quote => break,
                    b'\\' if !single => {
                        let out = copied.get_or_insert_default();
                        out.push_str(self.since(from));
                        if self.is_break(1) {
                            self.need(3)?;
                            self.advance();
                            self.take_break();
                            broken = true;
                        } else {
                            let c = self.escape()?;
                            copied.get_or_insert_default().push(c);
                        }
                        from = self.at;
                        if broken {
                            break;
                        }
                    }
                    _ => {
                        self.advance();
                        self.advance_while(|byte| byte.is_ascii_alphanumeric());
                    }
                }
                self.need(2)?;
            }
            self.need(1)?;
            if self.byte(0) == quote {
                break;
            }
            let until = self.at;
            loop {
                if self.is_blank(0) {
                    self.advance();
                } else if self.is_break(0) {
                    self.need(2)?;
                    let c = self.take_break();
                    if broken {
                        breaks.rest.extend(c);
                    } else {
                        breaks.first = c;
                        broken = true;
                    }
                } else {
                    break;
                }
                self.need(1)?;
            }
            if broken {
                let out = copied.get_or_insert_default();
                out.push_str(self.text.get(from..until).unwrap_or_default());
                breaks.fold(out);
                from = self.at;
            }
        }
        let last = self.since(from);
        self.advance();
        let text = match copied {
            None => Cow::Borrowed(last),
            Some(mut text) => {
                text.push_str(last);
                Cow::Owned(text)
            }
        };
        self.push(Kind::Scalar { text, plain: false }, line);
        Ok(())
    }

    /// A character behind `\`, which stands here.
    fn escape(&mut self) -> Result<char> {
        let digits = match self.byte(1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            other => {
                let c = match other {
                    b'0' => '\0',
                    b'a' => '\u{7}',
                    b'b' => '\u{8}',
                    b't' | b'\t' => '\t',
                    b'n' => '\n',
                    b'v' => '\u{B}',
                    b'f' => '\u{C}',
                    b'r' => '\r',
                    b'e' => '\u{1B}',
                    b' ' | b'"' | b'\'' | b'\\' => char::from(other),
                    b'N' => '\u{85}',
                    b'_' => '\u{A0}',
                    b'L' => '\u{2028}',
                    b'P' => '\u{2029}',
                    _ => return self.error("found unknown escape character"),
                };
                self.advance_by(2);
                return Ok(c);
            }
        };
        self.advance_by(2);
        self.need(digits)?;
        let mut value: u32 = 0;
        for place in 0..digits {
            let Some(digit) = hex(self.byte(place)) else {
                return self.error("did not find expected hexdecimal number");
            };
            value = value << 4 | u32::from(digit);
        }
        let Some(c) = char::from_u32(value) else {
            return self.error("found invalid Unicode character escape code");
        };
        self.advance_by(digits);
        Ok(c)
    }

    pub(super) fn fetch_plain(&mut self) -> Result<()> {
        self.note_key()?;
        self.key_allowed = false;
        let Mark { line, .. } = self.mark;
        let indent = self.indent + 1;
        // The part that is not copied yet, and what precedes it if there are several lines.
        let (mut from, mut until) = (self.at, self.at);
        let mut copied: Option<String> = None;
        let mut breaks = Breaks::default();
        let mut broken = false;
        loop {
            self.need(4)?;
            if self.at_document_mark() || self.byte(0) == b'#' {
                break;
            }
            let begun = self.at;
            while !self.is_space(0) {
                let byte = self.byte(0);
                if byte == b':' && self.is_space(1)
                    || self.flow > 0 && matches!(byte, b',' | b'?' | b'[' | b']' | b'{' | b'}')
                {
                    break;
                }
                if broken {
                    let out = copied.get_or_insert_default();
                    out.push_str(self.text.get(from..until).unwrap_or_default());
                    breaks.fold(out);
                    from = begun;
                    broken = false;
                }
                self.advance();
                self.advance_while(|byte| byte.is_ascii_alphanumeric());
                until = self.at;
                self.need(2)?;
            }
            if !(self.is_blank(0) || self.is_break(0)) {
                break;
            }
            self.need(1)?;
            loop {
                if self.is_blank(0) {
                    if broken && self.mark.column < indent && self.byte(0) == b'\t' {
                        return self.error("found a tab character that violates indentation");
                    }
                    self.advance();
                } else if self.is_break(0) {
                    self.need(2)?;
                    let c = self.take_break();
                    if broken {
                        breaks.rest.extend(c);
                    } else {
                        breaks.first = c;
                        broken = true;
                    }
                } else {
                    break;
                }
                self.need(1)?;
            }
            if self.flow == 0 && self.mark.column < indent {
                break;
            }
        }
        if broken {
            self.key_allowed = true;
        }
        let last = self.text.get(from..until).unwrap_or_default();
        let text = match copied {
            None => Cow::Borrowed(last),
            Some(mut text) => {
                text.push_str(last);
                Cow::Owned(text)
            }
        };
        self.push(Kind::Scalar { text, plain: true }, line);
        Ok(())
    }
}
