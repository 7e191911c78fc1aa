//! Bytes of a child to clean, masked lines, in bounded memory (S-4.12, S-4.18).

use crate::report::Masker;

/// The longest line that is passed on; longer ones are split.
const LINE: usize = 64 * 1024;
/// How much of an unended line is looked at together, so that a secret which stands
/// across a split is still seen whole.
const WINDOW: usize = 2 * LINE;

/// Collects bytes of one stream and yields clean, masked lines of at most 64 KiB; holds at
/// most 128 KiB.
#[derive(Debug)]
pub struct Lines {
    pending: Vec<u8>,
    masker: Masker,
    /// A masked span reached beyond the window: what follows belongs to it up to a blank.
    hiding: bool,
}

impl Lines {
    pub(super) fn new(masker: Masker) -> Self {
        Self {
            pending: Vec::new(),
            masker,
            hiding: false,
        }
    }

    /// Takes bytes and returns the lines that are complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut out = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let mut piece = piece;
            while self.pending.len() + piece.len() > WINDOW {
                let (now, rest) = piece.split_at(WINDOW - self.pending.len());
                self.pending.extend_from_slice(now);
                piece = rest;
                self.split(&mut out);
            }
            self.pending.extend_from_slice(piece);
            if self.pending.last() == Some(&b'\n') {
                self.pending.pop();
                self.end_line(&mut out);
            }
        }
        out
    }

    /// The rest, at the end of the stream.
    pub fn finish(&mut self) -> Vec<String> {
        let mut out = Vec::new();
        if !self.pending.is_empty() {
            self.end_line(&mut out);
        }
        out
    }

    /// A whole line is in `pending`: mask it, then split it.
    fn end_line(&mut self, out: &mut Vec<String>) {
        if self.pending.last() == Some(&b'\r') {
            self.pending.pop();
        }
        let mut text = clean(&self.pending);
        self.pending.clear();
        if self.hiding {
            text = after_blank(&text);
            self.hiding = false;
            if text.is_empty() {
                return;
            }
        }
        let masked = self.masker.mask(&text);
        if masked.len() <= LINE {
            out.push(masked.into_owned());
            return;
        }
        let mut rest = masked.as_ref();
        while !rest.is_empty() {
            let (line, after) = rest.split_at(char_floor(rest, LINE));
            out.push(line.to_owned());
            rest = after;
        }
    }

    /// The window is full and the line has not ended: pass on its first part.
    fn split(&mut self, out: &mut Vec<String>) {
        // Keep an incomplete character for later.
        let whole = match std::str::from_utf8(&self.pending) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Ok(_) | Err(_) => self.pending.len(),
        };
        let tail = self.pending.split_off(whole);
        let mut text = clean(&self.pending);
        self.pending.clear();
        if self.hiding {
            text = after_blank(&text);
            if text.is_empty() {
                self.pending = tail;
                return;
            }
            self.hiding = false;
        }
        // Cleaning may have made it longer than the window, so one part may not be enough.
        loop {
            let (cut, hide) = self.cut(&text);
            out.push(self.masker.mask(&text[..cut]).into_owned());
            self.hiding = hide;
            text.drain(..cut);
            if text.len() + tail.len() <= WINDOW {
                break;
            }
        }
        self.pending = text.into_bytes();
        self.pending.extend_from_slice(&tail);
    }

    /// Where to cut a text that is longer than a line, so that no secret is cut in two; and
    /// whether what follows belongs to a secret that fills it.
    fn cut(&self, text: &str) -> (usize, bool) {
        let cut = char_floor(text, LINE - 8);
        let mut contexts = self.masker.contexts(text).into_iter();
        match contexts.find(|context| context.start < cut && cut < context.end) {
            None => (cut, false),
            Some(context) if context.start > 0 => (context.start, false),
            Some(context) if context.end < text.len() => (context.end, false),
            // One secret fills the window: what follows up to a blank belongs to it.
            Some(_) => (text.len(), true),
        }
    }
}

/// What follows the first blank: the rest of a value that was hidden.
fn after_blank(text: &str) -> String {
    text.find(char::is_whitespace)
        .map_or_else(String::new, |at| text[at..].to_owned())
}

