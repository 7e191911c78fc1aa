//! Release steps of the real binary: parked and woken, and killed at every write.

use kzero_testkit::{ControlPlane, Fault, FaultProxy, Kzero, Namespace, Rule};
use serde_json::{Value, json};

use crate::{is_long, kzero, live, through, until};

const STEPS: &str = "helm: {workspace: charts}\npipelines:\n  down:\n    - release.NS/web\n  up:\n    - release.NS/web\n";

/// A version that the API server refuses in the midst: no port of a Service is called so. It is deployed atomically.
const REFUSED: &str = "REFUSED";

/// A chart of eleven objects, a hook and a definition of a kind, in two versions.
fn templates(group: &str) -> Vec<(String, String)> {
    let crd = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.{group}}}\nspec:\n  group: {group}\n  scope: Namespaced\n  names: {{kind: Thing, plural: things, singular: thing}}\n  versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}]\n"
    );
    let maps = "{{- range until 5 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: map-{{ . }}}\ndata: {version: {{ $.Values.version | quote }}}\n{{- end }}\n";
    let only = "{{- if eq .Values.version \"one\" }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: only-one}\n{{- else }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: only-two}\n{{- end }}\n";
    let rest = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: token}}\nstringData: {{token: {{{{ .Values.version }}}}}}\n---\napiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec: {{selector: {{app: web}}, ports: [{{port: 80, name: {{{{ .Values.version }}}}}}]}}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: 1\n  selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}, annotations: {{version: {{{{ .Values.version }}}}}}}}\n    spec: {{containers: [{{name: app, image: example/app}}]}}\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: web}}\n---\napiVersion: {group}/v1\nkind: Thing\n# The garbage collector looks for new kinds every 30 s; until then nothing of them goes with its dependants first.\nmetadata: {{name: thing, annotations: {{werf.io/delete-propagation: Background}}}}\nspec: {{version: {{{{ .Values.version }}}}}}\n"
    );
    let hook = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations: {helm.sh/hook: \"pre-install,pre-upgrade\", helm.sh/hook-delete-policy: \"before-hook-creation,hook-succeeded\"}\nspec:\n  template:\n    spec: {restartPolicy: Never, containers: [{name: a, image: example/a}]}\n";
    let file = |name: &str, text: &str| (format!("charts/web/{name}"), text.to_owned());
    vec![
        file("Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n"),
        file("crds/things.yaml", &crd),
        file("templates/maps.yaml", maps),
        file("templates/only.yaml", only),
        file("templates/rest.yaml", &rest),
        file("templates/hook.yaml", hook),
    ]
}

fn group(space: &Namespace<'_>) -> String {
    format!("{space}.example.org")
}

fn with_chart(mut place: Kzero, space: &Namespace<'_>, version: &str) -> Kzero {
    let atomic = version == REFUSED;
    place = place.profile(&live(space, STEPS)).file(
        "charts/web.yaml",
        &format!("chart: ./web\nvalues: {{version: {version}}}\natomic: {atomic}\ntimeout: 60s\n"),
    );
    for (path, text) in templates(&group(space)) {
        place = place.file(&path, &text);
    }
    place
}

/// What matters of all objects of the namespace, and the status of the newest revision.
fn state(plane: &ControlPlane, space: &Namespace<'_>) -> Value {
    let list = |version: &str, plural: &str| -> Vec<Value> {
        let root = if version.contains('/') { "apis" } else { "api" };
        let mut found: Vec<Value> = plane
            .list(&space.path(&format!("{root}/{version}"), plural))
            .iter()
            .filter(|object| {
                object["metadata"]["name"] != "kube-root-ca.crt"
                    && object["metadata"]["name"] != "default"
            })
            .map(|object| {
                json!([
                    object["metadata"]["name"],
                    object["metadata"]["annotations"]["meta.helm.sh/release-name"],
                    object["data"],
                    object["spec"]["replicas"],
                    object["spec"]["template"]["metadata"]["annotations"],
                    object["spec"]["ports"][0]["name"],
                    object["spec"]["version"],
                ])
            })
            .collect();
        found.sort_by_key(ToString::to_string);
        found
    };
    let secrets: Vec<Value> = list("v1", "secrets")
        .into_iter()
        .filter(|secret| !secret[0].as_str().unwrap().starts_with("sh.helm."))
        .collect();
    json!({
        "maps": list("v1", "configmaps"),
        "secrets": secrets,
        "services": list("v1", "services"),
        "accounts": list("v1", "serviceaccounts"),
        "deployments": list("apps/v1", "deployments"),
        "jobs": list("batch/v1", "jobs"),
        "things": plane.get(&space.path(&format!("apis/{}/v1", group(space)), "things/thing")).map(|thing| thing["spec"].clone()),
        "leases": list("coordination.k8s.io/v1", "leases"),
    })
}

