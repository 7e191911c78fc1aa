//! What annotations say about how an object is deployed: order, dependencies, policies, tracking.
//!
//! Duty: read `helm.sh/*` and `werf.io/*` annotations into [`Directives`], before anything is changed. Values are trimmed;
//! the first one that does not read is an error that names object, key, value and what was expected. Keys that look like one
//! of these and are none are told in [`Directives::warnings`], since their author expects an effect.

mod dependency;
mod keys;
mod tracking;

use std::collections::BTreeMap;

use kzero_chart::manifest::HookEvent;
use kzero_cluster::Propagation;
use serde_json::Value;

use crate::resource::{Resource, ResourceId, Role};
use crate::shown::plain;
pub use dependency::{Dependency, External, Matcher, State};
pub use tracking::{ContainerFilter, FailMode, Termination, Tracking};

/// An annotation that does not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{id}: annotation {}: {value:?} is not {expected}\nhint: change it in the template {path}",
    plain(key)
)]
pub struct DirectiveError {
    /// The object.
    pub id: Box<ResourceId>,
    /// The annotation.
    pub key: String,
    /// Its value.
    pub value: String,
    /// What was expected.
    pub expected: String,
    /// The file of the object.
    pub path: String,
}

/// When an object is deployed; several at once are several deployments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeployOn {
    /// At the event of a hook.
    Hook(HookEvent),
    /// With the objects of an install.
    Install,
    /// With the objects of an upgrade.
    Upgrade,
    /// With the objects of a rollback.
    Rollback,
    /// When the objects of the release are deleted.
    Delete,
}

/// Whose an object is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ownership {
    /// The release's: marked, checked before it is taken, deleted with the release.
    #[default]
    Release,
    /// Nobody's: neither marked nor checked, and never deleted when it vanishes from the chart or with the release.
    Anyone,
}

/// When an object is deleted besides the end of its release.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeletePolicy {
    /// Before it is created.
    pub before_creation: bool,
    /// Before it is changed in a field that cannot be changed.
    pub before_creation_if_immutable: bool,
    /// Once it was deployed.
    pub succeeded: bool,
    /// If deploying it failed.
    pub failed: bool,
}

/// What is not to be done to an object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResourcePolicy {
    /// It is not created.
    pub skip_create: bool,
    /// It is not changed.
    pub skip_update: bool,
    /// It is not deleted to be created anew.
    pub skip_recreate: bool,
    /// It is not deleted.
    pub keep: bool,
}

/// All that annotations say of one object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Directives {
    /// Lower ones are deployed first; counts only without dependencies of its own.
    pub weight: i64,
    /// What must be there before it is deployed.
    pub deploy_dependencies: Vec<Dependency>,
    /// What must be gone before it is deleted.
    pub delete_dependencies: Vec<Dependency>,
    /// When it is deployed; `None` for the usual moments.
    pub deploy_on: Option<Vec<DeployOn>>,
    /// Whose it is.
    pub ownership: Ownership,
    /// When it is deleted.
    pub delete_policy: DeletePolicy,
    /// What is not to be done.
    pub resource_policy: ResourcePolicy,
    /// What becomes of the objects it owns when it is deleted; `None` for the usual.
    pub propagation: Option<Propagation>,
    /// `spec.replicas` when it is created, and only then.
    pub replicas_on_creation: Option<i64>,
    /// Whether all of its content is secret; `None` for the usual of its kind.
    pub sensitive: Option<bool>,
    /// JSON paths of what is secret.
    pub sensitive_paths: Vec<String>,
    /// How it is followed until it is ready.
    pub tracking: Tracking,
    /// Keys that look like one of these and are none, and values that have no effect.
    pub warnings: Vec<String>,
}

impl Directives {
    /// Whether its weight is without meaning, since it names what it waits for.
    #[must_use]
    pub fn has_manual_dependencies(&self) -> bool {
        !self.deploy_dependencies.is_empty()
    }

    /// Reads the annotations of an object.
    ///
    /// # Errors
    ///
    /// The first annotation, by key, whose value does not read.
    pub fn read(resource: &Resource) -> Result<Self, DirectiveError> {
        let annotations = annotations(&resource.object);
        let reader = Reader { resource };
        let mut found = Self::default();
        let is_hook = matches!(resource.role, Role::Hook(_));
        if is_hook {
            found.ownership = Ownership::Anyone;
        }
        for (key, value) in &annotations {
            reader.read(key, value, &mut found)?;
        }
        reader.hook_defaults(&annotations, &mut found)?;
        if found.ownership == Ownership::Release && resource.role == Role::Crd {
            found.ownership = Ownership::Anyone;
        }
        tracking::defaults(&resource.object, &annotations, &mut found.tracking);
        dependency::normalize(&mut found, resource);
        Ok(found)
    }

