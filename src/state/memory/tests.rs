use proptest::prelude::*;

use super::*;

const RUN: &str = "20261201T020000.000Z-7";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + second).unwrap()
}

fn entry(uid: &str, value: Value, run: &str) -> Entry {
    Entry {
        uid: uid.into(),
        value,
        at: at(0),
        run: run.into(),
        by: "ops@desk".into(),
    }
}

fn live(uid: &str, value: Value) -> Live {
    Live {
        uid: uid.into(),
        value,
    }
}

fn key(name: &str) -> Key {
    Key {
        kind: ObjectKind::Deployment,
        namespace: "app".into(),
        name: name.into(),
    }
}

#[test]
fn down_keeps_what_is_parked_and_records_what_runs() {
    // S-11.1, S-11.4
    use Parking::{Keep, Record};
    use Value::{Size, Suspend};
    let plain = Record { lost: None };
    let rows = [
        ("nothing remembered, runs", None, Size(3), plain),
        ("nothing remembered, at 0", None, Size(0), plain),
        (
            "parked still",
            Some(("u", Size(3), "before")),
            Size(0),
            Keep,
        ),
        ("was 0, is 0", Some(("u", Size(0), "before")), Size(0), Keep),
        (
            "woken meanwhile",
            Some(("u", Size(3), "before")),
            Size(5),
            plain,
        ),
        (
            "woken to the same",
            Some(("u", Size(3), "before")),
            Size(3),
            plain,
        ),
        ("this run's own", Some(("u", Size(3), RUN)), Size(3), Keep),
        (
            "moved since this run recorded it",
            Some(("u", Size(3), RUN)),
            Size(4),
            plain,
        ),
        (
            "parked by others since",
            Some(("u", Size(3), RUN)),
            Size(0),
            Keep,
        ),
        (
            "replaced, runs",
            Some(("old", Size(3), "before")),
            Size(2),
            plain,
        ),
        (
            "replaced, at 0",
            Some(("old", Size(3), "before")),
            Size(0),
            Record {
                lost: Some(Size(3)),
            },
        ),
        (
            "replaced, both 0",
            Some(("old", Size(0), "before")),
            Size(0),
            plain,
        ),
        (
            "suspended still",
            Some(("u", Suspend(false), "before")),
            Suspend(true),
            Keep,
        ),
        (
            "resumed meanwhile",
            Some(("u", Suspend(true), "before")),
            Suspend(false),
            plain,
        ),
        ("suspended, unknown", None, Suspend(true), plain),
    ];
    for (what, known, value, expected) in rows {
        let known = known.map(|(uid, value, run)| entry(uid, value, run));
        let found = on_down(known.as_ref(), &live("u", value), RUN);
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn the_size_of_an_up_is_the_steps_else_remembered_else_live_else_1() {
    // S-D.12, S-11.6, S-11.7, S-11.9
    use SizeSource::{Default, Live, Remembered, Step};
    let rows = [
        (Some(4), Some(("u", 3)), 0, 4, Step, None),
        (Some(0), Some(("u", 3)), 5, 0, Step, None),
        (Some(4), Some(("old", 3)), 0, 4, Step, None),
        (None, Some(("u", 3)), 0, 3, Remembered, None),
        (None, Some(("u", 0)), 0, 0, Remembered, None),
        (None, Some(("u", 1)), 7, 7, Live, None),
        (None, Some(("u", 7)), 1, 1, Live, None),
        (None, None, 2, 2, Live, None),
        (None, None, 0, 1, Default, None),
        (None, Some(("old", 3)), 0, 1, Default, Some(Value::Size(3))),
        (None, Some(("old", 3)), 2, 2, Live, Some(Value::Size(3))),
    ];
    for (step, known, size, wanted, source, foreign) in rows {
        let known = known.map(|(uid, size)| entry(uid, Value::Size(size), "before"));
        let found = size_on_up(step, known.as_ref(), &live("u", Value::Size(size)));
        let expected = Waking {
            wanted,
            source,
            foreign,
        };
        assert_eq!(found, expected, "{step:?} {known:?} {size}");
    }
}

#[test]
fn a_cron_job_gets_its_flag_back() {
    // S-11.8
    use SizeSource::{Default, Live, Remembered};
    let rows = [
        (Some(("u", true)), true, true, Remembered, None),
        (Some(("u", false)), true, false, Remembered, None),
        (Some(("u", true)), false, false, Live, None),
        (None, true, false, Default, None),
        (None, false, false, Live, None),
        (
            Some(("old", true)),
            true,
            false,
            Default,
            Some(Value::Suspend(true)),
        ),
    ];
    for (known, flag, wanted, source, foreign) in rows {
        let known = known.map(|(uid, flag)| entry(uid, Value::Suspend(flag), "before"));
        let found = suspend_on_up(known.as_ref(), &live("u", Value::Suspend(flag)));
        let expected = Waking {
            wanted,
            source,
            foreign,
        };
        assert_eq!(found, expected, "{known:?} {flag}");
    }
}

#[test]
fn standings_tell_parked_woken_gone_and_replaced() {
    // S-11.12
    let entry = entry("u", Value::Size(3), "before");
    let of = |live: Option<Live>| Standing::of(&entry, live.as_ref()).word();
    assert_eq!(of(Some(live("u", Value::Size(0)))), "parked");
    assert_eq!(of(Some(live("u", Value::Size(1)))), "woken");
    assert_eq!(of(Some(live("v", Value::Size(0)))), "replaced");
    assert_eq!(of(None), "gone");
}

#[test]
fn of_two_places_the_newer_entry_counts() {
    // S-11.10
    let with = |name: &str, size: u32, second: i64| {
        let mut memory = Memory::default();
        let entry = Entry {
            at: at(second),
            ..entry("u", Value::Size(size), "r")
        };
        memory.insert(key(name), entry);
        memory
    };
    let size = |memory: &Memory, name: &str| memory.get(&key(name)).map(|entry| entry.value);
    let both = with("a", 1, 10)
        .merged(with("a", 2, 20))
        .merged(with("b", 9, 0));
    assert_eq!(size(&both, "a"), Some(Value::Size(2)));
    assert_eq!(size(&both, "b"), Some(Value::Size(9)));
    let other_way = with("b", 9, 0)
        .merged(with("a", 2, 20))
        .merged(with("a", 1, 10));
    assert_eq!(both, other_way);
    assert_eq!(both.beyond(&with("a", 2, 20)), with("b", 9, 0));
    assert!(both.covers(&with("a", 5, 99)) && !with("a", 5, 99).covers(&both));
}

#[test]
fn documents_of_newer_forms_and_broken_ones_are_told_apart() {
    // S-11.2
    assert_eq!(
        Memory::parse(r#"{"format":2,"entries":"other"}"#),
        Err(FormatError::Newer(2))
    );
    let row = |rest: &str| {
        format!(
            r#"{{"format":1,"entries":[{{"kind":"deployment","namespace":"a","name":"b","uid":"u","run":"r","by":"x"{rest}}}]}}"#
        )
    };
    for text in [
        String::new(),
        "null".into(),
        "[]".into(),
        "{}".into(),
        r#"{"format":"1","entries":[]}"#.into(),
        r#"{"format":1}"#.into(),
        row(r#","at":"2026-12-01T00:00:00Z""#),
        row(r#","at":"2026-12-01T00:00:00Z","value":-1"#),
        row(r#","at":"2026-12-01T00:00:00Z","value":true"#),
        row(r#","at":"2026-12-01T00:00:00Z","value":4294967296"#),
        row(r#","at":"yesterday","value":1"#),
    ] {
        let found = Memory::parse(&text);
        assert!(
            matches!(found, Err(FormatError::Broken(_))),
            "{text}: {found:?}"
        );
    }
    let whole = row(r#","at":"2026-12-01T00:00:00Z","value":3,"later":"unknown""#);
    assert_eq!(Memory::parse(&whole).unwrap().len(), 1);
}

#[test]
fn three_thousand_objects_fit_into_a_configmap() {
    // S-11.2
    let mut memory = Memory::default();
    for number in 0..3_000 {
        let entry = Entry {
            at: Timestamp::from_millisecond(1_790_000_000_123).unwrap(),
            by: "deployer@ci-runner-0001.internal".into(),
            ..entry(
                &"0".repeat(36),
                Value::Size(10),
                "20261201T020000.000Z-4194304",
            )
        };
        memory.insert(key(&format!("a-service-of-our-shop-{number:04}")), entry);
    }
    let bytes = memory.text().len();
    assert!(bytes < crate::state::store::NEAR_BYTES, "{bytes}");
    let bound = crate::state::store::MOST_BYTES / (bytes / 3_000);
    assert!(
        (3_800..5_500).contains(&bound),
        "{bound} objects of {} bytes",
        bytes / 3_000
    );
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        rows in prop::collection::vec(("\\PC{0,20}", "\\PC{0,20}", any::<u32>(), any::<bool>(), 0..10_000_i64), 0..20)
    ) {
        let mut memory = Memory::default();
        for (name, uid, size, cron, second) in rows {
            let (kind, value) = match cron {
                true => (ObjectKind::CronJob, Value::Suspend(size % 2 == 0)),
                false => (ObjectKind::StatefulSet, Value::Size(size)),
            };
            let entry = Entry { at: at(second), ..entry(&uid, value, "r") };
            memory.insert(Key { kind, ..key(&name) }, entry);
        }
        prop_assert_eq!(Memory::parse(&memory.text()), Ok(memory));
    }

    #[test]
    fn no_document_is_read_with_a_panic(text in "\\PC{0,200}") {
        let _ = Memory::parse(&text);
    }
}
