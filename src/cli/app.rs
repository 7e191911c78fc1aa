//! The only wiring: from flags and profile to what the commands work with.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use kzero_cluster::{ClusterError, ConnectOptions, Resolved, Target};
use kzero_profile::{ColorMode, LoadRequest, Overrides, Profile};

use super::args::{Cli, Command, Document, Global, LogFormat, TargetFormat};
use crate::environment::Environment;
use crate::event::Level;
use crate::exit::Failure;
use crate::report::{Format, Kind, Masker, Output, OutputOptions, Record};

/// What every command has. Clones share the streams.
#[derive(Clone)]
pub(super) struct App {
    /// Global flags.
    pub(super) flags: Global,
    /// What the process was given.
    pub(super) environment: Environment,
    /// The streams.
    pub(super) output: Output,
}

/// The streams as the flags ask.
pub(super) fn output(cli: &Cli) -> Output {
    let document = match &cli.command {
        Some(Command::Analyze(arguments)) => arguments.output == Document::Json,
        Some(Command::Status(arguments)) => arguments.output == Document::Json,
        Some(Command::Target(arguments)) => arguments.output != TargetFormat::Block,
        _ => false,
    };
    let format = match cli.global.log_format {
        LogFormat::Text => Format::Text,
        LogFormat::Json => Format::Json,
    };
    Output::new(OutputOptions {
        format,
        level: cli.global.log_level,
        colour: false,
        document,
        command: command_word(cli.command.as_ref()),
    })
}

/// The streams before any flag is known.
pub(super) fn plain_output() -> Output {
    plain_output_as(false)
}

/// The same, in JSON lines if that is known to be wanted.
pub(super) fn plain_output_as(json: bool) -> Output {
    Output::new(OutputOptions {
        format: if json { Format::Json } else { Format::Text },
        level: Level::Info,
        colour: false,
        document: false,
        command: "kzero",
    })
}

fn command_word(command: Option<&Command>) -> &'static str {
    match command {
        Some(Command::Analyze(_)) => "analyze",
        Some(Command::Down(_)) => "down",
        Some(Command::Up(_)) => "up",
        Some(Command::Reset(_)) => "reset",
        Some(Command::Resume(_)) => "resume",
        Some(Command::Status(_)) => "status",
        Some(Command::Remember(_)) => "remember",
        Some(Command::Forget(_)) => "forget",
        Some(Command::Target(_)) => "target",
        Some(Command::Init(_)) => "init",
        Some(Command::Chart { .. }) => "chart",
        Some(Command::Release { .. }) => "release",
        Some(Command::Notify { .. }) => "notify test",
        Some(Command::Version) => "version",
        Some(Command::Completion { .. }) => "completion",
        Some(Command::Schema) => "schema",
        None => "kzero",
    }
}

impl App {
    /// The wiring of one command.
    pub(super) fn new(flags: Global, environment: Environment, output: Output) -> Self {
        Self {
            flags,
            environment,
            output,
        }
    }

    /// The profile's path as shown.
    pub(super) fn config_path(&self) -> PathBuf {
        self.flags
            .config
            .clone()
            .unwrap_or_else(|| PathBuf::from("kzero.yaml"))
    }

    /// Loads the profile, prints its warnings once, and sets masking and colour.
    pub(super) fn load(&self, dry_run: bool) -> Result<Profile, Failure> {
        let path = self.config_path();
        let kinds = crate::steps::kind_specs();
        let kubeconfig = self
            .flags
            .kubeconfig
            .as_ref()
            .map(|path| path.display().to_string());
        // A variable whose value is no text would else count as unset, and the profile's own
        // value would be used unnoticed (S-1.18).
        let unreadable = std::cell::RefCell::new(std::collections::BTreeSet::new());
        let request = LoadRequest {
            path: &path,
            explicit: self.flags.config.is_some(),
            env: &|name| {
                let text = self.environment.text(name);
                if text.is_none() && self.environment.raw(name).is_some_and(|v| !v.is_empty()) {
                    unreadable.borrow_mut().insert(name.to_owned());
                }
                text
            },
            kinds: &kinds,
            flags: Overrides {
                dry_run,
                no_env_passthrough: self.flags.no_env_passthrough,
                kubeconfig: kubeconfig.as_deref(),
            },
        };
        let loaded = kzero_profile::load(&request);
        if !unreadable.borrow().is_empty() {
            let names = unreadable.borrow().iter().cloned().collect::<Vec<_>>();
            return Err(Failure::Config(format!(
                "{}: the value is not UTF-8",
                names.join(", ")
            )));
        }
        let profile = loaded.map_err(|error| {
            let masker = Masker::new(error.secrets().iter().cloned());
            Failure::Config(masker.mask(&error.to_string()).into_owned())
        })?;
        let masker = Masker::new(profile.secrets.iter().cloned());
        self.output
            .configure(profile.client_id.clone(), masker, self.colour(&profile));
        for warning in &profile.warnings {
            self.warn(&profile.source.render(warning));
        }
        Ok(profile)
    }

    /// A bare line on stderr.
    pub(super) fn warn(&self, text: &str) {
        self.output
            .write(&Record::bare(Level::Warn, Kind::Warning, text));
    }

