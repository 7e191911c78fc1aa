//! `release install` and `release upgrade`.

use clap::Args;
use kzero_release::decide::Strategy;
use kzero_release::engine::{Deploy, Deployed, Engine, Existing, Options, Timing};
use kzero_release::error::ReleaseError;
use kzero_release::revision::{Revision, check_name};
use kzero_release::show::{Format, StatusParts, status};

use super::chart::{Charted, How, Reuse, find};
use super::flags::{
    ApplyFlags, CrdFlags, DryRunFlags, Effect, HistoryFlag, OutputFlag, TimeFlag, WaitFlags,
    labels, most_kept,
};
use super::post::PostFlags;
use super::session::{Place, Session, Work};
use crate::ambient::System;
use crate::cli::chart::{SourceFlags, ValueFlags, check_release_name, name_from_template};

/// `release install`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct InstallArgs {
    /// The chart, with the release's name before it unless that is generated.
    #[arg(value_names = ["NAME", "CHART"], required = true, num_args = 1..)]
    words: Vec<String>,
    /// Make a name up from the chart's.
    #[arg(short, long)]
    generate_name: bool,
    /// Template of the name.
    #[arg(long, value_name = "TEMPLATE")]
    name_template: Option<String>,
    /// Take the name of a release that failed or was uninstalled with its history kept.
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    deploy: DeployFlags,
}

/// `release upgrade`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct UpgradeArgs {
    /// The release.
    #[arg(value_name = "NAME")]
    name: String,
    /// The chart.
    #[arg(value_name = "CHART")]
    chart: String,
    /// Install the chart if there is no such release.
    #[arg(short, long)]
    install: bool,
    /// Use the values that the last revision was given, over the defaults that its chart had.
    #[arg(long)]
    reuse_values: bool,
    /// Use the defaults of the chart, whatever the last revision was given.
    #[arg(long)]
    reset_values: bool,
    /// Use the values that the last revision was given, over the defaults that the chart has now.
    #[arg(long)]
    reset_then_reuse_values: bool,
    /// Delete what the upgrade created if it fails.
    #[arg(long)]
    cleanup_on_fail: bool,
    /// Delete the pods of objects that were there, so that they are made anew. Deprecated in Helm.
    #[arg(long, hide = true)]
    recreate_pods: bool,
    #[command(flatten)]
    history: HistoryFlag,
    #[command(flatten)]
    deploy: DeployFlags,
}

/// What both take.
#[derive(Debug, Clone, Args)]
struct DeployFlags {
    #[command(flatten)]
    values: ValueFlags,
    #[command(flatten)]
    source: SourceFlags,
    #[command(flatten)]
    waiting: WaitFlags,
    #[command(flatten)]
    time: TimeFlag,
    #[command(flatten)]
    apply: ApplyFlags,
    #[command(flatten)]
    crds: CrdFlags,
    #[command(flatten)]
    dry_run: DryRunFlags,
    #[command(flatten)]
    output: OutputFlag,
    #[command(flatten)]
    post: PostFlags,
    /// Create the namespace if it is not there.
    #[arg(long)]
    create_namespace: bool,
    /// Undo what failed: uninstall an install, roll an upgrade back. Waits as with --wait.
    #[arg(long, visible_alias = "rollback-on-failure")]
    atomic: bool,
    /// Leave the hooks of the chart out.
    #[arg(long)]
    no_hooks: bool,
    /// Take over objects of others.
    #[arg(long)]
    take_ownership: bool,
    /// Description of the revision.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Labels of the record: key1=val1,key2=val2; an upgrade takes one off by the value null.
    #[arg(short, long, value_name = "LABELS")]
    labels: Vec<String>,
    /// Do not check values against the schemas of charts.
    #[arg(long)]
    skip_schema_validation: bool,
    /// Leave the notes out of the output.
    #[arg(long)]
    hide_notes: bool,
    /// Show the notes of charts in the chart too.
    #[arg(long)]
    render_subchart_notes: bool,
    /// Let getHostByName ask the name service.
    #[arg(long)]
    enable_dns: bool,
    /// Update the dependencies of the chart's folder first where some are missing.
    #[arg(long)]
    dependency_update: bool,
    /// Take over a revision that another program left pending.
    #[arg(long)]
    recover: bool,
    /// Make no revision where nothing would change.
    #[arg(long)]
    skip_unchanged: bool,
    /// Taken as Helm takes it; the API server checks objects by itself.
    #[arg(long, hide = true)]
    disable_openapi_validation: bool,
}

