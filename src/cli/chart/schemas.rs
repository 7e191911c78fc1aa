//! Schemas that others refer to, from the disk and over http.

use std::path::Path;
use std::time::Duration;

use kzero_chart::schema::Fetch;

use super::remote;
use super::values::open;
use crate::cli::app::App;

/// Bytes of one schema.
const MAX_SCHEMA: u64 = 5 << 20;

/// How long the fetching of one may take; Helm gives it as much.
const TIME: Duration = Duration::from_secs(15);

/// Gets schemas for the charts of a command, without credentials.
pub(super) struct Schemas<'a> {
    pub(super) app: &'a App,
}

impl Fetch for Schemas<'_> {
    fn fetch(&self, url: &str) -> Result<Vec<u8>, String> {
        if let Some(path) = url.strip_prefix("file://") {
            return read(path.split('?').next().unwrap_or(path));
        }
        remote::get(self.app, url, TIME)
    }

    fn warn(&self, text: &str) {
        self.app.warn(text);
    }
}

fn read(path: &str) -> Result<Vec<u8>, String> {
    let place = Path::new(path);
    if std::fs::metadata(place).is_ok_and(|found| !found.is_file()) {
        return Err(format!("open {path}: not a file"));
    }
    open(place, path, MAX_SCHEMA)
}
