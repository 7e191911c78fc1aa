//! Charts rendered for a release, with the cluster at hand.
//!
//! Templates are rendered on a thread of their own, since they are not `Send` and may take a while; their `lookup`s come back as
//! questions and are answered by the task that waits for them. The thread ends with its rendering, which has bounds of
//! its own; nobody waits for it once the operation is dropped.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::{SyncSender, sync_channel};

use kzero_chart::Chart;
use kzero_chart::manifest::{self, Hook, Manifest};
use kzero_chart::render::{Capabilities, KubeVersion, Lookup, Options, Prepared, Release};
use kzero_chart::schema::{self, Fetch};
use kzero_cluster::{Budget, Cluster, Discovery};
use kzero_gotmpl::Ambient;
use kzero_gotmpl::semver::is_compatible;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};

use crate::error::{Class, ReleaseError};
use crate::revision::StoredChart;

/// Stack of the thread: as much as the main thread's, which bounds of templates are made for.
const STACK: usize = 8 << 20;

/// What a chart came to.
#[derive(Debug, Clone)]
pub struct Rendered {
    /// What the record keeps of the chart.
    pub chart: StoredChart,
    /// The values that the user gave.
    pub config: Map<String, Value>,
    /// Documents that are applied, in the order of Helm.
    pub manifests: Vec<Manifest>,
    /// Hooks, by kind.
    pub hooks: Vec<Hook>,
    /// The rendered notes.
    pub notes: String,
    /// Files of `crds/`, each with its path.
    pub crds: Vec<(String, String)>,
    /// What is worth a warning.
    pub warnings: Vec<String>,
    /// What another program has made of the documents, as a record keeps it.
    pub changed: Option<String>,
}

impl Rendered {
    /// The same with what another program has made of the documents; hooks stay as they are, as in Helm 3.
    #[must_use]
    pub fn changed_to(mut self, text: String) -> Self {
        self.manifests = documents(&text)
            .into_iter()
            .map(|(path, content)| {
                let object = kzero_chart::yaml::decode_object(&content).unwrap_or_default();
                let field = |pointer| crate::resource::text(&object, pointer).to_owned();
                Manifest {
                    api_version: field("/apiVersion"),
                    kind: field("/kind"),
                    name: field("/metadata/name"),
                    path,
                    content,
                }
            })
            .collect();
        self.changed = Some(text);
        self
    }

    /// The documents as a record keeps them.
    #[must_use]
    pub fn manifest(&self) -> String {
        if let Some(changed) = &self.changed {
            return changed.clone();
        }
        let mut text = String::new();
        for manifest in &self.manifests {
            text.push_str("---\n# Source: ");
            text.push_str(&manifest.path);
            text.push('\n');
            text.push_str(&manifest.content);
            text.push('\n');
        }
        text
    }
}

/// The documents of a manifest as records keep it, each with the file it came from.
pub(crate) fn documents(manifest: &str) -> Vec<(String, String)> {
    manifest::split(manifest)
        .into_iter()
        .map(|text| {
            let path = text
                .lines()
                .next()
                .and_then(|line| line.strip_prefix("# Source: "))
                .unwrap_or("the stored manifest");
            (path.to_owned(), text.to_owned())
        })
        .collect()
}

/// What a revision was made with, for those who use its values again.
#[derive(Debug, Clone, Default)]
pub struct Former {
    /// The default values of its chart.
    pub chart_values: Map<String, Value>,
    /// The values that the user gave.
    pub config: Map<String, Value>,
}

/// What a chart is rendered for.
pub struct Context {
    /// `.Release`.
    pub release: Release,
    /// `.Capabilities`.
    pub capabilities: Capabilities,
    /// Asks the cluster.
    pub lookup: Questions,
    /// The revision that is upgraded, if one is.
    pub former: Option<Former>,
}

/// Loads and renders a chart; called on a thread of its own.
pub type Render = Box<dyn FnOnce(Context) -> Result<Rendered, String> + Send>;

/// Asks for objects of the cluster while templates are rendered.
pub struct Questions(mpsc::UnboundedSender<Question>);

