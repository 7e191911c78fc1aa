//! Reading journals: what a run before this one had done.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use super::{FORMAT, Finished, Header, Line, RUN};

/// Bytes of a journal. One of 3,000 steps with twenty tries each has 12 MiB.
const MAX_BYTES: u64 = 64 << 20;

/// Why a journal cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// It is not there.
    #[error("there is no journal of run {0}\nhint: kzero status shows the last run")]
    Absent(String),
    /// It cannot be read.
    #[error("cannot read the journal {path}: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        error: String,
    },
    /// A newer kzero wrote it.
    #[error(
        "the journal {path} has format {found}, this kzero reads {FORMAT}\nhint: go on with the kzero that began the run ({kzero})"
    )]
    Newer {
        /// The file.
        path: String,
        /// Its format.
        found: u64,
        /// The version that wrote it.
        kzero: String,
    },
    /// It is no journal, or was changed.
    #[error(
        "the journal {path} is broken at line {line}: {error}\nhint: begin anew with kzero down or kzero up; steps are idempotent"
    )]
    Broken {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// Why.
        error: String,
    },
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It succeeded.
    Succeeded,
    /// It failed or was stopped, and said so.
    Failed,
    /// It was killed, or goes on.
    Open,
}

/// A run as its journal tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// What it set out to do.
    pub header: Header,
    /// What it or those before it had finished, with the run that did.
    pub finished: BTreeMap<String, String>,
    /// What began last and did not end well.
    pub unfinished: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// When the last line was written.
    pub last: String,
}

impl Past {
    /// What was finished, as the next journal carries it on.
    #[must_use]
    pub fn carried(&self) -> Vec<Finished> {
        let finished = self.finished.iter();
        finished
            .map(|(item, run)| Finished {
                item: item.clone(),
                run: run.clone(),
            })
            .collect()
    }
}

/// The ids of the runs that have a journal in a folder, oldest first.
///
/// # Errors
///
/// The folder cannot be read; one that is not there has none.
pub fn journals(folder: &Path) -> io::Result<Vec<String>> {
    runs(folder, "jsonl")
}

/// The ids of the runs that have a file with this extension, oldest first.
pub(super) fn runs(folder: &Path, extension: &str) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut runs = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let run = name.to_str().and_then(|name| name.strip_suffix(extension));
        if let Some(run) = run.and_then(|run| run.strip_suffix('.')) {
            runs.push(run.to_owned());
        }
    }
    // Ids of runs sort by time.
    runs.sort_unstable();
    Ok(runs)
}

/// The newest run of a folder that has a journal.
///
/// # Errors
///
/// [`JournalError`] but [`JournalError::Absent`].
pub fn newest(folder: &Path) -> Result<Option<Past>, JournalError> {
    let runs = journals(folder).map_err(|error| JournalError::Unreadable {
        path: folder.display().to_string(),
        error: error.to_string(),
    })?;
    let Some(run) = runs.last() else {
        return Ok(None);
    };
    read(folder, run).map(Some)
}

/// The journal of a run.
///
/// # Errors
///
/// [`JournalError`].
pub fn read(folder: &Path, run: &str) -> Result<Past, JournalError> {
    let path = folder.join(format!("{run}.jsonl"));
    let shown = path.display().to_string();
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => JournalError::Absent(run.to_owned()),
        _ => JournalError::Unreadable {
            path: shown.clone(),
            error: error.to_string(),
        },
    };
    // An id comes from the command line: it names a file of this folder and no other.
    if run.contains(['/', '\0']) || run.starts_with('.') {
        return Err(JournalError::Absent(run.to_owned()));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(&path).map_err(unreadable)?;
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(JournalError::Unreadable {
            path: shown,
            error: format!("it has more than {} MiB", MAX_BYTES >> 20),
        });
    }
    parse(&bytes, &shown)
}

/// Reads the text of a journal. What a death tore off its end is not there (S-11.20).
fn parse(bytes: &[u8], path: &str) -> Result<Past, JournalError> {
    let broken = |line: usize, error: String| JournalError::Broken {
        path: path.to_owned(),
        line,
        error,
    };
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    // Behind the last line break is nothing, or a torn line.
    lines.pop();
    let Some((first, rest)) = lines.split_first() else {
        return Err(broken(1, "its first line is incomplete".to_owned()));
    };
    let header = header(first, path)?;
    let mut finished: BTreeMap<String, String> = header
        .finished
        .iter()
        .map(|finished| (finished.item.clone(), finished.run.clone()))
        .collect();
    let mut last = header.at.clone();
    let mut unfinished = None;
    let mut outcome = Outcome::Open;
    for (number, line) in rest.iter().enumerate() {
        let line: Line =
            serde_json::from_slice(line).map_err(|error| broken(number + 2, error.to_string()))?;
        let (at, item, ok) = match line {
            Line::Begin { at, item, .. } => (at, item, None),
            Line::End { at, item, ok } => (at, item, Some(ok)),
        };
        last = at;
        match ok {
            Some(true) if item == RUN => outcome = Outcome::Succeeded,
            Some(false) if item == RUN => outcome = Outcome::Failed,
            _ if is_part(&item) => {}
            None => unfinished = Some(item),
            Some(true) => {
                unfinished = unfinished.filter(|begun| *begun != item);
                finished.insert(item, header.run.clone());
            }
            Some(false) => {}
        }
    }
    Ok(Past {
        header,
        finished,
        unfinished,
        outcome,
        last,
    })
}

