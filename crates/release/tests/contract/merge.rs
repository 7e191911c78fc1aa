//! Merges sent to a real API server.

mod kinds;

use kzero_cluster::{FieldError, Refusal};
use kzero_release::merge::{
    Merge, Patch, Schema, apply_patch, diff, immutable, managed_fields, overwrite, three_way,
};
use kzero_testkit::ControlPlane;
use proptest::collection::vec;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use kinds::Choices;

fn schema_of(object: &Value) -> Schema {
    let word = |name: &str| object[name].as_str().unwrap_or_default();
    Schema::of(word("apiVersion"), word("kind"))
}

/// Whether everything that takes long is asked for.
fn is_long() -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "the test program itself is told by its environment how much to do"
    )]
    std::env::var_os("KZERO_LONG").is_some_and(|value| value == "1")
}

/// Sends a patch and gives status and answer.
fn try_send(plane: &ControlPlane, path: &str, patch: &Patch) -> (u16, Value) {
    plane.request_as(
        "PATCH",
        path,
        patch.content_type(),
        patch.body().to_string(),
    )
}

/// Sends what a merge comes to, if anything, and gives the object.
fn send(plane: &ControlPlane, path: &str, merge: &Merge) -> Value {
    let Some(patch) = &merge.patch else {
        return plane.get(path).unwrap();
    };
    let (code, answer) = try_send(plane, path, patch);
    assert_eq!(code, 200, "{path}: {}\n{answer}", patch.body());
    answer
}

/// What the server has otherwise than foretold. That it fills in fields of its own is none of it, nor what its
/// controllers write in the meantime.
fn surprises(foretold: &Value, found: &Value) -> Vec<String> {
    let changes = diff(foretold, found, schema_of(found));
    let contradicted = changes.iter().filter(|change| change.old.is_some());
    let paths = contradicted.map(|change| change.path.to_string());
    paths.filter(|path| !is_servers_own(path)).collect()
}

fn is_servers_own(path: &str) -> bool {
    const AT_START: [&str; 5] = [
        "status",
        "metadata.generation",
        "metadata.resourceVersion",
        "metadata.managedFields",
        "metadata.annotations[\"deployment.kubernetes.io/revision\"]",
    ];
    // Of lists without names the server fills in the elements' defaults; what a Service may have goes by its type.
    const AT_END: [&str; 5] = [
        "spec.rules",
        "spec.volumeClaimTemplates",
        ".nodePort",
        "spec.externalTrafficPolicy",
        "spec.sessionAffinityConfig",
    ];
    AT_START.iter().any(|start| path.starts_with(start))
        || AT_END.iter().any(|end| path.ends_with(end))
}

/// An object whose last good revision is `deployed`; `failed` came later and went half-way at most.
struct History {
    deployed: Value,
    failed: Value,
    next: Value,
    /// What somebody else has laid over it.
    foreign: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    ThreeWay,
    Overwrite,
}

impl History {
    fn merge(&self, mode: Mode, live: &Value) -> Merge {
        let schema = schema_of(live);
        match mode {
            Mode::ThreeWay => {
                let past = [self.deployed.clone(), self.failed.clone()];
                three_way(&past, &self.next, live, schema)
            }
            Mode::Overwrite => overwrite(Some(&self.deployed), &self.next, live, schema).unwrap(),
        }
    }

    /// Creates the object and lets it come to what it is.
    fn live(&self, plane: &ControlPlane, collection: &str, path: &str, round: usize) -> Value {
        let (code, mut live) = plane.request("POST", collection, &self.deployed);
        assert_eq!(code, 201, "{live}");
        let schema = schema_of(&live);
        if round % 2 == 1 {
            let past = std::slice::from_ref(&self.deployed);
            live = send(plane, path, &three_way(past, &self.failed, &live, schema));
        }
        if !round.is_multiple_of(3) {
            live = send(plane, path, &three_way(&[], &self.foreign, &live, schema));
        }
        live
    }

