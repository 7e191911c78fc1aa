use serde_json::json;

use super::*;

fn object(uid: &str, generation: Option<i64>, version: &str) -> Value {
    json!({"metadata": {"uid": uid, "generation": generation, "resourceVersion": version}})
}

#[test]
fn a_watch_that_lags_behind_a_write_is_not_believed() {
    let rows = [
        (object("a", Some(2), "20"), object("a", Some(2), "20"), true),
        (object("a", Some(2), "20"), object("a", Some(3), "30"), true),
        // The status was written after the object was read last: newer, but of the old generation.
        (
            object("a", Some(2), "20"),
            object("a", Some(1), "30"),
            false,
        ),
        (object("a", None, "20"), object("a", None, "19"), false),
        (object("a", None, "20"), object("a", None, "21"), true),
        (object("a", None, "odd"), object("a", None, "even"), true),
        // The one that was deleted to make room, and one that somebody else has made since.
        (
            object("a", Some(1), "20"),
            object("b", Some(9), "10"),
            false,
        ),
        (object("a", Some(1), "20"), object("b", Some(1), "30"), true),
        (
            object("a", Some(1), "odd"),
            object("b", Some(1), "30"),
            false,
        ),
    ];
    for (written, seen, expected) in rows {
        let found = Written::of(&written).is_in(&seen);
        assert_eq!(found, expected, "{written} {seen}");
    }
}

#[test]
fn what_keeps_an_object_is_named() {
    let deleted = |finalizers: Value| json!({"metadata": {"deletionTimestamp": "x", "finalizers": finalizers}});
    assert_eq!(remaining(&json!({})), "it is not being deleted");
    assert_eq!(remaining(&deleted(Value::Null)), "it is being deleted");
    assert_eq!(
        remaining(&deleted(json!(["a/b", "c/d"]))),
        "it is kept by finalizers a/b c/d"
    );
}
