//! `chart template`: render a chart and print what Helm would.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use clap::Args;
use kzero_chart::manifest::{self, Hook, HookEvent, Manifest};
use kzero_chart::render::{
    Capabilities, KubeVersion, Lookup, Options, Prepared, Release, Rendered,
};
use kzero_chart::{Chart, load, schema};
use kzero_gotmpl::semver::is_compatible;

use kzero_release::render::{is_application, is_complete};

use super::flags::given;
use super::live::Live;
use super::schemas::Schemas;
use super::source::{Found, SourceFlags, loaded};
use super::values::ValueFlags;
use super::{dependency, name};
use crate::ambient::System;
use crate::cli::app::App;

/// `chart template`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct TemplateArgs {
    /// The chart, with the release's name before it if it shall have one.
    #[arg(value_names = ["NAME", "CHART"], required = true, num_args = 1..)]
    words: Vec<String>,
    /// Namespace of the release.
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    #[command(flatten)]
    values: ValueFlags,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    rendering: RenderFlags,
    #[command(flatten)]
    naming: NameFlags,
    #[command(flatten)]
    source: SourceFlags,
    /// Update the dependencies of the chart's folder first where some are missing.
    #[arg(long)]
    dependency_update: bool,
    #[command(flatten)]
    installing: InstallFlags,
}

/// What Helm takes here because `install` has it, and what changes nothing that is printed: scripts written for Helm run.
#[derive(Debug, Clone, Args)]
struct InstallFlags {
    #[arg(long, hide = true)]
    atomic: bool,
    #[arg(long, hide = true)]
    create_namespace: bool,
    #[arg(long, hide = true, value_name = "TEXT")]
    description: Option<String>,
    #[arg(long, hide = true)]
    disable_openapi_validation: bool,
    #[arg(long, hide = true)]
    force: bool,
    #[arg(long, hide = true)]
    hide_notes: bool,
    #[arg(short, long, hide = true, value_name = "LABELS")]
    labels: Vec<String>,
    #[arg(long, hide = true)]
    render_subchart_notes: bool,
    #[arg(long, hide = true)]
    replace: bool,
    #[arg(long, hide = true)]
    skip_crds: bool,
    #[arg(long, hide = true)]
    take_ownership: bool,
    #[arg(long, hide = true, value_name = "DURATION")]
    timeout: Option<String>,
    #[arg(long, hide = true)]
    wait: bool,
    #[arg(long, hide = true)]
    wait_for_jobs: bool,
}

/// What is rendered, and for what.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Rendering")]
struct RenderFlags {
    /// Version of Kubernetes for .Capabilities.KubeVersion.
    #[arg(long, value_name = "VERSION")]
    kube_version: Option<String>,
    /// More API versions for .Capabilities.APIVersions; repeat or separate by commas.
    #[arg(short, long, value_name = "API", value_delimiter = ',')]
    api_versions: Vec<String>,
    /// Set .Release.IsUpgrade instead of .Release.IsInstall.
    #[arg(long)]
    is_upgrade: bool,
    /// Do not check values against the schemas of charts.
    #[arg(long)]
    skip_schema_validation: bool,
    /// Let getHostByName ask the name service.
    #[arg(long)]
    enable_dns: bool,
    /// Ask the cluster for its version and APIs, and check that it knows each kind and that no object belongs to another.
    #[arg(long)]
    validate: bool,
    /// With server, lookup finds what is in the cluster.
    #[arg(long, value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    dry_run: Option<String>,
}

impl RenderFlags {
    /// Whether `lookup` asks the cluster.
    fn asks_server(&self) -> bool {
        matches!(self.dry_run.as_deref(), Some("server" | "none" | "false"))
    }
}

/// What is printed, and where to.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
struct OutputFlags {
    /// Only the manifests of these files, as in templates/deployment.yaml; repeat for several.
    #[arg(short, long, value_name = "PATH")]
    show_only: Vec<String>,
    /// Print the manifests of crds/ too.
    #[arg(long)]
    include_crds: bool,
    /// Leave hooks out.
    #[arg(long)]
    no_hooks: bool,
    /// Leave test hooks out.
    #[arg(long)]
    skip_tests: bool,
    /// Write files into this folder instead of standard output.
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Put the release's name into the paths of --output-dir.
    #[arg(long)]
    release_name: bool,
    /// Print what was rendered even if it is no valid YAML.
    #[arg(long)]
    debug: bool,
}

