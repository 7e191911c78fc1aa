//! The rules of dependencies: what is listed against what is there.

use std::collections::HashSet;

use super::Report;
use super::source::Source;
use crate::load::{Chart, LoadError};
use crate::metadata::Dependency;

pub(super) fn check(source: &Source, chart: &Result<Chart, LoadError>, report: &mut Report) {
    let chart = match chart {
        Ok(chart) => chart,
        Err(error) => {
            report.error("", Err(format!("unable to load chart\n\t{error}")));
            return;
        }
    };
    let path = source.shown();
    report.error(&path, in_metadata(chart));
    report.error(&path, unique(chart));
    report.warning(&path, in_charts(chart));
}

fn listed(chart: &Chart) -> impl Iterator<Item = &Dependency> {
    let dependencies = chart.metadata.dependencies.iter().flatten();
    dependencies.filter_map(|dependency| dependency.as_deref())
}

fn none_of(names: &[&str], text: &str) -> Result<(), String> {
    if names.is_empty() {
        return Ok(());
    }
    Err(format!("{text}: {}", names.join(",")))
}

fn in_metadata(chart: &Chart) -> Result<(), String> {
    let known: HashSet<&str> = listed(chart).map(|listed| listed.name.as_str()).collect();
    let children = chart
        .dependencies
        .iter()
        .map(|child| child.metadata.name.as_str());
    let missing: Vec<&str> = children.filter(|name| !known.contains(name)).collect();
    none_of(&missing, "chart metadata is missing these dependencies")
}

fn unique(chart: &Chart) -> Result<(), String> {
    let mut known = HashSet::new();
    let names = listed(chart).map(Dependency::effective_name);
    let twice: Vec<&str> = names.filter(|name| !known.insert(*name)).collect();
    none_of(&twice, "multiple dependencies with name or alias")
}

fn in_charts(chart: &Chart) -> Result<(), String> {
    let children = chart
        .dependencies
        .iter()
        .map(|child| child.metadata.name.as_str());
    let known: HashSet<&str> = children.collect();
    let names = listed(chart).map(|listed| listed.name.as_str());
    let missing: Vec<&str> = names.filter(|name| !known.contains(name)).collect();
    none_of(&missing, "chart directory is missing these dependencies")
}
