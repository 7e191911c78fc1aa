//! Charts in OCI registries.
//!
//! Duty: choose a tag, follow manifests to the chart, and take nothing whose digest or size is another
//! than was said. Bounds: 4 MiB a manifest, 1000 manifests a chart, 100 000 tags, 100 MiB a chart.
//!
//! The requests are this crate's own, on its bounded HTTP: oci-client reads answers without a bound, does
//! not follow the pages of tag lists, and takes no client certificates.

mod challenge;
mod pull;
mod reference;
mod session;

use kzero_gotmpl::semver::{Constraint, Version};
use reqwest::Method;
use reqwest::header::LINK;
use serde::Deserialize;

use crate::client::{Archive, Client};
use crate::credentials::Credentials;
use crate::error::{Error, ErrorKind};
use crate::http::{Answer, Http};
use crate::repo::address::same_origin;
#[cfg(test)]
pub(crate) use challenge::Challenge;
pub(crate) use reference::Reference;
use reference::to_tag;
use session::{Ask, Session};

/// The largest page of tags, and the largest manifest.
const MAX_DOCUMENT: u64 = 4 * 1024 * 1024;
const MAX_TAGS: usize = 100_000;
const MAX_PAGES: usize = 1000;

const UNDERSCORE: &str = "
OCI artifact references (e.g. tags) do not support the plus sign (+). To support
storing semantic versions, Helm adopts the convention of changing plus (+) to
an underscore (_) in chart version tags when pushing to a registry and back to
a plus (+) when pulling from a registry.";

/// Whether an address is one of a registry.
pub(crate) fn is_oci(text: &str) -> bool {
    text.starts_with("oci://")
}

/// The log-ins of one run.
#[derive(Debug)]
pub(crate) struct Oci {
    session: Session,
}

impl Oci {
    pub(crate) fn new(credentials: Credentials, plain_http: bool) -> Self {
        Self {
            session: Session::new(credentials, plain_http),
        }
    }
}

/// A chart that is chosen but not yet fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chosen {
    reference: Reference,
    /// The name its file gets.
    file_name: String,
    /// Empty where a digest alone says which one.
    version: String,
}

impl Client<'_> {
    /// Fetches the chart of an `oci://` address.
    pub(crate) async fn download_oci(
        &self,
        address: &str,
        version: &str,
    ) -> Result<Archive, Error> {
        let chosen = self.choose(address, version).await?;
        self.pull(&chosen).await
    }

    /// The versions of the chart at an address, the newest first.
    pub(crate) async fn tags_of(&self, address: &str) -> Result<Vec<String>, Error> {
        self.tags(&Reference::parse(address)?).await
    }

    /// The versions of a chart, the newest first. Tags that are no full versions are left out.
    async fn tags(&self, reference: &Reference) -> Result<Vec<String>, Error> {
        let mut versions = Vec::new();
        let mut rest = "tags/list".to_owned();
        for _ in 0..MAX_PAGES {
            let answer = self.ask_registry(
                reference,
                Method::GET,
                &rest,
                "application/json",
                MAX_DOCUMENT,
            );
            let answer = answer.await?;
            #[derive(Deserialize)]
            struct Page {
                tags: Option<Vec<String>>,
            }
            let page: Page = serde_json::from_slice(&answer.body).map_err(|_| {
                Error::invalid(format!(
                    "{}: the list of tags is broken",
                    reference.repository
                ))
            })?;
            let page = page.tags.unwrap_or_default().into_iter();
            versions.extend(page.filter_map(|tag| strict(&tag.replace('_', "+"))));
            if versions.len() > MAX_TAGS {
                return Err(Error::new(
                    ErrorKind::TooLarge,
                    format!("more than {MAX_TAGS} tags"),
                ));
            }
            match next_page(&answer, reference)? {
                Some(next) => rest = next,
                None => {
                    versions.sort_by(|a, b| b.compare(a));
                    return Ok(versions.iter().map(canonical).collect());
                }
            }
        }
        Err(Error::new(
            ErrorKind::TooLarge,
            format!("more than {MAX_PAGES} pages of tags"),
        ))
    }

    /// Decides which tag or digest a reference and a version mean.
    async fn choose(&self, address: &str, version: &str) -> Result<Chosen, Error> {
        let mut reference = Reference::parse(address)?;
        let base = reference
            .repository
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_owned();
        let agrees =
            version.is_empty() || reference.tag.is_empty() || reference.tag == to_tag(version);
        if !agrees {
            return Err(Error::invalid(format!(
                "chart reference and version mismatch: {version} is not {}",
                reference.tag
            )));
        }
        let version = if version.is_empty() {
            reference.tag.replace('_', "+")
        } else {
            version.to_owned()
        };
        if !reference.digest.is_empty() {
            if !version.is_empty() {
                self.check_digest(&reference, &version).await?;
            }
            reference.tag.clear();
            let file_name = format!("{base}@{}.tgz", reference.digest.replace(':', "-"));
            return Ok(Chosen {
                reference,
                file_name,
                version,
            });
        }
        let version = if Version::parse(&version).is_ok() {
            version
        } else {
            self.choose_tag(address, &reference, &version).await?
        };
        reference.tag = to_tag(&version);
        // Whatever a version may hold, it is no path.
        let file_name = format!("{base}-{}.tgz", version.replace('/', "_"));
        Ok(Chosen {
            reference,
            file_name,
            version,
        })
    }

    async fn choose_tag(
        &self,
        address: &str,
        reference: &Reference,
        version: &str,
    ) -> Result<String, Error> {
        // Helm says so only after it has asked for the tags; the answer is no other before.
        let tags = self.tags(reference).await?;
        if tags.is_empty() {
            return Err(Error::not_found(format!(
                "Unable to locate any tags in provided repository: {address}"
            )));
        }
        pick(&tags, version)
    }

    /// A tag beside a digest must lead to it, where the tag is known at all.
    async fn check_digest(&self, reference: &Reference, version: &str) -> Result<(), Error> {
        let tagged = Reference {
            tag: to_tag(version),
            digest: String::new(),
            ..reference.clone()
        };
        let Ok((digest, _)) = self.manifest_digest(&tagged).await else {
            return Ok(());
        };
        if digest == reference.digest {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "chart reference digest mismatch: {digest} is not {}",
            reference.digest
        )))
    }

    /// Asks a registry for something of a repository.
    async fn ask_registry(
        &self,
        reference: &Reference,
        method: Method,
        rest: &str,
        accept: &str,
        bound: u64,
    ) -> Result<Answer, Error> {
        let tls = self.access.tls();
        let http: Http = self.http(&tls)?;
        let ask = Ask {
            method,
            host: reference.host(),
            repository: &reference.repository,
            rest,
            accept,
            bound,
        };
        // Helm falls back to plain HTTP only where nothing was said about certificates.
        self.oci.session.ask(&http, &ask, !tls.is_own()).await
    }
}

