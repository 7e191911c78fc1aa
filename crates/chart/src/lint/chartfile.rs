//! The rules of Chart.yaml.

use kzero_gotmpl::semver::{Constraint, Version};
use serde_json::{Map, Value};

use super::Report;
use super::source::Source;
use super::urls::{is_email, is_request_url, is_url};
use crate::fields::read;
use crate::metadata::Metadata;
use crate::quote::quoted;
use crate::yaml;

const FILE: &str = "Chart.yaml";
/// Nodes of YAML.
const MAX_NODES: usize = 800_000;

pub(super) fn check(source: &Source, report: &mut Report) {
    let is_dir = source.is_dir(FILE);
    let no_dir = if is_dir {
        Err("should be a file, not a directory".to_owned())
    } else {
        Ok(())
    };
    report.error(FILE, no_dir);
    let bytes = source.read(FILE).unwrap_or_else(|| {
        Err(format!(
            "open {}/{FILE}: no such file or directory",
            source.shown()
        ))
    });
    let parsed = bytes.and_then(|bytes| {
        let mut metadata: Option<Box<Metadata>> = Some(Box::default());
        read(&bytes, &mut metadata, &mut { MAX_NODES })?;
        Ok((metadata.unwrap_or_default(), bytes))
    });
    let (metadata, bytes) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            report.error(FILE, Err(format!("unable to parse YAML\n\t{error}")));
            return;
        }
    };
    let raw = match yaml::decode_bytes(&bytes) {
        Ok(Value::Object(raw)) => raw,
        _ => Map::new(),
    };
    report.error(FILE, name(&metadata));
    report.error(FILE, api_version(&metadata));
    report.error(FILE, is_text(&raw, "version"));
    report.error(FILE, version(&metadata));
    report.error(FILE, is_text(&raw, "appVersion"));
    report.error(FILE, maintainers(&metadata));
    report.error(FILE, sources(&metadata));
    report.info(FILE, icon_presence(&metadata));
    report.error(FILE, icon(&metadata));
    report.error(FILE, kind(&metadata));
    report.error(FILE, dependencies(&metadata));
}

fn fail(text: &str) -> Result<(), String> {
    Err(text.to_owned())
}

fn name(metadata: &Metadata) -> Result<(), String> {
    match metadata.name.as_str() {
        "" => fail("name is required"),
        "/" => Ok(()),
        name if name.contains('/') => Err(format!("chart name {} is invalid", quoted(name))),
        _ => Ok(()),
    }
}

fn api_version(metadata: &Metadata) -> Result<(), String> {
    match metadata.api_version.as_str() {
        "v1" | "v2" => Ok(()),
        "" => fail("apiVersion is required. The value must be either \"v1\" or \"v2\""),
        other => Err(format!(
            "apiVersion '{other}' is not valid. The value must be either \"v1\" or \"v2\""
        )),
    }
}

fn is_text(raw: &Map<String, Value>, key: &str) -> Result<(), String> {
    let kind = match raw.get(key) {
        None | Some(Value::String(_)) => return Ok(()),
        Some(Value::Null) => "<nil>",
        Some(Value::Bool(_)) => "bool",
        Some(Value::Number(_)) => "float64",
        Some(Value::Array(_)) => "[]interface {}",
        Some(Value::Object(_)) => "map[string]interface {}",
    };
    Err(format!(
        "{key} should be of type string but it's of type {kind}"
    ))
}

fn version(metadata: &Metadata) -> Result<(), String> {
    let text = metadata.version.as_str();
    if text.is_empty() {
        return fail("version is required");
    }
    let Ok(version) = Version::parse(text) else {
        return Err(format!("version '{text}' is not a valid SemVer"));
    };
    match Constraint::parse(">0.0.0-0") {
        Ok(constraint) if !constraint.check(&version) => {
            let version = quoted(&version.to_string());
            Err(format!(
                "version {version} is less than or equal to \"0.0.0-0\""
            ))
        }
        _ => Ok(()),
    }
}

fn maintainers(metadata: &Metadata) -> Result<(), String> {
    for maintainer in metadata.maintainers.iter().flatten() {
        let Some(maintainer) = maintainer else {
            return fail("a maintainer entry is empty");
        };
        let (name, email, url) = (&maintainer.name, &maintainer.email, &maintainer.url);
        if name.is_empty() {
            return fail("each maintainer requires a name");
        }
        if !email.is_empty() && !is_email(email) {
            return Err(format!("invalid email '{email}' for maintainer '{name}'"));
        }
        if !url.is_empty() && !is_url(url) {
            return Err(format!("invalid url '{url}' for maintainer '{name}'"));
        }
    }
    Ok(())
}

fn sources(metadata: &Metadata) -> Result<(), String> {
    let mut sources = metadata.sources.iter().flatten();
    match sources.find(|source| !is_request_url(source)) {
        Some(source) => Err(format!("invalid source URL '{source}'")),
        None => Ok(()),
    }
}

fn icon_presence(metadata: &Metadata) -> Result<(), String> {
    if metadata.icon.is_empty() {
        return fail("icon is recommended");
    }
    Ok(())
}

fn icon(metadata: &Metadata) -> Result<(), String> {
    let icon = &metadata.icon;
    if icon.is_empty() || is_request_url(icon) {
        return Ok(());
    }
    Err(format!("invalid icon URL '{icon}'"))
}

fn kind(metadata: &Metadata) -> Result<(), String> {
    let version = &metadata.api_version;
    if metadata.kind.is_empty() || version == "v2" {
        return Ok(());
    }
    Err(format!(
        "chart type is not valid in apiVersion '{version}'. It is valid in apiVersion 'v2'"
    ))
}

fn dependencies(metadata: &Metadata) -> Result<(), String> {
    let version = &metadata.api_version;
    let none = metadata.dependencies.as_ref().is_none_or(Vec::is_empty);
    if none || version == "v2" {
        return Ok(());
    }
    Err(format!(
        "dependencies are not valid in the Chart file with apiVersion '{version}'. They are valid in apiVersion 'v2'"
    ))
}
