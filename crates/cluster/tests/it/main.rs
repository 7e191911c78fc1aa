//! Placeholder until the next file is written.
fn main() {}