    fn check(&self, plane: &ControlPlane, collection: &str, path: &str, round: usize) {
        let mode = if round % 4 == 3 {
            Mode::Overwrite
        } else {
            Mode::ThreeWay
        };
        let live = self.live(plane, collection, path, round);
        let schema = schema_of(&live);
        let merge = self.merge(mode, &live);
        let Some(patch) = &merge.patch else {
            return;
        };
        let (code, found) = try_send(plane, path, patch);
        if mode == Mode::Overwrite && code == 422 {
            // Helm does not clear what excludes a field that it sets.
            return;
        }
        assert_eq!(code, 200, "{path}: {merge:?}\n{}\n{found}", patch.body());
        let surprises = surprises(&apply_patch(&live, patch, schema), &found);
        assert!(
            surprises.is_empty(),
            "{path}: {surprises:?}\n{merge:?}\n{live}\n{found}"
        );
        let again = three_way(std::slice::from_ref(&self.next), &self.next, &found, schema);
        assert_eq!(again.patch, None, "{path}");
        // Once more from the same past: the server finds nothing to change. Over two ports with one number Helm changes
        // its mind each time.
        if mode == Mode::ThreeWay {
            let generation = |object: &Value| object["metadata"]["generation"].clone();
            let before = generation(&plane.get(path).unwrap());
            let same = self.merge(mode, &found);
            assert_eq!(
                before,
                generation(&send(plane, path, &same)),
                "{path}: {same:?}"
            );
        }
    }
}

#[test]
fn the_server_makes_of_patches_what_was_foretold() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("merge");
    let rounds = if is_long() { 100 } else { 8 };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let variants = vec(0..4_u8, 16).prop_map(Choices);
    kinds::install_widgets(&plane);
    for (kind, (collection, build)) in kinds::ALL.iter().enumerate() {
        let collection = kinds::collection(&space, collection);
        for round in 0..rounds {
            let name = format!("m{kind}-{round}");
            let path = format!("{collection}/{name}");
            let mut manifest = || build(&name, &variants.new_tree(&mut runner).unwrap().current());
            let history = History {
                deployed: manifest(),
                failed: manifest(),
                next: manifest(),
                foreign: manifest(),
            };
            history.check(&plane, &collection, &path, round);
            plane.delete(&path);
        }
    }
}

