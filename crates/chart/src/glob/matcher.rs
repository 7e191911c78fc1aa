//! Matchers of texts.
//!
//! Duty: say whether a whole text matches, and where in a text a match begins and may end. Texts are bytes, since the
//! library cuts characters apart in places; a piece that is no UTF-8 reads as the replacement character, byte by byte.

use memchr::memmem;

/// What `*` and `?` do not match.
pub(super) const SEPARATOR: [char; 1] = ['/'];

/// A compiled piece of a pattern.
#[derive(Clone, Debug)]
pub(super) enum Matcher {
    /// The empty text.
    Nothing,
    /// Anything without a separator.
    Any,
    /// Anything.
    Super,
    /// One character that is no separator.
    Single,
    /// One of the characters, or none of them.
    List { chars: Vec<char>, not: bool },
    /// One character of a range, or out of it.
    Range { lo: char, hi: char, not: bool },
    /// This text, and its length in characters.
    Text { bytes: Vec<u8>, chars: usize },
    /// A text and anything.
    Prefix(Vec<u8>),
    /// Anything and a text.
    Suffix(Vec<u8>),
    /// A text, anything, and a text. Both may overlap, as in the library.
    PrefixSuffix(Vec<u8>, Vec<u8>),
    /// A text and anything without a separator.
    PrefixAny(Vec<u8>),
    /// Anything without a separator and a text.
    SuffixAny(Vec<u8>),
    /// Anything with this text in it.
    Contains(Vec<u8>),
    /// Anything without this text in it.
    Lacks(Vec<u8>),
    /// So many characters or more.
    Min(usize),
    /// So many characters or fewer.
    Max(usize),
    /// All of them at once.
    EveryOf(Vec<Self>),
    /// One of them.
    AnyOf(Vec<Self>),
    /// Matchers of known length one after the other, and their length in characters.
    Row { matchers: Vec<Self>, chars: usize },
    /// A matcher with what is before and after it.
    Tree(Box<Tree>),
}

/// A matcher that is looked for first, and matchers for what is before and after it.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) value: Matcher,
    pub(super) left: Option<Matcher>,
    pub(super) right: Option<Matcher>,
    /// Lengths in characters, as they were before the sides were made simpler.
    left_len: Option<usize>,
    right_len: Option<usize>,
    len: Option<usize>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop {
    /// Too many bytes were looked at.
    Work,
    /// The library would panic.
    Bounds { end: usize, length: usize },
}

/// What one question may still look at.
pub(super) struct Run {
    pub(super) left: u64,
}

impl Run {
    fn spend(&mut self, bytes: usize) -> Result<(), Stop> {
        let left = self.left.checked_sub(bytes as u64 + 1);
        self.left = left.unwrap_or(0);
        left.map(|_| ()).ok_or(Stop::Work)
    }
}

/// Where the first match begins, and the lengths it may have from there, in ascending order.
type Found = Option<(usize, Vec<usize>)>;

impl Tree {
    /// A tree, as a matcher.
    pub(super) fn matcher(
        value: Matcher,
        left: Option<Matcher>,
        right: Option<Matcher>,
    ) -> Matcher {
        let len_of = |side: &Option<Matcher>| side.as_ref().map_or(Some(0), Matcher::len);
        let (left_len, right_len) = (len_of(&left), len_of(&right));
        let len = match (left_len, value.len(), right_len) {
            (Some(left), Some(value), Some(right)) => Some(left + value + right),
            _ => None,
        };
        Matcher::Tree(Box::new(Self {
            value,
            left,
            right,
            left_len,
            right_len,
            len,
        }))
    }

