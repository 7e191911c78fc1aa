//! Files that are derived from the program.

use std::fs;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::shell::{self, cargo, root};

/// What to do with the files.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Write nothing; fail when a file is not what would be written.
    #[arg(long)]
    check: bool,
}

/// Each file, and the arguments with which kzero prints it.
const FILES: &[(&str, &[&str])] = &[("configs/kzero.schema.json", &["schema"])];

/// Writes or checks every file.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut stale = Vec::new();
    for (file, args) in FILES {
        let mut kzero = cargo();
        kzero
            .args(["run", "--quiet", "-p", "kzero", "--"])
            .args(*args);
        let mut text = shell::read(&mut kzero)?;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let path = root().join(file);
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        if options.check {
            stale.push(*file);
        } else {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
            }
            fs::write(&path, text).with_context(|| path.display().to_string())?;
            println!("written: {file}");
        }
    }
    if !stale.is_empty() {
        bail!(
            "not up to date: {}; run `cargo xtask gen` and commit the result",
            stale.join(", ")
        );
    }
    Ok(())
}
