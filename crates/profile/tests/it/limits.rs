//! Bounds (S-1.6): files made to exhaust memory or time are refused quickly.

use std::time::{Duration, Instant};

use crate::support::{error_of, load, profile_of};

const HEAD: &str = "schema_version: \"1.0\"\nrun: {mode: dry-run}\n";

/// Runs a load and checks its time. The specification asks for a second; tests run without optimisation beside others.
fn timed<T>(work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    let took = start.elapsed();
    assert!(took < Duration::from_secs(5), "took {took:?}");
    result
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut text = "x-0: &x0 [a, a, a, a, a, a, a, a, a]\n".to_owned();
    for level in 1..30 {
        let alias = format!("*x{}", level - 1);
        text.push_str(&format!(
            "x-{level}: &x{level} [{}]\n",
            vec![alias; 9].join(", ")
        ));
    }
    let error = timed(|| error_of(&format!("{text}{HEAD}pipelines: {{up: []}}\n")));
    assert!(
        error.contains("the file has more than 100000 nodes once its aliases are written out"),
        "{error}"
    );
    assert!(error.starts_with("kzero.yaml:6:"), "{error}");
}

#[test]
fn a_merge_bomb_is_refused() {
    let mut text = "x-0: &x0 {a0: 1}\n".to_owned();
    for level in 1..2000 {
        text.push_str(&format!(
            "x-{level}: &x{level} {{<<: *x{}, a{level}: 1}}\n",
            level - 1
        ));
    }
    let error = timed(|| error_of(&text));
    assert!(
        error.contains("the nesting is deeper than 100 levels"),
        "{error}"
    );
    let keys: Vec<String> = (0..300).map(|n| format!("k{n}: 1")).collect();
    let merges = "- {<<: [*x, *x, *x]}\n".repeat(200);
    let text = format!("x-0: &x {{{}}}\nx-1:\n{merges}", keys.join(", "));
    let error = timed(|| error_of(&text));
    assert!(error.contains("more than 100000 nodes"), "{error}");
}

#[test]
fn few_aliases_of_a_long_text_are_refused_too() {
    let text = format!(
        "x-0: &x {}\nx-1: [{}]\n",
        "a".repeat(500_000),
        vec!["*x"; 1000].join(", ")
    );
    let error = timed(|| error_of(&text));
    assert!(
        error.contains("more than 8 MiB of text once its aliases are written out"),
        "{error}"
    );
}

#[test]
fn a_hundred_thousand_nodes_are_the_most() {
    // Written out: mapping, key, list and items.
    let list = |n: usize| {
        format!(
            "{HEAD}pipelines: {{up: []}}\nx-l: [{}]\n",
            vec!["1"; n].join(",")
        )
    };
    let rest = 13;
    timed(|| profile_of(&list(100_000 - rest)));
    let error = timed(|| error_of(&list(100_000 - rest + 1)));
    assert!(error.contains("more than 100000 nodes"), "{error}");
}

#[test]
fn the_depth_is_bounded_written_or_by_aliases() {
    let nested = |n: usize| {
        format!(
            "{HEAD}pipelines: {{up: []}}\nx-d: {}{}\n",
            "[".repeat(n),
            "]".repeat(n)
        )
    };
    profile_of(&nested(99));
    for deep in [100, 150, 300, 100_000] {
        let error = timed(|| error_of(&nested(deep)));
        assert!(
            error.contains("the nesting is deeper than 100 levels"),
            "{deep} gave {error}"
        );
    }
    let mut text = "x-0: &x0 [a]\n".to_owned();
    for level in 1..120 {
        text.push_str(&format!("x-{level}: &x{level} [*x{}]\n", level - 1));
    }
    let error = error_of(&text);
    assert!(
        error.contains("the nesting is deeper than 100 levels"),
        "{error}"
    );
    let block: String = (0..150).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    assert!(error_of(&block).contains("the nesting is deeper than 100 levels"));
}

#[test]
fn a_file_over_one_mebibyte_is_refused() {
    let text = format!("{HEAD}pipelines: {{up: []}}\n");
    let padded = |size: usize| format!("{text}#{}", "x".repeat(size - text.len() - 1));
    timed(|| profile_of(&padded(1024 * 1024)));
    let error = timed(|| error_of(&padded(1024 * 1024 + 1)));
    assert!(
        error.contains(
            "kzero.yaml: the file has 1048577 bytes, more than the limit of 1048576 (1 MiB)"
        ),
        "{error}"
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("big.yaml");
    std::fs::write(&path, "#".repeat(5 * 1024 * 1024)).unwrap();
    let error = kzero_profile::manifest::load(&path, "big.yaml")
        .unwrap_err()
        .to_string();
    assert!(error.contains("is larger than 1 MiB"), "{error}");
}

#[test]
fn a_mebibyte_of_anything_ends_in_time() {
    for unit in [
        "a: b\n",
        "- ",
        "? ",
        "[",
        "{",
        "\"",
        "'",
        "&a ",
        "*a ",
        "!",
        "|\n",
        "a: |\n b\n",
        "# c\n",
        "---\n",
        "\n",
        "- a\n",
        "{a: [",
        "%",
        "a",
        "\t",
        "- - ",
        "a:\n ",
        "&x *x\n",
        "a: &a b\n",
    ] {
        let text = unit.repeat(1024 * 1024 / unit.len());
        let _ = timed(|| load(&text));
    }
}

#[test]
fn many_keys_in_one_mapping_are_read_in_time() {
    let keys: String = (0..40_000).map(|n| format!("  k{n}: 1\n")).collect();
    let profile = timed(|| profile_of(&format!("{HEAD}pipelines: {{up: []}}\nx-k:\n{keys}")));
    assert!(profile.warnings.is_empty());
    let unknown = timed(|| profile_of(&format!("{HEAD}pipelines: {{up: []}}\nverify:\n{keys}")));
    assert_eq!(unknown.warnings.len(), 1000);
}
