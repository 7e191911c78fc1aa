use serde_json::{Value, json};

use super::*;

/// A kubeconfig with one context, cluster and user, all called `name`.
fn file(folder: &Path, name: &str, more: &Value) -> PathBuf {
    let mut text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [{"name": name, "cluster": {"server": format!("https://{name}.example.com:6443")}}],
        "users": [{"name": name, "user": {"token": format!("secret-{name}")}}],
    });
    for (key, value) in more.as_object().unwrap() {
        text[key] = value.clone();
    }
    let path = folder.join(format!("{name}.yaml"));
    std::fs::write(&path, text.to_string()).unwrap();
    path
}

fn from_env(pairs: &[(&str, &str)]) -> ConnectOptions {
    ConnectOptions {
        env: pairs.iter().copied().collect(),
        ..ConnectOptions::default()
    }
}

fn from_path(path: &Path) -> ConnectOptions {
    ConnectOptions {
        kubeconfig: Some(path.to_owned()),
        ..ConnectOptions::default()
    }
}

fn failure(options: &ConnectOptions) -> String {
    let error = resolve(options).unwrap_err();
    assert_eq!(error.class(), crate::ErrorClass::Config);
    assert!(!error.is_transient());
    error.to_string()
}

#[test]
fn s_1_30_a_named_file_is_used_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (
        file(folder.path(), "one", &json!({})),
        file(folder.path(), "two", &json!({})),
    );
    let options = ConnectOptions {
        display: Some("./one.yaml".to_owned()),
        env: [("KUBECONFIG", two.to_str().unwrap())]
            .into_iter()
            .collect(),
        ..from_path(&one)
    };
    assert_eq!(
        resolve(&options).unwrap().target(),
        &Target {
            context: "one".to_owned(),
            cluster: "one".to_owned(),
            namespace: "default".to_owned(),
            api_server: "https://one.example.com:6443".to_owned(),
            kubeconfig: "./one.yaml".to_owned(),
            in_cluster: false,
        }
    );
    let missing = folder.path().join("none.yaml");
    assert_eq!(
        failure(&ConnectOptions {
            env: options.env.clone(),
            ..from_path(&missing)
        }),
        format!("kubeconfig {}: no such file", missing.display())
    );
}

#[test]
fn s_1_30_several_files_are_merged_and_the_first_wins() {
    let folder = tempfile::tempdir().unwrap();
    let first = file(
        folder.path(),
        "one",
        &json!({
            "current-context": "",
            "contexts": [{"name": "shared", "context": {"cluster": "two", "user": "two", "namespace": "team"}}],
        }),
    );
    let second = file(
        folder.path(),
        "two",
        &json!({
            "current-context": "shared",
            "contexts": [{"name": "shared", "context": {"cluster": "nowhere"}}],
        }),
    );
    let missing = folder.path().join("missing.yaml");
    let list = [missing.as_path(), &first, &second]
        .map(|path| path.to_str().unwrap())
        .join(":");
    let resolved = resolve(&from_env(&[("KUBECONFIG", &list)])).unwrap();
    let target = resolved.target();
    assert_eq!(
        (target.cluster.as_str(), target.namespace.as_str()),
        ("two", "team")
    );
    assert_eq!(target.kubeconfig, list);
    let gone = missing.to_str().unwrap();
    assert_eq!(
        failure(&from_env(&[("KUBECONFIG", gone)])),
        format!("KUBECONFIG={gone}: no such file")
    );
}

#[test]
fn s_1_30_the_home_folder_comes_before_the_service_account() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_str().unwrap();
    let pod = [
        ("HOME", home),
        ("KUBERNETES_SERVICE_HOST", "10.0.0.1"),
        ("KUBERNETES_SERVICE_PORT", "8443"),
    ];
    assert_eq!(
        failure(&from_env(&[("HOME", home), ("KUBECONFIG", "")])),
        format!(
            "no kubeconfig found (tried {home}/.kube/config); set KUBECONFIG or pass --kubeconfig"
        )
    );

    let account = folder.path().join("account");
    std::fs::create_dir(&account).unwrap();
    std::fs::write(account.join("token"), "secret").unwrap();
    let error = resolve_in(&from_env(&pod), &account).unwrap_err();
    assert!(error.to_string().contains("ca.crt"), "{error}");
    std::fs::write(account.join("ca.crt"), CERTIFICATE).unwrap();
    std::fs::write(account.join("namespace"), "ops\n").unwrap();
    let resolved = resolve_in(&from_env(&pod), &account).unwrap();
    assert_eq!(
        resolved.target(),
        &Target {
            context: "in-cluster".to_owned(),
            cluster: "in-cluster".to_owned(),
            namespace: "ops".to_owned(),
            api_server: "https://10.0.0.1:8443".to_owned(),
            kubeconfig: "(in-cluster service account)".to_owned(),
            in_cluster: true,
        }
    );

    let kube = folder.path().join(".kube");
    std::fs::create_dir(&kube).unwrap();
    std::fs::rename(file(folder.path(), "one", &json!({})), kube.join("config")).unwrap();
    let resolved = resolve_in(&from_env(&pod), &account).unwrap();
    assert_eq!(resolved.target().context, "one");
}

