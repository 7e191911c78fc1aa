//! `kzero analyze`: the plan, checked against the cluster if one answers. Changes nothing.

mod memory;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use kzero_cluster::{Budget, Target};
use kzero_gotmpl::Ambient as _;
use kzero_profile::{Execution as Wanted, Profile, RunMode, duration};
use kzero_release::secrecy::Mask;
use serde_json::{Value, json};

use self::memory::{elsewhere, recalled, remembered};
use super::app::{App, runtime, target_block};
use super::args::{AnalyzeArgs, Document};
use super::final_error;
use super::needs::{missing_programs, planned_execution, unavailable};
use crate::ambient::System;
use crate::checks::{LiveReport, inspect, missing_files};
use crate::event::{Level, Phase, SizeSource};
use crate::exit::Failure;
use crate::pipeline::{Plan, Plans, Step};
use crate::releases::Releases;
use crate::report::{Kind, Record, summary};
use crate::state::place::Place;
use crate::steps::{Execution, Forecast, ForecastContext, Subject};

/// How long the API server may take for its first answer (S-6.12).
const FIRST_ANSWER: Duration = Duration::from_secs(5);

/// Runs the command.
pub(super) fn run(app: &App, arguments: &AnalyzeArgs) -> ExitCode {
    let begin = Instant::now();
    let result = analyze(app, arguments);
    app.output
        .write(&summary("analyze", begin.elapsed(), result.is_ok()));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            final_error(&failure, &app.output);
            failure.exit_code()
        }
    }
}

/// What the cluster answered.
struct Answers {
    report: LiveReport,
    /// What there is to say of memory.
    memory: Vec<String>,
    /// By the place of the step and its reference.
    forecasts: Vec<(String, String, Result<Forecast, String>)>,
}

/// What asking the cluster gave.
enum Asked {
    Answered(Box<Answers>),
    /// No usable kubeconfig.
    Unavailable(String),
    /// The API did not answer.
    Silent(String),
}

