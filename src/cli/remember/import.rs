//! Sizes that other tools keep as annotations of what they parked.

use kzero_cluster::{CronJobEntry, Discovery, WorkloadEntry, WorkloadRef};
use kzero_release::shown::plain;
use serde_json::Value as Json;

use super::super::args::ForeignTool;
use super::Desk;
use crate::event::Level;
use crate::exit::Failure;
use crate::state::memory::{Key, Live, Value};

/// What szero writes to Deployments and StatefulSets: the size before, in digits.
const SZERO: &str = "szero/replicas";
/// The node selector by which szero parks DaemonSets.
const SZERO_SELECTOR: &str = "szero/noschedule";
/// What kube-downscaler writes: the size before in digits; of a CronJob 0 if it was suspended, else 1, or in later versions the
/// suspend flag.
const DOWNSCALER: &str = "downscaler/original-replicas";

/// Kinds that kube-downscaler parks beside those that kzero does, by group and version.
const DOWNSCALER_KINDS: [(&str, &str); 8] = [
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("policy/v1", "PodDisruptionBudget"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "Job"),
    ("argoproj.io/v1alpha1", "Rollout"),
    ("zalando.org/v1", "Stack"),
    ("keda.sh/v1alpha1", "ScaledObject"),
    ("monitoring.coreos.com/v1", "Prometheus"),
];

impl ForeignTool {
    const fn annotation(self) -> &'static str {
        match self {
            Self::Szero => SZERO,
            Self::KubeDownscaler => DOWNSCALER,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Szero => "szero",
            Self::KubeDownscaler => "kube-downscaler",
        }
    }
}

/// What a tool remembers in some namespaces, of what is parked and not remembered yet. The rest is told.
///
/// # Errors
///
/// A namespace is not there, or what is in it cannot be read.
pub(super) async fn read(
    desk: &Desk<'_>,
    tool: ForeignTool,
    namespaces: &[String],
) -> Result<Vec<(Key, Value, Live)>, Failure> {
    let known = desk.known().await?;
    let failed = |error: kzero_cluster::ClusterError| Failure::Cluster(error.to_string());
    let inventory = desk.cluster.inventory(namespaces, &desk.budget);
    let inventory = inventory.await.map_err(failed)?;
    let mut said = Vec::new();
    for space in &inventory {
        if space.exists == Some(false) {
            return Err(Failure::Cluster(format!(
                "namespace {}: not found",
                space.name
            )));
        }
        for text in &space.unreadable {
            desk.say(Level::Warn, format!("not read: {text}"));
        }
        said.extend(
            space
                .workloads
                .iter()
                .filter_map(|entry| of_workload(tool, entry)),
        );
        said.extend(
            space
                .cron_jobs
                .iter()
                .filter_map(|entry| of_cron_job(tool, &space.name, entry)),
        );
    }
    let mut found = Vec::new();
    for (key, value) in said {
        let value = match value {
            Ok(value) => value,
            Err(why) => {
                skip(desk, &key.to_string(), &why);
                continue;
            }
        };
        let live = desk.live(&key).await?;
        let entry = known.memory().get(&key).filter(|entry| entry.is_of(&live));
        match entry {
            _ if !live.value.is_parked() => {
                let why = format!(
                    "it is not parked, {} are live, and up leaves it so",
                    live.value
                );
                skip(desk, &key.to_string(), &why);
            }
            Some(entry) if entry.value == value => {
                skip(
                    desk,
                    &key.to_string(),
                    &format!("{value} are remembered already"),
                );
            }
            Some(entry) => {
                let why = format!(
                    "{} says {value}, kzero remembers {} (kzero remember REF=N decides)",
                    tool.name(),
                    entry.value
                );
                skip(desk, &key.to_string(), &why);
            }
            None => found.push((key, value, live)),
        }
    }
    tell_other_kinds(desk, tool, namespaces).await?;
    if found.is_empty() {
        let text = format!("nothing to take over from {}", tool.name());
        desk.say(Level::Info, text);
    } else {
        let text = format!(
            "annotations of {} stay where they are: do not let it go on with these objects",
            tool.name()
        );
        desk.say(Level::Warn, text);
    }
    Ok(found)
}

fn skip(desk: &Desk<'_>, what: &str, why: &str) {
    desk.say(
        Level::Warn,
        format!("skipped {}: {}", plain(what), plain(why)),
    );
}

