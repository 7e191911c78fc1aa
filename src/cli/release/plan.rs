//! `release plan`: what an upgrade or install would change, field by field. Nothing is written.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use kzero_cluster::ApplyMode;
use kzero_gotmpl::Ambient;
use kzero_release::engine::{Deploy, Existing, Options, Planned};
use kzero_release::plan::Task;
use kzero_release::preview::Preview;
use kzero_release::revision::check_name;
use kzero_release::secrecy::Mask;
use kzero_release::show::Format;
use kzero_release::shown::plain_lines;
use serde_json::Value;

use super::deploy::UpgradeArgs;
use super::session::{Place, Work};
use crate::ambient::System;

/// What the command exits with where it is asked to tell, and something would change (S-D.2).
const CHANGES: u8 = 2;

/// `release plan`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct PlanArgs {
    #[command(flatten)]
    upgrade: UpgradeArgs,
    /// Exit with 2 if something would change, with 0 if nothing would.
    #[arg(long)]
    detailed_exitcode: bool,
    /// Print what comes after what, and why, as a graph.
    #[arg(long, value_name = "FORMAT", value_enum)]
    graph: Option<GraphFormat>,
}

/// Forms of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GraphFormat {
    /// The language of Graphviz.
    Dot,
}

/// Plans and prints.
pub(super) fn run(place: &Place<'_>, arguments: &PlanArgs) -> Result<ExitCode, String> {
    let upgrade = &arguments.upgrade;
    let name = upgrade.name();
    check_name(name).map_err(|_| format!("release name is invalid: {name}"))?;
    let (charted, options) = upgrade.wishes(place)?;
    let work = Work {
        release: name,
        mode: ApplyMode::DryRun,
        says_cancelled: false,
    };
    let planned = place.enter(async |session| {
        let absent = session.is_absent(name).await?;
        let deploy = Deploy {
            name: name.to_owned(),
            options: Options {
                existing: Existing::Either,
                create_namespace: upgrade.creates_namespace(),
                ..options
            },
            render: charted.render(upgrade.how(absent), session),
            timing: upgrade.timing(),
        };
        let planned = session
            .engaged(work, async |engine| engine.plan(deploy).await)
            .await?;
        Ok(planned)
    })?;
    let mut key = [0; 32];
    System::default().random(&mut key);
    let preview = Preview::new(&planned, &Mask::new(key));
    let text = match (arguments.graph, upgrade.format()) {
        (Some(GraphFormat::Dot), _) => planned.plan.dot(),
        (None, Format::Table) => {
            let text = text(name, &place.namespace, &planned, &preview);
            plain_lines(&text).into_owned()
        }
        (None, format) => document(&preview, &waits(&planned), format)?,
    };
    place.app.output.result(&text);
    Ok(match arguments.detailed_exitcode && changes(&preview) {
        true => ExitCode::from(CHANGES),
        false => ExitCode::SUCCESS,
    })
}

/// Whether anything would be different afterwards. Hooks that run each time are no change.
fn changes(preview: &Preview) -> bool {
    !preview.same_record || preview.changes.iter().any(|change| change.verb != "run")
}

/// What is waited for, in the order of the plan.
fn waits(planned: &Planned) -> Vec<String> {
    let plan = &planned.plan;
    let waits = |task: Task| match task {
        // What is ready at once is not waited for.
        Task::Ready { item } => plan.items.get(item).is_some_and(|item| !item.ready),
        Task::External { .. } | Task::Gone { .. } => true,
        _ => false,
    };
    plan.operations
        .iter()
        .enumerate()
        .filter(|(_, operation)| waits(operation.task))
        .map(|(vertex, _)| plan.describe(vertex))
        .collect()
}

fn text(name: &str, namespace: &str, planned: &Planned, preview: &Preview) -> String {
    let mut text = format!(
        "{} of release {namespace}/{name}, revision {}\n",
        preview.purpose, preview.revision
    );
    for change in &preview.changes {
        // Writing to a text does not fail.
        let _ = writeln!(
            text,
            "\n{} {} ({}): {}",
            change.verb,
            change.object(),
            change.stage,
            change.reason
        );
        for field in &change.fields {
            let _ = writeln!(text, "  {} ({})", field.line(), field.reason);
        }
        let sign = if change.verb == "delete" { '-' } else { '+' };
        let body = change.body.as_ref();
        let body = body.and_then(|body| kzero_chart::yaml::encode(body).ok());
        for line in body.iter().flat_map(|body| body.lines()) {
            let _ = writeln!(text, "  {sign} {line}");
        }
    }
    let waits = waits(planned);
    if !waits.is_empty() {
        text.push_str("\nwaits:\n");
        for wait in waits {
            let _ = writeln!(text, "  {wait}");
        }
    }
    text.push('\n');
    text.push_str(&summary(preview));
    text
}

/// How many objects each verb has, and what becomes of the record.
fn summary(preview: &Preview) -> String {
    let mut parts = Vec::new();
    for verb in [
        "create", "update", "replace", "apply", "recreate", "delete", "run",
    ] {
        let count = preview
            .changes
            .iter()
            .filter(|change| change.verb == verb)
            .count();
        if count > 0 {
            parts.push(format!("{count} to {verb}"));
        }
    }
    parts.push(format!("{} unchanged", preview.unchanged));
    let line = parts.join(", ");
    if changes(preview) && preview.changes.iter().all(|change| change.verb == "run") {
        return format!(
            "{line}\nno object would change, but the record would: values, notes, hooks or labels are not those of the last revision, or that one is not deployed\n"
        );
    }
    if !changes(preview) {
        return format!("{line}\nnothing would change\n");
    }
    format!("{line}\n")
}

/// The preview with what is waited for, as JSON or YAML.
fn document(preview: &Preview, waits: &[String], format: Format) -> Result<String, String> {
    let failed = |error: &dyn std::fmt::Display| format!("unable to write output: {error}");
    let mut value = serde_json::to_value(preview).map_err(|error| failed(&error))?;
    if let Value::Object(map) = &mut value {
        map.insert("waits".to_owned(), waits.into());
        map.insert("changed".to_owned(), changes(preview).into());
    }
    let text = match format {
        Format::Yaml => kzero_chart::yaml::encode(&value).map_err(|error| failed(&error))?,
        Format::Json | Format::Table => value.to_string(),
    };
    Ok(text + "\n")
}