fn analyze(app: &App, arguments: &AnalyzeArgs) -> Result<(), Failure> {
    let profile = app.load(false)?;
    let plans = Plans::new(&profile, &app.environment);
    let execution = planned_execution(&profile);
    let phases = [Phase::Down, Phase::Up];
    let mut warnings: Vec<String> = profile
        .warnings
        .iter()
        .map(|warning| profile.source.render(warning))
        .collect();
    let mut warn = |text: String| {
        app.warn(&text);
        warnings.push(text);
    };
    for text in unavailable(app, &profile) {
        warn(format!("warning: {text}; a live run refuses this"));
    }
    let files = plans.files(&phases, execution, &app.environment);
    let mut problems = missing_files(&files, &app.config_path());
    problems.extend(missing_programs(app, &profile, &plans, &phases));
    for problem in problems {
        warn(format!("warning: {problem}"));
    }
    for step in plans.down.steps.iter().chain(&plans.up.steps) {
        if let Some(text) = step.action.unavailable(execution) {
            warn(format!(
                "warning: {}: {text}; a live run refuses this",
                step.id.place()
            ));
        }
        for text in step.action.warnings(execution) {
            warn(format!("warning: {text}"));
        }
    }
    for problem in profile.notify.problems() {
        warn(format!("warning: {problem}"));
    }
    if profile.state.namespace.is_none() {
        warnings.push("note: state.namespace is not set, that of the context will be used".into());
    }

    let (target, asked) = match app.resolve(Some(&profile)) {
        Err(error) => (None, Asked::Unavailable(error.to_string())),
        Ok(resolved) => {
            let target = resolved.target().clone();
            (
                Some(target),
                ask(app, &profile, &resolved, &plans, execution)?,
            )
        }
    };
    print_head(app, &profile);
    match (&target, &asked) {
        (Some(target), Asked::Answered(_) | Asked::Silent(_)) => {
            app.lines(
                Level::Info,
                Kind::Target,
                &target_block(target, &profile, app),
            );
        }
        (_, Asked::Unavailable(why)) | (None, Asked::Silent(why)) => {
            let text = format!("Kubernetes target: unavailable ({})", one_line(why));
            app.lines(Level::Info, Kind::Target, &[text]);
        }
        (None, Asked::Answered(_)) => {}
    }
    app.output.blank();
    let report = match &asked {
        Asked::Answered(answers) => Some(&answers.report),
        Asked::Unavailable(_) | Asked::Silent(_) => None,
    };
    print_plan(app, &profile, &plans, execution, report);
    app.output.blank();
    let result = match &asked {
        Asked::Answered(answers) => {
            print_report(app, &answers.report, &mut warnings);
            for note in &answers.memory {
                let text = format!("warning: {note}");
                app.warn(&text);
                warnings.push(text);
            }
            print_forecasts(app, &answers.forecasts, &mut warnings);
            verdict(&answers.report)
        }
        Asked::Unavailable(why) | Asked::Silent(why) => {
            let why = one_line(why);
            for text in [
                format!("note: cluster validation skipped ({why})"),
                format!("warning: preflight would fail in live mode ({why})"),
            ] {
                app.warn(&text);
                warnings.push(text);
            }
            Ok(())
        }
    };
    if arguments.output == Document::Json {
        let mut shown = document(
            app,
            &profile,
            &plans,
            execution,
            target.as_ref(),
            report,
            &warnings,
        );
        if let Asked::Answered(answers) = &asked {
            shown["releases"] = forecasts_json(&answers.forecasts);
        }
        app.output.masker().mask_json(&mut shown);
        app.output.result(&format!("{shown:#}\n"));
    }
    result
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

fn ask(
    app: &App,
    profile: &Profile,
    resolved: &kzero_cluster::Resolved,
    plans: &Plans,
    execution: Execution,
) -> Result<Asked, Failure> {
    let runtime = runtime()?;
    let logins = crate::releases::logins(profile, &app.environment);
    let releases = Releases::new(&app.environment, "analyze", logins);
    let asked = runtime.block_on(async {
        // What a call says meanwhile (throttling, say) is of no interest here.
        let observer: kzero_cluster::Observer = std::sync::Arc::new(|_| {});
        let first = Budget::new("5s for the first answer", FIRST_ANSWER);
        let connected = first.run(resolved.connect(observer)).await;
        let cluster = match connected {
            Ok(Ok(cluster)) => cluster,
            Ok(Err(error)) => return Asked::Unavailable(error.to_string()),
            Err(expired) => return Asked::Silent(format!("no credential within {expired}")),
        };
        if let Err(error) = cluster.server_version(&first).await {
            return Asked::Silent(error.to_string());
        }
        let place = Place::new(profile, &app.environment, resolved.target());
        let (memory, mut notes) = remembered(&place, &cluster, plans).await;
        match inspect(&cluster, plans, &memory, &Budget::unlimited()).await {
            Ok(report) => {
                notes.extend(elsewhere(&place, &cluster, &memory, &report).await);
                let forecasts = match execution {
                    Execution::Native => forecasts(&cluster, &releases, plans).await,
                    Execution::Shell => Vec::new(),
                };
                Asked::Answered(Box::new(Answers {
                    report,
                    memory: notes,
                    forecasts,
                }))
            }
            Err(error) => Asked::Silent(error.to_string()),
        }
    });
    runtime.shutdown_background();
    Ok(asked)
}

/// What release steps of `up` would change, in their order.
async fn forecasts(
    cluster: &kzero_cluster::Cluster,
    releases: &Releases,
    plans: &Plans,
) -> Vec<(String, String, Result<Forecast, String>)> {
    let mut key = [0; 32];
    System::default().random(&mut key);
    let mask = Mask::new(key);
    let cx = ForecastContext {
        cluster,
        releases,
        mask: &mask,
    };
    let mut found = Vec::new();
    for step in &plans.up.steps {
        if let Some(forecast) = step.action.forecast(&cx) {
            found.push((step.id.place(), step.label.clone(), forecast.await));
        }
    }
    found
}

fn print_forecasts(
    app: &App,
    forecasts: &[(String, String, Result<Forecast, String>)],
    warnings: &mut Vec<String>,
) {
    let mut warn = |text: String| {
        app.warn(&text);
        warnings.push(text);
    };
    if !forecasts.is_empty() {
        app.output.blank();
        app.lines(Level::Info, Kind::Plan, &["Releases:".to_owned()]);
    }
    for (place, reference, forecast) in forecasts {
        match forecast {
            Ok(forecast) => {
                let lines: Vec<String> = forecast
                    .lines
                    .iter()
                    .map(|line| format!("  {line}"))
                    .collect();
                app.lines(Level::Info, Kind::Plan, &lines);
                for text in &forecast.warnings {
                    warn(format!("warning: {place} {reference}: {text}"));
                }
            }
            Err(why) => warn(format!("warning: {place} {reference}: {}", one_line(why))),
        }
    }
}

fn forecasts_json(forecasts: &[(String, String, Result<Forecast, String>)]) -> Value {
    let row = |(place, reference, forecast): &(String, String, Result<Forecast, String>)| {
        match forecast {
            Ok(forecast) => json!({"step": place, "ref": reference, "plan": forecast.document}),
            Err(why) => json!({"step": place, "ref": reference, "problem": one_line(why)}),
        }
    };
    forecasts.iter().map(row).collect()
}

fn mode_word(mode: RunMode) -> &'static str {
    match mode {
        RunMode::DryRun => "dry-run",
        RunMode::Live => "live",
    }
}