fn header(line: &[u8], path: &str) -> Result<Header, JournalError> {
    let broken = |error: String| JournalError::Broken {
        path: path.to_owned(),
        line: 1,
        error,
    };
    let value: serde_json::Value =
        serde_json::from_slice(line).map_err(|error| broken(error.to_string()))?;
    let format = value.get("format").and_then(serde_json::Value::as_u64);
    match format {
        Some(found) if found > u64::from(FORMAT) => Err(JournalError::Newer {
            path: path.to_owned(),
            found,
            kzero: value
                .get("kzero")
                .and_then(serde_json::Value::as_str)
                .unwrap_or("unknown")
                .to_owned(),
        }),
        Some(_) => serde_json::from_value(value).map_err(|error| broken(error.to_string())),
        None => Err(broken("it names no format".to_owned())),
    }
}

/// Whether an item is done anew with what it belongs to: a hook of a step, and `on-error`, which ends one run.
fn is_part(item: &str) -> bool {
    item == "hook on-error" || item.starts_with("hook pipeline-")
}

#[cfg(test)]
mod tests {
    use super::{JournalError, Outcome, parse};

    const TEXT: &str = concat!(
        r#"{"format":1,"kzero":"1.0.0","run":"r2","command":"down","profile":"/p/kzero.yaml","by":"ann@host","at":"2026-01-02T03:04:05Z","resumes":"r1","cluster":{"server":"https://a"},"fingerprint":{"salt":"00","parts":[]},"plan":[{"item":"down[0]","label":"deployment.a/b"},{"item":"down[1]","label":"custom: ./x.sh"}],"finished":[{"item":"hook pre-down","run":"r1"}]}"#,
        "\n",
        r#"{"event":"begin","at":"2026-01-02T03:04:06Z","item":"down[0]","attempt":1}"#,
        "\n",
        r#"{"event":"begin","at":"2026-01-02T03:04:06Z","item":"hook pipeline-down-0-pre"}"#,
        "\n",
        r#"{"event":"end","at":"2026-01-02T03:04:07Z","item":"hook pipeline-down-0-pre","ok":true}"#,
        "\n",
        r#"{"event":"end","at":"2026-01-02T03:04:07Z","item":"down[0]","ok":true}"#,
        "\n",
        r#"{"event":"begin","at":"2026-01-02T03:04:08Z","item":"down[1]","attempt":1}"#,
        "\n",
        r#"{"event":"end","at":"2026-01-02T03:04:09Z","item":"down[1]","ok":false}"#,
        "\n",
        r#"{"event":"end","at":"2026-01-02T03:04:10Z","item":"run","ok":false}"#,
        "\n",
    );

    #[test]
    fn a_journal_cut_at_any_byte_says_what_its_whole_lines_say() {
        // S-11.20
        let ends: Vec<usize> = TEXT.match_indices('\n').map(|(at, _)| at + 1).collect();
        let mut finished = 0;
        for cut in 0..=TEXT.len() {
            let result = parse(&TEXT.as_bytes()[..cut], "j");
            let Some(lines) = ends.iter().rposition(|end| *end <= cut) else {
                assert!(
                    matches!(result, Err(JournalError::Broken { line: 1, .. })),
                    "{cut}"
                );
                continue;
            };
            let past = result.unwrap();
            assert!(
                past.finished.len() >= finished,
                "{cut}: nothing finished is forgotten"
            );
            finished = past.finished.len();
            assert_eq!(past.finished["hook pre-down"], "r1");
            assert_eq!(past.finished.contains_key("down[0]"), lines >= 4, "{cut}");
            assert!(!past.finished.contains_key("down[1]"));
            let unfinished = match lines {
                0 | 4 => None,
                1..=3 => Some("down[0]"),
                _ => Some("down[1]"),
            };
            assert_eq!(past.unfinished.as_deref(), unfinished, "{cut}");
            let outcome = if lines == 7 {
                Outcome::Failed
            } else {
                Outcome::Open
            };
            assert_eq!(past.outcome, outcome, "{cut}");
        }
    }

    #[test]
    fn any_byte_that_is_changed_is_an_error_or_another_journal_but_no_panic() {
        for at in 0..TEXT.len() {
            for byte in [0, b'\n', b'"', b'{', 0xff] {
                let mut bytes = TEXT.as_bytes().to_vec();
                bytes[at] = byte;
                let _ = parse(&bytes, "j");
            }
        }
    }
}
