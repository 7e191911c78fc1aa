//! Checks of form.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::shell::{self, cargo, command, has, lane, root};

/// Packages that must not come in, not even by way of others: a second TLS provider, C
/// libraries, and YAML readers that nobody maintains. `deny.toml` says why for each.
const BANNED: &[&str] = &[
    "aws-lc-rs",
    "aws-lc-sys",
    "native-tls",
    "openssl-sys",
    "serde_yaml",
    "serde_yml",
];

/// A check by its name.
type Check = (&'static str, fn() -> Result<()>);

/// Runs every check, so that one run shows all that is wrong.
pub(crate) fn run() -> Result<()> {
    let checks: [Check; 5] = [
        ("rustfmt", || {
            shell::run(cargo().args(["fmt", "--all", "--check"]))
        }),
        ("shellcheck", shellcheck),
        ("banned packages", banned),
        ("cargo-deny", deny),
        ("clippy", clippy),
    ];
    let mut failed = Vec::new();
    for (name, check) in checks {
        if let Err(err) = lane(name, check) {
            shell::check_stopped()?;
            eprintln!("xtask: {err:#}");
            failed.push(name);
        }
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

fn clippy() -> Result<()> {
    let features = shell::contract_features()?;
    let mut clippy = cargo();
    clippy.args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--features",
        &features,
    ]);
    shell::run(clippy.args(["--", "-D", "warnings"]))
}

fn shellcheck() -> Result<()> {
    if !has("shellcheck") {
        bail!("shellcheck is missing; on Debian: apt-get install shellcheck");
    }
    let mut scripts = Vec::new();
    for folder in [".ci", "configs", "examples", "hooks", "tests"] {
        find_scripts(&root().join(folder), &mut scripts)?;
    }
    scripts.sort();
    shell::run(command("shellcheck").arg("-x").args(&scripts))
}

/// Collects the files that a shell runs.
fn find_scripts(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            find_scripts(&path, found)?;
            continue;
        }
        let text = fs::read(&path).with_context(|| path.display().to_string())?;
        let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let first = String::from_utf8_lossy(first);
        if first.starts_with("#!") && (first.ends_with("sh") || first.contains("bash ")) {
            found.push(path);
        }
    }
    Ok(())
}

fn banned() -> Result<()> {
    let path = root().join("Cargo.lock");
    let lock = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let found: Vec<&str> = BANNED
        .iter()
        .copied()
        .filter(|name| lock.contains(&format!("name = \"{name}\"\n")))
        .collect();
    if !found.is_empty() {
        bail!(
            "banned packages in Cargo.lock: {}; `cargo tree -i NAME` shows who wants them",
            found.join(", ")
        );
    }
    Ok(())
}

/// Licences and sources; the rules are in `deny.toml`.
fn deny() -> Result<()> {
    if !has("cargo-deny") {
        eprintln!("xtask: skipped, for it is not installed: cargo install --locked cargo-deny");
        return Ok(());
    }
    shell::run(cargo().args(["deny", "check", "bans", "licenses", "sources"]))
}
