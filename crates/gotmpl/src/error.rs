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
    /// What is wrong there, without the place.
    pub reason: String,
    /// The error of a nested rendering (`include`, `tpl`), whose message ends this one's.
    pub inner: Option<Box<Self>>,
    pub(crate) message: String,
}

impl TemplateError {
    /// The innermost error of nested renderings, itself if there is none.
    #[must_use]
    pub fn root(&self) -> &Self {
        let mut error = self;
        while let Some(inner) = &error.inner {
            error = inner;
        }
        error
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TemplateError {}

/// A function or method refused its arguments or failed.
#[derive(Clone, Debug)]
pub struct FuncError {
    pub(crate) message: String,
    pub(crate) inner: Option<Box<TemplateError>>,
    pub(crate) limit: bool,
}

impl FuncError {
    /// A failure with this message, which follows `error calling name: `.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            inner: None,
            limit: false,
        }
    }

    /// A bound was reached.
    #[must_use]
    pub fn limit(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            inner: None,
            limit: true,
        }
    }

    /// The message, without its place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
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
        self.message = message.into();
        self
    }
}

impl fmt::Display for FuncError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FuncError {}

impl From<Box<TemplateError>> for FuncError {
    fn from(error: Box<TemplateError>) -> Self {
        Self {
            message: error.message.clone(),
            limit: error.kind == ErrorKind::Limit,
            inner: Some(error),
        }
    }
}
