//! The release engine: charts deployed as releases that Helm reads and writes.
//!
//! A [`revision::Revision`] is what one deployment of a chart left behind, in Helm's own form; [`storage::Storage`] keeps
//! revisions where Helm keeps them. An [`engine::Engine`] installs, upgrades, rolls back and uninstalls: it renders
//! ([`render`]), reads documents into objects ([`resource`]) with their [`directives`], looks at what lives ([`live`]), decides
//! over each object ([`decide`], [`merge`]), orders all that in a graph ([`plan`], [`graph`]) and walks it ([`execute`],
//! [`actor`]), waiting where it must ([`track`]) under the [`lock`] of the release.
//!
//! This crate prints nothing and reads nothing of the process: what happens is told as [`event::Event`]s.

pub mod actor;
pub mod codec;
pub mod decide;
pub mod directives;
pub mod engine;
pub mod error;
pub mod event;
pub mod execute;
pub mod graph;
pub mod interrupt;
pub mod live;
pub mod lock;
pub mod merge;
pub mod plan;
pub mod preview;
pub mod record;
pub mod render;
pub mod resource;
mod restart;
pub mod revision;
pub mod secrecy;
pub mod show;
pub mod shown;
pub mod storage;
pub mod track;
