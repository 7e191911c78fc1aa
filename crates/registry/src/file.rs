//! Files of the user, of which no more is read than there may be.

use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The bytes of a file of at most `bound`. Its size is not asked for: a device and a pipe say none, and
/// a file may grow while it is read.
///
/// # Errors
///
/// It cannot be read; [`ErrorKind::FileTooLarge`] if it has more.
pub(crate) fn read(path: &Path, bound: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(bound.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bound {
        return Err(io::Error::new(
            ErrorKind::FileTooLarge,
            "the file is too large",
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_without_an_end_are_too_large() {
        let error = read(Path::new("/dev/zero"), 100).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert!(read(Path::new("/dev/null"), 0).unwrap().is_empty());
    }

    #[test]
    fn a_file_may_fill_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"abc").unwrap();
        assert_eq!(read(&path, 3).unwrap(), b"abc");
        assert!(read(&path, 2).is_err());
    }
}
