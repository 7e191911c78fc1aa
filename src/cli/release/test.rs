//! `release test`: runs the tests that a chart has for a release.

use std::cell::RefCell;
use std::collections::BTreeMap;

use clap::Args;
use kzero_cluster::{ApplyMode, ErrorClass};
use kzero_release::engine::{Test, Tested};
use kzero_release::event::Event;
use kzero_release::resource::ResourceId;
use kzero_release::revision::check_name;
use kzero_release::show::{Format, StatusParts, status};

use super::flags::TimeFlag;
use super::session::{Place, Session, Work, look};

/// `release test`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct TestArgs {
    /// The release.
    #[arg(value_name = "NAME")]
    name: String,
    /// Which tests: name=a,name=b runs these, !name=a all but that one.
    #[arg(long, value_name = "CHOICE", value_delimiter = ',')]
    filter: Vec<String>,
    /// Print the logs of the tests when all have ended.
    #[arg(long)]
    logs: bool,
    /// Leave the notes out of the output.
    #[arg(long)]
    hide_notes: bool,
    #[command(flatten)]
    time: TimeFlag,
}

/// Lines of logs that were seen while tests ran, by pod.
#[derive(Default)]
struct Seen(RefCell<BTreeMap<String, String>>);

impl Seen {
    fn take(&self, event: &Event) {
        if let Event::Log { pod, line, .. } = event {
            let mut seen = self.0.borrow_mut();
            let log = seen.entry(pod.clone()).or_default();
            log.push_str(line);
            log.push('\n');
        }
    }
}

/// Runs tests, and prints how they went whether they succeeded or not.
pub(super) fn run(place: &Place<'_>, arguments: &TestArgs) -> Result<(), String> {
    let name = arguments.name.as_str();
    check_name(name).map_err(|_| format!("releaseTest: Release name is invalid: {name}"))?;
    let test = arguments.choice();
    let timing = arguments.time.timing();
    let seen = Seen::default();
    let work = Work {
        release: name,
        mode: ApplyMode::Live,
        says_cancelled: false,
    };
    let (tested, logs) = place.enter(async |session| {
        let hear = |event: &Event| seen.take(event);
        let tested = session
            .overheard(work, &hear, async |engine| {
                engine.test(&test, &timing).await
            })
            .await?;
        let logs = match arguments.logs {
            true => Some(logs(session, &tested, &seen).await),
            false => None,
        };
        Ok((tested, logs))
    })?;
    let parts = StatusParts {
        hide_notes: arguments.hide_notes,
        ..StatusParts::default()
    };
    let mut text =
        status(&tested.revision, parts, Format::Table).map_err(|error| error.to_string())?;
    let mut unread = None;
    if let Some((logs, trouble)) = logs {
        text.push('\n');
        text.push_str(&logs);
        unread = trouble;
    }
    place.app.output.result(&text);
    match (tested.failure, unread) {
        // Helm says no more than that a log cannot be read; why a test failed is what matters.
        (Some(failure), _) => Err(failed(name, &failure.to_string())),
        (None, Some(trouble)) => Err(trouble),
        (None, None) => Ok(()),
    }
}

/// The error of a test with the next step.
fn failed(name: &str, why: &str) -> String {
    if why.contains("\nhint: ") {
        return why.to_owned();
    }
    format!(
        "{why}\nhint: `kzero release test {name} --logs` shows all of what tests print; `--filter name=TEST` runs one alone"
    )
}

impl TestArgs {
    /// Which tests are run; as in Helm, words that are no choice by name choose nothing.
    fn choice(&self) -> Test {
        let mut test = Test {
            name: self.name.clone(),
            ..Test::default()
        };
        for word in &self.filter {
            if let Some(name) = word.strip_prefix("name=") {
                test.only.push(name.to_owned());
            } else if let Some(name) = excluded(word) {
                test.without.push(name.to_owned());
            }
        }
        test
    }
}

/// The name in `!name=a` or `! name=a`.
fn excluded(word: &str) -> Option<&str> {
    let rest = word.strip_prefix('!')?;
    let rest = rest.strip_prefix(char::is_whitespace).unwrap_or(rest);
    rest.strip_prefix("name=")
}

/// The logs of all tests that were chosen, and why one cannot be read. Pods that are gone again are shown with what was
/// seen of them.
async fn logs(session: &Session<'_>, tested: &Tested, seen: &Seen) -> (String, Option<String>) {
    let mut text = String::new();
    for (hook, id) in &tested.objects {
        let log = match id.kind.as_str() {
            "Pod" => pod_log(session, id).await,
            _ => Ok(None),
        };
        let prefix = match id.kind.as_str() {
            "Pod" => format!("{}/{}", id.namespace, id.name),
            _ => format!("{}/{}-", id.namespace, id.name),
        };
        let log = match log {
            Ok(Some(log)) => Ok(log),
            Ok(None) => {
                let seen = seen.0.borrow();
                let of_hook = |pod: &&String| match id.kind.as_str() {
                    "Pod" => **pod == prefix,
                    _ => pod.starts_with(&prefix),
                };
                let lines: String = seen
                    .iter()
                    .filter(|(pod, _)| of_hook(pod))
                    .map(|(_, log)| log.as_str())
                    .collect();
                match lines.is_empty() {
                    true => Err(format!("pods {:?} not found", id.name)),
                    false => Ok(lines),
                }
            }
            Err(error) => Err(error),
        };
        match log {
            Ok(log) => text.push_str(&format!("POD LOGS: {hook}\n{log}\n")),
            Err(error) => {
                let trouble = format!(
                    "unable to get pod logs for {hook}: {error}\nhint: `--filter '!name={hook}'` leaves this one out"
                );
                return (text, Some(trouble));
            }
        }
    }
    (text, None)
}

/// The log of a pod, container by container; `None` if the pod is gone.
async fn pod_log(session: &Session<'_>, id: &ResourceId) -> Result<Option<String>, String> {
    let cluster = session.cluster();
    let containers = cluster
        .pod_containers(&id.namespace, &id.name, &look())
        .await
        .map_err(|error| error.to_string())?;
    let Some(containers) = containers else {
        return Ok(None);
    };
    let mut log = String::new();
    for container in &containers {
        let at = (id.namespace.as_str(), id.name.as_str(), container.as_str());
        let read = cluster
            .read_log(at, false, &look(), |line| {
                log.push_str(line);
                log.push('\n');
            })
            .await;
        match read {
            Err(error) if error.class() == ErrorClass::NotFound => return Ok(None),
            read => read.map_err(|error| error.to_string())?,
        }
    }
    Ok(Some(log))
}

#[cfg(test)]
mod tests {
    use super::excluded;

    #[test]
    fn a_choice_may_leave_names_out() {
        assert_eq!(excluded("!name=a"), Some("a"));
        assert_eq!(excluded("! name=a"), Some("a"));
        assert_eq!(excluded("!  name=a"), None);
        assert_eq!(excluded("name=a"), None);
    }
}
