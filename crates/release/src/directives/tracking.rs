//! How an object is followed until it is ready.

use std::collections::BTreeMap;
use std::time::Duration;

use kzero_duration as duration;
use regex::Regex;
use serde_json::Value;

use super::{DirectiveError, Reader};

/// Whether the deployment waits for an object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Termination {
    /// Until it is ready.
    #[default]
    WaitUntilReady,
    /// Not at all, unless something else waits for it.
    NonBlocking,
}

/// What a failure of an object means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FailMode {
    /// The deployment fails.
    #[default]
    FailNow,
    /// It is told, and the deployment goes on.
    Ignore,
}

/// What is said of one container.
#[derive(Debug, Clone, Default)]
pub struct ContainerFilter {
    /// Only lines that match are shown.
    pub keep: Option<Regex>,
    /// Lines that match are not shown.
    pub skip: Option<Regex>,
    /// How long a failing readiness probe is no failure.
    pub ignore_probe: Option<Duration>,
}

impl PartialEq for ContainerFilter {
    fn eq(&self, other: &Self) -> bool {
        let text = |regex: &Option<Regex>| regex.as_ref().map(ToString::to_string);
        text(&self.keep) == text(&other.keep)
            && text(&self.skip) == text(&other.skip)
            && self.ignore_probe == other.ignore_probe
    }
}

/// How an object is followed.
#[derive(Debug, Clone, PartialEq)]
pub struct Tracking {
    /// Whether it is waited for.
    pub termination: Termination,
    /// What its failure means.
    pub fail_mode: FailMode,
    /// Failures of pods that are forgiven for each replica; `None` for the usual of its kind.
    pub failures_allowed_per_replica: Option<i64>,
    /// Failures of pods that are forgiven in all, worked out from the object.
    pub failures_allowed: i64,
    /// How long nothing may happen to a custom resource before that counts as a failure.
    pub no_activity: Duration,
    /// For all containers.
    pub all: ContainerFilter,
    /// By the name of the container.
    pub containers: BTreeMap<String, ContainerFilter>,
    /// No logs.
    pub skip_logs: bool,
    /// No logs of these containers.
    pub skip_logs_for: Vec<String>,
    /// Logs of these containers only; empty for all.
    pub show_logs_only_for: Vec<String>,
    /// Logs of so many pods.
    pub show_logs_of_replicas: i64,
    /// Whether the events of the object are shown.
    pub show_events: bool,
}

impl Default for Tracking {
    fn default() -> Self {
        Self {
            termination: Termination::default(),
            fail_mode: FailMode::default(),
            failures_allowed_per_replica: None,
            failures_allowed: 0,
            no_activity: Duration::from_secs(240),
            all: ContainerFilter::default(),
            containers: BTreeMap::new(),
            skip_logs: false,
            skip_logs_for: Vec::new(),
            show_logs_only_for: Vec::new(),
            show_logs_of_replicas: 1,
            show_events: false,
        }
    }
}

impl Tracking {
    /// Whether a line of a container's log is shown.
    #[must_use]
    pub fn shows(&self, container: &str, line: &str) -> bool {
        let own = self.containers.get(container);
        let skips = |filter: &ContainerFilter| {
            filter
                .skip
                .as_ref()
                .is_some_and(|regex| regex.is_match(line))
        };
        let keeps = |filter: &ContainerFilter| {
            filter
                .keep
                .as_ref()
                .is_none_or(|regex| regex.is_match(line))
        };
        !skips(&self.all) && !own.is_some_and(skips) && keeps(&self.all) && own.is_none_or(keeps)
    }

    /// Whether any of a container's log is shown.
    #[must_use]
    pub fn shows_container(&self, container: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|name| name == container);
        !self.skip_logs
            && !named(&self.skip_logs_for)
            && (self.show_logs_only_for.is_empty() || named(&self.show_logs_only_for))
    }
}

