//! What an index may hold and which version is taken; the texts are Helm's.

use super::*;

fn read(text: &str) -> Result<(Index, Vec<String>), String> {
    Index::parse(text.as_bytes(), "src").map_err(|error| error.to_string())
}

fn entries(list: &[&str]) -> String {
    let items = list.iter().map(|version| {
        format!(
            "  - {{name: web, version: \"{version}\", apiVersion: v2, urls: [web-{version}.tgz]}}\n"
        )
    });
    format!(
        "apiVersion: v1\nentries:\n  web:\n{}",
        items.collect::<String>()
    )
}

fn picked(index: &Index, version: &str) -> String {
    match index.pick("web", version) {
        Ok(found) => found.version.clone(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn versions_are_picked_as_helm_picks_them() {
    let (index, _) = read(&entries(&[
        "1.2.0",
        "1.10.0",
        "2.0.0-rc.1",
        "1.2.9",
        "v1.3.0",
    ]))
    .unwrap();
    let order: Vec<&str> = index
        .chart("web")
        .unwrap()
        .iter()
        .map(|v| v.version.as_str())
        .collect();
    assert_eq!(order, ["2.0.0-rc.1", "1.10.0", "v1.3.0", "1.2.9", "1.2.0"]);
    assert_eq!(picked(&index, ""), "1.10.0");
    assert_eq!(picked(&index, "1.2"), "1.2.9");
    assert_eq!(picked(&index, "1.2.0"), "1.2.0");
    assert_eq!(picked(&index, "1.3.0"), "v1.3.0");
    assert_eq!(picked(&index, ">0.0.0-0"), "2.0.0-rc.1");
    assert_eq!(picked(&index, ">3"), "no chart version found for web->3");
    assert_eq!(picked(&index, "x y"), "improper constraint: \"x y\"");
    assert_eq!(
        index.pick("db", "").unwrap_err().to_string(),
        "no chart name found"
    );
    let (index, _) = read("apiVersion: v1\nentries: {web: []}\n").unwrap();
    assert_eq!(picked(&index, ""), "no chart version found");
}

#[test]
fn a_version_that_is_there_in_words_goes_before_a_newer_one() {
    let (index, _) = read(&entries(&["1.2.0", "1.2.0+b2", "1.2.0+b1"])).unwrap();
    assert_eq!(picked(&index, "1.2.0+b1"), "1.2.0+b1");
    assert_eq!(picked(&index, "1.2.0"), "1.2.0");
}

#[test]
fn entries_that_are_no_charts_are_dropped_with_a_warning() {
    let text = "apiVersion: v1\nentries:\n  web:\n  - {name: web, version: 1.0.0, apiVersion: v2}\n  - null\n  - {name: web, version: x}\n  - {version: 1.0.1}\n  - {name: web, version: 1.0.2, type: odd}\n";
    let (index, warnings) = read(text).unwrap();
    assert_eq!(index.chart("web").unwrap().len(), 1);
    let skipped = "skipping loading invalid entry for chart \"web\"";
    assert_eq!(
        warnings,
        [
            format!(
                "{skipped} \"1.0.2\" from src: validation: chart.metadata.type must be application or library"
            ),
            format!("{skipped} \"1.0.1\" from src: validation: chart.metadata.name is required"),
            format!(
                "{skipped} \"x\" from src: validation: chart.metadata.version \"x\" is invalid"
            ),
            format!("{skipped} from src: empty entry"),
        ]
    );
}

#[test]
fn two_dependencies_of_one_name_are_let_pass() {
    let text = "apiVersion: v1\nentries:\n  web:\n  - {name: web, version: 1.0.0, apiVersion: v2, dependencies: [{name: a}, {name: a}]}\n";
    let (index, warnings) = read(text).unwrap();
    assert_eq!((index.chart("web").unwrap().len(), warnings.len()), (1, 0));
    let text = text.replace("{name: a}, {name: a}", "{name: a, alias: \"x y\"}");
    assert_eq!(read(&text).unwrap().1.len(), 1);
}

#[test]
fn what_is_no_index_is_refused() {
    let text = |index: &str| read(index).unwrap_err();
    assert_eq!(text(""), "empty index.yaml file");
    assert_eq!(text("entries: {}\n"), "no API version specified");
    assert_eq!(text("null\n"), "no API version specified");
    let unknown = "error unmarshaling JSON: while decoding JSON: json: unknown field";
    assert_eq!(
        text("apiVersion: v1\nextra: 1\n"),
        format!("{unknown} \"extra\"")
    );
    let entry = entries(&["1.0.0"]).replace("name: web,", "name: web, odd: 1,");
    assert_eq!(text(&entry), format!("{unknown} \"odd\""));
    assert!(text("a: b: c\n").starts_with("error converting YAML to JSON: yaml: "));
    assert!(
        text("<html>\n<body>\n")
            .contains("cannot unmarshal string into Go value of type repo.IndexFile")
    );
    assert!(text("apiVersion: v1\nentries: [a]\n").contains("cannot unmarshal array"));
    assert!(text("apiVersion: v1\nentries: {web: {a: b}}\n").contains("cannot unmarshal object"));
    assert!(text("apiVersion: v1\nentries: {web: [a]}\n").contains("cannot unmarshal string"));
}

#[test]
fn json_is_read_with_unknown_fields() {
    let text = r#"{"apiVersion": "v1", "extra": 1, "entries": {"web": [{"name": "web", "version": "1.0.0", "odd": 1, "urls": ["a.tgz"], "digest": "d"}]}}"#;
    let (index, warnings) = read(text).unwrap();
    assert!(warnings.is_empty());
    let found = index.pick("web", "").unwrap();
    assert_eq!(
        (found.urls.as_slice(), found.digest.as_str()),
        (["a.tgz".to_owned()].as_slice(), "d")
    );
    // Broken JSON is read as YAML, strictly.
    assert!(
        read(&text.replace("\"d\"}", "\"d\",}"))
            .unwrap_err()
            .contains("unknown field")
    );
}
