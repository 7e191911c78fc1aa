//! Tests of the release engine that need no cluster.

#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod merge;
mod storage;
