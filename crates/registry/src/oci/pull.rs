//! From a tag or digest to the archive: manifests, lists of them, and the chart's own layer.

use std::collections::HashSet;

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use sha2::{Digest as _, Sha256, Sha384, Sha512};

use super::reference::{Reference, is_digest};
use super::{Chosen, MAX_DOCUMENT, UNDERSCORE};
use crate::cache::sha256;
use crate::client::{Archive, Client, MAX_ARCHIVE};
use crate::error::{Error, ErrorKind};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";
const LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
const LEGACY_LAYER: &str = "application/tar+gzip";
const ACCEPT: &str = "application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json";

/// Manifests of one chart.
const MAX_MANIFESTS: usize = 1000;
/// Lists within lists.
const MAX_DEPTH: usize = 16;

/// What a manifest says of something else.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    #[serde(default)]
    media_type: String,
    digest: String,
    size: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Manifest {
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
    manifests: Option<Vec<Descriptor>>,
}

/// What was found on the way through manifests.
#[derive(Default)]
struct Found {
    seen: HashSet<String>,
    /// Descriptors that charts are made of.
    count: usize,
    config: bool,
    layer: Option<Descriptor>,
}

impl Client<'_> {
    /// Fetches the chart that was chosen.
    pub(super) async fn pull(&self, chosen: &Chosen) -> Result<Archive, Error> {
        let reference = &chosen.reference;
        let mut found = Found::default();
        let (digest, media_type, body) = self.root(reference).await?;
        found.seen.insert(digest.clone());
        self.walk(reference, &media_type, body, &mut found).await?;
        if found.count < 2 {
            return Err(Error::invalid(format!(
                "manifest does not contain minimum number of descriptors (2), descriptors found: {}",
                found.count
            )));
        }
        if !found.config {
            return Err(Error::invalid(format!(
                "could not load config with mediatype {CONFIG}"
            )));
        }
        let layer = found.layer.ok_or_else(|| {
            Error::invalid(format!(
                "manifest does not contain a layer with mediatype {LAYER}"
            ))
        })?;
        let bytes = self.blob(reference, &layer).await?;
        let shown = reference.shown();
        self.console.note(&format!("Pulled: {shown}"));
        self.console.note(&format!("Digest: {digest}"));
        if shown.contains('_') {
            self.console
                .note(&format!("{shown} contains an underscore."));
            self.console.note(UNDERSCORE);
        }
        Ok(Archive {
            file_name: chosen.file_name.clone(),
            digest: format!("sha256:{}", sha256(&bytes)),
            bytes,
            source: format!("oci://{shown}"),
            version: chosen.version.clone(),
        })
    }

    /// The digest that a tag has now, and the size of what it leads to.
    pub(super) async fn manifest_digest(
        &self,
        reference: &Reference,
    ) -> Result<(String, u64), Error> {
        let (digest, _, body) = self.root(reference).await?;
        Ok((digest, body.len() as u64))
    }

    /// The manifest of a tag or digest: its digest, media type and text.
    async fn root(&self, reference: &Reference) -> Result<(String, String, Bytes), Error> {
        let failed = |error: Error| error.within("failed to perform \"FetchReference\" on source");
        let name = if reference.digest.is_empty() {
            &reference.tag
        } else {
            &reference.digest
        };
        let found = self
            .manifest(reference, name)
            .await
            .map_err(|error| match error.kind() {
                ErrorKind::NotFound => failed(Error::not_found(format!(
                    "{}: not found",
                    reference.shown()
                ))),
                _ => failed(error),
            })?;
        let (media_type, body) = found;
        let digest = if reference.digest.is_empty() {
            format!("sha256:{}", sha256(&body))
        } else {
            check(&reference.digest, &body).map_err(failed)?;
            reference.digest.clone()
        };
        Ok((digest, media_type, body))
    }

    async fn manifest(&self, reference: &Reference, name: &str) -> Result<(String, Bytes), Error> {
        let rest = format!("manifests/{name}");
        let answer = self
            .ask_registry(reference, Method::GET, &rest, ACCEPT, MAX_DOCUMENT)
            .await?;
        let said = answer
            .headers
            .get("docker-content-digest")
            .and_then(|said| said.to_str().ok());
        if let Some(said) = said.filter(|said| is_digest(said)) {
            check(said, &answer.body)?;
        }
        let media_type = answer
            .headers
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok());
        let media_type = media_type
            .and_then(|kind| kind.split(';').next())
            .unwrap_or_default();
        Ok((media_type.trim().to_owned(), answer.body))
    }

    /// Looks through a manifest and all that a list names, in order; of several charts the last one counts.
    async fn walk(
        &self,
        reference: &Reference,
        media_type: &str,
        body: Bytes,
        found: &mut Found,
    ) -> Result<(), Error> {
        let mut open = vec![(0, media_type.to_owned(), Source::Body(body))];
        while let Some((depth, media_type, source)) = open.pop() {
            if media_type != INDEX && media_type != MANIFEST {
                continue;
            }
            let body = match source {
                Source::Body(body) => body,
                Source::Named(descriptor) => {
                    let (_, body) = self.manifest(reference, &descriptor.digest).await?;
                    check(&descriptor.digest, &body)?;
                    body
                }
            };
            found.count += 1;
            if found.count > MAX_MANIFESTS || depth > MAX_DEPTH {
                let text = format!(
                    "more than {MAX_MANIFESTS} manifests, or {MAX_DEPTH} lists in each other"
                );
                return Err(Error::new(ErrorKind::TooLarge, text));
            }
            let manifest: Manifest = serde_json::from_slice(&body)
                .map_err(|error| Error::invalid(format!("the manifest is broken: {error}")))?;
            if media_type == INDEX {
                let inner = manifest.manifests.unwrap_or_default().into_iter().rev();
                for descriptor in inner.take(MAX_MANIFESTS) {
                    if is_digest(&descriptor.digest) && found.seen.insert(descriptor.digest.clone())
                    {
                        let kind = descriptor.media_type.clone();
                        open.push((depth + 1, kind, Source::Named(descriptor)));
                    }
                }
            } else {
                self.look(manifest, found);
            }
        }
        Ok(())
    }

    /// Takes what a chart is made of out of a manifest.
    fn look(&self, manifest: Manifest, found: &mut Found) {
        let layers = manifest.layers.unwrap_or_default();
        for descriptor in manifest.config.into_iter().chain(layers) {
            match descriptor.media_type.as_str() {
                CONFIG => found.config = true,
                LAYER => found.layer = Some(descriptor.clone()),
                LEGACY_LAYER => {
                    self.console.note(&format!(
                        "Warning: chart media type {LEGACY_LAYER} is deprecated"
                    ));
                    found.layer = Some(descriptor.clone());
                }
                _ => continue,
            }
            if found.seen.insert(descriptor.digest) {
                found.count += 1;
            }
        }
    }

    async fn blob(&self, reference: &Reference, layer: &Descriptor) -> Result<Bytes, Error> {
        if !is_digest(&layer.digest) {
            return Err(Error::invalid("the chart's digest is not valid"));
        }
        if layer.size > MAX_ARCHIVE {
            let text = format!(
                "the chart has {} bytes, more than {MAX_ARCHIVE}",
                layer.size
            );
            return Err(Error::new(ErrorKind::TooLarge, text));
        }
        let plain = layer.digest.strip_prefix("sha256:");
        if let Some(bytes) = plain.and_then(|digest| self.cache.get(digest, MAX_ARCHIVE)) {
            return Ok(bytes);
        }
        let rest = format!("blobs/{}", layer.digest);
        let answer = self
            .ask_registry(reference, Method::GET, &rest, "*/*", layer.size)
            .await?;
        if answer.body.len() as u64 != layer.size {
            return Err(Error::invalid(format!(
                "{}: {} bytes came, {} were expected",
                layer.digest,
                answer.body.len(),
                layer.size
            )));
        }
        check(&layer.digest, &answer.body)?;
        if let Some(digest) = plain {
            self.cache.put(digest, &answer.body);
        }
        Ok(answer.body)
    }
}

/// Where a manifest is.
enum Source {
    Body(Bytes),
    Named(Descriptor),
}

/// Checks content against its digest.
fn check(digest: &str, content: &[u8]) -> Result<(), Error> {
    use std::fmt::Write as _;
    let (kind, wanted) = digest.split_once(':').unwrap_or(("", digest));
    let sum = match kind {
        "sha384" => Sha384::digest(content).to_vec(),
        "sha512" => Sha512::digest(content).to_vec(),
        _ => Sha256::digest(content).to_vec(),
    };
    let found = sum.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    if found == wanted {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "mismatched digest: the content of {digest} is {kind}:{found}"
    )))
}
