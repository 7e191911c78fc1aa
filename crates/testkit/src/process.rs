//! Looking at processes from outside, and talking to scripts through named pipes.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// A process found in `/proc`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// Its command line, with blanks between the words.
    pub command: String,
}

/// The living processes that have `key=value` in the environment they were started with.
///
/// Shows whether anything that a program started is still there. Zombies are left out, as
/// are processes of other users, whose environment cannot be read.
#[must_use]
pub fn processes_with_env(key: &str, value: &str) -> Vec<Process> {
    let wanted = format!("{key}={value}");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // A process may end while it is looked at.
        let Ok(environment) = fs::read(entry.path().join("environ")) else {
            continue;
        };
        if environment
            .split(|byte| *byte == 0)
            .any(|pair| pair == wanted.as_bytes())
        {
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            found.push(Process {
                pid,
                command: command.trim_end().to_owned(),
            });
        }
    }
    found.sort_by_key(|process| process.pid);
    found
}

fn make_fifo(path: &Path) {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap_or_else(|err| panic!("{}: {err}", path.display()));
}

/// Opened for both ways, so that neither side waits for the other to open it.
fn open_both_ways(path: &Path) -> File {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap_or_else(|err| panic!("{}: {err}", path.display()))
}

/// A named pipe through which scripts tell a test how far they are: `echo here >"$PIPE"`.
#[derive(Debug)]
pub struct Fifo {
    path: PathBuf,
    own: File,
    lines: Receiver<String>,
}

/// What [`Fifo`] writes to itself to end its reader.
const END: &str = "\u{1}end";

impl Fifo {
    /// Makes the pipe.
    ///
    /// # Panics
    ///
    /// When `path` exists or cannot be made.
    #[must_use]
    pub fn create(path: &Path) -> Fifo {
        make_fifo(path);
        let own = open_both_ways(path);
        let reader = own.try_clone().expect("a second handle");
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                if line == END || sender.send(line).is_err() {
                    return;
                }
            }
        });
        Fifo {
            path: path.to_owned(),
            own,
            lines,
        }
    }

    /// Where scripts find it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the next line that a script writes, at most 30 s.
    ///
    /// # Panics
    ///
    /// When no line came.
    #[must_use]
    pub fn wait(&self) -> String {
        match self.try_wait(Duration::from_secs(30)) {
            Some(line) => line,
            None => panic!("nobody wrote to {} within 30 s", self.path.display()),
        }
    }

    /// Waits for the next line, at most so long.
    #[must_use]
    pub fn try_wait(&self, limit: Duration) -> Option<String> {
        self.lines.recv_timeout(limit).ok()
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        // Without its reader the pipe has nothing left to do, so a failure changes nothing.
        let _ = self.own.write_all(format!("{END}\n").as_bytes());
    }
}

/// A named pipe that holds scripts back until the test lets them on: `read -r _ <"$GATE"`.
///
/// When the gate is dropped, scripts that still wait, or come later, go on as well.
#[derive(Debug)]
pub struct Gate {
    path: PathBuf,
    /// Stays open until the test program ends: a script that opened a pipe without a writer
    /// would wait for ever.
    own: ManuallyDrop<File>,
}

/// How many scripts a dropped gate lets through.
const CROWD: usize = 64;

impl Gate {
    /// Makes the closed gate.
    ///
    /// # Panics
    ///
    /// When `path` exists or cannot be made.
    #[must_use]
    pub fn create(path: &Path) -> Gate {
        make_fifo(path);
        Gate {
            path: path.to_owned(),
            own: ManuallyDrop::new(open_both_ways(path)),
        }
    }

    /// Where scripts find it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets one script on, now or when it comes.
    ///
    /// # Panics
    ///
    /// When the pipe cannot be written to.
    pub fn open(&mut self) {
        self.own.write_all(b"on\n").expect("a line for the gate");
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // A full pipe lets enough scripts through already.
        let _ = self.own.write_all(&b"on\n".repeat(CROWD));
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn scripts_report_through_a_pipe_and_wait_at_a_gate() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = Fifo::create(&dir.path().join("told"));
        let mut gate = Gate::create(&dir.path().join("gate"));
        let mut child = Command::new("/bin/sh")
            .args([
                "-c",
                "echo here >\"$0\"; read -r _ <\"$1\"; echo passed >\"$0\"",
            ])
            .arg(fifo.path())
            .arg(gate.path())
            .spawn()
            .unwrap();
        assert_eq!(fifo.wait(), "here");
        assert_eq!(fifo.try_wait(Duration::from_millis(50)), None);
        gate.open();
        assert_eq!(fifo.wait(), "passed");
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn a_process_is_found_by_its_environment_until_it_ends() {
        let dir = tempfile::tempdir().unwrap();
        let gate = Gate::create(&dir.path().join("gate"));
        let mark = dir.path().display().to_string();
        let mut child = Command::new("/bin/sh")
            .args(["-c", "read -r _ <\"$0\""])
            .arg(gate.path())
            .env("TESTKIT_MARK", &mark)
            .spawn()
            .unwrap();
        let found = processes_with_env("TESTKIT_MARK", &mark);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].pid, i32::try_from(child.id()).unwrap());
        drop(gate);
        child.wait().unwrap();
        assert_eq!(processes_with_env("TESTKIT_MARK", &mark), []);
    }
}
