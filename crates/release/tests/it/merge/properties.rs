//! What holds for every three-way merge.

use kzero_release::merge::{ChangeKind, Merge, apply_patch, diff, three_way};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value, json};

use super::{body, is_long, schema_of};

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: if is_long() { 1024 } else { 128 },
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(5),
        ..ProptestConfig::default()
    }
}

/// Free keys with values, few enough that objects meet.
fn texts() -> impl Strategy<Value = Option<Value>> {
    let map = btree_map(select(vec!["a", "b", "c/d"]), select(vec!["1", "2"]), 1..3);
    option::of(map.prop_map(|map| json!(map)))
}

/// A map of those fields that there are.
fn fields(fields: Vec<(&str, Option<Value>)>) -> Value {
    let there = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(there.collect())
}

/// Elements without two of one name; the name is the first field.
fn named(list: Vec<Value>, keys: &'static [&'static str]) -> Option<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for element in list {
        let is_same = |other: &Value| keys.iter().all(|key| other[*key] == element[*key]);
        if !kept.iter().any(is_same) {
            kept.push(element);
        }
    }
    (!kept.is_empty()).then_some(Value::Array(kept))
}

fn container() -> impl Strategy<Value = Value> {
    let env = (select(vec!["A", "B", "C"]), select(vec!["1", "2"]));
    let env = env.prop_map(|(name, value)| json!({"name": name, "value": value}));
    let port = (
        select(vec![53, 80]),
        select(vec!["TCP", "UDP"]),
        option::of(Just(json!(8053))),
    );
    let port = port.prop_map(|(port, protocol, host)| {
        fields(vec![
            ("containerPort", Some(json!(port))),
            ("protocol", Some(json!(protocol))),
            ("hostPort", host),
        ])
    });
    let probe =
        (1..3).prop_map(|seconds| json!({"periodSeconds": seconds, "exec": {"command": ["x"]}}));
    let limits = select(vec!["1", "1000m", "2"]).prop_map(|cpu| json!({"limits": {"cpu": cpu}}));
    (
        select(vec!["a", "b", "c"]),
        select(vec!["i:1", "i:2"]),
        vec(env, 0..4),
        vec(port, 0..4),
        option::of(probe),
        option::of(limits),
        option::of(vec(select(vec!["x", "y"]), 0..3).prop_map(|args| json!(args))),
    )
        .prop_map(|(name, image, env, ports, probe, resources, args)| {
            fields(vec![
                ("name", Some(json!(name))),
                ("image", Some(json!(image))),
                ("env", named(env, &["name"])),
                ("ports", named(ports, &["containerPort", "protocol"])),
                ("livenessProbe", probe),
                ("resources", resources),
                ("args", args),
            ])
        })
}

fn volume() -> impl Strategy<Value = Value> {
    let source = select(vec![
        ("emptyDir", json!({})),
        ("secret", json!({"secretName": "s"})),
    ]);
    (select(vec!["v", "w"]), source)
        .prop_map(|(name, (source, value))| json!({"name": name, source: value}))
}

fn deployment() -> impl Strategy<Value = Value> {
    let finalizers = vec(select(vec!["f/1", "f/2", "f/3"]), 0..3).prop_map(|mut list| {
        list.sort_unstable();
        list.dedup();
        (!list.is_empty()).then(|| json!(list))
    });
    let strategy = select(vec![
        json!({"type": "Recreate"}),
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}),
    ]);
    let spec = (
        option::of((0..4).prop_map(|count| json!(count))),
        option::of(strategy),
        vec(container(), 0..4).prop_map(|list| named(list, &["name"])),
        vec(volume(), 0..3).prop_map(|list| named(list, &["name"])),
        texts(),
    );
    (texts(), finalizers, spec).prop_map(|(annotations, finalizers, spec)| {
        let (replicas, strategy, containers, volumes, selector) = spec;
        let pod = fields(vec![("containers", containers), ("volumes", volumes), ("nodeSelector", selector)]);
        let template = json!({"spec": pod});
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": fields(vec![("name", Some(json!("d"))), ("annotations", annotations), ("finalizers", finalizers)]),
            "spec": fields(vec![("replicas", replicas), ("strategy", strategy), ("template", Some(template))]),
        })
    })
}

