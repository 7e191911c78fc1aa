//! Charts in one text, with the cases they are rendered in. `tests/oracle/render` reads the same form.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "of tests")]

use kzero_chart::load::File;
use kzero_chart::{values, yaml};
use serde_json::{Map, Value};

/// A chart and its cases.
#[derive(Default)]
pub(super) struct Fixture {
    files: Vec<(String, String)>,
    /// Values files, which are not in the chart.
    extra: Vec<(String, String)>,
    cases: Vec<Case>,
}

/// One way to render a chart.
#[derive(Default)]
pub(super) struct Case {
    pub(super) name: String,
    flags: Vec<(String, String)>,
    /// `templates/t.yaml` of this case.
    template: Option<String>,
}

impl Case {
    /// The value of a flag, if it is given.
    pub(super) fn flag(&self, name: &str) -> Option<&str> {
        let mut flags = self.flags.iter();
        flags
            .find(|(flag, _)| flag == name)
            .map(|(_, value)| value.as_str())
    }
}

impl Case {
    /// Whether it is about the whole chart and not one template.
    pub(super) fn is_whole(&self) -> bool {
        self.template.is_none()
    }
}

impl Fixture {
    /// Reads a fixture by its name.
    pub(super) fn read(name: &str) -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/render");
        Self::parse(&std::fs::read_to_string(format!("{folder}/{name}.txt")).unwrap())
    }

    /// Reads a fixture from its text.
    pub(super) fn parse(text: &str) -> Self {
        let mut fixture = Self::default();
        let mut section: Option<(&str, String)> = None;
        for line in text.split_inclusive('\n') {
            let trimmed = line.trim_end_matches('\n');
            let header = trimmed
                .strip_prefix("-- ")
                .and_then(|rest| rest.strip_suffix(" --"));
            if let Some(header) = header {
                fixture.finish(section.replace((header, String::new())));
            } else if let Some((_, body)) = &mut section {
                body.push_str(line);
            } else if let Some(case) = trimmed.strip_prefix("case ") {
                fixture.cases.push(case_of(case));
            } else {
                assert!(trimmed.is_empty() || trimmed.starts_with('#'), "{line:?}");
            }
        }
        fixture.finish(section);
        if !fixture.files.iter().any(|(name, _)| name == "Chart.yaml") {
            let chart = "apiVersion: v2\nname: ch\nversion: 0.1.0\n";
            fixture
                .files
                .push(("Chart.yaml".to_owned(), chart.to_owned()));
        }
        fixture
    }

    fn finish(&mut self, section: Option<(&str, String)>) {
        let Some((header, mut body)) = section else {
            return;
        };
        let mut name = header;
        while let Some((rest, mark)) = name.rsplit_once(' ').filter(|(_, m)| m.starts_with('[')) {
            body = match mark {
                "[crlf]" => body.replace('\n', "\r\n"),
                "[bom]" => format!("\u{feff}{body}"),
                "[nonl]" => body.strip_suffix('\n').unwrap_or(&body).to_owned(),
                other => panic!("{other}"),
            };
            name = rest;
        }
        if name.starts_with('@') {
            self.extra.push((name.to_owned(), body));
        } else if let Some(case) = name.strip_prefix("each ") {
            self.cases.push(Case {
                name: case.to_owned(),
                template: Some(body),
                ..Case::default()
            });
        } else {
            self.files.push((name.to_owned(), body));
        }
    }

    /// The case of this name.
    pub(super) fn case(&self, name: &str) -> &Case {
        let mut cases = self.cases.iter();
        cases.find(|case| case.name == name).expect(name)
    }

    /// How many cases there are.
    pub(super) fn len(&self) -> usize {
        self.cases.len()
    }

    /// The files of the chart in this case.
    pub(super) fn chart(&self, case: &Case) -> Vec<File> {
        let one = case.template.iter();
        let one = one.map(|text| ("templates/t.yaml", text));
        let files = self.files.iter().map(|(name, text)| (name.as_str(), text));
        files
            .chain(one)
            .map(|(name, text)| File {
                name: name.to_owned(),
                data: text.as_str().into(),
            })
            .collect()
    }

    /// What the flags of a case give together, in Helm's order; or why a file is none.
    pub(super) fn values(&self, case: &Case) -> Result<Map<String, Value>, String> {
        let mut all = Map::new();
        let given = |name: &'static str| case.flags.iter().filter(move |(flag, _)| flag == name);
        for (_, file) in given("-f") {
            let mut extra = self.extra.iter();
            let (_, text) = extra.find(|(name, _)| name == file).expect(file);
            let failed = |error: String| format!("failed to parse {file}: {error}");
            match yaml::decode(text) {
                Ok(Value::Object(map)) => values::merge_files(&mut all, map),
                Ok(Value::Null) => {}
                Ok(other) => return Err(failed(mismatch(&other))),
                Err(error) => {
                    return Err(failed(format!("error converting YAML to JSON: {error}")));
                }
            }
        }
        for (_, text) in given("--set-json") {
            values::set::set_json(&mut all, text)
                .map_err(|_| format!("failed parsing --set-json data {text}"))?;
        }
        for (_, text) in given("--set") {
            values::set::set(&mut all, text)
                .map_err(|error| format!("failed parsing --set data: {error}"))?;
        }
        for (_, text) in given("--set-string") {
            values::set::set_string(&mut all, text)
                .map_err(|error| format!("failed parsing --set-string data: {error}"))?;
        }
        for (_, text) in given("--set-literal") {
            values::set::set_literal(&mut all, text)
                .map_err(|error| format!("failed parsing --set-literal data: {error}"))?;
        }
        Ok(all)
    }
}

fn mismatch(value: &Value) -> String {
    let kind = match value {
        Value::Array(_) => "array",
        _ => "string",
    };
    format!(
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    )
}

fn case_of(text: &str) -> Case {
    let mut words = text.split(' ');
    let mut case = Case {
        name: words.next().unwrap_or_default().to_owned(),
        ..Case::default()
    };
    while let Some(flag) = words.next() {
        let alone = matches!(
            flag,
            "--is-upgrade" | "--include-crds" | "--render-subchart-notes"
        );
        let value = if alone { None } else { words.next() };
        case.flags
            .push((flag.to_owned(), value.unwrap_or_default().to_owned()));
    }
    case
}
