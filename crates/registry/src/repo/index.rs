//! `index.yaml`: which charts a repository has.
//!
//! Duty: read it as strictly as Helm, drop entries that are no charts with a warning each, and pick
//! versions. Bounds: 100 MiB, and those of the YAML reader.

use std::collections::HashMap;

use kzero_chart::metadata::{Dependency, Maintainer, Metadata};
use kzero_gotmpl::semver::{Constraint, Version};
use serde_json::{Map, Value};

use super::text;
use crate::error::Error;
use crate::quote::quoted;

/// The largest index that is read.
pub(crate) const MAX_INDEX: u64 = 100 * 1024 * 1024;

/// One version of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChartVersion {
    pub(crate) version: String,
    parsed: Version,
    /// Where it is, absolute or below the repository.
    pub(crate) urls: Vec<String>,
    /// The SHA-256 of the archive; empty where nothing is said.
    pub(crate) digest: String,
}

/// The charts of a repository, each with its versions, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Index {
    charts: HashMap<String, Vec<ChartVersion>>,
}

/// Fields of an index; what else there is makes Helm refuse it.
const INDEX: &[&str] = &[
    "serverInfo",
    "apiVersion",
    "generated",
    "entries",
    "publicKeys",
    "annotations",
];
/// Fields of an entry: those of Chart.yaml, and more.
const ENTRY: &[&str] = &[
    "name",
    "home",
    "sources",
    "version",
    "description",
    "keywords",
    "maintainers",
    "icon",
    "apiVersion",
    "condition",
    "tags",
    "appVersion",
    "deprecated",
    "annotations",
    "kubeVersion",
    "dependencies",
    "type",
    "urls",
    "created",
    "removed",
    "digest",
    "checksum",
    "engine",
    "tillerVersion",
    "url",
];
const MAINTAINER: &[&str] = &["name", "email", "url"];
const DEPENDENCY: &[&str] = &[
    "name",
    "version",
    "repository",
    "condition",
    "tags",
    "enabled",
    "import-values",
    "alias",
];

impl Index {
    /// Reads an index of JSON or YAML. `source` is where it is from, for the warnings that come with it.
    ///
    /// # Errors
    ///
    /// Helm's text: it is empty, broken, not an index, has unknown fields (in YAML), or no `apiVersion`.
    pub(crate) fn parse(bytes: &[u8], source: &str) -> Result<(Self, Vec<String>), Error> {
        if bytes.is_empty() {
            return Err(Error::invalid("empty index.yaml file"));
        }
        // JSON has its own reader in Helm, which lets unknown fields pass.
        let looks_like_json = bytes.trim_ascii_start().first() == Some(&b'{');
        let json = looks_like_json
            .then(|| serde_json::from_slice(bytes).ok())
            .flatten();
        let (value, reader) = match json {
            Some(value) => (value, Reader { strict: false }),
            None => {
                let value = kzero_chart::yaml::decode_bytes(bytes).map_err(|error| {
                    Error::invalid(format!("error converting YAML to JSON: {error}"))
                })?;
                (value, Reader { strict: true })
            }
        };
        let file = match value {
            Value::Null => Map::new(),
            Value::Object(map) => map,
            other => return Err(reader.mismatch(&other, "Go value of type repo.IndexFile")),
        };
        reader.index(file, source)
    }

    /// The versions of a chart, the newest first.
    pub(crate) fn chart(&self, name: &str) -> Option<&[ChartVersion]> {
        self.charts.get(name).map(Vec::as_slice)
    }

    /// All addresses in it.
    pub(crate) fn urls(&self) -> impl Iterator<Item = &String> {
        self.charts.values().flatten().flat_map(|entry| &entry.urls)
    }

    /// Picks a version: that very one, else the newest that a constraint wants; the newest release where
    /// nothing is asked for.
    ///
    /// # Errors
    ///
    /// No such chart or version; a constraint that is none.
    pub(crate) fn pick(&self, name: &str, version: &str) -> Result<&ChartVersion, Error> {
        let versions = self
            .chart(name)
            .ok_or_else(|| Error::not_found("no chart name found"))?;
        if versions.is_empty() {
            return Err(Error::not_found("no chart version found"));
        }
        let wanted = if version.is_empty() { "*" } else { version };
        let wanted =
            Constraint::parse(wanted).map_err(|error| Error::invalid(error.to_string()))?;
        let exact = versions.iter().find(|entry| entry.version == version);
        let newest = || versions.iter().find(|entry| wanted.check(&entry.parsed));
        exact
            .or_else(newest)
            .ok_or_else(|| Error::not_found(format!("no chart version found for {name}-{version}")))
    }
}

impl ChartVersion {
    /// The version as a number of its parts.
    pub(crate) fn parsed(&self) -> &Version {
        &self.parsed
    }
}

/// Reads values into an index as Go's JSON does.
struct Reader {
    /// Whether unknown fields are errors, and numbers pass as texts.
    strict: bool,
}

impl Reader {
    fn mismatch(&self, value: &Value, place: &str) -> Error {
        let found = match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let text = format!("json: cannot unmarshal {found} into {place}");
        Error::invalid(if self.strict {
            format!("error unmarshaling JSON: while decoding JSON: {text}")
        } else {
            text
        })
    }

    fn known(&self, map: &Map<String, Value>, fields: &[&str]) -> Result<(), Error> {
        let stranger = map
            .keys()
            .find(|key| !fields.iter().any(|known| known.eq_ignore_ascii_case(key)));
        match stranger {
            Some(key) if self.strict => Err(Error::invalid(format!(
                "error unmarshaling JSON: while decoding JSON: json: unknown field {}",
                quoted(key)
            ))),
            _ => Ok(()),
        }
    }

