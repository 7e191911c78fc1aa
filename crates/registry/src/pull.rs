//! Archives onto the disk: as they are, or unpacked into a folder.
//!
//! Duty: what `pull` leaves behind. Nothing is written outside the folder that was named, and through no
//! link. Bounds: those of charts (5 MiB a file, 100 MiB and 50000 files a chart).

use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use serde_json::Value;
use tar::EntryType;

use crate::cache::write_whole;
use crate::client::Archive;
use crate::error::{Error, ErrorKind, words};
use crate::quote::quoted;

const MAX_FILE: u64 = 5 * 1024 * 1024;
const MAX_CHART: u64 = 100 * 1024 * 1024;
const MAX_FILES: usize = 50_000;

/// Writes an archive into a folder under its own name, and gives the path. A file that is there is
/// replaced at once.
///
/// # Errors
///
/// The folder is not there or cannot be written.
pub fn save(archive: &Archive, folder: &Path) -> Result<PathBuf, Error> {
    let path = folder.join(&archive.file_name);
    if let Err(error) = fs::metadata(folder) {
        return Err(Error::path("open", &path, &error));
    }
    write_whole(folder, &path, &archive.bytes)
        .map_err(|error| Error::path("open", &path, &error))?;
    Ok(path)
}

/// Unpacks the bytes of an archive into a folder of the chart's name below `folder`. Files that are there
/// are replaced.
///
/// # Errors
///
/// It is no archive of a chart, has paths that lead elsewhere or more than a chart may have; a chart's name
/// that is no name of a folder; files that cannot be written.
pub fn unpack(archive: &[u8], folder: &Path) -> Result<(), Error> {
    let files = read(archive)?;
    let chart = folder.join(name(&files)?);
    for (path, content) in &files {
        write(folder, &chart.join(path), content)?;
    }
    Ok(())
}

/// The name of the chart, which becomes that of a folder.
fn name(files: &[(PathBuf, Vec<u8>)]) -> Result<String, Error> {
    let mut name = String::new();
    for (_, content) in files
        .iter()
        .filter(|(path, _)| path == Path::new("Chart.yaml"))
    {
        let value = kzero_chart::yaml::decode_bytes(content).map_err(|error| {
            let text = format!("cannot load Chart.yaml: error converting YAML to JSON: {error}");
            Error::invalid(text)
        })?;
        if let Some(Value::String(found)) = value.get("name") {
            name.clone_from(found);
        }
    }
    if name.is_empty() {
        return Err(Error::invalid("chart name not specified"));
    }
    if name == "." || name == ".." {
        let text = format!("chart name {} is not allowed", quoted(&name));
        return Err(Error::invalid(text));
    }
    if name.contains(['/', '\0']) {
        let text = format!(
            "chart name {} must not contain path separators",
            quoted(&name)
        );
        return Err(Error::invalid(text));
    }
    Ok(name)
}

/// The files of an archive, without the folder they are all in.
fn read(archive: &[u8]) -> Result<Vec<(PathBuf, Vec<u8>)>, Error> {
    let broken = |error: std::io::Error| Error::invalid(words(&error));
    let too_large = || {
        let text = format!("decompressed chart is larger than the maximum size {MAX_CHART}");
        Error::new(ErrorKind::TooLarge, text)
    };
    if !archive.starts_with(b"\x1f\x8b\x08") {
        return Err(Error::invalid("gzip: invalid header"));
    }
    // Headers count too, so that no number of empty files takes for ever.
    let stream = MultiGzDecoder::new(archive).take(2 * MAX_CHART);
    let mut tar = tar::Archive::new(stream);
    let mut files = Vec::new();
    let mut left = MAX_CHART;
    for entry in tar.entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        if matches!(
            entry.header().entry_type(),
            EntryType::Directory | EntryType::XGlobalHeader
        ) {
            continue;
        }
        if files.len() >= MAX_FILES {
            return Err(Error::new(
                ErrorKind::TooLarge,
                "chart has more than 50000 entries",
            ));
        }
        let raw = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let path = inner(&raw)?;
        let size = entry.size();
        if size > left {
            return Err(too_large());
        }
        if size > MAX_FILE {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "decompressed chart file {} is larger than the maximum file size {MAX_FILE}",
                    quoted(&raw)
                ),
            ));
        }
        let mut content = Vec::new();
        let mut reader = (&mut entry).take(MAX_FILE + 1);
        reader.read_to_end(&mut content).map_err(broken)?;
        left = left
            .checked_sub(content.len() as u64)
            .ok_or_else(too_large)?;
        let content = match content.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) => rest.to_vec(),
            None => content,
        };
        files.push((path, content));
    }
    if files.is_empty() {
        return Err(Error::invalid("no files in chart archive"));
    }
    Ok(files)
}

