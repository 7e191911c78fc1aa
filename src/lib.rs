//! kzero parks and wakes Kubernetes environments by ordered `down` and `up` pipelines.
//!
//! The library exists for the binary and its tests. From the top floor down:
//!
//! * [`cli`] – flags, commands, and the only wiring of doors;
//! * [`exit`] – all ends of a command and their exit codes;
//! * [`checks`] – read-only questions to the cluster, answered as data;
//! * [`pipeline`] – plans as data, and the loop that carries them out;
//! * [`steps`] – the kinds of steps;
//! * [`notify`], [`state`] – whom a run is told, what is kept between runs;
//! * [`releases`] – where records and charts of releases are;
//! * [`report`], [`script`] – the owners of the two output streams and of child processes;
//! * [`event`], [`stop`], [`environment`], [`ambient`] – what happened, who asked to end it, what was given, what
//!   templates may learn of the world.

pub mod ambient;
pub mod bounded;
pub mod checks;
pub mod cli;
pub mod environment;
pub mod event;
pub mod exit;
pub mod notify;
pub mod pipeline;
pub mod releases;
pub mod report;
pub mod script;
pub mod state;
pub mod steps;
pub mod stop;
