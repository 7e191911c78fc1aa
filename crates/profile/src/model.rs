//! The typed profile: what chapter 1 of the specification can say, with defaults filled in.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::diagnostic::{Diagnostic, Position, Source};
use crate::step::StepSpec;

/// Declares an enum whose values are words of the profile.
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$vmeta])* $variant,)+
        }

        impl $name {
            /// Every word, in the order of the specification.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The value of a word, `None` for any other text.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The word as it is written in a profile.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use words;

words! {
    /// The two directions of a pipeline.
    pub enum Phase {
        /// Parking.
        Down = "down",
        /// Waking.
        Up = "up",
    }
}

words! {
    /// Whether a command changes anything.
    pub enum RunMode {
        /// Nothing changes; the plan is printed and checked.
        DryRun = "dry-run",
        /// The cluster is changed.
        Live = "live",
    }
}

words! {
    /// Who talks to the cluster (S-2.8).
    pub enum Execution {
        /// The program itself.
        Native = "native",
        /// kubectl and helm.
        Shell = "shell",
        /// Native if a client can be built, else shell.
        Auto = "auto",
    }
}

words! {
    /// When the summary is coloured (S-7.6).
    pub enum ColorMode {
        /// By environment and terminal.
        Auto = "auto",
        /// Always.
        Always = "always",
        /// Never.
        Never = "never",
    }
}

words! {
    /// What a retry repeats (S-3.14, S-3.20).
    pub enum RetryScope {
        /// `pre`, main action and `post`.
        Step = "step",
        /// The main action only.
        Main = "main",
    }
}

words! {
    /// One question of `kzero verify` (S-6.20).
    pub enum VerifyCheck {
        /// All workloads of the `up` list are ready at their size.
        WorkloadsReady = "workloads_ready",
        /// All nodes are ready.
        NodesReady = "nodes_ready",
        /// No pod is waiting for a node.
        PodsSchedulable = "pods_schedulable",
    }
}

words! {
    /// The form of the verify report.
    pub enum VerifyFormat {
        /// Lines.
        Text = "text",
        /// One JSON document.
        Json = "json",
    }
}

words! {
    /// A command that the infra probe can guard (S-6.41).
    pub enum ProbeGate {
        /// `kzero reset`.
        Reset = "reset",
        /// `kzero down`.
        Down = "down",
    }
}

/// A text that must not be shown: its `Debug` form is `***`.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether nothing was given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// `cluster.*`: labels, never checked against a cluster (S-1.22).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterLabels {
    /// `cluster.name`.
    pub name: String,
    /// `cluster.environment`.
    pub environment: String,
    /// `cluster.description`.
    pub description: String,
}

/// `helm.*`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Helm {
    /// `helm.workspace`: the folder of chart manifests and release scripts. Present when a release step exists.
    pub workspace: Option<String>,
    /// `helm.registries`, in the order of the file; hosts are unique ignoring case.
    pub registries: Vec<Registry>,
}

/// Credentials for one chart registry (S-5.18).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    /// Host, with the port if one was written.
    pub host: String,
    /// User name.
    pub username: String,
    /// Password written in the profile.
    pub password: Option<Secret>,
    /// Name of the environment variable that holds the password; it wins over `password`.
    pub password_env: Option<String>,
    /// Where the entry begins.
    pub at: Position,
}

/// `command.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commands {
    /// kubectl for shell execution.
    pub kubectl: String,
    /// helm for shell execution.
    pub helm: String,
    /// Interpreter of all scripts.
    pub shell: String,
    /// Whether `shell` is `/bin/sh`, so that a bashism is worth a hint (S-4.7).
    pub shell_is_default: bool,
}

/// `hooks.*`; an empty path counts as no hook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hooks {
    /// Before the `down` steps.
    pub pre_down: Option<String>,
    /// After the `down` steps.
    pub post_down: Option<String>,
    /// Before the `up` steps.
    pub pre_up: Option<String>,
    /// After the `up` steps.
    pub post_up: Option<String>,
    /// After a failure.
    pub on_error: Option<String>,
}

/// `pipelines.*`; `None` is a list that was not given. At least one is given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pipelines {
    /// `pipelines.down`.
    pub down: Option<Vec<StepSpec>>,
    /// `pipelines.up`.
    pub up: Option<Vec<StepSpec>>,
}

impl Pipelines {
    /// The steps of a phase; none when the list was not given.
    #[must_use]
    pub fn steps(&self, phase: Phase) -> &[StepSpec] {
        match phase {
            Phase::Down => self.down.as_deref().unwrap_or_default(),
            Phase::Up => self.up.as_deref().unwrap_or_default(),
        }
    }
}

/// `notify.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notify {
    /// Whether `pipeline.error` is sent.
    pub on_error: bool,
    /// Whether an undelivered error event changes the exit code (S-8.12).
    pub require_delivery: bool,
    /// Slack.
    pub slack: ChatChannel,
    /// Discord.
    pub discord: ChatChannel,
    /// Microsoft Teams.
    pub teams: ChatChannel,
    /// `PagerDuty`.
    pub pagerduty: PagerDuty,
    /// Any address.
    pub webhook: Webhook,
}

