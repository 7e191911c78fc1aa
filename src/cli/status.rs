//! `kzero status`: what is parked, who works, and how the last run ended. Changes nothing.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use kzero_cluster::{Budget, Cluster, Resolved, WorkloadRef};
use kzero_release::shown::plain;
use serde_json::{Value as Json, json};

use super::app::{App, runtime};
use super::args::{Document, LogFormat, RunCommand, StatusArgs};
use crate::event::Level;
use crate::exit::Failure;
use crate::state::journal::{self, Outcome, Past};
use crate::state::lock::{self, Holds};
use crate::state::memory::{Entry, Key, Live, Memory, Standing, Value};
use crate::state::place::Place;
use crate::state::store::Store;

/// How long the API server may take for its first answer.
const FIRST_ANSWER: Duration = Duration::from_secs(5);
/// How long all answers may take.
const ANSWERS: Duration = Duration::from_secs(60);

/// What was found out.
#[derive(Default)]
struct Status {
    rows: Vec<Row>,
    lock: Option<Holds>,
    last: Option<Past>,
    /// What could not be found out.
    problems: Vec<String>,
    warnings: Vec<String>,
}

/// An object that is remembered.
struct Row {
    key: Key,
    entry: Entry,
    /// `None` where the cluster was not asked.
    seen: Option<(Standing, Option<Live>)>,
}

/// Runs the command.
///
/// # Errors
///
/// The profile or kubeconfig cannot be used; after the status is printed: the API server did not tell all of it, or no run is as
/// young as was asked for (exit 2).
pub(super) fn run(app: &App, arguments: &StatusArgs) -> Result<(), Failure> {
    let profile = app.load(false)?;
    let resolved = app
        .resolve(Some(&profile))
        .map_err(|error| Failure::Cluster(format!("kubernetes target: {error}")))?;
    let place = Place::new(&profile, &app.environment, resolved.target());
    let runtime = runtime()?;
    let mut status = runtime.block_on(ask(&place, &resolved));
    runtime.shutdown_background();
    match journal::newest(place.folder()) {
        Ok(past) => status.last = past,
        Err(error) => status.warnings.push(format!("warning: {error}")),
    }
    let now = Timestamp::now();
    for text in status.warnings.iter().chain(&status.problems) {
        app.warn(text);
    }
    let json = arguments.output == Document::Json || app.flags.log_format == LogFormat::Json;
    if json {
        let mut document = document(&place, &status);
        app.output.masker().mask_json(&mut document);
        let text = match arguments.output {
            Document::Json => format!("{document:#}\n"),
            Document::Text => format!("{document}\n"),
        };
        app.output.result(&text);
    } else {
        let text = table(&place, &status, now);
        app.output.result(&app.output.masker().mask(&text));
    }
    let young = match arguments.max_age {
        Some(age) => check_age(&place, age, arguments.of, now),
        None => Ok(()),
    };
    let unknown = match status.problems.is_empty() {
        true => None,
        false => Some("status is not complete: the API server did not tell all of it".to_owned()),
    };
    match (young, unknown) {
        (Ok(()), None) => Ok(()),
        (Err(old), None) => Err(Failure::Cluster(old)),
        (Ok(()), Some(unknown)) => Err(Failure::Cluster(unknown)),
        (Err(old), Some(unknown)) => Err(Failure::Cluster(format!("{unknown}\n{old}"))),
    }
}

/// Asks the cluster; where it does not answer, what this host knows has to do.
async fn ask(place: &Place, resolved: &Resolved) -> Status {
    let mut status = Status::default();
    let first = Budget::new("5s for the first answer", FIRST_ANSWER);
    // What a call says meanwhile (throttling, say) is of no interest here.
    let observer: kzero_cluster::Observer = std::sync::Arc::new(|_| {});
    let reached = async {
        let cluster = resolved.connect(observer).await?;
        cluster.server_version(&first).await?;
        Ok::<_, kzero_cluster::ClusterError>(cluster)
    };
    let cluster = match first.run(reached).await {
        Ok(Ok(cluster)) => Ok(cluster),
        Ok(Err(error)) => Err(error.to_string()),
        Err(expired) => Err(format!("no credential within {expired}")),
    };
    let notes = RefCell::new(Vec::new());
    let tell = |level: Level, text: String| {
        if level >= Level::Warn {
            notes.borrow_mut().push(format!("warning: {text}"));
        }
    };
    let store = Store::new(place, cluster.clone(), Box::new(tell));
    match cluster {
        Ok(cluster) => online(place, &cluster, &store, &mut status).await,
        Err(why) => {
            status.problems.push(format!(
                "warning: the API server does not answer ({why}): what follows is what this host knows"
            ));
            match store.read_local() {
                Ok(memory) => status.rows = rows(&memory, None),
                Err(error) => status.problems.push(format!("warning: {}", error.text)),
            }
            let unlimited = Budget::unlimited();
            status.lock = lock::holds(place, None, &unlimited).await.ok().flatten();
        }
    }
    drop(store);
    status.warnings.extend(notes.into_inner());
    status
}