fn execution_word(execution: Wanted) -> &'static str {
    match execution {
        Wanted::Native => "native",
        Wanted::Shell => "shell",
        Wanted::Auto => "auto",
    }
}

fn retry_text(profile: &Profile) -> String {
    let retry = &profile.retry;
    let mut text = format!("attempts={}", retry.attempts);
    if retry.delay_given {
        text.push_str(&format!(", delay={}", duration::format(retry.delay)));
    }
    if profile.run.mode == RunMode::Live && retry.attempts > 1 {
        text.push_str(" (live: exponential backoff on transient errors)");
    }
    text
}

/// The lines before the target block (S-6.6).
fn print_head(app: &App, profile: &Profile) {
    let line = |level: Level, text: String| {
        app.output.write(&Record::line(level, Kind::Plan, text));
    };
    let run = &profile.run;
    line(
        Level::Info,
        format!("Config: {}", app.config_path().display()),
    );
    line(Level::Debug, format!("Schema: {}", profile.schema_version));
    line(Level::Info, format!("Run mode: {}", mode_word(run.mode)));
    line(Level::Debug, format!("Run color: {}", run.color));
    line(
        Level::Debug,
        format!("Run execution: {}", execution_word(run.execution)),
    );
    if let Some(id) = &profile.client_id {
        line(Level::Info, format!("Client id: {id}"));
    }
    if let Some(timeout) = run.timeout {
        line(
            Level::Debug,
            format!("Run timeout: {}", duration::format(timeout)),
        );
    }
    line(Level::Debug, format!("Retry: {}", retry_text(profile)));
    if let Some(workspace) = &profile.helm.workspace {
        line(Level::Debug, format!("Helm workspace: {workspace}"));
    }
    for origin in &profile.overrides {
        line(
            Level::Info,
            format!("Override: {} from {}", origin.key, origin.variable),
        );
    }
    if profile.state.namespace.is_none() {
        // S-D.16: told once, here.
        line(
            Level::Debug,
            "State: state.namespace is not set, the namespace of the context will be used".into(),
        );
    }
}

fn print_plan(
    app: &App,
    profile: &Profile,
    plans: &Plans,
    execution: Execution,
    report: Option<&LiveReport>,
) {
    let line = |text: String| {
        app.output
            .write(&Record::line(Level::Info, Kind::Plan, text));
    };
    let hooks = &profile.hooks;
    for (name, path) in [
        ("pre-down", &hooks.pre_down),
        ("post-down", &hooks.post_down),
        ("pre-up", &hooks.pre_up),
        ("post-up", &hooks.post_up),
        ("on-error", &hooks.on_error),
    ] {
        if let Some(path) = path {
            line(format!("Hook {name}: {path}"));
        }
    }
    line(format!(
        "Pipeline steps: down={} up={}",
        plans.down.steps.len(),
        plans.up.steps.len()
    ));
    for plan in [&plans.down, &plans.up] {
        if plan.steps.is_empty() {
            continue;
        }
        line(format!("[{}]", plan.phase));
        for step in &plan.steps {
            let text = format!(
                "  {}: {}",
                step.id.index,
                step.line(execution, recalled(step, report))
            );
            let mut record = Record::line(Level::Info, Kind::Plan, text);
            record.fields.phase = Some(plan.phase.word());
            record.fields.step_index = Some(step.id.index);
            record.fields.reference.clone_from(&step.id.reference);
            app.output.write(&record);
        }
    }
}

fn print_report(app: &App, report: &LiveReport, warnings: &mut Vec<String>) {
    let line = |level: Level, text: String| {
        app.output.write(&Record::line(level, Kind::Plan, text));
    };
    if !report.validations.is_empty() {
        line(Level::Info, "Cluster validation:".into());
        for validation in &report.validations {
            let reference = &validation.reference;
            match (&validation.problem, &validation.note) {
                (Some(problem), _) => {
                    line(
                        Level::Warn,
                        format!("  FAIL  {reference} ({})", one_line(problem)),
                    );
                }
                (None, Some(note)) => line(Level::Info, format!("  OK  {reference} ({note})")),
                (None, None) => line(Level::Info, format!("  OK  {reference}")),
            }
        }
        app.output.blank();
    }
    if !report.rows.is_empty() {
        line(Level::Info, "Live state:".into());
        for row in &report.rows {
            let told = match (&row.warning, row.source) {
                (Some(warning), _) => format!(" ({warning})"),
                (None, Some(SizeSource::Remembered)) => " (remembered)".to_owned(),
                (None, _) => String::new(),
            };
            let level = if row.warning.is_some() {
                Level::Warn
            } else {
                Level::Info
            };
            let text = format!(
                "  {} {}: {}  {} -> {}{told}",
                row.phase, row.index, row.reference, row.live, row.wanted
            );
            line(level, text);
        }
    }
    for owner in &report.owners {
        let text = format!("warning: {owner}");
        app.warn(&text);
        warnings.push(text);
    }
}

