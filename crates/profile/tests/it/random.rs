//! Any text at all: loading ends with a profile or with errors, never with a panic.

use kzero_profile::{Overrides, SAMPLE, Source, kubernetes, manifest};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::support::{load, load_with, with_pipelines};

const PIECES: &[&str] = &[
    "schema_version: \"1.0\"\n",
    "run: {mode: dry-run}\n",
    "pipelines:\n",
    "  down:\n",
    "  up:\n",
    "  - deployment.a/b\n",
    "  - deployment.a/b:\n",
    "      replicas: 3\n",
    "    replicas: 010\n",
    "  - custom: ./x\n",
    "    pre: ./y\n",
    "  - exec.a/b: {command: [a]}\n",
    "  - {<<: *a}\n",
    "x-a: &a {timeout: 1m}\n",
    "  - *a\n",
    "<<: *a\n",
    "---\n",
    "...\n",
    "\t",
    " ",
    "\n",
    "\r\n",
    "\r",
    ": ",
    "- ",
    "? ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\"",
    "'",
    "|\n",
    ">-\n",
    "# c\n",
    "!!str ",
    "!x ",
    "&b ",
    "*b",
    "\u{feff}",
    "é",
    "\u{2028}",
    "\0",
    "~",
    "1e9999999999",
    "-0x1",
    "0o9",
    "9999999999999999999999999999999999999999",
    "notify: {slack: {enabled: yes}}\n",
    "infra_probe: {enabled: true}\n",
    "verify:\n",
];

fn everything(text: &str) {
    if let Err(error) = load(text) {
        let shown = error.to_string();
        assert!(!shown.is_empty());
        for finding in error.errors() {
            assert!(finding.at().is_none_or(|at| at.line >= 1 && at.column >= 1));
        }
    }
    if let Err(error) = manifest::parse(Source::new("m.yaml", text)) {
        assert!(!error.to_string().is_empty());
    }
    if let Err(error) = kubernetes::parse_documents(Source::new("k.yaml", text)) {
        assert!(!error.to_string().is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in "\\PC*|[ -~\\n\\t]{0,80}") {
        everything(&text);
    }

    #[test]
    fn pieces_of_profiles(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..30)) {
        everything(&pieces.concat());
    }

    #[test]
    fn the_sample_with_a_fault(at in 0..SAMPLE.len(), length in 0_usize..40, insert in prop::sample::select(PIECES)) {
        let start = (0..=at).rev().find(|i| SAMPLE.is_char_boundary(*i)).unwrap_or(0);
        let end = (start + length).min(SAMPLE.len());
        let end = (end..=SAMPLE.len()).find(|i| SAMPLE.is_char_boundary(*i)).unwrap_or(SAMPLE.len());
        everything(&format!("{}{insert}{}", &SAMPLE[..start], &SAMPLE[end..]));
    }

    #[test]
    fn any_reference(reference in "[a-z]{0,12}[.]?[a-zA-Z0-9._/-]{0,80}|\\PC{0,20}") {
        let quoted = serde_json::to_string(&reference).unwrap();
        everything(&with_pipelines(&format!("down:\n- {quoted}\nup:\n- {quoted}: {{}}\n")));
    }

    #[test]
    fn any_variable(value in "\\PC{1,20}", key in prop::sample::select(&["RUN_TIMEOUT", "RETRY_ATTEMPTS", "STATE_NAME", "RUN_MODE", "CLIENT_ID", "NOTIFY_TEAMS_WEBHOOK_URL"][..])) {
        let variable = format!("KZERO_{key}");
        if let Err(error) = load_with(&with_pipelines("up: []"), &[(&variable, &value)], Overrides::default()) {
            prop_assert!(error.to_string().contains(&variable));
        }
    }
}