    fn matches(&self, text: &[u8], run: &mut Run) -> Result<bool, Stop> {
        if self.len.is_some_and(|len| len > text.len()) {
            return Ok(false);
        }
        let side = |side: &Option<Matcher>, text: &[u8], run: &mut Run| match side {
            Some(matcher) => matcher.matches(text, run),
            None => Ok(text.is_empty()),
        };
        // Characters stand for bytes here: no character is shorter.
        let mut offset = self.left_len.unwrap_or(0);
        let Some(limit) = text.len().checked_sub(self.right_len.unwrap_or(0)) else {
            return Ok(false);
        };
        while offset < limit {
            let Some((index, lengths)) = self.value.find(&text[offset..limit], run)? else {
                return Ok(false);
            };
            let begin = offset + index;
            if side(&self.left, &text[..begin], run)? {
                for length in lengths.iter().rev() {
                    let rest = text.get(begin + length..).unwrap_or_default();
                    if side(&self.right, rest, run)? {
                        return Ok(true);
                    }
                }
            }
            let (_, step) = decode(&text[begin..]);
            offset = begin + step.max(1);
        }
        Ok(false)
    }
}

impl Matcher {
    /// A text.
    pub(super) fn text(text: &str) -> Self {
        Self::Text {
            bytes: text.as_bytes().to_vec(),
            chars: text.chars().count(),
        }
    }

    /// Matchers of known length one after the other.
    pub(super) fn row(matchers: Vec<Self>) -> Self {
        let chars = matchers.iter().filter_map(Self::len).sum();
        Self::Row { matchers, chars }
    }

    /// How many characters it always matches; none if that varies, or if the library does not see it.
    pub(super) fn len(&self) -> Option<usize> {
        match self {
            Self::Nothing => Some(0),
            Self::Single | Self::List { .. } | Self::Range { .. } => Some(1),
            Self::Text { chars, .. } | Self::Row { chars, .. } => Some(*chars),
            Self::Tree(tree) => tree.len,
            Self::AnyOf(matchers) => {
                // A length that is not known yet is taken over by the next alternative.
                let (first, rest) = matchers.split_first()?;
                let mut len = first.len();
                for matcher in rest {
                    match (len, matcher.len()) {
                        (None, next) => len = next,
                        (Some(len), Some(next)) if len == next => {}
                        _ => return None,
                    }
                }
                len
            }
            _ => None,
        }
    }

    /// Whether the one character of a text fits. The empty text reads as one replacement character.
    fn takes(&self, found: char) -> bool {
        match self {
            Self::Single => !SEPARATOR.contains(&found),
            Self::List { chars, not } => chars.contains(&found) != *not,
            Self::Range { lo, hi, not } => (*lo..=*hi).contains(&found) != *not,
            _ => false,
        }
    }

    /// Whether the whole text matches.
    pub(super) fn matches(&self, text: &[u8], run: &mut Run) -> Result<bool, Stop> {
        run.spend(text.len())?;
        Ok(match self {
            Self::Nothing => text.is_empty(),
            Self::Any => !has_separator(text),
            Self::Super => true,
            Self::Single | Self::List { .. } | Self::Range { .. } => {
                let (found, width) = decode(text);
                text.len() <= width && self.takes(found)
            }
            Self::Text { bytes, .. } => text == bytes,
            Self::Prefix(prefix) => text.starts_with(prefix),
            Self::Suffix(suffix) => text.ends_with(suffix),
            Self::PrefixSuffix(prefix, suffix) => {
                text.starts_with(prefix) && text.ends_with(suffix)
            }
            Self::PrefixAny(prefix) => text
                .strip_prefix(prefix.as_slice())
                .is_some_and(|rest| !has_separator(rest)),
            Self::SuffixAny(suffix) => text
                .strip_suffix(suffix.as_slice())
                .is_some_and(|rest| !has_separator(rest)),
            Self::Contains(needle) => memmem::find(text, needle).is_some(),
            Self::Lacks(needle) => memmem::find(text, needle).is_none(),
            Self::Min(least) => chars(text).nth(least.saturating_sub(1)).is_some(),
            Self::Max(most) => chars(text).nth(*most).is_none(),
            Self::EveryOf(matchers) => {
                for matcher in matchers {
                    if !matcher.matches(text, run)? {
                        return Ok(false);
                    }
                }
                true
            }
            Self::AnyOf(matchers) => {
                for matcher in matchers {
                    if matcher.matches(text, run)? {
                        return Ok(true);
                    }
                }
                false
            }
            Self::Row {
                matchers,
                chars: len,
            } => chars(text).take(len + 1).count() == *len && row_matches(matchers, text, run)?,
            Self::Tree(tree) => return tree.matches(text, run),
        })
    }

