//! Writing a journal.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::{Header, Line, RUN, hook_item, read};
use crate::event::{Event, EventKind, Subscriber};
use crate::state::place;

/// So many journals of a profile are kept (S-11.22).
pub const KEPT: usize = 20;

/// The extension of a journal whose first line is not whole yet.
const UNNAMED: &str = "jsonl.new";

/// The journal of the run in hand: hears its events and writes them down.
///
/// What cannot be written ends the journal, not the run (S-D.11): [`Journal::broken`] tells why, and the file is set aside,
/// for what it says is no longer all that happened.
pub struct Journal {
    path: PathBuf,
    state: Mutex<State>,
    broke: Notify,
}

enum State {
    Open(File),
    Broken(String),
    Closed,
}

impl Journal {
    /// Begins a journal in a folder, which is made if need be, and removes the oldest of those beyond [`KEPT`].
    ///
    /// # Errors
    ///
    /// The folder or file cannot be written: the text says which, and why.
    pub fn begin(folder: &Path, header: &Header) -> Result<Self, String> {
        let path = folder.join(format!("{}.jsonl", header.run));
        let told = |error: io::Error| format!("cannot write {}: {error}", path.display());
        place::make_folder(folder).map_err(told)?;
        // It gets its name when its first line is whole: a journal that is there says what its run set out to do.
        let unnamed = path.with_extension(UNNAMED);
        let named = || -> io::Result<File> {
            let mut file = place::create_new(&unnamed)?;
            write(&mut file, header)?;
            std::fs::rename(&unnamed, &path)?;
            place::sync_folder(folder)?;
            Ok(file)
        };
        let file = named().map_err(|error| {
            let _ = std::fs::remove_file(&unnamed);
            told(error)
        })?;
        prune(folder);
        Ok(Self {
            path,
            state: Mutex::new(State::Open(file)),
            broke: Notify::new(),
        })
    }

    /// Waits until the journal cannot be written any more, and says why. Never ends for one that is well.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn broken(&self) -> String {
        loop {
            let told = self.broke.notified();
            if let State::Broken(why) = &*self.lock() {
                return why.clone();
            }
            told.await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, line: &Line) {
        let mut state = self.lock();
        let State::Open(file) = &mut *state else {
            return;
        };
        if let Err(error) = write(file, line) {
            // A name that no reader looks for. On a full disk a file can still be renamed.
            let aside = self.path.with_extension("jsonl.broken");
            let _ = std::fs::rename(&self.path, aside);
            *state = State::Broken(format!("cannot write {}: {error}", self.path.display()));
            self.broke.notify_waiters();
        } else if matches!(line, Line::End { item, .. } if item == RUN) {
            *state = State::Closed;
        }
    }
}

impl Subscriber for Journal {
    fn event(&self, event: &Event) {
        let at = event.at.to_string();
        let line = match &event.kind {
            EventKind::StepStarted { step, attempt } => Line::Begin {
                at,
                item: step.place(),
                attempt: Some(*attempt),
            },
            EventKind::StepFinished { step, ok, .. } => Line::End {
                at,
                item: step.place(),
                ok: *ok,
            },
            EventKind::ScriptStarted { label, .. } if is_hook(label) => Line::Begin {
                at,
                item: hook_item(label),
                attempt: None,
            },
            EventKind::ScriptFinished { label, ok } if is_hook(label) => Line::End {
                at,
                item: hook_item(label),
                ok: *ok,
            },
            EventKind::RunFinished { ok, .. } => Line::End {
                at,
                item: RUN.to_owned(),
                ok: *ok,
            },
            _ => return,
        };
        self.write(&line);
    }
}

/// Whether a script of this label is a hook, and not the main action of a step (S-4.5).
fn is_hook(label: &str) -> bool {
    match label.strip_prefix("pipeline-") {
        Some(rest) => rest.ends_with("-pre") || rest.ends_with("-post"),
        None => matches!(
            label,
            "pre-down" | "post-down" | "pre-up" | "post-up" | "on-error"
        ),
    }
}

/// Writes a line and waits until the disk has it.
fn write(file: &mut File, line: &impl serde::Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    file.write_all(&text)?;
    file.sync_data()
}

/// Removes the oldest journals, and what dead runs and full disks have left; what goes wrong with it is of no consequence.
fn prune(folder: &Path) {
    for extension in ["jsonl", "jsonl.broken", UNNAMED] {
        let Ok(all) = read::runs(folder, extension) else {
            return;
        };
        let surplus = all.len().saturating_sub(KEPT);
        for run in all.iter().take(surplus) {
            let _ = std::fs::remove_file(folder.join(format!("{run}.{extension}")));
        }
    }
}
