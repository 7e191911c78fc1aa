//! The kinds of objects that the server knows.

/// A kind of object, under one API version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version in that group, e.g. `v1`.
    pub version: String,
    /// The name in paths, e.g. `deployments`.
    pub plural: String,
    /// The name in objects, e.g. `Deployment`.
    pub kind: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether it has a `status` subresource.
    pub status: bool,
    /// Whether it has a `scale` subresource.
    pub scale: bool,
    /// Whether `metadata.generation` counts the changes of its desired state.
    pub generation: bool,
}

impl Kind {
    /// A namespaced kind with a status and a generation, as most custom resources are.
    #[must_use]
    pub fn custom(group: &str, version: &str, plural: &str, kind: &str) -> Kind {
        Kind {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            kind: kind.to_owned(),
            namespaced: true,
            status: true,
            scale: false,
            generation: true,
        }
    }

    /// What objects carry in `apiVersion`.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// How messages of the server name the kind, e.g. `deployments.apps`.
    #[must_use]
    pub fn resource(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// Whether this is the kind of that plural in that group.
    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural
    }

    /// How error messages about rules name the kind, e.g. `Deployment.apps`.
    pub(crate) fn dotted(&self) -> String {
        if self.group.is_empty() {
            self.kind.clone()
        } else {
            format!("{}.{}", self.kind, self.group)
        }
    }

    /// The path of the collection in a namespace (ignored for kinds without one).
    #[must_use]
    pub fn path(&self, namespace: &str) -> String {
        let root = if self.group.is_empty() {
            "/api"
        } else {
            "/apis"
        };
        let version = self.api_version();
        if self.namespaced && !namespace.is_empty() {
            format!("{root}/{version}/namespaces/{namespace}/{}", self.plural)
        } else {
            format!("{root}/{version}/{}", self.plural)
        }
    }
}

/// Group, version, plural, kind, and letters: n namespaced, s status, c scale, g generation.
const TABLE: &[(&str, &str, &str, &str, &str)] = &[
    ("", "v1", "configmaps", "ConfigMap", "n"),
    ("", "v1", "events", "Event", "n"),
    ("", "v1", "limitranges", "LimitRange", "n"),
    ("", "v1", "namespaces", "Namespace", "s"),
    ("", "v1", "nodes", "Node", "s"),
    (
        "",
        "v1",
        "persistentvolumeclaims",
        "PersistentVolumeClaim",
        "ns",
    ),
    ("", "v1", "persistentvolumes", "PersistentVolume", "s"),
    ("", "v1", "pods", "Pod", "nsg"),
    ("", "v1", "resourcequotas", "ResourceQuota", "ns"),
    ("", "v1", "secrets", "Secret", "n"),
    ("", "v1", "serviceaccounts", "ServiceAccount", "n"),
    ("", "v1", "services", "Service", "ns"),
    (
        "apps",
        "v1",
        "controllerrevisions",
        "ControllerRevision",
        "n",
    ),
    ("apps", "v1", "daemonsets", "DaemonSet", "nsg"),
    ("apps", "v1", "deployments", "Deployment", "nscg"),
    ("apps", "v1", "replicasets", "ReplicaSet", "nscg"),
    ("apps", "v1", "statefulsets", "StatefulSet", "nscg"),
    (
        "autoscaling",
        "v2",
        "horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
        "ns",
    ),
    ("batch", "v1", "cronjobs", "CronJob", "nsg"),
    ("batch", "v1", "jobs", "Job", "nsg"),
    ("coordination.k8s.io", "v1", "leases", "Lease", "n"),
    ("networking.k8s.io", "v1", "ingresses", "Ingress", "nsg"),
    (
        "networking.k8s.io",
        "v1",
        "networkpolicies",
        "NetworkPolicy",
        "ng",
    ),
    (
        "policy",
        "v1",
        "poddisruptionbudgets",
        "PodDisruptionBudget",
        "nsg",
    ),
    ("storage.k8s.io", "v1", "storageclasses", "StorageClass", ""),
];

/// The kinds that every server starts with.
pub(crate) fn builtin() -> Vec<Kind> {
    TABLE
        .iter()
        .map(|(group, version, plural, kind, letters)| Kind {
            namespaced: letters.contains('n'),
            status: letters.contains('s'),
            scale: letters.contains('c'),
            generation: letters.contains('g'),
            ..Kind::custom(group, version, plural, kind)
        })
        .collect()
}
