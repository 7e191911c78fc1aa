//! Records as rows of a PostgreSQL database, in the tables that Helm makes and uses.
//!
//! Each call is one statement, so that each takes effect wholly or not at all. Two writers see each other by the
//! transaction that a row was last written in, which PostgreSQL keeps with it.

mod rows;
mod schema;
mod settings;
mod tls;

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use kzero_cluster::{Budget, Expired};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls, Row};

use super::{Entry, Raw, Stamp, StorageError};
pub use settings::SqlSettings;

/// Time for a connection, and for one statement.
const CONNECT: (&str, Duration) = ("connect limit 10s", Duration::from_secs(10));
const STATEMENT: (&str, Duration) = ("statement limit 30s", Duration::from_secs(30));

/// What a statement is given, each with its type: it then need not be prepared first.
type Given<'a> = (&'a (dyn ToSql + Sync), Type);

/// What the database refuses, or why there is none. Neither password nor rows are in the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("sql: {text}")]
pub struct SqlError {
    text: String,
    state: Option<SqlState>,
    /// Whether the connection was lost, and is not to be used again.
    ends_connection: bool,
}

impl SqlError {
    fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            state: None,
            ends_connection: false,
        }
    }

    fn timed_out(expired: &Expired) -> Self {
        Self {
            ends_connection: true,
            ..Self::new(format!("timed out ({expired})"))
        }
    }

    /// Whether the connection was lost or never came about, so that the same may succeed when it is tried again.
    pub(super) fn is_transient(&self) -> bool {
        self.ends_connection
    }

    /// Whether a row of that key was there before.
    fn is_taken(&self) -> bool {
        self.state == Some(SqlState::UNIQUE_VIOLATION)
    }
}

impl From<tokio_postgres::Error> for SqlError {
    fn from(error: tokio_postgres::Error) -> Self {
        use std::error::Error as _;
        if let Some(refused) = error.as_db_error() {
            // The details of a refusal have values of rows in them, its message has not.
            return Self {
                text: format!("{} ({})", refused.message(), refused.code().code()),
                state: Some(refused.code().clone()),
                // Class 57: somebody ended the session or the server.
                ends_connection: refused.code().code().starts_with("57"),
            };
        }
        let mut text = error.to_string();
        let mut ends_connection = error.is_closed();
        let mut cause = error.source();
        while let Some(next) = cause {
            // A certificate that is refused comes as bad data.
            let io = next.downcast_ref::<std::io::Error>();
            ends_connection |= io.is_some_and(|io| io.kind() != ErrorKind::InvalidData);
            let more = next.to_string();
            if !text.contains(&more) {
                text = format!("{text}: {more}");
            }
            cause = next.source();
        }
        Self {
            ends_connection,
            ..Self::new(text)
        }
    }
}

/// A database. Clones share the connection, which is made again when it was lost.
#[derive(Clone, Debug)]
pub(super) struct Sql {
    settings: Arc<SqlSettings>,
    live: Arc<Mutex<Option<Arc<Live>>>>,
}

/// A connection, and the task that moves its bytes.
#[derive(Debug)]
struct Live {
    client: Client,
    _task: JoinSet<()>,
}

impl Sql {
    /// Connects, and makes the tables where they are missing.
    pub(super) async fn connect(
        settings: SqlSettings,
        budget: &Budget,
    ) -> Result<Self, StorageError> {
        let sql = Self {
            settings: Arc::new(settings),
            live: Arc::default(),
        };
        let live = sql.live(budget).await?;
        schema::ensure(&live.client, budget).await?;
        Ok(sql)
    }

    async fn live(&self, budget: &Budget) -> Result<Arc<Live>, StorageError> {
        let mut slot = self.live.lock().await;
        if let Some(live) = slot.as_ref().filter(|live| !live.client.is_closed()) {
            return Ok(Arc::clone(live));
        }
        let limit = budget.child(CONNECT.0, CONNECT.1);
        let live = limit.run(open(&self.settings)).await;
        let live = live.map_err(|expired| SqlError::timed_out(&expired))??;
        let live = Arc::new(live);
        *slot = Some(Arc::clone(&live));
        Ok(live)
    }

