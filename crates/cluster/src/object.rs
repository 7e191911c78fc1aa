//! Names of objects and the paths they live at. No I/O.

use std::fmt;

/// Whether a write takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApplyMode {
    /// The write takes effect.
    Live,
    /// The server validates and admits the write and throws it away (`dryRun=All`).
    DryRun,
}

/// Kinds of workload that have a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScaleKind {
    /// `apps/v1` Deployment.
    Deployment,
    /// `apps/v1` StatefulSet.
    StatefulSet,
}

impl ScaleKind {
    /// The word used in references and messages: `deployment` or `statefulset`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Deployment => "deployment",
            Self::StatefulSet => "statefulset",
        }
    }

    /// The kind as manifests spell it.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
        }
    }

    /// The resource as the API spells it: `deployments` or `statefulsets`.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Deployment => "deployments",
            Self::StatefulSet => "statefulsets",
        }
    }
}

/// A workload that has a size. Displays as `deployment app/api`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkloadRef {
    /// Its kind.
    pub kind: ScaleKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl WorkloadRef {
    /// Makes a reference; nothing is checked.
    pub fn new(kind: ScaleKind, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            kind,
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    pub(crate) fn path(&self) -> String {
        namespaced(
            "apps/v1",
            &self.namespace,
            self.kind.plural(),
            Some(&self.name),
        )
    }

    pub(crate) fn collection(&self) -> String {
        namespaced("apps/v1", &self.namespace, self.kind.plural(), None)
    }
}

impl fmt::Display for WorkloadRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind.word(), self.namespace, self.name)
    }
}

/// The path of an object, or of all objects when `name` is `None`.
///
/// `api` is `v1` for the core group and `group/version` otherwise.
pub(crate) fn namespaced(api: &str, namespace: &str, plural: &str, name: Option<&str>) -> String {
    let root = if api.contains('/') { "apis" } else { "api" };
    let mut path = format!("/{root}/{api}/namespaces/{}/{plural}", escape(namespace));
    if let Some(name) = name {
        path.push('/');
        path.push_str(&escape(name));
    }
    path
}

/// The path of a cluster-scoped object, or of all of them.
pub(crate) fn cluster_scoped(api: &str, plural: &str, name: Option<&str>) -> String {
    let root = if api.contains('/') { "apis" } else { "api" };
    let mut path = format!("/{root}/{api}/{plural}");
    if let Some(name) = name {
        path.push('/');
        path.push_str(&escape(name));
    }
    path
}

/// Percent-encodes everything that is not unreserved in a URL. Names that the API accepts pass
/// unchanged; anything else must not be able to change the path.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    // A lone or double dot would be a path step.
    if escaped == "." || escaped == ".." {
        escaped = escaped.replace('.', "%2E");
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_follow_the_group_and_cannot_be_escaped_from() {
        let api = WorkloadRef::new(ScaleKind::Deployment, "app", "api.v2");
        assert_eq!(
            api.path(),
            "/apis/apps/v1/namespaces/app/deployments/api.v2"
        );
        assert_eq!(
            namespaced("v1", "app", "pods", Some("../../secrets?x=#")),
            "/api/v1/namespaces/app/pods/..%2F..%2Fsecrets%3Fx%3D%23"
        );
        assert_eq!(
            namespaced("v1", "..", "pods", None),
            "/api/v1/namespaces/%2E%2E/pods"
        );
        assert_eq!(
            cluster_scoped("v1", "nodes", Some("n1")),
            "/api/v1/nodes/n1"
        );
        assert_eq!(api.to_string(), "deployment app/api.v2");
    }
}