impl DeployFlags {
    /// Finds the chart and reads the values.
    fn find(&self, place: &Place<'_>, reference: &str) -> Result<Charted, String> {
        find(
            place.app,
            reference,
            &self.source,
            &self.values,
            self.dependency_update,
            &self.post,
        )
    }

    /// How it is rendered.
    fn how(&self, reuse: Reuse) -> How {
        How {
            reuse,
            checks_schemas: !self.skip_schema_validation,
            dns: self.enable_dns,
            all_notes: self.render_subchart_notes,
        }
    }

    /// How it is deployed.
    fn options(&self, strategy: Strategy) -> Result<Options, String> {
        let waits = self.waiting.wait() || self.atomic;
        Ok(Options {
            wait: waits,
            wait_for_jobs: waits && self.waiting.jobs(),
            atomic: self.atomic,
            strategy,
            replace: self.apply.force,
            force_conflicts: self.apply.force_conflicts,
            take_ownership: self.take_ownership,
            crds: self.crds.policy(),
            skip_unchanged: self.skip_unchanged,
            recover: self.recover,
            disable_hooks: self.no_hooks,
            create_namespace: self.create_namespace,
            description: self.description.clone(),
            labels: labels(&self.labels)?,
            ..Options::default()
        })
    }

    /// How changes are written.
    fn strategy(&self) -> Result<Strategy, String> {
        self.apply.strategy()
    }
}

/// Installs.
pub(super) fn install(place: &Place<'_>, arguments: &InstallArgs) -> Result<(), String> {
    installed(place, arguments).map_err(|text| format!("INSTALLATION FAILED: {text}"))
}

fn installed(place: &Place<'_>, arguments: &InstallArgs) -> Result<(), String> {
    let flags = &arguments.deploy;
    let effect = flags.dry_run.effect()?;
    let (name, reference) = name_and_chart(arguments)?;
    check_release_name(&name)?;
    let charted = flags.find(place, &reference)?;
    let options = Options {
        existing: if arguments.replace {
            Existing::Replaced
        } else {
            Existing::Refused
        },
        history_max: most_kept(place.app),
        ..flags.options(flags.strategy()?)?
    };
    let deployed = place.enter(async |session| {
        let deploy = Deploy {
            name: name.clone(),
            options,
            render: charted.render(flags.how(Reuse::Never), session),
            timing: flags.time.timing(),
        };
        Ok(deployed(session, deploy, effect).await?)
    })?;
    shown(place, flags, effect, &deployed)
}

/// Upgrades.
pub(super) fn upgrade(place: &Place<'_>, arguments: &UpgradeArgs) -> Result<(), String> {
    let flags = &arguments.deploy;
    let name = arguments.name();
    let effect = flags.dry_run.effect()?;
    check_name(name).map_err(|_| match arguments.install {
        // Helm looks for the history of the release before it upgrades.
        true => format!("release name is invalid: {name}"),
        false => format!("UPGRADE FAILED: release name is invalid: {name}"),
    })?;
    let (charted, options) = arguments.wishes(place)?;
    let is_table = arguments.format() == Format::Table;
    let deployed = place.enter(async |session| {
        let absent = arguments.install && session.is_absent(name).await?;
        if absent && is_table {
            let text = format!("Release {name:?} does not exist. Installing it now.\n");
            place.app.output.result(&text);
        }
        let deploy = Deploy {
            name: name.to_owned(),
            options,
            render: charted.render(arguments.how(absent), session),
            timing: arguments.timing(),
        };
        let deployed = deployed(session, deploy, effect).await;
        // Helm has these words before what an upgrade says, and not before what an install says.
        let deployed = deployed.map_err(|failed| match absent {
            true => failed.text,
            false => format!("UPGRADE FAILED: {}", failed.text),
        })?;
        if !absent && is_table {
            let text = format!("Release {name:?} has been upgraded. Happy Helming!\n");
            place.app.output.result(&text);
        }
        Ok(deployed)
    })?;
    shown(place, flags, effect, &deployed)
}

