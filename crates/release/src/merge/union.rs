//! Fields of which an object may have only one, or only some together.
//!
//! The server fills in one of them and refuses a second; what was one when the chart said nothing must go when the chart
//! says another. Patch metadata tells this of few structures (`retainKeys`), the others are listed here.

use super::schema::Node;

/// Structures and their fields that exclude each other or hang together.
pub(super) const UNIONS: [(&str, &[&str]); 9] = [
    (
        "apps.v1.DaemonSetUpdateStrategy",
        &["type", "rollingUpdate"],
    ),
    (
        "apps.v1.StatefulSetUpdateStrategy",
        &["type", "rollingUpdate"],
    ),
    ("core.v1.AppArmorProfile", &["type", "localhostProfile"]),
    ("core.v1.EnvVar", &["value", "valueFrom"]),
    (
        "core.v1.EnvVarSource",
        &[
            "configMapKeyRef",
            "fieldRef",
            "fileKeyRef",
            "resourceFieldRef",
            "secretKeyRef",
        ],
    ),
    (
        "core.v1.LifecycleHandler",
        &["exec", "httpGet", "sleep", "tcpSocket"],
    ),
    ("core.v1.Probe", &["exec", "grpc", "httpGet", "tcpSocket"]),
    ("core.v1.SeccompProfile", &["type", "localhostProfile"]),
    ("networking.v1.IngressBackend", &["resource", "service"]),
];

/// The fields at one place that belong together.
#[derive(Debug, Clone, Copy)]
pub(super) enum Union {
    /// All fields there are.
    All,
    /// These.
    Of(&'static [&'static str]),
}

impl Union {
    pub(super) fn at(node: Node) -> Option<Union> {
        if node.retains_keys() {
            return Some(Union::All);
        }
        let structure = node.structure_name();
        let known = UNIONS.iter().find(|(name, _)| *name == structure);
        known.map(|(_, fields)| Union::Of(fields))
    }

    pub(super) fn has(self, field: &str) -> bool {
        match self {
            Union::All => true,
            Union::Of(fields) => fields.contains(&field),
        }
    }
}
