//! ASN.1 in its DER form, and PEM around it: as much as keys and certificates need.

use super::base;

/// What stands before a value: its tag.
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OID: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// A value with its tag and length.
pub(super) fn value(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let len = content.len();
    if len < 128 {
        out.push(len as u8);
    } else {
        let bytes = len.to_be_bytes();
        let skip = bytes.iter().take_while(|&&byte| byte == 0).count();
        out.push(0x80 | (bytes.len() - skip) as u8);
        out.extend_from_slice(&bytes[skip..]);
    }
    out.extend_from_slice(content);
    out
}

/// A sequence of values.
pub(super) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    value(SEQUENCE, &parts.concat())
}

/// A whole number that is not negative, from its bytes, the greatest first.
pub(super) fn integer(bytes: &[u8]) -> Vec<u8> {
    let skip = bytes.iter().take_while(|&&byte| byte == 0).count();
    let mut content = bytes[skip..].to_vec();
    if content.first().is_none_or(|&first| first >= 0x80) {
        content.insert(0, 0);
    }
    value(INTEGER, &content)
}

/// A bit string of whole bytes.
pub(super) fn bit_string(bytes: &[u8]) -> Vec<u8> {
    value(BIT_STRING, &[&[0], bytes].concat())
}

/// Reads values one after another.
#[derive(Clone, Copy)]
pub(super) struct Reader<'d>(pub(super) &'d [u8]);

impl<'d> Reader<'d> {
    /// The next value: its tag, its content, and both with the length.
    pub(super) fn next(&mut self) -> Option<(u8, &'d [u8], &'d [u8])> {
        let data = self.0;
        let (&tag, rest) = data.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (len, rest) = if first < 0x80 {
            (usize::from(first), rest)
        } else {
            let count = usize::from(first & 0x7F);
            if count == 0 || count > 4 {
                return None;
            }
            let (bytes, rest) = rest.split_at_checked(count)?;
            (
                bytes
                    .iter()
                    .fold(0, |len, &byte| len << 8 | usize::from(byte)),
                rest,
            )
        };
        let (content, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some((tag, content, &data[..data.len() - rest.len()]))
    }

    /// The content of the next value, which has this tag.
    pub(super) fn expect(&mut self, tag: u8) -> Option<&'d [u8]> {
        let (found, content, _) = self.next()?;
        (found == tag).then_some(content)
    }
}

/// PEM text around some bytes.
pub(super) fn pem(kind: &str, bytes: &[u8]) -> String {
    let mut out = format!("-----BEGIN {kind}-----\n");
    for line in base::encode64(bytes).chunks(64) {
        out.push_str(&String::from_utf8_lossy(line));
        out.push('\n');
    }
    out.push_str(&format!("-----END {kind}-----\n"));
    out
}

/// The first PEM block of a text: its kind and its bytes.
pub(super) fn read_pem(text: &str) -> Option<(&str, Vec<u8>)> {
    let mut rest = text;
    loop {
        let start = rest.find("-----BEGIN ")?;
        if start > 0 && rest.as_bytes()[start - 1] != b'\n' {
            rest = &rest[start + 11..];
            continue;
        }
        let after = &rest[start + 11..];
        let (kind, body) = after.split_once("-----")?;
        let end = format!("-----END {kind}-----");
        if let Some((body, _)) = body.split_once(&end) {
            let body = match body.split_once("\n\n") {
                // Headers end with an empty line.
                Some((headers, body)) if headers.contains(':') => body,
                _ => body,
            };
            let packed: Vec<u8> = body
                .bytes()
                .filter(|byte| !byte.is_ascii_whitespace())
                .collect();
            if let Ok(bytes) = base::decode64(&packed) {
                return Some((kind, bytes));
            }
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::{Reader, SEQUENCE, integer, pem, read_pem, sequence};

    #[test]
    fn what_is_written_is_read() {
        let inner = integer(&[0, 0x80, 1]);
        assert_eq!(inner, [2, 3, 0, 0x80, 1]);
        let outer = sequence(&[&inner, &vec![4; 300]]);
        let mut reader = Reader(&outer);
        let (tag, content, whole) = reader.next().unwrap();
        assert_eq!((tag, whole.len()), (SEQUENCE, outer.len()));
        assert_eq!(Reader(content).expect(2).unwrap(), [0, 0x80, 1]);
        let text = pem("X", &outer);
        assert_eq!(read_pem(&text).unwrap(), ("X", outer));
    }

    #[test]
    fn what_is_cut_off_is_refused() {
        assert!(Reader(&[0x30, 5, 1]).next().is_none());
        assert!(
            Reader(&[0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF])
                .next()
                .is_none()
        );
        assert!(read_pem("-----BEGIN X-----\nAA").is_none());
    }
}
