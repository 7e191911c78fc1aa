//! Charts from servers that the tests start themselves.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "../common/mod.rs"]
mod common;

mod bounds;
mod dependencies;
mod oci;
mod repositories;
