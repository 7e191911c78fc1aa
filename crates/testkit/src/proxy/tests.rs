//! Each fault, as a client sees it.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::client::BareClient;
use crate::objects;

const PATH: &str = "/apis/apps/v1/namespaces/app/deployments/api";

fn stage() -> (MiniApi, FaultProxy) {
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("app", "api", 1));
    let proxy = FaultProxy::for_mini(&api);
    (api, proxy)
}

fn client(proxy: &FaultProxy) -> BareClient {
    BareClient::of(Upstream::plain(&proxy.url()))
}

async fn get(client: &mut BareClient, path: &str) -> std::io::Result<(u16, Value)> {
    client.send("GET", path, "", "").await
}

/// Sends a request over a plain socket and reads what comes, to the end.
fn raw(proxy: &FaultProxy, method: &str, path: &str, body: &str) -> (String, Option<ErrorKind>) {
    let mut stream = TcpStream::connect(proxy.address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let length = body.len();
    let kind = "application/merge-patch+json";
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let (mut text, mut buffer) = (Vec::new(), [0; 1024]);
    let error = loop {
        match stream.read(&mut buffer) {
            Ok(0) => break None,
            Ok(count) => text.extend_from_slice(&buffer[..count]),
            Err(err) => break Some(err.kind()),
        }
    };
    (String::from_utf8_lossy(&text).into_owned(), error)
}

#[tokio::test]
async fn without_rules_everything_passes_on_one_connection() {
    let (api, proxy) = stage();
    let mut client = client(&proxy);
    let (code, object) = get(&mut client, PATH).await.unwrap();
    assert_eq!((code, &object["metadata"]["name"]), (200, &json!("api")));
    assert_eq!(
        client.scale(&format!("{PATH}/scale"), 3).await.unwrap(),
        200
    );
    assert_eq!(api.get(PATH).unwrap()["spec"]["replicas"], 3);
    let seen: Vec<String> = proxy
        .requests()
        .into_iter()
        .map(|request| request.method)
        .collect();
    assert_eq!(seen, ["GET", "GET", "PATCH"]);
}

#[tokio::test]
async fn rules_choose_by_method_path_pattern_and_turn() {
    let (_api, proxy) = stage();
    let second = proxy.add(
        Rule::new(Fault::status(503))
            .method("GET")
            .path("/deployments/")
            .nth(2),
    );
    let never = proxy.add(Rule::new(Fault::status(500)).pattern(r"/deployments/ap$"));
    let mut client = client(&proxy);
    let mut codes = Vec::new();
    for _ in 0..3 {
        codes.push(get(&mut client, PATH).await.unwrap().0);
    }
    assert_eq!(codes, [200, 503, 200]);
    assert_eq!((second.matched(), second.hit()), (3, 1));
    assert_eq!((never.matched(), never.hit()), (0, 0));
    proxy.clear();
    let first = proxy.add(Rule::new(Fault::retry_after(429, 2)).first(2));
    let mut codes = Vec::new();
    for _ in 0..3 {
        codes.push(get(&mut client, PATH).await.unwrap().0);
    }
    assert_eq!((codes, first.hit()), (vec![429, 429, 200], 2));
}

#[test]
fn a_status_is_answered_in_the_words_of_kubernetes() {
    let (api, proxy) = stage();
    proxy.add(Rule::new(Fault::retry_after(429, 7)));
    let (text, _) = raw(&proxy, "GET", PATH, "");
    assert!(text.contains("\r\nretry-after: 7\r\n"), "{text}");
    assert!(text.contains("\"reason\":\"TooManyRequests\""), "{text}");
    assert_eq!(api.requests().len(), 0, "nothing is passed on");
}

#[test]
fn a_reset_is_a_reset_and_a_lost_answer_has_its_effect() {
    let (api, proxy) = stage();
    let lost = proxy.add(Rule::new(Fault::LoseAnswer).method("PATCH"));
    proxy.add(Rule::new(Fault::Reset).method("GET"));
    let (text, error) = raw(&proxy, "GET", PATH, "");
    assert_eq!(
        (text.as_str(), error),
        ("", Some(ErrorKind::ConnectionReset))
    );
    assert_eq!(api.requests().len(), 0);
    let (text, error) = raw(&proxy, "PATCH", PATH, r#"{"spec":{"replicas":4}}"#);
    assert_eq!(
        (text.as_str(), error),
        ("", Some(ErrorKind::ConnectionReset))
    );
    assert_eq!(api.get(PATH).unwrap()["spec"]["replicas"], 4);
    assert_eq!(lost.hit(), 1);
}

#[test]
fn a_body_breaks_off_after_so_many_bytes() {
    let (_api, proxy) = stage();
    proxy.add(Rule::new(Fault::CutBody(10)));
    let (text, _) = raw(&proxy, "GET", PATH, "");
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(body.len(), 10, "{body}");
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .unwrap();
    assert!(length.parse::<usize>().unwrap() > 10);
}

#[tokio::test]
async fn a_delay_comes_before_whatever_else_happens() {
    let (_api, proxy) = stage();
    let delay = Duration::from_millis(150);
    let slow = proxy.add(Rule::new(Fault::Delay(delay)));
    proxy.add(Rule::new(Fault::status(503)).first(1));
    let mut client = client(&proxy);
    let begun = Instant::now();
    assert_eq!(get(&mut client, PATH).await.unwrap().0, 503);
    assert!(begun.elapsed() >= delay);
    assert_eq!(get(&mut client, PATH).await.unwrap().0, 200);
    assert_eq!(slow.hit(), 2);
}

#[tokio::test]
async fn a_black_hole_never_answers_and_holds_nobody_else_up() {
    let (_api, proxy) = stage();
    proxy.add(Rule::new(Fault::BlackHole).first(1));
    let (mut lost, mut other) = (client(&proxy), client(&proxy));
    tokio::select! {
        answer = get(&mut lost, PATH) => panic!("answered: {answer:?}"),
        answer = async {
            // Asks until the hole has swallowed the first request, whichever came first.
            loop {
                let seen = proxy.requests().len();
                if seen == 1 {
                    break get(&mut other, PATH).await;
                }
                tokio::task::yield_now().await;
            }
        } => assert_eq!(answer.unwrap().0, 200),
    }
}

#[tokio::test]
async fn who_goes_away_refuses_connections_until_resumed() {
    let (_api, proxy) = stage();
    let mut client = client(&proxy);
    get(&mut client, PATH).await.unwrap();
    proxy.go_away();
    assert!(
        get(&mut client, PATH).await.is_err(),
        "the old connection is closed"
    );
    let refused = TcpStream::connect(proxy.address).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    proxy.resume();
    assert_eq!(get(&mut client, PATH).await.unwrap().0, 200);
    let rule = proxy.add(Rule::new(Fault::GoAway).first(1));
    assert!(get(&mut client, PATH).await.is_err());
    assert_eq!(rule.hit(), 1);
    proxy.resume();
    assert_eq!(get(&mut client, PATH).await.unwrap().0, 200);
}

#[tokio::test]
async fn gone_is_a_status_for_a_list_and_an_event_for_a_watch() {
    let (_api, proxy) = stage();
    proxy.add(Rule::new(Fault::Gone));
    let mut client = client(&proxy);
    let path = "/api/v1/namespaces/app/pods";
    let (code, status) = get(&mut client, path).await.unwrap();
    assert_eq!((code, &status["reason"]), (410, &json!("Expired")));
    let (code, event) = get(&mut client, &format!("{path}?watch=true&resourceVersion=5"))
        .await
        .unwrap();
    assert_eq!(
        (code, &event["type"], &event["object"]["code"]),
        (200, &json!("ERROR"), &json!(410))
    );
}

#[tokio::test]
async fn a_watch_is_passed_on_as_it_comes() {
    let (api, proxy) = stage();
    let mut stream = tokio::net::TcpStream::connect(proxy.address).await.unwrap();
    let path = "/api/v1/namespaces/app/configmaps?watch=true";
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let mut text = String::new();
    let mut buffer = [0; 1024];
    let mut until = async |word: &str| {
        while !text.contains(word) {
            let count = stream.read(&mut buffer).await.unwrap();
            assert!(count > 0, "ended: {text}");
            text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
    };
    until("\r\n\r\n").await;
    api.apply(objects::configmap("app", "late", &[]));
    until("\"ADDED\"").await;
    api.patch(
        "/api/v1/namespaces/app/configmaps/late",
        &json!({"data": {"a": "b"}}),
    );
    until("\"MODIFIED\"").await;
}

#[tokio::test]
async fn an_upgraded_connection_is_passed_on_both_ways() {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let proxy = FaultProxy::start(Upstream::plain(&url));
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        stream
            .write_all(
                b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n",
            )
            .await
            .unwrap();
        let byte = stream.read_u8().await.unwrap();
        stream.write_u8(byte + 1).await.unwrap();
        String::from_utf8(head).unwrap()
    };
    let client = async {
        let mut stream = tokio::net::TcpStream::connect(proxy.address).await.unwrap();
        stream
            .write_all(
                b"GET /exec HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n",
            )
            .await
            .unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        stream.write_u8(7).await.unwrap();
        (
            String::from_utf8(head).unwrap(),
            stream.read_u8().await.unwrap(),
        )
    };
    let (sent, (answer, byte)) = tokio::join!(server, client);
    assert!(sent.to_lowercase().contains("upgrade: echo"), "{sent}");
    assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
    assert_eq!(byte, 8);
}
