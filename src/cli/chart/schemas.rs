//! Schemas that others refer to, from the disk and over http.

use std::path::Path;
use std::time::Duration;

use kzero_chart::schema::Fetch;

use super::remote;
use crate::bounded::open_regular;
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
            let path = path.split('?').next().unwrap_or(path);
            return open_regular(Path::new(path), path, MAX_SCHEMA);
        }
        remote::get(self.app, url, TIME)
    }

    fn warn(&self, text: &str) {
        self.app.warn(text);
    }
}
