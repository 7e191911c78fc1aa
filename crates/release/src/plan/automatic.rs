//! Objects that other objects refer to in their fields.

use std::collections::HashMap;

use serde_json::Value;

use super::Item;
use crate::resource::text;

/// References between items, by number.
#[derive(Debug, Default)]
pub struct Automatic {
    from: HashMap<usize, Vec<(usize, &'static str)>>,
}

/// A reference to an object: kind, name, and the field it stands in.
type Reference<'a> = (&'a str, &'a str, &'static str);

impl Automatic {
    /// Finds what items refer to among themselves.
    #[must_use]
    pub fn of(items: &[Item]) -> Self {
        let mut by_name: HashMap<(&str, &str, &str), usize> = HashMap::new();
        for (number, item) in items.iter().enumerate() {
            let id = &item.resource.id;
            by_name.insert((&id.kind, &id.namespace, &id.name), number);
        }
        let mut found = Self::default();
        for (number, item) in items.iter().enumerate() {
            let mut references = Vec::new();
            collect(&item.resource.object, &mut references);
            for (kind, name, field) in references {
                let own = (kind, item.resource.id.namespace.as_str(), name);
                let target = by_name.get(&own).or_else(|| by_name.get(&(kind, "", name)));
                if let Some(target) = target
                    && *target != number
                {
                    found.from.entry(number).or_default().push((*target, field));
                }
            }
        }
        bindings(items, &mut found);
        found
    }

    /// What an item refers to, each with the field.
    pub fn from(&self, item: usize) -> impl Iterator<Item = (usize, &'static str)> {
        self.from.get(&item).into_iter().flatten().copied()
    }
}

/// A pod that runs as an account needs the bindings that give the account its rights.
fn bindings(items: &[Item], found: &mut Automatic) {
    for (number, item) in items.iter().enumerate() {
        if !item.resource.id.kind.ends_with("RoleBinding") {
            continue;
        }
        let subjects = item
            .resource
            .object
            .get("subjects")
            .and_then(Value::as_array);
        for subject in subjects.into_iter().flatten() {
            if text(subject, "/kind") != "ServiceAccount" {
                continue;
            }
            let account = text(subject, "/name");
            for (user, other) in items.iter().enumerate() {
                let spec = pod_spec(&other.resource.object);
                if spec.is_some_and(|spec| {
                    text(spec, "/serviceAccountName") == account && !account.is_empty()
                }) {
                    let field = "subjects";
                    found.from.entry(user).or_default().push((number, field));
                }
            }
        }
    }
}

/// The pod that an object makes.
fn pod_spec(object: &Value) -> Option<&Value> {
    match text(object, "/kind") {
        "Pod" => object.get("spec"),
        "CronJob" => object.pointer("/spec/jobTemplate/spec/template/spec"),
        "Deployment"
        | "DaemonSet"
        | "StatefulSet"
        | "ReplicaSet"
        | "ReplicationController"
        | "Job" => object.pointer("/spec/template/spec"),
        _ => None,
    }
}

fn collect<'a>(object: &'a Value, found: &mut Vec<Reference<'a>>) {
    if let Some(spec) = pod_spec(object) {
        pod(spec, found);
    }
    match text(object, "/kind") {
        "StatefulSet" => named(
            found,
            "Service",
            text(object, "/spec/serviceName"),
            "spec.serviceName",
        ),
        "RoleBinding" | "ClusterRoleBinding" => {
            named(
                found,
                text(object, "/roleRef/kind"),
                text(object, "/roleRef/name"),
                "roleRef",
            );
            for subject in list(object, "/subjects") {
                named(
                    found,
                    text(subject, "/kind"),
                    text(subject, "/name"),
                    "subjects",
                );
            }
        }
        "HorizontalPodAutoscaler" => {
            let target = object
                .pointer("/spec/scaleTargetRef")
                .unwrap_or(&Value::Null);
            named(
                found,
                text(target, "/kind"),
                text(target, "/name"),
                "spec.scaleTargetRef",
            );
        }
        "ScaledObject" => {
            let target = object
                .pointer("/spec/scaleTargetRef")
                .unwrap_or(&Value::Null);
            let kind = match text(target, "/kind") {
                "" => "Deployment",
                kind => kind,
            };
            named(found, kind, text(target, "/name"), "spec.scaleTargetRef");
        }
        "Ingress" => ingress(object, found),
        _ => {}
    }
}

