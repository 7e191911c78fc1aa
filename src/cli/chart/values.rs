//! `-f`, `--set` and its family: the flags that give a chart its values.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kzero_chart::values;
use serde_json::{Map, Value};

use super::remote;
use crate::bounded;
use crate::cli::app::App;

/// Bytes of one file of values, or of one that becomes a value.
const MAX_FILE: u64 = 64 << 20;

/// How long the fetching of a file may take.
const TIME: Duration = Duration::from_secs(120);

/// The flags that give values, as Helm has them.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Values")]
pub(in crate::cli) struct ValueFlags {
    /// Values file, address of one, or - for standard input; repeat or separate by commas, later ones win.
    #[arg(short = 'f', long = "values", value_name = "FILE")]
    pub(in crate::cli) files: Vec<String>,
    /// Values as key1=val1,key2=val2; numbers and booleans are recognised.
    #[arg(long, value_name = "KEY=VAL")]
    pub(in crate::cli) set: Vec<String>,
    /// Values as key1=val1,key2=val2, all of them strings.
    #[arg(long, value_name = "KEY=VAL")]
    pub(in crate::cli) set_string: Vec<String>,
    /// Values from files: key1=path1,key2=path2.
    #[arg(long, value_name = "KEY=PATH")]
    pub(in crate::cli) set_file: Vec<String>,
    /// Values in JSON: key1=json1,key2=json2.
    #[arg(long, value_name = "KEY=JSON")]
    pub(in crate::cli) set_json: Vec<String>,
    /// One value that is everything behind the first =.
    #[arg(long, value_name = "KEY=TEXT")]
    pub(in crate::cli) set_literal: Vec<String>,
}

impl ValueFlags {
    /// The values all flags give together, in Helm's order: files, JSON, plain, strings, files'
    /// contents, literals; later ones win.
    ///
    /// # Errors
    ///
    /// Helm's words for a file that cannot be read or a text that is no assignment.
    pub(in crate::cli) fn merge(&self, app: &App) -> Result<Map<String, Value>, String> {
        let mut base = Map::new();
        for path in comma_separated(&self.files)? {
            let bytes = read(&path, app)?;
            let file =
                values::read(&bytes).map_err(|error| format!("failed to parse {path}: {error}"))?;
            values::merge_files(&mut base, file);
        }
        for text in &self.set_json {
            values::set::set_json(&mut base, text)
                .map_err(|_| format!("failed parsing --set-json data {text}"))?;
        }
        for text in &self.set {
            values::set::set(&mut base, text)
                .map_err(|error| format!("failed parsing --set data: {error}"))?;
        }
        for text in &self.set_string {
            values::set::set_string(&mut base, text)
                .map_err(|error| format!("failed parsing --set-string data: {error}"))?;
        }
        let content = |path: &str| {
            let bytes = read(path, app)?;
            Ok(Value::String(String::from_utf8_lossy(&bytes).into_owned()))
        };
        for text in &self.set_file {
            values::set::set_file(&mut base, text, &content)
                .map_err(|error| format!("failed parsing --set-file data: {error}"))?;
        }
        for text in &self.set_literal {
            values::set::set_literal(&mut base, text)
                .map_err(|error| format!("failed parsing --set-literal data: {error}"))?;
        }
        Ok(base)
    }
}

/// Reads a file of a flag; `-` is standard input, and an address is fetched.
fn read(path: &str, app: &App) -> Result<Vec<u8>, String> {
    if path.trim() == "-" {
        return bounded::read(std::io::stdin().lock(), "standard input", MAX_FILE)
            .map_err(|error| format!("cannot read {error}"));
    }
    if remote::is_elsewhere(path) {
        return remote::get(app, path, TIME);
    }
    // An empty path is no file, and not the current folder.
    let place = match path {
        "" => PathBuf::new(),
        path => app.environment.absolute(path),
    };
    bounded::open(&place, path, MAX_FILE)
}

/// Flags that take several values at once, separated as in a CSV file.
fn comma_separated(flags: &[String]) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    // A flag without anything gives no file, as a script has it whose variable is not set.
    for flag in flags.iter().filter(|flag| !flag.is_empty()) {
        let mut rest = flag.as_str();
        loop {
            let (field, after) = field(rest).ok_or_else(|| {
                format!("invalid argument {flag:?} for \"-f, --values\" flag: bare or unclosed \" in a field")
            })?;
            all.push(field);
            match after {
                Some(after) => rest = after,
                None => break,
            }
        }
    }
    Ok(all)
}

/// The first field and, behind a comma, the rest.
fn field(text: &str) -> Option<(String, Option<&str>)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (field, rest) = match text.split_once(',') {
            Some((field, rest)) => (field, Some(rest)),
            None => (text, None),
        };
        return (!field.contains('"')).then(|| (field.to_owned(), rest));
    };
    let mut field = String::new();
    let mut rest = quoted;
    loop {
        let (part, after) = rest.split_once('"')?;
        field.push_str(part);
        if let Some(more) = after.strip_prefix('"') {
            field.push('"');
            rest = more;
        } else if let Some(next) = after.strip_prefix(',') {
            return Some((field, Some(next)));
        } else {
            return after.is_empty().then_some((field, None));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::comma_separated;

    #[test]
    fn several_files_may_be_given_at_once() {
        let split = |text: &str| comma_separated(&[text.to_owned()]);
        assert_eq!(split("a.yaml,b.yaml").unwrap(), ["a.yaml", "b.yaml"]);
        assert_eq!(split("\"a,\"\"1\"\"\",b").unwrap(), ["a,\"1\"", "b"]);
        assert!(split("").unwrap().is_empty());
        assert_eq!(split("a,").unwrap(), ["a", ""]);
        assert!(split("a\"b").is_err());
        assert!(split("\"a").is_err());
    }
}