/// How the release is named.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Name")]
struct NameFlags {
    /// Make a name up from the chart's.
    #[arg(short, long)]
    generate_name: bool,
    /// Template of the name.
    #[arg(long, value_name = "TEMPLATE")]
    name_template: Option<String>,
}

/// Renders and prints.
pub(super) fn run(app: &App, arguments: &TemplateArgs) -> Result<(), String> {
    let kube_version = arguments
        .rendering
        .kube_version
        .as_deref()
        .filter(|version| !version.is_empty())
        .map(|version| {
            KubeVersion::parse(version)
                .map_err(|error| format!("invalid kube version '{version}': {error}"))
        })
        .transpose()?;
    let (name, reference) = release_name(arguments)?;
    let found = arguments
        .source
        .locate(app, reference, load::path_to_render)?;
    let values = arguments.values.merge(app)?;
    // The process ends with this command and gives all back at once: freeing values and trees one by one would take a
    // fifth of the time.
    let chart = ManuallyDrop::new(complete(app, found, arguments)?);
    name::check(&name)?;
    let live = connect(app, &arguments.rendering)?;
    let capabilities = match live.as_ref().filter(|_| arguments.rendering.validate) {
        Some(live) => live.capabilities(),
        None => offline(kube_version, &arguments.rendering.api_versions),
    };
    let prepared =
        ManuallyDrop::new(Prepared::new(&chart, &values).map_err(|error| error.to_string())?);
    for warning in prepared.warnings() {
        app.warn(warning);
    }
    if !arguments.rendering.skip_schema_validation {
        schema::validate_prepared(&prepared, &Schemas { app })
            .map_err(|error| error.to_string())?;
    }
    let mut release =
        Release::install(&name, super::namespace(app, arguments.namespace.as_deref()));
    release.is_upgrade = arguments.rendering.is_upgrade;
    release.is_install = !release.is_upgrade;
    let job = Job {
        app,
        arguments,
        chart: &chart,
        prepared: &prepared,
        name: &name,
        live,
    };
    let mut shown = job.manifests(&release, &capabilities);
    if let (Some(error), false) = (&shown.error, arguments.output.debug) {
        return Err(format!(
            "{error}\n\nUse --debug flag to render out invalid YAML"
        ));
    }
    if let Some(live) = job.live.as_ref().filter(|_| arguments.rendering.validate)
        && shown.error.is_none()
    {
        live.check(
            &shown.manifests,
            &name,
            &release.namespace,
            release.is_upgrade,
        )?;
    }
    job.print(&mut shown)?;
    shown.error.map_or(Ok(()), Err)
}

/// The cluster, if it is to be asked for anything.
fn connect(app: &App, flags: &RenderFlags) -> Result<Option<Rc<Live>>, String> {
    if let Some(mode) = &flags.dry_run
        && !["false", "true", "none", "client", "server"].contains(&mode.as_str())
    {
        return Err("Invalid dry-run flag. Flag must one of the following: false, true, none, client, server".to_owned());
    }
    if flags.validate || flags.asks_server() {
        return Live::connect(app).map(Some);
    }
    Ok(None)
}

/// What is known without a cluster.
fn offline(version: Option<KubeVersion>, more: &[String]) -> Capabilities {
    let mut capabilities = Capabilities::default();
    if let Some(version) = version {
        capabilities.kube_version = version;
    }
    capabilities.api_versions.extend(more.iter().cloned());
    capabilities
}

