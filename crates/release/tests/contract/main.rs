//! Tests of the release engine against a real control plane.

#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod interop;
mod life;
mod merge;
mod objects;
mod refused;
mod states;
mod storage;
mod track;
mod world;
