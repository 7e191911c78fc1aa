//! Names: the forms Kubernetes and Helm accept, the slug, and the search for the key somebody meant.

/// A text as part of a file or object name (S-6.31): lower case, every run of characters outside `a-z0-9-` becomes `-`,
/// repeated `-` collapse, the ends are trimmed. Empty becomes `unknown`.
#[must_use]
pub fn slug(text: &str) -> String {
    let mut slug = String::with_capacity(text.len());
    for c in text.trim().chars().flat_map(char::to_lowercase) {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    while slug.ends_with('-') {
        slug.pop();
    }
    if slug.is_empty() {
        slug.push_str("unknown");
    }
    slug
}

/// What is wrong with a DNS-1123 label (a namespace: `a-z0-9-`, alphanumeric ends, at most 63 characters), if anything.
pub(crate) fn label_fault(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some("is empty".to_owned());
    }
    if text.len() > 63 {
        return Some(format!(
            "has {} characters, at most 63 are allowed",
            text.chars().count()
        ));
    }
    if text.contains('.') {
        return Some("has a dot".to_owned());
    }
    character_fault(text, "")
}

/// What is wrong with a DNS-1123 subdomain (labels joined by dots) of at most `max` characters, if anything.
pub(crate) fn subdomain_fault(text: &str, max: usize) -> Option<String> {
    if text.is_empty() {
        return Some("is empty".to_owned());
    }
    if text.len() > max {
        return Some(format!(
            "has {} characters, at most {max} are allowed",
            text.chars().count()
        ));
    }
    if text.split('.').any(str::is_empty) {
        return Some("has a dot at an end or two dots in a row".to_owned());
    }
    text.split('.')
        .find_map(|part| character_fault(part, " of each part"))
}

fn character_fault(text: &str, of: &str) -> Option<String> {
    if let Some(c) = text
        .chars()
        .find(|c| !(c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-'))
    {
        return Some(if c.is_uppercase() {
            format!("has the capital letter '{c}'")
        } else {
            format!("has the character {c:?}")
        });
    }
    if text.starts_with('-') || text.ends_with('-') {
        return Some(format!("has a '-' at an end{of}"));
    }
    None
}

/// The known word that `word` most likely stands for: edit distance at most 2 (a swap of neighbours counts as one), and
/// less than the word's own length so that short words do not match everything.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if length > 64 {
        return None;
    }
    known
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= 2 && *distance < length)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The known word that differs from `word` in letter case only.
pub(crate) fn same_but_case<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    known
        .into_iter()
        .find(|candidate| *candidate != word && candidate.eq_ignore_ascii_case(word))
}

/// Optimal string alignment distance.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    if a.len().abs_diff(b.len()) > 2 {
        return 3;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(x != y))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs() {
        // S-6.31
        for (text, want) in [
            ("Prod EU", "prod-eu"),
            ("  a__b--c  ", "a-b-c"),
            ("-a-", "a"),
            ("arn:aws:eks/x", "arn-aws-eks-x"),
            ("É", "unknown"),
            ("", "unknown"),
            ("--", "unknown"),
            ("İx", "i-x"),
        ] {
            assert_eq!(slug(text), want, "{text:?}");
        }
    }

    #[test]
    fn distances() {
        for (a, b, want) in [
            ("hook", "hooks", 1),
            ("dwon", "down", 1),
            ("redy", "ready", 1),
            ("abc", "abc", 0),
            ("abc", "xyz", 3),
            ("", "ab", 2),
        ] {
            assert_eq!(distance(a, b), want, "{a} {b}");
        }
        assert_eq!(nearest("hook", ["hooks", "helm"]), Some("hooks"));
        assert_eq!(nearest("x", ["up"]), None);
        assert_eq!(same_but_case("Run", ["run"]), Some("run"));
        assert_eq!(same_but_case("run", ["run"]), None);
    }
}
