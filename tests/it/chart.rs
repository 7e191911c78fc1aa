//! `chart template`: flags, order, and what is written where.

use kzero_testkit::Kzero;

fn bare() -> Kzero {
    Kzero::new(env!("CARGO_BIN_EXE_kzero")).env("KUBECONFIG", "/nonexistent/kubeconfig")
}

fn web() -> Kzero {
    bare()
        .file(
            "web/Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 1.0.0\n",
        )
        .file("web/values.yaml", "a: 1\nb: {c: 2}\n")
        .file("web/crds/things.yaml", "kind: CustomResourceDefinition\n")
        .file("web/templates/NOTES.txt", "Hello\n")
        .file(
            "web/templates/one.yaml",
            "kind: ConfigMap\nvalues: {{ .Values | toJson }}\nrelease: {{ .Release | toJson }}\n",
        )
        .file(
            "web/templates/sub/two.yaml",
            "kind: Service\n---\nkind: Secret\n",
        )
        .file(
            "web/templates/test.yaml",
            "kind: Pod\nmetadata: {name: t, annotations: {helm.sh/hook: test}}\n",
        )
        .file(
            "web/templates/hook.yaml",
            "kind: Job\nmetadata: {name: h, annotations: {helm.sh/hook: \"pre-install,pre-upgrade\"}}\n",
        )
}

/// What is printed with these arguments behind `chart template`.
fn printed(place: &Kzero, arguments: &[&str]) -> String {
    let mut all = vec!["chart", "template"];
    all.extend(arguments);
    let outcome = place.run_with(all);
    outcome.assert_code(0);
    outcome.stdout.clone()
}

#[test]
fn manifests_come_by_kind_and_hooks_behind_them() {
    let place = web();
    let values = "values: {\"a\":1,\"b\":{\"c\":2}}";
    let release = "release: {\"IsInstall\":true,\"IsUpgrade\":false,\"Name\":\"release-name\",\"Namespace\":\"default\",\"Revision\":1,\"Service\":\"Helm\"}";
    assert_eq!(
        printed(&place, &["web"]),
        format!(
            "---\n# Source: web/templates/sub/two.yaml\nkind: Secret\n---\n# Source: web/templates/one.yaml\nkind: ConfigMap\n{values}\n{release}\n---\n# Source: web/templates/sub/two.yaml\nkind: Service\n---\n# Source: web/templates/test.yaml\nkind: Pod\nmetadata: {{name: t, annotations: {{helm.sh/hook: test}}}}\n---\n# Source: web/templates/hook.yaml\nkind: Job\nmetadata: {{name: h, annotations: {{helm.sh/hook: \"pre-install,pre-upgrade\"}}}}\n"
        )
    );
    let text = printed(&place, &["web", "--skip-tests"]);
    assert!(
        !text.contains("kind: Pod") && text.contains("kind: Job"),
        "{text}"
    );
    let text = printed(&place, &["web", "--no-hooks"]);
    assert!(
        !text.contains("kind: Pod") && !text.contains("kind: Job"),
        "{text}"
    );
}

#[test]
fn the_release_is_what_flags_and_variables_say() {
    let place = web();
    let text = printed(&place, &["shop", "web", "-n", "east", "--is-upgrade"]);
    assert!(
        text.contains(
            "\"IsInstall\":false,\"IsUpgrade\":true,\"Name\":\"shop\",\"Namespace\":\"east\""
        ),
        "{text}"
    );
    let place = web().env("HELM_NAMESPACE", "west");
    assert!(printed(&place, &["web"]).contains("\"Namespace\":\"west\""));
    let text = printed(&place, &["web", "--name-template", "a-{{ \"B\" | lower }}"]);
    assert!(text.contains("\"Name\":\"a-b\""), "{text}");
    let outcome = place.run_with(["chart", "template", "Shop", "web"]);
    outcome
        .assert_code(1)
        .assert_stderr("Error: release name \"Shop\": invalid release name");
    let outcome = place.run_with(["chart", "template", "a", "b", "c"]);
    outcome
        .assert_code(1)
        .assert_stderr("Error: expected at most two arguments, unexpected arguments: c");
}

