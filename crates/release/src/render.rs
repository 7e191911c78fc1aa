//! Charts rendered for a release, with the cluster at hand.
//!
//! Templates are rendered on a thread of their own, since they are not `Send` and may take a while; their `lookup`s come back as
//! questions and are answered by the task that waits for them. The thread ends with its rendering, which has bounds of
//! its own; nobody waits for it once the operation is dropped.

use std::sync::mpsc::{SyncSender, sync_channel};

use kzero_chart::manifest::{Hook, Manifest, Manifests};
use kzero_chart::render::{Capabilities, KubeVersion, Lookup, Release};
use kzero_cluster::{Budget, Cluster, Discovery};
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
}

impl Rendered {
    /// Puts documents and hooks in place.
    #[must_use]
    pub fn with(mut self, sorted: Manifests) -> Self {
        self.manifests = sorted.manifests;
        self.hooks = sorted.hooks;
        self.warnings.extend(sorted.warnings);
        self
    }

    /// The documents as a record keeps them.
    #[must_use]
    pub fn manifest(&self) -> String {
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
        ReleaseError::new(Class::Failed, format!("cannot render: no thread: {error}"))
    })?;
    let lost = || {
        ReleaseError::new(
            Class::Failed,
            "rendering ended without a result; this is a fault of kzero",
        )
    };
    loop {
        tokio::select! {
            biased;
            result = &mut rendered => {
                return result.map_err(|_| lost())?.map_err(ReleaseError::refused);
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
