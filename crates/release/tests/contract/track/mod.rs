//! Waits against real controllers.

mod failures;
mod logs;
mod stage;
mod watches;
