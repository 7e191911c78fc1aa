//! Chart repositories: addresses, credentials, certificates.

use base64::Engine as _;
use kzero_registry::{Access, Client, ErrorKind, Located};

use crate::common::certs::{CERTS, OWN_AUTHORITY};
use crate::common::server::{Reply, Seen, Server, Tls};
use crate::common::{Home, Said, chart, in_repo, index, login};

fn basic(user: &str, password: &str) -> String {
    let text = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
    format!("Basic {text}")
}

/// A repository with web 1.0.0 and 2.0.0-rc.1 at relative addresses.
fn repository(tls: Tls) -> Server {
    Server::new(tls, serve)
}

fn serve(seen: &Seen) -> Reply {
    match seen.target.split('?').next().unwrap_or_default() {
        "/charts/index.yaml" => Reply::ok(index(
            "web",
            &[
                ("1.0.0", "web-1.0.0.tgz"),
                ("2.0.0-rc.1", "more/web-2.0.0-rc.1.tgz"),
            ],
        )),
        "/charts/web-1.0.0.tgz" => Reply::ok(chart("web", "1.0.0")),
        "/charts/more/web-2.0.0-rc.1.tgz" => Reply::ok(chart("web", "2.0.0-rc.1")),
        _ => Reply::status(404),
    }
}

#[tokio::test]
async fn relative_addresses_are_below_the_repository_and_keep_its_query() {
    let home = Home::new();
    let server = repository(Tls::Off);
    let access = Access::default();
    let wanted = in_repo(&server.url("/charts?key=k"), "");
    let found = home.download(&access, "web", &wanted).await.unwrap();
    assert_eq!(
        (found.file_name.as_str(), found.version.as_str()),
        ("web-1.0.0.tgz", "1.0.0")
    );
    assert_eq!(found.bytes, chart("web", "1.0.0"));
    assert_eq!(
        server.targets(),
        ["/charts/index.yaml?key=k", "/charts/web-1.0.0.tgz?key=k"]
    );
    let wanted = in_repo(&server.url("/charts"), ">0.0.0-0");
    let found = home.download(&access, "web", &wanted).await.unwrap();
    assert_eq!(found.file_name, "web-2.0.0-rc.1.tgz");
}

#[tokio::test]
async fn what_is_not_there_is_told_in_helms_words() {
    let home = Home::new();
    let server = repository(Tls::Off);
    let access = Access::default();
    let repo = server.url("/charts");
    let text = async |name: &str, repo: &str, version: &str| {
        let found = home.download(&access, name, &in_repo(repo, version)).await;
        found.unwrap_err().to_string()
    };
    assert_eq!(
        text("web", &repo, "9").await,
        format!("chart \"web\" version \"9\" not found in {repo} repository")
    );
    assert_eq!(
        text("db", &repo, "").await,
        format!("chart \"db\" not found in {repo} repository")
    );
    let none = server.url("/none");
    assert_eq!(
        text("web", &none, "").await,
        format!(
            "looks like \"{none}\" is not a valid chart repository or cannot be reached: failed to fetch {none}/index.yaml : 404 Not Found"
        )
    );
    for (repo, scheme) in [("ftp://h.example", "ftp"), ("nothing", "")] {
        assert_eq!(
            text("web", repo, "").await,
            format!("could not find protocol handler for: {scheme}")
        );
    }
    let gone = {
        let gone = Server::new(Tls::Off, |_| Reply::status(404));
        gone.url("")
    };
    let host = gone.strip_prefix("http://").unwrap();
    assert_eq!(
        text("web", &gone, "").await,
        format!(
            "looks like \"{gone}\" is not a valid chart repository or cannot be reached: Get \"{gone}/index.yaml\": dial tcp {host}: connect: connection refused"
        )
    );
}

