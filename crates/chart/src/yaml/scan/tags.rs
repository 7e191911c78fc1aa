//! Directives and tags.

use std::borrow::Cow;

use super::super::input::sequence;
use super::{Kind, Result, Scanner, hex};

/// Digits of a part of a version.
const VERSION_DIGITS: usize = 2;

/// What a tag is read in, for which marks may stand in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TagPlace {
    Directive,
    Node,
}

impl<'a> Scanner<'a> {
    pub(super) fn fetch_directive(&mut self) -> Result<()> {
        self.unroll(-1);
        self.drop_key()?;
        self.key_allowed = false;
        let line = self.mark.line;
        self.advance();
        let name = self.word()?;
        if name.is_empty() {
            return self.error("could not find expected directive name");
        }
        if !self.is_space(0) {
            return self.error("found unexpected non-alphabetical character");
        }
        let kind = match name {
            "YAML" => {
                self.skip_blanks()?;
                let major = self.version_number()?;
                if self.byte(0) != b'.' {
                    return self.error("did not find expected digit or '.' character");
                }
                self.advance();
                let minor = self.version_number()?;
                Kind::Version { major, minor }
            }
            "TAG" => {
                self.skip_blanks()?;
                let handle = self.tag_handle(TagPlace::Directive)?;
                self.need(1)?;
                if !self.is_blank(0) {
                    return self.error("did not find expected whitespace");
                }
                self.skip_blanks()?;
                let prefix = self.tag_uri("")?;
                self.need(1)?;
                if !self.is_space(0) {
                    return self.error("did not find expected whitespace or line break");
                }
                Kind::TagDirective { handle, prefix }
            }
            _ => return self.error("found unknown directive name"),
        };
        self.end_of_line()?;
        self.push(kind, line);
        Ok(())
    }

    fn version_number(&mut self) -> Result<u8> {
        let mut value = 0;
        let mut digits = 0;
        self.need(1)?;
        while let digit @ b'0'..=b'9' = self.byte(0) {
            digits += 1;
            if digits > VERSION_DIGITS {
                return self.error("found extremely long version number");
            }
            value = value * 10 + (digit - b'0');
            self.advance();
            self.need(1)?;
        }
        if digits == 0 {
            return self.error("did not find expected version number");
        }
        Ok(value)
    }

    pub(super) fn fetch_tag(&mut self) -> Result<()> {
        self.note_key()?;
        self.key_allowed = false;
        let line = self.mark.line;
        self.need(2)?;
        let (handle, suffix) = if self.byte(1) == b'<' {
            self.advance_by(2);
            let suffix = self.tag_uri("")?;
            if self.byte(0) != b'>' {
                return self.error("did not find the expected '>'");
            }
            self.advance();
            ("", suffix)
        } else {
            let handle = self.tag_handle(TagPlace::Node)?;
            if handle.len() > 1 && handle.ends_with('!') {
                (handle, self.tag_uri("")?)
            } else {
                // No handle after all, but the beginning of a suffix.
                let suffix = self.tag_uri(handle)?;
                if suffix.is_empty() {
                    ("", Cow::Borrowed("!"))
                } else {
                    ("!", suffix)
                }
            }
        };
        self.need(1)?;
        if !self.is_space(0) {
            return self.error("did not find expected whitespace or line break");
        }
        self.push(Kind::Tag { handle, suffix }, line);
        Ok(())
    }

    fn tag_handle(&mut self, place: TagPlace) -> Result<&'a str> {
        self.need(1)?;
        if self.byte(0) != b'!' {
            return self.error("did not find expected '!'");
        }
        let from = self.at;
        self.advance();
        self.word()?;
        if self.byte(0) == b'!' {
            self.advance();
        } else if place == TagPlace::Directive && self.since(from) != "!" {
            return self.error("did not find expected '!'");
        }
        Ok(self.since(from))
    }

    /// A tag or a part of one, behind what of it was read as a handle.
    fn tag_uri(&mut self, handle: &'a str) -> Result<Cow<'a, str>> {
        let head = handle.get(1..).unwrap_or_default();
        let mut from = self.at;
        let mut decoded = Vec::new();
        self.need(1)?;
        while self.is_word()
            || matches!(
                self.byte(0),
                b';' | b'/'
                    | b'?'
                    | b':'
                    | b'@'
                    | b'&'
                    | b'='
                    | b'+'
                    | b'$'
                    | b','
                    | b'.'
                    | b'!'
                    | b'~'
                    | b'*'
                    | b'\''
                    | b'('
                    | b')'
                    | b'['
                    | b']'
                    | b'%'
            )
        {
            if self.byte(0) == b'%' {
                decoded.extend_from_slice(self.since(from).as_bytes());
                self.tag_escape(&mut decoded)?;
                from = self.at;
            } else {
                self.advance();
            }
            self.need(1)?;
        }
        let tail = self.since(from);
        if decoded.is_empty() {
            if handle.is_empty() && tail.is_empty() {
                return self.error("did not find expected tag URI");
            }
            return Ok(if head.is_empty() {
                Cow::Borrowed(tail)
            } else {
                Cow::Owned(format!("{head}{tail}"))
            });
        }
        decoded.extend_from_slice(tail.as_bytes());
        Ok(Cow::Owned(format!(
            "{head}{}",
            String::from_utf8_lossy(&decoded)
        )))
    }

    /// One character as `%` and hexadecimal digits, for each of its bytes.
    fn tag_escape(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let mut left = 0;
        loop {
            self.need(3)?;
            let digits = (hex(self.byte(1)), hex(self.byte(2)));
            let (b'%', (Some(high), Some(low))) = (self.byte(0), digits) else {
                return self.error("did not find URI escaped octet");
            };
            let octet = high << 4 | low;
            if left == 0 {
                left = sequence(octet);
                if left == 0 {
                    return self.error("found an incorrect leading UTF-8 octet");
                }
            } else if octet & 0xC0 != 0x80 {
                return self.error("found an incorrect trailing UTF-8 octet");
            }
            out.push(octet);
            self.advance_by(3);
            left -= 1;
            if left == 0 {
                return Ok(());
            }
        }
    }
}