#[test]
fn values_are_put_together_in_helms_order_whatever_the_order_of_flags() {
    // S-13.4: files, JSON, plain, strings, contents of files, literals.
    let place = web()
        .file("one.yaml", "b: {c: 3, d: 4}\ne: [1, 2]\n")
        .file("two.yaml", "b: {d: 5}\ne: [3]\n")
        .file("content.txt", "line\n");
    let text = printed(
        &place,
        &[
            "web",
            "--set-literal",
            "g=x,y=z",
            "--set-string",
            "a=7",
            "--set",
            "a=6,h=10000000",
            "--set-json",
            "j={\"k\":[1,2.5]}",
            "--set-file",
            "f=content.txt",
            "-f",
            "one.yaml,two.yaml",
        ],
    );
    assert!(
        text.contains("values: {\"a\":\"7\",\"b\":{\"c\":3,\"d\":5},\"e\":[3],\"f\":\"line\\n\",\"g\":\"x,y=z\",\"h\":10000000,\"j\":{\"k\":[1,2.5]}}"),
        "{text}"
    );
    let place = place.stdin("a: from stdin\n");
    assert!(printed(&place, &["web", "-f", "-"]).contains("\"a\":\"from stdin\""));
    for (arguments, said) in [
        (
            ["-f", "none.yaml"],
            "open none.yaml: no such file or directory",
        ),
        (
            ["--set", "a"],
            "failed parsing --set data: key \"a\" has no value",
        ),
        (["--set-json", "a={"], "failed parsing --set-json data a={"),
    ] {
        let outcome = place.run_with(["chart", "template", "web", arguments[0], arguments[1]]);
        outcome
            .assert_code(1)
            .assert_stderr(&format!("Error: {said}"));
    }
}

#[test]
fn only_what_is_asked_for_is_shown() {
    let place = web();
    let text = printed(
        &place,
        &[
            "web",
            "-s",
            "templates/sub/*.yaml",
            "--show-only",
            "templates/hook.yaml",
        ],
    );
    assert_eq!(
        text,
        "---\n# Source: web/templates/sub/two.yaml\nkind: Secret\n---\n# Source: web/templates/sub/two.yaml\nkind: Service\n---\n# Source: web/templates/hook.yaml\nkind: Job\nmetadata: {name: h, annotations: {helm.sh/hook: \"pre-install,pre-upgrade\"}}\n"
    );
    let outcome = place.run_with(["chart", "template", "web", "-s", "templates/none.yaml"]);
    outcome
        .assert_code(1)
        .assert_stderr("Error: could not find template templates/none.yaml in chart");
    assert_eq!(outcome.stdout, "");
    let text = printed(&place, &["web", "--include-crds"]);
    assert!(
        text.starts_with(
            "---\n# Source: web/crds/things.yaml\nkind: CustomResourceDefinition\n\n---\n"
        ),
        "{text}"
    );
}

#[test]
fn files_are_written_to_a_folder_when_one_is_given() {
    let place = web();
    let text = printed(
        &place,
        &[
            "shop",
            "web",
            "--output-dir",
            "out",
            "--release-name",
            "--include-crds",
        ],
    );
    assert_eq!(
        text,
        "wrote out/web/crds/things.yaml\nwrote out/shop/web/templates/sub/two.yaml\nwrote out/shop/web/templates/one.yaml\nwrote out/shop/web/templates/sub/two.yaml\nwrote out/shop/web/templates/test.yaml\nwrote out/shop/web/templates/hook.yaml\n\n"
    );
    assert_eq!(
        place.read("out/shop/web/templates/sub/two.yaml"),
        "---\n# Source: web/templates/sub/two.yaml\nkind: Secret\n---\n# Source: web/templates/sub/two.yaml\nkind: Service\n"
    );
    // A second time the files are new again.
    printed(
        &place,
        &["shop", "web", "--output-dir", "out", "--release-name"],
    );
    assert_eq!(
        place
            .read("out/shop/web/templates/sub/two.yaml")
            .matches("Secret")
            .count(),
        1
    );
}

