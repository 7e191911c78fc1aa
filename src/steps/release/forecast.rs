//! What a native release step of `up` would change, for `analyze`: a plan that nothing is done with.

use std::cell::RefCell;
use std::time::Duration;

use kzero_cluster::{ApplyMode, Budget, Cluster};
use kzero_registry::Console;
use kzero_release::engine::{Deploy, Engine, Timing};
use kzero_release::event::Event;
use kzero_release::execute::Limits;
use kzero_release::interrupt::Interrupt;
use kzero_release::preview::Preview;
use kzero_release::secrecy::Mask;

use super::Release;
use super::native::render;
use crate::releases::Releases;

/// Time for the look at one release.
const LOOK: Duration = Duration::from_secs(60);
/// Lines of one release beyond which the rest is only counted.
const LINES: usize = 200;

/// What a look into the future may use.
pub struct ForecastContext<'a> {
    /// The API server; nothing is changed there.
    pub cluster: &'a Cluster,
    /// Where records and charts are.
    pub releases: &'a Releases,
    /// Hides secrets.
    pub mask: &'a Mask,
}

/// What a step would do.
#[derive(Debug, Clone)]
pub struct Forecast {
    /// Lines for people.
    pub lines: Vec<String>,
    /// What may not be meant.
    pub warnings: Vec<String>,
    /// The same for scripts.
    pub document: serde_json::Value,
}

impl Release {
    /// Plans the step against the cluster as it is now.
    ///
    /// # Errors
    ///
    /// Why a run would fail before it changes anything.
    pub(super) async fn foresee(&self, cx: &ForecastContext<'_>) -> Result<Forecast, String> {
        let wishes = self.wishes().map_err(|error| error.text)?;
        let budget = Budget::new("look at a release 1m0s", LOOK);
        let notes = Notes::default();
        let finding = cx
            .releases
            .chart(&wishes.chart, &wishes.wanted, &self.folder, &Quiet);
        let file = budget
            .run(finding)
            .await
            .map_err(|expired| expired.to_string())??;
        let storage = cx
            .releases
            .storage(cx.cluster, &self.namespace, &budget)
            .await?;
        let is_alive = |other: &_| cx.releases.is_alive(other);
        let listener = |event: Event| notes.hear(event);
        let engine = Engine {
            cluster: cx.cluster.clone(),
            storage,
            holder: cx.releases.holder().clone(),
            is_alive: &is_alive,
            listener: &listener,
            interrupt: Interrupt::never(),
            mode: ApplyMode::DryRun,
            limits: Limits::default(),
        };
        let deploy = Deploy {
            name: self.name.clone(),
            render: render(file, &wishes, cx.releases.schemas()),
            options: wishes.options,
            timing: Timing {
                all: budget,
                each: None,
                cleanup: LOOK,
            },
        };
        let planned = engine
            .plan(deploy)
            .await
            .map_err(|error| error.to_string())?;
        let preview = Preview::new(&planned, cx.mask);
        let mut warnings = notes.0.into_inner();
        warnings.extend(preview.warnings.iter().cloned());
        Ok(Forecast {
            lines: self.forecast_lines(&preview),
            warnings,
            document: serde_json::to_value(&preview).unwrap_or_default(),
        })
    }

    fn forecast_lines(&self, preview: &Preview) -> Vec<String> {
        let all = preview.changes.len() + preview.unchanged;
        let mut lines = vec![format!(
            "{}: {} to revision {}, {} of {all} objects change",
            self.reference,
            preview.purpose,
            preview.revision,
            preview.changes.len()
        )];
        for change in &preview.changes {
            lines.push(format!(
                "  {} {} ({})",
                change.verb,
                change.object(),
                change.reason
            ));
            for field in &change.fields {
                lines.push(format!("    {}", field.line()));
            }
        }
        if lines.len() > LINES {
            let more = lines.len() - LINES;
            lines.truncate(LINES);
            lines.push(format!(
                "  and {more} lines more; `kzero analyze -o json` has them all"
            ));
        }
        lines
    }
}

/// Warnings of the engine.
#[derive(Default)]
struct Notes(RefCell<Vec<String>>);

impl Notes {
    fn hear(&self, event: Event) {
        if let Event::Warning(text) = event {
            self.0.borrow_mut().push(text);
        }
    }
}

/// Says nothing.
struct Quiet;

impl Console for Quiet {
    fn print(&self, _text: &str) {}
    fn note(&self, _line: &str) {}
}
