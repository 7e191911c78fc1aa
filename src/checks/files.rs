//! Whether the files that steps need are there (S-3.6).

use std::path::Path;

use crate::steps::NeededFile;

/// One line for each file that is absent, a directory or unreadable.
pub fn missing_files(files: &[NeededFile], profile: &Path) -> Vec<String> {
    files
        .iter()
        .filter_map(|file| problem(file, profile))
        .collect()
}

fn problem(file: &NeededFile, profile: &Path) -> Option<String> {
    let path = &file.path;
    let what = match path.metadata() {
        Ok(meta) if meta.is_dir() => "is a directory, expected a file",
        Ok(meta) if !meta.is_file() => "is no regular file",
        Ok(_) => match std::fs::File::open(path) {
            Ok(_) => return None,
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                "cannot be read: permission denied"
            }
            Err(_) => "cannot be read",
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "not found",
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            "cannot be reached: permission denied"
        }
        Err(_) => "cannot be read",
    };
    let mut text = format!(
        "{} {}: {what} ({})",
        file.purpose,
        file.written,
        path.display()
    );
    if let Some(hint) = &file.hint {
        text.push_str("\nhint: ");
        text.push_str(hint);
    }
    // People keep scripts beside the profile and start kzero elsewhere.
    let beside = profile.parent().map(|folder| folder.join(&file.written));
    let same = |beside: &Path| match (beside.canonicalize(), path.canonicalize()) {
        (Ok(one), Ok(two)) => one == two,
        _ => false,
    };
    if let Some(beside) = beside.filter(|beside| beside.is_file() && !same(beside)) {
        let folder = profile.parent().unwrap_or(Path::new("."));
        text.push_str(&format!(
            "\nhint: {} lies beside the profile; paths are relative to the process directory: use \
             -C {} or an absolute path",
            beside.display(),
            folder.display()
        ));
    }
    Some(text)
}