/// A chat service that takes messages at a secret address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChatChannel {
    /// Whether events are sent.
    pub enabled: bool,
    /// The address; empty when not given.
    pub webhook_url: Secret,
}

/// `notify.pagerduty.*`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PagerDuty {
    /// Whether events are sent.
    pub enabled: bool,
    /// The integration's key; empty when not given.
    pub routing_key: Secret,
}

/// `notify.webhook.*`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Webhook {
    /// Whether events are sent.
    pub enabled: bool,
    /// The address; empty when not given.
    pub url: Secret,
    /// Extra headers in the order of the file; names are legal in HTTP.
    pub headers: Vec<(String, Secret)>,
}

/// A channel that is switched on and cannot send: an error for live runs and `notify test`, else a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotifyProblem {
    /// The channel, such as `slack`.
    pub channel: &'static str,
    /// The key that is empty, such as `notify.slack.webhook_url`.
    pub key: &'static str,
}

impl fmt::Display for NotifyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "notify.{}.enabled is true, but {} is empty",
            self.channel, self.key
        )
    }
}

impl Notify {
    /// Whether any channel is enabled.
    #[must_use]
    pub fn any_enabled(&self) -> bool {
        self.slack.enabled
            || self.discord.enabled
            || self.teams.enabled
            || self.pagerduty.enabled
            || self.webhook.enabled
    }

    /// The enabled channels without an address or key, in the order of the specification.
    #[must_use]
    pub fn problems(&self) -> Vec<NotifyProblem> {
        [
            (
                self.slack.enabled,
                &self.slack.webhook_url,
                "slack",
                "notify.slack.webhook_url",
            ),
            (
                self.discord.enabled,
                &self.discord.webhook_url,
                "discord",
                "notify.discord.webhook_url",
            ),
            (
                self.teams.enabled,
                &self.teams.webhook_url,
                "teams",
                "notify.teams.webhook_url",
            ),
            (
                self.pagerduty.enabled,
                &self.pagerduty.routing_key,
                "pagerduty",
                "notify.pagerduty.routing_key",
            ),
            (
                self.webhook.enabled,
                &self.webhook.url,
                "webhook",
                "notify.webhook.url",
            ),
        ]
        .into_iter()
        .filter(|(enabled, value, ..)| *enabled && value.is_empty())
        .map(|(_, _, channel, key)| NotifyProblem { channel, key })
        .collect()
    }
}

/// `verify.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verify {
    /// Accepted for old profiles; switches nothing.
    pub enabled: bool,
    /// What is checked.
    pub checks: Vec<VerifyCheck>,
    /// How it is reported.
    pub format: VerifyFormat,
}

/// `infra_probe.*`.
#[derive(Debug, Clone, PartialEq)]
pub struct InfraProbe {
    /// Whether the gate runs before the commands in `before`.
    pub enabled: bool,
    /// The guarded commands.
    pub before: Vec<ProbeGate>,
    /// Whether a failed gate stops the command.
    pub fail_fast: bool,
    /// How long a success counts; zero is no cache.
    pub cache_ttl: Duration,
    /// `infra_probe.pipeline`.
    pub pipeline: Pipelines,
    /// What is asked after `pipeline.up`.
    pub checks: Vec<ProbeCheck>,
}

/// One question after the probe's `up` (S-6.42).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeCheck {
    /// `pvc_bound: namespace/claim`.
    PvcBound {
        /// Namespace of the claim.
        namespace: String,
        /// Name of the claim.
        claim: String,
    },
    /// `release_ready: true`.
    ReleaseReady,
    /// `pods_schedulable: true`.
    PodsSchedulable,
}

/// `retry.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// Tries of a step, at least 1.
    pub attempts: u32,
    /// Base of the waits between tries.
    pub delay: Duration,
    /// Whether a delay above zero was given.
    pub delay_given: bool,
    /// What is repeated.
    pub scope: RetryScope,
}

/// `run.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Dry-run or live.
    pub mode: RunMode,
    /// The kubeconfig to use and no other; `None` is the usual discovery (S-1.30).
    pub kubeconfig: Option<String>,
    /// Who talks to the cluster.
    pub execution: Execution,
    /// Colour of the summary.
    pub color: ColorMode,
    /// Budget of the whole run.
    pub timeout: Option<Duration>,
    /// Budget of a step or phase hook without its own.
    pub operation_timeout: Option<Duration>,
    /// Budget of the clean-up, above zero.
    pub cleanup_timeout: Duration,
    /// Whether scripts see the documented variables only (S-4.9).
    pub no_env_passthrough: bool,
    /// Verify after a live `up` or `reset`.
    pub verify: bool,
    /// Folder of the probe cache; `None` is the user's cache folder.
    pub probe_cache_dir: Option<String>,
    /// Folder for log files.
    pub log_dir: Option<String>,
    /// Log file.
    pub log_file: Option<String>,
    /// `run.api_watchdog.*`.
    pub api_watchdog: Watchdog,
}