type Said = (Key, Result<Value, String>);

fn of_workload(tool: ForeignTool, entry: &WorkloadEntry) -> Option<Said> {
    let text = entry.annotations.get(tool.annotation())?;
    let workload: &WorkloadRef = &entry.workload;
    Some((Key::from(workload), size(text).map(Value::Size)))
}

fn of_cron_job(tool: ForeignTool, namespace: &str, entry: &CronJobEntry) -> Option<Said> {
    let text = entry.annotations.get(tool.annotation())?;
    let value = match text.as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        digits => size(digits).map(|size| size == 0),
    };
    let key = Key::cron_job(namespace, &entry.name);
    Some((key, value.map(Value::Suspend)))
}

/// The size that an annotation says.
fn size(text: &str) -> Result<u32, String> {
    super::size(text).ok_or_else(|| format!("its annotation says {text:?}, which is no size"))
}

/// Names what the tool parked that kzero has no step for.
async fn tell_other_kinds(
    desk: &Desk<'_>,
    tool: ForeignTool,
    namespaces: &[String],
) -> Result<(), Failure> {
    let failed = |error: kzero_cluster::ClusterError| Failure::Cluster(error.to_string());
    let served = desk.cluster.discovery(&desk.budget).await.map_err(failed)?;
    for namespace in namespaces {
        let (kinds, parked): (&[_], fn(&Json) -> bool) = match tool {
            ForeignTool::Szero => (&[("apps/v1", "DaemonSet")], is_kept_off_nodes),
            ForeignTool::KubeDownscaler => (&DOWNSCALER_KINDS, is_downscaled),
        };
        for (version, kind) in kinds {
            for name in others(desk, &served, namespace, (version, kind), parked).await {
                let what = format!("{kind} {namespace}/{name}");
                let why = format!(
                    "{} parked it, and kzero has no step for its kind",
                    tool.name()
                );
                skip(desk, &what, &why);
            }
        }
    }
    Ok(())
}

fn is_kept_off_nodes(object: &Json) -> bool {
    let selector = object.pointer("/spec/template/spec/nodeSelector");
    selector.is_some_and(|selector| selector.get(SZERO_SELECTOR).is_some())
}

fn is_downscaled(object: &Json) -> bool {
    let annotations = object.pointer("/metadata/annotations");
    annotations.is_some_and(|annotations| annotations.get(DOWNSCALER).is_some())
}

/// Names of the objects of a kind that are parked; a kind that is not served has none, one that may not be read is told.
async fn others(
    desk: &Desk<'_>,
    served: &Discovery,
    namespace: &str,
    (version, kind): (&str, &str),
    parked: fn(&Json) -> bool,
) -> Vec<String> {
    let Some(resource) = served.resource(version, kind) else {
        return Vec::new();
    };
    let listed = desk
        .cluster
        .objects_unmanaged(resource, namespace, &desk.budget);
    match listed.await {
        Ok(items) => items
            .iter()
            .filter(|item| parked(item))
            .filter_map(|item| Some(item.pointer("/metadata/name")?.as_str()?.to_owned()))
            .collect(),
        Err(error) => {
            desk.say(Level::Warn, format!("not read: {error}"));
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn cron(text: &str) -> Result<Value, String> {
        let entry = CronJobEntry {
            name: "n".into(),
            labels: BTreeMap::new(),
            annotations: BTreeMap::from([(DOWNSCALER.to_owned(), text.to_owned())]),
            images: Vec::new(),
            schedule: String::new(),
            suspend: true,
        };
        of_cron_job(ForeignTool::KubeDownscaler, "a", &entry)
            .unwrap()
            .1
    }

    #[test]
    fn annotations_are_sizes_in_digits_and_of_cron_jobs_flags_too() {
        assert_eq!(size("3"), Ok(3));
        assert_eq!(size("0"), Ok(0));
        for wrong in [
            "",
            "-1",
            "+1",
            "3.0",
            "three",
            "4294967296",
            "2147483648",
            " 3",
        ] {
            assert!(size(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(cron("0"), Ok(Value::Suspend(true)));
        assert_eq!(cron("1"), Ok(Value::Suspend(false)));
        assert_eq!(cron("true"), Ok(Value::Suspend(true)));
        assert_eq!(cron("false"), Ok(Value::Suspend(false)));
        assert!(cron("yes").is_err());
    }
}
