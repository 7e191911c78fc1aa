//! `kzero notify test`: whether messages arrive (S-6.35, S-6.36).

use std::process::ExitCode;
use std::time::{Duration, Instant};

use kzero_cluster::Budget;

use super::app::{App, runtime};
use super::args::NotifyTestArgs;
use super::final_error;
use super::run::notify_subject;
use crate::event::Level;
use crate::exit::Failure;
use crate::notify::{EventName, Message, Notifier, Subject};
use crate::report::{Kind, Record};

/// Sends one event to all enabled channels.
pub(super) fn test(app: &App, arguments: &NotifyTestArgs) -> ExitCode {
    let begin = Instant::now();
    let result = runtime().and_then(|runtime| {
        let result = runtime.block_on(send(app, arguments.event.into()));
        runtime.shutdown_background();
        result
    });
    app.output.write(&crate::report::summary(
        "notify test",
        begin.elapsed(),
        result.is_ok(),
    ));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            final_error(&failure, &app.output);
            failure.exit_code()
        }
    }
}

async fn send(app: &App, event: EventName) -> Result<(), Failure> {
    let profile = app.load(false)?;
    let subject = Subject {
        // The kubeconfig is read if there is one; the cluster is not asked.
        context: app
            .resolve(Some(&profile))
            .ok()
            .map(|resolved| resolved.target().context.clone()),
        ..notify_subject(&profile, app)
    };
    let notifier = Notifier::new(&profile, &app.environment, app.output.masker(), subject)
        .map_err(Failure::Config)?
        .ok_or_else(|| {
            Failure::Config(
                "notify test: no channel is enabled\nhint: set notify.slack.enabled, notify.webhook.enabled or another to true"
                    .to_owned(),
            )
        })?;
    let sample = |text: &str| Some(text.to_owned());
    let message = Message {
        event,
        command: "notify-test".to_owned(),
        mode: "test",
        duration: (event == EventName::Success).then_some(Duration::from_secs(2)),
        failed_step: (event == EventName::Error)
            .then(|| sample("deployment.example/app"))
            .flatten(),
        error: matches!(event, EventName::Error | EventName::Stalled)
            .then(|| sample("this is a test, nothing failed"))
            .flatten(),
    };
    let sent = notifier.send_always(&message, &Budget::unlimited()).await;
    sent.map_err(|error| {
        let text = format!("notify dispatch failed ({}): {error}", event.word());
        Failure::Undelivered(text)
    })?;
    let text = format!(
        "notify test: sent event \"{}\" to enabled channel(s)",
        event.word()
    );
    app.output
        .write(&Record::line(Level::Info, Kind::Notify, text));
    Ok(())
}
