//! `release`: uninstall on `down`, upgrade or install on `up`.
//!
//! Shell execution runs helm and release scripts; native execution is in `native`.

mod forecast;
mod native;

pub use forecast::{Forecast, ForecastContext};

use std::path::{Component, Path, PathBuf};

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use kzero_profile::manifest::ReleaseManifest;
use kzero_profile::{KindSpec, NameRule, OptionPhases, OptionSpec, Required, Shape, duration};

use super::context::StepContext;
use super::custom::script_program;
use super::error::StepError;
use super::kind::{Action, BuildContext, Execution, Kind, NeededFile, Subject, View};
use crate::environment::Environment;
use crate::event::{Effect, EventKind, Phase};
use crate::script::Program;

const fn option(name: &'static str, shape: Shape, summary: &'static str) -> OptionSpec {
    OptionSpec {
        name,
        shape,
        phases: OptionPhases::Up,
        required: Required::No,
        summary,
    }
}

/// The row of releases.
pub(super) const KIND: Kind = Kind {
    spec: KindSpec {
        name: "release",
        summary: "installs or upgrades a Helm release on up, uninstalls it on down",
        name_rule: NameRule::ReleaseName,
        options: &[
            option("script", Shape::Path, "shell script instead of <name>.sh"),
            option("chart", Shape::Text, "replaces the manifest's chart"),
            option("version", Shape::Text, "replaces the manifest's version"),
            option(
                "values_files",
                Shape::PathList,
                "replaces the manifest's list",
            ),
            option(
                "create_namespace",
                Shape::Bool,
                "replaces the manifest's setting",
            ),
        ],
    },
    build: |cx| Box::new(Release::new(cx)),
};

#[derive(Debug)]
struct Release {
    phase: Phase,
    namespace: String,
    name: String,
    reference: String,
    /// `helm.workspace` as written, and absolute.
    workspace: String,
    folder: PathBuf,
    script: Option<String>,
    chart: Option<String>,
    version: Option<String>,
    create_namespace: Option<bool>,
    values_files: Option<Vec<String>>,
    step_timeout: Option<std::time::Duration>,
    /// The manifest, or why it cannot be read; absent without a file.
    manifest: Option<Result<ReleaseManifest, String>>,
}

impl Release {
    fn new(cx: &BuildContext<'_>) -> Self {
        let workspace = cx.workspace.unwrap_or_default().to_owned();
        let folder = cx.environment.absolute(&workspace);
        let name = cx.reference.name.clone();
        let options = &cx.step.options;
        let text = |key: &str| options.text(key).map(ToOwned::to_owned);
        let shown = joined(&workspace, &format!("{name}.yaml"));
        let path = folder.join(format!("{name}.yaml"));
        let manifest = path.is_file().then(|| {
            kzero_profile::manifest::load(&path, &shown).map_err(|error| error.to_string())
        });
        Self {
            phase: cx.phase,
            namespace: cx.reference.namespace.clone(),
            reference: cx.reference.to_string(),
            workspace,
            folder,
            script: text("script"),
            chart: text("chart"),
            version: text("version"),
            create_namespace: options.bool("create_namespace"),
            values_files: options.list("values_files").map(<[String]>::to_vec),
            step_timeout: cx.step.timeout,
            manifest,
            name,
        }
    }

