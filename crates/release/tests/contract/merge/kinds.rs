//! Objects of several kinds that a server accepts, in many variants.

use std::time::Duration;

use kzero_testkit::{ControlPlane, Namespace};
use serde_json::{Map, Value, json};

/// Small numbers that pick among variants.
#[derive(Debug, Clone)]
pub(super) struct Choices(pub(super) Vec<u8>);

impl Choices {
    fn pick(&self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or_default()
    }

    /// A map with a key for every bit of a choice.
    fn texts(&self, at: usize, other: usize) -> Value {
        let bits = self.pick(at);
        let names = ["a", "b/c"]
            .iter()
            .enumerate()
            .filter(|(bit, _)| bits >> bit & 1 == 1);
        names
            .map(|(_, name)| ((*name).to_owned(), json!(format!("v{}", self.pick(other)))))
            .collect()
    }
}

type Build = fn(&str, &Choices) -> Value;

/// A collection's path below `/apis`, and how to build an object of it.
pub(super) const ALL: [((&str, &str), Build); 6] = [
    (("apis/apps/v1", "deployments"), deployment),
    (("apis/apps/v1", "statefulsets"), stateful_set),
    (("api/v1", "services"), service),
    (("api/v1", "configmaps"), config_map),
    (("apis/networking.k8s.io/v1", "ingresses"), ingress),
    (("apis/merge.example.org/v1", "widgets"), widget),
];

pub(super) fn collection(space: &Namespace<'_>, (group, plural): &(&str, &str)) -> String {
    space.path(group, plural)
}

fn metadata(name: &str, choices: &Choices) -> Value {
    let mut metadata = json!({"name": name, "labels": {"app": "m"}});
    let annotations = choices.texts(0, 1);
    if annotations != json!({}) {
        metadata["annotations"] = annotations;
    }
    metadata
}

fn some(fields: &[(&str, Option<Value>)]) -> Value {
    let there = fields
        .iter()
        .filter_map(|(name, value)| Some(((*name).to_owned(), value.clone()?)));
    Value::Object(there.collect::<Map<_, _>>())
}

/// One of a few values, or none.
fn one_of(values: &[Value], choice: u8) -> Option<Value> {
    values.get(usize::from(choice)).cloned()
}

/// Those values whose bit is set; in the other order for the highest choice.
fn many_of(values: &[Value], choice: u8) -> Option<Value> {
    let mut chosen: Vec<Value> = values
        .iter()
        .enumerate()
        .filter(|(bit, _)| choice >> bit & 1 == 1)
        .map(|(_, value)| value.clone())
        .collect();
    if choice == 3 && values.len() == 2 {
        chosen.reverse();
    }
    (!chosen.is_empty()).then_some(Value::Array(chosen))
}

