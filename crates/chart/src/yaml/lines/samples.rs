//! Texts that tests read twice, line by line and in full.

use proptest::prelude::*;

/// Of each thing that is read by lines, one.
pub(crate) const MANIFEST: &str = r#"apiVersion: apps/v1
kind: Deployment # comment
metadata:
  name: "web"
  annotations:
    helm.sh/hook: pre-install
    'quoted': "with \"escapes\""
  labels:
    {}
spec:
  empty:
  replicas: 3
  template:
    containers:
    - name: web
      args: [a b, "c", {d: e}]
      command:
        - - nested
          - list
      text: |-
        first

          second
  # comment
  last: it's # so
"#;

/// Contents of lines, most of which mean something else beside others.
const CONTENTS: &[&str] = &[
    "",
    " ",
    "# c",
    "a:",
    "b: 1",
    "c: x y",
    "- ",
    "-",
    "- 1",
    "- a: b",
    "- a:",
    "- - x",
    "-   k: v",
    "- |",
    "- {}",
    "- # c",
    "d: |",
    "e: |-",
    "f: >",
    "g: |+",
    "h: >2",
    "i: | # c",
    "text",
    "text: more",
    "'q': 1",
    "\"q\": 'v'",
    "\"q\" : v",
    "k: \"a\\nb\"",
    "k: \"\\t\"",
    "k: 'it''s'",
    "k: 'open",
    "k: \"a\" b",
    "k: \"a\" # c",
    "k: \"a\"# c",
    "k: []",
    "k: {}",
    "k: [a, b c]",
    "k: [a,]",
    "k: [,]",
    "k: [a: b]",
    "k: [a] b",
    "k: [[], {}]",
    "k: {a: b, c: [d]}",
    "k: {a:b}",
    "k: {a}",
    "k: {a: }",
    "k: {yes: 1}",
    "k: [.inf]",
    "{}: 1",
    "[a]: b",
    "{a: b}",
    "{}",
    "\"x\"",
    "k: &x 1",
    "k: *x",
    "k: !t 1",
    "k: .inf",
    "k: 1e999",
    "k: ~",
    "k : v",
    "k:v",
    "k: a: b",
    "k: a:",
    "k: a #b",
    "k: a# b",
    "k: #b",
    "k: :a",
    "k: -a",
    "k: - a",
    "k: ---",
    "---",
    "...",
    "--- # x",
    "%YAML 1.1",
    "k: %a",
    "k:  v  ",
    "k:\tv",
    "? k",
    ": v",
    "k: @a",
    "k: ,",
    "k: ]",
    "k: \\n",
    "k: \u{e9}",
    "yes: 1",
    "1: 2",
    "<<: 1",
    "null: 1",
    "apiVersion: v1",
    "kind: Pod",
    "kind: 1",
    "kind:",
    "Kind: x",
    "metadata:",
    "metadata: {}",
    "name: n",
    "name: 2001-01-01",
    "annotations:",
    "annotations: {a: b}",
    "x/y: \"z\"",
    "a b: c",
    "k: a, b",
    "k: $(A)",
];

/// Lines that are indented as they may be, or not quite.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let line = (0..8usize, prop::sample::select(CONTENTS));
    prop::collection::vec(line, 1..9).prop_map(|lines| {
        let mut text = String::new();
        let mut column = 0usize;
        for (step, content) in lines {
            column = match step {
                0..=3 => column,
                4 => column + 2,
                5 => column.saturating_sub(2),
                6 => 0,
                _ => column + 1,
            };
            text.push_str(&" ".repeat(column));
            text.push_str(content);
            text.push('\n');
        }
        text
    })
}
