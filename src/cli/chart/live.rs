//! `--validate` and `--dry-run=server`: what the cluster has to do with rendering.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use kzero_chart::manifest::Manifest;
use kzero_chart::render::{Capabilities, KubeVersion, Lookup};
use kzero_chart::yaml;
use kzero_cluster::{ApiResource, Budget, Cluster, Discovery};
use kzero_release::resource::{objects, ownership_faults, text};
use serde_json::{Map, Value};
use tokio::runtime::Runtime;

use crate::cli::app::{App, runtime};

/// How long one question to the cluster may take.
const ANSWER: Duration = Duration::from_secs(30);

/// A cluster that is asked while a chart is rendered.
pub(super) struct Live {
    runtime: Runtime,
    cluster: Cluster,
    discovery: Discovery,
}

impl Live {
    /// Connects, and asks what the cluster serves.
    ///
    /// # Errors
    ///
    /// There is no cluster, or it does not answer.
    pub(super) fn connect(app: &App) -> Result<Rc<Self>, String> {
        let resolved = app.resolve(None).map_err(|error| error.to_string())?;
        let runtime = runtime().map_err(|failure| failure.text().to_owned())?;
        let noted = app.clone();
        let asked = runtime.block_on(async {
            let cluster = resolved
                .connect(Arc::new(move |notice| noted.warn(&notice.to_string())))
                .await?;
            let budget = Budget::new("discovery of the API server", ANSWER);
            let discovery = cluster.discovery(&budget).await?;
            Ok::<_, kzero_cluster::ClusterError>((cluster, discovery))
        });
        let (cluster, discovery) =
            asked.map_err(|error| format!("Kubernetes cluster unreachable: {error}"))?;
        for group in &discovery.stale {
            app.warn(&format!(
                "WARNING: The Kubernetes server has an orphaned API service. Server reports: {group} is stale"
            ));
        }
        Ok(Rc::new(Self {
            runtime,
            cluster,
            discovery,
        }))
    }

    /// What the cluster can do.
    pub(super) fn capabilities(&self) -> Capabilities {
        Capabilities {
            kube_version: KubeVersion {
                version: self.discovery.git_version.clone(),
                major: self.discovery.major.clone(),
                minor: self.discovery.minor.clone(),
            },
            api_versions: self.discovery.api_versions(),
        }
    }

    /// Checks that the cluster knows each kind, and that no object is there that belongs to somebody else.
    ///
    /// # Errors
    ///
    /// Helm's words for the first object that cannot be installed.
    pub(super) fn check(
        &self,
        manifests: &[Manifest],
        release: &str,
        namespace: &str,
        is_upgrade: bool,
    ) -> Result<(), String> {
        let mut all = Vec::new();
        for manifest in manifests {
            all.extend(found_in(manifest)?);
        }
        let mut known = Vec::new();
        for object in &all {
            known.push((self.resource(object)?, object));
        }
        if is_upgrade {
            return Ok(());
        }
        for (resource, object) in known {
            self.check_owner(resource, object, release, namespace)?;
        }
        Ok(())
    }

    fn resource(&self, object: &Value) -> Result<&ApiResource, String> {
        let (version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
        self.discovery.resource(version, kind).ok_or_else(|| {
            format!(
                "unable to build kubernetes objects from release manifest: resource mapping not found for name: {:?} namespace: {:?} from \"\": no matches for kind {kind:?} in version {version:?}\nensure CRDs are installed first",
                text(object, "/metadata/name"),
                text(object, "/metadata/namespace"),
            )
        })
    }

    fn check_owner(
        &self,
        resource: &ApiResource,
        object: &Value,
        release: &str,
        namespace: &str,
    ) -> Result<(), String> {
        let name = text(object, "/metadata/name");
        let own = match text(object, "/metadata/namespace") {
            "" => namespace,
            own => own,
        };
        let budget = Budget::new(format!("look for {} {name}", resource.kind), ANSWER);
        let found = self
            .runtime
            .block_on(self.cluster.object(resource, own, name, &budget))
            .map_err(|error| {
                format!("Unable to continue with install: could not get information about the resource {} {name:?} in namespace {own:?}: {error}", resource.kind)
            })?;
        let Some(found) = found else { return Ok(()) };
        let faults = ownership_faults(&found, release, namespace);
        if faults.is_empty() {
            return Ok(());
        }
        let shown = if resource.namespaced { own } else { "" };
        Err(format!(
            "Unable to continue with install: {} {name:?} in namespace {shown:?} exists and cannot be imported into the current release: invalid ownership metadata; {}",
            resource.kind,
            faults.join("; ")
        ))
    }
}

impl Lookup for Live {
    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Map<String, Value>>, String> {
        let Some(resource) = self.discovery.resource(api_version, kind) else {
            if self
                .discovery
                .group_versions
                .iter()
                .any(|known| known == api_version)
            {
                return Ok(None);
            }
            return Err(format!(
                "unable to get apiresource from unstructured: {api_version}, Kind={kind}: the server could not find the requested resource"
            ));
        };
        let budget = Budget::new(format!("lookup of {kind} {name}"), ANSWER);
        let found = if name.is_empty() {
            let listed = self.cluster.objects(resource, namespace, &budget);
            self.runtime.block_on(listed).map(Some)
        } else {
            let read = self.cluster.object(resource, namespace, name, &budget);
            self.runtime.block_on(read)
        };
        match found.map_err(|error| error.to_string())? {
            Some(Value::Object(map)) => Ok(Some(map)),
            _ => Ok(None),
        }
    }
}

/// The objects of a document.
fn found_in(manifest: &Manifest) -> Result<Vec<Value>, String> {
    let failed = |error: &dyn std::fmt::Display| {
        format!(
            "unable to build kubernetes objects from release manifest: {}: {error}",
            manifest.path
        )
    };
    let document = yaml::decode(&manifest.content).map_err(|error| failed(&error))?;
    objects(document).map_err(|error| failed(&error))
}