fn pod(choices: &Choices) -> Value {
    let pick = |at| choices.pick(at);
    let env = [
        json!({"name": "A", "value": format!("{}", pick(2))}),
        json!({"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}),
    ];
    let ports = [
        json!({"containerPort": 53, "protocol": "UDP"}),
        json!({"containerPort": 53, "name": "tcp"}),
    ];
    let probes = [
        json!({"httpGet": {"path": "/", "port": 80}}),
        json!({"exec": {"command": ["x"]}, "periodSeconds": 7}),
        json!({"tcpSocket": {"port": 80}}),
    ];
    let limits = [
        json!({"limits": {"cpu": "1000m"}}),
        json!({"limits": {"cpu": 1, "memory": "1Gi"}}),
    ];
    let app = some(&[
        ("name", Some(json!("app"))),
        ("image", Some(json!(format!("app:{}", pick(3))))),
        ("env", many_of(&env, pick(4))),
        ("ports", many_of(&ports, pick(5))),
        ("livenessProbe", one_of(&probes, pick(6))),
        ("resources", one_of(&limits, pick(7))),
    ]);
    let second = json!({"name": "second", "image": "s:1", "args": [format!("{}", pick(8))]});
    let volumes = [
        json!({"name": "v", "emptyDir": {}}),
        json!({"name": "v", "configMap": {"name": "c"}}),
        json!({"name": "w", "emptyDir": {"sizeLimit": "1024Mi"}}),
    ];
    let containers = match pick(9) {
        0 | 1 => json!([app]),
        2 => json!([app, second]),
        _ => json!([second, app]),
    };
    some(&[
        ("containers", Some(containers)),
        (
            "volumes",
            one_of(&volumes, pick(10)).map(|volume| json!([volume])),
        ),
        (
            "nodeSelector",
            one_of(
                &[
                    json!({"none": "such"}),
                    json!({"none": "other", "such": "1"}),
                ],
                pick(11),
            ),
        ),
        (
            "tolerations",
            one_of(&[json!([{"key": "t", "operator": "Exists"}])], pick(12)),
        ),
        (
            "terminationGracePeriodSeconds",
            one_of(&[json!(0), json!(5)], pick(13)),
        ),
    ])
}

fn template(choices: &Choices) -> Value {
    json!({"metadata": {"labels": {"app": "m"}}, "spec": pod(choices)})
}

pub(super) fn deployment(name: &str, choices: &Choices) -> Value {
    let strategies = [
        json!({"type": "Recreate"}),
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}),
        json!({"rollingUpdate": {"maxUnavailable": "50%"}}),
    ];
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(name, choices),
        "spec": some(&[
            ("replicas", one_of(&[json!(0), json!(1), json!(2)], choices.pick(14))),
            ("strategy", one_of(&strategies, choices.pick(15))),
            ("selector", Some(json!({"matchLabels": {"app": "m"}}))),
            ("template", Some(template(choices))),
        ]),
    })
}

fn stateful_set(name: &str, choices: &Choices) -> Value {
    let strategies = [
        json!({"type": "OnDelete"}),
        json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}),
    ];
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata(name, choices),
        "spec": some(&[
            ("serviceName", Some(json!("m"))),
            ("replicas", one_of(&[json!(0), json!(1)], choices.pick(14))),
            ("updateStrategy", one_of(&strategies, choices.pick(15))),
            ("selector", Some(json!({"matchLabels": {"app": "m"}}))),
            ("template", Some(template(choices))),
            ("volumeClaimTemplates", Some(json!([{"metadata": {"name": "d"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]))),
        ]),
    })
}

fn service(name: &str, choices: &Choices) -> Value {
    let ports = [
        json!({"name": "http", "port": 80, "targetPort": choices.pick(3) + 8}),
        json!({"name": "dns", "port": 53, "protocol": "UDP"}),
    ];
    let ports = many_of(&ports, choices.pick(4).max(1));
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(name, choices),
        "spec": some(&[
            ("selector", one_of(&[json!({"app": "m"}), json!({"app": "n", "x": "y"})], choices.pick(5) % 2)),
            ("ports", ports),
            ("type", one_of(&[json!("ClusterIP"), json!("NodePort")], choices.pick(6))),
            ("sessionAffinity", one_of(&[json!("ClientIP"), json!("None")], choices.pick(7))),
            ("externalIPs", many_of(&[json!("192.0.2.1"), json!("192.0.2.2")], choices.pick(8))),
        ]),
    })
}

fn config_map(name: &str, choices: &Choices) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(name, choices),
        "data": some(&[
            ("a", one_of(&[json!("1"), json!("2")], choices.pick(2))),
            ("b.txt", one_of(&[json!("x\n"), json!("")], choices.pick(3))),
        ]),
        "binaryData": some(&[("z", one_of(&[json!("AA=="), json!("AQ==")], choices.pick(4)))]),
    })
}

fn ingress(name: &str, choices: &Choices) -> Value {
    let backend = |port: Value| json!({"service": {"name": "m", "port": port}});
    let rule = |host: &str| json!({"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend(json!({"number": 80}))}]}});
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": metadata(name, choices),
        "spec": some(&[
            ("ingressClassName", one_of(&[json!("x"), json!("y")], choices.pick(2))),
            ("defaultBackend", Some(backend(if choices.pick(3) < 2 { json!({"number": 80}) } else { json!({"name": "http"}) }))),
            ("rules", many_of(&[rule("a.example.org"), rule("b.example.org")], choices.pick(4))),
            ("tls", one_of(&[json!([{"hosts": ["a.example.org"], "secretName": "t"}])], choices.pick(5))),
        ]),
    })
}

