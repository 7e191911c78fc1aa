//! Paths as Go cleans them: by their words alone.

use std::path::{Component, Path, PathBuf};

/// A path without `.`, and without `..` after a name; the current folder is `.`.
pub(crate) fn cleaned(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => match clean.components().next_back() {
                Some(Component::Normal(_)) => {
                    clean.pop();
                }
                Some(Component::RootDir) => {}
                _ => clean.push(part),
            },
            part => clean.push(part),
        }
    }
    if clean.as_os_str().is_empty() {
        clean.push(".");
    }
    clean
}

/// Two paths joined and cleaned; a leading slash of the second one does not count.
pub(crate) fn joined(base: &Path, rest: &str) -> PathBuf {
    cleaned(&base.join(rest.trim_start_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_by_their_words() {
        let clean = |path: &str| cleaned(Path::new(path)).display().to_string();
        assert_eq!(clean("a/../b/./c/"), "b/c");
        assert_eq!(clean("../a/.."), "..");
        assert_eq!(clean("/../a"), "/a");
        assert_eq!(clean("./"), ".");
        assert_eq!(clean(""), ".");
        assert_eq!(
            joined(Path::new("."), "charts").display().to_string(),
            "charts"
        );
        assert_eq!(joined(Path::new("p"), "../q").display().to_string(), "q");
    }
}
