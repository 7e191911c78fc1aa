//! A canary in every place of S-4.16 appears in no output, in no format, at no level.

use kzero_testkit::{MiniApi, objects};

use crate::kzero;

const CANARY: &str = "CANARY5f1e";

#[test]
fn a_canary_in_every_place_appears_nowhere() {
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 1));
    // Known values of the profile: each channel's address and key, a header, a registry password
    // in clear and by variable. They load, and the run stays a dry-run or has them disabled.
    let profile = format!(
        "schema_version: \"1.0\"\nrun: {{mode: live}}\nhelm:\n  workspace: ws\n  registries:\n    \
         - {{host: r.example, username: u, password: reg-{CANARY}}}\n    \
         - {{host: s.example, username: u, password_env: REG_PASS}}\n\
         notify:\n  slack: {{webhook_url: \"https://hooks.slack.com/services/{CANARY}\"}}\n  \
         discord: {{webhook_url: \"https://discord.com/api/webhooks/{CANARY}\"}}\n  \
         teams: {{webhook_url: \"https://x.webhook.office.com/{CANARY}\"}}\n  \
         pagerduty: {{routing_key: pd-{CANARY}}}\n  \
         webhook: {{url: \"https://u:{CANARY}@h.example/{CANARY}\", headers: {{X-Auth: hdr-{CANARY}}}}}\n\
         hooks: {{on-error: ./e.sh}}\n\
         pipelines:\n  down:\n    - deployment.a/b: {{pre: ./leak.sh}}\n    - custom: ./fail.sh\n"
    );
    let leak = format!(
        "echo 'Bearer {CANARY}'\necho 'authorization: Basic {CANARY}'\necho DB_PASSWORD={CANARY}\n\
         echo 'password: {CANARY}'\necho '{{\"api_key\": \"{CANARY}\"}}'\necho run --token {CANARY}\n\
         echo --client-secret={CANARY}\necho https://user:{CANARY}@host.example/\n\
         echo 'https://host.example/?access_token={CANARY}&x=1'\n\
         echo https://hooks.slack.com/services/{CANARY}\necho reg-{CANARY} pd-{CANARY} hdr-{CANARY}\n\
         echo env-{CANARY}\necho \"passwd = {CANARY}\" >&2\nprintf 'no newline: token={CANARY}'\n"
    );
    let fail = format!("echo 'secret={CANARY}'\necho 'reg-{CANARY}' >&2\nexit 9\n");
    for arguments in [
        vec!["analyze", "--log-level", "debug"],
        vec!["analyze", "-o", "json"],
        vec!["analyze", "--log-format", "json"],
        vec!["down", "--log-level", "debug"],
        vec!["down", "--log-format", "json"],
        vec!["down", "--dry-run"],
        vec!["target"],
        vec!["target", "-o", "json"],
    ] {
        let place = kzero()
            .cluster(&api)
            .env("REG_PASS", format!("env-{CANARY}"))
            .env(
                "KZERO_NOTIFY_SLACK_WEBHOOK_URL",
                format!("https://hooks.slack.com/o/{CANARY}"),
            )
            .profile(&profile)
            .script("leak.sh", &leak)
            .script("fail.sh", &fail)
            .script("e.sh", "echo \"$KZERO_ERROR\" >handed-on\n");
        let outcome = place.run_with(arguments.clone());
        for (name, text) in [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)] {
            assert!(!text.contains(CANARY), "{arguments:?} {name}:\n{text}");
        }
        if arguments == ["down", "--log-level", "debug"] {
            outcome.assert_code(3).assert_stdout("***");
            assert!(
                !place.read("handed-on").contains(CANARY),
                "KZERO_ERROR is masked"
            );
        }
    }
}

#[test]
fn a_canary_in_a_broken_profile_is_not_quoted() {
    let text = format!(
        "schema_version: \"1.0\"\nrun: {{mode: live}}\nnotify:\n  slack: {{enabled: maybe, webhook_url: \"https://hooks.slack.com/{CANARY}\"}}\n  \
         pagerduty:\n    routing_key: [pd-{CANARY}]\npipelines: {{down: []}}\n"
    );
    let outcome = kzero().profile(&text).args(["analyze"]).run();
    outcome.assert_code(1);
    assert!(!outcome.stderr.contains(CANARY), "{}", outcome.stderr);
}

#[test]
fn stdin_of_an_exec_step_is_never_shown() {
    // Table 2.2: sent, then closed; never logged.
    let api = MiniApi::start_blocking();
    let place = kzero().cluster(&api).profile(&format!(
        "schema_version: \"1.0\"\nrun: {{mode: live}}\npipelines:\n  down:\n    \
         - exec.a/pod: {{container: c, command: [cat], stdin: \"{CANARY}\"}}\n"
    ));
    for arguments in [
        vec!["analyze", "--log-level", "debug"],
        vec!["analyze", "-o", "json"],
        vec!["down", "--dry-run"],
        vec!["down", "--log-level", "debug"],
    ] {
        let outcome = place.run_with(arguments);
        assert!(!outcome.stdout.contains(CANARY) && !outcome.stderr.contains(CANARY));
    }
}
