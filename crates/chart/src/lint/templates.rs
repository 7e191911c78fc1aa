//! The rules of templates and what they render to.

use std::sync::LazyLock;

use kzero_gotmpl::golang::Pattern;
use serde_json::{Map, Value};

use super::objects::{Documents, Object, has_kept_items};
use super::source::Source;
use super::{MODE, Options, Report, deprecated, names};
use crate::load::{Chart, LoadError};
use crate::quote::quoted;
use crate::render::{self, Capabilities, Prepared, Release};
use crate::schema;

const FOLDER: &str = "templates/";
/// Lines that Helm reads, in bytes.
const MAX_LINE: usize = 64 * 1024;

static CRD_HOOK: LazyLock<Option<Pattern>> =
    LazyLock::new(|| Pattern::new(r#""?helm\.sh/hook"?:\s+crd-install"#, 1 << 20).ok());

pub(super) fn check(
    source: &Source,
    chart: &Result<Chart, LoadError>,
    values: &Map<String, Value>,
    options: &Options<'_>,
    report: &mut Report,
) {
    let is_folder = if source.is_file("templates") {
        Err("not a directory".to_owned())
    } else {
        Ok(())
    };
    if !report.warning(FOLDER, is_folder) {
        return;
    }
    let chart = match chart {
        Ok(chart) => chart,
        Err(error) => {
            report.error(FOLDER, Err(error.to_string()));
            return;
        }
    };
    let mut capabilities = Capabilities::default();
    if let Some(version) = &options.kube_version {
        capabilities.kube_version = version.clone();
    }
    let Some(files) = rendered(chart, values, options, &capabilities, report) else {
        return;
    };
    for file in &chart.templates {
        let text = String::from_utf8_lossy(&file.data);
        report.error(&file.name, extension(&file.name));
        report.warning(&file.name, no_crd_hook(&text));
        report.error(&file.name, no_release_time(&text));
        if !file.name.ends_with(".yaml") {
            continue;
        }
        let path = format!("{}/{}", chart.metadata.name, file.name);
        let content = files.get(&path).map(|bytes| String::from_utf8_lossy(bytes));
        let content = content.unwrap_or_default();
        if !content.trim().is_empty() && !documents(&file.name, &content, &capabilities, report) {
            return;
        }
    }
}

/// The rendered files, unless something is wrong with the values or the templates.
fn rendered(
    chart: &Chart,
    values: &Map<String, Value>,
    options: &Options<'_>,
    capabilities: &Capabilities,
    report: &mut Report,
) -> Option<std::collections::BTreeMap<String, Vec<u8>>> {
    // Values that do not go together are not the linter's to tell, as in Helm.
    let first = Prepared::new(chart, values).ok()?;
    // Laid over the chart's twice, as in Helm: what null took away is there again.
    let prepared = Prepared::new(chart, &first.values().ok()?).ok()?;
    report.notes.extend(prepared.warnings().iter().cloned());
    if !options.skip_schema_validation
        && let Err(error) = schema::validate_prepared(&prepared, options.fetch)
    {
        report.error(FOLDER, Err(error.to_string()));
        return None;
    }
    let release = Release::install("test-release", &options.namespace);
    let rendering = render::Options {
        mode: MODE,
        ..render::Options::default()
    };
    match prepared.render(&release, capabilities, options.ambient, &rendering) {
        Ok(rendered) => {
            report.notes.extend(rendered.notes);
            Some(rendered.files)
        }
        Err(error) => {
            report.error(FOLDER, Err(error.to_string()));
            None
        }
    }
}

fn extension(name: &str) -> Result<(), String> {
    let last = name.rsplit('/').next().unwrap_or(name);
    let extension = last.rfind('.').and_then(|at| last.get(at..)).unwrap_or("");
    if matches!(extension, ".yaml" | ".yml" | ".tpl" | ".txt") {
        return Ok(());
    }
    Err(format!(
        "file extension '{extension}' not valid. Valid extensions are .yaml, .yml, .tpl, or .txt"
    ))
}

fn no_crd_hook(text: &str) -> Result<(), String> {
    if CRD_HOOK
        .as_ref()
        .is_some_and(|pattern| pattern.is_match(text))
    {
        return Err("manifest is a crd-install hook. This hook is no longer supported in v3 and all CRDs should also exist the crds/ directory at the top level of the chart".to_owned());
    }
    Ok(())
}

fn no_release_time(text: &str) -> Result<(), String> {
    if text.contains(".Release.Time") {
        return Err(".Release.Time has been removed in v3, please replace with the `now` function in your templates".to_owned());
    }
    Ok(())
}

/// The first line that is not blank begins at the margin.
fn no_indent(content: &str) -> Result<(), String> {
    for line in content.lines() {
        if line.len() >= MAX_LINE {
            return Err("bufio.Scanner: token too long".to_owned());
        }
        if line.trim().is_empty() {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            return Err(format!(
                "document starts with an illegal indent: {}, which may cause parsing problems",
                quoted(line)
            ));
        }
        return Ok(());
    }
    Ok(())
}

/// Checks what a file rendered to; tells whether it was YAML to the end.
fn documents(path: &str, content: &str, capabilities: &Capabilities, report: &mut Report) -> bool {
    report.warning(path, no_indent(content));
    for document in Documents::new(content) {
        let object = match document {
            Ok(Some(object)) => object,
            Ok(None) => continue,
            Err(error) => {
                report.error(path, Err(format!("unable to parse YAML: {error}")));
                return false;
            }
        };
        report.warning(path, names::check(&object.kind, &object.name));
        let (version, kind) = (object.api_version.as_str(), object.kind.as_str());
        let deprecated = deprecated::check(version, kind, &capabilities.kube_version);
        report.warning(path, deprecated);
        report.error(path, selector(&object, content));
        report.error(path, list(&object, content));
    }
    true
}

fn selector(object: &Object, content: &str) -> Result<(), String> {
    let kind = object.kind.as_str();
    let selects = content.contains("matchLabels") || content.contains("matchExpressions");
    if selects
        || !matches!(
            kind,
            "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet"
        )
    {
        return Ok(());
    }
    let name = quoted(&object.name);
    Err(format!(
        "a {kind} must contain matchLabels or matchExpressions, and {name} does not"
    ))
}

fn list(object: &Object, content: &str) -> Result<(), String> {
    if object.kind != "List" {
        return Ok(());
    }
    match has_kept_items(content) {
        Ok(false) => Ok(()),
        Ok(true) => {
            Err("Annotation 'helm.sh/resource-policy' within List objects are ignored".to_owned())
        }
        Err(error) => Err(format!("unable to parse YAML: {error}")),
    }
}
