//! Charts of `tools.jsonl`, as folders.
#![expect(clippy::unwrap_used, reason = "of tests")]

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

/// A row with its chart in a folder that goes with it.
pub(crate) struct Row {
    pub(crate) row: Value,
    dir: TempDir,
}

impl Row {
    /// The folder of the chart.
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("c")
    }

    /// A text with the folder's name taken out.
    pub(crate) fn place(&self, text: &str) -> String {
        let dir = self.dir.path().canonicalize().unwrap();
        text.replace(dir.to_str().unwrap(), "{dir}")
    }
}

/// The rows of the golden file, each put into a folder.
pub(crate) fn rows() -> impl Iterator<Item = Row> {
    let rows = crate::golden("tools.jsonl");
    assert!(rows.len() > 500, "{}", rows.len());
    rows.into_iter().map(|row| {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("c");
        fs::create_dir_all(&top).unwrap();
        for node in row["tree"].as_array().into_iter().flatten() {
            let path = top.join(node["path"].as_str().unwrap());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if node["dir"] == true {
                fs::create_dir_all(&path).unwrap();
            } else {
                fs::write(&path, node["text"].as_str().unwrap_or_default()).unwrap();
            }
        }
        Row { row, dir }
    })
}

/// Fails with all that differs.
pub(crate) fn compare(found: Vec<(Value, Value, Value)>) {
    let wrong: Vec<String> = found
        .into_iter()
        .filter(|(_, got, want)| got != want)
        .map(|(row, got, want)| {
            let mut input = row.to_string();
            input.truncate(input.floor_char_boundary(400));
            format!("{input}\n  got  {got}\n  want {want}")
        })
        .collect();
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
