//! Helm charts to manifests, byte for byte as Helm 3.22 does it. Pure: no network, no clock; of files only
//! those of charts are read.
//!
//! From files to what is applied:
//!
//! * [`load`] reads folders and archives into a [`Chart`];
//! * [`values`] reads and merges values files and applies `--set` and its family;
//! * [`render::Prepared`] switches dependencies, lays values over each other and renders;
//! * [`schema`] checks the values against `values.schema.json`;
//! * [`manifest`] takes notes out, splits files into documents, tells hooks from manifests, and sorts.
//!
//! And around it:
//!
//! * [`yaml::decode`] reads as Helm reads values files and `fromYaml` (YAML 1.1 scalars, numbers
//!   through JSON, the last of two equal keys), [`yaml::encode`] writes as `toYaml` does, which decides over
//!   checksums in manifests;
//! * [`lint`], [`show`] and [`pack`] do what Helm's commands of these names do.
//!
//! An example that renders a chart's folder is in `examples/render.rs`.
//!
//! ```
//! let values = kzero_chart::yaml::decode("debug: yes\nport: 0x1F90\n").unwrap();
//! assert_eq!(values["debug"], true);
//! assert_eq!(kzero_chart::yaml::encode(&values).unwrap(), "debug: true\nport: 8080");
//! ```

mod convert;
mod fields;
mod glob;
mod ignore;
mod limits;
pub mod lint;
pub mod load;
pub mod manifest;
pub mod metadata;
pub mod pack;
mod quote;
pub mod render;
pub mod schema;
pub mod show;
mod toml;
mod tree;
pub mod values;
pub mod yaml;

pub use ignore::filepath_match;
pub use load::{Chart, LoadError};
