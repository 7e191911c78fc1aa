//! Sprig's functions, a family a file.
//!
//! Duty: the tables the function map is made of.

pub(crate) mod base;
mod crypto;
mod dates;
mod defaults;
mod der;
mod dicts;
mod encoding;
mod goregex;
mod keys;
mod lists;
mod math;
mod paths;
mod reflect;
pub(crate) mod regex;
mod semver;
mod strings;
pub(crate) mod urls;
mod words;

pub use dates::Time;

use crate::func::{Cx, FuncDef};

/// All tables, each sorted by name.
pub(crate) const TABLES: &[&[FuncDef]] = &[
    crypto::TABLE,
    dates::TABLE,
    defaults::TABLE,
    dicts::TABLE,
    encoding::TABLE,
    lists::TABLE,
    math::TABLE,
    paths::TABLE,
    reflect::TABLE,
    regex::TABLE,
    semver::TABLE,
    strings::TABLE,
    urls::TABLE,
    words::TABLE,
];

/// A random number below a bound, each as likely as the other.
fn random_below(cx: &Cx<'_>, bound: u64) -> u64 {
    if bound < 2 {
        return 0;
    }
    let fair = u64::MAX - u64::MAX % bound;
    loop {
        let mut bytes = [0; 8];
        cx.ambient().random(&mut bytes);
        let number = u64::from_le_bytes(bytes);
        if number < fair {
            return number % bound;
        }
    }
}
