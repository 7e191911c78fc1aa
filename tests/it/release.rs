//! Native release steps on the API server in memory: what is read, said, written and refused.

use kzero_testkit::{Kzero, MiniApi, objects};
use serde_json::json;

use crate::{dry, kzero, live};

const STEPS: &str = "helm: {workspace: charts}\npipelines:\n  down:\n    - release.shop/web\n  up:\n    - release.shop/web\n";
const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: {{ .Values.color | quote }}, release: {{ .Release.Name }}}\n";

/// A chart of one ConfigMap with its release manifest.
fn shop(profile: &str, manifest: &str) -> Kzero {
    kzero()
        .profile(profile)
        .file("charts/web.yaml", manifest)
        .file(
            "charts/web/Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 0.1.0\n",
        )
        .file("charts/web/values.yaml", "color: red\n")
        .file("charts/web/templates/map.yaml", MAP)
}

#[test]
fn a_native_release_step_is_planned_with_what_manifest_and_step_say() {
    let manifest = "chart: ./web\nversion: \"1.2.3\"\ntimeout: 10m\ncreate_namespace: true\n";
    shop(&live(STEPS), manifest)
        .args(["analyze"])
        .run()
        .assert_code(0)
        .assert_stdout("  0: release.shop/web (helm uninstall --wait --ignore-not-found)\n")
        .assert_stdout(
            "  0: release.shop/web (helm upgrade --install (sdk), chart=./web, version=1.2.3, wait, create-namespace, timeout=10m0s)\n",
        );
    let api = MiniApi::start_blocking();
    shop(&dry(STEPS), manifest)
        .cluster(&api)
        .args(["reset"])
        .run()
        .assert_code(0)
        .assert_stdout("[dry-run] helm uninstall shop/web (--wait --ignore-not-found)")
        .assert_stdout("[dry-run] helm sdk upgrade --install shop/web (chart=./web, version=1.2.3, wait, create-namespace, timeout=10m0s)");
    assert!(api.writes().is_empty(), "{:?}", api.writes());
}

#[test]
fn up_installs_and_upgrades_and_down_uninstalls() {
    // S-5.4, S-5.5, S-5.12
    let api = MiniApi::start_blocking();
    api.apply(objects::namespace("shop"));
    let up = |manifest: &str| {
        shop(&live(STEPS), manifest)
            .file("charts/blue.yaml", "color: blue\n")
            .cluster(&api)
            .args(["up"])
            .run()
    };
    up("chart: ./web\n")
        .assert_code(0)
        .assert_stdout("release.shop/web: revision 1 is deployed\n");
    let color = || {
        api.get("/api/v1/namespaces/shop/configmaps/settings")
            .map(|map| map["data"]["color"].clone())
    };
    assert_eq!(color(), Some(json!("red")));
    up("chart: ./web\nvalues_files: [blue.yaml]\n")
        .assert_code(0)
        .assert_stdout("revision 2, 1 of 1 objects change\n");
    assert_eq!(color(), Some(json!("blue")));
    // Values of an earlier revision are never used again.
    up("chart: ./web\nvalues: {color: null}\n").assert_code(0);
    up("chart: ./web\n")
        .assert_code(0)
        .assert_stdout("revision 4 is deployed\n");
    assert_eq!(color(), Some(json!("red")));
    up("chart: ./web\nskip_unchanged: true\n")
        .assert_code(0)
        .assert_stdout("nothing would change, no revision made\n");
    let down = || {
        shop(&live(STEPS), "chart: ./web\n")
            .cluster(&api)
            .args(["down"])
            .run()
    };
    down().assert_code(0);
    assert_eq!(color(), None);
    assert!(api.list("/api/v1/namespaces/shop/secrets").is_empty());
    down()
        .assert_code(0)
        .assert_stdout("release shop/web is not installed, nothing to do\n");
}

#[test]
fn what_cannot_be_deployed_is_refused_before_anything_is_written() {
    let api = MiniApi::start_blocking();
    let up = |manifest: &str| {
        shop(&live(STEPS), manifest)
            .cluster(&api)
            .args(["up"])
            .run()
    };
    // S-5.11
    up("chart: ./web\n")
        .assert_code(3)
        .assert_stderr("namespace shop does not exist\nhint: create it first, or have it created with create_namespace: true");
    api.apply(objects::namespace("shop"));
    up("chart: repo/web\n")
        .assert_code(3)
        .assert_stderr("a chart is a path under helm.workspace here");
    up("chart: ./web\nvalues_files: [none.yaml]\n")
        .assert_code(3)
        .assert_stderr("open none.yaml: no such file or directory");
    // S-5.15
    api.apply(objects::configmap("shop", "settings", &[]));
    up("chart: ./web\n")
        .assert_code(3)
        .assert_stderr("Unable to continue with install: ConfigMap \"settings\" in namespace \"shop\" exists and cannot be imported into the current release: invalid ownership metadata; label validation error: missing key \"app.kubernetes.io/managed-by\"");
    assert!(api.list("/api/v1/namespaces/shop/secrets").is_empty());
    up("chart: ./web\ntake_ownership: true\n").assert_code(0);
}

#[test]
fn analyze_names_each_field_that_would_change_and_hides_secrets() {
    let api = MiniApi::start_blocking();
    api.apply(objects::namespace("shop"));
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\nstringData: {pin: {{ .Values.color }}-4711}\n";
    let typo = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: t, annotations: {helm.sh/hook: pre-instal}}\n";
    let place = |manifest: &str| {
        shop(&live(STEPS), manifest)
            .file("charts/web/templates/secret.yaml", secret)
            .file("charts/web/templates/typo.yaml", typo)
            .cluster(&api)
    };
    place("chart: ./web\n").args(["up"]).run().assert_code(0);
    api.clear_requests();
    let outcome = place("chart: ./web\nvalues: {color: blue}\n")
        .args(["analyze"])
        .run();
    outcome
        .assert_code(0)
        .assert_stdout("  release.shop/web: upgrade to revision 2, 2 of 2 objects change\n")
        .assert_stdout("    update ConfigMap shop/settings (the chart changed it)\n")
        .assert_stdout("      data.color: \"red\" -> \"blue\"\n")
        .assert_stdout("    update Secret shop/keys (the chart changed it)\n")
        // S-5.14
        .assert_stderr(
            "warning: up[0] release.shop/web: info: skipping unknown hook: \"pre-instal\"",
        );
    let text = outcome.stdout_texts().join("\n");
    for part in ["4711", "cmVkLTQ3MTE", "Ymx1ZS00NzEx"] {
        assert!(!text.contains(part), "{text}");
    }
    assert!(api.writes().is_empty(), "{:?}", api.writes());
    // What a run would refuse is a warning here.
    place("chart: ./none\n")
        .args(["analyze"])
        .run()
        .assert_code(0)
        .assert_stderr("warning: up[0] release.shop/web: chart ./none: there is no ");
}