fn widget(name: &str, choices: &Choices) -> Value {
    json!({
        "apiVersion": "merge.example.org/v1",
        "kind": "Widget",
        "metadata": metadata(name, choices),
        "spec": some(&[
            ("size", one_of(&[json!(1), json!(2), json!("x")], choices.pick(2))),
            ("list", many_of(&[json!({"name": "a", "v": choices.pick(3)}), json!({"name": "b"})], choices.pick(4))),
            ("deep", one_of(&[json!({"x": {"y": 1}}), json!({"x": {"z": [1]}}), json!({})], choices.pick(5))),
            ("on", one_of(&[json!(true), json!(false)], choices.pick(6))),
        ]),
    })
}

/// Makes the server know widgets.
pub(super) fn install_widgets(plane: &ControlPlane) {
    plane.apply(&json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.merge.example.org"},
        "spec": {
            "group": "merge.example.org",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    }));
    let served = |found: &Value| {
        found["resources"]
            .as_array()
            .is_some_and(|found| !found.is_empty())
    };
    plane.wait_until(
        "/apis/merge.example.org/v1",
        Duration::from_secs(30),
        served,
    );
}

type Immutable = (&'static str, &'static str, Value, Value, Vec<&'static str>);

/// Objects, a change that their server refuses, and the fields it is about.
pub(super) fn immutables() -> Vec<Immutable> {
    let plain = Choices(vec![0; 16]);
    let pod = json!({"containers": [{"name": "a", "image": "a:1"}], "restartPolicy": "Never"});
    let claim =
        json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    let object = |version: &str, kind: &str, rest: Value| {
        let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "i"}});
        json_patch::merge(&mut object, &rest);
        object
    };
    vec![
        (
            "apis/apps/v1",
            "deployments",
            deployment("i", &plain),
            json!({"spec": {"selector": {"matchLabels": {"app": "n"}}, "template": {"metadata": {"labels": {"app": "n"}}}}}),
            vec!["spec.selector"],
        ),
        (
            "apis/apps/v1",
            "statefulsets",
            stateful_set("i", &plain),
            json!({"spec": {"replicas": 3, "serviceName": "n"}}),
            vec!["spec.serviceName"],
        ),
        (
            "apis/batch/v1",
            "jobs",
            object(
                "batch/v1",
                "Job",
                json!({"spec": {"template": {"spec": pod}}}),
            ),
            json!({"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "a:2"}]}}}}),
            vec!["spec.template"],
        ),
        (
            "api/v1",
            "services",
            object("v1", "Service", json!({"spec": {"ports": [{"port": 80}]}})),
            json!({"spec": {"clusterIP": "None"}}),
            vec!["spec.clusterIPs[0]"],
        ),
        (
            "api/v1",
            "persistentvolumeclaims",
            object("v1", "PersistentVolumeClaim", json!({"spec": claim})),
            json!({"spec": {"volumeName": "other", "accessModes": ["ReadWriteMany"]}}),
            vec!["spec.accessModes", "spec.volumeName"],
        ),
        (
            "api/v1",
            "configmaps",
            object(
                "v1",
                "ConfigMap",
                json!({"immutable": true, "data": {"a": "1"}}),
            ),
            json!({"data": {"a": "2"}}),
            vec!["data"],
        ),
        (
            "api/v1",
            "secrets",
            object("v1", "Secret", json!({"type": "Opaque"})),
            json!({"type": "example.org/x"}),
            vec!["type"],
        ),
        (
            "apis/rbac.authorization.k8s.io/v1",
            "rolebindings",
            object(
                "rbac.authorization.k8s.io/v1",
                "RoleBinding",
                json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"}}),
            ),
            json!({"roleRef": {"name": "b"}}),
            vec!["roleRef"],
        ),
    ]
}