/// Any JSON that a custom resource may hold.
fn widget() -> impl Strategy<Value = Value> {
    let leaf = select(vec![
        json!(1),
        json!(2),
        json!("x"),
        json!(true),
        json!([]),
        json!({}),
    ]);
    let tree = leaf.prop_recursive(3, 16, 3, |inner| {
        let map = btree_map(select(vec!["a", "b", "c"]), inner.clone(), 0..3);
        prop_oneof![
            vec(inner, 0..3).prop_map(|list| json!(list)),
            map.prop_map(|map| json!(map))
        ]
    });
    btree_map(select(vec!["a", "b", "c"]), tree, 0..4).prop_map(|spec| {
        json!({"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec})
    })
}

/// Earlier manifests, the new one and the live object.
fn deployments() -> impl Strategy<Value = (Vec<Value>, Value, Value)> {
    (vec(deployment(), 0..3), deployment(), deployment())
}

fn triple() -> impl Strategy<Value = (Vec<Value>, Value, Value)> {
    prop_oneof![
        3 => deployments(),
        1 => (vec(widget(), 0..3), widget(), widget()),
    ]
}

fn patched(live: &Value, merge: &Merge) -> Value {
    match &merge.patch {
        Some(patch) => apply_patch(live, patch, schema_of(live)),
        None => live.clone(),
    }
}

/// Values by the paths to them; lists are values.
fn leaves(value: &Value, path: &str, found: &mut Map<String, Value>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                leaves(value, &format!("{path}/{name}"), found);
            }
        }
        Value::Array(list) if list.iter().all(|element| element.get("name").is_some()) => {
            for element in list {
                leaves(element, &format!("{path}/{}", element["name"]), found);
            }
        }
        value => {
            found.insert(path.to_owned(), value.clone());
        }
    }
}

fn leaves_of(object: &Value) -> Map<String, Value> {
    let mut found = Map::new();
    leaves(object, "", &mut found);
    found
}