impl UpgradeArgs {
    /// The name of the release.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether a missing namespace is made.
    pub(super) fn creates_namespace(&self) -> bool {
        self.deploy.create_namespace
    }

    /// The form of the output.
    pub(super) fn format(&self) -> Format {
        self.deploy.output.output
    }

    /// What each hook and wait may take.
    pub(super) fn timing(&self) -> Timing {
        self.deploy.time.timing()
    }

    /// The chart with its values, and how it is deployed. No runtime may be running.
    ///
    /// # Errors
    ///
    /// Helm's texts.
    pub(super) fn wishes(&self, place: &Place<'_>) -> Result<(Charted, Options), String> {
        let flags = &self.deploy;
        if self.recreate_pods {
            place.app.warn("Flag --recreate-pods has been deprecated, functionality will no longer be updated. Consult the documentation for other methods to recreate pods");
        }
        let options = flags.options(flags.strategy()?)?;
        let options = Options {
            existing: if self.install {
                Existing::Either
            } else {
                Existing::Required
            },
            history_max: self.history.max(place.app),
            cleanup_on_fail: self.cleanup_on_fail,
            recreate_pods: self.recreate_pods,
            create_namespace: options.create_namespace && self.install,
            ..options
        };
        Ok((flags.find(place, &self.chart)?, options))
    }

    /// How the chart is rendered, for a release that is there or absent.
    pub(super) fn how(&self, absent: bool) -> How {
        let reuse = if absent || self.reset_values {
            Reuse::Never
        } else if self.reuse_values {
            Reuse::All
        } else if self.reset_then_reuse_values {
            Reuse::Given
        } else {
            Reuse::IfNoneAreGiven
        };
        self.deploy.how(reuse)
    }
}

/// Deploys, or does as if.
async fn deployed(
    session: &Session<'_>,
    deploy: Deploy,
    effect: Effect,
) -> Result<Deployed, super::session::Failed> {
    let name = deploy.name.clone();
    let work = Work {
        release: &name,
        mode: effect.mode(),
        says_cancelled: true,
    };
    session
        .engaged(work, async |engine| match effect {
            Effect::Live | Effect::Server => engine.deploy(deploy).await,
            Effect::Client => foreseen(engine, deploy).await,
        })
        .await
}

/// What a deployment would come to, without asking the API server to check it.
async fn foreseen(engine: &Engine<'_>, deploy: Deploy) -> Result<Deployed, ReleaseError> {
    let planned = engine.plan(deploy).await?;
    Ok(Deployed {
        purpose: planned.plan.purpose,
        revision: planned.revision,
        skipped: false,
    })
}

/// Prints what Helm prints at the end.
fn shown(
    place: &Place<'_>,
    flags: &DeployFlags,
    effect: Effect,
    deployed: &Deployed,
) -> Result<(), String> {
    let mut revision = deployed.revision.clone();
    if effect != Effect::Live {
        "Dry run complete".clone_into(&mut revision.info.description);
        if let Some(description) = &flags.description {
            revision.info.description.clone_from(description);
        }
        if flags.dry_run.hide_secret {
            revision.manifest = without_secrets(&revision.manifest);
        }
    }
    if deployed.skipped {
        place.app.warn(&format!(
            "nothing would change: revision {} stays",
            revision.version
        ));
    }
    let text = match flags.output.output {
        Format::Table => {
            let parts = StatusParts {
                hide_notes: flags.hide_notes,
                ..StatusParts::default()
            };
            status(&revision, parts, Format::Table).map_err(|error| error.to_string())?
        }
        format => document(&revision, format)?,
    };
    place.app.output.result(&text);
    Ok(())
}

