//! Chart.yaml and Chart.lock: their fields, and what makes them valid.

pub(crate) mod time;

use std::collections::{BTreeMap, HashSet};

use kzero_gotmpl::semver::Version;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::fields::{Cx, Fill, Record};
use crate::quote::{is_print, quoted};
use crate::yaml::Target;
pub use time::Generated;

fn is_false(value: &bool) -> bool {
    !*value
}

fn none_or_empty<T>(list: &Option<Vec<T>>) -> bool {
    list.as_ref().is_none_or(Vec::is_empty)
}

/// Chart.yaml. Serializes as Helm writes it into releases: empty fields are left out.
///
/// Lists are none where the file has none or null; their items are none where they are null,
/// which [`Self::validate`] refuses.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The name of the chart.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The address of the project.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub home: String,
    /// Addresses of sources.
    #[serde(skip_serializing_if = "none_or_empty")]
    pub sources: Option<Vec<String>>,
    /// The version of the chart.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// A sentence about the chart.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Words to find it by.
    #[serde(skip_serializing_if = "none_or_empty")]
    pub keywords: Option<Vec<String>>,
    /// Who looks after it.
    #[serde(skip_serializing_if = "none_or_empty")]
    pub maintainers: Option<Vec<Option<Box<Maintainer>>>>,
    /// The address of a picture.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub icon: String,
    /// `v1` or `v2`; `v1` where the file has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// Without effect.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// Without effect.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tags: String,
    /// The version of what the chart installs, in no particular form.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub app_version: String,
    /// Whether the chart should no longer be used.
    #[serde(skip_serializing_if = "is_false")]
    pub deprecated: bool,
    /// Notes for other programs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// The constraint on the version of Kubernetes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kube_version: String,
    /// The charts this one needs.
    #[serde(skip_serializing_if = "none_or_empty")]
    pub dependencies: Option<Vec<Option<Box<Dependency>>>>,
    /// Empty, `application` or `library`.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
}

/// Who looks after a chart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Maintainer {
    /// A person or an organisation.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Where to write to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub email: String,
    /// A page.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub url: String,
}

/// A chart that another one needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Dependency {
    /// The name in its own Chart.yaml.
    pub name: String,
    /// A constraint on its version; in a lock one version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Where it comes from.
    pub repository: String,
    /// Paths of values that switch it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// Names of groups that are switched together.
    #[serde(skip_serializing_if = "none_or_empty")]
    pub tags: Option<Vec<String>>,
    /// Overwritten by condition and tags.
    #[serde(skip_serializing_if = "is_false")]
    pub enabled: bool,
    /// Names, or maps of `child` and `parent`: values that the parent takes over.
    #[serde(rename = "import-values", skip_serializing_if = "none_or_empty")]
    pub import_values: Option<Vec<Value>>,
    /// The name it goes by in the parent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub alias: String,
}

/// Chart.lock or requirements.lock.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Lock {
    /// When it was written.
    pub generated: Generated,
    /// The digest of the dependencies it was written for.
    pub digest: String,
    /// The dependencies, each with one version.
    pub dependencies: Option<Vec<Option<Box<Dependency>>>>,
}

const TEXTS: Target = <Option<Vec<String>>>::TARGET;

impl Record for Metadata {
    const NAME: &'static str = "chart.Metadata";
    const FIELDS: Target = Target::Fields(&[
        ("name", Target::Text),
        ("home", Target::Text),
        ("sources", TEXTS),
        ("version", Target::Text),
        ("description", Target::Text),
        ("keywords", TEXTS),
        (
            "maintainers",
            <Option<Vec<Option<Box<Maintainer>>>>>::TARGET,
        ),
        ("icon", Target::Text),
        ("apiVersion", Target::Text),
        ("condition", Target::Text),
        ("tags", Target::Text),
        ("appVersion", Target::Text),
        ("deprecated", Target::Any),
        ("annotations", <BTreeMap<String, String>>::TARGET),
        ("kubeVersion", Target::Text),
        ("dependencies", DEPENDENCIES),
        ("type", Target::Text),
    ]);

    fn fill_fields(&mut self, cx: &mut Cx, map: &Map<String, Value>) {
        cx.fields(
            "Metadata",
            &Self::FIELDS,
            map,
            |cx, name, value| match name {
                "name" => self.name.fill(cx, value),
                "home" => self.home.fill(cx, value),
                "sources" => self.sources.fill(cx, value),
                "version" => self.version.fill(cx, value),
                "description" => self.description.fill(cx, value),
                "keywords" => self.keywords.fill(cx, value),
                "maintainers" => self.maintainers.fill(cx, value),
                "icon" => self.icon.fill(cx, value),
                "apiVersion" => self.api_version.fill(cx, value),
                "condition" => self.condition.fill(cx, value),
                "tags" => self.tags.fill(cx, value),
                "appVersion" => self.app_version.fill(cx, value),
                "deprecated" => self.deprecated.fill(cx, value),
                "annotations" => self.annotations.fill(cx, value),
                "kubeVersion" => self.kube_version.fill(cx, value),
                "dependencies" => self.dependencies.fill(cx, value),
                _ => self.kind.fill(cx, value),
            },
        );
    }
}

impl Record for Maintainer {
    const NAME: &'static str = "chart.Maintainer";
    const FIELDS: Target = Target::Fields(&[
        ("name", Target::Text),
        ("email", Target::Text),
        ("url", Target::Text),
    ]);

