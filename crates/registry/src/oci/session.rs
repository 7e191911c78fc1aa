//! Requests to registries, with whatever log-in they ask for.

use std::collections::HashMap;

use reqwest::{Method, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;
use url::form_urlencoded::Serializer;

use super::challenge::{Challenge, realm};
use crate::credentials::{Credential, Credentials, Origin};
use crate::error::{Error, ErrorKind};
use crate::http::{Answer, Authorization, Failure, Http, Request, shown};
use crate::repo::address::same_origin;

/// The longest answer of a token server.
const MAX_TOKEN: u64 = 1024 * 1024;

/// What is known of one registry.
#[derive(Debug, Default)]
struct Host {
    /// Whether it turned out to have no TLS.
    plain: bool,
    /// Whether it has shown to have TLS.
    secure: bool,
    credential: Option<(Credential, Origin)>,
    basic: bool,
    /// By repository.
    tokens: HashMap<String, SecretString>,
}

/// Log-ins of one run.
#[derive(Debug)]
pub(crate) struct Session {
    credentials: Credentials,
    plain_http: bool,
    hosts: Mutex<HashMap<String, Host>>,
}

/// A request below `/v2/REPOSITORY/`.
#[derive(Debug, Clone)]
pub(crate) struct Ask<'a> {
    pub(crate) method: Method,
    pub(crate) host: &'a str,
    pub(crate) repository: &'a str,
    /// What follows the repository.
    pub(crate) rest: &'a str,
    pub(crate) accept: &'a str,
    pub(crate) bound: u64,
}

impl Session {
    pub(crate) fn new(credentials: Credentials, plain_http: bool) -> Self {
        Self {
            credentials,
            plain_http,
            hosts: Mutex::default(),
        }
    }

    /// Sends a request, logs in where that is asked for, and gives good answers alone.
    ///
    /// `fallback` is whether a registry without TLS may be talked to all the same; it is shown no
    /// credentials then.
    pub(crate) async fn ask(
        &self,
        http: &Http,
        ask: &Ask<'_>,
        fallback: bool,
    ) -> Result<Answer, Error> {
        let mut answer = self.attempt(http, ask).await;
        if matches!(answer, Err(Failure::NoTls(_))) && fallback && self.go_plain(ask.host).await {
            answer = self.attempt(http, ask).await;
        }
        let error = match answer {
            Ok(answer) if answer.status.is_success() => return Ok(answer),
            Ok(answer) => complaint(&ask.method, &self.url(ask).await?, &answer),
            Err(failure) => failure.into(),
        };
        Err(self.explained(ask.host, error).await)
    }

    /// Gives TLS up for a host, if it has never had any in this run: else somebody is in between.
    async fn go_plain(&self, host: &str) -> bool {
        let mut hosts = self.hosts.lock().await;
        let state = hosts.entry(host.to_owned()).or_default();
        state.plain = !state.secure;
        state.plain
    }

    async fn url(&self, ask: &Ask<'_>) -> Result<Url, Error> {
        let plain = self.plain_http
            || self
                .hosts
                .lock()
                .await
                .get(ask.host)
                .is_some_and(|h| h.plain);
        let scheme = if plain { "http" } else { "https" };
        let text = format!("{scheme}://{}/v2/{}/{}", ask.host, ask.repository, ask.rest);
        Url::parse(&text).map_err(|_| Error::invalid(format!("invalid reference: {text}")))
    }

    /// Sends a request with what is known, and again with what is asked for.
    async fn attempt(&self, http: &Http, ask: &Ask<'_>) -> Result<Answer, Failure> {
        let url = &self.url(ask).await.map_err(Failure::Other)?;
        let other = |error: Error| {
            Failure::Other(error.within(format!("{} \"{}\"", ask.method, shown(url))))
        };
        let known = self.known(ask).await;
        let mut request = Request {
            method: ask.method.clone(),
            authorization: known.as_ref(),
            ..Request::get(url, ask.accept, ask.bound)
        };
        let answer = http.send(&request).await?;
        if url.scheme() == "https" {
            let mut hosts = self.hosts.lock().await;
            hosts.entry(ask.host.to_owned()).or_default().secure = true;
        }
        if answer.status != StatusCode::UNAUTHORIZED || !same_origin(url, &answer.url) {
            return Ok(answer);
        }
        let authorization = match Challenge::of(&answer.headers) {
            // Without TLS nobody asked for, nothing secret is sent.
            Some(_) if url.scheme() == "http" && !self.plain_http => return Ok(answer),
            Some(Challenge::Basic) => self.basic(ask).await.map_err(other)?,
            Some(Challenge::Bearer {
                realm,
                service,
                scope,
            }) => {
                let token = self.token(http, ask, url, (&realm, &service, &scope)).await;
                Authorization::Bearer(token.map_err(other)?)
            }
            None => return Ok(answer),
        };
        request.authorization = Some(&authorization);
        http.send(&request).await
    }

