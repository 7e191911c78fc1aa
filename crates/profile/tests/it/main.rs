//! Profiles and manifests as operators write them, through the public interface.

mod cases;
mod documents;
mod environment;
mod file;
mod keys;
mod limits;
mod manifest;
mod random;
mod sample;
mod steps;
mod support;
