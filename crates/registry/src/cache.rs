//! Charts by their content: a folder of files that are named by their SHA-256.
//!
//! A file appears under its name only when it is whole, so that any number of processes may share the
//! folder; it is checked whenever it is read, so that a damaged one counts as none.

use std::io::Write;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

/// The SHA-256 of bytes, in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Whether a text is a SHA-256 in hexadecimal, in small letters.
pub(crate) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// The folder, if there is one. What cannot be kept is fetched again: no trouble here is an error.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    pub(crate) fn new(folder: Option<&Path>) -> Self {
        Self {
            folder: folder.map(Path::to_owned),
        }
    }

    /// The content with this SHA-256, of at most `bound` bytes.
    pub(crate) fn get(&self, digest: &str, bound: u64) -> Option<Bytes> {
        let path = self.place(digest)?;
        let found = std::fs::symlink_metadata(&path).ok()?;
        if !found.is_file() || found.len() > bound {
            return None;
        }
        let bytes = std::fs::read(&path).ok()?;
        if sha256(&bytes) == digest {
            Some(bytes.into())
        } else {
            // Damaged: out of the way, so that the next one is kept.
            let _ = std::fs::remove_file(&path);
            None
        }
    }

    /// Keeps content under its SHA-256, which has been checked.
    pub(crate) fn put(&self, digest: &str, bytes: &[u8]) {
        let Some(path) = self.place(digest) else {
            return;
        };
        let (Some(folder), false) = (path.parent(), path.exists()) else {
            return;
        };
        let _ = write_whole(folder, &path, bytes);
    }

    fn place(&self, digest: &str) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        is_sha256(digest).then(|| folder.join("sha256").join(format!("{digest}.tgz")))
    }
}

/// Writes a file beside its place and then moves it there, so that nobody sees a part of it.
pub(crate) fn write_whole(folder: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new()
        .prefix(".kzero-")
        .permissions(std::fs::Permissions::from_mode(0o644))
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_by_its_digest() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(folder.path()));
        let digest = sha256(b"chart");
        assert_eq!(cache.get(&digest, 100), None);
        cache.put(&digest, b"chart");
        assert_eq!(cache.get(&digest, 100).unwrap(), "chart");
        assert_eq!(cache.get(&digest, 4), None, "more than is taken");
    }

    #[test]
    fn a_damaged_file_counts_as_none_and_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(folder.path()));
        let digest = sha256(b"chart");
        cache.put(&digest, b"chart");
        let path = folder.path().join("sha256").join(format!("{digest}.tgz"));
        std::fs::write(&path, b"chxrt").unwrap();
        assert_eq!(cache.get(&digest, 100), None);
        cache.put(&digest, b"chart");
        assert_eq!(cache.get(&digest, 100).unwrap(), "chart");
    }

    #[test]
    fn many_may_keep_and_take_the_same_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let content = vec![7; 1024 * 1024];
        let digest = sha256(&content);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let cache = Cache::new(Some(folder.path()));
                    for _ in 0..4 {
                        cache.put(&digest, &content);
                        assert_eq!(cache.get(&digest, u64::MAX).unwrap(), content);
                    }
                });
            }
        });
        let files = std::fs::read_dir(folder.path().join("sha256")).unwrap();
        assert_eq!(files.count(), 1, "no part of a file is left");
    }

    #[test]
    fn what_is_no_digest_names_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(folder.path()));
        cache.put("../../escape", b"chart");
        assert_eq!(cache.get("../../escape", 100), None);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_failure() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let cache = Cache::new(Some(file.path()));
        let digest = sha256(b"chart");
        cache.put(&digest, b"chart");
        assert_eq!(cache.get(&digest, 100), None);
    }
}
