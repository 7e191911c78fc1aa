//! Versions and constraints as Helm reads them: the rules of Masterminds' semver 3.5.
//!
//! Duty: lenient versions (`v1.2`), ordering, and constraints with ranges, wildcards, `~`, `^`, `||` and commas.

use std::cmp::Ordering;
use std::fmt;
use std::sync::OnceLock;

use regex::Regex;

use crate::number::{self, quoted};

/// A version or constraint could not be read; the text is Go's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SemverError(String);

impl fmt::Display for SemverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SemverError {}

fn error<T>(text: impl Into<String>) -> Result<T, SemverError> {
    Err(SemverError(text.into()))
}

const MAX_VERSION: usize = 256;
const MAX_CONSTRAINT: usize = 512;
const MAX_GROUPS: usize = 32;

/// A version; what is left out counts as 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The first number.
    pub major: u64,
    /// The second number.
    pub minor: u64,
    /// The third number.
    pub patch: u64,
    /// What follows the minus; empty for a release.
    pub prerelease: String,
    /// What follows the plus; it counts for nothing in order.
    pub metadata: String,
    /// The text as it was read.
    pub original: String,
}

impl Version {
    /// Reads a version: an optional `v`, one to three numbers, a prerelease and metadata.
    ///
    /// # Errors
    /// The text has another form, a number that is too large, or a prerelease number that starts with 0.
    pub fn parse(text: &str) -> Result<Self, SemverError> {
        if text.len() > MAX_VERSION {
            return error(format!(
                "version string is too long (max {MAX_VERSION} bytes)"
            ));
        }
        let invalid = || SemverError("invalid semantic version".to_owned());
        let body = text.strip_prefix('v').unwrap_or(text);
        let (numbers, prerelease, metadata) = split(body).ok_or_else(invalid)?;
        let mut parts = [0; 3];
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if numbers.split('.').count() > 3 || !numbers.split('.').all(digits) {
            return Err(invalid());
        }
        for (place, part) in parts.iter_mut().zip(numbers.split('.')) {
            *place = number::parse_uint(part.as_bytes(), 10).map_err(|why| {
                SemverError(format!(
                    "error parsing version segment: strconv.ParseUint: parsing {}: {}",
                    quoted(part.as_bytes()),
                    why.text()
                ))
            })?;
        }
        if prerelease.split('.').any(|part| {
            part.len() > 1 && part.starts_with('0') && part.bytes().all(|b| b.is_ascii_digit())
        }) {
            return error("version segment starts with 0");
        }
        let [major, minor, patch] = parts;
        Ok(Self {
            major,
            minor,
            patch,
            prerelease: prerelease.to_owned(),
            metadata: metadata.to_owned(),
            original: text.to_owned(),
        })
    }

    /// Orders by the numbers, then releases after prereleases; metadata does not count.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        (self.major, self.minor, self.patch)
            .cmp(&(other.major, other.minor, other.patch))
            .then_with(
                || match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
                    (true, true) => Ordering::Equal,
                    (true, false) => Ordering::Greater,
                    (false, true) => Ordering::Less,
                    (false, false) => compare_prerelease(&self.prerelease, &other.prerelease),
                },
            )
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.prerelease.is_empty() {
            write!(f, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

/// Numbers, prerelease and metadata; `None` if what follows the numbers has the wrong form.
fn split(text: &str) -> Option<(&str, &str, &str)> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let (numbers, rest) = text.split_at(end);
    let (rest, metadata) = match rest.split_once('+') {
        Some((rest, metadata)) => (rest, Some(metadata)),
        None => (rest, None),
    };
    let prerelease = match rest.strip_prefix('-') {
        Some(prerelease) => Some(prerelease),
        None if rest.is_empty() => None,
        None => return None,
    };
    let dotted = |part: &str| {
        part.split('.').all(|word| {
            !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        })
    };
    if !prerelease.is_none_or(dotted) || !metadata.is_none_or(dotted) {
        return None;
    }
    Some((numbers, prerelease.unwrap_or(""), metadata.unwrap_or("")))
}

fn compare_prerelease(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left.split('.'), right.split('.'));
    loop {
        let (a, b) = (left.next(), right.next());
        if a.is_none() && b.is_none() {
            return Ordering::Equal;
        }
        let order = compare_part(a.unwrap_or(""), b.unwrap_or(""));
        if order != Ordering::Equal {
            return order;
        }
    }
}