#[test]
fn what_is_missing_in_a_kubeconfig_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "one", &json!({}));
    let shown = path.display();
    let other = ConnectOptions {
        context: Some("prod".to_owned()),
        ..from_path(&path)
    };
    assert_eq!(
        failure(&other),
        format!("kubeconfig {shown}: no context \"prod\"; it has one")
    );
    let rows = [
        (
            json!({"current-context": ""}),
            "no current-context is set; pass --context (it has one)",
        ),
        (
            json!({"clusters": []}),
            "context \"one\" names cluster \"one\", which is not there",
        ),
        (
            json!({"users": []}),
            "context \"one\" names user \"one\", which is not there",
        ),
        (
            json!({"clusters": [{"name": "one", "cluster": {}}]}),
            "cluster \"one\" has no server",
        ),
        (
            json!({"clusters": [{"name": "one", "cluster": {"server": "ftp://x"}}]}),
            "server \"ftp://x\" is not an http or https address",
        ),
        (
            json!({"clusters": [{"name": "one", "cluster": {"server": "https://x", "certificate-authority-data": "aGVsbG8="}}]}),
            "the certificate authority holds no certificate",
        ),
    ];
    for (more, text) in rows {
        file(folder.path(), "one", &more);
        assert_eq!(
            failure(&from_path(&path)),
            format!("kubeconfig {shown}: {text}")
        );
    }
}

#[test]
fn paths_in_a_kubeconfig_are_relative_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(
        folder.path(),
        "one",
        &json!({
            "clusters": [{"name": "one", "cluster": {"server": "https://x", "certificate-authority": "pki/ca.crt"}}],
        }),
    );
    let text = failure(&from_path(&path));
    assert!(
        text.contains(&format!(
            "certificate-authority {}/pki/ca.crt",
            folder.path().display()
        )),
        "{text}"
    );
    std::fs::create_dir(folder.path().join("pki")).unwrap();
    std::fs::write(folder.path().join("pki/ca.crt"), CERTIFICATE).unwrap();
    assert_eq!(
        resolve(&from_path(&path))
            .unwrap()
            .config
            .root_cert
            .map(|certificates| certificates.len()),
        Some(1)
    );
}

#[test]
fn errors_of_a_broken_file_show_the_place_and_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broken");
    for text in [
        "users:\n- name: a\n  user: {token: hunter2",
        "users: hunter2\n",
        "users:\n- name: a\n  user: {exec: hunter2}\n",
    ] {
        std::fs::write(&path, text).unwrap();
        let said = failure(&from_path(&path));
        assert!(
            said.contains("not valid YAML, or not a kubeconfig"),
            "{said}"
        );
        assert!(!said.contains("hunter2"), "{said}");
    }
    let good = file(folder.path(), "one", &json!({}));
    let shown = format!("{:?}", resolve(&from_path(&good)).unwrap());
    assert!(!shown.contains("secret-one"), "{shown}");
}

#[test]
fn authentication_that_is_not_supported_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [
        (
            json!({"auth-provider": {"name": "gcp"}}),
            "auth-provider gcp is not supported",
        ),
        (
            json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "x"}}),
            "v1alpha1\" is not supported",
        ),
        (
            json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}),
            "has no command",
        ),
    ];
    for (user, text) in rows {
        let path = file(
            folder.path(),
            "one",
            &json!({"users": [{"name": "one", "user": user}]}),
        );
        let said = failure(&from_path(&path));
        assert!(said.contains(text), "{said}");
    }
}

#[test]
fn a_server_without_a_scheme_is_https_when_anything_speaks_of_tls() {
    assert_eq!(
        server_uri("h:6443", true).unwrap().to_string(),
        "https://h:6443/"
    );
    assert_eq!(
        server_uri("h:8080", false).unwrap().to_string(),
        "http://h:8080/"
    );
    assert_eq!(server_uri("https://h/path", false).unwrap().path(), "/path");
    assert!(server_uri("unix:///run/x", false).is_none());
}

/// Self-signed, of nobody.
const CERTIFICATE: &str = include_str!("test-ca.pem");