#[test]
fn a_chart_that_fails_says_where_and_prints_nothing_but_when_asked() {
    let place = web().file("web/templates/bad.yaml", "a: 1\n b: 2\n");
    let outcome = place.run_with(["chart", "template", "web"]);
    outcome.assert_code(1).assert_stderr(
        "Error: YAML parse error on web/templates/bad.yaml: error converting YAML to JSON: yaml: line 2: mapping values are not allowed in this context\n\nUse --debug flag to render out invalid YAML",
    );
    assert_eq!(outcome.stdout, "");
    let outcome = place.run_with(["chart", "template", "web", "--debug"]);
    outcome
        .assert_code(1)
        .assert_stderr("Error: YAML parse error on web/templates/bad.yaml");
    assert!(
        outcome
            .stdout
            .contains("# Source: web/templates/bad.yaml\na: 1\n b: 2")
    );
}

#[test]
fn a_version_of_kubernetes_is_read_and_compared() {
    let place = web().file(
        "web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.0.0\nkubeVersion: \">=1.30.0\"\n",
    );
    printed(&place, &["web", "--kube-version", "v1.33"]);
    let outcome = place.run_with(["chart", "template", "web", "--kube-version", "1.29.9"]);
    outcome.assert_code(1).assert_stderr(
        "Error: chart requires kubeVersion: >=1.30.0 which is incompatible with Kubernetes v1.29.9\n",
    );
    let outcome = place.run_with(["chart", "template", "web", "--kube-version", "x"]);
    outcome
        .assert_code(1)
        .assert_stderr("Error: invalid kube version 'x': could not parse \"x\" as version");
}

#[test]
fn c11_an_unquoted_y_stays_one() {
    let place = bare()
        .file("w/Chart.yaml", "apiVersion: v2\nname: w\nversion: 1.0.0\n")
        .file("w/templates/a.yaml", "image: {{ .Values.image }}\n");
    let text = printed(&place, &["w", "--set", "image=y"]);
    assert_eq!(text, "---\n# Source: w/templates/a.yaml\nimage: y\n");
}

#[test]
fn c05_a_hook_with_an_unknown_event_is_dropped_with_a_warning() {
    let place = bare()
        .file("w/Chart.yaml", "apiVersion: v2\nname: w\nversion: 1.0.0\n")
        .file(
            "w/templates/a.yaml",
            "kind: ConfigMap\nmetadata: {name: a, annotations: {helm.sh/hook: pre-instal}}\n---\nkind: Job\nmetadata: {name: b, annotations: {helm.sh/hook: \"post-install , POST-upgrade\", helm.sh/hook-weight: abc}}\n",
        );
    let outcome = place.run_with(["chart", "template", "w"]);
    outcome
        .assert_code(0)
        .assert_stderr("info: skipping unknown hook: \"pre-instal\"");
    assert!(outcome.stdout.contains("name: b") && !outcome.stdout.contains("name: a,"));
}

#[test]
fn flags_that_helm_takes_and_that_change_nothing_are_taken() {
    let place = web();
    let plain = printed(&place, &["web"]);
    let many = [
        "web",
        "--create-namespace",
        "--wait",
        "--timeout",
        "5m",
        "--atomic",
        "--skip-crds",
        "--labels",
        "a=b",
        "--description",
        "text",
        "--kube-context",
        "nowhere",
        "--repository-cache",
        "/nonexistent",
        "--disable-openapi-validation",
    ];
    assert_eq!(printed(&place, &many), plain);
}

