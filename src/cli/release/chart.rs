//! A chart and its values on their way into the engine.

use kzero_chart::Chart;
use kzero_chart::render::{Prepared, RenderError};
use kzero_release::render::{Former, Render, Source, chart, missing_dependencies};
use serde_json::{Map, Value};

use super::post::{PostFlags, PostRenderer};
use super::session::Session;
use crate::ambient::System;
use crate::cli::app::App;
use crate::cli::chart::{SourceFlags, ValueFlags, update_dependencies};
use crate::releases::ChartFile;
use crate::script::Program;

/// Which values of the revision before count (V07).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reuse {
    /// None.
    Never,
    /// Those that the user gave, if none are given now.
    IfNoneAreGiven,
    /// Those that the user gave and the defaults of the chart then, under those that are given now.
    All,
    /// Those that the user gave, under those that are given now and over the defaults of the chart now.
    Given,
}

/// How a chart is rendered.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    pub(super) reuse: Reuse,
    pub(super) checks_schemas: bool,
    pub(super) dns: bool,
    pub(super) all_notes: bool,
}

/// A chart that was found, with the values that are given for it.
pub(super) struct Charted {
    file: ChartFile,
    values: Map<String, Value>,
    /// What changes the rendered documents.
    post: Option<Program>,
}

/// Finds a chart, fetches it if it is elsewhere, and reads the values for it. No runtime may be running.
///
/// # Errors
///
/// Helm's texts.
pub(super) fn find(
    app: &App,
    reference: &str,
    source: &SourceFlags,
    values: &ValueFlags,
    updates: bool,
    post: &PostFlags,
) -> Result<Charted, String> {
    let post = post.program(app)?;
    let file = source.find(app, reference)?;
    let values = values.merge(app)?;
    if updates
        && let ChartFile::Local(folder) = &file
        && !missing_dependencies(&file.load()?).is_empty()
    {
        update_dependencies(app, folder, source)?;
    }
    Ok(Charted { file, values, post })
}

impl Charted {
    /// What the engine calls to have it loaded and rendered.
    pub(super) fn render(self, how: How, session: &Session<'_>) -> Render {
        let schemas = session.releases.schemas();
        let stop = session.stop.clone();
        let post = self.post.map(|program| PostRenderer::new(program, stop));
        Box::new(move |mut context| {
            let mut loaded = self.file.load()?;
            let former = context.former.take();
            let values = reused(&mut loaded, self.values, former, how.reuse)?;
            let source = Source {
                chart: &loaded,
                values,
                schemas: if how.checks_schemas {
                    Some(&schemas)
                } else {
                    None
                },
                ambient: &System { dns: how.dns },
                dns: how.dns,
                all_notes: how.all_notes,
            };
            let mut rendered = chart(source, context)?;
            rendered.warnings.splice(0..0, loaded.warnings);
            match &post {
                Some(post) => post.run(rendered),
                None => Ok(rendered),
            }
        })
    }
}

/// The values a revision gets, from those given now and those of the revision before.
fn reused(
    chart: &mut Chart,
    mut given: Map<String, Value>,
    former: Option<Former>,
    reuse: Reuse,
) -> Result<Map<String, Value>, String> {
    let Some(former) = former else {
        return Ok(given);
    };
    match reuse {
        Reuse::Never => {}
        Reuse::IfNoneAreGiven => {
            if given.is_empty() {
                given = former.config;
            }
        }
        Reuse::Given => coalesce(&mut given, former.config),
        Reuse::All => {
            let config = former.config.clone();
            chart.values = together(&chart.metadata.name, former)
                .map_err(|error| format!("failed to rebuild old values: {error}"))?;
            coalesce(&mut given, config);
        }
    }
    Ok(given)
}

/// The given values of a revision over the defaults of its chart.
fn together(name: &str, former: Former) -> Result<Map<String, Value>, RenderError> {
    let mut chart = Chart::default();
    name.clone_into(&mut chart.metadata.name);
    chart.values = former.chart_values;
    Prepared::new(&chart, &former.config)?.values()
}

/// Lays a table under another one, as Helm does: what is null on top takes away what is below.
fn coalesce(top: &mut Map<String, Value>, below: Map<String, Value>) {
    for (key, value) in below {
        match top.get_mut(&key) {
            None => {
                top.insert(key, value);
            }
            Some(Value::Null) => {
                if !value.is_null() {
                    top.remove(&key);
                }
            }
            Some(Value::Object(inner)) => {
                if let Value::Object(value) = value {
                    coalesce(inner, value);
                }
            }
            Some(_) => {}
        }
    }
}
