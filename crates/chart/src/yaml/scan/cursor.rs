//! The text character by character, and piece by piece.

use super::super::input::sequence;
use super::{Result, Scanner, SyntaxError};

impl<'a> Scanner<'a> {
    pub(super) fn error<T>(&self, problem: &'static str) -> Result<T> {
        let line = match self.mark.line {
            0 => 0,
            line => line + 1,
        };
        Err(SyntaxError { problem, line })
    }

    /// Moves to the end of the line.
    pub(super) fn advance_line(&mut self) -> Result<()> {
        loop {
            self.advance_while(|byte| matches!(byte, b' '..=b'~' | b'\t'));
            if self.is_break_or_end(0) {
                return Ok(());
            }
            self.advance();
            self.need(1)?;
        }
    }

    /// Sees to it that so many characters were taken in, or all there are.
    #[inline]
    pub(super) fn need(&mut self, chars: usize) -> Result<()> {
        if self.seen - self.at >= 4 * chars {
            return Ok(());
        }
        self.take_in(chars)
    }

    #[cold]
    pub(super) fn take_in(&mut self, chars: usize) -> Result<()> {
        let count = |from: usize, to: usize| {
            self.text
                .get(from..to)
                .map_or(0, |text| text.chars().count())
        };
        let mut unread = count(self.at, self.seen) + self.beyond;
        if unread >= chars {
            return Ok(());
        }
        self.kept = self.at;
        while unread < chars {
            if let Some(&end) = self.pieces.get(self.taken_in) {
                unread += count(self.seen, end);
                self.seen = end;
                self.taken_in += 1;
            } else if let Some(problem) = self.failure {
                return Err(SyntaxError { problem, line: 0 });
            } else {
                self.beyond += 1;
                break;
            }
        }
        Ok(())
    }

    /// A byte ahead; 0, which no text holds, behind the end.
    pub(super) fn byte(&self, ahead: usize) -> u8 {
        self.text
            .as_bytes()
            .get(self.at + ahead)
            .copied()
            .unwrap_or(0)
    }

    pub(super) fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.byte(ahead), b' ' | b'\t')
    }

    pub(super) fn is_break(&self, ahead: usize) -> bool {
        match self.byte(ahead) {
            b'\n' | b'\r' => true,
            0xC2 => self.byte(ahead + 1) == 0x85,
            0xE2 => self.byte(ahead + 1) == 0x80 && matches!(self.byte(ahead + 2), 0xA8 | 0xA9),
            _ => false,
        }
    }

    pub(super) fn is_break_or_end(&self, ahead: usize) -> bool {
        self.byte(ahead) == 0 || self.is_break(ahead)
    }

    /// White space, a line break or the end.
    pub(super) fn is_space(&self, ahead: usize) -> bool {
        self.is_blank(ahead) || self.is_break_or_end(ahead)
    }

    pub(super) fn is_word(&self) -> bool {
        matches!(self.byte(0), b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'-')
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn since(&self, from: usize) -> &'a str {
        self.text.get(from..self.at).unwrap_or_default()
    }

    /// Moves over one character that is no line break; over nothing at the end.
    pub(super) fn advance(&mut self) {
        let width = sequence(self.byte(0)).max(1);
        self.at = (self.at + width).min(self.text.len());
        self.mark.index += 1;
        self.mark.column += 1;
    }

    /// Moves over characters of one byte that were taken in, as far from the end of those as the
    /// scanner ever looks ahead, so that there is nothing to take in meanwhile.
    pub(super) fn advance_while(&mut self, goes_on: impl Fn(u8) -> bool) {
        let until = self.seen.saturating_sub(16).max(self.at);
        let known = self.text.as_bytes().get(self.at..until).unwrap_or_default();
        let count = known
            .iter()
            .position(|byte| !goes_on(*byte))
            .unwrap_or(known.len());
        self.at += count;
        self.mark.index += count;
        // A text has no more bytes than an `isize` counts.
        self.mark.column += isize::try_from(count).unwrap_or_default();
    }

    pub(super) fn advance_by(&mut self, chars: usize) {
        for _ in 0..chars {
            self.advance();
        }
    }

    /// Moves over a line break, if there is one, and gives what it counts as.
    pub(super) fn take_break(&mut self) -> Option<char> {
        if !self.is_break(0) {
            return None;
        }
        let (c, width) = match self.byte(0) {
            b'\r' if self.byte(1) == b'\n' => {
                self.mark.index += 1;
                ('\n', 2)
            }
            0xC2 => ('\n', 2),
            0xE2 if self.byte(2) == 0xA8 => ('\u{2028}', 3),
            0xE2 => ('\u{2029}', 3),
            _ => ('\n', 1),
        };
        self.at += width;
        self.mark.index += 1;
        self.mark.line += 1;
        self.mark.column = 0;
        Some(c)
    }

    pub(super) fn skip_blanks(&mut self) -> Result<()> {
        self.need(1)?;
        while self.is_blank(0) {
            self.advance();
            self.need(1)?;
        }
        Ok(())
    }

    pub(super) fn skip_comment(&mut self) -> Result<()> {
        if self.byte(0) == b'#' {
            self.advance_line()?;
        }
        Ok(())
    }

    /// The end of a line that may hold white space and a comment only.
    pub(super) fn end_of_line(&mut self) -> Result<()> {
        self.skip_blanks()?;
        self.skip_comment()?;
        if !self.is_break_or_end(0) {
            return self.error("did not find expected comment or line break");
        }
        if self.is_break(0) {
            self.need(2)?;
            self.take_break();
        }
        Ok(())
    }

    /// Letters, digits, `_` and `-`.
    pub(super) fn word(&mut self) -> Result<&'a str> {
        let from = self.at;
        self.need(1)?;
        while self.is_word() {
            self.advance();
            self.need(1)?;
        }
        Ok(self.since(from))
    }

    /// Whether `---` or `...` stands at the beginning of a line, for itself.
    pub(super) fn at_document_mark(&self) -> bool {
        self.mark.column == 0
            && matches!(
                self.rest().as_bytes(),
                [b'-', b'-', b'-', ..] | [b'.', b'.', b'.', ..]
            )
            && self.is_space(3)
    }
}
