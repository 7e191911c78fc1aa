//! Sprig's functions, a family a file.
//!
//! Duty: the tables the function map is made of.

use crate::func::FuncDef;

/// All tables, each sorted by name.
pub(crate) const TABLES: &[&[FuncDef]] = &[];
