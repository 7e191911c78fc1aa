//! What goes wrong: parsing, executing, and calling functions.
//!
//! Duty: Go's words, byte for byte, with the place beside them as data.

use std::fmt;

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text is no template.
    Parse,
    /// Executing it failed.
    Exec,
    /// A bound of [`crate::Limits`] was reached. Go has no such error.
    Limit,
}

/// A template that does not parse or does not run. Its [`Display`](fmt::Display) form is Go's message.
///
/// An error of a nested rendering (`include`, `tpl`) hangs on the error of the call that rendered; the whole message is
/// put together when it is shown, so that a thousand nested templates do not make a thousand long messages.
#[derive(Clone, Debug)]
pub struct TemplateError {
    /// What kind of failure it is.
    pub kind: ErrorKind,
    /// The file, as named to the parser.
    pub file: String,
    /// The template that was executed; for a parse error the file.
    pub template: String,
    /// The line, from 1; 0 if there is none.
    pub line: usize,
    /// The byte in the line, from 0, of an execution error; 0 for a parse error.
    pub column: usize,
    /// The part of the template, as Go prints it; empty for a parse error.
    pub context: String,
    /// The message up to what is wrong.
    pub(crate) place: String,
    /// What is wrong; if `suffix` is set, the message of the nested error follows.
    pub(crate) reason: String,
    /// Whether the nested error's message ends this one's; otherwise `reason` holds it already, in a function's words.
    pub(crate) suffix: bool,
    pub(crate) inner: Option<Box<Self>>,
}

impl TemplateError {
    /// The error of a nested rendering.
    #[must_use]
    pub fn inner(&self) -> Option<&Self> {
        self.inner.as_deref()
    }

    /// The innermost error of nested renderings, itself if there is none.
    #[must_use]
    pub fn root(&self) -> &Self {
        let mut error = self;
        while let Some(inner) = error.inner() {
            error = inner;
        }
        error
    }

    /// What is wrong, without the place.
    #[must_use]
    pub fn reason(&self) -> String {
        match self.inner() {
            Some(inner) if self.suffix => format!("{}{inner}", self.reason),
            _ => self.reason.clone(),
        }
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut error = self;
        loop {
            f.write_str(&error.place)?;
            f.write_str(&error.reason)?;
            match error.inner() {
                Some(inner) if error.suffix => error = inner,
                _ => return Ok(()),
            }
        }
    }
}

impl std::error::Error for TemplateError {}

impl Drop for TemplateError {
    fn drop(&mut self) {
        // One by one: thousands of nested errors must not use thousands of stack frames.
        let mut inner = self.inner.take();
        while let Some(mut error) = inner {
            inner = error.inner.take();
        }
    }
}

/// A function or method refused its arguments or failed.
#[derive(Clone, Debug)]
pub struct FuncError {
    /// The message; `None` is that of the nested error.
    message: Option<String>,
    /// Whether the nested error's message follows this one.
    follows: bool,
    inner: Option<Box<TemplateError>>,
    limit: bool,
}

impl FuncError {
    /// A failure with this message, which follows `error calling name: `.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: Some(message.into()),
            follows: false,
            inner: None,
            limit: false,
        }
    }

    /// A bound was reached.
    #[must_use]
    pub fn limit(message: impl Into<String>) -> Self {
        Self {
            message: Some(message.into()),
            follows: false,
            inner: None,
            limit: true,
        }
    }

    /// The message, without its place.
    #[must_use]
    pub fn message(&self) -> String {
        match (&self.message, &self.inner) {
            (Some(message), Some(inner)) if self.follows => format!("{message}{inner}"),
            (Some(message), _) => message.clone(),
            (None, Some(inner)) => inner.to_string(),
            (None, None) => String::new(),
        }
    }

    /// The error of a nested rendering.
    #[must_use]
    pub fn inner(&self) -> Option<&TemplateError> {
        self.inner.as_deref()
    }

    /// Whether it is a bound that was reached, which no function should hide.
    #[must_use]
    pub fn is_limit(&self) -> bool {
        self.limit
    }

    /// The same failure told in other words.
    #[must_use]
    pub fn reworded(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self.follows = false;
        self
    }

    /// The failure of a nested rendering with words before its own. They are put together only when shown: a thousand
    /// nested failures do not make a thousand long messages.
    #[must_use]
    pub fn prefixed(error: Box<TemplateError>, prefix: impl Into<String>) -> Self {
        let mut failure = Self::from(error);
        failure.message = Some(prefix.into());
        failure
    }

    /// The message of its own, whether that of the nested error follows, and the nested error.
    pub(crate) fn into_parts(self) -> (String, bool, Option<Box<TemplateError>>) {
        (self.message.unwrap_or_default(), self.follows, self.inner)
    }
}

impl fmt::Display for FuncError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for FuncError {}

impl From<Box<TemplateError>> for FuncError {
    fn from(error: Box<TemplateError>) -> Self {
        Self {
            message: None,
            follows: true,
            limit: error.kind == ErrorKind::Limit,
            inner: Some(error),
        }
    }
}