/// A whole revision with its chart, as Helm prints it.
fn document(revision: &Revision, format: Format) -> Result<String, String> {
    let bytes = kzero_release::codec::go_json(revision)
        .map_err(|error| format!("unable to write JSON output: {error}"))?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if format == Format::Yaml {
        let value: serde_json::Value = serde_json::from_str(&text)
            .map_err(|error| format!("unable to write YAML output: {error}"))?;
        text = kzero_chart::yaml::encode(&value)
            .map_err(|error| format!("unable to write YAML output: {error}"))?;
    }
    text.push('\n');
    Ok(text)
}

/// The manifest with a note in place of each Secret.
fn without_secrets(manifest: &str) -> String {
    let mut text = String::new();
    for document in kzero_chart::manifest::split(manifest) {
        let (source, _) = document.split_once('\n').unwrap_or((document, ""));
        let object = kzero_chart::yaml::decode_object(document).unwrap_or_default();
        let is_secret = object.get("kind").is_some_and(|kind| kind == "Secret")
            && object
                .get("apiVersion")
                .is_some_and(|version| version == "v1");
        let shown = if is_secret {
            format!("{source}\n# HIDDEN: The Secret output has been suppressed")
        } else {
            document.to_owned()
        };
        text.push_str(&format!("---\n{shown}\n"));
    }
    text
}

/// The release's name and the chart's reference.
fn name_and_chart(arguments: &InstallArgs) -> Result<(String, String), String> {
    let template = arguments.name_template.as_deref();
    let template = template.filter(|template| !template.is_empty());
    match arguments.words.as_slice() {
        [chart] => {
            if let Some(template) = template {
                let name = name_from_template(template, &System::default())?;
                return Ok((name, chart.clone()));
            }
            if !arguments.generate_name {
                return Err("must either provide a name or specify --generate-name".to_owned());
            }
            Ok((generated(chart), chart.clone()))
        }
        [_, _] if arguments.generate_name => {
            Err("cannot set --generate-name and also specify a name".to_owned())
        }
        [_, _] if template.is_some() => {
            Err("cannot set --name-template and also specify a name".to_owned())
        }
        [name, chart] => Ok((name.clone(), chart.clone())),
        [_, _, more @ ..] => Err(format!(
            "expected at most two arguments, unexpected arguments: {}",
            more.join(", ")
        )),
        [] => Err("\"kzero release install\" requires at least 1 argument".to_owned()),
    }
}

/// A name from a chart's reference and the clock.
fn generated(reference: &str) -> String {
    let base = reference.trim_end_matches('/');
    let base = base.rsplit('/').next().unwrap_or_default();
    let base = match base {
        "" | "." | ".." => "chart",
        base => base,
    };
    // As in Helm, all behind the first dot counts as what says which kind of file it is.
    let base = base.split_once('.').map_or(base, |(stem, _)| stem);
    format!("{base}-{}", jiff::Timestamp::now().as_second())
}

#[cfg(test)]
mod tests {
    use super::{generated, without_secrets};

    #[test]
    fn names_are_made_from_charts() {
        for (reference, base) in [
            ("./charts/web", "web-"),
            ("repo/web", "web-"),
            (".", "chart-"),
            ("web/", "web-"),
            ("web.tgz", "web-"),
        ] {
            let name = generated(reference);
            assert!(name.starts_with(base), "{reference}: {name}");
        }
    }

    #[test]
    fn secrets_of_a_manifest_are_left_out_and_nothing_else() {
        let map =
            "---\n# Source: a/templates/map.yaml\napiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n";
        let secret = "---\n# Source: a/templates/s.yaml\napiVersion: v1\nkind: Secret\nstringData: {a: hunter2}\n";
        assert_eq!(
            without_secrets(&format!("{map}{secret}")),
            format!(
                "{map}---\n# Source: a/templates/s.yaml\n# HIDDEN: The Secret output has been suppressed\n"
            )
        );
    }
}
