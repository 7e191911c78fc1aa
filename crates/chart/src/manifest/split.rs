//! Files to documents.

/// What Go's `\s` matches.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
}

/// Splits a text into documents at lines that begin with `---`, and trims each.
///
/// What follows the dashes on their line belongs to the document, and of two separators in a row the second one stays in
/// the text: both as in Helm 3.
#[must_use]
pub fn split(text: &str) -> Vec<&str> {
    let text = text.trim();
    let bytes = text.as_bytes();
    let mut documents = Vec::new();
    let mut begin = 0;
    let mut from = 0;
    while let Some((start, end)) = separator(bytes, from) {
        push(text.get(begin..start), &mut documents);
        begin = end;
        from = end;
    }
    push(text.get(begin..), &mut documents);
    documents
}

fn push<'t>(document: Option<&'t str>, documents: &mut Vec<&'t str>) {
    if let Some(document) = document.filter(|document| !document.is_empty()) {
        documents.push(document.trim());
    }
}

/// The first separator at or after a place, with the white space around it.
fn separator(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    // A search skips what overlaps, such as the second three of four dashes, which never open a line.
    for found in memchr::memmem::find_iter(bytes.get(from..)?, b"---").map(|at| from + at) {
        let opens_line = found > from && bytes[found - 1] == b'\n';
        if found != 0 && !opens_line {
            continue;
        }
        let mut start = found;
        while start > from && is_blank(bytes[start - 1]) {
            start -= 1;
        }
        let mut end = found + 3;
        while end < bytes.len() && is_blank(bytes[end]) {
            end += 1;
        }
        return Some((start, end));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn documents_are_split_as_in_helm_3() {
        assert_eq!(split("a: 1\n---\nb: 2\n"), ["a: 1", "b: 2"]);
        assert_eq!(split("---\na: 1\n--- # two\nb: 2"), ["a: 1", "# two\nb: 2"]);
        assert_eq!(split("---foo: 1\n---\n---\nx: 1"), ["foo: 1", "---\nx: 1"]);
        assert_eq!(split("a: 1\r\n---\r\nb: 2"), ["a: 1", "b: 2"]);
        assert_eq!(split("a: |\n  ---\nb: 1"), ["a: |\n  ---\nb: 1"]);
        assert_eq!(split("a\n \n\n---\n\n  b"), ["a", "b"]);
        assert_eq!(split("a----\n-----\nb"), ["a----", "--\nb"]);
        assert_eq!(split(" \n"), [""; 0]);
        assert_eq!(split("---"), [""; 0]);
    }
}
