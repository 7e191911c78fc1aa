//! From a path to a profile: finding and reading the file, then the rules that concern more than one key.

use std::collections::BTreeSet;
use std::path::{self, Path};

use crate::diagnostic::{Diagnostic, LoadError, Position, Source, order};
use crate::keys::KEYS;
use crate::kinds::KindSpec;
use crate::model::{Override, Phase, Profile, RunMode};
use crate::names::slug;
use crate::node::{Documents, MAX_FILE_BYTES, Node, Value, compose};
use crate::read::{Reader, Unknown, defaults};
use crate::step::{StepBody, StepSpec};

/// What a load needs to know.
#[derive(Clone, Copy)]
pub struct LoadRequest<'a> {
    /// The file, relative to the process directory or absolute.
    pub path: &'a Path,
    /// Whether the operator named it; if not, a `kzero.yml` beside a missing `kzero.yaml` is mentioned.
    pub explicit: bool,
    /// Looks up an environment variable.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// The kinds of steps.
    pub kinds: &'a [KindSpec],
    /// What the command line sets; stronger than environment and profile.
    pub flags: Overrides<'a>,
}

/// Values from the command line (S-1.18).
#[derive(Debug, Clone, Copy, Default)]
pub struct Overrides<'a> {
    /// `--dry-run`: forces `run.mode: dry-run`.
    pub dry_run: bool,
    /// `--kubeconfig`.
    pub kubeconfig: Option<&'a str>,
    /// `--no-env-passthrough`.
    pub no_env_passthrough: bool,
}

/// Reads a file as text for [`crate::Source`], within the size bound.
pub(crate) fn read_source(
    path: &Path,
    display: &str,
    hint: impl FnOnce(&Path) -> Option<String>,
) -> Result<Source, LoadError> {
    let tried = path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let fail = |message: String, hint: Option<String>| LoadError::unreadable(&tried, message, hint);
    let read = || -> std::io::Result<Vec<u8>> {
        use std::io::Read as _;
        let mut bytes = Vec::new();
        // One byte beyond the bound is enough to know; a device that never ends must not be read whole.
        let limit = u64::try_from(MAX_FILE_BYTES)
            .unwrap_or(u64::MAX)
            .saturating_add(8);
        std::fs::File::open(path)?
            .take(limit)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|error| {
        let hint = if error.kind() == std::io::ErrorKind::NotFound {
            hint(&tried)
        } else {
            None
        };
        fail(format!("cannot read {}: {error}", tried.display()), hint)
    })?;
    if bytes.len() > MAX_FILE_BYTES + 3 {
        return Err(fail(
            format!(
                "{} is larger than 1 MiB, the limit for such a file",
                tried.display()
            ),
            None,
        ));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Source::new(display, text)),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let bytes = error.into_bytes();
            let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
            let before =
                String::from_utf8_lossy(bytes.get(..valid).unwrap_or_default()).into_owned();
            let at =
                crate::node::position_after(before.strip_prefix('\u{feff}').unwrap_or(&before));
            let error = Diagnostic::error(at, "the file is not UTF-8 text").expected("UTF-8");
            let error = if utf16 {
                error.hint("it looks like UTF-16: save it as UTF-8")
            } else {
                error
            };
            let source = Source::new(display, String::from_utf8_lossy(&bytes).into_owned());
            Err(LoadError::invalid(source, vec![error], Vec::new()))
        }
    }
}

/// Reads and checks a profile.
///
/// # Errors
/// The file cannot be read (the absolute path tried is named), or it is not a valid profile: then all errors that can be
/// found independently are in the result, in the order of the file.
pub fn load(request: &LoadRequest<'_>) -> Result<Profile, LoadError> {
    let display = request.path.display().to_string();
    let source = read_source(request.path, &display, |tried| {
        let beside = tried.with_extension("yml");
        if !request.explicit && beside.is_file() {
            return Some(format!(
                "{} exists: name it with -c kzero.yml, or rename it to kzero.yaml",
                beside.display()
            ));
        }
        (!request.explicit).then(|| {
            "name a profile with -c PATH; --print-sample-config prints one to begin with".to_owned()
        })
    })?;
    parse(source, request)
}