fn compare_part(left: &str, right: &str) -> Ordering {
    if left == right {
        return Ordering::Equal;
    }
    if left.is_empty() {
        return Ordering::Less;
    }
    if right.is_empty() {
        return Ordering::Greater;
    }
    let number = |part: &str| number::parse_uint(part.as_bytes(), 10).ok();
    match (number(left), number(right)) {
        (None, None) => left.cmp(right),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        // Equal numbers in different words count as smaller, as in the original.
        (Some(a), Some(b)) => {
            if a > b {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    TildeOrEqual,
    NotEqual,
    Greater,
    Less,
    GreaterEqual,
    LessEqual,
    Tilde,
    Caret,
}

#[derive(Clone, Debug)]
struct Single {
    op: Op,
    version: Version,
    minor_dirty: bool,
    patch_dirty: bool,
    dirty: bool,
}

#[derive(Clone, Debug)]
struct Group {
    all: Vec<Single>,
    prerelease: bool,
}

/// What versions are wanted: groups of which one must hold.
#[derive(Clone, Debug)]
pub struct Constraint {
    groups: Vec<Group>,
}

struct Patterns {
    single: Regex,
    range: Regex,
    find: Regex,
    valid: Regex,
}

/// The grammar of constraints. Alternatives are tried in order, and the second one is no operator at all.
fn patterns() -> Option<&'static Patterns> {
    static PATTERNS: OnceLock<Option<Patterns>> = OnceLock::new();
    PATTERNS
        .get_or_init(|| {
            let ops = r"=||!=|>|<|>=|=>|<=|=<|~|~>|\^";
            let version = r"v?([0-9|x|X|\*]+)(\.[0-9|x|X|\*]+)?(\.[0-9|x|X|\*]+)?(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?";
            let space = r"[\t\n\x0C\r ]";
            let one = format!("({ops}){space}*({version})");
            Some(Patterns {
                single: Regex::new(&format!("^{space}*{one}{space}*$")).ok()?,
                range: Regex::new(&format!(
                    "{space}*({version}){space}+-{space}+({version}){space}*"
                ))
                .ok()?,
                find: Regex::new(&one).ok()?,
                valid: Regex::new(&format!(
                    "^({space}*{one}{space}*)((?:{space}+|,{space}*){one}{space}*)*$"
                ))
                .ok()?,
            })
        })
        .as_ref()
}

impl Constraint {
    /// Reads a constraint.
    ///
    /// # Errors
    /// The text has another form, more than 32 alternatives or more than 512 bytes.
    pub fn parse(text: &str) -> Result<Self, SemverError> {
        if text.len() > MAX_CONSTRAINT {
            return error(format!(
                "constraint string is too long (max {MAX_CONSTRAINT} bytes)"
            ));
        }
        if let Some(parts) = Parts::of_one(text) {
            let one = Single::new(&parts)?;
            let prerelease = !one.version.prerelease.is_empty();
            let all = vec![one];
            return Ok(Self {
                groups: vec![Group { all, prerelease }],
            });
        }
        Self::by_patterns(text)
    }

    fn by_patterns(text: &str) -> Result<Self, SemverError> {
        let Some(patterns) = patterns() else {
            return error("constraint parser error");
        };
        let text = rewrite_ranges(patterns, text);
        if text.split("||").count() > MAX_GROUPS {
            return error(format!("too many constraint groups (max {MAX_GROUPS})"));
        }
        let mut groups = Vec::new();
        for group in text.split("||") {
            if !patterns.valid.is_match(group) {
                return error(format!("improper constraint: {}", quoted(group.as_bytes())));
            }
            let mut all = Vec::new();
            for part in patterns.find.find_iter(group) {
                all.push(single(patterns, part.as_str())?);
            }
            let prerelease = all
                .iter()
                .any(|single| !single.version.prerelease.is_empty());
            groups.push(Group { all, prerelease });
        }
        Ok(Self { groups })
    }

    /// Whether a version is wanted. A prerelease is so only by a group that names one itself.
    #[must_use]
    pub fn check(&self, version: &Version) -> bool {
        self.groups.iter().any(|group| {
            group
                .all
                .iter()
                .all(|single| single.check(version, group.prerelease))
        })
    }
}

/// `a - b` to `>= a, <= b`.
fn rewrite_ranges(patterns: &Patterns, text: &str) -> String {
    let mut out = text.to_owned();
    for found in patterns.range.captures_iter(text) {
        let part = |at: usize| found.get(at).map_or("", |part| part.as_str());
        out = out.replacen(part(0), &format!(">= {}, <= {} ", part(1), part(11)), 1);
    }
    out
}

fn single(patterns: &Patterns, text: &str) -> Result<Single, SemverError> {
    let Some(found) = patterns.single.captures(text) else {
        return error(format!("improper constraint: {}", quoted(text.as_bytes())));
    };
    let part = |at: usize| found.get(at).map_or("", |part| part.as_str());
    Single::new(&Parts {
        op: part(1),
        version: part(2),
        major: part(3),
        minor: part(4),
        patch: part(5),
        prerelease: part(6),
    })
}

/// What one constraint is made of.
struct Parts<'t> {
    op: &'t str,
    version: &'t str,
    major: &'t str,
    /// With its dot.
    minor: &'t str,
    /// With its dot.
    patch: &'t str,
    /// With its dash.
    prerelease: &'t str,
}

impl<'t> Parts<'t> {
    /// The parts of a text that is one constraint of digits, as most are: no pattern need be made for it.
    fn of_one(text: &'t str) -> Option<Self> {
        let blank = |c: char| matches!(c, '\t' | '\n' | '\x0C' | '\r' | ' ');
        let text = text.trim_matches(blank);
        let (op, version) = cut(text, |byte| b"=!<>~^".contains(&byte));
        if !matches!(
            op,
            "" | "=" | "!=" | ">" | "<" | ">=" | "=>" | "<=" | "=<" | "~" | "~>" | "^"
        ) {
            return None;
        }
        let version = version.trim_start_matches(blank);
        let (major, rest) = cut(version, |byte| byte.is_ascii_digit());
        let (minor, rest) = dotted(rest)?;
        let (patch, prerelease) = dotted(rest)?;
        let is_word = |word: &str| {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            !word.is_empty() && word.bytes().all(is_letter)
        };
        let ends = match prerelease.strip_prefix('-') {
            Some(words) => words.split('.').all(is_word),
            None => prerelease.is_empty(),
        };
        (ends && !major.is_empty()).then_some(Self {
            op,
            version,
            major,
            minor,
            patch,
            prerelease,
        })
    }
}

/// The bytes at the beginning of which something holds, and the rest.
fn cut(text: &str, holds: impl Fn(u8) -> bool) -> (&str, &str) {
    let end = text.bytes().position(|byte| !holds(byte));
    text.split_at(end.unwrap_or(text.len()))
}

/// A dot with digits behind it or nothing, and the rest; a dot alone is neither.
fn dotted(text: &str) -> Option<(&str, &str)> {
    let Some(digits) = text.strip_prefix('.') else {
        return Some(("", text));
    };
    let (digits, rest) = cut(digits, |byte| byte.is_ascii_digit());
    if digits.is_empty() {
        return None;
    }
    text.split_at_checked(text.len() - rest.len())
}

impl Single {
    fn new(parts: &Parts<'_>) -> Result<Self, SemverError> {
        let op = match parts.op {
            "!=" => Op::NotEqual,
            ">" => Op::Greater,
            "<" => Op::Less,
            ">=" | "=>" => Op::GreaterEqual,
            "<=" | "=<" => Op::LessEqual,
            "~" | "~>" => Op::Tilde,
            "^" => Op::Caret,
            _ => Op::TildeOrEqual,
        };
        let open = |part: &str| matches!(part, "" | "x" | "X" | "*");
        let after = |part: &str| open(part.trim_start_matches('.'));
        let Parts {
            major,
            minor,
            prerelease: pre,
            ..
        } = parts;
        let (mut minor_dirty, mut patch_dirty, mut dirty) = (false, false, true);
        let text = if open(major) {
            format!("0.0.0{pre}")
        } else if after(minor) {
            minor_dirty = true;
            format!("{major}.0.0{pre}")
        } else if after(parts.patch) {
            patch_dirty = true;
            format!("{major}{minor}.0{pre}")
        } else {
            dirty = false;
            parts.version.to_owned()
        };
        match Version::parse(&text) {
            Ok(version) => Ok(Self {
                op,
                version,
                minor_dirty,
                patch_dirty,
                dirty,
            }),
            Err(_) => error("constraint parser error"),
        }
    }
}

impl Single {
    fn check(&self, version: &Version, prerelease: bool) -> bool {
        if !version.prerelease.is_empty() && !prerelease {
            return false;
        }
        let order = version.compare(&self.version);
        match self.op {
            Op::TildeOrEqual if self.dirty => self.tilde(version),
            Op::TildeOrEqual => order == Ordering::Equal,
            Op::NotEqual => self.not_equal(version),
            Op::Greater => self.greater(version),
            Op::Less => order == Ordering::Less,
            Op::GreaterEqual => order != Ordering::Less,
            Op::LessEqual => self.less_or_equal(version),
            Op::Tilde => self.tilde(version),
            Op::Caret => self.caret(version),
        }
    }

    fn not_equal(&self, version: &Version) -> bool {
        let con = &self.version;
        if self.dirty {
            if con.major != version.major {
                return true;
            }
            if con.minor != version.minor && !self.minor_dirty {
                return true;
            }
            if self.minor_dirty {
                return false;
            }
            if con.patch != version.patch && !self.patch_dirty {
                return true;
            }
            if self.patch_dirty {
                return (!version.prerelease.is_empty() || !con.prerelease.is_empty())
                    && compare_prerelease(&version.prerelease, &con.prerelease) != Ordering::Equal;
            }
        }
        version.compare(con) != Ordering::Equal
    }

    fn greater(&self, version: &Version) -> bool {
        let con = &self.version;
        if self.dirty {
            if version.major != con.major {
                return version.major > con.major;
            }
            if self.minor_dirty {
                return false;
            }
            if self.patch_dirty {
                return version.minor > con.minor;
            }
        }
        version.compare(con) == Ordering::Greater
    }

    fn less_or_equal(&self, version: &Version) -> bool {
        let con = &self.version;
        if !self.dirty {
            return version.compare(con) != Ordering::Greater;
        }
        version.major < con.major
            || version.major == con.major && (version.minor <= con.minor || self.minor_dirty)
    }

    fn tilde(&self, version: &Version) -> bool {
        let con = &self.version;
        if version.compare(con) == Ordering::Less {
            return false;
        }
        let zero = con.major == 0 && con.minor == 0 && con.patch == 0;
        if zero && !self.minor_dirty && !self.patch_dirty {
            return true;
        }
        version.major == con.major && (version.minor == con.minor || self.minor_dirty)
    }

    fn caret(&self, version: &Version) -> bool {
        let con = &self.version;
        if version.compare(con) == Ordering::Less {
            return false;
        }
        if con.major > 0 || self.minor_dirty {
            return version.major == con.major;
        }
        if version.major > 0 {
            return false;
        }
        if con.minor > 0 || self.patch_dirty {
            return version.minor == con.minor;
        }
        version.minor == 0 && version.patch == con.patch
    }
}

/// Whether a version satisfies a constraint; what does not read satisfies nothing.
#[must_use]
pub fn is_compatible(constraint: &str, version: &str) -> bool {
    match (Constraint::parse(constraint), Version::parse(version)) {
        (Ok(constraint), Ok(version)) => constraint.check(&version),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Constraint, Version};

    const VERSIONS: [&str; 11] = [
        "0.0.3",
        "0.2.5",
        "1.2.0",
        "1.2",
        "1.2.3",
        "1.2.3+b1",
        "1.2.4-beta.1",
        "1.2.9",
        "1.3.0",
        "2.0.0-rc1",
        "2.0.0",
    ];

    #[track_caller]
    fn chosen(constraint: &str, wanted: &[&str]) {
        let constraint = Constraint::parse(constraint).unwrap();
        let found: Vec<&str> = VERSIONS
            .into_iter()
            .filter(|version| constraint.check(&Version::parse(version).unwrap()))
            .collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn one_constraint_reads_as_the_patterns_read_it() {
        let ops = [
            "", "=", "!=", ">", "<", ">=", "=>", "<=", "=<", "~", "~>", "^", "==", "><", "!",
        ];
        let versions = [
            "1",
            "1.2",
            "1.2.3",
            "01.2",
            "1.02.3",
            "1.2.",
            "1..2",
            ".1",
            "1.2.3.4",
            "1.2.3-0",
            "1.2-0",
            "1-0",
            "1.2.3-a.b",
            "1.2.3-a..b",
            "1.2.3-",
            "1.2.3-a_b",
            "1.2.3+b",
            "x",
            "1.x",
            "v1.2",
            "1|2",
            "99999999999999999999.0.0",
            "1 2",
            "1.2.3 - 2",
            "1 || 2",
            "",
            "é",
        ];
        for op in ops {
            for version in versions {
                for text in [
                    format!("{op}{version}"),
                    format!(" {op} {version}\n"),
                    format!("{op}\t{version},"),
                ] {
                    let shown = |found| format!("{found:?}");
                    assert_eq!(
                        shown(Constraint::parse(&text)),
                        shown(Constraint::by_patterns(&text)),
                        "{text:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn constraints_choose_what_helm_chooses() {
        chosen("1.2.3", &["1.2.3", "1.2.3+b1"]);
        chosen("~1.2", &["1.2.0", "1.2", "1.2.3", "1.2.3+b1", "1.2.9"]);
        chosen(">1.2", &["1.3.0", "2.0.0"]);
        chosen("^0.2.3", &["0.2.5"]);
        chosen("^0", &["0.0.3", "0.2.5"]);
        chosen(
            "1.2 - 1.4",
            &["1.2.0", "1.2", "1.2.3", "1.2.3+b1", "1.2.9", "1.3.0"],
        );
        chosen("1.2.3 || 2", &["1.2.3", "1.2.3+b1", "2.0.0"]);
        chosen(">0.0.0-0", &VERSIONS);
        let pre: Vec<&str> = VERSIONS[2..].to_vec();
        chosen(">=1.2.0-0", &pre);
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in ["", "x", "1.2.3.4", "1..2", "1.2-", "1.2+", "a1", "1.2.3-01"] {
            assert!(Version::parse(text).is_err(), "{text}");
        }
        assert!(Constraint::parse("").is_err());
        assert_eq!(Version::parse("v1.2").unwrap().to_string(), "1.2.0");
    }
}
