//! Sorting while files are still being rendered.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use kzero_gotmpl::parallel::processors;

use super::{Document, ManifestError, Manifests, documents};

/// How many bytes of files are handed over at once: starting or waking a thread for less takes longer than it saves.
const WORTH_HANDING_OVER: usize = 128 * 1024;

/// How many bytes of files are read at most before all are there: what is read is held beside what is being rendered.
const MOST_AHEAD: usize = 16 << 20;

/// Files with what was found in them.
#[derive(Debug)]
pub struct Sorted {
    /// The files by path, without notes.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Their documents, or the first one, by path, that does not read.
    pub manifests: Result<Manifests, ManifestError>,
}

/// Takes files as they are made, for [`sort_while`].
pub struct Sorting<'s> {
    waiting: Vec<File>,
    bytes: usize,
    ahead: usize,
    hand_over: &'s mut dyn FnMut(Vec<File>),
}

impl fmt::Debug for Sorting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sorting")
            .field("waiting", &self.waiting.len())
            .finish_non_exhaustive()
    }
}

struct File {
    path: String,
    content: Vec<u8>,
}

/// A file with its documents.
type Read = (File, Result<Vec<Document>, ManifestError>);

impl Sorting<'_> {
    /// Adds a file. Notes (`NOTES.txt`) are no manifests and are left out.
    pub fn add(&mut self, path: String, content: Vec<u8>) {
        if path.ends_with("NOTES.txt") {
            return;
        }
        self.bytes = self.bytes.saturating_add(content.len());
        self.waiting.push(File { path, content });
        let ahead = self.ahead.saturating_add(self.bytes);
        if self.bytes >= WORTH_HANDING_OVER && ahead <= MOST_AHEAD {
            self.ahead = ahead;
            self.bytes = 0;
            (self.hand_over)(std::mem::take(&mut self.waiting));
        }
    }
}

/// Does what [`sort`](super::sort) does to the files that `make` makes, on another thread while it makes more. That
/// thread has ended when this returns.
///
/// # Errors
///
/// That of `make`.
pub fn sort_while<T, E>(
    make: impl FnOnce(&mut Sorting<'_>) -> Result<T, E>,
) -> Result<(T, Sorted), E> {
    let (to, from) = channel();
    let from = Mutex::new(from);
    let given_up = AtomicBool::new(false);
    let work = || read_all(&from, &given_up);
    thread::scope(|scope| {
        let mut other = None;
        let mut hand_over = |files| {
            if other.is_none() && processors() > 1 {
                // Without another thread, this one reads them in the end.
                other = thread::Builder::new().spawn_scoped(scope, work).ok();
            }
            // They can be received as long as this function runs.
            let _ = to.send(files);
        };
        let mut sorting = Sorting {
            waiting: Vec::new(),
            bytes: 0,
            ahead: 0,
            hand_over: &mut hand_over,
        };
        let made = make(&mut sorting);
        let rest = sorting.waiting;
        if made.is_err() {
            given_up.store(true, Ordering::Relaxed);
        }
        for file in rest {
            let _ = to.send(vec![file]);
        }
        // Nothing more can come: the other thread ends, whatever was made.
        drop(to);
        let made = made?;
        let mut read = work();
        if let Some(other) = other {
            match other.join() {
                Ok(more) => read.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok((made, sorted(read)))
    })
}

/// Reads files until no more can come.
fn read_all(from: &Mutex<Receiver<Vec<File>>>, given_up: &AtomicBool) -> Vec<Read> {
    let mut read = Vec::new();
    loop {
        let files = from.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(files) = files else {
            return read;
        };
        for file in files {
            if given_up.load(Ordering::Relaxed) {
                return read;
            }
            let documents = documents(&file.path, &file.content);
            read.push((file, documents));
        }
    }
}

fn sorted(mut read: Vec<Read>) -> Sorted {
    read.sort_unstable_by(|(one, _), (two, _)| one.path.cmp(&two.path));
    let mut files = Vec::with_capacity(read.len());
    let mut found = Ok(Vec::new());
    for (file, documents) in read {
        files.push((file.path, file.content));
        match (&mut found, documents) {
            (Ok(found), Ok(documents)) => found.extend(documents),
            (Ok(_), Err(error)) => found = Err(error),
            // The first error stays.
            (Err(_), _) => {}
        }
    }
    Sorted {
        files: files.into_iter().collect(),
        manifests: found.map(|found| Manifests::sorted(found.into_iter())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sort;
    use super::{Sorted, sort_while};

    /// So many and so large that another thread reads some of them.
    fn files(broken: &[usize]) -> Vec<(String, Vec<u8>)> {
        let kinds = ["Service", "Deployment", "Unheard"];
        (0..300)
            .map(|n| {
                let kind = kinds[n % kinds.len()];
                let colon = if broken.contains(&n) { ": :" } else { ":" };
                let fill = "#".repeat(2000);
                let text = format!("kind{colon} {kind}\nmetadata: {{name: n{n}}}\n---\n{fill}\n");
                (format!("c/templates/{n:03}.yaml"), text.into_bytes())
            })
            .collect()
    }

    /// Made from the last to the first.
    fn made(files: &[(String, Vec<u8>)]) -> Sorted {
        let result = sort_while(|sorting| {
            for (path, content) in files.iter().rev() {
                sorting.add(path.clone(), content.clone());
            }
            Ok::<_, ()>(())
        });
        result.expect("nothing fails").1
    }

    #[test]
    fn files_sorted_while_they_are_made_are_sorted_as_others() {
        let files = files(&[]);
        let sorted = made(&files);
        let files = files.into_iter().collect();
        assert_eq!(sorted.files, files);
        assert_eq!(sorted.manifests, sort(&files));
    }

    #[test]
    fn the_first_broken_document_by_path_is_told_whichever_is_read_first() {
        let files = files(&[7, 290]);
        let sorted = made(&files);
        let files = files.into_iter().collect();
        assert_eq!(sorted.files, files);
        let error = sorted.manifests.expect_err("two are broken");
        assert_eq!(error.path(), "c/templates/007.yaml");
        assert_eq!(Err(error), sort(&files));
    }

    #[test]
    fn notes_are_left_out() {
        let notes = [("c/templates/NOTES.txt".to_owned(), b"a: :\n- b".to_vec())];
        let sorted = made(&notes);
        assert!(sorted.files.is_empty());
        assert!(
            sorted
                .manifests
                .is_ok_and(|found| found.manifests.is_empty())
        );
    }

    #[test]
    fn what_fails_is_no_longer_sorted() {
        let result = sort_while(|sorting| {
            for (path, content) in files(&[]) {
                sorting.add(path, content);
            }
            Err::<(), _>("no more")
        });
        assert_eq!(result.err(), Some("no more"));
    }
}
