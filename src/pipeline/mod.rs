//! Plans as data, and the loop that carries them out. Knows no kind of step by name.

mod background;
mod memory;
mod plan;
mod retry;
mod run;

pub use background::{WatchOptions, watch};
pub use plan::{Hook, Plan, Plans, Recalled, Step};
pub use run::{Doors, Engine, Failure, RunSettings};