    fn index(
        &self,
        mut file: Map<String, Value>,
        source: &str,
    ) -> Result<(Index, Vec<String>), Error> {
        self.known(&file, INDEX)?;
        let mut charts = HashMap::new();
        let mut warnings = Vec::new();
        match file.remove("entries").unwrap_or_default() {
            Value::Null => {}
            Value::Object(entries) => {
                for (name, list) in entries {
                    let versions = self.chart(&name, list, source, &mut warnings)?;
                    charts.insert(name, versions);
                }
            }
            other => {
                let place =
                    "Go struct field IndexFile.entries of type map[string]repo.ChartVersions";
                return Err(self.mismatch(&other, place));
            }
        }
        if file
            .get("apiVersion")
            .map(text)
            .unwrap_or_default()
            .is_empty()
        {
            return Err(Error::invalid("no API version specified"));
        }
        Ok((Index { charts }, warnings))
    }

    fn chart(
        &self,
        name: &str,
        list: Value,
        source: &str,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<ChartVersion>, Error> {
        let list = match list {
            Value::Null => Vec::new(),
            Value::Array(list) => list,
            other => {
                let place = "Go struct field IndexFile.entries of type repo.ChartVersions";
                return Err(self.mismatch(&other, place));
            }
        };
        let mut skipped = |version: &str, why: &str| {
            warnings.push(format!(
                "skipping loading invalid entry for chart {}{version} from {source}: {why}",
                quoted(name)
            ));
        };
        let mut versions = Vec::with_capacity(list.len());
        // Helm goes through them from the end, which is how its warnings are ordered.
        for item in list.into_iter().rev() {
            match item {
                Value::Null => skipped("", "empty entry"),
                Value::Object(map) => match self.entry(map)? {
                    Ok(entry) => versions.push(entry),
                    Err((version, why)) => skipped(&format!(" {}", quoted(&version)), &why),
                },
                other => {
                    let place = "Go struct field IndexFile.entries of type repo.ChartVersion";
                    return Err(self.mismatch(&other, place));
                }
            }
        }
        versions.reverse();
        versions.sort_by(|a, b| b.parsed.compare(&a.parsed));
        Ok(versions)
    }

    /// An entry, or its version and why it is none.
    fn entry(
        &self,
        mut map: Map<String, Value>,
    ) -> Result<Result<ChartVersion, (String, String)>, Error> {
        self.known(&map, ENTRY)?;
        let urls = self.texts(map.remove("urls"), "urls")?;
        let digest = map.get("digest").map(text).unwrap_or_default();
        let mut metadata = self.metadata(&mut map)?;
        let why = match metadata.validate() {
            Ok(()) => None,
            // Some repositories leave the alias out.
            Err(why)
                if why.starts_with("validation: more than one dependency with name or alias") =>
            {
                None
            }
            Err(why) => Some(why),
        };
        let version = metadata.version;
        Ok(match (why, Version::parse(&version)) {
            (None, Ok(parsed)) => Ok(ChartVersion {
                version,
                parsed,
                urls,
                digest,
            }),
            (why, _) => Err((version, why.unwrap_or_default())),
        })
    }

    /// What decides whether an entry is valid.
    fn metadata(&self, map: &mut Map<String, Value>) -> Result<Metadata, Error> {
        let of = |name: &str| map.get(name).map(text).unwrap_or_default();
        let mut metadata = Metadata {
            name: of("name"),
            version: of("version"),
            api_version: of("apiVersion"),
            kind: of("type"),
            ..Metadata::default()
        };
        if metadata.api_version.is_empty() {
            "v1".clone_into(&mut metadata.api_version);
        }
        metadata.maintainers =
            self.list(map.remove("maintainers"), MAINTAINER, |map| Maintainer {
                name: map.get("name").map(text).unwrap_or_default(),
                ..Maintainer::default()
            })?;
        metadata.dependencies =
            self.list(map.remove("dependencies"), DEPENDENCY, |map| Dependency {
                name: map.get("name").map(text).unwrap_or_default(),
                alias: map.get("alias").map(text).unwrap_or_default(),
                ..Dependency::default()
            })?;
        Ok(metadata)
    }

    fn list<T>(
        &self,
        value: Option<Value>,
        fields: &[&str],
        make: impl Fn(&Map<String, Value>) -> T,
    ) -> Result<Option<Vec<Option<Box<T>>>>, Error> {
        let list = match value {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Array(list)) => list,
            Some(other) => {
                return Err(self.mismatch(&other, "Go struct field ChartVersion.entries"));
            }
        };
        let items = list.into_iter().map(|item| match item {
            Value::Null => Ok(None),
            Value::Object(map) => {
                self.known(&map, fields)?;
                Ok(Some(Box::new(make(&map))))
            }
            other => Err(self.mismatch(&other, "Go struct field ChartVersion.entries")),
        });
        items.collect::<Result<Vec<_>, _>>().map(Some)
    }

    fn texts(&self, value: Option<Value>, field: &str) -> Result<Vec<String>, Error> {
        match value {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(list)) => Ok(list.iter().map(text).collect()),
            Some(other) => Err(self.mismatch(
                &other,
                &format!("Go struct field ChartVersion.entries.{field} of type []string"),
            )),
        }
    }
}

#[cfg(test)]
mod tests;