    fn object(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// The script as written or by default, relative to the workspace.
    fn script_name(&self) -> String {
        self.script
            .clone()
            .unwrap_or_else(|| format!("{}.sh", self.name))
    }

    /// The script as shown: joined with the workspace and cleaned (S-6.10).
    fn script_shown(&self) -> String {
        joined(&self.workspace, &self.script_name())
    }

    fn script_path(&self) -> PathBuf {
        self.folder.join(self.script_name())
    }

    /// PLAN of S-6.10 behind `helm upgrade --install`.
    fn plan(&self, view_timeout: Option<&str>) -> String {
        let manifest = match &self.manifest {
            Some(Ok(manifest)) => Some(manifest),
            Some(Err(_)) | None => None,
        };
        let chart = self.chart.as_deref().or_else(|| manifest?.chart.as_deref());
        let Some(chart) = chart else {
            return format!(
                "sdk, manifest: {}",
                joined(&self.workspace, &format!("{}.yaml", self.name))
            );
        };
        let mut parts = vec![format!("chart={chart}")];
        if let Some(version) = self
            .version
            .as_deref()
            .or_else(|| manifest?.version.as_deref())
        {
            parts.push(format!("version={version}"));
        }
        if manifest.and_then(|m| m.wait).unwrap_or(true) {
            parts.push("wait".into());
        }
        let create = self.create_namespace.or_else(|| manifest?.create_namespace);
        if create.unwrap_or(false) {
            parts.push("create-namespace".into());
        }
        if let Some(timeout) = view_timeout {
            parts.push(format!("timeout={timeout}"));
        }
        parts.join(", ")
    }

    fn plan_timeout(&self) -> Option<String> {
        self.step_timeout
            .or_else(|| self.timeout())
            .map(duration::format)
    }

    async fn shell_up(&self, cx: &StepContext<'_>) -> Result<(), StepError> {
        let path = self.script_shown();
        if cx.dry() {
            cx.act(
                Effect::ReleaseScript {
                    reference: self.reference.clone(),
                    path,
                },
                false,
            );
            return Ok(());
        }
        let label = format!("pipeline-{}-{}", cx.id.phase, cx.id.index);
        cx.bus.emit(EventKind::ScriptStarted {
            label: label.clone(),
            path: path.clone(),
            release: true,
        });
        let program = script_program(
            cx.settings,
            label,
            &path,
            &self.script_path(),
            &self.folder,
            &["up"],
            cx.base_env
                .for_release(self.phase, &self.namespace, &self.name),
        )?;
        cx.child(
            &program,
            &format!("running release script {}", self.reference),
        )
        .await?;
        Ok(())
    }

    async fn shell_down(&self, cx: &StepContext<'_>) -> Result<(), StepError> {
        cx.act(
            Effect::HelmUninstall {
                object: self.object(),
            },
            false,
        );
        if cx.dry() {
            return Ok(());
        }
        let helm = cx.program("command.helm", &cx.settings.helm)?;
        let mut arguments: Vec<std::ffi::OsString> = [
            "uninstall",
            &self.name,
            "-n",
            &self.namespace,
            "--wait",
            "--ignore-not-found",
        ]
        .iter()
        .map(Into::into)
        .collect();
        if let Some(context) = &cx.settings.context {
            arguments.push("--kube-context".into());
            arguments.push(context.into());
        }
        let program = Program {
            label: format!("pipeline-{}-{}", cx.id.phase, cx.id.index),
            shown: format!("{} uninstall", cx.settings.helm),
            executable: helm,
            arguments,
            directory: cx.settings.environment.directory.clone(),
            env: cx.base_env.clone(),
            default_shell: false,
            streamed: true,
        };
        cx.child(
            &program,
            &format!("uninstalling release {}", self.reference),
        )
        .await?;
        Ok(())
    }
}

/// Two paths joined and cleaned without looking at the disk: `./a` + `b` is `a/b`.
fn joined(folder: &str, name: &str) -> String {
    let mut parts: Vec<Component<'_>> = Vec::new();
    let path = Path::new(folder).join(name);
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => match parts.last() {
                Some(Component::Normal(_)) => {
                    parts.pop();
                }
                Some(Component::RootDir) => {}
                _ => parts.push(part),
            },
            other => parts.push(other),
        }
    }
    let clean: PathBuf = parts.iter().collect();
    clean.display().to_string()
}

impl Action for Release {
    fn detail(&self, view: &View) -> Option<String> {
        Some(match (self.phase, view.execution) {
            (Phase::Down, _) => "helm uninstall --wait --ignore-not-found".into(),
            (Phase::Up, Execution::Shell) => format!("script: {}", self.script_shown()),
            (Phase::Up, Execution::Native) => {
                let plan = self.plan(self.plan_timeout().as_deref());
                if plan.starts_with("sdk, ") {
                    format!("helm upgrade --install ({plan})")
                } else {
                    format!("helm upgrade --install (sdk), {plan}")
                }
            }
        })
    }

