//! What is printed of revisions, against what Helm printed of the same (tests/oracle/release/show).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::tz::TimeZone;
use kzero_release::codec::decode;
use kzero_release::revision::{Revision, Status, Time};
use kzero_release::show::{self, Format, ListColumns, StatusParts};

use super::records::golden;

/// What this program prints where Helm is called with these arguments.
fn printed(all: &[Revision], args: &str) -> String {
    let words: Vec<&str> = args.split_whitespace().collect();
    let behind = |flag: &str| {
        let at = words.iter().position(|word| *word == flag)?;
        words.get(at + 1).copied()
    };
    let format: Format = behind("-o").unwrap_or("table").parse().unwrap();
    let web: Vec<Revision> = all
        .iter()
        .filter(|one| one.name == "web")
        .cloned()
        .collect();
    let one = behind("--revision").map(|number| {
        let number: i64 = number.parse().unwrap();
        web.iter().find(|one| one.version == number).unwrap()
    });
    match (words[0], words[1], one) {
        ("history", ..) => {
            let max = behind("--max").unwrap().parse().unwrap();
            show::history(&web, max, format).unwrap()
        }
        ("list", ..) => listed(all, &words, behind("--time-format"), format),
        ("status", _, Some(one)) => {
            let parts = StatusParts {
                description: words.contains(&"--show-desc"),
                ..StatusParts::default()
            };
            show::status(one, parts, format).unwrap()
        }
        ("get", "values", Some(one)) => {
            show::values(one, words.contains(&"--all"), format).unwrap()
        }
        ("get", "metadata", Some(one)) => show::metadata(one, format).unwrap(),
        ("get", "all", Some(one)) => show::all(one).unwrap(),
        ("get", "manifest", Some(one)) => show::manifest(one),
        ("get", "hooks", Some(one)) => show::hooks(one),
        ("get", "notes", Some(one)) => show::notes(one),
        _ => panic!("{args}"),
    }
}

fn listed(all: &[Revision], words: &[&str], time_format: Option<&str>, format: Format) -> String {
    let newest = |one: &&Revision| one.name != "web" || one.version == 4;
    let mut shown: Vec<Revision> = all.iter().filter(newest).cloned().collect();
    if words.contains(&"--uninstalling") {
        shown.retain(|one| one.info.status == Status::Uninstalling);
    }
    if words.contains(&"--short") {
        return show::names(&shown, format).unwrap();
    }
    let columns = ListColumns {
        time_format: time_format.map(str::to_owned),
        zone: TimeZone::UTC,
        headers: !words.contains(&"--no-headers"),
    };
    show::list(&shown, &columns, format).unwrap()
}

#[test]
fn revisions_are_shown_as_helm_shows_them() {
    let rows = golden("show.jsonl");
    let (records, calls) = rows.split_first().unwrap();
    let records = records["records"].as_array().unwrap();
    let all: Vec<Revision> = records
        .iter()
        .map(|record| decode(&STANDARD.encode(record.as_str().unwrap())).unwrap())
        .collect();
    assert_eq!(calls.len(), 100);
    for call in calls {
        let args = call["args"].as_str().unwrap();
        assert_eq!(
            printed(&all, args),
            call["output"].as_str().unwrap(),
            "{args}"
        );
    }
}

#[test]
fn times_have_the_name_of_the_zone_they_are_shown_in() {
    let mut one = Revision::new("web", "shop", 1, Status::Deployed);
    let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    let shown = |text: &str, one: &mut Revision| {
        let zoned: jiff::Zoned = text.parse().unwrap();
        one.info.last_deployed = Some(Time::from(&zoned));
        let columns = ListColumns {
            time_format: None,
            zone: zone.clone(),
            headers: false,
        };
        let line = show::list(std::slice::from_ref(one), &columns, Format::Table).unwrap();
        line.split('\t').nth(3).unwrap().to_owned()
    };
    for (text, expected) in [
        (
            "2026-07-01T12:00:00.5+02:00[+02:00]",
            "2026-07-01 12:00:00.5 +0200 CEST",
        ),
        (
            "2026-12-01T12:00:00+01:00[+01:00]",
            "2026-12-01 12:00:00 +0100 CET",
        ),
        (
            "2026-12-01T12:00:00+02:00[+02:00]",
            "2026-12-01 12:00:00 +0200 +0200",
        ),
        (
            "2026-12-01T12:00:00+00:00[+00:00]",
            "2026-12-01 12:00:00 +0000 UTC",
        ),
    ] {
        assert_eq!(shown(text, &mut one), expected);
    }
}

#[test]
fn what_yaml_has_no_place_for_is_told_in_helms_words() {
    let mut one = Revision::new("web", "shop", 1, Status::Deployed);
    one.info.description = "a\u{7f}".to_owned();
    let error = show::history(std::slice::from_ref(&one), 1, Format::Yaml).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unable to write YAML output: error converting JSON to YAML: yaml: control characters are not allowed"
    );
    assert_eq!(
        "xml".parse::<Format>().unwrap_err().to_string(),
        "invalid format type"
    );
}