    async fn query(
        &self,
        statement: &str,
        given: &[Given<'_>],
        budget: &Budget,
    ) -> Result<Vec<Row>, StorageError> {
        let live = self.live(budget).await?;
        let found = query(&live.client, statement, given, budget).await;
        if found.as_ref().is_err_and(|error| error.ends_connection) {
            let mut slot = self.live.lock().await;
            // Another call may have made a new one meanwhile.
            slot.take_if(|kept| Arc::ptr_eq(kept, &live));
        }
        Ok(found?)
    }

    pub(super) async fn of_release(
        &self,
        namespace: &str,
        release: &str,
        budget: &Budget,
    ) -> Result<Vec<Raw>, StorageError> {
        let given: [Given<'_>; 2] = [(&namespace, Type::TEXT), (&release, Type::TEXT)];
        let rows = self.query(rows::OF_RELEASE, &given, budget).await?;
        rows.iter().map(rows::raw).collect()
    }

    pub(super) async fn heads(
        &self,
        namespace: Option<&str>,
        budget: &Budget,
    ) -> Result<Vec<Raw>, StorageError> {
        let given: [Given<'_>; 1] = [(&namespace, Type::TEXT)];
        let rows = self.query(rows::HEADS, &given, budget).await?;
        rows.iter().map(rows::raw).collect()
    }

    pub(super) async fn read(
        &self,
        namespace: &str,
        record: &str,
        budget: &Budget,
    ) -> Result<Option<Raw>, StorageError> {
        let given: [Given<'_>; 2] = [(&namespace, Type::TEXT), (&record, Type::TEXT)];
        let rows = self.query(rows::ONE, &given, budget).await?;
        rows.first().map(rows::raw).transpose()
    }

    pub(super) async fn create(&self, raw: Raw, budget: &Budget) -> Result<Stamp, StorageError> {
        let written = rows::Written::of(&raw)?;
        let created = self
            .query(rows::CREATE, &written.for_create(), budget)
            .await;
        match created {
            Ok(created) => rows::stamp(&created),
            Err(StorageError::Sql(error)) if error.is_taken() => Err(StorageError::Exists),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn replace(&self, raw: Raw, budget: &Budget) -> Result<Stamp, StorageError> {
        let written = rows::Written::of(&raw)?;
        let replaced = self
            .query(rows::REPLACE, &written.for_replace(), budget)
            .await?;
        if !replaced.is_empty() {
            return rows::stamp(&replaced);
        }
        match self.read(&raw.namespace, &raw.name, budget).await? {
            Some(_) => Err(changed()),
            None => Err(StorageError::NotFound),
        }
    }

    pub(super) async fn delete(
        &self,
        entry: &Entry,
        budget: &Budget,
    ) -> Result<bool, StorageError> {
        let (namespace, record) = (entry.namespace(), entry.record());
        let state = entry.stamp().map(|stamp| stamp.0.as_str());
        let given: [Given<'_>; 3] = [
            (&record, Type::TEXT),
            (&namespace, Type::TEXT),
            (&state, Type::TEXT),
        ];
        let deleted = self.query(rows::DELETE, &given, budget).await?;
        if !deleted.is_empty() {
            return Ok(true);
        }
        match self.read(namespace, record, budget).await? {
            Some(_) => Err(changed()),
            None => Ok(false),
        }
    }
}

fn changed() -> StorageError {
    StorageError::Changed {
        record: String::new(),
    }
}

async fn query(
    client: &Client,
    statement: &str,
    given: &[Given<'_>],
    budget: &Budget,
) -> Result<Vec<Row>, SqlError> {
    let limit = budget.child(STATEMENT.0, STATEMENT.1);
    match limit.run(client.query_typed(statement, given)).await {
        Ok(rows) => Ok(rows?),
        Err(expired) => Err(SqlError::timed_out(&expired)),
    }
}

async fn open(settings: &SqlSettings) -> Result<Live, SqlError> {
    let config = settings.config();
    let mut task = JoinSet::new();
    let client = if let Some(tls) = tls::client(settings)? {
        let tls = tokio_postgres_rustls::MakeRustlsConnect::new(tls);
        let (client, connection) = config.connect(tls).await?;
        // Its failure is told by the next statement.
        task.spawn(async move { drop(connection.await) });
        client
    } else {
        let (client, connection) = config.connect(NoTls).await?;
        task.spawn(async move { drop(connection.await) });
        client
    };
    Ok(Live {
        client,
        _task: task,
    })
}
