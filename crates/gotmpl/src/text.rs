//! Byte strings as Go has them: immutable, cheap to copy, not always UTF-8.
//!
//! Duty: [`Str`], and the count of bytes that are alive, which bounds what one rendering may hold.

use std::borrow::Borrow;
use std::cell::{Cell, OnceCell};
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
pub struct Str(Storage);

/// Where the bytes are. Short ones lie beside their count of references; long ones stay where they were made, as copying
/// them would take longer than following a pointer. There are two kinds as there is room to tell two apart.
enum Storage {
    Short(Rc<[u8]>),
    Long(Rc<Long>),
}

/// Bytes that were made elsewhere, or are read when they are looked at.
struct Long {
    /// How many bytes are counted for it.
    length: usize,
    bytes: OnceCell<Result<Vec<u8>, String>>,
    read: Cell<Option<Box<Read>>>,
}

type Read = dyn FnOnce() -> Result<Vec<u8>, String>;

impl Long {
    fn bytes(&self) -> &[u8] {
        let read = || {
            self.read
                .take()
                .map_or_else(|| Ok(Vec::new()), |read| read())
        };
        self.bytes.get_or_init(read).as_deref().unwrap_or_default()
    }
}

/// From how many bytes on a vector becomes a string without being copied.
const LONG: usize = 4096;

impl Str {
    /// A string with these bytes.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        charge(bytes.len() + STR_OVERHEAD);
        Self(Storage::Short(Rc::from(bytes)))
    }

    /// A string of about this length whose bytes `read` gives as soon as they are looked at, and never if they are not.
    /// Where it fails there are none, and [`failure`](Self::failure) tells why.
    #[must_use]
    pub fn deferred(
        length: usize,
        read: impl FnOnce() -> Result<Vec<u8>, String> + 'static,
    ) -> Self {
        charge(length + STR_OVERHEAD);
        Self(Storage::Long(Rc::new(Long {
            length,
            bytes: OnceCell::new(),
            read: Cell::new(Some(Box::new(read))),
        })))
    }

    /// Why the bytes of a deferred string could not be read, once they were looked at.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        match &self.0 {
            Storage::Long(long) => long.bytes.get()?.as_ref().err().map(String::as_str),
            Storage::Short(_) => None,
        }
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Storage::Short(bytes) => bytes,
            Storage::Long(long) => long.bytes(),
        }
    }

    /// Whether both are the same storage.
    fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Storage::Short(one), Storage::Short(two)) => Rc::ptr_eq(one, two),
            (Storage::Long(one), Storage::Long(two)) => Rc::ptr_eq(one, two),
            _ => false,
        }
    }

    /// Bytes that go with this string, as it is the last one of them.
    fn last(&self) -> Option<usize> {
        let (holders, length) = match &self.0 {
            Storage::Short(bytes) => (Rc::strong_count(bytes), bytes.len()),
            Storage::Long(long) => (Rc::strong_count(long), long.length),
        };
        (holders == 1).then_some(length)
    }

    /// The text, with U+FFFD where the bytes are not UTF-8.
    #[must_use]
    pub fn to_text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self)
    }

    /// The text, if the bytes are UTF-8.
    #[must_use]
    pub fn as_utf8(&self) -> Option<&str> {
        std::str::from_utf8(self).ok()
    }
}

impl Clone for Str {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Storage::Short(bytes) => Storage::Short(Rc::clone(bytes)),
            Storage::Long(long) => Storage::Long(Rc::clone(long)),
        })
    }
}

impl Drop for Str {
    fn drop(&mut self) {
        if let Some(length) = self.last() {
            release(length + STR_OVERHEAD);
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
        self.as_bytes()
    }
}

impl Borrow<[u8]> for Str {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl AsRef<[u8]> for Str {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl PartialEq for Str {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || self.as_bytes() == other.as_bytes()
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
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl std::hash::Hash for Str {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
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
    fn from(mut bytes: Vec<u8>) -> Self {
        let length = bytes.len();
        if length < LONG {
            return Self::new(&bytes);
        }
        // What is counted is what is held.
        bytes.shrink_to_fit();
        charge(length + STR_OVERHEAD);
        Self(Storage::Long(Rc::new(Long {
            length,
            bytes: OnceCell::from(Ok(bytes)),
            read: Cell::new(None),
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::{Str, live_bytes};

    #[test]
    fn short_and_long_strings_are_equal_to_those_of_the_same_bytes() {
        for length in [0, 1, super::LONG - 1, super::LONG, 3 * super::LONG] {
            let bytes = vec![7; length];
            let (copied, taken) = (Str::new(&bytes), Str::from(bytes.clone()));
            assert_eq!(copied, taken);
            assert_eq!(taken.clone().as_bytes(), bytes);
            assert_ne!(taken, Str::new(&vec![8; length + 1]));
        }
        assert_eq!(size_of::<Str>(), size_of::<&[u8]>());
    }

    #[test]
    fn deferred_strings_are_read_once_and_only_if_they_are_looked_at() {
        let unread = Str::deferred(3, || unreachable!("nobody looked"));
        drop(unread.clone());
        let read = Str::deferred(3, || Ok(b"abc".to_vec()));
        let copy = read.clone();
        assert_eq!(&*read, b"abc");
        assert_eq!(copy, Str::from("abc"));
        assert_eq!(read.failure(), None);
        let broken = Str::deferred(3, || Err("gone".to_owned()));
        assert_eq!(broken.failure(), None);
        assert!(broken.is_empty());
        assert_eq!(broken.failure(), Some("gone"));
    }

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
