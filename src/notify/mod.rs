//! Tells people and machines elsewhere how a run goes (S-8).
//!
//! Duty: one POST an event to each enabled channel, side by side, each within its time. What a channel wants to read is made in
//! `payload`. Whether a message that did not arrive matters is not decided here.

mod payload;

use std::time::Duration;

use futures::future::join_all;
use jiff::Timestamp;
use kzero_cluster::Budget;
use kzero_profile::{Notify, Profile};
use kzero_registry::Proxies;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::environment::Environment;
use crate::report::Masker;

/// How long one POST may take (S-8.1).
const POST: Duration = Duration::from_secs(10);
/// How often a redirect to the same host is followed.
const REDIRECTS: usize = 3;
/// Where `PagerDuty` takes events.
const PAGERDUTY: &str = "https://events.pagerduty.com/v2/enqueue";
/// Another place, such as that of the EU.
const PAGERDUTY_URL: &str = "KZERO_PAGERDUTY_URL";

/// What is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventName {
    /// A run begins.
    Start,
    /// It succeeded.
    Success,
    /// It failed.
    Error,
    /// The API watchdog ended it.
    Stalled,
    /// `notify test`.
    Test,
}

impl EventName {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Test,
        Self::Start,
        Self::Success,
        Self::Error,
        Self::Stalled,
    ];

    /// `pipeline.start` …, as channels and flags name it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Start => "pipeline.start",
            Self::Success => "pipeline.success",
            Self::Error => "pipeline.error",
            Self::Stalled => "pipeline.stalled",
            Self::Test => "notify.test",
        }
    }
}

/// One message.
#[derive(Debug, Clone)]
pub struct Message {
    /// What is told.
    pub event: EventName,
    /// `down`, `up`, `reset`, `notify-test`.
    pub command: String,
    /// `live` or `test`.
    pub mode: &'static str,
    /// How long the run took, at its end.
    pub duration: Option<Duration>,
    /// What failed (S-8.3).
    pub failed_step: Option<String>,
    /// Why.
    pub error: Option<String>,
}

/// What all messages of a run have in common.
#[derive(Debug, Clone, Default)]
pub struct Subject {
    /// `client.id`.
    pub client_id: Option<String>,
    /// `cluster.name`.
    pub cluster: String,
    /// `cluster.environment`.
    pub environment: String,
    /// The context of the kubeconfig.
    pub context: Option<String>,
    /// Who runs it.
    pub user: Option<String>,
    /// When it began.
    pub started: Timestamp,
    /// Its id.
    pub run_id: Option<String>,
}

/// A channel that is switched on.
struct Channel {
    kind: Kind,
    url: String,
    headers: HeaderMap,
    /// Messages of one channel arrive in their order.
    turn: Mutex<()>,
}

#[derive(Debug, Clone)]
enum Kind {
    Slack,
    Discord,
    Teams,
    PagerDuty { routing_key: String },
    Webhook,
}

/// The enabled channels of a profile.
pub struct Notifier {
    channels: Vec<Channel>,
    client: Client,
    subject: Subject,
    masker: Masker,
    /// Whether `pipeline.error` is sent.
    on_error: bool,
    required: bool,
}

impl Notifier {
    /// Reads what a profile enables; `None` when that is nothing.
    ///
    /// # Errors
    ///
    /// A channel without address or key, a header that cannot be sent, a proxy's address that is none.
    pub fn new(
        profile: &Profile,
        environment: &Environment,
        masker: Masker,
        subject: Subject,
    ) -> Result<Option<Self>, String> {
        let notify = &profile.notify;
        if !notify.any_enabled() {
            return Ok(None);
        }
        let problems = notify.problems();
        if !problems.is_empty() {
            let texts: Vec<_> = problems.iter().map(ToString::to_string).collect();
            return Err(texts.join("\n"));
        }
        let proxies = Proxies::from_env(|name| environment.raw(name));
        Ok(Some(Self {
            channels: channels(notify, environment)?,
            client: client(&proxies)?,
            subject,
            masker,
            on_error: notify.on_error,
            required: notify.require_delivery,
        }))
    }

