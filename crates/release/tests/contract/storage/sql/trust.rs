//! Which servers are trusted, by `sslmode`.

use kzero_gotmpl::{Still, Value, render};

use super::connect;
use super::postgres::Postgres;

/// Certificates and keys as PEM: two authorities, a certificate of the first for 127.0.0.1, one for another host, and
/// one that signs itself.
struct Certificates {
    root: String,
    stranger: String,
    right: (String, String),
    elsewhere: (String, String),
    own: (String, String),
}

impl Certificates {
    fn new() -> Self {
        let text = r#"
            {{- $root := genCA "root" 30 }}{{ $stranger := genCA "stranger" 30 -}}
            {{- $right := genSignedCert "db" (list "127.0.0.1") nil 30 $root -}}
            {{- $elsewhere := genSignedCert "db" nil (list "db.example") 30 $root -}}
            {{- $own := genSelfSignedCert "db" (list "127.0.0.1") nil 30 -}}
            {{ $root.Cert }}|{{ $stranger.Cert }}|{{ $right.Cert }}|{{ $right.Key }}|
            {{- $elsewhere.Cert }}|{{ $elsewhere.Key }}|{{ $own.Cert }}|{{ $own.Key }}"#;
        let now = jiff::Timestamp::now().as_second();
        let rendered = render("t", text, &Value::Nil, &Still::new(now, 0)).unwrap();
        let mut parts = rendered.split('|').map(|part| format!("{}\n", part.trim()));
        let mut next = || parts.next().unwrap();
        Self {
            root: next(),
            stranger: next(),
            right: (next(), next()),
            elsewhere: (next(), next()),
            own: (next(), next()),
        }
    }
}

/// Whether a server is connected to, or why not.
async fn tried(postgres: &Postgres, settings: &str) -> Result<(), String> {
    let address = postgres.address("postgres", settings);
    let connected = connect(&address, "shop").await;
    connected.map(drop).map_err(|error| {
        assert!(!error.is_transient(), "{error}");
        error.to_string()
    })
}

#[tokio::test]
async fn a_server_is_trusted_as_sslmode_says() {
    let made = Certificates::new();
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let root = file("root.crt", &made.root);
    let stranger = file("stranger.crt", &made.stranger);
    let own = file("own.crt", &made.own.0);
    let server = |(certificate, key): &(String, String)| Postgres::start(Some((certificate, key)));

    let right = server(&made.right);
    for settings in [
        "sslmode=disable",
        "sslmode=prefer",
        "",
        "sslmode=require",
        &format!("sslmode=require&sslrootcert={root}"),
        &format!("sslmode=verify-ca&sslrootcert={root}"),
        &format!("sslmode=verify-full&sslrootcert={root}"),
    ] {
        assert_eq!(tried(&right, settings).await, Ok(()), "{settings}");
    }
    for settings in [
        format!("sslmode=require&sslrootcert={stranger}"),
        format!("sslmode=verify-ca&sslrootcert={stranger}"),
        format!("sslmode=verify-full&sslrootcert={stranger}"),
        "sslmode=verify-full&sslrootcert=system".to_owned(),
        "sslmode=verify-ca".to_owned(),
    ] {
        let error = tried(&right, &settings).await.unwrap_err();
        assert!(error.contains("UnknownIssuer"), "{settings}: {error}");
    }

    let elsewhere = server(&made.elsewhere);
    let verified = |mode: &str, root: &str| format!("sslmode={mode}&sslrootcert={root}");
    assert_eq!(
        tried(&elsewhere, &verified("verify-ca", &root)).await,
        Ok(())
    );
    let error = tried(&elsewhere, &verified("verify-full", &root))
        .await
        .unwrap_err();
    assert!(error.contains("not valid for name"), "{error}");

    let alone = server(&made.own);
    for mode in ["verify-ca", "verify-full"] {
        assert_eq!(tried(&alone, &verified(mode, &own)).await, Ok(()), "{mode}");
        let error = tried(&alone, &verified(mode, &root)).await.unwrap_err();
        assert!(
            error.contains("UnknownIssuer") || error.contains("CaUsed"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_server_without_encryption_is_refused_unless_that_is_asked_for() {
    let postgres = Postgres::start(None);
    assert_eq!(tried(&postgres, "sslmode=disable").await, Ok(()));
    assert_eq!(tried(&postgres, "sslmode=prefer").await, Ok(()));
    for settings in ["", "sslmode=require", "sslmode=verify-full"] {
        let error = tried(&postgres, settings).await.unwrap_err();
        assert_eq!(
            error, "sql: error performing TLS handshake: server does not support TLS",
            "{settings}"
        );
    }
    let wrong = postgres
        .address("postgres", "sslmode=disable")
        .replace("p%40ss", "hunter2");
    let error = connect(&wrong, "shop").await.unwrap_err().to_string();
    assert_eq!(
        error,
        "sql: password authentication failed for user \"me\" (28P01)"
    );
    let nowhere = "postgres://me:hunter2@127.0.0.1:1/db?sslmode=disable";
    let error = connect(nowhere, "shop").await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    let error = error.to_string();
    assert!(
        error.contains("onnection refused") && !error.contains("hunter2"),
        "{error}"
    );
}
