//! How a child ended, and which class of failure that is.

use std::fmt;

/// Output that is kept for classification (S-3.18).
pub(super) const TAIL: usize = 64 * 1024;

/// What a failed program failed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptErrorKind {
    /// It could not be started.
    Start,
    /// It ended with another code than 0.
    Exit(i32),
    /// It died of a signal.
    Signal(i32),
    /// A budget ran out.
    TimedOut,
    /// A stop was asked for.
    Stopped,
}

/// A child that did not succeed.
#[derive(Debug, Clone)]
pub struct ScriptError {
    /// How.
    pub kind: ScriptErrorKind,
    /// Whether another attempt may help (S-3.17, S-3.18).
    pub transient: bool,
    /// The sentence, masked, without the label.
    pub text: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for ScriptError {}

/// Phrases by class; the first class with a match wins.
const NOT_FOUND: [&str; 4] = [
    "not found",
    "notfound",
    "no matching resources",
    "does not exist",
];
const FORBIDDEN: [&str; 5] = [
    "forbidden",
    "unauthorized",
    "permission denied",
    "access denied",
    "cannot get resource",
];
const TRANSIENT: [&str; 13] = [
    "connection refused",
    "connection reset",
    "connection lost",
    "i/o timeout",
    "tls handshake timeout",
    "deadline exceeded",
    "too many requests",
    "temporarily unavailable",
    "server timeout",
    "unable to connect",
    "network is unreachable",
    "dial tcp",
    "http2: server sent goaway",
];

/// Whether a program that ended with `code` and this output may succeed when repeated.
pub(super) fn is_transient(code: i32, output: &str) -> bool {
    let output = output.to_lowercase();
    let any = |phrases: &[&str]| phrases.iter().any(|phrase| output.contains(phrase));
    if any(&NOT_FOUND) || any(&FORBIDDEN) {
        return false;
    }
    // 137 and 143 are a shell's way to say that its child was killed.
    any(&TRANSIENT)
        || ["429", "503", "504"]
            .iter()
            .any(|word| has_word(&output, word))
        || code == 137
        || code == 143
}

fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !part(before) && !part(after)
    })
}

/// Whether the output shows that a POSIX shell refused a bashism (S-4.7).
pub(super) fn shows_bashism(output: &str) -> bool {
    [
        "Illegal option -o pipefail",
        "illegal option -o pipefail",
        "[[: not found",
        "Bad substitution",
        "bad substitution",
        "Syntax error: \"(\" unexpected",
        "Syntax error: redirection unexpected",
        "function: not found",
        "declare: not found",
        "shopt: not found",
        "source: not found",
    ]
    .iter()
    .any(|phrase| output.contains(phrase))
}

/// The end of an output, at most 200 characters, on one line.
pub(super) fn last_words(output: &str) -> String {
    let lines: Vec<&str> = output
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    let joined = lines.join(" | ");
    let count = joined.chars().count();
    if count <= 200 {
        return joined;
    }
    let tail: String = joined.chars().skip(count - 197).collect();
    format!("...{tail}")
}

#[cfg(test)]
mod tests {
    use super::{is_transient, last_words, shows_bashism};

    #[test]
    fn the_first_class_with_a_match_wins() {
        // S-3.18
        let rows = [
            (
                1,
                "Error: deployments.apps \"x\" not found; connection refused",
                false,
            ),
            (1, "User cannot get resource; dial tcp: i/o timeout", false),
            (
                1,
                "Unable to connect to the server: dial tcp 10.0.0.1:443",
                true,
            ),
            (1, "the server returned HTTP 503", true),
            (1, "took 5034 ms", false),
            (1, "HTTP2: server sent GOAWAY", true),
            (137, "", true),
            (143, "", true),
            (137, "not found", false),
            (7, "boom", false),
        ];
        for (code, output, transient) in rows {
            assert_eq!(is_transient(code, output), transient, "{code} {output}");
        }
    }

    #[test]
    fn bashisms_are_recognised() {
        // S-4.7
        assert!(shows_bashism("x.sh: 2: set: Illegal option -o pipefail"));
        assert!(shows_bashism("x.sh: 2: [[: not found"));
        assert!(!shows_bashism("curl: not found"));
    }

    #[test]
    fn last_words_are_one_line_of_at_most_200_characters() {
        assert_eq!(last_words("a\n\n b \n"), "a | b");
        let long = last_words(&"é".repeat(500));
        assert_eq!(long.chars().count(), 200);
        assert!(long.starts_with("..."));
    }
}