    /// Reads the annotations of an object that is to be deleted: what does not read keeps the object where that is the
    /// safe side, and has no effect elsewhere.
    #[must_use]
    pub fn read_stored(resource: &Resource) -> Self {
        let annotations = annotations(&resource.object);
        let reader = Reader { resource };
        let mut found = Self::default();
        if matches!(resource.role, Role::Hook(_)) {
            found.ownership = Ownership::Anyone;
        }
        for (key, value) in &annotations {
            if let Err(error) = reader.read(key, value, &mut found) {
                if key.ends_with("resource-policy") {
                    found.resource_policy.keep = true;
                }
                found.warnings.push(error.to_string());
            }
        }
        if let Err(error) = reader.hook_defaults(&annotations, &mut found) {
            found.warnings.push(error.to_string());
        }
        tracking::defaults(&resource.object, &annotations, &mut found.tracking);
        dependency::normalize(&mut found, resource);
        found
    }
}

/// The annotations of an object, in the order of their keys; what is no text is left out, as the API server refuses it.
fn annotations(object: &Value) -> BTreeMap<&str, &str> {
    let table = object
        .pointer("/metadata/annotations")
        .and_then(Value::as_object);
    table
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?.trim())))
        .collect()
}

/// Reads annotations of one object.
struct Reader<'a> {
    resource: &'a Resource,
}

