//! Flags written as Helm's own parser takes them, which scripts count on.

use std::any::TypeId;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, Command};

/// The same command, whose flags may be written as Helm's: switches with a value (`--devel=false`),
/// values that begin with a dash, empty paths, and anything several times, of which the last counts.
pub(in crate::cli) fn as_in_helm(command: Command) -> Command {
    command
        .mut_args(flag)
        .mut_subcommands(|command| match command.get_name() {
            "help" => command,
            _ => as_in_helm(command),
        })
}

fn flag(arg: Arg) -> Arg {
    if arg.is_positional() {
        return arg;
    }
    match arg.get_action() {
        ArgAction::SetTrue => {
            let id = arg.get_id().clone();
            arg.action(ArgAction::Set)
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
                .default_value("false")
                .value_parser(switch)
                .overrides_with(id)
        }
        ArgAction::Set => {
            let id = arg.get_id().clone();
            let arg = arg.allow_hyphen_values(true).overrides_with(id);
            if arg.get_value_parser().type_id() == TypeId::of::<PathBuf>() {
                arg.value_parser(OsStringValueParser::new().map(PathBuf::from))
            } else {
                arg
            }
        }
        ArgAction::Append => arg.allow_hyphen_values(true),
        _ => arg,
    }
}

/// The words that Go takes for a boolean.
fn switch(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("neither true nor false".to_owned()),
    }
}

/// A path that is not empty; an empty one is none, as a script has it whose variable is not set.
pub(super) fn given(path: Option<&PathBuf>) -> Option<&Path> {
    path.map(PathBuf::as_path)
        .filter(|path| !path.as_os_str().is_empty())
}