    /// Where in the text a match begins and may end.
    fn find(&self, text: &[u8], run: &mut Run) -> Result<Found, Stop> {
        run.spend(text.len())?;
        Ok(match self {
            Self::Nothing => Some((0, vec![0])),
            Self::Any => {
                let end = memchr::memchr(b'/', text).unwrap_or(text.len());
                Some((0, starts(&text[..end], 0)))
            }
            Self::Super => Some((0, starts(text, 0))),
            Self::Single | Self::List { .. } | Self::Range { .. } => chars(text)
                .find(|(_, found)| self.takes(*found))
                .map(|(at, found)| (at, vec![found.len_utf8()])),
            Self::Text { bytes, .. } => {
                memmem::find(text, bytes).map(|index| (index, vec![bytes.len()]))
            }
            Self::Prefix(prefix) => memmem::find(text, prefix)
                .map(|index| (index, ends(&text[index + prefix.len()..], prefix.len()))),
            Self::PrefixAny(prefix) => memmem::find(text, prefix).map(|index| {
                let rest = &text[index + prefix.len()..];
                let end = memchr::memchr(b'/', rest).unwrap_or(rest.len());
                (index, ends(&rest[..end], prefix.len()))
            }),
            Self::Suffix(suffix) => {
                memmem::find(text, suffix).map(|index| (0, vec![index + suffix.len()]))
            }
            Self::SuffixAny(suffix) => memmem::find(text, suffix).map(|index| {
                let start = memchr::memrchr(b'/', &text[..index]).map_or(0, |at| at + 1);
                (start, vec![index + suffix.len() - start])
            }),
            Self::PrefixSuffix(prefix, suffix) => between(text, prefix, suffix),
            Self::Contains(needle) => memmem::find(text, needle).map(|index| {
                let offset = index + needle.len();
                (0, starts(&text[offset..], offset))
            }),
            Self::Lacks(needle) => {
                let end = memmem::find(text, needle).unwrap_or(text.len());
                Some((0, starts(&text[..end], 0)))
            }
            Self::Min(least) => {
                let lengths: Vec<usize> = chars(text)
                    .skip(least.saturating_sub(1))
                    .map(|(at, found)| at + found.len_utf8())
                    .collect();
                (text.len() >= *least && !lengths.is_empty()).then_some((0, lengths))
            }
            Self::Max(most) => {
                let some = chars(text)
                    .take(*most)
                    .map(|(at, found)| at + found.len_utf8());
                Some((0, std::iter::once(0).chain(some).collect()))
            }
            Self::EveryOf(matchers) => find_every(matchers, text, run)?,
            Self::AnyOf(matchers) => find_any(matchers, text, run)?,
            Self::Row {
                matchers,
                chars: len,
            } => {
                for (at, _) in chars(text) {
                    if text.len() - at < *len {
                        break;
                    }
                    if row_matches(matchers, &text[at..], run)? {
                        return Ok(Some((at, vec![*len])));
                    }
                }
                None
            }
            // The library never finds a tree inside of another text.
            Self::Tree(_) => None,
        })
    }
}

/// Whether matchers of known length match the beginning of a text, one after the other.
fn row_matches(matchers: &[Matcher], text: &[u8], run: &mut Run) -> Result<bool, Stop> {
    let mut rest = text;
    for matcher in matchers {
        let len = matcher.len().unwrap_or(0);
        let (mut count, mut last) = (0, 0);
        for (at, _) in chars(rest) {
            last = at;
            count += 1;
            if count == len {
                break;
            }
        }
        if count < len {
            return Ok(false);
        }
        // The library cuts behind the first byte of the last character.
        let Some((piece, after)) = rest.split_at_checked(last + 1) else {
            let (end, length) = (text.len() + 1, text.len());
            return Err(Stop::Bounds { end, length });
        };
        if !matcher.matches(piece, run)? {
            return Ok(false);
        }
        rest = after;
    }
    Ok(true)
}

