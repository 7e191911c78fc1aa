//! The labels of records.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::revision::Revision;

/// Keys of labels that are the system's.
pub const RESERVED_LABELS: [&str; 6] = [
    "name",
    "owner",
    "status",
    "version",
    CREATED_AT,
    MODIFIED_AT,
];
/// When the record was created, in seconds since 1970. Gone after its first change, as Helm's writes have it.
pub(super) const CREATED_AT: &str = "createdAt";
/// When the record was last changed, in seconds since 1970.
pub(super) const MODIFIED_AT: &str = "modifiedAt";
/// Who the records belong to.
pub(super) const OWNER: &str = "helm";

/// Labels of the user that are the system's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "user supplied labels contains system reserved label name. System labels: [{}]",
    RESERVED_LABELS.join(" ")
)]
pub struct ReservedLabel;

/// Checks labels that the user gives a release.
///
/// # Errors
///
/// [`ReservedLabel`], which displays as Helm's text.
pub fn check_labels(labels: &BTreeMap<String, String>) -> Result<(), ReservedLabel> {
    if labels.keys().any(|key| is_reserved(key)) {
        return Err(ReservedLabel);
    }
    Ok(())
}

/// The labels of an upgrade: those of the revision before with the given ones laid over; the text `null` takes a label
/// away.
#[must_use]
pub fn merge_labels(
    before: &BTreeMap<String, String>,
    given: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut labels = before.clone();
    labels.extend(given.clone());
    labels.retain(|_, value| value != "null");
    labels
}

fn is_reserved(key: &str) -> bool {
    RESERVED_LABELS.contains(&key)
}

/// All labels of the record of a revision; `time_label` is the one that holds `now`.
pub(super) fn of(
    revision: &Revision,
    time_label: &'static str,
    now: Timestamp,
) -> BTreeMap<String, String> {
    let mut labels = revision.labels.clone();
    labels.extend([
        (time_label.to_owned(), now.as_second().to_string()),
        ("name".to_owned(), revision.name.clone()),
        ("owner".to_owned(), OWNER.to_owned()),
        ("status".to_owned(), revision.info.status.word().to_owned()),
        ("version".to_owned(), revision.version.to_string()),
    ]);
    labels
}

/// The user's labels of a record.
pub(super) fn custom(labels: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let own = labels.iter().filter(|(key, _)| !is_reserved(key));
    own.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