struct Question {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
    answer: SyncSender<Answer>,
}

type Answer = Result<Option<Map<String, Value>>, String>;

impl Lookup for Questions {
    fn lookup(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Answer {
        let (answer, answered) = sync_channel(1);
        let ended = |_| "the operation has ended".to_owned();
        self.0
            .send(Question {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                answer,
            })
            .map_err(|_| ended(()))?;
        answered.recv().map_err(|_| ended(()))?
    }
}

/// What a cluster can do, as templates see it.
#[must_use]
pub fn capabilities(discovery: &Discovery) -> Capabilities {
    Capabilities {
        kube_version: KubeVersion {
            version: discovery.git_version.clone(),
            major: discovery.major.clone(),
            minor: discovery.minor.clone(),
        },
        api_versions: discovery.api_versions(),
    }
}

/// Renders on a thread of its own.
///
/// # Errors
///
/// What `render` says, and a thread that cannot be had.
///
/// # Cancel safety
///
/// Safe to drop: the thread ends with its rendering, at the latest when it next asks.
pub(crate) async fn run(
    render: Render,
    release: Release,
    former: Option<Former>,
    discovery: &Discovery,
    cluster: &Cluster,
    budget: &Budget,
) -> Result<Rendered, ReleaseError> {
    let (questions, mut asked) = mpsc::unbounded_channel();
    let (done, mut rendered) = oneshot::channel();
    let context = Context {
        release,
        capabilities: capabilities(discovery),
        lookup: Questions(questions),
        former,
    };
    let spawned = std::thread::Builder::new()
        .name("render".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            // Nobody may listen any more.
            let _ = done.send(render(context));
        });
    spawned.map_err(|error| {
        ReleaseError::new(Class::Failed, format!("cannot render: no thread: {error}\nhint: the limits of this machine (ulimit -u) leave no room for one"))
    })?;
    let lost = || {
        ReleaseError::new(
            Class::Failed,
            "rendering ended without a result\nhint: this is a fault of kzero; please report it with the chart",
        )
    };
    loop {
        tokio::select! {
            biased;
            result = &mut rendered => {
                return result.map_err(|_| lost())?.map_err(|text| {
                    ReleaseError::refused(text).hinting(
                        "nothing was begun; mend chart or values (`kzero chart template` and `kzero chart lint` check them without a cluster)",
                    )
                });
            }
            Some(question) = asked.recv() => {
                let answer = answer(&question, discovery, cluster, budget).await;
                let _ = question.answer.send(answer);
            }
        }
    }
}

async fn answer(
    question: &Question,
    discovery: &Discovery,
    cluster: &Cluster,
    budget: &Budget,
) -> Answer {
    let Question {
        api_version,
        kind,
        namespace,
        name,
        ..
    } = question;
    let Some(resource) = discovery.resource(api_version, kind) else {
        let known = discovery
            .group_versions
            .iter()
            .any(|known| known == api_version);
        return if known {
            Ok(None)
        } else {
            Err(format!(
                "unable to get apiresource from unstructured: {api_version}, Kind={kind}: the server could not find the requested resource"
            ))
        };
    };
    let found = if name.is_empty() {
        cluster.objects(resource, namespace, budget).await.map(Some)
    } else {
        cluster.object(resource, namespace, name, budget).await
    };
    match found.map_err(|error| error.to_string())? {
        Some(Value::Object(map)) => Ok(Some(map)),
        _ => Ok(None),
    }
}

/// A chart with what it is rendered with.
pub struct Source<'a> {
    /// The chart, with all that it needs.
    pub chart: &'a Chart,
    /// The values that the user gives.
    pub values: Map<String, Value>,
    /// Gets schemas that others refer to; `None` leaves values unchecked.
    pub schemas: Option<&'a dyn Fetch>,
    /// Clock and chance.
    pub ambient: &'a dyn Ambient,
    /// Whether templates may look up names of hosts.
    pub dns: bool,
    /// Whether the notes of charts in the chart are shown too.
    pub all_notes: bool,
}

