//! What the server says of itself.

use serde_json::{Value, json};

use super::kinds::Kind;
use super::status::{Outcome, Refusal};

/// `/version`
pub(crate) fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "gitVersion": "v1.36.0+mini",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "linux/amd64",
    })
}

/// `/api`
pub(crate) fn core_versions() -> Value {
    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
}

/// `/apis`
pub(crate) fn groups(kinds: &[Kind]) -> Value {
    let mut names: Vec<&str> = kinds
        .iter()
        .map(|kind| kind.group.as_str())
        .filter(|group| !group.is_empty())
        .collect();
    names.push("authorization.k8s.io");
    names.sort_unstable();
    names.dedup();
    let groups: Vec<Value> = names.iter().map(|name| group_value(kinds, name)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/GROUP`
pub(crate) fn group(kinds: &[Kind], name: &str) -> Outcome<Value> {
    if versions(kinds, name).is_empty() || name.is_empty() {
        return Err(Refusal::no_path());
    }
    let mut group = group_value(kinds, name);
    group["kind"] = "APIGroup".into();
    group["apiVersion"] = "v1".into();
    Ok(group)
}

fn versions<'a>(kinds: &'a [Kind], group: &str) -> Vec<&'a str> {
    if group == "authorization.k8s.io" {
        return vec!["v1"];
    }
    let mut versions: Vec<&str> = kinds
        .iter()
        .filter(|kind| kind.group == group)
        .map(|kind| kind.version.as_str())
        .collect();
    versions.sort_unstable();
    versions.dedup();
    versions
}

fn group_value(kinds: &[Kind], name: &str) -> Value {
    let versions: Vec<Value> = versions(kinds, name)
        .iter()
        .map(|version| json!({"groupVersion": format!("{name}/{version}"), "version": version}))
        .collect();
    json!({"name": name, "versions": versions, "preferredVersion": versions.first()})
}

/// `/api/v1`, `/apis/GROUP/VERSION`
pub(crate) fn resources(kinds: &[Kind], group: &str, version: &str) -> Outcome<Value> {
    if !versions(kinds, group).contains(&version) {
        return Err(Refusal::no_path());
    }
    let mut resources = Vec::new();
    for kind in kinds
        .iter()
        .filter(|kind| kind.group == group && kind.version == version)
    {
        let row = |sub: &str, of: &str, verbs: &[&str]| {
            json!({
                "name": format!("{}{sub}", kind.plural),
                "singularName": if sub.is_empty() { kind.kind.to_lowercase() } else { String::new() },
                "namespaced": kind.namespaced,
                "kind": of,
                "verbs": verbs,
            })
        };
        let all = [
            "create",
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "update",
            "watch",
        ];
        resources.push(row("", &kind.kind, &all));
        if kind.status {
            resources.push(row("/status", &kind.kind, &["get", "patch", "update"]));
        }
        if kind.scale {
            let mut scale = row("/scale", "Scale", &["get", "patch", "update"]);
            scale["group"] = "autoscaling".into();
            scale["version"] = "v1".into();
            resources.push(scale);
        }
    }
    if group == "authorization.k8s.io" {
        resources.push(json!({
            "name": "selfsubjectaccessreviews",
            "singularName": "selfsubjectaccessreview",
            "namespaced": false,
            "kind": "SelfSubjectAccessReview",
            "verbs": ["create"],
        }));
    }
    let name = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    Ok(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": name,
        "resources": resources,
    }))
}

/// `/api` or `/apis` with all that is in the groups.
pub(crate) fn aggregated(kinds: &[Kind], core: bool) -> Value {
    let mut names: Vec<&str> = kinds
        .iter()
        .map(|kind| kind.group.as_str())
        .filter(|group| group.is_empty() == core)
        .collect();
    names.sort_unstable();
    names.dedup();
    let groups: Vec<Value> = names
        .iter()
        .map(|name| {
            let versions: Vec<Value> = versions(kinds, name)
                .iter()
                .map(|version| aggregated_version(kinds, name, version))
                .collect();
            json!({"metadata": {"name": name, "creationTimestamp": null}, "versions": versions})
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": groups,
    })
}

fn aggregated_version(kinds: &[Kind], group: &str, version: &str) -> Value {
    let of_kind =
        |kind: &Kind| json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
    let resources: Vec<Value> = kinds
        .iter()
        .filter(|kind| kind.group == group && kind.version == version)
        .map(|kind| {
            json!({
                "resource": kind.plural,
                "responseKind": of_kind(kind),
                "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
                "singularResource": kind.kind.to_lowercase(),
                "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
            })
        })
        .collect();
    json!({"version": version, "resources": resources, "freshness": "Current"})
}
