//! How things look: records, masking, and the one owner of stdout and stderr.

mod mask;
mod output;
mod record;
mod run_lines;
mod writer;

pub use mask::Masker;
pub use output::{Format, Output, OutputOptions};
pub use record::{Fields, Kind, Record, Stream, Tag};
pub use run_lines::RunLines;
pub(crate) use run_lines::summary;