/// The name and the chart's reference.
fn release_name(arguments: &TemplateArgs) -> Result<(String, &str), String> {
    let template = arguments.naming.name_template.as_deref();
    let template = template.filter(|template| !template.is_empty());
    match arguments.words.as_slice() {
        [chart] => {
            if let Some(template) = template {
                return Ok((name::from_template(template, &System::default())?, chart));
            }
            // Helm gives it this name whatever --generate-name says.
            Ok(("release-name".to_owned(), chart))
        }
        [name, chart] => {
            if arguments.naming.generate_name {
                return Err("cannot set --generate-name and also specify a name".to_owned());
            }
            if template.is_some() {
                return Err("cannot set --name-template and also specify a name".to_owned());
            }
            Ok((name.clone(), chart))
        }
        [_, _, more @ ..] => Err(format!(
            "expected at most two arguments, unexpected arguments: {}",
            more.join(", ")
        )),
        [] => Err("\"kzero chart template\" requires at least 1 argument".to_owned()),
    }
}

/// The chart with all it needs, if it can be installed at all.
fn complete(app: &App, found: Found, arguments: &TemplateArgs) -> Result<Chart, String> {
    let Found { chart, place } = found;
    is_application(&chart)?;
    if chart.metadata.deprecated {
        app.warn("WARNING: This chart is deprecated");
    }
    let Err(incomplete) = is_complete(&chart) else {
        return Ok(chart);
    };
    if arguments.dependency_update
        && let Some(place) = place
    {
        dependency::update(app, &place, false, arguments.source.flags())?;
        return loaded(&place)
            .map_err(|error| format!("failed reloading chart after repo update: {error}"));
    }
    Err(incomplete)
}

/// A chart that is about to be rendered.
struct Job<'a> {
    app: &'a App,
    arguments: &'a TemplateArgs,
    chart: &'a Chart,
    prepared: &'a Prepared<'a>,
    name: &'a str,
    live: Option<Rc<Live>>,
}

/// What is printed, and what went wrong while it was made.
#[derive(Default)]
struct Shown {
    text: String,
    manifests: Vec<Manifest>,
    hooks: Vec<Hook>,
    error: Option<String>,
}

impl Job<'_> {
    fn manifests(&self, release: &Release, capabilities: &Capabilities) -> Shown {
        match self.rendered(release, capabilities) {
            Ok(mut rendered) => self.sorted(&mut rendered),
            Err(error) => Shown {
                error: Some(error),
                ..Shown::default()
            },
        }
    }

    fn rendered(&self, release: &Release, capabilities: &Capabilities) -> Result<Rendered, String> {
        let wanted = &self.chart.metadata.kube_version;
        let version = &capabilities.kube_version.version;
        if !wanted.is_empty() && !is_compatible(wanted, version) {
            return Err(format!(
                "chart requires kubeVersion: {wanted} which is incompatible with Kubernetes {version}"
            ));
        }
        let dns = self.arguments.rendering.enable_dns;
        let mut options = Options {
            dns,
            ..Options::default()
        };
        if self.arguments.rendering.asks_server()
            && let Some(live) = &self.live
        {
            options.lookup = Some(Rc::clone(live) as Rc<dyn Lookup>);
        }
        self.prepared
            .render(release, capabilities, &System { dns }, &options)
            .map_err(|error| error.to_string())
    }

    fn sorted(&self, rendered: &mut Rendered) -> Shown {
        // Notes are for people who install.
        let _notes = manifest::take_notes(rendered, &self.chart.metadata.name, false);
        match manifest::sort(&rendered.files) {
            Ok(found) => {
                for warning in &found.warnings {
                    self.app.warn(warning);
                }
                Shown {
                    manifests: found.manifests,
                    hooks: found.hooks,
                    ..Shown::default()
                }
            }
            Err(error) => {
                // All files as they are, so that the fault can be seen.
                let mut text = String::new();
                for (path, content) in &rendered.files {
                    let content = String::from_utf8_lossy(content);
                    if !content.trim().is_empty() {
                        let _ = writeln!(text, "---\n# Source: {path}\n{content}");
                    }
                }
                Shown {
                    text,
                    error: Some(error.to_string()),
                    ..Shown::default()
                }
            }
        }
    }

    fn print(&self, shown: &mut Shown) -> Result<(), String> {
        let output = &self.arguments.output;
        let mut folder = given(output.output_dir.as_ref()).map(|folder| Folder {
            root: self.app.environment.absolute(folder),
            shown: folder.to_owned(),
            release: output.release_name.then_some(self.name),
            written: HashSet::new(),
        });
        let mut text = std::mem::take(&mut shown.text);
        let sizes = shown.manifests.iter();
        text.reserve(sizes.map(|m| source_len(&m.path, &m.content)).sum());
        if shown.error.is_none() && output.include_crds {
            for (path, file) in self.prepared.crds() {
                let content = String::from_utf8_lossy(&file.data);
                if let Some(error) = file.data.failure() {
                    return Err(error.to_owned());
                }
                match &mut folder {
                    // Helm leaves the release's name out of these paths.
                    Some(folder) => folder.write(self.app, &path, &content, false)?,
                    None => source(&mut text, &path, &content),
                }
            }
        }
        for manifest in &shown.manifests {
            match &mut folder {
                Some(folder) => folder.write(self.app, &manifest.path, &manifest.content, true)?,
                None => source(&mut text, &manifest.path, &manifest.content),
            }
        }
        let mut hooks = String::from("\n");
        if !output.no_hooks {
            for hook in &shown.hooks {
                if output.skip_tests && hook.events.contains(&HookEvent::Test) {
                    continue;
                }
                match &mut folder {
                    Some(folder) => folder.write(self.app, &hook.path, &hook.manifest, true)?,
                    None => source(&mut hooks, &hook.path, &hook.manifest),
                }
            }
        }
        if output.show_only.is_empty() {
            self.app.output.result(text.trim());
            self.app.output.result(&hooks);
        } else {
            let all = [text.trim(), &hooks].concat();
            self.app.output.result(&only(&all, &output.show_only)?);
        }
        Ok(())
    }
}