    fn fill_fields(&mut self, cx: &mut Cx, map: &Map<String, Value>) {
        cx.fields(
            "Maintainer",
            &Self::FIELDS,
            map,
            |cx, name, value| match name {
                "name" => self.name.fill(cx, value),
                "email" => self.email.fill(cx, value),
                _ => self.url.fill(cx, value),
            },
        );
    }
}

const DEPENDENCIES: Target = <Option<Vec<Option<Box<Dependency>>>>>::TARGET;

impl Record for Dependency {
    const NAME: &'static str = "chart.Dependency";
    const FIELDS: Target = Target::Fields(&[
        ("name", Target::Text),
        ("version", Target::Text),
        ("repository", Target::Text),
        ("condition", Target::Text),
        ("tags", TEXTS),
        ("enabled", Target::Any),
        ("import-values", Target::Any),
        ("alias", Target::Text),
    ]);

    fn fill_fields(&mut self, cx: &mut Cx, map: &Map<String, Value>) {
        cx.fields(
            "Dependency",
            &Self::FIELDS,
            map,
            |cx, name, value| match name {
                "name" => self.name.fill(cx, value),
                "version" => self.version.fill(cx, value),
                "repository" => self.repository.fill(cx, value),
                "condition" => self.condition.fill(cx, value),
                "tags" => self.tags.fill(cx, value),
                "enabled" => self.enabled.fill(cx, value),
                "import-values" => self.import_values.fill(cx, value),
                _ => self.alias.fill(cx, value),
            },
        );
    }
}

impl Record for Lock {
    const NAME: &'static str = "chart.Lock";
    const FIELDS: Target = Target::Fields(&[
        ("generated", Target::Any),
        ("digest", Target::Text),
        ("dependencies", DEPENDENCIES),
    ]);

    fn fill_fields(&mut self, cx: &mut Cx, map: &Map<String, Value>) {
        cx.fields("Lock", &Self::FIELDS, map, |cx, name, value| match name {
            "generated" => self.generated.fill(cx, value),
            "digest" => self.digest.fill(cx, value),
            _ => self.dependencies.fill(cx, value),
        });
    }
}

/// Makes every white space a plain one and takes out what cannot be printed.
fn clean(text: &mut String) {
    let kept = text.chars().filter_map(|c| {
        if c.is_whitespace() {
            Some(' ')
        } else {
            is_print(c).then_some(c)
        }
    });
    *text = kept.collect();
}

impl Metadata {
    /// Cleans the texts and checks them, in Helm's order.
    ///
    /// # Errors
    ///
    /// Helm's text of the first thing that is wrong, with `validation: ` before it.
    pub fn validate(&mut self) -> Result<(), String> {
        self.check().map_err(|error| format!("validation: {error}"))
    }

    fn check(&mut self) -> Result<(), String> {
        for text in [
            &mut self.name,
            &mut self.description,
            &mut self.home,
            &mut self.icon,
            &mut self.condition,
            &mut self.tags,
            &mut self.app_version,
            &mut self.kube_version,
        ] {
            clean(text);
        }
        for list in [&mut self.sources, &mut self.keywords] {
            list.iter_mut().flatten().for_each(clean);
        }
        let required = |field| Err(format!("chart.metadata.{field} is required"));
        if self.api_version.is_empty() {
            return required("apiVersion");
        }
        let name = self.name.as_str();
        match name {
            "" => return required("name"),
            "." | ".." => {
                return Err(format!(
                    "chart.metadata.name {} is not allowed",
                    quoted(name)
                ));
            }
            // The base name of `/` is itself.
            _ if name != "/" && name.contains('/') => {
                return Err(format!("chart.metadata.name {} is invalid", quoted(name)));
            }
            _ => {}
        }
        if self.version.is_empty() {
            return required("version");
        }
        if Version::parse(&self.version).is_err() {
            let version = quoted(&self.version);
            return Err(format!("chart.metadata.version {version} is invalid"));
        }
        if !matches!(self.kind.as_str(), "" | "application" | "library") {
            return Err("chart.metadata.type must be application or library".to_owned());
        }
        for maintainer in self.maintainers.iter_mut().flatten() {
            let maintainer = maintainer
                .as_mut()
                .ok_or("maintainers must not contain empty or null nodes")?;
            clean(&mut maintainer.name);
            clean(&mut maintainer.email);
            clean(&mut maintainer.url);
        }
        let mut names = HashSet::new();
        for dependency in self.dependencies.iter_mut().flatten() {
            let dependency = dependency
                .as_mut()
                .ok_or("dependencies must not contain empty or null nodes")?;
            dependency.check()?;
            let name = dependency.effective_name();
            if !names.insert(name) {
                return Err(format!(
                    "more than one dependency with name or alias {}",
                    quoted(name)
                ));
            }
        }
        Ok(())
    }
}

impl Dependency {
    /// The name it goes by in the parent: the alias, or its own.
    #[must_use]
    pub fn effective_name(&self) -> &str {
        if self.alias.is_empty() {
            &self.name
        } else {
            &self.alias
        }
    }

    fn check(&mut self) -> Result<(), String> {
        for text in [
            &mut self.name,
            &mut self.version,
            &mut self.repository,
            &mut self.condition,
        ] {
            clean(text);
        }
        self.tags.iter_mut().flatten().for_each(clean);
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if self.alias.chars().all(allowed) {
            Ok(())
        } else {
            Err(format!(
                "dependency {} has disallowed characters in the alias",
                quoted(&self.name)
            ))
        }
    }
}
