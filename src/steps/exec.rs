//! `exec`: run a command in a container, in both phases, without a shell.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use kzero_cluster::Stream;
use kzero_profile::{KindSpec, NameRule, OptionPhases, OptionSpec, Required, Shape};

use super::context::StepContext;
use super::error::StepError;
use super::kind::{Action, Kind, Subject, View};
use crate::event::{Effect, EventKind};

/// The row of commands in pods.
pub(super) const KIND: Kind = Kind {
    spec: KindSpec {
        name: "exec",
        summary: "runs a command in a container of a pod",
        name_rule: NameRule::Subdomain,
        options: &[
            OptionSpec {
                name: "container",
                shape: Shape::Text,
                phases: OptionPhases::Both,
                required: Required::Always,
                summary: "the container",
            },
            OptionSpec {
                name: "command",
                shape: Shape::ArgumentList,
                phases: OptionPhases::Both,
                required: Required::Always,
                summary: "the command as a list of arguments, no shell",
            },
            OptionSpec {
                name: "stdin",
                shape: Shape::FreeText,
                phases: OptionPhases::Both,
                required: Required::No,
                summary: "text to send, never logged",
            },
        ],
    },
    build: |cx| {
        let options = &cx.step.options;
        Box::new(Exec {
            namespace: cx.reference.namespace.clone(),
            pod: cx.reference.name.clone(),
            container: options.text("container").unwrap_or_default().to_owned(),
            command: options.list("command").unwrap_or_default().to_vec(),
            stdin: options.text("stdin").map(Into::into),
        })
    },
};

struct Exec {
    namespace: String,
    pod: String,
    container: String,
    command: Vec<String>,
    stdin: Option<Arc<str>>,
}

impl std::fmt::Debug for Exec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // stdin may hold a password and is never shown.
        f.debug_struct("Exec")
            .field("pod", &self.pod)
            .field("container", &self.container)
            .finish_non_exhaustive()
    }
}

impl Exec {
    fn object(&self) -> String {
        format!("{}/{}", self.namespace, self.pod)
    }

    /// The command joined by blanks, cut to 80 characters (S-3.23).
    fn shown(&self) -> String {
        let joined = self.command.join(" ").replace(['\n', '\r', '\t'], " ");
        if joined.chars().count() <= 80 {
            return joined;
        }
        let cut: String = joined.chars().take(77).collect();
        format!("{cut}...")
    }
}

impl Action for Exec {
    fn detail(&self, _view: &View) -> Option<String> {
        Some(format!(
            "exec {} container={}: {}",
            self.object(),
            self.container,
            self.shown()
        ))
    }

    fn subject(&self) -> Subject {
        Subject::Container(
            self.namespace.clone(),
            self.pod.clone(),
            self.container.clone(),
        )
    }

    fn run<'a>(&'a self, cx: &'a StepContext<'a>) -> LocalBoxFuture<'a, Result<(), StepError>> {
        async move {
            cx.act(
                Effect::Exec {
                    object: self.object(),
                    container: self.container.clone(),
                    command: self.shown(),
                },
                false,
            );
            if cx.dry() {
                return Ok(());
            }
            let client = cx.client().await?;
            let label = format!("pipeline-{}-{}", cx.id.phase, cx.id.index);
            let mut out = cx.scripts.lines();
            let mut err = cx.scripts.lines();
            let mut last = String::new();
            let mut pass = |stream: Stream, bytes: &[u8]| {
                let lines = match stream {
                    Stream::Stdout => out.push(bytes),
                    Stream::Stderr => err.push(bytes),
                };
                for line in lines {
                    if !line.is_empty() {
                        last.clone_from(&line);
                    }
                    cx.bus.emit(EventKind::ScriptOutput {
                        label: label.clone(),
                        line,
                    });
                }
            };
            let exec = client.exec(
                &self.namespace,
                &self.pod,
                &self.container,
                &self.command,
                self.stdin.as_deref(),
                &mut pass,
                &cx.budget,
            );
            // A command in a pod is a wait: it may run long, and it ends with its connection.
            // What it wrote so far is told however it ended, the last unended line too.
            let ended = cx.stop.race(exec).await;
            for line in out.finish().into_iter().chain(err.finish()) {
                last.clone_from(&line);
                cx.bus.emit(EventKind::ScriptOutput {
                    label: label.clone(),
                    line,
                });
            }
            match ended?? {
                0 => Ok(()),
                code => {
                    let last: String = last.chars().take(200).collect();
                    let tail = if last.is_empty() {
                        last
                    } else {
                        format!(": {last}")
                    };
                    Err(StepError::permanent(format!(
                        "exec {} container={}: command exited with code {code}{tail}",
                        self.object(),
                        self.container
                    )))
                }
            }
        }
        .boxed_local()
    }
}