/// How long a document is with its source.
fn source_len(path: &str, content: &str) -> usize {
    "---\n# Source: \n\n".len() + path.len() + content.len()
}

fn source(text: &mut String, path: &str, content: &str) {
    for part in ["---\n# Source: ", path, "\n", content, "\n"] {
        text.push_str(part);
    }
}

/// Only the documents from these files, in the order the files are given in.
fn only(text: &str, wanted: &[String]) -> Result<String, String> {
    let documents: Vec<(&str, &str)> = manifest::split(text)
        .into_iter()
        .filter_map(|document| Some((source_of(document)?, document)))
        .collect();
    let mut out = String::new();
    for pattern in wanted {
        let mut missing = true;
        for (path, document) in &documents {
            // A pattern that is none matches nothing, as in Helm.
            if kzero_chart::filepath_match(pattern, path) {
                let _ = writeln!(out, "---\n{document}");
                missing = false;
            }
        }
        if missing {
            return Err(format!("could not find template {pattern} in chart"));
        }
    }
    Ok(out)
}

/// The path behind `# Source: ` without the chart's name.
fn source_of(document: &str) -> Option<&str> {
    document.lines().find_map(|line| {
        let at = line.find("# Source: ")?;
        let (chart, path) = line.get(at + 10..)?.split_once('/')?;
        (!chart.is_empty() && !path.is_empty()).then_some(path)
    })
}

/// Where `--output-dir` puts files.
struct Folder<'a> {
    root: PathBuf,
    /// As it was given.
    shown: PathBuf,
    release: Option<&'a str>,
    written: HashSet<PathBuf>,
}

impl Folder<'_> {
    /// Writes a document into the file of its path: the first one anew, others behind it.
    fn write(&mut self, app: &App, path: &str, content: &str, named: bool) -> Result<(), String> {
        let release = self.release.filter(|_| named);
        let place = |root: &Path| match release {
            Some(name) => root.join(name).join(path),
            None => root.join(path),
        };
        let file = place(&self.root);
        let shown = place(&self.shown);
        let failed = |error: std::io::Error| format!("cannot write {}: {error}", shown.display());
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        let again = !self.written.insert(file.clone());
        let mut options = std::fs::OpenOptions::new();
        if again {
            options.append(true);
        } else {
            options.write(true).truncate(true).create(true);
        }
        let mut target = options.open(&file).map_err(failed)?;
        let mut text = String::new();
        source(&mut text, path, content);
        target.write_all(text.as_bytes()).map_err(failed)?;
        app.output.result(&format!("wrote {}\n", shown.display()));
        Ok(())
    }
}
