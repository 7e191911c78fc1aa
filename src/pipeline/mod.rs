//! Plans as data, and the loop that carries them out. Knows no kind of step by name.

mod background;
mod plan;
mod retry;
mod run;

pub use background::{WatchOptions, watch};
pub use plan::{Hook, Plan, Plans, Step};
pub use run::{Doors, Engine, Failure, RunSettings};
