//! Programs that change a text: it goes to their standard input, and what they print takes its place.

use std::process::Stdio;

use rustix::process::Pid;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

use super::child::{Ended, GroupGuard, Interrupt, Program, early_end, start, start_error};
use super::outcome::{ScriptError, ScriptErrorKind, TAIL};

/// The most that a program may print.
const MOST: u64 = 256 << 20;

/// Runs a program on a text and returns what it prints. What it writes to standard error is part of its error alone.
///
/// # Errors
///
/// It could not be started, ended with another code than 0, printed too much, ran out of budget or was stopped. In the last
/// two cases its process group is killed.
///
/// # Cancel safety
///
/// A dropped future kills the whole group without grace.
pub async fn filter(
    program: &Program,
    text: &str,
    interrupt: &Interrupt,
) -> Result<Vec<u8>, ScriptError> {
    let mut child = start(program, Stdio::piped())?;
    let group = child
        .id()
        .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let mut guard = GroupGuard(group);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let feeding = async {
        if let Some(mut stdin) = stdin {
            // Who does not read all of it may still know what to print.
            let _ = stdin.write_all(text.as_bytes()).await;
        }
    };
    let running = async {
        let ((), printed, said) =
            tokio::join!(feeding, read(stdout, MOST + 1), read(stderr, TAIL as u64));
        (child.wait().await, printed, said)
    };
    let (status, printed, said) = tokio::select! {
        biased;
        early = early_end(interrupt) => {
            let (kind, why) = match early {
                Ended::Early(kind, why) => (kind, why),
                Ended::Itself(_) => (ScriptErrorKind::Stopped, String::new()),
            };
            return Err(failed(kind, format!("{}: {why}", program.shown)));
        }
        done = running => done,
    };
    guard.0 = None;
    let status = status.map_err(|error| start_error(program, &error))?;
    if printed.len() as u64 > MOST {
        let text = format!("{}: printed more than {} MiB", program.shown, MOST >> 20);
        return Err(failed(ScriptErrorKind::Exit(0), text));
    }
    if status.success() {
        return Ok(printed);
    }
    let said = String::from_utf8_lossy(&said);
    let kind = ScriptErrorKind::Exit(status.code().unwrap_or(-1));
    Err(failed(
        kind,
        format!(
            "error while running command {}. error output:\n{said}: {}",
            program.shown,
            ended(status)
        ),
    ))
}

/// How a program ended, in Go's words.
fn ended(status: std::process::ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or_default()),
    }
}

fn failed(kind: ScriptErrorKind, text: String) -> ScriptError {
    ScriptError {
        kind,
        transient: false,
        text,
    }
}

/// Reads a pipe to its end, and keeps so many bytes of its beginning.
async fn read(pipe: Option<impl AsyncRead + Unpin>, most: u64) -> Vec<u8> {
    let mut kept = Vec::new();
    if let Some(mut pipe) = pipe {
        // What came before a pipe broke counts.
        let _ = (&mut pipe).take(most).read_to_end(&mut kept).await;
        let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    }
    kept
}
