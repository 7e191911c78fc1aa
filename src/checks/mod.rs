//! Read-only questions, answered as data.

mod files;
mod live;

pub use files::missing_files;
pub use live::{LiveReport, LiveRow, Validation, inspect};
