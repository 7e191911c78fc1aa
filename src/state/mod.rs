//! What kzero keeps between runs: who works, what was done, what parked objects were before.
//!
//! Duty: where that is kept, in what form, and when it may be believed. The cluster is believed over all of it.

pub mod journal;
pub mod keeper;
pub mod lock;
pub mod memory;
pub mod place;
pub mod store;
