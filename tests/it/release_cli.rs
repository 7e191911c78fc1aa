//! `kzero release …` on the API server in memory: what is printed, written and refused.

use kzero_testkit::{Kzero, MiniApi, Outcome, objects};
use serde_json::{Value, json};

use crate::kzero;

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: {{ .Values.color | quote }}, mode: {{ if .Release.IsUpgrade }}upgrade{{ else }}install{{ end }}}\n";

/// A chart of one ConfigMap with notes.
fn chart(api: &MiniApi) -> Kzero {
    kzero()
        .file(
            "web/Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 0.1.0\nappVersion: \"2.0\"\n",
        )
        .file("web/values.yaml", "color: red\n")
        .file("web/templates/map.yaml", MAP)
        .file(
            "web/templates/NOTES.txt",
            "The color is {{ .Values.color }}.\n",
        )
        .env("HELM_NAMESPACE", "shop")
        .cluster(api)
}

fn api() -> MiniApi {
    let api = MiniApi::start_blocking();
    api.apply(objects::namespace("shop"));
    api
}

fn release(place: &Kzero, words: &[&str]) -> Outcome {
    let mut arguments = vec!["release"];
    arguments.extend(words);
    place.run_with(arguments)
}

fn color(api: &MiniApi) -> Option<Value> {
    api.get("/api/v1/namespaces/shop/configmaps/settings")
        .map(|map| map["data"]["color"].clone())
}

/// The output with times of the clock taken out.
fn timeless(text: &str) -> String {
    text.lines()
        .map(|line| match line.split_once("LAST DEPLOYED: ") {
            Some((before, _)) => format!("{before}LAST DEPLOYED: (time)\n"),
            None => format!("{line}\n"),
        })
        .collect()
}

#[test]
fn an_install_prints_what_helm_prints() {
    let api = api();
    let place = chart(&api);
    let outcome = release(&place, &["install", "web", "./web"]);
    outcome.assert_code(0);
    assert_eq!(
        timeless(&outcome.stdout),
        "NAME: web\nLAST DEPLOYED: (time)\nNAMESPACE: shop\nSTATUS: deployed\nREVISION: 1\nTEST SUITE: None\nNOTES:\nThe color is red.\n"
    );
    assert_eq!(outcome.stderr, "");
    assert_eq!(color(&api), Some(json!("red")));
    release(&place, &["install", "web", "./web"])
        .assert_code(1)
        .assert_stderr("Error: INSTALLATION FAILED: cannot re-use a name that is still in use\nhint: `kzero release upgrade --install web CHART`");
}

#[test]
fn an_upgrade_says_so_and_installs_where_it_may() {
    let api = api();
    let place = chart(&api);
    release(&place, &["upgrade", "web", "./web"])
        .assert_code(1)
        .assert_stderr("Error: UPGRADE FAILED: \"web\" has no deployed releases\nhint: ");
    release(&place, &["upgrade", "-i", "web", "./web"])
        .assert_code(0)
        .assert_stdout(
            "Release \"web\" does not exist. Installing it now.\nNAME: web\nLAST DEPLOYED: ",
        );
    release(
        &place,
        &[
            "upgrade",
            "web",
            "./web",
            "--set",
            "color=blue",
            "--hide-notes",
        ],
    )
    .assert_code(0)
    .assert_stdout("Release \"web\" has been upgraded. Happy Helming!\nNAME: web\nLAST DEPLOYED: ")
    .assert_stdout("STATUS: deployed\nREVISION: 2\nTEST SUITE: None\n");
    assert_eq!(color(&api), Some(json!("blue")));
    // What was given last time counts where nothing is given, as in Helm.
    release(&place, &["upgrade", "web", "./web"]).assert_code(0);
    assert_eq!(color(&api), Some(json!("blue")));
    release(&place, &["upgrade", "web", "./web", "--reset-values"]).assert_code(0);
    assert_eq!(color(&api), Some(json!("red")));
    release(&place, &["upgrade", "web", "./web", "--skip-unchanged"])
        .assert_code(0)
        .assert_stderr("nothing would change: revision 4 stays\n");
    let json = release(&place, &["upgrade", "web", "./web", "-o", "json"]);
    let revision: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(revision["version"], 5);
    assert_eq!(revision["chart"]["metadata"]["name"], "web");
}