/// Checks the text of a profile, as [`load`] does after reading; `path` and `explicit` of the request are not used.
///
/// # Errors
/// The text is not a valid profile.
pub fn parse(source: Source, request: &LoadRequest<'_>) -> Result<Profile, LoadError> {
    let composed = compose(&source, Documents::One);
    let mut reader = Reader::new(request.kinds, request.env);
    reader.errors = composed.errors;
    let mut profile = Profile::blank(source);
    defaults(KEYS, &mut profile);
    // The default of the delay is not a delay that somebody gave.
    profile.retry.delay_given = false;

    let root = composed
        .documents
        .first()
        .map(|root| &**root)
        .filter(|root| !root.is_null());
    if !composed.broken {
        match root {
            Some(root) if matches!(root.value, Value::Map(_)) => {
                reader.section(KEYS, "", root, &mut profile, Unknown::Warn);
            }
            Some(root) => {
                if let Some(error) = reader.shape("the top level of a profile", "a mapping", root) {
                    reader.error(error.expected("the keys schema_version, run and pipelines"));
                }
            }
            None => {}
        }
    }
    let set = reader.environment(KEYS, &mut profile);
    apply_flags(&mut profile, &request.flags);
    profile.overrides = set
        .iter()
        .filter(|(row, _)| !beaten(row.path, &request.flags))
        .map(|(row, variable)| Override {
            key: row.path,
            variable: variable.clone(),
            secret: row.field.is_secret(),
        })
        .collect();
    let mut given: BTreeSet<&str> = set.iter().map(|(row, _)| row.path).collect();
    if request.flags.dry_run {
        given.insert("run.mode");
    }
    // What could not be read cannot be missed.
    if !composed.broken && root.is_none_or(|root| matches!(root.value, Value::Map(_))) {
        required(&mut reader, root, &given);
        whole(&mut reader, &profile);
    }

    if !reader.errors.is_empty() {
        order(&mut reader.warnings);
        return Err(
            LoadError::invalid(profile.source, reader.errors, reader.warnings)
                .with_secrets(reader.secrets),
        );
    }
    order(&mut reader.warnings);
    profile.warnings = reader.warnings;
    profile.positions = reader.positions;
    profile.secrets = reader.secrets;
    profile.secrets.sort();
    profile.secrets.dedup();
    profile.command.shell_is_default = profile.command.shell == "/bin/sh";
    if profile.state.name.is_empty() {
        profile.state.name = state_name(&profile.cluster.name, profile.source.display());
    }
    Ok(profile)
}

fn apply_flags(profile: &mut Profile, flags: &Overrides<'_>) {
    if flags.dry_run {
        profile.run.mode = RunMode::DryRun;
    }
    if let Some(path) = flags
        .kubeconfig
        .map(str::trim)
        .filter(|path| !path.is_empty())
    {
        profile.run.kubeconfig = Some(path.to_owned());
    }
    if flags.no_env_passthrough {
        profile.run.no_env_passthrough = true;
    }
}

/// Whether a flag decides the value of a key.
fn beaten(key: &str, flags: &Overrides<'_>) -> bool {
    match key {
        "run.mode" => flags.dry_run,
        "run.kubeconfig" => flags.kubeconfig.is_some_and(|path| !path.trim().is_empty()),
        "run.no_env_passthrough" => flags.no_env_passthrough,
        _ => false,
    }
}

