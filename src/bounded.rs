//! Files read up to a bound: what is given from outside may be a device that has no end.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use kzero_chart::load::words;

/// Reads to the end, but no more than so many bytes. `shown` names the input in errors.
///
/// # Errors
///
/// It cannot be read, or has more.
pub fn read(input: impl Read, shown: &str, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    input
        .take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("{shown}: {}", words(&error)))?;
    if bytes.len() as u64 > most {
        return Err(format!("{shown}: larger than {most} bytes"));
    }
    Ok(bytes)
}

/// Reads a file or device, but no more than so many bytes.
///
/// # Errors
///
/// As [`read`], in Helm's words.
pub fn open(path: &Path, shown: &str, most: u64) -> Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|error| format!("open {shown}: {}", words(&error)))?;
    read(file, shown, most).map_err(|error| format!("read {error}"))
}

/// Reads a regular file, but no more than so many bytes.
///
/// # Errors
///
/// As [`open`], and for what is no regular file.
pub fn open_regular(path: &Path, shown: &str, most: u64) -> Result<Vec<u8>, String> {
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(format!("open {shown}: not a file"));
    }
    open(path, shown, most)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{open, open_regular};

    #[test]
    fn files_without_an_end_are_refused() {
        let error = open(Path::new("/dev/zero"), "/dev/zero", 100).unwrap_err();
        assert_eq!(error, "read /dev/zero: larger than 100 bytes");
        assert!(
            open(Path::new("/dev/null"), "/dev/null", 0)
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn paths_that_are_no_files_are_named_as_helm_names_them() {
        let open = |path: &str| open(Path::new(path), path, 1).unwrap_err();
        assert_eq!(open(""), "open : no such file or directory");
        assert_eq!(open("/"), "read /: is a directory");
    }

    #[test]
    fn devices_are_no_regular_files() {
        let error = open_regular(Path::new("/dev/zero"), "zero", 1).unwrap_err();
        assert_eq!(error, "open zero: not a file");
    }
}