/// Reads the key if it is about tracking.
pub(super) fn read(
    reader: &Reader<'_>,
    key: &str,
    value: &str,
    found: &mut Tracking,
) -> Result<bool, DirectiveError> {
    match key {
        "werf.io/track-termination-mode" => {
            let words = [
                ("WaitUntilResourceReady", Termination::WaitUntilReady),
                ("NonBlocking", Termination::NonBlocking),
            ];
            found.termination = reader.word(key, value, &words)?;
        }
        "werf.io/fail-mode" => {
            let words = [
                ("FailWholeDeployProcessImmediately", FailMode::FailNow),
                ("IgnoreAndContinueDeployProcess", FailMode::Ignore),
                ("HopeUntilEndOfDeployProcess", FailMode::FailNow),
            ];
            found.fail_mode = reader.word(key, value, &words)?;
        }
        "werf.io/failures-allowed-per-replica" => {
            found.failures_allowed_per_replica = Some(reader.natural(key, value)?);
        }
        "werf.io/no-activity-timeout" => found.no_activity = time(reader, key, value)?,
        "werf.io/log-regex" => found.all.keep = Some(regex(reader, key, value)?),
        "werf.io/log-regex-skip" => found.all.skip = Some(regex(reader, key, value)?),
        "werf.io/skip-logs" => found.skip_logs = reader.boolean(key, value)?,
        "werf.io/skip-logs-for-containers" => found.skip_logs_for = names(reader, key, value)?,
        "werf.io/show-logs-only-for-containers" => {
            found.show_logs_only_for = names(reader, key, value)?;
        }
        "werf.io/show-logs-only-for-number-of-replicas" => {
            found.show_logs_of_replicas = reader.natural(key, value)?;
        }
        "werf.io/show-service-messages" => found.show_events = reader.boolean(key, value)?,
        _ => return container(reader, key, value, found),
    }
    Ok(true)
}

/// Keys that end in the name of a container.
fn container(
    reader: &Reader<'_>,
    key: &str,
    value: &str,
    found: &mut Tracking,
) -> Result<bool, DirectiveError> {
    let named = |prefix: &str| {
        key.strip_prefix(prefix)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
    };
    if let Some(name) = named("werf.io/log-regex-skip-for-") {
        found.containers.entry(name).or_default().skip = Some(regex(reader, key, value)?);
    } else if let Some(name) = named("werf.io/log-regex-for-") {
        found.containers.entry(name).or_default().keep = Some(regex(reader, key, value)?);
    } else if let Some(name) = named("werf.io/ignore-readiness-probe-fails-for-") {
        found.containers.entry(name).or_default().ignore_probe = Some(time(reader, key, value)?);
    } else {
        return Ok(false);
    }
    Ok(true)
}

fn regex(reader: &Reader<'_>, key: &str, value: &str) -> Result<Regex, DirectiveError> {
    // The limit is the crate's own, for patterns that would take all memory.
    Regex::new(value).map_err(|error| {
        let last = error.to_string();
        let last = last.lines().last().unwrap_or_default().trim().to_owned();
        reader.wrong(key, value, format!("a regular expression: {last}"))
    })
}

fn time(reader: &Reader<'_>, key: &str, value: &str) -> Result<Duration, DirectiveError> {
    duration::parse(value).map_err(|_| reader.wrong(key, value, "a duration such as 4m or 1m30s"))
}

fn names(reader: &Reader<'_>, key: &str, value: &str) -> Result<Vec<String>, DirectiveError> {
    let names: Vec<String> = value
        .split(',')
        .map(|name| name.trim().to_owned())
        .collect();
    if names.iter().any(String::is_empty) {
        return Err(reader.wrong(key, value, "a list of containers, separated by commas"));
    }
    Ok(names)
}

/// Works out how many failures of pods are forgiven.
pub(super) fn defaults(object: &Value, annotations: &BTreeMap<&str, &str>, found: &mut Tracking) {
    let kind = object
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let usual = i64::from(matches!(
        kind,
        "Deployment" | "DaemonSet" | "StatefulSet" | "Canary"
    ));
    let never = object
        .pointer("/spec/template/spec/restartPolicy")
        .and_then(Value::as_str)
        == Some("Never");
    let asked = annotations.contains_key("werf.io/failures-allowed-per-replica");
    let each = if never && !asked {
        0
    } else {
        found.failures_allowed_per_replica.unwrap_or(usual)
    };
    let replicas = object
        .pointer("/spec/replicas")
        .and_then(Value::as_i64)
        .unwrap_or(1);
    found.failures_allowed = each.saturating_mul(replicas.max(1));
}
