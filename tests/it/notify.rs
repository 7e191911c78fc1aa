//! Messages to channels (S-8), on a server that takes them.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kzero_testkit::{Kzero, MiniApi, Signal, objects};
use serde_json::Value;

use crate::{kzero, live};

/// A request as it arrived.
#[derive(Debug, Clone)]
struct Post {
    path: String,
    headers: Vec<(String, String)>,
    body: Value,
}

impl Post {
    fn header(&self, name: &str) -> Vec<&str> {
        let headers = self.headers.iter();
        headers
            .filter(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
            .collect()
    }
}

/// Takes what is posted and answers by the path: `/500` with that code, `/to/N` with a redirect to port N, `/hang` never.
struct Receiver {
    port: u16,
    posts: Arc<Mutex<Vec<Post>>>,
}

impl Receiver {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let posts = Arc::new(Mutex::new(Vec::new()));
        let taken = Arc::clone(&posts);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let taken = Arc::clone(&taken);
                std::thread::spawn(move || serve(stream, &taken));
            }
        });
        Self { port, posts }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn posts(&self) -> Vec<Post> {
        self.posts.lock().unwrap().clone()
    }

    fn events(&self) -> Vec<String> {
        let posts = self.posts();
        let event = |post: &Post| post.body["event"].as_str().unwrap_or_default().to_owned();
        posts.iter().map(event).collect()
    }
}

fn serve(stream: TcpStream, taken: &Mutex<Vec<Post>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let length = headers
            .iter()
            .find(|(name, _)| name == "content-length")
            .map_or(0, |(_, value)| value.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        taken.lock().unwrap().push(Post {
            path: path.clone(),
            headers,
            body: serde_json::from_slice(&body).unwrap(),
        });
        let answer = if let Some(port) = path.strip_prefix("/to/") {
            format!("307 Temporary Redirect\r\nlocation: http://127.0.0.1:{port}/elsewhere")
        } else if path == "/here" {
            "307 Temporary Redirect\r\nlocation: /there".to_owned()
        } else if path == "/hang" {
            std::thread::sleep(Duration::from_secs(60));
            return;
        } else if let Ok(code) = path.trim_start_matches('/').parse::<u16>() {
            format!("{code} Whatever")
        } else {
            "204 No Content".to_owned()
        };
        let head = format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\n\r\n");
        if stream.write_all(head.as_bytes()).is_err() {
            return;
        }
    }
}

const STEPS: &str = "pipelines:\n  down:\n    - custom: ./a.sh\n  up: []\n";

fn place(api: &MiniApi, notify: &str, rest: &str) -> Kzero {
    kzero()
        .cluster(api)
        .profile(&live(&format!(
            "cluster: {{name: dev, environment: staging}}\nclient: {{id: ops}}\nnotify: {notify}\n{rest}"
        )))
        .script("a.sh", "test ! -e broken\n")
        .script("e.sh", "echo error >>log\n")
}

fn webhook(receiver: &Receiver, path: &str, more: &str) -> String {
    format!(
        "{{webhook: {{enabled: true, url: \"{}\"}}{more}}}",
        receiver.url(path)
    )
}

