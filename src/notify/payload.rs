//! What each kind of channel is sent (S-8.5 to S-8.10).

use std::time::Duration;

use kzero_profile::duration;
use serde_json::{Map, Value, json};

use super::{EventName, Message, Subject};

/// The most that Discord takes of a text, in characters.
const DISCORD_LIMIT: usize = 2000;

/// The body for any address (S-8.5).
pub(super) fn webhook(subject: &Subject, message: &Message) -> Value {
    let mut body = Map::new();
    let mut put = |key: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            body.insert(key.to_owned(), value.into());
        }
    };
    put("event", Some(message.event.word().to_owned()));
    put("command", Some(message.command.clone()));
    put("mode", Some(message.mode.to_owned()));
    put("client_id", subject.client_id.clone());
    put("cluster_name", Some(subject.cluster.clone()));
    put("kube_context", subject.context.clone());
    put(
        "started_at",
        Some(subject.started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
    );
    put(
        "duration",
        message.duration.map(millis).map(duration::format),
    );
    put("failed_step", message.failed_step.clone());
    put("error", message.error.clone());
    put("run_id", subject.run_id.clone());
    Value::Object(body)
}

/// One line that says it all (S-8.6).
pub(super) fn summary(message: &Message) -> String {
    let command = &message.command;
    let error = message.error.as_deref().unwrap_or_default();
    match message.event {
        EventName::Start => format!("kzero {command} started ({})", message.mode),
        EventName::Success => {
            let time = millis(message.duration.unwrap_or_default());
            format!("kzero {command} succeeded in {}", duration::format(time))
        }
        EventName::Error => match &message.failed_step {
            Some(step) => format!("kzero {command} failed at {step}: {error}"),
            None => format!("kzero {command} failed: {error}"),
        },
        EventName::Stalled => format!("kzero {command} stalled: {error}"),
        EventName::Test => "kzero notify test (mode=test)".to_owned(),
    }
}

/// An attachment (S-8.7).
pub(super) fn slack(subject: &Subject, message: &Message) -> Value {
    let (color, title) = match message.event {
        EventName::Start => ("#439FE0", "🚀 kzero started"),
        EventName::Success => ("#36a64f", "✅ kzero completed"),
        EventName::Error => ("#E01E5A", "❌ kzero error"),
        EventName::Stalled => ("#FF8C00", "🟠 kzero stalled (API unreachable)"),
        EventName::Test => ("#ECB22E", "🔔 kzero test"),
    };
    let success = message.event == EventName::Success;
    let time = if success {
        let lasted = jiff::SignedDuration::try_from(message.duration.unwrap_or_default());
        lasted
            .ok()
            .and_then(|lasted| subject.started.checked_add(lasted).ok())
            .unwrap_or(subject.started)
    } else {
        subject.started
    };
    let failed = matches!(message.event, EventName::Error | EventName::Stalled);
    let lasted = message.duration.filter(|_| success).map(in_words);
    let fields = [
        ("Cluster", Some(subject.cluster.clone())),
        ("Client", subject.client_id.clone()),
        (
            "Time",
            Some(time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()),
        ),
        ("Context", subject.context.clone()),
        ("User", subject.user.clone()),
        ("Mode", Some(subject.environment.to_uppercase())),
        ("Duration", lasted),
        (
            "Failed step",
            message.failed_step.clone().filter(|_| failed),
        ),
        ("Error", message.error.clone().filter(|_| failed)),
    ];
    let lines: Vec<String> = fields
        .into_iter()
        .filter_map(|(label, value)| {
            let value = value.filter(|value| !value.is_empty())?;
            Some(format!("• *{label}:* `{value}`"))
        })
        .collect();
    json!({"attachments": [{
        "color": color,
        "title": title,
        "text": lines.join("\n"),
        "footer": concat!("kzero v", env!("CARGO_PKG_VERSION")),
        "ts": time.as_second(),
        "fallback": summary(message),
    }]})
}

/// A text (S-8.8).
pub(super) fn discord(message: &Message) -> Value {
    let text: String = summary(message).chars().take(DISCORD_LIMIT).collect();
    json!({ "content": text })
}

/// A message card (S-8.9).
pub(super) fn teams(message: &Message) -> Value {
    let summary = summary(message);
    json!({
        "@type": "MessageCard",
        "@context": "http://schema.org/extensions",
        "summary": summary,
        "text": summary,
        "title": format!("kzero {}", message.command),
        "themeColor": if is_bad(message) { "E81123" } else { "0078D4" },
    })
}

/// An event of the Events API, version 2, without the key (S-8.10).
pub(super) fn pagerduty(subject: &Subject, message: &Message) -> Value {
    json!({
        "event_action": "trigger",
        "payload": {
            "summary": summary(message),
            "severity": if is_bad(message) { "error" } else { "info" },
            "source": "kzero",
            "custom_details": {
                "event": message.event.word(),
                "command": message.command,
                "mode": message.mode,
                "client_id": subject.client_id.as_deref().unwrap_or_default(),
                "cluster": subject.cluster,
                "failed_step": message.failed_step.as_deref().unwrap_or_default(),
            },
        },
    })
}

fn is_bad(message: &Message) -> bool {
    matches!(message.event, EventName::Error | EventName::Stalled)
}

