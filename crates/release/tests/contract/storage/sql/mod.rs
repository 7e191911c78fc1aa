//! Records in a PostgreSQL database: a server of their own for these tests.

mod postgres;
mod rows;
mod trust;

use kzero_release::storage::{SqlSettings, Storage, StorageError};

use super::budget;

async fn connect(text: &str, namespace: &str) -> Result<Storage, StorageError> {
    let settings = SqlSettings::parse(text, |_| None).unwrap();
    Storage::sql(settings, namespace, &budget()).await
}