#[test]
fn a_run_tells_that_it_begins_and_how_it_ends() {
    // S-8.1, S-8.2, S-8.5
    let api = MiniApi::start_blocking();
    let receiver = Receiver::start();
    let place = place(
        &api,
        &webhook(&receiver, "/hook", ""),
        &format!("hooks: {{on-error: ./e.sh}}\n{STEPS}"),
    );
    place.run_with(["down"]).assert_code(0);
    assert_eq!(receiver.events(), ["pipeline.start", "pipeline.success"]);
    let posts = receiver.posts();
    let (start, end) = (&posts[0].body, &posts[1].body);
    for (key, value) in [
        ("command", "down"),
        ("mode", "live"),
        ("client_id", "ops"),
        ("cluster_name", "dev"),
        ("kube_context", "mini"),
    ] {
        assert_eq!((&start[key], &end[key]), (&value.into(), &value.into()));
    }
    assert!(start["duration"].is_null() && end["duration"].is_string());
    assert_eq!(start["run_id"], end["run_id"]);
    assert_eq!(posts[0].header("content-type"), ["application/json"]);

    let place = place.file("broken", "");
    let outcome = place.run_with(["down"]);
    outcome.assert_code(3);
    assert_eq!(receiver.events()[2..], ["pipeline.start", "pipeline.error"]);
    let error = &receiver.posts()[3].body;
    assert_eq!(error["failed_step"], "down[0]");
    assert!(
        error["error"]
            .as_str()
            .unwrap()
            .starts_with("step down[0]: ")
    );
    // Nothing is sent of what changes nothing.
    place.run_with(["down", "--dry-run"]).assert_code(0);
    place.run_with(["analyze"]);
    assert_eq!(receiver.events().len(), 4);
}

#[test]
fn each_channel_gets_what_it_reads() {
    // S-8.7 to S-8.10
    let api = MiniApi::start_blocking();
    let receiver = Receiver::start();
    let notify = format!(
        "{{slack: {{enabled: true, webhook_url: \"{}\"}}, discord: {{enabled: true, webhook_url: \"{}\"}}, teams: {{enabled: true, webhook_url: \"{}\"}}, pagerduty: {{enabled: true, routing_key: the-routing-key}}, webhook: {{enabled: true, url: \"{}\", headers: {{X-Token: abc, Content-Type: text/plain}}}}}}",
        receiver.url("/slack"),
        receiver.url("/discord"),
        receiver.url("/teams"),
        receiver.url("/webhook")
    );
    let place = place(&api, &notify, STEPS).env("KZERO_PAGERDUTY_URL", receiver.url("/pagerduty"));
    let outcome = place.run_with(["notify", "test", "--event", "pipeline.error"]);
    outcome
        .assert_code(0)
        .assert_stdout("notify test: sent event \"pipeline.error\" to enabled channel(s)");
    let mut posts = receiver.posts();
    posts.sort_by(|a, b| a.path.cmp(&b.path));
    let paths: Vec<&str> = posts.iter().map(|post| post.path.as_str()).collect();
    assert_eq!(
        paths,
        ["/discord", "/pagerduty", "/slack", "/teams", "/webhook"]
    );
    let line = "kzero notify-test failed at deployment.example/app: this is a test, nothing failed";
    assert_eq!(posts[0].body["content"], line);
    assert_eq!(posts[1].body["routing_key"], "the-routing-key");
    assert_eq!(posts[1].body["payload"]["summary"], line);
    assert_eq!(posts[2].body["attachments"][0]["fallback"], line);
    assert_eq!(posts[3].body["text"], line);
    assert_eq!(posts[4].body["event"], "pipeline.error");
    assert_eq!(posts[4].body["mode"], "test");
    assert_eq!(posts[4].header("x-token"), ["abc"]);
    assert_eq!(posts[4].header("content-type"), ["application/json"]);
    // The API is not asked.
    assert!(api.requests().is_empty(), "{:?}", api.requests());
}

#[test]
fn notify_test_says_what_is_wrong() {
    // S-6.36
    let api = MiniApi::start_blocking();
    let receiver = Receiver::start();
    place(&api, "{}", STEPS)
        .run_with(["notify", "test"])
        .assert_code(1)
        .assert_stderr("no channel is enabled");
    place(&api, &webhook(&receiver, "/hook", ""), STEPS)
        .run_with(["notify", "test", "--event", "pipeline.end"])
        .assert_code(1)
        .assert_stderr("pipeline.stalled");
    let outcome = place(&api, &webhook(&receiver, "/500", ""), STEPS).run_with(["notify", "test"]);
    outcome.assert_code(4).assert_stderr(&format!(
        "notify dispatch failed (notify.test): notify: POST http://127.0.0.1:{}/***: HTTP 500",
        receiver.port
    ));
    let empty = "{slack: {enabled: true}}";
    place(&api, empty, STEPS)
        .run_with(["notify", "test"])
        .assert_code(1)
        .assert_stderr("notify.slack.webhook_url is empty");
    place(&api, empty, STEPS)
        .run_with(["down"])
        .assert_code(1)
        .assert_stderr("notify.slack.webhook_url is empty");
}

