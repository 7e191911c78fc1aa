//! `docker-credential-*` programs, which keep secrets for Docker.

use std::ffi::OsStr;
use std::process::Stdio;
use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::Credential;
use crate::error::{Error, words};

/// How long one may take; it may ask a person.
const LONGEST: Duration = Duration::from_secs(60);
/// The longest answer that is read.
const MAX_ANSWER: u64 = 256 * 1024;
/// What helpers answer when they have nothing, on any platform.
const NOTHING: &str = "credentials not found in native keychain";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    #[serde(default)]
    username: String,
    secret: SecretString,
}

/// Asks a helper for the credential of an address; nothing where it has none.
///
/// # Errors
///
/// It does not start, fails, takes too long, or answers something else. What it wrote is not told:
/// it may be a secret.
pub(super) async fn get(
    program: &str,
    address: &str,
    path: Option<&OsStr>,
) -> Result<Credential, Error> {
    let failed = |cause: String| Error::local(format!("{program}: {cause}"));
    if program.contains('/') {
        return Err(failed(
            "a credential helper is a name, not a path".to_owned(),
        ));
    }
    tokio::select! {
        found = ask(program, address, path) => found.map_err(|cause| match cause {
            Cause::Missing => Error::local(format!(
                "exec: \"{program}\": executable file not found in $PATH"
            )),
            Cause::Other(cause) => failed(cause),
        }),
        () = tokio::time::sleep(LONGEST) => {
            Err(failed(format!("no answer in {} s", LONGEST.as_secs())))
        }
    }
}

/// Why there is no answer.
enum Cause {
    Missing,
    Other(String),
}

async fn ask(program: &str, address: &str, path: Option<&OsStr>) -> Result<Credential, Cause> {
    let system = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Cause::Missing,
        _ => Cause::Other(words(&error)),
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "the helper protocol of Docker: one short program whose output is data"
    )]
    let mut command = Command::new(program);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let mut child = command
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(system)?;
    if let Some(mut input) = child.stdin.take() {
        // One that does not listen may still answer.
        let _ = input.write_all(address.as_bytes()).await;
    }
    let mut output = Vec::new();
    if let Some(pipe) = child.stdout.take() {
        let mut pipe = pipe.take(MAX_ANSWER);
        pipe.read_to_end(&mut output).await.map_err(system)?;
    }
    let status = child.wait().await.map_err(system)?;
    if !status.success() {
        if output.trim_ascii() == NOTHING.as_bytes() {
            return Ok(Credential::default());
        }
        return Err(Cause::Other(format!("failed with {status}")));
    }
    let answer: Answer = serde_json::from_slice(&output)
        .map_err(|_| Cause::Other("the answer is no credential".to_owned()))?;
    // Docker's mark for a token of its own.
    Ok(if answer.username == "<token>" {
        Credential {
            refresh_token: Some(answer.secret),
            ..Credential::default()
        }
    } else {
        Credential {
            username: answer.username,
            password: Some(answer.secret),
            ..Credential::default()
        }
    })
}
