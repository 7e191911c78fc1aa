//! Starting, streaming, timing out and ending children.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::future::Future;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use kzero_cluster::Budget;
use rustix::process::{Pid, Signal};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStderr, ChildStdout};

use super::env::ChildEnv;
use super::lines::Lines;
use super::outcome::{ScriptError, ScriptErrorKind, TAIL, is_transient, last_words, shows_bashism};
use crate::event::{Bus, EventKind};
use crate::report::Masker;
use crate::stop::Stop;

/// How long pipes that a grandchild holds open are read after the child's end (S-4.13).
const DRAIN: Duration = Duration::from_secs(1);
/// From TERM to KILL (S-4.14).
const GRACE: Duration = Duration::from_secs(10);
/// The same inside clean-up.
const CLEANUP_GRACE: Duration = Duration::from_secs(2);

/// A program to start.
#[derive(Debug, Clone)]
pub struct Program {
    /// Its label in events and errors.
    pub label: String,
    /// The path as people know it.
    pub shown: String,
    /// The executable.
    pub executable: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its working directory.
    pub directory: PathBuf,
    /// Its environment, complete.
    pub env: ChildEnv,
    /// Whether a refused bashism gets a hint at `command.shell` (S-4.7).
    pub default_shell: bool,
    /// Whether output lines become events. If not, the program is asked for its standard
    /// output, which a warning on standard error must not become a part of.
    pub streamed: bool,
}

/// What may end a child early.
#[derive(Debug, Clone)]
pub struct Interrupt {
    /// The stop of the run.
    pub stop: Stop,
    /// The time it has.
    pub budget: Budget,
    /// Inside clean-up only a second signal ends it, and its grace is short.
    pub cleanup: bool,
}

/// Runs children and passes their output on.
#[derive(Clone)]
pub struct Scripts {
    bus: Arc<Bus>,
    masker: Masker,
}

impl Scripts {
    /// A runner that emits to `bus` and masks with `masker`.
    pub fn new(bus: Arc<Bus>, masker: Masker) -> Self {
        Self { bus, masker }
    }

    /// A text without secrets.
    pub fn mask(&self, text: &str) -> String {
        self.masker.mask(text).into_owned()
    }

    /// A collector of output lines that masks as children's output is masked.
    pub fn lines(&self) -> Lines {
        Lines::new(self.masker.clone())
    }

    /// Runs a program to its end and returns the last 64 KiB of its masked output, for one
    /// that is not streamed of its standard output alone.
    ///
    /// # Errors
    ///
    /// It could not be started, ended with another code than 0, died of a signal, ran out of
    /// budget or was stopped. In the last two cases nothing of its process group is left.
    ///
    /// # Cancel safety
    ///
    /// A dropped future kills the whole group without grace.
    pub async fn run(
        &self,
        program: &Program,
        interrupt: &Interrupt,
    ) -> Result<String, ScriptError> {
        let result = self.run_group(program, interrupt).await;
        self.bus.emit(EventKind::ScriptFinished {
            label: program.label.clone(),
            ok: result.is_ok(),
        });
        result
    }

    async fn run_group(
        &self,
        program: &Program,
        interrupt: &Interrupt,
    ) -> Result<String, ScriptError> {
        let mut child = start(program, Stdio::null())?;
        let group = child
            .id()
            .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let mut guard = GroupGuard(group);
        let mut reader = Reader {
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            out: Lines::new(self.masker.clone()),
            err: Lines::new(self.masker.clone()),
            tail: VecDeque::new(),
            tail_size: 0,
            answer: String::new(),
            raw: Vec::new(),
            scripts: self,
            program,
        };
        // The clock comes first: a child that never stops writing uses up what the runtime lets
        // a task do in one turn, and whatever is asked after it would never have its turn.
        let ended = tokio::select! {
            biased;
            early = early_end(interrupt) => early,
            ended = reader.until(child.wait()) => Ended::Itself(ended),
        };
        match ended {
            Ended::Itself(status) => {
                guard.0 = None;
                reader.drain(DRAIN).await;
                let output = reader.finish();
                let answer = std::mem::take(&mut reader.answer);
                match status {
                    Ok(status) => judge(program, status, output, &reader.raw_tail())
                        .map(|output| if program.streamed { output } else { answer }),
                    Err(error) => Err(start_error(program, &error)),
                }
            }
            Ended::Early(kind, why) => {
                end_group(&mut child, group, &mut reader, interrupt).await;
                guard.0 = None;
                let output = reader.finish();
                let last = last_words(&output);
                let tail = if last.is_empty() {
                    String::new()
                } else {
                    format!(" (last output: {last})")
                };
                Err(ScriptError {
                    kind,
                    transient: kind == ScriptErrorKind::TimedOut,
                    text: format!("{}: {why}{tail}", program.shown),
                })
            }
        }
    }
}

/// Kills the group when the future that runs it is dropped or panics before its end.
pub(super) struct GroupGuard(pub(super) Option<Pid>);

impl Drop for GroupGuard {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            signal(group, Signal::KILL);
        }
    }
}