/// The path of an entry without its first folder; nothing that leads out of it.
fn inner(raw: &str) -> Result<PathBuf, Error> {
    let raw = raw.replace('\\', "/");
    let (first, rest) = raw.split_once('/').unwrap_or((&raw, ""));
    if rest.starts_with('/') {
        return Err(Error::invalid("chart illegally contains absolute paths"));
    }
    let mut path = PathBuf::new();
    for part in Path::new(rest).components() {
        match part {
            Component::CurDir => {}
            Component::Normal(part) => path.push(part),
            Component::ParentDir if path.pop() => {}
            _ => {
                return Err(Error::invalid(
                    "chart illegally references parent directory",
                ));
            }
        }
    }
    if path.as_os_str().is_empty() {
        return Err(Error::invalid(if first == "Chart.yaml" {
            "chart yaml not in base directory"
        } else {
            "chart illegally contains content outside the base directory"
        }));
    }
    Ok(path)
}

/// Writes a file below a folder, with the folders it is in, and follows no link on the way.
fn write(root: &Path, path: &Path, content: &[u8]) -> Result<(), Error> {
    let below = path.strip_prefix(root).unwrap_or(path);
    let mut folder = root.to_owned();
    for part in below.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        match fs::symlink_metadata(&folder) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                let text = format!("{} is in the way: it is no folder", folder.display());
                return Err(Error::local(text));
            }
            Err(_) => fs::create_dir_all(&folder)
                .map_err(|error| Error::path("mkdir", &folder, &error))?,
        }
    }
    // The new file takes the place of whatever has the name, a link too.
    write_whole(&folder, path, content).map_err(|error| Error::path("open", path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        for (name, content) in files {
            let mut header = tar::Header::new_gnu();
            let bytes = name.as_bytes();
            // What the library would refuse to write has to be written too.
            header.as_old_mut().name[..bytes.len()].copy_from_slice(bytes);
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            tar.append(&header, *content).unwrap();
        }
        gzip(&tar.into_inner().unwrap())
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        use std::io::Write;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(bytes).unwrap();
        gzip.finish().unwrap()
    }

    fn refused(archive: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("a/b");
        fs::create_dir_all(&inside).unwrap();
        let text = unpack(archive, &inside).unwrap_err().to_string();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{text}");
        text
    }

    #[test]
    fn files_go_to_a_folder_of_the_charts_name() {
        let folder = tempfile::tempdir().unwrap();
        let archive = packed(&[
            ("other/Chart.yaml", b"\xef\xbb\xbfname: web\n"),
            ("other/templates/x.yaml", b"a: 1\n"),
            ("other/./charts/../values.yaml", b"# kept\n"),
        ]);
        unpack(&archive, folder.path()).unwrap();
        let read = |path: &str| fs::read_to_string(folder.path().join(path)).unwrap();
        assert_eq!(read("web/Chart.yaml"), "name: web\n");
        assert_eq!(read("web/templates/x.yaml"), "a: 1\n");
        assert_eq!(read("web/values.yaml"), "# kept\n");
    }

    #[test]
    fn hostile_archives_write_nothing() {
        let chart: (&str, &[u8]) = ("web/Chart.yaml", b"name: web\n");
        let with = |name: &str| packed(&[chart, (name, b"x")]);
        assert_eq!(
            refused(&with("web/../../x")),
            "chart illegally references parent directory"
        );
        assert_eq!(
            refused(&with("web/..\\..\\x")),
            "chart illegally references parent directory"
        );
        assert_eq!(
            refused(&with("web//etc/x")),
            "chart illegally contains absolute paths"
        );
        assert_eq!(
            refused(&with("x")),
            "chart illegally contains content outside the base directory"
        );
        assert_eq!(
            refused(&packed(&[("Chart.yaml", b"name: web\n")])),
            "chart yaml not in base directory"
        );
        let named =
            |name: &str| packed(&[("web/Chart.yaml", format!("name: {name}\n").as_bytes())]);
        assert_eq!(refused(&named("..")), "chart name \"..\" is not allowed");
        assert_eq!(
            refused(&named("a/../../x")),
            "chart name \"a/../../x\" must not contain path separators"
        );
        assert_eq!(
            refused(&packed(&[("web/x", b"")])),
            "chart name not specified"
        );
        assert_eq!(refused(b"<html>"), "gzip: invalid header");
        assert_eq!(refused(&gzip(b"")), "no files in chart archive");
    }

    #[test]
    fn archives_that_are_far_larger_than_they_look_are_refused() {
        let large = vec![0; 6 * 1024 * 1024];
        let text = refused(&packed(&[
            ("web/Chart.yaml", b"name: web\n"),
            ("web/x", &large),
        ]));
        assert_eq!(
            text,
            "decompressed chart file \"web/x\" is larger than the maximum file size 5242880"
        );
        let part = vec![0; 5 * 1024 * 1024];
        let names: Vec<String> = (0..21).map(|i| format!("web/{i}")).collect();
        let mut files: Vec<(&str, &[u8])> = vec![("web/Chart.yaml", b"name: web\n")];
        files.extend(names.iter().map(|name| (name.as_str(), part.as_slice())));
        let text = refused(&packed(&files));
        assert_eq!(
            text,
            "decompressed chart is larger than the maximum size 104857600"
        );
    }

    #[test]
    fn no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let archive = packed(&[("w/Chart.yaml", b"name: web\n"), ("w/a/x", b"x")]);
        std::os::unix::fs::symlink(outside.path(), folder.path().join("web")).unwrap();
        let text = unpack(&archive, folder.path()).unwrap_err().to_string();
        assert!(text.ends_with("is in the way: it is no folder"), "{text}");
        fs::remove_file(folder.path().join("web")).unwrap();
        fs::create_dir(folder.path().join("web")).unwrap();
        let target = outside.path().join("kept");
        fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, folder.path().join("web/Chart.yaml")).unwrap();
        unpack(&archive, folder.path()).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
        assert_eq!(
            fs::read(folder.path().join("web/Chart.yaml")).unwrap(),
            b"name: web\n"
        );
    }

    #[test]
    fn an_archive_is_saved_under_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let archive = Archive {
            file_name: "web-1.0.0.tgz".to_owned(),
            bytes: bytes::Bytes::from_static(b"x"),
            digest: String::new(),
            source: String::new(),
            version: String::new(),
        };
        let path = save(&archive, folder.path()).unwrap();
        assert_eq!(path, folder.path().join("web-1.0.0.tgz"));
        assert_eq!(fs::read(&path).unwrap(), b"x");
        let text = save(&archive, Path::new("/nonexist"))
            .unwrap_err()
            .to_string();
        assert_eq!(
            text,
            "open /nonexist/web-1.0.0.tgz: no such file or directory"
        );
    }
}