/// What one field comes to by the rules, stated once more and without looking at anything around it.
fn decided(
    previous: &[Option<&Value>],
    next: Option<&Value>,
    live: Option<&Value>,
) -> Option<Value> {
    let is_unchanged = !previous.is_empty() && previous.iter().all(|previous| *previous == next);
    match next {
        Some(_) if is_unchanged => live.cloned(),
        Some(next) => Some(next.clone()),
        None if previous.iter().any(Option::is_some) => None,
        None => live.cloned(),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn merging_again_changes_nothing((previous, next, live) in triple()) {
        let schema = schema_of(&next);
        let merged = patched(&live, &three_way(&previous, &next, &live, schema));
        let again = three_way(std::slice::from_ref(&next), &next, &merged, schema);
        prop_assert_eq!(body(&again), Value::Null);
    }

    #[test]
    fn an_unchanged_manifest_touches_nothing_whatever_is_live((_, next, live) in triple(), count in 1..4_usize) {
        let previous = vec![next.clone(); count];
        let merge = three_way(&previous, &next, &live, schema_of(&next));
        prop_assert_eq!(body(&merge), Value::Null);
        prop_assert!(merge.changes.is_empty());
    }

    #[test]
    fn the_changes_are_those_that_the_patch_makes((previous, next, live) in triple()) {
        let schema = schema_of(&next);
        let merge = three_way(&previous, &next, &live, schema);
        let made = diff(&live, &patched(&live, &merge), schema);
        prop_assert_eq!(merge.patch.is_none(), made.is_empty());
        // A merge may name a map where the difference names its fields.
        let is_part = |inner: &str, outer: &str| inner == outer || inner.starts_with(&format!("{outer}.")) || inner.starts_with(&format!("{outer}["));
        let said: Vec<String> = merge.changes.iter().map(|change| change.path.to_string()).collect();
        let made: Vec<String> = made.iter().map(|change| change.path.to_string()).collect();
        for path in &made {
            prop_assert!(said.iter().any(|said| is_part(path, said) || is_part(said, path)), "{} in {:?}", path, said);
        }
        for path in &said {
            prop_assert!(made.iter().any(|made| is_part(path, made) || is_part(made, path)), "{} in {:?}", path, made);
        }
    }

    #[test]
    fn without_a_past_all_that_the_manifest_holds_comes_to_be((_, next, live) in triple()) {
        let merged = leaves_of(&patched(&live, &three_way(&[], &next, &live, schema_of(&next))));
        for (path, value) in leaves_of(&next) {
            let is_empty = value == json!({}) || value == json!([]);
            let is_same = merged.get(&path) == Some(&value);
            // Sets keep what others put into them, and other spellings of a quantity stay.
            let is_free = path.ends_with("/finalizers") || path.ends_with("/ports") || path.ends_with("/cpu");
            prop_assert!(is_same || is_empty || is_free, "{} {:?} {}", path, merged.get(&path), value);
        }
    }

    #[test]
    fn plain_fields_and_free_keys_follow_the_rules_one_by_one((previous, next, live) in deployments()) {
        let merged = patched(&live, &three_way(&previous, &next, &live, schema_of(&next)));
        let places = ["/spec/replicas", "/metadata/annotations/a", "/metadata/annotations/b", "/metadata/annotations/c~1d", "/spec/template/spec/nodeSelector"];
        for place in places {
            let previous: Vec<_> = previous.iter().map(|manifest| manifest.pointer(place)).collect();
            let wanted = decided(&previous, next.pointer(place), live.pointer(place));
            prop_assert_eq!(merged.pointer(place).cloned(), wanted, "{}", place);
        }
    }

    #[test]
    fn named_elements_of_others_stay_and_dropped_ones_go((previous, next, live) in deployments()) {
        let merged = patched(&live, &three_way(&previous, &next, &live, schema_of(&next)));
        let container = |object: &Value, name: &str| -> Option<Value> {
            let list = object.pointer("/spec/template/spec/containers")?.as_array()?.clone();
            list.into_iter().find(|container| container["name"] == name)
        };
        for name in ["a", "b", "c"] {
            let was = previous.iter().any(|manifest| container(manifest, name).is_some());
            match (was, container(&next, name)) {
                (false, None) => prop_assert_eq!(container(&merged, name), container(&live, name)),
                (true, None) => prop_assert_eq!(container(&merged, name), None),
                (false, Some(_)) => prop_assert!(container(&merged, name).is_some()),
                (true, Some(_)) => {}
            }
        }
    }

    #[test]
    fn a_field_that_a_manifest_dropped_is_gone((previous, next, live) in deployments()) {
        let schema = schema_of(&next);
        let merge = three_way(&previous, &next, &live, schema);
        let merged = leaves_of(&patched(&live, &merge));
        let wanted = leaves_of(&next);
        for path in previous.iter().flat_map(|manifest| leaves_of(manifest).into_iter().map(|(path, _)| path)) {
            let is_list = path.ends_with("/finalizers") || path.ends_with("/ports") || path.ends_with("/emptyDir");
            let is_wanted = wanted.keys().any(|wanted| wanted.starts_with(&path) || path.starts_with(wanted.as_str()));
            prop_assert!(is_list || is_wanted || !merged.contains_key(&path), "{}", path);
        }
        for change in &merge.changes {
            prop_assert_eq!(change.new.is_none(), change.kind == ChangeKind::Remove);
        }
    }
}
