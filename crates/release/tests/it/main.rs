//! Tests of the release engine that need no cluster.

mod merge;
mod storage;
