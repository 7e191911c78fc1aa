//! Charts that are made to do harm end in an error, soon and with little memory.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;

use flate2::{Compression, write::GzEncoder};
use kzero_chart::load::{archive_bytes, dir};

const CHART: &str = "apiVersion: v2\nname: web\nversion: 1.0.0\n";

#[expect(clippy::unwrap_used, reason = "of tests")]
fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut zip = GzEncoder::new(Vec::new(), Compression::fast());
    zip.write_all(bytes).unwrap();
    zip.finish().unwrap()
}

/// A header as old tar has it, so that nothing is checked on the way.
fn header(name: &[u8], kind: u8, size: u64) -> [u8; 512] {
    let mut header = [0; 512];
    header[..name.len()].copy_from_slice(name);
    header[100..108].copy_from_slice(b"0000644\0");
    header[124..136].copy_from_slice(format!("{size:011o} ").as_bytes());
    header[148..156].fill(b' ');
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar  \0");
    let sum: u32 = header.iter().map(|b| u32::from(*b)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

fn entry(tar: &mut Vec<u8>, name: &[u8], kind: u8, data: &[u8]) {
    tar.extend(header(name, kind, data.len() as u64));
    tar.extend(data);
    tar.resize(tar.len().next_multiple_of(512), 0);
}

fn chart() -> Vec<u8> {
    let mut tar = Vec::new();
    entry(&mut tar, b"w/Chart.yaml", b'0', CHART.as_bytes());
    tar
}

#[expect(clippy::unwrap_used, reason = "of tests")]
fn error(tar: &[u8]) -> String {
    archive_bytes(&zipped(tar)).unwrap_err().to_string()
}

#[test]
fn a_file_that_says_it_is_huge_is_refused_unread() {
    let mut tar = chart();
    tar.extend(header(b"w/x", b'0', 7_000_000_000));
    assert_eq!(
        error(&tar),
        "decompressed chart is larger than the maximum file size 104857600"
    );
    let mut tar = chart();
    tar.extend(header(b"w/x", b'0', 6_000_000));
    assert_eq!(
        error(&tar),
        "decompressed chart file \"w/x\" is larger than the maximum file size 5242880"
    );
    let mut tar = chart();
    tar.extend(header(b"w/x", b'0', 5_000_000));
    assert_eq!(error(&tar), "unexpected EOF");
}

#[test]
fn folders_and_empty_files_without_end_are_refused() {
    for (kind, name) in [(b'5', b"w/d/".as_slice()), (b'0', b"w/f"), (b'g', b"g")] {
        let mut tar = chart();
        for _ in 0..50_000 {
            entry(&mut tar, name, kind, b"");
        }
        assert_eq!(error(&tar), "chart has more than 50000 entries");
    }
}

#[test]
fn a_path_of_megabytes_is_refused() {
    let mut tar = chart();
    entry(&mut tar, b"././@LongLink", b'L', &vec![b'n'; 2 << 20]);
    entry(&mut tar, b"w/x", b'0', b"");
    assert_eq!(error(&tar), "archive/tar: header field too long");
}

#[test]
fn charts_nested_without_end_are_refused() {
    let mut tar = Vec::new();
    let mut path = String::from("w/");
    for _ in 0..200 {
        let mut name = format!("{path}Chart.yaml").into_bytes();
        name.push(0);
        entry(&mut tar, b"././@LongLink", b'L', &name);
        entry(&mut tar, b"cut", b'0', CHART.as_bytes());
        path.push_str("charts/w/");
    }
    let error = error(&tar);
    assert!(
        error.starts_with("error unpacking subchart w in web: error unpacking subchart w in web: ")
    );
    assert!(
        error.ends_with("charts are nested deeper than 64"),
        "{error}"
    );
}

#[test]
fn archives_nested_without_end_are_refused() {
    let mut inner = zipped(&chart());
    for _ in 0..100 {
        let mut tar = chart();
        entry(&mut tar, b"w/charts/w.tgz", b'0', &inner);
        inner = zipped(&tar);
    }
    let error = archive_bytes(&inner).unwrap_err().to_string();
    assert!(
        error.ends_with("charts are nested deeper than 64"),
        "{error}"
    );
}

/// Each of them is within its own bounds.
#[test]
fn archives_in_an_archive_share_their_bounds() {
    let mut tar = chart();
    let block = vec![0; 5 << 20];
    for name in 0..11 {
        entry(&mut tar, format!("w/{name}").as_bytes(), b'0', &block);
    }
    let inner = zipped(&tar);
    let mut tar = chart();
    for name in ["a", "b", "c"] {
        let name = format!("w/charts/{name}.tgz");
        entry(&mut tar, name.as_bytes(), b'0', &inner);
    }
    assert_eq!(
        error(&tar),
        "error unpacking subchart c.tgz in web: decompressed chart is larger than the maximum file size 104857600"
    );
}

#[test]
fn values_that_unfold_without_end_are_refused() {
    for long in ["x: &a ", "x: &a\n  ? "] {
        let text = format!("{long}{}\n", "t".repeat(1 << 20));
        let values = format!("{text}y: [{}]\n", "*a,".repeat(1000));
        let mut tar = chart();
        entry(&mut tar, b"w/values.yaml", b'0', values.as_bytes());
        let error = error(&tar);
        assert!(
            error.ends_with("document contains excessive aliasing"),
            "{error}"
        );
    }
    let mut values = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let before = format!("*a{}", level - 1);
        values.push_str(&format!(
            "a{level}: &a{level} [{}]\n",
            vec![before; 10].join(", ")
        ));
    }
    let mut tar = chart();
    entry(&mut tar, b"w/values.yaml", b'0', values.as_bytes());
    assert_eq!(
        error(&tar),
        "cannot load values.yaml: error converting YAML to JSON: yaml: document contains excessive aliasing"
    );
    let mut tar = chart();
    entry(
        &mut tar,
        b"w/values.yaml",
        b'0',
        "[],".repeat(1 << 20).as_bytes(),
    );
    assert!(error(&tar).starts_with("cannot load values.yaml: "));
    let mut tar = chart();
    let many = format!("[{}]", "{a},".repeat(1 << 20));
    entry(&mut tar, b"w/values.yaml", b'0', many.as_bytes());
    assert_eq!(
        error(&tar),
        "cannot load values.yaml: error converting YAML to JSON: yaml: exceeded max depth or size"
    );
}

#[test]
fn links_to_folders_above_end() {
    let top = tempfile::tempdir().unwrap();
    fs::write(top.path().join("Chart.yaml"), CHART).unwrap();
    symlink(".", top.path().join("a")).unwrap();
    symlink(".", top.path().join("b")).unwrap();
    let error = dir(top.path()).unwrap_err().to_string();
    assert!(
        error.ends_with("/a/a/a: too many levels of symbolic links"),
        "{error}"
    );
}

#[test]
fn what_is_no_plain_file_is_not_waited_for() {
    let top = tempfile::tempdir().unwrap();
    fs::write(top.path().join("Chart.yaml"), CHART).unwrap();
    let socket = top.path().join("socket");
    let _socket = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert_eq!(
        dir(top.path()).unwrap_err().to_string(),
        format!(
            "cannot load irregular file {} as it has file mode type bits set",
            socket.display()
        )
    );
}

#[test]
fn a_folder_is_bounded_as_a_whole() {
    let top = tempfile::tempdir().unwrap();
    fs::write(top.path().join("Chart.yaml"), CHART).unwrap();
    for name in 0..21 {
        let file = fs::File::create(top.path().join(name.to_string())).unwrap();
        file.set_len(5 << 20).unwrap();
    }
    assert_eq!(
        dir(top.path()).unwrap_err().to_string(),
        "chart exceeds maximum decompressed size of 104857600 bytes"
    );
}

#[test]
fn no_broken_archive_makes_the_loader_fall() {
    let mut tar = chart();
    entry(&mut tar, b"w/templates/a", b'0', b"x");
    entry(&mut tar, b"w/b", b'S', b"x");
    for at in 0..tar.len() {
        let mut broken = tar.clone();
        broken[at] ^= 0xa5;
        let _ = archive_bytes(&zipped(&broken));
    }
    let zip = zipped(&tar);
    for at in 0..zip.len() {
        let mut broken = zip.clone();
        broken[at] ^= 0x11;
        let _ = archive_bytes(&broken);
        let _ = archive_bytes(&zip[..at]);
    }
}

/// A few bytes of an archive for megabytes of zeros.
#[test]
fn sparse_files_count_as_large_as_they_are() {
    let sparse = |name: &str| {
        let mut header = header(name.as_bytes(), b'S', 0);
        // One empty piece at the end, and the size with it.
        header[386..398].copy_from_slice(b"00024000000\0");
        header[398..410].copy_from_slice(b"00000000000\0");
        header[483..495].copy_from_slice(b"00024000000\0");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|b| u32::from(*b)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        header
    };
    let mut tar = chart();
    for name in 0..19 {
        tar.extend(sparse(&format!("w/{name}")));
    }
    let inner = zipped(&tar);
    let loaded = archive_bytes(&inner).unwrap();
    assert_eq!(loaded.files.len(), 19);
    assert_eq!(loaded.files[0].data.len(), 5 << 20);
    tar.extend(sparse("w/19"));
    assert_eq!(
        error(&tar),
        "decompressed chart is larger than the maximum file size 104857600"
    );
    let mut tar = chart();
    for name in 0..2 {
        entry(
            &mut tar,
            format!("w/charts/{name}.tgz").as_bytes(),
            b'0',
            &inner,
        );
    }
    assert!(error(&tar).starts_with("error unpacking subchart 1.tgz in web: decompressed chart"));
}