#[test]
fn a_channel_that_fails_fails_no_run() {
    // S-7.11, S-8.11
    let api = MiniApi::start_blocking();
    let receiver = Receiver::start();
    let outcome = place(&api, &webhook(&receiver, "/500", ""), STEPS).run_with(["down"]);
    outcome
        .assert_code(0)
        .assert_stdout("notify dispatch failed (pipeline.start): notify: POST http://127.0.0.1:")
        .assert_stdout("notify dispatch failed (pipeline.success): ");
}

#[test]
fn an_error_that_has_to_arrive_and_does_not_is_exit_4() {
    // S-8.12, S-9.2
    let api = MiniApi::start_blocking();
    let receiver = Receiver::start();
    let required = webhook(&receiver, "/500", ", require_delivery: true");
    let rest = format!("hooks: {{on-error: ./e.sh}}\n{STEPS}");
    let place = place(&api, &required, &rest).file("broken", "");
    let outcome = place.run_with(["down"]);
    outcome
        .assert_code(4)
        .assert_stderr("step down[0]: ")
        .assert_stderr("notify delivery required (pipeline.error): notify: POST ");
    assert_eq!(place.read("log"), "error\n");
    // Success is not meant, and what is switched off is not missed.
    std::fs::remove_file(place.path("broken")).unwrap();
    place.run_with(["down"]).assert_code(0);
    let silent = webhook(
        &receiver,
        "/500",
        ", require_delivery: true, on_error: false",
    );
    let place = self::place(&api, &silent, STEPS).file("broken", "");
    place.run_with(["down"]).assert_code(3);
}

#[test]
fn a_slow_channel_holds_nobody_up() {
    // S-8.1: its start is waited for by its own end alone.
    let api = MiniApi::start_blocking();
    let receiver = Receiver::start();
    let notify = format!(
        "{{slack: {{enabled: true, webhook_url: \"{}\"}}, webhook: {{enabled: true, url: \"{}\"}}}}",
        receiver.url("/hang"),
        receiver.url("/hook")
    );
    let place = place(&api, &notify, STEPS).script("a.sh", "echo ran >>log\n");
    let running = place.spawn_with(["down"]);
    running.wait_for_output("step down[0] done");
    running
        .wait_for_output("notify dispatch failed (pipeline.start): notify: POST http://127.0.0.1:");
    // A person who is tired of waiting for the end asks twice.
    running.signal(Signal::INT);
    running.signal(Signal::INT);
    drop(running.wait());
    assert_eq!(place.read("log"), "ran\n");
    assert_eq!(
        receiver
            .events()
            .iter()
            .filter(|event| *event == "pipeline.start")
            .count(),
        1
    );
}

#[test]
fn a_tripped_watchdog_is_told_as_stalled_even_when_errors_are_not() {
    let api = MiniApi::start_blocking();
    let receiver = Receiver::start();
    let silent = webhook(&receiver, "/hook", ", on_error: false");
    let rest = format!(
        "run: {{mode: live, api_watchdog: {{enabled: true, interval: 50ms, fail_after: 200ms}}}}\n{}",
        STEPS.replace("./a.sh", "./hang.sh")
    );
    let place = place(&api, &silent, "").profile(&format!(
        "schema_version: \"1.0\"\nnotify: {silent}\n{rest}"
    ));
    let place = place.script("hang.sh", "echo here >there\nsleep 60\n");
    let proxy = kzero_testkit::FaultProxy::for_mini(&api);
    let kubeconfig = proxy.kubeconfig(place.dir());
    let place = place.kubeconfig(kubeconfig);
    let there = place.fifo("there");
    let running = place.spawn_with(["down"]);
    assert_eq!(there.wait(), "here");
    proxy.go_away();
    running.wait().assert_code(3);
    assert_eq!(receiver.events(), ["pipeline.start", "pipeline.stalled"]);
}

