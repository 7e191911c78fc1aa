//! Running the program as a person would, and holding what came of it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{Read, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use regex::Regex;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::MiniApi;
use crate::process::{Fifo, Gate, Process, processes_with_env};

/// How long a run may take unless a test says otherwise.
const LIMIT: Duration = Duration::from_secs(60);

/// Variable by which the processes of one run are known.
const MARK: &str = "TESTKIT_RUN";

/// A folder of its own, and the program to run in it.
///
/// The environment is empty but for `PATH`, `HOME` (the folder), `TZ` (UTC), `LANG`, `NO_COLOR`
/// and a mark by which left-over processes are found.
///
/// ```no_run
/// # use kzero_testkit::Kzero;
/// Kzero::new("/path/to/kzero")
///     .profile("name: demo\n")
///     .args(["analyze"])
///     .run()
///     .assert_code(0);
/// ```
#[derive(Debug)]
pub struct Kzero {
    program: PathBuf,
    dir: TempDir,
    args: Vec<OsString>,
    env: BTreeMap<OsString, OsString>,
    stdin: Option<String>,
    limit: Duration,
    mark: String,
    terminal: bool,
}

impl Kzero {
    /// Takes the program's path, in tests `env!("CARGO_BIN_EXE_kzero")`.
    ///
    /// # Panics
    ///
    /// When no temporary folder can be made.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Kzero {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let dir = TempDir::new().expect("a temporary folder");
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{run}", std::process::id());
        let env = [
            ("PATH", OsStr::new("/usr/local/bin:/usr/bin:/bin")),
            ("HOME", dir.path().as_os_str()),
            ("TZ", OsStr::new("UTC")),
            ("LANG", OsStr::new("C.UTF-8")),
            ("NO_COLOR", OsStr::new("1")),
            (MARK, OsStr::new(&mark)),
        ]
        .map(|(name, value)| (name.into(), value.to_owned()));
        Kzero {
            program: program.into(),
            env: env.into(),
            dir,
            args: Vec::new(),
            stdin: None,
            limit: LIMIT,
            mark,
            terminal: false,
        }
    }

    /// Writes the profile, `kzero.yaml`.
    #[must_use]
    pub fn profile(self, text: &str) -> Kzero {
        self.file("kzero.yaml", text)
    }

    /// Writes a file; folders on the way are made.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    #[must_use]
    pub fn file(self, path: &str, text: &str) -> Kzero {
        self.write(path, text);
        self
    }

    /// Writes a script that may be run; `#!/bin/sh` is put before it if it has no such line.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    #[must_use]
    pub fn script(self, path: &str, text: &str) -> Kzero {
        let text = if text.starts_with("#!") {
            text.to_owned()
        } else {
            format!("#!/bin/sh\n{text}\n")
        };
        let path = self.write(path, &text);
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&path, mode).expect("rights of a script");
        self
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).expect("a folder in the test's folder");
        }
        fs::write(&path, text).unwrap_or_else(|err| panic!("{}: {err}", path.display()));
        path
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Kzero {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Takes a variable away.
    #[must_use]
    pub fn env_remove(mut self, name: &str) -> Kzero {
        self.env.remove(OsStr::new(name));
        self
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Kzero {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<I>(mut self, args: I) -> Kzero
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
    {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// What the program reads; without it its input is empty.
    #[must_use]
    pub fn stdin(mut self, text: &str) -> Kzero {
        self.stdin = Some(text.to_owned());
        self
    }

    /// Sets `KUBECONFIG`.
    #[must_use]
    pub fn kubeconfig(self, path: impl Into<PathBuf>) -> Kzero {
        self.env("KUBECONFIG", path.into())
    }

    /// Writes a kubeconfig for that server and sets `KUBECONFIG`.
    #[must_use]
    pub fn cluster(self, api: &MiniApi) -> Kzero {
        let path = api.kubeconfig(self.dir());
        self.kubeconfig(path)
    }

    /// Gives runs a terminal of 80 columns as their standard error; what they write there is heard as it is.
    #[must_use]
    pub fn terminal(mut self) -> Kzero {
        self.terminal = true;
        self.env("TERM", "xterm")
    }

    /// How long a run may take before it is killed and the test fails (60 s).
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Kzero {
        self.limit = limit;
        self
    }

    /// The folder that the program runs in.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A path in that folder.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// The text of a file in that folder.
    ///
    /// # Panics
    ///
    /// When it cannot be read.
    #[must_use]
    pub fn read(&self, path: &str) -> String {
        let path = self.path(path);
        fs::read_to_string(&path).unwrap_or_else(|err| panic!("{}: {err}", path.display()))
    }

    /// A pipe in that folder through which scripts report.
    #[must_use]
    pub fn fifo(&self, name: &str) -> Fifo {
        Fifo::create(&self.path(name))
    }

    /// A gate in that folder at which scripts wait.
    #[must_use]
    pub fn gate(&self, name: &str) -> Gate {
        Gate::create(&self.path(name))
    }

    /// Runs the program to its end.
    ///
    /// # Panics
    ///
    /// When it cannot be started or does not end in time; it is killed then, with its children.
    pub fn run(&self) -> Outcome {
        self.spawn().wait()
    }

    /// Runs the program with these arguments added to the set ones, for this run alone.
    ///
    /// # Panics
    ///
    /// As [`Kzero::run`].
    pub fn run_with<I>(&self, args: I) -> Outcome
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
    {
        self.spawn_with(args).wait()
    }

    /// Starts the program.
    ///
    /// # Panics
    ///
    /// When it cannot be started.
    pub fn spawn(&self) -> Running {
        self.spawn_with(Vec::<OsString>::new())
    }

    /// Starts the program with these arguments added, for this run alone.
    ///
    /// # Panics
    ///
    /// When it cannot be started.
    pub fn spawn_with<I>(&self, args: I) -> Running
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
    {
        let started = Instant::now();
        let screen = self.terminal.then(open_terminal);
        let stderr = match &screen {
            Some((_, screen)) => Stdio::from(screen.try_clone().expect("a second handle")),
            None => Stdio::piped(),
        };
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .args(args.into_iter().map(Into::into))
            .current_dir(self.dir())
            .env_clear()
            .envs(&self.env)
            // A group of its own, so that a ^C on the test does not look like one on the program.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap_or_else(|err| panic!("{}: {err}", self.program.display()));
        if let Some(mut stdin) = child.stdin.take() {
            let text = self.stdin.clone().unwrap_or_default();
            thread::spawn(move || {
                // A program that does not read its input has no need of it.
                let _ = stdin.write_all(text.as_bytes());
            });
        }
        let pid = i32::try_from(child.id()).expect("a process id");
        let heard = Arc::new(Heard::default());
        let stderr: Option<Box<dyn Read + Send>> = match screen {
            // The end of the program is seen once no other handle of its side is open.
            Some((reader, _)) => Some(Box::new(File::from(reader))),
            None => child.stderr.take().map(|pipe| Box::new(pipe) as _),
        };
        let readers = [
            heard.listen(child.stdout.take(), |texts| &mut texts.stdout),
            heard.listen(stderr, |texts| &mut texts.stderr),
        ];
        let (sender, ended) = channel();
        thread::spawn(move || {
            let status = child.wait();
            // Nobody to tell: the test is over.
            let _ = sender.send((status.expect("the end of a child"), Instant::now()));
        });
        Running {
            pid,
            started,
            deadline: started + self.limit,
            limit: self.limit,
            heard,
            readers: Some(readers),
            ended,
            mark: self.mark.clone(),
            over: false,
        }
    }

    /// Processes that runs of this program left behind.
    #[must_use]
    pub fn left_behind(&self) -> Vec<Process> {
        processes_with_env(MARK, &self.mark)
    }
}

/// A terminal of 80 columns: the side of who looks at it, and that of who writes to it.
fn open_terminal() -> (OwnedFd, OwnedFd) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
    let reader = openpt(flags).expect("a pseudo-terminal");
    grantpt(&reader).expect("the right to it");
    unlockpt(&reader).expect("its other side");
    let size = rustix::termios::Winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    rustix::termios::tcsetwinsize(&reader, size).expect("its size");
    let name = ptsname(&reader, Vec::new()).expect("its name");
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
    let writer = rustix::fs::open(name, flags, rustix::fs::Mode::empty()).expect("its other side");
    (reader, writer)
}

#[derive(Debug, Default)]
struct Texts {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    closed: usize,
}

#[derive(Debug, Default)]
struct Heard {
    texts: Mutex<Texts>,
    more: Condvar,
}

impl Heard {
    fn listen<R: Read + Send + 'static>(
        self: &Arc<Self>,
        stream: Option<R>,
        part: fn(&mut Texts) -> &mut Vec<u8>,
    ) -> thread::JoinHandle<()> {
        let heard = Arc::clone(self);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            if let Some(mut stream) = stream {
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    let mut texts = heard.lock();
                    part(&mut texts).extend_from_slice(&buffer[..count]);
                    heard.more.notify_all();
                }
            }
            heard.lock().closed += 1;
            heard.more.notify_all();
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Texts> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn show(texts: &Texts) -> String {
    format!(
        "--- stdout\n{}--- stderr\n{}---",
        String::from_utf8_lossy(&texts.stdout),
        String::from_utf8_lossy(&texts.stderr)
    )
}

/// A program that runs; it is killed, with its children, when this is dropped.
#[derive(Debug)]
pub struct Running {
    pid: i32,
    started: Instant,
    deadline: Instant,
    limit: Duration,
    heard: Arc<Heard>,
    readers: Option<[thread::JoinHandle<()>; 2]>,
    ended: Receiver<(ExitStatus, Instant)>,
    mark: String,
    over: bool,
}

impl Running {
    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Sends it a signal, and only it.
    ///
    /// # Panics
    ///
    /// When it has ended.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.pid).expect("a process id");
        if let Err(err) = kill_process(pid, signal) {
            panic!(
                "{signal:?} to {}: {err}\n{}",
                self.pid,
                show(&self.heard.lock())
            );
        }
    }

    /// Interrupts it, as ^C does.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Kills it without a chance to clean up.
    pub fn kill9(&self) {
        self.signal(Signal::KILL);
    }

    /// Whether it has closed both streams, as it does at its end.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.heard.lock().closed == 2
    }

    /// Waits until it has written `text`, to either stream.
    ///
    /// # Panics
    ///
    /// When it ends, or its time does, before that.
    pub fn wait_for_output(&self, text: &str) {
        let mut texts = self.heard.lock();
        let said = |stream: &[u8]| String::from_utf8_lossy(stream).contains(text);
        loop {
            if said(&texts.stdout) || said(&texts.stderr) {
                return;
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            if texts.closed == 2 || left.is_zero() {
                panic!("never said {text:?}:\n{}", show(&texts));
            }
            texts = self
                .heard
                .more
                .wait_timeout(texts, left)
                .map_or_else(|poison| poison.into_inner().0, |(texts, _)| texts);
        }
    }

    /// Waits for its end.
    ///
    /// # Panics
    ///
    /// When it does not end in time; it is killed then, with its children.
    #[must_use]
    pub fn wait(mut self) -> Outcome {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let Ok((status, at)) = self.ended.recv_timeout(left) else {
            let texts = show(&self.heard.lock());
            panic!("still running after {:?}, killed:\n{texts}", self.limit);
        };
        self.over = true;
        self.hear_out();
        let texts = self.heard.lock();
        let text = |stream: &[u8]| String::from_utf8_lossy(stream).into_owned();
        Outcome {
            code: status
                .code()
                .unwrap_or_else(|| 128 + status.signal().unwrap_or_default()),
            signal: status.signal(),
            stdout: text(&texts.stdout),
            stderr: text(&texts.stderr),
            elapsed: at - self.started,
        }
    }

    /// Reads what is still in the pipes. A child that was left behind may hold them open, so
    /// this has an end.
    fn hear_out(&mut self) {
        let end = Instant::now() + Duration::from_secs(5);
        let mut texts = self.heard.lock();
        while texts.closed < 2 {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            texts = self
                .heard
                .more
                .wait_timeout(texts, left)
                .map_or_else(|poison| poison.into_inner().0, |(texts, _)| texts);
        }
        drop(texts);
        for reader in self.readers.take().into_iter().flatten() {
            // It has nothing more to do; a panic of it has been printed.
            let _ = reader.join();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let mut pids = vec![self.pid];
        pids.extend(
            processes_with_env(MARK, &self.mark)
                .iter()
                .map(|process| process.pid),
        );
        for pid in pids.into_iter().filter_map(Pid::from_raw) {
            // Ended already: just what is wanted.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// What came of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The exit code; 128 and the signal's number if a signal ended it.
    pub code: i32,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it wrote to stdout.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
    /// How long it ran.
    pub elapsed: Duration,
}

/// A line of the program's text output, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// `DBG`, `INF`, `WRN` or `ERR`; empty when the line has no prefix.
    pub level: String,
    /// The text after the prefix.
    pub text: String,
}

impl Outcome {
    /// Demands an exit code; shows both streams if it is another.
    ///
    /// # Panics
    ///
    /// When the code is another one.
    pub fn assert_code(&self, code: i32) -> &Outcome {
        assert_eq!(
            self.code, code,
            "exit code\n--- stdout\n{}--- stderr\n{}---",
            self.stdout, self.stderr
        );
        self
    }

    /// Demands a text on stdout.
    ///
    /// # Panics
    ///
    /// When it is not there.
    pub fn assert_stdout(&self, text: &str) -> &Outcome {
        assert!(
            self.stdout.contains(text),
            "stdout lacks {text:?}\n--- stdout\n{}--- stderr\n{}---",
            self.stdout,
            self.stderr
        );
        self
    }

    /// Demands a text on stderr.
    ///
    /// # Panics
    ///
    /// When it is not there.
    pub fn assert_stderr(&self, text: &str) -> &Outcome {
        assert!(
            self.stderr.contains(text),
            "stderr lacks {text:?}\n--- stdout\n{}--- stderr\n{}---",
            self.stdout,
            self.stderr
        );
        self
    }

    /// The lines of stdout, taken apart.
    #[must_use]
    pub fn stdout_lines(&self) -> Vec<Line> {
        lines(&self.stdout)
    }

    /// The lines of stderr, taken apart.
    #[must_use]
    pub fn stderr_lines(&self) -> Vec<Line> {
        lines(&self.stderr)
    }

    /// The lines of stdout without time and level.
    #[must_use]
    pub fn stdout_texts(&self) -> Vec<String> {
        texts(self.stdout_lines())
    }

    /// The lines of stderr without time and level.
    #[must_use]
    pub fn stderr_texts(&self) -> Vec<String> {
        texts(self.stderr_lines())
    }
}

fn texts(lines: Vec<Line>) -> Vec<String> {
    lines.into_iter().map(|line| line.text).collect()
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

fn lines(text: &str) -> Vec<Line> {
    let prefix = pattern(r"^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d: kzero - \[(DBG|INF|WRN|ERR)\] - (.*)$");
    text.lines()
        .map(|line| match prefix.captures(line) {
            Some(parts) => Line {
                level: parts[1].to_owned(),
                text: parts[2].to_owned(),
            },
            None => Line {
                level: String::new(),
                text: line.to_owned(),
            },
        })
        .collect()
}

/// Makes a text the same for every run: times of day become `TIME`, times taken (`finished in
/// 1.2s`, `failed after 3s`, `elapsed 5s`) become `T`, ports of 127.0.0.1 become `PORT`, and the
/// folder becomes `DIR`. Durations elsewhere stay, for they were asked for.
#[must_use]
pub fn normalize(text: &str, dir: &Path) -> String {
    let text = text.replace(&dir.display().to_string(), "DIR");
    let rows = [
        (r"(?m)^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d: ", "TIME: "),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
        (
            r"\b(in|after|elapsed|took) (\d+(\.\d+)?(h|ms|m|s|µs|us|ns))+",
            "$1 T",
        ),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    ];
    rows.iter().fold(text, |text, (from, to)| {
        pattern(from).replace_all(&text, *to).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Kzero {
        Kzero::new("/bin/sh").args(["-c", script])
    }

    #[test]
    fn a_run_gives_code_streams_and_a_clean_environment() {
        let outcome = shell("echo out; echo err >&2; env | sort; cat; exit 7")
            .stdin("fed\n")
            .env("KZERO_RUN_MODE", "live")
            .run();
        outcome.assert_code(7).assert_stderr("err\n");
        let names: Vec<&str> = outcome
            .stdout
            .lines()
            .filter_map(|line| Some(line.split_once('=')?.0))
            .collect();
        let wanted = [
            "HOME",
            "KZERO_RUN_MODE",
            "LANG",
            "NO_COLOR",
            "PATH",
            "PWD",
            MARK,
            "TZ",
        ];
        assert_eq!(names, wanted);
        assert!(outcome.stdout.ends_with("fed\n"));
    }

    #[test]
    fn files_and_scripts_lie_in_the_folder_of_the_run() {
        let kzero = shell("hooks/hello.sh").script("hooks/hello.sh", "cat kzero.yaml");
        kzero.profile("name: x\n").run().assert_stdout("name: x\n");
    }

    #[test]
    fn signals_reach_a_run_that_has_said_it_is_ready() {
        let kzero = shell("trap 'echo stopped; exit 3' TERM; echo ready; read -r _ <gate");
        let _gate = kzero.gate("gate");
        let running = kzero.spawn();
        running.wait_for_output("ready");
        running.signal(Signal::TERM);
        running.wait().assert_code(3).assert_stdout("stopped");
    }

    #[test]
    fn a_run_that_hangs_is_killed_with_its_children() {
        let kzero = shell("(trap '' TERM; read -r _ <gate) & echo on; read -r _ <gate")
            .limit(Duration::from_millis(300));
        let _gate = kzero.gate("gate");
        let hung = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| kzero.run()));
        let text = *hung.unwrap_err().downcast::<String>().unwrap();
        assert!(
            text.contains("still running") && text.contains("on"),
            "{text}"
        );
        let end = Instant::now() + Duration::from_secs(10);
        while !kzero.left_behind().is_empty() {
            assert!(Instant::now() < end, "{:?}", kzero.left_behind());
            thread::yield_now();
        }
    }

    #[test]
    fn lines_are_taken_apart_and_times_made_alike() {
        let text = "2026/06/11 16:13:08: kzero - [WRN] - [retry] x\nplain\n";
        let found = lines(text);
        assert_eq!(
            (found[0].level.as_str(), found[0].text.as_str()),
            ("WRN", "[retry] x")
        );
        assert_eq!(
            (found[1].level.as_str(), found[1].text.as_str()),
            ("", "plain")
        );
        let text = "2026/06/11 16:13:08: kzero down finished in 1m2.5s at /tmp/d, timeout 30s\n";
        assert_eq!(
            normalize(text, Path::new("/tmp/d")),
            "TIME: kzero down finished in T at DIR, timeout 30s\n"
        );
    }
}