#[tokio::test]
async fn credentials_go_to_their_own_repository_alone() {
    let home = Home::new();
    let elsewhere = Server::new(Tls::Off, |_| Reply::ok(chart("web", "1.0.0")));
    let other = elsewhere.url("/web-1.0.0.tgz");
    let server = Server::new(Tls::Off, move |seen| {
        assert_eq!(seen.header("authorization"), basic("me", "hush"));
        Reply::ok(index("web", &[("1.0.0", &other)]))
    });
    let wanted = in_repo(&server.url(""), "");
    let mut access = login(Access::default(), "me", "hush");
    home.download(&access, "web", &wanted).await.unwrap();
    access.pass_credentials = true;
    home.download(&access, "web", &wanted).await.unwrap();
    let shown = elsewhere.seen();
    let shown: Vec<_> = shown
        .iter()
        .map(|seen| seen.header("authorization"))
        .collect();
    assert_eq!(shown, ["", &basic("me", "hush")]);
}

#[tokio::test]
async fn a_redirect_to_another_host_takes_no_credentials_along() {
    let home = Home::new();
    let elsewhere = Server::new(Tls::Off, |_| Reply::ok(chart("web", "1.0.0")));
    let target = elsewhere.url("/stolen.tgz");
    let server = Server::new(Tls::Off, move |seen| match seen.target.as_str() {
        "/index.yaml" => Reply::ok(index("web", &[("1.0.0", "web-1.0.0.tgz")])),
        "/here.tgz" => Reply::status(302).with("Location", "/web-1.0.0.tgz?again"),
        _ => Reply::status(302).with("Location", target.clone()),
    });
    let access = login(Access::default(), "me", "hush");
    let found = home
        .download(&access, "web", &in_repo(&server.url(""), ""))
        .await
        .unwrap();
    assert_eq!(
        found.file_name, "web-1.0.0.tgz",
        "the name is that of the first address"
    );
    assert_eq!(elsewhere.seen()[0].header("authorization"), "");
    home.download(&access, &server.url("/here.tgz"), &in_repo("", ""))
        .await
        .unwrap();
    for seen in server.seen() {
        assert_eq!(
            seen.header("authorization"),
            basic("me", "hush"),
            "{}",
            seen.target
        );
    }
}

#[tokio::test]
async fn redirects_in_a_circle_end() {
    let home = Home::new();
    let server = Server::new(Tls::Off, |_| Reply::status(302).with("Location", "/a.tgz"));
    let url = server.url("/a.tgz");
    let text = home
        .download(&Access::default(), &url, &in_repo("", ""))
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(text, format!("Get \"{url}\": stopped after 10 redirects"));
    assert_eq!(server.seen().len(), 11);
}

#[tokio::test]
async fn a_refusal_names_no_secret() {
    let home = Home::new();
    let server = Server::new(Tls::Off, |_| Reply::status(401));
    let url = server
        .url("/web.tgz")
        .replace("http://", "http://me:hidden@");
    let error = home
        .download(&Access::default(), &url, &in_repo("", ""))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthorized);
    assert_eq!(
        server.seen()[0].header("authorization"),
        basic("me", "hidden")
    );
    let shown = url.replace("hidden", "xxxxx");
    assert_eq!(
        error.to_string(),
        format!("failed to fetch {shown} : 401 Unauthorized")
    );
}

#[tokio::test]
async fn certificates_are_checked_unless_somebody_says_not_to() {
    let home = Home::new();
    let server = repository(Tls::On);
    let wanted = in_repo(&server.url("/charts"), "");
    let error = home
        .download(&Access::default(), "web", &wanted)
        .await
        .unwrap_err();
    let end = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    assert!(error.to_string().ends_with(end), "{error}");
    home.download(&home.trusting(), "web", &wanted)
        .await
        .unwrap();
    let access = Access {
        insecure_skip_tls_verify: true,
        ..Access::default()
    };
    home.download(&access, "web", &wanted).await.unwrap();
}

#[tokio::test]
async fn a_certificate_that_is_its_own_authority_is_taken_where_it_is_trusted() {
    let home = Home::new();
    let server = repository(Tls::OwnAuthority);
    let wanted = in_repo(&server.url("/charts"), "");
    let access = Access {
        ca_file: Some(home.write("own.pem", OWN_AUTHORITY.0)),
        ..Access::default()
    };
    home.download(&access, "web", &wanted).await.unwrap();
    for other in [Access::default(), home.trusting()] {
        assert!(home.download(&other, "web", &wanted).await.is_err());
    }
    // The name still counts: it is for 127.0.0.1 alone.
    let named = in_repo(&server.url("/charts").replace("127.0.0.1", "localhost"), "");
    let text = home
        .download(&access, "web", &named)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("x509: certificate is not valid for localhost"),
        "{text}"
    );
}