#[test]
fn s05_an_error_is_told_after_the_time_of_the_run_is_up() {
    let api = MiniApi::start_blocking();
    let receiver = Receiver::start();
    let notify = webhook(&receiver, "/hook", "");
    let place = place(&api, &notify, "").profile(&format!(
        "schema_version: \"1.0\"\nnotify: {notify}\nrun: {{mode: live, timeout: 1s}}\nhooks: {{on-error: ./e.sh}}\npipelines: {{down: [custom: ./slow.sh]}}\n"
    ));
    let place = place.script("slow.sh", "sleep 60\n");
    place.run_with(["down"]).assert_code(3);
    assert_eq!(place.read("log"), "error\n");
    let posts = receiver.posts();
    assert_eq!(posts[1].body["event"], "pipeline.error");
    let error = posts[1].body["error"].as_str().unwrap();
    assert!(error.contains("run.timeout 1s"), "{error}");
}

#[test]
fn s11_a_reset_that_breaks_off_between_its_phases_tells_one_error() {
    let api = MiniApi::start_blocking();
    let receiver = Receiver::start();
    let notify = webhook(&receiver, "/hook", "");
    let rest = "hooks: {post-down: ./last.sh, pre-up: ./pre.sh, on-error: ./e.sh}\npipelines:\n  down: []\n  up: []\n";
    let place = place(&api, &notify, rest)
        .script("last.sh", "echo here >there\nread line <gate\n")
        .script("pre.sh", "echo up >>log\n");
    let proxy = kzero_testkit::FaultProxy::for_mini(&api);
    let kubeconfig = proxy.kubeconfig(place.dir());
    let place = place.kubeconfig(kubeconfig);
    let there = place.fifo("there");
    let mut gate = place.gate("gate");
    let running = place.spawn_with(["reset"]);
    assert_eq!(there.wait(), "here");
    proxy.go_away();
    gate.open();
    running.wait().assert_code(3);
    assert_eq!(place.read("log"), "error\n");
    assert_eq!(receiver.events(), ["pipeline.start", "pipeline.error"]);
}

#[test]
fn secrets_and_headers_go_nowhere_else() {
    // S-8.13, S-8.14
    let api = MiniApi::start_blocking();
    api.apply(objects::namespace("a"));
    let receiver = Receiver::start();
    let other = Receiver::start();
    let notify = format!(
        "{{webhook: {{enabled: true, url: \"{}\", headers: {{X-Token: hunter2-token}}}}}}",
        receiver.url(&format!("/to/{}", other.port))
    );
    let place =
        place(&api, &notify, STEPS).script("a.sh", "echo password=hunter3-secret; exit 1\n");
    let outcome = place.run_with(["down"]);
    outcome.assert_code(3).assert_stdout("HTTP 307");
    assert!(other.posts().is_empty(), "{:?}", other.posts());
    let all = format!(
        "{outcome:?}{:?}",
        receiver
            .posts()
            .iter()
            .map(|post| &post.body)
            .collect::<Vec<_>>()
    );
    assert!(
        !all.contains("hunter2") && !all.contains("hunter3"),
        "{all}"
    );
    // To the same host a redirect is followed, and the message goes along.
    let place = self::place(&api, &webhook(&receiver, "/here", ""), STEPS);
    place.run_with(["notify", "test"]).assert_code(0);
    let last = receiver.posts().pop().unwrap();
    assert_eq!(
        (last.path.as_str(), &last.body["event"]),
        ("/there", &"notify.test".into())
    );
}
