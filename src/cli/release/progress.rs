//! What is told on stderr while an operation is under way.
//!
//! Helm says nothing there, so neither does kzero where scripts may listen, but for warnings and for why something failed.

mod table;

use std::convert::Infallible;
use std::io::IsTerminal;
use std::time::Duration;

use clap::ValueEnum;
use kzero_profile::duration;
use kzero_release::event::Event;
use serde_json::{Value, json};

use crate::cli::app::App;
use crate::cli::args::LogFormat;
use crate::event::Level;
use crate::report::{Fields, Format, Kind, Output, OutputOptions, Record};
use table::Table;

/// `--progress`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Mode {
    /// A live table on a terminal, else nothing but warnings and causes of failures.
    Auto,
    /// A line for each thing that happens.
    Plain,
    /// A JSON object a line.
    Json,
    /// Nothing but warnings.
    None,
}

/// Tells events of one operation.
pub(super) struct Progress {
    app: App,
    how: How,
}

enum How {
    Silent,
    Quiet,
    Plain,
    Json(Output),
    Table(Table),
}

impl Progress {
    /// Decides how events are told.
    pub(super) fn new(app: &App, mode: Mode) -> Self {
        let how = match mode {
            Mode::None => How::Silent,
            _ if app.flags.log_format == LogFormat::Json => How::Json(app.output.clone()),
            Mode::Json => How::Json(Output::new(OutputOptions {
                format: Format::Json,
                level: app.flags.log_level,
                colour: false,
                document: false,
                command: "release",
            })),
            Mode::Plain => How::Plain,
            Mode::Auto if is_terminal(app) => How::Table(Table::new()),
            Mode::Auto => How::Quiet,
        };
        Self {
            app: app.clone(),
            how,
        }
    }

    /// Tells an event.
    pub(super) fn tell(&self, event: &Event) {
        match &self.how {
            How::Json(output) => {
                if let Some(record) = record(event) {
                    output.write(&record);
                }
            }
            How::Silent => {
                if let Event::Warning(text) = event {
                    self.line(&format!("WARNING: {text}"));
                }
            }
            How::Quiet => {
                if matches!(event, Event::Warning(_) | Event::Cause { .. }) {
                    self.lines(event);
                }
            }
            How::Plain => self.lines(event),
            How::Table(table) => {
                table.take(event);
                if matches!(
                    event,
                    Event::Warning(_) | Event::Info(_) | Event::Cause { .. } | Event::Log { .. }
                ) {
                    lines(event).iter().for_each(|line| table.say(line));
                }
            }
        }
    }

    /// Keeps a table up to date. Never ends.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub(super) async fn redraw(&self) -> Infallible {
        match &self.how {
            How::Table(table) => table.keep().await,
            _ => std::future::pending().await,
        }
    }

    /// Prints something else; a table makes room for it.
    pub(super) fn aside(&self, print: impl FnOnce()) {
        match &self.how {
            How::Table(table) => table.aside(print),
            _ => print(),
        }
    }

    /// Takes a table off the terminal.
    pub(super) fn end(&self) {
        if let How::Table(table) = &self.how {
            table.end().iter().for_each(|line| self.line(line));
        }
    }

    fn lines(&self, event: &Event) {
        for line in lines(event) {
            self.line(&line);
        }
    }

    fn line(&self, text: &str) {
        self.app.warn(text);
    }
}

/// Whether a table can be drawn.
fn is_terminal(app: &App) -> bool {
    let dumb = app
        .environment
        .text("TERM")
        .is_none_or(|term| term == "dumb");
    std::io::stderr().is_terminal() && !dumb
}