/// Status by revision, by the labels of the records.
fn statuses(plane: &ControlPlane, space: &Namespace<'_>) -> Vec<String> {
    let mut found: Vec<(i64, String)> = plane
        .list(&space.path("api/v1", "secrets"))
        .iter()
        .filter(|secret| secret["type"] == "helm.sh/release.v1")
        .map(|secret| {
            let labels = &secret["metadata"]["labels"];
            let number = labels["version"].as_str().unwrap().parse().unwrap();
            (number, labels["status"].as_str().unwrap().to_owned())
        })
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, status)| status).collect()
}

fn run(
    plane: &ControlPlane,
    space: &Namespace<'_>,
    version: &str,
    command: &str,
) -> kzero_testkit::Outcome {
    let outcome = with_chart(kzero(plane, space), space, version)
        .args([command])
        .run();
    outcome.assert_code(0);
    outcome
}

/// Runs a command and kills it when its n-th write has had its effect. `false` when it has fewer.
fn killed_at(
    plane: &ControlPlane,
    space: &Namespace<'_>,
    version: &str,
    command: &[&str],
    n: usize,
) -> bool {
    let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
    proxy.add(Rule::new(Fault::HoldAnswer).writes().nth(n));
    let place = with_chart(through(&proxy, space), space, version).args(command);
    let running = place.spawn();
    let mut ended = false;
    until("the write or the end", || {
        ended = running.has_ended();
        ended || proxy.held() > 0
    });
    let held = proxy.held() > 0;
    if held {
        running.kill9();
    }
    drop(running.wait());
    held
}

fn forget_kind(plane: &ControlPlane, space: &Namespace<'_>) {
    let _ = plane.request(
        "DELETE",
        &format!(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{}",
            group(space)
        ),
        &Value::Null,
    );
}

/// The points of death: all of them in the long lane, every fifth otherwise.
fn points() -> impl Iterator<Item = usize> {
    (1..).step_by(if is_long() { 1 } else { 5 })
}

#[test]
fn an_environment_with_a_release_is_parked_and_woken() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("release");
    run(&plane, &space, "one", "up");
    let awake = state(&plane, &space);
    assert_eq!(awake["maps"].as_array().unwrap().len(), 6);
    assert_eq!(statuses(&plane, &space), ["deployed"]);
    // The hook's Job was deleted once it had succeeded, and the lock is given back.
    assert_eq!((&awake["jobs"], &awake["leases"]), (&json!([]), &json!([])));
    run(&plane, &space, "one", "down");
    assert_eq!(state(&plane, &space)["maps"], json!([]));
    assert!(statuses(&plane, &space).is_empty());
    run(&plane, &space, "one", "up");
    assert_eq!(state(&plane, &space), awake);
    forget_kind(&plane, &space);
}

#[test]
fn an_install_that_is_killed_anywhere_is_finished_by_the_next_up() {
    let plane = ControlPlane::attach();
    let mut wanted = Value::Null;
    for n in points() {
        let space = plane.namespace("die");
        let died = killed_at(&plane, &space, "one", &["up"], n);
        if died {
            run(&plane, &space, "one", "up");
        }
        // Names of namespaces are in no part of the state.
        let found = state(&plane, &space);
        if wanted.is_null() {
            let undisturbed = plane.namespace("live");
            run(&plane, &undisturbed, "one", "up");
            wanted = state(&plane, &undisturbed);
            forget_kind(&plane, &undisturbed);
        }
        assert_eq!(found, wanted, "killed at write {n}");
        assert_eq!(
            statuses(&plane, &space).last().map(String::as_str),
            Some("deployed"),
            "{n}"
        );
        forget_kind(&plane, &space);
        if !died {
            return;
        }
    }
}

