//! The one owner of stdout and stderr.

use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use kzero_profile::duration;
use kzero_release::shown::is_harmful;
use serde_json::{Map, Value, json};

use super::mask::Masker;
use super::record::{Kind, Record, Stream, Tag};
use super::writer::{Writer, put};
use crate::event::Level;

/// The two formats of `--log-format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Dated lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// How lines are written.
#[derive(Debug, Clone)]
pub struct OutputOptions {
    /// Text or JSON.
    pub format: Format,
    /// The lowest level shown.
    pub level: Level,
    /// Whether the summary's time is coloured.
    pub colour: bool,
    /// stdout is kept for one document: lines that would go there are dropped (S-6.3).
    pub document: bool,
    /// The command, for JSON lines.
    pub command: &'static str,
}

/// What becomes known only after the profile was read.
#[derive(Debug, Default)]
struct Context {
    client_id: Option<String>,
    run_id: Option<Arc<str>>,
    options: Option<OutputOptions>,
    masker: Masker,
}

/// Writes records. Cloneable; all clones share masker and context.
///
/// A reader that closes a stream early never stops a run (S-3.29): write errors
/// are remembered and further lines to that stream are dropped.
#[derive(Debug, Clone)]
pub struct Output {
    context: Arc<Mutex<Context>>,
    closed: Arc<Mutex<(bool, bool)>>,
    /// Why a result could not be written, unless its reader went away.
    lost: Arc<Mutex<Option<String>>>,
    /// The thread that writes, once [`Output::detach`] was called.
    writer: Arc<OnceLock<Writer>>,
}

impl Output {
    /// An owner of the streams with these options.
    pub fn new(options: OutputOptions) -> Self {
        let context = Context {
            options: Some(options),
            ..Context::default()
        };
        Self {
            context: Arc::new(Mutex::new(context)),
            closed: Arc::default(),
            lost: Arc::default(),
            writer: Arc::default(),
        }
    }

    /// From now on lines are written by a thread of their own: a reader who stops reading stops
    /// nothing. For runs; [`Output::finish`] has to be called at their end.
    pub fn detach(&self) {
        // Without a thread lines are written as before.
        if let Ok(writer) = Writer::start() {
            let _ = self.writer.set(writer);
        }
    }

    /// Waits until all lines are written: three seconds without one, or half a minute, end it.
    pub fn finish(&self) {
        if let Some(writer) = self.writer.get() {
            writer.finish(Duration::from_secs(3));
            let context = self.context();
            let note = context
                .options
                .as_ref()
                .and_then(|options| self.lost_lines(&context, options));
            drop(context);
            if let Some(note) = note {
                self.raw(Stream::Stdout, note);
                writer.finish(Duration::from_secs(3));
            }
        }
    }

    /// What is said of lines that nobody read, once somebody reads again.
    fn lost_lines(&self, context: &Context, options: &OutputOptions) -> Option<String> {
        let lost = self.writer.get().map_or(0, Writer::take_lost);
        let note = Record::line(
            Level::Warn,
            Kind::Warning,
            format!("{lost} lines were not written, nobody read them"),
        );
        (lost > 0).then(|| match options.format {
            Format::Text => text(&note, context, false),
            Format::Json => json_line(&note, context, options.command),
        })
    }

    fn context(&self) -> std::sync::MutexGuard<'_, Context> {
        self.context.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets what the profile says: client id, secrets to mask, colour.
    pub fn configure(&self, client_id: Option<String>, masker: Masker, colour: bool) {
        let mut context = self.context();
        context.client_id = client_id;
        context.masker = masker;
        if let Some(options) = &mut context.options {
            options.colour = colour;
        }
    }

    /// Sets the id that JSON lines of a run carry.
    pub fn set_run_id(&self, run_id: Arc<str>) {
        self.context().run_id = Some(run_id);
    }

    /// The masker in force.
    pub fn masker(&self) -> Masker {
        self.context().masker.clone()
    }

    /// Writes one record, masked, if its level is shown.
    pub fn write(&self, record: &Record) {
        let context = self.context();
        let Some(options) = &context.options else {
            return;
        };
        // S-7.3: the level never hides a result or the final error.
        let is_result = matches!(record.kind, Kind::Notify | Kind::Error);
        if record.level < options.level && !is_result {
            return;
        }
        if options.document && record.stream == Stream::Stdout {
            return;
        }
        if let Some(note) = self.lost_lines(&context, options) {
            self.raw(Stream::Stdout, note);
        }
        let line = match options.format {
            Format::Text => text(record, &context, options.colour),
            Format::Json if record.text.is_empty() && record.kind != Kind::Output => return,
            Format::Json => json_line(record, &context, options.command),
        };
        drop(context);
        self.raw(record.stream, line);
    }

    /// An empty line in text format.
    pub fn blank(&self) {
        let context = self.context();
        let Some(options) = &context.options else {
            return;
        };
        if options.format == Format::Text && !options.document && options.level <= Level::Info {
            drop(context);
            self.raw(Stream::Stdout, "\n".to_owned());
        }
    }

