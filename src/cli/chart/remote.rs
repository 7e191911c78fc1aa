//! Files that are no charts and not on this machine: values and schemas.

use std::time::Duration;

use kzero_cluster::Budget;
use kzero_registry::{Access, Client};

use super::source::settings;
use crate::cli::app::{App, runtime};

/// Whether a file is to be fetched.
pub(super) fn is_elsewhere(path: &str) -> bool {
    path.starts_with("http://") || path.starts_with("https://")
}

/// Fetches a file over http or https, without credentials.
///
/// # Errors
///
/// It is not there, too large, or does not come in time.
pub(super) fn get(app: &App, address: &str, time: Duration) -> Result<Vec<u8>, String> {
    let settings = settings(app);
    let access = Access::default();
    let client = Client::new(&settings, &access, app);
    let runtime = runtime().map_err(|failure| failure.text().to_owned())?;
    let budget = Budget::new(format!("fetch of {address}"), time);
    match runtime.block_on(budget.run(client.get(address))) {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) => Err(error.to_string()),
        Err(expired) => Err(expired.to_string()),
    }
}