fn verdict(report: &LiveReport) -> Result<(), Failure> {
    let failed: Vec<String> = report
        .validations
        .iter()
        .filter_map(|validation| {
            let problem = validation.problem.as_ref()?;
            Some(format!(
                "  - {}: {}",
                validation.reference,
                one_line(problem)
            ))
        })
        .collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::Cluster(format!(
        "cluster validation failed:\n{}",
        failed.join("\n")
    )))
}

/// The one document of `-o json` (S-6.14).
fn document(
    app: &App,
    profile: &Profile,
    plans: &Plans,
    execution: Execution,
    target: Option<&Target>,
    report: Option<&LiveReport>,
    warnings: &[String],
) -> Value {
    let asked = |step: &Step| report.and_then(|report| report.row(step));
    let step = |step: &Step| {
        let (kind, namespace, name) = match &step.parts {
            Some((kind, namespace, name)) => (json!(kind), json!(namespace), json!(name)),
            None => (json!("custom"), Value::Null, Value::Null),
        };
        let sized =
            step.id.phase == Phase::Up && matches!(step.action.subject(), Subject::Workload(_));
        let source = match (sized, step.replicas, asked(step).and_then(|row| row.source)) {
            (true, Some(_), _) => json!("step"),
            (true, None, Some(SizeSource::Remembered)) => json!("remembered"),
            (true, None, Some(SizeSource::Live)) => json!("live"),
            (true, None, Some(_)) => json!("default"),
            _ => Value::Null,
        };
        let recalled = recalled(step, report);
        let size = match (step.replicas, &recalled.size) {
            (None, Some(_)) => asked(step).and_then(|row| row.wanted.parse().ok()),
            (size, _) => size,
        };
        let mut object = json!({
            "index": step.id.index,
            "kind": kind,
            "namespace": namespace,
            "name": name,
            "detail": step.details(execution, recalled).join(", "),
            "pre": step.pre,
            "post": step.post,
            "replicas": size,
            "replicas_source": source,
            "wait_for_ready": step.wait_for_ready,
            "wait_for_termination": step.wait_for_termination,
            "timeout": step.own_timeout.map(duration::format),
        });
        match &step.id.reference {
            Some(reference) => object["ref"] = json!(reference),
            None => object["custom"] = json!(step.label.strip_prefix("custom: ")),
        }
        object
    };
    let steps = |plan: &Plan| plan.steps.iter().map(step).collect::<Vec<_>>();
    let hooks = &profile.hooks;
    json!({
        "config": app.config_path().display().to_string(),
        "schema_version": profile.schema_version,
        "run": {
            "mode": mode_word(profile.run.mode),
            "execution": execution_word(profile.run.execution),
            "timeout": profile.run.timeout.map(duration::format),
            "retry": {
                "attempts": profile.retry.attempts,
                "delay": duration::format(profile.retry.delay),
            },
        },
        "overrides": profile.overrides.iter().map(|o| json!({"key": o.key, "variable": o.variable}))
            .collect::<Vec<_>>(),
        "target": target.map(|target| json!({
            "context": target.context,
            "cluster": target.cluster,
            "namespace": target.namespace,
            "api_server": target.api_server,
            "kubeconfig": target.kubeconfig,
        })),
        "hooks": {
            "pre-down": hooks.pre_down,
            "post-down": hooks.post_down,
            "pre-up": hooks.pre_up,
            "post-up": hooks.post_up,
            "on-error": hooks.on_error,
        },
        "down": steps(&plans.down),
        "up": steps(&plans.up),
        "validation": report.map_or_else(Vec::new, |report| {
            report.validations.iter().map(|validation| json!({
                "ref": validation.reference,
                "ok": validation.problem.is_none(),
                "detail": validation.problem.as_ref().or(validation.note.as_ref()),
            })).collect()
        }),
        "live": report.map_or_else(Vec::new, |report| {
            report.rows.iter().map(|row| json!({
                "phase": row.phase.word(),
                "index": row.index,
                "ref": row.reference,
                "live": row.live,
                "wanted": row.wanted,
                "warning": row.warning,
            })).collect()
        }),
        "warnings": warnings,
    })
}