/// How a child came to its end.
pub(super) enum Ended {
    Itself(std::io::Result<ExitStatus>),
    Early(ScriptErrorKind, String),
}

/// Resolves when the child has to be ended: by budget or stop.
pub(super) async fn early_end(interrupt: &Interrupt) -> Ended {
    let stopped = async {
        if interrupt.cleanup {
            interrupt.stop.stopped_at_once().await;
            "stopped by a second signal".to_owned()
        } else {
            format!("stopped: {}", interrupt.stop.stopped().await)
        }
    };
    let expired = async {
        match interrupt.budget.run(std::future::pending::<()>()).await {
            Ok(()) => std::future::pending().await,
            Err(expired) => expired,
        }
    };
    tokio::select! {
        biased;
        why = stopped => Ended::Early(ScriptErrorKind::Stopped, why),
        expired = expired => {
            // The end of the run's own budget is a stop, told by who watches it.
            Ended::Early(ScriptErrorKind::TimedOut, format!("{expired} ran out"))
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this module is the one door to children"
)]
pub(super) fn start(program: &Program, stdin: Stdio) -> Result<Child, ScriptError> {
    tokio::process::Command::new(&program.executable)
        .args(&program.arguments)
        .current_dir(&program.directory)
        .env_clear()
        .envs(program.env.variables())
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // S-4.11: a group of its own, so that a terminal's ^C reaches kzero alone.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| start_error(program, &error))
}

pub(super) fn start_error(program: &Program, error: &std::io::Error) -> ScriptError {
    ScriptError {
        kind: ScriptErrorKind::Start,
        transient: false,
        text: format!(
            "{}: cannot start {} in {}: {error}",
            program.shown,
            program.executable.display(),
            program.directory.display()
        ),
    }
}

fn judge(
    program: &Program,
    status: ExitStatus,
    output: String,
    raw: &str,
) -> Result<String, ScriptError> {
    use std::os::unix::process::ExitStatusExt;
    let last = last_words(&output);
    let tail = if last.is_empty() {
        String::new()
    } else {
        format!(": {last}")
    };
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(output),
        (Some(code), _) => {
            let mut text = format!("{}: exited with code {code}{tail}", program.shown);
            if program.default_shell && shows_bashism(&output) {
                text.push_str(
                    "\nhint: scripts run under /bin/sh and their #! line is ignored; for bash \
                     set command.shell: bash",
                );
            }
            let transient = is_transient(code, raw);
            Err(ScriptError {
                kind: ScriptErrorKind::Exit(code),
                transient,
                text,
            })
        }
        (None, signal) => {
            let signal = signal.unwrap_or_default();
            let text = format!("{}: killed by signal {signal}{tail}", program.shown);
            // S-3.17: a script that died of a signal is not repeated.
            Err(ScriptError {
                kind: ScriptErrorKind::Signal(signal),
                transient: false,
                text,
            })
        }
    }
}

/// Ends the whole group: TERM, after the grace KILL; output is read meanwhile. Returns when
/// nothing of the group is left.
async fn end_group(
    child: &mut Child,
    group: Option<Pid>,
    reader: &mut Reader<'_>,
    interrupt: &Interrupt,
) {
    let Some(group) = group else { return };
    let grace = if interrupt.cleanup {
        CLEANUP_GRACE
    } else {
        GRACE
    };
    let mut ended = false;
    if !interrupt.stop.is_at_once() {
        signal(group, Signal::TERM);
        // One that is stopped (it wanted the terminal, say) would not see it.
        signal(group, Signal::CONT);
        let gone = async {
            let _ = reader.until(child.wait()).await;
            ended = true;
            // The leader is gone; others of its group may still be at work.
            while group_exists(group) {
                reader.drain(Duration::from_millis(20)).await;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            biased;
            () = tokio::time::sleep(grace) => {}
            () = interrupt.stop.stopped_at_once() => {}
            () = gone => return reader.drain(Duration::from_millis(50)).await,
        }
    }
    signal(group, Signal::KILL);
    if !ended {
        let _ = reader.until(child.wait()).await;
    }
    // A killed process stays visible until its parent has reaped it; do not wait for ever.
    for _ in 0..200 {
        if !group_exists(group) {
            break;
        }
        signal(group, Signal::KILL);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    reader.drain(Duration::from_millis(50)).await;
}

fn signal(group: Pid, signal: Signal) {
    // An error says that the group has ended meanwhile, which is what is wanted.
    let _ = rustix::process::kill_process_group(group, signal);
}

/// Whether anything of a group still runs. One that has ended but was not reaped does not: its
/// parent may be a process 1 that never reaps, as kzero itself is in a container.
fn group_exists(group: Pid) -> bool {
    if rustix::process::test_kill_process_group(group).is_err() {
        return false;
    }
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return true;
    };
    let group = group.as_raw_nonzero().to_string();
    let mut seen = false;
    for process in processes.flatten() {
        let Ok(stat) = std::fs::read_to_string(process.path().join("stat")) else {
            continue;
        };
        // "PID (NAME) STATE PARENT GROUP …", where the name may hold anything.
        let Some((_, rest)) = stat.rsplit_once(')') else {
            continue;
        };
        seen = true;
        let mut fields = rest.split_whitespace();
        let state = fields.next().unwrap_or_default();
        if fields.nth(1) == Some(group.as_str()) && !matches!(state, "Z" | "X") {
            return true;
        }
    }
    // Without a readable /proc the kernel's own answer stands.
    !seen
}

/// Reads both pipes of a child.
struct Reader<'a> {
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    out: Lines,
    err: Lines,
    /// The last masked lines, at most [`TAIL`] bytes and a line.
    tail: VecDeque<String>,
    /// Bytes in `tail`, one more a line: an empty line counts too, else there would be no
    /// bound on their number.
    tail_size: usize,
    /// Standard output of a program that is not streamed, at most [`TAIL`] bytes.
    answer: String,
    /// The end of the unmasked output, which is only judged (S-3.18) and never passed on: a
    /// mask must not hide the words by which a failure is classed.
    raw: Vec<u8>,
    scripts: &'a Scripts,
    program: &'a Program,
}

