//! YAML as Helm 3.22 reads and writes it.
//!
//! Helm goes through JSON in both directions: what it reads becomes JSON text first, so every
//! number is a double and every key a string; what it writes is JSON text read as YAML again and
//! then emitted. The scalar rules are those of YAML 1.1 as the Go library applies them, which is
//! not quite the letter of either standard; the goldens under `tests/golden` are recorded from it.

mod decode;
mod encode;
mod input;
pub(crate) mod lines;
mod number;
mod parse;
mod resolve;
mod scalar;
mod scan;
mod shown;

pub use decode::{DecodeError, decode, decode_bytes, decode_object};
pub(crate) use decode::{Target, decode_for, folded};
pub use encode::{encode, encode_pretty};
pub use number::json_number;