    /// Whether the summary's time is coloured (S-7.6).
    fn colour(&self, profile: &Profile) -> bool {
        if self.environment.text("NO_COLOR").is_some() {
            return false;
        }
        match profile.run.color {
            ColorMode::Never => return false,
            ColorMode::Always => return true,
            ColorMode::Auto => {}
        }
        match self.environment.text("KZERO_COLOR").as_deref() {
            Some("always" | "1" | "true") => return true,
            Some("never" | "0" | "false") => return false,
            _ => {}
        }
        if self
            .environment
            .text("FORCE_COLOR")
            .is_some_and(|value| value != "0")
        {
            return true;
        }
        std::io::stdout().is_terminal() || std::io::stderr().is_terminal()
    }

    /// Reads the kubeconfig; sends nothing.
    pub(super) fn resolve(&self, profile: Option<&Profile>) -> Result<Resolved, ClusterError> {
        let written = match &self.flags.kubeconfig {
            Some(path) => Some(path.display().to_string()),
            None => profile.and_then(|profile| profile.run.kubeconfig.clone()),
        };
        let options = ConnectOptions {
            kubeconfig: written.as_ref().map(|path| self.environment.absolute(path)),
            context: self.flags.context.clone(),
            display: written,
            env: kzero_cluster::Environment::capture(|name| self.environment.raw(name)),
        };
        kzero_cluster::resolve(&options)
    }

    /// `KUBECONFIG` for scripts when a flag or the profile names a file, or a flag a context
    /// (S-4.2). Without this a script's kubectl could act on another cluster than kzero.
    ///
    /// # Errors
    ///
    /// The small file that carries the context cannot be written.
    pub(super) fn script_kubeconfig(
        &self,
        profile: &Profile,
        run_id: &str,
    ) -> Result<(Option<PathBuf>, Option<ContextFile>), Failure> {
        let written = match &self.flags.kubeconfig {
            Some(path) => Some(path.clone()),
            None => profile.run.kubeconfig.as_ref().map(PathBuf::from),
        };
        let file = written.map(|path| self.environment.absolute(path));
        let Some(context) = &self.flags.context else {
            return Ok((file, None));
        };
        let rest = match file {
            Some(path) => path.into_os_string(),
            None => match self
                .environment
                .raw("KUBECONFIG")
                .filter(|list| !list.is_empty())
            {
                Some(list) => list,
                None => match self.environment.raw("HOME") {
                    Some(home) => Path::new(&home).join(".kube/config").into_os_string(),
                    None => return Ok((None, None)),
                },
            },
        };
        let carrier = ContextFile::write(&self.environment, context, run_id)?;
        // Of several files the first one that names a current context decides.
        let mut list = carrier.path.clone().into_os_string();
        list.push(":");
        list.push(rest);
        Ok((Some(PathBuf::from(list)), Some(carrier)))
    }

    /// Prints lines of a kind on stdout.
    pub(super) fn lines(&self, level: Level, kind: Kind, lines: &[String]) {
        for line in lines {
            self.output.write(&Record::line(level, kind, line.clone()));
        }
    }
}

/// A kubeconfig that holds nothing but a current context; removed at the end of the run.
pub(super) struct ContextFile {
    path: PathBuf,
}

impl ContextFile {
    fn write(environment: &Environment, context: &str, run_id: &str) -> Result<Self, Failure> {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;
        let folder = environment
            .text("TMPDIR")
            .map_or_else(|| "/tmp".into(), PathBuf::from);
        let path = environment
            .absolute(folder)
            .join(format!("kzero-context-{run_id}.json"));
        let document = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": context,
        });
        let create = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        create
            .and_then(|mut file| file.write_all(document.to_string().as_bytes()))
            .map_err(|error| {
                Failure::Config(format!(
                    "--context: cannot write {} for scripts: {error}",
                    path.display()
                ))
            })?;
        Ok(Self { path })
    }
}

impl Drop for ContextFile {
    fn drop(&mut self) {
        // Nothing to be done about a file that cannot be removed; it holds no secret.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The target block (S-6.27); each line one record.
pub(super) fn target_block(target: &Target, profile: &Profile, app: &App) -> Vec<String> {
    let environment = &app.environment;
    let unknown = || "(unknown)".to_owned();
    let started = jiff::Zoned::now()
        .strftime("%Y-%m-%dT%H:%M:%S%:z")
        .to_string();
    let mut lines = vec![
        "Kubernetes target:".to_owned(),
        format!("  started_at: {started}"),
    ];
    if let Some(id) = &profile.client_id {
        lines.push(format!("  client_id: {id}"));
    }
    lines.extend([
        format!(
            "  os_user: {}",
            environment.user.clone().unwrap_or_else(unknown)
        ),
        format!(
            "  os_uid: {}",
            environment.uid.map_or_else(unknown, |uid| uid.to_string())
        ),
        format!("  context: {}", target.context),
        format!("  cluster: {}", target.cluster),
        format!("  namespace: {}", target.namespace),
        format!("  api_server: {}", target.api_server),
        format!("  kubeconfig: {}", target.kubeconfig),
    ]);
    let labels = &profile.cluster;
    if !labels.name.is_empty() || !labels.environment.is_empty() {
        lines.push(format!(
            "  config_metadata: name={:?} environment={:?} (YAML label only; not verified \
             against the API)",
            labels.name, labels.environment
        ));
    }
    lines
}

/// The single-threaded runtime of a command.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Config(format!("cannot start the asynchronous runtime: {error}")))
}
