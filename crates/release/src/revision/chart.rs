//! The chart as records keep it.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kzero_chart::Chart;
use kzero_chart::load::File;
use kzero_chart::metadata::{Lock, Metadata};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::codec::{Unwritable, go_json};

/// A chart as a record keeps it: definition, lock, templates, default values, schema and files of the chart itself.
/// The charts in it are not kept, only what their values and entries became.
///
/// Nearly all of it is only carried along, so it stays the text it was read as and is written again to the byte.
#[derive(Clone, Debug)]
pub struct StoredChart {
    text: Box<RawValue>,
    metadata: StoredMetadata,
    sizes: Sizes,
}

/// Bytes of the parts of a chart in its JSON.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sizes {
    pub(crate) templates: usize,
    pub(crate) files: usize,
    pub(crate) values: usize,
    pub(crate) schema: usize,
}

/// What is asked of the definition of a stored chart.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StoredMetadata {
    /// The name of the chart.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// The version of the chart.
    #[serde(deserialize_with = "or_default")]
    pub version: String,
    /// The version of what the chart installs.
    #[serde(deserialize_with = "or_default")]
    pub app_version: String,
    /// Whether the chart should no longer be used.
    #[serde(deserialize_with = "or_default")]
    pub deprecated: bool,
    /// Notes for other programs.
    #[serde(deserialize_with = "or_default")]
    pub annotations: BTreeMap<String, String>,
    /// The charts in it, under the names they went by.
    #[serde(deserialize_with = "present_only")]
    pub dependencies: Vec<StoredDependency>,
}

/// An entry of the dependencies of a stored chart. Serializes as Helm writes it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct StoredDependency {
    /// The name it went by.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// The constraint on its version.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub version: String,
    /// Where it came from.
    #[serde(deserialize_with = "or_default")]
    pub repository: String,
    /// Paths of values that switched it.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub condition: String,
    /// Names of groups that were switched together.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whether it was switched on.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub enabled: bool,
    /// Values that the parent took over.
    #[serde(
        rename = "import-values",
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub import_values: Vec<Value>,
    /// The alias that became its name.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub alias: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature is serde's"
)]
fn is_false(value: &bool) -> bool {
    !*value
}

fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

fn present_only<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<StoredDependency>, D::Error> {
    let entries: Vec<Option<StoredDependency>> = or_default(deserializer)?;
    Ok(entries.into_iter().flatten().collect())
}

/// The parts of a chart, each as its text.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Parts<'a> {
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    templates: Option<&'a RawValue>,
    #[serde(borrow)]
    values: Option<&'a RawValue>,
    #[serde(borrow)]
    schema: Option<&'a RawValue>,
    #[serde(borrow)]
    files: Option<&'a RawValue>,
}

/// A chart in the order of Helm's fields.
#[derive(Serialize)]
struct ChartForm<'a> {
    metadata: &'a Metadata,
    lock: Option<&'a Lock>,
    templates: Option<Vec<FileForm<'a>>>,
    values: Option<&'a Map<String, Value>>,
    schema: Option<String>,
    files: Option<Vec<FileForm<'a>>>,
}

#[derive(Serialize)]
struct FileForm<'a> {
    name: &'a str,
    data: String,
}

fn files(files: &[File]) -> Option<Vec<FileForm<'_>>> {
    let form = |file: &'_ File| -> String { STANDARD.encode(&file.data[..]) };
    let list = || {
        files
            .iter()
            .map(|file| FileForm {
                name: &file.name,
                data: form(file),
            })
            .collect()
    };
    // Go writes a list that nothing was put into as null.
    (!files.is_empty()).then(list)
}

impl StoredChart {
    /// What a record keeps of a chart that was rendered: `metadata` and `values` are those of the rendering
    /// ([`Prepared::metadata`](kzero_chart::render::Prepared::metadata) and
    /// [`Prepared::chart_values`](kzero_chart::render::Prepared::chart_values)), the rest is the chart's as it was
    /// loaded.
    ///
    /// # Errors
    ///
    /// Values that cannot be written as JSON, which no values file makes.
    pub fn of(
        chart: &Chart,
        metadata: &Metadata,
        values: &Map<String, Value>,
    ) -> Result<Self, Unwritable> {
        let form = ChartForm {
            metadata,
            lock: chart.lock.as_ref(),
            templates: files(&chart.templates),
            values: (!stays_null(chart, metadata, values)).then_some(values),
            schema: chart
                .schema
                .as_ref()
                .map(|schema| STANDARD.encode(&schema[..])),
            files: files(&chart.files),
        };
        let text =
            String::from_utf8(go_json(&form)?).map_err(|_| Unwritable::new("chart is no UTF-8"))?;
        let text =
            RawValue::from_string(text).map_err(|error| Unwritable::new(error.to_string()))?;
        Self::read(text).map_err(|error| Unwritable::new(error.to_string()))
    }

    fn read(text: Box<RawValue>) -> Result<Self, serde_json::Error> {
        let parts: Parts<'_> = serde_json::from_str(text.get())?;
        let metadata = match parts.metadata {
            Some(metadata) => {
                serde_json::from_str::<Option<StoredMetadata>>(metadata.get())?.unwrap_or_default()
            }
            None => StoredMetadata::default(),
        };
        let size = |part: Option<&RawValue>| part.map_or(0, |part| part.get().len());
        let sizes = Sizes {
            templates: size(parts.templates),
            files: size(parts.files),
            values: size(parts.values),
            schema: size(parts.schema),
        };
        Ok(Self {
            text,
            metadata,
            sizes,
        })
    }

    /// What is known of its definition.
    #[must_use]
    pub fn metadata(&self) -> &StoredMetadata {
        &self.metadata
    }

    /// Its default values, with those imported from the charts in it; empty where it has none.
    #[must_use]
    pub fn values(&self) -> Map<String, Value> {
        let parts: Parts<'_> = serde_json::from_str(self.text.get()).unwrap_or_default();
        let Some(values) = parts.values else {
            return Map::new();
        };
        let mut reader = serde_json::Deserializer::from_str(values.get());
        // The depth was bounded when the record was read.
        reader.disable_recursion_limit();
        Option::<Map<String, Value>>::deserialize(&mut reader)
            .ok()
            .flatten()
            .unwrap_or_default()
    }

    /// The whole of it, as JSON.
    #[must_use]
    pub fn json(&self) -> &str {
        self.text.get()
    }

    pub(crate) fn sizes(&self) -> Sizes {
        self.sizes
    }
}

/// Whether Helm has no table at all for the values of a chart: it has no values file, and none of the charts in it that
/// could have brought some is switched on.
fn stays_null(chart: &Chart, metadata: &Metadata, values: &Map<String, Value>) -> bool {
    values.is_empty() && chart.raw_values.is_none() && metadata.dependencies.is_none()
}

impl Serialize for StoredChart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for StoredChart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        Self::read(text).map_err(D::Error::custom)
    }
}