#[test]
fn records_are_shown_as_helm_shows_them() {
    let api = api();
    let place = chart(&api);
    release(
        &place,
        &[
            "install",
            "web",
            "./web",
            "--set",
            "color=blue",
            "-l",
            "team=a",
        ],
    )
    .assert_code(0);
    release(
        &place,
        &["upgrade", "web", "./web", "--description", "second"],
    )
    .assert_code(0);
    release(&place, &["status", "web", "--show-desc"])
        .assert_code(0)
        .assert_stdout("REVISION: 2\nDESCRIPTION: second\n");
    release(&place, &["status", "web", "--revision", "1"])
        .assert_stdout("STATUS: superseded\nREVISION: 1\n");
    release(&place, &["history", "web"])
        .assert_code(0)
        .assert_stdout("\tsuperseded\tweb-0.1.0\t2.0        \tInstall complete\n")
        .assert_stdout("\tdeployed  \tweb-0.1.0\t2.0        \tsecond          \n");
    let history = release(&place, &["history", "web", "--max", "1", "-o", "json"]);
    let rows: Value = serde_json::from_str(&history.stdout).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!(rows[0]["revision"], 2);
    release(&place, &["ls", "-q"])
        .assert_code(0)
        .assert_stdout("web\n");
    assert_eq!(release(&place, &["ls", "-q", "-l", "team=b"]).stdout, "");
    release(&place, &["list", "-A", "-f", "^we"]).assert_stdout("web \tshop     \t2       \t");
    assert_eq!(release(&place, &["list", "-q", "-n", "default"]).stdout, "");
    assert_eq!(
        release(&place, &["get", "values", "web"]).stdout,
        "USER-SUPPLIED VALUES:\ncolor: blue\n"
    );
    release(&place, &["get", "manifest", "web"])
        .assert_stdout("---\n# Source: web/templates/map.yaml\n");
    assert_eq!(
        release(&place, &["get", "notes", "web"]).stdout,
        "NOTES:\nThe color is blue.\n\n"
    );
    release(&place, &["get", "metadata", "web"])
        .assert_stdout("NAME: web\nCHART: web\nVERSION: 0.1.0\n");
    release(&place, &["get", "all", "web"]).assert_stdout("COMPUTED VALUES:\ncolor: blue\n");
    assert_eq!(release(&place, &["get", "hooks", "web"]).stdout, "");
    for words in [
        &["status", "none"][..],
        &["history", "none"],
        &["get", "values", "none"],
        &["status", "web", "--revision", "9"],
    ] {
        let outcome = release(&place, words);
        outcome
            .assert_code(1)
            .assert_stderr("Error: release: not found\nhint: `kzero release list --all` shows ");
    }
}

#[test]
fn a_rollback_and_an_uninstall_say_that_they_are_done() {
    let api = api();
    let place = chart(&api);
    release(&place, &["install", "web", "./web"]).assert_code(0);
    release(&place, &["upgrade", "web", "./web", "--set", "color=blue"]).assert_code(0);
    let rolled = release(&place, &["rollback", "web", "1"]);
    rolled.assert_code(0);
    assert_eq!(rolled.stdout, "Rollback was a success! Happy Helming!\n");
    assert_eq!(color(&api), Some(json!("red")));
    release(&place, &["rollback", "web", "9"])
        .assert_code(1)
        .assert_stderr("Error: release has no 9 version\nhint: its revisions are 1, 2, 3\n");
    release(&place, &["rollback", "web", "one"])
        .assert_code(1)
        .assert_stderr("Error: could not convert revision to a number: ");
    release(&place, &["uninstall", "web", "--cascade", "later"])
        .assert_code(1)
        .assert_stderr("Error: invalid cascade value (later). Must be \"background\", \"foreground\", or \"orphan\"\n");
    release(&place, &["uninstall", "web", "--dry-run"])
        .assert_code(0)
        .assert_stdout("release \"web\" uninstalled\n");
    assert_eq!(color(&api), Some(json!("red")));
    let gone = release(&place, &["uninstall", "web"]);
    gone.assert_code(0);
    assert_eq!(gone.stdout, "release \"web\" uninstalled\n");
    assert_eq!(color(&api), None);
    release(&place, &["uninstall", "web"])
        .assert_code(1)
        .assert_stderr("Error: uninstall: Release not loaded: web: release: not found\n");
    release(&place, &["uninstall", "web", "--ignore-not-found"])
        .assert_code(0)
        .assert_stdout("release \"web\" uninstalled\n");
}

