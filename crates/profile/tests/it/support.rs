//! The kinds of the program, and short ways to load a text.

use std::path::Path;

use kzero_profile::{
    KindSpec, LoadError, LoadRequest, NameRule, OptionPhases, OptionSpec, Overrides, Profile,
    Required, Shape, Source, StepSpec, parse,
};

const fn option(
    name: &'static str,
    shape: Shape,
    phases: OptionPhases,
    required: Required,
    summary: &'static str,
) -> OptionSpec {
    OptionSpec {
        name,
        shape,
        phases,
        required,
        summary,
    }
}

use OptionPhases::{Both, Down, Up};
use Required::{Always, No, OnUp};

const WORKLOAD: &[OptionSpec] = &[
    option("replicas", Shape::Replicas, Up, No, "size on up"),
    option(
        "wait_for_ready",
        Shape::Bool,
        Up,
        No,
        "on up: wait until ready",
    ),
    option(
        "wait_for_termination",
        Shape::Bool,
        Down,
        No,
        "on down: wait until no pod is left",
    ),
];

/// The kinds of the specification (S-2.1) with their options (chapter 2.2).
pub(crate) const KINDS: &[KindSpec] = &[
    KindSpec {
        name: "deployment",
        summary: "scales a Deployment",
        name_rule: NameRule::Subdomain,
        options: WORKLOAD,
    },
    KindSpec {
        name: "statefulset",
        summary: "scales a StatefulSet",
        name_rule: NameRule::Subdomain,
        options: WORKLOAD,
    },
    KindSpec {
        name: "release",
        summary: "uninstalls and installs a Helm release",
        name_rule: NameRule::ReleaseName,
        options: &[
            option(
                "script",
                Shape::Path,
                Up,
                No,
                "shell script instead of NAME.sh; relative to helm.workspace or absolute",
            ),
            option(
                "chart",
                Shape::Text,
                Up,
                No,
                "chart instead of the manifest's",
            ),
            option(
                "version",
                Shape::Text,
                Up,
                No,
                "chart version instead of the manifest's",
            ),
            option(
                "values_files",
                Shape::PathList,
                Up,
                No,
                "values files instead of the manifest's",
            ),
            option(
                "create_namespace",
                Shape::Bool,
                Up,
                No,
                "create the namespace if it is missing",
            ),
        ],
    },
    KindSpec {
        name: "pvc",
        summary: "deletes a volume claim",
        name_rule: NameRule::Subdomain,
        options: &[],
    },
    KindSpec {
        name: "exec",
        summary: "runs a command in a pod",
        name_rule: NameRule::Subdomain,
        options: &[
            option(
                "container",
                Shape::Text,
                Both,
                Always,
                "container of the pod",
            ),
            option(
                "command",
                Shape::ArgumentList,
                Both,
                Always,
                "argument vector, no shell",
            ),
            option(
                "stdin",
                Shape::FreeText,
                Both,
                No,
                "sent to the command, then closed; never logged",
            ),
        ],
    },
    KindSpec {
        name: "job",
        summary: "deletes a Job, or creates it from a manifest",
        name_rule: NameRule::JobName,
        options: &[
            option("manifest", Shape::Path, Up, OnUp, "file with the Job"),
            option(
                "wait_for_complete",
                Shape::Bool,
                Up,
                No,
                "on up: wait until the Job is complete; true unless given",
            ),
        ],
    },
    KindSpec {
        name: "cronjob",
        summary: "suspends and resumes a CronJob",
        name_rule: NameRule::CronJobName,
        options: &[],
    },
];

/// Loads a text as `kzero.yaml` without environment and flags.
pub(crate) fn load(text: &str) -> Result<Profile, LoadError> {
    load_with(text, &[], Overrides::default())
}

/// Loads a text with these variables and flags.
pub(crate) fn load_with(
    text: &str,
    variables: &[(&str, &str)],
    flags: Overrides<'_>,
) -> Result<Profile, LoadError> {
    let env = |name: &str| {
        variables
            .iter()
            .find(|(variable, _)| *variable == name)
            .map(|(_, value)| (*value).to_owned())
    };
    let request = LoadRequest {
        path: Path::new("kzero.yaml"),
        explicit: false,
        env: &env,
        kinds: KINDS,
        flags,
    };
    parse(Source::new("kzero.yaml", text), &request)
}

/// A dry-run profile with these lines below `pipelines:` (indented here by two blanks).
pub(crate) fn with_pipelines(lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "schema_version: \"1.0\"\nrun: {{mode: dry-run}}\nhelm: {{workspace: ./ws}}\npipelines:\n{lines}"
    )
}

/// The whole error text of a load that must fail.
pub(crate) fn error_of(text: &str) -> String {
    match load(text) {
        Ok(profile) => panic!("loaded, but must be refused: {profile:?}"),
        Err(error) => error.to_string(),
    }
}

/// A load that must succeed.
pub(crate) fn profile_of(text: &str) -> Profile {
    load(text).unwrap_or_else(|error| panic!("refused, but must load:\n{error}"))
}

/// The rendered warnings of a load that must succeed.
pub(crate) fn warnings_of(text: &str) -> Vec<String> {
    let profile = profile_of(text);
    let shown = profile.warnings.iter();
    shown.map(|w| profile.source.render(w)).collect()
}

/// The steps of the `up` list.
pub(crate) fn up_steps(lines: &str) -> Vec<StepSpec> {
    profile_of(&with_pipelines(lines))
        .pipelines
        .up
        .unwrap_or_default()
}