/// The keys without which nothing can be done (S-1.13, S-1.21).
fn required(reader: &mut Reader<'_>, root: Option<&Node>, given: &BTreeSet<&str>) {
    let Some(root) = root else {
        reader.error(
            Diagnostic::error(
                Position::START,
                "the file is empty: schema_version, run.mode and pipelines are missing",
            )
            .expected("a profile")
            .hint("--print-sample-config prints one to begin with"),
        );
        return;
    };
    let has =
        |reader: &Reader<'_>, key: &str| reader.positions.contains_key(key) || given.contains(key);
    let place = |reader: &Reader<'_>, section: &str| {
        reader.positions.get(section).copied().unwrap_or(root.at)
    };
    if !has(reader, "schema_version") {
        reader.error(
            Diagnostic::error(root.at, "schema_version is missing")
                .expected("\"1.0\" in quotes")
                .hint("write schema_version: \"1.0\""),
        );
    }
    if !has(reader, "run.mode") && !wrong_shape(root, "run") {
        let at = place(reader, "run");
        reader.error(
            Diagnostic::error(at, "run.mode is missing")
                .expected("mode: dry-run or mode: live below run:"),
        );
    }
    if !has(reader, "pipelines") {
        reader.error(
            Diagnostic::error(root.at, "pipelines is missing")
                .expected("pipelines: with down: or up: below it, or both"),
        );
    } else if !has(reader, "pipelines.down")
        && !has(reader, "pipelines.up")
        && !wrong_shape(root, "pipelines")
    {
        let at = place(reader, "pipelines");
        reader.error(
            Diagnostic::error(at, "pipelines gives neither down nor up")
                .expected("down: or up: below it, or both")
                .hint("write down: [] for a phase without steps"),
        );
    }
}

/// Whether a top-level key was already reported as not being a mapping.
fn wrong_shape(root: &Node, key: &str) -> bool {
    let Value::Map(entries) = &root.value else {
        return false;
    };
    entries.iter().any(|entry| {
        &*entry.key.text == key
            && !entry.value.is_null()
            && !matches!(entry.value.value, Value::Map(_))
    })
}

/// Rules over several keys.
fn whole(reader: &mut Reader<'_>, profile: &Profile) {
    let probe = &profile.infra_probe.pipeline;
    let release = [&profile.pipelines, probe]
        .into_iter()
        .flat_map(|lists| {
            [Phase::Down, Phase::Up]
                .into_iter()
                .flat_map(|phase| lists.steps(phase))
        })
        .find(|step| is_release(step));
    if let Some(step) = release
        && profile.helm.workspace.is_none()
        && !reader
            .errors
            .iter()
            .any(|error| error.message().contains("helm.workspace"))
    {
        reader.error(
            Diagnostic::error(
                step.at,
                format!(
                    "helm.workspace is required because of the step {}",
                    step.body
                ),
            )
            .expected("the folder with the chart manifests or release scripts")
            .hint("write for example \"helm: {workspace: ./helm-assets}\""),
        );
    }
    if profile.infra_probe.enabled && probe.steps(Phase::Up).is_empty() {
        let key = "infra_probe.pipeline.up";
        // Steps in error were reported; then the list is empty for that reason only.
        if reader
            .positions
            .get(key)
            .is_none_or(|_| reader.errors.is_empty())
        {
            let message = format!("infra_probe.enabled is true, but {key} has no steps");
            let error = match reader.positions.get("infra_probe.enabled") {
                Some(at) => Diagnostic::error(*at, message),
                None => Diagnostic::error_outside(message),
            };
            reader.error(error.expected("at least one step for the probe to run"));
        }
    }
    if profile.verify.enabled && !profile.run.verify {
        let message = "verify.enabled is true, but switches nothing, and run.verify is false";
        let warning = match reader.positions.get("verify.enabled") {
            Some(at) => Diagnostic::warning(*at, message),
            None => Diagnostic::warning_outside(message),
        };
        reader
            .warn(warning.hint("write verify: true below run: to verify after a live up or reset"));
    }
}

fn is_release(step: &StepSpec) -> bool {
    matches!(&step.body, StepBody::Reference(reference) if reference.kind == "release")
}

/// The name of memory and lock when none is given: a DNS label out of cluster name and file name.
fn state_name(cluster: &str, display: &str) -> String {
    let stem = Path::new(display)
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    let name = slug(&format!("{cluster}-{stem}"));
    if name.len() <= 63 {
        return name;
    }
    // Two long names that begin alike must not share a lock: a checksum (FNV-1a) keeps them apart.
    let sum = name.bytes().fold(0x811c_9dc5_u32, |sum, byte| {
        (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let head = name.get(..54).unwrap_or(&name).trim_end_matches('-');
    format!("{head}-{sum:08x}")
}