#[test]
fn l15_a_kept_history_is_gone_on_from() {
    let api = api();
    let place = chart(&api);
    release(&place, &["install", "web", "./web", "--set", "color=blue"]).assert_code(0);
    release(&place, &["uninstall", "web", "--keep-history"]).assert_code(0);
    release(&place, &["uninstall", "web", "--keep-history"])
        .assert_code(1)
        .assert_stderr("Error: the release named \"web\" is already deleted\n");
    release(&place, &["ls", "-q", "--uninstalled"]).assert_stdout("web\n");
    release(&place, &["install", "web", "./web"])
        .assert_code(1)
        .assert_stderr("Error: INSTALLATION FAILED: cannot re-use a name that is still in use\n");
    release(&place, &["upgrade", "--install", "web", "./web"])
        .assert_code(0)
        .assert_stdout("Release \"web\" does not exist. Installing it now.\n")
        .assert_stdout("REVISION: 2\n");
    // What was uninstalled has no values any more.
    assert_eq!(color(&api), Some(json!("red")));
}

#[test]
fn a_dry_run_shows_everything_and_writes_nothing() {
    let api = api();
    let place = chart(&api).file(
        "web/templates/token.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: token}\nstringData: {token: hunter2}\n",
    );
    for mode in ["--dry-run", "--dry-run=client", "--dry-run=server"] {
        let outcome = release(&place, &["install", "web", "./web", mode, "--hide-secret"]);
        outcome
            .assert_code(0)
            .assert_stdout("STATUS: pending-install\nREVISION: 1\nTEST SUITE: None\nHOOKS:\nMANIFEST:\n---\n# Source: web/templates/token.yaml\n# HIDDEN: The Secret output has been suppressed\n---\n# Source: web/templates/map.yaml\n")
            .assert_stdout("NOTES:\nThe color is red.\n");
        assert!(!outcome.stdout.contains("hunter2"));
    }
    assert_eq!(color(&api), None);
    assert!(api.list("/api/v1/namespaces/shop/secrets").is_empty());
    release(&place, &["install", "web", "./web", "--hide-secret"])
        .assert_code(1)
        .assert_stderr(
            "Error: INSTALLATION FAILED: Hiding Kubernetes secrets requires a dry-run mode\n",
        );
    release(&place, &["install", "web", "./web", "--dry-run=maybe"])
        .assert_code(1)
        .assert_stderr("Invalid dry-run flag. Flag must one of the following: false, true, none, client, server\n");
}

#[test]
fn names_are_given_made_up_or_refused() {
    let api = api();
    let place = chart(&api);
    release(&place, &["install", "./web", "--generate-name"])
        .assert_code(0)
        .assert_stdout("NAME: web-");
    release(
        &place,
        &["uninstall", release(&place, &["ls", "-q"]).stdout.trim()],
    )
    .assert_code(0);
    release(
        &place,
        &["install", "./web", "--name-template", "{{ lower \"WEB\" }}"],
    )
    .assert_code(0)
    .assert_stdout("NAME: web\n");
    for (words, text) in [
        (
            &["install", "./web"][..],
            "Error: INSTALLATION FAILED: must either provide a name or specify --generate-name\n",
        ),
        (
            &["install", "Web_", "./web"],
            "Error: INSTALLATION FAILED: release name \"Web_\": invalid release name, must match regex",
        ),
        (
            &["upgrade", "Web_", "./web"],
            "Error: UPGRADE FAILED: release name is invalid: Web_\n",
        ),
        (
            &["rollback", "Web_"],
            "Error: prepareRollback: Release name is invalid: Web_\n",
        ),
        (
            &["status", "Web_"],
            "Error: releaseContent: Release name is invalid: Web_\n",
        ),
        (
            &["install", "a", "./none"],
            "Error: INSTALLATION FAILED: path \"./none\" not found\n",
        ),
        (
            &["install", "a", "./web", "--force", "--force-conflicts"],
            "Error: INSTALLATION FAILED: invalid operation: cannot use force conflicts and force replace together\n",
        ),
    ] {
        release(&place, words).assert_code(1).assert_stderr(text);
    }
}