#[test]
fn the_namespace_is_that_of_the_context_when_nothing_else_names_one() {
    let kubeconfig = "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: c, cluster: {server: \"https://127.0.0.1:1\"}}]\nusers: [{name: u, user: {token: t}}]\ncontexts:\n  - {name: a, context: {cluster: c, user: u, namespace: alpha}}\n  - {name: b, context: {cluster: c, user: u, namespace: beta}}\n";
    let place = web().file("kubeconfig", kubeconfig);
    let path = place.path("kubeconfig");
    let place = place.env("KUBECONFIG", path);
    assert!(printed(&place, &["web"]).contains("\"Namespace\":\"alpha\""));
    let text = printed(&place, &["web", "--kube-context", "b"]);
    assert!(text.contains("\"Namespace\":\"beta\""));
    let place = place.env("HELM_KUBECONTEXT", "b");
    assert!(printed(&place, &["web"]).contains("\"Namespace\":\"beta\""));
}

#[test]
fn helms_own_words_are_not_masked() {
    let place = web();
    let outcome = place.run_with(["chart", "template", "web", "--set", "a=1,a.b=2"]);
    outcome.assert_code(1).assert_stderr(
        "Error: failed parsing --set data: unable to parse key: interface conversion: interface {} is int64, not map[string]interface {}",
    );
}

#[test]
fn a_kubeconfig_without_end_is_no_kubeconfig() {
    let place = web().env("KUBECONFIG", "/dev/zero");
    let text = printed(&place, &["web"]);
    assert!(text.contains("\"Namespace\":\"default\""));
    let outcome = place.run_with(["chart", "template", "web", "--validate"]);
    outcome
        .assert_code(1)
        .assert_stderr("Error: kubeconfig /dev/zero: a device, or larger than 64 MiB");
}

#[test]
fn missing_dependencies_stop_before_anything_is_rendered() {
    let place = web().file(
        "web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: gone, version: 1.0.0, repository: \"\"}]\n",
    );
    let outcome = place.run_with(["chart", "template", "web"]);
    outcome.assert_code(1).assert_stderr(
        "Error: An error occurred while checking for chart dependencies. You may need to run `helm dependency build` to fetch missing dependencies: found in Chart.yaml, but missing in charts/ directory: gone",
    );
}

#[test]
fn flags_may_be_written_as_helm_takes_them() {
    let place = web();
    let plain = printed(&place, &["web"]);
    for flags in [
        ["--include-crds=false", "--skip-tests=F"],
        ["--include-crds", "--include-crds=0"],
        ["--name-template", ""],
        ["--values", ""],
        ["--output-dir", ""],
        ["--ca-file", ""],
        ["--password", "-secret"],
        ["--version=1", "--version=2"],
    ] {
        assert_eq!(printed(&place, &["web", flags[0], flags[1]]), plain);
    }
    let text = printed(&place, &["web", "--include-crds=true", "--include-crds"]);
    assert!(text.contains("CustomResourceDefinition"), "{text}");

    let outcome = place.run_with(["chart", "template", "web", "--include-crds=maybe"]);
    outcome.assert_code(1);
    assert!(outcome.stdout.is_empty());
    assert!(
        outcome.stderr.contains("--include-crds"),
        "{}",
        outcome.stderr
    );
    let help = place.run_with(["chart", "template", "--help"]).stdout;
    assert!(!help.contains("--include-crds["), "{help}");
}

#[test]
fn files_without_an_end_are_no_values() {
    let place = web();
    for (flags, error) in [
        (
            ["-f", "/dev/zero"],
            "read /dev/zero: larger than 67108864 bytes",
        ),
        (["-f", "web"], "read web: is a directory"),
        (
            ["-f", "web/values.yaml,"],
            "open : no such file or directory",
        ),
        (
            ["--set-file", "a=/dev/zero"],
            "failed parsing --set-file data: read /dev/zero: larger than 67108864 bytes",
        ),
    ] {
        let outcome = place.run_with(["chart", "template", "web", flags[0], flags[1]]);
        outcome.assert_code(1);
        assert_eq!(outcome.stderr, format!("Error: {error}\n"));
    }
}
