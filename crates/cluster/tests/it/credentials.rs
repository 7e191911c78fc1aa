//! Credentials: fixed, from files, from plugins.

use std::path::{Path, PathBuf};

use kzero_cluster::{ConnectOptions, ErrorClass, Notice, resolve};
use serde_json::{Value, json};

use crate::server::{Answer, Client, Server, budget, environment, kubeconfig};

fn version() -> Answer {
    Answer::ok(&json!({"gitVersion": "v1.36.0"}))
}

/// A plugin that counts its runs and hands out `token-N`.
fn plugin(folder: &Path, expires: &str) -> (PathBuf, Value) {
    let count = folder.join("runs");
    let script = folder.join("plugin");
    let expiry = if expires.is_empty() {
        String::new()
    } else {
        format!(",\"expirationTimestamp\":\"{expires}\"")
    };
    let text = format!(
        "#!/bin/sh\necho run >> {runs}\nprintf '%s' \"$KUBERNETES_EXEC_INFO\" > {info}\nn=$(wc -l < {runs} | tr -d ' ')\n\
         echo '{{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{{\"token\":\"'\"$PREFIX-$n\"'\"{expiry}}}}}'\n",
        runs = count.display(),
        info = folder.join("info").display(),
    );
    std::fs::write(&script, text).unwrap();
    let user = json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "/bin/sh",
        "args": [script],
        "env": [{"name": "PREFIX", "value": "token"}],
        "interactiveMode": "Never",
        "provideClusterInfo": true,
    }});
    (count, user)
}

fn runs(count: &Path) -> usize {
    std::fs::read_to_string(count).map_or(0, |text| text.lines().count())
}

fn tokens(server: &Server) -> Vec<String> {
    server
        .seen()
        .iter()
        .map(|seen| seen.header("authorization").to_owned())
        .collect()
}

#[tokio::test]
async fn s_1_30_a_plugin_runs_once_and_again_after_a_401() {
    let folder = tempfile::tempdir().unwrap();
    let (count, user) = plugin(folder.path(), "");
    let server = Server::start(|number, _| match number {
        2 => Answer::refuse(401, "Unauthorized"),
        _ => version(),
    })
    .await;
    let client = Client::new(&server.address, &json!({}), &user).await;
    assert_eq!(runs(&count), 0, "connecting must not run it");
    client.cluster.server_version(&budget(10)).await.unwrap();
    client.cluster.server_version(&budget(10)).await.unwrap();
    assert_eq!(runs(&count), 1);
    client.cluster.server_version(&budget(10)).await.unwrap();
    assert_eq!(runs(&count), 2);
    assert_eq!(
        tokens(&server),
        [
            "Bearer token-1",
            "Bearer token-1",
            "Bearer token-1",
            "Bearer token-2"
        ]
    );
    assert_eq!(client.notices(), [Notice::CredentialRefreshed]);
    let info: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("info")).unwrap())
            .unwrap();
    assert_eq!(info["kind"], "ExecCredential");
    assert_eq!(info["spec"]["interactive"], false);
    assert_eq!(
        info["spec"]["cluster"]["server"],
        format!("http://{}", server.address)
    );
}

#[tokio::test]
async fn s_d_9_a_401_leads_to_one_new_credential_only() {
    let folder = tempfile::tempdir().unwrap();
    let (count, user) = plugin(folder.path(), "");
    let server = Server::start(|_, _| Answer::refuse(401, "Unauthorized")).await;
    let client = Client::new(&server.address, &json!({}), &user).await;
    let error = client
        .cluster
        .server_version(&budget(10))
        .await
        .unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unauthorized);
    assert_eq!((runs(&count), server.seen().len()), (2, 2));
}

#[tokio::test]
async fn s_1_30_a_plugin_runs_again_when_its_credential_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (count, user) = plugin(folder.path(), "2020-01-01T00:00:00Z");
    let server = Server::start(|_, _| version()).await;
    let client = Client::new(&server.address, &json!({}), &user).await;
    client.cluster.server_version(&budget(10)).await.unwrap();
    client.cluster.server_version(&budget(10)).await.unwrap();
    assert_eq!(runs(&count), 2);

    let folder = tempfile::tempdir().unwrap();
    let (count, user) = plugin(folder.path(), "2999-01-01T00:00:00Z");
    let client = Client::new(&server.address, &json!({}), &user).await;
    client.cluster.server_version(&budget(10)).await.unwrap();
    client.cluster.server_version(&budget(10)).await.unwrap();
    assert_eq!(runs(&count), 1);
}

