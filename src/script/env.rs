//! What a child sees in its environment (S-4.2): the table of `KZERO_*` variables.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::environment::Environment;
use crate::event::Phase;

/// Every variable of the table but `KUBECONFIG`. One that does not apply is removed from
/// what is inherited, so that a script never sees that of an outer run (S-4.8).
const TABLE: [&str; 18] = [
    "KZERO_CLIENT_ID",
    "KZERO_OS_USER",
    "KZERO_OS_UID",
    "KZERO_PHASE",
    "KZERO_PIPELINE_STEP_INDEX",
    "KZERO_STEP_HOOK",
    "KZERO_STEP_REF",
    "KZERO_STEP_CUSTOM",
    "KZERO_STEP_TYPE",
    "KZERO_STEP_NAMESPACE",
    "KZERO_STEP_NAME",
    "KZERO_RELEASE_NAME",
    "KZERO_RELEASE_NAMESPACE",
    "KZERO_COMMAND",
    "KZERO_RUN_ID",
    "KZERO_HOOK",
    "KZERO_FAILED_STEP",
    "KZERO_ERROR",
];

/// The longest error that is passed on. The system refuses to start a child with a longer
/// variable, and the alert would be lost with it.
const ERROR: usize = 32 * 1024;

fn shortened(text: &str) -> &str {
    let end = (0..=ERROR.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

/// Variables of step scripts.
#[derive(Debug, Clone, Default)]
pub struct StepVariables {
    /// Zero-based index in the list.
    pub index: usize,
    /// `pre`, `post` or `main`.
    pub hook: &'static str,
    /// Kind, namespace and name of a reference.
    pub reference: Option<(String, String, String)>,
    /// Path of a `custom` step.
    pub custom: Option<String>,
}

/// Variables of phase hooks and `on-error`.
#[derive(Debug, Clone, Default)]
pub struct HookVariables {
    /// `pre-down` … `on-error`.
    pub name: &'static str,
    /// `on-error` only: the step that failed.
    pub failed_step: Option<String>,
    /// `on-error` only: the masked error.
    pub error: Option<String>,
}

/// The base that all children of a run share.
#[derive(Debug, Clone)]
pub struct ChildEnv {
    base: BTreeMap<OsString, OsString>,
}

impl ChildEnv {
    /// The base of a run: the inherited variables, unless `isolated`, overlaid with what
    /// every script of the run gets.
    pub fn new(
        environment: &Environment,
        isolated: bool,
        client_id: Option<&str>,
        kubeconfig: Option<PathBuf>,
        command: &str,
        run_id: &str,
    ) -> Self {
        let mut base = BTreeMap::new();
        if !isolated {
            base.clone_from(environment.variables());
            for name in TABLE {
                base.remove(std::ffi::OsStr::new(name));
            }
        }
        let mut child = Self { base };
        child.set("KZERO_CLIENT_ID", client_id);
        child.set("KZERO_OS_USER", environment.user.as_deref());
        child.set(
            "KZERO_OS_UID",
            environment.uid.map(|uid| uid.to_string()).as_deref(),
        );
        child.set("KZERO_COMMAND", Some(command));
        child.set("KZERO_RUN_ID", Some(run_id));
        if let Some(path) = kubeconfig {
            child
                .base
                .insert("KUBECONFIG".into(), path.into_os_string());
        }
        child
    }

    fn set(&mut self, name: &str, value: Option<&str>) {
        // A NUL cannot be passed on; a profile value that holds one is cut there.
        if let Some(value) = value.map(|value| value.split('\0').next().unwrap_or("")) {
            self.base.insert(name.into(), value.into());
        }
    }

    /// The environment of a phase hook.
    pub fn for_hook(&self, phase: Option<Phase>, hook: &HookVariables) -> Self {
        let mut child = self.clone();
        child.set("KZERO_PHASE", phase.map(Phase::word));
        child.set("KZERO_HOOK", Some(hook.name));
        child.set("KZERO_FAILED_STEP", hook.failed_step.as_deref());
        child.set("KZERO_ERROR", hook.error.as_deref().map(shortened));
        child
    }

    /// The environment of a step script.
    pub fn for_step(&self, phase: Phase, step: &StepVariables) -> Self {
        let mut child = self.clone();
        child.set("KZERO_PHASE", Some(phase.word()));
        child.set("KZERO_PIPELINE_STEP_INDEX", Some(&step.index.to_string()));
        child.set("KZERO_STEP_HOOK", Some(step.hook));
        child.set("KZERO_STEP_CUSTOM", step.custom.as_deref());
        if let Some((kind, namespace, name)) = &step.reference {
            child.set(
                "KZERO_STEP_REF",
                Some(&format!("{kind}.{namespace}/{name}")),
            );
            child.set("KZERO_STEP_TYPE", Some(kind));
            child.set("KZERO_STEP_NAMESPACE", Some(namespace));
            child.set("KZERO_STEP_NAME", Some(name));
            if kind == "release" {
                child.set("KZERO_RELEASE_NAME", Some(name));
                child.set("KZERO_RELEASE_NAMESPACE", Some(namespace));
            }
        }
        child
    }

    /// The environment of a release script.
    pub fn for_release(&self, phase: Phase, namespace: &str, name: &str) -> Self {
        let mut child = self.clone();
        child.set("KZERO_PHASE", Some(phase.word()));
        child.set("KZERO_RELEASE_NAME", Some(name));
        child.set("KZERO_RELEASE_NAMESPACE", Some(namespace));
        child
    }

    /// The variables, sorted by name.
    pub fn variables(&self) -> &BTreeMap<OsString, OsString> {
        &self.base
    }
}

#[cfg(test)]
mod tests {
    use super::{ERROR, shortened};

    #[test]
    fn an_error_is_cut_to_what_a_child_can_be_started_with() {
        // S-3.25: the alert must start whatever the error was.
        assert_eq!(shortened("é"), "é");
        let cut = shortened(&"é".repeat(200_000)).len();
        assert!(cut <= ERROR && cut > ERROR - 4);
        let odd = format!("a{}", "é".repeat(200_000));
        assert_eq!(shortened(&odd).len(), ERROR - 1);
    }
}
