//! Charts with values to rendered files, byte for byte as Helm 3.22.
//!
//! Duty: what stands in every template's dot, in which order files are parsed and executed, and Helm's words for what
//! goes wrong. [`Prepared`] is a chart whose dependencies are switched and whose values are known; it renders as often
//! as one likes.
//!
//! ```
//! use kzero_chart::load::{File, files};
//! use kzero_chart::render::{Capabilities, Options, Prepared, Release};
//! use kzero_gotmpl::Still;
//!
//! let file = |name: &str, text: &str| File { name: name.into(), data: text.into() };
//! let chart = files(vec![
//!     file("Chart.yaml", "name: web\nversion: 1.0.0\n"),
//!     file("templates/a.yaml", "name: {{ .Release.Name }}-{{ .Values.tier }}\n"),
//! ])?;
//! let mut values = serde_json::Map::new();
//! kzero_chart::values::set::set(&mut values, "tier=gold")?;
//! let prepared = Prepared::new(&chart, &values)?;
//! let release = Release::install("shop", "default");
//! let out = prepared.render(&release, &Capabilities::default(), &Still::new(0, 0), &Options::default())?;
//! assert_eq!(out.files["web/templates/a.yaml"], b"name: shop-gold\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod capabilities;
mod functions;
mod objects;
mod record;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use kzero_gotmpl::{
    Ambient, ErrorKind, Limits, Map, MissingKey, Rendering, Str, TemplateError, TemplateSet, Value,
};
use serde_json::{Map as Object, Value as Json};

use crate::convert;
use crate::load::{Chart, File};
use crate::metadata::Metadata;
use crate::tree::{Id, ROOT, Tree, table};
use crate::values::{Nulls, coalesce};
pub use capabilities::{Capabilities, KubeVersion};

/// A chart that cannot be rendered, in Helm's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RenderError {
    message: String,
    kind: FailureKind,
}

/// Where rendering failed, for those who act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// Values or dependencies do not fit together.
    Values,
    /// A template does not parse.
    Parse,
    /// A template failed, or asked to fail.
    Execute,
    /// A template used more than it may.
    Limit,
}

impl RenderError {
    fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            kind,
        }
    }

    /// Where it failed.
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        self.kind
    }
}

/// How `required` and `fail` act.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// They fail.
    #[default]
    Render,
    /// They note what they would fail for and give an empty text, as in `helm lint`.
    Lint,
}

/// Objects of a cluster, for `lookup`.
pub trait Lookup {
    /// One object, or with an empty name a list of them; `None` if it is not there.
    ///
    /// # Errors
    ///
    /// Why the cluster cannot be asked; the rendering ends with it.
    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Object<String, Json>>, String>;
}

/// What a release is rendered for: `.Release`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// The name.
    pub name: String,
    /// The namespace.
    pub namespace: String,
    /// The number of the revision, from 1.
    pub revision: i64,
    /// Whether the release is new.
    pub is_install: bool,
    /// Whether an older revision is there.
    pub is_upgrade: bool,
}

impl Release {
    /// The first revision of a release.
    #[must_use]
    pub fn install(name: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            namespace: namespace.into(),
            revision: 1,
            is_install: true,
            is_upgrade: false,
        }
    }

    fn value(&self) -> Value {
        Value::map([
            ("Name", Value::from(self.name.as_str())),
            ("Namespace", Value::from(self.namespace.as_str())),
            ("IsUpgrade", Value::Bool(self.is_upgrade)),
            ("IsInstall", Value::Bool(self.is_install)),
            ("Revision", Value::Int(self.revision)),
            ("Service", Value::from("Helm")),
        ])
    }
}

/// How charts are rendered.
#[derive(Clone, Default)]
pub struct Options {
    /// Whether `required` and `fail` fail.
    pub mode: Mode,
    /// Whether a missing key is an error.
    pub strict: bool,
    /// Whether `getHostByName` asks; it gives nothing otherwise.
    pub dns: bool,
    /// Where `lookup` looks; it finds nothing otherwise, nor in lint mode.
    pub lookup: Option<Rc<dyn Lookup>>,
    /// What all templates together may use.
    pub limits: Limits,
}

/// Rendered files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// By path, such as `web/charts/db/templates/x.yaml`; files whose names begin with `_` are not among them.
    pub files: BTreeMap<String, Vec<u8>>,
    /// What `required` and `fail` said in lint mode.
    pub notes: Vec<String>,
}

/// A chart whose dependencies are switched on or off, with all values for it.
#[derive(Debug)]
pub struct Prepared<'c> {
    tree: Tree<'c>,
    values: Map,
    warnings: Vec<String>,
    /// The templates of the last rendering. They end with the chart, so that a program that ends as well need not free
    /// them one by one.
    parsed: RefCell<Option<TemplateSet>>,
}

/// More than this much rendered text is refused, in bytes.
const MAX_RENDERED: usize = 256 << 20;

