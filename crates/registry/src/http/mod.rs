//! Bounded HTTP requests.
//!
//! Duty: send one request, follow redirects without taking credentials to another host, wait where a server
//! asks to, and read no more than the caller takes. Every request ends: connecting has 10 s, silence 30 s and
//! the whole 300 s.

mod tls;
mod words;

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Method, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};

use crate::error::{Error, ErrorKind};
use crate::settings::Proxies;
pub(crate) use tls::TlsOptions;
pub(crate) use words::{is_no_tls, shown};

const CONNECT: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(30);
const WHOLE: Duration = Duration::from_secs(300);
/// As in Go.
const REDIRECTS: usize = 10;
/// How often a request is sent again because the server asks for that.
const AGAIN: u32 = 4;
/// The longest such wait.
const LONGEST_WAIT: u64 = 60;
/// What is read of an answer that says why not.
const MAX_COMPLAINT: u64 = 64 * 1024;

/// What a request proves who is asking with.
#[derive(Debug, Clone)]
pub(crate) enum Authorization {
    Basic(String, SecretString),
    Bearer(SecretString),
}

/// What to ask for.
#[derive(Debug, Clone)]
pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    pub(crate) url: &'a Url,
    pub(crate) accept: &'a str,
    pub(crate) authorization: Option<&'a Authorization>,
    /// The body of a POST, encoded as forms are.
    pub(crate) form: Option<SecretString>,
    /// How many bytes of a good answer are taken.
    pub(crate) bound: u64,
}

impl<'a> Request<'a> {
    pub(crate) fn get(url: &'a Url, accept: &'a str, bound: u64) -> Self {
        Self {
            method: Method::GET,
            url,
            accept,
            authorization: None,
            form: None,
            bound,
        }
    }
}

/// An answer, good or not.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// Where it came from in the end.
    pub(crate) url: Url,
    pub(crate) body: Bytes,
}

/// What keeps a request from having an answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The server does not speak TLS.
    NoTls(Error),
    Other(Error),
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NoTls(error) | Failure::Other(error) => error,
        }
    }
}

/// Connections with one set of certificates.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    client: reqwest::Client,
}

impl Http {
    /// Reads the certificates.
    ///
    /// # Errors
    ///
    /// Files that cannot be read or hold no certificates.
    pub(crate) fn new(proxies: &Proxies, tls: &TlsOptions) -> Result<Self, Error> {
        let builder = reqwest::Client::builder()
            .user_agent(concat!("kzero/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .read_timeout(SILENCE)
            .timeout(WHOLE)
            .redirect(reqwest::redirect::Policy::limited(REDIRECTS))
            .referer(false);
        let builder = proxies.apply(builder).map_err(Error::local)?;
        let client = tls.apply(builder)?.build();
        let client = client.map_err(|error| {
            Error::local(format!(
                "can't create TLS config for client: {}",
                words::root(&error)
            ))
        })?;
        Ok(Self { client })
    }

    /// Sends a request until there is an answer that does not ask to come again.
    ///
    /// # Errors
    ///
    /// No answer, one that breaks off, or a good one of more bytes than the bound.
    ///
    /// Dropping the future gives the request up.
    pub(crate) async fn send(&self, request: &Request<'_>) -> Result<Answer, Failure> {
        let mut left = AGAIN;
        loop {
            let response = self.once(request).await?;
            if let Some(wait) = wait_for(response.status(), response.headers())
                && left > 0
            {
                left -= 1;
                drop(response);
                tokio::time::sleep(wait).await;
                continue;
            }
            return read(request, response).await.map_err(Failure::Other);
        }
    }

    async fn once(&self, request: &Request<'_>) -> Result<reqwest::Response, Failure> {
        let mut builder = self
            .client
            .request(request.method.clone(), request.url.clone())
            .header(ACCEPT, request.accept);
        match request.authorization {
            Some(Authorization::Basic(user, password)) => {
                builder = builder.basic_auth(user, Some(password.expose_secret()));
            }
            Some(Authorization::Bearer(token)) => {
                let value = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()));
                let mut value = value.map_err(|_| {
                    Failure::Other(Error::invalid("the registry's token is not valid"))
                })?;
                value.set_sensitive(true);
                builder = builder.header(AUTHORIZATION, value);
            }
            None => {}
        }
        if let Some(form) = &request.form {
            builder = builder
                .header("Content-Type", "application/x-www-form-urlencoded")
                .body(form.expose_secret().to_owned());
        }
        builder.send().await.map_err(|error| {
            let told = words::failed(&request.method, request.url, &error);
            if is_no_tls(&error) {
                Failure::NoTls(told)
            } else {
                Failure::Other(told)
            }
        })
    }
}

/// How long a server asks to wait, if it does and that is not too long.
fn wait_for(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let busy = matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    );
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let seconds: u64 = seconds.parse().ok()?;
    (busy && seconds <= LONGEST_WAIT).then(|| Duration::from_secs(seconds))
}

async fn read(request: &Request<'_>, mut response: reqwest::Response) -> Result<Answer, Error> {
    let status = response.status();
    let bound = if status.is_success() {
        request.bound
    } else {
        MAX_COMPLAINT
    };
    let too_large = || {
        Error::new(
            ErrorKind::TooLarge,
            format!("{} is larger than {bound} bytes", shown(request.url)),
        )
    };
    if status.is_success()
        && response
            .content_length()
            .is_some_and(|length| length > bound)
    {
        return Err(too_large());
    }
    let headers = response.headers().clone();
    let url = response.url().clone();
    let mut body = BytesMut::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                if (body.len() as u64).saturating_add(chunk.len() as u64) > bound {
                    if status.is_success() {
                        return Err(too_large());
                    }
                    break;
                }
                body.extend_from_slice(&chunk);
            }
            Ok(None) => break,
            // The status says enough.
            Err(_) if !status.is_success() => break,
            Err(error) => return Err(words::failed(&request.method, request.url, &error)),
        }
    }
    Ok(Answer {
        status,
        headers,
        url,
        body: body.freeze(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(status: u16, after: &str) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, after.parse().unwrap());
        let status = StatusCode::from_u16(status).unwrap();
        wait_for(status, &headers).map(|wait| wait.as_secs())
    }

    #[test]
    fn only_a_busy_server_is_asked_again_and_not_after_long() {
        assert_eq!(asked(429, "3"), Some(3));
        assert_eq!(asked(503, " 0 "), Some(0));
        assert_eq!(asked(500, "3"), None);
        assert_eq!(asked(429, "61"), None);
        assert_eq!(asked(429, "Fri, 31 Dec 1999 23:59:59 GMT"), None);
        assert_eq!(
            wait_for(StatusCode::TOO_MANY_REQUESTS, &HeaderMap::new()),
            None
        );
    }
}
