//! What the API server serves: its version, its groups, and the kinds in them.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::{
    budget::Budget,
    client::{Call, Cluster},
    error::{ClusterError, Operation},
    object::escape,
};

/// Asks for everything in one answer. Served by every version of Kubernetes that is supported (S-D.30).
const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// What an API server serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// The whole version, such as `v1.36.3`.
    pub git_version: String,
    /// The major version.
    pub major: String,
    /// The minor version; vendors put more behind it, such as `27+`.
    pub minor: String,
    /// Every group and version, such as `apps/v1`; the core group's is `v1`.
    pub group_versions: Vec<String>,
    /// All kinds, those of subresources left out.
    pub resources: Vec<ApiResource>,
    /// The kinds of subresources, as group, version and kind.
    pub subresource_kinds: Vec<String>,
    /// Groups and versions whose server did not answer.
    pub stale: Vec<String>,
}

/// A kind that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiResource {
    /// Group and version, such as `apps/v1`.
    pub group_version: String,
    /// The kind.
    pub kind: String,
    /// Its name in paths.
    pub plural: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
}

impl ApiResource {
    /// The path of an object, or without a name of the list; the namespace counts for kinds in namespaces only, and an
    /// empty one means all.
    #[must_use]
    pub fn path(&self, namespace: &str, name: Option<&str>) -> String {
        let root = if self.group_version.contains('/') {
            "/apis/"
        } else {
            "/api/"
        };
        let mut path = format!("{root}{}", self.group_version);
        if self.namespaced && !namespace.is_empty() {
            path.push_str("/namespaces/");
            path.push_str(&escape(namespace));
        }
        path.push('/');
        path.push_str(&self.plural);
        if let Some(name) = name {
            path.push('/');
            path.push_str(&escape(name));
        }
        path
    }
}

impl Discovery {
    /// The resource of a kind.
    #[must_use]
    pub fn resource(&self, api_version: &str, kind: &str) -> Option<&ApiResource> {
        self.resources
            .iter()
            .find(|resource| resource.group_version == api_version && resource.kind == kind)
    }

    /// Groups with versions, and each of these with every kind in it: what charts ask `.Capabilities.APIVersions` for.
    #[must_use]
    pub fn api_versions(&self) -> Vec<String> {
        let kinds = self
            .resources
            .iter()
            .map(|resource| format!("{}/{}", resource.group_version, resource.kind));
        let mut all: Vec<String> = self.group_versions.clone();
        all.extend(kinds);
        all.extend(self.subresource_kinds.iter().cloned());
        all.sort();
        all.dedup();
        all
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    git_version: String,
    #[serde(default)]
    major: String,
    #[serde(default)]
    minor: String,
}

#[derive(Deserialize)]
struct Groups {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    items: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    metadata: GroupMeta,
    #[serde(default)]
    versions: Vec<GroupVersion>,
}

#[derive(Default, Deserialize)]
struct GroupMeta {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct GroupVersion {
    version: String,
    #[serde(default)]
    resources: Vec<Served>,
    #[serde(default)]
    freshness: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Served {
    resource: String,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    response_kind: Kind,
    #[serde(default)]
    subresources: Vec<Subresource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Subresource {
    #[serde(default)]
    response_kind: Kind,
}

#[derive(Default, Deserialize)]
struct Kind {
    #[serde(default)]
    kind: String,
}

impl Cluster {
    /// Asks what the API server serves: three requests, at once.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`]; also a server that is older than those that are supported.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn discovery(&self, budget: &Budget) -> Result<Discovery, ClusterError> {
        let version = async {
            let operation = Operation::new("get", "/version", None, "API server version");
            let call = Call::get(operation, "/version");
            self.call_json::<Version>(&call, budget).await
        };
        let (version, core, groups) = futures::try_join!(
            version,
            self.groups("/api", budget),
            self.groups("/apis", budget)
        )?;
        let mut found = Discovery {
            git_version: version.git_version,
            major: version.major,
            minor: version.minor,
            ..Discovery::default()
        };
        for group in core.into_iter().chain(groups) {
            found.add(group);
        }
        Ok(found)
    }

    async fn groups(
        &self,
        path: &'static str,
        budget: &Budget,
    ) -> Result<Vec<Group>, ClusterError> {
        let operation = Operation::new("get", path, None, "API groups");
        let mut call = Call::get(operation, path);
        call.accept = AGGREGATED;
        let groups: Groups = self.call_json(&call, budget).await?;
        if groups.kind != "APIGroupDiscoveryList" {
            return Err(ClusterError::unreadable(
                &call.operation,
                "it does not list its kinds at once, as Kubernetes 1.30 and newer do",
            ));
        }
        Ok(groups.items)
    }

    /// Reads one object of any kind as it is, `None` if it is absent.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`] but not found.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn object(
        &self,
        resource: &ApiResource,
        namespace: &str,
        name: &str,
        budget: &Budget,
    ) -> Result<Option<Value>, ClusterError> {
        let operation = resource.operation("get", namespace, name);
        let call = Call::get(operation, resource.path(namespace, Some(name)));
        self.call_optional(&call, budget).await
    }

