//! Charts as archives.
//!
//! Duty: write a chart as `helm package` does, so that Helm reads it: Chart.yaml and Chart.lock written
//! anew, everything else byte for byte, charts within it as folders. The same chart and time make the
//! same bytes. What an archive is called, and where it goes, is the caller's.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use flate2::{Compression, GzBuilder};
use serde::Serialize;
use tar::{Builder, EntryType, Header};

use crate::load::Chart;
use crate::quote::quoted;
use crate::yaml;

/// What Helm puts into the header of its archives beside the comment.
const EXTRA: &[u8] = b"+aHR0cHM6Ly95b3V0dS5iZS96OVV6MWljandyTQo=";
/// As many as [`crate::load`] reads.
const MAX_DEPTH: usize = 64;

/// A chart that cannot be packed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    /// Metadata that Helm would not load again.
    #[error("chart validation: {0}")]
    Invalid(String),
    /// A name that is no single name of a folder.
    #[error("{} is not a valid chart name", quoted(.0))]
    Name(String),
    /// A schema that is no JSON.
    #[error("Invalid JSON in values.schema.json")]
    Schema,
    /// A file whose path does not fit into an archive.
    #[error("cannot pack {name}: {cause}")]
    File {
        /// The path in the archive.
        name: String,
        /// What is wrong with it.
        cause: String,
    },
    /// Charts within charts without end.
    #[error("charts are nested deeper than {MAX_DEPTH}")]
    Depth,
}

/// Chart.yaml as Helm writes it: keys sorted, empty ones left out.
///
/// # Errors
///
/// Never for what [`crate::load`] makes; the cause where a value has no form in YAML.
pub fn chart_yaml(chart: &Chart) -> Result<String, String> {
    document(&chart.metadata)
}

/// The bytes of an archive (`.tgz`) of a chart, with everything in it. `modified` is the time of every
/// file, in whole seconds; before 1970 it is 1970.
///
/// # Errors
///
/// Metadata that is not valid, names that lead out of the archive, a schema that is no JSON.
pub fn archive(chart: &Chart, modified: SystemTime) -> Result<Vec<u8>, PackError> {
    let mut metadata = chart.metadata.clone();
    metadata.validate().map_err(PackError::Invalid)?;
    let zip = GzBuilder::new()
        .extra(EXTRA)
        .comment("Helm")
        .write(Vec::new(), Compression::default());
    let seconds = modified
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let mut packer = Packer {
        tar: Builder::new(zip),
        seconds,
    };
    packer.chart(chart, "", MAX_DEPTH)?;
    let end = |error: std::io::Error| PackError::File {
        name: chart.metadata.name.clone(),
        cause: error.to_string(),
    };
    let zip = packer.tar.into_inner().map_err(end)?;
    zip.finish().map_err(end)
}

fn document(value: &impl Serialize) -> Result<String, String> {
    let value = serde_json::to_value(value).map_err(|error| error.to_string())?;
    let mut text = yaml::encode(&value).map_err(|error| error.to_string())?;
    text.push('\n');
    Ok(text)
}

struct Packer<W: Write> {
    tar: Builder<W>,
    seconds: u64,
}

impl<W: Write> Packer<W> {
    fn chart(&mut self, chart: &Chart, above: &str, depth: usize) -> Result<(), PackError> {
        let name = &chart.metadata.name;
        if name.is_empty() || name.contains('/') {
            return Err(PackError::Name(name.clone()));
        }
        let base = format!("{above}{name}");
        self.metadata(chart, &base)?;
        if let Some(values) = &chart.raw_values {
            self.file(&base, "values.yaml", values)?;
        }
        if let Some(schema) = &chart.schema {
            serde_json::from_slice::<serde::de::IgnoredAny>(schema)
                .map_err(|_| PackError::Schema)?;
            self.file(&base, "values.schema.json", schema)?;
        }
        for file in chart.templates.iter().chain(&chart.files) {
            self.file(&base, &file.name, &file.data)?;
        }
        let depth = depth.checked_sub(1).ok_or(PackError::Depth)?;
        let below = format!("{base}/charts/");
        for inner in &chart.dependencies {
            self.chart(inner, &below, depth)?;
        }
        Ok(())
    }

    fn metadata(&mut self, chart: &Chart, base: &str) -> Result<(), PackError> {
        let broken = |name: &str, cause| PackError::File {
            name: format!("{base}/{name}"),
            cause,
        };
        let version = chart.metadata.api_version.as_str();
        let text = if version == "v1" {
            // They are in requirements.yaml, which is among the files.
            let mut metadata = chart.metadata.clone();
            metadata.dependencies = None;
            document(&metadata)
        } else {
            document(&chart.metadata)
        };
        let text = text.map_err(|cause| broken("Chart.yaml", cause))?;
        self.file(base, "Chart.yaml", text.as_bytes())?;
        match &chart.lock {
            Some(lock) if version == "v2" => {
                let text = document(lock).map_err(|cause| broken("Chart.lock", cause))?;
                self.file(base, "Chart.lock", text.as_bytes())
            }
            _ => Ok(()),
        }
    }

    fn file(&mut self, base: &str, name: &str, data: &[u8]) -> Result<(), PackError> {
        let path = format!("{base}/{name}");
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(self.seconds);
        header.set_size(data.len() as u64);
        self.tar
            .append_data(&mut header, &path, data)
            .map_err(|error| PackError::File {
                name: path.clone(),
                cause: error.to_string(),
            })
    }
}
