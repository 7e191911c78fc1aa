//! The one door to the Kubernetes API server.
//!
//! [`resolve`] reads kubeconfig and environment, [`Resolved::connect`] builds a [`Cluster`], and
//! the methods of [`Cluster`] are the things kzero does to one: set sizes, suspend, delete, run,
//! wait, and look. Each takes a [`Budget`], the only source of timeouts, and reports what the
//! operator should hear meanwhile as a [`Notice`].
//!
//! This crate prints nothing, repeats nothing on its own beyond what S-D.9 lists, and starts no
//! task that outlives the call or the [`Cluster`].

mod access;
mod budget;
mod cause;
mod claim;
mod client;
mod connect;
mod credential;
mod cronjob;
mod discovery;
mod dynamic;
mod error;
mod exec;
mod inventory;
mod job;
mod lease;
mod list;
mod notice;
mod object;
mod owners;
mod pods;
mod proxy;
mod readiness;
mod record;
mod scale;
mod view;
mod wait;

pub use access::Access;
pub use budget::{Budget, Expired};
pub use cause::CauseSubject;
pub use claim::{ClaimState, Deleted};
pub use client::Cluster;
pub use connect::{ConnectOptions, Environment, Resolved, Target, resolve};
pub use cronjob::{CronJobState, Suspended};
pub use discovery::{ApiResource, Discovery};
pub use dynamic::{Deletion, ObjectPatch, Propagation, Selection, Write};
pub use error::{ClusterError, ErrorClass, FieldError, Refusal};
pub use exec::Stream;
pub use inventory::{
    CronJobEntry, HelmRelease, NamespaceInventory, NodeEntry, UnschedulablePod, WorkloadEntry,
};
pub use job::{JobState, job_manifest};
pub use lease::{Attempt, Claim, Holding, IsAlive, Lease, NotRenewed};
pub use list::Change;
pub use notice::{Notice, Observer};
pub use object::{ApplyMode, ScaleKind, WorkloadRef};
pub use owners::Parked;
pub use readiness::{
    JobOutcome, Judgement, Rollout, Verdict, has_rule, is_custom, is_unused_claim, judge,
};
pub use record::{Record, RecordKind};
pub use scale::{Scaled, Size};
pub use view::View;
pub use wait::{Ready, WaitError};
