//! Statements over records, and rows to records.

use std::collections::BTreeMap;

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::super::labels::{CREATED_AT, MODIFIED_AT, OWNER, custom};
use super::super::{Raw, Stamp, StorageError};
use super::{Given, SqlError};

/// The columns of a record, with the user's labels as two lists in the same order. The body stands apart.
macro_rules! select {
    ($body:expr, $rest:literal) => {
        concat!(
            "SELECT r.key, r.namespace, r.name, r.version, r.status, r.createdAt, r.modifiedAt, r.xmin::text AS state, ",
            $body,
            " AS body, \
             ARRAY(SELECT l.key::text FROM custom_labels_v1 l WHERE l.releaseKey = r.key AND \
             l.releaseNamespace = r.namespace ORDER BY l.key, l.value) AS label_keys, \
             ARRAY(SELECT l.value::text FROM custom_labels_v1 l WHERE l.releaseKey = r.key AND \
             l.releaseNamespace = r.namespace ORDER BY l.key, l.value) AS label_values \
             FROM releases_v1 r WHERE ",
            $rest
        )
    };
}

/// A body that no record of Helm can have is not read: 64 MiB and more.
macro_rules! body {
    () => {
        "CASE WHEN octet_length(r.body) < 67108864 THEN r.body END"
    };
}

pub(super) const OF_RELEASE: &str = select!(
    body!(),
    "r.owner = 'helm' AND r.namespace = $1 AND r.name = $2"
);
pub(super) const ONE: &str = select!(body!(), "r.namespace = $1 AND r.key = $2");
pub(super) const HEADS: &str = select!(
    "NULL::text",
    "r.owner = 'helm' AND ($1::text IS NULL OR r.namespace = $1)"
);

pub(super) const CREATE: &str = "\
    WITH made AS (INSERT INTO releases_v1 (key, type, body, name, namespace, version, status, owner, createdAt) \
    VALUES ($1, 'helm.sh/release.v1', $2, $3, $4, $5, $6, 'helm', $7) RETURNING xmin::text AS state), \
    labelled AS (INSERT INTO custom_labels_v1 (releaseKey, releaseNamespace, key, value) \
    SELECT $1, $4, l.key, l.value FROM unnest($8::text[], $9::text[]) AS l (key, value)) \
    SELECT state FROM made";
/// As in Helm, the user's labels stay as they were created.
pub(super) const REPLACE: &str = "\
    UPDATE releases_v1 SET body = $2, name = $3, version = $5, status = $6, owner = 'helm', modifiedAt = $7 \
    WHERE key = $1 AND namespace = $4 AND ($8::text IS NULL OR xmin::text = $8) RETURNING xmin::text AS state";
pub(super) const DELETE: &str = "\
    WITH gone AS (DELETE FROM releases_v1 WHERE key = $1 AND namespace = $2 AND ($3::text IS NULL OR xmin::text = $3) \
    RETURNING key), \
    unlabelled AS (DELETE FROM custom_labels_v1 WHERE releaseKey = $1 AND releaseNamespace = $2 AND \
    EXISTS (SELECT 1 FROM gone)) \
    SELECT key FROM gone";

/// A record in the form of the columns.
pub(super) struct Written<'a> {
    raw: &'a Raw,
    version: i32,
    seconds: i32,
    keys: Vec<String>,
    values: Vec<String>,
    state: Option<&'a str>,
}

impl<'a> Written<'a> {
    /// # Errors
    ///
    /// A number that is beyond the column, above 2,147,483,647.
    pub(super) fn of(raw: &'a Raw) -> Result<Self, StorageError> {
        let number = |key: &str| raw.labels.get(key)?.parse().ok();
        let Some(version) = number("version") else {
            return Err(SqlError::new(format!("{}: its number is too large", raw.name)).into());
        };
        let (keys, values) = custom(&raw.labels).into_iter().unzip();
        Ok(Self {
            raw,
            version,
            seconds: number(CREATED_AT).or(number(MODIFIED_AT)).unwrap_or(0),
            keys,
            values,
            state: raw.stamp.as_ref().map(|stamp| stamp.0.as_str()),
        })
    }

    /// The first seven, which both statements have.
    fn columns(&self) -> Vec<Given<'_>> {
        let label = |key: &str| self.raw.labels.get(key).map_or(&NOTHING, |label| label);
        vec![
            (&self.raw.name, Type::TEXT),
            (&self.raw.body, Type::TEXT),
            (label("name"), Type::TEXT),
            (&self.raw.namespace, Type::TEXT),
            (&self.version, Type::INT4),
            (label("status"), Type::TEXT),
            (&self.seconds, Type::INT4),
        ]
    }

    pub(super) fn for_create(&self) -> Vec<Given<'_>> {
        let mut given = self.columns();
        given.push((&self.keys, Type::TEXT_ARRAY));
        given.push((&self.values, Type::TEXT_ARRAY));
        given
    }

    pub(super) fn for_replace(&self) -> Vec<Given<'_>> {
        let mut given = self.columns();
        given.push((&self.state, Type::TEXT));
        given
    }
}

static NOTHING: String = String::new();

/// The state of the row that a write gave back.
pub(super) fn stamp(rows: &[Row]) -> Result<Stamp, StorageError> {
    let row = rows
        .first()
        .ok_or_else(|| SqlError::new("the row that was written is not there"))?;
    let state: String = row.try_get("state").map_err(SqlError::from)?;
    Ok(Stamp(state))
}

pub(super) fn raw(row: &Row) -> Result<Raw, StorageError> {
    read(row).map_err(|error| SqlError::from(error).into())
}

fn read(row: &Row) -> Result<Raw, tokio_postgres::Error> {
    let keys: Vec<String> = row.try_get("label_keys")?;
    let values: Vec<String> = row.try_get("label_values")?;
    let labels: BTreeMap<String, String> = keys.into_iter().zip(values).collect();
    let mut labels = custom(&labels);
    labels.extend([
        ("name".to_owned(), row.try_get("name")?),
        ("owner".to_owned(), OWNER.to_owned()),
        ("status".to_owned(), row.try_get("status")?),
        (
            "version".to_owned(),
            row.try_get::<_, i32>("version")?.to_string(),
        ),
    ]);
    for (label, column) in [(CREATED_AT, "createdat"), (MODIFIED_AT, "modifiedat")] {
        let seconds: i32 = row.try_get(column)?;
        if seconds != 0 {
            labels.insert(label.to_owned(), seconds.to_string());
        }
    }
    Ok(Raw {
        namespace: row.try_get("namespace")?,
        name: row.try_get("key")?,
        labels,
        body: row.try_get("body")?,
        stamp: Some(Stamp(row.try_get("state")?)),
    })
}
