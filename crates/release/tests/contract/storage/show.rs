//! What is printed of revisions, against what Helm 3 prints of the same records.

use jiff::tz::TimeZone;
use kzero_release::revision::{HookRun, Phase, Revision, Status, Time};
use kzero_release::show::{self, Format, ListColumns, StatusParts};
use kzero_testkit::ControlPlane;
use serde_json::json;

use super::write::made;
use super::{Helm, Place, budget};

const FORMATS: [(&str, Format); 3] = [
    ("table", Format::Table),
    ("json", Format::Json),
    ("yaml", Format::Yaml),
];

fn zoned(text: &str) -> Time {
    let zoned: jiff::Zoned = text.parse().unwrap();
    Time::from(&zoned)
}

/// Revisions with something for each branch of what is printed.
async fn revisions(place: &Place<'_>) -> Vec<Revision> {
    let storage = place.storage();
    let mut first = made(place, 1, Status::Superseded);
    first.info.last_deployed = Some(zoned("2026-01-02T03:04:05.5+02:00[+02:00]"));
    first.info.description = "zwölf Größen 日本 <&>\nsecond line".to_owned();
    first.config.clear();
    let mut second = made(place, 2, Status::Failed);
    second.info.last_deployed = None;
    second.info.notes.clear();
    second.hooks.clear();
    second.config.insert(
        "a".to_owned(),
        json!({"list": [1, 2.5, "x: y"], "t": "a\nb\n"}),
    );
    let mut third = made(place, 3, Status::Deployed);
    third.info.description = "Dry run complete".to_owned();
    third.info.notes = "\n  notes <&> \n\n".to_owned();
    let run = third.hooks[0].last_run;
    third.hooks.retain(|hook| hook.name == "web-test");
    third.hooks.push(third.hooks[0].clone());
    third.hooks.push(third.hooks[0].clone());
    third.hooks[1].last_run = HookRun {
        completed_at: None,
        phase: Phase::Running,
        ..run
    };
    third.hooks[2].last_run = HookRun::default();
    let mut all = vec![first, second, third];
    for revision in &mut all {
        storage.create(revision, &budget()).await.unwrap();
    }
    all
}

#[tokio::test]
async fn revisions_are_shown_as_helm_shows_them() {
    let plane = ControlPlane::attach();
    let place = Place::new(&plane, "secret").await;
    let revisions = revisions(&place).await;
    let same = |args: &str, own: String| assert_eq!(own, place.helm(Helm::Three, args), "{args}");
    for (word, format) in FORMATS {
        for max in [256, 2, 0] {
            let own = show::history(&revisions, max, format).unwrap();
            same(&format!("history web --max {max} -o {word}"), own);
        }
        for revision in &revisions {
            let number = revision.version;
            let args = format!("web --revision {number} -o {word}");
            let plain = show::status(revision, StatusParts::default(), format).unwrap();
            same(&format!("status {args}"), plain);
            for all in [false, true] {
                let own = show::values(revision, all, format).unwrap();
                same(&format!("get values {args} --all={all}"), own);
            }
            same(
                &format!("get metadata {args}"),
                show::metadata(revision, format).unwrap(),
            );
        }
    }
    for revision in &revisions {
        let args = format!("web --revision {}", revision.version);
        let parts = StatusParts {
            description: true,
            ..StatusParts::default()
        };
        let described = show::status(revision, parts, Format::Table).unwrap();
        same(&format!("status {args} --show-desc"), described);
        same(&format!("get all {args}"), show::all(revision).unwrap());
        same(&format!("get manifest {args}"), show::manifest(revision));
        same(&format!("get hooks {args}"), show::hooks(revision));
        same(&format!("get notes {args}"), show::notes(revision));
    }
}

#[tokio::test]
async fn lists_are_shown_as_helm_shows_them() {
    let plane = ControlPlane::attach();
    let place = Place::new(&plane, "secret").await;
    let storage = place.storage();
    let columns = |time_format: Option<&str>, headers| ListColumns {
        time_format: time_format.map(str::to_owned),
        zone: TimeZone::UTC,
        headers,
    };
    let mut all: Vec<Revision> = Vec::new();
    let same = |all: &[Revision], columns: &ListColumns, flags: &str| {
        for (word, format) in FORMATS {
            let own = show::list(all, columns, format).unwrap();
            let args = format!("list --all {flags} -o {word}");
            assert_eq!(own, place.helm(Helm::Three, &args), "{args}");
        }
    };
    same(&all, &columns(None, true), "");
    same(&all, &columns(None, false), "--no-headers");
    for (name, time) in [
        ("api", Some("2026-01-02T03:04:05.5+02:00[+02:00]")),
        ("db", Some("2026-11-30T15:51:21.059435108-03:30[-03:30]")),
        ("web", Some("2026-11-30T15:51:21+00:00[+00:00]")),
        ("x", None),
    ] {
        let mut one = made(&place, 12, Status::PendingUpgrade);
        name.clone_into(&mut one.name);
        one.info.last_deployed = time.map(zoned);
        if name == "db" {
            one.chart = None;
        }
        storage.create(&mut one, &budget()).await.unwrap();
        all.push(one);
    }
    same(&all, &columns(None, true), "");
    same(&all, &columns(None, false), "--no-headers");
    same(
        &all,
        &columns(Some("2006-01-02_15:04Z0700"), true),
        "--time-format 2006-01-02_15:04Z0700",
    );
    for (word, format) in FORMATS {
        let args = format!("list --all --short -o {word}");
        assert_eq!(
            show::names(&all, format).unwrap(),
            place.helm(Helm::Three, &args)
        );
    }
}
