//! What several release commands take: formats, times, labels, dry-runs.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use kzero_cluster::{ApplyMode, Budget};
use kzero_release::decide::{CrdPolicy, Strategy};
use kzero_release::engine::Timing;
use kzero_release::show::Format;

use crate::cli::app::App;

/// Writing what came of an operation after a failure or a signal.
const CLEANUP: Duration = Duration::from_secs(60);

/// How many revisions are kept where nothing says otherwise.
const MAX_HISTORY: usize = 10;

/// `-o`.
#[derive(Debug, Clone, Args)]
pub(super) struct OutputFlag {
    /// Form of the output: table, json or yaml.
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = format)]
    pub(super) output: Format,
}

fn format(text: &str) -> Result<Format, String> {
    text.parse::<Format>().map_err(|error| error.to_string())
}

/// `--timeout`.
#[derive(Debug, Clone, Args)]
pub(super) struct TimeFlag {
    /// Time for each hook and each wait.
    #[arg(long, value_name = "DURATION", default_value = "5m0s", value_parser = duration)]
    timeout: Duration,
}

fn duration(text: &str) -> Result<Duration, String> {
    kzero_profile::duration::parse(text).map_err(|error| error.to_string())
}

impl TimeFlag {
    /// The time an operation may take: each hook and each wait as much as the flag says, the whole as long as they do.
    pub(super) fn timing(&self) -> Timing {
        let shown = kzero_profile::duration::format(self.timeout);
        Timing {
            all: Budget::unlimited(),
            each: Some((format!("--timeout {shown}"), self.timeout)),
            cleanup: CLEANUP,
        }
    }
}

/// `--wait` and what belongs to it.
#[derive(Debug, Clone, Args)]
pub(super) struct WaitFlags {
    /// Wait until all objects are ready.
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = wait)]
    wait: Option<bool>,
    /// With --wait, wait until Jobs are complete too.
    #[arg(long)]
    wait_for_jobs: bool,
}

/// Helm 3's switch and Helm 4's strategies; kzero has one way of waiting.
fn wait(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" | "t" | "T" | "TRUE" | "True" | "watcher" | "legacy" => Ok(true),
        "false" | "0" | "f" | "F" | "FALSE" | "False" | "hookOnly" => Ok(false),
        _ => Err("expected true, false, watcher, legacy or hookOnly".to_owned()),
    }
}

impl WaitFlags {
    /// Whether the end waits until all is ready.
    pub(super) fn wait(&self) -> bool {
        self.wait.unwrap_or(false)
    }

    /// Whether Jobs are among what is waited for.
    pub(super) fn jobs(&self) -> bool {
        self.wait_for_jobs
    }
}

/// How changes are written.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Writing")]
pub(super) struct ApplyFlags {
    /// three-way leaves what the chart did not change, overwrite sets every field as Helm 3 does, server-side lets the API server merge.
    #[arg(long, value_name = "HOW", value_parser = apply)]
    apply: Option<Strategy>,
    /// Helm 4's word for --apply.
    #[arg(long, hide = true, value_name = "SWITCH", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    server_side: Option<String>,
    /// Take fields of others where the API server merges.
    #[arg(long)]
    pub(super) force_conflicts: bool,
    /// Replace objects as a whole.
    #[arg(long, alias = "force-replace")]
    pub(super) force: bool,
}

fn apply(text: &str) -> Result<Strategy, String> {
    match text {
        "three-way" => Ok(Strategy::ThreeWay),
        "overwrite" => Ok(Strategy::Overwrite),
        "server-side" => Ok(Strategy::ServerSide),
        _ => Err("expected three-way, overwrite or server-side".to_owned()),
    }
}

impl ApplyFlags {
    /// The strategy.
    ///
    /// # Errors
    ///
    /// Helm's words for flags that exclude each other.
    pub(super) fn strategy(&self) -> Result<Strategy, String> {
        let named = match self.server_side.as_deref() {
            None | Some("auto") => None,
            Some("true") => Some(Strategy::ServerSide),
            Some("false") => Some(Strategy::ThreeWay),
            Some(other) => {
                return Err(format!(
                    "invalid/unknown release server-side apply method: {other}"
                ));
            }
        };
        let strategy = self.apply.or(named).unwrap_or_default();
        if self.force && self.force_conflicts {
            return Err(
                "invalid operation: cannot use force conflicts and force replace together"
                    .to_owned(),
            );
        }
        if self.force && strategy == Strategy::ServerSide {
            return Err(
                "invalid operation: cannot use server-side apply and force replace together"
                    .to_owned(),
            );
        }
        Ok(strategy)
    }
}