impl<'c> Prepared<'c> {
    /// Switches and renames dependencies by these values, imports values, and lays the values over those of the charts.
    ///
    /// # Errors
    ///
    /// A chart's values are no table, or aliases multiply charts without end.
    pub fn new(chart: &'c Chart, values: &Object<String, Json>) -> Result<Self, RenderError> {
        let failed = |message| RenderError::new(FailureKind::Values, message);
        let mut warnings = Vec::new();
        let mut tree = Tree::new(chart);
        let given = convert::table(values);
        tree.process(&given, &mut warnings).map_err(failed)?;
        let values = coalesce(&tree, ROOT, &given, Nulls::Delete, &mut warnings).map_err(failed)?;
        Ok(Self {
            tree,
            values,
            warnings,
            parsed: RefCell::default(),
        })
    }

    /// Helm's warnings about values and dependencies, in order.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// All values together: `.Values`, and what `get values --all` shows. Templates that change values change them for
    /// later calls as well.
    ///
    /// # Errors
    ///
    /// They hold what JSON cannot, which only templates can bring about.
    pub fn values(&self) -> Result<Object<String, Json>, RenderError> {
        table_of(&self.values)
    }

    /// The chart's own values, with those imported: what a release record keeps.
    ///
    /// # Errors
    ///
    /// As [`Self::values`].
    pub fn chart_values(&self) -> Result<Object<String, Json>, RenderError> {
        table_of(&self.tree.values(ROOT))
    }

    /// Chart.yaml with the dependencies that are switched on, under their aliases: what a release record keeps.
    #[must_use]
    pub fn metadata(&self) -> Metadata {
        let mut metadata = self.tree.chart(ROOT).metadata.clone();
        let dependencies: Vec<_> = self
            .tree
            .dependencies(ROOT)
            .map(|dependency| Some(Box::new(dependency.clone())))
            .collect();
        metadata.dependencies = (!dependencies.is_empty()).then_some(dependencies);
        metadata
    }

    /// The manifests of `crds/` of this chart and of those switched on in it, with their paths.
    #[must_use]
    pub fn crds(&self) -> Vec<(String, &'c File)> {
        let mut found = Vec::new();
        self.collect_crds(ROOT, &mut found);
        found
    }