#[tokio::test]
async fn s_1_30_a_missing_or_failing_plugin_is_named_and_keeps_its_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let user = json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-login",
        "interactiveMode": "Never", "installHint": "see the handbook",
    }});
    let path = kubeconfig(folder.path(), "127.0.0.1:1", &json!({}), &user);
    let options = ConnectOptions {
        kubeconfig: Some(path),
        env: environment(&[("PATH", "/bin:/usr/bin")]),
        ..ConnectOptions::default()
    };
    let resolved = resolve(&options).unwrap();
    assert_eq!(resolved.exec_plugin(), Some("no-such-login"));
    let error = resolved.check_credential().unwrap_err();
    assert_eq!(error.class(), ErrorClass::Config);
    let text = error.to_string();
    assert!(
        text.contains("no-such-login")
            && text.contains("PATH")
            && text.contains("see the handbook"),
        "{text}"
    );

    let server = Server::start(|_, _| version()).await;
    let failing = |script: &str| {
        json!({"exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/sh", "args": ["-c", script], "interactiveMode": "Never",
        }})
    };
    for (script, said) in [
        (
            "echo hunter2; echo please log in >&2; exit 4",
            "please log in",
        ),
        ("echo hunter2", "no ExecCredential"),
        (
            "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{}}'",
            "neither a token nor a certificate",
        ),
    ] {
        let client = Client::new(&server.address, &json!({}), &failing(script)).await;
        let text = client
            .cluster
            .server_version(&budget(10))
            .await
            .unwrap_err()
            .to_string();
        assert!(text.contains(said) && text.contains("/bin/sh"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_plugin_that_hangs_is_bounded_by_the_budget() {
    let server = Server::start(|_, _| version()).await;
    let user = json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/sh", "args": ["-c", "exec sleep 60"], "interactiveMode": "Never",
    }});
    let client = Client::new(&server.address, &json!({}), &user).await;
    let error = client.cluster.server_version(&budget(1)).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::TimedOut, "{error}");
}

#[tokio::test]
async fn tokens_and_passwords_are_sent_and_a_token_file_is_read_again() {
    let server = Server::start(|_, _| version()).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "first\n").unwrap();
    let rows = [
        (json!({"token": "abc"}), "Bearer abc"),
        (
            json!({"username": "bob", "password": "p:w"}),
            "Basic Ym9iOnA6dw==",
        ),
        (json!({"token": "abc", "tokenFile": file}), "Bearer first"),
        (json!({}), ""),
    ];
    for (number, (user, expected)) in rows.iter().enumerate() {
        let client = Client::new(&server.address, &json!({}), user).await;
        client.cluster.server_version(&budget(10)).await.unwrap();
        assert_eq!(server.seen()[number].header("authorization"), *expected);
    }

    let server = Server::start(|_, seen| match seen.header("authorization") {
        "Bearer second" => version(),
        _ => Answer::refuse(401, "Unauthorized"),
    })
    .await;
    let client = Client::new(&server.address, &json!({}), &json!({"tokenFile": file})).await;
    let error = client
        .cluster
        .server_version(&budget(10))
        .await
        .unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unauthorized);
    assert_eq!(
        server.seen().len(),
        1,
        "the file still holds the refused token"
    );
    std::fs::write(&file, "second\n").unwrap();
    client.cluster.server_version(&budget(10)).await.unwrap();
    assert_eq!(tokens(&server).last().unwrap(), "Bearer second");
}

#[tokio::test]
async fn impersonation_of_the_kubeconfig_is_sent() {
    let server = Server::start(|_, _| version()).await;
    let user = json!({"token": "t", "as": "ann", "as-groups": ["ops"]});
    let client = Client::new(&server.address, &json!({}), &user).await;
    client.cluster.server_version(&budget(10)).await.unwrap();
    let seen = server.seen();
    assert_eq!(
        (
            seen[0].header("impersonate-user"),
            seen[0].header("impersonate-group")
        ),
        ("ann", "ops")
    );
}
