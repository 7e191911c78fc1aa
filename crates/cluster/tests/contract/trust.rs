//! TLS: whom the client trusts, and as whom it comes.

use kube::config::Kubeconfig;
use kzero_cluster::{ClusterError, ConnectOptions, ErrorClass, resolve};
use serde_json::json;

use crate::support::{budget, connect, place_for};

/// Asks for the version with a kubeconfig that was changed.
async fn version_with(change: impl FnOnce(&mut Kubeconfig)) -> Result<String, ClusterError> {
    let mut file = Kubeconfig::read().unwrap();
    change(&mut file);
    let folder = tempfile::tempdir().unwrap();
    let path = place_for(folder.path(), &file);
    let options = ConnectOptions {
        kubeconfig: Some(path),
        ..ConnectOptions::default()
    };
    let (cluster, _) = connect(&options).await;
    cluster.server_version(&budget(10)).await
}

fn cluster_of(file: &mut Kubeconfig) -> &mut kube::config::Cluster {
    file.clusters[0].cluster.as_mut().unwrap()
}

#[tokio::test]
async fn an_authority_that_did_not_sign_is_refused_and_said_so() {
    let error = version_with(|file| cluster_of(file).certificate_authority_data = None)
        .await
        .unwrap_err();
    assert_eq!(error.class(), ErrorClass::Config, "{error}");
    assert!(!error.is_transient());
    assert!(
        error.to_string().contains("TLS: invalid peer certificate"),
        "{error}"
    );
}

#[tokio::test]
async fn verification_can_be_turned_off_and_the_name_given() {
    let skipped = version_with(|file| cluster_of(file).insecure_skip_tls_verify = Some(true)).await;
    assert!(skipped.is_ok(), "{skipped:?}");
    let named =
        version_with(|file| cluster_of(file).tls_server_name = Some("localhost".to_owned())).await;
    assert!(named.is_ok(), "{named:?}");
    let wrong = version_with(|file| {
        cluster_of(file).tls_server_name = Some("wrong.example.com".to_owned());
    })
    .await;
    assert!(
        wrong
            .unwrap_err()
            .to_string()
            .contains("TLS: invalid peer certificate")
    );
}

#[tokio::test]
async fn s_1_30_a_plugin_may_hand_out_a_client_certificate() {
    let version = version_with(|file| {
        let user = file.auth_infos[0].auth_info.clone().unwrap();
        let answer = json!({
            "kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",
            "status": {
                "clientCertificateData": pem(&user.client_certificate_data.unwrap()),
                "clientKeyData": pem(secrecy::ExposeSecret::expose_secret(&user.client_key_data.unwrap())),
            },
        });
        let user = json!({"exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
            "command": "/bin/sh", "args": ["-c", "printf '%s' \"$ANSWER\""],
            "env": [{"name": "ANSWER", "value": answer.to_string()}],
        }});
        file.auth_infos[0].auth_info = Some(serde_json::from_value(user).unwrap());
    })
    .await
    .unwrap();
    assert!(version.starts_with("v1."));
}

#[tokio::test]
async fn nobody_is_not_let_in() {
    let mut file = Kubeconfig::read().unwrap();
    file.auth_infos[0].auth_info = Some(serde_json::from_value(json!({"token": "wrong"})).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = place_for(folder.path(), &file);
    let options = ConnectOptions {
        kubeconfig: Some(path),
        ..ConnectOptions::default()
    };
    let (cluster, _) = connect(&options).await;
    let error = cluster.nodes(&budget(10)).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unauthorized, "{error}");
    // The server answers, so it is up.
    cluster
        .probe(std::time::Duration::from_secs(5))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_key_that_cannot_be_used_is_a_configuration_error() {
    let mut file = Kubeconfig::read().unwrap();
    let user = file.auth_infos[0].auth_info.as_mut().unwrap();
    user.client_key_data = Some("aGVsbG8=".to_owned().into());
    let folder = tempfile::tempdir().unwrap();
    let path = place_for(folder.path(), &file);
    let options = ConnectOptions {
        kubeconfig: Some(path),
        ..ConnectOptions::default()
    };
    let outcome = resolve(&options)
        .unwrap()
        .connect(std::sync::Arc::new(|_| {}))
        .await;
    assert_eq!(outcome.unwrap_err().class(), ErrorClass::Config);
}

fn pem(data: &str) -> String {
    use base64::Engine;
    String::from_utf8(
        base64::engine::general_purpose::STANDARD
            .decode(data)
            .unwrap(),
    )
    .unwrap()
}