/// An event as lines for people.
fn lines(event: &Event) -> Vec<String> {
    match event {
        Event::Started {
            purpose: _,
            revision,
            objects,
            changes,
        } => vec![format!(
            "revision {revision}: {changes} of {objects} objects change"
        )],
        Event::Warning(text) => vec![format!("WARNING: {text}")],
        Event::Info(text) => vec![text.clone()],
        Event::Done { what, elapsed } => vec![format!("{what}: done in {}", shown(*elapsed))],
        Event::Failed { what, error } => vec![format!("{what}: {error}")],
        Event::Progress { object, text } => vec![format!("{object}: {text}")],
        Event::Log {
            pod,
            container,
            line,
        } => vec![format!("{pod}/{container}: {line}")],
        Event::Cause { object, lines } => lines
            .iter()
            .map(|line| format!("{object}: {line}"))
            .collect(),
        // What began is told when it ends.
        _ => Vec::new(),
    }
}

/// An event as a JSON line (S-D.5).
fn record(event: &Event) -> Option<Record> {
    let (word, level, fields): (&str, Level, Vec<(&'static str, Value)>) = match event {
        Event::Started {
            purpose,
            revision,
            objects,
            changes,
        } => (
            "started",
            Level::Info,
            vec![
                ("purpose", format!("{purpose:?}").to_lowercase().into()),
                ("revision", json!(revision)),
                ("objects", json!(objects)),
                ("changes", json!(changes)),
            ],
        ),
        Event::Warning(text) => ("warning", Level::Warn, vec![("text", text.clone().into())]),
        Event::Info(text) => ("info", Level::Info, vec![("text", text.clone().into())]),
        Event::Began { what } => ("began", Level::Info, vec![("what", what.clone().into())]),
        Event::Done { what, elapsed } => (
            "done",
            Level::Info,
            vec![
                ("what", what.clone().into()),
                ("duration", shown(*elapsed).into()),
            ],
        ),
        Event::Failed { what, error } => (
            "failed",
            Level::Error,
            vec![
                ("what", what.clone().into()),
                ("error", error.clone().into()),
            ],
        ),
        Event::Progress { object, text } => (
            "progress",
            Level::Info,
            vec![
                ("object", object.clone().into()),
                ("text", text.clone().into()),
            ],
        ),
        Event::Log {
            pod,
            container,
            line,
        } => (
            "log",
            Level::Info,
            vec![
                ("pod", pod.clone().into()),
                ("container", container.clone().into()),
                ("text", line.clone().into()),
            ],
        ),
        Event::Cause { object, lines } => (
            "cause",
            Level::Error,
            vec![("object", object.clone().into()), ("lines", json!(lines))],
        ),
        _ => return None,
    };
    let text = lines(event).join("; ");
    let text = match event {
        Event::Began { what } => what.clone(),
        _ => text,
    };
    let mut more = vec![("event", Value::from(word))];
    more.extend(fields);
    Some(Record {
        fields: Fields {
            more,
            ..Fields::default()
        },
        ..Record::bare(level, Kind::Release, text)
    })
}

/// A time in whole milliseconds, in Go's form.
fn shown(elapsed: Duration) -> String {
    let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    duration::format(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kzero_release::event::Event;

    use super::{lines, record};

    #[test]
    fn what_happens_is_a_line_once_it_is_done() {
        let what = || "create ConfigMap shop/a".to_owned();
        assert!(lines(&Event::Began { what: what() }).is_empty());
        assert_eq!(
            lines(&Event::Done {
                what: what(),
                elapsed: Duration::from_micros(1_234_567)
            }),
            ["create ConfigMap shop/a: done in 1.234s"]
        );
        assert_eq!(
            lines(&Event::Cause {
                object: "Pod shop/a".into(),
                lines: vec!["one".into(), "two".into()]
            }),
            ["Pod shop/a: one", "Pod shop/a: two"]
        );
    }

    #[test]
    fn each_event_is_one_object_with_its_fields() {
        let event = Event::Progress {
            object: "Pod shop/a".into(),
            text: "0 of 1 ready".into(),
        };
        let record = record(&event).unwrap();
        assert_eq!(record.kind.word(), "release");
        let fields = &record.fields.more;
        assert_eq!(fields[0], ("event", "progress".into()));
        assert_eq!(fields[1], ("object", "Pod shop/a".into()));
        assert_eq!(fields[2], ("text", "0 of 1 ready".into()));
    }
}
