//! Places in a file, what is wrong there, and how that is shown (S-1.12).

use std::fmt;
use std::path::Path;

/// The most errors shown for one file (S-1.12).
pub const MAX_SHOWN: usize = 20;

/// The widest source line that is shown; longer ones are cut around the marked column.
const MAX_WIDTH: usize = 160;

/// A place in a text: line and column, both counted from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl Position {
    /// The first character of a file.
    pub const START: Self = Self { line: 1, column: 1 };

    /// The place `line`:`column`, both from 1.
    #[must_use]
    pub const fn new(line: u32, column: u32) -> Self {
        Self { line, column }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A value with the place it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Where it begins.
    pub at: Position,
}

/// Whether a finding stops the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file is used; the operator should look.
    Warning,
}

/// One finding about a file: what was read, what was expected, and how it could be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    severity: Severity,
    at: Option<Position>,
    message: String,
    expected: Option<String>,
    hint: Option<String>,
    secret: bool,
}

impl Diagnostic {
    fn new(severity: Severity, at: Option<Position>, message: String) -> Self {
        Self {
            severity,
            at,
            message,
            expected: None,
            hint: None,
            secret: false,
        }
    }

    /// An error at a place.
    #[must_use]
    pub fn error(at: Position, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, Some(at), message.into())
    }

    /// A warning at a place.
    #[must_use]
    pub fn warning(at: Position, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, Some(at), message.into())
    }

    /// An error that has no place in the file, such as a bad environment variable.
    #[must_use]
    pub fn error_outside(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, None, message.into())
    }

    /// A warning that has no place in the file.
    #[must_use]
    pub fn warning_outside(message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, None, message.into())
    }

    /// Adds what would have been right.
    #[must_use]
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    /// Adds a suggestion, best one that can be copied.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Marks the place as holding a secret: its source line is never shown.
    #[must_use]
    pub fn concealed(mut self) -> Self {
        self.secret = true;
        self
    }

    /// Error or warning.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// The place, if it is in the file.
    #[must_use]
    pub fn at(&self) -> Option<Position> {
        self.at
    }

    /// What is wrong, without place and suggestion.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What was expected, if said.
    #[must_use]
    pub fn expectation(&self) -> Option<&str> {
        self.expected.as_deref()
    }

    /// The suggestion, if there is one.
    #[must_use]
    pub fn suggestion(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// A text with the name it is shown under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    display: String,
    text: String,
}

impl Source {
    /// A text shown as `display` (a path as the operator wrote it). A byte order mark at its begin is dropped.
    #[must_use]
    pub fn new(display: impl Into<String>, text: impl Into<String>) -> Self {
        let mut text: String = text.into();
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        Self {
            display: display.into(),
            text,
        }
    }

    /// The name it is shown under.
    #[must_use]
    pub fn display(&self) -> &str {
        &self.display
    }

    /// The text, without a byte order mark.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Shows a finding.
    ///
    /// An error is `FILE:LINE:COLUMN: what is wrong`, the source line with a marker under the column, `expected: …` and
    /// `hint: …`. A warning is one line, `warning: what (FILE:LINE:COLUMN); hint`. No line break at the end.
    #[must_use]
    pub fn render(&self, diagnostic: &Diagnostic) -> String {
        match diagnostic.severity {
            Severity::Warning => self.render_warning(diagnostic),
            Severity::Error => self.render_error(diagnostic),
        }
    }

    fn render_warning(&self, diagnostic: &Diagnostic) -> String {
        let mut out = format!("warning: {}", diagnostic.message);
        if let Some(at) = diagnostic.at {
            out.push_str(&format!(" ({}:{at})", self.display));
        }
        if let Some(expected) = &diagnostic.expected {
            out.push_str(&format!("; expected {expected}"));
        }
        if let Some(hint) = &diagnostic.hint {
            out.push_str(&format!("; {hint}"));
        }
        out
    }

    fn render_error(&self, diagnostic: &Diagnostic) -> String {
        let mut out = match diagnostic.at {
            Some(at) => format!("{}:{at}: {}", self.display, diagnostic.message),
            None => diagnostic.message.clone(),
        };
        if let Some(at) = diagnostic.at
            && !diagnostic.secret
            && let Some((line, marker)) = self.excerpt(at)
        {
            let number = at.line.to_string();
            let blank = " ".repeat(number.len());
            out.push_str(&format!("\n  {number} | {line}\n  {blank} | {marker}"));
        }
        if let Some(expected) = &diagnostic.expected {
            out.push_str(&format!("\n  expected: {expected}"));
        }
        if let Some(hint) = &diagnostic.hint {
            out.push_str(&format!("\n  hint: {hint}"));
        }
        out
    }

    /// The line of a place and the marker below it; `None` when there is no such line or nothing on it.
    fn excerpt(&self, at: Position) -> Option<(String, String)> {
        let line = self.line(at.line)?;
        let line: Vec<char> = without_secret(line).chars().collect();
        let column = (at.column as usize).saturating_sub(1).min(line.len());
        if line.iter().all(|c| c.is_whitespace()) {
            return None;
        }
        let from = if line.len() <= MAX_WIDTH {
            0
        } else {
            column.saturating_sub(MAX_WIDTH / 2)
        };
        let to = line.len().min(from + MAX_WIDTH);
        let mut shown = String::new();
        let mut marker = String::new();
        if from > 0 {
            shown.push('…');
            marker.push(' ');
        }
        for (index, c) in line.iter().enumerate().take(to).skip(from) {
            // A tab keeps its width in both lines; other control characters must not reach a terminal.
            shown.push(if c.is_control() && *c != '\t' {
                '\u{fffd}'
            } else {
                *c
            });
            if index < column {
                marker.push(if *c == '\t' { '\t' } else { ' ' });
            }
        }
        if to < line.len() {
            shown.push('…');
        }
        marker.push('^');
        Some((shown, marker))
    }

