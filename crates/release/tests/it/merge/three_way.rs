//! The decided merge, case by case.

use kzero_release::merge::{Patch, apply_patch, three_way};
use serde_json::{Value, json};

use super::{body, deployment, lines, pods, schema_of};

/// One row: earlier manifests, the new one, the live object; the object that should come of it.
struct Row {
    previous: Vec<Value>,
    next: Value,
    live: Value,
}

impl Row {
    /// Merges, and checks what holds for every merge: that the patch does what it should, and that merging again after
    /// it changes nothing.
    fn merge(&self) -> (Value, Vec<String>) {
        let schema = schema_of(&self.next);
        let merge = three_way(&self.previous, &self.next, &self.live, schema);
        assert_eq!(
            merge.patch.is_none(),
            merge.changes.is_empty(),
            "{:?}",
            merge.changes
        );
        let lines = lines(&merge);
        let merged = match &merge.patch {
            Some(patch) => apply_patch(&self.live, patch, schema),
            None => self.live.clone(),
        };
        let again = three_way(
            std::slice::from_ref(&self.next),
            &self.next,
            &merged,
            schema,
        );
        assert_eq!(body(&again), Value::Null);
        (merged, lines)
    }

    fn gives(&self, wanted: &Value, changes: &[&str]) {
        let (merged, lines) = self.merge();
        assert_eq!(lines, changes);
        assert_eq!(&merged, wanted, "{merged:#}");
    }
}

fn replicas(count: impl Into<Value>) -> Value {
    deployment(&json!({"replicas": count.into()}))
}

fn unset() -> Value {
    deployment(&json!({}))
}

#[test]
fn l01_a_size_that_the_chart_did_not_change_stays_as_it_lives() {
    // An autoscaler's ten and a parked zero alike.
    for live in [5, 10, 0] {
        let row = Row {
            previous: vec![replicas(2)],
            next: replicas(2),
            live: replicas(live),
        };
        row.gives(&replicas(live), &[]);
    }
}

#[test]
fn l01_a_size_that_the_chart_changed_wins() {
    for live in [5, 10, 0] {
        let row = Row {
            previous: vec![replicas(2)],
            next: replicas(4),
            live: replicas(live),
        };
        row.gives(&replicas(4), &["set spec.replicas changed"]);
    }
}

#[test]
fn l03_a_size_that_is_not_in_the_chart_stays() {
    for live in [7, 0] {
        let row = Row {
            previous: vec![unset()],
            next: unset(),
            live: replicas(live),
        };
        row.gives(&replicas(live), &[]);
    }
}

#[test]
fn a_value_that_only_a_failed_revision_set_is_undone() {
    let image = |image: &str| pods(&json!({"containers": [{"name": "app", "image": image}]}));
    let row = Row {
        previous: vec![image("app:1"), image("app:bad")],
        next: image("app:1"),
        live: image("app:bad"),
    };
    row.gives(
        &image("app:1"),
        &["set spec.template.spec.containers[name=app].image changed"],
    );
}

#[test]
fn what_a_failed_revision_added_is_removed() {
    let row = Row {
        previous: vec![unset(), replicas(3)],
        next: unset(),
        live: replicas(3),
    };
    row.gives(&unset(), &["remove spec.replicas removed"]);
}

#[test]
fn without_a_past_every_field_is_set_and_foreign_ones_stay() {
    let mut live = replicas(9);
    live["metadata"]["annotations"] = json!({"by": "hand"});
    let mut wanted = replicas(2);
    wanted["metadata"]["annotations"] = json!({"by": "hand"});
    let row = Row {
        previous: vec![],
        next: replicas(2),
        live,
    };
    row.gives(&wanted, &["set spec.replicas new"]);
}

#[test]
fn a_live_value_that_is_already_right_needs_no_request() {
    let row = Row {
        previous: vec![replicas(2)],
        next: replicas(4),
        live: replicas(4),
    };
    row.gives(&replicas(4), &[]);
}

