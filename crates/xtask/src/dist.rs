//! The binary that people download.

use std::fs;

use anyhow::{Context as _, Result, bail};

use crate::shell::{self, cargo, command, has, target_dir};

const TARGET: &str = "x86_64-unknown-linux-musl";

/// The binary is to stay below this (MiB).
const LIMIT: f64 = 20.0;

/// Builds the static binary and looks at it.
pub(crate) fn run() -> Result<()> {
    if !has("musl-gcc") {
        bail!("musl-gcc is missing; on Debian: apt-get install musl-tools");
    }
    if has("rustup") {
        let installed = shell::read(command("rustup").args(["target", "list", "--installed"]))?;
        if !installed.lines().any(|target| target == TARGET) {
            bail!("the target is missing: rustup target add {TARGET}");
        }
    }
    let mut build = cargo();
    build
        .args([
            "build",
            "--release",
            "--locked",
            "-p",
            "kzero",
            "--target",
            TARGET,
        ])
        .env("CC_x86_64_unknown_linux_musl", "musl-gcc");
    shell::lane("static release build", || shell::run(&mut build))?;
    let binary = target_dir().join(TARGET).join("release/kzero");
    let size = fs::metadata(&binary)
        .with_context(|| binary.display().to_string())?
        .len();
    let version = shell::read(command(&binary).arg("--version"))?;
    // Sizes up to 2^52 are exact, and no binary is larger.
    #[expect(clippy::cast_precision_loss, reason = "for people to read")]
    let mebibytes = size as f64 / f64::from(1 << 20);
    println!(
        "{}: {mebibytes:.1} MiB, {}",
        binary.display(),
        version.trim()
    );
    if mebibytes > LIMIT {
        bail!("the binary is larger than {LIMIT} MiB");
    }
    Ok(())
}