/// What becomes of `crds/`.
#[derive(Debug, Clone, Args)]
pub(super) struct CrdFlags {
    /// Definitions in crds/: create those that are missing, upgrade those that are there too, or skip all.
    #[arg(long, value_name = "HOW", default_value = "create", value_parser = crds)]
    crds: CrdPolicy,
    /// The same as --crds skip.
    #[arg(long)]
    skip_crds: bool,
}

fn crds(text: &str) -> Result<CrdPolicy, String> {
    match text {
        "create" => Ok(CrdPolicy::Create),
        "upgrade" => Ok(CrdPolicy::Upgrade),
        "skip" => Ok(CrdPolicy::Skip),
        _ => Err("expected create, upgrade or skip".to_owned()),
    }
}

impl CrdFlags {
    /// The policy.
    pub(super) fn policy(&self) -> CrdPolicy {
        if self.skip_crds {
            CrdPolicy::Skip
        } else {
            self.crds
        }
    }
}

/// `--dry-run` of install and upgrade.
#[derive(Debug, Clone, Args)]
pub(super) struct DryRunFlags {
    /// Change nothing: client renders and compares, server has the API server check each object as well.
    #[arg(long, value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    dry_run: Option<String>,
    /// Leave the text of Secrets out of what a dry-run prints.
    #[arg(long)]
    pub(super) hide_secret: bool,
}

/// What takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Everything.
    Live,
    /// Nothing; the API server is only read.
    Client,
    /// Nothing; the API server checks each write.
    Server,
}

impl Effect {
    /// As requests to the API server have it.
    pub(super) fn mode(self) -> ApplyMode {
        match self {
            Self::Live => ApplyMode::Live,
            Self::Client | Self::Server => ApplyMode::DryRun,
        }
    }
}

impl DryRunFlags {
    /// What takes effect.
    ///
    /// # Errors
    ///
    /// Helm's words for a mode that is none, and for secrets to be hidden where nothing is shown.
    pub(super) fn effect(&self) -> Result<Effect, String> {
        let effect = match self.dry_run.as_deref() {
            None | Some("" | "none" | "false") => Effect::Live,
            Some("client" | "true") => Effect::Client,
            Some("server") => Effect::Server,
            Some(_) => {
                return Err("Invalid dry-run flag. Flag must one of the following: false, true, none, client, server".to_owned());
            }
        };
        if self.hide_secret && effect == Effect::Live {
            return Err("Hiding Kubernetes secrets requires a dry-run mode".to_owned());
        }
        Ok(effect)
    }
}

/// `--history-max`.
#[derive(Debug, Clone, Args)]
pub(super) struct HistoryFlag {
    /// How many revisions are kept; 0 for all [default: 10, or what `HELM_MAX_HISTORY` says].
    #[arg(long, value_name = "N")]
    history_max: Option<i64>,
}

impl HistoryFlag {
    /// How many revisions are kept.
    pub(super) fn max(&self, app: &App) -> usize {
        match self.history_max {
            Some(max) => usize::try_from(max).unwrap_or(0),
            None => most_kept(app),
        }
    }
}

/// How many revisions are kept where no flag says it.
pub(super) fn most_kept(app: &App) -> usize {
    let variable = app.environment.text("HELM_MAX_HISTORY");
    variable
        .and_then(|text| text.parse::<i64>().ok())
        .map_or(MAX_HISTORY, |max| usize::try_from(max).unwrap_or(0))
}

/// Reads `-l a=1,b=2`.
///
/// # Errors
///
/// Helm's words for a part without `=`.
pub(super) fn labels(flags: &[String]) -> Result<BTreeMap<String, String>, String> {
    let mut labels = BTreeMap::new();
    let parts = flags.iter().flat_map(|flag| flag.split(','));
    for part in parts.filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').ok_or_else(|| {
            format!("invalid argument {part:?} for \"-l, --labels\" flag: {part} must be formatted as key=value")
        })?;
        labels.insert(key.trim().to_owned(), value.to_owned());
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::{labels, wait};

    #[test]
    fn labels_are_pairs() {
        let read = |text: &str| labels(&[text.to_owned()]);
        let found = read("a=1,b=2=3").unwrap();
        assert_eq!(found["a"], "1");
        assert_eq!(found["b"], "2=3");
        assert!(read("").unwrap().is_empty());
        assert_eq!(
            read("a").unwrap_err(),
            "invalid argument \"a\" for \"-l, --labels\" flag: a must be formatted as key=value"
        );
    }

    #[test]
    fn both_helms_words_for_waiting_are_taken() {
        for (word, waits) in [
            ("true", true),
            ("watcher", true),
            ("legacy", true),
            ("false", false),
            ("hookOnly", false),
        ] {
            assert_eq!(wait(word), Ok(waits), "{word}");
        }
        assert!(wait("long").is_err());
    }
}
