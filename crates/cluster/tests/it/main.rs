//! The crate's behaviour towards a scripted server on loopback; no cluster is needed.

#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod credentials;
mod exec;
mod proxies;
mod requests;
mod server;
mod waits;