#[tokio::test]
async fn certificates_are_read_before_anything_is_asked_for() {
    let home = Home::new();
    let access = Access {
        ca_file: Some("/nope".into()),
        ..Access::default()
    };
    for (name, repo) in [("web", "http://127.0.0.1:1"), ("oci://127.0.0.1:1/web", "")] {
        let error = home
            .download(&access, name, &in_repo(repo, ""))
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "missing registry client: can't create TLS config for client: can't read CA file: /nope"
        );
    }
}

#[tokio::test]
async fn a_client_shows_its_certificate() {
    let home = Home::new();
    let server = repository(Tls::Client);
    let wanted = in_repo(&server.url("/charts"), "");
    assert!(
        home.download(&home.trusting(), "web", &wanted)
            .await
            .is_err()
    );
    let access = Access {
        cert_file: Some(home.write("client.pem", &CERTS.client.0)),
        key_file: Some(home.write("client.key", &CERTS.client.1)),
        ..home.trusting()
    };
    home.download(&access, "web", &wanted).await.unwrap();
}

/// `repositories.yaml` with one repository, and its cached index.
fn add(home: &Home, name: &str, url: &str, more: &str, index: &str) {
    let entry = format!("repositories:\n- name: {name}\n  url: {url}\n{more}");
    home.write(".config/helm/repositories.yaml", entry);
    home.write(&format!(".cache/helm/repository/{name}-index.yaml"), index);
}

#[tokio::test]
async fn a_repository_that_was_added_is_looked_up_in_its_cached_index() {
    let home = Home::new();
    let server = repository(Tls::On);
    let ca = home.write("ca.pem", &CERTS.ca);
    let more = format!(
        "  username: me\n  password: hush\n  caFile: {}\n",
        ca.display()
    );
    let cached = index("web", &[("1.0.0", "web-1.0.0.tgz"), ("3.0.0", "")]).replace("\"\"", "");
    add(&home, "mine", &server.url("/charts"), &more, &cached);
    let access = Access::default();
    let text = async |reference: &str, version: &str| match home
        .download(&access, reference, &in_repo("", version))
        .await
    {
        Ok(archive) => archive.version,
        Err(error) => error.to_string(),
    };
    assert_eq!(text("mine/web", "1.0.0").await, "1.0.0");
    assert_eq!(server.targets(), ["/charts/web-1.0.0.tgz"]);
    assert_eq!(
        server.seen()[0].header("authorization"),
        basic("me", "hush")
    );
    assert_eq!(
        text("mine/web", "").await,
        "chart \"mine/web\" has no downloadable URLs"
    );
    assert_eq!(
        text("mine/db", "").await,
        "chart \"db\" matching  not found in mine index. (try 'helm repo update'): no chart name found"
    );
    assert_eq!(
        text("mine/web", "~2").await,
        "chart \"web\" matching ~2 not found in mine index. (try 'helm repo update'): no chart version found for web-~2"
    );
    assert_eq!(text("other/web", "").await, "repo other not found");
    assert_eq!(
        text("web", "").await,
        "non-absolute URLs should be in form of repo_name/path_to_chart, got: web"
    );
    // An address that the index names gets the credentials of the repository.
    let url = server.url("/charts/web-1.0.0.tgz");
    let cached = cached.replace("\"web-1.0.0.tgz\"", &url);
    add(&home, "mine", &server.url("/charts"), &more, &cached);
    assert_eq!(text(&url, "").await, "");
    assert_eq!(
        server.seen()[1].header("authorization"),
        basic("me", "hush")
    );
    std::fs::remove_file(home.path(".cache/helm/repository/mine-index.yaml")).unwrap();
    let path = home.path(".cache/helm/repository/mine-index.yaml");
    assert_eq!(
        text("mine/web", "").await,
        format!(
            "no cached repo found. (try 'helm repo update'): open {}: no such file or directory",
            path.display()
        )
    );
}