#[test]
fn an_upgrade_that_is_killed_anywhere_is_finished_by_the_next_up() {
    let plane = ControlPlane::attach();
    let mut wanted = Value::Null;
    for n in points() {
        let space = plane.namespace("die");
        run(&plane, &space, "one", "up");
        let died = killed_at(&plane, &space, "two", &["up"], n);
        if died {
            let pending = statuses(&plane, &space)
                .iter()
                .any(|status| status == "pending-upgrade");
            let outcome = run(&plane, &space, "two", "up");
            if pending {
                outcome.assert_stdout("was left pending-upgrade by process ");
            }
        }
        let found = state(&plane, &space);
        if wanted.is_null() {
            let undisturbed = plane.namespace("live");
            run(&plane, &undisturbed, "one", "up");
            run(&plane, &undisturbed, "two", "up");
            wanted = state(&plane, &undisturbed);
            forget_kind(&plane, &undisturbed);
        }
        assert_eq!(found, wanted, "killed at write {n}");
        let statuses = statuses(&plane, &space);
        assert_eq!(
            statuses
                .iter()
                .filter(|status| *status == "deployed")
                .count(),
            1,
            "{n}: {statuses:?}"
        );
        assert_eq!(statuses.last().map(String::as_str), Some("deployed"), "{n}");
        forget_kind(&plane, &space);
        if !died {
            return;
        }
    }
}

/// What a death of `command`, begun after `before` was brought up, leaves for the next `up` of version `one`, at every point: the
/// objects of that version, and one deployed revision, the newest.
fn mends_to_one(before: &[&str], version: &str, command: &[&str], pending: &[&str]) {
    let plane = ControlPlane::attach();
    let undisturbed = plane.namespace("live");
    run(&plane, &undisturbed, "one", "up");
    let wanted = state(&plane, &undisturbed);
    forget_kind(&plane, &undisturbed);
    let mut seen = Vec::new();
    for n in points() {
        let space = plane.namespace("die");
        for version in before {
            run(&plane, &space, version, "up");
        }
        let died = killed_at(&plane, &space, version, command, n);
        if died {
            let left = statuses(&plane, &space);
            let left = left.iter().find(|status| status.starts_with("pending-"));
            let outcome = run(&plane, &space, "one", "up");
            if let Some(left) = left {
                outcome.assert_stdout(&format!("was left {left} by process "));
                seen.push(left.clone());
            }
        }
        assert_eq!(state(&plane, &space), wanted, "killed at write {n}");
        let statuses = statuses(&plane, &space);
        let deployed = |status: &&String| *status == "deployed";
        assert_eq!(
            statuses.iter().filter(deployed).count(),
            1,
            "{n}: {statuses:?}"
        );
        assert_eq!(statuses.last().map(String::as_str), Some("deployed"), "{n}");
        forget_kind(&plane, &space);
        if !died {
            break;
        }
    }
    for status in pending {
        assert!(
            seen.iter().any(|seen| seen == status),
            "never {status}: {seen:?}"
        );
    }
}

#[test]
fn a_rollback_that_is_killed_anywhere_is_finished_by_the_next_up() {
    let rollback = ["release", "rollback", "web", "1", "--wait"];
    mends_to_one(&["one", "two"], "two", &rollback, &["pending-rollback"]);
}

#[test]
fn an_atomic_upgrade_that_is_killed_anywhere_is_finished_by_the_next_up() {
    let pending = ["pending-upgrade", "pending-rollback"];
    mends_to_one(&["one"], REFUSED, &["up"], &pending);
}

#[test]
fn an_uninstall_that_is_killed_anywhere_is_finished_by_the_next_down() {
    let plane = ControlPlane::attach();
    for n in points() {
        let space = plane.namespace("die");
        run(&plane, &space, "one", "up");
        let died = killed_at(&plane, &space, "one", &["down"], n);
        if died {
            run(&plane, &space, "one", "down");
        }
        let left = state(&plane, &space);
        for kind in [
            "maps",
            "secrets",
            "services",
            "accounts",
            "deployments",
            "leases",
        ] {
            assert_eq!(left[kind], json!([]), "{kind} after a death at write {n}");
        }
        assert!(statuses(&plane, &space).is_empty(), "{n}");
        forget_kind(&plane, &space);
        if !died {
            return;
        }
    }
}

