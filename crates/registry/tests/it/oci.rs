//! Registries of the tests' own, which do what real ones seldom do. Real ones are in the contract tests.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use kzero_registry::{Access, Client, Error, ErrorKind, Login};
use serde_json::{Value, json};
use sha2::Digest as _;

use crate::common::server::{Reply, Seen, Server, Tls};
use crate::common::{Home, Said, chart, in_repo, login};

const CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";
const LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
const LEGACY: &str = "application/tar+gzip";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

fn digest(bytes: &[u8]) -> String {
    let sum = sha2::Sha256::digest(bytes);
    let hex: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

fn descriptor(kind: &str, bytes: &[u8]) -> Value {
    json!({"mediaType": kind, "digest": digest(bytes), "size": bytes.len()})
}

/// What a registry has, by the path below `/v2/charts/web/`: media type and content.
#[derive(Clone, Default)]
struct Store {
    content: HashMap<String, (String, Vec<u8>)>,
}

impl Store {
    /// A registry with one chart under a tag.
    fn with(tag: &str, layer: &str) -> Self {
        let mut store = Self::default();
        let archive = chart("web", "1.0.0");
        let manifest = json!({
            "schemaVersion": 2,
            "config": descriptor(CONFIG, b"{}"),
            "layers": [descriptor(layer, &archive)],
        });
        store.blob(&archive);
        store.manifest(tag, MANIFEST, &manifest);
        store
    }

    fn blob(&mut self, bytes: &[u8]) {
        let path = format!("blobs/{}", digest(bytes));
        self.content.insert(
            path,
            ("application/octet-stream".to_owned(), bytes.to_vec()),
        );
    }

    /// Adds a manifest under a tag and its digest, and gives its descriptor.
    fn manifest(&mut self, tag: &str, kind: &str, manifest: &Value) -> Value {
        let bytes = manifest.to_string().into_bytes();
        for name in [tag, &digest(&bytes)] {
            self.content.insert(
                format!("manifests/{name}"),
                (kind.to_owned(), bytes.clone()),
            );
        }
        descriptor(kind, &bytes)
    }

    fn answer(&self, seen: &Seen) -> Reply {
        let path = seen
            .target
            .strip_prefix("/v2/charts/web/")
            .unwrap_or_default();
        match self.content.get(path) {
            Some((kind, content)) => Reply::ok(content.clone()).with("Content-Type", kind),
            None => Reply::status(404),
        }
    }

    fn serve(self, tls: Tls) -> Server {
        Server::new(tls, move |seen| self.answer(seen))
    }
}

fn plain() -> Access {
    Access {
        plain_http: true,
        ..Access::default()
    }
}

fn reference(server: &Server) -> String {
    format!("oci://{}/charts/web", server.host())
}

/// Fetches a version and gives its text or why not, and what was noted.
async fn pulled(
    server: &Server,
    access: &Access,
    version: &str,
) -> (Result<Vec<u8>, Error>, Vec<String>) {
    let (home, said) = (Home::new(), Said::default());
    let client = Client::new(&home.settings, access, &said);
    let found = client
        .download(&reference(server), &in_repo("", version))
        .await;
    (found.map(|archive| archive.bytes.to_vec()), said.notes())
}

async fn refused(store: Store, version: &str) -> String {
    let server = store.serve(Tls::Off);
    let (found, _) = pulled(&server, &plain(), version).await;
    found.unwrap_err().to_string()
}

#[tokio::test]
async fn an_old_layer_is_taken_with_a_warning() {
    let server = Store::with("1.0.0", LEGACY).serve(Tls::Off);
    let (found, notes) = pulled(&server, &plain(), "1.0.0").await;
    assert_eq!(found.unwrap(), chart("web", "1.0.0"));
    assert_eq!(
        notes[0],
        format!("Warning: chart media type {LEGACY} is deprecated")
    );
    assert_eq!(
        notes[1],
        format!("Pulled: {}/charts/web:1.0.0", server.host())
    );
    assert!(notes[2].starts_with("Digest: sha256:"));
}

#[tokio::test]
async fn lists_of_manifests_are_followed() {
    let mut store = Store::with("inner", LAYER);
    let (_, manifest) = store.content["manifests/inner"].clone();
    let image = store.manifest(
        "image",
        MANIFEST,
        &json!({
            "config": descriptor("application/vnd.oci.image.config.v1+json", b"{}"),
            "layers": [descriptor("application/vnd.oci.image.layer.v1.tar+gzip", b"x")],
        }),
    );
    let inner = json!({"manifests": [image, descriptor(MANIFEST, &manifest)]});
    let inner = store.manifest("list", INDEX, &inner);
    store.manifest("1.0.0", INDEX, &json!({"manifests": [inner]}));
    let server = store.serve(Tls::Off);
    let (found, _) = pulled(&server, &plain(), "1.0.0").await;
    assert_eq!(found.unwrap(), chart("web", "1.0.0"));
}

#[tokio::test]
async fn what_is_no_chart_is_told_in_helms_words() {
    let text = async |kind: &str, manifest: Value| {
        let mut store = Store::default();
        store.manifest("1.0.0", kind, &manifest);
        refused(store, "1.0.0").await
    };
    let image = descriptor("application/vnd.oci.image.config.v1+json", b"{}");
    let count = "manifest does not contain minimum number of descriptors (2), descriptors found:";
    assert_eq!(
        text(MANIFEST, json!({"config": image, "layers": []})).await,
        format!("{count} 1")
    );
    assert_eq!(text("text/plain", json!({})).await, format!("{count} 0"));
    let layer = descriptor(LAYER, b"x");
    assert_eq!(
        text(MANIFEST, json!({"config": image, "layers": [layer]})).await,
        format!("could not load config with mediatype {CONFIG}")
    );
    assert_eq!(
        text(MANIFEST, json!({"config": descriptor(CONFIG, b"{}")})).await,
        format!("manifest does not contain a layer with mediatype {LAYER}")
    );
    assert!(
        text(MANIFEST, json!("x"))
            .await
            .starts_with("the manifest is broken")
    );
}

#[tokio::test]
async fn content_that_is_not_what_was_said_is_refused() {
    let archive = chart("web", "1.0.0");
    let path = format!("blobs/{}", digest(&archive));
    let mut other = archive.clone();
    other[100] ^= 1;
    let mut store = Store::with("1.0.0", LAYER);
    store.content.insert(path.clone(), (String::new(), other));
    assert!(
        refused(store, "1.0.0")
            .await
            .starts_with("mismatched digest")
    );
    let mut store = Store::with("1.0.0", LAYER);
    store.content.insert(
        path.clone(),
        (String::new(), archive[..archive.len() - 1].to_vec()),
    );
    assert!(refused(store, "1.0.0").await.contains("bytes came"));
    let mut store = Store::with("1.0.0", LAYER);
    store
        .content
        .insert(path, (String::new(), [archive.as_slice(), b"x"].concat()));
    assert!(refused(store, "1.0.0").await.contains("is larger than"));
    // A tag that has another manifest than the digest that was asked for.
    let mut store = Store::with("1.0.0", LAYER);
    let wrong = format!("sha256:{}", "0".repeat(64));
    let manifest = store.content["manifests/1.0.0"].clone();
    store.content.insert(format!("manifests/{wrong}"), manifest);
    let server = store.serve(Tls::Off);
    let home = Home::new();
    let found = home
        .download(
            &plain(),
            &format!("{}@{wrong}", reference(&server)),
            &in_repo("", ""),
        )
        .await;
    assert!(found.unwrap_err().to_string().contains("mismatched digest"));
}

#[tokio::test]
async fn sizes_and_digests_that_cannot_be_are_refused_before_anything_is_fetched() {
    let text = async |layer: Value| {
        let mut store = Store::default();
        let manifest = json!({"config": descriptor(CONFIG, b"{}"), "layers": [layer]});
        store.manifest("1.0.0", MANIFEST, &manifest);
        refused(store, "1.0.0").await
    };
    let large = json!({"mediaType": LAYER, "digest": digest(b"x"), "size": 200 * 1024 * 1024});
    assert_eq!(
        text(large).await,
        "the chart has 209715200 bytes, more than 104857600"
    );
    let odd = json!({"mediaType": LAYER, "digest": "sha256:../../../x", "size": 1});
    assert_eq!(text(odd).await, "the chart's digest is not valid");
    let negative = json!({"mediaType": LAYER, "digest": digest(b"x"), "size": -1});
    assert!(text(negative).await.starts_with("the manifest is broken"));
}

#[tokio::test]
async fn lists_without_end_are_given_up() {
    let mut store = Store::with("1.0.0", LAYER);
    let mut inner = store.manifest("0", INDEX, &json!({"manifests": []}));
    for i in 1..40 {
        inner = store.manifest(&i.to_string(), INDEX, &json!({"manifests": [inner]}));
    }
    assert!(refused(store, "39").await.contains("lists in each other"));
}

#[tokio::test]
async fn all_pages_of_tags_are_read() {
    let store = Store::with("1.10.0_b1", LAYER);
    let server = Server::new(Tls::Off, move |seen| {
        let page =
            |tags: &[&str]| Reply::ok(json!({"name": "charts/web", "tags": tags}).to_string());
        match seen.target.as_str() {
            "/v2/charts/web/tags/list" => page(&["1.2.0", "latest", "v3.0.0"]).with(
                "Link",
                "</v2/charts/web/tags/list?last=v3.0.0&n=3>; rel=\"next\"",
            ),
            "/v2/charts/web/tags/list?last=v3.0.0&n=3" => page(&["1.10.0_b1", "2.0.0-rc.1"]),
            _ => store.answer(seen),
        }
    });
    let (home, access) = (Home::new(), plain());
    let found = home
        .download(&access, &reference(&server), &in_repo("", ""))
        .await
        .unwrap();
    assert_eq!(
        (found.version.as_str(), found.file_name.as_str()),
        ("1.10.0+b1", "web-1.10.0+b1.tgz")
    );
}

#[tokio::test]
async fn a_tag_and_a_digest_must_lead_to_the_same() {
    let mut store = Store::with("1.0.0", LAYER);
    let other = json!({"config": descriptor(CONFIG, b"{}"), "layers": [descriptor(LAYER, b"x")]});
    store.manifest("2.0.0", MANIFEST, &other);
    let right = digest(&store.content["manifests/1.0.0"].1);
    let wrong = digest(&store.content["manifests/2.0.0"].1);
    let server = store.serve(Tls::Off);
    let (home, access) = (Home::new(), plain());
    let get = async |tag: &str| {
        let address = format!("{}{tag}@{right}", reference(&server));
        let found = home.download(&access, &address, &in_repo("", "")).await;
        found
            .map(|archive| archive.file_name)
            .map_err(|error| error.to_string())
    };
    let name = format!("web@{}.tgz", right.replace(':', "-"));
    assert_eq!(get("").await.unwrap(), name);
    assert_eq!(get(":1.0.0").await.unwrap(), name);
    assert_eq!(get(":gone").await.unwrap(), name, "a digest needs no tag");
    assert_eq!(
        get(":2.0.0").await.unwrap_err(),
        format!("chart reference digest mismatch: {wrong} is not {right}")
    );
}

/// A registry that wants tokens, and its token server at another port.
fn guarded(
    secret: impl Fn(&Seen) -> bool + Send + Sync + 'static,
    tls: Tls,
) -> (Server, Arc<Server>) {
    let tokens = Arc::new(Server::new(tls, move |seen| {
        if secret(seen) {
            Reply::ok(json!({"token": "t", "expires_in": 60}).to_string())
        } else {
            let errors = json!({"errors": [{"code": "UNAUTHORIZED", "message": "who are you"}]});
            Reply {
                status: 401,
                ..Reply::ok(errors.to_string())
            }
        }
    }));
    let store = Store::with("1.0.0", LAYER);
    let realm = tokens.url("/token");
    let server = Server::new(tls, move |seen| {
        if seen.header("authorization") == "Bearer t" {
            return store.answer(seen);
        }
        let scope = "repository:charts/web:pull";
        let challenge = format!("Bearer realm=\"{realm}\",service=\"reg\",scope=\"{scope}\"");
        Reply::status(401).with("WWW-Authenticate", challenge)
    });
    (server, tokens)
}

fn basic(user: &str, password: &str) -> String {
    let text = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
    format!("Basic {text}")
}

#[tokio::test]
async fn a_token_is_fetched_once_for_all_requests() {
    let (server, tokens) = guarded(
        |seen| seen.header("authorization") == basic("me", "hush"),
        Tls::On,
    );
    let home = Home::new();
    let access = login(home.trusting(), "me", "hush");
    home.download(&access, &reference(&server), &in_repo("", "1.0.0"))
        .await
        .unwrap();
    assert_eq!(
        tokens.targets(),
        ["/token?service=reg&scope=repository%3Acharts%2Fweb%3Apull"]
    );
    let shown = server.seen();
    let shown: Vec<_> = shown
        .iter()
        .map(|seen| seen.header("authorization"))
        .collect();
    assert_eq!(
        shown,
        ["", "Bearer t", "Bearer t"],
        "the password goes to the token server alone"
    );
}

#[tokio::test]
async fn nobody_in_particular_gets_a_token_too() {
    let (server, tokens) = guarded(|seen| seen.header("authorization").is_empty(), Tls::On);
    let home = Home::new();
    home.download(&home.trusting(), &reference(&server), &in_repo("", "1.0.0"))
        .await
        .unwrap();
    assert_eq!(tokens.seen()[0].method, "GET");
}

#[tokio::test]
async fn an_identity_token_is_exchanged() {
    let (server, tokens) = guarded(|seen| seen.body.contains("refresh_token=r%2B1"), Tls::On);
    let home = Home::new();
    let auths = json!({"auths": {server.host(): {"identitytoken": "r+1"}}});
    home.write(".config/helm/registry/config.json", auths.to_string());
    home.download(&home.trusting(), &reference(&server), &in_repo("", "1.0.0"))
        .await
        .unwrap();
    let seen = &tokens.seen()[0];
    assert_eq!(
        (seen.method.as_str(), seen.target.as_str()),
        ("POST", "/token")
    );
    assert_eq!(
        seen.body,
        "grant_type=refresh_token&refresh_token=r%2B1&service=reg&client_id=kzero&scope=repository%3Acharts%2Fweb%3Apull"
    );
}

#[tokio::test]
async fn a_refusal_names_where_the_credentials_came_from() {
    let (server, tokens) = guarded(|_| false, Tls::On);
    let home = Home::new();
    let auths = json!({"auths": {server.host(): {"username": "me", "password": "hidden"}}});
    let path = home.write(".docker/config.json", auths.to_string());
    let error = home
        .download(&home.trusting(), &reference(&server), &in_repo("", "1.0.0"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthorized);
    let url = server.url("/v2/charts/web/manifests/1.0.0");
    let token = tokens.url("/token?service=reg&scope=repository%3Acharts%2Fweb%3Apull");
    assert_eq!(
        error.to_string(),
        format!(
            "failed to perform \"FetchReference\" on source: GET \"{url}\": GET \"{token}\": response status code 401: unauthorized: who are you (credentials from {})",
            path.display()
        )
    );
}

#[tokio::test]
async fn a_password_is_shown_to_registries_that_ask_for_it() {
    let store = Store::with("1.0.0", LAYER);
    let server = Server::new(Tls::On, move |seen| {
        if seen.header("authorization") == basic("robot", "hush") {
            store.answer(seen)
        } else {
            Reply::status(401).with("WWW-Authenticate", "Basic realm=\"x\"")
        }
    });
    let home = Home::new();
    let access = |host: String, password: &str| Access {
        logins: vec![Login {
            host,
            username: "robot".to_owned(),
            password: password.into(),
        }],
        ..home.trusting()
    };
    let get = async |access: Access| {
        let found = home
            .download(&access, &reference(&server), &in_repo("", "1.0.0"))
            .await;
        found.map(|_| ()).map_err(|error| error.to_string())
    };
    get(access(server.host(), "hush")).await.unwrap();
    assert_eq!(server.seen().len(), 3, "asked once, then shown at once");
    let url = server.url("/v2/charts/web/manifests/1.0.0");
    let start = format!("failed to perform \"FetchReference\" on source: GET \"{url}\"");
    assert_eq!(
        get(access(server.host(), "wrong")).await.unwrap_err(),
        format!(
            "{start}: response status code 401: Unauthorized (credentials from helm.registries)"
        )
    );
    assert_eq!(
        get(access("127.0.0.1".to_owned(), "hush"))
            .await
            .unwrap_err(),
        format!("{start}: basic credential not found (no credentials found)"),
        "the port counts"
    );
}

#[tokio::test]
async fn a_chart_that_lies_elsewhere_is_fetched_without_credentials() {
    let archive = chart("web", "1.0.0");
    let elsewhere = Server::new(Tls::On, {
        let archive = archive.clone();
        move |_| Reply::ok(archive.clone())
    });
    let target = elsewhere.url("/bucket/x?signature=s");
    let store = Store::with("1.0.0", LAYER);
    let server = Server::new(Tls::On, move |seen| {
        if seen.header("authorization").is_empty() {
            return Reply::status(401).with("WWW-Authenticate", "Basic realm=\"x\"");
        }
        if seen.target.contains("/blobs/") {
            return Reply::status(307).with("Location", target.clone());
        }
        store.answer(seen)
    });
    let home = Home::new();
    let access = login(home.trusting(), "me", "hush");
    let found = home
        .download(&access, &reference(&server), &in_repo("", "1.0.0"))
        .await
        .unwrap();
    assert_eq!(found.bytes, archive);
    assert_eq!(elsewhere.seen()[0].header("authorization"), "");
}

#[tokio::test]
async fn no_other_server_can_ask_for_the_credentials() {
    let home = Home::new();
    let thief = Server::new(Tls::On, |_| {
        Reply::status(401).with("WWW-Authenticate", "Basic realm=\"x\"")
    });
    let target = thief.url("/x");
    let server = Server::new(Tls::On, move |_| {
        Reply::status(307).with("Location", target.clone())
    });
    let access = login(home.trusting(), "me", "hush");
    assert!(
        home.download(&access, &reference(&server), &in_repo("", "1.0.0"))
            .await
            .is_err()
    );
    assert!(
        thief
            .seen()
            .iter()
            .all(|seen| seen.header("authorization").is_empty())
    );
    let realm = "Bearer realm=\"http://127.0.0.1:1/token\"";
    let server = Server::new(Tls::On, move |_| {
        Reply::status(401).with("WWW-Authenticate", realm)
    });
    let found = home
        .download(&access, &reference(&server), &in_repo("", "1.0.0"))
        .await;
    let text = found.unwrap_err().to_string();
    assert!(
        text.contains("uses http but registry was contacted over https"),
        "{text}"
    );
}

#[tokio::test]
async fn a_registry_without_tls_is_read_but_shown_no_credentials() {
    let server = Store::with("1.0.0", LAYER).serve(Tls::Off);
    let (found, _) = pulled(&server, &Access::default(), "1.0.0").await;
    assert_eq!(found.unwrap(), chart("web", "1.0.0"));
    let server = Server::new(Tls::Off, |_| {
        Reply::status(401).with("WWW-Authenticate", "Basic realm=\"x\"")
    });
    let (found, _) = pulled(&server, &login(Access::default(), "me", "hush"), "1.0.0").await;
    let text = found.unwrap_err().to_string();
    assert!(
        text.ends_with("(no credentials are sent without TLS; --plain-http allows it)"),
        "{text}"
    );
    assert!(
        server
            .seen()
            .iter()
            .all(|seen| seen.header("authorization").is_empty())
    );
    let (found, _) = pulled(&server, &login(plain(), "me", "hush"), "1.0.0").await;
    assert!(found.is_err());
    assert_eq!(
        server.seen().last().unwrap().header("authorization"),
        basic("me", "hush")
    );
    // Who names certificates wants TLS.
    let home = Home::new();
    let found = home
        .download(&home.trusting(), &reference(&server), &in_repo("", "1.0.0"))
        .await;
    assert!(
        found
            .unwrap_err()
            .to_string()
            .ends_with("http: server gave HTTP response to HTTPS client")
    );
}