/// The greatest character boundary of `text` not beyond `limit`.
fn char_floor(text: &str, limit: usize) -> usize {
    if text.len() <= limit {
        return text.len();
    }
    (0..=limit)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

/// Text without what could harm a terminal or a log: escape sequences vanish, NUL and other
/// control characters (but tabs) become U+FFFD, invalid UTF-8 too.
fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if !text.chars().any(|c| c.is_control() && c != '\t') {
        return text.into_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\t' => out.push('\t'),
            // A progress bar returns to the start of its line; what it shows are lines.
            '\r' => out.push(' '),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Skips the rest of an escape sequence: CSI up to its final byte, OSC and the like up to
/// their terminator, others one character.
fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => {
            while let Some(&c) = chars.peek() {
                if !(' '..='~').contains(&c) {
                    break;
                }
                chars.next();
                if ('@'..='~').contains(&c) {
                    break;
                }
            }
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            let mut before = ' ';
            // A sequence that never ends must not swallow the line: 4096 characters at most.
            for _ in 0..4096 {
                match chars.next() {
                    None | Some('\u{7}') => break,
                    Some('\\') if before == '\u{1b}' => break,
                    Some(c) => before = c,
                }
            }
        }
        Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => {
            chars.next();
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{LINE, Lines, WINDOW};
    use crate::report::Masker;

    fn all(masker: Masker, chunks: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::new(masker);
        let mut out = Vec::new();
        for chunk in chunks {
            out.extend(lines.push(chunk));
        }
        out.extend(lines.finish());
        out
    }

    #[test]
    fn lines_are_whole_however_the_bytes_arrive() {
        let got = all(Masker::default(), &[b"a", b"b\nc", b"\r\n", b"", b"\nlast"]);
        assert_eq!(got, ["ab", "c", "", "last"]);
    }

    #[test]
    fn h07_hostile_bytes_become_harmless() {
        let got = all(
            Masker::default(),
            &[b"a\x00b\xff\x1b[31mred\x1b[0m\x1b]0;title\x07x\x1b(By password=hunter2\n"],
        );
        assert_eq!(got, ["a\u{fffd}b\u{fffd}redxy password=***"]);
    }

    #[test]
    fn a_long_line_is_split_in_bounded_memory() {
        let mut lines = Lines::new(Masker::default());
        let chunk = vec![b'x'; 100_000];
        let mut total = 0;
        for _ in 0..60 {
            for line in lines.push(&chunk) {
                assert!(line.len() <= LINE);
                total += line.len();
            }
            assert!(lines.pending.len() <= WINDOW);
        }
        total += lines.finish().iter().map(String::len).sum::<usize>();
        assert_eq!(total, 6_000_000);
    }

    #[test]
    fn bytes_that_grow_when_cleaned_stay_bounded() {
        // S-4.12: NUL and invalid bytes become three bytes each.
        for byte in [0_u8, 0xff] {
            let mut lines = Lines::new(Masker::default());
            let mut characters = 0;
            for _ in 0..50 {
                for line in lines.push(&[byte; 16 * 1024]) {
                    assert!(line.len() <= LINE);
                    characters += line.chars().count();
                }
                assert!(lines.pending.len() <= WINDOW);
            }
            for line in lines.finish() {
                assert!(line.len() <= LINE);
                characters += line.chars().count();
            }
            assert_eq!(characters, 50 * 16 * 1024);
        }
    }

    #[test]
    fn a_secret_across_a_split_is_masked() {
        // S-4.18: wherever the secret stands, no part of it is passed on.
        for at in (LINE - 40..LINE + 5).chain(WINDOW - 40..WINDOW + 5) {
            let mut text = vec![b'y'; at];
            text.extend_from_slice(b" password=CANARYCANARY tail");
            text.extend(vec![b'z'; 3 * LINE]);
            let got = all(Masker::default(), &[&text]).concat();
            assert!(!got.contains("CANARY"), "at {at}");
            assert!(got.contains("***"), "at {at}");
            assert!(got.contains(" tail"), "at {at}");
        }
    }

    #[test]
    fn a_known_value_across_a_split_is_masked() {
        let masker = Masker::new(["CANARYCANARY".to_owned()]);
        for at in LINE - 15..LINE + 2 {
            let mut text = vec![b'y'; at];
            text.extend_from_slice(b"CANARYCANARY");
            text.extend(vec![b'z'; 3 * LINE]);
            let got = all(masker.clone(), &[&text]).concat();
            assert!(!got.contains("CANARY"), "at {at}");
        }
    }

    #[test]
    fn a_secret_longer_than_the_window_is_hidden_whole() {
        let mut text = b"password=".to_vec();
        text.extend(vec![b'S'; 4 * WINDOW]);
        text.extend_from_slice(b" end\n");
        let got = all(Masker::default(), &[&text]).concat();
        assert!(!got.contains("SS"), "{} bytes", got.len());
        assert!(got.ends_with(" end"));
    }

    #[test]
    fn characters_are_not_cut() {
        let text = "é".repeat(2 * LINE);
        let got = all(Masker::default(), &[text.as_bytes()]).concat();
        assert_eq!(got, text);
    }
}
