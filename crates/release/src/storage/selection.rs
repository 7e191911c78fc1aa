//! Which releases `helm list` shows, and in which order.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::str::FromStr;

use kzero_gotmpl::golang::Pattern;

use super::entry::{Entry, latest};
use crate::revision::{Revision, Status};

/// All statuses, as `--all` asks for them: a record that has lost its own is never listed.
pub const ALL_STATUSES: [Status; 8] = [
    Status::Deployed,
    Status::Uninstalled,
    Status::Superseded,
    Status::Failed,
    Status::Uninstalling,
    Status::PendingInstall,
    Status::PendingUpgrade,
    Status::PendingRollback,
];

/// A choice of releases. The default is that of `helm list` without flags, but for its bound.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The statuses that the newest revision of a release may have. With nothing but [`Status::Superseded`] each revision
    /// is looked at for itself, since the newest one is never superseded.
    pub statuses: Vec<Status>,
    /// What must occur in the name.
    pub filter: Option<Pattern>,
    /// What the labels of the newest record must have.
    pub selector: Selector,
    /// The order.
    pub order: Order,
    /// How many are left out at the beginning.
    pub offset: usize,
    /// How many are shown; 0 for all.
    pub limit: usize,
}

/// An order of releases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// By name.
    #[default]
    Name,
    /// By name, backwards.
    NameBackwards,
    /// The one that was deployed longest ago first.
    Date,
    /// The one that was deployed last first.
    DateBackwards,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            statuses: vec![Status::Deployed, Status::Failed],
            filter: None,
            selector: Selector::default(),
            order: Order::default(),
            offset: 0,
            limit: 0,
        }
    }
}

impl Selection {
    /// The records to load, of those of [`Storage::list`](super::Storage::list).
    #[must_use]
    pub fn choose(&self, mut entries: Vec<Entry>) -> Vec<Entry> {
        if let Some(filter) = &self.filter {
            entries.retain(|entry| filter.is_match(entry.name()));
        }
        if self.statuses != [Status::Superseded] {
            entries = latest(entries);
        }
        entries.retain(|entry| {
            self.statuses.contains(&entry.status()) && self.selector.matches(entry.labels())
        });
        match self.order {
            Order::Name => entries.sort_by(|a, b| by_name(a).cmp(&by_name(b))),
            Order::NameBackwards => entries.sort_by(|a, b| by_name(b).cmp(&by_name(a))),
            // When they were deployed is in the records.
            Order::Date | Order::DateBackwards => return entries,
        }
        self.cut(entries)
    }

    /// What is shown of the loaded revisions.
    #[must_use]
    pub fn arrange(&self, mut revisions: Vec<Revision>) -> Vec<Revision> {
        match self.order {
            Order::Name | Order::NameBackwards => return revisions,
            Order::Date => revisions.sort_by_key(deployed_at),
            Order::DateBackwards => revisions.sort_by_key(|one| Reverse(deployed_at(one))),
        }
        self.cut(revisions)
    }

    fn cut<T>(&self, all: Vec<T>) -> Vec<T> {
        let limit = if self.limit == 0 {
            usize::MAX
        } else {
            self.limit
        };
        all.into_iter().skip(self.offset).take(limit).collect()
    }
}

fn by_name(entry: &Entry) -> (&str, &str, i64) {
    (entry.name(), entry.namespace(), entry.version())
}

/// In seconds, as Helm compares them; a revision that was never deployed comes first.
fn deployed_at(revision: &Revision) -> Option<i64> {
    let at = revision.info.last_deployed;
    at.map(|time| time.timestamp().as_second())
}

/// A choice by labels, in the words of Kubernetes: `a=1,b!=2,c in (3,4),d,!e`. The default is met by all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
    Above(i64),
    Below(i64),
}

/// A text that is no selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unable to parse requirement: {requirement:?}")]
pub struct InvalidSelector {
    requirement: String,
}

impl Selector {
    /// Whether labels have all that is asked for.
    #[must_use]
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = labels.get(&requirement.key);
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            match &requirement.test {
                Test::Exists => value.is_some(),
                Test::Absent => value.is_none(),
                Test::In(values) => value.is_some_and(|value| values.contains(value)),
                Test::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
                Test::Above(bound) => number().is_some_and(|number| number > *bound),
                Test::Below(bound) => number().is_some_and(|number| number < *bound),
            }
        })
    }
}

impl FromStr for Selector {
    type Err = InvalidSelector;

    fn from_str(text: &str) -> Result<Self, InvalidSelector> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let read = |part: &str| {
            requirement(part.trim()).ok_or_else(|| InvalidSelector {
                requirement: part.trim().to_owned(),
            })
        };
        let requirements = parts(text)
            .into_iter()
            .map(read)
            .collect::<Result<_, _>>()?;
        Ok(Self { requirements })
    }
}

/// The parts between commas, but for those in brackets.
fn parts(text: &str) -> Vec<&str> {
    let mut inside = false;
    let split = move |c| {
        match c {
            '(' => inside = true,
            ')' => inside = false,
            _ => {}
        }
        c == ',' && !inside
    };
    text.split(split).collect()
}

fn requirement(text: &str) -> Option<Requirement> {
    if let Some(key) = text.strip_prefix('!') {
        return named(key, Test::Absent);
    }
    if let Some(list) = text.strip_suffix(')') {
        let (head, list) = list.split_once('(')?;
        let values: Vec<String> = list
            .split(',')
            .map(|value| value.trim().to_owned())
            .collect();
        if !values.iter().all(|value| is_value(value)) {
            return None;
        }
        let (key, word) = head.trim().rsplit_once(char::is_whitespace)?;
        return match word {
            "in" => named(key, Test::In(values)),
            "notin" => named(key, Test::NotIn(values)),
            _ => None,
        };
    }
    let Some(at) = text.find(['=', '!', '<', '>']) else {
        return named(text, Test::Exists);
    };
    let (key, test) = text.split_at(at);
    let sign = ["==", "!=", "=", "<", ">"]
        .into_iter()
        .find(|sign| test.starts_with(sign))?;
    let value = test.strip_prefix(sign)?.trim();
    if !is_value(value) {
        return None;
    }
    let values = || vec![value.to_owned()];
    match sign {
        "!=" => named(key, Test::NotIn(values())),
        ">" => named(key, Test::Above(value.parse().ok()?)),
        "<" => named(key, Test::Below(value.parse().ok()?)),
        _ => named(key, Test::In(values())),
    }
}

fn named(key: &str, test: Test) -> Option<Requirement> {
    let key = key.trim();
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let is_key = !key.is_empty() && key.chars().all(allowed);
    is_key.then(|| Requirement {
        key: key.to_owned(),
        test,
    })
}

fn is_value(value: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    value.len() <= 63 && value.chars().all(allowed)
}