#[test]
fn elements_and_labels_of_others_stay_when_own_ones_come_and_go() {
    let pod = |containers: Value| pods(&json!({"containers": containers}));
    let row = Row {
        previous: vec![pod(
            json!([{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]),
        )],
        next: pod(json!([{"name": "c", "image": "c:1"}, {"name": "a", "image": "a:2"}])),
        live: pod(json!([
            {"name": "a", "image": "a:1", "terminationMessagePath": "/dev/x"},
            {"name": "b", "image": "b:1"},
            {"name": "sidecar", "image": "s:1"},
        ])),
    };
    row.gives(
        &pod(json!([
            {"name": "c", "image": "c:1"},
            {"name": "a", "image": "a:2", "terminationMessagePath": "/dev/x"},
            {"name": "sidecar", "image": "s:1"},
        ])),
        &[
            "set spec.template.spec.containers[name=a].image changed",
            "remove spec.template.spec.containers[name=b] removed",
            "set spec.template.spec.containers[name=c] new",
        ],
    );
}

#[test]
fn a_patch_names_only_the_elements_that_change() {
    let env = |value: &str| {
        pods(&json!({"containers": [{"name": "app", "env": [{"name": "A", "value": value}]}]}))
    };
    let mut live = env("1");
    let containers = live["spec"]["template"]["spec"]["containers"]
        .as_array_mut()
        .unwrap();
    containers.push(json!({"name": "sidecar", "image": "s:1"}));
    let merge = three_way(&[env("1")], &env("2"), &live, schema_of(&live));
    assert!(matches!(merge.patch, Some(Patch::Strategic(_))));
    assert_eq!(
        body(&merge),
        json!({"spec": {"template": {"spec": {"containers": [
            {"name": "app", "env": [{"name": "A", "value": "2"}]},
        ]}}}})
    );
}

#[test]
fn elements_are_put_in_a_new_order_only_if_the_chart_changed_it() {
    let env = |names: &[&str]| {
        let env: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        pods(&json!({"containers": [{"name": "app", "env": env}]}))
    };
    let row = |previous: &[&str], next: &[&str], live: &[&str]| Row {
        previous: vec![env(previous)],
        next: env(next),
        live: env(live),
    };
    row(&["A", "B"], &["A", "B"], &["B", "X", "A"]).gives(&env(&["B", "X", "A"]), &[]);
    row(&["A", "B"], &["B", "A"], &["A", "X", "B"]).gives(
        &env(&["B", "X", "A"]),
        &["set spec.template.spec.containers[name=app].env changed"],
    );
    row(&["A", "B"], &["A", "N", "B"], &["A", "X", "B"]).gives(
        &env(&["A", "N", "X", "B"]),
        &["set spec.template.spec.containers[name=app].env[name=N] new"],
    );
}

#[test]
fn one_port_number_with_two_protocols_is_two_ports() {
    let ports = |ports: Value| pods(&json!({"containers": [{"name": "dns", "ports": ports}]}));
    let row = Row {
        previous: vec![ports(json!([{"containerPort": 53, "protocol": "UDP"}]))],
        next: ports(
            json!([{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "name": "tcp"}]),
        ),
        live: ports(json!([{"containerPort": 53, "protocol": "UDP", "hostPort": 0}])),
    };
    row.gives(
        &ports(json!([
            {"containerPort": 53, "protocol": "UDP", "hostPort": 0},
            {"containerPort": 53, "name": "tcp"},
        ])),
        &["set spec.template.spec.containers[name=dns].ports[containerPort=53] new"],
    );
    let row = Row {
        previous: vec![ports(
            json!([{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}]),
        )],
        next: ports(json!([{"containerPort": 53, "protocol": "TCP"}])),
        live: ports(json!([
            {"containerPort": 53, "protocol": "TCP"},
            {"containerPort": 53, "protocol": "UDP"},
            {"containerPort": 9090, "protocol": "TCP"},
        ])),
    };
    row.gives(
        &ports(json!([{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 9090, "protocol": "TCP"}])),
        &["remove spec.template.spec.containers[name=dns].ports[containerPort=53,protocol=UDP] removed"],
    );
}

#[test]
fn elements_without_a_usable_name_make_their_list_one_value() {
    let env = |env: Value| pods(&json!({"containers": [{"name": "app", "env": env}]}));
    let twice = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]);
    let row = Row {
        previous: vec![env(json!([{"name": "A", "value": "1"}]))],
        next: env(twice.clone()),
        live: env(json!([{"name": "A", "value": "1"}, {"name": "X"}])),
    };
    row.gives(
        &env(twice.clone()),
        &["set spec.template.spec.containers[name=app].env changed"],
    );
    let row = Row {
        previous: vec![env(twice.clone())],
        next: env(twice.clone()),
        live: env(json!([{"name": "X"}])),
    };
    row.gives(&env(json!([{"name": "X"}])), &[]);
    for odd in [
        json!([{"value": "1"}]),
        json!([{"name": null}]),
        json!(["A"]),
        json!([["A"]]),
        json!([null]),
    ] {
        let row = Row {
            previous: vec![env(json!([]))],
            next: env(odd.clone()),
            live: env(json!([{"name": "X"}])),
        };
        let (merged, _) = row.merge();
        assert!(merged["spec"]["template"]["spec"]["containers"][0]["env"].is_array());
    }
}