    /// Lists the objects of any kind, in one namespace or, with an empty one, in all: the list as the API server gives
    /// it, its pages put together.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`].
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn objects(
        &self,
        resource: &ApiResource,
        namespace: &str,
        budget: &Budget,
    ) -> Result<Value, ClusterError> {
        let operation = resource.operation("list", namespace, "*");
        let path = resource.path(namespace, None);
        let listed = self.list::<Value>(&operation, &path, &[], budget).await?;
        let items = listed.items.into_iter();
        let items = items.map(|item| resource.typed(item)).collect();
        let mut list = serde_json::json!({
            "apiVersion": resource.group_version,
            "kind": format!("{}List", resource.kind),
            "metadata": { "resourceVersion": listed.resource_version },
        });
        // Not by the macro, which would copy all of them.
        list["items"] = Value::Array(items);
        Ok(list)
    }

    /// Lists objects as [`Cluster::objects`] does, without the list around them and without their `managedFields`, which are as
    /// large as the rest and are dropped page by page.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`].
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn objects_unmanaged(
        &self,
        resource: &ApiResource,
        namespace: &str,
        budget: &Budget,
    ) -> Result<Vec<Value>, ClusterError> {
        let operation = resource.operation("list", namespace, "*");
        let path = resource.path(namespace, None);
        let listed = self
            .list::<Unmanaged>(&operation, &path, &[], budget)
            .await?;
        let items = listed.items.into_iter();
        Ok(items.map(|item| resource.typed(item.0)).collect())
    }
}

/// An object that loses its `managedFields` as it is read.
struct Unmanaged(Value);

impl<'de> Deserialize<'de> for Unmanaged {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Value::deserialize(deserializer)?;
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        Ok(Self(object))
    }
}

impl ApiResource {
    /// An item of a list with its version and kind: lists leave these out of their items, and templates look for them.
    fn typed(&self, mut item: Value) -> Value {
        if let Some(object) = item.as_object_mut() {
            object
                .entry("apiVersion")
                .or_insert_with(|| self.group_version.clone().into());
            object
                .entry("kind")
                .or_insert_with(|| self.kind.clone().into());
        }
        item
    }
}

impl Discovery {
    fn add(&mut self, group: Group) {
        // Several resources may have one kind; the first one counts, as it is the one that can be written.
        let mut seen: BTreeMap<(String, String), ()> = BTreeMap::new();
        for version in group.versions {
            let group_version = if group.metadata.name.is_empty() {
                version.version
            } else {
                format!("{}/{}", group.metadata.name, version.version)
            };
            if version.freshness == "Stale" {
                self.stale.push(group_version.clone());
            }
            for served in version.resources {
                for subresource in served.subresources {
                    let kind = subresource.response_kind.kind;
                    if !kind.is_empty() {
                        self.subresource_kinds
                            .push(format!("{group_version}/{kind}"));
                    }
                }
                let kind = served.response_kind.kind;
                if kind.is_empty()
                    || seen
                        .insert((group_version.clone(), kind.clone()), ())
                        .is_some()
                {
                    continue;
                }
                self.resources.push(ApiResource {
                    group_version: group_version.clone(),
                    kind,
                    plural: served.resource,
                    namespaced: served.scope == "Namespaced",
                });
            }
            self.group_versions.push(group_version);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ApiResource, Discovery, Groups};

    fn discovery(text: &str) -> Discovery {
        let groups: Groups = serde_json::from_str(text).unwrap();
        let mut found = Discovery::default();
        for group in groups.items {
            found.add(group);
        }
        found
    }

    #[test]
    fn groups_become_versions_kinds_and_paths() {
        let found = discovery(
            r#"{"kind":"APIGroupDiscoveryList","items":[
              {"metadata":{"name":"apps"},"versions":[{"version":"v1","freshness":"Current","resources":[
                {"resource":"deployments","responseKind":{"group":"apps","version":"v1","kind":"Deployment"},"scope":"Namespaced",
                 "subresources":[{"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"}}]}]}]},
              {"metadata":{},"versions":[{"version":"v1","resources":[
                {"resource":"namespaces","responseKind":{"kind":"Namespace"},"scope":"Cluster"}]}]},
              {"metadata":{"name":"gone.example"},"versions":[{"version":"v1","freshness":"Stale"}]}]}"#,
        );
        assert_eq!(
            found.api_versions(),
            [
                "apps/v1",
                "apps/v1/Deployment",
                "apps/v1/Scale",
                "gone.example/v1",
                "v1",
                "v1/Namespace"
            ]
        );
        assert_eq!(found.stale, ["gone.example/v1"]);
        let path = |resource: &ApiResource, namespace, name| resource.path(namespace, name);
        let deployment = found.resource("apps/v1", "Deployment").unwrap();
        assert_eq!(
            path(deployment, "a", Some("b")),
            "/apis/apps/v1/namespaces/a/deployments/b"
        );
        assert_eq!(path(deployment, "", None), "/apis/apps/v1/deployments");
        let namespace = found.resource("v1", "Namespace").unwrap();
        assert_eq!(path(namespace, "a", Some("b")), "/api/v1/namespaces/b");
        assert_eq!(found.resource("v1", "Deployment"), None);
    }
}