    fn line(&self, number: u32) -> Option<&str> {
        let mut rest = self.text.as_str();
        for _ in 1..number {
            let end = rest.find(['\n', '\r'])?;
            let width = if rest.get(end..).is_some_and(|tail| tail.starts_with("\r\n")) {
                2
            } else {
                1
            };
            rest = rest.get(end + width..)?;
        }
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        rest.get(..end)
    }
}

/// The line without what may be a secret: addresses are starred out in place, and the rest of the line goes behind a key
/// that is called like a secret. This is for errors whose own place is not known to be one: a fault beside a password in
/// the same flow mapping, or an unclosed quote after `password:`.
fn without_secret(line: &str) -> String {
    const WORDS: [&str; 7] = [
        "password",
        "passwd",
        "key",
        "webhook_url",
        "token",
        "secret",
        "authorization",
    ];
    let lower = line.to_ascii_lowercase();
    let behind_key = |(start, word): (usize, &str)| {
        let tail = lower.get(start + word.len()..)?;
        let (between, value) = tail.split_once(':')?;
        // A path such as ./hooks/rotate-secret.sh before another key is not a key itself.
        let is_key = between
            .chars()
            .all(|c| c.is_alphanumeric() || "_-\"' ".contains(c));
        let names_a_variable = between.trim_end_matches(['"', '\'', ' ']).ends_with("_env");
        (is_key && !names_a_variable && !value.trim().is_empty())
            .then_some(line.len() - value.len())
    };
    let cut = WORDS
        .iter()
        .flat_map(|word| lower.match_indices(word))
        .filter_map(behind_key)
        .min();
    let mut shown = without_addresses(cut.and_then(|end| line.get(..end)).unwrap_or(line));
    if cut.is_some() {
        shown.push_str(" ***");
    }
    shown
}

/// Stars for everything behind `://`, character for character, so that columns stay.
fn without_addresses(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("://") {
        let end = after
            .find(|c: char| c.is_whitespace() || ",}]\"'".contains(c))
            .unwrap_or(after.len());
        let (address, tail) = after.split_at(end);
        shown.push_str(before);
        shown.push_str("://");
        shown.extend(address.chars().map(|_| '*'));
        rest = tail;
    }
    shown.push_str(rest);
    shown
}

/// A file that cannot be used: it could not be read, or these are its errors.
///
/// The display text shows every error as [`Source::render`] does, one after the other, at most [`MAX_SHOWN`], then
/// `… and N more`; for a file that could not be read it names the absolute path tried.
#[derive(Clone)]
pub struct LoadError {
    path: Option<Box<Path>>,
    source: Source,
    errors: Vec<Diagnostic>,
    warnings: Box<[Diagnostic]>,
    secrets: Box<[String]>,
}

impl LoadError {
    pub(crate) fn unreadable(path: &Path, message: String, hint: Option<String>) -> Self {
        let mut error = Diagnostic::error_outside(message);
        error.hint = hint;
        Self {
            path: Some(path.into()),
            source: Source::new(path.display().to_string(), ""),
            errors: vec![error],
            warnings: Box::default(),
            secrets: Box::default(),
        }
    }

    pub(crate) fn invalid(
        source: Source,
        mut errors: Vec<Diagnostic>,
        warnings: Vec<Diagnostic>,
    ) -> Self {
        order(&mut errors);
        Self {
            path: None,
            source,
            errors,
            warnings: warnings.into_boxed_slice(),
            secrets: Box::default(),
        }
    }

    /// Adds the secrets that were read before and beside the errors.
    pub(crate) fn with_secrets(mut self, secrets: Vec<String>) -> Self {
        self.secrets = secrets.into_boxed_slice();
        self
    }

    /// Secret values that were read, for masking: a source line that is shown for one key may hold the secret of another.
    #[must_use]
    pub fn secrets(&self) -> &[String] {
        &self.secrets
    }

    /// The absolute path tried, when the file could not be read at all.
    #[must_use]
    pub fn unreadable_path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The text the errors are about (empty when the file could not be read).
    #[must_use]
    pub fn source_text(&self) -> &Source {
        &self.source
    }

    /// All errors, in the order of the file.
    #[must_use]
    pub fn errors(&self) -> &[Diagnostic] {
        &self.errors
    }

    /// Warnings that were found beside the errors.
    #[must_use]
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }
}

/// Sorts findings by place (those outside of the file last) and drops repetitions, which arise where an anchor is used
/// more than once.
pub(crate) fn order(findings: &mut Vec<Diagnostic>) {
    findings.sort_by_key(|finding| {
        finding
            .at
            .map_or((u32::MAX, u32::MAX), |at| (at.line, at.column))
    });
    let mut kept: Vec<Diagnostic> = Vec::with_capacity(findings.len());
    for finding in findings.drain(..) {
        // Equal findings have equal places, so only the tail with the same place can hold a twin.
        let twin = kept
            .iter()
            .rev()
            .take_while(|k| k.at == finding.at)
            .any(|k| *k == finding);
        if !twin {
            kept.push(finding);
        }
    }
    *findings = kept;
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().take(MAX_SHOWN).enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            f.write_str(&self.source.render(error))?;
        }
        match self.errors.len().saturating_sub(MAX_SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n… and {more} more"),
        }
    }
}

impl fmt::Debug for LoadError {
    /// Shows the errors only: the text may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LoadError({self})")
    }
}

impl std::error::Error for LoadError {}