#[test]
fn progress_is_told_where_it_is_asked_for() {
    let api = api();
    let place = chart(&api);
    release(&place, &["install", "web", "./web", "--progress", "plain"])
        .assert_code(0)
        .assert_stderr("revision 1: 1 of 1 objects change\n")
        .assert_stderr("create ConfigMap shop/settings: done in ");
    let outcome = release(&place, &["upgrade", "web", "./web", "--progress", "json"]);
    outcome.assert_code(0);
    for line in outcome.stderr.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (&line["kind"], &line["command"]),
            (&json!("release"), &json!("release"))
        );
        assert!(line["event"].is_string(), "{line}");
    }
    assert!(outcome.stderr.contains("\"event\":\"started\""));
}

#[test]
fn a_plan_names_fields_and_writes_nothing() {
    let api = api();
    let place = chart(&api).file(
        "web/templates/token.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: token}\ndata: {token: {{ .Values.color | b64enc }}}\n",
    );
    let plan = |words: &[&str]| {
        let mut all = vec!["plan", "web", "./web", "--detailed-exitcode"];
        all.extend(words);
        release(&place, &all)
    };
    plan(&[])
        .assert_code(2)
        .assert_stdout("install of release shop/web, revision 1\n")
        .assert_stdout("create ConfigMap shop/settings (main): it is not there\n")
        .assert_stdout("  + data:\n  +   color: red\n  +   mode: install\n")
        .assert_stdout("  +   token: '(hidden: 4 bytes, ")
        .assert_stdout("\n2 to create, 0 unchanged\n");
    release(&place, &["install", "web", "./web"]).assert_code(0);
    release(&place, &["upgrade", "web", "./web"]).assert_code(0);
    let before = api.writes().len();
    plan(&[])
        .assert_code(0)
        .assert_stdout("2 unchanged\nnothing would change\n");
    let blue = plan(&["--set", "color=blue"]);
    blue.assert_code(2)
        .assert_stdout("upgrade of release shop/web, revision 3\n")
        .assert_stdout("update ConfigMap shop/settings (main): the chart changed it\n  data.color: \"red\" -> \"blue\" (changed)\n")
        .assert_stdout("  data.token: ")
        .assert_stdout("(hidden: 8 bytes, ")
        .assert_stdout("2 to update, 0 unchanged\n");
    assert!(!blue.stdout.contains("cmVk"), "{}", blue.stdout);
    // Only the record would be another one.
    plan(&["--set", "other=1"])
        .assert_code(2)
        .assert_stdout("2 unchanged\nno object would change, but the record would: ");
    let json = plan(&["--set", "color=blue", "-o", "json"]);
    let preview: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(preview["purpose"], "upgrade");
    assert_eq!(preview["changed"], true);
    assert_eq!(preview["changes"].as_array().unwrap().len(), 2);
    assert_eq!(preview["changes"][0].get("body"), None);
    // What goes is shown too, and nothing secret of it.
    let none = place.file("web/templates/token.yaml", "");
    let gone = release(&none, &["plan", "web", "./web"]);
    gone.assert_stdout(
        "delete Secret shop/token (main): the chart no longer has it\n  - apiVersion: v1\n",
    )
    .assert_stdout("  -   token: '(hidden: 4 bytes, ");
    assert!(!gone.stdout.contains("cmVk"), "{}", gone.stdout);
    let gone = release(&none, &["plan", "web", "./web", "-o", "json"]);
    let preview: Value = serde_json::from_str(&gone.stdout).unwrap();
    assert_eq!(preview["changes"][0]["body"]["metadata"]["name"], "token");
    release(&none, &["plan", "web", "./web", "--graph", "dot"]).assert_stdout("digraph plan {\n");
    release(&none, &["plan", "web", "./none"])
        .assert_code(1)
        .assert_stderr("Error: path \"./none\" not found\n");
    assert_eq!(api.writes().len(), before);
}