    /// What this registry took before.
    async fn known(&self, ask: &Ask<'_>) -> Option<Authorization> {
        let hosts = self.hosts.lock().await;
        let host = hosts.get(ask.host)?;
        if host.basic {
            let (credential, _) = host.credential.as_ref()?;
            return Some(Authorization::Basic(
                credential.username.clone(),
                credential.password.clone()?,
            ));
        }
        host.tokens
            .get(ask.repository)
            .cloned()
            .map(Authorization::Bearer)
    }

    /// The credential of a host, looked up once.
    async fn credential(&self, host: &str) -> Result<Credential, Error> {
        let mut hosts = self.hosts.lock().await;
        let state = hosts.entry(host.to_owned()).or_default();
        if let Some((credential, _)) = &state.credential {
            return Ok(credential.clone());
        }
        let found = self.credentials.of(host).await;
        let (credential, origin) =
            found.map_err(|error| error.within("failed to resolve credential"))?;
        state.credential = Some((credential.clone(), origin));
        Ok(credential)
    }

    async fn basic(&self, ask: &Ask<'_>) -> Result<Authorization, Error> {
        let credential = self.credential(ask.host).await?;
        let missing = |text: &str| Error::new(ErrorKind::Unauthorized, text);
        let Some(password) = credential.password else {
            return Err(missing("basic credential not found"));
        };
        if credential.username.is_empty() || password.expose_secret().is_empty() {
            return Err(missing("missing username or password for basic auth"));
        }
        if let Some(host) = self.hosts.lock().await.get_mut(ask.host) {
            host.basic = true;
        }
        Ok(Authorization::Basic(credential.username, password))
    }

    /// Gets a token for a repository.
    async fn token(
        &self,
        http: &Http,
        ask: &Ask<'_>,
        registry: &Url,
        (place, service, scope): (&str, &str, &str),
    ) -> Result<SecretString, Error> {
        let mut place = realm(place, registry)?;
        let credential = self.credential(ask.host).await?;
        if let Some(token) = credential.access_token {
            return Ok(token);
        }
        let own = format!("repository:{}:pull", ask.repository);
        let scope = if scope.is_empty() { &own } else { scope };
        let form = exchange(&credential, service, scope);
        let mut basic = None;
        if form.is_none() {
            add_query(&mut place, service, scope);
            let password = credential.password;
            basic = password.map(|password| Authorization::Basic(credential.username, password));
        }
        let request = Request {
            method: if form.is_some() {
                Method::POST
            } else {
                Method::GET
            },
            authorization: basic.as_ref(),
            form,
            ..Request::get(&place, "application/json", MAX_TOKEN)
        };
        let method = request.method.clone();
        let answer = http.send(&request).await?;
        if answer.status != StatusCode::OK {
            return Err(complaint(&method, &place, &answer));
        }
        let token = token_in(&answer.body).ok_or_else(|| {
            Error::invalid(format!(
                "{method} \"{}\": empty token returned",
                shown(&place)
            ))
        })?;
        if let Some(host) = self.hosts.lock().await.get_mut(ask.host) {
            host.tokens.insert(ask.repository.to_owned(), token.clone());
        }
        Ok(token)
    }

    /// A refusal with the credentials that were refused.
    async fn explained(&self, host: &str, error: Error) -> Error {
        if error.kind() != ErrorKind::Unauthorized {
            return error;
        }
        let hosts = self.hosts.lock().await;
        let host = hosts.get(host);
        let note = match host.and_then(|host| host.credential.as_ref()) {
            Some((_, origin)) => origin.to_string(),
            None if host.is_some_and(|host| host.plain) => {
                "no credentials are sent without TLS; --plain-http allows it".to_owned()
            }
            None => return error,
        };
        Error::new(error.kind(), format!("{error} ({note})"))
    }
}