    /// Writes a result that is no line: a document, a script, a version. Not masked,
    /// not levelled.
    pub fn result(&self, text: &str) {
        if let Err(error) = put(io::stdout().lock(), text)
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
            lost.get_or_insert_with(|| error.to_string());
        }
    }

    /// Why a result did not arrive as a whole, such as a full disk. A reader that closed the
    /// pipe early has what it wanted and is no reason (S-3.29).
    pub fn lost(&self) -> Option<String> {
        self.lost
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn raw(&self, stream: Stream, text: String) {
        if let Some(writer) = self.writer.get() {
            writer.send(stream, text);
            return;
        }
        let text = &text;
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        match stream {
            Stream::Stdout if !closed.0 => closed.0 = put(io::stdout().lock(), text).is_err(),
            Stream::Stderr if !closed.1 => closed.1 = put(io::stderr().lock(), text).is_err(),
            Stream::Stdout | Stream::Stderr => {}
        }
    }
}

/// `value`, quoted when it holds a blank, `=` or `"` (S-7.8).
fn client_id_text(value: &str) -> String {
    if value.contains(|c: char| c.is_whitespace() || c == '=' || c == '"') {
        format!("{value:?}")
    } else {
        value.to_owned()
    }
}

/// What an API server, a pod's log or a profile says may hold control characters, which a
/// terminal would obey. Output of scripts has been cleaned before.
fn harmless(text: String) -> String {
    let harmful = |c: char| is_harmful(c) && c != '\n' && c != '\t';
    if text.contains(harmful) {
        text.replace(harmful, "\u{fffd}")
    } else {
        text
    }
}

fn text(record: &Record, context: &Context, colour: bool) -> String {
    let mut body = harmless(if record.verbatim {
        record.text.clone()
    } else {
        context.masker.mask(&record.text).into_owned()
    });
    if record.bare {
        body.push('\n');
        return body;
    }
    // S-7.4: an empty output line is an empty line.
    if record.kind == Kind::Output && body.is_empty() {
        return "\n".to_owned();
    }
    if let (true, Some((elapsed, ok))) = (colour, record.coloured) {
        let time = duration::format(elapsed);
        let code = if ok { "32" } else { "33" };
        body = body.replace(&time, &format!("\u{1b}[{code}m{time}\u{1b}[0m"));
    }
    let tag = match (record.tag, &context.client_id) {
        (Tag::None, _) => String::new(),
        (Tag::Live, _) => "[live] ".to_owned(),
        (Tag::DryRun, None) => "[dry-run] ".to_owned(),
        (Tag::Retry, None) => "[retry] ".to_owned(),
        (Tag::DryRun, Some(id)) => format!("[dry-run] client_id={} ", client_id_text(id)),
        (Tag::Retry, Some(id)) => format!("[retry] client_id={} ", client_id_text(id)),
    };
    let now = jiff::Zoned::now().strftime("%Y/%m/%d %H:%M:%S").to_string();
    let prefix = format!("{now}: kzero - [{}] - {tag}", record.level.tag());
    let mut out = String::with_capacity(body.len() + prefix.len() + 1);
    for line in body.split('\n') {
        out.push_str(&prefix);
        out.push_str(line);
        out.push('\n');
    }
    out
}

fn json_line(record: &Record, context: &Context, command: &str) -> String {
    let mask = |text: &str| Value::String(context.masker.mask(text).into_owned());
    let mut object = Map::new();
    let now = jiff::Timestamp::now();
    object.insert("time".into(), json!(format!("{now:.9}")));
    object.insert("app".into(), json!("kzero"));
    object.insert("level".into(), json!(record.level.tag()));
    object.insert("kind".into(), json!(record.kind.word()));
    let text = if record.verbatim {
        Value::String(record.text.clone())
    } else {
        mask(&record.text)
    };
    object.insert("msg".into(), text);
    if let (Some(id), false) = (&context.client_id, record.kind == Kind::Live) {
        object.insert("client_id".into(), json!(id));
    }
    object.insert("command".into(), json!(command));
    if let Some(run_id) = &context.run_id {
        object.insert("run_id".into(), json!(**run_id));
    }
    let fields = &record.fields;
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            object.insert(key.to_owned(), value);
        }
    };
    put("phase", fields.phase.map(Value::from));
    put("step_index", fields.step_index.map(Value::from));
    put("ref", fields.reference.clone().map(Value::from));
    put("hook", fields.hook.clone().map(Value::from));
    put("script", fields.script.as_deref().map(mask));
    put("error", fields.error.as_deref().map(mask));
    put("attempt", fields.attempt.map(Value::from));
    put("max_attempt", fields.max_attempt.map(Value::from));
    put("wait", fields.wait.clone().map(Value::from));
    put("outcome", fields.outcome.map(Value::from));
    put("duration", fields.duration.clone().map(Value::from));
    for (key, value) in &fields.more {
        let value = match value {
            Value::String(text) => mask(text),
            other => other.clone(),
        };
        put(key, Some(value));
    }
    let mut line = Value::Object(object).to_string();
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::{client_id_text, harmless};

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        assert_eq!(
            harmless("a\u{1b}[31mb\r\u{0}\u{9b}c\td\ne\u{202e}f".into()),
            "a\u{fffd}[31mb\u{fffd}\u{fffd}\u{fffd}c\td\ne\u{fffd}f"
        );
    }

    #[test]
    fn a_client_id_is_quoted_only_when_it_must_be() {
        // S-7.8
        assert_eq!(client_id_text("team-a"), "team-a");
        assert_eq!(client_id_text("team a"), "\"team a\"");
        assert_eq!(client_id_text("a=b"), "\"a=b\"");
        assert_eq!(client_id_text("a\"b"), "\"a\\\"b\"");
    }
}