/// `run.api_watchdog.*` (S-3.30).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watchdog {
    /// Whether it runs.
    pub enabled: bool,
    /// Time between two probes, above zero.
    pub interval: Duration,
    /// How long probes may fail, above zero.
    pub fail_after: Duration,
}

/// `state.*`: where memory and lock live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatePlace {
    /// Namespace; `None` is that of the context, else `default`.
    pub namespace: Option<String>,
    /// Name, a DNS label; computed from `cluster.name` and the file name when not given.
    pub name: String,
    /// Whether the name was given.
    pub name_given: bool,
}

/// A key whose value comes from the environment (S-1.19).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The dotted key, such as `run.mode`.
    pub key: &'static str,
    /// The variable, such as `KZERO_RUN_MODE`.
    pub variable: String,
    /// Whether the value must not be shown.
    pub secret: bool,
}

/// A loaded profile.
#[derive(Clone)]
pub struct Profile {
    /// The text it was read from.
    pub source: Source,
    /// `schema_version`, always `1.0`.
    pub schema_version: String,
    /// `cluster.*`.
    pub cluster: ClusterLabels,
    /// `client.id`, never empty.
    pub client_id: Option<String>,
    /// `helm.*`.
    pub helm: Helm,
    /// `command.*`.
    pub command: Commands,
    /// `hooks.*`.
    pub hooks: Hooks,
    /// `pipelines.*`.
    pub pipelines: Pipelines,
    /// `notify.*`.
    pub notify: Notify,
    /// `verify.*`.
    pub verify: Verify,
    /// `infra_probe.*`.
    pub infra_probe: InfraProbe,
    /// `retry.*`.
    pub retry: Retry,
    /// `run.*`.
    pub run: Run,
    /// `state.*`.
    pub state: StatePlace,
    /// Keys taken from the environment, in the order of the specification.
    pub overrides: Vec<Override>,
    /// What the operator should look at; shown with [`Source::render`].
    pub warnings: Vec<Diagnostic>,
    /// Every secret value known from the profile or the environment, for masking (S-4.16). None is empty.
    pub secrets: Vec<String>,
    pub(crate) positions: BTreeMap<String, Position>,
}

impl Profile {
    /// Where a key such as `hooks.pre-down` (or a section such as `run`) stands; `None` if it is not in the file.
    #[must_use]
    pub fn position_of(&self, key: &str) -> Option<Position> {
        self.positions.get(key).copied()
    }

    /// A profile that says nothing. The key table fills in the defaults.
    pub(crate) fn blank(source: Source) -> Self {
        Self {
            source,
            schema_version: String::new(),
            cluster: ClusterLabels::default(),
            client_id: None,
            helm: Helm::default(),
            command: Commands {
                kubectl: String::new(),
                helm: String::new(),
                shell: String::new(),
                shell_is_default: true,
            },
            hooks: Hooks::default(),
            pipelines: Pipelines::default(),
            notify: Notify {
                on_error: false,
                require_delivery: false,
                slack: ChatChannel::default(),
                discord: ChatChannel::default(),
                teams: ChatChannel::default(),
                pagerduty: PagerDuty::default(),
                webhook: Webhook::default(),
            },
            verify: Verify {
                enabled: false,
                checks: vec![VerifyCheck::WorkloadsReady, VerifyCheck::NodesReady],
                format: VerifyFormat::Text,
            },
            infra_probe: InfraProbe {
                enabled: false,
                before: vec![ProbeGate::Reset],
                fail_fast: false,
                cache_ttl: Duration::ZERO,
                pipeline: Pipelines::default(),
                checks: Vec::new(),
            },
            retry: Retry {
                attempts: 1,
                delay: Duration::ZERO,
                delay_given: false,
                scope: RetryScope::Step,
            },
            run: Run {
                mode: RunMode::DryRun,
                kubeconfig: None,
                execution: Execution::Native,
                color: ColorMode::Auto,
                timeout: None,
                operation_timeout: None,
                cleanup_timeout: Duration::ZERO,
                no_env_passthrough: false,
                verify: false,
                probe_cache_dir: None,
                log_dir: None,
                log_file: None,
                api_watchdog: Watchdog {
                    enabled: false,
                    interval: Duration::ZERO,
                    fail_after: Duration::ZERO,
                },
            },
            state: StatePlace {
                namespace: None,
                name: String::new(),
                name_given: false,
            },
            overrides: Vec::new(),
            warnings: Vec::new(),
            secrets: Vec::new(),
            positions: BTreeMap::new(),
        }
    }
}

impl fmt::Debug for Profile {
    /// Leaves out the text and the secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profile")
            .field("source", &self.source.display())
            .field("run", &self.run)
            .field("hooks", &self.hooks)
            .field("pipelines", &self.pipelines)
            .finish_non_exhaustive()
    }
}
