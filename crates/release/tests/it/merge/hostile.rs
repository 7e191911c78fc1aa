//! Values that no server and no sane chart would give.

use kzero_release::merge::{
    Patch, Schema, apply_patch, diff, managed_fields, overwrite, take_over, three_way,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value, json};

use super::{body, deployment, is_long, pods, schema_of};

/// Names that mean something to a Deployment or to a patch.
const NAMES: [&str; 16] = [
    "metadata",
    "spec",
    "template",
    "containers",
    "name",
    "ports",
    "containerPort",
    "finalizers",
    "volumes",
    "strategy",
    "$patch",
    "$retainKeys",
    "$setElementOrder/containers",
    "$deleteFromPrimitiveList/finalizers",
    "$setElementOrder/",
    "managedFields",
];

fn odd() -> impl Strategy<Value = Value> {
    let leaf = select(vec![
        json!(null),
        json!(true),
        json!(1),
        json!(-1.5),
        json!(1e300),
        json!("name"),
        json!("delete"),
        json!("replace"),
        json!(""),
    ]);
    leaf.prop_recursive(6, 48, 5, |inner| {
        let map = vec((select(NAMES.to_vec()), inner.clone()), 0..5);
        let map = map.prop_map(|fields| {
            let fields = fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value));
            Value::Object(fields.collect::<Map<_, _>>())
        });
        prop_oneof![1 => vec(inner, 0..4).prop_map(Value::Array), 3 => map]
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if is_long() { 8192 } else { 512 },
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(3),
        ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_panics(original in odd(), next in odd(), live in odd(), patch in odd(), is_builtin in any::<bool>()) {
        let schema = Schema::of("apps/v1", if is_builtin { "Deployment" } else { "Widget" });
        for live in [&live, &deployment(&json!({}))] {
            let merges = [
                Ok(three_way(std::slice::from_ref(&original), &next, live, schema)),
                overwrite(Some(&original), &next, live, schema),
                overwrite(None, &next, live, schema),
                take_over(Some(&original), &next, live, schema),
            ];
            for patch in merges.into_iter().flatten().filter_map(|merge| merge.patch) {
                let patched = apply_patch(live, &patch, schema);
                let _ = diff(live, &patched, schema);
            }
            let _ = apply_patch(live, &Patch::Strategic(patch.clone()), schema);
            let _ = apply_patch(live, &Patch::JsonMerge(patch.clone()), schema);
            let _ = diff(live, &next, schema);
            let _ = managed_fields::migration(live, "name");
        }
    }
}

#[test]
fn long_lists_take_no_long_time() {
    let env = |range: std::ops::Range<usize>, value: &str| {
        let env: Vec<Value> = range
            .map(|n| json!({"name": format!("N{n}"), "value": value}))
            .collect();
        let mut object = pods(&json!({"containers": [{"name": "app", "env": env}]}));
        let finalizers: Vec<String> = env.iter().map(|env| format!("f/{}", env["name"])).collect();
        object["metadata"]["finalizers"] = json!(finalizers);
        object
    };
    const COUNT: usize = 5000;
    let (original, next, live) = (
        env(0..COUNT, "1"),
        env(COUNT / 2..2 * COUNT, "2"),
        env(0..COUNT, "1"),
    );
    let schema = schema_of(&live);
    let merge = three_way(std::slice::from_ref(&original), &next, &live, schema);
    let merged = apply_patch(&live, merge.patch.as_ref().unwrap(), schema);
    assert_eq!(diff(&merged, &next, schema), []);
    let again = three_way(std::slice::from_ref(&next), &next, &merged, schema);
    assert_eq!(body(&again), Value::Null);
    let merge = overwrite(Some(&original), &next, &live, schema).unwrap();
    let merged = apply_patch(&live, merge.patch.as_ref().unwrap(), schema);
    assert_eq!(diff(&merged, &next, schema), []);
}

#[test]
fn depth_has_no_bound_that_hurts() {
    // As deep as a manifest may be, and odd roots.
    let deep = (0..400).fold(json!(1), |inner, _| json!({"a": [inner]}));
    let mut outer = deployment(&json!({}));
    outer["spec"]["template"]["spec"] = deep.clone();
    let good = deployment(&json!({"replicas": 1}));
    for odd in [
        json!(null),
        json!([]),
        json!("x"),
        json!({"metadata": []}),
        json!({"spec": 1}),
        deep,
        outer,
    ] {
        let schema = schema_of(&good);
        for (previous, next, live) in [
            (&odd, &good, &good),
            (&good, &odd, &good),
            (&good, &good, &odd),
            (&odd, &odd, &odd),
        ] {
            let merge = three_way(std::slice::from_ref(previous), next, live, schema);
            if let Some(patch) = &merge.patch {
                let _ = apply_patch(live, patch, schema);
            }
            let _ = overwrite(Some(previous), next, live, schema);
            let _ = take_over(
                Some(previous),
                next,
                live,
                Schema::of("example.org/v1", "Widget"),
            );
            let _ = diff(next, live, schema);
        }
    }
}
