//! `chart lint`, `chart show` and `chart package`: what they print and leave behind. Each rule and each part of a
//! chart is met in the tests of kzero-chart.

use std::fs;

use kzero_chart::load;
use kzero_testkit::{Kzero, Outcome};

const CHART: &[(&str, &str)] = &[
    (
        "web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.2.3\nappVersion: \"4\"\n",
    ),
    ("web/values.yaml", "a: 1 # kept\n"),
    (
        "web/templates/a.yaml",
        "metadata:\n  name: x-{{ required \"no b\" .Values.b }}\n",
    ),
    ("web/README.md", "# Web\n"),
    ("web/crds/c.yaml", "kind: Thing\n"),
];

fn with(files: &[(&str, &str)]) -> Kzero {
    let mut kzero = crate::kzero();
    for (path, text) in files {
        kzero = kzero.file(path, text);
    }
    kzero
}

fn run(kzero: &Kzero, words: &str) -> Outcome {
    kzero.run_with(["chart"].into_iter().chain(words.split(' ')))
}

#[test]
fn lint_prints_what_it_finds_and_passes_on_warnings() {
    let outcome = run(&with(CHART), "lint web --kube-version 1.30");
    outcome.assert_code(0);
    let text = outcome.stdout;
    assert!(
        text.starts_with(
            "==> Linting web\n[INFO] Chart.yaml: icon is recommended\n[WARNING] templates/a.yaml: object name does not conform"
        ),
        "{text}"
    );
    assert!(
        text.ends_with("\n\n1 chart(s) linted, 0 chart(s) failed\n"),
        "{text}"
    );
    assert!(outcome.stderr.contains("Missing required value: no b"));
}

#[test]
fn strict_lint_fails_on_warnings() {
    let outcome = run(&with(CHART), "lint web --strict");
    outcome.assert_code(1);
    assert!(!outcome.stdout.contains("linted"));
    assert!(
        outcome
            .stderr
            .ends_with("Error: 1 chart(s) linted, 1 chart(s) failed\n")
    );
    run(&with(CHART), "lint web --strict --set b=c").assert_code(0);
}

#[test]
fn quiet_lint_says_nothing_of_good_charts() {
    let outcome = run(&with(CHART), "lint web --quiet --set b=c");
    outcome.assert_code(0);
    assert_eq!(outcome.stdout, "");
    let outcome = run(&with(CHART), "lint web nowhere --quiet --set b=c");
    outcome.assert_code(1);
    assert_eq!(
        outcome.stdout,
        "==> Linting nowhere\nError unable to check Chart.yaml file in chart: stat nowhere/Chart.yaml: no such file or directory\n\n"
    );
}

#[test]
fn lint_goes_into_the_charts_within() {
    let db = [("web/charts/db/Chart.yaml", "apiVersion: v2\nname: db\n")];
    let files = [CHART, &db].concat();
    let outcome = run(&with(&files), "lint ./web --with-subcharts --set b=c");
    outcome.assert_code(1);
    let text = outcome.stdout;
    assert!(
        text.contains("\n==> Linting web/charts/db\n[ERROR] Chart.yaml: version is required\n"),
        "{text}"
    );
}

#[test]
fn show_prints_the_parts_of_a_chart() {
    let chart = "apiVersion: v2\nappVersion: \"4\"\nname: web\nversion: 1.2.3\n\n";
    for (part, text) in [
        ("chart", chart.to_owned()),
        ("values", "a: 1 # kept\n\n".to_owned()),
        ("readme", "# Web\n\n".to_owned()),
        ("crds", "kind: Thing\n\n".to_owned()),
        (
            "all",
            format!("{chart}---\na: 1 # kept\n\n---\n# Web\n\n---\nkind: Thing\n\n"),
        ),
    ] {
        let outcome = run(&with(CHART), &format!("show {part} ./web"));
        outcome.assert_code(0);
        assert_eq!(outcome.stdout, text, "{part}");
    }
    let outcome = run(&with(CHART), "show all ./nowhere");
    outcome.assert_code(1);
    assert_eq!(outcome.stderr, "Error: path \"./nowhere\" not found\n");
}

#[test]
fn package_writes_an_archive_that_loads_again() {
    let kzero = with(CHART);
    let folder = kzero.dir();
    let words = "package web -d out/deep --version 2.0.0 --app-version 5";
    let outcome = run(&kzero, words);
    outcome.assert_code(0);
    assert_eq!(
        outcome.stdout,
        "Successfully packaged chart and saved it to: out/deep/web-2.0.0.tgz\n"
    );
    let archive = folder.join("out/deep/web-2.0.0.tgz");
    let packed = load::archive(&archive).unwrap();
    let mut chart = load::dir(&folder.join("web")).unwrap();
    chart.metadata.version = "2.0.0".to_owned();
    chart.metadata.app_version = "5".to_owned();
    assert_eq!(packed, chart);
    let names: Vec<_> = fs::read_dir(archive.parent().unwrap()).unwrap().collect();
    assert_eq!(names.len(), 1, "nothing else is left");
}

#[test]
fn the_same_chart_and_date_make_the_same_archive() {
    let pack = || {
        let kzero = with(CHART).env("SOURCE_DATE_EPOCH", "1700000000");
        let archive = kzero.dir().join("web-1.2.3.tgz");
        let outcome = run(&kzero, "package web");
        outcome.assert_code(0);
        let shown = archive.canonicalize().unwrap();
        assert!(
            outcome
                .stdout
                .ends_with(&format!(": {}\n", shown.display()))
        );
        fs::read(archive).unwrap()
    };
    assert_eq!(pack(), pack());
}

#[test]
fn package_refuses_what_it_cannot_do() {
    let needy = "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: db, version: 1, repository: ''}]\n";
    for (words, error) in [
        (
            "package web",
            "found in Chart.yaml, but missing in charts/ directory: db",
        ),
        ("package nowhere", "stat nowhere: no such file or directory"),
        ("package web --version x", "invalid semantic version"),
        (
            "package web --sign",
            "--sign is not supported: kzero does not sign charts, which needs OpenPGP",
        ),
        (
            "package",
            "need at least one argument, the path to the chart",
        ),
    ] {
        let outcome = run(&with(&[("web/Chart.yaml", needy)]), words);
        outcome.assert_code(1);
        assert_eq!(
            outcome.stderr.to_lowercase(),
            format!("error: {error}\n").to_lowercase()
        );
    }
    let kzero = with(CHART).env("SOURCE_DATE_EPOCH", "soon");
    let outcome = run(&kzero, "package web");
    outcome.assert_code(1);
    assert_eq!(
        outcome.stderr,
        "Error: SOURCE_DATE_EPOCH is no number of seconds: \"soon\"\n"
    );
}