/// A full version of three numbers, written as versions are.
fn strict(text: &str) -> Option<Version> {
    let version = Version::parse(text).ok()?;
    (canonical(&version) == text).then_some(version)
}

fn canonical(version: &Version) -> String {
    let mut text = format!("{}.{}.{}", version.major, version.minor, version.patch);
    if !version.prerelease.is_empty() {
        text = format!("{text}-{}", version.prerelease);
    }
    if !version.metadata.is_empty() {
        text = format!("{text}+{}", version.metadata);
    }
    text
}

/// The first of the tags that a version or constraint wants.
fn pick(tags: &[String], version: &str) -> Result<String, Error> {
    if let Some(exact) = tags.iter().find(|tag| *tag == version) {
        return Ok(exact.clone());
    }
    let wanted = if version.is_empty() { "*" } else { version };
    let wanted = Constraint::parse(wanted).map_err(|error| Error::invalid(error.to_string()))?;
    let fits = |tag: &&String| Version::parse(tag).is_ok_and(|tag| wanted.check(&tag));
    tags.iter().find(fits).cloned().ok_or_else(|| {
        Error::not_found(format!(
            "Could not locate a version matching provided version string {version}"
        ))
    })
}

/// What follows the repository in the address of the next page, if there is one.
fn next_page(answer: &Answer, reference: &Reference) -> Result<Option<String>, Error> {
    let links = answer
        .headers
        .get_all(LINK)
        .iter()
        .filter_map(|link| link.to_str().ok());
    let next = links.flat_map(|link| link.split(',')).find(|link| {
        let link = link.to_ascii_lowercase();
        link.contains("rel=\"next\"") || link.contains("rel=next")
    });
    let Some(next) = next else {
        return Ok(None);
    };
    let wrong = || Error::invalid("the address of the next page of tags is not valid");
    let (_, target) = next.split_once('<').ok_or_else(wrong)?;
    let (target, _) = target.split_once('>').ok_or_else(wrong)?;
    let url = answer.url.join(target).map_err(|_| wrong())?;
    let prefix = format!("/v2/{}/", reference.repository);
    let rest = url.path().strip_prefix(&prefix);
    match rest {
        Some(rest) if same_origin(&url, &answer.url) => {
            let query = url
                .query()
                .map(|query| format!("?{query}"))
                .unwrap_or_default();
            Ok(Some(format!("{rest}{query}")))
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests;
