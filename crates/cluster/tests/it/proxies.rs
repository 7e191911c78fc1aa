//! Proxies: the connection goes through them, or not at all.

use kzero_cluster::{ConnectOptions, ErrorClass, resolve};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::server::{Answer, Client, Server, budget, environment, kubeconfig};

async fn version_server() -> Server {
    Server::start(|_, _| Answer::ok(&json!({"gitVersion": "v1.36.0"}))).await
}

#[tokio::test]
async fn s_1_30_an_http_proxy_gets_the_connection_and_its_password() {
    let server = version_server().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://bob:p%40ss@{}", listener.local_addr().unwrap());
    let serve = async {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(client.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        let target = head.split(' ').nth(1).unwrap().to_owned();
        let mut upstream = TcpStream::connect(&target).await.unwrap();
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut client, &mut upstream).await;
        head
    };
    let ask = async {
        let client = Client::new(&server.address, &json!({"proxy-url": proxy}), &json!({})).await;
        client.cluster.server_version(&budget(10)).await.unwrap()
    };
    let (head, version) = tokio::join!(serve, ask);
    assert_eq!(version, "v1.36.0");
    assert!(
        head.starts_with(&format!("CONNECT {} ", server.address)),
        "{head}"
    );
    // bob:p@ss, with the escape undone.
    assert!(head.contains("Basic Ym9iOnBAc3M="), "{head}");
}

#[tokio::test]
async fn s_1_30_a_socks_proxy_gets_the_connection() {
    let server = version_server().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("socks5://{}", listener.local_addr().unwrap());
    let serve = async {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut hello = [0; 2];
        client.read_exact(&mut hello).await.unwrap();
        let mut methods = vec![0; usize::from(hello[1])];
        client.read_exact(&mut methods).await.unwrap();
        client.write_all(&[5, 0]).await.unwrap();
        let mut request = [0; 4];
        client.read_exact(&mut request).await.unwrap();
        // An IPv4 address, or a name with its length; then the port.
        let rest = match request[3] {
            1 => 4,
            _ => usize::from(client.read_u8().await.unwrap()),
        };
        let mut address = vec![0; rest + 2];
        client.read_exact(&mut address).await.unwrap();
        client
            .write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
            .await
            .unwrap();
        let port = u16::from_be_bytes([address[rest], address[rest + 1]]);
        let mut upstream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut client, &mut upstream).await;
        port
    };
    let ask = async {
        let client = Client::new(&server.address, &json!({"proxy-url": proxy}), &json!({})).await;
        client.cluster.server_version(&budget(10)).await.unwrap()
    };
    let (port, version) = tokio::join!(serve, ask);
    assert_eq!(version, "v1.36.0");
    assert!(server.address.ends_with(&format!(":{port}")));
}

#[tokio::test]
async fn s_1_30_a_dead_proxy_is_an_error_and_not_a_direct_connection() {
    let server = version_server().await;
    let dead = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let client = Client::new(
        &server.address,
        &json!({"proxy-url": format!("http://{dead}")}),
        &json!({}),
    )
    .await;
    let error = client
        .cluster
        .server_version(&budget(10))
        .await
        .unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unreachable, "{error}");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn s_1_30_an_unsupported_scheme_fails_before_anything_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let path = kubeconfig(folder.path(), "127.0.0.1:1", &json!({}), &json!({}));
    let options = ConnectOptions {
        kubeconfig: Some(path),
        env: environment(&[("HTTP_PROXY", "ftp://proxy.example.com:21")]),
        ..ConnectOptions::default()
    };
    let error = resolve(&options).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("proxy scheme ftp is not supported"),
        "{error}"
    );
}