#[test]
fn lists_without_names_are_set_whole_when_the_chart_changed_them() {
    let tolerations = |keys: &[&str]| {
        let list: Vec<Value> = keys.iter().map(|key| json!({"key": key})).collect();
        pods(&json!({"containers": [], "tolerations": list}))
    };
    let row = |previous: &[&str], next: &[&str], live: &[&str]| Row {
        previous: vec![tolerations(previous)],
        next: tolerations(next),
        live: tolerations(live),
    };
    row(&["a"], &["a"], &["a", "x"]).gives(&tolerations(&["a", "x"]), &[]);
    row(&["a"], &["b"], &["a", "x"]).gives(
        &tolerations(&["b"]),
        &["set spec.template.spec.tolerations changed"],
    );
}

#[test]
fn members_of_sets_come_and_go_by_themselves() {
    let with = |finalizers: Value| {
        let mut object = unset();
        object["metadata"]["finalizers"] = finalizers;
        object
    };
    let row = Row {
        previous: vec![with(json!(["a/1", "a/2", "a/4"]))],
        next: with(json!(["a/3", "a/2", "a/4"])),
        live: with(json!(["x/x", "a/1", "a/2"])),
    };
    // What somebody took away stays away.
    row.gives(
        &with(json!(["x/x", "a/2", "a/3"])),
        &[
            "remove metadata.finalizers[\"a/1\"] removed",
            "set metadata.finalizers[\"a/3\"] new",
        ],
    );
    let row = Row {
        previous: vec![with(json!(["a/1"]))],
        next: unset(),
        live: with(json!(["x/x", "a/1"])),
    };
    row.gives(
        &with(json!(["x/x"])),
        &["remove metadata.finalizers[\"a/1\"] removed"],
    );
}

#[test]
fn maps_of_free_keys_lose_only_what_the_chart_had_put_there() {
    let with = |annotations: Value| {
        let mut object = unset();
        object["metadata"]["annotations"] = annotations;
        object
    };
    let row = Row {
        previous: vec![with(json!({"a.b/c": "1"}))],
        next: unset(),
        live: with(json!({"a.b/c": "1", "deployment.kubernetes.io/revision": "3"})),
    };
    row.gives(
        &with(json!({"deployment.kubernetes.io/revision": "3"})),
        &["remove metadata.annotations[\"a.b/c\"] removed"],
    );
    let row = Row {
        previous: vec![with(json!({"a": "1"}))],
        next: unset(),
        live: with(json!({"a": "1"})),
    };
    row.gives(&unset(), &["remove metadata.annotations.a removed"]);
}

#[test]
fn structures_go_whole_with_what_the_server_put_into_them() {
    let probe = |probe: Value| {
        let mut container = json!({"name": "app"});
        if !probe.is_null() {
            container["livenessProbe"] = probe;
        }
        pods(&json!({"containers": [container]}))
    };
    let row = Row {
        previous: vec![probe(json!({"httpGet": {"port": 80}}))],
        next: probe(Value::Null),
        live: probe(json!({"httpGet": {"port": 80, "scheme": "HTTP"}, "periodSeconds": 10})),
    };
    row.gives(
        &probe(Value::Null),
        &["remove spec.template.spec.containers[name=app].livenessProbe removed"],
    );
    // Somebody removed it; the chart changes it: half a probe would be refused.
    let row = Row {
        previous: vec![probe(json!({"httpGet": {"port": 80}, "periodSeconds": 5}))],
        next: probe(json!({"httpGet": {"port": 80}, "periodSeconds": 6})),
        live: probe(Value::Null),
    };
    row.gives(
        &probe(json!({"httpGet": {"port": 80}, "periodSeconds": 6})),
        &["set spec.template.spec.containers[name=app].livenessProbe changed"],
    );
}

#[test]
fn fields_that_exclude_each_other_leave_together() {
    let strategy = |strategy: Value| deployment(&json!({"strategy": strategy}));
    let row = Row {
        previous: vec![unset()],
        next: strategy(json!({"type": "Recreate"})),
        live: strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}})),
    };
    row.gives(
        &strategy(json!({"type": "Recreate"})),
        &[
            "set spec.strategy.type new",
            "remove spec.strategy.rollingUpdate removed",
        ],
    );
    let volume = |volume: Value| pods(&json!({"containers": [], "volumes": [volume]}));
    let row = Row {
        previous: vec![volume(json!({"name": "v", "emptyDir": {}}))],
        next: volume(json!({"name": "v", "secret": {"secretName": "s"}})),
        live: volume(json!({"name": "v", "emptyDir": {}})),
    };
    row.gives(
        &volume(json!({"name": "v", "secret": {"secretName": "s"}})),
        &[
            "remove spec.template.spec.volumes[name=v].emptyDir removed",
            "set spec.template.spec.volumes[name=v].secret new",
        ],
    );
}

