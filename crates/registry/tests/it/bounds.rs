//! Servers that are slow, broken or hostile.

use std::sync::atomic::{AtomicUsize, Ordering};

use kzero_registry::{Access, ErrorKind};

use crate::common::server::{Reply, Server, Tls};
use crate::common::{Home, chart, in_repo, index};

#[tokio::test]
async fn a_busy_server_is_asked_again_when_it_says_so() {
    let home = Home::new();
    let count = AtomicUsize::new(0);
    let server = Server::new(Tls::Off, move |_| {
        match count.fetch_add(1, Ordering::SeqCst) {
            0 => Reply::status(429).with("Retry-After", "0"),
            1 => Reply::status(503).with("Retry-After", "0"),
            _ => Reply::ok(chart("web", "1.0.0")),
        }
    });
    home.download(
        &Access::default(),
        &server.url("/web.tgz"),
        &in_repo("", ""),
    )
    .await
    .unwrap();
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn a_server_that_stays_busy_or_fails_otherwise_is_given_up() {
    let home = Home::new();
    let busy = Server::new(Tls::Off, |_| Reply::status(503).with("Retry-After", "0"));
    let url = busy.url("/web.tgz");
    let error = home
        .download(&Access::default(), &url, &in_repo("", ""))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("failed to fetch {url} : 503 Service Unavailable")
    );
    assert_eq!(busy.seen().len(), 5);
    let broken = Server::new(Tls::Off, |_| Reply::status(500));
    let url = broken.url("/web.tgz");
    assert!(
        home.download(&Access::default(), &url, &in_repo("", ""))
            .await
            .is_err()
    );
    assert_eq!(broken.seen().len(), 1);
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_no_chart() {
    let home = Home::new();
    let server = Server::new(Tls::Off, |_| {
        let mut reply = Reply::ok(chart("web", "1.0.0"));
        reply.cut = Some(reply.body.len() / 2);
        reply
    });
    let url = server.url("/web.tgz");
    let error = home
        .download(&Access::default(), &url, &in_repo("", ""))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert_eq!(error.to_string(), format!("Get \"{url}\": unexpected EOF"));
    assert!(!home.path(".cache").exists(), "nothing is kept");
}

#[tokio::test]
async fn more_than_a_chart_may_have_is_not_read() {
    let home = Home::new();
    // The length alone decides; no such content is sent.
    let server = Server::new(Tls::Off, |_| {
        let mut reply = Reply::ok(vec![0; 101 * 1024 * 1024]);
        reply.cut = Some(0);
        reply
    });
    let url = server.url("/web.tgz");
    let error = home
        .download(&Access::default(), &url, &in_repo("", ""))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert_eq!(
        error.to_string(),
        format!("{url} is larger than 104857600 bytes")
    );
}

#[tokio::test]
async fn indexes_that_are_none_are_refused() {
    let home = Home::new();
    let text = async |body: String| {
        let server = Server::new(Tls::Off, move |_| Reply::ok(body.clone()));
        let repo = server.url("");
        let found = home
            .download(&Access::default(), "web", &in_repo(&repo, ""))
            .await;
        let text = found.unwrap_err().to_string();
        let start =
            format!("looks like \"{repo}\" is not a valid chart repository or cannot be reached: ");
        text.replace(&start, "")
    };
    assert_eq!(text(String::new()).await, "empty index.yaml file");
    assert_eq!(
        text("entries: {}\n".to_owned()).await,
        "no API version specified"
    );
    assert!(
        text("<!DOCTYPE html>\n<html>\n".to_owned())
            .await
            .contains("cannot unmarshal string")
    );
    let deep = format!(
        "apiVersion: v1\nentries: {}{}\n",
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    assert!(
        text(deep)
            .await
            .starts_with("error converting YAML to JSON")
    );
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..12 {
        let last = format!("*a{}, ", i - 1).repeat(10);
        bomb.push_str(&format!("a{i}: &a{i} [{last}]\n"));
    }
    assert!(
        text(bomb)
            .await
            .starts_with("error converting YAML to JSON")
    );
}

#[tokio::test]
async fn an_index_leads_to_http_and_registries_alone() {
    let home = Home::new();
    for url in [
        "file:///etc/passwd",
        "ftp://h.example/x.tgz",
        "s3://h/x.tgz",
    ] {
        let server = Server::new(Tls::Off, move |_| {
            Reply::ok(index("web", &[("1.0.0", url)]))
        });
        let wanted = in_repo(&server.url(""), "");
        let text = home
            .download(&Access::default(), "web", &wanted)
            .await
            .unwrap_err()
            .to_string();
        assert!(
            text.starts_with("could not find protocol handler for: "),
            "{text}"
        );
    }
}