/// The form that turns a refresh token into one for a scope, if there is such a token.
fn exchange(credential: &Credential, service: &str, scope: &str) -> Option<SecretString> {
    let refresh = credential.refresh_token.as_ref()?;
    let form = Serializer::new(String::new())
        .append_pair("grant_type", "refresh_token")
        .append_pair("refresh_token", refresh.expose_secret())
        .append_pair("service", service)
        .append_pair("client_id", "kzero")
        .append_pair("scope", scope)
        .finish();
    Some(form.into())
}

/// Says in an address for what a token is wanted.
fn add_query(place: &mut Url, service: &str, scope: &str) {
    let mut query = place.query_pairs_mut();
    if !service.is_empty() {
        query.append_pair("service", service);
    }
    for scope in scope.split(' ') {
        query.append_pair("scope", scope);
    }
}

/// The token in the answer of a token server.
fn token_in(body: &[u8]) -> Option<SecretString> {
    #[derive(Deserialize)]
    struct Answer {
        token: Option<SecretString>,
        access_token: Option<SecretString>,
    }
    let answer: Answer = serde_json::from_slice(body).ok()?;
    let filled = |token: &SecretString| !token.expose_secret().is_empty();
    let other = answer.token.filter(filled);
    answer.access_token.filter(filled).or(other)
}

/// An answer that is an error, in the words of registries' clients.
fn complaint(method: &Method, url: &Url, answer: &Answer) -> Error {
    let status = answer.status;
    let told = told(&answer.body);
    let told = told.unwrap_or_else(|| status.canonical_reason().unwrap_or_default().to_owned());
    let kind = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ErrorKind::Unauthorized,
        StatusCode::NOT_FOUND => ErrorKind::NotFound,
        _ => ErrorKind::Unreachable,
    };
    Error::new(
        kind,
        format!(
            "{method} \"{}\": response status code {}: {told}",
            shown(url),
            status.as_u16()
        ),
    )
}

/// The errors in a body, of which no more than a few are told.
fn told(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Body {
        errors: Vec<Item>,
    }
    #[derive(Deserialize)]
    struct Item {
        #[serde(default)]
        code: String,
        #[serde(default)]
        message: String,
        #[serde(default)]
        detail: Value,
    }
    let body: Body = serde_json::from_slice(body).ok()?;
    let items = body.errors.iter().take(8).map(|item| {
        let code = item.code.replace('_', " ").to_lowercase();
        match (item.message.as_str(), &item.detail) {
            ("", _) => code,
            (message, Value::Null) => format!("{code}: {message}"),
            (message, detail) => format!("{code}: {message}: {}", go(detail)),
        }
    });
    let text = items.collect::<Vec<_>>().join("; ");
    (!text.is_empty()).then(|| text.chars().filter(|c| !c.is_control()).collect())
}

/// A value as Go prints it.
fn go(value: &Value) -> String {
    let list = |items: Vec<String>| items.join(" ");
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", list(items.iter().map(go).collect())),
        Value::Object(map) => {
            let items = map
                .iter()
                .map(|(name, value)| format!("{name}:{}", go(value)));
            format!("map[{}]", list(items.collect()))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    #[tokio::test]
    async fn a_registry_that_had_tls_is_never_read_without_it() {
        let credentials = Credentials::new(&Settings::default(), None, &[]);
        let session = Session::new(credentials, false);
        assert!(session.go_plain("a.example").await);
        let state = Host {
            secure: true,
            ..Host::default()
        };
        session
            .hosts
            .lock()
            .await
            .insert("b.example".to_owned(), state);
        assert!(!session.go_plain("b.example").await);
    }

    #[test]
    fn errors_of_registries_are_told_as_go_prints_them() {
        let body = br#"{"errors":[{"code":"NAME_UNKNOWN","message":"no","detail":{"name":"a","b":[1,"x"]}},{"code":"DENIED"}]}"#;
        assert_eq!(
            told(body).unwrap(),
            "name unknown: no: map[b:[1 x] name:a]; denied"
        );
        assert_eq!(told(b"<html>"), None);
        assert_eq!(told(br#"{"errors":[]}"#), None);
        let hostile = told(br#"{"errors":[{"code":"A","message":"\u001b[2J"}]}"#);
        assert_eq!(hostile.unwrap(), "a: [2J");
    }
}
