//! The websocket protocol of commands, spoken by hand.

use kzero_cluster::{ErrorClass, Stream};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::server::{Answer, Client, Server, budget};

/// Accepts one connection and answers the handshake; returns the request's head too.
async fn accept(listener: &TcpListener, protocol: &str) -> (TcpStream, String) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let key = head
        .lines()
        .find_map(|line| {
            line.to_lowercase()
                .starts_with("sec-websocket-key:")
                .then(|| line.split(": ").nth(1).unwrap().to_owned())
        })
        .unwrap();
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
         sec-websocket-accept: {}\r\nsec-websocket-protocol: {protocol}\r\n\r\n",
        derive_accept_key(key.as_bytes())
    );
    stream.write_all(answer.as_bytes()).await.unwrap();
    (stream, head)
}

/// A short binary frame of a server.
fn frame(channel: u8, data: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x82, u8::try_from(data.len() + 1).unwrap(), channel];
    frame.extend_from_slice(data);
    frame
}

/// Reads one short frame of a client, unmasked.
async fn read_frame(stream: &mut TcpStream) -> Vec<u8> {
    let mut head = [0; 6];
    stream.read_exact(&mut head).await.unwrap();
    let mut data = vec![0; usize::from(head[1] & 0x7f)];
    stream.read_exact(&mut data).await.unwrap();
    for (index, byte) in data.iter_mut().enumerate() {
        *byte ^= head[2 + index % 4];
    }
    data
}

struct Outcome {
    result: Result<i32, kzero_cluster::ClusterError>,
    output: Vec<(Stream, String)>,
}

async fn exec(address: &str, stdin: Option<&str>, seconds: u64) -> Outcome {
    let client = Client::new(address, &json!({}), &json!({"token": "t"})).await;
    let mut output = Vec::new();
    let mut collect =
        |stream, data: &[u8]| output.push((stream, String::from_utf8(data.to_vec()).unwrap()));
    let command = ["sh", "-c", "a & b"].map(str::to_owned);
    let result = client
        .cluster
        .exec(
            "app",
            "api-0",
            "main",
            &command,
            stdin,
            &mut collect,
            &budget(seconds),
        )
        .await;
    Outcome { result, output }
}

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

#[tokio::test]
async fn s_2_16_input_is_sent_and_closed_and_the_exit_code_comes_back() {
    let (listener, address) = listen().await;
    let serve = async {
        let (mut stream, head) = accept(&listener, "v5.channel.k8s.io").await;
        assert_eq!(read_frame(&mut stream).await, b"\0hello");
        assert_eq!(read_frame(&mut stream).await, [255, 0]);
        let status = br#"{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"42"}]}}"#;
        let mut status_frame = vec![0x82, 126, 0, 0, 3];
        status_frame[2..4].copy_from_slice(&u16::try_from(status.len() + 1).unwrap().to_be_bytes());
        status_frame.extend_from_slice(status);
        for frame in [
            frame(1, b""),
            frame(1, b"out"),
            frame(2, b"err"),
            status_frame,
        ] {
            stream.write_all(&frame).await.unwrap();
        }
        head
    };
    let (head, outcome) = tokio::join!(serve, exec(&address, Some("hello"), 10));
    assert_eq!(outcome.result.unwrap(), 42);
    assert_eq!(
        outcome.output,
        [
            (Stream::Stdout, "out".to_owned()),
            (Stream::Stderr, "err".to_owned())
        ]
    );
    let line = head.lines().next().unwrap();
    assert_eq!(
        line,
        "GET /api/v1/namespaces/app/pods/api-0/exec?container=main&stdin=true&stdout=true&stderr=true&command=sh&command=-c&command=a%20%26%20b HTTP/1.1"
    );
    assert!(
        head.to_lowercase().contains("authorization: bearer t"),
        "{head}"
    );
}

#[tokio::test]
async fn s_2_16_a_connection_that_is_cut_is_no_success() {
    for polite in [false, true] {
        let (listener, address) = listen().await;
        let serve = async {
            let (mut stream, _) = accept(&listener, "v4.channel.k8s.io").await;
            stream.write_all(&frame(1, b"half")).await.unwrap();
            if polite {
                stream.write_all(&[0x88, 2, 3, 0xe8]).await.unwrap();
            }
        };
        let ((), outcome) = tokio::join!(serve, exec(&address, None, 10));
        let error = outcome.result.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Unreachable, "{error}");
        assert!(error.is_transient());
        assert!(
            error.to_string().contains("before the exit code came"),
            "{error}"
        );
        assert_eq!(outcome.output.len(), 1);
    }
}

#[tokio::test]
async fn s_2_16_output_that_the_exit_code_overtakes_is_not_lost() {
    for closes in [true, false] {
        let (listener, address) = listen().await;
        let serve = async {
            let (mut stream, _) = accept(&listener, "v5.channel.k8s.io").await;
            for frame in [frame(3, br#"{"status":"Success"}"#), frame(1, b"late")] {
                stream.write_all(&frame).await.unwrap();
            }
            // A server that leaves the connection open is not waited for until the budget ends.
            (!closes).then_some(stream)
        };
        let (_open, outcome) = tokio::join!(serve, exec(&address, None, 20));
        assert_eq!(outcome.result.unwrap(), 0);
        assert_eq!(outcome.output, [(Stream::Stdout, "late".to_owned())]);
    }
}

#[tokio::test]
async fn dropping_a_command_closes_its_connection() {
    let (listener, address) = listen().await;
    let serve = async {
        let (mut stream, _) = accept(&listener, "v5.channel.k8s.io").await;
        let mut rest = Vec::new();
        // Ends only when the client closes.
        stream
            .read_to_end(&mut rest)
            .await
            .map(|_| ())
            .unwrap_or_default();
    };
    let limit = budget(10);
    let (closed, outcome) = tokio::join!(limit.run(serve), exec(&address, None, 1));
    assert!(closed.is_ok());
    assert_eq!(outcome.result.unwrap_err().class(), ErrorClass::TimedOut);
}

#[tokio::test]
async fn a_missing_container_is_not_found_in_all_its_wordings() {
    for (status, message) in [
        (400, "container sidecar is not valid for pod api-0"),
        (400, "container sidecar not found in pod api-0"),
        (
            500,
            "unable to upgrade connection: container not found (\"sidecar\")",
        ),
        (404, "pods \"api-0\" not found"),
    ] {
        let body = json!({"kind": "Status", "code": status, "reason": if status == 404 { "NotFound" } else { "" }, "message": message});
        let server = Server::start(move |_, _| Answer::json(status, &body)).await;
        let outcome = exec(&server.address, None, 10).await;
        let error = outcome.result.unwrap_err();
        assert_eq!(error.class(), ErrorClass::NotFound, "{error}");
        assert!(!error.is_transient());
    }
}
