//! The patterns of `.Files.Glob`.
//!
//! Duty: match paths as Helm's templates do, that is as version 0.2.3 of Go's `gobwas/glob` with `/` as the
//! separator. Patterns have `*` (no `/`), `**`, `?`, `[abc]`, `[!abc]`, `[a-z]`, `{a,b}` (nested too) and `\` before a
//! character that stands for itself.
//!
//! The library turns a pattern into matchers, joins neighbours where it can, and looks for the longest piece of
//! known length first. What it joins wrongly is part of what charts see (`[!ab][!ab]` refuses only the text `ab`, an
//! alternative of nothing may panic), so the same matchers are joined here in the same way. Its run time can grow
//! with any power of the path's length; here [`Glob::matches`] gives up instead.

mod compile;
mod matcher;
mod syntax;
#[cfg(test)]
mod tests;

use std::cell::Cell;

use matcher::{Matcher, Run, Stop};

/// The longest pattern, in bytes.
const MAX_PATTERN: usize = 4096;
/// Bytes that one pattern may look at, over all paths: a fraction of a second.
const MAX_WORK: u64 = 50_000_000;

/// A compiled pattern.
pub(crate) struct Glob {
    matcher: Matcher,
    left: Cell<u64>,
}

/// Why a pattern gives no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GlobError {
    /// It is not a pattern. Helm then takes all files.
    #[error("invalid pattern")]
    Invalid,
    /// It is longer than 4096 bytes, or has more than 1000 pieces or 64 levels of braces.
    #[error("glob pattern is too large")]
    TooLarge,
    /// Its stars are so many that the paths would take too long.
    #[error("glob pattern takes too long")]
    TooMuchWork,
    /// The library panics here, which Go's templates show as an error with this text.
    #[error("runtime error: slice bounds out of range [:{end}] with length {length}")]
    Bounds {
        /// Where the slice was to end.
        end: usize,
        /// How many bytes there are.
        length: usize,
    },
}

impl Glob {
    /// Compiles a pattern.
    ///
    /// # Errors
    ///
    /// [`GlobError::Invalid`] and [`GlobError::TooLarge`].
    pub(crate) fn new(pattern: &str) -> Result<Self, GlobError> {
        if pattern.len() > MAX_PATTERN {
            return Err(GlobError::TooLarge);
        }
        let nodes = syntax::parse(pattern)?;
        Ok(Self::of(compile::pattern(&nodes)))
    }

    /// The pattern that matches every path: what Helm takes for one that is invalid.
    pub(crate) fn everything() -> Self {
        Self::of(Matcher::Super)
    }

    fn of(matcher: Matcher) -> Self {
        Self {
            matcher,
            left: Cell::new(MAX_WORK),
        }
    }

    /// Whether the whole path matches. All calls draw on one bound of work.
    ///
    /// # Errors
    ///
    /// [`GlobError::TooMuchWork`] and [`GlobError::Bounds`].
    pub(crate) fn matches(&self, path: &str) -> Result<bool, GlobError> {
        let mut run = Run {
            left: self.left.get(),
        };
        let matched = self.matcher.matches(path.as_bytes(), &mut run);
        self.left.set(run.left);
        matched.map_err(|stop| match stop {
            Stop::Work => GlobError::TooMuchWork,
            Stop::Bounds { end, length } => GlobError::Bounds { end, length },
        })
    }

    /// How many bytes the calls of [`matches`](Self::matches) have looked at so far.
    pub(crate) fn work(&self) -> u64 {
        MAX_WORK - self.left.get()
    }
}
