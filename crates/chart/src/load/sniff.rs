//! What a file is by its first bytes, for the message about one that is no archive.

/// The beginning of files by kind.
const STARTS: [(&[u8], &str); 19] = [
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\xFE\xFF", "text/plain; charset=utf-16be"),
    (b"\xFF\xFE", "text/plain; charset=utf-16le"),
    (b"\xEF\xBB\xBF", "text/plain; charset=utf-8"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"BM", "image/bmp"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xFF\xD8\xFF", "image/jpeg"),
    (b"OggS\x00", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"PK\x03\x04", "application/zip"),
    (b"Rar!\x1A\x07\x00", "application/x-rar-compressed"),
    (b"Rar!\x1A\x07\x01\x00", "application/x-rar-compressed"),
    (b"\x00asm", "application/wasm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
];

const TAGS: [&str; 17] = [
    "<!DOCTYPE HTML",
    "<HTML",
    "<HEAD",
    "<SCRIPT",
    "<IFRAME",
    "<H1",
    "<DIV",
    "<FONT",
    "<TABLE",
    "<A",
    "<STYLE",
    "<TITLE",
    "<B",
    "<BODY",
    "<BR",
    "<P",
    "<!--",
];

/// The media type, of the kinds that are at all likely. Helm looks at a block of 512 bytes that
/// is filled up with zeros, so that a short text is no text.
pub(super) fn kind(bytes: &[u8]) -> &'static str {
    let block = bytes.get(..512).unwrap_or(bytes);
    let start = block
        .iter()
        .position(|b| !matches!(b, b'\t' | b'\n' | 0xc | b'\r' | b' '))
        .unwrap_or(block.len());
    let text = block.get(start..).unwrap_or_default();
    for tag in TAGS {
        let starts = text
            .get(..tag.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(tag.as_bytes()));
        if starts && matches!(text.get(tag.len()), Some(b' ' | b'>')) {
            return "text/html; charset=utf-8";
        }
    }
    if text.starts_with(b"<?xml") {
        return "text/xml; charset=utf-8";
    }
    if let Some((_, kind)) = STARTS.iter().find(|(start, _)| block.starts_with(start)) {
        return kind;
    }
    let binary = |b: &u8| matches!(b, 0..=8 | 0xb | 0xe..=0x1a | 0x1c..=0x1f);
    if block.len() < 512 || text.iter().any(binary) {
        "application/octet-stream"
    } else {
        "text/plain; charset=utf-8"
    }
}
