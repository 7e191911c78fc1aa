//! Starting programs, and what becomes of them when this one is told to stop.
//!
//! Children run in process groups of their own. A ^C or SIGTERM reaches this program alone,
//! which passes it on to the group of the child at work once and waits for its end, so that
//! a script can take down what it started.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::signal::unix::{SignalKind, signal};

/// Set by the first signal.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// The process group of the child at work, or 0.
static GROUP: AtomicI32 = AtomicI32::new(0);

/// From now on signals do not end this program but what it runs.
pub(crate) fn catch_signals() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        // Without it a ^C ends this program at once, and its children go on alone.
        return;
    };
    // Handlers are set before this returns; only the waiting is done elsewhere.
    let signals = {
        let _inside = runtime.enter();
        (
            signal(SignalKind::interrupt()),
            signal(SignalKind::terminate()),
        )
    };
    let (Ok(mut interrupt), Ok(mut terminate)) = signals else {
        return;
    };
    thread::spawn(move || {
        runtime.block_on(async move {
            loop {
                let signal = tokio::select! {
                    _ = interrupt.recv() => Signal::INT,
                    _ = terminate.recv() => Signal::TERM,
                };
                STOPPED.store(true, Ordering::SeqCst);
                if let Some(group) = Pid::from_raw(GROUP.load(Ordering::SeqCst)) {
                    // It may have ended just now.
                    let _ = kill_process_group(group, signal);
                }
            }
        });
    });
}

/// Fails when somebody has asked to stop.
pub(crate) fn check_stopped() -> Result<()> {
    if STOPPED.load(Ordering::SeqCst) {
        bail!("stopped by a signal");
    }
    Ok(())
}

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// The folder that cargo builds into.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The script that starts control planes.
pub(crate) fn cluster_script() -> PathBuf {
    root().join("tests/cluster/cluster.sh")
}

/// A command in the folder of the repository.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// The cargo that runs this program.
pub(crate) fn cargo() -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The features, joined by commas, that switch on the tests against a control plane, of every
/// package that has one.
pub(crate) fn contract_features() -> Result<String> {
    let mut folders = vec![root()];
    let crates = root().join("crates");
    for entry in fs::read_dir(&crates).with_context(|| crates.display().to_string())? {
        folders.push(entry?.path());
    }
    let mut features = Vec::new();
    for folder in folders {
        let path = folder.join("Cargo.toml");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let name = text
            .lines()
            .skip_while(|line| *line != "[package]")
            .find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
        if let (true, Some(name)) = (
            text.lines().any(|line| line.starts_with("contract = ")),
            name,
        ) {
            features.push(format!("{name}/contract"));
        }
    }
    features.sort();
    Ok(features.join(","))
}

/// How a command looks when it is typed.
pub(crate) fn typed(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(
        command
            .get_args()
            .map(|arg| arg.to_string_lossy().into_owned()),
    );
    words.join(" ")
}

fn start(command: &mut Command) -> Result<Child> {
    check_stopped()?;
    let child = command
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let group = i32::try_from(child.id()).unwrap_or_default();
    GROUP.store(group, Ordering::SeqCst);
    Ok(child)
}

fn wait(mut child: Child, command: &Command) -> Result<()> {
    let status = child.wait();
    GROUP.store(0, Ordering::SeqCst);
    check_stopped()?;
    let status = status.with_context(|| typed(command))?;
    if !status.success() {
        bail!("{}: {status}", typed(command));
    }
    Ok(())
}

/// Runs a command to its end; its streams are those of this program.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let child = start(command)?;
    wait(child, command)
}

/// Runs a command and gives what it wrote to stdout.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    use std::io::Read as _;

    let mut child = start(command.stdout(Stdio::piped()))?;
    let mut text = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout
            .read_to_string(&mut text)
            .with_context(|| typed(command))?;
    }
    wait(child, command)?;
    Ok(text)
}

/// Runs a command that reads `input`.
pub(crate) fn feed(command: &mut Command, input: &str) -> Result<()> {
    use std::io::Write as _;

    let mut child = start(command.stdin(Stdio::piped()))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin
            .write_all(input.as_bytes())
            .with_context(|| typed(command))?;
    }
    wait(child, command)
}

/// Runs a command that takes something down again; a signal does not reach it.
pub(crate) fn clean_up(command: &mut Command) {
    let done = command.process_group(0).status();
    if !done.is_ok_and(|status| status.success()) {
        eprintln!("xtask: failed: {}", typed(command));
    }
}

/// Whether a program can be found.
pub(crate) fn has(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(program).is_file()))
}

/// Does something and says how long it took.
pub(crate) fn lane(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    eprintln!("xtask: {name}");
    let begun = Instant::now();
    let done = work();
    let word = if done.is_ok() { "ok" } else { "FAILED" };
    eprintln!(
        "xtask: {name}: {word} in {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    done
}
