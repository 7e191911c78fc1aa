//! Charts from a real registry server: the program that `KZERO_TEST_REGISTRY` names, which
//! `tests/cluster/cluster.sh run` sets.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "the other tests use the rest")]
mod common;
mod server;
mod token;

use std::os::unix::fs::PermissionsExt;
use std::time::SystemTime;

use kzero_registry::dependency::{Options, update};
use kzero_registry::{Access, Client, Error, ErrorKind, Login};
use serde_json::json;

use common::{Home, Said, chart, in_repo, login};
use server::{Guard, Registry, push};

/// A registry that holds versions of a chart.
async fn registry(guard: Guard) -> Registry {
    let registry = Registry::new();
    let open = registry.start(&Guard::Nobody);
    for version in ["0.1.0", "0.2.0", "0.2.1+b1", "1.0.0-rc.1"] {
        push(
            &open.host(),
            "charts/web",
            &version.replace('+', "_"),
            &chart("web", version),
        )
        .await;
    }
    push(&open.host(), "charts/web", "latest", &chart("web", "0.1.0")).await;
    open.stop();
    registry.start(&guard)
}

async fn version(
    home: &Home,
    registry: &Registry,
    access: &Access,
    version: &str,
) -> Result<String, Error> {
    let reference = format!("oci://{}/charts/web", registry.host());
    let found = home
        .download(access, &reference, &in_repo("", version))
        .await?;
    assert_eq!(found.bytes, chart("web", &found.version));
    Ok(found.version)
}

fn plain() -> Access {
    Access {
        plain_http: true,
        ..Access::default()
    }
}

#[tokio::test]
async fn versions_are_chosen_among_tags() {
    let (home, registry) = (Home::new(), registry(Guard::Nobody).await);
    let get = async |wanted: &str| {
        let found = version(&home, &registry, &plain(), wanted).await;
        found.unwrap_or_else(|error| error.to_string())
    };
    assert_eq!(get("").await, "0.2.1+b1");
    assert_eq!(get("^0.1").await, "0.1.0");
    assert_eq!(get("0.2.1+b1").await, "0.2.1+b1");
    assert_eq!(get(">0.0.0-0").await, "1.0.0-rc.1");
    let host = registry.host();
    assert_eq!(
        get("9.9.9").await,
        format!(
            "failed to perform \"FetchReference\" on source: {host}/charts/web:9.9.9: not found"
        )
    );
    let reference = format!("oci://{host}/charts/none");
    let error = home
        .download(&plain(), &reference, &in_repo("", ""))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "GET \"http://{host}/v2/charts/none/tags/list\": response status code 404: name unknown: repository name not known to registry: map[name:charts/none]"
        )
    );
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_registry_without_tls_is_noticed() {
    let (home, registry) = (Home::new(), registry(Guard::Nobody).await);
    assert_eq!(
        version(&home, &registry, &Access::default(), "")
            .await
            .unwrap(),
        "0.2.1+b1"
    );
}

#[tokio::test]
async fn passwords_come_from_flags_logins_files_and_helpers() {
    let registry = registry(Guard::Password).await;
    let get = async |home: &Home, access: &Access| {
        let found = version(home, &registry, access, "0.1.0").await;
        found.map_err(|error| error.to_string())
    };
    let home = Home::new();
    let text = get(&home, &home.trusting()).await.unwrap_err();
    assert!(
        text.ends_with("basic credential not found (no credentials found)"),
        "{text}"
    );
    get(&home, &login(home.trusting(), "me", "hush"))
        .await
        .unwrap();
    let text = get(&home, &login(home.trusting(), "me", "wrong"))
        .await
        .unwrap_err();
    assert!(
        text.contains("response status code 401: unauthorized"),
        "{text}"
    );
    assert!(
        text.ends_with("(credentials from --username and --password)"),
        "{text}"
    );
    let access = Access {
        logins: vec![Login {
            host: registry.host(),
            username: "me".to_owned(),
            password: "hush".into(),
        }],
        ..home.trusting()
    };
    get(&home, &access).await.unwrap();
    let auths = json!({"auths": {registry.host(): {"auth": "bWU6aHVzaA=="}}}).to_string();
    for file in [".config/helm/registry/config.json", ".docker/config.json"] {
        let home = Home::new();
        home.write(file, &auths);
        get(&home, &home.trusting()).await.unwrap();
    }
    let mut home = Home::new();
    home.write(
        ".docker/config.json",
        json!({"credHelpers": {registry.host(): "test"}}).to_string(),
    );
    let answer = r#"{"Username": "me", "Secret": "hush"}"#;
    let program = home.write(
        "bin/docker-credential-test",
        format!("#!/bin/sh\necho '{answer}'\n"),
    );
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    home.settings.program_path =
        Some(format!("{}:/usr/bin:/bin", home.path("bin").display()).into());
    get(&home, &home.trusting()).await.unwrap();
}

#[tokio::test]
async fn tokens_come_from_the_server_that_the_registry_names() {
    let registry = registry(Guard::Token).await;
    let home = Home::new();
    let access = login(home.trusting(), "me", "hush");
    assert_eq!(
        version(&home, &registry, &access, "").await.unwrap(),
        "0.2.1+b1"
    );
    let text = version(&home, &registry, &login(home.trusting(), "me", "wrong"), "").await;
    let text = text.unwrap_err().to_string();
    assert!(text.contains("response status code 401"), "{text}");
}

#[tokio::test]
async fn dependencies_are_fetched_from_registries() {
    let (home, registry) = (Home::new(), registry(Guard::Nobody).await);
    let host = registry.host();
    home.write(
        "parent/Chart.yaml",
        format!("apiVersion: v2\nname: parent\nversion: 1.0.0\ndependencies:\n- {{name: web, version: \"^0.1\", repository: \"oci://{host}/charts\"}}\n"),
    );
    let (access, said) = (plain(), Said::default());
    let client = Client::new(&home.settings, &access, &said);
    let options = Options {
        skip_refresh: false,
        now: SystemTime::UNIX_EPOCH,
    };
    update(&client, &home.path("parent"), options)
        .await
        .unwrap();
    assert_eq!(
        said.out(),
        format!(
            "Saving 1 charts\nDownloading web from repo oci://{host}/charts\nDeleting outdated charts\n"
        )
    );
    assert_eq!(home.names("parent/charts"), ["web-0.1.0.tgz"]);
    assert!(
        home.read("parent/Chart.lock")
            .contains("  version: 0.1.0\n")
    );
}
