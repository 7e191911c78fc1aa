//! Charts rendered with a real control plane at hand.

use kzero_testkit::{ControlPlane, Kzero};
use serde_json::json;

use crate::{bare, kzero};

fn with_chart(place: Kzero, template: &str) -> Kzero {
    place
        .file(
            "web/Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 1.0.0\n",
        )
        .file("web/templates/a.yaml", template)
}

#[test]
fn capabilities_are_those_of_the_cluster_when_it_validates() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("chart-caps");
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: caps}\ndata:\n  kind: {{ .Capabilities.APIVersions.Has \"apps/v1/Deployment\" | quote }}\n  scale: {{ .Capabilities.APIVersions.Has \"autoscaling/v1/Scale\" | quote }}\n  group: {{ .Capabilities.APIVersions.Has \"apps/v1\" | quote }}\n  none: {{ .Capabilities.APIVersions.Has \"apps/v1/Nothing\" | quote }}\n  version: {{ .Capabilities.KubeVersion.Version | quote }}\n";
    let place = with_chart(kzero(&plane, &space), template);
    let outcome = place.run_with(["chart", "template", "r", "web", "--validate"]);
    let (_, version) = plane.request("GET", "/version", &json!(null));
    let version = version["gitVersion"].as_str().unwrap().to_owned();
    outcome
        .assert_code(0)
        .assert_stdout("kind: \"true\"")
        .assert_stdout("group: \"true\"")
        .assert_stdout("none: \"false\"")
        .assert_stdout(&format!("version: \"{version}\""));
    // Without it nobody is asked, and kinds are not known.
    let outcome = place.run_with(["chart", "template", "r", "web"]);
    outcome
        .assert_code(0)
        .assert_stdout("kind: \"false\"")
        .assert_stdout("version: \"v1.36.0\"");
}

#[test]
fn lookup_finds_what_is_in_the_cluster_only_when_it_may() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("chart-lookup");
    plane.apply(&json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "known", "namespace": space.name()},
        "data": {"word": "hello"}
    }));
    let template = "{{- $one := lookup \"v1\" \"ConfigMap\" .Release.Namespace \"known\" }}\n{{- $none := lookup \"v1\" \"ConfigMap\" .Release.Namespace \"unknown\" }}\n{{- $all := lookup \"v1\" \"ConfigMap\" .Release.Namespace \"\" }}\n{{- $odd := lookup \"apps/v1\" \"Nothing\" \"\" \"x\" }}\nkind: Found\none: {{ dig \"data\" \"word\" \"nothing\" $one }}\nnone: {{ len $none }}\nnames: {{ range $all.items }}{{ .metadata.name }},{{ end }}\nkinds: {{ (first ($all.items | default (list dict))).kind }}\nodd: {{ len $odd }}\n";
    let place = with_chart(kzero(&plane, &space), template);
    let outcome = place.run_with(["chart", "template", "r", "web", "--dry-run=server"]);
    outcome
        .assert_code(0)
        .assert_stdout("one: hello")
        .assert_stdout("none: 0")
        .assert_stdout("known,")
        .assert_stdout("kinds: ConfigMap")
        .assert_stdout("odd: 0");
    let outcome = place.run_with(["chart", "template", "r", "web"]);
    outcome.assert_code(0).assert_stdout("one: nothing");
    let place = with_chart(
        kzero(&plane, &space),
        "{{ lookup \"no.example/v1\" \"Thing\" \"\" \"x\" }}\n",
    );
    let outcome = place.run_with(["chart", "template", "r", "web", "--dry-run=server"]);
    outcome.assert_code(1).assert_stderr(
        "unable to get apiresource from unstructured: no.example/v1, Kind=Thing: the server could not find the requested resource",
    );
}

#[test]
fn what_cannot_be_installed_is_told_before_anything_is_printed() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("chart-validate");
    let place = with_chart(
        kzero(&plane, &space),
        "apiVersion: no.example/v1\nkind: Thing\nmetadata: {name: x}\n",
    );
    let outcome = place.run_with(["chart", "template", "r", "web", "--validate"]);
    outcome.assert_code(1).assert_stderr(
        "unable to build kubernetes objects from release manifest: resource mapping not found for name: \"x\" namespace: \"\" from \"\": no matches for kind \"Thing\" in version \"no.example/v1\"\nensure CRDs are installed first",
    );
    assert_eq!(outcome.stdout_texts(), Vec::<String>::new());

    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine}\n";
    let place = with_chart(kzero(&plane, &space), map);
    let validate = ["chart", "template", "r", "web", "--validate"];
    place.run_with(validate).assert_code(0);
    let mut object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "mine", "namespace": space.name()}
    });
    plane.apply(&object);
    let outcome = place.run_with(validate);
    outcome.assert_code(1).assert_stderr(&format!(
        "Unable to continue with install: ConfigMap \"mine\" in namespace \"{space}\" exists and cannot be imported into the current release: invalid ownership metadata; label validation error: missing key \"app.kubernetes.io/managed-by\": must be set to \"Helm\"",
    ));
    let upgrade = [
        "chart",
        "template",
        "r",
        "web",
        "--validate",
        "--is-upgrade",
    ];
    place.run_with(upgrade).assert_code(0);
    object["metadata"]["labels"] = json!({"app.kubernetes.io/managed-by": "Helm"});
    object["metadata"]["annotations"] = json!({
        "meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": space.name()
    });
    plane.apply(&object);
    place.run_with(validate).assert_code(0);
}

#[test]
fn a_cluster_that_is_not_there_is_told() {
    let place = with_chart(bare(), "a: 1\n").env("KUBECONFIG", "/nonexistent/kubeconfig");
    let outcome = place.run_with(["chart", "template", "r", "web", "--validate"]);
    outcome.assert_code(1).assert_stderr("Error: ");
}