#[tokio::test]
async fn a_chart_of_this_machine_goes_before_any_repository() {
    let home = Home::new();
    let path = home.write("web/Chart.yaml", "");
    let (access, said) = (Access::default(), Said::default());
    let client = Client::new(&home.settings, &access, &said);
    let found = client
        .locate("web", &in_repo("http://127.0.0.1:1", ""))
        .await
        .unwrap();
    assert_eq!(found, Located::Local(path.parent().unwrap().to_owned()));
    assert_eq!(
        said.notes(),
        [
            "WARN local chart found in current working directory. repository url ignored chart=web repository=http://127.0.0.1:1"
        ]
    );
}

#[tokio::test]
async fn a_known_digest_is_taken_from_the_cache() {
    let home = Home::new();
    let server = Server::new(Tls::Off, |seen| match seen.target.as_str() {
        "/index.yaml" => {
            let archive = digest_of_web();
            let text = index("web", &[("1.0.0", "web-1.0.0.tgz")]);
            Reply::ok(text.replace("urls:", &format!("digest: {archive}, urls:")))
        }
        _ => Reply::ok(chart("web", "1.0.0")),
    });
    let wanted = in_repo(&server.url(""), "");
    let first = home
        .download(&Access::default(), "web", &wanted)
        .await
        .unwrap();
    let second = home
        .download(&Access::default(), "web", &wanted)
        .await
        .unwrap();
    assert_eq!(first, second);
    assert_eq!(
        server.targets(),
        ["/index.yaml", "/web-1.0.0.tgz", "/index.yaml"]
    );
}

/// The digest of web 1.0.0.
fn digest_of_web() -> String {
    use sha2::Digest;
    let sum = sha2::Sha256::digest(chart("web", "1.0.0"));
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn a_proxy_is_asked_for_all_hosts_but_those_it_is_not_for() {
    let mut home = Home::new();
    let proxy = Server::new(Tls::Off, |seen| match seen.target.as_str() {
        "http://charts.example/index.yaml" => {
            Reply::ok(index("web", &[("1.0.0", "web-1.0.0.tgz")]))
        }
        "http://charts.example/web-1.0.0.tgz" => Reply::ok(chart("web", "1.0.0")),
        _ => Reply::status(404),
    });
    home.settings.proxies.http = Some(proxy.url(""));
    home.settings.proxies.none_for = Some("direct.invalid".to_owned());
    let access = Access::default();
    home.download(&access, "web", &in_repo("http://charts.example", ""))
        .await
        .unwrap();
    let server = repository(Tls::Off);
    home.download(&access, "web", &in_repo(&server.url("/charts"), ""))
        .await
        .unwrap();
    let text = home
        .download(&access, "web", &in_repo("http://direct.invalid", ""))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        text.ends_with("dial tcp: lookup direct.invalid: no such host"),
        "{text}"
    );
    assert_eq!(proxy.targets().len(), 2);
}

#[tokio::test]
async fn another_digest_than_that_of_the_index_is_told() {
    let home = Home::new();
    let server = Server::new(Tls::Off, |seen| match seen.target.as_str() {
        "/index.yaml" => {
            let text = index("web", &[("1.0.0", "web-1.0.0.tgz")]);
            Reply::ok(text.replace("urls:", &format!("digest: \"{}\", urls:", "0".repeat(64))))
        }
        _ => Reply::ok(chart("web", "1.0.0")),
    });
    let (access, said) = (Access::default(), Said::default());
    let client = Client::new(&home.settings, &access, &said);
    let found = client
        .download("web", &in_repo(&server.url(""), ""))
        .await
        .unwrap();
    assert_eq!(found.digest, format!("sha256:{}", digest_of_web()));
    assert_eq!(
        said.notes(),
        [
            "WARNING: the digest of web-1.0.0.tgz is not the one that the index of the repository has"
        ]
    );
}
