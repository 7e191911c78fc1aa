//! `.helmignore`: which files of a directory are no part of the chart.
//!
//! The rules look like those of git and are not: the first one that applies decides, and one with `!`
//! leaves out everything it does not match.

use crate::load::LoadError;

/// Longer lines than Go's scanner takes are an error.
const MAX_LINE: usize = 64 * 1024;

/// The rules of a file, and the one that always holds.
pub(crate) struct Rules(Vec<Rule>);

struct Rule {
    glob: Glob,
    negate: bool,
    only_folders: bool,
    /// Matched against the whole path, not the last name.
    whole: bool,
}

impl Rules {
    /// Reads the rules of a file.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, LoadError> {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let mut rules = Vec::new();
        for line in bytes.split(|b| *b == b'\n') {
            if line.len() >= MAX_LINE {
                return Err(LoadError::new("bufio.Scanner: token too long"));
            }
            rules.extend(Rule::parse(&String::from_utf8_lossy(line))?);
        }
        rules.extend(Rule::parse("templates/.?*")?);
        Ok(Self(rules))
    }

    /// Whether a path, relative to the chart, is left out; of a folder with all that is in it.
    pub(crate) fn ignores(&self, path: &str, is_folder: bool) -> bool {
        for rule in &self.0 {
            let applies = (is_folder || !rule.only_folders) && rule.matches(path);
            if applies != rule.negate {
                return true;
            }
        }
        false
    }
}

impl Rule {
    fn parse(line: &str) -> Result<Option<Self>, LoadError> {
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            return Ok(None);
        }
        if text.contains("**") {
            return Err(LoadError::new("double-star (**) syntax is not supported"));
        }
        if Glob::parse(text).is_none() {
            return Err(LoadError::new("syntax error in pattern"));
        }
        let (text, negate) = match text.strip_prefix('!') {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let (text, only_folders) = match text.strip_suffix('/') {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let whole = text.contains('/');
        // One slash alone stands for the root.
        let text = text.strip_prefix('/').unwrap_or(text);
        Ok(Some(Self {
            // Without its slash a pattern may be broken; then it matches nothing.
            glob: Glob::parse(text).unwrap_or(Glob(vec![Part::Never])),
            negate,
            only_folders,
            whole,
        }))
    }

    fn matches(&self, path: &str) -> bool {
        let name = match path.rsplit_once('/') {
            Some((_, name)) if !self.whole => name,
            _ => path,
        };
        self.glob.matches(name)
    }
}

/// Whether a path matches a pattern as Go's `filepath.Match` has them: `*` and `?` stop at slashes. What is no pattern
/// matches nothing.
#[must_use]
pub fn filepath_match(pattern: &str, path: &str) -> bool {
    Glob::parse(pattern).is_some_and(|glob| glob.matches(path))
}

/// A pattern as Go's `filepath.Match` has it.
struct Glob(Vec<Part>);

enum Part {
    /// Any characters but slashes.
    Star,
    /// One character but a slash.
    Any,
    Char(char),
    Class {
        negate: bool,
        ranges: Vec<(char, char)>,
    },
    Never,
}

impl Glob {
    /// None where the pattern is broken.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = Vec::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            parts.push(match c {
                '*' => Part::Star,
                '?' => Part::Any,
                '\\' => Part::Char(chars.next()?),
                '[' => {
                    let negate = chars.next_if_eq(&'^').is_some();
                    let mut ranges = Vec::new();
                    while ranges.is_empty() || chars.next_if_eq(&']').is_none() {
                        let low = class_char(&mut chars)?;
                        let high = match chars.next_if_eq(&'-') {
                            Some(_) => class_char(&mut chars)?,
                            None => low,
                        };
                        ranges.push((low, high));
                    }
                    Part::Class { negate, ranges }
                }
                c => Part::Char(c),
            });
        }
        Some(Self(parts))
    }

    /// Go does not go back behind an earlier star, so neither does this.
    fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.as_slice();
        let mut name = name;
        loop {
            let stars = parts
                .iter()
                .take_while(|part| matches!(part, Part::Star))
                .count();
            parts = parts.get(stars..).unwrap_or_default();
            let end = parts
                .iter()
                .position(|part| matches!(part, Part::Star))
                .unwrap_or(parts.len());
            let (chunk, later) = parts.split_at(end);
            if chunk.is_empty() {
                return if stars > 0 {
                    !name.contains('/')
                } else {
                    name.is_empty()
                };
            }
            let fits = |from: &'_ str| -> Option<usize> {
                let rest = eat(chunk, from)?;
                (!later.is_empty() || rest == 0).then_some(rest)
            };
            let mut left = fits(name);
            if stars > 0 {
                for (at, c) in name.char_indices() {
                    if left.is_some() || c == '/' {
                        break;
                    }
                    left = name.get(at + c.len_utf8()..).and_then(fits);
                }
            }
            let Some(left) = left else {
                return false;
            };
            name = name.get(name.len() - left..).unwrap_or_default();
            parts = later;
        }
    }
}

/// A character of a class.
fn class_char(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<char> {
    let c = match chars.next()? {
        '-' | ']' => return None,
        '\\' => chars.next()?,
        c => c,
    };
    // The class must go on.
    chars.peek().map(|_| c)
}

/// Matches parts without stars at the front of a text: how many bytes are left.
fn eat(parts: &[Part], text: &str) -> Option<usize> {
    let mut chars = text.chars();
    for part in parts {
        let c = chars.next()?;
        let fits = match part {
            Part::Any => c != '/',
            Part::Char(wanted) => c == *wanted,
            Part::Class { negate, ranges } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *negate
            }
            Part::Star | Part::Never => false,
        };
        if !fits {
            return None;
        }
    }
    Some(chars.as_str().len())
}
