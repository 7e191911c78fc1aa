//! The release engine.
//!
//! A [`revision::Revision`] is what one deployment of a chart left behind, in Helm's own form; [`storage::Storage`]
//! keeps revisions where Helm keeps them.

pub mod codec;
pub mod directives;
pub mod merge;
pub mod resource;
pub mod revision;
pub mod secrecy;
pub mod storage;
pub mod track;
