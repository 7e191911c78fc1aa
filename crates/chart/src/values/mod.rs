//! Values: the table that templates read, put together from files and flags.
//!
//! * [`set`] is the grammar of `--set` and its family;
//! * [`merge_files`] lays one values file over another.
//!
//! Numbers of files are doubles and those of `--set` integers, which templates can tell apart.

mod coalesce;
mod merge;
pub mod set;

pub(crate) use coalesce::{Nulls, coalesce, copy_table, merge_tables};
pub use merge::merge_files;