impl Reader<'_> {
    fn wrong(&self, key: &str, value: &str, expected: impl Into<String>) -> DirectiveError {
        DirectiveError {
            id: Box::new(self.resource.id.clone()),
            key: key.to_owned(),
            value: value.to_owned(),
            expected: expected.into(),
            path: self.resource.path.clone(),
        }
    }

    fn read(&self, key: &str, value: &str, found: &mut Directives) -> Result<(), DirectiveError> {
        match key {
            "werf.io/weight" => found.weight = self.integer(key, value)?,
            "werf.io/deploy-on" => found.deploy_on = Some(self.deploy_on(key, value)?),
            "werf.io/ownership" => {
                let own = self.word(
                    key,
                    value,
                    &[
                        ("release", Ownership::Release),
                        ("anyone", Ownership::Anyone),
                    ],
                )?;
                found.ownership = own;
            }
            "werf.io/delete-policy" => found.delete_policy = self.delete_policy(key, value)?,
            "werf.io/resource-policy" => {
                found.resource_policy = self.resource_policy(key, value)?;
            }
            "helm.sh/resource-policy" => {
                if value.to_lowercase() != "keep" {
                    found.warnings.push(format!(
                        "{}: annotation {}: {value:?} is no policy that Helm knows; the object is kept, as Helm never deletes it either (expected keep)",
                        self.resource.id,
                        plain(key)
                    ));
                }
                found.resource_policy.keep = true;
            }
            "werf.io/delete-propagation" => {
                let words = [
                    ("Foreground", Propagation::Foreground),
                    ("Background", Propagation::Background),
                    ("Orphan", Propagation::Orphan),
                ];
                found.propagation = Some(self.word(key, value, &words)?);
            }
            "werf.io/replicas-on-creation" => {
                found.replicas_on_creation = Some(self.natural(key, value)?);
            }
            "werf.io/sensitive" => found.sensitive = Some(self.boolean(key, value)?),
            "werf.io/sensitive-paths" => found.sensitive_paths = self.paths(key, value)?,
            _ => {
                if dependency::read(self, key, value, found)?
                    || tracking::read(self, key, value, &mut found.tracking)?
                {
                    return Ok(());
                }
                if let Some(warning) = keys::suspicious(key) {
                    found
                        .warnings
                        .push(format!("{}: {warning}", self.resource.id));
                }
            }
        }
        Ok(())
    }

    /// What `helm.sh/hook-*` say where `werf.io/*` says nothing.
    fn hook_defaults(
        &self,
        annotations: &BTreeMap<&str, &str>,
        found: &mut Directives,
    ) -> Result<(), DirectiveError> {
        if !annotations.contains_key("helm.sh/hook") {
            return Ok(());
        }
        if !annotations.contains_key("werf.io/weight")
            && let Some(value) = annotations.get("helm.sh/hook-weight")
        {
            // Helm takes a weight that is no number for 0.
            found.weight = value.parse().unwrap_or(0);
        }
        if annotations.contains_key("werf.io/delete-policy") {
            return Ok(());
        }
        let Some(value) = annotations.get("helm.sh/hook-delete-policy") else {
            found.delete_policy.before_creation = true;
            return Ok(());
        };
        let policy = &mut found.delete_policy;
        for word in value.split(',').map(|word| word.trim().to_lowercase()) {
            match word.as_str() {
                "before-hook-creation" => policy.before_creation = true,
                "hook-succeeded" => policy.succeeded = true,
                "hook-failed" => policy.failed = true,
                _ => found.warnings.push(format!(
                    "{}: annotation helm.sh/hook-delete-policy: {word:?} has no effect (expected before-hook-creation, hook-succeeded or hook-failed)",
                    self.resource.id
                )),
            }
        }
        Ok(())
    }

    fn integer(&self, key: &str, value: &str) -> Result<i64, DirectiveError> {
        value
            .parse()
            .map_err(|_| self.wrong(key, value, "a whole number"))
    }

    fn natural(&self, key: &str, value: &str) -> Result<i64, DirectiveError> {
        match value.parse::<i32>() {
            Ok(number) if number >= 0 => Ok(i64::from(number)),
            _ => Err(self.wrong(key, value, "a whole number of at least 0")),
        }
    }

    /// The spellings of Go's `strconv.ParseBool`.
    fn boolean(&self, key: &str, value: &str) -> Result<bool, DirectiveError> {
        match value {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
            _ => Err(self.wrong(key, value, "true or false")),
        }
    }

    fn word<T: Copy>(
        &self,
        key: &str,
        value: &str,
        words: &[(&str, T)],
    ) -> Result<T, DirectiveError> {
        words
            .iter()
            .find(|(word, _)| *word == value)
            .map(|(_, meaning)| *meaning)
            .ok_or_else(|| self.wrong(key, value, format!("one of {}", listed(words))))
    }

    /// Words separated by commas, none of them empty.
    fn words<T: Copy>(
        &self,
        key: &str,
        value: &str,
        words: &[(&str, T)],
    ) -> Result<Vec<T>, DirectiveError> {
        value
            .split(',')
            .map(|word| {
                let known = words.iter().find(|(known, _)| *known == word.trim());
                known.map(|(_, meaning)| *meaning).ok_or_else(|| {
                    self.wrong(
                        key,
                        value,
                        format!("a list, separated by commas, of {}", listed(words)),
                    )
                })
            })
            .collect()
    }

    fn deploy_on(&self, key: &str, value: &str) -> Result<Vec<DeployOn>, DirectiveError> {
        use DeployOn::Hook;
        use HookEvent as On;
        let words = [
            ("pre-install", Hook(On::PreInstall)),
            ("install", DeployOn::Install),
            ("post-install", Hook(On::PostInstall)),
            ("pre-upgrade", Hook(On::PreUpgrade)),
            ("upgrade", DeployOn::Upgrade),
            ("post-upgrade", Hook(On::PostUpgrade)),
            ("pre-rollback", Hook(On::PreRollback)),
            ("rollback", DeployOn::Rollback),
            ("post-rollback", Hook(On::PostRollback)),
            ("pre-delete", Hook(On::PreDelete)),
            ("delete", DeployOn::Delete),
            ("post-delete", Hook(On::PostDelete)),
            ("test", Hook(On::Test)),
            ("test-success", Hook(On::Test)),
        ];
        self.words(key, value, &words)
    }

    fn delete_policy(&self, key: &str, value: &str) -> Result<DeletePolicy, DirectiveError> {
        let mut policy = DeletePolicy::default();
        if value.is_empty() {
            return Ok(policy);
        }
        let words = [
            ("before-creation", 0),
            ("before-creation-if-immutable", 1),
            ("succeeded", 2),
            ("failed", 3),
        ];
        for word in self.words(key, value, &words)? {
            match word {
                0 => policy.before_creation = true,
                1 => policy.before_creation_if_immutable = true,
                2 => policy.succeeded = true,
                _ => policy.failed = true,
            }
        }
        Ok(policy)
    }

    fn resource_policy(&self, key: &str, value: &str) -> Result<ResourcePolicy, DirectiveError> {
        let mut policy = ResourcePolicy::default();
        let words = [
            ("skip-create", 0),
            ("skip-update", 1),
            ("skip-recreate", 2),
            ("skip-delete", 3),
            ("keep", 3),
        ];
        for word in self.words(key, value, &words)? {
            match word {
                0 => policy.skip_create = true,
                1 => policy.skip_update = true,
                2 => policy.skip_recreate = true,
                _ => policy.keep = true,
            }
        }
        Ok(policy)
    }

    /// JSON paths separated by commas; `\,` and `\\` stand for themselves.
    fn paths(&self, key: &str, value: &str) -> Result<Vec<String>, DirectiveError> {
        let mut paths = vec![String::new()];
        let mut rest = value.chars();
        while let Some(c) = rest.next() {
            match (c, paths.last_mut()) {
                (',', _) => paths.push(String::new()),
                ('\\', Some(path)) => path.extend(rest.next()),
                (c, Some(path)) => path.push(c),
                (_, None) => {}
            }
        }
        let paths: Vec<String> = paths
            .into_iter()
            .map(|path| path.trim().to_owned())
            .collect();
        for path in &paths {
            if let Err(why) = crate::secrecy::JsonPath::parse(path) {
                return Err(self.wrong(
                    key,
                    value,
                    format!("a list of JSON paths: {path:?}: {why}"),
                ));
            }
        }
        Ok(paths)
    }
}

fn listed<T>(words: &[(&str, T)]) -> String {
    let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests;