#[test]
fn a_proxy_without_rules_changes_nothing() {
    // What holds the tests above together: writes are counted, and nothing is held by chance.
    let plane = ControlPlane::attach();
    let space = plane.namespace("count");
    assert!(!killed_at(&plane, &space, "one", &["up"], 10_000));
    assert_eq!(statuses(&plane, &space), ["deployed"]);
    forget_kind(&plane, &space);
}

#[test]
fn a_flaky_api_leaves_nothing_that_the_next_up_does_not_mend() {
    let plane = ControlPlane::attach();
    let undisturbed = plane.namespace("live");
    run(&plane, &undisturbed, "one", "up");
    run(&plane, &undisturbed, "two", "up");
    let wanted = state(&plane, &undisturbed);
    forget_kind(&plane, &undisturbed);
    let faults = [
        ("reset", Fault::Reset),
        ("lose", Fault::LoseAnswer),
        ("429", Fault::retry_after(429, 1)),
        ("409", Fault::status(409)),
        ("500", Fault::status(500)),
    ];
    for (place, (name, fault)) in faults.into_iter().enumerate() {
        let space = plane.namespace("flaky");
        run(&plane, &space, "one", "up");
        let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
        // Each fault at other writes, and at some reads: every seventh request from the third on.
        let counts: Vec<_> = (0..4)
            .map(|n| proxy.add(Rule::new(fault.clone()).nth(3 + place + 7 * n)))
            .collect();
        let retrying = format!("retry: {{attempts: 4, delay: 10ms}}\n{STEPS}");
        let outcome = with_chart(through(&proxy, &space), &space, "two")
            .profile(&live(&space, &retrying))
            .args(["up"])
            .run();
        assert!([0, 3].contains(&outcome.code), "{name}: {outcome:?}");
        assert!(
            counts.iter().any(|count| count.hit() > 0),
            "{name} happened to no request"
        );
        if outcome.code == 0 {
            assert_eq!(state(&plane, &space), wanted, "{name}");
        }
        run(&plane, &space, "two", "up");
        assert_eq!(state(&plane, &space), wanted, "{name}");
        let statuses = statuses(&plane, &space);
        assert_eq!(
            statuses
                .iter()
                .filter(|status| *status == "deployed")
                .count(),
            1,
            "{name}: {statuses:?}"
        );
        forget_kind(&plane, &space);
    }
}

#[test]
fn a_release_asks_at_most_twice_for_each_object() {
    // Besides what is asked once a command: discovery, namespace, Lease, records, and a list for each kind.
    const COUNT: usize = 120;
    let plane = ControlPlane::attach();
    let space = plane.namespace("asks");
    let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
    let template = format!(
        "{{{{- range until {COUNT} }}}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: map-{{{{ . }}}}}}\ndata: {{color: {{{{ $.Values.color }}}}}}\n{{{{- end }}}}\n"
    );
    let place = |color: &str| {
        through(&proxy, &space)
            .profile(&live(&space, STEPS))
            .file(
                "charts/web.yaml",
                &format!("chart: ./web\nvalues: {{color: {color}}}\n"),
            )
            .file(
                "charts/web/Chart.yaml",
                "apiVersion: v2\nname: web\nversion: 0.1.0\n",
            )
            .file("charts/web/templates/maps.yaml", &template)
    };
    for (command, color, writes) in [
        ("up", "red", COUNT),
        ("up", "red", 0),
        ("up", "green", COUNT),
        ("down", "green", COUNT),
    ] {
        proxy.clear_requests();
        place(color).run_with([command]).assert_code(0);
        let requests = proxy.requests();
        let written = requests
            .iter()
            .filter(|request| request.method != "GET" && request.path.contains("/configmaps"))
            .count();
        assert_eq!(written, writes, "{command} {color}");
        let rest = requests.len() - written;
        assert!(rest < 40, "{command} {color}: {rest} others");
    }
}
