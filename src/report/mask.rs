//! Nothing that looks like a secret leaves the process (S-4.16 to S-4.18).

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

/// What stands where a secret stood.
const MASK: &str = "***";

/// How much of a value is looked at again as a name.
const LOOK_BACK: usize = 256;

/// Words that make a name secret-like, in lower case.
const SECRET_WORDS: [&str; 7] = [
    "token",
    "secret",
    "key",
    "password",
    "passwd",
    "webhook_url",
    "webhookurl",
];

/// Query parameters that carry credentials besides those that [`SECRET_WORDS`] catches.
const QUERY_WORDS: [&str; 4] = ["sig", "signature", "auth", "credential"];

/// Finds and replaces secrets: the values it was told, and everything that looks like one.
#[derive(Debug, Clone, Default)]
pub struct Masker {
    /// Longest first, so that a value which contains another is masked whole.
    values: Vec<String>,
}

/// The patterns; each has a group `v` that is the part to hide.
fn patterns() -> &'static [Regex] {
    static PATTERNS: OnceLock<Vec<Regex>> = OnceLock::new();
    PATTERNS.get_or_init(|| {
        let word = SECRET_WORDS.join("|");
        let query = QUERY_WORDS.join("|");
        let name = format!(r"[A-Za-z0-9_.\-]*(?:{word})[A-Za-z0-9_.\-]*");
        // Values: in escaped quotes (JSON inside a string), in quotes, or up to a blank.
        // What follows a closing quote without a blank belongs to the value, as in a shell.
        let tail = r#"["']?[A-Za-z0-9_+/=$%!@#^*\-][^\s&,;)\]}]*"#;
        let quoted = [
            r#"\\"(?P<v>(?:\\[^"]|[^"\\])*)"#.to_owned(),
            format!(r#""(?P<w>(?:\\.|[^"\\])*)(?:"(?P<t>{tail}))?"#),
            format!(r"'(?P<y>[^']*)(?:'(?P<u>{tail}))?"),
        ]
        .join("|");
        let value = format!(r#"(?:{quoted}|(?P<x>(?:[^\s"'\\]|\\[^\s"])[^\s]*))"#);
        let plain = format!(r#"(?:{quoted}|(?P<x>(?:[^\s&"'\\]|\\[^\s"])[^\s&]*))"#);
        [
            // Bearer X, Basic X
            r"\b(?:bearer|basic)\s+(?P<v>[^\s,;]+)".to_owned(),
            // NAME=value, also inside a query
            format!(r"{name}\s*:?=\s*{plain}"),
            format!(r"[?&](?:{query})=(?P<v>[^\s&]+)"),
            // "NAME": "value" and 'NAME': 'value'
            format!(r#"["']{name}\\?["']\s*:\s*{value}"#),
            // NAME: value; not the last part of a path, which is an object's name in an error
            format!(r"(?:^|[^A-Za-z0-9_.\-/]){name}:\s+{value}"),
            // NAME:value, only for names that are no image and no object
            format!(
                r"(?:^|[^A-Za-z0-9_.\-/])[A-Za-z0-9_.\-]*(?:password|passwd|_token|_secret|_key):{value}"
            ),
            // NAME: | and the lines of the block below
            format!(r"{name}:[ \t]+[|>][+\-0-9]*[ \t]*\r?\n(?:[ \t]*\r?\n)*(?P<b>[ \t]+[^\s][^\n]*)"),
            // --NAME value
            format!(r"--{name}\s+{value}"),
            // scheme://user:password@host
            r"[a-z][a-z0-9+.\-]*://(?P<v>[^\s/?#@]+)@".to_owned(),
            // the path of a chat service's address
            concat!(
                r"https?://(?:[a-z0-9.\-]*hooks\.slack\.com|[a-z0-9.\-]*discord(?:app)?\.com",
                r"|[a-z0-9.\-]*\.webhook\.office\.com|outlook\.office(?:365)?\.com",
                r"|[a-z0-9.\-]*\.logic\.azure\.com|[a-z0-9.\-]*events(?:\.eu)?\.pagerduty\.com)",
                r#"(?::[0-9]+)?/(?P<v>[^\s"'<>]+)"#
            )
            .to_owned(),
        ]
        .iter()
        .filter_map(|pattern| Regex::new(&format!("(?i){pattern}")).ok())
        .collect()
    })
}

/// Whether any pattern can match; cheap, so that most lines never reach a regular expression.
fn suspicious(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    [
        "token", "secret", "key", "passw", "webhook", "bearer", "basic", "://", "sig", "auth",
        "cred",
    ]
    .iter()
    .any(|word| lower.contains(word))
}

impl Masker {
    /// A masker that knows these values. Empty ones are passed over; a value of several
    /// lines is known whole and by each line of some length, since lines are masked singly.
    pub fn new<I: IntoIterator<Item = String>>(values: I) -> Self {
        let mut known = Vec::new();
        for value in values {
            let trimmed = value.trim();
            if trimmed.is_empty() {
                continue;
            }
            if trimmed.contains('\n') {
                let lines = trimmed
                    .lines()
                    .map(str::trim)
                    .filter(|line| line.len() >= 6);
                known.extend(lines.map(str::to_owned));
            }
            if trimmed.len() != value.len() {
                known.push(trimmed.to_owned());
            }
            known.push(value);
        }
        known.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        known.dedup();
        Self { values: known }
    }

    /// The parts of `text` that must stay together to be recognised: each secret with the
    /// name that gives it away, in order, not touching each other.
    pub fn contexts(&self, text: &str) -> Vec<Range<usize>> {
        merge(
            self.find(text)
                .into_iter()
                .map(|(context, _)| context)
                .collect(),
        )
    }

    /// The parts of `text` to hide, in order, not touching each other.
    fn spans(&self, text: &str) -> Vec<Range<usize>> {
        merge(
            self.find(text)
                .into_iter()
                .map(|(_, secret)| secret)
                .collect(),
        )
    }

    /// Each find: what was recognised, and the part of it to hide.
    fn find(&self, text: &str) -> Vec<(Range<usize>, Range<usize>)> {
        let mut found = Vec::new();
        for value in &self.values {
            found.extend(text.match_indices(value.as_str()).map(|(at, _)| {
                let span = at..at + value.len();
                (span.clone(), span)
            }));
        }
        if suspicious(text) {
            for pattern in patterns() {
                let mut from = 0;
                while let Some(captures) = pattern.captures_at(text, from) {
                    let Some(whole) = captures.get(0) else { break };
                    // No pattern matches nothing, so this moves on.
                    from = whole.end();
                    if let Some(first) = captures.name("b") {
                        let block = block(text, first.range());
                        from = block.end;
                        found.push((whole.start()..block.end, block));
                        continue;
                    }
                    let tails = ["t", "u"].iter().find_map(|name| captures.name(name));
                    found.extend(tails.map(|tail| (whole.range(), tail.range())));
                    let groups = ["v", "w", "x", "y"];
                    let group = groups.iter().find_map(|name| captures.name(name));
                    let Some(group) = group.filter(|group| !group.is_empty()) else {
                        continue;
                    };
                    found.push((whole.range(), group.range()));
                    // What stands for a value may be a name itself: `key: password: x`.
                    let value = group.as_str();
                    if value.ends_with([':', '=']) || value.starts_with("--") {
                        // Only the end of a long one, else a line of names would be read anew
                        // for each of them.
                        let start = group.start().max(group.end().saturating_sub(LOOK_BACK));
                        let before = (0..start).rev().find(|at| text.is_char_boundary(*at));
                        from = before.unwrap_or(group.start());
                    }
                }
            }
        }
        found
    }

    /// Masks each text of a document. Masking its serialized form instead could take away
    /// the quotes and commas around a text, and would miss a value that was escaped.
    pub fn mask_json(&self, value: &mut serde_json::Value) {
        use serde_json::Value;
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.mask(text) {
                    *text = masked;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_json(item)),
            Value::Object(fields) => fields.values_mut().for_each(|item| self.mask_json(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// `text` with each secret replaced by `***`. Masking again changes nothing more.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let spans = self.spans(text);
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for span in spans {
            out.push_str(&text[from..span.start]);
            out.push_str(MASK);
            from = span.end;
        }
        out.push_str(&text[from..]);
        Cow::Owned(out)
    }
}

/// The text of a YAML block whose first line this is: all lines that stand as deep as that one.
fn block(text: &str, first: Range<usize>) -> Range<usize> {
    let line = &text[first.clone()];
    let depth = line.len() - line.trim_start_matches([' ', '\t']).len();
    let mut end = first.end;
    let mut next = first.end;
    for line in text[first.end..].split_inclusive('\n').skip(1) {
        next += line.len();
        if line.trim().is_empty() {
            continue;
        }
        let own = line.len() - line.trim_start_matches([' ', '\t']).len();
        if own < depth {
            break;
        }
        end = next;
    }
    let secret = text[first.start + depth..end].trim_end();
    first.start + depth..first.start + depth + secret.len()
}

/// Sorts ranges and joins those that touch.
fn merge(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::Masker;

    #[test]
    fn each_form_of_the_rule_is_masked() {
        // S-4.16
        let masker = Masker::new(["canary-value".to_owned()]);
        let rows = [
            ("before canary-value after", "before *** after"),
            ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
            ("authorization: basic dXNlcjpw", "authorization: basic ***"),
            ("DB_PASSWORD=hunter2 next", "DB_PASSWORD=*** next"),
            ("password: hunter2", "password: ***"),
            ("passwd:   hunter2 x", "passwd:   *** x"),
            (
                r#"{"apiToken": "abc", "n": 1}"#,
                r#"{"apiToken": "***", "n": 1}"#,
            ),
            (
                r#"{"apiToken":"a\"b","n":1}"#,
                r#"{"apiToken":"***","n":1}"#,
            ),
            (r#"{\"secret\": \"abc\"}"#, r#"{\"secret\": \"***\"}"#),
            ("run --api-key abc --x", "run --api-key *** --x"),
            ("run --token=abc --x", "run --token=*** --x"),
            ("MY_SECRET='a b' c", "MY_SECRET='***' c"),
            ("get https://u:p@host/x", "get https://***@host/x"),
            (
                "GET https://host/x?token=abc&y=1",
                "GET https://host/x?token=***&y=1",
            ),
            (
                "GET https://host/x?sig=abc&y=1",
                "GET https://host/x?sig=***&y=1",
            ),
            (
                "POST https://hooks.slack.com/services/T0/B0/x",
                "POST https://hooks.slack.com/***",
            ),
            ("bad key: password: hunter2", "bad key: *** ***"),
            ("key: token: secret: abc def", "key: *** *** *** def"),
            ("--token --password abc", "--token *** ***"),
            (r"password=\abc x", "password=*** x"),
            (r"password: \abc x", "password: *** x"),
            ("PASSWORD := abc x", "PASSWORD := *** x"),
            ("password:hunter2 x", "password:*** x"),
            ("db_passwd:'a b' x", "db_passwd:'***' x"),
            ("API_TOKEN:abc x", "API_TOKEN:*** x"),
            (r#"password=""rest x"#, r#"password=""*** x"#),
            ("password='a'rest x", "password='***'*** x"),
            (r#"password="a"'rest' x"#, r#"password="***"*** x"#),
            ("password: 'a''b'", "password: '***'***"),
            (
                "a: 1\npassword: |-\n  hun\n\n    ter\nnext: 2",
                "a: 1\npassword: ***\n  ***\nnext: 2",
            ),
            ("secret: >\n\n  hunter2\n", "secret: ***\n\n  ***\n"),
            (
                "POST https://discord.com/api/webhooks/1/x failed",
                "POST https://discord.com/*** failed",
            ),
        ];
        for (input, output) in rows {
            assert_eq!(masker.mask(input), output, "{input}");
        }
    }

    #[test]
    fn what_is_no_secret_stays_readable() {
        // S-4.17
        let masker = Masker::default();
        for text in [
            "api_server: https://api.example.com:6443",
            "deployment app/keycloak: not found",
            "step deployment.app/key-server (up[1]): timed out",
            "oci://registry.example.com/charts/app:1.2.3",
            "warning: unknown key \"hook\" at top level",
            "scale deployment.app/token-service -> 0 replicas",
            "image: registry/token-service:1.2",
            "pull registry.example.com/password-manager:1.2",
            "keycloak:24",
            "configMapKeyRef of 'app': not found",
        ] {
            assert_eq!(masker.mask(text), text);
        }
    }

    #[test]
    fn names_in_a_row_take_no_more_than_their_length() {
        // Many names that are each other's values, as long as a window of script output.
        for text in [
            "key: ",
            "key=",
            "--key ",
            "password=:key=:",
            "a://b",
            "token",
        ] {
            let begin = std::time::Instant::now();
            let long = text.repeat(64 * 1024 / text.len());
            assert!(Masker::default().mask(&long).len() <= long.len());
            let elapsed = begin.elapsed();
            assert!(elapsed.as_secs() < 10, "{text}: {elapsed:?}");
        }
    }

    #[test]
    fn a_document_keeps_its_form() {
        let masker = Masker::new([r#"a"b\c"#.to_owned()]);
        let mut document = serde_json::json!({
            "list": ["mysql --password hunter2", r#"x a"b\c y"#, 7, null],
        });
        masker.mask_json(&mut document);
        assert_eq!(
            document,
            serde_json::json!({"list": ["mysql --password ***", "x *** y", 7, null]})
        );
    }

    #[test]
    fn masking_twice_is_masking_once() {
        let masker = Masker::new(["aaa".to_owned(), "aaab".to_owned()]);
        let once = masker
            .mask("x aaab password=y https://u@h/ aaaaab")
            .into_owned();
        assert_eq!(masker.mask(&once), once);
        assert!(!once.contains("aaa"));
    }
}