/// Lengths that all matchers agree on, each looking from where the one before it began.
fn find_every(matchers: &[Matcher], text: &[u8], run: &mut Run) -> Result<Found, Stop> {
    let (mut index, mut offset) = (0_usize, 0_usize);
    let mut rest = text;
    let mut current: Vec<usize> = Vec::new();
    for (nth, matcher) in matchers.iter().enumerate() {
        let Some((found, lengths)) = matcher.find(rest, run)? else {
            return Ok(None);
        };
        if nth == 0 {
            current = lengths;
        } else {
            let begin = found + offset;
            run.spend(current.len() + lengths.len())?;
            current.retain(|length| {
                (length + index)
                    .checked_sub(begin)
                    .is_some_and(|length| lengths.binary_search(&length).is_ok())
            });
            // What is kept is counted from where this matcher begins.
            for length in &mut current {
                *length = (*length + index).saturating_sub(begin);
            }
            if current.is_empty() {
                return Ok(None);
            }
        }
        index = found + offset;
        rest = text.get(index..).unwrap_or_default();
        offset += found;
    }
    Ok(Some((index, current)))
}

/// The earliest match of any, with the lengths of all that begin there.
fn find_any(matchers: &[Matcher], text: &[u8], run: &mut Run) -> Result<Found, Stop> {
    let mut best: Found = None;
    for matcher in matchers {
        let Some((index, lengths)) = matcher.find(text, run)? else {
            continue;
        };
        match &mut best {
            Some((begin, all)) if *begin == index => {
                run.spend(all.len() + lengths.len())?;
                all.extend(lengths);
                all.sort_unstable();
                all.dedup();
            }
            Some((begin, _)) if *begin < index => {}
            _ => best = Some((index, lengths)),
        }
    }
    Ok(best)
}

/// The first prefix, and where suffixes end from there on that do not overlap, the last one taken first.
fn between(text: &[u8], prefix: &[u8], suffix: &[u8]) -> Found {
    let index = memmem::find(text, prefix)?;
    let mut rest = &text[index..];
    let mut lengths = Vec::new();
    while let Some(at) = memmem::rfind(rest, suffix) {
        lengths.push(at + suffix.len());
        rest = &rest[..at];
    }
    lengths.reverse();
    (!lengths.is_empty()).then_some((index, lengths))
}

fn has_separator(text: &[u8]) -> bool {
    memchr::memchr(b'/', text).is_some()
}

/// Where each character begins, counted from an offset, and the end.
fn starts(text: &[u8], offset: usize) -> Vec<usize> {
    let starts = chars(text).map(|(at, _)| at);
    starts
        .chain(std::iter::once(text.len()))
        .map(|at| offset + at)
        .collect()
}

/// An offset, and where each character ends, counted from it.
fn ends(text: &[u8], offset: usize) -> Vec<usize> {
    let ends = chars(text).map(|(at, found)| at + found.len_utf8());
    std::iter::once(0)
        .chain(ends)
        .map(|at| offset + at)
        .collect()
}

/// The first character and its width, as Go decodes it.
fn decode(text: &[u8]) -> (char, usize) {
    let width = match text.first() {
        None => return (char::REPLACEMENT_CHARACTER, 0),
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        Some(_) => 1,
    };
    text.get(..width)
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
        .and_then(|piece| piece.chars().next())
        .map_or((char::REPLACEMENT_CHARACTER, 1), |found| (found, width))
}

/// The characters of a text and where they begin.
fn chars(text: &[u8]) -> impl Iterator<Item = (usize, char)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (found, width) = decode(text.get(at..)?);
        let begin = at;
        at += width;
        (width > 0).then_some((begin, found))
    })
}
