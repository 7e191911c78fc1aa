//! The one door to child processes: hooks, `custom` bodies, release scripts, kubectl, helm.

mod child;
mod env;
mod filter;
mod lines;
mod outcome;

pub use child::{Interrupt, Program, Scripts};
pub use env::{ChildEnv, HookVariables, StepVariables};
pub use filter::filter;
pub use lines::Lines;
pub use outcome::{ScriptError, ScriptErrorKind};
