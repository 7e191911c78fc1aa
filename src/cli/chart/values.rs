//! `-f`, `--set` and its family: the flags that give a chart its values.

use std::io::Read;
use std::time::Duration;

use clap::Args;
use kzero_chart::values;
use serde_json::{Map, Value};

use super::remote;
use crate::cli::app::App;

/// How long the fetching of a file may take.
const TIME: Duration = Duration::from_secs(120);

/// The flags that give values, as Helm has them.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Values")]
pub(super) struct ValueFlags {
    /// Values file, address of one, or - for standard input; repeat or separate by commas, later ones win.
    #[arg(short = 'f', long = "values", value_name = "FILE")]
    pub(super) files: Vec<String>,
    /// Values as key1=val1,key2=val2; numbers and booleans are recognised.
    #[arg(long, value_name = "KEY=VAL")]
    pub(super) set: Vec<String>,
    /// Values as key1=val1,key2=val2, all of them strings.
    #[arg(long, value_name = "KEY=VAL")]
    pub(super) set_string: Vec<String>,
    /// Values from files: key1=path1,key2=path2.
    #[arg(long, value_name = "KEY=PATH")]
    pub(super) set_file: Vec<String>,
    /// Values in JSON: key1=json1,key2=json2.
    #[arg(long, value_name = "KEY=JSON")]
    pub(super) set_json: Vec<String>,
    /// One value that is everything behind the first =.
    #[arg(long, value_name = "KEY=TEXT")]
    pub(super) set_literal: Vec<String>,
}

impl ValueFlags {
    /// The values all flags give together, in Helm's order: files, JSON, plain, strings, files'
    /// contents, literals; later ones win.
    ///
    /// # Errors
    ///
    /// Helm's words for a file that cannot be read or a text that is no assignment.
    pub(super) fn merge(&self, app: &App) -> Result<Map<String, Value>, String> {
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
        let mut bytes = Vec::new();
        return match std::io::stdin().lock().read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(format!("cannot read standard input: {error}")),
        };
    }
    if remote::is_elsewhere(path) {
        return remote::get(app, path, TIME);
    }
    std::fs::read(app.environment.absolute(path)).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("open {path}: no such file or directory"),
        _ => format!("open {path}: {error}"),
    })
}

/// Flags that take several values at once, separated as in a CSV file.
fn comma_separated(flags: &[String]) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for flag in flags {
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
        assert_eq!(split("").unwrap(), [""]);
        assert!(split("a\"b").is_err());
        assert!(split("\"a").is_err());
    }
}
