//! Each place that has credentials, and which goes first.

use std::os::unix::fs::PermissionsExt;

use super::*;

struct Place {
    folder: tempfile::TempDir,
    settings: Settings,
}

impl Place {
    fn new(helm: &str, docker: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings {
            registry_config: folder.path().join("helm.json"),
            docker_config: Some(folder.path().join("docker.json")),
            program_path: Some(format!("{}:/usr/bin:/bin", folder.path().display()).into()),
            ..Settings::default()
        };
        for (name, text) in [("helm.json", helm), ("docker.json", docker)] {
            if !text.is_empty() {
                std::fs::write(folder.path().join(name), text).unwrap();
            }
        }
        Self { folder, settings }
    }

    fn helper(self, name: &str, script: &str) -> Self {
        let path = self.folder.path().join(format!("docker-credential-{name}"));
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn credentials(&self) -> Credentials {
        Credentials::new(&self.settings, None, &[])
    }

    async fn of(&self, host: &str) -> Result<String, String> {
        let found = self.credentials().of(host).await;
        let (found, origin) = found.map_err(|error| error.to_string())?;
        let open = |s: Option<SecretString>| s.map(|s| s.expose_secret().to_owned());
        let folder = format!("{}/", self.folder.path().display());
        Ok(format!(
            "{}:{}|{}|{}|{}",
            found.username,
            open(found.password).unwrap_or_default(),
            open(found.refresh_token).unwrap_or_default(),
            open(found.access_token).unwrap_or_default(),
            origin.to_string().replace(&folder, ""),
        ))
    }
}

const ME: &str = "bWU6aHVzaDpodXNo";

#[tokio::test]
async fn helms_file_goes_before_dockers() {
    let place = Place::new(
        &format!(r#"{{"auths": {{"a.example:5000": {{"auth": "{ME}"}}}}}}"#),
        r#"{"auths": {"a.example:5000": {"username": "you"}, "b.example": {"username": "you", "password": "p"}}}"#,
    );
    assert_eq!(
        place.of("a.example:5000").await.unwrap(),
        "me:hush:hush|||credentials from helm.json"
    );
    assert_eq!(
        place.of("b.example").await.unwrap(),
        "you:p|||credentials from docker.json"
    );
    assert_eq!(
        place.of("a.example").await.unwrap(),
        ":|||no credentials found"
    );
}

#[tokio::test]
async fn old_names_and_docker_hub_are_found() {
    let place = Place::new(
        &format!(
            r#"{{"auths": {{"https://old.example/v1/": {{"auth": "{ME}"}},
                "https://index.docker.io/v1/": {{"identitytoken": "r", "registrytoken": "a"}}}}}}"#
        ),
        "",
    );
    assert_eq!(
        place.of("old.example").await.unwrap(),
        "me:hush:hush|||credentials from helm.json"
    );
    for host in ["docker.io", "registry-1.docker.io"] {
        assert_eq!(
            place.of(host).await.unwrap(),
            ":|r|a|credentials from helm.json"
        );
    }
}

#[tokio::test]
async fn helpers_are_asked_with_the_address() {
    let place = Place::new(
        r#"{"credHelpers": {"a.example": "one", "c.example": "none"}, "credsStore": "all"}"#,
        r#"{"auths": {"c.example": {"username": "plain", "password": "p"}}}"#,
    )
    .helper(
        "one",
        r#"read -r a; echo "{\"ServerURL\": \"$a\", \"Username\": \"$1-$a\", \"Secret\": \"s\"}""#,
    )
    .helper("all", r#"echo '{"Username": "<token>", "Secret": "t"}'"#)
    .helper(
        "none",
        "echo credentials not found in native keychain; exit 1",
    );
    assert_eq!(
        place.of("a.example").await.unwrap(),
        "get-a.example:s|||credentials from docker-credential-one, named in helm.json"
    );
    assert_eq!(
        place.of("b.example").await.unwrap(),
        ":|t||credentials from docker-credential-all, named in helm.json"
    );
    assert_eq!(
        place.of("c.example").await.unwrap(),
        "plain:p|||credentials from docker.json"
    );
}

#[tokio::test]
async fn what_a_failing_helper_writes_is_not_told() {
    let place = Place::new(
        r#"{"credHelpers": {"a": "bad", "b": "odd", "c": "../x", "d": "gone"}}"#,
        "",
    )
    .helper("bad", "echo hidden; echo hidden >&2; exit 3")
    .helper("odd", "echo hidden");
    assert_eq!(
        place.of("a").await.unwrap_err(),
        "docker-credential-bad: failed with exit status: 3"
    );
    assert_eq!(
        place.of("b").await.unwrap_err(),
        "docker-credential-odd: the answer is no credential"
    );
    assert!(
        place
            .of("c")
            .await
            .unwrap_err()
            .contains("is a name, not a path")
    );
    assert_eq!(
        place.of("d").await.unwrap_err(),
        "exec: \"docker-credential-gone\": executable file not found in $PATH"
    );
}

#[tokio::test(start_paused = true)]
async fn a_helper_that_hangs_is_given_up() {
    let place = Place::new(r#"{"credsStore": "slow"}"#, "").helper("slow", "exec sleep 1000");
    let text = place.of("a.example").await.unwrap_err();
    assert_eq!(text, "docker-credential-slow: no answer in 60 s");
}

#[tokio::test]
async fn files_that_are_no_json_are_named_without_their_content() {
    let place = Place::new(r#"{"auths": {"a": {"auth": "hidden", ]"#, "");
    let text = place.of("a").await.unwrap_err();
    assert!(
        text.contains("helm.json: invalid config format: line 1"),
        "{text}"
    );
    let place = Place::new(r#"{"auths": {"a": {"auth": "aGlkZGVu"}}}"#, "");
    let text = place.of("a").await.unwrap_err();
    assert_eq!(text, "failed to decode auth field: invalid config format");
    assert_eq!(
        Place::new(" \n", "").of("a").await.unwrap(),
        ":|||no credentials found"
    );
}

#[tokio::test]
async fn a_broken_file_of_docker_is_done_without() {
    let place = Place::new("", r#"{"auths": "#);
    assert_eq!(
        place.of("a").await.unwrap(),
        ":|||no credentials found, docker.json cannot be read"
    );
    let helm = format!(r#"{{"auths": {{"a": {{"auth": "{ME}"}}}}}}"#);
    let place = Place::new(&helm, r#"{"auths": "#);
    assert_eq!(
        place.of("a").await.unwrap(),
        "me:hush:hush|||credentials from helm.json"
    );
}

#[tokio::test]
async fn flags_and_logins_go_before_all_files() {
    let place = Place::new(
        &format!(r#"{{"auths": {{"a.example": {{"auth": "{ME}"}}}}}}"#),
        "",
    );
    let secret = || SecretString::from("hidden");
    let login = Login {
        host: "A.example".to_owned(),
        username: "robot".to_owned(),
        password: secret(),
    };
    let some = Credentials::new(&place.settings, None, std::slice::from_ref(&login));
    let (found, origin) = some.of("a.example").await.unwrap();
    assert_eq!((found.username.as_str(), origin), ("robot", Origin::Login));
    let (_, origin) = some.of("a.example:443").await.unwrap();
    assert_eq!(origin, Origin::Nowhere, "the port counts");
    let all = Credentials::new(
        &place.settings,
        Some(("boss".to_owned(), secret())),
        &[login],
    );
    let (found, origin) = all.of("a.example").await.unwrap();
    assert_eq!((found.username.as_str(), origin), ("boss", Origin::Flags));
    assert!(!format!("{all:?} {found:?}").contains("hidden"));
}