/// Renders a chart as Helm does for an install or upgrade.
///
/// # Errors
///
/// Helm's words for what is wrong with the chart, its values or its templates.
pub fn chart(source: Source<'_>, context: Context) -> Result<Rendered, String> {
    let Source { chart, values, .. } = source;
    installable(chart)?;
    let prepared = Prepared::new(chart, &values).map_err(|error| error.to_string())?;
    let mut warnings = prepared.warnings().to_vec();
    if chart.metadata.deprecated {
        warnings.push("This chart is deprecated".to_owned());
    }
    if let Some(fetch) = source.schemas {
        let noting = Noting {
            fetch,
            said: RefCell::default(),
        };
        schema::validate_prepared(&prepared, &noting).map_err(|error| error.to_string())?;
        warnings.append(&mut noting.said.into_inner());
    }
    let wanted = &chart.metadata.kube_version;
    let version = &context.capabilities.kube_version.version;
    if !wanted.is_empty() && !is_compatible(wanted, version) {
        return Err(format!(
            "chart requires kubeVersion: {wanted} which is incompatible with Kubernetes {version}"
        ));
    }
    let defaults = prepared.chart_values().map_err(|error| error.to_string())?;
    let stored = StoredChart::of(chart, &prepared.metadata(), &defaults)
        .map_err(|error| error.to_string())?;
    let options = Options {
        dns: source.dns,
        lookup: Some(Rc::new(context.lookup)),
        ..Options::default()
    };
    let mut rendered = prepared
        .render(
            &context.release,
            &context.capabilities,
            source.ambient,
            &options,
        )
        .map_err(|error| error.to_string())?;
    let notes = manifest::take_notes(&mut rendered, &chart.metadata.name, source.all_notes);
    let sorted = manifest::sort(&rendered.files).map_err(|error| error.to_string())?;
    warnings.extend(sorted.warnings);
    let crds = prepared
        .crds()
        .into_iter()
        .map(|(path, file)| (path, String::from_utf8_lossy(&file.data).into_owned()))
        .collect();
    Ok(Rendered {
        chart: stored,
        config: values,
        manifests: sorted.manifests,
        hooks: sorted.hooks,
        notes,
        crds,
        warnings,
        changed: None,
    })
}

/// Gets schemas, and notes what is worth a warning.
struct Noting<'a> {
    fetch: &'a dyn Fetch,
    said: RefCell<Vec<String>>,
}

impl Fetch for Noting<'_> {
    fn fetch(&self, url: &str) -> Result<Vec<u8>, String> {
        self.fetch.fetch(url)
    }

    fn warn(&self, text: &str) {
        self.said.borrow_mut().push(text.to_owned());
    }
}

/// Fails if a chart cannot be installed at all.
///
/// # Errors
///
/// Helm's words.
pub fn installable(chart: &Chart) -> Result<(), String> {
    is_application(chart)?;
    is_complete(chart)
}

/// Fails if a chart is only for use by other charts.
///
/// # Errors
///
/// Helm's words.
pub fn is_application(chart: &Chart) -> Result<(), String> {
    match chart.metadata.kind.as_str() {
        "" | "application" => Ok(()),
        kind => Err(format!("{kind} charts are not installable")),
    }
}

/// Fails if dependencies are missing that a chart lists.
///
/// # Errors
///
/// Helm's words.
pub fn is_complete(chart: &Chart) -> Result<(), String> {
    let missing = missing_dependencies(chart);
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "An error occurred while checking for chart dependencies. You may need to run `helm dependency build` to fetch missing dependencies: found in Chart.yaml, but missing in charts/ directory: {}",
        missing.join(", ")
    ))
}

/// Dependencies that a chart lists and does not have.
#[must_use]
pub fn missing_dependencies(chart: &Chart) -> Vec<String> {
    let listed = chart.metadata.dependencies.iter().flatten().flatten();
    let is_missing = |name: &String| {
        !chart
            .dependencies
            .iter()
            .any(|child| child.metadata.name == *name)
    };
    listed
        .map(|dependency| dependency.name.clone())
        .filter(is_missing)
        .collect()
}
