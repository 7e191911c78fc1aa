//! Finds and fetches Helm charts as Helm 3.22 does: in OCI registries, in chart repositories, by address.
//!
//! Duty: from a reference to a chart's archive, with Helm's files, credentials, order and error texts. Helm's
//! own files are only read; what is fetched is kept in a cache of kzero's by its content. Everything that comes
//! from outside is bounded and checked, and credentials go only where they belong.
//!
//! - [`Settings`] are Helm's variables and defaults, [`Access`] its flags.
//! - [`local`] finds charts of this machine without touching a network; [`Client::locate`] finds all others.
//!
//! The process must have a TLS provider of rustls installed.
//!
//! ```
//! use kzero_registry::{Settings, local};
//!
//! let folder = std::env::temp_dir();
//! let settings = Settings::from_env(|_| None, &folder);
//! assert_eq!(local("repo/chart", &settings)?, None);
//! assert_eq!(local("./none", &settings).unwrap_err().to_string(), "path \"./none\" not found");
//! # Ok::<(), kzero_registry::Error>(())
//! ```

mod cache;
mod client;
mod credentials;
pub mod dependency;
mod error;
mod file;
#[cfg(test)]
mod hostile;
mod http;
mod locate;
mod oci;
mod path;
mod pull;
mod quote;
mod repo;
mod settings;

pub use client::{Access, Archive, Client, Console};
pub use credentials::Login;
pub use error::{Error, ErrorKind};
pub use locate::{Located, Wanted, local};
pub use pull::{save, unpack};
pub use settings::{Proxies, Settings};