    fn collect_crds(&self, id: Id, found: &mut Vec<(String, &'c File)>) {
        let chart = self.tree.chart(id);
        for file in chart.own_crds() {
            found.push((format!("{}/{}", self.tree.full_path(id), file.name), file));
        }
        for &child in self.tree.children(id) {
            self.collect_crds(child, found);
        }
    }

    /// The charts that take part, each with its name, its schema and the path of names to its values.
    #[must_use]
    pub fn schemas(&self) -> Vec<(String, &'c [u8], Vec<String>)> {
        let mut found = Vec::new();
        self.collect_schemas(ROOT, &mut Vec::new(), &mut found);
        found
    }

    fn collect_schemas(
        &self,
        id: Id,
        path: &mut Vec<String>,
        found: &mut Vec<(String, &'c [u8], Vec<String>)>,
    ) {
        if let Some(schema) = &self.tree.chart(id).schema {
            found.push((self.tree.name(id).to_owned(), schema, path.clone()));
        }
        for &child in self.tree.children(id) {
            path.push(self.tree.name(child).to_owned());
            self.collect_schemas(child, path, found);
            path.pop();
        }
    }

    /// Why a file that was looked at could not be read.
    fn unread(&self) -> Option<&str> {
        self.tree.charts().find_map(|chart| {
            let mut files = chart.files.iter();
            files.find_map(|file| file.data.failure())
        })
    }

    /// Renders all templates.
    ///
    /// # Errors
    ///
    /// A template that does not parse or fails, in Helm's words; bounds that are reached.
    pub fn render(
        &self,
        release: &Release,
        capabilities: &Capabilities,
        ambient: &dyn Ambient,
        options: &Options,
    ) -> Result<Rendered, RenderError> {
        let rendered = self.render_files(release, capabilities, ambient, options);
        match self.unread() {
            Some(error) => Err(RenderError::new(FailureKind::Values, error)),
            None => rendered,
        }
    }

    fn render_files(
        &self,
        release: &Release,
        capabilities: &Capabilities,
        ambient: &dyn Ambient,
        options: &Options,
    ) -> Result<Rendered, RenderError> {
        let log = Rc::new(RefCell::new(Vec::new()));
        let funcs = functions::all(options.mode, options.dns, options.lookup.clone(), &log);
        let missing = if options.strict {
            MissingKey::Error
        } else {
            MissingKey::Zero
        };
        let mut set = TemplateSet::new("gotpl", funcs).missing_key(missing);
        let dots = Dots {
            tree: &self.tree,
            release: release.value(),
            capabilities: objects::capabilities(capabilities),
        };
        let mut templates = BTreeMap::new();
        dots.collect(ROOT, None, &self.values, &mut templates);
        let mut order: Vec<&String> = templates.keys().collect();
        order.sort_by_key(|path| std::cmp::Reverse((path.matches('/').count(), *path)));
        let texts: Vec<(&str, Str)> = order
            .iter()
            .map(|path| (path.as_str(), templates[*path].file.data.clone()))
            .collect();
        set.parse_all(&texts)
            .map_err(|(path, error)| not_parsed(path, &error))?;
        let rendering = Rendering::new(ambient, &options.limits);
        let mut rendered = Rendered::default();
        let mut size = 0;
        for &path in &order {
            if path
                .rsplit('/')
                .next()
                .is_some_and(|name| name.starts_with('_'))
            {
                continue;
            }
            let text = execute(&rendering, &set, path, &templates[path])?;
            size += text.len();
            if size > MAX_RENDERED {
                let message = format!("chart renders to more than {MAX_RENDERED} bytes");
                return Err(RenderError::new(FailureKind::Limit, message));
            }
            rendered.files.insert(path.clone(), text);
        }
        rendered.notes = log.take();
        self.parsed.replace(Some(set));
        Ok(rendered)
    }
}

fn table_of(map: &Map) -> Result<Object<String, Json>, RenderError> {
    match convert::to_json(&Value::Map(map.clone()), &mut { usize::MAX }) {
        Ok(Json::Object(map)) => Ok(map),
        Ok(_) => Ok(Object::new()),
        Err(error) => Err(RenderError::new(FailureKind::Values, error.message())),
    }
}

/// A template with the dot of its chart.
struct Template<'c> {
    file: &'c File,
    dot: Map,
    base_path: Rc<str>,
}

fn execute(
    rendering: &Rendering<'_>,
    set: &TemplateSet,
    path: &str,
    template: &Template<'_>,
) -> Result<Vec<u8>, RenderError> {
    let about = Map::new().with_type(&objects::VALUES);
    about.set(Str::from("Name"), Value::from(path));
    about.set(Str::from("BasePath"), Value::from(&*template.base_path));
    template.dot.set(Str::from("Template"), Value::Map(about));
    let dot = Value::Map(template.dot.clone().with_type(&objects::VALUES));
    let text = rendering
        .render(set, path, &dot)
        .map_err(|error| not_executed(path, &error))?;
    Ok(functions::without_marks(text))
}

/// Builds the dots of all charts in a tree.
struct Dots<'a, 'c> {
    tree: &'a Tree<'c>,
    release: Value,
    capabilities: Value,
}

impl<'c> Dots<'_, 'c> {
    /// The dot of a chart, whose values are a table of its parent's.
    fn collect(
        &self,
        id: Id,
        parent: Option<&Map>,
        root_values: &Map,
        templates: &mut BTreeMap<String, Template<'c>>,
    ) -> Map {
        let tree = self.tree;
        let chart = tree.chart(id);
        let values = match parent {
            None => root_values.clone(),
            Some(parent) => {
                // A name with a dot in it is a path here, as in Helm.
                let path = format!("Values.{}", tree.name(id));
                table(parent, &path).unwrap_or_default()
            }
        };
        let charts_inside = Map::new();
        let dot = Map::new();
        for (key, value) in [
            ("Chart", objects::chart(tree, id)),
            ("Files", objects::files(&chart.files)),
            ("Release", self.release.clone()),
            ("Capabilities", self.capabilities.clone()),
            ("Values", Value::Map(values.with_type(&objects::VALUES))),
            ("Subcharts", Value::Map(charts_inside.clone())),
        ] {
            dot.set(Str::from(key), value);
        }
        for &child in tree.children(id) {
            let inner = self.collect(child, Some(&dot), root_values, templates);
            charts_inside.set(Str::from(tree.name(child)), Value::Map(inner));
        }
        let path = tree.full_path(id);
        let base_path: Rc<str> = format!("{path}/templates").into();
        let is_library = chart.metadata.kind.eq_ignore_ascii_case("library");
        for file in &chart.templates {
            let name = file.name.rsplit('/').next().unwrap_or(&file.name);
            if !is_library || name.starts_with('_') {
                let template = Template {
                    file,
                    dot: dot.clone(),
                    base_path: Rc::clone(&base_path),
                };
                templates.insert(format!("{path}/{}", file.name), template);
            }
        }
        dot
    }
}

fn not_parsed(path: &str, error: &TemplateError) -> RenderError {
    let text = error.to_string();
    let message = match (text.split(": ").nth(1), text.rsplit(": ").next()) {
        (Some(place), Some(last)) => format!("parse error at ({place}): {last}"),
        _ => format!("parse error in ({path}): {text}"),
    };
    RenderError::new(FailureKind::Parse, message)
}

fn not_executed(path: &str, error: &TemplateError) -> RenderError {
    let text = error.to_string();
    if error.kind == ErrorKind::Limit {
        return RenderError::new(FailureKind::Limit, text);
    }
    let mut tokens = text.splitn(3, ": ");
    let message = match (tokens.nth(1), tokens.next()) {
        (Some(place), Some(rest)) => match functions::between_marks(rest) {
            Some(message) => format!("execution error at ({place}): {message}"),
            None => text,
        },
        _ => format!("execution error in ({path}): {text}"),
    };
    RenderError::new(FailureKind::Execute, message)
}
