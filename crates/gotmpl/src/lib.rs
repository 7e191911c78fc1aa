//! Go's `text/template` with sprig's functions, in Rust, byte for byte.
//!
//! Duty: parse templates and render them with data, as Go 1.26 and sprig 3.3 do, error messages included. The crate is
//! pure: clock, randomness, time zones and name service come in through [`Ambient`], files and networks are never
//! touched. It is safe against hostile templates: [`Limits`] bound depth, steps and memory, and no input makes it panic.
//!
//! - [`TemplateSet`] holds templates that may call each other; [`TemplateSet::parse`] adds files,
//!   [`TemplateSet::render`] executes one. [`render`] does both for a single text.
//! - [`Value`] is what templates see: typed numbers, byte strings, shared lists and maps, and [`Object`]s of the host.
//! - [`FuncMap`] names the functions; [`FuncMap::sprig`] has all of sprig's, [`FuncMap::add`] takes closures, which
//!   may render templates themselves through their [`Cx`].
//!
//! ```
//! use kzero_gotmpl::{Still, Value, render};
//!
//! let data = Value::map([("name", Value::from("web")), ("ports", Value::list(vec![Value::Int(80)]))]);
//! let text = "{{ .name }}:{{ range .ports }} {{ . }}{{ end }}";
//! assert_eq!(render("t", text, &data, &Still::new(0, 0))?, "web: 80");
//! # Ok::<(), Box<kzero_gotmpl::TemplateError>>(())
//! ```

mod ambient;
mod ast;
mod builtins;
mod cast;
mod entries;
mod equal;
mod error;
mod exec;
mod func;
mod gofmt;
pub mod golang;
mod gotime;
mod json;
mod lex;
mod number;
pub mod parallel;
mod parse;
pub mod semver;
mod sprig;
mod template;
mod text;
mod utf8;
mod value;

pub use ambient::{Ambient, Instant, Offset, Still};
pub use entries::{Entries, Iter as EntriesIter};
pub use error::{ErrorKind, FuncError, TemplateError};
pub use func::{Cx, Failed, FuncDef, FuncMap, MethodDef, Native, NativeMethod, Param};
pub use gofmt::format;
pub use json::{JsonStyle, from_json, to_json};
pub use number::quoted;
pub use sprig::Time;
pub use template::{Limits, MissingKey, Rendering, TemplateSet, render};
pub use text::Str;
pub use utf8::is_print;
pub use value::{Elem, Kind, List, Map, NamedType, Object, Value};