/// Rounded to milliseconds, as summaries are.
fn millis(time: Duration) -> Duration {
    let millis = (time.as_micros() + 500) / 1000;
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

/// `18min 32sec`, `2min`, `9sec`.
fn in_words(time: Duration) -> String {
    let seconds = time.as_secs() + u64::from(time.subsec_millis() >= 500);
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds}sec"),
        (minutes, 0) => format!("{minutes}min"),
        (minutes, seconds) => format!("{minutes}min {seconds}sec"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::super::{EventName, Message, Subject};
    use super::{discord, in_words, pagerduty, slack, summary, teams, webhook};

    fn subject() -> Subject {
        Subject {
            client_id: Some("ops".into()),
            cluster: "dev".into(),
            environment: "staging".into(),
            context: Some("kind-dev".into()),
            user: Some("ann".into()),
            started: "2026-01-02T03:04:05Z".parse().unwrap(),
            run_id: Some("r1".into()),
        }
    }

    fn message(event: EventName) -> Message {
        let failed = matches!(event, EventName::Error | EventName::Stalled);
        Message {
            event,
            command: "down".into(),
            mode: "live",
            duration: (event != EventName::Start).then(|| Duration::from_micros(112_034_500)),
            failed_step: failed.then(|| "deployment.a/b".into()),
            error: failed.then(|| "no answer".into()),
        }
    }

    #[test]
    fn summaries() {
        // S-8.6
        let mut bare = message(EventName::Error);
        bare.failed_step = None;
        for (message, want) in [
            (message(EventName::Start), "kzero down started (live)"),
            (
                message(EventName::Success),
                "kzero down succeeded in 1m52.035s",
            ),
            (
                message(EventName::Error),
                "kzero down failed at deployment.a/b: no answer",
            ),
            (bare, "kzero down failed: no answer"),
            (message(EventName::Stalled), "kzero down stalled: no answer"),
            (message(EventName::Test), "kzero notify test (mode=test)"),
        ] {
            assert_eq!(summary(&message), want);
        }
    }

    #[test]
    fn a_webhook_gets_all_fields_that_there_are() {
        // S-8.5
        assert_eq!(
            webhook(&subject(), &message(EventName::Error)),
            json!({
                "event": "pipeline.error", "command": "down", "mode": "live",
                "client_id": "ops", "cluster_name": "dev", "kube_context": "kind-dev",
                "started_at": "2026-01-02T03:04:05Z", "duration": "1m52.035s",
                "failed_step": "deployment.a/b", "error": "no answer", "run_id": "r1",
            })
        );
        let bare = Subject {
            started: subject().started,
            ..Subject::default()
        };
        assert_eq!(
            webhook(&bare, &message(EventName::Start)),
            json!({
                "event": "pipeline.start", "command": "down", "mode": "live",
                "started_at": "2026-01-02T03:04:05Z",
            })
        );
    }

    #[test]
    fn slack_gets_an_attachment() {
        // S-8.7
        let attachment = |event| slack(&subject(), &message(event))["attachments"][0].clone();
        let start = attachment(EventName::Start);
        assert_eq!(start["color"], "#439FE0");
        assert_eq!(start["title"], "🚀 kzero started");
        assert_eq!(
            start["footer"],
            format!("kzero v{}", env!("CARGO_PKG_VERSION"))
        );
        assert_eq!(start["ts"], 1_767_323_045);
        assert_eq!(start["fallback"], "kzero down started (live)");
        assert_eq!(
            start["text"],
            "• *Cluster:* `dev`\n• *Client:* `ops`\n• *Time:* `2026-01-02 03:04:05 UTC`\n• *Context:* `kind-dev`\n• *User:* `ann`\n• *Mode:* `STAGING`"
        );
        let success = attachment(EventName::Success);
        assert_eq!(success["ts"], 1_767_323_157);
        let text = success["text"].as_str().unwrap();
        assert!(
            text.contains("• *Time:* `2026-01-02 03:05:57 UTC`"),
            "{text}"
        );
        assert!(text.ends_with("• *Duration:* `1min 52sec`"), "{text}");
        let error = attachment(EventName::Error);
        assert!(
            error["text"]
                .as_str()
                .unwrap()
                .ends_with("• *Failed step:* `deployment.a/b`\n• *Error:* `no answer`")
        );
        let titles: Vec<Value> = EventName::ALL
            .map(|event| attachment(event)["title"].clone())
            .to_vec();
        assert_eq!(
            titles,
            [
                "🔔 kzero test",
                "🚀 kzero started",
                "✅ kzero completed",
                "❌ kzero error",
                "🟠 kzero stalled (API unreachable)"
            ]
        );
        for (time, want) in [
            (1112, "18min 32sec"),
            (120, "2min"),
            (9, "9sec"),
            (0, "0sec"),
        ] {
            assert_eq!(in_words(Duration::from_secs(time)), want);
        }
    }

    #[test]
    fn the_other_channels() {
        // S-8.8 to S-8.10
        let mut long = message(EventName::Error);
        long.error = Some("ä".repeat(3000));
        let text = discord(&long)["content"].as_str().unwrap().to_owned();
        assert_eq!(text.chars().count(), 2000);
        let card = teams(&message(EventName::Stalled));
        assert_eq!(card["@type"], "MessageCard");
        assert_eq!(card["@context"], "http://schema.org/extensions");
        assert_eq!(
            (&card["title"], &card["themeColor"]),
            (&json!("kzero down"), &json!("E81123"))
        );
        assert_eq!(card["summary"], card["text"]);
        assert_eq!(teams(&message(EventName::Success))["themeColor"], "0078D4");
        assert_eq!(
            pagerduty(&subject(), &message(EventName::Error)),
            json!({
                "event_action": "trigger",
                "payload": {
                    "summary": "kzero down failed at deployment.a/b: no answer",
                    "severity": "error",
                    "source": "kzero",
                    "custom_details": {
                        "event": "pipeline.error", "command": "down", "mode": "live",
                        "client_id": "ops", "cluster": "dev", "failed_step": "deployment.a/b",
                    },
                },
            })
        );
        let start = pagerduty(&subject(), &message(EventName::Start));
        assert_eq!(start["payload"]["severity"], "info");
    }
}