#[test]
fn v07_each_flag_says_which_values_are_used_again() {
    let dump = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {values: {{ omit .Values \"global\" | toJson | quote }}}\n";
    for (flags, wanted) in [
        (&[][..], json!({"a": 2, "b": {"x": 9, "y": 5}, "c": "new"})),
        (&["--reuse-values"], json!({"a": 1, "b": {"x": 9}})),
        (
            &["--reset-then-reuse-values"],
            json!({"a": 2, "b": {"x": 9, "y": 5}, "c": "new"}),
        ),
        (
            &["--set", "a=3"],
            json!({"a": 3, "b": {"x": 1, "y": 5}, "c": "new"}),
        ),
        (
            &["--reset-values"],
            json!({"a": 2, "b": {"x": 1, "y": 5}, "c": "new"}),
        ),
    ] {
        let api = api();
        let mut place = kzero().env("HELM_NAMESPACE", "shop").cluster(&api);
        for (version, values) in [
            ("one", "a: 1\nb: {x: 1}\n"),
            ("two", "a: 2\nb: {x: 1, \"y\": 5}\nc: new\n"),
        ] {
            place = place
                .file(
                    &format!("{version}/Chart.yaml"),
                    "apiVersion: v2\nname: rv\nversion: 0.1.0\n",
                )
                .file(&format!("{version}/values.yaml"), values)
                .file(&format!("{version}/templates/dump.yaml"), dump);
        }
        release(&place, &["install", "rv", "./one", "--set", "b.x=9"]).assert_code(0);
        let mut words = vec!["upgrade", "rv", "./two"];
        words.extend(flags);
        release(&place, &words).assert_code(0);
        let map = api.get("/api/v1/namespaces/shop/configmaps/settings");
        let text = map.unwrap()["data"]["values"].as_str().unwrap().to_owned();
        let found: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(found, wanted, "{flags:?}");
    }
}

#[test]
fn flags_are_taken_as_scripts_for_helm_write_them() {
    let api = api();
    let place = chart(&api).env_remove("HELM_NAMESPACE");
    let words = [
        "-n",
        "other",
        "--debug",
        "upgrade",
        "web",
        "./web",
        "-n=shop",
        "--install=true",
        "--wait=false",
        "--atomic=false",
        "--force=false",
        "--timeout=1m30s",
        "--history-max=2",
        "--dry-run=false",
        "--burst-limit=100",
        "--disable-openapi-validation",
        "--create-namespace",
        "--set",
        "color=-1",
        "--description",
        "-",
    ];
    for _ in 0..3 {
        release(&place, &words).assert_code(0);
    }
    assert_eq!(color(&api), Some(json!("-1")));
    // Of three revisions two are kept.
    assert_eq!(api.list("/api/v1/namespaces/shop/secrets").len(), 2);
    let lines = place.run_with([
        "release",
        "status",
        "none",
        "-n",
        "shop",
        "--log-format",
        "json",
    ]);
    lines.assert_code(1);
    let error: Value = serde_json::from_str(lines.stderr.trim()).unwrap();
    assert_eq!(error["kind"], "error");
    let said = error["msg"].as_str().unwrap();
    assert!(
        said.starts_with("Error: release: not found\nhint: "),
        "{said}"
    );
}

#[test]
fn a_post_renderer_changes_what_is_deployed_and_nothing_else() {
    let api = api();
    let place = chart(&api)
        .file(
            "web/templates/hook.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, annotations: {helm.sh/hook: pre-install}}\ndata: {color: red}\n",
        )
        .script("green", "sed \"s/$1/$2/\"\n")
        .script("broken", "cat >/dev/null\necho no such color >&2\nexit 3\n")
        .script("odd", "echo '{'\n");
    let install = |words: &[&str]| {
        let mut all = vec!["install", "web", "./web"];
        all.extend(words);
        release(&place, &all)
    };
    let arguments = [
        "--post-renderer-args",
        "red",
        "--post-renderer-args",
        "green",
    ];
    install(&["--post-renderer", "./none"])
        .assert_code(1)
        .assert_stderr("Error: INSTALLATION FAILED: invalid argument \"./none\" for \"--post-renderer\" flag: unable to find binary at ./none: exec: \"./none\": stat ./none: no such file or directory\nhint: ");
    install(&["--post-renderer", "./broken"])
        .assert_code(1)
        .assert_stderr("Error: INSTALLATION FAILED: error while running post render on files: error while running command ")
        .assert_stderr("error output:\nno such color\n: exit status 3\n");
    install(&["--post-renderer", "./odd"]).assert_code(1);
    assert_eq!(color(&api), None);
    install(&[&["--post-renderer", "./green"][..], &arguments].concat()).assert_code(0);
    assert_eq!(color(&api), Some(json!("green")));
    let hook = api.get("/api/v1/namespaces/shop/configmaps/hook").unwrap();
    assert_eq!(hook["data"]["color"], "red");
    release(&place, &["get", "manifest", "web"])
        .assert_stdout("---\n# Source: web/templates/map.yaml\n")
        .assert_stdout("data: {color: \"green\", mode: install}");
    // The plan goes the same way.
    release(
        &place,
        &[
            &["plan", "web", "./web", "--post-renderer", "./green"][..],
            &arguments,
        ]
        .concat(),
    )
    .assert_stdout("data.mode: \"install\" -> \"upgrade\"")
    .assert_stdout("1 to update");
}

#[test]
fn records_in_memory_come_from_files() {
    let api = api();
    let data = "- name: web\n  namespace: shop\n  version: 1\n  info: {status: superseded, last_deployed: \"2026-01-02T03:04:05Z\"}\n  chart: {metadata: {name: web, version: 0.1.0}}\n- name: web\n  namespace: shop\n  version: 2\n  info: {status: deployed, last_deployed: \"2026-01-02T03:04:05Z\"}\n  chart: {metadata: {name: web, version: 0.2.0}}\n";
    let place = chart(&api)
        .file("data.yaml", data)
        .file("more.yaml", &data.replace("shop", "other"))
        .file("bad.yaml", "a: b\n")
        .env("HELM_DRIVER", "memory")
        .env("HELM_MEMORY_DRIVER_DATA", "data.yaml:more.yaml");
    release(&place, &["list", "-q"])
        .assert_code(0)
        .assert_stdout("web\n");
    let all = release(&place, &["list", "-A", "--no-headers"]);
    assert_eq!(all.stdout.lines().count(), 2, "{}", all.stdout);
    release(&place, &["history", "web"])
        .assert_code(0)
        .assert_stdout("web-0.2.0");
    release(&place, &["status", "web"]).assert_stdout("STATUS: deployed\nREVISION: 2\n");
    let bad = place.env("HELM_MEMORY_DRIVER_DATA", "bad.yaml");
    release(&bad, &["list"])
        .assert_code(1)
        .assert_stderr("Error: HELM_MEMORY_DRIVER_DATA: ")
        .assert_stderr("bad.yaml: unable to unmarshal: ")
        .assert_stderr("\nhint: each file is a YAML list of releases");
    assert!(
        api.writes()
            .iter()
            .all(|write| !format!("{write:?}").contains("sh.helm.release"))
    );
}

/// An object that waits for another one, which nobody makes.
const STUCK: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: late, annotations: {werf.io/deploy-dependency-never: \"state=present,kind=ConfigMap,version=v1,name=never,external=true\"}}\n";

/// Whether a terminal is left as it was found: nothing that clears the screen or leaves it, and a cursor that is seen.
fn assert_left_in_order(output: &str) {
    for code in [
        "\u{1b}[2J",
        "\u{1b}[3J",
        "\u{1b}[H",
        "\u{1b}c",
        "\u{1b}[?1049",
        "\u{1b}[?47",
    ] {
        assert!(!output.contains(code), "{output:?}");
    }
    let shown = output.rfind("\u{1b}[?25h");
    let hidden = output.rfind("\u{1b}[?25l");
    assert!(hidden <= shown, "{output:?}");
}

// S-14.52
#[test]
fn a_terminal_shows_a_table_and_is_left_in_order() {
    let api = api();
    let place = chart(&api).file("web/templates/web.yaml", STUCK).terminal();
    let row = "wait for ConfigMap never to be present";
    let failed = release(
        &place,
        &["install", "web", "./web", "--wait", "--timeout", "1s"],
    );
    failed
        .assert_code(1)
        .assert_stderr(row)
        .assert_stderr(" done");
    assert_left_in_order(&failed.stderr);
    // The error stands alone, below what was cleared.
    let (_, end) = failed
        .stderr
        .rsplit_once("Error: INSTALLATION FAILED: ")
        .unwrap();
    assert!(!end.contains('\u{1b}'), "{end:?}");

    let running = place.spawn_with(["release", "upgrade", "-i", "web", "./web", "--wait"]);
    running.wait_for_output(row);
    running.interrupt();
    let stopped = running.wait();
    stopped
        .assert_code(1)
        .assert_stdout("Release web has been cancelled.\n");
    assert_left_in_order(&stopped.stderr);

    let running = place.spawn_with(["release", "upgrade", "-i", "web", "./web", "--wait"]);
    running.wait_for_output(row);
    running.interrupt();
    running.interrupt();
    assert_left_in_order(&running.wait().stderr);

    let place = place.file("web/templates/web.yaml", "");
    let done = release(&place, &["upgrade", "-i", "web", "./web"]);
    done.assert_code(0);
    assert_left_in_order(&done.stderr);
}