    fn files(&self, execution: Execution, _environment: &Environment) -> Vec<NeededFile> {
        match (self.phase, execution) {
            (Phase::Down, _) => Vec::new(),
            (Phase::Up, Execution::Shell) => vec![NeededFile {
                purpose: "release script".into(),
                written: self.script_shown(),
                path: self.script_path(),
                hint: None,
            }],
            (Phase::Up, Execution::Native) => {
                if self.chart.is_some() {
                    return Vec::new();
                }
                let script = self.folder.join(format!("{}.sh", self.name));
                let hint = script.is_file().then(|| {
                    format!(
                        "{} exists: run.execution: shell would use it",
                        joined(&self.workspace, &format!("{}.sh", self.name))
                    )
                });
                vec![NeededFile {
                    purpose: "release manifest".into(),
                    written: joined(&self.workspace, &format!("{}.yaml", self.name)),
                    path: self.folder.join(format!("{}.yaml", self.name)),
                    hint,
                }]
            }
        }
    }

    fn sources(&self, execution: Execution) -> Vec<(String, PathBuf)> {
        if (self.phase, execution) != (Phase::Up, Execution::Native) {
            return Vec::new();
        }
        let manifest = format!("{}.yaml", self.name);
        let mut sources = vec![(
            joined(&self.workspace, &manifest),
            self.folder.join(&manifest),
        )];
        sources.retain(|(_, path)| path.is_file());
        sources.extend(self.chart_sources());
        sources
    }

    fn warnings(&self, execution: Execution) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.phase == Phase::Up && execution == Execution::Native {
            match &self.manifest {
                Some(Err(text)) => warnings.push(text.clone()),
                Some(Ok(manifest)) if manifest.chart.is_none() && self.chart.is_none() => {
                    warnings.push(format!(
                        "{}: neither the manifest nor the step names a chart",
                        self.reference
                    ));
                }
                Some(Ok(_)) | None => {}
            }
            if self.script.is_some() {
                warnings.push(format!(
                    "{}: option script has no effect with native execution",
                    self.reference
                ));
            }
        }
        warnings
    }

    fn forecast<'a>(
        &'a self,
        cx: &'a ForecastContext<'a>,
    ) -> Option<LocalBoxFuture<'a, Result<Forecast, String>>> {
        (self.phase == Phase::Up).then(|| self.foresee(cx).boxed_local())
    }

    fn subject(&self) -> Subject {
        Subject::Release(self.namespace.clone(), self.name.clone())
    }

    fn timeout(&self) -> Option<std::time::Duration> {
        match &self.manifest {
            Some(Ok(manifest)) => manifest.timeout,
            Some(Err(_)) | None => None,
        }
    }

    fn run<'a>(&'a self, cx: &'a StepContext<'a>) -> LocalBoxFuture<'a, Result<(), StepError>> {
        async move {
            match (self.phase, cx.execution) {
                (Phase::Down, Execution::Shell) => self.shell_down(cx).await,
                (Phase::Up, Execution::Shell) => self.shell_up(cx).await,
                (Phase::Down, Execution::Native) => self.native_down(cx).await,
                (Phase::Up, Execution::Native) => self.native_up(cx).await,
            }
        }
        .boxed_local()
    }
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn script_paths_are_shown_clean() {
        // S-6.10
        assert_eq!(joined("./helm-assets", "pg.sh"), "helm-assets/pg.sh");
        assert_eq!(joined("helm/../x/", "./pg.sh"), "x/pg.sh");
        assert_eq!(joined("../x", "pg.sh"), "../x/pg.sh");
        assert_eq!(joined("./x", "/abs/pg.sh"), "/abs/pg.sh");
        assert_eq!(joined("/..", "pg.sh"), "/pg.sh");
    }
}
