//! Byte strings as Go has them: immutable, cheap to copy, not always UTF-8.
//!
//! Duty: [`Str`], and the count of bytes that are alive, which bounds what one rendering may hold.

use std::borrow::Borrow;
use std::cell::Cell;
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

thread_local! {
    static LIVE: Cell<usize> = const { Cell::new(0) };
}

/// What one string costs beside its bytes.
const STR_OVERHEAD: usize = 32;

/// Bytes held by values of this thread: strings, lists and maps, by estimate.
pub(crate) fn live_bytes() -> usize {
    LIVE.with(Cell::get)
}

/// Adds to the count of bytes alive.
pub(crate) fn charge(bytes: usize) {
    LIVE.with(|live| live.set(live.get().saturating_add(bytes)));
}

/// Takes from the count of bytes alive. Never fails, also when the thread is ending.
pub(crate) fn release(bytes: usize) {
    // A value dropped while thread-locals are torn down has nobody left to count for.
    let _ = LIVE.try_with(|live| live.set(live.get().saturating_sub(bytes)));
}

/// An immutable byte string with shared storage, the counterpart of Go's `string`.
///
/// Go strings are bytes that are usually UTF-8: cutting one in the middle of a character, or decoding base64 text,
/// makes others. Copying is counting a reference.
pub struct Str(Rc<[u8]>);

impl Str {
    /// A string with these bytes.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        charge(bytes.len() + STR_OVERHEAD);
        Self(Rc::from(bytes))
    }

    /// A string of so many bytes that `fill` writes in place, which spares large ones a copy. They are zeros before.
    ///
    /// # Errors
    /// Those of `fill`.
    pub fn build<E>(len: usize, fill: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<Self, E> {
        let mut bytes: Rc<[u8]> = std::iter::repeat_n(0, len).collect();
        if let Some(bytes) = Rc::get_mut(&mut bytes) {
            fill(bytes)?;
        }
        charge(len + STR_OVERHEAD);
        Ok(Self(bytes))
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text, with U+FFFD where the bytes are not UTF-8.
    #[must_use]
    pub fn to_text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// The text, if the bytes are UTF-8.
    #[must_use]
    pub fn as_utf8(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

impl Clone for Str {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl Drop for Str {
    fn drop(&mut self) {
        if Rc::strong_count(&self.0) == 1 {
            release(self.0.len() + STR_OVERHEAD);
        }
    }
}

impl Default for Str {
    fn default() -> Self {
        Self::new(b"")
    }
}

impl Deref for Str {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for Str {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Str {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq for Str {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Eq for Str {}

impl PartialOrd for Str {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Str {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

impl std::hash::Hash for Str {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_text(), f)
    }
}

impl fmt::Display for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl From<&str> for Str {
    fn from(text: &str) -> Self {
        Self::new(text.as_bytes())
    }
}

impl From<String> for Str {
    fn from(text: String) -> Self {
        Self::from(text.into_bytes())
    }
}

impl From<&[u8]> for Str {
    fn from(bytes: &[u8]) -> Self {
        Self::new(bytes)
    }
}

impl From<Vec<u8>> for Str {
    fn from(bytes: Vec<u8>) -> Self {
        charge(bytes.len() + STR_OVERHEAD);
        Self(Rc::from(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::{Str, live_bytes};

    #[test]
    fn bytes_alive_are_counted_once_per_storage() {
        let before = live_bytes();
        let one = Str::new(&[7; 1000]);
        let two = one.clone();
        assert!(live_bytes() >= before + 1000);
        drop(one);
        assert!(live_bytes() >= before + 1000);
        drop(two);
        assert_eq!(live_bytes(), before);
    }
}