fn pod<'a>(spec: &'a Value, found: &mut Vec<Reference<'a>>) {
    for table in ["/containers", "/initContainers", "/ephemeralContainers"] {
        for container in list(spec, table) {
            for from in list(container, "/envFrom") {
                optional(found, "ConfigMap", from.get("configMapRef"), "envFrom");
                optional(found, "Secret", from.get("secretRef"), "envFrom");
            }
            for variable in list(container, "/env") {
                optional(
                    found,
                    "ConfigMap",
                    variable.pointer("/valueFrom/configMapKeyRef"),
                    "env",
                );
                optional(
                    found,
                    "Secret",
                    variable.pointer("/valueFrom/secretKeyRef"),
                    "env",
                );
            }
        }
    }
    for secret in list(spec, "/imagePullSecrets") {
        named(found, "Secret", text(secret, "/name"), "imagePullSecrets");
    }
    for account in ["/serviceAccountName", "/serviceAccount"] {
        named(
            found,
            "ServiceAccount",
            text(spec, account),
            "serviceAccountName",
        );
    }
    named(
        found,
        "PriorityClass",
        text(spec, "/priorityClassName"),
        "priorityClassName",
    );
    named(
        found,
        "RuntimeClass",
        text(spec, "/runtimeClassName"),
        "runtimeClassName",
    );
    named(found, "Node", text(spec, "/nodeName"), "nodeName");
    for claim in list(spec, "/resourceClaims") {
        named(
            found,
            "ResourceClaim",
            text(claim, "/resourceClaimName"),
            "resourceClaims",
        );
        let template = text(claim, "/resourceClaimTemplateName");
        named(found, "ResourceClaimTemplate", template, "resourceClaims");
    }
    for volume in list(spec, "/volumes") {
        self::volume(volume, found);
    }
}

fn volume<'a>(volume: &'a Value, found: &mut Vec<Reference<'a>>) {
    optional(found, "ConfigMap", volume.get("configMap"), "volumes");
    if let Some(secret) = volume.get("secret").filter(|source| !is_optional(source)) {
        named(found, "Secret", text(secret, "/secretName"), "volumes");
    }
    let claim = text(volume, "/persistentVolumeClaim/claimName");
    named(found, "PersistentVolumeClaim", claim, "volumes");
    named(
        found,
        "Secret",
        text(volume, "/csi/nodePublishSecretRef/name"),
        "volumes",
    );
    for source in list(volume, "/projected/sources") {
        optional(found, "ConfigMap", source.get("configMap"), "volumes");
        optional(found, "Secret", source.get("secret"), "volumes");
    }
}

fn ingress<'a>(object: &'a Value, found: &mut Vec<Reference<'a>>) {
    let backend = |backend: &'a Value| text(backend, "/service/name");
    if let Some(default) = object.pointer("/spec/defaultBackend") {
        named(found, "Service", backend(default), "spec.defaultBackend");
    }
    for rule in list(object, "/spec/rules") {
        for path in list(rule, "/http/paths") {
            let service = path.get("backend").map(backend).unwrap_or_default();
            named(found, "Service", service, "spec.rules");
        }
    }
    for tls in list(object, "/spec/tls") {
        named(found, "Secret", text(tls, "/secretName"), "spec.tls");
    }
    named(
        found,
        "IngressClass",
        text(object, "/spec/ingressClassName"),
        "spec.ingressClassName",
    );
}

fn list<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn named<'a>(found: &mut Vec<Reference<'a>>, kind: &'a str, name: &'a str, field: &'static str) {
    if !kind.is_empty() && !name.is_empty() {
        found.push((kind, name, field));
    }
}

fn optional<'a>(
    found: &mut Vec<Reference<'a>>,
    kind: &'a str,
    reference: Option<&'a Value>,
    field: &'static str,
) {
    if let Some(reference) = reference.filter(|reference| !is_optional(reference)) {
        named(found, kind, text(reference, "/name"), field);
    }
}

fn is_optional(reference: &Value) -> bool {
    reference.get("optional").and_then(Value::as_bool) == Some(true)
}