async fn online(place: &Place, cluster: &Cluster, store: &Store<'_>, status: &mut Status) {
    let budget = Budget::new("answers 1m0s", ANSWERS);
    match store.read(&budget).await {
        Ok(known) => match live(cluster, known.memory(), &budget).await {
            Ok(live) => status.rows = rows(known.memory(), Some(&live)),
            Err(error) => {
                status.problems.push(format!("warning: {error}"));
                status.rows = rows(known.memory(), None);
            }
        },
        Err(error) => status.problems.push(format!("warning: {}", error.text)),
    }
    match lock::holds(place, Some(cluster), &budget).await {
        Ok(lock) => status.lock = lock,
        Err(error) => status.problems.push(format!("warning: {error}")),
    }
}

/// The objects that are remembered as they are now, with a list for each namespace and kind.
async fn live(
    cluster: &Cluster,
    memory: &Memory,
    budget: &Budget,
) -> Result<BTreeMap<Key, Live>, kzero_cluster::ClusterError> {
    let keys = || memory.iter().map(|(key, _)| key);
    let workloads: Vec<WorkloadRef> = keys().filter_map(Key::workload).collect();
    let cron_jobs: Vec<(String, String)> = keys()
        .filter(|key| key.workload().is_none())
        .map(|key| (key.namespace.clone(), key.name.clone()))
        .collect();
    let mut live = BTreeMap::new();
    for (workload, size) in cluster.sizes(&workloads, budget).await? {
        live.insert(Key::from(&workload), size.into());
    }
    for ((namespace, name), state) in cluster.cron_jobs(&cron_jobs, budget).await? {
        live.insert(Key::cron_job(&namespace, &name), state.into());
    }
    Ok(live)
}

fn rows(memory: &Memory, live: Option<&BTreeMap<Key, Live>>) -> Vec<Row> {
    let row = |(key, entry): (&Key, &Entry)| Row {
        seen: live.map(|live| {
            let found = live.get(key);
            (Standing::of(entry, found), found.cloned())
        }),
        key: key.clone(),
        entry: entry.clone(),
    };
    memory.iter().map(row).collect()
}

/// A value without the word for what it is.
fn bare(value: Value) -> String {
    match value {
        Value::Size(size) => size.to_string(),
        Value::Suspend(suspend) => format!("suspend={suspend}"),
    }
}

/// How long ago something was, to two units or so.
fn ago(then: Timestamp, now: Timestamp) -> String {
    let length = Duration::try_from(now.duration_since(then)).unwrap_or_default();
    let unit = match length.as_secs() {
        0..3_600 => 1,
        3_600..86_400 => 60,
        _ => 3_600,
    };
    let seconds = length.as_secs() / unit * unit;
    format!(
        "{} ago",
        humantime::format_duration(Duration::from_secs(seconds))
    )
}

fn ago_text(then: &str, now: Timestamp) -> String {
    match then.parse() {
        Ok(then) => format!("{} ({})", plain(&then_text(then)), ago(then, now)),
        Err(_) => plain(then).into_owned(),
    }
}

