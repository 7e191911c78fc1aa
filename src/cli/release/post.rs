//! `--post-renderer`: a program that changes rendered documents before they are deployed.

use clap::Args;
use kzero_cluster::Budget;
use kzero_release::render::Rendered;

use crate::cli::app::App;
use crate::script::{ChildEnv, Interrupt, Program, filter};
use crate::stop::Stop;

/// The flags.
#[derive(Debug, Clone, Args)]
pub(super) struct PostFlags {
    /// Program that gets the rendered documents, without hooks, on standard input and prints what is deployed instead.
    #[arg(long, value_name = "PROGRAM")]
    post_renderer: Option<String>,
    /// Argument of that program; may be given several times.
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    post_renderer_args: Vec<String>,
}

/// A program that was found.
#[derive(Debug, Clone)]
pub(super) struct PostRenderer {
    program: Program,
    stop: Stop,
}

impl PostFlags {
    /// The program, if one is asked for.
    ///
    /// # Errors
    ///
    /// Helm's text for a program that is not there.
    pub(super) fn program(&self, app: &App) -> Result<Option<Program>, String> {
        let wanted = self.post_renderer.as_deref();
        let Some(name) = wanted.filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let executable = app.environment.find_program(name).ok_or_else(|| {
            let why = match name.contains('/') {
                true => format!("stat {name}: no such file or directory"),
                false => "executable file not found in $PATH".to_owned(),
            };
            format!(
                "invalid argument {name:?} for \"--post-renderer\" flag: unable to find binary at {name}: exec: {name:?}: {why}\nhint: give the path of an executable file, or a name that is in PATH"
            )
        })?;
        Ok(Some(Program {
            label: "post-renderer".to_owned(),
            shown: executable.display().to_string(),
            arguments: self.post_renderer_args.iter().map(Into::into).collect(),
            directory: app.environment.directory.clone(),
            env: ChildEnv::new(&app.environment, false, None, None, "release", ""),
            executable,
            default_shell: false,
            streamed: false,
        }))
    }
}

impl PostRenderer {
    /// A program that ends when a stop is asked for.
    pub(super) fn new(program: Program, stop: Stop) -> Self {
        Self { program, stop }
    }

    /// Has the program change the documents. For threads without a runtime.
    ///
    /// # Errors
    ///
    /// Helm's text for a program that fails.
    pub(super) fn run(&self, rendered: Rendered) -> Result<Rendered, String> {
        let failed = |why: String| format!("error while running post render on files: {why}");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| failed(format!("no runtime: {error}")))?;
        let interrupt = Interrupt {
            stop: self.stop.clone(),
            budget: Budget::unlimited(),
            cleanup: false,
        };
        let text = rendered.manifest();
        let printed = runtime
            .block_on(filter(&self.program, &text, &interrupt))
            .map_err(|error| failed(error.text))?;
        let printed = String::from_utf8(printed)
            .map_err(|error| failed(format!("{} printed no text: {error}", self.program.shown)))?;
        Ok(rendered.changed_to(printed))
    }
}