    /// Whether an error that did not arrive everywhere changes the exit code (S-8.12).
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.required
    }

    /// Sends a message to all channels and waits for their answers. An error message that is switched off counts as sent.
    ///
    /// # Errors
    ///
    /// What went wrong at which channels, in one text without secrets (S-8.11).
    ///
    /// # Cancel safety
    ///
    /// Safe to drop: channels may have got the message or not.
    pub async fn send(&self, message: &Message, budget: &Budget) -> Result<(), String> {
        if message.event == EventName::Error && !self.on_error {
            return Ok(());
        }
        self.send_always(message, budget).await
    }

    /// The same, whatever is switched off.
    ///
    /// # Errors
    ///
    /// As [`Notifier::send`].
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn send_always(&self, message: &Message, budget: &Budget) -> Result<(), String> {
        let posts = self
            .channels
            .iter()
            .map(|channel| self.post(channel, message, budget));
        let failures: Vec<String> = join_all(posts)
            .await
            .into_iter()
            .filter_map(Result::err)
            .collect();
        if failures.is_empty() {
            Ok(())
        } else {
            Err(failures.join("; "))
        }
    }

    async fn post(
        &self,
        channel: &Channel,
        message: &Message,
        budget: &Budget,
    ) -> Result<(), String> {
        let _turn = channel.turn.lock().await;
        let body = self.body(channel, message);
        let request = self
            .client
            .post(&channel.url)
            .headers(channel.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(body.to_string());
        let budget = budget.child("notification 10s", POST);
        let failed = |why: String| format!("notify: POST {}: {why}", shown(&channel.url));
        let answer = budget
            .run(request.send())
            .await
            .map_err(|expired| failed(expired.to_string()))?
            .map_err(|error| failed(reason(&error)))?;
        let status = answer.status();
        if status.is_success() {
            Ok(())
        } else {
            Err(failed(format!("HTTP {}", status.as_u16())))
        }
    }

    /// What a channel is sent, without secrets but for its own key.
    fn body(&self, channel: &Channel, message: &Message) -> Value {
        let subject = &self.subject;
        let mut body = match &channel.kind {
            Kind::Slack => payload::slack(subject, message),
            Kind::Discord => payload::discord(message),
            Kind::Teams => payload::teams(message),
            Kind::PagerDuty { .. } => payload::pagerduty(subject, message),
            Kind::Webhook => payload::webhook(subject, message),
        };
        self.masker.mask_json(&mut body);
        if let Kind::PagerDuty { routing_key } = &channel.kind {
            body["routing_key"] = routing_key.as_str().into();
        }
        body
    }
}

fn channels(notify: &Notify, environment: &Environment) -> Result<Vec<Channel>, String> {
    let mut channels = Vec::new();
    let mut add = |enabled: bool, kind: Kind, url: &str, headers: HeaderMap| {
        if enabled {
            channels.push(Channel {
                kind,
                url: url.to_owned(),
                headers,
                turn: Mutex::new(()),
            });
        }
    };
    for (chat, kind) in [
        (&notify.slack, Kind::Slack),
        (&notify.discord, Kind::Discord),
        (&notify.teams, Kind::Teams),
    ] {
        add(
            chat.enabled,
            kind,
            chat.webhook_url.expose(),
            HeaderMap::new(),
        );
    }
    let pagerduty = environment.text(PAGERDUTY_URL);
    let key = Kind::PagerDuty {
        routing_key: notify.pagerduty.routing_key.expose().to_owned(),
    };
    let url = pagerduty.as_deref().unwrap_or(PAGERDUTY);
    add(notify.pagerduty.enabled, key, url, HeaderMap::new());
    let webhook = &notify.webhook;
    let mut headers = HeaderMap::new();
    for (name, value) in &webhook.headers {
        let key = HeaderName::try_from(name.as_str()).map_err(|error| {
            format!("notify.webhook.headers: {name:?} cannot be the name of a header: {error}")
        })?;
        let mut value = HeaderValue::try_from(value.expose()).map_err(|_| {
            format!("notify.webhook.headers: the value of {name} cannot be sent in a header")
        })?;
        value.set_sensitive(true);
        // S-8.5: the content is JSON, whatever the profile says.
        if key != CONTENT_TYPE {
            headers.append(key, value);
        }
    }
    add(
        webhook.enabled,
        Kind::Webhook,
        webhook.url.expose(),
        headers,
    );
    Ok(channels)
}

/// A client that takes its headers to no other host (S-8.14).
fn client(proxies: &Proxies) -> Result<Client, String> {
    let same_host = reqwest::redirect::Policy::custom(|attempt| {
        let host = |url: &Url| {
            (
                url.host_str().map(str::to_owned),
                url.port_or_known_default(),
            )
        };
        let stays = attempt
            .previous()
            .first()
            .is_some_and(|first| host(first) == host(attempt.url()));
        if stays && attempt.previous().len() <= REDIRECTS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    });
    let builder = Client::builder()
        .user_agent(concat!("kzero/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(POST)
        .redirect(same_host)
        .referer(false);
    let builder = proxies.apply(builder)?;
    builder.build().map_err(|error| reason(&error))
}

/// An address as it may be shown: its path is the secret of most channels.
fn shown(address: &str) -> String {
    match Url::parse(address) {
        Ok(url) => {
            let port = url
                .port()
                .map(|port| format!(":{port}"))
                .unwrap_or_default();
            let host = url.host_str().unwrap_or_default();
            format!("{}://{host}{port}/***", url.scheme())
        }
        Err(_) => "***".to_owned(),
    }
}

/// The innermost cause of an error, which names no address.
fn reason(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