fn then_text(then: Timestamp) -> String {
    then.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn table(place: &Place, status: &Status, now: Timestamp) -> String {
    let mut text = format!(
        "Remembered by kzero-{} in namespace {}:\n",
        plain(&place.name),
        plain(&place.namespace)
    );
    let head = [
        "REFERENCE",
        "REMEMBERED",
        "LIVE",
        "STATE",
        "SINCE",
        "BY",
        "RUN",
    ];
    let mut lines = vec![head.map(str::to_owned)];
    for Row { key, entry, seen } in &status.rows {
        let (state, live) = match seen {
            None => ("unknown", "?".to_owned()),
            Some((standing, live)) => (
                standing.word(),
                live.as_ref()
                    .map_or_else(|| "-".to_owned(), |live| bare(live.value)),
            ),
        };
        let key = key.to_string();
        let cells = [
            plain(&key).into_owned(),
            bare(entry.value),
            live,
            state.to_owned(),
            ago(entry.at, now),
            plain(&entry.by).into_owned(),
            plain(&entry.run).into_owned(),
        ];
        lines.push(cells);
    }
    if status.rows.is_empty() {
        text.push_str("  nothing\n");
    } else {
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
        let widths: [usize; 7] = std::array::from_fn(|column| width(column).unwrap_or(0));
        for line in &lines {
            let cells = line.iter().zip(widths);
            let padded: Vec<String> = cells
                .map(|(cell, width)| format!("{cell:width$}"))
                .collect();
            text.push_str(format!("  {}", padded.join("  ")).trim_end());
            text.push('\n');
        }
    }
    text.push_str(&match &status.lock {
        None => "Lock: free\n".to_owned(),
        Some(lock) => format!(
            "Lock: {} runs kzero {} since {} ({})\n",
            plain(&lock.holder),
            plain(lock.command.as_deref().unwrap_or("?")),
            lock.started_at
                .as_ref()
                .map_or_else(|| "?".to_owned(), |then| ago_text(then, now)),
            plain(&lock.place)
        ),
    });
    text.push_str(&match &status.last {
        None => "Last run: none of this host\n".to_owned(),
        Some(past) => format!(
            "Last run: kzero {} by {}, begun {}: {} (run {})\n",
            plain(&past.header.command),
            plain(&past.header.by),
            ago_text(&past.header.at, now),
            outcome(past),
            plain(&past.header.run)
        ),
    });
    text
}

fn outcome(past: &Past) -> String {
    let word = outcome_word(past.outcome);
    match (&past.unfinished, past.outcome) {
        (Some(item), Outcome::Failed | Outcome::Open) => format!("{word} at {}", plain(item)),
        _ => word.to_owned(),
    }
}

const fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded => "succeeded",
        Outcome::Failed => "failed",
        Outcome::Open => "did not end",
    }
}

fn value_json(value: Value) -> Json {
    match value {
        Value::Size(size) => json!(size),
        Value::Suspend(suspend) => json!(suspend),
    }
}

/// The document of S-11.12.
fn document(place: &Place, status: &Status) -> Json {
    let row = |Row { key, entry, seen }: &Row| {
        let live = seen.as_ref().and_then(|(_, live)| live.as_ref());
        json!({
            "ref": key.to_string(),
            "kind": key.kind.word(),
            "namespace": key.namespace,
            "name": key.name,
            "uid": entry.uid,
            "remembered": value_json(entry.value),
            "live": live.map(|live| value_json(live.value)),
            "state": seen.as_ref().map_or("unknown", |(standing, _)| standing.word()),
            "since": entry.at.to_string(),
            "by": entry.by,
            "run_id": entry.run,
        })
    };
    json!({
        "profile": place.name,
        "namespace": place.namespace,
        "parked": status.rows.iter().map(row).collect::<Vec<_>>(),
        "lock": status.lock.as_ref().map(|lock| json!({
            "holder": lock.holder,
            "command": lock.command,
            "started_at": lock.started_at,
            "run_id": lock.run(),
            "place": lock.place,
        })),
        "last_run": status.last.as_ref().map(|past| json!({
            "run_id": past.header.run,
            "command": past.header.command,
            "by": past.header.by,
            "started_at": past.header.at,
            "last_at": past.last,
            "outcome": match past.outcome {
                Outcome::Succeeded => "success",
                Outcome::Failed => "failed",
                Outcome::Open => "open",
            },
            "unfinished": past.unfinished,
        })),
        "warnings": status.warnings.iter().chain(&status.problems).collect::<Vec<_>>(),
    })
}

/// Whether a run of the wanted command succeeded within that time, by the journals of this host.
fn check_age(
    place: &Place,
    age: Duration,
    of: Option<RunCommand>,
    now: Timestamp,
) -> Result<(), String> {
    let folder = place.folder();
    let what = of.map_or("run", RunCommand::word);
    let shown = humantime::format_duration(age);
    let hint = "hint: journals are of the host and user that ran it, and the last 20 are kept";
    let runs = journal::journals(folder)
        .map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let succeeded = runs.iter().rev().find_map(|run| {
        // One that cannot be read says nothing of the others.
        let past = journal::read(folder, run).ok()?;
        let wanted = of.is_none_or(|of| of.word() == past.header.command);
        let ended: Timestamp = past.last.parse().ok()?;
        (wanted && past.outcome == Outcome::Succeeded).then_some((past.header.run, ended))
    });
    match succeeded {
        None => Err(format!(
            "no successful {what} is known in {}, wanted one within {shown}\n{hint}",
            folder.display()
        )),
        Some((run, ended)) => {
            let elapsed = Duration::try_from(now.duration_since(ended)).unwrap_or_default();
            if elapsed <= age {
                return Ok(());
            }
            Err(format!(
                "the last successful {what} ended {} (run {run}), wanted one within {shown}",
                ago(ended, now)
            ))
        }
    }
}