#[test]
fn what_belongs_together_is_not_put_together_from_two_sides() {
    let strategy = |strategy: Value| deployment(&json!({"strategy": strategy}));
    let rolling = |surge: i32| {
        strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge}}))
    };
    let row = Row {
        previous: vec![rolling(1)],
        next: rolling(2),
        live: strategy(json!({"type": "Recreate"})),
    };
    row.gives(
        &rolling(2),
        &[
            "set spec.strategy.rollingUpdate changed",
            "set spec.strategy.type changed",
        ],
    );
    let env = |env: Value| pods(&json!({"containers": [{"name": "app", "env": [env]}]}));
    let row = Row {
        previous: vec![env(json!({"name": "A", "value": "1"}))],
        next: env(json!({"name": "A", "value": "2"})),
        live: env(json!({"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "x"}}})),
    };
    row.gives(
        &env(json!({"name": "A", "value": "2"})),
        &[
            "set spec.template.spec.containers[name=app].env[name=A].value changed",
            "remove spec.template.spec.containers[name=app].env[name=A].valueFrom removed",
        ],
    );
    let probe =
        |probe: Value| pods(&json!({"containers": [{"name": "app", "livenessProbe": probe}]}));
    let row = Row {
        previous: vec![probe(json!({"httpGet": {"port": 80}, "periodSeconds": 5}))],
        next: probe(json!({"httpGet": {"port": 80}, "periodSeconds": 6})),
        live: probe(json!({"exec": {"command": ["x"]}, "periodSeconds": 5, "failureThreshold": 3})),
    };
    // The chart did not touch the handler.
    row.gives(
        &probe(json!({"exec": {"command": ["x"]}, "periodSeconds": 6, "failureThreshold": 3})),
        &["set spec.template.spec.containers[name=app].livenessProbe.periodSeconds changed"],
    );
}

#[test]
fn maps_that_are_one_value_are_set_whole() {
    let selector = |labels: Value| pods(&json!({"containers": [], "nodeSelector": labels}));
    let row = Row {
        previous: vec![selector(json!({"a": "1"}))],
        next: selector(json!({"b": "1"})),
        live: selector(json!({"a": "1", "x": "1"})),
    };
    row.gives(
        &selector(json!({"b": "1"})),
        &["set spec.template.spec.nodeSelector changed"],
    );
}

#[test]
fn a_null_in_the_manifest_deletes() {
    let row = Row {
        previous: vec![replicas(2)],
        next: replicas_null(),
        live: replicas(5),
    };
    row.gives(&unset(), &["remove spec.replicas removed"]);
    // It said so before: what somebody has set since stays.
    let row = Row {
        previous: vec![replicas_null()],
        next: replicas_null(),
        live: replicas(5),
    };
    row.gives(&replicas(5), &[]);
    // A null that goes away takes nothing along.
    let row = Row {
        previous: vec![replicas_null()],
        next: unset(),
        live: replicas(5),
    };
    row.gives(&replicas(5), &[]);
}

fn replicas_null() -> Value {
    let mut object = unset();
    object["spec"]["replicas"] = Value::Null;
    object
}

#[test]
fn values_may_change_their_type() {
    let port = |port: Value| {
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "s"},
            "spec": {"ports": [{"port": 80, "targetPort": port}]},
        })
    };
    for (old, new) in [
        (json!("http"), json!(8080)),
        (json!(8080), json!("http")),
        (json!(80), json!({"a": 1})),
        (json!({"a": 1}), json!(80)),
    ] {
        let row = Row {
            previous: vec![port(old.clone())],
            next: port(new.clone()),
            live: port(old),
        };
        row.gives(&port(new), &["set spec.ports[port=80].targetPort changed"]);
    }
}

#[test]
fn other_spellings_of_a_value_are_no_change() {
    let limits = |limits: Value| {
        pods(&json!({"containers": [{"name": "app", "resources": {"limits": limits}}]}))
    };
    let row = Row {
        previous: vec![limits(json!({"cpu": "1", "memory": "1Gi"}))],
        next: limits(json!({"cpu": "1000m", "memory": 1_073_741_824})),
        live: limits(json!({"cpu": "2", "memory": "1Gi"})),
    };
    row.gives(&limits(json!({"cpu": "2", "memory": "1Gi"})), &[]);
    let row = Row {
        previous: vec![limits(json!({"cpu": "2"}))],
        next: limits(json!({"cpu": "1000m"})),
        live: limits(json!({"cpu": "1"})),
    };
    row.gives(&limits(json!({"cpu": "1"})), &[]);
    let row = Row {
        previous: vec![replicas(2)],
        next: replicas(2.0),
        live: replicas(5),
    };
    row.gives(&replicas(5), &[]);
}

