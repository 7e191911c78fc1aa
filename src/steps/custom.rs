//! `custom`: a script as the main action.

use std::path::Path;

use futures::FutureExt;
use futures::future::LocalBoxFuture;

use super::context::StepContext;
use super::error::StepError;
use super::kind::{Action, Execution, NeededFile, Subject, View};
use crate::environment::Environment;
use crate::event::{Effect, EventKind, Phase};
use crate::script::{ChildEnv, Program};

/// Runs a script of the profile.
#[derive(Debug)]
pub struct CustomAction {
    /// The pipeline.
    pub phase: Phase,
    /// Zero-based index in it.
    pub index: usize,
    /// The path as written.
    pub path: String,
}

/// A script as S-4.1 starts it: `<command.shell> <absolute path>`.
pub(crate) fn script_program(
    cx: &super::Settings,
    label: String,
    written: &str,
    path: &Path,
    directory: &Path,
    arguments: &[&str],
    env: ChildEnv,
) -> Result<Program, StepError> {
    let shell = cx.environment.find_program(&cx.shell).ok_or_else(|| {
        StepError::permanent(format!(
            "{}: interpreter {} not found\nhint: set command.shell to a shell that is installed",
            written, cx.shell
        ))
    })?;
    let mut all = vec![path.as_os_str().to_owned()];
    all.extend(arguments.iter().map(Into::into));
    Ok(Program {
        label,
        shown: written.to_owned(),
        executable: shell,
        arguments: all,
        directory: directory.to_owned(),
        env,
        default_shell: cx.default_shell,
        streamed: true,
    })
}

impl Action for CustomAction {
    fn detail(&self, _view: &View) -> Option<String> {
        None
    }

    fn files(&self, _execution: Execution, environment: &Environment) -> Vec<NeededFile> {
        vec![NeededFile {
            purpose: "custom script".into(),
            written: self.path.clone(),
            path: environment.absolute(&self.path),
            hint: None,
        }]
    }

    fn subject(&self) -> Subject {
        Subject::Nothing
    }

    fn run<'a>(&'a self, cx: &'a StepContext<'a>) -> LocalBoxFuture<'a, Result<(), StepError>> {
        async move {
            if cx.dry() {
                cx.act(
                    Effect::Custom {
                        path: self.path.clone(),
                    },
                    false,
                );
                return Ok(());
            }
            let environment = &cx.settings.environment;
            let label = format!("pipeline-{}-{}", self.phase, self.index);
            cx.bus.emit(EventKind::ScriptStarted {
                label: label.clone(),
                path: self.path.clone(),
                release: false,
            });
            let program = script_program(
                cx.settings,
                label.clone(),
                &self.path,
                &environment.absolute(&self.path),
                &environment.directory,
                &[],
                cx.env.clone(),
            )?;
            cx.child(&program, &format!("running script {label}"))
                .await?;
            Ok(())
        }
        .boxed_local()
    }
}