impl Reader<'_> {
    /// Reads until `future` resolves. Cancel-safe: what was read has been passed on.
    async fn until<F: Future>(&mut self, future: F) -> F::Output {
        tokio::pin!(future);
        let (mut out, mut err) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
        loop {
            let (from_out, bytes) = tokio::select! {
                output = &mut future => return output,
                count = read(&mut self.stdout, &mut out), if self.stdout.is_some() => {
                    (true, count.map(|count| &out[..count]))
                }
                count = read(&mut self.stderr, &mut err), if self.stderr.is_some() => {
                    (false, count.map(|count| &err[..count]))
                }
            };
            match (from_out, bytes) {
                (true, None | Some([])) => self.stdout = None,
                (false, None | Some([])) => self.stderr = None,
                (from_out, Some(bytes)) => {
                    self.take(from_out, bytes);
                    // Clocks and signals are looked at between two reads, not after a hundred.
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    /// Reads until both pipes are closed, at most for `length`.
    async fn drain(&mut self, length: Duration) {
        let end = tokio::time::Instant::now() + length;
        let (mut out, mut err) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
        while self.stdout.is_some() || self.stderr.is_some() {
            let (from_out, bytes) = tokio::select! {
                () = tokio::time::sleep_until(end) => return,
                count = read(&mut self.stdout, &mut out), if self.stdout.is_some() => {
                    (true, count.map(|count| &out[..count]))
                }
                count = read(&mut self.stderr, &mut err), if self.stderr.is_some() => {
                    (false, count.map(|count| &err[..count]))
                }
            };
            match (from_out, bytes) {
                (true, None | Some([])) => self.stdout = None,
                (false, None | Some([])) => self.stderr = None,
                (from_out, Some(bytes)) => {
                    self.take(from_out, bytes);
                    // Clocks and signals are looked at between two reads, not after a hundred.
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    fn take(&mut self, from_out: bool, bytes: &[u8]) {
        self.raw.extend_from_slice(bytes);
        if self.raw.len() > 2 * TAIL {
            self.raw.drain(..self.raw.len() - TAIL);
        }
        let lines = if from_out {
            self.out.push(bytes)
        } else {
            self.err.push(bytes)
        };
        if from_out {
            self.answer(&lines);
        }
        self.pass(lines);
    }

    fn answer(&mut self, lines: &[String]) {
        for line in lines {
            if !self.program.streamed && self.answer.len() + line.len() < TAIL {
                self.answer.push_str(line);
                self.answer.push('\n');
            }
        }
    }

    /// The last 64 KiB as they came.
    fn raw_tail(&self) -> String {
        let from = self.raw.len().saturating_sub(TAIL);
        String::from_utf8_lossy(&self.raw[from..]).into_owned()
    }

    fn pass(&mut self, lines: Vec<String>) {
        for line in lines {
            if self.program.streamed {
                self.scripts.bus.emit(EventKind::ScriptOutput {
                    label: self.program.label.clone(),
                    line: line.clone(),
                });
            }
            self.tail_size += line.len() + 1;
            self.tail.push_back(line);
            while self.tail_size > TAIL && self.tail.len() > 1 {
                let first = self.tail.pop_front();
                self.tail_size -= first.map_or(0, |line| line.len() + 1);
            }
        }
    }

    /// Passes on what had no line end, and returns the tail.
    fn finish(&mut self) -> String {
        let mut lines = self.out.finish();
        self.answer(&lines);
        lines.extend(self.err.finish());
        self.pass(lines);
        self.tail.make_contiguous().join("\n")
    }
}

/// Reads once; `None` on an error, which for a pipe means that it is broken.
async fn read<R: AsyncRead + Unpin>(pipe: &mut Option<R>, buffer: &mut [u8]) -> Option<usize> {
    match pipe {
        Some(pipe) => pipe.read(buffer).await.ok(),
        None => None,
    }
}