#[test]
fn what_the_server_filled_in_stays() {
    let service = |spec: Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec});
    let row = Row {
        previous: vec![service(json!({"ports": [{"port": 80}]}))],
        next: service(json!({"ports": [{"port": 80, "name": "http"}]})),
        live: service(json!({
            "clusterIP": "10.0.0.7",
            "clusterIPs": ["10.0.0.7"],
            "type": "ClusterIP",
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": 30001}],
        })),
    };
    row.gives(
        &service(json!({
            "clusterIP": "10.0.0.7",
            "clusterIPs": ["10.0.0.7"],
            "type": "ClusterIP",
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": 30001, "name": "http"}],
        })),
        &["set spec.ports[port=80].name new"],
    );
}

#[test]
fn status_and_the_servers_metadata_in_a_manifest_do_not_count() {
    let mut next = replicas(2);
    next["status"] = json!({"replicas": 7});
    for (name, value) in [
        ("resourceVersion", json!("1")),
        ("uid", json!("u")),
        ("creationTimestamp", Value::Null),
        ("managedFields", json!([])),
        ("generation", json!(3)),
    ] {
        next["metadata"][name] = value;
    }
    let mut live = replicas(1);
    live["metadata"]["resourceVersion"] = json!("5");
    live["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    live["status"] = json!({"replicas": 1});
    let merge = three_way(&[replicas(1)], &next, &live, schema_of(&live));
    assert_eq!(body(&merge), json!({"spec": {"replicas": 2}}));
    let bare = json!({"apiVersion": "apps/v1", "kind": "Deployment"});
    let merge = three_way(std::slice::from_ref(&live), &bare, &live, schema_of(&live));
    assert!(
        body(&merge)
            .get("metadata")
            .is_none_or(|metadata| metadata == &json!({"labels": null}))
    );
}

#[test]
fn string_data_of_a_secret_counts_as_data() {
    let secret = |fields: Value| {
        let mut object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
        json_patch::merge(&mut object, &fields);
        object
    };
    let row = Row {
        previous: vec![secret(json!({"stringData": {"a": "1", "b": "2"}}))],
        next: secret(json!({"stringData": {"a": "1"}, "data": {"c": "Mw=="}})),
        live: secret(json!({"data": {"a": "OQ==", "b": "Mg==", "x": "eA=="}})),
    };
    row.gives(
        &secret(json!({"data": {"a": "OQ==", "x": "eA==", "c": "Mw=="}})),
        &["remove data.b removed", "set data.c new"],
    );
    let row = Row {
        previous: vec![secret(json!({"stringData": {"a": "1"}}))],
        next: secret(json!({"data": {"a": "MQ=="}})),
        live: secret(json!({"data": {"a": "OQ=="}})),
    };
    row.gives(&secret(json!({"data": {"a": "OQ=="}})), &[]);
}

#[test]
fn custom_resources_are_merged_by_json_with_lists_whole() {
    let object = |spec: Value| json!({"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec});
    let row = Row {
        previous: vec![object(
            json!({"size": 1, "list": [{"name": "a"}], "gone": {"a": 1}}),
        )],
        next: object(json!({"size": 1, "list": [{"name": "b"}], "deep": {"x": null, "y": [null]}})),
        live: object(
            json!({"size": 5, "list": [{"name": "a"}, {"name": "x"}], "gone": {"a": 1, "b": 2}, "own": true}),
        ),
    };
    row.gives(
        &object(json!({"size": 5, "list": [{"name": "b"}], "own": true, "deep": {"y": [null]}})),
        &[
            "set spec.deep new",
            "remove spec.gone removed",
            "set spec.list changed",
        ],
    );
    let merge = three_way(&row.previous, &row.next, &row.live, schema_of(&row.live));
    assert!(matches!(merge.patch, Some(Patch::JsonMerge(_))));
}

#[test]
fn secrets_do_not_show_in_debug_output() {
    let secret = |text: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": text}});
    let live = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "b2xk"}});
    let merge = three_way(&[secret("old")], &secret("new"), &live, schema_of(&live));
    let shown = format!("{merge:?}");
    assert!(
        shown.contains("data.a") && !shown.contains("bmV3") && !shown.contains("b2xk"),
        "{shown}"
    );
}