#[test]
fn what_somebody_else_writes_in_the_meantime_survives() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("merge");
    let path = space.path("apis/apps/v1", "deployments/web");
    let manifest = |image: &str| {
        let mut object = kinds::deployment("web", &Choices(vec![0; 16]));
        object["spec"]["template"]["spec"]["containers"] = json!([{"name": "app", "image": image}]);
        object
    };
    let (code, live) = plane.request(
        "POST",
        &space.path("apis/apps/v1", "deployments"),
        &manifest("app:1"),
    );
    assert_eq!(code, 201, "{live}");
    let merge = three_way(
        &[manifest("app:1")],
        &manifest("app:2"),
        &live,
        schema_of(&live),
    );
    // A webhook's sidecar, an autoscaler's size: written after the object was read.
    let sidecar = json!({"spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "sidecar", "image": "s:1"}]}}}});
    send(
        &plane,
        &path,
        &Merge {
            patch: Some(Patch::Strategic(sidecar)),
            changes: vec![],
        },
    );
    let found = send(&plane, &path, &merge);
    assert_eq!(found["spec"]["replicas"], 3);
    let images: Vec<&Value> = found["spec"]["template"]["spec"]["containers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|container| &container["image"])
        .collect();
    let mut images: Vec<&str> = images.into_iter().filter_map(Value::as_str).collect();
    images.sort_unstable();
    assert_eq!(images, ["app:2", "s:1"]);
}

#[test]
fn a_port_with_two_protocols_is_kept_apart_on_the_server() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("merge");
    let path = space.path("api/v1", "services/dns");
    let service = |ports: Value| {
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "dns"},
            "spec": {"selector": {"app": "dns"}, "ports": ports},
        })
    };
    let udp = json!({"name": "udp", "port": 53, "protocol": "UDP"});
    let tcp = json!({"name": "tcp", "port": 53, "protocol": "TCP"});
    let (one, both) = (service(json!([udp])), service(json!([udp, tcp])));
    let (code, live) = plane.request("POST", &space.path("api/v1", "services"), &one);
    assert_eq!(code, 201, "{live}");
    let names = |object: &Value| -> Vec<String> {
        let ports = object["spec"]["ports"].as_array().unwrap().iter();
        ports
            .map(|port| port["name"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    let schema = schema_of(&live);
    let found = send(
        &plane,
        &path,
        &three_way(std::slice::from_ref(&one), &both, &live, schema),
    );
    assert_eq!(names(&found), ["udp", "tcp"]);
    let found = send(
        &plane,
        &path,
        &three_way(std::slice::from_ref(&both), &one, &found, schema),
    );
    assert_eq!(names(&found), ["udp"]);
}

/// The refusal of a request as the cluster's client gives it.
fn refusal(code: u16, status: &Value) -> Refusal {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let causes = status["details"]["causes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    Refusal {
        status: code,
        reason: text(&status["reason"]),
        message: text(&status["message"]),
        fields: causes
            .iter()
            .map(|cause| FieldError {
                field: text(&cause["field"]),
                reason: text(&cause["reason"]),
                message: text(&cause["message"]),
            })
            .collect(),
    }
}

#[test]
fn l11_refusals_of_a_real_server_name_the_immutable_fields() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("merge");
    for (group, plural, object, change, wanted) in kinds::immutables() {
        let collection = space.path(group, plural);
        let (code, live) = plane.request("POST", &collection, &object);
        assert_eq!(code, 201, "{live}");
        let mut next = object.clone();
        json_patch::merge(&mut next, &change);
        let path = format!(
            "{collection}/{}",
            object["metadata"]["name"].as_str().unwrap()
        );
        let merge = three_way(
            std::slice::from_ref(&object),
            &next,
            &live,
            schema_of(&live),
        );
        let (code, status) = try_send(&plane, &path, merge.patch.as_ref().unwrap());
        assert_eq!(code, 422, "{path}: {status}");
        let whole = refusal(code, &status);
        let named = immutable(&whole, &merge.changes).unwrap_or_default();
        assert_eq!(named, wanted, "{status}");
        // The message alone tells the same.
        let message = Refusal {
            fields: vec![],
            ..whole
        };
        assert_eq!(
            immutable(&message, &merge.changes).unwrap_or_default(),
            wanted,
            "{status}"
        );
    }
}

#[test]
fn after_the_move_to_server_side_apply_dropped_fields_go() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("merge");
    let object = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data});
    let path = space.path("api/v1", "configmaps/c");
    let created = format!("{}?fieldManager=helm", space.path("api/v1", "configmaps"));
    let (code, live) = plane.request("POST", &created, &object(json!({"a": "1", "b": "2"})));
    assert_eq!(code, 201, "{live}");
    let patch = managed_fields::migration(&live, "helm").unwrap();
    let migrate = |patch: &Value| {
        plane.request_as(
            "PATCH",
            &path,
            "application/json-patch+json",
            patch.to_string(),
        )
    };
    let (code, moved) = migrate(&patch);
    assert_eq!(code, 200, "{moved}");
    assert_eq!(managed_fields::migration(&moved, "helm"), None);
    let apply = |object: &Value| {
        let path = format!("{path}?fieldManager=helm");
        plane.request_as(
            "PATCH",
            &path,
            "application/apply-patch+yaml",
            object.to_string(),
        )
    };
    let (code, applied) = apply(&object(json!({"a": "1"})));
    assert_eq!(code, 200, "{applied}");
    assert_eq!(applied["data"], json!({"a": "1"}));
    // The same patch once more is out of date.
    let (code, answer) = migrate(&patch);
    assert_eq!(code, 409, "{answer}");
}
