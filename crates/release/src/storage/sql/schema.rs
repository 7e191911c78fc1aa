//! The tables, made as Helm makes them, so that either program finds them made by the other.

use kzero_cluster::Budget;
use tokio_postgres::Client;

use super::super::StorageError;
use super::{STATEMENT, SqlError, query};

/// Where Helm notes which of the tables it has made.
const NOTES: &str = "CREATE TABLE IF NOT EXISTS gorp_migrations \
    (id text NOT NULL PRIMARY KEY, applied_at timestamp with time zone)";

/// What is made, under the names by which it is noted.
const MIGRATIONS: [(&str, &str); 2] = [
    (
        "init",
        "CREATE TABLE releases_v1 (key VARCHAR(90), type VARCHAR(64) NOT NULL, body TEXT NOT NULL, \
         name VARCHAR(64) NOT NULL, namespace VARCHAR(64) NOT NULL, version INTEGER NOT NULL, status TEXT NOT NULL, \
         owner TEXT NOT NULL, createdAt INTEGER NOT NULL, modifiedAt INTEGER NOT NULL DEFAULT 0, \
         PRIMARY KEY (key, namespace)); \
         CREATE INDEX ON releases_v1 (key, namespace); \
         CREATE INDEX ON releases_v1 (version); \
         CREATE INDEX ON releases_v1 (status); \
         CREATE INDEX ON releases_v1 (owner); \
         CREATE INDEX ON releases_v1 (createdAt); \
         CREATE INDEX ON releases_v1 (modifiedAt); \
         GRANT ALL ON releases_v1 TO PUBLIC; \
         ALTER TABLE releases_v1 ENABLE ROW LEVEL SECURITY",
    ),
    (
        "custom_labels",
        "CREATE TABLE custom_labels_v1 (releaseKey VARCHAR(64), releaseNamespace VARCHAR(67), key VARCHAR(317), \
         value VARCHAR(63)); \
         CREATE INDEX ON custom_labels_v1 (releaseKey, releaseNamespace); \
         GRANT ALL ON custom_labels_v1 TO PUBLIC; \
         ALTER TABLE custom_labels_v1 ENABLE ROW LEVEL SECURITY",
    ),
];

/// Makes what is missing. Two programs that begin at once may both try: who comes late finds it made.
pub(super) async fn ensure(client: &Client, budget: &Budget) -> Result<(), StorageError> {
    let missing = missing(client, budget).await?;
    if missing.is_empty() {
        return Ok(());
    }
    // Statements that are sent as one text are one transaction.
    let mut statements = vec![NOTES.to_owned()];
    for (name, make) in &missing {
        statements.push((*make).to_owned());
        statements.push(format!(
            "INSERT INTO gorp_migrations (id, applied_at) VALUES ('{name}', now())"
        ));
    }
    let statements = statements.join("; ");
    let limit = budget.child(STATEMENT.0, STATEMENT.1);
    match limit.run(client.batch_execute(&statements)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            let left = self::missing(client, budget).await?;
            if left.is_empty() {
                return Ok(());
            }
            Err(SqlError::from(error).into())
        }
        Err(expired) => Err(SqlError::timed_out(&expired).into()),
    }
}

async fn missing(
    client: &Client,
    budget: &Budget,
) -> Result<Vec<(&'static str, &'static str)>, StorageError> {
    let found = "SELECT to_regclass('gorp_migrations') IS NOT NULL AS found";
    let rows = query(client, found, &[], budget).await?;
    let found = rows.first().map(|row| row.try_get("found")).transpose();
    let mut made: Vec<String> = Vec::new();
    if found.map_err(SqlError::from)?.unwrap_or(false) {
        let rows = query(client, "SELECT id FROM gorp_migrations", &[], budget).await?;
        let ids = rows.iter().map(|row| row.try_get("id"));
        made = ids.collect::<Result<_, _>>().map_err(SqlError::from)?;
    }
    let is_missing = |(name, _): &(&str, &str)| !made.iter().any(|id| id == name);
    Ok(MIGRATIONS.into_iter().filter(is_missing).collect())
}
