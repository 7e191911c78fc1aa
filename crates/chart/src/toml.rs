//! TOML as templates read and write it.
//!
//! Duty: what Helm's `toToml` and `fromToml` do, which are version 1.6 of Go's `BurntSushi/toml`. Writing is the same
//! byte for byte. Reading takes what TOML 1.1 allows; the Go library allows a little more (keys added to an inline
//! table later), and its complaints are worded otherwise than here, after `toml: line N: `.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub(crate) use decode::decode;
pub(crate) use encode::encode;
