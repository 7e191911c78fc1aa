//! Objects for the API server.

use kzero_profile::Source;
use kzero_profile::kubernetes::{load_documents, parse_documents};
use serde_json::json;

#[test]
fn documents_become_json_and_empty_ones_are_left_out() {
    let text = "---\n# nothing\n---\nkind: Job\nspec: {backoffLimit: 1e1, x: 0x10, y: 1.5, big: 18446744073709551615, on: yes, t: TRUE, q: \"1\", n: ~, s: 1_000}\n---\n---\n- a\n";
    let documents = parse_documents(Source::new("job.yaml", text)).unwrap();
    assert_eq!(
        documents,
        [
            json!({"kind": "Job", "spec": {"backoffLimit": 10, "x": 16, "y": 1.5, "big": 18_446_744_073_709_551_615_u64, "on": "yes", "t": true, "q": "1", "n": null, "s": "1_000"}}),
            json!(["a"]),
        ]
    );
    assert!(
        parse_documents(Source::new("job.yaml", ""))
            .unwrap()
            .is_empty()
    );
}

#[test]
fn anchors_do_not_reach_into_the_next_document() {
    let error = parse_documents(Source::new("job.yaml", "a: &x 1\n---\nb: *x\n"))
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("job.yaml:3:4: the alias *x has no anchor"),
        "{error}"
    );
}

#[test]
fn merges_and_literal_blocks() {
    let text = "a: &x {k: 1, l: 2}\nb: {<<: *x, l: 3}\nc: |\n  #!/bin/sh\n  \techo\n";
    let documents = parse_documents(Source::new("job.yaml", text)).unwrap();
    assert_eq!(
        documents,
        [json!({"a": {"k": 1, "l": 2}, "b": {"k": 1, "l": 3}, "c": "#!/bin/sh\n\techo\n"})]
    );
}

#[test]
fn faults_have_places() {
    let error = parse_documents(Source::new(
        "job.yaml",
        "a: 1\n---\nmode: .inf\nb: 1\nb: 2\n",
    ))
    .unwrap_err()
    .to_string();
    assert_eq!(
        error,
        "\
job.yaml:3:7: the number .inf has no form in JSON
  3 | mode: .inf
    |       ^
  expected: a finite number
  hint: put the text in quotes: \".inf\"
job.yaml:5:1: the key \"b\" is given twice in one mapping, on line 4 and on line 5
  5 | b: 2
    | ^
  expected: each key once"
    );
    let missing =
        load_documents(std::path::Path::new("/no/such/job.yaml"), "job.yaml").unwrap_err();
    assert!(
        missing
            .to_string()
            .starts_with("cannot read /no/such/job.yaml: "),
        "{missing}"
    );
}

#[test]
fn the_bound_of_nodes_is_that_of_the_whole_file() {
    let document = format!("---\n[{}]\n", vec!["1"; 30_000].join(","));
    assert_eq!(
        parse_documents(Source::new("j", document.repeat(3)))
            .unwrap()
            .len(),
        3
    );
    let error = parse_documents(Source::new("j", document.repeat(4)))
        .unwrap_err()
        .to_string();
    assert!(error.contains("more than 100000 nodes"), "{error}");
}
